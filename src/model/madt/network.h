/* A small causal transformer that goes through what an agent has lived: three tokens of every step, the
 * return that is still wanted, the observation and the previous action. What to do is read at the last of
 * them. */
#ifndef MW_MODEL_MADT_NETWORK_H
#define MW_MODEL_MADT_NETWORK_H

#include "model/units.h"
#include "nn/stack.h"

enum { MW_MADT_LAYERS = 8, MW_MADT_TOKENS = 3 }; /* at most; of a step */

typedef struct mw_madt_config {
    int agents, obs, act;
    int window, times;        /* steps that are seen at most, and that an episode has */
    int width, heads, layers; /* the MLPs are twice as wide */
} mw_madt_config;

typedef struct mw_madt_block {
    mw_norm before[2]; /* the attention; the MLP */
    mw_dense query, key, value, proj, mlp[2];
} mw_madt_block;

typedef struct mw_madt_net {
    mw_params params;
    mw_madt_config config;
    mw_dense token[MW_MADT_TOKENS]; /* what becomes a token */
    size_t place, time;             /* tables [tokens of a window][width], [times][width] */
    mw_madt_block block[MW_MADT_LAYERS];
    mw_norm last;
    mw_dense head;
    mw_units units;
} mw_madt_net;

mw_status mw_madt_net_make(mw_madt_net *net, const mw_madt_config *config, mw_error *error);
void mw_madt_net_pack(const mw_madt_net *net, const float *values, float *packed, bool backward);
double mw_madt_net_flops(const mw_madt_net *net, int steps); /* of one forward pass, without the attention */

/* Histories one after the other, each of 1 to `window` steps. Nothing stands for steps that were not lived.
 */
typedef struct mw_madt_steps {
    int histories;
    int *first;                   /* [histories + 1]: steps before each */
    int *time;                    /* [steps] */
    float *token[MW_MADT_TOKENS]; /* [steps][1], [steps][o + n], [steps][d] */
} mw_madt_steps;

typedef struct mw_madt_block_acts {
    float *x, *between;                /* [tokens][width]: what enters the attention, and the MLP */
    float *normed[2], *stats[2];       /* [tokens][width], [tokens][2] */
    float *query, *key, *value;        /* [tokens][width] */
    float *weights, *message, *hidden; /* [histories][heads][t][t], [tokens][width], [tokens][2 width] */
} mw_madt_block_acts;

typedef struct mw_madt_acts {
    mw_madt_steps in;                /* filled by the caller */
    float *embedded[MW_MADT_TOKENS]; /* [steps][width] */
    mw_madt_block_acts block[MW_MADT_LAYERS];
    float *x, *read, *normed, *stats; /* behind the blocks [tokens][width]; of third tokens [steps][width] */
    float *out;                       /* [steps][d] */
    float *active, *scratch;          /* [tokens][2 width]; of a history's attention */
    /* training */
    float *dx, *d, *more, *dquery, *dkey, *dvalue; /* [tokens][width] */
    float *dhidden, *slope, *dense_scratch;
} mw_madt_acts;

void mw_madt_acts_take(const mw_madt_net *net, mw_madt_acts *acts, mw_arena *arena, int histories,
                       bool training);
/* acts->out from acts->in. */
void mw_madt_forward(const mw_madt_net *net, mw_madt_acts *acts, const float *values, const float *packed);
/* grads += from dout[steps][d]. */
void mw_madt_backward(const mw_madt_net *net, mw_madt_acts *acts, float *grads, const float *dout,
                      const float *values, const float *packed);

/* Where the weights of the heads of a history begin in those of a block. */
size_t mw_madt_weights_at(const mw_madt_net *net, int history);

/* token[1] of a step: an agent's own observation and who it is. */
void mw_madt_see(const mw_madt_net *net, const float *values, const float *obs, int agent, float *token);

#endif
