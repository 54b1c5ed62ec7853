/* A bundle and what is done with it: a file that describes a bundle of a built-in task, its first byte for
 * the weights, and a file of operations on the live view's worlds, two bytes each. What opens obeys or
 * refuses every one of them and stands where it says, then plays on to the end of an episode; some of them
 * are evaluated and diagnosed too. */
#include "described_bundle.h"
#include "small_duel.h"

#include "live/frame.h"

enum { MOST_OPERATIONS = 64, CHEAP = 1 << 20 /* numbers times candidates times steps of sampling */ };

static void print_all(const mw_duel *duel) {
    void (*const texts[])(const mw_duel *, FILE *) = {mw_frame_print, mw_frame_about, mw_frame_history};
    for (int i = 0; i < 4; i++) {
        mw_error error;
        mw_text text;
        FUZZ_EXPECT(mw_text_open(&text, &error) == MW_OK);
        if (i < 2) fputc('{', text.stream);
        if (i < 3)
            texts[i](duel, text.stream);
        else
            FUZZ_EXPECT(mw_frame_replay(duel, text.stream, &error) == MW_OK);
        if (i < 2) fputc('}', text.stream);
        FUZZ_EXPECT(mw_text_close(&text, &error) == MW_OK);
        json_t *value = i < 3 ? json_loadb(text.bytes, text.size, 0, NULL) : NULL;
        FUZZ_EXPECT(i == 3 || json_is_object(value));
        json_decref(value);
        free(text.bytes);
    }
}

static mw_status operate(mw_duel *duel, uint8_t what, uint8_t how, mw_error *error) {
    static const char *const settings[] = {"candidates", "horizon",    "sampling_steps", "temperature",
                                           "caution",    "warm_start", "scorer",         "choice",
                                           "target",     "recombine",  "return_to_go"};
    static const char *const values[] = {"1",   "2",   "4",      "0",      "-1", "on",
                                         "off", "rwm", "oracle", "random", "1e6"};
    const int step = how % (duel->last + 2);
    const float place[2] = {(float)(how % 7) - 3, (float)(how % 5) - 2};
    switch (what % 8) {
    case 0:
    case 1:
        return mw_duel_advance(duel, error);
    case 2:
        return mw_duel_seek(duel, step, error);
    case 3:
        return mw_duel_force(duel, step, how / 16, error);
    case 4:
        return mw_duel_set(duel, settings[what / 8 % 11], values[how % 11], error);
    case 5:
        return mw_duel_arm(duel, mw_arm_name(how % 8) ? mw_arm_name(how % 8) : "", error);
    case 6:
        return mw_duel_place(duel, step, how % 2 ? "agent" : "landmark", how / 2 % 4, place, error);
    default:
        return what & 128 ? mw_duel_begin(duel, how, 0, error) : MW_OK;
    }
}

static void play(mw_duel *duel, const uint8_t *data, size_t size, size_t floats) {
    mw_error error;
    mw_status status = MW_OK;
    const size_t cost = floats * (size_t)(duel->plan.candidates * duel->plan.sampling_steps);
    for (size_t i = 0; i + 2 <= size && i < 2 * MOST_OPERATIONS; i += 2) {
        fuzz_accepted += operate(duel, data[i], data[i + 1], &error) == MW_OK;
        check_duel(duel);
    }
    print_all(duel);
    const int limit = cost > CHEAP ? 2 : duel->world->episode_limit;
    for (int t = 0; t < limit && status == MW_OK; t++) {
        status = mw_duel_advance(duel, &error);
        check_duel(duel);
    }
    FUZZ_EXPECT(status != MW_OK || cost > CHEAP || mw_duel_over(duel));
}

/* The same bundle where else it meets a world. */
static void measure(const mw_bundle *bundle) {
    static const char *const few[] = {"candidates=2", "sampling_steps=1"};
    mw_error error;
    mw_eval_result *result;
    mw_same_state found;
    mw_eval_options options;
    mw_same_state_options anchors;
    mw_eval_options_init(&options, sizeof options);
    options.seeds = options.episodes = options.threads = 1;
    options.timed = 0;
    options.assignments = few;
    options.assignment_count = 2;
    if (mw_bundle_evaluate(&result, bundle, &options, &error) == MW_OK) mw_eval_result_free(result);
    mw_same_state_options_init(&anchors, sizeof anchors);
    anchors.anchors = anchors.threads = 1;
    anchors.assignments = few;
    anchors.assignment_count = 2;
    if (mw_same_state_run(&found, bundle, &anchors, &error) == MW_OK) mw_same_state_free(&found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    mw_error error;
    mw_bundle *bundle;
    mw_duel *duel;
    const fuzz_files files = fuzz_unpack(data, size);
    if (files.count != 2 || files.size[0] < 2 || size > 32768) return 0;
    const char *path = fuzz_path("bundle");
    const size_t floats = describe_bundle(path, files.data[0] + 1, files.size[0] - 1, files.data[0][0]);
    if (!floats || mw_bundle_load(&bundle, path, &error) != MW_OK) return 0;
    if (mw_duel_open(&duel, bundle, 1, 1, &error) != MW_OK) return 0;
    play(duel, files.data[1], files.size[1], floats);
    if (fuzz_rarely(data, size) && floats < CHEAP / 16) measure(duel->bundle);
    mw_duel_close(duel);
    return 0;
}

/* A small bundle of one of two tasks, and a few operations. */
static size_t fresh(uint8_t *data, size_t most, unsigned seed) {
    static uint8_t text[1 << 14];
    static const uint8_t operations[] = {0, 0, 0, 0, 3, 16, 4, 1, 12,  2, 44, 5,
                                         2, 1, 6, 1, 5, 0,  0, 0, 135, 7, 1,  0};
    save_task_bundle(fuzz_path("fresh"), seed % 2 ? "3m" : "spread", seed % 4 < 2 ? 0 : 3);
    text[0] = seed & 4 ? 129 : 1;
    const size_t size = description_of(fuzz_path("fresh"), text + 1, sizeof text - 1);
    const fuzz_files files = {2, {text, operations}, {1 + size, sizeof operations}};
    return size ? fuzz_pack(&files, data, most) : 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    if (size < 2 || seed % 256 == 0) return fresh(data, most, seed / 256);
    return fuzz_mutate_files(data, size, most, seed, fuzz_mutate_numbers);
}
