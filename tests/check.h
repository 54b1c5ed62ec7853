/* Included by every test program: cmocka, and the comparisons that print the error they saw. */
#ifndef MW_TESTS_CHECK_H
#define MW_TESTS_CHECK_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mawam/mawam.h"
#include "mawam/study.h"
#include "core/error.h"

/* The call must succeed; otherwise its message is shown. */
#define CHECK_OK(call, error)                                                                                \
    do {                                                                                                     \
        if ((call) != MW_OK) fail_msg("%s: %s", #call, (error).message);                                     \
    } while (0)

/* The call must fail with this status and a message that contains the text. */
#define CHECK_FAILS(call, expected, error, text)                                                             \
    do {                                                                                                     \
        mw_status status_ = (call);                                                                          \
        if (status_ != (expected))                                                                           \
            fail_msg("%s: status %s, expected %s", #call, mw_status_name(status_),                           \
                     mw_status_name(expected));                                                              \
        if (!strstr((error).message, text))                                                                  \
            fail_msg("%s: message '%s' lacks '%s'", #call, (error).message, text);                           \
    } while (0)

/* |seen - expected| must not exceed the tolerance (NaN always fails). */
#define CHECK_NEAR(seen, expected, tolerance)                                                                \
    do {                                                                                                     \
        double seen_ = (seen), expected_ = (expected);                                                       \
        if (!(fabs(seen_ - expected_) <= (tolerance)))                                                       \
            fail_msg("%s = %.17g, expected %.17g, off by %.3g", #seen, seen_, expected_,                     \
                     fabs(seen_ - expected_));                                                               \
    } while (0)

/* The numbers of threads that must give the same bits: alone, even, uneven, more than a network has experts,
 * more than a batch has rows. Every barrier of many threads on few cores is as many switches between them:
 * what is tried in many ways is tried in all of them with few threads, and in two with MANY_THREADS and more.
 */
#define MANY_THREADS 17
#define FOR_THREADS(threads)                                                                                 \
    for (int i_##threads = 0, threads = 1; i_##threads < 5;                                                  \
         i_##threads++, threads = (const int[]){1, 2, 3, 17, 64, 0}[i_##threads])

#endif
