/* README.md: the report for those who read it beside the source. */
#include "report/protocol.h"
#include "report/report.h"

#include <math.h>
#include <string.h>

static void cell(FILE *out, const char *format, double value) {
    fputs(" ", out);
    if (isnan(value))
        fputs("-", out);
    else
        fprintf(out, format, value); // NOLINT: formats are this file's own
    fputs(" |", out);
}

/* Words of a file, in which nothing is Markdown or HTML. */
static void write_plain(FILE *out, const char *words) {
    for (; *words; words++) {
        if (*words == '<')
            fputs("&lt;", out);
        else
            fprintf(out, strchr("|*_`[]\\", *words) ? "\\%c" : "%c", *words);
    }
}

static void write_differences(const mw_study_table *t, FILE *out) {
    char text[MW_PROTOCOL_TEXT];
    int count = 0;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        if (!mw_protocol_difference(text, t, i)) continue;
        fprintf(out, "%s- %s: ", count++ ? "" : "Not made like the others of their family:\n\n",
                t->rows[i].name);
        write_plain(out, text);
        fputc('\n', out);
    }
    if (count) fputc('\n', out);
}

/* A text of one line, broken for readers of the source. */
static void write_wrapped(FILE *out, const char *text) {
    for (size_t column = 0, word; *text; text += word + (text[word] == ' ')) {
        word = strcspn(text, " ");
        const bool fits = column + 1 + word <= 100;
        if (column) fputc(fits ? ' ' : '\n', out);
        fprintf(out, "%.*s", (int)word, text);
        column = column && fits ? column + 1 + word : word;
    }
}

static void write_heading(const mw_sources *sources, FILE *out) {
    const bool several = json_object_size(sources->revisions) > 1;
    char revisions[1024];
    mw_sources_revisions_text(sources, revisions, sizeof revisions);
    fprintf(out,
            "# Results\n\n"
            "%d of %d settings, written by `mawam study report`, %s, ",
            sources->table.present, MW_TABLE_ROWS, several ? "of several revisions" : "all of one revision");
    write_plain(out, revisions);
    fputs(
        ". The whole\n"
        "report, with figures, is [index.html](index.html); the numbers of settings are in\n"
        "[settings.csv](settings.csv), over settings in [summary.json](summary.json), of single tables and\n"
        "figures behind their links. How they are made: [docs/study.md](../docs/study.md).\n\n"
        "MPE in normalised score (0: random play, 100: the expert), SMAC and Ant in return; SMAC stands for\n"
        "mawam's own battles ([docs/battles.md](../docs/battles.md)). Gain: (planning - other) / |other|; a\n"
        "score near zero rules a mean over settings, not a median. Clearly: the 95% interval of the\n"
        "difference does not hold zero. As drawn: candidates as the policy draws them, as in the paper\n"
        "([docs/evaluation.md](../docs/evaluation.md)).\n\n",
        out);
}

static void write_lines(const mw_study_table *t, FILE *out) {
    mw_report_line lines[MW_REPORT_LINES];
    const int count = mw_report_lines(t, lines);
    fputs("## Beside the paper\n\n| | paper | mawam |\n|---|---|---|\n", out);
    for (int i = 0; i < count; i++)
        fprintf(out, "| %s | %s | %s |\n", lines[i].what, lines[i].goal, lines[i].ours);
}

/* What was to be reached, decided before the seeds were played. */
static void write_goals(const mw_study_table *t, FILE *out) {
    static const char *const marks[] = {"", "not reached", "reached"};
    mw_report_line lines[MW_REPORT_LINES];
    const int count = mw_report_goals(t, lines);
    fputs("\n## Goals\n\nSet before the evaluation seeds were played.\n\n"
          "| | goal | mawam | |\n|---|---|---|---|\n",
          out);
    for (int i = 0; i < count; i++)
        fprintf(out, "| %s | %s | %s | %s |\n", lines[i].what, lines[i].goal, lines[i].ours,
                marks[1 + lines[i].met]);
}

