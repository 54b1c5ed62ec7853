/* The planner: histories -> candidates -> scores -> choice. See planner.h and mawam.h. */
#include "plan/planner_state.h"

#include "core/clock.h"
#include "core/numbers.h"
#include "core/options.h"
#include "core/rng.h"
#include "model/flow/flow.h"
#include "plan/choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- set-up ---- */

static void carve(mw_planner *p) {
    const mw_bundle_info *i = &p->bundle->info;
    const mw_flow_config *c = &p->flow_net->config;
    const int threads = mw_pool_threads(p->pool), horizon = p->plan->horizon;
    const size_t envs = (size_t)p->options.envs, most = (size_t)mw_planner_room(p), all = envs * most,
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
    const size_t noted = p->plan->distinct ? all * (size_t)i->agents : 0;
    p->first_action = mw_arena_take(a, noted, sizeof *p->first_action);
    p->second_action = mw_arena_take(a, noted, sizeof *p->second_action);
    p->gap = mw_arena_floats(a, noted);
    p->rest = mw_arena_floats(a, p->plan->warm_start ? envs * (h - 1) * act : 0);
    p->imagined = mw_arena_floats(a, all * h * joint);
    p->scores = mw_arena_floats(a, all);
    p->weights = mw_arena_floats(a, all);
    p->first = mw_arena_floats(a, p->value ? all * (size_t)p->plan->value_after * act : 0);
    p->led_to = mw_arena_floats(a, p->value ? all * (size_t)p->plan->value_after * joint : 0);
    p->mean = mw_arena_floats(a, h * act);
    p->upper = mw_arena_take(a, most, sizeof *p->upper);
    p->pairs = mw_arena_floats(a, all * h * (size_t)(i->agents * mw_inverse_inputs(&p->inverse_net->config)));
    p->keys = mw_arena_take(a, p->options.propose ? all : 0, sizeof *p->keys);
    p->slot_legal = mw_arena_take(a, p->options.propose ? envs * act : 0, sizeof *p->slot_legal);
    p->preferences = mw_arena_floats(a, p->options.propose && i->discrete ? all * h * act : 0);
    p->inverse = mw_arena_take(a, (size_t)threads, sizeof *p->inverse);
    for (int w = 0; w < threads; w++) {
        mw_mlp_acts acts;
        mw_mlp_acts_take(&p->inverse_net->mlp, &acts, a,
                         (int)(all * h) * i->agents / threads + i->agents * horizon + 1, false);
        if (p->inverse) p->inverse[w] = acts;
    }
}

static mw_status check_options(const mw_planner_options *o, const mw_plan_settings *plan, mw_error *error) {
    if (o->envs < 1 || o->envs > MW_PLANNER_ROWS || o->envs * plan->candidates > MW_PLANNER_ROWS)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "envs is %d; it must be at least 1, and at most %d with all candidates", o->envs,
                       MW_PLANNER_ROWS);
    if (!(o->deadline >= 0 && o->deadline <= 1e9))
        return mw_fail(error, MW_ERR_ARGUMENT, "deadline is %g; it must be 0 (none) to 1e9 milliseconds",
                       o->deadline);
    return MW_OK;
}

static mw_status find_models(mw_planner *p, mw_error *error) {
    p->flow = mw_bundle_role(p->bundle, MW_ROLE_PROPOSER);
    p->inverse_model = mw_bundle_role(p->bundle, MW_ROLE_INVERSE);
    if (!p->flow || !p->inverse_model)
        return mw_fail(error, MW_ERR_ARGUMENT, "this bundle has no %s to draw candidates with",
                       p->flow ? "inverse dynamics" : "flow");
    p->flow_net = mw_flow_net_of(p->flow);
    p->inverse_net = mw_inverse_net_of(p->inverse_model);
    p->return_scale = (float)mw_flow_settings_of(p->flow)->return_scale;
    return MW_OK;
}

/* Does the scorer give all steps of candidates, as the world model imagines them? */
static bool imagines_all(const mw_planner *p) {
    return p->scorer && p->scorer->kind->imagines && !p->scorer->kind->simulates && !p->value;
}

