/* What a joint observation is worth: the team's discounted return from there on, under the policy that made
 * the data. A sum of imagined rewards ends with the horizon; this is what may be added for the rest. */
#ifndef MW_MODEL_STATE_VALUE_H
#define MW_MODEL_STATE_VALUE_H

#include "model/value.h"

extern const mw_model_class mw_state_value_class;

/* Room for looking at many observations; the model must outlive it. */
typedef struct mw_state_value mw_state_value;

mw_status mw_state_value_create(mw_state_value **value, const mw_model *model, mw_error *error);
void mw_state_value_free(mw_state_value *value);
size_t mw_state_value_bytes(const mw_state_value *value);
float mw_state_value_discount(const mw_model *model, int steps); /* of what lies so many steps ahead */

/* scores[count] += discount * value of obs[count][n][o], rows `stride` floats apart. */
void mw_state_value_add(mw_state_value *value, float *scores, float discount, const float *obs, size_t stride,
                        int count);

#endif
