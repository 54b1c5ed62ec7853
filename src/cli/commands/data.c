/* mawam data: datasets on disk: what is in them, whether they are sound, bringing others in and taking ours
 * out. Making them is in data_make.c. */
#include "cli/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The world of a built-in task; *env is NULL if the name is not one. world may be NULL. */
static mw_status find_task(const char *task, const mw_env_options *world, mw_env **env, mw_error *error) {
    const char *name;
    *env = NULL;
    for (int i = 0; (name = mw_env_task(i)); i++)
        if (!strcmp(name, task)) return mw_env_create(env, task, world, error);
    return MW_OK;
}

/* Names of the observation features of a dataset of a built-in task, to be freed; NULL for others. */
static mw_status find_features(const mw_dataset *dataset, mw_feature **features, mw_error *error) {
    const mw_dataset_spec spec = mw_dataset_describe(dataset).spec;
    mw_env *env;
    *features = NULL;
    MW_TRY(find_task(spec.task, NULL, &env, error));
    mw_status status = MW_OK;
    if (env && mw_env_describe(env)->obs_size == spec.obs_size) {
        *features = calloc((size_t)spec.obs_size, sizeof **features);
        if (!*features) status = mw_fail(error, MW_ERR_MEMORY, "out of memory for the features' names");
        for (int f = 0; *features && f < spec.obs_size; f++) mw_env_feature(env, f, *features + f);
    }
    mw_env_free(env);
    return status;
}

/* What training will not take, or is hardly meant, said when the data come in and not when they are needed.
 */
static void warn_of(const char *folder, const mw_dataset *dataset) {
    char remark[200], text[600];
    if (!mw_dataset_remark(dataset, remark, sizeof remark)) return;
    mw_cli_flush(); /* what stands before it */
    snprintf(text, sizeof text, "%.390s: %s", folder, remark);
    mw_cli_message(NULL, MW_LOG_WARNING, text);
}

/* ---- info ---------------------------------------------------------------------------------------------- */

static const char info_help[] =
    "usage: mawam data info DIR [--svg FILE [--overwrite]] [--json | --csv]\n"
    "\n"
    "What a dataset holds: where it comes from, sizes, the distribution of returns, the\n"
    "range of every observation feature (dead ones are marked), and how the actions are\n"
    "spread. Returns are sums over steps of the mean reward of the agents.\n"
    "\n"
    "  --svg FILE   also draw the histogram of returns\n"
    "  --overwrite  replace a drawing that is there\n"
    "  --json       print everything as JSON instead\n"
    "  --csv        print the features and actions as comma-separated values instead\n"
    "\n"
    "examples: mawam data info data/spread-medium\n"
    "          mawam data info data/spread-medium --svg returns.svg\n";

