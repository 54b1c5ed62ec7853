/* How each task's behaviour is learned: one table, every field of which can be overridden by name and is
 * written into the files of a run. */
#ifndef MW_BEHAVIOR_PRESET_H
#define MW_BEHAVIOR_PRESET_H

#include "core/json.h"

typedef struct mw_learn_preset {
    char task[24];
    char teacher[16];    /* a scripted policy of the task to imitate at first; "": none */
    int hidden;          /* width of both hidden layers of the actor */
    int critic_hidden;   /* the same of the critic, which sees the joint observation */
    int relu;            /* activation: 1 ReLU, 0 SiLU */
    int ids;             /* the actor is told which agent it is */
    int envs, horizon;   /* environments, and steps of each between updates */
    int epochs, batches; /* passes over the collected steps, and minibatches of a pass */
    float rate;          /* of the actor's Adam, falls linearly to a tenth */
    float critic_rate;   /* the same for the critic */
    float gamma, lambda; /* discount, decay of the advantage estimate */
    float clip;          /* of the probability ratio */
    float entropy;       /* weight of the entropy bonus, falls linearly to a tenth */
    int adapt;           /* the actor's rate follows the divergence: down above kl, up below half of it */
    float imitate_rate;  /* of the actor's Adam while it imitates */
    float kl;            /* passes over the data stop above this divergence; 0: never */
    float log_std;       /* initial log deviation of real actions */
    float reward_scale;  /* rewards are multiplied by it before learning */
    float steps;         /* environment steps in all */
    float imitate;       /* environment steps played and explained by the teacher before learning proper */
    int snapshots;       /* policies kept along the way */
} mw_learn_preset;

/* NULL for a task without a row. index: all rows in order. */
const mw_learn_preset *mw_learn_preset_find(const char *task);
const mw_learn_preset *mw_learn_preset_at(int index);

/* "name=value" */
mw_status mw_learn_preset_set(mw_learn_preset *preset, const char *assignment, mw_error *error);
json_t *mw_learn_preset_json(const mw_learn_preset *preset);
mw_status mw_learn_preset_parse(mw_learn_preset *preset, const json_t *object, const char *what,
                                mw_error *error);
mw_status mw_learn_preset_check(const mw_learn_preset *preset, mw_error *error);

#endif
