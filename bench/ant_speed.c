/* What the Ant environment costs on top of its physics: random play through the public interface (script,
 * step, observe) against bare mj_step calls under the same controls from the same states, in alternating
 * rounds of one run. Prints both rates in environment steps per second of processor time. */
#include "env/ant/ant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STEPS = 1000, ROUNDS = 9, SUBSTEPS = 5 };

typedef struct {
    bool fresh; /* an episode starts here, in the state below */
    double qpos[MW_ANT_QPOS], qvel[MW_ANT_QVEL], warm_start[MW_ANT_QVEL], ctrl[MW_ANT_CTRL];
} moment;

static moment moments[STEPS];

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void fail(const mw_error *error) {
    fprintf(stderr, "ant_speed: %s\n", error->message);
    exit(1);
}

/* With record, notes what the bare loop must repeat; timed rounds run without. */
static double play(mw_env *env, uint64_t seed, bool record) {
    mw_error error;
    const mw_ant_state *state = env->state;
    float real[MW_ANT_CTRL], rewards[MW_ANT_MOST_AGENTS], obs[MW_ANT_MOST_AGENTS * MW_ANT_MOST_OBS];
    mw_outcome outcome = {.truncated = true};
    double start = seconds();
    for (int t = 0; t < STEPS; t++) {
        bool fresh = outcome.terminated || outcome.truncated;
        if (fresh) mw_env_reset(env, seed++);
        if (record) {
            moments[t].fresh = fresh;
            memcpy(moments[t].qpos, state->data->qpos, sizeof moments[t].qpos);
            memcpy(moments[t].qvel, state->data->qvel, sizeof moments[t].qvel);
            memcpy(moments[t].warm_start, state->data->qacc_warmstart, sizeof moments[t].warm_start);
        }
        if (mw_script_act(env, "random", seed, real, NULL, &error) != MW_OK ||
            mw_env_step(env, (mw_action){.real = real}, rewards, &outcome, &error) != MW_OK)
            fail(&error);
        mw_env_observe(env, obs);
        if (record) memcpy(moments[t].ctrl, state->data->ctrl, sizeof moments[t].ctrl);
    }
    return seconds() - start;
}

static double bare(const mjModel *model, mjData *data) {
    double start = seconds();
    for (int t = 0; t < STEPS; t++) {
        if (moments[t].fresh) {
            memcpy(data->qpos, moments[t].qpos, sizeof moments[t].qpos);
            memcpy(data->qvel, moments[t].qvel, sizeof moments[t].qvel);
            memcpy(data->qacc_warmstart, moments[t].warm_start, sizeof moments[t].warm_start);
        }
        memcpy(data->ctrl, moments[t].ctrl, sizeof moments[t].ctrl);
        for (int i = 0; i < SUBSTEPS; i++) mj_step(model, data);
    }
    return seconds() - start;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values) {
    qsort(values, ROUNDS, sizeof *values, ascending);
    return values[ROUNDS / 2];
}

int main(void) {
    for (const mw_ant_split *split = mw_ant_splits; split->task; split++) {
        mw_env *env;
        mw_error error;
        if (mw_env_create(&env, split->task, NULL, &error) != MW_OK) fail(&error);
        const mw_ant *world = env->model;
        mjData *data = mj_makeData(world->physics);
        double ours[ROUNDS], theirs[ROUNDS], ratio[ROUNDS];
        for (int round = 0; round < ROUNDS; round++) {
            uint64_t seed = 1000 * (uint64_t)round;
            play(env, seed, true);
            theirs[round] = STEPS / bare(world->physics, data);
            ours[round] = STEPS / play(env, seed, false);
            ratio[round] = ours[round] / theirs[round];
        }
        printf("%s: environment %.0f steps/s, bare mj_step %.0f steps/s, ratio %.3f (medians of %d rounds)\n",
               split->task, median(ours), median(theirs), median(ratio), ROUNDS);
        mj_deleteData(data);
        mw_env_free(env);
    }
    return 0;
}
