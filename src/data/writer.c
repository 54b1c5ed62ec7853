/* Writing a dataset: columns are streamed into a hidden folder next to the target, and the folder takes the
 * target's name when everything is on disk; see mawam/data.h. */
#include "core/json.h"
#include "core/numbers.h"
#include "data/columns.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct mw_dataset_writer {
    mw_dataset_spec spec; /* strings and sources are owned */
    char *folder, *hidden;
    bool overwrite, last_known;
    bool open[MW_COLUMN_COUNT];
    mw_npy_writer columns[MW_COLUMN_COUNT];
    double *returns;
    long episodes, capacity, steps, wins;
    uint8_t *all_legal; /* [all_legal_size] ones: legality where an episode gives none */
    size_t all_legal_size;
    bool failed;   /* a write did: the columns may be of different lengths */
    int lock;      /* the hidden folder, open and locked: somebody is at work in it */
    pid_t process; /* whose the hidden folder is: a fork has a copy of this struct, and nothing to remove */
};

static mw_status fail_system(mw_error *error, const char *action, const char *path) {
    return mw_fail(error, MW_ERR_IO, "cannot %s '%s': %s", action, path, strerror(errno));
}

/* ---- folders ------------------------------------------------------------------------------------------- */

static bool ours(const char *name) {
    if (!strcmp(name, MW_DATASET_JSON)) return true;
    for (int c = 0; c < MW_COLUMN_COUNT; c++) {
        size_t length = strlen(mw_column_names[c]);
        if (!strncmp(name, mw_column_names[c], length) && !strcmp(name + length, ".npy")) return true;
    }
    return !strncmp(name, ".mawam-", 7); /* an unfinished column */
}

void mw_dataset_remove(const char *folder) {
    DIR *stream = opendir(folder);
    if (!stream) return;
    char *json = mw_path_join(folder, MW_DATASET_JSON);
    if (json) unlink(json);
    free(json);
    for (struct dirent *entry; (entry = readdir(stream));) {
        char *path = ours(entry->d_name) ? mw_path_join(folder, entry->d_name) : NULL;
        if (path) unlink(path);
        free(path);
    }
    closedir(stream);
    rmdir(folder);
}

static mw_status check_entry(const char *folder, const char *name, mw_error *error) {
    char *path = mw_path_join(folder, name);
    mw_status status = path ? mw_file_replaceable(path, error)
                            : mw_fail(error, MW_ERR_MEMORY, "out of memory for a file's name");
    free(path);
    return status;
}

/* The target must not exist, or be empty, or, if it is to be replaced, be a dataset and nothing else. */
static mw_status check_target(const char *folder, bool overwrite, mw_error *error) {
    struct stat info;
    if (stat(folder, &info) != 0) return errno == ENOENT ? MW_OK : fail_system(error, "examine", folder);
    if (!S_ISDIR(info.st_mode))
        return mw_fail(error, MW_ERR_ARGUMENT, "cannot write a dataset to '%s': it is not a folder", folder);
    if (!(info.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)))
        return mw_fail(error, MW_ERR_IO, "cannot write a dataset to '%s': it is read-only", folder);
    DIR *stream = opendir(folder);
    if (!stream) return fail_system(error, "read the folder", folder);
    mw_status status = MW_OK;
    for (struct dirent *entry; status == MW_OK && (entry = readdir(stream));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        if (!overwrite)
            status =
                mw_fail(error, MW_ERR_ARGUMENT, "'%s' is there already; 'overwrite' replaces it", folder);
        else if (!ours(entry->d_name))
            status = mw_fail(error, MW_ERR_ARGUMENT,
                             "'%s' is not replaced: it holds '%s', which is not part of a dataset", folder,
                             entry->d_name);
        else
            status = check_entry(folder, entry->d_name, error);
    }
    closedir(stream);
    return status;
}

/* The start of the hidden folders' names of this target: "parent/.name.mawam-". */
static char *hidden_prefix(const char *folder) {
    const char *slash = strrchr(folder, '/'), *name = slash ? slash + 1 : folder;
    char *prefix = malloc(strlen(folder) + 48);
    if (prefix) sprintf(prefix, "%.*s.%s.mawam-", (int)(name - folder), folder, name);
    return prefix;
}

