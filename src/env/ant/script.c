/* Scripted policies of the ant, for a scale: doing nothing, which earns the survival bonus, and a walk. */
#include "env/ant/ant.h"

#include "core/math.h"

#include <math.h>
#include <string.h>

static void still(const mw_env *env, mw_rng *rng, float *real, int32_t *index) {
    (void)rng, (void)index;
    memset(real, 0, (size_t)(env->info.agents * env->info.act_size) * sizeof *real);
}

/* Joint angles follow sine waves under a spring and damper. A hip swings by as much as its leg, seen in the
 * world, can push along x, so that the ant walks along +x whichever way it is turned. The numbers come from a
 * random search. */
static const struct {
    double frequency;          /* Hz */
    double hip_swing;          /* rad, of a leg that stands across the way */
    double ankle, ankle_lift;  /* rad: middle and amplitude */
    double ankle_lead;         /* rad of the cycle, ahead of the hip */
    double stiffness, damping; /* motor command per rad, per rad/s */
    double phase[4];           /* of each leg in the cycle */
} gait_numbers = {2.034, 0.64, 0.78, 0.15, 0.2, 1.99, 0.107, {0, -0.77, 0.04, 3.23}};

static double clamp(double x) {
    return x < -1 ? -1 : x > 1 ? 1 : x;
}

static double gait_command(const mw_env *env, int joint) {
    const mw_ant_state *state = env->state;
    const mjModel *physics = ((const mw_ant *)env->model)->physics;
    const double *q = state->data->qpos;
    int leg = (joint - 1) / 2; /* from 0 */
    double cycle = 2 * M_PI * gait_numbers.frequency * MW_ANT_STEP_TIME * env->base.outcome.step +
                   gait_numbers.phase[leg];
    double target;
    if (joint == MW_ANT_HIP(leg + 1)) {
        double heading = mw_atan2(2 * (q[3] * q[6] + q[4] * q[5]), 1 - 2 * (q[5] * q[5] + q[6] * q[6]));
        double direction = heading + M_PI / 4 + leg * M_PI / 2; /* of the leg, in the world */
        target = gait_numbers.hip_swing * mw_sin(direction) * mw_sin(cycle);
    } else {
        double down = physics->jnt_range[2 * joint] > 0 ? 1 : -1; /* the ankles' signs differ by leg */
        target =
            down * (gait_numbers.ankle + gait_numbers.ankle_lift * mw_sin(cycle + gait_numbers.ankle_lead));
    }
    double angle = q[physics->jnt_qposadr[joint]], velocity = state->data->qvel[physics->jnt_dofadr[joint]];
    return clamp(gait_numbers.stiffness * (target - angle) - gait_numbers.damping * velocity);
}

static void gait(const mw_env *env, mw_rng *rng, float *real, int32_t *index) {
    (void)rng, (void)index;
    const mw_ant_split *split = ((const mw_ant *)env->model)->split;
    for (int agent = 0; agent < split->agents; agent++)
        for (int i = 0; i < split->act_size; i++) *real++ = (float)gait_command(env, split->joints[agent][i]);
}

const mw_script mw_ant_scripts[] = {
    {"still", "no torque: stands on its feet", still},
    {"gait", "sine waves in the joints: walks along +x", gait},
    {NULL, NULL, NULL},
};
