/* Every number, text and list of a bundle's description is replaced by a list of nasty values, one at a time,
 * and by text that is no JSON: loading says what is wrong, or loads something that plans, within a second and
 * 200 MB, whatever the file claims about sizes. The same for what says that a bundle is packed. */
#include "core/machine/child.h"
#include "random_bundle.h"
#include "scratch.h"

static const char *const nasty[] = {"0",
                                    "-1",
                                    "1",
                                    "2",
                                    "3",
                                    "16",
                                    "64",
                                    "1023",
                                    "1024",
                                    "1025",
                                    "4096",
                                    "4097",
                                    "65536",
                                    "65537",
                                    "2147483647",
                                    "2147483648",
                                    "-2147483648",
                                    "4294967299",
                                    "9223372036854775807",
                                    "-9223372036854775808",
                                    "0.5",
                                    "-0.5",
                                    "1e308",
                                    "-1e308",
                                    "1e-320",
                                    "true",
                                    "false",
                                    "null",
                                    "\"\"",
                                    "\"x\"",
                                    "\"auto\"",
                                    "\"\\u001b[2J\"",
                                    "[]",
                                    "{}",
                                    "[1,2,3]",
                                    "[1024,64,64]",
                                    "[0,0,0]"};
enum { NASTY = sizeof nasty / sizeof *nasty };

/* What no JSON value can hold, so that it is put into the text. */
static const char *const no_value[] = {"NaN", "Infinity", "-Infinity", "1e999", "-1e999"};
enum { NO_VALUE = sizeof no_value / sizeof *no_value };
#define PLACE "\"the place of a text\""

static char *original; /* the bytes of a good bundle */
static size_t original_size;
static json_t *header, *description;
static long tried, refused;

/* In a child of its own: what it takes of memory and time is limited. */
static mw_status load_and_plan(void *context, void *result, mw_error *error) {
    mw_bundle *bundle;
    mw_planner *planner;
    mw_planner_options options;
    (void)result;
    MW_TRY(mw_bundle_load(&bundle, context, error));
    mw_planner_options_init(&options, sizeof options, bundle);
    options.threads = 1;
    mw_status status = mw_planner_create(&planner, bundle, &options, error);
    if (status == MW_OK && options.plan.candidates <= 16) {
        const mw_bundle_summary s = mw_bundle_describe(bundle);
        float *obs = calloc((size_t)(s.agents * s.obs_size), sizeof *obs),
              *real = calloc((size_t)(s.agents * s.act_size), sizeof *real);
        int32_t *index = calloc((size_t)s.agents, sizeof *index);
        status = mw_planner_act(planner, obs, NULL, NULL, real, index, error);
        free(obs);
        free(real);
        free(index);
    }
    mw_planner_free(planner);
    mw_bundle_free(bundle);
    return status;
}

/* The good bundle with another description. */
static void write_described(const char *path, const char *described) {
    json_object_set_new(json_object_get(header, "__metadata__"), "bundle", json_string(described));
    char *text = json_dumps(header, JSON_COMPACT);
    uint64_t length, written = strlen(text);
    memcpy(&length, original, sizeof length);
    const size_t data = original_size - 8 - length;
    char *bytes = malloc(8 + written + data);
    memcpy(bytes, &written, 8);
    memcpy(bytes + 8, text, written);
    memcpy(bytes + 8 + written, original + 8 + length, data);
    scratch_write(path, bytes, 8 + written + data);
    free(bytes);
    free(text);
}

static mw_status attempt_text(const char *where, const char *value, const char *described) {
    mw_error error = {0};
    const char *path = scratch("hostile.safetensors");
    write_described(path, described);
    const mw_child_limits limits = {.memory = 200u << 20, .seconds = 1};
    const mw_status status =
        mw_child_run(where, load_and_plan, (void *)(uintptr_t)path, NULL, 0, &limits, &error);
    tried++;
    if (status != MW_OK) {
        refused++;
        if (strstr(error.message, "died") || strstr(error.message, "given up") || status == MW_ERR_MEMORY)
            fail_msg("%s = %s: %s", where, value, error.message);
        for (const char *at = error.message; *at; at++)
            if (*at == '\033') fail_msg("%s = %s: an escape sequence reaches the message", where, value);
    }
    return status;
}

static void attempt(const char *where, const char *value) {
    char *text = json_dumps(description, JSON_COMPACT);
    attempt_text(where, value, text);
    free(text);
}

/* Puts text in the place of a member and expects that nobody takes it for a description. */
static void refuse_text(const char *where, const char *put) {
    char *text = json_dumps(description, JSON_COMPACT), *place = strstr(text, PLACE), *changed;
    assert_non_null(place);
    assert_true(asprintf(&changed, "%.*s%s%s", (int)(place - text), text, put, place + strlen(PLACE)) > 0);
    if (attempt_text(where, put, changed) == MW_OK) fail_msg("%s = %s is accepted", where, put);
    free(changed);
    free(text);
}

