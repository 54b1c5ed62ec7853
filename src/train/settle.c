/* What a preset comes to over a dataset: settings left to the data take their values, and a part that exists
 * is compared with what training would arrive at. */
#include "train/train.h"

#include "data/returns.h"
#include "model/direct.h"
#include "model/state_value.h"
#include "plan/scorers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ERROR_SNIPPETS = 1024 };

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
    return MW_OK;
}

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

/* The standard deviation of imagined minus recorded returns of recorded actions, ERROR_SNIPPETS at most. */
static mw_status error_over(double *deviation, const judgement *j, const mw_dataset *dataset,
                            const mw_episode_set *set, uint64_t seed, mw_error *error) {
    const size_t n = (size_t)dataset->spec.agents, joint = n * (size_t)dataset->spec.obs_size,
                 steps = (size_t)j->steps, acts = steps * n * (size_t)dataset->spec.act_size;
    float *row = malloc((joint + acts + steps * joint) * sizeof *row), *path = row + joint + acts;
    double sum = 0, square = 0;
    mw_status status = row ? MW_OK : mw_fail(error, MW_ERR_MEMORY, "cannot measure imagined returns");
    mw_rng rng = mw_rng_make(seed, MW_RNG_STUDY, 3, 0, 0);
    for (int i = 0; status == MW_OK && i < ERROR_SNIPPETS; i++) {
        const mw_place place = mw_episode_set_draw(set, &rng);
        float score = 0, truth = 0;
        mw_value_row(dataset, place, j->steps, row);
        const mw_scoring call = {.scores = &score,
                                 .paths = path,
                                 .obs = row,
                                 .actions = row + joint,
                                 .count = 1,
                                 .horizon = j->steps,
                                 .group = 1};
        status = mw_scorer_score(j->scorer, &call, error);
        if (j->value && status == MW_OK) {
            const float *after = mw_dataset_obs(dataset, place.episode, place.t + j->steps);
            mw_state_value_add(j->value, &score, j->discount, path + (steps - 1) * joint, joint, 1);
            mw_state_value_add(j->value, &truth, j->discount, after, joint, 1);
        }
        const double wrong = (double)score - (double)truth - mw_direct_return(dataset, place, j->steps);
        sum += wrong / ERROR_SNIPPETS;
        square += wrong * wrong / ERROR_SNIPPETS;
    }
    free(row);
    const double variance = square - sum * sum, most = field_of("return_error")->high;
    *deviation = isfinite(variance) ? fmin(sqrt(fmax(variance, 0)), most) : most;
    return status;
}

mw_status mw_settle_error(mw_bundle *bundle, const mw_training_data *data, mw_error *error) {
    mw_plan_settings *plan = &bundle->plan;
    const char *name = mw_scorer_imagining_for(plan->scorer, mw_bundle_models(bundle));
    const mw_model *value = plan->value_after ? mw_bundle_model(bundle, mw_state_value_class.name) : NULL;
    judgement j = {.steps = value ? plan->value_after : plan->horizon};
    mw_split split;
    mw_episode_set set = {0};
    if (!isnan(plan->return_error)) return MW_OK;
    plan->return_error = 0;
    if (!name) return MW_OK;
    const mw_provenance *made = &mw_bundle_find(bundle, name)->provenance; /* perhaps with another seed */
    const uint64_t seed = strtoull(made->seed, NULL, 10);
    MW_TRY(mw_split_make(&split, data->dataset, made->held_out, seed, error));
    const mw_scorer_context context = {.max_rows = 1, .horizon = j.steps, .pool = data->pool};
    mw_status status =
        value ? mw_episode_set_of(&set, data->dataset, &split.held, valued_starts, j.steps, error)
              : mw_direct_windows(&set, data->dataset, &split.held, j.steps, error);
    if (status == MW_OK) status = mw_scorer_create(&j.scorer, name, bundle, context, error);
    if (value && status == MW_OK) {
        status = mw_state_value_create(&j.value, value, error);
        j.discount = mw_state_value_discount(value, j.steps);
    }
    if (status == MW_OK && set.transitions)
        status = error_over(&plan->return_error, &j, data->dataset, &set, seed, error);
    mw_scorer_free(j.scorer);
    mw_state_value_free(j.value);
    mw_episode_set_free(&set);
    mw_split_free(&split);
    return status;
}

mw_status mw_training_settle(mw_preset *preset, const mw_dataset *dataset, uint64_t seed, mw_error *error) {
    mw_training_data data = {.dataset = dataset, .horizon = preset->plan.horizon, .seed = seed};
    MW_TRY(mw_split_make(&data.split, dataset, preset->held_out, seed, error));
    mw_status status = mw_settle_parts(preset, &data, error);
    const int flow = mw_model_class_index("flow");
    if (status == MW_OK && preset->parts & 1u << flow)
        status = mw_settle_target(&preset->plan, (const void *)&preset->config[flow], &data, error);
    mw_split_free(&data.split);
    return status;
}

const mw_field *mw_training_plan_difference(const mw_plan_settings *wanted, const mw_bundle *bundle) {
    if (isnan(wanted->return_error) && bundle->return_error_given) return field_of("return_error");
    if (isnan(wanted->target) && bundle->target_given) return field_of("target");
    return mw_fields_difference(mw_plan_fields, wanted, &bundle->plan);
}

bool mw_training_same(const mw_preset *preset, const mw_bundle_part *part, const mw_provenance *like) {
    const mw_model_class *kind = part->model->kind;
    return mw_provenance_same(&part->provenance, like) &&
           !mw_fields_difference(kind->fields, &preset->config[mw_model_class_index(kind->name)],
                                 &part->model->config);
}
