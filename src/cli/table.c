/* One way to show a table, whatever the command: for people in aligned columns, as comma-separated values, as
 * JSON, and as Markdown for documents. Rows are printed as they come; JSON needs all of them first. */
#include "cli/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool whole(const mw_column *column) {
    return !strcmp(column->format, "%.0f");
}

static bool truth(const mw_column *column) {
    return column->format && !strcmp(column->format, MW_TRUTH);
}

/* Texts at the end of a row may be long: they are wrapped. */
static bool last_text(const mw_column *column) {
    return !column[1].key && column->width < 0;
}

/* A value as comma-separated files want it: quoted where it must be. */
static void print_csv(const char *text) {
    if (!text[strcspn(text, ",\"\n\r")]) {
        fputs(text, stdout);
        return;
    }
    putchar('"');
    for (; *text; text++) {
        if (*text == '"') putchar('"');
        putchar(*text);
    }
    putchar('"');
}

/* With the first row, so that a command that fails has printed nothing. */
static void print_head(mw_table *t) {
    const char *gap = "";
    if (t->headed) return;
    t->headed = true;
    for (const mw_column *c = t->columns; c->key; c++) {
        if (t->show == MW_SHOW_CSV) {
            printf("%s%s", c == t->columns ? "" : ",", c->key);
        } else if (c->head && t->show == MW_SHOW_MARKDOWN) {
            printf("%s%s |", *gap ? " " : "| ", c->head);
            gap = " ";
        } else if (c->head) {
            printf("%s%*s", gap, last_text(c) ? 0 : c->width, c->head);
            gap = " ";
        }
    }
    putchar('\n');
    if (t->show != MW_SHOW_MARKDOWN) return;
    for (const mw_column *c = t->columns; c->key; c++)
        if (c->head) fputs("|---", stdout);
    puts("|");
}

void mw_table_begin(mw_table *t, mw_show show, const mw_column *columns) {
    *t = (mw_table){.show = show, .columns = columns};
    if (show == MW_SHOW_JSON) t->rows = json_array();
}

static json_t *cell_json(const mw_column *column, const mw_cell *cell) {
    if (!column->format) return cell->text && *cell->text ? json_string(cell->text) : json_null();
    if (!isfinite(cell->number)) return json_null();
    if (truth(column)) return json_boolean(cell->number != 0);
    return whole(column) ? json_integer((json_int_t)cell->number) : json_real(cell->number);
}

static void row_json(mw_table *t, const mw_cell *cells) {
    json_t *row = json_object();
    for (int i = 0; row && t->columns[i].key; i++) {
        if (json_object_set_new(row, t->columns[i].key, cell_json(&t->columns[i], &cells[i])) == 0) continue;
        json_decref(row);
        row = NULL;
    }
    if (!t->rows || json_array_append_new(t->rows, row) == 0) {
        if (!t->rows) json_decref(row);
        return;
    }
    json_decref(t->rows);
    t->rows = NULL; /* a list is whole or not there */
}

static void row_csv(const mw_table *t, const mw_cell *cells) {
    for (int i = 0; t->columns[i].key; i++) {
        if (i) putchar(',');
        if (!t->columns[i].format)
            print_csv(cells[i].text ? cells[i].text : "");
        else if (isfinite(cells[i].number))
            printf("%.10g", cells[i].number);
    }
    putchar('\n');
}

const char *mw_cli_number(char *out, size_t size, const char *format, double value) {
    snprintf(out, size, isfinite(value) ? format : "-", value);
    const bool zero = out[0] == '-' && out[1] && !out[1 + strspn(out + 1, "0.")];
    if (zero && !strchr(format, '+')) memmove(out, out + 1, strlen(out));
    return out;
}

/* The text of a cell for people: a dash where there is nothing. */
static const char *cell_text(char *out, size_t size, const mw_column *column, const mw_cell *cell) {
    if (!column->format) return cell->text && *cell->text ? cell->text : "-";
    if (truth(column)) return cell->number != 0 ? "yes" : "no";
    return mw_cli_number(out, size, column->format, cell->number);
}

static void row_text(const mw_table *t, const mw_cell *cells) {
    char text[64];
    int used = 0;
    for (const mw_column *c = t->columns; c->key; c++) {
        if (!c->head) continue;
        const char *shown = cell_text(text, sizeof text, c, &cells[c - t->columns]);
        if (last_text(c)) {
            mw_cli_wrap(used, used + (used > 0), shown);
            return;
        }
        used += printf("%s%*s", used ? " " : "", c->width, shown);
    }
    putchar('\n');
}

static void row_markdown(const mw_table *t, const mw_cell *cells) {
    char text[64];
    putchar('|');
    for (const mw_column *c = t->columns; c->key; c++)
        if (c->head) printf(" %s |", cell_text(text, sizeof text, c, &cells[c - t->columns]));
    putchar('\n');
}

void mw_table_row(mw_table *t, const mw_cell *cells) {
    if (t->show != MW_SHOW_JSON) print_head(t);
    if (t->show == MW_SHOW_JSON)
        row_json(t, cells);
    else if (t->show == MW_SHOW_CSV)
        row_csv(t, cells);
    else if (t->show == MW_SHOW_MARKDOWN)
        row_markdown(t, cells);
    else
        row_text(t, cells);
    if (t->show != MW_SHOW_JSON) mw_cli_flush();
}

int mw_table_end(mw_table *t) {
    json_t *rows = t->rows;
    t->rows = NULL;
    if (t->show == MW_SHOW_JSON) return mw_cli_print(rows, 10);
    print_head(t);
    return 0;
}

void mw_table_drop(mw_table *t) {
    json_decref(t->rows);
    t->rows = NULL;
}
