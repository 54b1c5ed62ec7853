/* Summary files to one table, and comparisons over its rows; see table.h. */
#include "report/table.h"

#include "core/file.h"
#include "env/env.h"
#include "eval/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *path;
} columns[] = {
#define COLUMN(id, name, path) {name, path},
    MW_TABLE_COLUMNS(COLUMN)
#undef COLUMN
};

const char *mw_table_column_name(mw_column_id column) {
    return columns[column].name;
}

const char *mw_study_family(const char *task) {
    for (const char *const *name = mw_mpe_class.tasks; *name; name++)
        if (!strcmp(*name, task)) return "mpe";
    for (const char *const *name = mw_battle_class.tasks; *name; name++)
        if (!strcmp(*name, task)) return "battle";
    return "ant";
}

/* ---- reading ---- */

/* The member of an array of objects whose "horizon" is this. */
static const json_t *at_horizon(const json_t *array, long horizon) {
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *entry = json_array_get(array, i);
        if (json_integer_value(json_object_get(entry, "horizon")) == horizon) return entry;
    }
    return NULL;
}

static double number_of(const json_t *value) {
    if (json_is_boolean(value)) return json_is_true(value);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static double lookup(const json_t *value, const char *path) {
    while (value && *path) {
        char key[64];
        const size_t length = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)length, path);
        value = key[0] == '[' ? at_horizon(value, strtol(key + 1, NULL, 10)) : json_object_get(value, key);
        path += length + (path[length] == '.');
    }
    return number_of(value);
}

/* Score or return, as the paper reports them. */
static double reported(const mw_study_row *row, mw_column_id total, mw_column_id score) {
    return row->value[mw_scale_of(row->setting->task) ? score : total];
}

static double relative(double ours, double other) {
    return other != 0 ? (ours - other) / fabs(other) : NAN;
}

static void derive(mw_study_row *row) {
    double *v = row->value;
    const mw_paper_row *paper = mw_paper_find(row->setting->task, row->setting->quality);
    v[MW_COL_REACTIVE] = reported(row, MW_COL_REACTIVE_RETURN, MW_COL_REACTIVE_SCORE);
    v[MW_COL_RANDOM] = reported(row, MW_COL_RANDOM_RETURN, MW_COL_RANDOM_SCORE);
    v[MW_COL_PLAN] = reported(row, MW_COL_PLAN_RETURN, MW_COL_PLAN_SCORE);
    v[MW_COL_PAPER] = reported(row, MW_COL_PAPER_RETURN, MW_COL_PAPER_SCORE);
    v[MW_COL_ORACLE] = reported(row, MW_COL_ORACLE_RETURN, MW_COL_ORACLE_SCORE);
    v[MW_COL_DATA] = reported(row, MW_COL_DATA_RETURN, MW_COL_DATA_SCORE);
    v[MW_COL_DELTA] = v[MW_COL_PLAN] - v[MW_COL_REACTIVE];
    v[MW_COL_RELATIVE] = relative(v[MW_COL_PLAN], v[MW_COL_REACTIVE]);
    v[MW_COL_DELTA_PAPER] = v[MW_COL_PAPER] - v[MW_COL_REACTIVE];
    v[MW_COL_RELATIVE_PAPER] = relative(v[MW_COL_PAPER], v[MW_COL_REACTIVE]);
    v[MW_COL_DELTA_RANDOM] = v[MW_COL_PLAN] - v[MW_COL_RANDOM];
    v[MW_COL_RELATIVE_RANDOM] = relative(v[MW_COL_PLAN], v[MW_COL_RANDOM]);
    v[MW_COL_DELTA_DATA] = v[MW_COL_PLAN] - v[MW_COL_DATA];
    v[MW_COL_DELTA_WON] = v[MW_COL_PLAN_WON] - v[MW_COL_REACTIVE_WON];
    const double most = v[MW_COL_ORACLE] - v[MW_COL_REACTIVE];
    v[MW_COL_SHARE] = most > 0 ? v[MW_COL_DELTA] / most : NAN;
    if (!paper) return;
    v[MW_COL_PUBLISHED_REACTIVE] = paper->reactive;
    v[MW_COL_PUBLISHED_RANDOM] = paper->random;
    v[MW_COL_PUBLISHED_PLAN] = paper->planning;
    v[MW_COL_PUBLISHED_DELTA] = paper->planning - paper->reactive;
    v[MW_COL_PUBLISHED_RELATIVE] = relative(paper->planning, paper->reactive);
    v[MW_COL_PUBLISHED_RELATIVE_RANDOM] = relative(paper->planning, paper->random);
    v[MW_COL_PUBLISHED_REACTIVE_WON] = paper->reactive_won;
    v[MW_COL_PUBLISHED_PLAN_WON] = paper->planning_won;
}

