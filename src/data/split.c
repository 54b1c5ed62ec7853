/* Train and held-out episodes, and draws from them; see split.h. */
#include "data/split.h"

#include <math.h>
#include <stdlib.h>

long mw_dataset_transitions(const mw_dataset *d, long episode) {
    return (long)d->lengths[episode] - (d->last_obs ? 0 : 1);
}

void mw_episode_set_free(mw_episode_set *set) {
    free(set->episodes);
    free(set->starts);
    *set = (mw_episode_set){0};
}

void mw_split_free(mw_split *split) {
    mw_episode_set_free(&split->train);
    mw_episode_set_free(&split->held);
}

static mw_status allocate(mw_episode_set *set, long count, mw_error *error) {
    *set = (mw_episode_set){.count = count,
                            .episodes = malloc(((size_t)count + 1) * sizeof *set->episodes),
                            .starts = malloc(((size_t)count + 1) * sizeof *set->starts)};
    if (set->episodes && set->starts) return MW_OK;
    mw_episode_set_free(set);
    return mw_fail(error, MW_ERR_MEMORY, "cannot allocate an index of %ld episodes", count);
}

/* The episodes whose mark equals `wanted`; NULL marks: all. */
static mw_status make_set(mw_episode_set *set, const mw_dataset *d, const bool *marks, bool wanted,
                          long count, mw_error *error) {
    long at = 0;
    MW_TRY(allocate(set, count, error));
    for (long e = 0; e < d->episodes; e++) {
        if (marks && marks[e] != wanted) continue;
        set->episodes[at] = e;
        set->starts[at++] = set->transitions;
        set->transitions += mw_dataset_transitions(d, e);
    }
    set->starts[at] = set->transitions;
    return MW_OK;
}

mw_status mw_episode_set_all(mw_episode_set *set, const mw_dataset *d, mw_error *error) {
    return make_set(set, d, NULL, true, d->episodes, error);
}

mw_status mw_episode_set_of(mw_episode_set *set, const mw_dataset *d, const mw_episode_set *from,
                            long (*count)(const mw_dataset *dataset, long episode, int argument),
                            int argument, mw_error *error) {
    MW_TRY(allocate(set, from->count, error));
    for (long i = 0; i < from->count; i++) {
        set->episodes[i] = from->episodes[i];
        set->starts[i] = set->transitions;
        set->transitions += count(d, from->episodes[i], argument);
    }
    set->starts[set->count] = set->transitions;
    return MW_OK;
}

/* Marks `held` of `count` episodes: the first ones of a random order. */
static void mark_held(bool *marks, long count, long held, uint64_t seed) {
    mw_rng rng = mw_rng_make(seed, MW_RNG_SPLIT, 0, 0, 0);
    for (long left = held, e = 0; e < count; e++) { /* Knuth's selection sampling: one pass, exact number */
        marks[e] = mw_rng_double(&rng) * (double)(count - e) < (double)left;
        left -= marks[e];
    }
}

mw_status mw_split_make(mw_split *split, const mw_dataset *d, double share, uint64_t seed, mw_error *error) {
    *split = (mw_split){0};
    if (!(share >= 0 && share < 1))
        return mw_fail(error, MW_ERR_ARGUMENT, "a share of %g of the episodes cannot be held out", share);
    long held = lround(share * (double)d->episodes);
    if (held == 0 && share > 0 && d->episodes > 1) held = 1;
    if (held == d->episodes) held--;
    bool *marks = calloc((size_t)d->episodes, sizeof *marks);
    if (!marks) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate marks for %ld episodes", d->episodes);
    mark_held(marks, d->episodes, held, seed);
    mw_status status = make_set(&split->train, d, marks, false, d->episodes - held, error);
    if (status == MW_OK) status = make_set(&split->held, d, marks, true, held, error);
    free(marks);
    if (status == MW_OK && split->train.transitions == 0)
        status =
            mw_fail(error, MW_ERR_ARGUMENT,
                    "'%s' has no transition to train on: its episodes have one step, and what came after "
                    "is not recorded",
                    d->folder);
    if (status != MW_OK) mw_split_free(split);
    return status;
}

mw_place mw_episode_set_at(const mw_episode_set *set, int64_t transition) {
    long low = 0, high = set->count; /* starts[low] <= transition < starts[high] */
    while (high - low > 1) {
        long middle = low + (high - low) / 2;
        if (set->starts[middle] <= transition)
            low = middle;
        else
            high = middle;
    }
    return (mw_place){set->episodes[low], (long)(transition - set->starts[low])};
}

mw_place mw_episode_set_draw(const mw_episode_set *set, mw_rng *rng) {
    /* 64 random bits scaled by multiplication: the bias is below 2^-30 for any dataset that fits a disk. */
    unsigned __int128 wide = (unsigned __int128)mw_rng_u64(rng) * (uint64_t)set->transitions;
    return mw_episode_set_at(set, (int64_t)(wide >> 64));
}

mw_rng mw_batch_rng(uint64_t seed, uint64_t step, int row, mw_batch_use use) {
    return mw_rng_make(seed, MW_RNG_BATCH, step, (uint64_t)row, (uint64_t)use);
}
