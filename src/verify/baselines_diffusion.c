/* MADiff and DoF against recorded numbers. The records have a small network in the U-Net's place, which is
 * evaluated here; everything around it is what training and play call. */
#include "verify/baselines.h"

#include "core/math.h"
#include "model/diffusion/noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMETERS = 5, MOST_AGENTS = 64 }; /* of the network; of a record */

typedef struct {
    const mw_baseline_check *whole;
    mw_record *r;
    int agents, obs, batch, segment, drawn, steps; /* drawn: rows that are sampled */
    bool apart;
    float guidance, rate;
    size_t parameters, cells, size;                                             /* cells, size: of a row */
    float weight[PARAMETERS + MOST_AGENTS], gradient[PARAMETERS + MOST_AGENTS]; /* p, then w */
    mw_noise_schedule schedule;
    uint8_t *known;
    float *room; /* everything else */
} check;

static mw_status compare(const check *k, const char *name, const float *seen, size_t count, mw_error *error) {
    MW_TRY(mw_record_has(k->r, mw_name_of("out.%s", name).text, count, error));
    return mw_baseline_compare(k->whole, name, seen, count, error);
}

/* ---- the network that stands in ---- */

/* own[row][T][n][o], what each agent's network says; predicted: times its factor. */
static void stand_in(const check *k, float *own, float *predicted, const float *x, const int *level,
                     const float *returns, const float *keep, int rows) {
    const size_t n = (size_t)k->agents, o = (size_t)k->obs, joint = n * o;
    float factor[MOST_AGENTS];
    if (k->apart) mw_noise_factors(factor, k->weight + k->parameters, k->agents);
    for (size_t at = 0; at < (size_t)rows * k->size; at++) {
        const size_t row = at / k->size, t = at % k->size / joint, i = at / o % n;
        double mean = 0, sum = (double)k->weight[0] * (double)x[at];
        for (size_t j = 0; j < n; j++) mean += (double)x[at - i * o + j * o] / (double)n;
        if (t) sum += (double)k->weight[1] * (double)x[at - joint];
        sum += (double)k->weight[2] * level[row] / MW_NOISE_LEVELS;
        sum += (double)k->weight[3] * (double)(keep[row] * returns[row * n + i]);
        if (!k->apart) sum += (double)k->weight[4] * mean;
        own[at] = (float)mw_tanh(sum);
        predicted[at] = k->apart ? factor[i] * own[at] : own[at];
    }
}

/* k->gradient from that at what was predicted. */
static void stand_in_backward(check *k, const float *own, const float *dpredicted, const float *x,
                              const int *level, const float *returns, const float *keep, int rows) {
    const size_t n = (size_t)k->agents, o = (size_t)k->obs, joint = n * o;
    float factor[MOST_AGENTS];
    double dp[PARAMETERS] = {0}, dfactor[MOST_AGENTS] = {0};
    if (k->apart) mw_noise_factors(factor, k->weight + k->parameters, k->agents);
    for (size_t at = 0; at < (size_t)rows * k->size; at++) {
        const size_t row = at / k->size, t = at % k->size / joint, i = at / o % n;
        const double y = (double)own[at], d = (double)dpredicted[at];
        const double inner = d * (k->apart ? (double)factor[i] : 1) * (1 - y * y);
        double mean = 0;
        for (size_t j = 0; j < n; j++) mean += (double)x[at - i * o + j * o] / (double)n;
        dfactor[i] += d * y;
        dp[0] += inner * (double)x[at];
        dp[1] += t ? inner * (double)x[at - joint] : 0;
        dp[2] += inner * level[row] / MW_NOISE_LEVELS;
        dp[3] += inner * (double)(keep[row] * returns[row * n + i]);
        dp[4] += inner * mean;
    }
    memset(k->gradient, 0, sizeof k->gradient);
    for (size_t p = 0; p < k->parameters; p++) k->gradient[p] = (float)dp[p];
    if (k->apart)
        mw_noise_factors_backward(k->gradient + k->parameters, dfactor, k->weight + k->parameters, k->agents);
}

/* ---- training ---- */

typedef struct {
    const float *x, *noise, *known_x, *returns, *keep;
    float *input, *own, *predicted, *gradient;
    int *level;
    uint8_t *counts; /* what is not known */
    double total;
} batch;

static mw_status integers(const check *k, const char *name, size_t count, int *out, mw_error *error) {
    const float *values = mw_record_floats(k->r, name, count, error);
    if (!values) return MW_ERR_FORMAT;
    for (size_t i = 0; i < count; i++) out[i] = (int)values[i];
    return MW_OK;
}

