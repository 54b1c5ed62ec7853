/* Training end to end on tiny networks: losses fall, interruptions and threads leave no trace in the bits,
 * and whatever does not belong together is refused. */
#include "allocations.h"
#include "train/chart.h"
#include "data/returns.h"
#include "dataset/fixture.h"
#include "model/rwm/rwm.h"
#include "eval/scripted.h"
#include "train/train.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>

/* ---- what the tests share ---- */

static const char *const tiny[] = {
    "flow.dim=16",      "flow.mults=1,1,1",    "flow.steps=30",         "flow.batch=6",
    "flow.warmup=5",    "flow.average=0.9",    "flow.forecast=12",      "flow.forecast_batch=14",
    "flow.rate=3e-3",   "inverse.hidden=16",   "inverse.batch=15",      "inverse.steps=30",
    "inverse.warmup=5", "inverse.average=0.9", "inverse.rate=3e-3",     "rwm.hidden=16",
    "rwm.experts=2",    "rwm.slots=2",         "rwm.reward_features=8", "rwm.steps=30",
    "rwm.batch=32",     "rwm.warmup=5",        "rwm.rate=3e-3"};
enum { TINY = sizeof tiny / sizeof tiny[0], STEPS = 30, PARTS = 3 };

static mw_preset tiny_preset(const char *task) {
    mw_error error;
    mw_preset preset = mw_preset_of(task, MW_BUDGET_QUICK);
    for (int i = 0; i < TINY; i++) CHECK_OK(mw_preset_set(&preset, tiny[i], &error), error);
    return preset;
}

/* Stops the training after a number of steps of this run, as a signal would. */
typedef struct {
    volatile sig_atomic_t stop;
    long steps, stop_at; /* stop_at 0: never */
    long full_disk_at;   /* from that step on the disk is full; 0: never */
    double bytes;        /* as estimated */
} observer;

static void note_estimate(void *context, const mw_training_estimate *estimate) {
    ((observer *)context)->bytes = estimate->bytes;
    allocated_forget(); /* reading and checking data is over */
}

static void observe(void *context, const mw_training_progress *progress) {
    observer *o = context;
    assert_true(progress->done > 0 && progress->done <= progress->total * (1 + 1e-9));
    o->steps++;
    if (o->stop_at && o->steps >= o->stop_at) o->stop = 1;
    if (o->full_disk_at && o->steps == o->full_disk_at) scratch_full_disk_begin(10000);
}

typedef struct {
    mw_dataset data;
    mw_preset preset;
    mw_training_request request;
    mw_training_report report;
    observer observer;
    mw_error error;
} run;

static void run_begin(run *r, const char *data, const char *output) {
    *r = (run){0};
    CHECK_OK(mw_dataset_open(&r->data, data, &r->error), r->error);
    r->preset = tiny_preset(r->data.spec.task);
    r->request = (mw_training_request){.output = output,
                                       .options.overwrite = true,
                                       .options.threads = 1,
                                       .options.wide = true,
                                       .options.seed = 5,
                                       .options.command = "test",
                                       .options.progress = observe};
}

static mw_status run_go(run *r) {
    r->request.dataset = &r->data;
    r->request.preset = &r->preset;
    r->request.options.stop = &r->observer.stop;
    r->request.options.context = &r->observer;
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
    assert_int_equal(x->count, y->count);
    for (int i = 0; i < x->count; i++) {
        const mw_model *m = x->parts[i].model, *n = y->parts[i].model;
        assert_int_equal(m->params->total, n->params->total);
        assert_memory_equal(m->values, n->values, m->params->total * sizeof(float));
    }
    assert_null(mw_fields_difference(mw_plan_fields, &x->plan, &y->plan));
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
    static const char *const longer[] = {"flow.steps=200", "inverse.steps=200", "rwm.steps=200"};
    for (int i = 0; i < PARTS; i++) CHECK_OK(mw_preset_set(&r.preset, longer[i], &r.error), r.error);
    CHECK_OK(run_go(&r), r.error);
    static const char *const keys[][2] = {{"flow", "flow"},      {"inverse", "inverse"},
                                          {"flow", "held_flow"}, {"rwm", "dynamics"},
                                          {"rwm", "reward"},     {"rwm", "held_dynamics"}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const double first = mean_of(keys[i][1], keys[i][0], 1, 20),
                     last = mean_of(keys[i][1], keys[i][0], 181, 200);
        printf("  %s %s: %.3f -> %.3f\n", keys[i][0], keys[i][1], first, last);
        assert_true(last < 0.9 * first);
    }
    assert_int_equal(r.report.count, PARTS);
    const mw_part_report *rwm = &r.report.part[2];
    assert_true(rwm->best_step > 0 && rwm->best_step <= 200 && rwm->held[1] < 1);
    assert_true(r.report.target > 0.5 && r.report.target < 1.5);
    assert_true(mw_file_exists(scratch("learn.svg")));
    assert_false(mw_file_exists(scratch("learn.train.safetensors")));
}

/* Interrupted in the middle of each part, with the rest on another number of threads. */
static void test_resume_gives_the_same_bits(void **state) {
    (void)state;
    run r;
    static const long stops[] = {7, 10, 25, 25, 0};
    for (int i = 0; i < 5; i++) {
        run_begin(&r, scratch("spread"), scratch("pieces.safetensors"));
        r.request.options.resume = i > 0;
        r.request.options.threads = 1 + i % 2;
        r.observer.stop_at = stops[i];
        if (!stops[i]) {
            CHECK_OK(run_go(&r), r.error);
            continue;
        }
        CHECK_FAILS(run_go(&r), MW_ERR_INTERRUPTED, r.error, "'resume'");
        assert_int_equal(r.observer.steps, stops[i]);
        assert_true(mw_file_exists(scratch("pieces.train.safetensors")));
    }
    assert_true(r.report.complete);
    assert_int_equal(r.observer.steps, PARTS * STEPS - 67);
    check_same_weights(scratch("whole.safetensors"), scratch("pieces.safetensors"));
    check_same_log(scratch("whole.jsonl"), scratch("pieces.jsonl"));
    run_begin(&r, scratch("spread"), scratch("pieces.safetensors"));
    r.request.options.resume = true; /* nothing is left to do */
    CHECK_OK(run_go(&r), r.error);
    assert_true(r.report.finished_before);
    assert_int_equal(r.observer.steps, 0);
    run_begin(&r, scratch("spread"), scratch("pieces.safetensors"));
    r.request.options.resume = true; /* but a bundle that plans otherwise is not what is asked for */
    CHECK_OK(mw_preset_set(&r.preset, "plan.caution=0.5", &r.error), r.error);
    CHECK_FAILS(run_go(&r), MW_ERR_MISMATCH, r.error, "another plan.caution");
}

