/* Packed bundles: what comes back is the whole numbers times the scales to the bit, no further from the
 * weights than plain rounding, of the bundle that they name; damaged ones are refused, and a shipped bundle
 * decides as before. */
#include "core/file.h"
#include "plain_bundle.h"
#include "plan/planner.h"
#include "random_bundle.h"
#include "scratch.h"

#include "mawam/env.h"

#include <float.h>

static mw_bundle *a_bundle(void) {
    return random_bundle(
        (mw_bundle_info){.task = "mine", .rules = "own", .agents = 2, .obs = 5, .act = 3, .episode_limit = 9},
        7);
}

/* ---- rows ---- */

enum { ROWS = 6, MOST = 41 };

static float weights[ROWS * MOST], back[ROWS * MOST], scale[ROWS];
static unsigned char packed[ROWS * MOST];

/* Random rows, one of zeros, one of the largest numbers, one of the smallest. */
static mw_param random_rows(int width, int bits) {
    mw_rng rng = mw_rng_make(3, MW_RNG_TEST, (uint64_t)width, (uint64_t)bits, 0);
    mw_rng_fill_normal(&rng, weights, (size_t)(ROWS * width));
    for (int i = 0; i < width; i++) {
        weights[3 * width + i] = 0;
        weights[4 * width + i] = i % 2 ? FLT_MAX : -FLT_MAX;
        weights[5 * width + i] = 1e-45f;
    }
    memset(packed, 0, sizeof packed);
    return (mw_param){.name = "m", .dims = 2, .shape = {ROWS, width}, .count = (size_t)(ROWS * width)};
}

/* Bit by bit, from the description of the format. */
static int number_at(const unsigned char *row, int bits, int column) {
    if (bits == 8) return (int8_t)row[column];
    int value = -(1 << (bits - 1));
    for (int b = 0; b < bits; b++) {
        const int at = bits * column + b;
        value += (row[at / 8] >> at % 8 & 1) << b;
    }
    return value;
}

static void check_row(int bits, int width, int row, size_t bytes) {
    const int top = (1 << (bits - 1)) - 1;
    double error = 0, most = 0;
    for (int i = 0; i < width; i++) {
        const int q = number_at(packed + (size_t)row * bytes, bits, i);
        const float expanded = back[row * width + i], weight = weights[row * width + i];
        assert_true(q >= -top && q <= top);
        assert_true(expanded == (float)q * scale[row]);
        assert_true(isfinite(expanded));
        error += pow((double)expanded - weight, 2);
        most = fmax(most, fabs((double)weight));
    }
    /* plain rounding errs by half a step at most; and a scale by half the smallest float */
    const double bound = width * pow(most / top / 2 + top * 1e-45, 2);
    if (!(error <= bound * 1.0001 + width * most * most * 1e-12))
        fail_msg("%d bits, row %d of %d: error %g above %g", bits, row, width, error, bound);
}

static void rows(void **state) {
    (void)state;
    mw_error error;
    const char *path = scratch("rows.safetensors");
    for (int bits = 4; bits <= 8; bits++)
        for (int width = 1; width <= MOST; width += width < 10 ? 1 : 31) {
            const mw_param param = random_rows(width, bits);
            int shape[3];
            const int dims = mw_packing_shape(bits, &param, shape);
            mw_packing_pack(bits, &param, weights, packed, scale);
            const mw_tensor tensors[] = {
                {"m.scale", MW_F32, 1, {ROWS}, 0, scale},
                {"m", mw_packing_type(bits), dims, {(size_t)shape[0], (size_t)shape[1]}, 0, packed}};
            mw_safetensors file;
            CHECK_OK(mw_safetensors_write(path, tensors, 2, NULL, 0, &error), error);
            CHECK_OK(mw_safetensors_open(&file, path, &error), error);
            CHECK_OK(mw_packing_check(bits, &param, &file, "m", &error), error);
            mw_packing_expand(bits, &param, &file, "m", back);
            mw_safetensors_close(&file);
            for (int r = 0; r < ROWS; r++) check_row(bits, width, r, (size_t)shape[1]);
        }
}

/* ---- bundles ---- */

static double distance(const float *a, const float *b, size_t count) {
    double difference = 0, size = 0;
    for (size_t i = 0; i < count; i++) {
        difference += pow((double)a[i] - b[i], 2);
        size += pow((double)a[i], 2);
    }
    return sqrt(difference / (size + 1e-30));
}

