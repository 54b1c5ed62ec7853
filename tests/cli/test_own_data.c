/* Own data to the end, as a user goes: import, train, eval. Rules travel with data of ours, can be declared
 * and are then checked by replay, and data of other rules goes on only where that is accepted and marked. */
#include "program.h"

#include <dirent.h>

#define TINY                                                                                                 \
    "--budget quick --threads 1 --set flow.dim=16 --set flow.mults=1,1,1 --set flow.steps=3 --set "          \
    "flow.batch=6 --set inverse.steps=3 --set inverse.hidden=16 --set rwm.hidden=16 --set rwm.steps=3 "      \
    "--set rwm.batch=32"
#define FEW "--seeds 1 --episodes 2 --arms reactive,plan --timed 0 --threads 1 --M 2 --K 1"

/* Columns alone, as others would have them. */
static int make_data(void **state) {
    char command[512];
    if (scratch_setup(state) != 0) return -1;
    program_expect(0, "data make spread-random -o % --transitions 500 --threads 1", "spread-random");
    snprintf(command, sizeof command, "mkdir %s/foreign && cp %s/spread-random/*.npy %s/foreign",
             scratch_folder, scratch_folder, scratch_folder);
    return system(command);
}

static void rules_travel(void **state) {
    (void)state;
    program_expect(0, "data import --from madiff %/spread-random -o %/copy --task spread", "copy: ");
    program_expect(0, "data check %/copy", "rules mpe-omar-1");
    program_expect(0, "data import --from madiff %/spread-random -o %/other --task mine", "other: ");
    program_expect(0, "data check %/other", "rules madiff-import");
    if (program_run("data export --to hdf5 %/spread-random -o %/a.h5") != 0)
        return; /* a build without HDF5 */
    program_expect(0, "data import --from hdf5 %/a.h5 -o %/back --task spread", "back: ");
    program_expect(0, "data info %/back", "rules      mpe-omar-1");
    program_expect(0, "data info %/back", "spread-random");
    /* without its checksum a file may be unchanged, but nobody knows */
    static char file[1 << 22];
    const size_t size = scratch_read(scratch("a.h5"), file, sizeof file);
    char *name = memmem(file, size, "checksum", 8);
    assert_non_null(name);
    name[0] = 'C';
    scratch_write(scratch("b.h5"), file, size);
    program_expect(0, "data import --from hdf5 %/b.h5 -o %/unknown --task spread",
                   "rules: not taken over, for the values are not known to be those that were exported");
    program_expect(0, "data info %/unknown", "rules      hdf5-import");
}

/* Out and in again, and to the end without a word about rules: nothing is lost on the way. */
static void exported_data_goes_to_the_end(void **state) {
    (void)state;
    if (program_run("data export --to hdf5 %/spread-random -o %/e.h5") != 0)
        return; /* a build without HDF5 */
    program_expect(0, "data import --from hdf5 %/e.h5 -o %/again --task spread", "again: ");
    program_expect(0, "train %/again -o %/again.safetensors " TINY, "written after");
    program_expect(0, "eval %/again.safetensors " FEW, "spread-random (mpe-omar-1)");
    assert_null(strstr(program_output, "accepted"));
}

static void rules_are_declared(void **state) {
    (void)state;
    program_expect(0, "data import --from madiff %/foreign -o %/declared --task spread --rules mpe-omar-1",
                   "500 of 500 replayed transitions agree");
    program_expect(0, "data check %/declared", "rules mpe-omar-1");
    program_expect(2, "data import --from madiff %/foreign -o %/x --task spread --rules mpe-2",
                   "this program's world of 'spread' has rules mpe-omar-1");
    program_expect(0, "data import --from madiff %/foreign -o %/mine --task mine --rules mine-3",
                   "no world of ours to compare with");
    program_expect(0, "data check %/mine", "rules mine-3");
}

