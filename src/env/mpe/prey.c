/* The prey of tag and world: a small network, frozen into the library or from a file, or a scripted runner.
 * Each is a function of the state alone, so a snapshot of the state is a snapshot of the prey. */
#include "env/mpe/mpe.h"

#include "core/math.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the scripted prey ---- */

/* Runs away from each predator with the inverse of its distance, and off solid obstacles; near the border of
 * the square it turns back with all it has. Elsewhere it holds back: with its full acceleration it could
 * hardly be caught within 25 steps and there would be little to learn. The throttle makes its steady
 * speed 1.09, just above a predator's. */
static void flee(const mw_mpe_task *task, const mw_mpe_state *state, double action[2]) {
    const double throttle = 0.17, obstacle_gap = 0.1, repulsion = 40, foresight = 0.2, border = 0.9, turn = 5;
    int prey = task->learners;
    const double *self = state->pos[prey], *velocity = state->vel[prey];
    double field[2] = {0, 0};
    for (int e = 0; e < task->solids; e++) {
        if (e == prey) continue;
        double dx = self[0] - state->pos[e][0], dy = self[1] - state->pos[e][1];
        double d = fmax(sqrt(dx * dx + dy * dy), 1e-6);
        double gap = d - task->entity[e].radius - task->entity[prey].radius;
        double weight = e < task->learners ? 1 / d : repulsion * fmax(obstacle_gap - gap, 0);
        field[0] += weight * dx / d;
        field[1] += weight * dy / d;
    }
    double length = sqrt(field[0] * field[0] + field[1] * field[1]);
    for (int c = 0; c < 2; c++) {
        double ahead = self[c] + foresight * velocity[c], outside = fabs(ahead) - border;
        action[c] = length > 0 ? throttle * field[c] / length : 0;
        if (outside > 0) action[c] -= copysign(turn * outside, ahead);
        action[c] = fmin(fmax(action[c], -1), 1);
    }
}

/* ---- the network prey ---- */

enum { MAX_LAYERS = MW_PREY_LAYERS, MAX_WIDTH = 512 };

struct mw_prey_net {
    int layers, inputs;
    struct {
        int in, out;
        float *weight; /* [in][out]: transposed, so that the inner loop runs over outputs */
        float *bias;   /* [out] */
    } layer[MAX_LAYERS];
};

void mw_prey_net_free(mw_prey_net *net) {
    if (!net) return;
    for (int k = 0; k < net->layers; k++) {
        free(net->layer[k].weight);
        free(net->layer[k].bias);
    }
    free(net);
}

static void hash_floats(uint32_t *hash, const float *values, size_t count) {
    for (size_t i = 0; i < count * sizeof *values; i++)
        *hash = (*hash ^ ((const unsigned char *)values)[i]) * 16777619u;
}

/* Room for the next layer of the network; raw receives its weights as files have them, [out][in]. */
static mw_status add_layer(mw_prey_net *net, int in, int out, float **raw, mw_error *error) {
    int k = net->layers++;
    size_t count = (size_t)in * (size_t)out;
    net->layer[k].in = in;
    net->layer[k].out = out;
    net->layer[k].weight = malloc(count * sizeof(float));
    net->layer[k].bias = malloc((size_t)out * sizeof(float));
    *raw = malloc(count * sizeof(float));
    if (*raw && net->layer[k].weight && net->layer[k].bias) return MW_OK;
    free(*raw);
    return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a prey");
}

/* After weights and bias of the last layer were read: hashes them, transposes, frees raw. */
static void finish_layer(mw_prey_net *net, float *raw, uint32_t *hash) {
    int k = net->layers - 1, in = net->layer[k].in, out = net->layer[k].out;
    hash_floats(hash, raw, (size_t)in * (size_t)out);
    hash_floats(hash, net->layer[k].bias, (size_t)out);
    for (int o = 0; o < out; o++)
        for (int i = 0; i < in; i++) net->layer[k].weight[i * out + o] = raw[o * in + i];
    free(raw);
}

