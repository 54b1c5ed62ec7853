/* A dataset's folder: dataset.json and the columns, with their checksums made right again. What opens and
 * passes the check is reported on, split, normalised and drawn from. */
#include "fuzz.h"

#include "data/columns.h"
#include "data/stats.h"
#include "data/transition.h"
#include "data/window.h"

/* Puts the checksum of a column's data where the description has one. */
static void mend(char *json, size_t size, const char *column, const uint8_t *npy, size_t length) {
    const size_t start = length > 10 ? 10 + npy[8] + 256u * npy[9] : length;
    char key[40], sum[24];
    snprintf(key, sizeof key, "\"%s\"", column);
    snprintf(sum, sizeof sum, "%016llx",
             (unsigned long long)mw_hash(MW_HASH_START, npy + (start < length ? start : length),
                                         start < length ? length - start : 0));
    char *columns = memmem(json, size, "\"columns\"", 9);
    char *at = columns ? memmem(columns, (size_t)(json + size - columns), key, strlen(key)) : NULL;
    at = at ? memmem(at, (size_t)(json + size - at), "fnv1a64:", 8) : NULL;
    if (at && (size_t)(json + size - at) >= 24) memcpy(at + 8, sum, 16);
}

/* And what the description tells of returns, so that other rewards are no reason to be refused. */
static void mend_returns(mw_dataset *d) {
    double *returns = malloc((size_t)d->episodes * sizeof *returns);
    FUZZ_EXPECT(returns);
    long wins = 0;
    for (long e = 0; e < d->episodes; e++) {
        returns[e] = mw_dataset_return(d, e);
        wins += d->outcomes[e] == MW_ENDED_BY_VICTORY;
    }
    d->returns = mw_return_stats_of(returns, d->episodes);
    d->returns.won = (double)wins / (double)d->episodes;
    free(returns);
}

static void draw(const mw_dataset *d, const mw_split *split) {
    mw_error error;
    mw_data_stats stats;
    if (mw_data_stats_make(&stats, d, &split->train, 0.99, true, &error) != MW_OK) return;
    const mw_window_config config = {.context = 2,
                                     .future = 3,
                                     .obs_normalizer = &stats.obs_normalizer,
                                     .act_normalizer = d->spec.discrete ? NULL : &stats.act_normalizer,
                                     .discount = 0.99,
                                     .return_scale = 1};
    mw_window_rows windows;
    mw_transition_rows rows;
    if (split->train.transitions > 0 &&
        mw_window_rows_create(&windows, &d->spec, &config, 4, &error) == MW_OK) {
        mw_window_fill(&windows, 4, d, &config, &split->train, 1, 2, MW_BATCH_POLICY);
        mw_window_rows_free(&windows);
    }
    if (split->train.transitions > 0 && mw_transition_rows_create(&rows, &d->spec, 8, &error) == MW_OK) {
        mw_transition_fill(&rows, 8, d, &split->train, 1, 2, MW_BATCH_WORLD);
        mw_transition_rows_free(&rows);
    }
    mw_data_stats_free(&stats);
}

static void use(const mw_dataset *d) {
    static FILE *nowhere;
    mw_error error;
    mw_data_report *report = NULL;
    mw_split split;
    if (!nowhere) FUZZ_EXPECT(nowhere = fopen("/dev/null", "w"));
    if (mw_data_report_create(&report, d, NULL, &error) == MW_OK) {
        mw_data_report_text(report, nowhere);
        mw_data_report_json(report, nowhere, &error);
        mw_data_report_svg(report, fuzz_path("x.svg"), &error);
    }
    mw_data_report_free(report);
    if (mw_split_make(&split, d, MW_HELD_OUT, 0, &error) != MW_OK) return;
    draw(d, &split);
    mw_split_free(&split);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const fuzz_files f = fuzz_unpack(data, size);
    mw_error error;
    mw_dataset d;
    if (f.count < 1) return 0;
    char *json = malloc(f.size[0] + 1);
    FUZZ_EXPECT(json);
    memcpy(json, f.data[0], f.size[0]);
    for (int c = 0; c < MW_COLUMN_COUNT; c++) {
        char name[64];
        const bool there = c + 1 < f.count;
        snprintf(name, sizeof name, "%s.npy", mw_column_names[c]);
        if (there) mend(json, f.size[0], mw_column_names[c], f.data[c + 1], f.size[c + 1]);
        fuzz_put(name, there ? f.data[c + 1] : NULL, there ? f.size[c + 1] : 0);
    }
    fuzz_put(MW_DATASET_JSON, (const uint8_t *)json, f.size[0]);
    free(json);
    if (mw_dataset_open(&d, fuzz_path(""), &error) != MW_OK) return 0;
    mend_returns(&d);
    if (mw_dataset_check(&d, &error) == MW_OK) {
        use(&d);
        fuzz_accepted++;
    }
    mw_dataset_close(&d);
    return 0;
}

static size_t mutate_file(uint8_t *data, size_t size, size_t most, unsigned seed) {
    return size && data[0] == 0x93 ? fuzz_mutate_npy(data, size, most, seed)
                                   : fuzz_mutate_numbers(data, size, most, seed);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    return fuzz_mutate_files(data, size, most, seed, mutate_file);
}