/* A crash after a checkpoint: lines of the log that are newer than it are dropped and written again. */
static void test_resume_after_a_crash(void **state) {
    (void)state;
    run r;
    run_begin(&r, scratch("spread"), scratch("crash.safetensors"));
    r.observer.stop_at = 2 * STEPS + 10;
    CHECK_FAILS(run_go(&r), MW_ERR_INTERRUPTED, r.error, "rwm");
    static char checkpoint[1 << 22];
    const size_t size = scratch_read(scratch("crash.train.safetensors"), checkpoint, sizeof checkpoint);
    run_begin(&r, scratch("spread"), scratch("crash.safetensors"));
    r.request.options.resume = true;
    r.observer.stop_at = 12;
    CHECK_FAILS(run_go(&r), MW_ERR_INTERRUPTED, r.error, "rwm");
    scratch_write(scratch("crash.train.safetensors"), checkpoint, size);
    FILE *log = fopen(scratch("crash.jsonl"), "a");
    fputs("{\"part\": \"rw", log); /* torn in the middle of a line */
    fclose(log);
    run_begin(&r, scratch("spread"), scratch("crash.safetensors"));
    r.request.options.resume = true;
    CHECK_OK(run_go(&r), r.error);
    check_same_weights(scratch("whole.safetensors"), scratch("crash.safetensors"));
    check_same_log(scratch("whole.jsonl"), scratch("crash.jsonl"));
}

static void test_threads_do_not_matter(void **state) {
    (void)state;
    static const char *const few[] = {"flow.steps=4", "inverse.steps=4", "rwm.steps=4"};
    FOR_THREADS(threads) {
        run r;
        run_begin(&r, scratch("spread"), scratch(threads == 1 ? "one.safetensors" : "threads.safetensors"));
        for (int i = 0; i < PARTS; i++) CHECK_OK(mw_preset_set(&r.preset, few[i], &r.error), r.error);
        r.request.options.threads = threads;
        CHECK_OK(run_go(&r), r.error);
        check_same_weights(scratch("one.safetensors"), r.request.output);
    }
}

static void test_seed_matters(void **state) {
    (void)state;
    run r;
    mw_error error;
    mw_bundle *a, *b;
    run_begin(&r, scratch("spread"), scratch("seed.safetensors"));
    r.request.options.seed = 6;
    CHECK_OK(run_go(&r), r.error);
    CHECK_OK(mw_bundle_load(&a, scratch("whole.safetensors"), &error), error);
    CHECK_OK(mw_bundle_load(&b, scratch("seed.safetensors"), &error), error);
    assert_memory_not_equal(mw_bundle_model(a, "flow")->values, mw_bundle_model(b, "flow")->values,
                            mw_bundle_model(a, "flow")->params->total * sizeof(float));
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
    CHECK_OK(mw_preset_set(&r.preset, "inverse.noise=0", &error), error);
    CHECK_OK(run_go(&r), r.error);
    CHECK_OK(mw_bundle_load(&a, scratch("whole.safetensors"), &error), error);
    CHECK_OK(mw_bundle_load(&b, scratch("exact.safetensors"), &error), error);
    assert_memory_not_equal(mw_bundle_model(a, "inverse")->values, mw_bundle_model(b, "inverse")->values,
                            mw_bundle_model(a, "inverse")->params->total * sizeof(float));
    assert_memory_equal(mw_bundle_model(a, "flow")->values, mw_bundle_model(b, "flow")->values,
                        mw_bundle_model(a, "flow")->params->total * sizeof(float));
    mw_bundle_free(a);
    mw_bundle_free(b);
}

/* What the bundle says about itself, discrete actions, and half precision. */
static void test_bundle(void **state) {
    (void)state;
    run r;
    mw_bundle *bundle;
    run_begin(&r, scratch("3m"), scratch("battle.safetensors"));
    r.request.options.wide = false;
    CHECK_OK(run_go(&r), r.error);
    CHECK_OK(mw_bundle_load(&bundle, scratch("battle.safetensors"), &r.error), r.error);
    assert_string_equal(bundle->info.task, "3m");
    assert_string_equal(bundle->info.quality, "scripted");
    assert_int_equal(bundle->plan.horizon, 3);
    assert_int_equal(bundle->plan.value_after, 1);
    assert_true(bundle->info.discrete && bundle->plan.return_to_go);
    CHECK_NEAR(bundle->plan.target, r.report.target, 1e-6);
    assert_true(bundle->plan.return_error > 0 && bundle->plan.return_error < 1000);
    assert_int_equal(bundle->act_normalizer.features, 0);
    assert_int_equal(bundle->obs_normalizer.features, 33);
    const mw_bundle_part *part = mw_bundle_find(bundle, "rwm");
    const json_t *details = part->provenance.details, *curve = json_object_get(details, "curve");
    assert_string_equal(json_string_value(json_object_get(details, "command")), "test");
    assert_string_equal(part->provenance.seed, "5");
    assert_string_equal(part->provenance.revision, mw_revision());
    assert_int_equal(strlen(part->provenance.data), 16);
    const json_t *steps = json_object_get(curve, "step"), *held = json_object_get(curve, "held_reward");
    assert_int_equal(json_integer_value(json_array_get(steps, json_array_size(steps) - 1)), STEPS);
    assert_true(json_is_real(json_array_get(held, json_array_size(held) - 1)));
    assert_null(json_object_get(details, "knot_error")); /* in raw units */
    details = mw_bundle_find(bundle, "flow")->provenance.details;
    assert_true(json_is_number(json_object_get(details, "knot_error")));
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
    const float *v = mw_bundle_model(b, "rwm")->values;
    const mw_world_net *net = mw_rwm_net(mw_bundle_model(b, "rwm"));
    for (int f = 0; f < 18; f++) {
        CHECK_NEAR((double)v[net->scales.obs_mean + (size_t)f], stats.obs[f].mean, 1e-5);
        CHECK_NEAR((double)v[net->scales.delta_scale + (size_t)f], stats.delta[f].scale, 1e-5);
    }
    CHECK_NEAR((double)v[net->scales.reward_scale], stats.reward.scale, 1e-4);
    mw_bundle_free(b);
    mw_data_stats_free(&stats);
    mw_split_free(&split);
    mw_dataset_close(&data);
}

