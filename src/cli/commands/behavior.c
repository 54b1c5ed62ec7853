/* mawam behavior: learn the policies that collect datasets, measure them. */
#include "cli/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- train ---- */

static const char train_help[] =
    "usage: mawam behavior train TASK [-o DIR] [--seed S] [--steps N] [--set FIELD=VALUE] [--threads N]\n"
    "                            [--prey FILE] [--resume]\n"
    "\n"
    "Learns a policy for the task from scratch and keeps snapshots along the way. DIR (TASK) receives\n"
    "the checkpoint, the learning curve (curve.jsonl, curve.svg) and snapshots/. Ctrl-C saves and exits\n"
    "with 130; --resume continues. The outcome depends on the seed and the preset only.\n"
    "\n"
    "  -o DIR             folder of the run\n"
    "  --seed S           seed (0)\n"
    "  --steps N          environment steps instead of the preset's\n"
    "  --set FIELD=VALUE  overrides a field of the preset; several with commas\n"
    "  --threads N        threads (0: one per core)\n"
    "  --prey FILE        tag, world: a prey network (safetensors) in place of the default prey\n"
    "  --resume           continue the run in DIR, with the preset and seed it was begun with;\n"
    "                     with --steps a finished run goes on\n"
    "\n"
    "examples: mawam behavior train spread -o runs/spread\n"
    "          mawam behavior train 3m --steps 1e6 --set rate=1e-3,entropy=0.02\n";

typedef struct {
    mw_progress progress;
    double said;
} train_display;

static void show_progress(void *context, const mw_learn_report *r, double seconds, long iterations) {
    train_display *display = context;
    mw_progress_update(&display->progress, r->steps, "return %.4g, wins %.2f, kl %.3f", r->episode_return,
                       r->win_rate, r->kl);
    if (display->progress.visible || (seconds - display->said < 10 && r->iteration < iterations)) return;
    display->said = seconds;
    printf(
        "%8.0f s  %11.0f steps  return %9.3f  wins %.3f  length %6.1f  entropy %7.3f  kl %.4f  value %.4f  "
        "std %.3f\n",
        seconds, r->steps, r->episode_return, r->win_rate, r->length, r->entropy, r->kl, r->value_loss,
        r->action_std);
    mw_cli_flush();
}

static mw_status apply_settings(mw_learn_preset *preset, const char *settings, mw_error *error) {
    char one[96];
    while (settings && *settings) {
        size_t length = strcspn(settings, ",");
        snprintf(one, sizeof one, "%.*s", (int)(length < sizeof one ? length : sizeof one - 1), settings);
        MW_TRY(mw_learn_preset_set(preset, one, error));
        settings += length + (settings[length] == ',');
    }
    return MW_OK;
}

static int behavior_train(int argc, char **argv) {
    const char *task = NULL, *folder = NULL, *settings = NULL;
    double steps = 0;
    int count;
    mw_env_options world;
    mw_env_options_init(&world, sizeof world);
    mw_learn_options learn;
    mw_learn_options_init(&learn, sizeof learn);
    const mw_option options[] = {{"o", MW_OPT_STRING, &folder, 0, 0},
                                 {"seed", MW_OPT_U64, &learn.seed, 0, 0},
                                 {"steps", MW_OPT_DOUBLE, &steps, 1, 1e12},
                                 {"set", MW_OPT_STRING, &settings, 0, 0},
                                 {"threads", MW_OPT_INT, &learn.threads, 0, MW_MAX_THREADS},
                                 {"prey", MW_OPT_STRING, &world.prey_file, 0, 0},
                                 {"resume", MW_OPT_FLAG, &learn.resume, 0, 0},
                                 {NULL, MW_OPT_FLAG, NULL, 0, 0}};
    int code = mw_cli_parse(argc, argv, options, train_help, &task, 1, &count);
    if (code >= 0) return code;
    if (count != 1) return mw_cli_usage("name a task; mawam env list shows them");
    mw_env *env;
    mw_error error = {0};
    if (mw_env_create(&env, task, &world, &error) != MW_OK) return mw_cli_refuse(&error);
    mw_env_free(env); /* that there is such a world is all */
    const mw_learn_preset *row = mw_learn_preset_find(task);
    if (!row) return mw_cli_usage("no preset for '%s'", task);
    mw_learn_preset preset = *row;
    if (apply_settings(&preset, settings, &error) != MW_OK) return mw_cli_refuse(&error);
    if (steps > 0) preset.steps = (float)steps;
    train_display display = {0};
    learn.preset = &preset;
    learn.world = &world;
    learn.prolong = (float)steps;
    learn.stop = mw_cli_stop();
    learn.report = show_progress;
    learn.context = &display;
    mw_progress_start(&display.progress, task, (double)preset.steps);
    mw_status status = mw_behavior_learn(task, folder ? folder : task, &learn, &error);
    mw_progress_finish(&display.progress);
    return status == MW_OK ? 0 : mw_cli_fail(&error);
}