static void bundles(void **state) {
    (void)state;
    static const double tolerance[] = {[8] = 0.01, [6] = 0.04, [4] = 0.2};
    const char *from = scratch("from.safetensors"), *to = scratch("to.safetensors");
    static char before[1 << 20], after[1 << 20];
    mw_error error;
    mw_bundle *bundle = a_bundle(), *first, *second;
    CHECK_OK(mw_bundle_save(bundle, from, true, &error), error);
    CHECK_OK(mw_bundle_load(&first, from, &error), error);
    const size_t size = scratch_read(from, before, sizeof before);
    assert_int_equal(mw_bundle_describe(first).packed_bits, 0);
    assert_string_equal(mw_bundle_describe(first).packed_of, "");
    for (int bits = 4; bits <= 8; bits += 2) {
        char named[17];
        snprintf(named, sizeof named, "%016llx", (unsigned long long)mw_hash(MW_HASH_START, before, size));
        CHECK_OK(mw_bundle_pack(from, to, bits, &error), error);
        CHECK_OK(mw_bundle_load(&second, to, &error), error);
        assert_int_equal(mw_bundle_describe(second).packed_bits, bits);
        assert_string_equal(mw_bundle_describe(second).packed_of, named);
        int taken = 0;
        for (int p = 0; p < first->count; p++) {
            const mw_model *a = first->parts[p].model, *b = second->parts[p].model;
            assert_non_null(strstr(mw_bundle_part_describe(second, p).provenance, named));
            for (int i = 0; i < a->params->count; i++) {
                const mw_param *param = &a->params->list[i];
                const bool takes = mw_packing_takes(param);
                const double off =
                    distance(a->values + param->offset, b->values + param->offset, param->count);
                if (!(takes ? off > 0 && off < tolerance[bits] : off == 0))
                    fail_msg("%s in %d bits is off by %g", param->name, bits, off);
                taken += takes;
            }
        }
        assert_true(taken > 10);
        mw_bundle_free(second);
    }
    /* packing leaves what it reads alone, a bundle that is not packed is written as ever, and a failure
     * leaves the old file */
    CHECK_OK(mw_bundle_save(first, to, true, &error), error);
    assert_int_equal(scratch_read(to, after, sizeof after), size);
    assert_memory_equal(before, after, size);
    for (int shift = 0; shift < 2; shift++) { /* from memory too, wherever it begins */
        memmove(before + shift, before, size);
        CHECK_OK(mw_bundle_read(&second, before + shift, size, &error), error);
        assert_string_equal(second->checksum, first->checksum);
        mw_bundle_free(second);
        CHECK_FAILS(mw_bundle_read(&second, before + shift, size - 1, &error), MW_ERR_FORMAT, error,
                    "memory");
        assert_null(second);
        memmove(before, before + shift, size);
    }
    CHECK_FAILS(mw_bundle_pack(from, to, 9, &error), MW_ERR_ARGUMENT, error, "4 to 8 bits");
    CHECK_FAILS(mw_bundle_pack(from, to, 3, &error), MW_ERR_ARGUMENT, error, "4 to 8 bits");
    CHECK_FAILS(mw_bundle_pack(scratch("no"), to, 8, &error), MW_ERR_IO, error, "no");
    assert_int_equal(scratch_read(to, after, sizeof after), size);
    mw_bundle_free(first);
    mw_bundle_free(bundle);
}

/* What was packed cannot be packed again, also where it has gone into another bundle, whose file is plain. */
static void once(void **state) {
    (void)state;
    const char *from = scratch("from.safetensors"), *to = scratch("to.safetensors"),
               *plain = scratch("plain.safetensors");
    mw_error error;
    mw_bundle *bundle = a_bundle(), *loaded, *again;
    CHECK_OK(mw_bundle_save(bundle, from, true, &error), error);
    CHECK_OK(mw_bundle_pack(from, to, 8, &error), error);
    CHECK_FAILS(mw_bundle_pack(to, plain, 8, &error), MW_ERR_ARGUMENT, error, "packed before");
    CHECK_OK(mw_bundle_load(&loaded, to, &error), error);
    CHECK_OK(mw_bundle_save(loaded, plain, false, &error), error);
    CHECK_OK(mw_bundle_load(&again, plain, &error), error);
    assert_int_equal(mw_bundle_describe(again).packed_bits, 0);
    for (int p = 0; p < again->count; p++)
        assert_memory_equal(again->parts[p].model->values, loaded->parts[p].model->values,
                            again->parts[p].model->params->total * sizeof(float));
    CHECK_FAILS(mw_bundle_pack(plain, to, 8, &error), MW_ERR_ARGUMENT, error, "its flow was packed before");
    mw_bundle_free(again);
    mw_bundle_free(loaded);
    mw_bundle_free(bundle);
}

