/* The world models without routing: their sizes, what they may and may not exchange between agents, their
 * gradients in both dresses, and at work. Those under the paper's norms are held against recorded numbers in
 * test_verify_net.c. */
#include "model/at_work.h"
#include "model/unrouted/unrouted.h"

#include <math.h>

static void sizes(void **state) {
    (void)state;
    static const struct {
        int n, o, d;
        size_t mono, independent;
    } cases[] = {{3, 18, 2, 907705, 828587},   {3, 16, 2, 895371, 824473},   {3, 24, 2, 944707, 840929},
                 {2, 56, 4, 1028514, 908809},  {4, 37, 2, 1103482, 867670},  {3, 33, 9, 1021798, 866638},
                 {8, 88, 14, 2355128, 984913}, {5, 60, 12, 1469857, 925261}, {5, 85, 11, 1721642, 975658}};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const mw_model_class *class = i % 2 ? &mw_independent_class : &mw_mono_class;
        const mw_model_shape shape = {cases[i / 2].n, cases[i / 2].o, cases[i / 2].d, false};
        mw_model_config config = {0};
        mw_error error;
        mw_model *model;
        mw_fields_defaults(class->fields, &config);
        CHECK_OK(mw_fields_assign(class->fields, &config, "variant=paper", "", &error), error);
        CHECK_OK(mw_model_make(&model, class, &config, &shape, &error), error);
        assert_int_equal(mw_params_scalars(model->params),
                         i % 2 ? cases[i / 2].independent : cases[i / 2].mono);
        mw_model_free(model);
    }
}

enum { N = 3, O = 6, D = 2, BATCH = 4, CELLS = BATCH * N };

/* A net with random weights and constants, and a batch for it. */
typedef struct {
    mw_unrouted_net net;
    mw_unrouted_acts acts;
    mw_arena arena;
    float *values, *packed, *grads;
    float obs[CELLS * O], act[CELLS * D], next[CELLS * O], reward[CELLS];
} fixture;

static float *floats(size_t count) {
    float *at = aligned_alloc(MW_ALIGN, (count * sizeof *at + MW_ALIGN - 1) / MW_ALIGN * MW_ALIGN);
    memset(at, 0, count * sizeof *at);
    return at;
}

static void begin(fixture *f, int group, bool standardise) {
    mw_error error;
    const mw_unrouted_config config = {
        N, O, D, group, 9, standardise, standardise ? 5 : 0, standardise ? 4 : 0};
    *f = (fixture){0};
    CHECK_OK(mw_unrouted_net_make(&f->net, &config, &error), error);
    mw_unrouted_acts_take(&f->net, &f->acts, &f->arena, BATCH, true);
    CHECK_OK(mw_arena_create(&f->arena, f->arena.used, &error), error);
    mw_unrouted_acts_take(&f->net, &f->acts, &f->arena, BATCH, true);
    f->values = floats(f->net.params.total);
    f->grads = floats(f->net.params.total);
    f->packed = floats(f->net.params.packed);
    mw_params_init(&f->net.params, f->values, 4);
    mw_rng rng = mw_rng_make(2, MW_RNG_BATCH, 0, 0, 0);
    for (int i = 0; i < f->net.params.count; i++) { /* norms and constants away from one and zero */
        const mw_param *param = &f->net.params.list[i];
        if (param->init == MW_INIT_UNIFORM || param->init == MW_INIT_NORMAL) continue;
        for (size_t k = 0; k < param->count; k++)
            f->values[param->offset + k] += 0.3f * (float)mw_rng_double(&rng);
    }
    mw_rng_fill_normal(&rng, f->obs, CELLS * O);
    mw_rng_fill_normal(&rng, f->act, CELLS * D);
    mw_rng_fill_normal(&rng, f->next, CELLS * O);
    mw_rng_fill_normal(&rng, f->reward, CELLS);
    mw_unrouted_net_pack(&f->net, f->values, f->packed, true);
}

static void end(fixture *f) {
    mw_unrouted_net_free(&f->net);
    mw_arena_free(&f->arena);
    free(f->values);
    free(f->packed);
    free(f->grads);
}

static void predict(fixture *f, float *next, float *reward) {
    mw_unrouted_forward(&f->net, &f->acts, f->values, f->packed, f->obs, f->act, next, reward, BATCH);
}