static mw_status mask(const check *k, const char *name, size_t count, mw_error *error) {
    const float *values = mw_record_floats(k->r, name, count, error);
    if (!values) return MW_ERR_FORMAT;
    for (size_t i = 0; i < count; i++) k->known[i] = values[i] != 0;
    return MW_OK;
}

static mw_status read_batch(const check *k, batch *b, mw_error *error) {
    const size_t rows = (size_t)k->batch, all = rows * k->size, cells = rows * k->cells;
    b->x = mw_record_floats(k->r, "in.x", all, error);
    b->noise = b->x ? mw_record_floats(k->r, "in.eps", all, error) : NULL;
    b->known_x = b->noise ? mw_record_floats(k->r, "in.known_x", all, error) : NULL;
    b->returns = b->known_x ? mw_record_floats(k->r, "in.returns", rows * (size_t)k->agents, error) : NULL;
    b->keep = b->returns ? mw_record_floats(k->r, "in.keep", rows, error) : NULL;
    if (!b->keep) return MW_ERR_FORMAT;
    b->input = k->room;
    b->own = b->input + all;
    b->predicted = b->own + all;
    b->gradient = b->predicted + all;
    MW_TRY(mask(k, "in.known", cells, error));
    MW_TRY(integers(k, "in.t", rows, b->level, error));
    for (size_t row = 0; row < rows; row++)
        if (b->level[row] < 0 || b->level[row] >= MW_NOISE_LEVELS)
            return mw_fail(error, MW_ERR_FORMAT, "%s: tensor 'in.t' holds %d; levels are 0 to %d",
                           k->r->file.path, b->level[row], MW_NOISE_LEVELS - 1);
    b->total = 0;
    for (size_t cell = 0; cell < cells; cell++) {
        b->counts[cell] = !k->known[cell];
        b->total += b->counts[cell] ? k->obs : 0;
    }
    return MW_OK;
}

/* One pass: the loss, and k->gradient. */
static double learn(check *k, batch *b) {
    stand_in(k, b->own, b->predicted, b->input, b->level, b->returns, b->keep, k->batch);
    const double sum = mw_noise_loss(b->gradient, b->predicted, b->noise, b->counts,
                                     (size_t)k->batch * k->cells, (size_t)k->obs, b->total);
    stand_in_backward(k, b->own, b->gradient, b->input, b->level, b->returns, b->keep, k->batch);
    return sum / b->total;
}

/* Gradients are compared with their tensor's largest. */
static mw_status compare_gradient(const check *k, const char *name, const float *seen, size_t count,
                                  mw_error *error) {
    const float *expected = mw_record_floats(k->r, name, count, error);
    if (!expected) return MW_ERR_FORMAT;
    mw_baseline_compared(k->whole, name);
    mw_verify_check(k->whole->report, mw_relative_error(seen, expected, count), MW_GRADIENT_TOLERANCE,
                    "%s: %s", k->r->what, name);
    return MW_OK;
}

static mw_status compare_gradients(const check *k, const float *predicted, size_t count, mw_error *error) {
    MW_TRY(compare_gradient(k, "out.grad_eps_hat", predicted, count, error));
    MW_TRY(compare_gradient(k, "grad.net.p", k->gradient, k->parameters, error));
    if (!k->apart) return MW_OK;
    return compare_gradient(k, "grad.w.w", k->gradient + k->parameters, (size_t)k->agents, error);
}

static mw_status compare_weights(const check *k, mw_error *error) {
    for (int part = 0; part < 1 + k->apart; part++) {
        const char *name = part ? "adam3.w.w" : "adam3.net.p";
        const size_t count = part ? (size_t)k->agents : k->parameters;
        const float *seen = k->weight + (part ? k->parameters : 0),
                    *expected = mw_record_floats(k->r, name, count, error);
        double worst = 0;
        if (!expected) return MW_ERR_FORMAT;
        mw_baseline_compared(k->whole, name);
        for (size_t i = 0; i < count; i++)
            worst = mw_verify_worst(worst, (double)seen[i], (double)expected[i]);
        mw_verify_check(k->whole->report, worst, MW_BASELINE_ADAM_TOLERANCE, "%s: %s", k->r->what, name);
    }
    return MW_OK;
}

