/* Small made-up datasets for tests: every value is a formula of its place, so that readers can be checked
 * without a second copy. */
#ifndef MW_TESTS_FIXTURE_H
#define MW_TESTS_FIXTURE_H

#include "data/dataset.h"
#include "scratch.h"

enum { FIXTURE_AGENTS = 2, FIXTURE_OBS = 3, FIXTURE_ACT = 4, FIXTURE_LIMIT = 12 };

/* Options of an export that replaces what is there. */
static inline const mw_export_options *replacing(void) {
    static mw_export_options options;
    mw_export_options_init(&options, sizeof options);
    options.overwrite = true;
    return &options;
}

static inline float fixture_obs(long episode, long t, int agent, int feature) {
    return feature == 2 ? 5.0f /* a dead feature */
                        : (float)sin((double)(episode * 31 + t * 7 + agent * 3 + feature)) * 2;
}
static inline float fixture_reward(long episode, long t, int agent) {
    return (float)(episode % 3) + 0.25f * (float)t - 0.5f * (float)agent;
}
static inline float fixture_real(long episode, long t, int agent, int value) {
    return (float)cos((double)(episode + t * 5 + agent * 11 + value));
}
static inline int32_t fixture_index(long episode, long t, int agent) {
    return (int32_t)((episode + t + agent) % FIXTURE_ACT);
}
static inline long fixture_length(long episode) {
    return 1 + episode * 5 % FIXTURE_LIMIT;
}

static inline mw_dataset_spec fixture_spec(bool discrete) {
    return (mw_dataset_spec){.task = "maze",
                             .rules = "maze-1",
                             .quality = "medium",
                             .agents = FIXTURE_AGENTS,
                             .obs_size = FIXTURE_OBS,
                             .act_size = FIXTURE_ACT,
                             .discrete = discrete,
                             .episode_limit = FIXTURE_LIMIT,
                             .seed = 18446744073709551615u,
                             .command = "test",
                             .note = "noise 0.1"};
}

typedef struct fixture_data {
    float obs[FIXTURE_LIMIT + 1][FIXTURE_AGENTS][FIXTURE_OBS];
    float real[FIXTURE_LIMIT][FIXTURE_AGENTS][FIXTURE_ACT];
    int32_t index[FIXTURE_LIMIT][FIXTURE_AGENTS];
    uint8_t legal[FIXTURE_LIMIT][FIXTURE_AGENTS][FIXTURE_ACT];
    float rewards[FIXTURE_LIMIT][FIXTURE_AGENTS];
    mw_episode episode;
} fixture_data;

static inline mw_episode *fixture_episode(fixture_data *data, long e, bool discrete, bool last_known) {
    long length = fixture_length(e);
    for (long t = 0; t <= length; t++)
        for (int i = 0; i < FIXTURE_AGENTS; i++) {
            for (int f = 0; f < FIXTURE_OBS; f++) data->obs[t][i][f] = fixture_obs(e, t, i, f);
            if (t == length) continue;
            data->rewards[t][i] = fixture_reward(e, t, i);
            data->index[t][i] = fixture_index(e, t, i);
            for (int a = 0; a < FIXTURE_ACT; a++) {
                data->real[t][i][a] = fixture_real(e, t, i, a);
                data->legal[t][i][a] = a == data->index[t][i] || a % 2 == 0;
            }
        }
    data->episode = (mw_episode){.length = length,
                                 .obs = data->obs[0][0],
                                 .last_obs = last_known ? data->obs[length][0] : NULL,
                                 .real = discrete ? NULL : data->real[0][0],
                                 .index = discrete ? data->index[0] : NULL,
                                 .legal = discrete ? data->legal[0][0] : NULL,
                                 .rewards = data->rewards[0],
                                 .outcome = length < FIXTURE_LIMIT ? (e % 2 ? 3 : 1) : 0};
    return &data->episode;
}

static inline void fixture_make(const char *folder, bool discrete, bool last_known, long episodes) {
    mw_error error;
    mw_dataset_writer *writer;
    mw_dataset_spec spec = fixture_spec(discrete);
    mw_data_source source = {"policy.safetensors", 0xABCDu, episodes};
    fixture_data data;
    spec.sources = &source;
    spec.source_count = 1;
    CHECK_OK(mw_dataset_writer_open(&writer, folder, &spec, true, &error), error);
    for (long e = 0; e < episodes; e++)
        CHECK_OK(mw_dataset_writer_add(writer, fixture_episode(&data, e, discrete, last_known), &error),
                 error);
    CHECK_OK(mw_dataset_writer_commit(writer, &error), error);
}

#endif
