/* Where a part of a bundle comes from: facts that are written when it is trained and stay with it wherever it
 * goes. Its settings are its configuration and stand next to it. */
#ifndef MW_PLAN_PROVENANCE_H
#define MW_PLAN_PROVENANCE_H

#include "core/fields.h"

typedef struct mw_provenance {
    char data[MW_WORD];     /* checksum of the dataset's columns */
    char seed[MW_WORD];     /* of the training */
    double held_out;        /* share of the episodes that it has not seen */
    char revision[MW_WORD]; /* of the source, as git describes it */
    char level[MW_WORD];    /* vector instructions that were used */
    char cpu[MW_WORD];
    int threads;
    double seconds;
    json_t *details; /* an object: command, losses on held-out episodes, curve; owned */
} mw_provenance;

/* This program on this machine; details are empty. */
void mw_provenance_init(mw_provenance *provenance, const char *data, uint64_t seed, double held_out,
                        int threads);
void mw_provenance_free(mw_provenance *provenance);

json_t *mw_provenance_json(const mw_provenance *provenance); /* NULL: out of memory */
mw_status mw_provenance_read(mw_provenance *provenance, const json_t *json, const char *what,
                             mw_error *error);

/* Of the same data, split and seed. */
bool mw_provenance_same(const mw_provenance *a, const mw_provenance *b);

const char *mw_revision(void); /* of the source this library was built from */

#endif