/* Removes hidden folders of this target whose process is gone: what an interrupted run left. */
static void remove_stale(const char *prefix) {
    const char *slash = strrchr(prefix, '/'), *start = slash ? slash + 1 : prefix;
    size_t parent_length = (size_t)(start - prefix), start_length = strlen(start);
    char *parent = parent_length ? strndup(prefix, parent_length) : strdup(".");
    DIR *stream = parent ? opendir(parent) : NULL;
    for (struct dirent *entry; stream && (entry = readdir(stream));) {
        if (strncmp(entry->d_name, start, start_length) != 0) continue;
        long process = strtol(entry->d_name + start_length, NULL, 10);
        if (!mw_process_gone(process)) continue;
        char *path = mw_path_join(parent, entry->d_name);
        const int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) /* else of a process in another container */
            mw_dataset_remove(path);
        if (fd >= 0) close(fd);
        free(path);
    }
    if (stream) closedir(stream);
    free(parent);
}

void mw_dataset_sweep(const char *folder) {
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') length--;
    char *target = realpath(folder, NULL); /* where a link leads to, as the writer does */
    if (!target) target = strndup(folder, length);
    char *prefix = target ? hidden_prefix(target) : NULL;
    if (prefix) remove_stale(prefix);
    free(prefix);
    free(target);
}

static mw_status make_hidden(mw_dataset_writer *w, mw_error *error) {
    static atomic_uint counter;
    const char *slash = strrchr(w->folder, '/');
    if (slash && slash > w->folder) {
        char *parent = strndup(w->folder, (size_t)(slash - w->folder));
        mw_status status = parent ? mw_dir_make(parent, error)
                                  : mw_fail(error, MW_ERR_MEMORY, "out of memory for a folder's name");
        free(parent);
        MW_TRY(status);
    }
    w->hidden = hidden_prefix(w->folder);
    if (!w->hidden) return mw_fail(error, MW_ERR_MEMORY, "out of memory for a folder's name");
    remove_stale(w->hidden);
    mw_file_sweep(w->folder);
    for (char *number = strchr(w->hidden, 0);;) {
        sprintf(number, "%ld-%u", (long)getpid(), atomic_fetch_add(&counter, 1u));
        if (mkdir(w->hidden, 0777) == 0) {
            w->process = getpid();
            w->lock = open(w->hidden, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            if (w->lock >= 0) (void)flock(w->lock, LOCK_EX | LOCK_NB); /* not every file system has locks */
            return MW_OK;
        }
        if (errno == EEXIST) continue; /* a killed process had our number, as in containers */
        return fail_system(error, "make the folder", w->hidden);
    }
}

/* ---- life ---------------------------------------------------------------------------------------------- */

static void free_sources(mw_dataset_spec *spec) {
    for (int i = 0; i < spec->source_count; i++) free((char *)spec->sources[i].name);
    free((void *)spec->sources);
    spec->sources = NULL;
    spec->source_count = 0;
}

static void writer_free(mw_dataset_writer *w) {
    free((char *)w->spec.task);
    free((char *)w->spec.rules);
    free((char *)w->spec.quality);
    free((char *)w->spec.command);
    free((char *)w->spec.note);
    free_sources(&w->spec);
    free(w->folder);
    free(w->hidden);
    free(w->returns);
    free(w->all_legal);
    if (w->lock >= 0) close(w->lock);
    free(w);
}

mw_status mw_dataset_writer_sources(mw_dataset_writer *w, const mw_data_source *sources, int count,
                                    mw_error *error) {
    MW_NEED_AS(w, "writer");
    if (count < 0 || (count > 0 && !sources))
        return mw_fail(error, MW_ERR_ARGUMENT, "%d behaviours without a list", count);
    for (int i = 0; i < count; i++)
        if (sources[i].episodes < 0)
            return mw_fail(error, MW_ERR_ARGUMENT, "behaviour %d acted in %ld episodes, expected 0 or more",
                           i, sources[i].episodes);
    mw_data_source *copy = calloc((size_t)count + 1, sizeof *copy);
    mw_dataset_spec fresh = {.sources = copy, .source_count = copy ? count : 0};
    bool ok = copy != NULL;
    for (int i = 0; ok && i < count; i++) {
        copy[i] = sources[i];
        copy[i].name = strdup(sources[i].name ? sources[i].name : "");
        ok = copy[i].name != NULL;
    }
    if (!ok) {
        free_sources(&fresh);
        return mw_fail(error, MW_ERR_MEMORY, "out of memory for %d behaviours", count);
    }
    free_sources(&w->spec);
    w->spec.sources = copy;
    w->spec.source_count = count;
    return MW_OK;
}

/* Behind a link it is the folder itself that is replaced: the link stays as it is. */
static mw_status follow_link(mw_dataset_writer *w, mw_error *error) {
    struct stat info;
    if (lstat(w->folder, &info) != 0 || !S_ISLNK(info.st_mode)) return MW_OK;
    char *target = realpath(w->folder, NULL);
    if (!target) return fail_system(error, "follow the link", w->folder);
    free(w->folder);
    w->folder = target;
    return MW_OK;
}

static mw_status copy_spec(mw_dataset_writer *w, const char *folder, const mw_dataset_spec *spec,
                           mw_error *error) {
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') length--;
    w->folder = strndup(folder, length);
    w->spec = *spec;
    w->spec.sources = NULL;
    w->spec.source_count = 0;
    const char **texts[] = {&w->spec.task, &w->spec.rules, &w->spec.quality, &w->spec.command, &w->spec.note};
    bool ok = w->folder != NULL;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        *texts[i] = strdup(*texts[i] ? *texts[i] : "");
        ok &= *texts[i] != NULL;
    }
    if (!ok) return mw_fail(error, MW_ERR_MEMORY, "out of memory for a dataset's description");
    return mw_dataset_writer_sources(w, spec->sources, spec->source_count, error);
}

