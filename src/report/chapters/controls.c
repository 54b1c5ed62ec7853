/* The chapters on controls and main results: the choice against chance, candidates as drawn, the paper's own
 * method beside ours, and all of it against published baselines. */
#include "report/page.h"
#include "report/report.h"

#include <math.h>
#include <string.h>

/* ---- main results ---- */

/* The best of a row's published numbers is strong. */
static void baseline_cells(mw_sheet *sheet, const mw_study_row *row, const mw_paper_methods *methods) {
    double best = -INFINITY;
    for (int m = 0; m < methods->count; m++) best = fmax(best, mw_paper_result(row->name, m).mean);
    for (int m = methods->count - 1; m >= 0; m--) {
        const mw_paper_number x = mw_paper_result(row->name, m);
        mw_sheet_spread(sheet, mw_row_format(row), x.mean, x.std);
        if (x.mean == best) mw_sheet_strong(sheet);
    }
}

/* Where the setting has played an arm without candidates: among the baselines or the study's own arms. */
static const mw_study_row *played_in(const mw_sources *s, int setting, int arm) {
    const mw_study_row *row = &s->baselines.rows[setting];
    return isnan(row->value[MW_COL_OF(arm, MW_FIELD_REPORTED)]) ? &s->table.rows[setting] : row;
}

/* Arms that play without candidates, as far as a setting of the family has played them. */
static int players_of(const mw_sources *s, const char *family, int players[MW_ARMS]) {
    mw_arm arm;
    int n = 0;
    for (int a = 0; mw_arm_at(a, &arm); a++) {
        bool played = false;
        for (int i = 0; i < MW_TABLE_ROWS; i++)
            played = played || (!strcmp(s->table.rows[i].family, family) &&
                                !isnan(played_in(s, i, a)->value[MW_COL_OF(a, MW_FIELD_REPORTED)]));
        if (played && !arm.plans) players[n++] = a;
    }
    return n;
}

static void arm_cell(mw_sheet *sheet, const mw_study_row *row, int arm) {
    mw_sheet_spread(sheet, mw_row_format(row), row->value[MW_COL_OF(arm, MW_FIELD_REPORTED)],
                    row->value[MW_COL_OF(arm, MW_FIELD_REPORTED_STD)]);
}

/* Ours first: it is what must not be scrolled to. */
static void family_results(mw_page *page, const char *family) {
    const mw_paper_methods *methods = mw_paper_methods_of(family);
    int players[MW_ARMS];
    const int others = players_of(page->sources, family, players);
    const mw_study_table *by_paper = &page->sources->branches[MW_BRANCH_PAPER];
    mw_sheet *sheet = mw_page_settings_sheet();
    mw_sheet_column(sheet, "mawam", "planning", NULL);
    mw_sheet_column(sheet, "mawam", "reactive", NULL);
    mw_sheet_column(sheet, "mawam", "data", "mean of our dataset's episodes");
    mw_sheet_column(sheet, "mawam", "K", "sampling steps");
    if (by_paper->present)
        mw_sheet_column(sheet, "mawam", "paper's method",
                        "trained and planned by --method paper, at compact size");
    for (int k = 0; k < others; k++) {
        mw_arm arm;
        mw_arm_at(players[k], &arm);
        mw_sheet_column(sheet, "mawam", arm.name, arm.help);
    }
    for (int m = methods->count - 1; m >= 0; m--)
        mw_sheet_column(sheet, "published", methods->names[m], NULL);
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &page->table->rows[i];
        if (strcmp(row->family, family)) continue;
        mw_sheet_row(sheet, row->name, NULL);
        arm_cell(sheet, row, MW_ARM_PLAN);
        arm_cell(sheet, row, MW_ARM_REACTIVE);
        mw_sheet_number(sheet, mw_row_format(row), row->value[MW_COL_DATA]);
        mw_sheet_number(sheet, "%.0f", row->value[MW_COL_EVAL_K]);
        if (by_paper->present) arm_cell(sheet, &by_paper->rows[i], MW_ARM_PLAN);
        for (int k = 0; k < others; k++) arm_cell(sheet, played_in(page->sources, i, players[k]), players[k]);
        baseline_cells(sheet, row, methods);
    }
    mw_page_table(page, sheet, mw_report_family_title(family));
}

