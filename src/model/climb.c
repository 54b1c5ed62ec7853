/* Policies that climb twin critics; see climb.h. */
#include "model/climb.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the networks ---- */

const mw_climb_settings *mw_climb_settings_of(const mw_model *model) {
    return (const mw_climb_settings *)(const void *)&model->config;
}

const mw_climber *mw_climber_of(const mw_model *model) {
    return model->net;
}

mw_status mw_climb_make(mw_model *model, mw_error *error) {
    const mw_climb_settings *s = mw_climb_settings_of(model);
    const mw_model_shape *shape = &model->shape;
    mw_climber *net = model->net = calloc(1, sizeof *net);
    if (!net) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a policy and its critics");
    mw_params *p = &net->params;
    model->params = p;
    net->policy = mw_mlp_hidden(p, "policy", shape->obs + shape->agents, s->hidden, 2, shape->act, MW_RELU);
    mw_twin_add(&net->critic, p, shape, s->joint, s->hidden);
    const mw_units units = mw_units_add(p, "scale", shape->obs);
    net->view = mw_view_of(&units, shape, false);
    net->critic.view = mw_view_of(&units, shape, s->joint);
    return p->failed ? mw_fail(error, MW_ERR_MEMORY, "cannot allocate the policy's table") : MW_OK;
}

void mw_climb_discard(mw_model *model) {
    if (model->net) mw_params_free(&((mw_climber *)model->net)->params);
    free(model->net);
}

void mw_climb_pack(const mw_model *model, const float *values, float *packed, bool backward) {
    mw_mlp_pack(&mw_climber_of(model)->policy, values, packed, backward);
    mw_twin_pack(&mw_climber_of(model)->critic, values, packed, backward);
}

void mw_climb_pack_group(const mw_model *model, int group, const float *values, float *packed,
                         bool backward) {
    if (group == MW_CLIMB_POLICY)
        mw_mlp_pack(&mw_climber_of(model)->policy, values, packed, backward);
    else
        mw_twin_pack(&mw_climber_of(model)->critic, values, packed, backward);
}

/* ---- batches ---- */

int mw_climb_extent(const mw_fit *f, char letter) {
    const mw_climber *net = mw_climber_of(f->model);
    return letter == 'X' ? net->view.inputs : letter == 'C' ? net->critic.inputs : 0;
}

mw_status mw_climb_open(mw_fit *f, mw_error *error) {
    mw_climb_training *t = f->state;
    const mw_training_data *data = f->data;
    MW_TRY(mw_transition_set(&t->steps, data->dataset, &data->split.train, MW_NEED_NEXT_OBS, error));
    MW_TRY(mw_arena_create(&t->arena, f->model->params->total * sizeof *t->units, error));
    t->units = mw_arena_floats(&t->arena, f->model->params->total);
    mw_units_set(&mw_climber_of(f->model)->view.units, t->units, data->stats.obs);
    for (int g = 0; g < 2; g++) f->groups[g].decay = (float)mw_climb_settings_of(f->model)->slow;
    f->part.keeps_last = true;
    return MW_OK;
}

void mw_climb_close(mw_fit *f) {
    mw_climb_training *t = f->state;
    mw_episode_set_free(&t->steps);
    mw_arena_free(&t->arena);
}

void mw_climb_initialise(mw_fit *f, float *values) {
    mw_units_set(&mw_climber_of(f->model)->view.units, values, f->data->stats.obs);
}

mw_rng mw_climb_draw(const mw_fit *f, mw_climb_batch *b, uint64_t step, size_t row) {
    const mw_climb_training *t = f->state;
    const size_t n = (size_t)f->model->shape.agents, o = (size_t)f->model->shape.obs,
                 d = (size_t)f->model->shape.act;
    mw_rng rng = mw_batch_rng(f->data->seed, step, (int)row, MW_BATCH_TRANSITION);
    const mw_place place = mw_episode_set_draw(&t->steps, &rng);
    const mw_transition to = {.obs = b->obs + row * n * o,
                              .next_obs = b->next_obs + row * n * o,
                              .act = b->act + row * n * d,
                              .reward = b->reward + row * n,
                              .end = b->end + row};
    mw_transition_take(&to, f->data->dataset, place);
    return rng;
}

void mw_climb_assemble(const mw_fit *f, void *slot) {
    const mw_climb_training *t = f->state;
    const mw_climb_batch *b = slot;
    const mw_climber *net = mw_climber_of(f->model);
    const size_t n = (size_t)f->model->shape.agents, o = (size_t)f->model->shape.obs,
                 d = (size_t)f->model->shape.act, inputs = (size_t)net->view.inputs,
                 width = (size_t)net->critic.inputs;
    for (size_t row = 0; row < (size_t)f->settings->batch; row++) {
        const float *obs = b->obs + row * n * o, *next = b->next_obs + row * n * o,
                    *act = b->act + row * n * d;
        mw_view_fill(&net->view, t->units, obs, b->x + row * n * inputs, inputs);
        mw_view_fill(&net->view, t->units, next, b->next_x + row * n * inputs, inputs);
        mw_twin_fill(&net->critic, t->units, obs, act, b->row + row * n * width);
        mw_twin_fill(&net->critic, t->units, next, act, b->next_row + row * n * width);
        memcpy(b->at + row * n * width, b->row + row * n * width, n * width * sizeof *b->at);
    }
}

