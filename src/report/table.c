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
} columns[] =
    {
#define COLUMN(id, name, path) {name, path},
        MW_TABLE_COLUMNS(COLUMN)},
  fields[] = {MW_TABLE_FIELDS(COLUMN)
#undef COLUMN
};

int mw_table_width(void) {
    int arms = 0;
    while (mw_arm_name(arms)) arms++;
    return MW_COL_OF(arms, 0);
}

const char *mw_table_column_name(mw_column_id column, char out[64]) {
    const int behind = column - MW_TABLE_FIXED;
    if (behind < 0)
        snprintf(out, 64, "%s", columns[column].name);
    else
        snprintf(out, 64, "%.30s%s", mw_arm_name(behind / MW_ARM_WIDTH), fields[behind % MW_ARM_WIDTH].name);
    return out;
}

const char *mw_study_family(const char *task) {
    return mw_family_of(task)->name;
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

/* Files may hold anything; numbers that no result can be are none. */
static double number_of(const json_t *value) {
    if (json_is_boolean(value)) return json_is_true(value);
    const double number = json_is_number(value) ? json_number_value(value) : NAN;
    return fabs(number) < 1e100 ? number : (double)NAN;
}

const json_t *mw_json_at(const json_t *value, const char *path) {
    while (value && *path) {
        char key[64];
        const size_t length = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)length, path);
        value = key[0] == '[' ? at_horizon(value, strtol(key + 1, NULL, 10)) : json_object_get(value, key);
        path += length + (path[length] == '.');
    }
    return value;
}

double mw_json_number(const json_t *value, const char *path) {
    return number_of(mw_json_at(value, path));
}

/* ---- what follows ---- */

static double relative(double ours, double other) {
    return other != 0 ? (ours - other) / fabs(other) : NAN;
}

/* What one unit of return is in the unit of the report. */
static double unit_of(const mw_study_row *row) {
    const mw_scale *scale = mw_scale_of(row->setting->task);
    return scale ? 100 / (scale->expert - scale->random) : 1;
}

/* Of the seeds' paired means: how many there are, and their deviation. */
static int paired_seeds(const mw_study_row *row, int ours, int other, double *std) {
    double pairs[MW_TABLE_SEEDS];
    int n = 0;
    while (n < MW_TABLE_SEEDS && !isnan(row->seeds[ours][n]) && !isnan(row->seeds[other][n])) {
        pairs[n] = row->seeds[ours][n] - row->seeds[other][n];
        n++;
    }
    *std = mw_std(pairs, n);
    return n;
}

static int seeds_of(const mw_study_row *row, int arm) {
    int n = 0;
    while (n < MW_TABLE_SEEDS && !isnan(row->seeds[arm][n])) n++;
    return n;
}

/* Whether reactive's mean, judged by its seeds, may be zero: a gain relative to it has no interval then. */
static bool may_be_zero(const mw_study_row *row) {
    const double mean = row->value[MW_COL_REACTIVE],
                 std = row->value[MW_COL_OF(MW_ARM_REACTIVE, MW_FIELD_REPORTED_STD)];
    const int n = seeds_of(row, MW_ARM_REACTIVE);
    return mean == 0 || (n > 1 && fabs(mean) <= mw_student(n - 1) * std / sqrt(n));
}

static double seeds_std(const mw_study_row *row, int ours, int other) {
    double std;
    paired_seeds(row, ours, other, &std);
    return std;
}

