/* All settings as Markdown, for people and docs/settings.md: what each method sets, in what the methods
 * differ, every setting with its range and meaning. */
#include "train/methods.h"
#include "train/preset.h"

#include <string.h>

static void list_methods(FILE *out) {
    const mw_method *method;
    for (int i = 0; (method = mw_method_at(i)); i++) {
        fprintf(out, "| method %s | differs from the defaults | quick |\n|---|---|---|\n", method->name);
        fprintf(out, "| all tasks | %s | |\n", method->common);
        for (const mw_method_row *r = method->rows; r < method->rows + method->count; r++)
            fprintf(out, "| %s | %s | %s |\n", r->task, r->settings, r->quick);
        fputs("\n", out);
    }
}

/* The values that a setting has in the tasks of a method, each once, in the order of its rows. */
static void values_of(char *out, size_t size, const mw_method *method, int index) {
    char seen[16][MW_WORD];
    int count = 0;
    size_t used = 0;
    *out = 0;
    for (int r = 0; r < method->count - 1; r++) {
        mw_preset preset;
        mw_preset_field field;
        bool known = false;
        mw_preset_choose(&preset, method->name, method->rows[r].task, "", MW_BUDGET_FULL, NULL);
        mw_preset_field_at(&preset, index, &field);
        for (int i = 0; i < count; i++) known |= !strcmp(seen[i], field.value);
        if (known || count == 16 || used >= size) continue;
        strcpy(seen[count++], field.value);
        used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", field.value);
    }
}

/* Settings in which the methods differ, in any task. */
static void list_differences(FILE *out) {
    mw_preset preset = mw_preset_of("other", MW_BUDGET_FULL);
    mw_preset_field field;
    const mw_method *method;
    fputs("| setting, by task where there are several |", out);
    for (int m = 0; (method = mw_method_at(m)); m++) fprintf(out, " %s |", method->name);
    fputs("\n|---|", out);
    for (int m = 0; mw_method_at(m); m++) fputs("---|", out);
    fputs("\n", out);
    for (int i = 0; mw_preset_field_at(&preset, i, &field); i++) {
        char first[256], values[256];
        bool differs = false;
        values_of(first, sizeof first, mw_method_at(0), i);
        for (int m = 1; (method = mw_method_at(m)); m++) {
            values_of(values, sizeof values, method, i);
            differs |= strcmp(values, first) != 0;
        }
        if (!differs) continue;
        fprintf(out, "| %s | %s |", field.name, first);
        for (int m = 1; (method = mw_method_at(m)); m++) {
            values_of(values, sizeof values, method, i);
            fprintf(out, " %s |", values);
        }
        fputs("\n", out);
    }
}

void mw_preset_list(FILE *out) {
    const mw_model_class *class;
    mw_preset preset = mw_preset_of("other", MW_BUDGET_FULL);
    mw_preset_field field;
    list_methods(out);
    list_differences(out);
    fputs("\n| setting | default | range | what it is |\n|---|---|---|---|\n", out);
    fputs("| parts | flow,inverse,rwm | names with commas | models that the bundle gets |\n", out);
    for (int i = 0; mw_preset_field_at(&preset, i, &field); i++) {
        char range[128];
        mw_field_range(range, sizeof range, field.field);
        fprintf(out, "| %s | %s | %s | %s |\n", field.name, field.field->initial, range, field.field->help);
    }
    fputs("\n| model | in | has | after |\n|---|---|---|---|\n", out);
    for (int i = 0; (class = mw_model_class_at(i)); i++)
        for (const mw_constants *row = class->constants; row && row->where; row++)
            fprintf(out, "| %s | %s | %s | %s |\n", class->name, row->where, row->settings, row->source);
    fputs("\n| model | what it is |\n|---|---|\n", out);
    for (int i = 0; (class = mw_model_class_at(i)); i++)
        fprintf(out, "| %s | %s |\n", class->name, class->help);
}

void mw_method_list(FILE *out) {
    const mw_model_class *class;
    fputs("| method | idea | actions | an agent sees | source | how sure |\n|---|---|---|---|---|---|\n",
          out);
    for (int i = 0; mw_method_at(i); i++)
        fprintf(out, "| %s | %s | all | all | %s | |\n", mw_method_at(i)->name, mw_method_at(i)->help,
                i ? "MA-WAM 2026" : "this project");
    for (int i = 0; (class = mw_model_class_at(i)); i++) {
        const mw_policy_class *p = class->policy;
        if (!p) continue;
        fprintf(out, "| %s | %s | %s | %s | %s | %s |\n", class->name, class->help,
                class->real_only       ? "real"
                : class->discrete_only ? "discrete"
                                       : "all",
                p->sees, p->source, p->certain);
    }
}
