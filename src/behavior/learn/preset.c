/* The learning presets; see preset.h. */
#include "behavior/learn/preset.h"

#include "core/numbers.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MPE                                                                                                  \
    .hidden = 64, .critic_hidden = 64, .relu = 1, .ids = 1, .envs = 256, .horizon = 25, .epochs = 5,         \
    .batches = 16, .shards = 4, .rate = 2e-3f, .critic_rate = 2e-3f, .gamma = 0.9f, .lambda = 0.9f,          \
    .clip = 0.2f, .entropy = 2e-3f, .kl = 0.03f, .log_std = -0.5f, .snapshots = 100
#define BATTLE(epochs_, rate_, entropy_)                                                                     \
    .hidden = 64, .critic_hidden = 64, .relu = 1, .ids = 0, .envs = 128, .horizon = 64, .epochs = epochs_,   \
    .batches = 8, .shards = 4, .rate = rate_, .critic_rate = 1e-3f, .gamma = 0.99f, .lambda = 0.95f,         \
    .clip = 0.2f, .entropy = entropy_, .kl = 0.03f, .reward_scale = 0.25f, .snapshots = 100
#define ANT                                                                                                  \
    .hidden = 128, .critic_hidden = 128, .relu = 0, .ids = 0, .envs = 64, .horizon = 64, .epochs = 8,        \
    .batches = 16, .shards = 4, .rate = 1e-4f, .critic_rate = 1e-3f, .gamma = 0.99f, .lambda = 0.95f,        \
    .clip = 0.2f, .entropy = 0, .kl = 0.02f, .adapt = 1, .imitate_rate = 1e-3f, .log_std = -1.8f,            \
    .reward_scale = 0.1f, .imitate = 2.5e5f, .snapshots = 100
#define PREY                                                                                                 \
    .hidden = 32, .critic_hidden = 64, .relu = 1, .ids = 0, .envs = 256, .horizon = 25, .epochs = 5,         \
    .batches = 16, .shards = 4, .rate = 1e-3f, .critic_rate = 2e-3f, .gamma = 0.95f, .lambda = 0.9f,         \
    .clip = 0.2f, .entropy = 2e-3f, .kl = 0.03f, .log_std = -0.5f, .snapshots = 20

static const mw_learn_preset presets[] = {
    {"spread", "", MPE, .reward_scale = 0.05f, .steps = 5e6f},
    {"tag", "", MPE, .reward_scale = 0.05f, .steps = 6e6f},
    {"world", "", MPE, .reward_scale = 0.1f, .steps = 6e6f},
    {"3m", "", BATTLE(5, 1e-3f, 0.01f), .steps = 1e6f},
    {"8m", "", BATTLE(5, 1e-3f, 0.01f), .steps = 3e6f},
    {"5m_vs_6m", "", BATTLE(8, 2e-3f, 0.05f), .steps = 3e6f},
    {"2s3z", "", BATTLE(5, 1.5e-3f, 0.03f), .steps = 1.2e6f},
    {"2ant", "gait", ANT, .steps = 3e6f},
    {"4ant", "gait", ANT, .steps = 3e6f},
    {"tag-prey", "", PREY, .reward_scale = 0.05f, .steps = 2e6f},
    {"world-prey", "", PREY, .reward_scale = 0.1f, .steps = 2e6f},
};

enum { PRESETS = sizeof presets / sizeof presets[0] };

const mw_learn_preset *mw_learn_preset_find(const char *task) {
    for (int i = 0; i < PRESETS; i++)
        if (!strcmp(presets[i].task, task)) return &presets[i];
    return NULL;
}

/* ---- fields by name ---- */

typedef struct {
    const char *name;
    size_t at;
    bool whole;
    double low, high;
} field;

