/* What all worlds share: finding a task, checking actions, counting steps, the snapshots' envelope. See
 * env.h. */
#include "env/env.h"

#include "core/names.h"
#include "core/numbers.h"
#include "core/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const mw_env_class *const classes[] = {
    &mw_mpe_class,
    &mw_battle_class,
#ifdef MAWAM_HAVE_MUJOCO
    &mw_ant_class,
#endif
    NULL,
};

const char *mw_env_task(int index) {
    for (const mw_env_class *const *class = classes; *class; class ++)
        for (const char *const *task = mw_family_tasks((*class)->family); *task; task++)
            if (index-- == 0) return *task;
    return NULL;
}

static const mw_env_class *find_class(const char *task) {
    const mw_family *family = mw_family_of(task);
    for (const mw_env_class *const *class = classes; *class; class ++)
        if ((*class)->family == family) return *class;
    return NULL;
}

static mw_status unknown_task(const char *task, mw_error *error) {
    if (mw_family_of(task)) /* of the only one that a build may lack */
        return mw_fail(error, MW_ERR_UNSUPPORTED,
                       "task '%s' needs MuJoCo, which this build lacks (Debian package libmujoco-dev)", task);
    return mw_names_unknown(mw_env_task, "task", task, error);
}

static const mw_env_options defaults = {.size = sizeof defaults, .spawn_jitter = -1};

void mw_env_options_init(mw_env_options *options, size_t size) {
    mw_options_fill(options, size, &defaults, sizeof defaults);
}

/* What a family's row must keep to, whatever the family. */
static mw_status check_row(const mw_env_info *i, mw_error *error) {
    if (i->agents >= 1 && i->obs_size >= 1 && i->act_size >= 1 && i->episode_limit >= 1 &&
        (!i->discrete || i->agents <= MW_ENV_LEGAL / i->act_size))
        return MW_OK;
    return mw_fail(error, MW_ERR_UNSUPPORTED,
                   "%s: %d agents with %d features and %d actions for %d steps; all must be at least 1, and "
                   "discrete actions at most %d in all",
                   i->task, i->agents, i->obs_size, i->act_size, i->episode_limit, MW_ENV_LEGAL);
}

mw_status mw_env_create(mw_env **out, const char *task, const mw_env_options *given, mw_error *error) {
    MW_PLAIN_NUMBERS;
    mw_env_options options = defaults;
    MW_NEED_AS(out, "env");
    *out = NULL;
    MW_NEED(task);
    MW_TRY(mw_options_take(&options, sizeof options, MW_FIELD_END(mw_env_options, spawn_jitter), given,
                           "mw_env_options_init", error));
    const mw_env_class *kind = find_class(task);
    if (!kind) return unknown_task(task, error);
    mw_env *env = calloc(1, sizeof *env);
    if (!env) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate an environment");
    env->kind = kind;
    mw_status status = kind->create(env, task, &options, error);
    if (status != MW_OK) {
        free(env);
        return status;
    }
    status = check_row(&env->info, error);
    if (status != MW_OK) {
        mw_env_free(env);
        return status;
    }
    mw_env_reset(env, 0);
    *out = env;
    return MW_OK;
}

void mw_env_free(mw_env *env) {
    if (!env) return;
    env->kind->destroy(env);
    free(env);
}

const mw_env_info *mw_env_describe(const mw_env *env) {
    return &env->info;
}

void mw_env_feature(const mw_env *env, int index, mw_feature *feature) {
    *feature = (mw_feature){.unit = "", .low = -INFINITY, .high = INFINITY};
    if (index >= 0 && index < env->info.obs_size) env->kind->feature(env, index, feature);
}

void mw_env_action_name(const mw_env *env, int index, char *name, size_t size) {
    if (env->kind->action_name && index >= 0 && index < env->info.act_size)
        env->kind->action_name(env, index, name, size);
    else
        snprintf(name, size, "action %d", index);
}

int mw_env_places(const mw_env *env, const float *obs, float (*places)[2], int capacity) {
    return env->kind->places ? env->kind->places(env, obs, places, capacity) : 0;
}

