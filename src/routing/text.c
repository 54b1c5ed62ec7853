/* The routing diagnosis as tables of at most 100 columns. */
#include "routing/routing.h"

#include <math.h>
#include <string.h>

enum { LABEL = 22, COLUMN = 9, WIDTH = 100 };

/* A number in a column, or a dash where there is none. */
static void cell(FILE *out, double value, int width) {
    if (isnan(value))
        fprintf(out, "%*s", width, "-");
    else
        fprintf(out, "%*.3f", width, value);
}

/* A matrix in as many pieces as its columns need. */
static void table(FILE *out, const char *title, const char *row, const char *column, const double *values,
                  int rows, int columns, int stride) {
    const int most = (WIDTH - LABEL) / COLUMN;
    fprintf(out, "\n%s\n", title);
    for (int first = 0; first < columns; first += most) {
        const int last = first + most < columns ? first + most : columns;
        fprintf(out, "%-*s", LABEL, "");
        for (int j = first; j < last; j++) {
            char head[32];
            snprintf(head, sizeof head, "%s %d", column, j);
            fprintf(out, "%*s", COLUMN, head);
        }
        fputc('\n', out);
        for (int i = 0; i < rows; i++) {
            fprintf(out, "%s %-*d", row, LABEL - (int)strlen(row) - 1, i);
            for (int j = first; j < last; j++) cell(out, values[i * stride + j], COLUMN);
            fputc('\n', out);
        }
    }
}

static void pair(FILE *out, const char *name, double trained, double untrained, const char *note) {
    fprintf(out, "%-36s", name);
    cell(out, trained, 8);
    cell(out, untrained, 10);
    fprintf(out, "  %s\n", note);
}

static void statistics(FILE *out, const mw_routing_statistics *a, const mw_routing_statistics *b) {
    fprintf(out, "\n%d consecutive transitions, %d contexts%15s untrained\n", a->transitions, a->contexts,
            "trained");
    pair(out, "NMI with context, corrected", a->context.corrected, b->context.corrected, "20 permutations");
    pair(out, "NMI with context, exactly corrected", a->context.corrected_exact, b->context.corrected_exact,
         "");
    pair(out, "NMI with agent, corrected", a->agent.corrected, b->agent.corrected, "20 permutations");
    pair(out, "NMI with agent, exactly corrected", a->agent.corrected_exact, b->agent.corrected_exact, "");
    pair(out, "JS, small against large changes", a->js_context, b->js_context, "nats");
    pair(out, "JS between agents", a->js_agents, b->js_agents, "nats");
    pair(out, "effective experts, mean route", a->effective_experts, b->effective_experts, "");
    pair(out, "effective experts, dominant", a->effective_dominant, b->effective_dominant, "");
    pair(out, "effective experts, per token", a->effective_per_token, b->effective_per_token, "");
    pair(out, "switching", a->switching, b->switching, "share of neighbours");
    fprintf(out, "\nthirds of magnitudes: borders, and shares below, between and above\n");
    for (int k = 0; k < MW_MAGNITUDES; k++)
        fprintf(out, "%-20s %10.4g %10.4g   %6.3f %6.3f %6.3f\n",
                (const char *[]){"|observation change|", "|action|", "|reward|"}[k], a->cuts[k][0],
                a->cuts[k][1], a->shares[k][0], a->shares[k][1], a->shares[k][2]);
}

static void without(FILE *out, const mw_router *r) {
    fprintf(out, "\nleave one expert out: one-step MSE %.5g over %d transitions; increase without\n", r->mse,
            r->transitions);
    for (int k = 0; k < r->experts + (r->shared > 0); k++) {
        char name[24] = "shared";
        if (k < r->experts) snprintf(name, sizeof name, "expert %d", k);
        fprintf(out, "%-*s %+12.5g\n", LABEL, name, r->mse_without[k] - r->mse);
    }
}

static void match(FILE *out, const char *name, const mw_graph_match *a, const mw_graph_match *b) {
    fprintf(out, "%-36s", name);
    cell(out, a->correlation, 8);
    cell(out, a->difference_minmax, 8);
    cell(out, a->difference_max, 8);
    cell(out, b->correlation, 10);
    fputc('\n', out);
}

static void graphs(FILE *out, const mw_routing_graphs *a, const mw_routing_graphs *b, int n) {
    table(out, "influence (row: target, column: source)", "agent", "agent", a->influence[0], n, n,
          MW_ROUTING_AGENTS);
    table(out, "routing flow (row: target, column: source)", "agent", "agent", a->flow[0], n, n,
          MW_ROUTING_AGENTS);
    fprintf(out, "\n%-36s%8s%8s%8s%10s\n", "influence against routing", "Pearson", "min-max", "max",
            "untrained");
    match(out, "cosine, symmetric, above diagonal", &a->cosine_symmetric, &b->cosine_symmetric);
    match(out, "flow, off diagonal", &a->flow_offdiagonal, &b->flow_offdiagonal);
    match(out, "flow, all entries", &a->flow_all, &b->flow_all);
}

static void effects(FILE *out, const mw_routing *r) {
    if (r->model_count == 0) return;
    fprintf(out, "\npredicted against true influence at %d anchors, rules %s\n%-16s%9s%9s%9s%9s%9s%11s%11s\n",
            r->anchors, r->rules, "", "Pearson", "Spearman", "error", "cosine", "effects", "true",
            "predicted");
    for (int k = 0; k < r->model_count; k++) {
        const mw_influence_match *m = &r->models[k];
        fprintf(out, "%-16.16s", m->model);
        cell(out, m->pearson, 9);
        cell(out, m->spearman, 9);
        cell(out, m->normalized_error, 9);
        cell(out, m->cosine, 9);
        fprintf(out, "%9ld%11.4g%11.4g\n", m->effects, m->true_mean, m->predicted_mean);
    }
}

void mw_routing_text(const mw_routing *result, FILE *out) {
    const mw_router *r = &result->trained;
    fprintf(out, "router: %d experts of %d slot%s", r->experts, r->slots, r->slots > 1 ? "s" : "");
    fprintf(out, "%s; a slot mixes %.2f of %d agents\n", r->shared ? " and a shared one" : "",
            r->effective_agents, r->agents);
    if (r->shared) fprintf(out, "routed share of the mixture: %.3f\n", r->routed_share);
    table(out, "affinity: mean mass of an agent's token on an expert", "agent", "expert", r->affinity[0],
          r->agents, r->experts, MW_ROUTING_EXPERTS);
    table(out, "reward router: shares of an agent's picks", "agent", "expert", r->reward_share[0], r->agents,
          r->reward_experts, MW_ROUTING_EXPERTS);
    without(out, r);
    statistics(out, &r->statistics, &result->untrained.statistics);
    graphs(out, &r->graphs, &result->untrained.graphs, r->agents);
    effects(out, result);
    fprintf(out, "\n%.1f s\n", result->seconds);
}
