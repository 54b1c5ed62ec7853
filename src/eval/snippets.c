/* How well the world model ranks recorded snippets; see diagnosis.h. */
#include "core/json.h"
#include "core/numbers.h"
#include "core/options.h"
#include "core/rng.h"
#include "data/split.h"
#include "eval/diagnosis.h"
#include "eval/eval.h"
#include "eval/statistics.h"
#include "plan/scorers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNED = 8 }; /* horizon at which predicted returns are held against realised ones one by one */

static const mw_bundle_part *imagining_part(const mw_bundle *bundle) {
    const char *name = bundle ? mw_scorer_imagining(bundle) : NULL;
    return name ? mw_bundle_find((mw_bundle *)(uintptr_t)bundle, name) : NULL;
}

static mw_snippet_options defaults_of(const mw_bundle *bundle) {
    mw_snippet_options options = {
        .size = sizeof options, .count = 2000, .seed = 2000, .held_out = MW_HELD_OUT};
    const mw_bundle_part *part = imagining_part(bundle);
    if (!part) return options;
    options.split_seed = strtoull(part->provenance.seed, NULL, 10);
    options.held_out = part->provenance.held_out;
    return options;
}

void mw_snippet_options_init(mw_snippet_options *options, size_t size, const mw_bundle *bundle) {
    const mw_snippet_options defaults = defaults_of(bundle);
    mw_options_fill(options, size, &defaults, sizeof defaults);
}

mw_status mw_bundle_expect_data(const mw_bundle *bundle, const mw_dataset *data, mw_error *error) {
    const mw_bundle_info *b = &bundle->info;
    const mw_dataset_spec *d = &data->spec;
    if (strcmp(b->task, d->task) || strcmp(b->rules, d->rules))
        return mw_fail(error, MW_ERR_MISMATCH,
                       "%s: the data is of %s under rules %s, the bundle of %s under %s", data->folder,
                       d->task, d->rules, b->task, b->rules);
    if (b->agents != d->agents || b->obs != d->obs_size || b->act != d->act_size ||
        b->discrete != d->discrete)
        return mw_fail(
            error, MW_ERR_MISMATCH,
            "%s: the data has %d agents, %d observation features and %d %s actions; the bundle has "
            "%d, %d and %d %s",
            data->folder, d->agents, d->obs_size, d->act_size, d->discrete ? "discrete" : "real", b->agents,
            b->obs, b->act, b->discrete ? "discrete" : "real");
    return MW_OK;
}

/* All places in the set with `horizon` transitions ahead; NULL: out of memory. */
static mw_place *places_of(const mw_dataset *data, const mw_episode_set *set, int horizon, long *count) {
    mw_place *places = malloc((size_t)(set->transitions + 1) * sizeof *places);
    *count = 0;
    for (long k = 0; places && k < set->count; k++) {
        const long last = mw_dataset_transitions(data, set->episodes[k]) - horizon;
        for (long t = 0; t <= last; t++) places[(*count)++] = (mw_place){set->episodes[k], t};
    }
    return places;
}

/* A random selection in random order: the first `wanted` of a shuffle. */
static void choose(mw_place *places, long count, long wanted, uint64_t seed) {
    mw_rng rng = mw_rng_make(seed, MW_RNG_STUDY, 2, 0, 0);
    for (long i = 0; i < wanted; i++) {
        const long j = i + (long)mw_rng_below(&rng, (uint32_t)(count - i));
        const mw_place other = places[i];
        places[i] = places[j];
        places[j] = other;
    }
}

/* ---- rolling ---- */

typedef struct {
    const mw_dataset *data;
    const mw_place *places;
    int count, agents, obs, act;
    mw_scorer *scorer;
    const mw_stop_flag *stop;
    float *now, *next, *action;           /* [count][n][o] twice, [count][n][d] */
    float *reward, *realized, *predicted; /* [count] */
} roll;

static double recorded_reward(const roll *r, int i, int h) {
    const mw_episode episode = mw_dataset_episode(r->data, r->places[i].episode);
    const float *rewards = episode.rewards + (size_t)(r->places[i].t + h) * (size_t)r->agents;
    double sum = 0;
    for (int a = 0; a < r->agents; a++) sum += rewards[a];
    return sum;
}

/* One step of all snippets: returns grow, observations move on. *mean: the squared error. */
static mw_status roll_step(roll *r, int h, double *mean, mw_error *error) {
    const size_t joint = (size_t)(r->agents * r->obs);
    for (int i = 0; i < r->count; i++)
        mw_dataset_actions(r->data, r->data->offsets[r->places[i].episode] + r->places[i].t + h, 1,
                           r->action + (size_t)i * (size_t)(r->agents * r->act));
    const mw_scoring call = {.scores = r->reward,
                             .paths = r->next,
                             .obs = r->now,
                             .actions = r->action,
                             .count = r->count,
                             .horizon = 1,
                             .group = 1};
    MW_TRY(mw_scorer_score(r->scorer, &call, error));
    double square = 0;
    for (int i = 0; i < r->count; i++) {
        const float *truth = mw_dataset_obs(r->data, r->places[i].episode, r->places[i].t + h + 1);
        const float *seen = r->next + (size_t)i * joint;
        r->predicted[i] += r->reward[i];
        r->realized[i] += (float)recorded_reward(r, i, h);
        for (size_t k = 0; k < joint; k++)
            square += ((double)seen[k] - truth[k]) * ((double)seen[k] - truth[k]);
    }
    float *swap = r->now;
    r->now = r->next;
    r->next = swap;
    *mean = square / ((double)r->count * (double)joint);
    return MW_OK;
}

