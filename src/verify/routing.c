/* The routing diagnosis against recorded numbers: routing_NAME.safetensors holds masses with what surrounds
 * them, model_TASK.safetensors transitions of the world model ../net/TASK/world.safetensors, and files of the
 * same name with .json what follows from them. study.json may hold graphs and effects. */
#include "verify/diagnostics.h"

#include "core/json.h"
#include "routing/routing.h"
#include "model/rwm/probe.h"
#include "verify/record.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#define EXACT   1e-9 /* doubles */
#define NETWORK 1e-5 /* what goes through the network in single precision */
#define DIVIDED 2e-4 /* correlations and differences divide by small spreads of such numbers */

/* ---- expected values ---- */

/* null stands for what is undefined; something else than a number agrees with nothing. */
static double worst_of(double worst, double seen, const json_t *expected) {
    if (json_is_null(expected)) return isnan(seen) ? worst : (double)INFINITY;
    if (!json_is_number(expected)) return INFINITY;
    return mw_verify_worst(worst, seen, json_number_value(expected));
}

static double worst_list(double worst, const double *seen, int count, const json_t *expected) {
    if (json_array_size(expected) != (size_t)count) return INFINITY;
    for (int i = 0; i < count; i++) worst = worst_of(worst, seen[i], json_array_get(expected, (size_t)i));
    return worst;
}

static double worst_matrix(const double *seen, int rows, int columns, int stride, const json_t *expected) {
    double worst = 0;
    if (json_array_size(expected) != (size_t)rows) return INFINITY;
    for (int i = 0; i < rows; i++)
        worst = worst_list(worst, seen + i * stride, columns, json_array_get(expected, (size_t)i));
    return worst;
}

/* A name and its number, as tables of checks have them. */
typedef struct {
    const char *key;
    double value;
} named;

static double worst_named(const named *list, size_t count, const json_t *object) {
    double worst = 0;
    for (size_t i = 0; i < count; i++)
        worst = worst_of(worst, list[i].value, json_object_get(object, list[i].key));
    return worst;
}
#define WORST_NAMED(list, object) worst_named(list, sizeof(list) / sizeof *(list), object)

/* ---- masses ---- */

static mw_status sizes_of(const mw_record *r, mw_routing_sample *s, mw_error *error) {
    MW_TRY(mw_record_int(r, "agents", 1, MW_ROUTING_AGENTS, &s->agents, error));
    MW_TRY(mw_record_int(r, "obs", 1, 4096, &s->obs_size, error));
    MW_TRY(mw_record_int(r, "act", 1, 4096, &s->act_size, error));
    return mw_record_int(r, "transitions", 1, 100000, &s->transitions, error);
}

/* Whole numbers of a tensor, each from 0 to limit - 1; to be freed. */
static mw_status whole(int **out, mw_record *r, const char *name, size_t count, int limit, mw_error *error) {
    const float *values = mw_record_floats(r, name, count, error);
    *out = values ? malloc(count * sizeof **out) : NULL;
    if (!*out) return values ? mw_fail(error, MW_ERR_MEMORY, "cannot read '%s'", name) : MW_ERR_FORMAT;
    for (size_t i = 0; i < count; i++) {
        if (!(values[i] >= 0 && values[i] < (float)limit))
            return mw_fail(error, MW_ERR_FORMAT, "%s: tensor '%s' holds %g; expected 0 to %d", r->file.path,
                           name, (double)values[i], limit - 1);
        (*out)[i] = (int)values[i];
    }
    return MW_OK;
}

/* What is read and made for one file of masses. */
typedef struct {
    mw_routing_sample sample; /* of the record's own arrays */
    int experts;
    double *mass;
    int *permutations, *episode, *step, *dominant, *context, *seen;
} masses;

static void masses_free(masses *m) {
    free(m->mass);
    free(m->permutations);
    free(m->episode);
    free(m->step);
    free(m->dominant);
    free(m->context);
    free(m->seen);
}

