/* One planned episode in pictures; see eval.h. */
#include "env/replay.h"
#include "eval/eval.h"
#include "eval/worlds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_POINTS = 257, MAX_PLACES = 64, LABEL = 160 };

/* A joint action in words: "attack 2, stop, east". */
static void describe(char *label, const float *action, const mw_env *env) {
    const mw_env_info *info = mw_env_describe(env);
    size_t used = 0;
    label[0] = 0;
    for (int i = 0; i < info->agents; i++)
        for (int k = 0; k < info->act_size; k++) {
            char name[64];
            if (!(action[i * info->act_size + k] > 0)) continue;
            mw_env_action_name(env, k, name, sizeof name);
            used += (size_t)snprintf(label + used, LABEL - used, "%s%s", i ? ", " : "", name);
            if (used >= LABEL) return;
        }
}

static mw_status add_scores(mw_replay *replay, const mw_candidates *c, const mw_worlds *s, mw_error *error) {
    const mw_env_info *info = s->info;
    if (!info->discrete) return mw_replay_candidates(replay, c->scores, c->count, c->chosen, NULL, error);
    char *text = malloc((size_t)c->count * LABEL);
    const char **labels = malloc((size_t)c->count * sizeof *labels);
    mw_status status = MW_OK;
    for (int m = 0; text && labels && m < c->count; m++) {
        labels[m] = text + (size_t)m * LABEL;
        describe(text + (size_t)m * LABEL,
                 c->actions + (size_t)(m * c->horizon * info->agents * info->act_size), s->envs[0]);
    }
    if (text && labels)
        status = mw_replay_candidates(replay, c->scores, c->count, c->chosen, labels, error);
    else
        status = mw_fail(error, MW_ERR_MEMORY, "cannot describe %d candidates", c->count);
    free(text);
    free(labels);
    return status;
}

/* Where every candidate leads. A single place is drawn side by side for all of them, to tell them apart. */
static mw_status add_paths(mw_replay *replay, const mw_candidates *c, const mw_worlds *s, mw_error *error) {
    const mw_env *env = s->envs[0];
    const size_t joint = (size_t)(s->info->agents * s->info->obs_size);
    float now[MAX_PLACES][2], later[MAX_PLACES][2], points[MAX_PLACES][MAX_POINTS][2];
    const int places = mw_env_places(env, s->obs, now, MAX_PLACES);
    for (int m = 0; c->imagined && m < c->count; m++) {
        const float *imagined = c->imagined + (size_t)(m * c->horizon) * joint;
        const float lane = places == 1 ? 0.07f * ((float)m - 0.5f * (float)(c->count - 1)) : 0;
        int count = 1;
        for (int i = 0; i < places; i++) memcpy(points[i][0], now[i], sizeof now[i]);
        for (int h = 0; h < c->horizon && count < MAX_POINTS; h++, count++) {
            mw_env_places(env, imagined + (size_t)h * joint, later, MAX_PLACES);
            for (int i = 0; i < places; i++) memcpy(points[i][count], later[i], sizeof later[i]);
        }
        for (int i = 0; i < places; i++) {
            for (int k = 0; k < count; k++) points[i][k][1] += lane;
            MW_TRY(mw_replay_path(replay, points[i], count, c->scores[m], m == c->chosen, error));
        }
    }
    return MW_OK;
}

static mw_status record(mw_worlds *s, mw_controller *controller, mw_replay *replay, const mw_stop_flag *stop,
                        mw_error *error) {
    MW_TRY(mw_replay_frame(replay, s->envs[0], NULL, error));
    while (!mw_worlds_over(s, 0)) {
        if (stop && *stop)
            return mw_fail(error, MW_ERR_INTERRUPTED, "stopped at step %d of the episode", s->last[0].step);
        MW_TRY(controller->kind->act(controller, s->obs, s->legal, NULL, s->real, s->index, error));
        const mw_candidates c = controller->kind->candidates(controller, 0);
        MW_TRY(add_scores(replay, &c, s, error));
        MW_TRY(add_paths(replay, &c, s, error));
        MW_TRY(mw_worlds_step(s, controller, error));
        MW_TRY(mw_replay_frame(replay, s->envs[0], s->rewards, error));
    }
    return MW_OK;
}

mw_status mw_eval_replay(const mw_bundle *bundle, const mw_eval_options *given, const char *path,
                         mw_error *error) {
    mw_eval_options o;
    mw_worlds worlds;
    mw_controller *controller = NULL;
    mw_replay *replay = NULL;
    char subtitle[256];
    MW_TRY(mw_eval_options_take(&o, given, error));
    MW_NEED(bundle);
    MW_NEED(path);
    MW_TRY(mw_worlds_create(&worlds, bundle, o.world, o.accept_rules, 1, NULL, error));
    mw_controller_request request = {.bundle = bundle,
                                     .plan = bundle->plan,
                                     .envs = worlds.envs,
                                     .env_options = o.world,
                                     .count = 1,
                                     .threads = o.threads,
                                     .imagine = true};
    mw_status status = MW_OK;
    for (int i = 0; i < o.assignment_count && status == MW_OK; i++)
        status = mw_fields_assign(mw_plan_fields, &request.plan, o.assignments[i], "", error);
    const bool other = strcmp(bundle->info.rules, worlds.info->rules) != 0;
    snprintf(subtitle, sizeof subtitle, "%s, planned with %d candidates, seed %llu, rules %s%s%s",
             bundle->info.quality, request.plan.candidates, (unsigned long long)o.first_seed,
             worlds.info->rules, other ? ", trained under " : "", other ? bundle->info.rules : "");
    if (status == MW_OK) status = mw_controller_create(&controller, "planner", &request, error);
    if (status == MW_OK) status = mw_replay_create(&replay, worlds.envs[0], subtitle, error);
    if (status == MW_OK) {
        mw_worlds_begin(&worlds, controller, 0, mw_episode_seeds_of(o.first_seed, 0));
        status = record(&worlds, controller, replay, o.stop, error);
    }
    if (status == MW_OK) status = mw_replay_write(replay, path, error);
    mw_replay_free(replay);
    mw_controller_free(controller);
    mw_worlds_free(&worlds);
    return status;
}
