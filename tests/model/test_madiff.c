/* MADiff and DoF: gradients against differences, what is known is held, agents that know their own history
 * alone are told no other, and two agents that always moved together are drawn so where they meet. */
#include "differences.h"
#include "model/at_work.h"
#include "model/diffusion/diffusion.h"
#include "model/fit.h"
#include "model/inverse.h"

enum { N = 2, O = 3, D = 3, EPISODES = 64, LENGTH = 9, STEPS = LENGTH * EPISODES };

static float obs[STEPS * N * O], acts[STEPS * N * D], rewards[STEPS * N];
static int32_t choices[STEPS * N];
static uint8_t legal[STEPS * N * D], outcomes[EPISODES];
static int64_t lengths[EPISODES], offsets[EPISODES + 1];
static long episodes[EPISODES];
static int64_t starts[EPISODES + 1];
static int knots[O] = {1, 1, 1}; /* such features stay as they are */
static mw_normalizer same = {.features = O, .max_knots = 1, .count = knots, .value = acts, .fraction = acts};

/* From zero, both agents go up or both go down, and stay; up pays at once. */
static mw_training_data data_of(mw_dataset *dataset, bool discrete) {
    for (int e = 0; e < EPISODES; e++) {
        lengths[e] = LENGTH;
        offsets[e + 1] = LENGTH * (e + 1);
        starts[e + 1] = e + 1; /* first steps alone are presents */
        outcomes[e] = MW_ENDED_BY_LIMIT;
        episodes[e] = e;
    }
    for (int i = 0; i < STEPS * N * O; i++) {
        const int step = i / (N * O), e = step / LENGTH;
        obs[i] = step % LENGTH == 0 ? 0 : e % 2 ? 0.5f : -0.5f;
        rewards[i / O] = (float)(step % LENGTH == 0 && e % 2);
    }
    memset(legal, 1, sizeof legal);
    *dataset = (mw_dataset){.spec = {.agents = N, .obs_size = O, .act_size = D, .discrete = discrete},
                            .episodes = EPISODES,
                            .steps = STEPS,
                            .obs = obs,
                            .real = discrete ? NULL : acts,
                            .index = discrete ? choices : NULL,
                            .legal = discrete ? legal : NULL,
                            .rewards = rewards,
                            .outcomes = outcomes,
                            .lengths = lengths,
                            .offsets = offsets};
    return (mw_training_data){
        .dataset = dataset, .obs_normalizer = &same, .split.train = {EPISODES, episodes, starts, EPISODES}};
}

static void assign(const mw_model_class *class, mw_model_config *config, const char *text) {
    mw_error error;
    char one[64];
    for (; *text; text += strspn(text, " ")) {
        const size_t length = strcspn(text, " ");
        snprintf(one, sizeof one, "%.*s", (int)length, text);
        CHECK_OK(mw_fields_assign(class->fields, config, one, "", &error), error);
        text += length;
    }
}

static mw_model *model_of(const mw_model_class *class, int agents, const char *settings) {
    mw_error error;
    mw_model *model;
    mw_model_config config = {0};
    const mw_model_shape shape = {agents, O, D, false};
    mw_fields_defaults(class->fields, &config);
    assign(class, &config, "dim=16 return_scale=1");
    assign(class, &config, settings);
    CHECK_OK(mw_model_make(&model, class, &config, &shape, &error), error);
    return model;
}

/* Weights away from their start, where attention is switched off. */
static void stir(const mw_params *params, float *values) {
    mw_rng rng = mw_rng_make(31, MW_RNG_TEST, 0, 0, 0);
    mw_params_init(params, values, 30);
    for (int p = 0; p < params->count; p++)
        for (size_t i = 0; i < params->list[p].count; i++)
            values[params->list[p].offset + i] +=
                (float)((strstr(params->list[p].name, "gamma") ? 0.7 : 0.05) * mw_rng_normal(&rng));
}

static const struct {
    const mw_model_class *class;
    const char *settings;
} kinds[] = {
    {&mw_madiff_class, "batch=7"}, {&mw_madiff_class, "batch=7 joint=off"}, {&mw_dof_class, "batch=7"}};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* What the gradient is of: half of the noise loss. */
static double objective(void *context) {
    mw_fit *fit = context;
    double losses[MW_LOSSES];
    mw_fit_refresh(fit);
    mw_fit_run(fit, fit->slots[0], MW_STEP_GRADIENT, losses);
    return losses[0] / 2;
}

