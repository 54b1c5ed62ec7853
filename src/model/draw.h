/* Policies that draw: actions of agents from a generator, one each or the best liked of several. */
#ifndef MW_MODEL_DRAW_H
#define MW_MODEL_DRAW_H

#include "model/generator.h"

typedef struct mw_draw_head {
    const mw_generator *generator; /* of one agent */
    mw_sampler sampler;
    bool still;               /* discrete actions start from zeros, not from noise */
    int candidates;           /* M: of every agent */
    const mw_mlp *critics[2]; /* rows [what the generator sees, action]; the second may be NULL */
    double sharpness;         /* one of M is drawn by the softmax of so many times the smaller value */
} mw_draw_head;

/* Weights and packed matrices. */
typedef struct mw_weights {
    const float *values, *packed;
} mw_weights;

/* Room for decisions on at most so many joint observations. */
typedef struct mw_draw {
    const mw_draw_head *head;
    int rows; /* n M: of a joint observation */
    mw_mlp_acts acts, critic;
    float *row;           /* [joint][n][M][inputs] */
    float *x;             /* [joint][n][M][d]: noise, then candidates */
    float *judged;        /* [joint][n][M][inputs of a critic] */
    float *value, *share; /* [joint][n][M]: the smaller value, and the softmax */
} mw_draw;

void mw_draw_carve(mw_draw *draw, const mw_draw_head *head, mw_arena *arena, int joint);
/* Rows of joint observation `at` of the room; x of it is the caller's to fill. */
void mw_draw_see(mw_draw *draw, const float *values, const float *obs, int at);
/* x of the first `joint` observations becomes what the sampler leads to; states as in mw_generator_sample. */
void mw_draw_generate(mw_draw *draw, mw_weights generator, int joint, float *states);
/* Candidates are clipped, valued and given their shares. */
void mw_draw_judge(mw_draw *draw, mw_weights critics, int joint);
/* The first of M whose shares sum up to more than u. */
int mw_draw_pick(const float *share, int candidates, double u);

/* ---- play, for classes that say what they draw from ---- */
mw_status mw_draw_policy_create(mw_policy **policy, const mw_policy_context *context, mw_error *error);
mw_status mw_draw_policy_act(mw_policy *policy, const mw_policy_call *call, mw_error *error);
void mw_draw_policy_destroy(mw_policy *policy);

#endif
