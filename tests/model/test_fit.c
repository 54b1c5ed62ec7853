/* Groups that take turns and phases that follow each other, by a model that is nothing but weights: what each
 * learns, when, and that neither threads nor an interruption show. */
#include "check.h"
#include "model/fit.h"

#include <stdlib.h>

enum { SIZE = 16, BATCH = 12 };

typedef struct {
    mw_fit_settings fit;
    int first, second, every;
} settings;

#define AT(member) offsetof(settings, member)

static const mw_field fields[] = {
    {"first", MW_FIELD_INT, AT(first), "6", 1, 100, "", {0}, NULL},
    {"second", MW_FIELD_INT, AT(second), "5", 1, 100, "", {0}, NULL},
    {"every", MW_FIELD_INT, AT(every), "2", 1, 100, "", {0}, NULL},
    MW_FIT_FIELDS(settings, fit, "rows", "1", "12", "0.1", "0"),
    MW_SHARDS_FIELD(settings, fit),
};

typedef struct {
    mw_params params;
    size_t one, two; /* [SIZE] each */
} network;

typedef struct {
    int entered[2];   /* phases */
    float seen[SIZE]; /* weights of group one when the second phase began */
    double sum;       /* of the last look */
} state_of_it;

typedef struct {
    mw_arena arena;
    float *draw; /* [BATCH] */
} batch;

static const mw_slot_field slot_fields[] = {{"draw.x", offsetof(batch, draw), MW_F32, "b", 0}};

typedef struct {
    double looked; /* what `look` leaves for `loss` */
} area;

static mw_status make(mw_model *model, mw_error *error) {
    network *net = model->net = calloc(1, sizeof *net);
    (void)error;
    net->one = mw_params_add(&net->params, "one", MW_PARAM_PLAIN, MW_INIT_ONE, 0, SIZE, 0, 0);
    net->two = mw_params_add(&net->params, "two", MW_PARAM_PLAIN, MW_INIT_ONE, 0, SIZE, 0, 0);
    model->params = &net->params;
    return MW_OK;
}

static void discard(mw_model *model) {
    mw_params_free(&((network *)model->net)->params);
    free(model->net);
}

static void pack(const mw_model *model, const float *values, float *packed, bool backward) {
    (void)model;
    (void)values;
    (void)packed;
    (void)backward;
}

static mw_status open_training(mw_fit *f, mw_error *error) {
    (void)error;
    f->groups[1].decay = 0.5f;
    f->rates[1] = 0.01;
    f->part.keeps_last = true;
    return MW_OK;
}

static void fill(const mw_fit *f, void *slot, uint64_t step, bool held) {
    (void)held;
    for (int row = 0; row < BATCH; row++) {
        mw_rng rng = mw_batch_rng(f->data->seed, step, row, MW_BATCH_TRANSITION);
        ((batch *)slot)->draw[row] = mw_rng_float(&rng) + (float)(f->phase * 10);
    }
}

static void carve(const mw_fit *f, void *own, mw_arena *arena, int rows) {
    (void)f;
    (void)own;
    (void)arena;
    (void)rows;
}

/* Squares about the draws, in the group's own weights. */
static void pull(const mw_fit *f, const batch *b, size_t at, int begin, int end, float *grads,
                 double *losses) {
    for (int row = begin; row < end; row++)
        for (size_t k = 0; k < SIZE; k++) {
            const float off = f->shards.optimizer.values[at + k] - b->draw[row];
            losses[at > 0] += (double)(off * off) / BATCH;
            if (grads) grads[at + k] += 2 * off / BATCH;
        }
}

static void one_loss(const mw_fit *f, void *slot, void *own, int begin, int end, float *grads,
                     double *losses) {
    (void)own;
    pull(f, slot, ((const network *)f->model->net)->one, begin, end, grads, losses);
}

static void two_look(const mw_fit *f, void *slot, void *own, int begin, int end) {
    const batch *b = slot;
    (void)f;
    ((area *)own)->looked = 0;
    for (int row = begin; row < end; row++) ((area *)own)->looked += (double)b->draw[row];
}

static void two_settle(const mw_fit *f, void *slot, double *losses) {
    state_of_it *s = f->state;
    const batch *b = slot;
    s->sum = 0;
    for (int row = 0; row < BATCH; row++) s->sum += (double)b->draw[row];
    losses[2] = s->sum;
}

static void two_loss(const mw_fit *f, void *slot, void *own, int begin, int end, float *grads,
                     double *losses) {
    const batch *b = slot;
    double sum = 0;
    for (int row = begin; row < end; row++) sum += (double)b->draw[row];
    assert_true(((area *)own)->looked == sum); /* the area is the shard's */
    assert_true(((const state_of_it *)f->state)->sum >= sum);
    pull(f, b, ((const network *)f->model->net)->two, begin, end, grads, losses);
}

static mw_status enter_first(mw_fit *f, mw_error *error) {
    (void)error;
    ((state_of_it *)f->state)->entered[0]++;
    return MW_OK;
}

static mw_status enter_second(mw_fit *f, mw_error *error) {
    state_of_it *s = f->state;
    (void)error;
    s->entered[1]++;
    memcpy(s->seen, f->shards.optimizer.values, sizeof s->seen);
    return MW_OK;
}

