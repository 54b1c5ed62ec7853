/* The splits, and what follows from one: which control an action value drives, and where every observation
 * value comes from. An agent sees its own joints, the joints one link away, contact forces of its own bodies
 * (always zero, see docs/ant.md) and the torso's motion along x. */
#include "env/ant/ant.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LEG(n) MW_ANT_HIP(n), MW_ANT_ANKLE(n)

const mw_ant_split mw_ant_splits[] = {
    {"2ant",
     "four-legged robot walks along +x; two agents drive two legs each",
     2,
     4,
     {{LEG(1), LEG(2)}, {LEG(3), LEG(4)}}},
    {"4ant",
     "four-legged robot walks along +x; four agents drive one leg each",
     4,
     2,
     {{LEG(1)}, {LEG(2)}, {LEG(3)}, {LEG(4)}}},
    {.task = NULL},
};

static bool is_hip(int joint) {
    return joint % 2 == 1;
}
static int leg_of(int joint) {
    return (joint + 1) / 2;
}

typedef struct {
    mw_ant_layout *layout;
    const mw_ant_split *split;
    const mjModel *physics;
    int agent, used;
    unsigned listed; /* bodies whose contact slots are already there */
} builder;

/* Appends one value of the agent. Names are the same for all agents; ranges are the union. */
__attribute__((format(printf, 7, 8))) static void add(builder *b, mw_ant_source source, int index,
                                                      const char *unit, double low, double high,
                                                      const char *format, ...) {
    int slot = b->used++;
    if (slot >= MW_ANT_MOST_OBS) return;
    b->layout->slots[b->agent][slot] = (mw_ant_slot){source, index};
    mw_feature *feature = &b->layout->features[slot];
    if (b->agent > 0) {
        feature->low = fmin(feature->low, low);
        feature->high = fmax(feature->high, high);
        return;
    }
    *feature = (mw_feature){.unit = unit, .low = low, .high = high};
    va_list args;
    va_start(args, format);
    vsnprintf(feature->name, sizeof feature->name, format, args);
    va_end(args);
}

/* Joint limits are soft: in play they give way by up to 8.4 degrees. The reference pose (angle 0) counts too,
 * because episodes start there, outside the ankles' limits. */
static void add_angle(builder *b, int joint, const char *whose, int number) {
    const double *range = b->physics->jnt_range + 2 * joint, give = 10 * M_PI / 180;
    add(b, MW_ANT_FROM_QPOS, b->physics->jnt_qposadr[joint], "rad", fmin(range[0], 0) - give,
        fmax(range[1], 0) + give, "%s %d %s angle", whose, number, is_hip(joint) ? "hip" : "ankle");
}

/* Six contact slots per body that this joint touches and no earlier joint of the agent listed. */
static void add_contacts(builder *b, int joint, int number) {
    static const char *const parts[] = {"root", "upper leg", "foot"};
    static const char *const components[] = {"torque x", "torque y", "torque z",
                                             "force x",  "force y",  "force z"};
    int root = 3 * leg_of(joint) - 1; /* body of the leg's root; upper leg and foot follow */
    int hip_bodies[] = {MW_ANT_TORSO, root}, ankle_bodies[] = {root, root + 1, root + 2};
    const int *bodies = is_hip(joint) ? hip_bodies : ankle_bodies;
    for (int i = 0; i < (is_hip(joint) ? 2 : 3); i++) {
        if (b->listed & 1u << bodies[i]) continue;
        b->listed |= 1u << bodies[i];
        for (int c = 0; c < 6; c++) {
            const char *unit = c < 3 ? "N m" : "N";
            if (bodies[i] == MW_ANT_TORSO)
                add(b, MW_ANT_CONSTANT, 0, unit, 0, 0, "torso contact %s", components[c]);
            else
                add(b, MW_ANT_CONSTANT, 0, unit, 0, 0, "own leg %d %s contact %s", number,
                    parts[bodies[i] - root], components[c]);
        }
    }
}

static bool owns(const builder *b, int joint) {
    for (int i = 0; i < b->split->act_size; i++)
        if (b->split->joints[b->agent][i] == joint) return true;
    return false;
}

/* One link apart: hip and ankle of a leg, or two hips, which share the torso. */
static bool next_to_own(const builder *b, int joint) {
    for (int i = 0; i < b->split->act_size; i++) {
        int own = b->split->joints[b->agent][i];
        if ((is_hip(own) && is_hip(joint)) || leg_of(own) == leg_of(joint)) return true;
    }
    return false;
}

/* Own joints of one kind, by leg; `number` counts the agent's legs from 1. */
static void add_own(builder *b, bool hips) {
    int number = 0;
    for (int leg = 1; leg <= 4; leg++) {
        if (!owns(b, MW_ANT_HIP(leg)) && !owns(b, MW_ANT_ANKLE(leg))) continue;
        number++;
        int joint = hips ? MW_ANT_HIP(leg) : MW_ANT_ANKLE(leg);
        if (!owns(b, joint)) continue;
        add_angle(b, joint, "own leg", number);
        add(b, MW_ANT_FROM_QVEL, b->physics->jnt_dofadr[joint], "rad/s", -INFINITY, INFINITY,
            "own leg %d %s velocity", number, hips ? "hip" : "ankle");
        add_contacts(b, joint, number);
    }
}

static void add_agent(builder *b) {
    for (int i = 0; i < b->split->agents; i++)
        add(b, MW_ANT_CONSTANT, i == b->agent, "", 0, 1, "agent is %d", i);
    add_own(b, false); /* alphabetical: ankles before hips */
    add_own(b, true);
    int number = 0;
    for (int joint = 1; joint < b->physics->njnt; joint++)
        if (!owns(b, joint) && next_to_own(b, joint)) add_angle(b, joint, "other leg", ++number);
    add(b, MW_ANT_FROM_QVEL, 0, "m/s", -INFINITY, INFINITY, "torso velocity x");
    add(b, MW_ANT_FROM_QPOS, 0, "m", -INFINITY, INFINITY, "torso position x");
}

static int control_of(const mjModel *physics, int joint) {
    for (int i = 0; i < physics->nu; i++)
        if (physics->actuator_trntype[i] == mjTRN_JOINT && physics->actuator_trnid[2 * i] == joint) return i;
    return -1;
}

mw_status mw_ant_layout_build(mw_ant_layout *layout, const mw_ant_split *split, const mjModel *physics,
                              mw_error *error) {
    memset(layout, 0, sizeof *layout);
    for (int agent = 0; agent < split->agents; agent++) {
        builder b = {.layout = layout, .split = split, .physics = physics, .agent = agent};
        add_agent(&b);
        if (b.used > MW_ANT_MOST_OBS || (agent && b.used != layout->obs_size))
            return mw_fail(error, MW_ERR_UNSUPPORTED,
                           "%s: agent %d would see %d values; all agents must see equally many, at most %d",
                           split->task, agent, b.used, MW_ANT_MOST_OBS);
        layout->obs_size = b.used;
        for (int i = 0; i < split->act_size; i++) {
            layout->ctrl[agent][i] = control_of(physics, split->joints[agent][i]);
            if (layout->ctrl[agent][i] < 0)
                return mw_fail(error, MW_ERR_UNSUPPORTED, "%s: no motor drives joint %d of agent %d",
                               split->task, split->joints[agent][i], agent);
        }
    }
    return MW_OK;
}
