/* The session's clock and messages; see session.h. One thread decides while somebody looks on and it plays;
 * a message is made once and sent to all. */
#include "live/session_state.h"

#include "live/frame.h"

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
    fprintf(text.stream, "data: {\"playing\":%s,\"rate\":%.4g,\"version\":%u,\"notice\":",
            session->playing ? "true" : "false", session->rate, session->version);
    mw_frame_text(text.stream, session->notice);
    fputc(',', text.stream);
    mw_frame_print(session->duel, text.stream);
    fputs("}\n\n", text.stream);
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

/* One step, or the next episode. What cannot go on stops and says so. */
static void tick(mw_session *session) {
    mw_error error = {0};
    mw_duel *duel = session->duel;
    const mw_status status = mw_duel_over(duel) ? mw_duel_begin(duel, duel->seed, duel->episode + 1, &error)
                                                : mw_duel_advance(duel, &error);
    if (status != MW_OK) {
        session->playing = false;
        snprintf(session->notice, sizeof session->notice, "%.200s", error.message);
    }
    publish(session);
}

static void *run(void *context) {
    mw_session *session = context;
    double last = 0;
    pthread_mutex_lock(&session->lock);
    while (!session->stop) {
        if (!session->playing || !session->visitors) {
            pthread_cond_wait(&session->changed, &session->lock);
            continue;
        }
        const double pause = mw_duel_over(session->duel) ? fmax(1 / session->rate, 1) : 1 / session->rate;
        if (!wait_until(session, last + pause) || !session->playing || !session->visitors) continue;
        last = fmax(last + pause, seconds() - pause); /* an even beat, without catching up */
        tick(session);
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
    char path[2400];
    if (!session) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a session");
    snprintf(session->folder, sizeof session->folder, "%s", folder);
    snprintf(session->bundle, sizeof session->bundle, "%s", bundle);
    snprintf(path, sizeof path, "%s/%s", session->folder, session->bundle);
    session->threads = threads;
    session->rate = 10;
    mw_status status = mw_duel_open(&session->duel, path, seed, threads, error);
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
    mw_duel_close(session->duel);
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
    session->notice[0] = 0;
    const mw_status status = mw_session_execute(session, text, size, error);
    session->touched++;
    pthread_cond_signal(&session->changed);
    publish(session);
    pthread_mutex_unlock(&session->lock);
    return status;
}

/* ---- texts ---- */

static int bundles_only(const struct dirent *entry) {
    const char *end = strrchr(entry->d_name, '.');
    return entry->d_name[0] != '.' && end && !strcmp(end, ".safetensors") && strlen(entry->d_name) < 256;
}

int mw_session_bundles(const mw_session *session, struct dirent ***entries) {
    *entries = NULL;
    return scandir(session->folder, entries, bundles_only, alphasort);
}

void mw_session_bundles_free(struct dirent **entries, int count) {
    for (int i = 0; i < count; i++) free(entries[i]);
    free(entries);
}

static mw_status print_about(mw_session *session, FILE *out, mw_error *error) {
    struct dirent **entries;
    const int count = mw_session_bundles(session, &entries);
    (void)error;
    fprintf(out, "{\"version\":%u,\"bundle\":", session->version);
    mw_frame_text(out, session->bundle);
    fputs(",\"bundles\":[", out);
    for (int i = 0; i < count; i++) {
        if (i) fputc(',', out);
        mw_frame_text(out, entries[i]->d_name);
    }
    mw_session_bundles_free(entries, count);
    fputs("],", out);
    mw_frame_about(session->duel, out);
    fputc('}', out);
    return MW_OK;
}

static mw_status print_history(mw_session *session, FILE *out, mw_error *error) {
    (void)error;
    mw_frame_history(session->duel, out);
    return MW_OK;
}

static mw_status print_recording(mw_session *session, FILE *out, mw_error *error) {
    return mw_frame_replay(session->duel, out, error);
}

/* What `print` says, while nothing changes. */
static mw_status collect(mw_session *session, mw_status (*print)(mw_session *, FILE *, mw_error *),
                         char **text, size_t *size, mw_error *error) {
    mw_text made;
    *text = NULL;
    MW_TRY(mw_text_open(&made, error));
    pthread_mutex_lock(&session->lock);
    const mw_status status = print(session, made.stream, error);
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
    return collect(session, print_about, text, size, error);
}

mw_status mw_session_history(mw_session *session, char **text, size_t *size, mw_error *error) {
    return collect(session, print_history, text, size, error);
}

mw_status mw_session_recording(mw_session *session, char **text, size_t *size, mw_error *error) {
    return collect(session, print_recording, text, size, error);
}