static void fill(mw_study_row *row) {
    for (int c = 0; c < MW_TABLE_WIDTH; c++)
        row->value[c] =
            row->summary && columns[c].path[0] ? lookup(row->summary, columns[c].path) : (double)NAN;
    for (int h = 0; h < MW_TABLE_HORIZONS; h++) {
        char path[64];
        snprintf(path, sizeof path, "snippets.horizons.[%d].spearman", h + 1);
        row->spearman[h] = lookup(row->summary, path);
        snprintf(path, sizeof path, "snippets.horizons.[%d].rollout_mse", h + 1);
        row->error[h] = lookup(row->summary, path);
    }
    for (int a = 0; a < MW_ARMS; a++) {
        char path[128] = "-";
        if (mw_arm_name(a))
            snprintf(path, sizeof path, "eval.arms.%s.%s", mw_arm_name(a),
                     mw_scale_of(row->setting->task) ? "score" : "return");
        row->arm[a] = row->summary && mw_arm_name(a) ? lookup(row->summary, path) : (double)NAN;
    }
    const json_t *plan = json_object_get(json_object_get(row->summary, "eval"), "plan");
    const char *scorer = json_string_value(json_object_get(plan, "scorer"));
    row->scorer = scorer ? scorer : "";
    derive(row);
}

static mw_status read_row(mw_study_row *row, const char *folder, mw_error *error) {
    char path[1024];
    json_t *summary;
    const char *name;
    snprintf(path, sizeof path, "%.900s/results/%s.json", folder, row->name);
    if (!mw_file_exists(path)) return MW_OK;
    MW_TRY(mw_json_read(&summary, path, error));
    mw_status status = mw_json_get_string(summary, "setting", path, &name, error);
    if (status == MW_OK && strcmp(name, row->name))
        status = mw_fail(error, MW_ERR_MISMATCH, "%s: expected the setting '%s', found '%.64s'", path,
                         row->name, name);
    if (status != MW_OK) {
        json_decref(summary);
        return status;
    }
    json_decref(row->summary);
    row->summary = summary;
    return MW_OK;
}

mw_status mw_study_table_read(mw_study_table *table, const char *const *folders, int count, mw_error *error) {
    mw_status status = MW_OK;
    memset(table, 0, sizeof *table);
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        mw_study_row *row = &table->rows[i];
        row->setting = mw_setting_at(i);
        row->family = mw_study_family(row->setting->task);
        mw_setting_name(row->setting, row->name, sizeof row->name);
        for (int f = 0; status == MW_OK && f < count; f++) status = read_row(row, folders[f], error);
        table->present += row->summary != NULL;
        fill(row);
    }
    if (status != MW_OK) mw_study_table_free(table);
    return status;
}

void mw_study_table_free(mw_study_table *table) {
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        json_decref(table->rows[i].summary);
        table->rows[i].summary = NULL;
    }
}

/* ---- over settings ---- */

static bool within(const mw_study_row *row, const char *family) {
    return !family || !strcmp(row->family, family);
}

mw_comparison mw_table_compare(const mw_study_table *table, const char *family, mw_column_id ours,
                               mw_column_id other) {
    double a[MW_TABLE_ROWS], b[MW_TABLE_ROWS];
    int n = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &table->rows[i];
        if (!within(row, family)) continue;
        a[n] = row->value[ours];
        b[n++] = row->value[other];
    }
    return mw_compare(a, b, NULL, NULL, n);
}

int mw_table_collect(const mw_study_table *table, const char *family, mw_column_id column,
                     double out[MW_TABLE_ROWS]) {
    int n = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &table->rows[i];
        if (within(row, family) && !isnan(row->value[column])) out[n++] = row->value[column];
    }
    return n;
}

double mw_table_mean(const mw_study_table *table, const char *family, mw_column_id column) {
    double x[MW_TABLE_ROWS];
    const int n = mw_table_collect(table, family, column, x);
    return n ? mw_mean(x, n) : NAN;
}

double mw_table_median(const mw_study_table *table, const char *family, mw_column_id column) {
    double x[MW_TABLE_ROWS];
    const int n = mw_table_collect(table, family, column, x);
    mw_sort(x, n);
    return n ? mw_quantile(x, n, 0.5) : NAN;
}

double mw_table_sum(const mw_study_table *table, const char *family, mw_column_id column) {
    double x[MW_TABLE_ROWS], sum = 0;
    const int n = mw_table_collect(table, family, column, x);
    for (int i = 0; i < n; i++) sum += x[i];
    return sum;
}

double mw_table_share(const mw_study_table *table, const char *family, int *count) {
    double sum = 0;
    *count = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &table->rows[i];
        const double *v = row->value;
        if (!within(row, family) || isnan(v[MW_COL_SHARE]) ||
            !(v[MW_COL_ORACLE] - v[MW_COL_REACTIVE] > 0.01 * fabs(v[MW_COL_REACTIVE])))
            continue;
        sum += fmin(fmax(v[MW_COL_SHARE], -1), 1);
        ++*count;
    }
    return *count ? sum / *count : NAN;
}
