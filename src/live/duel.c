/* Two worlds side by side; see duel.h. A step is decided as soon as it is reached, so that what will be done
 * can be looked at, and overruled, before it is done. */
#include "live/duel.h"

#include "live/moment.h"

#include <stdlib.h>
#include <string.h>

/* ---- opening and closing ---- */

static mw_status open_side(mw_duel_side *side, const mw_bundle_summary *about, mw_error *error) {
    MW_TRY(mw_env_create(&side->env, about->task, NULL, error));
    const mw_env_info *info = mw_env_describe(side->env);
    if (info->agents != about->agents || info->obs_size != about->obs_size ||
        info->act_size != about->act_size || info->discrete != about->discrete ||
        strcmp(info->rules, about->rules))
        return mw_fail(error, MW_ERR_MISMATCH, "the bundle was trained under rules %s, the world has %s",
                       about->rules, info->rules);
    const size_t n = (size_t)info->agents, o = (size_t)info->obs_size, d = (size_t)info->act_size;
    side->obs = calloc(n * o, sizeof *side->obs);
    side->real = calloc(n * d, sizeof *side->real);
    side->rewards = calloc(n, sizeof *side->rewards);
    side->legal = calloc(n * d, sizeof *side->legal);
    side->index = calloc(n, sizeof *side->index);
    if (side->obs && side->real && side->rewards && side->legal && side->index) return MW_OK;
    return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a world of %d agents", info->agents);
}

static mw_status make_planner(mw_planner **planner, mw_duel *duel, int which, const mw_plan_settings *plan,
                              mw_error *error) {
    mw_planner_options options;
    if (plan->candidates > MW_DUEL_CANDIDATES)
        return mw_fail(error, MW_ERR_ARGUMENT, "candidates is %d; the live view shows 1 to %d",
                       plan->candidates, MW_DUEL_CANDIDATES);
    mw_planner_options_init(&options, sizeof options, duel->bundle);
    options.threads = duel->threads;
    options.imagine = which == MW_DUEL_PLANNED;
    options.envs_played = &duel->side[which].env;
    options.plan = *plan;
    return mw_planner_create(planner, duel->bundle, &options, error);
}

static mw_status open_duel(mw_duel *duel, uint64_t seed, mw_error *error) {
    duel->about = mw_bundle_describe(duel->bundle);
    duel->plan = mw_bundle_plan(duel->bundle);
    duel->arm = MW_ARM_PLAN;
    for (int s = 0; s < MW_DUEL_SIDES; s++) MW_TRY(open_side(&duel->side[s], &duel->about, error));
    duel->world = mw_env_describe(duel->side[MW_DUEL_PLANNED].env);
    mw_plan_settings alone = duel->plan;
    alone.choice = MW_CHOICE_FIRST;
    MW_TRY(make_planner(&duel->side[MW_DUEL_PLANNED].planner, duel, MW_DUEL_PLANNED, &duel->plan, error));
    MW_TRY(make_planner(&duel->side[MW_DUEL_REACTIVE].planner, duel, MW_DUEL_REACTIVE, &alone, error));
    const mw_status status = mw_routes_create(&duel->routes, duel->bundle, error);
    if (status != MW_OK && status != MW_ERR_UNSUPPORTED) return status;
    duel->experts = duel->routes ? mw_routes_experts(duel->routes) : 0;
    return mw_duel_begin(duel, seed, 0, error);
}

mw_status mw_duel_open(mw_duel **out, mw_bundle *bundle, uint64_t seed, int threads, mw_error *error) {
    *out = NULL;
    mw_duel *duel = calloc(1, sizeof *duel);
    if (!duel) {
        mw_bundle_free(bundle);
        return mw_fail(error, MW_ERR_MEMORY, "cannot allocate two worlds");
    }
    duel->bundle = bundle;
    duel->threads = threads;
    const mw_status status = open_duel(duel, seed, error);
    if (status != MW_OK) {
        mw_duel_close(duel);
        return status;
    }
    *out = duel;
    return MW_OK;
}