static void gradients(void **state) {
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        float *kept[2];
        for (int threads = 1; threads <= 2; threads++) {
            mw_error error;
            mw_dataset dataset;
            mw_training_data data = data_of(&dataset, false);
            CHECK_OK(mw_pool_create(&data.pool, threads, &error), error);
            mw_model *model = model_of(kinds[k].class, N, kinds[k].settings);
            mw_training_part *part;
            CHECK_OK(mw_model_train(&part, model, &data, &error), error);
            mw_fit *fit = (mw_fit *)part;
            float *values = part->optimizer->values;
            const size_t bytes = part->total * sizeof *values;
            stir(model->params, values);
            mw_fit_fill(fit, fit->slots[0], 0, false);
            objective(fit);
            float *grads = kept[threads - 1] = malloc(bytes);
            memcpy(grads, part->optimizer->grads, bytes);
            mw_rng rng = mw_rng_make(7, MW_RNG_TEST, 0, 0, 0);
            for (int trial = 0; threads == 1 && trial < 4; trial++)
                CHECK_ERROR(differences_along(objective, fit, values, grads, part->total, 1e-4, &rng), 0.02,
                            "%s: the gradient", kinds[k].settings);
            const mw_param *last = &model->params->list[model->params->count - 1];
            if (kinds[k].class == &mw_dof_class && threads == 1) {
                assert_string_equal(last->name, "agents.weight");
                CHECK_ERROR(differences_along(objective, fit, values + last->offset, grads + last->offset,
                                              last->count, 1e-2, &rng),
                            0.02, "the agents' weights");
            }
            mw_training_part_free(part);
            mw_model_free(model);
            mw_pool_free(data.pool);
            if (threads == 2) assert_memory_equal(kept[0], kept[1], bytes);
        }
        free(kept[0]);
        free(kept[1]);
    }
}

/* ---- sampling ---- */

enum { C = 4, T = 12, COUNT = 7 };

static mw_model *ready(const mw_model_class *class, int agents, const char *settings) {
    mw_error error;
    mw_model *model = model_of(class, agents, settings);
    CHECK_OK(mw_model_allocate(model, &error), error);
    stir(model->params, model->values);
    mw_model_pack(model);
    return model;
}

static float *values_of(mw_model *model, const char *name, size_t *count) {
    for (int p = 0; p < model->params->count; p++)
        if (!strcmp(model->params->list[p].name, name)) {
            *count = model->params->list[p].count;
            return model->values + model->params->list[p].offset;
        }
    return NULL;
}

static void draw(const mw_model *model, int threads, const float *noise, const float *history,
                 const int *shown, const float *target, int count, float *out) {
    mw_error error;
    mw_pool *pool;
    mw_denoiser *denoiser;
    CHECK_OK(mw_pool_create(&pool, threads, &error), error);
    CHECK_OK(mw_denoiser_create(&denoiser, model, pool, &error), error);
    memcpy(out, noise, (size_t)(count * T * model->shape.agents * O) * sizeof *out);
    mw_denoiser_run(denoiser, out, history, shown, target, count);
    mw_denoiser_free(denoiser);
    mw_pool_free(pool);
}

/* What is known comes out as it went in, what is generated stays in range, and a segment is the same alone.
 */
static void samples(void **state) {
    (void)state;
    static float noise[COUNT * T * N * O], history[COUNT * C * N * O], out[COUNT * T * N * O],
        alone[T * N * O];
    mw_rng rng = mw_rng_make(5, MW_RNG_TEST, 0, 0, 0);
    mw_rng_fill_normal(&rng, noise, COUNT * T * N * O);
    for (int i = 0; i < COUNT * C * N * O; i++) history[i] = (float)mw_rng_range(&rng, -1, 1);
    for (int k = 0; k < KINDS; k++) {
        mw_model *model = ready(kinds[k].class, N, kinds[k].settings);
        int shown[COUNT];
        float target[COUNT];
        for (int j = 0; j < COUNT; j++) {
            shown[j] = mw_diffusion_net_of(model)->shown ? j % N : -1;
            target[j] = 0.3f * (float)j;
        }
        draw(model, 2, noise, history, shown, target, COUNT, out);
        for (int j = 0; j < COUNT; j++) {
            draw(model, 1, noise + j * T * N * O, history + j * C * N * O, shown + j, target + j, 1, alone);
            assert_memory_equal(alone, out + j * T * N * O, sizeof alone);
            for (int at = 0; at < T * N * O; at++) {
                const int t = at / (N * O), i = at / O % N;
                const bool own = shown[j] < 0 || shown[j] == i;
                if (t < C && own) assert_float_equal(alone[at], history[j * C * N * O + at], 0);
                if (t < C - 1 && !own) assert_float_equal(alone[at], 0, 0);
                assert_true(fabsf(alone[at]) <= 1.0001f);
            }
        }
        mw_model_free(model);
    }
}

