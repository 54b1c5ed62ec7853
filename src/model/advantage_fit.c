/* The advantage from recorded episodes; see advantage_fit.h. */
#include "model/advantage_fit.h"

#include "core/arena.h"
#include "core/rng.h"
#include "model/units.h"
#include "nn/gemm.h"
#include "nn/regression/regress.h"
#include "nn/regression/ridge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RATE           2e-3f /* of the regressions */
#define SPREAD         1.5   /* standard deviation of a random feature's argument */
#define MOST_DEVIATION 4.0f  /* deviations of actions are cut at this many times their root mean square */

enum { MAX_TERMS = 16384 }; /* of the regression: its matrix takes 2 GiB then */
enum { BATCH = 512, CHUNK = 256, ROUNDS = 3, COMPARED = 1000 };

/* Random features of a joint observation: 1, the standardised values that vary, and bent random sums of
 * these. */
typedef struct {
    int inputs, features, terms;
    float *project, *bias; /* [inputs][features], [features] */
    float *packed;
} basis;

/* The last regression. */
typedef struct {
    basis basis;
    int size;          /* terms times action values */
    double *w, *units; /* [size], [act] */
    float *room;       /* [CHUNK][size] */
    mw_arena arena;
} equation;

/* All rows of the training episodes and behind them all rows of the held-out ones. */
typedef struct {
    const mw_dataset *data;
    const mw_advantage_options *options;
    int joint, act;
    long episodes, trained_episodes, rows, trained;
    long *episode, *start; /* [episodes], [episodes + 1]: first row */
    int64_t *step;         /* [rows]: place in the columns */
    float *reward;         /* [rows]: mean over agents */
    uint8_t *begins;       /* [rows]: an episode does */
    float *value;          /* [rows + episodes]: usual returns; behind, those after the episodes */
    float usual, spread;   /* units of the returns that are learned */
    float *advantage;      /* [rows] */
    float *deviation;      /* [rows][act] */
    int *column, inputs;
    float *mean, *inverse; /* [joint], of the columns that are kept */
    float *gathered, *x;   /* a chunk: standardised values, terms */
    mw_arena arena;
} fitting;

/* ---- rows ---- */

static void carve(fitting *f, int terms) {
    const size_t rows = (size_t)f->rows, joint = (size_t)f->joint, act = (size_t)f->act;
    mw_arena *a = &f->arena;
    f->episode = mw_arena_take(a, (size_t)f->episodes, sizeof *f->episode);
    f->start = mw_arena_take(a, (size_t)f->episodes + 1, sizeof *f->start);
    f->step = mw_arena_take(a, rows, sizeof *f->step);
    f->reward = mw_arena_floats(a, rows);
    f->begins = mw_arena_take(a, rows, sizeof *f->begins);
    f->value = mw_arena_floats(a, rows + (size_t)f->episodes);
    f->advantage = mw_arena_floats(a, rows);
    f->deviation = mw_arena_floats(a, rows * act);
    f->column = mw_arena_take(a, joint, sizeof *f->column);
    f->mean = mw_arena_floats(a, joint);
    f->inverse = mw_arena_floats(a, joint);
    f->gathered = mw_arena_floats(a, CHUNK * joint);
    f->x = mw_arena_floats(a, CHUNK * (size_t)terms);
}

static long rows_of(const mw_dataset *data, const mw_episode_set *set) {
    long rows = 0;
    for (long i = 0; i < set->count; i++) rows += (long)data->lengths[set->episodes[i]];
    return rows;
}

static void count_rows(fitting *f, const mw_split *split) {
    f->trained_episodes = split->train.count;
    f->episodes = split->train.count + split->held.count;
    f->trained = rows_of(f->data, &split->train);
    f->rows = f->trained + rows_of(f->data, &split->held);
}

