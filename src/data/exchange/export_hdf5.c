/* Writing HDF5 episodes in Minari's layout: observations and actions as one member per agent (what its
 * dictionary spaces look like), rewards as [steps][n]; see import.h. The library is used in a child process:
 * after a write that failed its exit handlers crash. */
#include "core/file.h"
#include "core/machine/child.h"
#include "core/options.h"
#include "data/exchange/hdf5_common.h"
#include "data/exchange/import_common.h"

static const mw_export_options defaults = {.size = sizeof defaults};

void mw_export_options_init(mw_export_options *options, size_t size) {
    mw_options_fill(options, size, &defaults, sizeof defaults);
}

#ifndef MAWAM_HAVE_HDF5

mw_status mw_export_hdf5(const mw_dataset *dataset, const char *path, const mw_export_options *options,
                         mw_error *error) {
    (void)dataset, (void)path, (void)options;
    return mw_fail(error, MW_ERR_UNSUPPORTED, MW_HDF5_MISSING);
}

#else

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

typedef struct sink {
    const mw_dataset *data;
    hid_t file, plain, boolean; /* plain: creation properties without time stamps, for equal bits */
    unsigned char *row;         /* one agent's rows of an episode */
} sink;

static bool write_attribute(hid_t object, const char *name, hid_t type, const void *value) {
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool ok = attribute >= 0 && H5Awrite(attribute, type, value) >= 0;
    ok = attribute >= 0 && H5Aclose(attribute) >= 0 && ok;
    H5Sclose(space);
    return ok;
}

static bool write_number(hid_t object, const char *name, long value) {
    return write_attribute(object, name, H5T_NATIVE_LONG, &value);
}

static bool write_text(hid_t object, const char *name, const char *value) {
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    bool ok = write_attribute(object, name, type, &value);
    H5Tclose(type);
    return ok;
}