static mw_status masses_read(masses *m, mw_record *r, mw_error *error) {
    mw_routing_sample *s = &m->sample;
    MW_TRY(sizes_of(r, s, error));
    MW_TRY(mw_record_int(r, "experts", 1, MW_ROUTING_EXPERTS, &m->experts, error));
    const size_t t = (size_t)s->transitions, rows = t * (size_t)s->agents;
    const float *combine = mw_record_floats(r, "in.combine", rows * (size_t)m->experts, error);
    if (!combine) return MW_ERR_FORMAT;
    s->obs = mw_record_floats(r, "in.obs", rows * (size_t)s->obs_size, error);
    if (s->obs) s->next_obs = mw_record_floats(r, "in.next_obs", rows * (size_t)s->obs_size, error);
    if (s->next_obs) s->act = mw_record_floats(r, "in.act", rows * (size_t)s->act_size, error);
    if (s->act) s->reward = mw_record_floats(r, "in.reward", rows, error);
    if (!s->reward) return MW_ERR_FORMAT;
    MW_TRY(whole(&m->episode, r, "in.episode", t, 1 << 24, error));
    MW_TRY(whole(&m->step, r, "in.step", t, 1 << 24, error));
    MW_TRY(whole(&m->permutations, r, "in.permutations", MW_ROUTING_PERMUTATIONS * rows, (int)rows, error));
    MW_TRY(whole(&m->dominant, r, "out.dominant", rows, m->experts, error));
    MW_TRY(whole(&m->context, r, "out.context", rows, 27, error));
    s->episode = m->episode;
    s->step = m->step;
    m->mass = malloc(rows * (size_t)m->experts * sizeof *m->mass);
    m->seen = malloc(2 * rows * sizeof *m->seen);
    if (!m->mass || !m->seen) return mw_fail(error, MW_ERR_MEMORY, "cannot hold %zu masses", rows);
    for (size_t i = 0; i < rows * (size_t)m->experts; i++) m->mass[i] = combine[i];
    return MW_OK;
}

static double worst_nmi(const mw_routing_nmi *n, const json_t *expected) {
    const named list[] = {{"raw", n->raw},
                          {"permuted_mean", n->permuted_mean},
                          {"corrected", n->corrected},
                          {"expected", n->expected},
                          {"corrected_exact", n->corrected_exact}};
    return worst_list(WORST_NAMED(list, expected), n->permuted, MW_ROUTING_PERMUTATIONS,
                      json_object_get(expected, "permuted"));
}

/* Pairs of agents in the order (0, 1), (0, 2), ..., (1, 2), ... */
static double worst_pairs(const mw_routing_statistics *s, const json_t *expected) {
    double worst = 0;
    size_t pair = 0;
    for (int i = 0; i < s->agents; i++)
        for (int j = i + 1; j < s->agents; j++)
            worst = worst_of(worst, mw_js_divergence(s->affinity[i], s->affinity[j], s->experts),
                             json_array_get(expected, pair++));
    return json_array_size(expected) == pair ? worst : (double)INFINITY;
}

