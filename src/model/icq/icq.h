/* MA-ICQ: cloning weighted by advantages, and critics that hear of recorded actions alone. What its learners
 * of real and of discrete actions share. */
#ifndef MW_MODEL_ICQ_ICQ_H
#define MW_MODEL_ICQ_ICQ_H

#include "data/transition.h"
#include "model/actor.h"
#include "model/fit.h"

typedef struct mw_icq_settings {
    int hidden, mixer_hidden, group;
    double discount, slow, temperature, target_temperature, target_beta, target_alpha;
    bool target_cut;
    mw_fit_settings fit;
} mw_icq_settings;

/* mw_model.net */
typedef struct mw_icq_net {
    mw_params params;
    mw_mlp policy, critic, mixer; /* the last for discrete actions alone */
    size_t log_std;               /* [d], for real ones alone: the policy's deviations before they are bent */
    mw_view view;                 /* of the policy: its own observation */
    int inputs; /* of the critic: those of the view, then real: d, discrete: all observations */
} mw_icq_net;

enum { MW_ICQ_POLICY, MW_ICQ_CRITIC };

/* Losses that are reported. */
enum { MW_ICQ_CRITIC_LOSS, MW_ICQ_POLICY_LOSS, MW_ICQ_Q, MW_ICQ_EFFECTIVE, MW_ICQ_LOSSES };

const mw_icq_settings *mw_icq_settings_of(const mw_model *model);
const mw_icq_net *mw_icq_net_of(const mw_model *model);

extern const mw_fit_class mw_icq_real_fit, mw_icq_discrete_fit;

typedef struct mw_icq_training {
    mw_episode_set steps;
    float *units; /* [total]: the weights that are not trained, the rest is not read */
    mw_arena arena;
} mw_icq_training;

mw_status mw_icq_open(mw_fit *fit, mw_error *error);
void mw_icq_close(mw_fit *fit);
void mw_icq_initialise(mw_fit *fit, float *values);
void mw_icq_pack_group(const mw_model *model, int group, const float *values, float *packed, bool backward);
mw_place mw_icq_draw(const mw_fit *fit, uint64_t step, size_t row);

/* Values of a batch, `stride` apart. Where `end` says that nothing follows they do not count; it has one
 * value for `each` of them. NULL: all count. */
typedef struct mw_icq_values {
    const float *x;
    size_t count, stride;
    const float *end;
    size_t each;
} mw_icq_values;

/* How many of them count. */
size_t mw_icq_counted(const mw_icq_values *values);
/* weight[count], as far apart: softmax of x / temperature times how many count; 0 where one does not. Returns
 * the effective sample size. */
double mw_icq_weigh(const mw_icq_values *values, double temperature, float *weight);
/* The standard deviation, at least 1e-6. */
double mw_icq_deviation(const mw_icq_values *values);

#endif
