/* The report as one page that needs nothing else: no network, no script; light and dark. Every number comes
 * from the table, every word from a file is escaped. */
#include "report/report_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void mw_page_escape(FILE *out, const char *text) {
    for (; *text; text++) switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        case '\'':
            fputs("&#39;", out);
            break;
        default:
            fputc(*text, out);
        }
}

/* ---- cells ---- */

static void number(FILE *out, const char *format, double value) {
    char text[64];
    if (isnan(value)) {
        fputs("&ndash;", out);
        return;
    }
    snprintf(text, sizeof text, format, value); // NOLINT: formats are this file's own
    if (text[0] == '-' && strtod(text, NULL) == 0) snprintf(text, sizeof text, format, 0.0);
    fputs(text, out);
}

static void td(FILE *out, const char *format, double value) {
    fputs("<td>", out);
    number(out, format, value);
    fputs("</td>", out);
}

/* The first of a group of columns. */
static void td_from(FILE *out, const char *format, double value) {
    fputs("<td class='from'>", out);
    number(out, format, value);
    fputs("</td>", out);
}

static void td_gain(FILE *out, const char *format, double value) {
    fprintf(out, "<td class='%s'>", value > 0 ? "up" : value < 0 ? "down" : "");
    number(out, format, value);
    fputs("</td>", out);
}

static void td_spread(FILE *out, const char *format, double value, double deviation, bool strong) {
    fprintf(out, "<td%s>", strong ? " class='strong'" : "");
    number(out, format, value);
    if (!isnan(deviation)) {
        fputs(" <small>&plusmn;", out);
        number(out, format, deviation);
        fputs("</small>", out);
    }
    fputs("</td>", out);
}

static const char *format_of(const mw_study_row *row) {
    return strcmp(row->family, "ant") ? "%.1f" : "%.0f";
}

static const char *signed_format_of(const mw_study_row *row) {
    return strcmp(row->family, "ant") ? "%+.1f" : "%+.0f";
}

typedef void row_fn(FILE *out, const mw_study_row *row);

/* A table over settings: a heading per family, rows by a function; families without rows are left out. */
static void settings_table(FILE *out, const mw_study_table *t, const char *header, int columns,
                           const char *only, row_fn *put) {
    fprintf(out, "<div class='card'><table><thead>%s</thead><tbody>\n", header);
    for (int f = 0; f < 3; f++) {
        if (only && strcmp(only, mw_report_families[f])) continue;
        if (!only)
            fprintf(out, "<tr class='family'><td colspan='%d'>%s</td></tr>\n", columns,
                    mw_report_family_title(mw_report_families[f]));
        for (int i = 0; i < MW_TABLE_ROWS; i++) {
            const mw_study_row *row = &t->rows[i];
            if (strcmp(row->family, mw_report_families[f])) continue;
            fprintf(out, "<tr%s><td>%s</td>", row->summary ? "" : " class='missing'", row->name);
            put(out, row);
            fputs("</tr>\n", out);
        }
    }
    fputs("</tbody></table></div>\n", out);
}

static void section(FILE *out, const char *id, const char *title, const char *words) {
    fprintf(out, "<h2 id='%s'>%s</h2>\n<p>%s</p>\n", id, title, words);
}

/* ---- top ---- */

static void tile(FILE *out, const char *value, const char *what, const char *paper) {
    fprintf(out, "<div class='tile'><b>%s</b><span>%s</span><span>%s%s</span></div>\n", value, what,
            paper ? "paper: " : "&nbsp;", paper ? paper : "");
}

