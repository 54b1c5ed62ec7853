/* Reading HDF5 episodes in Minari's layout; see import.h. The library's own reports go nowhere: what fails
 * is said in our words, with the object's path. Because damaged files can crash it, and small ones can unpack
 * to any size, it reads in a child process under limits that follow from the file's size. */
#include "core/machine/child.h"
#include "data/exchange/hdf5_common.h"
#include "data/exchange/hdf5_reader.h"
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

#define FOREIGN          "hdf5-import" /* rules of data that are not ours */

/* What a file may unpack to: compression and the padding of narrow agents gain no more. Reading then takes an
 * array in double precision, an episode in single, what the library needs, and a second for every megabyte.
 */
#define UNPACKED_FACTOR  100
#define UNPACKED_BASE    ((size_t)16 << 20)
#define LIBRARY_MEMORY   ((size_t)128 << 20)
#define BYTES_PER_SECOND 1e6

/* ---- fields -------------------------------------------------------------------------------------------- */

/* An array or a group of arrays, one per agent. */
typedef struct field {
    const char *name;
    bool present, grouped;
} field;

typedef struct source {
    const mw_import_request *request;
    mw_import_report *report;
    mw_hdf5_reader in;
    size_t unpacked;           /* bytes of all episodes so far; in.limit bounds them too */
    mw_names episodes, agents; /* agents: members of grouped fields; empty if observations are one array */
    long *widths;              /* of the agents' observations, where they are grouped */
    mw_dataset_spec spec;
    mw_import_origin origin;
    uint64_t hash; /* of the episodes so far */
    bool legals;
    mw_import_room room;
    char where[420]; /* the array that is read, for messages */
} source;

static field find_field(source *s, const char *episode, const char *name) {
    char inside[160];
    H5O_info_t info;
    field f = {.name = name};
    snprintf(inside, sizeof inside, "%.60s/%.60s", episode, name);
    /* Each part of a path has to be asked for alone: a missing first part is an error to the library. */
    const char *slash = strchr(name, '/');
    if (slash) {
        char first[160];
        snprintf(first, sizeof first, "%.60s/%.*s", episode, (int)(slash - name), name);
        if (!mw_hdf5_yes(&s->in, H5Lexists(s->in.file, first, H5P_DEFAULT))) return f;
    }
    f.present = mw_hdf5_yes(&s->in, H5Lexists(s->in.file, inside, H5P_DEFAULT)) &&
                mw_hdf5_yes(&s->in, H5Oget_info_by_name(s->in.file, inside, &info, H5P_DEFAULT) < 0 ? -1 : 1);
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
    for (int part = 0; part < (f.grouped ? n : 1); part++) {
        const char *member = member_of(s, f, part);
        MW_TRY(mw_hdf5_load(&s->in, episode, f.name, member, error));
        mw_hdf5_place(&s->in, s->where, sizeof s->where, episode, f.name, member);
        int rank = s->in.rank, agents = f.grouped ? 1 : n;
        long wide = width ? width : 1;
        const bool of_team = !strcmp(f.name, "rewards") && (rank == 1 || (rank == 2 && s->in.dims[1] == 1));
        const bool shared = !f.grouped && (of_team || (n == 1 && rank == (width ? 2 : 1)));
        int want = (f.grouped || shared ? 1 : 2) + (width ? 1 : 0);
        while (rank > want && s->in.dims[rank - 1] == 1) rank--;
        long seen = width && rank == want ? (long)s->in.dims[rank - 1] : 1;
        bool fits =
            seen == (f.grouped && s->widths && !strcmp(f.name, "observations") ? s->widths[part] : wide);
        /* Infos come with observations, of which there may be one more than steps. */
        const long more = (long)s->in.dims[0] - rows, allowed = !strncmp(f.name, "infos/", 6);
        if (rank != want || more < 0 || more > allowed || !fits ||
            (!f.grouped && !shared && (long)s->in.dims[1] != n))
            return mw_fail(
                error, MW_ERR_FORMAT,
                "%s: shape [%ld, %ld, ...] of %d dimensions does not fit %ld steps of %d agents with "
                "%ld values",
                s->where, (long)s->in.dims[0], s->in.rank > 1 ? (long)s->in.dims[1] : 0, s->in.rank, rows, n,
                wide);
        for (long r = 0; r < rows; r++)
            for (int i = 0; i < agents; i++)
                for (int v = 0; v < (int)seen; v++) {
                    size_t at = shared ? (size_t)(r * seen + v) : (size_t)((r * agents + i) * seen + v);
                    MW_TRY(put(s, r, f.grouped ? part : i, v, s->in.numbers[at], error));
                }
    }
    return MW_OK;
}

