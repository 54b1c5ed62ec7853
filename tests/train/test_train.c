/* Training end to end on tiny networks: losses fall, interruptions and threads leave no trace in the bits,
 * and whatever does not belong together is refused. */
#include "core/chart.h"
#include "dataset/fixture.h"
#include "plan/bundle.h"
#include "train/condition.h"
#include "eval/scripted.h"
#include "train/train.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>

/* ---- what the tests share ---- */

static const char *const tiny[] = {"policy.dim=16",
                                   "policy.mults=1,1,1",
                                   "policy.steps=30",
                                   "policy.batch=6",
                                   "policy.warmup=5",
                                   "policy.average=0.9",
                                   "policy.forecast=12",
                                   "policy.forecast_batch=14",
                                   "policy.inverse_hidden=16",
                                   "policy.inverse_batch=15",
                                   "policy.rate=3e-3",
                                   "world.hidden=16",
                                   "world.experts=2",
                                   "world.slots=2",
                                   "world.reward_features=8",
                                   "world.steps=30",
                                   "world.batch=32",
                                   "world.warmup=5",
                                   "world.rate=3e-3"};
enum { TINY = sizeof tiny / sizeof tiny[0], STEPS = 30 };

static mw_training_preset tiny_preset(const char *task) {
    mw_error error;
    mw_training_preset preset = mw_training_preset_of(task, MW_BUDGET_QUICK);
    for (int i = 0; i < TINY; i++) CHECK_OK(mw_training_preset_set(&preset, tiny[i], &error), error);
    return preset;
}

/* Stops the training after a number of steps of this run, as a signal would. */
typedef struct {
    volatile sig_atomic_t stop;
    long steps, stop_at; /* stop_at 0: never */
    long full_disk_at;   /* from that step on the disk is full; 0: never */
} observer;

static void observe(void *context, const mw_training_progress *progress) {
    observer *o = context;
    assert_true(progress->done > 0 && progress->done <= progress->total * (1 + 1e-9));
    o->steps++;
    if (o->stop_at && o->steps >= o->stop_at) o->stop = 1;
    if (o->full_disk_at && o->steps == o->full_disk_at) scratch_full_disk_begin(10000);
}

typedef struct {
    mw_dataset data;
    mw_training_preset preset;
    mw_training_request request;
    mw_training_report report;
    observer observer;
    mw_error error;
} run;

static void run_begin(run *r, const char *data, const char *output) {
    *r = (run){0};
    CHECK_OK(mw_dataset_open(&r->data, data, &r->error), r->error);
    r->preset = tiny_preset(r->data.spec.task);
    r->request = (mw_training_request){
        .output = output, .threads = 1, .wide = true, .seed = 5, .command = "test", .progress = observe};
}

static mw_status run_go(run *r) {
    r->request.dataset = &r->data;
    r->request.preset = &r->preset;
    r->request.stop = &r->observer.stop;
    r->request.context = &r->observer;
    mw_status status = mw_training_run(&r->request, &r->report, &r->error);
    mw_dataset_close(&r->data);
    return status;
}

static void train(const char *data, const char *output) {
    run r;
    run_begin(&r, data, output);
    CHECK_OK(run_go(&r), r.error);
    assert_true(r.report.complete);
}

static void check_same_weights(const char *a, const char *b) {
    mw_error error;
    mw_bundle *x, *y;
    CHECK_OK(mw_bundle_load(&x, a, &error), error);
    CHECK_OK(mw_bundle_load(&y, b, &error), error);
    assert_int_equal(x->policy.params.total, y->policy.params.total);
    assert_int_equal(x->world.params.total, y->world.params.total);
    assert_memory_equal(x->policy_values, y->policy_values, x->policy.params.total * sizeof(float));
    assert_memory_equal(x->inverse_values, y->inverse_values, x->inverse.params.total * sizeof(float));
    assert_memory_equal(x->world_values, y->world_values, x->world.params.total * sizeof(float));
    assert_memory_equal(&x->info, &y->info, sizeof x->info);
    mw_bundle_free(x);
    mw_bundle_free(y);
}

/* The losses of a log without its times. */
static char *log_without_seconds(const char *path) {
    char *text, *to;
    mw_error error;
    CHECK_OK(mw_file_read_text(path, &text, NULL, &error), error);
    to = text;
    for (const char *from = text; *from;) {
        if (!strncmp(from, ", \"seconds\"", 11))
            from += strcspn(from, "}");
        else
            *to++ = *from++;
    }
    *to = 0;
    return text;
}

