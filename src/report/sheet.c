/* Tables as data, HTML and CSV; see sheet.h. */
#include "report/sheet.h"

#include "report/svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 40, TEXT = 512 };

typedef struct {
    const char *format; /* NULL: text */
    char *text, *link;
    double value, std, low, high;
    bool gain, strong;
} cell;

typedef struct {
    const char *group, *title, *tip;
    bool text, std, interval; /* what its cells have */
} column;

struct mw_sheet {
    column columns[MOST_COLUMNS];
    int width;
    cell *cells;     /* [rows][width] */
    char **sections; /* [rows]: heading before the row, or NULL */
    size_t count, room, rows;
    bool broken;
    char *next_section;
};

mw_sheet *mw_sheet_create(void) {
    return calloc(1, sizeof(mw_sheet));
}

void mw_sheet_free(mw_sheet *s) {
    if (!s) return;
    for (size_t i = 0; i < s->count; i++) {
        free(s->cells[i].text);
        free(s->cells[i].link);
    }
    for (size_t i = 0; i < s->rows; i++) free(s->sections[i]);
    free(s->sections);
    free(s->cells);
    free(s->next_section);
    free(s);
}

bool mw_sheet_complete(const mw_sheet *s) {
    return s && !s->broken;
}

void mw_sheet_column(mw_sheet *s, const char *group, const char *title, const char *tip) {
    if (!s || s->width == MOST_COLUMNS) return;
    s->columns[s->width++] = (column){.group = group, .title = title, .tip = tip};
}

/* ---- cells ---- */

static cell *add(mw_sheet *s) {
    if (!s || s->broken || s->count == s->rows * (size_t)s->width) return NULL;
    cell *c = &s->cells[s->count++];
    *c = (cell){.value = NAN, .std = NAN, .low = NAN, .high = NAN};
    return c;
}

static column *column_of(mw_sheet *s) {
    return &s->columns[(s->count - 1) % (size_t)s->width];
}

static char *copy_of(mw_sheet *s, const char *text) {
    char *copy = strdup(text);
    if (!copy) s->broken = true;
    return copy;
}

static bool grow(mw_sheet *s) {
    if (s->rows < s->room) return true;
    const size_t room = s->room ? 2 * s->room : 32;
    cell *cells = realloc(s->cells, room * (size_t)s->width * sizeof *cells);
    if (cells) s->cells = cells;
    char **sections = realloc(s->sections, room * sizeof *sections);
    if (sections) s->sections = sections;
    s->broken |= !cells || !sections;
    if (!s->broken) s->room = room;
    return !s->broken;
}

void mw_sheet_row(mw_sheet *s, const char *name, const char *link) {
    if (!s || s->broken || !s->width) return;
    while (s->count < s->rows * (size_t)s->width) add(s); /* cells that the last row did not name */
    if (!grow(s)) return;
    s->sections[s->rows++] = s->next_section;
    s->next_section = NULL;
    cell *c = add(s);
    c->text = copy_of(s, name);
    c->link = link ? copy_of(s, link) : NULL;
    s->columns[0].text = true;
}

void mw_sheet_section(mw_sheet *s, const char *title) {
    if (!s) return;
    const char *now = s->next_section;
    for (size_t i = s->rows; !now && i > 0; i--) now = s->sections[i - 1];
    if (now && !strcmp(now, title)) return;
    free(s->next_section);
    s->next_section = copy_of(s, title);
}

void mw_sheet_interval(mw_sheet *s, const char *format, double value, double low, double high) {
    cell *c = add(s);
    if (!c) return;
    c->format = format;
    c->value = value;
    c->low = low;
    c->high = high;
    if (!isnan(low) && !isnan(high)) column_of(s)->interval = true;
}

void mw_sheet_number(mw_sheet *s, const char *format, double value) {
    mw_sheet_interval(s, format, value, NAN, NAN);
}

void mw_sheet_spread(mw_sheet *s, const char *format, double value, double std) {
    cell *c = add(s);
    if (!c) return;
    c->format = format;
    c->value = value;
    c->std = std;
    if (!isnan(std)) column_of(s)->std = true;
}

void mw_sheet_gain(mw_sheet *s, const char *format, double value, double low, double high) {
    mw_sheet_interval(s, format, value, low, high);
    if (!s || s->broken || !s->count) return;
    s->cells[s->count - 1].gain = true;
    s->cells[s->count - 1].strong = low > 0 || high < 0;
}

void mw_sheet_text(mw_sheet *s, const char *format, ...) {
    char text[TEXT];
    va_list list;
    cell *c = add(s);
    if (!c) return;
    va_start(list, format);
    mw_text_format(text, sizeof text, format, list);
    va_end(list);
    c->text = copy_of(s, text);
    column_of(s)->text = true;
}

void mw_sheet_strong(mw_sheet *s) {
    if (s && !s->broken && s->count) s->cells[s->count - 1].strong = true;
}

/* ---- HTML ---- */

/* A sign that is counted is shown: "-0.0" is below zero. */
static void put_number(FILE *out, const char *format, double value) {
    if (isnan(value))
        fputs("&ndash;", out);
    else
        fprintf(out, format, value == 0 ? 0.0 : value); // NOLINT: formats are the reports' own
}

