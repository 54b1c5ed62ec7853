/* mawam eval --sweep: a bundle at several values of a plan setting, as a table with the front of those that
 * nothing beats in both return and time. */
#include "cli/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double at(const json_t *object, const char *group, const char *key) {
    const json_t *from = group ? json_object_get(json_object_get(object, "ms"), group) : object,
                 *value = json_object_get(from, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static void show_value(void *context, const char *setting, const char *value, int done, int total,
                       double left) {
    (void)context;
    if (mw_cli_quiet) return;
    fprintf(stderr, "%s=%s done, %d of %d", setting, value, done, total);
    if (isfinite(left)) fprintf(stderr, ", about %.0f s left", left);
    fputc('\n', stderr);
}

static void print_points(mw_table *table, const char *symbol, const json_t *points) {
    json_t *point, *arm;
    const char *name;
    size_t i;
    json_array_foreach((json_t *)(uintptr_t)points, i, point) {
        json_object_foreach(json_object_get(point, "arms"), name, arm) {
            mw_table_row(
                table,
                (mw_cell[]){MW_TEXT(symbol), MW_TEXT(json_string_value(json_object_get(point, "value"))),
                            MW_TEXT(name), MW_NUMBER(at(arm, NULL, "return")),
                            MW_NUMBER(at(arm, NULL, "return_low")), MW_NUMBER(at(arm, NULL, "return_high")),
                            MW_NUMBER(at(arm, "generation", "p50")), MW_NUMBER(at(arm, "scoring", "p50")),
                            MW_NUMBER(at(arm, "decision", "p50"))});
        }
    }
}

static void print_table(const json_t *root, mw_show show) {
    static const mw_column columns[] = {{"setting", "", -15, NULL},
                                        {"value", "value", -8, NULL},
                                        {"arm", "arm", -9, NULL},
                                        {"return", "return", 9, "%.5g"},
                                        {"return_low", "low 95%", 9, "%.5g"},
                                        {"return_high", "high 95%", 9, "%.5g"},
                                        {"generate_ms", "generate", 9, "%.3f"},
                                        {"score_ms", "score", 8, "%.3f"},
                                        {"ms_p50", "ms p50", 8, "%.3f"},
                                        {NULL, NULL, 0, NULL}};
    const json_t *inputs = json_object_get(root, "inputs");
    const char *name;
    json_t *sweep, *point;
    size_t i;
    mw_table table;
    if (show == MW_SHOW_TEXT)
        printf("seeds x episodes for every value: %.0f x %.0f; 95%%: interval over episodes, of 8 or more\n",
               at(inputs, NULL, "seeds"), at(inputs, NULL, "episodes"));
    mw_table_begin(&table, show, columns);
    json_object_foreach(json_object_get(root, "sweeps"), name, sweep) print_points(
        &table, json_string_value(json_object_get(sweep, "symbol")), json_object_get(sweep, "points"));
    const json_t *front = json_object_get(root, "front"); /* empty: decisions were not timed */
    if (show != MW_SHOW_TEXT || !json_array_size(front)) return;
    puts("front of return against time:");
    json_array_foreach(front, i, point) printf(
        "  %s=%s: %.5g in %.3f ms\n", json_string_value(json_object_get(point, "setting")),
        json_string_value(json_object_get(point, "value")),
        json_number_value(json_object_get(point, "return")), json_number_value(json_object_get(point, "ms")));
}

int mw_cli_sweep(const mw_eval_options *eval, const mw_strings *sweeps, const char *path, const char *json,
                 bool overwrite, mw_show show, const char *command) {
    mw_bundle *bundle;
    mw_error error = {0};
    char *text = NULL;
    mw_sweep_options o;
    mw_sweep_options_init(&o, sizeof o);
    o.sweeps = sweeps->items;
    o.count = sweeps->count;
    o.eval = eval;
    o.path = json && *json ? json : NULL;
    o.command = command;
    o.progress = show_value;
    o.overwrite = overwrite;
    char file[4096];
    if (mw_cli_output(o.path, true, &error) != MW_OK ||
        mw_cli_bundle_path(file, sizeof file, path, &error) != MW_OK ||
        mw_cli_bundle_load(&bundle, file, &error) != MW_OK)
        return mw_cli_fail(&error);
    mw_status status = mw_sweep_run(&text, bundle, &o, &error);
    mw_bundle_free(bundle);
    if (status != MW_OK) return mw_cli_refuse(&error);
    if (json && !*json) {
        mw_cli_puts(text);
    } else {
        json_t *root;
        status = mw_cli_json(&root, text, "the sweep's table", &error);
        if (status == MW_OK) print_table(root, show);
        json_decref(root);
    }
    free(text);
    return status == MW_OK ? 0 : mw_cli_fail(&error);
}
