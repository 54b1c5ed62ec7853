/* One planned episode in pictures, with the policy alone beside it; see eval.h. */
#include "env/replay.h"
#include "core/numbers.h"
#include "eval/eval.h"
#include "eval/worlds.h"
#include "plan/scorers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_POINTS = 257, MAX_PLACES = 64, LABEL = 240 };

/* Adds a joint action in words: "attack 2, stop, east". */
static void describe(char *label, const float *action, const mw_env *env) {
    const mw_env_info *info = mw_env_describe(env);
    size_t used = strlen(label);
    for (int i = 0; i < info->agents; i++)
        for (int k = 0; k < info->act_size && used < LABEL; k++) {
            char name[64];
            if (!(action[i * info->act_size + k] > 0)) continue;
            mw_env_action_name(env, k, name, sizeof name);
            used += (size_t)snprintf(label + used, LABEL - used, "%s%s", i ? ", " : "", name);
        }
}

/* How many steps candidates m and k begin with in common. */
static int common_steps(const mw_candidates *c, int m, int k, size_t joint) {
    const size_t length = (size_t)c->horizon * joint;
    int h = 0;
    while (h < c->horizon &&
           !memcmp(c->actions + (size_t)m * length + (size_t)h * joint,
                   c->actions + (size_t)k * length + (size_t)h * joint, joint * sizeof *c->actions))
        h++;
    return h;
}

/* The first joint action, and of those that begin with it too every step at which one of them goes another
 * way. */
static void tell_apart(char *label, const mw_candidates *c, int m, const mw_worlds *s) {
    const size_t joint = (size_t)(s->info->agents * s->info->act_size);
    const float *actions = c->actions + (size_t)(m * c->horizon) * joint;
    int same = -1;
    label[0] = 0;
    describe(label, actions, s->envs[0]);
    for (int h = 1; h < c->horizon; h++) {
        bool parts = false;
        for (int k = 0; k < c->count; k++) parts |= k != m && common_steps(c, m, k, joint) == h;
        const size_t used = strlen(label);
        if (!parts) continue;
        snprintf(label + used, LABEL - used, "; step %d: ", h + 1);
        describe(label, actions + (size_t)h * joint, s->envs[0]);
    }
    for (int k = c->count - 1; k >= 0; k--)
        if (k != m && common_steps(c, m, k, joint) == c->horizon) same = k;
    const size_t used = strlen(label);
    if (same >= 0) snprintf(label + used, LABEL - used, " (the same as %d)", same);
}

static mw_status add_scores(mw_replay *replay, const mw_candidates *c, const mw_worlds *s, mw_error *error) {
    if (!s->info->discrete)
        return mw_replay_candidates(replay, c->scores, c->weights, c->count, c->chosen, NULL, error);
    char *text = malloc((size_t)c->count * LABEL);
    const char **labels = malloc((size_t)c->count * sizeof *labels);
    mw_status status = MW_OK;
    for (int m = 0; text && labels && m < c->count; m++) {
        labels[m] = text + (size_t)m * LABEL;
        tell_apart(text + (size_t)m * LABEL, c, m, s);
    }
    if (text && labels)
        status = mw_replay_candidates(replay, c->scores, NULL, c->count, c->chosen, labels, error);
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
            MW_TRY(mw_replay_path(replay, points[i], count, m, error));
        }
    }
    return MW_OK;
}

static mw_status record(mw_worlds *s, mw_controller *controller, mw_replay *replay, const mw_stop_flag *stop,
                        mw_error *error) {
    MW_TRY(mw_replay_frame(replay, s->envs[0], NULL, error));
    while (!mw_worlds_over(s, 0)) {
        if (mw_stopped(stop))
            return mw_fail(error, MW_ERR_INTERRUPTED, "stopped at step %d of the episode", s->last[0].step);
        MW_TRY(controller->kind->act(controller, s->obs, s->legal, NULL, s->real, s->index, error));
        const mw_candidates c = controller->kind->candidates(controller, 0);
        if (c.count > 1) {
            MW_TRY(add_scores(replay, &c, s, error));
            MW_TRY(add_paths(replay, &c, s, error));
        }
        MW_TRY(mw_worlds_step(s, controller, error));
        MW_TRY(mw_replay_frame(replay, s->envs[0], s->rewards, error));
    }
    return MW_OK;
}

/* One episode from its first state on, as the request's plan says. */
static mw_status play(mw_replay **replay, mw_worlds *worlds, const mw_controller_request *request,
                      const mw_eval_options *o, const char *subtitle, mw_error *error) {
    mw_controller *controller = NULL;
    MW_TRY(mw_replay_create(replay, worlds->envs[0], subtitle, error));
    mw_status status = mw_controller_create(&controller, "planner", request, error);
    if (status == MW_OK) {
        mw_worlds_begin(worlds, controller, 0, mw_episode_seeds_of(o->first_seed, 0));
        status = record(worlds, controller, *replay, o->stop, error);
    }
    mw_controller_free(controller);
    return status;
}

/* The planned episode, and the policy alone beside it. */
static mw_status play_both(mw_replay **replay, mw_worlds *worlds, mw_controller_request *request,
                           const mw_eval_options *o, mw_error *error) {
    const mw_bundle_info *info = &request->bundle->info;
    const bool other = strcmp(info->rules, worlds->info->rules) != 0;
    mw_replay *alone = NULL;
    mw_arm reactive;
    char subtitle[256];
    for (int i = 0; i < o->assignment_count; i++)
        MW_TRY(mw_fields_assign(mw_plan_fields, &request->plan, o->assignments[i], "", error));
    snprintf(subtitle, sizeof subtitle, "%s, planned with %d candidates, seed %llu, rules %s%s%s",
             info->quality, request->plan.candidates, (unsigned long long)o->first_seed, worlds->info->rules,
             other ? ", trained under " : "", other ? info->rules : "");
    MW_TRY(play(replay, worlds, request, o, subtitle, error));
    if (mw_scorer_foretells(request->plan.scorer) && request->plan.value_after == 0)
        MW_TRY(mw_replay_horizon(*replay, request->plan.horizon, error));
    mw_arm_at(MW_ARM_REACTIVE, &reactive);
    MW_TRY(mw_fields_assign(mw_plan_fields, &request->plan, reactive.settings, "", error));
    request->imagine = false;
    mw_status status = play(&alone, worlds, request, o, "", error);
    if (status == MW_OK) status = mw_replay_beside(*replay, alone, "The policy alone", error);
    mw_replay_free(alone);
    return status;
}

mw_status mw_eval_replay(mw_replay **replay, const mw_bundle *bundle, const mw_eval_options *given,
                         mw_error *error) {
    MW_PLAIN_NUMBERS;
    mw_eval_options o;
    mw_worlds worlds;
    MW_NEED(replay);
    *replay = NULL;
    MW_TRY(mw_eval_options_take(&o, given, error));
    MW_NEED(bundle);
    MW_TRY(mw_worlds_create(&worlds, bundle, o.world, o.accept_rules, 1, NULL, error));
    mw_controller_request request = {.bundle = bundle,
                                     .plan = bundle->plan,
                                     .envs = worlds.envs,
                                     .env_options = o.world,
                                     .count = 1,
                                     .threads = o.threads,
                                     .imagine = true};
    const mw_status status = play_both(replay, &worlds, &request, &o, error);
    if (status != MW_OK) {
        mw_replay_free(*replay);
        *replay = NULL;
    }
    mw_worlds_free(&worlds);
    return status;
}
