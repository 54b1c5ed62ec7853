/* The study's statistics as functions of plain arrays, one entry per setting: comparisons with their sign
 * test, headroom and reliability, tiers of data quality, selectors. NaN is a number that is not there;
 * nothing here knows files, tasks or how many settings there are. */
#ifndef MW_REPORT_ANALYSIS_H
#define MW_REPORT_ANALYSIS_H

#include "core/error.h"

enum { MW_ANALYSIS_MOST = 1024 }; /* entries; what lies behind them is left out */

/* Probability of at most this balance of wins and losses, either way, if both were equally likely: the exact
 * two-sided sign test. Ties do not count. 1 for none. */
double mw_sign_test(long wins, long losses);

/* One thing against another over settings. */
typedef struct mw_comparison {
    int count, wins, losses, ties;
    int intervals;                /* settings whose difference has an interval */
    int clear_wins, clear_losses; /* of them: wholly above zero, wholly below */
    double difference;            /* mean, in the settings' own unit; NaN if none */
    double relative;              /* mean of the difference over |other| */
    double median;                /* of the same; no setting with a small |other| rules it */
    double aggregate;             /* sum of differences over the sum of |other| */
    double p;                     /* sign test */
    int firm_wins, firm_losses;   /* settings that differ although so many were looked at: Holm, 5% in all */
} mw_comparison;

/* Over the entries of which both are numbers. low, high: the difference's interval, in any unit of the same
 * sign; NULL: none. */
mw_comparison mw_compare(const double *ours, const double *other, const double *low, const double *high,
                         int n);

/* Two-sided probability of a difference at least as far from zero, judged by its 95% interval: Student's with
 * that many degrees of freedom, normal for 0. NaN where it is not known. */
double mw_interval_p(double difference, double low, double high, int freedom);

/* Holm's step-down: firm[i] where p[i] stands with all n looked at, 5% in all. NaN are not among them. */
void mw_holm(bool *firm, const double *p, int n);

/* The smallest true difference that such an interval leaves out zero for four times out of five. */
double mw_smallest_visible(double low, double high);

/* Median of the numbers among values[n]; NaN if there is none. */
double mw_median_of(const double *values, int n);
/* Quantile q of the numbers among values[n]. */
double mw_quantile_of(const double *values, int n, double q);
double mw_mean_of(const double *values, int n);

/* How far a setting's reactive score lies below the best of its group, as a share of the group's range: 0 the
 * best, 1 the worst; NaN in a group without a range. group[n] are any numbers. */
void mw_headrooms(double *headroom, const double *reactive, const int *group, int n);

typedef struct mw_cell {
    int count;
    double mean, median; /* NaN: empty */
} mw_cell;

/* Gains in four cells by headroom and reliability: above means strictly above the median over the settings
 * that have all three. */
typedef struct mw_two_factor {
    double headroom, reliability; /* the medians */
    mw_cell cells[2][2];          /* [reliability above][headroom above]: mean gain */
} mw_two_factor;
mw_two_factor mw_two_factors(const double *headroom, const double *reliability, const double *gain, int n);

/* Gains by data quality. A group (task) has its settings ordered by the return of their data, best first:
 * the first is "best", the last "worst", all between "middle". Groups of fewer than two do not count. */
enum { MW_DATA_BEST, MW_DATA_MIDDLE, MW_DATA_WORST, MW_DATA_TIERS };
typedef struct mw_quality {
    mw_cell tiers[MW_DATA_TIERS];
    int groups, rises, falls; /* groups whose gain is larger on the worst data than on the best, and smaller
                               */
    double p;                 /* sign test of the two */
} mw_quality;
/* place[n] (may be NULL) receives each setting's place in its group's order, from 0; -1: left out. */
mw_quality mw_quality_tiers(const double *data, const double *gain, const int *group, int n, int *place);

/* Of selectors' means the largest, and the largest of those behind the first, ties to the earlier; -1: none.
 */
typedef struct mw_selection {
    int best, alternative;
} mw_selection;
mw_selection mw_select(const double *means, int n);

#endif
