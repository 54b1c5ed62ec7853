/* Tasks and what they need; see graph.h. */
#include "study/graph.h"

#include "study/run.h"

#include <stdlib.h>
#include <string.h>

static void setting_name(char name[64], const mw_study_job *job) {
    mw_setting_name(mw_setting_at(job->place), name, 64);
}

/* Data are those of the setting, whichever job they are for. */
void mw_task_name(char name[160], const mw_study_job *job, mw_step step) {
    const char *baseline = mw_model_class_name(step.baseline);
    char setting[64];
    if (!job) {
        snprintf(name, 160, "%s", mw_study_stage_name(MW_STUDY_COST));
        return;
    }
    setting_name(setting, job);
    snprintf(name, 160, "%s/%s%s%.40s", step.stage == MW_STUDY_DATA ? setting : job->label,
             mw_study_stage_name(step.stage), baseline ? "/" : "", baseline ? baseline : "");
}

bool mw_task_of_line(char name[160], const json_t *line) {
    const char *label = json_string_value(json_object_get(line, "setting")),
               *stage = json_string_value(json_object_get(line, "stage")),
               *baseline = json_string_value(json_object_get(line, "baseline"));
    if (!label || !stage) return false;
    const char *setting = strrchr(label, '/');
    if (!strcmp(stage, mw_study_stage_name(MW_STUDY_DATA)) && setting) label = setting + 1;
    if (!strcmp(stage, mw_study_stage_name(MW_STUDY_COST)))
        snprintf(name, 160, "%s", stage);
    else
        snprintf(name, 160, "%.60s/%.40s%s%.40s", label, stage, baseline ? "/" : "",
                 baseline ? baseline : "");
    return true;
}

int mw_graph_find(const mw_graph *g, const char *name) {
    for (int i = 0; i < g->count; i++)
        if (!strcmp(g->tasks[i].name, name)) return i;
    return -1;
}

/* ---- making ---- */

/* What is not in the graph, because nobody asked for it, is not needed either: the task itself looks. */
static void need(mw_graph *g, mw_task *t, const mw_study_job *job, mw_study_stage stage) {
    char name[160];
    mw_task_name(name, job, (mw_step){stage, -1});
    const int found = mw_graph_find(g, name);
    if (found < 0) return;
    t->needs[t->need_count++] = found;
    g->tasks[found].needed = true;
    if (t->level <= g->tasks[found].level) t->level = g->tasks[found].level + 1;
}

/* The job whose policy a branch keeps. */
static const mw_study_job *base_of(const mw_graph *g, const mw_study_job *job) {
    for (int i = 0; job->base && i < g->job_count; i++)
        if (g->jobs[i].place == job->place && !strcmp(g->jobs[i].folder, job->base)) return &g->jobs[i];
    return NULL;
}

static void find_needs(mw_graph *g, mw_task *t) {
    const mw_study_job *job = &g->jobs[t->job], *base = base_of(g, job);
    switch (t->step.stage) {
    case MW_STUDY_DATA:
        return;
    case MW_STUDY_TRAIN:
        need(g, t, job, MW_STUDY_DATA);
        if (base) need(g, t, base, MW_STUDY_TRAIN);
        return;
    case MW_STUDY_SUMMARY:
        need(g, t, job, MW_STUDY_EVAL);
        if (job->stages & 1u << MW_STUDY_DIAGNOSE) need(g, t, job, MW_STUDY_DIAGNOSE);
        return;
    default:
        need(g, t, job, mw_stage_of(t->step.stage)->alone ? MW_STUDY_DATA : MW_STUDY_TRAIN);
    }
}

static void add(mw_graph *g, int job, mw_step step) {
    mw_task *t = &g->tasks[g->count];
    *t = (mw_task){.job = job, .step = step};
    mw_task_name(t->name, &g->jobs[job], step);
    if (mw_graph_find(g, t->name) >= 0) return; /* data for another job */
    find_needs(g, t);
    g->count++;
}

/* The summary comes before the analyses, as in a run of everything. */
static void add_job(mw_graph *g, int job) {
    mw_step steps[MW_STUDY_STEPS];
    const int n = mw_study_steps(steps, &g->jobs[job]);
    bool told = !(g->jobs[job].stages & 1u << MW_STUDY_TRAIN);
    for (int i = 0; i <= n; i++) {
        if (!told && (i == n || mw_stage_of(steps[i].stage)->analysis)) {
            add(g, job, (mw_step){MW_STUDY_SUMMARY, -1});
            told = true;
        }
        if (i < n) add(g, job, steps[i]);
    }
}

/* It measures times, so that all else is done before. */
static void add_cost(mw_graph *g) {
    mw_task *t = &g->tasks[g->count++];
    *t = (mw_task){.job = -1, .step = {MW_STUDY_COST, -1}};
    mw_task_name(t->name, NULL, t->step);
    for (int i = 0; i < g->count - 1; i++)
        if (t->level <= g->tasks[i].level) t->level = g->tasks[i].level + 1;
}

mw_status mw_graph_make(mw_graph **graph, const mw_study_options *o, mw_error *error) {
    mw_graph *g = *graph = calloc(1, sizeof *g);
    if (g) g->job_count = mw_study_jobs(g->jobs, o);
    if (g) g->tasks = calloc((size_t)g->job_count * (MW_STUDY_STEPS + 1) + 1, sizeof *g->tasks);
    if (!g || !g->tasks) return mw_fail(error, MW_ERR_MEMORY, "cannot make a plan of the study");
    for (int i = 0; i < g->job_count; i++) add_job(g, i);
    if (mw_study_wants(o, MW_STUDY_PART_COST)) add_cost(g);
    if (g->job_count > 0) return MW_OK;
    return mw_fail(error, MW_ERR_ARGUMENT, "nothing to do: none of these settings has any of these parts");
}

void mw_graph_free(mw_graph *g) {
    if (g) free(g->tasks);
    free(g);
}

/* ---- files ---- */

void mw_task_outputs(const mw_graph *g, const mw_task *t, const char *folder,
                     void (*tell)(void *context, const char *path), void *context) {
    char path[800], root[480], name[64], own[64] = "";
    if (t->job < 0) {
        snprintf(path, sizeof path, "%.400s/cost.json", folder);
        tell(context, path);
        return;
    }
    const mw_study_job *job = &g->jobs[t->job];
    const mw_stage *stage = mw_stage_of(t->step.stage);
    const char *baseline = mw_model_class_name(t->step.baseline);
    setting_name(name, job);
    snprintf(root, sizeof root, "%.400s%s%s", folder, *job->folder ? "/" : "", job->folder);
    if (baseline) snprintf(own, sizeof own, "/%.40s", baseline);
    if (t->step.stage == MW_STUDY_DATA)
        snprintf(path, sizeof path, "%.400s/data/%s/dataset.json", folder, name);
    else
        snprintf(path, sizeof path, "%s/%s%s/%s.%s", root, stage->folder, own, name,
                 t->step.stage == MW_STUDY_TRAIN ? "safetensors" : "json");
    tell(context, path);
    if (!stage->bundle) return;
    snprintf(path, sizeof path, "%s/%s%s/%s%s.safetensors", root, baseline ? stage->folder : "bundles", own,
             name, baseline ? "" : ".selectors");
    tell(context, path);
}
