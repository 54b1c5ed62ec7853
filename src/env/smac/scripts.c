/* Scripted policies of the battles, for a scale: stand, attack the nearest, focus fire, ambush. They read the
 * true state. */
#include "env/smac/battle.h"

#include <math.h>

static void still(const mw_env *env, mw_rng *rng, float *real, int32_t *index) {
    const mw_battle_model *model = env->model;
    const mw_battle_state *state = env->state;
    (void)rng, (void)real;
    for (int i = 0; i < model->allies; i++) index[i] = state->alive >> i & 1;
}

/* Along the longer axis of the way if that is legal, else along the other, else stop. */
static int32_t toward(double dx, double dy, const uint8_t *legal) {
    int32_t across = dx > 0 ? 4 : 5, along = dy > 0 ? 2 : 3;
    int32_t first = fabs(dx) > fabs(dy) ? across : along, second = first == across ? along : across;
    return legal[first] ? first : legal[second] ? second : 1;
}

static double distance(const mw_battle_state *state, int a, int b) {
    return hypot((double)state->x[b] - state->x[a], (double)state->y[b] - state->y[a]);
}

/* Attack this enemy (a unit id) if that is legal, else go there. */
static int32_t attack_or_approach(const mw_battle_model *model, const mw_battle_state *state, int unit,
                                  int enemy, const uint8_t *legal) {
    int32_t attack = MW_BATTLE_MOVES + enemy - model->allies;
    if (legal[attack]) return attack;
    return toward((double)state->x[enemy] - state->x[unit], (double)state->y[enemy] - state->y[unit], legal);
}

static void nearest(const mw_env *env, mw_rng *rng, float *real, int32_t *index) {
    const mw_battle_model *model = env->model;
    const mw_battle_state *state = env->state;
    uint8_t legal[MW_BATTLE_SIDE * (MW_BATTLE_MOVES + MW_BATTLE_SIDE)];
    (void)rng, (void)real;
    mw_battle_legal(model, state, legal);
    for (int i = 0; i < model->allies; i++) {
        int enemy = -1;
        for (int j = model->allies; j < model->units; j++)
            if ((state->alive >> j & 1) && (enemy < 0 || distance(state, i, j) < distance(state, i, enemy)))
                enemy = j;
        const uint8_t *mask = legal + i * model->actions;
        index[i] = mask[0] ? 0 : enemy < 0 ? 1 : attack_or_approach(model, state, i, enemy, mask);
    }
}

static void focus(const mw_env *env, mw_rng *rng, float *real, int32_t *index) {
    const mw_battle_model *model = env->model;
    const mw_battle_state *state = env->state;
    uint8_t legal[MW_BATTLE_SIDE * (MW_BATTLE_MOVES + MW_BATTLE_SIDE)];
    int weakest = -1;
    (void)rng, (void)real;
    mw_battle_legal(model, state, legal);
    for (int j = model->allies; j < model->units; j++)
        if ((state->alive >> j & 1) && (weakest < 0 || state->health[j] + state->shield[j] <
                                                           state->health[weakest] + state->shield[weakest]))
            weakest = j;
    for (int i = 0; i < model->allies; i++) {
        const uint8_t *mask = legal + i * model->actions;
        index[i] = mask[0] ? 0 : weakest < 0 ? 1 : attack_or_approach(model, state, i, weakest, mask);
    }
}

const mw_script mw_battle_scripts[] = {
    {"still", "stop", still},
    {"nearest", "attack the nearest enemy, or walk to it", nearest},
    {"focus", "all attack the weakest enemy, or walk to it", focus},
    {NULL, NULL, NULL},
};
