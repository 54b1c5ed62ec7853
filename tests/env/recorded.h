/* Spoiled copies of recorded arrays, for the tests of who holds worlds against their records. */
#ifndef MW_TESTS_ENV_RECORDED_H
#define MW_TESTS_ENV_RECORDED_H

#include "check.h"
#include "core/tensor/npy.h"

/* Copies <from>/<name>.npy to the folder `to` with the value at `at` (from the end if negative) raised by so
 * much. */
static inline void recorded_copy(const char *from, const char *to, const char *name, long at, double by) {
    mw_error error;
    mw_npy npy;
    char source[256], target[256];
    snprintf(source, sizeof source, "%s/%s.npy", from, name);
    snprintf(target, sizeof target, "%s/%s.npy", to, name);
    CHECK_OK(mw_npy_open(&npy, source, &error), error);
    const size_t size = mw_dtype_size(npy.type), i = at < 0 ? npy.count - (size_t)-at : (size_t)at;
    unsigned char *copy = malloc(npy.count * size);
    memcpy(copy, npy.data, npy.count * size);
    if (npy.type == MW_F64) ((double *)copy)[i] += by;
    if (npy.type == MW_F32) ((float *)copy)[i] += (float)by;
    if (npy.type == MW_I16) ((int16_t *)copy)[i] += (int16_t)by;
    if (npy.type == MW_I8) ((int8_t *)copy)[i] += (int8_t)by;
    CHECK_OK(mw_npy_write(target, npy.type, npy.dims, npy.shape, copy, &error), error);
    free(copy);
    mw_npy_close(&npy);
}

#endif
