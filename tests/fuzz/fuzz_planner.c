/* A planner's memory of an episode: a byte that chooses real or discrete actions and how many bytes are left
 * out or added at the end, then triples of a place and a byte to put there, as for the worlds' snapshots.
 * What is restored plans on. */
#include "small_bundle.h"

#include "plan/planner.h"

enum { AGENTS = SMALL_AGENTS, OBS = SMALL_OBS, ACT = SMALL_ACT, MOST = 8192 };

typedef struct {
    mw_planner *planner;
    uint8_t memory[MOST]; /* after a decision */
    size_t size;
} subject;

static const float obs[AGENTS * OBS] = {0.5f, -1, 0.25f, 1, 0, -0.5f, 1, 0.75f, -1, 0};

static bool act(mw_planner *planner) {
    mw_error error;
    float real[AGENTS * ACT];
    int32_t index[AGENTS] = {0};
    if (mw_planner_act(planner, obs, NULL, NULL, real, index, &error) != MW_OK) return false;
    for (int i = 0; i < AGENTS; i++) FUZZ_EXPECT(index[i] >= 0 && index[i] < ACT);
    mw_planner_reward(planner, 0, 1, NULL);
    return true;
}

static subject *subject_of(bool discrete) {
    static subject subjects[2];
    subject *s = &subjects[discrete];
    mw_error error;
    mw_bundle *bundle; /* lives as long as the planner */
    mw_planner_options options;
    if (s->planner) return s;
    const mw_bundle_info info = small_bundle_info(discrete);
    save_small_bundle(fuzz_path("bundle"), &info, (small_bundle_parts){0});
    FUZZ_EXPECT(mw_bundle_load(&bundle, fuzz_path("bundle"), &error) == MW_OK);
    mw_planner_options_init(&options, sizeof options, bundle);
    options.threads = 1;
    options.plan.warm_start = !discrete; /* so that there is a rest of a plan */
    FUZZ_EXPECT(mw_planner_create(&s->planner, bundle, &options, &error) == MW_OK);
    mw_planner_begin(s->planner, 0, 1, NULL);
    FUZZ_EXPECT(act(s->planner));
    s->size = mw_planner_snapshot_size(s->planner);
    FUZZ_EXPECT(s->size + 8 <= MOST);
    mw_planner_snapshot(s->planner, 0, s->memory);
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    mw_error error;
    if (size < 1) return 0;
    const subject *s = subject_of(data[0] & 1);
    const int more = data[0] / 2 % 8 == 7 ? data[0] / 16 - 8 : 0;
    const size_t length = s->size + (size_t)more;
    uint8_t *memory = calloc(length, 1); /* of its own size, so that reading beyond it is seen */
    FUZZ_EXPECT(memory);
    memcpy(memory, s->memory, length < s->size ? length : s->size);
    for (size_t i = 1; i + 3 <= size; i += 3) memory[(data[i] + 256u * data[i + 1]) % length] = data[i + 2];
    if (mw_planner_restore(s->planner, 0, memory, length, &error) == MW_OK && act(s->planner))
        fuzz_accepted++;
    free(memory);
    return 0;
}