/* ---- hostile ones ---- */

#define MATRIX "flow.downs.2.0.conv1.0.weight" /* [32][16][5] */
#define BIAS   "flow.downs.2.0.conv1.0.bias"

typedef struct {
    int bits;
    const char *tensor, *renamed; /* renamed: in the file, if not NULL */
    mw_dtype type;
    int dims, shape[3]; /* as it is where dims is 0 */
    int at;             /* byte that is replaced, or -1 */
    unsigned char bytes[4];
    int count;
    const char *message; /* NULL: it loads */
} hostile_case;

/* clang-format off */
static const hostile_case cases[] = {
    {8, MATRIX, NULL, MW_I8, 0, {0}, -1, {0}, 0, NULL},
    {6, MATRIX, NULL, MW_U8, 0, {0}, -1, {0}, 0, NULL},
    {8, MATRIX, "gone", MW_I8, 0, {0}, -1, {0}, 0, "'" MATRIX "' is missing"},
    {8, MATRIX ".scale", "gone", MW_F32, 0, {0}, -1, {0}, 0, "'" MATRIX ".scale' is missing"},
    {8, MATRIX ".scale", NULL, MW_I32, 0, {0}, -1, {0}, 0, "not one f32 for each of 32 rows"},
    {8, MATRIX ".scale", NULL, MW_F32, 2, {32, 1}, -1, {0}, 0, "not one f32 for each of 32 rows"},
    {8, MATRIX ".scale", NULL, MW_F32, 2, {4, 8}, -1, {0}, 0, "not one f32 for each of 32 rows"},
    {8, MATRIX ".scale", NULL, MW_F16, 1, {64}, -1, {0}, 0, "not one f32 for each of 32 rows"},
    {8, MATRIX ".scale", NULL, MW_F32, 0, {0}, 0, {0, 0, 0xc0, 0x7f}, 4, "scale 0 of '" MATRIX "' is nan"},
    {8, MATRIX ".scale", NULL, MW_F32, 0, {0}, 4, {0, 0, 0x80, 0x7f}, 4, "scale 1 of '" MATRIX "' is inf"},
    {8, MATRIX ".scale", NULL, MW_F32, 0, {0}, 124, {0, 0, 0x80, 0xbf}, 4, "scale 31 of '" MATRIX "' is -1"},
    {8, MATRIX ".scale", NULL, MW_F32, 0, {0}, 0, {0xff, 0xff, 0x7f, 0x7f}, 4, "is 3.40282e+38"},
    {6, MATRIX ".scale", NULL, MW_F32, 0, {0}, 0, {0xff, 0xff, 0x7f, 0x7f}, 4, "is 3.40282e+38"},
    {8, MATRIX, NULL, MW_I8, 0, {0}, 81, {0x80}, 1, "row 1 of '" MATRIX "' is not numbers from -127 to 127"},
    {6, MATRIX, NULL, MW_U8, 0, {0}, 60, {0x40}, 1, "row 1 of '" MATRIX "' is not numbers from -31 to 31"},
    {5, MATRIX, NULL, MW_U8, 0, {0}, 0, {0, 0}, 2, "row 0 of '" MATRIX "' is not numbers from -15 to 15"},
    {8, MATRIX, NULL, MW_U8, 0, {0}, -1, {0}, 0, "not 32 rows of 80 numbers of 8 bits (i8)"},
    {6, MATRIX, NULL, MW_I8, 0, {0}, -1, {0}, 0, "not 32 rows of 80 numbers of 6 bits (u8)"},
    {8, MATRIX, NULL, MW_I8, 3, {16, 32, 5}, -1, {0}, 0, "not 32 rows of 80"},
    {8, MATRIX, NULL, MW_I8, 2, {32, 80}, -1, {0}, 0, "not 32 rows of 80"},
    {8, MATRIX, NULL, MW_F16, 3, {32, 8, 5}, -1, {0}, 0, "not 32 rows of 80"},
    {6, MATRIX, NULL, MW_U8, 2, {60, 32}, -1, {0}, 0, "not 32 rows of 80"},
    {8, BIAS, NULL, MW_I16, 0, {0}, -1, {0}, 0, "'" BIAS "' is i16, expected floating point"},
};
/* clang-format on */

