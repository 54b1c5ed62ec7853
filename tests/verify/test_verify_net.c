/* Recorded numbers of a PyTorch model of both networks, of the normaliser and of the metrics, and of a twin
 * of the world model's default variant (tests/twin): the engine reproduces them. Spoiled recordings are
 * noticed. */
#include "check.h"
#include "core/tensor/safetensors.h"
#include "scratch.h"
#include "verify/record.h"

typedef struct {
    char failed[4096];
} lines;

static void collect(void *context, const char *check, double error, double tolerance, bool ok) {
    lines *l = context;
    const size_t used = strlen(l->failed);
    if (!ok)
        snprintf(l->failed + used, sizeof l->failed - used, "\n  %s: error %.3g, tolerance %.3g", check,
                 error, tolerance);
}

static void recorded_numbers(void **state) {
    (void)state;
    lines seen = {""};
    mw_verify report = {.line = collect, .context = &seen};
    mw_error error = {0};
    CHECK_OK(mw_verify_net(TEST_DATA "/net", &report, &error), error);
    if (report.failed) fail_msg("%d of %d checks:%s", report.failed, report.checks, seen.failed);
    assert_int_equal(report.checks, 27); /* none was skipped */
}

/* The other selectors, of small sizes. */
static void recorded_selectors(void **state) {
    (void)state;
    lines seen = {""};
    mw_verify report = {.line = collect, .context = &seen};
    mw_error error = {0};
    CHECK_OK(mw_verify_net(TEST_DATA "/selectors", &report, &error), error);
    if (report.failed) fail_msg("%d of %d checks:%s", report.failed, report.checks, seen.failed);
    assert_int_equal(report.checks, 81);
}

/* Copies a recording to task/FILE tensor by tensor: the value of one of them, or of the metadata, is changed.
 * NULL: nothing is. */
static void copy_changed(const char *from, const char *to, const char *tensor, size_t at, float by,
                         const char *key, const char *value) {
    mw_safetensors file;
    mw_error error = {0};
    float *changed = NULL;
    bool there = false;
    CHECK_OK(mw_safetensors_open(&file, from, &error), error);
    mw_tensor *tensors = calloc(file.tensor_count, sizeof *tensors);
    mw_meta *metadata = calloc(file.metadata_count + 1, sizeof *metadata);
    memcpy(tensors, file.tensors, file.tensor_count * sizeof *tensors);
    memcpy(metadata, file.metadata, file.metadata_count * sizeof *metadata);
    for (size_t i = 0; tensor && i < file.tensor_count; i++) {
        if (strcmp(tensors[i].name, tensor)) continue;
        changed = malloc(tensors[i].count * sizeof *changed);
        memcpy(changed, tensors[i].data, tensors[i].count * sizeof *changed);
        changed[at] += by;
        tensors[i].data = changed;
    }
    for (size_t i = 0; key && i < file.metadata_count; i++) {
        if (strcmp(metadata[i].key, key)) continue;
        metadata[i].value = value;
        there = true;
    }
    if (key && !there) metadata[file.metadata_count] = (mw_meta){key, value};
    mkdir(scratch("task"), 0777);
    CHECK_OK(mw_safetensors_write(to, tensors, file.tensor_count, metadata,
                                  file.metadata_count + (key && !there), &error),
             error);
    free(changed);
    free(metadata);
    free(tensors);
    mw_safetensors_close(&file);
}

/* Steps whose rewards are off but add up to the same, the norm before clipping, and the kinds of what is
 * recorded. */
