/* Play by denoising; see play.h. An environment is one segment, or one for each agent where agents know their
 * own history alone; of its segment everybody takes its own next observation, and the inverse dynamics say
 * how to get there. */
#include "model/diffusion/play.h"

#include "core/rng.h"
#include "model/diffusion/diffusion.h"
#include "model/inverse.h"
#include "nn/categorical.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64 }; /* segments that are drawn together */

typedef struct {
    mw_policy base;
    const mw_model *model, *inverse;
    const mw_normalizer *obs_normalizer, *act_normalizer;
    int envs, segments; /* segments: of an environment */
    mw_denoiser *denoiser;
    mw_arena arena;
    float *past;   /* [envs][C][n][o], normalised */
    uint8_t *seen; /* [envs]: something is in it */
    double *want;  /* [envs]: in units of reward */
    /* of a block */
    float *x, *history, *target;
    int *env, *shown;
    mw_mlp_acts acts;
    float *pairs; /* [BLOCK*n][of the inverse dynamics' input] */
} playing;

static void take_room(playing *p) {
    const mw_flow_config *c = &mw_diffusion_net_of(p->model)->trunk.config;
    const mw_inverse_net *inverse = mw_inverse_net_of(p->inverse);
    const size_t joint = (size_t)(c->agents * c->obs), past = (size_t)c->context * joint,
                 envs = (size_t)p->envs, pairs = (size_t)(BLOCK * c->agents);
    p->past = mw_arena_floats(&p->arena, envs * past);
    p->seen = mw_arena_take(&p->arena, envs, 1);
    p->want = mw_arena_take(&p->arena, envs, sizeof *p->want);
    p->x = mw_arena_floats(&p->arena, BLOCK * (size_t)c->time * joint);
    p->history = mw_arena_floats(&p->arena, BLOCK * past);
    p->target = mw_arena_floats(&p->arena, BLOCK);
    p->env = mw_arena_take(&p->arena, BLOCK, sizeof *p->env);
    p->shown = mw_arena_take(&p->arena, BLOCK, sizeof *p->shown);
    mw_mlp_acts_take(&inverse->mlp, &p->acts, &p->arena, (int)pairs, false);
    p->pairs = mw_arena_floats(&p->arena, pairs * (size_t)mw_inverse_inputs(&inverse->config));
}

void mw_diffusion_play_destroy(mw_policy *base) {
    playing *p = (playing *)base;
    mw_denoiser_free(p->denoiser);
    mw_arena_free(&p->arena);
    free(p);
}

static mw_status find_inverse(playing *p, const mw_policy_context *context, mw_error *error) {
    for (int i = 0; i < context->count; i++)
        if (context->models[i]->kind == &mw_inverse_class) p->inverse = context->models[i];
    if (p->inverse) return MW_OK;
    return mw_fail(error, MW_ERR_ARGUMENT,
                   "%s says where to go and the inverse dynamics how; there are none beside it",
                   context->model->kind->name);
}

static mw_status prepare(playing *p, const mw_policy_context *context, mw_error *error) {
    MW_TRY(find_inverse(p, context, error));
    take_room(p);
    MW_TRY(mw_arena_create(&p->arena, p->arena.used, error));
    take_room(p);
    for (int env = 0; env < p->envs; env++) mw_diffusion_play_begin(&p->base, env);
    return mw_denoiser_create(&p->denoiser, p->model, context->pool, error);
}

mw_status mw_diffusion_play_create(mw_policy **out, const mw_policy_context *context, mw_error *error) {
    playing *p = calloc(1, sizeof *p);
    *out = NULL;
    if (!p) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a policy");
    *p = (playing){.base = {context->model->kind->policy},
                   .model = context->model,
                   .obs_normalizer = context->obs_normalizer,
                   .act_normalizer = context->act_normalizer,
                   .envs = context->envs,
                   .segments = mw_diffusion_net_of(context->model)->shown ? context->model->shape.agents : 1};
    const mw_status status = prepare(p, context, error);
    if (status != MW_OK) {
        mw_diffusion_play_destroy(&p->base);
        return status;
    }
    *out = &p->base;
    return MW_OK;
}

void mw_diffusion_play_begin(mw_policy *base, int env) {
    playing *p = (playing *)base;
    const mw_diffusion_settings *s = mw_diffusion_settings_of(p->model);
    p->seen[env] = false;
    p->want[env] = s->wanted * s->return_scale;
}

void mw_diffusion_play_reward(mw_policy *base, int env, float reward) {
    playing *p = (playing *)base;
    const mw_diffusion_settings *s = mw_diffusion_settings_of(p->model);
    if (s->earn) p->want[env] = (p->want[env] - (double)reward) / s->discount;
}

