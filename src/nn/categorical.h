/* A distribution over discrete actions: softmax over the legal ones. logits[d] may be NULL: all are as
 * likely; legal[d] too: all are. At least one action must be legal. */
#ifndef MW_NN_CATEGORICAL_H
#define MW_NN_CATEGORICAL_H

#include <stdint.h>

/* The logarithm of the sum of exponentials: what a logit less this is, is a log probability. */
float mw_categorical_total(const float *logits, const uint8_t *legal, int d);
float mw_categorical_log(const float *logits, const uint8_t *legal, int d, int32_t act);

/* prob[d]: of every action, 0 of illegal ones. Returns the total. */
float mw_categorical_softmax(float *prob, const float *logits, const uint8_t *legal, int d);

/* The legal action at which the cumulative probability passes u in [0,1). */
int32_t mw_categorical_pick(const float *logits, const uint8_t *legal, int d, float u);
/* The likeliest legal action, the first of equals; 0 where none is legal. */
int32_t mw_categorical_best(const float *logits, const uint8_t *legal, int d);

#endif
