/* The other selectors against recorded numbers: outputs, loss, gradients, steps of the optimiser, scores and
 * imagined paths, and the windows that the direct predictor learns from. Sizes come from the files. */
#include "core/json.h"
#include "model/direct.h"
#include "model/td.h"
#include "model/unrouted/unrouted.h"
#include "data/transition.h"
#include "verify/diagnostics.h"
#include "verify/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OUTPUT_TOLERANCE 1e-5
#define USUAL_RATE       3e-4f

typedef struct {
    mw_record *record;
    mw_verify *report;
    const char *kind;
    int hidden, batch, horizon, envs, candidates;
    mw_model *model;
    mw_scorer *scorer;
    mw_pool *pool;
    mw_training_part *part;
    mw_training_data data; /* of one episode of zeros: batches come from the record */
    mw_dataset dataset;
    int64_t length, offsets[2];
    long episode;
    uint8_t outcome;
    float *zeros, *out;
    size_t n, o, d;
} check;

static void compare(const check *k, const float *seen, const float *recorded, size_t count,
                    const char *what) {
    mw_verify_check(k->report, mw_relative_error(seen, recorded, count), OUTPUT_TOLERANCE, "%s: %s",
                    k->record->what, what);
}

/* ---- the model ---- */

/* A setting of the model from the file's metadata, where both have it. */
static mw_status assign(const check *k, const mw_fields fields, mw_model_config *config, const char *field,
                        const char *key, mw_error *error) {
    char text[64];
    const char *value = mw_safetensors_meta(&k->record->file, key);
    if (!value) return MW_OK;
    snprintf(text, sizeof text, "%s=%.32s", field, value);
    return mw_fields_assign(fields, config, text, "", error);
}

/* Hidden layers that a record tells of are as many as ours. */
static mw_status check_layers(const mw_record *r, const char *key, int layers, mw_error *error) {
    int told;
    return mw_safetensors_meta(&r->file, key) ? mw_record_int(r, key, layers, layers, &told, error) : MW_OK;
}

static mw_status make_model(check *k, mw_error *error) {
    const mw_model_class *class = mw_model_class_at(mw_model_class_index(k->kind));
    mw_record *r = k->record;
    const char *kind = mw_safetensors_meta(&r->file, "kind");
    if (kind && strcmp(kind, k->kind))
        return mw_fail(error, MW_ERR_MISMATCH, "%s: holds a '%.40s'; expected a '%s'", r->file.path, kind,
                       k->kind);
    mw_model_config config = {0};
    mw_model_shape shape = {0};
    MW_TRY(mw_record_int(r, "agents", 1, 64, &shape.agents, error));
    MW_TRY(mw_record_int(r, "obs", 1, 4096, &shape.obs, error));
    MW_TRY(mw_record_int(r, "act", 1, 4096, &shape.act, error));
    MW_TRY(mw_record_int(r, "H", 1, 256, &k->horizon, error));
    MW_TRY(mw_record_int(r, "batch", 1, 4096, &k->batch, error));
    MW_TRY(mw_record_int(r, "envs", 1, 64, &k->envs, error));
    MW_TRY(mw_record_int(r, "candidates", 1, 64, &k->candidates, error));
    MW_TRY(check_layers(r, "layers_dynamics", 3, error));
    MW_TRY(check_layers(r, "layers_reward", 2, error));
    mw_fields_defaults(class->fields, &config);
    MW_TRY(assign(k, class->fields, &config, "hidden", "hidden", error));
    MW_TRY(assign(k, class->fields, &config, "batch", "batch", error));
    MW_TRY(assign(k, class->fields, &config, "clip", "clip", error));
    if (!strcmp(k->kind, "direct")) MW_TRY(assign(k, class->fields, &config, "horizon", "H", error));
    if (class->scorer->imagines) MW_TRY(mw_fields_assign(class->fields, &config, "variant=paper", "", error));
    if (!strcmp(k->kind, "q")) {
        MW_TRY(assign(k, class->fields, &config, "discount", "gamma", error));
        MW_TRY(assign(k, class->fields, &config, "decay", "weight_decay", error));
    }
    k->n = (size_t)shape.agents;
    k->o = (size_t)shape.obs;
    k->d = (size_t)shape.act;
    const size_t candidates = (size_t)(k->envs * k->candidates), steps = (size_t)k->horizon;
    MW_TRY(mw_record_has(r, "in.obs", (size_t)k->batch * k->n * k->o, error));
    MW_TRY(mw_record_has(r, "in.score_acts", candidates * steps * k->n * k->d, error));
    MW_TRY(mw_model_make(&k->model, class, &config, &shape, error));
    MW_TRY(mw_record_weights(r, k->model->params, "weight.", NULL, error));
    MW_TRY(mw_model_allocate(k->model, error));
    return mw_record_weights(r, k->model->params, "weight.", k->model->values, error);
}

