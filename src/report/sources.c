/* The files behind a report; see sources.h. */
#include "report/sources.h"

#include "core/file.h"
#include "report/comparable.h"

#include <string.h>
#include <unistd.h>

const char *const mw_branch_folders[MW_BRANCHES] = {
    [MW_BRANCH_PAPER] = "paper", [MW_BRANCH_LONGER] = "longer"};
const char *const mw_source_folders[MW_SOURCE_KINDS] = {[MW_SOURCE_ROUTING] = "routing",
                                                        [MW_SOURCE_SWEEPS] = "sweeps",
                                                        [MW_SOURCE_PAPER_ROUTING] = "paper/routing"};

static mw_status read_file(json_t **value, const char *folder, const char *place, const char *name,
                           mw_error *error) {
    char path[1200];
    json_t *found;
    snprintf(path, sizeof path, "%.900s/%s%s.json", folder, place, name);
    if (!mw_file_exists(path)) return MW_OK;
    MW_TRY(mw_json_read(&found, path, error));
    json_decref(*value);
    *value = found;
    return MW_OK;
}

static mw_status read_files(mw_sources *s, const char *folder, mw_error *error) {
    char place[64];
    for (int k = 0; k < MW_SOURCE_KINDS; k++)
        for (int i = 0; i < MW_TABLE_ROWS; i++) {
            snprintf(place, sizeof place, "%s/", mw_source_folders[k]);
            MW_TRY(read_file(&s->files[k][i], folder, place, s->table.rows[i].name, error));
        }
    return read_file(&s->cost, folder, "", "cost", error);
}

const char *mw_source_bundle(const json_t *file) {
    const char *of_study = json_string_value(mw_json_at(file, "study.bundle"));
    return of_study ? of_study : json_string_value(json_object_get(file, "bundle"));
}

/* Where a study of its own within the folders left its summaries, or an earlier report. */
static mw_status read_within(mw_study_table *table, const char *folder, const char *const *folders, int count,
                             mw_error *error) {
    char results[48], settings[48];
    const char *const places[] = {results, settings, NULL};
    snprintf(results, sizeof results, "%s/results", folder);
    snprintf(settings, sizeof settings, "%s/settings", folder);
    return mw_study_table_read(table, folders, count, places, error);
}

static mw_status read_branches(mw_sources *s, const char *const *folders, int count, mw_error *error) {
    for (int k = 0; k < MW_BRANCHES; k++)
        MW_TRY(read_within(&s->branches[k], mw_branch_folders[k], folders, count, error));
    return MW_OK;
}

static mw_status read_selectors(mw_sources *s, const char *const *folders, int count, mw_error *error) {
    static const char *const places[] = {MW_SELECTORS_FOLDER, NULL};
    return mw_study_table_read(&s->selectors, folders, count, places, error);
}

/* ---- baselines: a folder each, and their arms together in one table ---- */

bool mw_source_baseline_place(int index, char place[96]) {
    mw_arm arm;
    if (!mw_arm_at(index, &arm) || !strcmp(arm.controller, "planner")) return false;
    snprintf(place, 96, "%s/%.64s", MW_BASELINES_FOLDER, arm.name);
    return true;
}

/* A file of a baseline holds an arm of its name. */
static mw_status read_baseline(mw_sources *s, int baseline, int setting, const char *folder,
                               mw_error *error) {
    char place[96], path[1200];
    json_t *found;
    if (!mw_source_baseline_place(baseline, place)) return MW_OK;
    snprintf(path, sizeof path, "%.900s/%s/%s.json", folder, place, s->table.rows[setting].name);
    MW_TRY(mw_study_file_read(&found, &s->table.rows[setting], path, error));
    if (!found) return MW_OK;
    const char *name = mw_arm_name(baseline);
    if (!json_is_object(json_object_get(mw_json_at(found, "eval.arms"), name))) {
        json_decref(found);
        return mw_fail(error, MW_ERR_MISMATCH, "%s: expected the arm '%s' in eval.arms, found none", path,
                       name);
    }
    json_decref(s->baseline_files[baseline][setting]);
    s->baseline_files[baseline][setting] = found;
    return MW_OK;
}

/* The baseline's arm joins those of the others; how they were played stands there once, because it is the
 * same for all of them. */
static mw_status join(mw_study_row *row, int baseline, const json_t *file, mw_error *error) {
    const char *name = mw_arm_name(baseline);
    const json_t *arm = json_object_get(mw_json_at(file, "eval.arms"), name);
    if (!row->summary) {
        row->summary = json_pack("{s:s, s:o}", "setting", row->name, "eval",
                                 json_copy((json_t *)(uintptr_t)json_object_get(file, "eval")));
        json_t *eval = json_object_get(row->summary, "eval");
        if (json_object_set_new(eval, "arms", json_object()) != 0)
            return mw_fail(error, MW_ERR_MEMORY, "cannot join the baselines of %s", row->name);
    }
    json_t *arms = json_object_get(json_object_get(row->summary, "eval"), "arms");
    return json_object_set(arms, name, (json_t *)(uintptr_t)arm) == 0
               ? MW_OK
               : mw_fail(error, MW_ERR_MEMORY, "cannot join the baselines of %s", row->name);
}