/* The paper's world models have no features, no shared expert: its settings say so, whatever was typed. */
static void test_paper_variant_settles(void **state) {
    (void)state;
    mw_error error;
    mw_dataset data;
    mw_preset preset = mw_preset_of("spread", MW_BUDGET_QUICK);
    mw_preset_field field;
    CHECK_OK(mw_preset_set(&preset, "rwm.shared=64", &error), error);
    CHECK_OK(mw_preset_set(&preset, "rwm.variant=paper", &error), error);
    CHECK_OK(mw_preset_set(&preset, "mono.variant=paper", &error), error);
    CHECK_OK(mw_preset_set(&preset, "mono.reward_features=8", &error), error);
    CHECK_OK(mw_preset_set(&preset, "independent.variant=paper", &error), error);
    CHECK_OK(mw_preset_set(&preset, "independent.dynamics_features=8", &error), error);
    CHECK_OK(mw_dataset_open(&data, scratch("spread"), &error), error);
    CHECK_OK(mw_training_settle(&preset, &data, 0, &error), error);
    mw_dataset_close(&data);
    int found = 0;
    for (int i = 0; mw_preset_field_at(&preset, i, &field); i++)
        if (!strcmp(field.name, "rwm.shared") || !strcmp(field.name, "rwm.reward_features") ||
            !strcmp(field.name, "mono.reward_features") ||
            !strcmp(field.name, "independent.dynamics_features"))
            found += !strcmp(field.value, "0");
    assert_int_equal(found, 4);
}

static void test_refuses_to_continue_something_else(void **state) {
    (void)state;
    run r;
    run_begin(&r, scratch("spread"), scratch("begun.safetensors"));
    r.observer.stop_at = 5;
    CHECK_FAILS(run_go(&r), MW_ERR_INTERRUPTED, r.error, "step 5 of 30 of the flow");
    run_begin(&r, scratch("spread"), scratch("begun.safetensors"));
    CHECK_FAILS(run_go(&r), MW_ERR_ARGUMENT, r.error, "unfinished training");
    run_begin(&r, scratch("other"), scratch("begun.safetensors"));
    r.request.options.resume = true;
    CHECK_FAILS(run_go(&r), MW_ERR_MISMATCH, r.error, "other data");
    run_begin(&r, scratch("spread"), scratch("begun.safetensors"));
    r.request.options.resume = true;
    CHECK_OK(mw_preset_set(&r.preset, "rwm.rate=1e-4", &r.error), r.error);
    CHECK_FAILS(run_go(&r), MW_ERR_MISMATCH, r.error, "rwm.rate = 0.003, not 0.0001");
    run_begin(&r, scratch("spread"), scratch("begun.safetensors"));
    r.request.options.resume = true;
    r.request.options.seed = 6;
    CHECK_FAILS(run_go(&r), MW_ERR_MISMATCH, r.error, "seed 5, not 6");
    assert_null(strstr(r.error.message, "begun with:")); /* a word alone is no command */
    run_begin(&r, scratch("spread"), scratch("begun.safetensors"));
    r.request.options.resume = true;
    r.preset.plan.guidance = 2; /* has nothing to do with training */
    r.observer.stop_at = 1;
    CHECK_FAILS(run_go(&r), MW_ERR_INTERRUPTED, r.error, "step 6 of 30");
}

/* The command that a training was begun with is told whole, or as far as there is room for whole words. */
static void test_tells_how_it_was_begun(void **state) {
    (void)state;
    static const int options[] = {1, 20, 60, 100};
    for (int k = 0; k < 4; k++) {
        run r;
        char command[1200];
        size_t used = (size_t)snprintf(command, sizeof command, "mawam train");
        for (int i = 0; i < options[k]; i++)
            used += (size_t)snprintf(command + used, sizeof command - used, " --n=12345");
        run_begin(&r, scratch("spread"), scratch("told.safetensors"));
        r.request.options.command = command;
        r.observer.stop_at = 1;
        CHECK_FAILS(run_go(&r), MW_ERR_INTERRUPTED, r.error, "step 1 of 30 of the flow");
        run_begin(&r, scratch("spread"), scratch("told.safetensors"));
        r.request.options.resume = true;
        r.request.options.seed = 6;
        CHECK_FAILS(run_go(&r), MW_ERR_MISMATCH, r.error, "begun with: mawam train --n=12345");
        const char *told = strstr(r.error.message, "mawam train"), *end = "12345 ...";
        if (k < 2)
            assert_string_equal(told, command);
        else
            assert_string_equal(told + strlen(told) - strlen(end), end);
        assert_int_equal(remove(scratch("told.train.safetensors")), 0);
    }
}

