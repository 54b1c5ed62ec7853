/* The columns of a dataset and the rules for what is in them; see columns.h. */
#include "data/columns.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const mw_column_names[MW_COLUMN_COUNT] = {
    [MW_COLUMN_OBS] = "obs",
    [MW_COLUMN_ACTIONS] = "actions",
    [MW_COLUMN_REWARDS] = "rewards",
    [MW_COLUMN_LEGALS] = "legals",
    [MW_COLUMN_LENGTHS] = "path_lengths",
    [MW_COLUMN_LAST_OBS] = "last_obs",
    [MW_COLUMN_OUTCOMES] = "outcomes",
};

bool mw_column_layout(const mw_dataset_spec *spec, bool last_known, mw_column column, mw_dtype *type,
                      int *row_dims, size_t row_shape[2]) {
    size_t n = (size_t)spec->agents, o = (size_t)spec->obs_size, d = (size_t)spec->act_size;
    *type = MW_F32;
    *row_dims = 2;
    row_shape[0] = n;
    row_shape[1] = o;
    switch (column) {
    case MW_COLUMN_OBS:
        return true;
    case MW_COLUMN_LAST_OBS:
        return last_known;
    case MW_COLUMN_ACTIONS:
        if (spec->discrete) {
            *type = MW_I32;
            *row_dims = 1;
        }
        row_shape[1] = d;
        return true;
    case MW_COLUMN_REWARDS:
        *row_dims = 1;
        return true;
    case MW_COLUMN_LEGALS:
        *type = MW_BOOL;
        row_shape[1] = d;
        return spec->discrete;
    case MW_COLUMN_LENGTHS:
        *type = MW_I64;
        *row_dims = 0;
        return true;
    case MW_COLUMN_OUTCOMES:
        *type = MW_U8;
        *row_dims = 0;
        return true;
    case MW_COLUMN_COUNT:
        break;
    }
    return false;
}

/* ---- the spec ------------------------------------------------------------------------------------------ */

/* Names go into messages, tables and file names. */
bool mw_dataset_name_allowed(const char *name) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:+-";
    const size_t length = name ? strspn(name, letters) : 0;
    return length > 0 && length < 64 && !name[length];
}

static mw_status check_name(const char *where, const char *field, const char *name, bool required,
                            mw_error *error) {
    if (!name || !*name)
        return required ? mw_fail(error, MW_ERR_ARGUMENT, "%s: %s is missing", where, field) : MW_OK;
    if (!mw_dataset_name_allowed(name))
        return mw_fail(error, MW_ERR_ARGUMENT, "%s: %s must have at most 63 letters, digits or any of _.:+-",
                       where, field);
    return MW_OK;
}

static mw_status check_size(const char *where, const char *field, long value, long high, mw_error *error) {
    if (value >= 1 && value <= high) return MW_OK;
    return mw_fail(error, MW_ERR_ARGUMENT, "%s: %s is %ld, expected 1 to %ld", where, field, value, high);
}

mw_status mw_dataset_spec_check(const mw_dataset_spec *spec, const char *where, mw_error *error) {
    MW_TRY(check_name(where, "task", spec->task, true, error));
    MW_TRY(check_name(where, "rules", spec->rules, true, error));
    MW_TRY(check_name(where, "quality", spec->quality, false, error));
    MW_TRY(check_size(where, "agents", spec->agents, 1024, error));
    MW_TRY(check_size(where, "obs_size", spec->obs_size, 1 << 20, error));
    MW_TRY(check_size(where, "act_size", spec->act_size, 1 << 20, error));
    MW_TRY(check_size(where, "episode_limit", spec->episode_limit, 1000000000, error));
    if (spec->source_count < 0 || (spec->source_count > 0 && !spec->sources))
        return mw_fail(error, MW_ERR_ARGUMENT, "%s: %d behaviours without a list", where, spec->source_count);
    return MW_OK;
}

/* ---- the values of an episode -------------------------------------------------------------------------- */

typedef struct checker {
    const mw_dataset_spec *spec;
    const mw_episode *episode;
    long number;
    const char *where;
    mw_error *error;
} checker;

/* Index of the first value that is not finite, or count. The common case is one branchless sweep. */
static size_t first_bad(const float *x, size_t count) {
    int bad = 0;
    for (size_t i = 0; i < count; i++) bad |= !(fabsf(x[i]) <= FLT_MAX);
    if (!bad) return count;
    for (size_t i = 0; i < count; i++)
        if (!isfinite(x[i])) return i;
    return count;
}

