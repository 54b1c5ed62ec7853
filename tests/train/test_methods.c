/* The methods as sets of settings: the paper's is held against the values that its authors published, and
 * every row of both tables can be read and fits together. */
#include "check.h"
#include "env/env.h"
#include "model/flow/flow.h"
#include "model/rwm/rwm.h"
#include "study/sizes.h"
#include "train/methods.h"
#include "train/preset.h"

#include <stdlib.h>
#include <string.h>

static const char *value_of(const mw_preset *preset, const char *name) {
    static mw_preset_field field;
    for (int i = 0; mw_preset_field_at(preset, i, &field); i++)
        if (!strcmp(field.name, name)) return field.value;
    fail_msg("there is no setting %s", name);
    return NULL;
}

static mw_preset preset_of(const char *method, const char *task, mw_budget budget) {
    mw_preset preset;
    mw_error error;
    CHECK_OK(mw_preset_choose(&preset, method, task, "medium", budget, &error), error);
    return preset;
}

/* What the paper, and where it is silent its authors' configuration, says for all tasks. */
static const struct {
    const char *name, *value;
} published[] = {
    {"data.held_out", "0.1"},
    {"flow.attention_output", "on"},
    {"flow.residual", "off"}, /* observations are generated, */
    {"flow.forecast", "0"},   /* by the flow alone */
    {"flow.batch", "64"},
    {"flow.rate", "0.0002"},
    {"flow.warmup", "0"},
    {"flow.final", "1"}, /* constant rates */
    {"flow.clip", "0"},
    {"flow.average", "0.995"},
    {"flow.drop", "0.25"},
    {"flow.discount", "0.99"},
    {"inverse.hidden", "256"},
    {"inverse.layers", "2"},
    {"inverse.ids", "off"},
    {"inverse.noise", "0"},
    {"inverse.rate", "0.0002"},
    {"inverse.warmup", "0"},
    {"inverse.final", "1"},
    {"inverse.clip", "0"},
    {"inverse.average", "0.995"},
    {"rwm.variant", "paper"},
    {"rwm.hidden", "256"},
    {"rwm.experts", "8"},
    {"rwm.slots", "4"},
    {"rwm.reward_experts", "4"},
    {"rwm.top_k", "2"},
    {"rwm.reward_features", "0"},
    {"rwm.dynamics_features", "0"},
    {"rwm.shared", "0"},
    {"rwm.mean_agents", "off"},
    {"rwm.concat_agents", "off"},
    {"rwm.batch", "256"},
    {"rwm.rate", "0.0003"},
    {"rwm.warmup", "0"},
    {"rwm.final", "1"},
    {"rwm.clip", "10"},
    {"plan.candidates", "8"},
    {"plan.sampling_steps", "3"},
    {"plan.guidance", "1.2"},
    {"plan.scorer", "rwm"},
    {"plan.action_offset", "0"}, /* candidates as drawn, */
    {"plan.warm_start", "off"},
    {"plan.temperature", "0"}, /* the best of them executed */
    {"plan.choice", "best"},
};

/* And by task: parameters of the world model at full width. */
static const struct {
    const char *task;
    size_t rwm;
} sizes[] = {
    {"spread", 912072}, {"tag", 899608}, {"world", 949464}, {"2ant", 1155176},     {"4ant", 1030480},
    {"3m", 1027560},    {"8m", 1386040}, {"2s3z", 1357912}, {"5m_vs_6m", 1205256},
};

static size_t rwm_parameters(const mw_preset *preset, const mw_task_shape *s) {
    const mw_model_shape shape = {s->agents, s->obs, s->act, s->discrete};
    mw_model *model;
    mw_error error;
    CHECK_OK(
        mw_model_make(&model, &mw_rwm_class, &preset->config[mw_model_class_index("rwm")], &shape, &error),
        error);
    const size_t count = mw_params_scalars(model->params);
    mw_model_free(model);
    return count;
}

static void paper(void **state) {
    (void)state;
    for (size_t t = 0; t < sizeof sizes / sizeof *sizes; t++) {
        const char *task = sizes[t].task;
        const mw_task_shape *shape = mw_task_shape_find(task);
        const mw_preset preset = preset_of("paper", task, MW_BUDGET_FULL);
        const mw_flow_settings *flow = (const void *)&preset.config[mw_model_class_index("flow")];
        for (size_t i = 0; i < sizeof published / sizeof *published; i++)
            if (strcmp(value_of(&preset, published[i].name), published[i].value))
                fail_msg("%s: %s is %s, published is %s", task, published[i].name,
                         value_of(&preset, published[i].name), published[i].value);
        assert_int_equal(flow->context, shape->context);
        assert_true(flow->generated <= shape->generated && flow->generated >= shape->horizon);
        assert_int_equal(preset.plan.horizon, shape->horizon);
        assert_int_equal(preset.plan.return_to_go, shape->discrete && strcmp(task, "2s3z"));
        assert_int_equal(atoi(value_of(&preset, "inverse.batch")),
                         64 * (flow->context + flow->generated - 1));
        assert_string_equal(value_of(&preset, "inverse.steps"), value_of(&preset, "flow.steps"));
        assert_int_equal(rwm_parameters(&preset, shape), sizes[t].rwm);
    }
}

static void rows(void **state) {
    (void)state;
    mw_error error;
    mw_preset preset = preset_of(NULL, "spread", MW_BUDGET_FULL);
    assert_string_equal(preset.method, "mawam");
    for (int m = 0; mw_method_at(m); m++) {
        const mw_method *method = mw_method_at(m);
        assert_string_equal(mw_method_name(m), method->name);
        for (int r = 0; r < method->count; r++)
            for (int budget = 0; budget < 2; budget++) {
                const mw_method_row *row = &method->rows[r];
                char all[2048], *rest = NULL;
                snprintf(all, sizeof all, "%s %s %s", method->common, row->settings, row->quick);
                for (char *one = strtok_r(all, " ", &rest); one; one = strtok_r(NULL, " ", &rest))
                    CHECK_OK(mw_preset_set(&preset, one, &error), error);
                preset = preset_of(method->name, row->task, budget ? MW_BUDGET_FULL : MW_BUDGET_QUICK);
                CHECK_OK(mw_preset_check(&preset, &error), error);
                assert_string_equal(preset.method, method->name);
            }
        for (int i = 0; mw_env_task(i); i++)
            assert_string_equal(mw_method_row_of(method, mw_env_task(i))->task, mw_env_task(i));
    }
    assert_null(mw_method_name(-1));
    CHECK_FAILS(mw_preset_choose(&preset, "magic", "spread", "", MW_BUDGET_FULL, &error), MW_ERR_ARGUMENT,
                error, "known: mawam, paper");
}

/* Where little is wanted, what is no part of the method learns for a tenth of its steps. */
static void quick(void **state) {
    (void)state;
    static const struct {
        const char *model;
        int share;
    } expected[] = {{"bc", 10}, {"q", 10}, {"mono", 10}, {"value", 10}, {"advantage", 1}};
    const mw_preset whole = preset_of(NULL, "tag", MW_BUDGET_FULL),
                    little = preset_of(NULL, "tag", MW_BUDGET_QUICK);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s.steps", expected[i].model);
        const long steps = strtol(value_of(&whole, name), NULL, 10);
        assert_int_equal(strtol(value_of(&little, name), NULL, 10), steps / expected[i].share);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(paper), cmocka_unit_test(rows),
                                       cmocka_unit_test(quick)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