/* ---- prey ---- */

static const char prey_help[] =
    "usage: mawam behavior prey TASK [-o DIR] [--rounds R] [--predator-steps N] [--prey-steps N]\n"
    "                           [--seed S] [--version V] [--threads N]\n"
    "\n"
    "Learns a prey for tag or world: in every round predators learn against the last prey (the scripted\n"
    "one at first), then a new prey learns against all predators so far. DIR (TASK-prey) receives a\n"
    "prey file per round. An interrupted recipe continues where it was.\n"
    "\n"
    "  --rounds R          rounds, 1 to 8 (3)\n"
    "  --predator-steps N  environment steps of the predators in a round (1e6)\n"
    "  --prey-steps N      environment steps of the prey in a round (1e6)\n"
    "  --seed S            seed (0)\n"
    "  --version V         version that the prey carries and that becomes part of the rules version (v1)\n"
    "  --threads N         threads (0: one per core)\n"
    "\n"
    "example: mawam behavior prey tag -o runs/tag-prey\n";

static int behavior_prey(int argc, char **argv) {
    const char *task = NULL, *folder = NULL;
    train_display display = {0};
    double predator_steps = 1e6, prey_steps = 1e6;
    mw_prey_options learn;
    mw_prey_options_init(&learn, sizeof learn);
    const mw_option options[] = {{"o", MW_OPT_STRING, &folder, 0, 0},
                                 {"rounds", MW_OPT_INT, &learn.rounds, 1, 8},
                                 {"predator-steps", MW_OPT_DOUBLE, &predator_steps, 1, 1e12},
                                 {"prey-steps", MW_OPT_DOUBLE, &prey_steps, 1, 1e12},
                                 {"seed", MW_OPT_U64, &learn.seed, 0, 0},
                                 {"version", MW_OPT_STRING, &learn.version, 0, 0},
                                 {"threads", MW_OPT_INT, &learn.threads, 0, MW_MAX_THREADS},
                                 {NULL, MW_OPT_FLAG, NULL, 0, 0}};
    int count, code = mw_cli_parse(argc, argv, options, prey_help, &task, 1, &count);
    if (code >= 0) return code;
    if (count != 1) return mw_cli_usage("name a task with a prey: tag, world");
    char own[64];
    snprintf(own, sizeof own, "%.32s-prey", task);
    learn.predator_steps = (float)predator_steps;
    learn.prey_steps = (float)prey_steps;
    learn.stop = mw_cli_stop();
    learn.report = show_progress;
    learn.context = &display;
    mw_error error = {0};
    mw_progress_start(&display.progress, task, 0);
    mw_status status = mw_prey_learn(task, folder ? folder : own, &learn, &error);
    mw_progress_finish(&display.progress);
    return status == MW_OK ? 0 : mw_cli_refuse(&error);
}

