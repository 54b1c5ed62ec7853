/* What a training starts from: the task, checks of everything that can be known before the first step, the
 * parts, and where a checkpoint or a finished bundle stands; see training.h. */
#include "train/training.h"

#include "core/machine/memory.h"
#include "plan/scorers.h"
#include "train/training_log.h"

#include <math.h>
#include <string.h>

static mw_status copy_name(char out[MW_WORD], const char *what, const char *name, mw_error *error) {
    if (strlen(name) >= MW_WORD)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "the dataset's %s '%.80s...' is longer than a bundle's %d bytes", what, name,
                       MW_WORD - 1);
    strcpy(out, *name ? name : "unknown");
    return MW_OK;
}

unsigned mw_training_trained(const mw_training_request *r) {
    return r->nothing ? 0 : r->options.only ? r->options.only : r->preset->parts;
}

static mw_status describe_task(mw_training *t, mw_error *error) {
    const mw_dataset_spec *s = &t->request->dataset->spec;
    mw_bundle_info *i = &t->info;
    *i = (mw_bundle_info){.agents = s->agents,
                          .obs = s->obs_size,
                          .act = s->act_size,
                          .discrete = s->discrete,
                          .episode_limit = s->episode_limit};
    MW_TRY(copy_name(i->task, "task", s->task, error));
    MW_TRY(copy_name(i->rules, "rules", s->rules, error));
    MW_TRY(copy_name(i->quality, "quality", s->quality, error));
    MW_TRY(copy_name(i->method, "method", t->request->preset->method, error));
    MW_TRY(mw_bundle_info_check(i, error));
    if (!t->other) return MW_OK;
    const mw_bundle_info *o = &t->other->info;
    if (strcmp(i->task, o->task) || strcmp(i->rules, o->rules) || i->agents != o->agents ||
        i->obs != o->obs || i->act != o->act || i->discrete != o->discrete)
        return mw_fail(
            error, MW_ERR_MISMATCH,
            "the bundle is for %s (%s), %d agents, %d observed values, %d actions; the data is for "
            "%s (%s), %d, %d, %d",
            o->task, o->rules, o->agents, o->obs, o->act, i->task, i->rules, i->agents, i->obs, i->act);
    /* what plays is of its data */
    if (mw_bundle_role(t->other, MW_ROLE_PROPOSER) &&
        !(mw_training_trained(t->request) & 1u << mw_model_class_for(MW_ROLE_PROPOSER)))
        memcpy(i->quality, o->quality, sizeof i->quality);
    return MW_OK;
}

/* Does a part that speaks in the normalisers' units come from the other bundle? Then all must. */
static bool takes_units(const mw_training *t) {
    for (int i = 0; t->other && i < t->other->count; i++) {
        const mw_model_class *kind = t->other->parts[i].model->kind;
        if (kind->normalised && !(mw_training_trained(t->request) & 1u << mw_model_class_index(kind->name)))
            return true;
    }
    return false;
}

/* The flow's settings in the bundle that will be: trained here, or the other bundle's. NULL: there is none.
 */
static const mw_flow_settings *flow_of(const mw_training *t) {
    const int flow = mw_model_class_for(MW_ROLE_PROPOSER);
    if (t->other && !(mw_training_trained(t->request) & 1u << flow)) {
        const mw_model *kept = mw_bundle_role(t->other, MW_ROLE_PROPOSER);
        return kept ? mw_flow_settings_of(kept) : NULL;
    }
    return t->preset.parts & 1u << flow ? (const void *)&t->preset.config[flow] : NULL;
}

/* The plan suits what the bundle will hold: what is trained here and, with another bundle, its parts. Without
 * a flow nothing plans, and nothing is missed. */
static mw_status check_plan(const mw_training *t, mw_error *error) {
    const mw_plan_settings *plan = &t->request->preset->plan;
    const mw_flow_settings *flow = flow_of(t);
    unsigned parts = mw_training_trained(t->request) | (t->other ? 0 : t->request->preset->parts);
    if (t->other) parts |= mw_bundle_models(t->other);
    if (!flow) parts = ~0u;
    MW_TRY(mw_plan_settings_suit(plan, t->info.discrete, error));
    MW_TRY(mw_scorer_check(plan->scorer, parts, error));
    if (plan->value_after > 0 && !(parts & 1u << mw_model_class_for(MW_ROLE_VALUE)))
        return mw_fail(error, MW_ERR_ARGUMENT, "plan.value_after is %d, and the value is not among the parts",
                       plan->value_after);
    if (flow && plan->horizon > flow->generated)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "plan.horizon %d is more than the %d steps that the flow generates", plan->horizon,
                       flow->generated);
    return MW_OK;
}