static mw_status list_rows(fitting *f, const mw_split *split, int terms, mw_error *error) {
    const mw_episode_set *sets[] = {&split->train, &split->held};
    count_rows(f, split);
    carve(f, terms);
    MW_TRY(mw_arena_create(&f->arena, f->arena.used, error));
    carve(f, terms);
    long e = 0;
    for (int s = 0; s < 2; s++)
        for (long i = 0; i < sets[s]->count; i++, e++) {
            f->episode[e] = sets[s]->episodes[i];
            f->start[e + 1] = f->start[e] + (long)f->data->lengths[f->episode[e]];
        }
    const int agents = f->data->spec.agents;
    for (e = 0; e < f->episodes; e++)
        for (long r = f->start[e]; r < f->start[e + 1]; r++) {
            f->begins[r] = r == f->start[e];
            f->step[r] = f->data->offsets[f->episode[e]] + (r - f->start[e]);
            double sum = 0;
            for (int a = 0; a < agents; a++) sum += (double)f->data->rewards[f->step[r] * agents + a];
            f->reward[r] = (float)(sum / agents);
        }
    return MW_OK;
}

static const float *obs_of(const fitting *f, long row) {
    return f->data->obs + (size_t)f->step[row] * (size_t)f->joint;
}

/* Agents see each other: a value that repeats an earlier one says nothing new. */
static bool is_copy(const fitting *f, int column, int earlier) {
    const long stride = f->trained / COMPARED + 1;
    for (long r = 0; r < f->trained; r += stride)
        if (obs_of(f, r)[column] != obs_of(f, r)[earlier]) return false;
    return true;
}

static mw_status choose_inputs(fitting *f, mw_error *error) {
    double *sums = calloc(2 * (size_t)f->joint, sizeof *sums), *squares = sums + f->joint;
    if (!sums) return mw_fail(error, MW_ERR_MEMORY, "cannot look at the observations");
    for (long r = 0; r < f->trained; r++)
        for (int i = 0; i < f->joint; i++) {
            const double v = (double)obs_of(f, r)[i];
            sums[i] += v;
            squares[i] += v * v;
        }
    for (int i = 0; i < f->joint; i++) {
        const double mean = sums[i] / (double)f->trained,
                     variance = squares[i] / (double)f->trained - mean * mean;
        bool kept = variance > 1e-10 * (1 + mean * mean);
        for (int k = 0; kept && k < f->inputs; k++) kept = !is_copy(f, i, f->column[k]);
        if (!kept) continue;
        f->column[f->inputs] = i;
        f->mean[f->inputs] = (float)mean;
        f->inverse[f->inputs++] = (float)(1 / sqrt(variance));
    }
    free(sums);
    return f->inputs > 0 ? MW_OK
                         : mw_fail(error, MW_ERR_NUMERIC, "the advantage needs observations that vary");
}

/* ---- terms ---- */

/* Standardised values of the joint observation. */
static void put_inputs(const fitting *f, const float *obs, float *x) {
    for (int i = 0; i < f->inputs; i++) x[i] = mw_units_of(obs[f->column[i]], f->mean[i], f->inverse[i]);
}

static void equation_carve(equation *e, const fitting *f, int features) {
    basis *b = &e->basis;
    *b = (basis){.inputs = f->inputs, .features = features, .terms = 1 + f->inputs + features};
    e->size = b->terms * f->act;
    b->project = mw_arena_floats(&e->arena, (size_t)b->inputs * (size_t)features);
    b->bias = mw_arena_floats(&e->arena, (size_t)features);
    b->packed = mw_arena_floats(&e->arena, mw_packed_size(b->inputs, features));
    e->w = mw_arena_take(&e->arena, (size_t)e->size, sizeof *e->w);
    e->units = mw_arena_take(&e->arena, (size_t)f->act, sizeof *e->units);
    e->room = mw_arena_floats(&e->arena, CHUNK * (size_t)e->size);
}

