/* mawam diagnose --routing: what the router of a bundle's world model has learned. */
#include "cli/table.h"

#include <math.h>
#include <mawam/study.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: mawam diagnose --routing BUNDLE DATASET [--transitions N] [--consecutive N] [--anchors N]\n"
    "                      [--seed S] [--threads N] [--prey FILE] [--accept-rules]\n"
    "                      [--json | --json=FILE | --csv] [--page FILE] [--overwrite]\n"
    "\n"
    "Which experts serve which agents and contexts, what is lost without one, and whether routes between\n"
    "agents agree with the influence of their actions, in the model and in the simulator. Beside each\n"
    "number stands that of an untrained router. docs/routing.md says how to read them.\n"
    "\n"
    "  --data DIR        the dataset, instead of naming it second\n"
    "  --transitions N   scattered transitions: affinity, leave-one-out, graphs (4096)\n"
    "  --consecutive N   transitions in blocks: contexts, switching (8192)\n"
    "  --anchors N       states at which influence is compared with the simulator's (64); 0: none\n"
    "  --seed S          of all draws (2000)\n"
    "  --threads N       (one per core)\n"
    "  --prey FILE       tag, world: a prey network (safetensors) in place of the default prey\n"
    "  --accept-rules    try anchors although the bundle was trained under other rules; results say so\n"
    "  --json            the result as JSON, printed or written to a file\n"
    "  --csv             every number in a row: figure, row, column, trained, untrained\n"
    "  --page FILE       figures and tables as one HTML page\n"
    "  --overwrite       replace files of --json and --page that are there\n"
    "\n"
    "example: mawam diagnose --routing spread-medium data/spread-medium --page routing.html\n";

static mw_status run(mw_routing **result, const mw_bundle *bundle, const char *folder,
                     const mw_routing_options *options, mw_error *error) {
    mw_dataset *dataset;
    MW_TRY(mw_dataset_load(&dataset, folder, error));
    mw_status status = mw_dataset_check(dataset, error);
    if (status == MW_OK) status = mw_routing_run(result, bundle, dataset, options, error);
    mw_dataset_free(dataset);
    return status;
}

/* ---- comma-separated values: one number in a row, with that of the untrained router ---- */

static void number(mw_table *table, const char *figure, int row, int column, double trained,
                   double untrained) {
    mw_table_row(table, (mw_cell[]){MW_TEXT(figure), MW_NUMBER(row < 0 ? (double)NAN : row),
                                    MW_NUMBER(column < 0 ? (double)NAN : column), MW_NUMBER(trained),
                                    MW_NUMBER(untrained)});
}

static void matrix(mw_table *table, const char *figure, const double *trained, const double *untrained,
                   int rows, int columns, int stride) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            number(table, figure, i, j, trained[i * stride + j], untrained[i * stride + j]);
}

