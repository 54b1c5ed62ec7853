/* The decision transformer: gradients against differences of the loss, what a window holds, that history and
 * the wanted return decide what is done, and at work as an arm. */
#include "model/at_work.h"
#include "model/fit.h"

#include "allocations.h"
#include "differences.h"

enum { N = 2, O = 3, D = 3, LENGTH = 8, EPISODES = 60, STEPS = EPISODES * LENGTH };

static float obs[STEPS * N * O], acts[STEPS * N * D], rewards[STEPS * N];
static int32_t choices[STEPS * N];
static uint8_t legal[STEPS * N * D], outcomes[EPISODES];
static int64_t lengths[EPISODES], offsets[EPISODES + 1];
static long episodes[EPISODES];
static mw_moments moments[O] = {{.std = 1, .scale = 1}, {.std = 1, .scale = 1}, {.std = 1, .scale = 1}};

/* An agent does what the first value of its last observation said, or in every other episode the opposite,
 * which earns nothing. */
static bool upwards(const float *all, int t, int i, bool good) {
    return (t > 0 && all[((t - 1) * N + i) * O] > 0) == good;
}

static mw_training_data data_of(mw_dataset *dataset, bool discrete) {
    mw_rng rng = mw_rng_make(5, MW_RNG_TEST, 0, 0, 0);
    mw_rng_fill_normal(&rng, obs, STEPS * N * O);
    for (int e = 0; e < EPISODES; e++) {
        episodes[e] = e;
        lengths[e] = LENGTH;
        offsets[e + 1] = offsets[e] + LENGTH;
        outcomes[e] = MW_ENDED_BY_WORLD;
    }
    for (int i = 0; i < STEPS * N; i++) {
        const int episode = i / (LENGTH * N), t = i / N % LENGTH;
        const bool good = episode % 2 == 0, up = upwards(obs + episode * LENGTH * N * O, t, i % N, good);
        for (int k = 0; k < D; k++) acts[i * D + k] = k ? 0.2f : up ? 0.6f : -0.6f;
        for (int k = 0; k < D; k++) legal[i * D + k] = k != 1;
        choices[i] = up ? 2 : 0;
        rewards[i] = good ? (float)(1 + i % N) / 1.5f : 0; /* 1 as the mean over agents */
    }
    *dataset = (mw_dataset){.spec = {.agents = N, .obs_size = O, .act_size = D, .episode_limit = LENGTH},
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
    return (mw_training_data){.dataset = dataset,
                              .split.train = {.count = EPISODES, .episodes = episodes},
                              .stats = {.obs_size = O, .act_size = D, .obs = moments}};
}

extern const mw_model_class mw_madt_class;

typedef struct {
    mw_dataset dataset;
    mw_training_data data;
    mw_model *model;
    mw_training_part *part;
    mw_fit *fit;
} trained;

static void open_training(trained *x, bool discrete, const char *settings) {
    mw_error error;
    mw_model_config config = {0};
    const mw_model_shape shape = {N, O, D, discrete};
    x->data = data_of(&x->dataset, discrete);
    CHECK_OK(mw_pool_create(&x->data.pool, 2, &error), error);
    mw_fields_defaults(mw_madt_class.fields, &config);
    CHECK_OK(mw_fields_assign(mw_madt_class.fields, &config, "times=8 return_scale=8", "", &error), error);
    CHECK_OK(mw_fields_assign(mw_madt_class.fields, &config, settings, "", &error), error);
    CHECK_OK(mw_model_make(&x->model, &mw_madt_class, &config, &shape, &error), error);
    CHECK_OK(mw_model_train(&x->part, x->model, &x->data, &error), error);
    x->fit = (mw_fit *)x->part;
}

static void close_training(trained *x) {
    mw_training_part_free(x->part);
    mw_model_free(x->model);
    mw_pool_free(x->data.pool);
}

static double objective(void *context) {
    mw_fit *fit = context;
    double losses[MW_LOSSES];
    mw_fit_run(fit, fit->slots[0], MW_STEP_GRADIENT, losses);
    return losses[0];
}

static void gradients(void **state) {
    (void)state;
    for (int discrete = 0; discrete < 2; discrete++) {
        trained x;
        open_training(&x, discrete, "width=8 window=3 batch=7");
        mw_fit_fill(x.fit, x.fit->slots[0], 0, false);
        objective(x.fit);
        const size_t total = mw_params_find(x.model->params, "scale.mean")->offset; /* units do not learn */
        float *grads = malloc(total * sizeof *grads), largest = 0;
        memcpy(grads, x.part->optimizer->grads, total * sizeof *grads);
        int seen = 0;
        for (size_t i = 0; i < total; i++) largest = fmaxf(largest, fabsf(grads[i]));
        for (size_t i = 0; i < total; i++) {
            float *value = x.part->optimizer->values + i;
            const float kept = *value, up = kept + 2e-3f, down = kept - 2e-3f;
            *value = up;
            const double above = objective(x.fit);
            *value = down;
            const double below = objective(x.fit);
            *value = kept;
            seen += grads[i] != 0;
            CHECK_ERROR(fabs((above - below) / ((double)up - (double)down) - (double)grads[i]),
                        2e-3 * (double)largest, "weight %zu", i);
        }
        assert_true(seen > 1000);
        free(grads);
        close_training(&x);
    }
}

/* The slot's arrays by their names in the class's table. */
static void *array_of(const trained *x, void *slot, const char *name) {
    for (int i = 0; i < x->fit->kind->field_count; i++) {
        const mw_slot_field *field = &x->fit->kind->fields[i];
        void *at;
        memcpy(&at, (char *)slot + field->offset, sizeof at);
        if (!strcmp(field->name, name) && at) return at;
    }
    fail_msg("no field %s", name);
    return NULL;
}

enum { WINDOW = 5, DIES = 4 }; /* in every third episode the last agent is dead from this step on */

/* Whose observation this is. */
static long place_of(const float *first) {
    for (long i = 0; i < STEPS * N; i++)
        if (!memcmp(obs + i * O, first, O * sizeof *first)) return i;
    return -1;
}

/* The latest step stands last, actions and returns are those of their steps, and nobody is followed beyond
 * death. */
static void windows(void **state) {
    (void)state;
    trained x;
    open_training(&x, true, "width=8 window=5 batch=64");
    for (int i = 0; i < STEPS * N; i++)
        if (i / (LENGTH * N) % 3 == 0 && i % N == N - 1 && i / N % LENGTH >= DIES)
            for (int k = 0; k < D; k++) legal[i * D + k] = k == 0;
    mw_training_part_free(x.part);
    mw_error error;
    CHECK_OK(mw_model_train(&x.part, x.model, &x.data, &error), error);
    x.fit = (mw_fit *)x.part;
    void *slot = x.fit->slots[0];
    mw_fit_fill(x.fit, slot, 3, false);
    const float *seen = array_of(&x, slot, "in.obs"), *prev = array_of(&x, slot, "in.prev"),
                *to_go = array_of(&x, slot, "in.return_to_go");
    const int32_t *choice = array_of(&x, slot, "in.choice"), *time = array_of(&x, slot, "in.time"),
                  *agent = array_of(&x, slot, "in.agent"), *count = array_of(&x, slot, "count");
    const uint8_t *valid = array_of(&x, slot, "in.valid");
    int steps = 0, shorter = 0, last = 0;
    for (int at = 0; at < 64 * WINDOW; at++) {
        const int row = at / WINDOW;
        shorter += !valid[at];
        if (!valid[at]) {
            assert_true(at % WINDOW < WINDOW - 1 && (!valid[at + 1] || time[at + 1] == 0));
            continue;
        }
        steps++;
        const long place = place_of(seen + at * O);
        const int episode = (int)(place / (LENGTH * N)), t = (int)(place / N % LENGTH);
        assert_true(place >= 0 && place % N == agent[row] && t == time[at]);
        assert_true(at % WINDOW == 0 || !valid[at - 1] || time[at - 1] == t - 1);
        assert_true(choice[at] == choices[place]);
        for (int k = 0; k < D; k++) assert_true(prev[at * D + k] == (t > 0 && choices[place - N] == k));
        CHECK_NEAR(to_go[at], episode % 2 ? 0 : LENGTH - t, 1e-5);
        assert_true(episode % 3 || agent[row] == 0 || t < DIES);
        last += t == LENGTH - 1;
    }
    assert_true(count[0] == steps && shorter > 20 && last > 3);
    close_training(&x);
}

/* What padding holds does not matter, not even if it is no number. */
static void padding(void **state) {
    (void)state;
    trained x;
    open_training(&x, false, "width=8 window=5 batch=16");
    void *slot = x.fit->slots[0];
    mw_fit_fill(x.fit, slot, 0, false);
    const double before = objective(x.fit);
    const uint8_t *valid = array_of(&x, slot, "in.valid");
    float *seen = array_of(&x, slot, "in.obs"), *prev = array_of(&x, slot, "in.prev"),
          *act = array_of(&x, slot, "in.act");
    int padded = 0;
    for (int at = 0; at < 16 * WINDOW; at++) {
        if (valid[at]) continue;
        padded++;
        for (int k = 0; k < O; k++) seen[at * O + k] = NAN;
        for (int k = 0; k < D; k++) prev[at * D + k] = act[at * D + k] = NAN;
    }
    assert_true(padded > 0 && objective(x.fit) == before);
    close_training(&x);
}

/* ---- play ---- */

static void train_whole(trained *x) {
    mw_error error;
    double losses[MW_LOSSES];
    CHECK_OK(x->part->start(x->part, &error), error);
    for (; x->part->step < x->part->steps; x->part->step++)
        CHECK_OK(x->part->advance(x->part, losses, &error), error);
    CHECK_OK(mw_model_allocate(x->model, &error), error);
    memcpy(x->model->values, mw_training_part_weights(x->part), x->part->total * sizeof *x->model->values);
    mw_model_pack(x->model);
}

enum { ENVS = 20 };

typedef struct {
    float obs[LENGTH][ENVS][N * O], real[LENGTH][ENVS][N * D];
    int32_t index[LENGTH][ENVS][N];
} played;

/* Plays an episode in every environment but the fourth; every step earns the reward. */
static void play(const trained *x, mw_pool *pool, const char *target, float reward, played *p) {
    mw_error error;
    mw_policy *policy;
    uint64_t episode[ENVS] = {0}, step[ENVS] = {0};
    uint8_t active[ENVS], allowed[ENVS * N * D];
    const bool discrete = x->model->shape.discrete;
    for (int i = 0; i < ENVS * N * D; i++) allowed[i] = i % D != 1;
    for (int e = 0; e < ENVS; e++) active[e] = e != 3;
    CHECK_OK(mw_fields_assign(mw_madt_class.fields, &x->model->config, target, "", &error), error);
    const mw_policy_context context = {.model = x->model, .envs = ENVS, .pool = pool};
    CHECK_OK(mw_madt_class.policy->create(&policy, &context, &error), error);
    for (int round = 0; round < 2; round++) { /* an episode is forgotten with the next one's beginning */
        for (int e = 0; e < ENVS; e++) policy->kind->begin(policy, e);
        for (int t = 0; t < (round ? LENGTH : 3); t++) {
            const mw_policy_call call = {
                p->obs[round ? t : 5 - t][0],    discrete ? allowed : NULL,       active, episode, step,
                discrete ? NULL : p->real[t][0], discrete ? p->index[t][0] : NULL};
            const long before = allocations();
            CHECK_OK(policy->kind->act(policy, &call, &error), error);
            assert_true(allocations() == before);
            for (int e = 0; e < ENVS; e++) policy->kind->reward(policy, e, reward);
        }
    }
    mw_policy_free(policy);
}

static void look_around(played *p) {
    mw_rng rng = mw_rng_make(6, MW_RNG_TEST, 0, 0, 0);
    memset(p, 0, sizeof *p);
    mw_rng_fill_normal(&rng, p->obs[0][0], LENGTH * ENVS * N * O);
    for (int t = 0; t < LENGTH; t++)
        for (int i = 0; i < N; i++) p->index[t][3][i] = -7;
}

/* The share of decisions that are as in good episodes. */
static double share_good(const trained *x, const played *p) {
    int same = 0, all = 0;
    for (int t = 1; t < LENGTH; t++)
        for (int e = 0; e < ENVS; e++)
            for (int i = 0; i < N; i++) {
                const bool up = p->obs[t - 1][e][i * O] > 0;
                const bool seen =
                    x->model->shape.discrete ? p->index[t][e][i] == 2 : p->real[t][e][i * D] > 0;
                if (e == 3) continue;
                if (x->model->shape.discrete) assert_true(p->index[t][e][i] != 1);
                same += up == seen;
                all++;
            }
    return (double)same / all;
}

/* It remembers what it saw, and does what led to the return that is asked for. */
static void remembers_and_obeys(void **state) {
    (void)state;
    static played p, other;
    for (int discrete = 0; discrete < 2; discrete++) {
        trained x;
        open_training(&x, discrete, "width=32 window=3 batch=48 steps=500 rate=0.003");
        train_whole(&x);
        look_around(&p);
        play(&x, NULL, "target=8", 1, &p);
        const double high = share_good(&x, &p);
        assert_int_equal(p.index[4][3][0], -7); /* who is not active is left alone */

        /* the same on two threads, whatever the other agent sees */
        look_around(&other);
        for (int i = 0; i < LENGTH * ENVS * N * O; i++)
            if (i / O % N == 1) other.obs[i / (ENVS * N * O)][i / (N * O) % ENVS][i % (N * O)] += 0.7f;
        play(&x, x.data.pool, "target=8", 1, &other);
        int differs = 0;
        for (int t = 0; t < LENGTH; t++)
            for (int e = 0; e < ENVS; e++) {
                assert_memory_equal(p.real[t][e], other.real[t][e], D * sizeof(float));
                assert_int_equal(p.index[t][e][0], other.index[t][e][0]);
                differs += p.index[t][e][1] != other.index[t][e][1] || p.real[t][e][D] != other.real[t][e][D];
            }
        assert_true(differs > 0);

        look_around(&p);
        play(&x, NULL, "target=0", 0, &p);
        const double low = share_good(&x, &p);
        if (!(high > 0.9 && low < 0.1)) fail_msg("asked for much %g, for nothing %g", high, low);
        close_training(&x);
    }
}

/* With a window of one step there is nothing to remember. */
static void one_step_remembers_nothing(void **state) {
    (void)state;
    static played p;
    trained x;
    open_training(&x, true, "width=32 window=1 batch=144 steps=300 rate=0.003");
    train_whole(&x);
    look_around(&p);
    play(&x, NULL, "target=8", 1, &p);
    const double share = share_good(&x, &p);
    if (!(share > 0.3 && share < 0.7)) fail_msg("%g", share);
    close_training(&x);
}

static void at_work(void **state) {
    (void)state;
    static const char *const settings[] = {"madt.steps=20", "madt.width=16", "madt.batch=16", NULL};
    at_work_bundle();
    program_expect(0,
                   "train %/spread -o %/b.safetensors --only madt --with %/a.safetensors --set madt.steps=20 "
                   "--set madt.width=16",
                   "written after");
    program_expect(0, "eval %/b.safetensors --arms reactive,madt --seeds 1 --episodes 2 --timed 2", "madt ");
    program_expect(1,
                   "train %/spread -o %/c.safetensors --only madt --with %/a.safetensors --set madt.heads=3",
                   "expected a multiple of madt.heads, which is 3, found 64");
    program_expect(0, "eval --help", "continues its own history");
    at_work_resume("madt", settings);

    /* what the data settles is in the bundle */
    mw_error error;
    mw_bundle *bundle;
    CHECK_OK(mw_bundle_load(&bundle, scratch("b.safetensors"), &error), error);
    const mw_model *model = mw_bundle_model(bundle, "madt");
    assert_null(mw_fields_open(model->kind->fields, &model->config));
    assert_int_equal(mw_params_find(model->params, "time.table")->shape[0], bundle->info.episode_limit);
    mw_bundle_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients),
                                       cmocka_unit_test(windows),
                                       cmocka_unit_test(padding),
                                       cmocka_unit_test(remembers_and_obeys),
                                       cmocka_unit_test(one_step_remembers_nothing),
                                       cmocka_unit_test(at_work)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
