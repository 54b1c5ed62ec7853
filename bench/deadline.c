/* How decisions with a deadline keep it: a histogram of their times, and what they made of them.
 * `deadline BUNDLE MILLISECONDS [DECISIONS] [THREADS]` */
#include <mawam/mawam.h>

#include <stdio.h>
#include <stdlib.h>

static void check(mw_status status, const mw_error *error) {
    if (status == MW_OK) return;
    fprintf(stderr, "deadline: %s\n", error->message);
    exit(1);
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    enum { BINS = 15 };
    mw_error error;
    mw_bundle *bundle;
    mw_planner *planner;
    mw_env *env;
    mw_planner_options options;
    if (argc < 3) return fprintf(stderr, "usage: deadline BUNDLE MILLISECONDS [DECISIONS] [THREADS]\n"), 2;
    const int decisions = argc > 3 ? atoi(argv[3]) : 1000;
    check(mw_bundle_load(&bundle, argv[1], &error), &error);
    mw_planner_options_init(&options, sizeof options, bundle);
    options.deadline = atof(argv[2]);
    options.threads = argc > 4 ? atoi(argv[4]) : 0;
    const mw_bundle_summary about = mw_bundle_describe(bundle);
    check(mw_env_create(&env, about.task, NULL, &error), &error);
    check(mw_planner_create(&planner, bundle, &options, &error), &error);
    const size_t n = (size_t)about.agents, d = (size_t)about.act_size;
    float *obs = calloc(n * (size_t)about.obs_size, sizeof *obs), *rewards = calloc(n, sizeof *rewards);
    float *real = about.discrete ? NULL : calloc(n * d, sizeof *real);
    int32_t *index = about.discrete ? calloc(n, sizeof *index) : NULL;
    uint8_t *legal = calloc(n * d, 1);
    double *times = calloc((size_t)decisions, sizeof *times), candidates = 0;
    int bins[BINS] = {0}, late = 0, reactive = 0;
    mw_outcome outcome = {.truncated = true};
    uint64_t episode = 0;
    for (int k = 0; k < decisions; k++) {
        if (outcome.terminated || outcome.truncated) {
            mw_env_reset(env, ++episode);
            mw_planner_begin(planner, 0, episode);
        }
        mw_env_observe(env, obs);
        mw_env_legal(env, legal);
        check(mw_planner_act(planner, obs, legal, NULL, real, index, &error), &error);
        const mw_effort effort = mw_planner_effort(planner);
        const int bin = (int)(10 * effort.milliseconds / options.deadline);
        times[k] = effort.milliseconds;
        bins[bin < BINS ? bin : BINS - 1]++;
        late += effort.milliseconds > options.deadline;
        reactive += !effort.scored;
        candidates += effort.candidates;
        check(mw_env_step(env, (mw_action){real, index}, rewards, &outcome, &error), &error);
    }
    qsort(times, (size_t)decisions, sizeof *times, ascending);
    printf(
        "%s, deadline %g ms, %d decisions: %d late, %d reactive, %.2f candidates; p50 %.2f p95 %.2f p99 %.2f "
        "longest %.2f ms\n",
        about.task, options.deadline, decisions, late, reactive, candidates / decisions, times[decisions / 2],
        times[decisions * 95 / 100], times[decisions * 99 / 100], times[decisions - 1]);
    for (int b = 0; b < BINS; b++)
        printf("%5.0f%% of the deadline%s %6d\n", 10.0 * b, b == BINS - 1 ? " and more" : "         ",
               bins[b]);
    return 0;
}
