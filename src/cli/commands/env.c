/* mawam env: what worlds there are, and scripted play in them for a scale. */
#include "cli/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *info_json(const mw_env_info *info) {
    return json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:b, s:i}", "task", info->task, "family",
                     info->family, "rules", info->rules, "summary", info->summary, "agents", info->agents,
                     "obs_size", info->obs_size, "act_size", info->act_size, "discrete", info->discrete,
                     "episode_limit", info->episode_limit);
}

/* NULL if either is, or if there is no room: a list is whole or not there. */
static json_t *append(json_t *array, json_t *value) {
    if (array && json_array_append_new(array, value) == 0) return array;
    if (!array) json_decref(value);
    json_decref(array);
    return NULL;
}

/* ---- list ---- */

static const char list_help[] = "usage: mawam env list [--json | --csv]\n"
                                "\n"
                                "All tasks of this build with their sizes.\n"
                                "\n"
                                "example: mawam env list\n";

static int env_list(int argc, char **argv) {
    static const mw_column columns[] = {{"task", "task", -9, NULL},
                                        {"family", "family", -7, NULL},
                                        {"rules", NULL, 0, NULL},
                                        {"agents", "agents", 6, "%.0f"},
                                        {"obs_size", "obs", 4, "%.0f"},
                                        {"act_size", "actions", 7, "%.0f"},
                                        {"discrete", "discrete", 8, MW_TRUTH},
                                        {"episode_limit", "limit", 5, "%.0f"},
                                        {"summary", "what it is", -30, NULL},
                                        {NULL, NULL, 0, NULL}};
    mw_show show = MW_SHOW_TEXT;
    const mw_option options[] = {{"json", MW_OPT_SHOW, &show, 0, 0},
                                 {"csv", MW_OPT_SHOW, &show, 0, 0},
                                 {NULL, MW_OPT_FLAG, NULL, 0, 0}};
    int count, code = mw_cli_parse(argc, argv, options, list_help, NULL, 0, &count);
    if (code >= 0) return code;
    mw_table table;
    const char *task;
    mw_table_begin(&table, show, columns);
    for (int i = 0; (task = mw_env_task(i)); i++) {
        mw_env *env;
        mw_error error;
        if (mw_env_create(&env, task, NULL, &error) != MW_OK) {
            mw_table_drop(&table);
            return mw_cli_fail(&error);
        }
        const mw_env_info *e = mw_env_describe(env);
        mw_table_row(&table,
                     (mw_cell[]){MW_TEXT(e->task), MW_TEXT(e->family), MW_TEXT(e->rules),
                                 MW_NUMBER(e->agents), MW_NUMBER(e->obs_size), MW_NUMBER(e->act_size),
                                 MW_NUMBER(e->discrete), MW_NUMBER(e->episode_limit), MW_TEXT(e->summary)});
        mw_env_free(env);
    }
    return mw_table_end(&table);
}

/* ---- describe ---- */

static const char describe_help[] =
    "usage: mawam env describe TASK [--json | --csv]\n"
    "\n"
    "Sizes, rules version, scripted policies, every discrete action and every observation feature of a\n"
    "task; --csv has the actions and features.\n"
    "\n"
    "example: mawam env describe spread\n";

static json_t *bound_json(double bound) {
    return isfinite(bound) ? json_real(bound) : json_null();
}

static int describe_json(const mw_env *env) {
    const mw_env_info *info = mw_env_describe(env);
    json_t *object = info_json(info), *features = json_array(), *policies = json_array();
    for (int i = 0; i < info->obs_size; i++) {
        mw_feature f;
        mw_env_feature(env, i, &f);
        features = append(features, json_pack("{s:s, s:s, s:o, s:o}", "name", f.name, "unit", f.unit, "low",
                                              bound_json(f.low), "high", bound_json(f.high)));
    }
    const char *name;
    for (int i = 0; (name = mw_script_name(info->task, i)); i++)
        policies = append(policies, json_string(name));
    json_t *actions = json_array();
    for (int i = 0; info->discrete && i < info->act_size; i++) {
        char action[64];
        mw_env_action_name(env, i, action, sizeof action);
        actions = append(actions, json_string(action));
    }
    json_t *more =
        json_pack("{s:o, s:o, s:o}", "policies", policies, "actions", actions, "features", features);
    const bool whole = object && more && json_object_update(object, more) == 0;
    json_decref(more);
    if (whole) return mw_cli_print(object, 10);
    json_decref(object);
    return mw_cli_print(NULL, 10);
}

