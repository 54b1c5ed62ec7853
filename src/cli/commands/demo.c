/* mawam demo: the shipped bundles at work. Every arm plays the same few episodes; a table, replays and a page
 * that leads to them. */
#include "cli/cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: mawam demo [BUNDLE ...] [-o DIR] [--episodes N] [--seeds N] [--threads N]\n"
    "                  [PLAN SETTINGS]\n"
    "\n"
    "Plays the same episodes of every bundle in several ways: the policy alone (its first candidate), a\n"
    "candidate at random, planning, planning among candidates as drawn (the best by the world model; left\n"
    "out where planning does just that), and if the simulator itself judged (which no world model can\n"
    "exceed by much). The last two are left out on Ant, where they take minutes and eight steps are too\n"
    "few to judge by: mawam eval has them. Prints what all earn, what was found and how sure that is, and\n"
    "writes DIR/index.html (demo/) with a replay of a planned episode each.\n"
    "\n"
    "If no bundle is named: of those that come with mawam (mawam zoo) one for each family of worlds,\n"
    "the medium setting with the largest team. By default it plays 40 episodes of a particle world, 100\n"
    "of a battle and 40 of Ant, of seed 1000, on which mawam has been tuned: a taste, not a result.\n"
    "More: --episodes, mawam eval, and mawam study for all worlds.\n"
    "\n"
    "example: mawam demo spread-medium -o demo\n";

#define MAX_BUNDLES 32

typedef struct {
    char name[80];
    mw_eval_result *result;
} shown;

/* What a family's worlds show in three minutes on two cores, and enough of it for an interval: a particle
 * episode takes 0.7 core seconds in all arms, a battle 0.4. One of Ant takes 3 in the first three; there the
 * world model would take 4 more and the simulator, whose eight steps are no upper line, 20. */
static const struct {
    const char *family;
    int episodes;
    unsigned arms;
    const char *seen; /* in the pictures */
} shows[] = {
    {"mpe", 40, (1u << MW_ARM_STANDARD) - 1,
     "Discs are agents; in spread, crosses are the landmarks that they are to cover.\n"
     "Lines are the ways that the candidates imagine."},
    {"battle", 100, (1u << MW_ARM_STANDARD) - 1,
     "A team fights the other one, in orange; yellow lines are attacks.\n"
     "Candidates are joint orders: who attacks whom, who moves where."},
    {"ant", 40, 1u << MW_ARM_REACTIVE | 1u << MW_ARM_RANDOM | 1u << MW_ARM_PLAN,
     "Two or four agents move the legs of one ant, seen from above, which is to run to the right.\n"
     "Lines are how far the candidates think that it gets."},
};

static int show_of(const char *family) {
    int i = (int)(sizeof shows / sizeof *shows) - 1;
    while (i > 0 && strcmp(shows[i].family, family)) i--;
    return i;
}

/* Is a plan already as an arm would have it? */
static bool changes_nothing(int index, const mw_plan_settings *plan) {
    mw_arm arm;
    char *rest = arm.settings, before[MW_NAME], after[MW_NAME];
    mw_arm_at(index, &arm);
    for (char *word; (word = strsep(&rest, " "));) {
        mw_plan_settings changed = *plan;
        char *value = strchr(word, '=');
        *value++ = 0;
        if (mw_plan_settings_set(&changed, word, value, NULL) != MW_OK ||
            mw_plan_settings_get(plan, word, before, sizeof before, NULL) != MW_OK ||
            mw_plan_settings_get(&changed, word, after, sizeof after, NULL) != MW_OK ||
            strcmp(before, after) != 0)
            return false;
    }
    return true;
}

