/* Methods that clone or learn a critic against recorded numbers; see baselines.h. */
#include "verify/baselines.h"

#include "core/file.h"
#include "core/numbers.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 4 }; /* of the episode of zeros */

/* Tolerances of outputs and of weights that the page of methods with critics states. */
#define CRITICS .outputs = 1e-5, .weights = 1e-5

#define CQL                                                                                                  \
    "hidden=@hidden batch=@batch clip=0 joint=@sees_all discount=@gamma slow=1-@tau alpha=@alpha "           \
    "decay=@decay reward_scale=@reward_scale uniform=@uniform near=@near? near_noise=@near_noise?"
#define ICQ "hidden=@hidden batch=@batch clip=0 discount=@gamma slow=1-@tau "

static const mw_recorded_method methods[] = {
    {.kind = "bc_",
     .model = "bc",
     .settings = "hidden=@hidden batch=@batch clip=0 joint=@sees_all",
     .losses = {{"policy_loss", 0, 0, 0}},
     CRITICS},
    {.kind = "td3bc_",
     .model = "td3bc",
     .settings = "hidden=@hidden batch=@batch clip=0 joint=@sees_all discount=@gamma slow=1-@tau "
                 "noise=@noise noise_clip=@noise_clip climb=@lam delay=@policy_every",
     .losses = {{"critic_loss", 0, 0, 0}, {"policy_loss", 0, 1, 1}, {"clone", 0, 1, 2}},
     CRITICS},
    {.kind = "cql_discrete",
     .model = "cql",
     .settings = "hidden=@hidden batch=@batch clip=0 joint=@sees_all discount=@gamma slow=1-@tau "
                 "alpha=@alpha reward_scale=@reward_scale?",
     .losses = {{"critic_loss", 0, 0, 0}, {"td", 0, 0, 1}, {"gap", 0, 0, 2}},
     CRITICS},
    {.kind = "cql_",
     .model = "cql",
     .settings = CQL,
     .losses = {{"critic_loss", 0, 0, 0}, {"policy_loss", 0, 1, 1}},
     CRITICS},
    {.kind = "omar_",
     .model = "omar",
     .settings = CQL " mix=@mix search_rounds=@search_rounds search_samples=@search_samples "
                     "search_mean=@search_mean search_std=@search_std",
     .losses = {{"critic_loss", 0, 0, 0}, {"policy_loss", 0, 1, 1}, {"imitate", 0, 1, 5}},
     CRITICS},
    {.kind = "icq_discrete_",
     .model = "icq",
     .settings = ICQ "mixer_hidden=@mixer_hidden temperature=@temperature "
                     "target_temperature=@target_temperature group=@group",
     .losses = {{"critic_loss", 0, 0, 0}, {"policy_loss", 0, 1, 1}},
     CRITICS},
    {.kind = "icq_real",
     .model = "icq",
     .settings = ICQ "temperature=@beta target_cut=@target_cut target_beta=@target_beta "
                     "target_alpha=@target_alpha",
     .losses = {{"critic_loss", 0, 0, 0}, {"policy_loss", 0, 1, 1}},
     CRITICS},
    {.kind = "madt_",
     .model = "madt",
     .settings = "batch=@windows window=@window width=@width heads=@heads layers=@layers "
                 "times=@episode_steps return_scale=@return_scale decay=@weight_decay clip=@clip",
     .losses = {{"loss", 0, 0, 0}},
     .more = mw_baseline_madt},
    {.kind = "madiff_", .model = "madiff", .apart = mw_baseline_diffusion},
    {.kind = "dof_", .model = "dof", .apart = mw_baseline_diffusion},
    {.kind = "flowbc_",
     .model = "flowbc",
     .settings = "hidden=@hidden batch=@batch clip=0 euler=@euler_steps frequencies=@frequencies",
     .losses = {{"loss", 0, 0, 0}},
     .more = mw_baseline_flowbc},
    {.kind = "macflow_",
     .model = "macflow",
     .settings = "hidden=@hidden batch=@batch clip=0 euler=@euler_steps frequencies=@frequencies "
                 "discount=@gamma slow=1-@tau distil=@alpha",
     .losses = {{"loss_teacher", 0, 0, 0},
                {"loss_critic", 1, 0, 1},
                {"loss_student", 1, 1, 2},
                {"loss_q", 1, 1, 3},
                {"loss_distil", 1, 1, 4}},
     .more = mw_baseline_macflow},
    {.kind = "vgm2p_",
     .model = "vgm2p",
     .settings = "hidden=@hidden value_hidden=@hidden batch=@batch clip=0 frequencies=@frequencies_per_time "
                 "discount=@gamma slow=1-@tau expectile=@expectile velocity=@guidance_w "
                 "guidance=@guidance_k difference=@h soften=@loss_c",
     .losses = {{"loss_value", 0, 0, 0}, {"loss_q", 0, 1, 1}, {"loss_u", 1, 0, 2}},
     .more = mw_baseline_vgm2p},
    {.kind = "sfbc_",
     .model = "sfbc",
     .settings = "hidden=@hidden value_hidden=@hidden layers=2 batch=@batch clip=0 "
                 "fit_batch=@in.episode_obs frequencies=@frequencies solver=@solver_steps "
                 "promises=@candidates_value promise_sharpness=@softmax_value candidates=@candidates_act "
                 "sharpness=@softmax_act discount=@gamma",
     .losses = {{"loss_noise", 0, 0, 0}, {"loss_fit1", 1, 0, 1}, {"loss_fit2", 2, 0, 2}},
     .more = mw_baseline_sfbc,
     .prepare = mw_baseline_sfbc_prepare},
    {.kind = "dom2_",
     .model = "dom2",
     .settings = "hidden=@hidden critic_hidden=@hidden batch=@batch clip=@clip frequencies=@frequencies "
                 "solver=@solver_steps random=@random_actions discount=@gamma slow=1-@tau "
                 "penalty=@cql_alpha climb=@eta candidates=@candidates_act",
     .losses =
         {{"loss_critic", 0, 0, 0}, {"loss_actor", 0, 1, 1}, {"loss_noise", 0, 1, 2}, {"loss_q", 0, 1, 3}},
     .more = mw_baseline_dom2},
};

