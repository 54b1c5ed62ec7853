/* Frames, text, axes and colours of the figures; see svg.h. */
#include "report/svg.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Series: Okabe and Ito's colours, lighter ones where the ground is dark. On paper everything is light. */
const char mw_svg_variables[] =
    ":root { --ink: #1b2330; --soft: #5b6573; --line: #dfe3e8; --s0: #0072b2; --s1: #d55e00; --s2: #009e73;\n"
    "  --s3: #b5588f; --s4: #8c6d00; --s5: #56b4e9; --s6: #8a939f; --s7: #1b2330; }\n"
    "@media screen and (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --soft: #a3aebc;\n"
    "  --line: #2f3843; --s0: #56a9e8; --s1: #f0803c; --s2: #2cc79a; --s3: #dd8fbd; --s4: #e3c33b;\n"
    "  --s5: #9bd3f5; --s6: #7d8794; --s7: #e6eaf0; } }\n";

const char mw_svg_style[] =
    "svg { display: block; width: 100%; height: auto; font: 12px system-ui, sans-serif; }\n"
    "svg text { fill: var(--ink); } svg .tick { fill: var(--soft); font-size: 11px; }\n"
    "svg .label { font-size: 12px; fill: var(--soft); } svg .value { font-size: 11px; }\n"
    "svg .grid { stroke: var(--line); } svg .zero, svg .frame { stroke: var(--soft); }\n"
    "svg .whisker { stroke: var(--ink); stroke-width: 1.4; fill: none; } svg .none { fill: none; }\n"
    "svg .curve { fill: none; stroke-width: 2.2; } svg .band { opacity: 0.18; }\n"
    "svg .s0 { fill: var(--s0); } svg .s1 { fill: var(--s1); } svg .s2 { fill: var(--s2); }\n"
    "svg .s3 { fill: var(--s3); } svg .s4 { fill: var(--s4); } svg .s5 { fill: var(--s5); }\n"
    "svg .s6 { fill: var(--s6); } svg .s7 { fill: var(--s7); }\n"
    "svg .l0 { stroke: var(--s0); } svg .l1 { stroke: var(--s1); } svg .l2 { stroke: var(--s2); }\n"
    "svg .l3 { stroke: var(--s3); } svg .l4 { stroke: var(--s4); } svg .l5 { stroke: var(--s5); }\n"
    "svg .l6 { stroke: var(--s6); } svg .l7 { stroke: var(--s7); }\n";

/* ---- text ---- */

void mw_html_escape(FILE *out, const char *text) {
    for (; *text; text++) switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        case '\'':
            fputs("&#39;", out);
            break;
        default:
            fputc(*text, out);
        }
}

void mw_svg_begin(FILE *out, double width, double height, const char *title) {
    fprintf(out, "<svg viewBox='0 0 %.0f %.0f' role='img' aria-label='", width, height);
    mw_html_escape(out, title);
    fputs("'>\n", out);
}

void mw_svg_end(FILE *out) {
    fputs("</svg>\n", out);
}

/* Is this the whole word, sign aside? */
static bool word_at(const char *text, const char *at, const char *word) {
    const char behind = at[strlen(word)];
    const bool begins = at == text || strchr(" +-[(", at[-1]);
    return !strncmp(at, word, strlen(word)) && begins && !isalnum((unsigned char)behind);
}

void mw_text_format(char *out, size_t size, const char *format, va_list list) {
    vsnprintf(out, size, format, list);
    for (char *at = out; *at; at++) {
        if (!word_at(out, at, "nan") && !word_at(out, at, "inf")) continue;
        char *from = at > out && strchr("+-", at[-1]) ? at - 1 : at;
        *from = '-';
        memmove(from + 1, at + 3, strlen(at + 3) + 1);
        at = from;
    }
}

static void put_escaped(FILE *out, const char *format, va_list list) {
    char text[256];
    mw_text_format(text, sizeof text, format, list);
    mw_html_escape(out, text);
}

void mw_svg_text(FILE *out, double x, double y, const char *anchor, const char *class, const char *format,
                 ...) {
    va_list list;
    fprintf(out, "<text x='%.1f' y='%.1f' text-anchor='%s' class='%s'>", x, y, anchor, class);
    va_start(list, format);
    put_escaped(out, format, list);
    va_end(list);
    fputs("</text>\n", out);
}

