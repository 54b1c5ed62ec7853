/* mawam eval: a bundle's arms on the same episodes. */
#include "cli/cli.h"
#include "core/json.h"
#include "core/log.h"
#include "eval/eval.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: mawam eval BUNDLE [--arms A,B,...] [--seeds N] [--episodes N] [--first-seed S] [--M N] [--H N]\n"
    "                  [--K N] [--target X] [--explore X] [--blend X] [--advantage X] [--carry on|off]\n"
    "                  [--envs N] [--threads N] [--timed N] [--prey FILE] [--json | --json=FILE]\n"
    "                  [--replay FILE.html]\n"
    "\n"
    "Plays the same episodes with every arm and compares them. Return: sum over steps of the agents' mean\n"
    "reward; mean over episodes, +- standard deviation over seeds. Gain: paired difference of returns to\n"
    "reactive with a 95% bootstrap interval over episodes. Relative gain: over |reactive|, in normalised\n"
    "scores where the task has them. Share: of the oracle's gain. Milliseconds: of one decision for a "
    "single\n"
    "environment, median and 95th percentile, measured in a run of its own. Episodes depend on seeds only,\n"
    "not on --arms, --envs and --threads.\n"
    "\n"
    "  --arms LIST     of reactive (one candidate), random (any of M), plan (the best of M by the world "
    "model),\n"
    "                  plain (the same as in the paper: --explore, --blend, --advantage 0, --carry off) and\n"
    "                  oracle (the best of M by the true simulator); all of them if left out\n"
    "  --seeds N       evaluation seeds (5), from --first-seed (1000) on. Seeds 1000 to 1004 are for "
    "reported\n"
    "                  results: tune on others\n"
    "  --episodes N    of each seed (40; battles 20, Ant 4)\n"
    "  --M N           candidates (8)\n"
    "  --H N           planning horizon (the bundle's)\n"
    "  --K N           sampling steps (the bundle's)\n"
    "  --target X      target return in the bundle's units (the bundle's)\n"
    "  --explore X     deviation of a lasting offset on the actions of all candidates but the first (the\n"
    "                  bundle's); 0: as the policy draws them\n"
    "  --blend X       real actions: execute a mean of all candidates, weighed by exp(-d/X) at a score d\n"
    "                  deviations below the best (the bundle's); 0: the best alone\n"
    "  --advantage X   share (0 to 1) of the first joint action's learned advantage in a score; the rest is\n"
    "                  the imagined return (the bundle's)\n"
    "  --carry on|off  the last candidate is the rest of the plan chosen before (the bundle's)\n"
    "  --envs N        environments playing together (up to 32)\n"
    "  --threads N     (one per core)\n"
    "  --timed N       decisions timed for a single environment (60); 0: none\n"
    "  --prey FILE     tag, world: a prey network (safetensors) in place of the default prey\n"
    "  --json          the result as JSON, printed or written to a file\n"
    "  --replay FILE   also writes one planned episode as a page with the candidates of every decision\n"
    "\n"
    "examples: mawam eval spread-medium.bundle\n"
    "          mawam eval 3m-medium.bundle --arms plan,reactive --seeds 2 --first-seed 1 "
    "--json=tuning.json\n";

static void show_progress(void *context, mw_eval_arm arm, long done, long total) {
    mw_progress *progress = context;
    if (progress->total != (double)total || strcmp(progress->label, mw_eval_arm_name(arm)))
        mw_progress_start(progress, mw_eval_arm_name(arm), (double)total);
    mw_progress_update(progress, (double)done, "%s", "");
    if (done == total) mw_progress_finish(progress);
}

/* ---- the table ---- */

static void cell(double value, const char *format, int width) {
    char text[48] = "-";
    if (isfinite(value)) snprintf(text, sizeof text, format, value);
    printf(" %*s", width, text);
}

static void pair(double value, double deviation, const char *format) {
    char text[112] = "-", spread[48];
    if (isfinite(value)) snprintf(text, 48, format, value);
    if (isfinite(value) && isfinite(deviation)) {
        snprintf(spread, sizeof spread, format, deviation);
        strcat(strcat(text, " +- "), spread);
    }
    printf(" %16s", text);
}

static void print_row(const mw_eval_report *r, const char *name, bool scaled, bool battle) {
    printf("%-9s", name);
    pair(r->total, r->total_deviation, "%.5g");
    if (scaled) pair(r->score, r->score_deviation, "%.1f");
    if (battle) pair(100 * r->won, 100 * r->won_deviation, "%.1f");
    cell(r->length, "%.1f", 7);
    if (isfinite(r->gain.mean)) {
        char text[96];
        snprintf(text, sizeof text, "%+.4g [%.4g, %.4g]", r->gain.mean, r->gain.low, r->gain.high);
        printf(" %27s", text);
    } else {
        printf(" %27s", "-");
    }
    cell(100 * r->relative_gain, "%+.1f%%", 9);
    cell(r->oracle_share, "%.2f", 6);
    cell(r->generation.p50, "%.2f", 8);
    cell(r->scoring.p50, "%.2f", 8);
    cell(r->decision.p50, "%.2f", 8);
    cell(r->decision.p95, "%.2f", 8);
    putchar('\n');
}

