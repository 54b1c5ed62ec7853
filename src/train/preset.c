/* The table of training presets, and its fields by name; see preset.h. */
#include "train/preset.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* What differs between tasks. Segments are short, because the cost of everything grows with them; T must be
 * divisible by 4 and the generated part reach the planning horizon. Steps: quick and full budget. */
typedef struct {
    const char *task;
    int dim, mults[MW_LEVELS], context, generated, scale, policy_steps[2], policy_batch;
    double policy_rate;
    int policy_warmup;
    const char *variant;
    int hidden, dynamics_features, everyone, world_steps[2], world_batch, world_run;
    double world_rate;
    int world_warmup, horizon, sampling;
    double guidance, quantile, explore, blend;
    int carry, return_to_go, features;
    double advantage;
} row;

/* clang-format off */
static const row rows[] = {
    /*            policy: T = C + gen scale      steps                        world                steps                         plan
       task       dim mults     C gen     quick   full batch  rate warm-up  variant    hidden features everyone quick full batch run rate warm-up H  K omega quantile explore blend carry to-go  features advantage */
    {"spread",     32, {2,2,2},  4,  8, 5, { 600,  2500}, 64, 3e-3, 200,    "standard", 256, 64, 0, {1000, 5000}, 256, 1, 1e-3, 200,   8, 3, 1.2, 0.95, 0.3, 0.3, 1, 0,   0, 0},
    {"tag",        32, {2,2,2},  4,  8, 5, { 600,  2000}, 64, 3e-3, 200,    "standard", 256, 64, 0, {1000, 7000}, 256, 1, 1e-3, 200,   8, 3, 1.2, 0.95, 0.1, 0, 0, 0,   0, 0},
    {"world",      32, {2,2,2},  4,  8, 5, { 600,  2000}, 64, 3e-3, 200,    "standard", 256, 64, 0, {1000, 8000}, 256, 1, 1e-3, 200,   8, 3, 1.2, 0.95, 0.1, 0, 0, 0,   0, 0},
    {"2ant",       32, {2,2,2},  4,  8, 1, { 600,  2000}, 64, 3e-3, 200,    "standard", 256,  0, 1, {1000, 4000}, 256, 1, 1e-3, 200,   8, 3, 1.2, 0.95, 0.03, 0.5, 0, 0,  64, 1},
    {"4ant",       32, {2,2,2},  4,  8, 1, { 600,  1800}, 64, 3e-3, 200,    "standard", 256,  0, 1, {1000, 4000}, 256, 1, 1e-3, 200,   8, 3, 1.2, 0.95, 0.03, 0.5, 0, 0,  64, 1},
    {"3m",         32, {2,2,2},  9,  3, 5, { 600,  1500}, 64, 3e-3, 200,    "standard", 256, 64, 0, {1000, 3000}, 256, 1, 1e-3, 200,   3, 3, 1.2, 0.95, 0, 0, 0, 1,   0, 0},
    {"8m",         32, {2,2,2},  9,  3, 5, { 300,   700}, 64, 3e-3, 200,    "standard", 256, 64, 0, { 500, 1500}, 256, 1, 1e-3, 200,   3, 3, 1.2, 0.95, 0, 0, 0, 1,   0, 0},
    {"5m_vs_6m",   32, {2,2,2},  9,  3, 5, { 400,  1000}, 64, 3e-3, 200,    "standard", 256, 64, 0, { 600, 2500}, 256, 1, 1e-3, 200,   3, 3, 1.2, 0.95, 0, 0, 0, 1,   0, 0},
    {"2s3z",       32, {2,2,2},  8,  8, 5, { 300,   800}, 64, 3e-3, 200,    "standard", 256, 64, 0, { 500, 2000}, 256, 1, 1e-3, 200,   8, 3, 1.2, 0.95, 0, 0, 0, 0,   0, 0},
    {"other",      32, {2,2,2},  4,  8, 5, { 600,  2500}, 64, 3e-3, 200,    "standard", 256, 64, 0, {1000, 5000}, 256, 1, 1e-3, 200,   8, 3, 1.2, 0.95, 0, 0, 0, 0,   0, 0},
};
/* clang-format on */

