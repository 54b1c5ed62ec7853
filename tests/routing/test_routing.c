/* The routing diagnosis: hand-made cases with ties, constants and gaps, exact means over permutations against
 * all permutations, the world model without an expert against the same model with that expert's last layer
 * set to zero, and whole runs with any number of threads. */
#include "core/json.h"
#include "dataset/fixture.h"
#include "routing/routing.h"
#include "model/rwm/probe.h"
#include "model/rwm/rwm.h"
#include "train/tiny.h"

/* ---- numbers from counts ---- */

static void thirds(void **state) {
    (void)state;
    double cuts[2], four[] = {3, 0, 2, 1}, two[] = {2, 1}, same[] = {5, 5, 5}, one[] = {7};
    mw_thirds(cuts, four, 4); /* both positions fall on a value */
    CHECK_NEAR(cuts[0], 1, 0);
    CHECK_NEAR(cuts[1], 2, 0);
    mw_thirds(cuts, two, 2);
    CHECK_NEAR(cuts[0], 1 + 1.0 / 3, 1e-15);
    CHECK_NEAR(cuts[1], 1 + 2.0 / 3, 1e-15);
    mw_thirds(cuts, same, 3);
    assert_true(cuts[0] == 5 && cuts[1] == 5);
    mw_thirds(cuts, one, 1);
    assert_true(cuts[0] == 7 && cuts[1] == 7);
}

static void information(void **state) {
    (void)state;
    const double p[] = {1, 0}, q[] = {0, 1}, even[] = {0.5, 0.5};
    CHECK_NEAR(mw_js_divergence(p, q, 2), log(2), 1e-15);
    CHECK_NEAR(mw_js_divergence(even, even, 2), 0, 0);
    CHECK_NEAR(mw_entropy(even, 2), log(2), 1e-15);
    CHECK_NEAR(mw_entropy(p, 2), 0, 0);
    CHECK_NEAR(mw_nmi((const long[]){3, 0, 0, 5}, 2, 2), 1, 1e-15); /* each label tells the other */
    CHECK_NEAR(mw_nmi((const long[]){2, 2, 3, 3}, 2, 2), 0, 1e-15); /* neither does */
    CHECK_NEAR(mw_nmi((const long[]){8}, 1, 1), 0, 0);              /* nothing to tell */
}

static void count_labels(long counts[6], const int *x, const int *y, const int *order) {
    memset(counts, 0, 6 * sizeof *counts);
    for (int i = 0; i < 6; i++) counts[x[i] * 3 + y[order[i]]]++;
}

/* Heap's algorithm: all 720 orders of six labels. */
static double all_orders(const int *x, const int *y) {
    int order[6] = {0, 1, 2, 3, 4, 5}, turn[6] = {0};
    long counts[6];
    double sum = 0;
    count_labels(counts, x, y, order);
    sum += mw_nmi(counts, 2, 3);
    for (int i = 0; i < 6;) {
        if (turn[i] >= i) {
            turn[i++] = 0;
            continue;
        }
        const int from = i % 2 ? turn[i] : 0, kept = order[from];
        order[from] = order[i];
        order[i] = kept;
        count_labels(counts, x, y, order);
        sum += mw_nmi(counts, 2, 3);
        turn[i]++;
        i = 0;
    }
    return sum / 720;
}

static void expected_over_permutations(void **state) {
    (void)state;
    const int x[] = {0, 0, 0, 0, 1, 1}, y[] = {0, 1, 1, 2, 2, 2}, kept[] = {0, 1, 2, 3, 4, 5};
    long counts[6];
    double expected;
    mw_error error;
    count_labels(counts, x, y, kept);
    CHECK_OK(mw_nmi_expected(&expected, counts, 2, 3, &error), error);
    CHECK_NEAR(expected, all_orders(x, y), 1e-12);
    assert_true(expected > 0.05); /* few things look related by chance */
}

/* ---- masses ---- */

enum { T = 4, N = 2, EXPERTS = 3 };

