/* OMAR's files: one array per agent and quantity, all steps of a seed in one line; see import.h. */
#include "data/exchange/import_common.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { OBS, ACTIONS, REWARDS, DONES, NEXT_OBS, KINDS };
static const char *const kinds[KINDS] = {"obs", "acs", "rews", "dones", "next_obs"};
static const char *const extents[KINDS][2] = {
    {"steps", "features"}, {"steps", "values"}, {"steps"}, {"steps"}, {"steps", "features"}};

/* The files of one seed. */
typedef struct seed {
    char *folder;
    int agents;
    mw_npy *files[KINDS]; /* [agents]; NULL: the kind is missing for all agents (dones and next_obs may be) */
    long steps;
} seed;

typedef struct source {
    const mw_import_request *request;
    mw_import_report *report;
    mw_names folders;
    mw_dataset_spec spec;
    bool last_known;
    size_t *widths; /* of each agent's observations */
    mw_import_room room;
    mw_dataset_writer *writer;
} source;

static char *file_path(const char *folder, int kind, int agent) {
    char name[40];
    snprintf(name, sizeof name, "%s_%d.npy", kinds[kind], agent);
    return mw_path_join(folder, name);
}

/* Without memory of its own: for want of it a file would seem not to be there. */
static bool has_file(const char *folder, int kind, int agent) {
    char path[PATH_MAX];
    return snprintf(path, sizeof path, "%s/%s_%d.npy", folder, kinds[kind], agent) < (int)sizeof path &&
           mw_file_exists(path);
}

/* ---- folders and files --------------------------------------------------------------------------------- */

/* The source itself if it holds obs_0.npy, otherwise all folders in it that do, in natural order. */
static mw_status find_folders(source *s, mw_error *error) {
    const char *root = s->request->source;
    if (has_file(root, OBS, 0)) return mw_names_add(&s->folders, root, error);
    DIR *stream = opendir(root);
    if (!stream) return mw_fail(error, MW_ERR_IO, "cannot read the folder '%s': %s", root, strerror(errno));
    mw_status status = MW_OK;
    for (struct dirent *entry; status == MW_OK && (entry = readdir(stream));) {
        if (entry->d_name[0] == '.') continue;
        char *path = mw_path_join(root, entry->d_name);
        if (!path)
            status = mw_fail(error, MW_ERR_MEMORY, "out of memory for a file's name");
        else if (has_file(path, OBS, 0))
            status = mw_names_add(&s->folders, path, error);
        free(path);
    }
    closedir(stream);
    if (status == MW_OK && s->folders.count == 0)
        status =
            mw_fail(error, MW_ERR_FORMAT, "%s: neither obs_0.npy nor folders (seed_*_data) with one", root);
    mw_names_sort(&s->folders);
    return status;
}

static void seed_close(seed *d) {
    for (int k = 0; k < KINDS; k++) {
        for (int i = 0; d->files[k] && i < d->agents; i++) mw_npy_close(&d->files[k][i]);
        free(d->files[k]);
    }
    *d = (seed){0};
}

static mw_status open_file(seed *d, int kind, int agent, mw_error *error) {
    char *path = file_path(d->folder, kind, agent);
    if (!path) return mw_fail(error, MW_ERR_MEMORY, "out of memory for a file's name");
    mw_npy *npy = &d->files[kind][agent];
    mw_status status = mw_npy_open(npy, path, error);
    bool vector = kind == REWARDS || kind == DONES; /* [steps] or [steps][1] */
    if (status == MW_OK && vector && npy->dims == 2 && npy->shape[1] == 1) npy->dims = 1;
    if (status == MW_OK && kind == OBS && agent == 0) d->steps = npy->dims ? (long)npy->shape[0] : 0;
    if (status == MW_OK)
        status = mw_shape_expect_of(path, npy->dims, npy->shape, vector ? 1 : 2, (long[]){d->steps, -1},
                                    extents[kind], error);
    free(path);
    return status;
}