/* A training whose batches are written here. */
static mw_status make_training(check *k, mw_error *error) {
    const size_t widest = k->o > k->d ? k->o : k->d;
    k->zeros = calloc((size_t)k->horizon * k->n * widest, sizeof *k->zeros);
    if (!k->zeros) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate an episode");
    k->length = k->offsets[1] = k->horizon;
    k->outcome = MW_ENDED_BY_WORLD;
    k->dataset = (mw_dataset){.spec = {.agents = (int)k->n, .obs_size = (int)k->o, .act_size = (int)k->d},
                              .episodes = 1,
                              .steps = k->horizon,
                              .obs = k->zeros,
                              .real = k->zeros,
                              .rewards = k->zeros,
                              .outcomes = &k->outcome,
                              .lengths = &k->length,
                              .offsets = k->offsets};
    k->data =
        (mw_training_data){.dataset = &k->dataset, .pool = k->pool, .split.train = {1, &k->episode, NULL, 0}};
    MW_TRY(mw_model_train(&k->part, k->model, &k->data, error));
    mw_optimizer *o = k->part->optimizer;
    float tau;
    MW_TRY(mw_record_setting(k->record, "lr", USUAL_RATE, &k->record->rate, error));
    MW_TRY(mw_record_setting(k->record, "tau", 1 - o->group[0].decay, &tau, error));
    o->group[0].adam.rate = k->record->rate;
    o->group[0].decay = 1 - tau;
    memcpy(o->values, k->model->values, k->model->params->total * sizeof *o->values);
    if (!o->average) return MW_OK;
    MW_TRY(mw_record_weights(k->record, k->model->params, "target.", NULL, error));
    return mw_record_weights(k->record, k->model->params, "target.", o->average, error);
}

/* ---- batches and what networks say to them ---- */

/* x[batch][inputs] of a value network: observations, then actions. */
static void join(const check *k, float *x, const float *obs, const float *acts, size_t steps) {
    const size_t joint = k->n * k->o, all = steps * k->n * k->d;
    for (size_t r = 0; r < (size_t)k->batch; r++) {
        memcpy(x + r * (joint + all), obs + r * joint, joint * sizeof *x);
        memcpy(x + r * (joint + all) + joint, acts + r * all, all * sizeof *x);
    }
}

static mw_status score(check *k, const float *obs, const float *acts, int count, int horizon, float *paths,
                       mw_error *error) {
    const mw_scoring call = {.scores = k->out,
                             .paths = paths,
                             .obs = obs,
                             .actions = acts,
                             .count = count,
                             .horizon = horizon,
                             .group = 1};
    return mw_scorer_score(k->scorer, &call, error);
}

