/* The paper's world model trained for as long as the paper says, beside the study's budget and ours: does it
 * rank better for it, and does planning? */
#include "eval/statistics.h"
#include "report/page.h"
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Ours learns standardised rewards: its held-out loss is in other units than the paper's, and left out. */
static void ranking_columns(mw_sheet *sheet, const char *group, bool ours) {
    mw_sheet_column(sheet, group, "steps", "of training the world model");
    if (!ours) mw_sheet_column(sheet, group, "held-out reward", "mean squared error of an agent's reward");
    mw_sheet_column(sheet, group, "Spearman", "of snippets at H = 8");
    mw_sheet_column(sheet, group, "n-regret", "of candidates of one state");
}

static void planning_columns(mw_sheet *sheet, const char *group) {
    mw_sheet_column(sheet, group, "reactive", NULL);
    mw_sheet_column(sheet, group, "planning", NULL);
    mw_sheet_column(sheet, group, "difference", "planning - reactive; 95% interval over paired episodes");
    mw_sheet_column(sheet, group, "episodes", "of an arm, of all seeds");
}

static double world_steps(const mw_study_row *row) {
    return mw_json_number(row->summary, "training.rwm.configuration.steps");
}

static void ranking_cells(mw_sheet *sheet, const mw_study_row *row, bool ours) {
    mw_sheet_number(sheet, "%.0f", world_steps(row));
    if (!ours)
        mw_sheet_number(sheet, "%.4g", mw_json_number(row->summary, "training.rwm.details.held.reward"));
    mw_sheet_number(sheet, "%.2f", row->snippets[MW_SNIPPET_SPEARMAN][7]);
    mw_sheet_number(sheet, "%.3f", row->value[MW_COL_STATE_REGRET]);
}

static void planning_cells(mw_sheet *sheet, const mw_study_row *row) {
    const char *format = mw_row_format(row);
    const mw_interval d = mw_row_difference(row, MW_ARM_PLAN, MW_ARM_REACTIVE);
    mw_sheet_number(sheet, format, row->value[MW_COL_REACTIVE]);
    mw_sheet_number(sheet, format, row->value[MW_COL_PLAN]);
    mw_sheet_gain(sheet, mw_row_signed_format(row), d.mean, d.low, d.high);
    mw_sheet_number(sheet, "%.0f", row->value[MW_COL_EVAL_SEEDS] * row->value[MW_COL_EVAL_EPISODES]);
}

/* A setting by the paper's method, its world model trained with the study's budget and longer; ours. */
typedef struct {
    const mw_study_row *brief, *longer, *ours;
    double published; /* regret; NaN: none */
} longer_case;

/* False: not there, or not trained longer: --set rwm.steps rules both. */
static bool longer_at(longer_case *c, const mw_page *page, int i) {
    const mw_paper_state *published = mw_paper_state_find(page->table->rows[i].name);
    *c = (longer_case){&page->sources->branches[MW_BRANCH_PAPER].rows[i],
                       &page->sources->branches[MW_BRANCH_LONGER].rows[i], &page->table->rows[i],
                       published ? published->regret : (double)NAN};
    return c->longer->summary && !(world_steps(c->longer) <= world_steps(c->brief));
}

/* How much of the distance in regret to ours longer training closes: 1 all of it, below 0 it grows; NaN:
 * there is none. */
static double closed(double brief, double longer, double ours) {
    return brief > ours ? (brief - longer) / (brief - ours) : NAN;
}

enum { LONGER_REGRETS = 5 };

/* Regrets of the settings that have all of them: the paper's model briefly and long trained, ours, published;
 * chance among the paper's candidates. */
static void say_longer_regrets(mw_page *page) {
    double regrets[LONGER_REGRETS][MW_TABLE_ROWS], mean[LONGER_REGRETS];
    int n = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        longer_case c;
        if (!longer_at(&c, page, i)) continue;
        const double all[LONGER_REGRETS] = {
            c.brief->value[MW_COL_STATE_REGRET], c.longer->value[MW_COL_STATE_REGRET],
            c.ours->value[MW_COL_STATE_REGRET], c.published, c.longer->value[MW_COL_STATE_RANDOM_REGRET]};
        bool whole = true;
        for (int k = 0; k < LONGER_REGRETS; k++) whole = whole && !isnan(all[k]);
        for (int k = 0; k < LONGER_REGRETS && whole; k++) regrets[k][n] = all[k];
        n += whole;
    }
    if (!n) return;
    for (int k = 0; k < LONGER_REGRETS; k++) mean[k] = mw_mean_of(regrets[k], n);
    mw_page_say(page,
                "Normalised regret in one state, mean of %d setting%s: %.3f after the study's budget, "
                "%.3f after the published steps (a random choice %.3f); ours %.3f, published %.3f.",
                n, n == 1 ? "" : "s", mean[0], mean[1], mean[4], mean[2], mean[3]);
    const double share = closed(mean[0], mean[1], mean[2]);
    if (isnan(share))
        mw_page_say(page, "There is no distance to ours: it is no larger after the study's budget already.");
    else if (share < 0)
        mw_page_say(page, "Longer training does not close the distance to ours: the regret grows.");
    else if (share >= 1)
        mw_page_say(page, "Longer training closes the whole distance to ours.");
    else
        mw_page_say(page, "Longer training closes %.0f%% of the distance to ours.", 100 * share);
}