/* ---- the model and a training that no data is behind ---- */

static mw_status assign_one(const mw_baseline_check *k, mw_model_config *config, const char *text,
                            mw_error *error) {
    const mw_model_class *class = mw_model_class_at(mw_model_class_index(k->method->model));
    const char *at = strchr(text, '@');
    char assignment[128];
    double value = 0;
    bool there;
    if (!at) return mw_fields_assign(class->fields, config, text, "", error);
    const size_t length = strcspn(at + 1, "?");
    char key[64];
    snprintf(key, sizeof key, "%.*s", (int)length, at + 1);
    const mw_tensor *tensor = strncmp(key, "in.", 3) ? NULL : mw_safetensors_find(&k->record->file, key);
    MW_TRY(mw_record_number(k->record, key, &there, &value, error));
    if (tensor && tensor->dims > 0) {
        value = (double)tensor->shape[0];
        there = true;
    }
    if (!there && at[1 + length]) return MW_OK;
    if (!there)
        return mw_fail(error, MW_ERR_FORMAT, "%s: metadata '%s' is missing", k->record->file.path, key);
    if (at[-1] == '-') value = 1 - value;
    const int name = (int)(strchr(text, '=') - text);
    const mw_field *field = mw_fields_find(class->fields, text, (size_t)name);
    if (field && field->kind == MW_FIELD_SWITCH)
        snprintf(assignment, sizeof assignment, "%.*s=%s", name, text, value != 0 ? "on" : "off");
    else
        snprintf(assignment, sizeof assignment, "%.*s=%.9g", name, text, value);
    return mw_fields_assign(class->fields, config, assignment, "", error);
}