static void check_same_log(const char *a, const char *b) {
    char *x = log_without_seconds(a), *y = log_without_seconds(b);
    assert_string_equal(x, y);
    free(x);
    free(y);
}

static int setup(void **state) {
    if (scratch_setup(state) != 0) return -1;
    scripted_make(scratch("spread"), "spread", "greedy", 1.5, 40, 1);
    scripted_make(scratch("other"), "spread", "greedy", 1.5, 40, 2);
    scripted_make(scratch("3m"), "3m", "nearest", 0.3, 20, 1);
    train(scratch("spread"), scratch("whole.safetensors"));
    return 0;
}

/* ---- tests ---- */

static double mean_of(const char *key, const char *part, long first, long last) {
    char *text, *at;
    mw_error error;
    double sum = 0;
    int count = 0;
    CHECK_OK(mw_file_read_text(scratch("learn.jsonl"), &text, NULL, &error), error);
    at = text;
    for (char *line; (line = strsep(&at, "\n")) && *line;) {
        json_t *object;
        CHECK_OK(mw_json_parse(&object, line, strlen(line), "log", &error), error);
        const long step = (long)json_integer_value(json_object_get(object, "step"));
        if (!strcmp(json_string_value(json_object_get(object, "part")), part) && step >= first &&
            step <= last && json_object_get(object, key)) {
            sum += json_number_value(json_object_get(object, key));
            count++;
        }
        json_decref(object);
    }
    free(text);
    assert_true(count > 0);
    return sum / count;
}

static void test_losses_fall(void **state) {
    (void)state;
    run r;
    run_begin(&r, scratch("spread"), scratch("learn.safetensors"));
    r.preset.policy.steps = r.preset.world.steps = 200;
    CHECK_OK(run_go(&r), r.error);
    static const char *const keys[][2] = {{"policy", "flow"},      {"policy", "inverse"},
                                          {"policy", "held_flow"}, {"world", "dynamics"},
                                          {"world", "reward"},     {"world", "held_dynamics"}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const double first = mean_of(keys[i][1], keys[i][0], 1, 20),
                     last = mean_of(keys[i][1], keys[i][0], 181, 200);
        printf("  %s %s: %.3f -> %.3f\n", keys[i][0], keys[i][1], first, last);
        assert_true(last < 0.9 * first);
    }
    assert_true(r.report.best_step > 0 && r.report.best_step <= 200);
    assert_true(r.report.reward_unexplained < 1);
    assert_true(r.report.target > 0.5 && r.report.target < 1.5);
    assert_true(mw_file_exists(scratch("learn.svg")));
    assert_false(mw_file_exists(scratch("learn.train.safetensors")));
}

/* Interrupted in the middle of each part, with the rest on another number of threads. */
static void test_resume_gives_the_same_bits(void **state) {
    (void)state;
    run r;
    static const long stops[] = {7, 10, 25, 0};
    for (int i = 0; i < 4; i++) {
        run_begin(&r, scratch("spread"), scratch("pieces.safetensors"));
        r.request.resume = i > 0;
        r.request.threads = 1 + i % 2;
        r.observer.stop_at = stops[i];
        if (!stops[i]) {
            CHECK_OK(run_go(&r), r.error);
            continue;
        }
        CHECK_FAILS(run_go(&r), MW_ERR_INTERRUPTED, r.error, "--resume");
        assert_int_equal(r.observer.steps, stops[i]);
        assert_true(mw_file_exists(scratch("pieces.train.safetensors")));
    }
    assert_true(r.report.complete);
    assert_int_equal(r.observer.steps, 2 * STEPS - 42);
    check_same_weights(scratch("whole.safetensors"), scratch("pieces.safetensors"));
    check_same_log(scratch("whole.jsonl"), scratch("pieces.jsonl"));
    run_begin(&r, scratch("spread"), scratch("pieces.safetensors"));
    r.request.resume = true; /* nothing is left to do */
    CHECK_OK(run_go(&r), r.error);
    assert_true(r.report.finished_before);
    assert_int_equal(r.observer.steps, 0);
}

