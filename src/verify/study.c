/* The study's statistics against recorded ones: study.json holds the settings' means and what follows from
 * them, bootstrap.safetensors the resamples of its interval. Any settings, families and selectors will do. */
#include "verify/diagnostics.h"

#include "core/file.h"
#include "core/json.h"
#include "core/tensor/safetensors.h"
#include "eval/statistics.h"
#include "report/analysis.h"
#include "verify/record.h"

#include <stdlib.h>
#include <string.h>

#define TOLERANCE 1e-9

/* The recorded settings as arrays. */
typedef struct {
    const char *path;
    const json_t *root;
    int count;
    const char *family[MW_ANALYSIS_MOST], *task[MW_ANALYSIS_MOST], *quality[MW_ANALYSIS_MOST];
    int family_of[MW_ANALYSIS_MOST], task_of[MW_ANALYSIS_MOST]; /* the first setting of the same */
    double reactive[MW_ANALYSIS_MOST], planning[MW_ANALYSIS_MOST], random[MW_ANALYSIS_MOST];
    double top2[MW_ANALYSIS_MOST], data[MW_ANALYSIS_MOST], gain[MW_ANALYSIS_MOST]; /* gain in percent */
} record;

static double number_of(const json_t *value) {
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static double number_at(const json_t *object, const char *key) {
    return number_of(json_object_get(object, key));
}

static int first_like(const char *const *names, int i) {
    int k = 0;
    while (strcmp(names[k], names[i])) k++;
    return k;
}

static mw_status settings_read(record *r, mw_error *error) {
    const json_t *list = json_object_get(r->root, "settings");
    if (!json_is_array(list) || json_array_size(list) < 1 || json_array_size(list) > MW_ANALYSIS_MOST)
        return mw_fail(error, MW_ERR_FORMAT, "%s: 'settings' must be an array of 1 to %d settings", r->path,
                       MW_ANALYSIS_MOST);
    r->count = (int)json_array_size(list);
    for (int i = 0; i < r->count; i++) {
        const json_t *entry = json_array_get(list, (size_t)i);
        MW_TRY(mw_json_get_string(entry, "family", r->path, &r->family[i], error));
        MW_TRY(mw_json_get_string(entry, "task", r->path, &r->task[i], error));
        MW_TRY(mw_json_get_string(entry, "quality", r->path, &r->quality[i], error));
        r->family_of[i] = first_like(r->family, i);
        r->task_of[i] = first_like(r->task, i);
        r->reactive[i] = number_at(entry, "reactive");
        r->planning[i] = number_at(entry, "planning");
        r->random[i] = number_at(entry, "random");
        r->top2[i] = number_at(entry, "top2");
        r->data[i] = number_at(entry, "data_return");
        r->gain[i] = r->reactive[i] == 0 ? (double)NAN
                                         : 100 * (r->planning[i] - r->reactive[i]) / fabs(r->reactive[i]);
    }
    return MW_OK;
}

/* A probability may be small, so it counts by its ratio. */
static double worst_p(double worst, double seen, const json_t *object, const char *key) {
    const double expected = number_at(object, key);
    return isnan(seen) && isnan(expected) ? worst : mw_verify_ratio(worst, seen, expected);
}

/* ---- comparisons ---- */

static mw_comparison family_compare(const record *r, const double *other, const char *family) {
    double a[MW_ANALYSIS_MOST], b[MW_ANALYSIS_MOST];
    int n = 0;
    for (int i = 0; i < r->count; i++) {
        if (strcmp(family, "all") && strcmp(family, r->family[i])) continue;
        a[n] = r->planning[i];
        b[n++] = other[i];
    }
    return mw_compare(a, b, NULL, NULL, n);
}

static void verify_families(const record *r, const char *key, const double *other, mw_verify *report) {
    const json_t *families = json_object_get(r->root, key), *expected;
    const char *family;
    json_object_foreach((json_t *)families, family, expected) {
        const mw_comparison c = family_compare(r, other, family);
        const struct {
            const char *key;
            double value;
        } seen[] = {
            {"settings", c.count},           {"positive", c.wins},           {"zero", c.ties},
            {"negative", c.losses},          {"mean_delta", c.difference},   {"aggregate", 100 * c.aggregate},
            {"mean_gain", 100 * c.relative}, {"median_gain", 100 * c.median}};
        double worst = worst_p(0, c.p, expected, "sign_p");
        for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
            worst = mw_verify_recorded(worst, seen[i].value, expected, seen[i].key);
        mw_verify_check(report, worst, TOLERANCE, "study: %.40s, %.40s", key, family);
    }
}

static void verify_signs(const record *r, mw_verify *report) {
    const json_t *cases = json_object_get(r->root, "sign_tests");
    double worst = 0;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *entry = json_array_get(cases, i);
        const double wins = number_at(entry, "positive"), losses = number_at(entry, "negative");
        if (!(wins >= 0 && wins < 1e6 && losses >= 0 && losses < 1e6) || wins != floor(wins) ||
            losses != floor(losses)) {
            worst = INFINITY; /* no counts */
            continue;
        }
        worst = worst_p(worst, mw_sign_test((long)wins, (long)losses), entry, "p");
    }
    if (cases) mw_verify_check(report, worst, TOLERANCE, "study: %zu sign tests", json_array_size(cases));
}

