/* mawam diagnose: how well a bundle's world model ranks futures. */
#include "cli/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: mawam diagnose BUNDLE [DATASET] [--anchors N] [--M N] [--H N] [--K N] [--snippets N]\n"
    "                      [--seed S] [--split-seed S] [--threads N] [--prey FILE] [--accept-rules]\n"
    "                      [--json | --json=FILE | --csv] [--overwrite]\n"
    "\n"
    "Same state: at anchors of reactive play the M candidates, as the policy draws them, are scored by\n"
    "everything that the bundle holds (or by --scorer alone) and executed in the simulator, restored\n"
    "before each; do the orders agree? Where the plan has offsets or a warm start, the same for states\n"
    "and candidates of its own play. Snippets, with a dataset: the world model rolled from held-out\n"
    "recorded observations under recorded actions, at horizons 1 to 16, ranked in groups of 8.\n"
    "\n"
    "  --anchors N     states (64); 0: no same-state test\n"
    "  --snippets N    recorded snippets (2000)\n"
    "  --seed S        of anchors and snippets (2000)\n"
    "  --split-seed S  seed of the split that training held episodes out by (as the bundle says)\n"
    "  --threads N     (one per core)\n"
    "  --prey FILE     tag, world: a prey network (safetensors) in place of the default prey\n"
    "  --accept-rules  play although the bundle was trained under other rules; results say so\n"
    "  --json          the result as JSON, printed or written to a file\n"
    "  --csv           the tables as one of comma-separated values\n"
    "  --overwrite     replace a file of --json that is there\n"
    "\n"
    "The router of the world model: mawam diagnose --routing --help.\n"
    "\n"
    "example: mawam diagnose spread-medium data/spread-medium\n";

static void print_same_state(const mw_same_state *r) {
    printf("same state, candidates %s, rules %s: %d states of %ld episodes, M=%d, H=%d;\n"
           "executions repeat %s; Spearman and pairs: means over states, pooled: all pairs at once\n",
           r->planned ? "as planned" : "as drawn", r->rules, r->anchors, r->episodes, r->candidates,
           r->horizon, r->exact ? "to the bit" : "WITH DIFFERENT BITS");
    static const mw_column shown[] = {{"scorer", "", -12, NULL},        {"top1", "top 1", 7, "%.3f"},
                                      {"top2", "top 2", 7, "%.3f"},     {"spearman", "Spearman", 9, "%.3f"},
                                      {"pairs", "pairs", 7, "%.3f"},    {"pooled", "pooled", 7, "%.3f"},
                                      {"regret", "regret", 10, "%.4g"}, {"normalized", "norm.", 9, "%.3f"},
                                      {"return", "return", 9, "%.4g"},  {NULL, NULL, 0, NULL}};
    mw_table table;
    mw_table_begin(&table, MW_SHOW_TEXT, shown);
    for (int j = 0; j < r->judges; j++) {
        const mw_ranking *k = &r->judge[j].ranking;
        mw_table_row(&table, (mw_cell[]){MW_TEXT(r->judge[j].scorer), MW_NUMBER(k->top1), MW_NUMBER(k->top2),
                                         MW_NUMBER(k->spearman_within), MW_NUMBER(k->pair_accuracy_within),
                                         MW_NUMBER(k->pair_accuracy), MW_NUMBER(k->regret),
                                         MW_NUMBER(k->normalized_regret), MW_NUMBER(r->judge[j].chosen)});
    }
    mw_table_row(&table, (mw_cell[]){MW_TEXT("random"), MW_NUMBER(1.0 / r->candidates),
                                     MW_NUMBER(2.0 / r->candidates), MW_NUMBER(0), MW_NUMBER(0.5),
                                     MW_NUMBER(0.5), MW_NUMBER(r->random_regret),
                                     MW_NUMBER(r->random_normalized_regret), MW_NUMBER(r->average)});
    mw_table_row(&table, (mw_cell[]){MW_TEXT("best"), MW_NUMBER(1), MW_NUMBER(1), MW_NUMBER(1), MW_NUMBER(1),
                                     MW_NUMBER(1), MW_NUMBER(0), MW_NUMBER(0), MW_NUMBER(r->best)});
    mw_table_end(&table);
}