/* What an agent may do, if that has names, and what it sees. */
static void describe_parts(const mw_env *env, mw_show show) {
    static const mw_column columns[] = {{"kind", "", -8, NULL},      {"index", "index", 5, "%.0f"},
                                        {"name", "name", -34, NULL}, {"unit", "unit", -14, NULL},
                                        {"low", "low", 9, "%g"},     {"high", "high", 9, "%g"},
                                        {NULL, NULL, 0, NULL}};
    const mw_env_info *info = mw_env_describe(env);
    mw_table table;
    mw_table_begin(&table, show, columns);
    for (int i = 0; info->discrete && i < info->act_size; i++) {
        char action[64];
        mw_env_action_name(env, i, action, sizeof action);
        mw_table_row(&table, (mw_cell[]){MW_TEXT("action"), MW_NUMBER(i), MW_TEXT(action), MW_TEXT(NULL),
                                         MW_NUMBER(NAN), MW_NUMBER(NAN)});
    }
    for (int i = 0; i < info->obs_size; i++) {
        mw_feature f;
        mw_env_feature(env, i, &f);
        mw_table_row(&table, (mw_cell[]){MW_TEXT("feature"), MW_NUMBER(i), MW_TEXT(f.name), MW_TEXT(f.unit),
                                         MW_NUMBER(f.low), MW_NUMBER(f.high)});
    }
}

static void describe_text(const mw_env *env) {
    const mw_env_info *info = mw_env_describe(env);
    printf("%s: %s\n", info->task, info->summary);
    printf("family %s, rules %s\n", info->family, info->rules);
    printf("%d agents, %d observation features and %d %s actions each, episodes of at most %d steps\n",
           info->agents, info->obs_size, info->act_size, info->discrete ? "discrete" : "real",
           info->episode_limit);
    printf("scripted policies:");
    const char *name;
    for (int i = 0; (name = mw_script_name(info->task, i)); i++) printf(" %s", name);
    puts("\n");
    describe_parts(env, MW_SHOW_TEXT);
}

static int env_describe(int argc, char **argv) {
    mw_show show = MW_SHOW_TEXT;
    const mw_option options[] = {{"json", MW_OPT_SHOW, &show, 0, 0},
                                 {"csv", MW_OPT_SHOW, &show, 0, 0},
                                 {NULL, MW_OPT_FLAG, NULL, 0, 0}};
    const char *task = NULL;
    int count, code = mw_cli_parse(argc, argv, options, describe_help, &task, 1, &count);
    if (code >= 0) return code;
    if (count != 1) return mw_cli_usage("name a task; mawam env list shows them");
    mw_env *env;
    mw_error error;
    if (mw_env_create(&env, task, NULL, &error) != MW_OK) return mw_cli_refuse(&error);
    code = 0;
    if (show == MW_SHOW_JSON)
        code = describe_json(env);
    else if (show == MW_SHOW_CSV)
        describe_parts(env, show);
    else
        describe_text(env);
    mw_env_free(env);
    return code;
}

/* ---- play ---- */