static mw_status check_training(check *k, batch *b, mw_error *error) {
    const size_t all = (size_t)k->batch * k->size, count = k->parameters + (k->apart ? (size_t)k->agents : 0);
    float m[PARAMETERS + MOST_AGENTS] = {0}, v[PARAMETERS + MOST_AGENTS] = {0};
    MW_TRY(read_batch(k, b, error));
    const float *inverse = mw_record_floats(k->r, "in.inverse_loss", 1, error);
    if (!inverse) return MW_ERR_FORMAT;
    for (size_t row = 0; row < (size_t)k->batch; row++)
        mw_noise_mix(b->input + row * k->size, b->x + row * k->size, b->noise + row * k->size,
                     k->schedule.kept[b->level[row]], k->size);
    MW_TRY(compare(k, "x_t", b->input, all, error));
    mw_noise_hold(b->input, k->known, b->known_x, (size_t)k->batch * k->cells, (size_t)k->obs);
    MW_TRY(compare(k, "input", b->input, all, error));
    const double noise = learn(k, b);
    const float loss = (float)noise, whole = (float)mw_noise_whole(noise, (double)*inverse);
    MW_TRY(compare(k, "eps_hat", b->predicted, all, error));
    MW_TRY(compare(k, "loss_noise", &loss, 1, error));
    MW_TRY(compare(k, "loss", &whole, 1, error));
    MW_TRY(compare_gradients(k, b->gradient, all, error));
    float kept[PARAMETERS + MOST_AGENTS];
    memcpy(kept, k->weight, sizeof kept);
    const mw_adam adam = {.rate = k->rate, .beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-8f};
    for (long round = 1; round <= MW_RECORDED_STEPS; round++) {
        learn(k, b);
        mw_adam_update(&adam, round, 1, k->weight, k->gradient, m, v, 0, count);
    }
    MW_TRY(compare_weights(k, error));
    memcpy(k->weight, kept, sizeof kept);
    return MW_OK;
}

/* ---- sampling ---- */

/* Arrays of all steps behind each other, as they are recorded. */
typedef struct {
    float *x, *own, *input, *with, *without, *clean, *guided;
} path;

static void sample(const check *k, const path *p, const float *held, const float *returns) {
    const size_t all = (size_t)k->drawn * k->size, cells = (size_t)k->drawn * k->cells;
    int levels[MOST_AGENTS];
    float keep[MOST_AGENTS];
    for (int s = 0; s < k->steps; s++) {
        const int level = mw_noise_level(s, k->steps);
        const double kept = k->schedule.kept[level],
                     next = s + 1 < k->steps ? k->schedule.kept[mw_noise_level(s + 1, k->steps)] : 1;
        const size_t at = (size_t)s * all;
        mw_noise_hold(p->x, k->known, held, cells, (size_t)k->obs);
        memcpy(p->input + at, p->x, all * sizeof *p->x);
        for (int with = 0; with < 2; with++) {
            for (int row = 0; row < k->drawn; row++) {
                levels[row] = level;
                keep[row] = (float)with;
            }
            stand_in(k, p->own, (with ? p->with : p->without) + at, p->x, levels, returns, keep, k->drawn);
        }
        mw_noise_guide(p->guided, p->without + at, p->with + at, k->guidance, all);
        mw_noise_clean(p->clean + at, p->x, p->guided, kept, NULL, NULL, cells, (size_t)k->obs);
        mw_noise_mix(p->x, p->clean + at, p->guided, next, all);
    }
    mw_noise_hold(p->x, k->known, held, cells, (size_t)k->obs);
}

static mw_status check_sampling(check *k, mw_error *error) {
    const size_t all = (size_t)k->drawn * k->size, steps = (size_t)k->steps * all;
    path p = {.x = k->room};
    float **const next[] = {&p.own, &p.guided, &p.input, &p.with, &p.without, &p.clean};
    float *at = k->room + all;
    for (size_t i = 0; i < sizeof next / sizeof *next; i++) {
        *next[i] = at;
        at += i < 2 ? all : steps;
    }
    MW_TRY(mask(k, "in.sample_known", (size_t)k->drawn * k->cells, error));
    const float *held = mw_record_floats(k->r, "in.sample_known_x", all, error),
                *noise = held ? mw_record_floats(k->r, "in.sample_noise", all, error) : NULL,
                *returns =
                    noise ? mw_record_floats(k->r, "in.sample_returns", (size_t)(k->drawn * k->agents), error)
                          : NULL;
    if (!returns) return MW_ERR_FORMAT;
    mw_noise_start(p.x, noise, all);
    sample(k, &p, held, returns);
    MW_TRY(compare(k, "step_input", p.input, steps, error));
    MW_TRY(compare(k, "step_R", p.with, steps, error));
    MW_TRY(compare(k, "step_none", p.without, steps, error));
    MW_TRY(compare(k, "step_x0", p.clean, steps, error));
    return compare(k, "sample", p.x, all, error);
}

