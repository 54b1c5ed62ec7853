/* Who was ahead in the episodes that were played to their end: what the page says above everything else. */
#ifndef MW_LIVE_TALLY_H
#define MW_LIVE_TALLY_H

#include "live/duel.h"

#include <stdio.h>

enum {
    MW_TALLY_RESULTS = 1000, /* the latest ones are kept */
    MW_TALLY_SHOWN = 24      /* and so many are drawn one by one */
};

typedef struct mw_tally {
    struct {
        uint64_t seed, episode;
        double total[MW_DUEL_SIDES];
    } results[MW_TALLY_RESULTS];
    int count; /* of all since mw_tally_clear */
} mw_tally;

/* Another bundle or another plan begins anew. */
void mw_tally_clear(mw_tally *tally);
/* Adds the duel's episode if it is over; not twice, and not if somebody had a hand in it. */
void mw_tally_note(mw_tally *tally, const mw_duel *duel);
/* {"episodes": 14, "ahead": 12, "level": 0, "planned": 94.6, "alone": 61.5, "latest": [[94, 60], ...]}; the
 * returns are means. */
void mw_tally_print(const mw_tally *tally, FILE *out);

#endif