/* ---- two factors, quality ---- */

static void verify_factors(const record *r, mw_verify *report) {
    static const char *const names[2][2] = {
        {"reliability_low_headroom_low", "reliability_low_headroom_high"},
        {"reliability_high_headroom_low", "reliability_high_headroom_high"}};
    const json_t *expected = json_object_get(r->root, "two_factor");
    if (!expected) return;
    const json_t *rooms = json_object_get(expected, "headroom"), *cells = json_object_get(expected, "cells");
    double headroom[MW_ANALYSIS_MOST], worst = 0;
    mw_headrooms(headroom, r->reactive, r->family_of, r->count);
    for (int i = 0; i < r->count; i++)
        worst = mw_verify_value(worst, headroom[i], json_array_get(rooms, (size_t)i));
    if (json_array_size(rooms) != (size_t)r->count) worst = INFINITY;
    mw_verify_check(report, worst, TOLERANCE, "study: headroom");
    const mw_two_factor t = mw_two_factors(headroom, r->top2, r->gain, r->count);
    worst = mw_verify_recorded(0, t.headroom, expected, "median_headroom");
    worst = mw_verify_recorded(worst, t.reliability, expected, "median_top2");
    mw_verify_check(report, worst, TOLERANCE, "study: medians of headroom and reliability");
    worst = 0;
    for (int k = 0; k < 4; k++) {
        const json_t *cell = json_object_get(cells, names[k / 2][k % 2]);
        worst = mw_verify_recorded(worst, t.cells[k / 2][k % 2].count, cell, "count");
        worst = mw_verify_recorded(worst, t.cells[k / 2][k % 2].mean, cell, "mean_gain");
    }
    mw_verify_check(report, worst, TOLERANCE, "study: gain by headroom and reliability");
}

static void verify_quality(const record *r, mw_verify *report) {
    static const char *const names[MW_DATA_TIERS] = {"best", "middle", "worst"};
    const json_t *expected = json_object_get(r->root, "quality");
    if (!expected) return;
    const json_t *tiers = json_object_get(expected, "tiers"), *order = json_object_get(expected, "order");
    int place[MW_ANALYSIS_MOST], misplaced = 0, listed = 0;
    const mw_quality q = mw_quality_tiers(r->data, r->gain, r->task_of, r->count, place);
    for (int i = 0; i < r->count; i++) {
        const json_t *list = json_object_get(order, r->task[i]);
        const char *name = place[i] < 0 ? NULL : json_string_value(json_array_get(list, (size_t)place[i]));
        misplaced += !name || strcmp(name, r->quality[i]);
    }
    const char *task;
    json_t *list;
    json_object_foreach((json_t *)order, task, list) listed += (int)json_array_size(list);
    misplaced += abs(listed - r->count);
    mw_verify_check(report, misplaced, 0, "study: order of the tasks' datasets");
    double worst = 0;
    for (int k = 0; k < MW_DATA_TIERS; k++) {
        const json_t *tier = json_object_get(tiers, names[k]);
        worst = mw_verify_recorded(worst, q.tiers[k].count, tier, "count");
        worst = mw_verify_recorded(worst, q.tiers[k].mean, tier, "mean_gain");
    }
    mw_verify_check(report, worst, TOLERANCE, "study: gain by tier of data quality");
    worst = mw_verify_recorded(0, q.rises, expected, "worst_above_best");
    worst = mw_verify_recorded(worst, q.groups, expected, "tasks");
    worst = worst_p(worst, q.p, expected, "sign_p");
    mw_verify_check(report, worst, TOLERANCE, "study: tasks that gain more on their worst data");
}