/* The value of what a scorer imagines; in copies of the simulator, of what they arrive at. It stands in place
 * of further rewards, so a mixture weighs it as it weighs them. */
static mw_status make_value(mw_planner *p, mw_error *error) {
    const mw_model *model = mw_bundle_model(p->bundle, mw_state_value_class.name);
    if (!model) return mw_fail(error, MW_ERR_ARGUMENT, "value_after needs a value, and this bundle has none");
    p->value_weight = mw_scorer_return_weight(p->plan->scorer, p->plan->advantage_share) *
                      mw_state_value_discount(model, p->plan->value_after);
    return mw_state_value_create(&p->value, model, error);
}

/* Before the scorer is made: one that is for the whole horizon alone would complain of the steps. */
static mw_status check_value(const mw_planner *p, mw_error *error) {
    if (!p->plan->value_after || !mw_scorer_available(p->plan->scorer, p->bundle) ||
        mw_scorer_imagines(p->plan->scorer))
        return MW_OK;
    return mw_fail(error, MW_ERR_ARGUMENT, "value_after needs a scorer that imagines, and '%s' does not",
                   p->plan->scorer);
}

static mw_status make_scorers(mw_planner *p, mw_error *error) {
    const mw_planner_options *o = &p->options;
    mw_scorer_context context = {.max_rows = o->envs * mw_planner_room(p),
                                 .horizon = p->plan->value_after ? p->plan->value_after : p->plan->horizon,
                                 .advantage_share = p->plan->advantage_share,
                                 .envs = o->envs_played,
                                 .env_count = o->envs,
                                 .env_options = o->env_options,
                                 .pool = p->pool};
    if (p->plan->choice != MW_CHOICE_BEST) return MW_OK;
    if (o->score) {
        MW_TRY(mw_own_scorer_create(&p->scorer, p, error));
    } else {
        MW_TRY(check_value(p, error));
        MW_TRY(mw_scorer_create(&p->scorer, p->plan->scorer, p->bundle, context, error));
    }
    if (p->plan->value_after > 0) MW_TRY(make_value(p, error));
    const char *other = mw_scorer_imagining(p->bundle);
    if (!o->imagine || imagines_all(p) || !other) return MW_OK;
    context.horizon = p->plan->horizon;
    return mw_scorer_create(&p->imagines, other, p->bundle, context, error);
}

static mw_status set_up(mw_planner *p, mw_error *error) {
    MW_TRY(find_models(p, error));
    MW_TRY(mw_plan_settings_check(p->plan, p->bundle->info.discrete,
                                  p->flow_net->config.time - p->flow_net->config.context, error));
    MW_TRY(check_options(&p->options, p->plan, error));
    p->drawn = mw_planner_room(p);
    p->offset = (float)p->plan->action_offset;
    p->temperature = (float)p->plan->temperature;
    p->margin = p->plan->caution > 0 ? p->plan->caution * p->plan->return_error : 0;
    p->sampling =
        (mw_sampler_options){p->plan->sampling_steps, (float)p->plan->guidance, p->options.sequential};
    MW_TRY(mw_pool_create(&p->pool, p->options.threads, error));
    MW_TRY(mw_sampler_create(&p->sampler, p->flow_net, p->flow->values, p->flow->packed, p->pool, error));
    MW_TRY(make_scorers(p, error));
    carve(p);
    MW_TRY(mw_arena_create(&p->arena, p->arena.used, error));
    carve(p);
    for (int env = 0; env < p->options.envs; env++) mw_planner_begin(p, env, (uint64_t)env, NULL);
    return p->options.deadline > 0 ? mw_planner_measure(p, error) : MW_OK;
}

static mw_planner_options defaults_of(const mw_bundle *bundle) {
    return (mw_planner_options){
        .size = sizeof(mw_planner_options), .envs = 1, .plan = bundle ? bundle->plan : (mw_plan_settings){0}};
}

void mw_planner_options_init(mw_planner_options *options, size_t size, const mw_bundle *bundle) {
    const mw_planner_options defaults = defaults_of(bundle);
    mw_options_fill(options, size, &defaults, sizeof defaults);
}