/* A crash after a checkpoint: lines of the log that are newer than it are dropped and written again. */
static void test_resume_after_a_crash(void **state) {
    (void)state;
    run r;
    run_begin(&r, scratch("spread"), scratch("crash.safetensors"));
    r.observer.stop_at = STEPS + 10;
    CHECK_FAILS(run_go(&r), MW_ERR_INTERRUPTED, r.error, "world");
    static char checkpoint[1 << 22];
    const size_t size = scratch_read(scratch("crash.train.safetensors"), checkpoint, sizeof checkpoint);
    run_begin(&r, scratch("spread"), scratch("crash.safetensors"));
    r.request.resume = true;
    r.observer.stop_at = 12;
    CHECK_FAILS(run_go(&r), MW_ERR_INTERRUPTED, r.error, "world");
    scratch_write(scratch("crash.train.safetensors"), checkpoint, size);
    FILE *log = fopen(scratch("crash.jsonl"), "a");
    fputs("{\"part\": \"wor", log); /* torn in the middle of a line */
    fclose(log);
    run_begin(&r, scratch("spread"), scratch("crash.safetensors"));
    r.request.resume = true;
    CHECK_OK(run_go(&r), r.error);
    check_same_weights(scratch("whole.safetensors"), scratch("crash.safetensors"));
    check_same_log(scratch("whole.jsonl"), scratch("crash.jsonl"));
}

static void test_threads_do_not_matter(void **state) {
    (void)state;
    FOR_THREADS(threads) {
        run r;
        run_begin(&r, scratch("spread"), scratch("threads.safetensors"));
        r.request.threads = threads;
        CHECK_OK(run_go(&r), r.error);
        check_same_weights(scratch("whole.safetensors"), scratch("threads.safetensors"));
    }
}

static void test_seed_matters(void **state) {
    (void)state;
    run r;
    mw_error error;
    mw_bundle *a, *b;
    run_begin(&r, scratch("spread"), scratch("seed.safetensors"));
    r.request.seed = 6;
    CHECK_OK(run_go(&r), r.error);
    CHECK_OK(mw_bundle_load(&a, scratch("whole.safetensors"), &error), error);
    CHECK_OK(mw_bundle_load(&b, scratch("seed.safetensors"), &error), error);
    assert_memory_not_equal(a->policy_values, b->policy_values, a->policy.params.total * sizeof(float));
    mw_bundle_free(a);
    mw_bundle_free(b);
}

/* The noise of the inverse dynamics' pairs is theirs alone: nothing else learns otherwise. */
static void test_inverse_noise(void **state) {
    (void)state;
    run r;
    mw_error error;
    mw_bundle *a, *b;
    run_begin(&r, scratch("spread"), scratch("exact.safetensors"));
    CHECK_OK(mw_training_preset_set(&r.preset, "policy.inverse_noise=0", &error), error);
    CHECK_OK(run_go(&r), r.error);
    CHECK_OK(mw_bundle_load(&a, scratch("whole.safetensors"), &error), error);
    CHECK_OK(mw_bundle_load(&b, scratch("exact.safetensors"), &error), error);
    assert_memory_not_equal(a->inverse_values, b->inverse_values, a->inverse.params.total * sizeof(float));
    assert_memory_equal(a->policy_values, b->policy_values, a->policy.params.total * sizeof(float));
    mw_bundle_free(a);
    mw_bundle_free(b);
}