static void forget_from(mw_duel *duel, int step) {
    for (int t = step; duel->moments && t <= duel->last; t++) {
        if (duel->moments[t]) duel->kept -= duel->moments[t]->bytes;
        free(duel->moments[t]);
        duel->moments[t] = NULL;
    }
    if (step <= duel->last) duel->last = step - 1;
}

void mw_duel_close(mw_duel *duel) {
    if (!duel) return;
    forget_from(duel, duel->first);
    free(duel->moments);
    mw_routes_free(duel->routes);
    for (int s = 0; s < MW_DUEL_SIDES; s++) {
        mw_duel_side *side = &duel->side[s];
        mw_planner_free(side->planner);
        mw_env_free(side->env);
        free(side->obs);
        free(side->real);
        free(side->rewards);
        free(side->legal);
        free(side->index);
    }
    mw_bundle_free(duel->bundle);
    free(duel);
}

/* ---- playing ---- */

const mw_duel_moment *mw_duel_at(const mw_duel *duel, int step) {
    return step >= duel->first && step <= duel->last ? duel->moments[step] : NULL;
}

const mw_duel_moment *mw_duel_now(const mw_duel *duel) {
    return duel->moments[duel->step];
}

static bool ended(const mw_duel_standing *standing) {
    return standing->outcome.terminated || standing->outcome.truncated;
}

bool mw_duel_over(const mw_duel *duel) {
    const mw_duel_moment *now = mw_duel_now(duel);
    return ended(&now->side[MW_DUEL_PLANNED]) && ended(&now->side[MW_DUEL_REACTIVE]);
}

/* Makes a moment that of a step, which becomes the present one; the oldest ones make room. */
static void keep(mw_duel *duel, int step, mw_duel_moment *moment) {
    mw_duel_moment **place = &duel->moments[step];
    if (*place) duel->kept -= (*place)->bytes;
    free(*place);
    *place = moment;
    duel->kept += moment->bytes;
    duel->step = step;
    duel->torn = false;
    if (step > duel->last) duel->last = step;
    while (duel->kept > MW_DUEL_KEPT && duel->first < step) {
        duel->kept -= duel->moments[duel->first]->bytes;
        free(duel->moments[duel->first]);
        duel->moments[duel->first++] = NULL;
    }
}

/* Both sides stand as given: their decisions make a moment, which is not kept yet. */
static mw_status decide(mw_duel *duel, const mw_duel_standing standing[MW_DUEL_SIDES], mw_duel_moment **made,
                        mw_error *error) {
    mw_duel_moment *moment;
    MW_TRY(mw_moment_create(&moment, duel, error));
    memcpy(moment->side, standing, sizeof moment->side);
    mw_status status = MW_OK;
    for (int s = 0; s < MW_DUEL_SIDES && status == MW_OK; s++) {
        mw_duel_side *side = &duel->side[s];
        mw_env_observe(side->env, side->obs);
        mw_env_legal(side->env, side->legal);
        if (ended(&standing[s])) continue;
        status = mw_planner_act(side->planner, side->obs, side->legal, NULL, side->real, side->index, error);
        moment->side[s].milliseconds = mw_planner_effort(side->planner).milliseconds;
    }
    if (status == MW_OK) status = mw_moment_fill(&moment, duel, !ended(&standing[MW_DUEL_PLANNED]), error);
    if (status == MW_OK)
        *made = moment;
    else
        free(moment);
    return status;
}

/* What the planners knew before the decision of a step. */
static mw_status recall(mw_duel *duel, const mw_duel_moment *moment, mw_error *error) {
    for (int s = 0; s < MW_DUEL_SIDES; s++)
        MW_TRY(
            mw_planner_restore(duel->side[s].planner, 0, moment->memory[s], moment->memory_size[s], error));
    return MW_OK;
}

