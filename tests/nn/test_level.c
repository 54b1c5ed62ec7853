/* Every hot function gives the same bits at every level that this CPU runs: each is called on the same random
 * arrays, with odd sizes and with values that are not finite, and what it wrote is compared to the byte. */
#include "check.h"
#include "core/machine/cpu.h"
#include "core/rng.h"
#include "nn/level.h"
#include "nn/vec.h"

enum { SIZE = 4096, RESULTS = 9 };

static float in[4][SIZE], out[RESULTS][SIZE];
static double sums[8];

static void draw(uint64_t index, float scale) {
    mw_rng rng = mw_rng_make(9, MW_RNG_TEST, index, 0, 0);
    for (int i = 0; i < 4; i++) {
        mw_rng_fill_normal(&rng, in[i], SIZE);
        for (int k = 0; k < SIZE; k++) in[i][k] *= scale;
    }
    for (int i = 0; i < RESULTS; i++) mw_rng_fill_normal(&rng, out[i], SIZE);
    memset(sums, 0, sizeof sums);
}

static void activations(int n) {
    mw_silu_forward(out[0], in[0], n);
    mw_silu_slope(out[1], out[2], in[0], n);
    mw_gelu_forward(out[6], in[0], n);
    mw_gelu_slope(out[7], out[8], in[0], n);
    mw_mish_forward(out[3], in[0], n);
    mw_mish_backward(out[4], in[1], in[0], n);
    mw_relu_slope(out[5], out[2], in[0], n);
    mw_relu_forward(out[5], in[1], n);
}

static void sum_functions(int n) {
    mw_add(out[0], in[0], n);
    mw_add_scaled(out[1], 0.37f, in[0], n);
    mw_multiply(out[2], in[1], n);
    mw_column_sums(out[3], in[0], SIZE / (n + 1), n);
    out[4][0] = mw_inner(in[0], in[1], n);
    sums[0] = mw_dot(in[0], in[1], n);
    sums[1] = mw_mse(out[5], in[0], in[1], n, 0.1f);
    sums[2] = mw_cross_entropy(out[2], in[0], NULL, n / 2, n, 0.5f);
}

static void norms(int n) {
    const int rows = SIZE / (4 * n) > 0 ? SIZE / (4 * n) : 1;
    mw_layernorm_forward(out[0], out[1], in[0], in[1], in[2], rows, n);
    mw_layernorm_backward(out[2], out[3], out[4], in[3], in[0], out[1], in[1], rows, n);
    const int t = 3, c = 8 * (n % 7 + 1), s = SIZE / (t * c) < 5 ? SIZE / (t * c) : 5;
    mw_groupnorm_mish_forward(out[0], out[1], in[0], in[1], in[2], in[3], 0, t, s, c, 8);
    mw_groupnorm_mish_backward(out[2], out[3], out[4], in[3], in[0], out[1], in[1], in[2], t, s, c, 8);
}

static void softmaxes(int n) {
    const int rows = SIZE / n < 9 ? SIZE / n : 9, c = n < 1000 ? n : 1000;
    mw_softmax_rows(out[0], rows, n);
    mw_softmax_rows_backward(out[1], in[1], out[0], rows, n);
    mw_softmax_agents(out[2], 1, 4, c);
    mw_softmax_agents_backward(out[3], in[1], out[2], 1, 4, c);
    mw_squash(out[6], in[0], n);
    mw_norm_features_forward(out[4], n, in[0], SIZE / (2 * n), n);
    mw_norm_features_backward(out[5], in[1], n, in[0], SIZE / (2 * n), n);
}

static void products(int n) {
    static float packed[64 * (64 + MW_WIDEST_PANEL)];
    const int k = n % 37 + 1, wide = n % 61 + 1, m = 17;
    mw_pack(packed, in[1], wide, k, wide);
    mw_gemm_packed(out[0], in[0], packed, in[2], m, wide, k);
    mw_pack_transposed(packed, in[1], k, k, wide);
    mw_gemm_packed(out[1], in[0], packed, NULL, m, wide, k);
}

static void layers(int n) {
    static float packed[1 << 16], scratch[1 << 16];
    const mw_conv_kind kind = (mw_conv_kind)(n % 3);
    const int in_size = n % 19 + 1, out_size = n % 23 + 1, t = 4, rows = 5;
    mw_params params = {0};
    const mw_dense layer = mw_dense_conv(&params, "layer", kind, in_size, out_size,
                                         kind == MW_CONV_DOWN ? 3
                                         : kind == MW_CONV_UP ? 4
                                                              : 5);
    if (params.total <= SIZE && params.packed <= sizeof packed / sizeof *packed) {
        mw_dense_pack(&layer, in[0], packed, true);
        mw_dense_forward(&layer, out[0], in[1], in[0], packed, t, rows);
        mw_dense_backward(&layer, out[1], out[2], in[2], in[1], packed, scratch, t, rows);
        sums[3] = mw_dense_flops(&layer, t, rows);
    }
    mw_params_free(&params);
}

