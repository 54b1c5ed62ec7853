/* Sweeps: what the numbers of candidates, of steps ahead and of sampling steps buy, and what its horizon
 * costs the oracle. */
#include "report/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_POINTS = 64 };

/* An arm's returns over the values of one setting of the plan. */
typedef struct {
    double value[MOST_POINTS], mean[MOST_POINTS], low[MOST_POINTS], high[MOST_POINTS];
    double gain[MOST_POINTS], gain_low[MOST_POINTS], gain_high[MOST_POINTS]; /* over reactive, paired */
    double ms[MOST_POINTS];
    int count;
} series;

static void move(series *s, int to, int from) {
    double *const columns[] = {s->value, s->mean, s->low, s->high, s->gain, s->gain_low, s->gain_high, s->ms};
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) columns[c][to] = columns[c][from];
}

static const json_t *sweeps_of(const mw_page *page, int i) {
    return json_object_get(page->sources->files[MW_SOURCE_SWEEPS][i], "sweeps");
}

/* Words (a scorer, on) have no place on an axis: such points are in the file alone. */
static double place_of(const char *value) {
    char *end;
    const double number = value ? strtod(value, &end) : NAN;
    return value && end != value && !*end ? number : (double)NAN;
}

/* By rising value, whatever order they were played in. */
static void collect(series *s, const json_t *points, const char *arm) {
    s->count = 0;
    for (size_t i = 0; i < json_array_size(points) && s->count < MOST_POINTS; i++) {
        const json_t *point = json_array_get(points, i),
                     *played = json_object_get(json_object_get(point, "arms"), arm);
        const double value = place_of(json_string_value(json_object_get(point, "value")));
        if (isnan(mw_json_number(played, "return")) || !(fabs(value) < 1e6)) continue;
        int k = s->count++;
        for (; k > 0 && s->value[k - 1] > value; k--) move(s, k, k - 1);
        s->value[k] = value;
        s->mean[k] = mw_json_number(played, "return");
        s->low[k] = mw_json_number(played, "return_low");
        s->high[k] = mw_json_number(played, "return_high");
        s->gain[k] = mw_json_number(played, "gain.mean");
        s->gain_low[k] = mw_json_number(played, "gain.low");
        s->gain_high[k] = mw_json_number(played, "gain.high");
        s->ms[k] = mw_json_number(played, "ms.decision.p50");
    }
}

static mw_sheet *sweep_sheet(void) {
    mw_sheet *sheet = mw_sheet_create();
    mw_sheet_column(sheet, NULL, "setting", NULL);
    mw_sheet_column(sheet, NULL, "arm", NULL);
    mw_sheet_column(sheet, NULL, "what", "the plan setting that changes");
    mw_sheet_column(sheet, NULL, "value", NULL);
    mw_sheet_column(sheet, NULL, "return", "with its 95% interval over episodes");
    mw_sheet_column(sheet, NULL, "ms", "median of a decision, one environment");
    mw_sheet_column(sheet, NULL, "front", "no other point is both faster and better");
    return sheet;
}

/* A plan setting's name for readers. */
static void words_of(char *out, size_t size, const char *name) {
    snprintf(out, size, "%s%s", name, strcmp(name, "horizon") ? "" : " in steps");
    for (; *out; out++)
        if (*out == '_') *out = ' ';
}

static bool on_front(const json_t *front, const char *name, double value) {
    for (size_t k = 0; k < json_array_size(front); k++) {
        const json_t *point = json_array_get(front, k);
        const char *of = json_string_value(json_object_get(point, "setting"));
        if (of && !strcmp(of, name) && place_of(json_string_value(json_object_get(point, "value"))) == value)
            return true;
    }
    return false;
}

/* A panel: returns of arms over one axis, and with a front (or NULL) who is on it. Returns how many arms have
 * been played. */
static int plot_axis(mw_page *page, mw_sheet *sheet, int i, const char *name, const json_t *axis,
                     const json_t *front, const int *arms, int arm_count) {
    series *all = calloc((size_t)arm_count, sizeof *all);
    mw_curve curves[MW_ARM_STANDARD];
    double ends[2 * MW_ARM_STANDARD * MOST_POINTS], values[MW_ARM_STANDARD * MOST_POINTS];
    const char *symbol = json_string_value(json_object_get(axis, "symbol"));
    int count = 0, n = 0, m = 0;
    bool whole = true;
    if (!all) page->status = MW_ERR_MEMORY;
    for (int a = 0; all && a < arm_count; a++) {
        series *s = &all[count];
        collect(s, json_object_get(axis, "points"), mw_arm_name(arms[a]));
        if (!s->count) continue;
        curves[count++] = (mw_curve){mw_arm_name(arms[a]), s->value, s->mean, s->low, s->high, s->count};
        for (int k = 0; k < s->count; k++) {
            ends[n++] = isnan(s->low[k]) ? s->mean[k] : s->low[k];
            ends[n++] = isnan(s->high[k]) ? s->mean[k] : s->high[k];
            values[m++] = s->value[k];
            whole &= s->value[k] == floor(s->value[k]);
            mw_sheet_row(sheet, page->table->rows[i].name, NULL);
            mw_sheet_text(sheet, "%s", mw_arm_name(arms[a]));
            mw_sheet_text(sheet, "%s", symbol ? symbol : name);
            mw_sheet_number(sheet, "%g", s->value[k]);
            mw_sheet_interval(sheet, "%.1f", s->mean[k], s->low[k], s->high[k]);
            mw_sheet_number(sheet, "%.2f", s->ms[k]);
            mw_sheet_text(sheet, arms[a] == MW_ARM_PLAN && on_front(front, name, s->value[k]) ? "yes" : "");
        }
    }
    if (count) {
        char title[144], words[48];
        words_of(words, sizeof words, name);
        if (symbol && strcmp(symbol, name))
            snprintf(title, sizeof title, "%s: %.24s, %s", page->table->rows[i].name, symbol, words);
        else
            snprintf(title, sizeof title, "%s: %s", page->table->rows[i].name, words);
        mw_axis axis_x = mw_axis_fit(values, m, false, title);
        axis_x.whole = whole;
        mw_plot_curves(page->out, title, axis_x, mw_axis_fit(ends, n, false, "episode return"), curves,
                       count);
    }
    free(all);
    return count;
}

