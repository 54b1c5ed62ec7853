/* A bundle with random weights and simple normalisers, for tests of everything that uses one. */
#ifndef MW_TESTS_RANDOM_BUNDLE_H
#define MW_TESTS_RANDOM_BUNDLE_H

#include "check.h"
#include "core/rng.h"
#include "plan/bundle.h"

static void spread_knots(mw_normalizer *normalizer, int features, float low, float high) {
    mw_error error;
    CHECK_OK(mw_normalizer_create(normalizer, features, 9, &error), error);
    for (int f = 0; f < features; f++) {
        float values[9];
        for (int k = 0; k < 9; k++) values[k] = low + (high - low) * (float)k / 8;
        mw_normalizer_fit(normalizer, f, values, 9, NULL);
    }
}

/* info.task, sizes and kind of actions are the caller's; the rest gets small usable values. */
static mw_bundle *random_bundle(mw_bundle_info info, uint64_t seed) {
    mw_error error;
    mw_bundle *bundle;
    mw_policy_config policy = {.dim = 16,
                               .mults = {1, 1, 2},
                               .time = 8,
                               .context = 3,
                               .bins = 5,
                               .project = true,
                               .changes = !info.discrete,
                               .forecast = info.discrete ? 0 : 8};
    const mw_inverse_config inverse = {.ids = !info.discrete, .hidden = 16, .layers = 2};
    mw_world_config world = mw_world_config_default();
    world.hidden = 16;
    world.experts = 3;
    world.reward_features = 4;
    if (!info.quality[0]) snprintf(info.quality, sizeof info.quality, "test");
    info.horizon = 4;
    info.steps = 3;
    info.guidance = 1.2f;
    info.explore = 0.1f;
    info.carry = true;
    info.target = 0.8f;
    info.return_scale = 10;
    info.discount = 0.99f;
    CHECK_OK(mw_bundle_create(&bundle, &info, &policy, &inverse, &world, &error), error);
    mw_params_init(&bundle->policy.params, bundle->policy_values, seed);
    mw_params_init(&bundle->inverse.params, bundle->inverse_values, seed + 1);
    mw_params_init(&bundle->world.params, bundle->world_values, seed + 2);
    spread_knots(&bundle->obs_normalizer, info.obs, -2, 2);
    if (!info.discrete) spread_knots(&bundle->act_normalizer, info.act, -1, 1);
    mw_bundle_pack(bundle);
    return bundle;
}

#endif
