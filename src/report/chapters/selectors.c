/* The chapter on selectors: every model that judges candidates, on the same candidates and episodes, between
 * a random choice and the true simulator. */
#include "report/page.h"
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_SELECTORS = MW_ARMS };

/* In any setting. */
static bool was_played(const mw_study_table *t, int arm) {
    double x[MW_TABLE_ROWS];
    return mw_table_collect(t, NULL, MW_COL_OF(arm, MW_FIELD_REPORTED), x) > 0;
}

/* Arms that let a model judge candidates as drawn, the world model first, as far as any setting has played
 * them. */
static int selectors_of(const mw_study_table *t, int arms[MOST_SELECTORS]) {
    int n = 0;
    mw_arm arm;
    for (int a = MW_ARM_PAPER; mw_arm_at(a, &arm); a++) {
        if (strncmp(arm.settings, "scorer=", 7) || !strncmp(arm.settings, "scorer=oracle", 13)) continue;
        if (was_played(t, a)) arms[n++] = a;
    }
    return n;
}

static const char *title_of(int arm) {
    return arm == MW_ARM_PAPER ? "RWM" : mw_arm_name(arm);
}

/* A setting takes part if the world model and another selector have played it. */
static bool takes_part(const mw_study_row *row, const int *arms, int count) {
    int others = 0;
    for (int k = 1; k < count; k++) others += !isnan(row->value[MW_COL_OF(arms[k], MW_FIELD_REPORTED)]);
    return others && !isnan(row->value[MW_COL_PAPER]);
}

static mw_selection selection_of(const mw_study_row *row, const int *arms, int count) {
    double means[MOST_SELECTORS];
    for (int k = 0; k < count; k++) means[k] = row->value[MW_COL_OF(arms[k], MW_FIELD_REPORTED)];
    return mw_select(means, count);
}

static mw_sheet *selector_sheet(const mw_study_table *t, const int *arms, int count) {
    static const int lines[] = {MW_ARM_REACTIVE, MW_ARM_RANDOM, MW_ARM_CEILING, MW_ARM_ORACLE};
    enum { LINES = sizeof lines / sizeof *lines };
    mw_sheet *sheet = mw_page_settings_sheet();
    mw_sheet_column(sheet, NULL, "episodes", "of an arm, of all seeds");
    for (int k = 0; k < LINES; k++)
        if (was_played(t, lines[k]))
            mw_sheet_column(sheet, "lines", mw_arm_name(lines[k]),
                            lines[k] == MW_ARM_ORACLE ? "of the candidates and steps of the task's own plan"
                            : lines[k] == MW_ARM_CEILING
                                ? "the true simulator's choice among the same candidates"
                                : NULL);
    for (int k = 0; k < count; k++) mw_sheet_column(sheet, "selectors", title_of(arms[k]), NULL);
    mw_sheet_column(sheet, NULL, "best", NULL);
    mw_sheet_column(sheet, NULL, "strongest other", "than RWM");
    mw_sheet_column(sheet, NULL, "RWM - it", "95% interval over the seeds' paired means");
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &t->rows[i];
        if (!takes_part(row, arms, count)) continue;
        const mw_selection s = selection_of(row, arms, count);
        const mw_interval d = mw_row_difference(row, MW_ARM_PAPER, arms[s.alternative]);
        mw_sheet_row(sheet, row->name, NULL);
        mw_sheet_number(sheet, "%.0f", row->value[MW_COL_EVAL_SEEDS] * row->value[MW_COL_EVAL_EPISODES]);
        for (int k = 0; k < LINES; k++)
            if (was_played(t, lines[k]))
                mw_sheet_number(sheet, mw_row_format(row),
                                row->value[MW_COL_OF(lines[k], MW_FIELD_REPORTED)]);
        for (int k = 0; k < count; k++) {
            mw_sheet_spread(sheet, mw_row_format(row), row->value[MW_COL_OF(arms[k], MW_FIELD_REPORTED)],
                            row->value[MW_COL_OF(arms[k], MW_FIELD_REPORTED_STD)]);
            if (k == s.best) mw_sheet_strong(sheet);
        }
        mw_sheet_text(sheet, "%s", title_of(arms[s.best]));
        mw_sheet_text(sheet, "%s", title_of(arms[s.alternative]));
        mw_sheet_gain(sheet, mw_row_signed_format(row), d.mean, d.low, d.high);
    }
    return sheet;
}

