/* The planner: histories -> candidates -> scores -> choice. See planner.h and mawam.h. */
#include "plan/planner.h"

#include "core/clock.h"
#include "core/math.h"
#include "core/rng.h"
#include "model/flow/sampler.h"
#include "plan/scorer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One environment's episode so far. */
typedef struct {
    uint64_t episode, step;
    float target; /* what is left of it, if the bundle follows the return-to-go */
    int chosen;
    bool carries; /* the rest of its last plan is in `carried` */
} env_state;

struct mw_planner {
    const mw_bundle *bundle;
    mw_planner_options options;
    mw_sampler_options sampling;
    int drawn_from; /* M; the random arm generates only the one of them that it takes */
    mw_pool *pool;
    mw_sampler *sampler;
    mw_scorer *scorer;
    mw_arena arena;
    env_state *states;      /* [envs] */
    float *history;         /* [envs][C][n][o], raw, oldest first */
    int *slots, slot_count; /* [envs]: the active environments; candidates of slot s lie at s*M.. */
    int *slot_of;           /* [envs]: an environment's slot in the last decision, -1 before */
    float *context;         /* [slots*M][C][n][o], normalised */
    float *trajectory;      /* [slots*M][T][n][o]: noise, then the candidates, normalised */
    float *target;          /* [slots*M] */
    float *proposed;        /* [slots*M][H+1][n][o], raw */
    float *start;           /* [slots*M][n][o]: the current observation */
    float *actions;         /* [slots*M][H][n][d], one-hot if discrete */
    float *carried;  /* [envs][H-1][n][d]: what the chosen candidate had in mind after its first action */
    float *imagined; /* [slots*M][H][n][o] */
    float *scores;   /* [slots*M] */
    float *blended;  /* [H][n][d]: a mean of candidates */
    float *terms, *gradient; /* of the advantage at one observation */
    float *pairs;            /* [slots*M*H*n] rows of the inverse dynamics */
    mw_mlp_acts *inverse;    /* per worker */
    const uint8_t *legal;    /* the caller's, during a decision */
    mw_planner_times times;
};

/* ---- set-up ---- */

static void carve(mw_planner *p) {
    const mw_bundle_info *i = &p->bundle->info;
    const mw_policy_config *c = &p->bundle->policy.config;
    const int threads = mw_pool_threads(p->pool), horizon = p->options.horizon;
    const size_t envs = (size_t)p->options.envs, all = envs * (size_t)p->options.candidates,
                 h = (size_t)horizon;
    const size_t joint = (size_t)(i->agents * i->obs), act = (size_t)(i->agents * i->act);
    mw_arena *a = &p->arena;
    p->states = mw_arena_take(a, envs, sizeof *p->states);
    p->slots = mw_arena_take(a, envs, sizeof *p->slots);
    p->slot_of = mw_arena_take(a, envs, sizeof *p->slot_of);
    p->history = mw_arena_floats(a, envs * (size_t)c->context * joint);
    p->context = mw_arena_floats(a, all * (size_t)c->context * joint);
    p->trajectory = mw_arena_floats(a, all * (size_t)c->time * joint);
    p->target = mw_arena_floats(a, all);
    p->proposed = mw_arena_floats(a, all * (h + 1) * joint);
    p->start = mw_arena_floats(a, all * joint);
    p->actions = mw_arena_floats(a, all * h * act);
    p->carried = mw_arena_floats(a, p->options.carry ? envs * (h - 1) * act : 0);
    p->imagined = mw_arena_floats(a, all * h * joint);
    p->scores = mw_arena_floats(a, all);
    p->blended = mw_arena_floats(a, h * act);
    p->terms = mw_arena_floats(a, (size_t)mw_advantage_terms(&p->bundle->advantage.config));
    p->gradient = mw_arena_floats(a, act);
    p->pairs =
        mw_arena_floats(a, all * h * (size_t)(i->agents * mw_inverse_inputs(&p->bundle->inverse.config)));
    p->inverse = mw_arena_take(a, (size_t)threads, sizeof *p->inverse);
    for (int w = 0; w < threads; w++) {
        mw_mlp_acts acts;
        mw_mlp_acts_take(&p->bundle->inverse.mlp, &acts, a,
                         (int)(all * h) * i->agents / threads + i->agents * horizon + 1, false);
        if (p->inverse) p->inverse[w] = acts;
    }
}

