/* One pass over a dataset for everything training needs to know about it; see stats.h. */
#include "data/stats.h"

#include <math.h>
#include <stdlib.h>

/* Sums relative to the first value seen: with data far from zero, plain sums of squares would cancel. */
typedef struct sums {
    double origin, sum, square, count;
    float low, high;
} sums;

static void sums_add(sums *s, float x) {
    if (s->count == 0) {
        s->origin = (double)x;
        s->low = s->high = x;
    }
    double y = (double)x - s->origin;
    s->count++;
    s->sum += y;
    s->square += y * y;
    s->low = x < s->low ? x : s->low;
    s->high = x > s->high ? x : s->high;
}

static mw_moments sums_finish(const sums *s) {
    if (s->count == 0) return (mw_moments){.scale = 1};
    double mean = s->sum / s->count, variance = fmax(0, s->square / s->count - mean * mean);
    mw_moments m = {.mean = s->origin + mean, .std = sqrt(variance), .low = s->low, .high = s->high};
    bool constant = m.std <= 1e-6 * fmax(1, fabs(m.mean));
    m.scale = constant ? 1 : m.std;
    return m;
}

typedef struct pass {
    const mw_dataset *data;
    sums *obs, *delta, *act, reward, to_go;
    mw_normalizer_builder *obs_builder, *act_builder; /* NULL: not wanted */
    double discount;
} pass;

static void add_obs(pass *p, const float *obs, const float *next) {
    int n = p->data->spec.agents, o = p->data->spec.obs_size;
    for (int i = 0; i < n; i++)
        for (int f = 0; f < o; f++) {
            float x = obs[i * o + f];
            sums_add(&p->obs[f], x);
            if (next) sums_add(&p->delta[f], next[i * o + f] - x);
        }
    if (p->obs_builder) mw_normalizer_builder_add(p->obs_builder, obs, n);
}

static void add_action(pass *p, const mw_episode *e, long t) {
    int n = p->data->spec.agents, d = p->data->spec.act_size;
    for (int i = 0; i < n; i++)
        for (int a = 0; a < d; a++) {
            long row = t * n + i;
            sums_add(&p->act[a], e->index ? (float)(e->index[row] == a) : e->real[row * d + a]);
        }
    if (p->act_builder) mw_normalizer_builder_add(p->act_builder, e->real + t * n * d, n);
}

static void add_episode(pass *p, long episode) {
    mw_episode e = mw_dataset_episode(p->data, episode);
    int n = p->data->spec.agents;
    for (long t = 0; t < e.length; t++) {
        add_obs(p, mw_dataset_obs(p->data, episode, t), mw_dataset_obs(p->data, episode, t + 1));
        add_action(p, &e, t);
    }
    if (e.last_obs) add_obs(p, e.last_obs, NULL);
    double to_go = 0;
    for (long t = e.length - 1; t >= 0; t--) {
        double reward = 0;
        for (int i = 0; i < n; i++) {
            sums_add(&p->reward, e.rewards[t * n + i]);
            reward += (double)e.rewards[t * n + i];
        }
        to_go = reward / n + p->discount * to_go;
        sums_add(&p->to_go, (float)to_go);
    }
}

#define RELEASE_STEPS 8192 /* how far the pass goes before it lets go of what is behind */

static void run(pass *p, const mw_episode_set *set, mw_data_stats *stats) {
    int64_t released = 0;
    for (long i = 0; i < set->count; i++) {
        long episode = set->episodes[i];
        add_episode(p, episode);
        stats->steps += p->data->lengths[episode];
        int64_t end = p->data->offsets[episode + 1];
        if (end - released < RELEASE_STEPS) continue;
        mw_dataset_release(p->data, released, end);
        released = end;
    }
    for (int f = 0; f < stats->obs_size; f++) {
        stats->obs[f] = sums_finish(&p->obs[f]);
        stats->delta[f] = sums_finish(&p->delta[f]);
    }
    for (int a = 0; a < stats->act_size; a++) stats->act[a] = sums_finish(&p->act[a]);
    stats->reward = sums_finish(&p->reward);
    stats->to_go = sums_finish(&p->to_go);
}

static mw_status make(mw_data_stats *stats, pass *p, const mw_episode_set *set, bool with_normalizers,
                      mw_error *error) {
    const mw_dataset_spec *spec = &p->data->spec;
    size_t o = (size_t)spec->obs_size, d = (size_t)spec->act_size;
    p->obs = calloc(2 * o + d, sizeof *p->obs);
    stats->obs = calloc(2 * o + d, sizeof *stats->obs);
    if (!p->obs || !stats->obs)
        return mw_fail(error, MW_ERR_MEMORY, "cannot allocate sums of %zu features", o);
    p->delta = p->obs + o;
    p->act = p->delta + o;
    stats->delta = stats->obs + o;
    stats->act = stats->delta + o;
    if (with_normalizers) {
        MW_TRY(mw_normalizer_builder_create(&p->obs_builder, spec->obs_size, MW_NORMALIZER_SAMPLE, error));
        if (!spec->discrete)
            MW_TRY(
                mw_normalizer_builder_create(&p->act_builder, spec->act_size, MW_NORMALIZER_SAMPLE, error));
    }
    run(p, set, stats);
    if (p->obs_builder)
        MW_TRY(mw_normalizer_builder_finish(p->obs_builder, &stats->obs_normalizer, MW_NORMALIZER_KNOTS,
                                            &stats->obs_report, error));
    if (p->act_builder)
        MW_TRY(mw_normalizer_builder_finish(p->act_builder, &stats->act_normalizer, MW_NORMALIZER_KNOTS,
                                            &stats->act_report, error));
    return MW_OK;
}

mw_status mw_data_stats_make(mw_data_stats *stats, const mw_dataset *data, const mw_episode_set *set,
                             double discount, bool with_normalizers, mw_error *error) {
    *stats = (mw_data_stats){.obs_size = data->spec.obs_size, .act_size = data->spec.act_size};
    pass p = {.data = data, .discount = discount};
    mw_status status = make(stats, &p, set, with_normalizers, error);
    free(p.obs);
    mw_normalizer_builder_free(p.obs_builder);
    mw_normalizer_builder_free(p.act_builder);
    if (status != MW_OK) mw_data_stats_free(stats);
    return status;
}

void mw_data_stats_free(mw_data_stats *stats) {
    free(stats->obs); /* delta and act are parts of it */
    mw_normalizer_free(&stats->obs_normalizer);
    mw_normalizer_free(&stats->act_normalizer);
    *stats = (mw_data_stats){0};
}
