/* Settings as they are typed: lines of `--set` assignments to a preset. What is accepted is in its range: its
 * text and its JSON give the same settings again. */
#include "fuzz.h"

#include "train/preset.h"

/* The plan of a preset, field by field through its text. */
static void set_again(const mw_preset *preset) {
    mw_error error;
    mw_plan_settings again = {0};
    for (int i = 0; i < mw_plan_fields.count; i++) {
        char text[MW_WORD];
        mw_field_text(text, sizeof text, &mw_plan_fields.list[i], &preset->plan);
        if (mw_plan_fields.list[i].kind == MW_FIELD_WORD && !text[0]) return; /* nothing to type */
        FUZZ_EXPECT(mw_field_set(&mw_plan_fields.list[i], &again, text, "", &error) == MW_OK);
    }
}

static void read_again(const mw_preset *preset) {
    mw_error error;
    for (int i = 0; mw_model_class_at(i); i++) {
        const mw_fields fields = mw_model_class_at(i)->fields;
        mw_model_config config = {0};
        json_t *json = mw_fields_json(fields, &preset->config[i]);
        FUZZ_EXPECT(json && mw_fields_read(fields, &config, json, "settings", &error) == MW_OK);
        FUZZ_EXPECT(!mw_fields_difference(fields, &preset->config[i], &config));
        json_decref(json);
    }
}

/* Presets never change, so each is made once. */
static const mw_preset *preset_of(unsigned index) {
    static const char *const tasks[] = {"spread", "2ant", "3m", "own"};
    static mw_preset made[8];
    mw_preset *preset = &made[index % 8];
    if (preset->task[0]) return preset;
    *preset = mw_preset_of(tasks[index % 4], index & 4 ? MW_BUDGET_QUICK : MW_BUDGET_FULL);
    set_again(preset);
    return preset;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    mw_error error;
    char text[1024];
    unsigned set;
    bool accepted = true;
    if (size < 1 || size > sizeof text) return 0;
    const mw_preset *const before = preset_of(data[0]);
    mw_preset preset = *before;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    for (char *line = text, *next; line; line = next) {
        if ((next = strchr(line, '\n'))) *next++ = 0;
        mw_model_classes_parse(line, &set, &error);
        accepted = mw_preset_set(&preset, line, &error) == MW_OK && accepted;
    }
    accepted = mw_preset_check(&preset, &error) == MW_OK && accepted;
    fuzz_accepted += accepted;
    if (memcmp(&preset.plan, &before->plan, sizeof preset.plan)) set_again(&preset);
    if (fuzz_rarely(data, size)) read_again(&preset);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    return size > 1 ? 1 + fuzz_mutate_numbers(data + 1, size - 1, most - 1, seed)
                    : LLVMFuzzerMutate(data, size, most);
}