/* ---- sizes -------------------------------------------------------------------------------------------- */

/* Steps of an episode: the rows of its actions. */
static mw_status count_steps(source *s, const char *episode, long *steps, mw_error *error) {
    field actions = find_field(s, episode, "actions");
    MW_TRY(mw_hdf5_look(&s->in, episode, "actions", member_of(s, actions, 0), error));
    *steps = (long)s->in.dims[0];
    return MW_OK;
}

static mw_status put_largest(source *s, long row, int agent, int value, double x, mw_error *error) {
    long action;
    (void)agent, (void)value;
    MW_TRY(mw_import_integer(x, 0, MW_IMPORT_MOST_ACTIONS - 1, s->where, row, &action, error));
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
        MW_TRY(mw_hdf5_look(&s->in, s->episodes.name[0], legals.name, member_of(s, legals, 0), error));
        MW_TRY(mw_import_width(s->in.dims[s->in.rank - 1], "infos/legal_actions", &s->spec.act_size, error));
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
        MW_TRY(mw_hdf5_look(&s->in, first, "observations", NULL, error));
        s->spec.agents = s->in.rank == 3
                             ? (s->in.dims[1] < MW_IMPORT_AGENTS ? (int)s->in.dims[1] : MW_IMPORT_AGENTS + 1)
                             : 1;
        widest = s->in.dims[s->in.rank - 1];
    } else {
        char group[160];
        snprintf(group, sizeof group, "%.60s/observations", first);
        MW_TRY(mw_hdf5_members(&s->in, group, "", &s->agents, error));
        s->spec.agents = s->agents.count;
        s->widths = calloc((size_t)s->agents.count + 1, sizeof *s->widths);
        if (!s->widths) return mw_fail(error, MW_ERR_MEMORY, "out of memory for %d agents", s->agents.count);
        for (int i = 0; i < s->agents.count; i++) {
            MW_TRY(mw_hdf5_look(&s->in, first, "observations", s->agents.name[i], error));
            hsize_t width = s->in.dims[s->in.rank - 1];
            s->widths[i] = width < 1 << 20 ? (long)width : 1 << 20;
            widest = width > widest ? width : widest;
            narrowest = width < narrowest ? width : narrowest;
        }
        s->report->padded = narrowest < widest;
    }
    s->spec.obs_size = widest < 1 << 20 ? (int)widest : (1 << 20) + 1;
    if (s->spec.agents < 1 || s->spec.agents > MW_IMPORT_AGENTS || s->spec.obs_size < 1 ||
        s->spec.obs_size > 1 << 20)
        return mw_fail(error, MW_ERR_FORMAT, "%s: %s/observations has %d agents with %d features", s->in.path,
                       first, s->spec.agents, s->spec.obs_size);
    if (s->request->options.agents && s->request->options.agents != s->spec.agents)
        return mw_fail(error, MW_ERR_MISMATCH, "%s: %s/observations has %d agents, expected %d", s->in.path,
                       first, s->spec.agents, s->request->options.agents);
    return MW_OK;
}

