/* The particle tasks against recorded trajectories: one step from every stored state (the check to trust for
 * contacts), and whole episodes replayed from their first state. */
#include "core/tensor/npy.h"
#include "env/mpe/mpe.h"
#include "verify/env.h"

#include <stdio.h>
#include <string.h>

static const double tolerance = 1e-9;

typedef struct {
    const double *actions, *pos, *vel, *obs, *prey_obs, *rewards;
    const double *first_pos, *first_vel; /* NULL: not recorded */
    int episodes, steps;
    mw_npy files[8];
} record;

enum { ACTIONS, POS, VEL, OBS, REWARDS, PREY_OBS, FIRST_POS, FIRST_VEL };

static void close_record(record *r) {
    for (int i = 0; i < 8; i++) mw_npy_close(&r->files[i]);
}

/* shape[0] and shape[1] of -1 match any: episodes and steps. */
static mw_status open_array(record *r, int which, const char *dir, const char *name, int dims,
                            const long *shape, const double **data, mw_error *error) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.npy", dir, name);
    MW_TRY(mw_npy_open(&r->files[which], path, error));
    MW_TRY(mw_npy_expect(&r->files[which], path, MW_F64, dims, shape, error));
    *data = r->files[which].data;
    return MW_OK;
}

/* An array that not every record has. */
static mw_status open_first(record *r, int which, const char *dir, const char *name, long entities,
                            const double **data, mw_error *error) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.npy", dir, name);
    if (!mw_file_exists(path)) return MW_OK;
    return open_array(r, which, dir, name, 3, (long[]){r->episodes, entities, 2}, data, error);
}

static mw_status open_record(record *r, const char *dir, const mw_mpe_task *task, mw_error *error) {
    long n = task->agents, e = task->entities, o = mw_mpe_obs_size(task, 0);
    MW_TRY(open_array(r, ACTIONS, dir, "actions", 4, (long[]){-1, -1, n, 2}, &r->actions, error));
    long episodes = (long)r->files[ACTIONS].shape[0], steps = (long)r->files[ACTIONS].shape[1];
    if (episodes < 1 || steps < 1 || episodes > 1 << 24 || steps > 1 << 24)
        return mw_fail(error, MW_ERR_FORMAT, "%s/actions.npy: %ld episodes of %ld steps", dir, episodes,
                       steps);
    r->episodes = (int)episodes;
    r->steps = (int)steps;
    MW_TRY(open_array(r, POS, dir, "pos", 4, (long[]){episodes, steps + 1, e, 2}, &r->pos, error));
    MW_TRY(open_array(r, VEL, dir, "vel", 4, (long[]){episodes, steps + 1, e, 2}, &r->vel, error));
    MW_TRY(
        open_array(r, OBS, dir, "obs", 4, (long[]){episodes, steps + 1, task->learners, o}, &r->obs, error));
    MW_TRY(open_first(r, FIRST_POS, dir, "init_pos", e, &r->first_pos, error));
    MW_TRY(open_first(r, FIRST_VEL, dir, "init_vel", e, &r->first_vel, error));
    MW_TRY(open_array(r, REWARDS, dir, "rewards", 3, (long[]){episodes, steps, n}, &r->rewards, error));
    if (mw_mpe_has_prey(task)) {
        long prey = mw_mpe_obs_size(task, task->learners);
        MW_TRY(open_array(r, PREY_OBS, dir, "prey_obs", 3, (long[]){episodes, steps + 1, prey}, &r->prey_obs,
                          error));
    }
    return MW_OK;
}

/* The largest errors seen so far. */
typedef struct {
    double pos, vel, obs, prey_obs, rewards;
} worst;

/* row = episode * (steps + 1) + step: the state's place in the record. */
static void read_state(const record *r, const mw_mpe_task *task, size_t row, mw_mpe_state *state) {
    size_t size = (size_t)task->entities * 2;
    memset(state, 0, sizeof *state);
    memcpy(state->pos, r->pos + row * size, size * sizeof(double));
    memcpy(state->vel, r->vel + row * size, (size_t)task->agents * 2 * sizeof(double));
}

static void compare_state(const record *r, const mw_mpe_task *task, size_t row, const mw_mpe_state *state,
                          worst *w) {
    const double *pos = r->pos + row * (size_t)task->entities * 2;
    const double *vel = r->vel + row * (size_t)task->entities * 2;
    for (int i = 0; i < task->entities * 2; i++) {
        w->pos = mw_verify_worst(w->pos, state->pos[i / 2][i % 2], pos[i]);
        w->vel = mw_verify_worst(w->vel, i < task->agents * 2 ? state->vel[i / 2][i % 2] : 0, vel[i]);
    }
    double obs[MW_MPE_MAX_OBS];
    for (int agent = 0; agent < task->agents; agent++) {
        int count = mw_mpe_observe(task, state, agent, obs);
        bool learner = agent < task->learners;
        const double *expected = learner
                                     ? r->obs + (row * (size_t)task->learners + (size_t)agent) * (size_t)count
                                     : r->prey_obs + row * (size_t)count;
        double *error = learner ? &w->obs : &w->prey_obs;
        for (int i = 0; i < count; i++) *error = mw_verify_worst(*error, obs[i], expected[i]);
    }
}

