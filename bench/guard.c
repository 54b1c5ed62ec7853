/* What the guard of mapped data files costs a reader: draws batches of transitions from a mapped dataset,
 * with and without asking after each whether the files are intact, as a training step does. Both take turns,
 * either first as often; prints the medians of processor time and of the ratio within a round. (Beyond the
 * question the guard is a signal handler, which costs nothing until a read fails.)
 *
 *   guard DATASET [ROUNDS=2001] */
#include "data/transition.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCH = 256, BATCHES = 4, MOST = 10001 };

typedef struct reader {
    mw_dataset data;
    mw_split split;
    mw_transition_rows rows;
    double seconds[2][MOST], ratio[MOST]; /* of a batch: not asking, asking */
} reader;

static mw_status setup(reader *r, const char *folder, mw_error *error) {
    mw_map_most_copied = 0; /* all files are mapped, however small */
    MW_TRY(mw_dataset_open(&r->data, folder, error));
    MW_TRY(mw_dataset_check(&r->data, error));
    MW_TRY(mw_split_make(&r->split, &r->data, 0.1, 1, error));
    return mw_transition_rows_create(&r->rows, &r->data.spec, BATCH, error);
}

static double processor_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* No batch is drawn twice, so that none is in the caches already. */
static mw_status draw(reader *r, int asks, int round, mw_error *error) {
    const uint64_t first = ((uint64_t)round * 2 + (uint64_t)asks) * BATCHES;
    const double start = processor_seconds();
    for (uint64_t i = 0; i < BATCHES; i++) {
        mw_transition_fill(&r->rows, BATCH, &r->data, &r->split.train, 1, first + i, MW_BATCH_WORLD);
        if (asks) MW_TRY(mw_dataset_intact(&r->data, error));
    }
    r->seconds[asks][round] = (processor_seconds() - start) / BATCHES;
    return MW_OK;
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, by_size);
    return values[count / 2];
}

int main(int argc, char **argv) {
    static reader r;
    mw_error error;
    const int rounds = argc > 2 ? atoi(argv[2]) : 2001;
    if (argc < 2 || rounds < 1 || rounds > MOST) return fprintf(stderr, "usage: guard DATASET [ROUNDS]\n"), 2;
    mw_status status = setup(&r, argv[1], &error);
    for (int i = 0; i < 2 * rounds && status == MW_OK; i++) {
        const int round = i / 2;
        status = draw(&r, (i + round) % 2, round, &error);
    }
    if (status != MW_OK) return fprintf(stderr, "guard: %s\n", error.message), 1;
    for (int i = 0; i < rounds; i++) r.ratio[i] = r.seconds[1][i] / r.seconds[0][i];
    const double alone = median(r.seconds[0], rounds), asked = median(r.seconds[1], rounds);
    printf("a batch of %d: %.2f us, with the question %.2f us, ratio %.4f\n", BATCH, 1e6 * alone, 1e6 * asked,
           median(r.ratio, rounds));
    return 0;
}