/* Gives a checkpoint that was changed by hand the checksum that belongs to it. */
static void seal(const char *path) {
    static char bytes[1 << 22];
    mw_error error;
    mw_safetensors file;
    const size_t size = scratch_read(path, bytes, sizeof bytes);
    CHECK_OK(mw_safetensors_open(&file, path, &error), error);
    const char *text = mw_safetensors_meta(&file, "training"), *old = mw_safetensors_meta(&file, "checksum");
    uint64_t hash = mw_hash(MW_HASH_START, text, strlen(text));
    for (size_t i = 0; i < file.tensor_count; i++) {
        hash = mw_hash(hash, file.tensors[i].name, strlen(file.tensors[i].name));
        hash =
            mw_hash(hash, file.tensors[i].data, file.tensors[i].count * mw_dtype_size(file.tensors[i].type));
    }
    char sum[17], *at = memmem(bytes, size, old, 16);
    snprintf(sum, sizeof sum, "%016llx", (unsigned long long)hash);
    assert_non_null(at);
    memcpy(at, sum, 16);
    mw_safetensors_close(&file);
    scratch_write(path, bytes, size);
}

static void test_broken_checkpoints(void **state) {
    (void)state;
    run r;
    static char bytes[1 << 22];
    run_begin(&r, scratch("spread"), scratch("broken.safetensors"));
    r.observer.stop_at = 5;
    CHECK_FAILS(run_go(&r), MW_ERR_INTERRUPTED, r.error, "flow");
    const size_t size = scratch_read(scratch("broken.train.safetensors"), bytes, sizeof bytes);
    scratch_write(scratch("broken.train.safetensors"), bytes, size - 100);
    run_begin(&r, scratch("spread"), scratch("broken.safetensors"));
    r.request.options.resume = true;
    CHECK_FAILS(run_go(&r), MW_ERR_FORMAT, r.error, "broken.train.safetensors");
    for (size_t at = size / 2; at < size; at += size / 9) { /* a bit anywhere among the numbers */
        bytes[at] ^= 4;
        scratch_write(scratch("broken.train.safetensors"), bytes, size);
        run_begin(&r, scratch("spread"), scratch("broken.safetensors"));
        r.request.options.resume = true;
        CHECK_FAILS(run_go(&r), MW_ERR_FORMAT, r.error, "is damaged: its checksum is not");
        bytes[at] ^= 4;
    }
    memset(bytes + size - 100, 0xff, 100); /* counters that are not numbers */
    scratch_write(scratch("broken.train.safetensors"), bytes, size);
    seal(scratch("broken.train.safetensors"));
    run_begin(&r, scratch("spread"), scratch("broken.safetensors"));
    r.request.options.resume = true;
    CHECK_FAILS(run_go(&r), MW_ERR_FORMAT, r.error, "impossible counters");
}

static unsigned set_of(const char *names) {
    mw_error error;
    unsigned set;
    CHECK_OK(mw_model_classes_parse(names, &set, &error), error);
    return set;
}

/* The memory that is foreseen is what training takes at its peak, whatever the parts. */
static void test_memory_is_foreseen(void **state) {
    (void)state;
    static const struct {
        const char *data, *parts, *only;
    } cases[] = {{"spread", "parts=flow,inverse,rwm", NULL},
                 {"spread", "parts=flow,inverse,rwm,advantage", "advantage"},
                 {"spread", "parts=flow,inverse,rwm,mono,independent", "mono,independent"},
                 {"spread", "parts=flow,inverse,rwm,q,direct,value,bc", NULL},
                 {"3m", "parts=flow,inverse,rwm,value,bc", NULL}};
    static const char *const wide[] = {"flow.dim=32",     "flow.steps=2",           "inverse.hidden=128",
                                       "inverse.steps=2", "inverse.batch=256",      "rwm.hidden=128",
                                       "rwm.slots=4",     "rwm.batch=256",          "rwm.steps=2",
                                       "mono.steps=2",    "independent.steps=2",    "q.steps=2",
                                       "q.batch=512",     "direct.steps=2",         "value.steps=2",
                                       "bc.steps=2",      "advantage.features=128", "advantage.steps=2",
                                       "plan.horizon=3"};
    if (!COUNTING) skip();
    mw_bundle *whole;
    mw_error error;
    long other = allocated_bytes(); /* a bundle that provides parts is there before */
    CHECK_OK(mw_bundle_load(&whole, scratch("whole.safetensors"), &error), error);
    other = allocated_bytes() - other;
    mw_bundle_free(whole);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run r;
        run_begin(&r, scratch(cases[i].data), scratch("foreseen.safetensors"));
        for (size_t k = 0; k < sizeof wide / sizeof *wide; k++)
            CHECK_OK(mw_preset_set(&r.preset, wide[k], &r.error), r.error);
        CHECK_OK(mw_preset_set(&r.preset, cases[i].parts, &r.error), r.error);
        if (cases[i].only) {
            r.request.options.only = set_of(cases[i].only);
            r.request.options.with = scratch("whole.safetensors");
        }
        r.request.options.threads = 2;
        r.request.options.begin = note_estimate;
        const long before = allocated_bytes();
        CHECK_OK(run_go(&r), r.error);
        const double peak = (double)(allocated_most() - before - (cases[i].only ? other : 0)),
                     foreseen = r.observer.bytes;
        print_message("%s, %s: %.2f MB were foreseen and %.2f MB taken\n", cases[i].data,
                      cases[i].only ? cases[i].only : cases[i].parts, 1e-6 * foreseen, 1e-6 * peak);
        assert_true(foreseen < 1.05 * peak);
        assert_true(peak < foreseen + 0.5e6); /* the split, normalisers, threads and what is read of the log
                                               */
    }
}

/* Two trainings into one file: the second is refused, and the first leaves no lock behind. */
static void test_one_at_a_time(void **state) {
    (void)state;
    run r;
    mw_lock lock;
    run_begin(&r, scratch("spread"), scratch("both.safetensors"));
    CHECK_OK(mw_lock_take(&lock, scratch("both.safetensors"), &r.error), r.error);
    CHECK_FAILS(run_go(&r), MW_ERR_IO, r.error, "is being made by another process");
    mw_lock_release(&lock);
    train(scratch("spread"), scratch("both.safetensors"));
    assert_false(mw_file_exists(scratch("both.safetensors.lock")));
}

