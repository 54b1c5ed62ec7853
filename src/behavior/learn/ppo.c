/* Proximal policy optimisation; see ppo.h. */
#include "behavior/learn/ppo.h"

#include "core/math.h"
#include "nn/categorical.h"

#include <math.h>

void mw_gae(float *advantage, float *target, const float *reward, const float *value, const uint8_t *done,
            const float *after, int steps, int envs, float gamma, float lambda) {
    for (int e = 0; e < envs; e++) {
        float running = 0;
        for (int t = steps - 1; t >= 0; t--) {
            const long i = (long)t * envs + e;
            const float next = done[i] ? after[i] : value[i + envs];
            const float delta = reward[i] + gamma * next - value[i];
            running = delta + (done[i] ? 0 : gamma * lambda * running);
            advantage[i] = running;
            target[i] = running + value[i];
        }
    }
}

void mw_standardise(float *values, int count) {
    double sum = 0, square = 0;
    for (int i = 0; i < count; i++) sum += values[i];
    const double mean = sum / count;
    for (int i = 0; i < count; i++) square += (values[i] - mean) * (values[i] - mean);
    const double scale = 1 / (sqrt(square / count) + 1e-8);
    for (int i = 0; i < count; i++) values[i] = (float)((values[i] - mean) * scale);
}

/* Loss -min(r A, clip(r) A) with r = exp(now - old); returns its derivative by the log probability. */
static float surrogate(const mw_ppo_row *row, float now, mw_ppo_terms *terms) {
    const float change = fminf(fmaxf(now - row->old, -20), 20), ratio = (float)mw_exp((double)change),
                a = row->advantage;
    const float bounded = fminf(fmaxf(ratio, 1 - row->clip), 1 + row->clip);
    const float free = ratio * a, held = bounded * a;
    terms->kl += (double)(ratio - 1 - change);
    terms->clipped += ratio != bounded;
    terms->loss -= (double)fminf(free, held);
    return free <= held ? -free : 0;
}

/* ---- Gaussian ---- */

static const float half_log_2pi = 0.91893853f;

float mw_gaussian_log(const float *out, const float *log_std, const float *act, int d) {
    float log = 0;
    for (int i = 0; i < d; i++) {
        float z = (act[i] - (float)mw_tanh((double)out[i])) * (float)mw_exp(-(double)log_std[i]);
        log -= 0.5f * z * z + log_std[i] + half_log_2pi;
    }
    return log;
}

void mw_ppo_gaussian(const mw_ppo_row *row, float *dout, float *dlog_std, const float *out,
                     const float *log_std, const float *act, int d, mw_ppo_terms *terms) {
    const float slope = surrogate(row, mw_gaussian_log(out, log_std, act, d), terms);
    for (int i = 0; i < d; i++) {
        const float mean = (float)mw_tanh((double)out[i]), inverse = (float)mw_exp(-(double)log_std[i]),
                    z = (act[i] - mean) * inverse;
        const float entropy = log_std[i] + half_log_2pi + 0.5f;
        dout[i] = row->scale * slope * z * inverse * (1 - mean * mean);
        dlog_std[i] += row->scale * (slope * (z * z - 1) - row->entropy_bonus);
        terms->entropy += (double)entropy;
        terms->loss -= (double)(row->entropy_bonus * entropy);
    }
}

/* ---- masked categorical ---- */

void mw_ppo_categorical(const mw_ppo_row *row, float *dlogits, const float *logits, const uint8_t *legal,
                        int32_t act, int d, mw_ppo_terms *terms) {
    const float total = mw_categorical_total(logits, legal, d);
    const float slope = surrogate(row, logits[act] - total, terms);
    float entropy = 0;
    for (int i = 0; i < d; i++)
        if (legal[i]) entropy -= (float)mw_exp((double)(logits[i] - total)) * (logits[i] - total);
    for (int i = 0; i < d; i++) {
        const float log = logits[i] - total, p = legal[i] ? (float)mw_exp((double)log) : 0;
        float slope_i = slope * ((i == act) - p);
        if (legal[i]) slope_i += row->entropy_bonus * p * (log + entropy);
        dlogits[i] = row->scale * slope_i;
    }
    terms->entropy += (double)entropy;
    terms->loss -= (double)(row->entropy_bonus * entropy);
}
