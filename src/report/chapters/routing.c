/* The chapter on routing: what mawam diagnose --routing found in every setting that it was run on. */
#include "mawam/routing.h"
#include "env/env.h"
#include "report/figures.h"
#include "report/page.h"
#include "report/report.h"

#include <math.h>
#include <string.h>

static const char command[] =
    "mawam diagnose --routing study/bundles/SETTING.safetensors study/data/SETTING --json="
    "study/routing/SETTING.json";

static const char *const titles[MW_SOURCE_KINDS] = {
    [MW_SOURCE_ROUTING] = "", [MW_SOURCE_PAPER_ROUTING] = ", by the paper's method"};

static const json_t *routing_by(const mw_page *page, mw_source_kind kind, int i) {
    return json_object_get(page->sources->files[kind][i], "routing");
}

/* Trained alike to the same losses: the same bits, though files differ in how long it took. */
static bool same_training(const json_t *a, const json_t *b) {
    static const char *const keys[] = {"revision", "data", "seed", "held_out", "details.held"};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        const json_t *one = mw_json_at(a, keys[k]), *other = mw_json_at(b, keys[k]);
        if (!one || !json_equal(one, other)) return false;
    }
    return true;
}

/* Settings whose bundle was trained again after its routing was looked at, or that were read from elsewhere:
 * what is told here is of another world model than the study's. */
static void say_others(mw_page *page, mw_source_kind kind) {
    const mw_study_table *t =
        kind == MW_SOURCE_ROUTING ? page->table : &page->sources->branches[MW_BRANCH_PAPER];
    char names[2][512] = {"", ""};
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const char *played = json_string_value(json_object_get(t->rows[i].summary, "bundle")),
                   *looked_at = mw_source_bundle(page->sources->files[kind][i]);
        if (!routing_by(page, kind, i) || !played || (looked_at && !strcmp(played, looked_at)) ||
            same_training(json_object_get(page->sources->files[kind][i], "provenance"),
                          mw_json_at(t->rows[i].summary, "training.rwm")))
            continue;
        char *list = names[!looked_at];
        const size_t used = strlen(list);
        snprintf(list + used, sizeof names[0] - used, "%s%s", used ? ", " : "", t->rows[i].name);
    }
    if (names[0][0])
        mw_page_say(page, "Routing of other bundles than the study's%s: %s.", titles[kind], names[0]);
    if (names[1][0])
        mw_page_say(page, "Routing of bundles that are not named, so perhaps not the study's%s: %s.",
                    titles[kind], names[1]);
}

static void say_sizes(mw_page *page, mw_source_kind kind, const char *what, const char *path) {
    double sizes[MW_TABLE_ROWS];
    for (int i = 0; i < MW_TABLE_ROWS; i++) sizes[i] = mw_json_number(routing_by(page, kind, i), path);
    mw_page_sizes(page, what, sizes, MW_TABLE_ROWS);
}

static int present_by(mw_page *page, mw_source_kind kind, const char *what, const char *how) {
    int count = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++) count += routing_by(page, kind, i) != NULL;
    if (!count) mw_page_missing(page, what, how);
    return count;
}

static int present(mw_page *page, const char *what) {
    return present_by(page, MW_SOURCE_ROUTING, what, command);
}

static const mw_source_kind both[] = {MW_SOURCE_ROUTING, MW_SOURCE_PAPER_ROUTING};

/* ---- matrices ---- */

enum { MOST = 33 }; /* agents, experts with the shared one */

typedef struct {
    double values[MOST * MOST];
    int rows, columns;
} matrix;

/* [rows][columns] of a file; columns are those of the first row, what is no number is NaN. */
static matrix matrix_of(const json_t *array) {
    matrix m = {.rows = (int)json_array_size(array),
                .columns = (int)json_array_size(json_array_get(array, 0))};
    if (m.rows > MOST) m.rows = MOST;
    if (m.columns > MOST) m.columns = MOST;
    for (int i = 0; i < m.rows; i++)
        for (int k = 0; k < m.columns; k++) {
            const json_t *value = json_array_get(json_array_get(array, (size_t)i), (size_t)k);
            m.values[i * MOST + k] = json_is_number(value) ? json_number_value(value) : (double)NAN;
        }
    return m;
}

