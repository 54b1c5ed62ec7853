/* MAC-Flow: a flow over joint actions clones what the team did, and single agents learn to reach in one step
 * what it would draw, while they climb a value that is the mean of their own. The flow is the teacher, and is
 * frozen when its students begin; every student acts on its own observation. */
#include "core/math.h"
#include "data/transition.h"
#include "model/critic.h"
#include "model/draw.h"
#include "model/fit.h"
#include "nn/categorical.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int hidden, frequencies, euler, teacher_steps;
    double teacher_rate, discount, slow, distil;
    mw_fit_settings fit;
} settings;

#define AT(member) offsetof(settings, member)

/* clang-format off */
static const mw_field fields[] = {
    {"hidden",        MW_FIELD_INT,  AT(hidden),        "256",   1, 4096, "width of the two hidden layers of every network", {0}, NULL},
    {"frequencies",   MW_FIELD_INT,  AT(frequencies),   "8",     1, 16,   "of the flow's time, each as a sine and a cosine", {0}, NULL},
    {"euler",         MW_FIELD_INT,  AT(euler),         "10",    1, MW_SAMPLER_STEPS, "steps of the teacher from noise to a joint action", {0}, NULL},
    {"teacher_steps", MW_FIELD_INT,  AT(teacher_steps), "20000", 1, 1e8,  "training steps of the teacher, before its students'", {0}, NULL},
    {"teacher_rate",  MW_FIELD_REAL, AT(teacher_rate),  "0.001", 0, 1,    "Adam's rate in them, along the same cosine", {0}, NULL},
    {"discount",      MW_FIELD_REAL, AT(discount),      "0.995", 0, 1,    "of what follows", {0}, NULL},
    {"slow",          MW_FIELD_REAL, AT(slow),          "0.995", 1e-3, 0.99999, "how much of the critics' slow copies stays in a step", {0}, NULL},
    {"distil",        MW_FIELD_REAL, AT(distil),        "1",     0, 1e9,  "weight of the teacher beside the critics", {0}, NULL},
    MW_FIT_FIELDS(settings, fit, "joint transitions", "20000", "171", "0.0003", "0"),
    MW_SHARDS_FIELD(settings, fit),
};
/* clang-format on */
_Static_assert(sizeof(settings) <= MW_CONFIG_BYTES, "settings fit into a configuration");

static const mw_constants constants[] = {
    {"3m 8m 5m_vs_6m 2s3z", "discount=0.99 distil=3", "MAC-Flow's release"},
    {"spread tag world", "discount=0.95", "OMAR's code, whose episodes are as short"},
    {NULL, NULL, NULL},
};

typedef struct {
    mw_params params;
    mw_generator teacher, student;
    mw_twin critic; /* real actions: of an action; discrete ones: of all, and rows are the view alone */
} network;

enum { TEACHER, CRITIC, STUDENT };

static const settings *settings_of(const mw_model *model) {
    return (const settings *)(const void *)&model->config;
}

static const network *network_of(const mw_model *model) {
    return model->net;
}

static void add_critics(mw_twin *t, mw_params *p, const mw_model_shape *shape, int hidden) {
    t->act = shape->discrete ? 0 : shape->act;
    t->inputs = shape->obs + shape->agents + t->act;
    for (int j = 0; j < 2; j++)
        t->mlp[j] = mw_mlp_hidden(p, mw_name_of("q%d", j + 1).text, t->inputs, hidden, 2,
                                  shape->discrete ? shape->act : 1, MW_RELU);
}

static mw_status make(mw_model *model, mw_error *error) {
    const settings *s = settings_of(model);
    const mw_model_shape *shape = &model->shape;
    network *net = model->net = calloc(1, sizeof *net);
    if (!net) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a flow, critics and students");
    mw_params *p = &net->params;
    model->params = p;
    mw_generator_form form = {
        .team = true, .times = 1, .frequencies = s->frequencies, .hidden = s->hidden, .layers = 2};
    mw_generator_add(&net->teacher, p, "teacher", shape, &form);
    add_critics(&net->critic, p, shape, s->hidden);
    form.team = false;
    form.times = 0;
    mw_generator_add(&net->student, p, "student", shape, &form);
    const mw_units units = mw_units_add(p, "scale", shape->obs);
    mw_generator_see(&net->teacher, &units, shape, true);
    mw_generator_see(&net->student, &units, shape, false);
    net->critic.view = net->student.view;
    return p->failed ? mw_fail(error, MW_ERR_MEMORY, "cannot allocate the students' table") : MW_OK;
}

