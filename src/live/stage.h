/* What the page shows and what its visitors may do: the one duel, whether and how fast it plays, commands,
 * and all of it as JSON. It knows no clock and belongs to one thread at a time: session.c gives it both on a
 * server, src/web/web.c in a browser. */
#ifndef MW_LIVE_STAGE_H
#define MW_LIVE_STAGE_H

#include "live/duel.h"
#include "live/tally.h"

#include <stdio.h>

typedef struct mw_stage {
    char folder[2048], bundle[256]; /* the file of the present one, in the folder */
    int threads;
    mw_duel *duel;
    mw_tally tally; /* of this bundle with this plan */
    bool playing;
    double rate;      /* decisions per second */
    unsigned version; /* of what mw_stage_about tells */
    char notice[256]; /* what went wrong while nobody waited for an answer */
} mw_stage;

/* To be closed whether it succeeds or not. */
mw_status mw_stage_open(mw_stage *stage, const char *folder, const char *bundle, uint64_t seed, int threads,
                        mw_error *error);
void mw_stage_close(mw_stage *stage);

/* One command, as JSON: {"do": "force", "step": 3, "candidate": 2}. docs/live.md lists them. */
mw_status mw_stage_command(mw_stage *stage, const char *text, size_t size, mw_error *error);
/* One step, or the next episode. What cannot go on stops and says so. */
void mw_stage_tick(mw_stage *stage);
double mw_stage_pause(const mw_stage *stage); /* seconds between two of them */

/* The present step, what is played, what has been so far, and the replay page. */
mw_status mw_stage_frame(mw_stage *stage, FILE *out, mw_error *error);
mw_status mw_stage_about(mw_stage *stage, FILE *out, mw_error *error);
mw_status mw_stage_history(mw_stage *stage, FILE *out, mw_error *error);
mw_status mw_stage_recording(mw_stage *stage, FILE *out, mw_error *error);

/* ---- the bundles that may be chosen: files of a folder (bundles.c), or what a browser was given ---- */

/* Names in order, to be freed; negative if the folder cannot be read. */
int mw_stage_bundles(const mw_stage *stage, char ***names);
void mw_stage_bundles_free(char **names, int count);
mw_status mw_stage_bundle(mw_bundle **bundle, const mw_stage *stage, const char *name, mw_error *error);

#endif