static mw_status assign_all(const mw_baseline_check *k, mw_model_config *config, mw_error *error) {
    char one[96];
    for (const char *text = k->method->settings; *text; text += strspn(text, " ")) {
        const size_t length = strcspn(text, " ");
        snprintf(one, sizeof one, "%.*s", (int)length, text);
        MW_TRY(assign_one(k, config, one, error));
        text += length;
    }
    return MW_OK;
}

static mw_status make_model(mw_baseline_check *k, mw_error *error) {
    const mw_model_class *class = mw_model_class_at(mw_model_class_index(k->method->model));
    const mw_record *r = k->record;
    const char *kind = mw_safetensors_meta(&r->file, "kind"),
               *discrete = mw_safetensors_meta(&r->file, "discrete");
    mw_model_config config = {0};
    mw_model_shape shape = {.discrete =
                                (kind && !strcmp(kind, "discrete")) || (discrete && !strcmp(discrete, "1"))};
    MW_TRY(mw_record_int(r, "agents", 1, 64, &shape.agents, error));
    MW_TRY(mw_record_int(r, "obs", 1, 4096, &shape.obs, error));
    MW_TRY(mw_record_int(r, "act", 1, 4096, &shape.act, error));
    mw_fields_defaults(class->fields, &config);
    MW_TRY(assign_all(k, &config, error));
    MW_TRY(mw_fields_check(class->fields, &config, "", MW_ERR_FORMAT, error));
    MW_TRY(mw_model_make(&k->model, class, &config, &shape, error));
    return mw_record_weights(r, k->model->params, "weight.", NULL, error);
}

static mw_status make_training(mw_baseline_check *k, mw_error *error) {
    const mw_model_shape *s = &k->model->shape;
    const size_t n = (size_t)s->agents, cells = STEPS * n * (size_t)s->act;
    k->zeros = calloc(STEPS * n * (size_t)(s->obs + s->act + 1), sizeof *k->zeros);
    k->choices = calloc(STEPS * n, sizeof *k->choices);
    k->legal = malloc(cells);
    k->moments = calloc((size_t)s->obs, sizeof *k->moments);
    k->grads = calloc(k->model->params->total, sizeof *k->grads);
    if (!k->zeros || !k->choices || !k->legal || !k->moments || !k->grads)
        return mw_fail(error, MW_ERR_MEMORY, "cannot allocate an episode");
    memset(k->legal, 1, cells);
    for (int i = 0; i < s->obs; i++) k->moments[i] = (mw_moments){.std = 1, .scale = 1};
    k->length = k->offsets[1] = k->starts[1] = STEPS;
    k->outcome = MW_ENDED_BY_WORLD;
    k->dataset = (mw_dataset){.spec = {.agents = s->agents,
                                       .obs_size = s->obs,
                                       .act_size = s->act,
                                       .discrete = s->discrete,
                                       .episode_limit = STEPS},
                              .episodes = 1,
                              .steps = STEPS,
                              .obs = k->zeros,
                              .real = s->discrete ? NULL : k->zeros,
                              .index = s->discrete ? k->choices : NULL,
                              .legal = s->discrete ? k->legal : NULL,
                              .rewards = k->zeros,
                              .outcomes = &k->outcome,
                              .lengths = &k->length,
                              .offsets = k->offsets};
    k->data = (mw_training_data){.dataset = &k->dataset,
                                 .pool = k->pool,
                                 .stats = {.obs_size = s->obs, .act_size = s->act, .obs = k->moments},
                                 .split.train = {1, &k->episode, k->starts, STEPS}};
    MW_TRY(mw_model_train(&k->part, k->model, &k->data, error));
    k->fit = (mw_fit *)k->part;
    return MW_OK;
}