static const char play_help[] =
    "usage: mawam env play TASK [--policy P] [--episodes N] [--seed S] [--envs E] [--threads N]\n"
    "                      [--prey FILE] [--spawn-jitter X] [--replay FILE.html] [--overwrite]\n"
    "                      [--json | --csv]\n"
    "\n"
    "Plays episodes with a scripted policy and prints the mean return (sum over steps of the agents'\n"
    "mean reward) with its standard error, win rate, episode length and speed. Episode k depends on the\n"
    "seed and k only, not on --envs and --threads.\n"
    "\n"
    "  --policy P        a scripted policy of the task (random); mawam env describe TASK lists them\n"
    "  --episodes N      how many episodes (100)\n"
    "  --seed S          seed of the episodes (0)\n"
    "  --envs E          environments stepped as one batch (16)\n"
    "  --threads N       threads over the batch (1); 0: one per core\n"
    "  --prey FILE       tag, world: a prey network (safetensors) or \"script\" in place of the frozen prey\n"
    "  --spawn-jitter X  battles: displacement of units at reset (the task's default)\n"
    "  --json, --csv     the result as JSON, or as comma-separated values\n"
    "  --replay FILE     also writes the first episode as a page that plays it in a browser; FILE.svg: a\n"
    "                    film strip of a few moments\n"
    "  --overwrite       replace a file that is there\n"
    "\n"
    "examples: mawam env play spread --policy best --episodes 1000\n"
    "          mawam env play 3m --policy focus --replay battle.html\n";

typedef struct {
    const char *task, *policy, *replay;
    int episodes, envs, threads;
    uint64_t seed;
    mw_show show;
    mw_env_options world;
    const mw_stop_flag *stop;
} play_request;

typedef struct {
    double *returns; /* [episodes] */
    int *lengths;    /* [episodes] */
    long wins, steps;
    double seconds;
} play_result;

/* What the environments of the batch are doing and the arrays they share. */
typedef struct {
    mw_env_batch *batch;
    int *episode; /* [envs], which one each plays; past the end: none, its steps are ignored */
    double *sum;  /* [envs], return so far */
    uint64_t *world_seed, *policy_seed;
    uint8_t *restart; /* [envs] */
    float *real, *rewards, *obs;
    int32_t *index;
    mw_outcome *outcomes;
} stage;

static void stage_free(stage *s) {
    mw_env_batch_free(s->batch);
    free(s->episode);
    free(s->sum);
    free(s->world_seed);
    free(s->policy_seed);
    free(s->restart);
    free(s->real);
    free(s->rewards);
    free(s->obs);
    free(s->index);
    free(s->outcomes);
}

static mw_status stage_create(stage *s, const play_request *request, mw_error *error) {
    MW_TRY(mw_env_batch_create(&s->batch, request->task, &request->world, request->envs, request->threads,
                               error));
    const mw_env_info *info = mw_env_describe(mw_env_batch_get(s->batch, 0));
    size_t count = (size_t)request->envs, agents = count * (size_t)info->agents;
    s->episode = calloc(count, sizeof *s->episode);
    s->sum = calloc(count, sizeof *s->sum);
    s->world_seed = calloc(count, sizeof *s->world_seed);
    s->policy_seed = calloc(count, sizeof *s->policy_seed);
    s->restart = calloc(count, sizeof *s->restart);
    s->rewards = calloc(agents, sizeof *s->rewards);
    s->obs = calloc(agents * (size_t)info->obs_size, sizeof *s->obs);
    s->outcomes = calloc(count, sizeof *s->outcomes);
    if (info->discrete)
        s->index = calloc(agents, sizeof *s->index);
    else
        s->real = calloc(agents * (size_t)info->act_size, sizeof *s->real);
    if (!s->episode || !s->sum || !s->world_seed || !s->policy_seed || !s->restart || !s->rewards ||
        !s->obs || !s->outcomes || (!s->index && !s->real))
        return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a batch of %d environments", request->envs);
    return MW_OK;
}

/* Adds the last step of environment e to its episode; true when the episode is over. */
static bool account(const stage *s, const play_request *request, play_result *result, int e, int agents) {
    const mw_outcome *outcome = &s->outcomes[e];
    bool over = outcome->terminated || outcome->truncated;
    int k = s->episode[e];
    if (k >= request->episodes) return over;
    double mean = 0;
    for (int i = 0; i < agents; i++) mean += s->rewards[e * agents + i];
    s->sum[e] += mean / agents;
    result->steps++;
    if (over) {
        result->returns[k] = s->sum[e];
        result->lengths[k] = outcome->step;
        result->wins += outcome->won;
    }
    return over;
}