static void print_rows(const shown *s, bool first) {
    char found[512];
    if (first) printf("%-14s %-30s %9s %7s %9s %9s\n", "world", "who plays", "earns", "won", "gain", "ms");
    for (int a = 0; a < MW_ARMS; a++) {
        const mw_eval_report *r = mw_eval_arm(s->result, a);
        if (!r->played) continue;
        printf("%-14s %-30s %9.1f", a ? "" : s->name, mw_cli_arm_words(a),
               isfinite(r->score) ? r->score : r->total);
        if (isfinite(r->won))
            printf(" %6.0f%%", 100 * r->won);
        else
            printf(" %7s", "");
        if (a == MW_ARM_REACTIVE || !isfinite(r->relative_gain))
            printf(" %9s", "");
        else
            printf(" %+8.1f%%", 100 * r->relative_gain);
        if (isfinite(r->decision.p50)) printf(" %9.1f", r->decision.p50);
        putchar('\n');
    }
    mw_cli_found(found, sizeof found, s->name, s->result);
    printf("%s\n\n", found);
    mw_cli_flush();
}

/* ---- the page: one card per bundle ---- */

static const char page_head[] =
    "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
    "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
    "<title>mawam demo</title>\n<style>\n"
    ":root { color-scheme: light dark; }\n"
    "body { font: 16px/1.5 system-ui, sans-serif; max-width: 66rem; margin: 1.5rem auto; padding: 0 1rem; }\n"
    "section { border: 1px solid #8886; border-radius: 12px; padding: 1rem; margin: 1.2rem 0; }\n"
    "h2 { margin: 0 0 .3rem; }\nimg { width: 100%; border-radius: 6px; background: #fff; }\n"
    ".wide { overflow-x: auto; }\ntable { border-collapse: collapse; width: 100%; }\n"
    "td, th { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid #8884; }\n"
    "td:first-child, th:first-child, td:nth-child(2), th:nth-child(2) { text-align: left; }\n"
    "tr.plan td { font-weight: 600; }\n</style>\n</head>\n<body>\n<h1>mawam demo</h1>\n"
    "<p>A policy that was learned from recorded play proposes several joint futures at every step,\n"
    "a learned world model imagines how each would turn out, and the planner takes the first step of\n"
    "the best one. Policy and world model are frozen: all of the difference below is planning.\n"
    "Each arm played the same episodes; they are few, a taste and not a result.</p>\n";

static void write_table(FILE *page, const mw_eval_result *result) {
    const mw_eval_report *plan = mw_eval_arm(result, MW_ARM_PLAN);
    const bool battle = isfinite(plan->won), scaled = isfinite(plan->score);
    fprintf(page,
            "<div class='wide'><table><tr><th>arm<th>who plays<th>%s<th>gain over the policy alone%s"
            "<th>ms per decision\n",
            scaled ? "normalised score" : "return", battle ? "<th>won" : "");
    mw_arm arm;
    for (int a = 0; mw_arm_at(a, &arm); a++) {
        const mw_eval_report *r = mw_eval_arm(result, a);
        if (!r->played) continue;
        fprintf(page, "<tr class='%s'><td>%s<td>%s<td>%.1f<td>", arm.name, arm.name, arm.help,
                scaled ? r->score : r->total);
        if (a != MW_ARM_REACTIVE && isfinite(r->relative_gain))
            fprintf(page, "%+.1f%%", 100 * r->relative_gain);
        if (battle) fprintf(page, "<td>%.0f%%", 100 * r->won);
        fputs("<td>", page);
        if (isfinite(r->decision.p50)) fprintf(page, "%.1f", r->decision.p50);
        fputc('\n', page);
    }
    fputs("</table></div>\n", page);
}

/* Names were checked when the bundles were loaded. */
static mw_status write_index(const char *folder, const shown *list, int count, mw_error *error) {
    char path[4096];
    mw_text text;
    MW_TRY(mw_text_open(&text, error));
    FILE *page = text.stream;
    fputs(page_head, page);
    for (int i = 0; i < count; i++) {
        const shown *s = &list[i];
        const mw_eval_summary about = mw_eval_describe(s->result);
        fprintf(
            page,
            "<section>\n<h2>%s</h2>\n<p>%s</p>\n"
            "<a href='%s.html'><img src='%s.svg' alt='five moments of a planned episode'></a>\n"
            "<p><a href='%s.html'>Play this episode</a>: planned beside the policy alone, with the\n"
            "candidates of every decision, their scores, and what was imagined against what happened.</p>\n",
            s->name, shows[show_of(about.family)].seen, s->name, s->name, s->name);
        write_table(page, s->result);
        fputs("</section>\n", page);
    }
    fputs("<p>How the arms differ: <code>mawam eval --help</code>. With intervals:\n"
          "<code>mawam eval BUNDLE</code>, and for all settings <code>results/</code>.</p>\n"
          "</body>\n</html>\n",
          page);
    MW_TRY(mw_text_close(&text, error));
    snprintf(path, sizeof path, "%s/index.html", folder);
    const mw_status status = mw_file_write(path, text.bytes, text.size, error);
    free(text.bytes);
    return status;
}