static void print_snippets(const mw_snippets *r) {
    printf("snippets: %d of %s, ranked in groups of 8\n", r->count,
           r->held_out ? "held-out episodes"
                       : "episodes that may have been trained on (other data or another split)");
    static const mw_column shown[] = {{"horizon", "H", 3, "%.0f"},         {"pearson", "Pearson", 8, "%.3f"},
                                      {"spearman", "Spearman", 8, "%.3f"}, {"top1", "top 1", 7, "%.3f"},
                                      {"top2", "top 2", 7, "%.3f"},        {"pairs", "pairs", 7, "%.3f"},
                                      {"regret", "regret", 9, "%.4g"},     {"normalized", "norm.", 9, "%.3f"},
                                      {"mse", "MSE", 11, "%.4g"},          {NULL, NULL, 0, NULL}};
    mw_table table;
    mw_table_begin(&table, MW_SHOW_TEXT, shown);
    for (int h = 0; h < r->horizons; h++) {
        const mw_ranking *k = &r->ranking[h];
        mw_table_row(&table, (mw_cell[]){MW_NUMBER(h + 1), MW_NUMBER(k->pearson), MW_NUMBER(k->spearman),
                                         MW_NUMBER(k->top1), MW_NUMBER(k->top2), MW_NUMBER(k->pair_accuracy),
                                         MW_NUMBER(k->regret), MW_NUMBER(k->normalized_regret),
                                         MW_NUMBER(r->error[h])});
    }
    mw_table_end(&table);
}

static const mw_column columns[] = {{"test", NULL, 0, NULL},         {"scorer", NULL, 0, NULL},
                                    {"count", NULL, 0, "%.0f"}, /* states, or snippets */
                                    {"candidates", NULL, 0, "%.0f"}, {"horizon", NULL, 0, "%.0f"},
                                    {"top1", NULL, 0, "%g"},         {"top2", NULL, 0, "%g"},
                                    {"spearman", NULL, 0, "%g"},     {"pairs", NULL, 0, "%g"},
                                    {"regret", NULL, 0, "%g"},       {"normalized_regret", NULL, 0, "%g"},
                                    {"return", NULL, 0, "%g"},       {"pearson", NULL, 0, "%g"},
                                    {"rollout_mse", NULL, 0, "%g"},  {NULL, NULL, 0, NULL}};

/* All tables as one: the same-state tests with the means of their states, then the snippets. */
static void print_csv(const mw_same_state *const *tests, int count, const mw_snippets *snippets) {
    mw_table table;
    mw_table_begin(&table, MW_SHOW_CSV, columns);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < tests[i]->judges; j++) {
            const mw_same_state *r = tests[i];
            const mw_ranking *k = &r->judge[j].ranking;
            mw_table_row(&table,
                         (mw_cell[]){MW_TEXT(r->planned ? "planned" : "drawn"), MW_TEXT(r->judge[j].scorer),
                                     MW_NUMBER(r->anchors), MW_NUMBER(r->candidates), MW_NUMBER(r->horizon),
                                     MW_NUMBER(k->top1), MW_NUMBER(k->top2), MW_NUMBER(k->spearman_within),
                                     MW_NUMBER(k->pair_accuracy_within), MW_NUMBER(k->regret),
                                     MW_NUMBER(k->normalized_regret), MW_NUMBER(r->judge[j].chosen),
                                     MW_NUMBER(k->pearson), MW_NUMBER(NAN)});
        }
    for (int h = 0; h < snippets->horizons; h++) {
        const mw_ranking *k = &snippets->ranking[h];
        mw_table_row(&table,
                     (mw_cell[]){MW_TEXT("snippets"), MW_TEXT(snippets->scorer), MW_NUMBER(snippets->count),
                                 MW_NUMBER(8), MW_NUMBER(h + 1), MW_NUMBER(k->top1), MW_NUMBER(k->top2),
                                 MW_NUMBER(k->spearman), MW_NUMBER(k->pair_accuracy), MW_NUMBER(k->regret),
                                 MW_NUMBER(k->normalized_regret), MW_NUMBER(NAN), MW_NUMBER(k->pearson),
                                 MW_NUMBER(snippets->error[h])});
    }
}

/* What a run has found; where a count is zero, it was not asked for. */
typedef struct findings {
    mw_same_state drawn, planned;
    mw_snippets snippets;
} findings;

static mw_status on_dataset(mw_snippets *result, const mw_bundle *bundle, const char *folder,
                            const mw_snippet_options *options, mw_error *error) {
    mw_dataset *dataset;
    MW_TRY(mw_dataset_load(&dataset, folder, error));
    mw_status status = mw_dataset_check(dataset, error);
    if (status == MW_OK) status = mw_snippets_run(result, bundle, dataset, options, error);
    mw_dataset_free(dataset);
    return status;
}

/* Candidates as drawn, and the planner's own where these are others. */
static mw_status at_anchors(findings *f, const mw_bundle *bundle, mw_same_state_options *options,
                            mw_error *error) {
    mw_plan_settings settings;
    MW_TRY(mw_cli_plan(&settings, bundle, options->assignments, options->assignment_count, error));
    if (!options->anchors) return MW_OK;
    MW_TRY(mw_same_state_run(&f->drawn, bundle, options, error));
    options->planned = !mw_plan_as_drawn(&settings);
    return options->planned ? mw_same_state_run(&f->planned, bundle, options, error) : MW_OK;
}