static void start_episode(const stage *s, const play_request *request, int e, int k) {
    s->episode[e] = k;
    s->sum[e] = 0;
    s->restart[e] = 1;
    mw_env_episode_seeds(request->seed, (uint64_t)k, &s->world_seed[e], &s->policy_seed[e]);
}

static mw_status play_all(stage *s, const play_request *request, play_result *result, mw_error *error) {
    int agents = mw_env_describe(mw_env_batch_get(s->batch, 0))->agents;
    int next = 0, running = request->episodes;
    bool waiting = true; /* some environment has to be reset */
    double start = mw_cli_seconds();
    for (int e = 0; e < request->envs; e++) start_episode(s, request, e, next++);
    while (running > 0) {
        if (*request->stop)
            return mw_fail(error, MW_ERR_INTERRUPTED, "stopped with %d of %d episodes to go", running,
                           request->episodes);
        if (waiting) mw_env_batch_reset(s->batch, s->world_seed, s->restart, s->obs, NULL);
        waiting = false;
        MW_TRY(mw_env_batch_script(s->batch, request->policy, s->policy_seed, s->real, s->index, error));
        MW_TRY(mw_env_batch_step(s->batch, (mw_action){s->real, s->index}, s->rewards, s->outcomes, s->obs,
                                 NULL, error));
        for (int e = 0; e < request->envs; e++) {
            s->restart[e] = 0;
            if (!account(s, request, result, e, agents)) continue;
            running -= s->episode[e] < request->episodes;
            start_episode(s, request, e, next++);
            waiting = true;
        }
    }
    result->seconds = mw_cli_seconds() - start;
    return MW_OK;
}

/* The first episode once more, in pictures. */
static mw_status record(const play_request *request, mw_error *error) {
    mw_env *env = NULL;
    mw_replay *replay = NULL;
    uint64_t world, policy;
    char subtitle[128];
    float real[512], rewards[64];
    int32_t index[64];
    MW_TRY(mw_env_create(&env, request->task, &request->world, error));
    const mw_env_info *info = mw_env_describe(env);
    snprintf(subtitle, sizeof subtitle, "policy %.32s, seed %llu, rules %s", request->policy,
             (unsigned long long)request->seed, info->rules);
    mw_status status = mw_replay_create(&replay, env, subtitle, error);
    mw_outcome outcome = {0};
    mw_env_episode_seeds(request->seed, 0, &world, &policy);
    mw_env_reset(env, world);
    if (status == MW_OK) status = mw_replay_frame(replay, env, NULL, error);
    while (status == MW_OK && !outcome.terminated && !outcome.truncated) {
        status = mw_script_act(env, request->policy, policy, info->discrete ? NULL : real,
                               info->discrete ? index : NULL, error);
        mw_action action = {info->discrete ? NULL : real, info->discrete ? index : NULL};
        if (status == MW_OK) status = mw_env_step(env, action, rewards, &outcome, error);
        if (status == MW_OK) status = mw_replay_frame(replay, env, rewards, error);
    }
    if (status == MW_OK) status = mw_replay_write(replay, request->replay, error);
    mw_replay_free(replay);
    mw_env_free(env);
    return status;
}

static void mean_and_error(const double *values, int count, double *mean, double *error) {
    double sum = 0, square = 0;
    for (int i = 0; i < count; i++) sum += values[i];
    *mean = sum / count;
    for (int i = 0; i < count; i++) square += (values[i] - *mean) * (values[i] - *mean);
    *error = count > 1 ? sqrt(square / (count - 1) / count) : NAN;
}

/* What was measured; NAN where the task has no such thing. */
typedef struct {
    double mean, error, length, rate, won, won_error, score;
} play_figures;

