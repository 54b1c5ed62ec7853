/* Statements over settings: paired differences with their interval and sign test, and the routing analysis
 * from the result files of single settings; see mawam/routing.h. */
#include "mawam/routing.h"
#include "core/json.h"
#include "core/numbers.h"
#include "eval/statistics.h"
#include "report/analysis.h"

#include <math.h>
#include <stdlib.h>

mw_status mw_paired_compare(mw_paired_summary *summary, const double *first, const double *second, int count,
                            uint64_t seed, mw_error *error) {
    MW_NEED(summary);
    MW_NEED(first);
    MW_NEED(second);
    *summary = (mw_paired_summary){.difference = {NAN, NAN, NAN}, .sign_test = 1};
    double *difference = malloc((size_t)(count > 0 ? count : 1) * sizeof *difference);
    if (!difference) return mw_fail(error, MW_ERR_MEMORY, "cannot compare %d settings", count);
    for (int i = 0; i < count; i++) {
        const double d = first[i] - second[i];
        if (!isfinite(d)) continue;
        difference[summary->settings++] = d;
        summary->positive += d > 0;
        summary->negative += d < 0;
    }
    summary->sign_test = mw_sign_test(summary->positive, summary->negative);
    const mw_status status = summary->settings
                                 ? mw_bootstrap_mean(&summary->difference, difference, summary->settings,
                                                     MW_BOOTSTRAP_RESAMPLES, seed, error)
                                 : MW_OK;
    free(difference);
    return status;
}

/* The numbers that are compared, one column per quantity. */
enum { NMI_CONTEXT, NMI_AGENT, JS_CONTEXT, JS_AGENTS, EFFECTIVE, SWITCHING, QUANTITIES };

static double number(const json_t *value) {
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static mw_status read_one(const char *path, double *columns, int count, int at, mw_error *error) {
    json_t *root;
    MW_TRY(mw_json_read(&root, path, error));
    const json_t *statistics =
        json_object_get(json_object_get(json_object_get(root, "routing"), "trained"), "statistics");
    const double values[QUANTITIES] = {
        number(json_object_get(json_object_get(statistics, "nmi_context"), "corrected")),
        number(json_object_get(json_object_get(statistics, "nmi_agent"), "corrected")),
        number(json_object_get(statistics, "js_context")),
        number(json_object_get(statistics, "js_agents")),
        number(json_object_get(statistics, "effective_experts")),
        number(json_object_get(statistics, "switching_rate")),
    };
    const bool known = json_is_object(statistics);
    json_decref(root);
    if (!known)
        return mw_fail(error, MW_ERR_FORMAT,
                       "%s: no routing.trained.statistics; expected a result of 'mawam diagnose --routing'",
                       path);
    for (int k = 0; k < QUANTITIES; k++) columns[k * count + at] = values[k];
    return MW_OK;
}

mw_status mw_routing_over_settings(mw_routing_over *over, const char *const *paths, int count, uint64_t seed,
                                   mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED(over);
    MW_NEED(paths);
    *over = (mw_routing_over){.settings = count};
    if (count < 1 || count > MW_ANALYSIS_MOST)
        return mw_fail(error, MW_ERR_ARGUMENT, "a statement over settings needs 1 to %d results; got %d",
                       MW_ANALYSIS_MOST, count);
    double *x = malloc(QUANTITIES * (size_t)count * sizeof *x);
    if (!x) return mw_fail(error, MW_ERR_MEMORY, "cannot hold %d results", count);
    mw_status status = MW_OK;
    for (int i = 0; i < count && status == MW_OK; i++) status = read_one(paths[i], x, count, i, error);
    if (status == MW_OK)
        status =
            mw_paired_compare(&over->nmi, x + NMI_CONTEXT * count, x + NMI_AGENT * count, count, seed, error);
    if (status == MW_OK)
        status =
            mw_paired_compare(&over->js, x + JS_CONTEXT * count, x + JS_AGENTS * count, count, seed, error);
    over->effective_experts = mw_mean_of(x + EFFECTIVE * count, count);
    over->switching = mw_mean_of(x + SWITCHING * count, count);
    free(x);
    return status;
}
