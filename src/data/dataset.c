/* Reading a dataset: columns are mapped, every claim of dataset.json is held against them; see dataset.h. */
#include "data/dataset.h"

#include "core/json.h"
#include "core/numbers.h"
#include "data/columns.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct mw_dataset_files {
    json_t *root; /* owns the strings */
    mw_data_source *sources;
    mw_npy columns[MW_COLUMN_COUNT];
    char *paths[MW_COLUMN_COUNT]; /* NULL: the data has no such column */
    uint64_t checksums[MW_COLUMN_COUNT];
};

/* ---- dataset.json -------------------------------------------------------------------------------------- */

static mw_status get_int(const json_t *root, const char *key, const char *path, long low, long high, int *out,
                         mw_error *error) {
    long long value;
    MW_TRY(mw_json_get_integer(root, key, path, low, high, &value, error));
    *out = (int)value;
    return MW_OK;
}

static mw_status get_checksum(const json_t *object, const char *path, const char *what, uint64_t *out,
                              mw_error *error) {
    const char *text;
    MW_TRY(mw_json_get_string(object, "checksum", path, &text, error));
    const char *digits = text + 8;
    if (strlen(text) != 24 || strncmp(text, "fnv1a64:", 8) != 0 || strspn(digits, "0123456789abcdef") != 16)
        return mw_fail(error, MW_ERR_FORMAT,
                       "%s: the checksum of %s is not 'fnv1a64:' and 16 hexadecimal digits", path, what);
    *out = strtoull(digits, NULL, 16);
    return MW_OK;
}

static mw_status read_sources(mw_dataset *d, const json_t *root, const char *path, mw_error *error) {
    const json_t *list = json_object_get(root, "behaviors");
    if (!json_is_array(list))
        return mw_fail(error, MW_ERR_FORMAT, "%s: 'behaviors' is %s, expected array", path,
                       mw_json_kind(list));
    size_t count = json_array_size(list);
    d->files->sources = calloc(count + 1, sizeof *d->files->sources);
    if (!d->files->sources) return mw_fail(error, MW_ERR_MEMORY, "%s: out of memory", path);
    for (size_t i = 0; i < count; i++) {
        mw_data_source *source = &d->files->sources[i];
        const json_t *entry = json_array_get(list, i);
        long long episodes;
        MW_TRY(mw_json_get_string(entry, "name", path, &source->name, error));
        MW_TRY(get_checksum(entry, path, source->name, &source->checksum, error));
        MW_TRY(mw_json_get_integer(entry, "episodes", path, 0, INT64_MAX, &episodes, error));
        source->episodes = (long)episodes;
    }
    d->spec.sources = d->files->sources;
    d->spec.source_count = (int)count;
    return MW_OK;
}

static mw_status read_returns(mw_return_stats *r, const json_t *root, const char *path, mw_error *error) {
    const json_t *object = json_object_get(root, "returns"), *q = json_object_get(object, "quartiles");
    const struct {
        const json_t *value;
        double *out;
    } members[] = {
        {json_object_get(object, "mean"), &r->mean},       {json_object_get(object, "std"), &r->std},
        {json_object_get(object, "minimum"), &r->minimum}, {json_object_get(object, "maximum"), &r->maximum},
        {json_object_get(object, "won"), &r->won},         {json_array_get(q, 0), &r->quartile[0]},
        {json_array_get(q, 1), &r->quartile[1]},           {json_array_get(q, 2), &r->quartile[2]}};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (!json_is_number(members[i].value))
            return mw_fail(error, MW_ERR_FORMAT,
                           "%s: 'returns' needs numbers mean, std, minimum, maximum, won and three "
                           "quartiles",
                           path);
        *members[i].out = json_number_value(members[i].value);
    }
    return MW_OK;
}

