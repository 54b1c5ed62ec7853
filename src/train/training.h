/* A training under way, from its request to its bundle: what its beginning, its loop and its end share. */
#ifndef MW_TRAIN_TRAINING_H
#define MW_TRAIN_TRAINING_H

#include "core/clock.h"
#include "core/file.h"
#include "train/checkpoint.h"
#include "train/train.h"

typedef struct mw_training {
    const mw_training_request *request;
    char checkpoint[1024], log[1024], picture[1024];
    mw_lock lock; /* of the bundle */
    mw_training_data data;
    mw_preset preset; /* settled but for the error of imagined returns */
    mw_bundle_info info;
    char accepted[MW_WORD];     /* rules of the world where the data's are others; "" */
    mw_training_state state;    /* the parts that this training makes; models are owned here */
    mw_model *models[MW_KINDS]; /* of the same parts */
    bool trains[MW_KINDS];      /* of the same: in this run */
    mw_bundle *other;
    bool own_units;                    /* the normalisers are of these data, not the other bundle's */
    double means[MW_KINDS][MW_LOSSES]; /* of the last line */
    bool lines[MW_KINDS];              /* this run has written one */
    double started, before;            /* clock at the start of this run; seconds that earlier runs took */
    double saved;                      /* clock at the last checkpoint */
    double total;                      /* work of all parts that this run trains */
    size_t used, bytes;                /* of memory: before it, and by it at most */
} mw_training;

static inline double mw_training_seconds(const mw_training *t) {
    return t->before + mw_clock_seconds() - t->started;
}

/* ---- the beginning: begin.c ---- */

unsigned mw_training_trained(const mw_training_request *request); /* a bit for every model */
mw_status mw_training_data_prepare(mw_training *training, mw_error *error);
/* A bundle whose parts are of the same data, settings and seed, and stored as asked for, is what this
 * training would arrive at. */
mw_status mw_training_finished_before(mw_training *training, bool *finished, mw_error *error);
/* Where the checkpoint stands, or from the start with an empty log. */
mw_status mw_training_state_prepare(mw_training *training, mw_error *error);
void mw_training_parts_free(mw_training *training);

/* ---- the end: finish.c ---- */

/* How far all parts are. */
mw_status mw_training_tell(const mw_training *training, mw_training_report *report, mw_error *error);
/* The bundle, once all parts are trained. */
mw_status mw_training_assemble(mw_training *training, mw_training_report *report, mw_error *error);

#endif
