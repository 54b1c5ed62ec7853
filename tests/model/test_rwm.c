/* The world model, both variants: outputs, losses and every gradient against a reference in double precision;
 * rollouts against single steps; the same bits for any number of threads and any split of a batch; what bad
 * numbers and empty batches do. */
#include "allocations.h"
#include "model/rwm_reference.h"
#include "model/rwm/rwm.h"

static const mw_world_config configs[] = {
    /* n, o, d, hidden, experts, slots, reward experts, top, standardise, reward and dynamics features,
       shared, mean_agents, concat_agents */
    {3, 5, 2, 9, 2, 2, 4, 2, false, 0, 0, 0, false, false},
    {3, 5, 2, 9, 3, 2, 4, 2, true, 6, 0, 0, false, false},
    {1, 4, 3, 17, 2, 1, 3, 1, true, 5, 4, 7, true, false},
    {2, 3, 1, 5, 1, 1, 1, 1, true, 0, 0, 6, false, true},
    {4, 6, 2, 8, 2, 3, 5, 3, false, 0, 0, 0, false, false},
    {2, 7, 3, 11, 3, 2, 4, 4, true, 17, 3, 0, true, false},
    {3, 5, 2, 9, 2, 1, 3, 2, true, 4, 6, 10, true, false},
    {3, 5, 2, 9, 2, 1, 3, 2, true, 4, 6, 10, true, true},
    {5, 16, 4, 12, 8, 4, 2, 1, true, 1, 9, 13, true, false},
    {2, 4, 2, 8, 3, 1, 7, 6, true, 2, 0, 0, false, false}, /* more than half of many reward experts */
};
enum { CONFIGS = sizeof configs / sizeof *configs, BATCH = 7 };

/* A network with its weights, and data to go with it. */
typedef struct {
    mw_world_net net;
    float *values, *packed;
    float obs[64 * 128], act[64 * 8 * 64], next_obs[64 * 128], reward[64 * 8];
    mw_transition_batch batch;
} fixture;

static float *floats(size_t count) {
    float *at = aligned_alloc(64, (count * sizeof(float) / 64 + 1) * 64);
    assert_non_null(at);
    memset(at, 0, count * sizeof *at);
    return at;
}

static void draw_values(const mw_world_net *net, float *values) {
    mw_rng rng = mw_rng_make(20, MW_RNG_TEST, 0, 0, 0);
    mw_params_init(&net->params, values, 21);
    for (int p = 0; p < net->params.count; p++) { /* away from the start, where all norms are 1 */
        const mw_param *param = &net->params.list[p];
        const bool scale = strstr(param->name, "_scale") != NULL;
        for (size_t i = 0; i < param->count; i++)
            values[param->offset + i] +=
                (float)(0.2 * (scale ? fabs(mw_rng_normal(&rng)) : mw_rng_normal(&rng)));
    }
}

static fixture *make(const mw_world_config *config, int batch) {
    static fixture f;
    mw_error error = {0};
    CHECK_OK(mw_world_net_make(&f.net, config, &error), error);
    f.values = floats(f.net.params.total);
    f.packed = floats(f.net.params.packed);
    draw_values(&f.net, f.values);
    mw_world_net_pack(&f.net, f.values, f.packed, false, 0, 1);
    mw_rng rng = mw_rng_make(22, MW_RNG_TEST, 0, 0, 0);
    mw_rng_fill_normal(&rng, f.obs, sizeof f.obs / sizeof *f.obs);
    mw_rng_fill_normal(&rng, f.act, sizeof f.act / sizeof *f.act);
    mw_rng_fill_normal(&rng, f.next_obs, sizeof f.next_obs / sizeof *f.next_obs);
    mw_rng_fill_normal(&rng, f.reward, sizeof f.reward / sizeof *f.reward);
    f.batch = (mw_transition_batch){
        .count = batch, .obs = f.obs, .act = f.act, .next_obs = f.next_obs, .reward = f.reward};
    return &f;
}