/* Two agents; agent 1 never changes; a gap between the second and the third transition. */
static mw_status small_case(mw_routing_statistics *s, const double *mass, bool still, int *dominant,
                            mw_error *error) {
    static float obs[T * N], next[T * N], act[T * N], reward[T * N];
    static int episode[T] = {0, 0, 0, 0}, step[T] = {0, 1, 5, 6}, permutations[20 * T * N];
    for (int k = 0; k < T * N; k++) {
        next[k] = still ? 0 : (float)(k % 2 ? 0 : k + 1);
        act[k] = 1;
        reward[k] = (float)-k;
    }
    for (int k = 0; k < 20 * T * N; k++) permutations[k] = k % (T * N);
    const mw_routing_sample sample = {T, N, 1, 1, obs, next, act, reward, episode, step};
    return mw_routing_statistics_of(s, &sample, mass, EXPERTS, permutations, dominant, NULL, error);
}

static void statistics(void **state) {
    (void)state;
    static const double mass[T * N * EXPERTS] = {0.4, 0.4, 0.2, /* a tie: the lower one */
                                                 0,   0,   1,   0, 1, 0, 0, 0, 1, 1, 0,
                                                 0,   0,   0,   1, 0, 1, 0, 0, 1, 0};
    mw_routing_statistics s;
    mw_error error;
    int dominant[T * N];
    CHECK_OK(small_case(&s, mass, false, dominant, &error), error);
    const int expected[] = {0, 2, 1, 2, 0, 2, 1, 1};
    assert_memory_equal(dominant, expected, sizeof expected);
    CHECK_NEAR(s.affinity[0][0], 0.35, 1e-15);
    CHECK_NEAR(s.affinity[0][1], 0.6, 1e-15);
    CHECK_NEAR(s.affinity[1][2], 0.75, 1e-15);
    CHECK_NEAR(s.dominant_share[1], 3.0 / 8, 1e-15);
    assert_int_equal(s.switching_pairs, 4); /* none across the gap */
    CHECK_NEAR(s.switching, 0.75, 1e-15);
    CHECK_NEAR(s.shares[MW_ACTION][0], 1, 1e-15); /* constant: all in the lowest third */
    CHECK_NEAR(s.effective_per_token, (exp(0.8 * log(2.5) + 0.2 * log(5)) + 7) / 8, 1e-12);
    /* permutations that change nothing correct everything away */
    CHECK_NEAR(s.agent.corrected, 0, 1e-15);
    assert_true(s.agent.corrected_exact < s.agent.raw && s.agent.expected > 0);
    assert_true(s.js_context > 0);
    CHECK_OK(small_case(&s, mass, true, dominant, &error), error);
    assert_true(isnan(s.js_context)); /* nothing changes: no large changes to compare with */
    CHECK_FAILS(mw_routing_statistics_of(&s, &(mw_routing_sample){.transitions = 1, .agents = 65}, mass, 3,
                                         NULL, NULL, NULL, &error),
                MW_ERR_ARGUMENT, error, "65");
}

/* ---- graphs ---- */

static void graphs(void **state) {
    (void)state;
    static mw_routing_graphs g;
    const double affinity[2][MW_ROUTING_EXPERTS] = {{1, 0}, {0.6, 0.8}};
    mw_routing_cosine(g.cosine, affinity, 2, 2);
    CHECK_NEAR(g.cosine[0][1], 0.6, 1e-11);
    g.influence[0][1] = 0.2;
    g.influence[1][0] = 0.4;
    g.flow[0][1] = 0.3;
    g.flow[1][0] = 0.5;
    mw_routing_compare(&g, 2);
    assert_int_equal(g.cosine_symmetric.entries, 1); /* one pair has no correlation */
    assert_true(isnan(g.cosine_symmetric.correlation) && isnan(g.cosine_symmetric.difference_minmax));
    assert_int_equal(g.flow_offdiagonal.entries, 2); /* and two numbers are always in line */
    assert_true(isnan(g.flow_offdiagonal.correlation) && isnan(g.flow_offdiagonal.difference_minmax));
    assert_false(isnan(g.flow_all.correlation));
    CHECK_NEAR(g.flow_offdiagonal.difference_max, 0.05, 1e-12); /* |0.6 - 0.5| / 2 */
    mw_routing_compare(&g, 1);                                  /* an agent alone */
    assert_int_equal(g.flow_offdiagonal.entries, 0);
    assert_true(isnan(g.flow_all.correlation));
}