static void check_statistics(const mw_routing_statistics *s, const json_t *expected, const char *what,
                             mw_verify *report) {
    static const char *const magnitudes[MW_MAGNITUDES] = {"obs_change", "action", "reward"};
    const json_t *cuts = json_object_get(expected, "cuts");
    const named divergences[] = {{"js_agents", s->js_agents}, {"js_context", s->js_context}};
    const named effective[] = {{"effective_experts", s->effective_experts},
                               {"effective_dominant", s->effective_dominant},
                               {"effective_per_token", s->effective_per_token}};
    const named switching[] = {{"switching_pairs", (double)s->switching_pairs},
                               {"switching_rate", s->switching}};
    double worst = worst_of(0, s->contexts, json_object_get(expected, "contexts_seen"));
    for (int k = 0; k < MW_MAGNITUDES; k++)
        worst = worst_list(worst, s->cuts[k], 2, json_object_get(cuts, magnitudes[k]));
    mw_verify_check(report, worst, EXACT, "%s: thirds and contexts", what);
    worst = worst_matrix(s->affinity[0], s->agents, s->experts, MW_ROUTING_EXPERTS,
                         json_object_get(expected, "affinity"));
    worst = worst_list(worst, s->dominant_share, s->experts, json_object_get(expected, "dominant_share"));
    mw_verify_check(report, worst, EXACT, "%s: affinity and dominant shares", what);
    mw_verify_check(report, worst_nmi(&s->context, json_object_get(expected, "nmi_context")), EXACT,
                    "%s: NMI with context", what);
    mw_verify_check(report, worst_nmi(&s->agent, json_object_get(expected, "nmi_agent")), EXACT,
                    "%s: NMI with agent", what);
    worst =
        fmax(WORST_NAMED(divergences, expected), worst_pairs(s, json_object_get(expected, "js_agent_pairs")));
    mw_verify_check(report, worst, EXACT, "%s: Jensen-Shannon", what);
    mw_verify_check(report, WORST_NAMED(effective, expected), EXACT, "%s: effective experts", what);
    mw_verify_check(report, WORST_NAMED(switching, expected), EXACT, "%s: switching", what);
}

static mw_status check_masses(masses *m, mw_record *r, const json_t *expected, mw_verify *report,
                              mw_error *error) {
    MW_TRY(masses_read(m, r, error));
    const size_t rows = (size_t)m->sample.transitions * (size_t)m->sample.agents;
    mw_routing_statistics s;
    MW_TRY(mw_routing_statistics_of(&s, &m->sample, m->mass, m->experts, m->permutations, m->seen,
                                    m->seen + rows, error));
    double off = 0;
    for (size_t i = 0; i < rows; i++)
        off += m->seen[i] != m->dominant[i] || m->seen[rows + i] != m->context[i];
    mw_verify_check(report, off, 0, "%s: dominant experts and contexts that differ", r->what);
    check_statistics(&s, expected, r->what, report);
    return MW_OK;
}

static mw_status verify_masses(mw_record *r, const char *dir, const json_t *expected, mw_verify *report,
                               mw_error *error) {
    masses m = {0};
    (void)dir;
    const mw_status status = check_masses(&m, r, expected, report, error);
    masses_free(&m);
    return status;
}

/* ---- graphs ---- */

/* Two entries are always in line, and mawam has no correlation then; a record may say which way they lie: 1
 * or -1, NaN where one side is constant. */
static double line_of(double x, double next_x, double y, double next_y) {
    const double rise = (next_x - x) * (next_y - y);
    return rise > 0 ? 1 : rise < 0 ? -1 : (double)NAN;
}

/* `of_two` is what holds for two entries, where the record has a number and not null. */
static double worst_sure(double worst, double seen, long entries, double of_two, const json_t *expected) {
    return worst_of(worst, entries == 2 && json_is_number(expected) ? of_two : seen, expected);
}

static double worst_match(const mw_graph_match *m, double line, const json_t *expected) {
    const named list[] = {{"entries", m->entries}, {"difference_max", m->difference_max}};
    const double worst = worst_sure(WORST_NAMED(list, expected), m->correlation, m->entries, line,
                                    json_object_get(expected, "correlation"));
    return worst_sure(worst, m->difference_minmax, m->entries, (1 - line) / 2,
                      json_object_get(expected, "difference_minmax"));
}

static double worst_graphs(const mw_routing_graphs *g, const json_t *expected) {
    const double line = line_of(g->flow[0][1], g->flow[1][0], g->influence[0][1], g->influence[1][0]),
                 a = worst_match(&g->cosine_symmetric, line, json_object_get(expected, "cosine_symmetric")),
                 b = worst_match(&g->flow_offdiagonal, line, json_object_get(expected, "flow_offdiagonal")),
                 c = worst_match(&g->flow_all, line, json_object_get(expected, "flow_all"));
    return fmax(a, fmax(b, c));
}