static mw_matrix shown(const matrix *m) {
    return (mw_matrix){m->values, m->rows, m->columns, MOST};
}

static void matrix_rows(mw_sheet *sheet, const char *name, const matrix *m) {
    for (int i = 0; i < m->rows; i++)
        for (int k = 0; k < m->columns; k++) {
            mw_sheet_row(sheet, name, NULL);
            mw_sheet_number(sheet, "%.0f", i);
            mw_sheet_number(sheet, "%.0f", k);
            mw_sheet_number(sheet, "%.4g", m->values[i * MOST + k]);
        }
}

static mw_sheet *matrix_sheet(const char *row, const char *column) {
    mw_sheet *sheet = mw_sheet_create();
    mw_sheet_column(sheet, NULL, "what", NULL);
    mw_sheet_column(sheet, NULL, row, NULL);
    mw_sheet_column(sheet, NULL, column, NULL);
    mw_sheet_column(sheet, NULL, "value", NULL);
    return sheet;
}

/* ---- experts ---- */

static void expert_setting(mw_page *page, mw_source_kind kind, int i) {
    const json_t *trained = json_object_get(routing_by(page, kind, i), "trained"),
                 *increase = json_object_get(trained, "increase");
    const matrix affinity = matrix_of(json_object_get(trained, "affinity"));
    matrix without = {.rows = 1};
    char texts[MOST][8];
    const char *names[MOST];
    mw_sheet *sheet = matrix_sheet("agent", "expert");
    for (int e = 0; e < MOST && e < (int)json_array_size(increase); e++) {
        const json_t *value = json_array_get(increase, (size_t)e);
        without.values[e] = json_is_number(value) ? json_number_value(value) : (double)NAN;
        snprintf(texts[e], sizeof texts[e], e < affinity.columns ? "%d" : "shared", e);
        names[e] = texts[e];
        without.columns++;
    }
    char title[128];
    snprintf(title, sizeof title, "%s%s", page->table->rows[i].name, titles[kind]);
    mw_page_figure_begin(page, title);
    mw_figure_heat_map(page->out, &(mw_heat_map){"mean combine mass, share of 1", "agent", "expert",
                                                 shown(&affinity), 0, 0});
    mw_figure_columns(page->out, &(mw_columns){"increase of the one-step error without an expert",
                                               "expert left out", "MSE, squared observation units", names,
                                               without.values, without.columns});
    matrix_rows(sheet, "affinity", &affinity);
    matrix_rows(sheet, "increase without expert", &without);
    mw_page_figure_end(page, sheet);
}

/* The paper draws both Ants with medium data; without them whatever there is first. */
static void experts_by(mw_page *page, mw_source_kind kind) {
    int drawn = 0;
    for (int pass = 0; pass < 2 && !drawn; pass++)
        for (int i = 0; i < MW_TABLE_ROWS && drawn < 2; i++) {
            const mw_study_row *row = &page->table->rows[i];
            const bool theirs = !strcmp(row->setting->quality, "medium") && !strcmp(row->family, "ant");
            if (!routing_by(page, kind, i) || (pass == 0 && !theirs)) continue;
            expert_setting(page, kind, i);
            drawn++;
        }
}

void mw_item_experts(mw_page *page) {
    const bool ours = present(page, "no result of the routing diagnosis");
    say_sizes(page, both[!ours], "Transitions", "trained.transitions");
    for (int k = 0; k < 2; k++) {
        say_others(page, both[k]);
        experts_by(page, both[k]);
    }
}

/* ---- context against identity ---- */

static const struct {
    const char *path, *title, *axis;
    const char *format;
} facts[] = {
    {"nmi_agent.corrected", "NMI agent", "corrected NMI with the agent", "%.3f"},
    {"nmi_context.corrected", "NMI context", "corrected NMI with the context", "%.3f"},
    {"js_agents", "JS agents", "divergence between agents, nats", "%.3f"},
    {"js_context", "JS transitions", "divergence between transitions, nats", "%.3f"},
    {"effective_experts", "effective experts", "effective experts", "%.2f"},
    {"switching_rate", "switching", "switching, share of neighbouring steps", "%.3f"},
};

