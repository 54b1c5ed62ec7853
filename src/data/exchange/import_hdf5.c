/* Reading HDF5 episodes in Minari's layout; see import.h. The library's own reports go nowhere: what fails
 * is said in our words, with the object's path. Because damaged files can crash it, and small ones can unpack
 * to any size, it reads in a child process under limits that follow from the file's size. */
#include "core/child.h"
#include "data/exchange/hdf5_common.h"
#include "data/exchange/import_common.h"

#ifndef MAWAM_HAVE_HDF5

mw_status mw_import_hdf5(const mw_import_request *request, mw_import_report *report, mw_error *error) {
    (void)request, (void)report;
    return mw_fail(error, MW_ERR_UNSUPPORTED, MW_HDF5_MISSING);
}

bool mw_hdf5_available(void) {
    return false;
}

#else

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool mw_hdf5_available(void) {
    return true;
}

/* What a file may unpack to: compression and the padding of narrow agents gain no more. Reading then takes an
 * array in double precision, an episode in single, what the library needs, and a second for every megabyte.
 */
#define UNPACKED_FACTOR  100
#define UNPACKED_BASE    ((size_t)16 << 20)
#define LIBRARY_MEMORY   ((size_t)128 << 20)
#define BYTES_PER_SECOND 1e6

/* ---- reading: one array at a time ---------------------------------------------------------------------- */

/* An array or a group of arrays, one per agent. */
typedef struct field {
    const char *name;
    bool present, grouped;
} field;

typedef struct source {
    const mw_import_request *request;
    mw_import_report *report;
    hid_t file;
    char *path;
    size_t limit, unpacked;    /* bytes: of all episodes together, and so far */
    mw_names episodes, agents; /* agents: members of grouped fields; empty if observations are one array */
    mw_dataset_spec spec;
    mw_import_origin origin;
    bool legals;
    mw_import_room room;
    double *numbers; /* the array read last, and its shape */
    size_t capacity;
    int rank;
    hsize_t dims[4];
    bool integers;
} source;

/* "file: episode_3/actions/agent_0": where in the file something is. */
static const char *place(const source *s, char *buffer, size_t size, const char *episode, const char *name,
                         const char *member) {
    snprintf(buffer, size, "%.200s: %.60s/%.60s%s%.60s", s->path, episode, name, member ? "/" : "",
             member ? member : "");
    return buffer;
}

/* Whether an array's values are those of other files, which may be any that the user can read. */
static bool stored_elsewhere(hid_t array) {
    const hid_t properties = H5Dget_create_plist(array);
    const bool elsewhere =
        properties < 0 || H5Pget_external_count(properties) != 0 || H5Pget_layout(properties) == H5D_VIRTUAL;
    if (properties >= 0) H5Pclose(properties);
    return elsewhere;
}

static mw_status expect_room(const source *s, const char *where, size_t bytes, mw_error *error) {
    if (bytes <= s->limit) return MW_OK;
    return mw_fail(error, MW_ERR_FORMAT,
                   "%s: unpacks to more than %zu bytes, the limit for a file of its size", where, s->limit);
}

static mw_status open_array(source *s, const char *episode, const char *name, const char *member,
                            hid_t *array, mw_error *error) {
    char inside[256], where[420];
    snprintf(inside, sizeof inside, "%.60s/%.60s%s%.60s", episode, name, member ? "/" : "",
             member ? member : "");
    place(s, where, sizeof where, episode, name, member);
    *array = H5Dopen2(s->file, inside, H5P_DEFAULT);
    if (*array < 0) return mw_fail(error, MW_ERR_FORMAT, "%s: there is no such array", where);
    hid_t space = H5Dget_space(*array), type = H5Dget_type(*array);
    H5T_class_t kind = H5Tget_class(type);
    int rank = H5Sget_simple_extent_ndims(space);
    if (rank >= 0 && rank <= 4) H5Sget_simple_extent_dims(space, s->dims, NULL);
    H5Tclose(type);
    H5Sclose(space);
    s->rank = rank;
    s->integers = kind != H5T_FLOAT;
    const bool numbers = kind == H5T_FLOAT || kind == H5T_INTEGER || kind == H5T_ENUM;
    const bool inside_file = !stored_elsewhere(*array);
    if (rank >= 1 && rank <= 4 && numbers && inside_file) return MW_OK;
    H5Dclose(*array);
    return mw_fail(error, MW_ERR_UNSUPPORTED,
                   "%s: expected numbers in 1 to 4 dimensions, stored in this file", where);
}

