/* The table of plan settings; see settings.h. */
#include "plan/settings.h"

#include "core/names.h"

#include <string.h>

#define AT(member) offsetof(mw_plan_settings, member)

/* clang-format off */
static const mw_field fields[] = {
    {"candidates",      MW_FIELD_INT,    AT(candidates),      "8",    1, 4096,  "joint futures that are drawn at every decision", {0}, "M"},
    {"horizon",         MW_FIELD_INT,    AT(horizon),         "8",    1, 256,   "steps that candidates have, and are scored over unless value_after says less", {0}, "H"},
    {"sampling_steps",  MW_FIELD_INT,    AT(sampling_steps),  "3",    1, 5,     "steps from noise to a candidate", {0}, "K"},
    {"guidance",        MW_FIELD_REAL,   AT(guidance),        "1.2",  -10, 100, "omega: weight of the return condition", {0}, NULL},
    {"target",          MW_FIELD_REAL,   AT(target),          "auto", -MW_PLAN_TARGET, MW_PLAN_TARGET, "target return in units of flow.return_scale; auto, in training: the quantile of the data's returns", {"auto"}, NULL},
    {"quantile",        MW_FIELD_REAL,   AT(quantile),        "0.95", 0, 1,     "which quantile of the returns of the data's episodes is the target", {0}, NULL},
    {"return_to_go",    MW_FIELD_SWITCH, AT(return_to_go),    "off",  0, 1,     "the target shrinks by what was earned during the episode", {0}, NULL},
    {"scorer",          MW_FIELD_WORD,   AT(scorer),          "rwm",  0, 0,     "what judges candidates; see the list of scorers", {0}, NULL},
    {"advantage_share", MW_FIELD_REAL,   AT(advantage_share), "0.5",  0, 1,     "scorer mixture: weight of the advantage; scorer q_mixture: weight of Q, in its place; the imagined return has the rest", {0}, NULL},
    {"action_offset",   MW_FIELD_REAL,   AT(action_offset),   "0",    0, 100,   "real actions: standard deviation of an offset on a candidate's actions that lasts over the horizon; the first candidate has none", {0}, NULL},
    {"temperature",     MW_FIELD_REAL,   AT(temperature),     "0",    0, 1e6,   "real actions: execute the mean of all candidates weighted as in MPPI by exp(-d/temperature), d: standard deviations of score below the best; 0: the best alone", {0}, NULL},
    {"warm_start",      MW_FIELD_SWITCH, AT(warm_start),      "off",  0, 1,     "real actions: the last candidate is the rest of the plan chosen before, once there is one", {0}, NULL},
    {"choice",          MW_FIELD_CHOICE, AT(choice),          "best", 0, 2,     "which candidate is executed: by score, any of them, or the first", {"best", "random", "first"}, NULL},
    {"caution",         MW_FIELD_REAL,   AT(caution),         "0",    0, 1e6,   "leave the policy's own candidate (the first) only for a score that is higher by this many return_errors; 0: for any higher score", {0}, NULL},
    {"return_error",    MW_FIELD_REAL,   AT(return_error),    "auto", 0, 1e12,  "standard deviation of the error of an imagined return, of all agents; auto, in training: over the steps that are scored, and the value after them, on held-out data if that has windows enough", {"auto"}, NULL},
    {"value_after",     MW_FIELD_INT,    AT(value_after),     "0",    0, 256,   "imagined steps after which the bundle's value of where they lead stands for all further rewards; 0: rewards alone, to the horizon", {0}, NULL},
    {"recombine",       MW_FIELD_INT,    AT(recombine),       "0",    0, 64,    "rounds after scoring: in each the lower half of the candidates (never the first) is replaced by mixtures in which every agent follows a candidate of the upper half, and all are scored again", {0}, NULL},
    {"distinct",        MW_FIELD_SWITCH, AT(distinct),        "off",  0, 1,     "discrete actions: a candidate with the joint first action of an earlier one takes a variant that no other has: the agent, then the two agents, who lose least by logit take their second-best legal actions", {0}, NULL},
};
/* clang-format on */

