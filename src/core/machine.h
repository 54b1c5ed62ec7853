/* What a measurement was taken on. */
#ifndef MW_CORE_MACHINE_H
#define MW_CORE_MACHINE_H

#include <stddef.h>

/* The processor's own name, "unknown" if the system does not tell. */
void mw_machine_cpu(char *name, size_t size);
/* Vector width and instruction set this library was compiled for, for example "AVX-512". */
const char *mw_machine_vectors(void);

#endif