/* out[points] of x[n], standardised over all n; 0 where they are all the same. */
static void standardise(double *out, const float *x, int points, int n) {
    double mean = 0, square = 0;
    for (int i = 0; i < n; i++) mean += (double)x[i] / n;
    for (int i = 0; i < n; i++) square += ((double)x[i] - mean) * ((double)x[i] - mean) / n;
    for (int i = 0; i < points; i++) out[i] = square > 0 ? ((double)x[i] - mean) / sqrt(square) : 0;
}

/* Snippets lie in random order, so the first ones are a random choice. */
static void align(mw_snippets *result, const roll *r) {
    result->points = r->count < MW_SNIPPET_POINTS ? r->count : MW_SNIPPET_POINTS;
    standardise(result->realized, r->realized, result->points, r->count);
    standardise(result->predicted, r->predicted, result->points, r->count);
}

static mw_status roll_all(mw_snippets *result, roll *r, mw_error *error) {
    const size_t joint = (size_t)(r->agents * r->obs);
    for (int i = 0; i < r->count; i++)
        memcpy(r->now + (size_t)i * joint, mw_dataset_obs(r->data, r->places[i].episode, r->places[i].t),
               joint * sizeof *r->now);
    result->aligned = result->horizons < ALIGNED ? result->horizons : ALIGNED;
    for (int h = 0; h < result->horizons; h++) {
        if (mw_stopped(r->stop))
            return mw_fail(error, MW_ERR_INTERRUPTED, "stopped after %d of %d steps of the snippets", h,
                           result->horizons);
        MW_TRY(roll_step(r, h, &result->error[h], error));
        MW_TRY(mw_ranking_of(&result->ranking[h], r->realized, r->predicted, r->count / MW_SNIPPET_GROUP,
                             MW_SNIPPET_GROUP, error));
        if (h + 1 == result->aligned) align(result, r);
    }
    return MW_OK;
}

static mw_status roll_places(mw_snippets *result, const mw_bundle *bundle, const mw_dataset *data,
                             const mw_place *places, const mw_snippet_options *options, mw_error *error) {
    const mw_bundle_info *b = &bundle->info;
    const size_t count = (size_t)result->count, joint = count * (size_t)(b->agents * b->obs);
    roll r = {.data = data,
              .places = places,
              .count = result->count,
              .agents = b->agents,
              .obs = b->obs,
              .act = b->act,
              .stop = options->stop};
    const char *scorer = mw_scorer_imagining(bundle);
    mw_pool *pool = NULL;
    if (!scorer) return mw_fail(error, MW_ERR_ARGUMENT, "this bundle has no world model to roll out");
    result->scorer = scorer;
    r.now = malloc(joint * sizeof *r.now);
    r.next = malloc(joint * sizeof *r.next);
    r.action = malloc(count * (size_t)(b->agents * b->act) * sizeof *r.action);
    r.reward = calloc(3 * count, sizeof *r.reward);
    mw_status status = r.now && r.next && r.action && r.reward
                           ? mw_pool_create(&pool, options->threads, error)
                           : mw_fail(error, MW_ERR_MEMORY, "cannot roll %d snippets", result->count);
    if (status == MW_OK)
        status = mw_scorer_create(&r.scorer, scorer, bundle,
                                  (mw_scorer_context){.max_rows = result->count, .horizon = 1, .pool = pool},
                                  error);
    if (status == MW_OK) {
        r.realized = r.reward + count;
        r.predicted = r.reward + 2 * count;
        status = roll_all(result, &r, error);
    }
    mw_scorer_free(r.scorer);
    mw_pool_free(pool);
    free(r.now);
    free(r.next);
    free(r.action);
    free(r.reward);
    return status;
}

/* The part that imagines names its data by their checksum, and how they were split. */
static mw_status is_held_out(bool *held_out, const mw_bundle *bundle, const mw_dataset *dataset,
                             const mw_snippet_options *options, mw_error *error) {
    char checksum[17];
    const mw_snippet_options own = defaults_of(bundle);
    const mw_bundle_part *part = imagining_part(bundle);
    MW_TRY(mw_dataset_checksum(checksum, dataset, error));
    *held_out = part && !strcmp(part->provenance.data, checksum) && own.split_seed == options->split_seed &&
                own.held_out == options->held_out;
    return MW_OK;
}

