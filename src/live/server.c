/* The web server of the live view, on libmicrohttpd: hands requests to request.c and sends what they get,
 * among it one endless stream of events to everybody who looks on. */
#include "live/lines.h"
#include "live/live.h"
#include "live/request.h"
#include "live/web.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    CONNECTION_MEMORY = 16 * 1024,
    IDLE = 20 /* seconds after which a silent connection is closed */
};
static const double breath = 5; /* seconds after which a visitor hears at least a comment: is it still there?
                                 */

/* Somebody who looks on. Belongs to the server's thread; the lock protects `suspended`. */
typedef struct visitor {
    struct visitor *next;
    struct server *server;
    struct MHD_Connection *connection;
    mw_line *line;
    mw_message *message; /* being sent */
    size_t sent;
    unsigned long serial; /* of the last one sent */
    bool suspended, breathe;
} visitor;

typedef struct server {
    mw_session *session;
    struct MHD_Daemon *daemon;
    mw_door door;
    mw_lines lines;
    pthread_mutex_t lock;
    visitor *visitors;
    int count;
    bool closing;
} server;

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static mw_line *line_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

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
        const bool breathe = v->breathe, closing = s->closing || mw_lines_gone(&s->lines, v->line);
        const bool fresh = latest && latest->serial != v->serial && !closing;
        if (!fresh) mw_message_release(latest);
        v->breathe = false;
        if (!fresh && !breathe && !closing) {
            v->suspended = true;
            mw_lines_turn(&s->lines, v->line, MW_LINE_WAITS, seconds());
            MHD_suspend_connection(v->connection);
        }
        pthread_mutex_unlock(&s->lock);
        if (closing) return MHD_CONTENT_READER_END_OF_STREAM;
        if (!fresh && breathe && most >= 3) {
            mw_lines_turn(&s->lines, v->line, MW_LINE_HEARS, seconds());
            return (ssize_t)(memcpy(buffer, ":\n\n", 3), 3);
        }
        if (!fresh) return 0;
        v->message = latest;
        v->serial = latest->serial;
        v->sent = 0;
    }
    mw_lines_turn(&s->lines, v->line, MW_LINE_HEARS, seconds()); /* what came before is on its way */
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
    mw_line *line = line_of(connection);
    if (!mw_lines_listen(&s->lines, line, seconds())) {
        static char full[] = "too many visitors\n";
        return finish(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "text/plain; charset=utf-8",
                      MHD_create_response_from_buffer(sizeof full - 1, full, MHD_RESPMEM_PERSISTENT));
    }
    visitor *v = calloc(1, sizeof *v);
    if (!v) return MHD_NO;
    *v = (visitor){.server = s, .connection = connection, .line = line};
    pthread_mutex_lock(&s->lock);
    const int count = ++s->count;
    v->next = s->visitors;
    s->visitors = v;
    pthread_mutex_unlock(&s->lock);
    wake(s, false); /* one who has to go for it may sleep */
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

/* ---- requests ---- */

static enum MHD_Result send_answer(server *s, struct MHD_Connection *connection, const mw_answer *a) {
    if (a->kind == MW_ANSWER_EVENTS) return send_events(s, connection);
    struct MHD_Response *response = MHD_create_response_from_buffer(
        a->size, (void *)a->bytes, a->owned ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (!response) free(a->owned);
    if (response && a->kind == MW_ANSWER_FILE)
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_DISPOSITION, "attachment");
    if (response && a->kind == MW_ANSWER_ENTRY) {
        char cookie[128];
        snprintf(cookie, sizeof cookie, "mawam=%s; HttpOnly; SameSite=Strict; Path=/", s->door.token);
        MHD_add_response_header(response, "Set-Cookie", cookie);
        MHD_add_response_header(response, MHD_HTTP_HEADER_LOCATION, "/");
    }
    return finish(connection, a->status, a->type, response);
}

static const char *header(struct MHD_Connection *connection, const char *name) {
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* Headers first, then a body in pieces, then the end. */
static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *data, size_t *size,
                              void **own) {
    server *s = context;
    mw_upload *upload = *own;
    (void)version;
    if (upload && *size) {
        if (!mw_upload_add(upload, data, *size)) return MHD_NO; /* more than was announced: cut off */
        *size = 0;
        return MHD_YES;
    }
    const mw_request request = {
        .method = method,
        .path = path,
        .host = header(connection, MHD_HTTP_HEADER_HOST),
        .origin = header(connection, "Origin"),
        .site = header(connection, "Sec-Fetch-Site"),
        .type = header(connection, MHD_HTTP_HEADER_CONTENT_TYPE),
        .length = header(connection, MHD_HTTP_HEADER_CONTENT_LENGTH),
        .cookie = MHD_lookup_connection_value(connection, MHD_COOKIE_KIND, "mawam"),
        .token = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "token"),
    };
    const mw_answer a =
        upload ? mw_upload_answer(upload, s->session) : mw_request_answer(&request, &s->door, s->session);
    if (a.kind != MW_ANSWER_BODY && a.kind != MW_ANSWER_EVENTS)
        mw_lines_turn(&s->lines, line_of(connection), MW_LINE_GETS, seconds());
    if (a.kind != MW_ANSWER_BODY) return send_answer(s, connection, &a);
    *own = calloc(1, sizeof *upload);
    return *own ? MHD_YES : MHD_NO;
}

