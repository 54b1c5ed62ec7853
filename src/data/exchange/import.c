/* The table of importers, and what they share; see import_common.h. */
#include "data/exchange/import_common.h"

#include "core/file.h"
#include "core/numbers.h"
#include "core/options.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the importers ------------------------------------------------------------------------------------- */

static const struct {
    const char *layout;
    mw_import_fn *import;
} importers[] = {{"omar", mw_import_omar}, {"madiff", mw_import_madiff}, {"hdf5", mw_import_hdf5}};

enum { IMPORTERS = sizeof importers / sizeof *importers };

const char *mw_import_layout(int index) {
    return index >= 0 && index < IMPORTERS ? importers[index].layout : NULL;
}

static const mw_import_options defaults = {.size = sizeof defaults};

void mw_import_options_init(mw_import_options *options, size_t size) {
    mw_options_fill(options, size, &defaults, sizeof defaults);
}

mw_status mw_dataset_import(const char *layout, const char *source, const char *folder, const char *task,
                            const mw_import_options *options, mw_import_report *report, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED(layout);
    MW_NEED(source);
    MW_NEED(folder);
    MW_NEED(task);
    MW_NEED(report);
    mw_import_request request = {source, folder, task, defaults};
    MW_TRY(mw_options_take(&request.options, sizeof request.options,
                           MW_FIELD_END(mw_import_options, overwrite), options, "mw_import_options_init",
                           error));
    const mw_import_options *o = &request.options;
    if (o->agents < 0 || o->agents > MW_IMPORT_AGENTS || o->act_size < 0 || o->episode_limit < 0)
        return mw_fail(
            error, MW_ERR_ARGUMENT,
            "%d agents, %d actions, episodes of %d steps: 0 is what the data say, and there are at "
            "most %d agents",
            o->agents, o->act_size, o->episode_limit, MW_IMPORT_AGENTS);
    for (int i = 0; i < IMPORTERS; i++)
        if (!strcmp(importers[i].layout, layout)) return importers[i].import(&request, report, error);
    return mw_fail(error, MW_ERR_ARGUMENT, "cannot import '%.32s'; layouts are omar, madiff and hdf5",
                   layout);
}

/* ---- room for an episode ------------------------------------------------------------------------------- */

static bool grow(void *pointer, size_t count, size_t size) {
    void **at = pointer, *grown = realloc(*at, count * size);
    if (grown) *at = grown;
    return grown != NULL;
}

mw_status mw_import_room_for(mw_import_room *room, const mw_dataset_spec *spec, long length,
                             mw_error *error) {
    if (length <= room->capacity) return MW_OK;
    size_t count, bytes,
        shape[3] = {(size_t)length + 1, (size_t)spec->agents,
                    (size_t)spec->obs_size + (size_t)spec->act_size};
    bool ok = mw_shape_size(MW_F64, 3, shape, &count, &bytes);
    size_t cells = shape[0] * shape[1], o = (size_t)spec->obs_size, d = (size_t)spec->act_size;
    ok = ok && grow(&room->obs, cells * o, sizeof *room->obs) &&
         grow(&room->rewards, cells, sizeof *room->rewards) &&
         (spec->discrete ? grow(&room->index, cells, sizeof *room->index) && grow(&room->legal, cells * d, 1)
                         : grow(&room->real, cells * d, sizeof *room->real));
    if (!ok) return mw_fail(error, MW_ERR_MEMORY, "out of memory for an episode of %ld steps", length);
    room->capacity = length;
    return MW_OK;
}

void mw_import_room_free(mw_import_room *room) {
    free(room->obs);
    free(room->real);
    free(room->rewards);
    free(room->index);
    free(room->legal);
    *room = (mw_import_room){0};
}

mw_episode mw_import_room_episode(const mw_import_room *room, const mw_dataset_spec *spec, long length,
                                  bool last_known, uint8_t outcome) {
    size_t row = (size_t)spec->agents * (size_t)spec->obs_size;
    return (mw_episode){.length = length,
                        .obs = room->obs,
                        .last_obs = last_known ? room->obs + (size_t)length * row : NULL,
                        .real = spec->discrete ? NULL : room->real,
                        .index = spec->discrete ? room->index : NULL,
                        .legal = spec->discrete ? room->legal : NULL,
                        .rewards = room->rewards,
                        .outcome = outcome};
}

mw_status mw_import_add(const mw_import_request *request, mw_dataset_writer *writer,
                        const mw_episode *episode, mw_error *error) {
    const mw_stop_flag *stop = request->options.stop;
    if (mw_stopped(stop))
        return mw_fail(error, MW_ERR_INTERRUPTED, "stopped after %ld steps; nothing is kept",
                       mw_dataset_writer_steps(writer));
    return mw_dataset_writer_add(writer, episode, error);
}