static mw_status print(const findings *f, const mw_bundle *bundle, mw_show show, const char *json, int argc,
                       char **argv, mw_error *error) {
    if (show == MW_SHOW_CSV) {
        print_csv((const mw_same_state *[]){&f->drawn, &f->planned}, 2, &f->snippets);
    } else if (!json || *json) {
        if (f->drawn.anchors) print_same_state(&f->drawn);
        if (f->planned.anchors) print_same_state(&f->planned);
        if (f->snippets.count) print_snippets(&f->snippets);
    }
    if (!json) return MW_OK;
    /* Last: a full disk does not take what was printed. */
    const mw_diagnosis all = {.bundle = bundle,
                              .drawn = f->drawn.anchors ? &f->drawn : NULL,
                              .planned = f->planned.anchors ? &f->planned : NULL,
                              .snippets = f->snippets.count ? &f->snippets : NULL};
    char *command = mw_cli_command("", argc, argv);
    const mw_status status = *json ? mw_diagnosis_save(&all, command, json, error)
                                   : mw_diagnosis_print(&all, command, stdout, error);
    free(command);
    return status;
}

int mw_cli_diagnose(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--routing")) return mw_cli_diagnose_routing(argc, argv);
    mw_env_options world;
    mw_env_options_init(&world, sizeof world);
    mw_same_state_options anchors;
    mw_snippet_options snippets;
    mw_same_state_options_init(&anchors, sizeof anchors);
    mw_snippet_options_init(&snippets, sizeof snippets, NULL);
    anchors.world = &world;
    mw_assignments plan = {0};
    mw_show show = MW_SHOW_TEXT;
    bool overwrite = false;
    uint64_t split_seed = UINT64_MAX; /* not given */
    const char *positional[2] = {NULL, NULL}, *json = NULL;
    const mw_option options[] = {{"anchors", MW_OPT_INT, &anchors.anchors, 0, 100000},
                                 {"plan", MW_OPT_PLAN, &plan, 0, 0},
                                 {"snippets", MW_OPT_INT, &snippets.count, 8, 1000000},
                                 {"seed", MW_OPT_U64, &anchors.seed, 0, 0},
                                 {"split-seed", MW_OPT_U64, &split_seed, 0, 0},
                                 {"threads", MW_OPT_INT, &anchors.threads, 0, MW_MAX_THREADS},
                                 {"prey", MW_OPT_STRING, &world.prey_file, 0, 0},
                                 {"accept-rules", MW_OPT_FLAG, &anchors.accept_rules, 0, 0},
                                 {"json", MW_OPT_OPTIONAL, &json, 0, 0},
                                 {"csv", MW_OPT_SHOW, &show, 0, 0},
                                 {"overwrite", MW_OPT_FLAG, &overwrite, 0, 0},
                                 {NULL, MW_OPT_FLAG, NULL, 0, 0}};
    int count, code = mw_cli_parse(argc, argv, options, help, positional, 2, &count);
    if (code >= 0) return code;
    if (count < 1) return mw_cli_usage("name a bundle");
    if (show == MW_SHOW_CSV && json && !*json)
        return mw_cli_usage("only one of --csv and --json is printed; --json=FILE goes with --csv");
    anchors.assignments = plan.items;
    anchors.assignment_count = plan.count;
    anchors.stop = mw_cli_stop();
    if (count < 2 && !anchors.anchors) return mw_cli_usage("nothing to do without anchors and dataset");
    mw_bundle *bundle;
    mw_error error = {0};
    findings found = {0};
    char path[4096];
    if (mw_cli_output(json, overwrite, &error) != MW_OK ||
        mw_cli_bundle_path(path, sizeof path, positional[0], &error) != MW_OK ||
        (anchors.anchors ? mw_cli_bundle_load : mw_bundle_load)(&bundle, path, &error) != MW_OK)
        return mw_cli_fail(&error);
    const int wanted = snippets.count;
    mw_snippet_options_init(&snippets, sizeof snippets, bundle);
    snippets.count = wanted;
    snippets.seed = anchors.seed;
    snippets.threads = anchors.threads;
    snippets.stop = anchors.stop;
    if (split_seed != UINT64_MAX) snippets.split_seed = split_seed;
    mw_status status = MW_OK;
    if (count == 2) status = on_dataset(&found.snippets, bundle, positional[1], &snippets, &error);
    if (status == MW_OK) status = at_anchors(&found, bundle, &anchors, &error);
    if (status == MW_OK) status = print(&found, bundle, show, json, argc, argv, &error);
    mw_same_state_free(&found.drawn);
    mw_same_state_free(&found.planned);
    mw_bundle_free(bundle);
    return status == MW_OK ? 0 : mw_cli_fail(&error);
}
