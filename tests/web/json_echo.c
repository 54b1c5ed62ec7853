/* Reads a JSON text and prints it again, or that it is refused: once with Jansson, once with src/web/json.c,
 * which must say the same. usage: json_echo FILE... */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static void echo(const char *path) {
    static char text[1 << 20], out[1 << 22];
    FILE *file = fopen(path, "rb");
    if (!file) exit(1);
    const size_t size = fread(text, 1, sizeof text, file);
    fclose(file);
    json_t *value = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    json_t *copy = json_is_object(value) ? json_copy(value) : json_incref(value);
    const size_t used = value ? json_dumpb(copy, out, sizeof out, JSON_COMPACT | JSON_REAL_PRECISION(17)) : 0;
    if (!value)
        puts("refused");
    else if (used > sizeof out)
        puts("too long");
    else
        printf("%.*s\n", (int)used, out);
    json_decref(copy);
    json_decref(value);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) echo(argv[i]);
    return 0;
}