static mw_status read_head(const json_t *root, const char *path, mw_error *error) {
    const char *format;
    long long version;
    MW_TRY(mw_json_get_string(root, "format", path, &format, error));
    if (strcmp(format, "mawam-dataset") != 0)
        return mw_fail(error, MW_ERR_FORMAT, "%s: format is not 'mawam-dataset'", path);
    MW_TRY(mw_json_get_integer(root, "version", path, 1, 1000000, &version, error));
    if (version != MW_DATASET_VERSION)
        return mw_fail(error, MW_ERR_UNSUPPORTED, "%s: format version %lld, this program knows %d", path,
                       version, MW_DATASET_VERSION);
    return MW_OK;
}

static mw_status read_seed(const json_t *root, const char *path, uint64_t *seed, mw_error *error) {
    const char *text;
    char *end;
    MW_TRY(mw_json_get_string(root, "seed", path, &text, error));
    errno = 0;
    *seed = strtoull(text, &end, 10);
    if (end == text || *end || errno || *text == '-')
        return mw_fail(error, MW_ERR_FORMAT, "%s: seed is not a whole number", path);
    return MW_OK;
}

static mw_status read_spec(mw_dataset *d, const json_t *root, const char *path, mw_error *error) {
    long long value;
    mw_dataset_spec *s = &d->spec;
    MW_TRY(read_head(root, path, error));
    MW_TRY(mw_json_get_string(root, "mawam", path, &d->made_by, error));
    MW_TRY(mw_json_get_string(root, "task", path, &s->task, error));
    MW_TRY(mw_json_get_string(root, "rules", path, &s->rules, error));
    MW_TRY(mw_json_get_string(root, "quality", path, &s->quality, error));
    MW_TRY(mw_json_get_string(root, "command", path, &s->command, error));
    MW_TRY(mw_json_get_string(root, "note", path, &s->note, error));
    MW_TRY(get_int(root, "agents", path, 1, INT32_MAX, &s->agents, error));
    MW_TRY(get_int(root, "obs_size", path, 1, INT32_MAX, &s->obs_size, error));
    MW_TRY(get_int(root, "act_size", path, 1, INT32_MAX, &s->act_size, error));
    MW_TRY(get_int(root, "episode_limit", path, 1, INT32_MAX, &s->episode_limit, error));
    const json_t *discrete = json_object_get(root, "discrete");
    if (!json_is_boolean(discrete))
        return mw_fail(error, MW_ERR_FORMAT, "%s: 'discrete' is %s, expected true or false", path,
                       mw_json_kind(discrete));
    s->discrete = json_is_true(discrete);
    MW_TRY(read_seed(root, path, &s->seed, error));
    MW_TRY(mw_json_get_integer(root, "steps", path, 1, INT64_MAX / 16, &value, error));
    d->steps = (long)value;
    MW_TRY(mw_json_get_integer(root, "episodes", path, 1, INT64_MAX / 16, &value, error));
    d->episodes = (long)value;
    MW_TRY(read_sources(d, root, path, error));
    MW_TRY(read_returns(&d->returns, root, path, error));
    if (mw_dataset_spec_check(s, path, error) == MW_OK) return MW_OK;
    if (error) error->status = MW_ERR_FORMAT; /* the file is at fault, not the caller */
    return MW_ERR_FORMAT;
}

/* ---- columns ------------------------------------------------------------------------------------------- */

static mw_status open_column(mw_dataset *d, mw_column c, const json_t *listed, mw_error *error) {
    struct mw_dataset_files *files = d->files;
    mw_dtype type;
    int dims;
    size_t row[2];
    char name[32];
    const json_t *entry = json_object_get(listed, mw_column_names[c]);
    if (!mw_column_layout(&d->spec, entry != NULL, c, &type, &dims, row)) return MW_OK;
    snprintf(name, sizeof name, "%s.npy", mw_column_names[c]);
    if (!(files->paths[c] = mw_path_join(d->folder, name)))
        return mw_fail(error, MW_ERR_MEMORY, "out of memory for a file's name");
    if (!json_is_object(entry))
        return mw_fail(error, MW_ERR_FORMAT, "%s/" MW_DATASET_JSON ": 'columns' does not list '%s'",
                       d->folder, mw_column_names[c]);
    MW_TRY(get_checksum(entry, d->folder, name, &files->checksums[c], error));
    mw_map map; /* lengths say where everything else is: they must not change */
    MW_TRY((c == MW_COLUMN_LENGTHS ? mw_map_copy : mw_map_open)(&map, files->paths[c], error));
    MW_TRY(mw_npy_read(&files->columns[c], map, files->paths[c], error));
    long shape[3] = {c < MW_COLUMN_FIRST_PER_EPISODE ? d->steps : d->episodes, (long)row[0], (long)row[1]};
    return mw_npy_expect(&files->columns[c], files->paths[c], type, dims + 1, shape, error);
}

