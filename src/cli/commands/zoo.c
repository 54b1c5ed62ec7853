/* mawam zoo: the bundles that come with mawam, with what is known of how well they play: the study's own
 * results where these are of the very bundle, otherwise of another training of the same setting, and said so.
 */
#include "cli/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char help[] =
    "usage: mawam zoo [--json | --csv]\n"
    "\n"
    "Lists the bundles that come with mawam (docs/install.md says where they are looked for): size,\n"
    "method, the revision that trained them, and what the policy alone and planning reach in the study's\n"
    "results, with the gain's 95% interval. Scores marked * are of another training of the same setting.\n"
    "\n"
    "  --json, --csv  the same for programs\n"
    "\n"
    "examples: mawam zoo\n"
    "          mawam eval spread-medium    # one of them by its name\n";

/* What a setting's result file says. */
typedef struct {
    bool there, same; /* same: of the very bundle */
    double reactive, plan, gain, low, high;
} scores;

/* 64-bit FNV-1a of the file, as results name their bundle; "": it cannot be read. */
static void checksum(char out[17], const char *path) {
    uint64_t hash = 0xCBF29CE484222325u;
    FILE *file = fopen(path, "rb");
    out[0] = 0;
    if (!file) return;
    for (int c = getc(file); c != EOF; c = getc(file)) hash = (hash ^ (unsigned char)c) * 0x100000001B3u;
    if (!ferror(file)) snprintf(out, 17, "%016llx", (unsigned long long)hash);
    fclose(file);
}

