/* Files in memory and structure-aware mutators; see fuzz.h. */
#include "fuzz.h"

#include "core/file.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

long fuzz_accepted;
bool fuzz_always;

/* Much of a run's time goes into allocations: their traces are kept short, and memory is used again sooner.
 */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "malloc_context_size=6:quarantine_size_mb=16";
}

/* ---- files ----------------------------------------------------------------------------------------------
 */

static void put(int fd, const uint8_t *data, size_t size) {
    FUZZ_EXPECT(fd >= 0 && ftruncate(fd, 0) == 0);
    for (size_t at = 0; at < size;) {
        const ssize_t wrote = pwrite(fd, data + at, size - at, (off_t)at);
        FUZZ_EXPECT(wrote > 0);
        at += (size_t)wrote;
    }
}

/* All of an input counts, or those that differ from a rare one behind its beginning would be rare as well. */
bool fuzz_rarely(const uint8_t *data, size_t size) {
    uint64_t hash = size, word;
    if (fuzz_always || size < 8) return true;
    for (size_t at = 0; at < size; at += 8) {
        memcpy(&word, data + (at + 8 <= size ? at : size - 8), 8);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
    }
    return hash % 64 == 0;
}

const char *fuzz_file(const uint8_t *data, size_t size) {
    static int fd = -1;
    static char path[64];
    if (fd < 0) {
        fd = memfd_create("fuzz", 0);
        snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)getpid(), fd);
    }
    put(fd, data, size);
    return path;
}

static char folder[64];

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)info, (void)kind, (void)place;
    return remove(path);
}