static mw_status index_episodes(mw_dataset *d, mw_error *error) {
    const char *path = d->files->paths[MW_COLUMN_LENGTHS];
    d->offsets = malloc(((size_t)d->episodes + 1) * sizeof *d->offsets);
    if (!d->offsets) return mw_fail(error, MW_ERR_MEMORY, "out of memory for %ld episodes", d->episodes);
    d->offsets[0] = 0;
    for (long e = 0; e < d->episodes; e++) {
        if (d->lengths[e] < 1 || d->lengths[e] > d->spec.episode_limit)
            return mw_fail(error, MW_ERR_FORMAT, "%s: episode %ld has %lld steps, expected 1 to %d", path, e,
                           (long long)d->lengths[e], d->spec.episode_limit);
        d->offsets[e + 1] = d->offsets[e] + d->lengths[e];
    }
    if (d->offsets[d->episodes] != d->steps)
        return mw_fail(error, MW_ERR_FORMAT, "%s: the lengths add up to %lld steps, but obs.npy has %ld",
                       path, (long long)d->offsets[d->episodes], d->steps);
    return MW_OK;
}

static mw_status open_all(mw_dataset *d, mw_error *error) {
    char *path = mw_path_join(d->folder, MW_DATASET_JSON);
    if (!path) return mw_fail(error, MW_ERR_MEMORY, "out of memory for a file's name");
    mw_status status = MW_OK;
    if (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
        status =
            mw_fail(error, MW_ERR_IO,
                    "there is no '%s': a dataset is a folder with this file, as mawam data make and mawam "
                    "data import write it",
                    path);
    if (status == MW_OK) status = mw_json_read(&d->files->root, path, error);
    if (status == MW_OK) status = read_spec(d, d->files->root, path, error);
    free(path);
    MW_TRY(status);
    const json_t *listed = json_object_get(d->files->root, "columns");
    for (mw_column c = 0; c < MW_COLUMN_COUNT; c++) MW_TRY(open_column(d, c, listed, error));
    const mw_npy *columns = d->files->columns;
    d->obs = columns[MW_COLUMN_OBS].data;
    if (d->spec.discrete)
        d->index = columns[MW_COLUMN_ACTIONS].data;
    else
        d->real = columns[MW_COLUMN_ACTIONS].data;
    d->rewards = columns[MW_COLUMN_REWARDS].data;
    d->legal = columns[MW_COLUMN_LEGALS].data;
    d->lengths = columns[MW_COLUMN_LENGTHS].data;
    d->last_obs = columns[MW_COLUMN_LAST_OBS].data;
    d->outcomes = columns[MW_COLUMN_OUTCOMES].data;
    return index_episodes(d, error);
}

mw_status mw_dataset_open(mw_dataset *d, const char *folder, mw_error *error) {
    *d = (mw_dataset){.folder = strdup(folder), .files = calloc(1, sizeof *d->files)};
    mw_status status = d->folder && d->files ? open_all(d, error)
                                             : mw_fail(error, MW_ERR_MEMORY, "out of memory for a dataset");
    if (status != MW_OK) mw_dataset_close(d);
    return status;
}

void mw_dataset_close(mw_dataset *d) {
    for (int c = 0; d->files && c < MW_COLUMN_COUNT; c++) {
        mw_npy_close(&d->files->columns[c]);
        free(d->files->paths[c]);
    }
    if (d->files) {
        json_decref(d->files->root);
        free(d->files->sources);
    }
    free(d->files);
    free(d->offsets);
    free(d->folder);
    *d = (mw_dataset){0};
}

/* ---- checks -------------------------------------------------------------------------------------------- */

/* The bytes of rows [begin, end) of a column. */
static const unsigned char *rows_of(const mw_npy *column, int64_t begin, int64_t end, size_t *bytes) {
    size_t row = column->count / column->shape[0] * mw_dtype_size(column->type);
    *bytes = (size_t)(end - begin) * row;
    return (const unsigned char *)column->data + (size_t)begin * row;
}

/* What dataset.json tells of returns and victories against the columns. Digits that the file may have lost do
 * not count. */
static mw_status check_returns(const mw_dataset *d, double *returns, mw_error *error) {
    long wins = 0;
    for (long e = 0; e < d->episodes; e++) wins += d->outcomes[e] == MW_ENDED_BY_VICTORY;
    const mw_return_stats told = d->returns, found = mw_return_stats_of(returns, d->episodes);
    const double size = 1e-6 * (1 + fabs(found.minimum) + fabs(found.maximum));
    bool quartiles = true;
    for (int q = 0; q < 3; q++) quartiles = quartiles && fabs(told.quartile[q] - found.quartile[q]) < size;
    if (quartiles && fabs(told.mean - found.mean) < size && fabs(told.std - found.std) < size &&
        fabs(told.minimum - found.minimum) < size && fabs(told.maximum - found.maximum) < size &&
        fabs(told.won - (double)wins / (double)d->episodes) < 1e-6)
        return MW_OK;
    return mw_fail(
        error, MW_ERR_FORMAT,
        "%s/" MW_DATASET_JSON
        " tells of returns of %g +- %g (quartiles %g, %g, %g), %g won; the columns have %g +- %g (%g, %g, "
        "%g), %g",
        d->folder, told.mean, told.std, told.quartile[0], told.quartile[1], told.quartile[2], told.won,
        found.mean, found.std, found.quartile[0], found.quartile[1], found.quartile[2],
        (double)wins / (double)d->episodes);
}

/* Who acted in how many episodes. Several may act in one, but nobody in more than there are, and if all are
 * known, every episode has somebody. */
static mw_status check_sources(const mw_dataset *d, mw_error *error) {
    long left = d->episodes; /* that nobody is known to have acted in */
    bool known = d->spec.source_count > 0;
    for (int i = 0; i < d->spec.source_count; i++) {
        const mw_data_source *source = &d->spec.sources[i];
        if (source->episodes > d->episodes)
            return mw_fail(error, MW_ERR_FORMAT,
                           "%s/" MW_DATASET_JSON " tells of %ld episodes of '%.64s', but there are %ld",
                           d->folder, source->episodes, source->name, d->episodes);
        known = known && source->episodes > 0;
        left -= source->episodes < left ? source->episodes : left;
    }
    if (!known || left == 0) return MW_OK;
    return mw_fail(error, MW_ERR_FORMAT,
                   "%s/" MW_DATASET_JSON " tells of behaviours in %ld episodes, but there are %ld", d->folder,
                   d->episodes - left, d->episodes);
}

#define RELEASE_STEPS 8192 /* how far a pass goes before it lets go of what is behind */

mw_status mw_dataset_check(const mw_dataset *d, mw_error *error) {
    MW_NEED_AS(d, "dataset");
    uint64_t hashes[MW_COLUMN_COUNT];
    char *where = mw_path_join(d->folder, "");
    double *returns = malloc((size_t)d->episodes * sizeof *returns);
    if (!where || !returns) {
        free(where);
        free(returns);
        return mw_fail(error, MW_ERR_MEMORY, "out of memory for a check of %ld episodes", d->episodes);
    }
    for (int c = 0; c < MW_COLUMN_COUNT; c++) hashes[c] = MW_HASH_START;
    mw_status status = MW_OK;
    int64_t released = 0;
    for (long e = 0; e < d->episodes && status == MW_OK; e++) {
        mw_episode episode = mw_dataset_episode(d, e);
        status = mw_episode_check(&d->spec, &episode, e, where, error);
        returns[e] = mw_episode_return(&episode, d->spec.agents);
        for (int c = 0; c < MW_COLUMN_COUNT; c++) {
            if (!d->files->paths[c]) continue;
            bool steps = c < MW_COLUMN_FIRST_PER_EPISODE;
            size_t bytes;
            const unsigned char *rows = rows_of(&d->files->columns[c], steps ? d->offsets[e] : e,
                                                steps ? d->offsets[e + 1] : e + 1, &bytes);
            hashes[c] = mw_hash(hashes[c], rows, bytes);
        }
        if (d->offsets[e + 1] - released >= RELEASE_STEPS) {
            mw_dataset_release(d, released, d->offsets[e + 1]);
            released = d->offsets[e + 1];
        }
    }
    free(where);
    const mw_status intact = mw_dataset_intact(d, error); /* what was found in zeros is not in the file */
    if (intact != MW_OK) status = intact;
    for (int c = 0; status == MW_OK && c < MW_COLUMN_COUNT; c++)
        if (d->files->paths[c] && hashes[c] != d->files->checksums[c])
            status =
                mw_fail(error, MW_ERR_FORMAT,
                        "%s: checksum %016llx, but " MW_DATASET_JSON " says %016llx: the file was changed",
                        d->files->paths[c], (unsigned long long)hashes[c],
                        (unsigned long long)d->files->checksums[c]);
    if (status == MW_OK) status = check_sources(d, error);
    if (status == MW_OK) status = check_returns(d, returns, error);
    free(returns);
    return status;
}

mw_status mw_dataset_intact(const mw_dataset *d, mw_error *error) {
    for (int c = 0; c < MW_COLUMN_COUNT; c++)
        MW_TRY(mw_map_intact(&d->files->columns[c].map, d->files->paths[c], error));
    return MW_OK;
}

bool mw_dataset_imported(const mw_dataset *d) {
    size_t length = strlen(d->spec.rules);
    return length >= 7 && !strcmp(d->spec.rules + length - 7, "-import");
}

mw_status mw_dataset_expect(const mw_dataset *d, const mw_env_info *info, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED_AS(d, "dataset");
    MW_NEED(info);
    const mw_dataset_spec *s = &d->spec;
    if (strcmp(s->task, info->task) != 0)
        return mw_fail(error, MW_ERR_MISMATCH, "%s/" MW_DATASET_JSON ": data of task '%s', expected '%s'",
                       d->folder, s->task, info->task);
    if (s->agents != info->agents || s->obs_size != info->obs_size || s->act_size != info->act_size ||
        s->discrete != info->discrete)
        return mw_fail(error, MW_ERR_MISMATCH,
                       "%s/" MW_DATASET_JSON ": %d agents, %d features, %d %s actions, but task '%s' has %d, "
                       "%d, %d %s",
                       d->folder, s->agents, s->obs_size, s->act_size, s->discrete ? "discrete" : "real",
                       info->task, info->agents, info->obs_size, info->act_size,
                       info->discrete ? "discrete" : "real");
    if (!mw_dataset_imported(d) && strcmp(s->rules, info->rules) != 0)
        return mw_fail(error, MW_ERR_MISMATCH,
                       "%s/" MW_DATASET_JSON
                       ": made under rules '%s' of task '%s', but this program has '%s'",
                       d->folder, s->rules, info->task, info->rules);
    return MW_OK;
}

/* ---- access -------------------------------------------------------------------------------------------- */

mw_episode mw_dataset_episode(const mw_dataset *d, long episode) {
    size_t n = (size_t)d->spec.agents, o = (size_t)d->spec.obs_size, a = (size_t)d->spec.act_size,
           at = (size_t)d->offsets[episode];
    return (mw_episode){
        .length = (long)d->lengths[episode],
        .obs = d->obs + at * n * o,
        .last_obs = d->last_obs ? d->last_obs + (size_t)episode * n * o : NULL,
        .real = d->real ? d->real + at * n * a : NULL,
        .index = d->index ? d->index + at * n : NULL,
        .legal = d->legal ? d->legal + at * n * a : NULL,
        .rewards = d->rewards + at * n,
        .outcome = d->outcomes[episode],
    };
}

void mw_dataset_actions(const mw_dataset *d, int64_t step, long steps, float *actions) {
    const size_t each = (size_t)d->spec.act_size, count = (size_t)steps * (size_t)d->spec.agents,
                 first = (size_t)step * (size_t)d->spec.agents;
    if (d->real) {
        memcpy(actions, d->real + first * each, count * each * sizeof *actions);
        return;
    }
    memset(actions, 0, count * each * sizeof *actions);
    for (size_t i = 0; i < count; i++) actions[i * each + mw_dataset_index(d, first + i)] = 1;
}

const float *mw_dataset_obs(const mw_dataset *d, long episode, long t) {
    size_t row = (size_t)d->spec.agents * (size_t)d->spec.obs_size;
    if (t < d->lengths[episode]) return d->obs + (size_t)(d->offsets[episode] + t) * row;
    return d->last_obs ? d->last_obs + (size_t)episode * row : NULL;
}

long mw_dataset_episode_of(const mw_dataset *d, int64_t step) {
    long low = 0, high = d->episodes; /* offsets[low] <= step < offsets[high] */
    while (high - low > 1) {
        long middle = low + (high - low) / 2;
        if (d->offsets[middle] <= step)
            low = middle;
        else
            high = middle;
    }
    return low;
}

double mw_dataset_bytes(const mw_dataset *d) {
    double bytes = 0;
    for (int c = 0; c < MW_COLUMN_COUNT; c++) bytes += (double)d->files->columns[c].map.size;
    return bytes;
}

double mw_dataset_return(const mw_dataset *d, long episode) {
    mw_episode view = mw_dataset_episode(d, episode);
    return mw_episode_return(&view, d->spec.agents);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

mw_return_stats mw_return_stats_of(double *returns, long count) {
    mw_return_stats r = {0};
    qsort(returns, (size_t)count, sizeof *returns, ascending);
    for (long i = 0; i < count; i++) r.mean += returns[i] / (double)count;
    for (long i = 0; i < count; i++) r.std += (returns[i] - r.mean) * (returns[i] - r.mean) / (double)count;
    r.std = sqrt(r.std);
    r.minimum = returns[0];
    r.maximum = returns[count - 1];
    for (int q = 0; q < 3; q++) {
        double at = (double)(q + 1) / 4 * (double)(count - 1);
        long low = (long)at;
        double high = returns[low + 1 < count ? low + 1 : low];
        r.quartile[q] = returns[low] + (at - (double)low) * (high - returns[low]);
    }
    return r;
}

void mw_dataset_expect_random(const mw_dataset *d) {
    double total = 0, memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    for (int c = 0; c < MW_COLUMN_FIRST_PER_EPISODE; c++) total += (double)d->files->columns[c].map.size;
    if (total < memory / 2) return;
    for (int c = 0; c < MW_COLUMN_FIRST_PER_EPISODE; c++) {
        const mw_map *map = &d->files->columns[c].map;
        if (map->guard) madvise((void *)map->data, map->size, MADV_RANDOM);
    }
}

/* Lets go of rows [begin, end) of a column. A page shared with the rows before is behind the reader too; one
 * shared with those after is not. */
static void release_rows(const mw_npy *column, int64_t begin, int64_t end) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    size_t bytes;
    if (!column->map.guard) return; /* it could not be read again */
    uintptr_t first = (uintptr_t)rows_of(column, begin, end, &bytes), last = (first + bytes) / page * page;
    first = first / page * page;
    if (last > first) madvise((void *)first, last - first, MADV_DONTNEED);
}

void mw_dataset_release(const mw_dataset *d, int64_t begin, int64_t end) {
    for (int c = 0; c < MW_COLUMN_FIRST_PER_EPISODE; c++)
        if (d->files->paths[c]) release_rows(&d->files->columns[c], begin, end);
    if (d->last_obs && end > begin)
        release_rows(&d->files->columns[MW_COLUMN_LAST_OBS], mw_dataset_episode_of(d, begin),
                     mw_dataset_episode_of(d, end - 1));
}
