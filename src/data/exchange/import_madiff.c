/* The folders of MA-WAM and MADiff: the columns of our own layout, but in whatever number type NumPy had, and
 * without a description; see import.h. */
#include "core/json.h"
#include "core/log.h"
#include "data/exchange/import_common.h"

#include <stdlib.h>
#include <string.h>

enum { OBS, ACTIONS, REWARDS, LENGTHS, LEGALS, DISCOUNTS, LAST_OBS, OUTCOMES, FILES };
static const char *const names[FILES] = {"obs.npy",    "actions.npy",   "rewards.npy",  "path_lengths.npy",
                                         "legals.npy", "discounts.npy", "last_obs.npy", "outcomes.npy"};
#define REQUIRED LEGALS /* the files before are */
static const char *const contents[REQUIRED] = {
    "observations [steps][agents][features], all episodes one after the other",
    "actions [steps][agents][values], or of discrete ones indices [steps][agents]", "rewards [steps][agents]",
    "the number of steps of each episode, as whole numbers [episodes]"};
static const char *const extents[FILES][3] = {
    [OBS] = {"steps", "agents", "features"},
    [ACTIONS] = {"steps", "agents", "values"},
    [REWARDS] = {"steps", "agents"},
    [LEGALS] = {"steps", "agents", "actions"},
    [DISCOUNTS] = {"steps", "agents"},
    [LAST_OBS] = {"episodes", "agents", "features"},
    [OUTCOMES] = {"episodes"},
};

typedef struct source {
    const mw_import_request *request;
    mw_import_report *report;
    mw_npy files[FILES];
    char *paths[FILES];
    bool have[FILES];
    int64_t *lengths;
    mw_dataset_spec spec;
    mw_import_origin origin;
    mw_import_room room;
} source;

static mw_status open_files(source *s, mw_error *error) {
    for (int i = 0; i < FILES; i++) {
        s->paths[i] = mw_path_join(s->request->source, names[i]);
        if (!s->paths[i]) return mw_fail(error, MW_ERR_MEMORY, "out of memory for a file's name");
        const bool there = mw_file_exists(s->paths[i]);
        if (i >= REQUIRED && !there) continue;
        if (!there)
            return mw_fail(error, MW_ERR_IO, "cannot open '%s', which must hold %s", s->paths[i],
                           contents[i]);
        MW_TRY(mw_npy_open(&s->files[i], s->paths[i], error));
        s->have[i] = true;
    }
    return MW_OK;
}

static void copy_text(char out[64], const json_t *root, const char *key) {
    const char *text = json_string_value(json_object_get(root, key));
    if (text && strlen(text) < 64) strcpy(out, text);
}

/* A folder of ours has the same columns and a description beside them, which counts if it is of these
 * columns: data that were changed are of nobody's rules. */
static mw_status read_origin(source *s, mw_error *error) {
    char *path = mw_path_join(s->request->source, MW_DATASET_JSON);
    json_t *root = NULL;
    mw_dataset own;
    if (!path) return mw_fail(error, MW_ERR_MEMORY, "out of memory for a file's name");
    const bool described = mw_file_exists(path);
    mw_error changed;
    mw_status status = described ? mw_dataset_open(&own, s->request->source, &changed) : MW_OK;
    if (described && status == MW_OK) {
        status = mw_dataset_check(&own, &changed);
        mw_dataset_close(&own);
    }
    if (status == MW_ERR_MEMORY) { /* tells nothing of the data */
        free(path);
        return mw_fail(error, status, "%s", changed.message);
    }
    if (status != MW_OK) {
        mw_log(MW_LOG_WARNING, "%s", changed.message);
        s->report->changed = true;
        free(path);
        return MW_OK;
    }
    if (described) status = mw_json_read(&root, path, error);
    copy_text(s->origin.task, root, "task");
    copy_text(s->origin.rules, root, "rules");
    copy_text(s->origin.quality, root, "quality");
    json_decref(root);
    free(path);
    return status;
}

