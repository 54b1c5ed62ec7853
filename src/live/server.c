/* The web server of the live view, on libmicrohttpd: a few fixed paths, one stream of events, one place for
 * commands. Whoever asks from another site, without the token where there is one, for anything else or for
 * too much gets an error and nothing else. */
#include "live/assets.h"
#include "live/live.h"
#include "live/session.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>

enum {
    VISITORS = 48,    /* streams at once; every connection needs some memory */
    CONNECTIONS = 96, /* of all kinds */
    BODY = 2048,      /* bytes of a command */
    CONNECTION_MEMORY = 16 * 1024,
    TOKEN = 32, /* hexadecimal digits */
    IDLE = 20   /* seconds after which a silent connection is closed */
};
static const double breath = 5; /* seconds after which a visitor hears at least a comment: is it still there?
                                 */

/* Somebody who looks on. Belongs to the server's thread; the lock protects `suspended`. */
typedef struct visitor {
    struct visitor *next;
    struct server *server;
    struct MHD_Connection *connection;
    mw_message *message; /* being sent */
    size_t sent;
    unsigned long serial; /* of the last one sent */
    bool suspended, breathe;
} visitor;

typedef struct server {
    mw_session *session;
    struct MHD_Daemon *daemon;
    char hosts[3][300]; /* what the Host of a request may be; without a token */
    char token[TOKEN + 1];
    bool guarded; /* has a token */
    pthread_mutex_t lock;
    visitor *visitors;
    int count;
    bool closing;
} server;

/* A request with a body, between its calls. */
typedef struct {
    size_t size;
    char body[BODY + 1];
} upload;

/* ---- answers ---- */

static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static enum MHD_Result finish(struct MHD_Connection *connection, unsigned status, const char *type,
                              struct MHD_Response *response) {
    if (!response) return MHD_NO;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
    MHD_add_response_header(response, "Content-Security-Policy", policy);
    const enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result say(struct MHD_Connection *connection, unsigned status, const char *why) {
    return finish(connection, status, "text/plain; charset=utf-8",
                  MHD_create_response_from_buffer(strlen(why), (void *)why, MHD_RESPMEM_MUST_COPY));
}

static enum MHD_Result send_text(struct MHD_Connection *connection, const char *type, char *text,
                                 size_t size) {
    struct MHD_Response *response = MHD_create_response_from_buffer(size, text, MHD_RESPMEM_MUST_FREE);
    if (!response) free(text);
    return finish(connection, MHD_HTTP_OK, type, response);
}

/* ---- who may ask ---- */

static const char *header(struct MHD_Connection *connection, const char *name) {
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* Takes the same time whatever is wrong. */
static bool is_token(const server *s, const char *given) {
    unsigned difference = !given || strlen(given) != TOKEN;
    for (int i = 0; !difference && i < TOKEN; i++) difference |= (unsigned)(given[i] ^ s->token[i]) << 8;
    return difference == 0;
}

static bool known_host(const server *s, const char *host) {
    for (size_t i = 0; i < sizeof s->hosts / sizeof *s->hosts; i++)
        if (s->hosts[i][0] && !strcasecmp(host, s->hosts[i])) return true;
    return false;
}

/* NULL: may ask. A name that somebody else's server gave to our address is no host of ours; a page of
 * somebody else's says so in Origin. */
static const char *forbidden(const server *s, struct MHD_Connection *connection) {
    const char *host = header(connection, MHD_HTTP_HEADER_HOST), *origin = header(connection, "Origin");
    const char *site = header(connection, "Sec-Fetch-Site");
    if (!host || (!s->guarded && !known_host(s, host))) return "this host is not served here\n";
    if (origin && (strncmp(origin, "http://", 7) || strcasecmp(origin + 7, host)))
        return "requests of other sites are refused\n";
    if (site && strcmp(site, "same-origin") && strcmp(site, "none"))
        return "requests of other sites are refused\n";
    return NULL;
}

static bool has_token(const server *s, struct MHD_Connection *connection) {
    return !s->guarded || is_token(s, MHD_lookup_connection_value(connection, MHD_COOKIE_KIND, "mawam"));
}

/* The address with the token leads to the one without: it is a cookie from there on. */
static enum MHD_Result let_in(const server *s, struct MHD_Connection *connection) {
    char cookie[128];
    struct MHD_Response *response = MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
    if (!response) return MHD_NO;
    snprintf(cookie, sizeof cookie, "mawam=%s; HttpOnly; SameSite=Strict; Path=/", s->token);
    MHD_add_response_header(response, "Set-Cookie", cookie);
    MHD_add_response_header(response, MHD_HTTP_HEADER_LOCATION, "/");
    return finish(connection, MHD_HTTP_SEE_OTHER, "text/plain; charset=utf-8", response);
}

/* ---- the stream of events ---- */

/* Fills a piece of what is sent. Nothing new: the connection sleeps until there is. */
static ssize_t read_event(void *context, uint64_t position, char *buffer, size_t most) {
    visitor *v = context;
    server *s = v->server;
    (void)position;
    if (v->message && v->sent == v->message->size) {
        mw_message_release(v->message);
        v->message = NULL;
    }
    if (!v->message) {
        pthread_mutex_lock(&s->lock);
        mw_message *latest = mw_session_latest(s->session);
        const bool breathe = v->breathe, closing = s->closing;
        const bool fresh = latest && latest->serial != v->serial && !closing;
        if (!fresh) mw_message_release(latest);
        v->breathe = false;
        if (!fresh && !breathe && !closing) {
            v->suspended = true;
            MHD_suspend_connection(v->connection);
        }
        pthread_mutex_unlock(&s->lock);
        if (closing) return MHD_CONTENT_READER_END_OF_STREAM;
        if (!fresh && breathe && most >= 3) return (ssize_t)(memcpy(buffer, ":\n\n", 3), 3);
        if (!fresh) return 0;
        v->message = latest;
        v->serial = latest->serial;
        v->sent = 0;
    }
    const size_t left = v->message->size - v->sent, size = left < most ? left : most;
    memcpy(buffer, v->message->text + v->sent, size);
    v->sent += size;
    return (ssize_t)size;
}

static void leave(void *context) {
    visitor *v = context;
    server *s = v->server;
    pthread_mutex_lock(&s->lock);
    visitor **at = &s->visitors;
    while (*at && *at != v) at = &(*at)->next;
    if (*at) *at = v->next;
    const int count = --s->count;
    pthread_mutex_unlock(&s->lock);
    mw_message_release(v->message);
    free(v);
    mw_session_visitors(s->session, count);
}

/* From any thread: those who sleep have something to do. */
static void wake(server *s, bool breathe) {
    pthread_mutex_lock(&s->lock);
    for (visitor *v = s->visitors; v; v = v->next) {
        v->breathe |= breathe;
        if (!v->suspended) continue;
        v->suspended = false;
        MHD_resume_connection(v->connection);
    }
    pthread_mutex_unlock(&s->lock);
}

static void message_is_there(void *context) {
    wake(context, false);
}

static enum MHD_Result send_events(server *s, struct MHD_Connection *connection) {
    visitor *v = calloc(1, sizeof *v);
    if (!v) return MHD_NO;
    *v = (visitor){.server = s, .connection = connection};
    pthread_mutex_lock(&s->lock);
    const bool room = s->count < VISITORS;
    const int count = room ? ++s->count : s->count;
    if (room) {
        v->next = s->visitors;
        s->visitors = v;
    }
    pthread_mutex_unlock(&s->lock);
    if (!room) {
        free(v);
        return say(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "too many visitors\n");
    }
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 32 * 1024, read_event, v, leave);
    if (!response) {
        leave(v);
        return MHD_NO;
    }
    mw_session_visitors(s->session, count);
    MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, 0u);
    return finish(connection, MHD_HTTP_OK, "text/event-stream", response);
}

