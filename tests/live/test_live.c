/* The live view's server as hostile clients meet it: requests over plain sockets to the program itself. What
 * is wrong gets an error and nothing else, and afterwards the page is served as before. */
#include "cli/program.h"
#include "plan/bundle.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child;
static int port;
static char token[80]; /* as in the address: "" or "token=..." */
static char reply[1 << 20];

/* ---- the program ---- */

static void start(const char *at, const char *host) {
    int pipes[2];
    char line[512] = "";
    assert_int_equal(pipe(pipes), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(pipes[1], STDOUT_FILENO);
        close(pipes[0]);
        close(pipes[1]);
        setenv("MAWAM_DATA", SOURCE_DIR, 1);
        execl(MAWAM_PROGRAM, "mawam", "live", "spread-medium", "--port", at, "--threads", "1", "--no-open",
              host ? "--host" : NULL, host, (char *)NULL);
        _exit(127);
    }
    close(pipes[1]);
    FILE *out = fdopen(pipes[0], "r");
    char *text = fgets(line, sizeof line, out);
    fclose(out);
    if (!text) return; /* the program has no live view */
    if (sscanf(line, "http://127.0.0.1:%d/?%79s", &port, token) < 1) fail_msg("printed '%s'", line);
}

static void stop(void) {
    int status;
    kill(child, SIGTERM);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    token[0] = 0;
}

/* ---- requests ---- */

static int join(void) {
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const int line = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(line >= 0);
    assert_int_equal(connect(line, (const struct sockaddr *)&address, sizeof address), 0);
    return line;
}

/* Reads until the other side closes, `until` is in it, or nothing comes for a while. Returns the status, 0
 * for none. */
static int hear(int line, const char *until) {
    size_t size = 0;
    int status = 0;
    struct pollfd wait = {line, POLLIN, 0};
    while (size < sizeof reply - 1 && poll(&wait, 1, 20000) > 0) {
        const ssize_t count = read(line, reply + size, sizeof reply - 1 - size);
        if (count <= 0) break;
        reply[size += (size_t)count] = 0;
        if (until && strstr(reply, until)) break;
    }
    reply[size] = 0;
    return sscanf(reply, "HTTP/1.1 %d", &status) == 1 ? status : 0;
}

/* A request, whole or not, with "~" replaced by the port; the connection is closed after the answer. */
static int ask(const char *text) {
    static char request[1 << 17];
    size_t size = 0;
    for (; *text && size < sizeof request - 8; text++) {
        if (*text == '~')
            size += (size_t)sprintf(request + size, "%d", port);
        else
            request[size++] = *text;
    }
    const int line = join();
    for (size_t sent = 0; sent < size;) {
        const ssize_t count = send(line, request + sent, size - sent, MSG_NOSIGNAL);
        if (count <= 0) break;
        sent += (size_t)count;
    }
    shutdown(line, SHUT_WR);
    const int status = hear(line, NULL);
    close(line);
    return status;
}

#define HOST "Host: 127.0.0.1:~\r\nConnection: close\r\n"

static int command_as(const char *body, const char *headers) {
    char request[8192];
    snprintf(request, sizeof request, "POST /command HTTP/1.1\r\n%sContent-Length: %zu\r\n\r\n%s", headers,
             strlen(body), body);
    return ask(request);
}

static int command(const char *body) {
    return command_as(body, HOST "Content-Type: application/json\r\n");
}

/* Only an error: no page, no state, nothing of the request. */
static void expect_error(int status, int expected) {
    if (status != expected) fail_msg("status %d, expected %d: %s", status, expected, reply);
    assert_null(strstr(reply, "Access-Control"));
    assert_null(strstr(reply, "<script"));
    assert_null(strstr(reply, "mawam="));
    assert_null(strstr(reply, "planted"));
}

static void expect_well(void) {
    assert_int_equal(ask("GET / HTTP/1.1\r\n" HOST "\r\n"), 200);
    assert_non_null(strstr(reply, "mawam live"));
    assert_int_equal(ask("GET /about HTTP/1.1\r\n" HOST "\r\n"), 200);
    assert_non_null(strstr(reply, "\"task\":\"spread\""));
}

