/* The advantage from recorded episodes; see advantage_fit.h. */
#include "study/advantage_fit.h"

#include "core/arena.h"
#include "core/rng.h"
#include "nn/gemm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPREAD    2.0  /* deviation of a random feature's argument */
#define TINY      1e-5 /* ridge of the regressions on plenty of rows, relative */
#define OUTLIER   5.0  /* advantages are cut at this many deviations, */
#define DEVIATION 4.0f /* and deviations of actions at this many of theirs */

enum { CHUNK = 256, ROUNDS = 3, COMPARED = 1000 };

/* Random features of a joint observation: 1, the standardised values that vary, and bent random sums of
 * these. */
typedef struct {
    int inputs, features, terms;
    const int *column;           /* [inputs]: where they are in a joint observation */
    const float *mean, *inverse; /* [inputs] */
    float *project, *bias;       /* [inputs][features], [features] */
    float *packed;
} basis;

/* All rows of the training episodes and behind them all rows of the held-out ones. */
typedef struct {
    const mw_dataset *data;
    const mw_advantage_options *options;
    int joint, act;
    long episodes, trained_episodes, rows, trained;
    long *episode, *start; /* [episodes], [episodes + 1]: first row */
    int64_t *step;         /* [rows]: place in the columns */
    float *reward;         /* [rows]: mean over agents */
    float *value, *last;   /* [rows], [episodes]: usual return, and after the episode */
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
    f->step = mw_arena_take(a, rows, sizeof *f->step);
    f->reward = mw_arena_floats(a, rows);
    f->value = mw_arena_floats(a, rows);
    f->last = mw_arena_floats(a, (size_t)f->episodes);
    f->advantage = mw_arena_floats(a, rows);
    f->deviation = mw_arena_floats(a, rows * act);
    f->column = mw_arena_take(a, joint, sizeof *f->column);
    f->mean = mw_arena_floats(a, joint);
    f->inverse = mw_arena_floats(a, joint);
    f->gathered = mw_arena_floats(a, CHUNK * joint);
    f->x = mw_arena_floats(a, CHUNK * (size_t)terms);
}