static mw_status check_options(const mw_bundle *b, mw_planner_options *o, mw_error *error) {
    const int generated = b->policy.config.time - b->policy.config.context;
    if (!o->horizon) o->horizon = b->info.horizon;
    if (!o->steps) o->steps = b->info.steps;
    if (isnan(o->target)) o->target = b->info.target;
    if (isnan(o->explore)) o->explore = b->info.explore;
    if (isnan(o->blend)) o->blend = b->info.blend;
    if (isnan(o->advantage)) o->advantage = b->info.advantage;
    if (o->carry < 0) o->carry = b->info.carry;
    if ((int)o->arm < MW_ARM_PLAN || o->arm > MW_ARM_REACTIVE)
        return mw_fail(error, MW_ERR_ARGUMENT, "unknown arm %d", (int)o->arm);
    if (o->candidates < 1 || o->candidates > 4096)
        return mw_fail(error, MW_ERR_ARGUMENT, "M is %d; it must be 1 to 4096 candidates", o->candidates);
    if (o->horizon < 1 || o->horizon > generated)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "H is %d; this bundle generates %d steps, so it must be 1 to %d", o->horizon,
                       generated, generated);
    if (o->steps < 1 || o->steps > b->policy.config.bins)
        return mw_fail(error, MW_ERR_ARGUMENT, "K is %d; it must be 1 to %d sampling steps", o->steps,
                       b->policy.config.bins);
    if (o->envs < 1 || o->envs > 65536 || o->envs * o->candidates > 65536)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "envs is %d; it must be 1 to 65536, and at most 65536 with all candidates", o->envs);
    if (!isfinite(o->target)) return mw_fail(error, MW_ERR_ARGUMENT, "the target return must be finite");
    if (!(o->explore >= 0) || !isfinite(o->explore))
        return mw_fail(error, MW_ERR_ARGUMENT, "exploration is %g; it must be finite and not negative",
                       (double)o->explore);
    if (!(o->blend >= 0) || !isfinite(o->blend))
        return mw_fail(error, MW_ERR_ARGUMENT, "the blend is %g; it must be finite and not negative",
                       (double)o->blend);
    if (!(o->advantage >= 0 && o->advantage <= 1))
        return mw_fail(error, MW_ERR_ARGUMENT, "the advantage's share is %g; it must be 0 to 1",
                       (double)o->advantage);
    if (o->advantage > 0 && b->info.features == 0)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "the advantage's share is %g, but this bundle has no advantage", (double)o->advantage);
    return MW_OK;
}

static mw_status set_up(mw_planner *p, mw_error *error) {
    const mw_bundle *b = p->bundle;
    MW_TRY(check_options(b, &p->options, error));
    p->drawn_from = p->options.candidates;
    if (p->options.arm != MW_ARM_PLAN) p->options.candidates = 1;
    p->sampling = (mw_sampler_options){p->options.steps, b->info.guidance, p->options.sequential};
    MW_TRY(mw_pool_create(&p->pool, p->options.threads, error));
    MW_TRY(mw_sampler_create(&p->sampler, &b->policy, b->policy_values, b->policy_packed, p->pool, error));
    const int all = p->options.envs * p->options.candidates;
    if (p->options.arm == MW_ARM_PLAN)
        MW_TRY(mw_world_scorer_create(&p->scorer, &b->world, b->world_values, b->world_packed,
                                      all < 128 ? all : 128, p->pool, error));
    carve(p);
    MW_TRY(mw_arena_create(&p->arena, p->arena.used, error));
    carve(p);
    for (int e = 0; e < p->options.envs; e++) {
        mw_planner_begin(p, e, (uint64_t)e);
        p->slot_of[e] = -1;
    }
    return MW_OK;
}

mw_status mw_planner_create(mw_planner **out, const mw_bundle *bundle, const mw_planner_options *options,
                            mw_error *error) {
    static const mw_planner_options defaults = MW_PLANNER_OPTIONS_DEFAULT;
    *out = NULL;
    MW_TRY(mw_cpu_check(error));
    mw_planner *p = calloc(1, sizeof *p);
    if (!p) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a planner");
    p->bundle = bundle;
    p->options = options ? *options : defaults;
    mw_status status = set_up(p, error);
    if (status != MW_OK) {
        mw_planner_free(p);
        return status;
    }
    *out = p;
    return MW_OK;
}

