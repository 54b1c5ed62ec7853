/* Learning by minibatches; see fit.h. */
#include "model/fit.h"

#include "data/transition.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- steps ---- */

static int phases_of(const mw_fit_class *kind) {
    return kind->phase_count > 0 ? kind->phase_count : 1;
}

static const mw_phase *phase_of(const mw_fit *f) {
    return &f->kind->phases[f->phase];
}

static int int_at(const mw_fit *f, size_t at) {
    return *(const int *)(const void *)(f->model->config.bytes + at);
}

static int batch_of(const mw_fit *f, int phase) {
    const size_t at = f->kind->phases ? f->kind->phases[phase].batch : 0;
    return at ? int_at(f, at) : f->settings->batch;
}

static void *area_at(const mw_fit *f, int area) {
    return f->areas + (size_t)area * f->kind->area;
}

static void carve_area(void *context, mw_arena *arena, int area) {
    const mw_fit *f = context;
    f->kind->carve(f, area_at(f, area), arena, f->shards.size);
}

static void pack_groups(mw_fit *f) {
    const mw_optimizer *o = &f->shards.optimizer;
    for (int g = 0; f->kind->pack && g < o->groups; g++)
        if (f->stale & 1u << g) f->kind->pack(f->model, g, o->values, f->shards.packed, true);
    if (!f->kind->pack && f->stale) f->model->kind->pack(f->model, o->values, f->shards.packed, true);
    f->stale = 0;
    if (f->target_packed && f->target_stale)
        f->model->kind->pack(f->model, f->target, f->target_packed, false);
    f->target_stale = false;
}

static void pack_turn(void *context, int worker) {
    mw_fit *f = context;
    if (worker > 0) return;
    pack_groups(f);
    if (f->turn->before) f->turn->before(f, f->batch);
}

static double look_shard(void *context, int area, int begin, int end, float *grads) {
    const mw_fit *f = context;
    (void)grads;
    f->turn->look(f, f->batch, area_at(f, area), begin, end);
    return 0;
}

static void settle_turn(void *context) {
    mw_fit *f = context;
    f->turn->settle(f, f->batch, f->settled);
}

static double shard_loss(void *context, int area, int begin, int end, float *grads) {
    const mw_fit *f = context;
    double *losses = f->losses[begin / f->shards.size];
    f->turn->loss(f, f->batch, area_at(f, area), begin, end, grads, losses);
    return mw_training_part_loss(&f->part, losses);
}

void mw_fit_turn(mw_fit *f, int turn, void *slot, mw_step what, double *losses) {
    const mw_turn *t = f->turn = &phase_of(f)->turns[turn];
    const int shards = f->shards.optimizer.shards;
    if (what != MW_STEP_UPDATE) mw_fit_refresh(f); /* somebody may look at weights of his own */
    f->batch = slot;
    memset(f->losses, 0, (size_t)shards * sizeof *f->losses);
    memset(f->settled, 0, sizeof f->settled);
    mw_shards_step(&f->shards, batch_of(f, f->phase), what,
                   &(mw_shards_turn){.group = t->group,
                                     .pack = pack_turn,
                                     .look = t->look ? look_shard : NULL,
                                     .settle = t->settle ? settle_turn : NULL,
                                     .part = shard_loss},
                   f);
    for (int i = 0; i < f->part.losses; i++) {
        losses[i] += f->settled[i];
        for (int shard = 0; shard < shards; shard++) losses[i] += f->losses[shard][i];
    }
    if (what != MW_STEP_UPDATE) return;
    f->stale |= 1u << t->group;
    f->target_stale |= !f->shards.optimizer.group[t->group].waits;
}

/* Is what comes every so many steps due in this one? */
static bool is_due(const mw_fit *f, size_t period) {
    return !period || (f->part.step - f->phase_begin + 1) % int_at(f, period) == 0;
}

