/* The same bits on every CPU: short datasets, thirty training steps of the networks that their presets have,
 * a few decisions with all their candidates, also by the true simulator with the weights as files in half
 * precision have them, and an evaluation, as checksums that were recorded once (tests/data/fingerprints.txt).
 * `make fingerprints` records them anew where bits change on purpose. */
#include "core/file.h"
#include "core/machine/cpu.h"
#include "core/tensor/safetensors.h"
#include "plan/bundle.h"
#include "scratch.h"

#include <jansson.h>
#include <sys/wait.h>

static const char *const tasks[] = {"spread-medium", "tag-medium", "3m-medium", "2ant-medium"};
enum { TASKS = sizeof tasks / sizeof *tasks, MOST = 64 };

static struct {
    char name[64];
    uint64_t sum;
} recorded[MOST];
static int recorded_count, differing;
static FILE *record; /* where new sums go, if asked for */

/* FNV-1a */
static uint64_t add_bytes(uint64_t sum, const void *data, size_t size) {
    const unsigned char *at = data;
    for (size_t i = 0; i < size; i++) sum = (sum ^ at[i]) * 0x100000001b3u;
    return sum;
}
static const uint64_t nothing = 0xcbf29ce484222325u;

static void check(const char *setting, const char *what, uint64_t sum) {
    char name[64];
    snprintf(name, sizeof name, "%s %s", setting, what);
    if (record) fprintf(record, "%016llx %s\n", (unsigned long long)sum, name);
    for (int i = 0; i < recorded_count; i++)
        if (!strcmp(recorded[i].name, name)) {
            if (recorded[i].sum != sum && !record) {
                print_error("%s: %016llx, recorded %016llx\n", name, (unsigned long long)sum,
                            (unsigned long long)recorded[i].sum);
                differing++;
            }
            return;
        }
    if (!record) fail_msg("%s is not among the recorded sums", name);
}

static void run(const char *format, ...) {
    char arguments[1024], command[2048], text[4096];
    va_list list;
    va_start(list, format);
    vsnprintf(arguments, sizeof arguments, format, list);
    va_end(list);
    snprintf(command, sizeof command, "MAWAM_DATA='%s' '%s' %s 2>&1", SOURCE_DIR, MAWAM_PROGRAM, arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    text[fread(text, 1, sizeof text - 1, pipe)] = 0;
    if (pclose(pipe) != 0) fail_msg("%s: %s", arguments, text);
}

static uint64_t file_sum(uint64_t sum, const char *path) {
    static char data[1 << 22];
    return add_bytes(sum, data, scratch_read(path, data, sizeof data));
}

static void data_sums(const char *setting) {
    static const char *const columns[] = {"obs", "actions", "rewards", "path_lengths"};
    uint64_t sum = nothing;
    run("data make %s -o %s --transitions %s --seed 3 --threads 2", setting, scratch_folder,
        setting[1] == 'a' ? "500" : "2001");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        char name[128];
        snprintf(name, sizeof name, "%s/%s.npy", setting, columns[i]);
        sum = file_sum(sum, scratch(name));
    }
    check(setting, "data", sum);
}

static uint64_t tensor_sum(const char *path) {
    mw_error error;
    mw_safetensors file;
    CHECK_OK(mw_safetensors_open(&file, path, &error), error);
    uint64_t sum = nothing;
    for (size_t i = 0; i < file.tensor_count; i++) {
        const mw_tensor *t = &file.tensors[i];
        sum = add_bytes(sum, t->data, t->count * mw_dtype_size(t->type));
    }
    mw_safetensors_close(&file);
    return sum;
}

static void weight_sums(const char *setting, const char *bundle) {
    run("train %s -o %s --wide --seed 1 --set flow.dim=16 --set flow.mults=1,1,1 --set flow.steps=30 "
        "--set flow.batch=8 --set flow.forecast=16 --set flow.forecast_batch=16 --set inverse.steps=30 "
        "--set inverse.hidden=16 --set inverse.batch=16 --set rwm.hidden=16 --set rwm.shared=16 "
        "--set rwm.steps=30 --set rwm.batch=32 --set advantage.features=8 --set advantage.hidden=8 "
        "--set advantage.steps=30 --set value.steps=30 --set value.hidden=8",
        scratch(setting), bundle);
    check(setting, "weights", tensor_sum(bundle));
}

