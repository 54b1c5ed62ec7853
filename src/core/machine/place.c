/* Where the files that come with mawam are, so that the program works in any folder; see mawam/file.h. */
#include "core/file.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folder above a file's own: the prefix of an installation, or the source tree of a build. */
static bool above(char *path) {
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(path, '/');
        if (!slash) return false;
        *slash = 0;
    }
    return true;
}

static bool above_program(char out[PATH_MAX]) {
    const ssize_t length = readlink("/proc/self/exe", out, PATH_MAX - 1);
    if (length <= 0 || length >= PATH_MAX - 1) return false;
    out[length] = 0;
    return above(out);
}

/* Of the shared library; false where this is linked into the program. */
static bool above_library(char out[PATH_MAX]) {
    static const char here;
    char program[PATH_MAX];
    Dl_info loaded;
    if (!dladdr(&here, &loaded) || !loaded.dli_fname || !strchr(loaded.dli_fname, '/')) return false;
    if (!realpath(loaded.dli_fname, out)) return false;
    return !(realpath("/proc/self/exe", program) && !strcmp(out, program)) && above(out);
}

static bool user_folder(char *out, size_t size) {
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (data && *data == '/') return snprintf(out, size, "%s/mawam", data) < (int)size;
    return home && *home && snprintf(out, size, "%s/.local/share/mawam", home) < (int)size;
}

enum { GIVEN, USER, BESIDE, LIBRARY, CONFIGURED, PRESENT, SOURCE, LIBRARY_SOURCE, FOLDERS };

static bool folder_of(char *out, size_t size, int which) {
    const char *given = getenv("MAWAM_DATA");
    char prefix[PATH_MAX];
    switch (which) {
    case GIVEN:
        return given && *given && snprintf(out, size, "%s", given) < (int)size;
    case USER:
        return user_folder(out, size);
    case BESIDE:
        return above_program(prefix) && snprintf(out, size, "%s/share/mawam", prefix) < (int)size;
    case LIBRARY:
        return above_library(prefix) && snprintf(out, size, "%s/share/mawam", prefix) < (int)size;
    case CONFIGURED:
        return snprintf(out, size, "%s", MAWAM_DATADIR) < (int)size;
    case PRESENT:
        return snprintf(out, size, ".") < (int)size;
    case SOURCE:
        return above_program(prefix) && snprintf(out, size, "%s", prefix) < (int)size;
    default:
        return above_library(prefix) && snprintf(out, size, "%s", prefix) < (int)size;
    }
}

bool mw_data_folder(char *out, size_t size, int index) {
    for (int which = 0; which < FOLDERS; which++)
        if (folder_of(out, size, which) && index-- == 0) return true;
    return false;
}

mw_status mw_data_find(char *out, size_t size, const char *kind, const char *name, mw_error *error) {
    MW_NEED(out);
    MW_NEED(kind);
    MW_NEED(name);
    char folder[2048], seen[400] = "";
    bool room = true;
    for (int i = 0; mw_data_folder(folder, sizeof folder, i); i++) {
        const int length = snprintf(out, size, "%s/%s/%s", folder, kind, name);
        const bool fits = length > 0 && (size_t)length < size;
        if (fits && mw_file_exists(out)) return MW_OK;
        room = room && fits;
        strncat(seen, i ? ", " : "", sizeof seen - strlen(seen) - 1);
        strncat(seen, folder, sizeof seen - strlen(seen) - 1);
    }
    if (size) *out = 0;
    if (!room)
        return mw_fail(error, MW_ERR_ARGUMENT, "%zu bytes have no room for the path of %s/%.80s", size, kind,
                       name);
    return mw_fail(error, MW_ERR_IO, "there is no %s/%.80s in %s", kind, name, seen);
}

mw_status mw_data_path(char *out, size_t size, const char *kind, const char *name, mw_error *error) {
    static const char ending[] = ".safetensors";
    char file[256];
    struct stat found;
    mw_error none;
    MW_NEED(out);
    MW_NEED(kind);
    MW_NEED(name);
    /* A folder of that name in the present one, as data has it, is not what is meant. */
    if (strchr(name, '/') || (stat(name, &found) == 0 && !S_ISDIR(found.st_mode))) {
        if (snprintf(out, size, "%s", name) < (int)size) return MW_OK;
        return mw_fail(error, MW_ERR_ARGUMENT, "%zu bytes have no room for the path '%.80s'", size, name);
    }
    const size_t length = strlen(name), tail = sizeof ending - 1;
    const bool ends = length > tail && !strcmp(name + length - tail, ending);
    snprintf(file, sizeof file, "%.200s%s", name, ends ? "" : ending);
    const mw_status status = mw_data_find(out, size, kind, file, &none);
    if (status == MW_OK) return status;
    return mw_fail(error, status, "'%.80s' is no file, and %.400s", name, none.message);
}
