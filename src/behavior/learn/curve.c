/* Learning curves; see curve.h. */
#include "behavior/learn/curve.h"

#include "core/file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

mw_status mw_curve_append(const char *path, const mw_learn_report *r, double seconds, mw_error *error) {
    FILE *file = fopen(path, "a");
    if (!file) return mw_fail(error, MW_ERR_IO, "%s: %s", path, strerror(errno));
    fprintf(file, "{\"iteration\": %ld, \"steps\": %.0f, \"seconds\": %.1f, \"episodes\": %d", r->iteration,
            r->steps, seconds, r->episodes);
    if (r->episodes > 0)
        fprintf(file, ", \"return\": %.6g, \"length\": %.5g, \"win_rate\": %.5g", r->episode_return,
                r->length, r->win_rate);
    fprintf(
        file,
        ", \"entropy\": %.5g, \"kl\": %.5g, \"clipped\": %.5g, \"value_loss\": %.5g, \"action_std\": %.5g, "
        "\"passes\": %d}\n",
        r->entropy, r->kl, r->clipped, r->value_loss, r->action_std, r->passes);
    bool failed = ferror(file);
    if (fclose(file) != 0 || failed) return mw_fail(error, MW_ERR_IO, "%s: cannot append", path);
    return MW_OK;
}

typedef struct {
    double iteration, steps, seconds, value;
    bool has_value;
} point;

/* A member within [low, high]; 0 if there is none. */
static mw_status number(const json_t *object, const char *key, double low, double high, const char *what,
                        double *out, mw_error *error) {
    const json_t *member = json_object_get(object, key);
    *out = json_number_value(member);
    if (!member || (json_is_number(member) && *out >= low && *out <= high)) return MW_OK;
    return mw_fail(error, MW_ERR_FORMAT, "%s: '%s' must be a number from %g to %g", what, key, low, high);
}

static mw_status read_point(const json_t *object, const char *what, point *out, mw_error *error) {
    *out = (point){.has_value = json_object_get(object, "return") != NULL};
    MW_TRY(number(object, "iteration", 0, 1e15, what, &out->iteration, error));
    MW_TRY(number(object, "steps", 0, 1e15, what, &out->steps, error));
    MW_TRY(number(object, "seconds", 0, 1e15, what, &out->seconds, error));
    return number(object, "return", -1e100, 1e100, what, &out->value, error);
}

/* Parses the line at *text and moves on to the next; false at the end. */
static mw_status next_point(char **text, point *out, bool *found, const char *path, int line,
                            mw_error *error) {
    char *end = strchr(*text, '\n');
    *found = end != NULL;
    if (!end) return MW_OK;
    char what[320];
    json_t *object;
    snprintf(what, sizeof what, "%.256s: line %d", path, line);
    MW_TRY(mw_json_parse(&object, *text, (size_t)(end - *text), what, error));
    mw_status status = read_point(object, what, out, error);
    json_decref(object);
    *text = end + 1;
    return status;
}

mw_status mw_curve_rewind(const char *path, long last, double *seconds, mw_error *error) {
    *seconds = 0;
    if (!mw_file_exists(path)) return MW_OK;
    char *text, *at;
    MW_TRY(mw_file_read_text(path, &text, NULL, error));
    char *kept = at = text;
    mw_status status = MW_OK;
    for (int line = 1;; line++) {
        point p = {0};
        bool found;
        status = next_point(&at, &p, &found, path, line, error);
        if (status != MW_OK || !found || p.iteration > (double)last) break;
        *seconds = p.seconds;
        kept = at;
    }
    if (status == MW_OK) status = mw_file_write(path, text, (size_t)(kept - text), error);
    free(text);
    return status;
}

/* ---- the picture ---- */

enum { WIDTH = 480, HEIGHT = 240, LEFT = 56, RIGHT = 12, TOP = 28, BOTTOM = 36, POINTS = 160 };

static double nice_step(double range) {
    double unit = pow(10, floor(log10(range / 4))), multiple = range / 4 / unit;
    return unit * (multiple < 1.5 ? 1 : multiple < 3.5 ? 2 : multiple < 7.5 ? 5 : 10);
}

