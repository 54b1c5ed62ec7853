/* The kept steps of a duel's planned world as a replay page; see frame.h. The states are drawn by a world of
 * their own, so that the one in play stays where it is. */
#include "live/frame.h"

static mw_status add_decision(mw_replay *replay, const mw_duel_moment *m, mw_error *error) {
    const char *labels[MW_DUEL_CANDIDATES];
    const size_t length = (size_t)m->horizon + 1;
    if (!m->candidates) return MW_OK;
    for (int k = 0; m->labels && k < m->candidates; k++) labels[k] = m->labels + k * MW_DUEL_LABEL;
    bool mean = false;
    for (int k = 0; k < m->candidates; k++) mean = mean || m->weights[k] > 0;
    MW_TRY(mw_replay_candidates(replay, m->scores, mean ? m->weights : NULL, m->candidates, m->chosen,
                                m->labels ? labels : NULL, error));
    for (int i = 0; m->paths && i < m->candidates * m->places; i++)
        MW_TRY(mw_replay_path(replay, (const float(*)[2])(m->paths + (size_t)i * length * 2), (int)length,
                              i / m->places, error));
    return MW_OK;
}

static mw_status record(mw_replay *replay, mw_env *env, const mw_duel *duel, mw_error *error) {
    for (int t = duel->first; t <= duel->last; t++) {
        const mw_duel_moment *m = mw_duel_at(duel, t);
        MW_TRY(mw_env_restore(env, m->world[MW_DUEL_PLANNED], mw_env_snapshot_size(env), error));
        MW_TRY(mw_replay_frame(replay, env, t > duel->first ? m->rewards[MW_DUEL_PLANNED] : NULL, error));
        MW_TRY(add_decision(replay, m, error));
    }
    return MW_OK;
}

mw_status mw_frame_replay(const mw_duel *duel, FILE *out, mw_error *error) {
    mw_env *env = NULL;
    mw_replay *replay = NULL;
    char subtitle[160];
    snprintf(subtitle, sizeof subtitle, "%.40s, %s%s with %d candidates, seed %llu, episode %llu",
             duel->about.quality, mw_arm_name(duel->arm), duel->changed ? " (changed)" : "",
             duel->plan.candidates, (unsigned long long)duel->seed, (unsigned long long)duel->episode);
    mw_status status = mw_env_create(&env, duel->about.task, NULL, error);
    if (status == MW_OK) status = mw_replay_create(&replay, env, subtitle, error);
    if (status == MW_OK) status = record(replay, env, duel, error);
    if (status == MW_OK) status = mw_replay_print(replay, out, error);
    mw_replay_free(replay);
    mw_env_free(env);
    return status;
}
