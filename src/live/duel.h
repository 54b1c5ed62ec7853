/* Two worlds side by side: the same episode of the same bundle, once planned and once played by the policy
 * alone, with everything that is needed to go back in it, to change how it is planned, and to take a hand.
 * Knows nothing of browsers, and belongs to one thread at a time. What fails changes nothing: the duel stands
 * where it stood, and plays on. */
#ifndef MW_LIVE_DUEL_H
#define MW_LIVE_DUEL_H

#include <mawam/mawam.h>

enum {
    MW_DUEL_PLANNED,
    MW_DUEL_REACTIVE,
    MW_DUEL_SIDES,
    MW_DUEL_CANDIDATES = 64, /* at most; more cannot be looked at */
    MW_DUEL_PLACES = 64,     /* at most, in the picture */
    MW_DUEL_LABEL = 160,     /* of a candidate's first joint action in words */
    MW_DUEL_KEPT = 64 << 20  /* bytes of moments; the oldest are forgotten first */
};

/* One world and who plays in it; arrays as mw_planner_act wants them. */
typedef struct mw_duel_side {
    mw_env *env;
    mw_planner *planner;
    float *obs, *real, *rewards;
    uint8_t *legal;
    int32_t *index;
} mw_duel_side;

/* How one side stands at a step. */
typedef struct mw_duel_standing {
    mw_outcome outcome;
    double total;        /* return so far */
    double milliseconds; /* of the decision */
} mw_duel_standing;

/* One step of the episode: the state and what was decided in it. All arrays are in one block. */
typedef struct mw_duel_moment {
    size_t bytes;
    mw_duel_standing side[MW_DUEL_SIDES];
    unsigned char *world[MW_DUEL_SIDES];  /* snapshot of the environment */
    unsigned char *memory[MW_DUEL_SIDES]; /* and of the planner, before the decision */
    size_t memory_size[MW_DUEL_SIDES];
    float *rewards[MW_DUEL_SIDES]; /* [n] that led here */
    float *obs;                    /* [n][o] of the planned world */
    int candidates, horizon, places, chosen;
    bool forced;     /* chosen by hand */
    bool handled;    /* the present plan alone did not lead here: choices, things or settings were changed */
    float *scores;   /* [candidates] */
    float *weights;  /* [candidates] of the mean that is executed; all 0: it is the chosen one */
    float *imagined; /* [horizon][n][o] of the chosen one */
    float *paths;    /* [candidates][places][horizon + 1][2]; NULL: nothing to draw */
    char *labels;    /* [candidates][MW_DUEL_LABEL]; NULL: actions are not discrete */
    float *mass;     /* [n][experts] of the chosen one's first action; NULL: nothing routes */
} mw_duel_moment;

typedef struct mw_duel {
    mw_bundle *bundle;
    mw_bundle_summary about;  /* what it says of itself */
    const mw_env_info *world; /* what arrays are sized by: the live world, never the file beside it */
    mw_duel_side side[MW_DUEL_SIDES];
    mw_routes *routes; /* NULL: the bundle has no routed world model */
    int experts;
    mw_plan_settings plan; /* of the planned world */
    int arm, threads;
    bool changed; /* settings of the arm, by hand */
    bool torn;    /* a failure left worlds or planners elsewhere than the present step; mended before the next
                     operation */
    uint64_t seed, episode;
    int step, first, last;    /* the present one; the kept ones */
    mw_duel_moment **moments; /* [world->episode_limit + 1] */
    size_t kept;              /* bytes */
} mw_duel;

/* Begins episode 0 of a seed. The bundle is the duel's from now on, also after a failure; then *duel is NULL.
 */
mw_status mw_duel_open(mw_duel **duel, mw_bundle *bundle, uint64_t seed, int threads, mw_error *error);
void mw_duel_close(mw_duel *duel);

mw_status mw_duel_begin(mw_duel *duel, uint64_t seed, uint64_t episode, mw_error *error);
bool mw_duel_over(const mw_duel *duel); /* both worlds are at their end */
/* Executes what was decided, and decides in the next state. Nothing happens when it is over. */
mw_status mw_duel_advance(mw_duel *duel, mw_error *error);
/* Goes to a step that is kept. Later ones stay until play goes on from there. */
mw_status mw_duel_seek(mw_duel *duel, int step, mw_error *error);
/* Goes to a kept step and chooses another candidate there; what followed another choice is forgotten. */
mw_status mw_duel_force(mw_duel *duel, int step, int candidate, mw_error *error);
/* Goes to a kept step, moves something in both worlds, and decides again. */
mw_status mw_duel_place(mw_duel *duel, int step, const char *role, int id, const float place[2],
                        mw_error *error);
bool mw_duel_movable(const mw_duel *duel);
/* From the present step on the planned world is planned so. What is refused changes nothing. */
mw_status mw_duel_set(mw_duel *duel, const char *name, const char *value, mw_error *error);
mw_status mw_duel_arm(mw_duel *duel, const char *name, mw_error *error);
bool mw_duel_arm_plays(const mw_duel *duel, int index); /* is it a planner that the bundle can serve? */

const mw_duel_moment *mw_duel_at(const mw_duel *duel, int step); /* NULL: not kept */
const mw_duel_moment *mw_duel_now(const mw_duel *duel);

#endif
