/* What is sound in a dataset and yet not what training takes, or hardly what was meant: the rules for actions
 * that are asked by training, by the report and by whoever has just brought data in. */
#include "data/dataset.h"

#include <math.h>
#include <stdio.h>

enum { STEPS_AT_ONCE = 8192 };

typedef struct action_look {
    float reach;  /* the largest magnitude of a value */
    bool one_hot; /* every action is one 1 among zeros */
} action_look;

static void look_at(action_look *look, const float *real, size_t actions, size_t width) {
    for (size_t i = 0; i < actions; i++, real += width) {
        size_t ones = 0, zeros = 0;
        for (size_t k = 0; k < width; k++) {
            look->reach = fmaxf(look->reach, fabsf(real[k]));
            ones += real[k] == 1;
            zeros += real[k] == 0;
        }
        look->one_hot = look->one_hot && ones == 1 && zeros == width - 1;
    }
}

static action_look look_over(const mw_dataset *d) {
    const size_t n = (size_t)d->spec.agents, width = (size_t)d->spec.act_size;
    action_look look = {.one_hot = width > 1};
    for (long at = 0; d->real && at < d->steps; at += STEPS_AT_ONCE) {
        const long end = at + STEPS_AT_ONCE < d->steps ? at + STEPS_AT_ONCE : d->steps;
        look_at(&look, d->real + (size_t)at * n * width, (size_t)(end - at) * n, width);
        mw_dataset_release(d, at, end);
    }
    return look;
}

static mw_status check_reach(float reach, mw_error *error) {
    if (reach <= 1) return MW_OK;
    return mw_fail(error, MW_ERR_ARGUMENT,
                   "actions reach %.*g; training takes real ones within [-1, 1]: scale them",
                   reach < 1.01f ? 9 : 3, (double)reach); /* in three digits that would be 1 */
}

mw_status mw_dataset_trainable(const mw_dataset *d, mw_error *error) {
    return check_reach(look_over(d).reach, error);
}

bool mw_dataset_remark(const mw_dataset *d, char *out, size_t size) {
    mw_error refusal;
    if (size) *out = 0;
    if (!d || !d->real) return false;
    const action_look look = look_over(d);
    if (check_reach(look.reach, &refusal) != MW_OK)
        snprintf(out, size, "%s", refusal.message);
    else if (look.one_hot)
        snprintf(out, size,
                 "every action is one-hot; discrete ones are given by index, whole numbers [steps][agents]");
    else
        return false;
    return true;
}