/* ---- score against time ---- */

/* Where the plan ends with a value, the value comes after as many steps as the horizon has. */
static bool moves_value(const json_t *file, const char *name) {
    return !strcmp(name, "horizon") && mw_json_number(file, "inputs.plan.value_after") > 0;
}

/* Every axis but one that changes two settings measures the bundle's own plan once more: the least and the
 * most milliseconds that it took. */
static int repeated(const mw_page *page, int i, double *least, double *most) {
    const json_t *file = page->sources->files[MW_SOURCE_SWEEPS][i], *axis;
    const char *name;
    int n = 0;
    *least = INFINITY;
    *most = 0;
    json_object_foreach((json_t *)(uintptr_t)sweeps_of(page, i), name, axis) {
        char path[96];
        series s;
        snprintf(path, sizeof path, "inputs.plan.%.64s", name);
        const double own = mw_json_number(file, path);
        if (moves_value(file, name)) continue;
        collect(&s, json_object_get(axis, "points"), mw_arm_name(MW_ARM_PLAN));
        for (int k = 0; k < s.count; k++)
            if (s.value[k] == own && s.ms[k] > 0) {
                *least = fmin(*least, s.ms[k]);
                *most = fmax(*most, s.ms[k]);
                n++;
            }
    }
    return n;
}

/* Times are comparable where the same plan takes the same time whenever it is measured. */
static const double steady = 1.25;

static void say_played(mw_page *page, int i) {
    const json_t *file = page->sources->files[MW_SOURCE_SWEEPS][i];
    const double seeds = mw_json_number(file, "inputs.seeds"),
                 episodes = mw_json_number(file, "inputs.episodes");
    const char *swept = mw_source_bundle(file), *name = page->table->rows[i].name,
               *played = json_string_value(json_object_get(page->table->rows[i].summary, "bundle"));
    if (seeds * episodes > 0)
        mw_page_say(page,
                    "%s: %.0f episodes of each arm and value, of %.0f seed%s from %.0f on; returns, not "
                    "normalised.",
                    name, seeds * episodes, seeds, seeds == 1 ? "" : "s",
                    mw_json_number(file, "inputs.first_seed"));
    if (!swept && played)
        mw_page_say(page, "%s: whether the bundle was the study's is not known.", name);
    else if (played && strcmp(swept, played))
        mw_page_say(page, "%s: of the bundle %s, another one than the study's %s.", name, swept, played);
    const double horizon = mw_json_number(file, "inputs.plan.horizon"),
                 after = mw_json_number(file, "inputs.plan.value_after");
    if (!moves_value(file, "horizon") || !json_object_get(sweeps_of(page, i), "horizon")) return;
    mw_page_say(page, "%s: over H the value comes after the last step.", name);
    if (horizon != after)
        mw_page_say(page, "%s: H = %.0f is not the bundle's own plan, whose value comes after %.0f.", name,
                    horizon, after);
}

/* What the reader must know of a sweep before its numbers. */
static bool say_sweep(mw_page *page, int i) {
    double least, most;
    const int n = repeated(page, i, &least, &most);
    say_played(page, i);
    const bool comparable = n < 2 || most <= steady * least;
    if (!comparable)
        mw_page_say(
            page,
            "%s: the same plan, measured %d times, took %.1f to %.1f ms: something else ran beside it. "
            "The milliseconds say little, and no score is drawn against them.",
            page->table->rows[i].name, n, least, most);
    return comparable;
}