static void drop(fixture *f) {
    free(f->values);
    free(f->packed);
    mw_world_net_free(&f->net);
}

static mw_pool *pool_of(int threads) {
    mw_pool *pool = NULL;
    mw_error error = {0};
    if (threads) CHECK_OK(mw_pool_create(&pool, threads, &error), error);
    return pool;
}

static mw_world_trainer *trainer_of(const fixture *f, float decay, int max_batch, mw_pool *pool) {
    mw_world_trainer *trainer;
    mw_error error = {0};
    const mw_adam adam = {3e-3f, 0.9f, 0.999f, 1e-8f, 10, 0, 0};
    CHECK_OK(mw_world_trainer_create(&trainer, &f->net, &adam, decay, max_batch, pool, &error), error);
    mw_optimizer *o = mw_world_trainer_optimizer(trainer);
    memcpy(o->values, f->values, f->net.params.total * sizeof(float));
    if (o->average) memcpy(o->average, f->values, f->net.params.total * sizeof(float));
    return trainer;
}

/* One step of the model on a pool. */
typedef struct {
    const fixture *f;
    mw_world_work *work;
    const float *obs, *act;
    float *next, *reward;
    int count;
} pass;

static void pass_body(void *context, int worker) {
    const pass *p = context;
    mw_world_forward(&p->f->net, p->work, p->f->values, p->f->packed, p->obs, p->act, p->next, p->reward,
                     p->count, worker);
}

static void step(const fixture *f, int threads, const float *obs, const float *act, float *next,
                 float *reward, int count) {
    mw_error error = {0};
    mw_pool *pool = pool_of(threads);
    mw_world_work *work;
    CHECK_OK(mw_world_work_create(&work, &f->net, count, false, pool, &error), error);
    mw_pool_run(pool, pass_body, &(pass){f, work, obs, act, next, reward, count});
    mw_world_work_free(work);
    mw_pool_free(pool);
}

/* ---- against the reference ---- */

/* Selected experts of the engine against all experts of the reference. */
static void outputs_and_losses(void **state) {
    (void)state;
    static world_reference r;
    static double values[60000];
    for (int i = 0; i < CONFIGS; i++) {
        fixture *f = make(&configs[i], BATCH);
        const mw_world_config *c = &f->net.config;
        static float next[REFERENCE_ROWS * 16], reward[REFERENCE_ROWS];
        assert_true(f->net.params.total <= 60000);
        for (size_t k = 0; k < f->net.params.total; k++) values[k] = f->values[k];
        r = (world_reference){.net = &f->net, .values = values, .batch = f->batch};
        const double total = reference_loss(&r);
        step(f, 2, f->obs, f->act, next, reward, BATCH);
        CHECK_ERROR(differences_relative(next, r.next, (size_t)(BATCH * c->agents * c->obs)), 2e-6,
                    "next, configuration %d", i);
        CHECK_ERROR(differences_relative(reward, r.reward, (size_t)(BATCH * c->agents)), 5e-6,
                    "reward, configuration %d", i);
        mw_world_trainer *trainer = trainer_of(f, 0, BATCH, NULL);
        for (int backward = 0; backward < 2; backward++) {
            const mw_world_loss loss = backward ? mw_world_trainer_step(trainer, &f->batch, false)
                                                : mw_world_trainer_loss(trainer, &f->batch, false);
            CHECK_NEAR(loss.total / total, 1, 3e-6);
            CHECK_NEAR(loss.dynamics / r.dynamics_loss, 1, 3e-6);
            CHECK_NEAR(loss.reward / r.reward_loss, 1, 5e-6);
            CHECK_NEAR(loss.balance / r.balance_loss, 1, 3e-6);
        }
        mw_world_trainer_free(trainer);
        drop(f);
    }
}

/* Every coordinate of every tensor; the error is relative to the tensor's largest slope. The reference holds
 * the next observation that the reward sees fixed, as the model does. */