static play_figures figures_of(const play_request *request, const play_result *result,
                               const mw_env_info *info) {
    const double episodes = request->episodes;
    play_figures f = {
        .rate = (double)result->steps / result->seconds, .won = NAN, .won_error = NAN, .score = NAN};
    mean_and_error(result->returns, request->episodes, &f.mean, &f.error);
    for (int k = 0; k < request->episodes; k++) f.length += result->lengths[k] / episodes;
    if (mw_family_find(info->family)->counts_wins) {
        f.won = (double)result->wins / episodes;
        f.won_error = sqrt(f.won * (1 - f.won) / episodes);
    }
    if (!request->world.prey_file) f.score = mw_score(info->task, f.mean);
    return f;
}

static int report_json(const play_request *request, const play_result *result, const mw_env_info *info,
                       const play_figures *f) {
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:I, s:i, s:f, s:o, s:f, s:f, s:f}", "task", info->task, "rules",
                  info->rules, "policy", request->policy, "seed", (json_int_t)request->seed, "episodes",
                  request->episodes, "return", f->mean, "return_standard_error", bound_json(f->error),
                  "episode_length", f->length, "seconds", result->seconds, "steps_per_second", f->rate);
    bool whole = object != NULL;
    if (isfinite(f->won)) {
        whole = whole && json_object_set_new(object, "win_rate", json_real(f->won)) == 0;
        whole = whole && json_object_set_new(object, "win_rate_standard_error", json_real(f->won_error)) == 0;
    }
    if (isfinite(f->score))
        whole = whole && json_object_set_new(object, "normalised_score", json_real(f->score)) == 0;
    if (whole) return mw_cli_print(object, 10);
    json_decref(object);
    return mw_cli_print(NULL, 10);
}

static void report_csv(const play_request *request, const play_result *result, const mw_env_info *info,
                       const play_figures *f) {
    static const mw_column columns[] = {{"task", NULL, 0, NULL},
                                        {"rules", NULL, 0, NULL},
                                        {"policy", NULL, 0, NULL},
                                        {"seed", NULL, 0, NULL},
                                        {"episodes", NULL, 0, "%.0f"},
                                        {"return", NULL, 0, "%g"},
                                        {"return_standard_error", NULL, 0, "%g"},
                                        {"normalised_score", NULL, 0, "%g"},
                                        {"win_rate", NULL, 0, "%g"},
                                        {"win_rate_standard_error", NULL, 0, "%g"},
                                        {"episode_length", NULL, 0, "%g"},
                                        {"seconds", NULL, 0, "%g"},
                                        {"steps_per_second", NULL, 0, "%g"},
                                        {NULL, NULL, 0, NULL}};
    char seed[32];
    mw_table table;
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)request->seed);
    mw_table_begin(&table, MW_SHOW_CSV, columns);
    mw_table_row(&table, (mw_cell[]){MW_TEXT(info->task), MW_TEXT(info->rules), MW_TEXT(request->policy),
                                     MW_TEXT(seed), MW_NUMBER(request->episodes), MW_NUMBER(f->mean),
                                     MW_NUMBER(f->error), MW_NUMBER(f->score), MW_NUMBER(f->won),
                                     MW_NUMBER(f->won_error), MW_NUMBER(f->length),
                                     MW_NUMBER(result->seconds), MW_NUMBER(f->rate)});
}

static int report(const play_request *request, const play_result *result, const mw_env_info *info) {
    const play_figures f = figures_of(request, result, info);
    if (request->show == MW_SHOW_JSON) return report_json(request, result, info, &f);
    if (request->show == MW_SHOW_CSV) {
        report_csv(request, result, info, &f);
        return 0;
    }
    printf("%s (%s), policy %s, %d episodes, seed %llu; +-: standard error\n", info->task, info->rules,
           request->policy, request->episodes, (unsigned long long)request->seed);
    printf("return            %.4g", f.mean);
    if (isfinite(f.error)) printf(" +- %.2g", f.error);
    if (isfinite(f.score)) printf("\nnormalised score  %.1f", f.score);
    if (isfinite(f.won)) printf("\nwin rate          %.1f%% +- %.1f", 100 * f.won, 100 * f.won_error);
    printf("\nepisode length    %.1f\n", f.length);
    printf("speed             %.4g steps/s (%ld steps in %.3g s)\n", f.rate, result->steps, result->seconds);
    return 0;
}