enum { ROWS = sizeof rows / sizeof rows[0] };

static const row *row_of(const char *task) {
    for (int i = 0; i < ROWS - 1; i++)
        if (!strcmp(rows[i].task, task)) return &rows[i];
    return &rows[ROWS - 1];
}

mw_training_preset mw_training_preset_of(const char *task, mw_budget budget) {
    const row *r = row_of(task);
    const mw_world_config world = mw_world_config_default();
    mw_training_preset p = {
        .policy = {.dim = r->dim,
                   .context = r->context,
                   .generated = r->generated,
                   .project = 1,
                   .changes = 1,
                   .forecast = 256,
                   .forecast_batch = 512,
                   .scale = r->scale,
                   .steps = r->policy_steps[budget],
                   .batch = r->policy_batch,
                   .rate = r->policy_rate,
                   .warmup = r->policy_warmup,
                   .clip = 10,
                   .average = 0.995,
                   .drop = 0.25,
                   .discount = 0.99,
                   .inverse_hidden = 256,
                   .inverse_layers = 3,
                   .inverse_ids = 1,
                   .inverse_batch = 512,
                   .inverse_noise = 0.1},
        .world = {.paper = !strcmp(r->variant, "paper"),
                  .hidden = r->hidden,
                  .experts = world.experts,
                  .slots = world.slots,
                  .reward_experts = world.reward_experts,
                  .top_k = world.top_k,
                  .reward_features = world.reward_features,
                  .dynamics_features = r->dynamics_features,
                  .shared = world.shared,
                  .joint = world.joint,
                  .everyone = r->everyone,
                  .run = r->world_run,
                  .steps = r->world_steps[budget],
                  .batch = r->world_batch,
                  .rate = r->world_rate,
                  .warmup = r->world_warmup,
                  .clip = 10},
        .advantage = {.features = r->features,
                      .hidden = 256,
                      .steps = 3000,
                      .discount = 0.99,
                      .trace = 0.98,
                      .ridge = 0.1},
        .data = {.held_out = 0.1},
        .plan = {.horizon = r->horizon,
                 .steps = r->sampling,
                 .guidance = r->guidance,
                 .target = NAN,
                 .quantile = r->quantile,
                 .explore = r->explore,
                 .blend = r->blend,
                 .advantage = r->advantage,
                 .carry = r->carry,
                 .return_to_go = r->return_to_go},
    };
    memcpy(p.policy.mults, r->mults, sizeof p.policy.mults);
    snprintf(p.task, sizeof p.task, "%s", task);
    return p;
}

/* ---- fields by name ------------------------------------------------------------------------------------ */

typedef enum { WHOLE, REAL, LIST, CHOICE } field_kind;

typedef struct {
    const char *name;
    field_kind kind;
    size_t at;
    double low, high;
    const char *choices[2]; /* of CHOICE: the words for 0 and 1 */
    const char *automatic;  /* the word for "from the data", which low or NaN stand for; or NULL */
    const char *summary;
} field;

#define AT(member) offsetof(mw_training_preset, member)