static void gradients(void **state) {
    (void)state;
    static world_reference r;
    static double values[60000];
    for (int i = 0; i + 1 < CONFIGS; i++) { /* the last is too large to move every weight */
        fixture *f = make(&configs[i], BATCH);
        for (size_t k = 0; k < f->net.params.total; k++) values[k] = f->values[k];
        r = (world_reference){.net = &f->net, .values = values, .batch = f->batch};
        reference_loss(&r);
        r.frozen = true;
        mw_world_trainer *trainer = trainer_of(f, 0, BATCH, NULL);
        mw_world_trainer_step(trainer, &f->batch, false);
        const float *grads = mw_world_trainer_optimizer(trainer)->grads;
        for (int p = 0; p < f->net.params.count; p++) {
            const mw_param *param = &f->net.params.list[p];
            if (!strncmp(param->name, "scale.", 6)) { /* constants */
                for (size_t k = 0; k < param->count; k++) assert_true(grads[param->offset + k] == 0);
                continue;
            }
            CHECK_ERROR(differences_each(reference_loss, &r, values + param->offset, grads + param->offset,
                                         param->count, 1e-5),
                        3e-5, "configuration %d: gradient of %s", i, param->name);
        }
        mw_world_trainer_free(trainer);
        drop(f);
    }
}

/* ---- rollouts ---- */

enum { COUNT = 13, HORIZON = 4 };

static void score(const fixture *f, int threads, int max_batch, float *scores, float *paths) {
    mw_scorer *scorer;
    mw_error error = {0};
    mw_pool *pool = pool_of(threads);
    CHECK_OK(mw_world_scorer_create(&scorer, &f->net, f->values, f->packed, max_batch, pool, &error), error);
    assert_true(scorer->kind->bytes(scorer) > 0);
    mw_scorer_score(scorer,
                    &(mw_scoring){.scores = scores,
                                  .paths = paths,
                                  .obs = f->obs,
                                  .actions = f->act,
                                  .count = COUNT,
                                  .horizon = HORIZON,
                                  .group = 1},
                    NULL);
    mw_scorer_free(scorer);
    mw_pool_free(pool);
}

static void rollouts_are_steps(void **state) {
    (void)state;
    static float scores[COUNT], paths[COUNT * HORIZON * 128], obs[COUNT * 128], act[COUNT * 64],
        next[COUNT * 128], reward[COUNT * 8];
    for (int i = 0; i < CONFIGS; i++) {
        fixture *f = make(&configs[i], BATCH);
        const int n = f->net.config.agents, o = n * f->net.config.obs, d = n * f->net.config.act;
        float sums[COUNT] = {0};
        score(f, 2, COUNT, scores, paths);
        memcpy(obs, f->obs, (size_t)(COUNT * o) * sizeof *obs);
        for (int h = 0; h < HORIZON; h++) {
            for (int b = 0; b < COUNT; b++)
                memcpy(act + b * d, f->act + (b * HORIZON + h) * d, (size_t)d * sizeof *act);
            step(f, 0, obs, act, next, reward, COUNT);
            for (int b = 0; b < COUNT; b++) {
                for (int a = 0; a < n; a++) sums[b] += reward[b * n + a];
                assert_memory_equal(paths + (b * HORIZON + h) * o, next + b * o, (size_t)o * sizeof *next);
            }
            memcpy(obs, next, (size_t)(COUNT * o) * sizeof *obs);
        }
        assert_memory_equal(sums, scores, sizeof sums);
        drop(f);
    }
}

