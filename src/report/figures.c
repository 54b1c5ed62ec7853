/* Heat maps, standing bars and graphs on agents; see figures.h. */
#include "report/figures.h"

#include <math.h>
#include <string.h>

static double at(const mw_matrix *m, int row, int column) {
    return m->values[row * m->stride + column];
}

/* Three digits that fit a cell. */
static const char *short_number(char out[16], double value) {
    if (!isfinite(value)) return "-";
    snprintf(out, 16, fabs(value) >= 1e-3 && fabs(value) < 1000 ? "%.3f" : "%.2g", value == 0 ? 0 : value);
    if (strlen(out) > 6 && fabs(value) >= 1e-3) snprintf(out, 16, "%.3g", value);
    return out;
}

/* The range of the finite entries; `diagonal` false leaves those of rows on themselves out. */
static void range_of(const mw_matrix *m, bool diagonal, double *low, double *high) {
    *low = INFINITY;
    *high = -INFINITY;
    for (int i = 0; i < m->rows; i++)
        for (int j = 0; j < m->columns; j++) {
            const double value = at(m, i, j);
            if (!(fabs(value) < 1e100) || (i == j && !diagonal)) continue;
            *low = fmin(*low, value);
            *high = fmax(*high, value);
        }
    if (!(*low <= *high)) *low = 0, *high = 1;
}

/* ---- heat maps ---- */

enum { CELL = 52, LINE = 30, LEFT = 60, TOP = 26, SCALE = 76, BELOW = 38 };

static void put_cell(FILE *out, const mw_heat_map *map, int i, int j, double low, double high) {
    const double value = at(&map->matrix, i, j), x = LEFT + j * CELL, y = TOP + i * LINE;
    char ground[8] = "#dddddd", text[16];
    if (isfinite(value)) mw_colour_share(ground, high > low ? (value - low) / (high - low) : 0.5);
    fprintf(out, "<rect x='%.0f' y='%.0f' width='%d' height='%d' fill='%s'>", x, y, CELL - 1, LINE - 1,
            ground);
    mw_svg_tip(out, "%s %d, %s %d: %.6g", map->row_label, i, map->column_label, j, value);
    fprintf(out,
            "</rect><text x='%.1f' y='%.1f' text-anchor='middle' style='fill:%s' class='value'>%s</text>\n",
            x + CELL / 2.0, y + LINE / 2.0 + 4, mw_colour_text(ground), short_number(text, value));
}

static void put_scale(FILE *out, double x, double height, double low, double high) {
    enum { STEPS = 24 };
    char colour[8], text[16];
    for (int k = 0; k < STEPS; k++)
        fprintf(out, "<rect x='%.0f' y='%.2f' width='14' height='%.2f' fill='%s'/>", x,
                TOP + height * (STEPS - 1 - k) / STEPS, height / STEPS + 0.5,
                mw_colour_share(colour, (k + 0.5) / STEPS));
    mw_svg_text(out, x + 19, TOP + 9, "start", "tick", "%s", short_number(text, high));
    mw_svg_text(out, x + 19, TOP + height, "start", "tick", "%s", short_number(text, low));
}

void mw_figure_heat_map(FILE *out, const mw_heat_map *map) {
    const mw_matrix *m = &map->matrix;
    const double width = m->columns * CELL, height = m->rows * LINE;
    double low = map->low, high = map->high;
    if (!(low < high)) range_of(m, true, &low, &high);
    mw_svg_begin(out, LEFT + fmax(width + SCALE, 6.2 * (double)strlen(map->title)), TOP + height + BELOW,
                 map->title);
    mw_svg_text(out, LEFT, 15, "start", "label", "%s", map->title);
    for (int i = 0; i < m->rows; i++) {
        mw_svg_text(out, LEFT - 8, TOP + i * LINE + LINE / 2.0 + 4, "end", "tick", "%d", i);
        for (int j = 0; j < m->columns; j++) put_cell(out, map, i, j, low, high);
    }
    for (int j = 0; j < m->columns; j++)
        mw_svg_text(out, LEFT + (j + 0.5) * CELL, TOP + height + 14, "middle", "tick", "%d", j);
    mw_svg_text(out, LEFT + width / 2, TOP + height + 30, "middle", "label", "%s", map->column_label);
    mw_svg_text_up(out, 22, TOP + height / 2, "label", map->row_label);
    put_scale(out, LEFT + width + 12, height, low, high);
    mw_svg_end(out);
}

/* ---- standing bars ---- */