static void discard(mw_model *model) {
    if (model->net) mw_params_free(&((network *)model->net)->params);
    free(model->net);
}

static void pack_group(const mw_model *model, int group, const float *values, float *packed, bool backward) {
    const network *net = network_of(model);
    if (group == CRITIC)
        mw_twin_pack(&net->critic, values, packed, backward);
    else
        mw_mlp_pack(group == TEACHER ? &net->teacher.mlp : &net->student.mlp, values, packed, backward);
}

static void pack(const mw_model *model, const float *values, float *packed, bool backward) {
    for (int group = TEACHER; group <= STUDENT; group++) pack_group(model, group, values, packed, backward);
}

/* ---- training ---- */

typedef struct {
    mw_episode_set steps;
    float *units; /* [total]: the weights that are not trained, the rest is not read */
    mw_arena arena;
} training;

typedef struct {
    mw_arena arena;
    float *obs, *next_obs, *act, *reward, *end, *flow_noise, *flow_t, *noise, *next_noise;
    int32_t *choice;
    uint8_t *legal, *next_legal;
    float *team;                /* [b][inputs] of the teacher */
    float *x, *next_x;          /* [b][n][inputs] of the student */
    float *row, *next_row, *at; /* [b][n][inputs] of the critics: recorded, next and the student's action */
    float *flow_x, *velocity, *flow_out, *states, *taught;
    float *next_out, *next_act, *next_q, *target, *q1, *q2, *out, *share, *student_q, *climb;
    int32_t *taught_choice, *next_choice;
} batch;

#define IN(member) offsetof(batch, member)

static const mw_slot_field batch_fields[] = {
    {"in.obs", IN(obs), MW_F32, "bno", 0},
    {"in.next_obs", IN(next_obs), MW_F32, "bno", 0},
    {"in.act", IN(act), MW_F32, "bnd", 0},
    {"in.choice", IN(choice), MW_I32, "bn", 'd'},
    {"in.legal", IN(legal), MW_U8, "bnd", 'd'},
    {"in.next_legal", IN(next_legal), MW_U8, "bnd", 'd'},
    {"in.reward", IN(reward), MW_F32, "bn", 0},
    {"in.end", IN(end), MW_F32, "b", 0},
    {"draw.teacher_eps", IN(flow_noise), MW_F32, "bnd", 0},
    {"draw.teacher_t", IN(flow_t), MW_F32, "b", 0},
    {"draw.z", IN(noise), MW_F32, "bnd", 0},
    {"draw.next_z", IN(next_noise), MW_F32, "bnd", 0},
    {"team", IN(team), MW_F32, "bT", 0},
    {"x", IN(x), MW_F32, "bnX", 0},
    {"next_x", IN(next_x), MW_F32, "bnX", 0},
    {"row", IN(row), MW_F32, "bnC", 0},
    {"next_row", IN(next_row), MW_F32, "bnC", 0},
    {"at", IN(at), MW_F32, "bnC", 0},
    {"velocity", IN(velocity), MW_F32, "bnd", 0},
    {"next_out", IN(next_out), MW_F32, "bnd", 0},
    {"next_q", IN(next_q), MW_F32, "bn", 0},
    {"out.teacher_x_t", IN(flow_x), MW_F32, "bnd", 0},
    {"out.teacher_v", IN(flow_out), MW_F32, "bnd", 0},
    {"out.teacher_steps", IN(states), MW_F32, "Sbnd", 0},
    {"out.teacher_action", IN(taught), MW_F32, "bnd", 'r'},
    {"out.teacher_action", IN(taught_choice), MW_I32, "bn", 'd'},
    {"out.next_action", IN(next_act), MW_F32, "bnd", 'r'},
    {"out.next_action", IN(next_choice), MW_I32, "bn", 'd'},
    {"out.target_q", IN(target), MW_F32, "b", 0},
    {"out.q1_tot", IN(q1), MW_F32, "b", 0},
    {"out.q2_tot", IN(q2), MW_F32, "b", 0},
    {"out.student", IN(out), MW_F32, "bnd", 0},
    {"out.student_prob", IN(share), MW_F32, "bnd", 'd'},
    {"out.student_q", IN(student_q), MW_F32, "b", 0},
    {"out.q_scale", IN(climb), MW_F32, "1", 0},
};

