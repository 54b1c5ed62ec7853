/* Properties of what is reported, over generated data that are small, constant, tied, skewed or wild: a
 * number is measured or unknown, an interval holds the truth as often as it says, a gain has the sign of its
 * difference, and more caution never means more departures from the policy's own candidate. */
#include "core/rng.h"
#include "eval/statistics.h"
#include "plan/bundle.h"
#include "plan/choice.h"
#include "scratch.h"

#include "mawam/train.h"

#include <math.h>
#include <stdlib.h>

/* ---- intervals reach their coverage ---- */

static double normal(mw_rng *rng) {
    return mw_rng_normal(rng);
}
static double exponential(mw_rng *rng) {
    return -1 - log(1 - mw_rng_double(rng));
}
static double mirrored(mw_rng *rng) {
    return -exponential(rng);
}
static double log_normal(mw_rng *rng) {
    return exp(mw_rng_normal(rng)) - 1.6487212707001282;
}
static double even_coin(mw_rng *rng) {
    return mw_rng_double(rng) < 0.5 ? -1 : 1;
}
static double rare_win(mw_rng *rng) {
    return (mw_rng_double(rng) < 0.2) - 0.2;
}
static double won_same_lost(mw_rng *rng) {
    const double u = mw_rng_double(rng);
    return u < 0.2 ? -1 : u < 0.4 ? 1 : 0;
}
static double mixture(mw_rng *rng) {
    const double width = mw_rng_double(rng) < 0.5 ? 3 : 0.3;
    return width * mw_rng_normal(rng);
}

enum { SIZES = 5 };
static const int sizes[SIZES] = {8, 10, 20, 40, 160};

/* All of mean zero. least: coverage; most: how often the interval lies above zero. */
static const struct {
    const char *name;
    double (*draw)(mw_rng *rng);
    double least, most;
} laws[] = {
    {"normal", normal, 0.94, 0.03},
    {"exponential", exponential, 0.93, 0.03},
    {"mirrored", mirrored, 0.93, 0.07},
    {"log-normal", log_normal, 0.885, 0.03},
    {"even coin", even_coin, 0.945, 0.035},
    {"rare win", rare_win, 0.945, 0.035},
    {"won, same, lost", won_same_lost, 0.94, 0.035},
    {"mixture", mixture, 0.94, 0.035},
};
enum { LAWS = sizeof laws / sizeof *laws, DRAWS = 4000, LARGEST = 160 };

static void coverage_of_means(void **state) {
    (void)state;
    for (int law = 0; law < LAWS; law++)
        for (int k = 0; k < SIZES; k++) {
            int held = 0, above = 0, known = 0;
            for (int draw = 0; draw < DRAWS; draw++) {
                mw_rng rng = mw_rng_make(1, MW_RNG_TEST, (uint64_t)law, (uint64_t)k, (uint64_t)draw);
                double x[LARGEST];
                for (int i = 0; i < sizes[k]; i++) x[i] = laws[law].draw(&rng);
                const mw_interval d = mw_mean_interval(x, sizes[k]);
                if (isnan(d.low)) continue;
                known++;
                held += d.low <= 1e-12 && d.high >= -1e-12;
                above += d.low > 1e-12;
            }
            const double coverage = (double)held / known, false_gains = (double)above / known;
            if (!(coverage >= laws[law].least && false_gains <= laws[law].most) || known < DRAWS / 2)
                fail_msg(
                    "%s, %d values: %d of %d draws have an interval, it holds the mean in %.3f (at least "
                    "%.3f expected) and lies above it in %.3f (at most %.3f)",
                    laws[law].name, sizes[k], known, DRAWS, coverage, laws[law].least, false_gains,
                    laws[law].most);
        }
}

