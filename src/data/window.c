/* Segments with padding, return-to-go and masks; see window.h. */
#include "data/window.h"

#include "data/returns.h"

#include <string.h>

static void carve(mw_window_rows *rows, const mw_dataset_spec *spec, mw_arena *arena) {
    size_t n = (size_t)spec->agents, o = (size_t)spec->obs_size, d = (size_t)spec->act_size,
           count = (size_t)rows->capacity, time = (size_t)rows->time, pairs = count * (time - 1);
    rows->trajectory = mw_arena_floats(arena, count * time * n * o);
    rows->target = mw_arena_floats(arena, count);
    rows->mask = mw_arena_floats(arena, pairs);
    rows->place = mw_arena_take(arena, count, sizeof *rows->place);
    if (spec->discrete) {
        rows->index = mw_arena_take(arena, pairs * n, sizeof *rows->index);
        rows->legal = mw_arena_take(arena, pairs * n * d, 1);
    } else {
        rows->act = mw_arena_floats(arena, pairs * n * d);
    }
}

mw_status mw_window_rows_create(mw_window_rows *rows, const mw_dataset_spec *spec,
                                const mw_window_config *config, int capacity, mw_error *error) {
    mw_arena arena = {0};
    *rows = (mw_window_rows){0};
    if (config->context < 1 || config->future < 1 || capacity < 1 || config->context > 1 << 20 ||
        config->future > 1 << 20)
        return mw_fail(error, MW_ERR_ARGUMENT, "%d segments of %d + %d observations are not possible",
                       capacity, config->context, config->future);
    rows->capacity = capacity;
    rows->time = config->context + config->future;
    carve(rows, spec, &arena);
    mw_status status = mw_arena_create(&arena, arena.used, error);
    if (status != MW_OK) {
        *rows = (mw_window_rows){0};
        return status;
    }
    carve(rows, spec, &arena);
    rows->arena = arena;
    return MW_OK;
}

void mw_window_rows_free(mw_window_rows *rows) {
    mw_arena_free(&rows->arena);
    *rows = (mw_window_rows){0};
}

/* What a segment covers: times [first, end) of it are recorded observations, the rest is padding. */
typedef struct span {
    long step0;     /* step of the episode at time 0; may be negative */
    int first, end; /* first < end */
} span;

static span span_of(const mw_dataset *data, const mw_window_config *config, mw_place place) {
    long last = mw_dataset_transitions(data, place.episode); /* the last recorded observation */
    span s = {.step0 = place.t - (config->context - 1)};
    int time = config->context + config->future;
    s.first = s.step0 < 0 ? (int)-s.step0 : 0;
    s.end = last + 1 - s.step0 < time ? (int)(last + 1 - s.step0) : time;
    return s;
}

static void take_obs(float *out, int time, span s, const mw_dataset *data, const mw_normalizer *normalizer,
                     long episode) {
    size_t row = (size_t)data->spec.agents * (size_t)data->spec.obs_size;
    for (int j = s.first; j < s.end; j++)
        memcpy(out + (size_t)j * row, mw_dataset_obs(data, episode, s.step0 + j), row * sizeof *out);
    mw_normalizer_forward(normalizer, out + (size_t)s.first * row,
                          (long)(s.end - s.first) * data->spec.agents);
    for (int j = 0; j < s.first; j++)
        memcpy(out + (size_t)j * row, out + (size_t)s.first * row, row * sizeof *out);
    for (int j = s.end; j < time; j++)
        memcpy(out + (size_t)j * row, out + (size_t)(s.end - 1) * row, row * sizeof *out);
}

/* Pairs of neighbouring observations j, j+1; recorded ones are [s.first, s.end - 1). */
static void take_actions(mw_window_rows *rows, int row, span s, const mw_dataset *data,
                         const mw_window_config *config, long episode) {
    size_t n = (size_t)data->spec.agents, d = (size_t)data->spec.act_size, pairs = (size_t)rows->time - 1,
           at = (size_t)row * pairs, first = (size_t)s.first, count = (size_t)(s.end - 1 - s.first),
           step = (size_t)(data->offsets[episode] + s.step0 + s.first);
    for (size_t j = 0; j < pairs; j++) rows->mask[at + j] = (float)(j >= first && j < first + count);
    if (data->real) {
        float *act = rows->act + at * n * d;
        memset(act, 0, pairs * n * d * sizeof *act);
        memcpy(act + first * n * d, data->real + step * n * d, count * n * d * sizeof *act);
        if (config->act_normalizer)
            mw_normalizer_forward(config->act_normalizer, act + first * n * d, (long)(count * n));
    } else {
        int32_t *index = rows->index + at * n;
        uint8_t *legal = rows->legal + at * n * d;
        memset(index, 0, pairs * n * sizeof *index);
        memset(legal, 1, pairs * n * d);
        for (size_t i = 0; i < count * n; i++)
            index[first * n + i] = (int32_t)mw_dataset_index(data, step * n + i);
        memcpy(legal + first * n * d, data->legal + step * n * d, count * n * d);
    }
}

void mw_window_take(mw_window_rows *rows, int row, const mw_dataset *data, const mw_window_config *config,
                    mw_place place) {
    span s = span_of(data, config, place);
    size_t width = (size_t)rows->time * (size_t)data->spec.agents * (size_t)data->spec.obs_size;
    take_obs(rows->trajectory + (size_t)row * width, rows->time, s, data, config->obs_normalizer,
             place.episode);
    take_actions(rows, row, s, data, config, place.episode);
    rows->target[row] = (float)(mw_return_to_go(data, place, config->discount, NULL) / config->return_scale);
    rows->place[row] = place;
}

void mw_window_fill(mw_window_rows *rows, int count, const mw_dataset *data, const mw_window_config *config,
                    const mw_episode_set *set, uint64_t seed, uint64_t step, mw_batch_use use) {
    for (int row = 0; row < count; row++) {
        mw_rng rng = mw_batch_rng(seed, step, row, use);
        mw_window_take(rows, row, data, config, mw_episode_set_draw(set, &rng));
    }
}
