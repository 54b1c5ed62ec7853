/* Policies that draw; see draw.h. */
#include "model/draw.h"

#include "core/math.h"
#include "core/rng.h"
#include "nn/categorical.h"

#include <stdlib.h>
#include <string.h>

void mw_draw_carve(mw_draw *w, const mw_draw_head *head, mw_arena *arena, int joint) {
    const mw_generator *g = head->generator;
    *w = (mw_draw){.head = head, .rows = mw_generator_rows(g) * head->candidates};
    const int all = joint * w->rows;
    mw_mlp_acts_take(&g->mlp, &w->acts, arena, all, false);
    w->row = mw_arena_floats(arena, (size_t)all * (size_t)g->inputs);
    w->x = mw_arena_floats(arena, (size_t)(all * g->values));
    if (head->candidates == 1) return;
    mw_mlp_acts_take(head->critics[0], &w->critic, arena, all, false);
    w->judged = mw_arena_floats(arena, (size_t)all * (size_t)(g->seen + g->values));
    w->value = mw_arena_floats(arena, (size_t)all);
    w->share = mw_arena_floats(arena, (size_t)all);
}

/* Times before the last begin at 0, and conditions all hold. */
void mw_draw_see(mw_draw *w, const float *values, const float *obs, int at) {
    const mw_generator *g = w->head->generator;
    static const float hold[] = {1, 1, 1, 1};
    float *row = w->row + (size_t)(at * w->rows) * (size_t)g->inputs;
    mw_generator_look(g, values, obs, row, w->head->candidates);
    for (int r = 0; r < w->rows; r++, row += g->inputs) {
        for (int which = 0; which + 1 < g->times; which++) mw_generator_time(g, row, which, 0);
        mw_generator_condition(g, row, hold);
    }
}

void mw_draw_generate(mw_draw *w, mw_weights from, int joint, float *states) {
    const mw_generator *g = w->head->generator;
    const int all = joint * w->rows;
    mw_generator_sample(g, &w->head->sampler, &w->acts, from.values, from.packed, w->row, w->x, all, states,
                        (size_t)(all * g->values));
}

static void share_out(float *share, const float *value, int count, double sharpness) {
    double largest = (double)value[0], sum = 0;
    for (int m = 1; m < count; m++) largest = fmax(largest, (double)value[m]);
    for (int m = 0; m < count; m++) sum += mw_exp(sharpness * ((double)value[m] - largest));
    for (int m = 0; m < count; m++)
        share[m] = (float)(mw_exp(sharpness * ((double)value[m] - largest)) / sum);
}

void mw_draw_judge(mw_draw *w, mw_weights by, int joint) {
    const mw_draw_head *head = w->head;
    const mw_generator *g = head->generator;
    const size_t all = (size_t)(joint * w->rows), seen = (size_t)g->seen, d = (size_t)g->values;
    mw_clip_actions(w->x, w->x, all * d);
    for (size_t row = 0; row < all; row++) {
        float *judged = w->judged + row * (seen + d);
        memcpy(judged, w->row + row * (size_t)g->inputs, seen * sizeof *judged);
        memcpy(judged + seen, w->x + row * d, d * sizeof *judged);
    }
    for (int j = 0; j < 2 && head->critics[j]; j++) {
        const float *q =
            mw_mlp_forward(head->critics[j], &w->critic, w->judged, by.values, by.packed, (int)all);
        for (size_t row = 0; row < all; row++) w->value[row] = j ? fminf(w->value[row], q[row]) : q[row];
    }
    for (size_t row = 0; row < all; row += (size_t)head->candidates)
        share_out(w->share + row, w->value + row, head->candidates, head->sharpness);
}

int mw_draw_pick(const float *share, int candidates, double u) {
    double sum = 0;
    for (int m = 0; m + 1 < candidates; m++)
        if ((sum += (double)share[m]) > u) return m;
    return candidates - 1;
}

/* ---- play ---- */

typedef struct {
    mw_policy base;
    const mw_model *model;
    mw_draw_head head;
    int envs;
    int *which; /* [envs]: the active ones */
    double *u;  /* [envs][n] */
    mw_draw draw;
    mw_arena arena;
} playing;

static void take_room(playing *p) {
    mw_draw_carve(&p->draw, &p->head, &p->arena, p->envs);
    p->which = mw_arena_take(&p->arena, (size_t)p->envs, sizeof *p->which);
    p->u = mw_arena_take(&p->arena, (size_t)(p->envs * p->model->shape.agents), sizeof *p->u);
}

void mw_draw_policy_destroy(mw_policy *base) {
    mw_arena_free(&((playing *)base)->arena);
    free(base);
}

mw_status mw_draw_policy_create(mw_policy **out, const mw_policy_context *context, mw_error *error) {
    const mw_policy_class *kind = context->model->kind->policy;
    playing *p = calloc(1, sizeof *p);
    *out = NULL;
    if (!p) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a policy");
    *p = (playing){.base = {kind}, .model = context->model, .envs = context->envs};
    kind->draws(p->model, &p->head);
    take_room(p);
    const mw_status status = mw_arena_create(&p->arena, p->arena.used, error);
    if (status != MW_OK) {
        mw_draw_policy_destroy(&p->base);
        return status;
    }
    take_room(p);
    *out = &p->base;
    return MW_OK;
}

/* Every agent draws from a stream of its own. */
static void draw_noise(playing *p, const mw_policy_call *call, int at, int env) {
    const int n = p->model->shape.agents;
    const size_t each = (size_t)(p->head.candidates * p->model->shape.act);
    for (int i = 0; i < n; i++) {
        float *x = p->draw.x + (size_t)(at * n + i) * each;
        mw_rng rng = mw_rng_make(0, MW_RNG_POLICY, call->episode[env], call->step[env], (uint64_t)i);
        if (p->head.still && p->model->shape.discrete)
            memset(x, 0, each * sizeof *x);
        else
            mw_rng_fill_normal(&rng, x, each);
        p->u[at * n + i] = mw_rng_double(&rng);
    }
}

static void decide(playing *p, const mw_policy_call *call, int at, int env) {
    const int n = p->model->shape.agents, d = p->model->shape.act, m = p->head.candidates;
    for (int i = 0; i < n; i++) {
        const int agent = at * n + i, row = agent * m;
        const int pick = m > 1 ? mw_draw_pick(p->draw.share + row, m, p->u[agent]) : 0;
        const float *x = p->draw.x + (size_t)(row + pick) * (size_t)d;
        if (p->model->shape.discrete)
            call->index[env * n + i] =
                mw_categorical_best(x, call->legal ? call->legal + (size_t)((env * n + i) * d) : NULL, d);
        else
            mw_clip_actions(call->real + (size_t)((env * n + i) * d), x, (size_t)d);
    }
}

mw_status mw_draw_policy_act(mw_policy *base, const mw_policy_call *call, mw_error *error) {
    playing *p = (playing *)base;
    const mw_model *model = p->model;
    const mw_weights weights = {model->values, model->packed};
    const size_t joint = (size_t)(model->shape.agents * model->shape.obs);
    int count = 0;
    (void)error;
    for (int env = 0; env < p->envs; env++) {
        if (call->active && !call->active[env]) continue;
        mw_draw_see(&p->draw, model->values, call->obs + (size_t)env * joint, count);
        draw_noise(p, call, count, env);
        p->which[count++] = env;
    }
    mw_draw_generate(&p->draw, weights, count, NULL);
    if (p->head.candidates > 1) mw_draw_judge(&p->draw, weights, count);
    for (int at = 0; at < count; at++) decide(p, call, at, p->which[at]);
    return MW_OK;
}
