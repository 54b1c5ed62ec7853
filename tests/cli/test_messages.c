/* The command line as people expect it: what is mistyped is named, what cannot be written is said before the
 * work, what is finished is not overwritten, and whole numbers may be large. */
#include "program.h"
#include "random_bundle.h"

static void suggestions(void **state) {
    (void)state;
    program_expect(2, "trian x", "unknown command 'trian'; did you mean 'train'?");
    program_expect(2, "data exprt", "did you mean 'export'?");
    program_expect(2, "eval x --epsiodes 3", "unknown option '--epsiodes'; did you mean --episodes?");
    program_expect(2, "eval x --candidate 3", "did you mean --candidates?");
    program_expect(1, "eval spread-medum",
                   "there is no bundle 'spread-medum'; did you mean 'spread-medium'?");
    program_expect(1, "eval spread", "there is no bundle 'spread'; did you mean 'spread-medium'?");
    program_expect(1, "bundle info 3m-mediun", "did you mean '3m-medium'?");
    program_expect(1, "behavior eval spread-medum",
                   "there is no behaviour 'spread-medum'; did you mean 'spread-medium'?");
    program_expect(0, "behavior eval spread-medium --episodes 2 --threads 1", "spread-medium");
    program_expect(1, "diagnose nothing-like-it",
                   "'nothing-like-it' is no file, and there is no bundles/nothing-like-it.safetensors in ");
    program_expect(2, "data make spread-medim -o %",
                   "there is no setting 'spread-medim'; did you mean 'spread-medium'?");
    program_expect(2, "study run spread-medum", "did you mean 'spread-medium'?");
    program_expect(2, "study run xyzzy", "settings are task-quality");
    program_expect(2, "bench --task foo", "there is no task 'foo'; known: spread, tag");
    program_expect(2, "verify nowhere", "there is neither a folder nor a command 'nowhere'");
    program_expect(2, "train x --set flow.steps 3",
                   "--set flow.steps has no '='; give --set flow.steps=VALUE");
    program_expect(2, "eval x --sweep M 1,2", "--sweep M has no '='");
    program_expect(2, "eval x --arms 'reactive, plan, mine'", "there is no arm 'mine'");
    program_expect(1, "eval no-such --arms 'reactive, plan'", "'no-such' is no file");
    program_expect(2, "study run --parts 'main, xyzzy'", "--parts are main,");
    program_expect(2, "study run --parts ' ' --set nothing=1", "--parts are main,");
    program_expect(2, "xyzzy", "mawam: unknown command 'xyzzy' (try mawam --help)");
    program_expect(2, "eval x --quux", "unknown option '--quux' (try mawam eval --help)");
    program_expect(2, "demo --foo", "unknown option '--foo' (try mawam demo --help)");
    program_expect(2, "study run 3m-poor --dir %/study --set rwm.step=3", "'rwm.step=3' sets nothing");
    program_expect(2, "study run --dir %/study --method mine", "mine");
    assert_int_not_equal(access(scratch("study"), F_OK), 0);
    program_expect(1, "demo spread-medium nothing-like-it --episodes 1 -o %/shown",
                   "'nothing-like-it' is no");
    assert_int_not_equal(access(scratch("shown"), F_OK), 0);
}

/* Options have dashes and settings underscores; either may be typed for either. */
static void dashes_and_underscores(void **state) {
    (void)state;
    program_expect(0, "bundle info spread-medium", "checksum ");
    program_expect(1, "eval no-such --action-offset 0.2 --first_seed 7", "'no-such' is no file");
    program_expect(2, "eval no-such --action-offset x", "action_offset");
    program_expect(2, "eval no-such --action.offset 0.2", "unknown option '--action.offset'");
}

/* Whoever finds the fault, the parser, the command or the library: it is said in one shape. */
static void usage_has_one_shape(void **state) {
    (void)state;
    program_expect(2, "env list x", "mawam: env list: unexpected argument 'x' (try mawam env list --help)");
    program_expect(2, "env describe", "mawam: env describe: name a task; mawam env list shows them (try ");
    program_expect(2, "env describe x", "mawam: env describe: there is no task 'x'");
    program_expect(2, "data dance", "mawam: data: unknown command 'dance' (try mawam data --help)");
    program_expect(2, "study run --budget x", "mawam: study run: --budget must be ");
    program_expect(2, "verify net", "mawam: verify net: name the folder");
    program_expect(2, "train x -o", "mawam: train: -o needs a value (try mawam train --help)");
}

