/* What the guard of mapped data files costs their readers: draws batches of transitions from a dataset that
 * is mapped and guarded, asking after every one whether the files are intact as a training step does, from
 * the same without asking, and from a copy in memory, which has no guard. The three take turns; prints the
 * medians of their rounds and of the ratios within a round.
 *
 *   guard DATASET [ROUNDS=101] */
#include "core/clock.h"
#include "data/transition.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 256, BATCHES = 20, MOST = 1001, SIDES = 3 };

static const struct {
    const char *name;
    size_t most_copied;
    bool asks;
} sides[SIDES] = {{"mapped, asked", 0, true}, {"mapped", 0, false}, {"copied", SIZE_MAX, false}};

typedef struct reader {
    mw_dataset data;
    mw_split split;
    mw_transition_rows rows;
    double seconds[MOST], ratio[MOST]; /* of a batch; to the last side's of the same round */
} reader;

static mw_status setup(reader *r, int side, const char *folder, mw_error *error) {
    mw_map_most_copied = sides[side].most_copied;
    MW_TRY(mw_dataset_open(&r->data, folder, error));
    MW_TRY(mw_dataset_check(&r->data, error));
    MW_TRY(mw_split_make(&r->split, &r->data, 0.1, 1, error));
    return mw_transition_rows_create(&r->rows, &r->data.spec, BATCH, error);
}

static mw_status draw(reader *r, bool asks, int round, mw_error *error) {
    const double start = mw_clock_seconds();
    for (uint64_t i = 0; i < BATCHES; i++) {
        mw_transition_fill(&r->rows, BATCH, &r->data, &r->split.train, 1, (uint64_t)round * BATCHES + i,
                           MW_BATCH_WORLD);
        if (asks) MW_TRY(mw_dataset_intact(&r->data, error));
    }
    r->seconds[round] = (mw_clock_seconds() - start) / BATCHES;
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
    static reader readers[SIDES];
    mw_error error;
    const int rounds = argc > 2 ? atoi(argv[2]) : 101;
    if (argc < 2 || rounds < 1 || rounds > MOST) return fprintf(stderr, "usage: guard DATASET [ROUNDS]\n"), 2;
    mw_status status = MW_OK;
    for (int s = 0; s < SIDES && status == MW_OK; s++) status = setup(&readers[s], s, argv[1], &error);
    for (int round = 0; round < rounds; round++)
        for (int s = 0; s < SIDES && status == MW_OK; s++) {
            const int side = (s + round) % SIDES; /* everybody comes first as often */
            status = draw(&readers[side], sides[side].asks, round, &error);
        }
    if (status != MW_OK) return fprintf(stderr, "guard: %s\n", error.message), 1;
    for (int s = 0; s < SIDES; s++)
        for (int i = 0; i < rounds; i++)
            readers[s].ratio[i] = readers[s].seconds[i] / readers[SIDES - 1].seconds[i];
    for (int s = 0; s < SIDES; s++)
        printf("%-14s %8.2f us a batch of %d, %.4f of the copied one's\n", sides[s].name,
               1e6 * median(readers[s].seconds, rounds), BATCH, median(readers[s].ratio, rounds));
    return 0;
}
