/* Philox4x32-10 (Salmon et al., SC 2011) and the distributions on top of it; see rng.h. */
#include "core/rng.h"

#include "core/math.h"

#include <math.h>

void mw_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* SplitMix64's finaliser: folds the indices of a stream into 64 well-mixed bits. */
static uint64_t mix(uint64_t x) {
    x ^= x >> 30;
    x *= 0xBF58476D1CE4E5B9u;
    x ^= x >> 27;
    x *= 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

mw_rng mw_rng_make(uint64_t seed, mw_purpose purpose, uint64_t i, uint64_t j, uint64_t k) {
    const uint64_t golden = 0x9E3779B97F4A7C15u;
    uint64_t h = mix((uint64_t)purpose + golden);
    h = mix(h + golden + i);
    h = mix(h + golden + j);
    h = mix(h + golden + k);
    return (mw_rng){.key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
                    .stream = {(uint32_t)h, (uint32_t)(h >> 32)}};
}

static void next_block(mw_rng *rng, uint32_t out[4]) {
    uint32_t counter[4] = {(uint32_t)rng->block, (uint32_t)(rng->block >> 32), rng->stream[0],
                           rng->stream[1]};
    mw_philox4x32(counter, rng->key, out);
    rng->block++;
}

uint32_t mw_rng_u32(mw_rng *rng) {
    if (rng->left == 0) {
        next_block(rng, rng->buffer);
        rng->left = 4;
    }
    return rng->buffer[4 - rng->left--];
}

uint64_t mw_rng_u64(mw_rng *rng) {
    uint64_t low = mw_rng_u32(rng);
    return low | (uint64_t)mw_rng_u32(rng) << 32;
}

float mw_rng_float(mw_rng *rng) {
    return (float)(mw_rng_u32(rng) >> 8) * 0x1p-24f;
}

double mw_rng_double(mw_rng *rng) {
    return (double)(mw_rng_u64(rng) >> 11) * 0x1p-53;
}

double mw_rng_range(mw_rng *rng, double low, double high) {
    return low + (high - low) * mw_rng_double(rng);
}

/* Lemire's method: a multiplication, and a rejection only in the rare biased zone. */
uint32_t mw_rng_below(mw_rng *rng, uint32_t n) {
    uint64_t product = (uint64_t)mw_rng_u32(rng) * n;
    if ((uint32_t)product < n) {
        uint32_t threshold = -n % n;
        while ((uint32_t)product < threshold) product = (uint64_t)mw_rng_u32(rng) * n;
    }
    return (uint32_t)(product >> 32);
}

double mw_rng_normal(mw_rng *rng) {
    double radius = sqrt(-2.0 * mw_ln(1.0 - mw_rng_double(rng)));
    return radius * mw_cos(6.283185307179586 * mw_rng_double(rng));
}

/* Box-Muller on whole blocks: four words make four normals, so that the values depend only on their position.
 */
void mw_rng_fill_normal(mw_rng *rng, float *out, size_t n) {
    for (size_t at = 0; at < n; at += 4) {
        uint32_t word[4];
        float value[4];
        next_block(rng, word);
        for (int pair = 0; pair < 2; pair++) {
            float u = ((float)(word[2 * pair] >> 8) + 1.0f) * 0x1p-24f; /* (0,1] */
            float angle = (float)(word[2 * pair + 1] >> 8) * (6.2831853f * 0x1p-24f);
            float radius = sqrtf(-2.0f * (float)mw_ln((double)u));
            value[2 * pair] = radius * (float)mw_cos((double)angle);
            value[2 * pair + 1] = radius * (float)mw_sin((double)angle);
        }
        for (size_t lane = 0; lane < 4 && at + lane < n; lane++) out[at + lane] = value[lane];
    }
}

void mw_rng_shuffle(mw_rng *rng, int *values, int n) {
    for (int i = n - 1; i > 0; i--) {
        int j = (int)mw_rng_below(rng, (uint32_t)i + 1);
        int kept = values[i];
        values[i] = values[j];
        values[j] = kept;
    }
}
