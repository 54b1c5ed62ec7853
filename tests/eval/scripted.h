/* Datasets from scripted play with noise, for tests that need real worlds but no learned behaviour. */
#ifndef MW_TESTS_SCRIPTED_H
#define MW_TESTS_SCRIPTED_H

#include "check.h"
#include "core/rng.h"
#include "data/dataset.h"

enum { SCRIPTED_LIMIT = 128, SCRIPTED_AGENTS = 8, SCRIPTED_OBS = 96, SCRIPTED_ACT = 16 };

typedef struct scripted_record {
    float obs[SCRIPTED_LIMIT + 1][SCRIPTED_AGENTS * SCRIPTED_OBS];
    float real[SCRIPTED_LIMIT * SCRIPTED_AGENTS * SCRIPTED_ACT];
    int32_t index[SCRIPTED_LIMIT * SCRIPTED_AGENTS];
    uint8_t legal[SCRIPTED_LIMIT * SCRIPTED_AGENTS * SCRIPTED_ACT];
    float rewards[SCRIPTED_LIMIT * SCRIPTED_AGENTS];
    float packed[SCRIPTED_LIMIT * SCRIPTED_AGENTS * SCRIPTED_OBS];
} scripted_record;

/* Real actions: normal noise of this std on top. Discrete: with this probability a random legal one. */
static inline void scripted_disturb(const mw_env_info *info, double noise, mw_rng *rng, float *real,
                                    int32_t *index, const uint8_t *legal) {
    for (int i = 0; i < info->agents; i++) {
        for (int d = 0; !info->discrete && d < info->act_size; d++) {
            const double value = (double)real[i * info->act_size + d] + noise * mw_rng_normal(rng);
            real[i * info->act_size + d] = (float)fmin(fmax(value, -1), 1);
        }
        if (!info->discrete || mw_rng_double(rng) >= noise) continue;
        do index[i] = (int32_t)mw_rng_below(rng, (uint32_t)info->act_size);
        while (!legal[i * info->act_size + index[i]]);
    }
}

static inline mw_episode scripted_play(scripted_record *r, mw_env *env, const char *script, double noise,
                                       uint64_t seed) {
    mw_error error;
    const mw_env_info *info = mw_env_describe(env);
    const int n = info->agents, o = info->obs_size, d = info->act_size;
    mw_rng rng = mw_rng_make(seed, MW_RNG_COLLECT, 0, 0, 0);
    mw_outcome outcome = {0};
    long t = 0;
    mw_env_reset(env, seed);
    mw_env_observe(env, r->obs[0]);
    while (!outcome.terminated && !outcome.truncated) {
        float *real = r->real + t * n * d;
        int32_t *index = r->index + t * n;
        mw_env_legal(env, r->legal + t * n * d);
        CHECK_OK(mw_script_act(env, script, seed, real, index, &error), error);
        scripted_disturb(info, noise, &rng, real, index, r->legal + t * n * d);
        const mw_action action = info->discrete ? (mw_action){.index = index} : (mw_action){.real = real};
        CHECK_OK(mw_env_step(env, action, r->rewards + t * n, &outcome, &error), error);
        mw_env_observe(env, r->obs[++t]);
    }
    for (long k = 0; k < t; k++) memcpy(r->packed + k * n * o, r->obs[k], (size_t)(n * o) * sizeof(float));
    return (mw_episode){.length = t,
                        .obs = r->packed,
                        .last_obs = r->obs[t],
                        .real = info->discrete ? NULL : r->real,
                        .index = info->discrete ? r->index : NULL,
                        .legal = info->discrete ? r->legal : NULL,
                        .rewards = r->rewards,
                        .outcome = outcome.won          ? MW_ENDED_BY_VICTORY
                                   : outcome.terminated ? MW_ENDED_BY_WORLD
                                                        : MW_ENDED_BY_LIMIT};
}

static inline void scripted_make(const char *folder, const char *task, const char *script, double noise,
                                 int episodes, uint64_t seed) {
    mw_error error;
    mw_env *env;
    mw_dataset_writer *writer;
    scripted_record *record = malloc(sizeof *record);
    assert_non_null(record);
    CHECK_OK(mw_env_create(&env, task, NULL, &error), error);
    const mw_env_info *info = mw_env_describe(env);
    const mw_dataset_spec spec = {.task = info->task,
                                  .rules = info->rules,
                                  .quality = "scripted",
                                  .agents = info->agents,
                                  .obs_size = info->obs_size,
                                  .act_size = info->act_size,
                                  .discrete = info->discrete,
                                  .episode_limit = info->episode_limit,
                                  .seed = seed,
                                  .command = "test"};
    CHECK_OK(mw_dataset_writer_open(&writer, folder, &spec, true, &error), error);
    for (int e = 0; e < episodes; e++) {
        const mw_episode episode = scripted_play(record, env, script, noise, seed * 1000003 + (uint64_t)e);
        CHECK_OK(mw_dataset_writer_add(writer, &episode, &error), error);
    }
    CHECK_OK(mw_dataset_writer_commit(writer, &error), error);
    mw_env_free(env);
    free(record);
}

#endif
