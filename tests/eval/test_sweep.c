/* Sweeps: every value plays the same episodes as an evaluation of its own would, a run that is continued
 * keeps what it has, and the front is what nothing beats. */
#include "core/json.h"
#include "eval/eval.h"
#include "mawam/sweep.h"
#include "scratch.h"
#include "train/tiny.h"

#include <string.h>
#include <unistd.h>

static int values_done;

static void count_values(void *context, const char *setting, const char *value, int done, int total,
                         double left) {
    (void)context, (void)setting, (void)value, (void)left;
    assert_true(done <= total);
    values_done++;
}

static mw_eval_options few(void) {
    mw_eval_options e;
    mw_eval_options_init(&e, sizeof e);
    e.seeds = 1;
    e.episodes = 2;
    e.threads = 1;
    e.timed = 3;
    return e;
}

static json_t *swept(const mw_bundle *bundle, const char *const *sweeps, int count, const char *path) {
    mw_error error;
    char *text;
    mw_sweep_options o;
    const mw_eval_options e = few();
    mw_sweep_options_init(&o, sizeof o);
    o.sweeps = sweeps;
    o.count = count;
    o.eval = &e;
    o.path = path;
    o.command = "sweep caf\xe9"; /* as typed, and so not always UTF-8 */
    o.progress = count_values;
    values_done = 0;
    CHECK_OK(mw_sweep_run(&text, bundle, &o, &error), error);
    json_t *root = json_loads(text, 0, NULL);
    free(text);
    assert_non_null(root);
    return root;
}

static json_t *point_at(const json_t *root, const char *setting, size_t i) {
    return json_array_get(
        json_object_get(json_object_get(json_object_get(root, "sweeps"), setting), "points"), i);
}

static double plan_at(const json_t *root, const char *setting, size_t i, const char *key) {
    return json_number_value(
        json_object_get(json_object_get(json_object_get(point_at(root, setting, i), "arms"), "plan"), key));
}

static void same_episodes(void **state) {
    (void)state;
    static const char *const sweeps[] = {"M=1,3", "H=2..3"}, *const three[] = {"M=3"};
    mw_error error;
    mw_bundle *bundle = tiny_bundle("spread", NULL);
    json_t *root = swept(bundle, sweeps, 2, NULL);
    mw_eval_options e = few();
    mw_eval_result r;
    e.arms = 1u << MW_ARM_REACTIVE | 1u << MW_ARM_PLAN;
    e.assignments = three;
    e.assignment_count = 1;
    CHECK_OK(mw_eval_run(&r, bundle, &e, &error), error);
    CHECK_NEAR(plan_at(root, "candidates", 1, "return"), r.arm[MW_ARM_PLAN].total, 1e-6);
    assert_true(plan_at(root, "candidates", 1, "return_low") <= r.arm[MW_ARM_PLAN].total + 1e-6);
    mw_eval_result_clear(&r);
    assert_int_equal(values_done, 4);
    assert_null(json_object_get(json_object_get(point_at(root, "candidates", 0), "arms"), "oracle"));
    assert_non_null(json_object_get(json_object_get(point_at(root, "horizon", 1), "arms"), "oracle"));
    assert_string_equal(json_string_value(json_object_get(point_at(root, "horizon", 1), "value")), "3");
    const json_t *front = json_object_get(root, "front");
    assert_true(json_array_size(front) >= 1);
    for (size_t i = 1; i < json_array_size(front); i++)
        assert_true(json_number_value(json_object_get(json_array_get(front, i), "return")) >
                    json_number_value(json_object_get(json_array_get(front, i - 1), "return")));
    json_decref(root);
    mw_bundle_free(bundle);
}

