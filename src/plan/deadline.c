/* Fitting a decision into its time; see deadline.h. */
#include "plan/deadline.h"

#include <math.h>

static const double margin = 0.85; /* of the limit is planned for */
static const double slowly = 0.02; /* share of something faster in what is expected next */

void mw_deadline_init(mw_deadline *d, double limit, int candidates, int steps) {
    *d = (mw_deadline){.limit = limit, .steps = steps};
    for (; candidates >= 1 && d->count < MW_DEADLINE_LEVELS; candidates /= 2)
        d->level[d->count++] =
            (mw_deadline_level){.candidates = candidates, .best_generate = INFINITY, .best_score = INFINITY};
}

int mw_deadline_choose(const mw_deadline *d, int envs, int *steps) {
    const double room = margin * d->limit / envs;
    int level = 0;
    *steps = d->steps;
    while (level < d->count - 1 && d->level[level].generate * *steps + d->level[level].score > room) level++;
    while (level == d->count - 1 && *steps > 1 && d->level[level].generate * *steps > room) --*steps;
    return level;
}

bool mw_deadline_allows(const mw_deadline *d, int level, int envs, double elapsed) {
    return elapsed + envs * d->level[level].score <= d->limit;
}

static void follow(double *expected, double *best, double seen) {
    *best = fmin(*best, seen);
    *expected = seen > *expected ? seen : *expected + slowly * (seen - *expected);
}

void mw_deadline_settle(mw_deadline *d) {
    for (mw_deadline_level *l = d->level; l < d->level + d->count; l++) {
        l->generate = fmin(l->generate, l->best_generate);
        l->score = fmin(l->score, l->best_score);
        l->measured = l->best_generate;
    }
}

static void quicken(mw_deadline *d, int level) {
    const double faster = d->level[level].best_generate / d->level[level].measured;
    for (int i = 0; i < d->count; i++) {
        mw_deadline_level *l = &d->level[i];
        if (i != level) {
            l->best_generate *= faster;
            l->best_score *= faster;
        }
        l->measured = l->best_generate;
    }
}

void mw_deadline_learn(mw_deadline *d, int level, int envs, int steps, double generate, double score) {
    for (int i = 0; i < d->count; i++) {
        mw_deadline_level *l = &d->level[i];
        if (i == level) {
            follow(&l->generate, &l->best_generate, generate / ((double)envs * steps));
            if (score >= 0) follow(&l->score, &l->best_score, score / envs);
        } else {
            if (l->generate > l->best_generate) follow(&l->generate, &l->best_generate, l->best_generate);
            if (l->score > l->best_score) follow(&l->score, &l->best_score, l->best_score);
        }
    }
    if (d->level[level].best_generate < d->level[level].measured / 2) quicken(d, level);
}
