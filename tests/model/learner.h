/* A method that learns from a small dataset, step by step: its batches and results by name, its gradients
 * against differences of its losses, its weights by hand, and its play. */
#ifndef MW_TESTS_LEARNER_H
#define MW_TESTS_LEARNER_H

#include "check.h"
#include "core/rng.h"
#include "model/fit.h"

enum { LEARNER_STEPS = 40, LEARNER_CELLS = 512 };

typedef struct {
    int n, o, d;
    bool discrete;
    float obs[LEARNER_CELLS], act[LEARNER_CELLS], reward[LEARNER_CELLS];
    int32_t index[LEARNER_CELLS];
    uint8_t legal[LEARNER_CELLS], outcomes[LEARNER_STEPS];
    int64_t lengths[LEARNER_STEPS], offsets[LEARNER_STEPS + 1];
    long episodes[LEARNER_STEPS];
    mw_moments moments[16];
    mw_dataset dataset;
    mw_training_data data;
    mw_model *model;
    mw_training_part *part;
    mw_fit *fit;
} learner;

/* So many episodes of so many steps; the caller fills in what happens. */
static inline learner *learner_data(int n, int o, int d, bool discrete, int episodes, int steps) {
    learner *l = calloc(1, sizeof *l);
    assert_non_null(l);
    assert_true(n * (o + d) * episodes * steps <= LEARNER_CELLS && episodes * steps <= LEARNER_STEPS);
    l->n = n;
    l->o = o;
    l->d = d;
    l->discrete = discrete;
    for (int e = 0; e < episodes; e++) {
        l->lengths[e] = steps;
        l->offsets[e + 1] = l->offsets[e] + steps;
        l->outcomes[e] = MW_ENDED_BY_WORLD;
        l->episodes[e] = e;
    }
    memset(l->legal, 1, sizeof l->legal);
    for (int i = 0; i < o; i++) l->moments[i] = (mw_moments){.std = 1, .scale = 1};
    l->dataset = (mw_dataset){.spec = {.agents = n, .obs_size = o, .act_size = d, .discrete = discrete},
                              .episodes = episodes,
                              .steps = episodes * steps,
                              .obs = l->obs,
                              .real = discrete ? NULL : l->act,
                              .index = discrete ? l->index : NULL,
                              .legal = discrete ? l->legal : NULL,
                              .rewards = l->reward,
                              .outcomes = l->outcomes,
                              .lengths = l->lengths,
                              .offsets = l->offsets};
    l->data = (mw_training_data){.dataset = &l->dataset,
                                 .split.train = {.count = episodes, .episodes = l->episodes},
                                 .stats = {.obs_size = o, .act_size = d, .obs = l->moments}};
    return l;
}

/* Two agents; 3 values, 2 real or 4 discrete actions; everything at random, action 1 illegal at times; one
 * episode that the world ended and one that the limit did. */
static inline learner *learner_random(bool discrete) {
    learner *l = learner_data(2, 3, discrete ? 4 : 2, discrete, 2, 12);
    mw_rng rng = mw_rng_make(4, MW_RNG_TEST, 0, 0, 0);
    mw_rng_fill_normal(&rng, l->obs, (size_t)(24 * l->n * l->o));
    mw_rng_fill_normal(&rng, l->reward, (size_t)(24 * l->n));
    for (int i = 0; i < 24 * l->n * l->d; i++) l->act[i] = 2 * mw_rng_float(&rng) - 1;
    for (int i = 0; i < 24 * l->n; i++) {
        l->legal[i * l->d + 1] = i % 3 != 0;
        l->index[i] = i % 3 ? (int32_t)mw_rng_below(&rng, (uint32_t)l->d) : 2;
    }
    l->outcomes[1] = MW_ENDED_BY_LIMIT;
    return l;
}

/* Two agents, one state, one step: the joint action (1/2, -1/2) was worth 1 and (-1/2, 1/2) nothing; of
 * discrete actions (0, 1) and (1, 0). The mean action nobody took. */
static inline learner *learner_bandit(bool discrete) {
    learner *l = learner_data(2, 1, discrete ? 2 : 1, discrete, 2, 1);
    for (int i = 0; i < 4; i++) {
        l->obs[i] = 0.5f;
        l->reward[i] = i < 2;
        l->act[i] = (i == 0 || i == 3) ? 0.5f : -0.5f;
        l->index[i] = (i == 0 || i == 3) ? 0 : 1;
    }
    return l;
}

static inline void learner_start(learner *l, const char *name, const char *settings, int threads) {
    mw_error error;
    const mw_model_class *class = mw_model_class_at(mw_model_class_index(name));
    const mw_model_shape shape = {l->n, l->o, l->d, l->discrete};
    mw_model_config config = {0};
    mw_fields_defaults(class->fields, &config);
    CHECK_OK(mw_fields_assign(class->fields, &config, settings, "", &error), error);
    if (class->settle) CHECK_OK(class->settle(&config, &l->data, &error), error);
    CHECK_OK(mw_pool_create(&l->data.pool, threads, &error), error);
    CHECK_OK(mw_model_make(&l->model, class, &config, &shape, &error), error);
    CHECK_OK(mw_model_train(&l->part, l->model, &l->data, &error), error);
    l->fit = (mw_fit *)l->part;
    mw_fit_fill(l->fit, l->fit->slots[0], 0, false);
}