/* clang-format off */
static const field fields[] = {
    {"policy.dim",              WHOLE,  AT(policy.dim),              16, 1024, {0}, NULL, "width of the proposer, a multiple of 16"},
    {"policy.mults",            LIST,   AT(policy.mults),            1, 64,   {0}, NULL, "its multiples at the three levels"},
    {"policy.context",          WHOLE,  AT(policy.context),          1, 256,  {0}, NULL, "C: observations of context, the current one included"},
    {"policy.generated",        WHOLE,  AT(policy.generated),        1, 256,  {0}, NULL, "observations generated after it; C + generated must be divisible by 4"},
    {"policy.attention_output", CHOICE, AT(policy.project),          0, 1,    {"off", "on"}, NULL, "output projection of the attention between agents"},
    {"policy.changes",          CHOICE, AT(policy.changes),          0, 1,    {"off", "on"}, NULL, "generate changes from the present instead of observations"},
    {"policy.forecast",         WHOLE,  AT(policy.forecast),         0, 4096, {0}, NULL, "with changes: width of the MLP that expects them of the present; 0: none"},
    {"policy.forecast_batch",   WHOLE,  AT(policy.forecast_batch),   1, 65536, {0}, NULL, "segments that it learns from in a step"},
    {"policy.scale",            REAL,   AT(policy.scale),            1e-3, 1e6,  {0}, NULL, "with changes: what the flow generates is this many times what the forecast leaves open"},
    {"policy.steps",            WHOLE,  AT(policy.steps),            1, 1e8,  {0}, NULL, "training steps"},
    {"policy.batch",            WHOLE,  AT(policy.batch),            1, 4096, {0}, NULL, "segments in a step"},
    {"policy.rate",             REAL,   AT(policy.rate),             0, 1,    {0}, NULL, "Adam's rate after the warm-up, then a cosine to 1% of it"},
    {"policy.warmup",           WHOLE,  AT(policy.warmup),           0, 1e6,  {0}, NULL, "steps of linear warm-up"},
    {"policy.clip",             REAL,   AT(policy.clip),             0, 1e6,  {0}, NULL, "bound of the gradient's norm; 0: none"},
    {"policy.average",          REAL,   AT(policy.average),          0.001, 0.99999, {0}, NULL, "decay of the average of the weights, which is what is kept"},
    {"policy.drop",             REAL,   AT(policy.drop),             0, 1,    {0}, NULL, "probability that the return condition is dropped"},
    {"policy.discount",         REAL,   AT(policy.discount),         0.01, 1, {0}, NULL, "of the return-to-go"},
    {"policy.return_scale",     REAL,   AT(policy.return_scale),     0, 1e12, {0}, "auto", "what returns-to-go are divided by; auto: the 0.99 quantile of their size"},
    {"policy.inverse_hidden",   WHOLE,  AT(policy.inverse_hidden),   1, 4096, {0}, NULL, "width of the inverse dynamics"},
    {"policy.inverse_layers",   WHOLE,  AT(policy.inverse_layers),   1, 4,    {0}, NULL, "its hidden layers"},
    {"policy.inverse_ids",      CHOICE, AT(policy.inverse_ids),      0, 1,    {"off", "on"}, NULL, "it is told which agent it works for"},
    {"policy.inverse_batch",    WHOLE,  AT(policy.inverse_batch),    1, 65536, {0}, NULL, "pairs of joint observations that it learns from in a step"},
    {"policy.inverse_noise",    REAL,   AT(policy.inverse_noise),    0, 10,   {0}, NULL, "noise on the second observation of a pair, as proposals have it"},
    {"world.variant",           CHOICE, AT(world.paper),             0, 1,    {"standard", "paper"}, NULL, "standardised tokens and targets with norm features, or the paper's layer norms (and its 4 slots, unless set)"},
    {"world.hidden",            WHOLE,  AT(world.hidden),            1, 4096, {0}, NULL, "width of the experts"},
    {"world.experts",           WHOLE,  AT(world.experts),           1, MW_MAX_EXPERTS, {0}, NULL, "experts of the dynamics"},
    {"world.slots",             WHOLE,  AT(world.slots),             1, 64,   {0}, NULL, "slots of each"},
    {"world.reward_experts",    WHOLE,  AT(world.reward_experts),    1, MW_MAX_EXPERTS, {0}, NULL, "experts of the reward"},
    {"world.top_k",             WHOLE,  AT(world.top_k),             1, MW_MAX_EXPERTS, {0}, NULL, "how many of them an agent meets"},
    {"world.reward_features",   WHOLE,  AT(world.reward_features),   0, 1024, {0}, NULL, "norm features of the reward's tokens; none in the paper's variant"},
    {"world.dynamics_features", WHOLE,  AT(world.dynamics_features), 0, 1024, {0}, NULL, "the same for the dynamics"},
    {"world.shared",            WHOLE,  AT(world.shared),            0, 4096, {0}, NULL, "width of an expert of the dynamics that meets every agent's token itself; 0: none"},
    {"world.joint",             CHOICE, AT(world.joint),             0, 1,    {"off", "on"}, NULL, "tokens carry the mean of all agents' tokens"},
    {"world.everyone",          CHOICE, AT(world.everyone),          0, 1,    {"off", "on"}, NULL, "instead they carry every agent's values one by one, and which agent is meant"},
    {"world.run",               WHOLE,  AT(world.run),               1, 64,   {0}, NULL, "transitions of a run in training, the first from a recorded observation, the others from its own predictions; 1: recorded ones only"},
    {"world.steps",             WHOLE,  AT(world.steps),             1, 1e8,  {0}, NULL, "training steps"},
    {"world.batch",             WHOLE,  AT(world.batch),             1, 65536, {0}, NULL, "transitions in a step"},
    {"world.rate",              REAL,   AT(world.rate),              0, 1,    {0}, NULL, "as policy.rate"},
    {"world.warmup",            WHOLE,  AT(world.warmup),            0, 1e6,  {0}, NULL, "steps of linear warm-up"},
    {"world.clip",              REAL,   AT(world.clip),              0, 1e6,  {0}, NULL, "bound of the gradient's norm; 0: none"},
    {"world.average",           REAL,   AT(world.average),           0, 0.99999, {0}, NULL, "decay of an average of the weights; 0: none"},
    {"advantage.features",      WHOLE,  AT(advantage.features),      0, 4096, {0}, NULL, "real actions: random features of the state for the advantage of deviating from what is usual, solved from the data; 0: none"},
    {"advantage.hidden",        WHOLE,  AT(advantage.hidden),        1, 4096, {0}, NULL, "width of the MLPs for what is usual"},
    {"advantage.steps",         WHOLE,  AT(advantage.steps),         1, 1e8,  {0}, NULL, "their training steps, of 512 rows each"},
    {"advantage.discount",      REAL,   AT(advantage.discount),      0, 1,    {0}, NULL, "of the rewards that count"},
    {"advantage.trace",         REAL,   AT(advantage.trace),         0, 1,    {0}, NULL, "lambda: how slowly rewards hand over to usual returns"},
    {"advantage.ridge",         REAL,   AT(advantage.ridge),         1e-9, 1e9, {0}, NULL, "relative ridge of the regression"},
    {"data.held_out",           REAL,   AT(data.held_out),           0, 0.9,  {0}, NULL, "share of the episodes that is held out for validation"},
    {"plan.horizon",            WHOLE,  AT(plan.horizon),            1, 256,  {0}, NULL, "H: steps that candidates are scored over"},
    {"plan.steps",              WHOLE,  AT(plan.steps),              1, 5,    {0}, NULL, "K: sampling steps"},
    {"plan.guidance",           REAL,   AT(plan.guidance),           -10, 100, {0}, NULL, "omega: weight of the return condition"},
    {"plan.target",             REAL,   AT(plan.target),             -1e6, 1e6, {0}, "auto", "target return in units of the return scale; auto: plan.quantile of the data"},
    {"plan.quantile",           REAL,   AT(plan.quantile),           0, 1,    {0}, NULL, "of the returns of the data's episodes, for the target"},
    {"plan.explore",            REAL,   AT(plan.explore),            0, 100,  {0}, NULL, "deviation of an offset on a candidate's actions (discrete: logits) that lasts over the horizon; the first has none"},
    {"plan.blend",              REAL,   AT(plan.blend),              0, 1e6,  {0}, NULL, "real actions: a mean of all candidates is executed, weighed by exp(-d/blend) at a score d deviations below the best; 0: the best alone"},
    {"plan.advantage",          REAL,   AT(plan.advantage),          0, 1,    {0}, NULL, "share of the first joint action's advantage in a candidate's score; the rest is the imagined return"},
    {"plan.carry",              CHOICE, AT(plan.carry),              0, 1,    {"off", "on"}, NULL, "the last candidate is the rest of the plan chosen before, once there is one"},
    {"plan.return_to_go",       CHOICE, AT(plan.return_to_go),       0, 1,    {"off", "on"}, NULL, "the target shrinks by what was earned during the episode"},
};
/* clang-format on */

