/* The training loop: parts one after the other, with log, validation, checkpoints and interruption; see
 * train.h. */
#include "train/train.h"

#include "core/clock.h"
#include "core/file.h"
#include "core/machine/memory.h"
#include "plan/scorers.h"
#include "train/checkpoint.h"
#include "train/training_log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECKPOINT_SECONDS 120.0
#define DIVERGED           1e3 /* a loss this many times the first one is no training any more */

enum { LOG_LINES = 200, LINES_PER_VALIDATION = 5 };

_Static_assert((int)MW_MODELS == (int)MW_KINDS && (int)MW_PART_LOSSES == (int)MW_LOSSES,
               "reports have room for all models and their losses");

typedef struct {
    const mw_training_request *request;
    char checkpoint[1024], log[1024], picture[1024];
    mw_lock lock; /* of the bundle */
    mw_training_data data;
    mw_preset preset; /* settled but for the error of imagined returns */
    mw_bundle_info info;
    char accepted[MW_WORD];     /* rules of the world where the data's are others; "" */
    mw_training_state state;    /* the parts that this training makes; models are owned here */
    mw_model *models[MW_KINDS]; /* of the same parts */
    bool trains[MW_KINDS];      /* of the same: in this run */
    mw_bundle *other;
    double means[MW_KINDS][MW_LOSSES]; /* of the last line */
    bool lines[MW_KINDS];              /* this run has written one */
    double started, before;            /* clock at the start of this run; seconds that earlier runs took */
    double saved;                      /* clock at the last checkpoint */
    double total;                      /* work of all parts that this run trains */
    size_t used, bytes;                /* of memory: before it, and by it at most */
} training;

static double seconds_of(const training *t) {
    return t->before + mw_clock_seconds() - t->started;
}

/* ---- files ---- */

static mw_status make_paths(training *t, mw_error *error) {
    const char *output = t->request->output, suffix[] = ".safetensors";
    size_t stem = strlen(output);
    if (stem >= sizeof suffix && !strcmp(output + stem - (sizeof suffix - 1), suffix))
        stem -= sizeof suffix - 1;
    if (stem == 0 || stem > 900)
        return mw_fail(error, MW_ERR_ARGUMENT, "'%.64s' cannot be the name of a bundle", output);
    snprintf(t->checkpoint, sizeof t->checkpoint, "%.*s.train.safetensors", (int)stem, output);
    snprintf(t->log, sizeof t->log, "%.*s.jsonl", (int)stem, output);
    snprintf(t->picture, sizeof t->picture, "%.*s.svg", (int)stem, output);
    return MW_OK;
}

/* A finished bundle, and what may be another's under the names of the log and the picture. */
static mw_status refuse_replacing(const training *t, mw_error *error) {
    const char *const files[] = {t->request->output, t->log, t->picture};
    if (t->request->options.resume || t->request->options.overwrite || mw_file_exists(t->checkpoint))
        return MW_OK;
    for (int i = 0; i < 3; i++)
        if (mw_file_exists(files[i]))
            return mw_fail(error, MW_ERR_ARGUMENT,
                           "'%.300s' %s; --overwrite replaces it, -o names another file", files[i],
                           i ? "is there without its bundle, of a training that broke off or somebody else's"
                             : "is finished");
    return MW_OK;
}

static mw_status save(training *t, mw_error *error) {
    MW_TRY(mw_dataset_intact(t->data.dataset, error)); /* the last validation may have met its loss */
    MW_TRY(mw_checkpoint_save(t->checkpoint, &t->state, seconds_of(t), error));
    MW_TRY(mw_training_log_draw(t->log, &t->state, t->data.dataset->spec.task, t->picture, error));
    t->saved = mw_clock_seconds();
    return MW_OK;
}

/* ---- one part ---- */

static double gradient_of(const mw_training_part *part) {
    return part->optimizer ? part->optimizer->norm : 0;
}

