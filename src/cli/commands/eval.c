/* mawam eval: a bundle's arms on the same episodes. */
#include "cli/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: mawam eval BUNDLE [--arms A,B,...] [--seeds N] [--episodes N] [--first-seed S] [--envs N]\n"
    "                  [--threads N] [--timed N] [--prey FILE] [--json | --json=FILE | --csv]\n"
    "                  [--replay FILE.html] [--accept-rules] [--overwrite] [--sweep M=1,2,4]...\n"
    "                  [PLAN SETTINGS]\n"
    "\n"
    "Plays the same episodes with every arm and compares them. BUNDLE is a file, or the name of one\n"
    "that comes with mawam (spread-medium). Return: sum over steps of the agents' mean reward; mean\n"
    "over episodes, +- standard deviation over seeds. Gain: paired difference of returns to reactive\n"
    "with a 95% interval over episodes, of 8 or more. Relative gain: over |reactive|, in normalised scores\n"
    "where the task has them. Share: of the oracle's gain. Milliseconds: of one decision for a single\n"
    "environment, median and 95th percentile, measured in a run of its own. Episodes depend on seeds\n"
    "only, not on --arms, --envs and --threads.\n"
    "\n"
    "  --arms LIST     see below (reactive, random, plan, paper, oracle)\n"
    "  --seeds N       evaluation seeds (5), from --first-seed (1000) on. Those have been tuned on;\n"
    "                  results to be reported use 21000 to 21004, which nothing may be tuned on\n"
    "  --episodes N    of each seed (40; battles 20, Ant 4)\n"
    "  --envs N        environments playing together (up to 32)\n"
    "  --threads N     (one per core)\n"
    "  --timed N       decisions timed for a single environment (60); 0: none\n"
    "  --prey FILE     tag, world: a prey network (safetensors) in place of the default prey\n"
    "  --sweep LIST    a plan setting and its values, M=1,2,4,8,16 or H=1..8: all of them on the same\n"
    "                  episodes; may be given several times. Arms: reactive and plan, with H the oracle\n"
    "                  too. With --json=FILE a run that was interrupted continues\n"
    "  --accept-rules  play although the bundle was trained under other rules; results say so\n"
    "  --json          the result as JSON, printed or written to a file\n"
    "  --csv           the table as comma-separated values, with the columns that it has no room for\n"
    "  --overwrite     replace files of --json and --replay that are there\n"
    "  --replay FILE   also writes one planned episode as a page with the candidates of every decision,\n"
    "                  beside the policy alone; FILE.svg: a film strip of a few moments\n"
    "\n"
    "examples: mawam eval spread-medium\n"
    "          mawam eval 3m-medium --arms plan,reactive --seeds 2 --first-seed 1 --M 16 --json\n"
    "          mawam eval spread-medium --sweep M=1,2,4,8,16 --sweep K=1..5 --json=sweep.json\n";

static void show_progress(void *context, int arm, long done, long total) {
    mw_progress *progress = context;
    if (progress->total != (double)total || strcmp(progress->label, mw_arm_name(arm)))
        mw_progress_start(progress, mw_arm_name(arm), (double)total);
    mw_progress_update(progress, (double)done, "%s", "");
    if (done == total) mw_progress_finish(progress);
}

/* ---- the table ---- */

static void cell(double value, const char *format, int width) {
    char text[48];
    printf(" %*s", width, mw_cli_number(text, sizeof text, format, value));
}

static void pair(double value, double std, const char *format, int width) {
    char text[112], spread[48];
    mw_cli_number(text, 48, format, value);
    if (isfinite(value) && isfinite(std))
        strcat(strcat(text, " +- "), mw_cli_number(spread, sizeof spread, format, std));
    printf(" %*s", width, text);
}

/* A difference beyond the digits that returns are shown with is rounding. */
static double visible(double difference, double total) {
    return fabs(difference) < 1e-5 * fabs(total) ? 0 : difference;
}

