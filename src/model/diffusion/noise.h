/* The arithmetic of denoising around any network: how noise is mixed into what is recorded, what is known and
 * held, the loss, and the steps back from noise. Training, play and the check against recorded numbers all
 * call these. Arrays are of cells: a cell is one agent at one time, with `width` values. */
#ifndef MW_MODEL_DIFFUSION_NOISE_H
#define MW_MODEL_DIFFUSION_NOISE_H

#include <stddef.h>
#include <stdint.h>

enum { MW_NOISE_LEVELS = 200 };

/* The squared-cosine schedule: at level t a share kept[t] of the variance is still what was recorded. */
typedef struct mw_noise_schedule {
    double beta[MW_NOISE_LEVELS], kept[MW_NOISE_LEVELS];
} mw_noise_schedule;

void mw_noise_schedule_make(mw_noise_schedule *schedule);
/* out = sqrt(kept) x + sqrt(1 - kept) noise; out may be x. */
void mw_noise_mix(float *out, const float *x, const float *noise, double kept, size_t count);
/* What is known overwrites x. */
void mw_noise_hold(float *x, const uint8_t *known, const float *known_x, size_t cells, size_t width);
/* The sum of squares of predicted - noise over the cells that count. Unless gradient is NULL, it becomes that
 * of mw_noise_whole for a mean over `total` values, and 0 in other cells. */
double mw_noise_loss(float *gradient, const float *predicted, const float *noise, const uint8_t *counts,
                     size_t cells, size_t width, double total);
/* The published loss: half of it is that of the inverse dynamics, whose weights are others. */
double mw_noise_whole(double noise_loss, double inverse_loss);

/* ---- back from noise, in `steps` even steps (DDIM) ---- */

/* What sampling starts from: half of the noise, as published. */
void mw_noise_start(float *x, const float *noise, size_t count);
/* The level of step k = 0.., from the highest down to 0. */
int mw_noise_level(int k, int steps);
/* out = without + guidance (with - without); out may be either. */
void mw_noise_guide(float *out, const float *without, const float *with, float guidance, size_t count);
/* clean: what x would be without the predicted noise, cut so that clean / unit + centre stays in [-1, 1], or
 * as far outside as the centre is. unit[cells] and centre[cells][width]; NULL: 1 and 0. */
void mw_noise_clean(float *clean, const float *x, const float *predicted, double kept, const float *unit,
                    const float *centre, size_t cells, size_t width);

/* ---- joint noise of agents that denoise apart: factors n w_i / (sum of w) ---- */

void mw_noise_factors(float *factor, const float *w, int agents);
/* dw += from the factors' gradient. */
void mw_noise_factors_backward(float *dw, const double *dfactor, const float *w, int agents);

#endif
