/* Decisions in time: the arithmetic by itself, and a planner whose clock is a fake one that every look moves
 * on by what the test says. */
#include "plan/deadline.h"
#include "train/tiny.h"

#include "allocations.h"

static void levels_fit(void **state) {
    (void)state;
    mw_deadline d;
    int steps;
    mw_deadline_init(&d, 0.010, 8, 3);
    assert_int_equal(d.count, 4);
    for (int i = 0; i < d.count; i++) /* 1 ms for each candidate and step, 1 ms for each score */
        mw_deadline_learn(&d, i, 1, 1, 1e-3 * d.level[i].candidates, 1e-3 * d.level[i].candidates);
    d.limit = 0.040;
    assert_int_equal(d.level[mw_deadline_choose(&d, 1, &steps)].candidates, 8);
    d.limit = 0.020;
    assert_int_equal(d.level[mw_deadline_choose(&d, 1, &steps)].candidates, 4);
    assert_int_equal(steps, 3);
    assert_int_equal(d.level[mw_deadline_choose(&d, 4, &steps)].candidates, 1);
    d.limit = 0.003;
    assert_int_equal(d.level[mw_deadline_choose(&d, 1, &steps)].candidates, 1);
    assert_int_equal(steps, 2);
    d.limit = 1e-6;
    mw_deadline_choose(&d, 1, &steps);
    assert_int_equal(steps, 1);
    assert_true(mw_deadline_allows(&(mw_deadline){.limit = 1, .level = {{.score = 0.5}}}, 0, 1, 0.4));
    assert_false(mw_deadline_allows(&(mw_deadline){.limit = 1, .level = {{.score = 0.5}}}, 0, 1, 0.6));
}

/* One slow decision counts at once, and is forgotten little by little. */
static void a_stall_passes(void **state) {
    (void)state;
    mw_deadline d;
    int steps, rounds = 0;
    mw_deadline_init(&d, 0.020, 8, 1);
    for (int i = 0; i < d.count; i++)
        mw_deadline_learn(&d, i, 1, 1, 1e-3 * d.level[i].candidates, 1e-3 * d.level[i].candidates);
    assert_int_equal(mw_deadline_choose(&d, 1, &steps), 0);
    mw_deadline_learn(&d, 0, 1, 1, 0.030, -1);
    assert_true(mw_deadline_choose(&d, 1, &steps) > 0);
    for (; mw_deadline_choose(&d, 1, &steps) > 0; rounds++) {
        const int level = mw_deadline_choose(&d, 1, &steps), m = d.level[level].candidates;
        mw_deadline_learn(&d, level, 1, 1, 1e-3 * m, 1e-3 * m);
        assert_true(rounds < 1000);
    }
    assert_true(rounds > 10);
}

/* ---- a planner with a fake clock ---- */

typedef struct {
    double now, look;    /* seconds; what a look at the clock takes */
    long looks, stalled; /* so far; those from here on that take a second each */
    long stalls;
} fake_clock;

static double tick(void *context) {
    fake_clock *clock = context;
    const long look = clock->looks++;
    return clock->now += look >= clock->stalled && look < clock->stalled + clock->stalls ? 1 : clock->look;
}

enum { N = 3, O = 18, D = 2 };

static void act(mw_planner *planner, float *real) {
    mw_error error;
    float obs[N * O];
    for (int i = 0; i < N * O; i++) obs[i] = 0.01f * (float)i;
    CHECK_OK(mw_planner_act(planner, obs, NULL, NULL, real, NULL, &error), error);
}

/* Of 10 ms, by this clock. */
static mw_planner *made(const mw_bundle *bundle, fake_clock *clock) {
    mw_planner *planner;
    mw_planner_options options;
    mw_error error;
    mw_planner_options_init(&options, sizeof options, bundle);
    options.threads = 1;
    options.deadline = 10;
    options.clock = tick;
    options.clock_context = clock;
    CHECK_OK(mw_planner_create(&planner, bundle, &options, &error), error);
    return planner;
}