/* What the data decide of the plan is known, and can be kept in a bundle, before anything is trained. */
static mw_status settle_plan(mw_training *t, mw_error *error) {
    const mw_flow_settings *flow = flow_of(t);
    return flow ? mw_settle_target(&t->preset.plan, flow, &t->data, error) : MW_OK;
}

mw_status mw_training_data_prepare(mw_training *t, mw_error *error) {
    const mw_training_request *r = t->request;
    mw_training_data *d = &t->data;
    char checksum[17];
    d->dataset = r->dataset;
    d->horizon = r->preset->plan.horizon;
    d->seed = r->options.seed;
    d->stop = r->options.stop;
    MW_TRY(mw_preset_check(r->preset, error));
    MW_TRY(describe_task(t, error));
    t->preset = *r->preset;
    MW_TRY(check_plan(t, error));
    MW_TRY(mw_training_rules(t->accepted, &t->info, r->options.world, r->options.accept_rules, error));
    MW_TRY(mw_dataset_check(r->dataset, error));
    MW_TRY(mw_dataset_trainable(r->dataset, error));
    MW_TRY(mw_split_make(&d->split, r->dataset, r->preset->held_out, r->options.seed, error));
    MW_TRY(mw_data_stats_make(&d->stats, r->dataset, &d->split.train, 0.99, true, error));
    MW_TRY(mw_settle_parts(&t->preset, d, error));
    MW_TRY(settle_plan(t, error));
    t->own_units = !takes_units(t);
    d->obs_normalizer = t->own_units ? &d->stats.obs_normalizer : &t->other->obs_normalizer;
    d->act_normalizer = t->info.discrete ? NULL
                        : t->own_units   ? &d->stats.act_normalizer
                                         : &t->other->act_normalizer;
    MW_TRY(mw_pool_create(&d->pool, r->options.threads, error));
    MW_TRY(mw_dataset_checksum(checksum, r->dataset, error));
    mw_provenance_init(&t->state.identity, checksum, r->options.seed, r->preset->held_out,
                       mw_pool_threads(d->pool));
    json_object_set_new(t->state.identity.details, "command", mw_json_words(r->options.command));
    const mw_bundle_part *flow =
        t->other ? mw_bundle_find(t->other, mw_model_class_name(mw_model_class_for(MW_ROLE_PROPOSER))) : NULL;
    if (flow && !(mw_training_trained(r) & 1u << mw_model_class_for(MW_ROLE_PROPOSER)) &&
        isnan(r->preset->plan.target) && strcmp(flow->provenance.data, t->state.identity.data))
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "plan.target would come from these data, and the flow is of others; set plan.target");
    uint64_t units = mw_normalizer_hash(MW_HASH_START, d->obs_normalizer);
    if (d->act_normalizer) units = mw_normalizer_hash(units, d->act_normalizer);
    t->state.units = mw_name_of("%016llx", (unsigned long long)units);
    return MW_OK;
}

void mw_training_parts_free(mw_training *t) {
    for (int i = 0; i < t->state.count; i++) {
        mw_training_part_free(t->state.part[i]);
        mw_model_free(t->models[i]);
    }
    t->state.count = 0;
}

/* Bytes that are still to come beside the work areas: of a part's steps; of the first finished model, whose
 * trainer lives until its weights are copied (each trainer is larger than its model); or, when all trainers
 * are gone, of all models and of the file that is put together. */
static size_t bytes_to_come(const mw_training *t, size_t held) {
    size_t most = 0, saved = 0;
    for (int i = 0; i < t->state.count; i++) {
        const size_t steps = t->trains[i] ? t->state.part[i]->passing : 0,
                     model = mw_model_bytes(t->models[i]), peak = steps > model ? steps : model;
        most = peak > most ? peak : most;
        saved += model + t->models[i]->params->total * sizeof(float);
    }
    for (int i = 0; t->other && i < t->other->count; i++)
        saved += t->other->parts[i].model->params->total * sizeof(float);
    return saved > held + most ? saved - held : most;
}

/* What does not fit is refused before anything is written. */
static mw_status foresee_bytes(mw_training *t, mw_error *error) {
    const size_t held = mw_memory_used() - t->used, later = bytes_to_come(t, held);
    MW_TRY(mw_memory_take(later, error));
    mw_memory_give(later);
    t->bytes = held + later;
    return MW_OK;
}

/* With another bundle, what is not trained is taken from it; without, all parts are made here in turn. What a
 * checkpoint has of others is kept, but for what leave_to_other gives up. */