/* Each shard's own. */
typedef struct {
    mw_mlp_acts teacher, student, critic[2];
    float *team, *gradient, *dout, *drow; /* [rows][n d], [rows][n][1 or d], [rows][n][d], of the critics'
                                             rows */
    const float *q[2];                    /* what the critics said last */
} area;

static int extent(const mw_fit *f, char letter) {
    const network *net = network_of(f->model);
    return letter == 'T'   ? net->teacher.inputs
           : letter == 'X' ? net->student.inputs
           : letter == 'C' ? net->critic.inputs
                           : settings_of(f->model)->euler + 1;
}

static mw_status open_training(mw_fit *f, mw_error *error) {
    training *t = f->state;
    const mw_training_data *data = f->data;
    const network *net = network_of(f->model);
    const settings *s = settings_of(f->model);
    const int batch_size = s->fit.batch, rows = batch_size * f->model->shape.agents;
    /* a greatest next action is sought among the legal ones, which must be known */
    MW_TRY(mw_transition_set(&t->steps, data->dataset, &data->split.train,
                             f->model->shape.discrete ? MW_NEED_NEXT_ACTION : MW_NEED_NEXT_OBS, error));
    MW_TRY(mw_arena_create(&t->arena, f->model->params->total * sizeof *t->units, error));
    t->units = mw_arena_floats(&t->arena, f->model->params->total);
    mw_units_set(&net->student.view.units, t->units, data->stats.obs);
    f->groups[CRITIC].decay = (float)s->slow;
    f->rates[TEACHER] = s->teacher_rate;
    f->part.keeps_last = true;
    const double teacher = mw_mlp_flops(&net->teacher.mlp, batch_size),
                 critic = mw_mlp_flops(&net->critic.mlp[0], rows),
                 student = mw_mlp_flops(&net->student.mlp, rows),
                 all = 3 * teacher * s->teacher_steps +
                       (s->euler * teacher + 12 * critic + 4 * student) * s->fit.steps;
    f->part.cost = all / (s->teacher_steps + s->fit.steps);
    return MW_OK;
}

static void close_training(mw_fit *f) {
    training *t = f->state;
    mw_episode_set_free(&t->steps);
    mw_arena_free(&t->arena);
}

static void initialise(mw_fit *f, float *values) {
    mw_units_set(&network_of(f->model)->student.view.units, values, f->data->stats.obs);
}

static void fill(const mw_fit *f, void *slot, uint64_t step, bool held) {
    const training *t = f->state;
    const batch *b = slot;
    const mw_model_shape *s = &f->model->shape;
    const size_t n = (size_t)s->agents, o = (size_t)s->obs, d = (size_t)s->act;
    (void)held; /* there is no validation */
    for (size_t row = 0; row < (size_t)f->settings->batch; row++) {
        mw_rng rng = mw_batch_rng(f->data->seed, step, (int)row, MW_BATCH_TRANSITION);
        const mw_place place = mw_episode_set_draw(&t->steps, &rng);
        mw_transition to = {.obs = b->obs + row * n * o,
                            .next_obs = b->next_obs + row * n * o,
                            .act = b->act + row * n * d,
                            .reward = b->reward + row * n,
                            .end = b->end + row};
        if (s->discrete) {
            to.index = b->choice + row * n;
            to.legal = b->legal + row * n * d;
            to.next_legal = b->next_legal + row * n * d;
        }
        mw_transition_take(&to, f->data->dataset, place);
        mw_rng_fill_normal(&rng, b->flow_noise + row * n * d, n * d);
        mw_rng_fill_normal(&rng, b->noise + row * n * d, n * d);
        mw_rng_fill_normal(&rng, b->next_noise + row * n * d, n * d);
        b->flow_t[row] = mw_rng_float(&rng);
    }
}

