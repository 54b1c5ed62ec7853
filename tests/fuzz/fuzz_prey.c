/* Prey networks: a world with what loads can be played. */
#include "fuzz.h"

#include "mawam/mawam.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    mw_error error;
    mw_env *env;
    mw_env_options options;
    mw_env_options_init(&options, sizeof options);
    options.prey_file = fuzz_file(data, size);
    float real[64] = {0}, rewards[64];
    mw_outcome outcome;
    for (int i = 0; i < 2; i++) {
        if (mw_env_create(&env, i ? "world" : "tag", &options, &error) != MW_OK) continue;
        for (int t = 0; t < 3; t++)
            FUZZ_EXPECT(mw_env_step(env, (mw_action){.real = real}, rewards, &outcome, &error) == MW_OK);
        mw_env_free(env);
    }
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    return fuzz_mutate_safetensors(data, size, most, seed);
}