static mw_status read_baselines(mw_sources *s, const char *const *folders, int count, mw_error *error) {
    mw_status status = MW_OK;
    mw_study_table_begin(&s->baselines);
    for (int m = 0; m < MW_ARMS; m++)
        for (int i = 0; i < MW_TABLE_ROWS; i++) {
            for (int f = 0; status == MW_OK && f < count; f++)
                status = read_baseline(s, m, i, folders[f], error);
            if (status == MW_OK && s->baseline_files[m][i])
                status = join(&s->baselines.rows[i], m, s->baseline_files[m][i], error);
        }
    mw_study_table_fill(&s->baselines);
    return status;
}

static mw_status read_seeds(mw_sources *s, const char *const *folders, int count, mw_error *error) {
    for (int k = 0; k < MW_SOURCES_SEEDS; k++) {
        char folder[24];
        snprintf(folder, sizeof folder, "seeds/%d", k + 1);
        MW_TRY(read_within(&s->seeds[k], folder, folders, count, error));
    }
    mw_table_training_seeds(&s->table, s->seeds, MW_SOURCES_SEEDS);
    return MW_OK;
}

mw_status mw_sources_read(mw_sources *s, const char *const *folders, int count, const char *output,
                          mw_error *error) {
    memset(s, 0, sizeof *s);
    s->output = output;
    mw_status status = mw_study_table_read(&s->table, folders, count, mw_study_places, error);
    if (status == MW_OK) status = read_branches(s, folders, count, error);
    if (status == MW_OK) status = read_selectors(s, folders, count, error);
    if (status == MW_OK) status = read_baselines(s, folders, count, error);
    if (status == MW_OK) status = read_seeds(s, folders, count, error);
    for (int f = 0; status == MW_OK && f < count; f++) status = read_files(s, folders[f], error);
    if (status == MW_OK) status = mw_sources_check(s, error);
    if (status != MW_OK) mw_sources_free(s);
    return status;
}

void mw_sources_free(mw_sources *s) {
    mw_study_table_free(&s->table);
    for (int k = 0; k < MW_BRANCHES; k++) mw_study_table_free(&s->branches[k]);
    mw_study_table_free(&s->selectors);
    mw_study_table_free(&s->baselines);
    for (int m = 0; m < MW_ARMS; m++)
        for (int i = 0; i < MW_TABLE_ROWS; i++) {
            json_decref(s->baseline_files[m][i]);
            s->baseline_files[m][i] = NULL;
        }
    json_decref(s->revisions);
    s->revisions = NULL;
    for (int k = 0; k < MW_SOURCES_SEEDS; k++) mw_study_table_free(&s->seeds[k]);
    for (int k = 0; k < MW_SOURCE_KINDS; k++)
        for (int i = 0; i < MW_TABLE_ROWS; i++) {
            json_decref(s->files[k][i]);
            s->files[k][i] = NULL;
        }
    json_decref(s->cost);
    s->cost = NULL;
}

/* ---- writing ---- */

/* A setting's own file again, without what is large: the single episodes and the curves of training. */
static mw_status write_summary(const json_t *summary, const char *folder, const char *place,
                               const char *setting, mw_error *error) {
    static const char *const large[] = {"episode_returns", "episode_lengths", "episodes_won"};
    char path[1200];
    const char *name;
    json_t *copy = json_deep_copy(summary), *arm, *part;
    if (!copy) return mw_fail(error, MW_ERR_MEMORY, "cannot copy %s", setting);
    json_object_foreach(json_object_get(json_object_get(copy, "eval"), "arms"), name, arm) {
        for (size_t i = 0; i < sizeof large / sizeof *large; i++) json_object_del(arm, large[i]);
    }
    json_object_foreach(json_object_get(copy, "training"), name, part) {
        json_object_del(json_object_get(part, "details"), "curve");
    }
    snprintf(path, sizeof path, "%.900s/%s/%s.json", folder, place, setting);
    const mw_status status = mw_json_write(copy, path, error);
    json_decref(copy);
    return status;
}

/* Files of an earlier report that this one has not read: how many, and the first of them. */
typedef struct {
    const char *folder;
    bool remove;
    int count;
    char first[1200];
} leftovers;

static void look_at(leftovers *l, const char *place, const char *name) {
    char path[1200];
    snprintf(path, sizeof path, "%.900s/%s/%s.json", l->folder, place, name);
    if (!mw_file_exists(path)) return;
    if (!l->count++) memcpy(l->first, path, sizeof path);
    if (l->remove) unlink(path);
}

static void look_at_table(leftovers *l, const mw_study_table *t, const char *folder, const char *place) {
    char within[64];
    snprintf(within, sizeof within, "%.40s%.20s", folder, place);
    for (int i = 0; i < MW_TABLE_ROWS; i++)
        if (!t->rows[i].summary) look_at(l, within, t->rows[i].name);
}

