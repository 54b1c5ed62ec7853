/* "Did you mean": the known word that is least far from what was typed, and files by their short names. */
#include "cli/cli.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONGEST = 40 };

/* Letters to insert, remove, replace or exchange with their neighbour (the Damerau-Levenshtein distance). */
static int distance(const char *a, const char *b) {
    int row[3][LONGEST + 1], *before = row[0], *last = row[1], *now = row[2];
    const int n = (int)strlen(a), m = (int)strlen(b);
    if (n > LONGEST || m > LONGEST) return LONGEST;
    for (int j = 0; j <= m; j++) last[j] = j;
    for (int i = 1; i <= n; i++) {
        now[0] = i;
        for (int j = 1; j <= m; j++) {
            int least = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < least) least = last[j] + 1;
            if (now[j - 1] + 1 < least) least = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < least)
                least = before[j - 2] + 1;
            now[j] = least;
        }
        int *oldest = before;
        before = last, last = now, now = oldest;
    }
    return last[m];
}

int mw_cli_near(const char *word) {
    return 1 + (int)strlen(word) / 3 + 1;
}

void mw_cli_nearer(char *out, size_t size, int *best, const char *word, const char *known) {
    const int far = distance(word, known);
    if (far >= *best || far >= (int)strlen(known)) return; /* all of a word replaced is another word */
    *best = far;
    snprintf(out, size, "%s", known);
}

mw_status mw_cli_setting(const mw_setting **setting, const char *name, mw_error *error) {
    char known[MW_NAME], meant[MW_NAME] = "";
    int best = mw_cli_near(name);
    const mw_status status = mw_setting_find(setting, name, error);
    for (int i = 0; status != MW_OK && mw_setting_at(i); i++) {
        mw_setting_name(mw_setting_at(i), known, sizeof known);
        mw_cli_nearer(meant, sizeof meant, &best, name, known);
    }
    if (!*meant) return status;
    return mw_fail(error, status, "there is no setting '%s'; did you mean '%s'?", name, meant);
}

/* The file that may have been meant among those of a kind in all folders; "" if none is near. */
static void suggest_file(char *out, size_t size, const char *kind, const char *name) {
    char root[2048], folder[2100];
    int best = mw_cli_near(name);
    *out = 0;
    for (int i = 0; mw_data_folder(root, sizeof root, i); i++) {
        snprintf(folder, sizeof folder, "%s/%s", root, kind);
        DIR *entries = opendir(folder);
        const struct dirent *entry;
        while (entries && (entry = readdir(entries))) {
            char known[MW_NAME];
            snprintf(known, sizeof known, "%.*s", (int)sizeof known - 1, entry->d_name);
            char *end = strrchr(known, '.');
            if (!end || strcmp(end, ".safetensors")) continue;
            *end = 0;
            const size_t length = strlen(name); /* a task alone means one of its bundles */
            if (!*out && length && !strncmp(known, name, length) && known[length] == '-')
                snprintf(out, size, "%s", known);
            mw_cli_nearer(out, size, &best, name, known);
        }
        if (entries) closedir(entries);
    }
}

/* what: a file of the kind, in a word. */
static mw_status find_file(char *out, size_t size, const char *kind, const char *what, const char *name,
                           mw_error *error) {
    char plain[256], meant[MW_NAME];
    const mw_status status = mw_data_path(out, size, kind, name, error);
    if (status == MW_OK) return status;
    snprintf(plain, sizeof plain, "%.200s", name);
    char *end = strrchr(plain, '.');
    if (end && !strcmp(end, ".safetensors")) *end = 0;
    suggest_file(meant, sizeof meant, kind, plain);
    return *meant ? mw_fail(error, status, "there is no %s '%s'; did you mean '%s'?", what, plain, meant)
                  : status;
}

mw_status mw_cli_bundle_path(char *out, size_t size, const char *name, mw_error *error) {
    return find_file(out, size, "bundles", "bundle", name, error);
}

mw_status mw_cli_behavior_path(char *out, size_t size, const char *name, mw_error *error) {
    return find_file(out, size, "behaviors", "behaviour", name, error);
}

/* own: of the rules of that world. */
static mw_status load(mw_bundle **bundle, const char *path, bool own, mw_error *error) {
    mw_env *env;
    MW_TRY(mw_bundle_load(bundle, path, error));
    const mw_bundle_summary about = mw_bundle_describe(*bundle);
    mw_status status = mw_env_create(&env, about.task, NULL, error);
    const char *rules = status == MW_OK ? mw_env_describe(env)->rules : "";
    if (status == MW_OK && own && strcmp(about.rules, rules) != 0)
        status = mw_fail(error, MW_ERR_MISMATCH,
                         "%.200s: it was trained under rules %.64s, the world of its task has rules %.64s; "
                         "'mawam eval --accept-rules' plays it all the same and marks the result",
                         path, about.rules, rules);
    mw_env_free(env);
    if (status == MW_OK) return MW_OK;
    if (status == MW_ERR_ARGUMENT) /* no task of ours */
        status =
            mw_fail(error, MW_ERR_UNSUPPORTED,
                    "%.200s: its task is '%.64s', and mawam has no such world to play in; 'mawam diagnose "
                    "--anchors 0' judges it by recorded data, and programs plan with it (docs/own.md)",
                    path, about.task);
    mw_bundle_free(*bundle);
    *bundle = NULL;
    return status;
}

mw_status mw_cli_bundle_load(mw_bundle **bundle, const char *path, mw_error *error) {
    return load(bundle, path, false, error);
}

mw_status mw_cli_bundle_load_own(mw_bundle **bundle, const char *path, mw_error *error) {
    return load(bundle, path, true, error);
}

static int bundles_only(const struct dirent *entry) {
    const char *end = strrchr(entry->d_name, '.');
    return end && !strcmp(end, ".safetensors");
}

mw_status mw_cli_bundles(mw_bundle_list *list, mw_error *error) {
    struct dirent **entries = NULL;
    char root[2048], folder[2100];
    int found = 0;
    list->count = 0;
    for (int i = 0; found <= 0 && mw_data_folder(root, sizeof root, i); i++) {
        snprintf(folder, sizeof folder, "%s/bundles", root);
        found = scandir(folder, &entries, bundles_only, alphasort);
        if (found < 0 && errno != ENOENT && errno != ENOTDIR)
            return mw_fail(error, errno == ENOMEM ? MW_ERR_MEMORY : MW_ERR_IO, "cannot list '%s': %s", folder,
                           strerror(errno));
    }
    for (int i = 0; i < found; i++) {
        if (list->count < (int)(sizeof list->paths / sizeof *list->paths))
            snprintf(list->paths[list->count++], sizeof *list->paths, "%s/%s", folder, entries[i]->d_name);
        else if (i == list->count)
            fprintf(stderr, "mawam: warning: '%s' has %d bundles; the first %d are looked at\n", folder,
                    found, i);
        free(entries[i]);
    }
    free(entries);
    return MW_OK;
}

int mw_cli_replay(const char *path) {
    const char *end = path ? strrchr(path, '.') : ".html";
    if (end && (!strcmp(end, ".html") || !strcmp(end, ".svg"))) return -1;
    return mw_cli_usage("--replay is a file .html or .svg, not '%s'", path);
}

mw_status mw_cli_output(const char *path, bool overwrite, mw_error *error) {
    if (!path || !*path) return MW_OK;
    MW_TRY(mw_file_writable(path, error));
    if (overwrite || access(path, F_OK) != 0) return MW_OK;
    return mw_fail(error, MW_ERR_ARGUMENT, "'%s' is there already; --overwrite replaces it", path);
}
