/* What the targets of the importers share: what is imported is a dataset that passes its check. */
#ifndef MW_TESTS_FUZZ_IMPORT_H
#define MW_TESTS_FUZZ_IMPORT_H

#include "fuzz.h"

#include "data/exchange/import.h"

static inline void fuzz_import(mw_import_fn *importer, const char *source) {
    mw_error error;
    mw_import_report report;
    mw_dataset d;
    char from[256], folder[256];
    snprintf(from, sizeof from, "%s", source);
    snprintf(folder, sizeof folder, "%s", fuzz_path("imported"));
    mw_import_request request = {.source = from, .folder = folder, .task = "toy"};
    mw_import_options_init(&request.options, sizeof request.options);
    request.options.command = "fuzz";
    request.options.episode_limit = 5;
    request.options.overwrite = true;
    if (importer(&request, &report, &error) != MW_OK) return;
    FUZZ_EXPECT(mw_dataset_open(&d, folder, &error) == MW_OK);
    FUZZ_EXPECT(mw_dataset_check(&d, &error) == MW_OK);
    FUZZ_EXPECT(d.steps == report.steps && d.episodes == report.episodes);
    mw_dataset_close(&d);
    mw_dataset_remove(folder);
    fuzz_accepted++;
}

#endif