/* Who stands in a folder of datasets still has the bundles. */
static void folders_of_a_bundles_name(void **state) {
    (void)state;
    char line[4096];
    snprintf(line, sizeof line,
             "mkdir '%s' && cd '%s' && mkdir spread-medium && MAWAM_DATA='%s' '%s' bundle info spread-medium",
             scratch("data"), scratch("data"), SOURCE_DIR, MAWAM_PROGRAM);
    assert_int_equal(program_shell(line), 0);
    assert_non_null(strstr(program_output, "rules mpe-omar-1"));
}

static void numbers(void **state) {
    (void)state;
    program_expect(0, "env play spread --episodes 1e1 --seed 1e3", "10 episodes, seed 1000");
    program_expect(2, "env play spread --episodes 1.5",
                   "--episodes must be a whole number from 1 to 100000000, not '1.5'");
    program_expect(2, "env play spread --episodes 0", "from 1 to 100000000, not '0'");
    program_expect(2, "env play spread --seed -1", "--seed must be a whole number from 0 on, not '-1'");
    program_expect(2, "eval x --seeds 1e9", "--seeds must be a whole number from 1 to 10000, not '1e9'");
}

/* The message came after 40 s of work, and the result was lost. */
static void outputs_first(void **state) {
    (void)state;
    program_expect(1, "eval spread-medium --json=/nowhere/x", "cannot write '/nowhere/x': folder '/nowhere'");
    program_expect(1, "eval spread-medium --replay /nowhere/x.html", "folder '/nowhere'");
    program_expect(1, "diagnose spread-medium --json=/nowhere/x", "folder '/nowhere'");
    program_expect(1, "env play spread --replay /nowhere/x.html", "folder '/nowhere'");
    scratch_write(scratch("old.json"), "{}", 2);
    program_expect(1, "eval spread-medium --json=%/old.json",
                   "old.json' is there already; --overwrite replaces it");
    program_expect(1, "eval spread-medium --quantile 0.5", "quantile is for training");
    program_expect(1, "eval spread-medium --sweep M=1 --json=/nowhere/x", "folder '/nowhere'");
    program_expect(1, "eval spread-medium --sweep M=1 --json=%/old.json",
                   "old.json' is there already, and not of this bundle and these options; --overwrite ");
    program_expect(1, "diagnose --routing spread-medium data --json=%/old.json",
                   "old.json' is there already; --overwrite replaces it");
    program_expect(1, "diagnose --routing spread-medium data --page %/old.json", "--overwrite replaces it");
    program_expect(2, "eval spread-medium --sweep M=1 --replay %/x.html", "--replay shows one plan");
    program_expect(2, "eval spread-medium --replay %/x.txt", "--replay is a file .html or .svg, not '");
    program_expect(2, "env play spread --replay ''", "--replay is a file .html or .svg, not ''");
    program_expect(2, "eval spread-medium --json %/out.json", "out.json'; did you mean --json=");
    program_expect(2, "diagnose --json %/out.json spread-medium", "out.json'; did you mean --json=");
    program_expect(2, "diagnose --routing spread-medium --json=", "--json= names no file");
    program_expect(2, "eval spread-medium --seeds 1 --episodes 1 --json=%/x --replay %/x",
                   "--json and --replay name the same file");
    program_expect(2, "diagnose --routing spread-medium % --json=%/x --page %/x",
                   "--json and --page name the same file");
}

/* What was found is printed although its file cannot be written when it is there to be. */
static void results_of_full_disks(void **state) {
    (void)state;
    static const struct {
        const char *command, *table;
    } found[] = {
        {"eval spread-medium --arms reactive --seeds 1 --episodes 1 --timed 0 --threads 1", "\nreactive"},
        {"diagnose 3m-medium --anchors 1 --M 2 --threads 1", " 1.000         -       - "}, /* two that tie */
    };
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        char line[4096];
        snprintf(line, sizeof line, "ulimit -f 0; MAWAM_DATA='%s' '%s' %s --json='%s'", SOURCE_DIR,
                 MAWAM_PROGRAM, found[i].command, scratch("full.json"));
        assert_int_equal(program_shell(line), 1);
        assert_non_null(strstr(program_output, "cannot write "));
        assert_non_null(strstr(program_output, found[i].table));
    }
}