/* Plays one recorded step and compares what follows; row is the place of the state before it. */
static void play_step(const record *r, const mw_mpe_task *task, size_t transition, size_t row,
                      mw_mpe_state *state, worst *w) {
    double action[MW_MPE_MAX_AGENTS][2], rewards[MW_MPE_MAX_AGENTS];
    size_t n = (size_t)task->agents;
    memcpy(action, r->actions + transition * n * 2, n * sizeof action[0]);
    mw_mpe_advance(task, state, (const double(*)[2])action);
    task->rewards(task, state, rewards);
    for (size_t i = 0; i < n; i++)
        w->rewards = mw_verify_worst(w->rewards, rewards[i], r->rewards[transition * n + i]);
    compare_state(r, task, row + 1, state, w);
}

/* Contacts magnify rounding. A twin that starts a few rounding errors beside the recorded state shows how
 * far: what has grown a thousandfold proves nothing any more, and the single steps stand for the rest. */
static const double nudge = 1e-15, blurred = 1e-12;

static void nudge_state(const mw_mpe_task *task, mw_mpe_state *state) {
    for (int i = 0; i < task->agents; i++)
        for (int k = 0; k < 2; k++) state->pos[i][k] += (i + k) % 2 ? nudge : -nudge;
}

static bool is_blurred(const mw_mpe_task *task, const mw_mpe_state *a, const mw_mpe_state *b) {
    double apart = 0;
    for (int i = 0; i < task->agents; i++)
        for (int k = 0; k < 2; k++)
            apart = mw_verify_worst(mw_verify_worst(apart, a->pos[i][k], b->pos[i][k]), a->vel[i][k],
                                    b->vel[i][k]);
    return !(apart < blurred);
}

static void report_worst(mw_verify *report, const mw_mpe_task *task, const char *what, const worst *w) {
    mw_verify_check(report, w->pos, tolerance, "%s: position, %s", task->name, what);
    mw_verify_check(report, w->vel, tolerance, "%s: velocity, %s", task->name, what);
    mw_verify_check(report, w->obs, tolerance, "%s: observation, %s", task->name, what);
    if (mw_mpe_has_prey(task))
        mw_verify_check(report, w->prey_obs, tolerance, "%s: prey observation, %s", task->name, what);
    mw_verify_check(report, w->rewards, tolerance, "%s: rewards, %s", task->name, what);
}

/* The states after reset are the first of all states, and at rest. */
static void check_first(const record *r, const mw_mpe_task *task, mw_verify *report) {
    const size_t size = (size_t)task->entities * 2;
    double off = 0;
    if (!r->first_pos && !r->first_vel) return;
    for (size_t i = 0; i < (size_t)r->episodes * size; i++) {
        const size_t first = i / size * (size_t)(r->steps + 1) * size + i % size;
        if (r->first_pos) off = mw_verify_worst(off, r->pos[first], r->first_pos[i]);
        if (r->first_vel)
            off = mw_verify_worst(mw_verify_worst(off, r->vel[first], r->first_vel[i]), 0, r->first_vel[i]);
    }
    mw_verify_check(report, off, 0, "%s: state after reset", task->name);
}

static void check_record(const record *r, const mw_mpe_task *task, mw_verify *report) {
    worst one = {0}, whole = {0}, unused = {0};
    long compared = 0;
    char what[96];
    for (int episode = 0; episode < r->episodes; episode++) {
        size_t first = (size_t)episode * (size_t)(r->steps + 1), played = (size_t)episode * (size_t)r->steps;
        mw_mpe_state state, running, twin;
        bool sharp = true;
        read_state(r, task, first, &running);
        twin = running;
        nudge_state(task, &twin);
        compare_state(r, task, first, &running, &whole);
        for (int step = 0; step < r->steps; step++) {
            read_state(r, task, first + (size_t)step, &state);
            play_step(r, task, played + (size_t)step, first + (size_t)step, &state, &one);
            if (!sharp) continue;
            worst before = whole;
            play_step(r, task, played + (size_t)step, first + (size_t)step, &running, &whole);
            play_step(r, task, played + (size_t)step, first + (size_t)step, &twin, &unused);
            sharp = !is_blurred(task, &running, &twin);
            if (!sharp) whole = before;
            compared += sharp;
        }
    }
    report_worst(report, task, "one step from each state", &one);
    snprintf(what, sizeof what, "%ld of %ld steps of whole episodes", compared,
             (long)r->episodes * (long)r->steps);
    report_worst(report, task, what, &whole);
}

mw_status mw_verify_mpe(const char *dir, mw_verify *report, mw_error *error) {
    int found = 0;
    for (const mw_mpe_task *task = mw_mpe_tasks; task->name; task++) {
        char folder[1000], path[1024];
        snprintf(folder, sizeof folder, "%s/simple_%s", dir, task->name);
        snprintf(path, sizeof path, "%s/actions.npy", folder);
        if (!mw_file_exists(path)) continue;
        record r = {0};
        mw_status status = open_record(&r, folder, task, error);
        if (status == MW_OK) check_first(&r, task, report);
        if (status == MW_OK) check_record(&r, task, report);
        close_record(&r);
        if (status != MW_OK) return status;
        found++;
    }
    if (!found)
        return mw_fail(error, MW_ERR_IO, "%s: no simple_<task>/actions.npy of the particle tasks here", dir);
    return MW_OK;
}
