/* The study as one table: a row for each of the 30 settings, filled from the summary files that exist, and a
 * column for every number that reports use. Missing settings and numbers are NaN; nothing is typed by hand.
 */
#ifndef MW_REPORT_TABLE_H
#define MW_REPORT_TABLE_H

#include "mawam/eval.h"
#include "behavior/settings.h"
#include "core/json.h"
#include "eval/controller.h"
#include "report/analysis.h"
#include "report/paper.h"

/* An arm's numbers: name behind the arm's, and where it stands in the arm's part of a summary; "" where it is
 * derived. Win rates are those of battles, scores those of tasks with a scale. */
#define MW_TABLE_FIELDS(X)                                                                                   \
    X(REPORTED, "", "") /* as the paper reports: normalised score where there is a scale, else return */     \
    X(REPORTED_STD, "_std", "")                                                                              \
    X(RETURN, "_return", "return")                                                                           \
    X(WON, "_win_rate", "win_rate")                                                                          \
    X(WON_STD, "_win_rate_std", "win_rate_std")                                                              \
    X(LENGTH, "_episode_length", "episode_length")                                                           \
    X(GAIN, "_gain", "gain.mean") /* paired difference of returns to reactive, with its interval */          \
    X(GAIN_LOW, "_gain_low", "gain.low")                                                                     \
    X(GAIN_HIGH, "_gain_high", "gain.high")                                                                  \
    X(MS, "_ms_p50", "ms.decision.p50")                                                                      \
    X(MS_95, "_ms_p95", "ms.decision.p95")                                                                   \
    X(MS_GENERATION, "_generation_ms_p50", "ms.generation.p50")                                              \
    X(MS_SCORING, "_scoring_ms_p50", "ms.scoring.p50")

/* name, and where the number stands in a setting's summary; "" where it is derived. [8] picks the entry of
 * that horizon. */