/* How often planning has a larger mean than every baseline that was trained and played here. */
static void say_baselines(mw_page *page) {
    const mw_study_table *t = &page->sources->baselines;
    int compared = 0, above = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const double plan = page->table->rows[i].value[MW_COL_PLAN];
        double most = -INFINITY;
        mw_arm arm;
        for (int a = 0; mw_arm_at(a, &arm); a++) /* fmax passes over a NaN */
            if (!arm.plans) most = fmax(most, t->rows[i].value[MW_COL_OF(a, MW_FIELD_REPORTED)]);
        const double *v = page->table->rows[i].value, *theirs = t->rows[i].value;
        if (isnan(plan) || isinf(most) || fabs(v[MW_COL_EVAL_SEEDS] - theirs[MW_COL_EVAL_SEEDS]) > 0 ||
            fabs(v[MW_COL_EVAL_EPISODES] - theirs[MW_COL_EVAL_EPISODES]) > 0)
            continue; /* not on the same episodes, as far as files tell */
        compared++;
        above += plan > most;
    }
    if (compared)
        mw_page_say(page, "It lies above every baseline that was trained here in %d of %d setting%s.", above,
                    compared, mw_plural(compared));
}

/* Which revision of mawam trained and played which of them. */
static void say_makers(mw_page *page) {
    const char *revision, *place;
    json_t *places, *files;
    json_object_foreach(page->sources->revisions, revision, places) {
        char made[512] = "";
        json_object_foreach(places, place, files) {
            const size_t used = strlen(made);
            if (!strncmp(place, MW_BASELINES_FOLDER "/", sizeof MW_BASELINES_FOLDER))
                snprintf(made + used, sizeof made - used, "%s%s", used ? ", " : "",
                         place + sizeof MW_BASELINES_FOLDER);
        }
        if (made[0]) mw_page_say(page, "Revision %.60s of mawam trained and played %s.", revision, made);
    }
}

void mw_item_main_results(mw_page *page) {
    int best = 0, second = 0, first = 0, compared = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &page->table->rows[i];
        const mw_paper_methods *methods = mw_paper_methods_of(row->family);
        const double own = mw_paper_result(row->name, methods->count - 1).mean;
        double most = own;
        int above = 0;
        for (int m = 0; m + 1 < methods->count; m++) {
            const double other = mw_paper_result(row->name, m).mean;
            most = fmax(most, other);
            above += other > own;
        }
        best += above == 0;
        second += above == 1;
        if (isnan(row->value[MW_COL_PLAN])) continue;
        compared++;
        first += row->value[MW_COL_PLAN] > fmax(most, own);
    }
    mw_page_say(page,
                "The paper's method has the largest published mean in %d of %d settings and the second "
                "largest in %d.",
                best, MW_TABLE_ROWS, second);
    if (compared)
        mw_page_say(page, "Our planning lies above every published number in %d of %d setting%s.", first,
                    compared, mw_plural(compared));
    say_baselines(page);
    say_makers(page);
    for (int f = 0; f < 3; f++) family_results(page, mw_family_at(f)->name);
}

/* ---- chance ---- */

/* What decides in planning, counted over settings. */
static void say_judges(mw_page *page) {
    static const char *const names[] = {"the imagined return alone", "an imagined step and a value",
                                        "the imagined return and the advantage", "the imagined return and Q",
                                        "the advantage alone"};
    enum { NAMES = sizeof names / sizeof *names };
    int counts[NAMES] = {0};
    char text[320] = "";
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &page->table->rows[i];
        if (!strcmp(row->scorer, "advantage"))
            counts[4]++;
        else if (!strcmp(row->scorer, "q_mixture"))
            counts[3]++;
        else if (!strcmp(row->scorer, "mixture"))
            counts[2]++;
        else if (row->scorer[0])
            counts[row->value[MW_COL_EVAL_VALUE_AFTER] > 0]++;
    }
    for (int k = 0; k < NAMES; k++) {
        const size_t used = strlen(text);
        if (counts[k])
            snprintf(text + used, sizeof text - used, "%s%s in %d setting%s", used ? ", by " : "", names[k],
                     counts[k], mw_plural(counts[k]));
    }
    if (text[0]) mw_page_say(page, "Planning judges by %s.", text);
}

static void say_against_random(mw_page *page, const char *who, const mw_comparison *c) {
    char text[160];
    mw_page_say(page, "%s is better than a random choice in %s; median %+.1f%%, mean %+.1f%%, p = %.3g.", who,
                mw_comparison_text(text, c), 100 * c->median, 100 * c->relative, c->p);
}

/* The paper's table isolates ranking: both arms have the same candidates. Here that is the arm paper;
 * planning may also shift and mix its candidates. */
