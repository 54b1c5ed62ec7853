/* The parameter table: layouts of files and memory, initialisation, loading and its errors. */
#include "differences.h"
#include "core/arena.h"
#include "nn/param.h"
#include "scratch.h"

/* Element (tap, in, out) by PyTorch's order of each kind. */
static size_t in_file(const mw_param *p, int tap, int i, int o) {
    switch (p->kind) {
    case MW_PARAM_LINEAR: /* [out][in] */
        return (size_t)(o * p->shape[1] + i);
    case MW_PARAM_CONV: /* [out][in][taps] */
        return (size_t)((o * p->shape[1] + i) * p->shape[2] + tap);
    default: /* [in][out][taps] */
        return (size_t)((i * p->shape[1] + o) * p->shape[2] + tap);
    }
}

static void layouts(void **state) {
    (void)state;
    static const struct {
        mw_param_kind kind;
        int taps, in, out, shape[3];
    } cases[] = {{MW_PARAM_LINEAR, 1, 3, 5, {5, 3, 0}},
                 {MW_PARAM_CONV, 5, 3, 4, {4, 3, 5}},
                 {MW_PARAM_CONV, 1, 6, 2, {2, 6, 1}},
                 {MW_PARAM_TRANSPOSED, 4, 3, 5, {3, 5, 4}}};
    float file[64], values[256] = {0}, back[64];
    for (int i = 0; i < 64; i++) file[i] = (float)(i + 1);
    for (size_t which = 0; which < sizeof cases / sizeof *cases; which++) {
        mw_params params = {0};
        mw_params_add(&params, "first", MW_PARAM_PLAIN, MW_INIT_ZERO, 0, 7, 0, 0);
        mw_params_add(&params, "w", cases[which].kind, MW_INIT_ZERO, 0, cases[which].shape[0],
                      cases[which].shape[1], cases[which].shape[2]);
        const mw_param *p = &params.list[1];
        assert_int_equal(p->count, cases[which].taps * cases[which].in * cases[which].out);
        mw_param_from_file(p, file, values);
        for (int tap = 0; tap < cases[which].taps; tap++)
            for (int i = 0; i < cases[which].in; i++)
                for (int o = 0; o < cases[which].out; o++)
                    assert_true(
                        values[p->offset + (size_t)((tap * cases[which].in + i) * cases[which].out + o)] ==
                        file[in_file(p, tap, i, o)]);
        mw_param_to_file(p, values, back);
        assert_memory_equal(back, file, p->count * sizeof *back);
        mw_params_free(&params);
    }
}

static void plain_stays(void **state) {
    (void)state;
    mw_params params = {0};
    mw_params_add(&params, "p", MW_PARAM_PLAIN, MW_INIT_ZERO, 0, 2, 3, 0);
    const float file[6] = {1, 2, 3, 4, 5, 6};
    float values[16], back[6];
    mw_param_from_file(&params.list[0], file, values);
    assert_memory_equal(values, file, sizeof file);
    mw_param_to_file(&params.list[0], values, back);
    assert_memory_equal(back, file, sizeof file);
    mw_params_free(&params);
}

/* Offsets are aligned, in order and without overlap; a table of many grows. */
static void table(void **state) {
    (void)state;
    mw_params params = {0};
    size_t scalars = 0, end = 0;
    for (int i = 0; i < 300; i++) {
        const int size = 1 + i * 7 % 40;
        const size_t offset = mw_params_add(&params, mw_name_of("layer.%d", i).text, MW_PARAM_PLAIN,
                                            MW_INIT_ONE, 0, size, 0, 0);
        assert_true(offset >= end && offset % (MW_ALIGN / sizeof(float)) == 0);
        end = offset + (size_t)size;
        scalars += (size_t)size;
    }
    assert_true(!params.failed && params.count == 300 && params.total >= end);
    assert_int_equal(mw_params_scalars(&params), scalars);
    assert_ptr_equal(mw_params_find(&params, "layer.217"), &params.list[217]);
    assert_null(mw_params_find(&params, "layer.300"));
    mw_params_free(&params);
    assert_int_equal(params.count, 0);
}

/* PyTorch's bounds are 1/sqrt(in * taps), for a transposed convolution 1/sqrt(out * taps). A uniform on
 * [-b, b] has std b/sqrt(3); with N values its mean and std are known to about 4/sqrt(N). */
static void check_uniform(const mw_params *params, const float *values, const char *name, double bound) {
    const mw_param *p = mw_params_find(params, name);
    assert_non_null(p);
    double sum = 0, square = 0, largest = 0, n = (double)p->count;
    for (size_t i = 0; i < p->count; i++) {
        const double x = values[p->offset + i];
        sum += x;
        square += x * x;
        largest = fmax(largest, fabs(x));
    }
    if (largest > bound * 1.000001) fail_msg("%s: %g beyond the bound %g", name, largest, bound);
    if (largest < bound * (1 - 10 / n)) fail_msg("%s: only %g of the bound %g", name, largest, bound);
    CHECK_NEAR(sum / n, 0, 4 * bound / sqrt(3 * n));
    CHECK_NEAR(sqrt(square / n) / (bound / sqrt(3)), 1, 4 / sqrt(n));
}