/* A network that says nothing expects no change, whatever the noise was. */
static void silence(void **state) {
    (void)state;
    static float noise[T * N * O], history[C * N * O], out[T * N * O];
    const int shown = -1;
    const float target = 1;
    size_t count = 0;
    mw_rng rng = mw_rng_make(6, MW_RNG_TEST, 0, 0, 0);
    mw_rng_fill_normal(&rng, noise, T * N * O);
    for (int i = 0; i < C * N * O; i++) history[i] = (float)mw_rng_range(&rng, -1, 1);
    mw_model *model = ready(&mw_madiff_class, N, "scale=1");
    float *weight = values_of(model, "final.1.weight", &count);
    memset(weight, 0, count * sizeof *weight);
    float *bias = values_of(model, "final.1.bias", &count);
    memset(bias, 0, count * sizeof *bias);
    mw_model_pack(model);
    draw(model, 1, noise, history, &shown, &target, 1, out);
    for (int at = C * N * O; at < T * N * O; at++)
        assert_float_equal(out[at], history[(C - 1) * N * O + at % (N * O)], 0.05f);
    mw_model_free(model);
}

/* One agent has nobody to meet: attention starts behind a gate that is shut, and its share is all there is.
 */
static void one_agent(void **state) {
    (void)state;
    static float noise[T * O], history[C * O], one[T * O], other[T * O];
    const int shown = -1;
    const float target = 0.5f;
    size_t count = 0, wanted = 0;
    mw_rng rng = mw_rng_make(9, MW_RNG_TEST, 0, 0, 0);
    mw_rng_fill_normal(&rng, noise, T * O);
    mw_model *joint = ready(&mw_madiff_class, 1, ""), *apart = ready(&mw_dof_class, 1, "");
    for (int p = 0; p < joint->params->count; p++) {
        const mw_param *param = &joint->params->list[p];
        float *to = values_of(apart, param->name, &count);
        if (to) memcpy(to, joint->values + param->offset, count * sizeof *to);
        if (strstr(param->name, "gamma")) joint->values[param->offset] = 0;
    }
    *values_of(apart, "agents.weight", &wanted) = 0.3f;
    mw_model_pack(joint);
    mw_model_pack(apart);
    draw(joint, 1, noise, history, &shown, &target, 1, one);
    draw(apart, 1, noise, history, &shown, &target, 1, other);
    assert_memory_equal(one, other, sizeof one);
    mw_model_free(joint);
    mw_model_free(apart);
}

/* ---- learning ---- */

/* Shares of samples in which both agents moved one way, and up; none may stay between. */
static void ways(const mw_model_class *class, const char *settings, float wanted, double *together,
                 double *up) {
    enum { DRAWN = 60 };
    static float noise[DRAWN * T * N * O], history[DRAWN * C * N * O], out[DRAWN * T * N * O], target[DRAWN];
    static int shown[DRAWN];
    mw_error error;
    mw_dataset dataset;
    mw_training_data data = data_of(&dataset, false);
    CHECK_OK(mw_pool_create(&data.pool, 2, &error), error);
    mw_model *model = model_of(class, N, settings);
    mw_training_part *part;
    CHECK_OK(mw_model_train(&part, model, &data, &error), error);
    CHECK_OK(part->start(part, &error), error);
    double losses[MW_LOSSES];
    for (; part->step < part->steps; part->step++) CHECK_OK(part->advance(part, losses, &error), error);
    CHECK_OK(mw_model_allocate(model, &error), error);
    memcpy(model->values, mw_training_part_weights(part), part->total * sizeof *model->values);
    mw_model_pack(model);
    mw_rng rng = mw_rng_make(8, MW_RNG_TEST, 0, 0, 0);
    mw_rng_fill_normal(&rng, noise, DRAWN * T * N * O);
    for (int j = 0; j < DRAWN; j++) {
        shown[j] = -1;
        target[j] = wanted;
    }
    draw(model, 2, noise, history, shown, target, DRAWN, out);
    int same_way = 0, upwards = 0, between = 0;
    for (int j = 0; j < DRAWN; j++) {
        const float *next = out + (j * T + C) * N * O;
        same_way += (next[0] > 0) == (next[O] > 0);
        upwards += next[0] > 0;
        between += fabsf(next[0]) < 0.25f;
    }
    *together = same_way / (double)DRAWN;
    *up = upwards / (double)DRAWN;
    assert_true(between <= DRAWN / 10);
    mw_training_part_free(part);
    mw_model_free(model);
    mw_pool_free(data.pool);
}

