/* Bundles of frozen models, and planners that decide with them: candidates from the policy, scores, choice.
 */
#ifndef MAWAM_PLAN_H
#define MAWAM_PLAN_H

#include "mawam/env.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- bundles ---- */

/* Frozen models for one task, read from one file. Read-only after loading; planners on any threads may share
 * it. In memory it takes about 12 bytes a weight, however few bits its file has. */
typedef struct mw_bundle mw_bundle;

/* A path, or the short name of a bundle that comes with mawam, "3m-medium", which mw_data_path finds. The
 * file is not needed afterwards. */
MW_API mw_status mw_bundle_load(mw_bundle **bundle, const char *path, mw_error *error);
/* The same of a file's bytes, wherever they begin: a bundle that is linked into a program. They may go
 * afterwards. */
MW_API mw_status mw_bundle_read(mw_bundle **bundle, const void *data, size_t size, mw_error *error);
MW_API void mw_bundle_free(mw_bundle *bundle);
/* Writes the bundle of one file to another with its larger matrices in 4 to 8 bits per weight, and says so in
 * it. Loading expands them. Atomic. */
MW_API mw_status mw_bundle_pack(const char *from, const char *to, int bits, mw_error *error);

/* What a bundle plans for. */
typedef struct mw_bundle_summary {
    const char *task, *rules, *quality; /* rules: the version of the world it was trained in */
    const char *method;                 /* of mw_method_name: how it was trained */
    int agents, obs_size, act_size;
    bool discrete;
    int episode_limit;
    int parts;                     /* models in it */
    int packed_bits;               /* of a weight in the larger matrices of its file; 0: it is not packed */
    const char *packed_of;         /* checksum of the bundle before it was packed, or "" */
    const char *return_error_from; /* on what the plan's was measured: "held-out episodes", "all episodes",
                                      those of the training included, where too few were held out; "given";
                                      "": it is not known, and a plan with caution is refused */
} mw_bundle_summary;
MW_API mw_bundle_summary mw_bundle_describe(const mw_bundle *bundle);
/* Checksum of the weights alone, as they are in memory: equal trainings have equal ones, whatever their files
 * say of time and machine. */
MW_API void mw_bundle_weights(const mw_bundle *bundle, char out[17]);

typedef struct mw_bundle_part_summary {
    const char *name;       /* "flow", "inverse", "rwm", ... */
    size_t parameters;      /* weights in it */
    const char *provenance; /* JSON: settings, data checksum, seed, revision, CPU, training curve */
} mw_bundle_part_summary;
/* All zeros past the last of mw_bundle_summary.parts. */
MW_API mw_bundle_part_summary mw_bundle_part_describe(const mw_bundle *bundle, int part);

/* ---- how to plan ---- */

enum { MW_NAME = 64 };

typedef enum mw_choice {
    MW_CHOICE_BEST,   /* the candidate with the highest score, or a mean towards it */
    MW_CHOICE_RANDOM, /* one of them at random: the control for having many */
    MW_CHOICE_FIRST,  /* the policy as it is; only this one is drawn */
} mw_choice;

/* The meaning of each is in mw_plan_setting_at. */
typedef struct mw_plan_settings {
    int candidates, horizon, sampling_steps; /* M, H, K */
    double guidance, target, quantile;
    bool return_to_go;
    char scorer[MW_NAME];
    double advantage_share, action_offset, temperature;
    bool warm_start;
    int choice; /* mw_choice */
    double caution, return_error;
    int value_after, recombine;
    bool distinct;
} mw_plan_settings;

/* One setting, for help and programs: every field of the struct above by name. */
typedef struct mw_setting_info {
    const char *name, *symbol; /* symbol: the paper's, or NULL */
    const char *help;
    char range[128];
} mw_setting_info;
MW_API bool mw_plan_setting_at(int index, mw_setting_info *info); /* false past the end */
MW_API mw_status mw_plan_settings_set(mw_plan_settings *settings, const char *name, const char *value,
                                      mw_error *error);