static void effects(void **state) {
    (void)state;
    /* The second anchor moves nobody; in the third agent 1 had no other action. */
    const double truth[] = {9, 1, 2, 9, 9, 0, 0, 9, 9, NAN, 4, NAN},
                 predicted[] = {0, 2, 2, 0, 0, 1, 0, 0, 0, 5, 3, 0};
    mw_influence_match m = {0};
    mw_error error;
    CHECK_OK(mw_influence_compare(&m, truth, predicted, 3, 2, &error), error);
    assert_int_equal(m.effects, 5);
    CHECK_NEAR(m.true_mean, 7.0 / 5, 1e-15);
    CHECK_NEAR(m.predicted_mean, 8.0 / 5, 1e-15);
    CHECK_NEAR(m.normalized_error, 3.0 / 7, 1e-15);
    CHECK_NEAR(m.cosine, (6 / sqrt(5 * 8) + 1) / 2, 1e-12);
    CHECK_OK(mw_influence_compare(&m, truth, predicted, 1, 1, &error), error);
    assert_true(m.effects == 0 && isnan(m.pearson));
}

/* ---- the model without an expert ---- */

static mw_bundle *maze_bundle(bool discrete, bool paper) {
    mw_bundle_info info = {.task = "maze",
                           .rules = "maze-1",
                           .agents = FIXTURE_AGENTS,
                           .obs = FIXTURE_OBS,
                           .act = FIXTURE_ACT,
                           .discrete = discrete,
                           .episode_limit = FIXTURE_LIMIT};
    mw_error error;
    if (!paper) return random_bundle(info, 4);
    mw_bundle *bundle;
    mw_plan_settings plan = {0};
    mw_fields_defaults(mw_plan_fields, &plan);
    snprintf(info.quality, sizeof info.quality, "test");
    CHECK_OK(mw_bundle_create(&bundle, &info, &plan, &error), error);
    add_random_model(bundle, "rwm", "variant=paper hidden=16 experts=3 slots=2", 4);
    repack(bundle);
    return bundle;
}

static void silence(mw_model *model, const char *prefix) {
    for (int i = 0; i < model->params->count; i++) {
        const mw_param *p = &model->params->list[i];
        if (!strncmp(p->name, prefix, strlen(prefix)) && strstr(p->name, ".4."))
            memset(model->values + p->offset, 0, p->count * sizeof(float));
    }
    mw_model_pack(model);
}

static void look(const mw_model *model, const float *obs, const float *act, int count, mw_probe_view view) {
    mw_error error;
    mw_probe *probe;
    CHECK_OK(mw_probe_create(&probe, mw_rwm_net(model), model->values, model->packed, NULL, &error), error);
    mw_probe_look(probe, obs, act, count, &view);
    mw_probe_free(probe);
}

static void without_an_expert(void **state) {
    (void)state;
    enum { ROWS = 131, JOINT = FIXTURE_AGENTS * FIXTURE_OBS }; /* more than one batch */
    static float obs[ROWS * JOINT], act[ROWS * FIXTURE_AGENTS * FIXTURE_ACT], without[4][ROWS * JOINT],
        next[ROWS * JOINT];
    mw_rng rng = mw_rng_make(1, MW_RNG_TEST, 0, 0, 0);
    mw_rng_fill_normal(&rng, obs, sizeof obs / sizeof *obs);
    mw_rng_fill_normal(&rng, act, sizeof act / sizeof *act);
    for (int paper = 0; paper < 2; paper++) {
        mw_bundle *bundle = maze_bundle(false, paper);
        mw_model *model = mw_bundle_find(bundle, "rwm")->model;
        const int parts = mw_probe_parts(mw_rwm_net(model));
        assert_int_equal(parts, paper ? 3 : 4);
        look(model, obs, act, ROWS, (mw_probe_view){.without = without[0]});
        float *kept = malloc(model->params->total * sizeof *kept);
        memcpy(kept, model->values, model->params->total * sizeof *kept);
        for (int part = 0; part < parts; part++) {
            char prefix[32] = "dynamics.shared";
            if (part < 3) snprintf(prefix, sizeof prefix, "dynamics.experts.%d", part);
            memcpy(model->values, kept, model->params->total * sizeof *kept);
            silence(model, prefix);
            look(model, obs, act, ROWS, (mw_probe_view){.next = next});
            for (int k = 0; k < ROWS * JOINT; k++) CHECK_NEAR(without[part][k], next[k], 1e-5);
        }
        free(kept);
        mw_bundle_free(bundle);
    }
}

