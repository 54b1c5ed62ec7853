/* Walks over anchors; see anchors.h. */
#include "eval/anchors.h"

#include "core/rng.h"

#include <stdlib.h>

enum { LONGEST = 200, MARKS = 4, MAX_ENVS = 16, MAX_ROUNDS = 1000 };

typedef struct {
    mw_worlds worlds;
    mw_planner *planner;
    int candidates, left; /* left: anchors still to be visited */
    bool mark[MAX_ENVS][LONGEST];
    int last_mark[MAX_ENVS];
    mw_anchor_visit *visit;
    void *context;
} walk;

static void draw_marks(walk *w, int e, uint64_t seed, long episode) {
    int steps[LONGEST];
    const int limit = w->worlds.info->episode_limit, span = limit < LONGEST ? limit : LONGEST;
    mw_rng rng = mw_rng_make(seed, MW_RNG_STUDY, (uint64_t)episode, 2, 0);
    for (int t = 0; t < span; t++) {
        steps[t] = t;
        w->mark[e][t] = false;
    }
    mw_rng_shuffle(&rng, steps, span);
    w->last_mark[e] = 0;
    for (int k = 0; k < MARKS && k < span; k++) {
        w->mark[e][steps[k]] = true;
        if (steps[k] > w->last_mark[e]) w->last_mark[e] = steps[k];
    }
}

static mw_status visit_marked(walk *w, mw_error *error) {
    const mw_worlds *s = &w->worlds;
    for (int e = 0; e < s->count && w->left > 0; e++) {
        if (!s->active[e] || !w->mark[e][s->last[e].step]) continue;
        MW_TRY(w->visit(w->context, &(mw_anchor){s, w->planner, e}, error));
        w->left--;
    }
    return MW_OK;
}

/* The first candidate plays: it is the policy's own. */
static void choose_first(walk *w) {
    mw_worlds *s = &w->worlds;
    for (int e = 0; e < s->count; e++)
        for (int m = 0; s->active[e] && m < w->candidates; m++) mw_planner_scores(w->planner, e)[m] = m == 0;
    mw_planner_choose(w->planner, s->active, s->real, s->index);
}

/* One episode in every environment, as far as its last mark. */
static mw_status play_round(walk *w, uint64_t seed, long first, mw_error *error) {
    mw_worlds *s = &w->worlds;
    int running = s->count;
    for (int e = 0; e < s->count; e++) {
        const mw_episode_seeds seeds = mw_episode_seeds_of(seed, first + e);
        mw_worlds_begin(s, NULL, e, seeds);
        mw_planner_begin(w->planner, e, seeds.controller);
        draw_marks(w, e, seed, first + e);
    }
    while (running > 0 && w->left > 0) {
        MW_TRY(mw_planner_propose(w->planner, s->obs, s->legal, s->active, error));
        MW_TRY(visit_marked(w, error));
        choose_first(w);
        MW_TRY(mw_worlds_step(s, NULL, error));
        for (int e = 0; e < s->count; e++) {
            if (!s->active[e]) continue;
            mw_planner_reward(w->planner, e, (float)mw_worlds_reward(s, e));
            if (!mw_worlds_over(s, e) && s->last[e].step <= w->last_mark[e]) continue;
            s->active[e] = 0;
            running--;
        }
    }
    return MW_OK;
}

static mw_status walk_create(walk *w, const mw_bundle *bundle, const mw_plan_settings *plan,
                             const mw_env_options *world, mw_pool *pool, mw_error *error) {
    const int wanted = (w->left + MARKS - 1) / MARKS, envs = wanted < MAX_ENVS ? wanted : MAX_ENVS;
    MW_TRY(mw_worlds_create(&w->worlds, bundle, world, false, envs, pool, error));
    mw_planner_options options;
    mw_planner_options_init(&options, sizeof options, bundle);
    options.envs = envs;
    options.threads = mw_pool_threads(pool);
    options.envs_played = w->worlds.envs;
    options.env_options = world;
    options.plan = *plan;
    return mw_planner_create(&w->planner, bundle, &options, error);
}

mw_status mw_anchors_walk(const mw_bundle *bundle, const mw_plan_settings *plan, const mw_env_options *world,
                          int count, uint64_t seed, mw_pool *pool, mw_anchor_visit *visit, void *context,
                          mw_error *error) {
    walk *w = calloc(1, sizeof *w);
    if (!w) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a walk over anchors");
    *w = (walk){.candidates = plan->candidates, .left = count, .visit = visit, .context = context};
    mw_status status = walk_create(w, bundle, plan, world, pool, error);
    for (int round = 0; status == MW_OK && w->left > 0; round++)
        status = round < MAX_ROUNDS ? play_round(w, seed, (long)round * w->worlds.count, error)
                                    : mw_fail(error, MW_ERR_NUMERIC,
                                              "%s: episodes end too early for anchors: %d of %d are missing",
                                              bundle->info.task, w->left, count);
    mw_planner_free(w->planner);
    mw_worlds_free(&w->worlds);
    free(w);
    return status;
}
