/* The record of a study, stages.jsonl: a line for every stage that has finished or failed, and for seeds
 * before they are played. Several processes on several machines append to it: under a lock, after reading
 * what the others have written meanwhile. */
#ifndef MW_STUDY_JOURNAL_H
#define MW_STUDY_JOURNAL_H

#include "core/json.h"

/* What is told of every line, also of those of others; a line that a crash has cut is passed over. */
typedef mw_status mw_journal_line(void *context, const json_t *line, mw_error *error);

typedef struct mw_journal {
    const char *folder;
    mw_journal_line *tell;
    void *context;
    int file;       /* stages.jsonl, open for appending; -1: none */
    int guard;      /* study.lock, held as long as the folder is worked in; -1: none */
    long long read; /* bytes that were told */
} mw_journal;

/* Takes the folder, alone or as one of several tasks: whoever works alone refuses all others, and is refused
 * by them. Close it also after a failure. */
mw_status mw_journal_open(mw_journal *record, const char *folder, bool alone, mw_journal_line *tell,
                          void *context, mw_error *error);
void mw_journal_close(mw_journal *record);

/* Nobody else appends until mw_journal_end, and all that others have written has been told. */
mw_status mw_journal_begin(mw_journal *record, mw_error *error);
mw_status mw_journal_append(mw_journal *record, const json_t *line, mw_error *error); /* it is on the disk */
void mw_journal_end(mw_journal *record);

/* Tells all lines of a folder's record without taking anything; no record is no failure. */
mw_status mw_journal_read(const char *folder, mw_journal_line *tell, void *context, mw_error *error);

#endif