/* Decisions in a world, added to a sum; by the true simulator if it is the judge. */
static uint64_t decide(uint64_t sum, const mw_bundle *bundle, bool oracle, int steps) {
    mw_error error;
    mw_planner *planner;
    mw_env *env;
    const mw_bundle_summary s = mw_bundle_describe(bundle);
    mw_planner_options options;
    mw_planner_options_init(&options, sizeof options, bundle);
    options.threads = 2;
    CHECK_OK(mw_env_create(&env, s.task, NULL, &error), error);
    mw_env *const envs[] = {env};
    if (oracle) {
        snprintf(options.plan.scorer, sizeof options.plan.scorer, "oracle");
        options.plan.caution = 0;
        options.envs_played = envs;
    }
    CHECK_OK(mw_planner_create(&planner, bundle, &options, &error), error);
    const size_t n = (size_t)s.agents, o = (size_t)s.obs_size, d = (size_t)s.act_size;
    float *obs = calloc(n * o, sizeof *obs), *real = calloc(n * d, sizeof *real),
          *rewards = calloc(n, sizeof *rewards);
    uint8_t *legal = calloc(n * d, 1);
    int32_t *index = calloc(n, sizeof *index);
    mw_outcome outcome = {0};
    mw_env_reset(env, 11);
    mw_planner_begin(planner, 0, 11, NULL);
    for (int step = 0; step < steps && !outcome.terminated && !outcome.truncated; step++) {
        mw_env_observe(env, obs);
        mw_env_legal(env, legal);
        CHECK_OK(mw_planner_act(planner, obs, legal, NULL, real, index, &error), error);
        const mw_candidates c = mw_planner_candidates(planner, 0);
        const size_t all = (size_t)c.count * (size_t)c.horizon * n;
        sum = add_bytes(sum, c.scores, (size_t)c.count * sizeof(float));
        sum = add_bytes(sum, c.actions, all * d * sizeof(float));
        if (c.imagined) sum = add_bytes(sum, c.imagined, all * o * sizeof(float));
        sum = s.discrete ? add_bytes(sum, index, n * sizeof *index)
                         : add_bytes(sum, real, n * d * sizeof *real);
        const mw_action action = {s.discrete ? NULL : real, s.discrete ? index : NULL};
        CHECK_OK(mw_env_step(env, action, rewards, &outcome, &error), error);
    }
    free(obs);
    free(real);
    free(rewards);
    free(legal);
    free(index);
    mw_env_free(env);
    mw_planner_free(planner);
    return sum;
}

static void decision_sums(const char *setting, const char *path) {
    mw_error error;
    mw_bundle *bundle;
    CHECK_OK(mw_bundle_load(&bundle, path, &error), error);
    check(setting, "decisions", decide(nothing, bundle, false, 4));
    mw_bundle_free(bundle);
}

/* As the study's bundles are stored: in half precision, of which the value's units are no part. */
static void oracle_sums(const char *setting, const char *path) {
    mw_error error;
    mw_bundle *bundle;
    char narrow[400];
    snprintf(narrow, sizeof narrow, "%s", scratch("narrow.safetensors"));
    CHECK_OK(mw_bundle_load(&bundle, path, &error), error);
    CHECK_OK(mw_bundle_save(bundle, narrow, true, &error), error);
    mw_bundle_free(bundle);
    CHECK_OK(mw_bundle_load(&bundle, narrow, &error), error);
    check(setting, "oracle", decide(tensor_sum(narrow), bundle, true, 12));
    mw_bundle_free(bundle);
    remove(narrow);
}

static void evaluation_sums(const char *setting, const char *bundle) {
    json_error_t error;
    const char *result = scratch("result.json"), *name;
    const bool ant = strstr(setting, "ant") != NULL;
    json_t *arm;
    run("eval %s --arms %s --seeds 1 --first-seed 5 --episodes %d --timed 0 --threads 2 --json=%s", bundle,
        ant ? "plan --M 2 --K 1 --H 2" : "reactive,random,plan,oracle", ant ? 1 : 3, result);
    json_t *whole = json_load_file(result, 0, &error);
    if (!whole) fail_msg("%s", error.text);
    uint64_t sum = nothing;
    json_object_foreach(json_object_get(whole, "arms"), name, arm) {
        char *text = json_dumps(json_object_get(arm, "episode_returns"), JSON_COMPACT);
        assert_non_null(text);
        sum = add_bytes(add_bytes(sum, name, strlen(name)), text, strlen(text));
        free(text);
    }
    json_decref(whole);
    remove(result);
    check(setting, "evaluation", sum);
}

static void clean(const char *setting) {
    scratch_remove(scratch(setting));
    scratch_count(true);
}

/* MuJoCo computes the same bits on x86-64 with AVX2 alone (docs/portability.md). */
static bool ant_is_exact(void) {
#if defined(__x86_64__)
    return mw_cpu_runs(MW_CPU_V3) || mw_cpu_runs(MW_CPU_ONLY);
#else
    return false;
#endif
}

static void fingerprints(void **state) {
    (void)state;
    for (int i = 0; i < TASKS; i++) {
        mw_error error;
        mw_env *env;
        char task[32];
        snprintf(task, sizeof task, "%.*s", (int)strcspn(tasks[i], "-"), tasks[i]);
        if (strstr(task, "ant") && !ant_is_exact()) continue;
        if (mw_env_create(&env, task, NULL, &error) != MW_OK) { /* Ant, in a build without MuJoCo */
            print_message("%s\n", error.message);
            continue;
        }
        mw_env_free(env);
        char bundle[400];
        snprintf(bundle, sizeof bundle, "%s", scratch("bundle.safetensors"));
        data_sums(tasks[i]);
        weight_sums(tasks[i], bundle);
        decision_sums(tasks[i], bundle);
        oracle_sums(tasks[i], bundle);
        evaluation_sums(tasks[i], bundle);
        clean(tasks[i]);
    }
    if (differing) fail_msg("%d of the recorded sums differ at CPU level %s", differing, mw_cpu_name());
}

static int set_up(void **state) {
    const char *path = TEST_DATA "/fingerprints.txt", *target = getenv("MAWAM_RECORD");
    unsigned long long sum;
    FILE *file = fopen(path, "r");
    while (file && recorded_count < MOST &&
           fscanf(file, "%llx %63[^\n]", &sum, recorded[recorded_count].name) == 2)
        recorded[recorded_count++].sum = sum;
    if (file) fclose(file);
    if (target && !(record = fopen(target, "w"))) return -1;
    return scratch_setup(state);
}

static int tear_down(void **state) {
    if (record && fclose(record) != 0) return -1;
    return scratch_teardown(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(fingerprints)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