/* ---- a record ---- */

static mw_status check_schedule(check *k, mw_error *error) {
    float values[MW_NOISE_LEVELS];
    mw_noise_schedule_make(&k->schedule);
    for (int t = 0; t < MW_NOISE_LEVELS; t++) values[t] = (float)k->schedule.beta[t];
    MW_TRY(compare(k, "beta", values, MW_NOISE_LEVELS, error));
    for (int t = 0; t < MW_NOISE_LEVELS; t++) values[t] = (float)k->schedule.kept[t];
    MW_TRY(compare(k, "A", values, MW_NOISE_LEVELS, error));
    for (int s = 0; s < k->steps; s++) values[s] = (float)mw_noise_level(s, k->steps);
    return compare(k, "timesteps", values, (size_t)k->steps, error);
}

static mw_status read_sizes(check *k, mw_error *error) {
    int levels;
    MW_TRY(mw_record_int(k->r, "agents", 1, MOST_AGENTS, &k->agents, error));
    MW_TRY(mw_record_int(k->r, "obs", 1, 4096, &k->obs, error));
    MW_TRY(mw_record_int(k->r, "batch", 1, 4096, &k->batch, error));
    MW_TRY(mw_record_int(k->r, "segment", 1, 1024, &k->segment, error));
    MW_TRY(mw_record_int(k->r, "sample_batch", 1, MOST_AGENTS, &k->drawn, error));
    MW_TRY(mw_record_int(k->r, "ddim_steps", 1, MW_NOISE_LEVELS, &k->steps, error));
    MW_TRY(mw_record_int(k->r, "diffusion_steps", MW_NOISE_LEVELS, MW_NOISE_LEVELS, &levels, error));
    MW_TRY(mw_record_setting(k->r, "guidance", 1.2f, &k->guidance, error));
    MW_TRY(mw_record_setting(k->r, "lr", 0.01f, &k->rate, error));
    k->apart = mw_safetensors_find(&k->r->file, "weight.w.w") != NULL;
    k->parameters = k->apart ? PARAMETERS - 1 : PARAMETERS;
    k->cells = (size_t)(k->segment * k->agents);
    k->size = k->cells * (size_t)k->obs;
    MW_TRY(mw_record_has(k->r, "in.x", (size_t)k->batch * k->size, error));
    return mw_record_has(k->r, "out.step_input", (size_t)(k->steps * k->drawn) * k->size, error);
}

static mw_status read_weights(check *k, mw_error *error) {
    const float *p = mw_record_floats(k->r, "weight.net.p", k->parameters, error), *w = NULL;
    if (p && k->apart) w = mw_record_floats(k->r, "weight.w.w", (size_t)k->agents, error);
    if (!p || (k->apart && !w)) return MW_ERR_FORMAT;
    memcpy(k->weight, p, k->parameters * sizeof *p);
    if (w) memcpy(k->weight + k->parameters, w, (size_t)k->agents * sizeof *w);
    return MW_OK;
}

mw_status mw_baseline_diffusion(mw_baseline_check *whole, mw_error *error) {
    check k = {.whole = whole, .r = whole->record};
    MW_TRY(read_sizes(&k, error));
    MW_TRY(read_weights(&k, error));
    MW_TRY(check_schedule(&k, error));
    const size_t rows = (size_t)(k.batch > k.drawn ? k.batch : k.drawn),
                 steps = (size_t)(k.drawn * (3 + 4 * k.steps));
    const size_t most = 4 * (size_t)k.batch > steps ? 4 * (size_t)k.batch : steps;
    batch b = {.level = malloc((size_t)k.batch * sizeof *b.level), .counts = malloc(rows * k.cells)};
    k.known = malloc(rows * k.cells);
    k.room = calloc(most * k.size, sizeof *k.room);
    mw_status status = b.level && b.counts && k.known && k.room
                           ? check_training(&k, &b, error)
                           : mw_fail(error, MW_ERR_MEMORY, "cannot allocate a batch");
    if (status == MW_OK) status = check_sampling(&k, error);
    free(b.level);
    free(b.counts);
    free(k.known);
    free(k.room);
    return status;
}