static mw_status read_sizes(source *s, mw_error *error) {
    const mw_import_options *r = &s->request->options;
    MW_TRY(mw_hdf5_members(&s->in, "/", "episode_", &s->episodes, error));
    if (s->episodes.count == 0)
        return mw_fail(error, MW_ERR_FORMAT, "%s: no group is named episode_<number>", s->in.path);
    MW_TRY(read_obs_size(s, error));
    long longest = 0, steps = 0;
    for (int e = 0; e < s->episodes.count; e++) {
        MW_TRY(count_steps(s, s->episodes.name[e], &steps, error));
        longest = steps > longest ? steps : longest;
    }
    field actions = find_field(s, s->episodes.name[0], "actions");
    MW_TRY(mw_hdf5_look(&s->in, s->episodes.name[0], "actions", member_of(s, actions, 0), error));
    bool discrete = r->info ? r->info->discrete : s->in.integers;
    if (discrete)
        MW_TRY(count_actions(s, error));
    else if (s->in.rank < (actions.grouped || s->spec.agents == 1 ? 2 : 3))
        return mw_fail(error, MW_ERR_FORMAT,
                       "%s: %s/actions: real actions need a dimension for their values, also for one; "
                       "discrete ones must be of a type of whole numbers",
                       s->in.path, s->episodes.name[0]);
    else
        MW_TRY(mw_import_width(s->in.dims[s->in.rank - 1], "actions", &s->spec.act_size, error));
    int limit;
    MW_TRY(mw_import_limit(s->request, longest, &limit, error));
    mw_dataset_spec found = s->spec;
    return mw_import_spec(&s->spec, s->request, &s->origin, FOREIGN, found.agents, found.obs_size,
                          found.act_size, discrete, limit, error);
}

/* ---- episodes ----------------------------------------------------------------------------------------- */

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
    MW_TRY(mw_import_integer(x, 0, s->spec.act_size - 1, s->where, row, &action, error));
    s->room.index[row * s->spec.agents + agent] = (int32_t)action;
    return MW_OK;
}

static mw_status put_legal(source *s, long row, int agent, int value, double x, mw_error *error) {
    long legal;
    MW_TRY(mw_import_integer(x, 0, 1, s->where, row, &legal, error));
    s->room.legal[(row * s->spec.agents + agent) * s->spec.act_size + value] = (uint8_t)legal;
    return MW_OK;
}

static mw_status put_reward(source *s, long row, int agent, int value, double x, mw_error *error) {
    (void)value, (void)error;
    s->room.rewards[row * s->spec.agents + agent] = (float)x;
    return MW_OK;
}

/* Clears over[t] of the steps at which not all of one array's agents are flagged. */
static mw_status read_flag_array(source *s, const char *episode, const char *name, const char *member,
                                 long length, bool *over, mw_error *error) {
    MW_TRY(mw_hdf5_load(&s->in, episode, name, member, error));
    mw_hdf5_place(&s->in, s->where, sizeof s->where, episode, name, member);
    const size_t row = s->in.rank > 1 ? (size_t)s->in.dims[1] : 1;
    if ((long)s->in.dims[0] != length || s->in.rank > 2 || row == 0)
        return mw_fail(error, MW_ERR_FORMAT, "%s: %ld rows of %d dimensions, expected %ld of 1 or 2",
                       s->where, (long)s->in.dims[0], s->in.rank, length);
    for (size_t i = 0; i < (size_t)length * row; i++) {
        long flag;
        MW_TRY(mw_import_integer(s->in.numbers[i], 0, 1, s->where, (long)(i / row), &flag, error));
        over[i / row] = over[i / row] && flag;
    }
    return MW_OK;
}

/* Whether the last step of all agents is flagged; one before it would be an end within the episode. */
static mw_status read_flags(source *s, const char *episode, field flags, long length, bool *ended,
                            mw_error *error) {
    bool *over = malloc((size_t)length * sizeof *over);
    if (!over) return mw_fail(error, MW_ERR_MEMORY, "out of memory for %ld flags", length);
    for (long t = 0; t < length; t++) over[t] = true;
    mw_status status = MW_OK;
    for (int part = 0; status == MW_OK && part < (flags.grouped ? s->spec.agents : 1); part++)
        status = read_flag_array(s, episode, flags.name, member_of(s, flags, part), length, over, error);
    for (long t = 0; status == MW_OK && t + 1 < length; t++)
        if (over[t])
            status = mw_fail(error, MW_ERR_FORMAT, "%s: %s/terminations ends the episode at step %ld of %ld",
                             s->in.path, episode, t + 1, length);
    *ended = over[length - 1];
    free(over);
    return status;
}

