/* The C side of python_overhead.py, which compiles and loads it: the same calls on the same objects, timed
 * without Python. */
#include <mawam/mawam.h>

#include <time.h>

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Seconds of one step of a batch; negative after a failure. */
double overhead_step(mw_env_batch *batch, mw_env_batch_arrays *arrays) {
    mw_error error;
    const double start = seconds();
    if (mw_env_batch_advance(batch, arrays, &error) != MW_OK) return -1;
    return seconds() - start;
}

/* Seconds of one decision; negative after a failure. */
double overhead_act(mw_planner *planner, const float *obs, const uint8_t *legal, float *real,
                    int32_t *index) {
    mw_error error;
    const double start = seconds();
    if (mw_planner_act(planner, obs, legal, NULL, real, index, &error) != MW_OK) return -1;
    return seconds() - start;
}
