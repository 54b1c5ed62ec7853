/* The chapters on the method and on origin: drawings and algorithms as links to where the same is told here,
 * and the provenance of every setting. */
#include "report/page.h"

#include <string.h>

static const struct {
    const char *label, *file, *what;
} places[] = {
    {"teaser", "../docs/architecture.md", "the way of the data"},
    {"framework", "../docs/architecture.md", "the way of the data"},
    {"moe_arch", "../docs/training.md", "the world model"},
    {"plan", "../src/plan/planner.c", "the planner"},
    {"policy_train", "../docs/training.md", "training"},
    {"wm_train", "../docs/training.md", "training"},
    {"wm_notation", "../docs/words.md", "the table of words and symbols"},
    {"mpe_fork", "../docs/evaluation.md", "replays"},
    {"forward_keyframes", "../docs/evaluation.md", "replays"},
};

static void link_of(mw_page *page, const char *reason) {
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (!strcmp(places[i].label, page->label))
            fprintf(page->out, "<p>%s Here: <a href='%s'>%s</a>.</p>\n", reason, places[i].file,
                    places[i].what);
}

void mw_item_drawing(mw_page *page) {
    link_of(page, "It holds no measurement, so there is nothing to stand beside it.");
}

void mw_item_algorithm(mw_page *page) {
    link_of(page, "Code and text stand for the pseudocode.");
}

/* ---- origin ---- */

static const char *const origins[] = {"mawam", "budget", "seed", "cpu"};
enum { ORIGINS = sizeof origins / sizeof *origins };

static void text_cell(mw_sheet *sheet, const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    mw_sheet_text(sheet, "%s", text ? text : "");
}

/* A file without a provenance of its own tells it by a part that was trained for it: one that plays as an arm
 * of its own name. */
static const json_t *compared_part(const json_t *summary) {
    const json_t *arms = mw_json_at(summary, "eval.arms"), *found = NULL;
    const char *name;
    json_t *part;
    json_object_foreach(json_object_get(summary, "training"), name, part) {
        if (json_object_get(arms, name)) found = part;
    }
    return found;
}

static void origin_row(mw_sheet *sheet, const char *name, const char *place, const json_t *summary) {
    const json_t *origin = json_object_get(summary, "provenance"), *study = json_object_get(summary, "study");
    if (!summary) return;
    mw_sheet_row(sheet, name, NULL);
    mw_sheet_text(sheet, "%s", place);
    const json_t *eval = json_object_get(summary, "eval"); /* as mawam eval writes it */
    text_cell(sheet, origin ? origin : study ? study : eval, "revision");
    const json_t *part = compared_part(summary), *details = json_object_get(part, "details");
    for (int k = 0; k < ORIGINS; k++) {
        const json_t *told = json_object_get(eval, origins[k]) ? eval : part;
        text_cell(sheet, origin ? origin : told, origins[k]);
    }
    text_cell(sheet, origin ? summary : eval, "rules");
    mw_sheet_number(sheet, "%.0f", mw_json_number(summary, "eval.seeds"));
    mw_sheet_number(sheet, "%.0f", mw_json_number(summary, "eval.episodes"));
    const json_t *data = json_object_get(summary, "data");
    text_cell(sheet, data ? data : part, data ? "checksum" : "data");
    text_cell(sheet, origin ? summary : study, "bundle");
    const json_t *by = json_object_get(eval, "command") ? eval : details;
    text_cell(sheet, origin ? origin : by, "command");
}

static void origin_rows(mw_sheet *sheet, const mw_study_table *table, const char *place) {
    for (int i = 0; i < MW_TABLE_ROWS; i++)
        origin_row(sheet, table->rows[i].name, place, table->rows[i].summary);
}

static void baseline_rows(mw_sheet *sheet, const mw_sources *s) {
    char place[96];
    for (int m = 0; m < MW_ARMS; m++)
        for (int i = 0; i < MW_TABLE_ROWS && mw_source_baseline_place(m, place); i++)
            origin_row(sheet, s->table.rows[i].name, place, s->baseline_files[m][i]);
}

/* Files that single commands write too, with less to say of themselves. */
static void file_row(mw_sheet *sheet, const char *name, const char *place, const json_t *file) {
    if (!file) return;
    const json_t *study = json_object_get(file, "study");
    mw_sheet_row(sheet, name, NULL);
    mw_sheet_text(sheet, "%s", place);
    text_cell(sheet, study ? study : file, "revision");
    text_cell(sheet, file, "mawam");
    for (int k = 1; k + 1 < ORIGINS; k++) mw_sheet_text(sheet, "%s", "");
    text_cell(sheet, file, "cpu");
    text_cell(sheet, file, "rules");
    mw_sheet_number(sheet, "%.0f", mw_json_number(file, "inputs.seeds"));
    mw_sheet_number(sheet, "%.0f", mw_json_number(file, "inputs.episodes"));
    mw_sheet_text(sheet, "%s", "");
    mw_sheet_text(sheet, "%s", mw_source_bundle(file) ? mw_source_bundle(file) : "");
    text_cell(sheet, file, "command");
}

void mw_item_origin(mw_page *page) {
    const mw_sources *s = page->sources;
    mw_sheet *sheet = mw_page_settings_sheet();
    mw_sheet_column(sheet, NULL, "place", "folder of its file");
    mw_sheet_column(sheet, NULL, "revision", "that wrote it");
    for (int k = 0; k < ORIGINS; k++) mw_sheet_column(sheet, NULL, origins[k], NULL);
    mw_sheet_column(sheet, NULL, "rules", "version of the world's rules");
    mw_sheet_column(sheet, NULL, "seeds", "of the evaluation");
    mw_sheet_column(sheet, NULL, "episodes", "of each seed");
    mw_sheet_column(sheet, NULL, "data", "checksum");
    mw_sheet_column(sheet, NULL, "bundle", "checksum of its file");
    mw_sheet_column(sheet, NULL, "command", NULL);
    origin_rows(sheet, &s->table, "settings");
    char place[48];
    for (int k = 0; k < MW_BRANCHES; k++) {
        snprintf(place, sizeof place, "%s/settings", mw_branch_folders[k]);
        origin_rows(sheet, &s->branches[k], place);
    }
    origin_rows(sheet, &s->selectors, MW_SELECTORS_FOLDER);
    baseline_rows(sheet, s);
    for (int k = 0; k < MW_SOURCES_SEEDS; k++) {
        snprintf(place, sizeof place, "seeds/%d/settings", k + 1);
        origin_rows(sheet, &s->seeds[k], place);
    }
    for (int k = 0; k < MW_SOURCE_KINDS; k++)
        for (int i = 0; i < MW_TABLE_ROWS; i++)
            file_row(sheet, page->table->rows[i].name, mw_source_folders[k], s->files[k][i]);
    file_row(sheet, "cost", ".", s->cost);
    mw_page_table(page, sheet, NULL);
}