static mw_status seed_open(seed *d, char *folder, int agents, mw_error *error) {
    *d = (seed){.folder = folder, .agents = agents};
    for (int k = 0; k < KINDS; k++) {
        if (k >= DONES && !has_file(folder, k, 0)) continue;
        d->files[k] = calloc((size_t)agents, sizeof *d->files[k]);
        if (!d->files[k]) return mw_fail(error, MW_ERR_MEMORY, "out of memory for %d agents", agents);
        for (int i = 0; i < agents; i++) MW_TRY(open_file(d, k, i, error));
    }
    return MW_OK;
}

/* Sizes from the first seed: the widest observation counts, narrower ones are filled up with zeros. */
static mw_status read_sizes(source *s, mw_error *error) {
    const mw_import_options *r = &s->request->options;
    int agents = r->agents ? r->agents : r->info ? r->info->agents : 0;
    if (!agents)
        while (agents < MW_IMPORT_AGENTS && has_file(s->folders.name[0], OBS, agents)) agents++;
    s->widths = calloc((size_t)agents + 1, sizeof *s->widths);
    if (!s->widths) return mw_fail(error, MW_ERR_MEMORY, "out of memory for %d agents", agents);
    seed d;
    mw_status status = seed_open(&d, s->folders.name[0], agents, error);
    size_t widest = 0, narrowest = SIZE_MAX, values = 0;
    for (int i = 0; i < agents && status == MW_OK; i++) {
        size_t width = s->widths[i] = d.files[OBS][i].shape[1];
        widest = width > widest ? width : widest;
        narrowest = width < narrowest ? width : narrowest;
        values = d.files[ACTIONS][i].shape[1];
    }
    s->report->padded = status == MW_OK && narrowest < widest;
    s->last_known = d.files[NEXT_OBS] != NULL;
    seed_close(&d);
    MW_TRY(status);
    int limit = r->episode_limit ? r->episode_limit : r->info ? r->info->episode_limit : 0;
    if (!limit)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "task '%s' is not built in: importing OMAR files needs its episode limit",
                       s->request->task);
    int o, act;
    MW_TRY(mw_import_width(widest, "obs_*.npy", &o, error));
    MW_TRY(mw_import_width(values, "acs_*.npy", &act, error));
    return mw_import_spec(&s->spec, s->request, NULL, "omar-import", agents, o, act, false, limit, error);
}

/* ---- episodes ------------------------------------------------------------------------------------------ */

static const char *cell(const mw_npy *npy, long row) {
    size_t width = npy->dims > 1 ? npy->shape[1] : 1;
    return (const char *)npy->data + (size_t)row * width * mw_dtype_size(npy->type);
}

/* One agent's row of a kind, as `width` floats; what is missing is zero. */
static void take(const mw_npy *npy, long row, float *out, int width) {
    int have = npy->dims > 1 ? (int)npy->shape[1] : 1;
    memset(out, 0, (size_t)width * sizeof *out);
    mw_dtype_to_floats(npy->type, cell(npy, row), (size_t)(have < width ? have : width), out);
}

static bool all_done(const seed *d, long row) {
    for (int i = 0; d->files[DONES] && i < d->agents; i++) {
        float value;
        take(&d->files[DONES][i], row, &value, 1);
        if (value == 0) return false;
    }
    return d->files[DONES] != NULL;
}

/* Whether the next observation of `row` is what the row after it starts from. */
static bool goes_on(const seed *d, long row) {
    for (int i = 0; d->files[NEXT_OBS] && i < d->agents; i++) {
        const mw_npy *obs = &d->files[OBS][i], *next = &d->files[NEXT_OBS][i];
        if (obs->type != next->type) continue;
        if (memcmp(cell(obs, row + 1), cell(next, row), obs->shape[1] * mw_dtype_size(obs->type)) != 0)
            return false;
    }
    return true;
}