static int play(play_request *request) {
    mw_error error = {0};
    stage s = {0};
    play_result result = {.returns = calloc((size_t)request->episodes, sizeof(double)),
                          .lengths = calloc((size_t)request->episodes, sizeof(int))};
    mw_status status = result.returns && result.lengths
                           ? MW_OK
                           : mw_fail(&error, MW_ERR_MEMORY, "cannot keep %d episodes", request->episodes);
    if (status == MW_OK) status = stage_create(&s, request, &error);
    if (status == MW_OK) status = play_all(&s, request, &result, &error);
    int code = 0;
    if (status == MW_OK) code = report(request, &result, mw_env_describe(mw_env_batch_get(s.batch, 0)));
    if (status == MW_OK && request->replay) /* last: a full disk does not take what was printed */
        status = record(request, &error);
    stage_free(&s);
    free(result.returns);
    free(result.lengths);
    return status == MW_OK ? code : mw_cli_refuse(&error);
}

static int env_play(int argc, char **argv) {
    play_request request = {.policy = "random", .episodes = 100, .envs = 16, .threads = 1};
    mw_env_options_init(&request.world, sizeof request.world);
    bool overwrite = false;
    const mw_option options[] = {{"policy", MW_OPT_STRING, &request.policy, 0, 0},
                                 {"episodes", MW_OPT_INT, &request.episodes, 1, 1e8},
                                 {"seed", MW_OPT_U64, &request.seed, 0, 0},
                                 {"envs", MW_OPT_INT, &request.envs, 1, 65536},
                                 {"threads", MW_OPT_INT, &request.threads, 0, MW_MAX_THREADS},
                                 {"prey", MW_OPT_STRING, &request.world.prey_file, 0, 0},
                                 {"spawn-jitter", MW_OPT_DOUBLE, &request.world.spawn_jitter, 0, 4},
                                 {"json", MW_OPT_SHOW, &request.show, 0, 0},
                                 {"csv", MW_OPT_SHOW, &request.show, 0, 0},
                                 {"replay", MW_OPT_STRING, &request.replay, 0, 0},
                                 {"overwrite", MW_OPT_FLAG, &overwrite, 0, 0},
                                 {NULL, MW_OPT_FLAG, NULL, 0, 0}};
    int count, code = mw_cli_parse(argc, argv, options, play_help, &request.task, 1, &count);
    if (code >= 0) return code;
    if (count != 1) return mw_cli_usage("name a task; mawam env list shows them");
    if ((code = mw_cli_replay(request.replay)) >= 0) return code;
    if (request.seed > INT64_MAX) return mw_cli_usage("--seed must be below 2^63");
    if (request.envs > request.episodes) request.envs = request.episodes;
    mw_error error;
    if (mw_cli_output(request.replay, overwrite, &error) != MW_OK) return mw_cli_fail(&error);
    request.stop = mw_cli_stop();
    return play(&request);
}

int mw_cli_env(int argc, char **argv) {
    static const mw_command commands[] = {
        {"list", "all tasks", env_list},
        {"describe", "sizes, policies and observation features of a task", env_describe},
        {"play", "play a scripted policy, measure it, record a replay", env_play},
        {NULL, NULL, NULL},
    };
    static const char help[] = "usage: mawam env COMMAND [...]      mawam env COMMAND --help for each\n"
                               "\n"
                               "examples: mawam env list\n"
                               "          mawam env describe 3m\n"
                               "          mawam env play spread --policy best --replay spread.html\n"
                               "\n"
                               "commands:\n";
    return mw_cli_dispatch(commands, help, argc, argv);
}
