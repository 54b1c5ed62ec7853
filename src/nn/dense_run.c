/* Linear maps and convolutions over time as sums of packed products; see param.h. Sequences are time-major,
 * [t][rows][channels], so a tap of a convolution is a product of whole time steps and padding costs nothing.
 */
#include "nn/gemm.h"
#include "nn/ops.h"
#include "nn/param.h"

#define SUM_ROWS 256

void mw_dense_pack(const mw_dense *layer, const float *values, float *packed, bool backward) {
    for (int tap = 0; tap < layer->taps; tap++) {
        const float *w = values + layer->w + (size_t)tap * (size_t)layer->in * (size_t)layer->out;
        mw_pack(packed + layer->packed + (size_t)tap * mw_packed_size(layer->in, layer->out), w, layer->out,
                layer->in, layer->out);
        if (backward)
            mw_pack_transposed(packed + layer->packed_back +
                                   (size_t)tap * mw_packed_size(layer->out, layer->in),
                               w, layer->out, layer->out, layer->in);
    }
}

/* The input step that meets output step `out` at this tap; -1 where there is padding. */
static int input_step(const mw_dense *layer, int out, int tap, int t) {
    int in;
    switch (layer->kind) {
    case MW_CONV_DOWN:
        in = 2 * out + tap - 1;
        break;
    case MW_CONV_UP:
        in = (out + 1 - tap) % 2 ? -1 : (out + 1 - tap) / 2;
        break;
    default:
        in = out + tap - layer->taps / 2;
        break;
    }
    return in >= 0 && in < t ? in : -1;
}

void mw_dense_forward(const mw_dense *layer, float *y, const float *x, const float *values,
                      const float *packed, int t, int rows) {
    const int in = layer->in, out = layer->out, steps = mw_dense_time(layer, t);
    const size_t matrix = mw_packed_size(in, out);
    mw_gemm shape = {.m = rows,
                     .n = out,
                     .k = in,
                     .a_row = in,
                     .a_col = 1,
                     .b_rows = in,
                     .c_row = out,
                     .bias = layer->bias ? values + layer->b : NULL};
    if (layer->taps == 1) {
        shape.m = t * rows;
        mw_gemm_parts(&shape, &(mw_part){x, packed + layer->packed, 0}, 1, y);
        return;
    }
    for (int step = 0; step < steps; step++) {
        mw_part parts[MW_MAX_TAPS];
        int count = 0;
        for (int tap = 0; tap < layer->taps; tap++) {
            int from = input_step(layer, step, tap, t);
            if (from >= 0)
                parts[count++] = (mw_part){x + (size_t)from * (size_t)rows * (size_t)in,
                                           packed + layer->packed + (size_t)tap * matrix, 0};
        }
        mw_gemm_parts(&shape, parts, count, y + (size_t)step * (size_t)rows * (size_t)out);
    }
}

/* The output step that reads input step `in` at this tap; -1 where none does. */
static int output_step(const mw_dense *layer, int in, int tap, int steps) {
    int out;
    switch (layer->kind) {
    case MW_CONV_DOWN:
        out = (in + 1 - tap) % 2 ? -1 : (in + 1 - tap) / 2;
        break;
    case MW_CONV_UP:
        out = 2 * in - 1 + tap;
        break;
    default:
        out = in - tap + layer->taps / 2;
        break;
    }
    return out >= 0 && out < steps ? out : -1;
}

/* dx[from] = sum over the steps and taps that read it of dy[step] w[tap]^T */
static void backward_input(const mw_dense *layer, float *dx, const float *dy, const float *packed, int t,
                           int rows) {
    const int in = layer->in, out = layer->out, steps = mw_dense_time(layer, t);
    const size_t matrix = mw_packed_size(out, in);
    mw_gemm shape = {.m = rows, .n = in, .k = out, .a_row = out, .a_col = 1, .b_rows = out, .c_row = in};
    if (layer->taps == 1) {
        shape.m = t * rows;
        mw_gemm_parts(&shape, &(mw_part){dy, packed + layer->packed_back, 0}, 1, dx);
        return;
    }
    for (int from = 0; from < t; from++) {
        mw_part parts[MW_MAX_TAPS];
        int count = 0;
        for (int tap = 0; tap < layer->taps; tap++) {
            int step = output_step(layer, from, tap, steps);
            if (step >= 0)
                parts[count++] = (mw_part){dy + (size_t)step * (size_t)rows * (size_t)out,
                                           packed + layer->packed_back + (size_t)tap * matrix, 0};
        }
        mw_gemm_parts(&shape, parts, count, dx + (size_t)from * (size_t)rows * (size_t)in);
    }
}

/* grads of w[tap] += sum over steps of x[from]^T dy[step], for rows [row, row + k) of steps [first, last) */
static void backward_weights(const mw_dense *layer, float *grads, const float *x, const float *packed_dy,
                             int t, int rows, int row, int k, int first, int last) {
    const int in = layer->in, out = layer->out, steps = mw_dense_time(layer, t);
    mw_gemm shape = {.m = in,
                     .n = out,
                     .k = k,
                     .a_row = 1,
                     .a_col = in,
                     .b_rows = steps * rows,
                     .c_row = out,
                     .accumulate = true};
    for (int tap = 0; tap < layer->taps; tap++) {
        mw_part parts[SUM_ROWS];
        int count = 0;
        for (int step = first; step < last; step++) {
            int from = input_step(layer, step, tap, t);
            if (from >= 0)
                parts[count++] = (mw_part){x + ((size_t)from * (size_t)rows + (size_t)row) * (size_t)in,
                                           packed_dy, step * rows + row};
        }
        mw_gemm_parts(&shape, parts, count, grads + layer->w + (size_t)tap * (size_t)in * (size_t)out);
    }
}

/* The gradient of the layer's own weights. */
static void backward_own(const mw_dense *layer, float *grads, const float *dy, const float *x, float *scratch,
                         int t, int rows) {
    const int steps = mw_dense_time(layer, t);
    mw_pack(scratch, dy, layer->out, steps * rows, layer->out);
    /* sums over many rows go in blocks that stay in the first caches */
    const int k = rows < SUM_ROWS ? rows : SUM_ROWS, together = SUM_ROWS / k;
    for (int row = 0; row < rows; row += k)
        for (int first = 0; first < steps; first += together)
            backward_weights(layer, grads, x, scratch, t, rows, row, rows - row < k ? rows - row : k, first,
                             first + together < steps ? first + together : steps);
    if (layer->bias) mw_column_sums(grads + layer->b, dy, (long)steps * rows, layer->out);
}

void mw_dense_backward(const mw_dense *layer, float *dx, float *grads, const float *dy, const float *x,
                       const float *packed, float *scratch, int t, int rows) {
    if (rows <= 0) return;
    if (grads) backward_own(layer, grads, dy, x, scratch, t, rows);
    if (dx) backward_input(layer, dx, dy, packed, t, rows);
}

double mw_dense_flops(const mw_dense *layer, int t, int rows) {
    double products = 0;
    for (int step = 0; step < mw_dense_time(layer, t); step++)
        for (int tap = 0; tap < layer->taps; tap++) products += input_step(layer, step, tap, t) >= 0;
    return 2.0 * products * rows * layer->in * layer->out;
}
