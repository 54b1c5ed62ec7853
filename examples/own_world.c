/* A world that mawam knows nothing about, from recorded play to planned play: two carts on a line that are to
 * meet. Records random episodes into FOLDER/data, trains FOLDER/carts.safetensors on them
 * and plays with it. `own_world FOLDER` */
#include <mawam/mawam.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { AGENTS = 2, OBS = 3, ACT = 1, STEPS = 20, EPISODES = 400, JUDGED = 20 };

typedef struct {
    float place[AGENTS], speed[AGENTS];
} world;

static float draw(void) { /* in [-1, 1] */
    return 2 * (float)rand() / (float)RAND_MAX - 1;
}

static world start(void) {
    return (world){.place = {draw(), draw()}};
}

/* Each sees its own place and speed, and where the other is. */
static void observe(const world *w, float *obs) {
    for (int i = 0; i < AGENTS; i++) {
        obs[i * OBS] = w->place[i];
        obs[i * OBS + 1] = w->speed[i];
        obs[i * OBS + 2] = w->place[1 - i] - w->place[i];
    }
}

static float step(world *w, const float *push) {
    for (int i = 0; i < AGENTS; i++) {
        w->speed[i] = 0.8f * w->speed[i] + 0.1f * push[i];
        w->place[i] += w->speed[i];
    }
    return -fabsf(w->place[0] - w->place[1]);
}

static mw_status record(const char *folder, mw_error *error) {
    const mw_dataset_spec spec = {.task = "carts",
                                  .rules = "carts-1",
                                  .quality = "random",
                                  .agents = AGENTS,
                                  .obs_size = OBS,
                                  .act_size = ACT,
                                  .episode_limit = STEPS};
    mw_dataset_writer *writer;
    MW_TRY(mw_dataset_writer_open(&writer, folder, &spec, true, error));
    for (int e = 0; e < EPISODES; e++) {
        float obs[STEPS + 1][AGENTS * OBS], push[STEPS][AGENTS], rewards[STEPS][AGENTS];
        world w = start();
        for (int t = 0; t < STEPS; t++) {
            observe(&w, obs[t]);
            for (int i = 0; i < AGENTS; i++) push[t][i] = t % 4 ? push[t - 1][i] : draw();
            rewards[t][0] = rewards[t][1] = step(&w, push[t]);
        }
        observe(&w, obs[STEPS]);
        const mw_episode episode = {.length = STEPS,
                                    .obs = obs[0],
                                    .last_obs = obs[STEPS],
                                    .real = push[0],
                                    .rewards = rewards[0],
                                    .outcome = MW_ENDED_BY_LIMIT};
        mw_status status = mw_dataset_writer_add(writer, &episode, error);
        if (status != MW_OK) {
            mw_dataset_writer_abandon(writer);
            return status;
        }
    }
    return mw_dataset_writer_commit(writer, error);
}

static mw_status train(const char *folder, const char *bundle, mw_error *error) {
    static const char *const small[] = {
        "flow.dim=16",      "flow.mults=1,1,1", "flow.steps=150", "inverse.steps=200", "rwm.hidden=32",
        "rwm.steps=200",    "rwm.experts=2",    "rwm.slots=2",    "flow.forecast=0",   "inverse.hidden=32",
        "inverse.batch=64", "rwm.batch=64",     "flow.batch=16"};
    mw_dataset *dataset;
    mw_train_options options;
    mw_training_report report;
    mw_train_options_init(&options, sizeof options);
    options.resume = true; /* what an earlier run finished or began is kept */
    options.assignments = small;
    options.assignment_count = sizeof small / sizeof *small;
    MW_TRY(mw_dataset_load(&dataset, folder, error));
    mw_status status = mw_bundle_train(dataset, bundle, &options, &report, error);
    mw_training_report_free(&report);
    mw_dataset_free(dataset);
    return status;
}

/* Mean return of planned episodes; planner NULL: of random ones. */
static mw_status play(mw_planner *planner, double *mean, mw_error *error) {
    *mean = 0;
    for (int e = 0; e < JUDGED; e++) {
        world w = start();
        if (planner) mw_planner_begin(planner, 0, (uint64_t)e, NULL);
        for (int t = 0; t < STEPS; t++) {
            float obs[AGENTS * OBS], push[AGENTS] = {draw(), draw()};
            observe(&w, obs);
            if (planner) MW_TRY(mw_planner_act(planner, obs, NULL, NULL, push, NULL, error));
            const float reward = step(&w, push);
            if (planner) mw_planner_reward(planner, 0, reward, NULL);
            *mean += reward / JUDGED;
        }
    }
    return MW_OK;
}

int main(int argc, char **argv) {
    char data[1024], path[1024];
    mw_error error;
    mw_bundle *bundle = NULL;
    mw_planner *planner = NULL;
    double random, planned;
    if (argc != 2) return fprintf(stderr, "usage: own_world FOLDER\n"), 2;
    snprintf(data, sizeof data, "%.900s/data", argv[1]);
    snprintf(path, sizeof path, "%.900s/carts.safetensors", argv[1]);
    srand(1);
    if (mw_dir_make(argv[1], &error) != MW_OK || record(data, &error) != MW_OK ||
        train(data, path, &error) != MW_OK || mw_bundle_load(&bundle, path, &error) != MW_OK ||
        mw_planner_create(&planner, bundle, NULL, &error) != MW_OK || play(NULL, &random, &error) != MW_OK ||
        play(planner, &planned, &error) != MW_OK)
        return fprintf(stderr, "own_world: %s\n", error.message), 1;
    printf("carts: random %.2f, planned %.2f\n", random, planned);
    mw_planner_free(planner);
    mw_bundle_free(bundle);
    return 0;
}
