/* Rows by their names; see names.h. */
#include "core/names.h"

#include <stdio.h>
#include <string.h>

int mw_names_find(mw_name_at *at, const char *name) {
    for (int i = 0; at(i); i++)
        if (!strcmp(at(i), name)) return i;
    return -1;
}

void mw_names_text(char out[MW_NAMES_TEXT], mw_name_at *at, unsigned set, const char *between) {
    size_t used = 0;
    out[0] = 0;
    for (int i = 0; at(i); i++) {
        if (!(set & 1u << i)) continue;
        const size_t room = MW_NAMES_TEXT - used;
        const int length = snprintf(out + used, room, "%s%s", used ? between : "", at(i));
        if (length < 0 || (size_t)length >= room) {
            out[used] = 0;
            return;
        }
        used += (size_t)length;
    }
}

mw_status mw_names_unknown(mw_name_at *at, const char *what, const char *name, mw_error *error) {
    char known[MW_NAMES_TEXT];
    mw_names_text(known, at, ~0u, ", ");
    return *name ? mw_fail(error, MW_ERR_ARGUMENT, "there is no %s '%.64s'; known: %s", what, name, known)
                 : mw_fail(error, MW_ERR_ARGUMENT, "no %s is named; known: %s", what, known);
}

mw_status mw_names_parse(unsigned *set, mw_name_at *at, const char *what, const char *text, mw_error *error) {
    unsigned found = 0;
    for (const char *next = text; *(next += strspn(next, " ")); next += *next == ',') {
        char name[MW_NAMES_WORD];
        const size_t length = strcspn(next, ",");
        snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), next);
        const int row = mw_names_find(at, name);
        if (row < 0) return mw_names_unknown(at, what, name, error);
        found |= 1u << row;
        next += length;
    }
    if (!found) return mw_names_unknown(at, what, "", error);
    *set = found;
    return MW_OK;
}
