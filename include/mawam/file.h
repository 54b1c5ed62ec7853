/* Files as the library writes them: a reader finds the old one or the new one, never a torn one. A symbolic
 * link stays, and what it leads to is written. */
#ifndef MAWAM_FILE_H
#define MAWAM_FILE_H

#include "mawam/error.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

MW_API mw_status mw_file_write(const char *path, const void *data, size_t size, mw_error *error); /* atomic */
MW_API mw_status mw_dir_make(const char *path, mw_error *error); /* like mkdir -p */

/* Could mw_file_write write there now? Looks at the folder and at what is in the way; writes nothing. For
 * programs that work long before they write. */
MW_API mw_status mw_file_writable(const char *path, mw_error *error);

/* A stream into memory, for what prints to a stream. It tells when memory ran out on the way, which
 * open_memstream does not. The struct stays where it is while the stream is open. */
typedef struct mw_text {
    FILE *stream;
    char *bytes; /* after closing; to be freed, and ends with a null character. NULL after a failure */
    size_t size;
    size_t room; /* the library's, like what follows */
    bool failed;
} mw_text;
MW_API mw_status mw_text_open(mw_text *text, mw_error *error);
MW_API mw_status mw_text_close(mw_text *text, mw_error *error);

/* Where a file that comes with mawam is: kind/name, with kind "behaviors" or "bundles", in the first of
 * $MAWAM_DATA, the user's data folder ($XDG_DATA_HOME/mawam, else ~/.local/share/mawam), the installed one
 * (next to the program, else to the shared library, else as configured) and the source tree (the present
 * folder, else the one above the program's, else above the shared library's) that has it. The message of a
 * failure lists the folders. */
MW_API mw_status mw_data_find(char *out, size_t size, const char *kind, const char *name, mw_error *error);
/* The same of what a user names: a path, or the short name of a file that comes with mawam,
 * "spread-medium". */
MW_API mw_status mw_data_path(char *out, size_t size, const char *kind, const char *name, mw_error *error);
/* The folders themselves, in this order: false past the end. They need not exist. */
MW_API bool mw_data_folder(char *out, size_t size, int index);

#ifdef __cplusplus
}
#endif
#endif
