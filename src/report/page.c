/* Pages of a report: their frame, and the blocks that items are written with; see page.h. */
#include "report/page.h"

#include "core/file.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

/* ---- frame ---- */

void mw_page_begin(FILE *out, const char *title, const char *chapter) {
    const mw_chapter *c;
    fputs("<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
          "<meta name='viewport' content='width=device-width, initial-scale=1'>\n<title>mawam: ",
          out);
    mw_html_escape(out, title);
    fprintf(out, "</title>\n<style id='style'>\n%s%s%s</style>\n</head>\n<body>\n<nav>", mw_svg_variables,
            mw_svg_style, mw_page_style);
    fprintf(out, "<a href='index.html'%s>Results</a>", chapter ? "" : " aria-current='page'");
    for (int i = 0; (c = mw_chapter_at(i)); i++)
        fprintf(out, "<a href='%s.html'%s>%s</a>", c->id,
                chapter && !strcmp(chapter, c->id) ? " aria-current='page'" : "", c->title);
    fputs("</nav>\n<main>\n", out);
}

void mw_page_finish(FILE *out) {
    fprintf(out,
            "<footer>SMAC: the paper's battles are StarCraft's, ours those of mawam's own simulator. Tag and "
            "world: our prey is not the paper's, which is not public. On those tasks numbers are alike, not "
            "equal. Written by mawam study report, version %s.</footer>\n</main>\n<script>\n%s</script>\n"
            "</body>\n</html>\n",
            mw_version(), mw_page_script);
}

/* ---- blocks ---- */

void mw_page_say(mw_page *page, const char *format, ...) {
    char text[1024];
    va_list list;
    va_start(list, format);
    mw_text_format(text, sizeof text, format, list);
    va_end(list);
    fputs("<p>", page->out);
    mw_html_escape(page->out, text);
    fputs("</p>\n", page->out);
}

void mw_page_sizes(mw_page *page, const char *what, const double *values, int n) {
    const double least = mw_quantile_of(values, n, 0), most = mw_quantile_of(values, n, 1);
    if (least < most)
        mw_page_say(page, "%s a setting: %.0f to %.0f.", what, least, most);
    else if (least == most)
        mw_page_say(page, "%s a setting: %.0f.", what, most);
}

void mw_page_missing(mw_page *page, const char *what, const char *command) {
    fputs("<p class='missing'>No results of ours: ", page->out);
    mw_html_escape(page->out, what);
    fputs(". Make them by <code>", page->out);
    mw_html_escape(page->out, command);
    fputs("</code></p>\n", page->out);
}

/* The text as part of a data: address within single quotes. */
static void put_address(FILE *out, const char *text) {
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c <= ' ' || c >= 127 || strchr("%#\"'<>&", c))
            fprintf(out, "%%%02X", c);
        else
            fputc(c, out);
    }
}

static void downloads(mw_page *page, mw_sheet *sheet, bool figure) {
    char *text = NULL, name[96];
    size_t size = 0;
    FILE *csv = open_memstream(&text, &size);
    const bool complete = mw_sheet_complete(sheet);
    if (csv) mw_sheet_csv(sheet, csv);
    if (!csv || fclose(csv) != 0 || !complete) page->status = MW_ERR_MEMORY;
    snprintf(name, sizeof name, "%.64s%s%.0d", page->label, page->files ? "-" : "", page->files);
    for (char *c = name; *c; c++)
        if (*c == ':' || *c == ' ' || *c == ',') *c = '-';
    fprintf(page->out, "<div class='downloads'><a download='%s.csv' href='data:text/csv;charset=utf-8,",
            name);
    if (page->status == MW_OK) put_address(page->out, text);
    fputs("'>CSV</a>", page->out);
    if (figure) fprintf(page->out, "<button type='button' class='svg' data-name='%s'>SVG</button>", name);
    fputs("</div>", page->out);
    free(text);
    mw_sheet_free(sheet);
    page->files++;
    page->shown++;
}

static void caption_of(mw_page *page, const char *caption) {
    if (!caption) return;
    fputs("<h4>", page->out);
    mw_html_escape(page->out, caption);
    fputs("</h4>\n", page->out);
}

void mw_page_table(mw_page *page, mw_sheet *sheet, const char *caption) {
    fputs("<div class='card'>", page->out);
    caption_of(page, caption);
    fputs("<div class='scroll'>", page->out);
    mw_sheet_html(sheet, page->out);
    fputs("</div>", page->out);
    downloads(page, sheet, false);
    fputs("</div>\n", page->out);
}