/* ---- models ---- */

typedef struct {
    mw_record weights;
    mw_world_net net;
    mw_pool *pool;
    float *values, *packed, *seen;
    mw_probe *probe;
    mw_router *router;
} model;

static void model_free(model *m) {
    mw_probe_free(m->probe);
    mw_world_net_free(&m->net);
    mw_pool_free(m->pool);
    mw_record_close(&m->weights);
    free(m->values);
    free(m->packed);
    free(m->seen);
    free(m->router);
}

/* The world model that the transitions are of; sizes must agree. */
static mw_status model_load(model *m, const char *path, const mw_routing_sample *s, mw_error *error) {
    mw_world_config c;
    int batch, horizon;
    MW_TRY(mw_safetensors_open(&m->weights.file, path, error));
    MW_TRY(mw_record_world(&m->weights, &c, &batch, &horizon, error));
    if (c.agents != s->agents || c.obs != s->obs_size || c.act != s->act_size)
        return mw_fail(error, MW_ERR_MISMATCH,
                       "%s: the model has %d agents, %d observation features and %d actions; the transitions "
                       "have %d, %d and %d",
                       path, c.agents, c.obs, c.act, s->agents, s->obs_size, s->act_size);
    MW_TRY(mw_world_net_make(&m->net, &c, error));
    MW_TRY(mw_record_holds(&m->weights, &m->net.params, "weight.", error));
    MW_TRY(mw_pool_create(&m->pool, 2, error));
    m->values = aligned_alloc(MW_ALIGN, m->net.params.total * sizeof *m->values);
    m->packed = aligned_alloc(MW_ALIGN, m->net.params.packed * sizeof *m->packed);
    m->router = malloc(sizeof *m->router);
    if (!m->values || !m->packed || !m->router)
        return mw_fail(error, MW_ERR_MEMORY, "%s: cannot allocate the model", path);
    MW_TRY(mw_params_load(&m->net.params, m->values, &m->weights.file, "weight.", error));
    mw_world_net_pack(&m->net, m->values, m->packed, false, 0, 1);
    return mw_probe_create(&m->probe, &m->net, m->values, m->packed, m->pool, error);
}

/* What one pass says: predictions and routes. */
static mw_status check_pass(model *m, mw_record *r, const mw_routing_sample *s, mw_verify *report,
                            mw_error *error) {
    const size_t rows = (size_t)s->transitions * (size_t)s->agents, all = rows * (size_t)s->obs_size,
                 slots = rows * (size_t)(m->net.config.experts * m->net.config.slots);
    const float *next = mw_record_floats(r, "out.next_obs", all, error),
                *dispatch = next ? mw_record_floats(r, "out.dispatch", slots, error) : NULL,
                *combine = dispatch ? mw_record_floats(r, "out.combine", slots, error) : NULL;
    if (!combine) return MW_ERR_FORMAT;
    m->seen = malloc((all + 2 * slots) * sizeof *m->seen);
    if (!m->seen) return mw_fail(error, MW_ERR_MEMORY, "cannot hold %zu routes", slots);
    const mw_probe_view view = {.next = m->seen, .dispatch = m->seen + all, .combine = m->seen + all + slots};
    mw_probe_look(m->probe, s->obs, s->act, s->transitions, &view);
    mw_verify_check(report, mw_relative_error(view.next, next, all), NETWORK, "%s: next observation",
                    r->what);
    double worst = mw_relative_error(view.dispatch, dispatch, slots);
    mw_verify_check(report, fmax(worst, mw_relative_error(view.combine, combine, slots)), NETWORK,
                    "%s: dispatch and combine weights", r->what);
    return MW_OK;
}