static void tiles(FILE *out, const mw_study_table *t) {
    char value[64], paper[64];
    const mw_paper_gains *p = mw_paper_gains_of(NULL);
    const mw_comparison gain = mw_table_compare(t, NULL, MW_COL_PLAN, MW_COL_REACTIVE),
                        random = mw_table_compare(t, NULL, MW_COL_PLAN, MW_COL_RANDOM);
    int shared;
    const double share = mw_table_share(t, NULL, &shared),
                 rank = mw_table_median(t, NULL, MW_COL_SNIPPET_SPEARMAN),
                 ms = mw_table_median(t, NULL, MW_COL_MS_DECISION);
    fputs("<div class='tiles'>\n", out);
    snprintf(value, sizeof value, "%d of %d", gain.wins, gain.count);
    snprintf(paper, sizeof paper, "%d of %d", p->improved, p->count);
    tile(out, gain.count ? value : "&ndash;", "settings where planning beats reactive", paper);
    snprintf(value, sizeof value, "%+.1f%%", 100 * gain.relative);
    snprintf(paper, sizeof paper, "%+.1f%%", 100 * p->relative);
    tile(out, gain.count ? value : "&ndash;", "mean relative gain over reactive", paper);
    snprintf(value, sizeof value, "%d of %d", random.wins, random.count);
    snprintf(paper, sizeof paper, "%d of %d", p->random_improved, p->count);
    tile(out, random.count ? value : "&ndash;", "settings where the model beats a random choice", paper);
    snprintf(value, sizeof value, "%.0f%%", 100 * share);
    tile(out, shared ? value : "&ndash;", "of what the true simulator would gain", NULL);
    snprintf(value, sizeof value, "%.2f", rank);
    snprintf(paper, sizeof paper, "%.2f", p->spearman);
    tile(out, isnan(rank) ? "&ndash;" : value, "rank correlation of snippets, H = 8", paper);
    snprintf(value, sizeof value, "%.1f ms", ms);
    tile(out, isnan(ms) ? "&ndash;" : value, "per decision, eight candidates", NULL);
    fputs("</div>\n", out);
}

static void missing(FILE *out, const mw_study_table *t) {
    if (t->present == MW_TABLE_ROWS) return;
    fputs("<p>Missing so far:", out);
    for (int i = 0, count = 0; i < MW_TABLE_ROWS; i++)
        if (!t->rows[i].summary) fprintf(out, "%s %s", count++ ? "," : "", t->rows[i].name);
    fputs(".</p>\n", out);
}

static void overview(FILE *out, const mw_study_table *t) {
    static const char *const chips[] = {"<span class='chip down'>below</span>",
                                        "<span class='chip up'>reached</span>"};
    mw_report_line lines[MW_REPORT_LINES];
    const int count = mw_report_lines(t, lines);
    section(out, "summary", "Summary",
            "The paper's figures are the floor, not the goal. A mark appears once all settings of a line are "
            "there.");
    fputs("<div class='card'><table><thead><tr><th></th><th>paper</th><th>mawam</th><th></th></tr></thead>"
          "<tbody>\n",
          out);
    for (int i = 0; i < count; i++)
        fprintf(out, "<tr><td>%s</td><td>%s</td><td class='strong'>%s</td><td>%s</td></tr>\n", lines[i].what,
                lines[i].paper, lines[i].ours, lines[i].met >= 0 ? chips[lines[i].met] : "");
    fputs("</tbody></table></div>\n", out);
}

/* ---- families ---- */

static void comparison_cells(FILE *out, mw_comparison c) {
    if (!c.count) {
        fputs("<td class='from'>&ndash;</td>", out);
        for (int i = 0; i < 4; i++) fputs("<td>&ndash;</td>", out);
        return;
    }
    fprintf(out, "<td class='from'>%d of %d</td>", c.wins, c.count);
    td_gain(out, "%+.1f%%", 100 * c.relative);
    td_gain(out, "%+.1f%%", 100 * c.median);
    td_gain(out, "%+.1f%%", 100 * c.aggregate);
    td(out, "%.3g", c.p);
}