/* ---- what there is ---- */

static enum MHD_Result send_collected(server *s, struct MHD_Connection *connection, const char *type,
                                      mw_status (*collect)(mw_session *, char **, size_t *, mw_error *)) {
    char *text;
    size_t size;
    if (collect(s->session, &text, &size, NULL) != MW_OK)
        return say(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
    return send_text(connection, type, text, size);
}

static enum MHD_Result get(server *s, struct MHD_Connection *connection, const char *path) {
    for (const mw_live_asset *a = mw_live_assets; a->path; a++)
        if (!strcmp(path, a->path))
            return finish(connection, MHD_HTTP_OK, a->type,
                          MHD_create_response_from_buffer(a->size, (void *)a->data, MHD_RESPMEM_PERSISTENT));
    if (!strcmp(path, "/events")) return send_events(s, connection);
    if (!strcmp(path, "/about")) return send_collected(s, connection, "application/json", mw_session_about);
    if (!strcmp(path, "/history"))
        return send_collected(s, connection, "application/json", mw_session_history);
    if (!strcmp(path, "/recording"))
        return send_collected(s, connection, "text/html; charset=utf-8", mw_session_recording);
    return say(connection, MHD_HTTP_NOT_FOUND, "there is nothing here\n");
}

static enum MHD_Result command(server *s, struct MHD_Connection *connection, const upload *u) {
    mw_error error = {0};
    if (mw_session_command(s->session, u->body, u->size, &error) == MW_OK)
        return say(connection, MHD_HTTP_OK, "");
    return say(connection, MHD_HTTP_BAD_REQUEST, error.message);
}

/* Headers first, then the body in pieces, then the end. */
static enum MHD_Result post(server *s, struct MHD_Connection *connection, const char *path, const char *data,
                            size_t *size, void **own) {
    upload *u = *own;
    if (!u) {
        const char *type = header(connection, MHD_HTTP_HEADER_CONTENT_TYPE);
        if (strcmp(path, "/command")) return say(connection, MHD_HTTP_NOT_FOUND, "there is nothing here\n");
        if (!type || strcasecmp(type, "application/json"))
            return say(connection, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "commands are application/json\n");
        const char *length = header(connection, MHD_HTTP_HEADER_CONTENT_LENGTH);
        if (length && strtoull(length, NULL, 10) > BODY)
            return say(connection, MHD_HTTP_CONTENT_TOO_LARGE, "a command has at most 2048 bytes\n");
        *own = calloc(1, sizeof *u);
        return *own ? MHD_YES : MHD_NO;
    }
    if (!*size) return command(s, connection, u);
    if (*size > BODY - u->size) return MHD_NO; /* more than was announced, or nothing was: cut off */
    memcpy(u->body + u->size, data, *size);
    u->size += *size;
    *size = 0;
    return MHD_YES;
}

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *data, size_t *size,
                              void **own) {
    server *s = context;
    (void)version;
    if (!strcmp(method, MHD_HTTP_METHOD_POST) && *own) return post(s, connection, path, data, size, own);
    const char *why = forbidden(s, connection);
    if (why) return say(connection, MHD_HTTP_FORBIDDEN, why);
    if (s->guarded && !strcmp(method, MHD_HTTP_METHOD_GET) && !strcmp(path, "/") &&
        is_token(s, MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "token")))
        return let_in(s, connection);
    if (!has_token(s, connection)) return say(connection, MHD_HTTP_FORBIDDEN, "the token is missing\n");
    if (!strcmp(method, MHD_HTTP_METHOD_GET)) return get(s, connection, path);
    if (!strcmp(method, MHD_HTTP_METHOD_POST)) return post(s, connection, path, data, size, own);
    return say(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET and POST are known here\n");
}

