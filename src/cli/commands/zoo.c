/* mawam zoo: the bundles that come with mawam, with what is known of how well they play: the study's own
 * results where these are of the very bundle, otherwise of another training of the same setting, and said so.
 */
#include "cli/table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char help[] =
    "usage: mawam zoo [--json | --csv]\n"
    "\n"
    "Lists the bundles that come with mawam (docs/install.md says where they are looked for): size,\n"
    "method, the revision that trained them, and what the policy alone and planning reach in the study's\n"
    "results, with the gain's 95% interval. Scores marked * are of another training of the same setting;\n"
    "those of a packed bundle (mawam bundle pack) are of the bundle before packing.\n"
    "\n"
    "  --json, --csv  the same for programs\n"
    "\n"
    "examples: mawam zoo\n"
    "          mawam eval spread-medium    # one of them by its name\n";

/* What a setting's result file says. */
typedef struct {
    bool there, same; /* same: of the very bundle, of the one that it was packed from, or of equal weights */
    double reactive, plan, gain, low, high;
} scores;

/* 64-bit FNV-1a of the file, as results name their bundle. */
static mw_status checksum(char out[17], const char *path, mw_error *error) {
    uint64_t hash = 0xCBF29CE484222325u;
    FILE *file = fopen(path, "rb");
    if (!file) return mw_fail(error, MW_ERR_IO, "cannot open '%s': %s", path, strerror(errno));
    for (int c = getc(file); c != EOF; c = getc(file)) hash = (hash ^ (unsigned char)c) * 0x100000001B3u;
    const bool whole = !ferror(file);
    fclose(file);
    snprintf(out, 17, "%016llx", (unsigned long long)hash);
    return whole ? MW_OK : mw_fail(error, MW_ERR_IO, "cannot read '%s'", path);
}

