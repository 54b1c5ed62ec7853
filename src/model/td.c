/* Learning by temporal differences: the target network, batches and the loss; see td.h. */
#include "model/td.h"

#include <math.h>
#include <stdlib.h>

void mw_td_open(mw_fit *f, double slow) {
    ((mw_td *)f->state)->std = 1;
    f->groups[0].decay = (float)slow;
    f->part.cost = 4 * mw_stack_flops(&mw_value_net_of(f->model)->stack, f->settings->batch);
}

mw_status mw_td_slot_open(const mw_fit *f, void *slot, mw_error *error) {
    mw_td_batch *b = slot;
    const size_t rows = (size_t)f->settings->batch, inputs = (size_t)mw_value_inputs(f->model);
    MW_TRY(mw_arena_create(&b->arena, rows * (2 * inputs + 2) * sizeof *b->x, error));
    b->x = mw_arena_floats(&b->arena, rows * (2 * inputs + 2));
    b->next = b->x + rows * inputs;
    b->sum = b->next + rows * inputs;
    b->discount = b->sum + rows;
    return MW_OK;
}

void mw_td_slot_close(void *slot) {
    mw_arena_free(&((mw_td_batch *)slot)->arena);
}

void mw_td_carve(const mw_fit *f, void *area, mw_arena *arena, int rows) {
    mw_td_area *a = area;
    mw_value_carve(f, &a->value, arena, rows);
    a->target = mw_arena_floats(arena, (size_t)rows);
}

/* y = sum + discount * target(next), in the network's units. */
void mw_td_loss(const mw_fit *f, void *slot, void *area, int begin, int end, float *grads, double *losses) {
    const mw_td *td = f->state;
    const mw_td_batch *b = slot;
    mw_td_area *a = area;
    const size_t first = (size_t)begin * (size_t)mw_value_inputs(f->model);
    const float *next = mw_stack_forward(&mw_value_net_of(f->model)->stack, &a->value.acts, b->next + first,
                                         f->target, f->target_packed, end - begin);
    for (int row = begin; row < end; row++) {
        const float rest = b->discount[row] * fmaf(next[row - begin], td->std, td->mean);
        a->target[row - begin] = (b->sum[row] + rest - td->mean) / td->std;
    }
    losses[0] = mw_value_loss(f, &a->value, b->x + first, a->target, end - begin, grads);
}