static void families(FILE *out, const mw_study_table *t) {
    section(out, "families", "Families",
            "Mean: over settings of (planning - other) / |other|; one setting with a small denominator can "
            "rule it, but not the median. "
            "Aggregate: sum of differences over the sum of |other|. p: exact two-sided sign test over "
            "settings, "
            "ties dropped. Share: of the gain that the true simulator as a scorer brings.");
    fputs("<div class='card'><table><thead>"
          "<tr><th></th><th class='group from' colspan='6'>Planning vs Reactive</th>"
          "<th class='group from' colspan='5'>RWM vs Random</th>"
          "<th class='group from' colspan='2'>vs data</th><th class='from'></th></tr>"
          "<tr><th></th><th "
          "class='from'>better</th><th>mean</th><th>median</th><th>aggregate</th><th>p</th><th>paper's "
          "mean</th>"
          "<th class='from'>better</th><th>mean</th><th>median</th><th>aggregate</th><th>p</th>"
          "<th class='from'>planning</th><th>reactive</th><th class='from'>share</th></tr></thead><tbody>\n",
          out);
    for (int f = 0; f < 4; f++) {
        const char *family = f < 3 ? mw_report_families[f] : NULL;
        int shared;
        fprintf(out, "<tr><td class='strong'>%s</td>", mw_report_family_title(family));
        comparison_cells(out, mw_table_compare(t, family, MW_COL_PLAN, MW_COL_REACTIVE));
        td(out, "%+.1f%%", 100 * mw_paper_gains_of(family)->relative);
        comparison_cells(out, mw_table_compare(t, family, MW_COL_PLAN, MW_COL_RANDOM));
        const mw_comparison plan = mw_table_compare(t, family, MW_COL_PLAN, MW_COL_DATA),
                            reactive = mw_table_compare(t, family, MW_COL_REACTIVE, MW_COL_DATA);
        fprintf(out, "<td class='from'>%d of %d</td><td>%d of %d</td>", plan.wins, plan.count, reactive.wins,
                reactive.count);
        td_from(out, "%.2f", mw_table_share(t, family, &shared));
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
}

/* ---- settings ---- */

static bool scaled(const mw_study_row *row) {
    return mw_scale_of(row->setting->task) != NULL;
}

static double spread_of(const mw_study_row *row, mw_column_id total, mw_column_id score) {
    return row->value[scaled(row) ? score : total];
}

static void gain_cells(FILE *out, const mw_study_row *row) {
    const double *v = row->value;
    const char *format = format_of(row), *with_sign = signed_format_of(row);
    td_spread(out, format, v[MW_COL_REACTIVE],
              spread_of(row, MW_COL_REACTIVE_RETURN_STD, MW_COL_REACTIVE_SCORE_STD), false);
    td_spread(out, format, v[MW_COL_PLAN], spread_of(row, MW_COL_PLAN_RETURN_STD, MW_COL_PLAN_SCORE_STD),
              true);
    td_gain(out, with_sign, v[MW_COL_DELTA]);
    td_gain(out, "%+.1f%%", 100 * v[MW_COL_RELATIVE]);
    td_from(out, format, v[MW_COL_ORACLE]);
    td(out, "%.2f", v[MW_COL_SHARE]);
    td_from(out, format, v[MW_COL_PUBLISHED_REACTIVE]);
    td(out, format, v[MW_COL_PUBLISHED_PLAN]);
    td_gain(out, with_sign, v[MW_COL_PUBLISHED_DELTA]);
    td_gain(out, "%+.1f%%", 100 * v[MW_COL_PUBLISHED_RELATIVE]);
}

static void gains(FILE *out, const mw_study_table *t) {
    section(out, "gains", "Planning against Reactive",
            "MPE in normalised score, SMAC and Ant in episode return, &plusmn; the deviation over seeds. The "
            "oracle "
            "scores the same candidates with the true simulator: the most that any scorer could reach.");
    fputs("<div class='legend'><i style='background:var(--accent);margin-left:0'></i>mawam, with the 95% "
          "interval of "
          "the paired difference<i style='background:var(--paper)'></i>paper</div>\n",
          out);
    for (int f = 0; f < 3; f++) {
        fprintf(out, "<div class='card'><h3>%s: relative gain</h3>\n",
                mw_report_family_title(mw_report_families[f]));
        mw_page_gain_bars(out, t, mw_report_families[f]);
        fputs("</div>\n", out);
    }
    settings_table(out, t,
                   "<tr><th></th><th class='group' colspan='4'>mawam</th><th class='group from' "
                   "colspan='2'>oracle</th>"
                   "<th class='group from' colspan='4'>paper</th></tr>"
                   "<tr><th>setting</th><th>Reactive</th><th>Planning</th><th>&Delta;</th><th>relative</th>"
                   "<th class='from'>value</th><th>share</th><th "
                   "class='from'>Reactive</th><th>Planning</th><th>&Delta;</th>"
                   "<th>relative</th></tr>",
                   11, NULL, gain_cells);
}

static void random_cells(FILE *out, const mw_study_row *row) {
    const double *v = row->value;
    const char *format = format_of(row);
    td_spread(out, format, v[MW_COL_RANDOM],
              spread_of(row, MW_COL_RANDOM_RETURN_STD, MW_COL_RANDOM_SCORE_STD), false);
    td_spread(out, format, v[MW_COL_PLAN], spread_of(row, MW_COL_PLAN_RETURN_STD, MW_COL_PLAN_SCORE_STD),
              true);
    td_gain(out, signed_format_of(row), v[MW_COL_DELTA_RANDOM]);
    td_gain(out, "%+.1f%%", 100 * v[MW_COL_RELATIVE_RANDOM]);
    td_from(out, format, v[MW_COL_PUBLISHED_RANDOM]);
    td(out, format, v[MW_COL_PUBLISHED_PLAN]);
    td_gain(out, "%+.1f%%", 100 * v[MW_COL_PUBLISHED_RELATIVE_RANDOM]);
}

static void random_choice(FILE *out, const mw_study_table *t) {
    section(out, "random", "RWM against Random",
            "The same number of candidates; one is drawn at random instead of chosen by the world model, "
            "or by the advantage where a setting's planning scores by it (on Ant).");
    settings_table(out, t,
                   "<tr><th></th><th class='group' colspan='4'>mawam</th><th class='group from' "
                   "colspan='3'>paper</th></tr>"
                   "<tr><th>setting</th><th>Random</th><th>RWM</th><th>&Delta;</th><th>relative</th>"
                   "<th class='from'>Random</th><th>RWM</th><th>relative</th></tr>",
                   8, NULL, random_cells);
}

static void paper_cells(FILE *out, const mw_study_row *row) {
    const double *v = row->value;
    const char *format = format_of(row), *with_sign = signed_format_of(row);
    td(out, format, v[MW_COL_REACTIVE]);
    td(out, format, v[MW_COL_PLAN]);
    td_spread(out, format, v[MW_COL_PAPER], spread_of(row, MW_COL_PAPER_RETURN_STD, MW_COL_PAPER_SCORE_STD),
              true);
    td_gain(out, with_sign, v[MW_COL_PAPER] - v[MW_COL_PLAN]);
    td_gain(out, with_sign, v[MW_COL_DELTA_PAPER]);
    td_gain(out, "%+.1f%%", 100 * v[MW_COL_RELATIVE_PAPER]);
}

static void as_drawn(FILE *out, const mw_study_table *t) {
    section(out, "paper", "Candidates as drawn",
            "The best candidate alone as the policy draws them, as in the paper: no offsets, no warm "
            "start, no weighted mean, and imagined returns are the scores. Where a "
            "setting's planning does none of it, the two are the same.");
    settings_table(out, t,
                   "<tr><th>setting</th><th>Reactive</th><th>Planning</th><th>as drawn</th><th>over "
                   "Planning</th><th>over Reactive</th><th>relative</th></tr>",
                   7, NULL, paper_cells);
}

/* Arms that are played on request only. */
static void other_arms(FILE *out, const mw_study_table *t) {
    for (int a = MW_ARM_STANDARD; mw_arm_name(a); a++) {
        mw_arm arm;
        int count = 0;
        for (int i = 0; i < MW_TABLE_ROWS; i++) count += !isnan(t->rows[i].arm[a]);
        if (count == 0 || !mw_arm_at(a, &arm)) continue;
        section(out, arm.name, arm.name, arm.help);
        fprintf(out, "<table><tr><th>setting</th><th>Reactive</th><th>Planning</th><th>%s</th></tr>",
                arm.name);
        for (int i = 0; i < MW_TABLE_ROWS; i++) {
            const mw_study_row *row = &t->rows[i];
            if (isnan(row->arm[a])) continue;
            fprintf(out, "<tr><td>%s</td>", row->name);
            td(out, format_of(row), row->arm[MW_ARM_REACTIVE]);
            td(out, format_of(row), row->arm[MW_ARM_PLAN]);
            td(out, format_of(row), row->arm[a]);
            fputs("</tr>", out);
        }
        fputs("</table>", out);
    }
}

static void won_cells(FILE *out, const mw_study_row *row) {
    const double *v = row->value;
    td(out, "%.2f", v[MW_COL_DATA_WON]);
    td(out, "%.2f", v[MW_COL_REACTIVE_WON]);
    td(out, "%.2f", v[MW_COL_RANDOM_WON]);
    td_spread(out, "%.2f", v[MW_COL_PLAN_WON], v[MW_COL_PLAN_WON_STD], true);
    td_gain(out, "%+.2f", v[MW_COL_DELTA_WON]);
    td(out, "%.2f", v[MW_COL_ORACLE_WON]);
    td_from(out, "%.2f", v[MW_COL_PUBLISHED_REACTIVE_WON]);
    td(out, "%.2f", v[MW_COL_PUBLISHED_PLAN_WON]);
    td_gain(out, "%+.2f", v[MW_COL_PUBLISHED_PLAN_WON] - v[MW_COL_PUBLISHED_REACTIVE_WON]);
}

static void win_rates(FILE *out, const mw_study_table *t) {
    section(out, "wins", "Win rates of the battles", "Share of episodes in which no enemy is left.");
    settings_table(
        out, t,
        "<tr><th></th><th class='group' colspan='6'>mawam</th><th class='group from' "
        "colspan='3'>paper</th></tr>"
        "<tr><th>setting</th><th>data</th><th>Reactive</th><th>Random</th><th>Planning</th><th>&Delta;</th>"
        "<th>oracle</th><th class='from'>Reactive</th><th>Planning</th><th>&Delta;</th></tr>",
        10, "battle", won_cells);
}

/* ---- data ---- */

static void data_cells(FILE *out, const mw_study_row *row) {
    const double *v = row->value;
    const char *format = format_of(row);
    td(out, "%.0f", v[MW_COL_DATA_EPISODES]);
    td(out, "%.0f", v[MW_COL_DATA_STEPS]);
    td_spread(out, format, v[MW_COL_DATA_RETURN], v[MW_COL_DATA_RETURN_STD], false);
    td_from(out, format, v[MW_COL_DATA]);
    td(out, format, v[MW_COL_REACTIVE]);
    td(out, format, v[MW_COL_PLAN]);
    td_gain(out, signed_format_of(row), v[MW_COL_DELTA_DATA]);
}

static const double *value_of(const mw_study_table *t, const char *task, const char *quality) {
    for (int i = 0; i < MW_TABLE_ROWS; i++)
        if (!strcmp(t->rows[i].setting->task, task) && !strcmp(t->rows[i].setting->quality, quality))
            return t->rows[i].value;
    return NULL;
}

/* Tasks of one kind of qualities, best data first. */
static void heat(FILE *out, const mw_study_table *t, mw_column_id column, const char *title,
                 const char *const *qualities, int count) {
    const char *last = "";
    fprintf(out, "<div class='card'><h3>%s</h3><table class='heat'><thead><tr><th></th>", title);
    for (int q = 0; q < count; q++) fprintf(out, "<th style='text-align:center'>%s</th>", qualities[q]);
    fputs("</tr></thead><tbody>\n", out);
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const char *task = t->rows[i].setting->task;
        if (!strcmp(task, last) || !value_of(t, task, qualities[0])) continue;
        last = task;
        fprintf(out, "<tr><td>%s</td>", task);
        for (int q = 0; q < count; q++) {
            const double value = value_of(t, task, qualities[q])[column];
            fprintf(out, "<td class='cell' style='background:rgba(var(--%s),%.2f)'>",
                    value < 0 ? "minus" : "plus",
                    isnan(value) ? 0 : fmin(0.75, 0.06 + 0.9 * sqrt(fabs(value) / 1.5)));
            number(out, "%+.1f%%", 100 * value);
            fputs("</td>", out);
        }
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
}

/* Tasks whose gain is larger on their worst data than on their best. */
static void worst_against_best(FILE *out, const mw_study_table *t, mw_column_id column, const char *whose) {
    static const char *const ends[2][2] = {{"expert", "random"}, {"good", "poor"}};
    const char *last = "";
    double worst[MW_TABLE_ROWS], best[MW_TABLE_ROWS];
    int n = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const char *task = t->rows[i].setting->task;
        if (!strcmp(task, last)) continue;
        last = task;
        const int kind = value_of(t, task, ends[0][0]) ? 0 : 1;
        best[n] = value_of(t, task, ends[kind][0])[column];
        worst[n++] = value_of(t, task, ends[kind][1])[column];
    }
    const mw_comparison c = mw_compare(worst, best, NULL, NULL, n);
    if (c.count)
        fprintf(out, "<p>%s: larger on the worst data than on the best in %d of %d tasks (p = %.3g).</p>\n",
                whose, c.wins, c.count, c.p);
}

