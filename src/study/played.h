/* Evaluation seeds are played once: the record of who has played which of them, so that a result that
 * disappoints is reported and not repeated with another bundle until it pleases. */
#ifndef MW_STUDY_PLAYED_H
#define MW_STUDY_PLAYED_H

#include "core/json.h"

/* One evaluation: what job of the study, with what weights and plan, on seeds [first, first + count). */
typedef struct mw_play {
    char label[160], player[17];
    uint64_t first;
    int count;
} mw_play;

typedef struct mw_played {
    mw_play *plays;
    int count;
} mw_played;

/* A line of the study's record; one that tells of no evaluation is passed over. */
mw_status mw_played_recall(mw_played *played, const json_t *line, mw_error *error);
mw_status mw_played_add(mw_played *played, const mw_play *play, mw_error *error);
void mw_played_free(mw_played *played);

/* A job's evaluation, each of its comparisons and each baseline take seeds for themselves. baseline NULL:
 * none.
 */
void mw_play_label(mw_play *play, const char *job, const char *stage, const char *baseline);
json_t *mw_play_json(const mw_play *play); /* for the record */

bool mw_played_has(const mw_played *played, const mw_play *play);
/* Fails if other weights or another plan of the same label have played one of the seeds. */
mw_status mw_played_check(const mw_played *played, const mw_play *play, mw_error *error);

#endif
