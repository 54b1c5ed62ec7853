/* The Q-ranker: its sizes, candidates with equal first actions, which steps it learns from, and at work. Its
 * numbers are held against recorded ones in test_verify_net.c. */
#include "model/at_work.h"
#include "model/td.h"

static mw_model *model_of(int agents, int obs, int act, const char *hidden, const char *batch) {
    mw_error error;
    mw_model *model;
    mw_model_config config = {0};
    const mw_model_shape shape = {agents, obs, act, false};
    mw_fields_defaults(mw_q_class.fields, &config);
    CHECK_OK(mw_fields_assign(mw_q_class.fields, &config, hidden, "", &error), error);
    CHECK_OK(mw_fields_assign(mw_q_class.fields, &config, batch, "", &error), error);
    CHECK_OK(mw_model_make(&model, &mw_q_class, &config, &shape, &error), error);
    return model;
}

static void sizes(void **state) {
    (void)state;
    static const struct {
        int n, o, d;
        size_t count;
    } cases[] = {{3, 18, 2, 559105},  {3, 16, 2, 556033},  {3, 24, 2, 568321},
                 {2, 56, 4, 589825},  {4, 37, 2, 608257},  {3, 33, 9, 592897},
                 {8, 88, 14, 946177}, {5, 60, 12, 712705}, {5, 85, 11, 774145}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mw_model *model = model_of(cases[i].n, cases[i].o, cases[i].d, "hidden=512", "batch=1");
        assert_int_equal(mw_params_scalars(model->params), cases[i].count);
        mw_model_free(model);
    }
}

/* Later actions are not looked at. */
static void equal_first_actions_tie(void **state) {
    (void)state;
    enum { N = 2, O = 3, D = 2, H = 4, ROWS = 70 };
    mw_error error;
    mw_model *model = model_of(N, O, D, "hidden=16", "batch=1");
    CHECK_OK(mw_model_allocate(model, &error), error);
    mw_params_init(model->params, model->values, 3);
    mw_model_pack(model);
    static float obs[ROWS * N * O], acts[ROWS * H * N * D], scores[ROWS];
    mw_rng rng = mw_rng_make(1, MW_RNG_BATCH, 0, 0, 0);
    mw_rng_fill_normal(&rng, acts, ROWS * H * N * D);
    for (int q = 1; q < ROWS; q++) memcpy(acts + q * H * N * D, acts, N * D * sizeof *acts);
    acts[(ROWS - 1) * H * N * D] += 1;
    mw_scorer *scorer;
    const mw_scorer_context context = {.model = model, .max_rows = ROWS, .horizon = H};
    CHECK_OK(mw_q_class.scorer->create(&scorer, &context, &error), error);
    const mw_scoring call = {
        .scores = scores, .obs = obs, .actions = acts, .count = ROWS, .horizon = H, .group = ROWS};
    CHECK_OK(mw_scorer_score(scorer, &call, &error), error);
    for (int q = 1; q < ROWS - 1; q++) assert_memory_equal(&scores[q], &scores[0], sizeof *scores);
    assert_true(scores[ROWS - 1] != scores[0]);
    mw_scorer_free(scorer);
    mw_model_free(model);
}

/* An episode that the world ended teaches its last reward; one that the limit cut leaves its last step out.
 */
static void terminals(void **state) {
    (void)state;
    enum { STEPS = 5, BATCH = 64 };
    mw_error error;
    float obs[STEPS] = {0, 1, 2, 3, 4}, acts[STEPS] = {10, 11, 12, 13, 14}, rewards[STEPS] = {1, 2, 3, 4, 5};
    int64_t lengths[2] = {3, 2}, offsets[3] = {0, 3, 5};
    uint8_t outcomes[2] = {MW_ENDED_BY_WORLD, MW_ENDED_BY_LIMIT};
    long episodes[2] = {0, 1};
    const mw_dataset dataset = {.spec = {.agents = 1, .obs_size = 1, .act_size = 1},
                                .episodes = 2,
                                .steps = STEPS,
                                .obs = obs,
                                .real = acts,
                                .rewards = rewards,
                                .outcomes = outcomes,
                                .lengths = lengths,
                                .offsets = offsets};
    const mw_training_data data = {.dataset = &dataset, .split.train = {.count = 2, .episodes = episodes}};
    mw_model *model = model_of(1, 1, 1, "hidden=4", "batch=64");
    mw_training_part *part;
    CHECK_OK(mw_model_train(&part, model, &data, &error), error);
    const mw_fit *fit = (const mw_fit *)part;
    const mw_td_batch *b = fit->slots[0];
    int seen[STEPS] = {0};
    fit->kind->fill(fit, fit->slots[0], 0, false);
    for (int row = 0; row < BATCH; row++) {
        const int at = (int)b->x[2 * row];
        seen[at]++;
        assert_true(b->x[2 * row + 1] == acts[at] && b->sum[row] == rewards[at]);
        assert_true(b->discount[row] == (at == 2 ? 0 : 0.99f));
        if (at != 2) assert_true(b->next[2 * row] == obs[at + 1] && b->next[2 * row + 1] == acts[at + 1]);
    }
    for (int at = 0; at < STEPS; at++) assert_int_equal(seen[at] > 0, at != 4);
    mw_training_part_free(part);
    mw_model_free(model);
}

static void at_work(void **state) {
    (void)state;
    static const char *const settings[] = {"q.steps=20", "q.hidden=16", "q.batch=32", NULL};
    at_work_bundle();
    at_work_run("q", "--set q.steps=20 --set q.hidden=16 --set q.batch=64", "fitted Q function");
    at_work_resume("q", settings);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sizes), cmocka_unit_test(equal_first_actions_tie),
                                       cmocka_unit_test(terminals), cmocka_unit_test(at_work)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
