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

/* Adds a model of this class with its defaults, changed by `settings`, and random weights. */
static inline void add_random_model(mw_bundle *bundle, const char *name, const char *settings,
                                    uint64_t seed) {
    mw_error error;
    mw_model *model;
    mw_model_config config = {0};
    mw_provenance provenance;
    const mw_model_class *class = mw_model_class_at(mw_model_class_index(name));
    const mw_model_shape shape = mw_bundle_shape(&bundle->info);
    mw_fields_defaults(class->fields, &config);
    CHECK_OK(mw_fields_assign(class->fields, &config, settings, "", &error), error);
    CHECK_OK(mw_model_make(&model, class, &config, &shape, &error), error);
    CHECK_OK(mw_model_allocate(model, &error), error);
    mw_params_init(model->params, model->values, seed);
    mw_provenance_init(&provenance, "test", 0, 0.1, 1);
    CHECK_OK(mw_bundle_add(bundle, model, &provenance, &error), error);
}

/* After weights were changed by hand. */
static inline float *model_values(mw_bundle *bundle, const char *name) {
    return mw_bundle_find(bundle, name)->model->values;
}
static inline void repack(mw_bundle *bundle) {
    for (int i = 0; i < bundle->count; i++) mw_model_pack(bundle->parts[i].model);
}

/* info.task, sizes and kind of actions are the caller's; the rest gets small usable values. */
static mw_bundle *random_bundle(mw_bundle_info info, uint64_t seed) {
    mw_error error;
    mw_bundle *bundle;
    mw_plan_settings plan = {0};
    mw_fields_defaults(mw_plan_fields, &plan);
    CHECK_OK(mw_fields_assign(mw_plan_fields, &plan, "horizon=4 target=0.8", "", &error), error);
    if (!info.discrete)
        CHECK_OK(mw_fields_assign(mw_plan_fields, &plan, "action_offset=0.1 warm_start=on", "", &error),
                 error);
    if (!info.quality[0]) snprintf(info.quality, sizeof info.quality, "test");
    if (!info.method[0]) snprintf(info.method, sizeof info.method, "test");
    CHECK_OK(mw_bundle_create(&bundle, &info, &plan, &error), error);
    add_random_model(bundle, "flow",
                     info.discrete
                         ? "dim=16 mults=1,1,2 context=3 generated=5 residual=off return_scale=10"
                         : "dim=16 mults=1,1,2 context=3 generated=5 forecast=8 scale=1 return_scale=10",
                     seed);
    add_random_model(bundle, "inverse", info.discrete ? "hidden=16 layers=2 ids=off" : "hidden=16 layers=2",
                     seed + 1);
    add_random_model(bundle, "rwm", "hidden=16 experts=3 reward_features=4", seed + 2);
    spread_knots(&bundle->obs_normalizer, info.obs, -2, 2);
    if (!info.discrete) spread_knots(&bundle->act_normalizer, info.act, -1, 1);
    return bundle;
}

#endif