#define MW_TABLE_COLUMNS(X)                                                                                  \
    X(DATA_EPISODES, "data_episodes", "data.episodes")                                                       \
    X(DATA_STEPS, "data_steps", "data.steps")                                                                \
    X(DATA_RETURN, "data_return", "data.return.mean")                                                        \
    X(DATA_RETURN_STD, "data_return_std", "data.return.std")                                                 \
    X(DATA_SCORE, "data_score", "data.score")                                                                \
    X(DATA_WON, "data_win_rate", "data.win_rate")                                                            \
    X(DATA, "data", "") /* as the arms are reported */                                                       \
    X(DELTA, "delta_reactive", "")                                                                           \
    X(RELATIVE, "relative_gain_reactive", "")                                                                \
    X(RELATIVE_LOW, "relative_gain_reactive_low", "")                                                        \
    X(RELATIVE_HIGH, "relative_gain_reactive_high", "")                                                      \
    X(RELATIVE_RANDOM, "relative_gain_random", "")                                                           \
    X(RANKING, "relative_gain_ranking", "")        /* of paper over random: the same candidates as drawn */  \
    X(SMALLEST, "smallest_visible_difference", "") /* to reactive, by the paired episodes */                 \
    X(SMALLEST_RELATIVE, "smallest_visible_relative_gain", "")                                               \
    X(EVAL_SEED_STD, "delta_reactive_std_evaluation_seeds", "")                                              \
    X(TRAINING_SEEDS, "training_seeds", "") /* with the first; the rest where there are several */           \
    X(TRAINING_DELTA, "delta_reactive_mean_training_seeds", "")                                              \
    X(TRAINING_STD, "delta_reactive_std_training_seeds", "")                                                 \
    X(SHARE, "oracle_share", "") /* where the oracle's own gain has an interval above zero */                \
    X(HEADROOM, "headroom", "")                                                                              \
    X(EVAL_M, "M", "eval.plan.candidates")                                                                   \
    X(EVAL_H, "H", "eval.plan.horizon")                                                                      \
    X(EVAL_K, "K", "eval.plan.sampling_steps")                                                               \
    X(EVAL_OFFSET, "action_offset", "eval.plan.action_offset")                                               \
    X(EVAL_TEMPERATURE, "temperature", "eval.plan.temperature")                                              \
    X(EVAL_WARM_START, "warm_start", "eval.plan.warm_start")                                                 \
    X(EVAL_CAUTION, "caution", "eval.plan.caution")                                                          \
    X(EVAL_VALUE_AFTER, "value_after", "eval.plan.value_after")                                              \
    X(EVAL_RECOMBINE, "recombine", "eval.plan.recombine")                                                    \
    X(EVAL_DISTINCT, "distinct", "eval.plan.distinct")                                                       \
    X(EVAL_SEEDS, "seeds", "eval.seeds")                                                                     \
    X(EVAL_EPISODES, "episodes_per_seed", "eval.episodes")                                                   \
    X(SNIPPETS, "snippets", "snippets.count")                                                                \
    X(SNIPPET_PEARSON, "snippet_pearson_h8", "snippets.horizons.[8].pearson")                                \
    X(SNIPPET_SPEARMAN, "snippet_spearman_h8", "snippets.horizons.[8].spearman")                             \
    X(SNIPPET_TOP1, "snippet_top1_h8", "snippets.horizons.[8].top1")                                         \
    X(SNIPPET_TOP2, "snippet_top2_h8", "snippets.horizons.[8].top2")                                         \
    X(SNIPPET_PAIRS, "snippet_pair_accuracy_h8", "snippets.horizons.[8].pair_accuracy")                      \
    X(SNIPPET_REGRET, "snippet_normalized_regret_h8", "snippets.horizons.[8].normalized_regret")             \
    X(SNIPPET_ERROR, "rollout_mse_h8", "snippets.horizons.[8].rollout_mse")                                  \
    X(STATE_ANCHORS, "same_state_anchors", "same_state.anchors")                                             \
    X(STATE_EXACT, "same_state_exact", "same_state.exact")                                                   \
    X(STATE_TOP1, "same_state_top1", "same_state.top1")                                                      \
    X(STATE_TOP2, "same_state_top2", "same_state.top2")                                                      \
    X(STATE_SPEARMAN, "same_state_spearman", "same_state.spearman_within")                                   \
    X(STATE_PAIRS, "same_state_pair_accuracy", "same_state.pair_accuracy_within")                            \
    X(STATE_PAIRS_POOLED, "same_state_pair_accuracy_pooled", "same_state.pair_accuracy")                     \
    X(STATE_REGRET, "same_state_normalized_regret", "same_state.normalized_regret")                          \
    X(STATE_RANDOM_REGRET, "same_state_random_normalized_regret", "same_state.random_normalized_regret")     \
    X(PLANNED_TOP1, "planned_state_top1", "same_state_planned.top1")                                         \
    X(PLANNED_TOP2, "planned_state_top2", "same_state_planned.top2")                                         \
    X(PLANNED_SPEARMAN, "planned_state_spearman", "same_state_planned.spearman_within")                      \
    X(PLANNED_PAIRS, "planned_state_pair_accuracy", "same_state_planned.pair_accuracy_within")               \
    X(PLANNED_REGRET, "planned_state_normalized_regret", "same_state_planned.normalized_regret")             \
    X(PLANNED_RANDOM_REGRET, "planned_state_random_normalized_regret",                                       \
      "same_state_planned.random_normalized_regret")                                                         \
    X(HELD_FLOW, "held_flow", "training.flow.details.held.flow")                                             \
    X(HELD_INVERSE, "held_inverse", "training.inverse.details.held.inverse")                                 \
    X(HELD_DYNAMICS, "held_dynamics", "training.rwm.details.held.dynamics")                                  \
    X(HELD_REWARD, "held_reward", "training.rwm.details.held.reward")                                        \
    X(SECONDS_DATA, "seconds_data", "seconds.data")                                                          \
    X(SECONDS_TRAIN, "seconds_train", "seconds.train")                                                       \
    X(SECONDS_EVAL, "seconds_eval", "seconds.eval")                                                          \
    X(SECONDS_DIAGNOSE, "seconds_diagnose", "seconds.diagnose")                                              \
    X(PUBLISHED_REACTIVE, "published_reactive", "")                                                          \
    X(PUBLISHED_RANDOM, "published_random", "")                                                              \
    X(PUBLISHED_PLAN, "published_plan", "")                                                                  \
    X(PUBLISHED_DELTA, "published_delta_reactive", "")                                                       \
    X(PUBLISHED_DELTA_RANDOM, "published_delta_random", "")                                                  \
    X(PUBLISHED_RELATIVE, "published_relative_gain_reactive", "")                                            \
    X(PUBLISHED_RELATIVE_RANDOM, "published_relative_gain_random", "")                                       \
    X(PUBLISHED_REACTIVE_WON, "published_reactive_win_rate", "")                                             \
    X(PUBLISHED_PLAN_WON, "published_plan_win_rate", "")                                                     \
    X(PUBLISHED_HEADROOM, "published_headroom", "")

