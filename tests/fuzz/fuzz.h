/* What the fuzz targets share. A target is LLVMFuzzerTestOneInput, called with bytes that stand for a file or
 * for the files of a folder; it must come back, without a leak, whatever they are. libFuzzer drives it under
 * `make fuzz`; replay.c drives it over the committed files in every test run. */
#ifndef MW_TESTS_FUZZ_H
#define MW_TESTS_FUZZ_H

#include "core/tensor/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
/* Not every target has one of its own. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) __attribute__((weak));

/* Stops the run: what must hold does not. */
#define FUZZ_EXPECT(condition)                                                                               \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);                    \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

/* Counts inputs that a target took for good. Committed inputs whose names begin with good- must be, and what
 * a mutator makes of nothing, if anything: replay.c fails otherwise, because formats change and a target that
 * refuses all it is given tests nothing. */
extern long fuzz_accepted;

/* For what is dear, as writing and reading again: one input in 64, always the same ones; replay.c wants it of
 * all. */
bool fuzz_rarely(const uint8_t *data, size_t size);
extern bool fuzz_always;

/* The path of a file in memory that holds these bytes; the next call changes it. */
const char *fuzz_file(const uint8_t *data, size_t size);

/* The path of a file in this process's own folder in memory; with "" the folder. Valid for eight calls. */
const char *fuzz_path(const char *name);
/* Writes one there; size 0 removes it. */
void fuzz_put(const char *name, const uint8_t *data, size_t size);
void fuzz_remove(const char *name); /* a file, or a folder and everything in it */

/* Makes the checksum right again that a safetensors file carries of itself: over its tensors, and before them
 * what `texts` adds of its metadata. */
typedef uint64_t fuzz_texts(const mw_safetensors *file);
void fuzz_seal(uint8_t *data, size_t size, fuzz_texts *texts);

/* Several files as one input: a byte for their number, then each with 4 bytes of length. */
enum { FUZZ_MOST_FILES = 16 };
typedef struct fuzz_files {
    int count;
    const uint8_t *data[FUZZ_MOST_FILES];
    size_t size[FUZZ_MOST_FILES];
} fuzz_files;
fuzz_files fuzz_unpack(const uint8_t *data, size_t size);
/* 0 if they do not fit. */
size_t fuzz_pack(const fuzz_files *files, uint8_t *out, size_t most);

/* Mutators that keep what readers look at first: one number of a text becomes a nasty one; a safetensors
 * header changes and its length with it; an .npy header changes and the data are cut or filled to its shape;
 * one file of several changes. */
typedef size_t fuzz_mutator(uint8_t *data, size_t size, size_t most, unsigned seed);
fuzz_mutator fuzz_mutate_numbers, fuzz_mutate_safetensors, fuzz_mutate_npy;
size_t fuzz_mutate_files(uint8_t *data, size_t size, size_t most, unsigned seed, fuzz_mutator *one);

#endif
