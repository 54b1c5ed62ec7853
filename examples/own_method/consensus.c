/* A method of one's own in one file: the candidate that is most like all the others is the best. It judges
 * without a model, and so shows what a learned judge has to beat. Copy it to src/plan/, and add its row to
 * the table `others` in src/plan/scorers.c (docs/own.md); it then plays as `mawam eval BUNDLE --scorer
 * consensus`. */
#include "model/model.h"

#include <stdlib.h>

extern const mw_scorer_class mw_consensus_class;

typedef struct {
    mw_scorer base;
    int joint; /* values of a joint action */
} consensus;

static mw_status create(mw_scorer **out, const mw_scorer_context *context, mw_error *error) {
    consensus *c = calloc(1, sizeof *c);
    if (!c) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a scorer");
    c->base.kind = &mw_consensus_class;
    c->joint = context->models[0]->shape.agents * context->models[0]->shape.act;
    *out = &c->base;
    return MW_OK;
}

/* Minus the squared distance of a candidate's actions from the mean over its group. */
static mw_status score(mw_scorer *scorer, const mw_scoring *call, mw_error *error) {
    const int length = call->horizon * ((consensus *)scorer)->joint;
    (void)error;
    for (int q = 0; q < call->count; q++) {
        const float *group = call->actions + (long)(q - q % call->group) * length;
        call->scores[q] = 0;
        for (int k = 0; k < length; k++) {
            float mean = 0;
            for (int m = 0; m < call->group; m++) mean += group[(long)m * length + k] / (float)call->group;
            const float away = call->actions[(long)q * length + k] - mean;
            call->scores[q] -= away * away;
        }
    }
    return MW_OK;
}

static size_t bytes(const mw_scorer *scorer) {
    (void)scorer;
    return sizeof(consensus);
}

static void destroy(mw_scorer *scorer) {
    free(scorer);
}

const mw_scorer_class mw_consensus_class = {.name = "consensus",
                                            .help = "the candidate that is most like the others",
                                            .create = create,
                                            .score = score,
                                            .bytes = bytes,
                                            .destroy = destroy};
