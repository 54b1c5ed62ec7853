/* Methods that clone or learn a critic against recorded numbers: one table says how a record's names are
 * ours, and one walk over a method's own tables compares what a batch leads to, every turn's gradient and the
 * weights after some rounds. */
#ifndef MW_VERIFY_BASELINES_H
#define MW_VERIFY_BASELINES_H

#include "model/fit.h"
#include "verify/record.h"

#define MW_BASELINE_OUTPUT_TOLERANCE     2e-5
#define MW_BASELINE_DIFFERENCE_TOLERANCE 1e-3
#define MW_BASELINE_ADAM_TOLERANCE       1e-4

/* One record under comparison. */
typedef struct mw_baseline_check {
    mw_record *record;
    mw_verify *report;
    const struct mw_recorded_method *method;
    mw_model *model;
    mw_pool *pool;
    mw_training_part *part;
    mw_fit *fit; /* the same part */
    /* One short episode of zeros: batches come from the record. */
    mw_training_data data;
    mw_dataset dataset;
    mw_moments *moments;
    float *zeros, *grads;
    int32_t *choices;
    uint8_t *legal;
    bool *compared; /* [tensors of the record] */
    int64_t length, offsets[2];
    long episode;
    int64_t starts[2];
    uint8_t outcome;
} mw_baseline_check;

/* A loss by its name in the record: out.NAME at the recorded weights, out.rounds_NAME in the rounds. */
typedef struct mw_recorded_loss {
    const char *name;
    int phase, turn, index; /* of the method's losses */
} mw_recorded_loss;

/* A recorded tensor that this build has nothing to compare with, and why. */
typedef struct mw_recorded_left {
    const char *tensor, *why;
} mw_recorded_left;

typedef struct mw_recorded_method {
    const char *kind;     /* how the record's own name for itself begins */
    const char *model;    /* ours */
    const char *settings; /* "field=value ...", or "field=@key": the record's metadata, "field=1-@key";
                             "@key?" may be missing;
                             "field=@in.NAME": the first extent of that tensor */
    mw_recorded_loss losses[6];
    mw_recorded_left left[4];
    /* Instead of all that, for records of a network that is not ours; NULL: the tables tell. */
    mw_status (*apart)(mw_baseline_check *check, mw_error *error);
    /* What the tables do not tell: samplers, acting; NULL: nothing. */
    mw_status (*more)(mw_baseline_check *check, mw_error *error);
    /* What a batch holds that follows from more than its rows; NULL: nothing. */
    mw_status (*prepare)(mw_baseline_check *check, void *slot, mw_error *error);
    double outputs, weights; /* tolerances; 0: those above */
} mw_recorded_method;

/* The array of a field of a batch. */
void *mw_baseline_array(const mw_baseline_check *check, void *slot, const char *name);

/* Tensor NAME counts as compared. What of out., grad. and weights after some rounds never is, fails. */
void mw_baseline_compared(const mw_baseline_check *check, const char *name);

/* Compares count values with tensor out.NAME, if the record has it. */
mw_status mw_baseline_compare(const mw_baseline_check *check, const char *name, const float *seen,
                              size_t count, mw_error *error);

/* How MADT plays, step by step. */
mw_status mw_baseline_madt(mw_baseline_check *check, mw_error *error);

/* Methods whose records are checked apart. */
mw_status mw_baseline_diffusion(mw_baseline_check *check, mw_error *error);
/* What policies that draw do with the recorded noise; baselines_draw.c. */
mw_status mw_baseline_flowbc(mw_baseline_check *check, mw_error *error);
mw_status mw_baseline_macflow(mw_baseline_check *check, mw_error *error);
mw_status mw_baseline_vgm2p(mw_baseline_check *check, mw_error *error);
mw_status mw_baseline_dom2(mw_baseline_check *check, mw_error *error);
mw_status mw_baseline_sfbc_select(mw_baseline_check *check, mw_error *error);

/* Planning backwards; baselines_sfbc.c. */
mw_status mw_baseline_sfbc_prepare(mw_baseline_check *check, void *slot, mw_error *error);
mw_status mw_baseline_sfbc(mw_baseline_check *check, mw_error *error);

#endif
