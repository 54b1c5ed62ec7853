/* What visitors may ask for: a table of commands, each a JSON object. All of it is hostile until it is
 * checked: names must be known ones, numbers finite and in range. */
#include "live/stage.h"

#include <jansson.h>
#include <string.h>

/* ---- members ---- */

static mw_status text_of(const json_t *object, const char *name, const char **value, mw_error *error) {
    *value = json_string_value(json_object_get(object, name));
    if (*value && strlen(*value) < 256) return MW_OK;
    return mw_fail(error, MW_ERR_ARGUMENT, "\"%s\" must be a text of at most 255 letters", name);
}

static mw_status number_of(const json_t *object, const char *name, double low, double high, double *value,
                           mw_error *error) {
    const json_t *member = json_object_get(object, name);
    *value = json_number_value(member);
    if (json_is_number(member) && *value >= low && *value <= high) return MW_OK;
    return mw_fail(error, MW_ERR_ARGUMENT, "\"%s\" must be a number from %g to %g", name, low, high);
}

static mw_status whole_of(const json_t *object, const char *name, double high, long long *value,
                          mw_error *error) {
    double number;
    *value = 0;
    MW_TRY(number_of(object, name, 0, high, &number, error));
    if (!json_is_integer(json_object_get(object, name)))
        return mw_fail(error, MW_ERR_ARGUMENT, "\"%s\" must be a whole number", name);
    *value = (long long)number;
    return MW_OK;
}

/* What is done to a step is done to the one that was looked at. */
static mw_status step_of(const json_t *object, int *step, mw_error *error) {
    long long value;
    MW_TRY(whole_of(object, "step", 1e6, &value, error));
    *step = (int)value;
    return MW_OK;
}

/* ---- the commands ---- */

static mw_status play(mw_stage *stage, const json_t *object, mw_error *error) {
    (void)object;
    (void)error;
    stage->playing = true;
    return MW_OK;
}

static mw_status pause_play(mw_stage *stage, const json_t *object, mw_error *error) {
    (void)object;
    (void)error;
    stage->playing = false;
    return MW_OK;
}

static mw_status step(mw_stage *stage, const json_t *object, mw_error *error) {
    (void)object;
    stage->playing = false;
    MW_TRY(mw_duel_advance(stage->duel, error));
    mw_tally_note(&stage->tally, stage->duel);
    return MW_OK;
}

static mw_status seek(mw_stage *stage, const json_t *object, mw_error *error) {
    int to;
    MW_TRY(step_of(object, &to, error));
    stage->playing = false;
    return mw_duel_seek(stage->duel, to, error);
}

static mw_status rate(mw_stage *stage, const json_t *object, mw_error *error) {
    double value;
    MW_TRY(number_of(object, "value", 0.5, 120, &value, error));
    stage->rate = value;
    return MW_OK;
}

static mw_status begin(mw_stage *stage, const json_t *object, mw_error *error) {
    long long seed;
    MW_TRY(whole_of(object, "seed", 9007199254740991.0, &seed, error));
    return mw_duel_begin(stage->duel, (uint64_t)seed, 0, error);
}

static mw_status set(mw_stage *stage, const json_t *object, mw_error *error) {
    const char *name, *value;
    MW_TRY(text_of(object, "name", &name, error));
    MW_TRY(text_of(object, "value", &value, error));
    MW_TRY(mw_duel_set(stage->duel, name, value, error));
    mw_tally_clear(&stage->tally);
    stage->version++;
    return MW_OK;
}

static mw_status arm(mw_stage *stage, const json_t *object, mw_error *error) {
    const char *name;
    MW_TRY(text_of(object, "name", &name, error));
    MW_TRY(mw_duel_arm(stage->duel, name, error));
    mw_tally_clear(&stage->tally);
    stage->version++;
    return MW_OK;
}

static mw_status force(mw_stage *stage, const json_t *object, mw_error *error) {
    long long candidate;
    int at;
    MW_TRY(whole_of(object, "candidate", MW_DUEL_CANDIDATES, &candidate, error));
    MW_TRY(step_of(object, &at, error));
    return mw_duel_force(stage->duel, at, (int)candidate, error);
}

static mw_status place(mw_stage *stage, const json_t *object, mw_error *error) {
    const char *role;
    long long id;
    double x, y;
    int at;
    MW_TRY(text_of(object, "role", &role, error));
    MW_TRY(whole_of(object, "id", 1000, &id, error));
    MW_TRY(number_of(object, "x", -3, 3, &x, error));
    MW_TRY(number_of(object, "y", -3, 3, &y, error));
    MW_TRY(step_of(object, &at, error));
    return mw_duel_place(stage->duel, at, role, (int)id, (const float[]){(float)x, (float)y}, error);
}

/* Only a name that is listed is ever opened. */
static mw_status bundle(mw_stage *stage, const json_t *object, mw_error *error) {
    const char *name;
    char **names;
    mw_bundle *loaded;
    mw_duel *duel;
    bool listed = false;
    MW_TRY(text_of(object, "name", &name, error));
    const int count = mw_stage_bundles(stage, &names);
    for (int i = 0; i < count; i++) listed |= !strcmp(names[i], name);
    mw_stage_bundles_free(names, count);
    if (count < 0) return mw_fail(error, MW_ERR_IO, "the folder of bundles cannot be read");
    if (!listed) return mw_fail(error, MW_ERR_ARGUMENT, "the folder has no bundle of this name");
    MW_TRY(mw_stage_bundle(&loaded, stage, name, error));
    MW_TRY(mw_duel_open(&duel, loaded, stage->duel->seed, stage->threads, error));
    mw_duel_close(stage->duel);
    stage->duel = duel;
    mw_tally_clear(&stage->tally);
    snprintf(stage->bundle, sizeof stage->bundle, "%s", name);
    stage->version++;
    return MW_OK;
}

static const struct {
    const char *name;
    mw_status (*run)(mw_stage *stage, const json_t *object, mw_error *error);
} commands[] = {
    {"play", play},   {"pause", pause_play}, {"step", step},     {"seek", seek},
    {"rate", rate},   {"begin", begin},      {"set", set},       {"arm", arm},
    {"force", force}, {"place", place},      {"bundle", bundle},
};

mw_status mw_stage_command(mw_stage *stage, const char *text, size_t size, mw_error *error) {
    json_error_t problem;
    json_t *object = json_loadb(text, size, JSON_REJECT_DUPLICATES, &problem);
    if (!object && json_error_code(&problem) == json_error_out_of_memory)
        return mw_fail(error, MW_ERR_MEMORY, "out of memory for a command of %zu bytes", size);
    const char *name = json_string_value(json_object_get(object, "do"));
    mw_status status = mw_fail(error, MW_ERR_ARGUMENT, "a command is an object with a known \"do\"");
    for (size_t i = 0; name && i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(commands[i].name, name)) status = commands[i].run(stage, object, error);
    json_decref(object);
    return status;
}