static void quality(FILE *out, const mw_study_table *t) {
    static const char *const four[] = {"expert", "medium", "medium-replay", "random"};
    static const char *const three[] = {"good", "medium", "poor"};
    section(out, "quality", "Gain against the quality of the data",
            "Relative gain of planning over reactive, best data at the left.");
    fputs("<div class='pair'>\n", out);
    heat(out, t, MW_COL_RELATIVE, "mawam: MPE", four, 4);
    heat(out, t, MW_COL_PUBLISHED_RELATIVE, "paper: MPE", four, 4);
    heat(out, t, MW_COL_RELATIVE, "mawam: SMAC and Ant", three, 3);
    heat(out, t, MW_COL_PUBLISHED_RELATIVE, "paper: SMAC and Ant", three, 3);
    fputs("</div>\n", out);
    worst_against_best(out, t, MW_COL_RELATIVE, "mawam");
    worst_against_best(out, t, MW_COL_PUBLISHED_RELATIVE, "paper");
    section(out, "data", "Against the data itself",
            "Return of the dataset's episodes, and the same in the units of the arms.");
    settings_table(out, t,
                   "<tr><th>setting</th><th>episodes</th><th>steps</th><th>return</th><th "
                   "class='from'>data</th><th>Reactive</th>"
                   "<th>Planning</th><th>Planning - data</th></tr>",
                   8, NULL, data_cells);
}

