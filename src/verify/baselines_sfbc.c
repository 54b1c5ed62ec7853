/* MA-SfBC's planning backwards against recorded numbers: returns of two episodes, what drawn actions promise,
 * and what the values are fitted to. */
#include "verify/baselines.h"

#include "model/sfbc/improve.h"
#include "model/sfbc/sfbc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The recorded episodes lie behind each other. */
typedef struct {
    long steps, episodes;
    const float *obs, *reward, *last_obs, *noise, *last_noise, *lengths, *outcome; /* as recorded */
    float *returns, *improved, *value, *after, *target[2]; /* [steps or episodes][n] */
    float standard[2][2];
    float *candidates, *last_candidates, *q, *last_q;
    float *packed;
    mw_draw_head head;
    mw_draw draw;
    mw_arena arena;
} plan;

static long first_extent(const mw_record *r, const char *name) {
    const mw_tensor *tensor = mw_safetensors_find(&r->file, name);
    return tensor && tensor->dims > 0 ? (long)tensor->shape[0] : 0;
}

static mw_status get(const mw_baseline_check *k, const char *name, size_t count, const float **out,
                     mw_error *error) {
    *out = mw_record_floats(k->record, name, count, error);
    return *out ? MW_OK : MW_ERR_FORMAT;
}

static mw_status read_plan(const mw_baseline_check *k, plan *p, mw_error *error) {
    const mw_model_shape *s = &k->model->shape;
    const size_t n = (size_t)s->agents, o = (size_t)s->obs;
    mw_sfbc_promises(k->model, &p->head);
    const size_t noise = n * (size_t)(p->head.candidates * s->act);
    p->steps = first_extent(k->record, "in.episode_obs");
    p->episodes = first_extent(k->record, "in.lengths");
    const size_t steps = (size_t)p->steps, episodes = (size_t)p->episodes;
    MW_TRY(get(k, "in.episode_obs", steps * n * o, &p->obs, error));
    MW_TRY(get(k, "in.episode_reward", steps * n, &p->reward, error));
    MW_TRY(get(k, "in.last_obs", episodes * n * o, &p->last_obs, error));
    MW_TRY(get(k, "in.episode_noise", steps * noise, &p->noise, error));
    MW_TRY(get(k, "in.last_noise", episodes * noise, &p->last_noise, error));
    MW_TRY(get(k, "in.lengths", episodes, &p->lengths, error));
    MW_TRY(get(k, "in.outcome", episodes, &p->outcome, error));
    double sum = 0;
    bool whole = true;
    for (size_t e = 0; e < episodes; e++) {
        whole &= p->lengths[e] >= 1 && (double)p->lengths[e] <= (double)steps &&
                 p->lengths[e] == floorf(p->lengths[e]);
        sum += (double)p->lengths[e];
    }
    if (whole && sum == (double)steps && steps > 0) return MW_OK;
    return mw_fail(error, MW_ERR_FORMAT, "%s: 'in.lengths' are not those of %ld steps", k->record->file.path,
                   p->steps);
}

static void take_room(const mw_baseline_check *k, plan *p) {
    const size_t n = (size_t)k->model->shape.agents, m = (size_t)p->head.candidates,
                 steps = (size_t)p->steps * n, episodes = (size_t)p->episodes * n,
                 d = (size_t)k->model->shape.act;
    mw_arena *a = &p->arena;
    mw_draw_carve(&p->draw, &p->head, a, (int)(p->steps > p->episodes ? p->steps : p->episodes));
    p->packed = mw_arena_floats(a, k->model->params->packed);
    float **const rows[] = {&p->returns, &p->improved, &p->value, &p->target[0], &p->target[1]};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) *rows[i] = mw_arena_floats(a, steps);
    p->after = mw_arena_floats(a, episodes);
    p->q = mw_arena_floats(a, steps * m);
    p->last_q = mw_arena_floats(a, episodes * m);
    p->candidates = mw_arena_floats(a, steps * m * d);
    p->last_candidates = mw_arena_floats(a, episodes * m * d);
}

