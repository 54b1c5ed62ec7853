/* The value of joint observations: which places it learns from and what it expects there, that it finds the
 * returns of a small world, and that planning adds it to imagined rewards. */
#include "model/at_work.h"
#include "model/state_value.h"
#include "model/td.h"
#include "plan/planner.h"
#include "random_bundle.h"

static mw_model *model_of(const char *settings) {
    mw_error error;
    mw_model *model;
    mw_model_config config = {0};
    const mw_model_shape shape = {1, 1, 1, false};
    mw_fields_defaults(mw_state_value_class.fields, &config);
    CHECK_OK(mw_fields_assign(mw_state_value_class.fields, &config, settings, "", &error), error);
    CHECK_OK(mw_model_make(&model, &mw_state_value_class, &config, &shape, &error), error);
    return model;
}

enum { STEPS = 5 };

/* An episode of three steps that the world ended, and one of two that the limit cut. */
static float obs[STEPS] = {0, 1, 2, 3, 4}, last_obs[2] = {5, 6}, acts[STEPS],
             rewards[STEPS] = {1, 2, 4, 8, 16};
static int64_t lengths[2] = {3, 2}, offsets[3] = {0, 3, 5};
static uint8_t outcomes[2] = {MW_ENDED_BY_WORLD, MW_ENDED_BY_LIMIT};
static long episodes[2] = {0, 1};
static mw_moments moments = {.mean = 0, .std = 1, .scale = 1};

static mw_training_data data_of(mw_dataset *dataset) {
    *dataset = (mw_dataset){.spec = {.agents = 1, .obs_size = 1, .act_size = 1},
                            .episodes = 2,
                            .steps = STEPS,
                            .obs = obs,
                            .last_obs = last_obs,
                            .real = acts,
                            .rewards = rewards,
                            .outcomes = outcomes,
                            .lengths = lengths,
                            .offsets = offsets};
    return (mw_training_data){.dataset = dataset,
                              .split.train = {.count = 2, .episodes = episodes},
                              .stats = {.obs_size = 1, .act_size = 1, .obs = &moments, .to_go = moments}};
}

/* Two steps ahead, discount 0.5. Where the world has ended there is nothing more, not even at the end itself;
 * where the limit cut, what was seen last stands for the rest. */
static void targets(void **state) {
    (void)state;
    static const struct {
        float sum, discount, next;
    } expected[] = {{1 + 0.5f * 2, 0.25f, 2},  {2 + 0.5f * 4, 0, 0}, {4, 0, 0},
                    {8 + 0.5f * 16, 0.25f, 6}, {16, 0.5f, 6},        {0, 0, 0}};
    enum { BATCH = 128 };
    mw_error error;
    mw_dataset dataset;
    const mw_training_data data = data_of(&dataset);
    mw_model *model = model_of("hidden=4 lookahead=2 discount=0.5 batch=128");
    mw_training_part *part;
    CHECK_OK(mw_model_train(&part, model, &data, &error), error);
    const mw_fit *fit = (const mw_fit *)part;
    const mw_td_batch *b = fit->slots[0];
    int seen[STEPS + 2] = {0};
    fit->kind->fill(fit, fit->slots[0], 0, false);
    for (int row = 0; row < BATCH; row++) { /* standardised values are cut at 4: an episode's end looks like
                                               step 4 */
        const bool end = b->x[row] == 4 && b->sum[row] == 0;
        const int at = end ? 5 : (int)b->x[row];
        seen[at]++;
        assert_true(b->sum[row] == expected[at].sum && b->discount[row] == expected[at].discount);
        assert_true(b->next[row] == (expected[at].next > 4 ? 4 : expected[at].next));
    }
    for (int at = 0; at <= 5; at++) assert_true(seen[at] > 0);
    mw_training_part_free(part);
    mw_model_free(model);
}