mw_status mw_dataset_writer_foreign(mw_dataset_writer *w, const char *rules, const char *quality,
                                    mw_error *error) {
    char *texts[] = {strdup(rules), strdup(quality ? quality : "")};
    if (!texts[0] || !texts[1]) {
        free(texts[0]);
        free(texts[1]);
        return mw_fail(error, MW_ERR_MEMORY, "out of memory for a dataset's description");
    }
    free((char *)w->spec.rules);
    free((char *)w->spec.quality);
    w->spec.rules = texts[0];
    w->spec.quality = texts[1];
    return MW_OK;
}

mw_status mw_dataset_writer_open(mw_dataset_writer **writer, const char *folder, const mw_dataset_spec *spec,
                                 bool overwrite, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED(writer);
    *writer = NULL;
    MW_NEED(folder);
    MW_NEED(spec);
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') length--;
    size_t name = length;
    while (name > 0 && folder[name - 1] != '/') name--;
    if (strspn(folder + name, ".") >= length - name && length - name <= 2) /* "", "/", "x/.", "x/.." */
        return mw_fail(error, MW_ERR_ARGUMENT, "cannot write a dataset to '%s': not a folder's name", folder);
    MW_TRY(mw_dataset_spec_check(spec, "description of the dataset", error));
    MW_TRY(check_target(folder, overwrite, error));
    mw_dataset_writer *w = calloc(1, sizeof *w);
    if (!w) return mw_fail(error, MW_ERR_MEMORY, "out of memory for a dataset writer");
    w->overwrite = overwrite;
    w->lock = -1;
    mw_status status = copy_spec(w, folder, spec, error);
    if (status == MW_OK) status = follow_link(w, error);
    if (status == MW_OK) status = make_hidden(w, error);
    if (status != MW_OK) {
        writer_free(w);
        return status;
    }
    *writer = w;
    return MW_OK;
}