/* Ninety-nine columns at most; what does not fit is in the JSON and the CSV. */
static void print_row(const mw_eval_report *r, const char *name, bool scaled, bool battle) {
    char text[96] = "-";
    const int used = printf("%-9s", name); /* longer names take from the room of the next column */
    pair(r->total, r->total_std, "%.5g", 16 + 9 - used);
    if (scaled) pair(r->score, r->score_std, "%.1f", 14);
    if (battle) pair(100 * r->won, 100 * r->won_std, "%.1f", 14);
    if (isfinite(r->gain.mean)) snprintf(text, sizeof text, "%+.4g", visible(r->gain.mean, r->total));
    if (isfinite(r->gain.low))
        snprintf(text, sizeof text, "%+.4g [%.4g, %.4g]", visible(r->gain.mean, r->total),
                 visible(r->gain.low, r->total), visible(r->gain.high, r->total));
    printf(" %27s", text);
    cell(visible(100 * r->relative_gain, 100), "%+.1f%%", 9);
    cell(r->oracle_share, "%.2f", 6);
    snprintf(text, sizeof text, isfinite(r->decision.p50) ? "%.1f / %.1f" : "-", r->decision.p50,
             r->decision.p95);
    printf(" %13s\n", text);
}

/* The plan's settings, in lines that fit. */
static void print_plan(const mw_plan_settings *plan) {
    mw_setting_info setting;
    int used = 0;
    for (int i = 0; mw_plan_setting_at(i, &setting); i++) {
        char value[MW_NAME], text[2 * MW_NAME];
        mw_error error;
        if (mw_plan_settings_get(plan, setting.name, value, sizeof value, &error) != MW_OK) continue;
        const int length =
            snprintf(text, sizeof text, "%s=%s", setting.symbol ? setting.symbol : setting.name, value);
        if (used && used + 1 + length > 98) used = 0, putchar('\n');
        used += printf("%s%s", used ? " " : "  ", text);
    }
    putchar('\n');
}

/* In how many ways a decision's candidates begin, on average; nothing where actions are real. */
static void print_distinct(const mw_eval_result *result) {
    int told = 0;
    for (int a = 0; a < MW_ARMS; a++) {
        const mw_eval_report *r = mw_eval_arm(result, a);
        if (!r->played || !isfinite(r->distinct)) continue;
        printf("%s %s %.1f",
               told++ ? "," : "joint first actions that differ among candidates:", mw_arm_name(a),
               r->distinct);
    }
    if (told) putchar('\n');
}

static void print_table(const mw_eval_result *result) {
    const mw_eval_summary about = mw_eval_describe(result);
    const bool wins = mw_family_find(about.family)->counts_wins;
    bool scaled = false;
    for (int a = 0; a < MW_ARMS; a++)
        scaled |= mw_eval_arm(result, a)->played && isfinite(mw_eval_arm(result, a)->score);
    printf("%s-%s (%s)\n", about.task, about.quality, about.rules);
    if (about.accepted_rules) printf("trained under other rules, accepted: %s\n", about.accepted_rules);
    if (about.packed_of) printf("packed of the bundle %s\n", about.packed_of);
    print_plan(&about.plan);
    printf(
        "%d seed%s from %llu x %d episode%s = %d of each arm; +-: over seeds; gain: paired, with its 95%%\n"
        "interval over episodes%s\n",
        about.seeds, about.seeds == 1 ? "" : "s", (unsigned long long)about.first_seed, about.episodes,
        about.episodes == 1 ? "" : "s", about.seeds * about.episodes,
        about.seeds * about.episodes < MW_INTERVAL_LEAST ? ", which fewer than 8 do not have" : "");
    printf("%-9s %16s", "arm", "return");
    if (scaled) printf(" %14s", "normalised");
    if (wins) printf(" %14s", "won %");
    printf(" %27s %9s %6s %13s\n", "gain [95%]", "relative", "share", "ms p50 / p95");
    double seconds = 0;
    long decisions = 0;
    for (int a = 0; a < MW_ARMS; a++) {
        const mw_eval_report *r = mw_eval_arm(result, a);
        if (!r->played) continue;
        print_row(r, mw_arm_name(a), scaled, wins);
        seconds += r->seconds;
        decisions += r->decisions;
    }
    printf("%ld decisions in %.1f s: %.0f per second\n", decisions, seconds, (double)decisions / seconds);
    print_distinct(result);
}