/* Gains of 2 over a base of -5 with either skewness, both uncertain and in step. */
static void coverage_of_ratios(void **state) {
    (void)state;
    for (int k = 0; k < SIZES; k++) {
        int held = 0, known = 0;
        for (int draw = 0; draw < DRAWS / 4; draw++) {
            mw_error error;
            mw_interval ratio;
            double x[LARGEST], base[LARGEST];
            mw_rng rng = mw_rng_make(2, MW_RNG_TEST, (uint64_t)k, (uint64_t)draw, 0);
            for (int i = 0; i < sizes[k]; i++) {
                const double shared = exponential(&rng);
                base[i] = -5 + 2 * shared + 2 * normal(&rng);
                x[i] = 2 - shared + normal(&rng);
            }
            CHECK_OK(mw_ratio_interval(&ratio, x, base, sizes[k], &error), error);
            assert_true(isnan(ratio.low) == isnan(ratio.high));
            if (isnan(ratio.low)) continue;
            const mw_interval gain = mw_mean_interval(x, sizes[k]);
            assert_true(ratio.low <= ratio.mean && ratio.mean <= ratio.high);
            assert_true((ratio.low > 0) == (gain.low > 0) && (ratio.high < 0) == (gain.high < 0));
            known++;
            held += ratio.low <= 0.4 && ratio.high >= 0.4;
        }
        if ((double)held < 0.93 * known || known < DRAWS / 8)
            fail_msg("%d values: %d of %d intervals hold the ratio", sizes[k], held, known);
    }
}

/* Few values, no variation and numbers that cannot be added up have no interval; none is cut short. */
static void known_or_unknown(void **state) {
    (void)state;
    static const double wild[] = {0, 1, -1, 1e-300, 1e30, -1e30, 1e38, 1e308, 3};
    for (int draw = 0; draw < 20000; draw++) {
        mw_error error;
        mw_rng rng = mw_rng_make(3, MW_RNG_TEST, (uint64_t)draw, 0, 0);
        double x[24], base[24];
        const int n = 1 + (int)mw_rng_below(&rng, 24), values = 1 + (int)mw_rng_below(&rng, 9);
        for (int i = 0; i < n; i++) {
            x[i] = wild[mw_rng_below(&rng, (uint32_t)values)];
            base[i] = wild[mw_rng_below(&rng, (uint32_t)values)];
        }
        mw_interval ratio;
        const mw_interval d = mw_mean_interval(x, n);
        assert_true(isnan(d.low) == isnan(d.high));
        if (n < MW_INTERVAL_LEAST || values == 1) assert_true(isnan(d.low));
        if (!isnan(d.low)) assert_true(d.low < d.mean && d.mean < d.high);
        CHECK_OK(mw_ratio_interval(&ratio, x, base, n, &error), error);
        assert_true(isnan(ratio.low) == isnan(ratio.high));
        if (!isnan(ratio.low)) assert_true(ratio.low <= ratio.mean && ratio.mean <= ratio.high);
    }
    assert_true(isnan(mw_mean_interval(NULL, 0).mean));
}

/* ---- caution ---- */

/* Over scores with ties, outliers and what is not finite: at every margin the choice is the best or the
 * policy's own, and where a smaller margin keeps that one, so does a larger one. */
static void caution_keeps_more(void **state) {
    (void)state;
    static const float odd[] = {0, 1, 1, -1, 1e30f, -1e30f, INFINITY, NAN};
    enum { M = 6, STEPS = 40 };
    int kept[STEPS] = {0};
    for (int draw = 0; draw < 5000; draw++) {
        mw_rng rng = mw_rng_make(4, MW_RNG_TEST, (uint64_t)draw, 0, 0);
        float scores[M];
        for (int m = 0; m < M; m++)
            scores[m] = draw % 2 ? odd[mw_rng_below(&rng, 8)] : (float)mw_rng_normal(&rng);
        const int best = mw_choice_best(scores, M);
        bool before = false;
        for (int k = 0; k < STEPS; k++) {
            const int chosen = mw_choice_cautious(scores, best, 0.1 * k);
            assert_true(chosen == best || chosen == 0);
            assert_true(chosen == 0 || !before);
            before = chosen == 0;
            kept[k] += before;
        }
    }
    for (int k = 1; k < STEPS; k++) assert_true(kept[k] >= kept[k - 1]);
    assert_true(kept[STEPS - 1] > kept[0] + 500);
}

/* ---- the error of imagined returns ---- */

/* Data of two agents with four observed and three real values in three-step plans. */
typedef struct {
    const char *name;
    int episodes, length;
    double held_out;
    float wildest;    /* of one observed value */
    float reward;     /* every step's, instead of one that follows the observation */
    bool tied;        /* observations are 0 or 1 */
    const char *from; /* on what the error is measured; "": it is not; NULL: training with caution is refused
                       */
    const char *says; /* in the remark, and in what refuses; "": nothing */
} degenerate;

