/* Two agents of which one does the opposite of the other, either way half of the time, and one way earns
 * more: the mean action is one that nobody ever took. What methods of others are tried on, with their
 * gradients against differences, their bits over threads, and play. */
#ifndef MW_TESTS_BANDIT_H
#define MW_TESTS_BANDIT_H

#include "check.h"
#include "core/rng.h"
#include "model/fit.h"

enum { BANDIT_N = 2, BANDIT_O = 3, BANDIT_D = 3, BANDIT_STEPS = 64, BANDIT_EPISODES = 32 };

typedef struct {
    float obs[BANDIT_STEPS * BANDIT_N * BANDIT_O], acts[BANDIT_STEPS * BANDIT_N * BANDIT_D];
    float rewards[BANDIT_STEPS * BANDIT_N];
    float last_obs[BANDIT_EPISODES * BANDIT_N * BANDIT_O];
    int32_t choices[BANDIT_STEPS * BANDIT_N];
    uint8_t legal[BANDIT_STEPS * BANDIT_N * BANDIT_D], outcomes[BANDIT_EPISODES];
    int64_t lengths[BANDIT_EPISODES], offsets[BANDIT_EPISODES + 1];
    long episodes[BANDIT_EPISODES];
    mw_moments moments[BANDIT_O];
    mw_dataset dataset;
    mw_training_data data;
    bool discrete;
} bandit;

/* Episodes of two steps; every other one is cut by the limit. Going the first way (agent 0 at +0.5, or action
 * 0) both agents earn `first`, going the other one `other`; action 2 is never legal, and observations say
 * nothing. Where they go apart, all four pairs are as frequent, and each earns half of that. */
static inline void bandit_make(bandit *b, bool discrete, bool apart, float first, float other) {
    mw_rng rng = mw_rng_make(4, MW_RNG_TEST, 0, 0, 0);
    *b = (bandit){.discrete = discrete};
    enum {
        SEEN = BANDIT_N * BANDIT_O
    }; /* one joint observation for every 16 steps: nothing to know them by */
    mw_rng_fill_normal(&rng, b->last_obs, sizeof b->last_obs / sizeof *b->last_obs);
    for (int i = 0; i < BANDIT_STEPS * SEEN; i++) b->obs[i] = b->last_obs[i / SEEN / 16 * SEEN + i % SEEN];
    for (int i = 0; i < BANDIT_STEPS * BANDIT_N; i++) {
        const int t = i / BANDIT_N, agent = i % BANDIT_N;
        const int way[BANDIT_N] = {(t + t / 4) % 2, ((apart ? t / 2 : t) + t / 4) % 2},
                  own = way[agent] ^ agent;
        for (int k = 0; k < BANDIT_D; k++) b->acts[i * BANDIT_D + k] = own ? -0.5f : 0.5f;
        for (int k = 0; k < BANDIT_D; k++) b->legal[i * BANDIT_D + k] = k != 2;
        b->choices[i] = own;
        b->rewards[i] = 0.5f * ((way[0] ? other : first) + (way[1] ? other : first));
    }
    for (int e = 0; e < BANDIT_EPISODES; e++) {
        b->lengths[e] = 2;
        b->offsets[e + 1] = 2 * (e + 1);
        b->episodes[e] = e;
        b->outcomes[e] = e % 2 ? MW_ENDED_BY_LIMIT : MW_ENDED_BY_WORLD;
    }
    for (int k = 0; k < BANDIT_O; k++) b->moments[k] = (mw_moments){.std = 1, .scale = 1};
    static int64_t starts[BANDIT_EPISODES + 1];
    for (int e = 0; e <= BANDIT_EPISODES; e++) starts[e] = 2 * e;
    b->dataset = (mw_dataset){
        .spec = {.agents = BANDIT_N, .obs_size = BANDIT_O, .act_size = BANDIT_D, .discrete = discrete},
        .episodes = BANDIT_EPISODES,
        .steps = BANDIT_STEPS,
        .obs = b->obs,
        .last_obs = b->last_obs,
        .real = discrete ? NULL : b->acts,
        .index = discrete ? b->choices : NULL,
        .legal = discrete ? b->legal : NULL,
        .rewards = b->rewards,
        .outcomes = b->outcomes,
        .lengths = b->lengths,
        .offsets = b->offsets};
    b->data = (mw_training_data){.dataset = &b->dataset,
                                 .split.train = {.count = BANDIT_EPISODES,
                                                 .episodes = b->episodes,
                                                 .starts = starts,
                                                 .transitions = BANDIT_STEPS},
                                 .stats = {.obs_size = BANDIT_O, .act_size = BANDIT_D, .obs = b->moments}};
}

