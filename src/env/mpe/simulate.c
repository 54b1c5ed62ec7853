/* The rules of the particle tasks: motion, observations, rewards. The order of the floating-point operations
 * is the one that reproduces recorded trajectories bit for bit (contacts amplify rounding), so do not
 * rearrange. */
#include "env/mpe/mpe.h"

#include "core/math.h"

#include <math.h>

static const double time_step = 0.1, keep = 0.75 /* 1 - damping */, stiffness = 100, margin = 0.001;
/* Beyond this gap the penetration is below 1e-20 and vanishes in the rounding of everything else. */
static const double contact_reach = 0.04;

static inline double distance2(const double a[2], const double b[2]) {
    double dx = a[0] - b[0], dy = a[1] - b[1];
    return dx * dx + dy * dy;
}

/* A soft contact: penetration = margin * log(1 + exp((s - d) / margin)), written so that exp cannot overflow.
 */
static void push_apart(const double a[2], const double b[2], double radii, double force[2]) {
    double dx = a[0] - b[0], dy = a[1] - b[1];
    double d = sqrt(dx * dx + dy * dy);
    double y = -(d - radii) / margin;
    double penetration = ((y > 0 ? y : 0) + mw_ln1p(mw_exp(-fabs(y)))) * margin;
    if (d == 0) dx = d = 1; /* coincident centres have no direction: part them along x */
    force[0] = stiffness * dx / d * penetration;
    force[1] = stiffness * dy / d * penetration;
}

static void add_contacts(const mw_mpe_task *task, const mw_mpe_state *state, double (*force)[2]) {
    for (int i = 0; i < task->agents; i++)
        for (int j = i + 1; j < task->solids; j++) {
            double radii = task->entity[i].radius + task->entity[j].radius, reach = radii + contact_reach;
            if (distance2(state->pos[i], state->pos[j]) > reach * reach) continue;
            double push[2];
            push_apart(state->pos[i], state->pos[j], radii, push);
            force[i][0] += push[0];
            force[i][1] += push[1];
            if (j >= task->agents) continue;
            force[j][0] -= push[0];
            force[j][1] -= push[1];
        }
}

void mw_mpe_advance(const mw_mpe_task *task, mw_mpe_state *state, const double (*action)[2]) {
    double force[MW_MPE_MAX_AGENTS][2];
    for (int i = 0; i < task->agents; i++)
        for (int c = 0; c < 2; c++)
            force[i][c] = task->entity[i].acceleration * (action[i][c] * task->entity[i].sensitivity);
    add_contacts(task, state, force);
    for (int i = 0; i < task->agents; i++) {
        double *v = state->vel[i], cap = task->entity[i].cap;
        for (int c = 0; c < 2; c++) v[c] = v[c] * keep + force[i][c] * time_step;
        if (cap > 0) {
            double speed = sqrt(v[0] * v[0] + v[1] * v[1]);
            if (speed > cap)
                for (int c = 0; c < 2; c++) v[c] = v[c] / speed * cap;
        }
        for (int c = 0; c < 2; c++) state->pos[i][c] += v[c] * time_step;
    }
}

/* ---- observations ---- */

int mw_mpe_obs_size(const mw_mpe_task *task, int agent) {
    int prey_seen = mw_mpe_has_prey(task) && agent < task->learners;
    return 4 + 2 * (task->entities - 1) + 2 * prey_seen + task->forests + task->silent;
}

static inline double *put(double *at, const double value[2]) {
    at[0] = value[0];
    at[1] = value[1];
    return at + 2;
}

static inline double *put_relative(double *at, const double value[2], const double origin[2]) {
    at[0] = value[0] - origin[0];
    at[1] = value[1] - origin[1];
    return at + 2;
}

int mw_mpe_observe(const mw_mpe_task *task, const mw_mpe_state *state, int agent, double *obs) {
    const double *self = state->pos[agent];
    double *at = put(put(obs, state->vel[agent]), self);
    for (int e = task->agents; e < task->entities; e++) at = put_relative(at, state->pos[e], self);
    for (int other = 0; other < task->agents; other++)
        if (other != agent) at = put_relative(at, state->pos[other], self);
    if (agent < task->learners && mw_mpe_has_prey(task)) at = put(at, state->vel[task->learners]);
    for (int f = task->first_forest; f < task->first_forest + task->forests; f++) {
        double reach = task->entity[agent].radius + task->entity[f].radius;
        *at++ = sqrt(distance2(self, state->pos[f])) < reach ? 1 : -1;
    }
    for (int i = 0; i < task->silent; i++) *at++ = 0;
    return (int)(at - obs);
}

/* ---- rewards ---- */

static bool touch(const mw_mpe_task *task, const mw_mpe_state *state, int i, int j) {
    return sqrt(distance2(state->pos[i], state->pos[j])) < task->entity[i].radius + task->entity[j].radius;
}

void mw_mpe_rewards_cover(const mw_mpe_task *task, const mw_mpe_state *state, double *rewards) {
    double common = 0;
    for (int landmark = task->agents; landmark < task->entities; landmark++) {
        double least = INFINITY;
        for (int i = 0; i < task->agents; i++) {
            double d2 = distance2(state->pos[i], state->pos[landmark]);
            least = d2 < least ? d2 : least;
        }
        double closeness = 1 / sqrt(least);
        common += closeness < 10 ? closeness : 10;
    }
    for (int i = 0; i < task->agents; i++) rewards[i] = common;
    for (int i = 0; i < task->agents; i++)
        for (int j = i + 1; j < task->agents; j++)
            if (touch(task, state, i, j)) {
                rewards[i] -= 5;
                rewards[j] -= 5;
            }
}

static double border_penalty(double u) {
    if (u < 0.9) return 0;
    if (u < 1) return 10 * (u - 0.9);
    double penalty = mw_exp(2 * u - 2);
    return penalty < 10 ? penalty : 10;
}

void mw_mpe_rewards_pursuit(const mw_mpe_task *task, const mw_mpe_state *state, double *rewards) {
    int prey = task->learners;
    double separation = 0, caught = 0;
    for (int i = 0; i < task->learners; i++) {
        separation += sqrt(distance2(state->pos[i], state->pos[prey]));
        caught += touch(task, state, i, prey);
    }
    double pack = task->catch_reward * caught - 0.1 * separation;
    for (int i = 0; i < task->learners; i++) rewards[i] = pack;
    rewards[prey] = -pack - task->border_factor * (border_penalty(fabs(state->pos[prey][0])) +
                                                   border_penalty(fabs(state->pos[prey][1])));
    if (task->foods == 0) return;
    double nearest = INFINITY;
    for (int food = task->first_food; food < task->first_food + task->foods; food++) {
        double d = sqrt(distance2(state->pos[prey], state->pos[food]));
        nearest = d < nearest ? d : nearest;
        if (touch(task, state, prey, food)) rewards[prey] += 2;
    }
    rewards[prey] += 0.05 * nearest;
}
