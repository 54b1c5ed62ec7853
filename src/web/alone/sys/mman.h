/* Memory that is no file's: what of <sys/mman.h> a file needs that is compiled for browsers too. Advice about
 * pages is heard and not taken. */
#ifndef MW_WEB_MMAN_H
#define MW_WEB_MMAN_H

#include <stddef.h>

enum { MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_DONTNEED };

static inline int madvise(void *data, size_t size, int advice) {
    (void)data;
    (void)size;
    (void)advice;
    return 0;
}

#endif