static void derive(mw_study_row *row) {
    double *v = row->value;
    const mw_paper_row *paper = mw_paper_find(row->name);
    const double *plan = &v[MW_COL_OF(MW_ARM_PLAN, 0)], *oracle = &v[MW_COL_OF(MW_ARM_ORACLE, 0)];
    const double reactive = v[MW_COL_REACTIVE], unit = unit_of(row) / fabs(reactive);
    v[MW_COL_DATA] = v[mw_scale_of(row->setting->task) ? MW_COL_DATA_SCORE : MW_COL_DATA_RETURN];
    v[MW_COL_DELTA] = v[MW_COL_PLAN] - reactive;
    v[MW_COL_RELATIVE] = relative(v[MW_COL_PLAN], reactive);
    const json_t *ratio = mw_json_at(row->summary, "eval.arms.plan.relative_gain_interval");
    const bool neither = !ratio && may_be_zero(row);
    row->ratio = ratio;
    v[MW_COL_RELATIVE_LOW] = ratio     ? mw_json_number(ratio, "low")
                             : neither ? (double)NAN
                                       : unit * plan[MW_FIELD_GAIN_LOW];
    v[MW_COL_RELATIVE_HIGH] = ratio     ? mw_json_number(ratio, "high")
                              : neither ? (double)NAN
                                        : unit * plan[MW_FIELD_GAIN_HIGH];
    v[MW_COL_SMALLEST] =
        unit_of(row) * mw_smallest_visible(plan[MW_FIELD_GAIN_LOW], plan[MW_FIELD_GAIN_HIGH]);
    v[MW_COL_SMALLEST_RELATIVE] = reactive != 0 ? v[MW_COL_SMALLEST] / fabs(reactive) : NAN;
    v[MW_COL_EVAL_SEED_STD] = seeds_std(row, MW_ARM_PLAN, MW_ARM_REACTIVE);
    v[MW_COL_RELATIVE_RANDOM] = relative(v[MW_COL_PLAN], v[MW_COL_RANDOM]);
    v[MW_COL_RANKING] = relative(v[MW_COL_PAPER], v[MW_COL_RANDOM]);
    v[MW_COL_SHARE] =
        oracle[MW_FIELD_GAIN_LOW] > 0 ? v[MW_COL_DELTA] / (v[MW_COL_ORACLE] - reactive) : (double)NAN;
    if (!paper) return;
    v[MW_COL_PUBLISHED_REACTIVE] = paper->reactive;
    v[MW_COL_PUBLISHED_RANDOM] = paper->random;
    v[MW_COL_PUBLISHED_PLAN] = paper->planning;
    v[MW_COL_PUBLISHED_DELTA] = paper->gain;
    v[MW_COL_PUBLISHED_DELTA_RANDOM] = paper->random_gain;
    v[MW_COL_PUBLISHED_RELATIVE] = relative(paper->planning, paper->reactive);
    v[MW_COL_PUBLISHED_RELATIVE_RANDOM] = relative(paper->planning, paper->random);
    v[MW_COL_PUBLISHED_REACTIVE_WON] = paper->reactive_won;
    v[MW_COL_PUBLISHED_PLAN_WON] = paper->planning_won;
}

static void fill_arm(mw_study_row *row, int a) {
    const char *task = row->setting->task;
    const json_t *arm =
        json_object_get(json_object_get(json_object_get(row->summary, "eval"), "arms"), mw_arm_name(a));
    double *v = &row->value[MW_COL_OF(a, 0)];
    for (int f = 0; f < MW_ARM_WIDTH; f++)
        v[f] = arm && fields[f].path[0] ? mw_json_number(arm, fields[f].path) : NAN;
    v[MW_FIELD_REPORTED] = arm ? mw_json_number(arm, mw_scale_of(task) ? "score" : "return") : NAN;
    v[MW_FIELD_REPORTED_STD] =
        arm ? mw_json_number(arm, mw_scale_of(task) ? "score_std" : "return_std") : NAN;
    const json_t *seeds = json_object_get(arm, "seed_returns");
    for (size_t s = 0; s < MW_TABLE_SEEDS; s++) {
        const double mean = number_of(json_array_get(seeds, s));
        row->seeds[a][s] = mw_scale_of(task) ? mw_score(task, mean) : mean;
    }
}

static void fill_snippets(mw_study_row *row) {
    static const char *const names[MW_SNIPPET_METRICS] = {
        [MW_SNIPPET_SPEARMAN] = "spearman",   [MW_SNIPPET_TOP2] = "top2",
        [MW_SNIPPET_PAIRS] = "pair_accuracy", [MW_SNIPPET_REGRET] = "normalized_regret",
        [MW_SNIPPET_PEARSON] = "pearson",     [MW_SNIPPET_ERROR] = "rollout_mse"};
    const json_t *horizons = json_object_get(json_object_get(row->summary, "snippets"), "horizons");
    for (int h = 0; h < MW_TABLE_HORIZONS; h++)
        for (int m = 0; m < MW_SNIPPET_METRICS; m++) {
            const double x = number_of(json_object_get(at_horizon(horizons, h + 1), names[m]));
            const bool possible = m == MW_SNIPPET_ERROR ? x > 0 : fabs(x) <= 1;
            row->snippets[m][h] = possible ? x : (double)NAN;
        }
}