void mw_page_figure_begin(mw_page *page, const char *caption) {
    fputs("<figure class='card'>", page->out);
    caption_of(page, caption);
    fputs("<div class='panels'>\n", page->out);
}

void mw_page_figure_end(mw_page *page, mw_sheet *sheet) {
    fputs("</div>", page->out);
    downloads(page, sheet, true);
    fputs("</figure>\n", page->out);
}

mw_sheet *mw_page_settings_sheet(void) {
    mw_sheet *sheet = mw_sheet_create();
    mw_sheet_column(sheet, NULL, "setting", "task and quality of its data; a link leads to a replay");
    return sheet;
}

void mw_page_setting(mw_page *page, mw_sheet *sheet, const mw_study_row *row) {
    char path[1200], link[96];
    mw_sheet_section(sheet, mw_report_family_title(row->family));
    snprintf(link, sizeof link, "replays/%.64s.html", row->name);
    snprintf(path, sizeof path, "%.900s/%s", page->sources->output ? page->sources->output : ".", link);
    mw_sheet_row(sheet, row->name, mw_file_exists(path) ? link : NULL);
}

const char *mw_row_format(const mw_study_row *row) {
    return mw_family_find(row->family)->format;
}

const char *mw_row_signed_format(const mw_study_row *row) {
    return mw_family_find(row->family)->signed_format;
}

const char *mw_comparison_text(char out[160], const mw_comparison *c) {
    if (!c->count)
        snprintf(out, 160, "-");
    else if (!c->intervals)
        snprintf(out, 160, "%d of %d", c->wins, c->count);
    else
        snprintf(out, 160, "%d of %d (%d with an interval above zero), worse in %d (%d below zero)", c->wins,
                 c->count, c->clear_wins, c->losses, c->clear_losses);
    return out;
}

void mw_page_arm_bars(mw_page *page, const mw_study_table *t, const char *family, const bool *taking,
                      const int *arms, const char *const *titles, int count) {
    enum { MOST = MW_TABLE_ROWS * MW_ARMS };
    const char *names[MW_TABLE_ROWS];
    double values[MOST], low[MOST], high[MOST], ends[2 * MOST + 1] = {0};
    int n = 0, m = 1;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &t->rows[i];
        if (strcmp(row->family, family) || (taking && !taking[i])) continue;
        names[n] = row->name;
        for (int k = 0; k < count; k++) {
            const double mean = row->value[MW_COL_OF(arms[k], MW_FIELD_REPORTED)],
                         std = row->value[MW_COL_OF(arms[k], MW_FIELD_REPORTED_STD)];
            values[n * count + k] = mean;
            low[n * count + k] = mean - std;
            high[n * count + k] = mean + std;
            ends[m++] = isnan(std) ? mean : mean - std; /* of a single seed there is none */
            ends[m++] = isnan(std) ? mean : mean + std;
        }
        n++;
    }
    if (!n) return;
    char title[96], unit[64];
    snprintf(unit, sizeof unit, "%s: %s", mw_report_family_title(family), mw_family_find(family)->measure);
    snprintf(title, sizeof title, "%s, and its std over seeds", unit);
    mw_plot_bars(page->out, &(mw_bars){title, "setting", mw_axis_fit(ends, m, false, unit), names, n, titles,
                                       count, values, low, high, mw_family_find(family)->format});
}

/* ---- a chapter ---- */

static void item_begin(FILE *out, const mw_item *item) {
    fputs("<section id='", out);
    mw_html_escape(out, item->label);
    fputs("'><h2>", out);
    mw_html_escape(out, item->title);
    fputs(" <small>", out);
    mw_html_escape(out, item->label);
    fputs("</small></h2>\n<p>", out);
    mw_html_escape(out, item->words);
    fputs("</p>\n", out);
}

mw_status mw_page_chapter(const mw_sources *sources, const mw_chapter *chapter, int *shown, FILE *out) {
    mw_page page = {.out = out, .sources = sources, .table = &sources->table};
    const mw_item *item;
    mw_page_begin(out, chapter->title, chapter->id);
    fprintf(out, "<header><h1>%s</h1>\n", chapter->title);
    mw_page_say(&page, "%s", chapter->words);
    fputs("</header>\n", out);
    for (int i = 0; (item = mw_item_at(i)); i++) {
        if (strcmp(item->chapter, chapter->id)) continue;
        page.label = item->label;
        page.files = page.shown = 0;
        item_begin(out, item);
        item->write(&page);
        fputs("</section>\n", out);
        shown[i] = page.shown;
    }
    mw_page_finish(out);
    return page.status;
}