/* A rate far too high: the loss grows without bound. */
static void test_divergence_stops(void **state) {
    (void)state;
    run r;
    run_begin(&r, scratch("spread"), scratch("wild.safetensors"));
    static const char *const wild[] = {"flow.rate=1", "flow.clip=0", "flow.warmup=0"};
    for (int i = 0; i < 3; i++) CHECK_OK(mw_preset_set(&r.preset, wild[i], &r.error), r.error);
    CHECK_FAILS(run_go(&r), MW_ERR_NUMERIC, r.error, "training of the flow diverged at step");
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
    r.observer.stop_at = 2 * STEPS + 10;
    CHECK_FAILS(run_go(&r), MW_ERR_INTERRUPTED, r.error, "step 10 of 30 of the rwm");
    const size_t size = scratch_read(scratch("nan.train.safetensors"), bytes, sizeof bytes);
    CHECK_OK(mw_safetensors_open(&file, scratch("nan.train.safetensors"), &r.error), r.error);
    const mw_tensor *values = mw_safetensors_find(&file, "rwm.values");
    const size_t at = (size_t)((const unsigned char *)values->data - file.map.data), count = values->count;
    mw_safetensors_close(&file);
    const float large = 3e38f;
    for (size_t i = 0; i < count; i++) memcpy(bytes + at + 4 * i, &large, 4);
    scratch_write(scratch("nan.train.safetensors"), bytes, size);
    seal(scratch("nan.train.safetensors"));
    scratch_read(scratch("nan.train.safetensors"), bytes, sizeof bytes);
    run_begin(&r, scratch("spread"), scratch("nan.safetensors"));
    r.request.options.resume = true;
    CHECK_FAILS(run_go(&r), MW_ERR_NUMERIC, r.error, "training of the rwm diverged at step 11 of 30");
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
    r.request.options.resume = true;
    CHECK_OK(run_go(&r), r.error);
    assert_int_equal(r.observer.steps, PARTS * STEPS - 10);
    check_same_weights(scratch("whole.safetensors"), scratch("full.safetensors"));
}

/* Some parts at a time, the others from the checkpoint or from a bundle, whose own story stays with them. */
static void test_parts(void **state) {
    (void)state;
    run r;
    run_begin(&r, scratch("spread"), scratch("parts.safetensors"));
    r.request.options.only = set_of("rwm");
    CHECK_OK(run_go(&r), r.error);
    assert_false(r.report.complete);
    assert_false(mw_file_exists(scratch("parts.safetensors")));
    run_begin(&r, scratch("spread"), scratch("parts.safetensors"));
    r.request.options.only = set_of("flow,inverse");
    r.request.options.resume = true;
    CHECK_OK(run_go(&r), r.error);
    assert_true(r.report.complete);
    check_same_weights(scratch("whole.safetensors"), scratch("parts.safetensors"));

    mw_bundle *paper, *whole;
    run_begin(&r, scratch("spread"), scratch("paper.safetensors"));
    r.request.options.only = set_of("rwm");
    r.request.options.with = scratch("whole.safetensors");
    r.request.options.command = "paper";
    CHECK_OK(mw_preset_set(&r.preset, "rwm.variant=paper", &r.error), r.error);
    CHECK_OK(mw_preset_set(&r.preset, "flow.steps=99", &r.error), r.error); /* not true of what is kept */
    CHECK_OK(run_go(&r), r.error);
    CHECK_OK(mw_bundle_load(&paper, scratch("paper.safetensors"), &r.error), r.error);
    CHECK_OK(mw_bundle_load(&whole, scratch("whole.safetensors"), &r.error), r.error);
    assert_false(mw_rwm_net(mw_bundle_model(paper, "rwm"))->config.standardise);
    for (int i = 0; i < 2; i++) {
        const mw_bundle_part *kept = &paper->parts[i], *own = &whole->parts[i];
        assert_memory_equal(kept->model->values, own->model->values,
                            own->model->params->total * sizeof(float));
        assert_string_equal(kept->text, own->text);
    }
    assert_string_equal(json_string_value(json_object_get(paper->parts[2].provenance.details, "command")),
                        "paper");
    mw_bundle_free(paper);
    mw_bundle_free(whole);
    run_begin(&r, scratch("3m"), scratch("mixed.safetensors"));
    r.request.options.only = set_of("rwm");
    r.request.options.with = scratch("whole.safetensors");
    CHECK_FAILS(run_go(&r), MW_ERR_MISMATCH, r.error, "the bundle is for spread");
    run_begin(&r, scratch("spread"), scratch("paper.safetensors"));
    r.request.options.only = set_of("rwm");
    r.request.options.with = scratch("whole.safetensors");
    r.request.options.resume = true; /* of nothing: what is there is finished */
    CHECK_FAILS(run_go(&r), MW_ERR_ARGUMENT, r.error, "nothing is left to continue");
    mw_dataset data;
    mw_train_options options;
    CHECK_OK(mw_dataset_open(&data, scratch("spread"), &r.error), r.error);
    mw_train_options_init(&options, sizeof options);
    options.with = scratch("whole.safetensors"); /* which provides nothing where everything is trained */
    options.assignments = (const char *const[]){"flow.steps=1", "inverse.steps=1", "rwm.steps=1"};
    options.assignment_count = 3;
    CHECK_FAILS(mw_bundle_train(&data, scratch("with.safetensors"), &options, &r.report, &r.error),
                MW_ERR_ARGUMENT, r.error, "only");
    mw_dataset_close(&data);
}