static double regret_of(const mw_study_row *row, int arm) {
    char path[96];
    snprintf(path, sizeof path, "same_state.scorers.%.40s.normalized_regret",
             arm == MW_ARM_PAPER ? "rwm" : mw_arm_name(arm));
    return mw_json_number(row->summary, path);
}

/* Seconds are of a whole training, not of a part of it: only steps are each selector's own. */
static double training_steps_of(const mw_study_row *row, int arm) {
    static const char *const places[] = {"study.inputs.settings.%.40s.steps",
                                         "training.%.40s.configuration.steps"};
    double steps = NAN;
    for (size_t i = 0; i < 2 && isnan(steps); i++) {
        char path[96];
        snprintf(path, sizeof path, places[i], arm == MW_ARM_PAPER ? "rwm" : mw_arm_name(arm)); // NOLINT
        steps = mw_json_number(row->summary, path);
    }
    return steps;
}

/* What each costs and how well it ranks, by setting; steps only where the files have them. */
static mw_sheet *ranking_sheet(const mw_study_table *t, const int *arms, int count) {
    mw_sheet *sheet = mw_page_settings_sheet();
    bool trained = false;
    for (int i = 0; i < MW_TABLE_ROWS; i++)
        trained = trained || !isnan(training_steps_of(&t->rows[i], MW_ARM_PAPER));
    mw_sheet_column(sheet, "same-state n-regret", "chance", NULL);
    for (int k = 0; k < count; k++) mw_sheet_column(sheet, "same-state n-regret", title_of(arms[k]), NULL);
    for (int k = 0; k < count; k++) mw_sheet_column(sheet, "scoring, ms", title_of(arms[k]), NULL);
    for (int k = 0; k < count && trained; k++)
        mw_sheet_column(sheet, "training, steps", title_of(arms[k]), NULL);
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &t->rows[i];
        if (!takes_part(row, arms, count)) continue;
        mw_sheet_row(sheet, row->name, NULL);
        mw_sheet_number(sheet, "%.3f", row->value[MW_COL_STATE_RANDOM_REGRET]);
        for (int k = 0; k < count; k++) mw_sheet_number(sheet, "%.3f", regret_of(row, arms[k]));
        for (int k = 0; k < count; k++)
            mw_sheet_number(sheet, "%.2f", row->value[MW_COL_OF(arms[k], MW_FIELD_MS_SCORING)]);
        for (int k = 0; k < count && trained; k++)
            mw_sheet_number(sheet, "%.0f", training_steps_of(row, arms[k]));
    }
    return sheet;
}

/* How often each is best or the strongest other, beside the paper's counts. */
static mw_sheet *count_sheet(const mw_study_table *t, const int *arms, int count) {
    const mw_paper_selectors *p = mw_paper_selector_counts();
    mw_sheet *sheet = mw_sheet_create();
    mw_sheet_column(sheet, NULL, "selector", NULL);
    mw_sheet_column(sheet, "mawam", "best", "settings in which its mean is the largest");
    mw_sheet_column(sheet, "mawam", "strongest other", NULL);
    mw_sheet_column(sheet, "mawam", "RWM above / below it", "settings; clear: interval without zero");
    mw_sheet_column(sheet, "mawam", "scoring, ms", "median over settings, one environment");
    mw_sheet_column(sheet, "same-state n-regret", "median", "over settings");
    mw_sheet_column(sheet, "same-state n-regret", "mean", "over settings");
    mw_sheet_column(sheet, "paper", "best", NULL);
    mw_sheet_column(sheet, "paper", "strongest other", NULL);
    for (int k = 0; k < count; k++) {
        double ms[MW_TABLE_ROWS], regret[MW_TABLE_ROWS], theirs = NAN;
        int best = 0, other = 0;
        const mw_comparison c = mw_table_compare_arms(t, NULL, MW_ARM_PAPER, arms[k]);
        for (int i = 0; i < MW_TABLE_ROWS; i++) {
            const mw_study_row *row = &t->rows[i];
            ms[i] = regret[i] = NAN;
            if (!takes_part(row, arms, count)) continue;
            ms[i] = row->value[MW_COL_OF(arms[k], MW_FIELD_MS_SCORING)];
            regret[i] = regret_of(row, arms[k]);
            const mw_selection s = selection_of(row, arms, count);
            best += s.best == k;
            other += s.alternative == k;
        }
        for (int m = 0; m < 4; m++)
            if (!strcmp(p->names[m], mw_arm_name(arms[k]))) theirs = p->alternative[m];
        mw_sheet_row(sheet, title_of(arms[k]), NULL);
        mw_sheet_number(sheet, "%.0f", best);
        mw_sheet_number(sheet, "%.0f", k ? other : (double)NAN);
        mw_sheet_text(sheet, k ? "%d / %d, clear %d / %d" : "-", c.wins, c.losses, c.clear_wins,
                      c.clear_losses);
        mw_sheet_number(sheet, "%.2f", mw_median_of(ms, MW_TABLE_ROWS));
        mw_sheet_number(sheet, "%.3f", mw_median_of(regret, MW_TABLE_ROWS));
        mw_sheet_number(sheet, "%.3f", mw_mean_of(regret, MW_TABLE_ROWS));
        mw_sheet_number(sheet, "%.0f", k ? p->settings - p->rwm_best : p->rwm_best);
        mw_sheet_number(sheet, "%.0f", theirs);
    }
    return sheet;
}