void mw_dataset_writer_abandon(mw_dataset_writer *w) {
    if (!w || w->process != getpid()) return; /* in a fork it is another process's, streams and files */
    for (int c = 0; c < MW_COLUMN_COUNT; c++)
        if (w->open[c]) mw_npy_writer_abandon(&w->columns[c]);
    mw_dataset_remove(w->hidden);
    writer_free(w);
}

long mw_dataset_writer_steps(const mw_dataset_writer *w) {
    return w ? w->steps : 0;
}

/* ---- episodes ------------------------------------------------------------------------------------------ */

/* Which columns there are is known with the first episode. */
static mw_status open_columns(mw_dataset_writer *w, bool last_known, mw_error *error) {
    w->last_known = last_known;
    for (mw_column c = 0; c < MW_COLUMN_COUNT; c++) {
        mw_dtype type;
        int dims;
        size_t shape[2];
        char file[32];
        if (!mw_column_layout(&w->spec, last_known, c, &type, &dims, shape)) continue;
        snprintf(file, sizeof file, "%s.npy", mw_column_names[c]);
        char *path = mw_path_join(w->hidden, file);
        if (!path) return mw_fail(error, MW_ERR_MEMORY, "out of memory for a file's name");
        mw_status status = mw_npy_writer_open(&w->columns[c], path, type, dims, shape, error);
        free(path);
        MW_TRY(status);
        w->open[c] = true;
    }
    return MW_OK;
}

static mw_status note_return(mw_dataset_writer *w, const mw_episode *episode, mw_error *error) {
    if (w->episodes == w->capacity) {
        long capacity = w->capacity ? 2 * w->capacity : 1024;
        double *grown = realloc(w->returns, (size_t)capacity * sizeof *grown);
        if (!grown) return mw_fail(error, MW_ERR_MEMORY, "out of memory for %ld returns", capacity);
        w->returns = grown;
        w->capacity = capacity;
    }
    w->returns[w->episodes++] = mw_episode_return(episode, w->spec.agents);
    w->steps += episode->length;
    w->wins += episode->outcome == MW_ENDED_BY_VICTORY;
    return MW_OK;
}

static mw_status write_rows(mw_dataset_writer *w, const mw_episode *episode, mw_error *error) {
    const int64_t length = episode->length;
    const size_t steps = (size_t)length;
    const struct {
        const void *rows;
        size_t count;
    } parts[MW_COLUMN_COUNT] = {
        [MW_COLUMN_OBS] = {episode->obs, steps},
        [MW_COLUMN_ACTIONS] = {w->spec.discrete ? (const void *)episode->index : episode->real, steps},
        [MW_COLUMN_REWARDS] = {episode->rewards, steps},
        [MW_COLUMN_LEGALS] = {episode->legal, steps},
        [MW_COLUMN_LENGTHS] = {&length, 1},
        [MW_COLUMN_LAST_OBS] = {episode->last_obs, 1},
        [MW_COLUMN_OUTCOMES] = {&episode->outcome, 1},
    };
    if (w->episodes == 0) MW_TRY(open_columns(w, episode->last_obs != NULL, error));
    for (mw_column c = 0; c < MW_COLUMN_COUNT; c++)
        if (w->open[c]) MW_TRY(mw_npy_writer_rows(&w->columns[c], parts[c].rows, parts[c].count, error));
    for (mw_column c = 0; c < MW_COLUMN_COUNT; c++) /* a fork that exits would write what is buffered again */
        if (w->open[c]) fflush(w->columns[c].writer.stream); /* a failure shows at the commit */
    return note_return(w, episode, error);
}

/* Ones for every action of an episode that says nothing about them. */
static mw_status allow_all(mw_dataset_writer *w, mw_episode *episode, mw_error *error) {
    const size_t size = (size_t)episode->length * (size_t)w->spec.agents * (size_t)w->spec.act_size;
    if (size > w->all_legal_size) {
        free(w->all_legal);
        w->all_legal = malloc(size);
        w->all_legal_size = w->all_legal ? size : 0;
        if (!w->all_legal) return mw_fail(error, MW_ERR_MEMORY, "out of memory for %zu legal actions", size);
        memset(w->all_legal, 1, size);
    }
    episode->legal = w->all_legal;
    return MW_OK;
}