static void print_table(const mw_eval_result *result, const mw_bundle *bundle) {
    const mw_eval_options *o = &result->options;
    const bool battle = !strcmp(result->info.family, "battle");
    bool scaled = false;
    for (int a = 0; a < MW_EVAL_ARMS; a++) scaled |= result->arm[a].played && isfinite(result->arm[a].score);
    char quality[64]; /* a text of the bundle */
    snprintf(quality, sizeof quality, "%s", bundle->info.quality);
    printf("%s-%s (%s): M=%d, H=%d, K=%d, target %.4g, explore %.4g, blend %.4g, advantage %.4g, carry %s, "
           "%d seeds from %llu x %d episodes\n",
           result->info.task, mw_text_clean(quality), result->info.rules, o->candidates, o->horizon, o->steps,
           (double)o->target, (double)o->explore, (double)o->blend, (double)o->advantage,
           o->carry ? "on" : "off", o->seeds, (unsigned long long)o->first_seed, o->episodes);
    printf("%-9s %16s", "arm", "return");
    if (scaled) printf(" %16s", "normalised");
    if (battle) printf(" %16s", "won %");
    printf(" %7s %27s %9s %6s %8s %8s %8s %8s\n", "steps", "gain [95%]", "relative", "share", "generate",
           "score", "ms p50", "ms p95");
    double seconds = 0;
    long decisions = 0;
    for (int a = 0; a < MW_EVAL_ARMS; a++) {
        const mw_eval_report *r = &result->arm[a];
        if (!r->played) continue;
        print_row(r, mw_eval_arm_name((mw_eval_arm)a), scaled, battle);
        seconds += r->seconds;
        decisions += r->decisions;
    }
    printf("%ld decisions in %.1f s: %.0f per second\n", decisions, seconds, (double)decisions / seconds);
}

/* ---- the command ---- */

static int run(const mw_eval_options *options, const char *path, const char *json, const char *command,
               const char *replay) {
    mw_bundle *bundle;
    mw_error error = {0};
    mw_eval_result result = {0};
    if (mw_bundle_load(&bundle, path, &error) != MW_OK) return mw_cli_fail(&error);
    mw_status status = mw_eval_run(&result, bundle, options, &error);
    if (status == MW_OK && json) status = mw_cli_json(mw_eval_json(&result, bundle), json, command, &error);
    if (status == MW_OK && !(json && !*json)) print_table(&result, bundle);
    if (status == MW_OK && replay) status = mw_eval_replay(bundle, options, replay, &error);
    mw_eval_result_free(&result);
    mw_bundle_free(bundle);
    return status == MW_OK ? 0 : mw_cli_fail(&error);
}

int mw_cli_eval(int argc, char **argv) {
    mw_progress progress = {0};
    mw_eval_options o = mw_eval_options_default();
    const char *path = NULL, *arms = NULL, *json = NULL, *replay = NULL, *carry = NULL;
    double target = NAN, explore = NAN, blend = NAN, advantage = NAN;
    const mw_option options[] = {{"arms", MW_OPT_STRING, &arms, 0, 0},
                                 {"seeds", MW_OPT_INT, &o.seeds, 1, 10000},
                                 {"episodes", MW_OPT_INT, &o.episodes, 1, 100000},
                                 {"first-seed", MW_OPT_U64, &o.first_seed, 0, 0},
                                 {"M", MW_OPT_INT, &o.candidates, 1, 4096},
                                 {"H", MW_OPT_INT, &o.horizon, 1, 4096},
                                 {"K", MW_OPT_INT, &o.steps, 1, 4096},
                                 {"target", MW_OPT_DOUBLE, &target, 0, 0},
                                 {"explore", MW_OPT_DOUBLE, &explore, 0, 0},
                                 {"blend", MW_OPT_DOUBLE, &blend, 0, 0},
                                 {"advantage", MW_OPT_DOUBLE, &advantage, 0, 0},
                                 {"carry", MW_OPT_STRING, &carry, 0, 0},
                                 {"envs", MW_OPT_INT, &o.envs, 1, 4096},
                                 {"threads", MW_OPT_INT, &o.threads, 0, MW_MAX_THREADS},
                                 {"timed", MW_OPT_INT, &o.timed, 0, 100000},
                                 {"prey", MW_OPT_STRING, &o.world.prey_file, 0, 0},
                                 {"json", MW_OPT_OPTIONAL, &json, 0, 0},
                                 {"replay", MW_OPT_STRING, &replay, 0, 0},
                                 {NULL, MW_OPT_FLAG, NULL, 0, 0}};
    int count, code = mw_cli_parse(argc, argv, options, help, &path, 1, &count);
    if (code >= 0) return code;
    if (count != 1) return mw_cli_usage("eval: name a bundle");
    mw_error error;
    if (arms && mw_eval_arms_parse(arms, &o.arms, &error) != MW_OK)
        return mw_cli_usage("eval: %s", error.message);
    if (carry && strcmp(carry, "on") && strcmp(carry, "off"))
        return mw_cli_usage("eval: --carry is on or off; got '%s'", carry);
    if (carry) o.carry = !strcmp(carry, "on");
    o.target = (float)target;
    o.explore = (float)explore;
    o.blend = (float)blend;
    o.advantage = (float)advantage;
    o.progress = show_progress;
    o.context = &progress;
    char *command = mw_cli_command("", argc, argv);
    code = run(&o, path, json, command, replay);
    free(command);
    return code;
}
