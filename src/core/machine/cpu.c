/* The level is found once, from the CPU and the environment; see cpu.h. */
#include "core/machine/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[MW_CPU_LEVELS] = {[MW_CPU_V2] = "v2",
                                                 [MW_CPU_V3] = "v3",
                                                 [MW_CPU_V4] = "v4",
                                                 [MW_CPU_NEON] = "neon",
                                                 [MW_CPU_ONLY] = MAWAM_ONLY_LEVEL};

/* The levels' own names are gcc's; what they come to on every CPU that there is, clang knows too. */
#ifdef __clang__
#define HAS_V2 (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt"))
#define HAS_V3                                                                                               \
    (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&     \
     __builtin_cpu_supports("bmi2"))
#define HAS_V4                                                                                               \
    (HAS_V3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&                    \
     __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&                             \
     __builtin_cpu_supports("avx512vl"))
#else
#define HAS_V2 __builtin_cpu_supports("x86-64-v2")
#define HAS_V3 __builtin_cpu_supports("x86-64-v3")
#define HAS_V4 __builtin_cpu_supports("x86-64-v4")
#endif

bool mw_cpu_runs(mw_cpu_level level) {
    if (*MAWAM_ONLY_LEVEL) return level == MW_CPU_ONLY;
    switch (level) {
#if defined(__x86_64__)
    case MW_CPU_V2:
        return HAS_V2;
    case MW_CPU_V3:
        return HAS_V3;
    case MW_CPU_V4:
        return HAS_V4;
#elif defined(__aarch64__)
    case MW_CPU_NEON:
        return true;
#endif
    default:
        return false;
    }
}

static mw_cpu_level highest(void) {
    for (int level = MW_CPU_LEVELS - 1; level > 0; level--)
        if (mw_cpu_runs((mw_cpu_level)level)) return (mw_cpu_level)level;
    return MW_CPU_V2;
}

/* The level that MAWAM_CPU names; MW_CPU_LEVELS: none of them. */
static mw_cpu_level named(const char *text) {
    int level = 0;
    while (level < MW_CPU_LEVELS && strcmp(names[level], text)) level++;
    return (mw_cpu_level)level;
}

mw_cpu_level mw_cpu_level_now(void) {
    const char *text = getenv("MAWAM_CPU");
    const mw_cpu_level level = text && *text ? named(text) : MW_CPU_LEVELS;
    return level < MW_CPU_LEVELS && mw_cpu_runs(level) ? level : highest();
}

mw_status mw_cpu_check(mw_error *error) {
    const char *text = getenv("MAWAM_CPU");
    if (!mw_cpu_runs(highest()))
        return mw_fail(error, MW_ERR_UNSUPPORTED,
                       "this CPU is below x86-64-v2 (SSE4.2), which is the least that mawam needs");
    if (!text || !*text || !strcmp(text, names[mw_cpu_level_now()])) return MW_OK;
    char list[64] = "";
    for (int level = 0; level < MW_CPU_LEVELS; level++)
        if (mw_cpu_runs((mw_cpu_level)level)) {
            const size_t used = strlen(list);
            snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", names[level]);
        }
    return mw_fail(error, MW_ERR_UNSUPPORTED, "MAWAM_CPU is '%.32s'; this CPU and build have %s", text, list);
}

const char *mw_cpu_name(void) {
    return names[mw_cpu_level_now()];
}

void mw_cpu_model(char *name, size_t size) {
    char line[256];
    snprintf(name, size, "unknown");
    FILE *info = fopen("/proc/cpuinfo", "r");
    if (!info) return;
    while (fgets(line, sizeof line, info)) {
        char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !value) continue;
        value += strspn(value, ": \t");
        value[strcspn(value, "\n")] = 0;
        snprintf(name, size, "%s", value);
        break;
    }
    fclose(info);
}