/* What a description cannot say is refused before the data that is there is replaced. */
static void names_come_first(void **state) {
    (void)state;
    program_expect(0, "data import --from madiff %/foreign -o %/named --task mine --rules mine-3", "named: ");
    program_expect(2,
                   "data import --from madiff %/foreign -o %/named --overwrite --task mine --rules 'mine 4'",
                   "--rules must have 1 to 63 letters");
    program_expect(0, "data check %/named", "rules mine-3");
    program_expect(2, "data import --from madiff %/nowhere -o %/x --task 'my task'", "not 'my task'");
    program_expect(2, "data import --from madiff %/nowhere -o %/x --task ''", "--task must have 1 to 63");
    program_expect(2, "data import --from madiff %/nowhere -o %/x --task a --quality q/r", "not 'q/r'");
}

/* It cannot be played here, and the message says what can be done with it. */
static void own_tasks_are_judged_by_data(void **state) {
    (void)state;
    program_expect(0, "data import --from madiff %/foreign -o %/alone --task alone", "alone: ");
    program_expect(0, "train %/alone -o %/alone.safetensors " TINY, "written after");
    static const char *const players[] = {"eval %/alone.safetensors",
                                          "eval %/alone.safetensors --sweep M=1,2",
                                          "diagnose %/alone.safetensors %/alone",
                                          "demo %/alone.safetensors -o %/shown",
                                          "diagnose --routing %/alone.safetensors %/alone",
                                          "bench --cost %/alone.safetensors"};
    for (size_t i = 0; i < sizeof players / sizeof *players; i++)
        program_expect(1, players[i], "its task is 'alone', and mawam has no such world");
    program_expect(0, "diagnose --anchors 0 --snippets 16 %/alone.safetensors %/alone --threads 1",
                   "snippets: 16");
}

/* Data of a world with another prey: what was declared does not hold, and what was known before stays. */
static void wrong_rules_are_found(void **state) {
    (void)state;
    program_expect(0, "data make tag-random -o % --transitions 300 --threads 1", "tag-random");
    program_expect(1,
                   "data import --from madiff %/tag-random -o %/chased --task tag --prey script --rules "
                   "mpe-omar-1+prey-script",
                   "0 of 300 replayed transitions agree");
    program_expect(0, "data check %/chased", "rules mpe-omar-1+prey-v1");
}

static void other_rules_are_accepted(void **state) {
    (void)state;
    program_expect(0, "data import --from madiff %/foreign -o %/imported --task spread", "imported: ");
    program_expect(1, "train %/imported -o %/b.safetensors " TINY,
                   "the data is of rules madiff-import, this program's world has rules mpe-omar-1; "
                   "--accept-rules");
    program_expect(0, "train %/imported -o %/b.safetensors --accept-rules " TINY, "written after");
    program_expect(0, "bundle info %/b.safetensors", "trained under other rules than the world mpe-omar-1");
    program_expect(1, "eval %/b.safetensors " FEW,
                   "the bundle was trained under rules madiff-import, this environment has rules mpe-omar-1");
    program_expect(0, "eval %/b.safetensors --accept-rules " FEW,
                   "trained under other rules, accepted: madiff-import");
    program_expect(0, "eval %/b.safetensors --accept-rules --json " FEW,
                   "\"accepted_rules\": \"madiff-import\"");
    program_expect(0, "eval %/b.safetensors --accept-rules --csv " FEW,
                   "spread,mpe-omar-1,madiff-import,plan,2,");
    program_expect(0, "diagnose %/b.safetensors --accept-rules --anchors 1 --M 2 --K 1 --json --threads 1",
                   "\"accepted_rules\": \"madiff-import\"");
    const char *routing = "diagnose --routing %/b.safetensors %/imported --transitions 16 --consecutive 16 "
                          "--anchors 1 --threads 1 --json --accept-rules";
    program_expect(0, routing, "\"accepted_rules\": \"madiff-import\"");
    program_expect(1, "diagnose --routing %/b.safetensors %/imported --transitions 16 --anchors 1",
                   "--accept-rules");
}

/* Both settings are in range, and together they took 24 GB and the machine with it. Here 4 GB are all there
 * is, so that no machine is large enough to begin with it. */
static void training_that_does_not_fit(void **state) {
    (void)state;
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    skip(); /* they need far more of the address space than there is memory */
#endif
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    small = before;
    small.rlim_cur = (rlim_t)4 << 30;
    assert_int_equal(setrlimit(RLIMIT_AS, &small), 0);
    program_expect(1,
                   "train %/spread-random -o %/d.safetensors --budget quick --threads 1 --set flow.dim=1024 "
                   "--set flow.batch=4096",
                   "--force tries all the same");
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
}

