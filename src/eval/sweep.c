/* Sweeps over plan settings; see mawam/sweep.h. The result grows as JSON, point by point, which is also what
 * a run that is continued reads back. */
#include "mawam/sweep.h"

#include "core/clock.h"
#include "core/file.h"
#include "core/numbers.h"
#include "core/options.h"
#include "eval/eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VALUES = 64, MOST_SWEEPS = 16 };

typedef struct {
    const mw_field *field;
    char values[MOST_VALUES][MW_WORD];
    int count;
} axis;

typedef struct {
    mw_sweep_options options;
    mw_eval_options eval;
    const mw_bundle *bundle;
    axis axes[MOST_SWEEPS];
    json_t *root;  /* the result */
    json_t *known; /* sweeps of an earlier run, or NULL */
    int done, kept, total;
    double started;
} sweep;

static const mw_sweep_options defaults = {.size = sizeof defaults};

void mw_sweep_options_init(mw_sweep_options *options, size_t size) {
    mw_options_fill(options, size, &defaults, sizeof defaults);
}

/* ---- what to play ---- */

static mw_status add_value(axis *a, const char *text, size_t length, mw_error *error) {
    mw_plan_settings scratch;
    if (a->count == MOST_VALUES || length >= MW_WORD)
        return mw_fail(error, MW_ERR_ARGUMENT, "a sweep of %s has at most %d values of less than %d letters",
                       a->field->name, MOST_VALUES, MW_WORD);
    snprintf(a->values[a->count], MW_WORD, "%.*s", (int)length, text);
    return mw_field_set(a->field, &scratch, a->values[a->count++], "", error);
}

/* "1,2,4" or "1..8" or both. */
static mw_status parse_values(axis *a, const char *text, mw_error *error) {
    for (const char *at = text; *(at += strspn(at, " "));) {
        const size_t length = strcspn(at, ",");
        int first, last, used = 0;
        if (sscanf(at, "%d..%d%n", &first, &last, &used) == 2 && (size_t)used == length &&
            a->field->kind == MW_FIELD_INT) {
            if (last < first)
                return mw_fail(error, MW_ERR_ARGUMENT, "%d..%d of %s runs backwards", first, last,
                               a->field->name);
            for (int value = first; value <= last && value - first <= MOST_VALUES; value++) {
                char one[16];
                snprintf(one, sizeof one, "%d", value);
                MW_TRY(add_value(a, one, strlen(one), error));
            }
        } else {
            MW_TRY(add_value(a, at, length, error));
        }
        at += length + (at[length] == ',');
    }
    return a->count ? MW_OK
                    : mw_fail(error, MW_ERR_ARGUMENT, "the sweep of %s names no value", a->field->name);
}

static mw_status parse_axis(axis *a, const char *text, mw_error *error) {
    const size_t name = strcspn(text, "=");
    a->field = text[name] ? mw_fields_find(mw_plan_fields, text, name) : NULL;
    if (!a->field)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "'%.64s' is no sweep; expected a plan setting and its values, M=1,2,4 or H=1..8",
                       text);
    return parse_values(a, text + name + 1, error);
}

static mw_status parse(sweep *s, mw_error *error) {
    if (s->options.count < 1 || s->options.count > MOST_SWEEPS)
        return mw_fail(error, MW_ERR_ARGUMENT, "there must be 1 to %d sweeps, not %d", MOST_SWEEPS,
                       s->options.count);
    MW_TRY(mw_options_texts(s->options.sweeps, s->options.count, "sweeps", error));
    for (int i = 0; i < s->options.count; i++) {
        MW_TRY(parse_axis(&s->axes[i], s->options.sweeps[i], error));
        for (int k = 0; k < i; k++)
            if (s->axes[k].field == s->axes[i].field)
                return mw_fail(error, MW_ERR_ARGUMENT, "%s is swept twice; give all its values at once",
                               s->axes[i].field->name);
        s->total += s->axes[i].count;
    }
    return MW_OK;
}

static unsigned arms_of(const sweep *s, const axis *a) {
    const unsigned usual = 1u << MW_ARM_REACTIVE | 1u << MW_ARM_PLAN;
    const bool horizon = !strcmp(a->field->name, "horizon");
    return s->eval.arms ? s->eval.arms : usual | (horizon ? 1u << MW_ARM_ORACLE : 0);
}

/* However they are typed: "2" and "02", "1" and "1e0". A file may hold what is no value at all. */
static bool same_value(const mw_field *field, const char *one, const char *other) {
    mw_plan_settings a, b;
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    return mw_field_set(field, &a, one, "", NULL) == MW_OK &&
           mw_field_set(field, &b, other, "", NULL) == MW_OK && !memcmp(&a, &b, sizeof a);
}

