/* JSON: what is refused and where the message points, and the spelling of what is written. */
#include "allocations.h"
#include "core/json.h"
#include "core/rng.h"
#include "random_bundle.h"
#include "scratch.h"

#include <locale.h>

static mw_status parse(json_t **value, const char *text, mw_error *error) {
    return mw_json_parse(value, text, strlen(text), "it", error);
}

static void broken_texts(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"", "it: line 1, column 0: '[' or '{' expected"},
        {"7", "'[' or '{' expected"},
        {"nonsense", "'[' or '{' expected"},
        {"{\"a\": 1", "'}' expected near end of file"},
        {"[1, 2", "']' expected near end of file"},
        {"{\"a\": 1}}", "line 1, column 9: end of file expected near '}'"},
        {"{\"a\": 1} {}", "end of file expected near '{'"},
        {"{\n  \"a\": 1,\n  \"b\" 2\n}", "line 3, column 7: ':' expected near '2'"},
        {"{\"a\": 1,\n\"a\": 2}", "line 2, column 3: duplicate object key near '\"a\"'"},
        {"{\"a\": {\"b\": 1, \"b\": 1}}", "duplicate object key"},
        {"[1,]", "unexpected token near ']'"},
        {"{a: 1}", "string or '}' expected near 'a'"},
        {"['a']", "invalid token near '''"},
        {"[01]", "invalid token near '0'"},
        {"[NaN]", "invalid token near 'NaN'"},
        {"[Infinity]", "invalid token near 'Infinity'"},
        {"[1e999]", "real number overflow"},
        {"[99999999999999999999]", "too big integer"},
        {"[\"\x01\"]", "control character 0x1"},
        {"[\"a\nb\"]", "unexpected newline"},
        {"[\"\xff\"]", "unable to decode byte 0xff"},
        {"[\"\xc0\x80\"]", "unable to decode byte 0xc0"},
        {"[\"\xed\xa0\x80\"]", "unable to decode byte 0xed"},
        {"[\"\\u0000\"]", "\\u0000 is not allowed"},
        {"[\"\\ud800\"]", "invalid Unicode '\\uD800'"},
        {"[\"\\q\"]", "invalid escape"},
        {"// no\n{}", "'[' or '{' expected near '/'"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mw_error error;
        json_t *value = (json_t *)&error;
        CHECK_FAILS(parse(&value, rows[i].text, &error), MW_ERR_FORMAT, error, rows[i].message);
        assert_null(value);
    }
}

static void depth(void **state) {
    (void)state;
    mw_error error;
    json_t *value;
    static char text[200001];
    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    text[128] = 0;
    CHECK_OK(parse(&value, text, &error), error);
    json_decref(value);
    memset(text, '[', 65);
    memset(text + 65, ']', 65);
    text[130] = 0;
    CHECK_FAILS(parse(&value, text, &error), MW_ERR_FORMAT, error,
                "it: line 1, column 65: nested deeper than 64");
    memset(text, '[', 200000);
    CHECK_FAILS(parse(&value, text, &error), MW_ERR_FORMAT, error, "nested deeper than 64");
    for (int i = 0; i < 40000; i++) memcpy(text + 5 * i, "{\"a\":", 5);
    CHECK_FAILS(parse(&value, text, &error), MW_ERR_FORMAT, error, "column 321: nested deeper than 64");
    /* Brackets in strings do not count, siblings do not add up, and an escaped quote does not end a string.
     */
    char *at = text;
    at += sprintf(at, "[\"\\\\\", \"\\\"");
    for (int i = 0; i < 100; i++) *at++ = '[';
    at += sprintf(at, "\"");
    for (int i = 0; i < 100; i++) at += sprintf(at, ",[]\n");
    strcpy(at, "]");
    CHECK_OK(parse(&value, text, &error), error);
    assert_int_equal(json_array_size(value), 102);
    json_decref(value);
}

/* A few bytes of text must not become hundreds of bytes of memory without end. */
static void number_of_values(void **state) {
    (void)state;
    mw_error error;
    json_t *value;
    const size_t most = MW_JSON_MAX_VALUES / 2; /* of {},{},...: an opening and a comma each */
    char *text = malloc(3 * most + 8), *at = text;
    *at++ = '[';
    for (size_t i = 0; i < most; i++) at += sprintf(at, "{},");
    strcpy(at - 1, "]");
    CHECK_OK(parse(&value, text, &error), error);
    json_decref(value);
    strcpy(at - 1, ",{}]");
    CHECK_FAILS(parse(&value, text, &error), MW_ERR_FORMAT, error, "more than 524288 values");
    CHECK_OK(mw_json_parse_own(&value, text, strlen(text), "it", &error), error);
    json_decref(value);
    free(text);
}

