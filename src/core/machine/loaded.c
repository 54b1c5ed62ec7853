/* Loads what is asked for and fills its table; see loaded.h. */
#include "core/machine/loaded.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *open_one(const char *file, mw_error *why) {
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *words = dlerror();
        (void)mw_fail(why, MW_ERR_UNSUPPORTED, "%.200s", words ? words : file);
    }
    return handle;
}

static mw_status take_names(mw_loaded *object, void *handle, const char *file, mw_error *error) {
    for (int i = 0; object->names[i]; i++)
        if (!dlsym(handle, object->names[i]))
            return mw_fail(error, MW_ERR_MISMATCH, "%.80s has no %s: it is not %s (Debian package %s)", file,
                           object->names[i], object->what, object->package);
    for (int i = 0; object->names[i]; i++) object->table[i] = dlsym(handle, object->names[i]);
    object->there = true;
    return MW_OK;
}

static mw_status load(mw_loaded *object, mw_error *error) {
    const char *given = getenv(object->variable), *file = given;
    mw_error why = {0};
    void *handle = NULL;
    if (given && *given) {
        handle = open_one(given, &why);
    } else {
        for (int i = 0; !handle && object->files[i]; i++) handle = open_one(file = object->files[i], &why);
    }
    if (!handle)
        return mw_fail(error, MW_ERR_UNSUPPORTED,
                       "this needs %s, which was not found: install it (Debian package %s) or name its file "
                       "in %s (%s)",
                       object->what, object->package, object->variable, why.message);
    const mw_status status = take_names(object, handle, file, error);
    if (status != MW_OK) dlclose(handle);
    return status;
}

mw_status mw_loaded_need(mw_loaded *object, mw_error *error) {
    pthread_mutex_lock(&lock);
    const mw_status status = object->there ? MW_OK : load(object, error);
    pthread_mutex_unlock(&lock);
    return status;
}
