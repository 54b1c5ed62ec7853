/* What replays (mawam/replay.h) are made of. The recorded episode is JSON text: the page holds it, and the
 * strip is drawn of it. */
#ifndef MW_ENV_REPLAY_H
#define MW_ENV_REPLAY_H

#include "mawam/replay.h"
#include "env/env.h"

/* The page around the data, split where the data go; behind them the parts of the script. */
extern const char mw_replay_page_head[], mw_replay_page_tail[];
extern const char mw_replay_scene[], mw_replay_drawing[], mw_replay_panels[];

/* The recorded episode as a film strip in SVG. */
mw_status mw_replay_strip(const char *json, size_t size, const char *path, mw_error *error);

#endif
