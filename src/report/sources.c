/* The files behind a report; see sources.h. */
#include "report/sources.h"

#include "core/file.h"

#include <string.h>

static const char *const method_places[] = {"paper/results", "paper/settings", NULL};
static const char *const selector_places[] = {"selectors", NULL};
static const char *const kinds[MW_SOURCE_KINDS] = {
    [MW_SOURCE_ROUTING] = "routing", [MW_SOURCE_SWEEPS] = "sweeps"};

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
            snprintf(place, sizeof place, "%s/", kinds[k]);
            MW_TRY(read_file(&s->files[k][i], folder, place, s->table.rows[i].name, error));
        }
    return read_file(&s->cost, folder, "", "cost", error);
}

mw_status mw_sources_read(mw_sources *s, const char *const *folders, int count, const char *output,
                          mw_error *error) {
    memset(s, 0, sizeof *s);
    s->output = output;
    mw_status status = mw_study_table_read(&s->table, folders, count, mw_study_places, error);
    if (status == MW_OK) status = mw_study_table_read(&s->method, folders, count, method_places, error);
    if (status == MW_OK) status = mw_study_table_read(&s->selectors, folders, count, selector_places, error);
    for (int f = 0; status == MW_OK && f < count; f++) status = read_files(s, folders[f], error);
    if (status != MW_OK) mw_sources_free(s);
    return status;
}

void mw_sources_free(mw_sources *s) {
    mw_study_table_free(&s->table);
    mw_study_table_free(&s->method);
    mw_study_table_free(&s->selectors);
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
    json_t *copy = json_deep_copy(row->summary), *arm;
    if (!copy) return mw_fail(error, MW_ERR_MEMORY, "cannot copy %s", row->name);
    json_object_foreach(json_object_get(json_object_get(copy, "eval"), "arms"), name,
                        arm) for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        json_object_del(arm, large[i]);
    json_object_del(json_object_get(copy, "training"), "curve");
    snprintf(path, sizeof path, "%.900s/%s/%s.json", folder, place, row->name);
    const mw_status status = mw_json_write(copy, path, error);
    json_decref(copy);
    return status;
}

static mw_status write_table(const mw_study_table *t, const char *folder, const char *place,
                             mw_error *error) {
    char path[1024];
    if (!t->present) return MW_OK;
    snprintf(path, sizeof path, "%.900s/%s", folder, place);
    MW_TRY(mw_dir_make(path, error));
    for (int i = 0; i < MW_TABLE_ROWS; i++)
        if (t->rows[i].summary) MW_TRY(write_summary(&t->rows[i], folder, place, error));
    return MW_OK;
}

mw_status mw_sources_write(const mw_sources *s, const char *folder, mw_error *error) {
    char path[1200];
    MW_TRY(write_table(&s->table, folder, "settings", error));
    MW_TRY(write_table(&s->method, folder, "paper/settings", error));
    MW_TRY(write_table(&s->selectors, folder, "selectors", error));
    for (int k = 0; k < MW_SOURCE_KINDS; k++)
        for (int i = 0; i < MW_TABLE_ROWS; i++) {
            if (!s->files[k][i]) continue;
            snprintf(path, sizeof path, "%.900s/%s", folder, kinds[k]);
            MW_TRY(mw_dir_make(path, error));
            snprintf(path, sizeof path, "%.900s/%s/%s.json", folder, kinds[k], s->table.rows[i].name);
            MW_TRY(mw_json_write(s->files[k][i], path, error));
        }
    snprintf(path, sizeof path, "%.900s/cost.json", folder);
    return s->cost ? mw_json_write(s->cost, path, error) : MW_OK;
}
