/* Scalars for TensorBoard, written without its libraries: a file of records, each a length, its masked CRC,
 * an Event in protocol buffers' wire format and the event's masked CRC. */
#include "cli/events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { AROUND = 8 + 4 + 4 }; /* bytes of a record besides its event */

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

/* The length of the whole record at this place of the bytes, 0 where there is none. */
static size_t record_at(const unsigned char *bytes, size_t size) {
    uint64_t length;
    uint32_t of_length, of_event;
    if (size < AROUND) return 0;
    memcpy(&length, bytes, sizeof length);
    memcpy(&of_length, bytes + 8, sizeof of_length);
    if (of_length != masked_crc(&length, sizeof length) || length > size - AROUND) return 0;
    memcpy(&of_event, bytes + 12 + length, sizeof of_event);
    return of_event == masked_crc(bytes + 12, (size_t)length) ? (size_t)length + AROUND : 0;
}

/* At once or not at all: of a record that the disk has no room for nothing stays, so that the next one can be
 * read. A pipe cannot take anything back. */
static void write_record(mw_events *e, const message *event) {
    const uint64_t length = event->size;
    const uint32_t of_length = masked_crc(&length, sizeof length),
                   of_event = masked_crc(event->bytes, event->size);
    unsigned char record[AROUND + sizeof event->bytes];
    memcpy(record, &length, sizeof length);
    memcpy(record + 8, &of_length, sizeof of_length);
    memcpy(record + 12, event->bytes, event->size);
    memcpy(record + 12 + event->size, &of_event, sizeof of_event);
    const size_t size = AROUND + event->size;
    size_t done = 0;
    while (done < size && !e->torn) {
        const ssize_t count = write(e->file, record + done, size - done);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        done += (size_t)count;
    }
    if (done == size) {
        e->whole += (off_t)size;
        return;
    }
    if (!e->torn && !e->reason) e->reason = errno ? errno : EIO;
    e->torn = e->torn || (done > 0 && (!e->regular || ftruncate(e->file, e->whole) != 0));
}

/* ---- what the file holds already ---- */

static mw_status read_all(mw_events *e, unsigned char **bytes, size_t *size, mw_error *error) {
    struct stat info;
    *bytes = NULL;
    *size = 0;
    if (!e->regular) return MW_OK;
    const int again = open(e->path, O_RDONLY | O_CLOEXEC);
    if (again >= 0 && fstat(again, &info) == 0 && (*bytes = malloc((size_t)info.st_size + 1)))
        while (*size < (size_t)info.st_size) {
            const ssize_t count = read(again, *bytes + *size, (size_t)info.st_size - *size);
            if (count < 0 && errno == EINTR) continue;
            if (count <= 0) break;
            *size += (size_t)count;
        }
    const bool failed = again < 0 || !*bytes || *size < (size_t)info.st_size;
    const int reason = errno;
    if (again >= 0) close(again);
    if (!failed) return MW_OK;
    free(*bytes);
    *bytes = NULL;
    return mw_fail(error, MW_ERR_IO, "cannot read '%s': %s", e->path, strerror(reason ? reason : EIO));
}

/* How many bytes whole records take from the beginning. */
static size_t whole_records(const unsigned char *bytes, size_t size) {
    size_t whole = 0, next;
    while ((next = record_at(bytes + whole, size - whole))) whole += next;
    return whole;
}

static bool get_varint(const unsigned char **at, const unsigned char *end, uint64_t *value) {
    *value = 0;
    for (int shift = 0; *at < end && shift < 64; shift += 7) {
        const unsigned char byte = *(*at)++;
        *value |= (uint64_t)(byte & 127) << shift;
        if (!(byte & 128)) return true;
    }
    return false;
}

static bool get_key(const unsigned char **at, const unsigned char *end, int field, int kind) {
    uint64_t key;
    return get_varint(at, end, &key) && key == ((uint64_t)field << 3 | (uint64_t)kind);
}

