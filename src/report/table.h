/* The study as one table: a row for each of the 30 settings, filled from the summary files that exist, and a
 * column for every number that reports use. Missing settings and numbers are NaN; nothing is typed by hand.
 */
#ifndef MW_REPORT_TABLE_H
#define MW_REPORT_TABLE_H

#include "behavior/settings.h"
#include "core/json.h"
#include "eval/controller.h"
#include "report/analysis.h"
#include "report/paper.h"

/* name, and where the number stands in a setting's summary; "" where it is derived. [8] picks the entry of
 * that horizon. `score` columns exist for tasks with a scale only. */
#define MW_TABLE_ARM(X, ID, name, path)                                                                      \
    X(ID##_RETURN, name "_return", path "return")                                                            \
    X(ID##_RETURN_STD, name "_return_std", path "return_std")                                                \
    X(ID##_SCORE, name "_score", path "score")                                                               \
    X(ID##_SCORE_STD, name "_score_std", path "score_std")                                                   \
    X(ID##_WON, name "_win_rate", path "win_rate")                                                           \
    X(ID##_WON_STD, name "_win_rate_std", path "win_rate_std")                                               \
    X(ID##_LENGTH, name "_episode_length", path "episode_length")

#define MW_TABLE_COLUMNS(X)                                                                                  \
    X(DATA_EPISODES, "data_episodes", "data.episodes")                                                       \
    X(DATA_STEPS, "data_steps", "data.steps")                                                                \
    X(DATA_RETURN, "data_return", "data.return.mean")                                                        \
    X(DATA_RETURN_STD, "data_return_std", "data.return.std")                                                 \
    X(DATA_SCORE, "data_score", "data.score")                                                                \
    X(DATA_WON, "data_win_rate", "data.win_rate")                                                            \
    MW_TABLE_ARM(X, REACTIVE, "reactive", "eval.arms.reactive.")                                             \
    MW_TABLE_ARM(X, RANDOM, "random", "eval.arms.random.")                                                   \
    MW_TABLE_ARM(X, PLAN, "plan", "eval.arms.plan.")                                                         \
    MW_TABLE_ARM(X, PAPER, "paper", "eval.arms.paper.")                                                      \
    MW_TABLE_ARM(X, ORACLE, "oracle", "eval.arms.oracle.")                                                   \
    X(GAIN_RETURN, "plan_gain_return", "eval.arms.plan.gain.mean")                                           \
    X(GAIN_LOW, "plan_gain_return_low", "eval.arms.plan.gain.low")                                           \
    X(GAIN_HIGH, "plan_gain_return_high", "eval.arms.plan.gain.high")                                        \
    X(DELTA, "delta_reactive", "")                                                                           \
    X(RELATIVE, "relative_gain_reactive", "")                                                                \
    X(DELTA_PAPER, "paper_delta_reactive", "")                                                               \
    X(RELATIVE_PAPER, "paper_relative_gain_reactive", "")                                                    \
    X(DELTA_RANDOM, "delta_random", "")                                                                      \
    X(RELATIVE_RANDOM, "relative_gain_random", "")                                                           \
    X(SHARE, "oracle_share", "")                                                                             \
    X(DELTA_DATA, "delta_data", "")                                                                          \
    X(DELTA_WON, "delta_win_rate", "")                                                                       \
    X(MS_DECISION, "plan_ms_p50", "eval.arms.plan.ms.decision.p50")                                          \
    X(MS_DECISION_95, "plan_ms_p95", "eval.arms.plan.ms.decision.p95")                                       \
    X(MS_GENERATION, "plan_generation_ms_p50", "eval.arms.plan.ms.generation.p50")                           \
    X(MS_SCORING, "plan_scoring_ms_p50", "eval.arms.plan.ms.scoring.p50")                                    \
    X(MS_REACTIVE, "reactive_ms_p50", "eval.arms.reactive.ms.decision.p50")                                  \
    X(EVAL_M, "M", "eval.plan.candidates")                                                                   \
    X(EVAL_H, "H", "eval.plan.horizon")                                                                      \
    X(EVAL_K, "K", "eval.plan.sampling_steps")                                                               \
    X(EVAL_OFFSET, "action_offset", "eval.plan.action_offset")                                               \
    X(EVAL_TEMPERATURE, "temperature", "eval.plan.temperature")                                              \
    X(EVAL_WARM_START, "warm_start", "eval.plan.warm_start")                                                 \
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
    X(STATE_PAIRS, "same_state_pair_accuracy", "same_state.pair_accuracy")                                   \
    X(STATE_REGRET, "same_state_normalized_regret", "same_state.normalized_regret")                          \
    X(STATE_RANDOM_REGRET, "same_state_random_normalized_regret", "same_state.random_normalized_regret")     \
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
    X(PUBLISHED_RELATIVE, "published_relative_gain_reactive", "")                                            \
    X(PUBLISHED_RELATIVE_RANDOM, "published_relative_gain_random", "")                                       \
    X(PUBLISHED_REACTIVE_WON, "published_reactive_win_rate", "")                                             \
    X(PUBLISHED_PLAN_WON, "published_plan_win_rate", "")                                                     \
    /* as the paper reports: normalised score where there is a scale, else return */                         \
    X(REACTIVE, "reactive", "")                                                                              \
    X(RANDOM, "random", "")                                                                                  \
    X(PLAN, "plan", "")                                                                                      \
    X(PAPER, "paper", "")                                                                                    \
    X(ORACLE, "oracle", "")                                                                                  \
    X(DATA, "data", "")

typedef enum mw_column_id {
#define MW_TABLE_ID(id, name, path) MW_COL_##id,
    MW_TABLE_COLUMNS(MW_TABLE_ID)
#undef MW_TABLE_ID
        MW_TABLE_WIDTH
} mw_column_id;

const char *mw_table_column_name(mw_column_id column);

enum { MW_TABLE_ROWS = 30, MW_TABLE_HORIZONS = 16 };

typedef struct mw_study_row {
    const mw_setting *setting;
    char name[64];
    const char *family; /* "mpe", "battle", "ant" */
    json_t *summary;    /* NULL: missing */
    double value[MW_TABLE_WIDTH];
    double arm[MW_ARMS]; /* of every arm, as the paper reports: score or return */
    const char *scorer;  /* of the plan arm; "" if unknown */
    double spearman[MW_TABLE_HORIZONS], error[MW_TABLE_HORIZONS]; /* of snippets, by horizon - 1 */
} mw_study_row;

typedef struct mw_study_table {
    mw_study_row rows[MW_TABLE_ROWS]; /* in the order of the settings' own table */
    int present;
} mw_study_table;

/* Reads FOLDER/results/<setting>.json of all settings from every folder; where several have a setting the
 * last one counts. A file that cannot be read is an error, one that is not there is a missing setting. */
mw_status mw_study_table_read(mw_study_table *table, const char *const *folders, int count, mw_error *error);
void mw_study_table_free(mw_study_table *table); /* safe to call twice */

const char *mw_study_family(const char *task); /* of one of the settings' tasks; no simulator is made */

/* family NULL: all. */
mw_comparison mw_table_compare(const mw_study_table *table, const char *family, mw_column_id ours,
                               mw_column_id other);

/* The numbers of a column (those that are there) of a family's rows; returns how many. */
int mw_table_collect(const mw_study_table *table, const char *family, mw_column_id column,
                     double out[MW_TABLE_ROWS]);
double mw_table_mean(const mw_study_table *table, const char *family, mw_column_id column); /* NaN: none */
double mw_table_median(const mw_study_table *table, const char *family, mw_column_id column);
double mw_table_sum(const mw_study_table *table, const char *family, mw_column_id column); /* 0: none */

/* Share of the oracle's gain over settings: the mean of each setting's share, where it has more to gain than
 * 1% of |reactive|, cut to [-1, 1] so that no single setting decides. *count receives how many. */
double mw_table_share(const mw_study_table *table, const char *family, int *count);

#endif
