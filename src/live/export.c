/* The page that plans as one file that opens from the disk: the live view's page with its style, its scripts,
 * the modules of src/web and a bundle inside. */
#include "live/assets.h"
#include "live/frame.h"
#include "live/live.h"

#include <stdlib.h>
#include <string.h>

/* ---- what goes in ---- */

static const mw_live_asset *find(const mw_live_asset *table, const char *path) {
    while (table->path && strcmp(table->path, path)) table++;
    return table;
}

static void put(FILE *out, const mw_live_asset *asset) {
    fwrite(asset->data, 1, asset->size, out);
}

static void put_coded(FILE *out, const unsigned char *data, size_t size) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        const unsigned second = i + 1 < size ? data[i + 1] : 0, third = i + 2 < size ? data[i + 2] : 0,
                       bits = (unsigned)data[i] << 16 | second << 8 | third;
        const char four[] = {digits[bits >> 18], digits[bits >> 12 & 63],
                             i + 1 < size ? digits[bits >> 6 & 63] : '=',
                             i + 2 < size ? digits[bits & 63] : '='};
        fwrite(four, 1, sizeof four, out);
    }
}

/* ---- the pieces of the page ---- */

/* Scripts import each other by names; here the names stand for their texts. */
static void put_scripts(FILE *out) {
    fputs("<script type=\"importmap\">{\"imports\": {\"./draw.js\": \"data:text/javascript;base64,", out);
    const mw_live_asset *draw = find(mw_live_assets, "/draw.js"), *link = find(mw_web_assets, "link.js");
    put_coded(out, draw->data, draw->size);
    fputs("\", \"./link.js\": \"data:text/javascript;base64,", out);
    put_coded(out, link->data, link->size);
    fputs("\"}}</script>\n<script type=\"module\">\n", out);
    put(out, find(mw_live_assets, "/live.js"));
    fputs("</script>", out);
}

/* What the page would fetch otherwise. */
static void put_files(FILE *out, const char *name, uint64_t seed, const unsigned char *bundle, size_t size) {
    char *index = NULL;
    size_t length = 0;
    FILE *text = open_memstream(&index, &length);
    if (text) {
        fputs("{\"bundles\":[", text);
        mw_frame_text(text, name);
        fputs("],\"first\":", text);
        mw_frame_text(text, name);
        fprintf(text, ",\"seed\":%llu}", (unsigned long long)seed);
        fclose(text);
    }
    fputs("\n<script type=\"application/json\" id=\"files\">{\"bundles.json\":\"", out);
    if (index) put_coded(out, (unsigned char *)index, length);
    for (const mw_live_asset *asset = mw_web_assets; asset->path; asset++) {
        if (!strcmp(asset->path, "link.js")) continue; /* a script of the page itself */
        fprintf(out, "\",\n\"%s\":\"", asset->path);
        put_coded(out, asset->data, asset->size);
    }
    fputs("\",\n", out);
    char key[300];
    snprintf(key, sizeof key, "bundles/%.255s", name);
    mw_frame_text(out, key);
    fputs(":\"", out);
    put_coded(out, bundle, size);
    fputs("\"}</script>", out);
    free(index);
}

/* The page's text with its two references replaced by what they refer to. */
static bool put_page(FILE *out, const char *name, uint64_t seed, const unsigned char *bundle, size_t size) {
    static const char style[] = "<link rel=\"stylesheet\" href=\"live.css\">",
                      script[] = "<script type=\"module\" src=\"live.js\"></script>";
    const mw_live_asset *page = find(mw_live_assets, "/");
    const char *text = (const char *)page->data, *end = text + page->size,
               *at_style = memmem(text, page->size, style, sizeof style - 1),
               *at_script = memmem(text, page->size, script, sizeof script - 1);
    if (!at_style || !at_script || at_script < at_style) return false;
    fwrite(text, 1, (size_t)(at_style - text), out);
    fputs("<style>\n", out);
    put(out, find(mw_live_assets, "/live.css"));
    fputs("</style>", out);
    at_style += sizeof style - 1;
    fwrite(at_style, 1, (size_t)(at_script - at_style), out);
    put_scripts(out);
    put_files(out, name, seed, bundle, size);
    at_script += sizeof script - 1;
    fwrite(at_script, 1, (size_t)(end - at_script), out);
    return true;
}

/* ---- the whole ---- */

static mw_status check_world(const char *path, mw_error *error) {
    mw_bundle *bundle;
    mw_env *env;
    MW_TRY(mw_bundle_load(&bundle, path, error));
    mw_status status = mw_env_create(&env, mw_bundle_describe(bundle).task, NULL, error);
    if (status == MW_OK && !strcmp(mw_env_describe(env)->family, "ant"))
        status = mw_fail(error, MW_ERR_UNSUPPORTED, "'%s': Ant needs MuJoCo, which no page has", path);
    if (status == MW_OK) mw_env_free(env);
    mw_bundle_free(bundle);
    return status;
}

static mw_status read_file(const char *path, unsigned char **data, size_t *size, mw_error *error) {
    FILE *file = fopen(path, "rb"), *copy = open_memstream((char **)data, size);
    static char piece[65536];
    size_t count;
    while (file && copy && (count = fread(piece, 1, sizeof piece, file)) > 0) fwrite(piece, 1, count, copy);
    const bool whole = file && copy && !ferror(file) && !ferror(copy);
    if (file) fclose(file);
    if (copy && fclose(copy) == 0 && whole) return MW_OK;
    if (copy) free(*data);
    return mw_fail(error, MW_ERR_IO, "cannot read '%s'", path);
}

mw_status mw_live_export(const char *to, const char *bundle, uint64_t seed, mw_error *error) {
    unsigned char *data;
    char *text = NULL;
    size_t size, length = 0;
    const char *slash = strrchr(bundle, '/');
    if (!mw_web_assets[0].path)
        return mw_fail(
            error, MW_ERR_UNSUPPORTED,
            "the page that plans was not built in: clang for WebAssembly was missing (Debian packages clang, "
            "lld, wasi-libc, libclang-rt-14-dev-wasm32 and nodejs)");
    MW_TRY(check_world(bundle, error));
    MW_TRY(read_file(bundle, &data, &size, error));
    FILE *out = open_memstream(&text, &length);
    const bool put = out && put_page(out, slash ? slash + 1 : bundle, seed, data, size),
               whole = put && !ferror(out);
    free(data);
    mw_status status = out && fclose(out) == 0 && whole
                           ? mw_file_write(to, text, length, error)
                           : mw_fail(error, MW_ERR_MEMORY, "not enough memory for the page");
    free(text);
    return status;
}
