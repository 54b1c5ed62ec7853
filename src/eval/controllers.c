/* The controllers: planner, models that play by themselves, behaviour policy, uniformly random play; see
 * controller.h. */
#include "behavior/behavior.h"
#include "env/env.h"
#include "eval/controller.h"

#include <stdlib.h>
#include <string.h>

/* ---- the planner ---- */

typedef struct {
    mw_controller base;
    mw_planner *planner;
} planning;

static const mw_controller_class planner_class;

static void planner_destroy(mw_controller *c) {
    mw_planner_free(((planning *)c)->planner);
    free(c);
}

static mw_status planner_create(mw_controller **out, const mw_controller_request *r, mw_error *error) {
    planning *p = calloc(1, sizeof *p);
    mw_planner_options options;
    if (!p) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a controller");
    p->base.kind = &planner_class;
    mw_planner_options_init(&options, sizeof options, r->bundle);
    options.envs = r->count;
    options.threads = r->threads;
    options.imagine = r->imagine;
    options.envs_played = r->envs;
    options.env_options = r->env_options;
    options.plan = r->plan;
    *out = &p->base;
    return mw_planner_create(&p->planner, r->bundle, &options, error);
}

static void planner_begin(mw_controller *c, int env, uint64_t episode) {
    mw_planner_begin(((planning *)c)->planner, env, episode, NULL);
}

static mw_status planner_act(mw_controller *c, const float *obs, const uint8_t *legal, const uint8_t *active,
                             float *real, int32_t *index, mw_error *error) {
    return mw_planner_act(((planning *)c)->planner, obs, legal, active, real, index, error);
}

static void planner_reward(mw_controller *c, int env, float reward) {
    mw_planner_reward(((planning *)c)->planner, env, reward, NULL);
}

static mw_candidates planner_candidates(const mw_controller *c, int env) {
    return mw_planner_candidates(((const planning *)c)->planner, env);
}

static mw_planner_times planner_times(const mw_controller *c) {
    return mw_planner_last_times(((const planning *)c)->planner);
}

static const mw_controller_class planner_class = {
    .name = "planner",
    .create = planner_create,
    .destroy = planner_destroy,
    .begin = planner_begin,
    .act = planner_act,
    .reward = planner_reward,
    .candidates = planner_candidates,
    .times = planner_times,
};

/* ---- models that play by themselves ---- */

typedef struct {
    mw_controller base;
    mw_pool *pool;
    mw_policy *policy;
    int count;
    uint64_t *episode, *step; /* [count] */
} deciding;

static const mw_controller_class policy_class;

static void policy_destroy(mw_controller *base) {
    deciding *c = (deciding *)base;
    mw_policy_free(c->policy);
    mw_pool_free(c->pool);
    free(c->episode);
    free(c->step);
    free(c);
}

static mw_status policy_create(mw_controller **out, const mw_model *model, const mw_controller_request *r,
                               mw_error *error) {
    deciding *c = calloc(1, sizeof *c);
    const mw_model *models[MW_KINDS];
    if (!c) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a controller");
    c->base.kind = &policy_class;
    c->count = r->count;
    *out = &c->base;
    c->episode = calloc((size_t)r->count, sizeof *c->episode);
    c->step = calloc((size_t)r->count, sizeof *c->step);
    if (!c->episode || !c->step) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a controller");
    MW_TRY(mw_pool_create(&c->pool, r->threads, error));
    for (int i = 0; i < r->bundle->count; i++) models[i] = r->bundle->parts[i].model;
    const mw_bundle *b = r->bundle;
    const mw_policy_context context = {.models = models,
                                       .count = b->count,
                                       .model = model,
                                       .envs = r->count,
                                       .obs_normalizer = &b->obs_normalizer,
                                       .act_normalizer = b->info.discrete ? NULL : &b->act_normalizer,
                                       .episode_limit = b->info.episode_limit,
                                       .pool = c->pool};
    return model->kind->policy->create(&c->policy, &context, error);
}

static void policy_begin(mw_controller *base, int env, uint64_t episode) {
    deciding *c = (deciding *)base;
    c->episode[env] = episode;
    c->step[env] = 0;
    if (c->policy->kind->begin) c->policy->kind->begin(c->policy, env);
}

static mw_status policy_act(mw_controller *base, const float *obs, const uint8_t *legal,
                            const uint8_t *active, float *real, int32_t *index, mw_error *error) {
    deciding *c = (deciding *)base;
    const mw_policy_call call = {obs, legal, active, c->episode, c->step, real, index};
    MW_TRY(c->policy->kind->act(c->policy, &call, error));
    for (int e = 0; e < c->count; e++) c->step[e] += !active || active[e];
    return MW_OK;
}

static void policy_reward(mw_controller *base, int env, float reward) {
    mw_policy *policy = ((deciding *)base)->policy;
    if (policy->kind->reward) policy->kind->reward(policy, env, reward);
}

static const mw_controller_class policy_class = {.name = "policy",
                                                 .destroy = policy_destroy,
                                                 .begin = policy_begin,
                                                 .act = policy_act,
                                                 .reward = policy_reward};

/* ---- policies that look at one observation: behaviours, and uniform play, which is one without a network
 * ---- */

typedef struct {
    mw_controller base;
    mw_bundle_info info;
    int count;
    bool uniform;
    mw_behavior behavior;
    mw_actor_work work;
    uint64_t *episode, *step; /* [count] */
} playing;