enum { FACTS = sizeof facts / sizeof *facts, FEW = 5 }; /* settings: of fewer there is no interval */

static void fact_points(mw_page *page, double values[FACTS][MW_TABLE_ROWS], int x, int y) {
    const char *series[MW_FAMILIES];
    mw_point points[MW_TABLE_ROWS];
    char title[128];
    for (int f = 0; f < MW_FAMILIES; f++) series[f] = mw_family_at(f)->title;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_family *family = mw_family_find(page->table->rows[i].family);
        points[i] = (mw_point){values[x][i], values[y][i], (int)(family - mw_family_at(0)),
                               page->table->rows[i].name};
    }
    snprintf(title, sizeof title, "%s against %s", facts[y].title, facts[x].title);
    mw_plot_points(page->out, &(mw_points){title, mw_axis_fit(values[x], MW_TABLE_ROWS, false, facts[x].axis),
                                           mw_axis_fit(values[y], MW_TABLE_ROWS, false, facts[y].axis),
                                           points, MW_TABLE_ROWS, series, MW_FAMILIES, y < 4, NAN, NAN});
}

/* The facts of all settings, of the routers as trained or before. */
typedef struct {
    double values[FACTS][MW_TABLE_ROWS];
} findings;

static findings findings_of(const mw_page *page, mw_source_kind kind, const char *which) {
    findings f;
    for (int i = 0; i < MW_TABLE_ROWS; i++)
        for (int k = 0; k < FACTS; k++) {
            char path[96];
            snprintf(path, sizeof path, "%s.statistics.%s", which, facts[k].path);
            f.values[k][i] = mw_json_number(routing_by(page, kind, i), path);
        }
    return f;
}

/* "8 of 9 settings; mean difference 0.085 [0.036, 0.14], p = 0.039" */
static void compare(mw_page *page, char *out, size_t size, const findings *f, int more, int less) {
    mw_paired_summary s;
    if (mw_paired_compare(&s, f->values[more], f->values[less], MW_TABLE_ROWS, 0, NULL) != MW_OK)
        page->status = MW_ERR_MEMORY;
    char interval[48] = ""; /* of few settings there is none */
    if (s.settings >= FEW)
        snprintf(interval, sizeof interval, " [%.2g, %.2g]", s.difference.low, s.difference.high);
    if (s.settings)
        snprintf(out, size, "%d of %d setting%s; mean difference %.2g%s, p = %.3g", s.positive, s.settings,
                 mw_plural(s.settings), s.difference.mean, interval, s.sign_test);
    else
        snprintf(out, size, "none of which it can be told");
}

static void say_difference(mw_page *page, const char *what, const findings *trained, const findings *before,
                           int more, int less, int published, double mean, double low, double high) {
    char now[128], then[128];
    compare(page, now, sizeof now, trained, more, less);
    compare(page, then, sizeof then, before, more, less);
    mw_page_say(page, "%s in %s. Before training: %s. Paper: %d of %d, %.3f [%.3f, %.3f].", what, now, then,
                published, mw_paper_routing_figures()->settings, mean, low, high);
}

