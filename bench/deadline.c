/* How decisions with a deadline keep it: a histogram of their times, and what they made of them, as JSON with
 * the machine it was measured on. `deadline BUNDLE MILLISECONDS [DECISIONS] [THREADS]` */
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
    enum { BINS = 15 }; /* tenths of the deadline; the last holds what took longer */
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
            mw_planner_begin(planner, 0, episode, NULL);
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
    char cpu[128];
    double load[1] = {-1};
    mw_cpu_model(cpu, sizeof cpu);
    if (getloadavg(load, 1) != 1) load[0] = -1;
    printf("{\"version\": \"%s\", \"cpu\": \"%s\", \"level\": \"%s\", \"load\": %.1f,\n", mw_version(), cpu,
           mw_cpu_name(), load[0]);
    printf(" \"setting\": \"%s-%s\", \"M\": %d, \"deadline_ms\": %g, \"threads\": %d, \"decisions\": %d,\n",
           about.task, about.quality, options.plan.candidates, options.deadline, options.threads, decisions);
    printf(" \"late\": %d, \"reactive\": %d, \"candidates\": %.3f,\n", late, reactive,
           candidates / decisions);
    printf(" \"p50\": %.3f, \"p95\": %.3f, \"p99\": %.3f, \"p999\": %.3f, \"longest\": %.3f,\n",
           times[decisions / 2], times[decisions * 95 / 100], times[decisions * 99 / 100],
           times[decisions * 999L / 1000], times[decisions - 1]);
    printf(" \"histogram\": {\"tenths_of_the_deadline\": [");
    for (int b = 0; b < BINS; b++) printf("%s%d", b ? ", " : "", bins[b]);
    puts("]}}");
    return 0;
}
