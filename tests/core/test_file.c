/* Maps of all kinds of files, and the promise of the writer: the old file or the new one, nothing else. */
#include "core/file.h"
#include "scratch.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>

static void maps(void **state) {
    (void)state;
    mw_error error;
    mw_map map;
    scratch_write(scratch("a"), "hello", 5);
    CHECK_OK(mw_map_open(&map, scratch("a"), &error), error);
    assert_int_equal(map.size, 5);
    assert_memory_equal(map.data, "hello", 5);
    mw_map_close(&map);
    mw_map_close(&map);

    scratch_write(scratch("empty"), "", 0);
    CHECK_OK(mw_map_open(&map, scratch("empty"), &error), error);
    assert_int_equal(map.size, 0);
    assert_null(map.data);
    mw_map_close(&map);
}

static void refused_reads(void **state) {
    (void)state;
    mw_error error;
    mw_map map = {.data = (const unsigned char *)"", .size = 1};
    char *text;
    assert_int_equal(mkfifo(scratch("pipe"), 0600), 0);
    scratch_write(scratch("a"), "", 0);
    CHECK_FAILS(mw_map_open(&map, scratch("no"), &error), MW_ERR_IO, error, "/no': No such file");
    assert_null(map.data);
    CHECK_FAILS(mw_map_open(&map, scratch("a/b"), &error), MW_ERR_IO, error, "Not a directory");
    CHECK_FAILS(mw_map_open(&map, scratch_folder, &error), MW_ERR_IO, error, "it is a directory");
    CHECK_FAILS(mw_map_open(&map, scratch("pipe"), &error), MW_ERR_IO, error, "it is a pipe");
    CHECK_FAILS(mw_map_open(&map, "/dev/null", &error), MW_ERR_IO, error, "it is a device");
    CHECK_FAILS(mw_file_read_text(scratch("no"), &text, NULL, &error), MW_ERR_IO, error, "No such file");
    CHECK_FAILS(mw_file_read_text("/dev/zero", &text, NULL, &error), MW_ERR_IO, error, "it is a device");
    assert_int_equal(mw_map_open(&map, scratch("no"), NULL), MW_ERR_IO);
    if (geteuid() != 0) {
        assert_int_equal(chmod(scratch("a"), 0), 0);
        CHECK_FAILS(mw_map_open(&map, scratch("a"), &error), MW_ERR_IO, error, "Permission denied");
    }
}

static void texts(void **state) {
    (void)state;
    mw_error error;
    char *text;
    size_t size;
    scratch_write(scratch("t"), "one\ntwo", 7);
    CHECK_OK(mw_file_read_text(scratch("t"), &text, &size, &error), error);
    assert_string_equal(text, "one\ntwo");
    assert_int_equal(size, 7);
    free(text);
    scratch_write(scratch("t"), "", 0);
    CHECK_OK(mw_file_read_text(scratch("t"), &text, NULL, &error), error);
    assert_string_equal(text, "");
    free(text);
    scratch_write(scratch("t"), "one\0two", 7);
    CHECK_FAILS(mw_file_read_text(scratch("t"), &text, &size, &error), MW_ERR_FORMAT, error,
                "byte 3 is zero");
    assert_null(text);
    assert_int_equal(truncate(scratch("t"), (off_t)MW_TEXT_LIMIT + 1), 0);
    CHECK_FAILS(mw_file_read_text(scratch("t"), &text, &size, &error), MW_ERR_FORMAT, error,
                "67108865 bytes, too many");
}

static void check_content(const char *path, const char *expected) {
    char seen[64];
    size_t size = scratch_read(path, seen, sizeof seen);
    assert_int_equal(size, strlen(expected));
    assert_memory_equal(seen, expected, size);
}

