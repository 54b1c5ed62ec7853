/* The oracle: candidates executed in the true simulator, which bounds what any scorer can achieve with the
 * same candidates. It works on copies restored from snapshots; the environments that are played in are only
 * read. */
#ifndef MW_PLAN_ORACLE_H
#define MW_PLAN_ORACLE_H

#include "mawam/env.h"
#include "model/scorer.h"

extern const mw_scorer_class mw_oracle_class; /* the same as a scorer */

typedef struct mw_oracle mw_oracle;

/* The pool divides the executions; every worker has a simulator of its own. */
mw_status mw_oracle_create(mw_oracle **oracle, const char *task, const mw_env_options *options, mw_pool *pool,
                           mw_error *error);
void mw_oracle_free(mw_oracle *oracle);

/* The candidates of one environment, from its present state on. */
typedef struct mw_oracle_job {
    const mw_env *env;
    const float *actions; /* [candidates][horizon][n][d], one-hot if discrete */
    float *scores;        /* [candidates]: true team return, the sum over steps and agents */
    float *paths; /* NULL, or [candidates][horizon][n][o]: what followed; past the end what was last */
} mw_oracle_job;

/* Real actions are clamped to [-1, 1]. A discrete action that is not legal when its turn comes becomes the
 * first legal one: in battles "stop" for the living and "no-op" for the dead. The end of the episode ends the
 * sum. Fails if a restored simulator does not give back the bytes of its snapshot. */
mw_status mw_oracle_score(mw_oracle *oracle, const mw_oracle_job *jobs, int count, int candidates,
                          int horizon, mw_error *error);

#endif