void mw_env_reset(mw_env *env, uint64_t seed) {
    memset(&env->base, 0, sizeof env->base);
    env->base.seed = seed;
    env->base.rng = mw_rng_make(seed, MW_RNG_ENV, 0, 0, 0);
    env->kind->reset(env);
}

static mw_status check_real(const mw_env *env, const float *real, mw_error *error) {
    int d = env->info.act_size;
    for (int i = 0; i < env->info.agents * d; i++)
        if (!(real[i] >= -1.0f && real[i] <= 1.0f)) /* also catches NaN */
            return mw_fail(error, MW_ERR_ARGUMENT,
                           "%s: action value %d of agent %d is %.9g; it must be in [-1, 1]", env->info.task,
                           i % d, i / d, (double)real[i]);
    return MW_OK;
}

static mw_status check_index(const mw_env *env, const int32_t *index, mw_error *error) {
    int d = env->info.act_size;
    uint8_t legal[MW_ENV_LEGAL];
    env->kind->legal(env, legal);
    for (int agent = 0; agent < env->info.agents; agent++) {
        int32_t choice = index[agent];
        if (choice >= 0 && choice < d && legal[agent * d + choice]) continue;
        char allowed[128] = "";
        for (int a = 0, used = 0; a < d; a++)
            if (legal[agent * d + a] && used < (int)sizeof allowed - 8)
                used += snprintf(allowed + used, sizeof allowed - (size_t)used, used ? ", %d" : "%d", a);
        return mw_fail(error, MW_ERR_ARGUMENT, "%s: action %d of agent %d is not legal now; legal: %s",
                       env->info.task, (int)choice, agent, allowed);
    }
    return MW_OK;
}

mw_status mw_env_step(mw_env *env, mw_action action, float *rewards, mw_outcome *outcome, mw_error *error) {
    MW_NEED(env);
    MW_NEED(rewards);
    mw_outcome *now = &env->base.outcome;
    if (now->terminated || now->truncated)
        return mw_fail(error, MW_ERR_ARGUMENT, "%s: the episode is over after step %d; reset it first",
                       env->info.task, now->step);
    if (env->info.discrete ? !action.index || action.real : !action.real || action.index)
        return mw_fail(error, MW_ERR_ARGUMENT, "%s takes %s actions; set action.%s only", env->info.task,
                       env->info.discrete ? "discrete" : "real", env->info.discrete ? "index" : "real");
    MW_TRY(env->info.discrete ? check_index(env, action.index, error) : check_real(env, action.real, error));
    env->kind->step(env, action, rewards);
    now->step++;
    now->truncated = !now->terminated && now->step >= env->info.episode_limit;
    if (outcome) *outcome = *now;
    return MW_OK;
}

void mw_env_observe(const mw_env *env, float *obs) {
    env->kind->observe(env, obs);
}

void mw_env_legal(const mw_env *env, uint8_t *legal) {
    if (env->kind->legal)
        env->kind->legal(env, legal);
    else
        memset(legal, 1, (size_t)(env->info.agents * env->info.act_size));
}

mw_status mw_env_recall(mw_env *env, const float *obs, mw_error *error) {
    MW_NEED(env);
    MW_NEED(obs);
    const int o = env->info.obs_size;
    if (!env->kind->recall)
        return mw_fail(error, MW_ERR_UNSUPPORTED, "%s: its observations do not hold the whole state",
                       env->info.task);
    for (int i = 0; i < env->info.agents * o; i++)
        if (!(fabsf(obs[i]) <= (float)MW_ENV_PLACED))
            return mw_fail(error, MW_ERR_ARGUMENT,
                           "%s: observation feature %d of agent %d is %g; it must be at most %g in size",
                           env->info.task, i % o, i / o, (double)obs[i], MW_ENV_PLACED);
    mw_env_reset(env, 0);
    env->kind->recall(env, obs);
    return MW_OK;
}

/* ---- snapshots: an envelope that names the world, the shared state, the family's state ---- */

typedef struct {
    char magic[8], task[24], rules[48];
    mw_env_base base;
} envelope;