mw_status mw_dataset_writer_add(mw_dataset_writer *w, const mw_episode *given, mw_error *error) {
    MW_NEED_AS(w, "writer");
    MW_NEED_AS(given, "episode");
    if (w->failed) return mw_fail(error, MW_ERR_ARGUMENT, "'%s': a write failed before", w->folder);
    mw_episode episode = *given;
    MW_TRY(mw_episode_length_check(&w->spec, episode.length, w->episodes, "", error));
    if (w->spec.discrete && !episode.legal) MW_TRY(allow_all(w, &episode, error));
    MW_TRY(mw_episode_check(&w->spec, &episode, w->episodes, "", error));
    if (w->episodes > 0 && (episode.last_obs != NULL) != w->last_known)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "last_obs.npy: episode %ld %s its last observation, unlike the ones before",
                       w->episodes, w->last_known ? "lacks" : "has");
    const mw_status status = write_rows(w, &episode, error);
    w->failed = status != MW_OK;
    return status;
}

/* ---- the description ----------------------------------------------------------------------------------- */

static json_t *checksum_text(uint64_t checksum) {
    char text[40];
    snprintf(text, sizeof text, "fnv1a64:%016llx", (unsigned long long)checksum);
    return json_string(text);
}

static json_t *describe_returns(mw_dataset_writer *w) {
    mw_return_stats r = mw_return_stats_of(w->returns, w->episodes);
    return json_pack("{s:f, s:f, s:f, s:[f,f,f], s:f, s:f}", "mean", r.mean, "std", r.std, "minimum",
                     r.minimum, "quartiles", r.quartile[0], r.quartile[1], r.quartile[2], "maximum",
                     r.maximum, "won", (double)w->wins / (double)w->episodes);
}

static json_t *describe_columns(const mw_dataset_writer *w) {
    json_t *columns = json_object();
    for (int c = 0; c < MW_COLUMN_COUNT; c++) {
        if (!w->open[c]) continue;
        const mw_npy_writer *column = &w->columns[c];
        json_t *shape = json_array(), *entry = json_object();
        for (int i = 0; i < column->dims; i++)
            json_array_append_new(shape, json_integer((json_int_t)column->shape[i]));
        json_object_set_new(entry, "type", json_string(mw_dtype_name(column->type)));
        json_object_set_new(entry, "shape", shape);
        json_object_set_new(entry, "checksum", checksum_text(column->hash));
        json_object_set_new(columns, mw_column_names[c], entry);
    }
    return columns;
}

static json_t *sources_json(const mw_dataset_spec *spec) {
    json_t *sources = json_array();
    for (int i = 0; sources && i < spec->source_count; i++) {
        const mw_data_source *s = &spec->sources[i];
        json_t *entry = json_pack("{s:o, s:I, s:o}", "name", mw_json_words(s->name), "episodes",
                                  (json_int_t)s->episodes, "checksum", checksum_text(s->checksum));
        if (entry && json_array_append_new(sources, entry) == 0) continue;
        json_decref(sources);
        return NULL;
    }
    return sources;
}

json_t *mw_dataset_spec_json(const mw_dataset_spec *spec) {
    char seed[24];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)spec->seed);
    return json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:b, s:i, s:s, s:o, s:o, s:o}", "task", spec->task,
                     "rules", spec->rules, "quality", spec->quality, "agents", spec->agents, "obs_size",
                     spec->obs_size, "act_size", spec->act_size, "discrete", spec->discrete, "episode_limit",
                     spec->episode_limit, "seed", seed, "command", mw_json_words(spec->command), "note",
                     mw_json_words(spec->note), "behaviors", sources_json(spec));
}