#define LEARN "mults=1,1,1 batch=32 warmup=20 average=0.98 "

/* The mean of what was done is what nobody did: both methods draw one way or the other. Where agents meet
 * they draw the same way; apart they cannot know of each other. A wanted return decides which. */
static void moves_together(void **state) {
    (void)state;
    double together, up;
    ways(&mw_madiff_class, LEARN "steps=1500 drop=1 guidance=0", 1, &together, &up);
    assert_true(together > 0.8 && up > 0.2 && up < 0.8);
    ways(&mw_dof_class, LEARN "steps=500 drop=1 guidance=0", 1, &together, &up);
    assert_true(together > 0.2 && together < 0.8 && up > 0.1 && up < 0.9);
    ways(&mw_dof_class, LEARN "steps=1500 drop=0.25", 1, &together, &up);
    assert_true(up > 0.8);
    ways(&mw_dof_class, LEARN "steps=1500 drop=0.25", 0, &together, &up);
    assert_true(up < 0.2);
}

/* ---- play ---- */

static mw_model *inverse_of(bool discrete) {
    mw_error error;
    mw_model *model;
    mw_model_config config = {0};
    const mw_model_shape shape = {N, O, D, discrete};
    mw_fields_defaults(mw_inverse_class.fields, &config);
    CHECK_OK(mw_model_make(&model, &mw_inverse_class, &config, &shape, &error), error);
    CHECK_OK(mw_model_allocate(model, &error), error);
    mw_params_init(model->params, model->values, 3);
    mw_model_pack(model);
    return model;
}

enum { ENVS = 70 };

/* Actions of all environments at the third of three decisions. */
static void play(mw_model *const models[2], const float *seen, const uint8_t *may, float *real,
                 int32_t *index) {
    mw_error error;
    mw_policy *policy;
    uint64_t episode[ENVS], step[ENVS];
    const mw_policy_class *class = models[1]->kind->policy;
    const mw_policy_context context = {
        (const mw_model *const *)models, 2, models[1], ENVS, &same, NULL, 25, NULL};
    CHECK_OK(class->create(&policy, &context, &error), error);
    for (int e = 0; e < ENVS; e++) class->begin(policy, e);
    for (uint64_t t = 0; t < 3; t++) {
        for (int e = 0; e < ENVS; e++) {
            episode[e] = (uint64_t)e;
            step[e] = t;
        }
        const mw_policy_call call = {seen + t * ENVS * N * O, may, NULL, episode, step, real, index};
        CHECK_OK(class->act(policy, &call, &error), error);
        for (int e = 0; e < ENVS; e++) class->reward(policy, e, 0.25f);
    }
    mw_policy_free(policy);
}

/* Another agent's observations, now or before, change nothing of what an agent does that must not see them;
 * its own do, even those of two steps ago. */
static void sees_its_own(void **state) {
    (void)state;
    enum { ALL = 3 * ENVS * N * O };
    static float seen[ALL], other[ALL], one[ENVS * N * D], two[ENVS * N * D];
    mw_rng rng = mw_rng_make(12, MW_RNG_TEST, 0, 0, 0);
    for (int i = 0; i < ALL; i++) seen[i] = (float)mw_rng_range(&rng, -1, 1);
    for (int k = 0; k < KINDS; k++)
        for (int moved = 0; moved < N; moved++) {
            mw_model *const models[] = {inverse_of(false), ready(kinds[k].class, N, kinds[k].settings)};
            memcpy(other, seen, sizeof seen);
            for (int i = 0; i < (moved ? ALL : ALL / 3); i++) /* agent 0: long ago alone */
                if (i / O % N == moved) other[i] = -seen[i];
            play(models, seen, NULL, one, NULL);
            play(models, other, NULL, two, NULL);
            for (int i = 0; i < N; i++) {
                int changed = 0;
                for (int e = 0; e < ENVS; e++)
                    changed += !!memcmp(one + (e * N + i) * D, two + (e * N + i) * D, D * sizeof *one);
                const bool may = i == moved || (kinds[k].class == &mw_madiff_class &&
                                                mw_diffusion_settings_of(models[1])->joint);
                assert_true(may ? changed > ENVS / 2 : changed == 0);
            }
            mw_model_free(models[0]);
            mw_model_free(models[1]);
        }
}

