/* Uniform joint transitions; see transition.h. */
#include "data/transition.h"

#include <string.h>

static void carve(mw_transition_rows *rows, const mw_dataset_spec *spec, mw_arena *arena) {
    size_t cells = (size_t)rows->capacity * (size_t)spec->agents;
    rows->obs = mw_arena_floats(arena, cells * (size_t)spec->obs_size);
    rows->next_obs = mw_arena_floats(arena, cells * (size_t)spec->obs_size);
    rows->act = mw_arena_floats(arena, cells * (size_t)spec->act_size);
    rows->reward = mw_arena_floats(arena, cells);
    rows->place = mw_arena_take(arena, (size_t)rows->capacity, sizeof *rows->place);
}

mw_status mw_transition_rows_create(mw_transition_rows *rows, const mw_dataset_spec *spec, int capacity,
                                    mw_error *error) {
    mw_arena arena = {0};
    *rows = (mw_transition_rows){.capacity = capacity};
    carve(rows, spec, &arena);
    mw_status status = mw_arena_create(&arena, arena.used, error);
    if (status != MW_OK) {
        *rows = (mw_transition_rows){0};
        return status;
    }
    carve(rows, spec, &arena);
    rows->arena = arena;
    return MW_OK;
}

void mw_transition_rows_free(mw_transition_rows *rows) {
    mw_arena_free(&rows->arena);
    *rows = (mw_transition_rows){0};
}

/* Row `row` becomes the transition at this place. */
static void take(mw_transition_rows *rows, int row, const mw_dataset *data, mw_place place) {
    size_t n = (size_t)data->spec.agents, o = (size_t)data->spec.obs_size, d = (size_t)data->spec.act_size;
    size_t at = (size_t)row, step = (size_t)(data->offsets[place.episode] + place.t);
    memcpy(rows->obs + at * n * o, mw_dataset_obs(data, place.episode, place.t), n * o * sizeof(float));
    memcpy(rows->next_obs + at * n * o, mw_dataset_obs(data, place.episode, place.t + 1),
           n * o * sizeof(float));
    memcpy(rows->reward + at * n, data->rewards + step * n, n * sizeof(float));
    mw_dataset_actions(data, (int64_t)step, 1, rows->act + at * n * d);
    rows->place[row] = place;
}

void mw_transition_fill(mw_transition_rows *rows, int count, const mw_dataset *data,
                        const mw_episode_set *set, uint64_t seed, uint64_t step, mw_batch_use use) {
    for (int row = 0; row < count; row++) {
        mw_rng rng = mw_batch_rng(seed, step, row, use);
        take(rows, row, data, mw_episode_set_draw(set, &rng));
    }
}