static json_t *describe(mw_dataset_writer *w) {
    json_t *root = json_pack("{s:s, s:i, s:s}", "format", "mawam-dataset", "version", MW_DATASET_VERSION,
                             "mawam", mw_version()),
           *spec = mw_dataset_spec_json(&w->spec);
    if (!root || !spec || json_object_update(root, spec) != 0) {
        json_decref(root);
        root = NULL;
    }
    json_decref(spec);
    if (!root) return NULL;
    json_object_set_new(root, "steps", json_integer(w->steps));
    json_object_set_new(root, "episodes", json_integer(w->episodes));
    json_object_set_new(root, "returns", describe_returns(w));
    json_object_set_new(root, "columns", describe_columns(w));
    return root;
}

/* ---- later corrections --------------------------------------------------------------------------------- */

mw_status mw_dataset_declare(const char *folder, const char *rules, const char *note, mw_error *error) {
    MW_PLAIN_NUMBERS;
    mw_dataset dataset;
    json_t *root = NULL;
    MW_NEED(folder);
    MW_NEED(rules);
    MW_TRY(mw_dataset_open(&dataset, folder, error));
    mw_dataset_spec spec = dataset.spec;
    spec.rules = rules;
    mw_status status = mw_dataset_spec_check(&spec, folder, error);
    mw_dataset_close(&dataset);
    MW_TRY(status);
    char *path = mw_path_join(folder, MW_DATASET_JSON);
    if (!path) return mw_fail(error, MW_ERR_MEMORY, "out of memory for a file's name");
    status = mw_json_read(&root, path, error);
    if (status == MW_OK) {
        json_object_set_new(root, "rules", json_string(rules));
        if (note) json_object_set_new(root, "note", mw_json_words(note));
        status = mw_json_write(root, path, error);
    }
    json_decref(root);
    free(path);
    return status;
}

/* ---- commit -------------------------------------------------------------------------------------------- */

static mw_status write_description(mw_dataset_writer *w, const json_t *root, mw_error *error) {
    char *path = mw_path_join(w->hidden, MW_DATASET_JSON);
    mw_status status = path ? mw_json_write(root, path, error)
                            : mw_fail(error, MW_ERR_MEMORY, "out of memory for a file's name");
    free(path);
    return status;
}

/* Gives the finished folder its name. An old dataset is swapped out in one step where the system can do it,
 * so that there is no moment without one, and then removed. */
static mw_status take_name(mw_dataset_writer *w, mw_error *error) {
    MW_TRY(check_target(w->folder, w->overwrite, error));
    if (rename(w->hidden, w->folder) == 0) return mw_file_sync_name(w->folder, error);
    if (!w->overwrite) return fail_system(error, "rename the finished dataset to", w->folder);
    if (renameat2(AT_FDCWD, w->hidden, AT_FDCWD, w->folder, RENAME_EXCHANGE) != 0) {
        mw_dataset_remove(w->folder);
        if (rename(w->hidden, w->folder) != 0)
            return fail_system(error, "rename the finished dataset to", w->folder);
        return mw_file_sync_name(w->folder, error);
    }
    const mw_status status = mw_file_sync_name(w->folder, error);
    mw_dataset_remove(w->hidden);
    return status;
}

static mw_status commit(mw_dataset_writer *w, mw_error *error) {
    if (w->failed) return mw_fail(error, MW_ERR_ARGUMENT, "'%s': a write failed before", w->folder);
    if (w->episodes == 0)
        return mw_fail(error, MW_ERR_ARGUMENT, "'%s': a dataset needs at least one episode", w->folder);
    json_t *root = describe(w);
    mw_status status = MW_OK;
    for (mw_column c = 0; c < MW_COLUMN_COUNT && status == MW_OK; c++) {
        if (w->open[c]) status = mw_npy_writer_commit(&w->columns[c], error);
        w->open[c] = false;
    }
    if (status == MW_OK) status = write_description(w, root, error);
    json_decref(root);
    return status == MW_OK ? take_name(w, error) : status;
}

mw_status mw_dataset_writer_commit(mw_dataset_writer *w, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED_AS(w, "writer");
    mw_status status = commit(w, error);
    if (status == MW_OK)
        writer_free(w);
    else
        mw_dataset_writer_abandon(w);
    return status;
}