void mw_climb_carve(const mw_fit *f, void *own, mw_arena *arena, int rows) {
    mw_climb_area *a = own;
    const mw_climber *net = mw_climber_of(f->model);
    const int all = rows * f->model->shape.agents;
    mw_mlp_acts_take(&net->policy, &a->policy, arena, all, true);
    for (int j = 0; j < 2; j++) mw_mlp_acts_take(&net->critic.mlp[j], &a->critic[j], arena, all, true);
    a->gradient = mw_arena_floats(arena, (size_t)all);
    a->dact = mw_arena_floats(arena, (size_t)(all * f->model->shape.act));
    a->drow = mw_arena_floats(arena, (size_t)(all * net->critic.inputs));
}

/* ---- what follows ---- */

void mw_climb_next(const mw_fit *f, const mw_climb_batch *b, mw_climb_area *a, mw_span s) {
    const mw_climber *net = mw_climber_of(f->model);
    const size_t d = (size_t)f->model->shape.act;
    float *act = b->next_act + s.first * d;
    const float *x = b->next_x + s.first * (size_t)net->view.inputs;
    memcpy(act, mw_mlp_forward(&net->policy, &a->policy, x, f->target, f->target_packed, (int)s.count),
           s.count * d * sizeof *act);
    mw_tanh_forward(act, s.count * d);
}

void mw_climb_target(const mw_fit *f, const mw_climb_batch *b, mw_climb_area *a, mw_span s, float scale) {
    const mw_twin *twin = &mw_climber_of(f->model)->critic;
    const float discount = (float)mw_climb_settings_of(f->model)->discount;
    const size_t n = (size_t)f->model->shape.agents;
    float *rows = b->next_row + s.first * (size_t)twin->inputs;
    mw_twin_put(twin, rows, b->next_act + s.first * (size_t)twin->act, (int)s.count);
    for (int j = 0; j < 2; j++)
        memcpy(b->next_q + (size_t)j * s.all + s.first,
               mw_mlp_forward(&twin->mlp[j], &a->critic[j], rows, f->target, f->target_packed, (int)s.count),
               s.count * sizeof *b->next_q);
    for (size_t row = s.first; row < s.first + s.count; row++) {
        const float next = fminf(b->next_q[row], b->next_q[s.all + row]);
        b->target[row] = b->reward[row] / scale + discount * (1 - b->end[row / n]) * next;
    }
}

/* ---- the climb ---- */

void mw_climb_look(const mw_fit *f, const mw_climb_batch *b, mw_climb_area *a, mw_span s) {
    const mw_climber *net = mw_climber_of(f->model);
    const size_t d = (size_t)f->model->shape.act;
    float *act = b->own + s.first * d, *rows = b->at + s.first * (size_t)net->critic.inputs;
    const float *values = f->shards.optimizer.values, *packed = f->shards.packed,
                *x = b->x + s.first * (size_t)net->view.inputs;
    memcpy(act, mw_mlp_forward(&net->policy, &a->policy, x, values, packed, (int)s.count),
           s.count * d * sizeof *act);
    mw_tanh_forward(act, s.count * d);
    mw_twin_put(&net->critic, rows, act, (int)s.count);
    memcpy(b->policy_q + s.first,
           mw_mlp_forward(&net->critic.mlp[0], &a->critic[0], rows, values, packed, (int)s.count),
           s.count * sizeof *b->policy_q);
}

double mw_climb_mean(const mw_fit *f, const mw_climb_batch *b) {
    const mw_span s = mw_span_of(f, 0, f->settings->batch);
    double sum = 0;
    for (size_t row = 0; row < s.all; row++) sum += (double)b->policy_q[row];
    return sum / (double)s.all;
}

void mw_climb_back(const mw_fit *f, const mw_climb_batch *b, mw_climb_area *a, mw_span s, float weight,
                   float *grads) {
    const mw_climber *net = mw_climber_of(f->model);
    const size_t d = (size_t)f->model->shape.act;
    const float *rows = b->at + s.first * (size_t)net->critic.inputs,
                *x = b->x + s.first * (size_t)net->view.inputs;
    for (size_t row = 0; row < s.count; row++) a->gradient[row] = weight;
    mw_mlp_backward(&net->critic.mlp[0], &a->critic[0], a->drow, NULL, a->gradient, rows, f->shards.packed,
                    (int)s.count);
    mw_twin_take(&net->critic, a->dact, a->drow, (int)s.count);
    mw_tanh_backward(a->dact, b->own + s.first * d, s.count * d);
    mw_mlp_backward(&net->policy, &a->policy, NULL, grads, a->dact, x, f->shards.packed, (int)s.count);
}

/* ---- play ---- */

mw_status mw_climb_policy_create(mw_policy **out, const mw_policy_class *kind,
                                 const mw_policy_context *context, mw_error *error) {
    const mw_climber *net = mw_climber_of(context->model);
    const mw_actor_head head = {&net->policy, net->view, MW_DECIDE_BEST};
    return mw_head_policy_create(out, kind, context, &head, error);
}
