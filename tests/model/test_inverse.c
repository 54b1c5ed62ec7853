/* Inverse dynamics: loss and gradient of both kinds against the perceptron written out in double precision,
 * with masked rows and illegal actions; the same bits for any number of threads. */
#include "differences.h"
#include "model/inverse.h"
#include "nn/shards.h"

enum {
    OBS = 4,
    ACT = 5,
    AGENTS = 3,
    INPUTS = 2 * OBS + AGENTS,
    HIDDEN = 9,
    LAYERS = 3,
    ROWS = 11,
    THREADS = 64
};

typedef struct {
    mw_inverse_net net;
    double values[2000];
    float start[2000], pair[ROWS * INPUTS], real[ROWS * ACT], weight[ROWS];
    int32_t index[ROWS];
    uint8_t legal[ROWS * ACT];
    mw_inverse_batch batch;
} fixture;

static fixture *make(bool discrete, bool masked) {
    static fixture f;
    mw_error error = {0};
    CHECK_OK(
        mw_inverse_net_make(&f.net, &(mw_inverse_config){OBS, ACT, AGENTS, HIDDEN, LAYERS, discrete}, &error),
        error);
    assert_true(f.net.params.total <= 2000);
    memset(f.start, 0, sizeof f.start);
    mw_params_init(&f.net.params, f.start, 40);
    for (size_t i = 0; i < f.net.params.total; i++) f.values[i] = f.start[i];
    mw_rng rng = mw_rng_make(41, MW_RNG_TEST, 0, 0, 0);
    for (int r = 0; r < ROWS; r++) {
        float both[2 * OBS];
        mw_rng_fill_normal(&rng, both, 2 * OBS);
        mw_inverse_row(&f.net.config, f.pair + r * INPUTS, both, both + OBS, r % AGENTS);
    }
    mw_rng_fill_normal(&rng, f.real, ROWS * ACT);
    for (int r = 0; r < ROWS; r++) {
        f.index[r] = (int32_t)mw_rng_below(&rng, ACT);
        f.weight[r] = r % 4 == 2 ? 0 : 1 + r % 2;
        for (int i = 0; i < ACT; i++) f.legal[r * ACT + i] = i == f.index[r] || mw_rng_below(&rng, 2);
    }
    f.batch = (mw_inverse_batch){
        f.pair, discrete ? NULL : f.real, discrete ? f.index : NULL, masked ? f.legal : NULL, f.weight, 0};
    return &f;
}

static double row_loss(const fixture *f, int row, const double *out) {
    double loss = 0, most = -INFINITY, sum = 0;
    for (int i = 0; !f->net.config.discrete && i < ACT; i++)
        loss += pow(out[i] - f->real[row * ACT + i], 2) / ACT;
    if (!f->net.config.discrete) return loss;
    for (int i = 0; i < ACT; i++)
        if (!f->batch.legal || f->legal[row * ACT + i]) most = fmax(most, out[i]);
    for (int i = 0; i < ACT; i++)
        if (!f->batch.legal || f->legal[row * ACT + i]) sum += exp(out[i] - most);
    return log(sum) + most - out[f->index[row]];
}

static double objective(void *context) {
    const fixture *f = context;
    double loss = 0, weights = 0;
    for (int r = 0; r < ROWS; r++) {
        double in[16], out[16];
        for (int i = 0; i < INPUTS; i++) in[i] = f->pair[r * INPUTS + i];
        for (int l = 0; l <= LAYERS; l++) {
            const mw_dense *layer = &f->net.mlp.layer[l];
            for (int o = 0; o < layer->out; o++) {
                out[o] = f->values[layer->b + (size_t)o];
                for (int i = 0; i < layer->in; i++)
                    out[o] += in[i] * f->values[layer->w + (size_t)(i * layer->out + o)];
            }
            for (int o = 0; o < layer->out; o++) in[o] = out[o] > 0 ? out[o] : 0;
        }
        loss += f->weight[r] * row_loss(f, r, out);
        weights += f->weight[r];
    }
    return loss / weights;
}

/* Trained in shards, as mw_fit trains it. */
typedef struct {
    const fixture *f;
    mw_shards shards;
    mw_inverse_area areas[THREADS];
} trainer;

static void carve(void *context, mw_arena *arena, int worker) {
    trainer *t = context;
    mw_inverse_area_take(&t->f->net, &t->areas[worker], arena, t->shards.size);
}

static void pack(void *context, int worker) {
    trainer *t = context;
    if (worker == 0) mw_mlp_pack(&t->f->net.mlp, t->shards.optimizer.values, t->shards.packed, true);
}

static double part(void *context, int worker, int begin, int end, float *grads) {
    trainer *t = context;
    return mw_inverse_loss(&t->f->net, &t->f->batch, &t->areas[worker], t->shards.optimizer.values,
                           t->shards.packed, begin, end, grads);
}