/* By steps of one the value of a state is found from those that follow. */
static void learns(void **state) {
    (void)state;
    static const float expected[] = {1 + 0.5f * (2 + 0.5f * 4), 2 + 0.5f * 4, 4};
    mw_error error;
    mw_dataset dataset;
    mw_training_data data = data_of(&dataset);
    CHECK_OK(mw_pool_create(&data.pool, 1, &error), error);
    mw_model *model =
        model_of("hidden=32 lookahead=1 discount=0.5 batch=32 steps=1500 target=0.98 rate=0.003");
    mw_training_part *part;
    data.split.train.count = 1;
    CHECK_OK(mw_model_train(&part, model, &data, &error), error);
    CHECK_OK(part->start(part, &error), error);
    double losses[MW_PART_LOSSES];
    for (; part->step < part->steps; part->step++) CHECK_OK(part->advance(part, losses, &error), error);
    CHECK_OK(mw_model_allocate(model, &error), error);
    memcpy(model->values, mw_training_part_weights(part), part->total * sizeof *model->values);
    mw_model_pack(model);
    mw_state_value *value;
    CHECK_OK(mw_state_value_create(&value, model, &error), error);
    float scores[3] = {0};
    mw_state_value_add(value, scores, 1, obs, 1, 3);
    for (int i = 0; i < 3; i++) CHECK_NEAR(scores[i], expected[i], 0.15);
    assert_true(mw_state_value_discount(model, 3) == 0.125f);
    mw_state_value_free(value);
    mw_training_part_free(part);
    mw_model_free(model);
    mw_pool_free(data.pool);
}

/* Scores are what is imagined over the first steps and the discounted value of where they lead. */
static void plans(void **state) {
    (void)state;
    enum { N = 2, O = 6, D = 2, M = 8, AFTER = 2 };
    mw_error error;
    const mw_bundle_info info = {.task = "test", .agents = N, .obs = O, .act = D, .episode_limit = 10};
    mw_bundle *bundle = random_bundle(info, 3);
    add_random_model(bundle, "value", "hidden=16 discount=0.9", 8);
    repack(bundle);
    mw_planner_options options;
    mw_planner *planner, *rewards_only;
    const float now[N * O] = {0.3f, -0.2f, 0.5f};
    float real[N * D], with[M];
    mw_planner_options_init(&options, sizeof options, bundle);
    options.plan.warm_start = false;
    options.plan.value_after = AFTER;
    options.imagine = true;
    CHECK_OK(mw_planner_create(&planner, bundle, &options, &error), error);
    CHECK_OK(mw_planner_act(planner, now, NULL, NULL, real, NULL, &error), error);
    const mw_candidates seen = mw_planner_candidates(planner, 0);
    memcpy(with, seen.scores, sizeof with);
    assert_int_equal(seen.horizon, 4); /* pictures show all of it */

    mw_planner_options short_options = options; /* the same first steps, whose last lies in `imagined` */
    short_options.plan.value_after = 0;
    short_options.plan.horizon = AFTER;
    CHECK_OK(mw_planner_create(&rewards_only, bundle, &short_options, &error), error);
    CHECK_OK(mw_planner_act(rewards_only, now, NULL, NULL, real, NULL, &error), error);
    const mw_candidates first = mw_planner_candidates(rewards_only, 0);
    float expected[M];
    memcpy(expected, first.scores, sizeof expected);
    mw_state_value *value;
    const mw_model *model = mw_bundle_model(bundle, "value");
    CHECK_OK(mw_state_value_create(&value, model, &error), error);
    mw_state_value_add(value, expected, mw_state_value_discount(model, AFTER),
                       first.imagined + (AFTER - 1) * N * O, AFTER * N * O, M);
    assert_memory_equal(with, expected, sizeof with);
    for (int m = 0; m < M; m++) /* what is shown is the same path */
        assert_memory_equal(seen.imagined + m * 4 * N * O, first.imagined + m * AFTER * N * O,
                            AFTER * N * O * sizeof(float));
    mw_state_value_free(value);
    mw_planner_free(planner);
    mw_planner_free(rewards_only);

    options.plan.value_after = 5;
    CHECK_FAILS(mw_planner_create(&planner, bundle, &options, &error), MW_ERR_ARGUMENT, error, "value_after");
    mw_bundle_free(bundle);
    bundle = random_bundle(info, 3);
    repack(bundle);
    options.plan.value_after = 1;
    CHECK_FAILS(mw_planner_create(&planner, bundle, &options, &error), MW_ERR_ARGUMENT, error, "has none");
    mw_bundle_free(bundle);
}

