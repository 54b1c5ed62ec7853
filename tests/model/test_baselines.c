/* Methods of others against recorded numbers, and what each is by its definition: where a term of its loss
 * decides, the policy follows it. */
#include "core/tensor/safetensors.h"
#include "mawam/verify.h"
#include "scratch.h"

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
    CHECK_OK(mw_verify_baselines(TEST_DATA "/baselines", &report, &error), error);
    if (report.failed) fail_msg("%d of %d checks:%s", report.failed, report.checks, seen.failed);
    assert_true(report.checks >= 464); /* none of a file was skipped */
}

/* A result more than the method gives is not passed over. */
static void everything_is_compared(void **state) {
    (void)state;
    mw_error error;
    mw_safetensors file;
    char folder[512], path[600];
    snprintf(folder, sizeof folder, "%s", scratch("more"));
    snprintf(path, sizeof path, "%s/bc_real.safetensors", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    CHECK_OK(mw_safetensors_open(&file, TEST_DATA "/baselines/bc_real.safetensors", &error), error);
    mw_tensor *tensors = calloc(file.tensor_count + 1, sizeof *tensors);
    assert_non_null(tensors);
    memcpy(tensors, file.tensors, file.tensor_count * sizeof *tensors);
    const float one = 1;
    tensors[file.tensor_count] = (mw_tensor){"out.nobody_knows", MW_F32, 1, {1}, 1, &one};
    CHECK_OK(mw_safetensors_write(path, tensors, file.tensor_count + 1, file.metadata, file.metadata_count,
                                  &error),
             error);
    free(tensors);
    mw_safetensors_close(&file);
    lines seen = {""};
    mw_verify report = {.line = collect, .context = &seen};
    CHECK_OK(mw_verify_baselines(folder, &report, &error), error);
    assert_int_equal(report.failed, 1);
    assert_non_null(strstr(seen.failed, "not out.nobody_knows"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(recorded_numbers),
                                       cmocka_unit_test(everything_is_compared)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
