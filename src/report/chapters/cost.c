/* The chapter on cost: milliseconds of generation and scoring beside the paper's, and single decisions. */
#include "report/page.h"

#include <math.h>
#include <string.h>

static const char command[] =
    "mawam bench --cost study/bundles/spread-medium.safetensors "
    "study/bundles/2ant-medium.safetensors study/bundles/3m-medium.safetensors --json > "
    "study/cost.json";

/* The entry of an array of objects whose key is this number. */
static const json_t *entry_of(const json_t *array, const char *key, double value) {
    for (size_t i = 0; i < json_array_size(array); i++)
        if (mw_json_number(json_array_get(array, i), key) == value) return json_array_get(array, i);
    return NULL;
}

static void cost_cells(mw_sheet *sheet, double generation, double scoring, double total, double share) {
    mw_sheet_number(sheet, "%.1f", generation);
    mw_sheet_number(sheet, "%.1f", scoring);
    mw_sheet_number(sheet, "%.1f", total);
    mw_sheet_number(sheet, "%.1f", share);
}

/* The profile of a setting; NULL: it was not measured. */
static const json_t *profile_of(const json_t *settings, const char *setting) {
    for (size_t i = 0; i < json_array_size(settings); i++) {
        const json_t *entry = json_array_get(settings, i);
        const char *name = json_string_value(json_object_get(entry, "setting"));
        if (name && !strcmp(name, setting)) return entry;
    }
    return NULL;
}

/* Ours over the settings that the paper's is a mean of, as far as they were measured. */
static double mean_cost(const json_t *settings, int candidates, const char *what) {
    const char *setting;
    double sum = 0;
    int n = 0;
    for (int i = 0; (setting = mw_paper_cost_setting(i)); i++) {
        const json_t *points = json_object_get(profile_of(settings, setting), "points");
        const double ms = mw_json_number(entry_of(points, "M", candidates), what);
        if (isnan(ms)) continue;
        sum += ms;
        n++;
    }
    return n ? sum / n : NAN;
}

static void cost_columns(mw_sheet *sheet, const char *group) {
    mw_sheet_column(sheet, group, "generation, ms", "from observations to M action sequences");
    mw_sheet_column(sheet, group, "scoring, ms", NULL);
    mw_sheet_column(sheet, group, "total, ms", NULL);
    mw_sheet_column(sheet, group, "share, %", "of scoring in the total");
}

/* What ours was measured on. */
static void say_where(mw_page *page) {
    const json_t *root = page->sources->cost, *settings = mw_json_at(root, "cost.settings");
    const char *cpu = json_string_value(json_object_get(root, "cpu"));
    const char *setting;
    char names[256] = "";
    for (int i = 0; (setting = mw_paper_cost_setting(i)); i++) {
        const size_t used = strlen(names);
        if (profile_of(settings, setting))
            snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", setting);
    }
    const double threads = mw_json_number(root, "threads"), guidance = mw_json_number(root, "cost.guidance");
    char guided[64] = "the bundles' own guidance";
    if (!isnan(guidance)) snprintf(guided, sizeof guided, "guidance %g", guidance);
    mw_page_say(page,
                "Ours: %.128s, %.0f thread%s, %.0f environments, K = %.0f, %s; mean of those of the paper's "
                "settings that were measured: %s.",
                cpu ? cpu : "", threads, threads == 1 ? "" : "s", mw_json_number(root, "cost.envs"),
                mw_json_number(root, "cost.K"), guided, names[0] ? names : "none");
}

void mw_item_cost(mw_page *page) {
    const json_t *settings = mw_json_at(page->sources->cost, "cost.settings");
    const mw_paper_cost *p;
    mw_sheet *sheet = mw_sheet_create();
    if (settings)
        say_where(page);
    else
        mw_page_missing(page, "no cost profile", command);
    mw_sheet_column(sheet, NULL, "M", "candidates");
    if (settings) cost_columns(sheet, "mawam");
    cost_columns(sheet, "paper, RTX 3090");
    cost_columns(sheet, "paper, A100");
    for (int i = 0; (p = mw_paper_cost_at(i)); i++) {
        char name[16];
        const double generation = mean_cost(settings, p->candidates, "generate"),
                     scoring = mean_cost(settings, p->candidates, "score"), total = generation + scoring;
        snprintf(name, sizeof name, "%d", p->candidates);
        mw_sheet_row(sheet, name, NULL);
        if (settings) cost_cells(sheet, generation, scoring, total, 100 * scoring / total);
        cost_cells(sheet, p->rtx.generation, p->rtx.scoring, p->rtx.total, p->rtx.share);
        cost_cells(sheet, p->a100.generation, p->a100.scoring, p->a100.total, p->a100.share);
    }
    mw_page_table(page, sheet, NULL);
}

static void batched_cells(mw_sheet *sheet, double sequential, double batched) {
    mw_sheet_number(sheet, "%.1f", sequential);
    mw_sheet_number(sheet, "%.1f", batched);
    mw_sheet_number(sheet, "%.1f", sequential / batched);
}

