/* How much of a decision fits into a given time: candidates and sampling steps, judged by what earlier
 * decisions took. Plain arithmetic without a clock of its own, so that it can be tried with any. */
#ifndef MW_PLAN_DEADLINE_H
#define MW_PLAN_DEADLINE_H

#include <stdbool.h>

enum { MW_DEADLINE_LEVELS = 13 }; /* 4096 candidates halved down to 1 */

/* What a decision with so many candidates takes in one environment, in seconds: as expected, and at best. */
typedef struct mw_deadline_level {
    int candidates;
    double generate, score; /* of one sampling step; of all scores */
    double best_generate, best_score;
    double measured; /* best_generate when nothing but measuring went on; 0: not yet */
} mw_deadline_level;

typedef struct mw_deadline {
    double limit; /* seconds that a decision may take; 0: no deadline */
    int steps;    /* sampling steps without one */
    int count;    /* of levels: all candidates, half of them, ..., one */
    mw_deadline_level level[MW_DEADLINE_LEVELS];
} mw_deadline;

void mw_deadline_init(mw_deadline *deadline, double limit, int candidates, int steps);

/* For a decision of `envs` environments: the first level that fits with all sampling steps; the last, with as
 * many steps as fit but at least one, if none does. Returns the level. */
int mw_deadline_choose(const mw_deadline *deadline, int envs, int *steps);

/* Is there time for a level's scores, so many seconds after the decision began? */
bool mw_deadline_allows(const mw_deadline *deadline, int level, int envs, double elapsed);

/* What drawing and scoring took in all, in seconds; score negative: nothing was scored. Slower than thought
 * counts at once, faster only little by little, because a late decision is worse than a hasty one; levels
 * that were not used come back to their best in the same way. One that is twice as fast as it ever was when
 * measured tells that the machine was busy then: the others' best are taken to be as much better. */
void mw_deadline_learn(mw_deadline *deadline, int level, int envs, int steps, double generate, double score);

/* Ends the measuring, a few tries of every level: the best ones are expected, because what stalled the others
 * has passed, and a level that is never used for a stall would never come back from it. */
void mw_deadline_settle(mw_deadline *deadline);

#endif