static void members(void **state) {
    (void)state;
    mw_error error;
    json_t *value;
    const char *text = NULL;
    long long number = 0;
    CHECK_OK(parse(&value, "{\"s\": \"x\", \"i\": -3, \"r\": 3.0, \"n\": null}", &error), error);
    CHECK_OK(mw_json_get_string(value, "s", "it", &text, &error), error);
    assert_string_equal(text, "x");
    CHECK_OK(mw_json_get_integer(value, "i", "it", -3, 5, &number, &error), error);
    assert_int_equal(number, -3);
    CHECK_FAILS(mw_json_get_string(value, "i", "it", &text, &error), MW_ERR_FORMAT, error,
                "it: 'i' must be a string, found integer");
    CHECK_FAILS(mw_json_get_string(value, "z", "it", &text, &error), MW_ERR_FORMAT, error, "it: lacks 'z'");
    CHECK_FAILS(mw_json_get_integer(value, "r", "it", 0, 5, &number, &error), MW_ERR_FORMAT, error,
                "it: 'r' must be an integer, found real number");
    CHECK_FAILS(mw_json_get_integer(value, "n", "it", 0, 5, &number, &error), MW_ERR_FORMAT, error,
                "found null");
    CHECK_FAILS(mw_json_get_integer(value, "i", "it", 0, 5, &number, &error), MW_ERR_FORMAT, error,
                "it: 'i' is -3, expected 0 to 5");
    CHECK_FAILS(mw_json_get_integer(json_object_get(value, "s"), "i", "it", 0, 5, &number, &error),
                MW_ERR_FORMAT, error, "it: expected an object, found string");
    CHECK_FAILS(mw_json_get_string(NULL, "i", "it", &text, &error), MW_ERR_FORMAT, error, "found nothing");
    json_decref(value);
}

static void written_text(void **state) {
    (void)state;
    static const char text[] = "{\n"
                               "  \"z\": 0.1,\n"
                               "  \"a \\\"\\\\\\n\u00e9\": [1, -2.0, 1e+100, \"x\", true, null],\n"
                               "  \"nested\": {\n"
                               "    \"rows\": [\n"
                               "      [1, 2],\n"
                               "      [],\n"
                               "      {}\n"
                               "    ]\n"
                               "  }\n"
                               "}\n";
    mw_error error;
    json_t *value;
    char seen[512] = "";
    CHECK_OK(parse(&value, text, &error), error);
    CHECK_OK(mw_json_write(value, scratch("j"), &error), error);
    scratch_read(scratch("j"), seen, sizeof seen - 1);
    assert_string_equal(seen, text);
    json_t *again;
    CHECK_OK(mw_json_read(&again, scratch("j"), &error), error);
    assert_true(json_equal(value, again));
    json_decref(again);
    json_decref(value);
    assert_int_equal(scratch_count(false), 1);
}

static void number_spelling(double number, char *out, size_t size) {
    mw_error error;
    json_t *array = json_pack("[f]", number);
    CHECK_OK(mw_json_write(array, scratch("n"), &error), error);
    out[scratch_read(scratch("n"), out, size - 1)] = 0;
    json_decref(array);
}

/* Every real comes back with its bits; well-known ones have their short spelling, in any locale. */
static void numbers(void **state) {
    (void)state;
    static const struct {
        double number;
        const char *text;
    } rows[] = {{0, "[0.0]\n"},
                {-0.0, "[-0.0]\n"},
                {3, "[3.0]\n"},
                {0.1, "[0.1]\n"},
                {0.1 + 0.2, "[0.30000000000000004]\n"},
                {1.0 / 3, "[0.3333333333333333]\n"},
                {1e15, "[1e+15]\n"},
                {5e-324, "[4.94065645841247e-324]\n"},
                {123456.75, "[123456.75]\n"}};
    char seen[64];
    for (int german = 0; german < 2; german++) {
        if (german && !setlocale(LC_ALL, "de_DE.UTF-8")) break; /* where installed */
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            number_spelling(rows[i].number, seen, sizeof seen);
            assert_string_equal(seen, rows[i].text);
        }
    }
    setlocale(LC_ALL, "C");
    mw_rng rng = mw_rng_make(6, MW_RNG_TEST, 0, 0, 0);
    json_t *array = json_array(), *again;
    while (json_array_size(array) < 20000) {
        uint64_t bits = mw_rng_u64(&rng);
        double number;
        memcpy(&number, &bits, sizeof number);
        if (isfinite(number)) json_array_append_new(array, json_real(number));
    }
    mw_error error;
    CHECK_OK(mw_json_write(array, scratch("n"), &error), error);
    CHECK_OK(mw_json_read(&again, scratch("n"), &error), error);
    assert_true(json_equal(array, again));
    json_decref(array);
    json_decref(again);
}

