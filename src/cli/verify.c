/* mawam verify: compares the running build with recorded numbers and says by how much it is off. */
#include "cli/cli.h"

#include <stdio.h>

static const char env_help[] =
    "usage: mawam verify env DIR\n"
    "\n"
    "Replays recorded trajectories and prints the largest error of every quantity, one line per check.\n"
    "DIR holds the particle tasks (simple_spread/, ...), the battles (3m/, ...), Ant (qpos.npy, ...), or "
    "folders\n"
    "mpe, smac, ant with them. Exits 1 when an error exceeds its tolerance.\n"
    "\n"
    "example: mawam verify env golden/mpe\n";

static const char net_help[] = "usage: mawam verify net DIR\n"
                               "\n"
                               "Recomputes recorded network outputs, losses and gradients and prints the "
                               "largest error of every quantity.\n"
                               "DIR holds folders with world, policy, mono, independent, q or "
                               "direct.safetensors.\n"
                               "Exits 1 when an error exceeds its tolerance.\n"
                               "\n"
                               "example: mawam verify net golden/net\n";

static const char diagnostics_help[] = "usage: mawam verify diagnostics DIR\n"
                                       "\n"
                                       "Recomputes recorded statistics of studies and diagnostics from their "
                                       "inputs and prints the largest error\n"
                                       "of every quantity. Exits 1 when an error exceeds its tolerance.\n"
                                       "\n"
                                       "example: mawam verify diagnostics golden/diagnostics\n";

static void print_line(void *context, const char *check, double error, double tolerance, bool ok) {
    (void)context;
    printf("%-4s  %-60s  error %9.3g  tolerance %g\n", ok ? "ok" : "FAIL", check, error, tolerance);
    fflush(stdout);
}

static int run(int argc, char **argv, const char *help,
               mw_status (*verify)(const char *, mw_verify *, mw_error *)) {
    static const mw_option none[] = {{NULL, MW_OPT_FLAG, NULL, 0, 0}};
    const char *dir;
    int count;
    int code = mw_cli_parse(argc, argv, none, help, &dir, 1, &count);
    if (code >= 0) return code;
    if (count != 1) return mw_cli_usage("verify %s: name the folder of recorded numbers", argv[0]);
    mw_verify report = {.line = print_line};
    mw_error error = {0};
    if (verify(dir, &report, &error) != MW_OK) return mw_cli_fail(&error);
    printf("%d checks, %d failed\n", report.checks, report.failed);
    return report.failed ? 1 : 0;
}

static int verify_env(int argc, char **argv) {
    return run(argc, argv, env_help, mw_verify_env);
}

static int verify_net(int argc, char **argv) {
    return run(argc, argv, net_help, mw_verify_net);
}

static int verify_diagnostics(int argc, char **argv) {
    return run(argc, argv, diagnostics_help, mw_verify_diagnostics);
}

int mw_cli_verify(int argc, char **argv) {
    static const mw_command commands[] = {
        {"env", "the worlds against recorded trajectories", verify_env},
        {"net", "the networks against recorded outputs and gradients", verify_net},
        {"diagnostics", "statistics and diagnostics against recorded results", verify_diagnostics},
        {NULL, NULL, NULL},
    };
    static const char help[] = "usage: mawam verify COMMAND DIR\n"
                               "\n"
                               "example: mawam verify env golden\n"
                               "\n"
                               "commands:\n";
    return mw_cli_dispatch("verify", commands, help, argc, argv);
}
