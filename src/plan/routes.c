/* Which experts of the routed world model a decision goes through, for pictures; see mawam/plan.h. The
 * diagnosis of routing over a whole dataset is in src/routing. */
#include "model/rwm/probe.h"
#include "model/rwm/rwm.h"
#include "plan/bundle.h"

#include <stdlib.h>

struct mw_routes {
    const mw_world_net *net;
    mw_pool *pool;
    mw_probe *probe;
    float *combine; /* [n][slots of all experts] */
};

mw_status mw_routes_create(mw_routes **out, const mw_bundle *bundle, mw_error *error) {
    MW_NEED(out);
    *out = NULL;
    MW_NEED(bundle);
    const mw_model *model = mw_bundle_model(bundle, "rwm");
    if (!model) return mw_fail(error, MW_ERR_UNSUPPORTED, "this bundle has no routed world model");
    mw_routes *routes = calloc(1, sizeof *routes);
    if (!routes) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate routes");
    routes->net = mw_rwm_net(model);
    const mw_world_config *c = &routes->net->config;
    routes->combine = calloc((size_t)(c->agents * c->experts * c->slots), sizeof *routes->combine);
    mw_status status = routes->combine ? mw_pool_create(&routes->pool, 1, error)
                                       : mw_fail(error, MW_ERR_MEMORY, "cannot allocate routes");
    if (status == MW_OK)
        status =
            mw_probe_create(&routes->probe, routes->net, model->values, model->packed, routes->pool, error);
    if (status != MW_OK) {
        mw_routes_free(routes);
        return status;
    }
    *out = routes;
    return MW_OK;
}

void mw_routes_free(mw_routes *routes) {
    if (!routes) return;
    mw_probe_free(routes->probe);
    mw_pool_free(routes->pool);
    free(routes->combine);
    free(routes);
}

int mw_routes_experts(const mw_routes *routes) {
    return routes->net->config.experts;
}

void mw_routes_look(mw_routes *routes, const float *obs, const float *action, float *mass) {
    const mw_world_config *c = &routes->net->config;
    const mw_probe_view view = {.combine = routes->combine};
    mw_probe_look(routes->probe, obs, action, 1, &view);
    for (int e = 0; e < c->agents * c->experts; e++) {
        mass[e] = 0;
        for (int s = 0; s < c->slots; s++) mass[e] += routes->combine[e * c->slots + s];
    }
}
