/* Shared by the subcommands; see cli.h. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool mw_cli_quiet;

enum { STOPPED = 130 }; /* as shells have it for Ctrl-C */

/* Standard output is opened for reading: what is printed there then fails as it would on a closed one. */
void mw_cli_open_standard(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 2 ? O_WRONLY : O_RDONLY) != fd) _exit(1);
}

static int output_failed; /* errno of the first flush that did not arrive: the C library forgets why */
static bool output_told;  /* and a command has said so */

bool mw_cli_flush(void) {
    errno = 0;
    const bool ok = fflush(stdout) == 0 && !ferror(stdout);
    if (!ok && !output_failed) output_failed = errno ? errno : EIO;
    return ok;
}

void mw_cli_puts(const char *text) {
    errno = 0;
    if (puts(text) < 0 && !output_failed) output_failed = errno; /* a long text is not kept for the flush */
}

int mw_cli_finish(int code) {
    if (mw_cli_flush()) return code;
    if (!output_told)
        fprintf(stderr, "mawam: cannot write to standard output: %s\n", strerror(output_failed));
    return code ? code : 1;
}

/* Options that the library's messages name by their fields, as they are typed here. */
static const char *const fields[][2] = {{"'accept_rules'", "--accept-rules"},
                                        {"'baselines'", "--baselines"},
                                        {"'first_seed'", "--first-seed"},
                                        {"'force'", "--force"},
                                        {"'only'", "--only"},
                                        {"'overwrite'", "--overwrite"},
                                        {"'parts'", "--parts"},
                                        {"'play_again'", "--play-again"},
                                        {"'resume'", "--resume"},
                                        {"'wide'", "--wide"}};

void mw_cli_typed(char *out, const char *message) {
    while (*message) {
        size_t i = 0;
        while (i < sizeof fields / sizeof *fields && strncmp(message, fields[i][0], strlen(fields[i][0])))
            i++;
        if (i < sizeof fields / sizeof *fields) {
            out = stpcpy(out, fields[i][1]);
            message += strlen(fields[i][0]);
        } else {
            *out++ = *message++;
        }
    }
    *out = 0;
}

int mw_cli_fail(const mw_error *error) {
    char message[sizeof error->message];
    mw_cli_typed(message, error->message);
    output_told = ferror(stdout);
    fprintf(stderr, "mawam: %s\n", message);
    return error->status == MW_ERR_INTERRUPTED ? STOPPED : 1;
}

static char dispatched[64]; /* " data import": the commands that were dispatched to, each after a space */

int mw_cli_usage(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "mawam%s%s: ", *dispatched ? ":" : "", dispatched);
    vfprintf(stderr, format, args);
    fprintf(stderr, " (try mawam%s --help)\n", dispatched);
    va_end(args);
    return 2;
}

int mw_cli_refuse(const mw_error *error) {
    char message[sizeof error->message];
    if (error->status != MW_ERR_ARGUMENT) return mw_cli_fail(error);
    mw_cli_typed(message, error->message);
    return mw_cli_usage("%s", message);
}

bool mw_cli_asks_for_help(const char *word) {
    return !strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help");
}

int mw_cli_dispatch(const mw_command *commands, const char *help, int argc, char **argv) {
    static char asked[] = "--help";
    const bool wanted = argc > 1 && mw_cli_asks_for_help(argv[1]);
    if (wanted && argc > 2 && !mw_cli_asks_for_help(argv[2])) { /* help of a command */
        memmove(argv + 1, argv + 2, (size_t)(argc - 2) * sizeof *argv);
        argv[argc - 1] = asked;
    } else if (wanted || argc < 2) {
        FILE *out = argc < 2 ? stderr : stdout;
        fputs(help, out);
        for (const mw_command *c = commands; c->name; c++) fprintf(out, "  %-11s %s\n", c->name, c->summary);
        return argc < 2 ? 2 : 0;
    }
    for (const mw_command *c = commands; c->name; c++) {
        if (strcmp(c->name, argv[1]) != 0) continue;
        const size_t used = strlen(dispatched);
        snprintf(dispatched + used, sizeof dispatched - used, " %s", c->name);
        return c->run(argc - 1, argv + 1);
    }
    char meant[64] = "";
    int best = mw_cli_near(argv[1]);
    for (const mw_command *c = commands; c->name; c++)
        mw_cli_nearer(meant, sizeof meant, &best, argv[1], c->name);
    if (*meant) return mw_cli_usage("unknown command '%s'; did you mean '%s'?", argv[1], meant);
    return mw_cli_usage("unknown command '%s'", argv[1]);
}

