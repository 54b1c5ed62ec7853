/* How fast the machine is just now, for an estimate of how long training will take. */
#include "core/clock.h"
#include "core/pool.h"
#include "nn/gemm.h"
#include "train/train.h"

#include <stdlib.h>

enum { SIZE = 128, TIMES = 16 };

typedef struct {
    mw_pool *pool;
    float *areas; /* per worker: three matrices */
    double seconds;
} race;

static void multiply(void *context, int worker) {
    race *r = context;
    float *a = r->areas + (size_t)worker * 3 * SIZE * SIZE, *b = a + SIZE * SIZE, *c = b + SIZE * SIZE;
    mw_pool_barrier(r->pool);
    const double started = mw_clock_seconds();
    for (int i = 0; i < TIMES; i++) mw_gemm_packed(c, a, b, NULL, SIZE, SIZE, SIZE);
    mw_pool_barrier(r->pool);
    if (worker == 0) r->seconds = mw_clock_seconds() - started;
}

static double rate(mw_pool *pool) {
    const int threads = mw_pool_threads(pool);
    const double operations = 2.0 * SIZE * SIZE * SIZE * TIMES * threads, guess = 1e9 * threads;
    race r = {pool, calloc((size_t)threads * 3 * SIZE * SIZE, sizeof(float)), 0};
    double best = guess;
    for (int i = 0; r.areas && i < 4; i++) {
        mw_pool_run(pool, multiply, &r);
        if (r.seconds > 0 && operations / r.seconds > best) best = operations / r.seconds;
    }
    free(r.areas);
    return best;
}

void mw_training_foresee(mw_training_estimate *estimate, const mw_training_state *state, const bool *trains,
                         mw_pool *pool) {
    for (int i = 0; i < state->count; i++)
        if (trains[i])
            estimate->operations +=
                state->part[i]->cost * (double)(state->part[i]->steps - state->part[i]->step);
    estimate->seconds = 2 * estimate->operations / rate(pool);
}
