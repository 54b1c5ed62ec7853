/* Proximal policy optimisation as plain functions: advantages, and the clipped surrogate loss of one row with
 * its gradient, for Gaussian and for masked categorical policies. */
#ifndef MW_BEHAVIOR_LEARN_PPO_H
#define MW_BEHAVIOR_LEARN_PPO_H

#include <stdint.h>

enum { MW_PPO_MOST_ACTIONS = 64 };

/* Generalised advantage estimation over steps x envs. The chain of an environment is cut where done; `after`
 * then holds the value of the state that followed (0 if the episode terminated, its estimate if the limit
 * cut it) and is not read elsewhere. target = advantage + value.
 * advantage, target, reward, done, after: [steps][envs]; value: [steps + 1][envs] */
void mw_gae(float *advantage, float *target, const float *reward, const float *value, const uint8_t *done,
            const float *after, int steps, int envs, float gamma, float lambda);

/* Mean 0, std 1. */
void mw_standardise(float *values, int count);

typedef struct mw_ppo_terms {
    double loss, entropy, kl, clipped; /* sums over rows; loss includes the entropy bonus */
} mw_ppo_terms;

typedef struct mw_ppo_row {
    float old;       /* log probability when the action was drawn */
    float advantage; /* */
    float clip, entropy_bonus;
    float scale; /* of the gradients: 1 / rows of the batch */
} mw_ppo_row;

/* ---- real actions: normal around tanh(out) with stds exp(log_std), before clipping to [-1,1] ---- */
float mw_gaussian_log(const float *out, const float *log_std, const float *act, int d);
/* dout[d] overwritten, dlog_std[d] added to */
void mw_ppo_gaussian(const mw_ppo_row *row, float *dout, float *dlog_std, const float *out,
                     const float *log_std, const float *act, int d, mw_ppo_terms *terms);

/* ---- discrete actions: softmax over the legal ones ---- */
void mw_ppo_categorical(const mw_ppo_row *row, float *dlogits, const float *logits, const uint8_t *legal,
                        int32_t act, int d, mw_ppo_terms *terms);

#endif
