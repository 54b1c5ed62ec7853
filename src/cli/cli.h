/* What the subcommands share. Each lives in its own file: it parses, calls the library and prints. The
 * program is a client like any other: it knows the public headers only. */
#ifndef MW_CLI_CLI_H
#define MW_CLI_CLI_H

#include "cli/progress.h"

#include <mawam/mawam.h>

#include <jansson.h>
#include <signal.h>
#include <stdio.h>

typedef struct mw_command {
    const char *name, *summary;
    int (*run)(int argc, char **argv); /* argv[0] is the command's own name; returns the exit code */
} mw_command;

int mw_cli_behavior(int argc, char **argv);
int mw_cli_bench(int argc, char **argv);
int mw_cli_bundle(int argc, char **argv);
int mw_cli_data(int argc, char **argv);
int mw_cli_data_make(int argc, char **argv); /* "mawam data make": plays behaviours and records them */
int mw_cli_demo(int argc, char **argv);
int mw_cli_diagnose(int argc, char **argv);
int mw_cli_diagnose_routing(int argc, char **argv); /* "mawam diagnose --routing" */
int mw_cli_env(int argc, char **argv);
int mw_cli_eval(int argc, char **argv);
int mw_cli_live(int argc, char **argv);
int mw_cli_study(int argc, char **argv);
int mw_cli_train(int argc, char **argv);
int mw_cli_verify(int argc, char **argv);
int mw_cli_zoo(int argc, char **argv);

/* Prints "mawam: message" to stderr and returns the exit code: 1 for failures, 130 for work that was stopped,
 * 2 for usage, which names the command that was called and where its help is. */
int mw_cli_fail(const mw_error *error);
int mw_cli_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A message of the library as the program says it, with options as they are typed. It is not longer: two
 * dashes for two quotes. */
void mw_cli_typed(char *out, const char *message);
/* Of work that had not begun: a request that is wrong (MW_ERR_ARGUMENT) is usage, all else a failure. */
int mw_cli_refuse(const mw_error *error);

/* --help, -h or help. */
bool mw_cli_asks_for_help(const char *word);

/* Picks the row of a NULL-terminated table that argv[1] names and runs it; prints `help` for --help or no
 * argument. */
int mw_cli_dispatch(const mw_command *commands, const char *help, int argc, char **argv);

/* Option parsing: `--name value`, `--name=value`, flags, and positional arguments. */
typedef enum {
    MW_OPT_FLAG,
    MW_OPT_INT,
    MW_OPT_U64,
    MW_OPT_DOUBLE,
    MW_OPT_STRING,
    MW_OPT_STRINGS,  /* may be given several times */
    MW_OPT_SETTINGS, /* the same, each with a "=": NAME=VALUE */
    MW_OPT_PLAN,     /* any of the plan settings by its own name: "name=value" is added to mw_assignments */
    MW_OPT_OPTIONAL, /* a string that may be left out: "" for a bare `--name`, the text of `--name=text` */
    MW_OPT_SHOW      /* --csv, --json, --markdown: how tables are shown, at most one of them */
} mw_option_kind;
typedef enum { MW_SHOW_TEXT, MW_SHOW_CSV, MW_SHOW_JSON, MW_SHOW_MARKDOWN } mw_show;
typedef struct mw_strings {
    const char *items[64];
    int count;
} mw_strings;
typedef struct mw_assignments {
    const char *items[32];
    int count;
    char text[32][96];
} mw_assignments;
typedef struct mw_option {
    const char *name; /* without the dashes */
    mw_option_kind kind;
    void *value;      /* bool, int, uint64_t, double, const char *, mw_show or mw_strings, by kind */
    double low, high; /* of numbers; both 0: no bounds */
} mw_option;

/* Parses argv[1..]; options end with a NULL name. Positional arguments go to positional[0..most) and *count.
 * Returns -1 to go on, otherwise the exit code: after --help (help printed, 0) or a usage error (2). */
int mw_cli_parse(int argc, char **argv, const mw_option *options, const char *help, const char **positional,
                 int most, int *count);

enum { MW_CLI_WIDTH = 100 }; /* columns that help and tables fit in */

/* A text after `used` columns of a line, from column `indent` on and in as many lines as it needs. */
void mw_cli_wrap(int used, int indent, const char *text);
/* For help: a name and what it is. */
void mw_cli_explain(const char *name, int indent, const char *text);