static void spoiled_selectors_fail(void **state) {
    (void)state;
    static const struct {
        const char *file, *tensor, *key, *value, *failed; /* failed NULL: refused */
    } cases[] = {
        {"mono", "out.step_rewards", NULL, NULL, "sums of the steps' rewards"},
        {"mono", NULL, "grad_norm", "0.125", "norm of the gradients"},
        {"q", NULL, "grad_norm", "0.125", "norm of the gradients"},
        {"q", "out.q", NULL, NULL, "value"},
        {"direct", NULL, "kind", "mono", NULL},
        {"direct", NULL, "grad_norm", "much", NULL},
        {"direct", NULL, "lr", "quick", NULL},
        {"q", NULL, "gamma", "near", NULL},
        {"mono", NULL, "layers_dynamics", "4", NULL},
        {"independent", NULL, "layers_reward", "3", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char from[256], to[256];
        lines seen = {""};
        mw_verify report = {.line = collect, .context = &seen};
        mw_error error = {0};
        snprintf(from, sizeof from, TEST_DATA "/selectors/two/%s.safetensors", cases[i].file);
        snprintf(to, sizeof to, "%s/%s.safetensors", scratch("task"), cases[i].file);
        copy_changed(from, to, cases[i].tensor, 0, 0.01f, cases[i].key, cases[i].value);
        const mw_status status = mw_verify_net(scratch_folder, &report, &error);
        remove(to);
        if (!cases[i].failed) {
            assert_int_not_equal(status, MW_OK);
            if (!strstr(error.message, cases[i].value)) fail_msg("case %zu: %s", i, error.message);
            continue;
        }
        CHECK_OK(status, error);
        if (report.failed != 1 || !strstr(seen.failed, cases[i].failed))
            fail_msg("case %zu: failed checks are '%s'", i, seen.failed);
    }
}

/* A network of another structure or a normaliser of another kind is not compared with ours. */
static void other_structures_are_refused(void **state) {
    (void)state;
    mw_verify report = {0};
    mw_error error = {0};
    copy_changed(TEST_DATA "/net/spread/policy.safetensors", scratch("task/policy.safetensors"), NULL, 0, 0,
                 "heads", "8");
    CHECK_FAILS(mw_verify_net(scratch_folder, &report, &error), MW_ERR_FORMAT, error, "heads");
    remove(scratch("task/policy.safetensors"));
    copy_changed(TEST_DATA "/net/normalizer.safetensors", scratch("normalizer.safetensors"), NULL, 0, 0,
                 "kind", "gaussian");
    CHECK_FAILS(mw_verify_net(scratch_folder, &report, &error), MW_ERR_MISMATCH, error, "gaussian");
    remove(scratch("normalizer.safetensors"));
    rmdir(scratch("task"));
}

/* Sizes that a file claims are held against what it has before gigabytes are taken for them. */
static void large_claims_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *from, *file, *key, *value, *tensor;
    } cases[] = {
        {"net/spread", "policy", "dim", "512", "weight.time_mlp.0.weight"},
        {"net/spread", "policy", "agents", "32", "in.trajectory"},
        {"net/3m", "world", "hidden", "4096", "weight.dynamics.experts.0.0.weight"},
        {"net/3m", "world", "agents", "64", "in.obs"},
        {"selectors/two", "independent", "agents", "64", "in.obs"},
        {"selectors/two", "independent", "candidates", "64", "in.score_acts"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char from[256], to[256];
        mw_verify report = {0};
        mw_error error = {0};
        snprintf(from, sizeof from, TEST_DATA "/%s/%s.safetensors", cases[i].from, cases[i].file);
        snprintf(to, sizeof to, "%s/%s.safetensors", scratch("task"), cases[i].file);
        copy_changed(from, to, NULL, 0, 0, cases[i].key, cases[i].value);
        CHECK_FAILS(mw_verify_net(scratch_folder, &report, &error), MW_ERR_FORMAT, error,
                    "is of another size; expected");
        assert_non_null(strstr(error.message, cases[i].tensor));
        remove(to);
    }
    rmdir(scratch("task"));
}