mw_status mw_snippets_run(mw_snippets *result, const mw_bundle *bundle, const mw_dataset *dataset,
                          const mw_snippet_options *given, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED(result);
    mw_snippet_options options = defaults_of(given ? NULL : bundle);
    *result = (mw_snippets){0};
    MW_TRY(mw_options_take(&options, sizeof options, MW_FIELD_END(mw_snippet_options, threads), given,
                           "mw_snippet_options_init", error));
    MW_NEED(bundle);
    MW_NEED(dataset);
    MW_TRY(mw_bundle_expect_data(bundle, dataset, error));
    if (options.count < MW_SNIPPET_GROUP)
        return mw_fail(error, MW_ERR_ARGUMENT, "snippets are ranked in groups of %d; %d are too few",
                       MW_SNIPPET_GROUP, options.count);
    mw_split split;
    MW_TRY(mw_split_make(&split, dataset, options.held_out, options.split_seed, error));
    /* a single episode cannot be held out */
    const mw_episode_set *set = split.held.count ? &split.held : &split.train;
    mw_status status = is_held_out(&result->held_out, bundle, dataset, &options, error);
    result->held_out = result->held_out && split.held.count > 0;
    long found = 0;
    mw_place *places = NULL;
    /* Where episodes are short, so are snippets: some share of all starts must remain. */
    int horizon = MW_SNIPPET_HORIZON + 1;
    do {
        free(places);
        places = places_of(dataset, set, --horizon, &found);
    } while (places && horizon > 1 && (found < MW_SNIPPET_GROUP || 4 * found < set->transitions));
    if (status == MW_OK)
        status = !places ? mw_fail(error, MW_ERR_MEMORY, "%s: cannot list its snippets", dataset->folder)
                 : found < MW_SNIPPET_GROUP
                     ? mw_fail(error, MW_ERR_ARGUMENT, "%s: the held-out episodes hold fewer than %d steps",
                               dataset->folder, MW_SNIPPET_GROUP)
                     : MW_OK;
    if (status == MW_OK) {
        const long most = found < options.count ? found : options.count;
        result->horizons = horizon;
        result->count = (int)(most - most % MW_SNIPPET_GROUP);
        choose(places, found, result->count, options.seed);
        status = roll_places(result, bundle, dataset, places, &options, error);
    }
    free(places);
    mw_split_free(&split);
    MW_TRY(mw_dataset_intact(dataset, error));
    return status;
}

json_t *mw_snippets_json(const mw_snippets *r) {
    json_t *rows = json_array(), *points = json_array();
    for (int h = 0; h < r->horizons; h++) {
        json_t *row = mw_ranking_json(&r->ranking[h]);
        json_object_set_new(row, "horizon", json_integer(h + 1));
        json_object_set_new(row, "rollout_mse", mw_number_json(r->error[h]));
        json_array_append_new(rows, row);
    }
    for (int i = 0; i < r->points; i++)
        json_array_append_new(points, json_pack("[o, o]", mw_number_json(round(1e4 * r->realized[i]) / 1e4),
                                                mw_number_json(round(1e4 * r->predicted[i]) / 1e4)));
    return json_pack("{s:i, s:b, s:o, s:{s:i, s:o}}", "count", r->count, "held_out", r->held_out, "horizons",
                     rows, "alignment", "horizon", r->aligned, "points", points);
}

/* ---- the whole diagnosis ---- */

static json_t *diagnosis_json(const mw_diagnosis *d) {
    const mw_bundle_info *info = &d->bundle->info;
    json_t *object = json_pack("{s:s, s:s, s:s, s:s, s:s}", "mawam", mw_version(), "task", info->task,
                               "quality", info->quality, "rules", info->rules, "method", info->method);
    if (d->drawn) json_object_set_new(object, "same_state", mw_same_state_json(d->drawn));
    if (d->drawn && strcmp(d->drawn->rules, info->rules)) {
        json_object_set_new(object, "rules", json_string(d->drawn->rules));
        json_object_set_new(object, "accepted_rules", json_string(info->rules));
    }
    if (d->planned) json_object_set_new(object, "same_state_planned", mw_same_state_json(d->planned));
    if (d->snippets) json_object_set_new(object, "snippets", mw_snippets_json(d->snippets));
    return object;
}

mw_status mw_diagnosis_print(const mw_diagnosis *d, const char *command, FILE *out, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED_AS(d, "diagnosis");
    MW_NEED_AS(d->bundle, "diagnosis->bundle");
    MW_NEED(command);
    MW_NEED(out);
    return mw_eval_report_put(diagnosis_json(d), command, NULL, out, error);
}

mw_status mw_diagnosis_save(const mw_diagnosis *d, const char *command, const char *path, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED_AS(d, "diagnosis");
    MW_NEED_AS(d->bundle, "diagnosis->bundle");
    MW_NEED(command);
    MW_NEED(path);
    return mw_eval_report_put(diagnosis_json(d), command, path, NULL, error);
}