void mw_fit_run(mw_fit *f, void *slot, mw_step what, double *losses) {
    memset(losses, 0, (size_t)f->part.losses * sizeof *losses);
    if (f->kind->run) {
        f->kind->run(f, slot, what, losses);
        return;
    }
    const mw_phase *phase = phase_of(f);
    unsigned learning = 0;
    for (int i = 0; i < phase->turn_count; i++) {
        double own[MW_LOSSES] = {0};
        const size_t period = what == MW_STEP_UPDATE ? phase->turns[i].period : 0;
        learning |= 1u << phase->turns[i].group;
        if (!is_due(f, period)) continue;
        mw_fit_turn(f, i, slot, what, own);
        for (int k = 0; k < f->part.losses; k++) /* means over steps are those over its turns */
            losses[k] += own[k] * (period ? int_at(f, period) : 1);
    }
    if (what != MW_STEP_UPDATE || !f->shards.optimizer.group[0].waits || !is_due(f, phase->follow)) return;
    mw_shards_follow(&f->shards, learning);
    f->target_stale = true;
}

void mw_fit_refresh(mw_fit *f) {
    f->stale = ~0u;
    f->target_stale = true;
}

/* ---- phases ---- */

static long steps_of(const mw_fit *f, int phase) {
    const size_t at = f->kind->phases ? f->kind->phases[phase].steps : 0;
    return at ? int_at(f, at) : f->settings->steps;
}

void mw_fit_fill(const mw_fit *f, void *slot, uint64_t step, bool held) {
    f->kind->fill(f, slot, step, held);
    if (f->kind->assemble) f->kind->assemble(f, slot);
}

static void prefetch_fill(void *context, uint64_t step, void *batch) {
    const mw_fit *f = context;
    if ((long)step < f->phase_end) mw_fit_fill(f, batch, step, false); /* the next phase has not begun */
}

/* The phase that the next step belongs to begins, or goes on. */
static mw_status enter_phase(mw_fit *f, mw_error *error) {
    f->phase = 0;
    f->phase_begin = 0;
    f->phase_end = steps_of(f, 0);
    while (f->phase + 1 < phases_of(f->kind) && f->part.step >= f->phase_end) {
        f->phase_begin = f->phase_end;
        f->phase_end += steps_of(f, ++f->phase);
    }
    mw_fit_refresh(f);
    if (f->kind->phases && phase_of(f)->enter) MW_TRY(phase_of(f)->enter(f, error));
    return mw_prefetch_create(&f->prefetch, prefetch_fill, f, f->slots[0], f->slots[1],
                              (uint64_t)f->part.step, error);
}

static void leave_phase(mw_fit *f) {
    mw_prefetch_free(f->prefetch);
    f->prefetch = NULL;
}

static mw_status advance(mw_training_part *part, double *losses, mw_error *error) {
    mw_fit *f = (mw_fit *)part;
    const mw_fit_settings *s = f->settings;
    if (part->step >= f->phase_end || !f->prefetch) {
        leave_phase(f);
        MW_TRY(enter_phase(f, error));
    }
    const float along =
        mw_schedule(part->step - f->phase_begin, s->warmup, f->phase_end - f->phase_begin, (float)s->final);
    for (int g = 0; g < part->optimizer->groups; g++)
        part->optimizer->group[g].adam.rate = (float)f->rates[g] * along;
    mw_fit_run(f, mw_prefetch_next(f->prefetch), MW_STEP_UPDATE, losses);
    return MW_OK;
}

/* Twice undoes itself. */
static void swap_average(mw_fit *f) {
    mw_optimizer *o = f->part.optimizer;
    float *values = o->values;
    o->values = o->average;
    o->average = values;
    mw_fit_refresh(f);
}

/* With the weights that planning uses. */
static void validate(mw_training_part *part, double *losses) {
    mw_fit *f = (mw_fit *)part;
    const bool averaged = part->optimizer->average && !part->keeps_last;
    memset(losses, 0, MW_LOSSES * sizeof *losses);
    if (averaged) swap_average(f);
    for (int k = 0; k < f->held_batches; k++) {
        double one[MW_LOSSES] = {0};
        mw_fit_fill(f, f->slots[2], (uint64_t)k, true);
        mw_fit_run(f, f->slots[2], MW_STEP_LOSS, one);
        for (int i = 0; i < part->losses; i++) losses[i] += 1.0 / f->held_batches * one[i];
    }
    if (averaged) swap_average(f);
}

/* ---- batches ---- */

