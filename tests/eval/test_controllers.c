/* The controllers that do not plan: behaviours play as their files do and uniform play is uniform among what
 * is legal. What they do is a function of episode and step, whichever environment an episode is in and
 * whoever plays beside it. */
#include "check.h"
#include "eval/controller.h"

#include <mawam/mawam.h>

enum { ENVS = 3, MOST = 4096 };

typedef struct {
    mw_bundle bundle; /* no models: these controllers ask for the task only */
    mw_env *envs[ENVS];
    const mw_env_info *info;
    mw_controller_request request;
    float obs[MOST], real[MOST];
    uint8_t legal[MOST];
    int32_t index[MOST];
} game;

static void open_game(game *g, const char *task, const char *quality) {
    mw_error error;
    *g = (game){0};
    for (int e = 0; e < ENVS; e++) CHECK_OK(mw_env_create(&g->envs[e], task, NULL, &error), error);
    g->info = mw_env_describe(g->envs[0]);
    snprintf(g->bundle.info.task, sizeof g->bundle.info.task, "%s", task);
    snprintf(g->bundle.info.quality, sizeof g->bundle.info.quality, "%s", quality);
    g->bundle.info.agents = g->info->agents;
    g->bundle.info.obs = g->info->obs_size;
    g->bundle.info.act = g->info->act_size;
    g->bundle.info.discrete = g->info->discrete;
    g->request = (mw_controller_request){
        .bundle = &g->bundle, .envs = g->envs, .count = ENVS, .behaviors = SOURCE_DIR "/behaviors"};
}

static void close_game(game *g) {
    for (int e = 0; e < ENVS; e++) mw_env_free(g->envs[e]);
}

/* Asks for the actions of all environments in their present states, with marks where none are written. */
static void decide(game *g, mw_controller *controller, const uint8_t *active) {
    const int joint = g->info->agents * g->info->obs_size, acts = g->info->agents * g->info->act_size;
    mw_error error;
    for (int e = 0; e < ENVS; e++) {
        mw_env_observe(g->envs[e], g->obs + e * joint);
        mw_env_legal(g->envs[e], g->legal + e * acts);
    }
    for (int k = 0; k < MOST; k++) g->real[k] = -9, g->index[k] = -9;
    CHECK_OK(controller->kind->act(controller, g->obs, g->legal, active, g->info->discrete ? NULL : g->real,
                                   g->info->discrete ? g->index : NULL, &error),
             error);
}

static mw_action action_of(const game *g, int e) {
    const int n = g->info->agents;
    return g->info->discrete ? (mw_action){.index = g->index + e * n}
                             : (mw_action){.real = g->real + e * n * g->info->act_size};
}

/* Episode 7 in environment 0 and in environment 2, alone and in company: the same joint actions. */
static void same_episode_same_actions(void **state) {
    (void)state;
    static const char *const names[] = {"behavior", "uniform"}, *const tasks[] = {"spread", "3m"};
    for (int k = 0; k < 4; k++) {
        static game g;
        mw_error error;
        mw_controller *controller;
        open_game(&g, tasks[k / 2], "medium");
        CHECK_OK(mw_controller_create(&controller, names[k % 2], &g.request, &error), error);
        const uint8_t alone[ENVS] = {1, 0, 0};
        int32_t index[2][64];
        float real[2][64], rewards[16], before[64];
        const int n = g.info->agents, count = g.info->discrete ? n : n * g.info->act_size;
        for (int e = 0; e < ENVS; e++) mw_env_reset(g.envs[e], 5);
        controller->kind->begin(controller, 0, 7);
        for (int t = 0; t < 2; t++) {
            decide(&g, controller, alone);
            memcpy(index[t], g.index, sizeof index[t]);
            memcpy(real[t], g.real, sizeof real[t]);
            for (int i = count; i < ENVS * count; i++)
                assert_true(g.info->discrete ? g.index[i] == -9 : g.real[i] == -9.0f); /* not asked for */
            CHECK_OK(mw_env_step(g.envs[0], action_of(&g, 0), rewards, NULL, &error), error);
        }
        for (int e = 0; e < ENVS; e++) {
            mw_env_reset(g.envs[e], 5);
            controller->kind->begin(controller, e, (uint64_t)(5 + e)); /* 7 is in the last */
        }
        for (int t = 0; t < 2; t++) {
            decide(&g, controller, NULL);
            for (int i = 0; i < count; i++)
                if (g.info->discrete)
                    assert_int_equal(g.index[2 * count + i], index[t][i]);
                else
                    assert_true(g.real[2 * count + i] == real[t][i]);
            memcpy(before, g.real, sizeof before);
            if (!g.info->discrete) assert_memory_not_equal(before, real[t], (size_t)count * sizeof *before);
            for (int e = 0; e < ENVS; e++)
                CHECK_OK(mw_env_step(g.envs[e], action_of(&g, e), rewards, NULL, &error), error);
        }
        mw_controller_free(controller);
        close_game(&g);
    }
}

