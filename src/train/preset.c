/* Presets of tasks, and their fields by name; see preset.h. */
#include "train/preset.h"

#include "model/flow/flow.h"

#include <string.h>

/* What differs from the defaults. Segments are short, because the cost of everything grows with them. */
typedef struct {
    const char *task, *settings, *quick;
} row;

/* clang-format off */
#define PARTS  "parts=flow,inverse,rwm "
#define ANT    "parts=flow,inverse,rwm,advantage flow.scale=1 rwm.dynamics_features=0 rwm.concat_agents=on rwm.steps=4000 " \
               "plan.action_offset=0.03 plan.temperature=0.5 plan.scorer=advantage "
#define BATTLE PARTS "flow.context=9 flow.generated=3 plan.horizon=3 plan.return_to_go=on "
#define STEPS(flow) "flow.steps=" flow " inverse.steps=" flow " "

static const row rows[] = {
    {"spread",   PARTS "plan.action_offset=0.3 plan.temperature=0.3 plan.warm_start=on",  STEPS("600") "rwm.steps=1000"},
    {"tag",      PARTS STEPS("2000") "rwm.steps=7000 plan.action_offset=0.1",             STEPS("600") "rwm.steps=1000"},
    {"world",    PARTS STEPS("2000") "rwm.steps=8000 plan.action_offset=0.1",             STEPS("600") "rwm.steps=1000"},
    {"2ant",     ANT STEPS("2000"),                                                       STEPS("600") "rwm.steps=1000"},
    {"4ant",     ANT STEPS("1800"),                                                       STEPS("600") "rwm.steps=1000"},
    {"3m",       BATTLE STEPS("1500") "rwm.steps=3000",                                   STEPS("600") "rwm.steps=1000"},
    {"8m",       BATTLE STEPS("700") "rwm.steps=1500",                                    STEPS("300") "rwm.steps=500"},
    {"5m_vs_6m", BATTLE STEPS("1000") "rwm.steps=2500",                                   STEPS("400") "rwm.steps=600"},
    {"2s3z",     PARTS STEPS("800") "flow.context=8 rwm.steps=2000",                      STEPS("300") "rwm.steps=500"},
    {"other",    PARTS,                                                                   STEPS("600") "rwm.steps=1000"},
};
/* clang-format on */

enum { ROWS = sizeof rows / sizeof rows[0] };

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

static const row *row_of(const char *task) {
    for (int i = 0; i < ROWS - 1; i++)
        if (!strcmp(rows[i].task, task)) return &rows[i];
    return &rows[ROWS - 1];
}

/* ---- fields by name ---- */

static bool begins(const char *text, const char *group, size_t *length) {
    *length = strlen(group);
    return !strncmp(text, group, *length) && text[*length] == '.';
}

static mw_status set_one(mw_preset *p, const char *text, mw_error *error) {
    const mw_model_class *class;
    char known[128] = "parts, data, plan";
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
        strcat(strcat(known, ", "), class->name);
    }
    return mw_fail(error, MW_ERR_ARGUMENT,
                   "'%.40s' sets nothing; group.name=value with a group of %s (all: mawam train "
                   "--list-settings)",
                   text, known);
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

mw_preset mw_preset_of(const char *task, mw_budget budget) {
    const row *r = row_of(task);
    const mw_model_class *class;
    mw_preset p = {0};
    snprintf(p.task, sizeof p.task, "%.63s", task);
    mw_fields_defaults(data_fields, &p);
    mw_fields_defaults(mw_plan_fields, &p.plan);
    for (int i = 0; (class = mw_model_class_at(i)); i++) mw_fields_defaults(class->fields, &p.config[i]);
    set_all(&p, r->settings, NULL); /* a test reads every row */
    if (budget == MW_BUDGET_QUICK) set_all(&p, r->quick, NULL);
    return p;
}

mw_status mw_preset_check(const mw_preset *p, mw_error *error) {
    const int flow = mw_model_class_index("flow"), scorer = mw_model_class_index(p->plan.scorer);
    const mw_flow_settings *f = (const mw_flow_settings *)(const void *)&p->config[flow];
    if (p->parts & 1u << flow && p->plan.horizon > f->generated)
        return mw_fail(error, MW_ERR_ARGUMENT, "plan.horizon %d is more than flow.generated %d",
                       p->plan.horizon, f->generated);
    if (scorer >= 0 && !(p->parts & 1u << scorer))
        return mw_fail(error, MW_ERR_ARGUMENT, "plan.scorer is %s, which is not among the parts",
                       p->plan.scorer);
    return MW_OK;
}

/* ---- out ---- */

static void parts_text(char *out, unsigned parts) {
    *out = 0;
    for (int i = 0; mw_model_class_at(i); i++)
        if (parts & 1u << i) strcat(strcat(out, *out ? "," : ""), mw_model_class_at(i)->name);
}

json_t *mw_preset_json(const mw_preset *p) {
    char parts[256];
    parts_text(parts, p->parts);
    json_t *out = json_pack("{s:s, s:o, s:o}", "parts", parts, "data", mw_fields_json(data_fields, p), "plan",
                            mw_fields_json(mw_plan_fields, &p->plan));
    for (int i = 0; out && mw_model_class_at(i); i++)
        if (p->parts & 1u << i)
            json_object_set_new(out, mw_model_class_at(i)->name,
                                mw_fields_json(mw_model_class_at(i)->fields, &p->config[i]));
    return out;
}

void mw_preset_list(FILE *out) {
    const mw_model_class *class;
    fputs("| task | differs from the defaults | quick |\n|---|---|---|\n", out);
    for (int r = 0; r < ROWS; r++)
        fprintf(out, "| %s | %s | %s |\n", rows[r].task, rows[r].settings, rows[r].quick);
    fputs("\n| setting | default | range | what it is |\n|---|---|---|---|\n", out);
    fputs("| parts | flow,inverse,rwm | names with commas | models that the bundle gets |\n", out);
    mw_fields_list(data_fields, "data.", out);
    for (int i = 0; (class = mw_model_class_at(i)); i++) {
        char prefix[MW_WORD + 1];
        snprintf(prefix, sizeof prefix, "%s.", class->name);
        mw_fields_list(class->fields, prefix, out);
    }
    mw_fields_list(mw_plan_fields, "plan.", out);
    fputs("\n| model | what it is |\n|---|---|\n", out);
    for (int i = 0; (class = mw_model_class_at(i)); i++)
        fprintf(out, "| %s | %s |\n", class->name, class->help);
}