/* What the bundle says about itself, discrete actions, and half precision. */
static void test_bundle(void **state) {
    (void)state;
    run r;
    mw_bundle *bundle;
    json_t *origin;
    run_begin(&r, scratch("3m"), scratch("battle.safetensors"));
    r.request.wide = false;
    CHECK_OK(run_go(&r), r.error);
    CHECK_OK(mw_bundle_load(&bundle, scratch("battle.safetensors"), &r.error), r.error);
    assert_string_equal(bundle->info.task, "3m");
    assert_string_equal(bundle->info.quality, "scripted");
    assert_int_equal(bundle->info.horizon, 3);
    assert_true(bundle->info.discrete && bundle->info.return_to_go);
    CHECK_NEAR((double)bundle->info.target, r.report.target, 1e-6);
    CHECK_NEAR((double)bundle->info.return_scale, r.report.return_scale, 1e-5 * r.report.return_scale);
    assert_int_equal(bundle->act_normalizer.features, 0);
    assert_int_equal(bundle->obs_normalizer.features, 33);
    CHECK_OK(mw_json_parse(&origin, bundle->provenance, strlen(bundle->provenance), "provenance", &r.error),
             r.error);
    assert_string_equal(json_string_value(json_object_get(origin, "command")), "test");
    assert_string_equal(json_string_value(json_object_get(origin, "seed")), "5");
    const json_t *settings = json_object_get(origin, "settings"), *data = json_object_get(origin, "dataset"),
                 *world = json_object_get(json_object_get(origin, "curve"), "world"),
                 *fit = json_object_get(json_object_get(origin, "normalizer"), "obs");
    assert_int_equal(json_integer_value(json_object_get(settings, "policy.dim")), 16);
    assert_string_equal(json_string_value(json_object_get(settings, "plan.return_to_go")), "on");
    assert_non_null(json_object_get(json_object_get(json_object_get(data, "columns"), "obs"), "checksum"));
    const json_t *steps = json_object_get(world, "step"), *held = json_object_get(world, "held_reward");
    assert_int_equal(json_integer_value(json_array_get(steps, json_array_size(steps) - 1)), STEPS);
    assert_true(json_is_real(json_array_get(held, json_array_size(held) - 1)));
    assert_true(json_real_value(json_object_get(fit, "knot_error")) < 0.02);
    json_decref(origin);
    mw_bundle_free(bundle);
}

/* The constants of standardisation are in the bundle as measured, untouched by training. */
static void test_standardisation(void **state) {
    (void)state;
    mw_error error;
    mw_dataset data;
    mw_split split;
    mw_data_stats stats;
    mw_bundle *b;
    CHECK_OK(mw_dataset_open(&data, scratch("spread"), &error), error);
    CHECK_OK(mw_split_make(&split, &data, 0.1, 5, &error), error);
    CHECK_OK(mw_data_stats_make(&stats, &data, &split.train, 0.99, false, &error), error);
    CHECK_OK(mw_bundle_load(&b, scratch("whole.safetensors"), &error), error);
    const float *v = b->world_values;
    for (int f = 0; f < 18; f++) {
        CHECK_NEAR((double)v[b->world.obs_mean + (size_t)f], stats.obs[f].mean, 1e-5);
        CHECK_NEAR((double)v[b->world.delta_scale + (size_t)f], stats.delta[f].scale, 1e-5);
    }
    CHECK_NEAR((double)v[b->world.reward_scale], stats.reward.scale, 1e-4);
    mw_bundle_free(b);
    mw_data_stats_free(&stats);
    mw_split_free(&split);
    mw_dataset_close(&data);
}

static void test_refuses_to_continue_something_else(void **state) {
    (void)state;
    run r;
    run_begin(&r, scratch("spread"), scratch("begun.safetensors"));
    r.observer.stop_at = 5;
    CHECK_FAILS(run_go(&r), MW_ERR_INTERRUPTED, r.error, "step 5 of 30 of the policy");
    run_begin(&r, scratch("spread"), scratch("begun.safetensors"));
    CHECK_FAILS(run_go(&r), MW_ERR_ARGUMENT, r.error, "unfinished training");
    run_begin(&r, scratch("other"), scratch("begun.safetensors"));
    r.request.resume = true;
    CHECK_FAILS(run_go(&r), MW_ERR_MISMATCH, r.error, "other data");
    run_begin(&r, scratch("spread"), scratch("begun.safetensors"));
    r.request.resume = true;
    r.preset.world.rate = 1e-4;
    CHECK_FAILS(run_go(&r), MW_ERR_MISMATCH, r.error, "world.rate = 0.003, not 0.0001");
    run_begin(&r, scratch("spread"), scratch("begun.safetensors"));
    r.request.resume = true;
    r.request.seed = 6;
    CHECK_FAILS(run_go(&r), MW_ERR_MISMATCH, r.error, "seed 5, not 6");
    run_begin(&r, scratch("spread"), scratch("begun.safetensors"));
    r.request.resume = true;
    r.preset.plan.guidance = 2; /* has nothing to do with training */
    r.observer.stop_at = 1;
    CHECK_FAILS(run_go(&r), MW_ERR_INTERRUPTED, r.error, "step 6 of 30");
}

