/* A duel as JSON; see frame.h. Written by hand, as numbers of a screen's precision are most of it and it is
 * written at every decision. What is not finite is null. */
#include "live/frame.h"

#include <math.h>
#include <string.h>

enum { SHAPES = 256 };

void mw_frame_text(FILE *out, const char *text) {
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c < 32 || *c == '"' || *c == '\\' || *c == '<' || *c == '>' || *c == '&' || *c == 127)
            fprintf(out, "\\u%04x", *c);
        else
            fputc(*c, out);
    }
    fputc('"', out);
}

void mw_frame_number(FILE *out, double value, int digits) {
    if (isfinite(value))
        fprintf(out, "%.*g", digits, value == 0 ? 0.0 : value);
    else
        fputs("null", out);
}

static void numbers(FILE *out, const float *values, size_t count) {
    fputc('[', out);
    for (size_t i = 0; i < count; i++) {
        if (i) fputc(',', out);
        mw_frame_number(out, values[i], 4);
    }
    fputc(']', out);
}

static void rows(FILE *out, const float *values, int count, int width) {
    fputc('[', out);
    for (int i = 0; i < count; i++) {
        if (i) fputc(',', out);
        numbers(out, values + (size_t)i * (size_t)width, (size_t)width);
    }
    fputc(']', out);
}

/* ---- the present step ---- */

/* [kind, role, id, radius, health, shield, ax, ay, az, bx, by, bz] */
static void shapes(FILE *out, const mw_env *env) {
    mw_shape list[SHAPES];
    const int count = mw_env_draw(env, list, SHAPES);
    fputc('[', out);
    for (int i = 0; i < count && i < SHAPES; i++) {
        const mw_shape *s = &list[i];
        fprintf(out, "%s[%d,", i ? "," : "", (int)s->kind);
        mw_frame_text(out, s->role);
        fprintf(out, ",%d", s->id);
        const float values[9] = {s->radius, s->health, s->shield, s->a[0], s->a[1],
                                 s->a[2],   s->b[0],   s->b[1],   s->b[2]};
        for (int k = 0; k < (s->kind == MW_SHAPE_CIRCLE ? 6 : 9); k++) {
            fputc(',', out);
            mw_frame_number(out, values[k], 5);
        }
        fputc(']', out);
    }
    fputc(']', out);
}

static void sides(FILE *out, const mw_duel *duel, const mw_duel_moment *now) {
    for (int s = 0; s < MW_DUEL_SIDES; s++) {
        const mw_duel_standing *standing = &now->side[s];
        fprintf(out, "%s{\"total\":", s ? "," : "");
        mw_frame_number(out, standing->total, 7);
        fputs(",\"ms\":", out);
        mw_frame_number(out, standing->milliseconds, 4);
        fprintf(out, ",\"over\":%s,\"won\":%s,\"rewards\":",
                standing->outcome.terminated || standing->outcome.truncated ? "true" : "false",
                standing->outcome.won ? "true" : "false");
        numbers(out, now->rewards[s], (size_t)duel->world->agents);
        fputs(",\"shapes\":", out);
        shapes(out, duel->side[s].env);
        fputc('}', out);
    }
}

static void decision(FILE *out, const mw_duel_moment *now) {
    fprintf(out, "\"chosen\":%d,\"forced\":%s,\"horizon\":%d,\"scores\":", now->chosen,
            now->forced ? "true" : "false", now->horizon);
    numbers(out, now->scores, (size_t)now->candidates);
    fputs(",\"weights\":", out); /* all 0: the chosen one is executed as it is */
    numbers(out, now->weights, (size_t)now->candidates);
    fputs(",\"labels\":[", out);
    for (int k = 0; now->labels && k < now->candidates; k++) {
        if (k) fputc(',', out);
        mw_frame_text(out, now->labels + k * MW_DUEL_LABEL);
    }
    fputs("],\"paths\":[", out); /* [candidate][place][x, y, x, y, ...] */
    for (int k = 0; now->paths && k < now->candidates; k++) {
        const int width = 2 * (now->horizon + 1);
        if (k) fputc(',', out);
        rows(out, now->paths + (size_t)k * (size_t)(now->places * width), now->places, width);
    }
    fputc(']', out);
}

/* ---- what earlier steps said of this one ---- */

static double distance(const float *a, const float *b, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
    return sqrt(sum / (double)count);
}

/* The way that the chosen candidate saw from the earliest step within a horizon, and the one that was taken.
 */
static void ways(FILE *out, const mw_duel *duel, int from) {
    const mw_duel_moment *then = mw_duel_at(duel, from);
    const size_t length = (size_t)then->horizon + 1;
    const float *seen = then->paths + (size_t)(then->chosen * then->places) * length * 2;
    fputs(",\"expected\":", out);
    rows(out, seen, then->places, (int)(2 * length));
    fputs(",\"taken\":[", out);
    for (int i = 0; i < then->places; i++) {
        float way[2 * 257];
        size_t count = 0;
        for (int t = from; t <= duel->step && count < 257; t++, count++) {
            float places[MW_DUEL_PLACES][2];
            mw_env_places(duel->side[MW_DUEL_PLANNED].env, mw_duel_at(duel, t)->obs, places, then->places);
            memcpy(way + 2 * count, places[i], sizeof places[i]);
        }
        if (i) fputc(',', out);
        numbers(out, way, 2 * count);
    }
    fputc(']', out);
}

