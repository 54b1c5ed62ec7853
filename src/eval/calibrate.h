/* How well predicted returns agree with true ones: among the candidates of one state, which is what
 * the planner needs, and over recorded snippets at all horizons. */
#ifndef MW_EVAL_CALIBRATE_H
#define MW_EVAL_CALIBRATE_H

#include "data/dataset.h"
#include "plan/bundle.h"
#include "eval/metrics.h"

/* ---- same state ---- */

typedef struct mw_same_state_options {
    int anchors;                    /* 64 */
    const char *const *assignments; /* [assignment_count] of plan settings; candidates are judged by the
                                       world model and drawn without a warm start unless these say so */
    int assignment_count;
    uint64_t seed;
    int threads;
    mw_env_options world;
} mw_same_state_options;

mw_same_state_options mw_same_state_options_default(void);

typedef struct mw_same_state {
    int anchors, candidates, horizon;
    char scorer[MW_WORD];
    long episodes;          /* that the anchors come from */
    mw_ranking ranking;     /* over all; its correlations see differences between states too */
    double spearman_within; /* mean over anchors of the correlation within each; NaN: none had two values */
    double random_regret, random_normalized_regret; /* of a uniform choice: the mean over all candidates */
    double best, chosen, average;                   /* mean true H-step team return of the truly best
                                                       candidate, of the predicted best, of all */
    bool exact;                                     /* all second executions gave the same bits */
    float *realized, *predicted;                    /* [anchors][M] */
} mw_same_state;

/* Anchors are states of reactive play, at steps drawn uniformly so that H steps are left (and, in long
 * episodes, among the first 200). From each the M candidates are scored and executed in the simulator, twice.
 */
mw_status mw_same_state_run(mw_same_state *result, const mw_bundle *bundle,
                            const mw_same_state_options *options, mw_error *error);
void mw_same_state_free(mw_same_state *result); /* safe to call twice */
json_t *mw_same_state_json(const mw_same_state *result);

/* ---- snippets ---- */

enum { MW_SNIPPET_HORIZON = 16, MW_SNIPPET_GROUP = 8 };

typedef struct mw_snippet_options {
    int count;           /* 2000 */
    uint64_t seed;       /* of the choice and the order of snippets */
    uint64_t split_seed; /* of the training's split into trained and held-out episodes */
    double held_out;     /* the share it held out */
    int threads;
} mw_snippet_options;

mw_snippet_options mw_snippet_options_default(void);
/* With the split that the bundle's own provenance tells, so that its world model has not seen the snippets.
 */
mw_snippet_options mw_snippet_options_of(const mw_bundle *bundle);

typedef struct mw_snippets {
    int count;    /* a multiple of MW_SNIPPET_GROUP */
    int horizons; /* 16, or less where fewer than a quarter of the held-out steps have as many ahead */
    mw_ranking ranking[MW_SNIPPET_HORIZON]; /* [h - 1]: of the returns of h steps, in groups of 8 */
    double error[MW_SNIPPET_HORIZON];       /* mean square of the observation after h imagined steps */
} mw_snippets;

/* The world model rolled from the first observation of held-out snippets under their recorded actions. */
mw_status mw_snippets_run(mw_snippets *result, const mw_bundle *bundle, const mw_dataset *dataset,
                          const mw_snippet_options *options, mw_error *error);
json_t *mw_snippets_json(const mw_snippets *result);

#endif
