/* One checksum over those of all columns of a dataset; see dataset.h. */
#include "core/file.h"
#include "core/json.h"
#include "data/columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

mw_status mw_dataset_checksum(char out[17], const mw_dataset *dataset, mw_error *error) {
    char *path = mw_path_join(dataset->folder, MW_DATASET_JSON);
    json_t *root = NULL;
    if (!path) return mw_fail(error, MW_ERR_MEMORY, "out of memory for a file's name");
    const mw_status status = mw_json_read(&root, path, error);
    free(path);
    MW_TRY(status);
    char *text =
        json_dumps(json_object_get(root, "columns"), JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    const uint64_t hash = text ? mw_hash(MW_HASH_START, text, strlen(text)) : 0;
    snprintf(out, 17, "%016llx", (unsigned long long)hash);
    json_decref(root);
    if (!text)
        return mw_fail(error, MW_ERR_FORMAT, "%s/" MW_DATASET_JSON ": has no columns", dataset->folder);
    free(text);
    return MW_OK;
}