static void playing_destroy(mw_controller *c) {
    playing *p = (playing *)c;
    mw_behavior_free(&p->behavior);
    mw_actor_work_free(&p->work);
    free(p->episode);
    free(p->step);
    free(p);
}

static mw_status playing_create(mw_controller **out, const mw_controller_class *kind, bool uniform,
                                const mw_controller_request *r, mw_error *error) {
    playing *p = calloc(1, sizeof *p);
    char name[2 * MW_WORD], path[1024];
    const mw_setting *setting;
    if (!p) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a controller");
    p->base.kind = kind;
    p->info = r->bundle->info;
    p->count = r->count;
    p->uniform = uniform;
    *out = &p->base;
    p->episode = calloc((size_t)r->count, sizeof *p->episode);
    p->step = calloc((size_t)r->count, sizeof *p->step);
    if (!p->episode || !p->step) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a controller");
    if (uniform) return MW_OK;
    snprintf(name, sizeof name, "%s-%s", p->info.task, p->info.quality);
    MW_TRY(mw_setting_find(&setting, name, error));
    p->uniform = setting->kind == MW_TIER_RANDOM;
    if (p->uniform) return MW_OK;
    MW_TRY(mw_behavior_path(path, sizeof path, r->behaviors, setting, error));
    MW_TRY(mw_behavior_load(&p->behavior, path, error));
    MW_TRY(mw_behavior_check(&p->behavior, mw_env_describe(r->envs[0]), path, error));
    return mw_actor_work_create(&p->work, &p->behavior.actor[0].shape, 1, error);
}

static void playing_begin(mw_controller *c, int env, uint64_t episode) {
    playing *p = (playing *)c;
    p->episode[env] = episode;
    p->step[env] = 0;
}

/* One environment's joint action. Of several policies each plays every so many-th episode. */
static void play_one(playing *p, const float *obs, const uint8_t *legal, uint64_t episode, mw_rng *rng,
                     float *real, int32_t *index) {
    const int n = p->info.agents, d = p->info.act;
    const mw_actor *actor = p->uniform ? NULL : &p->behavior.actor[episode % (uint64_t)p->behavior.count];
    const float *out = actor ? mw_actor_forward(actor, &p->work, obs, 1) : NULL;
    if (!p->info.discrete && out) mw_actor_draw_real(real, out, n * d, p->behavior.noise, rng);
    for (int k = 0; !p->info.discrete && !out && k < n * d; k++)
        real[k] = (float)(2 * mw_rng_double(rng) - 1);
    for (int a = 0; p->info.discrete && a < n; a++)
        index[a] = mw_actor_draw_index(out ? out + a * d : NULL, legal ? legal + a * d : NULL, d,
                                       out ? p->behavior.noise : 1, rng);
}

static mw_status playing_act(mw_controller *c, const float *obs, const uint8_t *legal, const uint8_t *active,
                             float *real, int32_t *index, mw_error *error) {
    playing *p = (playing *)c;
    const size_t n = (size_t)p->info.agents, joint = n * (size_t)p->info.obs, acts = n * (size_t)p->info.act;
    (void)error;
    for (int e = 0; e < p->count; e++) {
        const size_t at = (size_t)e;
        if (active && !active[e]) continue;
        mw_rng rng = mw_rng_make(0, MW_RNG_COLLECT, p->episode[e], p->step[e]++, 2);
        play_one(p, obs + at * joint, legal ? legal + at * acts : NULL, p->episode[e], &rng,
                 real ? real + at * acts : NULL, index ? index + at * n : NULL);
    }
    return MW_OK;
}

static const mw_controller_class behavior_class, uniform_class;

static mw_status behavior_create(mw_controller **out, const mw_controller_request *r, mw_error *error) {
    return playing_create(out, &behavior_class, false, r, error);
}

static mw_status uniform_create(mw_controller **out, const mw_controller_request *r, mw_error *error) {
    return playing_create(out, &uniform_class, true, r, error);
}

static const mw_controller_class behavior_class = {.name = "behavior",
                                                   .create = behavior_create,
                                                   .destroy = playing_destroy,
                                                   .begin = playing_begin,
                                                   .act = playing_act};
static const mw_controller_class uniform_class = {.name = "uniform",
                                                  .create = uniform_create,
                                                  .destroy = playing_destroy,
                                                  .begin = playing_begin,
                                                  .act = playing_act};

/* ---- all of them ---- */

static const mw_controller_class *const classes[] = {&planner_class, &behavior_class, &uniform_class};

static const mw_controller_class *find(const char *name) {
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (!strcmp(classes[i]->name, name)) return classes[i];
    return NULL;
}

bool mw_controller_plans(const char *name) {
    const mw_controller_class *class = find(name);
    return class && class->candidates;
}

mw_status mw_controller_create(mw_controller **out, const char *name, const mw_controller_request *request,
                               mw_error *error) {
    const mw_model *model = mw_bundle_model(request->bundle, name);
    const mw_controller_class *class = find(name);
    *out = NULL;
    if (!class && !(model && model->kind->policy))
        return mw_fail(error, MW_ERR_ARGUMENT, "this bundle has nobody who plays as '%.64s'", name);
    const mw_status status =
        class ? class->create(out, request, error) : policy_create(out, model, request, error);
    if (status == MW_OK) return MW_OK;
    mw_controller_free(*out);
    *out = NULL;
    return status;
}
