/* What a preset comes to over a dataset: settings left to the data take their values, and a part that exists
 * is compared with what training would arrive at. */
#include "train/train.h"

#include "data/returns.h"
#include "model/direct.h"
#include "model/state_value.h"
#include "plan/scorers.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { ERROR_SNIPPETS = 1024, ERROR_WINDOWS = 8 }; /* drawn; at least, to draw from */

mw_status mw_settle_target(mw_plan_settings *plan, const mw_flow_settings *flow, const mw_training_data *data,
                           mw_error *error) {
    if (!isnan(plan->target)) return MW_OK;
    MW_TRY(mw_returns_quantile(&plan->target, data->dataset, &data->split.train, flow->discount,
                               plan->quantile, error));
    plan->target /= flow->return_scale;
    return mw_fields_check(mw_plan_fields, plan, "plan.", MW_ERR_NUMERIC, error);
}

/* Places with so many steps ahead and an observation after them. */
static long valued_starts(const mw_dataset *dataset, long episode, int steps) {
    const long most = mw_dataset_transitions(dataset, episode) - steps + 1;
    return most > 0 ? most : 0;
}

/* What is imagined of recorded actions, and what of that is wrong. */
typedef struct {
    mw_scorer *scorer;
    mw_state_value *value; /* of where they lead; NULL: rewards alone */
    float discount;
    int steps;
} judgement;

static const mw_field *field_of(const char *name) {
    return mw_fields_find(mw_plan_fields, name, strlen(name));
}

