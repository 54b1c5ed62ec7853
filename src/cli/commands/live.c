/* "mawam live": two worlds side by side in a browser; see docs/live.md. */
#include "cli/cli.h"

#ifdef MAWAM_HAVE_MICROHTTPD
#include "live/live.h"

#include <spawn.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;
#endif

static const char help[] =
    "usage: mawam live [BUNDLE] [options]\n"
    "       mawam live [BUNDLE] --export FILE.html [--seed N] [--overwrite]\n"
    "\n"
    "Serves one page on which a bundle plans, next to its policy alone on the same seed. Without a\n"
    "BUNDLE: spread-medium. Others of its folder can be chosen there. Nothing is written anywhere.\n"
    "With --export it writes that page to a file instead, with the bundle and the planner inside: it\n"
    "opens from the disk in any browser and needs no program.\n"
    "\n"
    "  --port N      of the loopback address (8642); 0: any free one\n"
    "  --host A      listen on this address instead (0.0.0.0: all), for other machines: the address that\n"
    "                is printed then holds a token, and nobody gets in without it\n"
    "  --seed N      of the first episode (0)\n"
    "  --threads N   of a planner (1, which leaves a core to the browser); 0: one per core\n"
    "  --no-open     do not open the page in the browser of the desktop\n"
    "  --export FILE.html   the page as one file\n"
    "  --overwrite   replace a file that is there\n"
    "\n"
    "examples: mawam live\n"
    "          mawam live 3m-medium --port 0 --no-open\n"
    "          mawam live tag-medium --export tag.html\n";

#ifdef MAWAM_HAVE_MICROHTTPD

/* Into a browser, where there is a desktop. */
static void show(void *context, const char *url) {
    const bool *open_page = context;
    pid_t child;
    char program[] = "xdg-open", address[400], *arguments[] = {program, address, NULL};
    printf("%s\n", url);
    mw_cli_flush();
    if (!*open_page || !(getenv("DISPLAY") || getenv("WAYLAND_DISPLAY"))) return;
    snprintf(address, sizeof address, "%s", url);
    /* nobody waits for it: it may be the browser itself, and lasts as long as that is open */
    posix_spawnp(&child, program, NULL, NULL, arguments, environ);
}

static int run(const char *name, mw_live_options *live) {
    char path[4096], *slash;
    mw_error error = {0};
    mw_bundle *bundle = NULL;
    if (mw_live_check(live, &error) != MW_OK) return mw_cli_refuse(&error);
    mw_status status = mw_cli_bundle_path(path, sizeof path, name, &error);
    if (status == MW_OK) status = mw_cli_bundle_load(&bundle, path, &error); /* says if no world is its */
    mw_bundle_free(bundle);
    if (status == MW_OK) {
        slash = strrchr(path, '/');
        live->folder = !slash ? "." : slash == path ? "/" : path;
        live->bundle = slash ? slash + 1 : path;
        if (slash) *slash = 0;
        signal(SIGPIPE, SIG_IGN);
        live->stop = mw_cli_stop();
        status = mw_live_run(live, &error);
    }
    return status == MW_OK ? 0 : mw_cli_fail(&error);
}

static int save(const char *name, const char *to, uint64_t seed, bool overwrite) {
    char path[4096];
    mw_error error = {0};
    mw_status status = mw_cli_output(to, overwrite, &error);
    if (status == MW_OK) status = mw_cli_bundle_path(path, sizeof path, name, &error);
    if (status == MW_OK) status = mw_live_export(to, path, seed, &error);
    return status == MW_OK ? 0 : mw_cli_fail(&error);
}

#endif

int mw_cli_live(int argc, char **argv) {
    const char *name = "spread-medium", *host = NULL, *file = NULL;
    int port = 8642, threads = 1, count;
    uint64_t seed = 0;
    bool closed = false, overwrite = false;
    const mw_option options[] = {{"port", MW_OPT_INT, &port, 0, 65535},
                                 {"host", MW_OPT_STRING, &host, 0, 0},
                                 {"seed", MW_OPT_U64, &seed, 0, 0},
                                 {"threads", MW_OPT_INT, &threads, 0, MW_MAX_THREADS},
                                 {"no-open", MW_OPT_FLAG, &closed, 0, 0},
                                 {"export", MW_OPT_STRING, &file, 0, 0},
                                 {"overwrite", MW_OPT_FLAG, &overwrite, 0, 0},
                                 {NULL, MW_OPT_FLAG, NULL, 0, 0}};
    const int code = mw_cli_parse(argc, argv, options, help, &name, 1, &count);
    if (code >= 0) return code;
#ifdef MAWAM_HAVE_MICROHTTPD
    if (file) return save(name, file, seed, overwrite);
    bool open_page = !closed;
    mw_live_options live = {
        .host = host, .port = port, .seed = seed, .threads = threads, .ready = show, .context = &open_page};
    return run(name, &live);
#else
    fputs("mawam: the live view was not built in: libmicrohttpd was missing (Debian package "
          "libmicrohttpd-dev)\n",
          stderr);
    return 1;
#endif
}
