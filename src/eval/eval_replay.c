/* One planned episode in pictures; see eval.h. */
#include "env/replay.h"
#include "eval/eval.h"
#include "eval/stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Only what observations say about places can be drawn. */
enum { MPE_POSITION = 2, MAX_POINTS = 257, LABEL = 160 };

/* The joint action of battles in words: "attack 2, stop, east". */
static void describe(char *label, const float *action, const mw_env_info *info) {
    static const char *const words[] = {"no-op", "stop", "north", "south", "east", "west"};
    const int named = (int)(sizeof words / sizeof *words);
    size_t used = 0;
    label[0] = 0;
    for (int i = 0; i < info->agents; i++)
        for (int k = 0; k < info->act_size; k++) {
            if (!(action[i * info->act_size + k] > 0)) continue;
            const char *comma = i ? ", " : "";
            if (k < named)
                used += (size_t)snprintf(label + used, LABEL - used, "%s%s", comma, words[k]);
            else
                used += (size_t)snprintf(label + used, LABEL - used, "%sattack %d", comma, k - named);
            if (used >= LABEL) return;
        }
}

static mw_status add_scores(mw_replay *replay, const mw_candidates *c, const mw_env_info *info,
                            mw_error *error) {
    if (!info->discrete) return mw_replay_candidates(replay, c->scores, c->count, c->chosen, NULL, error);
    char *text = malloc((size_t)c->count * LABEL);
    const char **labels = malloc((size_t)c->count * sizeof *labels);
    mw_status status = MW_OK;
    for (int m = 0; text && labels && m < c->count; m++) {
        labels[m] = text + (size_t)m * LABEL;
        describe(text + (size_t)m * LABEL,
                 c->actions + (size_t)(m * c->horizon * info->agents * info->act_size), info);
    }
    if (text && labels)
        status = mw_replay_candidates(replay, c->scores, c->count, c->chosen, labels, error);
    else
        status = mw_fail(error, MW_ERR_MEMORY, "cannot describe %d candidates", c->count);
    free(text);
    free(labels);
    return status;
}

/* Particle worlds: where every agent is and will be. */
static mw_status add_particles(mw_replay *replay, const mw_candidates *c, const mw_stage *s,
                               mw_error *error) {
    const int n = s->info->agents, o = s->info->obs_size;
    float points[MAX_POINTS][2];
    for (int m = 0; m < c->count; m++)
        for (int i = 0; i < n; i++) {
            const float *imagined = c->imagined + (size_t)m * (size_t)(c->horizon * n * o);
            int count = 0;
            memcpy(points[count++], s->obs + i * o + MPE_POSITION, sizeof *points);
            for (int h = 0; h < c->horizon && count < MAX_POINTS; h++)
                memcpy(points[count++], imagined + (h * n + i) * o + MPE_POSITION, sizeof *points);
            MW_TRY(mw_replay_path(replay, points, count, c->scores[m], m == c->chosen, error));
        }
    return MW_OK;
}

/* Ant: agents see how far the torso is along x, the last feature, and nothing of y; candidates lie side by
 * side to be told apart. */
static mw_status add_torso(mw_replay *replay, const mw_candidates *c, const mw_stage *s, mw_error *error) {
    const int n = s->info->agents, o = s->info->obs_size;
    mw_shape shapes[64];
    float points[MAX_POINTS][2], y = 0;
    const int drawn = mw_env_draw(s->envs[0], shapes, 64);
    for (int k = 0; k < drawn && k < 64; k++)
        if (!strcmp(shapes[k].role, "torso")) y = shapes[k].a[1];
    for (int m = 0; m < c->count; m++) {
        const float *imagined = c->imagined + (size_t)m * (size_t)(c->horizon * n * o);
        const float lane = y + 0.07f * ((float)m - 0.5f * (float)(c->count - 1));
        int count = 0;
        points[count][0] = s->obs[o - 1];
        points[count++][1] = lane;
        for (int h = 0; h < c->horizon && count < MAX_POINTS; h++) {
            float x = 0;
            for (int i = 0; i < n; i++) x += imagined[(h * n + i) * o + o - 1] / (float)n;
            points[count][0] = x;
            points[count++][1] = lane;
        }
        MW_TRY(mw_replay_path(replay, points, count, c->scores[m], m == c->chosen, error));
    }
    return MW_OK;
}

static mw_status record(mw_stage *s, mw_planner *planner, mw_replay *replay, mw_error *error) {
    MW_TRY(mw_replay_frame(replay, s->envs[0], NULL, error));
    while (!mw_stage_over(s, 0)) {
        MW_TRY(mw_planner_act(planner, s->obs, s->legal, NULL, s->real, s->index, error));
        const mw_candidates c = mw_planner_candidates(planner, 0);
        MW_TRY(add_scores(replay, &c, s->info, error));
        if (!strcmp(s->info->family, "mpe")) MW_TRY(add_particles(replay, &c, s, error));
        if (!strcmp(s->info->family, "ant")) MW_TRY(add_torso(replay, &c, s, error));
        MW_TRY(mw_stage_step(s, planner, error));
        MW_TRY(mw_replay_frame(replay, s->envs[0], s->rewards, error));
    }
    return MW_OK;
}

mw_status mw_eval_replay(const mw_bundle *bundle, const mw_eval_options *options, const char *path,
                         mw_error *error) {
    const mw_planner_options wanted = {.arm = MW_ARM_PLAN,
                                       .candidates = options->candidates,
                                       .horizon = options->horizon,
                                       .steps = options->steps,
                                       .envs = 1,
                                       .threads = options->threads,
                                       .target = options->target,
                                       .explore = options->explore,
                                       .blend = options->blend,
                                       .advantage = options->advantage,
                                       .imagine = true,
                                       .carry = options->carry};
    mw_stage stage;
    mw_planner *planner = NULL;
    mw_replay *replay = NULL;
    char subtitle[160];
    MW_TRY(mw_stage_create(&stage, bundle, &options->world, 1, NULL, error));
    snprintf(subtitle, sizeof subtitle, "%s, planned with %d candidates, seed %llu, rules %s",
             bundle->info.quality, options->candidates, (unsigned long long)options->first_seed,
             stage.info->rules);
    mw_status status = mw_planner_create(&planner, bundle, &wanted, error);
    if (status == MW_OK) status = mw_replay_create(&replay, stage.envs[0], subtitle, error);
    if (status == MW_OK) {
        mw_stage_begin(&stage, planner, 0, mw_episode_seeds_of(options->first_seed, 0));
        status = record(&stage, planner, replay, error);
    }
    if (status == MW_OK) status = mw_replay_write(replay, path, error);
    mw_replay_free(replay);
    mw_planner_free(planner);
    mw_stage_free(&stage);
    return status;
}
