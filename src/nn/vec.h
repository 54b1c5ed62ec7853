/* Portable vectors: the widest float vector of the level that a file is compiled for, with the few functions
 * that the layers need. Every function gives the same bits at every level: fused multiply-adds are explicit,
 * no approximate instruction is used, and sums over lanes run over 16 logical lanes (mw_lanes) however many
 * registers those take. */
#ifndef MW_NN_VEC_H
#define MW_NN_VEC_H

#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#define MW_LANES 16
#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define MW_LANES 8
#else
#define MW_LANES 4
#endif
#if defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
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
#if MW_LANES == 8
/* All bits set in the first count lanes. */
MW_INLINE __m256i mw_vec_mask(int count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
#endif
/* The first count lanes; the rest are zero. */
MW_INLINE mw_vec mw_vec_load_part(const float *p, int count) {
#if MW_LANES == 16
    return (mw_vec)_mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), p);
#elif MW_LANES == 8
    if (count == MW_LANES) return mw_vec_load(p);
    return (mw_vec)_mm256_maskload_ps(p, mw_vec_mask(count));
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
#elif MW_LANES == 8
    return (mw_vec)_mm256_max_ps((__m256)a, (__m256)b);
#else
    return mw_vec_select(a > b, a, b);
#endif
}
MW_INLINE mw_vec mw_vec_min(mw_vec a, mw_vec b) {
#if MW_LANES == 16
    return (mw_vec)_mm512_min_ps((__m512)a, (__m512)b);
#elif MW_LANES == 8
    return (mw_vec)_mm256_min_ps((__m256)a, (__m256)b);
#else
    return mw_vec_select(a < b, a, b);
#endif
}

#if MW_LANES == 4 /* where there may be no fused multiply-add */
typedef double mw_wide __attribute__((vector_size(MW_LANES * 8)));

MW_INLINE int mw_any(mw_ivec mask) {
#if defined(__wasm_simd128__)
    return __builtin_wasm_any_true_v128((int8_t __attribute__((vector_size(16))))mask);
#else
    const int64_t __attribute__((vector_size(16))) halves = (int64_t __attribute__((vector_size(16))))mask;
    return (halves[0] | halves[1]) != 0;
#endif
}

/* With the sum rounded to odd, so that the second rounding, to single, is the only one that counts. */
static __attribute__((noinline, cold, unused)) mw_vec mw_vec_fma_odd(mw_vec a, mw_vec b, mw_vec c) {
    typedef int64_t bits __attribute__((vector_size(MW_LANES * 8)));
    const mw_wide addend = __builtin_convertvector(c, mw_wide),
                  product = __builtin_convertvector(a, mw_wide) * __builtin_convertvector(b, mw_wide);
    const mw_wide sum = product + addend, other = sum - product;
    const mw_wide lost = (product - (sum - other)) + (addend - other); /* exactly; NaN beside infinities */
    const bits inexact = (lost > 0) | (lost < 0), even = ((bits)sum & 1) - 1;
    const bits away = (((bits)lost ^ (bits)sum) >> 63) | 1; /* one place up or down in magnitude */
    return __builtin_convertvector((mw_wide)((bits)sum + (away & inexact & even)), mw_vec);
}
#endif

/* a*b + c, rounded once. Where the CPU has no such instruction the product, exact in double precision, is
 * added in it. To round that sum again, to single, can only be wrong where it lies halfway between two
 * numbers of single precision: the 29 bits that these lack are 100..., or they lack more because they are
 * tiny. */