static void plot_times(mw_page *page, int i) {
    static const char *const kinds[] = {"measured", "front"};
    mw_point points[4 * MOST_POINTS];
    double x[4 * MOST_POINTS], y[4 * MOST_POINTS];
    const json_t *front = json_object_get(page->sources->files[MW_SOURCE_SWEEPS][i], "front"), *axis;
    const char *name;
    int n = 0;
    series s;
    json_object_foreach((json_t *)(uintptr_t)sweeps_of(page, i), name, axis) {
        collect(&s, json_object_get(axis, "points"), mw_arm_name(MW_ARM_PLAN));
        for (int k = 0; k < s.count && n < 3 * MOST_POINTS; k++)
            points[n++] = (mw_point){s.ms[k], s.mean[k], 0, name};
    }
    for (size_t k = 0; k < json_array_size(front) && n < 4 * MOST_POINTS; k++) {
        const json_t *point = json_array_get(front, k);
        points[n++] = (mw_point){mw_json_number(point, "ms"), mw_json_number(point, "return"), 1, "front"};
    }
    for (int k = 0; k < n; k++) {
        x[k] = points[k].x;
        y[k] = points[k].y;
    }
    char title[96];
    snprintf(title, sizeof title, "%s: milliseconds of a decision", page->table->rows[i].name);
    mw_plot_points(page->out, &(mw_points){title, mw_axis_fit(x, n, true, title),
                                           mw_axis_fit(y, n, false, "episode return"), points, n, kinds, 2,
                                           false, NAN, NAN});
}

/* A sweep of other arms alone (the oracle's horizon) has nothing to say of planning's time. */
static bool planned(const mw_page *page, int i) {
    const json_t *axis;
    const char *name;
    int points = 0;
    series s;
    json_object_foreach((json_t *)(uintptr_t)sweeps_of(page, i), name, axis) {
        collect(&s, json_object_get(axis, "points"), mw_arm_name(MW_ARM_PLAN));
        points += s.count;
    }
    return points > 0;
}

void mw_item_sweeps(mw_page *page) {
    static const int arms[] = {MW_ARM_REACTIVE, MW_ARM_PLAN};
    int settings = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const char *name;
        json_t *axis;
        if (sweeps_of(page, i) && !planned(page, i))
            mw_page_say(page, "%s: swept without the arm plan; see the oracle by horizon.",
                        page->table->rows[i].name);
        if (!planned(page, i)) continue;
        settings++;
        mw_sheet *sheet = sweep_sheet();
        const bool comparable = say_sweep(page, i);
        const json_t *front = json_object_get(page->sources->files[MW_SOURCE_SWEEPS][i], "front");
        mw_page_figure_begin(page, page->table->rows[i].name);
        json_object_foreach((json_t *)(uintptr_t)sweeps_of(page, i), name, axis)
            plot_axis(page, sheet, i, name, axis, comparable ? front : NULL, arms, 2);
        if (comparable) plot_times(page, i);
        mw_page_figure_end(page, sheet);
    }
    if (!settings)
        mw_page_missing(
            page, "no sweep of the arm plan",
            "mawam eval study/bundles/SETTING.safetensors --sweep M=1,2,4,8,16 --sweep H=1..8 --sweep "
            "K=1..5 --json=study/sweeps/SETTING.json");
}

/* ---- the oracle's horizon ---- */

/* The oracle's gain at the first, the last and its best horizon, and at how many it is certain. */
static void say_best(mw_page *page, int i, const json_t *points) {
    series s;
    int best = 0, above = 0, below = 0;
    collect(&s, points, mw_arm_name(MW_ARM_ORACLE));
    for (int k = 0; k < s.count; k++) {
        if (isnan(s.gain[k])) return;
        if (s.gain[k] > s.gain[best]) best = k;
        above += s.gain_low[k] > 0;
        below += s.gain_high[k] < 0;
    }
    if (!s.count) return;
    const int at[] = {0, s.count - 1, best};
    char text[3][96];
    for (int k = 0; k < 3; k++)
        snprintf(text[k], sizeof text[k], "%+.1f [%.1f, %.1f] at H = %g", s.gain[at[k]], s.gain_low[at[k]],
                 s.gain_high[at[k]], s.value[at[k]]);
    mw_page_say(
        page,
        "%s: oracle - reactive, of the same episodes: %s, %s; most %s. Its interval lies above zero at "
        "%d of %d horizons, below at %d.",
        page->table->rows[i].name, text[0], text[1], text[2], above, s.count, below);
}

void mw_item_oracle_horizon(mw_page *page) {
    static const int arms[] = {MW_ARM_REACTIVE, MW_ARM_PLAN, MW_ARM_ORACLE};
    int settings = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const json_t *axis = json_object_get(sweeps_of(page, i), "horizon");
        series oracle;
        collect(&oracle, json_object_get(axis, "points"), mw_arm_name(MW_ARM_ORACLE));
        if (!oracle.count) continue;
        settings++;
        mw_sheet *sheet = sweep_sheet();
        say_played(page, i);
        say_best(page, i, json_object_get(axis, "points"));
        mw_page_figure_begin(page, NULL);
        plot_axis(page, sheet, i, "horizon", axis, NULL, arms, 3);
        mw_page_figure_end(page, sheet);
    }
    if (!settings)
        mw_page_missing(page, "no sweep of the oracle's horizon",
                        "mawam eval study/bundles/2ant-medium.safetensors --sweep H=1..8 --json="
                        "study/sweeps/2ant-medium.json");
}