static void fill(mw_study_row *row) {
    for (int c = 0; c < MW_TABLE_WIDTH; c++)
        row->value[c] = row->summary && c < MW_TABLE_FIXED && columns[c].path[0]
                            ? mw_json_number(row->summary, columns[c].path)
                            : (double)NAN;
    for (int a = 0; a < MW_ARMS; a++) {
        for (int s = 0; s < MW_TABLE_SEEDS; s++) row->seeds[a][s] = NAN;
        if (mw_arm_name(a)) fill_arm(row, a);
    }
    fill_snippets(row);
    const json_t *plan = json_object_get(json_object_get(row->summary, "eval"), "plan");
    const char *scorer = json_string_value(json_object_get(plan, "scorer"));
    row->scorer = scorer ? scorer : "";
    derive(row);
}

static void fill_headrooms(mw_study_table *t) {
    static const mw_column_id from[] = {MW_COL_REACTIVE, MW_COL_PUBLISHED_REACTIVE},
                              to[] = {MW_COL_HEADROOM, MW_COL_PUBLISHED_HEADROOM};
    double reactive[MW_TABLE_ROWS], headroom[MW_TABLE_ROWS];
    int family[MW_TABLE_ROWS];
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < MW_TABLE_ROWS; i++) {
            reactive[i] = t->rows[i].value[from[k]];
            family[i] = t->rows[i].family[0];
        }
        mw_headrooms(headroom, reactive, family, MW_TABLE_ROWS);
        for (int i = 0; i < MW_TABLE_ROWS; i++) t->rows[i].value[to[k]] = headroom[i];
    }
}

const char *const mw_study_places[] = {"results", "settings", NULL};

/* Summaries name their setting, evaluations their task and the quality of its data. */
static mw_status check_setting(const mw_study_row *row, const json_t *summary, const char *path,
                               mw_error *error) {
    const json_t *eval = json_object_get(summary, "eval");
    const char *name = json_string_value(json_object_get(summary, "setting")),
               *task = json_string_value(json_object_get(eval, "task")),
               *quality = json_string_value(json_object_get(eval, "quality"));
    char found[160] = "none";
    if (name)
        snprintf(found, sizeof found, "%.64s", name);
    else if (task && quality)
        snprintf(found, sizeof found, "%.64s-%.64s", task, quality);
    if (!strcmp(found, row->name)) return MW_OK;
    return mw_fail(error, MW_ERR_MISMATCH, "%s: expected the setting '%s', found '%s'", path, row->name,
                   found);
}

/* An evaluation by itself, as mawam eval writes it, stands where summaries have theirs. Takes root over. */
static json_t *as_summary(json_t *root) {
    if (json_object_get(root, "eval") || !json_object_get(root, "arms")) return root;
    return json_pack("{s:O*, s:o}", "revision", json_object_get(root, "revision"), "eval", root);
}

mw_status mw_study_file_read(json_t **out, const mw_study_row *row, const char *path, mw_error *error) {
    json_t *summary;
    *out = NULL;
    if (!mw_file_exists(path)) return MW_OK;
    MW_TRY(mw_json_read(&summary, path, error));
    summary = as_summary(summary);
    if (!summary) return mw_fail(error, MW_ERR_MEMORY, "%s: no memory for it", path);
    const mw_status status = check_setting(row, summary, path, error);
    if (status == MW_OK)
        *out = summary;
    else
        json_decref(summary);
    return status;
}

