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

static int stale;

static void run(const uint8_t *data, size_t size, const char *name, bool good) {
    const long before = fuzz_accepted;
    LLVMFuzzerTestOneInput(data, size);
    if (!good || fuzz_accepted > before) return;
    fprintf(stderr, "%s is refused: does it follow the present format?\n", name);
    stale = 1;
}

static int run_file(const char *path, const char *name) {
    mw_map map;
    mw_error error;
    if (mw_map_open(&map, path, &error) != MW_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 0;
    }
    run(map.data, map.size, path, !strncmp(name, "good-", 5));
    mw_map_close(&map);
    return 1;
}

int main(int argc, char **argv) {
    int count = 0;
    fuzz_always = true;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        if (!folder) {
            count += run_file(argv[i], argv[i]);
            continue;
        }
        for (struct dirent *entry; (entry = readdir(folder));) {
            char path[2048];
            snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
            if (entry->d_name[0] != '.') count += run_file(path, entry->d_name);
        }
        closedir(folder);
    }
    for (unsigned seed = 0; seed < 8; seed++) {
        static uint8_t made[1 << 16];
        const size_t size =
            LLVMFuzzerCustomMutator ? LLVMFuzzerCustomMutator(made, 0, sizeof made, 256 * seed) : 0;
        if (size) run(made, size, "what the mutator makes of nothing", true);
    }
    printf("%d inputs\n", count);
    return count > 0 && !stale ? 0 : 1;
}
