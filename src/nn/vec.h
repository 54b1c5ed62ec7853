/* Portable vectors: the widest float vector of the target, with the few functions that the layers need. GCC's
 * vector extensions keep this readable; the compiler emits AVX-512, AVX2 or whatever MAWAM_ARCH offers. */
#ifndef MW_NN_VEC_H
#define MW_NN_VEC_H

#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#define MW_LANES 16
#elif defined(__AVX__)
#define MW_LANES 8
#else
#define MW_LANES 4
#endif

typedef float mw_vec __attribute__((vector_size(MW_LANES * 4), aligned(4), may_alias));
typedef int32_t mw_ivec __attribute__((vector_size(MW_LANES * 4), aligned(4), may_alias));

#define MW_INLINE static inline __attribute__((always_inline))

MW_INLINE mw_vec mw_vec_load(const float *p) {
    return *(const mw_vec *)p;
}
MW_INLINE void mw_vec_store(float *p, mw_vec v) {
    *(mw_vec *)p = v;
}
MW_INLINE mw_vec mw_vec_set(float x) {
    return x - (mw_vec){0};
}
/* The first count lanes; the rest are zero. */
MW_INLINE mw_vec mw_vec_load_part(const float *p, int count) {
#if MW_LANES == 16
    return (mw_vec)_mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), p);
#else
    if (count == MW_LANES) return mw_vec_load(p);
    mw_vec v = {0};
    for (int i = 0; i < count; i++) v[i] = p[i];
    return v;
#endif
}
MW_INLINE void mw_vec_store_part(float *p, mw_vec v, int count) {
#if MW_LANES == 16
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << count) - 1), (__m512)v);
#else
    if (count == MW_LANES) {
        mw_vec_store(p, v);
    } else {
        for (int i = 0; i < count; i++) p[i] = v[i];
    }
#endif
}
MW_INLINE mw_vec mw_vec_select(mw_ivec mask, mw_vec yes, mw_vec no) {
    return (mw_vec)(((mw_ivec)yes & mask) | ((mw_ivec)no & ~mask));
}
/* Where either is NaN, the result is b. */
MW_INLINE mw_vec mw_vec_max(mw_vec a, mw_vec b) {
#if MW_LANES == 16
    return (mw_vec)_mm512_max_ps((__m512)a, (__m512)b);
#else
    return mw_vec_select(a > b, a, b);
#endif
}
MW_INLINE mw_vec mw_vec_min(mw_vec a, mw_vec b) {
#if MW_LANES == 16
    return (mw_vec)_mm512_min_ps((__m512)a, (__m512)b);
#else
    return mw_vec_select(a < b, a, b);
#endif
}
/* Pairwise, so that the order of summation is fixed for a given width. */
MW_INLINE float mw_vec_sum(mw_vec v) {
    float lane[MW_LANES];
    mw_vec_store(lane, v);
    for (int width = MW_LANES / 2; width > 0; width /= 2)
        for (int i = 0; i < width; i++) lane[i] += lane[i + width];
    return lane[0];
}

/* exp(x) to about 1 ulp for x in [-87, 88]; beyond, the result stays at the limit. NaN gives NaN. */
MW_INLINE mw_vec mw_vec_exp(mw_vec x) {
    const mw_vec bounded = mw_vec_min(mw_vec_set(88.0f), mw_vec_max(mw_vec_set(-87.0f), x));
    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to the nearest integer */
    mw_vec shifted = bounded * 1.44269504088896341f + magic;
    mw_vec n = shifted - magic;
    mw_vec r = bounded - n * 0.693359375f;
    r = r + n * 2.12194440e-4f;
    mw_vec p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
#if MW_LANES == 16
    return (mw_vec)_mm512_scalef_ps((__m512)p, (__m512)n);
#else
    mw_ivec scale = (((mw_ivec)shifted - 0x4B400000) + 127) << 23;
    return p * (mw_vec)scale;
#endif
}

/* exp(x) for x below 88, with a relative error of about 3e-7 near 0 that grows by 1e-7 |x|: enough for
 * activations and a quarter cheaper. NaN gives NaN. */
MW_INLINE mw_vec mw_vec_exp_quick(mw_vec x) {
#if MW_LANES == 16
    const mw_vec t = x * 1.44269504088896341f;
    const mw_vec n = (mw_vec)_mm512_roundscale_ps((__m512)t, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const mw_vec f = t - n; /* 2^f on [-1/2, 1/2] by a polynomial with the least greatest error */
    mw_vec p = f * 1.3276472e-3f + 9.675541e-3f;
    p = p * f + 5.550713e-2f;
    p = p * f + 2.402212e-1f;
    p = p * f + 6.9314694e-1f;
    p = p * f + 1.0000001f;
    return (mw_vec)_mm512_scalef_ps((__m512)p, (__m512)n);
#else
    return mw_vec_exp(x);
#endif
}

/* 1/x to about 1 ulp, for finite normal x. */
MW_INLINE mw_vec mw_vec_reciprocal(mw_vec x) {
#if defined(__AVX512F__)
    mw_vec guess = (mw_vec)_mm512_rcp14_ps((__m512)x);
    return guess * (2.0f - x * guess);
#else
    return 1.0f / x;
#endif
}

/* log(x) for finite x > 0, to about 1 ulp away from 1. NaN gives NaN. */
MW_INLINE mw_vec mw_vec_log(mw_vec x) {
    mw_ivec bits = (mw_ivec)x;
    mw_ivec exponent = ((bits - 0x3F3504F3) >> 23); /* so that the mantissa lies in [sqrt(1/2), sqrt(2)) */
    mw_vec m = (mw_vec)(bits - (exponent << 23)) - 1.0f;
    mw_vec e = __builtin_convertvector(exponent, mw_vec);
    mw_vec z = m * m;
    mw_vec p = m * 7.0376836292e-2f - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    p = p * m * z - e * 2.12194440e-4f - 0.5f * z;
    return mw_vec_select(x == x, m + p + e * 0.693359375f, x);
}

/* for over n floats by vectors: i is the running index, part the number of lanes in use. */
#define MW_VEC_FOR(i, part, n)                                                                               \
    for (int i = 0, part; i < (n) && ((part) = (n)-i < MW_LANES ? (n)-i : MW_LANES, 1); i += MW_LANES)

#endif
