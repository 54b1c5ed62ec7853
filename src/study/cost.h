/* The cost of planning as the paper tabulates it: means of single timed steps. */
#ifndef MW_STUDY_COST_H
#define MW_STUDY_COST_H

/* One row of the table, in milliseconds; share: of scoring, in percent. */
typedef struct mw_cost_point {
    int candidates;
    double generate, score, total, share;
} mw_cost_point;

/* times[settings][counts][repeats][steps][2] (generation, scoring): the mean over steps, then repeats, then
 * settings of equal weight, for number `which` of the counts of candidates. */
mw_cost_point mw_cost_mean(const double *times, int settings, int counts, int repeats, int steps, int which);

#endif