/* A member as no number, and twice. */
static void refuse_texts(json_t *object, const char *key, json_t *kept, const char *where) {
    json_error_t error;
    char *value = json_dumps(kept, JSON_COMPACT | JSON_ENCODE_ANY), *twice;
    json_object_set_new(object, key, json_loads(PLACE, JSON_DECODE_ANY, &error));
    for (int i = 0; i < NO_VALUE; i++) refuse_text(where, no_value[i]);
    assert_true(asprintf(&twice, "%s,\"%s\":%s", value, key, value) > 0);
    refuse_text(where, twice);
    free(twice);
    free(value);
}

static void walk(json_t *object, const char *where);

/* A member with all the values, then missing, and what is below it. */
static void try_member(json_t *object, const char *key, const char *where) {
    char name[256];
    snprintf(name, sizeof name, "%s.%s", where, key);
    json_t *kept = json_incref(json_object_get(object, key));
    for (int i = 0; i < NASTY; i++) {
        json_error_t error;
        json_object_set_new(object, key, json_loads(nasty[i], JSON_DECODE_ANY, &error));
        attempt(name, nasty[i]);
    }
    refuse_texts(object, key, kept, name);
    json_object_del(object, key);
    attempt(name, "nothing");
    json_object_set(object, key, kept);
    if (json_is_object(kept)) walk(kept, name);
    for (size_t i = 0; json_is_array(kept) && i < json_array_size(kept); i++)
        if (json_is_object(json_array_get(kept, i))) walk(json_array_get(kept, i), name);
    json_decref(kept);
}

/* Every member of an object below. */
static void walk(json_t *object, const char *where) {
    const char *key;
    json_t *member;
    char *keys[64];
    int count = 0;
    json_object_foreach(object, key, member) {
        if (strcmp(key, "provenance") != 0) keys[count++] = strdup(key);
    }
    for (int k = 0; k < count; k++) {
        try_member(object, keys[k], where);
        free(keys[k]);
    }
}

/* What only a preset may leave to the data. */
static void refuse_open(void) {
    size_t i;
    json_t *part, *kept;
    int found = 0;
    json_array_foreach(json_object_get(description, "parts"), i, part) {
        json_t *settings = json_object_get(part, "configuration");
        if (!(kept = json_incref(json_object_get(settings, "return_scale")))) continue;
        json_object_set_new(settings, "return_scale", json_string("auto"));
        char *text = json_dumps(description, JSON_COMPACT);
        if (attempt_text("return_scale", "auto", text) == MW_OK) fail_msg("an open return_scale is accepted");
        free(text);
        json_object_set_new(settings, "return_scale", kept);
        found++;
    }
    assert_int_equal(found, 1);
}

static void every_field(bool discrete, int bits) {
    mw_error error;
    json_error_t why;
    const char *path = scratch("good.safetensors");
    mw_bundle *bundle = random_bundle((mw_bundle_info){.task = "mine",
                                                       .rules = "own",
                                                       .agents = 2,
                                                       .obs = 5,
                                                       .act = 3,
                                                       .discrete = discrete,
                                                       .episode_limit = 9},
                                      3);
    CHECK_OK(mw_bundle_save(bundle, path, true, &error), error);
    mw_bundle_free(bundle);
    if (bits) {
        const char *small = scratch("packed.safetensors");
        CHECK_OK(mw_bundle_pack(path, small, bits, &error), error);
        path = small;
    }
    original = malloc(1 << 22);
    original_size = scratch_read(path, original, 1 << 22);
    uint64_t length;
    memcpy(&length, original, sizeof length);
    header = json_loadb(original + 8, length, 0, &why);
    assert_non_null(header);
    description = json_loads(
        json_string_value(json_object_get(json_object_get(header, "__metadata__"), "bundle")), 0, &why);
    assert_non_null(description);
    const long before = refused;
    attempt("nothing", "changed");
    assert_int_equal(refused, before); /* the file as it is loads */
    refuse_open();
    if (bits)
        try_member(description, "packed", "bundle");
    else
        walk(description, "bundle");
    json_decref(description);
    json_decref(header);
    free(original);
}

static void real_actions(void **state) {
    (void)state;
    every_field(false, 0);
    print_message("%ld descriptions, %ld refused\n", tried, refused);
    assert_true(tried > 1000 && refused > tried / 2);
}

static void discrete_actions(void **state) {
    (void)state;
    every_field(true, 0);
}

static void packed(void **state) {
    (void)state;
    every_field(true, 6);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(real_actions), cmocka_unit_test(discrete_actions),
                                       cmocka_unit_test(packed)};
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
