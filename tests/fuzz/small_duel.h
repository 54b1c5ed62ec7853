/* A duel over the smallest bundle of a built-in task, and what must hold of any duel after any operation, for
 * fuzz targets and tests of the live view. */
#ifndef MW_TESTS_FUZZ_SMALL_DUEL_H
#define MW_TESTS_FUZZ_SMALL_DUEL_H

#include "small_bundle.h"

#include "live/duel.h"

/* limit 0: the world's own. */
static inline void save_task_bundle(const char *path, const char *task, int limit) {
    mw_error error;
    mw_env *env;
    FUZZ_EXPECT(mw_env_create(&env, task, NULL, &error) == MW_OK);
    const mw_env_info *world = mw_env_describe(env);
    mw_bundle_info info = {.quality = "own",
                           .method = "own",
                           .agents = world->agents,
                           .obs = world->obs_size,
                           .act = world->act_size,
                           .discrete = world->discrete,
                           .episode_limit = limit ? limit : world->episode_limit};
    snprintf(info.task, sizeof info.task, "%s", task);
    snprintf(info.rules, sizeof info.rules, "%s", world->rules);
    save_small_bundle(path, &info, (small_bundle_parts){0});
    mw_env_free(env);
}

/* Both worlds stand at the present step, what is kept is what is counted, and every size agrees. */
static inline void check_duel(const mw_duel *duel) {
    static float obs[1 << 14];
    const int limit = duel->world->episode_limit;
    const size_t joint = (size_t)(duel->world->agents * duel->world->obs_size);
    size_t kept = 0;
    FUZZ_EXPECT(duel->plan.candidates >= 1 && duel->plan.candidates <= MW_DUEL_CANDIDATES);
    FUZZ_EXPECT(duel->first >= 0 && duel->first <= duel->step && duel->step <= duel->last);
    FUZZ_EXPECT(duel->last <= limit && duel->kept <= MW_DUEL_KEPT);
    for (int t = 0; t <= limit; t++) {
        FUZZ_EXPECT(!duel->moments[t] == !mw_duel_at(duel, t));
        kept += duel->moments[t] ? duel->moments[t]->bytes : 0;
    }
    FUZZ_EXPECT(kept == duel->kept);
    const mw_duel_moment *now = mw_duel_now(duel);
    FUZZ_EXPECT(now->candidates <= MW_DUEL_CANDIDATES && now->chosen < MW_DUEL_CANDIDATES);
    FUZZ_EXPECT(joint <= sizeof obs / sizeof *obs);
    mw_env_observe(duel->side[MW_DUEL_PLANNED].env, obs);
    FUZZ_EXPECT(!memcmp(obs, now->obs, joint * sizeof *obs));
    if (duel->torn || now->candidates == 0) return;
    const mw_candidates seen = mw_planner_candidates(duel->side[MW_DUEL_PLANNED].planner, 0);
    FUZZ_EXPECT(seen.count == now->candidates && seen.horizon == now->horizon && seen.chosen == now->chosen);
    FUZZ_EXPECT(!memcmp(seen.scores, now->scores, (size_t)seen.count * sizeof *seen.scores));
}

#endif