static void check_router(const mw_router *r, const json_t *expected, const char *what, mw_verify *report) {
    const mw_routing_graphs *g = &r->graphs;
    const int n = r->agents;
    double increase[MW_ROUTING_EXPERTS], symmetric[MW_ROUTING_AGENTS * MW_ROUTING_AGENTS];
    for (int e = 0; e < r->experts; e++) increase[e] = r->mse_without[e] - r->mse;
    for (int k = 0; k < n * n; k++)
        symmetric[k] = (g->influence[k / n][k % n] + g->influence[k % n][k / n]) / 2;
    double worst = worst_matrix(r->affinity[0], n, r->experts, MW_ROUTING_EXPERTS,
                                json_object_get(expected, "affinity"));
    mw_verify_check(report, worst, NETWORK, "%s: affinity", what);
    worst = worst_matrix(r->reward_share[0], n, r->reward_experts, MW_ROUTING_EXPERTS,
                         json_object_get(expected, "reward_affinity"));
    mw_verify_check(report, worst, NETWORK, "%s: shares of the reward's picks", what);
    worst = worst_of(0, r->mse, json_object_get(expected, "mse"));
    worst = worst_list(worst, r->mse_without, r->experts, json_object_get(expected, "mse_without"));
    worst = worst_list(worst, increase, r->experts, json_object_get(expected, "increase"));
    mw_verify_check(report, worst, NETWORK, "%s: error without each expert", what);
    worst = worst_matrix(g->influence[0], n, n, MW_ROUTING_AGENTS, json_object_get(expected, "influence"));
    worst = fmax(worst, worst_matrix(symmetric, n, n, n, json_object_get(expected, "influence_symmetric")));
    mw_verify_check(report, worst, NETWORK, "%s: influence", what);
    worst = worst_matrix(g->cosine[0], n, n, MW_ROUTING_AGENTS, json_object_get(expected, "routing_cosine"));
    worst = fmax(
        worst, worst_matrix(g->flow[0], n, n, MW_ROUTING_AGENTS, json_object_get(expected, "routing_flow")));
    mw_verify_check(report, worst, NETWORK, "%s: routing graphs", what);
    mw_verify_check(report, worst_graphs(g, json_object_get(expected, "graphs")), DIVIDED,
                    "%s: influence against routing", what);
}

static mw_status check_model(model *m, mw_record *r, const char *path, const json_t *expected,
                             mw_verify *report, mw_error *error) {
    mw_routing_sample s = {0};
    MW_TRY(sizes_of(r, &s, error));
    const size_t t = (size_t)s.transitions, rows = t * (size_t)s.agents;
    s.obs = mw_record_floats(r, "in.obs", rows * (size_t)s.obs_size, error);
    if (s.obs) s.next_obs = mw_record_floats(r, "in.next_obs", rows * (size_t)s.obs_size, error);
    if (s.next_obs) s.act = mw_record_floats(r, "in.act", rows * (size_t)s.act_size, error);
    const float *perturbed =
        s.act ? mw_record_floats(r, "in.perturbed", rows * (size_t)s.act_size, error) : NULL;
    if (!perturbed) return MW_ERR_FORMAT;
    MW_TRY(model_load(m, path, &s, error));
    MW_TRY(check_pass(m, r, &s, report, error));
    MW_TRY(mw_router_measure(m->router, (mw_world_weights){&m->net, m->values, m->packed}, &s, perturbed,
                             m->pool, NULL, error));
    double *scale = malloc((size_t)s.act_size * sizeof *scale);
    if (!scale) return mw_fail(error, MW_ERR_MEMORY, "cannot hold %d scales", s.act_size);
    mw_action_scale(scale, &s);
    mw_verify_check(report, worst_list(0, scale, s.act_size, json_object_get(expected, "action_scale")),
                    EXACT, "%s: scale of actions", r->what);
    free(scale);
    check_router(m->router, expected, r->what, report);
    return MW_OK;
}