static void test_broken_checkpoints(void **state) {
    (void)state;
    run r;
    static char bytes[1 << 22];
    run_begin(&r, scratch("spread"), scratch("broken.safetensors"));
    r.observer.stop_at = 5;
    CHECK_FAILS(run_go(&r), MW_ERR_INTERRUPTED, r.error, "policy");
    const size_t size = scratch_read(scratch("broken.train.safetensors"), bytes, sizeof bytes);
    scratch_write(scratch("broken.train.safetensors"), bytes, size - 100);
    run_begin(&r, scratch("spread"), scratch("broken.safetensors"));
    r.request.resume = true;
    CHECK_FAILS(run_go(&r), MW_ERR_FORMAT, r.error, "broken.train.safetensors");
    memset(bytes + size - 100, 0xff, 100); /* counters that are not numbers */
    scratch_write(scratch("broken.train.safetensors"), bytes, size);
    run_begin(&r, scratch("spread"), scratch("broken.safetensors"));
    r.request.resume = true;
    CHECK_FAILS(run_go(&r), MW_ERR_FORMAT, r.error, "impossible counters");
}

/* A rate far too high: the loss grows without bound. */
static void test_divergence_stops(void **state) {
    (void)state;
    run r;
    run_begin(&r, scratch("spread"), scratch("wild.safetensors"));
    r.preset.policy.rate = 1;
    r.preset.policy.clip = 0;
    r.preset.policy.warmup = 0;
    CHECK_FAILS(run_go(&r), MW_ERR_NUMERIC, r.error, "training of the policy diverged at step");
    assert_non_null(strstr(r.error.message, "no checkpoint was written before"));
    assert_false(mw_file_exists(scratch("wild.safetensors")));
}

/* Weights so large that the next loss is not a number. The state before stays as it is. */
static void test_not_a_number_stops(void **state) {
    (void)state;
    run r;
    mw_safetensors file;
    static char bytes[1 << 22], after[1 << 22];
    run_begin(&r, scratch("spread"), scratch("nan.safetensors"));
    r.observer.stop_at = STEPS + 10;
    CHECK_FAILS(run_go(&r), MW_ERR_INTERRUPTED, r.error, "step 10 of 30 of the world");
    const size_t size = scratch_read(scratch("nan.train.safetensors"), bytes, sizeof bytes);
    CHECK_OK(mw_safetensors_open(&file, scratch("nan.train.safetensors"), &r.error), r.error);
    const mw_tensor *values = mw_safetensors_find(&file, "world.values");
    const size_t at = (size_t)((const unsigned char *)values->data - file.map.data), count = values->count;
    mw_safetensors_close(&file);
    const float large = 3e38f;
    for (size_t i = 0; i < count; i++) memcpy(bytes + at + 4 * i, &large, 4);
    scratch_write(scratch("nan.train.safetensors"), bytes, size);
    run_begin(&r, scratch("spread"), scratch("nan.safetensors"));
    r.request.resume = true;
    CHECK_FAILS(run_go(&r), MW_ERR_NUMERIC, r.error, "training of the world diverged at step 11 of 30");
    assert_non_null(strstr(r.error.message, "the last good state is in"));
    assert_int_equal(scratch_read(scratch("nan.train.safetensors"), after, sizeof after), size);
    assert_memory_equal(bytes, after, size);
}

static void test_full_disk_keeps_the_old_checkpoint(void **state) {
    (void)state;
    run r;
    run_begin(&r, scratch("spread"), scratch("full.safetensors"));
    r.request.checkpoint_seconds = 1e-9; /* after every step */
    r.observer.full_disk_at = 11;
    const mw_status status = run_go(&r);
    scratch_full_disk_end();
    assert_int_equal(status, MW_ERR_IO);
    assert_non_null(strstr(r.error.message, "full.train.safetensors"));
    run_begin(&r, scratch("spread"), scratch("full.safetensors"));
    r.request.resume = true;
    CHECK_OK(run_go(&r), r.error);
    assert_int_equal(r.observer.steps, 2 * STEPS - 10);
    check_same_weights(scratch("whole.safetensors"), scratch("full.safetensors"));
}

