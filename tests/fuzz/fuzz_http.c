/* Requests to the live view: a digit that says whether a token is needed, then requests with zero bytes
 * between them, each as it comes over the wire. Every one gets an answer of a known status; nothing is given
 * to those who may not ask, and nothing but what is on the list; whatever is commanded, both worlds stay as
 * their last step says and what is kept stays bounded. Worlds are as in the beginning before every input. */
#include "small_duel.h"

#include "live/assets.h"
#include "live/request.h"
#include "live/session_state.h"

#include <stddef.h>
#include <strings.h>

static const char token[] = "0123456789abcdef0123456789abcdef", first[] = "first.safetensors";

/* ---- the session ---- */

static mw_session *open_session(void) {
    mw_error error;
    mw_session *session;
    FUZZ_EXPECT(mw_session_create(&session, fuzz_path("bundles"), first, 1, 1, &error) == MW_OK);
    return session;
}

static mw_session *prepare(void) {
    mw_error error;
    FUZZ_EXPECT(mw_dir_make(fuzz_path("bundles"), &error) == MW_OK);
    save_task_bundle(fuzz_path("bundles/first.safetensors"), "spread", 0);
    save_task_bundle(fuzz_path("bundles/second.safetensors"), "3m", 0);
    fuzz_put("bundles/broken.safetensors", (const uint8_t *)"broken", 6);
    fuzz_put("outside.safetensors", (const uint8_t *)"outside", 7);
    return open_session();
}

/* As it was after prepare. */
static void restore(mw_session **session) {
    mw_error error;
    mw_duel *duel = (*session)->stage.duel;
    if (strcmp((*session)->stage.bundle, first)) {
        mw_session_free(*session);
        *session = open_session();
        return;
    }
    const mw_plan_settings plan = mw_bundle_plan(duel->bundle);
    const bool planned = !memcmp(&plan, &duel->plan, sizeof plan) && duel->arm == MW_ARM_PLAN;
    duel->plan = plan;
    FUZZ_EXPECT(planned || mw_duel_arm(duel, "plan", &error) == MW_OK);
    FUZZ_EXPECT(mw_duel_begin(duel, 1, 0, &error) == MW_OK);
    (*session)->stage.playing = false;
    (*session)->stage.rate = 10;
    (*session)->stage.version = 0;
}

static void check_session(const mw_session *session) {
    FUZZ_EXPECT(session->stage.rate >= 0.5 && session->stage.rate <= 120 && session->visitors == 0);
    check_duel(session->stage.duel);
}

/* ---- requests ---- */

static char *take_line(char **text) {
    char *line = strsep(text, "\n");
    if (line && line[0] && line[strlen(line) - 1] == '\r') line[strlen(line) - 1] = 0;
    return line;
}

/* What stands behind the name in a text, up to one of these characters. */
static const char *value_of(char *text, const char *name, const char *ends) {
    char *at = text ? strstr(text, name) : NULL;
    if (!at) return NULL;
    at += strlen(name);
    at[strcspn(at, ends)] = 0;
    return at;
}

/* As the server hands it on: its first line and the headers that are looked at. The body is what is left. */
static mw_request read_request(char **text) {
    static const struct {
        const char *name;
        size_t place;
    } headers[] = {{"Host", offsetof(mw_request, host)},
                   {"Origin", offsetof(mw_request, origin)},
                   {"Sec-Fetch-Site", offsetof(mw_request, site)},
                   {"Content-Type", offsetof(mw_request, type)},
                   {"Content-Length", offsetof(mw_request, length)}};
    mw_request r = {0};
    char *line = take_line(text);
    r.method = strsep(&line, " ");
    char *path = strsep(&line, " ");
    r.path = path ? strsep(&path, "?") : "";
    r.token = value_of(path, "token=", "&");
    while ((line = take_line(text)) && line[0]) {
        const char *name = strsep(&line, ":");
        if (!line) continue;
        line += strspn(line, " ");
        for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
            if (!strcasecmp(name, headers[i].name)) *(const char **)((char *)&r + headers[i].place) = line;
        if (!strcasecmp(name, "Cookie")) r.cookie = value_of(line, "mawam=", "; ");
    }
    return r;
}

static bool is(const char *text, const char *wanted) {
    return text && !strcmp(text, wanted);
}

static bool is_asset(const mw_answer *a, const char *path) {
    for (const mw_live_asset *asset = mw_live_assets; asset->path; asset++)
        if (!strcmp(path, asset->path)) return a->bytes == asset->data && a->size == asset->size;
    return false;
}