/* The packed file with one tensor changed. */
static void write_changed(const char *path, const mw_safetensors *file, const hostile_case *c) {
    static mw_tensor list[600];
    static unsigned char bytes[1 << 16];
    mw_error error;
    bool found = false;
    assert_true(file->tensor_count < 600);
    memcpy(list, file->tensors, file->tensor_count * sizeof *list);
    for (size_t i = 0; i < file->tensor_count; i++) {
        mw_tensor *t = &list[i];
        if (strcmp(t->name, c->tensor) != 0) continue;
        found = true;
        assert_true(t->count * mw_dtype_size(t->type) <= sizeof bytes);
        memcpy(bytes, t->data, t->count * mw_dtype_size(t->type));
        for (int k = 0; k < c->count; k++) bytes[c->at + k] = c->bytes[k];
        t->data = bytes;
        t->type = c->type;
        if (c->renamed) t->name = c->renamed;
        if (c->dims) t->dims = c->dims;
        for (int k = 0; k < c->dims; k++) t->shape[k] = (size_t)c->shape[k];
    }
    assert_true(found);
    CHECK_OK(
        mw_safetensors_write(path, list, file->tensor_count, file->metadata, file->metadata_count, &error),
        error);
}

static void hostile(void **state) {
    (void)state;
    const char *from = scratch("from.safetensors"), *to = scratch("to.safetensors"),
               *changed = scratch("changed.safetensors");
    mw_error error;
    mw_bundle *bundle = a_bundle(), *loaded;
    CHECK_OK(mw_bundle_save(bundle, from, true, &error), error);
    mw_bundle_free(bundle);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mw_safetensors file;
        CHECK_OK(mw_bundle_pack(from, to, cases[i].bits, &error), error);
        CHECK_OK(mw_safetensors_open(&file, to, &error), error);
        write_changed(changed, &file, &cases[i]);
        mw_safetensors_close(&file);
        const mw_status status = mw_bundle_load(&loaded, changed, &error);
        if (!cases[i].message) {
            CHECK_OK(status, error);
            mw_bundle_free(loaded);
        } else
            CHECK_FAILS(status, error.status, error, cases[i].message);
    }
}

/* The tensors of a packed bundle under the description of one that is not, and the other way round. */
static void other_descriptions(void **state) {
    (void)state;
    const char *path[] = {scratch("from.safetensors"), scratch("to.safetensors")},
               *mixed = scratch("mixed.safetensors");
    static const char *const messages[] = {"is i8, expected floating point", "numbers of 8 bits (i8)"};
    mw_error error;
    mw_bundle *bundle = a_bundle(), *loaded;
    CHECK_OK(mw_bundle_save(bundle, path[0], true, &error), error);
    mw_bundle_free(bundle);
    CHECK_OK(mw_bundle_pack(path[0], path[1], 8, &error), error);
    mw_safetensors file[2];
    for (int i = 0; i < 2; i++) CHECK_OK(mw_safetensors_open(&file[i], path[i], &error), error);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(mw_safetensors_write(mixed, file[!i].tensors, file[!i].tensor_count, file[i].metadata,
                                      file[i].metadata_count, &error),
                 error);
        CHECK_FAILS(mw_bundle_load(&loaded, mixed, &error), MW_ERR_FORMAT, error, messages[i]);
    }
    for (int i = 0; i < 2; i++) mw_safetensors_close(&file[i]);
}

/* ---- a shipped bundle ---- */

enum { AGENTS = 3, OBS = 33, ACTIONS = 9, DECISIONS = 60 };