/* Mean and standard error of the returns of some episodes. */
static double play(game *g, const char *name, int episodes, double *standard_error) {
    mw_error error;
    mw_controller *controller;
    CHECK_OK(mw_controller_create(&controller, name, &g->request, &error), error);
    double sum = 0, square = 0;
    for (int first = 0; first < episodes; first += ENVS) {
        double total[ENVS] = {0};
        uint8_t active[ENVS] = {1, 1, 1};
        for (int e = 0; e < ENVS; e++) {
            mw_env_reset(g->envs[e], (uint64_t)(first + e));
            controller->kind->begin(controller, e, (uint64_t)(first + e));
        }
        while (active[0] + active[1] + active[2]) {
            decide(g, controller, active);
            for (int e = 0; e < ENVS; e++) {
                float rewards[16];
                mw_outcome outcome;
                if (!active[e]) continue;
                CHECK_OK(mw_env_step(g->envs[e], action_of(g, e), rewards, &outcome, &error), error);
                for (int i = 0; i < g->info->agents; i++) total[e] += (double)rewards[i] / g->info->agents;
                active[e] = !outcome.terminated && !outcome.truncated;
            }
        }
        for (int e = 0; e < ENVS; e++) sum += total[e], square += total[e] * total[e];
    }
    const double mean = sum / episodes;
    *standard_error = sqrt((square / episodes - mean * mean) / episodes);
    mw_controller_free(controller);
    return mean;
}

/* Against the same files played by mw_behavior_play, with other random numbers; uniform against no file. */
static void plays_as_its_file(void **state) {
    (void)state;
    static const char *const settings[][3] = {
        {"spread", "expert", SOURCE_DIR "/behaviors/spread-expert.safetensors"},
        {"3m", "medium", SOURCE_DIR "/behaviors/3m-medium.safetensors"},
        {"spread", "random", NULL}, /* data of uniform play has no file */
        {"3m", NULL, NULL},
    };
    for (int k = 0; k < 4; k++) {
        static game g;
        mw_error error;
        mw_measure measure;
        double own;
        const char *quality = settings[k][1];
        open_game(&g, settings[k][0], quality ? quality : "medium");
        const double mean = play(&g, quality ? "behavior" : "uniform", 240, &own);
        CHECK_OK(mw_behavior_play(settings[k][0], settings[k][2], NULL, &measure, &error), error);
        const double apart = hypot(own, measure.std / sqrt(measure.episodes));
        printf("%s %s: return %.3f, by mw_behavior_play %.3f, standard error %.3f\n", settings[k][0],
               quality ? quality : "uniform", mean, measure.mean, apart);
        CHECK_NEAR(mean, measure.mean, 4 * apart);
        close_game(&g);
    }
}

/* Uniform real actions: mean 0 and mean square 1/3 within five standard errors, never outside [-1,1].
 * Discrete ones: each legal action as often as any other, and none that is not. */
static void uniform_is_uniform(void **state) {
    (void)state;
    enum { DRAWS = 4000 };
    static game g;
    mw_error error;
    mw_controller *controller;
    open_game(&g, "spread", "medium");
    CHECK_OK(mw_controller_create(&controller, "uniform", &g.request, &error), error);
    const int values = ENVS * g.info->agents * g.info->act_size;
    double sum = 0, square = 0;
    for (int t = 0; t < DRAWS; t++) {
        decide(&g, controller, NULL);
        for (int i = 0; i < values; i++) {
            const double v = (double)g.real[i];
            assert_true(v >= -1 && v <= 1);
            sum += v, square += v * v;
        }
        if (t == 0) assert_true(g.real[0] != g.real[1]);
    }
    const double count = (double)DRAWS * g.info->agents * g.info->act_size; /* of one environment: all are
                                                                               alike */
    CHECK_NEAR(sum / DRAWS / values, 0, 5 * sqrt(1 / 3.0 / count));
    CHECK_NEAR(square / DRAWS / values, 1 / 3.0, 5 * sqrt(4 / 45.0 / count));
    mw_controller_free(controller);
    close_game(&g);

    int seen[64] = {0}, legal = 0;
    open_game(&g, "3m", "medium");
    CHECK_OK(mw_controller_create(&controller, "uniform", &g.request, &error), error);
    for (int t = 0; t < DRAWS; t++) {
        decide(&g, controller, NULL);
        seen[g.index[0]]++; /* of the first agent */
    }
    for (int a = 0; a < g.info->act_size; a++) legal += g.legal[a];
    for (int a = 0; a < g.info->act_size; a++) {
        const double share = g.legal[a] ? 1.0 / legal : 0;
        CHECK_NEAR((double)seen[a] / DRAWS, share, 5 * sqrt(share * (1 - share) / DRAWS));
    }
    mw_controller_free(controller);
    close_game(&g);
}

static void refused(void **state) {
    (void)state;
    static game g;
    mw_error error;
    mw_controller *controller;
    open_game(&g, "spread", "superb");
    CHECK_FAILS(mw_controller_create(&controller, "behavior", &g.request, &error), MW_ERR_ARGUMENT, error,
                "no setting 'spread-superb'");
    assert_null(controller);
    CHECK_FAILS(mw_controller_create(&controller, "oracle", &g.request, &error), MW_ERR_ARGUMENT, error,
                "plays as 'oracle'");
    strcpy(g.bundle.info.quality, "medium");
    g.request.behaviors = "nowhere";
    CHECK_FAILS(mw_controller_create(&controller, "behavior", &g.request, &error), MW_ERR_IO, error,
                "no behaviour file spread-medium.safetensors in nowhere");
    close_game(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_episode_same_actions),
        cmocka_unit_test(plays_as_its_file),
        cmocka_unit_test(uniform_is_uniform),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
