/* Parameters are a table: name, shape in files, place in one array of floats. The same table drives
 * initialisation, optimiser, averages, saving, loading, counting and gradient checks. In memory matrices lie
 * as products want them, [tap][in][out]; in files as PyTorch has them. Gradients and moments are arrays of
 * the same layout. */
#ifndef MW_NN_PARAM_H
#define MW_NN_PARAM_H

#include "core/error.h"
#include "core/tensor/safetensors.h"

typedef enum mw_param_kind {
    MW_PARAM_PLAIN,     /* the same in file and memory */
    MW_PARAM_LINEAR,    /* file [out][in],        memory [in][out] */
    MW_PARAM_CONV,      /* file [out][in][taps],  memory [taps][in][out] */
    MW_PARAM_TRANSPOSED /* file [in][out][taps],  memory [taps][in][out] */
} mw_param_kind;

typedef enum mw_init { MW_INIT_ZERO, MW_INIT_ONE, MW_INIT_UNIFORM, MW_INIT_NORMAL } mw_init;

typedef struct mw_param {
    char name[56];
    mw_param_kind kind;
    mw_init init;
    float spread;       /* half width of the uniform, std of the normal */
    int dims, shape[3]; /* as in files */
    size_t offset, count;
} mw_param;

typedef struct mw_params {
    mw_param *list;
    int count, capacity;
    size_t total;  /* floats in all, each parameter padded to MW_ALIGN bytes */
    size_t packed; /* floats that the packed matrices of all dense layers take */
    bool failed;   /* out of memory while building; checked once at the end */
} mw_params;

/* A parameter's name, made in place: mw_name_of("%s.weight", prefix).text */
typedef struct mw_name {
    char text[56];
} mw_name;
mw_name mw_name_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

void mw_params_free(mw_params *params);
/* Appends a parameter and returns its offset. Extents after the last are 0. */
size_t mw_params_add(mw_params *params, const char *name, mw_param_kind kind, mw_init init, float spread,
                     int d0, int d1, int d2);
const mw_param *mw_params_find(const mw_params *params, const char *name);
size_t mw_params_scalars(const mw_params *params); /* true number of weights, without padding */

void mw_params_init(const mw_params *params, float *values, uint64_t seed);

/* Between memory layout and file layout of one parameter; count floats each. */
void mw_param_to_file(const mw_param *param, const float *values, float *out);
void mw_param_from_file(const mw_param *param, const float *in, float *values);

/* Sets all parameters from a source that writes one at a time in the file's layout, count floats. */
typedef mw_status (*mw_param_source)(void *context, const mw_param *param, float *out, mw_error *error);
mw_status mw_params_fill(const mw_params *params, float *values, mw_param_source source, void *context,
                         mw_error *error);
/* Reads all parameters from tensors named prefix + name. */
mw_status mw_params_load(const mw_params *params, float *values, const mw_safetensors *file,
                         const char *prefix, mw_error *error);

/* ---- dense layers: linear maps and convolutions over time ---- */
typedef enum mw_conv_kind {
    MW_CONV_SAME, /* stride 1, padding taps/2; taps 1 is a linear map per time step */
    MW_CONV_DOWN, /* 3 taps, stride 2, padding 1 */
    MW_CONV_UP,   /* transposed: 4 taps, stride 2, padding 1 */
} mw_conv_kind;

#define MW_MAX_TAPS 8

typedef struct mw_dense {
    mw_conv_kind kind;
    int in, out, taps;
    bool bias;
    size_t w, b;                /* offsets of [taps][in][out] and, with bias, [out] */
    size_t packed, packed_back; /* offsets of the packed matrices: forward, and transposed for backward */
} mw_dense;

/* Adds name.weight and name.bias with PyTorch's default initialisation. */
mw_dense mw_dense_linear(mw_params *params, const char *name, int in, int out);
/* The same without name.bias. */
mw_dense mw_dense_unbiased(mw_params *params, const char *name, int in, int out);
/* A bare matrix, stored as [in][out], without bias. */
mw_dense mw_dense_matrix(mw_params *params, const char *name, int in, int out, mw_init init, float spread);
mw_dense mw_dense_conv(mw_params *params, const char *name, mw_conv_kind kind, int in, int out, int taps);

/* packed <- the layer's matrices; backward ones only if asked for. */
void mw_dense_pack(const mw_dense *layer, const float *values, float *packed, bool backward);

int mw_dense_time(const mw_dense *layer, int t); /* output length for input length t */
/* y[t'][rows][out] = x[t][rows][in] * w + b */
void mw_dense_forward(const mw_dense *layer, float *y, const float *x, const float *values,
                      const float *packed, int t, int rows);
/* grads += unless NULL: the layer is frozen; dx[t][rows][in] overwritten unless NULL. scratch holds
 * mw_dense_scratch floats. */
void mw_dense_backward(const mw_dense *layer, float *dx, float *grads, const float *dy, const float *x,
                       const float *packed, float *scratch, int t, int rows);
size_t mw_dense_scratch(const mw_dense *layer, int t, int rows);
double mw_dense_flops(const mw_dense *layer, int t, int rows); /* of one forward pass */

#include "nn/level.h"

#endif
