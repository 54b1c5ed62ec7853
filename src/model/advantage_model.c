/* The advantage as a model: its settings, its training (one long step, which solves for the weights) and the
 * scorer that ranks candidates by the advantage of their first joint action. */
#include "model/advantage.h"
#include "model/advantage_fit.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    int features, hidden, steps;
    double discount, lambda, ridge;
} settings;

#define AT(member) offsetof(settings, member)

/* clang-format off */
static const mw_field fields[] = {
    {"features", MW_FIELD_INT,  AT(features), "64",   1, 4096,    "random features of the joint observation, besides itself", {0}, NULL},
    {"hidden",   MW_FIELD_INT,  AT(hidden),   "256",  1, 4096,    "width of the MLPs for what is usual", {0}, NULL},
    {"steps",    MW_FIELD_INT,  AT(steps),    "3000", 1, 1e8,     "their training steps, of 512 rows each", {0}, NULL},
    {"discount", MW_FIELD_REAL, AT(discount), "0.99", 0, 1,       "of the rewards that count", {0}, NULL},
    {"lambda",   MW_FIELD_REAL, AT(lambda),   "0.98", 0, 1,       "GAE's: how slowly rewards hand over to usual returns", {0}, NULL},
    {"ridge",    MW_FIELD_REAL, AT(ridge),    "0.1",  1e-9, 1e9,  "of the regression, relative to the mean square of its terms", {0}, NULL},
};
/* clang-format on */
_Static_assert(sizeof(settings) <= MW_CONFIG_BYTES, "settings fit into a configuration");

static const settings *settings_of(const mw_model *model) {
    return (const settings *)(const void *)&model->config;
}

static mw_status make(mw_model *model, mw_error *error) {
    const mw_advantage_config config = {model->shape.agents, model->shape.obs, model->shape.act,
                                        settings_of(model)->features};
    mw_advantage_net *net = model->net = calloc(1, sizeof *net);
    if (!net) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate an advantage");
    model->params = &net->params;
    return mw_advantage_net_make(net, &config, error);
}

static void discard(mw_model *model) {
    if (model->net) mw_advantage_net_free(model->net);
    free(model->net);
}

/* ---- training: a matter of seconds, so there is nothing within it to keep in checkpoints ---- */

typedef struct {
    mw_training_part part;
    const mw_training_data *data;
    const settings *settings;
    const mw_advantage_net *net;
    mw_arena arena; /* of the weights */
} advantage_part;

/* Of the observed advantages' variance. */
static double unexplained(double correlation) {
    return isfinite(correlation) ? 1 - correlation * correlation : 1;
}

static mw_advantage_options options_of(const settings *s, const mw_training_data *data) {
    return (mw_advantage_options){.hidden = s->hidden,
                                  .steps = s->steps,
                                  .discount = s->discount,
                                  .lambda = s->lambda,
                                  .ridge = s->ridge,
                                  .seed = data->seed,
                                  .stop = data->stop};
}

static mw_status advance(mw_training_part *part, double *losses, mw_error *error) {
    const advantage_part *p = (const advantage_part *)part;
    const mw_advantage_options options = options_of(p->settings, p->data);
    mw_advantage_report report;
    MW_TRY(mw_advantage_fit(p->net, part->best_values, p->data->dataset, &p->data->split, &options, &report,
                            error));
    losses[0] = unexplained(report.correlation);
    part->held[0] = unexplained(report.held);
    return MW_OK;
}

/* The fit has looked at the held-out episodes already. */
static void validate(mw_training_part *part, double *losses) {
    losses[0] = part->held[0];
}

static void destroy(mw_training_part *part) {
    mw_arena_free(&((advantage_part *)part)->arena);
    free(part);
}

/* Of the joint observation's values. */
static int count_varying(const mw_training_data *data) {
    int count = 0;
    for (int i = 0; i < data->stats.obs_size; i++) count += data->stats.obs[i].high > data->stats.obs[i].low;
    return count * data->dataset->spec.agents;
}