_Static_assert((int)MW_NAME == (int)MW_WORD, "names of settings fit");

const mw_fields mw_plan_fields = MW_FIELDS(fields);

bool mw_plan_setting_at(int index, mw_setting_info *info) {
    if (index < 0 || index >= mw_plan_fields.count) return false;
    const mw_field *f = &fields[index];
    *info = (mw_setting_info){.name = f->name, .symbol = f->symbol, .help = f->help};
    mw_field_range(info->range, sizeof info->range, f);
    return true;
}

static mw_status find(const mw_field **field, const char *name, mw_error *error) {
    *field = mw_fields_find(mw_plan_fields, name, strlen(name));
    return *field ? MW_OK : mw_fail(error, MW_ERR_ARGUMENT, "there is no plan setting '%.64s'", name);
}

mw_status mw_plan_settings_set(mw_plan_settings *settings, const char *name, const char *value,
                               mw_error *error) {
    MW_NEED(settings);
    MW_NEED(name);
    MW_NEED(value);
    const mw_field *field;
    MW_TRY(find(&field, name, error));
    if (field->kind == MW_FIELD_WORD && mw_names_find(mw_scorer_name, value) < 0)
        return mw_names_unknown(mw_scorer_name, "scorer", value, error);
    return mw_field_set(field, settings, value, "", error);
}

mw_status mw_plan_settings_get(const mw_plan_settings *settings, const char *name, char *out, size_t size,
                               mw_error *error) {
    MW_NEED(settings);
    MW_NEED(name);
    MW_NEED(out);
    const mw_field *field;
    MW_TRY(find(&field, name, error));
    if (field->kind == MW_FIELD_CHOICE) /* which has no name beyond its words */
        MW_TRY(mw_fields_check((mw_fields){field, 1}, settings, "", MW_ERR_ARGUMENT, error));
    char text[MW_NAME];
    mw_field_text(text, sizeof text, field, settings);
    if (strlen(text) >= size) /* what is left of a number that is cut off is another number */
        return mw_fail(error, MW_ERR_ARGUMENT, "%zu bytes have no room for %s, '%s'", size, name, text);
    strcpy(out, text);
    return MW_OK;
}

bool mw_plan_as_drawn(const mw_plan_settings *settings) {
    return settings->action_offset == 0 && !settings->warm_start && !settings->distinct;
}

mw_status mw_plan_settings_suit(const mw_plan_settings *s, bool discrete, mw_error *error) {
    if (!discrete && s->distinct)
        return mw_fail(error, MW_ERR_ARGUMENT, "distinct is for discrete actions, and these are real");
    if (!discrete || (s->action_offset == 0 && s->temperature == 0 && !s->warm_start)) return MW_OK;
    return mw_fail(error, MW_ERR_ARGUMENT,
                   "action_offset, temperature and warm_start are for real actions, and these are discrete");
}

mw_status mw_plan_settings_check(const mw_plan_settings *s, bool discrete, int generated, mw_error *error) {
    MW_TRY(mw_fields_check(mw_plan_fields, s, "", MW_ERR_ARGUMENT, error)); /* it may be filled by hand */
    if (s->target != s->target) return mw_fail(error, MW_ERR_ARGUMENT, "the target return is not known");
    if (s->caution > 0 && s->return_error != s->return_error)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "caution is %g return_errors, and return_error is not known; set it, or caution to 0",
                       s->caution);
    if (s->horizon > generated)
        return mw_fail(error, MW_ERR_ARGUMENT, "horizon is %d; %d steps are generated, so it must be 1 to %d",
                       s->horizon, generated, generated);
    if (s->value_after > s->horizon)
        return mw_fail(error, MW_ERR_ARGUMENT, "value_after is %d; it must be 0 to %d, the horizon",
                       s->value_after, s->horizon);
    return mw_plan_settings_suit(s, discrete, error);
}
