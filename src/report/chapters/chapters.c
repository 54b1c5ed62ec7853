/* The report's chapters and everything in them: one row for each table, figure and algorithm of the paper, by
 * its own label, and for what is ours beside them ("own:"). A new one is a row here and a function. */
#include "report/page.h"

static const mw_chapter chapters[] = {
    {"main", "Main results", "The paper's method and its baselines as published, and what we measured."},
    {"gain", "Planning gain",
     "What choosing among candidates adds to the same policy without choosing. MPE in normalised score, SMAC "
     "and Ant in episode return, per agent on Ant."},
    {"controls", "Controls", "Is it the choice, or only that there are more candidates?"},
    {"selectors", "Selectors", "Other ways to choose among candidates that are drawn alike."},
    {"quality", "When planning helps", "Gains by headroom, by how well the model ranks, and by the data."},
    {"ranking", "Ranking and calibration", "Does the world model put futures in the right order?"},
    {"rollout", "Rollout error", "How far imagined observations stray from recorded ones."},
    {"routing", "Routing", "What the world model's experts do."},
    {"cost", "Cost", "Milliseconds of decisions, and what they buy."},
    {"method", "Method", "The paper's drawings, algorithms and notation, and where they are told here."},
    {"origin", "Origin", "Commands, versions and checksums behind the study's numbers."},
};

