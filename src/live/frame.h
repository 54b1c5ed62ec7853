/* A duel as JSON, for the page: what changes with every step, what it is, and what has been so far. */
#ifndef MW_LIVE_FRAME_H
#define MW_LIVE_FRAME_H

#include "live/duel.h"

#include <stdio.h>

/* The present step: "step":..., without braces, so that the sender can add its own. */
void mw_frame_print(const mw_duel *duel, FILE *out);
/* Bundle, features, arms, settings. */
void mw_frame_about(const mw_duel *duel, FILE *out);
/* Returns and routes of all kept steps. */
void mw_frame_history(const mw_duel *duel, FILE *out);

/* In so many digits; what is not finite is null. */
void mw_frame_number(FILE *out, double value, int digits);
/* A JSON text with its quotes; nothing of it can end a script or a line. */
void mw_frame_text(FILE *out, const char *text);

/* The kept steps of the planned world as a replay page. */
mw_status mw_frame_replay(const mw_duel *duel, FILE *out, mw_error *error);

#endif