static mw_status read_row(mw_study_row *row, const char *folder, const char *const *places, mw_error *error) {
    char path[1024] = "";
    json_t *summary;
    for (int k = 0; places[k] && !mw_file_exists(path); k++)
        snprintf(path, sizeof path, "%.900s/%s/%s.json", folder, places[k], row->name);
    MW_TRY(mw_study_file_read(&summary, row, path, error));
    if (!summary) return MW_OK;
    json_decref(row->summary);
    row->summary = summary;
    return MW_OK;
}

void mw_study_table_begin(mw_study_table *table) {
    memset(table, 0, sizeof *table);
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        mw_study_row *row = &table->rows[i];
        row->setting = mw_setting_at(i);
        row->family = mw_study_family(row->setting->task);
        mw_setting_name(row->setting, row->name, sizeof row->name);
    }
}

void mw_study_table_fill(mw_study_table *table) {
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        table->present += table->rows[i].summary != NULL;
        fill(&table->rows[i]);
    }
    fill_headrooms(table);
}

mw_status mw_study_table_read(mw_study_table *table, const char *const *folders, int count,
                              const char *const *places, mw_error *error) {
    mw_status status = MW_OK;
    mw_study_table_begin(table);
    for (int i = 0; i < MW_TABLE_ROWS; i++)
        for (int f = 0; status == MW_OK && f < count; f++)
            status = read_row(&table->rows[i], folders[f], places, error);
    mw_study_table_fill(table);
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

/* Student's, where there are degrees of freedom. */
static mw_interval student(double difference, double error, int freedom) {
    const double half = freedom > 0 ? mw_student(freedom) * error : NAN;
    return (mw_interval){difference, difference - half, difference + half};
}

mw_interval mw_row_difference(const mw_study_row *row, int ours, int other) {
    const double *a = &row->value[MW_COL_OF(ours, 0)], unit = unit_of(row);
    const double difference = a[MW_FIELD_REPORTED] - row->value[MW_COL_OF(other, MW_FIELD_REPORTED)];
    if (other == MW_ARM_REACTIVE)
        return (mw_interval){difference, unit * a[MW_FIELD_GAIN_LOW], unit * a[MW_FIELD_GAIN_HIGH]};
    double std;
    const int n = paired_seeds(row, ours, other, &std);
    return student(difference, std / sqrt(n), n - 1);
}

mw_interval mw_row_above_data(const mw_study_row *row, int arm) {
    const double *a = &row->value[MW_COL_OF(arm, 0)];
    const int n = seeds_of(row, arm);
    const double seeds = a[MW_FIELD_REPORTED_STD] / sqrt(n), data = unit_of(row) *
                                                                    row->value[MW_COL_DATA_RETURN_STD] /
                                                                    sqrt(row->value[MW_COL_DATA_EPISODES]);
    return student(a[MW_FIELD_REPORTED] - row->value[MW_COL_DATA], hypot(seeds, data), n - 1);
}

mw_interval mw_row_won(const mw_study_row *row, int ours, int other) {
    const double *a = &row->value[MW_COL_OF(ours, 0)], *b = &row->value[MW_COL_OF(other, 0)];
    const int n = seeds_of(row, ours);
    return student(a[MW_FIELD_WON] - b[MW_FIELD_WON],
                   hypot(a[MW_FIELD_WON_STD], b[MW_FIELD_WON_STD]) / sqrt(n), 2 * (n - 1));
}

double mw_row_p(const mw_study_row *row, int ours, int other) {
    double std;
    const mw_interval d = mw_row_difference(row, ours, other);
    const int n = other == MW_ARM_REACTIVE ? 1 : paired_seeds(row, ours, other, &std);
    return mw_interval_p(d.mean, d.low, d.high, n - 1);
}

bool mw_row_imagines(const mw_study_row *row) {
    static const char *const blind[] = {"", "advantage", "direct", "q"};
    for (size_t i = 0; i < sizeof blind / sizeof *blind; i++)
        if (!strcmp(row->scorer, blind[i])) return false;
    return true;
}

void mw_table_training_seeds(mw_study_table *table, const mw_study_table *others, int count) {
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        double *v = table->rows[i].value, deltas[MW_TABLE_SEEDS];
        int n = 0;
        if (!isnan(v[MW_COL_DELTA])) deltas[n++] = v[MW_COL_DELTA];
        for (int k = 0; k < count && n > 0 && n < MW_TABLE_SEEDS; k++)
            if (!isnan(others[k].rows[i].value[MW_COL_DELTA]))
                deltas[n++] = others[k].rows[i].value[MW_COL_DELTA];
        v[MW_COL_TRAINING_SEEDS] = n ? n : NAN;
        if (n < 2) continue;
        v[MW_COL_TRAINING_DELTA] = mw_mean(deltas, n);
        v[MW_COL_TRAINING_STD] = mw_std(deltas, n);
    }
}

