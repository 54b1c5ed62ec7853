/* index.html: the study in a few numbers that no single setting can rule, the lines that stand next to the
 * paper's, and every table and figure of the paper with what there is of ours. */
#include "report/page.h"
#include "report/protocol.h"
#include "report/report.h"

#include <math.h>

static void tile(FILE *out, const char *value, const char *what, const char *paper) {
    fputs("<div class='tile'><b>", out);
    mw_html_escape(out, value);
    fputs("</b><span>", out);
    mw_html_escape(out, what);
    fputs("</span><span>", out);
    mw_html_escape(out, paper);
    fputs("</span></div>\n", out);
}

static void gain_tiles(FILE *out, const mw_study_table *t) {
    char value[64], what[200], paper[96];
    const mw_paper_gains *p = mw_paper_gains_of(NULL);
    const mw_comparison published =
                            mw_table_compare(t, NULL, MW_COL_PUBLISHED_PLAN, MW_COL_PUBLISHED_REACTIVE),
                        gain = mw_table_compare_arms(t, NULL, MW_ARM_PLAN, MW_ARM_REACTIVE),
                        random = mw_table_compare_arms(t, NULL, MW_ARM_PAPER, MW_ARM_RANDOM);
    snprintf(value, sizeof value, "%d of %d", gain.wins, gain.count);
    snprintf(what, sizeof what,
             "settings where planning beats reactive; %d with an interval above zero, %d below; for all "
             "settings together (Holm) %d and %d",
             gain.clear_wins, gain.clear_losses, gain.firm_wins, gain.firm_losses);
    snprintf(paper, sizeof paper, "paper: %d of %d", p->improved, p->count);
    tile(out, gain.count ? value : "-", what, paper);
    snprintf(value, sizeof value, "%+.1f%%", 100 * gain.median);
    snprintf(paper, sizeof paper, "paper: %+.1f%%, from its table", 100 * published.median);
    tile(out, isnan(gain.median) ? "-" : value, "median relative gain over reactive", paper);
    snprintf(value, sizeof value, "%d of %d", random.wins, random.count);
    snprintf(what, sizeof what,
             "settings where the world model's choice beats a random one among candidates drawn alike; %d "
             "with an interval above zero, %d below",
             random.clear_wins, random.clear_losses);
    snprintf(paper, sizeof paper, "paper: %d of %d", p->random_improved, p->count);
    tile(out, random.count ? value : "-", what, paper);
}

static void tiles(FILE *out, const mw_study_table *t) {
    char value[64], what[96], paper[64];
    double x[MW_TABLE_ROWS];
    const int shares = mw_table_collect(t, NULL, MW_COL_SHARE, x);
    const double rank = mw_table_mean(t, NULL, MW_COL_SNIPPET_SPEARMAN),
                 ms = mw_table_median(t, NULL, MW_COL_OF(MW_ARM_PLAN, MW_FIELD_MS));
    fputs("<div class='tiles'>\n", out);
    gain_tiles(out, t);
    snprintf(value, sizeof value, "%.0f%%", 100 * mw_quantile_of(x, shares, 0.5));
    snprintf(what, sizeof what,
             "of what the true simulator would gain: median of %d setting%s where it clearly gains", shares,
             mw_plural(shares));
    tile(out, shares ? value : "-", what, "");
    snprintf(value, sizeof value, "%.2f", rank);
    snprintf(paper, sizeof paper, "paper: %.2f, mean", mw_paper_gains_of(NULL)->spearman);
    tile(out, isnan(rank) ? "-" : value, "rank correlation of snippets at H = 8, mean", paper);
    snprintf(value, sizeof value, "%.1f ms", ms);
    char candidates[48];
    snprintf(what, sizeof what, "a planned decision%s, while the study ran, median",
             mw_candidates_words(candidates, t));
    tile(out, isnan(ms) ? "-" : value, what, "");
    fputs("</div>\n", out);
}

static void missing(FILE *out, const mw_study_table *t) {
    if (t->present == MW_TABLE_ROWS) return;
    fputs("<p class='missing'>Missing so far:", out);
    for (int i = 0, count = 0; i < MW_TABLE_ROWS; i++)
        if (!t->rows[i].summary) fprintf(out, "%s %s", count++ ? "," : "", t->rows[i].name);
    fputs(".</p>\n", out);
}

