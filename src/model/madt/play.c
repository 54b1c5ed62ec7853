/* The decision transformer at play: every agent's last steps, the return that is still wanted, and what the
 * transformer reads from them; see madt.h. */
#include "model/madt/madt.h"

#include "core/math.h"
#include "nn/categorical.h"

#include <stdlib.h>
#include <string.h>

/* What the agents of one environment remember: lived steps 0 to count - 1 are their last ones. */
typedef struct {
    float *token[MW_MADT_TOKENS]; /* [n][W][1], [n][W][o + n], [n][W][d] */
    float *prev, *out;            /* [n][d]: the last action; what was read */
    int *time;                    /* [W] */
    int count, now;               /* now: steps of the episode so far */
    double wanted;
} memory;

typedef struct {
    mw_policy base;
    const mw_model *model;
    mw_pool *pool;
    int envs, inputs[MW_MADT_TOKENS];
    memory *memory;      /* [envs] */
    mw_madt_acts *areas; /* [threads] */
    mw_arena arena;
} playing;

static void take_room(playing *p) {
    const mw_madt_net *net = mw_madt_net_of(p->model);
    const size_t n = (size_t)net->config.agents, window = (size_t)net->config.window,
                 d = (size_t)net->config.act;
    for (int i = 0; i < mw_pool_threads(p->pool); i++)
        mw_madt_acts_take(net, &p->areas[i], &p->arena, net->config.agents, false);
    for (int env = 0; env < p->envs; env++) {
        memory *m = &p->memory[env];
        for (int j = 0; j < MW_MADT_TOKENS; j++)
            m->token[j] = mw_arena_floats(&p->arena, n * window * (size_t)p->inputs[j]);
        m->prev = mw_arena_floats(&p->arena, n * d);
        m->out = mw_arena_floats(&p->arena, n * d);
        m->time = mw_arena_take(&p->arena, window, sizeof *m->time);
    }
}

static void begin(mw_policy *base, int env) {
    const playing *p = (playing *)base;
    const mw_madt_config *c = &mw_madt_net_of(p->model)->config;
    memory *m = &p->memory[env];
    m->count = m->now = 0;
    m->wanted = mw_madt_settings_of(p->model)->target;
    memset(m->prev, 0, (size_t)(c->agents * c->act) * sizeof *m->prev);
}

static void reward(mw_policy *base, int env, float reward) {
    ((playing *)base)->memory[env].wanted -= (double)reward;
}

static void destroy(mw_policy *base) {
    playing *p = (playing *)base;
    mw_arena_free(&p->arena);
    free(p->memory);
    free(p->areas);
    free(p);
}

static mw_status open_playing(playing *p, mw_error *error) {
    p->memory = calloc((size_t)p->envs, sizeof *p->memory);
    p->areas = calloc((size_t)mw_pool_threads(p->pool), sizeof *p->areas);
    if (!p->memory || !p->areas) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a policy");
    take_room(p);
    MW_TRY(mw_arena_create(&p->arena, p->arena.used, error));
    take_room(p);
    for (int env = 0; env < p->envs; env++) begin(&p->base, env);
    return MW_OK;
}

static mw_status create(mw_policy **out, const mw_policy_context *context, mw_error *error) {
    playing *p = calloc(1, sizeof *p);
    *out = NULL;
    if (!p) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a policy");
    const mw_madt_config *c = &mw_madt_net_of(context->model)->config;
    *p = (playing){.base = {&mw_madt_policy},
                   .model = context->model,
                   .pool = context->pool,
                   .envs = context->envs,
                   .inputs = {1, c->obs + c->agents, c->act}};
    const mw_status status = open_playing(p, error);
    if (status != MW_OK) {
        destroy(&p->base);
        return status;
    }
    *out = &p->base;
    return MW_OK;
}

/* Makes place for the present step, of which the earliest one may have to leave. */
static void move_on(const playing *p, memory *m) {
    const mw_madt_config *c = &mw_madt_net_of(p->model)->config;
    if (m->count < c->window) {
        m->count++;
        return;
    }
    const size_t kept = (size_t)(c->window - 1);
    memmove(m->time, m->time + 1, kept * sizeof *m->time);
    for (int j = 0; j < MW_MADT_TOKENS; j++)
        for (int i = 0; i < c->agents; i++) {
            const size_t inputs = (size_t)p->inputs[j];
            float *at = m->token[j] + (size_t)(i * c->window) * inputs;
            memmove(at, at + inputs, kept * inputs * sizeof *at);
        }
}

