/* The session's clock and messages; see session.h. One thread decides while somebody looks on and it plays;
 * a message is made once and sent to all. */
#include "live/session_state.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- messages ---- */

void mw_message_release(mw_message *message) {
    if (!message || atomic_fetch_sub(&message->holders, 1) > 1) return;
    free(message->text);
    free(message);
}

mw_message *mw_session_latest(mw_session *session) {
    pthread_mutex_lock(&session->post);
    mw_message *message = session->message;
    if (message) atomic_fetch_add(&message->holders, 1);
    pthread_mutex_unlock(&session->post);
    return message;
}

/* Out of memory: visitors keep the picture they have. */
static void publish(mw_session *session) {
    mw_message *message = calloc(1, sizeof *message);
    mw_text text;
    if (!message || mw_text_open(&text, NULL) != MW_OK) {
        free(message);
        return;
    }
    fputs("data: ", text.stream);
    mw_stage_frame(&session->stage, text.stream, NULL);
    fputs("\n\n", text.stream);
    atomic_init(&message->holders, 1);
    if (mw_text_close(&text, NULL) != MW_OK) {
        mw_message_release(message);
        return;
    }
    message->text = text.bytes;
    message->size = text.size;
    pthread_mutex_lock(&session->post);
    message->serial = ++session->serial;
    mw_message *old = session->message;
    session->message = message;
    pthread_mutex_unlock(&session->post);
    mw_message_release(old);
    if (session->notify) session->notify(session->context);
}

/* ---- the clock ---- */

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Waits until then, at least a moment so that commands get their turn; false: something changed before. */
static bool wait_until(mw_session *session, double due) {
    const double earliest = seconds() + 1e-3;
    const unsigned touched = session->touched;
    if (due < earliest) due = earliest;
    const struct timespec then = {(time_t)floor(due), (long)(1e9 * (due - floor(due)))};
    while (!session->stop && session->touched == touched)
        if (pthread_cond_timedwait(&session->changed, &session->lock, &then) == ETIMEDOUT) return true;
    return false;
}

static void *run(void *context) {
    mw_session *session = context;
    double last = 0;
    pthread_mutex_lock(&session->lock);
    while (!session->stop) {
        if (!session->stage.playing || !session->visitors) {
            pthread_cond_wait(&session->changed, &session->lock);
            continue;
        }
        const double pause = mw_stage_pause(&session->stage);
        if (!wait_until(session, last + pause) || !session->stage.playing || !session->visitors) continue;
        last = fmax(last + pause, seconds() - pause); /* an even beat, without catching up */
        mw_stage_tick(&session->stage);
        publish(session);
    }
    pthread_mutex_unlock(&session->lock);
    return NULL;
}

/* ---- opening and closing ---- */

static mw_status start(mw_session *session, mw_error *error) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&session->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&session->lock, NULL);
    pthread_mutex_init(&session->post, NULL);
    publish(session);
    session->started = pthread_create(&session->thread, NULL, run, session) == 0;
    return session->started ? MW_OK : mw_fail(error, MW_ERR_MEMORY, "cannot start a thread");
}

mw_status mw_session_create(mw_session **out, const char *folder, const char *bundle, uint64_t seed,
                            int threads, mw_error *error) {
    *out = NULL;
    mw_session *session = calloc(1, sizeof *session);
    if (!session) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a session");
    mw_status status = mw_stage_open(&session->stage, folder, bundle, seed, threads, error);
    if (status == MW_OK) status = start(session, error);
    if (status != MW_OK) {
        mw_session_free(session);
        return status;
    }
    *out = session;
    return MW_OK;
}

void mw_session_free(mw_session *session) {
    if (!session) return;
    if (session->started) {
        pthread_mutex_lock(&session->lock);
        session->stop = true;
        pthread_cond_signal(&session->changed);
        pthread_mutex_unlock(&session->lock);
        pthread_join(session->thread, NULL);
    }
    mw_message_release(session->message);
    mw_stage_close(&session->stage);
    free(session);
}

void mw_session_notify(mw_session *session, void (*notify)(void *), void *context) {
    pthread_mutex_lock(&session->lock);
    session->notify = notify;
    session->context = context;
    pthread_mutex_unlock(&session->lock);
}

void mw_session_visitors(mw_session *session, int count) {
    pthread_mutex_lock(&session->lock);
    session->visitors = count;
    pthread_cond_signal(&session->changed);
    pthread_mutex_unlock(&session->lock);
}

mw_status mw_session_command(mw_session *session, const char *text, size_t size, mw_error *error) {
    pthread_mutex_lock(&session->lock);
    session->stage.notice[0] = 0;
    const mw_status status = mw_stage_command(&session->stage, text, size, error);
    session->touched++;
    pthread_cond_signal(&session->changed);
    publish(session);
    pthread_mutex_unlock(&session->lock);
    return status;
}

/* ---- texts ---- */

/* What `print` says, while nothing changes. */
static mw_status collect(mw_session *session, mw_status (*print)(mw_stage *, FILE *, mw_error *), char **text,
                         size_t *size, mw_error *error) {
    mw_text made;
    *text = NULL;
    MW_TRY(mw_text_open(&made, error));
    pthread_mutex_lock(&session->lock);
    const mw_status status = print(&session->stage, made.stream, error);
    pthread_mutex_unlock(&session->lock);
    mw_error full;
    if (mw_text_close(&made, &full) != MW_OK) { /* whatever the printer made of it */
        if (error) *error = full;
        return full.status;
    }
    if (status != MW_OK) {
        free(made.bytes);
        return status;
    }
    *text = made.bytes;
    *size = made.size;
    return MW_OK;
}

mw_status mw_session_about(mw_session *session, char **text, size_t *size, mw_error *error) {
    return collect(session, mw_stage_about, text, size, error);
}

mw_status mw_session_history(mw_session *session, char **text, size_t *size, mw_error *error) {
    return collect(session, mw_stage_history, text, size, error);
}

mw_status mw_session_recording(mw_session *session, char **text, size_t *size, mw_error *error) {
    return collect(session, mw_stage_recording, text, size, error);
}
