/* A film strip: a few moments of a recorded episode in one row, and in a second one those of the episode that
 * was recorded beside it. It is drawn of the same JSON that the page plays, as an SVG that any page can show.
 */
#include "core/file.h"
#include "core/json.h"
#include "env/replay.h"
#include "mawam/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOMENTS = 5, WIDE = 196, GAP = 6, TITLE = 24 };

/* What the page draws them in; agents by their number. */
static const struct {
    const char *role, *hue;
} roles[] = {{"enemy", "#d55e00"},    {"prey", "#e69f00"},   {"landmark", "#8a94a3"},
             {"obstacle", "#6b7686"}, {"food", "#2a9d5c"},   {"forest", "#d3ecd8"},
             {"wall", "#8a94a3"},     {"attack", "#e6a700"}, {"torso", "#475569"}};
static const char *const agents[] = {"#0072b2", "#cc79a7", "#009e73", "#56b4e9",
                                     "#7b4fb5", "#8c6d1f", "#4c78a8", "#b07aa1"};
static const unsigned char cividis[8][3] = {{0, 34, 78},     {33, 56, 110},   {76, 85, 108},  {108, 110, 114},
                                            {142, 137, 120}, {180, 167, 108}, {221, 199, 86}, {254, 232, 56}};

typedef struct {
    FILE *out;
    bool follow;        /* the torso stays in the middle */
    double box[4];      /* of all that ever happens: x, y, x, y */
    double scale, x, y; /* of the panel at hand: place p is drawn at (x + scale p[0], y - scale p[1]) */
    int high;           /* of a panel */
} strip;

static double number(const json_t *list, size_t index) {
    return json_number_value(json_array_get(list, index));
}

static const char *role_of(const json_t *episode, const json_t *shape) {
    const char *role = json_string_value(json_array_get(
        json_object_get(episode, "roles"), (size_t)json_integer_value(json_array_get(shape, 1))));
    return role ? role : "";
}

static const char *hue_of(const char *role, int id) {
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (!strcmp(roles[i].role, role)) return roles[i].hue;
    return agents[id < 0 ? 0 : id % 8];
}

/* ---- cameras ---- */

static void grow(double *box, double x, double y, double radius) {
    box[0] = fmin(box[0], x - radius), box[1] = fmin(box[1], y - radius);
    box[2] = fmax(box[2], x + radius), box[3] = fmax(box[3], y + radius);
}

static void see_all(strip *s, const json_t *episode) {
    size_t i, k;
    json_t *frame, *shape;
    json_array_foreach(json_object_get(episode, "frames"), i, frame) json_array_foreach(
        json_object_get(frame, "shapes"), k, shape) if (number(shape, 0) == MW_SHAPE_CIRCLE)
        grow(s->box, number(shape, 6), number(shape, 7), number(shape, 3));
}

/* The panel whose upper left corner is at (left, top). */
static void aim(strip *s, const json_t *episode, const json_t *frame, double left, double top) {
    double middle[2] = {(s->box[0] + s->box[2]) / 2, (s->box[1] + s->box[3]) / 2};
    size_t k;
    json_t *shape;
    s->scale = fmin(WIDE / (s->box[2] - s->box[0]), s->high / (s->box[3] - s->box[1]));
    if (s->follow) {
        s->scale = WIDE / 3.5;
        json_array_foreach(json_object_get(frame, "shapes"), k,
                           shape) if (!strcmp(role_of(episode, shape), "torso")) middle[0] = number(shape, 6),
                                                                                 middle[1] = number(shape, 7);
    }
    s->x = left + WIDE / 2.0 - s->scale * middle[0];
    s->y = top + s->high / 2.0 + s->scale * middle[1];
}

/* ---- a panel ---- */

