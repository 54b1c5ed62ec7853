/* Records episodes of a world that mawam knows nothing about into a dataset: two carts on a line see their
 * places and push themselves towards the middle, more or less well. `record_data FOLDER`; then
 * `mawam data info FOLDER`, and `mawam train FOLDER` learns from it. */
#include <mawam/mawam.h>

#include <stdio.h>
#include <stdlib.h>

enum { CARTS = 2, OBS = 2, ACT = 1, STEPS = 25, EPISODES = 200 };

/* One episode; carts start anywhere in [-1,1] and push with some noise. */
static void play(float obs[][CARTS][OBS], float act[][CARTS][ACT], float rewards[][CARTS]) {
    for (int i = 0; i < CARTS; i++) {
        obs[0][i][0] = 2 * (float)rand() / (float)RAND_MAX - 1; /* its place */
        obs[0][i][1] = (float)i;                                /* which one it is */
    }
    for (int t = 0; t < STEPS; t++)
        for (int i = 0; i < CARTS; i++) {
            const float noise = 2 * (float)rand() / (float)RAND_MAX - 1;
            const float push = -obs[t][i][0] + 0.3f * noise;
            act[t][i][0] = push < -1 ? -1 : push > 1 ? 1 : push;
            obs[t + 1][i][0] = obs[t][i][0] + 0.2f * act[t][i][0];
            obs[t + 1][i][1] = obs[t][i][1];
            rewards[t][i] = -obs[t + 1][i][0] * obs[t + 1][i][0];
        }
}

int main(int argc, char **argv) {
    static float obs[STEPS + 1][CARTS][OBS], act[STEPS][CARTS][ACT], rewards[STEPS][CARTS];
    mw_error error;
    mw_dataset_writer *writer;
    const mw_dataset_spec spec = {.task = "carts",
                                  .rules = "carts-1",
                                  .quality = "noisy",
                                  .agents = CARTS,
                                  .obs_size = OBS,
                                  .act_size = ACT,
                                  .episode_limit = STEPS,
                                  .note = "push towards the middle"};
    if (argc != 2) return fprintf(stderr, "usage: record_data FOLDER\n"), 2;
    mw_status status = mw_dataset_writer_open(&writer, argv[1], &spec, false, &error);
    for (int e = 0; status == MW_OK && e < EPISODES; e++) {
        play(obs, act, rewards);
        const mw_episode episode = {.length = STEPS,
                                    .obs = &obs[0][0][0],
                                    .last_obs = &obs[STEPS][0][0],
                                    .real = &act[0][0][0],
                                    .rewards = &rewards[0][0],
                                    .outcome = MW_ENDED_BY_LIMIT};
        status = mw_dataset_writer_add(writer, &episode, &error);
    }
    if (status == MW_OK)
        status = mw_dataset_writer_commit(writer, &error);
    else
        mw_dataset_writer_abandon(writer); /* NULL where it was not opened */
    if (status != MW_OK) return fprintf(stderr, "record_data: %s\n", error.message), 1;
    return 0;
}