/* ---- selectors ---- */

enum { MOST_SELECTORS = 32 };

/* Adds the object's keys to the names; beyond the last place they only count. */
static int add_names(const json_t *object, const char *names[MOST_SELECTORS], int n) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value) {
        int k = 0;
        while (k < n && k < MOST_SELECTORS && strcmp(names[k], name)) k++;
        if (k < n && k < MOST_SELECTORS) continue;
        if (n < MOST_SELECTORS) names[n] = name;
        n++;
    }
    return n;
}

/* The names of all selectors that a record tells of, ties going to the earlier: the paper's, then what else
 * has runs. */
static int selector_names(const json_t *table, const json_t *strongest, const char *names[MOST_SELECTORS]) {
    static const char *const order[] = {"rwm", "mono", "q", "direct", "independent"};
    int n = (int)(sizeof order / sizeof *order);
    memcpy(names, order, sizeof order);
    for (size_t i = 0; i < json_array_size(table); i++)
        n = add_names(json_object_get(json_array_get(table, i), "runs"), names, n);
    for (size_t i = 0; i < json_array_size(table); i++) {
        n = add_names(json_object_get(json_array_get(table, i), "mean"), names, n);
        n = add_names(json_object_get(json_array_get(table, i), "deviation"), names, n);
    }
    return add_names(strongest, names, n);
}

/* Means of one setting's selectors, NaN where one has no runs; with the std they are held against the file.
 */
static void selector_means(const json_t *entry, const char *const *names, int count, double *means,
                           double *worst) {
    for (int k = 0; k < count; k++) {
        const json_t *runs = json_object_get(json_object_get(entry, "runs"), names[k]);
        double x[MW_ANALYSIS_MOST];
        int n = 0;
        for (size_t i = 0; i < json_array_size(runs) && n < MW_ANALYSIS_MOST; i++)
            x[n++] = number_of(json_array_get(runs, i));
        means[k] = n ? mw_mean(x, n) : (double)NAN;
        *worst = mw_verify_recorded(*worst, means[k], json_object_get(entry, "mean"), names[k]);
        *worst = mw_verify_recorded(*worst, n ? mw_std(x, n) : (double)NAN,
                                    json_object_get(entry, "deviation"), names[k]);
    }
}

static bool named(const json_t *entry, const char *key, const char *const *names, int index) {
    const char *expected = json_string_value(json_object_get(entry, key));
    return index >= 0 && expected && !strcmp(expected, names[index]);
}

static void verify_selectors(const record *r, mw_verify *report) {
    const json_t *expected = json_object_get(r->root, "selectors"),
                 *table = json_object_get(expected, "table"),
                 *strongest = json_object_get(expected, "strongest_alternative");
    if (!expected) return;
    double worst = 0, counts = 0;
    int wrong = 0, firsts = 0, alternatives[MOST_SELECTORS] = {0};
    const char *names[MOST_SELECTORS];
    const int told = selector_names(table, strongest, names),
              count = told < MOST_SELECTORS ? told : MOST_SELECTORS;
    for (size_t i = 0; i < json_array_size(table); i++) {
        const json_t *entry = json_array_get(table, i);
        double means[MOST_SELECTORS];
        selector_means(entry, names, count, means, &worst);
        const mw_selection s = mw_select(means, count);
        wrong += !named(entry, "best", names, s.best) +
                 !named(entry, "strongest_alternative", names, s.alternative);
        firsts += s.best == 0;
        if (s.alternative >= 0) alternatives[s.alternative]++;
    }
    mw_verify_check(report, worst, TOLERANCE, "study: selectors' mean and std");
    wrong += told - count; /* more than can be compared */
    mw_verify_check(report, wrong, 0, "study: best selector, strongest alternative");
    counts = mw_verify_recorded(counts, firsts, expected, "rwm_best");
    for (int k = 1; k < count; k++) {
        const json_t *times = json_object_get(strongest, names[k]); /* one that never was need not be there */
        counts = mw_verify_worst(counts, alternatives[k], times ? number_of(times) : 0);
    }
    mw_verify_check(report, counts, 0, "study: how often each selector is best");
}

