/* Returns of recorded episodes; see returns.h. */
#include "data/returns.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Between neighbours in the sorted order, linearly. */
static double quantile_of(float *values, long count, double quantile) {
    qsort(values, (size_t)count, sizeof *values, compare);
    const double at = quantile * (double)(count - 1);
    const long low = (long)at, high = low + 1 < count ? low + 1 : low;
    return (double)values[low] + (at - (double)low) * ((double)values[high] - (double)values[low]);
}

double mw_return_to_go(const mw_dataset *dataset, mw_place place, double discount, float *sizes) {
    const mw_episode e = mw_dataset_episode(dataset, place.episode);
    const int n = dataset->spec.agents;
    double to_go = 0;
    for (long t = e.length - 1; t >= place.t; t--) {
        double reward = 0;
        for (int i = 0; i < n; i++) reward += (double)e.rewards[t * n + i];
        to_go = reward / n + discount * to_go;
        if (sizes) sizes[t] = (float)fabs(to_go);
    }
    return to_go;
}

mw_status mw_returns_scale(double *scale, const mw_dataset *dataset, const mw_episode_set *set,
                           double discount, mw_error *error) {
    long steps = 0, at = 0;
    for (long i = 0; i < set->count; i++) steps += (long)dataset->lengths[set->episodes[i]];
    float *sizes = malloc((size_t)steps * sizeof *sizes);
    if (!sizes) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate the returns of %ld steps", steps);
    for (long i = 0; i < set->count; i++) {
        mw_return_to_go(dataset, (mw_place){set->episodes[i], 0}, discount, sizes + at);
        at += (long)dataset->lengths[set->episodes[i]];
    }
    *scale = quantile_of(sizes, steps, 0.99);
    if (!(*scale > 0)) *scale = 1;
    free(sizes);
    return MW_OK;
}

mw_status mw_returns_quantile(double *value, const mw_dataset *dataset, const mw_episode_set *set,
                              double discount, double quantile, mw_error *error) {
    float *starts = malloc((size_t)set->count * sizeof *starts);
    if (!starts) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate %ld returns", set->count);
    for (long i = 0; i < set->count; i++)
        starts[i] = (float)mw_return_to_go(dataset, (mw_place){set->episodes[i], 0}, discount, NULL);
    *value = quantile_of(starts, set->count, quantile);
    free(starts);
    return MW_OK;
}
