/* Gives the running CPU its level's functions before anything can call them; see level.h. */
#include "nn/level.h"

#include "core/machine/cpu.h"

#if defined(MAWAM_ONE_LEVEL)
extern const mw_kernels mw_kernels_only;
static const mw_kernels *const tables[MW_CPU_LEVELS] = {[MW_CPU_ONLY] = &mw_kernels_only};
const mw_kernels *mw_hot = &mw_kernels_only;
#elif defined(__x86_64__)
extern const mw_kernels mw_kernels_v2, mw_kernels_v3, mw_kernels_v4;
static const mw_kernels *const tables[MW_CPU_LEVELS] = {
    [MW_CPU_V2] = &mw_kernels_v2, [MW_CPU_V3] = &mw_kernels_v3, [MW_CPU_V4] = &mw_kernels_v4};
const mw_kernels *mw_hot = &mw_kernels_v2;
#else
extern const mw_kernels mw_kernels_neon;
static const mw_kernels *const tables[MW_CPU_LEVELS] = {[MW_CPU_NEON] = &mw_kernels_neon};
const mw_kernels *mw_hot = &mw_kernels_neon;
#endif

const mw_kernels *mw_kernels_of(int level) {
    return level >= 0 && level < MW_CPU_LEVELS ? tables[level] : NULL;
}

__attribute__((constructor)) static void choose(void) {
    mw_hot = tables[mw_cpu_level_now()];
}
