/* Policies that draw, against recorded numbers: what the recorded noise becomes, step by step, and which of
 * several candidates is taken. */
#include "verify/baselines.h"

#include "model/dom2/weights.h"
#include "model/draw.h"
#include "nn/categorical.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    mw_draw_head head;
    mw_draw draw;
    mw_arena arena;
    float *states, *act; /* [steps + 1][b][n][M][d]; [b][n][d] or indices [b][n] */
    float *u, *pick;     /* [b][n] */
    size_t rows;         /* b n */
} drawn;

static void carve(drawn *w, mw_arena *arena, const mw_baseline_check *k) {
    const size_t n = (size_t)k->model->shape.agents, d = (size_t)k->model->shape.act;
    w->rows = (size_t)k->fit->settings->batch * n;
    mw_draw_carve(&w->draw, &w->head, arena, k->fit->settings->batch);
    w->states = mw_arena_floats(arena, (size_t)(w->head.sampler.steps + 1) * w->rows *
                                           (size_t)w->head.candidates * d);
    w->act = mw_arena_floats(arena, w->rows * d);
    w->pick = mw_arena_floats(arena, w->rows);
}

/* Candidates from in.`noise`, or from zeros where it is NULL. */
static mw_status generate(drawn *w, const mw_baseline_check *k, const char *noise, mw_error *error) {
    const mw_model_shape *s = &k->model->shape;
    const size_t joint = (size_t)(s->agents * s->obs), b = (size_t)k->fit->settings->batch;
    const mw_weights weights = {k->fit->shards.optimizer.values, k->fit->shards.packed};
    mw_arena measured = {0};
    k->model->kind->policy->draws(k->model, &w->head);
    carve(w, &measured, k);
    MW_TRY(mw_arena_create(&w->arena, measured.used, error));
    carve(w, &w->arena, k);
    const float *obs = mw_record_floats(k->record, "in.obs", b * joint, error), *from = NULL;
    if (!obs) return MW_ERR_FORMAT;
    const size_t values = w->rows * (size_t)(w->head.candidates * s->act);
    if (noise && !(from = mw_record_floats(k->record, noise, values, error))) return MW_ERR_FORMAT;
    for (size_t row = 0; row < b; row++) mw_draw_see(&w->draw, weights.values, obs + row * joint, (int)row);
    if (from) memcpy(w->draw.x, from, values * sizeof *from);
    mw_draw_generate(&w->draw, weights, (int)b, w->states);
    return MW_OK;
}

static mw_status compare_actions(drawn *w, const mw_baseline_check *k, const char *name, mw_error *error) {
    const size_t d = (size_t)k->model->shape.act;
    const float *x = w->draw.x;
    if (!k->model->shape.discrete) {
        mw_clip_actions(w->act, x, w->rows * d);
        return mw_baseline_compare(k, name, w->act, w->rows * d, error);
    }
    const float *legal = mw_record_floats(k->record, "in.legal", w->rows * d, error);
    if (!legal) return MW_ERR_FORMAT;
    uint8_t *may = malloc(d);
    if (!may) return mw_fail(error, MW_ERR_MEMORY, "cannot compare '%s'", name);
    for (size_t row = 0; row < w->rows; row++) {
        for (size_t a = 0; a < d; a++) may[a] = legal[row * d + a] != 0;
        w->act[row] = (float)mw_categorical_best(x + row * d, may, (int)d);
    }
    free(may);
    return mw_baseline_compare(k, name, w->act, w->rows, error);
}

typedef struct {
    const char *noise, *states, *last, *act; /* NULL: not recorded */
} names;

static mw_status check_drawn(mw_baseline_check *k, drawn *w, const names *as, mw_error *error) {
    MW_TRY(generate(w, k, as->noise, error));
    const size_t values = w->rows * (size_t)k->model->shape.act;
    if (as->states)
        MW_TRY(mw_baseline_compare(k, as->states, w->states, (size_t)(w->head.sampler.steps + 1) * values,
                                   error));
    if (as->last) MW_TRY(mw_baseline_compare(k, as->last, w->draw.x, values, error));
    return compare_actions(w, k, as->act, error);
}

static mw_status check_one(mw_baseline_check *k, const names *as, mw_error *error) {
    drawn w = {.pick = NULL};
    const mw_status status = check_drawn(k, &w, as, error);
    mw_arena_free(&w.arena);
    return status;
}

mw_status mw_baseline_flowbc(mw_baseline_check *k, mw_error *error) {
    return check_one(k, &(names){"in.noise", "steps", NULL, "action"}, error);
}

