/* Same-state ranking; see diagnosis.h. At every anchor all judges score the planner's candidates, and the
 * simulator executes them, twice: the second time must give the same returns. */
#include "eval/diagnosis.h"

#include "core/json.h"
#include "core/numbers.h"
#include "core/options.h"
#include "eval/anchors.h"
#include "eval/statistics.h"
#include "plan/choice.h"
#include "plan/oracle.h"
#include "plan/scorers.h"

#include <stdlib.h>
#include <string.h>

enum { LONG_EPISODE = 200, MAX_ENVS = MW_ANCHORS_AT_ONCE, MAX_MARKS = MW_ANCHORS_OF_EPISODE };

static const mw_same_state_options defaults = {.size = sizeof defaults, .anchors = 64, .seed = 2000};

void mw_same_state_options_init(mw_same_state_options *options, size_t size) {
    mw_options_fill(options, size, &defaults, sizeof defaults);
}

enum { MOST_JUDGES = 16 };

/* One anchor's place among all and its returns. */
typedef struct {
    long episode;
    int step;
    float *realized, *predicted; /* [M], owned; [judges][M] */
} anchor;

typedef struct {
    mw_same_state_options options;
    mw_plan_settings plan;
    mw_pool *pool;
    mw_anchor_walk *walk;
    const mw_worlds *worlds;
    mw_oracle *oracle;
    mw_oracle_job jobs[MAX_ENVS];
    int judges;
    char names[MOST_JUDGES][MW_NAME];
    mw_scorer *scorers[MOST_JUDGES];
    float *start; /* [M][n][o]: the observation that all candidates of an anchor start from */
    float *again; /* [MAX_ENVS][M]: returns of the second execution */
    anchor *anchors;
    int count, capacity;
    bool exact;
} survey;

/* ---- at anchors ---- */

static mw_status add_anchor(survey *v, const mw_anchors *at, int k, mw_error *error) {
    const int most = v->plan.candidates, e = at->envs[k];
    anchor *a = &v->anchors[v->count];
    a->realized = calloc((size_t)((1 + v->judges) * most), sizeof *a->realized);
    if (!a->realized) return mw_fail(error, MW_ERR_MEMORY, "cannot keep an anchor");
    v->count++;
    a->predicted = a->realized + most;
    a->episode = at->episodes[k];
    a->step = v->worlds->last[e].step;
    const size_t joint = (size_t)(v->worlds->info->agents * v->worlds->info->obs_size);
    for (int m = 0; m < most; m++)
        memcpy(v->start + (size_t)m * joint, v->worlds->obs + (size_t)e * joint, joint * sizeof *v->start);
    for (int j = 0; j < v->judges; j++)
        MW_TRY(mw_scorer_score(v->scorers[j],
                               &(mw_scoring){.scores = a->predicted + j * most,
                                             .obs = v->start,
                                             .actions = mw_planner_actions(at->planner, e),
                                             .count = most,
                                             .horizon = v->plan.horizon,
                                             .group = most,
                                             .envs = &e},
                               error));
    return MW_OK;
}

/* Scores and executes the candidates of all environments that are at an anchor. */
static mw_status visit(void *context, const mw_anchors *at, mw_error *error) {
    survey *v = context;
    const int most = v->plan.candidates, first = v->count;
    for (int k = 0; k < at->count; k++) {
        MW_TRY(add_anchor(v, at, k, error));
        v->jobs[k] = (mw_oracle_job){.env = v->worlds->envs[at->envs[k]],
                                     .actions = mw_planner_actions(at->planner, at->envs[k]),
                                     .scores = v->anchors[first + k].realized};
    }
    MW_TRY(mw_oracle_score(v->oracle, v->jobs, at->count, most, v->plan.horizon, error));
    for (int k = 0; k < at->count; k++) v->jobs[k].scores = v->again + k * most;
    MW_TRY(mw_oracle_score(v->oracle, v->jobs, at->count, most, v->plan.horizon, error));
    for (int k = 0; k < at->count; k++)
        v->exact &=
            !memcmp(v->anchors[first + k].realized, v->again + k * most, (size_t)most * sizeof *v->again);
    return MW_OK;
}

/* ---- set-up ---- */

static mw_status survey_plan(survey *v, const mw_bundle *bundle, mw_error *error) {
    const mw_same_state_options *o = &v->options;
    v->plan = bundle->plan;
    if (!o->planned) v->plan.choice = MW_CHOICE_BEST;
    for (int i = 0; i < o->assignment_count; i++)
        MW_TRY(mw_fields_assign(mw_plan_fields, &v->plan, o->assignments[i], "", error));
    if (!o->planned) MW_TRY(mw_fields_assign(mw_plan_fields, &v->plan, MW_AS_DRAWN, "", error));
    if (v->plan.choice != MW_CHOICE_BEST)
        return mw_fail(error, MW_ERR_ARGUMENT, "ranking needs choice=best: the others score no candidates");
    if (o->anchors < 1 || o->anchors > 100000 || v->plan.candidates < 2)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "ranking needs 1 to 100000 anchors and at least 2 candidates; got %d and %d",
                       o->anchors, v->plan.candidates);
    return MW_OK;
}