/* A whole number, also as people write large ones: "1e3". */
static bool whole_number(const char *text, double low, double high, double *value) {
    char *end;
    errno = 0;
    *value = strtod(text, &end);
    return end != text && !*end && !errno && *value >= low && *value <= high && *value == floor(*value);
}

static bool store_number(const mw_option *option, const char *text) {
    char *end;
    double value;
    const bool bounded = option->low != 0 || option->high != 0;
    if (option->kind == MW_OPT_DOUBLE) {
        errno = 0;
        value = strtod(text, &end);
        if (end == text || *end || errno || (bounded && !(value >= option->low && value <= option->high)))
            return false;
        *(double *)option->value = value;
    } else if (option->kind == MW_OPT_U64) {
        errno = 0;
        unsigned long long exact = strtoull(text, &end, 10);
        if (end == text || *end || errno || strchr(text, '-')) {
            if (!whole_number(text, 0, 9007199254740992.0, &value)) return false;
            exact = (unsigned long long)value;
        }
        *(uint64_t *)option->value = exact;
    } else {
        if (!whole_number(text, bounded ? option->low : -2147483647.0, bounded ? option->high : 2147483647.0,
                          &value))
            return false;
        *(int *)option->value = (int)value;
    }
    return true;
}

/* As an option is typed: -o, --seed. */
static const char *dashes(const char *name) {
    return name[1] ? "--" : "-";
}

static int refuse_number(const mw_option *option, const char *text) {
    const char *kind = option->kind == MW_OPT_DOUBLE ? "a number" : "a whole number";
    if (option->low != 0 || option->high != 0)
        return mw_cli_usage("--%s must be %s from %.10g to %.10g, not '%s'", option->name, kind, option->low,
                            option->high, text);
    return mw_cli_usage("--%s must be %s%s, not '%s'", option->name, kind,
                        option->kind == MW_OPT_U64 ? " from 0 on" : "", text);
}

/* The name among the options, plan settings included, that may have been meant; "" if none is near. */
static void suggest_option(char *out, size_t size, const mw_option *options, const char *name) {
    int best = mw_cli_near(name);
    mw_setting_info info;
    *out = 0;
    for (const mw_option *o = options; o->name; o++) {
        for (int i = 0; o->kind == MW_OPT_PLAN && mw_plan_setting_at(i, &info); i++)
            mw_cli_nearer(out, size, &best, name, info.name);
        if (o->kind != MW_OPT_PLAN) mw_cli_nearer(out, size, &best, name, o->name);
    }
}

static int refuse_option(const mw_option *options, const char *word, const char *name, size_t length) {
    char given[64], meant[64];
    snprintf(given, sizeof given, "%.*s", (int)(length < 63 ? length : 63), name);
    suggest_option(meant, sizeof meant, options, given);
    if (*meant) return mw_cli_usage("unknown option '%s'; did you mean %s%s?", word, dashes(meant), meant);
    return mw_cli_usage("unknown option '%s'", word);
}

/* Settings have underscores and options dashes; who types takes either. */
static bool same_name(const char *known, const char *typed, size_t length) {
    if (strlen(known) != length) return false;
    for (size_t i = 0; i < length; i++)
        if ((known[i] == '-' ? '_' : known[i]) != (typed[i] == '-' ? '_' : typed[i])) return false;
    return true;
}

static const char *plan_setting(const char *name, size_t length) {
    mw_setting_info info;
    for (int i = 0; mw_plan_setting_at(i, &info); i++)
        if (same_name(info.name, name, length) || (info.symbol && same_name(info.symbol, name, length)))
            return info.name;
    return NULL;
}

/* Adds "name=value" if the value is one that the setting can have. Returns -1, or the exit code. */
static int assign(mw_assignments *list, const char *name, const char *value) {
    mw_plan_settings any;
    mw_error error;
    if (mw_plan_settings_set(&any, name, value, &error) != MW_OK) return mw_cli_usage("%s", error.message);
    if (list->count == (int)(sizeof list->items / sizeof *list->items))
        return mw_cli_usage("more than %d plan settings", list->count);
    snprintf(list->text[list->count], sizeof list->text[0], "%s=%.60s", name, value);
    list->items[list->count] = list->text[list->count];
    list->count++;
    return -1;
}

mw_status mw_cli_plan(mw_plan_settings *plan, const mw_bundle *bundle, const char *const *assignments,
                      int count, mw_error *error) {
    *plan = mw_bundle_plan(bundle);
    for (int i = 0; i < count; i++) {
        char name[MW_NAME];
        const char *value = strchr(assignments[i], '=') + 1;
        snprintf(name, sizeof name, "%.*s", (int)(value - assignments[i]) - 1, assignments[i]);
        MW_TRY(mw_plan_settings_set(plan, name, value, error));
    }
    return MW_OK;
}