static void put_cell(FILE *out, const cell *c, bool from) {
    const char *sign = !c->gain ? "" : c->value > 0 ? " up" : c->value < 0 ? " down" : "";
    fprintf(out, "<td class='%s%s%s%s'", from ? "from" : "", sign, c->strong ? " strong" : "",
            c->format ? "" : " left");
    if (c->format && !isnan(c->value)) fprintf(out, " data-v='%.6g'", c->value);
    fputc('>', out);
    if (c->link) {
        fputs("<a href='", out);
        mw_html_escape(out, c->link);
        fputs("'>", out);
    }
    if (c->format)
        put_number(out, c->format, c->value);
    else
        mw_html_escape(out, c->text ? c->text : "");
    if (c->link) fputs("</a>", out);
    if (!isnan(c->std)) {
        fputs(" <small>&plusmn;", out);
        put_number(out, c->format, c->std);
        fputs("</small>", out);
    }
    if (!isnan(c->low) && !isnan(c->high)) {
        fputs(" <small>[", out);
        put_number(out, c->format, c->low);
        fputs(", ", out);
        put_number(out, c->format, c->high);
        fputs("]</small>", out);
    }
    fputs("</td>", out);
}

static bool same_group(const column *a, const column *b) {
    return a->group && b->group && !strcmp(a->group, b->group);
}

static bool begins_group(const mw_sheet *s, int k) {
    return k > 0 && !same_group(&s->columns[k - 1], &s->columns[k]) &&
           (s->columns[k].group || s->columns[k - 1].group);
}

static void put_groups(const mw_sheet *s, FILE *out) {
    fputs("<tr class='groups'>", out);
    for (int k = 0, span; k < s->width; k += span) {
        span = 1;
        while (k + span < s->width && same_group(&s->columns[k], &s->columns[k + span])) span++;
        fprintf(out, "<th class='group%s' colspan='%d'>", begins_group(s, k) ? " from" : "", span);
        mw_html_escape(out, s->columns[k].group ? s->columns[k].group : "");
        fputs("</th>", out);
    }
    fputs("</tr>\n", out);
}

static void put_head(const mw_sheet *s, FILE *out) {
    bool grouped = false;
    for (int k = 0; k < s->width; k++) grouped |= s->columns[k].group != NULL;
    fputs("<thead>", out);
    if (grouped) put_groups(s, out);
    fputs("<tr class='names'>", out);
    for (int k = 0; k < s->width; k++) {
        const column *c = &s->columns[k];
        fprintf(out, "<th scope='col' tabindex='0' class='%s%s'", begins_group(s, k) ? "from" : "",
                c->text ? " left" : "");
        if (c->tip) {
            fputs(" title='", out);
            mw_html_escape(out, c->tip);
            fputc('\'', out);
        }
        fputc('>', out);
        mw_html_escape(out, c->title);
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n", out);
}

void mw_sheet_html(const mw_sheet *s, FILE *out) {
    if (!s) return;
    fputs("<table class='sheet'>", out);
    put_head(s, out);
    fputs("<tbody>\n", out);
    for (size_t i = 0; i * (size_t)s->width < s->count; i++) {
        if (s->sections[i]) {
            fprintf(out, "%s<tr class='section'><th colspan='%d'>", i ? "</tbody><tbody>\n" : "", s->width);
            mw_html_escape(out, s->sections[i]);
            fputs("</th></tr>\n", out);
        }
        fputs("<tr>", out);
        for (int k = 0; k < s->width && i * (size_t)s->width + (size_t)k < s->count; k++)
            put_cell(out, &s->cells[i * (size_t)s->width + (size_t)k], begins_group(s, k));
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table>\n", out);
}

/* ---- CSV ---- */

static void csv_text(FILE *out, const char *text) {
    const bool quoted = strpbrk(text, ",\"\n\r") != NULL;
    if (quoted) fputc('"', out);
    for (; *text; text++) {
        if (*text == '"') fputc('"', out);
        fputc(*text, out);
    }
    if (quoted) fputc('"', out);
}

static void csv_title(FILE *out, const column *c, const char *what) {
    char title[256];
    snprintf(title, sizeof title, "%s%s%s%s", c->group ? c->group : "", c->group ? " " : "", c->title, what);
    csv_text(out, title);
}

static void csv_number(FILE *out, double value) {
    if (!isnan(value)) fprintf(out, "%.10g", value);
}

static void csv_cell(FILE *out, const column *c, const cell *e) {
    if (e->format)
        csv_number(out, e->value);
    else
        csv_text(out, e->text ? e->text : "");
    if (c->std) {
        fputc(',', out);
        csv_number(out, e->std);
    }
    if (c->interval) {
        fputc(',', out);
        csv_number(out, e->low);
        fputc(',', out);
        csv_number(out, e->high);
    }
}

void mw_sheet_csv(const mw_sheet *s, FILE *out) {
    if (!s) return;
    for (int k = 0; k < s->width; k++) {
        const column *c = &s->columns[k];
        if (k) fputc(',', out);
        csv_title(out, c, "");
        if (c->std) {
            fputc(',', out);
            csv_title(out, c, " std");
        }
        if (c->interval) {
            fputc(',', out);
            csv_title(out, c, " low");
            fputc(',', out);
            csv_title(out, c, " high");
        }
    }
    fputc('\n', out);
    for (size_t i = 0; i < s->count; i++) {
        if (i % (size_t)s->width) fputc(',', out);
        csv_cell(out, &s->columns[i % (size_t)s->width], &s->cells[i]);
        if ((i + 1) % (size_t)s->width == 0 || i + 1 == s->count) fputc('\n', out);
    }
}
