/* Behaviours: the policies that collect datasets, learned online from scratch. The settings they make the
 * data of, learning runs, the choice of tiers among a run's snapshots, and the preys of tag and world. */
#ifndef MAWAM_BEHAVIOR_H
#define MAWAM_BEHAVIOR_H

#include "mawam/env.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- settings ------------------------------------------------------------------------------------------ */

/* How a tier is found among the snapshots of a learning run. */
typedef enum mw_tier_kind {
    MW_TIER_RANDOM, /* uniform random actions, no file */
    MW_TIER_NEAR,   /* the snapshot whose return is nearest to the middle of the range */
    MW_TIER_BEST,   /* the snapshot with the highest return */
    MW_TIER_LADDER, /* snapshots from the start to the medium tier, at equal distances in return */
} mw_tier_kind;

/* A task and the quality of its data: what the data should earn, how much of it is made and with how much
 * exploration. */
typedef struct mw_setting {
    const char *task, *quality;
    mw_tier_kind kind;
    double low, high;  /* mean score of the data (see mw_score) */
    double least_wins; /* battles */
    float noise;       /* exploration; see mw_behavior_summary */
    int transitions;   /* joint steps of a dataset */
} mw_setting;

MW_API const mw_setting *mw_setting_at(int index); /* NULL past the end */
/* By "task-quality". */
MW_API mw_status mw_setting_find(const mw_setting **setting, const char *name, mw_error *error);
MW_API void mw_setting_name(const mw_setting *setting, char *out, size_t size);

/* A return on the task's scale from random play (0) to the expert (100); tasks without a scale are scored by
 * their plain return. */
MW_API double mw_score(const char *task, double episode_return);

/* Where behaviour files are: in the folder `given`, else where mw_data_find finds them. */
MW_API mw_status mw_behavior_path(char *out, size_t size, const char *given, const mw_setting *setting,
                                  mw_error *error);

/* ---- files --------------------------------------------------------------------------------------------- */

enum { MW_BEHAVIOR_MOST_ACTORS = 32 };

/* What a behaviour file holds: usually one policy; medium-replay is a ladder of snapshots that take turns. */
typedef struct mw_behavior_summary {
    char task[24], rules[64], quality[24];
    char origin[256]; /* how it was made, for people */
    float noise;      /* real actions: std of normal noise; discrete: probability of a uniform draw */
    int count;
    double steps[MW_BEHAVIOR_MOST_ACTORS]; /* of learning behind each policy */
} mw_behavior_summary;
MW_API mw_status mw_behavior_describe(mw_behavior_summary *summary, const char *path, mw_error *error);

typedef struct mw_measure_options {
    size_t size;                 /* of this struct, set by init */
    const mw_env_options *world; /* may be NULL */
    uint64_t seed;
    int episodes; /* 200; of several policies as many more as let all play equally often */
    int threads;  /* 1 to MW_MAX_THREADS; 0: one per core */
    double noise; /* negative: the file's */
} mw_measure_options;
MW_API void mw_measure_options_init(mw_measure_options *options, size_t size);

/* Of the returns of episodes, and their length. */
typedef struct mw_measure {
    int episodes;
    double mean, std, least, most, win_rate, length;
} mw_measure;

/* Plays a behaviour file in its task; path NULL: uniform random actions. Episode k of a seed is always the
 * same. */
MW_API mw_status mw_behavior_play(const char *task, const char *path, const mw_measure_options *options,
                                  mw_measure *measure, mw_error *error);

/* ---- learning ------------------------------------------------------------------------------------------ */

/* How a task's behaviour is learned (proximal policy optimisation, one actor for all agents). */
typedef struct mw_learn_preset {
    char task[24];
    char teacher[16];    /* a scripted policy of the task to imitate at first; "": none */
    int hidden;          /* width of both hidden layers of the actor */
    int critic_hidden;   /* the same of the critic, which sees the joint observation */
    int relu;            /* activation: 1 ReLU, 0 SiLU */
    int ids;             /* the actor is told which agent it is */
    int envs, horizon;   /* environments, and steps of each between updates */
    int epochs, batches; /* passes over the collected steps, and minibatches of a pass */
    int shards;          /* of a minibatch: as many threads can learn together */
    float rate;          /* of the actor's Adam, falls linearly to a tenth */
    float critic_rate;   /* the same for the critic */
    float gamma, lambda; /* discount, decay of the advantage estimate */
    float clip;          /* of the probability ratio */
    float entropy;       /* weight of the entropy bonus, falls linearly to a tenth */
    int adapt;           /* the actor's rate follows the divergence: down above kl, up below half of it */
    float imitate_rate;  /* of the actor's Adam while it imitates */
    float kl;            /* passes over the data stop above this divergence; 0: never */
    float log_std;       /* initial log std of real actions */
    float reward_scale;  /* rewards are multiplied by it before learning */
    float steps;         /* environment steps in all */
    float imitate;       /* environment steps played and explained by the teacher before learning proper */
    int snapshots;       /* policies kept along the way */
} mw_learn_preset;