/* What drawn actions promise at `count` joint observations. */
static void promise(const mw_baseline_check *k, plan *p, const float *obs, const float *noise, long count,
                    const mw_standard *standard, float *candidates, float *q, float *value) {
    const mw_model_shape *s = &k->model->shape;
    const int m = p->head.candidates;
    const size_t joint = (size_t)(s->agents * s->obs), rows = (size_t)count * (size_t)(s->agents * m),
                 values = rows * (size_t)s->act;
    const mw_weights weights = {k->part->optimizer->values, p->packed};
    for (long i = 0; i < count; i++) mw_draw_see(&p->draw, weights.values, obs + (size_t)i * joint, (int)i);
    memcpy(p->draw.x, noise, values * sizeof *noise);
    mw_draw_generate(&p->draw, weights, (int)count, NULL);
    mw_draw_judge(&p->draw, weights, (int)count);
    memcpy(candidates, p->draw.x, values * sizeof *candidates);
    memcpy(q, p->draw.value, rows * sizeof *q);
    for (size_t row = 0; row < rows; row += (size_t)m)
        value[row / (size_t)m] =
            mw_improve_value(standard, p->draw.value + row, p->draw.share + row, m, NULL);
}

/* Returns of all episodes into out, and in units of their own into target. */
static mw_standard find_returns(const mw_baseline_check *k, plan *p, bool improved, float *out,
                                float *target) {
    const size_t n = (size_t)k->model->shape.agents;
    size_t at = 0;
    for (size_t e = 0; e < (size_t)p->episodes; e++) {
        const bool limit = p->outcome[e] == 0;
        const long length = (long)p->lengths[e];
        mw_improve_returns(out + at, p->reward + at, length, (int)n, mw_sfbc_discount(k->model),
                           improved ? p->value + at : NULL, improved && limit ? p->after + e * n : NULL);
        at += (size_t)length * n;
    }
    const mw_standard standard = mw_standard_of(out, at);
    mw_standard_apply(&standard, target, out, at);
    p->standard[improved][0] = (float)standard.mean;
    p->standard[improved][1] = (float)standard.deviation;
    return standard;
}

static mw_status make_plan(const mw_baseline_check *k, plan *p, mw_error *error) {
    MW_TRY(read_plan(k, p, error));
    take_room(k, p);
    MW_TRY(mw_arena_create(&p->arena, p->arena.used, error));
    take_room(k, p);
    k->model->kind->pack(k->model, k->part->optimizer->values, p->packed, false);
    const mw_standard standard = find_returns(k, p, false, p->returns, p->target[0]);
    promise(k, p, p->obs, p->noise, p->steps, &standard, p->candidates, p->q, p->value);
    promise(k, p, p->last_obs, p->last_noise, p->episodes, &standard, p->last_candidates, p->last_q,
            p->after);
    find_returns(k, p, true, p->improved, p->target[1]);
    return MW_OK;
}

mw_status mw_baseline_sfbc_prepare(mw_baseline_check *k, void *slot, mw_error *error) {
    plan p = {.steps = 0};
    const mw_status status = make_plan(k, &p, error);
    const size_t size = (size_t)p.steps * (size_t)k->model->shape.agents * sizeof(float);
    if (status == MW_OK) {
        memcpy(mw_baseline_array(k, slot, "out.fit1_target"), p.target[0], size);
        memcpy(mw_baseline_array(k, slot, "out.fit2_target"), p.target[1], size);
    }
    mw_arena_free(&p.arena);
    return status;
}

mw_status mw_baseline_sfbc(mw_baseline_check *k, mw_error *error) {
    plan p = {.steps = 0};
    mw_status status = make_plan(k, &p, error);
    const size_t n = (size_t)k->model->shape.agents, steps = (size_t)p.steps * n,
                 episodes = (size_t)p.episodes * n, m = (size_t)p.head.candidates,
                 d = (size_t)k->model->shape.act;
    const struct {
        const char *name;
        const float *values;
        size_t count;
    } rows[] = {
        {"return1", p.returns, steps},
        {"mean_std1", p.standard[0], 2},
        {"episode_candidates", p.candidates, steps * m * d},
        {"episode_q", p.q, steps * m},
        {"episode_value", p.value, steps},
        {"last_candidates", p.last_candidates, episodes * m * d},
        {"last_q", p.last_q, episodes * m},
        {"last_value", p.after, episodes},
        {"return2", p.improved, steps},
        {"mean_std2", p.standard[1], 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows && status == MW_OK; i++)
        status = mw_baseline_compare(k, rows[i].name, rows[i].values, rows[i].count, error);
    mw_arena_free(&p.arena);
    return status == MW_OK ? mw_baseline_sfbc_select(k, error) : status;
}