size_t mw_env_snapshot_size(const mw_env *env) {
    return sizeof(envelope) + env->kind->state_size(env);
}

void mw_env_snapshot(const mw_env *env, void *buffer) {
    envelope head;
    memset(&head, 0, sizeof head);
    memcpy(head.magic, "mawamenv", sizeof head.magic);
    snprintf(head.task, sizeof head.task, "%s", env->info.task);
    snprintf(head.rules, sizeof head.rules, "%s", env->info.rules);
    head.base = env->base;
    memcpy(buffer, &head, sizeof head);
    env->kind->save(env, (unsigned char *)buffer + sizeof head);
}

mw_status mw_env_check_numbers(const mw_env *env, const char *what, const double *values, int count,
                               mw_error *error) {
    for (int i = 0; i < count; i++)
        if (!(fabs(values[i]) <= MW_ENV_FARTHEST))
            return mw_fail(error, MW_ERR_FORMAT, "%s: the snapshot's %s %d is %.9g, expected at most %g",
                           env->info.task, what, i, values[i], MW_ENV_FARTHEST);
    return MW_OK;
}

/* The shared part. Booleans are looked at as bytes: any other value than 0 and 1 in one is undefined. */
static mw_status check_base(const mw_env *env, const unsigned char *bytes, mw_error *error) {
    mw_env_base base;
    const size_t flags[] = {offsetof(mw_env_base, outcome.terminated),
                            offsetof(mw_env_base, outcome.truncated), offsetof(mw_env_base, outcome.won)};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (bytes[flags[i]] > 1)
            return mw_fail(error, MW_ERR_FORMAT,
                           "%s: a flag of the snapshot's outcome is %d, expected 0 or 1", env->info.task,
                           bytes[flags[i]]);
    memcpy(&base, bytes, sizeof base);
    if (base.rng.left > 4)
        return mw_fail(error, MW_ERR_FORMAT,
                       "%s: the snapshot's random stream has %u numbers left, expected 0 to 4",
                       env->info.task, base.rng.left);
    if (base.outcome.step < 0 || base.outcome.step > env->info.episode_limit)
        return mw_fail(error, MW_ERR_FORMAT, "%s: the snapshot is at step %d, expected 0 to %d",
                       env->info.task, base.outcome.step, env->info.episode_limit);
    const bool limit = base.outcome.step == env->info.episode_limit;
    if (base.outcome.truncated != (limit && !base.outcome.terminated))
        return mw_fail(error, MW_ERR_FORMAT,
                       "%s: the snapshot's episode is%s cut off at step %d; the limit is %d", env->info.task,
                       base.outcome.truncated ? "" : " not", base.outcome.step, env->info.episode_limit);
    return MW_OK;
}

mw_status mw_env_restore(mw_env *env, const void *buffer, size_t size, mw_error *error) {
    MW_NEED(env);
    MW_NEED(buffer);
    envelope head;
    if (size != mw_env_snapshot_size(env))
        return mw_fail(error, MW_ERR_MISMATCH, "%s: a snapshot has %zu bytes, got %zu", env->info.task,
                       mw_env_snapshot_size(env), size);
    const unsigned char *bytes = buffer;
    memcpy(&head, bytes, offsetof(envelope, base));
    if (memcmp(head.magic, "mawamenv", sizeof head.magic) || head.task[sizeof head.task - 1] ||
        head.rules[sizeof head.rules - 1])
        return mw_fail(error, MW_ERR_FORMAT, "%s: this is not an environment snapshot", env->info.task);
    if (strcmp(head.task, env->info.task) || strcmp(head.rules, env->info.rules))
        return mw_fail(error, MW_ERR_MISMATCH,
                       "the snapshot is of %s under rules %s, the environment is %s under %s", head.task,
                       head.rules, env->info.task, env->info.rules);
    MW_TRY(check_base(env, bytes + offsetof(envelope, base), error));
    MW_TRY(env->kind->check(env, bytes + sizeof head, error));
    memcpy(&env->base, bytes + offsetof(envelope, base), sizeof env->base);
    env->kind->load(env, bytes + sizeof head);
    return MW_OK;
}