static void scores_keep_their_bits(void **state) {
    (void)state;
    static float scores[COUNT], paths[COUNT * HORIZON * 128], other[COUNT],
        other_paths[COUNT * HORIZON * 128];
    static const int batches[] = {COUNT, 5, 1, 4, 64};
    for (int i = 0; i < CONFIGS; i++) {
        fixture *f = make(&configs[i], BATCH);
        const size_t all =
            (size_t)(COUNT * HORIZON * f->net.config.agents * f->net.config.obs) * sizeof *paths;
        score(f, 0, COUNT, scores, paths);
        FOR_THREADS(threads)
        for (int k = 0; k < (threads < MANY_THREADS ? 5 : 2); k++) {
            score(f, threads, batches[k], other, other_paths);
            assert_memory_equal(other, scores, sizeof scores);
            assert_memory_equal(other_paths, paths, all);
            score(f, threads, batches[k], other, NULL);
            assert_memory_equal(other, scores, sizeof scores);
        }
        drop(f);
    }
}

/* A candidate with a bad number gets a score that is not finite; its neighbours keep theirs. */
static void bad_numbers_stay_bad(void **state) {
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    float clean[COUNT], seen[COUNT];
    for (int i = 0; i < CONFIGS; i++) {
        fixture *f = make(&configs[i], BATCH);
        const int o = f->net.config.agents * f->net.config.obs, d = f->net.config.agents * f->net.config.act;
        score(f, 2, COUNT, clean, NULL);
        for (int k = 0; k < 3; k++) {
            for (int place = 0; place < 3; place++) { /* observation, first action, last action */
                float *at = place == 0   ? f->obs + 5 * o + o - 1
                            : place == 1 ? f->act + 5 * HORIZON * d
                                         : f->act + (5 * HORIZON + HORIZON - 1) * d + d - 1;
                const float kept = *at;
                *at = bad[k];
                score(f, 2, COUNT, seen, NULL);
                *at = kept;
                for (int b = 0; b < COUNT; b++)
                    if (b == 5 ? isfinite(seen[b]) : seen[b] != clean[b])
                        fail_msg("configuration %d, bad number %d, place %d: score %d is %g, was %g", i, k,
                                 place, b, seen[b], clean[b]);
            }
        }
        drop(f);
    }
}

static void scoring_does_not_allocate(void **state) {
    (void)state;
    if (!COUNTING) skip();
    fixture *f = make(&configs[1], BATCH);
    mw_scorer *scorer;
    mw_error error = {0};
    mw_pool *pool = pool_of(2);
    float scores[COUNT];
    long before = allocations();
    CHECK_OK(mw_world_scorer_create(&scorer, &f->net, f->values, f->packed, 4, pool, &error), error);
    assert_true(allocations() > before); /* the counter counts */
    before = allocations();
    for (int i = 0; i < 3; i++)
        mw_scorer_score(scorer,
                        &(mw_scoring){.scores = scores,
                                      .paths = NULL,
                                      .obs = f->obs,
                                      .actions = f->act,
                                      .count = COUNT,
                                      .horizon = HORIZON,
                                      .group = 1},
                        NULL);
    assert_int_equal(allocations(), before);
    mw_scorer_free(scorer);
    mw_pool_free(pool);
    drop(f);
}

/* ---- training ---- */

static void steps_keep_their_bits(void **state) {
    (void)state;
    for (int i = 0; i < CONFIGS; i++) {
        fixture *f = make(&configs[i], BATCH);
        const size_t size = f->net.params.total * sizeof(float);
        float *values = malloc(2 * size), *average = values + f->net.params.total;
        mw_world_loss first[3];
        FOR_THREADS(threads) {
            mw_pool *pool = pool_of(threads);
            mw_world_trainer *trainer = trainer_of(f, 0.9f, BATCH + 2, pool);
            mw_optimizer *o = mw_world_trainer_optimizer(trainer);
            for (int k = 0; k < 3; k++) {
                mw_world_loss loss = mw_world_trainer_step(trainer, &f->batch, true);
                if (threads == 1) first[k] = loss;
                assert_memory_equal(&loss, &first[k], sizeof loss);
            }
            if (threads == 1) {
                memcpy(values, o->values, size);
                memcpy(average, o->average, size);
            }
            assert_memory_equal(o->values, values, size);
            assert_memory_equal(o->average, average, size);
            mw_world_trainer_free(trainer);
            mw_pool_free(pool);
        }
        free(values);
        drop(f);
    }
}

