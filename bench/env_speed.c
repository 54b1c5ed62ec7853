/* What threads bring to batches of environments: random play of 64 environments through the public interface
 * (actions, step, resets of finished episodes) on one thread and on several, in alternating rounds of one
 * run. Prints medians in environment steps per second. usage: env_speed [THREADS [TASK...]] */
#include "core/clock.h"
#include "core/pool.h"
#include "env/env.h"

#include <stdio.h>
#include <stdlib.h>

enum { ENVS = 64, ROUNDS = 21 };

typedef struct {
    mw_env_batch *batch;
    uint64_t seeds[ENVS];
    uint8_t over[ENVS];
    mw_outcome outcomes[ENVS];
    float *real, *rewards, *obs;
    int32_t *index;
} play;

static void must(mw_status status, const mw_error *error) {
    if (status == MW_OK) return;
    fprintf(stderr, "env_speed: %s\n", error->message);
    exit(1);
}

static void *room(size_t count, size_t size) {
    void *memory = calloc(count, size);
    if (!memory) must(MW_ERR_MEMORY, &(mw_error){MW_ERR_MEMORY, "out of memory"});
    return memory;
}

static void play_create(play *p, const char *task, int threads) {
    mw_error error;
    *p = (play){0};
    must(mw_env_batch_create(&p->batch, task, NULL, ENVS, threads, &error), &error);
    const mw_env_info *info = mw_env_describe(mw_env_batch_get(p->batch, 0));
    const size_t agents = (size_t)(ENVS * info->agents);
    if (info->discrete)
        p->index = room(agents, sizeof *p->index);
    else
        p->real = room(agents * (size_t)info->act_size, sizeof *p->real);
    p->rewards = room(agents, sizeof *p->rewards);
    p->obs = room(agents * (size_t)info->obs_size, sizeof *p->obs);
    for (int e = 0; e < ENVS; e++) p->seeds[e] = (uint64_t)e;
    mw_env_batch_reset(p->batch, p->seeds, NULL, p->obs, NULL);
}

static void play_free(play *p) {
    mw_env_batch_free(p->batch);
    free(p->real);
    free(p->index);
    free(p->rewards);
    free(p->obs);
}

static double play_steps(play *p, int steps) {
    mw_error error;
    const double start = mw_clock_seconds();
    for (int t = 0; t < steps; t++) {
        bool waiting = false;
        must(mw_env_batch_script(p->batch, "random", p->seeds, p->real, p->index, &error), &error);
        must(mw_env_batch_step(p->batch, (mw_action){p->real, p->index}, p->rewards, p->outcomes, p->obs,
                               NULL, &error),
             &error);
        for (int e = 0; e < ENVS; e++) {
            p->over[e] = p->outcomes[e].terminated || p->outcomes[e].truncated;
            p->seeds[e] += p->over[e] ? ENVS : 0;
            waiting |= p->over[e];
        }
        if (waiting) mw_env_batch_reset(p->batch, p->seeds, p->over, p->obs, NULL);
    }
    return mw_clock_seconds() - start;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const char *task, int threads) {
    play one, many;
    double seconds[2][ROUNDS], ratio[ROUNDS];
    play_create(&one, task, 1);
    play_create(&many, task, threads);
    play_steps(&many, 50);
    const int steps = 1 + (int)(0.05 * 50 / play_steps(&one, 50)); /* a twentieth of a second */
    for (int r = 0; r < ROUNDS; r++) {
        seconds[0][r] = play_steps(&one, steps);
        seconds[1][r] = play_steps(&many, steps);
        ratio[r] = seconds[0][r] / seconds[1][r];
    }
    for (int k = 0; k < 2; k++) qsort(seconds[k], ROUNDS, sizeof *seconds[k], ascending);
    qsort(ratio, ROUNDS, sizeof *ratio, ascending);
    const double all = (double)steps * ENVS;
    printf("%-9s %11.0f %11.0f %9.2fx\n", task, all / seconds[0][ROUNDS / 2], all / seconds[1][ROUNDS / 2],
           ratio[ROUNDS / 2]);
    play_free(&one);
    play_free(&many);
}

int main(int argc, char **argv) {
    const int threads = argc > 1 && atoi(argv[1]) > 0 ? atoi(argv[1]) : mw_pool_cores();
    printf("%d environments, steps per second\n%-9s %11s %9d thr. %10s\n", ENVS, "task", "1 thread", threads,
           "ratio");
    const char *task;
    for (int i = 2; i < argc; i++) measure(argv[i], threads);
    for (int i = 0; argc < 3 && (task = mw_env_task(i)); i++) measure(task, threads);
    return 0;
}
