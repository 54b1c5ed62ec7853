/* Diagnostics of the ranking: the true simulator as judge of one state's candidates, and recorded snippets
 * whose numbers are recomputed here the slow way. */
#include "cli/program.h"
#include "core/json.h"
#include "data/split.h"
#include "dataset/fixture.h"
#include "env/env.h"
#include "eval/diagnosis.h"
#include "eval/statistics.h"
#include "eval/worlds.h"
#include "model/rwm/rwm.h"
#include "plan/oracle.h"
#include "plan/planner.h"
#include "train/tiny.h"

/* ---- same state ---- */

static const char *const five[] = {"M=5"}, *const pair[] = {"M=2"}, *const single[] = {"M=1"};

static mw_same_state_options few_anchors(void) {
    mw_same_state_options o;
    mw_same_state_options_init(&o, sizeof o);
    o.anchors = 10;
    o.assignments = five;
    o.assignment_count = 1;
    o.threads = 1;
    return o;
}

static void same_state(void **state) {
    (void)state;
    static const char *const tasks[] = {"spread", "3m", "2ant"};
    for (int k = 0; k < 3; k++) {
        mw_error error;
        mw_env *env;
        if (mw_env_create(&env, tasks[k], NULL, &error) == MW_ERR_UNSUPPORTED) continue; /* no MuJoCo */
        mw_env_free(env);
        mw_bundle *bundle = tiny_bundle(tasks[k], NULL);
        mw_same_state_options options = few_anchors();
        mw_same_state one, two;
        CHECK_OK(mw_same_state_run(&one, bundle, &options, &error), error);
        assert_int_equal(one.anchors, 10);
        FOR_THREADS(threads) {
            options.threads = threads;
            CHECK_OK(mw_same_state_run(&two, bundle, &options, &error), error);
            assert_true(one.exact && two.exact);
            assert_memory_equal(one.realized, two.realized, 50 * sizeof(float));
            assert_memory_equal(one.judge[0].predicted, two.judge[0].predicted, 50 * sizeof(float));
            mw_same_state_free(&two);
        }

        double best = 0, chosen = 0, average = 0, within = 0;
        int counted = 0, different = 0;
        for (int a = 0; a < 10; a++) {
            const float *truth = one.realized + a * 5, *guess = one.judge[0].predicted + a * 5;
            int top = 0, pick = 0;
            for (int m = 1; m < 5; m++) {
                if (truth[m] > truth[top]) top = m;
                if (guess[m] > guess[pick]) pick = m;
                different += truth[m] != truth[0];
            }
            best += truth[top] / 10.0;
            chosen += truth[pick] / 10.0;
            for (int m = 0; m < 5; m++) average += truth[m] / 50.0;
            mw_ranking ranking;
            CHECK_OK(mw_ranking_of(&ranking, truth, guess, 1, 5, &error), error);
            if (isfinite(ranking.spearman)) within += ranking.spearman, counted++;
        }
        assert_true(different > 0); /* candidates do lead to different returns */
        CHECK_NEAR(one.best, best, 1e-6 * (1 + fabs(best)));
        CHECK_NEAR(one.judge[0].chosen, chosen, 1e-6 * (1 + fabs(chosen)));
        CHECK_NEAR(one.average, average, 1e-6 * (1 + fabs(average)));
        assert_true(one.best >= one.judge[0].chosen && one.best >= one.average);
        CHECK_NEAR(one.judge[0].ranking.regret, best - chosen, 1e-5 * (1 + fabs(best)));
        CHECK_NEAR(one.random_regret, best - average, 1e-5 * (1 + fabs(best)));
        CHECK_NEAR(one.judge[0].ranking.spearman_within, within / counted, 1e-9);
        mw_same_state_free(&one);
        mw_bundle_free(bundle);
    }
}

