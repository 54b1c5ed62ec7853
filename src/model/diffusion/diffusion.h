/* Denoising of joint futures, after MADiff and DoF: the proposer's U-Net learns the noise in segments of
 * observations, given what is known of the past and a wanted return. The settings and the network that the
 * two methods share. */
#ifndef MW_MODEL_DIFFUSION_DIFFUSION_H
#define MW_MODEL_DIFFUSION_DIFFUSION_H

#include "model/diffusion/noise.h"
#include "model/flow/network.h"
#include "model/model.h"

typedef struct mw_diffusion_settings {
    int dim, mults[MW_LEVELS];
    int context, generated; /* C and T - C */
    bool joint;             /* all histories are known to all */
    double scale, drop, discount, return_scale;
    double wanted, guidance;
    bool earn; /* what was earned is no longer wanted */
    int sampling_steps;
    mw_fit_settings fit;
    double average;
} mw_diffusion_settings;

static inline const mw_diffusion_settings *mw_diffusion_settings_of(const mw_model *model) {
    return (const mw_diffusion_settings *)(const void *)&model->config;
}

extern const mw_model_class mw_madiff_class, mw_dof_class;

typedef struct mw_diffusion_net {
    mw_flow_net trunk; /* its parameter table holds everything */
    size_t weight;     /* [n], where agents denoise apart */
    bool shown;        /* a segment shows one agent's history alone */
    float scale;       /* what is generated are changes, times this */
    mw_noise_schedule schedule;
} mw_diffusion_net;

static inline const mw_diffusion_net *mw_diffusion_net_of(const mw_model *model) {
    return model->net;
}

/* apart: agents never meet, and the joint noise is a weighted one of theirs. */
mw_status mw_diffusion_net_make(mw_diffusion_net *net, const mw_model *model, bool apart, mw_error *error);

/* ---- segments ----
 * A segment x[T][n][o] of normalised observations shows all agents' histories, or that of agent `shown` >= 0
 * alone: nothing of the others' past counts, and their present is generated with the future. What is
 * generated of an agent whose present is known is the change from it; this is another name for the same
 * numbers, under which noise need not pass through the network. */

/* Every agent at every time of a segment. */
typedef struct mw_diffusion_cells {
    uint8_t *known; /* [T][n] */
    float *unit;    /* [T][n]: observation = x / unit + centre */
    float *centre;  /* [T][n][o] */
} mw_diffusion_cells;

/* Sets the cells, and turns x[T][n][o] into what the network works on. */
void mw_diffusion_from_obs(const mw_diffusion_net *net, const mw_diffusion_cells *cells, float *x, int shown);

/* ---- the network ---- */

/* One thread's room for so many segments. */
typedef struct mw_diffusion_area {
    mw_flow_acts *acts;
    float *own, *predicted; /* [T][rows*n][o]: of each agent, and times its factor; the same where agents meet
                             */
} mw_diffusion_area;

void mw_diffusion_area_take(const mw_diffusion_net *net, mw_diffusion_area *area, mw_arena *arena, int rows,
                            bool training);

/* What of a batch is not its segments: levels, returns, and 0 where the return is dropped; [rows] each. */
typedef struct mw_diffusion_given {
    const int *level;
    const float *target, *keep;
} mw_diffusion_given;

/* The noise that is predicted in mw_flow_input(area->acts), in area->predicted. */
void mw_diffusion_forward(const mw_diffusion_net *net, const mw_diffusion_area *area, const float *values,
                          const float *packed, const mw_diffusion_given *given, int rows);
/* grads += from the gradient at area->predicted, which is overwritten. */
void mw_diffusion_backward(const mw_diffusion_net *net, const mw_diffusion_area *area, float *grads,
                           float *gradient, const float *values, const float *packed,
                           const mw_diffusion_given *given, int rows);

/* ---- sampling ---- */

typedef struct mw_denoiser mw_denoiser;

/* values and packed must outlive it, as must the pool (may be NULL). */
mw_status mw_denoiser_create(mw_denoiser **denoiser, const mw_model *model, mw_pool *pool, mw_error *error);
void mw_denoiser_free(mw_denoiser *denoiser);

/* x[count][T][n][o]: standard normal noise becomes normalised observations. history[count][C][n][o]; shown
 * and target[count]. Every segment depends on its own inputs alone. */
void mw_denoiser_run(mw_denoiser *denoiser, float *x, const float *history, const int *shown,
                     const float *target, int count);

#endif