static void completed(void *context, struct MHD_Connection *connection, void **own,
                      enum MHD_RequestTerminationCode code) {
    server *s = context;
    (void)code;
    free(*own);
    *own = NULL;
    mw_lines_turn(&s->lines, line_of(connection), MW_LINE_ASKS, seconds()); /* it may ask for more */
}

static void comes_and_goes(void *context, struct MHD_Connection *connection, void **line,
                           enum MHD_ConnectionNotificationCode code) {
    server *s = context;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        mw_lines_leave(&s->lines, *line);
        *line = NULL;
        return;
    }
    *line = mw_lines_join(
        &s->lines, MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr, seconds());
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

static mw_status make_token(char token[MW_REQUEST_TOKEN + 1], mw_error *error) {
    unsigned char bytes[MW_REQUEST_TOKEN / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return mw_fail(error, MW_ERR_IO, "the system gives no random numbers for a token");
    for (int i = 0; i < MW_REQUEST_TOKEN / 2; i++) snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    return MW_OK;
}

/* An open port on the address, and its number. */
static mw_status open_port(int *line, int *port, struct sockaddr_storage *address, const char *host,
                           mw_error *error) {
    socklen_t size =
        address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    const int again = 1;
    *line = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*line < 0 || setsockopt(*line, SOL_SOCKET, SO_REUSEADDR, &again, sizeof again) != 0 ||
        bind(*line, (struct sockaddr *)address, size) != 0 || listen(*line, MW_LINES) != 0 ||
        getsockname(*line, (struct sockaddr *)address, &size) != 0) {
        const int reason = errno;
        if (*line >= 0) close(*line);
        return mw_fail(error, MW_ERR_IO, "cannot listen on %s, port %d: %s", host, *port, strerror(reason));
    }
    *port = ntohs(address->ss_family == AF_INET6 ? ((struct sockaddr_in6 *)address)->sin6_port
                                                 : ((struct sockaddr_in *)address)->sin_port);
    return MW_OK;
}

/* Everything that requests are compared with is there before the first one can come. */
static mw_status listen_on(server *s, const mw_live_options *o, char *url, size_t size, mw_error *error) {
    struct sockaddr_storage address;
    const char *host = o->host ? o->host : "127.0.0.1";
    static const char *const names[] = {"127.0.0.1", "localhost"};
    int line, port = o->port;
    MW_TRY(address_of(&address, host, port, error));
    if (o->host) MW_TRY(make_token(s->door.token, error));
    MW_TRY(open_port(&line, &port, &address, host, error));
    for (int i = 0; i < 2; i++) {
        snprintf(s->door.hosts[i], sizeof s->door.hosts[i], "%s:%d", names[i], port);
        if (port == 80) strcpy(s->door.hosts[2 + i], names[i]); /* which clients leave out there */
    }
    snprintf(url, size, address.ss_family == AF_INET6 ? "http://[%s]:%d/%s%s" : "http://%s:%d/%s%s", host,
             port, o->host ? "?token=" : "", s->door.token);
    s->daemon = MHD_start_daemon(MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
                                 answer, s, MHD_OPTION_LISTEN_SOCKET, line, MHD_OPTION_CONNECTION_LIMIT,
                                 (unsigned)MW_LINES, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                                 (size_t)CONNECTION_MEMORY, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE,
                                 MHD_OPTION_NOTIFY_COMPLETED, completed, s, MHD_OPTION_NOTIFY_CONNECTION,
                                 comes_and_goes, s, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (s->daemon) return MW_OK;
    close(line);
    return mw_fail(error, MW_ERR_IO, "cannot start a server on %s, port %d", host, port);
}

static void serve(server *s, const mw_live_options *o) {
    const struct timespec nap = {0, 50000000};
    for (int i = 1; !*o->stop; i++) {
        nanosleep(&nap, NULL);
        mw_lines_check(&s->lines, seconds());
        if (i % (int)(breath / 0.05) == 0) wake(s, true);
    }
}

mw_status mw_live_check(const mw_live_options *o, mw_error *error) {
    struct sockaddr_storage address;
    return o->host ? address_of(&address, o->host, o->port, error) : MW_OK;
}

mw_status mw_live_run(const mw_live_options *o, mw_error *error) {
    server s = {0};
    char url[400];
    MW_TRY(mw_live_web(error));
    MW_TRY(mw_session_create(&s.session, o->folder, o->bundle, o->seed, o->threads, error));
    pthread_mutex_init(&s.lock, NULL);
    mw_lines_init(&s.lines);
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
    mw_lines_destroy(&s.lines);
    return status;
}
