/* The same-state table and the cost table against recorded ones: their inputs lie in safetensors files, the
 * results in study.json next to them. */
#include "core/file.h"
#include "core/json.h"
#include "core/tensor/safetensors.h"
#include "eval/metrics.h"
#include "study/cost.h"
#include "verify/diagnostics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE 1e-9

enum { MOST = 1 << 22 }; /* values of a tensor */

typedef struct {
    mw_safetensors file;
    json_t *root;
} tables;

/* false with MW_OK: there is no such file, and study.json expects none. */
static mw_status tables_open(tables *t, bool *there, const char *dir, const char *name, mw_error *error) {
    char path[4096], study[4096];
    snprintf(path, sizeof path, "%s/%s.safetensors", dir, name);
    snprintf(study, sizeof study, "%s/study.json", dir);
    *there = mw_file_exists(path);
    if (!*there && !mw_file_exists(study)) return MW_OK;
    MW_TRY(mw_json_read(&t->root, study, error)); /* half of a record proves nothing */
    if (!*there && !json_object_get(t->root, name)) {
        json_decref(t->root);
        return MW_OK;
    }
    *there = true;
    const mw_status status = mw_safetensors_open(&t->file, path, error);
    if (status != MW_OK) json_decref(t->root);
    return status;
}

static void tables_close(tables *t) {
    mw_safetensors_close(&t->file);
    json_decref(t->root);
}

/* The values of a tensor with so many dimensions, to be freed, and its shape. */
static mw_status values_of(float **out, const mw_tensor **tensor, const tables *t, const char *name, int dims,
                           mw_error *error) {
    long shape[8];
    *tensor = mw_safetensors_find(&t->file, name);
    if (!*tensor || (*tensor)->dims != dims || (*tensor)->count < 1 || (*tensor)->count > MOST)
        return mw_fail(error, MW_ERR_FORMAT, "%s: tensor '%s' is missing, too large or has no %d dimensions",
                       t->file.path, name, dims);
    for (int i = 0; i < dims; i++) shape[i] = (long)(*tensor)->shape[i];
    *out = malloc((*tensor)->count * sizeof **out);
    if (!*out) return mw_fail(error, MW_ERR_MEMORY, "cannot read '%s'", name);
    return mw_safetensors_floats(&t->file, name, dims, shape, *out, error);
}

static double recorded(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* ---- same state ---- */

static mw_status check_ranking(const tables *t, const float *real, const float *guess, int states, int size,
                               mw_verify *report, mw_error *error) {
    const json_t *expected = json_object_get(t->root, "same_state");
    mw_ranking r;
    double regret, random;
    MW_TRY(mw_ranking_of(&r, real, guess, states, size, error));
    mw_random_choice(&regret, &random, real, states, size);
    const struct {
        const char *key;
        double seen;
    } figures[] = {{"top1", r.top1},
                   {"top2", r.top2},
                   {"spearman_mean", r.spearman_within},
                   {"pair_accuracy_mean", r.pair_accuracy_within},
                   {"pair_accuracy_pooled", r.pair_accuracy},
                   {"regret", r.regret},
                   {"normalized_regret", r.normalized_regret},
                   {"random_normalized_regret", random}};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        mw_verify_check(report, mw_verify_recorded(0, figures[i].seen, expected, figures[i].key), TOLERANCE,
                        "same state: %s of %d states", figures[i].key, states);
    return MW_OK;
}

mw_status mw_verify_ranking(const char *dir, int *found, mw_verify *report, mw_error *error) {
    tables t;
    bool there;
    const mw_tensor *a, *b;
    float *real = NULL, *guess = NULL;
    MW_TRY(tables_open(&t, &there, dir, "same_state", error));
    if (!there) return MW_OK;
    ++*found;
    mw_status status = values_of(&real, &a, &t, "in.realized", 2, error);
    if (status == MW_OK) status = values_of(&guess, &b, &t, "in.predicted", 2, error);
    if (status == MW_OK && (a->shape[0] != b->shape[0] || a->shape[1] != b->shape[1]))
        status = mw_fail(error, MW_ERR_FORMAT, "%s: realised and predicted differ in shape", t.file.path);
    if (status == MW_OK)
        status = check_ranking(&t, real, guess, (int)a->shape[0], (int)a->shape[1], report, error);
    free(real);
    free(guess);
    tables_close(&t);
    return status;
}

/* ---- cost ---- */

/* The m-th count of candidates by the words for the axes of times ("M in 1 2 4"); 0: they do not say. */
static long told_count(const char *axes, int m) {
    static const char begin[] = "M in ";
    const char *at = axes ? strstr(axes, begin) : NULL;
    long count = 0;
    if (!at) return 0;
    at += strlen(begin);
    for (int k = 0; k <= m; k++) {
        char *end;
        count = strtol(at, &end, 10);
        at = end;
    }
    return count;
}

/* times[settings][counts][repeats][steps][2] */
static void check_cost(const tables *t, const double *times, const size_t *shape, mw_verify *report) {
    const json_t *rows = json_object_get(t->root, "cost");
    const double more = (double)json_array_size(rows) - (double)shape[1];
    for (int m = 0; m < (int)shape[1]; m++) {
        const json_t *row = json_array_get(rows, (size_t)m);
        const mw_cost_point seen =
            mw_cost_mean(times, (int)shape[0], (int)shape[1], (int)shape[2], (int)shape[3], m);
        double worst = mw_verify_recorded(0, seen.generate, row, "generate");
        worst = mw_verify_recorded(worst, seen.score, row, "score");
        worst = mw_verify_recorded(worst, seen.total, row, "total");
        worst = mw_verify_recorded(worst, seen.share, row, "share");
        const long told = told_count(mw_safetensors_meta(&t->file, "axes"), m);
        if (told) worst = mw_verify_recorded(worst, (double)told, row, "M");
        mw_verify_check(report, worst, TOLERANCE, "cost: means at M=%g", recorded(row, "M"));
    }
    mw_verify_check(report, fabs(more), 0, "cost: rows without times");
}

mw_status mw_verify_cost(const char *dir, int *found, mw_verify *report, mw_error *error) {
    tables t;
    bool there;
    const mw_tensor *tensor;
    float *values = NULL;
    MW_TRY(tables_open(&t, &there, dir, "cost", error));
    if (!there) return MW_OK;
    ++*found;
    mw_status status = values_of(&values, &tensor, &t, "in.times", 5, error);
    if (status == MW_OK && tensor->shape[4] != 2)
        status = mw_fail(error, MW_ERR_FORMAT, "%s: 'in.times' holds %zu times of a step, not 2", t.file.path,
                         tensor->shape[4]);
    double *times = status == MW_OK ? malloc(tensor->count * sizeof *times) : NULL;
    if (status == MW_OK && !times) status = mw_fail(error, MW_ERR_MEMORY, "cannot keep the times");
    for (size_t i = 0; status == MW_OK && i < tensor->count; i++) times[i] = values[i];
    if (status == MW_OK) check_cost(&t, times, tensor->shape, report);
    free(times);
    free(values);
    tables_close(&t);
    return status;
}