/* Only what is legal is done; what was earned is no longer wanted, and that is seen in what is done. */
static void legal_and_earned(void **state) {
    (void)state;
    static float seen[3 * ENVS * N * O];
    static uint8_t may[ENVS * N * D];
    static int32_t index[ENVS * N];
    static float real[ENVS * N * D], kept[ENVS * N * D];
    mw_rng rng = mw_rng_make(13, MW_RNG_TEST, 0, 0, 0);
    for (int i = 0; i < 3 * ENVS * N * O; i++) seen[i] = (float)mw_rng_range(&rng, -1, 1);
    for (int i = 0; i < ENVS * N * D; i++) may[i] = i % D == i / D % D;
    mw_model *models[] = {inverse_of(true), ready(&mw_dof_class, N, "")};
    play(models, seen, may, NULL, index);
    for (int i = 0; i < ENVS * N; i++) assert_int_equal(index[i], i % D);
    mw_model_free(models[0]);
    models[0] = inverse_of(false);
    mw_model_free(models[1]);
    models[1] = ready(&mw_dof_class, N, "earn=on wanted=2");
    play(models, seen, NULL, real, NULL);
    mw_model_free(models[1]);
    char rest[64]; /* after 0.25 has come twice, in returns that are discounted */
    snprintf(rest, sizeof rest, "wanted=%.17g", ((2 - 0.25) / 0.99 - 0.25) / 0.99);
    models[1] = ready(&mw_dof_class, N, rest);
    play(models, seen, NULL, kept, NULL);
    assert_memory_equal(real, kept, sizeof real);
    mw_model_free(models[1]);
    models[1] = ready(&mw_dof_class, N, "wanted=2");
    play(models, seen, NULL, kept, NULL);
    assert_memory_not_equal(real, kept, sizeof real);
    mw_model_free(models[0]);
    mw_model_free(models[1]);
}

/* What a method of one model needs comes with it, and is missed where it is not. */
static void parts(void **state) {
    (void)state;
    mw_error error;
    mw_preset preset;
    const unsigned inverse = 1u << mw_model_class_index("inverse");
    for (int i = 0; mw_model_class_at(i); i++) {
        unsigned named = 0;
        if (mw_model_class_at(i)->needs)
            CHECK_OK(mw_model_classes_parse(mw_model_class_at(i)->needs, &named, &error), error);
        assert_int_equal(mw_model_class_parts(i), named | 1u << i);
    }
    CHECK_OK(mw_preset_choose(&preset, "dof", "3m", "good", MW_BUDGET_FULL, &error), error);
    assert_int_equal(preset.parts, inverse | 1u << mw_model_class_index("dof"));
    CHECK_OK(mw_preset_check(&preset, &error), error);
    preset.parts &= ~inverse;
    CHECK_FAILS(mw_preset_check(&preset, &error), MW_ERR_ARGUMENT, error, "dof needs inverse beside it");
}

static void at_work(void **state) {
    (void)state;
    static const char *const settings[] = {"madiff.steps=12", "madiff.dim=16", "madiff.batch=8", NULL};
    at_work_bundle();
    at_work_resume("madiff", settings);
    program_expect(1, "train %/spread -o %/no.safetensors --set parts=madiff",
                   "madiff needs inverse beside it");
    program_expect(0,
                   "train %/spread -o %/m.safetensors --method dof --set dof.steps=12 --set dof.dim=16 "
                   "--set dof.batch=8 --set inverse.steps=20",
                   "written after");
    program_expect(0, "eval %/m.safetensors --seeds 1 --episodes 2 --timed 0", "\ndof ");
    program_expect(1, "train %/spread -o %/no.safetensors --method madiff --set madiff.generated=7",
                   "divisible by 4");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients),        cmocka_unit_test(samples),        cmocka_unit_test(silence),
        cmocka_unit_test(one_agent),        cmocka_unit_test(moves_together), cmocka_unit_test(sees_its_own),
        cmocka_unit_test(legal_and_earned), cmocka_unit_test(parts),          cmocka_unit_test(at_work),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