/* Ends what was started; the data stays for another start. */
static inline void learner_stop(learner *l) {
    mw_training_part_free(l->part);
    mw_model_free(l->model);
    mw_pool_free(l->data.pool);
}

static inline void learner_free(learner *l) {
    learner_stop(l);
    free(l);
}

static inline void learner_set(learner *l, const char *setting) {
    mw_error error;
    CHECK_OK(mw_fields_assign(l->model->kind->fields, &l->model->config, setting, "", &error), error);
}

/* An array of the batch. */
static inline void *learner_at(learner *l, const char *name) {
    const mw_fit_class *kind = l->fit->kind;
    for (int i = 0; i < kind->field_count; i++)
        if (!strcmp(kind->fields[i].name, name)) {
            void *at;
            memcpy(&at, (char *)l->fit->slots[0] + kind->fields[i].offset, sizeof at);
            return at;
        }
    fail_msg("no field %s", name);
    return NULL;
}

static inline float *learner_field(learner *l, const char *name) {
    return learner_at(l, name);
}

/* A batch of the bandit that holds both joint actions equally often. */
static inline void learner_even(learner *l) {
    float *reward = learner_field(l, "in.reward");
    void *act = learner_at(l, "in.act");
    for (int i = 0; i < l->fit->settings->batch * l->n; i++) {
        reward[i] = l->reward[i % 4];
        if (l->discrete)
            ((int32_t *)act)[i] = l->index[i % 4];
        else
            ((float *)act)[i] = l->act[i % 4];
    }
    l->fit->kind->assemble(l->fit, l->fit->slots[0]);
}

static inline float *learner_weight(learner *l, const char *name) {
    const mw_param *param = mw_params_find(l->model->params, name);
    if (!param) fail_msg("no weights %s", name);
    return l->part->optimizer->values + param->offset;
}

/* Networks whose names begin so become all zeros. */
static inline void learner_clear(learner *l, const char *prefix) {
    const mw_params *params = l->model->params;
    for (int i = 0; i < params->count; i++)
        if (!strncmp(params->list[i].name, prefix, strlen(prefix)))
            memset(l->part->optimizer->values + params->list[i].offset, 0,
                   params->list[i].count * sizeof(float));
}

/* Slow copies that are others. */
static inline void learner_part_copies(learner *l) {
    mw_rng rng = mw_rng_make(9, MW_RNG_TEST, 0, 0, 0);
    for (size_t i = 0; i < l->part->total; i++)
        l->part->optimizer->average[i] += 0.1f * (float)mw_rng_normal(&rng);
    mw_fit_refresh(l->fit);
}

/* The losses of a turn, and its gradient in the optimizer's first shard. */
static inline const double *learner_turn(learner *l, int turn) {
    static double losses[MW_LOSSES];
    memset(losses, 0, sizeof losses);
    mw_fit_turn(l->fit, turn, l->fit->slots[0], MW_STEP_GRADIENT, losses);
    return losses;
}

/* So many steps of one turn alone on the first batch. */
static inline void learner_climb(learner *l, int turn, int steps, float rate) {
    double losses[MW_LOSSES];
    mw_optimizer *o = l->part->optimizer;
    for (int g = 0; g < o->groups; g++) o->group[g].adam.rate = rate;
    for (int i = 0; i < steps; i++) {
        memset(losses, 0, sizeof losses);
        mw_fit_turn(l->fit, turn, l->fit->slots[0], MW_STEP_UPDATE, losses);
    }
    learner_turn(l, turn);
}

/* The whole training, as the loop has it. */
static inline void learner_train(learner *l) {
    mw_error error;
    double losses[MW_LOSSES];
    CHECK_OK(l->part->start(l->part, &error), error);
    for (; l->part->step < l->part->steps; l->part->step++)
        CHECK_OK(l->part->advance(l->part, losses, &error), error);
    l->part->stop(l->part);
}

/* What a turn minimises, where its losses say more or less than that. */
typedef double learner_objective(learner *l, const double *losses);