static void statistics(mw_table *table, const mw_routing_statistics *a, const mw_routing_statistics *b) {
    const struct {
        const char *name;
        double trained, untrained;
    } rows[] = {{"nmi_context_corrected", a->context.corrected, b->context.corrected},
                {"nmi_context_corrected_exact", a->context.corrected_exact, b->context.corrected_exact},
                {"nmi_agent_corrected", a->agent.corrected, b->agent.corrected},
                {"nmi_agent_corrected_exact", a->agent.corrected_exact, b->agent.corrected_exact},
                {"js_context", a->js_context, b->js_context},
                {"js_agents", a->js_agents, b->js_agents},
                {"effective_experts", a->effective_experts, b->effective_experts},
                {"effective_dominant", a->effective_dominant, b->effective_dominant},
                {"effective_per_token", a->effective_per_token, b->effective_per_token},
                {"switching", a->switching, b->switching}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        number(table, rows[i].name, -1, -1, rows[i].trained, rows[i].untrained);
}

static void print_csv(const mw_routing *r) {
    static const mw_column columns[] = {{"figure", NULL, 0, NULL},    {"row", NULL, 0, "%.0f"},
                                        {"column", NULL, 0, "%.0f"},  {"trained", NULL, 0, "%g"},
                                        {"untrained", NULL, 0, "%g"}, {NULL, NULL, 0, NULL}};
    const mw_router *a = &r->trained, *b = &r->untrained;
    mw_table table;
    mw_table_begin(&table, MW_SHOW_CSV, columns);
    matrix(&table, "affinity", a->affinity[0], b->affinity[0], a->agents, a->experts, MW_ROUTING_EXPERTS);
    matrix(&table, "reward_share", a->reward_share[0], b->reward_share[0], a->agents, a->reward_experts,
           MW_ROUTING_EXPERTS);
    number(&table, "mse", -1, -1, a->mse, b->mse);
    matrix(&table, "mse_without", a->mse_without, b->mse_without, 1, a->experts + (a->shared > 0), 0);
    statistics(&table, &a->statistics, &b->statistics);
    matrix(&table, "influence", a->graphs.influence[0], b->graphs.influence[0], a->agents, a->agents,
           MW_ROUTING_AGENTS);
    matrix(&table, "flow", a->graphs.flow[0], b->graphs.flow[0], a->agents, a->agents, MW_ROUTING_AGENTS);
    number(&table, "influence_cosine", -1, -1, a->graphs.cosine_symmetric.correlation,
           b->graphs.cosine_symmetric.correlation);
    number(&table, "influence_flow", -1, -1, a->graphs.flow_offdiagonal.correlation,
           b->graphs.flow_offdiagonal.correlation);
}

static mw_status show(const mw_bundle *bundle, const mw_routing *result, const char *command,
                      const char *json, const char *page, mw_show way, mw_error *error) {
    if (json && !*json)
        MW_TRY(mw_routing_print(bundle, result, command, stdout, error));
    else if (way == MW_SHOW_CSV)
        print_csv(result);
    else
        mw_routing_text(result, stdout);
    /* files last: a full disk does not take what was printed */
    if (json && *json) MW_TRY(mw_routing_save(bundle, result, command, json, error));
    return page ? mw_routing_page(bundle, result, command, page, error) : MW_OK;
}

int mw_cli_diagnose_routing(int argc, char **argv) {
    mw_env_options world;
    mw_env_options_init(&world, sizeof world);
    mw_routing_options routing;
    mw_routing_options_init(&routing, sizeof routing);
    routing.world = &world;
    const char *positional[2] = {NULL, NULL}, *json = NULL, *page = NULL, *data = NULL;
    mw_show way = MW_SHOW_TEXT;
    bool asked, overwrite = false;
    const mw_option options[] = {{"routing", MW_OPT_FLAG, &asked, 0, 0},
                                 {"data", MW_OPT_STRING, &data, 0, 0},
                                 {"transitions", MW_OPT_INT, &routing.transitions, 1, 1000000},
                                 {"consecutive", MW_OPT_INT, &routing.consecutive, 1, 1000000},
                                 {"anchors", MW_OPT_INT, &routing.anchors, 0, 100000},
                                 {"seed", MW_OPT_U64, &routing.seed, 0, 0},
                                 {"threads", MW_OPT_INT, &routing.threads, 0, MW_MAX_THREADS},
                                 {"prey", MW_OPT_STRING, &world.prey_file, 0, 0},
                                 {"accept-rules", MW_OPT_FLAG, &routing.accept_rules, 0, 0},
                                 {"json", MW_OPT_OPTIONAL, &json, 0, 0},
                                 {"csv", MW_OPT_SHOW, &way, 0, 0},
                                 {"page", MW_OPT_STRING, &page, 0, 0},
                                 {"overwrite", MW_OPT_FLAG, &overwrite, 0, 0},
                                 {NULL, MW_OPT_FLAG, NULL, 0, 0}};
    int count, code = mw_cli_parse(argc, argv, options, help, positional, 2, &count);
    if (code >= 0) return code;
    if (way == MW_SHOW_CSV && json && !*json) return mw_cli_usage("only one of --csv and --json is printed");
    if (json && page && !strcmp(json, page)) return mw_cli_usage("--json and --page name the same file");
    if (count == 2 && data) return mw_cli_usage("--routing: name the dataset once");
    if (count == 2) data = positional[1];
    if (count < 1 || !data)
        return mw_cli_usage("--routing: name a bundle and a dataset ('mawam data make' makes it)");
    mw_bundle *bundle;
    mw_routing *result = NULL;
    mw_error error = {0};
    char path[4096];
    if (mw_cli_output(json, overwrite, &error) != MW_OK || mw_cli_output(page, overwrite, &error) != MW_OK ||
        mw_cli_bundle_path(path, sizeof path, positional[0], &error) != MW_OK ||
        (routing.anchors ? mw_cli_bundle_load : mw_bundle_load)(&bundle, path, &error) != MW_OK)
        return mw_cli_fail(&error);
    routing.stop = mw_cli_stop();
    char *command = mw_cli_command("", argc, argv);
    mw_status status = run(&result, bundle, data, &routing, &error);
    if (status == MW_OK) status = show(bundle, result, command, json, page, way, &error);
    free(command);
    mw_routing_free(result);
    mw_bundle_free(bundle);
    return status == MW_OK ? 0 : mw_cli_fail(&error);
}