enum { FIELDS = sizeof fields / sizeof fields[0] };

/* The automatic value of a field: NaN for the target, 0 for the scale. */
static double automatic_value(const field *f) {
    return f->low < 0 ? NAN : 0;
}

static bool is_automatic(const field *f, double value) {
    return f->automatic && (f->low < 0 ? isnan(value) : value == 0);
}

static bool parse_number(const char *text, const field *f, double *out) {
    char *end;
    *out = strtod(text, &end);
    return end != text && !*end && *out >= f->low && *out <= f->high &&
           (f->kind == REAL || *out == floor(*out));
}

static bool parse_list(const char *text, const field *f, int *out) {
    char copy[64], *rest = copy;
    if (strlen(text) >= sizeof copy) return false;
    strcpy(copy, text);
    for (int i = 0; i < MW_LEVELS; i++) {
        double value;
        const char *item = strsep(&rest, ",");
        const field whole = {.kind = WHOLE, .low = f->low, .high = f->high};
        if (!item || !parse_number(item, &whole, &value)) return false;
        out[i] = (int)value;
    }
    return !rest;
}

static mw_status bad_value(const field *f, const char *value, mw_error *error) {
    if (f->kind == CHOICE)
        return mw_fail(error, MW_ERR_ARGUMENT, "%s must be '%s' or '%s', not '%.64s'", f->name, f->choices[0],
                       f->choices[1], value);
    return mw_fail(error, MW_ERR_ARGUMENT, "%s must be %s from %g to %g%s, not '%.64s'", f->name,
                   f->kind == LIST    ? "three whole numbers with commas, each"
                   : f->kind == WHOLE ? "a whole number"
                                      : "a number",
                   f->low, f->high, f->automatic ? ", or 'auto'" : "", value);
}

