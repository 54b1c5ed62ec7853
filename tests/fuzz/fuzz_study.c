/* The study's record of stages: what is read of it when a study goes on, and which seeds it says were played.
 * The study is stopped before it does anything. */
#include "fuzz.h"

#include "study/played.h"

#include <mawam/study.h>

/* What a line says is said again by what is made of it. */
static void check_plays(const char *text) {
    mw_error error;
    mw_played played = {0}, again = {0};
    const mw_play own = {.label = "spread-medium", .player = "0123456789abcdef", .first = 21000, .count = 5};
    for (const char *line = text; *line;) {
        const size_t length = strcspn(line, "\n");
        json_t *root = NULL;
        if (mw_json_parse(&root, line, length, "a line", &error) == MW_OK)
            mw_played_recall(&played, root, &error);
        json_decref(root);
        line += length + (line[length] == '\n');
    }
    fuzz_accepted += played.count;
    mw_played_check(&played, &own, &error);
    for (int i = 0; i < played.count; i++) {
        json_t *root = json_pack("{s:s, s:o}", "setting", played.plays[i].label, "played",
                                 mw_play_json(&played.plays[i]));
        if (root) FUZZ_EXPECT(mw_played_recall(&again, root, &error) == MW_OK);
        json_decref(root);
    }
    for (int i = 0; i < again.count && again.count == played.count; i++)
        FUZZ_EXPECT(again.plays[i].first == played.plays[i].first &&
                    again.plays[i].count == played.plays[i].count);
    mw_played_free(&played);
    mw_played_free(&again);
}

static void resume(const uint8_t *data, size_t size) {
    static mw_stop_flag stop = 1;
    static char folder[256];
    mw_error error;
    mw_study_options options;
    const mw_setting *setting;
    int failed;
    snprintf(folder, sizeof folder, "%s", fuzz_path("study"));
    FUZZ_EXPECT(mw_dir_make(folder, &error) == MW_OK &&
                mw_setting_find(&setting, "spread-medium", &error) == MW_OK);
    fuzz_put("study/stages.jsonl", data, size);
    mw_study_options_init(&options, sizeof options);
    options.folder = folder;
    options.resume = true;
    options.settings = &setting;
    options.count = 1;
    options.stop = &stop;
    FUZZ_EXPECT(mw_study_run(&options, &failed, &error) != MW_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    FUZZ_EXPECT(text);
    memcpy(text, data, size);
    text[size] = 0;
    check_plays(text);
    free(text);
    if (fuzz_rarely(data, size)) resume(data, size);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    return fuzz_mutate_numbers(data, size, most, seed);
}