static const mw_item items[] = {
    {"teaser", "method", "Reactive commitment against propose, score and select",
     "A drawing; its scores are illustrative.", mw_item_drawing},
    {"framework", "method", "The loop from context to executed action", "A drawing.", mw_item_drawing},
    {"planning_all", "main", "Against published baselines",
     "Columns of methods are the paper's and those of the papers it cites; its own is the best of K = 1 to 5 "
     "sampling steps. Ours is measured with the K of its column, by the paper's method with that method's, "
     "on our own data of the same kinds: rows are alike, not equal.",
     mw_item_main_results},
    {"planning_gain_bars", "gain", "Relative gain of planning over reactive, by setting",
     "Returns with their std over seeds, relative gains with their intervals, and how many settings gain. "
     "The "
     "paper's gains are from its table. Values beyond the axis say so.",
     mw_item_gain_bars},
    {"planning_gain_ds3", "gain", "Reactive and planning, by setting",
     "Both arms play the same episodes. The std is over seeds; the interval is that of the paired "
     "difference over episodes, as the evaluation computed it. Strong: it does not hold zero.",
     mw_item_gain_table},
    {"benchmark_gain_summary", "gain", "Families",
     "Mean and median: over settings, of (planning - reactive) / |reactive|; a reactive score near zero "
     "rules "
     "the mean, not the median. Aggregate: sum of differences over the sum of |reactive|. p: exact two-sided "
     "sign test, ties dropped.",
     mw_item_family_table},
    {"planning_smac_win", "gain", "Win rates of battles", "Share of episodes in which no enemy is left.",
     mw_item_win_rates},
    {"own:oracle", "gain", "The true simulator as scorer",
     "The oracle scores the same candidates over the same steps by executing them; where planning adds a "
     "value of "
     "where they lead, so does the oracle, and is then the best world model, not the best judge. The share "
     "of its gain "
     "that planning reaches is given only where the oracle's own gain has an interval above zero.",
     mw_item_oracle},
    {"own:oracle_horizon", "gain", "The oracle over horizons",
     "Return and interval of the true simulator's choice for every horizon. It knows what follows within "
     "the horizon and nothing beyond, but for a value where it is said.",
     mw_item_oracle_horizon},
    {"ablation_all", "controls", "The model's choice against a random one",
     "Same number of candidates, one drawn at random. As in the paper the first difference is between two "
     "choices among candidates that are drawn the same way, on the same episodes; planning may also shift, "
     "weight and judge them in other ways. Intervals are Student's over the seeds' paired means; against "
     "reactive, of paired episodes.",
     mw_item_random},
    {"own:as_drawn", "controls", "Candidates as the policy draws them",
     "The arm paper: no offsets, no warm start, no weighted mean, imagined returns as scores.",
     mw_item_as_drawn},
    {"own:uncertainty", "controls", "How sure the difference to reactive is",
     "Smallest visible: the true difference that these episodes would show four times out of five. Holm: the "
     "difference stands with all settings looked at, 5% in all. Deviations are of the difference, over the "
     "means "
     "of the evaluation seeds and over bundles of further training seeds.",
     mw_item_uncertainty},
    {"own:method_paper", "controls", "The paper's whole method beside ours",
     "Policy, inverse dynamics and world model trained by the paper's settings at compact size (--method "
     "paper), planned as the paper plans.",
     mw_item_method_paper},
    {"gain_conditions_benchmark_heatmap", "quality", "Mean gain by headroom and reliability",
     "Headroom: how far reactive lies below its family's best, as a share of the family's range. "
     "Reliability: "
     "Top-2 of snippets in groups of 8 at H = 8. Split at the medians; the median itself counts as low.",
     mw_item_two_factor_cells},
    {"gain_conditions", "quality", "Headroom and reliability of every setting",
     "Lines are the medians over all settings. The paper's reliabilities are in its figure only; its "
     "headroom "
     "follows from its table.",
     mw_item_two_factor_points},
    {"gain_vs_quality", "quality", "Gain by quality of the data",
     "A task's datasets are ordered by the mean return of their episodes. Tiers pool tasks: first, last, and "
     "all between.",
     mw_item_quality},
    {"own:data", "quality", "Against the data itself",
     "Mean return of the dataset's episodes beside the arms'.", mw_item_data},
    {"score_diag:horizon", "ranking", "Ranking of recorded snippets by horizon",
     "The model is rolled under the recorded actions of snippets, held-out ones unless it is said. Spearman "
     "is of all of them, the "
     "other three of groups of 8. Lines are medians of settings, bands the quartiles.",
     mw_item_horizons},
    {"score_diag:corr", "ranking", "Predicted against realised returns at H = 8",
     "Standardised within each setting; points are some of its snippets, correlations are of all.",
     mw_item_alignment},
    {"calib_all", "ranking", "Calibration of every task at H = 8",
     "Standardised within each setting; points are some of its snippets, correlations are of all. The "
     "paper's "
     "are in its figure only.",
     mw_item_calibration},
    {"boxgrid", "ranking", "Distribution over settings at H = 1, 4, 8",
     "Boxes: quartiles and median; whiskers: the extremes; a point per setting.", mw_item_boxgrid},
    {"same_state_ranking", "ranking", "Candidates of one state",
     "Candidates of one state are scored by the world model, then executed in the restored simulator. Chance "
     "among M: Top-1 1/M, Top-2 2/M, pairs 0.5.",
     mw_item_same_state},
    {"own:snippets_paper", "ranking", "Recorded snippets by the paper's world model",
     "World models trained by the paper's method at compact size and budget, beside mawam's on the same "
     "settings. The plan's H is the horizon that candidates are scored over.",
     mw_item_snippets_paper},
    {"own:longer", "ranking", "The paper's world model, trained for as long as the paper says",
     "By the paper's method with the budget of the study and with its published steps; policy and candidates "
     "are the same, unless it is said. Ours is among its own candidates.",
     mw_item_longer},
    {"rollout_summary", "rollout", "Open-loop error of observations",
     "Mean squared error after exactly so many imagined steps, in squared units of observations. (a) medians "
     "and quartiles of settings; (b) the distribution at H = 8.",
     mw_item_rollout},
    {"routing", "routing", "Experts of agents, and what is lost without one",
     "Affinity: mean combine mass of an agent on an expert. Leave one out: increase of the error without it. "
     "First mawam's world models, then the paper's own structure. The paper's values are in its figure only.",
     mw_item_experts},
    {"hcrwm_context_all30", "routing", "Context against identity",
     "Corrected mutual information of the dominant expert with the transition's context and with the agent; "
     "divergences; effective experts and switching. Beside each the same router before training: what does "
     "not differ from it was not learned.",
     mw_item_context},
    {"own:context_paper", "routing", "Context against identity, in world models by the paper's method",
     "The same of the paper's own structure, at compact size.", mw_item_context_paper},
    {"hcrwm_routing_examples", "routing", "Routing graph against influence graph",
     "How far the experts' routes agree with what agents' actions change. In mawam's world model other "
     "agents "
     "also come with the token and a shared expert has no route, so that routes need not show influence; "
     "three "
     "agents have three pairs, which say little.",
     mw_item_routing_examples},
    {"own:influence", "routing", "Predicted against true influence",
     "One agent's action is exchanged in states of real play: how far do the others' observations move, in "
     "the model and in the restored simulator? Error: mean |predicted - true| over the mean true one; 1 is "
     "what a model that predicts no influence has. Beside each model the same before training.",
     mw_item_influence},
    {"selector_comparison_bars", "selectors", "World model against other selectors",
     "All choose among candidates as the policy draws them, on the same episodes, after as many training "
     "steps as the world model's. Read within a setting. The paper's returns are in its figure only. At "
     "equal "
     "training time: docs/selectors.md.",
     mw_item_selectors},
    {"cost", "cost", "Generation and scoring by number of candidates",
     "Milliseconds for several environments together; the paper's are of four, with K = 3. Ours are networks "
     "of compact size, the paper's proposer has some 66 million weights: rows are alike, not equal.",
     mw_item_cost},
    {"cost_batched", "cost", "Candidates one after another against all at once",
     "Milliseconds for several environments together; the paper's are of four, with M = 8.",
     mw_item_cost_batched},
    {"own:decisions", "cost", "One decision of one environment",
     "Median and 95th percentile, one environment; and what the study's stages took.", mw_item_decisions},
    {"own:sweeps", "cost", "Score against time",
     "Returns and milliseconds for values of single plan settings, on the same episodes; the front has no "
     "other point that is both faster and better.",
     mw_item_sweeps},
    {"plan", "method", "Algorithm: planning", "Pseudocode.", mw_item_algorithm},
    {"policy_train", "method", "Algorithm: training the proposer", "Pseudocode.", mw_item_algorithm},
    {"wm_train", "method", "Algorithm: training the world model", "Pseudocode.", mw_item_algorithm},
    {"moe_arch", "method", "Dispatch, experts and combine", "A drawing.", mw_item_drawing},
    {"wm_notation", "method", "Notation", "A table of symbols.", mw_item_drawing},
    {"mpe_fork", "method", "One state, eight futures",
     "An illustration: a recorded episode and seven that were made worse on purpose.", mw_item_drawing},
    {"forward_keyframes", "method", "Rollouts of eight tasks", "An illustration made of recorded frames.",
     mw_item_drawing},
    {"own:origin", "origin", "Where the numbers come from",
     "Every row is made from one file, <place>/<setting>.json; settings.csv has the numbers of those in "
     "settings in one table, and every table and figure its own behind its link. The paper's figures are its "
     "published ones.",
     mw_item_origin},
};

const mw_chapter *mw_chapter_at(int index) {
    return index >= 0 && index < (int)(sizeof chapters / sizeof *chapters) ? &chapters[index] : NULL;
}

const mw_item *mw_item_at(int index) {
    return index >= 0 && index < MW_ITEMS && index < (int)(sizeof items / sizeof *items) ? &items[index]
                                                                                         : NULL;
}