/* Shape only. */
static mw_status look(source *s, const char *episode, const char *name, const char *member, mw_error *error) {
    hid_t array;
    MW_TRY(open_array(s, episode, name, member, &array, error));
    H5Dclose(array);
    return MW_OK;
}

static mw_status load(source *s, const char *episode, const char *name, const char *member, mw_error *error) {
    hid_t array;
    char where[420];
    place(s, where, sizeof where, episode, name, member);
    MW_TRY(open_array(s, episode, name, member, &array, error));
    size_t count = 0, bytes = 0, shape[4] = {0};
    for (int i = 0; i < s->rank; i++) shape[i] = (size_t)s->dims[i];
    if (!mw_shape_size(MW_F32, s->rank, shape, &count, &bytes)) bytes = SIZE_MAX;
    mw_status status = expect_room(s, where, bytes, error);
    if (status == MW_OK && count > s->capacity) {
        double *grown = realloc(s->numbers, count * sizeof *grown);
        if (grown) {
            s->numbers = grown;
            s->capacity = count;
        } else {
            status = mw_fail(error, MW_ERR_MEMORY, "out of memory for %zu numbers", count);
        }
    }
    if (status == MW_OK && count > 0 &&
        H5Dread(array, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, s->numbers) < 0)
        status = mw_fail(error, MW_ERR_FORMAT, "%s: cannot be read", where);
    H5Dclose(array);
    return status;
}

static field find_field(const source *s, const char *episode, const char *name) {
    char inside[160];
    H5O_info_t info;
    field f = {.name = name};
    snprintf(inside, sizeof inside, "%.60s/%.60s", episode, name);
    /* Each part of a path has to be asked for alone: a missing first part is an error to the library. */
    const char *slash = strchr(name, '/');
    if (slash) {
        char first[160];
        snprintf(first, sizeof first, "%.60s/%.*s", episode, (int)(slash - name), name);
        if (H5Lexists(s->file, first, H5P_DEFAULT) <= 0) return f;
    }
    f.present = H5Lexists(s->file, inside, H5P_DEFAULT) > 0 &&
                H5Oget_info_by_name(s->file, inside, &info, H5P_DEFAULT) >= 0;
    f.grouped = f.present && info.type == H5O_TYPE_GROUP;
    return f;
}

/* The array of agent i in a group; NULL where the field is the array itself. (A group, while observations are
 * not one, has no known members; opening it as an array then says so.) */
static const char *member_of(const source *s, field f, int i) {
    return f.grouped && s->agents.count > 0 ? s->agents.name[i] : NULL;
}

/* Reads a field of `rows` rows and `width` values per agent (0: one value, without a dimension of its own)
 * and hands every value to `put`. An agent's observations may be narrower and leave the rest alone; one array
 * without a dimension for agents is that of the only one, or the rewards of the team, which all share. */
typedef mw_status put_fn(source *s, long row, int agent, int value, double x, mw_error *error);

static mw_status read_field(source *s, const char *episode, field f, long rows, int width, put_fn *put,
                            mw_error *error) {
    int n = s->spec.agents;
    char where[420];
    for (int part = 0; part < (f.grouped ? n : 1); part++) {
        const char *member = member_of(s, f, part);
        MW_TRY(load(s, episode, f.name, member, error));
        place(s, where, sizeof where, episode, f.name, member);
        int rank = s->rank, agents = f.grouped ? 1 : n;
        long wide = width ? width : 1;
        bool shared = !f.grouped && rank == (width ? 2 : 1) && (n == 1 || !strcmp(f.name, "rewards"));
        int want = (f.grouped || shared ? 1 : 2) + (width ? 1 : 0);
        while (rank > want && s->dims[rank - 1] == 1) rank--;
        long seen = width && rank == want ? (long)s->dims[rank - 1] : 1;
        bool fits = seen == wide || (f.grouped && seen < wide && !strcmp(f.name, "observations"));
        if (rank != want || (long)s->dims[0] < rows || !fits ||
            (!f.grouped && !shared && (long)s->dims[1] != n))
            return mw_fail(
                error, MW_ERR_FORMAT,
                "%s: shape [%ld, %ld, ...] of %d dimensions does not fit %ld steps of %d agents with "
                "%ld values",
                where, (long)s->dims[0], s->rank > 1 ? (long)s->dims[1] : 0, s->rank, rows, n, wide);
        for (long r = 0; r < rows; r++)
            for (int i = 0; i < agents; i++)
                for (int v = 0; v < (int)seen; v++) {
                    size_t at = shared ? (size_t)(r * seen + v) : (size_t)((r * agents + i) * seen + v);
                    MW_TRY(put(s, r, f.grouped ? part : i, v, s->numbers[at], error));
                }
    }
    return MW_OK;
}