/* ---- list ---- */

static const char list_help[] =
    "usage: mawam behavior list [TASK] [--episodes N] [--seed S] [--threads N] [--behaviors DIR]\n"
    "                           [--json | --csv | --markdown]\n"
    "\n"
    "The settings (task-quality) with the policies that collect their data. With --episodes they are\n"
    "played, and mean return, standard deviation over episodes, score, win rate and length are shown.\n"
    "\n"
    "  --episodes N     episodes of each setting (0: only what the files say)\n"
    "  --seed S         seed of the episodes (0)\n"
    "  --threads N      threads (0: one per core)\n"
    "  --behaviors DIR  behaviour files (those of $MAWAM_DATA, or that came with mawam)\n"
    "  --json, --csv    as JSON, or as comma-separated values\n"
    "  --markdown       as a table for documents\n"
    "\n"
    "example: mawam behavior list spread --episodes 1000\n";

typedef struct {
    const char *task, *behaviors;
    mw_measure_options play;
    mw_table table;
} list_request;

static const mw_column list_columns[] = {{"setting", "setting", -20, NULL},
                                         {"policies", "policies", 8, "%.0f"},
                                         {"learning_steps", "learning", 9, "%.0f"},
                                         {"noise", "noise", 5, "%g"},
                                         {"episodes", NULL, 0, "%.0f"},
                                         {"return", "return", 8, "%.2f"},
                                         {"std", "std", 7, "%.2f"},
                                         {"score", "score", 6, "%.1f"},
                                         {"wins", "wins", 5, "%.3f"},
                                         {"length", "length", 6, "%.1f"},
                                         {"wanted_score", "wanted", -16, NULL},
                                         {NULL, NULL, 0, NULL}};

static void list_row(list_request *r, const mw_setting *s, const mw_behavior_summary *b,
                     const mw_measure *m) {
    char name[64], wanted[64];
    const bool played = r->play.episodes > 0;
    mw_setting_name(s, name, sizeof name);
    if (s->high > 1e6)
        snprintf(wanted, sizeof wanted, ">= %g", s->low);
    else
        snprintf(wanted, sizeof wanted, "%g to %g", s->low, s->high);
    if (s->least_wins > 0)
        snprintf(wanted + strlen(wanted), sizeof wanted - strlen(wanted), ", wins >= %g", s->least_wins);
    mw_table_row(&r->table, (mw_cell[]){MW_TEXT(name), MW_NUMBER(b ? b->count : 0),
                                        MW_NUMBER(b ? b->steps[b->count - 1] : NAN),
                                        MW_NUMBER(b ? b->noise : 1), MW_NUMBER(m->episodes),
                                        MW_NUMBER(played ? m->mean : NAN), MW_NUMBER(played ? m->std : NAN),
                                        MW_NUMBER(played ? mw_score(s->task, m->mean) : NAN),
                                        MW_NUMBER(played ? m->win_rate : NAN),
                                        MW_NUMBER(played ? m->length : NAN), MW_TEXT(wanted)});
}

static mw_status list_one(list_request *r, const mw_setting *s, mw_error *error) {
    char path[512];
    mw_behavior_summary behavior;
    mw_measure m = {0};
    const bool has_file = s->kind != MW_TIER_RANDOM;
    if (has_file) MW_TRY(mw_behavior_path(path, sizeof path, r->behaviors, s, error));
    if (has_file) MW_TRY(mw_behavior_describe(&behavior, path, error));
    if (r->play.episodes > 0) MW_TRY(mw_behavior_play(s->task, has_file ? path : NULL, &r->play, &m, error));
    list_row(r, s, has_file ? &behavior : NULL, &m);
    return MW_OK;
}

static bool has_settings(const char *task) {
    const mw_setting *s;
    for (int i = 0; (s = mw_setting_at(i)); i++)
        if (!strcmp(task, s->task)) return true;
    return false;
}