/* The first anchor of an episode, found again by hand: reactive play up to it, then the oracle. */
static void anchors_lie_on_reactive_play(void **state) {
    (void)state;
    mw_error error;
    mw_bundle *bundle = tiny_bundle("spread", NULL);
    mw_same_state_options options = few_anchors();
    options.anchors = 4; /* one episode */
    mw_same_state result;
    CHECK_OK(mw_same_state_run(&result, bundle, &options, &error), error);
    assert_int_equal(result.episodes, 1);

    mw_worlds stage;
    mw_planner *reactive, *wide;
    mw_oracle *oracle;
    mw_planner_options one, many;
    mw_planner_options_init(&one, sizeof one, bundle);
    one.threads = 1;
    many = one;
    one.plan.choice = MW_CHOICE_FIRST;
    many.plan.candidates = 5;
    many.plan.warm_start = false;
    many.plan.action_offset = 0;
    mw_env_options world;
    mw_env_options_init(&world, sizeof world);
    CHECK_OK(mw_worlds_create(&stage, bundle, &world, false, 1, NULL, &error), error);
    CHECK_OK(mw_planner_create(&reactive, bundle, &one, &error), error);
    CHECK_OK(mw_planner_create(&wide, bundle, &many, &error), error);
    CHECK_OK(mw_oracle_create(&oracle, "spread", NULL, NULL, &error), error);
    const mw_episode_seeds seeds = mw_episode_seeds_of(options.seed, 0);
    mw_planner_begin(wide, 0, seeds.controller, NULL);
    mw_planner_begin(reactive, 0, seeds.controller, NULL);
    mw_worlds_begin(&stage, NULL, 0, seeds);
    float unused_real[6], scores[5];
    int found = 0;
    while (!mw_worlds_over(&stage, 0)) {
        CHECK_OK(mw_planner_act(wide, stage.obs, NULL, NULL, unused_real, NULL, &error), error);
        const mw_candidates c = mw_planner_candidates(wide, 0);
        const mw_oracle_job job = {.env = stage.envs[0], .actions = c.actions, .scores = scores};
        CHECK_OK(mw_oracle_score(oracle, &job, 1, 5, c.horizon, &error), error);
        if (found < 4 && !memcmp(scores, result.realized + found * 5, sizeof scores) &&
            !memcmp(c.scores, result.judge[0].predicted + found * 5, sizeof scores))
            found++;
        CHECK_OK(mw_planner_act(reactive, stage.obs, NULL, NULL, stage.real, NULL, &error), error);
        CHECK_OK(mw_worlds_step(&stage, NULL, &error), error);
    }
    assert_int_equal(found, 4);
    mw_oracle_free(oracle);
    mw_planner_free(wide);
    mw_planner_free(reactive);
    mw_worlds_free(&stage);
    mw_same_state_free(&result);
    mw_bundle_free(bundle);
}

/* Judges see the same candidates whoever else judges; planned candidates are other ones than drawn ones where
 * the plan adds offsets, and the same where it adds nothing. */
static void judges(void **state) {
    (void)state;
    static const char *const alone[] = {"M=5", "scorer=rwm"}, *const plain[] = {"M=5", "temperature=0"},
                             *const other_plan[] = {"M=5", "action_offset=0.8"};
    mw_error error;
    mw_bundle *bundle = tiny_bundle("spread", NULL);
    mw_same_state_options options = few_anchors();
    mw_same_state drawn, planned, other;
    CHECK_OK(mw_same_state_run(&drawn, bundle, &options, &error), error);
    assert_true(drawn.judges >= 1 && !drawn.planned);
    assert_string_equal(drawn.judge[0].scorer, "rwm");
    options.planned = true;
    CHECK_OK(mw_same_state_run(&planned, bundle, &options, &error), error);
    assert_true(planned.exact && planned.planned && !mw_plan_as_drawn(&bundle->plan));
    assert_memory_not_equal(drawn.realized, planned.realized, 50 * sizeof(float));
    options.planned = false;
    options.assignments = alone;
    options.assignment_count = 2;
    CHECK_OK(mw_same_state_run(&other, bundle, &options, &error), error);
    assert_int_equal(other.judges, 1);
    assert_memory_equal(drawn.realized, other.realized, 50 * sizeof(float));
    assert_memory_equal(drawn.judge[0].predicted, other.judge[0].predicted, 50 * sizeof(float));
    mw_same_state_free(&other);
    options.assignments = other_plan; /* which is not how they are drawn */
    CHECK_OK(mw_same_state_run(&other, bundle, &options, &error), error);
    assert_memory_equal(drawn.realized, other.realized, 50 * sizeof(float));
    mw_same_state_free(&other);
    bundle->plan.action_offset = 0; /* drawn candidates never had one */
    bundle->plan.warm_start = false;
    options.assignments = plain;
    assert_true(mw_plan_as_drawn(&bundle->plan));
    CHECK_OK(mw_same_state_run(&other, bundle, &options, &error), error);
    assert_memory_equal(drawn.realized, other.realized, 50 * sizeof(float));
    mw_same_state_free(&other);
    mw_same_state_free(&planned);
    mw_same_state_free(&drawn);
    mw_bundle_free(bundle);
}

