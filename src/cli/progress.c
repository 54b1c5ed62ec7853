/* The progress line and messages on stderr, which share it; see progress.h. */
#include "cli/progress.h"

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define REPAINT_SECONDS 0.1
#define BAR_WIDTH       24
#define SOON            3.0 /* seconds */
#define ERASE           "\r\x1b[K"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* no message in the middle of a painted line */
static bool bar_shown;                                   /* the cursor stands after a progress line */

double mw_cli_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void mw_cli_message(void *context, mw_log_level level, const char *message) {
    (void)context;
    pthread_mutex_lock(&lock);
    fprintf(stderr, "%smawam: %s%s\n", bar_shown ? ERASE : "", level == MW_LOG_WARNING ? "warning: " : "",
            message);
    bar_shown = false;
    pthread_mutex_unlock(&lock);
}

static bool stderr_is_terminal(void) {
    const char *terminal = getenv("TERM");
    return isatty(STDERR_FILENO) && !(terminal && !strcmp(terminal, "dumb"));
}

static bool colour_wanted(void) {
    const char *refused = getenv("NO_COLOR");
    return !refused || !refused[0];
}

/* "4:05", "1:02:03" */
static void duration_text(char *out, size_t size, double seconds) {
    if (!(seconds < 360000)) {
        snprintf(out, size, "?:??");
        return;
    }
    int whole = (int)(seconds + 0.5), hours = whole / 3600, minutes = whole / 60 % 60;
    if (hours > 0)
        snprintf(out, size, "%d:%02d:%02d", hours, minutes, whole % 60);
    else
        snprintf(out, size, "%d:%02d", minutes, whole % 60);
}

/* Three significant digits with a unit prefix: "12.3k/s". */
static void rate_text(char *out, size_t size, double rate) {
    static const char *const prefixes[] = {"", "k", "M", "G", "T"};
    int prefix = 0;
    for (; rate >= 999.5 && prefix < 4; prefix++) rate /= 1000;
    snprintf(out, size, "%.*f%s/s", rate < 9.995 ? 2 : rate < 99.95 ? 1 : 0, rate, prefixes[prefix]);
}

static int terminal_width(void) {
    struct winsize window;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0) return window.ws_col;
    return 80;
}

/* Everything but the bar: "45% 12.3k/s, 0:12 left, loss 0.1"; a share, whose total is 1, has no rate. */
static void numbers_text(const mw_progress *progress, double now, bool finished, char *out, size_t size) {
    double elapsed = now - progress->started, rate = elapsed > 0 ? progress->done / elapsed : 0;
    char percent[16] = "", speed[24] = "", time[24];
    if (progress->total > 0)
        snprintf(percent, sizeof percent, "%3.0f%% ", floor(100 * fmin(progress->done / progress->total, 1)));
    if (progress->total != 1) rate_text(speed, sizeof speed, rate);
    if (finished || progress->total <= 0)
        duration_text(time, sizeof time, elapsed);
    else
        duration_text(time, sizeof time, fmax(progress->total - progress->done, 0) / rate);
    snprintf(out, size, "%s%s%s%s%s%s%s", percent, speed, *speed ? ", " : "", time,
             finished || progress->total <= 0 ? "" : " left", progress->note[0] ? ", " : "", progress->note);
}

/* One whole line, cut to the width of the terminal so that it never wraps. */
static void paint(mw_progress *progress, double now, bool finished) {
    char numbers[160], bar[BAR_WIDTH + 1] = "";
    int room = terminal_width() - 1;
    numbers_text(progress, now, finished, numbers, sizeof numbers);
    int label = (int)strlen(progress->label) < room ? (int)strlen(progress->label) : room;
    room -= label;
    bool has_bar = progress->total > 0 && room >= BAR_WIDTH + 4;
    if (has_bar) {
        int full = (int)(BAR_WIDTH * fmax(0, fmin(progress->done / progress->total, 1)));
        memset(bar, '-', BAR_WIDTH);
        memset(bar, '#', (size_t)full);
        room -= BAR_WIDTH + 3;
    }
    bool colour = has_bar && colour_wanted();
    pthread_mutex_lock(&lock);
    fprintf(stderr, ERASE "%.*s", label, progress->label);
    if (has_bar) fprintf(stderr, " [%s%s%s]", colour ? "\x1b[32m" : "", bar, colour ? "\x1b[0m" : "");
    if (room > 1) fprintf(stderr, " %.*s", room - 1, numbers);
    if (finished) fputc('\n', stderr);
    fflush(stderr);
    bar_shown = !finished;
    pthread_mutex_unlock(&lock);
    progress->painted = now;
}

static double every; /* seconds between plain lines */

void mw_progress_every(double seconds) {
    every = seconds;
}

static void print_line(mw_progress *progress, double now, bool finished) {
    char numbers[160];
    numbers_text(progress, now, finished, numbers, sizeof numbers);
    pthread_mutex_lock(&lock);
    fprintf(stderr, "%s %s\n", progress->label, numbers);
    pthread_mutex_unlock(&lock);
    progress->painted = now;
}

/* The first line comes soon, so that one sees that it works; painted is the start until then. */
static bool line_due(const mw_progress *progress, double now) {
    return now - progress->painted >= (progress->painted == progress->started ? fmin(every, SOON) : every);
}

void mw_progress_start(mw_progress *progress, const char *label, double total) {
    const double now = mw_cli_seconds();
    const bool terminal = stderr_is_terminal();
    *progress = (mw_progress){.total = total,
                              .started = now,
                              .painted = now,
                              .visible = terminal && every >= 0,
                              .lines = !terminal && every > 0};
    snprintf(progress->label, sizeof progress->label, "%s", label);
    if (progress->visible) paint(progress, progress->started, false);
}

void mw_progress_update(mw_progress *progress, double done, const char *format, ...) {
    progress->done = done;
    if (!progress->visible && !progress->lines) return;
    double now = mw_cli_seconds();
    if (progress->lines ? !line_due(progress, now) : now - progress->painted < REPAINT_SECONDS) return;
    va_list args;
    va_start(args, format);
    vsnprintf(progress->note, sizeof progress->note, format, args);
    va_end(args);
    if (progress->lines)
        print_line(progress, now, false);
    else
        paint(progress, now, false);
}

void mw_progress_finish(mw_progress *progress) {
    if (progress->visible) paint(progress, mw_cli_seconds(), true);
    if (progress->lines && progress->painted > progress->started)
        print_line(progress, mw_cli_seconds(), true);
    progress->visible = progress->lines = false;
}
