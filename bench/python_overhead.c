/* The C side of python_overhead.py, which compiles and loads it: the same calls on the same objects, timed
 * without Python. */
#include <mawam/mawam.h>

#include <time.h>

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Seconds of one step of a batch; negative after a failure. */
double overhead_step(mw_env_batch *batch, mw_env_batch_arrays *arrays) {
    mw_error error;
    const double start = seconds(CLOCK_MONOTONIC);
    if (mw_env_batch_advance(batch, arrays, &error) != MW_OK) return -1;
    return seconds(CLOCK_MONOTONIC) - start;
}

/* Seconds of the processor for one decision, which is long enough to be interrupted; negative after a
 * failure. */
double overhead_act(mw_planner *planner, const float *obs, const uint8_t *legal, float *real,
                    int32_t *index) {
    mw_error error;
    const double start = seconds(CLOCK_THREAD_CPUTIME_ID);
    if (mw_planner_act(planner, obs, legal, NULL, real, index, &error) != MW_OK) return -1;
    return seconds(CLOCK_THREAD_CPUTIME_ID) - start;
}
