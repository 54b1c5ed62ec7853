/* The folders of src/ are the architecture: this reads every #include there and fails where one points
 * against the arrows. The checker itself is tried on made-up violations first. */
#include "check.h"

#include <dirent.h>
#include <sys/stat.h>

/* What a folder may include besides itself and core. The program is a client: it includes itself, the live
 * view and the public headers only, and so is the live view. */
static const struct {
    const char *folder, *may[12];
} arrows[] = {
    {"core", {NULL}},
    {"nn", {NULL}},
    {"env", {NULL}},
    {"data", {"nn", NULL}},
    {"behavior", {"env", "data", "nn", NULL}},
    {"model", {"data", "nn", NULL}},
    {"plan", {"model", "nn", "env", NULL}}, /* env: the simulator as a judge */
    {"train", {"plan", "model", "data", "nn", NULL}},
    {"eval", {"plan", "model", "nn", "behavior", "env", "data", NULL}},
    /* libmawam-study */
    {"routing", {"eval", "plan", "model", "nn", "env", "data", NULL}},
    {"report", {"routing", "eval", "behavior", "env", NULL}},
    {"study", {"report", "routing", "eval", "train", "plan", "model", "nn", "behavior", "env", "data", NULL}},
    {"verify", {"study", "report", "routing", "eval", "plan", "model", "nn", "env", "data", NULL}},
    {"live", {NULL}},
    {"web", {"live", "eval", NULL}},
    {"cli", {"live", NULL}},
};

/* Whose interface a public header is; who includes it looks at that folder. */
static const struct {
    const char *header, *folder;
} owners[] = {
    {"mawam/error.h", "core/"},      {"mawam/cpu.h", "core/"},      {"mawam/file.h", "core/"},
    {"mawam/log.h", "core/"},        {"mawam/verify.h", "verify/"}, {"mawam/env.h", "env/"},
    {"mawam/replay.h", "env/"},      {"mawam/data.h", "data/"},     {"mawam/behavior.h", "behavior/"},
    {"mawam/plan.h", "plan/"},       {"mawam/train.h", "train/"},   {"mawam/eval.h", "eval/"},
    {"mawam/sweep.h", "eval/"},      {"mawam/study.h", "study/"},   {"mawam/bench.h", "study/"},
    {"mawam/routing.h", "routing/"},
};

/* "env/mpe" lies in "env". */
static bool lies_in(const char *path, const char *folder) {
    const size_t length = strlen(folder);
    return !strncmp(path, folder, length) && path[length] == '/';
}

static bool known(const char *path) {
    for (size_t i = 0; i < sizeof arrows / sizeof *arrows; i++)
        if (lies_in(path, arrows[i].folder)) return true;
    return false;
}

/* Is a public header libmawam-study's? */
static bool of_study(const char *to) {
    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++)
        if (!strcmp(to, owners[i].header))
            return strstr("routing/report/study/verify/", owners[i].folder) != NULL;
    return false;
}

/* May the file `from` (relative to src/) include `to`? */
static bool allowed(const char *from, const char *to) {
    if (!known(from)) return false;
    if (lies_in(to, "mawam")) {
        if (lies_in(from, "cli")) return true;
        if (lies_in(from, "live")) return !of_study(to);
        for (size_t i = 0; i < sizeof owners / sizeof *owners; i++)
            if (!strcmp(to, owners[i].header)) return allowed(from, owners[i].folder);
        return false; /* all of them at once, or one without an owner */
    }
    if (lies_in(to, "core")) return !lies_in(from, "cli") && !lies_in(from, "live");
    for (size_t i = 0; i < sizeof arrows / sizeof *arrows; i++) {
        if (!lies_in(from, arrows[i].folder)) continue;
        if (lies_in(to, arrows[i].folder)) return true;
        for (int k = 0; arrows[i].may[k]; k++)
            if (lies_in(to, arrows[i].may[k])) return true;
    }
    return false;
}

/* core/json.h makes jansson's calls remember failures; who goes past it would not. The program and the live
 * view have no other, and web stands in for jansson itself. */
static bool may_use_jansson(const char *from) {
    return !strcmp(from, "core/json.h") || lies_in(from, "cli") || lies_in(from, "live") ||
           lies_in(from, "web");
}

/* Every #include "..." of a text, and <...> of what is ours; complaints go to `report`. Returns the number of
 * forbidden ones. */
static int check_text(const char *from, FILE *text, char *report, size_t size) {
    char line[1024], to[256];
    int forbidden = 0;
    while (fgets(line, sizeof line, text)) {
        bool good = true;
        if (sscanf(line, " # include \"%255[^\"]\"", to) == 1)
            good = allowed(from, to);
        else if (sscanf(line, " # include <%255[^>]>", to) == 1)
            good = strcmp(to, "jansson.h") ? !(known(to) || lies_in(to, "mawam")) || allowed(from, to)
                                           : may_use_jansson(from);
        if (good) continue;
        forbidden++;
        const size_t used = strlen(report);
        snprintf(report + used, size - used, "\n  src/%s includes %s", from, to);
    }
    return forbidden;
}

