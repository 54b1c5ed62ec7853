/* Where the files that come with mawam are, so that the program works in any folder; see mawam/file.h. */
#include "core/file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder above the program's own: the prefix of an installation, or the source tree of a build. */
static bool above_program(char *out, size_t size) {
    const ssize_t length = readlink("/proc/self/exe", out, size - 1);
    if (length <= 0 || (size_t)length >= size - 1) return false;
    out[length] = 0;
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(out, '/');
        if (!slash) return false;
        *slash = 0;
    }
    return true;
}

static bool user_folder(char *out, size_t size) {
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (data && *data == '/') return snprintf(out, size, "%s/mawam", data) < (int)size;
    return home && *home && snprintf(out, size, "%s/.local/share/mawam", home) < (int)size;
}

enum { GIVEN, USER, BESIDE, CONFIGURED, PRESENT, SOURCE, FOLDERS };

static bool folder_of(char *out, size_t size, int which) {
    const char *given = getenv("MAWAM_DATA");
    char above[2048];
    switch (which) {
    case GIVEN:
        return given && *given && snprintf(out, size, "%s", given) < (int)size;
    case USER:
        return user_folder(out, size);
    case BESIDE:
        return above_program(above, sizeof above) && snprintf(out, size, "%s/share/mawam", above) < (int)size;
    case CONFIGURED:
        return snprintf(out, size, "%s", MAWAM_DATADIR) < (int)size;
    case PRESENT:
        return snprintf(out, size, ".") < (int)size;
    default:
        return above_program(above, sizeof above) && snprintf(out, size, "%s", above) < (int)size;
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
