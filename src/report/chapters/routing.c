/* The chapter on routing: what mawam diagnose --routing found in every setting that it was run on. */
#include "report/page.h"
#include "report/report.h"

#include "eval/statistics.h"

#include <math.h>
#include <string.h>

static const char command[] =
    "mawam diagnose --routing study/bundles/SETTING.safetensors study/data/SETTING --json "
    "study/routing/SETTING.json";

static const json_t *routing_of(const mw_page *page, int i) {
    return json_object_get(page->sources->files[MW_SOURCE_ROUTING][i], "routing");
}

static int present(mw_page *page, const char *what) {
    int count = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++) count += routing_of(page, i) != NULL;
    if (!count) mw_page_missing(page, what, command);
    return count;
}

/* ---- experts ---- */

enum { MOST_EXPERTS = 33 };

static void expert_setting(mw_page *page, int i) {
    static const char *const series[] = {"increase"};
    static const char *const names[MOST_EXPERTS] = {
        "1",  "2",  "3",  "4",  "5",  "6",  "7",  "8",  "9",  "10", "11", "12", "13", "14", "15", "16", "17",
        "18", "19", "20", "21", "22", "23", "24", "25", "26", "27", "28", "29", "30", "31", "32", "33"};
    const json_t *trained = json_object_get(routing_of(page, i), "trained"),
                 *affinity = json_object_get(trained, "affinity"),
                 *increase = json_object_get(trained, "increase");
    const int agents = (int)json_array_size(affinity);
    double values[MOST_EXPERTS];
    int experts = 0;
    mw_sheet *sheet = mw_sheet_create();
    mw_sheet_column(sheet, NULL, "expert", "the last one is the shared expert where the model has one");
    for (int a = 0; a < agents && a < 16; a++) mw_sheet_column(sheet, "affinity of agent", names[a], NULL);
    mw_sheet_column(sheet, "leave one out", "error's increase", "squared units of observations");
    for (size_t e = 0; e < json_array_size(increase) && experts < MOST_EXPERTS; e++) {
        const json_t *value = json_array_get(increase, e);
        values[experts] = json_is_number(value) ? json_number_value(value) : (double)NAN;
        mw_sheet_row(sheet, names[experts], NULL);
        for (int a = 0; a < agents && a < 16; a++) {
            const json_t *share = json_array_get(json_array_get(affinity, (size_t)a), e);
            mw_sheet_number(sheet, "%.3f", json_is_number(share) ? json_number_value(share) : (double)NAN);
        }
        mw_sheet_number(sheet, "%.3g", values[experts++]);
    }
    char caption[160];
    snprintf(caption, sizeof caption, "%s: increase of the one-step error without each expert",
             page->table->rows[i].name);
    mw_page_figure_begin(page, caption);
    mw_plot_bars(page->out,
                 &(mw_bars){caption,
                            mw_axis_fit(values, experts, false, "increase of the mean squared error"), names,
                            experts, series, 1, values, NULL, NULL, "%.3g"});
    mw_sheet_html(sheet, page->out);
    mw_page_figure_end(page, sheet);
}

void mw_item_experts(mw_page *page) {
    if (!present(page, "no result of the routing diagnosis")) return;
    for (int i = 0; i < MW_TABLE_ROWS; i++)
        if (routing_of(page, i) && !strcmp(page->table->rows[i].setting->quality, "medium") &&
            !strcmp(page->table->rows[i].family, "ant"))
            expert_setting(page, i);
}

/* ---- context against identity ---- */

static const struct {
    const char *path, *title, *axis;
    const char *format;
} facts[] = {
    {"trained.statistics.nmi_agent.corrected", "NMI agent", "corrected NMI with the agent", "%.3f"},
    {"trained.statistics.nmi_context.corrected", "NMI context", "corrected NMI with the context", "%.3f"},
    {"trained.statistics.js_agents", "JS agents", "divergence between agents, nats", "%.3f"},
    {"trained.statistics.js_context", "JS transitions", "divergence between transitions, nats", "%.3f"},
    {"trained.statistics.effective_experts", "effective experts", "effective experts", "%.2f"},
    {"trained.statistics.switching_rate", "switching", "switching, share of neighbouring steps", "%.3f"},
};

enum { FACTS = sizeof facts / sizeof *facts };

static void fact_points(mw_page *page, double values[FACTS][MW_TABLE_ROWS], int x, int y) {
    static const char *const series[] = {"MPE", "SMAC", "Ant"};
    mw_point points[MW_TABLE_ROWS];
    char title[128];
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const char *family = page->table->rows[i].family;
        points[i] = (mw_point){values[x][i], values[y][i],
                               !strcmp(family, "mpe")      ? 0
                               : !strcmp(family, "battle") ? 1
                                                           : 2,
                               page->table->rows[i].name};
    }
    snprintf(title, sizeof title, "%s against %s", facts[y].title, facts[x].title);
    mw_plot_points(page->out, &(mw_points){title, mw_axis_fit(values[x], MW_TABLE_ROWS, false, facts[x].axis),
                                           mw_axis_fit(values[y], MW_TABLE_ROWS, false, facts[y].axis),
                                           points, MW_TABLE_ROWS, series, 3, y < 4, NAN, NAN});
}

