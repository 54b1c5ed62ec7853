/* Runs a fuzz target over files: the seeds, and every input that ever broke it. Used where there is no
 * libFuzzer, which is in every ordinary test run. */
#include "fuzz.h"

#include "core/file.h"

#include <dirent.h>

/* Mutators are linked in but never called here. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most) {
    (void)data, (void)most;
    return size;
}

static int run_file(const char *path) {
    mw_map map;
    mw_error error;
    if (mw_map_open(&map, path, &error) != MW_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 0;
    }
    LLVMFuzzerTestOneInput(map.data, map.size);
    mw_map_close(&map);
    return 1;
}

int main(int argc, char **argv) {
    int count = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        if (!folder) {
            count += run_file(argv[i]);
            continue;
        }
        for (struct dirent *entry; (entry = readdir(folder));) {
            char path[2048];
            snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
            if (entry->d_name[0] != '.') count += run_file(path);
        }
        closedir(folder);
    }
    printf("%d inputs\n", count);
    return count > 0 ? 0 : 1;
}