/* steps rows of [n][width] numbers. */
static mw_status check_finite(const checker *c, mw_column column, const float *x, long steps, int width,
                              const char *unit) {
    const char *name = mw_column_names[column];
    if (!x)
        return mw_fail(c->error, MW_ERR_ARGUMENT, "%s%s.npy: episode %ld has none", c->where, name,
                       c->number);
    size_t row = (size_t)c->spec->agents * (size_t)width, count = (size_t)steps * row,
           at = first_bad(x, count);
    if (at == count) return MW_OK;
    size_t step = at / row, agent = at % row / (size_t)width, feature = at % (size_t)width;
    if (column == MW_COLUMN_LAST_OBS)
        return mw_fail(c->error, MW_ERR_NUMERIC, "%s%s.npy: episode %ld, agent %zu, %s %zu is %g", c->where,
                       name, c->number, agent, unit, feature, (double)x[at]);
    if (column == MW_COLUMN_REWARDS)
        return mw_fail(c->error, MW_ERR_NUMERIC, "%s%s.npy: episode %ld, step %zu, agent %zu is %g", c->where,
                       name, c->number, step, agent, (double)x[at]);
    return mw_fail(c->error, MW_ERR_NUMERIC, "%s%s.npy: episode %ld, step %zu, agent %zu, %s %zu is %g",
                   c->where, name, c->number, step, agent, unit, feature, (double)x[at]);
}

static mw_status check_discrete(const checker *c) {
    const mw_episode *e = c->episode;
    int n = c->spec->agents, d = c->spec->act_size;
    if (!e->index || !e->legal)
        return mw_fail(c->error, MW_ERR_ARGUMENT, "%s%s.npy: episode %ld has none", c->where,
                       e->index ? "legals" : "actions", c->number);
    for (long row = 0; row < e->length * n; row++) {
        const uint8_t *legal = e->legal + (size_t)row * (size_t)d;
        int32_t action = e->index[row];
        for (int a = 0; a < d; a++)
            if (legal[a] > 1)
                return mw_fail(c->error, MW_ERR_FORMAT,
                               "%slegals.npy: episode %ld, step %ld, agent %ld, action %d is %d, expected 0 "
                               "or 1",
                               c->where, c->number, row / n, row % n, a, legal[a]);
        if (action < 0 || action >= d)
            return mw_fail(c->error, MW_ERR_FORMAT,
                           "%sactions.npy: episode %ld, step %ld, agent %ld: action %d, expected 0 to %d",
                           c->where, c->number, row / n, row % n, action, d - 1);
        if (!legal[action])
            return mw_fail(c->error, MW_ERR_FORMAT,
                           "%sactions.npy: episode %ld, step %ld, agent %ld: action %d is not legal there",
                           c->where, c->number, row / n, row % n, action);
    }
    return MW_OK;
}

mw_status mw_episode_length_check(const mw_dataset_spec *spec, long length, long number, const char *where,
                                  mw_error *error) {
    if (length >= 1 && length <= spec->episode_limit) return MW_OK;
    return mw_fail(error, MW_ERR_FORMAT, "%spath_lengths.npy: episode %ld has %ld steps, expected 1 to %d",
                   where, number, length, spec->episode_limit);
}

mw_status mw_episode_check(const mw_dataset_spec *spec, const mw_episode *episode, long number,
                           const char *where, mw_error *error) {
    checker c = {spec, episode, number, where, error};
    MW_TRY(mw_episode_length_check(spec, episode->length, number, where, error));
    if (episode->outcome != MW_ENDED_BY_LIMIT && episode->outcome != MW_ENDED_BY_WORLD &&
        episode->outcome != MW_ENDED_BY_VICTORY)
        return mw_fail(error, MW_ERR_FORMAT, "%soutcomes.npy: episode %ld has %d, expected 0, 1 or 3", where,
                       number, episode->outcome);
    MW_TRY(check_finite(&c, MW_COLUMN_OBS, episode->obs, episode->length, spec->obs_size, "feature"));
    if (episode->last_obs)
        MW_TRY(check_finite(&c, MW_COLUMN_LAST_OBS, episode->last_obs, 1, spec->obs_size, "feature"));
    MW_TRY(check_finite(&c, MW_COLUMN_REWARDS, episode->rewards, episode->length, 1, "reward"));
    if (spec->discrete) return check_discrete(&c);
    return check_finite(&c, MW_COLUMN_ACTIONS, episode->real, episode->length, spec->act_size, "value");
}

double mw_episode_return(const mw_episode *episode, int agents) {
    double sum = 0;
    for (long i = 0; i < episode->length * agents; i++) sum += (double)episode->rewards[i];
    return sum / agents;
}

char *mw_path_join(const char *folder, const char *name) {
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') length--;
    char *path = malloc(length + strlen(name) + 2);
    if (path) sprintf(path, "%.*s/%s", (int)length, folder, name);
    return path;
}