MW_API const mw_learn_preset *mw_learn_preset_find(const char *task); /* NULL for a task without one */
/* "name=value" */
MW_API mw_status mw_learn_preset_set(mw_learn_preset *preset, const char *assignment, mw_error *error);

typedef struct mw_learn_report {
    long iteration; /* finished so far */
    double steps;   /* environment steps so far */
    int episodes;   /* that ended in this iteration; 0: the next three are not set */
    double episode_return, length, win_rate;
    double entropy, kl, clipped;   /* means over rows of the last pass */
    double value_loss, action_std; /* action_std: of the action noise, mean over values; real actions only */
    int passes;
} mw_learn_report;

/* After every iteration; iterations: how many there will be. */
typedef void mw_learn_report_fn(void *context, const mw_learn_report *report, double seconds,
                                long iterations);

typedef struct mw_learn_options {
    size_t size;                   /* of this struct, set by init */
    const mw_learn_preset *preset; /* NULL: the task's */
    const mw_env_options *world;   /* may be NULL */
    uint64_t seed;
    int threads;              /* 1 to MW_MAX_THREADS; 0: one per core */
    bool resume;              /* continue the folder's checkpoint if there is one, with its preset and seed */
    float prolong;            /* when resuming: learn until this many steps; 0: as the run was begun */
    const mw_stop_flag *stop; /* may be NULL; not 0: save and return MW_ERR_INTERRUPTED */
    mw_learn_report_fn *report; /* may be NULL */
    void *context;
} mw_learn_options;
MW_API void mw_learn_options_init(mw_learn_options *options, size_t size);

/* A learning run in a folder, created if missing: state.safetensors, curve.jsonl, curve.svg and
 * snapshots/<steps>.safetensors. It can be stopped at any time and resumed; the outcome is the same as
 * without the stop, and depends on the preset, the world and the seed only. */
MW_API mw_status mw_behavior_learn(const char *task, const char *folder, const mw_learn_options *options,
                                   mw_error *error);

/* ---- tiers --------------------------------------------------------------------------------------------- */

typedef struct mw_pick_options {
    size_t size;                 /* of this struct, set by init */
    const mw_env_options *world; /* may be NULL */
    int episodes; /* per snapshot (200); the likely ones of a tier are measured again with four times as many
                   */
    int every;    /* looks at every so-many-th snapshot (1); the first and the last are always among them */
    uint64_t seed;
    int threads;              /* 1 to MW_MAX_THREADS; 0: one per core */
    const mw_stop_flag *stop; /* may be NULL */
    /* A snapshot was measured; a tier was written (setting not NULL, measured anew with other episodes). */
    void (*report)(void *context, const mw_setting *setting, double steps, const mw_measure *measure);
    void *context;
} mw_pick_options;
MW_API void mw_pick_options_init(mw_pick_options *options, size_t size);

/* Measures every snapshot of a learning run with the exploration noise of the datasets and writes the
 * behaviour files of the task's qualities to a folder. */
MW_API mw_status mw_behavior_pick(const char *task, const char *run, const char *folder,
                                  const mw_pick_options *options, mw_error *error);

/* ---- preys --------------------------------------------------------------------------------------------- */

typedef struct mw_prey_options {
    size_t size;                      /* of this struct, set by init */
    int rounds;                       /* predators against the last prey, then a prey against all predators so
                                         far (3, at most 8) */
    float predator_steps, prey_steps; /* environment steps in a round (1e6) */
    uint64_t seed;
    int threads;                /* 1 to MW_MAX_THREADS; 0: one per core */
    const char *version;        /* becomes part of the rules version ("v1") */
    const mw_stop_flag *stop;   /* may be NULL */
    mw_learn_report_fn *report; /* may be NULL */
    void *context;
} mw_prey_options;
MW_API void mw_prey_options_init(mw_prey_options *options, size_t size);

/* Learns predators and prey of tag or world in turns, each from scratch, in subfolders of the folder; round r
 * leaves folder/prey-r.safetensors. Resumes whatever is there. */
MW_API mw_status mw_prey_learn(const char *task, const char *folder, const mw_prey_options *options,
                               mw_error *error);

/* Writes the preys of `count` files, in this order, as C source: what src/env/mpe/prey_weights.c is made
 * with, so that an installed library needs no file to know its default worlds. */
MW_API mw_status mw_prey_embed(const char *const *files, int count, const char *path, mw_error *error);

#ifdef __cplusplus
}
#endif
#endif
