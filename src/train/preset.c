/* Presets of tasks, and their fields by name; see preset.h. */
#include "train/preset.h"

#include "core/names.h"
#include "model/flow/flow.h"
#include "plan/scorers.h"
#include "train/methods.h"

#include <string.h>

static const mw_field data_list[] = {{"held_out",
                                      MW_FIELD_REAL,
                                      offsetof(mw_preset, held_out),
                                      "0.1",
                                      0,
                                      0.9,
                                      "share of the episodes that is held out for validation",
                                      {0},
                                      NULL}};
static const mw_fields data_fields = MW_FIELDS(data_list);

/* ---- fields by name ---- */

mw_status mw_model_classes_parse(const char *text, unsigned *set, mw_error *error) {
    MW_NEED(text);
    MW_NEED(set);
    return mw_names_parse(set, mw_model_class_name, "model", text, error);
}

static bool begins(const char *text, const char *group, size_t *length) {
    *length = strlen(group);
    return !strncmp(text, group, *length) && text[*length] == '.';
}

static mw_status set_one(mw_preset *p, const char *text, mw_error *error) {
    const mw_model_class *class;
    char models[MW_NAMES_TEXT];
    size_t group;
    if (!strncmp(text, "parts=", 6)) return mw_model_classes_parse(text + 6, &p->parts, error);
    if (begins(text, "data", &group))
        return mw_fields_assign(data_fields, p, text + group + 1, "data.", error);
    if (begins(text, "plan", &group))
        return mw_fields_assign(mw_plan_fields, &p->plan, text + group + 1, "plan.", error);
    for (int i = 0; (class = mw_model_class_at(i)); i++) {
        char prefix[MW_WORD + 1];
        snprintf(prefix, sizeof prefix, "%s.", class->name);
        if (begins(text, class->name, &group))
            return mw_fields_assign(class->fields, &p->config[i], text + group + 1, prefix, error);
    }
    mw_names_text(models, mw_model_class_name, ~0u, ", ");
    return mw_fail(error, MW_ERR_ARGUMENT,
                   "'%.40s' sets nothing; group.name=value with a group of parts, data, plan, %s (all: mawam "
                   "train --list-settings)",
                   text, models);
}

static mw_status set_all(mw_preset *p, const char *text, mw_error *error) {
    while (*text) {
        char one[160];
        const size_t length = strcspn(text, " ");
        snprintf(one, sizeof one, "%.*s", (int)length, text);
        MW_TRY(set_one(p, one, error));
        text += length;
        text += strspn(text, " ");
    }
    return MW_OK;
}

mw_status mw_preset_set(mw_preset *p, const char *assignment, mw_error *error) {
    return strchr(assignment, ' ')
               ? mw_fail(error, MW_ERR_ARGUMENT, "'%.64s' holds a space; one setting at a time", assignment)
               : set_one(p, assignment, error);
}

/* "steps", or of one phase "teacher_steps". */
static bool is_steps(const char *name) {
    const char *end = strstr(name, "steps");
    return end && !end[strlen("steps")] && (end == name || end[-1] == '_');
}

static void shorten(mw_preset *p, int model) {
    const mw_fields *fields = &mw_model_class_at(model)->fields;
    for (int k = 0; k < fields->count; k++) {
        if (!is_steps(fields->list[k].name)) continue;
        int *value = (int *)(void *)(p->config[model].bytes + fields->list[k].offset);
        *value = (*value + 9) / 10;
    }
}

/* Models that are no parts of the method learn for a tenth of their steps where little is wanted; the table
 * says it of the parts. */
static void shorten_others(mw_preset *p) {
    for (int i = 0; mw_model_class_at(i); i++)
        if (!(p->parts & 1u << i)) shorten(p, i);
}