static int behavior_list(int argc, char **argv) {
    list_request request = {0};
    mw_show show = MW_SHOW_TEXT;
    mw_measure_options_init(&request.play, sizeof request.play);
    request.play.episodes = 0;
    const mw_option options[] = {{"episodes", MW_OPT_INT, &request.play.episodes, 0, 1e7},
                                 {"markdown", MW_OPT_SHOW, &show, 0, 0},
                                 {"json", MW_OPT_SHOW, &show, 0, 0},
                                 {"csv", MW_OPT_SHOW, &show, 0, 0},
                                 {"seed", MW_OPT_U64, &request.play.seed, 0, 0},
                                 {"threads", MW_OPT_INT, &request.play.threads, 0, MW_MAX_THREADS},
                                 {"behaviors", MW_OPT_STRING, &request.behaviors, 0, 0},
                                 {NULL, MW_OPT_FLAG, NULL, 0, 0}};
    int count, code = mw_cli_parse(argc, argv, options, list_help, &request.task, 1, &count);
    if (code >= 0) return code;
    if (request.task && !has_settings(request.task))
        return mw_cli_usage("there is no task '%s'; mawam env list shows them", request.task);
    mw_error error = {0};
    const mw_setting *s;
    mw_table_begin(&request.table, show, list_columns);
    for (int i = 0; (s = mw_setting_at(i)); i++) {
        if (request.task && strcmp(request.task, s->task)) continue;
        if (list_one(&request, s, &error) != MW_OK) mw_cli_fail(&error);
    }
    if (show == MW_SHOW_TEXT && request.play.episodes)
        printf("%d episodes of each; std: over episodes; several policies play whole turns\n",
               request.play.episodes);
    code = mw_table_end(&request.table);
    return error.status == MW_OK ? code : 1;
}

/* ---- eval ---- */

static const char eval_help[] =
    "usage: mawam behavior eval FILE... [--episodes N] [--seed S] [--threads N] [--noise X] [--prey FILE]\n"
    "                           [--json | --csv]\n"
    "\n"
    "Plays behaviour files in their task and prints mean return, standard deviation over episodes, range,\n"
    "win rate and length. FILE may be the name of one that comes with mawam (spread-medium).\n"
    "\n"
    "  --episodes N  episodes of each file (200)\n"
    "  --seed S      seed of the episodes (0)\n"
    "  --threads N   threads (0: one per core)\n"
    "  --noise X     exploration noise instead of the file's own\n"
    "  --prey FILE   tag, world: a prey network in place of the default prey\n"
    "  --json, --csv as JSON, or as comma-separated values\n"
    "\n"
    "example: mawam behavior eval runs/spread/snapshots/*\n";

enum { MOST_FILES = 512 };

