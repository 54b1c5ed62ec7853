/* Recorded transitions against our own world: what mw_dataset_replay does. Data that was made elsewhere may
 * follow our rules or others, and its own numbers tell as far as an observation holds the state. */
#include "data/dataset.h"

#include "core/numbers.h"
#include "mawam/env.h"

#include <math.h>
#include <stdlib.h>

/* Observations are recorded in single precision: the state recalled from one is off by 1e-7, which contacts
 * amplify. Rewards are steeper in the state, and those near a threshold may flip. */
#define OBS_TOLERANCE    1e-4
#define REWARD_TOLERANCE 1e-3

typedef struct {
    const mw_dataset *data;
    mw_env *env;
    mw_feature *features; /* [o] */
    float *obs, *rewards; /* [n][o], [n] after the step */
    mw_rules_report *report;
} comparison;

/* The largest difference, relative to values above 1. */
static double difference(const float *a, const float *b, size_t count) {
    double worst = 0;
    for (size_t i = 0; i < count; i++)
        worst = fmax(worst, fabs((double)a[i] - (double)b[i]) / fmax(1, fabs((double)b[i])));
    return worst;
}

static void look_at_ranges(const comparison *c, const float *obs) {
    const mw_dataset_spec *s = &c->data->spec;
    for (int i = 0; i < s->agents * s->obs_size; i++) {
        const mw_feature *f = &c->features[i % s->obs_size];
        const double slack = OBS_TOLERANCE * fmax(1, fmax(fabs(f->low), fabs(f->high)));
        c->report->values++;
        c->report->outside += obs[i] < f->low - slack || obs[i] > f->high + slack;
    }
}

/* One transition, whose next observation is known. An action that our world refuses is a disagreement. */
static mw_status compare(const comparison *c, int64_t step, const float *next, mw_error *error) {
    const mw_dataset_spec *s = &c->data->spec;
    const size_t n = (size_t)s->agents, row = n * (size_t)s->obs_size, d = (size_t)s->act_size,
                 at = (size_t)step;
    const mw_action action = {c->data->real ? c->data->real + at * n * d : NULL,
                              c->data->index ? c->data->index + at * n : NULL};
    MW_TRY(mw_env_recall(c->env, c->data->obs + at * row, error));
    c->report->compared++;
    if (mw_env_step(c->env, action, c->rewards, NULL, NULL) != MW_OK) return MW_OK;
    mw_env_observe(c->env, c->obs);
    const double obs = difference(c->obs, next, row),
                 reward = difference(c->rewards, c->data->rewards + at * n, n);
    c->report->agreed += obs <= OBS_TOLERANCE && reward <= REWARD_TOLERANCE;
    c->report->worst_obs = fmax(c->report->worst_obs, obs);
    c->report->worst_reward = fmax(c->report->worst_reward, reward);
    return MW_OK;
}

static mw_status compare_sample(const comparison *c, long sample, mw_error *error) {
    const mw_dataset *d = c->data;
    bool possible = true;
    if (sample > d->steps) sample = d->steps;
    for (long k = 0; k < sample; k++) {
        const int64_t step = (int64_t)((double)k * (double)d->steps / (double)sample);
        const long episode = mw_dataset_episode_of(d, step);
        const float *next = mw_dataset_obs(d, episode, step - d->offsets[episode] + 1);
        look_at_ranges(c, d->obs + (size_t)step * (size_t)d->spec.agents * (size_t)d->spec.obs_size);
        if (!next || !possible) continue;
        const mw_status status = compare(c, step, next, error);
        possible = status != MW_ERR_UNSUPPORTED;
        if (possible) MW_TRY(status);
    }
    return MW_OK;
}

mw_status mw_dataset_replay(const mw_dataset *dataset, const mw_env_options *world, long sample,
                            mw_rules_report *report, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED(dataset);
    MW_NEED(report);
    if (sample < 1) return mw_fail(error, MW_ERR_ARGUMENT, "sample is %ld; it must be at least 1", sample);
    const mw_dataset_spec *s = &dataset->spec;
    comparison c = {.data = dataset, .report = report};
    *report = (mw_rules_report){0};
    MW_TRY(mw_env_create(&c.env, s->task, world, error));
    const mw_env_info *info = mw_env_describe(c.env);
    mw_status status = MW_OK;
    if (info->agents != s->agents || info->obs_size != s->obs_size || info->act_size != s->act_size ||
        info->discrete != s->discrete)
        status = mw_fail(error, MW_ERR_MISMATCH,
                         "%s: %d agents, %d features, %d %s actions; the world of '%s' has %d, %d, %d %s",
                         dataset->folder, s->agents, s->obs_size, s->act_size,
                         s->discrete ? "discrete" : "real", info->task, info->agents, info->obs_size,
                         info->act_size, info->discrete ? "discrete" : "real");
    const size_t n = (size_t)s->agents, o = (size_t)s->obs_size;
    c.features = calloc(o, sizeof *c.features);
    c.obs = calloc(n * o, sizeof *c.obs);
    c.rewards = calloc(n, sizeof *c.rewards);
    if (status == MW_OK && (!c.features || !c.obs || !c.rewards))
        status = mw_fail(error, MW_ERR_MEMORY, "out of memory for a transition of '%s'", s->task);
    for (int f = 0; status == MW_OK && f < s->obs_size; f++) mw_env_feature(c.env, f, &c.features[f]);
    if (status == MW_OK) status = compare_sample(&c, sample, error);
    free(c.features);
    free(c.obs);
    free(c.rewards);
    mw_env_free(c.env);
    MW_TRY(mw_dataset_intact(dataset, error));
    return status;
}
