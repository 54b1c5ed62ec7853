/* Who may ask, and for what; see request.h. */
#include "live/request.h"

#include "live/assets.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- answers ---- */

static const char text_type[] = "text/plain; charset=utf-8";

static mw_answer say(unsigned status, const char *why) {
    return (mw_answer){.status = status, .type = text_type, .bytes = why, .size = strlen(why)};
}

static mw_answer own(unsigned status, const char *type, char *text, size_t size) {
    if (!text) return say(500, "out of memory\n");
    return (mw_answer){.status = status, .type = type, .bytes = text, .size = size, .owned = text};
}

/* ---- who may ask ---- */

/* Takes the same time whichever digit is wrong. */
static bool is_token(const mw_door *door, const char *given) {
    unsigned difference = 0;
    if (!given || strlen(given) != MW_REQUEST_TOKEN) return false;
    for (int i = 0; i < MW_REQUEST_TOKEN; i++) difference |= (unsigned char)(given[i] ^ door->token[i]);
    return difference == 0;
}

static bool known_host(const mw_door *door, const char *host) {
    for (size_t i = 0; i < sizeof door->hosts / sizeof *door->hosts; i++)
        if (door->hosts[i][0] && !strcasecmp(host, door->hosts[i])) return true;
    return false;
}

/* NULL: may ask. A name that somebody else's server gave to our address is no host of ours; a page of
 * somebody else's says so in Origin. */
static const char *forbidden(const mw_request *r, const mw_door *door) {
    if (!r->host || (!door->token[0] && !known_host(door, r->host))) return "this host is not served here\n";
    if (r->origin && (strncmp(r->origin, "http://", 7) || strcasecmp(r->origin + 7, r->host)))
        return "requests of other sites are refused\n";
    if (r->site && strcmp(r->site, "same-origin") && strcmp(r->site, "none"))
        return "requests of other sites are refused\n";
    return NULL;
}

/* ---- what there is ---- */

static mw_answer collected(mw_session *session, const char *type,
                           mw_status (*collect)(mw_session *, char **, size_t *, mw_error *)) {
    char *text;
    size_t size;
    return collect(session, &text, &size, NULL) == MW_OK ? own(200, type, text, size)
                                                         : say(500, "out of memory\n");
}

static mw_answer get(const char *path, mw_session *session) {
    for (const mw_live_asset *a = mw_live_assets; a->path; a++)
        if (!strcmp(path, a->path))
            return (mw_answer){.status = 200, .type = a->type, .bytes = a->data, .size = a->size};
    if (!strcmp(path, "/events"))
        return (mw_answer){.kind = MW_ANSWER_EVENTS, .status = 200, .type = "text/event-stream"};
    if (!strcmp(path, "/about")) return collected(session, "application/json", mw_session_about);
    if (!strcmp(path, "/history")) return collected(session, "application/json", mw_session_history);
    if (!strcmp(path, "/recording")) {
        mw_answer file = collected(session, "text/html; charset=utf-8", mw_session_recording);
        if (file.owned) file.kind = MW_ANSWER_FILE;
        return file;
    }
    return say(404, "there is nothing here\n");
}

static mw_answer post(const mw_request *r) {
    if (strcmp(r->path, "/command")) return say(404, "there is nothing here\n");
    if (!r->type || strcasecmp(r->type, "application/json"))
        return say(415, "commands are application/json\n");
    if (r->length && strtoull(r->length, NULL, 10) > MW_REQUEST_BODY)
        return say(413, "a command has at most 2048 bytes\n");
    return (mw_answer){.kind = MW_ANSWER_BODY};
}

mw_answer mw_request_answer(const mw_request *r, const mw_door *door, mw_session *session) {
    const bool reads = !strcmp(r->method, "GET");
    const char *why = forbidden(r, door);
    if (why) return say(403, why);
    if (door->token[0]) {
        if (reads && !strcmp(r->path, "/") && is_token(door, r->token))
            return (mw_answer){.kind = MW_ANSWER_ENTRY, .status = 303, .type = text_type, .bytes = ""};
        if (!is_token(door, r->cookie)) return say(403, "the token is missing\n");
    }
    if (reads) return get(r->path, session);
    if (!strcmp(r->method, "POST")) return post(r);
    return say(405, "GET and POST are known here\n");
}

/* ---- commands ---- */

bool mw_upload_add(mw_upload *upload, const char *data, size_t size) {
    if (size > sizeof upload->body - upload->size) return false;
    memcpy(upload->body + upload->size, data, size);
    upload->size += size;
    return true;
}

mw_answer mw_upload_answer(const mw_upload *upload, mw_session *session) {
    mw_error error = {0};
    if (mw_session_command(session, upload->body, upload->size, &error) == MW_OK) return say(200, "");
    return own(400, text_type, strdup(error.message), strlen(error.message));
}