/* Another page under the name of ours is not replaced. */
static mw_status refuse_stranger(const char *folder, mw_error *error) {
    char path[4096], head[1024] = "";
    snprintf(path, sizeof path, "%.3900s/index.html", folder);
    FILE *page = fopen(path, "r");
    if (!page) return MW_OK;
    head[fread(head, 1, sizeof head - 1, page)] = 0;
    fclose(page);
    if (strstr(head, "<title>mawam demo</title>")) return MW_OK;
    return mw_fail(error, MW_ERR_ARGUMENT, "'%s' is no page of a demo; -o names another folder", path);
}

/* ---- playing ---- */

static void show_progress(void *context, int arm, long done, long total) {
    mw_progress *progress = context;
    if (done == 0 || strcmp(progress->label, mw_arm_name(arm)))
        mw_progress_start(progress, mw_arm_name(arm), (double)total);
    mw_progress_update(progress, (double)done, "%s", "");
    if (done == total) mw_progress_finish(progress);
}

static mw_status write_pictures(const shown *s, const mw_bundle *bundle, const char *folder,
                                const mw_eval_options *options, mw_error *error) {
    static const char *const kinds[] = {"html", "svg"};
    mw_replay *replay;
    mw_status status = mw_eval_replay(&replay, bundle, options, error);
    for (int i = 0; i < 2 && status == MW_OK; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%.3900s/%s.%s", folder, s->name, kinds[i]);
        status = mw_replay_write(replay, path, error);
    }
    mw_replay_free(replay);
    return status;
}

/* The setting, and a number where an earlier bundle is of the same one: pictures are called so. */
static void name_shown(shown *list, int index, const mw_bundle_summary *about) {
    char *name = list[index].name;
    char number[16];
    snprintf(number, sizeof number, "-%d", index + 1);
    snprintf(name, sizeof list->name - sizeof number, "%s-%s", about->task, about->quality);
    mw_text_clean(name);
    bool taken = false;
    for (int i = 0; i < index; i++) taken = taken || !strcmp(list[i].name, name);
    if (taken) strcat(name, number);
}

static mw_status show(shown *list, int index, const char *path, const char *folder, mw_eval_options options,
                      mw_error *error) {
    shown *s = &list[index];
    mw_bundle *bundle;
    mw_progress progress = {.label = ""};
    mw_env *env = NULL;
    char found[4096];
    MW_TRY(mw_cli_bundle_path(found, sizeof found, path, error));
    MW_TRY(mw_bundle_load(&bundle, found, error));
    mw_bundle_summary about = mw_bundle_describe(bundle);
    name_shown(list, index, &about);
    options.progress = show_progress;
    options.context = &progress;
    mw_plan_settings plan;
    mw_status status = mw_env_create(&env, about.task, NULL, error);
    if (status == MW_OK)
        status = mw_cli_plan(&plan, bundle, options.assignments, options.assignment_count, error);
    if (status == MW_OK) {
        const int row = show_of(mw_env_describe(env)->family);
        options.arms = shows[row].arms;
        if (!options.episodes) options.episodes = shows[row].episodes;
    }
    if (status == MW_OK && changes_nothing(MW_ARM_PAPER, &plan)) options.arms &= ~(1u << MW_ARM_PAPER);
    if (status == MW_OK) status = mw_bundle_evaluate(&s->result, bundle, &options, error);
    if (status == MW_OK) {
        print_rows(s, index == 0);
        status = write_pictures(s, bundle, folder, &options, error);
    }
    mw_env_free(env);
    mw_bundle_free(bundle);
    return status;
}

