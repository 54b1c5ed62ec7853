/* A plan for Slurm: one array of jobs for every stage of every branch, its elements the settings, so that an
 * element waits for its own setting alone (aftercorr). The text is a script that submits them all. */
#include "study/plan.h"

#include "plan/provenance.h"
#include "study/command.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Room that a job is given beyond what is recorded, and the least. */
static const double time_room = 3, least_minutes = 15, memory_room = 1.5, least_mebibytes = 512;

/* What is in an array: tasks of one branch and stage. "paper_train", "seeds_1_eval", "baselines_bc". */
static void group_name(char name[96], const mw_graph *g, const mw_task *t) {
    const char *folder = t->job < 0 || t->step.stage == MW_STUDY_DATA ? "" : g->jobs[t->job].folder,
               *baseline = mw_model_class_name(t->step.baseline);
    snprintf(name, 96, "%s%s%s%s%.40s", folder, *folder ? "_" : "", mw_study_stage_name(t->step.stage),
             baseline ? "_" : "", baseline ? baseline : "");
    for (char *c = name; *c; c++)
        if (*c == '/') *c = '_';
}

static bool in_group(const mw_graph *g, const mw_task *t, const char *group) {
    char name[96];
    group_name(name, g, t);
    return !strcmp(name, group);
}

static bool is_first(const mw_graph *g, int at, const char *group) {
    for (int i = 0; i < at; i++)
        if (in_group(g, &g->tasks[i], group)) return false;
    return true;
}

/* Once for every group among what the group needs. */
static void put_needs(const mw_graph_text *p, const char *group) {
    const mw_graph *g = p->graph;
    const char *before = " --dependency=aftercorr";
    for (int i = 0; i < g->count; i++) {
        char name[96];
        bool waits = false;
        group_name(name, g, &g->tasks[i]);
        for (int k = 0; k < g->count && is_first(g, i, name); k++)
            for (int n = 0; n < g->tasks[k].need_count && in_group(g, &g->tasks[k], group); n++)
                waits |= in_group(g, &g->tasks[g->tasks[k].needs[n]], name);
        if (!waits) continue;
        fprintf(p->out, "%s:$%s", before, name);
        before = "";
    }
}

/* The cost waits for all. */
static void put_all_needs(const mw_graph_text *p) {
    const mw_graph *g = p->graph;
    const char *before = " --exclusive --dependency=afterok";
    for (int i = 0; i < g->count; i++) {
        char name[96];
        group_name(name, g, &g->tasks[i]);
        if (g->tasks[i].job < 0 || !is_first(g, i, name)) continue;
        fprintf(p->out, "%s:$%s", before, name);
        before = "";
    }
}

/* The group's most demanding task counts; one of which nothing is known gets what the cluster gives. */
static void put_room(const mw_graph_text *p, const char *group) {
    double seconds = 0, bytes = 0;
    for (int i = 0; i < p->graph->count; i++) {
        const mw_task *t = &p->graph->tasks[i];
        if (!in_group(p->graph, t, group)) continue;
        const double own[] = {mw_expected_seconds(p->expected, t), mw_expected_bytes(p->expected, t)};
        seconds = isnan(own[0]) || isnan(seconds) ? NAN : fmax(seconds, own[0]);
        bytes = isnan(own[1]) || isnan(bytes) ? NAN : fmax(bytes, own[1]);
    }
    if (!isnan(seconds)) fprintf(p->out, " --time=%.0f", ceil(fmax(least_minutes, time_room * seconds / 60)));
    if (!isnan(bytes))
        fprintf(p->out, " --mem=%.0fM", ceil(fmax(least_mebibytes, memory_room * bytes / (1 << 20))));
}

static void put_array(const mw_graph_text *p, const char *group) {
    const char *before = " --array=";
    for (int i = 0; i < p->graph->count; i++) {
        const mw_task *t = &p->graph->tasks[i];
        if (t->job < 0 || !in_group(p->graph, t, group)) continue;
        fprintf(p->out, "%s%d", before, p->graph->jobs[t->job].place);
        before = ",";
    }
}

static void put_script(const mw_graph_text *p, const mw_task *first, const char *group) {
    const int threads = mw_task_threads(p, first);
    fputs(" <<'END'\n#!/bin/sh\n", p->out);
    if (first->job < 0)
        fprintf(p->out, "task=%s\n", first->name);
    else
        fputs("case $SLURM_ARRAY_TASK_ID in\n", p->out);
    for (int i = 0; i < p->graph->count && first->job >= 0; i++) {
        const mw_task *t = &p->graph->tasks[i];
        if (in_group(p->graph, t, group))
            fprintf(p->out, "%d) task=%s ;;\n", p->graph->jobs[t->job].place, t->name);
    }
    if (first->job >= 0) fputs("*) exit 2 ;;\nesac\n", p->out);
    mw_graph_command(p, p->out);
    fprintf(p->out, " --threads %d --task \"$task\" &\n", threads);
    /* Near its time limit a task saves, and goes on in another turn; a job that is cancelled does not. */
    fputs("work=$!\nagain=\ntrap 'again=1; kill -TERM $work' USR1\ntrap 'kill -TERM $work' TERM\n"
          "wait $work\ncode=$?\n"
          "while kill -0 $work 2> /dev/null; do\n  wait $work\n  code=$?\ndone\n"
          "if [ -n \"$again\" ] && [ $code -eq 130 ]; then\n"
          "  scontrol requeue \"${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}"
          "${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}\"\nfi\nexit $code\nEND\n)\n",
          p->out);
}

static void put_group(const mw_graph_text *p, const mw_task *first, const char *group) {
    const int threads = mw_task_threads(p, first);
    fprintf(p->out, "%s=$(submit --job-name=mawam-%s", group, group);
    put_array(p, group);
    if (threads) fprintf(p->out, " --cpus-per-task=%d", threads);
    put_room(p, group);
    if (first->job < 0)
        put_all_needs(p);
    else
        put_needs(p, group);
    put_script(p, first, group);
}

mw_status mw_graph_slurm(const mw_graph_text *p, mw_error *error) {
    (void)error;
    fprintf(p->out,
            "#!/bin/sh\n"
            "# A study as arrays of Slurm jobs, of mawam %s (%s): sh FILE [options of sbatch]\n"
            "# Submitted again it keeps what is done; docs/cluster.md says more.\n"
            "set -e\ngiven=\"$*\"\nmkdir -p %s/slurm\n"
            "submit() {\n"
            "  id=$(sbatch --parsable --requeue --open-mode=append --kill-on-invalid-dep=yes --nodes=1 "
            "--ntasks=1 \\\n"
            "    --signal=B:USR1@120 --output=%s/slurm/%%x-%%a.log \"$@\" $given) || exit 1\n"
            "  echo \"${id%%%%;*}\"\n}\n",
            mw_version(), mw_revision(), p->options->folder, p->options->folder);
    for (int i = 0; i < p->graph->count; i++) {
        char group[96];
        group_name(group, p->graph, &p->graph->tasks[i]);
        if (is_first(p->graph, i, group)) put_group(p, &p->graph->tasks[i], group);
    }
    return MW_OK;
}
