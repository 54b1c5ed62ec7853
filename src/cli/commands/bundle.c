/* mawam bundle: what is in a bundle, for people and programs; and the same bundle in a smaller file. */
#include "cli/table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char info_help[] =
    "usage: mawam bundle info BUNDLE [--json | --csv]\n"
    "\n"
    "The task, its rules and sizes, how the bundle plans by itself, and of every part the number of\n"
    "weights, settings and provenance. BUNDLE is a file, or the name of one that comes with mawam.\n"
    "The checksum is of the weights alone: equal trainings give equal ones.\n"
    "\n"
    "  --json   everything as JSON, the curves of the training included\n"
    "  --csv    the parts and what they were trained on as comma-separated values\n"
    "\n"
    "example: mawam bundle info spread-medium\n";

static json_t *plan_json(const mw_bundle *bundle) {
    const mw_plan_settings plan = mw_bundle_plan(bundle);
    json_t *object = json_object();
    mw_setting_info info;
    for (int i = 0; object && mw_plan_setting_at(i, &info); i++) {
        char value[MW_NAME];
        mw_error error;
        if (mw_plan_settings_get(&plan, info.name, value, sizeof value, &error) != MW_OK ||
            json_object_set_new(object, info.name, json_string(value)) != 0) {
            json_decref(object);
            object = NULL;
        }
    }
    return object;
}

/* A part as its own JSON tells, with the number of its weights; NULL for want of memory. */
static json_t *part_json(const mw_bundle_part_summary *part) {
    json_t *object;
    if (mw_cli_json(&object, part->provenance, part->name, NULL) == MW_OK &&
        json_object_set_new(object, "parameters", json_integer((json_int_t)part->parameters)) == 0)
        return object;
    json_decref(object);
    return NULL;
}

static int print_json(const mw_bundle *bundle) {
    const mw_bundle_summary b = mw_bundle_describe(bundle);
    char weights[17];
    mw_bundle_weights(bundle, weights);
    json_t *parts = json_array();
    for (int i = 0; parts && i < b.parts; i++) {
        const mw_bundle_part_summary part = mw_bundle_part_describe(bundle, i);
        if (json_array_append_new(parts, part_json(&part)) == 0) continue;
        json_decref(parts);
        parts = NULL;
    }
    return mw_cli_print(
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:b, s:i, s:o, s:s, s:i, s:s, s:o}", "task",
                  b.task, "rules", b.rules, "quality", b.quality, "method", b.method, "weights", weights,
                  "agents", b.agents, "obs_size", b.obs_size, "act_size", b.act_size, "discrete", b.discrete,
                  "episode_limit", b.episode_limit, "plan", plan_json(bundle), "return_error_from",
                  b.return_error_from, "packed_bits", b.packed_bits, "packed_of", b.packed_of, "parts",
                  parts),
        10);
}

static mw_status out_of_memory(mw_error *error) {
    return mw_fail(error, MW_ERR_MEMORY, "out of memory for the description of the bundle");
}

/* "name value" pairs of an object's plain members, in lines that fit; texts come from a file. */
static mw_status print_members(const char *label, const json_t *object, mw_error *error) {
    const char *key;
    json_t *value;
    int used = printf("  %-11s", label);
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        if (json_is_object(value)) continue;
        char *text = json_is_string(value)
                         ? strdup(json_string_value(value))
                         : mw_cli_json_text(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
        if (!text) return out_of_memory(error);
        if (*text) {
            char name[MW_NAME];
            snprintf(name, sizeof name, "%s", key);
            mw_text_clean(name);
            mw_text_clean(text);
            if (used + (int)(strlen(name) + strlen(text)) + 2 > 98) used = printf("\n  %-11s", "") - 1;
            used += printf(" %s=%s", name, text);
        }
        free(text);
    }
    putchar('\n');
    return MW_OK;
}

