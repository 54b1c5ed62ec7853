/* Who is connected to the live view, from where, since when and for what; and who has to go so that others
 * get in: whoever is overdue with a request or with reading, and where there are too many, of one address or
 * of all, the one that has been at it longest. Knows sockets and nothing of what is said over them. Any
 * thread may call these functions. */
#ifndef MW_LIVE_LINES_H
#define MW_LIVE_LINES_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>

enum {
    MW_LINES = 96, /* the server takes no more; every one needs some memory */
    MW_LINES_ROOM = 88,
    MW_LINES_OF_ONE = 64, /* from one address */
    MW_STREAMS = 48,
    MW_STREAMS_OF_ONE = 24,
    MW_LINE_ASK = 10,  /* seconds for a whole request */
    MW_LINE_GET = 120, /* for an answer */
    MW_LINE_HEAR = 20, /* for a piece of the stream */
    MW_LINE_STALL = 5  /* not reading for so long, it gives way to others */
};

typedef enum {
    MW_LINE_ASKS,  /* its request is not whole yet */
    MW_LINE_GETS,  /* an answer is being sent */
    MW_LINE_HEARS, /* a piece of the stream of events is being sent */
    MW_LINE_WAITS  /* for the next one */
} mw_line_state;

typedef struct mw_line {
    struct mw_line *next; /* an older one */
    int socket;
    unsigned char address[8]; /* what one visitor has: of IPv6 the network's half */
    mw_line_state state;
    bool gone;            /* was told to go */
    double since, joined; /* of the state; of the stream */
} mw_line;

typedef struct mw_lines {
    pthread_mutex_t lock;
    mw_line *newest;
} mw_lines;

void mw_lines_init(mw_lines *lines);
void mw_lines_destroy(mw_lines *lines);

/* NULL: no memory. With too many, one of them goes. */
mw_line *mw_lines_join(mw_lines *lines, int socket, const struct sockaddr *from, double now);
void mw_lines_leave(mw_lines *lines, mw_line *line); /* before its socket is closed; NULL is fine */
void mw_lines_turn(mw_lines *lines, mw_line *line, mw_line_state state, double now);
/* It wants the stream of events. false: there are too many. Another one of its address may go instead. */
bool mw_lines_listen(mw_lines *lines, mw_line *line, double now);
bool mw_lines_gone(mw_lines *lines, const mw_line *line);
/* Those who are overdue go. */
void mw_lines_check(mw_lines *lines, double now);

#endif
