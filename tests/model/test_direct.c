/* The direct return predictor: its sizes, and at work from training to ranking. Its numbers are held against
 * recorded ones in test_verify_net.c. */
#include "model/at_work.h"
#include "model/direct.h"

static mw_model *model_of(int agents, int obs, int act, int horizon, const char *hidden) {
    mw_error error;
    mw_model *model;
    mw_model_config config = {0};
    const mw_model_shape shape = {agents, obs, act, false};
    mw_fields_defaults(mw_direct_class.fields, &config);
    char text[32];
    snprintf(text, sizeof text, "horizon=%d", horizon);
    CHECK_OK(mw_fields_assign(mw_direct_class.fields, &config, text, "", &error), error);
    CHECK_OK(mw_fields_assign(mw_direct_class.fields, &config, hidden, "", &error), error);
    CHECK_OK(mw_model_make(&model, &mw_direct_class, &config, &shape, &error), error);
    return model;
}

/* The paper's sizes; mean and std are not counted there. */
static void sizes(void **state) {
    (void)state;
    static const struct {
        int n, o, d, h;
        size_t count;
    } cases[] = {{3, 18, 2, 8, 581837}, {3, 24, 2, 8, 591089},   {2, 56, 4, 8, 619873}, {4, 37, 2, 8, 638377},
                 {3, 33, 9, 3, 621929}, {8, 88, 14, 3, 1063969}, {5, 85, 11, 8, 974019}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mw_model *model = model_of(cases[i].n, cases[i].o, cases[i].d, cases[i].h, "hidden=512");
        assert_int_equal(mw_params_scalars(model->params) - 2, cases[i].count);
        mw_model_free(model);
    }
}

static void at_work(void **state) {
    (void)state;
    at_work_bundle();
    at_work_run("direct", "--set direct.steps=60 --set direct.hidden=32 --set direct.rate=0.003",
                "predicted at once by an MLP");
    mw_error error;
    mw_bundle *bundle;
    CHECK_OK(mw_bundle_load(&bundle, scratch("b.safetensors"), &error), error);
    const json_t *held = json_object_get(
        json_object_get(mw_bundle_find(bundle, "direct")->provenance.details, "held"), "return");
    printf("  held-out share of the returns' variance: %.3f\n", json_number_value(held));
    assert_true(json_number_value(held) < 1);
    mw_scorer *scorer;
    const mw_scorer_context context = {
        .model = mw_bundle_model(bundle, "direct"), .max_rows = 1, .horizon = bundle->plan.horizon + 1};
    CHECK_FAILS(mw_direct_class.scorer->create(&scorer, &context, &error), MW_ERR_ARGUMENT, error,
                "steps, not");
    mw_bundle_free(bundle);
    static const char *const settings[] = {"direct.steps=20", "direct.hidden=16", "direct.batch=32", NULL};
    at_work_resume("direct", settings);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sizes), cmocka_unit_test(at_work)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
