/* The study as a graph of commands: make, ninja, Slurm and a list of lines arrive at what one process does,
 * tasks can be killed and run again, and several processes share a folder and its record. */
#include "cli/program.h"
#include "core/file.h"
#include "core/json.h"
#include "study/graph.h"
#include "study/journal.h"
#include "study/mark.h"

#include <fcntl.h>
#include <time.h>

static const char training[] =
    "--set flow.dim=16 --set flow.steps=8 --set flow.batch=4 --set rwm.steps=6 --set rwm.batch=8 "
    "--set rwm.hidden=8 --set inverse.hidden=8 --set inverse.steps=8 --set inverse.batch=4 "
    "--set mono.hidden=8 --set mono.batch=8 --set independent.hidden=8 --set independent.batch=8 "
    "--set q.hidden=8 --set q.batch=8 --set direct.hidden=8 --set direct.batch=8 --set bc.hidden=8 "
    "--set bc.steps=6 --set bc.batch=4 --set plan.target=0.9 --set flow.forecast=8 "
    "--set flow.forecast_batch=8 --set advantage.steps=8 --set advantage.hidden=8 "
    "--set advantage.features=4 --set value.steps=8 --set value.hidden=8";
static const char parts[] = "--parts main,routing,selectors,baselines,seeds --baselines bc";

/* "mawam study COMMAND" with the options of the tiny study in a folder, and what else is given. */
static const char *study(const char *command, const char *folder, const char *more) {
    static char lines[4][2400];
    static int next;
    char *line = lines[next++ % 4];
    snprintf(
        line, sizeof lines[0],
        "'%s' study %s --dir %s %s --behaviors %s/behaviors --transitions 600 --training-seeds 2 --seeds 2 "
        "--episodes 1,mpe=2 --timed 1 --anchors 2 --snippets 8 %s",
        MAWAM_PROGRAM, command, scratch(folder), training, SOURCE_DIR, more);
    return line;
}

static const char *plan(const char *folder, const char *format, const char *file) {
    static char line[3200];
    char more[700];
    snprintf(more, sizeof more, "tag-medium spread-random %s --format %s --program '%s' > %s", parts, format,
             MAWAM_PROGRAM, scratch(file));
    snprintf(line, sizeof line, "%s", study("plan", folder, more));
    return line;
}

static void expect(int code, const char *line) {
    const int seen = program_shell(line);
    if (seen != code) fail_msg("%s: exit code %d, expected %d: %s", line, seen, code, program_output);
}

static bool there(const char *program) {
    char line[200];
    snprintf(line, sizeof line, "command -v %s", program);
    return program_shell(line) == 0;
}

/* ---- equal results ---- */

/* Times, and what depends on them: a bundle's file names its training's seconds. */
static bool may_differ(const char *key) {
    static const char *const keys[] = {"seconds",    "provenance", "bundle",  "command",
                                       "generation", "scoring",    "decision"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!strcmp(key, keys[i])) return true;
    return false;
}

static void remove_times(json_t *value) {
    const char *key;
    json_t *member;
    void *next;
    size_t i;
    json_object_foreach_safe(value, next, key, member) {
        if (may_differ(key))
            json_object_del(value, key);
        else
            remove_times(member);
    }
    json_array_foreach(value, i, member) remove_times(member);
}

static const char *const results[] = {
    "data/tag-medium/dataset",    "data/spread-random/dataset", "eval/tag-medium",
    "eval/spread-random",         "diagnose/tag-medium",        "diagnose/spread-random",
    "results/tag-medium",         "results/spread-random",      "routing/tag-medium",
    "routing/spread-random",      "selectors/tag-medium",       "baselines/bc/tag-medium",
    "baselines/bc/spread-random", "seeds/1/eval/tag-medium",    "seeds/1/results/tag-medium"};

static json_t *result(const char *folder, const char *name) {
    char path[200];
    json_t *root;
    mw_error error;
    snprintf(path, sizeof path, "%s/%s.json", folder, name);
    CHECK_OK(mw_json_read(&root, scratch(path), &error), error);
    remove_times(root);
    return root;
}