/* ---- reading: sizes ------------------------------------------------------------------------------------ */

static mw_status list_members(source *s, const char *group, const char *prefix, mw_names *names,
                              mw_error *error) {
    hid_t id = H5Gopen2(s->file, group, H5P_DEFAULT);
    H5G_info_t info;
    if (id < 0 || H5Gget_info(id, &info) < 0) {
        if (id >= 0) H5Gclose(id);
        return mw_fail(error, MW_ERR_FORMAT, "%s: %s is not a group", s->path, group);
    }
    mw_status status = MW_OK;
    for (hsize_t i = 0; i < info.nlinks && status == MW_OK; i++) {
        char name[64];
        ssize_t length =
            H5Lget_name_by_idx(id, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT);
        if (length <= 0 || length >= (ssize_t)sizeof name || strncmp(name, prefix, strlen(prefix)) != 0)
            continue;
        status = mw_names_add(names, name, error);
    }
    H5Gclose(id);
    mw_names_sort(names);
    return status;
}

/* Steps of an episode: the rows of its actions. */
static mw_status count_steps(source *s, const char *episode, long *steps, mw_error *error) {
    field actions = find_field(s, episode, "actions");
    MW_TRY(look(s, episode, "actions", member_of(s, actions, 0), error));
    *steps = (long)s->dims[0];
    return MW_OK;
}

static mw_status put_largest(source *s, long row, int agent, int value, double x, mw_error *error) {
    long action;
    (void)agent, (void)value;
    MW_TRY(mw_import_integer(x, 0, MW_IMPORT_MOST_ACTIONS - 1, "actions", row, &action, error));
    if (action >= s->spec.act_size) s->spec.act_size = (int)action + 1;
    return MW_OK;
}

/* The number of discrete actions: from legality, the request, the task, or the largest there is. */
static mw_status count_actions(source *s, mw_error *error) {
    const mw_import_options *r = &s->request->options;
    field legals = find_field(s, s->episodes.name[0], "infos/legal_actions");
    s->legals = legals.present;
    s->report->all_legal = !legals.present;
    if (legals.present) {
        MW_TRY(look(s, s->episodes.name[0], legals.name, member_of(s, legals, 0), error));
        MW_TRY(mw_import_width(s->dims[s->rank - 1], "infos/legal_actions", &s->spec.act_size, error));
    } else {
        s->spec.act_size = r->act_size ? r->act_size : r->info ? r->info->act_size : 0;
    }
    for (int e = 0; s->spec.act_size == 0 || (!legals.present && !r->act_size && !r->info); e++) {
        if (e == s->episodes.count) break;
        long steps;
        MW_TRY(count_steps(s, s->episodes.name[e], &steps, error));
        MW_TRY(read_field(s, s->episodes.name[e], find_field(s, s->episodes.name[e], "actions"), steps, 0,
                          put_largest, error));
    }
    return MW_OK;
}