/* A model in training; `settings` with spaces between them. */
typedef struct {
    mw_model *model;
    mw_training_part *part;
    mw_fit *fit;
    mw_pool *pool;
} bandit_learner;

static inline bandit_learner bandit_learn(bandit *b, const char *name, const char *settings, int threads) {
    mw_error error;
    bandit_learner l;
    const mw_model_class *kind = mw_model_class_at(mw_model_class_index(name));
    mw_model_config config = {0};
    const mw_model_shape shape = {BANDIT_N, BANDIT_O, BANDIT_D, b->discrete};
    mw_fields_defaults(kind->fields, &config);
    CHECK_OK(mw_fields_assign(kind->fields, &config, settings, "", &error), error);
    CHECK_OK(mw_model_make(&l.model, kind, &config, &shape, &error), error);
    CHECK_OK(mw_pool_create(&l.pool, threads, &error), error);
    b->data.pool = l.pool;
    CHECK_OK(mw_model_train(&l.part, l.model, &b->data, &error), error);
    l.fit = (mw_fit *)l.part;
    return l;
}

static inline void bandit_free(bandit_learner *l) {
    mw_training_part_free(l->part);
    mw_model_free(l->model);
    mw_pool_free(l->pool);
}

/* All its steps; the model then has the weights that play. */
static inline void bandit_run(bandit_learner *l) {
    mw_error error;
    double losses[MW_LOSSES];
    CHECK_OK(l->part->start(l->part, &error), error);
    for (; l->part->step < l->part->steps; l->part->step++)
        CHECK_OK(l->part->advance(l->part, losses, &error), error);
    CHECK_OK(mw_model_allocate(l->model, &error), error);
    memcpy(l->model->values, mw_training_part_weights(l->part), l->part->total * sizeof(float));
    mw_model_pack(l->model);
}

/* The same weights to the bit on one thread and on three. */
static inline void bandit_threads(bandit *b, const char *name, const char *settings) {
    bandit_learner one = bandit_learn(b, name, settings, 1);
    bandit_run(&one);
    bandit_learner three = bandit_learn(b, name, settings, 3);
    bandit_run(&three);
    assert_memory_equal(one.model->values, three.model->values, one.part->total * sizeof(float));
    bandit_free(&one);
    bandit_free(&three);
}

/* ---- gradients ---- */

/* What a turn minimises, from its losses. */
typedef double bandit_objective(const mw_fit *fit, const double *losses);

static inline void *bandit_array(const mw_fit *fit, const char *name) {
    const bool discrete = fit->model->shape.discrete;
    for (int i = 0; i < fit->kind->field_count; i++) {
        const mw_slot_field *field = &fit->kind->fields[i];
        if (strcmp(field->name, name) || (field->only && (field->only == 'd') != discrete)) continue;
        void *at;
        memcpy(&at, (const char *)fit->slots[0] + field->offset, sizeof at);
        return at;
    }
    fail_msg("no field '%s'", name);
    return NULL;
}

/* Every weight of the turn's group on its own; a difference may span the bend of a ReLU. */
static inline void bandit_gradient(bandit_learner *l, int phase, int turn, bandit_objective *objective) {
    mw_fit *f = l->fit;
    mw_optimizer *o = l->part->optimizer;
    f->phase = phase;
    const mw_group *g = &o->group[f->kind->phases[phase].turns[turn].group];
    const size_t count = g->end - g->begin;
    double losses[MW_LOSSES] = {0};
    mw_fit_turn(f, turn, f->slots[0], MW_STEP_GRADIENT, losses);
    float *grads = malloc(count * sizeof *grads), largest = 0;
    memcpy(grads, o->grads + g->begin, count * sizeof *grads);
    int seen = 0, off = 0;
    for (size_t i = 0; i < count; i++) largest = fmaxf(largest, fabsf(grads[i]));
    for (size_t i = 0; i < count; i++) {
        float *value = o->values + g->begin + i;
        const float kept = *value, up = kept + 2e-3f, down = kept - 2e-3f;
        double above[MW_LOSSES] = {0}, below[MW_LOSSES] = {0};
        *value = up;
        mw_fit_turn(f, turn, f->slots[0], MW_STEP_LOSS, above);
        const double high = objective(f, above);
        *value = down;
        mw_fit_turn(f, turn, f->slots[0], MW_STEP_LOSS, below);
        const double low = objective(f, below);
        *value = kept;
        seen += grads[i] != 0;
        off += fabs((high - low) / ((double)up - (double)down) - (double)grads[i]) > 3e-3 * (double)largest;
    }
    free(grads);
    if (seen < 60 || off > 0.06 * seen)
        fail_msg("phase %d, turn %d: %d gradients, %d of them off", phase, turn, seen, off);
}

