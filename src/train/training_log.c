/* The log of a training; see training_log.h. */
#include "train/training_log.h"

#include "train/chart.h"
#include "core/file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put_number(FILE *file, const char *prefix, const char *name, double value) {
    if (isfinite(value)) fprintf(file, ", \"%s%s\": %.6g", prefix, name, value);
}

mw_status mw_training_log_append(const char *path, const mw_training_part *part, const double *means,
                                 const double *held, double seconds, mw_error *error) {
    FILE *file = fopen(path, "a");
    if (!file) return mw_fail(error, MW_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
    fprintf(file, "{\"part\": \"%s\", \"step\": %ld", part->name, part->step);
    for (int i = 0; i < part->losses; i++) put_number(file, "", part->loss_names[i], means[i]);
    for (int i = 0; held && i < part->losses; i++) put_number(file, "held_", part->loss_names[i], held[i]);
    if (part->optimizer) put_number(file, "", "rate", (double)part->optimizer->group[0].adam.rate);
    if (part->optimizer) put_number(file, "", "gradient", mw_optimizer_norm(part->optimizer));
    fprintf(file, ", \"seconds\": %.1f}\n", seconds);
    const bool failed = ferror(file);
    if (fclose(file) != 0 || failed)
        return mw_fail(error, MW_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
    return MW_OK;
}

/* ---- reading ---- */

/* Goes over the lines: *line is the next one's object (to be released) and [*begin, *end) its text; *line is
 * NULL at the end. A last line without its newline was torn by a crash and does not count. */
static mw_status next_line(char **at, int *number, const char *path, json_t **line, mw_error *error) {
    char *end = strchr(*at, '\n'), what[320];
    *line = NULL;
    if (!end) return MW_OK;
    snprintf(what, sizeof what, "%.256s: line %d", path, ++*number);
    MW_TRY(mw_json_parse(line, *at, (size_t)(end - *at), what, error));
    *at = end + 1;
    return MW_OK;
}

static const mw_training_part *part_of(const json_t *line, const mw_training_state *state) {
    const char *name = json_string_value(json_object_get(line, "part"));
    for (int i = 0; name && i < state->count; i++)
        if (state->part[i] && !strcmp(state->part[i]->name, name)) return state->part[i];
    return NULL;
}

mw_status mw_training_log_rewind(const char *path, const mw_training_state *state, mw_error *error) {
    char *text, *at;
    if (!mw_file_exists(path)) return MW_OK;
    MW_TRY(mw_file_read_text(path, &text, NULL, error));
    size_t kept = 0;
    int number = 0;
    mw_status status = MW_OK;
    for (at = text;;) {
        char *begin = at;
        json_t *line;
        if ((status = next_line(&at, &number, path, &line, error)) != MW_OK || !line) break;
        const mw_training_part *part = part_of(line, state);
        if (part && json_integer_value(json_object_get(line, "step")) <= part->step) {
            memmove(text + kept, begin, (size_t)(at - begin));
            kept += (size_t)(at - begin);
        }
        json_decref(line);
    }
    if (status == MW_OK) status = mw_file_write(path, text, kept, error);
    free(text);
    return status;
}

#define MOST_STEPS 1000000000000ll

/* A part's lines as columns: steps, then losses, then held-out losses; NaN where a line has none. */
enum { COLUMNS = 1 + 2 * MW_LOSSES };
typedef struct {
    double *column[COLUMNS];
    long count, capacity;
} table;

static void table_free(table *t) {
    for (int c = 0; c < COLUMNS; c++) free(t->column[c]);
    *t = (table){0};
}

static mw_name column_name(const mw_training_part *part, int column) {
    if (column == 0) return mw_name_of("step");
    const bool held = column > MW_LOSSES;
    return mw_name_of("%s%s", held ? "held_" : "", part->loss_names[(column - 1) % MW_LOSSES]);
}

static bool column_used(const mw_training_part *part, int column) {
    return column == 0 || (column - 1) % MW_LOSSES < part->losses;
}

static bool table_add(table *t, const mw_training_part *part, const json_t *line) {
    if (t->count == t->capacity) {
        t->capacity = t->capacity ? 2 * t->capacity : 256;
        for (int c = 0; c < COLUMNS; c++) {
            double *larger = realloc(t->column[c], (size_t)t->capacity * sizeof *larger);
            if (!larger) return false;
            t->column[c] = larger;
        }
    }
    for (int c = 0; c < COLUMNS; c++) {
        const json_t *value = column_used(part, c) ? json_object_get(line, column_name(part, c).text) : NULL;
        t->column[c][t->count] = json_is_number(value) ? json_number_value(value) : NAN;
    }
    t->count++;
    return true;
}

/* Steps become integers again in summaries. */
static mw_status add_line(table *t, const mw_training_part *part, const json_t *line, const char *path,
                          int number, mw_error *error) {
    const json_int_t step = json_integer_value(json_object_get(line, "step"));
    if (!json_is_integer(json_object_get(line, "step")) || step < 0 || step > MOST_STEPS)
        return mw_fail(error, MW_ERR_FORMAT, "%s: line %d: 'step' must be an integer from 0 to %lld", path,
                       number, MOST_STEPS);
    if (!table_add(t, part, line)) return mw_fail(error, MW_ERR_MEMORY, "cannot read '%s'", path);
    return MW_OK;
}

static mw_status read_table(table *t, const char *path, const mw_training_part *part,
                            const mw_training_state *state, mw_error *error) {
    char *text, *at;
    int number = 0;
    *t = (table){0};
    if (!mw_file_exists(path)) return MW_OK; /* the weights count, not their story */
    MW_TRY(mw_file_read_text(path, &text, NULL, error));
    mw_status status = MW_OK;
    for (at = text;;) {
        json_t *line;
        if ((status = next_line(&at, &number, path, &line, error)) != MW_OK || !line) break;
        if (part_of(line, state) == part) status = add_line(t, part, line, path, number, error);
        json_decref(line);
        if (status != MW_OK) break;
    }
    free(text);
    if (status != MW_OK) table_free(t);
    return status;
}

/* ---- pictures and summaries ---- */

static int lines_of(mw_chart_line *lines, mw_name *names, const table *t, const mw_training_part *part) {
    int count = 0;
    for (int c = 1; c < COLUMNS; c++) {
        if (!column_used(part, c)) continue;
        names[count] = column_name(part, c);
        lines[count] = (mw_chart_line){names[count].text, t->column[0], t->column[c], t->count};
        count++;
    }
    return count;
}

mw_status mw_training_log_draw(const char *path, const mw_training_state *state, const char *title,
                               const char *svg, mw_error *error) {
    table tables[MW_KINDS] = {0};
    mw_chart_line lines[MW_KINDS][COLUMNS];
    mw_name names[MW_KINDS][COLUMNS];
    char titles[MW_KINDS][128];
    mw_chart panels[MW_KINDS];
    int count = 0;
    mw_status status = MW_OK;
    for (int i = 0; i < state->count && status == MW_OK; i++) {
        status = read_table(&tables[i], path, state->part[i], state, error);
        if (status != MW_OK || tables[i].count == 0) continue;
        snprintf(titles[i], sizeof titles[i], "%.80s: %s", title, state->part[i]->name);
        const int drawn = lines_of(lines[i], names[i], &tables[i], state->part[i]);
        panels[count++] = (mw_chart){titles[i], "training steps", true, lines[i], drawn};
    }
    if (status == MW_OK && count > 0) status = mw_chart_write(svg, panels, count, error);
    for (int i = 0; i < state->count; i++) table_free(&tables[i]);
    return status;
}

static json_t *summarise(const table *t, const mw_training_part *part) {
    enum { POINTS = 20 };
    json_t *object = json_object();
    const long stride = t->count > POINTS ? (t->count + POINTS - 1) / POINTS : 1;
    for (int c = 0; c < COLUMNS; c++) {
        if (!column_used(part, c)) continue;
        json_t *values = json_array();
        for (long i = (t->count - 1) % stride; i < t->count; i += stride) { /* the last is always there */
            const double value = t->column[c][i];
            json_array_append_new(values, c == 0            ? json_integer((json_int_t)value)
                                          : isfinite(value) ? json_real(value)
                                                            : json_null());
        }
        json_object_set_new(object, column_name(part, c).text, values);
    }
    return object;
}

mw_status mw_training_log_summary(json_t **summary, const char *path, const mw_training_state *state,
                                  const mw_training_part *part, mw_error *error) {
    table t;
    *summary = NULL;
    MW_TRY(read_table(&t, path, part, state, error));
    *summary = summarise(&t, part);
    table_free(&t);
    return MW_OK;
}