/* The value as it would be typed, real numbers with six digits. Fails where there is no room for it. */
MW_API mw_status mw_plan_settings_get(const mw_plan_settings *settings, const char *name, char *out,
                                      size_t size, mw_error *error);
/* Are the candidates, before they are recombined, those that the policy draws, without offsets, variants
 * and warm starts? */
MW_API bool mw_plan_as_drawn(const mw_plan_settings *settings);
MW_API mw_plan_settings mw_bundle_plan(const mw_bundle *bundle); /* what the bundle itself says */

/* What can judge candidates: index from 0, NULL past the end. */
MW_API const char *mw_scorer_name(int index);
MW_API const char *mw_scorer_help(int index);

/* What a judge or a proposer of your own is asked: all candidates of one decision, `group` of them for every
 * environment that decides. Arrays are the planner's and valid during the call. */
typedef struct mw_plan_call {
    int count, horizon; /* candidates in all, and steps of each */
    int group;          /* consecutive candidates are of one environment */
    int agents, obs_size, act_size;
    const int *envs;      /* [count / group]: which environment */
    const float *obs;     /* [count][n][o]: where each begins, in the units of the data */
    const uint8_t *legal; /* [count / group][n][d] of the first action; NULL: everything is, or unknown */
    const uint64_t *keys; /* [count]: random numbers that follow from seed, episode, step and candidate */
    float *actions;       /* [count][horizon][n][d] */
} mw_plan_call;

typedef struct mw_planner_options {
    size_t size; /* of this struct, set by init */
    uint64_t seed;
    int envs;     /* environments decided together */
    int threads;  /* 1 to MW_MAX_THREADS; 0: one per core */
    bool imagine; /* choosing by score: roll candidates out in a world model even if scores do not need it */
    bool sequential; /* generate one candidate after the other: for cost comparisons, same results */
    mw_env *const *envs_played; /* [envs]: for scorers that simulate; must outlive the planner. NULL: none */
    const mw_env_options *env_options; /* that they were made with; may be NULL */
    double deadline; /* milliseconds that a decision may take; 0: as long as it takes. See mw_planner_effort
                      */
    double (*clock)(void *context); /* seconds, for the deadline; NULL: the system's monotonic clock */
    void *clock_context;
    /* A judge in place of plan.scorer: scores[count], the higher the better, of call->actions, one-hot where
     * they are discrete. The settings caution and value_after speak of the bundle's own judge and do not
     * count then. */
    mw_status (*score)(void *context, const mw_plan_call *call, float *scores, mw_error *error);
    void *score_context;
    /* A proposer in place of the bundle's policy: writes call->actions; of discrete ones preferences, of
     * which the highest is taken, at the first step among those that are legal. Offsets and warm starts
     * follow as ever. Both are called by the thread that asks for a decision; a status other than MW_OK ends
     * that with it. */
    mw_status (*propose)(void *context, const mw_plan_call *call, mw_error *error);
    void *propose_context;
    mw_plan_settings plan; /* the last member, because it grows at its own end */
} mw_planner_options;

/* Everything as the bundle says, for one environment. */
MW_API void mw_planner_options_init(mw_planner_options *options, size_t size, const mw_bundle *bundle);

/* ---- planners ---- */

typedef struct mw_planner mw_planner;

/* options may be NULL. The bundle must outlive the planner. All memory is taken here; planning allocates
 * nothing. */
MW_API mw_status mw_planner_create(mw_planner **planner, const mw_bundle *bundle,
                                   const mw_planner_options *options, mw_error *error);
MW_API void mw_planner_free(mw_planner *planner);
MW_API size_t mw_planner_bytes(const mw_planner *planner); /* of that memory, the stacks of threads apart */

/* Starts an episode in one environment: its history is forgotten. The candidates' noise is a pure function of
 * the seed, the episode, the step and the candidate, whatever the threads and the other environments. */
MW_API mw_status mw_planner_begin(mw_planner *planner, int env, uint64_t episode, mw_error *error);

