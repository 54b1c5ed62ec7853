/* Plays one planned episode in one of mawam's own worlds: `plan_env BUNDLE [SEED]`. */
#include <mawam/mawam.h>

#include <stdio.h>
#include <stdlib.h>

static void check(mw_status status, const mw_error *error) {
    if (status == MW_OK) return;
    fprintf(stderr, "plan_env: %s\n", error->message);
    exit(1);
}

int main(int argc, char **argv) {
    mw_error error;
    mw_bundle *bundle;
    mw_planner *planner;
    mw_env *env;
    mw_planner_options options;
    if (argc < 2) return fprintf(stderr, "usage: plan_env BUNDLE [SEED]\n"), 2;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;

    check(mw_bundle_load(&bundle, argv[1], &error), &error);
    mw_planner_options_init(&options, sizeof options, bundle); /* everything as the bundle says */
    mw_bundle_summary about = mw_bundle_describe(bundle);
    check(mw_env_create(&env, about.task, NULL, &error), &error);
    check(mw_planner_create(&planner, bundle, &options, &error), &error);

    size_t n = (size_t)about.agents, o = (size_t)about.obs_size, d = (size_t)about.act_size;
    float *obs = (float *)calloc(n * o, sizeof *obs), *rewards = (float *)calloc(n, sizeof *rewards);
    float *real = about.discrete ? NULL : (float *)calloc(n * d, sizeof *real);
    int32_t *index = about.discrete ? (int32_t *)calloc(n, sizeof *index) : NULL;
    uint8_t *legal = (uint8_t *)calloc(n * d, 1);
    if (!obs || !rewards || !legal || (about.discrete ? !index : !real))
        return fprintf(stderr, "plan_env: out of memory\n"), 1;
    mw_outcome outcome = {0};
    double total = 0;

    mw_env_reset(env, seed);
    mw_planner_begin(planner, 0, seed, NULL);
    while (!outcome.terminated && !outcome.truncated) {
        mw_env_observe(env, obs);
        mw_env_legal(env, legal);
        check(mw_planner_act(planner, obs, legal, NULL, real, index, &error), &error);
        check(mw_env_step(env, (mw_action){real, index}, rewards, &outcome, &error), &error);
        float mean = 0;
        for (size_t i = 0; i < n; i++) mean += rewards[i] / (float)n;
        mw_planner_reward(planner, 0, mean, NULL);
        total += mean;
    }
    printf("%s-%s: return %g after %d steps%s\n", about.task, about.quality, total, outcome.step,
           outcome.won ? ", won" : "");

    free(obs), free(rewards), free(real), free(index), free(legal);
    mw_planner_free(planner);
    mw_env_free(env);
    mw_bundle_free(bundle);
    return 0;
}