void mw_planner_free(mw_planner *p) {
    if (!p) return;
    mw_scorer_free(p->scorer);
    mw_sampler_free(p->sampler);
    mw_arena_free(&p->arena);
    mw_pool_free(p->pool);
    free(p);
}

size_t mw_planner_bytes(const mw_planner *p) {
    return p->arena.size + mw_sampler_bytes(p->sampler) + (p->scorer ? p->scorer->kind->bytes(p->scorer) : 0);
}

void mw_planner_begin(mw_planner *p, int env, uint64_t episode) {
    if (env < 0 || env >= p->options.envs) return;
    p->states[env] = (env_state){.episode = episode, .target = p->options.target};
}

void mw_planner_reward(mw_planner *p, int env, float reward) {
    if (env < 0 || env >= p->options.envs || !p->bundle->info.return_to_go) return;
    p->states[env].target -= reward / p->bundle->info.return_scale;
}

/* ---- 1. candidates ---- */

/* The history shifts by one; at an episode's start the first observation fills it. */
static void remember(mw_planner *p, int env, const float *obs) {
    const int context = p->bundle->policy.config.context;
    const size_t joint = (size_t)(p->bundle->info.agents * p->bundle->info.obs);
    float *history = p->history + (size_t)env * (size_t)context * joint;
    const bool fresh = p->states[env].step == 0;
    memmove(history, history + joint, (size_t)(context - 1) * joint * sizeof *history);
    for (int c = fresh ? 0 : context - 1; c < context; c++)
        memcpy(history + (size_t)c * joint, obs, joint * sizeof *obs);
}

/* Which of the M candidates lies at q; the random arm has only the one it takes. */
static uint64_t candidate_at(const mw_planner *p, int q) {
    if (p->options.arm != MW_ARM_RANDOM) return (uint64_t)(q % p->options.candidates);
    const env_state *state = &p->states[p->slots[q]];
    mw_rng rng = mw_rng_make(p->options.seed, MW_RNG_CANDIDATE, state->episode, state->step, UINT64_MAX);
    return mw_rng_below(&rng, (uint32_t)p->drawn_from);
}

/* Context, noise and target of candidates [begin, end). */
static void prepare_share(void *context, int worker) {
    mw_planner *p = context;
    const mw_bundle *b = p->bundle;
    const mw_policy_config *c = &b->policy.config;
    const int agents = b->info.agents, most = p->options.candidates;
    const size_t joint = (size_t)(agents * b->info.obs);
    int begin, end;
    mw_pool_share(p->pool, worker, p->slot_count * most, 1, &begin, &end);
    for (int q = begin; q < end; q++) {
        const int env = p->slots[q / most];
        const env_state *state = &p->states[env];
        const float *history = p->history + (size_t)env * (size_t)c->context * joint;
        float *out = p->context + (size_t)q * (size_t)c->context * joint;
        memcpy(out, history, (size_t)c->context * joint * sizeof *out);
        mw_normalizer_forward(&b->obs_normalizer, out, (long)c->context * agents);
        memcpy(p->start + (size_t)q * joint, history + (size_t)(c->context - 1) * joint, joint * sizeof *out);
        mw_rng rng =
            mw_rng_make(p->options.seed, MW_RNG_CANDIDATE, state->episode, state->step, candidate_at(p, q));
        mw_rng_fill_normal(&rng, p->trajectory + (size_t)q * (size_t)c->time * joint,
                           (size_t)c->time * joint);
        p->target[q] = state->target;
    }
}

/* The first action of an agent must be legal; the rest are the network's own. */
static void pick_discrete(float *action, const float *logits, const uint8_t *legal, int d) {
    int best = -1;
    for (int a = 0; a < d; a++)
        if ((!legal || legal[a]) && (best < 0 || logits[a] > logits[best])) best = a;
    for (int a = 0; a < d; a++) action[a] = a == (best < 0 ? 0 : best);
}

/* The candidate at q leans to one side over its whole horizon: what it does and then undoes makes no
 * difference to its return. values[h][n][d] are actions or logits. The first candidate stays as it is. */