static bool names_scorer(const mw_same_state_options *o) {
    bool named = false;
    for (int i = 0; i < o->assignment_count; i++) named |= !strncmp(o->assignments[i], "scorer=", 7);
    return named;
}

static mw_status add_judge(survey *v, const mw_bundle *bundle, const char *name, mw_error *error) {
    const mw_scorer_context context = {.max_rows = v->plan.candidates,
                                       .horizon = v->plan.horizon,
                                       .advantage_share = v->plan.advantage_share,
                                       .envs = v->worlds->envs,
                                       .env_count = v->worlds->count,
                                       .env_options = v->options.world,
                                       .pool = v->pool};
    snprintf(v->names[v->judges], MW_NAME, "%s", name);
    MW_TRY(mw_scorer_create(&v->scorers[v->judges], name, bundle, context, error));
    v->judges++;
    return MW_OK;
}

/* Everything that the bundle's parts can serve, but for a return predictor of another horizon, which was not
 * asked for; the simulator judges anyway. */
static mw_status survey_judges(survey *v, const mw_bundle *bundle, mw_error *error) {
    if (names_scorer(&v->options)) return add_judge(v, bundle, v->plan.scorer, error);
    for (int i = 0; mw_scorer_class_at(i) && v->judges < MOST_JUDGES; i++) {
        const mw_scorer_class *class = mw_scorer_class_at(i);
        if (class->simulates || !mw_scorer_available(class->name, bundle)) continue;
        const mw_status status = add_judge(v, bundle, class->name, error);
        if (status != MW_ERR_ARGUMENT) MW_TRY(status);
    }
    return v->judges ? MW_OK
                     : mw_fail(error, MW_ERR_ARGUMENT, "this bundle has nothing to judge candidates with");
}

static mw_status survey_walk(survey *v, const mw_bundle *bundle, mw_error *error) {
    const mw_same_state_options *o = &v->options;
    const mw_anchor_options options = {
        .bundle = bundle,
        .plan = &v->plan,
        .world = o->world,
        .accept_rules = o->accept_rules,
        .planned = o->planned,
        .anchors = o->anchors,
        .per_episode = bundle->info.episode_limit > LONG_EPISODE ? MAX_MARKS : MAX_MARKS / 2,
        .ahead = v->plan.horizon,
        .play_out = true,
        .seed = o->seed,
        .purpose = 1,
        .pool = v->pool,
        .stop = o->stop,
        .visit = visit,
        .context = v};
    MW_TRY(mw_anchor_walk_create(&v->walk, &options, error));
    v->worlds = mw_anchor_walk_worlds(v->walk);
    return MW_OK;
}

static mw_status survey_build(survey *v, const mw_bundle *bundle, mw_error *error) {
    const mw_same_state_options *o = &v->options;
    MW_TRY(survey_plan(v, bundle, error));
    MW_TRY(mw_pool_create(&v->pool, o->threads, error));
    MW_TRY(survey_walk(v, bundle, error));
    MW_TRY(mw_oracle_create(&v->oracle, bundle->info.task, o->world, v->pool, error));
    MW_TRY(survey_judges(v, bundle, error));
    v->capacity = o->anchors + MAX_ENVS * MAX_MARKS;
    v->anchors = calloc((size_t)v->capacity, sizeof *v->anchors);
    v->again = calloc((size_t)(MAX_ENVS * v->plan.candidates), sizeof *v->again);
    v->start = calloc((size_t)(v->plan.candidates * v->worlds->info->agents * v->worlds->info->obs_size),
                      sizeof *v->start);
    if (!v->anchors || !v->again || !v->start)
        return mw_fail(error, MW_ERR_MEMORY, "cannot keep %d anchors", o->anchors);
    return MW_OK;
}

static void survey_free(survey *v) {
    for (int k = 0; k < v->count; k++) free(v->anchors[k].realized);
    free(v->anchors);
    free(v->again);
    free(v->start);
    for (int j = 0; j < v->judges; j++) mw_scorer_free(v->scorers[j]);
    mw_anchor_walk_free(v->walk);
    mw_oracle_free(v->oracle);
    mw_pool_free(v->pool);
}

/* ---- summary ---- */

static int by_place(const void *a, const void *b) {
    const anchor *x = a, *y = b;
    if (x->episode != y->episode) return x->episode < y->episode ? -1 : 1;
    return x->step - y->step;
}

