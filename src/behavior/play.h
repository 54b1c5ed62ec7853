/* Playing behaviours: groups of episodes, batched through the policy and spread over threads. Episode k of a
 * seed is always the same, whoever plays it and in whatever company. */
#ifndef MW_BEHAVIOR_PLAY_H
#define MW_BEHAVIOR_PLAY_H

#include "behavior/behavior.h"
#include "core/pool.h"
#include "data/dataset.h"

enum { MW_PLAY_GROUP = 8 }; /* consecutive episodes that share a policy */

/* One episode as recorded. Arrays are the player's and valid until it plays again. */
typedef struct mw_played {
    mw_episode episode;
    int policy;            /* which of the behaviour's */
    double episode_return; /* sum over steps of the agents' mean reward */
} mw_played;

typedef struct mw_player mw_player;

/* behavior NULL: uniform random actions. It must outlive the player. With record = false episodes carry
 * only their length, return and outcome. */
mw_status mw_player_create(mw_player **player, const char *task, const mw_env_options *options,
                           const mw_behavior *behavior, uint64_t seed, int threads, bool record,
                           mw_error *error);
void mw_player_free(mw_player *player);
const mw_env_info *mw_player_world(const mw_player *player);

/* Plays the next mw_player_wave episodes, in order. */
int mw_player_wave(const mw_player *player);
mw_status mw_player_next(mw_player *player, const mw_played **episodes, mw_error *error);

/* ---- measuring ---- */
/* behavior NULL: uniform random actions. */
mw_status mw_behavior_measure(const char *task, const mw_env_options *options, const mw_behavior *behavior,
                              uint64_t seed, int episodes, int threads, mw_measure *measure, mw_error *error);

#endif