static void attention_and_updates(int n) {
    const int t = 3, b = 2, agents = 3, heads = 4, qk = n % 5 + 1, v = n % 11 + 1;
    mw_attention_forward(out[0], out[1], in[0], in[1], in[2], t, b, agents, heads, qk, v);
    mw_attention_backward(out[2], out[3], out[4], in[3], out[1], in[0], in[1], in[2], t, b, agents, heads, qk,
                          v);
    const mw_adam adam = {1e-3f, 0.9f, 0.999f, 1e-8f, 0, 0, 0};
    for (int i = 0; i < n; i++) out[5][i] = out[5][i] * out[5][i];
    mw_adam_update(&adam, n, 0.9f, out[0], in[0], out[1], out[5], 0, (size_t)n);
    mw_ema_update(out[2], out[0], 0.995f, 0, (size_t)n);
}

static void attention_to_the_past(int n) {
    const int t = n % 31 + 1, heads = 2, c = n % 35 + 1;
    mw_causal_forward(out[0], out[1], in[0], in[1], in[2], out[8], t, heads, c);
    mw_causal_backward(out[2], out[3], out[4], in[3], out[1], in[0], in[1], in[2], out[8], t, heads, c);
}

static void compare(void (*body)(int), const char *name, uint64_t index, float scale, int n) {
    static float first[RESULTS][SIZE];
    static double first_sums[8];
    const mw_kernels *chosen = mw_hot;
    int seen = 0;
    for (int level = 0; level < MW_CPU_LEVELS; level++) {
        if (!mw_cpu_runs((mw_cpu_level)level)) continue;
        mw_hot = mw_kernels_of(level);
        assert_non_null(mw_hot);
        draw(index, scale);
        if (n > 4) in[0][n / 2] = index % 3 == 0 ? INFINITY : index % 3 == 1 ? NAN : -INFINITY;
        if (index % 2) in[0][n / 2] = 0.5f; /* every other time all is finite */
        body(n);
        if (seen++ == 0) {
            memcpy(first, out, sizeof out);
            memcpy(first_sums, sums, sizeof sums);
        }
        for (int i = 0; i < RESULTS; i++)
            for (int k = 0; k < SIZE; k++) { /* the sign and payload of a NaN are nobody's promise */
                if (isnan(out[i][k]) && isnan(first[i][k])) continue;
                if (memcmp(&out[i][k], &first[i][k], sizeof(float)))
                    fail_msg("%s, n %d: result %d[%d] is %.9g at level %d and %.9g at the lowest", name, n, i,
                             k, (double)out[i][k], level, (double)first[i][k]);
            }
        for (int i = 0; i < 8; i++)
            if (!(isnan(sums[i]) && isnan(first_sums[i])) && memcmp(&sums[i], &first_sums[i], sizeof(double)))
                fail_msg("%s, n %d: sum %d differs at level %d", name, n, i, level);
    }
    assert_true(seen > 0);
    mw_hot = chosen;
}

static void levels_agree(void **state) {
    (void)state;
    static const struct {
        const char *name;
        void (*body)(int);
    } bodies[] = {{"activations", activations},
                  {"sums", sum_functions},
                  {"norms", norms},
                  {"softmaxes", softmaxes},
                  {"products", products},
                  {"layers", layers},
                  {"attention", attention_and_updates},
                  {"attention to the past", attention_to_the_past}};
    static const int sizes[] = {1,  2,  3,  4,  5,  7,  8,  9,   15,  16, 17,
                                24, 31, 32, 33, 47, 63, 64, 100, 257, 512};
    static const float scales[] = {1, 30, 1e-6f};
    for (size_t b = 0; b < sizeof bodies / sizeof *bodies; b++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (size_t k = 0; k < 3; k++)
                compare(bodies[b].body, bodies[b].name, 100 * b + 4 * s + k, scales[k], sizes[s]);
}

/* The fused multiply-add that has no instruction, against the one of the C library, near ties above all. */
static void fused(void **state) {
    (void)state;
    mw_rng rng = mw_rng_make(9, MW_RNG_TEST, 77, 0, 0);
    for (int i = 0; i < 1000000; i++) {
        uint32_t bits[3];
        float x[3];
        for (int k = 0; k < 3; k++) bits[k] = mw_rng_u32(&rng);
        if (i % 2) /* equal exponents and short mantissas: halfway cases are common */
            for (int k = 0; k < 3; k++)
                bits[k] = (bits[k] & 0x807ff000) | (0x3f000000 + (bits[k] & 7) * 0x800000);
        memcpy(x, bits, sizeof x);
        if (i % 4 == 3) /* results below those that have all their bits, and near them */
            x[0] *= 0x1p-128f, x[2] *= 0x1p-128f;
        const mw_vec seen = mw_vec_fma(mw_vec_set(x[0]), mw_vec_set(x[1]), mw_vec_set(x[2]));
        const float exact = fmaf(x[0], x[1], x[2]);
        if (isnan(exact) ? !isnan(seen[0]) : memcmp(&exact, &seen, sizeof exact))
            fail_msg("fma(%a, %a, %a) is %a, not %a", (double)x[0], (double)x[1], (double)x[2],
                     (double)seen[0], (double)exact);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_agree),
        cmocka_unit_test(fused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