/* A variable of the shell that is not set: what was to lie in its folder went to the root of all. */
static void folders_without_a_name(void **state) {
    (void)state;
    program_expect(1, "study run spread-random --parts main --transitions 1 --behaviors /nowhere --dir ''",
                   "a directory with an empty name");
    program_expect(1, "behavior train spread --steps 1 -o ''", "a directory with an empty name");
    program_expect(1, "demo spread-medium --episodes 1 -o ''", "a directory with an empty name");
}

static void options_that_do_not_apply(void **state) {
    (void)state;
    program_expect(2, "env play spread --spawn-jitter 1", "spread has no units whose start could jitter");
    program_expect(2, "env play spread --prey script", "spread has no prey");
    program_expect(2, "env play 3m --prey script", "3m has no prey; that option must not be given");
    program_expect(2, "behavior list nonsense", "there is no task 'nonsense'");
    static const char *const others[] = {"--task 3m", "--preset paper", "--envs 2",     "--M 4",      "--K 2",
                                         "--H 4",     "--train",        "--only score", "--seconds 2"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char command[80];
        snprintf(command, sizeof command, "bench --cost spread-medium %s", others[i]);
        program_expect(2, command, "--cost takes bundles, --threads, --timed");
    }
}

static void descriptions(void **state) {
    (void)state;
    program_expect(0, "help eval", "usage: mawam eval BUNDLE");
    program_expect(0, "help help", "usage: mawam COMMAND");
    program_expect(0, "--help data make", "usage: mawam data make SETTING");
    program_expect(0, "data help import", "usage: mawam data import");
    program_expect(0, "verify help net", "usage: mawam verify net");
    program_expect(2, "help evla", "did you mean 'eval'?");
    program_expect(0, "-v", "mawam 0.");
    program_expect(0, "env list --csv", "spread,mpe,mpe-omar-1,3,18,2,0,25,three agents");
    program_expect(0, "behavior list spread --csv", "spread-random,0,,1,0,,");
    program_expect(0, "env describe 3m", "attack");
    program_expect(0, "env describe 3m --json", "\"actions\": [");
    program_expect(0, "bundle info spread-medium", "flow: ");
    program_expect(0, "bundle info spread-medium", "provenance");
    program_expect(0, "bundle info @/bundles/spread-medium.safetensors --json", "\"parameters\": ");
    program_expect(1, "bundle info nothing", "there is no bundles/nothing.safetensors in ");
}

/* A file whose every text commands the terminal, one byte or two. */
static void save_commanding(const char *path) {
    mw_error error;
    mw_bundle *bundle = random_bundle((mw_bundle_info){.task = "spread",
                                                       .rules = "\x1b[2Jrules",
                                                       .quality = "\x1b[31mred\xc2\x9b",
                                                       .method = "\x1b[1mbold",
                                                       .agents = 3,
                                                       .obs = 18,
                                                       .act = 2,
                                                       .episode_limit = 25},
                                      1);
    for (int i = 0; i < bundle->count; i++) {
        mw_provenance *made = &bundle->parts[i].provenance;
        strcpy(made->data, "\x1b]0;data");
        strcpy(made->revision, "\x1b]0;revision");
        json_decref(made->details);
        made->details = json_pack("{s:s, s:s, s:{s:s}}", "accepted_in", "\x1b[2J", "command", "\x1b[3J",
                                  "held", "\x1b[4mkey", "\x1b[5mvalue");
    }
    CHECK_OK(mw_bundle_save(bundle, path, false, &error), error);
    mw_bundle_free(bundle);
}

