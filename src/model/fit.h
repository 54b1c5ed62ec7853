/* Learning by minibatches, the same for every model that does: batches drawn ahead, Adam with its schedule,
 * validation on held-out batches, the best weights. A class says what a batch holds and what its losses are.
 * The weights may learn in groups that take turns within a step, and in phases, one after the other, where a
 * later one finds what the earlier ones learned. */
#ifndef MW_MODEL_FIT_H
#define MW_MODEL_FIT_H

#include "data/prefetch.h"
#include "model/model.h"
#include "nn/shards.h"

/* One model under training. */
typedef struct mw_fit {
    mw_training_part part;
    const mw_fit_class *kind;
    const mw_model *model;
    const mw_training_data *data;
    const mw_fit_settings *settings;
    void *state;      /* the class's own */
    int held_batches; /* of a validation; 0: there is none */
    /* What the groups start with, as the class's groups stand: Adam, decay of the average, rate. */
    mw_group groups[MW_LEARNING_GROUPS];
    double rates[MW_LEARNING_GROUPS]; /* after the warm-up */
    const float *target;              /* the average weights, also while they are validated */
    float *target_packed;             /* their matrices, where the class asks for them */
    void *slots[3];                   /* batches: two in turn for training, one for validation */
    mw_arena best, target_room;       /* weights, where they are kept; matrices */
    mw_prefetch *prefetch;
    int phase; /* under way */
    long phase_begin, phase_end;
    /* in shards */
    mw_shards shards;
    unsigned stale;              /* groups whose matrices are of older weights, 1 << group */
    bool target_stale;           /* the same of the average */
    char *areas;                 /* per worker, or per shard */
    double (*losses)[MW_LOSSES]; /* per shard */
    double settled[MW_LOSSES];   /* what `settle` adds to them */
    const mw_turn *turn;         /* under way */
    void *batch;                 /* of the step under way */
} mw_fit;

/* Something that a batch holds. Batches are allocated, and compared with recorded ones, by tables of these.
 * The name begins with what it is: "in." drawn from the data, "draw." a random number, "out." a result;
 * anything else is room to work in. The shape has a letter for every extent: b joint rows of the batch, n
 * agents, o and d values of an observation and an action, a digit itself, others as `extent` says. */
typedef struct mw_slot_field {
    const char *name;
    size_t offset; /* of the pointer in the slot */
    mw_dtype type; /* MW_F32, MW_I32 or MW_U8 */
    const char *shape;
    char only; /* 'r': where actions are real, 'd': where they are discrete; 0: everywhere */
} mw_slot_field;

/* What a group of weights does in a step. Places in the configuration are offsets within the settings, whose
 * first member is none of these numbers. Functions get the batch, an area, and rows [begin, end). */
struct mw_turn {
    int group;
    size_t period; /* where the configuration says that it comes every so many steps; 0: it comes in each */
    /* By one worker, before anything; optional. */
    void (*before)(const mw_fit *fit, void *slot);
    /* Over all rows before any gradient, and by one worker what depends on the whole batch; both optional.
     * What `settle` adds to the losses is reported with them. */
    void (*look)(const mw_fit *fit, void *slot, void *area, int begin, int end);
    void (*settle)(const mw_fit *fit, void *slot, double *losses);
    /* Losses and, unless grads is NULL, gradient of these rows as their share of the whole. */
    void (*loss)(const mw_fit *fit, void *slot, void *area, int begin, int end, float *grads, double *losses);
};

struct mw_phase {
    size_t steps; /* where their number stands in the configuration; 0: the mw_fit_settings' */
    size_t batch; /* the same of its rows of a batch */
    const mw_turn *turns;
    int turn_count;
    size_t follow; /* the same of its groups' averages that wait, which move after the turns */
    /* Before its first step, and again when a training goes on within it: prepares what follows from the
     * weights of earlier phases. Looks at data->stop; optional. */
    mw_status (*enter)(mw_fit *fit, mw_error *error);
};