static const degenerate data[] = {
    {"plain", 60, 9, 0.2, 0, 0, false, "held-out episodes", ""},
    {"none held out", 40, 9, 0, 0, 0, false, "all episodes", "those of the training included"},
    {"one held out", 40, 9, 0.01, 0, 0, false, "all episodes", "those of the training included"},
    {"two held out", 40, 6, 0.05, 0, 0, false, "held-out episodes", ""},
    {"as short as a plan", 40, 3, 0.1, 0, 0, false, "all episodes", "those of the training included"},
    {"shorter than a plan", 40, 2, 0.2, 0, 0, false, NULL, "the data has 0 windows of 3 steps"},
    {"too few", 7, 3, 0.3, 0, 0, false, NULL, "the data has 7 windows of 3 steps"},
    {"constant rewards", 60, 9, 0.2, 0, 1, false, "held-out episodes", ""},
    {"ties", 60, 9, 0.2, 0, 0, true, "held-out episodes", ""},
    {"outlier", 20, 9, 0.1, 1e30f, 0, false, "held-out episodes",
     "windows, of which what is imagined is beyond"},
    {"smaller outlier", 20, 9, 0.1, 1e6f, 0, false, "held-out episodes",
     "by few windows: half of them are within"},
};
enum { DATA = sizeof data / sizeof *data, SEEN = 8, DONE = 6 };

static void make_data(const degenerate *d, const char *folder, uint64_t seed) {
    mw_error error;
    mw_dataset_writer *writer;
    const mw_dataset_spec spec = {.task = "own",
                                  .rules = "own-1",
                                  .agents = 2,
                                  .obs_size = 4,
                                  .act_size = 3,
                                  .episode_limit = d->length};
    CHECK_OK(mw_dataset_writer_open(&writer, folder, &spec, true, &error), error);
    for (int e = 0; e < d->episodes; e++) {
        float obs[10][SEEN], real[9][DONE], rewards[9][2];
        mw_rng rng = mw_rng_make(seed, MW_RNG_TEST, 5, (uint64_t)e, 0);
        for (int t = 0; t <= d->length; t++) {
            for (int k = 0; k < SEEN; k++)
                obs[t][k] = d->tied ? (float)mw_rng_below(&rng, 2) : (float)mw_rng_normal(&rng);
            if (t == d->length) break;
            for (int k = 0; k < DONE; k++) real[t][k] = (float)(2 * mw_rng_double(&rng) - 1);
            for (int a = 0; a < 2; a++)
                rewards[t][a] = d->reward != 0 ? d->reward : obs[t][4 * a] + real[t][3 * a];
        }
        if (e == 0 && d->wildest > 0) obs[0][0] = d->wildest;
        const mw_episode episode = {.length = d->length,
                                    .obs = *obs,
                                    .last_obs = obs[d->length],
                                    .real = *real,
                                    .rewards = *rewards,
                                    .outcome = MW_ENDED_BY_LIMIT};
        CHECK_OK(mw_dataset_writer_add(writer, &episode, &error), error);
    }
    CHECK_OK(mw_dataset_writer_commit(writer, &error), error);
}

static mw_status train_on(const degenerate *d, const char *caution, mw_training_report *report,
                          mw_error *error) {
    char held[64];
    const char *const settings[] = {"flow.dim=16",
                                    "flow.mults=1,1,1",
                                    "flow.context=2",
                                    "flow.generated=6",
                                    "flow.forecast=4",
                                    "flow.batch=4",
                                    "flow.forecast_batch=4",
                                    "flow.steps=20",
                                    "inverse.hidden=4",
                                    "inverse.batch=4",
                                    "inverse.steps=20",
                                    "rwm.hidden=4",
                                    "rwm.experts=2",
                                    "rwm.batch=4",
                                    "rwm.reward_features=2",
                                    "rwm.dynamics_features=2",
                                    "rwm.shared=4",
                                    "rwm.steps=20",
                                    "plan.horizon=3",
                                    "plan.action_offset=0.5",
                                    caution,
                                    held};
    mw_dataset *dataset;
    mw_train_options options;
    snprintf(held, sizeof held, "data.held_out=%g", d->held_out);
    mw_train_options_init(&options, sizeof options);
    options.assignments = settings;
    options.assignment_count = (int)(sizeof settings / sizeof *settings);
    options.threads = 1;
    options.overwrite = true;
    CHECK_OK(mw_dataset_load(&dataset, scratch("data"), error), *error);
    const mw_status status = mw_bundle_train(dataset, scratch("own.safetensors"), &options, report, error);
    mw_dataset_free(dataset);
    return status;
}