/* The start of a file's text without what would command the terminal; false if there is none. */
static bool clean_text(char *out, size_t size, const json_t *value) {
    const char *text = json_string_value(value);
    snprintf(out, size, "%s", text ? text : "");
    return *mw_text_clean(out);
}

static mw_status print_part(const mw_bundle_part_summary *part, mw_error *error) {
    json_t *all;
    MW_TRY(mw_cli_json(&all, part->provenance, part->name, error));
    const json_t *made = json_object_get(all, "provenance"), *details = json_object_get(made, "details"),
                 *held = json_object_get(details, "held"), *packed = json_object_get(details, "packed");
    printf("\n%s: %zu weights\n", part->name, part->parameters);
    mw_status status = print_members("settings", json_object_get(all, "configuration"), error);
    if (status == MW_OK) status = print_members("provenance", made, error);
    if (status == MW_OK && held) status = print_members("held-out", held, error);
    if (status == MW_OK && packed) status = print_members("packed", packed, error);
    char text[400];
    if (clean_text(text, sizeof text, json_object_get(details, "accepted_in")))
        printf("  trained under other rules than the world %s, accepted\n", text);
    if (clean_text(text, sizeof text, json_object_get(details, "command")))
        mw_cli_wrap(printf("  %-11s ", "command"), 14, text);
    json_decref(all);
    return status;
}

static int print_text(const mw_bundle *bundle) {
    const mw_bundle_summary b = mw_bundle_describe(bundle);
    mw_error error;
    size_t weights = 0;
    for (int i = 0; i < b.parts; i++) weights += mw_bundle_part_describe(bundle, i).parameters;
    printf("%s-%s, rules %s, method %s\n", b.task, b.quality, b.rules, b.method);
    printf("%d agents, %d observation features and %d %s actions each, episodes of at most %d steps\n",
           b.agents, b.obs_size, b.act_size, b.discrete ? "discrete" : "real", b.episode_limit);
    char checksum[17];
    mw_bundle_weights(bundle, checksum);
    printf("%d parts, %zu weights, checksum %s\n", b.parts, weights, checksum);
    if (b.packed_bits)
        printf("larger matrices packed in %d bits per weight, of the bundle %s\n", b.packed_bits,
               b.packed_of);
    json_t *plan = plan_json(bundle);
    mw_status status = plan ? print_members("plan", plan, &error) : out_of_memory(&error);
    json_decref(plan);
    printf("  %-11s return_error %s%s\n", "", *b.return_error_from ? "by " : "is not known",
           b.return_error_from);
    for (int i = 0; i < b.parts && status == MW_OK; i++) {
        const mw_bundle_part_summary part = mw_bundle_part_describe(bundle, i);
        status = print_part(&part, &error);
    }
    return status == MW_OK ? 0 : mw_cli_fail(&error);
}

/* A text member of a part's provenance; "" if it has none. */
static const char *made(const json_t *part, const char *key) {
    const char *text = json_string_value(json_object_get(json_object_get(part, "provenance"), key));
    return text ? text : "";
}

static int print_csv(const mw_bundle *bundle) {
    static const mw_column columns[] = {{"task", NULL, 0, NULL},         {"quality", NULL, 0, NULL},
                                        {"rules", NULL, 0, NULL},        {"part", NULL, 0, NULL},
                                        {"parameters", NULL, 0, "%.0f"}, {"data", NULL, 0, NULL},
                                        {"revision", NULL, 0, NULL},     {NULL, NULL, 0, NULL}};
    const mw_bundle_summary b = mw_bundle_describe(bundle);
    mw_error error;
    mw_table table;
    mw_table_begin(&table, MW_SHOW_CSV, columns);
    for (int i = 0; i < b.parts; i++) {
        const mw_bundle_part_summary part = mw_bundle_part_describe(bundle, i);
        json_t *all;
        if (mw_cli_json(&all, part.provenance, part.name, &error) != MW_OK) return mw_cli_fail(&error);
        mw_table_row(&table, (mw_cell[]){MW_TEXT(b.task), MW_TEXT(b.quality), MW_TEXT(b.rules),
                                         MW_TEXT(part.name), MW_NUMBER(part.parameters),
                                         MW_TEXT(made(all, "data")), MW_TEXT(made(all, "revision"))});
        json_decref(all);
    }
    return mw_table_end(&table);
}