enum {
#define MW_TABLE_ID(id, name, path) MW_COL_##id,
    MW_TABLE_COLUMNS(MW_TABLE_ID)
#undef MW_TABLE_ID
        MW_TABLE_FIXED
};

typedef enum mw_arm_field {
#define MW_TABLE_ID(id, name, path) MW_FIELD_##id,
    MW_TABLE_FIELDS(MW_TABLE_ID)
#undef MW_TABLE_ID
        MW_ARM_WIDTH
} mw_arm_field;

/* The fixed columns are followed by those of every arm of the arms' table. */
typedef int mw_column_id;
#define MW_COL_OF(arm, field) (MW_TABLE_FIXED + (arm)*MW_ARM_WIDTH + (field))
enum {
    MW_TABLE_WIDTH = MW_COL_OF(MW_ARMS, 0),
    MW_COL_REACTIVE = MW_COL_OF(MW_ARM_REACTIVE, MW_FIELD_REPORTED),
    MW_COL_RANDOM = MW_COL_OF(MW_ARM_RANDOM, MW_FIELD_REPORTED),
    MW_COL_PLAN = MW_COL_OF(MW_ARM_PLAN, MW_FIELD_REPORTED),
    MW_COL_PAPER = MW_COL_OF(MW_ARM_PAPER, MW_FIELD_REPORTED),
    MW_COL_ORACLE = MW_COL_OF(MW_ARM_ORACLE, MW_FIELD_REPORTED),
};

int mw_table_width(void); /* columns of the arms that there are; the rest of MW_TABLE_WIDTH is empty */
const char *mw_table_column_name(mw_column_id column, char out[64]);

enum { MW_TABLE_ROWS = MW_SETTINGS, MW_TABLE_HORIZONS = 16, MW_TABLE_SEEDS = 64 };

/* What is known of snippets at every horizon. */
typedef enum mw_snippet_metric {
    MW_SNIPPET_SPEARMAN,
    MW_SNIPPET_TOP2,
    MW_SNIPPET_PAIRS,
    MW_SNIPPET_REGRET,
    MW_SNIPPET_PEARSON,
    MW_SNIPPET_ERROR, /* of the rolled observation, squared */
    MW_SNIPPET_METRICS
} mw_snippet_metric;

typedef struct mw_study_row {
    const mw_setting *setting;
    char name[64];
    const char *family; /* name of an mw_family */
    json_t *summary;    /* NULL: missing */
    double value[MW_TABLE_WIDTH];
    double seeds[MW_ARMS][MW_TABLE_SEEDS]; /* means of the seeds, as reported; NaN behind the last */
    const char *scorer;                    /* of the plan arm; "" if unknown */
    bool ratio; /* the interval of planning's relative gain is that of the ratio of means, resampled together;
                   false: the difference's, over the observed reactive */
    double snippets[MW_SNIPPET_METRICS][MW_TABLE_HORIZONS]; /* by horizon - 1 */
} mw_study_row;