/* Where a study runs such files are its results, and stay as they are. */
static bool studied(const char *folder) {
    char path[1024];
    snprintf(path, sizeof path, "%.900s/stages.jsonl", folder);
    return mw_file_exists(path);
}

static void find_leftovers(leftovers *l, const mw_sources *s) {
    char path[1024];
    look_at_table(l, &s->table, "", "settings");
    look_at_table(l, &s->selectors, "", MW_SELECTORS_FOLDER);
    for (int m = 0; m < MW_ARMS; m++)
        for (int i = 0; i < MW_TABLE_ROWS; i++) {
            char place[96];
            if (mw_source_baseline_place(m, place) && !s->baseline_files[m][i])
                look_at(l, place, s->table.rows[i].name);
        }
    for (int k = 0; k < MW_BRANCHES; k++)
        look_at_table(l, &s->branches[k], mw_branch_folders[k], "/settings");
    for (int k = 0; k < MW_SOURCES_SEEDS; k++) {
        snprintf(path, sizeof path, "seeds/%d", k + 1);
        look_at_table(l, &s->seeds[k], path, "/settings");
    }
    for (int k = 0; k < MW_SOURCE_KINDS; k++)
        for (int i = 0; i < MW_TABLE_ROWS; i++)
            if (!s->files[k][i]) look_at(l, mw_source_folders[k], s->table.rows[i].name);
    if (!s->cost) look_at(l, ".", "cost");
}

static mw_status remove_leftovers(const mw_sources *s, const char *folder, bool overwrite, mw_error *error) {
    leftovers found = {.folder = folder};
    find_leftovers(&found, s);
    if (found.count && !overwrite)
        return mw_fail(
            error, MW_ERR_MISMATCH,
            "'%.300s' and %d more would be lost: this report has not read them; read '%.200s' too, "
            "name another folder, or 'overwrite' removes them",
            found.first, found.count - 1, folder);
    find_leftovers(&(leftovers){.folder = folder, .remove = true}, s);
    return MW_OK;
}

static mw_status write_table(const mw_study_table *t, const char *folder, const char *place,
                             mw_error *error) {
    char path[1024];
    snprintf(path, sizeof path, "%.900s/%.100s", folder, place);
    if (t->present) MW_TRY(mw_dir_make(path, error));
    for (int i = 0; i < MW_TABLE_ROWS; i++)
        if (t->rows[i].summary)
            MW_TRY(write_summary(t->rows[i].summary, folder, place, t->rows[i].name, error));
    return MW_OK;
}

static mw_status write_baseline(const mw_sources *s, int baseline, const char *folder, mw_error *error) {
    char place[96], path[1200];
    if (!mw_source_baseline_place(baseline, place)) return MW_OK;
    snprintf(path, sizeof path, "%.900s/%s", folder, place);
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        if (!s->baseline_files[baseline][i]) continue;
        MW_TRY(mw_dir_make(path, error));
        MW_TRY(write_summary(s->baseline_files[baseline][i], folder, place, s->table.rows[i].name, error));
    }
    return MW_OK;
}

static mw_status write_files(const mw_sources *s, mw_source_kind kind, const char *folder, mw_error *error) {
    char path[1200];
    const char *place = mw_source_folders[kind];
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        if (!s->files[kind][i]) continue;
        snprintf(path, sizeof path, "%.900s/%s", folder, place);
        MW_TRY(mw_dir_make(path, error));
        snprintf(path, sizeof path, "%.900s/%s/%s.json", folder, place, s->table.rows[i].name);
        MW_TRY(mw_json_write(s->files[kind][i], path, error));
    }
    return MW_OK;
}

mw_status mw_sources_write(const mw_sources *s, const char *folder, bool overwrite, mw_error *error) {
    char path[1200];
    if (studied(folder)) return MW_OK;
    MW_TRY(remove_leftovers(s, folder, overwrite, error));
    MW_TRY(write_table(&s->table, folder, "settings", error));
    for (int k = 0; k < MW_BRANCHES; k++) {
        snprintf(path, sizeof path, "%s/settings", mw_branch_folders[k]);
        MW_TRY(write_table(&s->branches[k], folder, path, error));
    }
    MW_TRY(write_table(&s->selectors, folder, MW_SELECTORS_FOLDER, error));
    for (int m = 0; m < MW_ARMS; m++) MW_TRY(write_baseline(s, m, folder, error));
    for (int k = 0; k < MW_SOURCES_SEEDS; k++) {
        snprintf(path, sizeof path, "seeds/%d/settings", k + 1);
        MW_TRY(write_table(&s->seeds[k], folder, path, error));
    }
    for (int k = 0; k < MW_SOURCE_KINDS; k++) MW_TRY(write_files(s, (mw_source_kind)k, folder, error));
    char line[80];
    const int length = snprintf(line, sizeof line, "%s\n", s->revision);
    snprintf(path, sizeof path, "%.900s/revision", folder);
    MW_TRY(mw_file_write(path, line, (size_t)length, error));
    snprintf(path, sizeof path, "%.900s/cost.json", folder);
    return s->cost ? mw_json_write(s->cost, path, error) : MW_OK;
}
