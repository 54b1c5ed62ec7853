/* Same-state ranking; see calibrate.h. Reactive play is the first of the M candidates, so one planner both
 * plays and proposes, with the history it would have in an evaluation. */
#include "eval/calibrate.h"

#include "core/json.h"
#include "core/options.h"
#include "core/rng.h"
#include "eval/worlds.h"
#include "eval/statistics.h"
#include "plan/oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 200, MAX_ENVS = 16, MAX_MARKS = 8, MAX_ROUNDS = 1000 };

static const mw_same_state_options defaults = {.size = sizeof defaults, .anchors = 64, .seed = 2000};

void mw_same_state_options_init(mw_same_state_options *options, size_t size) {
    mw_options_fill(options, size, &defaults, sizeof defaults);
}

/* One anchor's place among all and its returns. */
typedef struct {
    long episode;
    int step;
    float *realized, *predicted; /* [M], owned */
} anchor;

typedef struct {
    mw_same_state_options options;
    mw_plan_settings plan;
    int marks; /* anchors wanted of an episode */
    mw_pool *pool;
    mw_worlds stage;
    mw_planner *planner;
    mw_oracle *oracle;
    mw_oracle_job jobs[MAX_ENVS];
    int mark[MAX_ENVS][MAX_MARKS]; /* steps, ascending */
    long episode[MAX_ENVS];
    float *again; /* [MAX_ENVS][M]: returns of the second execution */
    anchor *anchors;
    int count, capacity;
    bool exact;
} survey;

/* ---- set-up ---- */

/* All candidates are drawn as the bundle says and none is a mean of others. */
static mw_status survey_plan(survey *v, const mw_bundle *bundle, mw_error *error) {
    const mw_same_state_options *o = &v->options;
    v->plan = bundle->plan;
    MW_TRY(mw_fields_assign(mw_plan_fields, &v->plan, "scorer=rwm warm_start=off temperature=0 choice=best",
                            "", error));
    for (int i = 0; i < o->assignment_count; i++)
        MW_TRY(mw_fields_assign(mw_plan_fields, &v->plan, o->assignments[i], "", error));
    if (o->anchors < 1 || o->anchors > 100000 || v->plan.candidates < 2)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "ranking needs 1 to 100000 anchors and at least 2 candidates; got %d and %d",
                       o->anchors, v->plan.candidates);
    return MW_OK;
}

static mw_status survey_build(survey *v, const mw_bundle *bundle, mw_error *error) {
    const mw_same_state_options *o = &v->options;
    mw_planner_options planner;
    MW_TRY(survey_plan(v, bundle, error));
    v->marks = bundle->info.episode_limit > LONGEST ? MAX_MARKS : MAX_MARKS / 2;
    const int wanted = (o->anchors + v->marks - 1) / v->marks, envs = wanted < MAX_ENVS ? wanted : MAX_ENVS;
    MW_TRY(mw_pool_create(&v->pool, o->threads, error));
    MW_TRY(mw_worlds_create(&v->stage, bundle, o->world, o->accept_rules, envs, v->pool, error));
    mw_planner_options_init(&planner, sizeof planner, bundle);
    planner.envs = envs;
    planner.threads = o->threads;
    planner.envs_played = v->stage.envs;
    planner.env_options = o->world;
    planner.plan = v->plan;
    MW_TRY(mw_planner_create(&v->planner, bundle, &planner, error));
    MW_TRY(mw_oracle_create(&v->oracle, bundle->info.task, o->world, v->pool, error));
    v->capacity = o->anchors + MAX_ENVS * MAX_MARKS;
    v->anchors = calloc((size_t)v->capacity, sizeof *v->anchors);
    v->again = calloc((size_t)(MAX_ENVS * v->plan.candidates), sizeof *v->again);
    if (!v->anchors || !v->again) return mw_fail(error, MW_ERR_MEMORY, "cannot keep %d anchors", o->anchors);
    return MW_OK;
}

static void survey_free(survey *v) {
    for (int k = 0; k < v->count; k++) free(v->anchors[k].realized);
    free(v->anchors);
    free(v->again);
    mw_worlds_free(&v->stage);
    mw_planner_free(v->planner);
    mw_oracle_free(v->oracle);
    mw_pool_free(v->pool);
}