/* rows x width numbers (width 0: a vector). */
static bool write_array(const sink *s, hid_t group, const char *name, hid_t stored, hid_t given, size_t rows,
                        size_t width, const void *data) {
    hsize_t dims[2] = {rows, width};
    hid_t space = H5Screate_simple(width ? 2 : 1, dims, NULL);
    hid_t array = H5Dcreate2(group, name, stored, space, H5P_DEFAULT, s->plain, H5P_DEFAULT);
    bool ok = array >= 0 && H5Dwrite(array, given, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
    ok = array >= 0 && H5Dclose(array) >= 0 && ok; /* small arrays are written only now */
    H5Sclose(space);
    return ok;
}

/* A group with one member per agent out of data[rows][n][bytes]; `last` (may be NULL) is one row [n][bytes]
 * more. */
static bool write_members(const sink *s, hid_t parent, const char *name, hid_t stored, hid_t given,
                          size_t rows, size_t width, size_t bytes, const void *data, const void *last) {
    size_t n = (size_t)s->data->spec.agents;
    hid_t group = H5Gcreate2(parent, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    bool ok = group >= 0;
    for (size_t i = 0; i < n && ok; i++) {
        char member[32];
        for (size_t r = 0; r < rows; r++)
            memcpy(s->row + r * bytes, (const char *)data + (r * n + i) * bytes, bytes);
        if (last) memcpy(s->row + rows * bytes, (const char *)last + i * bytes, bytes);
        snprintf(member, sizeof member, "agent_%zu", i);
        ok = write_array(s, group, member, stored, given, rows + (last != NULL), width, s->row);
    }
    return group >= 0 && H5Gclose(group) >= 0 && ok;
}

static bool write_flags(const sink *s, hid_t group, const mw_episode *e) {
    size_t rows = (size_t)e->length;
    bool world = e->outcome != MW_ENDED_BY_LIMIT;
    memset(s->row, 0, rows);
    s->row[rows - 1] = world;
    bool ok = write_array(s, group, "terminations", s->boolean, s->boolean, rows, 0, s->row);
    s->row[rows - 1] = !world;
    return ok && write_array(s, group, "truncations", s->boolean, s->boolean, rows, 0, s->row);
}

static bool write_infos(const sink *s, hid_t group, const mw_episode *e) {
    size_t d = (size_t)s->data->spec.act_size;
    hid_t infos = H5Gcreate2(group, "infos", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    bool ok = infos >= 0;
    if (ok && e->legal)
        ok = write_members(s, infos, "legal_actions", s->boolean, s->boolean, (size_t)e->length, d, d,
                           e->legal, NULL);
    return infos >= 0 && H5Gclose(infos) >= 0 && ok;
}

static bool write_episode(const sink *s, long number) {
    mw_episode e = mw_dataset_episode(s->data, number);
    size_t rows = (size_t)e.length, n = (size_t)s->data->spec.agents, o = (size_t)s->data->spec.obs_size,
           d = (size_t)s->data->spec.act_size;
    char name[40];
    snprintf(name, sizeof name, "episode_%ld", number);
    hid_t group = H5Gcreate2(s->file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    bool ok = group >= 0 && write_number(group, "id", number) &&
              write_number(group, "total_steps", e.length) && write_number(group, "outcome", e.outcome) &&
              write_members(s, group, "observations", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, rows, o,
                            o * sizeof(float), e.obs, e.last_obs);
    if (ok && e.index)
        ok = write_members(s, group, "actions", H5T_STD_I32LE, H5T_NATIVE_INT32, rows, 0, sizeof(int32_t),
                           e.index, NULL);
    else if (ok)
        ok = write_members(s, group, "actions", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, rows, d, d * sizeof(float),
                           e.real, NULL);
    ok = ok && write_array(s, group, "rewards", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, rows, n, e.rewards) &&
         write_flags(s, group, &e) && write_infos(s, group, &e);
    return group >= 0 && H5Gclose(group) >= 0 && ok;
}

/* NumPy's booleans, as h5py stores them. */
static hid_t boolean_type(void) {
    hid_t type = H5Tenum_create(H5T_NATIVE_INT8);
    H5Tenum_insert(type, "FALSE", &(int8_t){0});
    H5Tenum_insert(type, "TRUE", &(int8_t){1});
    return type;
}

static bool write_all(sink *s, const char *path) {
    const mw_dataset *d = s->data;
    char id[160], author[64];
    snprintf(id, sizeof id, "%s-%s-v0", d->spec.task, *d->spec.quality ? d->spec.quality : "data");
    snprintf(author, sizeof author, "mawam %s", mw_version());
    s->file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (s->file < 0) return false;
    bool ok = write_text(s->file, "dataset_id", id) && write_text(s->file, "author", author) &&
              write_text(s->file, "task", d->spec.task) && write_text(s->file, "rules", d->spec.rules) &&
              write_text(s->file, "quality", d->spec.quality) &&
              write_number(s->file, "total_steps", d->steps) &&
              write_number(s->file, "total_episodes", d->episodes);
    uint64_t hash = MW_HASH_START;
    char checksum[17];
    for (long e = 0; e < d->episodes && ok; e++) {
        const mw_episode episode = mw_dataset_episode(d, e);
        hash = mw_exchange_hash(hash, &d->spec, &episode);
        ok = write_episode(s, e);
    }
    snprintf(checksum, sizeof checksum, "%016llx", (unsigned long long)hash);
    ok = ok && write_text(s->file, "checksum", checksum);
    return H5Fclose(s->file) >= 0 && ok; /* closing writes what is cached, so its success counts */
}

static mw_status export_to(sink *s, const mw_writer *writer, mw_error *error) {
    size_t longest = 1;
    for (long e = 0; e < s->data->episodes; e++)
        if ((size_t)s->data->lengths[e] > longest) longest = (size_t)s->data->lengths[e];
    size_t o = (size_t)s->data->spec.obs_size, d = (size_t)s->data->spec.act_size;
    s->row = malloc((longest + 1) * (o > d ? o : d) * sizeof(float));
    if (!s->row) return mw_fail(error, MW_ERR_MEMORY, "out of memory for an episode of %zu steps", longest);
    flock(fileno(writer->stream), LOCK_UN); /* the library takes a lock of its own */
    errno = 0;
    if (write_all(s, writer->temporary)) return MW_OK;
    return mw_fail(error, MW_ERR_IO, "cannot write '%s': %s", writer->path,
                   errno ? strerror(errno) : "the HDF5 library failed");
}

/* In the child. */
typedef struct request {
    const mw_dataset *dataset;
    const mw_writer *writer;
} request;

static mw_status work(void *context, void *result, mw_error *error) {
    (void)result;
    const request *r = context;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    sink s = {.data = r->dataset, .boolean = boolean_type(), .plain = H5Pcreate(H5P_DATASET_CREATE)};
    H5Pset_obj_track_times(s.plain, false);
    return export_to(&s, r->writer, error); /* memory goes with the process */
}

mw_status mw_export_hdf5(const mw_dataset *dataset, const char *path, const mw_export_options *given,
                         mw_error *error) {
    mw_export_options options = defaults;
    MW_TRY(mw_options_take(&options, sizeof options, sizeof options, given, "mw_export_options_init", error));
    MW_NEED(dataset);
    MW_NEED(path);
    MW_TRY(mw_hdf5_need(error));
    if (mw_file_exists(path) && !options.overwrite)
        return mw_fail(error, MW_ERR_ARGUMENT, "'%s' is there already; 'overwrite' replaces it", path);
    mw_writer writer;
    MW_TRY(mw_writer_open(&writer, path, error));
    const mw_child_limits limits = {.stop = options.stop};
    const mw_status status = mw_child_run(path, work, &(request){dataset, &writer}, NULL, 0, &limits, error);
    if (status == MW_OK) return mw_writer_commit(&writer, error);
    mw_writer_abandon(&writer);
    return status;
}

#endif