/* ---- bootstrap ---- */

static mw_status resampled(const record *r, const mw_safetensors *file, mw_verify *report, mw_error *error) {
    const json_t *expected = json_object_get(r->root, "bootstrap"),
                 *values = json_object_get(expected, "values");
    const mw_tensor *index = mw_safetensors_find(file, "in.index");
    const size_t n = json_array_size(values);
    if (!index || index->dims != 2 || n < 1 || n > MW_ANALYSIS_MOST || index->shape[1] != n ||
        index->shape[0] < 1 || index->shape[0] > 1000000)
        return mw_fail(error, MW_ERR_FORMAT, "%s: 'in.index' must be [resamples][%zu values of %s]",
                       file->path, n, r->path);
    const size_t rows = index->shape[0];
    float *places = malloc(rows * n * sizeof *places);
    double *means = calloc(rows, sizeof *means), x[MW_ANALYSIS_MOST];
    mw_status status =
        places && means ? MW_OK : mw_fail(error, MW_ERR_MEMORY, "cannot keep %zu resamples", rows);
    for (size_t i = 0; i < n; i++) x[i] = number_of(json_array_get(values, i));
    if (status == MW_OK) mw_dtype_to_floats(index->type, index->data, rows * n, places);
    for (size_t k = 0; status == MW_OK && k < rows * n; k++) {
        if (places[k] >= 0 && places[k] < (float)n)
            means[k / n] += x[(size_t)places[k]] / (double)n;
        else
            status = mw_fail(error, MW_ERR_FORMAT, "%s: 'in.index' names value %g of %zu", file->path,
                             (double)places[k], n);
    }
    if (status == MW_OK) {
        const mw_interval seen = mw_interval_of_means(mw_mean(x, (long)n), means, (long)rows);
        double worst = mw_verify_recorded(0, seen.mean, expected, "mean");
        const json_t *told = json_object_get(expected, "resamples");
        if (told) worst = mw_verify_value(worst, (double)rows, told);
        worst = mw_verify_recorded(worst, seen.low, expected, "low");
        worst = mw_verify_recorded(worst, seen.high, expected, "high");
        mw_verify_check(report, worst, TOLERANCE, "study: percentile bootstrap of %zu resamples", rows);
    }
    free(places);
    free(means);
    return status;
}

static mw_status verify_bootstrap(const record *r, const char *dir, mw_verify *report, mw_error *error) {
    char path[4096];
    mw_safetensors file;
    snprintf(path, sizeof path, "%s/bootstrap.safetensors", dir);
    if (!json_object_get(r->root, "bootstrap")) return MW_OK;
    MW_TRY(mw_safetensors_open(&file, path, error));
    const mw_status status = resampled(r, &file, report, error);
    mw_safetensors_close(&file);
    return status;
}

/* ---- the file ---- */

mw_status mw_verify_study(const char *dir, int *found, mw_verify *report, mw_error *error) {
    char path[4096];
    json_t *root;
    snprintf(path, sizeof path, "%s/study.json", dir);
    if (!mw_file_exists(path)) return MW_OK;
    ++*found;
    MW_TRY(mw_json_read(&root, path, error));
    record *r = calloc(1, sizeof *r);
    mw_status status = r ? MW_OK : mw_fail(error, MW_ERR_MEMORY, "cannot read %s", path);
    if (status == MW_OK) {
        r->path = path;
        r->root = root;
        status = settings_read(r, error);
    }
    if (status == MW_OK) {
        verify_families(r, "versus_reactive", r->reactive, report);
        verify_families(r, "versus_random", r->random, report);
        verify_signs(r, report);
        verify_factors(r, report);
        verify_quality(r, report);
        verify_selectors(r, report);
        status = verify_bootstrap(r, dir, report, error);
    }
    free(r);
    json_decref(root);
    return status;
}