/* A training in another bundle's units goes on in these, and in no others. */
static void test_units(void **state) {
    (void)state;
    run r;
    mw_bundle *whole;
    CHECK_OK(mw_bundle_load(&whole, scratch("whole.safetensors"), &r.error), r.error);
    whole->obs_normalizer.value[0] -= 0.5f;
    CHECK_OK(mw_bundle_save(whole, scratch("shifted.safetensors"), false, &r.error), r.error);
    mw_bundle_free(whole);
    for (int other = 0; other < 2; other++) {
        run_begin(&r, scratch("spread"), scratch("units.safetensors"));
        r.request.options.only = set_of("inverse");
        r.request.options.with = scratch(other ? "shifted.safetensors" : "whole.safetensors");
        r.request.options.resume = other;
        r.observer.stop_at = 5;
        CHECK_FAILS(run_go(&r), other ? MW_ERR_MISMATCH : MW_ERR_INTERRUPTED, r.error,
                    other ? "normalisers differ" : "step 5");
    }
    mw_bundle *mixed; /* what the knots cost is known of a bundle's own normalisers alone */
    run_begin(&r, scratch("other"), scratch("mixed.safetensors"));
    r.request.options.only = set_of("inverse");
    r.request.options.with = scratch("whole.safetensors");
    CHECK_OK(mw_preset_set(&r.preset, "plan.target=1", &r.error), r.error);
    CHECK_OK(run_go(&r), r.error);
    CHECK_OK(mw_bundle_load(&mixed, scratch("mixed.safetensors"), &r.error), r.error);
    assert_null(json_object_get(mw_bundle_find(mixed, "inverse")->provenance.details, "knot_error"));
    assert_non_null(json_object_get(mw_bundle_find(mixed, "flow")->provenance.details, "knot_error"));
    mw_bundle_free(mixed);
}

/* Episodes of four steps of a world with two values and two real actions, one of which is given. */
static void make_own(const char *folder, float action) {
    mw_error error;
    mw_dataset_writer *writer;
    const mw_dataset_spec spec = {
        .task = "own", .rules = "own-1", .agents = 1, .obs_size = 2, .act_size = 2, .episode_limit = 4};
    const float real[] = {0, 0.5f, 1, -1, 0, action, 0.5f, 0}, rewards[4] = {1};
    CHECK_OK(mw_dataset_writer_open(&writer, folder, &spec, true, &error), error);
    for (long e = 0; e < 20; e++) {
        float obs[8], last[2] = {0};
        for (int k = 0; k < 8; k++) obs[k] = (float)((k * 5 + e) % 7);
        const mw_episode episode = {.length = 4,
                                    .obs = obs,
                                    .last_obs = last,
                                    .real = real,
                                    .rewards = rewards,
                                    .outcome = MW_ENDED_BY_LIMIT};
        CHECK_OK(mw_dataset_writer_add(writer, &episode, &error), error);
    }
    CHECK_OK(mw_dataset_writer_commit(writer, &error), error);
}

/* The error of imagined returns is that of the model that the plan judges by, whatever else is there. */
static void test_error_of_the_judge(void **state) {
    (void)state;
    double errors[3];
    for (int k = 0; k < 3; k++) {
        static const char *const parts[] = {"parts=flow,inverse,mono", "parts=flow,inverse,rwm,mono",
                                            "parts=flow,inverse,rwm"};
        run r;
        mw_bundle *bundle;
        run_begin(&r, scratch("spread"), scratch("judged.safetensors"));
        CHECK_OK(mw_preset_set(&r.preset, parts[k], &r.error), r.error);
        CHECK_OK(mw_preset_set(&r.preset, k < 2 ? "plan.scorer=mono" : "plan.scorer=rwm", &r.error), r.error);
        CHECK_OK(mw_preset_set(&r.preset, "mono.hidden=16", &r.error), r.error);
        CHECK_OK(mw_preset_set(&r.preset, "mono.steps=30", &r.error), r.error);
        CHECK_OK(run_go(&r), r.error);
        CHECK_OK(mw_bundle_load(&bundle, scratch("judged.safetensors"), &r.error), r.error);
        errors[k] = bundle->plan.return_error;
        mw_bundle_free(bundle);
    }
    assert_true(errors[0] == errors[1] && errors[1] != errors[2]);
}

/* Actions beyond [-1, 1] could be learned but never planned. */
static void test_range_of_actions(void **state) {
    (void)state;
    run r;
    make_own(scratch("wide"), 4);
    run_begin(&r, scratch("wide"), scratch("wide.safetensors"));
    CHECK_FAILS(run_go(&r), MW_ERR_ARGUMENT, r.error, "actions reach 4; training takes real ones");
    make_own(scratch("rounded"), 1 + 0x1p-23f);
    run_begin(&r, scratch("rounded"), scratch("wide.safetensors"));
    CHECK_FAILS(run_go(&r), MW_ERR_ARGUMENT, r.error, "actions reach 1.00000012; training");
}

/* Without held-out episodes there is no loss on them, and nothing says 0. */
static void test_nothing_held_out(void **state) {
    (void)state;
    run r;
    mw_bundle *bundle;
    run_begin(&r, scratch("spread"), scratch("all.safetensors"));
    CHECK_OK(mw_preset_set(&r.preset, "data.held_out=0", &r.error), r.error);
    CHECK_OK(run_go(&r), r.error);
    assert_true(isnan(r.report.part[0].held[0]));
    CHECK_OK(mw_bundle_load(&bundle, scratch("all.safetensors"), &r.error), r.error);
    const json_t *held = json_object_get(bundle->parts[0].provenance.details, "held");
    assert_true(json_is_null(json_object_get(held, "flow")));
    mw_bundle_free(bundle);
}

