/* Behaviour files: what loads acts in the world it was made for. */
#include "fuzz.h"

#include "behavior/behavior.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static mw_behavior behavior;
    mw_error error;
    mw_env *env;
    if (mw_behavior_load(&behavior, fuzz_file(data, size), &error) != MW_OK) return 0;
    fuzz_accepted++;
    if (mw_env_create(&env, behavior.task, NULL, &error) == MW_OK) {
        mw_behavior_check(&behavior, mw_env_describe(env), "input", &error);
        mw_env_free(env);
    }
    if (mw_behavior_save(&behavior, fuzz_path("x"), &error) == MW_OK) {
        mw_behavior_free(&behavior);
        FUZZ_EXPECT(mw_behavior_load(&behavior, fuzz_path("x"), &error) == MW_OK);
    }
    mw_behavior_free(&behavior);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    return fuzz_mutate_safetensors(data, size, most, seed);
}