static void training_keeps_its_results(void **state) {
    (void)state;
    program_expect(0, "train %/spread-random -o %/c.safetensors --log tensorboard " TINY, "of memory");
    program_expect(1, "train %/spread-random -o %/c.safetensors " TINY,
                   "c.safetensors' is finished; --overwrite replaces it");
    program_expect(1, "train %/spread-random -o %/c.safetensors --log tensorboard " TINY, "is finished");
    unsigned char record[64];
    assert_true(scratch_read(scratch("c.tfevents"), record, sizeof record) == sizeof record); /* whole */
    assert_int_equal(symlink("/dev/full", scratch("f.tfevents")), 0);
    program_expect(1, "train %/spread-random -o %/f.safetensors --log tensorboard " TINY, "f.tfevents'");
    program_expect(1, "train %/spread-random -o %/g.safetensors --log tensorboard --set parts=flow " TINY,
                   "inverse dynamics");
    assert_int_not_equal(access(scratch("g.tfevents"), F_OK), 0);
    scratch_write(scratch("h.tfevents"), "mine", 4);
    program_expect(1, "train %/spread-random -o %/h.safetensors --log tensorboard " TINY,
                   "h.tfevents' is there already; --overwrite replaces it");
    scratch_write(scratch("page.html"), "<html>", 6);
    program_expect(1, "train %/spread-random -o %/page.html " TINY, "page.html' is there and is no bundle");
    program_expect(1, "train %/spread-random -o %/page.html --overwrite " TINY,
                   "is no bundle: it is not replaced");
    assert_int_equal(scratch_read(scratch("page.html"), record, sizeof record), 6);
    program_expect(0, "train %/spread-random -o %/c.safetensors --overwrite --quiet " TINY, "written after");
    assert_null(strstr(program_output, "of memory"));
    program_expect(0, "train %/spread-random -o '%/a b.safetensors' --quiet " TINY, "written after");
    program_expect(0, "bundle info '%/a b.safetensors'", "a b.safetensors' --"); /* to be typed again */
    scratch_write(scratch("e.svg"), "mine", 4);
    program_expect(1, "train %/spread-random -o %/e.safetensors " TINY, "e.svg' is there without its bundle");
    program_expect(1, "train %/spread-random -o /nowhere/c.safetensors " TINY,
                   "cannot write '/nowhere/c.safetensors': folder '/nowhere': No such file");
    assert_true(scratch_read(scratch("c.tfevents"), record, sizeof record) == sizeof record);
    assert_memory_equal(record + 12 + 9,
                        "\x1a\x0d"
                        "brain.Event:2",
                        15); /* after the time: the file's version */
}

/* Whoever has only the checkpoint at hand learns what it is, and how it was begun. */
static void unfinished_trainings(void **state) {
    (void)state;
    program_expect(0, "train %/spread-random -o %/part.safetensors --only flow " TINY, "no bundle yet");
    program_expect(
        1, "eval %/part.train.safetensors",
        "part.train.safetensors: this is the checkpoint of an unfinished training, not yet a bundle: "
        "mawam train with --resume finishes it");
    program_expect(1, "train %/spread-random -o %/part.safetensors --resume --budget quick",
                   "; give what it was begun with: mawam train ");
    assert_non_null(strstr(program_output, "part.safetensors --only flow --budget quick --threads 1 --set"));
    program_expect(0, "train %/spread-random -o %/part.safetensors --resume " TINY, "written after");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_travel),
        cmocka_unit_test(exported_data_goes_to_the_end),
        cmocka_unit_test(rules_are_declared),
        cmocka_unit_test(names_come_first),
        cmocka_unit_test(own_tasks_are_judged_by_data),
        cmocka_unit_test(wrong_rules_are_found),
        cmocka_unit_test(other_rules_are_accepted),
        cmocka_unit_test(training_that_does_not_fit),
        cmocka_unit_test(training_keeps_its_results),
        cmocka_unit_test(unfinished_trainings),
    };
    return cmocka_run_group_tests(tests, make_data, scratch_teardown);
}