/* k->out against a tensor that not every record has. */
static mw_status compare_optional(check *k, const char *name, size_t count, const char *what,
                                  mw_error *error) {
    if (!mw_safetensors_find(&k->record->file, name)) return MW_OK;
    const float *recorded = mw_record_floats(k->record, name, count, error);
    if (!recorded) return MW_ERR_FORMAT;
    compare(k, k->out, recorded, count, what);
    return MW_OK;
}

static mw_status fill_world(check *k, void *slot, mw_error *error) {
    const mw_transition_rows *rows = slot;
    mw_record *r = k->record;
    const mw_unrouted_net *net = k->model->net;
    const size_t cells = (size_t)k->batch * k->n;
    const float *obs = mw_record_floats(r, "in.obs", cells * k->o, error),
                *act = mw_record_floats(r, "in.act", cells * k->d, error),
                *next = mw_record_floats(r, "in.next_obs", cells * k->o, error),
                *reward = mw_record_floats(r, "in.reward", cells, error),
                *next_out = mw_record_floats(r, "out.next_obs", cells * k->o, error),
                *reward_out = mw_record_floats(r, "out.reward", cells, error);
    if (!obs || !act || !next || !reward || !next_out || !reward_out) return MW_ERR_FORMAT;
    memcpy(rows->obs, obs, cells * k->o * sizeof *obs);
    memcpy(rows->act, act, cells * k->d * sizeof *act);
    memcpy(rows->next_obs, next, cells * k->o * sizeof *next);
    memcpy(rows->reward, reward, cells * sizeof *reward);
    mw_unrouted_acts acts;
    mw_arena arena = {0};
    mw_unrouted_acts_take(net, &acts, &arena, k->batch, false);
    MW_TRY(mw_arena_create(&arena, arena.used, error));
    mw_unrouted_acts_take(net, &acts, &arena, k->batch, false);
    float *reward_seen = k->out + cells * k->o;
    mw_unrouted_forward(net, &acts, k->model->values, k->model->packed, obs, act, k->out, reward_seen,
                        k->batch);
    compare(k, k->out, next_out, cells * k->o, "next observation");
    compare(k, reward_seen, reward_out, cells, "reward");
    mw_arena_free(&arena);
    return MW_OK;
}

static mw_status fill_q(check *k, void *slot, mw_error *error) {
    const mw_td_batch *b = slot;
    mw_record *r = k->record;
    const size_t rows = (size_t)k->batch, cells = rows * k->n;
    const float *obs = mw_record_floats(r, "in.obs", cells * k->o, error),
                *act = mw_record_floats(r, "in.act", cells * k->d, error),
                *next_obs = mw_record_floats(r, "in.next_obs", cells * k->o, error),
                *next_act = mw_record_floats(r, "in.next_act", cells * k->d, error),
                *reward = mw_record_floats(r, "in.reward", cells, error),
                *done = mw_record_floats(r, "in.done", rows, error),
                *q = mw_record_floats(r, "out.q", rows, error),
                *target = mw_record_floats(r, "out.target", rows, error);
    float gamma;
    MW_TRY(mw_record_setting(r, "gamma", 0.99f, &gamma, error));
    if (!obs || !act || !next_obs || !next_act || !reward || !done || !q || !target) return MW_ERR_FORMAT;
    join(k, b->x, obs, act, 1);
    join(k, b->next, next_obs, next_act, 1);
    memset(b->sum, 0, rows * sizeof *reward);
    for (size_t i = 0; i < cells; i++) b->sum[i / k->n] += reward[i];
    for (size_t i = 0; i < rows; i++) b->discount[i] = gamma * (1 - done[i]);
    MW_TRY(score(k, obs, act, k->batch, 1, NULL, error));
    compare(k, k->out, q, rows, "value");
    MW_TRY(mw_record_weights(r, k->model->params, "target.", k->model->values, error));
    mw_model_pack(k->model);
    MW_TRY(score(k, next_obs, next_act, k->batch, 1, NULL, error));
    for (size_t i = 0; i < rows; i++) k->out[i] = b->sum[i] + b->discount[i] * k->out[i];
    compare(k, k->out, target, rows, "target");
    MW_TRY(mw_record_weights(r, k->model->params, "weight.", k->model->values, error));
    mw_model_pack(k->model);
    return MW_OK;
}