static mw_status train(mw_training_part **out, const mw_model *model, const mw_training_data *data,
                       mw_error *error) {
    *out = NULL;
    MW_TRY(mw_advantage_possible(model->net, &data->dataset->spec, error));
    const mw_advantage_options options = options_of(settings_of(model), data);
    mw_arena arena;
    MW_TRY(mw_arena_create(&arena, model->params->total * sizeof(float), error));
    float *values = mw_arena_floats(&arena, model->params->total);
    advantage_part *p = calloc(1, sizeof *p);
    if (!p) {
        mw_arena_free(&arena);
        return mw_fail(error, MW_ERR_MEMORY, "cannot allocate the advantage's training");
    }
    *p = (advantage_part){.part = {.name = model->kind->name,
                                   .losses = 1,
                                   .minimised = 1,
                                   .loss_names = {"unexplained"},
                                   .total = model->params->total,
                                   .passing = mw_advantage_bytes(model->net, data->dataset, &data->split,
                                                                 &options, count_varying(data)),
                                   .best_values = values,
                                   .steps = 1,
                                   .cost = 1e9 * (double)settings_of(model)->steps,
                                   .advance = advance,
                                   .validate = data->split.held.count > 0 ? validate : NULL,
                                   .destroy = destroy},
                          .data = data,
                          .settings = settings_of(model),
                          .net = model->net,
                          .arena = arena};
    *out = &p->part;
    return MW_OK;
}

/* ---- scoring ---- */

typedef struct {
    mw_scorer base;
    const mw_model *model;
    float *terms, *gradient; /* [terms], and behind it [n][d] */
} advantage_scorer;

/* Like an imagined return, a score is of all agents together. */
static mw_status score(mw_scorer *base, const mw_scoring *call, mw_error *error) {
    const advantage_scorer *s = (const advantage_scorer *)base;
    const mw_model_shape *shape = &s->model->shape;
    const int act = shape->agents * shape->act;
    (void)error;
    for (int q = 0; q < call->count; q++) {
        if (q % call->group == 0)
            mw_advantage_gradient(s->model->net, s->model->values,
                                  call->obs + (size_t)q * (size_t)(shape->agents * shape->obs), s->terms,
                                  s->gradient);
        const float *first = call->actions + (size_t)q * (size_t)(call->horizon * act);
        float sum = 0;
        for (int k = 0; k < act; k++) sum += s->gradient[k] * first[k];
        call->scores[q] = (float)shape->agents * sum;
    }
    return MW_OK;
}

static void scorer_destroy(mw_scorer *base) {
    advantage_scorer *s = (advantage_scorer *)base;
    free(s->terms);
    free(s);
}

static size_t scorer_floats(const mw_model *model) {
    const mw_advantage_net *net = model->net;
    return (size_t)(mw_advantage_terms(&net->config) + model->shape.agents * model->shape.act);
}

static size_t bytes(const mw_scorer *base) {
    return scorer_floats(((const advantage_scorer *)base)->model) * sizeof(float);
}

static const mw_scorer_class scorer_class;

static mw_status create(mw_scorer **out, const mw_scorer_context *context, mw_error *error) {
    advantage_scorer *s = calloc(1, sizeof *s);
    *out = NULL;
    if (!s) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a scorer");
    *s = (advantage_scorer){.base = {&scorer_class}, .model = context->model};
    s->terms = calloc(scorer_floats(s->model), sizeof *s->terms);
    if (!s->terms) {
        scorer_destroy(&s->base);
        return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a scorer");
    }
    s->gradient = s->terms + mw_advantage_terms(&((const mw_advantage_net *)s->model->net)->config);
    *out = &s->base;
    return MW_OK;
}

static const mw_scorer_class scorer_class = {
    .name = "advantage",
    .help = "learned long-run advantage of the first joint action",
    .create = create,
    .score = score,
    .bytes = bytes,
    .destroy = scorer_destroy,
};

const mw_model_class mw_advantage_class = {
    .name = "advantage",
    .help = "what a joint action is worth in the long run beyond what is usual; real actions",
    .fields = MW_FIELDS(fields),
    .real_only = true,
    .make = make,
    .discard = discard,
    .train = MW_LEARNS(train),
    .scorer = &scorer_class,
};
