/* Scripted policies of the ant, for a scale. */
#include "env/ant/ant.h"

#include <string.h>

static void still(const mw_env *env, mw_rng *rng, float *real, int32_t *index) {
    (void)rng, (void)index;
    memset(real, 0, (size_t)(env->info.agents * env->info.act_size) * sizeof *real);
}

const mw_script mw_ant_scripts[] = {
    {"still", "no torque: stands on its feet", still},
    {NULL, NULL, NULL},
};