/* "context above agent in 26 of 30, mean difference ...". */
static void say_difference(mw_page *page, const char *what, const double *more, const double *less,
                           int published, double mean, double low, double high) {
    double difference[MW_TABLE_ROWS];
    int n = 0, above = 0;
    mw_interval interval;
    mw_error error;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        if (isnan(more[i]) || isnan(less[i])) continue;
        difference[n++] = more[i] - less[i];
        above += more[i] > less[i];
    }
    if (n < 1 || mw_bootstrap_mean(&interval, difference, n, MW_BOOTSTRAP_RESAMPLES, 0, &error) != MW_OK)
        return;
    mw_page_say(page,
                "%s in %d of %d settings; mean difference %.3f [%.3f, %.3f], p = %.3g. Paper: %d of %d, %.3f "
                "[%.3f, %.3f].",
                what, above, n, interval.mean, interval.low, interval.high, mw_sign_test(above, n - above),
                published, mw_paper_routing_figures()->settings, mean, low, high);
}

void mw_item_context(mw_page *page) {
    const mw_paper_routing *p = mw_paper_routing_figures();
    double values[FACTS][MW_TABLE_ROWS];
    if (!present(page, "no result of the routing diagnosis")) return;
    mw_sheet *sheet = mw_page_settings_sheet();
    for (int k = 0; k < FACTS; k++) mw_sheet_column(sheet, NULL, facts[k].title, facts[k].axis);
    mw_sheet_column(sheet, NULL, "experts", "of the model");
    mw_sheet_column(sheet, NULL, "untrained effective", "of the same router before training");
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const json_t *routing = routing_of(page, i);
        for (int k = 0; k < FACTS; k++) values[k][i] = mw_json_number(routing, facts[k].path);
        if (!routing) continue;
        mw_sheet_row(sheet, page->table->rows[i].name, NULL);
        for (int k = 0; k < FACTS; k++) mw_sheet_number(sheet, facts[k].format, values[k][i]);
        mw_sheet_number(sheet, "%.0f", mw_json_number(routing, "trained.experts"));
        mw_sheet_number(sheet, "%.2f", mw_json_number(routing, "untrained.statistics.effective_experts"));
    }
    say_difference(page, "Context tells more of the dominant expert than the agent does", values[1],
                   values[0], p->context_above_agent, p->context_difference, p->context_low, p->context_high);
    say_difference(page, "Routes differ more between transitions than between agents", values[3], values[2],
                   p->transitions_above_agents, p->js_difference, p->js_low, p->js_high);
    mw_page_say(page, "Effective experts, mean %.2f; switching, mean %.1f%%. Paper: %.2f of %d; %.1f%%.",
                mw_mean_of(values[4], MW_TABLE_ROWS), 100 * mw_mean_of(values[5], MW_TABLE_ROWS),
                p->effective_experts, p->experts, 100 * p->switching);
    mw_page_figure_begin(page, NULL);
    for (int k = 0; k < FACTS; k += 2) fact_points(page, values, k, k + 1);
    mw_page_figure_end(page, sheet);
}

/* ---- graphs ---- */

void mw_item_routing_examples(mw_page *page) {
    const mw_paper_graph *p;
    mw_sheet *published = mw_sheet_create();
    mw_sheet_column(published, NULL, "paper", NULL);
    mw_sheet_column(published, NULL, "correlation", NULL);
    mw_sheet_column(published, NULL, "mean absolute difference", NULL);
    for (int k = 0; (p = mw_paper_graph_at(k)); k++) {
        char name[64];
        snprintf(name, sizeof name, "%s-%s", p->task, p->quality);
        mw_sheet_row(published, name, NULL);
        mw_sheet_number(published, "%.3f", p->correlation);
        mw_sheet_number(published, "%.3f", p->difference);
    }
    if (present(page, "no result of the routing diagnosis")) {
        mw_sheet *sheet = mw_page_settings_sheet();
        mw_sheet_column(sheet, "cosine of routes", "correlation", "with the symmetric influence");
        mw_sheet_column(sheet, "cosine of routes", "difference", "mean absolute, both scaled to [0, 1]");
        mw_sheet_column(sheet, "directed flow", "correlation", "off the diagonal");
        mw_sheet_column(sheet, "directed flow", "difference", NULL);
        for (int i = 0; i < MW_TABLE_ROWS; i++) {
            const json_t *graphs = mw_json_at(routing_of(page, i), "trained.graphs");
            if (!graphs) continue;
            mw_sheet_row(sheet, page->table->rows[i].name, NULL);
            mw_sheet_number(sheet, "%.3f", mw_json_number(graphs, "cosine_symmetric.correlation"));
            mw_sheet_number(sheet, "%.3f", mw_json_number(graphs, "cosine_symmetric.difference_minmax"));
            mw_sheet_number(sheet, "%.3f", mw_json_number(graphs, "flow_offdiagonal.correlation"));
            mw_sheet_number(sheet, "%.3f", mw_json_number(graphs, "flow_offdiagonal.difference_minmax"));
        }
        mw_page_table(page, sheet, "mawam");
    }
    mw_page_table(page, published, NULL);
}