static trainer *trainer_of(fixture *f, int shards, mw_pool *pool) {
    static trainer t;
    mw_error error = {0};
    const mw_adam adam = {1e-2f, 0.9f, 0.999f, 1e-8f, 10, 0, 0};
    const mw_params *params = &f->net.params;
    t = (trainer){.f = f};
    f->batch.total = 0;
    for (int row = 0; row < ROWS; row++) f->batch.total += f->weight[row];
    assert_true(mw_pool_threads(pool) <= THREADS);
    const mw_group whole = mw_group_whole(&adam, 0, params->total);
    const mw_shards_shape shape = {params->total, params->packed, &whole, 1, ROWS, shards, false};
    CHECK_OK(mw_shards_create(&t.shards, &shape, pool, carve, &t, &error), error);
    memcpy(t.shards.optimizer.values, f->start, params->total * sizeof(float));
    return &t;
}

static double step(trainer *t, mw_step what) {
    return mw_shards_step(&t->shards, ROWS, what, &(mw_shards_turn){.pack = pack, .part = part}, t);
}

static void loss_and_gradient(void **state) {
    (void)state;
    for (int kind = 0; kind < 3; kind++) /* real, discrete, discrete with illegal actions */
        for (int shards = 1; shards <= 3; shards++) {
            fixture *f = make(kind > 0, kind == 2);
            trainer *t = trainer_of(f, shards, NULL);
            CHECK_NEAR(step(t, MW_STEP_GRADIENT) / objective(f), 1, 2e-6);
            CHECK_ERROR(differences_each(objective, f, f->values, t->shards.optimizer.grads,
                                         f->net.params.total, 1e-6),
                        1e-5, "kind %d, %d shards", kind, shards);
            mw_shards_free(&t->shards);
            mw_inverse_net_free(&f->net);
        }
}

static void steps_keep_their_bits(void **state) {
    (void)state;
    static float first[2000];
    fixture *f = make(true, true);
    FOR_THREADS(threads) {
        mw_pool *pool;
        mw_error error = {0};
        CHECK_OK(mw_pool_create(&pool, threads, &error), error);
        trainer *t = trainer_of(f, 3, pool);
        const float *values = t->shards.optimizer.values;
        const double before = step(t, MW_STEP_UPDATE);
        for (int k = 0; k < 30; k++) step(t, MW_STEP_UPDATE);
        assert_true(step(t, MW_STEP_LOSS) < 0.5 * before);
        if (threads == 1) memcpy(first, values, f->net.params.total * sizeof *first);
        assert_memory_equal(values, first, f->net.params.total * sizeof *first);
        mw_shards_free(&t->shards);
        mw_pool_free(pool);
    }
    mw_inverse_net_free(&f->net);
}

/* Only masked rows: nothing to learn from. */
static void nothing_to_learn(void **state) {
    (void)state;
    fixture *f = make(true, false);
    memset(f->weight, 0, sizeof f->weight);
    trainer *t = trainer_of(f, 2, NULL);
    assert_true(step(t, MW_STEP_UPDATE) == 0);
    assert_memory_equal(t->shards.optimizer.values, f->start, f->net.params.total * sizeof(float));
    mw_shards_free(&t->shards);
    mw_inverse_net_free(&f->net);
}

/* An observation, its successor, which agent; without agents, as in the paper, the pair only. */
static void rows_and_refusals(void **state) {
    (void)state;
    static const float now[] = {1, 2}, next[] = {3, 4}, expected[] = {1, 2, 3, 4, 0, 1, 0};
    mw_inverse_config c = {.obs = 2, .act = 1, .ids = 3, .hidden = 4, .layers = 2};
    float row[7];
    mw_inverse_row(&c, row, now, next, 1);
    assert_memory_equal(row, expected, sizeof row);
    assert_int_equal(mw_inverse_inputs(&c), 7);
    c.ids = 0;
    assert_int_equal(mw_inverse_inputs(&c), 4);
    mw_inverse_net net;
    mw_error error = {0};
    c.layers = 0;
    CHECK_FAILS(mw_inverse_net_make(&net, &c, &error), MW_ERR_ARGUMENT, error, "0 hidden layers");
    c.layers = MW_MLP_LAYERS;
    CHECK_FAILS(mw_inverse_net_make(&net, &c, &error), MW_ERR_ARGUMENT, error, "5 hidden layers");
    c.layers = 2;
    c.ids = 33;
    CHECK_FAILS(mw_inverse_net_make(&net, &c, &error), MW_ERR_ARGUMENT, error, "33 agents");
    c.ids = 0;
    c.hidden = 0;
    CHECK_FAILS(mw_inverse_net_make(&net, &c, &error), MW_ERR_ARGUMENT, error, "hidden 0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loss_and_gradient),
        cmocka_unit_test(steps_keep_their_bits),
        cmocka_unit_test(nothing_to_learn),
        cmocka_unit_test(rows_and_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