/* Who has played, by weights and plan: "spread-random eval ... player", to be compared in any order. */
typedef struct {
    char lines[32][200];
    int count;
} plays;

static mw_status take_play(void *context, const json_t *line, mw_error *error) {
    (void)error;
    plays *p = context;
    char name[160];
    const char *player = json_string_value(mw_json_at(line, "played.player"));
    if (!player || !mw_task_of_line(name, line)) return MW_OK;
    assert_true(p->count < 32);
    snprintf(p->lines[p->count++], sizeof p->lines[0], "%s %s", name, player);
    return MW_OK;
}

static int by_text(const void *a, const void *b) {
    return strcmp(a, b);
}

static plays plays_of(const char *folder) {
    plays p = {0};
    mw_error error;
    CHECK_OK(mw_journal_read(scratch(folder), take_play, &p, &error), error);
    qsort(p.lines, (size_t)p.count, sizeof p.lines[0], by_text);
    return p;
}

static void expect_same(const char *folder) {
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        json_t *one = result("whole", results[i]), *other = result(folder, results[i]);
        if (!json_equal(one, other)) fail_msg("%s of %s is another than of one process", results[i], folder);
        json_decref(one);
        json_decref(other);
    }
    const plays one = plays_of("whole"), other = plays_of(folder);
    assert_int_equal(one.count, 2 + 1 + 2 + 1); /* settings, selectors, baselines, a further seed */
    assert_int_equal(other.count, one.count);
    for (int i = 0; i < one.count; i++) assert_string_equal(other.lines[i], one.lines[i]);
}

static void test_whole(void **state) {
    (void)state;
    char more[200];
    snprintf(more, sizeof more, "tag-medium spread-random --threads 1 %s", parts);
    expect(0, study("run", "whole", more));
    snprintf(more, sizeof more, "tag-medium spread-random %s", parts);
    expect(0, study("status", "whole", more)); /* marks are those of its tasks */
    assert_non_null(strstr(program_output, "18 tasks: 18 done, 0 running, 0 failed"));
}

/* ---- lines ---- */

/* Every need is of an earlier level; a level at a time, as docs/cluster.md does it with GNU parallel. */
static void test_lines(void **state) {
    (void)state;
    static char text[1 << 16];
    char *rest, line[1200];
    int count = 0, levels = 0;
    expect(0, plan("lines", "lines", "plan.tsv"));
    text[scratch_read(scratch("plan.tsv"), text, sizeof text - 1)] = 0;
    assert_int_equal(strncmp(text, "#task\tlevel\tthreads\tseconds\tMiB\tneeds\t", 38), 0);
    strtok_r(text, "\n", &rest);
    for (char *row; (row = strtok_r(NULL, "\n", &rest)); count++) {
        int fields = 1, level;
        for (const char *c = row; *c; c++) fields += *c == '\t';
        assert_int_equal(fields, 9);
        assert_int_equal(sscanf(row, "%*[^\t]\t%d\t1\tunknown\tunknown\t", &level), 1);
        assert_true(level >= 0 && (level > 0) == !strstr(row, "/data\t0\t"));
        if (level >= levels) levels = level + 1;
    }
    assert_int_equal(count, 18); /* seven of each setting, selectors, a further seed's three */
    assert_int_equal(levels, 4);
    for (int level = 0; level < levels; level++) {
        snprintf(line, sizeof line,
                 "awk -F'\\t' '$2 == \"%d\" {printf \"%%s%%c\", $9, 0}' %s | xargs -0 -n 1 -P 2 sh -c", level,
                 scratch("plan.tsv"));
        expect(0, line);
    }
    expect_same("lines");
}

/* ---- make, and what is killed ---- */

static const char *task_of(const char *command, const char *folder, const char *task, const char *more) {
    char all[400];
    snprintf(all, sizeof all, "%s --threads 1 --task %s %s", parts, task, more);
    return study(command, folder, all);
}