static mw_planner *planner_of(mw_bundle **bundle, const char *path) {
    mw_error error;
    mw_planner *planner;
    mw_planner_options options;
    CHECK_OK(mw_bundle_load(bundle, path, &error), error);
    mw_planner_options_init(&options, sizeof options, *bundle);
    options.threads = 1;
    CHECK_OK(mw_planner_create(&planner, *bundle, &options, &error), error);
    mw_planner_begin(planner, 0, 0, NULL);
    return planner;
}

/* The bundle as it is plays 3m; the packed one is asked what it would do, at every step. */
static int agreements(const char *original, const char *path) {
    mw_error error;
    mw_bundle *bundle[2];
    mw_planner *planner[2] = {planner_of(&bundle[0], original), planner_of(&bundle[1], path)};
    mw_env *env;
    float obs[AGENTS * OBS], rewards[AGENTS];
    uint8_t legal[AGENTS * ACTIONS];
    int32_t index[2][AGENTS];
    int same = 0;
    mw_outcome outcome;
    CHECK_OK(mw_env_create(&env, "3m", NULL, &error), error);
    mw_env_reset(env, 1);
    for (int step = 0, episode = 1; step < DECISIONS; step++) {
        mw_env_observe(env, obs);
        mw_env_legal(env, legal);
        for (int i = 0; i < 2; i++)
            CHECK_OK(mw_planner_act(planner[i], obs, legal, NULL, NULL, index[i], &error), error);
        for (int a = 0; a < AGENTS; a++) same += index[0][a] == index[1][a];
        CHECK_OK(mw_env_step(env, (mw_action){.index = index[0]}, rewards, &outcome, &error), error);
        if (!outcome.terminated && !outcome.truncated) continue;
        mw_env_reset(env, (uint64_t)++episode);
        for (int i = 0; i < 2; i++) mw_planner_begin(planner[i], 0, (uint64_t)episode, NULL);
    }
    for (int i = 0; i < 2; i++) {
        mw_planner_free(planner[i]);
        mw_bundle_free(bundle[i]);
    }
    mw_env_free(env);
    return same;
}

/* What is shipped was packed, and its weights would be found again as they are. Here they are moved to
 * anywhere between two such numbers, which lie about a tenth of a matrix's typical weight apart, as
 * training leaves them. */
static void move_weights(const char *path) {
    mw_error error;
    mw_bundle *bundle;
    mw_rng rng = mw_rng_make(4, MW_RNG_TEST, 0, 0, 0);
    CHECK_OK(mw_bundle_load(&bundle, path, &error), error);
    for (int p = 0; p < bundle->count; p++) {
        const mw_model *model = bundle->parts[p].model;
        for (int i = 0; i < model->params->count; i++) {
            const mw_param *param = &model->params->list[i];
            float *values = model->values + param->offset;
            double square = 0;
            if (!mw_packing_takes(param)) continue;
            for (size_t k = 0; k < param->count; k++) square += (double)values[k] * (double)values[k];
            const double half = 0.05 * sqrt(square / (double)param->count);
            for (size_t k = 0; k < param->count; k++) values[k] += (float)mw_rng_range(&rng, -half, half);
        }
    }
    CHECK_OK(mw_bundle_save(bundle, path, true, &error), error);
    mw_bundle_free(bundle);
}

static void shipped(void **state) {
    (void)state;
    const char *original = scratch("3m.safetensors"), *to = scratch("small.safetensors");
    static const struct {
        int bits, least;
        double size;
    } rows[] = {{8, 95, 0.54}, {6, 90, 0.42}};
    struct stat whole, small;
    mw_error error;
    write_plain_bundle(SOURCE_DIR "/bundles/3m-medium.safetensors", original);
    move_weights(original);
    assert_int_equal(stat(original, &whole), 0);
    assert_int_equal(agreements(original, original), AGENTS * DECISIONS);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(mw_bundle_pack(original, to, rows[i].bits, &error), error);
        assert_int_equal(stat(to, &small), 0);
        assert_true((double)small.st_size < rows[i].size * (double)whole.st_size);
        const int same = agreements(original, to);
        print_message("%d bits: %d of %d actions are the same\n", rows[i].bits, same, AGENTS * DECISIONS);
        assert_true(100 * same >= rows[i].least * AGENTS * DECISIONS);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows),    cmocka_unit_test(bundles),
                                       cmocka_unit_test(once),    cmocka_unit_test(hostile),
                                       cmocka_unit_test(shipped), cmocka_unit_test(other_descriptions)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
