/* A scorer ranks candidate action sequences from one joint observation each. The planner knows nothing else
 * about how futures are judged. */
#ifndef MW_PLAN_SCORER_H
#define MW_PLAN_SCORER_H

#include "model/rwm/network.h"

typedef struct mw_scorer mw_scorer;

typedef struct mw_scorer_class {
    const char *name;
    /* scores[count] of actions[count][horizon][n][d] (one-hot if discrete) from obs[count][n][o]. If paths is
     * not NULL it receives the imagined observations [count][horizon][n][o], or is left alone by a scorer
     * that imagines none. */
    void (*score)(mw_scorer *scorer, float *scores, float *paths, const float *obs, const float *actions,
                  int count, int horizon);
    size_t (*bytes)(const mw_scorer *scorer);
    void (*destroy)(mw_scorer *scorer);
} mw_scorer_class;

struct mw_scorer {
    const mw_scorer_class *kind;
};

static inline void mw_scorer_score(mw_scorer *scorer, float *scores, float *paths, const float *obs,
                                   const float *actions, int count, int horizon) {
    scorer->kind->score(scorer, scores, paths, obs, actions, count, horizon);
}
static inline void mw_scorer_free(mw_scorer *scorer) {
    if (scorer) scorer->kind->destroy(scorer);
}

/* The routed world model as a scorer: the sum over steps and agents of predicted rewards. values and packed
 * (forward matrices) belong to the caller and must outlive it. Batches larger than max_batch are scored in
 * pieces. */
mw_status mw_world_scorer_create(mw_scorer **scorer, const mw_world_net *net, const float *values,
                                 const float *packed, int max_batch, mw_pool *pool, mw_error *error);

#endif
