/* Decisions and episodes of a bundle as checksums: the same program natively and as a module of WebAssembly,
 * so that what they print can be compared. The bundle comes from the standard input. */
#include <mawam/mawam.h>

#include <stdio.h>
#include <stdlib.h>

/* FNV-1a */
static uint64_t add_bytes(uint64_t sum, const void *data, size_t size) {
    const unsigned char *at = data;
    for (size_t i = 0; i < size; i++) sum = (sum ^ at[i]) * 0x100000001b3u;
    return sum;
}

static int fail(const char *what, const mw_error *error) {
    printf("%s: %s\n", what, error->message);
    return 1;
}

static mw_bundle *read_bundle(mw_error *error) {
    static unsigned char data[8 << 20];
    mw_bundle *bundle;
    const size_t size = fread(data, 1, sizeof data, stdin);
    return mw_bundle_read(&bundle, data, size, error) == MW_OK ? bundle : NULL;
}

/* All that a decision was made of. */
static uint64_t add_decision(uint64_t sum, const mw_planner *planner, const mw_bundle_summary *s,
                             const float *real, const int32_t *index) {
    const mw_candidates c = mw_planner_candidates(planner, 0);
    const size_t n = (size_t)s->agents, o = (size_t)s->obs_size, d = (size_t)s->act_size,
                 all = (size_t)c.count * (size_t)c.horizon * n;
    sum = add_bytes(sum, c.scores, (size_t)c.count * sizeof(float));
    sum = add_bytes(sum, c.actions, all * d * sizeof(float));
    if (c.imagined) sum = add_bytes(sum, c.imagined, all * o * sizeof(float));
    return s->discrete ? add_bytes(sum, index, n * sizeof *index)
                       : add_bytes(sum, real, n * d * sizeof *real);
}

int main(int argc, char **argv) {
    const int steps = argc > 1 ? atoi(argv[1]) : 6;
    mw_error error = {0};
    mw_planner *planner;
    mw_env *env;
    mw_bundle *bundle = read_bundle(&error);
    if (!bundle) return fail("bundle", &error);
    const mw_bundle_summary s = mw_bundle_describe(bundle);
    mw_planner_options options;
    mw_planner_options_init(&options, sizeof options, bundle);
    options.threads = 1;
    if (mw_planner_create(&planner, bundle, &options, &error) != MW_OK) return fail("planner", &error);
    if (mw_env_create(&env, s.task, NULL, &error) != MW_OK) return fail("world", &error);
    const size_t n = (size_t)s.agents, o = (size_t)s.obs_size, d = (size_t)s.act_size;
    float *obs = calloc(n * o, sizeof *obs), *real = calloc(n * d, sizeof *real),
          *rewards = calloc(n, sizeof *rewards);
    uint8_t *legal = calloc(n * d, 1);
    int32_t *index = calloc(n, sizeof *index);
    if (!obs || !real || !rewards || !legal || !index) return 1;
    mw_env_reset(env, 11);
    mw_planner_begin(planner, 0, 11, NULL);
    for (int step = 0; step < steps; step++) {
        mw_outcome outcome;
        uint64_t sum = 0xcbf29ce484222325u;
        mw_env_observe(env, obs);
        mw_env_legal(env, legal);
        if (mw_planner_act(planner, obs, legal, NULL, real, index, &error) != MW_OK)
            return fail("decision", &error);
        sum = add_bytes(sum, obs, n * o * sizeof *obs);
        sum = add_decision(sum, planner, &s, real, index);
        const mw_action action = {s.discrete ? NULL : real, s.discrete ? index : NULL};
        if (mw_env_step(env, action, rewards, &outcome, &error) != MW_OK) return fail("step", &error);
        sum = add_bytes(sum, rewards, n * sizeof *rewards);
        printf("%s %d %016llx\n", s.task, step, (unsigned long long)sum);
        if (outcome.terminated || outcome.truncated) break;
    }
    return 0; /* the system takes the memory */
}
