/* A control loop with a deadline: a robot that wants its next action every PERIOD milliseconds, come what
 * may. The planner draws and scores as many candidates as the time allows and falls back on the policy's own
 * first idea where it allows none. The robot here is the bundle's own world. `robot_loop BUNDLE
 * [MILLISECONDS]` */
#define _POSIX_C_SOURCE 200809L /* clock_nanosleep */
#include <mawam/mawam.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void check(mw_status status, const mw_error *error) {
    if (status == MW_OK) return;
    fprintf(stderr, "robot_loop: %s\n", error->message);
    exit(1);
}

static void add(struct timespec *time, double milliseconds) {
    time->tv_nsec += (long)(1e6 * milliseconds);
    time->tv_sec += time->tv_nsec / 1000000000;
    time->tv_nsec %= 1000000000;
}

int main(int argc, char **argv) {
    mw_error error;
    mw_bundle *bundle;
    mw_planner *planner;
    mw_env *robot;
    mw_planner_options options;
    const double period = argc > 2 ? atof(argv[2]) : 20;
    if (argc < 2 || !(period > 0)) return fprintf(stderr, "usage: robot_loop BUNDLE [MILLISECONDS]\n"), 2;

    check(mw_bundle_load(&bundle, argv[1], &error), &error);
    mw_planner_options_init(&options, sizeof options, bundle);
    options.deadline = 0.8 * period; /* the rest is for sensors and motors */
    options.threads = 1;             /* more would wait for whichever core has other work */
    const mw_bundle_summary about = mw_bundle_describe(bundle);
    check(mw_env_create(&robot, about.task, NULL, &error), &error);
    check(mw_planner_create(&planner, bundle, &options, &error), &error);

    const size_t n = (size_t)about.agents, d = (size_t)about.act_size;
    float *obs = (float *)calloc(n * (size_t)about.obs_size, sizeof *obs),
          *rewards = (float *)calloc(n, sizeof *rewards);
    float *real = about.discrete ? NULL : (float *)calloc(n * d, sizeof *real);
    int32_t *index = about.discrete ? (int32_t *)calloc(n, sizeof *index) : NULL;
    uint8_t *legal = (uint8_t *)calloc(n * d, 1);
    if (!obs || !rewards || !legal || (about.discrete ? !index : !real))
        return fprintf(stderr, "robot_loop: out of memory\n"), 1;
    int decisions = 0, late = 0, reactive = 0;
    double candidates = 0, longest = 0;
    mw_outcome outcome = {0};
    struct timespec next;

    mw_env_reset(robot, 1);
    mw_planner_begin(planner, 0, 1, NULL);
    clock_gettime(CLOCK_MONOTONIC, &next);
    while (!outcome.terminated && !outcome.truncated && decisions < 100) {
        mw_env_observe(robot, obs);
        mw_env_legal(robot, legal);
        check(mw_planner_act(planner, obs, legal, NULL, real, index, &error), &error);
        const mw_effort effort = mw_planner_effort(planner);
        decisions++;
        late += effort.milliseconds > options.deadline;
        reactive += !effort.scored;
        candidates += effort.candidates;
        longest = effort.milliseconds > longest ? effort.milliseconds : longest;
        check(mw_env_step(robot, (mw_action){real, index}, rewards, &outcome, &error), &error);
        float mean = 0; /* what is earned is no longer to be aimed at */
        for (int i = 0; i < about.agents; i++) mean += rewards[i] / (float)about.agents;
        mw_planner_reward(planner, 0, mean, NULL);
        add(&next, period);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    printf("%s: %d decisions of at most %.3g ms: %d late, %d reactive, %.1f candidates on average, longest "
           "%.3g ms\n",
           about.task, decisions, options.deadline, late, reactive, candidates / decisions, longest);

    free(obs), free(rewards), free(real), free(index), free(legal);
    mw_planner_free(planner);
    mw_env_free(robot);
    mw_bundle_free(bundle);
    return 0;
}