static double number_of(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static void csv_rows(mw_table *table, const char *kind, const json_t *list) {
    json_t *item;
    size_t i;
    json_array_foreach((json_t *)(uintptr_t)list, i, item)
        mw_table_row(table, (mw_cell[]){MW_TEXT(kind), MW_NUMBER(i),
                                        MW_TEXT(json_string_value(json_object_get(item, "name"))),
                                        MW_NUMBER(number_of(item, "low")), MW_NUMBER(number_of(item, "high")),
                                        MW_NUMBER(number_of(item, "mean")), MW_NUMBER(number_of(item, "std")),
                                        MW_NUMBER(number_of(item, "step_change"))});
}

/* The tables of the report's own JSON. */
static mw_status info_csv(const mw_data_report *report, mw_error *error) {
    static const mw_column columns[] = {
        {"kind", NULL, 0, NULL}, {"index", NULL, 0, "%.0f"},     {"name", NULL, 0, NULL},
        {"low", NULL, 0, "%g"},  {"high", NULL, 0, "%g"},        {"mean", NULL, 0, "%g"},
        {"std", NULL, 0, "%g"},  {"step_change", NULL, 0, "%g"}, {NULL, NULL, 0, NULL}};
    mw_text text;
    MW_TRY(mw_text_open(&text, error));
    mw_status status = mw_data_report_json(report, text.stream, error);
    const mw_status closed = mw_text_close(&text, status == MW_OK ? error : NULL);
    if (status == MW_OK) status = closed;
    json_t *root = NULL;
    if (status == MW_OK) status = mw_cli_json(&root, text.bytes, "the report", error);
    mw_table table;
    if (status == MW_OK) {
        mw_table_begin(&table, MW_SHOW_CSV, columns);
        csv_rows(&table, "feature", json_object_get(root, "features"));
        csv_rows(&table, "action", json_object_get(root, "actions"));
    }
    json_decref(root);
    free(text.bytes);
    return status;
}

static int data_info(int argc, char **argv) {
    const char *folder, *svg = NULL;
    mw_show show = MW_SHOW_TEXT;
    bool overwrite = false;
    const mw_option options[] = {{"svg", MW_OPT_STRING, &svg, 0, 0},
                                 {"json", MW_OPT_SHOW, &show, 0, 0},
                                 {"csv", MW_OPT_SHOW, &show, 0, 0},
                                 {"overwrite", MW_OPT_FLAG, &overwrite, 0, 0},
                                 {NULL, MW_OPT_FLAG, NULL, 0, 0}};
    int count, code = mw_cli_parse(argc, argv, options, info_help, &folder, 1, &count);
    if (code >= 0) return code;
    if (count < 1) return mw_cli_usage("name a dataset's folder");
    mw_error error;
    mw_dataset *dataset = NULL;
    mw_feature *features = NULL;
    mw_data_report *report = NULL;
    mw_status status = mw_cli_output(svg, overwrite, &error);
    if (status == MW_OK) status = mw_dataset_load(&dataset, folder, &error);
    if (status == MW_OK) status = mw_dataset_check(dataset, &error);
    if (status == MW_OK) status = find_features(dataset, &features, &error);
    if (status == MW_OK) status = mw_data_report_create(&report, dataset, features, &error);
    if (svg) mw_cli_stop(); /* what takes a moment is written whole */
    if (status == MW_OK && svg) status = mw_data_report_svg(report, svg, &error);
    if (status == MW_OK && show == MW_SHOW_JSON)
        status = mw_data_report_json(report, stdout, &error);
    else if (status == MW_OK && show == MW_SHOW_CSV)
        status = info_csv(report, &error);
    else if (status == MW_OK)
        mw_data_report_text(report, stdout);
    mw_data_report_free(report);
    free(features);
    mw_dataset_free(dataset);
    return status == MW_OK ? 0 : mw_cli_fail(&error);
}

/* ---- check --------------------------------------------------------------------------------------------- */

static const char check_help[] =
    "usage: mawam data check DIR...\n"
    "\n"
    "Reads everything: the description, shapes and types of all columns, lengths that add\n"
    "up, finite numbers, discrete actions in range and legal, the checksum of every column,\n"
    "and, for data of a built-in task that was made here, the version of that task's rules.\n"
    "Names the first file and place that is wrong and exits 1. Warns of actions that training does not\n"
    "take, or that are hardly meant.\n"
    "\n"
    "example: mawam data check data/spread-medium data/3m-good\n";

static mw_status check_one(const char *folder, mw_error *error) {
    mw_dataset *dataset;
    mw_env *env = NULL;
    MW_TRY(mw_dataset_load(&dataset, folder, error));
    const mw_dataset_summary d = mw_dataset_describe(dataset);
    mw_status status = find_task(d.spec.task, NULL, &env, error);
    const bool known = env != NULL;
    if (status == MW_OK && known) status = mw_dataset_expect(dataset, mw_env_describe(env), error);
    if (status == MW_OK) status = mw_dataset_check(dataset, error);
    if (status == MW_OK)
        printf("%s: ok: %ld episodes, %ld steps, task %s, rules %s%s\n", folder, d.episodes, d.steps,
               d.spec.task, d.spec.rules,
               d.imported ? " (imported: no simulator is assumed)"
               : known    ? ""
                          : " (not a built-in task: rules not compared)");
    if (status == MW_OK) warn_of(folder, dataset);
    mw_env_free(env);
    mw_dataset_free(dataset);
    return status;
}

static int data_check(int argc, char **argv) {
    enum { MOST = 64 };
    const char *folders[MOST];
    const mw_option options[] = {{NULL, MW_OPT_FLAG, NULL, 0, 0}};
    int count, code = mw_cli_parse(argc, argv, options, check_help, folders, MOST, &count);
    if (code >= 0) return code;
    if (count < 1) return mw_cli_usage("name a dataset's folder");
    int result = 0;
    for (int i = 0; i < count; i++) {
        mw_error error;
        if (check_one(folders[i], &error) != MW_OK) result = mw_cli_fail(&error);
    }
    return result;
}

/* ---- import -------------------------------------------------------------------------------------------- */

static const char import_help[] =
    "usage: mawam data import --from omar|madiff|hdf5 SRC -o DIR --task TASK [options]\n"
    "\n"
    "Turns data of others into a dataset. TASK is a built-in task (whose sizes the data\n"
    "must have) or any name of your own. Data of ours that was exported keeps its rules; other\n"
    "data is of unknown rules unless --rules says which ones.\n"
    "\n"
    "  --from omar     SRC/seed_*_data/{obs,acs,rews,next_obs,dones}_<agent>.npy, or one such folder\n"
    "  --from madiff   SRC/{obs,actions,rewards,path_lengths[,legals,discounts,last_obs,outcomes]}.npy\n"
    "  --from hdf5     a file (or Minari folder) of episode_<i> groups with observations, actions,\n"
    "                  rewards, terminations[, infos/legal_actions], each per agent or as one array\n"
    "\n"
    "  -o DIR             where to write; must not exist\n"
    "  --quality NAME     recorded in the description: expert, medium, ...\n"
    "  --agents N         use the first N agents' files (omar), or insist on N (others)\n"
    "  --actions N        number of discrete actions, where the source does not tell\n"
    "  --episode-limit N  longest episode (default: the task's, or the longest there is);\n"
    "                     needed for omar files of tasks that are not built in\n"
    "  --rules NAME       the data's world followed these rules. For a built-in task they must be those\n"
    "                     that mawam env describe shows; a sample of transitions is replayed in our world\n"
    "                     where observations hold its state, and at least half of them must agree\n"
    "  --prey FILE        tag, world: the prey of that world\n"
    "  --overwrite        replace a dataset that is there\n"
    "\n"
    "examples: mawam data import --from omar omar/simple_spread/medium -o data/spread-omar --task spread\n"
    "          mawam data import --from madiff smac/3m/Good -o data/3m-og --task 3m --quality good\n"
    "          mawam data import --from hdf5 mine.h5 -o data/mine --task warehouse\n";

static bool known_layout(const char *from) {
    const char *layout;
    for (int i = 0; (layout = mw_import_layout(i)); i++)
        if (!strcmp(layout, from)) return true;
    return false;
}

static void print_import(const char *folder, const mw_import_report *report) {
    printf("%s: %ld episodes, %ld steps\n", folder, report->episodes, report->steps);
    if (report->dropped) printf("left out: %ld steps after the last end of an episode\n", report->dropped);
    if (report->jumps)
        printf("cut: at %ld places where the next observation is not the one that follows\n", report->jumps);
    if (report->padded) printf("filled up: observations of agents that have fewer features, with zeros\n");
    if (report->changed)
        printf("rules: not taken over, for the values are not known to be those that were exported\n");
    if (report->all_legal) printf("assumed: every action is always legal (the source does not say)\n");
}

static mw_status look_at_import(const char *folder, const mw_import_report *report, mw_error *error) {
    mw_dataset *dataset;
    print_import(folder, report);
    MW_TRY(mw_dataset_load(&dataset, folder, error));
    warn_of(folder, dataset);
    mw_dataset_free(dataset);
    return MW_OK;
}

enum { REPLAYED = 1000 };

/* Replays a sample where there is a world of ours, says how it went, and declares the rules. */
static mw_status declare_rules(const char *folder, const char *rules, const mw_env *env,
                               const mw_env_options *world, mw_error *error) {
    mw_dataset *dataset;
    mw_rules_report r = {0};
    char text[200] = "rules as declared; no world of ours to compare with";
    if (env) {
        MW_TRY(mw_dataset_load(&dataset, folder, error));
        const mw_status status = mw_dataset_replay(dataset, world, REPLAYED, &r, error);
        mw_dataset_free(dataset);
        MW_TRY(status);
        if (r.compared)
            snprintf(text, sizeof text,
                     "%ld of %ld replayed transitions agree with our world; largest differences: "
                     "observation %.2g, reward %.2g",
                     r.agreed, r.compared, r.worst_obs, r.worst_reward);
        else
            snprintf(text, sizeof text,
                     "transitions cannot be replayed: observations do not hold the state; %ld of %ld values "
                     "are out of range",
                     r.outside, r.values);
        if (2 * r.agreed < r.compared || 2 * r.outside > r.values)
            return mw_fail(error, MW_ERR_MISMATCH,
                           "%s: not of rules %s: %s; it stays imported under its own rules, which train and "
                           "eval take with --accept-rules",
                           folder, rules, text);
    }
    MW_TRY(mw_dataset_declare(folder, rules, text, error));
    printf("rules: %s: %s\n", rules, text);
    return MW_OK;
}

static int data_import(int argc, char **argv) {
    mw_import_options request;
    mw_import_options_init(&request, sizeof request);
    mw_env_options world;
    mw_env_options_init(&world, sizeof world);
    const char *from = NULL, *source = NULL, *folder = NULL, *task = NULL, *rules = NULL;
    const mw_option options[] = {{"from", MW_OPT_STRING, &from, 0, 0},
                                 {"o", MW_OPT_STRING, &folder, 0, 0},
                                 {"task", MW_OPT_STRING, &task, 0, 0},
                                 {"quality", MW_OPT_STRING, &request.quality, 0, 0},
                                 {"agents", MW_OPT_INT, &request.agents, 1, 1024},
                                 {"actions", MW_OPT_INT, &request.act_size, 1, 1 << 20},
                                 {"episode-limit", MW_OPT_INT, &request.episode_limit, 1, 1000000000},
                                 {"rules", MW_OPT_STRING, &rules, 0, 0},
                                 {"prey", MW_OPT_STRING, &world.prey_file, 0, 0},
                                 {"overwrite", MW_OPT_FLAG, &request.overwrite, 0, 0},
                                 {NULL, MW_OPT_FLAG, NULL, 0, 0}};
    int count, code = mw_cli_parse(argc, argv, options, import_help, &source, 1, &count);
    if (code >= 0) return code;
    if (count < 1) return mw_cli_usage("name the source");
    if (!from || !folder || !task)
        return mw_cli_usage("%s is missing", !from ? "--from" : !folder ? "-o" : "--task");
    if (!known_layout(from)) return mw_cli_usage("--from must be omar, madiff or hdf5, not '%s'", from);
    const char *quality = request.quality && *request.quality ? request.quality : NULL,
               *const names[][2] = {{"task", task}, {"quality", quality}, {"rules", rules}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i][1] && !mw_dataset_name_allowed(names[i][1])) /* before anything is read or replaced */
            return mw_cli_usage("--%s must have 1 to 63 letters, digits or any of _.:+-, not '%s'",
                                names[i][0], names[i][1]);
    mw_env *env;
    mw_error error;
    mw_import_report report;
    mw_status status = find_task(task, &world, &env, &error);
    if (env) request.info = mw_env_describe(env);
    if (status == MW_OK && rules && env && strcmp(rules, request.info->rules)) {
        code = mw_cli_usage("--rules %s: this program's world of '%s' has rules %s", rules, task,
                            request.info->rules);
        mw_env_free(env);
        return code;
    }
    char *command = mw_cli_command("data", argc, argv);
    request.command = command;
    request.stop = mw_cli_stop();
    if (status == MW_OK && !command) status = mw_fail(&error, MW_ERR_MEMORY, "out of memory for the command");
    if (status == MW_OK) status = mw_dataset_import(from, source, folder, task, &request, &report, &error);
    if (status == MW_OK) status = look_at_import(folder, &report, &error);
    if (status == MW_OK && rules) status = declare_rules(folder, rules, env, &world, &error);
    free(command);
    mw_env_free(env);
    return status == MW_OK ? 0 : mw_cli_fail(&error);
}