/* In a mixture the value counts as the imagined rewards do, in whose place it stands. */
static void mixes(void **state) {
    (void)state;
    enum { N = 2, O = 6, D = 2, M = 8 };
    static const char *const names[] = {"rwm", "q", "q_mixture"};
    mw_error error;
    const mw_bundle_info info = {.task = "test", .agents = N, .obs = O, .act = D, .episode_limit = 10};
    mw_bundle *bundle = random_bundle(info, 3);
    add_random_model(bundle, "value", "hidden=16 discount=0.9", 8);
    add_random_model(bundle, "q", "hidden=8", 8);
    repack(bundle);
    const float now[N * O] = {0.3f, -0.2f, 0.5f};
    float real[N * D], scores[3][M];
    for (int k = 0; k < 3; k++) {
        mw_planner_options options;
        mw_planner *planner;
        mw_planner_options_init(&options, sizeof options, bundle);
        options.plan.warm_start = false;
        options.plan.value_after = k == 1 ? 0 : 2; /* Q imagines nothing that could be valued */
        options.plan.advantage_share = 0.75;
        strcpy(options.plan.scorer, names[k]);
        CHECK_OK(mw_planner_create(&planner, bundle, &options, &error), error);
        CHECK_OK(mw_planner_act(planner, now, NULL, NULL, real, NULL, &error), error);
        memcpy(scores[k], mw_planner_candidates(planner, 0).scores, sizeof scores[k]);
        mw_planner_free(planner);
    }
    for (int m = 0; m < M; m++)
        CHECK_NEAR(scores[2][m], 0.25 * (double)scores[0][m] + 0.75 * (double)scores[1][m], 1e-5);
    add_random_model(bundle, "direct", "hidden=8 horizon=4", 8);
    repack(bundle);
    for (int k = 0; k < 2; k++) {
        mw_planner_options options;
        mw_planner *planner;
        mw_planner_options_init(&options, sizeof options, bundle);
        options.plan.value_after = 2;
        strcpy(options.plan.scorer, k ? "direct" : "q");
        CHECK_FAILS(mw_planner_create(&planner, bundle, &options, &error), MW_ERR_ARGUMENT, error,
                    "a scorer that imagines");
    }
    mw_bundle_free(bundle);
}

static void at_work(void **state) {
    (void)state;
    static const char *const settings[] = {"value.steps=20", "value.hidden=16", "value.batch=32", NULL};
    at_work_bundle();
    at_work_resume("value", settings);
    program_expect(1, /* which would be a bundle that cannot plan */
                   "train %/spread -o %/c.safetensors --only rwm --with %/a.safetensors "
                   "--set plan.value_after=1",
                   "the value is not among the parts");
    program_expect(0,
                   "train %/spread -o %/b.safetensors --only value --with %/a.safetensors "
                   "--set value.steps=20 --set value.hidden=16 --set plan.value_after=2",
                   "written after");
    program_expect(0,
                   "eval %/b.safetensors --arms reactive,plan,paper,oracle --seeds 1 --episodes 2 --timed 0",
                   "value_after=2");
    program_expect(1, "eval %/a.safetensors --arms plan --seeds 1 --episodes 1 --timed 0 --value_after 1",
                   "value_after needs a value, and this bundle has none");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(targets), cmocka_unit_test(learns),
                                       cmocka_unit_test(plans), cmocka_unit_test(mixes),
                                       cmocka_unit_test(at_work)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