/* One line of data: nothing of it can begin another event. */
static void check_event(mw_session *session) {
    mw_message *message = mw_session_latest(session);
    FUZZ_EXPECT(message && message->size > 8 && !strncmp(message->text, "data: {", 7));
    FUZZ_EXPECT(strcspn(message->text, "\r\n") == message->size - 2 &&
                is(message->text + message->size - 2, "\n\n"));
    mw_message_release(message);
}

static void check_answer(const mw_request *r, bool guarded, const mw_answer *a, mw_session *session) {
    static const unsigned known[] = {200, 303, 400, 403, 404, 405, 413, 415};
    bool found = a->kind == MW_ANSWER_BODY;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) found |= a->status == known[i];
    FUZZ_EXPECT(found);
    if (a->status >= 400) {
        FUZZ_EXPECT(a->kind == MW_ANSWER_BYTES && !strncmp(a->type, "text/plain", 10) && a->size < 512);
        return;
    }
    FUZZ_EXPECT(r->host &&
                (guarded || !strcasecmp(r->host, "127.0.0.1:1") || !strcasecmp(r->host, "localhost:1")));
    FUZZ_EXPECT(!guarded || is(r->cookie, token) || (a->kind == MW_ANSWER_ENTRY && is(r->token, token)));
    FUZZ_EXPECT(!r->origin || !strcasecmp(r->origin + 7, r->host));
    FUZZ_EXPECT(!r->site || strcmp(r->site, "cross-site"));
    FUZZ_EXPECT(is(r->method, a->kind == MW_ANSWER_BODY ? "POST" : "GET"));
    if (a->kind == MW_ANSWER_BODY) FUZZ_EXPECT(is(r->path, "/command"));
    if (a->kind == MW_ANSWER_ENTRY) FUZZ_EXPECT(guarded && a->status == 303 && is(r->path, "/"));
    if (a->kind == MW_ANSWER_EVENTS) {
        FUZZ_EXPECT(is(r->path, "/events"));
        check_event(session);
    }
    if (a->kind == MW_ANSWER_FILE) FUZZ_EXPECT(a->owned && is(r->path, "/recording"));
    if (a->kind != MW_ANSWER_BYTES) return;
    FUZZ_EXPECT(a->owned ? is(r->path, "/about") || is(r->path, "/history") : is_asset(a, r->path));
    if (a->owned && !strcmp(a->type, "application/json")) {
        json_t *value = json_loadb(a->owned, a->size, 0, NULL);
        FUZZ_EXPECT(json_is_object(value));
        json_decref(value);
    }
}

/* The body comes in pieces. True: the command was obeyed. */
static bool command(mw_session *session, const char *body, size_t size) {
    const size_t piece = 1 + size % 700;
    mw_upload upload = {0};
    for (size_t at = 0; at < size; at += piece)
        if (!mw_upload_add(&upload, body + at, at + piece < size ? piece : size - at)) {
            FUZZ_EXPECT(size > MW_REQUEST_BODY);
            return false;
        }
    const mw_answer a = mw_upload_answer(&upload, session);
    FUZZ_EXPECT(a.status == 200 || (a.status == 400 && a.size > 0 && a.size < sizeof(mw_error)));
    free(a.owned);
    check_session(session);
    check_event(session);
    return a.status == 200;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { MOST = 8 };
    static mw_session *session;
    mw_door door = {.hosts = {"127.0.0.1:1", "localhost:1"}};
    bool changed = false;
    if (!session) session = prepare();
    if (size < 1 || size > 8192) return 0;
    if (data[0] & 1) memcpy(door.token, token, sizeof token);
    char *text = malloc(size);
    FUZZ_EXPECT(text);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    const bool dear = fuzz_rarely(data, size); /* commands make the worlds decide */
    char *end = text + size - 1, *next;
    int count = 0;
    for (char *at = text; at <= end && count < MOST; at = next, count++) {
        char *rest = at;
        next = at + strlen(at) + 1;
        const mw_request r = read_request(&rest);
        const mw_answer a = mw_request_answer(&r, &door, session);
        check_answer(&r, data[0] & 1, &a, session);
        free(a.owned);
        if (a.kind == MW_ANSWER_BODY && dear)
            changed |= command(session, rest ? rest : "", rest ? strlen(rest) : 0);
        else if (a.kind != MW_ANSWER_BODY)
            fuzz_accepted += a.status < 400;
    }
    fuzz_accepted += changed;
    if (changed) restore(&session);
    free(text);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    return fuzz_mutate_numbers(data, size, most, seed);
}
