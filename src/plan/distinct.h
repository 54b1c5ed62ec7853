/* Candidates that differ: a frozen policy proposes the same joint first action again and again, and only the
 * first is executed, so equal ones give way to what the policy nearly did instead. */
#ifndef MW_PLAN_DISTINCT_H
#define MW_PLAN_DISTINCT_H

/* The joint first actions of M candidates in one environment. */
typedef struct mw_first_actions {
    int candidates, agents; /* M, n */
    int *action;            /* [M][n] */
    const int *second;      /* [M][n]: the best legal one but that; -1: the agent has none */
    const float *gap;       /* [M][n]: how far its logit is below the action's, finite */
} mw_first_actions;

/* Every candidate whose joint action an earlier one has, by rising index, takes the first of its variants
 * that no candidate has: one agent takes its second-best action, the smallest gap first; then two agents, the
 * smallest sum of gaps first; ties go to the lower index. Without such a variant it stays. */
void mw_distinct(const mw_first_actions *first);

#endif
