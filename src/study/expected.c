/* Seconds and memory of tasks from records; see expected.h. */
#include "study/expected.h"

#include "core/file.h"
#include "study/journal.h"
#include "study/run.h"

#include <math.h>
#include <stdlib.h>

/* Lines of failures and of seeds that are taken tell of no seconds that a task took. */
static mw_status remember(void *context, const json_t *line, mw_error *error) {
    (void)error;
    mw_expected *e = context;
    char name[160];
    const json_t *seconds = json_object_get(line, "seconds"), *memory = json_object_get(line, "memory");
    if (!json_is_number(seconds) || json_object_get(line, "error") || !mw_task_of_line(name, line))
        return MW_OK;
    const int found = mw_graph_find(e->all, name);
    if (found < 0) return MW_OK;
    const mw_task *t = &e->all->tasks[found];
    double *into = t->job < 0 ? &e->cost_seconds : &e->seconds.of[t->job][mw_study_step_index(t->step)],
           *bytes = t->job < 0 ? &e->cost_bytes : &e->bytes.of[t->job][mw_study_step_index(t->step)];
    *into = json_number_value(seconds);
    if (json_is_number(memory)) *bytes = json_number_value(memory);
    return MW_OK;
}

/* What a summary says of its stages, where no record does; one that cannot be read is no summary. */
static void read_summary(mw_expected *e, int job, const char *folder, const char *results) {
    char path[640], name[64];
    mw_error ignored;
    json_t *root;
    const mw_study_job *j = &e->all->jobs[job];
    mw_setting_name(mw_setting_at(j->place), name, sizeof name);
    snprintf(path, sizeof path, "%.400s/%s%s%s/%s.json", folder, j->folder, *j->folder ? "/" : "", results,
             name);
    if (!mw_file_exists(path) || mw_json_read(&root, path, &ignored) != MW_OK) return;
    for (int k = 0; !mw_stage_of((mw_study_stage)k)->analysis; k++) {
        const json_t *took =
            json_object_get(json_object_get(root, "seconds"), mw_study_stage_name((mw_study_stage)k));
        if (json_is_number(took) && isnan(e->seconds.of[job][k]))
            e->seconds.of[job][k] = json_number_value(took);
    }
    json_decref(root);
}

mw_status mw_expected_read(mw_expected **expected, const mw_study_options *options, const char *folder,
                           mw_error *error) {
    mw_study_options all = *options;
    mw_expected *e = *expected = calloc(1, sizeof *e);
    if (!e) return mw_fail(error, MW_ERR_MEMORY, "cannot tell what a study will take");
    all.count = 0;
    all.parts = all.baselines = 0;
    all.training_seeds = MW_STUDY_SEEDS;
    mw_seconds_forget(&e->seconds);
    mw_seconds_forget(&e->bytes);
    e->cost_seconds = e->cost_bytes = NAN;
    MW_TRY(mw_graph_make(&e->all, &all, error));
    MW_TRY(mw_journal_read(folder, remember, e, error));
    for (int i = 0; i < e->all->job_count; i++) {
        read_summary(e, i, folder, "results");
        read_summary(e, i, folder, "settings");
    }
    return MW_OK;
}

void mw_expected_free(mw_expected *e) {
    if (e) mw_graph_free(e->all);
    free(e);
}

static double expect(const mw_expected *e, const mw_seconds *known, const mw_task *task) {
    const int found = mw_graph_find(e->all, task->name);
    if (found < 0) return NAN;
    const mw_task *t = &e->all->tasks[found];
    return mw_seconds_expected(known, e->all->jobs, e->all->job_count, t->job, mw_study_step_index(t->step));
}

double mw_expected_seconds(const mw_expected *e, const mw_task *task) {
    return task->job < 0 ? e->cost_seconds : expect(e, &e->seconds, task);
}

double mw_expected_bytes(const mw_expected *e, const mw_task *task) {
    return task->job < 0 ? e->cost_bytes : expect(e, &e->bytes, task);
}