static void planner_keeps_time(void **state) {
    (void)state;
    mw_bundle *bundle = tiny_bundle("spread", NULL);
    mw_planner *planner, *plain;
    mw_planner_options options;
    mw_error error;
    fake_clock clock = {.look = 0.001};
    float real[N * D], reactive[N * D];
    mw_planner_options_init(&options, sizeof options, bundle);
    options.threads = 1;
    options.plan.choice = MW_CHOICE_FIRST;
    CHECK_OK(mw_planner_create(&plain, bundle, &options, &error), error);
    mw_planner_begin(plain, 0, 7, NULL);
    act(plain, reactive);
    mw_planner_free(plain);
    planner = made(bundle, &clock);
    mw_planner_begin(planner, 0, 7, NULL);
    act(planner, real); /* looks take 1 ms each: everything fits */
    mw_effort effort = mw_planner_effort(planner);
    assert_int_equal(effort.candidates, options.plan.candidates);
    assert_true(effort.scored && effort.milliseconds <= 10);
    mw_planner_begin(planner, 0, 7, NULL);
    clock.look = 0.050; /* suddenly drawing takes 50 ms: no time for scores, the policy's own first candidate
                         */
    act(planner, real);
    effort = mw_planner_effort(planner);
    assert_false(effort.scored);
    assert_memory_equal(real, reactive, sizeof real);
    act(planner, real); /* it knows now, and tries less */
    assert_true(mw_planner_effort(planner).candidates < options.plan.candidates);
    const long before = allocations();
    act(planner, real);
    assert_int_equal(allocations(), before);
    mw_planner_free(planner);
    mw_bundle_free(bundle);
}

/* Wherever a stall falls while a planner measures itself, it plans as soon as that has passed. */
static void stalled_while_made(void **state) {
    (void)state;
    mw_bundle *bundle = tiny_bundle("spread", NULL);
    const int candidates = mw_bundle_plan(bundle).candidates;
    fake_clock undisturbed = {.look = 0.001};
    float real[N * D];
    mw_planner_free(made(bundle, &undisturbed));
    for (long stalled = 0; stalled < undisturbed.looks; stalled++) {
        fake_clock clock = {.look = 0.001, .stalled = stalled, .stalls = 12};
        mw_planner *planner = made(bundle, &clock);
        clock.stalls = 0;
        act(planner, real);
        assert_int_equal(mw_planner_effort(planner).candidates, candidates);
        assert_true(mw_planner_effort(planner).scored);
        mw_planner_free(planner);
    }
    mw_bundle_free(bundle);
}

/* A machine that is busy for as long as a planner is made does not keep it from planning for good. */
static void made_while_busy(void **state) {
    (void)state;
    mw_bundle *bundle = tiny_bundle("spread", NULL);
    fake_clock clock = {.look = 0.1};
    mw_planner *planner = made(bundle, &clock);
    float real[N * D];
    int decisions = 0;
    act(planner, real);
    assert_false(mw_planner_effort(planner).scored);
    clock.look = 0.0001;
    do act(planner, real);
    while (mw_planner_effort(planner).candidates < mw_bundle_plan(bundle).candidates && ++decisions < 500);
    assert_true(mw_planner_effort(planner).scored);
    assert_true(decisions > 10); /* not at once */
    mw_planner_free(planner);
    mw_bundle_free(bundle);
}

static void bad_deadlines(void **state) {
    (void)state;
    mw_bundle *bundle = tiny_bundle("spread", NULL);
    mw_planner_options options;
    mw_planner *planner;
    mw_error error;
    mw_planner_options_init(&options, sizeof options, bundle);
    options.deadline = -1;
    CHECK_FAILS(mw_planner_create(&planner, bundle, &options, &error), MW_ERR_ARGUMENT, error,
                "deadline is -1");
    mw_bundle_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_fit),         cmocka_unit_test(a_stall_passes),
        cmocka_unit_test(planner_keeps_time), cmocka_unit_test(stalled_while_made),
        cmocka_unit_test(made_while_busy),    cmocka_unit_test(bad_deadlines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