/* One part at a time, the other from the checkpoint or from a bundle. */
static void test_parts(void **state) {
    (void)state;
    run r;
    run_begin(&r, scratch("spread"), scratch("parts.safetensors"));
    r.request.skip[0] = true;
    CHECK_OK(run_go(&r), r.error);
    assert_false(r.report.complete);
    assert_false(mw_file_exists(scratch("parts.safetensors")));
    run_begin(&r, scratch("spread"), scratch("parts.safetensors"));
    r.request.skip[1] = true;
    r.request.resume = true;
    CHECK_OK(run_go(&r), r.error);
    assert_true(r.report.complete);
    check_same_weights(scratch("whole.safetensors"), scratch("parts.safetensors"));

    mw_bundle *paper, *whole;
    run_begin(&r, scratch("spread"), scratch("paper.safetensors"));
    r.request.skip[0] = true;
    r.request.with = scratch("whole.safetensors");
    r.preset.world.paper = 1;
    CHECK_OK(run_go(&r), r.error);
    CHECK_OK(mw_bundle_load(&paper, scratch("paper.safetensors"), &r.error), r.error);
    CHECK_OK(mw_bundle_load(&whole, scratch("whole.safetensors"), &r.error), r.error);
    assert_false(paper->world.config.standardise);
    assert_memory_equal(paper->policy_values, whole->policy_values,
                        whole->policy.params.total * sizeof(float));
    assert_non_null(strstr(paper->provenance, "policy_from"));
    mw_bundle_free(paper);
    mw_bundle_free(whole);

    mw_bundle *judged; /* nothing is trained, the advantage alone is solved for */
    run_begin(&r, scratch("spread"), scratch("judged.safetensors"));
    r.request.skip[0] = r.request.skip[1] = true;
    r.request.with = scratch("whole.safetensors");
    r.preset.advantage.features = 4;
    r.preset.advantage.hidden = 16;
    r.preset.advantage.steps = 30;
    r.preset.plan.advantage = 0.5;
    CHECK_OK(run_go(&r), r.error);
    CHECK_OK(mw_bundle_load(&judged, scratch("judged.safetensors"), &r.error), r.error);
    CHECK_OK(mw_bundle_load(&whole, scratch("whole.safetensors"), &r.error), r.error);
    assert_int_equal(judged->info.features, 4);
    CHECK_NEAR(judged->info.advantage, 0.5, 0);
    assert_non_null(strstr(judged->provenance, "held_correlation"));
    assert_memory_equal(judged->world_values, whole->world_values, whole->world.params.total * sizeof(float));
    double size = 0;
    for (size_t i = 0; i < judged->advantage.params.total; i++)
        size += fabs((double)judged->advantage_values[i]);
    assert_true(size > 0);
    mw_bundle_free(judged);
    mw_bundle_free(whole);
    run_begin(&r, scratch("spread"), scratch("unjudged.safetensors"));
    r.preset.plan.advantage = 0.5;
    CHECK_FAILS(run_go(&r), MW_ERR_ARGUMENT, r.error, "plan.advantage");

    run_begin(&r, scratch("3m"), scratch("mixed.safetensors"));
    r.request.skip[0] = true;
    r.request.with = scratch("whole.safetensors");
    CHECK_FAILS(run_go(&r), MW_ERR_MISMATCH, r.error, "the bundle is for spread");
}

static void test_settings(void **state) {
    (void)state;
    static const struct {
        const char *assignment, *message;
    } bad[] = {
        {"policy.width=3", "policy.dim mults"},
        {"policy.width=3", "inverse_noise (all"}, /* the list is complete */
        {"plan.width=3", "plan.horizon steps"},
        {"plan.width=3", "return_to_go (all"},
        {"width=3", "policy.dim mults"},
        {"policy.dim", "sets nothing"},
        {"policy.dim=", "a whole number from 16 to 1024, not ''"},
        {"policy.dim=2.5", "a whole number"},
        {"policy.dim=1e9", "from 16 to 1024"},
        {"policy.rate=nan", "a number from 0 to 1"},
        {"policy.rate=fast", "not 'fast'"},
        {"policy.mults=1,2", "three whole numbers"},
        {"policy.mults=1,2,4,8", "three whole numbers"},
        {"world.variant=best", "'standard' or 'paper'"},
        {"plan.target=high", "or 'auto'"},
    };
    mw_error error;
    mw_training_preset p = mw_training_preset_of("spread", MW_BUDGET_FULL), before = p;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK_FAILS(mw_training_preset_set(&p, bad[i].assignment, &error), MW_ERR_ARGUMENT, error,
                    bad[i].message);
    before.plan.target = p.plan.target = 0; /* NaN differs from itself */
    assert_memory_equal(&p.world, &before.world, sizeof p.world);
    CHECK_OK(mw_training_preset_set(&p, "policy.mults=1,3,5", &error), error);
    assert_int_equal(p.policy.mults[2], 5);
    CHECK_OK(mw_training_preset_set(&p, "plan.target=-0.5", &error), error);
    CHECK_NEAR(p.plan.target, -0.5, 0);
    CHECK_OK(mw_training_preset_set(&p, "plan.target=auto", &error), error);
    assert_true(isnan(p.plan.target));
    CHECK_OK(mw_training_preset_check(&p, &error), error);
    CHECK_OK(mw_training_preset_set(&p, "policy.context=3", &error), error);
    CHECK_FAILS(mw_training_preset_check(&p, &error), MW_ERR_ARGUMENT, error, "divisible by 4");
    CHECK_OK(mw_training_preset_set(&p, "policy.context=8", &error), error);
    CHECK_OK(mw_training_preset_set(&p, "policy.generated=4", &error), error);
    CHECK_FAILS(mw_training_preset_check(&p, &error), MW_ERR_ARGUMENT, error, "plan.horizon 8");
    for (int i = 0; mw_env_task(i); i++) { /* every task has a row of its own that fits together */
        p = mw_training_preset_of(mw_env_task(i), MW_BUDGET_QUICK);
        CHECK_OK(mw_training_preset_check(&p, &error), error);
        assert_string_equal(p.task, mw_env_task(i));
    }
}