static void add_state(mw_same_state *r, const anchor *a, int anchor_index) {
    const int most = r->candidates;
    const float *realized = a->realized;
    double sum = 0;
    for (int m = 0; m < most; m++) sum += realized[m];
    r->best += (double)realized[mw_choice_best(realized, most)] / r->anchors;
    r->average += sum / most / r->anchors;
    memcpy(r->realized + (size_t)(anchor_index * most), realized, (size_t)most * sizeof *realized);
    for (int j = 0; j < r->judges; j++) {
        const float *predicted = a->predicted + j * most;
        r->judge[j].chosen += (double)realized[mw_choice_best(predicted, most)] / r->anchors;
        memcpy(r->judge[j].predicted + (size_t)(anchor_index * most), predicted,
               (size_t)most * sizeof *predicted);
    }
}

static mw_status summarise(mw_same_state *r, survey *v, mw_error *error) {
    const size_t all = (size_t)v->options.anchors * (size_t)v->plan.candidates;
    *r = (mw_same_state){.anchors = v->options.anchors,
                         .candidates = v->plan.candidates,
                         .horizon = v->plan.horizon,
                         .planned = v->options.planned,
                         .exact = v->exact,
                         .realized = malloc((size_t)(1 + v->judges) * all * sizeof(float)),
                         .judges = v->judges};
    r->judge = calloc((size_t)v->judges, sizeof *r->judge);
    if (!r->realized || !r->judge) return mw_fail(error, MW_ERR_MEMORY, "cannot keep %d anchors", r->anchors);
    for (int j = 0; j < r->judges; j++) {
        snprintf(r->judge[j].scorer, sizeof r->judge[j].scorer, "%s", v->names[j]);
        r->judge[j].predicted = r->realized + (size_t)(1 + j) * all;
    }
    snprintf(r->rules, sizeof r->rules, "%s", v->worlds->info->rules);
    qsort(v->anchors, (size_t)v->count, sizeof *v->anchors, by_place);
    for (int k = 0; k < r->anchors; k++) {
        add_state(r, &v->anchors[k], k);
        r->episodes += k == 0 || v->anchors[k].episode != v->anchors[k - 1].episode;
    }
    mw_random_choice(&r->random_regret, &r->random_normalized_regret, r->realized, r->anchors, r->candidates);
    for (int j = 0; j < r->judges; j++)
        MW_TRY(mw_ranking_of(&r->judge[j].ranking, r->realized, r->judge[j].predicted, r->anchors,
                             r->candidates, error));
    return MW_OK;
}

mw_status mw_same_state_run(mw_same_state *result, const mw_bundle *bundle,
                            const mw_same_state_options *given, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED(result);
    mw_same_state_options options = defaults;
    *result = (mw_same_state){0};
    MW_TRY(mw_options_take(&options, sizeof options, MW_FIELD_END(mw_same_state_options, world), given,
                           "mw_same_state_options_init", error));
    MW_TRY(mw_options_texts(options.assignments, options.assignment_count, "assignments", error));
    MW_NEED(bundle);
    survey *v = calloc(1, sizeof *v);
    if (!v) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a survey");
    v->options = options;
    v->exact = true;
    mw_status status = survey_build(v, bundle, error);
    if (status == MW_OK) status = mw_anchor_walk_run(v->walk, error);
    if (status == MW_OK) status = summarise(result, v, error);
    if (status != MW_OK) mw_same_state_free(result);
    survey_free(v);
    free(v);
    return status;
}

void mw_same_state_free(mw_same_state *result) {
    if (!result) return;
    free(result->judge);
    free(result->realized); /* what the judges predicted lies behind it */
    *result = (mw_same_state){0};
}

static json_t *judge_json(const mw_judge *judge) {
    json_t *object = mw_ranking_json(&judge->ranking);
    json_object_set_new(object, "return_chosen", mw_number_json(judge->chosen));
    return object;
}

/* The first scorer's figures stand on their own, those of all follow by name. */
json_t *mw_same_state_json(const mw_same_state *r) {
    json_t *object = judge_json(&r->judge[0]), *scorers = json_object();
    for (int j = 0; j < r->judges; j++)
        json_object_set_new(scorers, r->judge[j].scorer, judge_json(&r->judge[j]));
    json_object_set_new(object, "scorer", json_string(r->judge[0].scorer));
    json_object_set_new(object, "scorers", scorers);
    json_object_set_new(object, "candidates", json_string(r->planned ? "planned" : "drawn"));
    json_object_set_new(object, "random_regret", mw_number_json(r->random_regret));
    json_object_set_new(object, "random_normalized_regret", mw_number_json(r->random_normalized_regret));
    json_object_set_new(object, "return_best", mw_number_json(r->best));
    json_object_set_new(object, "return_average", mw_number_json(r->average));
    json_object_set_new(object, "anchors", json_integer(r->anchors));
    json_object_set_new(object, "episodes", json_integer(r->episodes));
    json_object_set_new(object, "M", json_integer(r->candidates));
    json_object_set_new(object, "H", json_integer(r->horizon));
    json_object_set_new(object, "exact", json_boolean(r->exact));
    return object;
}