/* What cannot be played is said before the first value is. */
static void said_before(void **state) {
    (void)state;
    static const struct {
        const char *sweep, *set, *message;
    } cases[] = {{"H=1,99", NULL, "horizon is 99"},
                 {"H=4,2", "scorer=direct", "direct is for 4 steps, not 2"},
                 {"scorer=rwm,direct", "value_after=1", "a scorer that imagines"},
                 {"M=1,2,1", NULL, "candidates = 1 is swept twice"},
                 {"M=1,2", "candidates=4", "candidates is swept and set"}};
    mw_bundle *bundle = tiny_bundle("spread", NULL);
    add_random_model(bundle, "direct", "hidden=8 horizon=4", 4);
    add_random_model(bundle, "value", "hidden=8", 5);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mw_error error;
        char *text;
        mw_eval_options e = few();
        mw_sweep_options o;
        mw_sweep_options_init(&o, sizeof o);
        e.assignments = &cases[i].set;
        e.assignment_count = cases[i].set != NULL;
        o.sweeps = &cases[i].sweep;
        o.count = 1;
        o.eval = &e;
        o.path = scratch("unsaid.json");
        CHECK_FAILS(mw_sweep_run(&text, bundle, &o, &error), MW_ERR_ARGUMENT, error, cases[i].message);
        assert_false(mw_file_exists(scratch("unsaid.json")));
    }
    mw_bundle_free(bundle);
}

static void continues(void **state) {
    (void)state;
    static const char *const some[] = {"K=1,2"}, *const more[] = {"K=1,2,3"}, *const other[] = {"M=1", "K=4"},
                             *const typed[] = {"K=01,+2,3"};
    mw_bundle *bundle = tiny_bundle("spread", NULL);
    json_t *first = swept(bundle, some, 1, scratch("sweep.json"));
    json_t *second = swept(bundle, more, 1, scratch("sweep.json"));
    for (size_t i = 0; i < 2; i++) /* the very points, times included */
        CHECK_NEAR(plan_at(first, "sampling_steps", i, "seconds"),
                   plan_at(second, "sampling_steps", i, "seconds"), 1e-9);
    assert_non_null(point_at(second, "sampling_steps", 2));
    json_t *third = swept(bundle, typed, 1, scratch("sweep.json")); /* however the values are typed */
    assert_true(json_equal(json_object_get(second, "sweeps"), json_object_get(third, "sweeps")));
    json_decref(third);
    json_t *fourth = swept(bundle, other, 2, scratch("sweep.json")); /* nothing that was known is lost */
    assert_int_equal(values_done, 2);
    assert_string_equal(json_string_value(json_object_get(point_at(fourth, "sampling_steps", 0), "value")),
                        "4");
    for (size_t i = 0; i < 3; i++)
        assert_true(
            json_equal(point_at(second, "sampling_steps", i), point_at(fourth, "sampling_steps", i + 1)));
    json_decref(fourth);
    mw_error error;
    fourth = swept(bundle, more, 1, scratch("sweep.json"));
    assert_non_null(point_at(fourth, "candidates", 0));
    json_decref(fourth);
    bundle->plan.guidance = 2; /* other plans have other results, which do not replace these unasked */
    char *text;
    const mw_eval_options few_episodes = few();
    mw_sweep_options other_plan;
    mw_sweep_options_init(&other_plan, sizeof other_plan);
    other_plan.sweeps = some;
    other_plan.count = 1;
    other_plan.eval = &few_episodes;
    other_plan.path = scratch("sweep.json");
    CHECK_FAILS(mw_sweep_run(&text, bundle, &other_plan, &error), MW_ERR_MISMATCH, error, "is there already");
    CHECK_OK(mw_json_read(&fourth, scratch("sweep.json"), &error), error);
    assert_non_null(point_at(fourth, "sampling_steps", 3));
    json_decref(fourth);
    other_plan.overwrite = true;
    CHECK_OK(mw_sweep_run(&text, bundle, &other_plan, &error), error);
    free(text);
    third = swept(bundle, some, 1, scratch("sweep.json"));
    assert_true(plan_at(third, "sampling_steps", 0, "seconds") !=
                plan_at(first, "sampling_steps", 0, "seconds"));
    /* and so have other builds and worlds: what points depend on is compared as a whole */
    assert_string_equal(json_string_value(json_object_get(json_object_get(third, "inputs"), "revision")),
                        mw_revision());
    assert_string_equal(json_string_value(json_object_get(json_object_get(third, "inputs"), "rules")),
                        bundle->info.rules);
    json_decref(first);
    json_decref(second);
    json_decref(third);
    snprintf(bundle->info.rules, sizeof bundle->info.rules, "mpe-0"); /* trained by others */
    mw_eval_options e = few();
    e.accept_rules = true;
    mw_sweep_options o;
    mw_sweep_options_init(&o, sizeof o);
    o.sweeps = some;
    o.count = 1;
    o.eval = &e;
    CHECK_OK(mw_sweep_run(&text, bundle, &o, &error), error);
    CHECK_OK(mw_json_parse(&first, text, strlen(text), "the sweep", &error), error);
    assert_string_equal(json_string_value(json_object_get(first, "rules")), "mpe-omar-1");
    assert_string_equal(json_string_value(json_object_get(first, "accepted_rules")), "mpe-0");
    json_decref(first);
    free(text);
    unlink(scratch("sweep.json"));
    mw_bundle_free(bundle);
}

