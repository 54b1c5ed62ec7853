/* The routing diagnosis as JSON; see mawam/routing.h. What is undefined is null. */
#include "routing/routing.h"

#include "core/numbers.h"
#include "eval/eval.h"

#include <string.h>

/* ---- JSON ---- */

static json_t *list(const double *x, int count) {
    json_t *array = json_array();
    for (int i = 0; i < count; i++) json_array_append_new(array, mw_number_json(x[i]));
    return array;
}

/* rows of a matrix whose rows have room for `stride` numbers */
static json_t *matrix(const double *x, int rows, int columns, int stride) {
    json_t *array = json_array();
    for (int i = 0; i < rows; i++) json_array_append_new(array, list(x + i * stride, columns));
    return array;
}

static json_t *by_expert(const double x[][MW_ROUTING_EXPERTS], int rows, int columns) {
    return matrix(x[0], rows, columns, MW_ROUTING_EXPERTS);
}

static json_t *graph(const mw_agent_graph x, int agents) {
    return matrix(x[0], agents, agents, MW_ROUTING_AGENTS);
}

static json_t *nmi_json(const mw_routing_nmi *n) {
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "raw", mw_number_json(n->raw), "permuted_mean",
                     mw_number_json(n->permuted_mean), "corrected", mw_number_json(n->corrected), "expected",
                     mw_number_json(n->expected), "corrected_exact", mw_number_json(n->corrected_exact),
                     "permuted", list(n->permuted, MW_ROUTING_PERMUTATIONS));
}

static json_t *statistics_json(const mw_routing_statistics *s) {
    static const char *const names[MW_MAGNITUDES] = {"obs_change", "action", "reward"};
    json_t *cuts = json_object(), *shares = json_object();
    for (int k = 0; k < MW_MAGNITUDES; k++) {
        json_object_set_new(cuts, names[k], list(s->cuts[k], 2));
        json_object_set_new(shares, names[k], list(s->shares[k], 3));
    }
    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o}",
                     "transitions", s->transitions, "affinity",
                     by_expert((const double(*)[MW_ROUTING_EXPERTS])s->affinity, s->agents, s->experts),
                     "dominant_share", list(s->dominant_share, s->experts), "cuts", cuts, "shares", shares,
                     "contexts_seen", s->contexts, "nmi_context", nmi_json(&s->context), "nmi_agent",
                     nmi_json(&s->agent), "js_agents", mw_number_json(s->js_agents), "js_context",
                     mw_number_json(s->js_context), "effective_experts", mw_number_json(s->effective_experts),
                     "effective_dominant", mw_number_json(s->effective_dominant), "effective_per_token",
                     mw_number_json(s->effective_per_token), "switching_pairs",
                     (json_int_t)s->switching_pairs, "switching_rate", mw_number_json(s->switching));
}

static json_t *match_json(const mw_graph_match *m) {
    return json_pack("{s:i, s:o, s:o, s:o}", "entries", m->entries, "correlation",
                     mw_number_json(m->correlation), "difference_minmax",
                     mw_number_json(m->difference_minmax), "difference_max",
                     mw_number_json(m->difference_max));
}

static json_t *graphs_json(const mw_routing_graphs *g, int agents) {
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "influence", graph(g->influence, agents),
                     "routing_cosine", graph(g->cosine, agents), "routing_flow", graph(g->flow, agents),
                     "cosine_symmetric", match_json(&g->cosine_symmetric), "flow_offdiagonal",
                     match_json(&g->flow_offdiagonal), "flow_all", match_json(&g->flow_all));
}

static json_t *router_json(const mw_router *r) {
    const int parts = r->experts + (r->shared > 0);
    json_t *increase = json_array();
    for (int k = 0; k < parts; k++)
        json_array_append_new(increase, mw_number_json(r->mse_without[k] - r->mse));
    return json_pack(
        "{s:i, s:i, s:i, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "transitions",
        r->transitions, "experts", r->experts, "slots", r->slots, "shared", r->shared, "reward_experts",
        r->reward_experts, "top_k", r->top_k, "affinity",
        by_expert((const double(*)[MW_ROUTING_EXPERTS])r->affinity, r->agents, r->experts), "reward_affinity",
        by_expert((const double(*)[MW_ROUTING_EXPERTS])r->reward_share, r->agents, r->reward_experts), "mse",
        mw_number_json(r->mse), "mse_without", list(r->mse_without, parts), "increase", increase,
        "routed_share", mw_number_json(r->routed_share), "effective_agents",
        mw_number_json(r->effective_agents), "graphs", graphs_json(&r->graphs, r->agents), "statistics",
        statistics_json(&r->statistics));
}

static json_t *influence_json(const mw_influence_match *m) {
    return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "effects", (json_int_t)m->effects, "true_mean",
                     mw_number_json(m->true_mean), "predicted_mean", mw_number_json(m->predicted_mean),
                     "pearson", mw_number_json(m->pearson), "spearman", mw_number_json(m->spearman),
                     "normalized_error", mw_number_json(m->normalized_error), "cosine_mean",
                     mw_number_json(m->cosine));
}

static json_t *routing_json(const mw_routing *r) {
    json_t *models = json_object();
    for (int k = 0; k < r->model_count; k++)
        json_object_set_new(models, r->models[k].model, influence_json(&r->models[k]));
    return json_pack("{s:i, s:o, s:o, s:i, s:o, s:o}", "agents", r->trained.agents, "trained",
                     router_json(&r->trained), "untrained", router_json(&r->untrained), "anchors", r->anchors,
                     "influence", models, "seconds", mw_number_json(r->seconds));
}

/* Rules are those that were played by; where they are not the bundle's, its own are said to be accepted. */
static json_t *report_json(const mw_bundle *bundle, const mw_routing *result) {
    const mw_bundle_part *part = mw_bundle_find((mw_bundle *)(uintptr_t)bundle, "rwm");
    const char *own = bundle->info.rules, *played = *result->rules ? result->rules : own;
    const char *checksum = *bundle->checksum ? bundle->checksum : NULL;
    json_t *root = json_pack(
        "{s:s, s:s, s:s, s:s, s:s*, s:o, s:o}", "mawam", mw_version(), "task", bundle->info.task, "quality",
        bundle->info.quality, "rules", played, "bundle", checksum, "provenance",
        part ? mw_provenance_json(&part->provenance) : json_object(), "routing", routing_json(result));
    if (strcmp(played, own)) json_object_set_new(root, "accepted_rules", json_string(own));
    return root;
}

mw_status mw_routing_print(const mw_bundle *bundle, const mw_routing *result, const char *command, FILE *out,
                           mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED(bundle);
    MW_NEED(result);
    MW_NEED(command);
    MW_NEED(out);
    return mw_eval_report_put(report_json(bundle, result), command, NULL, out, error);
}

mw_status mw_routing_save(const mw_bundle *bundle, const mw_routing *result, const char *command,
                          const char *path, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED(bundle);
    MW_NEED(result);
    MW_NEED(command);
    MW_NEED(path);
    return mw_eval_report_put(report_json(bundle, result), command, path, NULL, error);
}
