/* What the program runs on: the processor's name and the level of instructions in use. Hot code exists once
 * per level (nn/level.h); every level gives the same bits, only the speed differs. */
#ifndef MW_CORE_MACHINE_CPU_H
#define MW_CORE_MACHINE_CPU_H

#include "mawam/cpu.h"
#include "core/error.h"

typedef enum mw_cpu_level {
    MW_CPU_V2,   /* x86-64-v2: SSE4.2, no fused multiply-add; exact but slow */
    MW_CPU_V3,   /* x86-64-v3: AVX2 and FMA */
    MW_CPU_V4,   /* x86-64-v4: AVX-512 */
    MW_CPU_NEON, /* 64-bit ARM */
    MW_CPU_ONLY, /* what the build was told to aim at (MAWAM_ARCH); there is no other */
    MW_CPU_LEVELS
} mw_cpu_level;

/* Can this CPU run the level, and has the build got it? */
bool mw_cpu_runs(mw_cpu_level level);
/* What MAWAM_CPU in the environment names ("v2", "v3", "v4", "neon") if it can be had, else the highest. */
mw_cpu_level mw_cpu_level_now(void);

#endif
