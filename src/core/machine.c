/* Provenance of measurements; see machine.h. */
#include "core/machine.h"

#include <stdio.h>
#include <string.h>

void mw_machine_cpu(char *name, size_t size) {
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

const char *mw_machine_vectors(void) {
#if defined(__AVX512F__)
    return "AVX-512";
#elif defined(__AVX2__)
    return "AVX2";
#elif defined(__AVX__)
    return "AVX";
#else
    return "128-bit";
#endif
}
