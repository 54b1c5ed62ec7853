/* Snapshots of every task: the first byte chooses it, then come triples of a place and a byte to put there.
 * What is restored plays on. */
#include "fuzz.h"

#include "env/env.h"

enum { HEAD = 80, MOST_TASKS = 32, MOST = 4096 }; /* HEAD: magic, task and rules stay */

static void play(mw_env *env) {
    static float obs[1 << 16], real[MOST], rewards[64];
    static uint8_t legal[MOST];
    int32_t index[64];
    mw_shape shapes[64];
    mw_outcome outcome;
    mw_error error;
    const char *script;
    mw_env_observe(env, obs);
    mw_env_legal(env, legal);
    mw_env_draw(env, shapes, 64);
    for (int i = 0; (script = mw_script_name(env->info.task, i)); i++) {
        if (mw_script_act(env, script, 1, real, index, &error) != MW_OK) return;
        const mw_action action = env->info.discrete ? (mw_action){.index = index} : (mw_action){.real = real};
        if (mw_env_step(env, action, rewards, &outcome, &error) != MW_OK) return;
        mw_env_observe(env, obs);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static mw_env *envs[MOST_TASKS];
    static unsigned char starts[MOST_TASKS][MOST], bytes[MOST]; /* snapshots of beginnings, and the changed
                                                                   one */
    static int count;
    mw_error error;
    for (const char *task; count < MOST_TASKS && (task = mw_env_task(count)); count++) {
        FUZZ_EXPECT(mw_env_create(&envs[count], task, NULL, &error) == MW_OK);
        FUZZ_EXPECT(mw_env_snapshot_size(envs[count]) <= MOST);
        mw_env_reset(envs[count], 1);
        mw_env_snapshot(envs[count], starts[count]);
    }
    if (size < 1) return 0;
    mw_env *env = envs[data[0] % count];
    const size_t length = mw_env_snapshot_size(env);
    memcpy(bytes, starts[data[0] % count], length);
    for (size_t i = 1; i + 3 <= size; i += 3)
        bytes[HEAD + (data[i] + 256u * data[i + 1]) % (length - HEAD)] = data[i + 2];
    if (mw_env_restore(env, bytes, length, &error) == MW_OK) play(env);
    return 0;
}