static mw_status fill_direct(check *k, void *slot, mw_error *error) {
    const mw_direct_batch *b = slot;
    mw_record *r = k->record;
    const mw_value_net *net = k->model->net;
    const size_t rows = (size_t)k->batch, steps = (size_t)k->horizon, cells = rows * k->n;
    const float *obs = mw_record_floats(r, "in.obs", cells * k->o, error),
                *acts = mw_record_floats(r, "in.acts", cells * steps * k->d, error),
                *rewards = mw_record_floats(r, "in.rewards", cells * steps, error),
                *mean = mw_record_floats(r, "target_mean", 1, error),
                *std = mw_record_floats(r, "target_std", 1, error),
                *z = mw_record_floats(r, "out.standardised_return", rows, error),
                *prediction = mw_record_floats(r, "out.prediction", rows, error);
    if (!obs || !acts || !rewards || !mean || !std || !z || !prediction) return MW_ERR_FORMAT;
    join(k, b->x, obs, acts, steps);
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t j = 0; j < steps * k->n; j++) sum += (double)rewards[i * steps * k->n + j];
        k->out[i] = (float)sum;
        b->z[i] = (float)((sum - (double)*mean) / (double)*std);
    }
    MW_TRY(compare_optional(k, "out.return", rows, "return", error));
    compare(k, b->z, z, rows, "standardised return");
    k->model->values[net->mean] = *mean;
    k->model->values[net->std] = *std;
    MW_TRY(score(k, obs, acts, k->batch, k->horizon, NULL, error));
    compare(k, k->out, prediction, rows, "predicted return");
    for (size_t i = 0; i < rows; i++) k->out[i] = (k->out[i] - *mean) / *std;
    return compare_optional(k, "out.standardised_prediction", rows, "standardised prediction", error);
}

/* ---- checks that are the same for all ---- */

/* Losses are mean squares of differences, whose rounding counts by the root of what is left of them. */
static double worst_loss(double worst, double seen, double recorded) {
    const double unit = recorded > 0 ? fmax(recorded, sqrt(recorded)) : 1;
    return mw_verify_worst(worst, seen / unit, recorded / unit);
}

/* The norm of all gradients before they are clipped, which not every record has. */
static mw_status check_norm(const check *k, mw_error *error) {
    const mw_optimizer *o = k->part->optimizer;
    double recorded, squares = 0;
    bool there;
    MW_TRY(mw_record_number(k->record, "grad_norm", &there, &recorded, error));
    if (!there) return MW_OK;
    for (size_t i = 0; i < o->total; i++) squares += (double)o->grads[i] * (double)o->grads[i];
    mw_verify_check(k->report, mw_verify_ratio(0, sqrt(squares), recorded), MW_GRADIENT_TOLERANCE,
                    "%s: norm of the gradients", k->record->what);
    return MW_OK;
}