/* ---- diagnostics ---- */

static void snippet_cells(FILE *out, const mw_study_row *row) {
    static const mw_column_id ids[] = {MW_COL_SNIPPET_PEARSON, MW_COL_SNIPPET_SPEARMAN,
                                       MW_COL_SNIPPET_TOP1,    MW_COL_SNIPPET_TOP2,
                                       MW_COL_SNIPPET_PAIRS,   MW_COL_SNIPPET_REGRET};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) td(out, "%.2f", row->value[ids[i]]);
    td(out, "%.3g", row->value[MW_COL_SNIPPET_ERROR]);
}

static void snippet_line(FILE *out, const char *title, double spearman, double pearson, double top2,
                         double pairs, double regret, double error, bool strong) {
    fprintf(out, "<tr><td>%s</td><td%s>", title, strong ? " class='strong'" : "");
    number(out, "%.2f", spearman);
    fputs("</td>", out);
    td(out, "%.2f", pearson);
    td(out, "%.2f", top2);
    td(out, "%.2f", pairs);
    td(out, "%.2f", regret);
    td(out, "%.3g", error);
    fputs("</tr>\n", out);
}

static void snippet_families(FILE *out, const mw_study_table *t) {
    fputs("<div class='card'><table><thead><tr><th>medians at H = "
          "8</th><th>Spearman</th><th>Pearson</th><th>Top-2</th>"
          "<th>pairs</th><th>norm. regret</th><th>rollout MSE</th></tr></thead><tbody>\n",
          out);
    for (int f = 0; f < 4; f++) {
        char title[48];
        const char *family = f < 3 ? mw_report_families[f] : NULL;
        const mw_paper_gains *p = mw_paper_gains_of(family);
        snippet_line(out, mw_report_family_title(family), mw_table_median(t, family, MW_COL_SNIPPET_SPEARMAN),
                     mw_table_median(t, family, MW_COL_SNIPPET_PEARSON),
                     mw_table_median(t, family, MW_COL_SNIPPET_TOP2),
                     mw_table_median(t, family, MW_COL_SNIPPET_PAIRS),
                     mw_table_median(t, family, MW_COL_SNIPPET_REGRET),
                     mw_table_median(t, family, MW_COL_SNIPPET_ERROR), true);
        snprintf(title, sizeof title, "<small>paper, %s</small>", mw_report_family_title(family));
        snippet_line(out, title, p->spearman, p->pearson, p->top2, p->pairs, p->regret, p->rollout_mse,
                     false);
    }
    fputs("</tbody></table></div>\n", out);
}