static void draw_shape(const strip *s, const json_t *episode, const json_t *shape) {
    const char *role = role_of(episode, shape);
    const int kind = (int)number(shape, 0), id = (int)number(shape, 2);
    const double x = s->x + s->scale * number(shape, 6), y = s->y - s->scale * number(shape, 7),
                 u = s->x + s->scale * number(shape, 9), v = s->y - s->scale * number(shape, 10),
                 radius = s->scale * number(shape, 3);
    const char *hue = hue_of(role, id);
    if (kind == MW_SHAPE_CIRCLE) {
        fprintf(s->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\"/>\n", x, y, fmax(radius, 1),
                hue);
        if (!strcmp(role, "agent") && id >= 0 && radius > 6)
            fprintf(s->out, "<text x=\"%.1f\" y=\"%.1f\" class=\"id\" text-anchor=\"middle\">%d</text>\n", x,
                    y + 4, id);
    } else if (kind != MW_SHAPE_RECT && strcmp(role, "floor")) { /* which has no side from above */
        fprintf(s->out,
                "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"%.1f\" "
                "stroke-linecap=\"round\"/>\n",
                x, y, u, v, hue, kind == MW_SHAPE_LINE ? 1.5 : 2 * radius);
    }
}

static void draw_line(const strip *s, const json_t *points, const char *hue, double width) {
    fputs("<polyline fill=\"none\" stroke-linejoin=\"round\" stroke-linecap=\"round\" points=\"", s->out);
    for (size_t i = 0; i + 1 < json_array_size(points); i += 2)
        fprintf(s->out, "%s%.1f,%.1f", i ? " " : "", s->x + s->scale * number(points, i),
                s->y - s->scale * number(points, i + 1));
    fprintf(s->out, "\" stroke=\"%s\" stroke-width=\"%.1f\"/>\n", hue, width);
}

/* Seen through the agents on it. */
static void draw_target(const strip *s, const json_t *shape) {
    const double x = s->x + s->scale * number(shape, 6), y = s->y - s->scale * number(shape, 7),
                 radius = s->scale * number(shape, 3), r = 1.5 * radius;
    fprintf(s->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"none\" stroke=\"#1b2330\"/>\n", x, y,
            radius);
    fprintf(s->out, "<path d=\"M%.1f,%.1fh%.1fM%.1f,%.1fv%.1f\" stroke=\"#1b2330\"/>\n", x - r, y, 2 * r, x,
            y - r, 2 * r);
}

/* Dark blue to yellow, by the score's place between the lowest and the highest. */
static void ramp(char hue[8], const json_t *scores, size_t index) {
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < json_array_size(scores); i++)
        if (json_is_number(json_array_get(scores, i)))
            low = fmin(low, number(scores, i)), high = fmax(high, number(scores, i));
    const bool known = json_is_number(json_array_get(scores, index)) && high > low;
    const double at = 6.4 * (known ? (number(scores, index) - low) / (high - low) : 0.5);
    const int i = (int)at;
    int c[3];
    for (int k = 0; k < 3; k++)
        c[k] = (int)lround(cividis[i][k] + (at - i) * (cividis[i + 1][k] - cividis[i][k]));
    snprintf(hue, 8, "#%02x%02x%02x", c[0] & 255, c[1] & 255, c[2] & 255);
}

/* The chosen one on top, with an edge. */
static void draw_paths(const strip *s, const json_t *frame) {
    const long chosen = (long)json_integer_value(json_object_get(frame, "chosen"));
    size_t i;
    json_t *path;
    for (int top = 0; top < 2; top++) json_array_foreach(json_object_get(frame, "paths"), i, path) {
            const long of = (long)json_integer_value(json_object_get(path, "of"));
            const json_t *points = json_object_get(path, "points");
            char hue[8];
            if ((of == chosen) != top) continue;
            ramp(hue, json_object_get(frame, "scores"), (size_t)of);
            if (top) draw_line(s, points, "#1b2330", 4.5);
            draw_line(s, points, hue, top ? 2.5 : 1);
        }
}

static double return_until(const json_t *episode, size_t step) {
    const json_t *rewards = json_object_get(episode, "rewards");
    double sum = 0;
    for (size_t t = 0; t < step && t < json_array_size(rewards); t++) {
        const json_t *row = json_array_get(rewards, t);
        for (size_t i = 0; i < json_array_size(row); i++)
            sum += number(row, i) / (double)json_array_size(row);
    }
    return sum;
}