/* The evaluation of one value, with what it consists of. */
typedef struct {
    mw_eval_options options;
    const char *assignments[64];
    char own[2 * MW_WORD + 2], after[MW_WORD + 16];
} game;

static mw_status make_game(game *g, const sweep *s, const axis *a, const char *value, mw_error *error) {
    mw_eval_options *e = &g->options;
    mw_plan_settings plan = s->bundle->plan;
    *e = s->eval;
    if (e->assignment_count > 62) return mw_fail(error, MW_ERR_ARGUMENT, "too many plan settings");
    for (int i = 0; i < e->assignment_count; i++) {
        g->assignments[i] = e->assignments[i];
        MW_TRY(mw_fields_assign(mw_plan_fields, &plan, e->assignments[i], "", error));
    }
    snprintf(g->own, sizeof g->own, "%s=%s", a->field->name, value);
    g->assignments[e->assignment_count++] = g->own;
    if (!strcmp(a->field->name, "horizon") && plan.value_after > 0) { /* which comes after all steps */
        snprintf(g->after, sizeof g->after, "value_after=%s", value);
        g->assignments[e->assignment_count++] = g->after;
    }
    e->assignments = g->assignments;
    e->arms = arms_of(s, a);
    return MW_OK;
}

/* Every value can be played, and is played once: known before the first episode. */
static mw_status check_values(const sweep *s, const axis *a, mw_error *error) {
    for (int i = 0; i < s->eval.assignment_count; i++) {
        const size_t name = strcspn(s->eval.assignments[i], "=");
        if (mw_fields_find(mw_plan_fields, s->eval.assignments[i], name) == a->field)
            return mw_fail(error, MW_ERR_ARGUMENT, "%s is swept and set", a->field->name);
    }
    for (int k = 0; k < a->count; k++) {
        game g;
        MW_TRY(make_game(&g, s, a, a->values[k], error));
        MW_TRY(mw_eval_check(s->bundle, &g.options, error));
        for (int j = 0; j < k; j++)
            if (same_value(a->field, a->values[j], a->values[k]))
                return mw_fail(error, MW_ERR_ARGUMENT, "%s = %s is swept twice", a->field->name,
                               a->values[k]);
    }
    return MW_OK;
}

/* ---- the result ---- */

/* What all points depend on but their own setting; episodes that are left open are settled. */
static mw_status inputs_json(json_t **out, sweep *s, mw_error *error) {
    mw_eval_options *e = &s->eval;
    mw_env *env;
    char weights[17], cpu[128];
    mw_cpu_model(cpu, sizeof cpu); /* milliseconds of two machines make no front */
    MW_TRY(mw_env_create(&env, s->bundle->info.task, e->world, error));
    if (!e->episodes) e->episodes = mw_family_find(mw_env_describe(env)->family)->episodes;
    json_t *assignments = json_array();
    uint64_t hash = MW_HASH_START;
    for (int i = 0; i < s->bundle->count; i++) {
        const mw_bundle_part *part = &s->bundle->parts[i];
        hash = mw_hash(mw_hash(hash, part->text, strlen(part->text)), part->model->values,
                       part->model->params->total * sizeof *part->model->values);
    }
    snprintf(weights, sizeof weights, "%016llx", (unsigned long long)hash);
    for (int i = 0; i < e->assignment_count; i++)
        json_array_append_new(assignments, json_string(e->assignments[i]));
    *out =
        json_pack("{s:s, s:s, s:s, s:s, s:o, s:I, s:i, s:i, s:i, s:i, s:o, s:I, s:b}", "revision",
                  mw_revision(), "cpu", cpu, "rules", mw_env_describe(env)->rules, "weights", weights, "plan",
                  mw_fields_json(mw_plan_fields, &s->bundle->plan), "first_seed", (json_int_t)e->first_seed,
                  "seeds", e->seeds, "episodes", e->episodes, "timed", e->timed, "threads", e->threads,
                  "assignments", assignments, "arms", (json_int_t)e->arms, "accept_rules", e->accept_rules);
    mw_env_free(env);
    return *out ? MW_OK : mw_fail(error, MW_ERR_MEMORY, "cannot describe the sweep");
}

/* Sweeps of an earlier run with the same inputs. What else the file holds is not to be lost. */
static mw_status recall(sweep *s, mw_error *error) {
    const char *path = s->options.path;
    json_t *old = NULL;
    mw_error unread;
    if (!path || !mw_file_exists(path)) return MW_OK;
    if (mw_json_read(&old, path, &unread) == MW_OK &&
        json_equal(json_object_get(old, "inputs"), json_object_get(s->root, "inputs")))
        s->known = json_incref(json_object_get(old, "sweeps"));
    json_decref(old);
    if (s->known || s->options.overwrite) return MW_OK;
    return mw_fail(error, MW_ERR_MISMATCH,
                   "'%.300s' is there already, and not of this bundle and these options; 'overwrite' "
                   "replaces it",
                   path);
}