/* Agents and features from the first episode's observations: the widest member counts. */
static mw_status read_obs_size(source *s, mw_error *error) {
    const char *first = s->episodes.name[0];
    field obs = find_field(s, first, "observations");
    hsize_t widest = 0, narrowest = ~(hsize_t)0;
    if (!obs.grouped) {
        MW_TRY(look(s, first, "observations", NULL, error));
        s->spec.agents = s->rank == 3 ? (s->dims[1] < 1024 ? (int)s->dims[1] : 1025) : 1;
        widest = s->dims[s->rank - 1];
    } else {
        char group[160];
        snprintf(group, sizeof group, "%.60s/observations", first);
        MW_TRY(list_members(s, group, "", &s->agents, error));
        s->spec.agents = s->agents.count;
        for (int i = 0; i < s->agents.count; i++) {
            MW_TRY(look(s, first, "observations", s->agents.name[i], error));
            hsize_t width = s->dims[s->rank - 1];
            widest = width > widest ? width : widest;
            narrowest = width < narrowest ? width : narrowest;
        }
        s->report->padded = narrowest < widest;
    }
    s->spec.obs_size = widest < 1 << 20 ? (int)widest : (1 << 20) + 1;
    if (s->spec.agents < 1 || s->spec.agents > 1024 || s->spec.obs_size < 1 || s->spec.obs_size > 1 << 20)
        return mw_fail(error, MW_ERR_FORMAT, "%s: %s/observations has %d agents with %d features", s->path,
                       first, s->spec.agents, s->spec.obs_size);
    if (s->request->options.agents && s->request->options.agents != s->spec.agents)
        return mw_fail(error, MW_ERR_MISMATCH, "%s: %s/observations has %d agents, expected %d", s->path,
                       first, s->spec.agents, s->request->options.agents);
    return MW_OK;
}

static mw_status read_sizes(source *s, mw_error *error) {
    const mw_import_options *r = &s->request->options;
    MW_TRY(list_members(s, "/", "episode_", &s->episodes, error));
    if (s->episodes.count == 0)
        return mw_fail(error, MW_ERR_FORMAT, "%s: no group is named episode_<number>", s->path);
    MW_TRY(read_obs_size(s, error));
    long longest = 0, steps = 0;
    for (int e = 0; e < s->episodes.count; e++) {
        MW_TRY(count_steps(s, s->episodes.name[e], &steps, error));
        longest = steps > longest ? steps : longest;
    }
    field actions = find_field(s, s->episodes.name[0], "actions");
    MW_TRY(look(s, s->episodes.name[0], "actions", member_of(s, actions, 0), error));
    bool discrete = r->info ? r->info->discrete : s->integers;
    if (discrete)
        MW_TRY(count_actions(s, error));
    else
        MW_TRY(mw_import_width(s->dims[s->rank - 1], "actions", &s->spec.act_size, error));
    long limit = r->episode_limit ? r->episode_limit : r->info ? r->info->episode_limit : longest;
    if (longest > limit) limit = longest;
    mw_dataset_spec found = s->spec;
    return mw_import_spec(&s->spec, s->request, &s->origin, "hdf5-import", found.agents, found.obs_size,
                          found.act_size, discrete, limit < 1000000000 ? (int)limit : 1000000000, error);
}

/* A short text among the file's own attributes; "" where there is none. */
static void read_text(const source *s, const char *name, char out[64]) {
    char *text = NULL;
    if (H5Aexists(s->file, name) <= 0) return;
    hid_t attribute = H5Aopen(s->file, name, H5P_DEFAULT);
    hid_t space = attribute >= 0 ? H5Aget_space(attribute) : -1;
    hid_t found = attribute >= 0 ? H5Aget_type(attribute) : -1, type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    if (space >= 0 && found >= 0 && H5Sget_simple_extent_npoints(space) == 1 &&
        H5Tis_variable_str(found) > 0 && H5Aread(attribute, type, &text) >= 0 && text && strlen(text) < 64)
        strcpy(out, text);
    if (text) H5free_memory(text);
    if (found >= 0) H5Tclose(found);
    if (space >= 0) H5Sclose(space);
    if (attribute >= 0) H5Aclose(attribute);
    H5Tclose(type);
}

/* ---- reading: episodes --------------------------------------------------------------------------------- */

static mw_status put_obs(source *s, long row, int agent, int value, double x, mw_error *error) {
    (void)error;
    s->room.obs[(row * s->spec.agents + agent) * s->spec.obs_size + value] = (float)x;
    return MW_OK;
}

static mw_status put_real(source *s, long row, int agent, int value, double x, mw_error *error) {
    (void)error;
    s->room.real[(row * s->spec.agents + agent) * s->spec.act_size + value] = (float)x;
    return MW_OK;
}

static mw_status put_index(source *s, long row, int agent, int value, double x, mw_error *error) {
    long action;
    (void)value;
    MW_TRY(mw_import_integer(x, 0, s->spec.act_size - 1, "actions", row, &action, error));
    s->room.index[row * s->spec.agents + agent] = (int32_t)action;
    return MW_OK;
}