MW_INLINE mw_vec mw_vec_fma(mw_vec a, mw_vec b, mw_vec c) {
#if MW_LANES == 16
    return (mw_vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif MW_LANES == 8
    return (mw_vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__ARM_NEON) && defined(__aarch64__)
    return (mw_vec)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#elif defined(__wasm_relaxed_simd__)
    /* Whether it rounds once or twice is the machine's choice: src/web/link.js asks before this is used. */
    return __builtin_wasm_fma_f32x4(a, b, c);
#else
    typedef int32_t words __attribute__((vector_size(MW_LANES * 8)));
    const mw_wide addend = __builtin_convertvector(c, mw_wide),
                  product = __builtin_convertvector(a, mw_wide) * __builtin_convertvector(b, mw_wide),
                  sum = product + addend;
    const mw_vec rounded = __builtin_convertvector(sum, mw_vec);
    const mw_ivec low = __builtin_shufflevector((words)sum, (words)sum, 0, 2, 4, 6);
    const mw_ivec halfway = (low & 0x1FFFFFFF) == 0x10000000,
                  tiny = ((mw_ivec)rounded & 0x7FFFFFFF) <= 0x00800000;
    return __builtin_expect(mw_any(halfway | tiny), 0) ? mw_vec_fma_odd(a, b, c) : rounded;
#endif
}

/* ---- sums over 16 logical lanes ---- */
#define MW_LOGICAL_LANES 16

typedef struct mw_lanes {
    mw_vec part[MW_LOGICAL_LANES / MW_LANES];
} mw_lanes;

/* The sum of all lanes, pairwise: always in the same order. */
MW_INLINE float mw_lanes_sum(const mw_lanes *lanes) {
    float lane[MW_LOGICAL_LANES];
    memcpy(lane, lanes, sizeof lane);
    for (int width = MW_LOGICAL_LANES / 2; width > 0; width /= 2)
        for (int i = 0; i < width; i++) lane[i] += lane[i + width];
    return lane[0];
}

/* for over n floats by vectors that belong to `lanes`: i is the running index, part the number of lanes in
 * use, acc the vector of running sums. */
#define MW_LANES_FOR(i, part, acc, lanes, n)                                                                 \
    for (int i = 0, part; i < (n) && ((part) = (n)-i < MW_LANES ? (n)-i : MW_LANES, 1); i += MW_LANES)       \
        for (mw_vec *acc = &(lanes).part[i / MW_LANES % (MW_LOGICAL_LANES / MW_LANES)]; acc; acc = NULL)

/* ---- elementary functions ---- */

/* exp(x) to about 1 ulp for x in [-87, 88]; beyond, the result stays at the limit. NaN gives NaN. */
MW_INLINE mw_vec mw_vec_exp(mw_vec x) {
    const mw_vec bounded = mw_vec_min(mw_vec_set(88.0f), mw_vec_max(mw_vec_set(-87.0f), x));
    const mw_vec magic = mw_vec_set(12582912.0f); /* 1.5 * 2^23: adding it rounds to the nearest integer */
    const mw_vec shifted = mw_vec_fma(bounded, mw_vec_set(1.44269504088896341f), magic);
    const mw_vec n = shifted - magic;
    mw_vec r = mw_vec_fma(n, mw_vec_set(-0.693359375f), bounded);
    r = mw_vec_fma(n, mw_vec_set(2.12194440e-4f), r);
    mw_vec p = mw_vec_fma(mw_vec_set(1.9875691500e-4f), r, mw_vec_set(1.3981999507e-3f));
    p = mw_vec_fma(p, r, mw_vec_set(8.3334519073e-3f));
    p = mw_vec_fma(p, r, mw_vec_set(4.1665795894e-2f));
    p = mw_vec_fma(p, r, mw_vec_set(1.6666665459e-1f));
    p = mw_vec_fma(p, r, mw_vec_set(5.0000001201e-1f));
    p = mw_vec_fma(p, r * r, r) + 1.0f;
    return p * (mw_vec)(((mw_ivec)shifted << 23) + (127 << 23)); /* 2^n: magic's own bits leave at the top */
}

/* exp(x) for x below 88, with a relative error of about 3e-7 near 0 that grows by 1e-7 |x|: enough for
 * activations and a quarter cheaper. Below -87 it stays at its limit. NaN gives NaN. */
MW_INLINE mw_vec mw_vec_exp_quick(mw_vec x) {
    const mw_vec magic = mw_vec_set(12582912.0f);
    const mw_vec t = mw_vec_max(mw_vec_set(-125.5f), x * 1.44269504088896341f);
    const mw_vec shifted = t + magic, f = t - (shifted - magic);
    /* 2^f on [-1/2, 1/2] by a polynomial with the least greatest error */
    mw_vec p = mw_vec_fma(mw_vec_set(1.3276472e-3f), f, mw_vec_set(9.675541e-3f));
    p = mw_vec_fma(p, f, mw_vec_set(5.550713e-2f));
    p = mw_vec_fma(p, f, mw_vec_set(2.402212e-1f));
    p = mw_vec_fma(p, f, mw_vec_set(6.9314694e-1f));
    p = mw_vec_fma(p, f, mw_vec_set(1.0000001f));
    return p * (mw_vec)(((mw_ivec)shifted << 23) + (127 << 23));
}

/* log(x) for finite x > 0, to about 1 ulp away from 1. NaN gives NaN. */
MW_INLINE mw_vec mw_vec_log(mw_vec x) {
    const mw_ivec bits = (mw_ivec)x;
    const mw_ivec exponent = ((bits - 0x3F3504F3) >> 23); /* so that the mantissa lies in [sqrt(1/2), sqrt(2))
                                                           */
    const mw_vec m = (mw_vec)(bits - (exponent << 23)) - 1.0f;
    const mw_vec e = __builtin_convertvector(exponent, mw_vec), z = m * m;
    mw_vec p = mw_vec_fma(mw_vec_set(7.0376836292e-2f), m, mw_vec_set(-1.1514610310e-1f));
    p = mw_vec_fma(p, m, mw_vec_set(1.1676998740e-1f));
    p = mw_vec_fma(p, m, mw_vec_set(-1.2420140846e-1f));
    p = mw_vec_fma(p, m, mw_vec_set(1.4249322787e-1f));
    p = mw_vec_fma(p, m, mw_vec_set(-1.6668057665e-1f));
    p = mw_vec_fma(p, m, mw_vec_set(2.0000714765e-1f));
    p = mw_vec_fma(p, m, mw_vec_set(-2.4999993993e-1f));
    p = mw_vec_fma(p, m, mw_vec_set(3.3333331174e-1f));
    p = mw_vec_fma(e, mw_vec_set(-2.12194440e-4f), p * m * z);
    p = mw_vec_fma(mw_vec_set(-0.5f), z, p);
    return mw_vec_select(x == x, mw_vec_fma(e, mw_vec_set(0.693359375f), m + p), x);
}

/* for over n floats by vectors: i is the running index, part the number of lanes in use. */
#define MW_VEC_FOR(i, part, n)                                                                               \
    for (int i = 0, part; i < (n) && ((part) = (n)-i < MW_LANES ? (n)-i : MW_LANES, 1); i += MW_LANES)

#endif
