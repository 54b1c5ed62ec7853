/* A request to the live view and what it gets, without the wire: who may ask, what there is, how large a
 * command may be. Whoever asks from another site, without the token where there is one, for anything else or
 * for too much gets an error and nothing else. server.c puts it on the network. */
#ifndef MW_LIVE_REQUEST_H
#define MW_LIVE_REQUEST_H

#include "live/session.h"

enum {
    MW_REQUEST_BODY = 2048, /* bytes of a command */
    MW_REQUEST_TOKEN = 32   /* hexadecimal digits */
};

/* Who may ask. */
typedef struct mw_door {
    char hosts[4][32];                /* what the Host of a request may be; without a token */
    char token[MW_REQUEST_TOKEN + 1]; /* "": none is needed */
} mw_door;

/* All of a request that is looked at; NULL: not given. */
typedef struct mw_request {
    const char *method, *path;
    const char *host, *origin, *site, *type, *length; /* headers */
    const char *cookie, *token;                       /* the token, in the cookie and in the address */
} mw_request;

typedef enum {
    MW_ANSWER_BYTES,
    MW_ANSWER_FILE,  /* to be saved: a page with a script of its own, which is not to run here */
    MW_ANSWER_ENTRY, /* also the token as a cookie, and on to the address without it */
    MW_ANSWER_EVENTS,
    MW_ANSWER_BODY /* nothing yet: first comes the rest of the request */
} mw_answer_kind;

typedef struct mw_answer {
    mw_answer_kind kind;
    unsigned status;
    const char *type;
    const void *bytes;
    size_t size;
    char *owned; /* the bytes, if they are to be freed */
} mw_answer;

mw_answer mw_request_answer(const mw_request *request, const mw_door *door, mw_session *session);

/* The body of a command, as it comes. */
typedef struct mw_upload {
    size_t size;
    char body[MW_REQUEST_BODY];
} mw_upload;
bool mw_upload_add(mw_upload *upload, const char *data, size_t size); /* false: too much */
mw_answer mw_upload_answer(const mw_upload *upload, mw_session *session);

#endif