uint64_t mw_exchange_hash(uint64_t hash, const mw_dataset_spec *spec, const mw_episode *e) {
    const size_t rows = (size_t)e->length * (size_t)spec->agents, o = (size_t)spec->obs_size * sizeof *e->obs,
                 d = (size_t)spec->act_size;
    const int64_t head[] = {e->length, e->outcome, e->last_obs != NULL};
    hash = mw_hash(hash, head, sizeof head);
    hash = mw_hash(hash, e->obs, rows * o);
    if (e->last_obs) hash = mw_hash(hash, e->last_obs, (size_t)spec->agents * o);
    if (e->real) hash = mw_hash(hash, e->real, rows * d * sizeof *e->real);
    if (e->index) hash = mw_hash(hash, e->index, rows * sizeof *e->index);
    if (e->legal) hash = mw_hash(hash, e->legal, rows * d);
    return mw_hash(hash, e->rewards, rows * sizeof *e->rewards);
}

/* ---- the description ----------------------------------------------------------------------------------- */

mw_status mw_import_spec(mw_dataset_spec *spec, const mw_import_request *request,
                         const mw_import_origin *origin, const char *foreign, int agents, int obs_size,
                         int act_size, bool discrete, int episode_limit, mw_error *error) {
    const mw_env_info *info = request->options.info;
    const bool known = origin && *origin->rules && !strcmp(origin->task, request->task);
    const char *quality = request->options.quality;
    *spec = (mw_dataset_spec){.task = request->task,
                              .rules = known ? origin->rules : foreign,
                              .quality = quality || !known ? quality : origin->quality,
                              .agents = agents,
                              .obs_size = obs_size,
                              .act_size = act_size,
                              .discrete = discrete,
                              .episode_limit = episode_limit,
                              .command = request->options.command};
    if (!info) return MW_OK;
    if (agents == info->agents && obs_size == info->obs_size && act_size == info->act_size &&
        discrete == info->discrete && episode_limit <= info->episode_limit)
        return MW_OK;
    return mw_fail(
        error, MW_ERR_MISMATCH,
        "%s has %d agents, %d features, %d %s actions, episodes of up to %d steps, but task '%s' has "
        "%d, %d, %d %s, %d; import it under a name of its own",
        request->source, agents, obs_size, act_size, discrete ? "discrete" : "real", episode_limit,
        info->task, info->agents, info->obs_size, info->act_size, info->discrete ? "discrete" : "real",
        info->episode_limit);
}

mw_status mw_import_limit(const mw_import_request *request, long longest, int *limit, mw_error *error) {
    enum { MOST = 1000000000 };
    const mw_import_options *o = &request->options;
    if (longest > MOST || (o->episode_limit && longest > o->episode_limit))
        return mw_fail(error, MW_ERR_MISMATCH, "%s: an episode has %ld steps, the limit is %d",
                       request->source, longest, o->episode_limit ? o->episode_limit : MOST);
    const int built_in = o->info ? o->info->episode_limit : 0;
    *limit = o->episode_limit ? o->episode_limit : built_in > longest ? built_in : (int)longest;
    return MW_OK;
}

mw_status mw_import_width(size_t found, const char *what, int *out, mw_error *error) {
    if (found < 1 || found > MW_IMPORT_WIDEST)
        return mw_fail(error, MW_ERR_FORMAT, "%s: rows of %zu values, expected 1 to %d", what, found,
                       MW_IMPORT_WIDEST);
    *out = (int)found;
    return MW_OK;
}

mw_status mw_import_integer(double value, double low, double high, const char *file, long row, long *out,
                            mw_error *error) {
    if (!(value >= low && value <= high) || value != floor(value))
        return mw_fail(error, MW_ERR_FORMAT,
                       "%s: row %ld holds %g, expected a whole number from %.0f to %.0f", file, row, value,
                       low, high);
    *out = (long)value;
    return MW_OK;
}

/* ---- names --------------------------------------------------------------------------------------------- */

mw_status mw_names_add(mw_names *names, const char *name, mw_error *error) {
    char *copy = strdup(name);
    if (!copy || !grow(&names->name, (size_t)names->count + 1, sizeof *names->name)) {
        free(copy);
        return mw_fail(error, MW_ERR_MEMORY, "out of memory for a list of names");
    }
    names->name[names->count++] = copy;
    return MW_OK;
}

/* Runs of digits compare as numbers, everything else as text. */
static int natural(const void *a, const void *b) {
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    while (*x && *y) {
        if (isdigit((unsigned char)*x) && isdigit((unsigned char)*y)) {
            x += strspn(x, "0");
            y += strspn(y, "0");
            size_t i = strspn(x, "0123456789"), j = strspn(y, "0123456789");
            if (i != j) return i < j ? -1 : 1;
            int order = strncmp(x, y, i);
            if (order) return order;
            x += i;
            y += j;
        } else if (*x != *y) {
            return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
        } else {
            x++, y++;
        }
    }
    return (*x != 0) - (*y != 0);
}

void mw_names_sort(mw_names *names) {
    if (names->count) qsort(names->name, (size_t)names->count, sizeof *names->name, natural);
}

void mw_names_free(mw_names *names) {
    for (int i = 0; i < names->count; i++) free(names->name[i]);
    free(names->name);
    *names = (mw_names){0};
}