size_t mw_fit_extent(const mw_fit *f, const mw_slot_field *field) {
    const mw_model_shape *s = &f->model->shape;
    size_t size = 1;
    for (const char *letter = field->shape; *letter; letter++) switch (*letter) {
        case 'b':
            size *= (size_t)f->settings->batch;
            break;
        case 'n':
            size *= (size_t)s->agents;
            break;
        case 'o':
            size *= (size_t)s->obs;
            break;
        case 'd':
            size *= (size_t)s->act;
            break;
        default:
            size *= (size_t)(*letter >= '0' && *letter <= '9' ? *letter - '0' : f->kind->extent(f, *letter));
        }
    return size;
}

mw_span mw_span_of(const mw_fit *f, int begin, int end) {
    const size_t n = (size_t)f->model->shape.agents;
    return (mw_span){(size_t)begin * n, (size_t)(end - begin) * n, (size_t)f->settings->batch * n};
}

/* The arena comes first in a slot that has a table. */
static void slot_take(const mw_fit *f, void *slot) {
    mw_arena *arena = slot;
    for (int i = 0; i < f->kind->field_count; i++) {
        const mw_slot_field *field = &f->kind->fields[i];
        if (field->only && (field->only == 'd') != f->model->shape.discrete) continue;
        void *at = mw_arena_take(arena, mw_fit_extent(f, field), mw_dtype_size(field->type));
        memcpy((char *)slot + field->offset, &at, sizeof at);
    }
}

static mw_status slot_open(const mw_fit *f, void *slot, mw_error *error) {
    if (f->kind->slot_open) return f->kind->slot_open(f, slot, error);
    mw_arena *arena = slot;
    slot_take(f, slot);
    MW_TRY(mw_arena_create(arena, arena->used, error));
    slot_take(f, slot);
    return MW_OK;
}

static void slot_close(const mw_fit *f, void *slot) {
    if (f->kind->slot_close)
        f->kind->slot_close(slot);
    else
        mw_arena_free(slot);
}

/* ---- its life ---- */

static mw_status start(mw_training_part *part, mw_error *error) {
    return enter_phase((mw_fit *)part, error);
}

static void stop(mw_training_part *part) {
    leave_phase((mw_fit *)part);
}

static void destroy(mw_training_part *part) {
    mw_fit *f = (mw_fit *)part;
    stop(part);
    for (int i = 0; i < 3; i++) {
        if (f->slots[i]) slot_close(f, f->slots[i]);
        free(f->slots[i]);
    }
    if (f->kind->close && f->state) f->kind->close(f);
    mw_shards_free(&f->shards);
    free(f->areas);
    free(f->losses);
    free(f->state);
    mw_arena_free(&f->best);
    mw_arena_free(&f->target_room);
    free(f);
}

/* Groups run from their first parameter to the next one's. */
static int find_groups(mw_fit *f) {
    const mw_params *params = f->model->params;
    const char *const *first = f->kind->groups;
    const mw_adam adam = {.beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-8f, .clip = (float)f->settings->clip};
    int count = 0;
    while (count < MW_LEARNING_GROUPS && first[count]) {
        size_t at = 0;
        for (int i = params->count - 1; i >= 0; i--)
            if (!strncmp(params->list[i].name, first[count], strlen(first[count])))
                at = params->list[i].offset;
        assert(count ? at > f->groups[count - 1].begin : at == 0);
        f->groups[count] = (mw_group){.adam = adam, .waits = true, .begin = at, .end = params->total};
        if (count) f->groups[count - 1].end = at;
        count++;
    }
    if (count == 0) f->groups[count++] = mw_group_whole(&adam, 0, params->total);
    for (int g = 0; g < count; g++) f->rates[g] = f->settings->rate;
    return count;
}

