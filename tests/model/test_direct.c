/* The direct return predictor against golden numbers made by others, and at work from training to ranking. */
#include "core/tensor/safetensors.h"
#include "eval/scripted.h"
#include "model/direct.h"
#include "scratch.h"
#include "train/train.h"

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
    CHECK_OK(mw_fields_assign(mw_direct_class.fields, &config, "batch=6", "", &error), error);
    CHECK_OK(mw_model_make(&model, &mw_direct_class, &config, &shape, &error), error);
    return model;
}

static float *floats_of(const mw_safetensors *file, const char *name) {
    mw_error error;
    const mw_tensor *t = mw_safetensors_find(file, name);
    if (!t) fail_msg("no tensor %s", name);
    long shape[8];
    for (int i = 0; i < t->dims; i++) shape[i] = (long)t->shape[i];
    float *out = calloc(t->count, sizeof *out);
    CHECK_OK(mw_safetensors_floats(file, name, t->dims, shape, out, &error), error);
    return out;
}

static double distance(const float *a, const float *b, size_t count) {
    double worst = 0, largest = 1;
    for (size_t i = 0; i < count; i++) {
        worst = fmax(worst, fabs((double)a[i] - (double)b[i]));
        largest = fmax(largest, fabs((double)b[i]));
    }
    return worst / largest;
}

/* A training on one episode of nothing, whose batches the test writes itself. */
static mw_fit *fit_of(mw_training_part **part, const mw_model *model, int obs, int act, int horizon) {
    static float zeros[4096];
    static int64_t length[1], offsets[2];
    static long episode[1];
    static mw_dataset dataset;
    static mw_training_data data;
    mw_error error;
    length[0] = offsets[1] = horizon;
    dataset = (mw_dataset){.spec = {.agents = 3, .obs_size = obs, .act_size = act},
                           .episodes = 1,
                           .steps = horizon,
                           .obs = zeros,
                           .real = zeros,
                           .rewards = zeros,
                           .lengths = length,
                           .offsets = offsets};
    data = (mw_training_data){.dataset = &dataset, .split.train = {.count = 1, .episodes = episode}};
    CHECK_OK(mw_model_train(part, model, &data, &error), error);
    return (mw_fit *)*part;
}

/* Scores, loss, gradient and three steps of Adam. */
static void golden(const char *task, int obs, int act, int horizon) {
    mw_error error;
    mw_safetensors file;
    char path[256];
    snprintf(path, sizeof path, TEST_DATA "/selectors/%s/direct.safetensors", task);
    CHECK_OK(mw_safetensors_open(&file, path, &error), error);
    mw_model *model = model_of(3, obs, act, horizon, "hidden=64");
    const mw_value_net *net = model->net;
    CHECK_OK(mw_model_allocate(model, &error), error);
    for (int i = 0; i < model->params->count; i++) {
        const mw_param *param = &model->params->list[i];
        if (!strncmp(param->name, "scale.", 6)) continue;
        float *in = floats_of(&file, mw_name_of("weight.%s", param->name).text);
        mw_param_from_file(param, in, model->values);
        free(in);
    }
    float *mean = floats_of(&file, "target_mean"), *std = floats_of(&file, "target_std");
    model->values[net->mean] = *mean;
    model->values[net->std] = *std;
    mw_model_pack(model);

    const size_t joint = (size_t)(3 * obs), length = (size_t)(horizon * 3 * act);
    float *score_obs = floats_of(&file, "in.score_obs"), *score_acts = floats_of(&file, "in.score_acts"),
          *expected = floats_of(&file, "out.scores"), *starts = calloc(16 * joint, sizeof *starts),
          scores[16];
    for (size_t q = 0; q < 16; q++)
        memcpy(starts + q * joint, score_obs + q / 8 * joint, joint * sizeof *starts);
    mw_scorer *scorer;
    mw_scorer_context context = {.model = model, .max_rows = 16, .horizon = horizon};
    CHECK_OK(mw_direct_class.scorer->create(&scorer, &context, &error), error);
    const mw_scoring call = {
        .scores = scores, .obs = starts, .actions = score_acts, .count = 16, .horizon = horizon, .group = 8};
    CHECK_OK(mw_scorer_score(scorer, &call, &error), error);
    printf("  %s scores: %.1e\n", task, distance(scores, expected, 16));
    assert_true(distance(scores, expected, 16) < 1e-5);
    mw_scorer_free(scorer);
    context.horizon++;
    CHECK_FAILS(mw_direct_class.scorer->create(&scorer, &context, &error), MW_ERR_ARGUMENT, error,
                "steps, not");

    float *obs_in = floats_of(&file, "in.obs"), *acts_in = floats_of(&file, "in.acts"),
          *z = floats_of(&file, "out.standardised_return"), *loss = floats_of(&file, "out.loss");
    const int rows = (int)mw_safetensors_find(&file, "in.obs")->shape[0];
    mw_training_part *part;
    mw_fit *fit = fit_of(&part, model, obs, act, horizon);
    memcpy(part->optimizer->values, model->values, model->params->total * sizeof(float));
    const mw_direct_batch *slot = fit->slots[0];
    assert_int_equal(fit->settings->batch, rows);
    for (size_t r = 0; r < (size_t)rows; r++) {
        memcpy(slot->x + r * (joint + length), obs_in + r * joint, joint * sizeof(float));
        memcpy(slot->x + r * (joint + length) + joint, acts_in + r * length, length * sizeof(float));
        slot->z[r] = z[r];
    }
    double seen;
    mw_fit_run(fit, slot, false, &seen);
    CHECK_NEAR(seen, *loss, 1e-5 * (1 + (double)fabsf(*loss)));
    for (int i = 0; i < model->params->count; i++) {
        const mw_param *param = &model->params->list[i];
        if (!strncmp(param->name, "scale.", 6)) continue;
        float *want = floats_of(&file, mw_name_of("grad.%s", param->name).text),
              *got = calloc(param->count, sizeof *got);
        double worst = 0, largest = 0;
        mw_param_to_file(param, part->optimizer->grads, got);
        for (size_t k = 0; k < param->count; k++) {
            worst = fmax(worst, fabs((double)got[k] - (double)want[k]));
            largest = fmax(largest, fabs((double)want[k]));
        }
        if (!(worst <= 1e-4 * largest)) fail_msg("%s: gradient off by %g of %g", param->name, worst, largest);
        free(want);
        free(got);
    }
    part->optimizer->adam.rate = 3e-4f;
    for (int i = 0; i < 3; i++) mw_fit_run(fit, slot, true, &seen);
    for (int i = 0; i < model->params->count; i++) {
        const mw_param *param = &model->params->list[i];
        if (!strncmp(param->name, "scale.", 6)) continue;
        float *want = floats_of(&file, mw_name_of("adam3.%s", param->name).text),
              *got = calloc(param->count, sizeof *got);
        mw_param_to_file(param, part->optimizer->values, got);
        for (size_t k = 0; k < param->count; k++) CHECK_NEAR(got[k], want[k], 1e-4);
        free(want);
        free(got);
    }
    mw_training_part_free(part);
    float *const all[] = {mean, std, score_obs, score_acts, expected, starts, obs_in, acts_in, z, loss};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    mw_model_free(model);
    mw_safetensors_close(&file);
}