static mw_status put_legal(source *s, long row, int agent, int value, double x, mw_error *error) {
    (void)error;
    s->room.legal[(row * s->spec.agents + agent) * s->spec.act_size + value] = x != 0;
    return MW_OK;
}

static mw_status put_reward(source *s, long row, int agent, int value, double x, mw_error *error) {
    (void)value, (void)error;
    s->room.rewards[row * s->spec.agents + agent] = (float)x;
    return MW_OK;
}

/* How it ended: our own mark; or whether the last step is flagged as a termination; or, without flags, by the
 * world exactly when it stopped short of the limit. */
static mw_status read_outcome(source *s, const char *episode, long length, uint8_t *outcome,
                              mw_error *error) {
    field flags = find_field(s, episode, "terminations");
    *outcome = length < s->spec.episode_limit ? MW_ENDED_BY_WORLD : MW_ENDED_BY_LIMIT;
    if (H5Aexists_by_name(s->file, episode, "outcome", H5P_DEFAULT) > 0) {
        hid_t attribute = H5Aopen_by_name(s->file, episode, "outcome", H5P_DEFAULT, H5P_DEFAULT);
        hid_t space = attribute >= 0 ? H5Aget_space(attribute) : -1;
        int value = -1;
        if (space >= 0 && H5Sget_simple_extent_npoints(space) == 1)
            H5Aread(attribute, H5T_NATIVE_INT, &value);
        if (space >= 0) H5Sclose(space);
        if (attribute >= 0) H5Aclose(attribute);
        *outcome = value >= 0 && value < 255 ? (uint8_t)value : 255;
    } else if (flags.present) {
        MW_TRY(load(s, episode, flags.name, member_of(s, flags, 0), error));
        size_t row = s->rank > 1 ? (size_t)s->dims[1] : 1;
        if ((long)s->dims[0] < length || s->rank > 2 || row == 0)
            return mw_fail(error, MW_ERR_FORMAT, "%s: %s/terminations has fewer than %ld rows", s->path,
                           episode, length);
        *outcome = s->numbers[(size_t)(length - 1) * row] != 0 ? MW_ENDED_BY_WORLD : MW_ENDED_BY_LIMIT;
    }
    return MW_OK;
}

/* Whether there is one observation more than steps. */
static mw_status look_for_last(source *s, const char *episode, field obs, long length, bool *known,
                               mw_error *error) {
    MW_TRY(look(s, episode, "observations", member_of(s, obs, 0), error));
    long rows = (long)s->dims[0];
    if (rows != length && rows != length + 1)
        return mw_fail(error, MW_ERR_FORMAT, "%s: %s/observations has %ld rows, expected %ld or %ld", s->path,
                       episode, rows, length, length + 1);
    *known = rows == length + 1;
    return MW_OK;
}

/* Counts what an episode becomes in the dataset. */
static mw_status charge_episode(source *s, const char *episode, long length, mw_error *error) {
    const mw_dataset_spec *spec = &s->spec;
    size_t count = 0, bytes = 0, value = spec->discrete ? 1 : sizeof(float),
           row = ((size_t)spec->obs_size + 2) * sizeof(float) + (size_t)spec->act_size * value;
    const size_t shape[] = {(size_t)length, (size_t)spec->agents, row};
    if (!mw_shape_size(MW_U8, 3, shape, &count, &bytes) ||
        __builtin_add_overflow(s->unpacked, bytes, &s->unpacked))
        s->unpacked = SIZE_MAX;
    return expect_room(s, episode, s->unpacked, error);
}