/* Names the settings of the group that was meant, or of the first one and how to see all. */
static mw_status unknown(const char *assignment, mw_error *error) {
    char known[400] = "";
    const char *group = fields[0].name;
    for (int i = 0; i < FIELDS; i++)
        if (!strncmp(assignment, fields[i].name, strcspn(fields[i].name, ".") + 1)) group = fields[i].name;
    const size_t dot = strcspn(group, ".") + 1;
    for (int i = 0; i < FIELDS; i++) {
        const size_t used = strlen(known);
        if (!strncmp(group, fields[i].name, dot))
            snprintf(known + used, sizeof known - used, " %s", fields[i].name + (used ? dot : 0));
    }
    return mw_fail(error, MW_ERR_ARGUMENT,
                   "'%.40s' sets nothing; name=value with:%s (all: mawam train --list-settings)", assignment,
                   known);
}

mw_status mw_training_preset_set(mw_training_preset *preset, const char *assignment, mw_error *error) {
    const size_t length = strcspn(assignment, "=");
    const field *f = NULL;
    for (int i = 0; i < FIELDS && assignment[length]; i++)
        if (strlen(fields[i].name) == length && !strncmp(fields[i].name, assignment, length)) f = &fields[i];
    if (!f) return unknown(assignment, error);
    const char *value = assignment + length + 1;
    void *at = (char *)preset + f->at;
    double number;
    if (f->kind == CHOICE) {
        const bool first = !strcmp(value, f->choices[0]);
        if (!first && strcmp(value, f->choices[1])) return bad_value(f, value, error);
        *(int *)at = !first;
        const int slots[] = {mw_world_config_default().slots, mw_world_config_paper().slots};
        if (at == &preset->world.paper && preset->world.slots == slots[first]) /* the other variant's own */
            preset->world.slots = slots[!first];
    } else if (f->kind == LIST) {
        if (!parse_list(value, f, at)) return bad_value(f, value, error);
    } else if (f->automatic && !strcmp(value, "auto")) {
        *(double *)at = automatic_value(f);
    } else {
        if (!parse_number(value, f, &number)) return bad_value(f, value, error);
        if (f->kind == WHOLE)
            *(int *)at = (int)number;
        else
            *(double *)at = number;
    }
    return MW_OK;
}