/* The mean return of an arm with its interval over episodes. */
static mw_status add_interval(json_t *arm, const mw_eval_result *r, int index, mw_error *error) {
    const long count = (long)r->options.seeds * r->options.episodes;
    double *totals = malloc((size_t)count * sizeof *totals);
    if (!totals) return mw_fail(error, MW_ERR_MEMORY, "cannot summarise %ld episodes", count);
    for (long k = 0; k < count; k++) totals[k] = r->arm[index].episodes[k].total;
    const mw_interval interval = mw_mean_interval(totals, count);
    free(totals);
    json_object_set_new(arm, "return_low", mw_number_json(interval.low));
    json_object_set_new(arm, "return_high", mw_number_json(interval.high));
    return MW_OK;
}

static mw_status point_json(json_t **out, const char *value, const mw_eval_result *r, mw_error *error) {
    static const char *const long_ones[] = {"episode_returns", "episode_lengths", "episodes_won"};
    json_t *all = mw_eval_json(r), *arms = json_incref(json_object_get(all, "arms"));
    mw_status status = MW_OK;
    json_decref(all);
    for (int a = 0; a < MW_ARMS && status == MW_OK; a++) {
        json_t *arm = r->arm[a].played ? json_object_get(arms, mw_arm_name(a)) : NULL;
        for (size_t i = 0; i < sizeof long_ones / sizeof *long_ones; i++) json_object_del(arm, long_ones[i]);
        if (arm) status = add_interval(arm, r, a, error);
    }
    if (status == MW_OK)
        *out = json_pack("{s:s, s:o}", "value", value, "arms", arms);
    else
        json_decref(arms);
    return status;
}

/* ---- the front ---- */

/* Milliseconds of a decision and return of a point's plan arm; false: it was not played or not timed. */
static bool worth(const json_t *point, double *ms, double *total) {
    const json_t *plan = json_object_get(json_object_get(point, "arms"), "plan"),
                 *time = json_object_get(json_object_get(json_object_get(plan, "ms"), "decision"), "p50");
    *ms = json_number_value(time);
    *total = json_number_value(json_object_get(plan, "return"));
    return json_is_number(time);
}

static bool beaten(const json_t *sweeps, double ms, double total) {
    const char *name;
    json_t *list, *point;
    size_t i;
    json_object_foreach((json_t *)(uintptr_t)sweeps, name, list)
        json_array_foreach(json_object_get(list, "points"), i, point) {
        double other_ms, other;
        if (worth(point, &other_ms, &other) && other_ms <= ms && other >= total &&
            (other_ms < ms || other > total))
            return true;
    }
    return false;
}

/* The points of all sweeps that no other beats in both return and time, by rising time. */
static json_t *front_json(const json_t *sweeps) {
    json_t *front = json_array(), *list, *point;
    const char *name;
    size_t i;
    json_object_foreach((json_t *)(uintptr_t)sweeps, name, list)
        json_array_foreach(json_object_get(list, "points"), i, point) {
        double ms, total;
        size_t at = 0;
        if (!worth(point, &ms, &total) || beaten(sweeps, ms, total)) continue;
        while (at < json_array_size(front) &&
               json_number_value(json_object_get(json_array_get(front, at), "ms")) <= ms)
            at++;
        json_array_insert_new(front, at,
                              json_pack("{s:s, s:O, s:f, s:f}", "setting", name, "value",
                                        json_object_get(point, "value"), "ms", ms, "return", total));
    }
    return front;
}

/* ---- playing ---- */

static mw_status play(const sweep *s, const axis *a, const char *value, json_t **point, mw_error *error) {
    game g;
    mw_eval_result r;
    MW_TRY(make_game(&g, s, a, value, error));
    MW_TRY(mw_eval_run(&r, s->bundle, &g.options, error));
    const mw_status status = point_json(point, value, &r, error);
    mw_eval_result_clear(&r);
    return status;
}

static mw_status put(sweep *s, mw_error *error) {
    json_object_set_new(s->root, "front", front_json(json_object_get(s->root, "sweeps")));
    return s->options.path ? mw_json_write(s->root, s->options.path, error) : MW_OK;
}

static bool is_point(const json_t *point) {
    return json_is_string(json_object_get(point, "value")) && json_is_object(json_object_get(point, "arms"));
}

static json_t *known_points(const sweep *s, const char *name) {
    return json_object_get(json_object_get(s->known, name), "points");
}

static bool is_value(const axis *a, int index, const json_t *point) {
    return same_value(a->field, a->values[index], json_string_value(json_object_get(point, "value")));
}

