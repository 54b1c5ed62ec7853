/* A session: the one duel that all visitors of the page look at, its clock, and what is sent to them. Any
 * thread may call these functions. Without visitors nothing is decided. */
#ifndef MW_LIVE_SESSION_H
#define MW_LIVE_SESSION_H

#include "live/duel.h"

#include <stdatomic.h>

typedef struct mw_session mw_session;

mw_status mw_session_create(mw_session **session, const char *folder, const char *bundle, uint64_t seed,
                            int threads, mw_error *error);
void mw_session_free(mw_session *session);

/* Called from the session's thread, and from those that give commands, whenever there is a new message. */
void mw_session_notify(mw_session *session, void (*notify)(void *context), void *context);
/* How many look on; the clock stands still at 0. */
void mw_session_visitors(mw_session *session, int count);

/* One command, as JSON: {"do": "force", "step": 3, "candidate": 2}. docs/live.md lists them. */
mw_status mw_session_command(mw_session *session, const char *text, size_t size, mw_error *error);

/* Texts that several threads hold at once. */
typedef struct mw_message {
    atomic_int holders;
    unsigned long serial; /* of messages: each has a larger one */
    size_t size;
    char *text;
} mw_message;
void mw_message_release(mw_message *message); /* may be NULL */

mw_message *mw_session_latest(mw_session *session); /* the present step as a server-sent event; to be released
                                                     */

/* Texts to be freed. */
mw_status mw_session_about(mw_session *session, char **text, size_t *size, mw_error *error);
mw_status mw_session_history(mw_session *session, char **text, size_t *size, mw_error *error);
mw_status mw_session_recording(mw_session *session, char **text, size_t *size, mw_error *error);

#endif