/* In how many of 40 decisions the policy's own candidate is executed; -1: the planner is refused. */
static int kept_with(const mw_bundle *bundle, double caution) {
    mw_error error;
    mw_planner *planner;
    mw_planner_options options;
    int kept = 0;
    mw_planner_options_init(&options, sizeof options, bundle);
    options.threads = 1;
    options.plan.caution = caution;
    if (mw_planner_create(&planner, bundle, &options, &error) != MW_OK) {
        assert_non_null(strstr(error.message, "return_error is not known"));
        return -1;
    }
    for (uint64_t k = 0; k < 40; k++) {
        float obs[SEEN], real[DONE];
        mw_rng rng = mw_rng_make(6, MW_RNG_TEST, k, 0, 0);
        for (int i = 0; i < SEEN; i++) obs[i] = (float)mw_rng_normal(&rng);
        mw_planner_begin(planner, 0, k, NULL);
        CHECK_OK(mw_planner_act(planner, obs, NULL, NULL, real, NULL, &error), error);
        kept += mw_planner_candidates(planner, 0).chosen == 0;
    }
    mw_planner_free(planner);
    return kept;
}

static void check_plans(const degenerate *d, const mw_bundle *bundle) {
    static const double cautions[] = {0, 0.01, 0.1, 0.3, 1, 3, 1e6};
    const bool known = !isnan(bundle->plan.return_error);
    int before = kept_with(bundle, 0);
    assert_true(before >= 0 && before < 40);
    for (size_t k = 1; k < sizeof cautions / sizeof *cautions; k++) {
        const int kept = kept_with(bundle, cautions[k]);
        if ((kept >= 0) != known) fail_msg("%s: caution is %s", d->name, known ? "refused" : "silently off");
        if (known && kept < before)
            fail_msg("%s: at caution %g %d decisions are the policy's own, %d at less", d->name, cautions[k],
                     kept, before);
        before = kept;
    }
    if (known && bundle->plan.return_error > 0) assert_int_equal(before, 40);
}

static void measured_or_unknown(void **state) {
    (void)state;
    for (int i = 0; i < DATA; i++) {
        const degenerate *d = &data[i];
        mw_error error;
        mw_training_report report;
        mw_bundle *bundle;
        make_data(d, scratch("data"), (uint64_t)i);
        const bool refused = !d->from;
        if (refused) {
            CHECK_FAILS(train_on(d, "plan.caution=0.1", &report, &error), MW_ERR_ARGUMENT, error,
                        "plan.caution is 0.1 return_errors");
            assert_non_null(strstr(error.message, d->says));
        }
        CHECK_OK(train_on(d, refused ? "plan.caution=0" : "plan.caution=0.1", &report, &error), error);
        CHECK_OK(mw_bundle_load(&bundle, scratch("own.safetensors"), &error), error);
        const double measured = bundle->plan.return_error;
        const char *from = mw_bundle_describe(bundle).return_error_from;
        assert_int_equal(isnan(measured), !*from);
        assert_true(isnan(measured) || (measured >= 0 && measured < 1e9));
        if (!strstr(report.remark, d->says)) fail_msg("%s: the remark is '%s'", d->name, report.remark);
        if (!*d->says) assert_string_equal(report.remark, "");
        assert_string_equal(from, refused ? "" : d->from);
        for (int k = 0; k < report.count; k++)
            for (int which = 0; which < report.part[k].losses; which++)
                assert_true(isnan(report.part[k].held[which]) == (d->held_out == 0));
        mw_training_report_free(&report);
        check_plans(d, bundle);
        mw_bundle_free(bundle);
        scratch_remove(scratch("data"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coverage_of_means),   cmocka_unit_test(coverage_of_ratios),
        cmocka_unit_test(known_or_unknown),    cmocka_unit_test(caution_keeps_more),
        cmocka_unit_test(measured_or_unknown),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