/* ---- tests ---- */

static void what_is_served(void **state) {
    (void)state;
    expect_well();
    assert_non_null(strstr(reply, "nosniff"));
    assert_non_null(strstr(reply, "default-src 'none'"));
    for (const char *const *path =
             (const char *const[]){"/live.js", "/draw.js", "/live.css", "/history", "/recording", NULL};
         *path; path++) {
        char request[256];
        snprintf(request, sizeof request, "GET %s HTTP/1.1\r\n" HOST "\r\n", *path);
        assert_int_equal(ask(request), 200);
        /* the page's policy lets no script in it run: it is for the disk */
        assert_int_equal(strstr(reply, "Content-Disposition: attachment") != NULL,
                         !strcmp(*path, "/recording"));
    }
    assert_int_equal(
        ask("GET / HTTP/1.1\r\nHost: localhost:~\r\nOrigin: http://localhost:~\r\nConnection: close\r\n\r\n"),
        200);
}

static void wrong_paths(void **state) {
    (void)state;
    static const char *const paths[] = {"/..",
                                        "/../../etc/passwd",
                                        "//",
                                        "/about/",
                                        "/live.js/..",
                                        "/%2e%2e/",
                                        "/command",
                                        "/planted",
                                        "/bundles",
                                        "/src/live/live.js",
                                        "/events/../x",
                                        "/ABOUT",
                                        "/live.jsx",
                                        "/page.html",
                                        "/recording.html"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char request[256];
        snprintf(request, sizeof request,
                 "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n", paths[i], port);
        const int line = join();
        assert_true(send(line, request, strlen(request), MSG_NOSIGNAL) > 0);
        expect_error(hear(line, NULL), 404);
        close(line);
    }
    expect_error(ask("DELETE / HTTP/1.1\r\n" HOST "\r\n"), 405);
    expect_error(ask("OPTIONS /command HTTP/1.1\r\n" HOST "Origin: http://127.0.0.1:~\r\n\r\n"), 405);
    expect_error(
        ask("POST / HTTP/1.1\r\n" HOST "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"), 404);
    expect_well();
}

/* Pages of other sites, and names that others gave to our address. */
static void other_sites(void **state) {
    (void)state;
    static const char *const bad[] = {
        "Host: planted.example:~\r\n",
        "Host: 127.0.0.1\r\n",
        "Host: 127.0.0.1:1\r\n",
        "Host: 127.0.0.1:~.planted.example\r\n",
        "Host: 127.0.0.1:~\r\nOrigin: http://planted.example\r\n",
        "Host: 127.0.0.1:~\r\nOrigin: https://127.0.0.1:~\r\n",
        "Host: 127.0.0.1:~\r\nOrigin: null\r\n",
        "Host: 127.0.0.1:~\r\nOrigin: http://127.0.0.1:~.planted.example\r\n",
        "Host: 127.0.0.1:~\r\nSec-Fetch-Site: cross-site\r\n",
        "Host: 127.0.0.1:~\r\nSec-Fetch-Site: same-site\r\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        static const char *const paths[] = {"/", "/about", "/events", "/recording"};
        char text[512];
        for (int k = 0; k < 4; k++) {
            snprintf(text, sizeof text, "GET %s HTTP/1.1\r\n%sConnection: close\r\n\r\n", paths[k], bad[i]);
            expect_error(ask(text), 403);
        }
        snprintf(text, sizeof text, "%sConnection: close\r\nContent-Type: application/json\r\n", bad[i]);
        expect_error(command_as("{\"do\":\"step\"}", text), 403);
    }
    /* what forms of other pages can send without asking first */
    expect_error(command_as("{\"do\":\"step\"}", HOST "Content-Type: text/plain\r\n"), 415);
    expect_error(command_as("{\"do\":\"step\"}", HOST "Content-Type: application/x-www-form-urlencoded\r\n"),
                 415);
    expect_error(command_as("{\"do\":\"step\"}", HOST), 415);
    assert_int_equal(ask("GET /history HTTP/1.1\r\n" HOST "\r\n"), 200);
    assert_non_null(strstr(reply, "\"steps\":[{\"totals\":[0,0]")); /* nothing has moved */
    assert_null(strstr(reply, "},{"));
}