/* ---- whole runs ---- */

static mw_routing_options small_run(void) {
    mw_routing_options options;
    mw_routing_options_init(&options, sizeof options);
    options.transitions = 300;
    options.consecutive = 200;
    options.anchors = 0;
    options.threads = 1;
    return options;
}

static void check_router(const mw_router *r) {
    for (int i = 0; i < r->agents; i++) {
        double mass = 0, picks = 0, flow = 0;
        for (int e = 0; e < r->experts; e++) mass += r->affinity[i][e];
        for (int e = 0; e < r->reward_experts; e++) picks += r->reward_share[i][e];
        for (int j = 0; j < r->agents; j++) flow += r->graphs.flow[i][j];
        CHECK_NEAR(mass, 1, 1e-5);
        CHECK_NEAR(picks, 1, 1e-12);
        CHECK_NEAR(flow, 1, 1e-5);
        assert_true(r->graphs.influence[i][i] > 0);
    }
    assert_true(r->effective_agents >= 1 && r->effective_agents <= r->agents + 1e-6);
    assert_true(r->shared ? r->routed_share > 0 && r->routed_share < 1 : r->routed_share == 1);
}

static void whole_runs(void **state) {
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        mw_error error;
        mw_dataset data;
        mw_routing *one, *two;
        mw_routing_options options = small_run();
        mw_bundle *bundle = maze_bundle(kind % 2, kind / 2);
        fixture_make(scratch("maze"), kind % 2, true, 160);
        CHECK_OK(mw_dataset_open(&data, scratch("maze"), &error), error);
        CHECK_OK(mw_routing_run(&one, bundle, &data, &options, &error), error);
        assert_int_equal(one->trained.transitions, 300);
        assert_int_equal(one->trained.statistics.transitions, 200);
        assert_true(one->trained.statistics.switching_pairs > 200); /* blocks have neighbours */
        check_router(&one->trained);
        check_router(&one->untrained);
        assert_true(memcmp(one->trained.affinity, one->untrained.affinity, sizeof one->trained.affinity));
        FOR_THREADS(threads) {
            options.threads = threads;
            CHECK_OK(mw_routing_run(&two, bundle, &data, &options, &error), error);
            two->seconds = one->seconds;
            assert_memory_equal(one, two, sizeof *one);
            mw_routing_free(two);
        }
        options.threads = 1;
        options.transitions = options.consecutive = 1000000; /* all there are */
        CHECK_OK(mw_routing_run(&two, bundle, &data, &options, &error), error);
        assert_true(two->trained.transitions == data.steps &&
                    two->trained.statistics.transitions == data.steps);
        mw_routing_free(two);
        options.transitions = 0;
        CHECK_FAILS(mw_routing_run(&two, bundle, &data, &options, &error), MW_ERR_ARGUMENT, error, "got 0");
        mw_routing_free(one);
        mw_bundle_free(bundle);
        mw_dataset_close(&data);
        scratch_remove(scratch("maze"));
    }
}