#define INT(name, low, high)                                                                                 \
    { #name, offsetof(mw_learn_preset, name), true, low, high }
#define REAL(name, low, high)                                                                                \
    { #name, offsetof(mw_learn_preset, name), false, low, high }

static const field fields[] = {
    INT(hidden, 1, 1024),       INT(critic_hidden, 1, 1024), INT(relu, 0, 1),        INT(ids, 0, 1),
    INT(envs, 1, 65536),        INT(horizon, 1, 4096),       INT(epochs, 1, 1000),   INT(batches, 1, 1000),
    REAL(rate, 0, 1),           REAL(critic_rate, 0, 1),     REAL(gamma, 0, 1),      REAL(lambda, 0, 1),
    REAL(clip, 0, 10),          REAL(entropy, 0, 10),        REAL(kl, 0, 10),        REAL(log_std, -10, 2),
    REAL(reward_scale, 0, 1e6), REAL(steps, 1, 1e12),        REAL(imitate, 0, 1e12), INT(adapt, 0, 1),
    REAL(imitate_rate, 0, 1),   INT(snapshots, 0, 100000),   INT(shards, 1, 64),
};

enum { FIELDS = sizeof fields / sizeof fields[0] };

static double get(const mw_learn_preset *preset, const field *f) {
    const char *at = (const char *)preset + f->at;
    return f->whole ? (double)*(const int *)at : (double)*(const float *)at;
}

static mw_status put(mw_learn_preset *preset, const field *f, double value, const char *what,
                     mw_error *error) {
    if (!(value >= f->low && value <= f->high) || (f->whole && value != floor(value)))
        return mw_fail(error, MW_ERR_ARGUMENT, "%s: %s must be %s from %g to %g, not %g", what, f->name,
                       f->whole ? "a whole number" : "a number", f->low, f->high, value);
    char *at = (char *)preset + f->at;
    if (f->whole)
        *(int *)at = (int)value;
    else
        *(float *)at = (float)value;
    return MW_OK;
}

mw_status mw_learn_preset_set(mw_learn_preset *preset, const char *assignment, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED(preset);
    MW_NEED(assignment);
    const char *equals = strchr(assignment, '=');
    const size_t length = equals ? (size_t)(equals - assignment) : 0;
    for (int i = 0; i < FIELDS && equals; i++) {
        if (strlen(fields[i].name) != length || strncmp(fields[i].name, assignment, length)) continue;
        char *end;
        double value = strtod(equals + 1, &end);
        if (end == equals + 1 || *end)
            return mw_fail(error, MW_ERR_ARGUMENT, "%s: %s must be a number, not '%.32s'", preset->task,
                           fields[i].name, equals + 1);
        return put(preset, &fields[i], value, preset->task, error);
    }
    char known[400] = "";
    for (int i = 0; i < FIELDS; i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "", fields[i].name);
    return mw_fail(error, MW_ERR_ARGUMENT, "'%.64s' does not set a field of the preset; fields: %s",
                   assignment, known);
}

json_t *mw_learn_preset_json(const mw_learn_preset *preset) {
    json_t *object = json_object();
    json_object_set_new(object, "task", json_string(preset->task));
    json_object_set_new(object, "teacher", json_string(preset->teacher));
    for (int i = 0; i < FIELDS; i++) {
        double value = get(preset, &fields[i]);
        json_object_set_new(object, fields[i].name,
                            fields[i].whole ? json_integer((json_int_t)value) : json_real(value));
    }
    return object;
}

mw_status mw_learn_preset_parse(mw_learn_preset *preset, const json_t *object, const char *what,
                                mw_error *error) {
    const char *task, *teacher;
    memset(preset, 0, sizeof *preset);
    MW_TRY(mw_json_get_string(object, "task", what, &task, error));
    MW_TRY(mw_json_get_string(object, "teacher", what, &teacher, error));
    snprintf(preset->task, sizeof preset->task, "%s", task);
    snprintf(preset->teacher, sizeof preset->teacher, "%s", teacher);
    for (int i = 0; i < FIELDS; i++) {
        const json_t *value = json_object_get(object, fields[i].name);
        if (!json_is_number(value))
            return mw_fail(error, MW_ERR_FORMAT, "%s: %s must be a number, found %s", what, fields[i].name,
                           mw_json_kind(value));
        MW_TRY(put(preset, &fields[i], json_number_value(value), what, error));
    }
    return mw_learn_preset_check(preset, error);
}

mw_status mw_learn_preset_check(const mw_learn_preset *preset, mw_error *error) {
    mw_learn_preset copy = *preset;
    for (int i = 0; i < FIELDS; i++)
        MW_TRY(put(&copy, &fields[i], get(preset, &fields[i]), preset->task, error));
    const long collected = (long)preset->envs * preset->horizon;
    if (collected > 1 << 22)
        return mw_fail(error, MW_ERR_ARGUMENT, "%s: envs x horizon is %ld, at most %d", preset->task,
                       collected, 1 << 22);
    if (preset->batches > collected)
        return mw_fail(error, MW_ERR_ARGUMENT, "%s: %d minibatches of %ld steps", preset->task,
                       preset->batches, collected);
    return MW_OK;
}