/* One time for the whole team. */
static void assemble_team(const mw_fit *f, const batch *b, size_t row) {
    const training *t = f->state;
    const mw_generator *teacher = &network_of(f->model)->teacher;
    const size_t joint = (size_t)(f->model->shape.agents * f->model->shape.obs), d = (size_t)teacher->values;
    float *team = b->team + row * (size_t)teacher->inputs;
    mw_generator_look(teacher, t->units, b->obs + row * joint, team, 1);
    if (f->phase != TEACHER) return;
    mw_path_straight(b->flow_x + row * d, b->velocity + row * d, b->act + row * d, b->flow_noise + row * d,
                     b->flow_t[row], (int)d);
    mw_generator_put(teacher, team, b->flow_x + row * d, 1);
    mw_generator_time(teacher, team, 0, (double)b->flow_t[row]);
}

static void assemble(const mw_fit *f, void *slot) {
    const training *t = f->state;
    const batch *b = slot;
    const network *net = network_of(f->model);
    const size_t n = (size_t)f->model->shape.agents, joint = n * (size_t)f->model->shape.obs,
                 d = (size_t)f->model->shape.act, inputs = (size_t)net->student.inputs,
                 width = (size_t)net->critic.inputs, size = (size_t)f->settings->batch;
    for (size_t row = 0; row < size; row++) assemble_team(f, b, row);
    if (f->phase == TEACHER) return;
    for (size_t row = 0; row < size; row++) {
        const float *obs = b->obs + row * joint, *next = b->next_obs + row * joint,
                    *act = b->act + row * n * d;
        mw_generator_look(&net->student, t->units, obs, b->x + row * n * inputs, 1);
        mw_generator_look(&net->student, t->units, next, b->next_x + row * n * inputs, 1);
        mw_twin_fill(&net->critic, t->units, obs, act, b->row + row * n * width);
        mw_twin_fill(&net->critic, t->units, next, act, b->next_row + row * n * width);
    }
    memcpy(b->at, b->row, size * n * width * sizeof *b->at);
    mw_generator_put(&net->student, b->x, b->noise, (int)(size * n));
    mw_generator_put(&net->student, b->next_x, b->next_noise, (int)(size * n));
}

static void carve(const mw_fit *f, void *own, mw_arena *arena, int rows) {
    area *a = own;
    const network *net = network_of(f->model);
    const int all = rows * f->model->shape.agents, d = f->model->shape.act;
    mw_mlp_acts_take(&net->teacher.mlp, &a->teacher, arena, rows, true);
    mw_mlp_acts_take(&net->student.mlp, &a->student, arena, all, true);
    for (int j = 0; j < 2; j++) mw_mlp_acts_take(&net->critic.mlp[j], &a->critic[j], arena, all, true);
    a->team = mw_arena_floats(arena, (size_t)(all * d));
    a->gradient = mw_arena_floats(arena, (size_t)(all * d));
    a->dout = mw_arena_floats(arena, (size_t)(all * d));
    a->drow = mw_arena_floats(arena, (size_t)(all * net->critic.inputs));
}

/* The rows of a part of a batch. */
typedef struct {
    size_t begin, joint; /* joint ones */
    size_t first, count; /* agents' */
    double all;          /* joint ones of the whole batch */
    size_t n, d;
} span;

static span span_of(const mw_fit *f, int begin, int end) {
    const size_t n = (size_t)f->model->shape.agents;
    return (span){.begin = (size_t)begin,
                  .joint = (size_t)(end - begin),
                  .first = (size_t)begin * n,
                  .count = (size_t)(end - begin) * n,
                  .all = (double)f->settings->batch,
                  .n = n,
                  .d = (size_t)f->model->shape.act};
}

static void teacher_loss(const mw_fit *f, void *slot, void *own, int begin, int end, float *grads,
                         double *losses) {
    area *a = own;
    const batch *b = slot;
    const mw_generator *teacher = &network_of(f->model)->teacher;
    const span s = span_of(f, begin, end);
    const size_t at = s.first * s.d;
    const double share = 1 / (s.all * (double)(s.n * s.d));
    losses[0] = share * mw_generator_loss(teacher, &a->teacher, f->shards.optimizer.values, f->shards.packed,
                                          b->team + s.begin * (size_t)teacher->inputs, b->velocity + at,
                                          b->flow_out + at, (int)s.joint, (float)share, grads);
}