static void context_by(mw_page *page, mw_source_kind kind) {
    const mw_paper_routing *p = mw_paper_routing_figures();
    const findings before = findings_of(page, kind, "untrained");
    findings trained = findings_of(page, kind, "trained");
    mw_sheet *sheet = mw_page_settings_sheet();
    for (int k = 0; k < FACTS; k++) mw_sheet_column(sheet, "trained", facts[k].title, facts[k].axis);
    for (int k = 0; k < FACTS; k++) mw_sheet_column(sheet, "before training", facts[k].title, facts[k].axis);
    mw_sheet_column(sheet, "router", "experts", "of the model");
    mw_sheet_column(sheet, "router", "slots", "of an expert");
    mw_sheet_column(sheet, "router", "shared", "width of the expert that meets every token; 0: none");
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        if (!routing_by(page, kind, i)) continue;
        mw_sheet_row(sheet, page->table->rows[i].name, NULL);
        for (int k = 0; k < FACTS; k++) mw_sheet_number(sheet, facts[k].format, trained.values[k][i]);
        for (int k = 0; k < FACTS; k++) mw_sheet_number(sheet, facts[k].format, before.values[k][i]);
        mw_sheet_number(sheet, "%.0f", mw_json_number(routing_by(page, kind, i), "trained.experts"));
        mw_sheet_number(sheet, "%.0f", mw_json_number(routing_by(page, kind, i), "trained.slots"));
        mw_sheet_number(sheet, "%.0f", mw_json_number(routing_by(page, kind, i), "trained.shared"));
    }
    say_sizes(page, kind, "Transitions", "trained.statistics.transitions");
    say_others(page, kind);
    say_difference(page, "Context tells more of the dominant expert than the agent does", &trained, &before,
                   1, 0, p->context_above_agent, p->context_difference, p->context_low, p->context_high);
    say_difference(page, "Routes differ more between transitions than between agents", &trained, &before, 3,
                   2, p->transitions_above_agents, p->js_difference, p->js_low, p->js_high);
    mw_page_say(page,
                "Effective experts, mean %.2f, before training %.2f; switching, mean %.1f%%, before %.1f%%. "
                "Paper: %.2f of %d; %.1f%%.",
                mw_mean_of(trained.values[4], MW_TABLE_ROWS), mw_mean_of(before.values[4], MW_TABLE_ROWS),
                100 * mw_mean_of(trained.values[5], MW_TABLE_ROWS),
                100 * mw_mean_of(before.values[5], MW_TABLE_ROWS), p->effective_experts, p->experts,
                100 * p->switching);
    mw_page_figure_begin(page, NULL);
    for (int k = 0; k < FACTS; k += 2) fact_points(page, trained.values, k, k + 1);
    mw_page_figure_end(page, sheet);
}

void mw_item_context(mw_page *page) {
    if (present(page, "no result of the routing diagnosis")) context_by(page, MW_SOURCE_ROUTING);
}

void mw_item_context_paper(mw_page *page) {
    if (present_by(page, MW_SOURCE_PAPER_ROUTING, "no routing diagnosis of bundles by the paper's method",
                   "mawam study run --parts main,paper,routing --resume"))
        context_by(page, MW_SOURCE_PAPER_ROUTING);
}

/* ---- graphs ---- */

/* |x - y| after both are scaled to [0, 1] over their entries. */
static matrix difference_of(const matrix *x, const matrix *y) {
    matrix d = {.rows = x->rows < y->rows ? x->rows : y->rows, .columns = x->columns};
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < d.rows * d.columns; k++) {
            const int at = k / d.columns * MOST + k % d.columns;
            const double v[2] = {x->values[at], y->values[at]};
            for (int s = 0; s < 2 && pass == 0; s++) {
                low[s] = fmin(low[s], v[s]);
                high[s] = fmax(high[s], v[s]);
            }
            d.values[at] = fabs((v[0] - low[0]) / (high[0] - low[0]) - (v[1] - low[1]) / (high[1] - low[1]));
        }
    return d;
}

