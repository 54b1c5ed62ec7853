/* What a training left: the first byte says whether the rest is a checkpoint as it is, a checkpoint whose
 * checksum is made right again, or the lines of a log. */
#include "fuzz.h"

#include "train/training_log.h"

enum { WEIGHTS = 4, PARTS = 2 };

/* A training of two parts with few weights, as created; what a checkpoint holds goes into them. */
static mw_training_state *fresh_state(void) {
    static const char *const names[PARTS] = {"inverse", "rwm"};
    static float arrays[PARTS][5][WEIGHTS];
    static mw_optimizer optimizers[PARTS];
    static mw_training_part parts[PARTS];
    static mw_model models[PARTS];
    static mw_training_state state;
    if (!state.count) mw_provenance_init(&state.identity, "0123456789abcdef", 7, 0.1, 1);
    state.count = PARTS;
    for (int i = 0; i < PARTS; i++) {
        float(*a)[WEIGHTS] = arrays[i];
        models[i].kind = mw_model_class_at(mw_model_class_index(names[i]));
        mw_fields_defaults(models[i].kind->fields, &models[i].config);
        optimizers[i] = (mw_optimizer){
            .groups = 1, .total = WEIGHTS, .values = a[0], .average = a[1], .m = a[2], .v = a[3]};
        parts[i] = (mw_training_part){.name = names[i],
                                      .losses = 1 + i,
                                      .loss_names = {i ? "dynamics" : "inverse", "reward"},
                                      .optimizer = &optimizers[i],
                                      .best_values = i ? a[4] : NULL,
                                      .total = WEIGHTS,
                                      .steps = 1000};
        state.part[i] = &parts[i];
        state.model[i] = &models[i];
    }
    return &state;
}

static uint64_t training_text(const mw_safetensors *file) {
    const char *text = mw_safetensors_meta(file, "training");
    return mw_hash(MW_HASH_START, text ? text : "", text ? strlen(text) : 0);
}

static void load(const uint8_t *data, size_t size, bool mended) {
    mw_error error;
    double seconds, again;
    mw_training_state *state = fresh_state();
    uint8_t *copy = malloc(size + 1);
    FUZZ_EXPECT(copy);
    memcpy(copy, data, size);
    if (mended) fuzz_seal(copy, size, training_text);
    const char *path = fuzz_file(copy, size);
    free(copy);
    if (mw_checkpoint_load(path, state, &seconds, &error) != MW_OK) return;
    fuzz_accepted++;
    for (int i = 0; i < state->count; i++)
        FUZZ_EXPECT(state->part[i]->step >= 0 && state->part[i]->step <= state->part[i]->steps);
    if (mw_checkpoint_save(fuzz_path("checkpoint"), state, seconds, &error) != MW_OK) return;
    FUZZ_EXPECT(mw_checkpoint_load(fuzz_path("checkpoint"), state, &again, &error) == MW_OK);
}

static void read_log(const uint8_t *data, size_t size) {
    mw_error error;
    json_t *summary;
    mw_training_state *state = fresh_state();
    fuzz_put("log.jsonl", data, size);
    mw_training_log_draw(fuzz_path("log.jsonl"), state, "title", fuzz_path("log.svg"), &error);
    for (int i = 0; i < state->count; i++)
        if (mw_training_log_summary(&summary, fuzz_path("log.jsonl"), state, state->part[i], &error) == MW_OK)
            json_decref(summary);
    state->part[0]->step = 2;
    if (mw_training_log_rewind(fuzz_path("log.jsonl"), state, &error) != MW_OK) return;
    fuzz_accepted++;
    FUZZ_EXPECT(mw_training_log_rewind(fuzz_path("log.jsonl"), state, &error) == MW_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    if (data[0] % 4 == 0)
        read_log(data + 1, size - 1);
    else
        load(data + 1, size - 1, data[0] % 4 != 1);
    return 0;
}

/* A checkpoint in the present format, to be mended after changes. */
static size_t fresh(uint8_t *data, size_t most) {
    mw_error error;
    mw_map map;
    mw_training_state *state = fresh_state();
    state->part[0]->step = 5;
    FUZZ_EXPECT(mw_checkpoint_save(fuzz_path("fresh"), state, 1.5, &error) == MW_OK);
    FUZZ_EXPECT(mw_map_open(&map, fuzz_path("fresh"), &error) == MW_OK);
    const size_t size = map.size < most ? 1 + map.size : 0;
    if (size) memcpy(data + 1, map.data, map.size);
    data[0] = 2;
    mw_map_close(&map);
    return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    if (size < 2 || seed % 256 == 0) return fresh(data, most); /* often, whatever the format of the rest */
    return 1 + (data[0] % 4 == 0 ? fuzz_mutate_numbers : fuzz_mutate_safetensors)(data + 1, size - 1,
                                                                                  most - 1, seed);
}