mw_status mw_training_preset_check(const mw_training_preset *p, mw_error *error) {
    const int time = p->policy.context + p->policy.generated;
    if (time % 4)
        return mw_fail(error, MW_ERR_ARGUMENT,
                       "policy.context %d + policy.generated %d is %d, which is not divisible by 4",
                       p->policy.context, p->policy.generated, time);
    if (p->plan.horizon > p->policy.generated)
        return mw_fail(error, MW_ERR_ARGUMENT, "plan.horizon %d is more than policy.generated %d",
                       p->plan.horizon, p->policy.generated);
    if (p->world.top_k > p->world.reward_experts)
        return mw_fail(error, MW_ERR_ARGUMENT, "world.top_k %d is more than world.reward_experts %d",
                       p->world.top_k, p->world.reward_experts);
    if (p->plan.advantage > 0 && p->advantage.features == 0)
        return mw_fail(error, MW_ERR_ARGUMENT, "plan.advantage is %g, but advantage.features is 0",
                       p->plan.advantage);
    return MW_OK;
}

/* ---- out ----------------------------------------------------------------------------------------------- */

static json_t *field_json(const mw_training_preset *preset, const field *f) {
    const void *at = (const char *)preset + f->at;
    const int *whole = at;
    if (f->kind == CHOICE) return json_string(f->choices[*whole]);
    if (f->kind == LIST) return json_pack("[i,i,i]", whole[0], whole[1], whole[2]);
    if (f->kind == WHOLE) return json_integer(*whole);
    const double value = *(const double *)at;
    return is_automatic(f, value) ? json_string("auto") : json_real(value);
}

json_t *mw_training_preset_json(const mw_training_preset *preset) {
    json_t *object = json_object();
    for (int i = 0; i < FIELDS; i++)
        if (json_object_set_new(object, fields[i].name, field_json(preset, &fields[i])) != 0) {
            json_decref(object);
            return NULL;
        }
    return object;
}

const char *mw_training_preset_difference(const json_t *a, const json_t *b) {
    for (int i = 0; i < FIELDS; i++) {
        if (!strncmp(fields[i].name, "plan.", 5)) continue;
        if (!json_equal(json_object_get(a, fields[i].name), json_object_get(b, fields[i].name)))
            return fields[i].name;
    }
    return NULL;
}

/* A choice that settings do not name is younger than they are: it was off. */
static bool same_value(const json_t *a, const json_t *b, const field *f) {
    const json_t *const values[2] = {json_object_get(a, f->name), json_object_get(b, f->name)};
    const char *named = json_string_value(values[values[0] ? 0 : 1]);
    if (f->kind == CHOICE && named && !values[0] != !values[1]) return !strcmp(named, f->choices[0]);
    return json_equal(values[0], values[1]);
}

bool mw_training_preset_same_part(const json_t *a, const json_t *b, const char *part) {
    for (int i = 0; i < FIELDS; i++)
        if ((!strncmp(fields[i].name, part, strlen(part)) || !strncmp(fields[i].name, "data.", 5)) &&
            !same_value(a, b, &fields[i]))
            return false;
    return true;
}

static void put_value(FILE *out, const mw_training_preset *preset, const field *f) {
    json_t *value = field_json(preset, f);
    char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
    for (const char *c = text; c && *c; c++) /* lists and words as they are typed */
        if (!strchr("[]\"", *c)) fputc(*c, out);
    free(text);
    json_decref(value);
}