static double seconds_since(struct timespec start) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start.tv_sec) + 1e-9 * (double)(now.tv_nsec - start.tv_nsec);
}

static void wait_for(const char *path) {
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    char text[8];
    while (!mw_file_exists(path) || scratch_read(path, text, sizeof text) == 0) {
        if (seconds_since(start) > 60) fail_msg("no '%s' after a minute", path);
        usleep(2000);
    }
}

static pid_t begin(const char *line) {
    char command[4200];
    snprintf(command, sizeof command, "exec %s > /dev/null 2>&1", line);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    return child;
}

static int end(pid_t child) {
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void expect_status(const char *folder, const char *words) {
    char more[200];
    snprintf(more, sizeof more, "tag-medium spread-random %s", parts);
    expect(0, study("status", folder, more));
    if (!strstr(program_output, words)) fail_msg("no '%s' in: %s", words, program_output);
}

/* A task that is killed is not done and not running, and make does it again. */
static void test_make(void **state) {
    (void)state;
    char line[300];
    expect(0, task_of("run", "made", "spread-random/data", ""));
    const pid_t child = begin(task_of("run", "made", "spread-random/train", ""));
    wait_for(scratch("made/tasks/spread-random/train.lock"));
    kill(child, SIGSTOP);
    expect_status("made", "1 done, 1 running, 0 failed");
    snprintf(line, sizeof line, "running  spread-random/train: process %ld on ", (long)child);
    assert_non_null(strstr(program_output, line));
    kill(child, SIGKILL);
    assert_int_equal(end(child), -SIGKILL);
    expect_status("made", "1 done, 0 running, 0 failed");
    assert_false(mw_file_exists(scratch("made/results/spread-random.json")));
    if (!there("make")) skip();
    expect(0, plan("made", "make", "plan.mk"));
    snprintf(line, sizeof line, "MAKEFLAGS= make -j2 -f %s", scratch("plan.mk"));
    expect(0, line);
    expect_same("made");
    expect(0, line);
    assert_non_null(strstr(program_output, "Nothing to be done"));
    expect_status("made", "18 done, 0 running, 0 failed");
    /* a plan that is printed again asks again, and everything is kept */
    struct timespec moment[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}};
    assert_int_equal(utimensat(AT_FDCWD, scratch("plan.mk"), moment, 0), 0);
    expect(0, line);
    assert_non_null(strstr(program_output, "kept"));
    for (const char *row = program_output; (row = strstr(row, "[ 1/1]")); row += 6)
        if (strncmp(row + strcspn(row, "\n") - 4, "kept", 4)) fail_msg("done again: %.200s", row);
    expect_same("made");
}

static void test_ninja(void **state) {
    (void)state;
    char line[300];
    expect(0, plan("ninja", "ninja", "plan.ninja"));
    if (!there("ninja")) skip();
    snprintf(line, sizeof line, "ninja -n -f %s", scratch("plan.ninja"));
    expect(0, line);
    assert_non_null(strstr(program_output, "[18/18] "));
    snprintf(line, sizeof line, "ninja -j2 -f %s", scratch("plan.ninja"));
    expect(0, line);
    expect_same("ninja");
    expect(0, line);
    assert_non_null(strstr(program_output, "no work to do"));
}

/* ---- Slurm, by programs that stand for its own ---- */

/* Runs every element of an array at once, in a shell of its own as a node would, and tells what it was asked
 * for; an element that waits for one that was never submitted fails. With HURRY the first element of the
 * array named so is told that its time is over. */