/* The recorded weights and slower copies, which are others. Without a record of these they are the same. */
static mw_status load_weights(mw_baseline_check *k, mw_error *error) {
    mw_optimizer *o = k->part->optimizer;
    const mw_params *params = k->model->params;
    MW_TRY(mw_record_weights(k->record, params, "weight.", o->values, error));
    if (o->average) {
        memcpy(o->average, o->values, o->total * sizeof *o->values);
        MW_TRY(mw_record_weights(k->record, params, "target.", o->average, error));
        MW_TRY(mw_record_weights(k->record, params, "average.", o->average, error));
    }
    mw_fit_refresh(k->fit);
    return MW_OK;
}

/* ---- batches ---- */

static bool belongs(const mw_baseline_check *k, const mw_slot_field *field) {
    return !field->only || (field->only == 'd') == k->model->shape.discrete;
}

static void *array_of(void *slot, const mw_slot_field *field) {
    void *at;
    memcpy(&at, (const char *)slot + field->offset, sizeof at);
    return at;
}

static void to_field(const mw_slot_field *field, const float *from, size_t count, void *to) {
    for (size_t i = 0; i < count; i++) switch (field->type) {
        case MW_I32:
            ((int32_t *)to)[i] = (int32_t)from[i];
            break;
        case MW_U8:
            ((uint8_t *)to)[i] = from[i] != 0;
            break;
        default:
            ((float *)to)[i] = from[i];
        }
}

/* What is drawn anew in every round has a row for each of them; what a team has counts for each agent of it.
 */
static mw_status load_field(const mw_baseline_check *k, const mw_slot_field *field, int round, void *slot,
                            mw_error *error) {
    const size_t count = mw_fit_extent(k->fit, field);
    if (!count) return MW_OK;
    const mw_name name = mw_name_of("in.%s", strchr(field->name, '.') + 1);
    const mw_tensor *tensor = mw_safetensors_find(&k->record->file, name.text);
    const bool each = tensor && tensor->count == MW_RECORDED_STEPS * count;
    const size_t n = (size_t)k->model->shape.agents;
    const bool team = !each && tensor && !strcmp(field->shape, "bn") && tensor->count * n == count;
    if (!each && !team) MW_TRY(mw_record_has(k->record, name.text, count, error));
    float *values = malloc(((team ? count : tensor->count) + 1) * sizeof *values);
    if (!values) return mw_fail(error, MW_ERR_MEMORY, "cannot read '%s'", name.text);
    mw_dtype_to_floats(tensor->type, tensor->data, tensor->count, values);
    for (size_t i = count; team && i-- > 0;) values[i] = values[i / n]; /* from the last on, in place */
    to_field(field, values + (each ? (size_t)round * count : 0), count, array_of(slot, field));
    free(values);
    return MW_OK;
}

void *mw_baseline_array(const mw_baseline_check *k, void *slot, const char *name) {
    const mw_fit_class *kind = k->fit->kind;
    for (int i = 0; i < kind->field_count; i++)
        if (!strcmp(kind->fields[i].name, name) && belongs(k, &kind->fields[i]))
            return array_of(slot, &kind->fields[i]);
    return NULL;
}

static mw_status load_batch(mw_baseline_check *k, int round, void *slot, mw_error *error) {
    const mw_fit_class *kind = k->fit->kind;
    for (int i = 0; i < kind->field_count; i++) {
        const mw_slot_field *field = &kind->fields[i];
        const bool given = !strncmp(field->name, "in.", 3) || !strncmp(field->name, "draw.", 5);
        if (given && belongs(k, field)) MW_TRY(load_field(k, field, round, slot, error));
    }
    if (kind->assemble) kind->assemble(k->fit, slot);
    return k->method->prepare ? k->method->prepare(k, slot, error) : MW_OK;
}

/* ---- comparisons ---- */

void mw_baseline_compared(const mw_baseline_check *k, const char *name) {
    const mw_tensor *tensor = mw_safetensors_find(&k->record->file, name);
    if (tensor) k->compared[tensor - k->record->file.tensors] = true;
}

