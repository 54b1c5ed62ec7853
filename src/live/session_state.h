/* The inside of a session, shared by its clock (session.c) and its commands (commands.c). */
#ifndef MW_LIVE_SESSION_STATE_H
#define MW_LIVE_SESSION_STATE_H

#include "live/session.h"

#include <dirent.h>
#include <pthread.h>

struct mw_session {
    char folder[2048], bundle[256]; /* the file of the present one, in the folder */
    int threads;
    pthread_t thread;
    pthread_mutex_t lock;   /* of all that follows, down to the post */
    pthread_cond_t changed; /* there may be something to do */
    mw_duel *duel;
    bool started, stop, playing;
    double rate; /* decisions per second */
    int visitors;
    unsigned version; /* of what mw_session_about tells */
    unsigned touched; /* counts commands: a step that was waited for is not due any more */
    char notice[256]; /* what went wrong while nobody waited for an answer */
    void (*notify)(void *context);
    void *context;
    pthread_mutex_t post; /* of the message alone, so that sending never waits for a decision */
    mw_message *message;
    unsigned long serial;
};

/* With the lock held. */
mw_status mw_session_execute(mw_session *session, const char *text, size_t size, mw_error *error);

/* The bundle files of the folder, in order of name; negative if it cannot be read. */
int mw_session_bundles(const mw_session *session, struct dirent ***entries);
void mw_session_bundles_free(struct dirent **entries, int count);

#endif
