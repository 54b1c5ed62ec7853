/* The bundles of the folder that the live view was started with; see stage.h. */
#include "live/stage.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static int bundles_only(const struct dirent *entry) {
    const char *end = strrchr(entry->d_name, '.');
    return entry->d_name[0] != '.' && end && !strcmp(end, ".safetensors") && strlen(entry->d_name) < 256;
}

/* What there is no memory for is left out. */
int mw_stage_bundles(const mw_stage *stage, char ***names) {
    struct dirent **entries;
    const int found = scandir(stage->folder, &entries, bundles_only, alphasort);
    *names = found > 0 ? calloc((size_t)found, sizeof **names) : NULL;
    int count = 0;
    for (int i = 0; i < found; i++) {
        char *name = *names ? strdup(entries[i]->d_name) : NULL;
        if (name) (*names)[count++] = name;
        free(entries[i]);
    }
    if (found >= 0) free(entries);
    return found < 0 ? found : count;
}

void mw_stage_bundles_free(char **names, int count) {
    for (int i = 0; i < count; i++) free(names[i]);
    free(names);
}

mw_status mw_stage_bundle(mw_bundle **bundle, const mw_stage *stage, const char *name, mw_error *error) {
    char path[2400];
    snprintf(path, sizeof path, "%s/%s", stage->folder, name);
    return mw_bundle_load(bundle, path, error);
}
