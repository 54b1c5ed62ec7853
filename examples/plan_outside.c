/* Plans for a world that mawam knows nothing about. The caller pipes in one line of n*o observation values
 * per step (an empty line starts a new episode) and reads one line of joint actions back: n*d real values, or
 * n action indices. `plan_outside BUNDLE` */
#define _POSIX_C_SOURCE 200809L /* getline */
#include <mawam/mawam.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    mw_error error;
    mw_bundle *bundle;
    mw_planner *planner;
    if (argc != 2) return fprintf(stderr, "usage: plan_outside BUNDLE < observations\n"), 2;
    if (mw_bundle_load(&bundle, argv[1], &error) != MW_OK ||
        mw_planner_create(&planner, bundle, NULL, &error) != MW_OK)
        return fprintf(stderr, "plan_outside: %s\n", error.message), 1;

    mw_bundle_summary about = mw_bundle_describe(bundle);
    int n = about.agents, values = n * about.obs_size, actions = about.discrete ? n : n * about.act_size;
    float *obs = (float *)calloc((size_t)values, sizeof *obs),
          *real = (float *)calloc((size_t)actions, sizeof *real);
    int32_t *index = (int32_t *)calloc((size_t)n, sizeof *index);
    if (!obs || !real || !index) return fprintf(stderr, "plan_outside: out of memory\n"), 1;
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    long number = 0;
    uint64_t episode = 0;
    mw_status status = MW_OK;

    mw_planner_begin(planner, 0, episode, NULL);
    while (status == MW_OK && (length = getline(&line, &capacity, stdin)) > 0) {
        int read = 0;
        char *at = line;
        for (char *end; read < values; at = end, read++) {
            obs[read] = strtof(at, &end);
            if (end == at) break;
        }
        at += strspn(at, " \t\r\n");
        number++;
        if (at < line + length || (read > 0 && read < values))
            return fprintf(stderr, "plan_outside: line %ld: expected %d values; found %d, then '%.*s'\n",
                           number, values, read, (int)strcspn(at, "\r\n"), at),
                   1;
        if (read == 0) {
            mw_planner_begin(planner, 0, ++episode, NULL);
            continue;
        }
        /* A world with illegal actions passes its mask, and one that rewards calls mw_planner_reward. */
        status = mw_planner_act(planner, obs, NULL, NULL, real, index, &error);
        for (int k = 0; status == MW_OK && k < actions; k++)
            printf("%g%c", about.discrete ? index[k] : real[k], k + 1 < actions ? ' ' : '\n');
        fflush(stdout);
    }
    if (status != MW_OK) fprintf(stderr, "plan_outside: %s\n", error.message);

    free(obs), free(real), free(index), free(line);
    mw_planner_free(planner);
    mw_bundle_free(bundle);
    return status != MW_OK;
}
