/* What a training leaves to its data, by what it means: the target of those episodes that train, and the
 * error of imagined returns in those that do not. */
#include "plan/scorers.h"
#include "random_bundle.h"
#include "random_world.h"
#include "train/train.h"

typedef struct {
    world *world;
    mw_training_data data;
    mw_bundle *bundle; /* of a seed and share of held-out episodes that are the data's too */
} fixture;

static void open_it(fixture *f) {
    static world w;
    mw_error error;
    world_fill(&w);
    *f = (fixture){.world = &w, .data = {.dataset = &w.dataset}};
    CHECK_OK(mw_split_make(&f->data.split, &w.dataset, 0.1, 0, &error), error);
    CHECK_OK(mw_pool_create(&f->data.pool, 1, &error), error);
    f->bundle = random_bundle((mw_bundle_info){.task = "own", .agents = N, .obs = O, .act = D}, 5);
    f->bundle->plan.horizon = 1;
    f->bundle->plan.return_error = NAN;
    snprintf(f->bundle->plan.scorer, sizeof f->bundle->plan.scorer, "rwm");
}

static void close_it(fixture *f) {
    mw_bundle_free(f->bundle);
    mw_split_free(&f->data.split);
    mw_pool_free(f->data.pool);
}

/* All agents earn this in the first step of these episodes, and nothing later. */
static void earn_once(world *w, const mw_episode_set *episodes, float reward) {
    for (long i = 0; i < episodes->count; i++)
        for (long k = 0; k < LENGTH * N; k++)
            w->rewards[episodes->episodes[i] * LENGTH * N + k] = k < N ? reward : 0;
}

static void target(void **state) {
    (void)state;
    fixture f;
    mw_error error;
    const mw_flow_settings flow = {.discount = 0.5, .return_scale = 10};
    mw_plan_settings plan;
    open_it(&f);
    plan = f.bundle->plan;
    plan.target = NAN;
    plan.quantile = 0.5;
    earn_once(f.world, &f.data.split.train, 50);
    earn_once(f.world, &f.data.split.held, 500);
    CHECK_OK(mw_settle_target(&plan, &flow, &f.data, &error), error);
    CHECK_NEAR(plan.target, 5, 1e-6);
    close_it(&f);
}

/* In held-out episodes everything is earned as the world model imagines it, but for wrong[LENGTH]. */
static void earn_as_imagined(fixture *f, const float *wrong) {
    mw_error error;
    mw_scorer *scorer;
    const mw_scorer_context context = {.max_rows = 1, .horizon = 1, .pool = f->data.pool};
    const mw_episode_set *held = &f->data.split.held;
    world *w = f->world;
    CHECK_OK(mw_scorer_create(&scorer, "rwm", f->bundle, context, &error), error);
    for (long i = 0; i < held->count; i++)
        for (long t = 0; t < LENGTH; t++) {
            const long step = held->episodes[i] * LENGTH + t;
            float score, path[JOINT];
            const mw_scoring call = {.scores = &score,
                                     .paths = path,
                                     .obs = w->obs + step * JOINT,
                                     .actions = w->acts + step * N * D,
                                     .count = 1,
                                     .horizon = 1,
                                     .group = 1};
            CHECK_OK(mw_scorer_score(scorer, &call, &error), error);
            for (int a = 0; a < N; a++) w->rewards[step * N + a] = (score - wrong[t]) / N;
        }
    mw_scorer_free(scorer);
}

static double error_of(fixture *f, const float *wrong, char remark[MW_REMARK]) {
    mw_error error;
    earn_as_imagined(f, wrong);
    f->bundle->plan.return_error = NAN;
    remark[0] = 0;
    CHECK_OK(mw_settle_error(f->bundle, &f->data, remark, &error), error);
    assert_true(f->bundle->return_error_from == MW_MEASURED_HELD_OUT);
    return f->bundle->plan.return_error;
}

/* Where a model is right in all that is held out, nothing is wrong, whatever it says of its training. */
static void error_of_what_is_held_out(void **state) {
    (void)state;
    fixture f;
    char remark[MW_REMARK];
    float wrong[LENGTH] = {0};
    open_it(&f);
    CHECK_NEAR(error_of(&f, wrong, remark), 0, 1e-5);
    for (int t = 0; t < LENGTH; t++) wrong[t] = t % 2 ? 3 : 5;
    CHECK_NEAR(error_of(&f, wrong, remark), 1, 0.05);
    assert_string_equal(remark, "");
    close_it(&f);
}

/* Beyond all bounds is what is so beside the size of the others, also where these are all below 0. */
static void outliers(void **state) {
    (void)state;
    for (int side = -1; side <= 1; side += 2) {
        fixture f;
        char remark[MW_REMARK];
        float wrong[LENGTH];
        open_it(&f);
        for (int t = 0; t < LENGTH; t++) wrong[t] = (float)(side * (t % 2 ? 3 : 5));
        wrong[6] = 1e15f;
        CHECK_NEAR(error_of(&f, wrong, remark), 1, 0.05);
        assert_non_null(strstr(remark, "leaves out"));
        close_it(&f);
    }
}

/* Two episodes of three steps, and what came after them, hold two windows of two steps with an end each. */
static void windows(void **state) {
    (void)state;
    fixture f;
    mw_error error;
    mw_preset preset = mw_preset_of("spread", MW_BUDGET_QUICK);
    open_it(&f);
    f.world->dataset.episodes = 2;
    for (int e = 0; e < 2; e++) f.world->lengths[e] = 3;
    mw_split_free(&f.data.split);
    CHECK_OK(mw_split_make(&f.data.split, &f.world->dataset, 0, 0, &error), error);
    static const char *const settings[] = {"plan.caution=1", "plan.value_after=2", "plan.scorer=rwm"};
    for (int i = 0; i < 3; i++) CHECK_OK(mw_preset_set(&preset, settings[i], &error), error);
    CHECK_FAILS(mw_settle_parts(&preset, &f.data, &error), MW_ERR_ARGUMENT, error,
                "has 4 windows of 2 steps");
    close_it(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(target), cmocka_unit_test(error_of_what_is_held_out),
                                       cmocka_unit_test(outliers), cmocka_unit_test(windows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
