/* The table of all models, and what is the same for each of them; see model.h. */
#include "core/names.h"
#include "model/fit.h"

#include <stdlib.h>
#include <string.h>

/* A row for every model; its file defines mw_NAME_class. The order is that of bundles and of help. First
 * those that planning uses, */
#define PLANNING(ROW)                                                                                        \
    ROW(flow)                                                                                                \
    ROW(inverse)                                                                                             \
    ROW(rwm)                                                                                                 \
    ROW(advantage)                                                                                           \
    ROW(direct)                                                                                              \
    ROW(mono)                                                                                                \
    ROW(independent)                                                                                         \
    ROW(q)                                                                                                   \
    ROW(state_value)

/* then methods of others, which play by themselves; a program that only plans is linked without them. */
#ifdef MAWAM_NO_TRAINING
#define METHODS(ROW)
#else
#define METHODS(ROW)                                                                                         \
    ROW(bc)                                                                                                  \
    ROW(td3bc)                                                                                               \
    ROW(cql)                                                                                                 \
    ROW(omar)                                                                                                \
    ROW(icq)                                                                                                 \
    ROW(madt)                                                                                                \
    ROW(madiff)                                                                                              \
    ROW(dof)                                                                                                 \
    ROW(flowbc)                                                                                              \
    ROW(macflow)                                                                                             \
    ROW(vgm2p)                                                                                               \
    ROW(sfbc)                                                                                                \
    ROW(dom2)
#endif

#define DECLARED(name) extern const mw_model_class mw_##name##_class;
#define LISTED(name)   &mw_##name##_class,

PLANNING(DECLARED)
METHODS(DECLARED)

static const mw_model_class *const classes[] = {PLANNING(LISTED) METHODS(LISTED)};

enum { CLASSES = sizeof classes / sizeof *classes };
_Static_assert((int)CLASSES <= (int)MW_KINDS, "a set of models is a few bits");

const mw_model_class *mw_model_class_at(int index) {
    return index >= 0 && index < CLASSES ? classes[index] : NULL;
}

const char *mw_model_class_name(int index) {
    return index >= 0 && index < CLASSES ? classes[index]->name : NULL;
}

int mw_model_class_for(mw_role role) {
    int i = 0;
    while (i < CLASSES && classes[i]->role != role) i++;
    return i;
}

int mw_model_class_index(const char *name) {
    return mw_names_find(mw_model_class_name, name);
}

/* Rows of classes are read by a test. */
unsigned mw_model_class_parts(int index) {
    unsigned needed = 0;
    if (classes[index]->needs)
        mw_names_parse(&needed, mw_model_class_name, "model", classes[index]->needs, NULL);
    return needed | 1u << index;
}

mw_status mw_model_make(mw_model **out, const mw_model_class *kind, const mw_model_config *config,
                        const mw_model_shape *shape, mw_error *error) {
    *out = NULL;
    if (kind->real_only && shape->discrete)
        return mw_fail(error, MW_ERR_ARGUMENT, "%s is for real actions, and these are discrete", kind->name);
    if (kind->discrete_only && !shape->discrete)
        return mw_fail(error, MW_ERR_ARGUMENT, "%s is for discrete actions, and these are real", kind->name);
    mw_model *model = calloc(1, sizeof *model);
    if (!model) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a model");
    *model = (mw_model){.kind = kind, .shape = *shape, .config = *config};
    const mw_status status = kind->make(model, error);
    if (status != MW_OK) {
        mw_model_free(model);
        return status;
    }
    *out = model;
    return MW_OK;
}

size_t mw_model_bytes(const mw_model *model) {
    mw_arena measured = {0};
    mw_arena_floats(&measured, model->params->total);
    mw_arena_floats(&measured, model->params->packed);
    return measured.used;
}

mw_status mw_model_allocate(mw_model *model, mw_error *error) {
    MW_TRY(mw_arena_create(&model->arena, mw_model_bytes(model), error));
    model->values = mw_arena_floats(&model->arena, model->params->total);
    model->packed = mw_arena_floats(&model->arena, model->params->packed);
    return MW_OK;
}

void mw_model_pack(mw_model *model) {
    if (model->kind->pack) model->kind->pack(model, model->values, model->packed, false);
}

void mw_model_free(mw_model *model) {
    if (!model) return;
    model->kind->discard(model);
    mw_arena_free(&model->arena);
    free(model);
}

mw_status mw_model_train(mw_training_part **part, const mw_model *model, const mw_training_data *data,
                         mw_error *error) {
    return (model->kind->fit ? mw_fit_create : model->kind->train)(part, model, data, error);
}