static void print_csv(const mw_eval_result *result) {
    static const mw_column columns[] = {{"task", NULL, 0, NULL},
                                        {"rules", NULL, 0, NULL},
                                        {"accepted_rules", NULL, 0, NULL},
                                        {"arm", NULL, 0, NULL},
                                        {"episodes", NULL, 0, "%.0f"},
                                        {"return", NULL, 0, "%g"},
                                        {"return_std", NULL, 0, "%g"},
                                        {"score", NULL, 0, "%g"},
                                        {"score_std", NULL, 0, "%g"},
                                        {"won", NULL, 0, "%g"},
                                        {"won_std", NULL, 0, "%g"},
                                        {"steps", NULL, 0, "%g"},
                                        {"gain", NULL, 0, "%g"},
                                        {"gain_low", NULL, 0, "%g"},
                                        {"gain_high", NULL, 0, "%g"},
                                        {"relative_gain", NULL, 0, "%g"},
                                        {"oracle_share", NULL, 0, "%g"},
                                        {"generate_ms", NULL, 0, "%g"},
                                        {"score_ms", NULL, 0, "%g"},
                                        {"ms_p50", NULL, 0, "%g"},
                                        {"ms_p95", NULL, 0, "%g"},
                                        {"distinct", NULL, 0, "%g"},
                                        {NULL, NULL, 0, NULL}};
    const mw_eval_summary about = mw_eval_describe(result);
    mw_table table;
    mw_table_begin(&table, MW_SHOW_CSV, columns);
    for (int a = 0; a < MW_ARMS; a++) {
        const mw_eval_report *r = mw_eval_arm(result, a);
        if (!r->played) continue;
        mw_table_row(&table, (mw_cell[]){MW_TEXT(about.task),
                                         MW_TEXT(about.rules),
                                         MW_TEXT(about.accepted_rules),
                                         MW_TEXT(mw_arm_name(a)),
                                         MW_NUMBER(about.seeds * about.episodes),
                                         MW_NUMBER(r->total),
                                         MW_NUMBER(r->total_std),
                                         MW_NUMBER(r->score),
                                         MW_NUMBER(r->score_std),
                                         MW_NUMBER(r->won),
                                         MW_NUMBER(r->won_std),
                                         MW_NUMBER(r->length),
                                         MW_NUMBER(r->gain.mean),
                                         MW_NUMBER(r->gain.low),
                                         MW_NUMBER(r->gain.high),
                                         MW_NUMBER(r->relative_gain),
                                         MW_NUMBER(r->oracle_share),
                                         MW_NUMBER(r->generation.p50),
                                         MW_NUMBER(r->scoring.p50),
                                         MW_NUMBER(r->decision.p50),
                                         MW_NUMBER(r->decision.p95),
                                         MW_NUMBER(r->distinct)});
    }
}

/* ---- the command ---- */

typedef struct {
    const char *bundle, *json, *replay;
    mw_show show;
    bool overwrite;
} request;

