/* Inside the world model: the values that a forward pass leaves behind, shared by forward and backward. */
#ifndef MW_MODEL_RWM_WORK_H
#define MW_MODEL_RWM_WORK_H

#include "model/rwm/network.h"

/* One agent's token sent to one reward expert. Picks are sorted by expert, then token. */
typedef struct mw_pick {
    int token, slot; /* slot: which of the token's top_k */
} mw_pick;

struct mw_world_work {
    mw_arena arena;
    mw_pool *pool;
    int max_batch;
    bool training;
    mw_token_acts dynamics, reward;
    float *dispatch, *combine;   /* [b][n][slots]: softmax over agents, over slots */
    float *slot_in, *slot_out;   /* [experts][b*slots per expert][token], [..][o] */
    float *shared_out;           /* [b*n][o] of the shared expert */
    float *mixed, *mixed_stats;  /* [b*n][o] before the output norm */
    float *route;                /* [b*n][reward experts] softmax */
    int *top;                    /* [b*n][top_k] expert */
    float *top_weight, *top_out; /* [b*n][top_k] renormalised weight, expert's output */
    mw_pick *picks;              /* [b*n*top_k] */
    int first_pick[MW_MAX_EXPERTS + 1];
    float *picked; /* [b*n*top_k][reward token] gathered tokens */
    /* training: [experts], [reward experts], [1]; else one for each worker */
    mw_mlp_acts *expert, *reward_expert, *shared;
    /* backward */
    float *dslot_in, *dslot_out, *dshared, *dnext, *dmixed, *ddispatch, *dcombine, *droute, *dpicked,
        *dtop_out, *dpick_out, *dtoken[2], *dprojected[2];
    float *scratch[2];
};

/* The end of the dynamics, from what slots and the shared expert have said: mixed and next for joint rows
 * [begin, end). The outputs of expert `without` count as zero, and the others' weights stay as they are;
 * the number of experts stands for the shared one. */
enum { MW_WITHOUT_NONE = -1 };
void mw_world_mix(const mw_world_net *net, mw_world_work *w, const float *values, const float *obs,
                  float *next, int batch, int begin, int end, int without);

/* In training each expert's rows stay with one worker, so that its gradient is one sum, and the heaviest
 * expert goes to whoever has least to do. owner[i] for the dynamics' experts, then the shared one (unless
 * there is none), then the reward's experts with the rows that picked them; `dynamics` or `reward` false
 * leaves those out: they cost nothing. Everybody who asks gets the same. */
enum { MW_SHARED_OWNER = MW_MAX_EXPERTS, MW_REWARD_OWNER, MW_OWNERS = MW_REWARD_OWNER + MW_MAX_EXPERTS };
void mw_world_owners(int owner[MW_OWNERS], const mw_world_net *net, const mw_world_work *w, int batch,
                     bool dynamics, bool reward);

#endif