/* ---- export -------------------------------------------------------------------------------------------- */

static const char export_help[] =
    "usage: mawam data export --to hdf5 DIR -o FILE [--overwrite]\n"
    "\n"
    "Writes a dataset as one HDF5 file in Minari's layout: episode_<i> groups with\n"
    "observations/agent_<k>, actions/agent_<k>, rewards, terminations, truncations and,\n"
    "for discrete actions, infos/legal_actions/agent_<k>. (For NumPy nothing needs\n"
    "exporting: the columns of a dataset are .npy files.)\n"
    "\n"
    "example: mawam data export --to hdf5 data/spread-medium -o spread-medium.h5\n";

static int data_export(int argc, char **argv) {
    const char *folder, *to = NULL, *file = NULL;
    mw_export_options request;
    mw_export_options_init(&request, sizeof request);
    const mw_option options[] = {{"to", MW_OPT_STRING, &to, 0, 0},
                                 {"o", MW_OPT_STRING, &file, 0, 0},
                                 {"overwrite", MW_OPT_FLAG, &request.overwrite, 0, 0},
                                 {NULL, MW_OPT_FLAG, NULL, 0, 0}};
    int count, code = mw_cli_parse(argc, argv, options, export_help, &folder, 1, &count);
    if (code >= 0) return code;
    if (count < 1) return mw_cli_usage("name a dataset's folder");
    if (!to || !file) return mw_cli_usage("%s is missing", !to ? "--to" : "-o");
    if (strcmp(to, "hdf5") != 0) return mw_cli_usage("--to must be hdf5, not '%s'", to);
    mw_error error;
    mw_dataset *dataset;
    if (mw_dataset_load(&dataset, folder, &error) != MW_OK) return mw_cli_fail(&error);
    const mw_dataset_summary d = mw_dataset_describe(dataset);
    mw_status status = mw_dataset_check(dataset, &error);
    request.stop = mw_cli_stop();
    if (status == MW_OK) status = mw_export_hdf5(dataset, file, &request, &error);
    if (status == MW_OK) printf("%s: %ld episodes, %ld steps\n", file, d.episodes, d.steps);
    mw_dataset_free(dataset);
    return status == MW_OK ? 0 : mw_cli_fail(&error);
}

/* ---- dispatch ------------------------------------------------------------------------------------------ */

static const mw_command commands[] = {
    {"make", "play behaviours and record a dataset", mw_cli_data_make},
    {"info", "what a dataset holds", data_info},
    {"check", "read everything and name what is wrong", data_check},
    {"import", "turn OMAR, MADiff or HDF5 data into a dataset", data_import},
    {"export", "write a dataset as HDF5", data_export},
    {NULL, NULL, NULL},
};

static const char help[] =
    "usage: mawam data COMMAND [...]       mawam data COMMAND --help for each\n"
    "\n"
    "Datasets: folders of .npy columns with a description. docs/data.md has the layout.\n"
    "\n"
    "example: mawam data check data/spread-medium && mawam data info data/spread-medium\n"
    "\n"
    "commands:\n";

int mw_cli_data(int argc, char **argv) {
    return mw_cli_dispatch(commands, help, argc, argv);
}
