/* The files behind a report; see sources.h. */
#include "report/sources.h"

#include "core/file.h"

#include <string.h>
#include <unistd.h>

const char *const mw_branch_folders[MW_BRANCHES] = {
    [MW_BRANCH_PAPER] = "paper", [MW_BRANCH_LONGER] = "longer"};
const char *const mw_rivals_folders[MW_RIVALS] = {
    [MW_RIVALS_SELECTORS] = "selectors", [MW_RIVALS_BASELINES] = "baselines"};
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

/* ---- one revision ---- */

/* The first one that is named counts for all; what says nothing is of an unknown one. */
static mw_status expect_revision(mw_sources *s, const char *what, const json_t *named, mw_error *error) {
    const char *text = json_string_value(named);
    if (!text) text = "unknown";
    if (!s->revision[0]) snprintf(s->revision, sizeof s->revision, "%s", text);
    if (!strncmp(s->revision, text, sizeof s->revision - 1)) return MW_OK;
    return mw_fail(error, MW_ERR_MISMATCH,
                   "%s is of revision '%.60s', what was read before of '%s'; a report is of one revision",
                   what, text, s->revision);
}

/* Who wrote the file and what it was put together from, and who trained the parts of its bundle. */
static mw_status check_file(mw_sources *s, const char *place, const char *name, const json_t *root,
                            mw_error *error) {
    static const char *const stamps[] = {"revision", "study.revision", "provenance.revision",
                                         "revisions.eval", "revisions.diagnose"};
    const char *part;
    json_t *about;
    char what[160];
    bool named = false;
    if (!root) return MW_OK;
    snprintf(what, sizeof what, "%s/%.64s.json", place, name);
    for (size_t i = 0; i < sizeof stamps / sizeof *stamps; i++) {
        const json_t *stamp = mw_json_at(root, stamps[i]);
        if (stamp) MW_TRY(expect_revision(s, what, stamp, error));
        named = named || stamp;
    }
    if (!named) MW_TRY(expect_revision(s, what, NULL, error));
    json_object_foreach(json_object_get(root, "training"), part, about) {
        snprintf(what, sizeof what, "the %.40s of %s/%.64s.json", part, place, name);
        if (json_object_get(about, "revision"))
            MW_TRY(expect_revision(s, what, json_object_get(about, "revision"), error));
    }
    return MW_OK;
}

/* A file that tells its task and quality is of the setting that it is named after. */
static mw_status check_name(const char *place, const char *name, const json_t *root, mw_error *error) {
    const char *task = json_string_value(json_object_get(root, "task")),
               *quality = json_string_value(json_object_get(root, "quality"));
    char told[160];
    snprintf(told, sizeof told, "%.64s-%.64s", task ? task : "", quality ? quality : "");
    if (!task || !quality || !strcmp(told, name)) return MW_OK;
    return mw_fail(error, MW_ERR_MISMATCH, "%s/%.64s.json is of %s", place, name, told);
}

static mw_status check_table(mw_sources *s, const mw_study_table *t, const char *place, mw_error *error) {
    for (int i = 0; i < MW_TABLE_ROWS; i++)
        MW_TRY(check_file(s, place, t->rows[i].name, t->rows[i].summary, error));
    return MW_OK;
}

static mw_status check_revisions(mw_sources *s, mw_error *error) {
    MW_TRY(check_table(s, &s->table, "results", error));
    for (int k = 0; k < MW_BRANCHES; k++)
        MW_TRY(check_table(s, &s->branches[k], mw_branch_folders[k], error));
    for (int k = 0; k < MW_RIVALS; k++) MW_TRY(check_table(s, &s->rivals[k], mw_rivals_folders[k], error));
    for (int k = 0; k < MW_SOURCES_SEEDS; k++) MW_TRY(check_table(s, &s->seeds[k], "seeds", error));
    for (int k = 0; k < MW_SOURCE_KINDS; k++)
        for (int i = 0; i < MW_TABLE_ROWS; i++) {
            const char *name = s->table.rows[i].name;
            MW_TRY(check_name(mw_source_folders[k], name, s->files[k][i], error));
            MW_TRY(check_file(s, mw_source_folders[k], name, s->files[k][i], error));
        }
    return MW_OK; /* the cost profile names its own, as every measurement of speed does */
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

static mw_status read_rivals(mw_sources *s, const char *const *folders, int count, mw_error *error) {
    for (int k = 0; k < MW_RIVALS; k++) {
        const char *const places[] = {mw_rivals_folders[k], NULL};
        MW_TRY(mw_study_table_read(&s->rivals[k], folders, count, places, error));
    }
    return MW_OK;
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
    if (status == MW_OK) status = read_rivals(s, folders, count, error);
    if (status == MW_OK) status = read_seeds(s, folders, count, error);
    for (int f = 0; status == MW_OK && f < count; f++) status = read_files(s, folders[f], error);
    if (status == MW_OK) status = check_revisions(s, error);
    if (status != MW_OK) mw_sources_free(s);
    return status;
}

void mw_sources_free(mw_sources *s) {
    mw_study_table_free(&s->table);
    for (int k = 0; k < MW_BRANCHES; k++) mw_study_table_free(&s->branches[k]);
    for (int k = 0; k < MW_RIVALS; k++) mw_study_table_free(&s->rivals[k]);
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
static mw_status write_summary(const mw_study_row *row, const char *folder, const char *place,
                               mw_error *error) {
    static const char *const large[] = {"episode_returns", "episode_lengths", "episodes_won"};
    char path[1200];
    const char *name;
    json_t *copy = json_deep_copy(row->summary), *arm, *part;
    if (!copy) return mw_fail(error, MW_ERR_MEMORY, "cannot copy %s", row->name);
    json_object_foreach(json_object_get(json_object_get(copy, "eval"), "arms"), name, arm) {
        for (size_t i = 0; i < sizeof large / sizeof *large; i++) json_object_del(arm, large[i]);
    }
    json_object_foreach(json_object_get(copy, "training"), name, part) {
        json_object_del(json_object_get(part, "details"), "curve");
    }
    snprintf(path, sizeof path, "%.900s/%s/%s.json", folder, place, row->name);
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
    for (int k = 0; k < MW_RIVALS; k++) look_at_table(l, &s->rivals[k], "", mw_rivals_folders[k]);
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
    snprintf(path, sizeof path, "%.900s/%s", folder, place);
    if (t->present) MW_TRY(mw_dir_make(path, error));
    for (int i = 0; i < MW_TABLE_ROWS; i++)
        if (t->rows[i].summary) MW_TRY(write_summary(&t->rows[i], folder, place, error));
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
    for (int k = 0; k < MW_RIVALS; k++)
        MW_TRY(write_table(&s->rivals[k], folder, mw_rivals_folders[k], error));
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