static void completed(void *context, struct MHD_Connection *connection, void **own,
                      enum MHD_RequestTerminationCode code) {
    (void)context;
    (void)connection;
    (void)code;
    free(*own);
    *own = NULL;
}

/* ---- running ---- */

static mw_status address_of(struct sockaddr_storage *address, const char *host, int port, mw_error *error) {
    struct sockaddr_in *four = (struct sockaddr_in *)address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)address;
    memset(address, 0, sizeof *address);
    if (inet_pton(AF_INET, host, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons((uint16_t)port);
    } else if (inet_pton(AF_INET6, host, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons((uint16_t)port);
    } else {
        return mw_fail(error, MW_ERR_ARGUMENT, "host '%.64s' is no address in numbers, such as 0.0.0.0",
                       host);
    }
    return MW_OK;
}

static mw_status make_token(server *s, mw_error *error) {
    unsigned char bytes[TOKEN / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return mw_fail(error, MW_ERR_IO, "the system gives no random numbers for a token");
    for (int i = 0; i < TOKEN / 2; i++) snprintf(s->token + 2 * i, 3, "%02x", bytes[i]);
    return MW_OK;
}

static mw_status listen_on(server *s, const mw_live_options *o, char *url, size_t size, mw_error *error) {
    struct sockaddr_storage address;
    const char *host = o->host ? o->host : "127.0.0.1";
    MW_TRY(address_of(&address, host, o->port, error));
    const bool six = address.ss_family == AF_INET6;
    s->guarded = o->host != NULL;
    if (s->guarded) MW_TRY(make_token(s, error));
    s->daemon = MHD_start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | (six ? (unsigned)MHD_USE_IPv6 : 0u),
        (uint16_t)o->port, NULL, NULL, answer, s, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_MEMORY, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE, MHD_OPTION_NOTIFY_COMPLETED,
        completed, NULL, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (!s->daemon) return mw_fail(error, MW_ERR_IO, "cannot listen on %s port %d", host, o->port);
    const int port = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
    static const char *const names[] = {"127.0.0.1", "localhost"};
    for (int i = 0; i < 2; i++) snprintf(s->hosts[i], sizeof s->hosts[i], "%s:%d", names[i], port);
    snprintf(url, size, six ? "http://[%s]:%d/%s%s" : "http://%s:%d/%s%s", host, port,
             s->guarded ? "?token=" : "", s->token);
    return MW_OK;
}

static void serve(server *s, const mw_live_options *o) {
    const struct timespec nap = {0, 50000000};
    for (int i = 1; !*o->stop; i++) {
        nanosleep(&nap, NULL);
        if (i % (int)(breath / 0.05) == 0) wake(s, true);
    }
}

mw_status mw_live_run(const mw_live_options *o, mw_error *error) {
    server s = {0};
    char url[400];
    MW_TRY(mw_session_create(&s.session, o->folder, o->bundle, o->seed, o->threads, error));
    pthread_mutex_init(&s.lock, NULL);
    const mw_status status = listen_on(&s, o, url, sizeof url, error);
    if (status == MW_OK) {
        mw_session_notify(s.session, message_is_there, &s);
        o->ready(o->context, url);
        serve(&s, o);
        mw_session_notify(s.session, NULL, NULL);
        pthread_mutex_lock(&s.lock);
        s.closing = true;
        pthread_mutex_unlock(&s.lock);
        wake(&s, false);
        MHD_stop_daemon(s.daemon);
    }
    mw_session_free(s.session);
    pthread_mutex_destroy(&s.lock);
    return status;
}
