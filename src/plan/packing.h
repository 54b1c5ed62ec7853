/* Matrices of a bundle in a few bits per weight. A row is what the first index of a tensor names, in most of
 * them an output; weight = q * scale of its row, in single precision, with whole numbers q of both signs
 * alike. 8 bits are an I8 tensor of the matrix's own shape; fewer are an U8 tensor [rows][bytes], in which q
 * + 2^(bits - 1) stands at bit `bits` * column of its row, lowest bits first. The scales are NAME.scale, F32
 * [rows]. */
#ifndef MW_PLAN_PACKING_H
#define MW_PLAN_PACKING_H

#include "core/fields.h"
#include "nn/param.h"

enum { MW_PACKING_LEAST = 4, MW_PACKING_MOST = 8 }; /* bits */

typedef struct mw_packing {
    int bits;         /* 0: it is not packed */
    char of[MW_WORD]; /* checksum of the bundle's file before */
} mw_packing;

json_t *mw_packing_json(const mw_packing *packing);
/* What says that a bundle is packed; NULL: it is not. */
mw_status mw_packing_read(mw_packing *packing, const json_t *json, const char *what, mw_error *error);

/* Matrices of some size are packed, all of them; units of inputs and outputs are not. */
bool mw_packing_takes(const mw_param *param);
mw_dtype mw_packing_type(int bits);
/* The shape of the packed tensor; returns its number of extents. */
int mw_packing_shape(int bits, const mw_param *param, int shape[3]);
mw_name mw_packing_scale_name(const char *name);

/* Packs count weights in the file's order into zeroed bytes and one scale per row: those of least squared
 * error among roundings to 13 ranges, each with the scale that suits it best. */
void mw_packing_pack(int bits, const mw_param *param, const float *weights, unsigned char *packed,
                     float *scale);
/* Everything that expanding relies on: both tensors, finite scales, no numbers outside the range. */
mw_status mw_packing_check(int bits, const mw_param *param, const mw_safetensors *file, const char *name,
                           mw_error *error);
void mw_packing_expand(int bits, const mw_param *param, const mw_safetensors *file, const char *name,
                       float *weights);

#endif