static void basis_draw(basis *b, const fitting *f) {
    const size_t inputs = (size_t)b->inputs, features = (size_t)b->features;
    for (size_t k = 0; k < features; k++) {
        mw_rng rng = mw_rng_make(f->options->seed, MW_RNG_ADVANTAGE, (uint64_t)k, 0, 0);
        b->bias[k] = (float)mw_rng_normal(&rng);
        for (size_t i = 0; i < inputs; i++)
            b->project[i * features + k] = (float)(SPREAD / sqrt((double)inputs) * mw_rng_normal(&rng));
    }
    mw_pack(b->packed, b->project, b->features, b->inputs, b->features);
}

/* x[count][terms] of rows [first, first + CHUNK), as far as there are any before `end`; returns how many. */
static int terms_from(const basis *b, fitting *f, long first, long end) {
    const int count = end - first < CHUNK ? (int)(end - first) : CHUNK;
    for (int r = 0; r < count; r++) {
        float *x = f->x + (size_t)r * (size_t)b->terms, *z = f->gathered + (size_t)r * (size_t)b->inputs;
        put_inputs(f, obs_of(f, first + r), z);
        x[0] = 1;
        memcpy(x + 1, z, (size_t)b->inputs * sizeof *z);
    }
    const mw_gemm shape = {.m = count,
                           .n = b->features,
                           .k = b->inputs,
                           .a_row = b->inputs,
                           .a_col = 1,
                           .b_rows = b->inputs,
                           .c_row = b->terms,
                           .bias = b->bias};
    mw_gemm_parts(&shape, &(mw_part){f->gathered, b->packed, 0}, 1, f->x + 1 + b->inputs);
    for (int r = 0; r < count; r++) {
        float *bent = f->x + (size_t)r * (size_t)b->terms + 1 + b->inputs;
        for (int k = 0; k < b->features; k++) bent[k] = mw_advantage_bend(bent[k]);
    }
    return count;
}

static double dot(const double *w, const float *x, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++) sum += w[i] * (double)x[i];
    return sum;
}

static void add_scaled(double *sum, const float *x, double scale, int count) {
    for (int i = 0; i < count; i++) sum[i] += scale * (double)x[i];
}

/* ---- what is usual ---- */

static void action_row(void *context, long row, float *x, float *y) {
    const fitting *f = context;
    put_inputs(f, obs_of(f, row), x);
    if (y) memcpy(y, f->data->real + (size_t)f->step[row] * (size_t)f->act, (size_t)f->act * sizeof *y);
}

/* A return is expected of the present and the observation before. Rows from `rows` on are the states after
 * the episodes. */
static void value_row(void *context, long row, float *x, float *y) {
    const fitting *f = context;
    const long e = row < f->rows ? -1 : row - f->rows, last = e < 0 ? row : f->start[e + 1] - 1;
    const float *obs = e < 0 ? obs_of(f, row)
                             : mw_dataset_obs(f->data, f->episode[e], (long)f->data->lengths[f->episode[e]]);
    const bool begins = e < 0 && f->begins[row];
    if (!obs) obs = obs_of(f, last); /* not known: as if it stood still */
    put_inputs(f, obs, x);
    put_inputs(f, begins ? obs : obs_of(f, e < 0 ? row - 1 : last), x + f->inputs);
    if (y) *y = (f->advantage[row] + f->value[row] - f->usual) / f->spread;
}

static mw_regress_options action_options(const fitting *f) {
    return (mw_regress_options){.inputs = f->inputs,
                                .outputs = f->act,
                                .hidden = f->options->hidden,
                                .steps = f->options->steps,
                                .batch = BATCH,
                                .rate = RATE,
                                .seed = f->options->seed,
                                .stop = f->options->stop};
}

static mw_regress_options value_options(const fitting *f) {
    return (mw_regress_options){.inputs = 2 * f->inputs,
                                .outputs = 1,
                                .hidden = f->options->hidden,
                                .steps = f->options->steps / ROUNDS + 1,
                                .batch = BATCH,
                                .rate = RATE,
                                .seed = f->options->seed + 1,
                                .stop = f->options->stop};
}