static int run(const mw_eval_options *options, const request *r, const char *command) {
    mw_bundle *bundle;
    mw_error error = {0};
    mw_eval_result *result = NULL;
    char path[4096];
    const char *json = r->json, *replay = r->replay;
    if (mw_cli_output(json, r->overwrite, &error) != MW_OK ||
        mw_cli_output(replay, r->overwrite, &error) != MW_OK ||
        mw_cli_bundle_path(path, sizeof path, r->bundle, &error) != MW_OK ||
        mw_cli_bundle_load(&bundle, path, &error) != MW_OK)
        return mw_cli_fail(&error);
    mw_status status = mw_bundle_evaluate(&result, bundle, options, &error);
    if (status == MW_OK && json && !*json)
        status = mw_eval_result_print(result, command, stdout, &error);
    else if (status == MW_OK && r->show == MW_SHOW_CSV)
        print_csv(result);
    else if (status == MW_OK)
        print_table(result);
    if (status == MW_OK && json && *json) /* last: a full disk does not take what was printed */
        status = mw_eval_result_save(result, command, json, &error);
    mw_replay *played = NULL;
    if (status == MW_OK && replay) status = mw_eval_replay(&played, bundle, options, &error);
    if (status == MW_OK && replay) status = mw_replay_write(played, replay, &error);
    mw_replay_free(played);
    mw_eval_result_free(result);
    mw_bundle_free(bundle);
    return status == MW_OK ? 0 : mw_cli_fail(&error);
}

int mw_cli_eval(int argc, char **argv) {
    mw_progress progress = {0};
    mw_env_options world;
    mw_env_options_init(&world, sizeof world);
    mw_eval_options o;
    mw_eval_options_init(&o, sizeof o);
    o.world = &world;
    const char *arms = NULL;
    request r = {0};
    mw_assignments plan = {0};
    mw_strings sweeps = {0};
    const mw_option options[] = {{"sweep", MW_OPT_SETTINGS, &sweeps, 0, 0},
                                 {"arms", MW_OPT_STRING, &arms, 0, 0},
                                 {"seeds", MW_OPT_INT, &o.seeds, 1, 10000},
                                 {"episodes", MW_OPT_INT, &o.episodes, 1, 100000},
                                 {"first-seed", MW_OPT_U64, &o.first_seed, 0, 0},
                                 {"plan", MW_OPT_PLAN, &plan, 0, 0},
                                 {"envs", MW_OPT_INT, &o.envs, 1, 4096},
                                 {"threads", MW_OPT_INT, &o.threads, 0, MW_MAX_THREADS},
                                 {"timed", MW_OPT_INT, &o.timed, 0, 100000},
                                 {"prey", MW_OPT_STRING, &world.prey_file, 0, 0},
                                 {"accept-rules", MW_OPT_FLAG, &o.accept_rules, 0, 0},
                                 {"json", MW_OPT_OPTIONAL, &r.json, 0, 0},
                                 {"csv", MW_OPT_SHOW, &r.show, 0, 0},
                                 {"overwrite", MW_OPT_FLAG, &r.overwrite, 0, 0},
                                 {"replay", MW_OPT_STRING, &r.replay, 0, 0},
                                 {NULL, MW_OPT_FLAG, NULL, 0, 0}};
    int count, code = mw_cli_parse(argc, argv, options, help, &r.bundle, 1, &count);
    if (code >= 0) return code;
    if (count != 1) return mw_cli_usage("name a bundle");
    mw_error error;
    if (arms && mw_arms_parse(arms, &o.arms, &error) != MW_OK) return mw_cli_refuse(&error);
    o.assignments = plan.items;
    o.assignment_count = plan.count;
    o.progress = show_progress;
    if (r.show == MW_SHOW_CSV && r.json && !*r.json)
        return mw_cli_usage("only one of --csv and --json is printed; --json=FILE goes with --csv");
    if (r.json && r.replay && !strcmp(r.json, r.replay))
        return mw_cli_usage("--json and --replay name the same file");
    if ((code = mw_cli_replay(r.replay)) >= 0) return code;
    if (sweeps.count && r.replay) return mw_cli_usage("--replay shows one plan, and --sweep plays many");
    if (r.show == MW_SHOW_CSV || (r.json && !*r.json))
        mw_progress_every(mw_cli_quiet ? -1 : 0); /* programs read this */
    o.context = &progress;
    char *command = mw_cli_command("", argc, argv);
    o.stop = mw_cli_stop();
    code = sweeps.count ? mw_cli_sweep(&o, &sweeps, r.bundle, r.json, r.overwrite, r.show, command)
                        : run(&o, &r, command);
    free(command);
    return code;
}