/* The scalar's name and step in an event that mw_events_add wrote; false: it is none. */
static bool scalar_of(const unsigned char *event, size_t size, const unsigned char **tag, uint64_t *length,
                      uint64_t *step) {
    enum { TIME = 1 + 8 };
    const unsigned char *at = event + TIME, *end = event + size;
    uint64_t inside;
    if (size < TIME || !get_key(&at, end, 2, 0) || !get_varint(&at, end, step) || !get_key(&at, end, 5, 2) ||
        !get_varint(&at, end, &inside) || !get_key(&at, end, 1, 2) || !get_varint(&at, end, &inside) ||
        !get_key(&at, end, 1, 2) || !get_varint(&at, end, length))
        return false;
    *tag = at;
    return *length <= (uint64_t)(end - at);
}

/* Training goes on from what was saved last, which is some steps behind what was logged last: those come once
 * more, so the file ends before the first of them. */
static mw_status cut_at(mw_events *e, const char *wanted, long from, mw_error *error) {
    unsigned char *bytes;
    size_t size, at = 0, next;
    MW_TRY(read_all(e, &bytes, &size, error));
    for (; (next = record_at(bytes + at, size - at)); at += next) {
        const unsigned char *tag;
        uint64_t length, step;
        if (scalar_of(bytes + at + 12, next - AROUND, &tag, &length, &step) && step >= (uint64_t)from &&
            length == strlen(wanted) && !memcmp(tag, wanted, length))
            break;
    }
    free(bytes);
    if (at >= (size_t)e->whole) return MW_OK;
    if (ftruncate(e->file, (off_t)at) != 0)
        return mw_fail(error, MW_ERR_IO, "cannot write '%s': %s", e->path, strerror(errno));
    e->whole = (off_t)at;
    return MW_OK;
}

/* ---- the file ---- */

mw_status mw_events_open(mw_events *e, const char *path, bool append, mw_error *error) {
    struct stat info;
    unsigned char *bytes;
    size_t size;
    *e = (mw_events){.append = append, .path = path};
    e->file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (e->file < 0) return mw_fail(error, MW_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
    e->opened = true;
    e->regular = fstat(e->file, &info) == 0 && S_ISREG(info.st_mode);
    mw_status status = append ? read_all(e, &bytes, &size, error) : MW_OK;
    if (append && status == MW_OK) {
        const uint64_t first = 24; /* the length of what every such file begins with */
        e->whole = (off_t)whole_records(bytes, size);
        if (e->whole == 0 && size > 0 && memcmp(bytes, &first, size < sizeof first ? size : sizeof first))
            status = mw_fail(error, MW_ERR_FORMAT,
                             "'%.300s' is there and holds no events; move it, or give another -o", path);
        free(bytes);
    }
    if (status != MW_OK) mw_events_close(e, NULL);
    return status;
}

/* What a full disk or a crash left of a last record goes. */
void mw_events_begin(mw_events *e) {
    message event = event_now();
    if (e->regular && ftruncate(e->file, e->whole) != 0) {
        e->reason = errno;
        e->torn = true;
    }
    put_bytes(&event, 3, "brain.Event:2", 13);
    if (e->whole == 0) write_record(e, &event);
}

void mw_events_add(mw_events *e, const char *tag, long step, double value) {
    message event = event_now(), summary = {.size = 0}, scalar = {.size = 0};
    const float simple = (float)value;
    if (e->append && !e->joined && cut_at(e, tag, step, NULL) != MW_OK) e->torn = true;
    e->joined = true;
    put_bytes(&scalar, 1, tag, strlen(tag));
    put_number(&scalar, 2, &simple, sizeof simple);
    put_bytes(&summary, 1, scalar.bytes, scalar.size);
    put_varint(&event, 2 << 3);
    put_varint(&event, (uint64_t)step);
    put_bytes(&event, 5, summary.bytes, summary.size);
    write_record(e, &event);
}

mw_status mw_events_close(mw_events *e, mw_error *error) {
    if (!e->opened) return MW_OK;
    e->opened = false;
    if (close(e->file) != 0 && !e->reason) e->reason = errno;
    if (!e->reason && !e->torn) return MW_OK;
    return mw_fail(error, MW_ERR_IO, "cannot write '%s': %s", e->path, strerror(e->reason ? e->reason : EIO));
}