/* A return predictor is of one horizon: at others it does not judge, unless it is asked. */
static void judges_of_a_horizon(void **state) {
    (void)state;
    static const char *const sets[][3] = {{"M=5", "H=3"}, {"M=5", "H=2"}, {"M=5", "H=2", "scorer=direct"}};
    mw_error error;
    mw_bundle *bundle = tiny_bundle("spread", NULL);
    mw_same_state_options options = few_anchors();
    mw_same_state fits, other;
    add_random_model(bundle, "direct", "hidden=8 horizon=3", 1);
    options.assignments = sets[0];
    options.assignment_count = 2;
    CHECK_OK(mw_same_state_run(&fits, bundle, &options, &error), error);
    options.assignments = sets[1];
    CHECK_OK(mw_same_state_run(&other, bundle, &options, &error), error);
    assert_int_equal(other.judges, fits.judges - 1);
    for (int j = 0; j < other.judges; j++) assert_string_not_equal(other.judge[j].scorer, "direct");
    mw_same_state_free(&fits);
    mw_same_state_free(&other);
    options.assignments = sets[2];
    options.assignment_count = 3;
    CHECK_FAILS(mw_same_state_run(&other, bundle, &options, &error), MW_ERR_ARGUMENT, error,
                "is for 3 steps, not 2");
    mw_bundle_free(bundle);
}

/* A constant state counts as no regret and has neither correlation nor pairs of its own. */
static void per_state_means(void **state) {
    (void)state;
    static const float real[] = {1, 2, 3, 5, 5, 5, 0, 4, 4}, guess[] = {1, 3, 2, 3, 2, 1, 1, 0, 2};
    mw_ranking r;
    mw_error error;
    CHECK_OK(mw_ranking_of(&r, real, guess, 3, 3, &error), error);
    CHECK_NEAR(r.spearman_within, 0.25, 1e-12);          /* 0.5 and 0 */
    CHECK_NEAR(r.pair_accuracy_within, 7.0 / 12, 1e-12); /* 2/3 and 1/2 */
    CHECK_NEAR(r.pair_accuracy, 3.0 / 5, 1e-12);         /* the same pairs at once */
    CHECK_NEAR(r.normalized_regret, (0.5 + 0 + 0) / 3, 1e-12);
    /* whatever the size of a state: the mean of equal ranks is not always that rank */
    for (int size = 3; size <= 40; size++) {
        float rising[80], still[80];
        for (int i = 0; i < 2 * size; i++) {
            rising[i] = (float)(i % size);
            still[i] = i < size ? rising[i] : 7;
        }
        CHECK_OK(mw_ranking_of(&r, still, rising, 2, size, &error), error);
        CHECK_NEAR(r.spearman_within, 1, 1e-12);
        CHECK_OK(mw_ranking_of(&r, rising, still, 2, size, &error), error);
        CHECK_NEAR(r.spearman_within, 1, 1e-12);
        CHECK_OK(mw_ranking_of(&r, still + size, rising, 1, size, &error), error);
        assert_true(isnan(r.spearman) && isnan(r.pearson));
    }
    /* a score that is not finite is never chosen, and is below all others */
    const float earned[] = {4, 3, 2, 1};
    const struct {
        float scores[4];
        double top1, top2, regret, spearman, pairs;
    } odd[] = {{{NAN, 1, 2, 3}, 0, 0, 1, -1, 0},
               {{9, NAN, 2, 3}, 1, 1, 0, 0.2, 0.5},
               {{NAN, NAN, NAN, 3}, 0, 1, 1, -0.7745966692414834, 0},
               {{INFINITY, 1, 2, 3}, 0, 0, 1, -1, 0},
               {{3, 2, 1, INFINITY}, 1, 1, 0, 1, 1}};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        CHECK_OK(mw_ranking_of(&r, earned, odd[i].scores, 1, 4, &error), error);
        CHECK_NEAR(r.top1, odd[i].top1, 0);
        CHECK_NEAR(r.top2, odd[i].top2, 0);
        CHECK_NEAR(r.normalized_regret, odd[i].regret, 1e-12);
        CHECK_NEAR(r.spearman_within, odd[i].spearman, 1e-12);
        CHECK_NEAR(r.pair_accuracy, odd[i].pairs, 1e-12);
        assert_true(isnan(r.pearson)); /* which is of sizes, not of ranks */
    }
}

