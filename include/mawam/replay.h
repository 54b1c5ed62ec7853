/* A replay: one self-contained HTML page that plays an episode on a canvas, or a film strip of it. It is
 * recorded frame by frame from what an environment draws, so it works for every family, and can show
 * candidates' imagined paths on top. */
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

/* Adds the present state of an environment of the same task. rewards[n] led to it; NULL for the first frame.
 */
MW_API mw_status mw_replay_frame(mw_replay *replay, const mw_env *env, const float *rewards, mw_error *error);

/* Adds the candidates of the decision taken in the last frame, before their paths: scores[count], which one
 * was chosen, and a few words on each (labels[count], NULL: none). weights[count]: what is executed is the
 * mean of all of them with these weights, whose sum is 1; NULL: the chosen one. */
MW_API mw_status mw_replay_candidates(mw_replay *replay, const float *scores, const float *weights, int count,
                                      int chosen, const char *const *labels, mw_error *error);

/* Adds an imagined path of one of the last frame's candidates, in the order of the agents where each has one:
 * points[count][2] in world coordinates, from the present on. */
MW_API mw_status mw_replay_path(mw_replay *replay, const float (*points)[2], int count, int candidate,
                                mw_error *error);

/* Says that scores are returns of the team (sum over agents) imagined over so many steps, to be held against
 * what followed; 0, as it is unless said otherwise: something else. */
MW_API mw_status mw_replay_horizon(mw_replay *replay, int steps, mw_error *error);

/* Adds what another replay has recorded, to be seen beside this one step by step, under a few words. */
MW_API mw_status mw_replay_beside(mw_replay *replay, const mw_replay *other, const char *label,
                                  mw_error *error);

/* A page; if the path ends with .svg a picture: a film strip of a few moments. */
MW_API mw_status mw_replay_write(const mw_replay *replay, const char *path, mw_error *error);
/* The same page, to a stream: for programs that send it on. */
MW_API mw_status mw_replay_print(const mw_replay *replay, FILE *out, mw_error *error);

#ifdef __cplusplus
}
#endif
#endif