/* The next actions of the students, and what the slow critics say of them, as a mean of both: next_q. */
static void look_ahead(const mw_fit *f, const batch *b, area *a, span s) {
    const network *net = network_of(f->model);
    const float *x = b->next_x + s.first * (size_t)net->student.inputs;
    float *rows = b->next_row + s.first * (size_t)net->critic.inputs, *out = b->next_out + s.first * s.d;
    memcpy(out,
           mw_mlp_forward(&net->student.mlp, &a->student, x, f->shards.optimizer.values, f->shards.packed,
                          (int)s.count),
           s.count * s.d * sizeof *out);
    if (f->model->shape.discrete)
        for (size_t row = 0; row < s.count; row++)
            b->next_choice[s.first + row] =
                mw_categorical_best(out + row * s.d, b->next_legal + (s.first + row) * s.d, (int)s.d);
    else {
        float *act = b->next_act + s.first * s.d;
        mw_clip_actions(act, out, s.count * s.d);
        mw_twin_put(&net->critic, rows, act, (int)s.count);
    }
    for (int j = 0; j < 2; j++) {
        const float *q = mw_mlp_forward(&net->critic.mlp[j], &a->critic[j], rows, f->target, f->target_packed,
                                        (int)s.count);
        for (size_t row = 0; row < s.count; row++) {
            const size_t at = s.first + row;
            const float value = f->model->shape.discrete ? q[row * s.d + (size_t)b->next_choice[at]] : q[row];
            b->next_q[at] = (j ? b->next_q[at] : 0) + 0.5f * value;
        }
    }
}

/* target = the team's r + discount * its next value; nothing follows an end. */
static void find_targets(const mw_fit *f, const batch *b, span s) {
    const float discount = (float)settings_of(f->model)->discount;
    for (size_t row = s.begin; row < s.begin + s.joint; row++) {
        float reward = 0, next = 0;
        for (size_t i = row * s.n; i < (row + 1) * s.n; i++) {
            reward += b->reward[i];
            next += b->next_q[i];
        }
        b->target[row] = (reward + discount * (1 - b->end[row]) * next) / (float)s.n;
    }
}

static void critic_loss(const mw_fit *f, void *slot, void *own, int begin, int end, float *grads,
                        double *losses) {
    const batch *b = slot;
    area *a = own;
    const mw_twin *twin = &network_of(f->model)->critic;
    const span s = span_of(f, begin, end);
    const bool discrete = f->model->shape.discrete;
    const size_t outputs = discrete ? s.d : 1;
    const float *rows = b->row + s.first * (size_t)twin->inputs;
    double sum = 0;
    look_ahead(f, b, a, s);
    find_targets(f, b, s);
    for (int j = 0; j < 2; j++) {
        const float *q = mw_mlp_forward(&twin->mlp[j], &a->critic[j], rows, f->shards.optimizer.values,
                                        f->shards.packed, (int)s.count);
        memset(a->gradient, 0, s.count * outputs * sizeof *a->gradient);
        for (size_t row = 0; row < s.joint; row++) {
            float total = 0;
            for (size_t i = row * s.n; i < (row + 1) * s.n; i++)
                total += q[i * outputs + (discrete ? (size_t)b->choice[s.first + i] : 0)];
            total /= (float)s.n;
            (j ? b->q2 : b->q1)[s.begin + row] = total;
            const float off = total - b->target[s.begin + row];
            sum += (double)(off * off);
            for (size_t i = row * s.n; i < (row + 1) * s.n; i++)
                a->gradient[i * outputs + (discrete ? (size_t)b->choice[s.first + i] : 0)] =
                    2 * off / (float)(s.all * (double)s.n);
        }
        if (grads)
            mw_mlp_backward(&twin->mlp[j], &a->critic[j], NULL, grads, a->gradient, rows, f->shards.packed,
                            (int)s.count);
    }
    losses[1] = sum / s.all;
}

/* What the teacher would do from the students' noise. */
static void ask_teacher(const mw_fit *f, const batch *b, area *a, span s) {
    const mw_generator *teacher = &network_of(f->model)->teacher;
    const mw_sampler sampler = mw_sampler_straight(settings_of(f->model)->euler);
    const size_t at = s.first * s.d, all = (size_t)s.all * s.n * s.d;
    memcpy(a->team, b->noise + at, s.count * s.d * sizeof *a->team);
    mw_generator_sample(teacher, &sampler, &a->teacher, f->shards.optimizer.values, f->shards.packed,
                        b->team + s.begin * (size_t)teacher->inputs, a->team, (int)s.joint, b->states + at,
                        all);
    if (!f->model->shape.discrete) {
        mw_clip_actions(b->taught + at, a->team, s.count * s.d);
        return;
    }
    for (size_t row = 0; row < s.count; row++)
        b->taught_choice[s.first + row] =
            mw_categorical_best(a->team + row * s.d, b->legal + at + row * s.d, (int)s.d);
}