/* Worlds and planners as they were before the decision of a kept moment. */
static mw_status go_back(mw_duel *duel, const mw_duel_moment *then, mw_error *error) {
    for (int s = 0; s < MW_DUEL_SIDES; s++) {
        mw_duel_side *side = &duel->side[s];
        MW_TRY(mw_env_restore(side->env, then->world[s], mw_env_snapshot_size(side->env), error));
        memcpy(side->rewards, then->rewards[s], (size_t)duel->world->agents * sizeof *side->rewards);
    }
    return recall(duel, then, error);
}

static mw_status decide_again(mw_duel *duel, const mw_duel_moment *then, mw_duel_moment **made,
                              mw_error *error) {
    MW_TRY(go_back(duel, then, error));
    MW_TRY(decide(duel, then->side, made, error));
    (*made)->handled = then->handled;
    return MW_OK;
}

static mw_status take(mw_duel *duel, mw_duel_moment *moment, int candidate, mw_error *error) {
    mw_duel_side *side = &duel->side[MW_DUEL_PLANNED];
    MW_TRY(mw_planner_take(side->planner, 0, candidate, side->real, side->index, error));
    moment->forced = true;
    mw_moment_choose(moment, duel);
    return MW_OK;
}

/* The decision of a kept step once more, with what was chosen by hand in it. */
static mw_status go_to(mw_duel *duel, int step, mw_error *error) {
    const mw_duel_moment *then = mw_duel_at(duel, step);
    mw_duel_moment *moment;
    MW_TRY(decide_again(duel, then, &moment, error));
    if (then->forced && then->chosen < moment->candidates) {
        const mw_status status = take(duel, moment, then->chosen, error);
        if (status != MW_OK) {
            free(moment);
            return status;
        }
    }
    keep(duel, step, moment);
    return MW_OK;
}

/* Before every operation: a failure may have been too deep to return at once. */
static mw_status mend(mw_duel *duel, mw_error *error) {
    return duel->torn ? go_to(duel, duel->step, error) : MW_OK;
}

/* After a failure on the way to another moment: back to the present one, now or before what comes next. */
static mw_status give_up(mw_duel *duel, mw_status status) {
    duel->torn = true;
    if (duel->moments) mend(duel, NULL);
    return status;
}

mw_status mw_duel_begin(mw_duel *duel, uint64_t seed, uint64_t episode, mw_error *error) {
    uint64_t world, policy;
    const mw_duel_standing start[MW_DUEL_SIDES] = {0};
    mw_duel_moment **moments = calloc((size_t)duel->world->episode_limit + 1, sizeof *moments), *moment;
    if (!moments) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate an episode");
    mw_env_episode_seeds(seed, episode, &world, &policy);
    for (int s = 0; s < MW_DUEL_SIDES; s++) {
        mw_duel_side *side = &duel->side[s];
        mw_env_reset(side->env, world);
        mw_planner_begin(side->planner, 0, policy, NULL);
        memset(side->rewards, 0, (size_t)duel->world->agents * sizeof *side->rewards);
    }
    const mw_status status = decide(duel, start, &moment, error);
    if (status != MW_OK) {
        free(moments);
        return give_up(duel, status);
    }
    forget_from(duel, duel->first);
    free(duel->moments);
    duel->moments = moments;
    duel->seed = seed;
    duel->episode = episode;
    duel->first = 0;
    duel->last = -1;
    keep(duel, 0, moment);
    return MW_OK;
}

/* The actions that were decided. */
static mw_status execute(mw_duel *duel, mw_duel_standing standing[MW_DUEL_SIDES], mw_error *error) {
    const int n = duel->world->agents;
    for (int s = 0; s < MW_DUEL_SIDES; s++) {
        mw_duel_side *side = &duel->side[s];
        memset(side->rewards, 0, (size_t)n * sizeof *side->rewards);
        standing[s].milliseconds = 0;
        if (ended(&standing[s])) continue;
        const mw_action action =
            duel->world->discrete ? (mw_action){.index = side->index} : (mw_action){.real = side->real};
        MW_TRY(mw_env_step(side->env, action, side->rewards, &standing[s].outcome, error));
        double mean = 0;
        for (int i = 0; i < n; i++) mean += side->rewards[i] / n;
        standing[s].total += mean;
        mw_planner_reward(side->planner, 0, (float)mean, NULL);
    }
    return MW_OK;
}

