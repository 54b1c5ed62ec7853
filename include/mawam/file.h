/* Files as the library writes them: a reader finds the old one or the new one, never a torn one. */
#ifndef MAWAM_FILE_H
#define MAWAM_FILE_H

#include "mawam/error.h"

#ifdef __cplusplus
extern "C" {
#endif

MW_API mw_status mw_file_write(const char *path, const void *data, size_t size, mw_error *error); /* atomic */
MW_API mw_status mw_dir_make(const char *path, mw_error *error); /* like mkdir -p */

#ifdef __cplusplus
}
#endif
#endif