/* What an agent's critic says to what its student does; discrete actions: in the mean over them. */
static float worth(const batch *b, const mw_fit *f, const float *q, size_t row, span s) {
    if (!f->model->shape.discrete) return q[row];
    const float *share = b->share + (s.first + row) * s.d;
    float sum = 0;
    for (size_t k = 0; k < s.d; k++) sum += share[k] * q[row * s.d + k];
    return sum;
}

static void share_out(const batch *b, size_t row, size_t d) {
    const float *out = b->out + row * d;
    const uint8_t *legal = b->legal + row * d;
    const float total = mw_categorical_total(out, legal, (int)d);
    for (size_t k = 0; k < d; k++)
        b->share[row * d + k] = legal[k] ? (float)mw_exp((double)(out[k] - total)) : 0;
}

static void student_look(const mw_fit *f, void *slot, void *own, int begin, int end) {
    const batch *b = slot;
    area *a = own;
    const network *net = network_of(f->model);
    const span s = span_of(f, begin, end);
    const float *values = f->shards.optimizer.values, *packed = f->shards.packed;
    float *out = b->out + s.first * s.d, *rows = b->at + s.first * (size_t)net->critic.inputs;
    ask_teacher(f, b, a, s);
    memcpy(out,
           mw_mlp_forward(&net->student.mlp, &a->student, b->x + s.first * (size_t)net->student.inputs,
                          values, packed, (int)s.count),
           s.count * s.d * sizeof *out);
    if (f->model->shape.discrete)
        for (size_t row = s.first; row < s.first + s.count; row++) share_out(b, row, s.d);
    else {
        mw_clip_actions(a->dout, out, s.count * s.d);
        mw_twin_put(&net->critic, rows, a->dout, (int)s.count);
    }
    memset(b->student_q + s.begin, 0, s.joint * sizeof *b->student_q);
    for (int j = 0; j < 2; j++) {
        const float *q = a->q[j] =
            mw_mlp_forward(&net->critic.mlp[j], &a->critic[j], rows, values, packed, (int)s.count);
        for (size_t row = 0; row < s.count; row++)
            b->student_q[s.begin + row / s.n] += worth(b, f, q, row, s) / (2 * (float)s.n);
    }
}

/* Real actions climb by one weight for the whole batch, without a gradient: with one, values of one sign
 * would have none. */
static void student_settle(const mw_fit *f, void *slot, double *losses) {
    const batch *b = slot;
    const size_t all = (size_t)f->settings->batch;
    double size = 0, sum = 0;
    for (size_t row = 0; row < all; row++) {
        size += fabs((double)b->student_q[row]);
        sum += (double)b->student_q[row];
    }
    b->climb[0] = f->model->shape.discrete ? 1 : (float)(1 / fmax(size / (double)all, 1e-8));
    losses[2] = losses[3] = -(double)b->climb[0] * sum / (double)all;
    losses[5] = sum / (double)all;
}

/* dout[rows][d] of both terms; returns the sum of the distances from the teacher. */
static double real_gradient(const mw_fit *f, const batch *b, area *a, span s) {
    const mw_twin *twin = &network_of(f->model)->critic;
    const float *out = b->out + s.first * s.d, *taught = b->taught + s.first * s.d;
    const double share = 1 / (s.all * (double)(s.n * s.d)), distil = settings_of(f->model)->distil;
    double sum = 0;
    memset(a->dout, 0, s.count * s.d * sizeof *a->dout);
    for (size_t row = 0; row < s.count; row++)
        a->gradient[row] = -b->climb[0] / (float)(s.all * 2 * (double)s.n);
    for (int j = 0; j < 2; j++) {
        mw_mlp_backward(&twin->mlp[j], &a->critic[j], a->drow, NULL, a->gradient,
                        b->at + s.first * (size_t)twin->inputs, f->shards.packed, (int)s.count);
        mw_twin_take(twin, a->dout, a->drow, (int)s.count);
    }
    for (size_t k = 0; k < s.count * s.d; k++) {
        const float off = out[k] - taught[k];
        if (fabsf(out[k]) > 1) a->dout[k] = 0; /* critics saw it clipped */
        a->dout[k] += (float)(2 * distil * share) * off;
        sum += (double)(off * off);
    }
    return sum * share;
}

