/* Who made the files of a report, and whether they can be compared; see comparable.h. */
#include "report/comparable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- revisions ---- */

/* One more file of a place that names the revision. */
static mw_status count_file(mw_sources *s, const char *place, const char *revision, mw_error *error) {
    json_t *places = json_object_get(s->revisions, revision);
    if (!places) {
        json_object_set_new(s->revisions, revision, json_object());
        places = json_object_get(s->revisions, revision);
    }
    const json_int_t before = json_integer_value(json_object_get(places, place));
    return json_object_set_new(places, place, json_integer(before + 1)) == 0
               ? MW_OK
               : mw_fail(error, MW_ERR_MEMORY, "cannot name the revisions of a report");
}

static mw_status take_name(json_t *named, const json_t *revision, mw_error *error) {
    if (!json_is_string(revision)) return MW_OK;
    return json_object_set_new(named, json_string_value(revision), json_true()) == 0
               ? MW_OK
               : mw_fail(error, MW_ERR_MEMORY, "cannot name the revisions of a report");
}

/* Who wrote the file and what it was put together from, and who trained the parts of its bundle. */
static mw_status take_names(json_t *named, const json_t *root, mw_error *error) {
    static const char *const stamps[] = {"revision", "study.revision", "provenance.revision",
                                         "revisions.eval", "revisions.diagnose"};
    const char *part;
    json_t *about;
    for (size_t i = 0; i < sizeof stamps / sizeof *stamps; i++)
        MW_TRY(take_name(named, mw_json_at(root, stamps[i]), error));
    if (!json_object_size(named) && json_object_set_new(named, "unknown", json_true()) != 0)
        return mw_fail(error, MW_ERR_MEMORY, "cannot name the revisions of a report");
    json_object_foreach(json_object_get(root, "training"), part, about)
        MW_TRY(take_name(named, json_object_get(about, "revision"), error));
    return MW_OK;
}

static mw_status name_file(mw_sources *s, const char *place, const json_t *root, mw_error *error) {
    const char *revision;
    json_t *ignored, *named;
    if (!root) return MW_OK;
    named = json_object();
    mw_status status = take_names(named, root, error);
    json_object_foreach(named, revision, ignored) {
        if (status == MW_OK) status = count_file(s, place, revision, error);
    }
    json_decref(named);
    return status;
}

/* The one that most settings of the table name; the first of several. */
static void choose_revision(mw_sources *s) {
    const char *revision;
    json_t *places;
    json_int_t most = 0;
    json_object_foreach(s->revisions, revision, places) {
        const json_int_t files = json_integer_value(json_object_get(places, "settings"));
        if (files <= most) continue;
        most = files;
        snprintf(s->revision, sizeof s->revision, "%s", revision);
    }
}

void mw_sources_revisions_text(const mw_sources *s, char *text, size_t size) {
    const char *revision, *place;
    json_t *places, *files;
    const bool several = json_object_size(s->revisions) > 1;
    size_t used = 0;
    text[0] = 0;
    json_object_foreach(s->revisions, revision, places) {
        int n = 0;
        if (used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%.60s", used ? "; " : "", revision);
        json_object_foreach(places, place, files) {
            if (several && used < size)
                used += (size_t)snprintf(text + used, size - used, "%s%s", n++ ? ", " : " (", place);
        }
        if (n && used < size) used += (size_t)snprintf(text + used, size - used, ")");
    }
}

/* ---- comparable ---- */

/* A field that both files tell must be the same. */
static mw_status expect_same(const char *file, const char *field, const json_t *found, const json_t *expected,
                             mw_error *error) {
    if (!found || !expected || json_equal(found, expected)) return MW_OK;
    char *theirs = json_dumps(found, JSON_ENCODE_ANY), *ours = json_dumps(expected, JSON_ENCODE_ANY);
    const mw_status status =
        mw_fail(error, MW_ERR_MISMATCH,
                "%s: %s is %.60s, that of the setting's own arms is %.60s; they cannot be compared", file,
                field, theirs ? theirs : "?", ours ? ours : "?");
    free(theirs);
    free(ours);
    return status;
}

/* The checksum of the data that a summary is of; NULL: it does not say. */
static const json_t *data_of(const json_t *summary) {
    const char *part;
    json_t *about;
    const json_t *told = mw_json_at(summary, "data.checksum");
    json_object_foreach(json_object_get(summary, "training"), part, about) {
        if (!told) told = json_object_get(about, "data");
    }
    return told;
}

static const json_t *rules_of(const json_t *summary) {
    const json_t *told = json_object_get(summary, "rules");
    return told ? told : mw_json_at(summary, "eval.rules");
}

static mw_status check_alike(const char *place, const char *name, const json_t *found, const json_t *expected,
                             bool same_play, mw_error *error) {
    static const char *const fields[] = {"eval.first_seed", "eval.seeds", "eval.episodes"};
    char file[200];
    if (!found || !expected) return MW_OK;
    snprintf(file, sizeof file, "%s/%.64s.json", place, name);
    MW_TRY(expect_same(file, "rules", rules_of(found), rules_of(expected), error));
    MW_TRY(expect_same(file, "the data's checksum", data_of(found), data_of(expected), error));
    for (size_t i = 0; same_play && i < sizeof fields / sizeof *fields; i++)
        MW_TRY(expect_same(file, fields[i], mw_json_at(found, fields[i]), mw_json_at(expected, fields[i]),
                           error));
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
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const json_t *summary = t->rows[i].summary;
        MW_TRY(name_file(s, place, summary, error));
        MW_TRY(check_alike(place, t->rows[i].name, summary, s->table.rows[i].summary, false, error));
    }
    return MW_OK;
}

/* Baselines are compared with the setting's own arms; where there are none, with each other. */
static mw_status check_baseline(mw_sources *s, int baseline, mw_error *error) {
    char place[96];
    if (!mw_source_baseline_place(baseline, place)) return MW_OK;
    for (int i = 0; i < MW_TABLE_ROWS; i++) {
        const json_t *file = s->baseline_files[baseline][i], *own = s->table.rows[i].summary;
        for (int other = 0; !own && other < baseline; other++) own = s->baseline_files[other][i];
        MW_TRY(name_file(s, place, file, error));
        MW_TRY(check_alike(place, s->table.rows[i].name, file, own, true, error));
    }
    return MW_OK;
}

static mw_status check_all(mw_sources *s, mw_error *error) {
    MW_TRY(check_table(s, &s->table, "settings", error));
    for (int k = 0; k < MW_BRANCHES; k++)
        MW_TRY(check_table(s, &s->branches[k], mw_branch_folders[k], error));
    MW_TRY(check_table(s, &s->selectors, MW_SELECTORS_FOLDER, error));
    for (int m = 0; m < MW_ARMS; m++) MW_TRY(check_baseline(s, m, error));
    for (int k = 0; k < MW_SOURCES_SEEDS; k++) MW_TRY(check_table(s, &s->seeds[k], "seeds", error));
    for (int k = 0; k < MW_SOURCE_KINDS; k++)
        for (int i = 0; i < MW_TABLE_ROWS; i++) {
            MW_TRY(check_name(mw_source_folders[k], s->table.rows[i].name, s->files[k][i], error));
            MW_TRY(name_file(s, mw_source_folders[k], s->files[k][i], error));
        }
    return MW_OK; /* the cost profile names its own, as every measurement of speed does */
}

mw_status mw_sources_check(mw_sources *s, mw_error *error) {
    s->revisions = json_object();
    MW_TRY(check_all(s, error));
    choose_revision(s);
    return MW_OK;
}
