/* Numbers as text; see numbers.h. */
#include "core/numbers.h"

#include <pthread.h>

static locale_t plain; /* the C library has it built in: nothing is allocated or freed */

static void find_plain(void) {
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

locale_t mw_plain_numbers_begin(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_plain);
    return uselocale(plain); /* none: what is there stays */
}

void mw_plain_numbers_end(locale_t *before) {
    uselocale(*before);
}