/* Episodes of two steps with rewards 1 and r: returns 1 + r/2 and r at discount one half. */
static void test_condition(void **state) {
    (void)state;
    static float obs[3 * FIXTURE_AGENTS * FIXTURE_OBS], real[2 * FIXTURE_AGENTS * FIXTURE_ACT];
    mw_error error;
    mw_dataset_writer *writer;
    mw_dataset data;
    mw_dataset_spec spec = fixture_spec(false);
    CHECK_OK(mw_dataset_writer_open(&writer, scratch("returns"), &spec, true, &error), error);
    for (int e = 0; e <= 100; e++) { /* starts: 1, 0.5, 0, ..., -49: means over agents */
        const float last = (float)-e, rewards[4] = {0, 2, last, last};
        const mw_episode episode = {
            .length = 2, .obs = obs, .last_obs = obs, .real = real, .rewards = rewards};
        CHECK_OK(mw_dataset_writer_add(writer, &episode, &error), error);
    }
    CHECK_OK(mw_dataset_writer_commit(writer, &error), error);
    CHECK_OK(mw_dataset_open(&data, scratch("returns"), &error), error);
    mw_episode_set all;
    mw_condition c;
    CHECK_OK(mw_episode_set_all(&all, &data, &error), error);
    CHECK_OK(mw_condition_of(&c, &data, &all, 0.5, 0, 0.9, &error), error);
    CHECK_NEAR(c.scale, 97.99, 1e-4); /* the largest of the 202 sizes are 97, 98, 99, 100 */
    CHECK_NEAR(c.target * c.scale, -4, 1e-4);
    CHECK_OK(mw_condition_of(&c, &data, &all, 0.5, 10, 1, &error), error);
    CHECK_NEAR(c.scale, 10, 0);
    CHECK_NEAR(c.target, 0.1, 1e-7);
    mw_episode_set_free(&all);
    mw_dataset_close(&data);
}

static void test_chart(void **state) {
    (void)state;
    static double x[5000], y[5000];
    for (int i = 0; i < 5000; i++) {
        x[i] = i;
        y[i] = i == 17 ? NAN : i == 18 ? -1 : exp(-i / 1000.0);
    }
    const mw_chart_line lines[] = {{"a < b", x, y, 5000}, {"one point", x, y, 1}, {"empty", x, y, 0}};
    const mw_chart panels[] = {{"log & all", "steps", true, lines, 3},
                               {"flat", "steps", false, lines + 1, 1}};
    mw_error error;
    char *text;
    size_t size;
    CHECK_OK(mw_chart_write(scratch("chart.svg"), panels, 2, &error), error);
    CHECK_OK(mw_file_read_text(scratch("chart.svg"), &text, &size, &error), error);
    assert_non_null(strstr(text, "</svg>"));
    assert_non_null(strstr(text, "a &lt; b"));
    assert_non_null(strstr(text, "log &amp; all"));
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    assert_true(size < 20000);
    free(text);
    CHECK_FAILS(mw_chart_write(scratch("no/chart.svg"), panels, 2, &error), MW_ERR_IO, error, "no/chart.svg");
}

/* ---- the program ---- */