static void atomic_writes(void **state) {
    (void)state;
    mw_error error;
    mw_writer writer, other;
    const char *path = scratch("w");
    CHECK_OK(mw_file_write(path, "old", 3, &error), error);
    check_content(path, "old");

    CHECK_OK(mw_writer_open(&writer, path, &error), error);
    CHECK_OK(mw_writer_put(&writer, "ne", 2, &error), error);
    fflush(writer.stream);
    check_content(path, "old");
    CHECK_OK(mw_writer_open(&other, path, &error), error);
    CHECK_OK(mw_writer_put(&other, "other", 5, &error), error);
    CHECK_OK(mw_writer_put(&writer, "w", 1, &error), error);
    CHECK_OK(mw_writer_put(&writer, NULL, 0, &error), error);
    assert_int_equal(scratch_count(false), 3);
    CHECK_OK(mw_writer_commit(&writer, &error), error);
    check_content(path, "new");
    mw_writer_abandon(&other);
    mw_writer_abandon(&other);
    check_content(path, "new");
    assert_int_equal(scratch_count(false), 1);
}

/* Files that happen to have the temporary's name (left by a crash, say) are stepped over, not written to. */
static void temporary_names(void **state) {
    (void)state;
    mw_error error;
    mw_writer writer;
    CHECK_OK(mw_writer_open(&writer, scratch("w"), &error), error);
    long process;
    unsigned number;
    assert_int_equal(sscanf(strrchr(writer.temporary, '/'), "/.mawam-%ld-%u.tmp", &process, &number), 2);
    mw_writer_abandon(&writer);
    char name[64];
    for (unsigned i = 1; i <= 3; i++) {
        snprintf(name, sizeof name, ".mawam-%ld-%u.tmp", process, number + i);
        scratch_write(scratch(name), "theirs", 6);
    }
    CHECK_OK(mw_file_write(scratch("w"), "ours", 4, &error), error);
    check_content(scratch("w"), "ours");
    check_content(scratch(name), "theirs");
    assert_int_equal(scratch_count(false), 4);
}

/* A map taken before a replacement keeps the old contents. */
static void map_survives_replacement(void **state) {
    (void)state;
    mw_error error;
    mw_map map;
    CHECK_OK(mw_file_write(scratch("w"), "old", 3, &error), error);
    CHECK_OK(mw_map_open(&map, scratch("w"), &error), error);
    CHECK_OK(mw_file_write(scratch("w"), "n", 1, &error), error);
    assert_memory_equal(map.data, "old", 3);
    mw_map_close(&map);
    check_content(scratch("w"), "n");
}