/* The advantage is a part like any other: stopped and continued, alone with another bundle's parts. */
static void test_advantage_part(void **state) {
    (void)state;
    static const char *const settings[] = {"parts=flow,inverse,rwm,advantage", "advantage.features=4",
                                           "advantage.hidden=16", "advantage.steps=30",
                                           "plan.scorer=advantage"};
    for (int way = 0; way < 3; way++) { /* in one go; stopped before it; alone */
        for (int piece = way == 1 ? 0 : 1; piece < 2; piece++) {
            run r;
            run_begin(&r, scratch("spread"),
                      scratch(way == 0   ? "judged.safetensors"
                              : way == 1 ? "stopped.safetensors"
                                         : "alone.safetensors"));
            for (int i = 0; i < 5; i++) CHECK_OK(mw_preset_set(&r.preset, settings[i], &r.error), r.error);
            r.request.options.resume = way == 1;
            if (way == 2) r.request.options.only = set_of("advantage");
            if (way == 2) r.request.options.with = scratch("whole.safetensors");
            r.observer.stop_at = piece ? 0 : PARTS * STEPS;
            if (!piece)
                CHECK_FAILS(run_go(&r), MW_ERR_INTERRUPTED, r.error, "'resume'");
            else
                CHECK_OK(run_go(&r), r.error);
        }
    }
    check_same_weights(scratch("judged.safetensors"), scratch("stopped.safetensors"));
    check_same_weights(scratch("judged.safetensors"), scratch("alone.safetensors"));
    mw_error error;
    mw_bundle *judged;
    CHECK_OK(mw_bundle_load(&judged, scratch("judged.safetensors"), &error), error);
    double size = 0;
    const mw_model *model = mw_bundle_model(judged, "advantage");
    for (size_t i = 0; i < model->params->total; i++) size += fabs((double)model->values[i]);
    assert_true(size > 0);
    mw_bundle_free(judged);
    run r; /* of another seed: what the world model imagines is held against what it has not seen all the same
            */
    run_begin(&r, scratch("spread"), scratch("seeded.safetensors"));
    for (int i = 0; i < 5; i++) CHECK_OK(mw_preset_set(&r.preset, settings[i], &r.error), r.error);
    r.request.options.only = set_of("advantage");
    r.request.options.with = scratch("whole.safetensors");
    r.request.options.seed = 6;
    CHECK_OK(run_go(&r), r.error);
    CHECK_OK(mw_bundle_load(&judged, scratch("alone.safetensors"), &error), error);
    const double return_error = judged->plan.return_error;
    mw_bundle_free(judged);
    CHECK_OK(mw_bundle_load(&judged, scratch("seeded.safetensors"), &error), error);
    assert_true(return_error > 0 && judged->plan.return_error == return_error);
    mw_bundle_free(judged);
    run_begin(&r, scratch("spread"), scratch("unjudged.safetensors"));
    CHECK_OK(mw_preset_set(&r.preset, "plan.scorer=advantage", &r.error), r.error);
    CHECK_FAILS(run_go(&r), MW_ERR_ARGUMENT, r.error, "plan.scorer");
    run_begin(&r, scratch("3m"), scratch("unjudged.safetensors"));
    CHECK_OK(mw_preset_set(&r.preset, settings[0], &r.error), r.error);
    CHECK_FAILS(run_go(&r), MW_ERR_ARGUMENT, r.error, "plan.value_after");
    run_begin(&r, scratch("3m"), scratch("unjudged.safetensors"));
    CHECK_OK(mw_preset_set(&r.preset, settings[0], &r.error), r.error);
    CHECK_OK(mw_preset_set(&r.preset, "plan.value_after=0", &r.error), r.error);
    CHECK_FAILS(run_go(&r), MW_ERR_ARGUMENT, r.error, "for real actions");
}

static void test_settings(void **state) {
    (void)state;
    static const struct {
        const char *assignment, *message;
    } bad[] = {
        {"flow.width=3", "flow.: dim mults"},
        {"flow.width=3", "return_scale"}, /* the list is complete */
        {"plan.width=3", "candidates horizon"},
        {"width=3", "parts, data, plan, flow, inverse, rwm"},
        {"flow.dim", "sets nothing"},
        {"flow.dim=", "a whole number 16 to 1024, not ''"},
        {"flow.dim=2.5", "a whole number"},
        {"flow.dim=1e9", "16 to 1024"},
        {"flow.dim=4294967328", "16 to 1024"},
        {"flow.rate=nan", "a number 0 to 1"},
        {"flow.rate=fast", "not 'fast'"},
        {"flow.rate=0." /* cut off it would be 0 */
         "00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000001e99",
         "at most 95"},
        {"flow.mults=1,2", "three whole numbers"},
        {"flow.mults=1,2,4,8", "three whole numbers"},
        {"rwm.variant=best", "standard or paper"},
        {"plan.target=high", "or auto"},
        {"parts=flow,elephant", "no model 'elephant'"},
        {"flow.dim=16 rwm.steps=1", "one setting at a time"},
    };
    mw_error error;
    mw_preset p = mw_preset_of("spread", MW_BUDGET_FULL), before = p;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK_FAILS(mw_preset_set(&p, bad[i].assignment, &error), MW_ERR_ARGUMENT, error, bad[i].message);
    assert_null(mw_fields_difference(mw_plan_fields, &before.plan, &p.plan));
    CHECK_OK(mw_preset_set(&p, "flow.mults=1,3,5", &error), error);
    json_t *json = mw_preset_json(&p);
    const json_t *mults = json_object_get(json_object_get(json, "flow"), "mults");
    assert_int_equal(json_integer_value(json_array_get(mults, 2)), 5);
    json_decref(json);
    CHECK_OK(mw_preset_set(&p, "plan.target=-0.5", &error), error);
    CHECK_NEAR(p.plan.target, -0.5, 0);
    CHECK_OK(mw_preset_set(&p, "plan.target=auto", &error), error);
    assert_true(isnan(p.plan.target));
    CHECK_OK(mw_preset_check(&p, &error), error);
    CHECK_OK(mw_preset_set(&p, "flow.generated=4", &error), error);
    CHECK_FAILS(mw_preset_check(&p, &error), MW_ERR_ARGUMENT, error, "plan.horizon 8");
    p = before;
    CHECK_OK(mw_preset_set(&p, "plan.scorer=rmw", &error), error);
    CHECK_FAILS(mw_preset_check(&p, &error), MW_ERR_ARGUMENT, error, "no scorer 'rmw'");
    CHECK_OK(mw_preset_set(&p, "plan.scorer=mixture", &error), error);
    CHECK_FAILS(mw_preset_check(&p, &error), MW_ERR_ARGUMENT, error, "the advantage is not among the parts");
    for (int i = 0; mw_env_task(i); i++) { /* every task has a row of its own that fits together */
        p = mw_preset_of(mw_env_task(i), MW_BUDGET_QUICK);
        CHECK_OK(mw_preset_check(&p, &error), error);
        assert_true(p.parts != 0);
        assert_string_equal(p.task, mw_env_task(i));
    }
}