/* deviation = action - the action expected of the state. */
static mw_status fit_actions(fitting *f, mw_error *error) {
    mw_regress *r;
    const mw_regress_options options = action_options(f);
    MW_TRY(mw_regress_create(&r, &options, error));
    const mw_status status = mw_regress_fit(r, f->trained, action_row, f, error);
    for (long first = 0; status == MW_OK && first < f->rows; first += BATCH) {
        const int count = f->rows - first < BATCH ? (int)(f->rows - first) : BATCH;
        const float *expected = mw_regress_predict(r, first, count, action_row, f);
        for (long k = 0; k < (long)count * f->act; k++)
            f->deviation[first * f->act + k] =
                f->data->real[f->step[first + k / f->act] * f->act + k % f->act] - expected[k];
    }
    mw_regress_free(r);
    return status;
}

/* advantage = what was earned, with rewards handing over to usual returns at the given rate, minus what is
 * usual.
 */
static void find_advantages(fitting *f, double lambda) {
    const double discount = f->options->discount;
    for (long e = 0; e < f->episodes; e++) {
        const bool cut = f->data->outcomes[f->episode[e]] == MW_ENDED_BY_LIMIT;
        double next = cut ? (double)f->value[f->rows + e] : 0, sum = 0;
        for (long r = f->start[e + 1] - 1; r >= f->start[e]; r--) {
            sum = (double)f->reward[r] + discount * next - (double)f->value[r] + discount * lambda * sum;
            f->advantage[r] = (float)sum;
            next = (double)f->value[r];
        }
    }
}

/* Mean and standard deviation of the returns that are to be learned next. */
static void find_units(fitting *f) {
    double sum = 0, square = 0;
    for (long r = 0; r < f->trained; r++) {
        const double v = (double)f->advantage[r] + (double)f->value[r];
        sum += v;
        square += v * v;
    }
    const double mean = sum / (double)f->trained, variance = square / (double)f->trained - mean * mean;
    f->usual = (float)mean;
    f->spread = variance > 0 ? (float)sqrt(variance) : 1;
}

/* Usual returns: first from whole episodes, then with themselves at the end of shorter stretches. */
static mw_status fit_values(fitting *f, mw_error *error) {
    mw_regress *r;
    const mw_regress_options options = value_options(f);
    const long all = f->rows + f->episodes;
    double mean = 0;
    for (long k = 0; k < f->trained; k++) mean += (double)f->reward[k] / (double)f->trained;
    for (long k = 0; k < all; k++) f->value[k] = (float)(mean / fmax(1 - f->options->discount, 1e-3));
    MW_TRY(mw_regress_create(&r, &options, error));
    mw_status status = MW_OK;
    for (int round = 0; status == MW_OK && round < ROUNDS; round++) {
        find_advantages(f, round ? f->options->lambda : 1);
        find_units(f);
        status = mw_regress_fit(r, f->trained, value_row, f, error);
        for (long first = 0; status == MW_OK && first < all; first += BATCH) {
            const int count = all - first < BATCH ? (int)(all - first) : BATCH;
            const float *out = mw_regress_predict(r, first, count, value_row, f);
            for (int k = 0; k < count; k++) f->value[first + k] = f->usual + f->spread * out[k];
        }
    }
    mw_regress_free(r);
    find_advantages(f, f->options->lambda);
    return status;
}

/* ---- the advantage of deviating ---- */

/* Has the data tried anything else than one value of this action? */
static bool varies(const fitting *f, int action) {
    const float *first = f->data->real + f->step[0] * f->act + action;
    for (long r = 1; r < f->trained; r++)
        if (f->data->real[f->step[r] * f->act + action] != *first) return true;
    return false;
}

/* Deviations in units of their own, cut; units[act] by which they were multiplied: 0 where there are none,
 * and what is left is the regression's own error. False: there are none at all. */