/* Discrete actions begin at zeros. */
mw_status mw_baseline_macflow(mw_baseline_check *k, mw_error *error) {
    return check_one(k, &(names){k->model->shape.discrete ? NULL : "in.z", NULL, NULL, "action"}, error);
}

mw_status mw_baseline_vgm2p(mw_baseline_check *k, mw_error *error) {
    return check_one(k, &(names){"in.noise", NULL, "sample", "action"}, error);
}

/* ---- one of several candidates ---- */

static mw_status check_candidates(mw_baseline_check *k, drawn *w, mw_weights critics, const names *as,
                                  mw_error *error) {
    const size_t d = (size_t)k->model->shape.act;
    MW_TRY(generate(w, k, as->noise, error));
    const size_t m = (size_t)w->head.candidates, all = w->rows * m;
    if (as->states)
        MW_TRY(mw_baseline_compare(k, as->states, w->states, (size_t)(w->head.sampler.steps + 1) * all * d,
                                   error));
    mw_draw_judge(&w->draw, critics, k->fit->settings->batch);
    MW_TRY(mw_baseline_compare(k, "select_candidates", w->draw.x, all * d, error));
    MW_TRY(mw_baseline_compare(k, "select_q", w->draw.value, all, error));
    MW_TRY(mw_baseline_compare(k, "select_prob", w->draw.share, all, error));
    const float *u = mw_record_floats(k->record, "in.select_u", w->rows, error);
    if (!u) return MW_ERR_FORMAT;
    for (size_t row = 0; row < w->rows; row++) {
        const int pick = mw_draw_pick(w->draw.share + row * m, (int)m, (double)u[row]);
        w->pick[row] = (float)pick;
        memcpy(w->act + row * d, w->draw.x + (row * m + (size_t)pick) * d, d * sizeof *w->act);
    }
    MW_TRY(mw_baseline_compare(k, "select", w->pick, w->rows, error));
    return mw_baseline_compare(k, as->act, w->act, w->rows * d, error);
}

mw_status mw_baseline_sfbc_select(mw_baseline_check *k, mw_error *error) {
    drawn w = {.pick = NULL};
    const mw_weights weights = {k->fit->shards.optimizer.values, k->fit->shards.packed};
    const mw_status status =
        check_candidates(k, &w, weights, &(names){"in.select_noise", "select_states", NULL, "action"}, error);
    mw_arena_free(&w.arena);
    return status;
}

/* DOM2's weights of episodes, and candidates of the weights that learn, judged by slow critics. */
static mw_status check_weights(mw_baseline_check *k, mw_error *error) {
    const size_t n = (size_t)k->model->shape.agents;
    const mw_tensor *tensor = mw_safetensors_find(&k->record->file, "in.episode_return");
    const size_t episodes = tensor && tensor->dims == 2 && tensor->shape[0] ? tensor->shape[0] : 1;
    const float *returns = mw_record_floats(k->record, "in.episode_return", episodes * n, error);
    if (!returns) return MW_ERR_FORMAT;
    float *sorted = malloc(episodes * sizeof *sorted), *copies = malloc(episodes * n * sizeof *copies),
          *thresholds = malloc(n * MW_DOM2_THRESHOLDS * sizeof *thresholds);
    mw_status status = MW_ERR_MEMORY;
    if (sorted && copies && thresholds) {
        for (size_t i = 0; i < n; i++) {
            float *own = thresholds + i * MW_DOM2_THRESHOLDS;
            for (size_t e = 0; e < episodes; e++) sorted[e] = returns[e * n + i];
            mw_dom2_thresholds(sorted, (long)episodes, own);
            for (size_t e = 0; e < episodes; e++)
                copies[e * n + i] = (float)mw_dom2_copies(returns[e * n + i], own);
        }
        status = mw_baseline_compare(k, "thresholds", thresholds, n * MW_DOM2_THRESHOLDS, error);
        if (status == MW_OK) status = mw_baseline_compare(k, "copies", copies, episodes * n, error);
    } else
        mw_fail(error, MW_ERR_MEMORY, "cannot compare weights of %zu episodes", episodes);
    free(sorted);
    free(copies);
    free(thresholds);
    return status;
}

mw_status mw_baseline_dom2(mw_baseline_check *k, mw_error *error) {
    drawn w = {.pick = NULL};
    const mw_weights slow = {k->fit->target, k->fit->target_packed};
    MW_TRY(check_weights(k, error));
    const mw_status status =
        check_candidates(k, &w, slow, &(names){"in.select_noise", NULL, NULL, "select_action"}, error);
    mw_arena_free(&w.arena);
    return status;
}
