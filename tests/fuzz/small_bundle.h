/* The smallest bundle that plans, for targets that need one in the present format. */
#ifndef MW_TESTS_FUZZ_SMALL_BUNDLE_H
#define MW_TESTS_FUZZ_SMALL_BUNDLE_H

#include "fuzz.h"

#include "plan/bundle.h"

static void add_model(mw_bundle *bundle, const char *name, const char *settings) {
    mw_error error;
    mw_model *model;
    mw_model_config config = {0};
    mw_provenance provenance;
    const mw_model_class *class = mw_model_class_at(mw_model_class_index(name));
    const mw_model_shape shape = mw_bundle_shape(&bundle->info);
    mw_fields_defaults(class->fields, &config);
    FUZZ_EXPECT(mw_fields_assign(class->fields, &config, settings, "", &error) == MW_OK);
    FUZZ_EXPECT(mw_model_make(&model, class, &config, &shape, &error) == MW_OK);
    FUZZ_EXPECT(mw_model_allocate(model, &error) == MW_OK);
    mw_params_init(model->params, model->values, 1);
    mw_provenance_init(&provenance, "data", 0, 0.1, 1);
    FUZZ_EXPECT(mw_bundle_add(bundle, model, &provenance, &error) == MW_OK);
}

static void spread_knots(mw_normalizer *normalizer, int features) {
    mw_error error;
    FUZZ_EXPECT(mw_normalizer_create(normalizer, features, 3, &error) == MW_OK);
    for (int f = 0; f < features; f++) mw_normalizer_fit(normalizer, f, (float[]){-2, -1, 2}, 3, NULL);
}

/* Of a world of its own. */
enum { SMALL_AGENTS = 2, SMALL_OBS = 5, SMALL_ACT = 3 };
static inline mw_bundle_info small_bundle_info(bool discrete) {
    return (mw_bundle_info){.task = "own",
                            .rules = "own",
                            .quality = "own",
                            .method = "own",
                            .agents = SMALL_AGENTS,
                            .obs = SMALL_OBS,
                            .act = SMALL_ACT,
                            .discrete = discrete,
                            .episode_limit = 9};
}

/* What it has besides a flow, an inverse and an RWM. */
typedef struct {
    bool advantage, value; /* with a value plans judge by it after a step */
    bool bare;             /* the inverse only: cannot plan, and loads soon */
} small_bundle_parts;

static void save_small_bundle(const char *path, const mw_bundle_info *info, small_bundle_parts more) {
    mw_error error;
    mw_bundle *bundle;
    mw_plan_settings plan = {0};
    mw_fields_defaults(mw_plan_fields, &plan);
    FUZZ_EXPECT(mw_fields_assign(mw_plan_fields, &plan, "horizon=2 candidates=3 sampling_steps=1 target=0.8",
                                 "", &error) == MW_OK);
    plan.value_after = more.value;
    FUZZ_EXPECT(mw_bundle_create(&bundle, info, &plan, &error) == MW_OK);
    add_model(bundle, "inverse", "hidden=4 layers=1");
    if (!more.bare) {
        add_model(bundle, "flow", "dim=16 mults=1,1,1 context=2 generated=2 forecast=4 return_scale=10");
        add_model(bundle, "rwm",
                  "hidden=4 experts=2 reward_experts=2 reward_features=2 dynamics_features=2 shared=4");
    }
    if (more.advantage) add_model(bundle, "advantage", "hidden=4 features=4");
    if (more.value) add_model(bundle, "value", "hidden=4");
    spread_knots(&bundle->obs_normalizer, info->obs);
    if (!info->discrete) spread_knots(&bundle->act_normalizer, info->act);
    FUZZ_EXPECT(mw_bundle_save(bundle, path, true, &error) == MW_OK);
    mw_bundle_free(bundle);
}

#endif
