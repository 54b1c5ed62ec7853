/* The picture of an ant: torso, the capsules of its legs and a piece of floor, in world coordinates.
 * Positions follow from qpos here, because those inside mjData lag behind by part of a sub-step and drawing
 * must not touch the state. */
#include "env/ant/ant.h"

#include <math.h>
#include <string.h>

enum { MOST_BODIES = 16 };

typedef struct {
    double position[MOST_BODIES][3], rotation[MOST_BODIES][4];
} pose;

/* Forward kinematics; parents have smaller numbers than their children. */
static void find_pose(const mjModel *m, const double *qpos, pose *out) {
    memset(out, 0, sizeof *out);
    out->rotation[0][0] = 1;
    memcpy(out->position[MW_ANT_TORSO], qpos, 3 * sizeof *qpos);
    memcpy(out->rotation[MW_ANT_TORSO], qpos + 3, 4 * sizeof *qpos);
    mju_normalize4(out->rotation[MW_ANT_TORSO]);
    for (int body = MW_ANT_TORSO + 1; body < m->nbody; body++) {
        int parent = m->body_parentid[body], joint = m->body_jntadr[body];
        mju_rotVecQuat(out->position[body], m->body_pos + 3 * body, out->rotation[parent]);
        mju_addTo3(out->position[body], out->position[parent]);
        double turn[4] = {1, 0, 0, 0};
        if (joint >= 0) mju_axisAngle2Quat(turn, m->jnt_axis + 3 * joint, qpos[m->jnt_qposadr[joint]]);
        mju_mulQuat(out->rotation[body], out->rotation[parent], turn);
    }
}

/* The agent that drives the leg of this body. */
static int owner(const mw_ant_split *split, int body) {
    int hip = MW_ANT_HIP((body + 1) / 3);
    for (int agent = 0; agent < split->agents; agent++)
        for (int i = 0; i < split->act_size; i++)
            if (split->joints[agent][i] == hip) return agent;
    return -1;
}

static mw_shape draw_geom(const mw_ant *world, const pose *now, int geom) {
    const mjModel *m = world->physics;
    int body = m->geom_bodyid[geom];
    double centre[3], axis[3], along[3] = {0, 0, m->geom_size[3 * geom + 1]};
    mju_rotVecQuat(along, along, m->geom_quat + 4 * geom);
    mju_rotVecQuat(axis, along, now->rotation[body]);
    mju_rotVecQuat(centre, m->geom_pos + 3 * geom, now->rotation[body]);
    mju_addTo3(centre, now->position[body]);
    bool torso = m->geom_type[geom] == mjGEOM_SPHERE;
    mw_shape shape = {.kind = torso ? MW_SHAPE_CIRCLE : MW_SHAPE_CAPSULE,
                      .role = torso ? "torso" : "leg",
                      .id = torso ? -1 : owner(world->split, body),
                      .radius = (float)m->geom_size[3 * geom],
                      .health = -1,
                      .shield = -1};
    for (int i = 0; i < 3; i++) {
        shape.a[i] = (float)(torso ? centre[i] : centre[i] - axis[i]);
        shape.b[i] = (float)(torso ? centre[i] : centre[i] + axis[i]);
    }
    return shape;
}

int mw_ant_draw(const mw_env *env, mw_shape *shapes, int capacity) {
    const mw_ant *world = env->model;
    const mw_ant_state *state = env->state;
    const double *qpos = state->data->qpos;
    /* ten metres of floor below the ant, between whole metres so that it shows the motion */
    float from = (float)floor(qpos[0]) - 5, y = (float)qpos[1];
    mw_shape floor_line = {.kind = MW_SHAPE_LINE,
                           .role = "floor",
                           .id = -1,
                           .a = {from, y, 0},
                           .b = {from + 10, y, 0},
                           .health = -1,
                           .shield = -1};
    int count = mw_shape_add(shapes, capacity, 0, floor_line);
    pose now;
    find_pose(world->physics, qpos, &now);
    for (int geom = 1; geom < world->physics->ngeom; geom++)
        count = mw_shape_add(shapes, capacity, count, draw_geom(world, &now, geom));
    return count;
}