static void batched_columns(mw_sheet *sheet, const char *group) {
    mw_sheet_column(sheet, group, "sequential, ms", "M passes");
    mw_sheet_column(sheet, group, "batched, ms", "one pass");
    mw_sheet_column(sheet, group, "ratio", NULL);
}

void mw_item_cost_batched(mw_page *page) {
    const json_t *settings = mw_json_at(page->sources->cost, "cost.settings");
    const mw_paper_batched *p;
    mw_sheet *sheet = mw_sheet_create();
    if (settings)
        mw_page_say(page, "Ours: %.0f environments, M = %.0f.",
                    mw_json_number(page->sources->cost, "cost.envs"),
                    mw_json_number(json_array_get(settings, 0), "batching.M"));
    else
        mw_page_missing(page, "no cost profile", command);
    mw_sheet_column(sheet, NULL, "task", "medium data");
    mw_sheet_column(sheet, NULL, "agents", NULL);
    mw_sheet_column(sheet, NULL, "alike", "settings of the same shape in the paper's study");
    if (settings) {
        batched_columns(sheet, "mawam");
        batched_columns(sheet, "mawam, one thread");
    }
    batched_columns(sheet, "paper, RTX 3090");
    batched_columns(sheet, "paper, A100");
    for (int i = 0; (p = mw_paper_batched_at(i)); i++) {
        char medium[64];
        snprintf(medium, sizeof medium, "%s-medium", p->task);
        const json_t *ours = profile_of(settings, medium);
        mw_sheet_row(sheet, p->task, NULL);
        mw_sheet_number(sheet, "%.0f", p->agents);
        mw_sheet_number(sheet, "%.0f", p->settings);
        if (settings) {
            batched_cells(sheet, mw_json_number(ours, "batching.sequential"),
                          mw_json_number(ours, "batching.batched"));
            batched_cells(sheet, mw_json_number(ours, "batching_one_thread.sequential"),
                          mw_json_number(ours, "batching_one_thread.batched"));
        }
        batched_cells(sheet, p->rtx.sequential, p->rtx.batched);
        batched_cells(sheet, p->a100.sequential, p->a100.batched);
    }
    mw_page_table(page, sheet, NULL);
}

/* ---- decisions ---- */

void mw_item_decisions(mw_page *page) {
    static const mw_column_id stages[] = {MW_COL_SECONDS_DATA, MW_COL_SECONDS_TRAIN, MW_COL_SECONDS_EVAL,
                                          MW_COL_SECONDS_DIAGNOSE};
    static const char *const names[] = {"data", "train", "evaluate", "diagnose"};
    mw_sheet *sheet = mw_page_settings_sheet();
    double candidates[MW_TABLE_ROWS];
    mw_page_sizes(page, "Candidates (M)", candidates,
                  mw_table_collect(page->table, NULL, MW_COL_EVAL_M, candidates));
    const double planned = mw_table_median(page->table, NULL, MW_COL_OF(MW_ARM_PLAN, MW_FIELD_MS)),
                 reactive = mw_table_median(page->table, NULL, MW_COL_OF(MW_ARM_REACTIVE, MW_FIELD_MS));
    if (isnan(planned))
        mw_page_missing(page, "no planned decision was timed", "mawam study run --dir study --resume");
    else
        mw_page_say(page,
                    "Median over settings, while the study ran and with whatever else ran beside it: %.1f ms "
                    "a planned decision, %.1f ms a reactive one. Alone on the machine: docs/speed.md.",
                    planned, reactive);
    mw_sheet_column(sheet, "planning, ms", "generation", NULL);
    mw_sheet_column(sheet, "planning, ms", "scoring", NULL);
    mw_sheet_column(sheet, "planning, ms", "decision", "median");
    mw_sheet_column(sheet, "planning, ms", "95%", "of decisions are faster");
    mw_sheet_column(sheet, "reactive, ms", "decision", "median");
    for (int k = 0; k < 4; k++) mw_sheet_column(sheet, "stages of the study, s", names[k], NULL);
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &page->table->rows[i];
        const double *plan = &row->value[MW_COL_OF(MW_ARM_PLAN, 0)];
        mw_page_setting(page, sheet, row);
        mw_sheet_number(sheet, "%.2f", plan[MW_FIELD_MS_GENERATION]);
        mw_sheet_number(sheet, "%.2f", plan[MW_FIELD_MS_SCORING]);
        mw_sheet_number(sheet, "%.2f", plan[MW_FIELD_MS]);
        mw_sheet_number(sheet, "%.2f", plan[MW_FIELD_MS_95]);
        mw_sheet_number(sheet, "%.2f", row->value[MW_COL_OF(MW_ARM_REACTIVE, MW_FIELD_MS)]);
        for (int k = 0; k < 4; k++) mw_sheet_number(sheet, "%.0f", row->value[stages[k]]);
    }
    mw_page_table(page, sheet, NULL);
}