static void differences(FILE *out, const mw_study_table *t) {
    char text[MW_PROTOCOL_TEXT];
    int count = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        if (!mw_protocol_difference(text, t, i)) continue;
        fputs(count++ ? "<br>\n" : "<p class='missing'>Not made like the others of their family:<br>\n", out);
        fprintf(out, "%s: ", t->rows[i].name);
        mw_html_escape(out, text);
    }
    if (count) fputs("</p>\n", out);
}

/* Ours, and what they are held against. */
static void line_table(mw_page *page, const mw_report_line *lines, int count, const char *against,
                       const char *words, const char *const marks[2]) {
    mw_sheet *sheet = mw_sheet_create();
    mw_sheet_column(sheet, NULL, "what", NULL);
    mw_sheet_column(sheet, NULL, "mawam", NULL);
    mw_sheet_column(sheet, NULL, against, NULL);
    mw_sheet_column(sheet, NULL, "", words);
    for (int i = 0; i < count; i++) {
        mw_sheet_row(sheet, lines[i].what, NULL);
        mw_sheet_text(sheet, "%s", lines[i].ours);
        mw_sheet_strong(sheet);
        mw_sheet_text(sheet, "%s", lines[i].goal);
        mw_sheet_text(sheet, "%s", lines[i].met >= 0 ? marks[lines[i].met] : "");
    }
    mw_page_table(page, sheet, NULL);
}

static void overview(mw_page *page) {
    mw_report_line lines[MW_REPORT_LINES];
    int count = mw_report_lines(page->table, lines);
    fputs("<section id='summary' class='wrap'><h2>Summary</h2>\n", page->out);
    line_table(page, lines, count, "paper",
               "a mark appears once all settings of a line are there; a gain is reached if its mean and its "
               "median both reach the paper's mean",
               (const char *const[]){"below", "reached"});
    fputs("</section>\n<section id='goals' class='wrap'><h2>What was to be reached</h2>\n", page->out);
    mw_page_say(page, "Goals above the paper's figures, set before the evaluation seeds were played.");
    count = mw_report_goals(page->table, lines);
    line_table(page, lines, count, "goal", "a mark appears once all settings are there",
               (const char *const[]){"not reached", "reached"});
    fputs("</section>\n", page->out);
}

static void contents(mw_page *page, const int *shown) {
    const mw_item *item;
    mw_sheet *sheet = mw_sheet_create();
    mw_sheet_column(sheet, NULL, "label", "the paper's own; ours begin with own");
    mw_sheet_column(sheet, NULL, "shows", NULL);
    mw_sheet_column(sheet, NULL, "chapter", NULL);
    mw_sheet_column(sheet, NULL, "here", "tables and figures on its page");
    for (int i = 0; (item = mw_item_at(i)); i++) {
        char link[160];
        snprintf(link, sizeof link, "%s.html#%s", item->chapter, item->label);
        mw_sheet_row(sheet, item->label, link);
        mw_sheet_text(sheet, "%s", item->title);
        mw_sheet_text(sheet, "%s", item->chapter);
        if (shown[i])
            mw_sheet_text(sheet, "%d", shown[i]);
        else
            mw_sheet_text(sheet, "the reason");
    }
    fputs("<section id='contents' class='wrap'><h2>Every table and figure</h2>\n", page->out);
    mw_page_table(page, sheet, NULL);
    fputs("</section>\n", page->out);
}

mw_status mw_page_index(const mw_sources *sources, const int *shown, FILE *out) {
    mw_page page = {.out = out, .sources = sources, .table = &sources->table, .label = "summary"};
    mw_page_begin(out, "results", NULL);
    const bool several = json_object_size(sources->revisions) > 1;
    char revisions[1024];
    mw_sources_revisions_text(sources, revisions, sizeof revisions);
    fprintf(out,
            "<header><h1>Planning with frozen multi-agent policies</h1>\n"
            "<p>Results of mawam %s on %d of %d settings, next to the paper's. %s, <code>",
            mw_version(), sources->table.present, MW_TABLE_ROWS,
            several ? "Of several revisions" : "All of one revision");
    mw_html_escape(out, revisions);
    fputs("</code>.</p></header>\n", out);
    tiles(out, &sources->table);
    missing(out, &sources->table);
    differences(out, &sources->table);
    overview(&page);
    page.label = "contents";
    page.files = 0;
    contents(&page, shown);
    mw_page_finish(out);
    return page.status;
}
