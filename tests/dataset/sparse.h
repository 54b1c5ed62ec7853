/* Large datasets that take no disk: columns of zeros that are holes in files. Their checksums are known
 * without reading them, because FNV-1a over zeros is a power. */
#ifndef MW_TESTS_SPARSE_H
#define MW_TESTS_SPARSE_H

#include "core/json.h"
#include "data/columns.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline uint64_t sparse_hash_of_zeros(uint64_t count) {
    uint64_t result = MW_HASH_START, factor = 0x100000001B3u;
    for (; count; count /= 2, factor *= factor)
        if (count % 2) result *= factor;
    return result;
}

/* A real-action dataset of `episodes` episodes of `length` steps; false if something failed. The folder must
 * not exist. */
static inline bool sparse_make(const char *folder, int agents, int obs_size, int act_size, long episodes,
                               int length) {
    mw_error error;
    mw_dataset_writer *writer;
    mw_dataset_spec spec = {.task = "sparse",
                            .rules = "sparse-1",
                            .agents = agents,
                            .obs_size = obs_size,
                            .act_size = act_size,
                            .episode_limit = length};
    float *zeros = calloc((size_t)length * (size_t)agents * (size_t)(obs_size + act_size), sizeof *zeros);
    mw_episode one = {.length = length, .obs = zeros, .last_obs = zeros, .real = zeros, .rewards = zeros};
    bool ok = zeros && mw_dataset_writer_open(&writer, folder, &spec, false, &error) == MW_OK &&
              mw_dataset_writer_add(writer, &one, &error) == MW_OK &&
              mw_dataset_writer_commit(writer, &error) == MW_OK;
    free(zeros);
    /* One episode was written properly; now every column is stretched to the full number. */
    char *json = mw_path_join(folder, MW_DATASET_JSON);
    json_t *root = NULL;
    ok = ok && mw_json_read(&root, json, &error) == MW_OK;
    json_t *columns = json_object_get(root, "columns");
    for (mw_column c = 0; ok && c < MW_COLUMN_COUNT; c++) {
        mw_dtype type;
        int dims;
        size_t row[2];
        char file[32], text[40];
        if (!mw_column_layout(&spec, true, c, &type, &dims, row)) continue;
        snprintf(file, sizeof file, "%s.npy", mw_column_names[c]);
        char *path = mw_path_join(folder, file);
        mw_npy_writer w;
        ok = mw_npy_writer_open(&w, path, type, dims, row, &error) == MW_OK;
        uint64_t rows = (uint64_t)episodes * (c < MW_COLUMN_FIRST_PER_EPISODE ? (uint64_t)length : 1);
        if (ok && c == MW_COLUMN_LENGTHS) {
            int64_t value = length;
            for (long e = 0; ok && e < episodes; e++) ok = mw_npy_writer_rows(&w, &value, 1, &error) == MW_OK;
        } else if (ok) {
            w.shape[0] = rows;
            w.hash = sparse_hash_of_zeros(rows * w.row_bytes);
        }
        uint64_t hash = w.hash, bytes = 128 + rows * w.row_bytes;
        ok = ok && mw_npy_writer_commit(&w, &error) == MW_OK && truncate(path, (off_t)bytes) == 0;
        free(path);
        snprintf(text, sizeof text, "fnv1a64:%016llx", (unsigned long long)hash);
        json_object_set_new(json_object_get(columns, mw_column_names[c]), "checksum", json_string(text));
    }
    json_object_set_new(root, "steps", json_integer((json_int_t)episodes * length));
    json_object_set_new(root, "episodes", json_integer(episodes));
    ok = ok && mw_json_write(root, json, &error) == MW_OK;
    json_decref(root);
    free(json);
    return ok;
}

/* A line of /proc/self/status, in bytes: "RssAnon", "RssFile", "VmRSS", "VmHWM". */
static inline double sparse_memory(const char *key) {
    char line[256];
    double kilobytes = -1;
    FILE *file = fopen("/proc/self/status", "r");
    size_t length = strlen(key);
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, key, length) && line[length] == ':') kilobytes = atof(line + length + 1);
    if (file) fclose(file);
    return kilobytes * 1024;
}

#endif