static bool standardise(fitting *f, double *units, mw_advantage_report *report) {
    double mean = 0;
    bool any = false;
    report->action_left = 0;
    for (int k = 0; k < f->act; k++) {
        double sum = 0;
        for (long r = 0; r < f->trained; r++) {
            const double d = (double)f->deviation[(size_t)r * (size_t)f->act + (size_t)k];
            sum += d * d / (double)f->trained;
        }
        report->action_left += sum / f->act;
        units[k] = sum > 1e-12 && varies(f, k) ? 1 / sqrt(sum) : 0;
        any |= units[k] > 0;
        for (long r = 0; r < f->rows; r++) {
            float *d = f->deviation + (size_t)r * (size_t)f->act + (size_t)k;
            *d = fminf(fmaxf(*d * (float)units[k], -MOST_DEVIATION), MOST_DEVIATION);
        }
    }
    for (long r = 0; r < f->trained; r++) mean += (double)f->advantage[r] / (double)f->trained;
    for (long r = 0; r < f->rows; r++) f->advantage[r] -= (float)mean;
    return any;
}

/* out[count][terms*act]: every term times every deviation, of the rows whose terms are in f->x. */
static void products(const fitting *f, const basis *b, float *out, long first, int count) {
    for (int r = 0; r < count; r++) {
        const float *x = f->x + (size_t)r * (size_t)b->terms,
                    *d = f->deviation + (size_t)(first + r) * (size_t)f->act;
        for (int t = 0; t < b->terms; t++)
            for (int k = 0; k < f->act; k++) *out++ = x[t] * d[k];
    }
}

