/* Ctrl-C, SIGTERM and the loss of the terminal, in every command that works for longer than a moment: 130,
 * soon, and nothing left behind. */
#include "dataset/fixture.h"
#include "dataset/sparse.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

enum {
    SOON = 60,
    LATE = 600
}; /* seconds of a processor, at level v2 or with a sanitizer; on a busy machine */

static double seconds_of(clockid_t clock) {
    struct timespec time = {0};
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* What ends by itself is not waited for: its exit code tells why. */
static bool has_ended(pid_t program) {
    siginfo_t info = {0};
    assert_int_equal(waitid(P_PID, (id_t)program, &info, WEXITED | WNOHANG | WNOWAIT), 0);
    return info.si_pid == program;
}

/* Until a program works: it has had some time of a processor, which on a busy machine takes longer. */
static void wait_for_work(pid_t program) {
    clockid_t its;
    const double began = seconds_of(CLOCK_MONOTONIC);
    assert_int_equal(clock_getcpuclockid(program, &its), 0);
    while (seconds_of(its) < 0.3 && !has_ended(program) && seconds_of(CLOCK_MONOTONIC) - began < LATE)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

static bool is_empty(const char *folder) {
    DIR *open_folder = opendir(folder);
    int entries = 0;
    assert_non_null(open_folder);
    while (readdir(open_folder)) entries++;
    closedir(open_folder);
    return entries <= 2; /* itself and what it lies in */
}

/* Until a program writes: one that leaves the work to a process of its own, whose time shows only when that
 * ends. */
static void wait_for_file(pid_t program) {
    const double began = seconds_of(CLOCK_MONOTONIC);
    while (is_empty(scratch("out")) && !has_ended(program) && seconds_of(CLOCK_MONOTONIC) - began < LATE)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

/* Starts "mawam WORDS" in the folder out, with "@" for the source tree. */
static pid_t start(const char *words) {
    char text[1024], *argument[32] = {NULL}, *end = text;
    int count = 0;
    for (const char *c = words; *c; c++)
        end += *c == '@' ? sprintf(end, "%s", SOURCE_DIR) : sprintf(end, "%c", *c);
    argument[count++] = (char[]){"mawam"};
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) argument[count++] = word;
    const pid_t child = fork();
    if (child != 0) return child;
    setenv("MAWAM_DATA", SOURCE_DIR, 1);
    if (chdir(scratch("out")) != 0) _exit(99);
    dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
    dup2(STDOUT_FILENO, STDERR_FILENO);
    signal(SIGHUP, SIG_DFL); /* nohup had it ignored, and the program would heed that */
    execv(MAWAM_PROGRAM, argument);
    _exit(99);
}

static double processor_seconds(const struct rusage *use) {
    return (double)(use->ru_utime.tv_sec + use->ru_stime.tv_sec) +
           1e-6 * (double)(use->ru_utime.tv_usec + use->ru_stime.tv_usec);
}

static void stopped(const char *words, int signal_number, void (*wait)(pid_t)) {
    const pid_t child = start(words);
    assert_true(child > 0);
    wait(child);
    clockid_t its;
    assert_int_equal(clock_getcpuclockid(child, &its), 0);
    const double asked = seconds_of(CLOCK_MONOTONIC), worked = seconds_of(its);
    kill(child, signal_number);
    int status;
    struct rusage use;
    assert_int_equal(wait4(child, &status, 0, &use), child);
    const double took = seconds_of(CLOCK_MONOTONIC) - asked, worked_on = processor_seconds(&use) - worked;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 130 || worked_on > SOON || took > LATE)
        fail_msg("mawam %s: %s %d after %.1f s, %.1f s of a processor", words,
                 WIFEXITED(status) ? "exit code" : "signal",
                 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), took, worked_on);
    if (rmdir(scratch("out")) != 0 || mkdir(scratch("out"), 0777) != 0)
        fail_msg("mawam %s leaves files", words);
}

static void every_command(void **state) {
    (void)state;
    static const char *const commands[] = {
        "eval spread-medium --threads 1 --json=x --replay x.html",
        "eval spread-medium --arms reactive --seeds 1 --episodes 1 --timed 100000 --threads 1",
        "eval spread-medium --sweep M=8,16 --threads 1",
        "diagnose spread-medium --anchors 100000 --threads 1 --json=x",
        "diagnose spread-medium ../spread-medium --anchors 0 --snippets 500000 --threads 1 --json=x",
        "diagnose --routing spread-medium ../spread-medium --threads 1 --json=x",
        "bench --seconds 60 --threads 1",
        "bench --cost spread-medium 3m-medium --threads 1",
        "env play 3m --episodes 10000000 --replay x.html",
        "behavior eval @/behaviors/spread-medium.safetensors --episodes 10000000 --threads 1",
        "behavior list spread --episodes 10000000 --threads 1",
        "data make spread-medium -o . --transitions 1e8 --threads 1",
        "data import --from madiff ../large -o imported --task toy",
        "data check ../large ../large ../large ../large ../large ../large ../large ../large",
        "data info ../large --json"};
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        stopped(commands[i], signals[i % 3], wait_for_work);
}

/* Its folder is made first, and stays. */
static void demonstration(void **state) {
    (void)state;
    assert_int_equal(mkdir(scratch("shown"), 0777), 0);
    stopped("demo spread-medium -o ../shown --threads 1", SIGINT, wait_for_work);
    assert_int_equal(rmdir(scratch("shown")), 0);
}

/* The HDF5 library works in a child process, which is not asked but ended. */
static void child_process(void **state) {
    (void)state;
#ifndef MAWAM_HAVE_HDF5
    skip();
#endif
    stopped("data export --to hdf5 ../many -o x.h5", SIGINT, wait_for_file);
}

static int set_up(void **state) {
    mw_error error;
    mw_make_options make;
    mw_make_result made;
    mw_make_options_init(&make, sizeof make);
    make.transitions = 100000;
    make.behaviors = SOURCE_DIR "/behaviors";
    if (scratch_setup(state) != 0 || mkdir(scratch("out"), 0777) != 0) return -1;
    if (mw_dataset_make("spread-medium", scratch("spread-medium"), &make, &made, &error) != MW_OK) return -1;
    return sparse_make(scratch("large"), 3, 100, 2, 20000, 25) &&
                   sparse_make(scratch("many"), 3, 10, 2, 10000, 25)
               ? 0
               : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_command), cmocka_unit_test(demonstration),
                                       cmocka_unit_test(child_process)};
    return cmocka_run_group_tests(tests, set_up, scratch_teardown);
}
