/* The routing diagnosis of one bundle as a page that needs nothing else: figures, their numbers as CSV behind
 * links, light, dark and on paper. Every word from a file is escaped. */
#include "mawam/routing.h"
#include "core/file.h"
#include "core/numbers.h"
#include "report/figures.h"

#include <math.h>
#include <stdarg.h>

static const char style[] =
    "body { margin: 0 auto; max-width: 1080px; padding: 24px 16px 48px; color: var(--ink);\n"
    "  font: 15px/1.5 system-ui, sans-serif; }\n"
    ":root { color-scheme: light dark; } h1 { font-size: 26px; margin: 0; } h2 { font-size: 18px; }\n"
    "p, figcaption { color: var(--soft); max-width: 78ch; } code { overflow-wrap: anywhere; }\n"
    "figure { margin: 12px 0; } .row { display: grid; gap: 12px 28px;\n"
    "  grid-template-columns: repeat(auto-fit, minmax(min(420px, 100%), 1fr)); }\n"
    "figure svg { max-width: 640px; } a { color: var(--s0); }\n"
    "table { border-collapse: collapse; font-variant-numeric: tabular-nums; display: block; overflow-x: "
    "auto; }\n"
    "th, td { text-align: right; padding: 3px 10px; border-bottom: 1px solid var(--line); }\n"
    "th:first-child, td:first-child { text-align: left; }\n"
    "@media print { figure { break-inside: avoid; } a.csv { display: none; } }\n";

/* ---- numbers behind a link ---- */

static void csv_begin(FILE *out, const char *name) {
    fprintf(out, "<a class='csv' download='%s.csv' href='data:text/csv;charset=utf-8,", name);
}