mw_status mw_duel_advance(mw_duel *duel, mw_error *error) {
    mw_duel_standing standing[MW_DUEL_SIDES];
    mw_duel_moment *moment;
    MW_TRY(mend(duel, error));
    if (mw_duel_over(duel)) return MW_OK;
    const bool handled = mw_duel_now(duel)->handled || mw_duel_now(duel)->forced;
    memcpy(standing, mw_duel_now(duel)->side, sizeof standing);
    mw_status status = execute(duel, standing, error);
    if (status == MW_OK) status = decide(duel, standing, &moment, error);
    if (status != MW_OK) return give_up(duel, status);
    forget_from(duel, duel->step + 1);
    moment->handled = handled;
    keep(duel, duel->step + 1, moment);
    return MW_OK;
}

/* ---- taking a hand ---- */

static mw_status find(const mw_duel *duel, int step, const mw_duel_moment **moment, mw_error *error) {
    *moment = mw_duel_at(duel, step);
    if (*moment) return MW_OK;
    return mw_fail(error, MW_ERR_ARGUMENT, "step is %d; those kept are %d to %d", step, duel->first,
                   duel->last);
}

mw_status mw_duel_seek(mw_duel *duel, int step, mw_error *error) {
    const mw_duel_moment *then;
    MW_TRY(find(duel, step, &then, error));
    const mw_status status = go_to(duel, step, error);
    return status == MW_OK ? MW_OK : give_up(duel, status);
}

static mw_status check_candidate(const mw_duel_moment *moment, int candidate, mw_error *error) {
    if (candidate >= 0 && candidate < moment->candidates) return MW_OK;
    return mw_fail(error, MW_ERR_ARGUMENT, "candidate is %d; this step has %d", candidate,
                   moment->candidates);
}

static mw_status force_elsewhere(mw_duel *duel, int step, int candidate, mw_error *error) {
    const mw_duel_moment *then;
    mw_duel_moment *moment;
    MW_TRY(find(duel, step, &then, error));
    const bool already = then->forced && then->chosen == candidate;
    mw_status status = decide_again(duel, then, &moment, error);
    if (status != MW_OK) return give_up(duel, status);
    status = check_candidate(moment, candidate, error);
    if (status == MW_OK) status = take(duel, moment, candidate, error);
    if (status != MW_OK) {
        free(moment);
        return give_up(duel, status);
    }
    if (!already) forget_from(duel, step + 1);
    keep(duel, step, moment);
    return MW_OK;
}

mw_status mw_duel_force(mw_duel *duel, int step, int candidate, mw_error *error) {
    MW_TRY(mend(duel, error));
    if (step != duel->step) return force_elsewhere(duel, step, candidate, error);
    mw_duel_moment *moment = duel->moments[step];
    MW_TRY(check_candidate(moment, candidate, error));
    if (moment->forced && moment->chosen == candidate) return MW_OK;
    MW_TRY(take(duel, moment, candidate, error));
    forget_from(duel, step + 1);
    return MW_OK;
}

static mw_status place_at(mw_duel *duel, const mw_duel_moment *then, const char *role, int id,
                          const float place[2], mw_duel_moment **moment, mw_error *error) {
    MW_TRY(go_back(duel, then, error));
    for (int s = 0; s < MW_DUEL_SIDES; s++) MW_TRY(mw_env_place(duel->side[s].env, role, id, place, error));
    MW_TRY(decide(duel, then->side, moment, error));
    (*moment)->handled = true;
    return MW_OK;
}

