/* Recording of replays; see mawam/replay.h. Frames are kept as the JSON text they will be in the page,
 * rounded to what a screen can show. */
#include "env/replay.h"

#include "core/file.h"
#include "core/json.h"
#include "core/numbers.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SHAPES = 256, MAX_ROLES = 32 };

typedef struct {
    char *data;
    size_t size, capacity;
    bool failed; /* out of memory; checked once at the end of each addition */
} text;

struct mw_replay {
    char subtitle[160], title[64], family[16];
    int agents, frames, horizon;
    int paths, candidates; /* paths and candidates of the open frame */
    const char *roles[MAX_ROLES];
    int role_count;
    text body;    /* all frames; the last one is left open for paths */
    text rewards; /* "[a,b],[a,b]": per step, per agent */
    text beside;  /* another episode, with its label */
    mw_shape shapes[MAX_SHAPES];
};

/* ---- text ---- */

static void append(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void append(text *t, const char *format, ...) {
    char piece[512];
    va_list args;
    va_start(args, format);
    MW_PLAIN_NUMBERS;
    int length = vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    if (t->failed || length < 0 || length >= (int)sizeof piece) {
        t->failed = true;
        return;
    }
    if (t->size + (size_t)length + 1 > t->capacity) {
        size_t capacity = 2 * t->capacity + 4096;
        char *data = realloc(t->data, capacity);
        if (!data) {
            t->failed = true;
            return;
        }
        t->data = data;
        t->capacity = capacity;
    }
    memcpy(t->data + t->size, piece, (size_t)length + 1);
    t->size += (size_t)length;
}

/* A JSON number with a few significant digits; what is not finite becomes null. */
static void append_number(text *t, double value, int digits) {
    if (isfinite(value))
        append(t, "%.*g", digits, value == 0 ? 0.0 : value);
    else
        append(t, "null");
}

/* Safe inside a <script> element too: '<' never appears, nor anything outside printable ASCII but what is
 * UTF-8. */
static void append_string(text *t, const char *string) {
    json_t *words = mw_json_words(string);
    if (!words) t->failed = mw_json_failed();
    append(t, "\"");
    for (const unsigned char *c = (const unsigned char *)json_string_value(words); c && *c; c++) {
        if (*c < 32 || *c == '"' || *c == '\\' || *c == '<' || *c == '>' || *c == '&' || *c == 127)
            append(t, "\\u%04x", *c);
        else
            append(t, "%c", *c);
    }
    append(t, "\"");
    json_decref(words);
}

/* ---- recording ---- */

/* What does not fit is cut off between two characters. */
static void copy_words(char *out, size_t size, const char *words) {
    size_t length = strnlen(words, size);
    if (length == size) /* of a character that goes on there nothing stays */
        for (length--; length > 0 && ((unsigned char)words[length] & 0xc0) == 0x80;) length--;
    memcpy(out, words, length);
    out[length] = 0;
}

mw_status mw_replay_create(mw_replay **out, const mw_env *env, const char *subtitle, mw_error *error) {
    MW_NEED_AS(out, "replay");
    *out = NULL;
    MW_NEED(env);
    mw_replay *replay = *out = calloc(1, sizeof *replay);
    if (!replay) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a replay");
    const mw_env_info *info = mw_env_describe(env);
    snprintf(replay->title, sizeof replay->title, "%s", info->task);
    snprintf(replay->family, sizeof replay->family, "%s", info->family);
    copy_words(replay->subtitle, sizeof replay->subtitle, subtitle ? subtitle : "");
    replay->agents = info->agents;
    return MW_OK;
}

void mw_replay_free(mw_replay *replay) {
    if (!replay) return;
    free(replay->body.data);
    free(replay->rewards.data);
    free(replay->beside.data);
    free(replay);
}

static int role_index(mw_replay *replay, const char *role) {
    for (int i = 0; i < replay->role_count; i++)
        if (!strcmp(replay->roles[i], role)) return i;
    if (replay->role_count == MAX_ROLES) return MAX_ROLES - 1;
    replay->roles[replay->role_count] = role;
    return replay->role_count++;
}

/* [kind, role, id, radius, health, shield, ax, ay, az, bx, by, bz]; trailing zeros are left out. */
static void append_shape(mw_replay *replay, const mw_shape *shape) {
    double values[12] = {
        shape->kind, role_index(replay, shape->role), shape->id, shape->radius, shape->health, shape->shield};
    for (int c = 0; c < 3; c++) {
        values[6 + c] = shape->a[c];
        values[9 + c] = shape->kind == MW_SHAPE_CIRCLE ? 0 : shape->b[c];
    }
    int used = 12;
    while (used > 8 && values[used - 1] == 0) used--;
    for (int i = 0; i < used; i++) {
        append(&replay->body, i ? "," : "[");
        append_number(&replay->body, values[i], 5);
    }
    append(&replay->body, "]");
}

static void close_frame(text *body, int paths) {
    append(body, paths ? "]}" : "}");
}

mw_status mw_replay_frame(mw_replay *replay, const mw_env *env, const float *rewards, mw_error *error) {
    MW_NEED(replay);
    MW_NEED(env);
    text *body = &replay->body;
    const char *task = mw_env_describe(env)->task;
    if (strcmp(task, replay->title)) /* it has other agents, hence other rewards */
        return mw_fail(error, MW_ERR_MISMATCH, "the replay is of %s, the environment is %s", replay->title,
                       task);
    if (replay->frames > 0) {
        close_frame(body, replay->paths);
        append(body, ",\n");
    }
    int count = mw_env_draw(env, replay->shapes, MAX_SHAPES);
    append(body, "{\"shapes\":[");
    for (int i = 0; i < count && i < MAX_SHAPES; i++) {
        if (i) append(body, ",");
        append_shape(replay, &replay->shapes[i]);
    }
    append(body, "]");
    if (rewards) {
        append(&replay->rewards, replay->rewards.size ? ",[" : "[");
        for (int i = 0; i < replay->agents; i++) {
            if (i) append(&replay->rewards, ",");
            append_number(&replay->rewards, rewards[i], 6);
        }
        append(&replay->rewards, "]");
    }
    replay->frames++;
    replay->paths = replay->candidates = 0;
    if (body->failed || replay->rewards.failed)
        return mw_fail(error, MW_ERR_MEMORY, "out of memory while recording frame %d", replay->frames);
    return MW_OK;
}

static void append_numbers(text *t, const char *name, const float *values, int count) {
    append(t, ",\"%s\":[", name);
    for (int i = 0; i < count; i++) {
        if (i) append(t, ",");
        append_number(t, values[i], 6);
    }
    append(t, "]");
}

mw_status mw_replay_candidates(mw_replay *replay, const float *scores, const float *weights, int count,
                               int chosen, const char *const *labels, mw_error *error) {
    MW_NEED(replay);
    MW_NEED(scores);
    text *body = &replay->body;
    if (replay->frames == 0 || replay->paths > 0 || replay->candidates > 0)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "candidates belong to a frame, once, and come before its paths");
    if (chosen < 0 || chosen >= count)
        return mw_fail(error, MW_ERR_ARGUMENT, "candidate %d is chosen of %d", chosen, count);
    for (int i = 0; labels && i < count; i++)
        if (!labels[i]) return mw_fail(error, MW_ERR_ARGUMENT, "candidate %d has no label", i);
    append(body, ",\"chosen\":%d", chosen);
    append_numbers(body, "scores", scores, count);
    if (weights) append_numbers(body, "weights", weights, count);
    if (labels) {
        append(body, ",\"labels\":[");
        for (int i = 0; i < count; i++) {
            if (i) append(body, ",");
            append_string(body, labels[i]);
        }
        append(body, "]");
    }
    replay->candidates = count;
    return body->failed ? mw_fail(error, MW_ERR_MEMORY, "out of memory while recording candidates") : MW_OK;
}