static void golden_numbers(void **state) {
    (void)state;
    golden("spread", 18, 2, 8);
    golden("3m", 33, 9, 3);
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

static int program(const char *arguments) {
    char command[2000];
    snprintf(command, sizeof command, "cd '%s' && '%s' %s > out.txt 2>&1", scratch_folder, MAWAM_PROGRAM,
             arguments);
    return system(command);
}

static bool printed(const char *what) {
    static char text[1 << 16];
    const size_t size = scratch_read(scratch("out.txt"), text, sizeof text - 1);
    text[size] = 0;
    return strstr(text, what) != NULL;
}

/* Trained next to the others, then as an arm, in a diagnosis and in help, by its name alone. */
static void at_work(void **state) {
    (void)state;
    static const char tiny[] =
        "--set flow.dim=16 --set flow.mults=1,1,1 --set flow.steps=4 --set flow.batch=4 "
        "--set inverse.steps=4 --set inverse.hidden=8 --set rwm.steps=4 --set rwm.hidden=8";
    char line[1500];
    scripted_make(scratch("spread"), "spread", "greedy", 1.5, 40, 1);
    snprintf(line, sizeof line, "train spread -o a.safetensors %s", tiny);
    assert_int_equal(program(line), 0);
    assert_int_equal(program("train spread -o b.safetensors --only direct --with a.safetensors "
                             "--set direct.steps=60 --set direct.hidden=32 --set direct.rate=0.003"),
                     0);
    assert_true(printed("direct: held-out return"));
    assert_int_equal(program("eval b.safetensors --arms reactive,direct --seeds 1 --episodes 2 --timed 0"),
                     0);
    assert_true(printed("direct"));
    assert_int_equal(program("eval a.safetensors --arms direct --seeds 1 --episodes 1 --timed 0"), 256);
    assert_int_equal(program("diagnose b.safetensors --anchors 4 --scorer direct"), 0);
    assert_true(printed("same state, candidates as drawn") && printed("direct"));
    assert_int_equal(program("eval --help"), 0);
    assert_true(printed("predicted at once by an MLP"));
    mw_error error;
    mw_bundle *bundle;
    CHECK_OK(mw_bundle_load(&bundle, scratch("b.safetensors"), &error), error);
    const json_t *held = json_object_get(
        json_object_get(mw_bundle_find(bundle, "direct")->provenance.details, "held"), "return");
    printf("  held-out share of the returns' variance: %.3f\n", json_number_value(held));
    assert_true(json_number_value(held) < 1);
    mw_bundle_free(bundle);
}

static int teardown(void **state) {
    (void)state;
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", scratch_folder);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(golden_numbers), cmocka_unit_test(sizes),
                                       cmocka_unit_test(at_work)};
    return cmocka_run_group_tests(tests, scratch_setup, teardown);
}