static mw_status verify_model(mw_record *r, const char *dir, const json_t *expected, mw_verify *report,
                              mw_error *error) {
    char path[4096];
    const char *weights = mw_safetensors_meta(&r->file, "weights"); /* beside the folder */
    const mw_name usual = mw_name_of("net/%.40s/world.safetensors", r->what + strlen("model_"));
    model m = {.weights = {.what = r->what}};
    snprintf(path, sizeof path, "%s/../%.200s", dir, weights ? weights : usual.text);
    const mw_status status = check_model(&m, r, path, expected, report, error);
    model_free(&m);
    return status;
}

/* ---- graphs and effects of study.json ---- */

/* A square of numbers into rows of `stride`; false: it is none. */
static bool square(double *out, int agents, int stride, const json_t *rows) {
    if (json_array_size(rows) != (size_t)agents) return false;
    for (int k = 0; k < agents * agents; k++) {
        const json_t *row = json_array_get(rows, (size_t)(k / agents)),
                     *value = json_array_get(row, (size_t)(k % agents));
        if (json_array_size(row) != (size_t)agents || !json_is_number(value)) return false;
        out[k / agents * stride + k % agents] = json_number_value(value);
    }
    return true;
}

static mw_status verify_graphs(const json_t *cases, const char *path, mw_verify *report, mw_error *error) {
    mw_routing_graphs *g = calloc(1, sizeof *g);
    double worst = 0;
    mw_status status = g ? MW_OK : mw_fail(error, MW_ERR_MEMORY, "cannot hold a graph");
    for (size_t i = 0; status == MW_OK && i < json_array_size(cases); i++) {
        const json_t *entry = json_array_get(cases, i);
        long long n = 0;
        status = mw_json_get_integer(entry, "agents", path, 1, MW_ROUTING_AGENTS, &n, error);
        if (status != MW_OK) break;
        if (!square(g->cosine[0], (int)n, MW_ROUTING_AGENTS, json_object_get(entry, "routing_cosine")) ||
            !square(g->flow[0], (int)n, MW_ROUTING_AGENTS, json_object_get(entry, "routing_flow")) ||
            !square(g->influence[0], (int)n, MW_ROUTING_AGENTS, json_object_get(entry, "influence")))
            status = mw_fail(error, MW_ERR_FORMAT, "%s: graphs[%zu] must hold three graphs of %lld agents",
                             path, i, n);
        mw_routing_compare(g, (int)n);
        worst = fmax(worst, worst_graphs(g, json_object_get(entry, "compared")));
    }
    free(g);
    if (status == MW_OK)
        mw_verify_check(report, worst, EXACT, "study: %zu pairs of graphs", json_array_size(cases));
    return status;
}

static mw_status verify_effects(const json_t *record, const char *path, mw_verify *report, mw_error *error) {
    const json_t *truth = json_object_get(record, "true"), *guess = json_object_get(record, "predicted");
    const size_t anchors = json_array_size(truth), agents = json_array_size(json_array_get(truth, 0));
    if (anchors < 1 || anchors > 10000 || agents < 1 || agents > MW_ROUTING_AGENTS)
        return mw_fail(error, MW_ERR_FORMAT, "%s: influence_match.true must be [anchors][agents][agents]",
                       path);
    if (json_array_size(guess) != anchors)
        return mw_fail(error, MW_ERR_FORMAT, "%s: influence_match has %zu true and %zu predicted anchors",
                       path, anchors, json_array_size(guess));
    double *x = malloc(2 * anchors * agents * agents * sizeof *x), *y = x ? x + anchors * agents * agents : x;
    if (!x) return mw_fail(error, MW_ERR_MEMORY, "cannot hold %zu anchors", anchors);
    mw_status status = MW_OK;
    for (size_t k = 0; status == MW_OK && k < anchors; k++)
        if (!square(x + k * agents * agents, (int)agents, (int)agents, json_array_get(truth, k)) ||
            !square(y + k * agents * agents, (int)agents, (int)agents, json_array_get(guess, k)))
            status = mw_fail(error, MW_ERR_FORMAT,
                             "%s: influence_match: anchor %zu must hold two graphs of %zu agents", path, k,
                             agents);
    mw_influence_match m = {0};
    if (status == MW_OK) status = mw_influence_compare(&m, x, y, (int)anchors, (int)agents, error);
    const double line = status == MW_OK && m.effects == 2 ? line_of(x[1], x[2], y[1], y[2]) : (double)NAN;
    free(x);
    if (status != MW_OK) return status;
    const json_t *expected = json_object_get(record, "result");
    const named seen[] = {{"effects", (double)m.effects},
                          {"true_mean", m.true_mean},
                          {"predicted_mean", m.predicted_mean},
                          {"normalized_error", m.normalized_error},
                          {"cosine_mean", m.cosine}};
    double worst = WORST_NAMED(seen, expected);
    worst = worst_sure(worst, m.pearson, m.effects, line, json_object_get(expected, "pearson"));
    worst = worst_sure(worst, m.spearman, m.effects, line, json_object_get(expected, "spearman"));
    mw_verify_check(report, worst, EXACT, "study: predicted against true influence");
    return MW_OK;
}