static mw_status expect_exactly(const source *s, int file, int seen, int dims, const long *shape,
                                mw_error *error) {
    return mw_shape_expect_of(s->paths[file], seen, s->files[file].shape, dims, shape, extents[file], error);
}

/* The shape without trailing extents of 1 beyond `dims` (rewards are stored as [steps][n] or [steps][n][1]).
 */
static mw_status expect_shape(const source *s, int file, int dims, const long *shape, mw_error *error) {
    const mw_npy *npy = &s->files[file];
    int seen = npy->dims;
    while (seen > dims && npy->shape[seen - 1] == 1) seen--;
    return expect_exactly(s, file, seen, dims, shape, error);
}

static bool integral(mw_dtype type) {
    return type >= MW_I8; /* the integers, bytes and booleans follow the floating types */
}

/* How many discrete actions there are, if nothing says so: one more than the largest. */
static mw_status count_actions(const source *s, int *count, mw_error *error) {
    const mw_npy *npy = &s->files[ACTIONS];
    long largest = 0;
    for (size_t i = 0; i < npy->count; i++) {
        double value;
        long action;
        mw_dtype_to_doubles(npy->type, (const char *)npy->data + i * mw_dtype_size(npy->type), 1, &value);
        MW_TRY(mw_import_integer(value, 0, MW_IMPORT_MOST_ACTIONS - 1, s->paths[ACTIONS], (long)i, &action,
                                 error));
        if (action > largest) largest = action;
    }
    *count = (int)largest + 1;
    return MW_OK;
}

static mw_status find_actions(source *s, long steps, long n, bool *discrete, int *size, mw_error *error) {
    const mw_npy *actions = &s->files[ACTIONS];
    const mw_env_info *info = s->request->options.info;
    *discrete = info ? info->discrete : s->have[LEGALS] || integral(actions->type);
    if (!*discrete) {
        MW_TRY(expect_exactly(s, ACTIONS, actions->dims, 3, (long[]){steps, n, -1}, error));
        return mw_import_width(actions->shape[2], s->paths[ACTIONS], size, error);
    }
    MW_TRY(expect_shape(s, ACTIONS, 2, (long[]){steps, n}, error));
    if (s->have[LEGALS]) {
        MW_TRY(expect_exactly(s, LEGALS, s->files[LEGALS].dims, 3, (long[]){steps, n, -1}, error));
        return mw_import_width(s->files[LEGALS].shape[2], s->paths[LEGALS], size, error);
    }
    s->report->all_legal = true;
    *size = s->request->options.act_size ? s->request->options.act_size : info ? info->act_size : 0;
    return *size ? MW_OK : count_actions(s, size, error);
}

/* path_lengths: any integers that add up to the steps. */
static mw_status read_lengths(source *s, long steps, int *longest, mw_error *error) {
    const mw_npy *npy = &s->files[LENGTHS];
    long total = 0;
    *longest = 0;
    if (npy->dims != 1 || npy->count < 1)
        return mw_fail(error, MW_ERR_FORMAT, "%s: expected one length per episode and at least one",
                       s->paths[LENGTHS]);
    s->lengths = malloc(npy->count * sizeof *s->lengths);
    if (!s->lengths) return mw_fail(error, MW_ERR_MEMORY, "out of memory for %zu lengths", npy->count);
    for (size_t e = 0; e < npy->count; e++) {
        double value;
        long length;
        mw_dtype_to_doubles(npy->type, (const char *)npy->data + e * mw_dtype_size(npy->type), 1, &value);
        MW_TRY(mw_import_integer(value, 1, 1e9, s->paths[LENGTHS], (long)e, &length, error));
        s->lengths[e] = length;
        total += length;
        if (length > *longest) *longest = (int)length;
    }
    if (total != steps)
        return mw_fail(error, MW_ERR_FORMAT, "%s: the lengths add up to %ld steps, but obs.npy has %ld",
                       s->paths[LENGTHS], total, steps);
    return MW_OK;
}