static double number(const json_t *object, const char *group, const char *key) {
    const json_t *value = json_object_get(group ? json_object_get(object, group) : object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* To the nine digits that a bundle's description is given with. */
static bool same_losses(const json_t *mine, const json_t *theirs) {
    bool same = json_object_size(mine) > 0 && json_object_size(mine) == json_object_size(theirs);
    const char *name;
    json_t *loss;
    json_object_foreach((json_t *)(uintptr_t)mine, name, loss) {
        const double one = json_number_value(loss), other = number(theirs, NULL, name);
        same = same && fabs(one - other) <= 1e-8 * fabs(one);
    }
    return same;
}

/* Were all parts trained as those that the results are of? Then their weights are the same to the bit, though
 * the files differ in how long it took: one revision with one seed, from the same data to the same losses. */
static mw_status same_training(bool *same, const mw_bundle *bundle, const json_t *training, mw_error *error) {
    static const char *const keys[] = {"revision", "data", "seed", "held_out"};
    const int parts = mw_bundle_describe(bundle).parts;
    *same = parts > 0 && json_object_size(training) == (size_t)parts;
    for (int i = 0; i < parts && *same; i++) {
        const mw_bundle_part_summary part = mw_bundle_part_describe(bundle, i);
        json_t *root;
        MW_TRY(mw_cli_json(&root, part.provenance, part.name, error));
        const json_t *mine = json_object_get(root, "provenance"),
                     *theirs = json_object_get(training, part.name);
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            *same = *same && json_equal(json_object_get(mine, keys[k]), json_object_get(theirs, keys[k]));
        *same = *same && same_losses(json_object_get(json_object_get(mine, "details"), "held"),
                                     json_object_get(json_object_get(theirs, "details"), "held"));
        json_decref(root);
    }
    return MW_OK;
}

static mw_status read_scores(scores *s, const char *file, const char *path, const mw_bundle *bundle,
                             mw_error *error) {
    const char *packed_of = mw_bundle_describe(bundle).packed_of; /* checksum of the bundle before, or "" */
    char sum[17] = "";
    json_t *root;
    MW_TRY(mw_cli_json_file(&root, file, error));
    if (!root) return MW_OK; /* nothing is known of this setting here */
    mw_status status = checksum(sum, path, error);
    if (status == MW_OK) status = same_training(&s->same, bundle, json_object_get(root, "training"), error);
    const json_t *arms = json_object_get(json_object_get(root, "eval"), "arms"),
                 *reactive = json_object_get(arms, "reactive"), *plan = json_object_get(arms, "plan");
    const char *named = json_string_value(json_object_get(root, "bundle")),
               *unit = json_object_get(plan, "score") ? "score" : "return";
    s->reactive = number(reactive, NULL, unit);
    s->plan = number(plan, NULL, unit);
    s->there = isfinite(s->reactive) && isfinite(s->plan);
    s->same = s->same || (named && (!strcmp(named, sum) || (*packed_of && !strcmp(named, packed_of))));
    s->gain = (s->plan - s->reactive) / fabs(s->reactive);
    /* of the ratio; results without it have the interval of returns, of which a score is one on a scale */
    const bool ratio = json_object_get(plan, "relative_gain_interval");
    const double scale = s->gain / (number(plan, NULL, "return") - number(reactive, NULL, "return"));
    s->low = ratio ? number(plan, "relative_gain_interval", "low") : scale * number(plan, "gain", "low");
    s->high = ratio ? number(plan, "relative_gain_interval", "high") : scale * number(plan, "gain", "high");
    json_decref(root);
    return status;
}

static mw_status find_scores(scores *s, const char *name, const char *path, const mw_bundle *bundle,
                             mw_error *error) {
    char root[2048], file[2300];
    *s = (scores){.reactive = NAN, .plan = NAN, .gain = NAN, .low = NAN, .high = NAN};
    for (int i = 0; !s->there && mw_data_folder(root, sizeof root, i); i++) {
        snprintf(file, sizeof file, "%s/results/settings/%.150s.json", root, name);
        MW_TRY(read_scores(s, file, path, bundle, error));
    }
    return MW_OK;
}

static json_t *maybe(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

/* NULL for want of memory. */
static json_t *parts_json(const mw_bundle *bundle, int count) {
    json_t *parts = json_array();
    for (int i = 0; parts && i < count; i++) {
        const mw_bundle_part_summary part = mw_bundle_part_describe(bundle, i);
        json_t *one = json_pack("{s:s, s:I}", "name", part.name, "parameters", (json_int_t)part.parameters);
        if (json_array_append_new(parts, one) == 0) continue;
        json_decref(parts);
        parts = NULL;
    }
    return parts;
}

static json_t *scores_json(const scores *s) {
    if (!s->there) return json_null();
    return json_pack("{s:b, s:o, s:o, s:o, s:o, s:o}", "same_bundle", s->same, "reactive", maybe(s->reactive),
                     "plan", maybe(s->plan), "relative_gain", maybe(s->gain), "low", maybe(s->low), "high",
                     maybe(s->high));
}

/* Adds a bundle to the list. */
static mw_status describe(json_t *all, const mw_bundle *bundle, const char *name, const char *path,
                          double bytes, mw_error *error) {
    const mw_bundle_summary about = mw_bundle_describe(bundle);
    scores s;
    json_t *made = NULL;
    MW_TRY(find_scores(&s, name, path, bundle, error));
    if (about.parts > 0)
        MW_TRY(mw_cli_json(&made, mw_bundle_part_describe(bundle, 0).provenance, path, error));
    const char *named = json_string_value(json_object_get(json_object_get(made, "provenance"), "revision"));
    json_t *one = json_pack(
        "{s:s, s:s, s:I, s:s, s:s, s:s, s:i, s:s, s:i, s:s, s:o, s:o}", "name", name, "path", path, "bytes",
        (json_int_t)bytes, "task", about.task, "quality", about.quality, "method", about.method, "agents",
        about.agents, "revision", named ? named : "unknown", "packed_bits", about.packed_bits, "packed_of",
        about.packed_of, "parts", parts_json(bundle, about.parts), "scores", scores_json(&s));
    json_decref(made);
    if (json_array_append_new(all, one) == 0) return MW_OK;
    return mw_fail(error, MW_ERR_MEMORY, "out of memory for the list of bundles");
}

static void print_one(mw_table *table, const json_t *one) {
    const json_t *s = json_object_get(one, "scores");
    const double bits = number(one, NULL, "packed_bits");
    const bool other = json_is_object(s) && !json_is_true(json_object_get(s, "same_bundle"));
    mw_table_row(table,
                 (mw_cell[]){MW_TEXT(json_string_value(json_object_get(one, "name"))),
                             MW_NUMBER(number(one, NULL, "bytes") / 1e6), MW_NUMBER(bits > 0 ? bits : NAN),
                             MW_TEXT(json_string_value(json_object_get(one, "method"))),
                             MW_TEXT(json_string_value(json_object_get(one, "revision"))),
                             MW_NUMBER(number(s, NULL, "reactive")), MW_NUMBER(number(s, NULL, "plan")),
                             MW_NUMBER(100 * number(s, NULL, "relative_gain")),
                             MW_NUMBER(100 * number(s, NULL, "low")),
                             MW_NUMBER(100 * number(s, NULL, "high")), MW_TEXT(other ? "*" : "")});
}

static void print_all(const json_t *list, mw_show show) {
    static const mw_column columns[] = {
        {"bundle", "bundle", -20, NULL},     {"megabytes", "MB", 5, "%.2f"},
        {"packed_bits", "bits", 4, "%.0f"},  {"method", "method", -7, NULL},
        {"revision", "revision", -16, NULL}, {"reactive", "alone", 7, "%.1f"},
        {"plan", "planning", 8, "%.1f"},     {"gain_percent", "gain %", 7, "%+.1f"},
        {"gain_low", "low 95%", 7, "%+.1f"}, {"gain_high", "high", 7, "%+.1f"},
        {"other_training", "*", -1, NULL},   {NULL, NULL, 0, NULL}};
    double bytes = 0;
    mw_table table;
    mw_table_begin(&table, show, columns);
    for (size_t i = 0; i < json_array_size(list); i++) {
        print_one(&table, json_array_get(list, i));
        bytes += number(json_array_get(list, i), NULL, "bytes");
    }
    mw_table_end(&table);
    if (show == MW_SHOW_CSV) return;
    printf("%d bundles, %.1f MB. alone: the policy's first candidate. * of another training of the setting.\n"
           "spread, tag and world in normalised scores, the others in returns.\n"
           "bits: of a packed bundle's weights; its scores are of the bundle before packing.\n"
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

/* All bundles as an array; *all is NULL after a failure. */
static mw_status list_all(json_t **all, mw_error *error) {
    static mw_bundle_list list;
    MW_TRY(mw_cli_bundles(&list, error));
    *all = json_array();
    mw_status status = *all ? MW_OK : mw_fail(error, MW_ERR_MEMORY, "out of memory for the list of bundles");
    for (int i = 0; i < list.count && status == MW_OK; i++) {
        mw_bundle *bundle = NULL;
        struct stat info;
        char name[160];
        name_of(name, list.paths[i]);
        const double bytes = stat(list.paths[i], &info) == 0 ? (double)info.st_size : 0;
        status = mw_bundle_load(&bundle, list.paths[i], error);
        if (status == MW_OK) status = describe(*all, bundle, name, list.paths[i], bytes, error);
        mw_bundle_free(bundle);
    }
    if (status == MW_OK) return MW_OK;
    json_decref(*all);
    *all = NULL;
    return status;
}

int mw_cli_zoo(int argc, char **argv) {
    mw_show show = MW_SHOW_TEXT;
    const char *none[1];
    const mw_option options[] = {{"json", MW_OPT_SHOW, &show, 0, 0},
                                 {"csv", MW_OPT_SHOW, &show, 0, 0},
                                 {NULL, MW_OPT_FLAG, NULL, 0, 0}};
    int count, code = mw_cli_parse(argc, argv, options, help, none, 0, &count);
    if (code >= 0) return code;
    mw_error error;
    json_t *all;
    if (list_all(&all, &error) != MW_OK) return mw_cli_fail(&error);
    if (show == MW_SHOW_JSON) return mw_cli_print(json_pack("{s:o}", "bundles", all), 10);
    print_all(all, show);
    json_decref(all);
    return 0;
}