/* Agent 1's action changes nobody else's prediction, to the bit; in mono it does. */
static void influence(void **state) {
    (void)state;
    for (int way = 0; way < 4; way++) {
        const bool mono = way % 2;
        static fixture f;
        float next[2][CELLS * O], reward[2][CELLS];
        begin(&f, mono ? N : 1, way / 2);
        predict(&f, next[0], reward[0]);
        for (int b = 0; b < BATCH; b++) f.act[(b * N + 1) * D] += 0.5f;
        predict(&f, next[1], reward[1]);
        for (int r = 0; r < CELLS; r++) {
            const bool same = !memcmp(next[0] + r * O, next[1] + r * O, O * sizeof(float)) &&
                              !memcmp(reward[0] + r, reward[1] + r, sizeof(float));
            assert_int_equal(same, !mono && r % N != 1);
        }
        end(&f);
    }
}

static void permutation(void **state) {
    (void)state;
    static const int order[N] = {2, 0, 1};
    for (int way = 0; way < 2; way++) {
        static fixture f;
        float next[2][CELLS * O], reward[2][CELLS], obs[CELLS * O], act[CELLS * D];
        begin(&f, 1, way);
        predict(&f, next[0], reward[0]);
        memcpy(obs, f.obs, sizeof obs);
        memcpy(act, f.act, sizeof act);
        for (int r = 0; r < CELLS; r++) {
            const int from = r / N * N + order[r % N];
            memcpy(f.obs + r * O, obs + from * O, O * sizeof *obs);
            memcpy(f.act + r * D, act + from * D, D * sizeof *act);
        }
        predict(&f, next[1], reward[1]);
        for (int r = 0; r < CELLS; r++) {
            const int from = r / N * N + order[r % N];
            assert_memory_equal(next[1] + r * O, next[0] + from * O, O * sizeof(float));
            assert_memory_equal(reward[1] + r, reward[0] + from, sizeof(float));
        }
        end(&f);
    }
}

static void losses_of(fixture *f, double losses[2]) {
    memset(f->grads, 0, f->net.params.total * sizeof *f->grads);
    mw_unrouted_loss(&f->net, &f->acts, f->values, f->packed, f->obs, f->act, f->next, f->reward, BATCH,
                     BATCH, f->grads, losses);
}

/* Central differences. What the dynamics own moves the reward's loss too, through the observation that the
 * reward sees, but by definition sends no gradient there: each parameter is held against its own loss. */
static void gradients(void **state) {
    (void)state;
    for (int way = 0; way < 4; way++) {
        static fixture f;
        double worst = 0;
        begin(&f, way % 2 ? N : 1, way / 2);
        double losses[2];
        losses_of(&f, losses);
        float *expected = floats(f.net.params.total);
        memcpy(expected, f.grads, f.net.params.total * sizeof *expected);
        for (int i = 0; i < f.net.params.count; i++) {
            const mw_param *param = &f.net.params.list[i];
            if (!strncmp(param->name, "scale.", 6)) continue;
            const int own = !strncmp(param->name, "reward", 6);
            for (size_t k = 0; k < param->count; k += 1 + param->count / 5) {
                float *at = f.values + param->offset + k, before = *at;
                const float step = 1e-2f;
                double sides[2][2];
                for (int side = 0; side < 2; side++) {
                    *at = before + (side ? -step : step);
                    mw_unrouted_net_pack(&f.net, f.values, f.packed, true);
                    losses_of(&f, sides[side]);
                }
                *at = before;
                const double slope = (sides[0][own] - sides[1][own]) / (2 * (double)step),
                             off = fabs(slope - (double)expected[param->offset + k]);
                if (off > worst) worst = off;
                if (off > 2e-3 * (1 + fabs(slope)))
                    fail_msg("way %d, %s[%zu]: gradient %g, difference %g", way, param->name, k,
                             (double)expected[param->offset + k], slope);
            }
        }
        printf("  %s, %s: %.1e\n", way % 2 ? "mono" : "independent", way / 2 ? "standard" : "paper", worst);
        free(expected);
        end(&f);
    }
}

static void at_work(void **state) {
    (void)state;
    static const char *const mono[] = {"mono.steps=20", "mono.hidden=16", "mono.batch=32", NULL},
                             *const independent[] = {"independent.steps=20", "independent.hidden=16",
                                                     "independent.variant=paper", NULL};
    at_work_bundle();
    at_work_run("mono", "--set mono.steps=20 --set mono.hidden=16 --set mono.variant=paper",
                "one MLP over all agents");
    at_work_run("independent", "--set independent.steps=20 --set independent.hidden=16",
                "for each agent alone");
    at_work_resume("mono", mono);
    at_work_resume("independent", independent);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sizes), cmocka_unit_test(influence),
                                       cmocka_unit_test(permutation), cmocka_unit_test(gradients),
                                       cmocka_unit_test(at_work)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
