/* The routing diagnosis of one bundle: its router and the same router before training, over the same
 * transitions with the same permutations and other actions. */
#include "routing/routing.h"

#include "core/clock.h"
#include "core/numbers.h"
#include "core/options.h"
#include "core/rng.h"
#include "eval/diagnosis.h"
#include "model/rwm/rwm.h"

#include <stdlib.h>
#include <string.h>

static const mw_routing_options defaults = {
    .size = sizeof defaults, .transitions = 4096, .consecutive = 8192, .anchors = 64, .seed = 2000};

void mw_routing_options_init(mw_routing_options *options, size_t size) {
    mw_options_fill(options, size, &defaults, sizeof defaults);
}

typedef struct {
    const mw_bundle *bundle;
    const mw_dataset *dataset;
    mw_routing_options options;
    mw_pool *pool;
    mw_world_weights routers[2]; /* trained, untrained */
    mw_model *untrained;
} inquiry;

static mw_world_weights weights_of(const mw_model *model) {
    return (mw_world_weights){mw_rwm_net(model), model->values, model->packed};
}

/* The model as training starts it: fresh weights, the data's own scales. */
static mw_status unlearn(mw_model **out, const mw_model *trained, uint64_t seed, mw_error *error) {
    MW_TRY(mw_model_make(out, trained->kind, &trained->config, &trained->shape, error));
    mw_model *model = *out;
    MW_TRY(mw_model_allocate(model, error));
    mw_params_init(model->params, model->values, seed);
    const mw_world_net *net = mw_rwm_net(model);
    for (int i = 0; i < model->params->count; i++) {
        const mw_param *p = &model->params->list[i];
        if (!strncmp(p->name, "scale.", 6))
            memcpy(model->values + p->offset, trained->values + p->offset, p->count * sizeof(float));
    }
    if (net->config.standardise) mw_world_net_aim(net, model->values);
    mw_model_pack(model);
    return MW_OK;
}

mw_status mw_routing_going(const mw_stop_flag *stop, mw_error *error) {
    if (!mw_stopped(stop)) return MW_OK;
    return mw_fail(error, MW_ERR_INTERRUPTED, "the routing diagnosis was stopped");
}

/* ---- scattered transitions ---- */

static mw_status measure_routers(inquiry *q, mw_routing *result, mw_error *error) {
    mw_routing_sample sample;
    float *perturbed = NULL;
    MW_TRY(mw_routing_scatter(&sample, q->dataset, q->options.transitions, q->options.seed, error));
    mw_status status =
        mw_routing_perturb(&perturbed, &sample, q->bundle->info.discrete, q->options.seed, error);
    for (int k = 0; k < 2 && status == MW_OK; k++) {
        mw_router *router = k ? &result->untrained : &result->trained;
        status =
            mw_router_measure(router, q->routers[k], &sample, perturbed, q->pool, q->options.stop, error);
    }
    free(perturbed);
    mw_routing_sample_free(&sample);
    return status;
}

/* ---- consecutive ones ---- */

static void permute(int *permutations, int count, uint64_t seed) {
    for (int p = 0; p < MW_ROUTING_PERMUTATIONS; p++) {
        int *order = permutations + (size_t)p * (size_t)count;
        mw_rng rng = mw_rng_make(seed, MW_RNG_STUDY, (uint64_t)p, 0, 2);
        for (int i = 0; i < count; i++) order[i] = i;
        mw_rng_shuffle(&rng, order, count);
    }
}

static mw_status find_statistics(inquiry *q, mw_routing *result, const mw_routing_sample *sample,
                                 mw_error *error) {
    const size_t all = (size_t)sample->transitions * (size_t)sample->agents;
    const int experts = q->routers[0].net->config.experts;
    double *mass = malloc(all * (size_t)experts * sizeof *mass);
    int *permutations = malloc(MW_ROUTING_PERMUTATIONS * all * sizeof *permutations);
    mw_status status = mass && permutations
                           ? MW_OK
                           : mw_fail(error, MW_ERR_MEMORY, "cannot analyse %zu agent transitions", all);
    if (status == MW_OK) permute(permutations, (int)all, q->options.seed);
    for (int k = 0; k < 2 && status == MW_OK; k++) {
        mw_router *router = k ? &result->untrained : &result->trained;
        status = mw_router_masses(mass, q->routers[k], sample, q->pool, error);
        if (status == MW_OK)
            status = mw_routing_statistics_of(&router->statistics, sample, mass, experts, permutations, NULL,
                                              NULL, error);
        if (status == MW_OK) status = mw_routing_going(q->options.stop, error);
    }
    free(mass);
    free(permutations);
    return status;
}

static mw_status analyse_routers(inquiry *q, mw_routing *result, mw_error *error) {
    mw_routing_sample sample;
    MW_TRY(mw_routing_blocks(&sample, q->dataset, q->options.consecutive, q->options.seed, error));
    const mw_status status = find_statistics(q, result, &sample, error);
    mw_routing_sample_free(&sample);
    return status;
}

/* ---- the whole ---- */

static mw_status check(const inquiry *q, mw_error *error) {
    const mw_routing_options *o = &q->options;
    MW_TRY(mw_bundle_expect_data(q->bundle, q->dataset, error));
    if (!mw_bundle_model(q->bundle, "rwm"))
        return mw_fail(error, MW_ERR_ARGUMENT, "this bundle has no routed world model (rwm)");
    if (o->transitions < 1 || o->transitions > 1000000 || o->consecutive < 1 || o->consecutive > 1000000 ||
        o->anchors < 0 || o->anchors > 100000)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "routing takes 1 to 1000000 transitions of either kind and 0 to 100000 anchors; got "
                       "%d, %d and %d",
                       o->transitions, o->consecutive, o->anchors);
    return MW_OK;
}

static mw_status inquire(inquiry *q, mw_routing *result, mw_error *error) {
    MW_TRY(check(q, error));
    const mw_model *trained = mw_bundle_model(q->bundle, "rwm");
    MW_TRY(mw_pool_create(&q->pool, q->options.threads, error));
    MW_TRY(unlearn(&q->untrained, trained, q->options.seed, error));
    q->routers[0] = weights_of(trained);
    q->routers[1] = weights_of(q->untrained);
    MW_TRY(measure_routers(q, result, error));
    MW_TRY(analyse_routers(q, result, error));
    if (!q->options.anchors) return MW_OK;
    return mw_influence_run(result, q->bundle, q->routers[1], &q->options, q->pool, error);
}

mw_status mw_routing_run(mw_routing **out, const mw_bundle *bundle, const mw_dataset *dataset,
                         const mw_routing_options *given, mw_error *error) {
    MW_PLAIN_NUMBERS;
    const double start = mw_clock_seconds();
    inquiry q = {.bundle = bundle, .dataset = dataset, .options = defaults};
    MW_NEED_AS(out, "result");
    *out = NULL;
    MW_TRY(mw_options_take(&q.options, sizeof q.options, MW_FIELD_END(mw_routing_options, stop), given,
                           "mw_routing_options_init", error));
    MW_NEED(bundle);
    MW_NEED(dataset);
    mw_routing *result = calloc(1, sizeof *result);
    if (!result) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a routing diagnosis");
    mw_status status = inquire(&q, result, error);
    if (status == MW_OK) status = mw_dataset_intact(dataset, error);
    mw_model_free(q.untrained);
    mw_pool_free(q.pool);
    result->seconds = mw_clock_seconds() - start;
    if (status == MW_OK)
        *out = result;
    else
        free(result);
    return status;
}

void mw_routing_free(mw_routing *result) {
    free(result);
}