static void too_much(void **state) {
    (void)state;
    static char request[1 << 17];
    size_t size = (size_t)sprintf(request, "GET / HTTP/1.1\r\n" HOST "X-Long: ");
    memset(request + size, 'a', 100000);
    strcpy(request + size + 100000, "\r\n\r\n");
    const int status = ask(request);
    assert_true(status == 0 || status >= 400);
    size = (size_t)sprintf(request, "GET /");
    memset(request + size, 'a', 100000);
    strcpy(request + size + 100000, " HTTP/1.1\r\n" HOST "\r\n");
    assert_true(ask(request) == 0 || ask(request) >= 400);
    size = (size_t)sprintf(request, "{\"do\":\"");
    memset(request + size, 'a', 4000);
    strcpy(request + size + 4000, "\"}");
    char headers[256];
    snprintf(headers, sizeof headers, "%s", HOST "Content-Type: application/json\r\n");
    expect_error(command_as(request, headers), 413);
    /* more than announced: in chunks */
    size = (size_t)sprintf(request, "POST /command HTTP/1.1\r\n" HOST "Content-Type: application/json\r\n"
                                    "Transfer-Encoding: chunked\r\n\r\n8000\r\n");
    memset(request + size, ' ', 0x8000);
    strcpy(request + size + 0x8000, "\r\n0\r\n\r\n");
    assert_true(ask(request) == 0 || ask(request) >= 400);
    expect_well();
}

static void malformed(void **state) {
    (void)state;
    static const char *const requests[] = {
        "",
        "\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "\x16\x03\x01\x02",
        "GET / HTTP/1.1\r\nHost\r\n\r\n",
        "POST /command HTTP/1.1\r\n" HOST "Content-Type: application/json\r\nContent-Length: -1\r\n\r\n",
        "POST /command HTTP/1.1\r\n" HOST
        "Content-Type: application/json\r\nContent-Length: 99999999999999999999\r\n\r\n"};
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        const int status = ask(requests[i]);
        if (status != 0 && status < 400) fail_msg("request %zu: status %d", i, status);
    }
    static const char *const commands[] = {
        "",
        "{",
        "[]",
        "7",
        "null",
        "\"step\"",
        "{}",
        "{\"do\":7}",
        "{\"do\":\"planted\"}",
        "{\"do\":\"step\"} x",
        "{\"do\":\"step\",\"do\":\"play\"}",
        "{\"do\":\"seek\"}",
        "{\"do\":\"seek\",\"step\":-1}",
        "{\"do\":\"seek\",\"step\":1e400}",
        "{\"do\":\"seek\",\"step\":99}",
        "{\"do\":\"seek\",\"step\":0.5}",
        "{\"do\":\"rate\",\"value\":0}",
        "{\"do\":\"rate\",\"value\":\"fast\"}",
        "{\"do\":\"begin\",\"seed\":-1}",
        "{\"do\":\"force\",\"step\":0,\"candidate\":8}",
        "{\"do\":\"force\",\"step\":0}",
        "{\"do\":\"set\",\"name\":\"candidates\",\"value\":\"65\"}",
        "{\"do\":\"set\",\"name\":\"candidates\",\"value\":\"0\"}",
        "{\"do\":\"set\",\"name\":\"planted\",\"value\":\"1\"}",
        "{\"do\":\"set\",\"name\":\"horizon\",\"value\":\"200\"}",
        "{\"do\":\"set\",\"name\":\"scorer\",\"value\":\"\"}",
        "{\"do\":\"arm\",\"name\":\"behavior\"}",
        "{\"do\":\"place\",\"step\":0,\"role\":\"agent\",\"id\":0,\"x\":9,\"y\":0}",
        "{\"do\":\"place\",\"step\":0,\"role\":\"agent\",\"id\":7,\"x\":0,\"y\":0}",
        "{\"do\":\"bundle\",\"name\":\"../behaviors/3m-good.safetensors\"}",
        "{\"do\":\"bundle\",\"name\":\"/etc/passwd\"}",
        "{\"do\":\"bundle\",\"name\":\"..\"}",
        "{\"do\":\"bundle\",\"name\":\"\"}"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        const int status = command(commands[i]);
        if (status != 400) fail_msg("%s: status %d, expected 400", commands[i], status);
    }
    expect_well();
}

