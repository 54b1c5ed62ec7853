/* What threads bring to batches of environments: random play of 64 environments through the public interface
 * (actions, step, resets of finished episodes) on one thread and on several, in alternating rounds of one
 * run. Prints medians in environment steps per second of the steps alone and of all together. usage:
 * env_speed [THREADS [TASK...]] */
#include "core/clock.h"
#include "core/pool.h"
#include "env/env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENVS = 64, ROUNDS = 21 };

typedef struct {
    mw_env_batch *batch;
    uint64_t *seeds;
    uint8_t *over;
    mw_outcome *outcomes;
    float *real, *rewards, *obs;
    int32_t *index;
} play;

static void must(mw_status status, const mw_error *error) {
    if (status == MW_OK) return;
    fprintf(stderr, "env_speed: %s\n", error->message);
    exit(1);
}

/* Zeroed, on cache lines of its own. */
static void *room(size_t count, size_t size) {
    const size_t bytes = (count * size + 127) / 128 * 128;
    void *memory = aligned_alloc(128, bytes);
    if (!memory) must(MW_ERR_MEMORY, &(mw_error){MW_ERR_MEMORY, "out of memory"});
    return memset(memory, 0, bytes);
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
    p->seeds = room(ENVS, sizeof *p->seeds);
    p->over = room(ENVS, sizeof *p->over);
    p->outcomes = room(ENVS, sizeof *p->outcomes);
    p->rewards = room(agents, sizeof *p->rewards);
    p->obs = room(agents * (size_t)info->obs_size, sizeof *p->obs);
    for (int e = 0; e < ENVS; e++) p->seeds[e] = (uint64_t)e;
    mw_env_batch_reset(p->batch, p->seeds, NULL, p->obs, NULL);
}

static void play_free(play *p) {
    mw_env_batch_free(p->batch);
    free(p->seeds);
    free(p->over);
    free(p->outcomes);
    free(p->real);
    free(p->index);
    free(p->rewards);
    free(p->obs);
}

/* Seconds of some steps, and of all that belongs to them: actions and resets too. */
static void play_steps(play *p, int steps, double *stepping, double *playing) {
    mw_error error;
    const double start = mw_clock_seconds();
    *stepping = 0;
    for (int t = 0; t < steps; t++) {
        bool waiting = false;
        must(mw_env_batch_script(p->batch, "random", p->seeds, p->real, p->index, &error), &error);
        const double before = mw_clock_seconds();
        must(mw_env_batch_step(p->batch, (mw_action){p->real, p->index}, p->rewards, p->outcomes, p->obs,
                               NULL, &error),
             &error);
        *stepping += mw_clock_seconds() - before;
        for (int e = 0; e < ENVS; e++) {
            p->over[e] = p->outcomes[e].terminated || p->outcomes[e].truncated;
            p->seeds[e] += p->over[e] ? ENVS : 0;
            waiting |= p->over[e];
        }
        if (waiting) mw_env_batch_reset(p->batch, p->seeds, p->over, p->obs, NULL);
    }
    *playing = mw_clock_seconds() - start;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values) {
    qsort(values, ROUNDS, sizeof *values, ascending);
    return values[ROUNDS / 2];
}

static void measure(const char *task, int threads) {
    play one, many;
    double stepping[2][ROUNDS], playing[2][ROUNDS], warm, all;
    play_create(&one, task, 1);
    play_create(&many, task, threads);
    play_steps(&many, 50, &warm, &all);
    play_steps(&one, 50, &warm, &all);
    const int steps = 1 + (int)(0.05 * 50 / all); /* a twentieth of a second */
    for (int r = 0; r < ROUNDS; r++) {
        play_steps(&one, steps, &stepping[0][r], &playing[0][r]);
        play_steps(&many, steps, &stepping[1][r], &playing[1][r]);
    }
    const double count = (double)steps * ENVS, single = median(stepping[0]), step = median(stepping[1]),
                 alone = median(playing[0]), together = median(playing[1]);
    printf("%-9s %11.0f %11.0f %6.2fx %11.0f %11.0f %6.2fx\n", task, count / single, count / step,
           single / step, count / alone, count / together, alone / together);
    play_free(&one);
    play_free(&many);
}

int main(int argc, char **argv) {
    const int threads = argc > 1 && atoi(argv[1]) > 0 ? atoi(argv[1]) : mw_pool_cores();
    printf("%d environments on 1 and %d threads, steps per second: stepping alone, and with actions and "
           "resets\n",
           ENVS, threads);
    const char *task;
    for (int i = 2; i < argc; i++) measure(argv[i], threads);
    for (int i = 0; argc < 3 && (task = mw_env_task(i)); i++) measure(task, threads);
    return 0;
}