static mw_status list_rows(fitting *f, const mw_split *split, int terms, mw_error *error) {
    const mw_episode_set *sets[] = {&split->train, &split->held};
    f->trained_episodes = sets[0]->count;
    f->episodes = sets[0]->count + sets[1]->count;
    f->episode = calloc((size_t)f->episodes, sizeof *f->episode);
    f->start = calloc((size_t)f->episodes + 1, sizeof *f->start);
    if (!f->episode || !f->start) return mw_fail(error, MW_ERR_MEMORY, "cannot list the episodes");
    long e = 0;
    for (int s = 0; s < 2; s++)
        for (long i = 0; i < sets[s]->count; i++, e++) {
            f->episode[e] = sets[s]->episodes[i];
            f->start[e + 1] = f->start[e] + (long)f->data->lengths[f->episode[e]];
        }
    f->rows = f->start[f->episodes];
    f->trained = f->start[f->trained_episodes];
    carve(f, terms);
    MW_TRY(mw_arena_create(&f->arena, f->arena.used, error));
    carve(f, terms);
    const int agents = f->data->spec.agents;
    for (e = 0; e < f->episodes; e++)
        for (long r = f->start[e]; r < f->start[e + 1]; r++) {
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

static bool is_stopped(const fitting *f) {
    return f->options->stop && *f->options->stop;
}

static mw_status stopped(mw_error *error) {
    return mw_fail(error, MW_ERR_INTERRUPTED, "stopped while fitting the advantage; --resume continues");
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
    return MW_OK;
}

/* ---- terms ---- */

static void basis_free(basis *b) {
    free(b->project);
    *b = (basis){0};
}

/* The first features of a larger basis are those of a smaller one. */
static mw_status basis_make(basis *b, const fitting *f, int features, mw_error *error) {
    const size_t inputs = (size_t)f->inputs, matrix = inputs * (size_t)features,
                 packed = mw_packed_size(f->inputs, features);
    *b = (basis){.inputs = f->inputs,
                 .features = features,
                 .terms = 1 + f->inputs + features,
                 .column = f->column,
                 .mean = f->mean,
                 .inverse = f->inverse};
    b->project = calloc(matrix + (size_t)features + packed + 1, sizeof *b->project);
    if (!b->project) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate the random features");
    b->bias = b->project + matrix;
    b->packed = b->bias + features;
    for (int k = 0; k < features; k++) {
        mw_rng rng = mw_rng_make(f->options->seed, MW_RNG_ADVANTAGE, (uint64_t)k, 0, 0);
        b->bias[k] = (float)mw_rng_normal(&rng);
        for (size_t i = 0; i < inputs; i++)
            b->project[i * (size_t)features + (size_t)k] =
                (float)(SPREAD / sqrt((double)inputs) * mw_rng_normal(&rng));
    }
    mw_pack(b->packed, b->project, features, f->inputs, features);
    return MW_OK;
}

/* x[count][terms] of joint observations that lie anywhere. */
static void terms_of(const basis *b, fitting *f, const float *const *obs, int count) {
    for (int r = 0; r < count; r++) {
        float *x = f->x + (size_t)r * (size_t)b->terms, *z = f->gathered + (size_t)r * (size_t)b->inputs;
        x[0] = 1;
        for (int i = 0; i < b->inputs; i++)
            z[i] = x[1 + i] =
                fminf(fmaxf((obs[r][b->column[i]] - b->mean[i]) * b->inverse[i], -MW_ADVANTAGE_CUT),
                      MW_ADVANTAGE_CUT);
    }
    const mw_gemm shape = {.m = count,
                           .n = b->features,
                           .k = b->inputs,
                           .a_row = b->inputs,
                           .a_col = 1,
                           .b_panel = (long)b->inputs * MW_PANEL,
                           .c_row = b->terms,
                           .bias = b->bias};
    mw_gemm_parts(&shape, &(mw_part){f->gathered, b->packed}, 1, f->x + 1 + b->inputs);
    for (int r = 0; r < count; r++) {
        float *bent = f->x + (size_t)r * (size_t)b->terms + 1 + b->inputs;
        for (int k = 0; k < b->features; k++) bent[k] = mw_advantage_bend(bent[k]);
    }
}

/* The terms of rows [first, first + CHUNK), as far as there are any before `end`; returns how many. */
static int terms_from(const basis *b, fitting *f, long first, long end) {
    const float *obs[CHUNK];
    const int count = end - first < CHUNK ? (int)(end - first) : CHUNK;
    for (int r = 0; r < count; r++) obs[r] = obs_of(f, first + r);
    terms_of(b, f, obs, count);
    return count;
}

/* ---- ridge regression by normal equations ---- */

typedef struct {
    int terms;
    double *gram; /* [terms][terms]; after factoring its lower half is the Cholesky factor */
    float *part, *packed;
} normal;

static mw_status normal_make(normal *n, int terms, mw_error *error) {
    const size_t all = (size_t)terms * (size_t)terms;
    *n = (normal){.terms = terms,
                  .gram = calloc(all, sizeof *n->gram),
                  .part = calloc(all, sizeof *n->part),
                  .packed = calloc(mw_packed_size(CHUNK, terms), sizeof *n->packed)};
    return n->gram && n->part && n->packed ? MW_OK
                                           : mw_fail(error, MW_ERR_MEMORY, "cannot allocate a regression");
}

static void normal_free(normal *n) {
    free(n->gram);
    free(n->part);
    free(n->packed);
}

/* gram += x^T x of a chunk: products in single precision, their sum in double. */
static void normal_add(normal *n, const float *x, int rows) {
    const mw_gemm shape = {.m = n->terms,
                           .n = n->terms,
                           .k = rows,
                           .a_row = 1,
                           .a_col = n->terms,
                           .b_panel = (long)rows * MW_PANEL,
                           .c_row = n->terms};
    mw_pack(n->packed, x, n->terms, rows, n->terms);
    mw_gemm_parts(&shape, &(mw_part){x, n->packed}, 1, n->part);
    for (size_t i = 0; i < (size_t)n->terms * (size_t)n->terms; i++) n->gram[i] += (double)n->part[i];
}

/* Adds the ridge and factors; row by row, so that the inner products run along memory. */
static mw_status normal_factor(normal *n, double ridge, mw_error *error) {
    const size_t terms = (size_t)n->terms;
    double trace = 0;
    for (size_t i = 0; i < terms; i++) trace += n->gram[i * terms + i];
    for (size_t i = 0; i < terms; i++) n->gram[i * terms + i] += ridge * trace / (double)terms;
    for (size_t i = 0; i < terms; i++) {
        double *row = n->gram + i * terms;
        for (size_t j = 0; j <= i; j++) {
            const double *other = n->gram + j * terms;
            double sum = row[j];
            for (size_t k = 0; k < j; k++) sum -= row[k] * other[k];
            if (i == j && !(sum > 0))
                return mw_fail(error, MW_ERR_NUMERIC, "the data does not determine the advantage");
            row[j] = i == j ? sqrt(sum) : sum / other[j];
        }
    }
    return MW_OK;
}

/* x[terms] <- the solution for the right side x. */
static void normal_solve(const normal *n, double *x) {
    const size_t terms = (size_t)n->terms;
    for (size_t i = 0; i < terms; i++) {
        for (size_t k = 0; k < i; k++) x[i] -= n->gram[i * terms + k] * x[k];
        x[i] /= n->gram[i * terms + i];
    }
    for (size_t i = terms; i-- > 0;) {
        x[i] /= n->gram[i * terms + i];
        for (size_t k = 0; k < i; k++) x[k] -= n->gram[i * terms + k] * x[i];
    }
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

/* deviation = action - the action expected of the state. One regression for each action value. */
static mw_status fit_actions(fitting *f, const basis *b, const normal *n, double *w, mw_error *error) {
    const size_t terms = (size_t)b->terms;
    memset(w, 0, terms * (size_t)f->act * sizeof *w);
    for (int pass = 0; pass < 2; pass++) {
        const long end = pass ? f->rows : f->trained;
        for (long first = 0, count; first < end; first += count) {
            if (is_stopped(f)) return stopped(error);
            count = terms_from(b, f, first, end);
            for (long r = 0; r < count; r++) {
                const float *x = f->x + (size_t)r * terms,
                            *act = f->data->real + (size_t)f->step[first + r] * (size_t)f->act;
                float *left = f->deviation + (size_t)(first + r) * (size_t)f->act;
                for (int k = 0; k < f->act; k++)
                    if (pass)
                        left[k] = act[k] - (float)dot(w + (size_t)k * terms, x, b->terms);
                    else
                        add_scaled(w + (size_t)k * terms, x, (double)act[k], b->terms);
            }
        }
        for (int k = 0; k < f->act && !pass; k++) normal_solve(n, w + (size_t)k * terms);
    }
    return MW_OK;
}

/* advantage = what was earned, with rewards handing over to usual returns at the given rate, minus what is
 * usual.
 */
static void find_advantages(fitting *f, double trace) {
    const double discount = f->options->discount;
    for (long e = 0; e < f->episodes; e++) {
        double next = (double)f->last[e], sum = 0;
        for (long r = f->start[e + 1] - 1; r >= f->start[e]; r--) {
            sum = (double)f->reward[r] + discount * next - (double)f->value[r] + discount * trace * sum;
            f->advantage[r] = (float)sum;
            next = (double)f->value[r];
        }
    }
}

/* Usual returns of all rows, and of the states after episodes that only the limit ended. */
static mw_status find_values(fitting *f, const basis *b, const double *w, mw_error *error) {
    for (long first = 0, count; first < f->rows; first += count) {
        if (is_stopped(f)) return stopped(error);
        count = terms_from(b, f, first, f->rows);
        for (long r = 0; r < count; r++)
            f->value[first + r] = (float)dot(w, f->x + (size_t)r * (size_t)b->terms, b->terms);
    }
    for (long e = 0; e < f->episodes; e++) {
        const long episode = f->episode[e];
        f->last[e] = 0;
        if (f->data->outcomes[episode] != MW_ENDED_BY_LIMIT) continue;
        const float *obs = mw_dataset_obs(f->data, episode, (long)f->data->lengths[episode]);
        if (!obs) obs = obs_of(f, f->start[e + 1] - 1); /* unknown: as if it stood still */
        terms_of(b, f, &obs, 1);
        f->last[e] = (float)dot(w, f->x, b->terms);
    }
    return MW_OK;
}

static mw_status fit_values(fitting *f, const basis *b, const normal *n, double *w, mw_error *error) {
    double mean = 0;
    for (long r = 0; r < f->trained; r++) mean += (double)f->reward[r] / (double)f->trained;
    const double discount = f->options->discount, usual = mean / fmax(1 - discount, 1e-3);
    for (long r = 0; r < f->rows; r++) f->value[r] = (float)usual;
    for (long e = 0; e < f->episodes; e++)
        f->last[e] = f->data->outcomes[f->episode[e]] == MW_ENDED_BY_LIMIT ? (float)usual : 0;
    for (int round = 0; round < ROUNDS; round++) {
        find_advantages(f, round ? fmax(f->options->trace, 0.97) : 1); /* first without usual returns */
        memset(w, 0, (size_t)b->terms * sizeof *w);
        for (long first = 0, count; first < f->trained; first += count) {
            if (is_stopped(f)) return stopped(error);
            count = terms_from(b, f, first, f->trained);
            for (long r = 0; r < count; r++)
                add_scaled(w, f->x + (size_t)r * (size_t)b->terms,
                           (double)f->advantage[first + r] + (double)f->value[first + r], b->terms);
        }
        normal_solve(n, w);
        MW_TRY(find_values(f, b, w, error));
    }
    find_advantages(f, f->options->trace);
    return MW_OK;
}

static mw_status fit_usual(fitting *f, mw_error *error) {
    basis b = {0};
    normal n = {0};
    double *w = NULL;
    mw_status status = basis_make(&b, f, f->options->baseline, error);
    if (status == MW_OK) status = normal_make(&n, b.terms, error);
    if (status == MW_OK && !(w = calloc((size_t)b.terms * (size_t)f->act, sizeof *w)))
        status = mw_fail(error, MW_ERR_MEMORY, "cannot allocate a regression");
    for (long first = 0, count; status == MW_OK && first < f->trained; first += count) {
        if (is_stopped(f)) status = stopped(error);
        count = terms_from(&b, f, first, f->trained);
        normal_add(&n, f->x, (int)count);
    }
    if (status == MW_OK) status = normal_factor(&n, TINY, error);
    if (status == MW_OK) status = fit_actions(f, &b, &n, w, error);
    if (status == MW_OK) status = fit_values(f, &b, &n, w, error);
    free(w);
    normal_free(&n);
    basis_free(&b);
    return status;
}

/* ---- the advantage of deviating ---- */

/* Deviations in units of their own, cut; units[act] by which they were multiplied. */
static void standardise(fitting *f, double *units, mw_advantage_report *report) {
    double mean = 0, square = 0;
    report->action_left = 0;
    for (int k = 0; k < f->act; k++) {
        double sum = 0;
        for (long r = 0; r < f->trained; r++) {
            const double d = (double)f->deviation[(size_t)r * (size_t)f->act + (size_t)k];
            sum += d * d / (double)f->trained;
        }
        report->action_left += sum / f->act;
        units[k] = sum > 1e-12 ? 1 / sqrt(sum) : 0;
        for (long r = 0; r < f->rows; r++) {
            float *d = f->deviation + (size_t)r * (size_t)f->act + (size_t)k;
            *d = fminf(fmaxf(*d * (float)units[k], -DEVIATION), DEVIATION);
        }
    }
    for (long r = 0; r < f->trained; r++) mean += (double)f->advantage[r] / (double)f->trained;
    for (long r = 0; r < f->trained; r++)
        square += pow((double)f->advantage[r] - mean, 2) / (double)f->trained;
    const double most = OUTLIER * sqrt(square);
    for (long r = 0; r < f->rows; r++)
        f->advantage[r] = (float)fmin(fmax((double)f->advantage[r] - mean, -most), most);
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
        values[net->mean + (size_t)b->column[i]] = b->mean[i];
        values[net->inverse + (size_t)b->column[i]] = b->inverse[i];
    }
    for (int k = 0; k < b->features; k++) {
        values[net->bias + (size_t)k] = b->bias[k];
        for (int i = 0; i < b->inputs; i++)
            values[net->project + (size_t)k * joint + (size_t)b->column[i]] =
                b->project[(size_t)i * (size_t)b->features + (size_t)k];
    }
    for (int t = 0; t < b->terms; t++) {
        const size_t row = t == 0           ? 0
                           : t <= b->inputs ? 1 + (size_t)b->column[t - 1]
                                            : 1 + joint + (size_t)(t - 1 - b->inputs);
        for (size_t k = 0; k < act; k++) weight[row * act + k] = (float)(w[(size_t)t * act + k] * units[k]);
    }
}

static mw_status fit_advantage(fitting *f, const mw_advantage_net *net, float *values,
                               mw_advantage_report *report, mw_error *error) {
    basis b = {0};
    normal n = {0};
    mw_status status = basis_make(&b, f, net->config.features, error);
    const int size = b.terms * f->act;
    double *w = calloc((size_t)size + (size_t)f->act, sizeof *w), *units = w + size;
    float *room = malloc(CHUNK * (size_t)size * sizeof *room);
    if (status == MW_OK) status = normal_make(&n, size, error);
    if (status == MW_OK && (!w || !room))
        status = mw_fail(error, MW_ERR_MEMORY, "cannot allocate a regression");
    if (status == MW_OK) standardise(f, units, report);
    for (long first = 0, count; status == MW_OK && first < f->trained; first += count) {
        if (is_stopped(f)) status = stopped(error);
        count = terms_from(&b, f, first, f->trained);
        products(f, &b, room, first, (int)count);
        normal_add(&n, room, (int)count);
        for (long r = 0; r < count; r++)
            add_scaled(w, room + (size_t)r * (size_t)size, (double)f->advantage[first + r], size);
    }
    if (status == MW_OK && report->action_left > 0) {
        status = normal_factor(&n, f->options->ridge, error);
        if (status == MW_OK) normal_solve(&n, w);
    }
    if (status == MW_OK) {
        put(net, values, f, &b, w, units);
        report->rows = f->trained;
        report->held_rows = f->rows - f->trained;
        report->correlation = correlate(f, &b, room, w, 0, f->trained);
        report->held = correlate(f, &b, room, w, f->trained, f->rows);
    }
    free(w);
    free(room);
    normal_free(&n);
    basis_free(&b);
    return status;
}

mw_status mw_advantage_fit(const mw_advantage_net *net, float *values, const mw_dataset *dataset,
                           const mw_split *split, const mw_advantage_options *options,
                           mw_advantage_report *report, mw_error *error) {
    const mw_dataset_spec *s = &dataset->spec;
    fitting f = {.data = dataset,
                 .options = options,
                 .joint = s->agents * s->obs_size,
                 .act = s->agents * s->act_size};
    *report = (mw_advantage_report){0};
    if (s->discrete)
        return mw_fail(
            error, MW_ERR_ARGUMENT,
            "advantage.features is %d, but the advantage is for real actions; %s has discrete ones",
            net->config.features, s->task);
    const int most = options->baseline > net->config.features ? options->baseline : net->config.features;
    mw_status status = list_rows(&f, split, 1 + f.joint + most, error);
    if (status == MW_OK) status = choose_inputs(&f, error);
    if (status == MW_OK) status = fit_usual(&f, error);
    if (status == MW_OK) status = fit_advantage(&f, net, values, report, error);
    free(f.episode);
    free(f.start);
    mw_arena_free(&f.arena);
    return status;
}