static void permissions(void **state) {
    (void)state;
    mw_error error;
    struct stat info;
    mode_t before = umask(027);
    CHECK_OK(mw_file_write(scratch("w"), "x", 1, &error), error);
    umask(before);
    assert_int_equal(stat(scratch("w"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_int_equal(chmod(scratch("w"), 0600), 0);
    CHECK_OK(mw_file_write(scratch("w"), "y", 1, &error), error);
    assert_int_equal(stat(scratch("w"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
}

static void refused_writes(void **state) {
    (void)state;
    mw_error error;
    char longest[256];
    scratch_write(scratch("a"), "", 0);
    CHECK_FAILS(mw_file_write(scratch("no/x"), "x", 1, &error), MW_ERR_IO, error, "No such file");
    CHECK_FAILS(mw_file_write(scratch("a/x"), "x", 1, &error), MW_ERR_IO, error, "Not a directory");
    CHECK_FAILS(mw_file_write(scratch("x/"), "x", 1, &error), MW_ERR_ARGUMENT, error, "not a file name");
    CHECK_FAILS(mw_file_write("", "x", 1, &error), MW_ERR_ARGUMENT, error, "not a file name");
    CHECK_FAILS(mw_file_write(scratch_folder, "x", 1, &error), MW_ERR_IO, error, "it is a directory");
    CHECK_FAILS(mw_file_write("/dev/full", "x", 1, &error), MW_ERR_IO, error, "it is a device");
    memset(longest, 'n', sizeof longest);
    longest[255] = 0; /* the longest name most file systems take: its temporary must not be longer */
    char path[400];
    snprintf(path, sizeof path, "%s/%s", scratch_folder, longest);
    CHECK_OK(mw_file_write(path, "x", 1, &error), error);
    assert_int_equal(remove(path), 0);
    snprintf(path, sizeof path, "%s/n%s", scratch_folder, longest);
    CHECK_FAILS(mw_file_write(path, "x", 1, &error), MW_ERR_IO, error, "File name too long");
    assert_int_equal(scratch_count(false), 1);
}

/* Small data fails when it is flushed at the commit, large data in the middle of a put. */
static void full_disk(void **state) {
    (void)state;
    mw_error error = {0};
    static char large[1 << 16];
    CHECK_OK(mw_file_write(scratch("w"), "old", 3, &error), error);
    const size_t sizes[] = {200, 5000, sizeof large};
    for (int i = 0; i < 3; i++) {
        scratch_full_disk_begin(100);
        mw_status status = mw_file_write(scratch("w"), large, sizes[i], &error);
        scratch_full_disk_end();
        assert_int_equal(status, MW_ERR_IO);
        assert_non_null(strstr(error.message, "/w': File too large"));
        check_content(scratch("w"), "old");
        assert_int_equal(scratch_count(false), 1);
    }
    /* A failed put cannot be committed by mistake. */
    mw_writer writer;
    CHECK_OK(mw_writer_open(&writer, scratch("w"), &error), error);
    scratch_full_disk_begin(100);
    mw_status status = mw_writer_put(&writer, large, sizeof large, &error);
    scratch_full_disk_end();
    assert_int_equal(status, MW_ERR_IO);
    CHECK_FAILS(mw_writer_commit(&writer, &error), MW_ERR_IO, error, "cannot write");
    check_content(scratch("w"), "old");
    assert_int_equal(scratch_count(false), 1);
}

static void folders(void **state) {
    (void)state;
    mw_error error;
    scratch_write(scratch("f"), "", 0);
    CHECK_OK(mw_dir_make(scratch("a/b//c/"), &error), error);
    CHECK_OK(mw_dir_make(scratch("a/b/c"), &error), error);
    CHECK_OK(mw_dir_make("/", &error), error);
    CHECK_OK(mw_dir_make(".", &error), error);
    assert_true(mw_file_exists(scratch("a/b/c")));
    assert_false(mw_file_exists(scratch("a/c")));
    CHECK_FAILS(mw_dir_make(scratch("f"), &error), MW_ERR_IO, error, "is a regular file");
    CHECK_FAILS(mw_dir_make(scratch("f/g"), &error), MW_ERR_IO, error, "is a regular file");
    CHECK_FAILS(mw_dir_make("", &error), MW_ERR_ARGUMENT, error, "empty name");
    assert_int_equal(rmdir(scratch("a/b/c")) + rmdir(scratch("a/b")) + rmdir(scratch("a")), 0);
}

/* What a killed process left is removed by the next writer in the folder; what belongs to somebody is not. */
static void killed_writers(void **state) {
    (void)state;
    mw_error error;
    mw_writer writer;
    char name[64], alive[64], text[8];
    const pid_t child = fork();
    if (child == 0) {
        if (mw_writer_open(&writer, scratch("x"), &error) == MW_OK) kill(getpid(), SIGKILL);
        _exit(1);
    }
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_true(mw_process_gone(child)); /* though nobody has asked for its exit code */
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(mw_process_gone(child) && !mw_process_gone(getpid()) && !mw_process_gone(0));
    assert_int_equal(scratch_count(false), 1);
    snprintf(alive, sizeof alive, ".mawam-%ld-7.tmp", (long)getppid());
    scratch_write(scratch(alive), "", 0);
    scratch_write(scratch(".mawam-note"), "", 0);
    snprintf(name, sizeof name, ".mawam-%ld-8.tmp", (long)child); /* another machine's, and at work */
    scratch_write(scratch(name), "", 0);
    const int locked = open(scratch(name), O_RDONLY);
    assert_int_equal(flock(locked, LOCK_EX), 0);
    CHECK_OK(mw_file_write(scratch("x"), "new", 3, &error), error);
    assert_int_equal(scratch_read(scratch("x"), text, sizeof text), 3);
    assert_int_equal(scratch_count(false), 4);
    assert_true(mw_file_exists(scratch(name)) && mw_file_exists(scratch(alive)));
    close(locked);
}

static void read_only_targets(void **state) {
    (void)state;
    mw_error error;
    char text[8] = "";
    scratch_write(scratch("kept"), "old", 3);
    assert_int_equal(chmod(scratch("kept"), 0444), 0);
    CHECK_FAILS(mw_file_write(scratch("kept"), "new", 3, &error), MW_ERR_IO, error, "kept': it is read-only");
    assert_int_equal(scratch_read(scratch("kept"), text, sizeof text), 3);
    assert_string_equal(text, "old");
    assert_int_equal(scratch_count(false), 1);
}

/* A link stays, and what it leads to is written: through several, relative ones, and to a new file. */
static void links(void **state) {
    (void)state;
    mw_error error;
    struct stat info;
    assert_int_equal(mkdir(scratch("d"), 0777), 0);
    assert_int_equal(symlink("d/second", scratch("first")), 0);
    assert_int_equal(symlink("../third", scratch("d/second")), 0);
    assert_int_equal(symlink("round", scratch("round")), 0);
    for (int round = 0; round < 2; round++) {
        CHECK_OK(mw_file_writable(scratch("first"), &error), error);
        CHECK_OK(mw_file_write(scratch("first"), round ? "new" : "old", 3, &error), error);
        check_content(scratch("third"), round ? "new" : "old");
        assert_true(lstat(scratch("first"), &info) == 0 && S_ISLNK(info.st_mode));
        assert_true(lstat(scratch("third"), &info) == 0 && S_ISREG(info.st_mode));
    }
    assert_int_equal(symlink("/nowhere/file", scratch("lost")), 0);
    CHECK_FAILS(mw_file_writable(scratch("lost"), &error), MW_ERR_IO, error, "folder '/nowhere'");
    CHECK_FAILS(mw_file_write(scratch("lost"), "x", 1, &error), MW_ERR_IO, error, "No such file");
    CHECK_FAILS(mw_file_writable(scratch("round"), &error), MW_ERR_IO, error, "round");
    CHECK_FAILS(mw_file_write(scratch("round"), "x", 1, &error), MW_ERR_IO, error, "round");
}

/* FNV-1a's published values: files that exist carry such checksums. */
static void checksums(void **state) {
    (void)state;
    const uint64_t half = mw_hash(MW_HASH_START, "foo", 3);
    assert_true(mw_hash(MW_HASH_START, "", 0) == 0xcbf29ce484222325u);
    assert_true(mw_hash(MW_HASH_START, "a", 1) == 0xaf63dc4c8601ec8cu);
    assert_true(mw_hash(half, "bar", 3) == 0x85944171f73967e8u);
}

static void clean_messages(void **state) {
    (void)state;
    mw_error error;
    char text[] = "a\x1b[2J\n\r\x07\x7f\xc2\x9b\xc3\xa4";
    assert_string_equal(mw_text_clean(text), "a?[2J????"
                                             "??"
                                             "\xc3\xa4");
    mw_fail(&error, MW_ERR_IO, "%s", "\x1b]0;title\x07");
    assert_string_equal(error.message, "?]0;title?");
    mw_fail_within(&error, MW_ERR_IO, "%s", "\x1b");
    assert_string_equal(error.message, "?: ?]0;title?");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(killed_writers),
        TEST(read_only_targets),
        TEST(checksums),
        TEST(clean_messages),
        TEST(maps),
        TEST(refused_reads),
        TEST(texts),
        TEST(atomic_writes),
        TEST(temporary_names),
        TEST(map_survives_replacement),
        TEST(permissions),
        TEST(refused_writes),
        TEST(full_disk),
        TEST(folders),
        cmocka_unit_test_setup_teardown(links, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