static void remove_folder(void) {
    nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

const char *fuzz_path(const char *name) {
    static char paths[8][256];
    static int next;
    if (!folder[0]) {
        strcpy(folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm/mawam-fuzz-XXXXXX" : "fuzz-XXXXXX");
        FUZZ_EXPECT(mkdtemp(folder));
        atexit(remove_folder);
    }
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

void fuzz_put(const char *name, const uint8_t *data, size_t size) {
    const char *path = fuzz_path(name);
    if (size == 0) {
        unlink(path);
        return;
    }
    const int fd = open(path, O_WRONLY | O_CREAT, 0666);
    put(fd, data, size);
    close(fd);
}

void fuzz_remove(const char *name) {
    nftw(fuzz_path(name), remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

void fuzz_seal(uint8_t *data, size_t size, fuzz_texts *texts) {
    static const char key[] = "\"checksum\":\"";
    mw_error error;
    mw_safetensors file;
    char sum[24];
    uint8_t *place = memmem(data, size, key, sizeof key - 1);
    if (!place || (size_t)(data + size - place) < sizeof key + 16) return;
    if (mw_safetensors_read(&file, mw_map_over(data, size), "input", &error) != MW_OK) return;
    const uint64_t hash = mw_tensors_hash(texts(&file), file.tensors, file.tensor_count);
    mw_safetensors_close(&file);
    snprintf(sum, sizeof sum, "%016llx", (unsigned long long)hash);
    memcpy(place + sizeof key - 1, sum, 16);
}

fuzz_files fuzz_unpack(const uint8_t *data, size_t size) {
    fuzz_files f = {0};
    const int count = size ? data[0] % FUZZ_MOST_FILES : 0;
    for (size_t at = 1; f.count < count && at + 4 <= size; f.count++) {
        uint32_t length;
        memcpy(&length, data + at, 4);
        at += 4;
        f.size[f.count] = length < size - at ? length : size - at;
        f.data[f.count] = data + at;
        at += f.size[f.count];
    }
    return f;
}

size_t fuzz_pack(const fuzz_files *f, uint8_t *out, size_t most) {
    size_t at = 1;
    for (int i = 0; i < f->count; i++) at += 4 + f->size[i];
    if (at > most) return 0;
    out[0] = (uint8_t)f->count;
    at = 1;
    for (int i = 0; i < f->count; i++) {
        const uint32_t length = (uint32_t)f->size[i];
        memcpy(out + at, &length, 4);
        memcpy(out + at + 4, f->data[i], length);
        at += 4 + length;
    }
    return at;
}

/* ---- mutators -------------------------------------------------------------------------------------------
 */

static const char *const nasty[] = {"0",
                                    "1",
                                    "-1",
                                    "2",
                                    "3",
                                    "4",
                                    "7",
                                    "8",
                                    "15",
                                    "16",
                                    "17",
                                    "31",
                                    "32",
                                    "33",
                                    "64",
                                    "255",
                                    "256",
                                    "1023",
                                    "1024",
                                    "1025",
                                    "4096",
                                    "4097",
                                    "65536",
                                    "1048575",
                                    "1048576",
                                    "1048577",
                                    "2147483647",
                                    "2147483648",
                                    "-2147483648",
                                    "4294967296",
                                    "4294967299",
                                    "9223372036854775807",
                                    "-9223372036854775808",
                                    "18446744073709551616",
                                    "0.5",
                                    "1e10",
                                    "1e308",
                                    "-1e308",
                                    "1e-320",
                                    "1e999",
                                    "true",
                                    "null",
                                    "\"x\"",
                                    "[]",
                                    "{}"};

static bool digit(uint8_t c) {
    return c >= '0' && c <= '9';
}

/* Replaces bytes [begin, end) of text[size] by a word; the text grows or shrinks. */
static size_t put_word(uint8_t *text, size_t size, size_t most, size_t begin, size_t end, const char *word) {
    const size_t length = strlen(word);
    if (size - (end - begin) + length > most) return size;
    memmove(text + begin + length, text + end, size - end);
    memcpy(text + begin, word, length);
    return size - (end - begin) + length;
}

size_t fuzz_mutate_numbers(uint8_t *data, size_t size, size_t most, unsigned seed) {
    size_t count = 0, begin = 0, end = 0;
    if (seed % 4 == 0) return LLVMFuzzerMutate(data, size, most);
    for (int pass = 0; pass < 2; pass++) { /* counts the numbers, then finds the chosen one */
        const size_t chosen = count ? (seed / 4) % count : 0;
        count = 0;
        for (size_t i = 0; i < size; i++) {
            if (!digit(data[i])) continue;
            const size_t first = i > 0 && data[i - 1] == '-' ? i - 1 : i;
            while (i < size && (digit(data[i]) || data[i] == '.' || data[i] == 'e')) i++;
            if (pass == 1 && count == chosen) begin = first, end = i;
            count++;
        }
        if (count == 0) return LLVMFuzzerMutate(data, size, most);
    }
    return put_word(data, size, most, begin, end, nasty[(seed / 1009) % (sizeof nasty / sizeof *nasty)]);
}

/* Mutates data[begin, begin + length) with everything behind it moved; returns the new length. */
static size_t mutate_part(uint8_t *data, size_t *size, size_t most, size_t begin, size_t length,
                          unsigned seed) {
    uint8_t *part = malloc(most + 1);
    FUZZ_EXPECT(part);
    memcpy(part, data + begin, length);
    const size_t rest = *size - begin - length, room = most - begin - rest;
    const size_t changed = fuzz_mutate_numbers(part, length, room, seed);
    memmove(data + begin + changed, data + begin + length, rest);
    memcpy(data + begin, part, changed);
    *size = begin + changed + rest;
    free(part);
    return changed;
}

size_t fuzz_mutate_safetensors(uint8_t *data, size_t size, size_t most, unsigned seed) {
    uint64_t length = 0;
    if (size > 8) memcpy(&length, data, 8);
    if (size <= 8 || length > size - 8 || length == 0 || seed % 8 == 0)
        return LLVMFuzzerMutate(data, size, most);
    if (seed % 8 == 1 && length < size - 8) { /* the tensors' values only */
        LLVMFuzzerMutate(data + 8 + length, size - 8 - length, size - 8 - length);
        return size;
    }
    length = mutate_part(data, &size, most, 8, (size_t)length, seed / 8);
    memcpy(data, &length, 8);
    return size;
}

/* The bytes that a header asks for; SIZE_MAX if that cannot be seen or is too much. */
static size_t npy_bytes(const uint8_t *header, size_t length) {
    char text[512];
    snprintf(text, sizeof text, "%.*s", (int)(length < 500 ? length : 500), (const char *)header);
    const char *type = strpbrk(text, "<|"), *shape = strchr(text, '(');
    if (!type || !shape || !digit((uint8_t)type[2])) return SIZE_MAX;
    size_t bytes = (size_t)(type[2] - '0');
    for (const char *c = shape; *c && *c != ')'; c++) {
        if (!digit((uint8_t)*c)) continue;
        char *end;
        const unsigned long long extent = strtoull(c, &end, 10);
        if (extent && bytes > (1 << 20) / extent) return SIZE_MAX;
        bytes *= extent;
        c = end - 1;
    }
    return bytes;
}

size_t fuzz_mutate_npy(uint8_t *data, size_t size, size_t most, unsigned seed) {
    const size_t length = size > 10 ? data[8] + 256u * data[9] : 0;
    if (size <= 10 || data[6] != 1 || 10 + length > size || length == 0 || seed % 4 == 0)
        return LLVMFuzzerMutate(data, size, most);
    const size_t changed = mutate_part(data, &size, most, 10, length, seed / 4);
    if (changed > 65535) return size;
    data[8] = (uint8_t)(changed & 255);
    data[9] = (uint8_t)(changed >> 8);
    const size_t wanted = npy_bytes(data + 10, changed), start = 10 + changed;
    if (seed % 4 == 1 || wanted > most - start) return size;
    if (start + wanted > size) memset(data + size, (int)(seed >> 16), start + wanted - size);
    return start + wanted;
}

size_t fuzz_mutate_files(uint8_t *data, size_t size, size_t most, unsigned seed, fuzz_mutator *one) {
    fuzz_files f = fuzz_unpack(data, size);
    if (f.count == 0) return LLVMFuzzerMutate(data, size, most);
    const int chosen = (int)(seed % (unsigned)f.count);
    uint8_t *part = malloc(most + 1), *out = malloc(most + 1);
    FUZZ_EXPECT(part && out);
    memcpy(part, f.data[chosen], f.size[chosen]);
    f.size[chosen] = seed % 64 == 63 ? 0 : one(part, f.size[chosen], most, seed / 64);
    f.data[chosen] = part;
    const size_t packed = fuzz_pack(&f, out, most);
    if (packed) memcpy(data, out, packed);
    free(part);
    free(out);
    return packed ? packed : size;
}
