/* A learning run in a folder: checkpoint, learning curve, snapshots of the policy along the way. A run can be
 * stopped at any time and resumed; the outcome is the same as without the stop. */
#ifndef MW_BEHAVIOR_LEARN_TRAIN_H
#define MW_BEHAVIOR_LEARN_TRAIN_H

#include "behavior/learn/learner.h"

/* As mw_behavior_learn, in any game: the preset must be given, and the game knows the world. */
mw_status mw_train(const mw_game *game, const char *folder, const mw_learn_options *options, mw_error *error);

#endif
