/* The routing diagnosis: what the experts of a routed world model have learned, as numbers, tables and a
 * page; and comparisons of such numbers over settings. Part of libmawam-study. */
#ifndef MAWAM_ROUTING_H
#define MAWAM_ROUTING_H

#include "mawam/eval.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the router of the routed world model has learned: docs/routing.md defines every number. An expert's
 * mass of an agent's token is the sum of the combine weights of its slots; masses of a token sum to 1. A
 * shared expert meets every token with weight 1 and is not routed: it has no mass. Numbers that do not exist
 * (too few entries, a constant) are NaN. */
enum { MW_ROUTING_AGENTS = 64, MW_ROUTING_EXPERTS = 16, MW_ROUTING_PERMUTATIONS = 20 };

/* Normalised mutual information of the dominant expert with a label of the agent transition. */
typedef struct mw_routing_nmi {
    double raw;
    double permuted[MW_ROUTING_PERMUTATIONS]; /* with permuted labels */
    double permuted_mean, corrected;          /* raw minus that mean */
    double expected, corrected_exact;         /* the same over all permutations there are */
} mw_routing_nmi;

enum { MW_CHANGE, MW_ACTION, MW_REWARD, MW_MAGNITUDES }; /* |o' - o|, |a|, |r| of an agent transition */

/* Consecutive recorded transitions. */
typedef struct mw_routing_statistics {
    int transitions, agents, experts;
    double affinity[MW_ROUTING_AGENTS][MW_ROUTING_EXPERTS];  /* mean mass: rows are agents and sum to 1 */
    double dominant_share[MW_ROUTING_EXPERTS];               /* of agent transitions */
    double cuts[MW_MAGNITUDES][2], shares[MW_MAGNITUDES][3]; /* borders of the thirds, and what is in each */
    int contexts;                                            /* of 27 that occur */
    mw_routing_nmi context, agent;
    double js_agents, js_context; /* nats: between agents; between small and large changes */
    double effective_experts, effective_dominant, effective_per_token;
    long switching_pairs; /* of neighbouring transitions of an agent */
    double switching;     /* share of them with different dominant experts */
} mw_routing_statistics;

/* A routing graph against the influence graph, over the entries compared. */
typedef struct mw_graph_match {
    int entries;
    double correlation;                       /* Pearson; of fewer than three entries none */
    double difference_minmax, difference_max; /* mean |difference|: both scaled to [0,1]; to a largest of 1 */
} mw_graph_match;

typedef double mw_agent_graph[MW_ROUTING_AGENTS][MW_ROUTING_AGENTS]; /* [target][source] */

typedef struct mw_routing_graphs {
    mw_agent_graph influence; /* mean |change of the target's prediction| by the source's other action */
    mw_agent_graph cosine;    /* of the agents' affinities; symmetric */
    mw_agent_graph flow;      /* share of the target's mixture made of the source's token; rows sum to 1 */
    mw_graph_match cosine_symmetric; /* with (I + I^T) / 2, above the diagonal */
    mw_graph_match flow_offdiagonal, flow_all;
} mw_routing_graphs;

/* One router, over scattered transitions. */
typedef struct mw_router {
    int transitions, agents;
    int experts, slots, reward_experts, top_k;
    int shared;                                                 /* width of the shared expert; 0: none */
    double affinity[MW_ROUTING_AGENTS][MW_ROUTING_EXPERTS];     /* mean mass */
    double reward_share[MW_ROUTING_AGENTS][MW_ROUTING_EXPERTS]; /* of an agent's picks of the reward */
    double mse, mse_without[MW_ROUTING_EXPERTS + 1]; /* one step; without each expert, then the shared one */
    double routed_share;     /* of the mixture's length that is not the shared expert's */
    double effective_agents; /* exp(entropy) of a slot's dispatch over agents, mean over slots */
    mw_routing_graphs graphs;
    mw_routing_statistics statistics;
} mw_router;

/* Influence of one agent's action on another's next observation, predicted against true, at anchors. */
typedef struct mw_influence_match {
    char model[MW_NAME];
    long effects; /* pairs of different agents over all anchors */
    double true_mean, predicted_mean, pearson, spearman;
    double normalized_error; /* mean |predicted - true| over mean true */
    double cosine;           /* mean over anchors with an effect */
} mw_influence_match;

enum { MW_ROUTING_MODELS = 8 };

typedef struct mw_routing {
    mw_router trained, untrained; /* the same structure as training starts it: the baseline */
    int anchors, model_count;
    mw_influence_match models[MW_ROUTING_MODELS]; /* every world model of the bundle, then the untrained one
                                                   */
    double seconds;
    char rules[MW_NAME]; /* of the world with the anchors; "": there are none */
} mw_routing;

typedef struct mw_routing_options {
    size_t size;                 /* of this struct, set by init */
    int transitions;             /* 4096: affinity, leave-one-out, graphs */
    int consecutive;             /* 8192: everything that needs contexts or neighbours */
    int anchors;                 /* 64; 0: no comparison with true influence, and no simulator */
    uint64_t seed;               /* 2000 */
    int threads;                 /* 1 to MW_MAX_THREADS; 0: one per core */
    const mw_env_options *world; /* may be NULL */
    const mw_stop_flag *stop;    /* may be NULL; not 0: return MW_ERR_INTERRUPTED */
    bool accept_rules;           /* as in mw_eval_options, for the anchors */
} mw_routing_options;
MW_API void mw_routing_options_init(mw_routing_options *options, size_t size);

/* The dataset has passed mw_dataset_check; options may be NULL. *result is NULL after a failure. */
MW_API mw_status mw_routing_run(mw_routing **result, const mw_bundle *bundle, const mw_dataset *dataset,
                                const mw_routing_options *options, mw_error *error);
MW_API void mw_routing_free(mw_routing *result);

/* Tables of at most 100 columns, for people. */
MW_API void mw_routing_text(const mw_routing *result, FILE *out);
/* As JSON, like mw_eval_result_print and mw_eval_result_save. */
MW_API mw_status mw_routing_print(const mw_bundle *bundle, const mw_routing *result, const char *command,
                                  FILE *out, mw_error *error);
MW_API mw_status mw_routing_save(const mw_bundle *bundle, const mw_routing *result, const char *command,
                                 const char *path, mw_error *error);
/* One page that needs nothing else, with pictures and their numbers as CSV. */
MW_API mw_status mw_routing_page(const mw_bundle *bundle, const mw_routing *result, const char *command,
                                 const char *path, mw_error *error);

/* Differences of two numbers of each setting, over settings. */
typedef struct mw_paired_summary {
    int settings, positive, negative; /* the rest are equal */
    mw_interval difference;           /* mean, 95% percentile bootstrap over settings; NaN
                                         of fewer than MW_INTERVAL_LEAST */
    double sign_test;                 /* exact, two-sided, without ties; 1 where all are equal */
} mw_paired_summary;

/* first[count] - second[count]; settings where one is not finite are left out. */
MW_API mw_status mw_paired_compare(mw_paired_summary *summary, const double *first, const double *second,
                                   int count, uint64_t seed, mw_error *error);

/* The statements of the 30-setting analysis, from result files of mw_routing_save. */
typedef struct mw_routing_over {
    int settings;
    mw_paired_summary nmi;               /* context minus agent, corrected */
    mw_paired_summary js;                /* small against large changes, minus agents */
    double effective_experts, switching; /* means */
} mw_routing_over;
MW_API mw_status mw_routing_over_settings(mw_routing_over *over, const char *const *paths, int count,
                                          uint64_t seed, mw_error *error);

#ifdef __cplusplus
}
#endif
#endif