static void draw_row(strip *s, const json_t *episode, const char *label, size_t steps, double top) {
    const json_t *frames = json_object_get(episode, "frames"), *frame;
    const size_t count = json_array_size(frames);
    size_t k;
    json_t *shape;
    fprintf(s->out, "<text x=\"%d\" y=\"%.1f\" class=\"name\">%s: return %.1f</text>\n", GAP, top + 16, label,
            return_until(episode, count));
    for (int m = 0; m < MOMENTS && count; m++) {
        const double left = GAP + m * (WIDE + GAP);
        const size_t step = (size_t)m * (steps - 1) / (MOMENTS - 1);
        frame = json_array_get(frames, step < count ? step : count - 1);
        aim(s, episode, frame, left, top + TITLE);
        fprintf(s->out,
                "<svg x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" viewBox=\"%.1f %.1f %d %d\">"
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" fill=\"#f3f5f8\"/>\n",
                left, top + TITLE, WIDE, s->high, left, top + TITLE, WIDE, s->high, left, top + TITLE, WIDE,
                s->high);
        json_array_foreach(json_object_get(frame, "shapes"), k, shape) draw_shape(s, episode, shape);
        json_array_foreach(json_object_get(frame, "shapes"), k,
                           shape) if (!strcmp(role_of(episode, shape), "landmark")) draw_target(s, shape);
        draw_paths(s, frame);
        fprintf(s->out, "<text x=\"%.1f\" y=\"%.1f\">step %zu</text></svg>\n", left + 6, top + TITLE + 15,
                step < count ? step : count - 1);
    }
}

/* ---- the strip ---- */

static void draw(strip *s, const json_t *root) {
    const json_t *beside = json_object_get(root, "beside");
    const size_t own = json_array_size(json_object_get(root, "frames")),
                 other = json_array_size(json_object_get(beside, "frames")),
                 frames = own > other ? own : other;
    see_all(s, root);
    if (beside) see_all(s, beside);
    if (!(s->box[2] > s->box[0])) grow(s->box, 0, 0, 1);
    const double span = fmax(s->box[2] - s->box[0], s->box[3] - s->box[1]), edge = 0.06 * span;
    for (int c = 0; c < 4; c++) s->box[c] += c < 2 ? -edge : edge;
    const double ratio = s->follow ? 0.7 : (s->box[3] - s->box[1]) / (s->box[2] - s->box[0]);
    s->high = (int)(WIDE * fmin(fmax(ratio, 0.4), 1.1));
    const int row = TITLE + s->high + GAP, wide = GAP + MOMENTS * (WIDE + GAP),
              high = (beside ? 2 : 1) * row + 24;
    fprintf(s->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n"
            "<style>text{font:11px system-ui,sans-serif;fill:#1b2330}.name{font-size:13px;font-weight:600}"
            ".id{fill:#fff}</style>\n"
            "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
            wide, high, wide, high, wide, high);
    draw_row(s, root, beside ? "planned" : "played", frames > 1 ? frames : 2, 0);
    if (beside) draw_row(s, beside, "the policy alone", frames > 1 ? frames : 2, row);
    fprintf(s->out, "<text x=\"%d\" y=\"%d\">%s</text>\n</svg>\n", GAP, high - 10,
            json_object_get(json_array_get(json_object_get(root, "frames"), 0), "paths")
                ? "Lines: the ways that candidates imagine, from dark blue (low score) to yellow (high "
                  "score); the chosen one has an edge."
                : "");
}

mw_status mw_replay_strip(const char *json, size_t size, const char *path, mw_error *error) {
    json_t *root;
    mw_text text;
    MW_TRY(mw_text_open(&text, error));
    mw_status status = mw_json_parse_own(&root, json, size, path, error);
    if (status != MW_OK) {
        mw_text_close(&text, NULL);
        free(text.bytes);
        return status;
    }
    strip s = {.out = text.stream, .box = {INFINITY, INFINITY, -INFINITY, -INFINITY}};
    const char *family = json_string_value(json_object_get(root, "family"));
    s.follow = family && !strcmp(family, "ant");
    draw(&s, root);
    json_decref(root);
    MW_TRY(mw_text_close(&text, error));
    status = mw_file_write(path, text.bytes, text.size, error);
    free(text.bytes);
    return status;
}