static int files_seen;

static int check_folder(const char *folder, char *report, size_t size) {
    char path[2048];
    snprintf(path, sizeof path, "%s/src/%s", SOURCE_DIR, folder);
    int forbidden = 0;
    DIR *entries = opendir(path);
    if (!entries) fail_msg("cannot read %s", path);
    for (struct dirent *entry; (entry = readdir(entries));) {
        char inside[512], full[2600];
        struct stat status;
        if (entry->d_name[0] == '.') continue;
        snprintf(inside, sizeof inside, "%s%s%s", folder, *folder ? "/" : "", entry->d_name);
        snprintf(full, sizeof full, "%s/src/%s", SOURCE_DIR, inside);
        assert_int_equal(stat(full, &status), 0);
        if (S_ISDIR(status.st_mode)) {
            forbidden += check_folder(inside, report, size);
            continue;
        }
        const char *end = strrchr(entry->d_name, '.');
        if (!end || (strcmp(end, ".c") && strcmp(end, ".h"))) continue;
        FILE *text = fopen(full, "r");
        assert_non_null(text);
        forbidden += check_text(inside, text, report, size);
        fclose(text);
        files_seen++;
    }
    closedir(entries);
    return forbidden;
}

static void checker_notices(void **state) {
    (void)state;
    static const struct {
        const char *from, *text;
        int forbidden;
    } cases[] = {
        {"nn/made_up.c", "#include \"model/inverse.h\"\n", 1},
        {"core/made_up.c", "#include <stdio.h>\n#include \"core/pool.h\"\n  #  include \"nn/ops.h\"\n", 1},
        {"env/mpe/made_up.h",
         "#include \"env/env.h\"\n#include \"data/normalizer.h\"\n#include \"verify/env.h\"", 2},
        {"model/rwm/made_up.c", "#include \"env/env.h\"\n#include \"model/inverse.h\"\n", 1},
        {"model/flow/made_up.c", "#include \"plan/scorer.h\"\n#include \"nn/mlp.h\"\n", 1},
        {"train/made_up.c", "#include \"eval/eval.h\"\n#include \"plan/bundle.h\"\n", 1},
        {"eval/made_up.c", "#include \"train/train.h\"\n#include \"report/table.h\"\n", 2},
        {"plan/made_up.c", "#include \"env/env.h\"\n#include \"behavior/actor.h\"\n", 1},
        {"model/made_up.c", "#include \"mawam/data.h\"\n#include \"mawam/train.h\"\n", 1},
        {"env/made_up.c", "#include \"mawam/env.h\"\n#include \"mawam/mawam.h\"\n", 1},
        {"study/made_up.c", "#include \"cli/cli.h\"\n#include \"env/env.h\"\n#include \"plan/planner.h\"\n",
         1},
        {"eval/made_up.c", "#include \"mawam/routing.h\"\n#include \"verify/verify.h\"\n", 2},
        {"report/made_up.c", "#include \"mawam/routing.h\"\n#include \"mawam/bench.h\"\n", 1},
        {"live/made_up.c", "#include <mawam/mawam.h>\n#include <mawam/study.h>\n", 1},
        {"behavior/made_up.c", "#include \"env/env.h\"\n#include \"nn/mlp.h\"\n#include \"data/x.h\"\n", 0},
        {"cli/made_up.c", "#include \"cli/cli.h\"\n#include <mawam/mawam.h>\n#include <jansson.h>\n", 0},
        {"cli/made_up.c", "#include \"study/chain.h\"\n#include \"core/error.h\"\n#include <data/x.h>\n", 3},
        {"live/made_up.c", "#include \"live/x.h\"\n#include <mawam/mawam.h>\n#include \"core/json.h\"\n", 1},
        {"live/made_up.c", "#include \"cli/cli.h\"\n#include \"env/env.h\"\n", 2},
        {"stray/made_up.c", "#include \"core/error.h\"\n", 1}, /* a folder nobody planned */
        {"nn/made_up.c", "#include \"made_up.h\"\n", 1},       /* includes name their folder */
        {"nn/made_up.c", "#include \"core_of_it/x.h\"\n", 1},
        {"data/made_up.c", "#include <jansson.h>\n#include \"core/json.h\"\n", 1},
        {"core/json.h", "#include <jansson.h>\n", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char report[2048] = "", text[512];
        snprintf(text, sizeof text, "%s", cases[i].text);
        FILE *file = fmemopen(text, strlen(text), "r");
        assert_non_null(file);
        const int forbidden = check_text(cases[i].from, file, report, sizeof report);
        fclose(file);
        if (forbidden != cases[i].forbidden)
            fail_msg("%s with '%s': %d forbidden, expected %d", cases[i].from, text, forbidden,
                     cases[i].forbidden);
    }
}

static void includes_follow_the_arrows(void **state) {
    (void)state;
    static char report[16384];
    files_seen = 0;
    if (check_folder("", report, sizeof report) > 0) fail_msg("forbidden includes:%s", report);
    assert_true(files_seen > 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checker_notices),
        cmocka_unit_test(includes_follow_the_arrows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