/* "spread tag-expert" has all settings of spread, and one of tag. */
static bool is_among(const char *where, const char *task, const char *quality) {
    char setting[2 * MW_WORD];
    snprintf(setting, sizeof setting, "%s-%s", task, quality);
    for (size_t length; *where; where += length + strspn(where + length, " ")) {
        length = strcspn(where, " ");
        if ((strlen(task) == length && !strncmp(where, task, length)) ||
            (strlen(setting) == length && !strncmp(where, setting, length)))
            return true;
    }
    return false;
}

/* Rows of classes are read by a test too. */
static void set_constants(mw_preset *p, int model) {
    const mw_model_class *class = mw_model_class_at(model);
    for (const mw_constants *row = class->constants; row && row->where; row++) {
        if (!is_among(row->where, p->task, p->quality)) continue;
        for (const char *text = row->settings; *text;) {
            char one[96];
            const size_t length = strcspn(text, " ");
            snprintf(one, sizeof one, "%.*s", (int)length, text);
            mw_fields_assign(class->fields, &p->config[model], one, "", NULL);
            text += length;
            text += strspn(text, " ");
        }
    }
}

/* The rows of the table are read by a test, so they cannot fail here. */
static void fill(mw_preset *p, const mw_method *method, const char *task, const char *quality,
                 mw_budget budget) {
    const mw_method_row *row = mw_method_row_of(method, task);
    const mw_model_class *class;
    *p = (mw_preset){0};
    snprintf(p->task, sizeof p->task, "%.63s", task);
    snprintf(p->quality, sizeof p->quality, "%.63s", quality);
    snprintf(p->method, sizeof p->method, "%s", method->name);
    mw_fields_defaults(data_fields, p);
    mw_fields_defaults(mw_plan_fields, &p->plan);
    for (int i = 0; (class = mw_model_class_at(i)); i++) {
        mw_fields_defaults(class->fields, &p->config[i]);
        set_constants(p, i);
    }
    set_all(p, method->common, NULL);
    set_all(p, row->settings, NULL);
    if (budget != MW_BUDGET_QUICK) return;
    shorten_others(p);
    set_all(p, row->quick, NULL);
}

mw_preset mw_preset_of(const char *task, mw_budget budget) {
    mw_preset p;
    fill(&p, mw_method_at(0), task, "", budget);
    return p;
}

/* The method that is one model, with those that it needs. */
static bool fill_by_model(mw_preset *p, const char *name, const char *task, const char *quality,
                          mw_budget budget) {
    const int model = mw_model_class_index(name);
    if (model < 0 || !mw_model_class_at(model)->policy) return false;
    fill(p, mw_method_at(0), task, quality, budget);
    snprintf(p->method, sizeof p->method, "%s", name);
    p->parts = mw_model_class_parts(model);
    mw_fields_defaults(mw_plan_fields, &p->plan); /* nothing plans */
    return true;
}

mw_status mw_preset_choose(mw_preset *p, const char *name, const char *task, const char *quality,
                           mw_budget budget, mw_error *error) {
    const mw_method *method = name ? mw_method_find(name) : mw_method_at(0);
    if (!method && fill_by_model(p, name, task, quality, budget)) return MW_OK;
    if (!method) return mw_names_unknown(mw_method_name, "method", name, error);
    fill(p, method, task, quality, budget);
    return MW_OK;
}

/* A judge of whole sequences learns from those of one length. */
static mw_status check_length(const mw_preset *p, mw_error *error) {
    const int judge = mw_model_class_index(p->plan.scorer);
    const mw_model_class *class = mw_model_class_at(judge);
    const mw_field *field = class ? mw_fields_find(class->fields, "horizon", strlen("horizon")) : NULL;
    const int steps = field ? *(const int *)(const void *)(p->config[judge].bytes + field->offset) : 0;
    if (!steps || steps == p->plan.horizon) return MW_OK;
    return mw_fail(error, MW_ERR_ARGUMENT, "plan.scorer is %s, for %d steps, and plan.horizon is %d",
                   class->name, steps, p->plan.horizon);
}

