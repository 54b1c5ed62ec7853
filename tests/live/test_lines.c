/* Connections and their deadlines, over pairs of sockets and with a clock of the test's own. */
#include "live/lines.h"
#include "check.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 200 };
static mw_lines lines;
static mw_line *line[MOST];
static int far[MOST], count;

static int join_from(const char *address, double now) {
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    int pair[2];
    const bool is_four = inet_pton(AF_INET, address, &four.sin_addr) == 1;
    assert_true(is_four || inet_pton(AF_INET6, address, &six.sin6_addr) == 1);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    line[count] = mw_lines_join(&lines, pair[0], is_four ? (void *)&four : (void *)&six, now);
    assert_non_null(line[count]);
    far[count] = pair[1];
    return count++;
}

/* As the other side sees it. */
static bool is_open(int which) {
    char byte;
    return recv(far[which], &byte, 1, MSG_DONTWAIT) < 0;
}

static int open_ones(int from, int to) {
    int found = 0;
    for (int i = from; i < to; i++) found += is_open(i);
    return found;
}

static int set_up(void **state) {
    (void)state;
    mw_lines_init(&lines);
    count = 0;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    for (int i = 0; i < count; i++) {
        const int own = line[i]->socket;
        mw_lines_leave(&lines, line[i]);
        close(own);
        close(far[i]);
    }
    mw_lines_destroy(&lines);
    return lines.newest ? -1 : 0;
}

static void deadlines(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) join_from("10.0.0.1", 100);
    mw_lines_turn(&lines, line[1], MW_LINE_GETS, 100);
    assert_true(mw_lines_listen(&lines, line[2], 100) && mw_lines_listen(&lines, line[3], 100));
    mw_lines_turn(&lines, line[3], MW_LINE_WAITS, 101);
    const struct {
        double now;
        bool open[4];
    } cases[] = {{109, {true, true, true, true}},
                 {111, {false, true, true, true}},
                 {121, {false, true, false, true}},
                 {221, {false, false, false, true}},
                 {1e6, {false, false, false, true}}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        mw_lines_check(&lines, cases[c].now);
        for (int i = 0; i < 4; i++) {
            assert_int_equal(is_open(i), cases[c].open[i]);
            assert_int_equal(mw_lines_gone(&lines, line[i]), !cases[c].open[i]);
        }
    }
}

/* One address with any number of unfinished requests leaves room for others, and for its own next one. */
static void unfinished(void **state) {
    (void)state;
    const int other = join_from("10.0.0.2", 0);
    for (int i = 0; i < 150; i++) {
        const int newest = join_from("10.0.0.1", 1 + 0.001 * i);
        assert_true(is_open(newest));
        assert_true(open_ones(1, count) <= MW_LINES_OF_ONE);
    }
    assert_true(is_open(other));
    assert_true(is_open(join_from("10.0.0.3", 2)));
    for (int i = 0; i < 30; i++) assert_true(is_open(join_from(i % 2 ? "10.0.0.4" : "2001:db8::1", 3)));
    assert_true(open_ones(0, count) <= MW_LINES_ROOM);
}

/* Answers that nobody reads give way after a while, and not to a newcomer who is as many. */
static void unread(void **state) {
    (void)state;
    for (int i = 0; i < MW_LINES_OF_ONE; i++)
        mw_lines_turn(&lines, line[join_from("10.0.0.1", 0)], MW_LINE_GETS, 0);
    assert_false(is_open(join_from("10.0.0.1", 1)));
    assert_true(is_open(join_from("10.0.0.1", 6)));
    assert_int_equal(open_ones(0, MW_LINES_OF_ONE), MW_LINES_OF_ONE - 1);
    assert_true(is_open(join_from("10.0.0.2", 6)));
}

static void streams(void **state) {
    (void)state;
    for (int i = 0; i < 48; i++) {
        const int newest = join_from(i % 2 ? "2001:db8::1" : "2001:db8::2", i); /* one network */
        assert_true(mw_lines_listen(&lines, line[newest], i));
        mw_lines_turn(&lines, line[newest], MW_LINE_WAITS, i);
    }
    mw_lines_turn(&lines, line[30], MW_LINE_HEARS, 50);
    assert_int_equal(open_ones(0, 48), MW_STREAMS_OF_ONE);
    assert_int_equal(open_ones(24, 48), MW_STREAMS_OF_ONE); /* the newest */
    for (int i = 0; i < 24; i++) {
        const int newest = join_from("2001:db8:1::1", 50);
        assert_true(mw_lines_listen(&lines, line[newest], 50));
        mw_lines_turn(&lines, line[newest], MW_LINE_WAITS, 50);
    }
    const int late = join_from("10.0.0.9", 60);
    assert_true(is_open(30));
    assert_true(mw_lines_listen(&lines, line[late], 60)); /* instead of the one that does not read */
    assert_false(is_open(30));
    assert_false(mw_lines_listen(&lines, line[join_from("10.0.0.10", 60)], 60));
    assert_int_equal(open_ones(0, 72), MW_STREAMS - 1);
    const int again = join_from("2001:db8:1::7", 61); /* who has many pays with one of them */
    assert_true(mw_lines_listen(&lines, line[again], 61));
    assert_false(is_open(48));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(deadlines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unfinished, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unread, set_up, tear_down),
        cmocka_unit_test_setup_teardown(streams, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