void mw_cli_wrap(int used, int indent, const char *text) {
    while (*text) {
        const int word = (int)strcspn(text, " ");
        if (used > indent && used + 1 + word > MW_CLI_WIDTH) used = 0, putchar('\n');
        const int gap = used > indent ? 1 : indent - used;
        printf("%*s%.*s", gap, "", word, text);
        used += gap + word;
        text += word + (text[word] == ' ');
    }
    putchar('\n');
}

void mw_cli_explain(const char *name, int indent, const char *text) {
    mw_cli_wrap(printf("  %-*s ", indent - 3, name), indent, text);
}

/* Lines that are too long for the screen go on in the next one, below the text of their option if they have
 * one. */
static void print_help(const char *help) {
    while (*help) {
        char line[512];
        const int length = (int)strcspn(help, "\n");
        snprintf(line, sizeof line, "%.*s", length, help);
        const int start = (int)strspn(line, " ");
        const char *text = length > MW_CLI_WIDTH && start ? strstr(line + start, "  ") : NULL;
        const int indent = text ? (int)(text - line) + (int)strspn(text, " ") : start;
        if (length > MW_CLI_WIDTH)
            mw_cli_wrap(printf("%.*s", indent, line), indent, line + indent);
        else
            puts(line);
        help += length + (help[length] == '\n');
    }
}

static void list_plan(void) {
    mw_setting_info info;
    mw_arm arm;
    puts("\nplan settings (the bundle's own if left out):");
    for (int i = 0; mw_plan_setting_at(i, &info); i++) {
        char name[2 * MW_NAME], text[1024];
        snprintf(name, sizeof name, "--%s%s%s X", info.name, info.symbol ? ", --" : "",
                 info.symbol ? info.symbol : "");
        snprintf(text, sizeof text, "%s (%s)", info.help, info.range);
        mw_cli_explain(name, 28, text);
    }
    puts("\nscorers:");
    for (int i = 0; mw_scorer_name(i); i++) mw_cli_explain(mw_scorer_name(i), 15, mw_scorer_help(i));
    puts("\narms of an evaluation:");
    for (int i = 0; mw_arm_at(i, &arm); i++) mw_cli_explain(arm.name, 15, arm.help);
}

static bool choose_show(mw_show *show, const char *name) {
    const mw_show chosen = !strcmp(name, "csv")    ? MW_SHOW_CSV
                           : !strcmp(name, "json") ? MW_SHOW_JSON
                                                   : MW_SHOW_MARKDOWN;
    if (*show != MW_SHOW_TEXT && *show != chosen) return false;
    *show = chosen;
    return true;
}

/* The option of this name; for a plan setting the row that takes them all, and which it is. NULL: there is
 * none. */
static const mw_option *find_option(const mw_option *options, const char *name, size_t length,
                                    const char **setting) {
    const mw_option *plan = NULL;
    for (const mw_option *o = options; o->name; o++) {
        if (o->kind == MW_OPT_PLAN)
            plan = o;
        else if (same_name(o->name, name, length))
            return o;
    }
    *setting = plan ? plan_setting(name, length) : NULL;
    return *setting ? plan : NULL;
}

static bool needs_value(const mw_option *option) {
    return option->kind != MW_OPT_FLAG && option->kind != MW_OPT_SHOW && option->kind != MW_OPT_OPTIONAL;
}

/* An option that needs no value; given: what stands behind its "=", or NULL. Returns -1, or the exit code. */
static int set_bare(const mw_option *option, const char *given) {
    if (option->kind == MW_OPT_OPTIONAL) {
        *(const char **)option->value = given ? given : "";
        return given && !*given ? mw_cli_usage("--%s= names no file", option->name) : -1;
    }
    if (given) return mw_cli_usage("--%s takes no value", option->name);
    if (option->kind == MW_OPT_FLAG)
        *(bool *)option->value = true;
    else if (!choose_show(option->value, option->name))
        return mw_cli_usage("only one of --csv, --json and --markdown");
    return -1;
}

