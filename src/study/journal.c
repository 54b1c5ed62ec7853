/* stages.jsonl among several writers; see journal.h. */
#include "study/journal.h"

#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static mw_status failed_to(const char *what, const mw_journal *r, mw_error *error) {
    return mw_fail(error, MW_ERR_IO, "cannot %s %.400s/stages.jsonl: %s", what, r->folder, strerror(errno));
}

/* Waits for a lock that is held for moments; a signal does not matter. */
static int lock(int file, int kind) {
    int result;
    do result = flock(file, kind);
    while (result != 0 && errno == EINTR);
    return result;
}

/* ---- opening ---- */

static mw_status open_in(int *file, const char *folder, const char *name, int flags, mw_error *error) {
    char path[512];
    snprintf(path, sizeof path, "%.400s/%s", folder, name);
    *file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | flags, 0666);
    return *file >= 0 ? MW_OK : mw_fail(error, MW_ERR_IO, "cannot open '%s': %s", path, strerror(errno));
}

mw_status mw_journal_open(mw_journal *r, const char *folder, bool alone, mw_journal_line *tell, void *context,
                          mw_error *error) {
    *r = (mw_journal){.folder = folder, .tell = tell, .context = context, .file = -1, .guard = -1};
    MW_TRY(open_in(&r->guard, folder, "study.lock", 0, error));
    if (lock(r->guard, (alone ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0)
        return mw_fail(error, MW_ERR_IO, "another study is running in '%.300s'", folder);
    MW_TRY(open_in(&r->file, folder, "stages.jsonl", O_APPEND, error));
    MW_TRY(mw_journal_begin(r, error));
    mw_journal_end(r);
    return MW_OK;
}

void mw_journal_close(mw_journal *r) {
    if (r->file >= 0) close(r->file);
    if (r->guard >= 0) close(r->guard);
    r->file = r->guard = -1;
}

/* ---- reading ---- */

static mw_status tell_line(const char *line, mw_journal_line *tell, void *context, mw_error *error) {
    json_t *root;
    const mw_status read = mw_json_parse(&root, line, strlen(line), "a line", error);
    if (read != MW_OK) return read == MW_ERR_MEMORY ? read : MW_OK;
    const mw_status status = tell(context, root, error);
    json_decref(root);
    return status;
}

static mw_status tell_lines(char *text, mw_journal_line *tell, void *context, mw_error *error) {
    char *rest;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        MW_TRY(tell_line(line, tell, context, error));
    return MW_OK;
}

/* What has been appended since the last time. */
static mw_status follow(mw_journal *r, mw_error *error) {
    struct stat info;
    if (fstat(r->file, &info) != 0) return failed_to("read", r, error);
    const long long size = info.st_size - r->read;
    if (size <= 0) return MW_OK;
    char *text = malloc((size_t)size + 1);
    if (!text) return mw_fail(error, MW_ERR_MEMORY, "cannot read the record of '%.300s'", r->folder);
    const ssize_t got = pread(r->file, text, (size_t)size, r->read);
    mw_status status = got == size ? MW_OK : failed_to("read", r, error);
    if (status == MW_OK) {
        text[size] = 0;
        status = tell_lines(text, r->tell, r->context, error);
        r->read += size;
    }
    free(text);
    return status;
}

mw_status mw_journal_read(const char *folder, mw_journal_line *tell, void *context, mw_error *error) {
    char path[512], *text;
    snprintf(path, sizeof path, "%.400s/stages.jsonl", folder);
    if (!mw_file_exists(path)) return MW_OK;
    MW_TRY(mw_file_read_text(path, &text, NULL, error));
    const mw_status status = tell_lines(text, tell, context, error);
    free(text);
    return status;
}

/* ---- appending ---- */

mw_status mw_journal_begin(mw_journal *r, mw_error *error) {
    if (lock(r->file, LOCK_EX) != 0) return failed_to("lock", r, error);
    const mw_status status = follow(r, error);
    if (status != MW_OK) mw_journal_end(r);
    return status;
}

void mw_journal_end(mw_journal *r) {
    lock(r->file, LOCK_UN);
}

/* What a crash or a full disk left of a line must not swallow the next one. */
static mw_status end_line(const mw_journal *r, mw_error *error) {
    char last;
    const off_t size = lseek(r->file, 0, SEEK_END);
    if (size < 1 || (pread(r->file, &last, 1, size - 1) == 1 && last == '\n')) return MW_OK;
    return write(r->file, "\n", 1) == 1 ? MW_OK : failed_to("append to", r, error);
}

mw_status mw_journal_append(mw_journal *r, const json_t *line, mw_error *error) {
    char *text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (!text) return mw_fail(error, MW_ERR_MEMORY, "cannot record a stage");
    const size_t length = strlen(text);
    text[length] = '\n'; /* in place of the zero; the text is written by length */
    mw_status status = end_line(r, error);
    errno = ENOSPC; /* what a short write means, which itself tells nothing */
    if (status == MW_OK && (write(r->file, text, length + 1) != (ssize_t)length + 1 || fsync(r->file) != 0))
        status = failed_to("append to", r, error);
    if (status == MW_OK) r->read = lseek(r->file, 0, SEEK_END); /* nobody else has appended meanwhile */
    free(text);
    return status;
}