int mw_env_draw(const mw_env *env, mw_shape *shapes, int capacity) {
    return env->kind->draw(env, shapes, capacity);
}

mw_status mw_env_place(mw_env *env, const char *role, int id, const float place[2], mw_error *error) {
    MW_NEED(env);
    MW_NEED(role);
    MW_NEED(place);
    if (!env->kind->place)
        return mw_fail(error, MW_ERR_UNSUPPORTED, "%s: nothing can be moved by hand", env->info.task);
    for (int c = 0; c < 2; c++)
        if (!(fabsf(place[c]) <= (float)MW_ENV_PLACED))
            return mw_fail(error, MW_ERR_ARGUMENT, "%s: coordinate %d is %g; it must be at most %g in size",
                           env->info.task, c, (double)place[c], MW_ENV_PLACED);
    if (env->kind->place(env, role, id, place)) return MW_OK;
    return mw_fail(error, MW_ERR_ARGUMENT, "%s: there is no %.64s %d", env->info.task, role, id);
}

/* ---- scripted policies ---- */

static void random_act(const mw_env *env, mw_rng *rng, float *real, int32_t *index) {
    int n = env->info.agents, d = env->info.act_size;
    if (!env->info.discrete) {
        for (int i = 0; i < n * d; i++) real[i] = 2.0f * mw_rng_float(rng) - 1.0f;
        return;
    }
    uint8_t legal[MW_ENV_LEGAL];
    env->kind->legal(env, legal);
    for (int agent = 0; agent < n; agent++) {
        int count = 0;
        for (int a = 0; a < d; a++) count += legal[agent * d + a];
        int choice = (int)mw_rng_below(rng, (uint32_t)count), a = 0;
        while (!legal[agent * d + a] || choice-- > 0) a++;
        index[agent] = a;
    }
}

static const mw_script random_script = {"random", "uniform over the (legal) actions", random_act};

static const mw_script *scripts_of(const mw_env_class *kind, const char *task) {
    return kind->task_scripts ? kind->task_scripts(task) : kind->scripts;
}

static const mw_script *find_script(const mw_env *env, const char *name) {
    if (!strcmp(name, random_script.name)) return &random_script;
    for (const mw_script *script = scripts_of(env->kind, env->info.task); script->name; script++)
        if (!strcmp(script->name, name)) return script;
    return NULL;
}

const char *mw_script_name(const char *task, int index) {
    const mw_env_class *kind = task ? find_class(task) : NULL;
    if (!kind || index < 0) return NULL;
    if (index == 0) return random_script.name;
    for (const mw_script *script = scripts_of(kind, task); script->name; script++)
        if (--index == 0) return script->name;
    return NULL;
}

mw_status mw_script_act(const mw_env *env, const char *name, uint64_t seed, float *real, int32_t *index,
                        mw_error *error) {
    MW_NEED(env);
    MW_NEED_AS(name, "script");
    const mw_script *script = name ? find_script(env, name) : NULL;
    if (!script) {
        char known[160] = "random";
        for (const mw_script *s = scripts_of(env->kind, env->info.task); s->name; s++) {
            strncat(known, ", ", sizeof known - strlen(known) - 1);
            strncat(known, s->name, sizeof known - strlen(known) - 1);
        }
        return mw_fail(error, MW_ERR_ARGUMENT, "%s has no scripted policy '%.64s'; known: %s", env->info.task,
                       name ? name : "", known);
    }
    if (env->info.discrete ? !index : !real)
        return mw_fail(error, MW_ERR_ARGUMENT, "%s: no room given for the joint action", env->info.task);
    mw_rng rng = mw_rng_make(seed, MW_RNG_SCRIPT, (uint64_t)env->base.outcome.step, 0, 0);
    script->act(env, &rng, real, index);
    return MW_OK;
}

void mw_env_episode_seeds(uint64_t seed, uint64_t episode, uint64_t *world, uint64_t *policy) {
    mw_rng rng = mw_rng_make(seed, MW_RNG_EVAL, episode, 0, 0);
    *world = mw_rng_u64(&rng);
    *policy = mw_rng_u64(&rng);
}