/* A derivative by differences has lost what the difference divides by. */
static double outputs_within(const mw_recorded_method *method, const mw_tensor *tensor, const char *name) {
    if (tensor->type == MW_I32) return 0;
    if (!strcmp(name, "du_dt")) return MW_BASELINE_DIFFERENCE_TOLERANCE;
    return method->outputs > 0 ? method->outputs : MW_BASELINE_OUTPUT_TOLERANCE;
}

static double weights_within(const mw_recorded_method *method) {
    return method->weights > 0 ? method->weights : MW_BASELINE_ADAM_TOLERANCE;
}

mw_status mw_baseline_compare(const mw_baseline_check *k, const char *name, const float *seen, size_t count,
                              mw_error *error) {
    const mw_name full = mw_name_of("out.%s", name);
    const mw_tensor *tensor = mw_safetensors_find(&k->record->file, full.text);
    if (!tensor) return MW_OK;
    MW_TRY(mw_record_has(k->record, full.text, count, error));
    mw_baseline_compared(k, full.text);
    float *expected = malloc((count ? count : 1) * sizeof *expected);
    if (!expected) return mw_fail(error, MW_ERR_MEMORY, "cannot compare '%s'", name);
    mw_dtype_to_floats(tensor->type, tensor->data, count, expected);
    double largest = 1, worst = 0;
    for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs((double)expected[i]));
    for (size_t i = 0; i < count; i++) worst = mw_verify_worst(worst, (double)seen[i], (double)expected[i]);
    free(expected);
    mw_verify_check(k->report, worst / largest, outputs_within(k->method, tensor, name), "%s: %s",
                    k->record->what, name);
    return MW_OK;
}

static mw_status compare_field(const mw_baseline_check *k, const mw_slot_field *field, void *slot,
                               mw_error *error) {
    const size_t count = mw_fit_extent(k->fit, field);
    const void *at = array_of(slot, field);
    float *seen = malloc((count ? count : 1) * sizeof *seen);
    if (!seen) return mw_fail(error, MW_ERR_MEMORY, "cannot compare '%s'", field->name);
    mw_dtype_to_floats(field->type, at, count, seen);
    const mw_status status = mw_baseline_compare(k, field->name + strlen("out."), seen, count, error);
    free(seen);
    return status;
}

static mw_status compare_loss(const mw_baseline_check *k, const char *name, double seen, mw_error *error) {
    const float value = (float)seen;
    return mw_baseline_compare(k, name, &value, 1, error);
}

static mw_status compare_weights(const mw_baseline_check *k, const float *values, const char *prefix,
                                 const char *what, double unit, double tolerance, mw_error *error) {
    double worst;
    char where[64] = "";
    const mw_params *params = k->model->params;
    MW_TRY(mw_record_compare(k->record, params, values, prefix, unit, &worst, where, sizeof where, error));
    for (int i = 0; i < params->count; i++)
        mw_baseline_compared(k, mw_name_of("%s%.40s", prefix, params->list[i].name).text);
    mw_verify_check(k->report, worst, tolerance, "%s: %s (%s)", k->record->what, what, where);
    return MW_OK;
}

/* ---- one method ---- */

/* Every turn at the recorded weights: later ones do not see what earlier ones would have learned. */
static mw_status check_turns(mw_baseline_check *k, void *slot, mw_error *error) {
    mw_fit *f = k->fit;
    const mw_optimizer *o = k->part->optimizer;
    const mw_phase *phase = &f->kind->phases[f->phase];
    for (int turn = 0; turn < phase->turn_count; turn++) {
        const mw_group *g = &o->group[phase->turns[turn].group];
        double losses[MW_LOSSES] = {0};
        mw_fit_turn(f, turn, slot, MW_STEP_GRADIENT, losses);
        memcpy(k->grads + g->begin, o->grads + g->begin, (g->end - g->begin) * sizeof *k->grads);
        for (const mw_recorded_loss *l = k->method->losses; l->name; l++)
            if (l->phase == f->phase && l->turn == turn)
                MW_TRY(compare_loss(k, l->name, losses[l->index], error));
    }
    return MW_OK;
}