void mw_figure_columns(FILE *out, const mw_columns *c) {
    enum { WIDTH = 560, HEIGHT = 260, ROOM = 66 };
    double ends[2] = {0, 0};
    for (int i = 0; i < c->count; i++) {
        if (!(fabs(c->values[i]) < 1e100)) continue;
        ends[0] = fmin(ends[0], c->values[i]);
        ends[1] = fmax(ends[1], c->values[i]);
    }
    const mw_plot plot = {.out = out,
                          .left = ROOM,
                          .top = TOP,
                          .width = WIDTH - ROOM - 12,
                          .height = HEIGHT - TOP - BELOW,
                          .x = {.high = 1, .label = c->x_label},
                          .y = mw_axis_fit(ends, 2, false, c->y_label)};
    const double part = plot.width / (c->count > 0 ? c->count : 1), zero = mw_plot_y(&plot, 0);
    mw_svg_begin(out, WIDTH, HEIGHT, c->title);
    mw_svg_text(out, ROOM, 15, "start", "label", "%s", c->title);
    mw_plot_y_axis(&plot);
    mw_plot_x_names(&plot, c->names, c->count);
    for (int i = 0; i < c->count; i++) {
        if (!mw_axis_shows(&plot.y, c->values[i])) continue;
        const double y = mw_plot_y(&plot, c->values[i]), x = plot.left + (i + 0.18) * part;
        char text[16];
        fprintf(out, "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' class='%s'>", x, fmin(y, zero),
                0.64 * part, fmax(fabs(y - zero), 0.5), c->values[i] < 0 ? "s1" : "s0");
        mw_svg_tip(out, "%s: %.6g", c->names[i], c->values[i]);
        fputs("</rect>", out);
        mw_svg_text(out, x + 0.32 * part, c->values[i] < 0 ? fmax(y, zero) + 12 : fmin(y, zero) - 4, "middle",
                    "value", "%s", short_number(text, c->values[i]));
    }
    mw_svg_end(out);
}

/* ---- agents ---- */

enum { PICTURE = 360, NODE = 19, RING = 126, MOST_LABELS = 5 };

typedef struct {
    double x, y;
} spot;

static spot node(int agent, int agents) {
    const double angle = 2 * acos(-1) * agent / agents - acos(-1) / 2;
    return (spot){PICTURE / 2.0 + RING * cos(angle), PICTURE / 2.0 + 12 + RING * sin(angle)};
}

/* A bent arrow, so that both directions between two agents can be seen. */
static void put_arrow(FILE *out, spot from, spot to, double value, double share, bool labelled) {
    const double dx = to.x - from.x, dy = to.y - from.y, length = fmax(hypot(dx, dy), 1e-9);
    const double ux = dx / length, uy = dy / length, bend = 0.16 * length, width = 0.6 + 6.4 * share;
    const spot middle = {(from.x + to.x) / 2 - uy * bend, (from.y + to.y) / 2 + ux * bend};
    const double ex = to.x - middle.x, ey = to.y - middle.y, end = fmax(hypot(ex, ey), 1e-9);
    const double head = 7 + width, tip_x = to.x - ex / end * (NODE + 2), tip_y = to.y - ey / end * (NODE + 2),
                 base_x = tip_x - ex / end * head, base_y = tip_y - ey / end * head,
                 side_x = -ey / end * (2.5 + width / 1.6), side_y = ex / end * (2.5 + width / 1.6);
    char text[16];
    fprintf(out,
            "<g opacity='%.2f'><path d='M%.1f %.1fQ%.1f %.1f %.1f %.1f' class='none l0' stroke-width='%.2f'>",
            0.25 + 0.75 * share, from.x, from.y, middle.x, middle.y, base_x, base_y, width);
    mw_svg_tip(out, "%.6g", value);
    fprintf(out, "</path><path d='M%.1f %.1fL%.1f %.1fL%.1f %.1fZ' class='s0'/></g>\n", tip_x, tip_y,
            base_x + side_x, base_y + side_y, base_x - side_x, base_y - side_y);
    if (labelled)
        mw_svg_text(out, (from.x + to.x + 2 * middle.x) / 4 - uy * 19,
                    (from.y + to.y + 2 * middle.y) / 4 + ux * 19 + 4, "middle", "value", "%s",
                    short_number(text, value));
}

static void put_node(FILE *out, spot p, int agent, double own) {
    char text[16];
    const double out_x = p.x - PICTURE / 2.0, out_y = p.y - PICTURE / 2.0 - 12, far = (RING + 38.0) / RING;
    fprintf(out, "<circle cx='%.1f' cy='%.1f' r='%d' class='s6'>", p.x, p.y, NODE);
    mw_svg_tip(out, "agent %d on itself: %.6g", agent, own);
    fputs("</circle>", out);
    mw_svg_text(out, p.x, p.y + 4, "middle", "value", "%d", agent);
    mw_svg_text(out, PICTURE / 2.0 + far * out_x, PICTURE / 2.0 + 16 + far * out_y, "middle", "tick", "%s",
                short_number(text, own));
}

void mw_figure_agents(FILE *out, const mw_agent_arrows *a) {
    const mw_matrix *m = &a->matrix;
    double low, high;
    range_of(m, false, &low, &high);
    mw_svg_begin(out, PICTURE, PICTURE + 24, a->title);
    mw_svg_text(out, 8, 15, "start", "label", "%s", a->title);
    for (int i = 0; i < m->rows; i++)
        for (int j = 0; j < m->rows; j++) {
            const double value = at(m, i, j);
            if (i == j || !(value >= 0) || !(value < 1e100)) continue;
            put_arrow(out, node(j, m->rows), node(i, m->rows), value, high > 0 ? value / high : 0,
                      m->rows <= MOST_LABELS);
        }
    for (int i = 0; i < m->rows; i++) put_node(out, node(i, m->rows), i, at(m, i, i));
    mw_svg_text(out, PICTURE / 2.0, PICTURE + 18, "middle", "tick",
                "arrows: source to target; beside a node: its own");
    mw_svg_end(out);
}