static mw_status check_needs(const mw_preset *p, mw_error *error) {
    const mw_model_class *class;
    for (int i = 0; (class = mw_model_class_at(i)); i++)
        if (p->parts & 1u << i && mw_model_class_parts(i) & ~p->parts)
            return mw_fail(error, MW_ERR_ARGUMENT, "parts: %s needs %s beside it", class->name, class->needs);
    return MW_OK;
}

mw_status mw_preset_check(const mw_preset *p, mw_error *error) {
    const int flow = mw_model_class_for(MW_ROLE_PROPOSER);
    const mw_flow_settings *f = (const mw_flow_settings *)(const void *)&p->config[flow];
    const unsigned judges = p->parts & 1u << flow ? p->parts : ~0u; /* none is missed where nothing plans */
    if (p->parts & 1u << flow && p->plan.horizon > f->generated)
        return mw_fail(error, MW_ERR_ARGUMENT, "plan.horizon %d is more than flow.generated %d",
                       p->plan.horizon, f->generated);
    if (p->parts & 1u << flow && !(p->parts & 1u << mw_model_class_for(MW_ROLE_INVERSE)))
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "the flow is among the parts, and the inverse dynamics that find its actions are not");
    MW_TRY(check_needs(p, error));
    MW_TRY(mw_scorer_check(p->plan.scorer, judges, error));
    MW_TRY(check_length(p, error));
    if (p->plan.value_after > p->plan.horizon)
        return mw_fail(error, MW_ERR_ARGUMENT, "plan.value_after %d is more than plan.horizon %d",
                       p->plan.value_after, p->plan.horizon);
    if (p->plan.value_after && !mw_scorer_imagines(p->plan.scorer))
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "plan.value_after needs a scorer that imagines, and '%s' does not", p->plan.scorer);
    if (p->plan.value_after && !(judges & 1u << mw_model_class_for(MW_ROLE_VALUE)))
        return mw_fail(error, MW_ERR_ARGUMENT, "plan.value_after is %d, and the value is not among the parts",
                       p->plan.value_after);
    return MW_OK;
}

/* ---- out ---- */

bool mw_preset_field_at(const mw_preset *p, int index, mw_preset_field *field) {
    const mw_model_class *class;
    struct {
        const char *name;
        mw_fields fields;
        const void *object;
    } groups[MW_KINDS + 2] = {{"data", data_fields, p}};
    int count = 1;
    for (int i = 0; (class = mw_model_class_at(i)); i++, count++) {
        groups[count].name = class->name;
        groups[count].fields = class->fields;
        groups[count].object = &p->config[i];
    }
    groups[count].name = "plan";
    groups[count].fields = mw_plan_fields;
    groups[count++].object = &p->plan;
    for (int g = 0; g < count && index >= 0; index -= groups[g++].fields.count)
        if (index < groups[g].fields.count) {
            const mw_field *f = &groups[g].fields.list[index];
            *field = (mw_preset_field){.field = f};
            snprintf(field->name, sizeof field->name, "%s.%s", groups[g].name, f->name);
            mw_field_text(field->value, sizeof field->value, f, groups[g].object);
            return true;
        }
    return false;
}

json_t *mw_preset_json(const mw_preset *p) {
    char parts[MW_NAMES_TEXT];
    mw_names_text(parts, mw_model_class_name, p->parts, ",");
    json_t *out = json_pack("{s:s, s:s, s:o, s:o}", "method", p->method, "parts", parts, "data",
                            mw_fields_json(data_fields, p), "plan", mw_fields_json(mw_plan_fields, &p->plan));
    for (int i = 0; out && mw_model_class_at(i); i++)
        if (p->parts & 1u << i)
            json_object_set_new(out, mw_model_class_at(i)->name,
                                mw_fields_json(mw_model_class_at(i)->fields, &p->config[i]));
    return out;
}