/* Loss and gradient must be numbers, and the loss not far above that of the first line. */
static mw_status check_loss(const training *t, const mw_training_part *part, double loss, mw_error *error) {
    if (isfinite(loss) && isfinite(gradient_of(part)) && (part->first <= 0 || loss < DIVERGED * part->first))
        return MW_OK;
    char kept[1200] = "no checkpoint was written before, --overwrite starts anew";
    if (mw_file_exists(t->checkpoint))
        snprintf(kept, sizeof kept, "the last good state is in '%.200s'", t->checkpoint);
    return mw_fail(
        error, MW_ERR_NUMERIC,
        "training of the %s diverged at step %ld of %ld: loss %g, gradient %g; a smaller %s.rate or "
        "%s.clip may help; %s",
        part->name, part->step, part->steps, loss, gradient_of(part), part->name, part->name, kept);
}

/* False: the losses are not finite, and not remembered. */
static bool validate(mw_training_part *part) {
    double held[MW_LOSSES] = {0};
    part->validate(part, held);
    for (int i = 0; i < part->losses; i++)
        if (!isfinite(held[i])) return false;
    memcpy(part->held, held, sizeof held);
    if (part->best_step > 0 &&
        !(mw_training_part_loss(part, held) < mw_training_part_loss(part, part->best_held)))
        return true;
    memcpy(part->best_held, held, sizeof held);
    part->best_step = part->step;
    const mw_optimizer *o = part->optimizer;
    if (part->best_values && o)
        memcpy(part->best_values, o->average ? o->average : o->values, o->total * sizeof *o->values);
    return true;
}

/* Of the losses on held-out episodes the one that counts; NaN where there has been no validation. */
static double held_loss(const mw_training_part *part, int which) {
    if (part->best_step == 0) return NAN;
    return part->best_values ? part->best_held[which] : part->held[which];
}

/* The end of a stretch of steps: their means go to the log, at times with a validation. */
static mw_status close_line(training *t, int which, long every, mw_error *error) {
    mw_training_part *part = t->state.part[which];
    double *means = t->means[which];
    for (int i = 0; i < part->losses; i++) means[i] = part->sums[i] / (double)part->summed;
    const double loss = mw_training_part_loss(part, means);
    MW_TRY(check_loss(t, part, loss, error));
    if (part->first <= 0) part->first = loss;
    const bool due = part->step % (every * LINES_PER_VALIDATION) == 0 || part->step == part->steps,
               held = part->validate && due && validate(part);
    memset(part->sums, 0, sizeof part->sums);
    part->summed = 0;
    t->lines[which] = true;
    return mw_training_log_append(t->log, part, means, held ? part->held : NULL, seconds_of(t), error);
}

static void report_progress(const training *t, int which) {
    const mw_training_request *r = t->request;
    if (!r->options.progress) return;
    double done = 0;
    for (int i = 0; i < t->state.count; i++)
        done += t->trains[i] ? t->state.part[i]->cost * (double)t->state.part[i]->step : 0;
    const mw_training_part *part = t->state.part[which];
    r->options.progress(r->options.context,
                        &(mw_training_progress){.part = part->name,
                                                .step = part->step,
                                                .steps = part->steps,
                                                .losses = part->minimised,
                                                .loss_names = part->loss_names,
                                                .means = t->lines[which] ? t->means[which] : NULL,
                                                .held = part->best_step > 0 ? part->held : NULL,
                                                .seconds = seconds_of(t),
                                                .cost = part->cost,
                                                .done = done,
                                                .total = t->total});
}

static mw_status step(training *t, int which, long every, mw_error *error) {
    mw_training_part *part = t->state.part[which];
    double losses[MW_LOSSES] = {0};
    const mw_status status = part->advance(part, losses, error);
    MW_TRY(mw_dataset_intact(t->data.dataset, error));
    MW_TRY(status);
    part->step++;
    part->summed++;
    for (int i = 0; i < part->losses; i++) part->sums[i] += losses[i];
    const double loss = mw_training_part_loss(part, losses);
    if (!isfinite(loss) || !isfinite(gradient_of(part))) return check_loss(t, part, loss, error);
    if (part->step % every == 0 || part->step == part->steps) MW_TRY(close_line(t, which, every, error));
    report_progress(t, which);
    return MW_OK;
}