/* The bundle says how it was trained, and rates that shall stay do. */
static void test_method(void **state) {
    (void)state;
    run r;
    mw_bundle *bundle;
    json_t *line;
    char *log, *rest = NULL;
    run_begin(&r, scratch("spread"), scratch("paper.safetensors"));
    CHECK_OK(mw_preset_choose(&r.preset, "paper", "spread", "", MW_BUDGET_QUICK, &r.error), r.error);
    for (int i = 0; i < TINY; i++)
        if (!strstr(tiny[i], "warmup")) CHECK_OK(mw_preset_set(&r.preset, tiny[i], &r.error), r.error);
    CHECK_OK(run_go(&r), r.error);
    CHECK_OK(mw_bundle_load(&bundle, scratch("paper.safetensors"), &r.error), r.error);
    assert_string_equal(mw_bundle_describe(bundle).method, "paper");
    CHECK_NEAR(mw_bundle_plan(bundle).action_offset, 0, 0);
    mw_bundle_free(bundle);
    CHECK_OK(mw_file_read_text(scratch("paper.jsonl"), &log, NULL, &r.error), r.error);
    for (char *one = strtok_r(log, "\n", &rest); one; one = strtok_r(NULL, "\n", &rest)) {
        CHECK_OK(mw_json_parse(&line, one, strlen(one), "line", &r.error), r.error);
        CHECK_NEAR(json_number_value(json_object_get(line, "rate")), 3e-3, 1e-9);
        json_decref(line);
    }
    free(log);
}

/* Episodes of two steps with rewards 1 and r: returns 1 + r/2 and r at discount one half. */
static void test_returns(void **state) {
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
    double scale, value;
    CHECK_OK(mw_episode_set_all(&all, &data, &error), error);
    CHECK_OK(mw_returns_scale(&scale, &data, &all, 0.5, &error), error);
    CHECK_NEAR(scale, 97.99, 1e-4); /* the largest of the 202 sizes are 97, 98, 99, 100 */
    CHECK_OK(mw_returns_quantile(&value, &data, &all, 0.5, 0.9, &error), error);
    CHECK_NEAR(value, -4, 1e-4);
    CHECK_OK(mw_returns_quantile(&value, &data, &all, 0.5, 1, &error), error);
    CHECK_NEAR(value, 1, 1e-6);
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
        signal(SIGHUP, SIG_DFL); /* nohup had it ignored, and the program would heed that */
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

static void wait_for_log(off_t bytes) {
    struct stat info;
    for (int i = 0; i < 60000; i++) {
        if (stat(scratch("program.jsonl"), &info) == 0 && info.st_size > bytes) return;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

/* Three signals, each once the log has grown by so many bytes, until it ends by itself; returns how many
 * stopped it. */
static int train_with_stops(off_t bytes) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    int code = 130, stops = 0;
    for (int round = 0; round < 50 && code == 130; round++) {
        const pid_t child = start_program(scratch("program.safetensors"), round > 0);
        if (round < 3) {
            wait_for_log(bytes * (round + 1));
            kill(child, signals[round]);
        }
        code = exit_code(child);
        stops += code == 130;
        if (code == 130) assert_true(mw_file_exists(scratch("program.train.safetensors")));
    }
    assert_int_equal(code, 0);
    return stops;
}

/* Ctrl-C while it works: 130, and the state to go on from. A fast program may have finished before: again,
 * and earlier. */
static void test_program_is_interrupted(void **state) {
    (void)state;
    static const char *const made[] = {"program.safetensors", "program.jsonl", "program.svg"};
    int stops = 0;
    for (off_t bytes = 2000; stops == 0 && bytes > 100; bytes /= 2) {
        for (int i = 0; i < 3; i++) remove(scratch(made[i]));
        stops = train_with_stops(bytes);
    }
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
                 {"train %s --set flow.width=1", 2},
                 {"train %s --with x", 2},
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

/* docs/settings.md shows the tables as the program prints it. */
static void test_documentation(void **state) {
    (void)state;
    char *page, *listed, *piece = NULL;
    size_t size;
    mw_error error;
    FILE *out = open_memstream(&listed, &size);
    mw_preset_list(out);
    fclose(out);
    CHECK_OK(mw_file_read_text(SOURCE_DIR "/docs/settings.md", &page, NULL, &error), error);
    for (char *at = listed; (piece = strsep(&at, "\n"));)
        if (!strstr(page, piece)) fail_msg("docs/settings.md lacks: %s", piece);
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
        cmocka_unit_test(test_paper_variant_settles),
        cmocka_unit_test(test_refuses_to_continue_something_else),
        cmocka_unit_test(test_tells_how_it_was_begun),
        cmocka_unit_test(test_broken_checkpoints),
        cmocka_unit_test(test_memory_is_foreseen),
        cmocka_unit_test(test_one_at_a_time),
        cmocka_unit_test(test_divergence_stops),
        cmocka_unit_test(test_not_a_number_stops),
        cmocka_unit_test(test_full_disk_keeps_the_old_checkpoint),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_nothing_held_out),
        cmocka_unit_test(test_range_of_actions),
        cmocka_unit_test(test_error_of_the_judge),
        cmocka_unit_test(test_advantage_part),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_method),
        cmocka_unit_test(test_returns),
        cmocka_unit_test(test_chart),
        cmocka_unit_test(test_program_is_interrupted),
        cmocka_unit_test(test_program_usage),
        cmocka_unit_test(test_documentation),
    };
    return cmocka_run_group_tests(tests, setup, scratch_teardown);
}