/* How it ended: our own mark; or whether the last step is flagged as a termination; or, without flags, by the
 * world exactly when it stopped short of the limit. */
static mw_status read_outcome(source *s, const char *episode, long length, uint8_t *outcome,
                              mw_error *error) {
    field flags = find_field(s, episode, "terminations");
    *outcome = length < s->spec.episode_limit ? MW_ENDED_BY_WORLD : MW_ENDED_BY_LIMIT;
    if (mw_hdf5_yes(&s->in, H5Aexists_by_name(s->in.file, episode, "outcome", H5P_DEFAULT))) {
        hid_t attribute = H5Aopen_by_name(s->in.file, episode, "outcome", H5P_DEFAULT, H5P_DEFAULT);
        hid_t space = attribute >= 0 ? H5Aget_space(attribute) : -1;
        int value = -1;
        if (space >= 0 && H5Sget_simple_extent_npoints(space) == 1)
            s->in.failed |= H5Aread(attribute, H5T_NATIVE_INT, &value) < 0;
        s->in.failed |= space < 0;
        if (space >= 0) H5Sclose(space);
        if (attribute >= 0) H5Aclose(attribute);
        *outcome = value >= 0 && value < 255 ? (uint8_t)value : 255;
    } else if (flags.present) {
        bool ended = false;
        MW_TRY(read_flags(s, episode, flags, length, &ended, error));
        *outcome = ended ? MW_ENDED_BY_WORLD : MW_ENDED_BY_LIMIT;
    }
    return MW_OK;
}

/* Whether there is one observation more than steps. */
static mw_status look_for_last(source *s, const char *episode, field obs, long length, bool *known,
                               mw_error *error) {
    char group[160];
    H5G_info_t members;
    snprintf(group, sizeof group, "%.60s/observations", episode);
    if (obs.grouped && (H5Gget_info_by_name(s->in.file, group, &members, H5P_DEFAULT) < 0 ||
                        members.nlinks != (hsize_t)s->agents.count))
        return mw_fail(error, MW_ERR_FORMAT, "%s: %s has not the %d agents of the first episode", s->in.path,
                       group, s->agents.count);
    MW_TRY(mw_hdf5_look(&s->in, episode, "observations", member_of(s, obs, 0), error));
    long rows = (long)s->in.dims[0];
    if (rows != length && rows != length + 1)
        return mw_fail(error, MW_ERR_FORMAT, "%s: %s/observations has %ld rows, expected %ld or %ld",
                       s->in.path, episode, rows, length, length + 1);
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
    snprintf(s->where, sizeof s->where, "%.200s: %.60s", s->in.path, episode);
    return mw_hdf5_expect(&s->in, s->where, s->unpacked, error);
}

