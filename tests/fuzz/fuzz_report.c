/* The report's inputs: one result of the study, put where the setting that it names belongs; tables, charts
 * and pages are made of it. */
#include "fuzz.h"

#include "behavior/settings.h"
#include "core/json.h"

#include <mawam/study.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    mw_error error;
    json_t *value;
    int present;
    char name[96], folder[256];
    if (mw_json_parse(&value, (const char *)data, size, "input", &error) != MW_OK) return 0;
    const char *setting = json_string_value(json_object_get(value, "setting"));
    const mw_setting *known = mw_setting_at(0);
    for (int i = 0; setting && mw_setting_at(i); i++) {
        snprintf(name, sizeof name, "%s-%s", mw_setting_at(i)->task, mw_setting_at(i)->quality);
        if (!strcmp(name, setting)) known = mw_setting_at(i);
    }
    json_decref(value);
    snprintf(name, sizeof name, "results/%s-%s.json", known->task, known->quality);
    FUZZ_EXPECT(mw_dir_make(fuzz_path("results"), &error) == MW_OK);
    fuzz_put(name, data, size);
    snprintf(folder, sizeof folder, "%s", fuzz_path(""));
    const char *const folders[] = {folder};
    if (mw_study_report(folders, 1, fuzz_path("report"), true, &present, &error) == MW_OK) fuzz_accepted++;
    fuzz_put(name, NULL, 0);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    return fuzz_mutate_numbers(data, size, most, seed);
}