static mw_status read_sizes(source *s, mw_error *error) {
    const mw_npy *obs = &s->files[OBS];
    const mw_import_options *r = &s->request->options;
    MW_TRY(expect_exactly(s, OBS, obs->dims, 3, (long[]){-1, r->agents ? r->agents : -1, -1}, error));
    long steps = (long)obs->shape[0], n = (long)obs->shape[1], o = (long)obs->shape[2];
    if (n > MW_IMPORT_AGENTS || o > 1 << 20)
        return mw_fail(error, MW_ERR_FORMAT, "%s: %ld agents with %ld features are too many", s->paths[OBS],
                       n, o);
    bool discrete;
    int act_size, longest, limit;
    MW_TRY(read_lengths(s, steps, &longest, error));
    MW_TRY(mw_import_limit(s->request, longest, &limit, error));
    MW_TRY(find_actions(s, steps, n, &discrete, &act_size, error));
    MW_TRY(expect_shape(s, REWARDS, 2, (long[]){steps, n}, error));
    long episodes = (long)s->files[LENGTHS].count;
    if (s->have[DISCOUNTS]) MW_TRY(expect_shape(s, DISCOUNTS, 2, (long[]){steps, n}, error));
    if (s->have[LAST_OBS]) MW_TRY(expect_shape(s, LAST_OBS, 3, (long[]){episodes, n, o}, error));
    if (s->have[OUTCOMES]) MW_TRY(expect_shape(s, OUTCOMES, 1, (long[]){episodes}, error));
    return mw_import_spec(&s->spec, s->request, &s->origin, "madiff-import", (int)n, (int)o, act_size,
                          discrete, limit, error);
}

/* Rows [begin, begin + count) of a file as floats. */
static void floats(const mw_npy *npy, size_t begin, size_t count, float *out) {
    size_t row = npy->count / npy->shape[0];
    mw_dtype_to_floats(npy->type, (const char *)npy->data + begin * row * mw_dtype_size(npy->type),
                       count * row, out);
}

/* Discrete actions and legality of the steps [begin, begin + length). */
static mw_status take_discrete(source *s, size_t begin, size_t length, mw_error *error) {
    size_t n = (size_t)s->spec.agents, d = (size_t)s->spec.act_size;
    const mw_npy *actions = &s->files[ACTIONS], *legals = &s->files[LEGALS];
    for (size_t i = 0; i < length * n; i++) {
        double value;
        long action;
        size_t at = begin * n + i;
        mw_dtype_to_doubles(actions->type, (const char *)actions->data + at * mw_dtype_size(actions->type), 1,
                            &value);
        MW_TRY(mw_import_integer(value, 0, (double)d - 1, s->paths[ACTIONS], (long)(at / n), &action, error));
        s->room.index[i] = (int32_t)action;
    }
    memset(s->room.legal, 1, length * n * d);
    for (size_t i = 0; s->have[LEGALS] && i < length * n * d; i++) {
        float value;
        size_t at = begin * n * d + i;
        mw_dtype_to_floats(legals->type, (const char *)legals->data + at * mw_dtype_size(legals->type), 1,
                           &value);
        long legal;
        MW_TRY(mw_import_integer((double)value, 0, 1, s->paths[LEGALS], (long)(at / (n * d)), &legal, error));
        s->room.legal[i] = (uint8_t)legal;
    }
    return MW_OK;
}

/* How the episode ended: as recorded; or by its last discount; or, if nothing is known, by the world exactly
 * when it stopped short of the limit. */