static int behavior_eval(int argc, char **argv) {
    static const char *files[MOST_FILES];
    static const mw_column columns[] = {{"return", "return", 9, "%.3f"}, {"std", "std", 8, "%.3f"},
                                        {"least", "least", 9, "%.3f"},   {"most", "most", 9, "%.3f"},
                                        {"wins", "wins", 5, "%.3f"},     {"length", "length", 6, "%.1f"},
                                        {"noise", "noise", 5, "%.3f"},   {"episodes", "episodes", 8, "%.0f"},
                                        {"file", "file", -20, NULL},     {NULL, NULL, 0, NULL}};
    mw_show show = MW_SHOW_TEXT;
    mw_table table;
    int count;
    mw_env_options world;
    mw_env_options_init(&world, sizeof world);
    mw_measure_options play;
    mw_measure_options_init(&play, sizeof play);
    play.world = &world;
    const mw_option options[] = {{"episodes", MW_OPT_INT, &play.episodes, 1, 1e8},
                                 {"seed", MW_OPT_U64, &play.seed, 0, 0},
                                 {"threads", MW_OPT_INT, &play.threads, 0, MW_MAX_THREADS},
                                 {"noise", MW_OPT_DOUBLE, &play.noise, 0, 10},
                                 {"prey", MW_OPT_STRING, &world.prey_file, 0, 0},
                                 {"json", MW_OPT_SHOW, &show, 0, 0},
                                 {"csv", MW_OPT_SHOW, &show, 0, 0},
                                 {NULL, MW_OPT_FLAG, NULL, 0, 0}};
    int code = mw_cli_parse(argc, argv, options, eval_help, files, MOST_FILES, &count);
    if (code >= 0) return code;
    if (count < 1) return mw_cli_usage("name a behaviour file");
    mw_table_begin(&table, show, columns);
    for (int i = 0; i < count; i++) {
        mw_error error = {0};
        mw_behavior_summary behavior;
        mw_measure m;
        char path[4096];
        if (mw_cli_behavior_path(path, sizeof path, files[i], &error) != MW_OK ||
            mw_behavior_describe(&behavior, path, &error) != MW_OK ||
            mw_behavior_play(behavior.task, path, &play, &m, &error) != MW_OK) {
            mw_table_drop(&table);
            return mw_cli_fail(&error);
        }
        mw_table_row(&table, (mw_cell[]){MW_NUMBER(m.mean), MW_NUMBER(m.std), MW_NUMBER(m.least),
                                         MW_NUMBER(m.most), MW_NUMBER(m.win_rate), MW_NUMBER(m.length),
                                         MW_NUMBER(play.noise >= 0 ? play.noise : (double)behavior.noise),
                                         MW_NUMBER(m.episodes), MW_TEXT(files[i])});
    }
    return mw_table_end(&table);
}

/* ---- pick ---- */

static const char pick_help[] =
    "usage: mawam behavior pick TASK RUN [-o DIR] [--episodes N] [--seed S] [--threads N] [--prey FILE]\n"
    "                           [--every K] [--overwrite]\n"
    "\n"
    "Measures every snapshot of a learning run with the noise of the datasets and writes the behaviour\n"
    "files of the task's qualities to DIR (behaviors).\n"
    "\n"
    "  --episodes N  episodes per snapshot (200); likely candidates are measured again with four times\n"
    "                as many\n"
    "  --overwrite   replace behaviour files that are there\n"
    "  --every K     looks at every K-th snapshot (1)\n"
    "  --seed S      seed of the episodes (0)\n"
    "  --threads N   threads (0: one per core)\n"
    "  --prey FILE   tag, world: a prey network in place of the default prey\n"
    "\n"
    "example: mawam behavior pick spread runs/spread -o tiers\n";

static void show_pick(void *context, const mw_setting *setting, double steps, const mw_measure *m) {
    const char *task = context;
    const double score = mw_score(task, m->mean);
    const bool inside =
        setting && score >= setting->low && score <= setting->high && m->win_rate >= setting->least_wins;
    printf("%-14s %11.0f steps  return %9.3f +- %8.3f  score %8.1f  wins %.3f  length %6.1f%s\n",
           setting ? setting->quality : "", steps, m->mean, m->std, score, m->win_rate, m->length,
           !setting ? ""
           : inside ? "  in range"
                    : "  OUT OF RANGE");
    mw_cli_flush();
}

/* The files that will be written, before the long work. */
static mw_status check_files(const char *task, const char *folder, bool overwrite, mw_error *error) {
    const mw_setting *s;
    for (int i = 0; (s = mw_setting_at(i)); i++) {
        char path[600], name[64];
        if (strcmp(s->task, task) || s->kind == MW_TIER_RANDOM) continue;
        mw_setting_name(s, name, sizeof name);
        snprintf(path, sizeof path, "%.400s/%s.safetensors", folder, name);
        if (overwrite || access(path, F_OK) != 0) continue;
        return mw_fail(error, MW_ERR_ARGUMENT, "'%s' is there already; --overwrite replaces it", path);
    }
    return MW_OK;
}