static void graph_setting(mw_page *page, mw_source_kind kind, int i) {
    const json_t *graphs = mw_json_at(routing_by(page, kind, i), "trained.graphs");
    const matrix routes = matrix_of(json_object_get(graphs, "routing_flow")),
                 influence = matrix_of(json_object_get(graphs, "influence")),
                 difference = difference_of(&routes, &influence);
    static const char target[] = "agent (target)", source[] = "agent (source)";
    mw_sheet *sheet = matrix_sheet("target", "source");
    char title[128];
    snprintf(title, sizeof title, "%s%s", page->table->rows[i].name, titles[kind]);
    mw_page_figure_begin(page, title);
    mw_figure_heat_map(page->out,
                       &(mw_heat_map){"routing flow, share of 1", target, source, shown(&routes), 0, 0});
    mw_figure_heat_map(
        page->out, &(mw_heat_map){"influence, observation units", target, source, shown(&influence), 0, 0});
    mw_figure_heat_map(page->out, &(mw_heat_map){"|difference|, both scaled to 0 to 1", target, source,
                                                 shown(&difference), 0, 1});
    mw_figure_agents(page->out, &(mw_agent_arrows){"influence, observation units", shown(&influence)});
    matrix_rows(sheet, "routing flow", &routes);
    matrix_rows(sheet, "influence", &influence);
    matrix_rows(sheet, "difference", &difference);
    mw_page_figure_end(page, sheet);
}

/* What a column of the sheet compares: the cosine unordered pairs of agents, the flow ordered ones or all. */
static size_t pairs_of(int column, size_t agents) {
    return column < 2 ? agents * (agents - 1) / 2 : column < 4 ? agents * (agents - 1) : agents * agents;
}

static mw_sheet *graph_sheet(mw_page *page, mw_source_kind kind) {
    static const char *const paths[] = {"cosine_symmetric.correlation", "cosine_symmetric.difference_minmax",
                                        "flow_offdiagonal.correlation", "flow_offdiagonal.difference_minmax",
                                        "flow_all.correlation",         "flow_all.difference_minmax"};
    mw_sheet *sheet = mw_page_settings_sheet();
    mw_sheet_column(sheet, "cosine of routes", "correlation", "with the symmetric influence");
    mw_sheet_column(sheet, "cosine of routes", "difference", "mean absolute, both scaled to [0, 1]");
    mw_sheet_column(sheet, "flow, off the diagonal", "correlation", "of fewer than three pairs: none");
    mw_sheet_column(sheet, "flow, off the diagonal", "difference", NULL);
    mw_sheet_column(sheet, "flow, all entries", "correlation", "as the pictures below have them");
    mw_sheet_column(sheet, "flow, all entries", "difference", NULL);
    mw_sheet_column(sheet, "paper", "correlation", NULL);
    mw_sheet_column(sheet, "paper", "difference", "mean absolute");
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &page->table->rows[i];
        const json_t *graphs = mw_json_at(routing_by(page, kind, i), "trained.graphs");
        const mw_paper_graph *p = NULL;
        for (int k = 0; (p = mw_paper_graph_at(k)); k++)
            if (!strcmp(p->setting, row->name)) break;
        if (!graphs && !p) continue;
        mw_sheet_row(sheet, row->name, NULL);
        const size_t agents = json_array_size(json_object_get(graphs, "influence"));
        for (int k = 0; k < 6; k++)
            mw_sheet_number(sheet, "%.3f", pairs_of(k, agents) < 3 ? NAN : mw_json_number(graphs, paths[k]));
        mw_sheet_number(sheet, "%.3f", p ? p->correlation : (double)NAN);
        mw_sheet_number(sheet, "%.3f", p ? p->difference : (double)NAN);
    }
    return sheet;
}

/* The paper draws two; without them whatever there is first. */
static void graphs_by(mw_page *page, mw_source_kind kind) {
    int drawn = 0;
    for (int pass = 0; pass < 2 && !drawn; pass++)
        for (int i = 0; i < MW_TABLE_ROWS && drawn < 2; i++) {
            const mw_paper_graph *p;
            int k = 0;
            while ((p = mw_paper_graph_at(k)) && strcmp(p->setting, page->table->rows[i].name)) k++;
            if (!routing_by(page, kind, i) || (pass == 0 && !p)) continue;
            graph_setting(page, kind, i);
            drawn++;
        }
}

void mw_item_routing_examples(mw_page *page) {
    present(page, "no result of the routing diagnosis");
    for (int k = 0; k < 2; k++) say_others(page, both[k]);
    mw_page_table(page, graph_sheet(page, MW_SOURCE_ROUTING), "mawam's world models");
    graphs_by(page, MW_SOURCE_ROUTING);
    for (int i = 0; i < MW_TABLE_ROWS; i++)
        if (routing_by(page, MW_SOURCE_PAPER_ROUTING, i)) {
            mw_page_table(page, graph_sheet(page, MW_SOURCE_PAPER_ROUTING),
                          "World models by the paper's method");
            break;
        }
    graphs_by(page, MW_SOURCE_PAPER_ROUTING);
}