static mw_status train_part(training *t, int which, mw_error *error) {
    const mw_training_request *r = t->request;
    mw_training_part *part = t->state.part[which];
    const double period = r->checkpoint_seconds > 0 ? r->checkpoint_seconds : CHECKPOINT_SECONDS;
    const long every = part->steps / LOG_LINES < 1     ? 1
                       : part->steps / LOG_LINES > 100 ? 100
                                                       : part->steps / LOG_LINES;
    while (part->step < part->steps) {
        const mw_status status = step(t, which, every, error);
        if (status != MW_OK && status != MW_ERR_INTERRUPTED) return status;
        if (r->options.stop && *r->options.stop) {
            MW_TRY(save(t, error));
            return mw_fail(
                error, MW_ERR_INTERRUPTED,
                "stopped at step %ld of %ld of the %s; the state is in '%.200s', --resume continues",
                part->step, part->steps, part->name, t->checkpoint);
        }
        if (mw_clock_seconds() - t->saved > period) MW_TRY(save(t, error));
    }
    return save(t, error);
}

/* ---- what it starts from ---- */

static mw_status copy_name(char out[MW_WORD], const char *what, const char *name, mw_error *error) {
    if (strlen(name) >= MW_WORD)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "the dataset's %s '%.80s...' is longer than a bundle's %d bytes", what, name,
                       MW_WORD - 1);
    strcpy(out, *name ? name : "unknown");
    return MW_OK;
}

static unsigned trained_set(const mw_training_request *r) {
    return r->nothing ? 0 : r->options.only ? r->options.only : r->preset->parts;
}

static mw_status describe_task(training *t, mw_error *error) {
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
    if (mw_bundle_model(t->other, "flow") &&
        !(trained_set(t->request) & 1u << mw_model_class_index("flow"))) /* what plays is of its data */
        memcpy(i->quality, o->quality, sizeof i->quality);
    return MW_OK;
}

/* Does a part that speaks in the normalisers' units come from the other bundle? Then all must. */
static bool takes_units(const training *t) {
    for (int i = 0; t->other && i < t->other->count; i++) {
        const mw_model_class *kind = t->other->parts[i].model->kind;
        if (kind->normalised && !(trained_set(t->request) & 1u << mw_model_class_index(kind->name)))
            return true;
    }
    return false;
}

/* The flow's settings in the bundle that will be: trained here, or the other bundle's. NULL: there is none.
 */
static const mw_flow_settings *flow_of(const training *t) {
    const int flow = mw_model_class_index("flow");
    if (t->other && !(trained_set(t->request) & 1u << flow)) {
        const mw_model *kept = mw_bundle_model(t->other, "flow");
        return kept ? mw_flow_settings_of(kept) : NULL;
    }
    return t->preset.parts & 1u << flow ? (const void *)&t->preset.config[flow] : NULL;
}

/* The plan suits what the bundle will hold: what is trained here and, with another bundle, its parts. Without
 * a flow nothing plans, and nothing is missed. */
static mw_status check_plan(const training *t, mw_error *error) {
    const mw_plan_settings *plan = &t->request->preset->plan;
    const mw_flow_settings *flow = flow_of(t);
    unsigned parts = trained_set(t->request) | (t->other ? 0 : t->request->preset->parts);
    if (t->other) parts |= mw_bundle_models(t->other);
    if (!flow) parts = ~0u;
    MW_TRY(mw_plan_settings_suit(plan, t->info.discrete, error));
    MW_TRY(mw_scorer_check(plan->scorer, parts, error));
    if (plan->value_after > 0 && !(parts & 1u << mw_model_class_index("value")))
        return mw_fail(error, MW_ERR_ARGUMENT, "plan.value_after is %d, and the value is not among the parts",
                       plan->value_after);
    if (flow && plan->horizon > flow->generated)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "plan.horizon %d is more than the %d steps that the flow generates", plan->horizon,
                       flow->generated);
    return MW_OK;
}

