/* Behaviour cloning: gradients against differences of the loss, that it learns what was done and draws
 * nothing illegal, and at work as an arm. */
#include "model/at_work.h"
#include "model/fit.h"

enum { N = 2, O = 3, D = 3, STEPS = 40 };

static float obs[STEPS * N * O], acts[STEPS * N * D], rewards[STEPS * N];
static int32_t choices[STEPS * N];
static uint8_t legal[STEPS * N * D], outcomes[2] = {MW_ENDED_BY_WORLD, MW_ENDED_BY_LIMIT};
static int64_t lengths[2] = {STEPS / 2, STEPS / 2}, offsets[3] = {0, STEPS / 2, STEPS};
static long episodes[2] = {0, 1};
static mw_moments moments[O] = {{.std = 1, .scale = 1}, {.std = 1, .scale = 1}, {.std = 1, .scale = 1}};

/* Agent 0 does what its first observation says, agent 1 the opposite; one discrete action is never legal. */
static mw_training_data data_of(mw_dataset *dataset, bool discrete) {
    mw_rng rng = mw_rng_make(4, MW_RNG_TEST, 0, 0, 0);
    mw_rng_fill_normal(&rng, obs, STEPS * N * O);
    for (int i = 0; i < STEPS * N; i++) {
        const float way = (i % N ? -1 : 1) * (obs[i * O] > 0 ? 0.6f : -0.6f);
        for (int k = 0; k < D; k++) acts[i * D + k] = k ? 0.2f : way;
        for (int k = 0; k < D; k++) legal[i * D + k] = k != 1;
        choices[i] = way > 0 ? 2 : 0;
    }
    *dataset = (mw_dataset){.spec = {.agents = N, .obs_size = O, .act_size = D},
                            .episodes = 2,
                            .steps = STEPS,
                            .obs = obs,
                            .real = discrete ? NULL : acts,
                            .index = discrete ? choices : NULL,
                            .legal = discrete ? legal : NULL,
                            .rewards = rewards,
                            .outcomes = outcomes,
                            .lengths = lengths,
                            .offsets = offsets};
    return (mw_training_data){.dataset = dataset,
                              .split.train = {.count = 2, .episodes = episodes},
                              .stats = {.obs_size = O, .act_size = D, .obs = moments}};
}

extern const mw_model_class mw_bc_class;

static mw_model *model_of(bool discrete, const char *settings) {
    mw_error error;
    mw_model *model;
    mw_model_config config = {0};
    const mw_model_shape shape = {N, O, D, discrete};
    mw_fields_defaults(mw_bc_class.fields, &config);
    CHECK_OK(mw_fields_assign(mw_bc_class.fields, &config, settings, "", &error), error);
    CHECK_OK(mw_model_make(&model, &mw_bc_class, &config, &shape, &error), error);
    return model;
}

static double objective(void *context) {
    mw_fit *fit = context;
    double losses[MW_LOSSES];
    mw_fit_run(fit, fit->slots[0], MW_STEP_GRADIENT, losses);
    return losses[0];
}

static void gradients(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        mw_error error;
        mw_dataset dataset;
        mw_training_data data = data_of(&dataset, k % 2);
        CHECK_OK(mw_pool_create(&data.pool, 2, &error), error);
        mw_model *model = model_of(k % 2, k < 2 ? "hidden=24 batch=13" : "hidden=24 batch=13 joint=on");
        mw_training_part *part;
        CHECK_OK(mw_model_train(&part, model, &data, &error), error);
        mw_fit *fit = (mw_fit *)part;
        mw_fit_fill(fit, fit->slots[0], 0, false);
        objective(fit);
        const size_t total = part->total;
        float *grads = malloc(total * sizeof *grads);
        memcpy(grads, part->optimizer->grads, total * sizeof *grads);
        int seen = 0, off = 0;
        float largest = 0;
        for (size_t i = 0; i < total; i++) largest = fmaxf(largest, fabsf(grads[i]));
        for (size_t i = 0; i < total; i++) {
            float *value = part->optimizer->values + i;
            const float kept = *value, up = kept + 5e-4f, down = kept - 5e-4f;
            *value = up;
            const double above = objective(fit);
            *value = down;
            const double below = objective(fit);
            *value = kept;
            seen += grads[i] != 0;
            off += fabs((above - below) / ((double)up - (double)down) - (double)grads[i]) >
                   1e-3 * (double)largest;
        }
        assert_true(seen > 400 && off < 0.02 * seen); /* a difference may span the bend of a ReLU */
        free(grads);
        mw_training_part_free(part);
        mw_model_free(model);
        mw_pool_free(data.pool);
    }
}