/* The rest of `mawam eval --sweep`: json as for it. */
int mw_cli_sweep(const mw_eval_options *eval, const mw_strings *sweeps, const char *path, const char *json,
                 bool overwrite, mw_show show, const char *command);

/* "Did you mean": *best starts as the distance at which a word is no longer meant, and `out` as "". */
int mw_cli_near(const char *word);
void mw_cli_nearer(char *out, size_t size, int *best, const char *word, const char *known);

/* A setting of the table by its name. */
mw_status mw_cli_setting(const mw_setting **setting, const char *name, mw_error *error);

/* A bundle by its path, or by the name of one that comes with mawam: "spread-medium". */
mw_status mw_cli_bundle_path(char *out, size_t size, const char *name, mw_error *error);
/* The same of a behaviour. */
mw_status mw_cli_behavior_path(char *out, size_t size, const char *name, mw_error *error);

/* A bundle to be played: in a world that mawam has. Its file must exist; see above. */
mw_status mw_cli_bundle_load(mw_bundle **bundle, const char *path, mw_error *error);
/* The same, and of that world's rules, for commands that do not accept others. */
mw_status mw_cli_bundle_load_own(mw_bundle **bundle, const char *path, mw_error *error);

/* How a bundle plans with "name=value" assignments. */
mw_status mw_cli_plan(mw_plan_settings *plan, const mw_bundle *bundle, const char *const *assignments,
                      int count, mw_error *error);

/* The bundles that come with mawam: of the first folder that has any, in order of name. */
typedef struct mw_bundle_list {
    char paths[128][2400];
    int count;
} mw_bundle_list;
mw_status mw_cli_bundles(mw_bundle_list *list, mw_error *error);

/* Of an evaluation, in words for somebody who has not read about arms: "the policy alone"; and what was
 * found, and how sure that is. `name` is the setting's. */
const char *mw_cli_arm_words(int arm);
void mw_cli_found(char *out, size_t size, const char *name, const mw_eval_result *result);

/* Before long work: can its result be written, and is nothing finished in the way? path NULL or "": fine. */
mw_status mw_cli_output(const char *path, bool overwrite, mw_error *error);

/* Is it a name that a replay can have, or NULL? Returns -1, or the exit code. */
int mw_cli_replay(const char *path);

extern bool mw_cli_quiet; /* --quiet: no progress, no remarks */

/* Ctrl-C, SIGTERM and the loss of the terminal end the program with 130: at once, as long as it only reads
 * and prints. */
void mw_cli_listen(void);
/* From now on they do nothing but set this, and the work under way saves, removes what it began and ends. For
 * every command that writes files. */
const mw_stop_flag *mw_cli_stop(void);

/* Appends a space and a word as a shell takes it, at most 3 + 4 times as long; returns the end. */
char *mw_cli_quote(char *end, const char *word);
/* "mawam GROUP ARGV...", as typed, for provenance; group may be "". To be freed; NULL: out of memory. */
char *mw_cli_command(const char *group, int argc, char **argv);

/* The value of a text (NULL: of one that there was no memory for), or of a file (NULL if there is none): all
 * of it, or an error; `what` names the text.
 */
mw_status mw_cli_json(json_t **value, const char *text, const char *what, mw_error *error);
mw_status mw_cli_json_file(json_t **value, const char *path, mw_error *error);
/* All of a value, by jansson's flags. To be freed; NULL: out of memory. */
char *mw_cli_json_text(const json_t *value, size_t flags);
/* Prints a value as JSON and returns the exit code. Takes it over; it may be NULL for want of memory. (A
 * value is built by json_pack, which is NULL if any part is: nothing is left out in silence.) */
int mw_cli_print(json_t *value, int digits);

/* Before anything is opened: descriptors 0 to 2 that are closed get something harmless, so that no file of
 * ours takes their numbers. */
void mw_cli_open_standard(void);
/* A line of any length; why it cannot be printed is kept for mw_cli_finish. */
void mw_cli_puts(const char *text);
/* What was printed leaves now; false if any of it could not. For rows that somebody waits for. */
bool mw_cli_flush(void);
/* At the end: what was printed must have arrived; returns the exit code. */
int mw_cli_finish(int code);

#endif
