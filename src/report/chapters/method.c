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
    {"wm_notation", "../docs/architecture.md", "the table of words and symbols"},
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

static void text_cell(mw_sheet *sheet, const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    mw_sheet_text(sheet, "%s", text ? text : "");
}

void mw_item_origin(mw_page *page) {
    static const char *const keys[] = {"mawam", "budget", "seed", "cpu"};
    mw_sheet *sheet = mw_page_settings_sheet();
    for (int k = 0; k < 4; k++) mw_sheet_column(sheet, NULL, keys[k], NULL);
    mw_sheet_column(sheet, NULL, "rules", "version of the world's rules");
    mw_sheet_column(sheet, NULL, "seeds", "of the evaluation");
    mw_sheet_column(sheet, NULL, "episodes", "of each seed");
    mw_sheet_column(sheet, NULL, "data", "checksum");
    mw_sheet_column(sheet, NULL, "bundle", "checksum");
    mw_sheet_column(sheet, NULL, "command", NULL);
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &page->table->rows[i];
        const json_t *origin = json_object_get(row->summary, "provenance");
        mw_page_setting(page, sheet, row);
        for (int k = 0; k < 4; k++) text_cell(sheet, origin, keys[k]);
        text_cell(sheet, row->summary, "rules");
        mw_sheet_number(sheet, "%.0f", row->value[MW_COL_EVAL_SEEDS]);
        mw_sheet_number(sheet, "%.0f", row->value[MW_COL_EVAL_EPISODES]);
        text_cell(sheet, json_object_get(row->summary, "data"), "checksum");
        text_cell(sheet, row->summary, "bundle");
        text_cell(sheet, origin, "command");
    }
    mw_page_table(page, sheet, NULL);
}