/* ---- snippets ---- */

/* A bundle for the made-up task of the fixture. */
static mw_bundle *maze_bundle(bool discrete) {
    return random_bundle((mw_bundle_info){.task = "maze",
                                          .rules = "maze-1",
                                          .agents = FIXTURE_AGENTS,
                                          .obs = FIXTURE_OBS,
                                          .act = FIXTURE_ACT,
                                          .discrete = discrete,
                                          .episode_limit = FIXTURE_LIMIT},
                         4);
}

enum { MAZE_EPISODES = 160, MAZE_HORIZON = 7, MAZE_JOINT = FIXTURE_AGENTS * FIXTURE_OBS };

static long maze_places(const mw_split *split, int horizon) {
    long count = 0;
    for (long k = 0; k < split->held.count; k++) {
        const long places = fixture_length(split->held.episodes[k]) - horizon + 1;
        count += places > 0 ? places : 0;
    }
    return count;
}

/* A seed whose held-out episodes hold as many snippets of MAZE_HORIZON steps as can be grouped without
 * leaving any out: at least a quarter of all starts, and no longer ones as many. */
static uint64_t even_split(const mw_dataset *data, mw_split *split) {
    mw_error error;
    for (uint64_t seed = 0;; seed++) {
        CHECK_OK(mw_split_make(split, data, MW_HELD_OUT, seed, &error), error);
        const long here = maze_places(split, MAZE_HORIZON), longer = maze_places(split, MAZE_HORIZON + 1),
                   all = maze_places(split, 1);
        if (here % 8 == 0 && 4 * here >= all && 4 * longer < all) return seed;
        mw_split_free(split);
    }
}

/* Rolls one recorded snippet alone: its true and imagined return, the squared error at its end. */
static double roll_alone(mw_scorer *scorer, const mw_dataset *data, bool discrete, long e, long t,
                         float *truth, float *guess) {
    float act[MAZE_HORIZON][FIXTURE_AGENTS][FIXTURE_ACT], path[MAZE_HORIZON][MAZE_JOINT];
    double square = 0;
    *truth = 0;
    for (int h = 0; h < MAZE_HORIZON; h++)
        for (int i = 0; i < FIXTURE_AGENTS; i++) {
            for (int a = 0; a < FIXTURE_ACT; a++)
                act[h][i][a] =
                    discrete ? (float)(a == fixture_index(e, t + h, i)) : fixture_real(e, t + h, i, a);
            *truth += fixture_reward(e, t + h, i);
        }
    mw_scorer_score(scorer,
                    &(mw_scoring){.scores = guess,
                                  .paths = path[0],
                                  .obs = mw_dataset_obs(data, e, t),
                                  .actions = act[0][0],
                                  .count = 1,
                                  .horizon = MAZE_HORIZON,
                                  .group = 1},
                    NULL);
    for (int x = 0; x < MAZE_JOINT; x++)
        square += pow(path[MAZE_HORIZON - 1][x] -
                          fixture_obs(e, t + MAZE_HORIZON, x / FIXTURE_OBS, x % FIXTURE_OBS),
                      2);
    return square / MAZE_JOINT;
}