/* What the data decide of the plan is known, and can be kept in a bundle, before anything is trained. */
static mw_status settle_plan(training *t, mw_error *error) {
    const mw_flow_settings *flow = flow_of(t);
    return flow ? mw_settle_target(&t->preset.plan, flow, &t->data, error) : MW_OK;
}

/* Candidates are kept within [-1, 1], the range of all worlds here: what lies beyond could never be planned.
 */
static mw_status check_actions(const mw_data_stats *stats, const mw_bundle_info *info, mw_error *error) {
    for (int k = 0; !info->discrete && k < info->act; k++)
        if (stats->act[k].low < -1 || stats->act[k].high > 1)
            return mw_fail(
                error, MW_ERR_ARGUMENT,
                "real actions must lie within [-1, 1]; component %d of the data goes from %g to %g: "
                "scale it",
                k, (double)stats->act[k].low, (double)stats->act[k].high);
    return MW_OK;
}

static mw_status prepare_data(training *t, mw_error *error) {
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
    MW_TRY(mw_split_make(&d->split, r->dataset, r->preset->held_out, r->options.seed, error));
    MW_TRY(mw_data_stats_make(&d->stats, r->dataset, &d->split.train, 0.99, true, error));
    MW_TRY(check_actions(&d->stats, &t->info, error));
    MW_TRY(mw_settle_parts(&t->preset, d, error));
    MW_TRY(settle_plan(t, error));
    const bool theirs = takes_units(t);
    d->obs_normalizer = theirs ? &t->other->obs_normalizer : &d->stats.obs_normalizer;
    d->act_normalizer = t->info.discrete ? NULL
                        : theirs         ? &t->other->act_normalizer
                                         : &d->stats.act_normalizer;
    MW_TRY(mw_pool_create(&d->pool, r->options.threads, error));
    MW_TRY(mw_dataset_checksum(checksum, r->dataset, error));
    mw_provenance_init(&t->state.identity, checksum, r->options.seed, r->preset->held_out,
                       mw_pool_threads(d->pool));
    const mw_bundle_part *flow = t->other ? mw_bundle_find(t->other, "flow") : NULL;
    if (flow && !(trained_set(r) & 1u << mw_model_class_index("flow")) && isnan(r->preset->plan.target) &&
        strcmp(flow->provenance.data, t->state.identity.data))
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "plan.target would come from these data, and the flow is of others; set plan.target");
    uint64_t units = mw_normalizer_hash(MW_HASH_START, d->obs_normalizer);
    if (d->act_normalizer) units = mw_normalizer_hash(units, d->act_normalizer);
    t->state.units = mw_name_of("%016llx", (unsigned long long)units);
    return MW_OK;
}

static void destroy_parts(training *t) {
    for (int i = 0; i < t->state.count; i++) {
        mw_training_part_free(t->state.part[i]);
        mw_model_free(t->models[i]);
    }
    t->state.count = 0;
}

/* Bytes that are still to come beside the work areas: of a part's steps; of the first finished model, whose
 * trainer lives until its weights are copied (each trainer is larger than its model); or, when all trainers
 * are gone, of all models and of the file that is put together. */
