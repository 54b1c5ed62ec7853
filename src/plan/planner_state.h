/* The inside of a planner, shared by the files that make one: set-up and steps (planner.c), candidates that
 * differ (distinct.c), new candidates from scored ones (recombine.c), the caller's own judge and proposer
 * (hooks.c), decisions in time (act.c). */
#ifndef MW_PLAN_PLANNER_STATE_H
#define MW_PLAN_PLANNER_STATE_H

#include "model/flow/sampler.h"
#include "model/inverse.h"
#include "model/state_value.h"
#include "plan/deadline.h"
#include "plan/planner.h"
#include "plan/scorers.h"

/* One environment's episode so far. */
typedef struct {
    uint64_t episode, step;
    float target; /* what is left of it, if the bundle follows the return-to-go */
    int chosen;
    bool mean; /* of the candidates was executed, by their weights */
    bool warm; /* the rest of its last plan is in `rest` */
} env_state;

struct mw_planner {
    const mw_bundle *bundle;
    const mw_model *flow, *inverse_model;
    const mw_flow_net *flow_net;
    const mw_inverse_net *inverse_net;
    mw_planner_options options;
    const mw_plan_settings *plan; /* of the options */
    int drawn; /* candidates of the present decision: mw_planner_room, or as many as its time allows */
    float offset, temperature, return_scale;
    bool scored;        /* the last decision's candidates */
    float value_weight; /* its discount, times the weight of the rewards it follows */
    double margin;      /* by which a score must exceed that of the policy's own candidate; 0: any */
    mw_sampler_options sampling;
    mw_pool *pool;
    mw_sampler *sampler;
    mw_scorer *scorer;     /* NULL where there is nothing to choose by score */
    mw_scorer *imagines;   /* gives what candidates lead to, where the scorer does not; NULL: not wanted */
    mw_state_value *value; /* of what candidates lead to after value_after steps; NULL: rewards alone count */
    mw_arena arena;
    env_state *states;      /* [envs] */
    float *history;         /* [envs][C][n][o], raw, oldest first */
    int *slots, slot_count; /* [envs]: the active environments; candidates of slot s lie at s*M.. */
    int *slot_of;           /* [envs]: an environment's slot in the last decision, -1 before */
    float *context;         /* [slots*M][C][n][o], normalised */
    float *trajectory;      /* [slots*M][T][n][o]: noise, then the candidates, normalised */
    float *target;          /* [slots*M] */
    float *proposed;        /* [slots*M][H+1][n][o], raw */
    float *start;           /* [slots*M][n][o]: the current observation */
    float *actions;         /* [slots*M][H][n][d], one-hot if discrete */
    int *first_action;  /* [slots*M][n] where candidates are to be distinct; the best legal one but that: */
    int *second_action; /* [slots*M][n], -1: there is none */
    float *gap;         /* [slots*M][n]: how far its logit is below */
    float *rest;        /* [envs][H-1][n][d]: what the executed plan had in mind after its first action */
    float *imagined;    /* [slots*M][H][n][o] */
    float *scores;      /* [slots*M] */
    float *weights;     /* [slots*M] of candidates in a mean */
    float *first, *led_to; /* with a value: [slots*M][value_after] joint actions, imagined observations */
    float *mean;           /* [H][n][d]: of candidates */
    int *upper;            /* [M]: the better half of an environment's candidates */
    float *pairs;          /* [slots*M*H*n] rows of the inverse dynamics */
    mw_mlp_acts *inverse;  /* per worker */
    const uint8_t *legal;  /* the caller's, during a decision */
    uint64_t *keys;        /* [slots*M], for a proposer of the caller's own */
    uint8_t *slot_legal;   /* [slots][n][d], for it too */
    float *preferences;    /* [slots*M][H][n][d]: what it says of discrete actions */
    mw_planner_times times;
    mw_deadline deadline;
    mw_effort effort; /* of the last decision */
};

/* Remembers what an agent does first, the best legal action by its logits[d], and what it nearly did; `at`
 * counts candidates and agents. */
void mw_planner_note_first(mw_planner *planner, size_t at, const float *logits, const uint8_t *legal,
                           int best);
/* Candidates of a slot with equal joint first actions give way to variants; see distinct.h. */
void mw_planner_distinguish(mw_planner *planner, int slot);

/* The lower half of every environment's scored candidates gives way to mixtures of the upper half; the
 * policy's own, the first, stays. Their scores are those of what was there before. */
void mw_planner_recombine(mw_planner *planner, int round);

/* Candidates of a decision that has its time: those of the settings, of which any choice but the best
 * generates only the one that it takes. */
static inline int mw_planner_room(const mw_planner *planner) {
    return planner->plan->choice == MW_CHOICE_BEST ? planner->plan->candidates : 1;
}

/* Asks the caller's proposer (mw_planner_options.propose) for actions, or preferences of discrete ones. */
mw_status mw_planner_ask(mw_planner *planner, mw_error *error);
/* A scorer that asks the caller's judge (mw_planner_options.score). */
mw_status mw_own_scorer_create(mw_scorer **scorer, const mw_planner *planner, mw_error *error);

/* A planner with a deadline learns what decisions take before the first one that counts. */
mw_status mw_planner_measure(mw_planner *planner, mw_error *error);

#endif