static mw_status load_layer(mw_prey_net *net, const mw_safetensors *file, int in, uint32_t *hash,
                            mw_error *error) {
    int k = net->layers;
    char name[32];
    snprintf(name, sizeof name, "prey.%d.weight", k);
    const mw_tensor *tensor = mw_safetensors_find(file, name);
    if (tensor->dims != 2 || tensor->shape[1] != (size_t)in || tensor->shape[0] < 1 ||
        tensor->shape[0] > MAX_WIDTH)
        return mw_fail(error, MW_ERR_MISMATCH, "%s: %s must have shape [1..%d, %d]", file->path, name,
                       MAX_WIDTH, in);
    int out = (int)tensor->shape[0];
    size_t count = (size_t)in * (size_t)out;
    float *raw;
    MW_TRY(add_layer(net, in, out, &raw, error));
    float *bias = net->layer[k].bias;
    mw_status status = mw_safetensors_floats(file, name, 2, (const long[]){out, in}, raw, error);
    snprintf(name, sizeof name, "prey.%d.bias", k);
    if (status == MW_OK) status = mw_safetensors_floats(file, name, 1, (const long[]){out}, bias, error);
    for (size_t i = 0; status == MW_OK && i < count + (size_t)out; i++)
        if (!isfinite(i < count ? raw[i] : bias[i - count]))
            status = mw_fail(error, MW_ERR_NUMERIC,
                             "%s: layer %d of the prey holds a value that is not finite", file->path, k);
    if (status == MW_OK)
        finish_layer(net, raw, hash);
    else
        free(raw);
    return status;
}

mw_status mw_prey_version_check(const char *version, const char *what, mw_error *error) {
    const char *allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._";
    const size_t length = strlen(version);
    if (length >= 1 && length <= 16 && strspn(version, allowed) == length) return MW_OK;
    return mw_fail(error, MW_ERR_FORMAT,
                   "%s: the prey's version '%.32s' must be 1 to 16 letters, digits, dots or underscores",
                   what, version);
}

static mw_status check_metadata(const mw_safetensors *file, const mw_mpe_task *task, const char **version,
                                mw_error *error) {
    const char *for_task = mw_safetensors_meta(file, "task"), *rules = mw_safetensors_meta(file, "rules");
    *version = mw_safetensors_meta(file, "version");
    if (!for_task || !rules || !*version)
        return mw_fail(error, MW_ERR_FORMAT, "%s: a prey file needs the metadata task, rules and version",
                       file->path);
    if (strcmp(for_task, task->name) || strcmp(rules, MW_MPE_RULES))
        return mw_fail(error, MW_ERR_MISMATCH,
                       "%s: the prey is for %.32s under rules %.32s, the task is %s under %s", file->path,
                       for_task, rules, task->name, MW_MPE_RULES);
    return mw_prey_version_check(*version, file->path, error);
}

static mw_status load_layers(mw_prey_net *net, const mw_safetensors *file, uint32_t *hash, mw_error *error) {
    char name[32];
    int width = net->inputs;
    while (snprintf(name, sizeof name, "prey.%d.weight", net->layers), mw_safetensors_find(file, name)) {
        if (net->layers == MAX_LAYERS)
            return mw_fail(error, MW_ERR_UNSUPPORTED, "%s: a prey has at most %d layers", file->path,
                           MAX_LAYERS);
        MW_TRY(load_layer(net, file, width, hash, error));
        width = net->layer[net->layers - 1].out;
    }
    if (net->layers == 0) return mw_fail(error, MW_ERR_FORMAT, "%s: no tensor prey.0.weight", file->path);
    if (width != 2)
        return mw_fail(error, MW_ERR_MISMATCH, "%s: the last layer of the prey must have 2 outputs, not %d",
                       file->path, width);
    if (file->tensor_count != 2 * (size_t)net->layers)
        return mw_fail(error, MW_ERR_FORMAT, "%s: %zu tensors, but %d prey layers need exactly %d",
                       file->path, file->tensor_count, net->layers, 2 * net->layers);
    return MW_OK;
}