static mw_status add_episode(source *s, const seed *d, long begin, long end, uint8_t outcome,
                             mw_error *error) {
    int n = s->spec.agents, o = s->spec.obs_size, a = s->spec.act_size;
    long length = end - begin;
    MW_TRY(mw_import_room_for(&s->room, &s->spec, length, error));
    for (long t = 0; t < length; t++)
        for (int i = 0; i < n; i++) {
            long at = t * n + i;
            take(&d->files[OBS][i], begin + t, s->room.obs + at * o, o);
            take(&d->files[ACTIONS][i], begin + t, s->room.real + at * a, a);
            take(&d->files[REWARDS][i], begin + t, s->room.rewards + at, 1);
        }
    for (int i = 0; s->last_known && i < n; i++)
        take(&d->files[NEXT_OBS][i], end - 1, s->room.obs + (length * n + i) * o, o);
    mw_episode episode = mw_import_room_episode(&s->room, &s->spec, length, s->last_known, outcome);
    s->report->episodes++;
    s->report->steps += length;
    return mw_import_add(s->request, s->writer, &episode, error);
}

/* The limit is looked at before the flag: these worlds have no end of their own, and some files flag the last
 * step before the limit as done. */
static mw_status cut_episodes(source *s, const seed *d, mw_error *error) {
    long begin = 0;
    for (long row = 0; row < d->steps; row++) {
        bool full = row + 1 - begin == s->spec.episode_limit, done = all_done(d, row);
        bool jump = !full && !done && row + 1 < d->steps && !goes_on(d, row);
        if (!full && !done && !jump) continue;
        s->report->jumps += jump;
        MW_TRY(
            add_episode(s, d, begin, row + 1, full || jump ? MW_ENDED_BY_LIMIT : MW_ENDED_BY_WORLD, error));
        begin = row + 1;
    }
    s->report->dropped += d->steps - begin;
    return MW_OK;
}

/* All seeds must look like the first. */
static mw_status check_seed(const source *s, const seed *d, mw_error *error) {
    for (int i = 0; i < d->agents; i++) {
        const mw_npy *obs = &d->files[OBS][i], *next = d->files[NEXT_OBS] ? &d->files[NEXT_OBS][i] : NULL;
        if (obs->shape[1] != s->widths[i] || d->files[ACTIONS][i].shape[1] != (size_t)s->spec.act_size)
            return mw_fail(error, MW_ERR_MISMATCH,
                           "%s: agent %d has %zu features and %zu action values, expected %zu and %d",
                           d->folder, i, obs->shape[1], d->files[ACTIONS][i].shape[1], s->widths[i],
                           s->spec.act_size);
        if (next && next->shape[1] != obs->shape[1])
            return mw_fail(error, MW_ERR_MISMATCH, "%s: next_obs_%d.npy has %zu features, obs_%d.npy has %zu",
                           d->folder, i, next->shape[1], i, obs->shape[1]);
    }
    if (s->last_known != (d->files[NEXT_OBS] != NULL))
        return mw_fail(error, MW_ERR_MISMATCH, "%s: %s next_obs files, unlike %s", d->folder,
                       s->last_known ? "lacks" : "has", s->folders.name[0]);
    return MW_OK;
}

static mw_status import(source *s, mw_error *error) {
    MW_TRY(find_folders(s, error));
    MW_TRY(read_sizes(s, error));
    MW_TRY(mw_dataset_writer_open(&s->writer, s->request->folder, &s->spec, s->request->options.overwrite,
                                  error));
    mw_status status = MW_OK;
    for (int i = 0; i < s->folders.count && status == MW_OK; i++) {
        seed d;
        status = seed_open(&d, s->folders.name[i], s->spec.agents, error);
        if (status == MW_OK) status = check_seed(s, &d, error);
        if (status == MW_OK && (status = cut_episodes(s, &d, error)) != MW_OK)
            mw_fail_within(error, status, "%s", d.folder);
        for (int k = 0; k < KINDS && status == MW_OK; k++)
            for (int a = 0; d.files[k] && a < d.agents && status == MW_OK; a++)
                status = mw_map_intact(&d.files[k][a].map, d.folder, error);
        seed_close(&d);
    }
    if (status == MW_OK) return mw_dataset_writer_commit(s->writer, error);
    mw_dataset_writer_abandon(s->writer);
    return status;
}

mw_status mw_import_omar(const mw_import_request *request, mw_import_report *report, mw_error *error) {
    source s = {.request = request, .report = report};
    *report = (mw_import_report){0};
    mw_status status = import(&s, error);
    mw_names_free(&s.folders);
    mw_import_room_free(&s.room);
    free(s.widths);
    return status;
}
