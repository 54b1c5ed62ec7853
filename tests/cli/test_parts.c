/* Bundles that are put together from parts, as a user goes about it: nothing that was trained is lost on the
 * way, what another bundle provides stays as it is, and what cannot come to a bundle is said before the work.
 */
#include "program.h"

#define SMALL                                                                                                \
    "%/spread-random --threads 1 --quiet --set flow.dim=16 --set flow.steps=3 --set flow.batch=6 --set "     \
    "inverse.steps=3 --set rwm.hidden=16 --set rwm.steps=3 "
#define FLOW      "--set flow.dim=16 --set flow.steps=3 --set flow.batch=6 "
#define ADVANTAGE "--set advantage.features=4 --set advantage.hidden=8 --set advantage.steps=3 "
#define MONO      "--set mono.steps=3 --set mono.hidden=8 "

static int make_data(void **state) {
    if (scratch_setup(state) != 0) return -1;
    program_expect(0, "data make spread-random -o % --transitions 500 --threads 1", "spread-random");
    return 0;
}

static void holds(const char *bundle, const char *text) {
    char line[200];
    snprintf(line, sizeof line, "bundle info %%/%s.safetensors", bundle);
    program_expect(0, line, text);
}

/* A part beside the task's own, and then the rest; a part that a checkpoint does not have yet. */
static void one_after_another(void **state) {
    (void)state;
    program_expect(0, "train " SMALL MONO "--only mono -o %/a.safetensors", "no bundle yet");
    program_expect(0, "train " SMALL MONO "-o %/a.safetensors --resume", "written after");
    holds("a", "\nmono: ");
    holds("a", "\nflow: ");
    program_expect(0, "train " SMALL "--only flow -o %/b.safetensors", "no bundle yet");
    program_expect(0, "train " SMALL MONO "--only mono -o %/b.safetensors --resume", "no bundle yet");
    program_expect(0, "train " SMALL MONO "-o %/b.safetensors --resume", "written after");
    holds("b", "\nmono: ");
}

static void provided_as_it_is(void **state) {
    (void)state;
    program_expect(0,
                   "train " SMALL "--method paper --set plan.candidates=5 --set plan.target=0.25 -o "
                   "%/paper.safetensors",
                   "written after");
    program_expect(0,
                   "train %/spread-random --threads 1 --quiet --only mono " MONO
                   "--with %/paper.safetensors -o %/both.safetensors",
                   "written after");
    holds("both", "candidates=5 horizon=8 sampling_steps=3 guidance=1.2 target=0.25");
    holds("both", "method paper");
    program_expect(0, /* a target that was given stays, one of the data is found anew */
                   "train %/spread-random --threads 1 --quiet --only flow " FLOW
                   "--with %/both.safetensors -o %/again.safetensors",
                   "target return 0.250");
    program_expect(0,
                   "train %/spread-random --threads 1 --quiet --only flow " FLOW
                   "--with %/again.safetensors --set plan.target=auto -o %/auto.safetensors",
                   "written after");
    program_expect(0,
                   "train %/spread-random --threads 1 --quiet --only flow " FLOW
                   "--set flow.discount=0.5 --with %/auto.safetensors -o %/found.safetensors",
                   "written after");
    program_expect(
        0, /* also as it was before, beside a quantile that would change it */
        "train %/spread-random --threads 1 --quiet --only mono " MONO
        "--set plan.quantile=0.5 --set plan.target=0.25 --with %/again.safetensors -o %/set.safetensors",
        "target return 0.250");
    char targets[2][16];
    const char *const bundles[] = {"auto", "found"};
    for (int i = 0; i < 2; i++) {
        holds(bundles[i], "target=");
        snprintf(targets[i], sizeof targets[i], "%.15s", strstr(program_output, "target="));
    }
    assert_string_not_equal(targets[0], targets[1]);
    program_expect(1,
                   "train %/spread-random --only mono --set flow.steps=7 --with %/paper.safetensors -o "
                   "%/x.safetensors",
                   "flow.steps is set, but the flow comes from");
    program_expect(1,
                   "train %/spread-random --only mono --set plan.horizon=12 --with %/paper.safetensors -o "
                   "%/x.safetensors",
                   "plan.horizon 12 is more than flow.generated 11");
    program_expect(
        1,
        "train %/spread-random --only mono --set plan.scorer=mixture --with %/paper.safetensors -o "
        "%/x.safetensors",
        "the advantage is not among the parts");
}

/* What a bundle's policy earns, to the last digit. */
static void returns_of(char out[64], const char *bundle) {
    char line[200];
    snprintf(line, sizeof line, "eval %%/%s.safetensors --arms reactive --seeds 1 --episodes 2 --json",
             bundle);
    program_expect(0, line, "\"return\": ");
    snprintf(out, 64, "%.60s", strstr(program_output, "\"return\": "));
}

static void error_of(char out[64], const char *bundle) {
    holds(bundle, "return_error=");
    const char *at = strstr(program_output, "return_error=");
    snprintf(out, 64, "%.*s", (int)strcspn(at, " \n"), at);
}

/* Weights of a bundle in single precision stay what they are when something is added to it, and so does its
 * name; the error of imagined returns is that of the scorer it plans by. */