static int by_step(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

/* Distinct steps with H more to go. */
static void draw_marks(survey *v, int e) {
    int steps[LONGEST], span = v->stage.info->episode_limit - v->plan.horizon + 1;
    if (span > LONGEST) span = LONGEST;
    if (span < 1) span = 1;
    mw_rng rng = mw_rng_make(v->options.seed, MW_RNG_STUDY, (uint64_t)v->episode[e], 1, 0);
    for (int t = 0; t < span; t++) steps[t] = t;
    mw_rng_shuffle(&rng, steps, span);
    for (int k = 0; k < MAX_MARKS; k++) v->mark[e][k] = k < v->marks && k < span ? steps[k] : -1;
    qsort(v->mark[e], MAX_MARKS, sizeof v->mark[e][0], by_step);
}

/* ---- playing ---- */

static bool marked(const survey *v, int e) {
    for (int k = 0; k < MAX_MARKS; k++)
        if (v->mark[e][k] == v->stage.last[e].step) return true;
    return false;
}

static mw_status add_anchor(survey *v, int e, mw_error *error) {
    const int most = v->plan.candidates;
    anchor *a = &v->anchors[v->count];
    a->realized = calloc(2 * (size_t)most, sizeof *a->realized);
    if (!a->realized) return mw_fail(error, MW_ERR_MEMORY, "cannot keep an anchor");
    v->count++;
    a->predicted = a->realized + most;
    a->episode = v->episode[e];
    a->step = v->stage.last[e].step;
    memcpy(a->predicted, mw_planner_scores(v->planner, e), (size_t)most * sizeof *a->predicted);
    return MW_OK;
}

/* Scores and executes the candidates of all environments that are at a mark. */
static mw_status survey_anchors(survey *v, mw_error *error) {
    const mw_worlds *s = &v->stage;
    const int most = v->plan.candidates, first = v->count;
    int count = 0;
    for (int e = 0; e < s->count; e++) {
        if (!s->active[e] || !marked(v, e)) continue;
        if (count == 0) MW_TRY(mw_planner_score(v->planner, error));
        MW_TRY(add_anchor(v, e, error));
        v->jobs[count++] =
            (mw_oracle_job){s->envs[e], mw_planner_actions(v->planner, e), v->anchors[v->count - 1].realized};
    }
    if (count == 0) return MW_OK;
    MW_TRY(mw_oracle_score(v->oracle, v->jobs, count, most, v->plan.horizon, error));
    for (int k = 0; k < count; k++) v->jobs[k].scores = v->again + k * most;
    MW_TRY(mw_oracle_score(v->oracle, v->jobs, count, most, v->plan.horizon, error));
    for (int k = 0; k < count; k++)
        v->exact &=
            !memcmp(v->anchors[first + k].realized, v->again + k * most, (size_t)most * sizeof *v->again);
    return MW_OK;
}

static void choose_first(survey *v) {
    mw_worlds *s = &v->stage;
    for (int e = 0; e < s->count; e++)
        if (s->active[e])
            for (int m = 0; m < v->plan.candidates; m++) mw_planner_scores(v->planner, e)[m] = m == 0;
    mw_planner_choose(v->planner, s->active, s->real, s->index);
}

/* One episode in every environment, as far as its last mark. */
static mw_status play_round(survey *v, long first, mw_error *error) {
    mw_worlds *s = &v->stage;
    int running = s->count;
    for (int e = 0; e < s->count; e++) {
        v->episode[e] = first + e;
        const mw_episode_seeds seeds = mw_episode_seeds_of(v->options.seed, v->episode[e]);
        mw_worlds_begin(s, NULL, e, seeds);
        mw_planner_begin(v->planner, e, seeds.controller);
        draw_marks(v, e);
    }
    while (running > 0) {
        if (v->options.stop && *v->options.stop)
            return mw_fail(error, MW_ERR_INTERRUPTED, "stopped after %d of %d anchors", v->count,
                           v->options.anchors);
        MW_TRY(mw_planner_propose(v->planner, s->obs, s->legal, s->active, error));
        MW_TRY(survey_anchors(v, error));
        choose_first(v);
        MW_TRY(mw_worlds_step(s, NULL, error));
        for (int e = 0; e < s->count; e++) {
            if (!s->active[e]) continue;
            mw_planner_reward(v->planner, e, (float)mw_worlds_reward(s, e));
            if (!mw_worlds_over(s, e) && s->last[e].step <= v->mark[e][MAX_MARKS - 1]) continue;
            s->active[e] = 0;
            running--;
        }
    }
    return MW_OK;
}

/* ---- summary ---- */

static int by_place(const void *a, const void *b) {
    const anchor *x = a, *y = b;
    if (x->episode != y->episode) return x->episode < y->episode ? -1 : 1;
    return x->step - y->step;
}

static void add_state(mw_same_state *r, const float *realized, const float *predicted) {
    const int most = r->candidates;
    int best = 0, chosen = 0;
    double sum = 0;
    float low = realized[0];
    for (int m = 0; m < most; m++) {
        if (realized[m] > realized[best]) best = m;
        if (predicted[m] > predicted[chosen]) chosen = m;
        if (realized[m] < low) low = realized[m];
        sum += realized[m];
    }
    const double regret = (double)realized[best] - sum / most;
    r->best += (double)realized[best] / r->anchors;
    r->chosen += (double)realized[chosen] / r->anchors;
    r->average += sum / most / r->anchors;
    r->random_regret += regret / r->anchors;
    r->random_normalized_regret += regret / ((double)realized[best] - low + 1e-8) / r->anchors;
}

static mw_status within(mw_same_state *r, mw_error *error) {
    double sum = 0;
    int count = 0;
    for (int k = 0; k < r->anchors; k++) {
        mw_ranking one;
        MW_TRY(mw_ranking_of(&one, r->realized + (size_t)k * (size_t)r->candidates,
                             r->predicted + (size_t)k * (size_t)r->candidates, 1, r->candidates, error));
        if (!isfinite(one.spearman)) continue;
        sum += one.spearman;
        count++;
    }
    r->spearman_within = count ? sum / count : NAN;
    return MW_OK;
}

static mw_status summarise(mw_same_state *r, survey *v, mw_error *error) {
    const size_t most = (size_t)v->plan.candidates, all = (size_t)v->options.anchors * most;
    *r = (mw_same_state){.anchors = v->options.anchors,
                         .candidates = v->plan.candidates,
                         .horizon = v->plan.horizon,
                         .exact = v->exact,
                         .realized = malloc(all * sizeof(float)),
                         .predicted = malloc(all * sizeof(float))};
    if (!r->realized || !r->predicted)
        return mw_fail(error, MW_ERR_MEMORY, "cannot keep %d anchors", r->anchors);
    memcpy(r->scorer, v->plan.scorer, sizeof r->scorer);
    snprintf(r->rules, sizeof r->rules, "%s", v->stage.info->rules);
    qsort(v->anchors, (size_t)v->count, sizeof *v->anchors, by_place);
    for (int k = 0; k < r->anchors; k++) {
        memcpy(r->realized + (size_t)k * most, v->anchors[k].realized, most * sizeof(float));
        memcpy(r->predicted + (size_t)k * most, v->anchors[k].predicted, most * sizeof(float));
        add_state(r, v->anchors[k].realized, v->anchors[k].predicted);
        r->episodes += k == 0 || v->anchors[k].episode != v->anchors[k - 1].episode;
    }
    MW_TRY(mw_ranking_of(&r->ranking, r->realized, r->predicted, r->anchors, r->candidates, error));
    return within(r, error);
}

mw_status mw_same_state_run(mw_same_state *result, const mw_bundle *bundle,
                            const mw_same_state_options *given, mw_error *error) {
    MW_NEED(result);
    static const mw_env_options usual = MW_ENV_OPTIONS_DEFAULT;
    mw_same_state_options options = defaults;
    *result = (mw_same_state){0};
    MW_TRY(mw_options_take(&options, sizeof options, MW_FIELD_END(mw_same_state_options, world), given,
                           "mw_same_state_options_init", error));
    MW_NEED(bundle);
    if (!options.world) options.world = &usual;
    survey *v = calloc(1, sizeof *v);
    if (!v) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a survey");
    v->options = options;
    v->exact = true;
    mw_status status = survey_build(v, bundle, error);
    for (int round = 0; status == MW_OK && v->count < options.anchors; round++)
        status = round < MAX_ROUNDS ? play_round(v, (long)round * v->stage.count, error)
                                    : mw_fail(error, MW_ERR_NUMERIC,
                                              "%s: episodes end too early for anchors: found %d of %d",
                                              bundle->info.task, v->count, options.anchors);
    if (status == MW_OK) status = summarise(result, v, error);
    if (status != MW_OK) mw_same_state_free(result);
    survey_free(v);
    free(v);
    return status;
}

void mw_same_state_free(mw_same_state *result) {
    free(result->realized);
    free(result->predicted);
    *result = (mw_same_state){0};
}

json_t *mw_same_state_json(const mw_same_state *r) {
    json_t *object = mw_ranking_json(&r->ranking);
    json_object_set_new(object, "spearman_within", mw_number_json(r->spearman_within));
    json_object_set_new(object, "random_regret", mw_number_json(r->random_regret));
    json_object_set_new(object, "random_normalized_regret", mw_number_json(r->random_normalized_regret));
    json_object_set_new(object, "return_best", mw_number_json(r->best));
    json_object_set_new(object, "return_chosen", mw_number_json(r->chosen));
    json_object_set_new(object, "return_average", mw_number_json(r->average));
    json_object_set_new(object, "anchors", json_integer(r->anchors));
    json_object_set_new(object, "episodes", json_integer(r->episodes));
    json_object_set_new(object, "scorer", json_string(r->scorer));
    json_object_set_new(object, "M", json_integer(r->candidates));
    json_object_set_new(object, "H", json_integer(r->horizon));
    json_object_set_new(object, "exact", json_boolean(r->exact));
    return object;
}