static pid_t start_program(const char *output, bool resume) {
    const char *words[2 * TINY + 16] = {MAWAM_PROGRAM, "train", scratch("spread"), "-o", output,
                                        "--seed",      "5",     "--threads",       "1",  "--wide"};
    int count = 10;
    if (resume) words[count++] = "--resume";
    for (int i = 0; i < TINY; i++) {
        words[count++] = "--set";
        words[count++] = tiny[i];
    }
    const pid_t child = fork();
    if (child == 0) {
        const int nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, 1);
        dup2(nowhere, 2);
        execv(MAWAM_PROGRAM, (char *const *)(uintptr_t)words);
        _exit(99);
    }
    return child;
}

static int exit_code(pid_t child) {
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Ctrl-C while it works: 130, and the state to go on from. It may also have finished before. */
static void test_program_is_interrupted(void **state) {
    (void)state;
    int code = 130, stops = 0;
    for (int round = 0; round < 50 && code == 130; round++) {
        const pid_t child = start_program(scratch("program.safetensors"), round > 0);
        if (round < 3) {
            struct stat info;
            for (int i = 0; i < 2000; i++) { /* until it has begun */
                if (stat(scratch("program.jsonl"), &info) == 0 && info.st_size > 2000 * (round + 1)) break;
                nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
            }
            kill(child, (const int[]){SIGINT, SIGTERM, SIGHUP}[round]);
        }
        code = exit_code(child);
        stops += code == 130;
        if (code == 130) assert_true(mw_file_exists(scratch("program.train.safetensors")));
    }
    assert_int_equal(code, 0);
    assert_true(stops > 0);
    check_same_weights(scratch("whole.safetensors"), scratch("program.safetensors"));
    check_same_log(scratch("whole.jsonl"), scratch("program.jsonl"));
}

static void test_program_usage(void **state) {
    (void)state;
    static const struct {
        const char *words;
        int code;
    } calls[] = {{"train --help", 0},
                 {"train", 2},
                 {"train %s --only both", 2},
                 {"train %s --budget huge", 2},
                 {"train %s --set policy.width=1", 2},
                 {"train %s --with x", 2},
                 {"train %s --only advantage", 2},
                 {"train %s-missing", 1},
                 {"train %s -o %s/no/such/folder/x.safetensors", 1}};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        char words[512], command[1200];
        const char *data = scratch("spread");
        snprintf(words, sizeof words, calls[i].words, data, data);
        snprintf(command, sizeof command, "%s %s >/dev/null 2>&1", MAWAM_PROGRAM, words);
        const int status = system(command);
        if (WEXITSTATUS(status) != calls[i].code)
            fail_msg("%s: exit code %d, expected %d", words, WEXITSTATUS(status), calls[i].code);
    }
}

/* docs/training.md shows the table as the program prints it. */
static void test_documentation(void **state) {
    (void)state;
    char *page, *listed, *piece = NULL;
    size_t size;
    mw_error error;
    FILE *out = open_memstream(&listed, &size);
    mw_training_preset_list(out);
    fclose(out);
    CHECK_OK(mw_file_read_text(SOURCE_DIR "/docs/training.md", &page, NULL, &error), error);
    for (char *at = listed; (piece = strsep(&at, "\n"));)
        if (!strstr(page, piece)) fail_msg("docs/training.md lacks: %s", piece);
    free(listed);
    free(page);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_losses_fall),
        cmocka_unit_test(test_resume_gives_the_same_bits),
        cmocka_unit_test(test_resume_after_a_crash),
        cmocka_unit_test(test_threads_do_not_matter),
        cmocka_unit_test(test_seed_matters),
        cmocka_unit_test(test_inverse_noise),
        cmocka_unit_test(test_bundle),
        cmocka_unit_test(test_standardisation),
        cmocka_unit_test(test_refuses_to_continue_something_else),
        cmocka_unit_test(test_broken_checkpoints),
        cmocka_unit_test(test_divergence_stops),
        cmocka_unit_test(test_not_a_number_stops),
        cmocka_unit_test(test_full_disk_keeps_the_old_checkpoint),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_condition),
        cmocka_unit_test(test_chart),
        cmocka_unit_test(test_program_is_interrupted),
        cmocka_unit_test(test_program_usage),
        cmocka_unit_test(test_documentation),
    };
    return cmocka_run_group_tests(tests, setup, fixture_teardown);
}