static mw_status open_shards(mw_fit *f, int groups, mw_error *error) {
    const mw_params *params = f->model->params;
    const int shards = f->settings->shards, threads = mw_pool_threads(f->data->pool);
    int rows = 0;
    for (int i = 0; i < phases_of(f->kind); i++) rows = batch_of(f, i) > rows ? batch_of(f, i) : rows;
    const mw_shards_shape shape = {.total = params->total,
                                   .packed = params->packed,
                                   .groups = f->groups,
                                   .group_count = groups,
                                   .max_rows = rows,
                                   .count = shards,
                                   .apart = f->kind->apart};
    f->areas = calloc((size_t)(f->kind->apart || shards > threads ? shards : threads), f->kind->area);
    f->losses = calloc((size_t)shards, sizeof *f->losses);
    if (!f->areas || !f->losses) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a trainer");
    MW_TRY(mw_shards_create(&f->shards, &shape, f->data->pool, carve_area, f, error));
    f->part.optimizer = &f->shards.optimizer;
    if (!f->kind->targets) return MW_OK;
    MW_TRY(mw_arena_create(&f->target_room, params->packed * sizeof *f->target_packed, error));
    f->target_packed = mw_arena_floats(&f->target_room, params->packed);
    return MW_OK;
}

static mw_status build(mw_fit *f, mw_error *error) {
    const mw_fit_class *kind = f->kind;
    const size_t total = f->model->params->total;
    f->state = calloc(1, kind->state ? kind->state : 1);
    if (!f->state) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a trainer");
    const int groups = find_groups(f);
    if (kind->open) MW_TRY(kind->open(f, error));
    if (kind->phases) MW_TRY(open_shards(f, groups, error));
    for (int i = 0; i < 3; i++) {
        f->slots[i] = calloc(1, kind->slot);
        if (!f->slots[i]) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a batch");
        MW_TRY(slot_open(f, f->slots[i], error));
    }
    if (kind->keeps_best) {
        MW_TRY(mw_arena_create(&f->best, total * sizeof *f->part.best_values, error));
        f->part.best_values = mw_arena_floats(&f->best, total);
    }
    mw_optimizer *o = f->part.optimizer;
    mw_params_init(f->model->params, o->values, 3 * f->data->seed + (uint64_t)kind->stream);
    if (kind->initialise) kind->initialise(f, o->values);
    if (o->average) memcpy(o->average, o->values, total * sizeof *o->values);
    f->target = o->average;
    mw_fit_refresh(f);
    if (f->held_batches > 0) f->part.validate = validate;
    return MW_OK;
}

mw_status mw_fit_create(mw_training_part **out, const mw_model *model, const mw_training_data *data,
                        mw_error *error) {
    const mw_model_class *class = model->kind;
    const mw_fit_class *kind =
        model->shape.discrete && class->fit_discrete ? class->fit_discrete : class->fit;
    mw_fit *f = calloc(1, sizeof *f);
    *out = NULL;
    if (!f) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate the training of the %s", class->name);
    f->kind = kind;
    f->model = model;
    f->data = data;
    f->settings = (const mw_fit_settings *)(const void *)(model->config.bytes + kind->settings);
    f->held_batches = data->split.held.transitions > 0 ? kind->held_batches : 0;
    f->part = (mw_training_part){.name = class->name,
                                 .losses = kind->losses,
                                 .minimised = kind->minimised,
                                 .total = model->params->total,
                                 .start = start,
                                 .advance = advance,
                                 .stop = stop,
                                 .destroy = destroy};
    for (int i = 0; i < phases_of(kind); i++) f->part.steps += steps_of(f, i);
    memcpy(f->part.loss_names, kind->loss_names, sizeof f->part.loss_names);
    const mw_status status = build(f, error);
    if (status != MW_OK) {
        destroy(&f->part);
        return status;
    }
    *out = &f->part;
    return MW_OK;
}

/* ---- batches of joint transitions ---- */

mw_status mw_fit_transitions_open(const mw_fit *f, void *slot, mw_error *error) {
    return mw_transition_rows_create(slot, &f->data->dataset->spec, f->settings->batch, error);
}

void mw_fit_transitions_close(void *slot) {
    mw_transition_rows_free(slot);
}

void mw_fit_transitions_fill(const mw_fit *f, void *slot, uint64_t step, bool held) {
    const mw_training_data *d = f->data;
    mw_transition_fill(slot, f->settings->batch, d->dataset, held ? &d->split.held : &d->split.train, d->seed,
                       step, held ? MW_BATCH_VALIDATION : MW_BATCH_WORLD);
}
