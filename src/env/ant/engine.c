/* The process-wide side of MuJoCo: error handlers and the one compiled model. See engine.h. */
#include "env/ant/engine.h"

#include "core/machine/child.h"
#include "core/machine/loaded.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if mjVERSION_HEADER >= 310
#error "the Ant tasks load their model through the virtual file system of MuJoCo 2.x (libmujoco-dev 2.2)"
#endif

/* ---- the guard ---- */

typedef struct {
    jmp_buf target;
    char *message;
} guard;

static _Thread_local guard *active; /* set while this thread is inside mw_engine_run */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of everything below */
static void (*host_error)(const char *), (*host_warning)(const char *);

/* The engine's handlers are global, but a program may simulate with MuJoCo on its own next to mawam: what
 * does not come from a guarded call goes where it would have gone without us. */
static void on_error(const char *message) {
    if (active) {
        if (active->message) snprintf(active->message, MW_ENGINE_MESSAGE, "%s", message);
        longjmp(active->target, 1);
    }
    if (host_error) {
        host_error(message);
        return;
    }
    mju_user_error = NULL; /* the engine's own way, which does not return */
    mju_error(message);
}

static void on_warning(const char *message) {
    if (active) return; /* counted in mjData, where the caller looks */
    if (host_warning) {
        host_warning(message);
        return;
    }
    mju_writeLog("WARNING", message);
    printf("WARNING: %s\n\n", message);
}

/* Writes only when there is something to change: other threads may be reading the handlers. */
static void install_handlers(void) {
    if (mju_user_error != on_error) {
        host_error = mju_user_error;
        mju_user_error = on_error;
    }
    if (mju_user_warning != on_warning) {
        host_warning = mju_user_warning;
        mju_user_warning = on_warning;
    }
}

bool mw_engine_run(void (*body)(void *context), void *context, char message[MW_ENGINE_MESSAGE]) {
    guard here = {.message = message}, *volatile outer = active;
    volatile bool fine = false;
    if (!setjmp(here.target)) {
        active = &here;
        body(context);
        fine = true;
    }
    active = outer;
    return fine;
}

/* ---- the version ---- */

#ifdef MAWAM_LOAD
mw_mujoco_names mw_mujoco_table;

static mw_status need_engine(mw_error *error) {
    static const char *const files[] = {"libmujoco.so.2.2.2", "libmujoco.so", NULL}, *const names[] = {
                                                                                         MW_MUJOCO_NAMES};
    static mw_loaded object = {.what = "MuJoCo 2.2",
                               .variable = "MAWAM_MUJOCO",
                               .package = "libmujoco2.2.2",
                               .files = files,
                               .names = names,
                               .table = (void **)&mw_mujoco_table};
    return mw_loaded_need(&object, error);
}
#else
static mw_status need_engine(mw_error *error) {
    (void)error;
    return MW_OK;
}
#endif

mw_status mw_engine_series(char series[MW_ENGINE_SERIES], mw_error *error) {
    MW_TRY(need_engine(error));
    const char *running = mj_versionString();
    if (mj_version() != mjVERSION_HEADER)
        return mw_fail(error, MW_ERR_MISMATCH,
                       "mawam was built with the headers of MuJoCo %d.%d.%d but runs with library %.32s; "
                       "install the same version or build again",
                       mjVERSION_HEADER / 100, mjVERSION_HEADER / 10 % 10, mjVERSION_HEADER % 10, running);
    int major, minor;
    if (sscanf(running, "%d.%d", &major, &minor) != 2 ||
        snprintf(series, MW_ENGINE_SERIES, "%d.%d", major, minor) >= MW_ENGINE_SERIES)
        return mw_fail(error, MW_ERR_MISMATCH, "cannot read MuJoCo's version from '%.32s'", running);
    return MW_OK;
}

/* ---- the model ---- */

static mjModel *shared;
static int holders;

/* A model as bytes, on its way from the process that compiled it. */
typedef struct {
    int size;
    unsigned char bytes[1 << 20];
} image;

typedef struct {
    const char *name; /* of the file; its ending says what it is */
    const void *bytes;
    int size;
    mjVFS *files;
    mjModel *model;
    char message[MW_ENGINE_MESSAGE];
} loading;

static void load(void *context) {
    loading *work = context;
    const char *ending = strrchr(work->name, '.');
    if (!strcmp(ending, ".mjb")) {
        work->model = mj_loadModel(work->name, work->files);
    } else {
        work->model = mj_loadXML(work->name, work->files, work->message, sizeof work->message);
        mj_freeLastXML();
    }
}

/* From memory: the engine's virtual file system holds the bytes, nothing touches the disk. */
static mw_status load_from(loading *work, mw_error *error) {
    work->files = malloc(sizeof(mjVFS)); /* 2 MB of names: not for the stack */
    if (!work->files) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate MuJoCo's file table");
    mj_defaultVFS(work->files);
    char trouble[MW_ENGINE_MESSAGE] = "";
    bool ready = !mj_makeEmptyFileVFS(work->files, work->name, work->size);
    if (ready) memcpy(work->files->filedata[0], work->bytes, (size_t)work->size);
    bool fine = ready && mw_engine_run(load, work, trouble);
    mj_deleteVFS(work->files);
    free(work->files);
    if (fine && work->model) return MW_OK;
    return mw_fail(error, MW_ERR_UNSUPPORTED, "MuJoCo %s does not compile the ant: %.200s",
                   mj_versionString(), *trouble ? trouble : work->message);
}

static mw_status compile(void *context, void *result, mw_error *error) {
    (void)context;
    image *out = result;
    loading work = {.name = "ant.xml", .bytes = mw_ant_mjcf, .size = (int)strlen(mw_ant_mjcf)};
    MW_TRY(load_from(&work, error));
    out->size = mj_sizeModel(work.model);
    if (out->size > (int)sizeof out->bytes)
        return mw_fail(error, MW_ERR_UNSUPPORTED, "the compiled ant has %d bytes", out->size);
    mj_saveModel(work.model, NULL, out->bytes, out->size);
    return MW_OK;
}

/* The engine's compiler is C++ and ends its process when memory runs out; so that is a child. */
static mw_status build(mjModel **model, mw_error *error) {
    static image compiled; /* under the lock */
    const mw_child_limits none = {0};
    MW_TRY(mw_child_run("compiling the ant", compile, NULL, &compiled, sizeof compiled, &none, error));
    loading work = {.name = "ant.mjb", .bytes = compiled.bytes, .size = compiled.size};
    MW_TRY(load_from(&work, error));
    *model = work.model;
    return MW_OK;
}

mw_status mw_engine_acquire(const mjModel **model, mw_error *error) {
    pthread_mutex_lock(&lock);
    install_handlers();
    mw_status status = holders ? MW_OK : build(&shared, error);
    if (status == MW_OK) {
        holders++;
        *model = shared;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

void mw_engine_release(const mjModel *model) {
    if (!model) return;
    pthread_mutex_lock(&lock);
    if (--holders == 0) {
        mj_deleteModel(shared);
        shared = NULL;
    }
    pthread_mutex_unlock(&lock);
}