/* The present joins the past; before an episode's start there is its first observation, as in training. */
static void remember(playing *p, int env, const float *obs) {
    const mw_flow_config *c = &mw_diffusion_net_of(p->model)->trunk.config;
    const size_t joint = (size_t)(c->agents * c->obs), steps = (size_t)c->context;
    float *past = p->past + (size_t)env * steps * joint, *now = past + (steps - 1) * joint;
    memmove(past, past + joint, (steps - 1) * joint * sizeof *past);
    memcpy(now, obs, joint * sizeof *now);
    mw_normalizer_forward(p->obs_normalizer, now, c->agents);
    for (size_t t = 0; !p->seen[env] && t + 1 < steps; t++)
        memcpy(past + t * joint, now, joint * sizeof *now);
    p->seen[env] = true;
}

/* The noise of an agent that denoises apart must not follow from how many there are. */
static void draw_noise(const playing *p, float *x, uint64_t episode, uint64_t step, int segment) {
    const mw_flow_config *c = &mw_diffusion_net_of(p->model)->trunk.config;
    const size_t o = (size_t)c->obs, joint = (size_t)c->agents * o, time = (size_t)c->time;
    if (!c->apart) {
        mw_rng rng = mw_rng_make(0, MW_RNG_POLICY, episode, step, (uint64_t)segment);
        mw_rng_fill_normal(&rng, x, time * joint);
    }
    for (int i = 0; c->apart && i < c->agents; i++) {
        mw_rng rng = mw_rng_make(0, MW_RNG_POLICY, episode, step, (uint64_t)i);
        for (size_t t = 0; t < time; t++) mw_rng_fill_normal(&rng, x + t * joint + (size_t)i * o, o);
    }
}

/* The agents whose next observation is taken from a segment: [*first, *end). */
static void takers(const playing *p, int place, int *first, int *end) {
    const bool all = p->shown[place] < 0;
    *first = all ? 0 : p->shown[place];
    *end = all ? p->model->shape.agents : *first + 1;
}

/* From pairs of observations to actions, by agents in the order of the block. */
static void decide(playing *p, const mw_policy_call *call, int count) {
    const mw_inverse_net *inverse = mw_inverse_net_of(p->inverse);
    const mw_flow_config *c = &mw_diffusion_net_of(p->model)->trunk.config;
    const int n = c->agents, o = c->obs, d = p->model->shape.act,
              inputs = mw_inverse_inputs(&inverse->config);
    const size_t joint = (size_t)(n * o);
    int rows = 0, first, end;
    for (int j = 0; j < count; j++) {
        const float *now = p->x + ((size_t)j * (size_t)c->time + (size_t)(c->context - 1)) * joint;
        takers(p, j, &first, &end);
        for (int i = first; i < end; i++, rows++)
            mw_inverse_row(&inverse->config, p->pairs + rows * inputs, now + i * o,
                           now + joint + (size_t)(i * o), i);
    }
    float *out =
        mw_mlp_forward(&inverse->mlp, &p->acts, p->pairs, p->inverse->values, p->inverse->packed, rows);
    if (p->act_normalizer) mw_normalizer_inverse(p->act_normalizer, out, rows);
    for (int j = 0; j < count; j++) {
        takers(p, j, &first, &end);
        for (int i = first; i < end; i++, out += d) {
            const size_t at = (size_t)(p->env[j] * n + i);
            if (call->index)
                call->index[at] =
                    mw_categorical_best(out, call->legal ? call->legal + at * (size_t)d : NULL, d);
            else
                memcpy(call->real + at * (size_t)d, out, (size_t)d * sizeof *out);
        }
    }
}

static void run_block(playing *p, const mw_policy_call *call, int count) {
    mw_denoiser_run(p->denoiser, p->x, p->history, p->shown, p->target, count);
    decide(p, call, count);
}

mw_status mw_diffusion_play_act(mw_policy *base, const mw_policy_call *call, mw_error *error) {
    playing *p = (playing *)base;
    const mw_flow_config *c = &mw_diffusion_net_of(p->model)->trunk.config;
    const size_t joint = (size_t)(c->agents * c->obs), past = (size_t)c->context * joint;
    int count = 0;
    (void)error;
    for (int env = 0; env < p->envs; env++) {
        if (call->active && !call->active[env]) continue;
        remember(p, env, call->obs + (size_t)env * joint);
        for (int segment = 0; segment < p->segments; segment++) {
            memcpy(p->history + (size_t)count * past, p->past + (size_t)env * past, past * sizeof *p->past);
            draw_noise(p, p->x + (size_t)count * (size_t)c->time * joint, call->episode[env], call->step[env],
                       segment);
            p->env[count] = env;
            p->shown[count] = p->segments > 1 ? segment : -1;
            p->target[count] = (float)(p->want[env] / mw_diffusion_settings_of(p->model)->return_scale);
            if (++count < BLOCK) continue;
            run_block(p, call, count);
            count = 0;
        }
    }
    if (count) run_block(p, call, count);
    return MW_OK;
}
