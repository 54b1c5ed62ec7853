/* What people want to see of a dataset: the distribution of returns, ranges of features, use of actions; as
 * text, JSON and a picture. */
#ifndef MW_DATA_REPORT_H
#define MW_DATA_REPORT_H

#include "data/stats.h"

#include <stdio.h>

#define MW_REPORT_BARS 16

typedef struct mw_data_report {
    mw_return_stats returns;
    double low, step;          /* bar b counts returns in [low + b*step, low + (b+1)*step) */
    long bars[MW_REPORT_BARS]; /* the last bar includes its upper end */
    long shortest, longest;
    double bytes;    /* of all columns */
    long endings[3]; /* by limit, by the world, by victory */
    double legal;    /* discrete: mean number of legal actions */
    mw_data_stats stats;
} mw_data_report;

/* One pass over the data, which has passed mw_dataset_check. */
mw_status mw_data_report_make(mw_data_report *report, const mw_dataset *dataset, mw_error *error);
void mw_data_report_free(mw_data_report *report);

/* features (may be NULL): what the task calls its observation features, [o]. */
void mw_data_report_text(const mw_data_report *report, const mw_dataset *dataset, const mw_feature *features,
                         FILE *out);
mw_status mw_data_report_json(const mw_data_report *report, const mw_dataset *dataset,
                              const mw_feature *features, FILE *out, mw_error *error);
mw_status mw_data_report_svg(const mw_data_report *report, const mw_dataset *dataset, const char *path,
                             mw_error *error);

#endif