/* Is every bundle there, and one? Before any of them has played. */
static mw_status check_bundles(const char **bundles, int count, mw_error *error) {
    for (int i = 0; i < count; i++) {
        mw_bundle *bundle;
        char found[4096];
        MW_TRY(mw_cli_bundle_path(found, sizeof found, bundles[i], error));
        MW_TRY(mw_cli_bundle_load_own(&bundle, found, error));
        mw_bundle_free(bundle);
    }
    return MW_OK;
}

/* The shipped bundle of a task's medium setting; NULL: there is none. */
static const char *medium_of(const mw_bundle_list *shipped, const char *task) {
    char name[80];
    snprintf(name, sizeof name, "/%s-medium.safetensors", task);
    for (int i = 0; i < shipped->count; i++) {
        const char *file = strrchr(shipped->paths[i], '/');
        if (file && !strcmp(file, name)) return shipped->paths[i];
    }
    return NULL;
}

/* The rule that the README states: of each family the medium setting with the largest team, the first among
 * equals. Worlds come family by family. A folder without any of these is played whole. */
static mw_status choose(const char **bundles, int *count, const mw_bundle_list *shipped, mw_error *error) {
    char taken[32] = "";
    const char *task;
    int team = 0;
    *count = 0;
    for (int i = 0; (task = mw_env_task(i)) && *count < MAX_BUNDLES; i++) {
        const char *bundle = medium_of(shipped, task);
        if (!bundle) continue;
        mw_env *env;
        MW_TRY(mw_env_create(&env, task, NULL, error));
        const mw_env_info *info = mw_env_describe(env);
        const bool next = strcmp(info->family, taken) != 0;
        if (next) bundles[(*count)++] = bundle;
        if (next || info->agents > team) {
            bundles[*count - 1] = bundle;
            team = info->agents;
        }
        snprintf(taken, sizeof taken, "%s", info->family);
        mw_env_free(env);
    }
    if (*count > 0) return MW_OK;
    for (; *count < shipped->count && *count < MAX_BUNDLES; (*count)++)
        bundles[*count] = shipped->paths[*count];
    return MW_OK;
}

int mw_cli_demo(int argc, char **argv) {
    static shown list[MAX_BUNDLES];
    static mw_bundle_list shipped;
    mw_eval_options o;
    mw_eval_options_init(&o, sizeof o);
    const char *bundles[MAX_BUNDLES], *folder = "demo";
    mw_assignments plan = {0};
    int episodes = 0;
    o.seeds = 1;
    const mw_option options[] = {{"plan", MW_OPT_PLAN, &plan, 0, 0},
                                 {"o", MW_OPT_STRING, &folder, 0, 0},
                                 {"episodes", MW_OPT_INT, &episodes, 1, 100000},
                                 {"seeds", MW_OPT_INT, &o.seeds, 1, 100},
                                 {"threads", MW_OPT_INT, &o.threads, 0, MW_MAX_THREADS},
                                 {NULL, MW_OPT_FLAG, NULL, 0, 0}};
    int count, code = mw_cli_parse(argc, argv, options, help, bundles, MAX_BUNDLES, &count);
    if (code >= 0) return code;
    mw_error error = {0};
    if (count == 0) {
        if (mw_cli_bundles(&shipped, &error) != MW_OK || choose(bundles, &count, &shipped, &error) != MW_OK)
            return mw_cli_fail(&error);
    }
    if (count == 0) return mw_cli_usage("no folder has bundles; name some");
    o.episodes = episodes;
    o.assignments = plan.items;
    o.assignment_count = plan.count;
    o.stop = mw_cli_stop();
    mw_status status = check_bundles(bundles, count, &error);
    if (status == MW_OK) status = mw_dir_make(folder, &error);
    if (status == MW_OK) status = refuse_stranger(folder, &error);
    for (int i = 0; i < count && status == MW_OK; i++) status = show(list, i, bundles[i], folder, o, &error);
    if (status == MW_OK) status = write_index(folder, list, count, &error);
    for (int i = 0; i < count; i++) mw_eval_result_free(list[i].result);
    if (status != MW_OK) return mw_cli_fail(&error);
    printf("\nreplays: %s/index.html\n", folder);
    return 0;
}