static void explore(const mw_planner *p, int q, float *values) {
    const mw_bundle_info *i = &p->bundle->info;
    const env_state *state = &p->states[p->slots[q / p->options.candidates]];
    const uint64_t candidate = candidate_at(p, q);
    const int joint = i->agents * i->act;
    if (candidate == 0 || p->options.explore == 0) return;
    mw_rng rng = mw_rng_make(p->options.seed, MW_RNG_EXPLORE, state->episode, state->step, candidate);
    for (int k = 0; k < joint; k++) {
        const float offset = p->options.explore * (float)mw_rng_normal(&rng);
        for (int step = 0; step < p->options.horizon; step++) values[step * joint + k] += offset;
    }
}

/* From sampled observations to actions, for candidates [begin, end). */
static void invert_share(void *context, int worker) {
    mw_planner *p = context;
    const mw_bundle *b = p->bundle;
    const mw_bundle_info *i = &b->info;
    const mw_policy_config *c = &b->policy.config;
    const int h = p->options.horizon, n = i->agents, o = i->obs, d = i->act;
    const size_t joint = (size_t)(n * o), inputs = (size_t)mw_inverse_inputs(&b->inverse.config);
    int begin, end;
    mw_pool_share(p->pool, worker, p->slot_count * p->options.candidates, 1, &begin, &end);
    if (begin == end) return;
    for (int q = begin; q < end; q++) {
        const float *now = p->trajectory + ((size_t)q * (size_t)c->time + (size_t)(c->context - 1)) * joint;
        float *pair = p->pairs + (size_t)(q * h * n) * inputs;
        for (int step = 0; step < h; step++, now += joint)
            for (int a = 0; a < n; a++, pair += inputs)
                mw_inverse_row(&b->inverse.config, pair, now + a * o, now + joint + (size_t)(a * o), a);
        float *raw = p->proposed + (size_t)q * (size_t)(h + 1) * joint;
        now = p->trajectory + ((size_t)q * (size_t)c->time + (size_t)(c->context - 1)) * joint;
        memcpy(raw, now, (size_t)(h + 1) * joint * sizeof *raw);
        mw_normalizer_inverse(&b->obs_normalizer, raw, (long)(h + 1) * n);
    }
    const int rows = (end - begin) * h * n;
    float *out =
        mw_mlp_forward(&b->inverse.mlp, &p->inverse[worker], p->pairs + (size_t)(begin * h * n) * inputs,
                       b->inverse_values, b->inverse_packed, rows);
    float *actions = p->actions + (size_t)begin * (size_t)(h * n * d);
    if (i->discrete) {
        for (int q = begin; q < end; q++) explore(p, q, out + (size_t)(q - begin) * (size_t)(h * n * d));
        for (int r = 0; r < rows; r++) {
            const int q = begin + r / (h * n), step = r / n % h, env = p->slots[q / p->options.candidates];
            const uint8_t *legal = step == 0 && p->legal
                                       ? p->legal + ((size_t)env * (size_t)n + (size_t)(r % n)) * (size_t)d
                                       : NULL;
            pick_discrete(actions + (size_t)r * (size_t)d, out + (size_t)r * (size_t)d, legal, d);
        }
        return;
    }
    memcpy(actions, out, (size_t)rows * (size_t)d * sizeof *out);
    mw_normalizer_inverse(&b->act_normalizer, actions, rows);
    for (int q = begin; q < end; q++) explore(p, q, actions + (size_t)(q - begin) * (size_t)(h * n * d));
    for (long k = 0; k < (long)rows * d; k++)
        actions[k] = actions[k] > 1 ? 1 : actions[k] < -1 ? -1 : actions[k] == actions[k] ? actions[k] : 0;
}

/* The rest of an environment's last plan takes the place of its last candidate, and ends with that
 * candidate's own last action. An agent whose next action is not legal any more begins with the candidate's.
 */
static void carry_on(mw_planner *p, int slot) {
    const mw_bundle_info *i = &p->bundle->info;
    const int env = p->slots[slot], n = i->agents, d = i->act, h = p->options.horizon;
    const size_t step = (size_t)(n * d), rest = (size_t)(h - 1) * step;
    const float *carried = p->carried + (size_t)env * rest;
    const uint8_t *legal = i->discrete && p->legal ? p->legal + (size_t)env * step : NULL;
    float *place = p->actions + (size_t)((slot + 1) * p->options.candidates - 1) * (size_t)h * step;
    for (int a = 0; a < n; a++) {
        bool allowed = true;
        for (int k = a * d; legal && k < (a + 1) * d; k++) allowed &= !(carried[k] > 0) || legal[k];
        if (allowed) memcpy(place + a * d, carried + a * d, (size_t)d * sizeof *place);
    }
    memcpy(place + step, carried + step, (rest - step) * sizeof *place);
}

