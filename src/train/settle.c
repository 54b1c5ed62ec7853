/* What a preset comes to over a dataset: settings left to the data take their values, and a part that exists
 * is compared with what training would arrive at. */
#include "train/train.h"

#include "data/returns.h"

#include <math.h>

mw_status mw_settle_parts(mw_preset *preset, const mw_training_data *data, mw_error *error) {
    const mw_model_class *class;
    for (int i = 0; (class = mw_model_class_at(i)); i++)
        if (class->settle) MW_TRY(class->settle(&preset->config[i], data, error));
    return MW_OK;
}

mw_status mw_settle_target(mw_plan_settings *plan, const mw_flow_settings *flow, const mw_training_data *data,
                           mw_error *error) {
    if (!isnan(plan->target)) return MW_OK;
    MW_TRY(mw_returns_quantile(&plan->target, data->dataset, &data->split.train, flow->discount,
                               plan->quantile, error));
    plan->target /= flow->return_scale;
    return MW_OK;
}

mw_status mw_training_settle(mw_preset *preset, const mw_dataset *dataset, uint64_t seed, mw_error *error) {
    mw_training_data data = {.dataset = dataset, .horizon = preset->plan.horizon, .seed = seed};
    MW_TRY(mw_split_make(&data.split, dataset, preset->held_out, seed, error));
    mw_status status = mw_settle_parts(preset, &data, error);
    const void *flow = &preset->config[mw_model_class_index("flow")];
    if (status == MW_OK) status = mw_settle_target(&preset->plan, flow, &data, error);
    mw_split_free(&data.split);
    return status;
}

bool mw_training_same(const mw_preset *preset, const mw_bundle_part *part, const mw_provenance *like) {
    const mw_model_class *kind = part->model->kind;
    return mw_provenance_same(&part->provenance, like) &&
           !mw_fields_difference(kind->fields, &preset->config[mw_model_class_index(kind->name)],
                                 &part->model->config);
}
