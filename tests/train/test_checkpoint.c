/* What a checkpoint keeps of a training comes back as it was, for every part and all its counters. */
#include "model/random_training.h"
#include "scratch.h"
#include "train/checkpoint.h"

/* Every number another. */
static void mark(mw_training_part *part) {
    mw_rng rng = mw_rng_make(9, MW_RNG_TEST, 0, 0, 0);
    mw_optimizer *o = part->optimizer;
    float *const tables[] = {o->values, o->average, o->m, o->v, part->best_values};
    for (int i = 0; i < 5; i++)
        if (tables[i]) mw_rng_fill_normal(&rng, tables[i], o->total);
    part->step = 17;
    part->summed = 7;
    part->first = 3.5;
    part->best_step = 11;
    for (int g = 0; g < o->groups; g++) o->group[g].adam.step = 16 - g;
    for (int i = 0; i < MW_LOSSES; i++) {
        part->sums[i] = 1 + i;
        part->held[i] = 10 + i;
        part->best_held[i] = 20 + i;
    }
}

static void check_same(const mw_training_part *a, const mw_training_part *b) {
    const mw_optimizer *x = a->optimizer, *y = b->optimizer;
    const float *const tables[][2] = {{x->values, y->values},
                                      {x->average, y->average},
                                      {x->m, y->m},
                                      {x->v, y->v},
                                      {a->best_values, b->best_values}};
    for (int i = 0; i < 5; i++)
        if (tables[i][0]) assert_memory_equal(tables[i][0], tables[i][1], x->total * sizeof(float));
    assert_true(a->step == b->step && a->summed == b->summed && a->first == b->first);
    assert_true(a->best_step == b->best_step);
    for (int g = 0; g < x->groups; g++) assert_true(x->group[g].adam.step == y->group[g].adam.step);
    assert_memory_equal(a->sums, b->sums, sizeof a->sums);
    assert_memory_equal(a->held, b->held, sizeof a->held);
    assert_memory_equal(a->best_held, b->best_held, sizeof a->best_held);
}

static void comes_back(void **state) {
    (void)state;
    static world w;
    mw_error error;
    mw_training_data data;
    const mw_model_class *class;
    int groups = 0, best = 0;
    random_training_open(&data, &w);
    for (int i = 0; (class = mw_model_class_at(i)); i++) {
        if (!class->fit) continue;
        mw_training_state first = {.count = 1}, again = {.count = 1};
        double seconds;
        mw_model *model = random_model(class, &data, "batch=16");
        mw_provenance_init(&first.identity, "data", 3, 0.1, 1);
        mw_provenance_init(&again.identity, "data", 3, 0.1, 1);
        first.model[0] = again.model[0] = model;
        CHECK_OK(mw_model_train(&first.part[0], model, &data, &error), error);
        CHECK_OK(mw_model_train(&again.part[0], model, &data, &error), error);
        mark(first.part[0]);
        CHECK_OK(mw_checkpoint_save(scratch("part"), &first, 5, &error), error);
        CHECK_OK(mw_checkpoint_load(scratch("part"), &again, &seconds, &error), error);
        check_same(first.part[0], again.part[0]);
        assert_true(seconds == 5 && mw_checkpoint_parts(scratch("part")) == 1u << i);
        groups += first.part[0]->optimizer->groups > 1;
        best += first.part[0]->best_values != NULL;
        mw_training_part_free(first.part[0]);
        mw_training_part_free(again.part[0]);
        mw_provenance_free(&first.identity);
        mw_provenance_free(&again.identity);
        mw_model_free(model);
    }
    assert_true(groups > 0 && best > 0); /* or less was tested */
    random_training_close(&data);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(comes_back)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