static int bundle_info(int argc, char **argv) {
    const char *name = NULL;
    mw_show show = MW_SHOW_TEXT;
    const mw_option options[] = {{"json", MW_OPT_SHOW, &show, 0, 0},
                                 {"csv", MW_OPT_SHOW, &show, 0, 0},
                                 {NULL, MW_OPT_FLAG, NULL, 0, 0}};
    int count, code = mw_cli_parse(argc, argv, options, info_help, &name, 1, &count);
    if (code >= 0) return code;
    if (count != 1) return mw_cli_usage("name a bundle");
    char path[4096];
    mw_bundle *bundle;
    mw_error error;
    if (mw_cli_bundle_path(path, sizeof path, name, &error) != MW_OK ||
        mw_bundle_load(&bundle, path, &error) != MW_OK)
        return mw_cli_fail(&error);
    code = show == MW_SHOW_JSON  ? print_json(bundle)
           : show == MW_SHOW_CSV ? print_csv(bundle)
                                 : print_text(bundle);
    mw_bundle_free(bundle);
    return code;
}

/* ---- pack ---- */

static const char pack_help[] =
    "usage: mawam bundle pack BUNDLE -o FILE [--bits N] [--overwrite]\n"
    "\n"
    "Writes a bundle with its larger matrices in a few bits per weight and a scale per row, which\n"
    "plays like any other. Half precision takes 16 bits: 8 lose next to nothing, 6 are enough for\n"
    "the bundles that were tried. The new file and every result that is played with it say which\n"
    "bundle it was packed from.\n"
    "\n"
    "  --bits N     4 to 8 (8)\n"
    "  --overwrite  replace a file that is there\n"
    "\n"
    "example: mawam bundle pack mine.safetensors --bits 6 -o small.safetensors\n";

static double megabytes(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 ? (double)info.st_size / 1e6 : 0;
}

static int bundle_pack(int argc, char **argv) {
    const char *name = NULL, *file = NULL;
    int bits = 8;
    bool overwrite = false;
    const mw_option options[] = {{"o", MW_OPT_STRING, &file, 0, 0},
                                 {"bits", MW_OPT_INT, &bits, 4, 8},
                                 {"overwrite", MW_OPT_FLAG, &overwrite, 0, 0},
                                 {NULL, MW_OPT_FLAG, NULL, 0, 0}};
    int count, code = mw_cli_parse(argc, argv, options, pack_help, &name, 1, &count);
    if (code >= 0) return code;
    if (count != 1) return mw_cli_usage("name a bundle");
    if (!file) return mw_cli_usage("-o is missing");
    char path[4096];
    mw_error error;
    if (mw_cli_bundle_path(path, sizeof path, name, &error) != MW_OK ||
        mw_cli_output(file, overwrite, &error) != MW_OK)
        return mw_cli_fail(&error);
    const double before = megabytes(path);
    mw_cli_stop(); /* what takes a moment is written whole */
    if (mw_bundle_pack(path, file, bits, &error) != MW_OK) return mw_cli_fail(&error);
    printf("%s: %.2f MB, packed from %.2f MB\n", file, megabytes(file), before);
    return 0;
}

int mw_cli_bundle(int argc, char **argv) {
    static const mw_command commands[] = {{"info", "parts, sizes, settings and provenance", bundle_info},
                                          {"pack", "the same bundle in a smaller file", bundle_pack},
                                          {NULL, NULL, NULL}};
    static const char help[] = "usage: mawam bundle COMMAND [...]\n"
                               "\n"
                               "example: mawam bundle info spread-medium\n"
                               "\n"
                               "commands:\n";
    return mw_cli_dispatch(commands, help, argc, argv);
}
