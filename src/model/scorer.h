/* A scorer ranks candidate action sequences, each from one joint observation. The planner knows nothing else
 * about how futures are judged. */
#ifndef MW_MODEL_SCORER_H
#define MW_MODEL_SCORER_H

#include "core/pool.h"

typedef struct mw_scorer mw_scorer;

/* One call: fills scores. */
typedef struct mw_scoring {
    float *scores;    /* [count]: in the unit of the team's return, the sum over agents */
    float *paths;     /* NULL, or imagined observations [count][horizon][n][o]; left alone by a scorer that
                         imagines none */
    const float *obs; /* [count][n][o] */
    const float *actions; /* [count][horizon][n][d], one-hot if discrete */
    int count, horizon;
    int group;       /* consecutive rows that start from the same observation; at least 1 */
    const int *envs; /* [count / group]: which environment each group is of; NULL: unknown */
} mw_scoring;

typedef struct mw_scorer_class mw_scorer_class;

/* What a scorer may be made of. */
typedef struct mw_scorer_context {
    const mw_scorer_class *kind;          /* the class that is asked to make one */
    const struct mw_model *const *models; /* [count]: of the bundle */
    int count;
    const struct mw_model *model; /* the one of the scorer's own class; NULL for scorers that are no model's
                                   */
    int max_rows;                 /* of the largest call; models cut it in pieces where they like */
    int horizon;                  /* of all calls */
    double advantage_share;       /* of a mixture: the weight of the advantage, or of Q in its place */
    struct mw_env *const *envs;   /* the environments that are played in, for a simulator; NULL: none */
    int env_count;
    const struct mw_env_options *env_options; /* that they were made with; may be NULL */
    mw_pool *pool;
} mw_scorer_context;

struct mw_scorer_class {
    const char *name, *help;
    bool imagines;        /* gives paths */
    bool simulates;       /* and they are true */
    const char *mixes[2]; /* models whose scorers it weighs against each other; NULL: it is no mixture */
    mw_status (*create)(mw_scorer **scorer, const mw_scorer_context *context, mw_error *error);
    mw_status (*score)(mw_scorer *scorer, const mw_scoring *scoring, mw_error *error);
    size_t (*bytes)(const mw_scorer *scorer);
    void (*destroy)(mw_scorer *scorer);
};

struct mw_scorer {
    const mw_scorer_class *kind;
};

static inline mw_status mw_scorer_score(mw_scorer *scorer, const mw_scoring *scoring, mw_error *error) {
    return scorer->kind->score(scorer, scoring, error);
}
static inline void mw_scorer_free(mw_scorer *scorer) {
    if (scorer) scorer->kind->destroy(scorer);
}

#endif
