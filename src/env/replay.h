/* What replays (mawam/replay.h) are made of. The recorded episode is JSON text: the page holds it, and the
 * strip is drawn of it. */
#ifndef MW_ENV_REPLAY_H
#define MW_ENV_REPLAY_H

#include "mawam/replay.h"
#include "env/env.h"

/* The files of page/ (cmake/texts.cmake): markup and style before the data, which stand as JSON in a script
 * element that a browser does not run; behind them the parts of one script: what was recorded, in which
 * colours, seen from where; the worlds and imagined paths on a canvas; candidates, rewards and legends around
 * them; time and the hand that moves it. */
extern const char mw_replay_head[], mw_replay_scene[], mw_replay_drawing[], mw_replay_panels[],
    mw_replay_play[];

/* The recorded episode as a film strip in SVG. */
mw_status mw_replay_strip(const char *json, size_t size, const char *path, mw_error *error);

#endif