/* Part of the address: letters, digits, commas and points as they are. */
static void csv_put(FILE *out, const char *format, ...) MW_PRINTF(2, 3);
static void csv_put(FILE *out, const char *format, ...) {
    char text[256];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    for (const char *c = text; *c; c++) {
        const bool plain = (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                           *c == ',' || *c == '.' || *c == '-' || *c == '_';
        fprintf(out, plain ? "%c" : "%%%02X", (unsigned char)*c);
    }
}

static void csv_end(FILE *out) {
    fputs("'>numbers (CSV)</a>\n", out);
}

static void csv_number(FILE *out, double value) {
    if (isfinite(value))
        csv_put(out, ",%.10g", value);
    else
        csv_put(out, ",");
}

static void csv_matrix(FILE *out, const char *name, const char *row, const char *column, const mw_matrix *m) {
    csv_begin(out, name);
    csv_put(out, "%s", row);
    for (int j = 0; j < m->columns; j++) csv_put(out, ",%s_%d", column, j);
    csv_put(out, "\n");
    for (int i = 0; i < m->rows; i++) {
        csv_put(out, "%d", i);
        for (int j = 0; j < m->columns; j++) csv_number(out, m->values[i * m->stride + j]);
        csv_put(out, "\n");
    }
    csv_end(out);
}

/* ---- figures ---- */

static void caption(FILE *out, const char *text) {
    fprintf(out, "<figcaption>%s</figcaption>\n", text);
}

static void heat_figure(FILE *out, const char *name, mw_heat_map map, const char *words) {
    const bool experts = map.column_label[0] == 'e';
    fputs("<figure>\n", out);
    mw_figure_heat_map(out, &map);
    caption(out, words);
    csv_matrix(out, name, "agent", experts ? "expert" : "agent", &map.matrix);
    fputs("</figure>\n", out);
}

static void agents_figure(FILE *out, const char *name, const char *title, mw_matrix m, const char *words) {
    fputs("<figure>\n", out);
    mw_figure_agents(out, &(mw_agent_arrows){title, m});
    caption(out, words);
    csv_matrix(out, name, "target", "source", &m);
    fputs("</figure>\n", out);
}

static void experts_section(FILE *out, const mw_router *r) {
    const mw_matrix mass = {r->affinity[0], r->agents, r->experts, MW_ROUTING_EXPERTS},
                    picks = {r->reward_share[0], r->agents, r->reward_experts, MW_ROUTING_EXPERTS};
    fprintf(out, "<h2>Experts of agents</h2>\n<div class='row'>\n");
    heat_figure(out, "affinity", (mw_heat_map){"mean mass (share of 1)", "agent", "expert", mass, 0, 0},
                "How an agent&#39;s token is divided among the experts of the dynamics; rows sum to 1.");
    heat_figure(out, "reward_picks", (mw_heat_map){"share of picks", "agent", "expert", picks, 0, 0},
                "Which experts of the reward an agent&#39;s token picks; rows sum to 1.");
    fputs("</div>\n", out);
}

static void without_section(FILE *out, const mw_router *r) {
    const int parts = r->experts + (r->shared > 0);
    double increase[MW_ROUTING_EXPERTS + 1];
    char text[MW_ROUTING_EXPERTS + 1][16];
    const char *names[MW_ROUTING_EXPERTS + 1];
    for (int k = 0; k < parts; k++) {
        increase[k] = r->mse_without[k] - r->mse;
        snprintf(text[k], sizeof text[k], k < r->experts ? "%d" : "shared", k);
        names[k] = text[k];
    }
    fputs("<h2>Leave one expert out</h2>\n<figure>\n", out);
    mw_figure_columns(out,
                      &(mw_columns){"increase of the one-step error without an expert", "expert left out",
                                    "MSE (squared observation units)", names, increase, parts});
    fprintf(out,
            "<figcaption>Its outputs count as zero, the others keep their weights. Error of the whole model: "
            "%.5g, over %d recorded transitions.</figcaption>\n",
            r->mse, r->transitions);
    csv_begin(out, "leave_one_out");
    csv_put(out, "expert,mse,increase\n");
    for (int k = 0; k < parts; k++)
        csv_put(out, "%s,%.10g,%.10g\n", names[k], r->mse_without[k], increase[k]);
    csv_end(out);
    fputs("</figure>\n", out);
}

/* Both scaled to [0,1] over all entries; what is left of one after the other is taken away. */
static void difference_of(mw_agent_graph out, const mw_agent_graph x, const mw_agent_graph y, int n) {
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (int k = 0; k < n * n; k++) {
        const double v[2] = {x[k / n][k % n], y[k / n][k % n]};
        for (int s = 0; s < 2; s++) {
            low[s] = fmin(low[s], v[s]);
            high[s] = fmax(high[s], v[s]);
        }
    }
    for (int k = 0; k < n * n; k++)
        out[k / n][k % n] = fabs((x[k / n][k % n] - low[0]) / (high[0] - low[0]) -
                                 (y[k / n][k % n] - low[1]) / (high[1] - low[1]));
}

static void graphs_section(FILE *out, const mw_routing *result) {
    const mw_routing_graphs *g = &result->trained.graphs;
    const int n = result->trained.agents;
    const char *const target = "agent (target)", *const source = "agent (source)";
    static _Thread_local mw_agent_graph difference;
    const mw_matrix influence = {g->influence[0], n, n, MW_ROUTING_AGENTS},
                    flow = {g->flow[0], n, n, MW_ROUTING_AGENTS},
                    cosine = {g->cosine[0], n, n, MW_ROUTING_AGENTS},
                    rest = {difference[0], n, n, MW_ROUTING_AGENTS};
    difference_of(difference, g->flow, g->influence, n);
    fputs("<h2>Influence and routes between agents</h2>\n<div class='row'>\n", out);
    agents_figure(out, "influence", "influence (observation units)", influence,
                  "How far another action of the source moves the predicted next observation of the target.");
    agents_figure(out, "flow", "routing flow (share of 1)", flow,
                  "Which part of the target&#39;s mixture was made of the source&#39;s token.");
    heat_figure(out, "influence_map",
                (mw_heat_map){"influence (observation units)", target, source, influence, 0, 0},
                "The influence graph again.");
    heat_figure(out, "flow_map", (mw_heat_map){"routing flow (share of 1)", target, source, flow, 0, 0},
                "The routing graph; rows sum to 1.");
    heat_figure(out, "difference_map",
                (mw_heat_map){"|difference|, both scaled to 0 to 1", target, source, rest, 0, 1},
                "Routing flow against influence, entry by entry.");
    heat_figure(out, "cosine_map", (mw_heat_map){"cosine of mean masses", "agent", "agent", cosine, 0, 0},
                "How alike two agents&#39; routes are on average; symmetric.");
    fputs("</div>\n", out);
}

/* ---- tables ---- */

static void td(FILE *out, double value) {
    if (isnan(value))
        fputs("<td>&ndash;</td>", out);
    else
        fprintf(out, "<td>%.4g</td>", value);
}

typedef struct {
    const char *name;
    double trained, untrained;
} line;

static void lines_table(FILE *out, const char *name, const line *lines, int count) {
    fputs("<table>\n<tr><th></th><th>trained</th><th>untrained</th></tr>\n", out);
    for (int i = 0; i < count; i++) {
        fprintf(out, "<tr><td>%s</td>", lines[i].name);
        td(out, lines[i].trained);
        td(out, lines[i].untrained);
        fputs("</tr>\n", out);
    }
    fputs("</table>\n", out);
    csv_begin(out, name);
    csv_put(out, "quantity,trained,untrained\n");
    for (int i = 0; i < count; i++) {
        csv_put(out, "%s", lines[i].name);
        csv_number(out, lines[i].trained);
        csv_number(out, lines[i].untrained);
        csv_put(out, "\n");
    }
    csv_end(out);
}

static void statistics_section(FILE *out, const mw_routing *result) {
    const mw_router *a = &result->trained, *b = &result->untrained;
    const mw_routing_statistics *s = &a->statistics, *u = &b->statistics;
    const line lines[] = {
        {"NMI with context corrected", s->context.corrected, u->context.corrected},
        {"NMI with context exactly corrected", s->context.corrected_exact, u->context.corrected_exact},
        {"NMI with agent corrected", s->agent.corrected, u->agent.corrected},
        {"NMI with agent exactly corrected", s->agent.corrected_exact, u->agent.corrected_exact},
        {"JS small against large changes (nats)", s->js_context, u->js_context},
        {"JS between agents (nats)", s->js_agents, u->js_agents},
        {"effective experts of the mean route", s->effective_experts, u->effective_experts},
        {"effective experts of dominant ones", s->effective_dominant, u->effective_dominant},
        {"effective experts per token", s->effective_per_token, u->effective_per_token},
        {"switching (share of neighbours)", s->switching, u->switching},
        {"agents mixed in a slot", a->effective_agents, b->effective_agents},
        {"routed share of the mixture", a->routed_share, b->routed_share},
        {"influence against flow off the diagonal (Pearson)", a->graphs.flow_offdiagonal.correlation,
         b->graphs.flow_offdiagonal.correlation},
        {"influence against cosine (Pearson)", a->graphs.cosine_symmetric.correlation,
         b->graphs.cosine_symmetric.correlation},
    };
    fprintf(out,
            "<h2>Context or identity</h2>\n<p>%d consecutive transitions in %d contexts. The untrained "
            "router has the same structure and fresh weights.</p>\n",
            s->transitions, s->contexts);
    lines_table(out, "routing", lines, sizeof lines / sizeof *lines);
}

static void effects_section(FILE *out, const mw_routing *r) {
    if (!r->model_count) return;
    fprintf(out,
            "<h2>Predicted against true influence</h2>\n<p>At %d states of play one agent&#39;s action is "
            "exchanged in the models and in the simulator.</p>\n<table>\n<tr><th>model</th><th>Pearson</th>"
            "<th>Spearman</th><th>normalised error</th><th>cosine</th><th>true mean</th>"
            "<th>predicted mean</th></tr>\n",
            r->anchors);
    for (int k = 0; k < r->model_count; k++) {
        const mw_influence_match *m = &r->models[k];
        const double values[] = {m->pearson, m->spearman,  m->normalized_error,
                                 m->cosine,  m->true_mean, m->predicted_mean};
        fputs("<tr><td>", out);
        mw_html_escape(out, m->model);
        fputs("</td>", out);
        for (int i = 0; i < 6; i++) td(out, values[i]);
        fputs("</tr>\n", out);
    }
    fputs("</table>\n", out);
    csv_begin(out, "effects");
    csv_put(out, "model,pearson,spearman,normalized_error,cosine,true_mean,predicted_mean,effects\n");
    for (int k = 0; k < r->model_count; k++) {
        const mw_influence_match *m = &r->models[k];
        csv_put(out, "%s", m->model);
        const double values[] = {m->pearson,   m->spearman,       m->normalized_error, m->cosine,
                                 m->true_mean, m->predicted_mean, (double)m->effects};
        for (int i = 0; i < 7; i++) csv_number(out, values[i]);
        csv_put(out, "\n");
    }
    csv_end(out);
}

/* ---- the page ---- */

static void begin(FILE *out, const mw_bundle *bundle, const mw_router *r, const char *command) {
    const mw_bundle_summary about = mw_bundle_describe(bundle);
    char name[160];
    snprintf(name, sizeof name, "Routing of %.64s-%.64s", about.task, about.quality);
    fputs("<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
          "<meta name='viewport' content='width=device-width, initial-scale=1'>\n<title>",
          out);
    mw_html_escape(out, name);
    fprintf(out, "</title>\n<style>\n%s%s%s</style>\n</head>\n<body>\n<h1>", mw_svg_variables, mw_svg_style,
            style);
    mw_html_escape(out, name);
    fprintf(out,
            "</h1>\n<p>%d experts of %d slot%s%s; %d experts of the reward, of which a token meets %d. "
            "mawam %s, rules ",
            r->experts, r->slots, r->slots > 1 ? "s" : "", r->shared ? " and a shared expert" : "",
            r->reward_experts, r->top_k, mw_version());
    mw_html_escape(out, about.rules);
    fputs(". <code>", out);
    mw_html_escape(out, command);
    fputs("</code></p>\n", out);
}

mw_status mw_routing_page(const mw_bundle *bundle, const mw_routing *result, const char *command,
                          const char *path, mw_error *error) {
    MW_PLAIN_NUMBERS;
    mw_writer writer;
    MW_NEED(bundle);
    MW_NEED(result);
    MW_NEED(command);
    MW_NEED(path);
    MW_TRY(mw_writer_open(&writer, path, error));
    FILE *out = writer.stream;
    begin(out, bundle, &result->trained, command);
    experts_section(out, &result->trained);
    without_section(out, &result->trained);
    statistics_section(out, result);
    graphs_section(out, result);
    effects_section(out, result);
    fputs("</body>\n</html>\n", out);
    return mw_writer_commit(&writer, error);
}