static void texts_of_files(void **state) {
    (void)state;
    static const char *const commands[] = {
        "bundle info %/bundles/red.safetensors",
        "bundle info %/bundles/red.safetensors --csv",
        "bundle info %/bundles/red.safetensors --json",
        "eval %/bundles/red.safetensors",
        "eval %/bundles/red.safetensors --accept-rules --seeds 1 --episodes 1 --timed 0 --threads 1 --M 2",
        "eval %/bundles/red.safetensors --accept-rules --csv --seeds 1 --episodes 1 --timed 0 --threads 1 "
        "--M 2",
    };
    mkdir(scratch("bundles"), 0777);
    save_commanding(scratch("bundles/red.safetensors"));
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        program_expect(i == 3, commands[i], "?[2J");
        assert_null(strpbrk(program_output, "\x1b\x9b"));
    }
    /* commands that do not accept other rules name one that does */
    program_expect(1, "demo %/bundles/red.safetensors -o %/shown",
                   "'mawam eval --accept-rules' plays it all the");
    program_expect(1, "bench --cost %/bundles/red.safetensors",
                   "'mawam eval --accept-rules' plays it all the");
    char line[512];
    snprintf(line, sizeof line, "MAWAM_DATA='%s' '%s' zoo", scratch_folder, MAWAM_PROGRAM);
    assert_int_equal(program_shell(line), 0);
    assert_non_null(strstr(program_output, "?[1mbold"));
    assert_null(strpbrk(program_output, "\x1b\x9b"));
}

/* And names of bundles, tasks, settings, arms and scorers, where these are wanted. */
static void completion_of_names(void **state) {
    (void)state;
    static const char *const cases[][3] = {{"eval spread-m", "2", "<spread-medium>"},
                                           {"eval x --arms rea", "4", "<reactive>"},
                                           {"eval x --arms reactive,orac", "4", "<reactive,oracle>"},
                                           {"eval x --scorer rw", "4", "<rwm>"},
                                           {"env play 5m", "3", "<5m_vs_6m>"},
                                           {"data make tag-me", "3", "<tag-medium tag-medium-replay>"},
                                           {"bundle info 2s", "3", "<2s3z-medium>"},
                                           {"eval x --seeds rea", "4", "<>"}};
    if (system("bash -c true") != 0) skip();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[4096];
        snprintf(command, sizeof command,
                 "cd '%s' && MAWAM_DATA='%s' bash -c '. %s/cmake/complete/mawam; COMP_WORDS=(\"%s\" %s); "
                 "COMP_CWORD=%s; _mawam; echo \"<${COMPREPLY[*]}>\"'",
                 scratch_folder, SOURCE_DIR, SOURCE_DIR, MAWAM_PROGRAM, cases[i][0], cases[i][1]);
        assert_int_equal(program_shell(command), 0);
        if (!strstr(program_output, cases[i][2])) fail_msg("%s: %s", cases[i][0], program_output);
    }
}

/* The shell offers what the help lists as options, and nothing else. */
static void completion(void **state) {
    (void)state;
    static const char line[] = "bash -c '. %s/cmake/complete/mawam; COMP_WORDS=(\"%s\" %s --%s); "
                               "COMP_CWORD=2; _mawam; echo \"<${COMPREPLY[*]}>\"'";
    static const char *const cases[][3] = {{"eval", "first", "<--first-seed>"},
                                           {"eval", "P", "<>"},
                                           {"demo", "P", "<>"},
                                           {"eval", "M", "<--M>"}};
    if (system("bash -c true") != 0) skip();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[4096];
        snprintf(command, sizeof command, line, SOURCE_DIR, MAWAM_PROGRAM, cases[i][0], cases[i][1]);
        assert_int_equal(program_shell(command), 0);
        if (!strstr(program_output, cases[i][2]))
            fail_msg("%s --%s: %s", cases[i][0], cases[i][1], program_output);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(suggestions),
        cmocka_unit_test(dashes_and_underscores),
        cmocka_unit_test(usage_has_one_shape),
        cmocka_unit_test(numbers),
        cmocka_unit_test(outputs_first),
        cmocka_unit_test(results_of_full_disks),
        cmocka_unit_test(folders_without_a_name),
        cmocka_unit_test(options_that_do_not_apply),
        cmocka_unit_test(descriptions),
        cmocka_unit_test(texts_of_files),
        cmocka_unit_test(folders_of_a_bundles_name),
        cmocka_unit_test(completion),
        cmocka_unit_test(completion_of_names),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