static void state_cells(FILE *out, const mw_study_row *row) {
    const double *v = row->value;
    const mw_paper_state *p = mw_paper_state_find(row->setting->task, row->setting->quality);
    td(out, "%.3f", v[MW_COL_STATE_TOP1]);
    td(out, "%.3f", v[MW_COL_STATE_TOP2]);
    td(out, "%.3f", v[MW_COL_STATE_SPEARMAN]);
    td(out, "%.3f", v[MW_COL_STATE_PAIRS]);
    td(out, "%.3f", v[MW_COL_STATE_REGRET]);
    td(out, "%.3f", v[MW_COL_STATE_RANDOM_REGRET]);
    td_from(out, "%.3f", p ? p->top1 : NAN);
    td(out, "%.3f", p ? p->top2 : NAN);
    td(out, "%.3f", p ? p->spearman : NAN);
    td(out, "%.3f", p ? p->pairs : NAN);
    td(out, "%.3f", p ? p->regret : NAN);
    td(out, "%.3f", p ? p->random_regret : NAN);
}

static void diagnostics(FILE *out, const mw_study_table *t) {
    section(out, "snippets", "Does the world model rank recorded futures?",
            "It is rolled from the first observation of held-out snippets under their recorded actions; "
            "predicted and "
            "realised returns are compared over all, and in groups of eight. Curves: medians of settings.");
    fputs("<div class='pair'><div class='card'><h3>Spearman correlation</h3>\n", out);
    mw_page_horizon_curves(out, t, false);
    fputs("</div><div class='card'><h3>Rollout MSE of observations</h3>\n", out);
    mw_page_horizon_curves(out, t, true);
    fputs("</div></div>\n", out);
    snippet_families(out, t);
    fputs("<details><summary>Every setting at H = 8</summary>\n", out);
    settings_table(out, t,
                   "<tr><th>setting</th><th>Pearson</th><th>Spearman</th><th>Top-1</th><th>Top-2</"
                   "th><th>pairs</th><th>norm. regret</th>"
                   "<th>rollout MSE</th></tr>",
                   8, NULL, snippet_cells);
    fputs("</details>\n", out);
    section(out, "state", "Does it rank the candidates of one state?",
            "The planner's own problem: at anchors of reactive play all candidates are scored, then executed "
            "in the "
            "restored simulator. Chance: Top-1 0.125, Top-2 0.25, pairs 0.5. The paper has this for five "
            "settings.");
    settings_table(
        out, t,
        "<tr><th></th><th class='group' colspan='6'>mawam</th><th class='group from' "
        "colspan='6'>paper</th></tr>"
        "<tr><th>setting</th><th>Top-1</th><th>Top-2</th><th>Spearman</th><th>pairs</th><th>regret</th>"
        "<th>random</th><th "
        "class='from'>Top-1</th><th>Top-2</th><th>Spearman</th><th>pairs</th><th>regret</th>"
        "<th>random</th></tr>",
        13, NULL, state_cells);
}