static mw_status check_training(check *k, void *slot, mw_error *error) {
    mw_record *r = k->record;
    const mw_params *params = k->model->params;
    mw_optimizer *o = k->part->optimizer;
    const bool world = k->part->losses == 2;
    const double unit = fmax(1, o->group[0].adam.rate / USUAL_RATE); /* longer steps lead as much farther
                                                                        apart */
    const float *recorded =
        mw_record_floats(r, world ? "out.loss_total_dyn_rew" : "out.loss", world ? 3 : 1, error);
    double losses[MW_LOSSES], worst;
    char where[64] = "";
    if (!recorded) return MW_ERR_FORMAT;
    mw_fit_run((mw_fit *)k->part, slot, MW_STEP_GRADIENT, losses);
    worst = worst_loss(0, mw_training_part_loss(k->part, losses), (double)recorded[0]);
    for (int i = 0; world && i < 2; i++) worst = worst_loss(worst, losses[i], (double)recorded[i + 1]);
    mw_verify_check(k->report, worst, OUTPUT_TOLERANCE, "%s: loss", r->what);
    MW_TRY(mw_record_compare(r, params, o->grads, "grad.", 0, &worst, where, sizeof where, error));
    mw_verify_check(k->report, worst, MW_GRADIENT_TOLERANCE, "%s: gradients (%s)", r->what, where);
    MW_TRY(check_norm(k, error));
    for (int i = 0; i < MW_RECORDED_STEPS; i++) mw_fit_run((mw_fit *)k->part, slot, MW_STEP_UPDATE, losses);
    MW_TRY(mw_record_compare(r, params, o->values, "adam3.", unit, &worst, where, sizeof where, error));
    mw_verify_check(k->report, worst, MW_ADAM_TOLERANCE, "%s: three steps (%s)", r->what, where);
    if (!o->average) return MW_OK;
    MW_TRY(mw_record_compare(r, params, o->average, "target3.", unit, &worst, where, sizeof where, error));
    mw_verify_check(k->report, worst, MW_ADAM_TOLERANCE, "%s: target after three steps (%s)", r->what, where);
    return MW_OK;
}

/* A score is the sum of the steps' rewards, so those of the first h actions tell of every single step. Not
 * every record has the rewards. */
static mw_status check_step_rewards(check *k, const float *starts, const float *acts, mw_error *error) {
    const size_t steps = (size_t)k->horizon, rows = (size_t)(k->envs * k->candidates), step = k->n * k->d;
    if (!mw_safetensors_find(&k->record->file, "out.step_rewards")) return MW_OK;
    const float *rewards = mw_record_floats(k->record, "out.step_rewards", rows * steps, error);
    if (!rewards) return MW_ERR_FORMAT;
    float *first = calloc(rows * (steps * step + 1), sizeof *first),
          *sums = first ? first + rows * steps * step : NULL;
    mw_status status = first ? MW_OK : mw_fail(error, MW_ERR_MEMORY, "cannot keep %zu candidates", rows);
    double worst = 0, size = 1e-30;
    for (size_t h = 1; status == MW_OK && h <= steps; h++) {
        for (size_t i = 0; i < rows; i++) {
            memcpy(first + i * h * step, acts + i * steps * step, h * step * sizeof *first);
            sums[i] += rewards[i * steps + h - 1];
            size = fmax(size, fmax(fabs((double)sums[i]), fabs((double)rewards[i * steps + h - 1])));
        }
        status = score(k, starts, first, (int)rows, (int)h, NULL, error);
        for (size_t i = 0; i < rows; i++) worst = mw_verify_worst(worst, (double)k->out[i], (double)sums[i]);
    }
    free(first);
    if (status == MW_OK)
        mw_verify_check(k->report, worst / size, OUTPUT_TOLERANCE, "%s: sums of the steps' rewards",
                        k->record->what);
    return status;
}