/* The recorded actions come back, for each agent its own, and what is illegal never does. */
static void learns(void **state) {
    (void)state;
    for (int discrete = 0; discrete < 2; discrete++) {
        mw_error error;
        mw_dataset dataset;
        mw_training_data data = data_of(&dataset, discrete);
        CHECK_OK(mw_pool_create(&data.pool, 1, &error), error);
        mw_model *model = model_of(discrete, "hidden=32 batch=20 steps=1200 rate=0.003 warmup=10");
        mw_training_part *part;
        CHECK_OK(mw_model_train(&part, model, &data, &error), error);
        CHECK_OK(part->start(part, &error), error);
        double losses[MW_LOSSES];
        for (; part->step < part->steps; part->step++) CHECK_OK(part->advance(part, losses, &error), error);
        CHECK_OK(mw_model_allocate(model, &error), error);
        memcpy(model->values, mw_training_part_weights(part), part->total * sizeof *model->values);
        mw_model_pack(model);
        mw_policy *policy;
        const mw_policy_context context = {.model = model, .envs = STEPS};
        CHECK_OK(mw_bc_class.policy->create(&policy, &context, &error), error);
        static float real[STEPS * N * D];
        static int32_t index[STEPS * N];
        static uint64_t episode[STEPS], step[STEPS];
        static uint8_t active[STEPS];
        for (int e = 0; e < STEPS; e++) active[e] = e != 3;
        for (int e = 0; e < STEPS; e++) episode[e] = (uint64_t)e;
        for (int i = 0; i < N; i++) index[3 * N + i] = -7;
        const mw_policy_call call = {obs,
                                     discrete ? legal : NULL,
                                     active,
                                     episode,
                                     step,
                                     discrete ? NULL : real,
                                     discrete ? index : NULL};
        CHECK_OK(policy->kind->act(policy, &call, &error), error);
        int same = 0;
        for (int i = 0; i < STEPS * N; i++) {
            if (i / N == 3) continue;
            if (discrete) assert_true(index[i] == 0 || index[i] == 2);
            same += discrete ? index[i] == choices[i] : fabsf(real[i * D] - acts[i * D]) < 0.2f;
        }
        assert_true(same > 0.85 * N * (STEPS - 1));
        assert_int_equal(index[3 * N], -7); /* who is not active is left alone */
        mw_policy_free(policy);
        mw_training_part_free(part);
        mw_model_free(model);
        mw_pool_free(data.pool);
    }
}

static void at_work(void **state) {
    (void)state;
    static const char *const settings[] = {"bc.steps=20", "bc.hidden=16", "bc.batch=32", NULL};
    at_work_bundle();
    program_expect(0,
                   "train %/spread -o %/b.safetensors --only bc --with %/a.safetensors --set bc.steps=20 "
                   "--set bc.hidden=16",
                   "written after");
    program_expect(0, "eval %/b.safetensors --arms reactive,bc --seeds 1 --episodes 2 --timed 2", "bc ");
    program_expect(1, "eval %/a.safetensors --arms bc --seeds 1 --episodes 1 --timed 0",
                   "nobody who plays as 'bc'");
    program_expect(0, "eval --help", "behaviour cloning");
    at_work_resume("bc", settings);

    /* a bundle of it alone has nothing to plan with, and is played as what it is */
#define ALONE "train %/spread -o %/alone.safetensors --set parts=bc --set bc.steps=20 --set bc.hidden=16"
    program_expect(0, ALONE, "written after");
    program_expect(0, "eval %/alone.safetensors --seeds 1 --episodes 2 --timed 0", "\nbc ");
    assert_null(strstr(program_output, "\nreactive "));
    program_expect(0, ALONE " --resume", "is finished already");
    program_expect(1, "eval %/alone.safetensors --arms plan --seeds 1 --episodes 2 --timed 0",
                   "no flow to draw candidates with");

    /* and a study that settles the same preset finds it as it should be */
    mw_error error;
    mw_dataset data;
    mw_bundle *alone;
    mw_preset preset = mw_preset_of("spread", MW_BUDGET_FULL);
    CHECK_OK(mw_preset_set(&preset, "parts=bc", &error), error);
    CHECK_OK(mw_dataset_open(&data, scratch("spread"), &error), error);
    CHECK_OK(mw_training_settle(&preset, &data, 0, &error), error);
    mw_dataset_close(&data);
    CHECK_OK(mw_bundle_load(&alone, scratch("alone.safetensors"), &error), error);
    assert_null(mw_training_plan_difference(&preset.plan, alone));
    mw_bundle_free(alone);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients), cmocka_unit_test(learns),
                                       cmocka_unit_test(at_work)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
