/* Loads libmicrohttpd where that is not linked in; see web.h. The live view is a client of the library and
 * cannot use its loader, which is no part of the public interface. */
#include "live/web.h"

#ifdef MAWAM_LOAD

#include <dlfcn.h>
#include <stdlib.h>

mw_microhttpd_names mw_microhttpd_table;

mw_status mw_live_web(mw_error *error) {
    static const char *const names[] = {MW_MICROHTTPD_NAMES};
    const char *given = getenv("MAWAM_MICROHTTPD"), *file = given && *given ? given : "libmicrohttpd.so.12";
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL), **table = (void **)&mw_microhttpd_table;
    if (!handle)
        return mw_fail(error, MW_ERR_UNSUPPORTED,
                       "the live view needs libmicrohttpd, which was not found: install it (Debian package "
                       "libmicrohttpd12) or name its file in MAWAM_MICROHTTPD (%.200s)",
                       dlerror());
    for (int i = 0; names[i]; i++)
        if (!(table[i] = dlsym(handle, names[i])))
            return mw_fail(error, MW_ERR_MISMATCH, "%.80s has no %s: it is not libmicrohttpd 0.9", file,
                           names[i]);
    return MW_OK;
}

#else

mw_status mw_live_web(mw_error *error) {
    (void)error;
    return MW_OK;
}

#endif