typedef struct mw_study_table {
    mw_study_row rows[MW_TABLE_ROWS]; /* in the order of the settings' own table */
    int present;
} mw_study_table;

/* Reads FOLDER/PLACE/<setting>.json of all settings from every folder and the first of the places[..., NULL]
 * that has it; where several folders have a setting the last one counts. Files are summaries of settings, or
 * what mawam eval --json writes. A file that cannot be read or is another setting's is an error, one that is
 * not there is a missing setting. */
mw_status mw_study_table_read(mw_study_table *table, const char *const *folders, int count,
                              const char *const *places, mw_error *error);
/* The same of an empty table into which the caller puts the summaries between the two. */
void mw_study_table_begin(mw_study_table *table);
void mw_study_table_fill(mw_study_table *table);
/* Such a file, with an evaluation where summaries have theirs; NULL where there is none. */
mw_status mw_study_file_read(json_t **summary, const mw_study_row *row, const char *path, mw_error *error);
extern const char *const mw_study_places[]; /* of summaries: "results" of a study, "settings" of a report */
void mw_study_table_free(mw_study_table *table); /* safe to call twice */

/* The number at "eval.arms.plan.return" of a file; "[8]" picks the member of an array whose "horizon" that
 * is. NaN: none, or none that a result can be. */
double mw_json_number(const json_t *value, const char *path);
const json_t *mw_json_at(const json_t *value, const char *path); /* NULL: none */

const char *mw_study_family(const char *task); /* of one of the settings' tasks; no simulator is made */

/* The difference of two arms as they are reported, with a 95% interval: of paired episodes against reactive,
 * of the seeds' paired means (Student's) otherwise. NaN where it is not known. */
mw_interval mw_row_difference(const mw_study_row *row, int ours, int other);
double mw_row_p(const mw_study_row *row, int ours, int other); /* of that interval; NaN: not known */
/* An arm above the mean of its data, by Student's interval over its seeds with the data's own error. */
mw_interval mw_row_above_data(const mw_study_row *row, int arm);
/* Win rates, by Student's interval over both arms' seeds, which files do not hold in pairs. */
mw_interval mw_row_won(const mw_study_row *row, int ours, int other);
/* Whether planning's judge imagines steps; false too where no plan is known. */
bool mw_row_imagines(const mw_study_row *row);

/* What further training seeds tell goes to the rows of the first: rows of others[count] that are there. */
void mw_table_training_seeds(mw_study_table *table, const mw_study_table *others, int count);

/* Of two arms, with the intervals above. family NULL: all. */
mw_comparison mw_table_compare_arms(const mw_study_table *table, const char *family, int ours, int other);
mw_comparison mw_table_compare_data(const mw_study_table *table, const char *family, int arm);
mw_comparison mw_table_compare_won(const mw_study_table *table, const char *family, int ours, int other);
/* Of any two columns, without. */
mw_comparison mw_table_compare(const mw_study_table *table, const char *family, mw_column_id ours,
                               mw_column_id other);

/* The numbers of a column (those that are there) of a family's rows; returns how many. */
int mw_table_collect(const mw_study_table *table, const char *family, mw_column_id column,
                     double out[MW_TABLE_ROWS]);
double mw_table_mean(const mw_study_table *table, const char *family, mw_column_id column); /* NaN: none */
double mw_table_median(const mw_study_table *table, const char *family, mw_column_id column);
double mw_table_quantile(const mw_study_table *table, const char *family, mw_column_id column, double q);
double mw_table_sum(const mw_study_table *table, const char *family, mw_column_id column); /* 0: none */

#endif