void mw_item_random(mw_page *page) {
    const mw_paper_gains *p = mw_paper_gains_of(NULL);
    const mw_comparison ranking = mw_table_compare_arms(page->table, NULL, MW_ARM_PAPER, MW_ARM_RANDOM),
                        planning = mw_table_compare_arms(page->table, NULL, MW_ARM_PLAN, MW_ARM_RANDOM);
    if (ranking.count)
        say_against_random(page, "Among the same candidates, as drawn, the world model's choice", &ranking);
    mw_page_say(page, "Paper: %d of %d, mean %+.1f%%, p = %.3g.", p->random_improved, p->count,
                100 * p->random_relative, mw_sign_test(p->random_improved, p->count - p->random_improved));
    if (planning.count) say_against_random(page, "All that planning does", &planning);
    say_judges(page);
    mw_sheet *sheet = mw_page_settings_sheet();
    mw_sheet_column(sheet, "mawam", "random", "any of M candidates as the policy draws them");
    mw_sheet_column(sheet, "mawam", "RWM", "the best of them by the imagined return");
    mw_sheet_column(sheet, "mawam", "difference", "ranking alone; 95% interval over the seeds' paired means");
    mw_sheet_column(sheet, "mawam", "relative, %", "RWM over random");
    mw_sheet_column(sheet, "mawam", "planning", "with whatever the task's plan adds");
    mw_sheet_column(sheet, "mawam", "planning - random", "95% interval over the seeds' paired means");
    mw_sheet_column(sheet, "mawam", "random - reactive", "0 in expectation; 95% interval over episodes");
    mw_sheet_column(sheet, "paper", "random", NULL);
    mw_sheet_column(sheet, "paper", "RWM", NULL);
    mw_sheet_column(sheet, "paper", "difference", "as printed");
    mw_sheet_column(sheet, "paper", "relative, %", NULL);
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &page->table->rows[i];
        const double *v = row->value;
        const char *format = mw_row_format(row), *with_sign = mw_row_signed_format(row);
        const mw_interval ranked = mw_row_difference(row, MW_ARM_PAPER, MW_ARM_RANDOM),
                          planned = mw_row_difference(row, MW_ARM_PLAN, MW_ARM_RANDOM),
                          drawn = mw_row_difference(row, MW_ARM_RANDOM, MW_ARM_REACTIVE);
        mw_page_setting(page, sheet, row);
        mw_sheet_spread(sheet, format, v[MW_COL_RANDOM], v[MW_COL_OF(MW_ARM_RANDOM, MW_FIELD_REPORTED_STD)]);
        mw_sheet_spread(sheet, format, v[MW_COL_PAPER], v[MW_COL_OF(MW_ARM_PAPER, MW_FIELD_REPORTED_STD)]);
        mw_sheet_gain(sheet, with_sign, ranked.mean, ranked.low, ranked.high);
        mw_sheet_gain(sheet, "%+.1f", 100 * v[MW_COL_RANKING], NAN, NAN);
        mw_sheet_spread(sheet, format, v[MW_COL_PLAN], v[MW_COL_OF(MW_ARM_PLAN, MW_FIELD_REPORTED_STD)]);
        mw_sheet_gain(sheet, with_sign, planned.mean, planned.low, planned.high);
        mw_sheet_gain(sheet, with_sign, drawn.mean, drawn.low, drawn.high);
        mw_sheet_number(sheet, format, v[MW_COL_PUBLISHED_RANDOM]);
        mw_sheet_number(sheet, format, v[MW_COL_PUBLISHED_PLAN]);
        mw_sheet_gain(sheet, with_sign, v[MW_COL_PUBLISHED_DELTA_RANDOM], NAN, NAN);
        mw_sheet_gain(sheet, "%+.1f", 100 * v[MW_COL_PUBLISHED_RELATIVE_RANDOM], NAN, NAN);
    }
    mw_page_table(page, sheet, NULL);
}

/* ---- candidates as drawn, and every other arm ---- */

void mw_item_as_drawn(mw_page *page) {
    char text[160];
    const mw_comparison c = mw_table_compare_arms(page->table, NULL, MW_ARM_PAPER, MW_ARM_REACTIVE);
    if (!c.count) {
        mw_page_missing(page, "no summary has the arm paper", "mawam study run --dir study --resume");
        return;
    }
    mw_page_say(page,
                "Among candidates as drawn the world model's choice is better than reactive in %s, median "
                "%+.1f%%.",
                mw_comparison_text(text, &c), 100 * c.median);
    mw_sheet *sheet = mw_page_settings_sheet();
    int played[MW_ARMS] = {0};
    for (int a = 0; mw_arm_name(a); a++) {
        for (int i = 0; i < MW_TABLE_ROWS; i++)
            played[a] += !isnan(page->table->rows[i].value[MW_COL_OF(a, MW_FIELD_REPORTED)]);
        if (played[a]) mw_sheet_column(sheet, NULL, mw_arm_name(a), NULL);
    }
    mw_sheet_column(sheet, NULL, "paper - reactive", "95% interval over paired episodes");
    mw_sheet_column(sheet, NULL, "paper - plan", "95% interval over the seeds' paired means");
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &page->table->rows[i];
        const mw_interval d = mw_row_difference(row, MW_ARM_PAPER, MW_ARM_REACTIVE),
                          e = mw_row_difference(row, MW_ARM_PAPER, MW_ARM_PLAN);
        mw_page_setting(page, sheet, row);
        for (int a = 0; mw_arm_name(a); a++)
            if (played[a])
                mw_sheet_spread(sheet, mw_row_format(row), row->value[MW_COL_OF(a, MW_FIELD_REPORTED)],
                                row->value[MW_COL_OF(a, MW_FIELD_REPORTED_STD)]);
        mw_sheet_gain(sheet, mw_row_signed_format(row), d.mean, d.low, d.high);
        mw_sheet_gain(sheet, mw_row_signed_format(row), e.mean, e.low, e.high);
    }
    mw_page_table(page, sheet, NULL);
}

