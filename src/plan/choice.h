/* From the scores of candidates to the one that is executed: the best, or a mean towards it. */
#ifndef MW_PLAN_CHOICE_H
#define MW_PLAN_CHOICE_H

#include <stdbool.h>

/* The highest score, the lowest index among equals; a score that is not finite only if there is no other. */
int mw_choice_best(const float *scores, int count);

/* The better half of the candidates, their indices in upper[count] by rising index; how many they are. Scores
 * that are not finite do not count. */
int mw_choice_upper(int *upper, const float *scores, int count);

/* `best`, or 0, the policy's own candidate, where its score is not below the best one by more than `margin`.
 */
int mw_choice_cautious(const float *scores, int best, double margin);

/* The mean of plans[count][length] weighted by score, as MPPI takes it, `best` being the best of them; what
 * leads upwards adds up in it, and what the candidates do without an effect cancels out. Returns
 * mean[length], or the best plan itself at temperature 0. */
const float *mw_choice_mean(float *mean, const float *plans, const float *scores, int count, int length,
                            int best, float temperature);

/* The weights of that mean, whose sum is 1: weights[count]. False where the best plan itself is taken. */
bool mw_choice_weights(float *weights, const float *scores, int count, int best, float temperature);

#endif
