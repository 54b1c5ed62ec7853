/* Plans as lines, for make and for ninja; see mawam/study.h. Everything that is to run is one command per
 * task, and whoever runs the commands knows only which come first: the rest is the tasks' own. */
#include "study/plan.h"

#include "core/names.h"
#include "core/numbers.h"
#include "plan/provenance.h"
#include "study/command.h"
#include "study/work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what formats share ---- */

/* Tasks take a thread each, and the cost, which runs alone, all there are. */
int mw_task_threads(const mw_graph_text *p, const mw_task *task) {
    return p->options->threads ? p->options->threads : task->job < 0 ? 0 : 1;
}

void mw_graph_command(const mw_graph_text *p, FILE *out) {
    mw_command_word(out, p->program);
    fputs(" study run", out);
    mw_command_options(out, p->options);
}

void mw_graph_same(const mw_graph_text *p, const char *command, FILE *out) {
    mw_command_word(out, p->program);
    fprintf(out, " study %s", command);
    mw_command_settings(out, p->options);
    mw_command_options(out, p->options);
    if (p->options->threads) fprintf(out, " --threads %d", p->options->threads);
}

/* In a text of its own, to be freed; NULL: no memory. */
static char *text_of(const mw_graph_text *p, void (*put)(const mw_graph_text *p, FILE *out)) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    put(p, out);
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

/* With every character of `marked` behind its mark. */
static void put_escaped(FILE *out, const char *text, const char *marked, const char *marks) {
    for (; *text; text++) {
        const char *at = strchr(marked, *text);
        if (at) fputc(marks[at - marked], out);
        fputc(*text, out);
    }
}

static void put_done(const mw_graph_text *p, const mw_task *t) {
    fprintf(p->out, "%s/tasks/%s.done", p->options->folder, t->name);
}

/* Tasks that come right before one; the cost waits for those that nobody else waits for. */
static int need_of(const mw_graph *g, const mw_task *t, int after) {
    if (t->job >= 0) return after + 1 < t->need_count ? after + 1 : -1;
    for (int i = after + 1; i < g->count; i++)
        if (!g->tasks[i].needed && g->tasks[i].job >= 0) return i;
    return -1;
}

static const mw_task *needed(const mw_graph *g, const mw_task *t, int need) {
    return &g->tasks[t->job >= 0 ? t->needs[need] : need];
}

/* ---- lines ---- */

typedef struct {
    FILE *out;
    const char *before;
} list;

static void put_file(void *context, const char *path) {
    list *l = context;
    fputs(l->before, l->out);
    mw_command_word(l->out, path);
    l->before = " ";
}

static void put_number(FILE *out, double value, double unit) {
    if (isnan(value))
        fputs("\tunknown", out);
    else
        fprintf(out, "\t%.0f", ceil(value / unit));
}

static void put_line(const mw_graph_text *p, const mw_task *t) {
    const mw_graph *g = p->graph;
    FILE *out = p->out;
    list l = {out, ""};
    fprintf(out, "%s\t%d\t%d", t->name, t->level, mw_task_threads(p, t));
    put_number(out, mw_expected_seconds(p->expected, t), 1);
    put_number(out, mw_expected_bytes(p->expected, t), 1 << 20);
    fputc('\t', out);
    for (int k = -1; (k = need_of(g, t, k)) >= 0;) put_file(&l, needed(g, t, k)->name);
    fputc('\t', out);
    l.before = "";
    for (int k = -1; (k = need_of(g, t, k)) >= 0;)
        mw_task_outputs(g, needed(g, t, k), p->options->folder, put_file, &l);
    fputc('\t', out);
    l.before = "";
    mw_task_outputs(g, t, p->options->folder, put_file, &l);
    fputc('\t', out);
    mw_graph_command(p, out);
    fprintf(out, " --threads %d --task %s\n", mw_task_threads(p, t), t->name);
}

static mw_status plan_lines(const mw_graph_text *p, mw_error *error) {
    (void)error;
    fputs("#task\tlevel\tthreads\tseconds\tMiB\tneeds\tinputs\toutputs\tcommand\n", p->out);
    for (int i = 0; i < p->graph->count; i++) put_line(p, &p->graph->tasks[i]);
    return MW_OK;
}

/* ---- make and ninja ---- */

static void put_run(const mw_graph_text *p, FILE *out) {
    mw_graph_command(p, out);
}

static void put_status(const mw_graph_text *p, FILE *out) {
    mw_graph_same(p, "status", out);
}

static mw_status put_variable(const mw_graph_text *p, const char *name,
                              void (*put)(const mw_graph_text *, FILE *), bool ninja, mw_error *error) {
    char *text = text_of(p, put);
    if (!text) return mw_fail(error, MW_ERR_MEMORY, "cannot write a plan");
    fprintf(p->out, "%s = ", name);
    put_escaped(p->out, text, ninja ? "$" : "$#", ninja ? "$" : "$\\");
    fputc('\n', p->out);
    free(text);
    return MW_OK;
}

static void put_header(const mw_graph_text *p, const char *use) {
    fprintf(p->out,
            "# A study as a graph of commands, of mawam %s (%s): %s\n"
            "# Every task can be stopped, killed and run again; docs/cluster.md says more.\n",
            mw_version(), mw_revision(), use);
}