void mw_svg_text_up(FILE *out, double x, double y, const char *class, const char *text) {
    fprintf(out, "<text x='%.1f' y='%.1f' text-anchor='middle' class='%s' transform='rotate(-90 %.1f %.1f)'>",
            x, y, class, x, y);
    mw_html_escape(out, text);
    fputs("</text>\n", out);
}

void mw_svg_tip(FILE *out, const char *format, ...) {
    va_list list;
    fputs("<title>", out);
    va_start(list, format);
    put_escaped(out, format, list);
    va_end(list);
    fputs("</title>", out);
}

void mw_svg_line(FILE *out, double x1, double y1, double x2, double y2, const char *class) {
    fprintf(out, "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' class='%s'/>\n", x1, y1, x2, y2, class);
}

void mw_svg_key(FILE *out, double x, double y, const char *const *names, int count) {
    for (int i = 0; i < count; i++) {
        if (!*names[i]) continue; /* a series that is not there */
        fprintf(out, "<rect x='%.1f' y='%.1f' width='11' height='11' rx='2' class='s%d'/>", x, y - 10,
                i % MW_SVG_SERIES);
        mw_svg_text(out, x + 16, y, "start", "tick", "%s", names[i]);
        x += 34 + 6.4 * (double)strlen(names[i]);
    }
}

/* ---- axes ---- */

/* Files may hold numbers that no picture needs. */
static bool drawable(double value, bool logarithmic) {
    return fabs(value) < 1e100 && (!logarithmic || value > 1e-100);
}

static double clamp(double x, double low, double high) {
    return fmin(fmax(x, low), high);
}

/* A step of 1, 2 or 5 times a power of ten, about count of them in the range. */
static double round_step(double range, int count) {
    const double wanted = range / count, power = pow(10, floor(log10(wanted))), ratio = wanted / power;
    return power * (ratio > 5 ? 10 : ratio > 2 ? 5 : ratio > 1 ? 2 : 1);
}

mw_axis mw_axis_fit(const double *values, long count, bool logarithmic, const char *label) {
    mw_axis axis = {.low = INFINITY, .high = -INFINITY, .logarithmic = logarithmic, .label = label};
    for (long i = 0; i < count; i++) {
        if (!drawable(values[i], logarithmic)) continue;
        axis.low = fmin(axis.low, values[i]);
        axis.high = fmax(axis.high, values[i]);
    }
    if (!(axis.low <= axis.high))
        return (mw_axis){.low = logarithmic ? 0.1 : 0, .high = 1, .logarithmic = logarithmic, .label = label};
    if (logarithmic) {
        axis.low = pow(10, floor(log10(axis.low)));
        axis.high = pow(10, ceil(log10(axis.high)));
        if (!(axis.low < axis.high)) axis.high = 10 * axis.low;
        return axis;
    }
    const double size = fmax(fabs(axis.low), fabs(axis.high));
    if (axis.high - axis.low <= 1e-9 * size || size == 0) {
        axis.low -= size > 0 ? size / 2 : 0.5;
        axis.high += size > 0 ? size / 2 : 0.5;
    }
    const double step = round_step(axis.high - axis.low, 10);
    axis.low = step * floor(axis.low / step);
    axis.high = step * ceil(axis.high / step);
    return axis;
}

double mw_axis_share(const mw_axis *axis, double value) {
    const double share = axis->logarithmic ? (log10(fmax(value, 1e-300)) - log10(axis->low)) /
                                                 (log10(axis->high) - log10(axis->low))
                                           : (value - axis->low) / (axis->high - axis->low);
    return clamp(share, 0, 1);
}

bool mw_axis_shows(const mw_axis *axis, double value) {
    return drawable(value, axis->logarithmic);
}

int mw_axis_ticks(const mw_axis *axis, int count, double *ticks, int most) {
    int n = 0;
    if (axis->logarithmic) {
        const int low = (int)ceil(log10(axis->low) - 1e-9), high = (int)floor(log10(axis->high) + 1e-9);
        const int each = 1 + (high - low) / (count > 0 ? count : 1);
        for (int k = low; k <= high && n < most; k += each) ticks[n++] = pow(10, k);
        return n;
    }
    double step = round_step(axis->high - axis->low, count);
    if (axis->whole) step = fmax(step, 1);
    const double first = ceil(axis->low / step - 1e-9);
    for (int k = 0; n < most; k++) {
        const double at = (first + k) * step;
        if (!(at <= axis->high + 1e-9 * step)) break;
        ticks[n++] = fabs(at) < 1e-9 * step ? 0 : at;
    }
    return n;
}