/* The first features are lengths of pairs of the observation, the next ones those of their differences. */
static void features_are_aimed(void **state) {
    (void)state;
    fixture *f = make(&configs[5], BATCH); /* 7 observed values make 3 pairs; 3 and 17 features */
    const mw_world_net *net = &f->net;
    float *scale = f->values + net->scales.obs_scale, *w = f->values + net->reward_token.project.w;
    const float before = w[10];
    for (int i = 0; i < 7; i++) scale[i] = (float)(i + 1);
    mw_world_net_aim(net, f->values);
    const int first = 7 + 3, columns = 2 * 17;
    CHECK_NEAR(w[(first + 2) * columns + 1], 0.75, 1e-7); /* pair 1: values 2 and 3, in units of the larger */
    CHECK_NEAR(w[(first + 3) * columns + 17 + 1], 1, 1e-7);
    CHECK_NEAR(w[(first + 0) * columns + 3], 0.25, 1e-7); /* feature 3: pair 0 less pair 1 */
    CHECK_NEAR(w[(first + 2) * columns + 3], -0.75, 1e-7);
    int others = 0;
    for (int r = 0; r < net->reward_token.raw; r++) others += w[r * columns + 3] != 0;
    assert_int_equal(others, 2);
    const float *dynamics = f->values + net->dynamics_token.project.w; /* 3 features, observation first */
    CHECK_NEAR(dynamics[4 * 6 + 2], 5.0 / 6, 1e-7);
    CHECK_NEAR(dynamics[5 * 6 + 3 + 2], 1, 1e-7);
    CHECK_NEAR(w[10], before, 0); /* features beyond all pairs stay as they were drawn */
    drop(f);
}

/* A few transitions are learned by heart; constants stay; the average follows. */
static void training_learns(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        fixture *f = make(&configs[i], BATCH);
        mw_pool *pool = pool_of(2);
        mw_world_trainer *trainer = trainer_of(f, 0.9f, BATCH, pool);
        mw_optimizer *o = mw_world_trainer_optimizer(trainer);
        const mw_world_loss before = mw_world_trainer_loss(trainer, &f->batch, false);
        for (int k = 0; k < 400; k++) mw_world_trainer_step(trainer, &f->batch, true);
        const mw_world_loss after = mw_world_trainer_loss(trainer, &f->batch, false),
                            average = mw_world_trainer_loss(trainer, &f->batch, true);
        assert_true(after.dynamics < 0.5 * before.dynamics && after.reward < 0.1 * before.reward);
        assert_true(average.total < 0.8 * before.total && average.total != after.total);
        for (int p = 0; p < f->net.params.count; p++)
            if (!strncmp(f->net.params.list[p].name, "scale.", 6))
                assert_memory_equal(o->values + f->net.params.list[p].offset,
                                    f->values + f->net.params.list[p].offset,
                                    f->net.params.list[p].count * sizeof(float));
        mw_world_trainer_free(trainer);
        mw_pool_free(pool);
        drop(f);
    }
}

