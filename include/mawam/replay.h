/* A replay: one self-contained HTML page that plays an episode on a canvas. It is recorded frame by frame
 * from what an environment draws, so it works for every family, and can show candidates' imagined paths on
 * top. */
#ifndef MAWAM_REPLAY_H
#define MAWAM_REPLAY_H

#include "mawam/env.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mw_replay mw_replay;

/* subtitle: one line under the task's name, for example the policy and the seed. */
MW_API mw_status mw_replay_create(mw_replay **replay, const mw_env *env, const char *subtitle,
                                  mw_error *error);
MW_API void mw_replay_free(mw_replay *replay);

/* Adds the environment's present state. rewards[n] led to it; NULL for the first frame. */
MW_API mw_status mw_replay_frame(mw_replay *replay, const mw_env *env, const float *rewards, mw_error *error);

/* Adds the candidates of the decision taken in the last frame, before their paths: scores[count], which one
 * was chosen, and a few words on each (labels[count], NULL: none). */
MW_API mw_status mw_replay_candidates(mw_replay *replay, const float *scores, int count, int chosen,
                                      const char *const *labels, mw_error *error);

/* Adds an imagined path to the last frame, coloured by its score: points[count][2] in world coordinates. */
MW_API mw_status mw_replay_path(mw_replay *replay, const float (*points)[2], int count, double score,
                                bool chosen, mw_error *error);

MW_API mw_status mw_replay_write(const mw_replay *replay, const char *path, mw_error *error);
/* The same page, to a stream: for programs that send it on. */
MW_API mw_status mw_replay_print(const mw_replay *replay, FILE *out, mw_error *error);

#ifdef __cplusplus
}
#endif
#endif