static mw_status read_episode(source *s, const char *episode, mw_dataset_writer *writer, mw_error *error) {
    long length;
    uint8_t outcome;
    bool last = false;
    const mw_dataset_spec *spec = &s->spec;
    MW_TRY(count_steps(s, episode, &length, error));
    if (length < 1) return mw_fail(error, MW_ERR_FORMAT, "%s: %s/actions has no rows", s->in.path, episode);
    MW_TRY(charge_episode(s, episode, length, error));
    MW_TRY(mw_import_room_for(&s->room, spec, length, error));
    size_t cells = (size_t)(length + 1) * (size_t)spec->agents;
    memset(s->room.obs, 0, cells * (size_t)spec->obs_size * sizeof *s->room.obs);
    field obs = find_field(s, episode, "observations"), actions = find_field(s, episode, "actions"),
          legals = find_field(s, episode, "infos/legal_actions");
    if (spec->discrete && legals.present && !s->legals)
        return mw_fail(error, MW_ERR_FORMAT, "%s: %s has legal actions, unlike the first episode", s->in.path,
                       episode);
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
    s->hash = mw_exchange_hash(s->hash, spec, &view);
    const mw_status status = mw_import_add(s->request, writer, &view, error);
    return status == MW_OK ? MW_OK : mw_fail_within(error, status, "%s", s->in.path);
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

/* A file that says to be of our rules is, if its values are known to be those that were exported. */
static mw_status settle_rules(source *s, mw_dataset_writer *writer, mw_error *error) {
    char told[64] = "", found[17];
    snprintf(found, sizeof found, "%016llx", (unsigned long long)s->hash);
    mw_hdf5_text(&s->in, "checksum", told);
    s->report->changed = s->spec.rules == s->origin.rules && strcmp(told, found) != 0;
    return s->report->changed ? mw_dataset_writer_foreign(writer, FOREIGN, s->request->options.quality, error)
                              : MW_OK;
}

static mw_status import(source *s, mw_error *error) {
    mw_dataset_writer *writer;
    H5PLset_loading_state(0);         /* no filters from wherever the environment says */
    H5Lunregister(H5L_TYPE_EXTERNAL); /* nor links to other files */
    s->in.file = H5Fopen(s->in.path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (s->in.file < 0)
        return mw_fail(error, MW_ERR_FORMAT, "%s: not an HDF5 file, or a damaged one", s->in.path);
    mw_hdf5_text(&s->in, "task", s->origin.task);
    mw_hdf5_text(&s->in, "rules", s->origin.rules);
    mw_hdf5_text(&s->in, "quality", s->origin.quality);
    MW_TRY(read_sizes(s, error));
    MW_TRY(
        mw_dataset_writer_open(&writer, s->request->folder, &s->spec, s->request->options.overwrite, error));
    mw_status status = MW_OK;
    for (int e = 0; e < s->episodes.count && status == MW_OK; e++)
        status = read_episode(s, s->episodes.name[e], writer, error);
    if (status == MW_OK && s->in.failed)
        status = mw_fail(error, MW_ERR_FORMAT, "%s: not all of it can be read", s->in.path);
    if (status == MW_OK) status = settle_rules(s, writer, error);
    if (status == MW_OK) return mw_dataset_writer_commit(writer, error);
    mw_dataset_writer_abandon(writer);
    return status;
}

/* In the child. */
static mw_status work(void *context, void *result, mw_error *error) {
    source s = *(const source *)context;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    s.report = result;
    return import(&s, error); /* memory goes with the process */
}

mw_status mw_import_hdf5(const mw_import_request *request, mw_import_report *report, mw_error *error) {
    source s = {
        .request = request, .hash = MW_HASH_START, .in = {.file = -1, .path = find_file(request->source)}};
    struct stat info;
    mw_status status = MW_OK;
    *report = (mw_import_report){0};
    if (!s.in.path)
        status = mw_fail(error, MW_ERR_MEMORY, "out of memory for a file's name");
    else if (stat(s.in.path, &info) != 0 || access(s.in.path, R_OK) != 0)
        status = mw_fail(error, MW_ERR_IO, "cannot open '%s': %s", s.in.path, strerror(errno));
    else if (!S_ISREG(info.st_mode))
        status = mw_fail(error, MW_ERR_IO, "cannot read '%s': it is not a regular file", s.in.path);
    if (status == MW_OK) status = mw_hdf5_need(error);
    if (status == MW_OK) {
        const size_t size = (size_t)info.st_size;
        s.in.limit = UNPACKED_BASE + UNPACKED_FACTOR * size;
        const mw_child_limits limits = {.memory = LIBRARY_MEMORY + 3 * s.in.limit,
                                        .seconds = 1 + (double)size / BYTES_PER_SECOND,
                                        .stop = request->options.stop};
        status = mw_child_run(s.in.path, work, &s, report, sizeof *report, &limits, error);
        if (status != MW_OK) mw_dataset_sweep(request->folder);
    }
    free(s.in.path);
    return status;
}

#endif
