/* A look into the routed world model; see probe.h. */
#include "model/rwm/probe.h"

#include "model/rwm/work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 128 };

struct mw_probe {
    const mw_world_net *net;
    const float *values, *packed;
    mw_pool *pool;
    mw_world_work *work;
    float *next, *reward; /* [BATCH][n][o], [BATCH][n] */
};

/* One batch of a look: rows first to first + count - 1 of all. */
typedef struct {
    mw_probe *probe;
    const float *obs, *act; /* of the batch */
    const mw_probe_view *view;
    size_t first, all;
    int count;
} look;

mw_status mw_probe_create(mw_probe **out, const mw_world_net *net, const float *values, const float *packed,
                          mw_pool *pool, mw_error *error) {
    const size_t rows = (size_t)(BATCH * net->config.agents), obs = (size_t)net->config.obs;
    *out = NULL;
    mw_probe *probe = calloc(1, sizeof *probe);
    if (!probe) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a probe");
    *probe = (mw_probe){.net = net, .values = values, .packed = packed, .pool = pool};
    probe->next = malloc(rows * (obs + 1) * sizeof *probe->next);
    mw_status status = probe->next ? mw_world_work_create(&probe->work, net, BATCH, false, pool, error)
                                   : mw_fail(error, MW_ERR_MEMORY, "cannot allocate a probe");
    if (status != MW_OK) {
        mw_probe_free(probe);
        return status;
    }
    probe->reward = probe->next + rows * obs;
    *out = probe;
    return MW_OK;
}

void mw_probe_free(mw_probe *probe) {
    if (!probe) return;
    mw_world_work_free(probe->work);
    free(probe->next);
    free(probe);
}

int mw_probe_parts(const mw_world_net *net) {
    return net->config.experts + (net->config.shared > 0);
}

/* Without a shared expert all of the mixture is routed. */
static float routed_share(const mw_world_net *net, const mw_world_work *w, size_t row) {
    const size_t o = (size_t)net->config.obs;
    double routed = 0, shared = 0;
    if (!net->config.shared) return 1;
    for (size_t i = row * o; i < (row + 1) * o; i++) {
        const double part = (double)w->mixed[i] - w->shared_out[i];
        routed += part * part;
        shared += (double)w->shared_out[i] * w->shared_out[i];
    }
    const double sum = sqrt(routed) + sqrt(shared);
    return sum > 0 ? (float)(sqrt(routed) / sum) : 1;
}

static void put(float *to, const float *from, size_t first, size_t rows, size_t width) {
    if (to) memcpy(to + first * width, from + first * width, rows * width * sizeof *to);
}

static void look_body(void *context, int worker) {
    const look *k = context;
    const mw_probe *p = k->probe;
    const mw_probe_view *v = k->view;
    const mw_world_config *c = &p->net->config;
    const size_t n = (size_t)c->agents, o = (size_t)c->obs, slots = (size_t)(c->experts * c->slots),
                 top = (size_t)c->top_k;
    mw_world_forward(p->net, p->work, p->values, p->packed, k->obs, k->act, p->next, p->reward, k->count,
                     worker);
    int begin, end;
    mw_pool_share(p->pool, worker, k->count, 1, &begin, &end);
    const size_t first = (size_t)begin * n, rows = (size_t)(end - begin) * n, at = k->first * n;
    put(v->next ? v->next + at * o : NULL, p->next, first, rows, o);
    put(v->dispatch ? v->dispatch + at * slots : NULL, p->work->dispatch, first, rows, slots);
    put(v->combine ? v->combine + at * slots : NULL, p->work->combine, first, rows, slots);
    if (v->top) memcpy(v->top + (at + first) * top, p->work->top + first * top, rows * top * sizeof *v->top);
    for (size_t r = first; v->routed && r < first + rows; r++)
        v->routed[at + r] = routed_share(p->net, p->work, r);
    for (int part = 0; v->without && part < mw_probe_parts(p->net); part++)
        mw_world_mix(p->net, p->work, p->values, k->obs, v->without + ((size_t)part * k->all * n + at) * o,
                     k->count, begin, end, part);
}

void mw_probe_look(mw_probe *p, const float *obs, const float *act, int count, const mw_probe_view *view) {
    const mw_world_config *c = &p->net->config;
    for (int first = 0; first < count; first += BATCH) {
        const size_t at = (size_t)first * (size_t)c->agents;
        look k = {p,
                  obs + at * (size_t)c->obs,
                  act + at * (size_t)c->act,
                  view,
                  (size_t)first,
                  (size_t)count,
                  count - first < BATCH ? count - first : BATCH};
        mw_pool_run(p->pool, look_body, &k);
    }
}
