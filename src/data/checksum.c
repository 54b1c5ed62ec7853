/* One checksum over those of all columns of a dataset; see dataset.h. */
#include "core/file.h"
#include "core/json.h"
#include "data/dataset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

mw_status mw_dataset_checksum(char out[17], const mw_dataset *dataset, mw_error *error) {
    char path[1024];
    json_t *root;
    if (snprintf(path, sizeof path, "%s/dataset.json", dataset->folder) >= (int)sizeof path)
        return mw_fail(error, MW_ERR_ARGUMENT, "'%s' is too long a path", dataset->folder);
    MW_TRY(mw_json_read(&root, path, error));
    char *text =
        json_dumps(json_object_get(root, "columns"), JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    const uint64_t hash = text ? mw_hash(MW_HASH_START, text, strlen(text)) : 0;
    snprintf(out, 17, "%016llx", (unsigned long long)hash);
    json_decref(root);
    if (!text) return mw_fail(error, MW_ERR_FORMAT, "%s: has no columns", path);
    free(text);
    return MW_OK;
}