/* What is expected, and the files; for people. */
static void put_remark(const mw_graph_text *p, const mw_task *t) {
    const double seconds = mw_expected_seconds(p->expected, t), bytes = mw_expected_bytes(p->expected, t);
    list l = {p->out, " "};
    fprintf(p->out, "\n#");
    mw_task_outputs(p->graph, t, p->options->folder, put_file, &l);
    if (isnan(seconds))
        fputs(": seconds unknown", p->out);
    else
        fprintf(p->out, ": %.0f s", ceil(seconds));
    if (isnan(bytes))
        fputs(", memory unknown\n", p->out);
    else
        fprintf(p->out, ", %.0f MiB\n", ceil(bytes / (1 << 20)));
}

/* A plan that is printed again asks every task again; what is current is kept. */
static mw_status plan_make(const mw_graph_text *p, mw_error *error) {
    const mw_graph *g = p->graph;
    put_header(p, "make -k -j N -f FILE");
    MW_TRY(put_variable(p, "RUN", put_run, false, error));
    MW_TRY(put_variable(p, "STATUS", put_status, false, error));
    fputs("PLAN := $(lastword $(MAKEFILE_LIST))\n.SUFFIXES:\n.PHONY: all status\nall:", p->out);
    for (int i = 0; i < g->count; i++)
        if (!g->tasks[i].needed) {
            fputc(' ', p->out);
            put_done(p, &g->tasks[i]);
        }
    fputs("\nstatus:\n\t$(STATUS)\n", p->out);
    for (int i = 0; i < g->count; i++) {
        const mw_task *t = &g->tasks[i];
        put_remark(p, t);
        put_done(p, t);
        fputc(':', p->out);
        for (int k = -1; (k = need_of(g, t, k)) >= 0;) {
            fputc(' ', p->out);
            put_done(p, needed(g, t, k));
        }
        fprintf(p->out, " $(PLAN)\n\t$(RUN) --threads %d --task %s\n", mw_task_threads(p, t), t->name);
    }
    return MW_OK;
}

static mw_status plan_ninja(const mw_graph_text *p, mw_error *error) {
    const mw_graph *g = p->graph;
    put_header(p, "ninja -k 0 -j N -f FILE");
    MW_TRY(put_variable(p, "run", put_run, true, error));
    fputs("rule task\n  command = $run --threads $threads --task $task\n  description = $task\n", p->out);
    for (int i = 0; i < g->count; i++) {
        const mw_task *t = &g->tasks[i];
        put_remark(p, t);
        fputs("build ", p->out);
        put_done(p, t);
        fputs(": task", p->out);
        for (int k = -1; (k = need_of(g, t, k)) >= 0;) {
            fputc(' ', p->out);
            put_done(p, needed(g, t, k));
        }
        fprintf(p->out, "\n  task = %s\n  threads = %d\n", t->name, mw_task_threads(p, t));
    }
    return MW_OK;
}

/* ---- all formats ---- */

static const struct {
    const char *name;
    mw_status (*put)(const mw_graph_text *plan, mw_error *error);
} formats[] = {{"lines", plan_lines}, {"make", plan_make}, {"ninja", plan_ninja}, {"slurm", mw_graph_slurm}};
enum { FORMATS = sizeof formats / sizeof *formats };

static const char *format_name(int index) {
    return index >= 0 && index < FORMATS ? formats[index].name : NULL;
}

/* Names in makefiles and scripts stay free of quoting. */
static mw_status check_folder(const char *folder, mw_error *error) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@+=,./-";
    if (*folder && strspn(folder, plain) == strlen(folder)) return MW_OK;
    return mw_fail(error, MW_ERR_ARGUMENT,
                   "a plan in this format needs a folder of letters, digits and _@+=,./- in its name, not "
                   "'%.200s'; 'lines' takes any",
                   folder);
}

static mw_status put_plan(mw_graph_text *p, int format, const char *costs, mw_error *error) {
    mw_graph *graph = NULL;
    mw_expected *expected = NULL;
    mw_status status = mw_graph_make(&graph, p->options, error);
    if (status == MW_OK)
        status = mw_expected_read(&expected, p->options, costs ? costs : p->options->folder, error);
    p->graph = graph;
    p->expected = expected;
    if (status == MW_OK) status = formats[format].put(p, error);
    mw_expected_free(expected);
    mw_graph_free(graph);
    return status;
}

mw_status mw_study_plan(char **text, const mw_study_options *given, const char *format, const char *program,
                        const char *costs, mw_error *error) {
    MW_PLAIN_NUMBERS;
    mw_study_options options;
    size_t size = 0;
    MW_NEED(text);
    *text = NULL;
    MW_NEED(format);
    MW_TRY(mw_study_options_check(&options, given, error));
    MW_TRY(mw_study_baselines_check(&options, error));
    MW_TRY(mw_command_check(&options, error));
    const int found = mw_names_find(format_name, format);
    if (found < 0) return mw_names_unknown(format_name, "format", format, error);
    if (strcmp(format, "lines")) MW_TRY(check_folder(options.folder, error));
    mw_graph_text p = {.options = &options, .program = program ? program : "mawam"};
    p.out = open_memstream(text, &size);
    if (!p.out) return mw_fail(error, MW_ERR_MEMORY, "cannot write a plan");
    mw_status status = put_plan(&p, found, costs, error);
    if (fclose(p.out) != 0 && status == MW_OK) status = mw_fail(error, MW_ERR_MEMORY, "cannot write a plan");
    if (status == MW_OK) return MW_OK;
    free(*text);
    *text = NULL;
    return status;
}