static int behavior_pick(int argc, char **argv) {
    const char *words[2] = {NULL, NULL}, *folder = "behaviors";
    bool overwrite = false;
    mw_env_options world;
    mw_env_options_init(&world, sizeof world);
    mw_pick_options pick;
    mw_pick_options_init(&pick, sizeof pick);
    const mw_option options[] = {{"o", MW_OPT_STRING, &folder, 0, 0},
                                 {"episodes", MW_OPT_INT, &pick.episodes, 1, 1e7},
                                 {"overwrite", MW_OPT_FLAG, &overwrite, 0, 0},
                                 {"every", MW_OPT_INT, &pick.every, 1, 1e6},
                                 {"seed", MW_OPT_U64, &pick.seed, 0, 0},
                                 {"threads", MW_OPT_INT, &pick.threads, 0, MW_MAX_THREADS},
                                 {"prey", MW_OPT_STRING, &world.prey_file, 0, 0},
                                 {NULL, MW_OPT_FLAG, NULL, 0, 0}};
    int count, code = mw_cli_parse(argc, argv, options, pick_help, words, 2, &count);
    if (code >= 0) return code;
    if (count != 2) return mw_cli_usage("name a task and the folder of a run");
    pick.world = &world;
    pick.report = show_pick;
    pick.context = (void *)words[0];
    pick.stop = mw_cli_stop();
    mw_error error = {0};
    if (check_files(words[0], folder, overwrite, &error) != MW_OK) return mw_cli_fail(&error);
    mw_status status = mw_behavior_pick(words[0], words[1], folder, &pick, &error);
    return status == MW_OK ? 0 : mw_cli_fail(&error);
}

/* ---- embed ---- */

static const char embed_help[] =
    "usage: mawam behavior embed FILE... -o prey_weights.c [--overwrite]\n"
    "\n"
    "Writes prey networks as C source: the frozen preys of the library. The default worlds, and with\n"
    "them their rules versions, change when the library is built with it.\n"
    "\n"
    "example: mawam behavior embed behaviors/prey-*.safetensors -o src/env/mpe/prey_weights.c --overwrite\n";

static int behavior_embed(int argc, char **argv) {
    const char *files[8], *path = NULL;
    bool overwrite = false;
    const mw_option options[] = {{"o", MW_OPT_STRING, &path, 0, 0},
                                 {"overwrite", MW_OPT_FLAG, &overwrite, 0, 0},
                                 {NULL, MW_OPT_FLAG, NULL, 0, 0}};
    int count, code = mw_cli_parse(argc, argv, options, embed_help, files, 8, &count);
    if (code >= 0) return code;
    if (count < 1 || !path) return mw_cli_usage("name prey files and, with -o, the C file");
    mw_cli_stop(); /* what takes a moment is written whole */
    mw_error error = {0};
    if (mw_cli_output(path, overwrite, &error) != MW_OK) return mw_cli_fail(&error);
    return mw_prey_embed(files, count, path, &error) == MW_OK ? 0 : mw_cli_fail(&error);
}

int mw_cli_behavior(int argc, char **argv) {
    static const mw_command commands[] = {
        {"list", "the settings and the policies that collect their data", behavior_list},
        {"train", "learn a policy from scratch", behavior_train},
        {"prey", "learn the prey of tag or world", behavior_prey},
        {"pick", "choose the tiers of a task among the snapshots of a run", behavior_pick},
        {"embed", "write prey networks as C source", behavior_embed},
        {"eval", "measure behaviour files", behavior_eval},
        {NULL, NULL, NULL},
    };
    static const char help[] =
        "usage: mawam behavior COMMAND [...]      mawam behavior COMMAND --help for each\n"
        "\n"
        "examples: mawam behavior list spread\n"
        "          mawam behavior eval spread-medium\n"
        "\n"
        "commands:\n";
    return mw_cli_dispatch(commands, help, argc, argv);
}
