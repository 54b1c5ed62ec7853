/* Evaluation seeds are played once; see played.h. */
#include "study/played.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

mw_status mw_played_add(mw_played *p, const mw_play *play, mw_error *error) {
    mw_play *grown = realloc(p->plays, ((size_t)p->count + 1) * sizeof *grown);
    if (!grown) return mw_fail(error, MW_ERR_MEMORY, "cannot record an evaluation");
    p->plays = grown;
    p->plays[p->count++] = *play;
    return MW_OK;
}

void mw_played_free(mw_played *p) {
    free(p->plays);
    *p = (mw_played){0};
}

void mw_play_label(mw_play *play, const char *job, const char *stage, const char *baseline) {
    const bool other = stage && strcmp(stage, "eval");
    snprintf(play->label, sizeof play->label, "%s%s%s%s%s", job, other ? " " : "", other ? stage : "",
             baseline ? " " : "", baseline ? baseline : "");
}

json_t *mw_play_json(const mw_play *play) {
    return json_pack("{s:s, s:I, s:i}", "player", play->player, "first_seed", (json_int_t)play->first,
                     "seeds", play->count);
}

mw_status mw_played_recall(mw_played *p, const json_t *line, mw_error *error) {
    const json_t *played = json_object_get(line, "played");
    const char *label = json_string_value(json_object_get(line, "setting")),
               *player = json_string_value(json_object_get(played, "player"));
    const json_int_t first = json_integer_value(json_object_get(played, "first_seed")),
                     seeds = json_integer_value(json_object_get(played, "seeds"));
    mw_play play = {.first = (uint64_t)first, .count = (int)seeds};
    if (!label || !player || seeds < 1 || seeds > INT_MAX) return MW_OK;
    mw_play_label(&play, label, json_string_value(json_object_get(line, "stage")),
                  json_string_value(json_object_get(line, "baseline")));
    snprintf(play.player, sizeof play.player, "%s", player);
    return mw_played_add(p, &play, error);
}

bool mw_played_has(const mw_played *p, const mw_play *play) {
    for (int i = 0; i < p->count; i++) {
        const mw_play *old = &p->plays[i];
        if (old->first == play->first && old->count == play->count && !strcmp(old->label, play->label) &&
            !strcmp(old->player, play->player))
            return true;
    }
    return false;
}

mw_status mw_played_check(const mw_played *p, const mw_play *play, mw_error *error) {
    for (int i = 0; i < p->count; i++) {
        const mw_play *old = &p->plays[i];
        const bool apart = old->first >= play->first + (uint64_t)play->count ||
                           play->first >= old->first + (uint64_t)old->count;
        if (apart || strcmp(old->label, play->label) || !strcmp(old->player, play->player)) continue;
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "seeds %llu to %llu are played once, and bundle %s of %s has played them (now: %s); "
                       "'first_seed' chooses others, 'play_again' repeats these",
                       (unsigned long long)old->first,
                       (unsigned long long)old->first + (unsigned)old->count - 1, old->player, old->label,
                       play->player);
    }
    return MW_OK;
}