/* The gradient of a turn against central differences, weight by weight. */
static inline void learner_differences(learner *l, int turn, learner_objective *objective) {
    mw_optimizer *o = l->part->optimizer;
    const mw_group *g = &o->group[l->fit->kind->phases[l->fit->phase].turns[turn].group];
    const size_t count = g->end - g->begin;
    float *grads = malloc(count * sizeof *grads), largest = 0;
    assert_non_null(grads);
    learner_turn(l, turn);
    memcpy(grads, o->grads + g->begin, count * sizeof *grads);
    for (size_t i = 0; i < count; i++) largest = fmaxf(largest, fabsf(grads[i]));
    int seen = 0, off = 0;
    for (size_t i = 0; i < count; i++) {
        float *value = o->values + g->begin + i;
        const float kept = *value, up = kept + 5e-4f, down = kept - 5e-4f;
        *value = up;
        const double above = objective(l, learner_turn(l, turn));
        *value = down;
        const double below = objective(l, learner_turn(l, turn));
        *value = kept;
        seen += grads[i] != 0;
        off +=
            fabs((above - below) / ((double)up - (double)down) - (double)grads[i]) > 2e-3 * (double)largest;
    }
    free(grads);
    if (seen < 100 || off > 0.03 * seen) /* a difference may span the bend of a ReLU */
        fail_msg("turn %d: %d of %d differ", turn, off, seen);
}

/* The same weights after some steps on one thread and on two. */
static inline void learner_threads(bool discrete, const char *name, const char *settings) {
    float *kept = NULL;
    for (int threads = 1; threads <= 2; threads++) {
        learner *l = learner_random(discrete);
        learner_start(l, name, settings, threads);
        learner_train(l);
        const size_t size = l->part->total * sizeof(float);
        const float *values = l->part->optimizer->values;
        if (threads == 1) {
            kept = malloc(size);
            assert_non_null(kept);
            memcpy(kept, values, size);
        } else
            assert_memory_equal(kept, values, size);
        learner_free(l);
    }
    free(kept);
}

/* Plays the weights at the data's first joint observations: real[n][d] or index[n] of each. */
static inline void learner_play(learner *l, int envs, float *real, int32_t *index) {
    static const uint64_t zeros[LEARNER_STEPS];
    mw_error error;
    mw_policy *policy;
    if (!l->model->values) CHECK_OK(mw_model_allocate(l->model, &error), error);
    memcpy(l->model->values, l->part->optimizer->values, l->part->total * sizeof(float));
    mw_model_pack(l->model);
    const mw_policy_context context = {.model = l->model, .envs = envs};
    const mw_policy_call call = {.obs = l->obs,
                                 .legal = l->discrete ? l->legal : NULL,
                                 .episode = zeros,
                                 .step = zeros,
                                 .real = real,
                                 .index = index};
    CHECK_OK(l->model->kind->policy->create(&policy, &context, &error), error);
    CHECK_OK(policy->kind->act(policy, &call, &error), error);
    mw_policy_free(policy);
}

/* Nothing illegal is played, and other agents' observations change no bit of what an agent does. */
static inline void learner_plays_alone(bool discrete, const char *name, const char *settings) {
    float real[2][LEARNER_CELLS];
    int32_t index[2][LEARNER_CELLS];
    learner *l = learner_random(discrete);
    learner_start(l, name, settings, 1);
    learner_play(l, 12, real[0], index[0]);
    for (int i = 0; discrete && i < 12 * l->n; i++) assert_true(l->legal[i * l->d + index[0][i]]);
    for (int e = 0; e < 12; e++) /* agent 1 sees something else */
        for (int k = 0; k < l->o; k++) l->obs[(e * l->n + 1) * l->o + k] += 1;
    learner_play(l, 12, real[1], index[1]);
    int others = 0;
    for (int e = 0; e < 12; e++) {
        const int at = e * l->n, size = l->d * (int)sizeof(float);
        if (discrete)
            assert_int_equal(index[0][at], index[1][at]);
        else
            assert_memory_equal(real[0] + at * l->d, real[1] + at * l->d, (size_t)size);
        others += discrete ? index[0][at + 1] != index[1][at + 1]
                           : memcmp(real[0] + (at + 1) * l->d, real[1] + (at + 1) * l->d, (size_t)size) != 0;
    }
    assert_true(others > 0);
    learner_free(l);
}

/* A critic by hand, for the bandit's rows [observation, 2 numbers, action]: 1/2 + a for agent 0, 1/2 - a for
 * agent 1, which is what both recorded actions earned. */
static inline void learner_line(learner *l, const char *critic) {
    char name[64];
    const int hidden = mw_params_find(l->model->params, mw_name_of("%s.0.bias", critic).text)->shape[0];
    learner_clear(l, critic);
    snprintf(name, sizeof name, "%s.0.weight", critic);
    float *w = learner_weight(l, name); /* [in][hidden] */
    w[1 * hidden] = w[2 * hidden + 1] = 2;
    w[3 * hidden] = 1;
    w[3 * hidden + 1] = -1;
    snprintf(name, sizeof name, "%s.0.bias", critic);
    learner_weight(l, name)[0] = learner_weight(l, name)[1] = -1;
    snprintf(name, sizeof name, "%s.2.weight", critic);
    learner_weight(l, name)[0] = learner_weight(l, name)[hidden + 1] = 1;
    snprintf(name, sizeof name, "%s.4.weight", critic);
    learner_weight(l, name)[0] = learner_weight(l, name)[1] = 1;
    snprintf(name, sizeof name, "%s.4.bias", critic);
    learner_weight(l, name)[0] = -0.5f;
    mw_fit_refresh(l->fit);
}

#endif
