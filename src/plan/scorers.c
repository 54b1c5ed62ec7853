/* The table of scorers; see scorers.h. */
#include "plan/scorers.h"

#include "core/names.h"
#include "plan/oracle.h"

#include <stdlib.h>
#include <string.h>

static const mw_scorer_class mixture_class, q_mixture_class;

/* Those that are no model's own. */
static const mw_scorer_class *const others[] = {
    &mixture_class,
    &q_mixture_class,
#ifndef MAWAM_PLAN_ONLY /* which has no worlds to simulate in */
    &mw_oracle_class,
#endif
};

const mw_scorer_class *mw_scorer_class_at(int index) {
    const mw_model_class *model;
    for (int i = 0; (model = mw_model_class_at(i)); i++)
        if (model->scorer && index-- == 0) return model->scorer;
    return index >= 0 && index < (int)(sizeof others / sizeof *others) ? others[index] : NULL;
}

const char *mw_scorer_name(int index) {
    const mw_scorer_class *class = mw_scorer_class_at(index);
    return class ? class->name : NULL;
}

const char *mw_scorer_help(int index) {
    const mw_scorer_class *class = mw_scorer_class_at(index);
    return class ? class->help : NULL;
}

static const mw_scorer_class *find(const char *name) {
    return mw_scorer_class_at(mw_names_find(mw_scorer_name, name));
}

bool mw_scorer_imagines(const char *name) {
    const mw_scorer_class *class = find(name);
    return class && class->imagines;
}

bool mw_scorer_foretells(const char *name) {
    const mw_scorer_class *class = find(name);
    return class && class->imagines && !class->mixes[0];
}

bool mw_scorer_available(const char *name, const mw_bundle *bundle) {
    const mw_scorer_class *class = find(name);
    if (class && class->mixes[0])
        return mw_bundle_model(bundle, class->mixes[0]) && mw_bundle_model(bundle, class->mixes[1]);
    return class && (mw_model_class_index(name) < 0 || mw_bundle_model(bundle, name));
}

mw_status mw_scorer_check(const char *name, unsigned models, mw_error *error) {
    const mw_scorer_class *class = find(name);
    const char *const own[] = {name, NULL}, *const *needed = own;
    if (!class) return mw_names_unknown(mw_scorer_name, "scorer", name, error);
    if (class->mixes[0]) needed = class->mixes;
    for (int i = 0; i < 2 && needed[i]; i++) {
        const int model = mw_model_class_index(needed[i]);
        if (model >= 0 && !(models & 1u << model))
            return mw_fail(error, MW_ERR_ARGUMENT, "plan.scorer is %s, and the %s is not among the parts",
                           name, needed[i]);
    }
    return MW_OK;
}

static bool imagines_with(const mw_scorer_class *class, unsigned models) {
    const int model = mw_model_class_index(class->name);
    return class->imagines && model >= 0 && models & 1u << model;
}

const char *mw_scorer_imagining_for(const char *scorer, unsigned models) {
    const mw_scorer_class *class = find(scorer);
    if (class && imagines_with(class, models)) return class->name;
    for (int i = 0; (class = mw_scorer_class_at(i)); i++)
        if (imagines_with(class, models)) return class->name;
    return NULL;
}

const char *mw_scorer_imagining(const mw_bundle *bundle) {
    return mw_scorer_imagining_for("", mw_bundle_models(bundle));
}

float mw_scorer_return_weight(const char *name, double advantage_share) {
    const mw_scorer_class *class = find(name);
    return class && class->mixes[0] ? 1 - (float)advantage_share : 1;
}

static const mw_model *model_of(const mw_scorer_context *context, const char *name) {
    for (int i = 0; i < context->count; i++)
        if (!strcmp(context->models[i]->kind->name, name)) return context->models[i];
    return NULL;
}

mw_status mw_scorer_create(mw_scorer **scorer, const char *name, const mw_bundle *bundle,
                           mw_scorer_context context, mw_error *error) {
    const mw_scorer_class *class = find(name);
    const mw_model *models[MW_KINDS];
    *scorer = NULL;
    if (!class) return mw_names_unknown(mw_scorer_name, "scorer", name, error);
    if (!mw_scorer_available(name, bundle))
        return mw_fail(error, MW_ERR_ARGUMENT, "this bundle has no part for the scorer '%s'", name);
    for (int i = 0; i < bundle->count; i++) models[i] = bundle->parts[i].model;
    context.kind = class;
    context.models = models;
    context.count = bundle->count;
    context.model = model_of(&context, name);
    return class->create(scorer, &context, error);
}

/* ---- the mixture ---- */

typedef struct {
    mw_scorer base;
    mw_scorer *part[2];
    float share, *scores;
    int capacity;
} mixture;

static void mixture_destroy(mw_scorer *base) {
    mixture *m = (mixture *)base;
    for (int i = 0; i < 2; i++) mw_scorer_free(m->part[i]);
    free(m->scores);
    free(m);
}

static mw_status mixture_create(mw_scorer **out, const mw_scorer_context *context, mw_error *error) {
    mixture *m = calloc(1, sizeof *m);
    *out = NULL;
    if (!m) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a scorer");
    *m = (mixture){.base = {context->kind},
                   .share = (float)context->advantage_share,
                   .capacity = context->max_rows,
                   .scores = calloc((size_t)context->max_rows, sizeof *m->scores)};
    mw_status status = m->scores ? MW_OK : mw_fail(error, MW_ERR_MEMORY, "cannot allocate a scorer");
    for (int i = 0; i < 2 && status == MW_OK; i++) {
        mw_scorer_context own = *context;
        own.model = model_of(context, context->kind->mixes[i]);
        own.kind = own.model->kind->scorer;
        status = own.kind->create(&m->part[i], &own, error);
    }
    if (status != MW_OK) {
        mixture_destroy(&m->base);
        return status;
    }
    *out = &m->base;
    return MW_OK;
}

static mw_status mixture_score(mw_scorer *base, const mw_scoring *call, mw_error *error) {
    mixture *m = (mixture *)base;
    mw_scoring second = *call;
    if (call->count > m->capacity)
        return mw_fail(error, MW_ERR_ARGUMENT, "a mixture made for %d candidates cannot score %d",
                       m->capacity, call->count);
    second.scores = m->scores;
    second.paths = NULL;
    MW_TRY(mw_scorer_score(m->part[0], call, error));
    MW_TRY(mw_scorer_score(m->part[1], &second, error));
    for (int q = 0; q < call->count; q++)
        call->scores[q] = (1 - m->share) * call->scores[q] + m->share * m->scores[q];
    return MW_OK;
}

static size_t mixture_bytes(const mw_scorer *base) {
    const mixture *m = (const mixture *)base;
    return m->part[0]->kind->bytes(m->part[0]) + m->part[1]->kind->bytes(m->part[1]) +
           (size_t)m->capacity * sizeof *m->scores;
}

static const mw_scorer_class mixture_class = {
    .name = "mixture",
    .help = "rwm and advantage together; advantage_share is the weight of the advantage",
    .imagines = true,
    .mixes = {"rwm", "advantage"}, /* imagined return, and what goes beyond the horizon */
    .create = mixture_create,
    .score = mixture_score,
    .bytes = mixture_bytes,
    .destroy = mixture_destroy,
};

static const mw_scorer_class q_mixture_class = {
    .name = "q_mixture",
    .help = "rwm and q together; advantage_share is the weight of q here",
    .imagines = true,
    .mixes = {"rwm", "q"},
    .create = mixture_create,
    .score = mixture_score,
    .bytes = mixture_bytes,
    .destroy = mixture_destroy,
};
