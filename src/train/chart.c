/* Line charts; see chart.h. */
#include "train/chart.h"

#include "core/file.h"

#include <math.h>

enum { WIDTH = 640, HEIGHT = 260, LEFT = 60, RIGHT = 130, TOP = 30, BOTTOM = 40, POINTS = 240 };

static const char *const colours[] = {"#1f6fb4", "#d95f02", "#1b9e77", "#7570b3", "#e7298a", "#666666"};

/* What a panel shows; for logarithmic panels low and high are exponents of ten. */
typedef struct {
    double low, high, first, last, top;
    bool log_y;
} frame;

/* Numbers come from logs, which are files: larger ones than any measurement has would overflow in sums. */
#define LARGEST 1e100

static bool shown(const mw_chart *chart, double x, double y) {
    return fabs(x) <= LARGEST && fabs(y) <= LARGEST && (!chart->log_y || y > 0);
}

static double scaled(const frame *f, double y) {
    return f->log_y ? log10(y) : y;
}

/* Where a value lies on the paper. */
static double across(const frame *f, double x) {
    return LEFT + (x - f->first) / (f->last - f->first) * (WIDTH - LEFT - RIGHT);
}
static double down(const frame *f, double y) {
    return f->top + HEIGHT - BOTTOM - (y - f->low) / (f->high - f->low) * (HEIGHT - BOTTOM - TOP);
}

/* The means of a line over POINTS equal stretches of x; returns how many stretches hold points. */
static int thin(const mw_chart *chart, const mw_chart_line *line, const frame *f, double *x, double *y) {
    double sums[POINTS][3] = {{0}};
    for (long i = 0; i < line->count; i++) {
        if (!shown(chart, line->x[i], line->y[i])) continue;
        const double along = (line->x[i] - f->first) / (f->last - f->first);
        const int bin = (int)fmin(fmax(along * POINTS, 0), POINTS - 1);
        sums[bin][0] += 1;
        sums[bin][1] += line->x[i];
        sums[bin][2] += scaled(f, line->y[i]);
    }
    int count = 0;
    for (int bin = 0; bin < POINTS; bin++) {
        if (sums[bin][0] == 0) continue;
        x[count] = sums[bin][1] / sums[bin][0];
        y[count++] = sums[bin][2] / sums[bin][0];
    }
    return count;
}

/* A range that is wide enough to have ticks: neighbouring doubles do not. */
static double widened(double low, double high) {
    const double size = fmax(1, fmax(fabs(low), fabs(high)));
    return high - low < 1e-9 * size ? low + fmax(1, 1e-6 * size) : high;
}

static frame fit(const mw_chart *chart, int panel) {
    frame f = {.low = INFINITY,
               .high = -INFINITY,
               .first = INFINITY,
               .last = -INFINITY,
               .top = panel * (double)HEIGHT,
               .log_y = chart->log_y};
    for (int l = 0; l < chart->line_count; l++)
        for (long i = 0; i < chart->lines[l].count; i++) {
            const double x = chart->lines[l].x[i], y = chart->lines[l].y[i];
            if (!shown(chart, x, y)) continue;
            f.first = fmin(f.first, x);
            f.last = fmax(f.last, x);
            f.low = fmin(f.low, scaled(&f, y));
            f.high = fmax(f.high, scaled(&f, y));
        }
    if (!(f.first <= f.last)) f.first = f.low = 0, f.last = f.high = 1;
    f.last = widened(f.first, f.last);
    f.high = widened(f.low, f.high);
    const double margin = 0.05 * (f.high - f.low);
    f.low -= margin;
    f.high += margin;
    return f;
}

static double nice_step(double range) {
    const double unit = pow(10, floor(log10(range / 4))), multiple = range / 4 / unit;
    return unit * (multiple < 1.5 ? 1 : multiple < 3.5 ? 2 : multiple < 7.5 ? 5 : 10);
}

static void put_level(FILE *out, const frame *f, double level, double label) {
    const double y = down(f, level);
    fprintf(out, "<path d='M%d %.1fH%d' stroke='#ddd'/>", LEFT, y, WIDTH - RIGHT);
    fprintf(out, "<text x='%d' y='%.1f' text-anchor='end'>%.3g</text>\n", LEFT - 6, y + 4, label);
}

static void put_axes(FILE *out, const mw_chart *chart, const frame *f) {
    const double step_x = nice_step(f->last - f->first), step_y = nice_step(f->high - f->low);
    if (f->log_y) {
        for (double power = floor(f->low); power <= f->high; power++)
            for (int digit = 1; digit < 10; digit += digit == 1 ? 1 : digit == 2 ? 3 : 5) {
                const double level = power + log10(digit);
                if (level >= f->low && level <= f->high) put_level(out, f, level, digit * pow(10, power));
            }
    } else {
        for (double k = ceil(f->low / step_y); k * step_y <= f->high; k++)
            put_level(out, f, k * step_y, k * step_y);
    }
    for (double k = ceil(f->first / step_x - 1e-9); k * step_x <= f->last * (1 + 1e-9); k++)
        fprintf(out, "<text x='%.1f' y='%.1f' text-anchor='middle'>%g</text>\n", across(f, k * step_x),
                f->top + HEIGHT - BOTTOM + 16, k * step_x);
    fprintf(out, "<text x='%d' y='%.1f' text-anchor='middle'>", (LEFT + WIDTH - RIGHT) / 2,
            f->top + HEIGHT - 8);
    fprintf(out, "%s</text>\n", chart->x_label);
}

static void put_text(FILE *out, const char *text) {
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '&')
            fputs("&amp;", out);
        else
            fputc(*text, out);
    }
}

static void put_panel(FILE *out, const mw_chart *chart, int panel) {
    const frame f = fit(chart, panel);
    double x[POINTS], y[POINTS];
    fprintf(out, "<text x='%d' y='%.1f' font-size='13'>", LEFT, f.top + 18);
    put_text(out, chart->title);
    fputs("</text>\n", out);
    put_axes(out, chart, &f);
    for (int l = 0; l < chart->line_count; l++) {
        const char *colour = colours[(size_t)l % (sizeof colours / sizeof *colours)];
        const int count = thin(chart, &chart->lines[l], &f, x, y);
        fprintf(out, "<path fill='none' stroke='%s' stroke-width='1.5' d='", colour);
        for (int i = 0; i < count; i++)
            fprintf(out, "%c%.1f %.1f", i ? 'L' : 'M', across(&f, x[i]), down(&f, y[i]));
        fprintf(out, "'/>\n<text x='%d' y='%.1f' fill='%s'>", WIDTH - RIGHT + 8, f.top + TOP + 10 + 16 * l,
                colour);
        put_text(out, chart->lines[l].name);
        fputs("</text>\n", out);
    }
}

mw_status mw_chart_write(const char *path, const mw_chart *panels, int count, mw_error *error) {
    mw_writer writer;
    MW_TRY(mw_writer_open(&writer, path, error));
    fprintf(writer.stream,
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' font-family='sans-serif' "
            "font-size='11'>\n<rect width='100%%' height='100%%' fill='white'/>\n",
            WIDTH, HEIGHT * count);
    for (int i = 0; i < count; i++) put_panel(writer.stream, &panels[i], i);
    fputs("</svg>\n", writer.stream);
    return mw_writer_commit(&writer, error);
}