static void taken_over(void **state) {
    (void)state;
    char before[64], after[64];
    program_expect(0, "data make spread-medium -o % --transitions 500 --threads 1", "spread-medium");
    program_expect(0, "train " SMALL "--wide -o %/wide.safetensors", "written after");
    program_expect(0,
                   "train %/spread-medium --threads 1 --quiet --only mono " MONO
                   "--with %/wide.safetensors --set plan.scorer=mono -o %/more.safetensors",
                   "written after");
    returns_of(before, "wide");
    returns_of(after, "more");
    assert_string_equal(before, after);
    holds("more", "spread-random");
    program_expect(0,
                   "train %/spread-medium --threads 1 --quiet --only mono " MONO
                   "--with %/wide.safetensors --set plan.scorer=mono --set plan.return_error=auto -o "
                   "%/same.safetensors",
                   "written after");
    holds("more", "return_error=");
    snprintf(before, sizeof before, "%.30s", strstr(program_output, "return_error="));
    holds("same", before);
    program_expect(0, /* a scorer that does not imagine, and nothing that does; then something; then better */
                   "train " SMALL ADVANTAGE
                   "--set parts=flow,inverse,advantage --set plan.scorer=advantage -o %/blind.safetensors",
                   "written after");
    error_of(before, "blind");
    assert_string_equal(before, "return_error=auto");
    program_expect(0,
                   "train %/spread-random --threads 1 --quiet --only mono " MONO
                   "--with %/blind.safetensors -o %/seeing.safetensors",
                   "written after");
    program_expect(
        0,
        "train %/spread-random --threads 1 --quiet --only mono --set mono.hidden=16 --set mono.steps=9 "
        "--with %/seeing.safetensors -o %/better.safetensors",
        "written after");
    error_of(before, "seeing");
    error_of(after, "better");
    assert_string_not_equal(before, "return_error=auto");
    assert_string_not_equal(before, after);
    program_expect(1,
                   "train %/spread-medium --only mono --set parts=direct --with %/wide.safetensors -o "
                   "%/x.safetensors",
                   "parts is set, but they are those of");
}

/* A checkpoint's parts that were never begun come from the bundle that is named now. */
static void begun_alone(void **state) {
    (void)state;
    program_expect(0, "train " SMALL "-o %/whole.safetensors", "written after");
    program_expect(0, "train " SMALL "--only rwm -o %/h.safetensors", "no bundle yet");
    program_expect(0,
                   "train %/spread-random --threads 1 --quiet --set rwm.hidden=16 --set rwm.steps=3 --only "
                   "rwm --with %/whole.safetensors -o %/h.safetensors --resume",
                   "written after");
}

static void said_before(void **state) {
    (void)state;
    program_expect(1, "train " SMALL "--set flow.return_scale=1e-9 -o %/c.safetensors",
                   "plan.target comes to");
    program_expect(1,
                   "train " SMALL "--set parts=flow,inverse,direct --set direct.horizon=4 --set "
                   "plan.scorer=direct -o %/c.safetensors",
                   "plan.scorer is direct, for 4 steps");
    program_expect(0, "train " SMALL "--set plan.target=0.123 -o %/d.safetensors", "written after");
    program_expect(1, "train " SMALL "--resume -o %/d.safetensors", "it has another plan.target");
    program_expect(0, "train " SMALL "--set plan.target=0.123 --resume -o %/d.safetensors",
                   "finished already");
    program_expect(1, "train " SMALL "--set plan.target=0.123 --resume --wide -o %/d.safetensors",
                   "in half precision, and --wide asks for single");
    program_expect(0, "bundle pack %/d.safetensors --bits 6 -o %/packed.safetensors", "");
    program_expect(1, "train " SMALL "--set plan.target=0.123 --resume -o %/packed.safetensors",
                   "its weights are packed");
    program_expect(0, "train " SMALL "--wide --overwrite -o %/d.safetensors", "written after");
    program_expect(0, "train " SMALL "--wide --resume -o %/d.safetensors", "finished already");
    program_expect(1, "train " SMALL "--resume -o %/d.safetensors", "in single precision");
    char line[300];
    snprintf(line, sizeof line, "mkdir '%s/e.svg'", scratch_folder);
    assert_int_equal(program_shell(line), 0);
    program_expect(1, "train " SMALL "-o %/e.safetensors", "e.svg': it is a directory");
    assert_int_not_equal(access(scratch("e.train.safetensors"), F_OK), 0);
}

/* Neither a name that is not UTF-8 nor a log that was removed costs a training. */
static void nothing_lost(void **state) {
    (void)state;
    program_expect(0, "train " SMALL "-o %/caf\xe9.safetensors", "written after");
    program_expect(0, "train " SMALL "--only flow,inverse -o %/f.safetensors", "no bundle yet");
    assert_int_equal(remove(scratch("f.jsonl")), 0);
    program_expect(0, "train " SMALL "--resume -o %/f.safetensors", "written after");
}

/* Episodes count as held out where the data are those that the world model was trained on. */
static void unseen(void **state) {
    (void)state;
    program_expect(0, "train " SMALL "-o %/g.safetensors", "written after");
    program_expect(0, "diagnose %/g.safetensors %/spread-random --anchors 0", "of held-out episodes");
    program_expect(0, "diagnose spread-medium %/spread-random --anchors 0", "may have been trained on");
    program_expect(0, "diagnose %/g.safetensors %/spread-random --anchors 0 --split-seed 9",
                   "may have been trained on (other data or another split)");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_after_another),
                                       cmocka_unit_test(provided_as_it_is),
                                       cmocka_unit_test(taken_over),
                                       cmocka_unit_test(begun_alone),
                                       cmocka_unit_test(said_before),
                                       cmocka_unit_test(nothing_lost),
                                       cmocka_unit_test(unseen)};
    return cmocka_run_group_tests(tests, make_data, scratch_teardown);
}
