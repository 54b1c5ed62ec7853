/* Walks over anchors; see anchors.h. One planner both plays and proposes, with the history it would have in
 * an evaluation. */
#include "eval/anchors.h"

#include "core/rng.h"

#include <stdlib.h>

enum { LONGEST = 200, MAX_ROUNDS = 1000, MARKS = MW_ANCHORS_OF_EPISODE };

struct mw_anchor_walk {
    mw_anchor_options options;
    mw_worlds worlds;
    mw_planner *planner;
    int visited;
    int mark[MW_ANCHORS_AT_ONCE][MARKS]; /* steps, ascending; -1: none */
    long episode[MW_ANCHORS_AT_ONCE];
};

static mw_status build(mw_anchor_walk *w, mw_error *error) {
    const mw_anchor_options *o = &w->options;
    const int wanted = (o->anchors + o->per_episode - 1) / o->per_episode;
    mw_planner_options options;
    mw_planner_options_init(&options, sizeof options, o->bundle);
    options.envs = wanted < MW_ANCHORS_AT_ONCE ? wanted : MW_ANCHORS_AT_ONCE;
    MW_TRY(mw_worlds_create(&w->worlds, o->bundle, o->world, o->accept_rules, options.envs, o->pool, error));
    options.threads = mw_pool_threads(o->pool);
    options.envs_played = w->worlds.envs;
    options.env_options = o->world;
    options.plan = *o->plan;
    return mw_planner_create(&w->planner, o->bundle, &options, error);
}

mw_status mw_anchor_walk_create(mw_anchor_walk **out, const mw_anchor_options *options, mw_error *error) {
    *out = NULL;
    mw_anchor_walk *w = calloc(1, sizeof *w);
    if (!w) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a walk over anchors");
    w->options = *options;
    const mw_status status = build(w, error);
    if (status == MW_OK)
        *out = w;
    else
        mw_anchor_walk_free(w);
    return status;
}

void mw_anchor_walk_free(mw_anchor_walk *w) {
    if (!w) return;
    mw_planner_free(w->planner);
    mw_worlds_free(&w->worlds);
    free(w);
}

const mw_worlds *mw_anchor_walk_worlds(const mw_anchor_walk *w) {
    return &w->worlds;
}

static int by_step(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

static void draw_marks(mw_anchor_walk *w, int e) {
    const mw_anchor_options *o = &w->options;
    int steps[LONGEST], span = w->worlds.info->episode_limit - o->ahead + 1;
    if (span > LONGEST) span = LONGEST;
    if (span < 1) span = 1;
    mw_rng rng = mw_rng_make(o->seed, MW_RNG_STUDY, (uint64_t)w->episode[e], o->purpose, 0);
    for (int t = 0; t < span; t++) steps[t] = t;
    mw_rng_shuffle(&rng, steps, span);
    for (int k = 0; k < MARKS; k++) w->mark[e][k] = k < o->per_episode && k < span ? steps[k] : -1;
    qsort(w->mark[e], MARKS, sizeof w->mark[e][0], by_step);
}

static bool marked(const mw_anchor_walk *w, int e) {
    for (int k = 0; k < MARKS; k++)
        if (w->mark[e][k] == w->worlds.last[e].step) return true;
    return false;
}

static bool enough(const mw_anchor_walk *w) {
    return !w->options.play_out && w->visited >= w->options.anchors;
}

static mw_status visit_marked(mw_anchor_walk *w, mw_error *error) {
    mw_anchors found = {.worlds = &w->worlds, .planner = w->planner};
    for (int e = 0; e < w->worlds.count && !enough(w); e++) {
        if (!w->worlds.active[e] || !marked(w, e)) continue;
        found.envs[found.count] = e;
        found.episodes[found.count++] = w->episode[e];
        w->visited++;
    }
    return found.count ? w->options.visit(w->options.context, &found, error) : MW_OK;
}

static mw_status choose(mw_anchor_walk *w, mw_error *error) {
    mw_worlds *s = &w->worlds;
    if (w->options.planned) MW_TRY(mw_planner_score(w->planner, error));
    for (int e = 0; e < s->count; e++)
        for (int m = 0; m < w->options.plan->candidates && s->active[e] && !w->options.planned; m++)
            mw_planner_scores(w->planner, e)[m] = m == 0;
    mw_planner_choose(w->planner, s->real, s->index);
    return MW_OK;
}

/* One episode in every environment, as far as its last mark. */
static mw_status play_round(mw_anchor_walk *w, long first, mw_error *error) {
    const mw_anchor_options *o = &w->options;
    mw_worlds *s = &w->worlds;
    int running = s->count;
    for (int e = 0; e < s->count; e++) {
        w->episode[e] = first + e;
        const mw_episode_seeds seeds = mw_episode_seeds_of(o->seed, w->episode[e]);
        mw_worlds_begin(s, NULL, e, seeds);
        mw_planner_begin(w->planner, e, seeds.controller, NULL);
        draw_marks(w, e);
    }
    while (running > 0 && !enough(w)) {
        if (mw_stopped(o->stop))
            return mw_fail(error, MW_ERR_INTERRUPTED, "stopped after %d of %d anchors", w->visited,
                           o->anchors);
        MW_TRY(mw_planner_propose(w->planner, s->obs, s->legal, s->active, error));
        MW_TRY(visit_marked(w, error));
        MW_TRY(choose(w, error));
        MW_TRY(mw_worlds_step(s, NULL, error));
        for (int e = 0; e < s->count; e++) {
            if (!s->active[e]) continue;
            mw_planner_reward(w->planner, e, (float)mw_worlds_reward(s, e), NULL);
            if (!mw_worlds_over(s, e) && s->last[e].step <= w->mark[e][MARKS - 1]) continue;
            s->active[e] = 0;
            running--;
        }
    }
    return MW_OK;
}

mw_status mw_anchor_walk_run(mw_anchor_walk *w, mw_error *error) {
    const mw_anchor_options *o = &w->options;
    for (int round = 0; w->visited < o->anchors; round++) {
        if (round == MAX_ROUNDS)
            return mw_fail(error, MW_ERR_NUMERIC, "%s: episodes end too early for anchors: found %d of %d",
                           o->bundle->info.task, w->visited, o->anchors);
        MW_TRY(play_round(w, (long)round * w->worlds.count, error));
    }
    return MW_OK;
}
