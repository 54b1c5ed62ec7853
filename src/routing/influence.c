/* Predicted against true influence: at anchors one agent's action is exchanged, and both the world models and
 * the restored simulator say what that changes for everybody after one step. The honest test of whether a
 * model knows how agents depend on each other. */
#include "routing/routing.h"

#include "eval/anchors.h"
#include "model/rwm/rwm.h"
#include "plan/scorers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Cases of an anchor: the joint action as it is, then with each agent's exchanged. */
typedef struct {
    const mw_env_info *info;
    mw_env *env; /* to try actions in */
    void *snapshot;
    int candidates, horizon, count, anchors;
    float *obs;                /* [anchors][1 + n][n][o]: the present one, once for each case */
    float *act;                /* [anchors][1 + n][n][d] */
    float *next, *score;       /* [anchors][1 + n][n][o], [anchors][1 + n]: what a model says */
    double *truth, *predicted; /* [anchors][n][n] */
    float *seen;               /* [1 + n][n][o]: what the simulator says */
    float *rewards;            /* [n] */
    int32_t *index;            /* [n] */
} trial;

static size_t case_act(const trial *t) {
    return (size_t)(t->info->agents * t->info->act_size);
}
static size_t case_obs(const trial *t) {
    return (size_t)(t->info->agents * t->info->obs_size);
}

/* ---- exchanged actions ---- */

/* The farthest that a candidate is from `own` in agent j's first action; NULL: none is any other. */
static const float *farthest(const trial *t, const float *candidates, const float *own, int j) {
    const int d = t->info->act_size;
    const size_t stride = (size_t)t->horizon * case_act(t);
    const float *found = NULL;
    double most = 1e-8;
    for (int m = 1; m < t->candidates; m++) {
        const float *other = candidates + (size_t)m * stride + (size_t)(j * d);
        double square = 0;
        for (int k = 0; k < d; k++) {
            const double off = fmin(1, fmax(-1, (double)other[k])) - own[k];
            square += off * off;
        }
        if (!(sqrt(square) > most)) continue;
        most = sqrt(square);
        found = other;
    }
    return found;
}

/* Where all candidates agree: a small push, or the first other legal action. False: there is none. */
static bool push(const trial *t, float *own, const uint8_t *legal) {
    const int d = t->info->act_size;
    if (!t->info->discrete) {
        for (int k = 0; k < d; k++) own[k] = fminf(1, own[k] + 0.05f);
        return true;
    }
    for (int k = 0; k < d; k++) {
        if (!legal[k] || own[k] > 0) continue;
        memset(own, 0, (size_t)d * sizeof *own);
        own[k] = 1;
        return true;
    }
    return false;
}

/* Agent j's part of a case; false: it cannot act differently. */
static bool exchange(const trial *t, float *act, const float *candidates, const uint8_t *legal, int j) {
    const int d = t->info->act_size;
    float *own = act + j * d;
    const float *other = farthest(t, candidates, own, j);
    if (!other) return push(t, own, legal + j * d);
    for (int k = 0; k < d; k++) own[k] = fminf(1, fmaxf(-1, other[k]));
    return true;
}

/* ---- the simulator ---- */

static mw_status simulate(trial *t, const float *act, float *seen, mw_error *error) {
    const mw_env_info *i = t->info;
    mw_outcome outcome;
    mw_action action = {i->discrete ? NULL : act, NULL};
    MW_TRY(mw_env_restore(t->env, t->snapshot, mw_env_snapshot_size(t->env), error));
    for (int a = 0; i->discrete && a < i->agents; a++)
        for (int k = 0; k < i->act_size; k++)
            if (act[a * i->act_size + k] > 0) t->index[a] = k;
    if (i->discrete) action.index = t->index;
    MW_TRY(mw_env_step(t->env, action, t->rewards, &outcome, error));
    mw_env_observe(t->env, seen);
    return MW_OK;
}

/* effects[n][n] as [target][source] from the observations after each case. */
static void measure(const trial *t, double *effects, const float *next) {
    const size_t n = (size_t)t->info->agents, o = (size_t)t->info->obs_size;
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++) {
            const float *base = next + i * o, *changed = next + ((j + 1) * n + i) * o;
            double square = 0;
            for (size_t k = 0; k < o; k++)
                square += ((double)changed[k] - base[k]) * ((double)changed[k] - base[k]);
            effects[i * n + j] = sqrt(square);
        }
}

static mw_status try_exchanges(trial *t, const mw_anchors *at, int env, mw_error *error) {
    const int n = t->info->agents;
    const size_t e = (size_t)env, joint = case_act(t), seen = case_obs(t),
                 first = (size_t)t->count * (size_t)(n + 1);
    const float *candidates = mw_planner_actions(at->planner, env);
    const uint8_t *legal = at->worlds->legal + e * joint;
    double *truth = t->truth + (size_t)t->count * (size_t)(n * n);
    float *base = t->act + first * joint;
    bool possible[MW_ROUTING_AGENTS];
    mw_env_snapshot(at->worlds->envs[e], t->snapshot);
    for (size_t k = 0; k < joint; k++) base[k] = fminf(1, fmaxf(-1, candidates[k]));
    for (int c = 0; c <= n; c++) {
        float *act = base + (size_t)c * joint;
        memcpy(t->obs + (first + (size_t)c) * seen, at->worlds->obs + e * seen, seen * sizeof *t->obs);
        if (c > 0) {
            memcpy(act, base, joint * sizeof *act);
            possible[c - 1] = exchange(t, act, candidates, legal, c - 1);
        }
        MW_TRY(simulate(t, act, t->seen + (size_t)c * seen, error));
    }
    measure(t, truth, t->seen);
    for (int k = 0; k < n * n; k++)
        if (!possible[k % n]) truth[k] = NAN;
    t->count++;
    return MW_OK;
}