/* ---- the paper's method ---- */

void mw_item_method_paper(mw_page *page) {
    static const char regret[] = "normalised regret among candidates of one state, as each method draws them";
    const mw_study_table *method = &page->sources->branches[MW_BRANCH_PAPER];
    char text[160];
    if (!method->present) {
        mw_page_missing(page, "no study by the paper's method",
                        "mawam study run --parts main,paper --resume; mawam study report --dir study");
        return;
    }
    const mw_comparison c = mw_table_compare_arms(method, NULL, MW_ARM_PLAN, MW_ARM_REACTIVE);
    if (c.count)
        mw_page_say(
            page,
            "By the paper's method planning is better than its reactive policy in %s; median %+.1f%%, "
            "mean %+.1f%%, p = %.3g.",
            mw_comparison_text(text, &c), 100 * c.median, 100 * c.relative, c.p);
    mw_sheet *sheet = mw_page_settings_sheet();
    mw_sheet_column(sheet, "paper's method", "reactive", NULL);
    mw_sheet_column(sheet, "paper's method", "random", NULL);
    mw_sheet_column(sheet, "paper's method", "planning", NULL);
    mw_sheet_column(sheet, "paper's method", "difference", "95% interval over paired episodes");
    mw_sheet_column(sheet, "paper's method", "oracle", "its candidates, judged by the true simulator");
    mw_sheet_column(sheet, "paper's method", "n-regret", regret);
    mw_sheet_column(sheet, "paper's method", "episodes", "of an arm, of all seeds");
    mw_sheet_column(sheet, "mawam's method", "reactive", NULL);
    mw_sheet_column(sheet, "mawam's method", "planning", NULL);
    mw_sheet_column(sheet, "mawam's method", "n-regret", regret);
    mw_sheet_column(sheet, "published", "reactive", NULL);
    mw_sheet_column(sheet, "published", "planning", NULL);
    mw_sheet_column(sheet, "published", "n-regret", regret);
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &method->rows[i], *ours = &page->table->rows[i];
        const mw_interval d = mw_row_difference(row, MW_ARM_PLAN, MW_ARM_REACTIVE);
        const char *format = mw_row_format(row);
        if (!row->summary) continue;
        mw_sheet_row(sheet, row->name, NULL);
        for (int a = 0; a <= MW_ARM_PLAN; a++)
            mw_sheet_spread(sheet, format, row->value[MW_COL_OF(a, MW_FIELD_REPORTED)],
                            row->value[MW_COL_OF(a, MW_FIELD_REPORTED_STD)]);
        mw_sheet_gain(sheet, mw_row_signed_format(row), d.mean, d.low, d.high);
        mw_sheet_number(sheet, format, row->value[MW_COL_ORACLE]);
        mw_sheet_number(sheet, "%.3f", row->value[MW_COL_STATE_REGRET]);
        mw_sheet_number(sheet, "%.0f", row->value[MW_COL_EVAL_SEEDS] * row->value[MW_COL_EVAL_EPISODES]);
        mw_sheet_number(sheet, format, ours->value[MW_COL_REACTIVE]);
        mw_sheet_number(sheet, format, ours->value[MW_COL_PLAN]);
        mw_sheet_number(sheet, "%.3f", ours->value[MW_COL_STATE_REGRET]);
        mw_sheet_number(sheet, format, row->value[MW_COL_PUBLISHED_REACTIVE]);
        mw_sheet_number(sheet, format, row->value[MW_COL_PUBLISHED_PLAN]);
        const mw_paper_state *state = mw_paper_state_find(row->name);
        mw_sheet_number(sheet, "%.3f", state ? state->regret : (double)NAN);
    }
    mw_page_table(page, sheet, NULL);
}
