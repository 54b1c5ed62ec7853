/* The hot files of this folder (adam_update.c, attention.c, dense_run.c, gemm.c, ops.c) are compiled once for
 * every CPU level with MW_LEVEL set to its suffix. Inside them a name of the list below means the function of
 * their own level; everywhere else it means the one that the running CPU was given by level.c. A new hot
 * function is one line in each of the two lists. */
#ifndef MW_NN_LEVEL_H
#define MW_NN_LEVEL_H

#include "nn/adam.h"
#include "nn/attention.h"
#include "nn/gemm.h"
#include "nn/ops.h"
#include "nn/param.h"

#define MW_HOT(X)                                                                                            \
    X(mw_pack)                                                                                               \
    X(mw_pack_transposed)                                                                                    \
    X(mw_gemm_parts)                                                                                         \
    X(mw_gemm_packed)                                                                                        \
    X(mw_dense_pack)                                                                                         \
    X(mw_dense_forward)                                                                                      \
    X(mw_dense_backward)                                                                                     \
    X(mw_dense_flops)                                                                                        \
    X(mw_silu_forward)                                                                                       \
    X(mw_silu_slope)                                                                                         \
    X(mw_gelu_forward)                                                                                       \
    X(mw_gelu_slope)                                                                                         \
    X(mw_mish_forward)                                                                                       \
    X(mw_mish_backward)                                                                                      \
    X(mw_relu_forward)                                                                                       \
    X(mw_relu_slope)                                                                                         \
    X(mw_squash)                                                                                             \
    X(mw_layernorm_forward)                                                                                  \
    X(mw_layernorm_backward)                                                                                 \
    X(mw_groupnorm_mish_forward)                                                                             \
    X(mw_groupnorm_mish_backward)                                                                            \
    X(mw_softmax_rows)                                                                                       \
    X(mw_softmax_rows_backward)                                                                              \
    X(mw_softmax_agents)                                                                                     \
    X(mw_softmax_agents_backward)                                                                            \
    X(mw_add)                                                                                                \
    X(mw_add_scaled)                                                                                         \
    X(mw_multiply)                                                                                           \
    X(mw_column_sums)                                                                                        \
    X(mw_inner)                                                                                              \
    X(mw_dot)                                                                                                \
    X(mw_norm_features_forward)                                                                              \
    X(mw_norm_features_backward)                                                                             \
    X(mw_mse)                                                                                                \
    X(mw_cross_entropy)                                                                                      \
    X(mw_attention_forward)                                                                                  \
    X(mw_attention_backward)                                                                                 \
    X(mw_causal_forward)                                                                                     \
    X(mw_causal_backward)                                                                                    \
    X(mw_adam_update)                                                                                        \
    X(mw_ema_update)

#if defined(MAWAM_ONE_LEVEL) && !defined(MW_LEVEL) /* nothing to choose: no way around */
#define MW_LEVEL only
#endif

/* One pointer for each of them. */
typedef struct mw_kernels {
#define MW_FIELD(name) __typeof__(name) *name;
    MW_HOT(MW_FIELD)
#undef MW_FIELD
} mw_kernels;

/* Those of the level in use, and of any level of this build; NULL if it does not have it. */
extern const mw_kernels *mw_hot;
const mw_kernels *mw_kernels_of(int level /* mw_cpu_level */);

#ifdef MW_LEVEL
#define MW_JOINED(name, suffix) name##_##suffix
#define MW_JOIN(name, suffix)   MW_JOINED(name, suffix)
#define MW_PICK(name)           MW_JOIN(name, MW_LEVEL)
#define MW_DECLARE(name)        extern __typeof__(name) MW_PICK(name);
MW_HOT(MW_DECLARE)
#undef MW_DECLARE
#else
#define MW_PICK(name) mw_hot->name
#endif

#define mw_pack                    MW_PICK(mw_pack)
#define mw_pack_transposed         MW_PICK(mw_pack_transposed)
#define mw_gemm_parts              MW_PICK(mw_gemm_parts)
#define mw_gemm_packed             MW_PICK(mw_gemm_packed)
#define mw_dense_pack              MW_PICK(mw_dense_pack)
#define mw_dense_forward           MW_PICK(mw_dense_forward)
#define mw_dense_backward          MW_PICK(mw_dense_backward)
#define mw_dense_flops             MW_PICK(mw_dense_flops)
#define mw_silu_forward            MW_PICK(mw_silu_forward)
#define mw_silu_slope              MW_PICK(mw_silu_slope)
#define mw_gelu_forward            MW_PICK(mw_gelu_forward)
#define mw_gelu_slope              MW_PICK(mw_gelu_slope)
#define mw_mish_forward            MW_PICK(mw_mish_forward)
#define mw_mish_backward           MW_PICK(mw_mish_backward)
#define mw_relu_forward            MW_PICK(mw_relu_forward)
#define mw_relu_slope              MW_PICK(mw_relu_slope)
#define mw_squash                  MW_PICK(mw_squash)
#define mw_layernorm_forward       MW_PICK(mw_layernorm_forward)
#define mw_layernorm_backward      MW_PICK(mw_layernorm_backward)
#define mw_groupnorm_mish_forward  MW_PICK(mw_groupnorm_mish_forward)
#define mw_groupnorm_mish_backward MW_PICK(mw_groupnorm_mish_backward)
#define mw_softmax_rows            MW_PICK(mw_softmax_rows)
#define mw_softmax_rows_backward   MW_PICK(mw_softmax_rows_backward)
#define mw_softmax_agents          MW_PICK(mw_softmax_agents)
#define mw_softmax_agents_backward MW_PICK(mw_softmax_agents_backward)
#define mw_add                     MW_PICK(mw_add)
#define mw_add_scaled              MW_PICK(mw_add_scaled)
#define mw_multiply                MW_PICK(mw_multiply)
#define mw_column_sums             MW_PICK(mw_column_sums)
#define mw_inner                   MW_PICK(mw_inner)
#define mw_dot                     MW_PICK(mw_dot)
#define mw_norm_features_forward   MW_PICK(mw_norm_features_forward)
#define mw_norm_features_backward  MW_PICK(mw_norm_features_backward)
#define mw_mse                     MW_PICK(mw_mse)
#define mw_cross_entropy           MW_PICK(mw_cross_entropy)
#define mw_attention_forward       MW_PICK(mw_attention_forward)
#define mw_attention_backward      MW_PICK(mw_attention_backward)
#define mw_causal_forward          MW_PICK(mw_causal_forward)
#define mw_causal_backward         MW_PICK(mw_causal_backward)
#define mw_adam_update             MW_PICK(mw_adam_update)
#define mw_ema_update              MW_PICK(mw_ema_update)

#endif