mw_status mw_planner_create(mw_planner **out, const mw_bundle *bundle, const mw_planner_options *given,
                            mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED_AS(out, "planner");
    *out = NULL;
    MW_NEED(bundle);
    MW_TRY(mw_cpu_check(error));
    mw_planner_options options = defaults_of(bundle);
    MW_TRY(mw_options_take(&options, sizeof options, MW_FIELD_END(mw_planner_options, plan.choice), given,
                           "mw_planner_options_init", error));
    if (options.score) options.plan.value_after = 0, options.plan.caution = 0; /* of the bundle's judge */
    mw_planner *p = calloc(1, sizeof *p);
    if (!p) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a planner");
    p->bundle = bundle;
    p->options = options;
    p->plan = &p->options.plan;
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
    mw_scorer_free(p->imagines);
    mw_state_value_free(p->value);
    mw_sampler_free(p->sampler);
    mw_arena_free(&p->arena);
    mw_pool_free(p->pool);
    free(p);
}

size_t mw_planner_bytes(const mw_planner *p) {
    const mw_scorer *const scorers[] = {p->scorer, p->imagines};
    size_t bytes = p->arena.size + mw_sampler_bytes(p->sampler);
    for (int i = 0; i < 2; i++) bytes += scorers[i] ? scorers[i]->kind->bytes(scorers[i]) : 0;
    return bytes + (p->value ? mw_state_value_bytes(p->value) : 0);
}

static mw_status check_env(const mw_planner *p, int env, mw_error *error) {
    MW_NEED_AS(p, "planner");
    if (env >= 0 && env < p->options.envs) return MW_OK;
    return mw_fail(error, MW_ERR_ARGUMENT, "env %d: this planner has environments 0 to %d", env,
                   p->options.envs - 1);
}

mw_status mw_planner_begin(mw_planner *p, int env, uint64_t episode, mw_error *error) {
    MW_TRY(check_env(p, env, error));
    p->states[env] = (env_state){.episode = episode, .target = (float)p->plan->target};
    p->slot_of[env] = -1;
    return MW_OK;
}

mw_status mw_planner_reward(mw_planner *p, int env, float reward, mw_error *error) {
    MW_TRY(check_env(p, env, error));
    if (!isfinite(reward)) return mw_fail(error, MW_ERR_NUMERIC, "env %d: the reward is not finite", env);
    if (!p->plan->return_to_go) return MW_OK;
    const float target = p->states[env].target - reward / p->return_scale;
    p->states[env].target = fminf(MW_PLAN_TARGET, fmaxf(-MW_PLAN_TARGET, target));
    return MW_OK;
}

/* ---- 1. candidates ---- */

/* The history shifts by one; at an episode's start the first observation fills it. */
static void remember(mw_planner *p, int env, const float *obs) {
    const int context = p->flow_net->config.context;
    const size_t joint = (size_t)(p->bundle->info.agents * p->bundle->info.obs);
    float *history = p->history + (size_t)env * (size_t)context * joint;
    const bool fresh = p->states[env].step == 0;
    memmove(history, history + joint, (size_t)(context - 1) * joint * sizeof *history);
    for (int c = fresh ? 0 : context - 1; c < context; c++)
        memcpy(history + (size_t)c * joint, obs, joint * sizeof *obs);
}

/* Which of the M candidates lies at q; a random choice has only the one it takes. */
static uint64_t candidate_at(const mw_planner *p, int q) {
    if (p->plan->choice != MW_CHOICE_RANDOM) return (uint64_t)(q % p->drawn);
    const env_state *state = &p->states[p->slots[q]];
    mw_rng rng = mw_rng_make(p->options.seed, MW_RNG_CANDIDATE, state->episode, state->step, UINT64_MAX);
    return mw_rng_below(&rng, (uint32_t)p->plan->candidates);
}