static void axis(FILE *out, double low, double high, bool vertical) {
    const double step = nice_step(high - low);
    for (double v = ceil(low / step) * step; v <= high + 1e-9 * step; v += step) {
        double along = (v - low) / (high - low);
        if (fabs(v) < 1e-9 * step) v = 0;
        if (vertical) {
            double y = HEIGHT - BOTTOM - along * (HEIGHT - BOTTOM - TOP);
            fprintf(out, "<path d='M%d %.1fH%d' stroke='#ddd'/>", LEFT, y, WIDTH - RIGHT);
            fprintf(out, "<text x='%d' y='%.1f' text-anchor='end'>%g</text>\n", LEFT - 6, y + 4, v);
        } else {
            double x = LEFT + along * (WIDTH - LEFT - RIGHT);
            fprintf(out, "<text x='%.1f' y='%d' text-anchor='middle'>%gM</text>\n", x, HEIGHT - BOTTOM + 16,
                    v / 1e6);
        }
    }
}

/* Means over equal stretches of the steps. */
static int bin_points(char *text, const char *path, double *steps, double *values, mw_status *status,
                      mw_error *error) {
    double last = 0, sum[POINTS] = {0}, weight[POINTS] = {0};
    for (int round = 0; round < 2 && *status == MW_OK; round++) {
        char *at = text;
        for (int line = 1;; line++) {
            point p = {0};
            bool found;
            *status = next_point(&at, &p, &found, path, line, error);
            if (*status != MW_OK || !found) break;
            if (round == 0) last = fmax(last, p.steps);
            if (round == 0 || !p.has_value) continue;
            int bin = last > 0 ? (int)fmin(p.steps / last * POINTS, POINTS - 1) : 0;
            sum[bin] += p.value;
            weight[bin] += 1;
        }
    }
    int count = 0;
    for (int bin = 0; bin < POINTS; bin++)
        if (weight[bin] > 0) {
            steps[count] = (bin + 0.5) / POINTS * last;
            values[count++] = sum[bin] / weight[bin];
        }
    return count;
}

static void draw(FILE *out, const char *title, const double *steps, const double *values, int count) {
    double low = values[0], high = values[0];
    for (int i = 1; i < count; i++) {
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    if (high - low < 1e-9 * fmax(1, fabs(low))) high = low + fmax(1, 1e-6 * fabs(low));
    double margin = 0.05 * (high - low);
    low -= margin;
    high += margin;
    fprintf(out,
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' font-family='sans-serif' "
            "font-size='11'>\n<rect width='100%%' height='100%%' fill='white'/>\n",
            WIDTH, HEIGHT);
    fprintf(out, "<text x='%d' y='17' font-size='13'>%s</text>\n", LEFT, title);
    axis(out, low, high, true);
    axis(out, 0, steps[count - 1], false);
    fprintf(out, "<text x='%d' y='%d' text-anchor='middle'>environment steps</text>\n",
            (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 5);
    fputs("<path fill='none' stroke='#1f6fb4' stroke-width='1.6' d='", out);
    for (int i = 0; i < count; i++)
        fprintf(out, "%c%.1f %.1f", i ? 'L' : 'M',
                LEFT + steps[i] / steps[count - 1] * (WIDTH - LEFT - RIGHT),
                HEIGHT - BOTTOM - (values[i] - low) / (high - low) * (HEIGHT - BOTTOM - TOP));
    fputs("'/>\n</svg>\n", out);
}

mw_status mw_curve_draw(const char *path, const char *svg, const char *title, mw_error *error) {
    char *text;
    double steps[POINTS], values[POINTS];
    MW_TRY(mw_file_read_text(path, &text, NULL, error));
    mw_status status = MW_OK;
    int count = bin_points(text, path, steps, values, &status, error);
    free(text);
    if (status != MW_OK || count < 2) return status;
    mw_writer writer;
    MW_TRY(mw_writer_open(&writer, svg, error));
    draw(writer.stream, title, steps, values, count);
    return mw_writer_commit(&writer, error);
}