/* Any other. Returns -1, or the exit code. */
static int set_value(const mw_option *option, const char *setting, const char *value) {
    const char *name = option->kind == MW_OPT_PLAN ? setting : option->name;
    mw_strings *list = option->value;
    if (!value) return mw_cli_usage("%s%s needs a value", dashes(name), name);
    if (option->kind == MW_OPT_PLAN) return assign(option->value, setting, value);
    if (option->kind == MW_OPT_STRING) {
        *(const char **)option->value = value;
    } else if (option->kind == MW_OPT_SETTINGS && !strchr(value, '=')) {
        return mw_cli_usage("--%s %s has no '='; give --%s %s=VALUE", name, value, name, value);
    } else if (option->kind == MW_OPT_STRINGS || option->kind == MW_OPT_SETTINGS) {
        if (list->count == (int)(sizeof list->items / sizeof *list->items))
            return mw_cli_usage("--%s is given too often", name);
        list->items[list->count++] = value;
    } else if (!store_number(option, value)) {
        return refuse_number(option, value);
    }
    return -1;
}

/* The file of the option before, which takes it by "=" alone: --json out.json. */
static bool misplaced(const char *word, const mw_option *before) {
    const char *end = strrchr(word, '.');
    return before && end && !strcmp(end + 1, before->name);
}

static int refuse_word(const char *word, const mw_option *before) {
    if (misplaced(word, before))
        return mw_cli_usage("unexpected argument '%s'; did you mean --%s=%s?", word, before->name, word);
    return mw_cli_usage("unexpected argument '%s'", word);
}

int mw_cli_parse(int argc, char **argv, const mw_option *options, const char *help, const char **positional,
                 int most, int *count) {
    const mw_option *bare = NULL; /* the word before was it */
    *count = 0;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *setting = NULL;
        if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
            print_help(help);
            for (const mw_option *o = options; o->name; o++)
                if (o->kind == MW_OPT_PLAN) list_plan();
            return 0;
        }
        if (word[0] != '-' || !word[1]) {
            if (*count == most || misplaced(word, bare)) return refuse_word(word, bare);
            positional[(*count)++] = word;
            bare = NULL;
            continue;
        }
        const char *name = word + (word[1] == '-' ? 2 : 1), *end = strchr(name, '=');
        const char *value = end ? end + 1 : NULL;
        const size_t length = end ? (size_t)(end - name) : strlen(name);
        const mw_option *option = find_option(options, name, length, &setting);
        if (!option) return refuse_option(options, word, name, length);
        if (needs_value(option) && !value && i + 1 < argc) value = argv[++i];
        const int code = needs_value(option) ? set_value(option, setting, value) : set_bare(option, value);
        if (code >= 0) return code;
        bare = option->kind == MW_OPT_OPTIONAL && !value ? option : NULL;
    }
    return -1;
}

char *mw_cli_quote(char *end, const char *word) {
    const bool plain =
        *word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                    "%+,-./:=@_")];
    *end++ = ' ';
    if (plain) return stpcpy(end, word);
    *end++ = '\'';
    for (; *word; word++) {
        if (*word == '\'')
            end = stpcpy(end, "'\\''");
        else
            *end++ = *word;
    }
    return stpcpy(end, "'");
}

char *mw_cli_command(const char *group, int argc, char **argv) {
    size_t size = sizeof "mawam " + strlen(group);
    for (int i = 0; i < argc; i++) size += 4 * strlen(argv[i]) + 3;
    char *text = malloc(size);
    if (!text) return NULL;
    char *end = stpcpy(text, "mawam");
    if (*group) end = stpcpy(stpcpy(end, " "), group);
    for (int i = 0; i < argc; i++) end = mw_cli_quote(end, argv[i]);
    json_t *words = (json_string)(text);
    for (char *at = text; !words && *at; at++) /* it is no UTF-8, as files that name it must be */
        if ((unsigned char)*at > 127) *at = '?';
    json_decref(words);
    return text;
}

int mw_cli_print(json_t *value, int digits) {
    char *text = mw_cli_json_text(value, JSON_INDENT(2) | JSON_REAL_PRECISION(digits));
    json_decref(value);
    if (!text) {
        fputs("mawam: cannot write the report: out of memory, or a text is not UTF-8\n", stderr);
        return 1;
    }
    mw_cli_puts(text);
    free(text);
    const bool ok = mw_cli_flush(); /* mw_cli_finish says what failed */
    return ok ? 0 : 1;
}

static mw_stop_flag stop_requested, stop_polled;

static void request_stop(int signal_number) {
    (void)signal_number;
    if (!stop_polled) _exit(STOPPED);
    mw_stop_set(&stop_requested, true);
}

void mw_cli_listen(void) {
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of the write */
    signal(SIGINT, request_stop);
    signal(SIGTERM, request_stop);
    if (signal(SIGHUP, request_stop) == SIG_IGN) signal(SIGHUP, SIG_IGN); /* nohup */
}

const mw_stop_flag *mw_cli_stop(void) {
    mw_stop_set(&stop_polled, true);
    return &stop_requested;
}