static void snippets(void **state) {
    (void)state;
    for (int discrete = 0; discrete < 2; discrete++) {
        mw_error error;
        mw_dataset data;
        mw_split split;
        mw_scorer *scorer;
        mw_snippets result, threaded;
        mw_ranking ranking;
        mw_snippet_options options;
        mw_snippet_options_init(&options, sizeof options, NULL);
        static float truth[1024], guess[1024];
        fixture_make(scratch("maze"), discrete, true, MAZE_EPISODES);
        CHECK_OK(mw_dataset_open(&data, scratch("maze"), &error), error);
        mw_bundle *bundle = maze_bundle(discrete);
        const mw_model *world = mw_bundle_model(bundle, "rwm");
        CHECK_OK(mw_world_scorer_create(&scorer, world->net, world->values, world->packed, 4, NULL, &error),
                 error);
        options.split_seed = even_split(&data, &split);
        options.threads = 1;
        CHECK_OK(mw_snippets_run(&result, bundle, &data, &options, &error), error);
        FOR_THREADS(threads) {
            options.threads = threads;
            CHECK_OK(mw_snippets_run(&threaded, bundle, &data, &options, &error), error);
            assert_memory_equal(&result, &threaded, sizeof result);
        }
        assert_int_equal(result.horizons, MAZE_HORIZON);

        double square = 0;
        int count = 0;
        for (long k = 0; k < split.held.count; k++)
            for (long e = split.held.episodes[k], t = 0; t + MAZE_HORIZON <= fixture_length(e); t++, count++)
                square += roll_alone(scorer, &data, discrete, e, t, &truth[count], &guess[count]);
        assert_int_equal(count, result.count);
        CHECK_NEAR(result.error[MAZE_HORIZON - 1], square / count, 1e-5 * square / count);
        /* correlations over all do not depend on the order, which groups do */
        CHECK_OK(mw_ranking_of(&ranking, truth, guess, count / 8, 8, &error), error);
        CHECK_NEAR(result.ranking[MAZE_HORIZON - 1].pearson, ranking.pearson, 1e-4);
        CHECK_NEAR(result.ranking[MAZE_HORIZON - 1].spearman, ranking.spearman, 1e-3);
        json_t *json = mw_snippets_json(&result);
        assert_int_equal(json_array_size(json_object_get(json, "horizons")), MAZE_HORIZON);
        json_decref(json);

        mw_scorer_free(scorer);
        mw_bundle_free(bundle);
        mw_split_free(&split);
        mw_dataset_close(&data);
        scratch_remove(scratch("maze"));
    }
}

/* The split comes from what the world model's part of the bundle says about its training. */
static void split_of_training(void **state) {
    (void)state;
    mw_bundle *bundle = maze_bundle(true);
    mw_provenance *p = &mw_bundle_find(bundle, "rwm")->provenance;
    strcpy(p->seed, "18446744073709551614");
    p->held_out = 0.25;
    mw_snippet_options options;
    mw_snippet_options_init(&options, sizeof options, bundle);
    assert_true(options.split_seed == 18446744073709551614u);
    CHECK_NEAR(options.held_out, 0.25, 0);
    mw_bundle_free(bundle);
}

