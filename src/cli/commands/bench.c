/* mawam bench: how fast this machine scores, generates and trains. */
#include "cli/table.h"

#include <mawam/study.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: mawam bench [options]\n"
    "       mawam bench --cost BUNDLE... [--threads N] [--timed N] [--json | --csv]\n"
    "\n"
    "Measures, in one run: the machine's own rate of single-precision matrix products, then scoring of\n"
    "candidate futures by the world model, generation by the proposer (all candidates in one batch, and\n"
    "one after the other), and with --train a training step of each network. Prints medians, rates, the\n"
    "share of the machine's rate and the workspace.\n"
    "\n"
    "  --task T       spread, tag, world, 2ant, 4ant, 3m, 8m, 5m_vs_6m, 2s3z   (spread)\n"
    "  --preset P     trained: networks of the sizes that mawam train makes, or paper: of the paper's\n"
    "                 (trained)\n"
    "  --envs E       environments planned together                            (1)\n"
    "  --M M          candidates of each                                       (8)\n"
    "  --K K          sampling steps                                           (3)\n"
    "  --H H          planning horizon                                         (the task's)\n"
    "  --threads N    threads; 0: one per core                                 (0)\n"
    "  --train        also training steps, of the batches of mawam train\n"
    "  --only W       one of score, generate, sequential, world, policy: nothing else but the machine's\n"
    "                 rate\n"
    "  --seconds S    time for each measurement                                (1)\n"
    "  --json, --csv  one JSON object instead of the table, or comma-separated values\n"
    "\n"
    "With --cost: what planning with bundles costs as the paper measures it. 4 environments, K=3, H=8\n"
    "or as many steps as the policy generates, 3 repeats of 10 warm-up and 30 (--timed) timed real steps;\n"
    "generation, scoring and its share at M = 1 to 16; at M = 8 one thread and one candidate after the\n"
    "other beside it.\n"
    "\n"
    "examples:\n"
    "  mawam bench --train\n"
    "  mawam bench --task 8m --envs 4 --M 16 --threads 1\n"
    "  mawam bench --preset paper --json\n"
    "  mawam bench --cost spread-medium.safetensors 2ant-medium.safetensors 3m-medium.safetensors\n";

static const char *preset_name(const mw_bench_options *o) {
    return o->paper ? "paper" : "trained";
}

static void print_head(const mw_bench_options *o, const mw_bench_report *r, const char *cpu) {
    printf("%s, preset %s: %d environment%s x %d candidates, K=%d, H=%d\n", o->task, preset_name(o), o->envs,
           o->envs == 1 ? "" : "s", o->candidates, o->steps, r->horizon);
    printf("%s, %s, %d thread%s; parameters: world %zu, policy %zu\n", cpu, mw_cpu_name(), r->threads,
           r->threads == 1 ? "" : "s", r->world_parameters, r->policy_parameters);
    printf("sgemm peak: %.1f GFLOP/s on %d, %.1f on one\n\n", r->peak, r->threads, r->peak_one);
}

static int print_table(const mw_bench_options *o, const mw_bench_report *r, mw_show show) {
    static const mw_column columns[] = {{"name", "", -24, NULL},
                                        {"ms", "median ms", 10, "%.3f"},
                                        {"gflops", "GFLOP/s", 10, "%.1f"},
                                        {"share_of_peak", "of peak", 8, "%.2f"},
                                        {"workspace_bytes", "bytes of work", 14, "%.0f"},
                                        {"task", NULL, 0, NULL},
                                        {"preset", NULL, 0, NULL},
                                        {"envs", NULL, 0, "%.0f"},
                                        {"M", NULL, 0, "%.0f"},
                                        {"K", NULL, 0, "%.0f"},
                                        {"H", NULL, 0, "%.0f"},
                                        {"threads", NULL, 0, "%.0f"},
                                        {NULL, NULL, 0, NULL}};
    mw_table table;
    mw_table_begin(&table, show, columns);
    for (int i = 0; i < MW_BENCH_ITEMS; i++) {
        const mw_bench_item *item = &r->item[i];
        if (item->measured)
            mw_table_row(&table,
                         (mw_cell[]){MW_TEXT(item->name), MW_NUMBER(item->ms), MW_NUMBER(item->gflops),
                                     MW_NUMBER(item->share), MW_NUMBER(item->bytes), MW_TEXT(o->task),
                                     MW_TEXT(preset_name(o)), MW_NUMBER(o->envs), MW_NUMBER(o->candidates),
                                     MW_NUMBER(o->steps), MW_NUMBER(r->horizon), MW_NUMBER(r->threads)});
    }
    return mw_table_end(&table);
}

static json_t *sizes_json(const char *text) {
    json_t *value;
    return mw_cli_json(&value, text, "the sizes", NULL) == MW_OK ? value : NULL;
}

