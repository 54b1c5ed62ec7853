/* The paper's own figures, to stand next to ours: MPE in normalised score, battles in return, Ant in return
 * per agent. Rows are keyed by the name of a setting of mawam/behavior.h. */
#ifndef MW_REPORT_PAPER_H
#define MW_REPORT_PAPER_H

typedef struct mw_paper_row {
    const char *setting;
    double reactive, planning;         /* per-setting planning gain, three denoising steps */
    double gain;                       /* their difference as printed, from means that were not rounded */
    double random, random_gain;        /* equal-candidate control, M = 8, and planning's difference to it */
    double reactive_won, planning_won; /* battles: win rates; otherwise NaN */
} mw_paper_row;

const mw_paper_row *mw_paper_at(int index); /* NULL past the end */
const mw_paper_row *mw_paper_find(const char *setting);

/* What it says over all settings or per family, from means that were not rounded. */
typedef struct mw_paper_gains {
    const char *family; /* NULL: all */
    int count;
    int improved;               /* settings where planning beats reactive */
    double difference;          /* mean, in the family's unit; NaN: not said */
    double aggregate;           /* sum of differences over the sum of reactive; NaN: not said */
    double relative, median;    /* relative gain over reactive: mean, median (NaN: not said) */
    int random_improved;        /* settings where it beats the random choice; 0: not said */
    double random_relative;     /* NaN: not said */
    double spearman, pearson;   /* snippets at H=8, medians over settings; NaN: not said */
    double top2, pairs, regret; /* the same */
    double rollout_mse;         /* at H=8, median */
} mw_paper_gains;
const mw_paper_gains *mw_paper_gains_of(const char *family); /* NULL: all */

/* Same-state ranking at 64 anchors, M = 8. */
typedef struct mw_paper_state {
    const char *setting;
    double top1, top2, spearman, pairs, regret, random_regret;
} mw_paper_state;
const mw_paper_state *mw_paper_state_find(const char *setting); /* NULL: none */
mw_paper_state mw_paper_state_mean(void);

/* ---- the main table and the rest; see paper_tables.c ---- */

enum { MW_PAPER_METHODS = 10 };
typedef struct mw_paper_methods {
    const char *family;
    int count; /* the last is the paper's own, the best of K = 1 to 5 */
    const char *names[MW_PAPER_METHODS];
} mw_paper_methods;
const mw_paper_methods *mw_paper_methods_of(const char *family);

typedef struct mw_paper_number {
    double mean, std;
} mw_paper_number;
mw_paper_number mw_paper_result(const char *setting, int method); /* NaN: none */

typedef struct mw_paper_horizon {
    const char *family; /* NULL: all */
    int horizon;
    double spearman, regret, rollout_mse;
    double least, most; /* Spearman of single settings; NaN: not said */
} mw_paper_horizon;
const mw_paper_horizon *mw_paper_horizon_find(const char *family, int horizon); /* NULL: not said */

/* Two cards: RTX 3090 and A100; means of three medium settings. */
typedef struct mw_paper_cost {
    int candidates;
    struct {
        double generation, scoring, total, share; /* the share in percent; as printed, not always their sum */
    } rtx, a100;
} mw_paper_cost;
const mw_paper_cost *mw_paper_cost_at(int index); /* NULL past the end */

typedef struct mw_paper_batched {
    const char *task;
    int agents, settings;
    struct {
        double sequential, batched;
    } rtx, a100;
} mw_paper_batched;
const mw_paper_batched *mw_paper_batched_at(int index); /* NULL past the end */

/* Over settings: how often, mean paired difference and its bootstrap interval. */
typedef struct mw_paper_routing {
    int settings, context_above_agent, transitions_above_agents;
    double context_difference, context_low, context_high; /* corrected NMI, context - agent */
    double js_difference, js_low, js_high;                /* divergence of transitions - of agents */
    double effective_experts, switching;
    int experts;
} mw_paper_routing;
const mw_paper_routing *mw_paper_routing_figures(void);

/* Influence against routing graph. */
typedef struct mw_paper_graph {
    const char *setting;
    double correlation, difference;
} mw_paper_graph;
const mw_paper_graph *mw_paper_graph_at(int index); /* NULL past the end */

typedef struct mw_paper_selectors {
    int settings, rwm_best;
    const char *names[4];
    int alternative[4]; /* how often each was the strongest other */
} mw_paper_selectors;
const mw_paper_selectors *mw_paper_selector_counts(void);

/* The settings that the paper's cost is a mean of; NULL past the end. */
const char *mw_paper_cost_setting(int index);

double mw_paper_tier(int tier); /* mean relative gain on best, middle, worst data */

#endif