static mw_stop_flag stop;

static void stop_at_second(void *context, const char *setting, const char *value, int done, int total,
                           double left) {
    count_values(context, setting, value, done, total, left);
    mw_stop_set(&stop, done == 2);
}

/* A run that is stopped keeps what it knew of axes that it had not come to. */
static void stopped(void **state) {
    (void)state;
    static const char *const some[] = {"M=1,3", "K=1,2"}, *const more[] = {"M=1,3,2", "K=1,2"};
    mw_error error;
    char *text;
    mw_bundle *bundle = tiny_bundle("spread", NULL);
    json_decref(swept(bundle, some, 2, scratch("stopped.json")));
    mw_eval_options e = few();
    e.stop = &stop;
    mw_sweep_options o;
    mw_sweep_options_init(&o, sizeof o);
    o.sweeps = more;
    o.count = 2;
    o.eval = &e;
    o.path = scratch("stopped.json");
    o.progress = stop_at_second;
    CHECK_FAILS(mw_sweep_run(&text, bundle, &o, &error), MW_ERR_INTERRUPTED, error, "");
    json_t *root;
    CHECK_OK(mw_json_read(&root, scratch("stopped.json"), &error), error);
    assert_null(point_at(root, "candidates", 2));
    assert_non_null(point_at(root, "sampling_steps", 1));
    unlink(scratch("stopped.json"));
    json_decref(root);
    mw_bundle_free(bundle);
}

static void refusals(void **state) {
    (void)state;
    static const char *const bad[][2] = {{"M", "is no sweep"},
                                         {"size=1", "is no sweep"},
                                         {"M=", "names no value"},
                                         {"M=1,many", "whole number"},
                                         {"M=1..400", "at most 64"},
                                         {"H=50", "horizon is 50"},
                                         {"M=5..1", "runs backwards"},
                                         {"M=2,02", "swept twice"},
                                         {"guidance=1,1e0", "swept twice"},
                                         {"scorer=rwm,q", "no part for the scorer 'q'"}};
    mw_error error;
    char *text;
    const mw_eval_options e = few();
    mw_bundle *bundle = tiny_bundle("spread", NULL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        mw_sweep_options o;
        mw_sweep_options_init(&o, sizeof o);
        o.sweeps = &bad[i][0];
        o.count = 1;
        o.eval = &e;
        CHECK_FAILS(mw_sweep_run(&text, bundle, &o, &error), MW_ERR_ARGUMENT, error, bad[i][1]);
        assert_null(text);
    }
    static const char *const twice[] = {"M=1", "H=2", "candidates=3"};
    mw_sweep_options o;
    mw_sweep_options_init(&o, sizeof o);
    o.sweeps = twice;
    o.count = 3;
    o.eval = &e;
    CHECK_FAILS(mw_sweep_run(&text, bundle, &o, &error), MW_ERR_ARGUMENT, error, "swept twice");
    mw_bundle_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_episodes), cmocka_unit_test(said_before),
                                       cmocka_unit_test(continues), cmocka_unit_test(stopped),
                                       cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
