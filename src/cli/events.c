/* Scalars for TensorBoard, written without its libraries: a file of records, each a length, its masked CRC,
 * an Event in protocol buffers' wire format and the event's masked CRC. */
#include "cli/cli.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    unsigned char bytes[512];
    size_t size;
} message;

/* CRC-32C (Castagnoli), masked as TensorFlow stores it, so that a checksum of checksums is no special case.
 */
static uint32_t masked_crc(const void *data, size_t size) {
    const unsigned char *bytes = data;
    uint32_t crc = ~0u;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0);
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

/* ---- wire format: a field's number and kind, then its value ---- */

static void put(message *m, const void *data, size_t size) {
    if (size > sizeof m->bytes - m->size) return; /* tags are short: it never is */
    memcpy(m->bytes + m->size, data, size);
    m->size += size;
}

static void put_varint(message *m, uint64_t value) {
    do {
        const unsigned char byte = (unsigned char)((value & 127) | (value > 127 ? 128 : 0));
        put(m, &byte, 1);
        value >>= 7;
    } while (value);
}

static void put_number(message *m, int field, const void *value, size_t size) { /* little-endian, 4 or 8 bytes
                                                                                 */
    put_varint(m, (uint64_t)field << 3 | (size == 8 ? 1 : 5));
    put(m, value, size);
}

static void put_bytes(message *m, int field, const void *data, size_t size) {
    put_varint(m, (uint64_t)field << 3 | 2);
    put_varint(m, size);
    put(m, data, size);
}

/* ---- records ---- */

static message event_now(void) {
    struct timespec now;
    message event = {.size = 0};
    clock_gettime(CLOCK_REALTIME, &now);
    const double wall = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    put_number(&event, 1, &wall, sizeof wall);
    return event;
}

static void write_record(FILE *out, const message *event) {
    const uint64_t length = event->size;
    const uint32_t of_length = masked_crc(&length, sizeof length),
                   of_event = masked_crc(event->bytes, event->size);
    fwrite(&length, sizeof length, 1, out);
    fwrite(&of_length, sizeof of_length, 1, out);
    fwrite(event->bytes, event->size, 1, out);
    fwrite(&of_event, sizeof of_event, 1, out);
    fflush(out);
}

FILE *mw_cli_events_open(const char *path, mw_error *error) {
    FILE *out = fopen(path, "ab"); /* what is there stays until the training begins */
    if (!out) mw_fail(error, MW_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
    return out;
}

void mw_cli_events_begin(FILE *out, bool append) {
    if (!append && ftruncate(fileno(out), 0) != 0) rewind(out); /* a pipe holds nothing */
    message event = event_now();
    put_bytes(&event, 3, "brain.Event:2", 13);
    write_record(out, &event);
}

void mw_cli_events_add(FILE *out, const char *tag, long step, double value) {
    message event = event_now(), summary = {.size = 0}, scalar = {.size = 0};
    const float simple = (float)value;
    put_bytes(&scalar, 1, tag, strlen(tag));
    put_number(&scalar, 2, &simple, sizeof simple);
    put_bytes(&summary, 1, scalar.bytes, scalar.size);
    put_varint(&event, 2 << 3);
    put_varint(&event, (uint64_t)step);
    put_bytes(&event, 5, summary.bytes, summary.size);
    write_record(out, &event);
}