static mw_status check_scores(check *k, mw_error *error) {
    mw_record *r = k->record;
    const size_t envs = (size_t)k->envs, most = (size_t)k->candidates, rows = envs * most,
                 joint = k->n * k->o, path = (size_t)k->horizon * joint;
    const bool imagines = k->scorer->kind->imagines;
    const float *obs = mw_record_floats(r, "in.score_obs", envs * joint, error),
                *acts = mw_record_floats(r, "in.score_acts", rows * (size_t)k->horizon * k->n * k->d, error),
                *scores = mw_record_floats(r, "out.scores", rows, error),
                *best = mw_record_floats(r, "out.best", envs, error),
                *paths = imagines ? mw_record_floats(r, "out.paths", rows * path, error) : NULL;
    if (!obs || !acts || !scores || !best || (imagines && !paths)) return MW_ERR_FORMAT;
    float *starts = k->out + rows, *seen = starts + rows * joint;
    for (size_t q = 0; q < rows; q++) memcpy(starts + q * joint, obs + q / most * joint, joint * sizeof *obs);
    MW_TRY(score(k, starts, acts, (int)rows, k->horizon, imagines ? seen : NULL, error));
    compare(k, k->out, scores, rows, "scores");
    if (imagines) compare(k, seen, paths, rows * path, "imagined paths");
    double worst = 0, size = 1e-30;
    for (size_t e = 0; e < envs; e++) {
        size_t chosen = 0;
        for (size_t m = 1; m < most; m++)
            if (k->out[e * most + m] > k->out[e * most + chosen]) chosen = m;
        if (!(best[e] >= 0 && best[e] < (float)most))
            return mw_fail(error, MW_ERR_FORMAT, "%s: out.best is not among %zu candidates", r->file.path,
                           most);
        worst = mw_verify_worst(worst, (double)scores[e * most + chosen],
                                (double)scores[e * most + (size_t)best[e]]);
        for (size_t m = 0; m < most; m++) size = fmax(size, fabs((double)scores[e * most + m]));
    }
    /* another one may be chosen where the recorded scores hardly differ */
    mw_verify_check(k->report, worst / (size > 0 ? size : 1), OUTPUT_TOLERANCE,
                    "%s: score of the best candidate", r->what);
    return check_step_rewards(k, starts, acts, error);
}

static mw_status check_all(check *k, mw_error *error) {
    MW_TRY(make_model(k, error));
    MW_TRY(mw_pool_create(&k->pool, 2, error));
    MW_TRY(make_training(k, error));
    const size_t rows = (size_t)(k->envs * k->candidates), joint = k->n * (k->o + 1),
                 cells = (size_t)k->batch * joint;
    k->out = calloc(rows * (1 + joint * (size_t)(1 + k->horizon)) + cells, sizeof *k->out);
    if (!k->out) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate the checks' buffers");
    mw_model_pack(k->model);
    const mw_scorer_context context = {
        .model = k->model, .max_rows = (int)rows, .horizon = k->horizon, .pool = k->pool};
    MW_TRY(k->model->kind->scorer->create(&k->scorer, &context, error));
    void *slot = ((mw_fit *)k->part)->slots[0];
    MW_TRY((k->scorer->kind->imagines ? fill_world
            : !strcmp(k->kind, "q")   ? fill_q
                                      : fill_direct)(k, slot, error));
    MW_TRY(check_scores(k, error));
    return check_training(k, slot, error);
}

mw_status mw_verify_selector(mw_record *r, const char *kind, mw_verify *report, mw_error *error) {
    check k = {.record = r, .report = report, .kind = kind};
    const mw_status status = check_all(&k, error);
    mw_scorer_free(k.scorer);
    mw_training_part_free(k.part);
    mw_model_free(k.model);
    mw_pool_free(k.pool);
    free(k.zeros);
    free(k.out);
    return status;
}

/* ---- windows ---- */

typedef struct {
    mw_dataset dataset;
    mw_episode_set all, windows;
    int64_t *lengths, *offsets;
    float *rewards;
} window_check;

