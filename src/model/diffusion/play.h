/* Play by denoising: the functions of an mw_policy_class. */
#ifndef MW_MODEL_DIFFUSION_PLAY_H
#define MW_MODEL_DIFFUSION_PLAY_H

#include "model/policy.h"

mw_status mw_diffusion_play_create(mw_policy **policy, const mw_policy_context *context, mw_error *error);
void mw_diffusion_play_begin(mw_policy *policy, int env);
void mw_diffusion_play_reward(mw_policy *policy, int env, float reward);
mw_status mw_diffusion_play_act(mw_policy *policy, const mw_policy_call *call, mw_error *error);
void mw_diffusion_play_destroy(mw_policy *policy);

#define MW_DIFFUSION_PLAY                                                                                    \
    .create = mw_diffusion_play_create, .begin = mw_diffusion_play_begin,                                    \
    .reward = mw_diffusion_play_reward, .act = mw_diffusion_play_act, .destroy = mw_diffusion_play_destroy

#endif