/* In a folder of their own, or among the arms of the study. */
static const mw_study_table *table_of(const mw_sources *sources) {
    const mw_study_table *own = &sources->selectors;
    return own->present ? own : &sources->table;
}

mw_selector_counts mw_selectors_count(const mw_sources *sources) {
    const mw_study_table *t = table_of(sources);
    mw_selector_counts found = {0};
    int arms[MOST_SELECTORS];
    const int count = selectors_of(t, arms);
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        if (count < 2 || arms[0] != MW_ARM_PAPER || !takes_part(&t->rows[i], arms, count)) continue;
        const mw_selection s = selection_of(&t->rows[i], arms, count);
        const mw_interval d = mw_row_difference(&t->rows[i], MW_ARM_PAPER, arms[s.alternative]);
        found.settings++;
        found.best += s.best == 0;
        found.clear_wins += d.low > 0;
        found.clear_losses += d.high < 0;
    }
    return found;
}

void mw_item_selectors(mw_page *page) {
    const mw_study_table *t = table_of(page->sources);
    int arms[MOST_SELECTORS];
    const int count = selectors_of(t, arms);
    const mw_selector_counts found = mw_selectors_count(page->sources);
    const mw_paper_selectors *p = mw_paper_selector_counts();
    if (!found.settings) {
        mw_page_missing(page, "no evaluation of selectors beside the world model",
                        "mawam study run --parts main,selectors --resume");
        mw_page_say(page, "Paper: the world model has the largest mean in %d of %d settings.", p->rwm_best,
                    p->settings);
        return;
    }
    mw_page_say(
        page,
        "The world model has the largest mean in %d of %d setting%s; its difference to the strongest "
        "other has an interval above zero in %d and below zero in %d (that one is picked on these same "
        "episodes, which favours it). Paper: largest in %d of %d.",
        found.best, found.settings, mw_plural(found.settings), found.clear_wins, found.clear_losses,
        p->rwm_best, p->settings);
    if (found.settings < p->settings)
        mw_page_say(page, "The paper compares %d more: mawam study run --parts main,selectors.",
                    p->settings - found.settings);
    mw_page_table(page, count_sheet(t, arms, count), NULL);
    mw_page_figure_begin(page, "Mean and std over seeds");
    const char *titles[MOST_SELECTORS];
    bool taking[MW_TABLE_ROWS];
    for (int k = 0; k < count; k++) titles[k] = title_of(arms[k]);
    for (int i = 0; i < MW_TABLE_ROWS; i++) taking[i] = takes_part(&t->rows[i], arms, count);
    for (int f = 0; f < 3; f++) mw_page_arm_bars(page, t, mw_family_at(f)->name, taking, arms, titles, count);
    mw_page_figure_end(page, selector_sheet(t, arms, count));
    mw_page_table(page, selector_sheet(t, arms, count), NULL);
    mw_page_table(page, ranking_sheet(t, arms, count), "How well they rank one state, and what that takes");
}