static void put_range(FILE *out, const field *f) {
    if (f->kind == CHOICE)
        fprintf(out, "%s, %s", f->choices[0], f->choices[1]);
    else
        fprintf(out, "%g to %g%s", f->low, f->high, f->automatic ? ", auto" : "");
}

void mw_training_preset_list(FILE *out) {
    static const char *const columns[] = {"policy.dim",
                                          "policy.mults",
                                          "policy.context",
                                          "policy.generated",
                                          "policy.scale",
                                          "policy.steps",
                                          "policy.batch",
                                          "policy.rate",
                                          "world.variant",
                                          "world.hidden",
                                          "world.dynamics_features",
                                          "world.everyone",
                                          "world.steps",
                                          "world.batch",
                                          "world.run",
                                          "world.rate",
                                          "plan.horizon",
                                          "plan.explore",
                                          "plan.blend",
                                          "plan.carry",
                                          "plan.return_to_go",
                                          "advantage.features",
                                          "plan.advantage"};
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    fputs("| task |", out);
    for (int c = 0; c < COLUMNS; c++) fprintf(out, " %s |", columns[c]);
    fputs("\n|---|", out);
    for (int c = 0; c < COLUMNS; c++) fputs("---|", out);
    for (int r = 0; r < ROWS; r++) {
        fprintf(out, "\n| %s |", rows[r].task);
        const mw_training_preset full = mw_training_preset_of(rows[r].task, MW_BUDGET_FULL),
                                 quick = mw_training_preset_of(rows[r].task, MW_BUDGET_QUICK);
        for (int c = 0; c < COLUMNS; c++)
            for (int i = 0; i < FIELDS; i++) {
                if (strcmp(fields[i].name, columns[c])) continue;
                fputc(' ', out);
                put_value(out, &full, &fields[i]);
                if (strstr(columns[c], ".steps")) {
                    fputs(" (quick ", out);
                    put_value(out, &quick, &fields[i]);
                    fputc(')', out);
                }
                fputs(" |", out);
            }
    }
    const mw_training_preset common = mw_training_preset_of(rows[ROWS - 1].task, MW_BUDGET_FULL);
    fputs("\n\n| setting | default | range | what it is |\n|---|---|---|---|\n", out);
    for (int i = 0; i < FIELDS; i++) {
        fprintf(out, "| %s | ", fields[i].name);
        put_value(out, &common, &fields[i]);
        fputs(" | ", out);
        put_range(out, &fields[i]);
        fprintf(out, " | %s |\n", fields[i].summary);
    }
}

mw_policy_config mw_training_preset_policy(const mw_training_preset *p) {
    mw_policy_config config = {.dim = p->policy.dim,
                               .time = p->policy.context + p->policy.generated,
                               .context = p->policy.context,
                               .bins = 5,
                               .project = p->policy.project,
                               .changes = p->policy.changes,
                               .forecast = p->policy.changes ? p->policy.forecast : 0,
                               .scale = (float)p->policy.scale};
    memcpy(config.mults, p->policy.mults, sizeof config.mults);
    return config;
}

mw_inverse_config mw_training_preset_inverse(const mw_training_preset *p) {
    return (mw_inverse_config){
        .ids = p->policy.inverse_ids, .hidden = p->policy.inverse_hidden, .layers = p->policy.inverse_layers};
}

mw_world_config mw_training_preset_world(const mw_training_preset *p) {
    return (mw_world_config){.hidden = p->world.hidden,
                             .experts = p->world.experts,
                             .slots = p->world.slots,
                             .reward_experts = p->world.reward_experts,
                             .top_k = p->world.top_k,
                             .standardise = !p->world.paper,
                             .reward_features = p->world.paper ? 0 : p->world.reward_features,
                             .dynamics_features = p->world.paper ? 0 : p->world.dynamics_features,
                             .shared = p->world.paper ? 0 : p->world.shared,
                             .joint = !p->world.paper && p->world.joint,
                             .everyone = !p->world.paper && p->world.everyone};
}