static mw_status outcome_of(const source *s, size_t episode, size_t begin, uint8_t *outcome,
                            mw_error *error) {
    const size_t n = (size_t)s->spec.agents, length = (size_t)s->lengths[episode];
    float value;
    *outcome = (long)length < s->spec.episode_limit ? MW_ENDED_BY_WORLD : MW_ENDED_BY_LIMIT;
    if (s->have[OUTCOMES]) {
        long told;
        floats(&s->files[OUTCOMES], episode, 1, &value);
        MW_TRY(mw_import_integer((double)value, 0, 255, s->paths[OUTCOMES], (long)episode, &told, error));
        *outcome = (uint8_t)told;
    } else if (s->have[DISCOUNTS]) {
        const mw_npy *npy = &s->files[DISCOUNTS];
        for (size_t i = 0; i < length * n; i++) {
            const size_t at = (begin * n + i) * mw_dtype_size(npy->type);
            const bool last = i >= (length - 1) * n;
            mw_dtype_to_floats(npy->type, (const char *)npy->data + at, 1, &value);
            if (i == (length - 1) * n) *outcome = value == 0 ? MW_ENDED_BY_WORLD : MW_ENDED_BY_LIMIT;
            if (last ? (value == 0) != (*outcome == MW_ENDED_BY_WORLD) : value == 0)
                return mw_fail(error, MW_ERR_FORMAT, "%s: row %zu is 0 %s", s->paths[DISCOUNTS],
                               begin + i / n, last ? "for some agents only" : "within an episode");
        }
    }
    return MW_OK;
}

static mw_status copy_episodes(source *s, mw_dataset_writer *writer, mw_error *error) {
    size_t begin = 0, episodes = s->files[LENGTHS].count,
           row = (size_t)s->spec.agents * (size_t)s->spec.obs_size;
    for (size_t e = 0; e < episodes; e++) {
        size_t length = (size_t)s->lengths[e];
        MW_TRY(mw_import_room_for(&s->room, &s->spec, (long)length, error));
        floats(&s->files[OBS], begin, length, s->room.obs);
        if (s->have[LAST_OBS]) floats(&s->files[LAST_OBS], e, 1, s->room.obs + length * row);
        floats(&s->files[REWARDS], begin, length, s->room.rewards);
        if (s->spec.discrete)
            MW_TRY(take_discrete(s, begin, length, error));
        else
            floats(&s->files[ACTIONS], begin, length, s->room.real);
        uint8_t outcome;
        MW_TRY(outcome_of(s, e, begin, &outcome, error));
        mw_episode episode =
            mw_import_room_episode(&s->room, &s->spec, (long)length, s->have[LAST_OBS], outcome);
        const mw_status status = mw_import_add(s->request, writer, &episode, error);
        if (status != MW_OK) return mw_fail_within(error, status, "%s", s->request->source);
        begin += length;
    }
    s->report->episodes = (long)episodes;
    s->report->steps = (long)begin;
    return MW_OK;
}

static mw_status import(source *s, mw_error *error) {
    mw_dataset_writer *writer;
    MW_TRY(open_files(s, error));
    MW_TRY(read_origin(s, error));
    MW_TRY(read_sizes(s, error));
    MW_TRY(
        mw_dataset_writer_open(&writer, s->request->folder, &s->spec, s->request->options.overwrite, error));
    mw_status status = copy_episodes(s, writer, error);
    for (int i = 0; i < FILES && status == MW_OK; i++)
        status = mw_map_intact(&s->files[i].map, s->paths[i], error);
    if (status == MW_OK) return mw_dataset_writer_commit(writer, error);
    mw_dataset_writer_abandon(writer);
    return status;
}

mw_status mw_import_madiff(const mw_import_request *request, mw_import_report *report, mw_error *error) {
    source s = {.request = request, .report = report};
    *report = (mw_import_report){0};
    mw_status status = import(&s, error);
    for (int i = 0; i < FILES; i++) {
        mw_npy_close(&s.files[i]);
        free(s.paths[i]);
    }
    mw_import_room_free(&s.room);
    free(s.lengths);
    return status;
}