static size_t bytes_to_come(const training *t, size_t held) {
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
static mw_status foresee_bytes(training *t, mw_error *error) {
    const size_t held = mw_memory_used() - t->used, later = bytes_to_come(t, held);
    MW_TRY(mw_memory_take(later, error));
    mw_memory_give(later);
    t->bytes = held + later;
    return MW_OK;
}

/* With another bundle, what is not trained is taken from it; without, all parts are made here in turn. What a
 * checkpoint has of others is kept, but for what leave_to_other gives up. */
static mw_status create_parts(training *t, unsigned begun, mw_error *error) {
    const unsigned trained = trained_set(t->request),
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
static void leave_to_other(training *t) {
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

/* Where the checkpoint stands, or from the start with an empty log. */
static mw_status prepare_state(training *t, mw_error *error) {
    const bool continues = t->request->options.resume && mw_file_exists(t->checkpoint);
    MW_TRY(create_parts(t, continues ? mw_checkpoint_parts(t->checkpoint) : 0, error));
    if (continues) {
        mw_status status = mw_checkpoint_load(t->checkpoint, &t->state, &t->before, error);
        if (status == MW_OK) leave_to_other(t);
        if (status == MW_OK) status = mw_training_log_rewind(t->log, &t->state, error);
        if (!t->request->replace || (status != MW_ERR_MISMATCH && status != MW_ERR_FORMAT)) return status;
        t->before = 0; /* what was loaded so far goes too */
        destroy_parts(t);
        MW_TRY(create_parts(t, 0, error));
    } else if (mw_file_exists(t->checkpoint))
        return mw_fail(
            error, MW_ERR_ARGUMENT,
            "'%.200s' holds an unfinished training; --resume continues it, removing it starts anew",
            t->checkpoint);
    return mw_file_write(t->log, "", 0, error);
}

/* A bundle whose parts are of the same data, settings and seed, and stored as asked for, is what this
 * training would arrive at. */
static mw_status finished_before(training *t, bool *finished, mw_error *error) {
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
                         "'%.300s' is finished, nothing is left to continue; --overwrite without --resume "
                         "replaces it, -o names another file",
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
                             "'%.200s' is finished, but its weights are %s; --overwrite without --resume "
                             "trains it anew",
                             t->request->output,
                             bundle->info.packing.bits  ? "packed"
                             : t->request->options.wide ? "in half precision, and --wide asks for single"
                                                        : "in single precision, and --wide is not given");
    }
    const mw_field *other = mw_training_plan_difference(&preset->plan, bundle);
    if (status == MW_OK && other)
        status = mw_fail(error, MW_ERR_MISMATCH, "'%.200s' is finished, but it has another plan.%s",
                         t->request->output, other->name);
    mw_bundle_free(bundle);
    *finished = status == MW_OK;
    return status;
}

/* ---- the bundle ---- */

static mw_status explain(const training *t, int which, mw_provenance *p, mw_error *error) {
    const mw_training_part *part = t->state.part[which];
    json_t *curve;
    mw_provenance_init(p, t->state.identity.data, t->data.seed, t->state.identity.held_out,
                       t->state.identity.threads);
    p->seconds = round(10 * seconds_of(t)) / 10;
    MW_TRY(mw_training_log_summary(&curve, t->log, &t->state, part, error));
    json_t *losses = json_object();
    for (int i = 0; i < part->losses; i++)
        json_object_set_new(losses, part->loss_names[i], mw_number_json(held_loss(part, i)));
    json_object_set_new(p->details, "mawam", json_string(mw_version()));
    json_object_set_new(p->details, "command", mw_json_words(t->request->options.command));
    if (*t->accepted) json_object_set_new(p->details, "accepted_in", json_string(t->accepted));
    json_object_set_new(p->details, "held", losses);
    json_object_set_new(p->details, "best_step", json_integer(part->best_values ? part->best_step : 0));
    if (t->models[which]->kind->normalised && !takes_units(t))
        json_object_set_new(
            p->details, "knot_error", /* of the normalisers, in their unit */
            mw_number_json(fmax(t->data.stats.obs_report.knot_error, t->data.stats.act_report.knot_error)));
    json_object_set_new(p->details, "curve", curve);
    return MW_OK;
}

static mw_status add_part(training *t, mw_bundle *b, int which, mw_error *error) {
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

static int made_here(const training *t, const char *name) {
    for (int i = 0; i < t->state.count; i++)
        if (!strcmp(t->state.part[i]->name, name)) return i;
    return -1;
}

static mw_status add_parts(training *t, mw_bundle *b, mw_error *error) {
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

static mw_status assemble(training *t, mw_training_report *report, mw_error *error) {
    const mw_training_request *r = t->request;
    mw_bundle *bundle;
    const mw_plan_settings *plan = &r->preset->plan;
    const mw_bundle *o = t->other;
    MW_TRY(mw_bundle_create(&bundle, &t->info, &t->preset.plan, error));
    bundle->return_error_given =
        o && o->plan.return_error == plan->return_error ? o->return_error_given : !isnan(plan->return_error);
    bundle->target_given = o && o->plan.target == plan->target ? o->target_given : !isnan(plan->target);
    mw_status status = mw_normalizer_copy(&bundle->obs_normalizer, t->data.obs_normalizer, error);
    if (status == MW_OK) status = mw_normalizer_copy(&bundle->act_normalizer, t->data.act_normalizer, error);
    if (status == MW_OK) status = add_parts(t, bundle, error);
    if (status == MW_OK) status = mw_settle_error(bundle, &t->data, error);
    if (status == MW_OK) status = mw_dataset_intact(t->data.dataset, error);
    if (status == MW_OK) status = mw_bundle_save(bundle, r->output, !r->options.wide, error);
    report->target = bundle->plan.target;
    mw_bundle_free(bundle);
    return status;
}

/* ---- the whole ---- */

static void fill_report(const training *t, mw_training_report *report) {
    report->seconds = seconds_of(t);
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
}

static mw_status run(training *t, mw_training_report *report, mw_error *error) {
    const mw_training_request *r = t->request;
    MW_TRY(make_paths(t, error));
    MW_TRY(mw_lock_take(&t->lock, r->output, error));
    MW_TRY(mw_file_writable(r->output, error));
    MW_TRY(mw_file_writable(t->checkpoint, error));
    MW_TRY(mw_file_writable(t->picture, error));
    MW_TRY(refuse_replacing(t, error));
    if (r->options.with) MW_TRY(mw_bundle_load(&t->other, r->options.with, error));
    MW_TRY(prepare_data(t, error));
    MW_TRY(finished_before(t, &report->finished_before, error));
    report->complete = report->finished_before;
    if (report->finished_before) return MW_OK;
    mw_training_estimate estimate = {.free_bytes = (double)mw_memory_free()};
    t->used = mw_memory_used();
    if (!r->options.force)
        mw_memory_limit(t->used + (size_t)(0.75 * estimate.free_bytes)); /* others live here too */
    MW_TRY(prepare_state(t, error));
    for (int i = 0; i < t->state.count; i++)
        t->total += t->trains[i] ? t->state.part[i]->cost * (double)t->state.part[i]->steps : 0;
    if (r->options.begin) {
        estimate.bytes = (double)t->bytes;
        mw_training_foresee(&estimate, &t->state, t->trains, t->data.pool);
        r->options.begin(r->options.context, &estimate);
    }
    mw_dataset_expect_random(r->dataset);
    t->saved = mw_clock_seconds();
    for (int i = 0; i < t->state.count; i++) {
        mw_training_part *part = t->state.part[i];
        if (!t->trains[i] || part->step == part->steps) continue;
        if (part->start) MW_TRY(part->start(part, error));
        const mw_status status = train_part(t, i, error);
        if (part->stop) part->stop(part);
        MW_TRY(status);
    }
    fill_report(t, report);
    if (!report->complete) return MW_OK;
    const mw_status status = assemble(t, report, error);
    report->complete = status == MW_OK;
    if (status == MW_OK) unlink(t->checkpoint);
    return status;
}

mw_status mw_training_run(const mw_training_request *request, mw_training_report *report, mw_error *error) {
    training *t = calloc(1, sizeof *t);
    *report = (mw_training_report){0};
    if (!t) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a training");
    t->request = request;
    t->started = mw_clock_seconds();
    const mw_status status = run(t, report, error);
    mw_memory_limit(0);
    mw_lock_release(&t->lock);
    destroy_parts(t);
    mw_bundle_free(t->other);
    mw_provenance_free(&t->state.identity);
    mw_data_stats_free(&t->data.stats);
    mw_split_free(&t->data.split);
    mw_pool_free(t->data.pool);
    free(t);
    return status;
}
