/* Scripted policies of the particle tasks: a scale for learners, and the controllers behind the published
 * anchors. */
#include "env/mpe/mpe.h"

#include "core/math.h"

#include <math.h>
#include <string.h>

static void still_act(const mw_env *env, mw_rng *rng, float *real, int32_t *index) {
    (void)rng;
    (void)index;
    memset(real, 0, (size_t)(env->info.agents * env->info.act_size) * sizeof *real);
}

static double start_distance(const mw_mpe_state *state, int agent, int landmark) {
    return mw_length(state->start[agent][0] - state->pos[landmark][0],
                     state->start[agent][1] - state->pos[landmark][1]);
}

/* own[agent] = landmark: the closest free pair, three times. */
static void assign_greedily(const mw_mpe_task *task, const mw_mpe_state *state, int *own) {
    unsigned taken = 0;
    for (int i = 0; i < task->agents; i++) own[i] = -1;
    for (int round = 0; round < task->agents; round++) {
        double least = INFINITY;
        int agent = 0, landmark = task->agents;
        for (int i = 0; i < task->agents; i++)
            for (int l = task->agents; l < task->entities; l++)
                if (own[i] < 0 && !(taken >> l & 1) && start_distance(state, i, l) < least) {
                    least = start_distance(state, i, l);
                    agent = i;
                    landmark = l;
                }
        own[agent] = landmark;
        taken |= 1u << landmark;
    }
}

/* The permutation with the smallest sum of distances, by trying all six. */
static void assign_best(const mw_mpe_task *task, const mw_mpe_state *state, int *own) {
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    double least = INFINITY;
    for (int k = 0; k < 6; k++) {
        double sum = 0;
        for (int i = 0; i < 3; i++) sum += start_distance(state, i, task->agents + orders[k][i]);
        if (!(sum < least)) continue;
        least = sum;
        for (int i = 0; i < 3; i++) own[i] = task->agents + orders[k][i];
    }
}

static float clip(double value) {
    return (float)fmin(fmax(value, -1), 1);
}

/* A damped approach to each agent's own landmark. */
static void approach(const mw_mpe_task *task, const mw_mpe_state *state, const int *own, float *real) {
    for (int i = 0; i < task->agents; i++)
        for (int c = 0; c < 2; c++)
            real[2 * i + c] =
                clip(2 * (5 * (state->pos[own[i]][c] - state->pos[i][c]) - 0.75 * state->vel[i][c]));
}

static void greedy_act(const mw_env *env, mw_rng *rng, float *real, int32_t *index) {
    (void)rng;
    (void)index;
    const mw_mpe_task *task = ((const mw_mpe_model *)env->model)->task;
    int own[MW_MPE_MAX_AGENTS];
    assign_greedily(task, env->state, own);
    approach(task, env->state, own, real);
}

static void best_act(const mw_env *env, mw_rng *rng, float *real, int32_t *index) {
    (void)rng;
    (void)index;
    const mw_mpe_task *task = ((const mw_mpe_model *)env->model)->task;
    int own[MW_MPE_MAX_AGENTS];
    assign_best(task, env->state, own);
    approach(task, env->state, own, real);
}

/* Full speed straight at the prey. */
static void chase_act(const mw_env *env, mw_rng *rng, float *real, int32_t *index) {
    (void)rng;
    (void)index;
    const mw_mpe_task *task = ((const mw_mpe_model *)env->model)->task;
    const mw_mpe_state *state = env->state;
    const double *prey = state->pos[task->learners];
    for (int i = 0; i < task->learners; i++) {
        double dx = prey[0] - state->pos[i][0], dy = prey[1] - state->pos[i][1];
        double largest = fmax(fabs(dx), fabs(dy));
        real[2 * i] = largest > 0 ? clip(dx / largest) : 0;
        real[2 * i + 1] = largest > 0 ? clip(dy / largest) : 0;
    }
}

static const mw_script cover_scripts[] = {
    {"still", "no action", still_act},
    {"greedy", "own landmark, closest pairs first", greedy_act},
    {"best", "own landmark, smallest sum of distances", best_act},
    {NULL, NULL, NULL},
};

static const mw_script pursuit_scripts[] = {
    {"still", "no action", still_act},
    {"chase", "full speed straight at the prey", chase_act},
    {NULL, NULL, NULL},
};

const mw_script *mw_mpe_scripts(const char *task) {
    return mw_mpe_has_prey(mw_mpe_find(task)) ? pursuit_scripts : cover_scripts;
}
