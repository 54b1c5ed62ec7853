/* The progress line as a terminal sees it: a pseudo-terminal stands in for stderr. */
#include "check.h"
#include "cli/progress.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* ---- stderr on a pseudo-terminal ----------------------------------------------------------------------- */

static int terminal = -1, saved_stderr = -1;
static char screen[1 << 16];

static void terminal_begin(int columns) {
    terminal = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    int end = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    assert_true(end >= 0);
    struct termios settings;
    tcgetattr(end, &settings);
    cfmakeraw(&settings);
    tcsetattr(end, TCSANOW, &settings);
    ioctl(end, TIOCSWINSZ, &(struct winsize){.ws_row = 24, .ws_col = (unsigned short)columns});
    fflush(stderr);
    saved_stderr = dup(STDERR_FILENO);
    dup2(end, STDERR_FILENO);
    close(end);
}

/* Takes what was written since the last call into screen. A terminal passes bytes on in its own time, so a
 * mark is sent after them and awaited. */
static void terminal_read(void) {
    const char mark = '\x03';
    size_t used = 0;
    fflush(stderr);
    assert_int_equal(write(STDERR_FILENO, &mark, 1), 1);
    do {
        ssize_t size = read(terminal, screen + used, sizeof screen - used);
        assert_true(size > 0);
        used += (size_t)size;
    } while (screen[used - 1] != mark);
    screen[used - 1] = 0;
}

static void terminal_end(void) {
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    close(terminal);
}

/* Without a terminal there is not a single byte. */
static void silent_elsewhere(void **state) {
    (void)state;
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    fflush(stderr);
    saved_stderr = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    mw_progress progress;
    mw_progress_start(&progress, "work", 10);
    progress.painted -= 1;
    mw_progress_update(&progress, 5, "%s", "note");
    mw_progress_finish(&progress);
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
}

/* Pretends that the bar started so long ago and that a repaint is due. */
static void age(mw_progress *progress, double seconds) {
    progress->started = mw_cli_seconds() - seconds;
    progress->painted -= 1;
}

/* A process that is put aside between the two paints later and other digits: then once more. */
static void expect_painted(mw_progress *progress, double seconds, double done, const char *note,
                           const char *text) {
    for (int attempt = 0; attempt < 50 && (attempt == 0 || strcmp(screen, text)); attempt++) {
        age(progress, seconds);
        mw_progress_update(progress, done, note, 0.5);
        terminal_read();
    }
    assert_string_equal(screen, text);
}

static void painted_line(void **state) {
    (void)state;
    mw_progress progress;
    setenv("TERM", "xterm", 1);
    setenv("NO_COLOR", "1", 1);
    terminal_begin(100);
    mw_progress_start(&progress, "work", 20000);
    terminal_read();
    assert_string_equal(screen, "\r\x1b[Kwork [------------------------]   0% 0.00/s, ?:?? left");
    expect_painted(&progress, 10, 5000, "loss %.2f",
                   "\r\x1b[Kwork [######------------------]  25% 500/s, 0:30 left, loss 0.50");
    expect_painted(&progress, 4, 10000, "",
                   "\r\x1b[Kwork [############------------]  50% 2.50k/s, 0:04 left");
    age(&progress, 7500);
    mw_progress_update(&progress, 15000, "%s", "");
    terminal_read();
    assert_non_null(strstr(screen, " 75% 2.00/s, 41:40 left"));
    progress.done = 20000;
    age(&progress, 3725);
    mw_progress_finish(&progress);
    terminal_read();
    assert_non_null(strstr(screen, "[########################] 100% 5.37/s, 1:02:05\n"));
    mw_progress_finish(&progress);
    terminal_read();
    assert_string_equal(screen, "");

    /* An unknown total has no bar; more done than there is to do stays at the full bar. */
    mw_progress_start(&progress, "count", 0);
    terminal_read();
    expect_painted(&progress, 2, 50, "", "\r\x1b[Kcount 25.0/s, 0:02");
    mw_progress_finish(&progress);
    mw_progress_start(&progress, "more", 10);
    terminal_read();
    expect_painted(&progress, 2, 12, "", "\r\x1b[Kmore [########################] 100% 6.00/s, 0:00 left");
    mw_progress_finish(&progress);
    terminal_end();
}

static void colours_and_dumb_terminals(void **state) {
    (void)state;
    mw_progress progress;
    terminal_begin(100);
    static const char *const refusals[] = {NULL, "", "1"};
    for (int i = 0; i < 3; i++) {
        unsetenv("NO_COLOR");
        if (refusals[i]) setenv("NO_COLOR", refusals[i], 1);
        mw_progress_start(&progress, "work", 1);
        terminal_read();
        assert_true((strstr(screen, "\x1b[32m") != NULL) == (i < 2));
        mw_progress_finish(&progress);
        terminal_read();
    }
    setenv("TERM", "dumb", 1);
    mw_progress_start(&progress, "work", 1);
    mw_progress_finish(&progress);
    terminal_read();
    assert_string_equal(screen, "");
    setenv("TERM", "xterm", 1);
    terminal_end();
}

/* However narrow the terminal, a line never reaches its last column, so it never wraps. */
static void narrow_terminals(void **state) {
    (void)state;
    setenv("NO_COLOR", "1", 1);
    for (int columns = 2; columns < 120; columns++) {
        mw_progress progress;
        terminal_begin(columns);
        mw_progress_start(&progress, "a label of more than forty-eight characters, which is cut", 10);
        terminal_read();
        age(&progress, 1);
        mw_progress_update(&progress, 5, "%s",
                           "a note that is rather long, too, and is cut after sixty-three");
        terminal_read();
        assert_true(!strncmp(screen, "\r\x1b[K", 4) && strlen(screen) - 4 <= (size_t)columns - 1);
        mw_progress_finish(&progress);
        terminal_end();
    }
}

static void repaints_are_rare(void **state) {
    (void)state;
    mw_progress progress;
    terminal_begin(100);
    double begin = mw_cli_seconds();
    mw_progress_start(&progress, "work", 1e9);
    for (int i = 0; i < 70 || mw_cli_seconds() - begin < 0.35; i++) {
        mw_progress_update(&progress, i, "%d", i);
        usleep(5000);
    }
    double elapsed = mw_cli_seconds() - begin;
    terminal_read();
    mw_progress_finish(&progress);
    terminal_end();
    int paints = 0;
    for (const char *at = screen; (at = strchr(at, '\r')); at++) paints++;
    assert_true(paints >= 2 && paints <= 1 + (int)(elapsed / 0.1));
}

/* A message erases the bar first, once. */
static void messages_between_bars(void **state) {
    (void)state;
    mw_progress progress;
    terminal_begin(100);
    mw_progress_start(&progress, "work", 10);
    terminal_read();
    mw_cli_message(NULL, MW_LOG_INFO, "one");
    mw_cli_message(NULL, MW_LOG_WARNING, "two");
    terminal_read();
    assert_string_equal(screen, "\r\x1b[Kmawam: one\nmawam: warning: two\n");
    mw_progress_finish(&progress);
    terminal_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silent_elsewhere),           cmocka_unit_test(painted_line),
        cmocka_unit_test(colours_and_dumb_terminals), cmocka_unit_test(narrow_terminals),
        cmocka_unit_test(repaints_are_rare),          cmocka_unit_test(messages_between_bars),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