static mw_status verify_recorded_graphs(const char *dir, mw_verify *report, mw_error *error) {
    char path[4096];
    json_t *root;
    snprintf(path, sizeof path, "%s/study.json", dir);
    if (!mw_file_exists(path)) return MW_OK;
    MW_TRY(mw_json_read(&root, path, error));
    const json_t *graphs = json_object_get(root, "graphs"),
                 *effects = json_object_get(root, "influence_match");
    mw_status status = graphs ? verify_graphs(graphs, path, report, error) : MW_OK;
    if (status == MW_OK && effects) status = verify_effects(effects, path, report, error);
    json_decref(root);
    return status;
}

/* ---- the folder ---- */

typedef mw_status verify_fn(mw_record *r, const char *dir, const json_t *expected, mw_verify *report,
                            mw_error *error);

/* dir/name.safetensors with dir/name.json. */
static mw_status verify_pair(const char *dir, const char *name, verify_fn *verify, mw_verify *report,
                             mw_error *error) {
    char path[4096];
    json_t *expected;
    mw_record r = {.what = name};
    snprintf(path, sizeof path, "%s/%s.json", dir, name);
    MW_TRY(mw_json_read(&expected, path, error));
    snprintf(path, sizeof path, "%s/%s.safetensors", dir, name);
    mw_status status = mw_safetensors_open(&r.file, path, error);
    if (status == MW_OK) status = verify(&r, dir, expected, report, error);
    mw_record_close(&r);
    json_decref(expected);
    return status;
}

/* The file's name without .safetensors if it begins so; NULL: another file. Cuts the name. */
static const char *named_so(char *name, const char *begin) {
    char *end = strstr(name, ".safetensors");
    if (strncmp(name, begin, strlen(begin)) || !end || end[strlen(".safetensors")]) return NULL;
    *end = '\0';
    return name;
}

mw_status mw_verify_routing(const char *dir, int *found, mw_verify *report, mw_error *error) {
    struct dirent **entries = NULL;
    const int count = scandir(dir, &entries, NULL, alphasort);
    if (count < 0) return mw_fail(error, MW_ERR_IO, "%s: cannot read this folder", dir);
    mw_status status = MW_OK;
    for (int i = 0; i < count; i++) {
        char *file = entries[i]->d_name;
        const char *masses_name = named_so(file, "routing_"),
                   *model_name = masses_name ? NULL : named_so(file, "model_");
        if (status == MW_OK && (masses_name || model_name)) {
            ++*found;
            status = verify_pair(dir, file, masses_name ? verify_masses : verify_model, report, error);
        }
        free(entries[i]);
    }
    free(entries);
    return status == MW_OK ? verify_recorded_graphs(dir, report, error) : status;
}