/* One phase in which all weights learn at once. */
#define MW_ONE_TURN(...)                                                                                     \
    .phases = &(const mw_phase){.turns = &(const mw_turn){__VA_ARGS__}, .turn_count = 1}, .phase_count = 1

/* Functions that are not said to be optional are not. */
struct mw_fit_class {
    size_t settings;          /* where the mw_fit_settings stand in the configuration */
    size_t state, slot, area; /* bytes of its own state, of a batch, of an area; all start as zeros */
    int losses, minimised;    /* as in mw_training_part */
    const char *loss_names[MW_LOSSES];
    int held_batches; /* where `open` says nothing else */
    bool keeps_best;  /* the weights with the smallest loss on held-out episodes count */
    bool apart;       /* every shard has an area of its own: what `look` left there, `loss` finds */
    bool targets;     /* the average's matrices are wanted as fit->target_packed */
    int stream;       /* initial weights are drawn with 3 * seed + stream */
    /* The first parameter of each group, in the order of the table; NULL: all weights are one. */
    const char *groups[MW_LEARNING_GROUPS];
    /* What must be there before batches: may change groups, rates, held_batches and part. Optional. */
    mw_status (*open)(mw_fit *fit, mw_error *error);
    void (*close)(mw_fit *fit); /* also after a failed open; optional */
    /* What a batch holds: a table, or functions. */
    const mw_slot_field *fields;
    int field_count;
    int (*extent)(const mw_fit *fit, char letter); /* optional */
    mw_status (*slot_open)(const mw_fit *fit, void *slot, mw_error *error);
    void (*slot_close)(void *slot);
    /* What is not drawn at random among the initial weights; optional. */
    void (*initialise)(mw_fit *fit, float *values);
    /* The batch of a training step, or of a validation: a pure function of these and of the phase. */
    void (*fill)(const mw_fit *fit, void *slot, uint64_t step, bool held);
    /* The rest of a batch, from what "in." and "draw." hold; optional. */
    void (*assemble)(const mw_fit *fit, void *slot);

    /* Either losses, which are then computed in shards; */
    const mw_phase *phases;
    int phase_count;
    void (*carve)(const mw_fit *fit, void *area, mw_arena *arena, int rows);
    /* the matrices of a group; NULL: those of the whole model at once. */
    void (*pack)(const mw_model *model, int group, const float *values, float *packed, bool backward);
    /* Or a whole step by a trainer that `open` made, with part.optimizer and part.cost. */
    void (*run)(mw_fit *fit, const void *slot, mw_step what, double *losses);
};

/* The model and the data must outlive it. */
mw_status mw_fit_create(mw_training_part **part, const mw_model *model, const mw_training_data *data,
                        mw_error *error);

/* A whole batch. */
void mw_fit_fill(const mw_fit *fit, void *slot, uint64_t step, bool held);
/* Values of a field of a batch. */
size_t mw_fit_extent(const mw_fit *fit, const mw_slot_field *field);

/* Batches of joint transitions (mw_transition_rows), the same ones for every world model. */
mw_status mw_fit_transitions_open(const mw_fit *fit, void *slot, mw_error *error);
void mw_fit_transitions_close(void *slot);
void mw_fit_transitions_fill(const mw_fit *fit, void *slot, uint64_t step, bool held);

/* One step on a batch, or less of it: all turns of the phase, each as often as it is due. */
void mw_fit_run(mw_fit *fit, void *slot, mw_step what, double *losses);
/* One turn of the phase alone. */
void mw_fit_turn(mw_fit *fit, int turn, void *slot, mw_step what, double *losses);
/* Rows of agents in part of a batch. */
typedef struct mw_span {
    size_t first, count, all; /* all: of the whole batch */
} mw_span;
mw_span mw_span_of(const mw_fit *fit, int begin, int end); /* joint rows [begin, end) */

/* After the weights were changed from outside. */
void mw_fit_refresh(mw_fit *fit);

#endif