static bool carries(const mw_planner *p) {
    return p->options.carry && p->options.candidates > 1 && p->options.horizon > 1;
}

mw_status mw_planner_propose(mw_planner *p, const float *obs, const uint8_t *legal, const uint8_t *active,
                             mw_error *error) {
    const double started = mw_clock_seconds();
    const mw_bundle_info *i = &p->bundle->info;
    const size_t joint = (size_t)(i->agents * i->obs);
    p->slot_count = 0;
    for (int env = 0; env < p->options.envs; env++) {
        p->slot_of[env] = -1;
        if (active && !active[env]) continue;
        const float *now = obs + (size_t)env * joint;
        for (size_t k = 0; k < joint; k++)
            if (!isfinite(now[k]))
                return mw_fail(error, MW_ERR_ARGUMENT,
                               "observation %zu of agent %zu in environment %d is not finite",
                               k % (size_t)i->obs, k / (size_t)i->obs, env);
        p->slots[p->slot_count++] = env;
    }
    for (int s = 0; s < p->slot_count; s++) {
        remember(p, p->slots[s], obs + (size_t)p->slots[s] * joint);
        p->slot_of[p->slots[s]] = s;
    }
    p->legal = legal;
    mw_pool_run(p->pool, prepare_share, p);
    MW_TRY(mw_sampler_run(p->sampler, &p->sampling, p->trajectory, p->trajectory, p->context, p->target,
                          p->slot_count * p->options.candidates, error));
    mw_pool_run(p->pool, invert_share, p);
    for (int s = 0; s < p->slot_count && carries(p); s++)
        if (p->states[p->slots[s]].carries) carry_on(p, s);
    p->legal = NULL;
    memset(p->scores, 0, (size_t)(p->slot_count * p->options.candidates) * sizeof *p->scores);
    p->times = (mw_planner_times){.generate = mw_clock_seconds() - started};
    return MW_OK;
}

/* ---- 2. scores ---- */

/* The advantage of each candidate's first joint action takes its share of the score. Like the imagined return
 * it is of all agents together. */
static void weigh_advantage(mw_planner *p) {
    const mw_bundle_info *i = &p->bundle->info;
    const int most = p->options.candidates, act = i->agents * i->act;
    const float share = p->options.advantage;
    for (int s = 0; s < p->slot_count; s++) {
        mw_advantage_gradient(&p->bundle->advantage, p->bundle->advantage_values,
                              p->start + (size_t)(s * most) * (size_t)(i->agents * i->obs), p->terms,
                              p->gradient);
        for (int q = s * most; q < (s + 1) * most; q++) {
            const float *first = p->actions + (size_t)q * (size_t)(p->options.horizon * act);
            float sum = 0;
            for (int k = 0; k < act; k++) sum += p->gradient[k] * first[k];
            p->scores[q] = (1 - share) * p->scores[q] + share * (float)i->agents * sum;
        }
    }
}

/* With the advantage alone, scores need no imagined return. */
static bool rolls_out(const mw_planner *p) {
    return p->scorer && (p->options.advantage < 1 || p->options.imagine);
}

void mw_planner_score(mw_planner *p) {
    const double started = mw_clock_seconds();
    if (rolls_out(p))
        mw_scorer_score(p->scorer, p->scores, p->imagined, p->start, p->actions,
                        p->slot_count * p->options.candidates, p->options.horizon);
    if (p->scorer && p->options.advantage > 0) weigh_advantage(p);
    p->times.score = mw_clock_seconds() - started;
}

float *mw_planner_scores(mw_planner *p, int env) {
    return p->slot_of[env] < 0 ? NULL : p->scores + p->slot_of[env] * p->options.candidates;
}

const float *mw_planner_actions(const mw_planner *p, int env) {
    const mw_bundle_info *i = &p->bundle->info;
    return p->slot_of[env] < 0 ? NULL
                               : p->actions + (size_t)(p->slot_of[env] * p->options.candidates) *
                                                  (size_t)(p->options.horizon * i->agents * i->act);
}

/* ---- 3. choice ---- */

