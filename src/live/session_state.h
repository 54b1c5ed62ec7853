/* The inside of a session: what is on the stage, and the clock around it. */
#ifndef MW_LIVE_SESSION_STATE_H
#define MW_LIVE_SESSION_STATE_H

#include "live/session.h"
#include "live/stage.h"

#include <pthread.h>

struct mw_session {
    pthread_t thread;
    pthread_mutex_t lock;   /* of all that follows, down to the post */
    pthread_cond_t changed; /* there may be something to do */
    mw_stage stage;
    bool started, stop;
    int visitors;
    unsigned touched; /* counts commands: a step that was waited for is not due any more */
    void (*notify)(void *context);
    void *context;
    pthread_mutex_t post; /* of the message alone, so that sending never waits for a decision */
    mw_message *message;
    unsigned long serial;
};

#endif