static double error_of(const judgement *j, const mw_dataset *dataset, mw_place place, float *row, float *path,
                       mw_status *status, mw_error *error) {
    const size_t joint = (size_t)dataset->spec.agents * (size_t)dataset->spec.obs_size;
    float score = 0, truth = 0;
    mw_value_row(dataset, place, j->steps, row);
    const mw_scoring call = {.scores = &score,
                             .paths = path,
                             .obs = row,
                             .actions = row + joint,
                             .count = 1,
                             .horizon = j->steps,
                             .group = 1};
    *status = mw_scorer_score(j->scorer, &call, error);
    if (j->value && *status == MW_OK) {
        const float *after = mw_dataset_obs(dataset, place.episode, place.t + j->steps);
        mw_state_value_add(j->value, &score, j->discount, path + ((size_t)j->steps - 1) * joint, joint, 1);
        mw_state_value_add(j->value, &truth, j->discount, after, joint, 1);
    }
    return (double)score - (double)truth - mw_direct_return(dataset, place, j->steps);
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The middle of |wrong| among those that are finite; scratch[ERROR_SNIPPETS]. */
static double middle_size(const double *wrong, double *scratch) {
    int count = 0;
    for (int i = 0; i < ERROR_SNIPPETS; i++)
        if (isfinite(wrong[i])) scratch[count++] = fabs(wrong[i]);
    qsort(scratch, (size_t)count, sizeof *scratch, ascending);
    return count ? scratch[count / 2] : NAN;
}

static void add_remark(char remark[MW_REMARK], const char *format, ...) {
    const size_t used = strlen(remark);
    va_list list;
    va_start(list, format);
    if (used) snprintf(remark + used, MW_REMARK - used, "; ");
    vsnprintf(remark + strlen(remark), MW_REMARK - strlen(remark), format, list);
    va_end(list);
}

/* The standard deviation of wrong[ERROR_SNIPPETS]. What is beyond all bounds, as after an observation of
 * 1e30, is left out and told; NaN where that is half of them, or where no setting can hold the rest. */
static double deviation_of(const double *wrong, double *scratch, char remark[MW_REMARK]) {
    const double middle = middle_size(wrong, scratch), bound = middle > 0 ? 1e9 * middle : INFINITY;
    double sum = 0, square = 0;
    int kept = 0;
    for (int i = 0; i < ERROR_SNIPPETS; i++) kept += fabs(wrong[i]) <= bound && isfinite(wrong[i]);
    for (int i = 0; i < ERROR_SNIPPETS; i++)
        if (fabs(wrong[i]) <= bound && isfinite(wrong[i])) {
            sum += wrong[i] / kept;
            square += wrong[i] * wrong[i] / kept;
        }
    const double deviation = sqrt(fmax(square - sum * sum, 0));
    if (2 * kept <= ERROR_SNIPPETS || !(deviation <= field_of("return_error")->high)) {
        add_remark(remark, "return_error is not known: what is imagined of the data is beyond all bounds");
        return NAN;
    }
    if (kept < ERROR_SNIPPETS)
        add_remark(
            remark,
            "return_error leaves out %d of %d windows, of which what is imagined is beyond all bounds: "
            "has the data outliers?",
            ERROR_SNIPPETS - kept, ERROR_SNIPPETS);
    if (deviation > 100 * middle)
        add_remark(remark, "return_error is %.4g by few windows: half of them are within %.4g", deviation,
                   middle);
    return deviation;
}

/* Imagined minus recorded returns of recorded actions, in windows drawn from the set. */
static mw_status error_over(double *deviation, const judgement *j, const mw_dataset *dataset,
                            const mw_episode_set *set, uint64_t seed, char remark[MW_REMARK],
                            mw_error *error) {
    const size_t n = (size_t)dataset->spec.agents, joint = n * (size_t)dataset->spec.obs_size,
                 steps = (size_t)j->steps, acts = steps * n * (size_t)dataset->spec.act_size;
    float *row = malloc((joint + acts + steps * joint) * sizeof *row), *path = row + joint + acts;
    double *wrong = malloc(2 * ERROR_SNIPPETS * sizeof *wrong);
    mw_status status =
        row && wrong ? MW_OK : mw_fail(error, MW_ERR_MEMORY, "cannot measure imagined returns");
    mw_rng rng = mw_rng_make(seed, MW_RNG_STUDY, 3, 0, 0);
    for (int i = 0; status == MW_OK && i < ERROR_SNIPPETS; i++)
        wrong[i] = error_of(j, dataset, mw_episode_set_draw(set, &rng), row, path, &status, error);
    if (status == MW_OK) *deviation = deviation_of(wrong, wrong + ERROR_SNIPPETS, remark);
    free(row);
    free(wrong);
    return status;
}

/* Places of the data with so many steps ahead: of the episodes that are held out, or of all. */
static mw_status windows_of(mw_episode_set *windows, const mw_dataset *dataset, bool valued, int steps,
                            double held_out, uint64_t seed, mw_error *error) {
    mw_split split;
    MW_TRY(mw_split_make(&split, dataset, held_out, seed, error));
    const mw_episode_set *from = held_out > 0 ? &split.held : &split.train;
    const mw_status status = valued ? mw_episode_set_of(windows, dataset, from, valued_starts, steps, error)
                                    : mw_direct_windows(windows, dataset, from, steps, error);
    mw_split_free(&split);
    return status;
}

/* Few windows say nothing of how wrong others are; those of the training say too little, and that is told. */
static mw_status choose_windows(mw_episode_set *windows, mw_bundle *bundle, const judgement *j, bool valued,
                                const mw_training_data *data, const mw_provenance *made,
                                char remark[MW_REMARK], mw_error *error) {
    const uint64_t seed = strtoull(made->seed, NULL, 10);
    if (made->held_out > 0)
        MW_TRY(windows_of(windows, data->dataset, valued, j->steps, made->held_out, seed, error));
    bundle->return_error_from = MW_MEASURED_HELD_OUT;
    if (windows->transitions >= ERROR_WINDOWS) return MW_OK;
    mw_episode_set_free(windows);
    MW_TRY(windows_of(windows, data->dataset, valued, j->steps, 0, seed, error));
    bundle->return_error_from = windows->transitions < ERROR_WINDOWS ? MW_MEASURED_NEVER : MW_MEASURED_ALL;
    if (bundle->return_error_from == MW_MEASURED_NEVER)
        add_remark(remark,
                   "return_error is not known: the data has %ld windows of %d steps, and %d are needed",
                   (long)windows->transitions, j->steps, ERROR_WINDOWS);
    else
        add_remark(
            remark,
            "return_error is measured on all episodes, those of the training included, and is too small "
            "for that: fewer than %d windows of %d steps are held out",
            ERROR_WINDOWS, j->steps);
    return MW_OK;
}

mw_status mw_settle_error(mw_bundle *bundle, const mw_training_data *data, char remark[MW_REMARK],
                          mw_error *error) {
    mw_plan_settings *plan = &bundle->plan;
    const char *name = mw_scorer_imagining_for(plan->scorer, mw_bundle_models(bundle));
    const mw_model *value = plan->value_after ? mw_bundle_model(bundle, mw_state_value_class.name) : NULL;
    judgement j = {.steps = value ? plan->value_after : plan->horizon};
    mw_episode_set set = {0};
    if (!isnan(plan->return_error) || !name) return MW_OK;
    const mw_provenance *made = &mw_bundle_find(bundle, name)->provenance; /* perhaps with another seed */
    const mw_scorer_context context = {.max_rows = 1, .horizon = j.steps, .pool = data->pool};
    mw_status status = choose_windows(&set, bundle, &j, value, data, made, remark, error);
    if (status == MW_OK) status = mw_scorer_create(&j.scorer, name, bundle, context, error);
    if (value && status == MW_OK) {
        status = mw_state_value_create(&j.value, value, error);
        j.discount = mw_state_value_discount(value, j.steps);
    }
    if (status == MW_OK && bundle->return_error_from != MW_MEASURED_NEVER)
        status = error_over(&plan->return_error, &j, data->dataset, &set, strtoull(made->seed, NULL, 10),
                            remark, error);
    if (isnan(plan->return_error)) bundle->return_error_from = MW_MEASURED_NEVER;
    mw_scorer_free(j.scorer);
    mw_state_value_free(j.value);
    mw_episode_set_free(&set);
    return status;
}

/* What a cautious plan would be refused for is known before the training. */
static mw_status check_caution(const mw_preset *preset, const mw_dataset *dataset, mw_error *error) {
    const mw_plan_settings *plan = &preset->plan;
    const bool valued = plan->value_after > 0;
    const int steps = valued ? plan->value_after : plan->horizon;
    mw_episode_set set = {0};
    if (!(plan->caution > 0) || !isnan(plan->return_error)) return MW_OK;
    if (!(preset->parts & 1u << mw_model_class_for(MW_ROLE_PROPOSER))) return MW_OK; /* nothing plans */
    if (!mw_scorer_imagining_for(plan->scorer, preset->parts))
        return mw_fail(
            error, MW_ERR_ARGUMENT,
            "plan.caution is %g return_errors, and no part imagines returns of which that could be "
            "measured; set plan.return_error, or plan.caution to 0",
            plan->caution);
    MW_TRY(windows_of(&set, dataset, valued, steps, 0, 0, error));
    const long windows = (long)set.transitions;
    mw_episode_set_free(&set);
    if (windows >= ERROR_WINDOWS) return MW_OK;
    return mw_fail(
        error, MW_ERR_ARGUMENT,
        "plan.caution is %g return_errors, and that cannot be measured: the data has %ld windows of "
        "%d steps, and %d are needed; set plan.return_error, or plan.caution to 0",
        plan->caution, windows, steps, ERROR_WINDOWS);
}

mw_status mw_settle_parts(mw_preset *preset, const mw_training_data *data, mw_error *error) {
    const mw_model_class *class;
    for (int i = 0; (class = mw_model_class_at(i)); i++)
        if (class->settle) {
            char prefix[MW_WORD];
            snprintf(prefix, sizeof prefix, "%.40s.", class->name);
            MW_TRY(class->settle(&preset->config[i], data, error));
            if (preset->parts & 1u << i)
                MW_TRY(mw_fields_check(class->fields, &preset->config[i], prefix, MW_ERR_NUMERIC, error));
        }
    return check_caution(preset, data->dataset, error);
}

mw_status mw_training_settle(mw_preset *preset, const mw_dataset *dataset, uint64_t seed, mw_error *error) {
    mw_training_data data = {.dataset = dataset, .horizon = preset->plan.horizon, .seed = seed};
    MW_TRY(mw_split_make(&data.split, dataset, preset->held_out, seed, error));
    mw_status status = mw_settle_parts(preset, &data, error);
    const int flow = mw_model_class_for(MW_ROLE_PROPOSER);
    if (status == MW_OK && preset->parts & 1u << flow)
        status = mw_settle_target(&preset->plan, (const void *)&preset->config[flow], &data, error);
    mw_split_free(&data.split);
    return status;
}

const mw_field *mw_training_plan_difference(const mw_plan_settings *wanted, const mw_bundle *bundle) {
    if (isnan(wanted->return_error) && bundle->return_error_from == MW_MEASURED_GIVEN)
        return field_of("return_error");
    if (isnan(wanted->target) && bundle->target_given) return field_of("target");
    return mw_fields_difference(mw_plan_fields, wanted, &bundle->plan);
}

bool mw_training_same(const mw_preset *preset, const mw_bundle_part *part, const mw_provenance *like) {
    const mw_model_class *kind = part->model->kind;
    return mw_provenance_same(&part->provenance, like) &&
           !mw_fields_difference(kind->fields, &preset->config[mw_model_class_index(kind->name)],
                                 &part->model->config);
}
