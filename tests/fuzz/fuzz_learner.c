/* Checkpoints of the online learners: the first byte chooses the world and whether the rest is a checkpoint
 * as it is or one whose checksum is made right again. What loads is saved and loaded again, and now and then
 * learns on. */
#include "fuzz.h"

#include "behavior/learn/learner.h"
#include "core/file.h"

enum { TASKS = 2 };

/* As small as presets may be: real actions, and discrete ones. */
static mw_learner *learner_of(int which) {
    static const char *const tasks[TASKS] = {"spread", "3m"};
    static mw_learner *learners[TASKS];
    mw_error error;
    if (learners[which]) return learners[which];
    mw_learn_preset preset = *mw_learn_preset_find(tasks[which]);
    preset.hidden = preset.critic_hidden = 4;
    preset.envs = preset.batches = preset.epochs = 1;
    preset.horizon = 4;
    preset.snapshots = 1;
    preset.steps = 1000;
    const mw_task_game task = {tasks[which], NULL};
    const mw_game game = mw_game_of_task(&task);
    FUZZ_EXPECT(mw_learner_create(&learners[which], &preset, &game, 7, 1, &error) == MW_OK);
    return learners[which];
}

static uint64_t texts_of(const mw_safetensors *file) {
    uint64_t hash = MW_HASH_START;
    for (size_t i = 0; i < file->metadata_count; i++) {
        const mw_meta *meta = &file->metadata[i];
        if (!strcmp(meta->key, "checksum")) continue;
        hash = mw_hash(hash, meta->key, strlen(meta->key) + 1);
        hash = mw_hash(hash, meta->value, strlen(meta->value) + 1);
    }
    return hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    mw_error error;
    mw_learn_preset preset;
    mw_learn_report report;
    uint64_t seed;
    if (size < 1) return 0;
    mw_learner *learner = learner_of(data[0] % TASKS);
    uint8_t *copy = malloc(size);
    FUZZ_EXPECT(copy);
    memcpy(copy, data + 1, size - 1);
    if (data[0] & 2) fuzz_seal(copy, size - 1, texts_of);
    const char *path = fuzz_file(copy, size - 1);
    free(copy);
    mw_learner_peek(path, &preset, &seed, &error);
    if (mw_learner_load(learner, path, &error) != MW_OK) return 0;
    fuzz_accepted++;
    FUZZ_EXPECT(mw_learner_save(learner, fuzz_path("checkpoint"), &error) == MW_OK);
    FUZZ_EXPECT(mw_learner_load(learner, fuzz_path("checkpoint"), &error) == MW_OK);
    if (fuzz_rarely(data, size)) mw_learner_iterate(learner, &report, &error);
    return 0;
}

/* A checkpoint in the present format, to be sealed after changes. */
static size_t fresh(uint8_t *data, size_t most, unsigned which) {
    static mw_map maps[TASKS];
    mw_error error;
    mw_map *map = &maps[which];
    if (!map->data) {
        FUZZ_EXPECT(mw_learner_save(learner_of((int)which), fuzz_path("fresh"), &error) == MW_OK);
        FUZZ_EXPECT(mw_map_open(map, fuzz_path("fresh"), &error) == MW_OK);
    }
    if (map->size >= most) return 0;
    data[0] = (uint8_t)(2 | which);
    memcpy(data + 1, map->data, map->size);
    return 1 + map->size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    if (size < 2 || seed % 256 == 0) return fresh(data, most, seed / 256 % TASKS);
    return 1 + fuzz_mutate_safetensors(data + 1, size - 1, most - 1, seed);
}
