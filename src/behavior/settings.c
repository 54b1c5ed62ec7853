/* The table of the 30 settings; see mawam/behavior.h. */
#include "behavior/settings.h"

#include "core/file.h"

#include <stdio.h>
#include <string.h>

#define PARTICLES(task, best, low, high, replay_low)                                                         \
    {task, "expert", best, low, high, 0, 0.1f, 250000},                                                      \
        {task, "medium", MW_TIER_NEAR, 35, 60, 0, 0.2f, 250000},                                             \
        {task, "medium-replay", MW_TIER_LADDER, replay_low, 35, 0, 0.2f, 250000}, {                          \
        task, "random", MW_TIER_RANDOM, -5, 10, 0, 0, 250000                                                 \
    }
#define BATTLE(task, noise_of_good)                                                                          \
    {task, "good", MW_TIER_BEST, 17, 20, 0.75, noise_of_good, 250000},                                       \
        {task, "medium", MW_TIER_NEAR, 9, 15, 0, 0.02f, 250000}, {                                           \
        task, "poor", MW_TIER_NEAR, 3, 8, 0, 0.02f, 250000                                                   \
    }
#define ANT(task)                                                                                            \
    {task, "good", MW_TIER_BEST, 2000, 1e9, 0, 0.05f, 200000},                                               \
        {task, "medium", MW_TIER_NEAR, 1100, 1700, 0, 0.05f, 200000}, {                                      \
        task, "poor", MW_TIER_NEAR, 400, 1000, 0, 0.05f, 200000                                              \
    }

static const mw_setting settings[] = {
    PARTICLES("spread", MW_TIER_NEAR, 90, 115, 5),
    PARTICLES("tag", MW_TIER_BEST, 95, 105, 10),
    PARTICLES("world", MW_TIER_BEST, 95, 105, 10),
    BATTLE("3m", 0.02f),
    BATTLE("8m", 0.02f),
    BATTLE("5m_vs_6m", 0),
    BATTLE("2s3z", 0.02f),
    ANT("2ant"),
    ANT("4ant"),
};

_Static_assert(sizeof settings / sizeof *settings == MW_SETTINGS, "tables over settings have a row for each");

/* Spread: published with the task. Tag and world: measured with the frozen prey of this repository, random
 * play and the expert behaviour over 10,000 episodes each; another prey needs another row. */
static const mw_scale scales[] = {
    {"spread", 159.8, 516.8},
    {"tag", -4.8, 183.0},
    {"world", -7.1, 74.8},
};

const mw_setting *mw_setting_at(int index) {
    return index >= 0 && index < MW_SETTINGS ? &settings[index] : NULL;
}

void mw_setting_name(const mw_setting *setting, char *out, size_t size) {
    snprintf(out, size, "%s-%s", setting->task, setting->quality);
}

mw_status mw_setting_find(const mw_setting **setting, const char *name, mw_error *error) {
    MW_NEED(setting);
    MW_NEED(name);
    char known[64];
    for (int i = 0; i < MW_SETTINGS; i++) {
        mw_setting_name(&settings[i], known, sizeof known);
        if (strcmp(known, name)) continue;
        *setting = &settings[i];
        return MW_OK;
    }
    return mw_fail(error, MW_ERR_ARGUMENT,
                   "no setting '%.64s'; settings are task-quality: expert, medium, medium-replay, random for "
                   "spread, tag, world; good, medium, poor for the others",
                   name);
}

const mw_scale *mw_scale_of(const char *task) {
    for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++)
        if (!strcmp(scales[i].task, task)) return &scales[i];
    return NULL;
}

double mw_score(const char *task, double episode_return) {
    const mw_scale *scale = mw_scale_of(task);
    return scale ? 100 * (episode_return - scale->random) / (scale->expert - scale->random) : episode_return;
}

mw_status mw_behavior_path(char *out, size_t size, const char *given, const mw_setting *setting,
                           mw_error *error) {
    MW_NEED(out);
    MW_NEED(setting);
    char name[96];
    mw_setting_name(setting, name, sizeof name);
    strncat(name, ".safetensors", sizeof name - strlen(name) - 1);
    if (!given) return mw_data_find(out, size, "behaviors", name, error);
    snprintf(out, size, "%s/%s", given, name);
    return mw_file_exists(out) ? MW_OK : mw_fail(error, MW_ERR_IO, "no behaviour file %s in %s", name, given);
}