mw_status mw_replay_path(mw_replay *replay, const float (*points)[2], int count, int candidate,
                         mw_error *error) {
    MW_NEED(replay);
    MW_NEED(points);
    text *body = &replay->body;
    if (replay->frames == 0) return mw_fail(error, MW_ERR_ARGUMENT, "a path needs a frame to belong to");
    if (candidate < 0 || candidate >= replay->candidates)
        return mw_fail(error, MW_ERR_ARGUMENT, "a path of candidate %d, but the frame has %d candidates",
                       candidate, replay->candidates);
    if (count < 1) return mw_fail(error, MW_ERR_ARGUMENT, "a path of %d points", count);
    append(body, replay->paths++ ? "," : ",\"paths\":[");
    append(body, "{\"of\":%d,\"points\":[", candidate);
    for (int i = 0; i < count; i++)
        for (int c = 0; c < 2; c++) {
            if (i + c) append(body, ",");
            append_number(body, points[i][c], 5);
        }
    append(body, "]}");
    return body->failed ? mw_fail(error, MW_ERR_MEMORY, "out of memory while recording a path") : MW_OK;
}

mw_status mw_replay_horizon(mw_replay *replay, int steps, mw_error *error) {
    MW_NEED(replay);
    if (steps < 0) return mw_fail(error, MW_ERR_ARGUMENT, "a horizon of %d steps", steps);
    replay->horizon = steps;
    return MW_OK;
}