static void cost_cells(FILE *out, const mw_study_row *row) {
    static const mw_column_id ids[] = {MW_COL_MS_GENERATION,  MW_COL_MS_SCORING,   MW_COL_MS_DECISION,
                                       MW_COL_MS_DECISION_95, MW_COL_MS_REACTIVE,  MW_COL_SECONDS_DATA,
                                       MW_COL_SECONDS_TRAIN,  MW_COL_SECONDS_EVAL, MW_COL_SECONDS_DIAGNOSE};
    for (int i = 0; i < 9; i++) (i == 5 ? td_from : td)(out, i < 5 ? "%.2f" : "%.0f", row->value[ids[i]]);
}

static void cost(FILE *out, const mw_study_table *t) {
    section(
        out, "cost", "Cost",
        "Milliseconds of one decision for a single environment (median, and 95th percentile), and seconds "
        "that the "
        "stages took.");
    settings_table(
        out, t,
        "<tr><th></th><th class='group' colspan='4'>Planning, ms</th><th class='group'>Reactive, ms</th>"
        "<th class='group from' colspan='4'>stages, s</th></tr>"
        "<tr><th>setting</th><th>generate</th><th>score</th><th>decision</th><th>p95</th><th>decision</th>"
        "<th class='from'>data</th><th>train</th><th>evaluate</th><th>diagnose</th></tr>",
        10, NULL, cost_cells);
}