static mw_status read_episode(source *s, const char *episode, mw_dataset_writer *writer, mw_error *error) {
    long length;
    uint8_t outcome;
    bool last = false;
    const mw_dataset_spec *spec = &s->spec;
    MW_TRY(count_steps(s, episode, &length, error));
    if (length < 1) return mw_fail(error, MW_ERR_FORMAT, "%s: %s/actions has no rows", s->path, episode);
    MW_TRY(charge_episode(s, episode, length, error));
    MW_TRY(mw_import_room_for(&s->room, spec, length, error));
    size_t cells = (size_t)(length + 1) * (size_t)spec->agents;
    memset(s->room.obs, 0, cells * (size_t)spec->obs_size * sizeof *s->room.obs);
    field obs = find_field(s, episode, "observations"), actions = find_field(s, episode, "actions"),
          legals = find_field(s, episode, "infos/legal_actions");
    MW_TRY(look_for_last(s, episode, obs, length, &last, error));
    MW_TRY(read_field(s, episode, obs, length + last, spec->obs_size, put_obs, error));
    if (spec->discrete) {
        memset(s->room.legal, 1, cells * (size_t)spec->act_size);
        MW_TRY(read_field(s, episode, actions, length, 0, put_index, error));
        if (s->legals) MW_TRY(read_field(s, episode, legals, length, spec->act_size, put_legal, error));
    } else {
        memset(s->room.real, 0, cells * (size_t)spec->act_size * sizeof *s->room.real);
        MW_TRY(read_field(s, episode, actions, length, spec->act_size, put_real, error));
    }
    MW_TRY(read_field(s, episode, find_field(s, episode, "rewards"), length, 0, put_reward, error));
    MW_TRY(read_outcome(s, episode, length, &outcome, error));
    mw_episode view = mw_import_room_episode(&s->room, spec, length, last, outcome);
    s->report->episodes++;
    s->report->steps += length;
    return mw_dataset_writer_add(writer, &view, error);
}

/* A Minari dataset's folder stands for the file in it. */
static char *find_file(const char *given) {
    static const char *const inside[] = {"data/main_data.hdf5", "main_data.hdf5"};
    struct stat info;
    if (stat(given, &info) != 0 || !S_ISDIR(info.st_mode)) return strdup(given);
    for (int i = 0; i < 2; i++) {
        char *path = mw_path_join(given, inside[i]);
        if (path && mw_file_exists(path)) return path;
        free(path);
    }
    return mw_path_join(given, inside[0]);
}

static mw_status import(source *s, mw_error *error) {
    mw_dataset_writer *writer;
    H5PLset_loading_state(0);         /* no filters from wherever the environment says */
    H5Lunregister(H5L_TYPE_EXTERNAL); /* nor links to other files */
    s->file = H5Fopen(s->path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (s->file < 0) return mw_fail(error, MW_ERR_FORMAT, "%s: not an HDF5 file, or a damaged one", s->path);
    read_text(s, "task", s->origin.task);
    read_text(s, "rules", s->origin.rules);
    read_text(s, "quality", s->origin.quality);
    MW_TRY(read_sizes(s, error));
    MW_TRY(
        mw_dataset_writer_open(&writer, s->request->folder, &s->spec, s->request->options.overwrite, error));
    mw_status status = MW_OK;
    for (int e = 0; e < s->episodes.count && status == MW_OK; e++)
        status = read_episode(s, s->episodes.name[e], writer, error);
    if (status == MW_OK) return mw_dataset_writer_commit(writer, error);
    mw_dataset_writer_abandon(writer);
    return mw_fail_within(error, status, "%s", s->request->source);
}

/* In the child. */
static mw_status work(void *context, void *result, mw_error *error) {
    source s = *(const source *)context;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    s.report = result;
    return import(&s, error); /* memory goes with the process */
}

mw_status mw_import_hdf5(const mw_import_request *request, mw_import_report *report, mw_error *error) {
    source s = {.request = request, .file = -1, .path = find_file(request->source)};
    struct stat info;
    mw_status status = MW_OK;
    *report = (mw_import_report){0};
    if (!s.path)
        status = mw_fail(error, MW_ERR_MEMORY, "out of memory for a file's name");
    else if (stat(s.path, &info) != 0 || access(s.path, R_OK) != 0)
        status = mw_fail(error, MW_ERR_IO, "cannot open '%s': %s", s.path, strerror(errno));
    else if (!S_ISREG(info.st_mode))
        status = mw_fail(error, MW_ERR_IO, "cannot read '%s': it is not a regular file", s.path);
    if (status == MW_OK) {
        const size_t size = (size_t)info.st_size;
        s.limit = UNPACKED_BASE + UNPACKED_FACTOR * size;
        const mw_child_limits limits = {.memory = LIBRARY_MEMORY + 3 * s.limit,
                                        .seconds = 1 + (double)size / BYTES_PER_SECOND};
        status = mw_child_run(s.path, work, &s, report, sizeof *report, &limits, error);
        if (status != MW_OK) mw_dataset_sweep(request->folder);
    }
    free(s.path);
    return status;
}

#endif