static void initial_values(void **state) {
    (void)state;
    mw_params params = {0};
    mw_dense_linear(&params, "linear", 37, 50);
    mw_dense_conv(&params, "conv", MW_CONV_SAME, 20, 30, 5);
    mw_dense_conv(&params, "up", MW_CONV_UP, 20, 30, 4);
    mw_dense_matrix(&params, "matrix", 60, 70, MW_INIT_NORMAL, 0.02f);
    mw_params_add(&params, "one", MW_PARAM_PLAIN, MW_INIT_ONE, 0, 5, 0, 0);
    mw_params_add(&params, "zero", MW_PARAM_PLAIN, MW_INIT_ZERO, 0, 5, 0, 0);
    float *values = malloc(2 * params.total * sizeof *values), *again = values + params.total;
    assert_non_null(values);
    memset(values, 0x55, 2 * params.total * sizeof *values);
    mw_params_init(&params, values, 9);
    check_uniform(&params, values, "linear.weight", 1 / sqrt(37));
    check_uniform(&params, values, "linear.bias", 1 / sqrt(37));
    check_uniform(&params, values, "conv.weight", 1 / sqrt(20 * 5));
    check_uniform(&params, values, "up.weight", 1 / sqrt(30 * 4));
    const mw_param *normal = mw_params_find(&params, "matrix");
    double square = 0;
    for (size_t i = 0; i < normal->count; i++) square += pow(values[normal->offset + i], 2);
    CHECK_NEAR(sqrt(square / (double)normal->count) / 0.02, 1, 3 / sqrt(2.0 * (double)normal->count));
    for (size_t i = 0; i < 5; i++) {
        assert_true(values[mw_params_find(&params, "one")->offset + i] == 1);
        assert_true(values[mw_params_find(&params, "zero")->offset + i] == 0);
    }
    mw_params_init(&params, again, 9);
    for (int p = 0; p < params.count; p++)
        assert_memory_equal(again + params.list[p].offset, values + params.list[p].offset,
                            params.list[p].count * 4);
    mw_params_init(&params, again, 10);
    assert_true(again[0] != values[0]);
    free(values);
    mw_params_free(&params);
}

/* ---- files ---- */

static mw_params small_table(void) {
    mw_params params = {0};
    mw_dense_conv(&params, "body.conv", MW_CONV_SAME, 3, 4, 5);
    mw_dense_linear(&params, "head", 4, 2);
    return params;
}

/* Writes the tensors of the table; tensor `missing` is left out, the first two extents of `odd` are
 * exchanged. */
static void write_file(const mw_params *params, const float *values, int missing, int odd) {
    mw_tensor tensors[8];
    static float data[8][128];
    char names[8][80];
    size_t count = 0;
    mw_error error = {0};
    for (int i = 0; i < params->count; i++) {
        if (i == missing) continue;
        const mw_param *p = &params->list[i];
        snprintf(names[i], sizeof names[i], "weight.%s", p->name);
        mw_param_to_file(p, values, data[i]);
        tensors[count] = (mw_tensor){.name = names[i], .type = MW_F32, .dims = p->dims, .data = data[i]};
        for (int k = 0; k < p->dims; k++) tensors[count].shape[k] = (size_t)p->shape[k];
        if (i == odd) {
            size_t kept = tensors[count].shape[0];
            tensors[count].shape[0] = tensors[count].shape[1];
            tensors[count].shape[1] = kept;
        }
        count++;
    }
    CHECK_OK(mw_safetensors_write(scratch("table.safetensors"), tensors, count, NULL, 0, &error), error);
}

static void loading(void **state) {
    (void)state;
    mw_params params = small_table();
    float values[256], loaded[256] = {0};
    mw_safetensors file;
    mw_error error = {0};
    mw_params_init(&params, values, 3);
    write_file(&params, values, -1, -1);
    CHECK_OK(mw_safetensors_open(&file, scratch("table.safetensors"), &error), error);
    CHECK_OK(mw_params_load(&params, loaded, &file, "weight.", &error), error);
    for (int i = 0; i < params.count; i++)
        assert_memory_equal(loaded + params.list[i].offset, values + params.list[i].offset,
                            params.list[i].count * 4);
    CHECK_FAILS(mw_params_load(&params, loaded, &file, "adam3.", &error), MW_ERR_MISMATCH, error,
                "adam3.body.conv.weight");
    mw_safetensors_close(&file);
    mw_params_free(&params);
}

static void loading_errors(void **state) {
    (void)state;
    mw_params params = small_table();
    float values[256], loaded[256];
    mw_safetensors file;
    mw_error error = {0};
    mw_params_init(&params, values, 3);
    for (int i = 0; i < params.count; i++) {
        char name[80];
        snprintf(name, sizeof name, "weight.%s", params.list[i].name);
        write_file(&params, values, i, -1);
        CHECK_OK(mw_safetensors_open(&file, scratch("table.safetensors"), &error), error);
        CHECK_FAILS(mw_params_load(&params, loaded, &file, "weight.", &error), MW_ERR_MISMATCH, error, name);
        mw_safetensors_close(&file);
        if (params.list[i].dims == 1) continue;
        write_file(&params, values, -1, i); /* in and out exchanged: the same count, another shape */
        CHECK_OK(mw_safetensors_open(&file, scratch("table.safetensors"), &error), error);
        CHECK_FAILS(mw_params_load(&params, loaded, &file, "weight.", &error), MW_ERR_MISMATCH, error, name);
        mw_safetensors_close(&file);
    }
    mw_params_free(&params);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts),        cmocka_unit_test(plain_stays), cmocka_unit_test(table),
        cmocka_unit_test(initial_values), cmocka_unit_test(loading),     cmocka_unit_test(loading_errors),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