/* Real actions always have another; a model is as good as itself. */
static void influence_at_anchors(void **state) {
    (void)state;
    static const char *const tasks[] = {"spread", "3m"};
    for (int k = 0; k < 2; k++) {
        mw_error error;
        mw_bundle *bundle = tiny_bundle(tasks[k], NULL);
        const mw_model *model = mw_bundle_model(bundle, "rwm");
        const mw_world_weights same = {mw_rwm_net(model), model->values, model->packed};
        mw_routing_options options = small_run();
        options.anchors = 10;
        mw_routing *results = calloc(2, sizeof *results);
        for (int threads = 1; threads <= 2; threads++) {
            mw_pool *pool;
            CHECK_OK(mw_pool_create(&pool, threads, &error), error);
            CHECK_OK(mw_influence_run(&results[threads - 1], bundle, same, &options, pool, &error), error);
            mw_pool_free(pool);
        }
        assert_memory_equal(&results[0], &results[1], sizeof *results);
        assert_int_equal(results->anchors, 10);
        assert_int_equal(results->model_count, 2);
        const mw_influence_match *m = results->models;
        assert_string_equal(m[0].model, "rwm");
        assert_true(m[0].pearson == m[1].pearson && m[0].cosine == m[1].cosine);
        assert_true(m[0].true_mean > 0 && m[0].predicted_mean > 0);
        if (k == 0) assert_int_equal(m[0].effects, 10 * 6);
        free(results);
        mw_bundle_free(bundle);
    }
}

/* ---- over settings ---- */

static void over_settings(void **state) {
    (void)state;
    const double first[] = {3, 2, 5, 1, NAN, 3, 2, 5, 1}, second[] = {1, 2, 1, 2, 0, 1, 2, 1, 2};
    mw_paired_summary s;
    mw_error error;
    CHECK_OK(mw_paired_compare(&s, first, second, 5, 1, &error), error);
    assert_true(s.settings == 4 && s.positive == 2 && s.negative == 1);
    CHECK_NEAR(s.difference.mean, 1.25, 1e-15);
    assert_true(isnan(s.difference.low) && isnan(s.difference.high)); /* of four */
    CHECK_NEAR(s.sign_test, 1, 1e-12);                                /* 2:1 */
    CHECK_OK(mw_paired_compare(&s, first, second, 9, 1, &error), error);
    assert_true(s.settings == 8 && s.positive == 4 && s.negative == 2);
    assert_true(s.difference.low >= -1 && s.difference.low < 1.25 && s.difference.high <= 4);
    CHECK_NEAR(s.sign_test, 0.6875, 1e-12); /* 4:2 */
    CHECK_OK(mw_paired_compare(&s, first, second, 0, 1, &error), error);
    assert_true(s.settings == 0 && isnan(s.difference.mean) && s.sign_test == 1);
}

static void over_files(void **state) {
    (void)state;
    static const char text[] =
        "{\"routing\":{\"trained\":{\"statistics\":{\"nmi_context\":{\"corrected\":0.3},\"nmi_agent\":"
        "{\"corrected\":0.1},\"js_context\":null,\"js_agents\":0.1,\"effective_experts\":6,"
        "\"switching_rate\":0.25}}}}";
    mw_routing_over over;
    mw_error error;
    scratch_write(scratch("a.json"), text, strlen(text));
    scratch_write(scratch("b.json"), "{\"routing\": 3}", 14);
    const char *const paths[] = {scratch("a.json"), scratch("a.json"), scratch("b.json")};
    CHECK_OK(mw_routing_over_settings(&over, paths, 2, 1, &error), error);
    assert_true(over.settings == 2 && over.nmi.positive == 2 && over.js.settings == 0);
    CHECK_NEAR(over.nmi.difference.mean, 0.2, 1e-12);
    CHECK_NEAR(over.effective_experts, 6, 0);
    CHECK_FAILS(mw_routing_over_settings(&over, paths, 3, 1, &error), MW_ERR_FORMAT, error, "b.json");
    CHECK_FAILS(mw_routing_over_settings(&over, paths, 0, 1, &error), MW_ERR_ARGUMENT, error, "got 0");
    scratch_count(true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thirds),
        cmocka_unit_test(information),
        cmocka_unit_test(expected_over_permutations),
        cmocka_unit_test(statistics),
        cmocka_unit_test(graphs),
        cmocka_unit_test(effects),
        cmocka_unit_test(without_an_expert),
        cmocka_unit_test(whole_runs),
        cmocka_unit_test(influence_at_anchors),
        cmocka_unit_test(over_settings),
        cmocka_unit_test(over_files),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