static mw_status visit(void *context, const mw_anchors *at, mw_error *error) {
    for (int k = 0; k < at->count; k++) MW_TRY(try_exchanges(context, at, at->envs[k], error));
    return MW_OK;
}

/* ---- the models ---- */

static mw_status judge(trial *t, mw_routing *result, const char *name, mw_scorer *scorer, mw_error *error) {
    const int n = t->info->agents;
    mw_influence_match *match = &result->models[result->model_count];
    const mw_scoring call = {.scores = t->score,
                             .paths = t->next,
                             .obs = t->obs,
                             .actions = t->act,
                             .count = t->anchors * (n + 1),
                             .horizon = 1,
                             .group = n + 1};
    MW_TRY(mw_scorer_score(scorer, &call, error));
    for (size_t k = 0; k < (size_t)t->anchors; k++)
        measure(t, t->predicted + k * (size_t)(n * n), t->next + k * (size_t)(n + 1) * case_obs(t));
    snprintf(match->model, sizeof match->model, "%s", name);
    MW_TRY(mw_influence_compare(match, t->truth, t->predicted, t->anchors, n, error));
    result->model_count++;
    return MW_OK;
}

static mw_status judge_all(trial *t, mw_routing *result, const mw_bundle *bundle, mw_world_weights untrained,
                           mw_pool *pool, mw_error *error) {
    const int cases = t->info->agents + 1, rows = t->anchors * cases;
    mw_status status = MW_OK;
    for (int k = 0; k < bundle->count && status == MW_OK; k++) {
        const mw_scorer_class *kind = bundle->parts[k].model->kind->scorer;
        mw_scorer *scorer = NULL;
        if (!kind || !kind->imagines || result->model_count == MW_ROUTING_MODELS - 1) continue;
        status = mw_scorer_create(&scorer, kind->name, bundle,
                                  (mw_scorer_context){.max_rows = rows, .horizon = 1, .pool = pool}, error);
        if (status == MW_OK) status = judge(t, result, kind->name, scorer, error);
        mw_scorer_free(scorer);
    }
    if (status != MW_OK) return status;
    mw_scorer *scorer;
    MW_TRY(mw_world_scorer_create(&scorer, untrained.net, untrained.values, untrained.packed,
                                  rows < 128 ? rows : 128, pool, error));
    status = judge(t, result, "untrained", scorer, error);
    mw_scorer_free(scorer);
    return status;
}

/* ---- the whole ---- */

static void trial_free(trial *t) {
    mw_env_free(t->env);
    free(t->snapshot);
    free(t->obs);
    free(t->truth);
    free(t->index);
}

static mw_status trial_create(trial *t, const mw_bundle *bundle, const mw_routing_options *options,
                              mw_error *error) {
    MW_TRY(mw_env_create(&t->env, bundle->info.task, options->world, error));
    t->info = mw_env_describe(t->env);
    MW_TRY(mw_bundle_expect(bundle, t->info, options->accept_rules, error));
    const size_t n = (size_t)t->info->agents, rows = (size_t)t->anchors * (n + 1), o = rows * case_obs(t),
                 effects = (size_t)t->anchors * n * n;
    t->snapshot = malloc(mw_env_snapshot_size(t->env));
    t->obs = malloc((2 * o + rows * case_act(t) + rows + (n + 1) * case_obs(t) + n) * sizeof *t->obs);
    t->truth = malloc(2 * effects * sizeof *t->truth);
    t->index = calloc(n, sizeof *t->index);
    if (!t->snapshot || !t->obs || !t->truth || !t->index)
        return mw_fail(error, MW_ERR_MEMORY, "cannot keep %d anchors", t->anchors);
    t->next = t->obs + o;
    t->act = t->next + o;
    t->score = t->act + rows * case_act(t);
    t->seen = t->score + rows;
    t->rewards = t->seen + (n + 1) * case_obs(t);
    t->predicted = t->truth + effects;
    return MW_OK;
}

mw_status mw_influence_run(mw_routing *result, const mw_bundle *bundle, mw_world_weights untrained,
                           const mw_routing_options *options, mw_pool *pool, mw_error *error) {
    mw_plan_settings plan = bundle->plan;
    MW_TRY(mw_fields_assign(mw_plan_fields, &plan, "scorer=rwm choice=best " MW_AS_DRAWN, "", error));
    trial t = {.candidates = plan.candidates, .horizon = plan.horizon, .anchors = options->anchors};
    mw_status status = trial_create(&t, bundle, options, error);
    mw_anchor_walk *walk = NULL;
    if (status == MW_OK)
        status = mw_anchor_walk_create(&walk,
                                       &(mw_anchor_options){.bundle = bundle,
                                                            .plan = &plan,
                                                            .world = options->world,
                                                            .accept_rules = options->accept_rules,
                                                            .anchors = options->anchors,
                                                            .per_episode = 4,
                                                            .ahead = 1,
                                                            .seed = options->seed,
                                                            .purpose = 2,
                                                            .pool = pool,
                                                            .stop = options->stop,
                                                            .visit = visit,
                                                            .context = &t},
                                       error);
    if (status == MW_OK) status = mw_anchor_walk_run(walk, error);
    mw_anchor_walk_free(walk);
    if (status == MW_OK) status = judge_all(&t, result, bundle, untrained, pool, error);
    result->anchors = t.count;
    if (status == MW_OK) snprintf(result->rules, sizeof result->rules, "%s", t.info->rules);
    trial_free(&t);
    return status;
}