static bool within(const mw_study_row *row, const char *family) {
    return !family || !strcmp(row->family, family);
}

/* With an interval of each row's difference, and what is to be thought of it: mw_interval_p. */
static mw_comparison compare(const mw_study_table *table, const char *family, mw_column_id ours,
                             mw_column_id other, const mw_interval difference[MW_TABLE_ROWS],
                             const double p[MW_TABLE_ROWS]) {
    double a[MW_TABLE_ROWS], b[MW_TABLE_ROWS], low[MW_TABLE_ROWS], high[MW_TABLE_ROWS];
    bool firm[MW_TABLE_ROWS]; /* with all settings looked at, whatever the family */
    int n = 0, wins = 0, losses = 0;
    mw_holm(firm, p, MW_TABLE_ROWS);
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &table->rows[i];
        if (!within(row, family)) continue;
        a[n] = row->value[ours];
        b[n] = row->value[other];
        low[n] = difference[i].low;
        high[n] = difference[i].high;
        wins += firm[i] && a[n] > b[n];
        losses += firm[i] && a[n] < b[n];
        n++;
    }
    mw_comparison c = mw_compare(a, b, low, high, n);
    c.firm_wins = wins;
    c.firm_losses = losses;
    return c;
}

mw_comparison mw_table_compare_arms(const mw_study_table *table, const char *family, int ours, int other) {
    mw_interval d[MW_TABLE_ROWS];
    double p[MW_TABLE_ROWS];
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        d[i] = mw_row_difference(&table->rows[i], ours, other);
        p[i] = mw_row_p(&table->rows[i], ours, other);
    }
    return compare(table, family, MW_COL_OF(ours, MW_FIELD_REPORTED), MW_COL_OF(other, MW_FIELD_REPORTED), d,
                   p);
}

mw_comparison mw_table_compare_data(const mw_study_table *table, const char *family, int arm) {
    mw_interval d[MW_TABLE_ROWS];
    double p[MW_TABLE_ROWS];
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        d[i] = mw_row_above_data(&table->rows[i], arm);
        p[i] = mw_interval_p(d[i].mean, d[i].low, d[i].high, seeds_of(&table->rows[i], arm) - 1);
    }
    return compare(table, family, MW_COL_OF(arm, MW_FIELD_REPORTED), MW_COL_DATA, d, p);
}

mw_comparison mw_table_compare_won(const mw_study_table *table, const char *family, int ours, int other) {
    mw_interval d[MW_TABLE_ROWS];
    double p[MW_TABLE_ROWS];
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        d[i] = mw_row_won(&table->rows[i], ours, other);
        p[i] = mw_interval_p(d[i].mean, d[i].low, d[i].high, 2 * (seeds_of(&table->rows[i], ours) - 1));
    }
    return compare(table, family, MW_COL_OF(ours, MW_FIELD_WON), MW_COL_OF(other, MW_FIELD_WON), d, p);
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
    return mw_mean_of(x, mw_table_collect(table, family, column, x));
}

double mw_table_quantile(const mw_study_table *table, const char *family, mw_column_id column, double q) {
    double x[MW_TABLE_ROWS];
    return mw_quantile_of(x, mw_table_collect(table, family, column, x), q);
}

double mw_table_median(const mw_study_table *table, const char *family, mw_column_id column) {
    return mw_table_quantile(table, family, column, 0.5);
}

double mw_table_sum(const mw_study_table *table, const char *family, mw_column_id column) {
    double x[MW_TABLE_ROWS], sum = 0;
    const int n = mw_table_collect(table, family, column, x);
    for (int i = 0; i < n; i++) sum += x[i];
    return sum;
}
