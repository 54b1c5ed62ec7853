/* All files of a report; see report.h. */
#include "report/report.h"
#include "report/page.h"

#include "core/file.h"
#include "core/json.h"
#include "core/numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static mw_status write_text(const mw_sources *sources, const char *folder, const char *name,
                            void (*put)(const mw_sources *, FILE *), mw_error *error) {
    char path[1024], *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream) return mw_fail(error, MW_ERR_MEMORY, "cannot write %s", name);
    put(sources, stream);
    if (fclose(stream) != 0) {
        free(text);
        return mw_fail(error, MW_ERR_MEMORY, "cannot write %s", name);
    }
    snprintf(path, sizeof path, "%.900s/%s", folder, name);
    const mw_status status = mw_file_write(path, text, size, error);
    free(text);
    return status;
}

static mw_status write_page(const mw_sources *sources, const mw_chapter *chapter, int *shown,
                            const char *folder, mw_error *error) {
    char path[1024], *text = NULL;
    const char *name = chapter ? chapter->id : "index";
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream) return mw_fail(error, MW_ERR_MEMORY, "cannot write the page '%s'", name);
    mw_status status =
        chapter ? mw_page_chapter(sources, chapter, shown, stream) : mw_page_index(sources, shown, stream);
    if (fclose(stream) != 0 || status != MW_OK)
        status = mw_fail(error, MW_ERR_MEMORY, "cannot write the page '%s'", name);
    snprintf(path, sizeof path, "%.900s/%s.html", folder, name);
    if (status == MW_OK) status = mw_file_write(path, text, size, error);
    free(text);
    return status;
}

/* What is not of an earlier report under the names that this one writes. */
static mw_status refuse_strangers(const char *folder, mw_error *error) {
    static const char *const files[] = {"README.md", "index.html", "settings.csv", "summary.json"};
    char path[1024];
    json_t *earlier = NULL;
    mw_error ignored;
    snprintf(path, sizeof path, "%.900s/summary.json", folder);
    const bool own = mw_file_exists(path) && mw_json_read(&earlier, path, &ignored) == MW_OK &&
                     json_object_get(earlier, "mawam");
    json_decref(earlier);
    for (int i = 0; i < 4 && !own; i++) {
        char other[1024];
        snprintf(other, sizeof other, "%.900s/%s", folder, files[i]);
        if (mw_file_exists(other))
            return mw_fail(error, MW_ERR_ARGUMENT,
                           "'%.900s' is there already and not of a report; 'overwrite' replaces it", other);
    }
    return MW_OK;
}

static mw_status write_all(const mw_sources *sources, const char *folder, bool overwrite, mw_error *error) {
    const mw_chapter *chapter;
    char path[1024];
    int shown[MW_ITEMS] = {0};
    if (strlen(folder) > 900) return mw_fail(error, MW_ERR_ARGUMENT, "'%.40s...' is too long", folder);
    if (!overwrite) MW_TRY(refuse_strangers(folder, error));
    MW_TRY(mw_dir_make(folder, error));
    MW_TRY(mw_sources_write(sources, folder, overwrite, error));
    json_t *summary = mw_report_summary(sources);
    snprintf(path, sizeof path, "%.900s/summary.json", folder);
    const mw_status status = mw_json_write(summary, path, error);
    json_decref(summary);
    MW_TRY(status);
    MW_TRY(write_text(sources, folder, "settings.csv", mw_report_csv, error));
    MW_TRY(write_text(sources, folder, "README.md", mw_report_markdown, error));
    for (int i = 0; (chapter = mw_chapter_at(i)); i++)
        MW_TRY(write_page(sources, chapter, shown, folder, error));
    return write_page(sources, NULL, shown, folder, error);
}

mw_status mw_report_write(const mw_sources *sources, const char *folder, bool overwrite, mw_error *error) {
    MW_PLAIN_NUMBERS;
    return write_all(sources, folder, overwrite, error);
}