static const char sbatch[] =
    "#!/bin/sh\n"
    "cd \"$(dirname \"$0\")\" || exit 1\n"
    "id=$(($(cat id 2> /dev/null || echo 100) + 1)); echo $id > id; cat > script.$id\n"
    "echo \"$id $*\" >> asked\n"
    "for word in \"$@\"; do case $word in\n"
    "--array=*) array=$(echo ${word#--array=} | tr , ' ') ;;\n"
    "--job-name=*) name=${word#--job-name=mawam-} ;;\n"
    "--dependency=aftercorr:*)\n"
    "  for other in $(echo ${word#*:} | tr : ' '); do for i in $array; do\n"
    "    test -f ended.$other.$i || { echo \"$name waits for $other $i\" >&2; exit 1; }\n"
    "  done; done ;;\n"
    "esac; done\n"
    "cd \"$WHERE\" || exit 1\n"
    "for i in $array; do\n"
    "  SLURM_ARRAY_JOB_ID=$id SLURM_ARRAY_TASK_ID=$i sh \"$OLDPWD/script.$id\" > /dev/null 2>&1 & job=$!\n"
    "  if [ \"$name\" = \"$HURRY\" ]; then\n"
    "    until test -s $LOCK; do sleep 0.01; done; kill -USR1 $job; wait $job; echo $? > \"$OLDPWD/code\"\n"
    "    HURRY=; test -s \"$OLDPWD/again\" || exit 1\n"
    "    SLURM_ARRAY_JOB_ID=$id SLURM_ARRAY_TASK_ID=$i sh \"$OLDPWD/script.$id\" > /dev/null 2>&1 & job=$!\n"
    "  fi\n"
    "  wait $job && touch \"$OLDPWD/ended.$id.$i\"\n"
    "done\n"
    "echo \"$id;cluster\"\n";
static const char scontrol[] = "#!/bin/sh\necho \"$*\" >> \"$(dirname \"$0\")/again\"\n";

static void write_program(const char *name, const char *text, size_t size) {
    char path[64];
    snprintf(path, sizeof path, "bin/%s", name);
    scratch_write(scratch(path), text, size);
    assert_int_equal(chmod(scratch(path), 0755), 0);
}

static void test_slurm(void **state) {
    (void)state;
    char line[900], text[8192];
    assert_int_equal(mkdir(scratch("bin"), 0777), 0);
    write_program("sbatch", sbatch, sizeof sbatch - 1);
    write_program("scontrol", scontrol, sizeof scontrol - 1);
    expect(0, plan("slurm", "slurm", "plan.sh"));
    snprintf(line, sizeof line,
             "export WHERE=\"$PWD\" HURRY=train LOCK=%s PATH=\"$PWD/%s:$PATH\"; "
             "timeout 300 sh %s --partition=short",
             scratch("slurm/tasks/*/train.lock"), scratch("bin"), scratch("plan.sh"));
    expect(0, line);
    expect_same("slurm");
    text[scratch_read(scratch("bin/asked"), text, sizeof text - 1)] = 0;
    int arrays = 0;
    for (const char *row = text; (row = strchr(row, '\n')); row++) arrays++;
    assert_int_equal(arrays, 11); /* eight stages, and three of a further seed */
    assert_non_null(strstr(text, "--job-name=mawam-train --array="));
    assert_non_null(strstr(text, "--dependency=aftercorr:101 --partition=short\n"));
    assert_non_null(strstr(text, "--requeue"));
    assert_non_null(strstr(text, "--job-name=mawam-seeds_1_train --array="));
    text[scratch_read(scratch("bin/code"), text, sizeof text - 1)] = 0;
    assert_string_equal(text, "130\n");
    text[scratch_read(scratch("bin/again"), text, sizeof text - 1)] = 0;
    assert_int_equal(strncmp(text, "requeue 102_", 12), 0);
}

/* ---- failures ---- */

static void test_failures(void **state) {
    (void)state;
    expect(1, task_of("run", "whole", "spread-random/soul", ""));
    assert_non_null(strstr(program_output, "there is no task 'spread-random/soul'"));
    expect(1, task_of("run", "whole", "spread-random/eval", "--drop-data"));
    expect(1, task_of("run", "whole", "spread-random/eval", "--seed 7"));
    assert_non_null(strstr(program_output, "needs 'spread-random/data', which is not done"));
    expect_status("whole", "17 done, 0 running, 1 failed");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole), cmocka_unit_test(test_lines), cmocka_unit_test(test_make),
        cmocka_unit_test(test_ninja), cmocka_unit_test(test_slurm), cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