static void refused_files(void **state) {
    (void)state;
    mw_error error;
    json_t *value;
    scratch_write(scratch("j"), "{\n\"a\": }\n", 9);
    CHECK_FAILS(mw_json_read(&value, scratch("j"), &error), MW_ERR_FORMAT, error,
                "/j: line 2, column 6: unexpected token near '}'");
    CHECK_FAILS(mw_json_read(&value, scratch("no"), &error), MW_ERR_IO, error, "No such file");
    scratch_write(scratch("j"), "{}\0", 3);
    CHECK_FAILS(mw_json_read(&value, scratch("j"), &error), MW_ERR_FORMAT, error, "byte 2 is zero");
    CHECK_FAILS(mw_json_write(NULL, scratch("w"), &error), MW_ERR_ARGUMENT, error, "there is no value");

    json_t *deep = json_integer(1);
    for (int i = 0; i < 65; i++) deep = json_pack("[o]", deep);
    CHECK_FAILS(mw_json_write(deep, scratch("w"), &error), MW_ERR_ARGUMENT, error, "nested deeper than 64");
    CHECK_OK(mw_json_write(json_array_get(deep, 0), scratch("w"), &error), error);
    CHECK_OK(mw_json_read(&value, scratch("w"), &error), error);
    json_decref(value);
    json_decref(deep);

    json_t *large = json_array();
    for (int i = 0; i < 5000; i++) json_array_append_new(large, json_integer(i));
    scratch_full_disk_begin(1000);
    mw_status status = mw_json_write(large, scratch("full"), &error);
    scratch_full_disk_end();
    json_decref(large);
    assert_int_equal(status, MW_ERR_IO);
    assert_non_null(strstr(error.message, "File too large"));
    assert_int_equal(scratch_count(false), 2);
}

/* Whatever the damage: a complaint with a place, or a value. */
static void random_damage(void **state) {
    (void)state;
    static const char valid[] = "{\"name\": \"a\\u00e9\\n\", \"list\": [1, -2.5e3, true, null, {\"x\": []}], "
                                "\"deep\": [[[[\"\xc3\xbc\"]]]]}";
    mw_rng rng = mw_rng_make(7, MW_RNG_TEST, 0, 0, 0);
    int parsed = 0;
    for (int round = 0; round < 20000; round++) {
        mw_error error;
        json_t *value;
        char text[sizeof valid];
        memcpy(text, valid, sizeof valid);
        size_t size = sizeof valid - 1;
        for (uint32_t flips = 1 + mw_rng_below(&rng, 3); flips > 0; flips--)
            text[mw_rng_below(&rng, (uint32_t)size)] ^= (char)(1u << mw_rng_below(&rng, 8));
        if (mw_rng_below(&rng, 8) == 0) size = mw_rng_below(&rng, (uint32_t)size);
        char *exact = malloc(size + !size); /* so that reading past the end is caught */
        memcpy(exact, text, size);
        mw_status status = mw_json_parse(&value, exact, size, "it", &error);
        free(exact);
        if (status == MW_OK)
            json_decref(value), parsed++;
        else
            assert_true(status == MW_ERR_FORMAT && !strncmp(error.message, "it: line ", 9));
    }
    print_message("parsed %d of 20000 damaged texts\n", parsed);
    assert_true(parsed > 1000 && parsed < 19000);
}

