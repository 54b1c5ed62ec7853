/* A training on random episodes, and models as small as they go, for tests of any of them. */
#ifndef MW_TESTS_RANDOM_TRAINING_H
#define MW_TESTS_RANDOM_TRAINING_H

#include "model/fit.h"
#include "random_world.h"

/* A training on all of them, of which a third is held out. */
static inline void random_training_open(mw_training_data *data, world *w) {
    mw_error error;
    world_fill(w);
    *data = (mw_training_data){.dataset = &w->dataset, .horizon = 8, .seed = 3};
    CHECK_OK(mw_split_make(&data->split, &w->dataset, 1.0 / 3, 3, &error), error);
    CHECK_OK(mw_data_stats_make(&data->stats, &w->dataset, &data->split.train, 0.99, true, &error), error);
    CHECK_OK(mw_pool_create(&data->pool, 1, &error), error);
    data->obs_normalizer = &data->stats.obs_normalizer;
    data->act_normalizer = &data->stats.act_normalizer;
}

static inline void random_training_close(mw_training_data *data) {
    mw_data_stats_free(&data->stats);
    mw_split_free(&data->split);
    mw_pool_free(data->pool);
}

/* A model of this class as small as it goes. */
static inline mw_model *random_model(const mw_model_class *class, const mw_training_data *data,
                                     const char *batch) {
    const char *const small[][2] = {
        {"hidden", "hidden=8"}, {"batch", batch}, {"dim", "dim=16"}, {"mults", "mults=1,1,1"}};
    mw_error error;
    mw_model *model;
    mw_model_config config = {0};
    const mw_model_shape shape = {N, O, D, false};
    mw_fields_defaults(class->fields, &config);
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        if (mw_fields_find(class->fields, small[i][0], strlen(small[i][0])))
            CHECK_OK(mw_fields_assign(class->fields, &config, small[i][1], "", &error), error);
    if (class->settle) CHECK_OK(class->settle(&config, data, &error), error);
    CHECK_OK(mw_model_make(&model, class, &config, &shape, &error), error);
    return model;
}

#endif
