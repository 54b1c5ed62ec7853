/* What `mawam verify net` runs: finds the recorded numbers of a folder and has each kind checked; the
 * normaliser and the metrics, which are small, here. */
#include "verify/record.h"

#include "core/file.h"
#include "core/numbers.h"
#include "eval/metrics.h"
#include "nn/normalizer.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- normaliser and metrics ---- */

static mw_status verify_normalizer(mw_record *r, mw_verify *report, mw_error *error) {
    const char *kind = mw_safetensors_meta(&r->file, "kind");
    if (kind && strcmp(kind, "cdf"))
        return mw_fail(error, MW_ERR_MISMATCH, "%s: a normaliser of kind '%.40s'; expected 'cdf'",
                       r->file.path, kind);
    const mw_tensor *data = mw_safetensors_find(&r->file, "data"),
                    *query = mw_safetensors_find(&r->file, "query");
    if (!data || !query || data->dims != 2 || query->dims != 2 || data->shape[1] != query->shape[1] ||
        data->shape[0] < 2 || data->shape[0] > 1000000 || data->shape[1] > 1000)
        return mw_fail(error, MW_ERR_FORMAT, "%s: tensors 'data' and 'query' are not [rows][features]",
                       r->file.path);
    const size_t rows = data->shape[0], features = data->shape[1], count = query->count;
    const float *values = mw_record_floats(r, "data", data->count, error),
                *unit = mw_record_floats(r, "unit", count, error);
    float *seen = mw_record_floats(r, "query", count, error);
    const float *normalized = mw_record_floats(r, "normalized", count, error),
                *raw = mw_record_floats(r, "unnormalized", count, error);
    if (!values || !unit || !seen || !normalized || !raw) return MW_ERR_FORMAT;
    mw_normalizer normalizer;
    MW_TRY(mw_normalizer_create(&normalizer, (int)features, (int)rows, error));
    float *column = malloc(rows * sizeof *column);
    for (size_t f = 0; column && f < features; f++) {
        for (size_t i = 0; i < rows; i++) column[i] = values[i * features + f];
        mw_normalizer_fit(&normalizer, (int)f, column, (long)rows, NULL);
    }
    mw_normalizer_forward(&normalizer, seen, (long)(count / features));
    mw_verify_check(report, mw_relative_error(seen, normalized, count), MW_OUTPUT_TOLERANCE,
                    "normaliser: forward");
    memcpy(seen, unit, count * sizeof *seen);
    mw_normalizer_inverse(&normalizer, seen, (long)(count / features));
    mw_verify_check(report, mw_relative_error(seen, raw, count), MW_OUTPUT_TOLERANCE, "normaliser: inverse");
    mw_normalizer_free(&normalizer);
    free(column);
    return column ? MW_OK : mw_fail(error, MW_ERR_MEMORY, "cannot allocate the normaliser's check");
}

static mw_status verify_metrics(mw_record *r, mw_verify *report, mw_error *error) {
    const mw_tensor *groups = mw_safetensors_find(&r->file, "realized");
    if (!groups || groups->dims != 2 || groups->shape[0] > 1000000 || groups->shape[1] > 1000)
        return mw_fail(error, MW_ERR_FORMAT, "%s: tensor 'realized' is not [groups][size]", r->file.path);
    const float *realized = mw_record_floats(r, "realized", groups->count, error);
    const float *predicted = mw_record_floats(r, "predicted", groups->count, error);
    if (!realized || !predicted) return MW_ERR_FORMAT;
    mw_ranking m;
    MW_TRY(mw_ranking_of(&m, realized, predicted, (int)groups->shape[0], (int)groups->shape[1], error));
    const struct {
        const char *name;
        double value;
    } metrics[] = {{"pearson", m.pearson},
                   {"spearman", m.spearman},
                   {"top1", m.top1},
                   {"top2", m.top2},
                   {"regret", m.regret},
                   {"pair_accuracy", m.pair_accuracy},
                   {"normalized_regret", m.normalized_regret}};
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        bool there;
        double expected;
        MW_TRY(mw_record_number(r, metrics[i].name, &there, &expected, error));
        if (!there) continue;
        const bool undefined = isnan(metrics[i].value) && isnan(expected);
        mw_verify_check(report, undefined ? 0 : fabs(metrics[i].value - expected), 1e-6, "metrics: %s",
                        metrics[i].name);
    }
    return MW_OK;
}

/* ---- the folder ---- */

typedef mw_status verify_fn(mw_record *r, mw_verify *report, mw_error *error);

/* What a task's folder may hold. */
static const struct {
    const char *file;
    verify_fn *verify; /* NULL: a selector of that name */
} networks[] = {{"world", mw_verify_world},
                {"policy", mw_verify_policy},
                {"mono", NULL},
                {"independent", NULL},
                {"q", NULL},
                {"direct", NULL}};

/* `verify` NULL: a selector. */
static mw_status verify_file(const char *path, const char *what, const char *name, verify_fn *verify,
                             int *found, mw_verify *report, mw_error *error) {
    mw_record r = {.what = what};
    if (!mw_file_exists(path)) return MW_OK;
    ++*found;
    MW_TRY(mw_safetensors_open(&r.file, path, error));
    mw_status status = verify ? verify(&r, report, error) : mw_verify_selector(&r, name, report, error);
    mw_record_close(&r);
    return status;
}

static mw_status verify_task(const char *dir, const char *task, int *found, mw_verify *report,
                             mw_error *error) {
    char path[4096], what[320];
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        snprintf(path, sizeof path, "%s/%s/%s.safetensors", dir, task, networks[i].file);
        snprintf(what, sizeof what, "%s %s", task, networks[i].file);
        MW_TRY(verify_file(path, what, networks[i].file, networks[i].verify, found, report, error));
    }
    return MW_OK;
}

mw_status mw_verify_net(const char *dir, mw_verify *report, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED(dir);
    MW_NEED(report);
    struct dirent **entries = NULL;
    const int count = scandir(dir, &entries, NULL, alphasort);
    if (count < 0) return mw_fail(error, MW_ERR_IO, "%s: cannot read this folder", dir);
    mw_status status = MW_OK;
    int found = 0;
    char path[4096];
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        if (name[0] != '.' && status == MW_OK) status = verify_task(dir, name, &found, report, error);
        free(entries[i]);
    }
    free(entries);
    snprintf(path, sizeof path, "%s/normalizer.safetensors", dir);
    if (status == MW_OK)
        status = verify_file(path, "normaliser", "", verify_normalizer, &found, report, error);
    snprintf(path, sizeof path, "%s/metrics.safetensors", dir);
    if (status == MW_OK) status = verify_file(path, "metrics", "", verify_metrics, &found, report, error);
    snprintf(path, sizeof path, "%s/direct_windows.json", dir);
    if (status == MW_OK && mw_file_exists(path)) {
        found++;
        status = mw_verify_windows(path, report, error);
    }
    if (status == MW_OK && !found)
        status = mw_fail(error, MW_ERR_FORMAT,
                         "%s: found no */world.safetensors, */policy.safetensors, */mono.safetensors and "
                         "other selectors, normalizer.safetensors, metrics.safetensors or "
                         "direct_windows.json to check",
                         dir);
    return status;
}