static mw_status compare_rounds(const mw_baseline_check *k, double seen[MW_RECORDED_STEPS][MW_LOSSES],
                                mw_error *error) {
    const mw_fit *f = k->fit;
    for (const mw_recorded_loss *l = k->method->losses; l->name; l++) {
        float values[MW_RECORDED_STEPS];
        const size_t period = f->kind->phases[l->phase].turns[l->turn].period;
        const double every = period ? *(const int *)(const void *)(k->model->config.bytes + period) : 1;
        if (l->phase != f->phase) continue;
        for (int round = 0; round < MW_RECORDED_STEPS; round++)
            values[round] = (float)(seen[round][l->index] / every);
        MW_TRY(
            mw_baseline_compare(k, mw_name_of("rounds_%s", l->name).text, values, MW_RECORDED_STEPS, error));
    }
    return MW_OK;
}

/* Whole steps, as in training but for the rate's schedule. */
static mw_status check_rounds(mw_baseline_check *k, void *slot, mw_error *error) {
    mw_optimizer *o = k->part->optimizer;
    double losses[MW_RECORDED_STEPS][MW_LOSSES] = {0};
    for (int g = 0; g < o->groups; g++) o->group[g].adam.rate = k->record->rate;
    for (int round = 0; round < MW_RECORDED_STEPS; round++) {
        MW_TRY(load_batch(k, round, slot, error));
        k->part->step = round;
        mw_fit_run(k->fit, slot, MW_STEP_UPDATE, losses[round]);
    }
    k->part->step = 0;
    return compare_rounds(k, losses, error);
}

/* The last phase first: what it finds of the ones before are the recorded weights. */
static mw_status check_phases(mw_baseline_check *k, void *slot, mw_error *error) {
    mw_fit *f = k->fit;
    for (f->phase = f->kind->phase_count - 1; f->phase >= 0; f->phase--) {
        MW_TRY(load_batch(k, 0, slot, error));
        MW_TRY(check_turns(k, slot, error));
    }
    for (int i = 0; i < f->kind->field_count; i++)
        if (!strncmp(f->kind->fields[i].name, "out.", 4) && belongs(k, &f->kind->fields[i]))
            MW_TRY(compare_field(k, &f->kind->fields[i], slot, error));
    MW_TRY(compare_weights(k, k->grads, "grad.", "gradients", 0, MW_GRADIENT_TOLERANCE, error));
    if (k->method->more) MW_TRY(k->method->more(k, error));
    for (f->phase = f->kind->phase_count - 1; f->phase >= 0; f->phase--) MW_TRY(check_rounds(k, slot, error));
    f->phase = 0;
    MW_TRY(compare_weights(k, k->part->optimizer->values, "adam3.", "three rounds", 1,
                           weights_within(k->method), error));
    return MW_OK;
}

static mw_status check_copies(mw_baseline_check *k, mw_error *error) {
    static const char *const prefixes[] = {"target3.", "average3."};
    const mw_optimizer *o = k->part->optimizer;
    const mw_params *params = k->model->params;
    double worst = 0;
    int found = 0;
    for (int i = 0; o->average && i < params->count; i++)
        for (int p = 0; p < 2; p++) {
            double off;
            MW_TRY(mw_record_difference(k->record, &params->list[i], o->average, prefixes[p], &off, error));
            if (isnan(off)) continue;
            mw_baseline_compared(k, mw_name_of("%s%.40s", prefixes[p], params->list[i].name).text);
            worst = fmax(worst, off);
            found++;
        }
    if (found)
        mw_verify_check(k->report, worst, weights_within(k->method), "%s: slower copies after three rounds",
                        k->record->what);
    return MW_OK;
}

static bool is_result(const char *name) {
    static const char *const prefixes[] = {"out.", "grad.", "adam3.", "target3.", "average3."};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (!strncmp(name, prefixes[i], strlen(prefixes[i]))) return true;
    return false;
}