/* errors[h - 1]: of what was expected of this step h steps ago, next to the error of expecting no change. */
static void forecast(FILE *out, const mw_duel *duel, const mw_duel_moment *now) {
    const size_t joint = (size_t)(duel->world->agents * duel->world->obs_size);
    float errors[256], still[256];
    int count = 0;
    for (int h = 1; h <= 256; h++) {
        const mw_duel_moment *then = mw_duel_at(duel, duel->step - h);
        if (!then || then->horizon < h) break;
        errors[count] = (float)distance(then->imagined + (size_t)(h - 1) * joint, now->obs, joint);
        still[count++] = (float)distance(then->obs, now->obs, joint);
    }
    fputs("\"errors\":", out);
    numbers(out, errors, (size_t)count);
    fputs(",\"still\":", out);
    numbers(out, still, (size_t)count);
    if (count && mw_duel_at(duel, duel->step - count)->paths) ways(out, duel, duel->step - count);
}

void mw_frame_print(const mw_duel *duel, FILE *out) {
    const mw_duel_moment *now = mw_duel_now(duel);
    fprintf(out,
            "\"seed\":%llu,\"episode\":%llu,\"step\":%d,\"first\":%d,\"last\":%d,\"over\":%s,"
            "\"handled\":%s,\"worlds\":[",
            (unsigned long long)duel->seed, (unsigned long long)duel->episode, duel->step, duel->first,
            duel->last, mw_duel_over(duel) ? "true" : "false",
            now->handled || now->forced ? "true" : "false");
    sides(out, duel, now);
    fputs("],\"decision\":{", out);
    decision(out, now);
    fputs("},\"forecast\":{", out);
    forecast(out, duel, now);
    fputs("},\"obs\":", out);
    rows(out, now->obs, duel->world->agents, duel->world->obs_size);
    if (!now->mass) return;
    fputs(",\"routes\":", out);
    rows(out, now->mass, duel->world->agents, duel->experts);
}

/* ---- what it is ---- */

static void print_settings(const mw_duel *duel, FILE *out) {
    mw_setting_info info;
    for (int i = 0; mw_plan_setting_at(i, &info); i++) {
        char value[128] = "";
        mw_plan_settings_get(&duel->plan, info.name, value, sizeof value, NULL);
        fprintf(out, "%s{\"name\":", i ? "," : "");
        mw_frame_text(out, info.name);
        fputs(",\"symbol\":", out);
        mw_frame_text(out, info.symbol ? info.symbol : "");
        fputs(",\"help\":", out);
        mw_frame_text(out, info.help);
        fputs(",\"range\":", out);
        mw_frame_text(out, info.range);
        fputs(",\"value\":", out);
        mw_frame_text(out, value);
        fputc('}', out);
    }
}

static void print_arms(const mw_duel *duel, FILE *out) {
    mw_arm arm;
    for (int i = 0, count = 0; mw_arm_at(i, &arm); i++) {
        if (!mw_duel_arm_plays(duel, i)) continue;
        fputs(count++ ? ",{\"name\":" : "{\"name\":", out);
        mw_frame_text(out, arm.name);
        fputs(",\"help\":", out);
        mw_frame_text(out, arm.help);
        fputc('}', out);
    }
}

void mw_frame_about(const mw_duel *duel, FILE *out) {
    const mw_env_info *info = mw_env_describe(duel->side[0].env);
    fputs("\"task\":", out);
    mw_frame_text(out, duel->about.task);
    fputs(",\"quality\":", out);
    mw_frame_text(out, duel->about.quality);
    fputs(",\"family\":", out);
    mw_frame_text(out, info->family);
    fputs(",\"summary\":", out);
    mw_frame_text(out, info->summary);
    fprintf(out, ",\"agents\":%d,\"experts\":%d,\"limit\":%d,\"movable\":%s,\"features\":[", info->agents,
            duel->experts, info->episode_limit, mw_duel_movable(duel) ? "true" : "false");
    for (int i = 0; i < info->obs_size; i++) {
        mw_feature feature;
        mw_env_feature(duel->side[0].env, i, &feature);
        if (i) fputc(',', out);
        mw_frame_text(out, feature.name);
    }
    fputs("],\"arm\":", out);
    mw_frame_text(out, mw_arm_name(duel->arm));
    fprintf(out, ",\"changed\":%s,\"arms\":[", duel->changed ? "true" : "false");
    print_arms(duel, out);
    fputs("],\"scorers\":[", out);
    for (int i = 0; mw_scorer_name(i); i++) {
        if (i) fputc(',', out);
        mw_frame_text(out, mw_scorer_name(i));
    }
    fputs("],\"settings\":[", out);
    print_settings(duel, out);
    fputc(']', out);
}

void mw_frame_history(const mw_duel *duel, FILE *out) {
    fprintf(out, "{\"seed\":%llu,\"episode\":%llu,\"first\":%d,\"steps\":[", (unsigned long long)duel->seed,
            (unsigned long long)duel->episode, duel->first);
    for (int t = duel->first; t <= duel->last; t++) {
        const mw_duel_moment *m = mw_duel_at(duel, t);
        fprintf(out, "%s{\"totals\":[", t > duel->first ? "," : "");
        for (int s = 0; s < MW_DUEL_SIDES; s++) {
            if (s) fputc(',', out);
            mw_frame_number(out, m->side[s].total, 7);
        }
        fputc(']', out);
        if (m->mass) {
            fputs(",\"routes\":", out);
            rows(out, m->mass, duel->world->agents, duel->experts);
        }
        fputc('}', out);
    }
    fputs("]}", out);
}
