/* Who is connected, and who has to go; see lines.h. Going means that the socket is shut down: the server sees
 * its end, and closes it. */
#include "live/lines.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

void mw_lines_init(mw_lines *lines) {
    lines->newest = NULL;
    pthread_mutex_init(&lines->lock, NULL);
}

void mw_lines_destroy(mw_lines *lines) {
    pthread_mutex_destroy(&lines->lock);
}

static void let_go(mw_line *line) {
    if (line->gone) return;
    line->gone = true;
    shutdown(line->socket, SHUT_RDWR);
}

static bool listens(const mw_line *line) {
    return line->state == MW_LINE_HEARS || line->state == MW_LINE_WAITS;
}

static bool same_place(const mw_line *a, const mw_line *b) {
    return !memcmp(a->address, b->address, sizeof a->address);
}

/* Whose turn it is to go: of those who ask the oldest, else of those who do not read. NULL: everybody may
 * stay. */
static mw_line *idlest(const mw_lines *lines, const mw_line *like, double now) {
    mw_line *asks = NULL, *gets = NULL;
    for (mw_line *line = lines->newest; line; line = line->next) {
        if (line->gone || line == lines->newest || (like && !same_place(line, like))) continue;
        if (line->state == MW_LINE_ASKS && (!asks || line->since <= asks->since)) asks = line;
        if (line->state == MW_LINE_GETS && now - line->since >= MW_LINE_STALL &&
            (!gets || line->since <= gets->since))
            gets = line;
    }
    return asks ? asks : gets;
}

static void make_room(mw_lines *lines, mw_line *newest, double now) {
    int all = 0, like = 0;
    for (mw_line *line = lines->newest; line; line = line->next) {
        all += !line->gone;
        like += !line->gone && same_place(line, newest);
    }
    if (like <= MW_LINES_OF_ONE && all <= MW_LINES_ROOM) return;
    mw_line *who = idlest(lines, like > MW_LINES_OF_ONE ? newest : NULL, now);
    if (!who && like > MW_LINES_OF_ONE) who = newest;
    if (who) let_go(who);
}

mw_line *mw_lines_join(mw_lines *lines, int socket, const struct sockaddr *from, double now) {
    mw_line *line = calloc(1, sizeof *line);
    if (!line) return NULL;
    *line = (mw_line){.socket = socket, .since = now};
    if (from && from->sa_family == AF_INET6)
        memcpy(line->address, &((const struct sockaddr_in6 *)from)->sin6_addr, sizeof line->address);
    else if (from && from->sa_family == AF_INET)
        memcpy(line->address, &((const struct sockaddr_in *)from)->sin_addr, 4);
    pthread_mutex_lock(&lines->lock);
    line->next = lines->newest;
    lines->newest = line;
    make_room(lines, line, now);
    pthread_mutex_unlock(&lines->lock);
    return line;
}

void mw_lines_leave(mw_lines *lines, mw_line *line) {
    if (!line) return;
    pthread_mutex_lock(&lines->lock);
    mw_line **at = &lines->newest;
    while (*at != line) at = &(*at)->next;
    *at = line->next;
    pthread_mutex_unlock(&lines->lock);
    free(line);
}

void mw_lines_turn(mw_lines *lines, mw_line *line, mw_line_state state, double now) {
    if (!line) return;
    pthread_mutex_lock(&lines->lock);
    line->state = state;
    line->since = now;
    pthread_mutex_unlock(&lines->lock);
}

bool mw_lines_listen(mw_lines *lines, mw_line *line, double now) {
    int all = 0, like = 0;
    mw_line *oldest = NULL, *stalled = NULL;
    if (!line) return false;
    pthread_mutex_lock(&lines->lock);
    for (mw_line *other = lines->newest; other; other = other->next) {
        if (other->gone || !listens(other)) continue;
        all++;
        if (other->state == MW_LINE_HEARS && now - other->since >= MW_LINE_STALL) stalled = other;
        if (!same_place(other, line)) continue;
        like++;
        if (!oldest || other->joined <= oldest->joined) oldest = other;
    }
    mw_line *who = all >= MW_STREAMS || like >= MW_STREAMS_OF_ONE ? stalled : NULL;
    if (like >= MW_STREAMS_OF_ONE && (!who || !same_place(who, line))) who = oldest;
    const bool room = all < MW_STREAMS || who;
    if (room) {
        if (who) let_go(who);
        line->state = MW_LINE_HEARS;
        line->since = line->joined = now;
    }
    pthread_mutex_unlock(&lines->lock);
    return room;
}

bool mw_lines_gone(mw_lines *lines, const mw_line *line) {
    pthread_mutex_lock(&lines->lock);
    const bool gone = line->gone;
    pthread_mutex_unlock(&lines->lock);
    return gone;
}

void mw_lines_check(mw_lines *lines, double now) {
    static const double patience[] = {[MW_LINE_ASKS] = MW_LINE_ASK,
                                      [MW_LINE_GETS] = MW_LINE_GET,
                                      [MW_LINE_HEARS] = MW_LINE_HEAR,
                                      [MW_LINE_WAITS] = 1e9};
    pthread_mutex_lock(&lines->lock);
    for (mw_line *line = lines->newest; line; line = line->next)
        if (now - line->since > patience[line->state]) let_go(line);
    pthread_mutex_unlock(&lines->lock);
}