double mw_plot_x(const mw_plot *plot, double value) {
    return plot->left + plot->width * mw_axis_share(&plot->x, value);
}

double mw_plot_y(const mw_plot *plot, double value) {
    return plot->top + plot->height * (1 - mw_axis_share(&plot->y, value));
}

enum { MOST_TICKS = 16 };

void mw_plot_x_axis(const mw_plot *plot) {
    double ticks[MOST_TICKS];
    const double bottom = plot->top + plot->height;
    const int count = mw_axis_ticks(&plot->x, (int)fmax(2, plot->width / 70), ticks, MOST_TICKS);
    for (int i = 0; i < count; i++) {
        const double x = mw_plot_x(plot, ticks[i]);
        mw_svg_line(plot->out, x, plot->top, x, bottom, ticks[i] == 0 ? "zero" : "grid");
        mw_svg_text(plot->out, x, bottom + 15, "middle", "tick", "%g", ticks[i]);
    }
    mw_svg_text(plot->out, plot->left + plot->width / 2, bottom + 31, "middle", "label", "%s", plot->x.label);
}

static void y_label(const mw_plot *plot) {
    mw_svg_text_up(plot->out, plot->left - 54, plot->top + plot->height / 2, "label", plot->y.label);
}

void mw_plot_y_axis(const mw_plot *plot) {
    double ticks[MOST_TICKS];
    const int count = mw_axis_ticks(&plot->y, (int)fmax(2, plot->height / 42), ticks, MOST_TICKS);
    for (int i = 0; i < count; i++) {
        const double y = mw_plot_y(plot, ticks[i]);
        mw_svg_line(plot->out, plot->left, y, plot->left + plot->width, y, ticks[i] == 0 ? "zero" : "grid");
        mw_svg_text(plot->out, plot->left - 6, y + 4, "end", "tick", "%g", ticks[i]);
    }
    y_label(plot);
}

void mw_plot_x_names(const mw_plot *plot, const char *const *names, int count) {
    const double bottom = plot->top + plot->height;
    for (int i = 0; i < count; i++)
        mw_svg_text(plot->out, plot->left + plot->width * (i + 0.5) / count, bottom + 15, "middle", "tick",
                    "%s", names[i]);
    mw_svg_text(plot->out, plot->left + plot->width / 2, bottom + 31, "middle", "label", "%s", plot->x.label);
}

/* ---- colours of fields ---- */

typedef struct {
    int red, green, blue;
} colour;

static const char *between(char out[8], colour a, colour b, double share) {
    snprintf(out, 8, "#%02x%02x%02x", (unsigned)lround(a.red + share * (b.red - a.red)) & 255u,
             (unsigned)lround(a.green + share * (b.green - a.green)) & 255u,
             (unsigned)lround(a.blue + share * (b.blue - a.blue)) & 255u);
    return out;
}

const char *mw_colour_share(char out[8], double share) {
    static const colour stops[] = {{0, 32, 76},     {42, 63, 110},  {87, 93, 109}, {124, 123, 120},
                                   {165, 155, 115}, {210, 193, 95}, {255, 234, 70}};
    enum { PARTS = sizeof stops / sizeof *stops - 1 };
    const double at = isnan(share) ? 0 : clamp(share, 0, 1) * PARTS;
    const int part = at >= PARTS ? PARTS - 1 : (int)at;
    return between(out, stops[part], stops[part + 1], at - part);
}

const char *mw_colour_sign(char out[8], double number) {
    static const colour white = {247, 247, 247}, blue = {5, 97, 160}, orange = {190, 77, 0};
    const double size = isnan(number) ? 0 : fmin(fabs(number), 1);
    return between(out, white, number < 0 ? orange : blue, size);
}

const char *mw_colour_text(const char *ground) {
    const long rgb = strtol(ground + 1, NULL, 16);
    const double light =
        0.299 * (double)(rgb >> 16 & 255) + 0.587 * (double)(rgb >> 8 & 255) + 0.114 * (double)(rgb & 255);
    return light > 140 ? "#000" : "#fff";
}
