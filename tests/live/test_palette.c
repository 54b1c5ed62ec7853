/* One thing has one colour: live view, replay page and film strip have the same palette, each in its own
 * language. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_source(const char *name) {
    char path[512];
    static char texts[3][1 << 16];
    static int next;
    char *text = texts[next++];
    snprintf(path, sizeof path, "%s/src/%s", SOURCE_DIR, name);
    FILE *in = fopen(path, "r");
    if (!in) fail_msg("cannot read %s", path);
    const size_t size = fread(text, 1, sizeof texts[0] - 1, in);
    fclose(in);
    text[size] = 0;
    return text;
}

static char *live, *replay, *strip;

static int read_sources(void **state) {
    (void)state;
    live = read_source("live/draw.js");
    replay = read_source("env/page/scene.js");
    strip = read_source("env/replay_strip.c");
    return 0;
}

static void expect(const char *text, const char *wanted, const char *where) {
    if (!strstr(text, wanted)) fail_msg("%s has no %s", where, wanted);
}

/* The text of a declaration of the live view, from its name to the end. */
static char *declared(const char *name, const char *end) {
    static char text[4096];
    const char *begin = strstr(live, name);
    assert_non_null(begin);
    begin += strlen(name);
    snprintf(text, sizeof text, "%.*s", (int)(strstr(begin, end) - begin), begin);
    return text;
}

static void agents(void **state) {
    (void)state;
    int count = 0;
    const char *last = strip;
    char *hues = declared("const hues = [", "]");
    expect(replay, hues, "the replay page");
    for (char *hue = strtok(hues, "', "); hue; hue = strtok(NULL, "', "), count++) {
        char quoted[16];
        snprintf(quoted, sizeof quoted, "\"%s\"", hue);
        last = strstr(last, quoted); /* in the same order */
        if (!last) fail_msg("the film strip has no %s for agent %d", quoted, count);
    }
    assert_int_equal(count, 8);
}

static void roles(void **state) {
    (void)state;
    int count = 0;
    char role[32], hue[16], wanted[80];
    for (char *entry = strtok(declared("const fixed = {", "}"), ",\n"); entry; entry = strtok(NULL, ",\n")) {
        assert_int_equal(sscanf(entry, " %31[a-z]: '%15[#0-9a-f]'", role, hue), 2);
        count++;
        snprintf(wanted, sizeof wanted, "%s: '%s'", role, hue);
        expect(replay, wanted, "the replay page");
        snprintf(wanted, sizeof wanted, "{\"%s\", \"%s\"}", role, hue);
        if (strcmp(role, "forest") && strcmp(role, "floor")) /* transparent; seen from the side */
            expect(strip, wanted, "the film strip");
    }
    assert_int_equal(count, 10);
}

static void amounts(void **state) {
    (void)state;
    int count = 0, c[3];
    for (char *at = declared("const cividis = [", "]];"); (at = strchr(at, '[')); at++, count++) {
        char wanted[48];
        assert_int_equal(sscanf(at, "[%d, %d, %d", &c[0], &c[1], &c[2]), 3);
        snprintf(wanted, sizeof wanted, "[%d, %d, %d]", c[0], c[1], c[2]);
        expect(replay, wanted, "the replay page");
        snprintf(wanted, sizeof wanted, "{%d, %d, %d}", c[0], c[1], c[2]);
        expect(strip, wanted, "the film strip");
    }
    assert_int_equal(count, 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(agents), cmocka_unit_test(roles),
                                       cmocka_unit_test(amounts)};
    return cmocka_run_group_tests(tests, read_sources, NULL);
}