/* ---- writing ---- */

static void append_text(text *t, const text *more) {
    if (more->failed) t->failed = true;
    for (size_t at = 0; at < more->size; at += 256) append(t, "%.256s", more->data + at);
}

/* Roles, frames and rewards: the members of an episode without its braces. */
static void append_episode(text *t, const mw_replay *replay) {
    append(t, "\"roles\":[");
    for (int i = 0; i < replay->role_count; i++) {
        if (i) append(t, ",");
        append_string(t, replay->roles[i]);
    }
    append(t, "],\n\"frames\":[");
    append_text(t, &replay->body);
    if (replay->frames) close_frame(t, replay->paths);
    append(t, "],\n\"rewards\":[");
    append_text(t, &replay->rewards);
    append(t, "]");
}

mw_status mw_replay_beside(mw_replay *replay, const mw_replay *other, const char *label, mw_error *error) {
    MW_NEED(replay);
    MW_NEED(other);
    MW_NEED(label);
    if (other->frames == 0)
        return mw_fail(error, MW_ERR_ARGUMENT, "the replay to be seen beside has no frame");
    text *t = &replay->beside;
    t->size = 0;
    append(t, ",\n\"beside\":{\"label\":");
    append_string(t, label);
    append(t, ",");
    append_episode(t, other);
    append(t, "}");
    return t->failed ? mw_fail(error, MW_ERR_MEMORY, "out of memory while recording an episode beside")
                     : MW_OK;
}

static mw_status compose(text *t, const mw_replay *replay, mw_error *error) {
    if (replay->frames == 0) return mw_fail(error, MW_ERR_ARGUMENT, "the replay has no frame");
    append(t, "{\"task\":");
    append_string(t, replay->title);
    append(t, ",\"family\":");
    append_string(t, replay->family);
    append(t, ",\"subtitle\":");
    append_string(t, replay->subtitle);
    if (replay->horizon) append(t, ",\"horizon\":%d", replay->horizon);
    append(t, ",\n");
    append_episode(t, replay);
    append_text(t, &replay->beside);
    append(t, "}");
    return t->failed ? mw_fail(error, MW_ERR_MEMORY, "out of memory for the replay") : MW_OK;
}

typedef mw_status put_function(void *out, const char *data, size_t size, mw_error *error);

/* All pieces of the page in their order. */
static mw_status write_page(const text *data, put_function *put, void *out, mw_error *error) {
    const char *const parts[] = {
        mw_replay_head,   data->data,     "\n</script>\n<script>\n",      mw_replay_scene, mw_replay_drawing,
        mw_replay_panels, mw_replay_play, "</script>\n</body>\n</html>\n"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        MW_TRY(put(out, parts[i], strlen(parts[i]), error));
    return MW_OK;
}

static mw_status put_file(void *out, const char *data, size_t size, mw_error *error) {
    return mw_writer_put(out, data, size, error);
}

static mw_status write_file(const text *data, const char *path, mw_error *error) {
    mw_writer writer;
    MW_TRY(mw_writer_open(&writer, path, error));
    const mw_status status = write_page(data, put_file, &writer, error);
    if (status == MW_OK) return mw_writer_commit(&writer, error);
    mw_writer_abandon(&writer);
    return status;
}

mw_status mw_replay_write(const mw_replay *replay, const char *path, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED(replay);
    MW_NEED(path);
    text data = {0};
    const size_t length = strlen(path);
    mw_status status = compose(&data, replay, error);
    if (status != MW_OK)
        status = mw_fail_within(error, status, "%s", path);
    else if (length > 4 && !strcmp(path + length - 4, ".svg"))
        status = mw_replay_strip(data.data, data.size, path, error);
    else
        status = write_file(&data, path, error);
    free(data.data);
    return status;
}

static mw_status put_stream(void *out, const char *data, size_t size, mw_error *error) {
    if (fwrite(data, 1, size, out) == size) return MW_OK;
    return mw_fail(error, MW_ERR_IO, "the page cannot be written to its stream");
}

mw_status mw_replay_print(const mw_replay *replay, FILE *out, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED(replay);
    MW_NEED(out);
    text data = {0};
    mw_status status = compose(&data, replay, error);
    if (status == MW_OK) status = write_page(&data, put_stream, out, error);
    free(data.data);
    return status;
}