static int best_score(const float *scores, int count) {
    int best = -1;
    for (int m = 0; m < count; m++)
        if (isfinite(scores[m]) && (best < 0 || scores[m] > scores[best])) best = m;
    return best < 0 ? 0 : best;
}

/* The mean of the candidates of a slot, whose best one is given. What leads upwards adds up in it, and what
 * the candidates do without an effect cancels out. */
static const float *blend(mw_planner *p, int slot, int best) {
    const mw_bundle_info *i = &p->bundle->info;
    const int most = p->options.candidates, length = p->options.horizon * i->agents * i->act;
    const float *scores = p->scores + slot * most,
                *plans = p->actions + (size_t)(slot * most) * (size_t)length;
    double sum = 0, square = 0, total = 0;
    int finite = 0;
    for (int m = 0; m < most; m++) {
        if (!isfinite(scores[m])) continue;
        const double below = (double)scores[best] - (double)scores[m];
        finite++, sum += below, square += below * below;
    }
    if (i->discrete || p->options.blend == 0 || finite < 2) return plans + (size_t)best * (size_t)length;
    const double deviation = sqrt(fmax(square / finite - sum / finite * (sum / finite), 0));
    memset(p->blended, 0, (size_t)length * sizeof *p->blended);
    for (int m = 0; m < most; m++) {
        if (!isfinite(scores[m])) continue;
        const double below = (double)scores[best] - (double)scores[m],
                     weight = deviation > 0 ? mw_exp(-below / (deviation * (double)p->options.blend)) : 1;
        total += weight;
        for (int k = 0; k < length; k++)
            p->blended[k] += (float)weight * plans[(size_t)m * (size_t)length + (size_t)k];
    }
    for (int k = 0; k < length; k++) /* rounding must not lead out of the range */
        p->blended[k] = fminf(fmaxf(p->blended[k] / (float)total, -1), 1);
    return p->blended;
}

void mw_planner_choose(mw_planner *p, const uint8_t *active, float *real, int32_t *index) {
    const mw_bundle_info *i = &p->bundle->info;
    const int most = p->options.candidates, n = i->agents, d = i->act;
    for (int s = 0; s < p->slot_count; s++) {
        const int env = p->slots[s];
        env_state *state = &p->states[env];
        if (active && !active[env]) continue;
        state->chosen = best_score(p->scores + s * most, most);
        const float *action = blend(p, s, state->chosen);
        if (carries(p)) {
            const size_t rest = (size_t)((p->options.horizon - 1) * n * d);
            memcpy(p->carried + (size_t)env * rest, action + n * d, rest * sizeof *action);
            state->carries = true;
        }
        if (!i->discrete)
            memcpy(real + (size_t)env * (size_t)(n * d), action, (size_t)(n * d) * sizeof *real);
        else
            for (int a = 0; a < n; a++)
                for (int k = 0; k < d; k++)
                    if (action[a * d + k] > 0) index[env * n + a] = k;
        state->step++;
    }
}

mw_status mw_planner_act(mw_planner *p, const float *obs, const uint8_t *legal, const uint8_t *active,
                         float *real, int32_t *index, mw_error *error) {
    if (p->bundle->info.discrete ? !index : !real)
        return mw_fail(error, MW_ERR_ARGUMENT, "%s takes %s actions, and no room for them was given",
                       p->bundle->info.task, p->bundle->info.discrete ? "discrete" : "real");
    MW_TRY(mw_planner_propose(p, obs, legal, active, error));
    mw_planner_score(p);
    mw_planner_choose(p, active, real, index);
    return MW_OK;
}

mw_candidates mw_planner_candidates(const mw_planner *p, int env) {
    if (env < 0 || env >= p->options.envs || p->slot_of[env] < 0) return (mw_candidates){0};
    const mw_bundle_info *i = &p->bundle->info;
    const size_t first = (size_t)(p->slot_of[env] * p->options.candidates), h = (size_t)p->options.horizon;
    const size_t joint = (size_t)(i->agents * i->obs);
    return (mw_candidates){.count = p->options.candidates,
                           .horizon = p->options.horizon,
                           .chosen = p->states[env].chosen,
                           .scores = p->scores + first,
                           .actions = mw_planner_actions(p, env),
                           .proposed = p->proposed + first * (h + 1) * joint,
                           .imagined = rolls_out(p) ? p->imagined + first * h * joint : NULL};
}

mw_planner_times mw_planner_last_times(const mw_planner *p) {
    return p->times;
}
