/* Ranges that messages name are the real ones: the limits themselves are taken, and what lies beyond is
 * refused with a message that names the range. An unknown option at the end stops every command before it
 * does anything. */
#include "core/file.h"
#include "program.h"

static const struct {
    const char *command, *option;
    double low, high;
} ranges[] = {
    {"behavior eval", "episodes", 1, 1e8},
    {"behavior eval", "noise", 0, 10},
    {"behavior eval", "threads", 0, 1024},
    {"behavior list", "episodes", 0, 1e7},
    {"behavior pick", "episodes", 1, 1e7},
    {"behavior pick", "every", 1, 1e6},
    {"behavior prey", "rounds", 1, 8},
    {"behavior prey", "predator-steps", 1, 1e12},
    {"behavior prey", "prey-steps", 1, 1e12},
    {"behavior train", "steps", 1, 1e12},
    {"bench", "envs", 1, 4096},
    {"bench", "M", 1, 1024},
    {"bench", "K", 1, 5},
    {"bench", "H", 1, 1000},
    {"bench", "seconds", 0.01, 60},
    {"data import", "agents", 1, 1024},
    {"data import", "actions", 1, 1048576},
    {"data import", "episode-limit", 1, 1e9},
    {"data make", "transitions", 1, 1e9},
    {"demo", "seeds", 1, 100},
    {"diagnose", "anchors", 0, 100000},
    {"diagnose", "snippets", 8, 1000000},
    {"diagnose --routing", "transitions", 1, 1000000},
    {"diagnose --routing", "consecutive", 1, 1000000},
    {"diagnose --routing", "anchors", 0, 100000},
    {"env play", "episodes", 1, 1e8},
    {"env play", "envs", 1, 65536},
    {"env play", "spawn-jitter", 0, 4},
    {"eval", "seeds", 1, 10000},
    {"eval", "episodes", 1, 100000},
    {"eval", "envs", 1, 4096},
    {"eval", "timed", 0, 100000},
    {"eval", "threads", 0, 1024},
    {"study run", "seeds", 1, 10000},
    {"study run", "snippets", 0, 1000000},
    {"train", "threads", 0, 1024},
};

static void limits(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        const double inside[] = {ranges[i].low, ranges[i].high},
                     outside[] = {ranges[i].low - 1, 2 * ranges[i].high};
        for (int k = 0; k < 2; k++) {
            char command[256], range[128];
            snprintf(command, sizeof command, "%s --%s=%.12g --quux", ranges[i].command, ranges[i].option,
                     inside[k]);
            program_expect(2, command, "unknown option '--quux'");
            snprintf(command, sizeof command, "%s --%s=%.12g", ranges[i].command, ranges[i].option,
                     outside[k]);
            snprintf(range, sizeof range, "--%s must be a ", ranges[i].option);
            program_expect(2, command, range);
            snprintf(range, sizeof range, "number from %.10g to %.10g, not '%.12g'", ranges[i].low,
                     ranges[i].high, outside[k]);
            program_expect(2, command, range);
        }
    }
}

/* Plan settings are refused by the library's own table, before a bundle is looked for; what only the bundle
 * can tell is a failure. */
static void plan_settings(void **state) {
    (void)state;
    program_expect(2, "eval nowhere --candidates 4097", "4096");
    program_expect(2, "eval nowhere --K 6", "5");
    program_expect(2, "eval nowhere --H 257", "256");
    program_expect(2, "eval spread-medium --M 4 --plan 5", "unknown option '--plan'");
    program_expect(2, "eval nowhere --M", "--candidates needs a value");
    program_expect(2, "demo nowhere --choice some", "best or random or first");
    program_expect(2, "eval nowhere --scorer nobody", "there is no scorer 'nobody'; known: rwm, ");
    program_expect(1, "eval spread-medium --H 9", "1 to 8");
}

/* Names that are none are usage everywhere; folders that are none are not. */
static void names(void **state) {
    (void)state;
    program_expect(2, "data make nowhere -o %/data", "no setting 'nowhere'");
    program_expect(2, "env play nowhere", "there is no task 'nowhere'");
    program_expect(2, "env describe nowhere", "there is no task 'nowhere'");
    program_expect(2, "env play spread --policy nobody", "no scripted policy 'nobody'");
    program_expect(2, "eval nowhere --arms nobody", "no arm 'nobody'");
    program_expect(2, "study run nowhere --dir %/study", "no setting 'nowhere'");
    program_expect(2, "verify nett", "did you mean 'net'?");
    program_expect(2, "behavior train nowhere -o %/run", "there is no task 'nowhere'");
    program_expect(2, "behavior train 3m --set color=1 -o %/run", "'color=1' does not set a field");
    program_expect(2, "behavior train 3m --set rate=fast -o %/run", "3m: rate must be a number, not 'fast'");
    program_expect(2, "behavior train 3m --prey script -o %/run", "3m has no prey");
    assert_int_not_equal(access(scratch("run"), F_OK), 0);
    mw_error error;
    if (mw_dir_make(scratch("diagnostics"), &error) != MW_OK) fail_msg("%s", error.message);
    static const char study[] = "{\"settings\": [{\"family\": \"mpe\", \"task\": \"spread\", \"quality\": "
                                "\"expert\", \"reactive\": 1, "
                                "\"planning\": 2, \"random\": 1, \"top2\": 0.5, \"data_return\": 1}]}";
    scratch_write(scratch("diagnostics/study.json"), study, sizeof study - 1);
    program_expect(1, "verify %/diagnostics", "nothing to check in");
    program_expect(1, "verify ./nowhere", "there is no folder './nowhere'");
    program_expect(1, "verify --json ./nowhere", "there is no folder './nowhere'");
}

/* What is in range by itself and too much together says so. */
static void products(void **state) {
    (void)state;
    program_expect(1, "eval spread-medium --seeds 10000 --episodes 100000",
                   "there must be 1 to 10000000 episodes; got 10000 seeds x 100000");
    program_expect(1, "eval spread-medium --envs 4096 --M 4096 --seeds 1 --episodes 4096", "at most 65536");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(limits), cmocka_unit_test(plan_settings),
                                       cmocka_unit_test(names), cmocka_unit_test(products)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