static mw_status check_windows(window_check *w, const json_t *root, const char *path, mw_verify *report,
                               mw_error *error) {
    const json_t *lengths = json_object_get(root, "lengths"), *rewards = json_object_get(root, "rewards"),
                 *windows = json_object_get(root, "windows");
    const size_t episodes = json_array_size(lengths), steps = json_array_size(rewards);
    const json_int_t agents = json_integer_value(json_object_get(root, "agents")),
                     horizon = json_integer_value(json_object_get(root, "horizon"));
    double mean, std, worst = 0;
    if (!episodes || !steps || agents < 1 || agents > 64 || horizon < 1 || horizon > 256)
        return mw_fail(error, MW_ERR_FORMAT, "%s: lengths, rewards, agents or horizon are missing", path);
    w->lengths = calloc(2 * episodes + 1, sizeof *w->lengths);
    w->rewards = calloc(steps * (size_t)agents, sizeof *w->rewards);
    if (!w->lengths || !w->rewards) return mw_fail(error, MW_ERR_MEMORY, "%s: cannot allocate it", path);
    w->offsets = w->lengths + episodes;
    for (size_t e = 0; e < episodes; e++) {
        w->lengths[e] = json_integer_value(json_array_get(lengths, e));
        if (w->lengths[e] < 1 || w->lengths[e] > (int64_t)steps - w->offsets[e])
            return mw_fail(error, MW_ERR_FORMAT, "%s: episodes are longer than the %zu steps", path, steps);
        w->offsets[e + 1] = w->offsets[e] + w->lengths[e];
    }
    if (w->offsets[episodes] != (int64_t)steps)
        return mw_fail(error, MW_ERR_FORMAT, "%s: episodes have %lld of the %zu steps", path,
                       (long long)w->offsets[episodes], steps);
    for (size_t i = 0; i < steps; i++)
        if (json_array_size(json_array_get(rewards, i)) != (size_t)agents)
            return mw_fail(error, MW_ERR_FORMAT, "%s: step %zu has no rewards of %d agents", path, i,
                           (int)agents);
    for (size_t i = 0; i < steps * (size_t)agents; i++)
        w->rewards[i] = (float)json_number_value(
            json_array_get(json_array_get(rewards, i / (size_t)agents), i % (size_t)agents));
    w->dataset = (mw_dataset){.spec.agents = (int)agents,
                              .episodes = (long)episodes,
                              .steps = (long)steps,
                              .rewards = w->rewards,
                              .lengths = w->lengths,
                              .offsets = w->offsets};
    MW_TRY(mw_episode_set_all(&w->all, &w->dataset, error));
    MW_TRY(mw_direct_windows(&w->windows, &w->dataset, &w->all, (int)horizon, error));
    const int64_t count = w->windows.transitions;
    const json_t *told_count = json_object_get(root, "count");
    double counted = fabs((double)count - (double)json_array_size(windows));
    if (told_count) counted = mw_verify_worst(counted, (double)count, json_number_value(told_count));
    mw_verify_check(report, counted, 0, "windows: count");
    if (count < 1 || count != (int64_t)json_array_size(windows)) return MW_OK;
    for (int64_t i = 0; i < count; i++) {
        const json_t *one = json_array_get(windows, (size_t)i);
        const mw_place place = mw_episode_set_at(&w->windows, i);
        const double sum = mw_direct_return(&w->dataset, place, (int)horizon);
        worst = mw_verify_recorded(worst, sum, one, "return");
        worst = mw_verify_recorded(worst, (double)(w->offsets[place.episode] + place.t), one, "start");
    }
    mw_verify_check(report, worst, OUTPUT_TOLERANCE, "windows: starts and returns");
    mw_direct_units(&w->dataset, &w->windows, (int)horizon, &mean, &std);
    worst = mw_verify_ratio(0, mean, json_number_value(json_object_get(root, "mean")));
    worst = mw_verify_ratio(worst, std, json_number_value(json_object_get(root, "std")));
    mw_verify_check(report, worst, OUTPUT_TOLERANCE, "windows: mean and std");
    return MW_OK;
}

mw_status mw_verify_windows(const char *path, mw_verify *report, mw_error *error) {
    window_check w = {0};
    json_t *root;
    MW_TRY(mw_json_read(&root, path, error));
    const mw_status status = check_windows(&w, root, path, report, error);
    mw_episode_set_free(&w.all);
    mw_episode_set_free(&w.windows);
    free(w.lengths);
    free(w.rewards);
    json_decref(root);
    return status;
}
