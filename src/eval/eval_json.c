/* The result of an evaluation as JSON; see eval.h. What does not apply is left out or null, never NaN. */
#include "eval/eval.h"

#include "core/json.h"
#include "core/numbers.h"

#include <math.h>

/* Members that do not apply are left out. */
static void set(json_t *object, const char *key, double value) {
    if (isfinite(value)) json_object_set_new(object, key, json_real(value));
}

static json_t *latency_json(mw_latency latency) {
    return json_pack("{s:o, s:o}", "p50", mw_number_json(latency.p50), "p95", mw_number_json(latency.p95));
}

/* [seeds][episodes] of returns, lengths or victories. */
static void set_episodes(json_t *object, const mw_eval_result *result, const mw_eval_report *report) {
    const mw_eval_options *o = &result->options;
    json_t *totals = json_array(), *lengths = json_array(), *won = json_array(), *means = json_array();
    for (int s = 0; s < o->seeds; s++) {
        json_t *total = json_array(), *length = json_array(), *victory = json_array();
        double sum = 0;
        for (int i = 0; i < o->episodes; i++) {
            const mw_eval_episode *episode = &report->episodes[(long)s * o->episodes + i];
            json_array_append_new(total, mw_number_json(episode->total));
            json_array_append_new(length, json_integer(episode->length));
            json_array_append_new(victory, json_boolean(episode->won));
            sum += episode->total;
        }
        json_array_append_new(totals, total);
        json_array_append_new(lengths, length);
        json_array_append_new(won, victory);
        json_array_append_new(means, mw_number_json(sum / o->episodes));
    }
    json_object_set_new(object, "seed_returns", means);
    json_object_set_new(object, "episode_returns", totals);
    json_object_set_new(object, "episode_lengths", lengths);
    if (isfinite(report->won))
        json_object_set_new(object, "episodes_won", won);
    else
        json_decref(won);
}

static json_t *arm_json(const mw_eval_result *result, const mw_eval_report *report) {
    json_t *object =
        json_pack("{s:o, s:o, s:o}", "return", mw_number_json(report->total), "return_std",
                  mw_number_json(report->total_std), "episode_length", mw_number_json(report->length));
    set(object, "score", report->score);
    set(object, "score_std", report->score_std);
    set(object, "win_rate", report->won);
    set(object, "win_rate_std", report->won_std);
    if (isfinite(report->gain.mean))
        json_object_set_new(object, "gain",
                            json_pack("{s:o, s:o, s:o}", "mean", mw_number_json(report->gain.mean), "low",
                                      mw_number_json(report->gain.low), "high",
                                      mw_number_json(report->gain.high)));
    set(object, "relative_gain", report->relative_gain);
    if (isfinite(report->gain.mean)) /* null where reactive may be zero, so that nobody makes up another */
        json_object_set_new(object, "relative_gain_interval",
                            json_pack("{s:o, s:o}", "low", mw_number_json(report->relative_low), "high",
                                      mw_number_json(report->relative_high)));
    set(object, "oracle_share", report->oracle_share);
    if (isfinite(report->decision.p50))
        json_object_set_new(object, "ms",
                            json_pack("{s:o, s:o, s:o}", "decision", latency_json(report->decision),
                                      "generation", latency_json(report->generation), "scoring",
                                      latency_json(report->scoring)));
    set(object, "distinct_first_actions", report->distinct);
    json_object_set_new(object, "seconds", mw_number_json(report->seconds));
    json_object_set_new(object, "decisions", json_integer(report->decisions));
    set_episodes(object, result, report);
    return object;
}

json_t *mw_eval_json(const mw_eval_result *result) {
    const mw_eval_options *o = &result->options;
    json_t *arms = json_object();
    for (int a = 0; a < MW_ARMS; a++)
        if (result->arm[a].played)
            json_object_set_new(arms, mw_arm_name(a), arm_json(result, &result->arm[a]));
    json_t *root =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:I, s:i, s:i, s:i, s:o}", "mawam", mw_version(), "task",
                  result->info.task, "quality", result->bundle.quality, "method", result->bundle.method,
                  "rules", result->info.rules, "plan", mw_fields_json(mw_plan_fields, &result->plan),
                  "first_seed", (json_int_t)o->first_seed, "seeds", o->seeds, "episodes", o->episodes,
                  "threads", o->threads, "arms", arms);
    if (mw_eval_accepted(result))
        json_object_set_new(root, "accepted_rules", json_string(mw_eval_accepted(result)));
    if (result->bundle.packing.bits)
        json_object_set_new(root, "packed", mw_packing_json(&result->bundle.packing));
    return root;
}

/* ---- out ---- */

mw_status mw_eval_report_put(json_t *value, const char *command, const char *path, FILE *out,
                             mw_error *error) {
    if (!value) {
        mw_json_failed(); /* told by the status */
        return mw_fail(error, MW_ERR_MEMORY, "cannot make the report");
    }
    char cpu[128];
    mw_cpu_model(cpu, sizeof cpu);
    json_object_set_new(value, "revision", json_string(mw_revision()));
    json_object_set_new(value, "command", mw_json_words(command));
    json_object_set_new(value, "cpu", json_string(cpu));
    json_object_set_new(value, "level", json_string(mw_cpu_name()));
    const mw_status status = path ? mw_json_write(value, path, error) : mw_json_print(value, out, 10, error);
    json_decref(value);
    return status;
}

mw_status mw_eval_result_print(const mw_eval_result *result, const char *command, FILE *out,
                               mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED(result);
    MW_NEED(command);
    MW_NEED(out);
    return mw_eval_report_put(mw_eval_json(result), command, NULL, out, error);
}

mw_status mw_eval_result_save(const mw_eval_result *result, const char *command, const char *path,
                              mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED(result);
    MW_NEED(command);
    MW_NEED(path);
    return mw_eval_report_put(mw_eval_json(result), command, path, NULL, error);
}
