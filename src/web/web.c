/* The live view in a browser: what worker.js calls of the module. A page gives the names of the bundles and
 * the bytes of the one that is wanted; commands and frames are those of the server (src/live/stage.h). Texts
 * go out through one buffer. */
#include "live/stage.h"

#include <stdlib.h>
#include <string.h>

#define EXPORTED(name) __attribute__((export_name(#name), used)) name

static mw_stage stage;
static struct {
    char *text;
    size_t size;
} said; /* by the last call: a text, or why there is none */

static struct {
    char name[256];
    void *data;
    size_t size;
} given;

static char *listed; /* names with a line end after each */

/* ---- the bundles ---- */

int mw_stage_bundles(const mw_stage *of, char ***names) {
    int count = 0;
    (void)of;
    for (const char *at = listed; at && *at; at++) count += *at == '\n';
    *names = calloc((size_t)count + 1, sizeof **names);
    const char *at = listed;
    for (int i = 0; *names && i < count; i++, at = strchr(at, '\n') + 1)
        (*names)[i] = strndup(at, (size_t)(strchr(at, '\n') - at));
    for (int i = 0; *names && i < count; i++)
        if (!(*names)[i]) count = i;
    return *names ? count : 0;
}

void mw_stage_bundles_free(char **names, int count) {
    for (int i = 0; i < count; i++) free(names[i]);
    free(names);
}

/* Its bytes are not needed afterwards. */
mw_status mw_stage_bundle(mw_bundle **bundle, const mw_stage *of, const char *name, mw_error *error) {
    (void)of;
    *bundle = NULL;
    if (!given.data || strcmp(given.name, name))
        return mw_fail(error, MW_ERR_IO, "the bundle '%.80s' was not fetched", name);
    const mw_status status = mw_bundle_read(bundle, given.data, given.size, error);
    free(given.data);
    given.data = NULL;
    return status;
}

/* ---- texts ---- */

static void say(char *text, size_t size) {
    free(said.text);
    said.text = text;
    said.size = text ? size : 0;
}

static int answer(mw_status status, const mw_error *error) {
    char *text = status == MW_OK ? NULL : strdup(error->message);
    say(text, text ? strlen(text) : 0);
    return status == MW_OK;
}

static int print(mw_status (*what)(mw_stage *, FILE *, mw_error *)) {
    mw_error error = {0}, full;
    mw_text text;
    if (mw_text_open(&text, &full) != MW_OK) return answer(full.status, &full);
    const mw_status status = what(&stage, text.stream, &error);
    if (mw_text_close(&text, &full) != MW_OK) return answer(full.status, &full); /* whatever was printed */
    if (status != MW_OK) {
        free(text.bytes);
        return answer(status, &error);
    }
    say(text.bytes, text.size);
    return 1;
}

/* ---- what the worker calls; 1: it went well ---- */

void *EXPORTED(web_take)(size_t size) {
    return malloc(size ? size : 1);
}

const char *EXPORTED(web_text)(void) {
    return said.text;
}

size_t EXPORTED(web_size)(void) {
    return said.size;
}

/* Texts that were taken, which are the module's from now on. */
void EXPORTED(web_list)(char *names) {
    free(listed);
    listed = names;
}

void EXPORTED(web_give)(char *name, void *data, size_t size) {
    free(given.data);
    snprintf(given.name, sizeof given.name, "%s", name);
    given.data = data;
    given.size = size;
    free(name);
}

int EXPORTED(web_open)(char *name, double seed) {
    mw_error error = {0};
    const mw_status status = mw_stage_open(&stage, "", name, (uint64_t)seed, 1, &error);
    free(name);
    return answer(status, &error);
}

int EXPORTED(web_command)(char *text) {
    mw_error error = {0};
    stage.notice[0] = 0;
    const mw_status status = mw_stage_command(&stage, text, strlen(text), &error);
    free(text);
    return answer(status, &error);
}

/* Seconds between two steps; negative: it does not play. */
double EXPORTED(web_pause)(void) {
    return stage.playing ? mw_stage_pause(&stage) : -1;
}

void EXPORTED(web_tick)(void) {
    mw_stage_tick(&stage);
}

int EXPORTED(web_frame)(void) {
    return print(mw_stage_frame);
}

int EXPORTED(web_about)(void) {
    return print(mw_stage_about);
}

int EXPORTED(web_history)(void) {
    return print(mw_stage_history);
}

int EXPORTED(web_recording)(void) {
    return print(mw_stage_recording);
}