static void refusals(void **state) {
    (void)state;
    mw_error error;
    mw_dataset data;
    mw_snippets result;
    mw_same_state same;
    mw_snippet_options options;
    mw_same_state_options anchors = few_anchors();
    mw_snippet_options_init(&options, sizeof options, NULL);
    fixture_make(scratch("maze"), false, true, 40);
    CHECK_OK(mw_dataset_open(&data, scratch("maze"), &error), error);
    mw_bundle *bundle = maze_bundle(false);
    options.count = 7;
    CHECK_FAILS(mw_snippets_run(&result, bundle, &data, &options, &error), MW_ERR_ARGUMENT, error, "7");
    options.count = 64;
    snprintf(bundle->info.rules, sizeof bundle->info.rules, "maze-2");
    CHECK_FAILS(mw_snippets_run(&result, bundle, &data, &options, &error), MW_ERR_MISMATCH, error, "maze-2");
    anchors.anchors = 4;
    anchors.assignments = pair;
    CHECK_FAILS(mw_same_state_run(&same, bundle, &anchors, &error), MW_ERR_ARGUMENT, error,
                "there is no task 'maze'");
    mw_bundle_free(bundle);
    bundle = maze_bundle(true);
    CHECK_FAILS(mw_snippets_run(&result, bundle, &data, &options, &error), MW_ERR_MISMATCH, error,
                "discrete");
    mw_bundle_free(bundle);
    mw_dataset_close(&data);
    scratch_remove(scratch("maze"));
    bundle = tiny_bundle("spread", "mpe-old-0");
    anchors = few_anchors();
    CHECK_FAILS(mw_same_state_run(&same, bundle, &anchors, &error), MW_ERR_MISMATCH, error, "mpe-old-0");
    anchors.assignments = single;
    CHECK_FAILS(mw_same_state_run(&same, bundle, &anchors, &error), MW_ERR_ARGUMENT, error, "2 candidates");
    anchors.assignments = &(const char *){"choice=random"};
    anchors.assignment_count = 1;
    CHECK_FAILS(mw_same_state_run(&same, bundle, &anchors, &error), MW_ERR_ARGUMENT, error, "choice=best");
    mw_bundle_free(bundle);
    bundle = tiny_bundle("spread", NULL);
    anchors = few_anchors();
    anchors.stop = &(mw_stop_flag){1};
    CHECK_FAILS(mw_same_state_run(&same, bundle, &anchors, &error), MW_ERR_INTERRUPTED, error,
                "stopped after 0");
    mw_bundle_free(bundle);
}

/* ---- the command ---- */

static int run(const char *arguments) {
    char line[1024];
    snprintf(line, sizeof line, "'%s' %s", MAWAM_PROGRAM, arguments);
    return program_shell(line);
}

static void command_line(void **state) {
    (void)state;
    mw_error error;
    char line[512];
    mw_bundle *bundle = tiny_bundle("spread", NULL), *maze = maze_bundle(true);
    CHECK_OK(mw_bundle_save(bundle, scratch("spread.bundle"), false, &error), error);
    CHECK_OK(mw_bundle_save(maze, scratch("maze.bundle"), false, &error), error);
    mw_bundle_free(bundle);
    mw_bundle_free(maze);
    fixture_make(scratch("maze"), true, true, 160);
    assert_int_equal(run("diagnose --help"), 0);
    assert_int_equal(run("diagnose"), 2);
    assert_int_equal(run("diagnose x --anchors 0"), 2);
    assert_int_equal(run("diagnose /nonexistent"), 1);
    snprintf(line, sizeof line, "diagnose %s --anchors 6 --M 3 --json", scratch("spread.bundle"));
    assert_int_equal(run(line), 0);
    json_t *value = json_loads(program_output, JSON_REJECT_DUPLICATES, NULL);
    assert_true(json_is_true(json_object_get(json_object_get(value, "same_state"), "exact")));
    assert_true(json_is_true(json_object_get(json_object_get(value, "same_state_planned"), "exact")));
    json_decref(value);
    snprintf(line, sizeof line, "diagnose %s %s --anchors 0", scratch("maze.bundle"), scratch("maze"));
    if (run(line)) fail_msg("%s", program_output);
    assert_non_null(strstr(program_output, "snippets: "));
    snprintf(line, sizeof line, "diagnose %s %s", scratch("spread.bundle"), scratch("maze"));
    assert_int_equal(run(line), 1);
    assert_non_null(strstr(program_output, "the data is of maze"));
    scratch_remove(scratch("maze"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_state),
        cmocka_unit_test(anchors_lie_on_reactive_play),
        cmocka_unit_test(judges),
        cmocka_unit_test(judges_of_a_horizon),
        cmocka_unit_test(per_state_means),
        cmocka_unit_test(snippets),
        cmocka_unit_test(split_of_training),
        cmocka_unit_test(refusals),
        cmocka_unit_test(command_line),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
