/* Randomness is a function: a counter-based generator (Philox4x32-10) keyed by (seed, purpose, indices). A
 * stream is a small value that may be copied into snapshots; there is no hidden state anywhere. */
#ifndef MW_CORE_RNG_H
#define MW_CORE_RNG_H

#include <stddef.h>
#include <stdint.h>

/* What a stream is for. Streams of different purposes are independent. Values are part of the reproducibility
 * contract: never renumber, only append. */
typedef enum mw_purpose {
    MW_RNG_TEST = 0,
    MW_RNG_INIT = 1,      /* network initialisation: index = parameter */
    MW_RNG_ENV = 2,       /* environment reset and dynamics */
    MW_RNG_SCRIPT = 3,    /* scripted policies: index = step */
    MW_RNG_CANDIDATE = 4, /* planner noise: indices = episode, step, candidate */
    MW_RNG_BATCH = 5,     /* training batches: index = step */
    MW_RNG_FLOW = 6,      /* flow times, noise, condition dropout: indices = step, sample */
    MW_RNG_SPLIT = 7,     /* train/validation split */
    MW_RNG_COLLECT = 8,   /* dataset collection: index = episode */
    MW_RNG_LEARN = 9,     /* behaviour learning */
    MW_RNG_EVAL = 10,     /* evaluation episodes: index = episode */
    MW_RNG_STUDY = 11,    /* bootstraps, permutations, snippets */
    MW_RNG_BENCH = 12,
    MW_RNG_EXPLORE = 13,   /* what candidates lean to: indices = episode, step, candidate */
    MW_RNG_ADVANTAGE = 14, /* random features of the advantage: index = feature */
    MW_RNG_REGRESS = 15,   /* batches of a regression: indices = call, step */
    MW_RNG_RECOMBINE = 16, /* whom agents follow in mixed candidates: indices = episode, step, round */
    MW_RNG_POLICY = 17,    /* policies that draw their actions: indices = episode, step, agent */
} mw_purpose;

typedef struct mw_rng {
    uint32_t key[2];    /* from the seed */
    uint32_t stream[2]; /* from purpose and indices */
    uint64_t block;     /* next counter value */
    uint32_t buffer[4]; /* results of the last block */
    uint32_t left;      /* how many of them are unused */
    uint32_t unused_;   /* keeps copies free of padding */
} mw_rng;

mw_rng mw_rng_make(uint64_t seed, mw_purpose purpose, uint64_t i, uint64_t j, uint64_t k);

uint32_t mw_rng_u32(mw_rng *rng);
uint64_t mw_rng_u64(mw_rng *rng);
float mw_rng_float(mw_rng *rng);                            /* uniform in [0,1), 24 bits */
double mw_rng_double(mw_rng *rng);                          /* uniform in [0,1), 53 bits */
double mw_rng_range(mw_rng *rng, double low, double high);  /* uniform in [low,high) */
uint32_t mw_rng_below(mw_rng *rng, uint32_t n);             /* uniform in 0..n-1, unbiased; n > 0 */
double mw_rng_normal(mw_rng *rng);                          /* standard normal */
void mw_rng_fill_normal(mw_rng *rng, float *out, size_t n); /* n standard normals, single precision */
void mw_rng_shuffle(mw_rng *rng, int *values, int n);       /* Fisher-Yates */

/* The bare block function, for the known-answer test. */
void mw_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

#endif