static const char *format_of(const mw_study_row *row) {
    return mw_family_find(row->family)->format;
}

static void write_settings(const mw_study_table *t, FILE *out) {
    char relative[480];
    fputs("\n## Settings\n\n"
          "Share: of the gain of the true simulator as a judge, where that gain is clear.\n",
          out);
    write_wrapped(out, mw_relative_words(relative, t));
    fputs("\n\n"
          "| setting | data | Reactive | Random | Planning | gain | interval | share | as drawn "
          "| paper: Reactive | Planning | gain |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n",
          out);
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &t->rows[i];
        const double *v = row->value;
        const char *format = format_of(row);
        fprintf(out, "| %s |", row->name);
        cell(out, format, v[MW_COL_DATA]);
        cell(out, format, v[MW_COL_REACTIVE]);
        cell(out, format, v[MW_COL_RANDOM]);
        cell(out, format, v[MW_COL_PLAN]);
        cell(out, "%+.1f%%", 100 * v[MW_COL_RELATIVE]);
        if (isnan(v[MW_COL_RELATIVE_LOW]))
            fputs(" - |", out);
        else
            fprintf(out, " %+.1f to %+.1f%% |", 100 * v[MW_COL_RELATIVE_LOW], 100 * v[MW_COL_RELATIVE_HIGH]);
        cell(out, "%.2f", v[MW_COL_SHARE]);
        cell(out, format, v[MW_COL_PAPER]);
        cell(out, format, v[MW_COL_PUBLISHED_REACTIVE]);
        cell(out, format, v[MW_COL_PUBLISHED_PLAN]);
        cell(out, "%+.1f%%", 100 * v[MW_COL_PUBLISHED_RELATIVE]);
        fputc('\n', out);
    }
}

/* The paper's method beside mawam's, as far as it was run. */
static void write_method(const mw_sources *sources, FILE *out) {
    const mw_study_table *t = &sources->table, *method = &sources->branches[MW_BRANCH_PAPER];
    if (!method->present) return;
    const mw_comparison c = mw_table_compare_arms(method, NULL, MW_ARM_PLAN, MW_ARM_REACTIVE);
    fputs("\n## The paper's method\n\n"
          "`--method paper`, at the size of a CPU ([docs/training.md](../docs/training.md#methods)).",
          out);
    if (c.count)
        fprintf(out,
                " Planning above\nits own policy in %d of %d, clearly in %d, clearly below in %d; median of "
                "the gains %+.1f%%.",
                c.wins, c.count, c.clear_wins, c.clear_losses, 100 * c.median);
    fputs("\n\n"
          "| setting | data | Reactive | Random | Planning | clearly | by the true simulator "
          "| mawam's: Reactive | Planning |\n|---|---|---|---|---|---|---|---|---|\n",
          out);
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const mw_study_row *row = &method->rows[i];
        const double *v = row->value, *ours = t->rows[i].value;
        const char *format = format_of(row);
        const mw_interval d = mw_row_difference(row, MW_ARM_PLAN, MW_ARM_REACTIVE);
        if (!row->summary) continue;
        fprintf(out, "| %s |", row->name);
        cell(out, format, v[MW_COL_DATA]);
        cell(out, format, v[MW_COL_REACTIVE]);
        cell(out, format, v[MW_COL_RANDOM]);
        cell(out, format, v[MW_COL_PLAN]);
        fprintf(out, " %s |", d.low > 0 ? "better" : d.high < 0 ? "worse" : "-");
        cell(out, format, v[MW_COL_ORACLE]);
        cell(out, format, ours[MW_COL_REACTIVE]);
        cell(out, format, ours[MW_COL_PLAN]);
        fputc('\n', out);
    }
}

void mw_report_markdown(const mw_sources *sources, FILE *out) {
    write_heading(sources, out);
    write_differences(&sources->table, out);
    write_lines(&sources->table, out);
    write_goals(&sources->table, out);
    write_settings(&sources->table, out);
    write_method(sources, out);
}