/* One decision for every active environment (active[envs], NULL: all) from obs[envs][n][o], in the units of
 * the data; legal[envs][n][d] is 0 or 1, NULL: everything is. Writes real[envs][n][d], in [-1,1], or
 * index[envs][n], by the kind of the task; the other may be NULL. Observations that are not finite, and an
 * agent without a legal action, are refused before anything changes. */
MW_API mw_status mw_planner_act(mw_planner *planner, const float *obs, const uint8_t *legal,
                                const uint8_t *active, float *real, int32_t *index, mw_error *error);

/* What the last decision did. With a deadline it draws as many candidates, in as many sampling steps, as
 * earlier decisions say there is time for; when drawing them took so long that none is left for scoring, and
 * where nothing else fits, it is the policy's own first candidate. A planner with a deadline measures itself
 * a few times when it is made. Time that the system takes away from the process cannot be promised. */
typedef struct mw_effort {
    int candidates, sampling_steps;
    bool scored; /* false: the reactive action */
    double milliseconds;
} mw_effort;
MW_API mw_effort mw_planner_effort(const mw_planner *planner);

/* What an environment's last action earned: the mean over agents, in the units of the data. Only bundles that
 * follow the return-to-go use it. One that is not finite is refused. */
MW_API mw_status mw_planner_reward(mw_planner *planner, int env, float reward, mw_error *error);

/* The candidates of one environment's last decision, for pictures and tests; the arrays are valid until the
 * next one. count is 0 where there was none. */
typedef struct mw_candidates {
    int count, horizon, chosen;
    const float *scores;  /* [count] imagined team return, or mixed with the advantage or Q, or with the value
                             of where the first steps lead; random and reactive arms have one candidate, at
                             0 */
    const float *actions; /* [count][horizon][n][d], one-hot if discrete */
    const float *proposed; /* [count][horizon + 1][n][o] observations drawn by the policy, from the current
                              one on; NULL where another proposer gave the actions */
    const float *imagined; /* [count][horizon][n][o] observations predicted by the world model, after each
                              action; NULL where there are no rollouts of all steps */
    const float *weights;  /* [count], of sum 1: the mean of all with these was executed; NULL: the chosen one
                            */
} mw_candidates;
MW_API mw_candidates mw_planner_candidates(const mw_planner *planner, int env);

/* Overrules one environment's last decision, before its action is executed: another of its candidates counts
 * as chosen, and its first joint action is written to real[n][d] or index[n]. */
MW_API mw_status mw_planner_take(mw_planner *planner, int env, int candidate, float *real, int32_t *index,
                                 mw_error *error);

/* What a planner remembers of one environment's episode, as plain bytes: with the environment's own snapshot
 * from before the same decision, play continues with identical bits. It may be restored into any planner of
 * the same bundle, whatever its settings; the rest of the last plan is taken over where the horizons agree.
 */
MW_API size_t mw_planner_snapshot_size(const mw_planner *planner);
MW_API void mw_planner_snapshot(const mw_planner *planner, int env, void *buffer);
MW_API mw_status mw_planner_restore(mw_planner *planner, int env, const void *buffer, size_t size,
                                    mw_error *error);

/* ---- routing ---- */

/* How the experts of a bundle's routed world model share the agents of one transition. */
typedef struct mw_routes mw_routes;

/* Fails with MW_ERR_UNSUPPORTED for bundles without a routed world model. The bundle must outlive it. */
MW_API mw_status mw_routes_create(mw_routes **routes, const mw_bundle *bundle, mw_error *error);
MW_API void mw_routes_free(mw_routes *routes);
MW_API int mw_routes_experts(const mw_routes *routes);
/* mass[n][experts] of a joint action[n][d] (one-hot if discrete) at obs[n][o]: an agent's masses sum to 1. */
MW_API void mw_routes_look(mw_routes *routes, const float *obs, const float *action, float *mass);

#ifdef __cplusplus
}
#endif
#endif