/* ---- play ---- */

typedef struct {
    float real[BANDIT_STEPS * BANDIT_N * BANDIT_D];
    int32_t index[BANDIT_STEPS * BANDIT_N];
} bandit_moves;

/* A decision for every recorded step, of which the fourth is not active. */
static inline void bandit_play(const bandit *b, const mw_model *model, const float *obs,
                               bandit_moves *moves) {
    mw_error error;
    mw_policy *policy;
    uint64_t episode[BANDIT_STEPS], step[BANDIT_STEPS] = {0};
    uint8_t active[BANDIT_STEPS];
    const mw_policy_context context = {.model = model, .envs = BANDIT_STEPS};
    CHECK_OK(model->kind->policy->create(&policy, &context, &error), error);
    for (int e = 0; e < BANDIT_STEPS; e++) episode[e] = (uint64_t)e;
    for (int e = 0; e < BANDIT_STEPS; e++) active[e] = e != 3;
    for (int i = 0; i < BANDIT_N; i++) moves->index[3 * BANDIT_N + i] = -7;
    const mw_policy_call call = {obs,
                                 b->discrete ? b->legal : NULL,
                                 active,
                                 episode,
                                 step,
                                 b->discrete ? NULL : moves->real,
                                 b->discrete ? moves->index : NULL};
    CHECK_OK(policy->kind->act(policy, &call, &error), error);
    for (int i = 0; b->discrete && i < BANDIT_N; i++) assert_int_equal(moves->index[3 * BANDIT_N + i], -7);
    mw_policy_free(policy);
}

/* How often agent 0 and agent 1 go the first way, and how often they stand between. */
typedef struct {
    double first[BANDIT_N], neither;
} bandit_ways;

static inline bandit_ways bandit_look(const bandit *b, const mw_model *model) {
    static bandit_moves moves;
    bandit_ways ways = {{0}, 0};
    bandit_play(b, model, b->obs, &moves);
    for (int i = 0; i < BANDIT_STEPS * BANDIT_N; i++) {
        const double share = 1.0 / (BANDIT_STEPS - 1);
        const int agent = i % BANDIT_N;
        if (i / BANDIT_N == 3) continue;
        if (b->discrete) {
            assert_in_range(moves.index[i], 0, 1); /* what is illegal is never done */
            ways.first[agent] += share * (moves.index[i] == agent);
            continue;
        }
        const float sign = agent ? -1 : 1;
        float x = 0;
        for (int k = 0; k < BANDIT_D; k++) {
            assert_true(fabsf(moves.real[i * BANDIT_D + k]) <= 1);
            x += moves.real[i * BANDIT_D + k] / BANDIT_D;
        }
        ways.first[agent] += share * (x * sign > 0);
        ways.neither += share / BANDIT_N * (fabsf(x) < 0.2f);
    }
    return ways;
}

/* What the other agent sees does not matter to the first one. */
static inline void bandit_own(const bandit *b, const mw_model *model) {
    static bandit_moves kept, moved;
    static float obs[BANDIT_STEPS * BANDIT_N * BANDIT_O];
    memcpy(obs, b->obs, sizeof obs);
    for (int i = 0; i < BANDIT_STEPS * BANDIT_N; i++)
        for (int k = 0; i % BANDIT_N && k < BANDIT_O; k++) obs[i * BANDIT_O + k] += 1.5f;
    bandit_play(b, model, b->obs, &kept);
    bandit_play(b, model, obs, &moved);
    int others = 0;
    for (int i = 0; i < BANDIT_STEPS * BANDIT_N; i++) {
        const size_t at = (size_t)i * BANDIT_D;
        if (i / BANDIT_N == 3) continue;
        const bool same = b->discrete ? kept.index[i] == moved.index[i]
                                      : !memcmp(kept.real + at, moved.real + at, BANDIT_D * sizeof(float));
        if (i % BANDIT_N)
            others += !same;
        else
            assert_true(same);
    }
    assert_true(others > 0 || b->discrete); /* it did look */
}

#endif