static bool is_left(const mw_recorded_method *method, const char *name) {
    for (const mw_recorded_left *l = method->left; l->tensor; l++)
        if (!strcmp(l->tensor, name)) return true;
    return false;
}

/* A result that nothing was compared with proves nothing. */
static void check_whole(const mw_baseline_check *k) {
    const mw_safetensors *file = &k->record->file;
    char missed[256] = "";
    int count = 0;
    for (size_t i = 0; i < file->tensor_count; i++) {
        const char *name = file->tensors[i].name;
        if (!is_result(name) || k->compared[i] || is_left(k->method, name)) continue;
        const size_t used = strlen(missed);
        snprintf(missed + used, sizeof missed - used, "%s%s", count++ ? ", " : ": not ", name);
    }
    mw_verify_check(k->report, count, 0, "%s: everything that is recorded is compared%s", k->record->what,
                    missed);
}

static mw_status check_method(mw_baseline_check *k, mw_error *error) {
    MW_TRY(make_model(k, error));
    MW_TRY(mw_pool_create(&k->pool, 2, error));
    MW_TRY(make_training(k, error));
    MW_TRY(mw_record_setting(k->record, "lr", 3e-4f, &k->record->rate, error));
    MW_TRY(load_weights(k, error));
    MW_TRY(check_phases(k, k->fit->slots[0], error));
    return check_copies(k, error);
}

static mw_status verify_record(mw_record *r, const mw_recorded_method *method, mw_verify *report,
                               mw_error *error) {
    mw_baseline_check k = {.record = r, .report = report, .method = method};
    k.compared = calloc(r->file.tensor_count + 1, sizeof *k.compared);
    const mw_status status = !k.compared     ? mw_fail(error, MW_ERR_MEMORY, "cannot keep what was compared")
                             : method->apart ? method->apart(&k, error)
                                             : check_method(&k, error);
    if (status == MW_OK) check_whole(&k);
    mw_training_part_free(k.part);
    mw_model_free(k.model);
    mw_pool_free(k.pool);
    void *owned[] = {k.zeros, k.choices, k.legal, k.moments, k.grads, k.compared};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    return status;
}

/* ---- the folder ---- */

static const mw_recorded_method *method_of(const char *name) {
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (!strncmp(name, methods[i].kind, strlen(methods[i].kind))) return &methods[i];
    return NULL;
}

/* Files of methods that this build does not know are said to fail: they prove nothing. */
static mw_status verify_file(const char *dir, const char *name, mw_verify *report, mw_error *error) {
    const size_t stem = strlen(name) - strlen(".safetensors");
    char path[4096], what[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    snprintf(what, sizeof what, "%.*s", (int)(stem < 100 ? stem : 100), name);
    mw_record r = {.what = what};
    const mw_recorded_method *method = method_of(name);
    if (!method) {
        mw_verify_check(report, INFINITY, 0, "%s: no method of this build is recorded so", what);
        return MW_OK;
    }
    MW_TRY(mw_safetensors_open(&r.file, path, error));
    const mw_status status = verify_record(&r, method, report, error);
    mw_record_close(&r);
    return status;
}

mw_status mw_verify_baselines(const char *dir, mw_verify *report, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED(dir);
    MW_NEED(report);
    struct dirent **entries = NULL;
    const int count = scandir(dir, &entries, NULL, alphasort);
    if (count < 0) return mw_fail(error, MW_ERR_IO, "%s: cannot read this folder", dir);
    mw_status status = MW_OK;
    int found = 0;
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name, *end = strrchr(name, '.');
        if (end && !strcmp(end, ".safetensors") && status == MW_OK) {
            found++;
            status = verify_file(dir, name, report, error);
        }
        free(entries[i]);
    }
    free(entries);
    if (status == MW_OK && !found)
        status = mw_fail(error, MW_ERR_FORMAT, "%s: found no .safetensors of a baseline to check", dir);
    return status;
}