static mw_status create_parts(mw_training *t, unsigned begun, mw_error *error) {
    const unsigned trained = mw_training_trained(t->request),
                   made = (t->other ? trained : trained | t->request->preset->parts) | begun;
    const mw_model_shape shape = mw_bundle_shape(&t->info);
    const mw_model_class *class;
    for (int i = 0; (class = mw_model_class_at(i)); i++) {
        if (!(made & 1u << i)) continue;
        const int at = t->state.count;
        MW_TRY(mw_model_make(&t->models[at], class, &t->preset.config[i], &shape, error));
        t->state.model[at] = t->models[at];
        t->state.part[at] = NULL;
        t->trains[at] = trained & 1u << i;
        t->state.count++;
        MW_TRY(mw_model_train(&t->state.part[at], t->models[at], &t->data, error));
    }
    return foresee_bytes(t, error);
}

/* What the checkpoint has begun and nobody finishes is the other bundle's, where that has it. */
static void leave_to_other(mw_training *t) {
    int kept = 0;
    for (int i = 0; i < t->state.count; i++) {
        mw_training_part *part = t->state.part[i];
        if (t->other && !t->trains[i] && part->step < part->steps && mw_bundle_find(t->other, part->name)) {
            mw_training_part_free(part);
            mw_model_free(t->models[i]);
            continue;
        }
        t->state.part[kept] = part;
        t->state.model[kept] = t->models[kept] = t->models[i];
        t->trains[kept++] = t->trains[i];
    }
    t->state.count = kept;
}

mw_status mw_training_state_prepare(mw_training *t, mw_error *error) {
    const bool continues = t->request->options.resume && mw_file_exists(t->checkpoint);
    MW_TRY(create_parts(t, continues ? mw_checkpoint_parts(t->checkpoint) : 0, error));
    if (continues) {
        mw_status status = mw_checkpoint_load(t->checkpoint, &t->state, &t->before, error);
        if (status == MW_OK) leave_to_other(t);
        if (status == MW_OK) status = mw_training_log_rewind(t->log, &t->state, error);
        if (!t->request->replace || (status != MW_ERR_MISMATCH && status != MW_ERR_FORMAT)) return status;
        t->before = 0; /* what was loaded so far goes too */
        mw_training_parts_free(t);
        MW_TRY(create_parts(t, 0, error));
    } else if (mw_file_exists(t->checkpoint))
        return mw_fail(
            error, MW_ERR_ARGUMENT,
            "'%.200s' holds an unfinished training; 'resume' continues it, removing it starts anew",
            t->checkpoint);
    return mw_file_write(t->log, "", 0, error);
}

mw_status mw_training_finished_before(mw_training *t, bool *finished, mw_error *error) {
    const mw_preset *preset = &t->preset;
    mw_bundle *bundle;
    mw_status status = MW_OK;
    *finished = false;
    if (!t->request->options.resume || mw_file_exists(t->checkpoint) || !mw_file_exists(t->request->output))
        return MW_OK;
    if (t->request->options.with || t->request->options.only)
        return t->request->replace
                   ? MW_OK
                   : mw_fail(
                         error, MW_ERR_ARGUMENT,
                         "'%.300s' is finished, nothing is left to continue; 'overwrite' without 'resume' "
                         "replaces it",
                         t->request->output);
    MW_TRY(mw_bundle_load(&bundle, t->request->output, error));
    for (int i = 0; status == MW_OK && mw_model_class_at(i); i++) {
        if (!(preset->parts & 1u << i)) continue;
        const mw_bundle_part *part = mw_bundle_find(bundle, mw_model_class_at(i)->name);
        if (!part || !mw_training_same(preset, part, &t->state.identity))
            status = mw_fail(error, MW_ERR_MISMATCH,
                             "'%.200s' is finished, but its %s is of other data, settings or seed",
                             t->request->output, mw_model_class_at(i)->name);
        else if (bundle->info.packing.bits || (t->request->options.wide ? part->narrow : part->wide))
            status = mw_fail(error, MW_ERR_MISMATCH,
                             "'%.200s' is finished, but its weights are %s; 'overwrite' without 'resume' "
                             "trains it anew",
                             t->request->output,
                             bundle->info.packing.bits  ? "packed"
                             : t->request->options.wide ? "in half precision, and 'wide' asks for single"
                                                        : "in single precision, and 'wide' is not given");
    }
    const mw_field *other = mw_training_plan_difference(&preset->plan, bundle);
    if (status == MW_OK && other)
        status = mw_fail(error, MW_ERR_MISMATCH, "'%.200s' is finished, but it has another plan.%s",
                         t->request->output, other->name);
    mw_bundle_free(bundle);
    *finished = status == MW_OK;
    return status;
}