mw_status mw_duel_place(mw_duel *duel, int step, const char *role, int id, const float place[2],
                        mw_error *error) {
    const mw_duel_moment *then;
    mw_duel_moment *moment;
    for (int c = 0; c < 2; c++)
        if (!(place[c] >= -3 && place[c] <= 3))
            return mw_fail(error, MW_ERR_ARGUMENT, "coordinate %d is %g; it must be -3 to 3", c,
                           (double)place[c]);
    MW_TRY(find(duel, step, &then, error));
    MW_TRY(mend(duel, error));
    then = mw_duel_at(duel, step); /* it may have been made anew */
    const mw_status status = place_at(duel, then, role, id, place, &moment, error);
    if (status != MW_OK) return give_up(duel, status);
    forget_from(duel, step + 1);
    keep(duel, step, moment);
    return MW_OK;
}

bool mw_duel_movable(const mw_duel *duel) {
    const float nowhere[2] = {0, 0};
    return mw_env_place(duel->side[0].env, "", -1, nowhere, NULL) != MW_ERR_UNSUPPORTED;
}

/* The planner that was there goes only when the new one has decided. */
static mw_status replan(mw_duel *duel, const mw_plan_settings *plan, int arm, mw_error *error) {
    mw_duel_side *side = &duel->side[MW_DUEL_PLANNED];
    mw_planner *before = side->planner, *planner;
    mw_duel_moment *moment;
    MW_TRY(mend(duel, error));
    MW_TRY(make_planner(&planner, duel, MW_DUEL_PLANNED, plan, error));
    side->planner = planner;
    const mw_status status = decide_again(duel, mw_duel_now(duel), &moment, error);
    if (status != MW_OK) {
        mw_planner_free(planner);
        side->planner = before;
        return give_up(duel, status);
    }
    mw_planner_free(before);
    duel->plan = *plan;
    duel->arm = arm;
    forget_from(duel, duel->step + 1);
    keep(duel, duel->step, moment);
    for (int t = duel->first; t <= duel->last; t++) duel->moments[t]->handled |= t > 0; /* by another plan */
    return MW_OK;
}

mw_status mw_duel_set(mw_duel *duel, const char *name, const char *value, mw_error *error) {
    mw_plan_settings plan = duel->plan;
    MW_TRY(mw_plan_settings_set(&plan, name, value, error));
    MW_TRY(replan(duel, &plan, duel->arm, error));
    duel->changed = true;
    return MW_OK;
}

bool mw_duel_arm_plays(const mw_duel *duel, int index) {
    mw_arm arm;
    return mw_arm_at(index, &arm) && arm.plans && mw_arm_available(index, duel->bundle);
}

/* An arm is the bundle's own plan with its differences; M, H and K stay as they are. */
mw_status mw_duel_arm(mw_duel *duel, const char *name, mw_error *error) {
    const mw_plan_settings own = mw_bundle_plan(duel->bundle);
    mw_plan_settings plan = own;
    mw_arm arm;
    int index = 0;
    while (mw_arm_at(index, &arm) && strcmp(arm.name, name)) index++;
    if (!mw_duel_arm_plays(duel, index))
        return mw_fail(error, MW_ERR_ARGUMENT, "'%.32s' is no arm that plans with this bundle", name);
    plan.candidates = duel->plan.candidates;
    plan.horizon = duel->plan.horizon;
    plan.sampling_steps = duel->plan.sampling_steps;
    char *rest = arm.settings;
    for (char *word; (word = strsep(&rest, " "));) {
        char *value = strchr(word, '=');
        if (!value) continue;
        *value++ = 0;
        if (duel->world->discrete && strstr("action_offset temperature warm_start", word)) continue;
        MW_TRY(mw_plan_settings_set(&plan, word, value, error));
    }
    MW_TRY(replan(duel, &plan, index, error));
    duel->changed = plan.candidates != own.candidates || plan.horizon != own.horizon ||
                    plan.sampling_steps != own.sampling_steps;
    return MW_OK;
}
