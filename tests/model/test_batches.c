/* What models are shown. All alike: validation is of held-out episodes alone, training of the others
 * alone, and what is validated are the weights that will be kept. The flow: its times and its condition.
 */
#include "model/flow/trainer.h"
#include "model/random_training.h"

/* Other observations and actions in these episodes. */
static void world_change(world *w, const mw_episode_set *episodes) {
    for (long i = 0; i < episodes->count; i++) {
        const long first = episodes->episodes[i] * LENGTH;
        for (long k = first * JOINT; k < (first + LENGTH) * JOINT; k++) w->obs[k] *= 0.5f;
        for (long k = first * N * D; k < (first + LENGTH) * N * D; k++) w->acts[k] *= 0.5f;
    }
}

typedef struct {
    double trained[MW_LOSSES], held[MW_LOSSES];
} said;

/* The mean of the held-out batches' losses with the weights that are kept in place of those under training.
 */
static void check_kept(mw_fit *f, const double *held) {
    mw_optimizer *o = f->part.optimizer;
    double sum[MW_LOSSES] = {0};
    if (o->average && !f->part.keeps_last) memcpy(o->values, o->average, o->total * sizeof *o->values);
    mw_fit_refresh(f);
    for (int k = 0; k < f->held_batches; k++) {
        double one[MW_LOSSES];
        mw_fit_fill(f, f->slots[2], (uint64_t)k, true);
        mw_fit_run(f, f->slots[2], MW_STEP_LOSS, one);
        for (int i = 0; i < f->part.losses; i++) sum[i] += one[i] / f->held_batches;
    }
    for (int i = 0; i < f->part.losses; i++) CHECK_NEAR(held[i], sum[i], 1e-9 * (1 + fabs(sum[i])));
}

/* False: there is no validation. */
static bool look(said *s, const mw_model_class *class, const mw_training_data *data) {
    mw_error error;
    mw_training_part *part;
    mw_model *model = random_model(class, data, "batch=16");
    CHECK_OK(mw_model_train(&part, model, data, &error), error);
    mw_fit *f = (mw_fit *)part;
    mw_optimizer *o = part->optimizer;
    for (size_t i = 0; o->average && i < o->total; i++) o->average[i] *= 0.9f;
    *s = (said){{0}, {0}};
    mw_fit_refresh(f);
    const bool validates = part->validate;
    if (validates) {
        part->validate(part, s->held);
        mw_fit_fill(f, f->slots[0], 0, false);
        mw_fit_run(f, f->slots[0], MW_STEP_LOSS, s->trained);
        check_kept(f, s->held);
    }
    mw_training_part_free(part);
    mw_model_free(model);
    return validates;
}

static void each_of_its_own(void **state) {
    (void)state;
    static world as_is, trained, held;
    mw_training_data data;
    int seen = 0;
    random_training_open(&data, &as_is);
    world_fill(&trained);
    world_fill(&held);
    world_change(&trained, &data.split.train);
    world_change(&held, &data.split.held);
    const mw_model_class *class;
    for (int i = 0; (class = mw_model_class_at(i)); i++) {
        said first, others, last;
        data.dataset = &as_is.dataset;
        if (!class->fit || !look(&first, class, &data)) continue;
        print_message("%s\n", class->name);
        data.dataset = &trained.dataset;
        look(&others, class, &data);
        data.dataset = &held.dataset;
        look(&last, class, &data);
        assert_memory_equal(first.held, others.held, sizeof first.held);
        assert_memory_equal(first.trained, last.trained, sizeof first.trained);
        assert_true(first.held[0] != last.held[0] && first.trained[0] != others.trained[0]);
        seen++;
    }
    assert_true(seen > 7);
    random_training_close(&data);
}

/* Two times in order, one in every other row, and a condition that is dropped for a quarter. */
static void times_and_condition(void **state) {
    (void)state;
    enum { BATCH = 512 };
    static world w;
    mw_error error;
    mw_training_data data;
    mw_training_part *part;
    random_training_open(&data, &w);
    mw_model *model = random_model(mw_model_class_at(mw_model_class_index("flow")), &data, "batch=512");
    CHECK_OK(mw_model_train(&part, model, &data, &error), error);
    mw_fit *f = (mw_fit *)part;
    mw_fit_fill(f, f->slots[0], 0, false);
    const mw_flow_batch batch = mw_flow_batch_of(f, f->slots[0]);
    int kept = 0;
    assert_int_equal(batch.count, BATCH);
    for (int row = 0; row < BATCH; row++) {
        assert_true(batch.rho[row] > 0 && batch.lambda[row] < 1);
        assert_true(row % 2 ? batch.rho[row] < batch.lambda[row] : batch.rho[row] == batch.lambda[row]);
        assert_true(batch.keep[row] == 0 || batch.keep[row] == 1);
        kept += batch.keep[row] == 1;
    }
    CHECK_NEAR(kept, 0.75 * BATCH, 0.1 * BATCH);
    mw_training_part_free(part);
    mw_model_free(model);
    random_training_close(&data);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_of_its_own),
                                       cmocka_unit_test(times_and_condition)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