/* The same policy has played the same episodes: what differs is the world model's doing. */
static bool same_play(const longer_case *c) {
    static const char *const played[] = {"eval.first_seed", "eval.seeds", "eval.episodes"};
    for (size_t k = 0; k < sizeof played / sizeof *played; k++)
        if (mw_json_number(c->brief->summary, played[k]) != mw_json_number(c->longer->summary, played[k]))
            return false;
    for (int s = 0; s < MW_TABLE_SEEDS; s++) {
        const double a = c->brief->seeds[MW_ARM_REACTIVE][s], b = c->longer->seeds[MW_ARM_REACTIVE][s];
        if (isnan(a) || isnan(b)) return s > 0 && isnan(a) && isnan(b);
        if (a != b) return false;
    }
    return true;
}

/* Planning by the one minus planning by the other, with Student's interval of the seeds' paired means. */
static mw_interval longer_gain(const longer_case *c) {
    double pairs[MW_TABLE_SEEDS];
    int n = 0;
    if (!same_play(c)) return (mw_interval){NAN, NAN, NAN};
    for (; n < MW_TABLE_SEEDS && !isnan(c->longer->seeds[MW_ARM_PLAN][n]); n++)
        pairs[n] = c->longer->seeds[MW_ARM_PLAN][n] - c->brief->seeds[MW_ARM_PLAN][n];
    const double mean = mw_mean_of(pairs, n), half = mw_student(n - 1) * mw_std(pairs, n) / sqrt(n);
    return (mw_interval){mean, mean - half, mean + half};
}

static void say_longer_gains(mw_page *page) {
    int n = 0, more = 0, clear_more = 0, clear_less = 0;
    char others[256] = "";
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        longer_case c;
        if (!longer_at(&c, page, i) || isnan(c.longer->value[MW_COL_PLAN] + c.brief->value[MW_COL_PLAN]))
            continue;
        const mw_interval d = longer_gain(&c);
        const size_t used = strlen(others);
        if (isnan(d.mean))
            snprintf(others + used, sizeof others - used, "%s%s", used ? ", " : "", c.ours->name);
        n += !isnan(d.mean);
        more += d.mean > 0;
        clear_more += d.low > 0;
        clear_less += d.high < 0;
    }
    if (n)
        mw_page_say(
            page,
            "With the same policy on the same episodes, planning returns more after the published steps "
            "than after the study's budget in %d of %d setting%s: clearly more in %d, clearly less in %d.",
            more, n, n == 1 ? "" : "s", clear_more, clear_less);
    if (others[0])
        mw_page_say(page,
                    "The policy or the episodes are not the same, so that planning cannot be compared: %s.",
                    others);
}

static const char brief_group[] = "paper's, study's budget", longer_group[] = "paper's, published steps";

static void ranking_table(mw_page *page) {
    mw_sheet *sheet = mw_page_settings_sheet();
    longer_case c;
    ranking_columns(sheet, brief_group, false);
    ranking_columns(sheet, longer_group, false);
    ranking_columns(sheet, "mawam's", true);
    mw_sheet_column(sheet, "published", "n-regret", NULL);
    mw_sheet_column(sheet, "longer training", "closed, %", "of the distance of the n-regret to mawam's");
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const bool told = longer_at(&c, page, i);
        if (!c.longer->summary) continue;
        mw_sheet_row(sheet, c.longer->name, NULL);
        ranking_cells(sheet, c.brief, false);
        ranking_cells(sheet, c.longer, false);
        ranking_cells(sheet, c.ours, true);
        mw_sheet_number(sheet, "%.3f", c.published);
        mw_sheet_number(sheet, "%.0f",
                        told ? 100 * closed(c.brief->value[MW_COL_STATE_REGRET],
                                            c.longer->value[MW_COL_STATE_REGRET],
                                            c.ours->value[MW_COL_STATE_REGRET])
                             : NAN);
    }
    mw_page_table(page, sheet, "Ranking");
}

static void planning_table(mw_page *page) {
    mw_sheet *sheet = mw_page_settings_sheet();
    longer_case c;
    planning_columns(sheet, brief_group);
    planning_columns(sheet, longer_group);
    planning_columns(sheet, "mawam's");
    mw_sheet_column(sheet, "longer training", "planning",
                    "what it adds to it: 95% interval over the seeds' paired means");
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const bool told = longer_at(&c, page, i);
        if (!c.longer->summary) continue;
        const mw_interval d = told ? longer_gain(&c) : (mw_interval){NAN, NAN, NAN};
        mw_sheet_row(sheet, c.longer->name, NULL);
        planning_cells(sheet, c.brief);
        planning_cells(sheet, c.longer);
        planning_cells(sheet, c.ours);
        mw_sheet_gain(sheet, mw_row_signed_format(c.longer), d.mean, d.low, d.high);
    }
    mw_page_table(page, sheet, "Planning");
}

void mw_item_longer(mw_page *page) {
    const mw_study_table *longer = &page->sources->branches[MW_BRANCH_LONGER];
    int ranked = 0, trained = 0;
    longer_case c;
    if (!longer->present) {
        mw_page_missing(page, "no world model was trained for the published steps",
                        "mawam study run --parts main,paper,longer --resume; mawam study report --dir study");
        return;
    }
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const bool theirs = mw_paper_state_find(page->table->rows[i].name);
        ranked += theirs;
        trained += longer_at(&c, page, i) && theirs;
    }
    mw_page_say(page,
                "Trained longer: %d of the %d settings in which the paper ranks candidates of one state.",
                trained, ranked);
    say_longer_regrets(page);
    say_longer_gains(page);
    ranking_table(page);
    planning_table(page);
}