mw_status mw_prey_net_load(mw_prey_net **out, const char *path, const mw_mpe_task *task, char tag[32],
                           mw_error *error) {
    mw_safetensors file;
    const char *version = "";
    uint32_t hash = 2166136261u; /* FNV-1a over all weights */
    *out = NULL;
    MW_TRY(mw_safetensors_open(&file, path, error));
    mw_prey_net *net = calloc(1, sizeof *net);
    mw_status status = net ? check_metadata(&file, task, &version, error)
                           : mw_fail(error, MW_ERR_MEMORY, "%s: out of memory", path);
    if (status == MW_OK) {
        net->inputs = mw_mpe_obs_size(task, task->learners);
        status = load_layers(net, &file, &hash, error);
    }
    if (status == MW_OK) {
        snprintf(tag, 32, "%.16s-%08x", version, (unsigned)hash);
        *out = net;
    } else {
        mw_prey_net_free(net);
    }
    mw_safetensors_close(&file);
    return status;
}

mw_status mw_prey_net_frozen(mw_prey_net **out, const mw_mpe_task *task, char tag[32], mw_error *error) {
    const mw_prey_weights *row = mw_prey_frozen;
    uint32_t hash = 2166136261u;
    *out = NULL;
    while (row->task && strcmp(row->task, task->name)) row++;
    if (!row->task) return MW_OK;
    mw_prey_net *net = calloc(1, sizeof *net);
    if (!net) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a prey");
    net->inputs = row->sizes[0];
    const uint16_t *value = row->values;
    for (int k = 0; k < row->layers; k++) {
        float *raw;
        mw_status status = add_layer(net, row->sizes[k], row->sizes[k + 1], &raw, error);
        if (status != MW_OK) {
            mw_prey_net_free(net);
            return status;
        }
        for (int i = 0; i < row->sizes[k] * row->sizes[k + 1]; i++) raw[i] = mw_half_to_float(*value++);
        for (int i = 0; i < row->sizes[k + 1]; i++) net->layer[k].bias[i] = mw_half_to_float(*value++);
        finish_layer(net, raw, &hash);
    }
    snprintf(tag, 32, "%.16s-%08x", row->version, (unsigned)hash);
    *out = net;
    return MW_OK;
}

static void network_act(const mw_prey_net *net, const mw_mpe_task *task, const mw_mpe_state *state,
                        double action[2]) {
    double obs[MW_MPE_MAX_OBS];
    float buffer[2][MAX_WIDTH], *x = buffer[0], *y = buffer[1];
    int inputs = mw_mpe_observe(task, state, task->learners, obs);
    for (int i = 0; i < inputs; i++) x[i] = (float)obs[i];
    for (int k = 0; k < net->layers; k++) {
        int in = net->layer[k].in, out = net->layer[k].out;
        memcpy(y, net->layer[k].bias, (size_t)out * sizeof *y);
        for (int i = 0; i < in; i++) {
            const float *row = net->layer[k].weight + (size_t)i * (size_t)out;
            for (int o = 0; o < out; o++) y[o] += x[i] * row[o];
        }
        if (k + 1 < net->layers)
            for (int o = 0; o < out; o++) y[o] = y[o] > 0 ? y[o] : 0;
        float *swap = x;
        x = y;
        y = swap;
    }
    /* Sums of finite weights may still overflow; such a prey stands still rather than poison the world. */
    for (int c = 0; c < 2; c++) action[c] = x[c] == x[c] ? (double)(float)mw_tanh((double)x[c]) : 0;
}

void mw_prey_act(const mw_prey_net *net, const mw_mpe_task *task, const mw_mpe_state *state,
                 double action[2]) {
    if (net)
        network_act(net, task, state, action);
    else
        flee(task, state, action);
}