/* Correlation of the advantage that w predicts with the one observed, over rows [first, end). */
static double correlate(fitting *f, const basis *b, float *room, const double *w, long first, long end) {
    const int size = b->terms * f->act;
    double xy = 0, xx = 0, yy = 0;
    for (long count; first < end; first += count) {
        count = terms_from(b, f, first, end);
        products(f, b, room, first, (int)count);
        for (long r = 0; r < count; r++) {
            const double x = dot(w, room + (size_t)r * (size_t)size, size),
                         y = (double)f->advantage[first + r];
            xy += x * y;
            xx += x * x;
            yy += y * y;
        }
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}

/* Into the net's layout: columns that were left out stay zero. */
static void put(const mw_advantage_net *net, float *values, const fitting *f, const basis *b, const double *w,
                const double *units) {
    const size_t joint = (size_t)f->joint, act = (size_t)f->act;
    float *weight = values + net->weight;
    memset(values, 0, net->params.total * sizeof *values);
    for (int i = 0; i < b->inputs; i++) {
        values[net->mean + (size_t)f->column[i]] = f->mean[i];
        values[net->inverse + (size_t)f->column[i]] = f->inverse[i];
    }
    for (int k = 0; k < b->features; k++) {
        values[net->bias + (size_t)k] = b->bias[k];
        for (int i = 0; i < b->inputs; i++)
            values[net->project + (size_t)k * joint + (size_t)f->column[i]] =
                b->project[(size_t)i * (size_t)b->features + (size_t)k];
    }
    for (int t = 0; t < b->terms; t++) {
        const size_t row = t == 0           ? 0
                           : t <= b->inputs ? 1 + (size_t)f->column[t - 1]
                                            : 1 + joint + (size_t)(t - 1 - b->inputs);
        for (size_t k = 0; k < act; k++) weight[row * act + k] = (float)(w[(size_t)t * act + k] * units[k]);
    }
}

static mw_status fit_advantage(fitting *f, const mw_advantage_net *net, float *values,
                               mw_advantage_report *report, mw_error *error) {
    equation e = {0};
    mw_ridge ridge = {0};
    equation_carve(&e, f, net->config.features);
    MW_TRY(mw_arena_create(&e.arena, e.arena.used, error));
    equation_carve(&e, f, net->config.features);
    basis_draw(&e.basis, f);
    mw_status status = mw_ridge_create(&ridge, e.size, CHUNK, error);
    const bool deviates = status == MW_OK && standardise(f, e.units, report);
    for (long first = 0, count; status == MW_OK && first < f->trained; first += count) {
        if (mw_stopped(f->options->stop)) status = MW_ERR_INTERRUPTED;
        count = terms_from(&e.basis, f, first, f->trained);
        products(f, &e.basis, e.room, first, (int)count);
        mw_ridge_add(&ridge, e.room, (int)count);
        for (long r = 0; r < count; r++)
            add_scaled(e.w, e.room + (size_t)r * (size_t)e.size, (double)f->advantage[first + r], e.size);
    }
    if (status == MW_OK && deviates) {
        status = mw_ridge_factor(&ridge, f->options->ridge, error);
        if (status == MW_OK) mw_ridge_solve(&ridge, e.w);
    }
    if (status == MW_OK) {
        put(net, values, f, &e.basis, e.w, e.units);
        report->rows = f->trained;
        report->held_rows = f->rows - f->trained;
        report->correlation = correlate(f, &e.basis, e.room, e.w, 0, f->trained);
        report->held = correlate(f, &e.basis, e.room, e.w, f->trained, f->rows);
    }
    mw_ridge_free(&ridge);
    mw_arena_free(&e.arena);
    return status;
}

mw_status mw_advantage_possible(const mw_advantage_net *net, const mw_dataset_spec *spec, mw_error *error) {
    const int terms = mw_advantage_terms(&net->config), act = spec->agents * spec->act_size;
    if ((long)terms * act <= MAX_TERMS) return MW_OK;
    return mw_fail(error, MW_ERR_ARGUMENT,
                   "%d terms of the state times %d action values are too many for the advantage (%d); fewer "
                   "advantage.features may help",
                   terms, act, MAX_TERMS);
}

static fitting begin(const mw_dataset *dataset, const mw_advantage_options *options) {
    const mw_dataset_spec *s = &dataset->spec;
    return (fitting){.data = dataset,
                     .options = options,
                     .joint = s->agents * s->obs_size,
                     .act = s->agents * s->act_size};
}

size_t mw_advantage_bytes(const mw_advantage_net *net, const mw_dataset *dataset, const mw_split *split,
                          const mw_advantage_options *options, int varying) {
    fitting f = begin(dataset, options);
    equation e = {0};
    f.inputs = varying; /* at most: some may repeat others */
    count_rows(&f, split);
    carve(&f, mw_advantage_terms(&net->config));
    equation_carve(&e, &f, net->config.features);
    const mw_regress_options actions = action_options(&f), values = value_options(&f);
    const size_t phases[] = {mw_regress_bytes(&actions), mw_regress_bytes(&values),
                             e.arena.used + mw_ridge_bytes(e.size, CHUNK)};
    size_t most = 0;
    for (int i = 0; i < 3; i++) most = phases[i] > most ? phases[i] : most;
    return f.arena.used + most;
}

mw_status mw_advantage_fit(const mw_advantage_net *net, float *values, const mw_dataset *dataset,
                           const mw_split *split, const mw_advantage_options *options,
                           mw_advantage_report *report, mw_error *error) {
    fitting f = begin(dataset, options);
    *report = (mw_advantage_report){0};
    MW_TRY(mw_advantage_possible(net, &dataset->spec, error));
    mw_status status = list_rows(&f, split, mw_advantage_terms(&net->config), error);
    if (status == MW_OK) status = choose_inputs(&f, error);
    if (status == MW_OK) status = fit_actions(&f, error);
    if (status == MW_OK) status = fit_values(&f, error);
    if (status == MW_OK) status = fit_advantage(&f, net, values, report, error);
    mw_arena_free(&f.arena);
    if (status == MW_ERR_INTERRUPTED) return mw_fail(error, status, "stopped while fitting the advantage");
    return status;
}