/* A member that could not be made is not left out in silence: nothing is written. */
static void failures_are_remembered(void **state) {
    (void)state;
    mw_error error;
    for (int kind = 0; kind < 5; kind++) {
        json_t *object = json_object(), *list = json_array();
        assert_false(mw_json_failed());
        if (kind == 0) json_object_set_new(object, "text", json_string("\xff not UTF-8"));
        if (kind == 1) json_array_append_new(list, json_pack("{s:s}", "key", "\xff"));
        if (kind == 2) json_object_set_new(object, "\xff", json_integer(1));
        if (kind == 3) json_object_set_new(object, "number", json_pack("{s:f}", "x", NAN));
        if (kind == 4) json_array_append_new(list, list); /* jansson refuses a cycle */
        json_object_set_new(object, "list", kind == 4 ? json_null() : list);
        if (kind % 2) {
            CHECK_FAILS(mw_json_write(object, scratch("x.json"), &error), MW_ERR_MEMORY, error, "x.json");
        } else {
            CHECK_FAILS(mw_json_print(object, stdout, 10, &error), MW_ERR_MEMORY, error, "report");
        }
        assert_int_equal(scratch_count(false), 0);
        json_decref(object);
    }
    json_t *object = json_object(); /* forgotten by now; what is no number is left out on purpose */
    json_object_set_new(object, "none", json_real(NAN));
    json_object_set_new(object, "nothing", json_string(NULL));
    json_object_set_new(object, "one", json_real(1));
    CHECK_OK(mw_json_write(object, scratch("x.json"), &error), error);
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    CHECK_FAILS(mw_json_print(object, full, 10, &error), MW_ERR_IO, error, "No space left");
    fclose(full);
    CHECK_FAILS(mw_json_print(NULL, stdout, 10, &error), MW_ERR_MEMORY, error, "report");
    json_decref(object);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

static void check_starved(const char *text) {
    mw_error error;
    json_t *whole, *value;
    CHECK_OK(parse(&whole, text, &error), error);
    const long before = allocations();
    CHECK_OK(parse(&value, text, &error), error);
    const long needed = allocations() - before;
    json_decref(value);
    for (long at = 1; at <= needed; at++) {
        allocations_fail_at(at);
        const mw_status status = parse(&value, text, &error);
        allocations_fail_at(0);
        if (status == MW_OK)
            assert_true(json_equal(value, whole));
        else
            assert_int_equal(status, MW_ERR_MEMORY);
        assert_true((status == MW_OK) == (value != NULL));
        assert_false(mw_json_failed());
        json_decref(value);
    }
    json_decref(whole);
}

/* All of a value or an error, whichever allocation fails; jansson by itself leaves out letters and digits. */
static void value_without_memory(void **state) {
    (void)state;
    check_starved("{\"a key that needs room\": \"and a text that needs more of it than that\", "
                  "\"number\": 12345678901234567, \"list\": [1.25000000000000000000001, true]}");
}

/* Some of the lengths put a backslash before the place where a buffer grows, or the closing quote there. */
static void escapes_without_memory(void **state) {
    (void)state;
    char text[256];
    for (int length = 0; length < 140; length++) { /* odd ones begin with a letter */
        char *end = text + sprintf(text, length % 2 ? "[\"x" : "[\"");
        for (int i = 0; i < length / 2; i++) end += sprintf(end, i % 2 ? "\\n" : "\\\"");
        strcpy(end, "\"]");
        check_starved(text);
    }
}

/* All of a text or nothing, whichever allocation fails; jansson by itself leaves out keys. */
static void text_without_memory(void **state) {
    (void)state;
    json_error_t problem;
    json_t *value = json_loads(
        "{\"first\": [1, {\"a much longer key than most\": null}], \"second\": {\"x\": \"y\"}}", 0, &problem);
    char *whole = mw_json_dumps(value, JSON_INDENT(2));
    const long before = allocations();
    free(mw_json_dumps(value, JSON_INDENT(2)));
    const long needed = allocations() - before;
    int none = 0;
    for (long at = 1; at <= needed; at++) {
        allocations_fail_at(at);
        char *text = mw_json_dumps(value, JSON_INDENT(2));
        allocations_fail_at(0);
        if (text) assert_string_equal(text, whole);
        none += !text;
        free(text);
    }
    assert_true(none > 0 || !COUNTING);
    free(whole);
    json_decref(value);
}

static void *no_memory(size_t size) {
    (void)size;
    return NULL;
}

/* What ran out of memory has said so: the next that is written does not fail for it. */
static void failures_are_told_once(void **state) {
    (void)state;
    mw_error error;
    json_malloc_t present;
    json_free_t release;
    mw_bundle *bundle = random_bundle(
        (mw_bundle_info){.task = "mine", .rules = "own", .agents = 1, .obs = 2, .act = 1, .episode_limit = 9},
        7);
    json_get_alloc_funcs(&present, &release);
    json_set_alloc_funcs(no_memory, release);
    CHECK_FAILS(mw_bundle_save(bundle, scratch("bundle"), true, &error), MW_ERR_MEMORY, error,
                "cannot collect the bundle");
    json_set_alloc_funcs(present, release);
    CHECK_OK(mw_json_write(bundle->parts[0].provenance.details, scratch("details"), &error), error);
    mw_bundle_free(bundle);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(failures_are_remembered),
        TEST(failures_are_told_once),
        TEST(broken_texts),
        TEST(depth),
        TEST(members),
        TEST(number_of_values),
        TEST(written_text),
        TEST(numbers),
        TEST(refused_files),
        TEST(random_damage),
        TEST(text_without_memory),
        TEST(value_without_memory),
        TEST(escapes_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
