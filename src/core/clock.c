/* Monotonic time; see clock.h. */
#include "core/clock.h"

#include <time.h>

double mw_clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
