/* Everything a report is made of, read once: the study's table, the same of the paper's own method, and the
 * results of single commands that lie beside them. What is not there is left empty; the report says so and
 * names the command. */
#ifndef MW_REPORT_SOURCES_H
#define MW_REPORT_SOURCES_H

#include "report/table.h"

enum { MW_SOURCES_SEEDS = 9 }; /* further training seeds at most */

/* A result file per setting, in a folder of its own. */
typedef enum mw_source_kind {
    MW_SOURCE_ROUTING,       /* mawam diagnose --routing */
    MW_SOURCE_SWEEPS,        /* mawam eval --sweep */
    MW_SOURCE_PAPER_ROUTING, /* of bundles by the paper's method */
    MW_SOURCE_KINDS
} mw_source_kind;
extern const char *const mw_source_folders[MW_SOURCE_KINDS];

/* Settings once more, trained and planned otherwise, in a folder of their own. */
typedef enum mw_branch {
    MW_BRANCH_PAPER,  /* by the paper's method */
    MW_BRANCH_LONGER, /* the same, its world model trained for as many steps as published */
    MW_BRANCHES
} mw_branch;
extern const char *const mw_branch_folders[MW_BRANCHES];

#define MW_SELECTORS_FOLDER "selectors"
#define MW_BASELINES_FOLDER "baselines" /* of a folder each: baselines/bc */

typedef struct mw_sources {
    mw_study_table table;                   /* FOLDER/results or FOLDER/settings */
    mw_study_table branches[MW_BRANCHES];   /* FOLDER/paper/... and so on */
    mw_study_table seeds[MW_SOURCES_SEEDS]; /* FOLDER/seeds/1 and so on: further training seeds */
    mw_study_table selectors;               /* FOLDER/selectors: other judges of the same candidates */
    json_t *baseline_files[MW_ARMS][MW_TABLE_ROWS]; /* FOLDER/baselines/NAME, by index of the arm */
    mw_study_table baselines;                       /* their arms together: a row has one for each baseline */
    json_t *files[MW_SOURCE_KINDS][MW_TABLE_ROWS];  /* FOLDER/routing, FOLDER/sweeps; NULL: missing */
    json_t *cost;                                   /* FOLDER/cost.json; NULL: missing */
    json_t *revisions;                              /* of mawam that made it: {revision: {place: files}} */
    char revision[64];                              /* that made most of the table's settings */
    const char *output;                             /* where the report goes: replays are looked for there */
} mw_sources;

/* Among several folders the last that has a file counts. What cannot be compared is refused: of a setting other
 * data or rules, of a baseline also other seeds or episodes than those of the setting's own arms. */
mw_status mw_sources_read(mw_sources *sources, const char *const *folders, int count, const char *output,
                          mw_error *error);
void mw_sources_free(mw_sources *sources);

/* "baselines/bc" for an arm that plays without candidates; false: it does not, or there is no such arm. */
bool mw_source_baseline_place(int arm, char place[96]);

/* The revisions that the files name and where they stand: "v1", or "v1 (settings, paper); v2
 * (baselines/bc)". */
void mw_sources_revisions_text(const mw_sources *sources, char *text, size_t size);

/* Checksum of the bundle's file that such a file is of; NULL: it does not say. */
const char *mw_source_bundle(const json_t *file);

/* Writes what a report was made of to the folder, without what is large (single episodes, curves), so that a
 * report of that folder is the same again: what an earlier one left there and this one has not read goes, if
 * that is wanted, and is refused otherwise. Where a study ran nothing is written. */
mw_status mw_sources_write(const mw_sources *sources, const char *folder, bool overwrite, mw_error *error);

#endif