static double number(const json_t *object, const char *group, const char *key) {
    const json_t *value = json_object_get(group ? json_object_get(object, group) : object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static void read_scores(scores *s, const char *file, const char *path) {
    char bundle[17];
    json_t *root = json_load_file(file, 0, NULL);
    const json_t *arms = json_object_get(json_object_get(root, "eval"), "arms"),
                 *reactive = json_object_get(arms, "reactive"), *plan = json_object_get(arms, "plan");
    const char *named = json_string_value(json_object_get(root, "bundle")),
               *unit = json_object_get(plan, "score") ? "score" : "return";
    checksum(bundle, path);
    s->reactive = number(reactive, NULL, unit);
    s->plan = number(plan, NULL, unit);
    s->there = isfinite(s->reactive) && isfinite(s->plan);
    s->same = named && *bundle && !strcmp(named, bundle);
    s->gain = (s->plan - s->reactive) / fabs(s->reactive);
    /* the interval is of returns; a score is one of them on a scale */
    const double scale = s->gain / (number(plan, NULL, "return") - number(reactive, NULL, "return"));
    s->low = scale * number(plan, "gain", "low");
    s->high = scale * number(plan, "gain", "high");
    json_decref(root);
}

/* The clean study first, then the older results. */
static scores find_scores(const char *name, const char *path) {
    static const char *const studies[] = {"clean", "results"};
    char root[2048], file[2300];
    scores s = {.reactive = NAN, .plan = NAN, .gain = NAN, .low = NAN, .high = NAN};
    for (int k = 0; k < 2; k++)
        for (int i = 0; !s.there && mw_data_folder(root, sizeof root, i); i++) {
            snprintf(file, sizeof file, "%s/%s/settings/%.150s.json", root, studies[k], name);
            read_scores(&s, file, path);
        }
    return s;
}

static json_t *maybe(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *describe(const mw_bundle *bundle, const char *name, const char *path, double bytes) {
    const mw_bundle_summary about = mw_bundle_describe(bundle);
    const scores s = find_scores(name, path);
    json_t *parts = json_array();
    const char *revision = "unknown";
    json_t *made = NULL;
    for (int i = 0; i < about.parts; i++) {
        const mw_bundle_part_summary part = mw_bundle_part_describe(bundle, i);
        json_array_append_new(
            parts, json_pack("{s:s, s:I}", "name", part.name, "parameters", (json_int_t)part.parameters));
        if (!made) made = json_loads(part.provenance, 0, NULL);
    }
    const json_t *named = json_object_get(json_object_get(made, "provenance"), "revision");
    if (json_is_string(named)) revision = json_string_value(named);
    json_t *out =
        json_pack("{s:s, s:s, s:I, s:s, s:s, s:s, s:i, s:s, s:o, s:o}", "name", name, "path", path, "bytes",
                  (json_int_t)bytes, "task", about.task, "quality", about.quality, "method", about.method,
                  "agents", about.agents, "revision", revision, "parts", parts, "scores",
                  s.there ? json_pack("{s:b, s:o, s:o, s:o, s:o, s:o}", "same_bundle", s.same, "reactive",
                                      maybe(s.reactive), "plan", maybe(s.plan), "relative_gain",
                                      maybe(s.gain), "low", maybe(s.low), "high", maybe(s.high))
                          : json_null());
    json_decref(made);
    return out;
}

static void print_one(mw_table *table, const json_t *one) {
    const json_t *s = json_object_get(one, "scores");
    const bool other = json_is_object(s) && !json_is_true(json_object_get(s, "same_bundle"));
    mw_table_row(table,
                 (mw_cell[]){MW_TEXT(json_string_value(json_object_get(one, "name"))),
                             MW_NUMBER(number(one, NULL, "bytes") / 1e6),
                             MW_TEXT(json_string_value(json_object_get(one, "method"))),
                             MW_TEXT(json_string_value(json_object_get(one, "revision"))),
                             MW_NUMBER(number(s, NULL, "reactive")), MW_NUMBER(number(s, NULL, "plan")),
                             MW_NUMBER(100 * number(s, NULL, "relative_gain")),
                             MW_NUMBER(100 * number(s, NULL, "low")),
                             MW_NUMBER(100 * number(s, NULL, "high")), MW_TEXT(other ? "*" : "")});
}

static void print_all(const json_t *list, mw_show show) {
    static const mw_column columns[] = {{"bundle", "bundle", -20, NULL},
                                        {"megabytes", "MB", 5, "%.2f"},
                                        {"method", "method", -7, NULL},
                                        {"revision", "revision", -16, NULL},
                                        {"reactive", "alone", 7, "%.1f"},
                                        {"plan", "planning", 8, "%.1f"},
                                        {"gain_percent", "gain %", 7, "%+.1f"},
                                        {"gain_low", "low 95%", 7, "%+.1f"},
                                        {"gain_high", "high", 7, "%+.1f"},
                                        {"other_training", "", -1, NULL},
                                        {NULL, NULL, 0, NULL}};
    double bytes = 0;
    mw_table table;
    mw_table_begin(&table, show, columns);
    for (size_t i = 0; i < json_array_size(list); i++) {
        print_one(&table, json_array_get(list, i));
        bytes += number(json_array_get(list, i), NULL, "bytes");
    }
    if (show == MW_SHOW_CSV) return;
    printf("%d bundles, %.1f MB. alone: the policy's first idea. * of another training of the setting.\n"
           "Any other setting: mawam study run SETTING --parts main\n",
           (int)json_array_size(list), bytes / 1e6);
}

/* "folder/spread-medium.safetensors" -> "spread-medium". */
static void name_of(char out[160], const char *path) {
    const char *file = strrchr(path, '/');
    snprintf(out, 160, "%s", file ? file + 1 : path);
    char *end = strrchr(out, '.');
    if (end) *end = 0;
}

int mw_cli_zoo(int argc, char **argv) {
    static mw_bundle_list list;
    mw_show show = MW_SHOW_TEXT;
    const char *none[1];
    const mw_option options[] = {{"json", MW_OPT_SHOW, &show, 0, 0},
                                 {"csv", MW_OPT_SHOW, &show, 0, 0},
                                 {NULL, MW_OPT_FLAG, NULL, 0, 0}};
    int count, code = mw_cli_parse(argc, argv, options, help, none, 0, &count);
    if (code >= 0) return code;
    mw_error error = {0};
    json_t *all = json_array();
    mw_cli_bundles(&list);
    for (int i = 0; i < list.count; i++) {
        mw_bundle *bundle;
        struct stat info;
        char name[160];
        if (mw_bundle_load(&bundle, list.paths[i], &error) != MW_OK) {
            json_decref(all);
            return mw_cli_fail(&error);
        }
        name_of(name, list.paths[i]);
        const double bytes = stat(list.paths[i], &info) == 0 ? (double)info.st_size : 0;
        json_array_append_new(all, describe(bundle, name, list.paths[i], bytes));
        mw_bundle_free(bundle);
    }
    if (show == MW_SHOW_JSON) return mw_cli_print(json_pack("{s:o}", "bundles", all), 10);
    print_all(all, show);
    json_decref(all);
    return 0;
}