/* Windows that nothing tells of. */
static void spoiled_windows_fail(void **state) {
    (void)state;
    static const struct {
        const char *windows;
        int failed;
    } cases[] = {
        {"[{\"start\":0,\"return\":3},{\"start\":1,\"return\":6}]", 0},
        {"[{\"return\":3},{\"start\":1,\"return\":6}]", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        mw_verify report = {0};
        mw_error error = {0};
        snprintf(text, sizeof text,
                 "{\"horizon\":2,\"agents\":1,\"lengths\":[3],\"rewards\":[[1],[2],[4]],\"windows\":%s,"
                 "\"count\":2,\"mean\":4.5,\"std\":1.5}",
                 cases[i].windows);
        scratch_write(scratch("direct_windows.json"), text, strlen(text));
        CHECK_OK(mw_verify_net(scratch_folder, &report, &error), error);
        assert_int_equal(report.checks, 3);
        assert_int_equal(report.failed, cases[i].failed);
    }
    static const char longer[] = "{\"horizon\":2,\"agents\":1,\"lengths\":[2],\"rewards\":[[1],[2],[4]],"
                                 "\"windows\":[{\"start\":0,\"return\":3}],\"mean\":3,\"std\":1}";
    mw_verify report = {0};
    mw_error error = {0};
    scratch_write(scratch("direct_windows.json"), longer, strlen(longer));
    CHECK_FAILS(mw_verify_net(scratch_folder, &report, &error), MW_ERR_FORMAT, error, "2 of the 3 steps");
    remove(scratch("direct_windows.json"));
}

/* Copies the twin's recording tensor by tensor: without the one named `leave_out`, and with the first value
 * of the one named `spoil` raised. */
static void copy_twin(const char *leave_out, const char *spoil, float by) {
    mw_safetensors file;
    mw_error error = {0};
    CHECK_OK(mw_safetensors_open(&file, TEST_DATA "/net/twin/world.safetensors", &error), error);
    mw_tensor *tensors = calloc(file.tensor_count, sizeof *tensors);
    float *spoiled = NULL;
    size_t count = 0;
    for (size_t i = 0; i < file.tensor_count; i++) {
        if (leave_out && !strcmp(file.tensors[i].name, leave_out)) continue;
        tensors[count] = file.tensors[i];
        if (spoil && !strcmp(file.tensors[i].name, spoil)) {
            spoiled = malloc(file.tensors[i].count * sizeof *spoiled);
            memcpy(spoiled, file.tensors[i].data, file.tensors[i].count * sizeof *spoiled);
            spoiled[0] += by;
            tensors[count].data = spoiled;
        }
        count++;
    }
    mkdir(scratch("task"), 0777);
    CHECK_OK(mw_safetensors_write(scratch("task/world.safetensors"), tensors, count, file.metadata,
                                  file.metadata_count, &error),
             error);
    free(spoiled);
    free(tensors);
    mw_safetensors_close(&file);
}

static void spoiled_numbers_fail(void **state) {
    (void)state;
    static const struct {
        const char *tensor, *check;
        float by;
    } cases[] = {
        {"out.next_obs", "next observation", 0.01f},      {"out.reward", "reward", 0.01f},
        {"out.rollout_score", "rollouts", 0.01f},         {"out.loss_total_dyn_rew_bal", "losses", 0.01f},
        {"grad.reward.router.bias", "router", 0.01f},     {"adam3.dynamics.combine", "combine", 0.01f},
        {"weight.dynamics.dispatch", "next", 0.01f},      {"weight.scale.delta_scale", "next", 0.01f},
        {"grad.dynamics.dispatch", "dispatch", INFINITY}, /* would make all others look small */
        {"adam3.dynamics.dispatch", "dispatch", NAN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lines seen = {""};
        mw_verify report = {.line = collect, .context = &seen};
        mw_error error = {0};
        copy_twin(NULL, cases[i].tensor, cases[i].by);
        CHECK_OK(mw_verify_net(scratch_folder, &report, &error), error);
        if (!report.failed || !strstr(seen.failed, cases[i].check))
            fail_msg("%s spoiled: failed checks are '%s'", cases[i].tensor, seen.failed);
    }
}

/* What large terms have almost cancelled to is as wrong as the terms, here 1e-7 of them, and a step of Adam
 * along a gradient that is only rounding may go either way, three times; what is off by more is noticed. */
static void rounding_is_not_a_failure(void **state) {
    (void)state;
    static const struct {
        const char *prefix;
        int at; /* of matrix[2][2], bias[2], gamma[1] */
        float by;
        bool fails;
    } cases[] = {{"grad.", 6, 0, false},        {"grad.", 6, 1e-7f, false},   {"grad.", 6, 1e-5f, true},
                 {"grad.", 6, NAN, true},       {"grad.", 5, 1e-7f, false},   {"grad.", 5, 1e-5f, true},
                 {"grad.", 0, 1e-7f, false},    {"grad.", 0, 3e-4f, true},    {"adam3.", 0, 3e-4f, true},
                 {"adam3.", 1, 1.8e-3f, false}, {"adam3.", 1, 2e-3f, true},   {"adam3.", 2, 3e-4f, true},
                 {"adam3.", 1, NAN, true},      {"adam3.", 3, INFINITY, true}};
    static const float gradient[7] = {1, 1e-9f, 0, -0.5f, 5e-4f, -2e-4f, 1e-3f},
                       weight[7] = {0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f};
    mw_params params = {0};
    mw_params_add(&params, "matrix", MW_PARAM_PLAIN, MW_INIT_ZERO, 0, 2, 2, 0);
    mw_params_add(&params, "bias", MW_PARAM_PLAIN, MW_INIT_ZERO, 0, 2, 0, 0);
    mw_params_add(&params, "gamma", MW_PARAM_PLAIN, MW_INIT_ZERO, 0, 1, 0, 0);
    const mw_tensor tensors[] = {
        {.name = "grad.matrix", .type = MW_F32, .dims = 2, .shape = {2, 2}, .data = gradient},
        {.name = "grad.bias", .type = MW_F32, .dims = 1, .shape = {2}, .data = gradient + 4},
        {.name = "grad.gamma", .type = MW_F32, .dims = 1, .shape = {1}, .data = gradient + 6},
        {.name = "adam3.matrix", .type = MW_F32, .dims = 2, .shape = {2, 2}, .data = weight},
        {.name = "adam3.bias", .type = MW_F32, .dims = 1, .shape = {2}, .data = weight},
        {.name = "adam3.gamma", .type = MW_F32, .dims = 1, .shape = {1}, .data = weight}};
    mw_record record = {.what = "made", .rate = 3e-4f};
    mw_error error = {0};
    CHECK_OK(mw_safetensors_write(scratch("made.safetensors"), tensors, 6, NULL, 0, &error), error);
    CHECK_OK(mw_safetensors_open(&record.file, scratch("made.safetensors"), &error), error);
    float *values = calloc(params.total, sizeof *values);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const float *recorded = *cases[i].prefix == 'g' ? gradient : weight;
        double worst;
        char where[64];
        for (int p = 0, at = 0; p < params.count; p++)
            for (size_t k = 0; k < params.list[p].count; k++, at++)
                values[params.list[p].offset + k] = recorded[at] + (at == cases[i].at ? cases[i].by : 0);
        CHECK_OK(mw_record_compare(&record, &params, values, cases[i].prefix, 0, &worst, where, sizeof where,
                                   &error),
                 error);
        if ((worst > MW_GRADIENT_TOLERANCE) != cases[i].fails) fail_msg("case %zu: off by %g", i, worst);
    }
    mw_record_close(&record);
    mw_params_free(&params);
    free(values);
    remove(scratch("made.safetensors"));
}

static void incomplete_recordings_fail(void **state) {
    (void)state;
    static const char *const tensors[] = {"in.obs",
                                          "in.reward",
                                          "out.reward",
                                          "grad.dynamics.combine",
                                          "adam3.reward.router.bias",
                                          "weight.reward.experts.1.2.weight"};
    mw_error error = {0};
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        lines seen = {""};
        mw_verify report = {.line = collect, .context = &seen};
        copy_twin(tensors[i], NULL, 0);
        const mw_status status = mw_verify_net(scratch_folder, &report, &error);
        if (status == MW_OK) fail_msg("without %s nothing was noticed", tensors[i]);
        if (!strstr(error.message, tensors[i])) fail_msg("without %s: '%s'", tensors[i], error.message);
    }
    remove(scratch("task/world.safetensors"));
    mw_verify report = {.line = collect, .context = &(lines){""}};
    CHECK_FAILS(mw_verify_net(scratch_folder, &report, &error), MW_ERR_FORMAT, error, "found no");
    CHECK_FAILS(mw_verify_net(scratch("absent"), &report, &error), MW_ERR_IO, error, "absent");
    rmdir(scratch("task"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_numbers),          cmocka_unit_test(recorded_selectors),
        cmocka_unit_test(spoiled_selectors_fail),    cmocka_unit_test(other_structures_are_refused),
        cmocka_unit_test(large_claims_are_refused),  cmocka_unit_test(spoiled_windows_fail),
        cmocka_unit_test(spoiled_numbers_fail),      cmocka_unit_test(incomplete_recordings_fail),
        cmocka_unit_test(rounding_is_not_a_failure),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
