/* Arrays of an HDF5 file one at a time; see hdf5_reader.h. */
#include "data/exchange/hdf5_reader.h"

#ifdef MAWAM_HAVE_HDF5

#include "core/machine/loaded.h"

#include <stdlib.h>
#include <string.h>

#ifdef MAWAM_LOAD
mw_hdf5_names mw_hdf5_table;

mw_status mw_hdf5_need(mw_error *error) {
    static const char *const files[] = {"libhdf5_serial.so.103", "libhdf5.so.103", "libhdf5_serial.so",
                                        "libhdf5.so", NULL};
    static const char *const names[] = {MW_HDF5_NAMES};
    static mw_loaded object = {.what = "HDF5 1.10",
                               .variable = "MAWAM_HDF5",
                               .package = "libhdf5-103-1",
                               .files = files,
                               .names = names,
                               .table = (void **)&mw_hdf5_table};
    unsigned major, minor, patch;
    MW_TRY(mw_loaded_need(&object, error));
    if (H5get_libversion(&major, &minor, &patch) < 0 || major != 1 || minor != 10)
        return mw_fail(error, MW_ERR_MISMATCH, "this needs HDF5 1.10; what was loaded is %u.%u.%u", major,
                       minor, patch);
    return MW_OK;
}
#else
mw_status mw_hdf5_need(mw_error *error) {
    (void)error;
    return MW_OK;
}
#endif

const char *mw_hdf5_place(const mw_hdf5_reader *in, char *buffer, size_t size, const char *episode,
                          const char *name, const char *member) {
    snprintf(buffer, size, "%.200s: %.60s/%.60s%s%.60s", in->path, episode, name, member ? "/" : "",
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

mw_status mw_hdf5_expect(const mw_hdf5_reader *in, const char *where, size_t bytes, mw_error *error) {
    if (bytes <= in->limit) return MW_OK;
    return mw_fail(error, MW_ERR_FORMAT,
                   "%s: unpacks to more than %zu bytes, the limit for a file of its size", where, in->limit);
}

static mw_status open_array(mw_hdf5_reader *in, const char *episode, const char *name, const char *member,
                            hid_t *array, mw_error *error) {
    char inside[256], where[420];
    snprintf(inside, sizeof inside, "%.60s/%.60s%s%.60s", episode, name, member ? "/" : "",
             member ? member : "");
    mw_hdf5_place(in, where, sizeof where, episode, name, member);
    *array = H5Dopen2(in->file, inside, H5P_DEFAULT);
    if (*array < 0) return mw_fail(error, MW_ERR_FORMAT, "%s: there is no such array", where);
    hid_t space = H5Dget_space(*array), type = H5Dget_type(*array);
    H5T_class_t kind = H5Tget_class(type);
    int rank = H5Sget_simple_extent_ndims(space);
    if (rank >= 0 && rank <= 4) H5Sget_simple_extent_dims(space, in->dims, NULL);
    H5Tclose(type);
    H5Sclose(space);
    in->rank = rank;
    in->integers = kind != H5T_FLOAT;
    const bool numbers = kind == H5T_FLOAT || kind == H5T_INTEGER || kind == H5T_ENUM;
    const bool inside_file = !stored_elsewhere(*array);
    if (rank >= 1 && rank <= 4 && numbers && inside_file) return MW_OK;
    H5Dclose(*array);
    return mw_fail(error, MW_ERR_UNSUPPORTED,
                   "%s: expected numbers in 1 to 4 dimensions, stored in this file", where);
}

mw_status mw_hdf5_look(mw_hdf5_reader *in, const char *episode, const char *name, const char *member,
                       mw_error *error) {
    hid_t array;
    MW_TRY(open_array(in, episode, name, member, &array, error));
    H5Dclose(array);
    return MW_OK;
}

mw_status mw_hdf5_load(mw_hdf5_reader *in, const char *episode, const char *name, const char *member,
                       mw_error *error) {
    hid_t array;
    char where[420];
    mw_hdf5_place(in, where, sizeof where, episode, name, member);
    MW_TRY(open_array(in, episode, name, member, &array, error));
    size_t count = 0, bytes = 0, shape[4] = {0};
    for (int i = 0; i < in->rank; i++) shape[i] = (size_t)in->dims[i];
    if (!mw_shape_size(MW_F32, in->rank, shape, &count, &bytes)) bytes = SIZE_MAX;
    mw_status status = mw_hdf5_expect(in, where, bytes, error);
    if (status == MW_OK && count > in->capacity) {
        double *grown = realloc(in->numbers, count * sizeof *grown);
        if (grown) {
            in->numbers = grown;
            in->capacity = count;
        } else {
            status = mw_fail(error, MW_ERR_MEMORY, "out of memory for %zu numbers", count);
        }
    }
    if (status == MW_OK && count > 0 &&
        H5Dread(array, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, in->numbers) < 0)
        status = mw_fail(error, MW_ERR_FORMAT, "%s: cannot be read", where);
    H5Dclose(array);
    return status;
}

/* What listing a group needs to know. */
typedef struct listing {
    const char *prefix;
    mw_names *names;
    mw_status status;
    mw_error *error;
} listing;

static herr_t list_member(hid_t group, const char *name, const H5L_info_t *info, void *context) {
    listing *list = context;
    (void)group, (void)info;
    if (strlen(name) < 64 && !strncmp(name, list->prefix, strlen(list->prefix)))
        list->status = mw_names_add(list->names, name, list->error);
    return list->status == MW_OK ? 0 : -1;
}

/* In one go: finding the n-th member takes n steps where a file remembers the order of their making. */
mw_status mw_hdf5_members(mw_hdf5_reader *in, const char *group, const char *prefix, mw_names *names,
                          mw_error *error) {
    hid_t id = H5Gopen2(in->file, group, H5P_DEFAULT);
    if (id < 0) return mw_fail(error, MW_ERR_FORMAT, "%s: %s is not a group", in->path, group);
    listing list = {prefix, names, MW_OK, error};
    in->failed |= H5Literate(id, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, list_member, &list) < 0;
    H5Gclose(id);
    mw_names_sort(names);
    return list.status;
}

void mw_hdf5_text(mw_hdf5_reader *in, const char *name, char out[64]) {
    char *text = NULL;
    if (!mw_hdf5_yes(in, H5Aexists(in->file, name))) return;
    hid_t attribute = H5Aopen(in->file, name, H5P_DEFAULT);
    hid_t space = attribute >= 0 ? H5Aget_space(attribute) : -1;
    hid_t found = attribute >= 0 ? H5Aget_type(attribute) : -1, type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    in->failed |= space < 0 || found < 0;
    if (space >= 0 && found >= 0 && H5Sget_simple_extent_npoints(space) == 1 &&
        H5Tis_variable_str(found) > 0) {
        in->failed |= H5Aread(attribute, type, &text) < 0;
        if (text && strlen(text) < 64) strcpy(out, text);
    }
    if (text) H5free_memory(text);
    if (found >= 0) H5Tclose(found);
    if (space >= 0) H5Sclose(space);
    if (attribute >= 0) H5Aclose(attribute);
    H5Tclose(type);
}

#endif
