/* The online learner: proximal policy optimisation with one actor shared by all agents, which sees only the
 * agent's own observation, and a critic that sees the joint one. An iteration collects `horizon` steps in
 * each of `envs` environments and then improves both networks on them. Every bit follows from preset, game
 * and seed; the number of threads does not matter. */
#ifndef MW_BEHAVIOR_LEARN_LEARNER_H
#define MW_BEHAVIOR_LEARN_LEARNER_H

#include "behavior/actor.h"
#include "behavior/learn/preset.h"
#include "core/pool.h"
#include "env/env.h"

/* Where environments come from: a task by name, or something made for training only (a prey's game). */
typedef struct mw_game {
    mw_env_make *create;
    const void *context;
} mw_game;

typedef struct mw_task_game {
    const char *task;
    const mw_env_options *options; /* may be NULL */
} mw_task_game;
mw_game mw_game_of_task(const mw_task_game *task);

typedef struct mw_learner mw_learner;

mw_status mw_learner_create(mw_learner **learner, const mw_learn_preset *preset, const mw_game *game,
                            uint64_t seed, int threads, mw_error *error);
void mw_learner_free(mw_learner *learner);

mw_status mw_learner_iterate(mw_learner *learner, mw_learn_report *report, mw_error *error);
const mw_learn_preset *mw_learner_preset(const mw_learner *learner);
const mw_env_info *mw_learner_world(const mw_learner *learner);
long mw_learner_iterations(const mw_learner *learner); /* that the preset's steps take */
long mw_learner_iteration(const mw_learner *learner);  /* finished so far */

/* The policy as it is now, with the normalisation of observations folded into its first layer. */
mw_status mw_learner_actor(const mw_learner *learner, mw_actor *actor, mw_error *error);

/* Everything the next iteration depends on. A learner that loads a checkpoint of the same preset, game and
 * seed continues with identical bits. */
mw_status mw_learner_save(const mw_learner *learner, const char *path, mw_error *error);
mw_status mw_learner_load(mw_learner *learner, const char *path, mw_error *error);
double mw_learner_std(const mw_learner *learner); /* of real actions: how it explores now; discrete ones: 0 */
/* The preset and the seed that a checkpoint was learned with. */
mw_status mw_learner_peek(const char *path, mw_learn_preset *preset, uint64_t *seed, mw_error *error);

#endif
