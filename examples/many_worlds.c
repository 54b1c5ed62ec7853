/* A game server: many worlds with their own episodes, decided together in one batch, which costs far less
 * than one decision after the other. Worlds end at different times and start anew on their own. `many_worlds
 * BUNDLE [WORLDS] [STEPS]` */
#include <mawam/mawam.h>

#include <stdio.h>
#include <stdlib.h>

static void check(mw_status status, const mw_error *error) {
    if (status == MW_OK) return;
    fprintf(stderr, "many_worlds: %s\n", error->message);
    exit(1);
}

int main(int argc, char **argv) {
    mw_error error;
    mw_bundle *bundle;
    mw_planner *planner;
    mw_env_batch *worlds;
    mw_planner_options options;
    const int count = argc > 2 ? atoi(argv[2]) : 16, steps = argc > 3 ? atoi(argv[3]) : 50;
    if (argc < 2 || count < 1 || steps < 1)
        return fprintf(stderr, "usage: many_worlds BUNDLE [WORLDS] [STEPS]\n"), 2;

    check(mw_bundle_load(&bundle, argv[1], &error), &error);
    mw_planner_options_init(&options, sizeof options, bundle);
    options.envs = count;
    const mw_bundle_summary about = mw_bundle_describe(bundle);
    check(mw_planner_create(&planner, bundle, &options, &error), &error);
    check(mw_env_batch_create(&worlds, about.task, NULL, count, 0, &error), &error);

    const size_t all = (size_t)count, n = (size_t)about.agents, d = (size_t)about.act_size;
    float *obs = (float *)calloc(all * n * (size_t)about.obs_size, sizeof *obs);
    float *rewards = (float *)calloc(all * n, sizeof *rewards);
    float *real = about.discrete ? NULL : (float *)calloc(all * n * d, sizeof *real);
    int32_t *index = about.discrete ? (int32_t *)calloc(all * n, sizeof *index) : NULL;
    uint8_t *legal = (uint8_t *)calloc(all * n * d, 1), *over = (uint8_t *)calloc(all, 1);
    uint64_t *seeds = (uint64_t *)calloc(all, sizeof *seeds), games = 0;
    mw_outcome *outcomes = (mw_outcome *)calloc(all, sizeof *outcomes);
    double earned = 0;
    if (!obs || !rewards || !legal || !over || !seeds || !outcomes || (about.discrete ? !index : !real))
        return fprintf(stderr, "many_worlds: out of memory\n"), 1;

    for (int e = 0; e < count; e++) over[e] = 1;
    for (int step = 0; step < steps; step++) {
        for (int e = 0; e < count; e++)
            if (over[e]) mw_planner_begin(planner, e, seeds[e] = games++, NULL);
        mw_env_batch_reset(worlds, seeds, over, obs, legal);
        check(mw_planner_act(planner, obs, legal, NULL, real, index, &error), &error);
        check(mw_env_batch_step(worlds, (mw_action){real, index}, rewards, outcomes, obs, legal, &error),
              &error);
        for (int e = 0; e < count; e++) {
            float mean = 0;
            for (size_t i = 0; i < n; i++) mean += rewards[(size_t)e * n + i] / (float)n;
            mw_planner_reward(planner, e, mean, NULL);
            earned += mean;
            over[e] = outcomes[e].terminated || outcomes[e].truncated;
        }
    }
    printf("%s: %d worlds, %llu games begun, %.4g earned per step\n", about.task, count,
           (unsigned long long)games, earned / count / steps);

    free(obs), free(rewards), free(real), free(index), free(legal), free(over), free(seeds), free(outcomes);
    mw_env_batch_free(worlds);
    mw_planner_free(planner);
    mw_bundle_free(bundle);
    return 0;
}
