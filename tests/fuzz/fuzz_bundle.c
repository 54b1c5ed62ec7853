/* Bundles, planners and decisions. The input is a byte that chooses the weights and a bundle's description.
 * What loads plans. */
#include "described_bundle.h"

static void plan(const mw_bundle *bundle) {
    enum { MOST = 4096 };
    static float obs[MOST], real[MOST];
    static int32_t index[64];
    mw_error error;
    mw_planner *planner;
    mw_planner_options options;
    const mw_bundle_summary s = mw_bundle_describe(bundle);
    if (s.agents * s.obs_size > MOST || s.agents * s.act_size > MOST) return;
    mw_planner_options_init(&options, sizeof options, bundle);
    options.threads = 1;
    if (options.plan.candidates > 4) options.plan.candidates = 4;
    if (mw_planner_create(&planner, bundle, &options, &error) != MW_OK) return;
    mw_planner_begin(planner, 0, 1, NULL);
    for (int step = 0; step < 2; step++) {
        for (int i = 0; i < MOST; i++) obs[i] = (float)(i % 7 - 3) * (step ? 1e20f : 0.5f);
        if (mw_planner_act(planner, obs, NULL, NULL, real, index, &error) != MW_OK) break;
        for (int i = 0; i < s.agents && s.discrete; i++) FUZZ_EXPECT(index[i] >= 0 && index[i] < s.act_size);
        mw_planner_reward(planner, 0, 1, NULL);
        fuzz_accepted++;
    }
    mw_planner_free(planner);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    mw_error error;
    mw_bundle *bundle;
    if (size < 2 || size > 32768) return 0;
    if (!describe_bundle(fuzz_path("bundle"), data + 1, size - 1, data[0])) return 0;
    if (mw_bundle_load(&bundle, fuzz_path("bundle"), &error) != MW_OK) return 0;
    plan(bundle);
    mw_bundle_free(bundle);
    return 0;
}

/* ---- good bundles, of which everything begins ---- */

/* The description of a small bundle in the present format: of real or discrete actions, with a value or
 * without, packed or not, weights by the byte. */
static size_t fresh(uint8_t *data, size_t most, unsigned seed) {
    mw_error error;
    const bool discrete = seed & 1;
    const mw_bundle_info info = small_bundle_info(discrete);
    const small_bundle_parts more = {.advantage = !discrete && seed & 2, .value = seed & 4};
    save_small_bundle(fuzz_path("fresh"), &info, more);
    if (seed & 8) {
        const int bits = MW_PACKING_LEAST + (int)(seed / 16 % 5);
        FUZZ_EXPECT(mw_bundle_pack(fuzz_path("fresh"), fuzz_path("packed"), bits, &error) == MW_OK);
        FUZZ_EXPECT(rename(fuzz_path("packed"), fuzz_path("fresh")) == 0);
    }
    const size_t size = description_of(fuzz_path("fresh"), data + 1, most - 1);
    data[0] = seed % 4 == 3 ? 129 : 1;
    return size ? 1 + size : 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    if (size < 2 || seed % 256 == 0)
        return fresh(data, most, seed / 256); /* often, whatever the format of the rest */
    return 1 + fuzz_mutate_numbers(data + 1, size - 1, most - 1, seed);
}
