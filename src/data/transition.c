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

/* ---- for learners of policies and critics ---- */

static bool is_ended(const mw_dataset *d, long episode) {
    return d->outcomes[episode] != MW_ENDED_BY_LIMIT;
}

static long usable(const mw_dataset *d, long episode, int need) {
    const long steps = (long)d->lengths[episode];
    if (need == MW_NEED_STEP || is_ended(d, episode)) return steps;
    return need == MW_NEED_NEXT_OBS && d->last_obs ? steps : steps - 1;
}

mw_status mw_transition_set(mw_episode_set *set, const mw_dataset *d, const mw_episode_set *from,
                            mw_transition_need need, mw_error *error) {
    static const char *const missing[] = {[MW_NEED_STEP] = "step",
                                          [MW_NEED_NEXT_OBS] = "step with the observation after it",
                                          [MW_NEED_NEXT_ACTION] = "step with the action after it"};
    MW_TRY(mw_episode_set_of(set, d, from, usable, (int)need, error));
    if (set->transitions > 0) return MW_OK;
    return mw_fail(error, MW_ERR_ARGUMENT, "the data holds no %s to learn from", missing[need]);
}

static void take_index(int32_t *index, const mw_dataset *d, size_t step) {
    const size_t n = (size_t)d->spec.agents;
    for (size_t i = 0; index && i < n; i++) index[i] = (int32_t)mw_dataset_index(d, step * n + i);
}

static void take_legal(uint8_t *legal, const mw_dataset *d, size_t step) {
    const size_t cells = (size_t)d->spec.agents * (size_t)d->spec.act_size;
    if (legal && d->legal) memcpy(legal, d->legal + step * cells, cells);
    if (legal && !d->legal) memset(legal, 1, cells);
}

static void take_returns(const mw_transition *row, const mw_dataset *d, mw_place place) {
    const size_t n = (size_t)d->spec.agents;
    const float *rewards = d->rewards + (size_t)d->offsets[place.episode] * n;
    for (size_t i = 0; i < n; i++) {
        double whole = 0, left = 0;
        for (size_t t = 0; t < (size_t)d->lengths[place.episode]; t++) {
            whole += (double)rewards[t * n + i];
            if ((long)t >= place.t) left += (double)rewards[t * n + i];
        }
        if (row->to_go) row->to_go[i] = (float)left;
        if (row->episode_return) row->episode_return[i] = (float)whole;
    }
}

/* What follows the step; it is recorded unless the episode was over. */
static void take_next(const mw_transition *row, const mw_dataset *d, mw_place place) {
    const size_t n = (size_t)d->spec.agents, o = (size_t)d->spec.obs_size, act = (size_t)d->spec.act_size;
    const bool last = place.t + 1 == (long)d->lengths[place.episode],
               over = last && is_ended(d, place.episode);
    const size_t next = (size_t)(d->offsets[place.episode] + place.t) + 1;
    const float *obs = over ? NULL : mw_dataset_obs(d, place.episode, place.t + 1);
    if (row->end) *row->end = over;
    if (row->next_obs && obs) memcpy(row->next_obs, obs, n * o * sizeof *obs);
    if (row->next_obs && !obs) memset(row->next_obs, 0, n * o * sizeof *row->next_obs);
    if (last) {
        if (row->next_act) memset(row->next_act, 0, n * act * sizeof *row->next_act);
        if (row->next_index) memset(row->next_index, 0, n * sizeof *row->next_index);
        if (row->next_legal) memset(row->next_legal, 0, n * act);
        return;
    }
    if (row->next_act) mw_dataset_actions(d, (int64_t)next, 1, row->next_act);
    take_index(row->next_index, d, next);
    take_legal(row->next_legal, d, next);
}

void mw_transition_take(const mw_transition *row, const mw_dataset *d, mw_place place) {
    const size_t n = (size_t)d->spec.agents, o = (size_t)d->spec.obs_size,
                 step = (size_t)(d->offsets[place.episode] + place.t);
    if (row->obs) memcpy(row->obs, mw_dataset_obs(d, place.episode, place.t), n * o * sizeof *row->obs);
    if (row->act) mw_dataset_actions(d, (int64_t)step, 1, row->act);
    take_index(row->index, d, step);
    take_legal(row->legal, d, step);
    if (row->reward) memcpy(row->reward, d->rewards + step * n, n * sizeof *row->reward);
    if (row->to_go || row->episode_return) take_returns(row, d, place);
    take_next(row, d, place);
}