static void perceive(const playing *p, memory *m, const float *obs) {
    const mw_madt_net *net = mw_madt_net_of(p->model);
    const mw_madt_config *c = &net->config;
    move_on(p, m);
    m->time[m->count - 1] = m->now < c->times ? m->now : c->times - 1;
    m->now++;
    for (int i = 0; i < c->agents; i++) {
        const size_t at = (size_t)(i * c->window + m->count - 1);
        m->token[0][at] = (float)m->wanted / (float)mw_madt_settings_of(p->model)->return_scale;
        mw_madt_see(net, p->model->values, obs + i * c->obs, i, m->token[1] + at * (size_t)p->inputs[1]);
        memcpy(m->token[2] + at * (size_t)c->act, m->prev + i * c->act, (size_t)c->act * sizeof *m->prev);
    }
}

/* What to do is at the last step of every agent's history. */
static void recall(const playing *p, memory *m, mw_madt_acts *a) {
    const mw_madt_net *net = mw_madt_net_of(p->model);
    const int n = net->config.agents, window = net->config.window, d = net->config.act;
    const size_t count = (size_t)m->count;
    a->in.histories = n;
    for (int i = 0; i <= n; i++) a->in.first[i] = i * m->count;
    for (size_t i = 0; i < (size_t)n; i++) {
        memcpy(a->in.time + i * count, m->time, count * sizeof *m->time);
        for (int j = 0; j < MW_MADT_TOKENS; j++) {
            const size_t inputs = (size_t)p->inputs[j];
            memcpy(a->in.token[j] + i * count * inputs, m->token[j] + i * (size_t)window * inputs,
                   count * inputs * sizeof(float));
        }
    }
    mw_madt_forward(net, a, p->model->values, p->model->packed);
    for (int i = 0; i < n; i++)
        memcpy(m->out + i * d, a->out + ((i + 1) * m->count - 1) * d, (size_t)d * sizeof *m->out);
}

static void decide(playing *p, const mw_policy_call *call, int env, mw_madt_acts *a) {
    const mw_model_shape *s = &p->model->shape;
    const int n = s->agents, d = s->act;
    const size_t acts = (size_t)(n * d), at = (size_t)env;
    memory *m = &p->memory[env];
    perceive(p, m, call->obs + at * (size_t)(n * s->obs));
    recall(p, m, a);
    memset(m->prev, 0, acts * sizeof *m->prev);
    for (int i = 0; s->discrete && i < n; i++) {
        const uint8_t *legal = call->legal ? call->legal + at * acts + i * d : NULL;
        const int32_t act = call->index[env * n + i] = mw_categorical_best(m->out + i * d, legal, d);
        m->prev[i * d + act] = 1;
    }
    for (size_t k = 0; !s->discrete && k < acts; k++)
        call->real[at * acts + k] = m->prev[k] = m->out[k] = (float)mw_tanh((double)m->out[k]);
}

typedef struct {
    playing *policy;
    const mw_policy_call *call;
} decision;

static void decide_share(void *context, int worker) {
    const decision *d = context;
    playing *p = d->policy;
    int first, last;
    mw_pool_share(p->pool, worker, p->envs, 1, &first, &last);
    for (int env = first; env < last; env++)
        if (!d->call->active || d->call->active[env]) decide(p, d->call, env, &p->areas[worker]);
}

static mw_status act(mw_policy *base, const mw_policy_call *call, mw_error *error) {
    playing *p = (playing *)base;
    (void)error;
    mw_pool_run(p->pool, decide_share, &(decision){p, call});
    return MW_OK;
}

const float *mw_madt_outputs(const mw_policy *policy, int env) {
    return ((const playing *)policy)->memory[env].out;
}

const mw_policy_class mw_madt_policy = {
    .help = "MADT: continues its own history towards a high return",
    .sees = "own",
    .source = "Meng and others 2021",
    .certain =
        "as published for discrete actions, but for the window and the mask; for real ones a reconstruction",
    .create = create,
    .begin = begin,
    .reward = reward,
    .act = act,
    .destroy = destroy,
};