/* Context, noise and target of candidates [begin, end). */
static void prepare_share(void *context, int worker) {
    mw_planner *p = context;
    const mw_bundle *b = p->bundle;
    const mw_flow_config *c = &p->flow_net->config;
    const int agents = b->info.agents, most = p->drawn;
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

static int pick_discrete(float *action, const float *logits, const uint8_t *legal, int d) {
    int best = -1;
    for (int a = 0; a < d; a++)
        if ((!legal || legal[a]) && (best < 0 || logits[a] > logits[best])) best = a;
    if (best < 0) best = 0;
    for (int a = 0; a < d; a++) action[a] = a == best;
    return best;
}

/* Discrete actions of candidates from `begin` on, from logits[rows][d]. The first action of an agent must be
 * legal; the rest are the network's own. */
static void pick_all(mw_planner *p, int begin, const float *logits, int rows) {
    const int h = p->plan->horizon, n = p->bundle->info.agents, d = p->bundle->info.act;
    float *actions = p->actions + (size_t)begin * (size_t)(h * n * d);
    for (int r = 0; r < rows; r++, logits += d, actions += d) {
        const int q = begin + r / (h * n), agent = r % n, env = p->slots[q / p->drawn];
        const bool first = r / n % h == 0;
        const uint8_t *legal = first && p->legal ? p->legal + (size_t)(env * n + agent) * (size_t)d : NULL;
        const int best = pick_discrete(actions, logits, legal, d);
        if (first && p->plan->distinct)
            mw_planner_note_first(p, (size_t)(q * n + agent), logits, legal, best);
    }
}

/* Real actions lie within [-1, 1]; what is not a number becomes 0. */
static void keep_in_range(float *actions, long count) {
    for (long k = 0; k < count; k++)
        actions[k] = actions[k] > 1 ? 1 : actions[k] < -1 ? -1 : actions[k] == actions[k] ? actions[k] : 0;
}

/* The candidate at q is shifted to one side over its whole horizon: what it does and then undoes makes no
 * difference to its return. actions[h][n][d]. The first candidate stays as it is. */
static void shift(const mw_planner *p, int q, float *actions) {
    const mw_bundle_info *i = &p->bundle->info;
    const env_state *state = &p->states[p->slots[q / p->drawn]];
    const uint64_t candidate = candidate_at(p, q);
    const int joint = i->agents * i->act;
    if (candidate == 0 || p->offset == 0) return;
    mw_rng rng = mw_rng_make(p->options.seed, MW_RNG_EXPLORE, state->episode, state->step, candidate);
    for (int k = 0; k < joint; k++) {
        const float offset = p->offset * (float)mw_rng_normal(&rng);
        for (int step = 0; step < p->plan->horizon; step++) actions[step * joint + k] += offset;
    }
}

/* Real actions of candidates [begin, end), shifted and in range. */
static void shift_all(mw_planner *p, int begin, int end) {
    const mw_bundle_info *i = &p->bundle->info;
    const size_t length = (size_t)(p->plan->horizon * i->agents * i->act);
    for (int q = begin; q < end; q++) shift(p, q, p->actions + (size_t)q * length);
    keep_in_range(p->actions + (size_t)begin * length, (long)(end - begin) * (long)length);
}

/* From sampled observations to actions, for candidates [begin, end). */
static void invert_share(void *context, int worker) {
    mw_planner *p = context;
    const mw_bundle *b = p->bundle;
    const mw_bundle_info *i = &b->info;
    const mw_flow_config *c = &p->flow_net->config;
    const int h = p->plan->horizon, n = i->agents, o = i->obs, d = i->act;
    const size_t joint = (size_t)(n * o), inputs = (size_t)mw_inverse_inputs(&p->inverse_net->config);
    int begin, end;
    mw_pool_share(p->pool, worker, p->slot_count * p->drawn, 1, &begin, &end);
    if (begin == end) return;
    for (int q = begin; q < end; q++) {
        const float *now = p->trajectory + ((size_t)q * (size_t)c->time + (size_t)(c->context - 1)) * joint;
        float *pair = p->pairs + (size_t)(q * h * n) * inputs;
        for (int step = 0; step < h; step++, now += joint)
            for (int a = 0; a < n; a++, pair += inputs)
                mw_inverse_row(&p->inverse_net->config, pair, now + a * o, now + joint + (size_t)(a * o), a);
        float *raw = p->proposed + (size_t)q * (size_t)(h + 1) * joint;
        now = p->trajectory + ((size_t)q * (size_t)c->time + (size_t)(c->context - 1)) * joint;
        memcpy(raw, now, (size_t)(h + 1) * joint * sizeof *raw);
        mw_normalizer_inverse(&b->obs_normalizer, raw, (long)(h + 1) * n);
    }
    const int rows = (end - begin) * h * n;
    float *out =
        mw_mlp_forward(&p->inverse_net->mlp, &p->inverse[worker], p->pairs + (size_t)(begin * h * n) * inputs,
                       p->inverse_model->values, p->inverse_model->packed, rows);
    if (i->discrete) {
        pick_all(p, begin, out, rows);
        return;
    }
    float *actions = p->actions + (size_t)begin * (size_t)(h * n * d);
    memcpy(actions, out, (size_t)rows * (size_t)d * sizeof *out);
    mw_normalizer_inverse(&b->act_normalizer, actions, rows);
    shift_all(p, begin, end);
}

/* The caller's proposer in place of the networks. */
static mw_status ask(mw_planner *p, mw_error *error) {
    const mw_bundle_info *i = &p->bundle->info;
    const int count = p->slot_count * p->drawn;
    MW_TRY(mw_planner_ask(p, error));
    if (i->discrete)
        pick_all(p, 0, p->preferences, count * p->plan->horizon * i->agents);
    else
        shift_all(p, 0, count);
    return MW_OK;
}

/* A warm start: the rest of an environment's last plan takes the place of its last candidate, and ends with
 * that candidate's own last action. */
static void start_warm(mw_planner *p, int slot) {
    const mw_bundle_info *i = &p->bundle->info;
    const size_t step = (size_t)(i->agents * i->act), rest = (size_t)(p->plan->horizon - 1) * step;
    memcpy(p->actions + (size_t)((slot + 1) * p->drawn - 1) * (rest + step),
           p->rest + (size_t)p->slots[slot] * rest, rest * sizeof *p->rest);
}

static bool starts_warm(const mw_planner *p) {
    return p->plan->warm_start && p->drawn > 1 && p->plan->horizon > 1;
}

static bool any_legal(const uint8_t *legal, int d) {
    while (d > 0 && !legal[d - 1]) d--;
    return d > 0;
}

/* Before anything changes: the last decision outlives one that is refused. */
static mw_status check_input(const mw_planner *p, const float *obs, const uint8_t *legal,
                             const uint8_t *active, mw_error *error) {
    const mw_bundle_info *i = &p->bundle->info;
    const size_t joint = (size_t)(i->agents * i->obs);
    for (int env = 0; env < p->options.envs; env++) {
        if (active && !active[env]) continue;
        const float *now = obs + (size_t)env * joint;
        for (size_t k = 0; k < joint; k++)
            if (!isfinite(now[k]))
                return mw_fail(error, MW_ERR_ARGUMENT,
                               "observation %zu of agent %zu in environment %d is not finite",
                               k % (size_t)i->obs, k / (size_t)i->obs, env);
        for (int agent = 0; i->discrete && legal && agent < i->agents; agent++)
            if (!any_legal(legal + ((size_t)env * (size_t)i->agents + (size_t)agent) * (size_t)i->act,
                           i->act))
                return mw_fail(error, MW_ERR_ARGUMENT, "agent %d in environment %d has no legal action",
                               agent, env);
    }
    return MW_OK;
}

mw_status mw_planner_propose(mw_planner *p, const float *obs, const uint8_t *legal, const uint8_t *active,
                             mw_error *error) {
    const double started = mw_clock_seconds();
    const size_t joint = (size_t)(p->bundle->info.agents * p->bundle->info.obs);
    MW_TRY(check_input(p, obs, legal, active, error));
    p->slot_count = 0;
    p->scored = false;
    for (int env = 0; env < p->options.envs; env++) {
        p->slot_of[env] = -1;
        if (!active || active[env]) p->slots[p->slot_count++] = env;
    }
    for (int s = 0; s < p->slot_count; s++) {
        remember(p, p->slots[s], obs + (size_t)p->slots[s] * joint);
        p->slot_of[p->slots[s]] = s;
    }
    p->legal = legal;
    mw_pool_run(p->pool, prepare_share, p);
    if (p->options.propose) {
        MW_TRY(ask(p, error));
    } else {
        MW_TRY(mw_sampler_run(p->sampler, &p->sampling, p->trajectory, p->trajectory, p->context, p->target,
                              p->slot_count * p->drawn, error));
        mw_pool_run(p->pool, invert_share, p);
    }
    for (int s = 0; s < p->slot_count && p->plan->distinct; s++) mw_planner_distinguish(p, s);
    for (int s = 0; s < p->slot_count && starts_warm(p); s++)
        if (p->states[p->slots[s]].warm) start_warm(p, s);
    p->legal = NULL;
    memset(p->scores, 0, (size_t)(p->slot_count * p->drawn) * sizeof *p->scores);
    p->times = (mw_planner_times){.generate = mw_clock_seconds() - started};
    return MW_OK;
}

/* ---- 2. scores ---- */

/* The first steps of candidates by the scorer, and the value of where they lead. */
static mw_status score_and_value(mw_planner *p, mw_scoring call, mw_error *error) {
    const mw_bundle_info *i = &p->bundle->info;
    const size_t steps = (size_t)p->plan->value_after, joint = (size_t)(i->agents * i->obs),
                 act = (size_t)(i->agents * i->act), all = (size_t)p->plan->horizon * act;
    for (size_t q = 0; q < (size_t)call.count; q++)
        memcpy(p->first + q * steps * act, p->actions + q * all, steps * act * sizeof *p->first);
    call.actions = p->first;
    call.paths = p->led_to;
    call.horizon = p->plan->value_after;
    MW_TRY(mw_scorer_score(p->scorer, &call, error));
    mw_state_value_add(p->value, p->scores, p->value_weight, p->led_to + (steps - 1) * joint, steps * joint,
                       call.count);
    return MW_OK;
}

static mw_status score_all(mw_planner *p, mw_error *error) {
    mw_scoring call = {.scores = p->scores,
                       .paths = p->imagines || imagines_all(p) ? p->imagined : NULL,
                       .obs = p->start,
                       .actions = p->actions,
                       .count = p->slot_count * p->drawn,
                       .horizon = p->plan->horizon,
                       .group = p->drawn,
                       .envs = p->slots};
    if (p->imagines) { /* whose scores are overwritten */
        MW_TRY(mw_scorer_score(p->imagines, &call, error));
        call.paths = NULL;
    }
    if (p->value)
        MW_TRY(score_and_value(p, call, error));
    else if (p->scorer)
        MW_TRY(mw_scorer_score(p->scorer, &call, error));
    return MW_OK;
}

mw_status mw_planner_score(mw_planner *p, mw_error *error) {
    const double started = mw_clock_seconds();
    MW_TRY(score_all(p, error));
    const int rounds = p->scorer && p->drawn > 2 ? p->plan->recombine : 0; /* of two none is mixed */
    for (int round = 0; round < rounds; round++) {
        mw_planner_recombine(p, round);
        MW_TRY(score_all(p, error));
    }
    p->scored = true;
    p->times.score = mw_clock_seconds() - started;
    return MW_OK;
}

float *mw_planner_scores(mw_planner *p, int env) {
    return p->slot_of[env] < 0 ? NULL : p->scores + p->slot_of[env] * p->drawn;
}

const float *mw_planner_actions(const mw_planner *p, int env) {
    const mw_bundle_info *i = &p->bundle->info;
    return p->slot_of[env] < 0 ? NULL
                               : p->actions + (size_t)(p->slot_of[env] * p->drawn) *
                                                  (size_t)(p->plan->horizon * i->agents * i->act);
}

/* ---- 3. choice ---- */

/* A plan[H][n][d] is followed: its first joint action goes to real[n][d] or index[n], the rest is remembered.
 */
static void execute(mw_planner *p, int env, const float *plan, float *real, int32_t *index) {
    const mw_bundle_info *i = &p->bundle->info;
    const int n = i->agents, d = i->act;
    p->states[env].warm = p->plan->warm_start && p->plan->horizon > 1; /* also for a roomier decision */
    if (p->states[env].warm) {
        const size_t rest = (size_t)((p->plan->horizon - 1) * n * d);
        memcpy(p->rest + (size_t)env * rest, plan + n * d, rest * sizeof *plan);
    }
    if (!i->discrete) memcpy(real, plan, (size_t)(n * d) * sizeof *real);
    for (int a = 0; i->discrete && a < n; a++)
        for (int k = 0; k < d; k++)
            if (plan[a * d + k] > 0) index[a] = k;
}

void mw_planner_choose(mw_planner *p, float *real, int32_t *index) {
    const mw_bundle_info *i = &p->bundle->info;
    const int most = p->drawn, n = i->agents, d = i->act;
    const size_t length = (size_t)(p->plan->horizon * n * d);
    for (int s = 0; s < p->slot_count; s++) {
        const int env = p->slots[s];
        env_state *state = &p->states[env];
        const float *scores = p->scores + s * most, *plans = p->actions + (size_t)(s * most) * length;
        const int best = mw_choice_best(scores, most);
        state->chosen = p->margin > 0 ? mw_choice_cautious(scores, best, p->margin) : best;
        const bool own = p->margin > 0 && state->chosen == 0; /* nothing is mixed into it */
        const float *action =
            own ? plans : mw_choice_mean(p->mean, plans, scores, most, (int)length, best, p->temperature);
        state->mean = action == p->mean;
        if (state->mean) {
            keep_in_range(p->mean, (long)length); /* whatever rounding does */
            mw_choice_weights(p->weights + s * most, scores, most, best, p->temperature);
        }
        execute(p, env, action, real ? real + (size_t)env * (size_t)(n * d) : NULL,
                index ? index + env * n : NULL);
        state->step++;
    }
}

mw_status mw_planner_take(mw_planner *p, int env, int candidate, float *real, int32_t *index,
                          mw_error *error) {
    MW_NEED(p);
    if (p->bundle->info.discrete ? !index : !real)
        return mw_fail(error, MW_ERR_ARGUMENT, "no room was given for the joint action");
    if (env < 0 || env >= p->options.envs || p->slot_of[env] < 0)
        return mw_fail(error, MW_ERR_ARGUMENT, "environment %d has no decision to overrule", env);
    if (candidate < 0 || candidate >= p->drawn)
        return mw_fail(error, MW_ERR_ARGUMENT, "candidate is %d; the last decision had 0 to %d", candidate,
                       p->drawn - 1);
    const mw_bundle_info *i = &p->bundle->info;
    p->states[env].chosen = candidate;
    p->states[env].mean = false;
    execute(p, env,
            mw_planner_actions(p, env) + (size_t)candidate * (size_t)(p->plan->horizon * i->agents * i->act),
            real, index);
    return MW_OK;
}

mw_candidates mw_planner_candidates(const mw_planner *p, int env) {
    if (env < 0 || env >= p->options.envs || p->slot_of[env] < 0) return (mw_candidates){0};
    const mw_bundle_info *i = &p->bundle->info;
    const size_t first = (size_t)(p->slot_of[env] * p->drawn), h = (size_t)p->plan->horizon;
    const size_t joint = (size_t)(i->agents * i->obs);
    return (mw_candidates){
        .count = p->drawn,
        .horizon = p->plan->horizon,
        .chosen = p->states[env].chosen,
        .scores = p->scores + first,
        .actions = mw_planner_actions(p, env),
        .proposed = p->options.propose ? NULL : p->proposed + first * (h + 1) * joint,
        .imagined = p->scored && (p->imagines || imagines_all(p)) ? p->imagined + first * h * joint : NULL,
        .weights = p->states[env].mean ? p->weights + first : NULL};
}

mw_planner_times mw_planner_last_times(const mw_planner *p) {
    return p->times;
}