static json_t *known_point(const sweep *s, const axis *a, int index) {
    json_t *point;
    size_t i;
    json_array_foreach(known_points(s, a->field->name), i,
                       point) if (is_point(point) && is_value(a, index, point)) return point;
    return NULL;
}

static bool names(const axis *a, const json_t *point) {
    for (int k = 0; k < a->count; k++)
        if (is_value(a, k, point)) return true;
    return false;
}

/* What is known is there from the beginning, so that a stop anywhere keeps it; behind the values of this run
 * those that it does not name. */
static void add_axis(sweep *s, const axis *a) {
    json_t *points = json_array(), *point;
    size_t i;
    for (int k = 0; k < a->count; k++)
        if (known_point(s, a, k)) json_array_append(points, known_point(s, a, k));
    json_array_foreach(known_points(s, a->field->name), i, point) if (is_point(point) && !names(a, point))
        json_array_append(points, point);
    json_object_set_new(json_object_get(s->root, "sweeps"), a->field->name,
                        json_pack("{s:s, s:o}", "symbol",
                                  a->field->symbol ? a->field->symbol : a->field->name, "points", points));
}

/* All values before this one have their points. */
static mw_status run_value(sweep *s, const axis *a, int index, mw_error *error) {
    const char *value = a->values[index];
    if (known_point(s, a, index)) {
        s->kept++;
    } else {
        json_t *point, *points = json_object_get(
                           json_object_get(json_object_get(s->root, "sweeps"), a->field->name), "points");
        MW_TRY(play(s, a, value, &point, error));
        if (json_array_insert_new(points, (size_t)index, point) != 0)
            return mw_fail(error, MW_ERR_MEMORY, "cannot keep a value of the sweep");
    }
    s->done++;
    MW_TRY(put(s, error));
    const int played = s->done - s->kept;
    const double each = played ? (mw_clock_seconds() - s->started) / played : NAN;
    if (s->options.progress)
        s->options.progress(s->options.context, a->field->symbol ? a->field->symbol : a->field->name, value,
                            s->done, s->total, each * (s->total - s->done));
    return MW_OK;
}

static mw_status run(sweep *s, mw_error *error) {
    MW_TRY(parse(s, error));
    for (int i = 0; i < s->options.count; i++) MW_TRY(check_values(s, &s->axes[i], error));
    const mw_bundle_info *info = &s->bundle->info;
    json_t *inputs;
    char cpu[128];
    mw_cpu_model(cpu, sizeof cpu);
    MW_TRY(inputs_json(&inputs, s, error));
    const char *rules = json_string_value(json_object_get(inputs, "rules")); /* of the world as it is */
    s->root = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s*, s:s, s:s*, s:o, s:s, s:o, s:{}}", "mawam",
                        mw_version(), "revision", mw_revision(), "task", info->task, "quality", info->quality,
                        "rules", rules, "accepted_rules", strcmp(info->rules, rules) ? info->rules : NULL,
                        "method", info->method, "bundle", *s->bundle->checksum ? s->bundle->checksum : NULL,
                        "command", mw_json_words(s->options.command), "cpu", cpu, "inputs", inputs, "sweeps");
    if (!s->root) return mw_fail(error, MW_ERR_MEMORY, "cannot describe the sweep");
    MW_TRY(recall(s, error));
    if (s->known) json_object_update(json_object_get(s->root, "sweeps"), s->known);
    for (int i = 0; i < s->options.count; i++) add_axis(s, &s->axes[i]);
    for (int i = 0; i < s->options.count; i++)
        for (int k = 0; k < s->axes[i].count; k++) MW_TRY(run_value(s, &s->axes[i], k, error));
    return MW_OK;
}

mw_status mw_sweep_run(char **json, const mw_bundle *bundle, const mw_sweep_options *given, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED(json);
    *json = NULL;
    sweep *s = calloc(1, sizeof *s);
    if (!s) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a sweep");
    s->options = defaults;
    s->bundle = bundle;
    s->started = mw_clock_seconds();
    mw_status status =
        mw_options_take(&s->options, sizeof s->options, MW_FIELD_END(mw_sweep_options, overwrite), given,
                        "mw_sweep_options_init", error);
    if (status == MW_OK && !bundle) status = mw_fail(error, MW_ERR_ARGUMENT, "%s: bundle is NULL", __func__);
    if (status == MW_OK) status = mw_eval_options_take(&s->eval, s->options.eval, error);
    if (status == MW_OK) status = run(s, error);
    if (status == MW_OK && !(*json = json_dumps(s->root, JSON_INDENT(1) | JSON_REAL_PRECISION(10))))
        status = mw_fail(error, MW_ERR_MEMORY, "cannot write the sweep");
    if (status != MW_OK) mw_json_failed(); /* what could not be built is told by the status */
    json_decref(s->root);
    json_decref(s->known);
    free(s);
    return status;
}