/* ---- predicted against true influence ---- */

enum { EFFECTS = 3 };
static const struct {
    const char *key, *title, *words;
    bool less; /* is better */
} effects[EFFECTS] = {{"pearson", "Pearson", "The correlation (Pearson)", false},
                      {"spearman", "Spearman", "The rank correlation", false},
                      {"normalized_error", "error", "The error", true}};

static double effect_of(const mw_page *page, mw_source_kind kind, int i, const char *model, int k) {
    char path[96];
    snprintf(path, sizeof path, "influence.%s.%s", model, effects[k].key);
    return mw_json_number(routing_by(page, kind, i), path);
}

/* In how many settings training has made it better, and where not. */
static void say_learned(mw_page *page, mw_source_kind kind, int k) {
    char worse[512] = "";
    int better = 0, all = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const double trained = effect_of(page, kind, i, "rwm", k),
                     before = effect_of(page, kind, i, "untrained", k);
        if (isnan(trained) || isnan(before)) continue;
        const bool gains = effects[k].less ? trained < before : trained > before;
        const size_t used = strlen(worse);
        all++;
        better += gains;
        if (!gains)
            snprintf(worse + used, sizeof worse - used, "%s%s", used ? ", " : "", page->table->rows[i].name);
    }
    if (all)
        mw_page_say(page, "%s is better than before training in %d of %d setting%s%s%s%s.", effects[k].words,
                    better, all, mw_plural(all), titles[kind], better < all ? "; not on " : "", worse);
}

static void influence_by(mw_page *page, mw_source_kind kind) {
    int settings = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++)
        settings += json_object_get(routing_by(page, kind, i), "influence") != NULL;
    if (!settings) {
        mw_page_missing(page, "no routing diagnosis that executed actions",
                        "mawam study run --parts routing --resume; mawam study report --dir study");
        return;
    }
    mw_sheet *sheet = mw_page_settings_sheet();
    mw_sheet_column(sheet, "mean influence", "true", "observation units");
    mw_sheet_column(sheet, "mean influence", "predicted", "observation units");
    for (int k = 0; k < EFFECTS; k++) mw_sheet_column(sheet, "trained", effects[k].title, NULL);
    for (int k = 0; k < EFFECTS; k++) mw_sheet_column(sheet, "before training", effects[k].title, NULL);
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const json_t *routing = routing_by(page, kind, i);
        if (!json_object_get(routing, "influence")) continue;
        mw_page_setting(page, sheet, &page->table->rows[i]);
        mw_sheet_number(sheet, "%.3g", mw_json_number(routing, "influence.rwm.true_mean"));
        mw_sheet_number(sheet, "%.3g", mw_json_number(routing, "influence.rwm.predicted_mean"));
        for (int k = 0; k < EFFECTS; k++) mw_sheet_number(sheet, "%.2f", effect_of(page, kind, i, "rwm", k));
        for (int k = 0; k < EFFECTS; k++)
            mw_sheet_number(sheet, "%.2f", effect_of(page, kind, i, "untrained", k));
    }
    for (int k = 0; k < EFFECTS; k++)
        if (k != 1) say_learned(page, kind, k);
    mw_page_table(page, sheet,
                  kind == MW_SOURCE_ROUTING ? "mawam's world models" : "World models by the paper's method");
}

void mw_item_influence(mw_page *page) {
    if (present(page, "no result of the routing diagnosis")) influence_by(page, MW_SOURCE_ROUTING);
    for (int i = 0; i < MW_TABLE_ROWS; i++)
        if (routing_by(page, MW_SOURCE_PAPER_ROUTING, i)) {
            influence_by(page, MW_SOURCE_PAPER_ROUTING);
            break;
        }
}