static void empty_batches(void **state) {
    (void)state;
    for (int i = 0; i < CONFIGS; i++) {
        fixture *f = make(&configs[i], 0);
        mw_pool *pool = pool_of(2);
        mw_world_trainer *trainer = trainer_of(f, 0, BATCH, pool);
        const mw_world_loss loss = mw_world_trainer_step(trainer, &f->batch, true),
                            alone = mw_world_trainer_loss(trainer, &f->batch, false);
        assert_true(loss.total == 0 && alone.total == 0);
        assert_memory_equal(mw_world_trainer_optimizer(trainer)->values, f->values,
                            f->net.params.total * sizeof(float));
        mw_world_trainer_free(trainer);
        mw_scorer *scorer;
        mw_error error = {0};
        float untouched = 7;
        CHECK_OK(mw_world_scorer_create(&scorer, &f->net, f->values, f->packed, 4, pool, &error), error);
        mw_scorer_score(scorer,
                        &(mw_scoring){.scores = &untouched,
                                      .paths = NULL,
                                      .obs = NULL,
                                      .actions = NULL,
                                      .count = 0,
                                      .horizon = HORIZON,
                                      .group = 1},
                        NULL);
        assert_true(untouched == 7);
        mw_scorer_score(scorer,
                        &(mw_scoring){.scores = &untouched,
                                      .paths = NULL,
                                      .obs = f->obs,
                                      .actions = f->act,
                                      .count = 1,
                                      .horizon = 0,
                                      .group = 1},
                        NULL); /* no steps: nothing is earned */
        assert_true(untouched == 0);
        mw_scorer_free(scorer);
        mw_pool_free(pool);
        drop(f);
    }
}

/* Without an average the weights themselves are evaluated. */
static void average_is_optional(void **state) {
    (void)state;
    fixture *f = make(&configs[0], BATCH);
    mw_world_trainer *trainer = trainer_of(f, 0, BATCH, NULL);
    const mw_world_loss a = mw_world_trainer_loss(trainer, &f->batch, true),
                        b = mw_world_trainer_loss(trainer, &f->batch, false);
    assert_true(a.total == b.total);
    mw_world_trainer_free(trainer);
    drop(f);
}

static void refusals(void **state) {
    (void)state;
    mw_error error = {0};
    mw_world_net net;
    mw_world_config c = configs[0];
    c.top_k = 5;
    CHECK_FAILS(mw_world_net_make(&net, &c, &error), MW_ERR_ARGUMENT, error,
                "rwm.top_k is 5; it must be 1 to 4");
    c = configs[0];
    c.experts = MW_MAX_EXPERTS + 1;
    CHECK_FAILS(mw_world_net_make(&net, &c, &error), MW_ERR_ARGUMENT, error, "rwm.experts is 17");
    c = configs[0];
    c.obs = 0;
    CHECK_FAILS(mw_world_net_make(&net, &c, &error), MW_ERR_ARGUMENT, error, "rwm.obs is 0");
    c = configs[0]; /* the paper's variant has layer norms instead of norm features */
    c.reward_features = 4;
    CHECK_FAILS(mw_world_net_make(&net, &c, &error), MW_ERR_ARGUMENT, error, "rwm.reward_features is 4");
    c = configs[0];
    c.dynamics_features = 4;
    CHECK_FAILS(mw_world_net_make(&net, &c, &error), MW_ERR_ARGUMENT, error, "rwm.dynamics_features is 4");
    fixture *f = make(&configs[0], BATCH);
    mw_world_work *work;
    mw_scorer *scorer;
    CHECK_FAILS(mw_world_work_create(&work, &f->net, 0, false, NULL, &error), MW_ERR_ARGUMENT, error,
                "batch of 0");
    CHECK_FAILS(mw_world_scorer_create(&scorer, &f->net, f->values, f->packed, -1, NULL, &error),
                MW_ERR_ARGUMENT, error, "batch of -1");
    CHECK_FAILS(mw_world_work_create(&work, &f->net, INT32_MAX, true, NULL, &error), MW_ERR_ARGUMENT, error,
                "must be 1 to");
    drop(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_and_losses),    cmocka_unit_test(gradients),
        cmocka_unit_test(rollouts_are_steps),    cmocka_unit_test(scores_keep_their_bits),
        cmocka_unit_test(bad_numbers_stay_bad),  cmocka_unit_test(scoring_does_not_allocate),
        cmocka_unit_test(steps_keep_their_bits), cmocka_unit_test(features_are_aimed),
        cmocka_unit_test(training_learns),       cmocka_unit_test(empty_batches),
        cmocka_unit_test(average_is_optional),   cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