static void commands_work(void **state) {
    (void)state;
    static const char *const commands[] = {
        "{\"do\":\"step\"}",
        "{\"do\":\"step\"}",
        "{\"do\":\"step\"}",
        "{\"do\":\"seek\",\"step\":1}",
        "{\"do\":\"force\",\"step\":2,\"candidate\":3}",
        "{\"do\":\"set\",\"name\":\"candidates\",\"value\":\"3\"}",
        "{\"do\":\"set\",\"name\":\"horizon\",\"value\":\"2\"}",
        "{\"do\":\"arm\",\"name\":\"reactive\"}",
        "{\"do\":\"arm\",\"name\":\"oracle\"}",
        "{\"do\":\"place\",\"step\":1,\"role\":\"landmark\",\"id\":0,\"x\":0.5,\"y\":-0.5}",
        "{\"do\":\"bundle\",\"name\":\"3m-medium.safetensors\"}",
        "{\"do\":\"step\"}",
        "{\"do\":\"bundle\",\"name\":\"spread-medium.safetensors\"}",
        "{\"do\":\"begin\",\"seed\":9007199254740991}"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (command(commands[i]) != 200) fail_msg("%s: %s", commands[i], reply);
    expect_well();
    const int line = join();
    const char request[] = "GET /events HTTP/1.1\r\nHost: 127.0.0.1:";
    char text[128];
    snprintf(text, sizeof text, "%s%d\r\n\r\n", request, port);
    assert_true(send(line, text, strlen(text), MSG_NOSIGNAL) > 0);
    assert_int_equal(hear(line, "\n\n\r\n"), 200);
    assert_non_null(strstr(reply, "text/event-stream"));
    assert_non_null(strstr(reply, "\"seed\":9007199254740991,\"episode\":0,\"step\":0"));
    close(line);
}

/* What is refused changes nothing of what is played. */
static void refused_is_nothing(void **state) {
    (void)state;
    char without[4096];
    for (int refused = 0; refused < 2; refused++) {
        assert_int_equal(command("{\"do\":\"begin\",\"seed\":5}"), 200);
        for (int t = 0; t < 6; t++) {
            if (refused && t == 3)
                assert_int_equal(
                    command("{\"do\":\"place\",\"step\":3,\"role\":\"nobody\",\"id\":0,\"x\":0,\"y\":0}"),
                    400);
            assert_int_equal(command("{\"do\":\"step\"}"), 200);
        }
        assert_int_equal(ask("GET /history HTTP/1.1\r\n" HOST "\r\n"), 200);
        const char *totals = strstr(reply, "\"steps\"");
        assert_non_null(totals);
        if (refused)
            assert_string_equal(totals, without);
        else
            snprintf(without, sizeof without, "%s", totals);
    }
}

static int frames_recorded(void) {
    int found = 0;
    assert_int_equal(ask("GET /recording HTTP/1.1\r\n" HOST "\r\n"), 200);
    for (const char *at = reply; (at = strstr(at, "\"shapes\"")); at++) found++;
    return found;
}

/* What followed another choice is forgotten, a choice that was made by hand already changes nothing; and what
 * is saved says what was executed. */
static void forced_is_another_future(void **state) {
    (void)state;
    assert_int_equal(command("{\"do\":\"begin\",\"seed\":5}"), 200);
    for (int t = 0; t < 5; t++) assert_int_equal(command("{\"do\":\"step\"}"), 200);
    assert_int_equal(frames_recorded(), 6);
    assert_non_null(strstr(reply, "\"weights\":[")); /* this bundle executes means */
    assert_int_equal(command("{\"do\":\"force\",\"step\":2,\"candidate\":1}"), 200);
    assert_int_equal(frames_recorded(), 3);
    assert_int_equal(command("{\"do\":\"step\"}"), 200);
    assert_int_equal(command("{\"do\":\"force\",\"step\":2,\"candidate\":1}"), 200);
    assert_int_equal(frames_recorded(), 4);
    assert_int_equal(command("{\"do\":\"set\",\"name\":\"temperature\",\"value\":\"0\"}"), 200);
    assert_int_equal(frames_recorded(), 3);
    assert_non_null(strstr(reply, "plan (changed) with"));
}

static void expect_changed(const char *text) {
    assert_int_equal(ask("GET /about HTTP/1.1\r\n" HOST "\r\n"), 200);
    assert_non_null(strstr(reply, text));
}

/* What was set by hand stays with another arm, and is said to. */
static void set_stays_set(void **state) {
    (void)state;
    assert_int_equal(command("{\"do\":\"bundle\",\"name\":\"spread-medium.safetensors\"}"), 200);
    assert_int_equal(command("{\"do\":\"set\",\"name\":\"caution\",\"value\":\"0.25\"}"), 200);
    expect_changed("\"changed\":true");
    assert_int_equal(command("{\"do\":\"arm\",\"name\":\"reactive\"}"), 200);
    expect_changed("\"changed\":false");
    assert_int_equal(command("{\"do\":\"set\",\"name\":\"candidates\",\"value\":\"3\"}"), 200);
    assert_int_equal(command("{\"do\":\"arm\",\"name\":\"plan\"}"), 200);
    expect_changed("\"changed\":true");
    assert_int_equal(command("{\"do\":\"bundle\",\"name\":\"spread-medium.safetensors\"}"), 200);
    expect_changed("\"changed\":false");
}

/* Connections that say nothing, or never read, keep nobody else out. */
static void silent_ones(void **state) {
    (void)state;
    int lines[24];
    char text[128];
    snprintf(text, sizeof text, "GET /events HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", port);
    for (int i = 0; i < 24; i++) {
        lines[i] = join();
        if (i % 2) assert_true(send(lines[i], text, strlen(text), MSG_NOSIGNAL) > 0);
    }
    assert_int_equal(command("{\"do\":\"step\"}"), 200);
    expect_well();
    for (int i = 0; i < 24; i++) close(lines[i]);
}

static int watch(void) {
    char text[128];
    const int line = join(), little = 4096;
    setsockopt(line, SOL_SOCKET, SO_RCVBUF, &little, sizeof little);
    snprintf(text, sizeof text, "GET /events HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", port);
    assert_true(send(line, text, strlen(text), MSG_NOSIGNAL) > 0);
    return line;
}

/* More than there is room for, with requests that do not end: the oldest give way at once. */
static void unfinished_requests(void **state) {
    (void)state;
    int lines[150];
    for (int i = 0; i < 150; i++) {
        const char part[] = "GET / HTTP/1.1\r\nX-Slow: ";
        lines[i] = join();
        if (send(lines[i], part, sizeof part - 1, MSG_NOSIGNAL) <= 0) continue;
    }
    for (int i = 0; i < 5; i++) expect_well();
    assert_int_equal(command("{\"do\":\"step\"}"), 200);
    for (int i = 0; i < 150; i++) close(lines[i]);
}

/* Visitors who never read what they are sent, in number: another one gets the stream and what comes in it. */
static void visitors_who_never_read(void **state) {
    (void)state;
    int lines[96];
    for (int i = 0; i < 96; i++) lines[i] = watch();
    for (int i = 0; i < 3; i++) assert_int_equal(command("{\"do\":\"step\"}"), 200);
    const int line = watch();
    assert_int_equal(hear(line, "\n\n\r\n"), 200);
    assert_non_null(strstr(reply, "text/event-stream"));
    expect_well();
    close(line);
    for (int i = 0; i < 96; i++) close(lines[i]);
    assert_int_equal(command("{\"do\":\"step\"}"), 200);
    expect_well();
}

static void token_is_needed(void **state) {
    (void)state;
    char request[512];
    stop();
    start("0", "127.0.0.1");
    assert_int_equal(strlen(token), strlen("token=") + 32);
    for (const char *const *path =
             (const char *const[]){"/", "/about", "/events", "/live.js", "/recording",
                                   "/?token=", "/?token=00000000000000000000000000000000", "/planted", NULL};
         *path; path++) {
        snprintf(request, sizeof request, "GET %s HTTP/1.1\r\n" HOST "\r\n", *path);
        expect_error(ask(request), 403);
    }
    expect_error(command("{\"do\":\"step\"}"), 403);
    snprintf(request, sizeof request, "GET /?%s HTTP/1.1\r\n" HOST "\r\n", token);
    assert_int_equal(ask(request), 303);
    assert_non_null(strstr(reply, "HttpOnly; SameSite=Strict"));
    snprintf(request, sizeof request, "GET /about HTTP/1.1\r\n" HOST "Cookie: mawam=%s\r\n\r\n",
             token + strlen("token="));
    assert_int_equal(ask(request), 200);
    snprintf(request, sizeof request,
             "GET /about HTTP/1.1\r\n" HOST "Origin: http://planted.example\r\nCookie: mawam=%s\r\n\r\n",
             token + strlen("token="));
    expect_error(ask(request), 403);
}

/* Where the port goes without saying, clients leave it out. Only some may listen there. */
static void standard_port(void **state) {
    (void)state;
    stop();
    port = 0;
    start("80", NULL);
    const bool listens = port == 80;
    if (listens) {
        assert_int_equal(
            ask("GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nConnection: close\r\n\r\n"),
            200);
        assert_int_equal(ask("GET / HTTP/1.1\r\n" HOST "\r\n"), 200);
        expect_error(ask("GET / HTTP/1.1\r\nHost: planted.example\r\nConnection: close\r\n\r\n"), 403);
        stop();
    } else {
        waitpid(child, NULL, 0);
    }
    start("0", NULL);
    if (!listens) skip();
}

/* A bundle that draws more candidates than a page can show is refused when it is opened, an address that is
 * none before that. */
static void too_many_candidates(void **state) {
    (void)state;
    mw_error error;
    mw_bundle *bundle;
    scratch_setup(state);
    CHECK_OK(mw_bundle_load(&bundle, SOURCE_DIR "/bundles/3m-medium.safetensors", &error), error);
    bundle->plan.candidates = 65;
    CHECK_OK(mw_bundle_save(bundle, scratch("many.safetensors"), false, &error), error);
    mw_bundle_free(bundle);
    program_expect(2, "live nowhere --host there --no-open", "host 'there' is no address in numbers");
    program_expect(1, "live %/many.safetensors --port 0 --no-open",
                   "candidates is 65; the live view shows 1 to 64");
    scratch_teardown(state);
}

static int set_up(void **state) {
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    start("0", NULL);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    stop();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_served),
                                       cmocka_unit_test(wrong_paths),
                                       cmocka_unit_test(other_sites),
                                       cmocka_unit_test(too_much),
                                       cmocka_unit_test(malformed),
                                       cmocka_unit_test(commands_work),
                                       cmocka_unit_test(refused_is_nothing),
                                       cmocka_unit_test(silent_ones),
                                       cmocka_unit_test(unfinished_requests),
                                       cmocka_unit_test(visitors_who_never_read),
                                       cmocka_unit_test(forced_is_another_future),
                                       cmocka_unit_test(set_stays_set),
                                       cmocka_unit_test(token_is_needed),
                                       cmocka_unit_test(standard_port),
                                       cmocka_unit_test(too_many_candidates)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