static const mw_turn first_turns[] = {{.group = 0, .loss = one_loss}};
static const mw_turn second_turns[] = {
    {.group = 1, .period = AT(every), .look = two_look, .settle = two_settle, .loss = two_loss}};
static const mw_phase phases[] = {
    {.steps = AT(first), .turns = first_turns, .turn_count = 1, .enter = enter_first},
    {.steps = AT(second),
     .turns = second_turns,
     .turn_count = 1,
     .follow = AT(every),
     .enter = enter_second}};

static const mw_fit_class fit_class = {.settings = AT(fit),
                                       .state = sizeof(state_of_it),
                                       .slot = sizeof(batch),
                                       .area = sizeof(area),
                                       .losses = 3,
                                       .loss_names = {"one", "two", "sum"},
                                       .apart = true,
                                       .groups = {"one", "two"},
                                       .open = open_training,
                                       .fields = slot_fields,
                                       .field_count = 1,
                                       .fill = fill,
                                       .phases = phases,
                                       .phase_count = 2,
                                       .carve = carve};

static const mw_model_class model_class = {.name = "weights",
                                           .fields = MW_FIELDS(fields),
                                           .make = make,
                                           .discard = discard,
                                           .pack = pack,
                                           .fit = &fit_class};

typedef struct {
    mw_training_data data;
    mw_model *model;
    mw_training_part *part;
} fixture;

static void open_it(fixture *x, int threads, const char *assignment) {
    mw_error error;
    mw_model_config config = {0};
    const mw_model_shape shape = {1, 1, 1, false};
    x->data = (mw_training_data){.seed = 3};
    CHECK_OK(mw_pool_create(&x->data.pool, threads, &error), error);
    mw_fields_defaults(model_class.fields, &config);
    CHECK_OK(mw_fields_assign(model_class.fields, &config, assignment, "", &error), error);
    CHECK_OK(mw_model_make(&x->model, &model_class, &config, &shape, &error), error);
    CHECK_OK(mw_model_train(&x->part, x->model, &x->data, &error), error);
}

static void close_it(fixture *x) {
    mw_training_part_free(x->part);
    mw_model_free(x->model);
    mw_pool_free(x->data.pool);
}

static void run_to(fixture *x, long step) {
    mw_error error;
    double losses[MW_LOSSES];
    CHECK_OK(x->part->start(x->part, &error), error);
    for (; x->part->step < step; x->part->step++) CHECK_OK(x->part->advance(x->part, losses, &error), error);
    x->part->stop(x->part);
}

static const state_of_it *state_in(const fixture *x) {
    return ((mw_fit *)x->part)->state;
}

static void turns_and_phases(void **unused) {
    (void)unused;
    fixture x;
    open_it(&x, 2, "final=1");
    assert_int_equal(x.part->steps, 11);
    run_to(&x, 6);
    const mw_optimizer *o = x.part->optimizer;
    float learned[SIZE];
    memcpy(learned, o->values, sizeof learned);
    assert_true(o->group[0].adam.step == 6 && o->group[1].adam.step == 0);
    assert_true(learned[0] < 1 && o->values[SIZE] == 1); /* draws are below 1; the other group rests */
    assert_true(state_in(&x)->entered[1] == 0);
    run_to(&x, 11);
    assert_memory_equal(o->values, learned, sizeof learned); /* frozen */
    assert_memory_equal(state_in(&x)->seen, learned, sizeof learned);
    assert_int_equal(o->group[1].adam.step, 2); /* in the second and fourth of five steps */
    assert_true(o->values[SIZE] > 1.015f);      /* two steps of 0.01 up, to draws above 10 */
    assert_true(o->average[SIZE] > 1 && o->average[SIZE] < o->values[SIZE]);
    CHECK_NEAR(o->average[SIZE], 1 + 0.0125, 1e-4); /* half of 0.01, then half of what is left to 0.02 */
    assert_true(o->average[0] == 1);                /* without a decay it stays */
    close_it(&x);
}

static void threads_do_not_show(void **unused) {
    (void)unused;
    static float expected[2 * SIZE];
    for (int threads = 1; threads <= 5; threads++) {
        fixture x;
        open_it(&x, threads, "shards=5");
        run_to(&x, 11);
        if (threads == 1) memcpy(expected, x.part->optimizer->values, sizeof expected);
        assert_memory_equal(x.part->optimizer->values, expected, sizeof expected);
        close_it(&x);
    }
}

/* Stopped within the second phase: it is entered again, with the same weights before it. */
static void goes_on(void **unused) {
    (void)unused;
    fixture whole, pieces;
    open_it(&whole, 1, "shards=4");
    open_it(&pieces, 2, "shards=4");
    run_to(&whole, 11);
    run_to(&pieces, 8);
    assert_int_equal(state_in(&pieces)->entered[1], 1);
    run_to(&pieces, 11);
    assert_int_equal(state_in(&pieces)->entered[1], 2);
    assert_memory_equal(state_in(&pieces)->seen, state_in(&whole)->seen, sizeof state_in(&whole)->seen);
    assert_memory_equal(pieces.part->optimizer->values, whole.part->optimizer->values,
                        2 * SIZE * sizeof(float));
    close_it(&whole);
    close_it(&pieces);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns_and_phases),
        cmocka_unit_test(threads_do_not_show),
        cmocka_unit_test(goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