static double discrete_gradient(const mw_fit *f, const batch *b, area *a, span s) {
    const double each = 1 / (s.all * (double)s.n), distil = settings_of(f->model)->distil;
    double sum = 0;
    for (size_t row = 0; row < s.count; row++) {
        const float *share = b->share + (s.first + row) * s.d, *q1 = a->q[0] + row * s.d,
                    *q2 = a->q[1] + row * s.d;
        float *dout = a->dout + row * s.d, mean = 0;
        for (size_t k = 0; k < s.d; k++) mean += share[k] * 0.5f * (q1[k] + q2[k]);
        const size_t taught = (size_t)b->taught_choice[s.first + row];
        sum -= (double)mw_categorical_log(b->out + (s.first + row) * s.d, b->legal + (s.first + row) * s.d,
                                          (int)s.d, (int32_t)taught);
        for (size_t k = 0; k < s.d; k++) {
            const float climb = share[k] * (0.5f * (q1[k] + q2[k]) - mean);
            dout[k] = (float)each * ((float)distil * (share[k] - (k == taught)) - climb);
        }
    }
    return sum * each;
}

static void student_loss(const mw_fit *f, void *slot, void *own, int begin, int end, float *grads,
                         double *losses) {
    const batch *b = slot;
    area *a = own;
    const network *net = network_of(f->model);
    const span s = span_of(f, begin, end);
    losses[4] = (f->model->shape.discrete ? discrete_gradient : real_gradient)(f, b, a, s);
    losses[2] = settings_of(f->model)->distil * losses[4];
    if (grads)
        mw_mlp_backward(&net->student.mlp, &a->student, NULL, grads, a->dout,
                        b->x + s.first * (size_t)net->student.inputs, f->shards.packed, (int)s.count);
}

static const mw_turn teaching = {.group = TEACHER, .loss = teacher_loss};

static const mw_turn learning[] = {
    {.group = CRITIC, .loss = critic_loss},
    {.group = STUDENT, .look = student_look, .settle = student_settle, .loss = student_loss},
};

static const mw_phase phases[] = {
    {.steps = AT(teacher_steps), .turns = &teaching, .turn_count = 1},
    {.turns = learning, .turn_count = 2},
};

static const mw_fit_class fit_class = {
    .settings = AT(fit),
    .state = sizeof(training),
    .slot = sizeof(batch),
    .area = sizeof(area),
    .losses = 6,
    .loss_names = {"teacher", "critic", "student", "climb", "distilling", "q"},
    .apart = true,
    .targets = true,
    .groups = {"teacher", "q1", "student"},
    .stream = 2,
    .open = open_training,
    .close = close_training,
    .fields = batch_fields,
    .field_count = sizeof batch_fields / sizeof *batch_fields,
    .extent = extent,
    .initialise = initialise,
    .fill = fill,
    .assemble = assemble,
    .phases = phases,
    .phase_count = 2,
    .carve = carve,
    .pack = pack_group,
};

/* ---- play ---- */

static void draws(const mw_model *model, mw_draw_head *head) {
    *head = (mw_draw_head){.generator = &network_of(model)->student,
                           .sampler = mw_sampler_once(0, 1),
                           .still = true,
                           .candidates = 1};
}

static const mw_policy_class policy_class = {
    .help = "MAC-Flow: in one step what a flow over joint actions would draw, where critics like it",
    .sees = "own",
    .source = "Lee and others 2025",
    .certain = "as the release and the paper's formulas; without recurrence, and with a joint teacher",
    .draws = draws,
    .create = mw_draw_policy_create,
    .act = mw_draw_policy_act,
    .destroy = mw_draw_policy_destroy,
};

const mw_model_class mw_macflow_class = {
    .name = "macflow",
    .help = "MAC-Flow: a flow over joint actions, and students that do it in one step and climb critics",
    .fields = MW_FIELDS(fields),
    .constants = constants,
    .make = make,
    .discard = discard,
    .pack = pack,
    .fit = MW_LEARNS(&fit_class),
    .policy = &policy_class,
};
