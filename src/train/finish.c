/* What a training arrives at: its report, and the bundle with the story of every part; see training.h. */
#include "train/training.h"

#include "train/training_log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the losses on held-out episodes the one that counts; NaN where there has been no validation. */
static double held_loss(const mw_training_part *part, int which) {
    if (part->best_step == 0) return NAN;
    return part->best_values ? part->best_held[which] : part->held[which];
}

mw_status mw_training_tell(const mw_training *t, mw_training_report *report, mw_error *error) {
    report->part = calloc((size_t)t->state.count, sizeof *report->part);
    if (!report->part) return mw_fail(error, MW_ERR_MEMORY, "cannot report %d parts", t->state.count);
    report->seconds = mw_training_seconds(t);
    report->complete = true;
    for (int i = 0; i < t->state.count; i++) {
        const mw_training_part *part = t->state.part[i];
        mw_part_report *r = &report->part[report->count++];
        *r = (mw_part_report){.name = part->name,
                              .trained = part->step == part->steps,
                              .losses = part->losses,
                              .best_step = part->best_values ? part->best_step : 0};
        memcpy(r->loss_names, part->loss_names, sizeof r->loss_names);
        for (int k = 0; k < part->losses; k++) r->held[k] = held_loss(part, k);
        report->complete &= r->trained;
    }
    return MW_OK;
}

void mw_training_report_free(mw_training_report *report) {
    if (!report) return;
    free(report->part);
    report->part = NULL;
    report->count = 0;
}

static mw_status explain(const mw_training *t, int which, mw_provenance *p, mw_error *error) {
    const mw_training_part *part = t->state.part[which];
    json_t *curve;
    mw_provenance_init(p, t->state.identity.data, t->data.seed, t->state.identity.held_out,
                       t->state.identity.threads);
    p->seconds = round(10 * mw_training_seconds(t)) / 10;
    MW_TRY(mw_training_log_summary(&curve, t->log, &t->state, part, error));
    json_t *losses = json_object();
    for (int i = 0; i < part->losses; i++)
        json_object_set_new(losses, part->loss_names[i], mw_number_json(held_loss(part, i)));
    json_object_set_new(p->details, "mawam", json_string(mw_version()));
    json_object_set_new(p->details, "command", mw_json_words(t->request->options.command));
    if (*t->accepted) json_object_set_new(p->details, "accepted_in", json_string(t->accepted));
    json_object_set_new(p->details, "held", losses);
    json_object_set_new(p->details, "best_step", json_integer(part->best_values ? part->best_step : 0));
    if (t->models[which]->kind->normalised && t->own_units)
        json_object_set_new(
            p->details, "knot_error", /* of the normalisers, in their unit */
            mw_number_json(fmax(t->data.stats.obs_report.knot_error, t->data.stats.act_report.knot_error)));
    json_object_set_new(p->details, "curve", curve);
    return MW_OK;
}

static mw_status add_part(mw_training *t, mw_bundle *b, int which, mw_error *error) {
    mw_provenance provenance = {0};
    mw_model *model = t->models[which];
    mw_status status = mw_model_allocate(model, error);
    if (status == MW_OK) status = explain(t, which, &provenance, error);
    if (status != MW_OK) {
        mw_provenance_free(&provenance);
        return status;
    }
    memcpy(model->values, mw_training_part_weights(t->state.part[which]),
           model->params->total * sizeof *model->values);
    if (!t->request->options.wide) mw_bundle_narrow(model); /* what is measured of it is of what is saved */
    mw_training_part_free(t->state.part[which]); /* it refers to the model, which is the bundle's now */
    t->state.part[which] = NULL;
    t->models[which] = NULL;
    return mw_bundle_add(b, model, &provenance, error);
}

static int made_here(const mw_training *t, const char *name) {
    for (int i = 0; i < t->state.count; i++)
        if (!strcmp(t->state.part[i]->name, name)) return i;
    return -1;
}

static mw_status add_parts(mw_training *t, mw_bundle *b, mw_error *error) {
    int here[MW_KINDS];
    const mw_model_class *class;
    for (int i = 0; (class = mw_model_class_at(i)); i++) here[i] = made_here(t, class->name);
    for (int i = 0; (class = mw_model_class_at(i)); i++) {
        mw_bundle_part *kept = t->other ? mw_bundle_find(t->other, class->name) : NULL;
        if (here[i] >= 0) {
            MW_TRY(add_part(t, b, here[i], error));
        } else if (kept) {
            mw_model *model = kept->model;
            free(kept->text);
            const mw_bundle_part moved = *kept;
            *kept = t->other->parts[--t->other->count];
            mw_provenance provenance = moved.provenance;
            MW_TRY(mw_bundle_add(b, model, &provenance, error));
            b->exact |= 1u << (b->count - 1);
        }
    }
    return MW_OK;
}

mw_status mw_training_assemble(mw_training *t, mw_training_report *report, mw_error *error) {
    const mw_training_request *r = t->request;
    mw_bundle *bundle;
    const mw_plan_settings *plan = &r->preset->plan;
    const mw_bundle *o = t->other;
    MW_TRY(mw_bundle_create(&bundle, &t->info, &t->preset.plan, error));
    bundle->return_error_from = o && o->plan.return_error == plan->return_error ? o->return_error_from
                                : isnan(plan->return_error)                     ? MW_MEASURED_NEVER
                                                                                : MW_MEASURED_GIVEN;
    bundle->target_given = o && o->plan.target == plan->target ? o->target_given : !isnan(plan->target);
    mw_status status = mw_normalizer_copy(&bundle->obs_normalizer, t->data.obs_normalizer, error);
    if (status == MW_OK) status = mw_normalizer_copy(&bundle->act_normalizer, t->data.act_normalizer, error);
    if (status == MW_OK) status = add_parts(t, bundle, error);
    if (status == MW_OK) status = mw_settle_error(bundle, &t->data, report->remark, error);
    if (status == MW_OK) status = mw_dataset_intact(t->data.dataset, error);
    if (status == MW_OK) status = mw_bundle_save(bundle, r->output, !r->options.wide, error);
    report->target = bundle->plan.target;
    mw_bundle_free(bundle);
    return status;
}