/* ---- where it comes from ---- */

static void text_cell(FILE *out, const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    fputs("<td class='left'>", out);
    mw_page_escape(out, text ? text : "");
    fputs("</td>", out);
}

static void origin_cells(FILE *out, const mw_study_row *row) {
    const json_t *origin = json_object_get(row->summary, "provenance");
    const char *command = json_string_value(json_object_get(origin, "command"));
    text_cell(out, origin, "mawam");
    text_cell(out, row->summary, "rules");
    text_cell(out, origin, "budget");
    text_cell(out, origin, "seed");
    td(out, "%.0f", row->value[MW_COL_EVAL_SEEDS]);
    td(out, "%.0f", row->value[MW_COL_EVAL_EPISODES]);
    text_cell(out, origin, "cpu");
    text_cell(out, json_object_get(row->summary, "data"), "checksum");
    text_cell(out, row->summary, "bundle");
    fputs("<td class='left'><code>", out);
    mw_page_escape(out, command ? command : "");
    fputs("</code></td>", out);
}

static void origin(FILE *out, const mw_study_table *t) {
    section(
        out, "origin", "Where the numbers come from",
        "Every row of these tables is made from one file, settings/&lt;setting&gt;.json; settings.csv has "
        "all numbers "
        "in one table. The paper's figures are its published ones.");
    fputs("<details><summary>Commands, versions, checksums</summary>\n", out);
    settings_table(out, t,
                   "<tr><th>setting</th><th class='left'>mawam</th><th class='left'>rules</th><th "
                   "class='left'>budget</th>"
                   "<th class='left'>seed</th><th>seeds</th><th>episodes</th><th class='left'>processor</th>"
                   "<th class='left'>data</th><th class='left'>bundle</th><th class='left'>command</th></tr>",
                   11, NULL, origin_cells);
    fputs("</details>\n", out);
}

void mw_report_page(const mw_study_table *t, FILE *out) {
    fputs(mw_page_head, out);
    fprintf(out,
            "<header><h1>Planning with frozen multi-agent policies</h1>\n"
            "<p>Results of mawam %s on %d of %d settings, next to the paper's.</p></header>\n",
            mw_version(), t->present, MW_TABLE_ROWS);
    fputs("<nav><a href='#summary'>Summary</a><a href='#families'>Families</a><a href='#gains'>Gains</a>"
          "<a href='#random'>Random</a><a href='#paper'>As drawn</a><a href='#wins'>Win rates</a><a "
          "href='#quality'>Data quality</a>"
          "<a href='#snippets'>Snippets</a><a href='#state'>Same state</a><a href='#cost'>Cost</a>"
          "<a href='#origin'>Origin</a></nav>\n",
          out);
    tiles(out, t);
    missing(out, t);
    overview(out, t);
    families(out, t);
    gains(out, t);
    random_choice(out, t);
    as_drawn(out, t);
    other_arms(out, t);
    win_rates(out, t);
    quality(out, t);
    diagnostics(out, t);
    cost(out, t);
    origin(out, t);
    fprintf(out, "<footer>Written by mawam study report, version %s.</footer>\n</main>\n</body>\n</html>\n",
            mw_version());
}