static int print_json(const mw_bench_options *o, const mw_bench_report *r, const char *cpu) {
    json_t *items = json_array();
    for (int i = 0; items && i < MW_BENCH_ITEMS; i++) {
        const mw_bench_item *item = &r->item[i];
        if (!item->measured ||
            json_array_append_new(items,
                                  json_pack("{s:s, s:f, s:f, s:f, s:I}", "name", item->name, "ms", item->ms,
                                            "gflops", item->gflops, "share_of_peak", item->share,
                                            "workspace_bytes", (json_int_t)item->bytes)) == 0)
            continue;
        json_decref(items);
        items = NULL;
    }
    json_t *all = json_pack(
        "{s:s, s:s, s:s, s:i, s:s, s:s, s:i, s:i, s:i, s:i, s:f, s:f, s:I, s:I, s:o, s:o}", "version",
        mw_version(), "cpu", cpu, "level", mw_cpu_name(), "threads", r->threads, "task", o->task, "preset",
        preset_name(o), "envs", o->envs, "M", o->candidates, "K", o->steps, "H", r->horizon, "peak_gflops",
        r->peak, "peak_gflops_one_thread", r->peak_one, "world_parameters", (json_int_t)r->world_parameters,
        "policy_parameters", (json_int_t)r->policy_parameters, "sizes", sizes_json(r->sizes), "items", items);
    return mw_cli_print(all, 6);
}

/* The items that the words ask for; 0: there is no such item. */
static unsigned items_of(const char *only, bool train) {
    static const char *const words[MW_BENCH_ITEMS] = {"score", "generate", "sequential", "world", "policy"};
    const unsigned all = (1u << MW_BENCH_ITEMS) - 1,
                   training = 1u << MW_BENCH_TRAIN_WORLD | 1u << MW_BENCH_TRAIN_POLICY;
    for (int i = 0; only && i < MW_BENCH_ITEMS; i++)
        if (!strcmp(only, words[i])) return 1u << i;
    return only ? 0 : train ? all : all & ~training;
}

/* ---- the cost of planning ---- */

static void show_setting(void *context, const char *task, int done, int total, double left) {
    (void)context;
    if (mw_cli_quiet) return;
    fprintf(stderr, "%s done, %d of %d, about %.0f s left\n", task, done, total, left);
}

static double number(const json_t *object, const char *key) {
    return json_number_value(json_object_get(object, key));
}

static void print_points(mw_table *table, const char *name, const json_t *points) {
    json_t *p;
    size_t i;
    json_array_foreach((json_t *)(uintptr_t)points, i, p)
        mw_table_row(table, (mw_cell[]){MW_TEXT(name), MW_NUMBER(number(p, "M")),
                                        MW_NUMBER(number(p, "generate")), MW_NUMBER(number(p, "score")),
                                        MW_NUMBER(number(p, "total")), MW_NUMBER(number(p, "share"))});
}

static void print_batching(const json_t *settings) {
    static const mw_column columns[] = {{"setting", "M=8, generation", -24, NULL},
                                        {"sequential", "sequential", 14, "%.2f"},
                                        {"batched", "batched", 10, "%.2f"},
                                        {"ratio", "ratio", 8, "%.2f"},
                                        {"sequential_one_thread", "one thread: s.", 14, "%.2f"},
                                        {"batched_one_thread", "b.", 10, "%.2f"},
                                        {"ratio_one_thread", "ratio", 8, "%.2f"},
                                        {NULL, NULL, 0, NULL}};
    json_t *s;
    size_t i;
    mw_table table;
    mw_table_begin(&table, MW_SHOW_TEXT, columns);
    json_array_foreach((json_t *)(uintptr_t)settings, i, s) {
        const json_t *all = json_object_get(s, "batching"), *one = json_object_get(s, "batching_one_thread");
        mw_table_row(&table,
                     (mw_cell[]){MW_TEXT(json_string_value(json_object_get(s, "setting"))),
                                 MW_NUMBER(number(all, "sequential")), MW_NUMBER(number(all, "batched")),
                                 MW_NUMBER(number(all, "ratio")), MW_NUMBER(number(one, "sequential")),
                                 MW_NUMBER(number(one, "batched")), MW_NUMBER(number(one, "ratio"))});
    }
}

/* As comma-separated values the points alone; JSON has everything. */
static void print_cost(const json_t *root, mw_show show) {
    static const mw_column columns[] = {
        {"setting", "ms", -24, NULL},   {"M", "M", 4, "%.0f"},          {"generate", "generate", 10, "%.2f"},
        {"score", "score", 10, "%.2f"}, {"total", "total", 10, "%.2f"}, {"share", "share %", 8, "%.1f"},
        {NULL, NULL, 0, NULL}};
    const json_t *cost = json_object_get(root, "cost"), *settings = json_object_get(cost, "settings");
    json_t *s;
    size_t i;
    mw_table table;
    if (show == MW_SHOW_TEXT)
        printf("%s, %s, %.0f threads; %.0f environments, K=%.0f; means of %.0f repeats of %.0f steps\n",
               json_string_value(json_object_get(root, "cpu")),
               json_string_value(json_object_get(root, "level")), number(root, "threads"),
               number(cost, "envs"), number(cost, "K"), number(cost, "repeats"), number(cost, "timed"));
    mw_table_begin(&table, show, columns);
    json_array_foreach((json_t *)(uintptr_t)settings, i, s)
        print_points(&table, json_string_value(json_object_get(s, "setting")), json_object_get(s, "points"));
    print_points(&table, "mean", json_object_get(cost, "mean"));
    if (show == MW_SHOW_TEXT) print_batching(settings);
}

enum { MOST_BUNDLES = 16 };

/* What --cost measures is the paper's: it takes no plan. */
static bool plans_otherwise(const mw_bench_options *o) {
    mw_bench_options usual;
    mw_bench_options_init(&usual, sizeof usual);
    return o->task != usual.task || o->envs != usual.envs || o->candidates != usual.candidates ||
           o->steps != usual.steps || o->horizon != usual.horizon || o->seconds != usual.seconds;
}

static int cost_of(const char *const *paths, int count, int threads, int timed, mw_show show,
                   const char *command) {
    mw_bundle *bundles[MOST_BUNDLES] = {NULL};
    mw_error error = {0};
    mw_status status = MW_OK;
    char *text = NULL;
    mw_cost_options o;
    mw_cost_options_init(&o, sizeof o);
    o.threads = threads;
    if (timed) o.timed = timed;
    o.command = command;
    o.progress = show_setting;
    for (int i = 0; i < count && status == MW_OK; i++) {
        char path[4096];
        status = mw_cli_bundle_path(path, sizeof path, paths[i], &error);
        if (status == MW_OK) status = mw_cli_bundle_load_own(&bundles[i], path, &error);
    }
    if (status == MW_OK) status = mw_cost_run(&text, (const mw_bundle *const *)bundles, count, &o, &error);
    for (int i = 0; i < count; i++) mw_bundle_free(bundles[i]);
    if (status != MW_OK) return mw_cli_fail(&error);
    json_t *root = NULL;
    if (show == MW_SHOW_JSON)
        mw_cli_puts(text);
    else if ((status = mw_cli_json(&root, text, "the table of costs", &error)) == MW_OK)
        print_cost(root, show);
    json_decref(root);
    free(text);
    return status == MW_OK ? 0 : mw_cli_fail(&error);
}

int mw_cli_bench(int argc, char **argv) {
    mw_bench_options o;
    mw_bench_options_init(&o, sizeof o);
    static const char trained[] = "trained";
    const char *preset = trained, *only = NULL;
    mw_show show = MW_SHOW_TEXT;
    bool train = false, cost = false;
    int timed = 0;
    const char *paths[MOST_BUNDLES];
    const mw_option options[] = {{"task", MW_OPT_STRING, &o.task, 0, 0},
                                 {"preset", MW_OPT_STRING, &preset, 0, 0},
                                 {"envs", MW_OPT_INT, &o.envs, 1, 4096},
                                 {"M", MW_OPT_INT, &o.candidates, 1, 1024},
                                 {"K", MW_OPT_INT, &o.steps, 1, 5},
                                 {"H", MW_OPT_INT, &o.horizon, 1, 1000},
                                 {"threads", MW_OPT_INT, &o.threads, 0, MW_MAX_THREADS},
                                 {"train", MW_OPT_FLAG, &train, 0, 0},
                                 {"only", MW_OPT_STRING, &only, 0, 0},
                                 {"seconds", MW_OPT_DOUBLE, &o.seconds, 0.01, 60},
                                 {"json", MW_OPT_SHOW, &show, 0, 0},
                                 {"csv", MW_OPT_SHOW, &show, 0, 0},
                                 {"cost", MW_OPT_FLAG, &cost, 0, 0},
                                 {"timed", MW_OPT_INT, &timed, 1, 10000},
                                 {NULL, MW_OPT_FLAG, NULL, 0, 0}};
    int count;
    int code = mw_cli_parse(argc, argv, options, help, paths, MOST_BUNDLES, &count);
    if (code >= 0) return code;
    if (cost != (count > 0)) return mw_cli_usage("bundles and --cost belong together");
    if (timed && !cost) return mw_cli_usage("--timed belongs to --cost");
    if (cost && (train || only || preset != trained || plans_otherwise(&o)))
        return mw_cli_usage("--cost takes bundles, --threads, --timed and --json or --csv, nothing else");
    if (cost) {
        char *command = mw_cli_command("", argc, argv);
        code = cost_of(paths, count, o.threads, timed, show, command);
        free(command);
        return code;
    }
    if (strcmp(preset, trained) && strcmp(preset, "paper"))
        return mw_cli_usage("--preset must be 'trained' or 'paper', not '%s'", preset);
    o.paper = !strcmp(preset, "paper");
    if (!(o.items = items_of(only, train))) return mw_cli_usage("nothing called '%s' to measure", only);
    mw_bench_report report;
    mw_error error = {0};
    const mw_status status = mw_bench_run(&o, &report, &error);
    if (status != MW_OK) return mw_cli_refuse(&error);
    char cpu[128];
    mw_cpu_model(cpu, sizeof cpu);
    if (show == MW_SHOW_JSON) return print_json(&o, &report, cpu);
    if (show == MW_SHOW_TEXT) print_head(&o, &report, cpu);
    return print_table(&o, &report, show);
}
