/* Optimal reciprocal collision avoidance as the reference performs it: half planes of allowed velocities from
 * walls and touching neighbours, then the velocity nearest to the preferred one by linear programs in the
 * order of the lines. The peculiarities (contact distance instead of look-ahead, the wall lines' offset) are
 * part of the rules. Everything is computed in double; where the reference happens to compute in single
 * precision, results are rounded after each operation, which gives the same bits because double holds any
 * product of singles exactly. */
#include "env/smac/battle.h"

#include <math.h>

/* A vector and whether the reference holds it in single precision. Operations between two such vectors round
 * to single precision, all others do not. */
typedef struct {
    double x, y;
    bool single;
} vec;

/* Allowed are velocities on the left of direction d through p. */
typedef struct {
    vec p, d;
} line;

enum { MOST_LINES = 4 + MW_BATTLE_UNITS };
#define PARALLEL 1e-5

/* Through memory: GCC 12 drops the pair of conversions when it vectorises two neighbouring ones. */
static inline double rounded(double value, bool single) {
    if (!single) return value;
    volatile float narrow = (float)value;
    return narrow;
}

static inline vec add(vec a, vec b) {
    bool single = a.single && b.single;
    return (vec){rounded(a.x + b.x, single), rounded(a.y + b.y, single), single};
}

static inline vec sub(vec a, vec b) {
    bool single = a.single && b.single;
    return (vec){rounded(a.x - b.x, single), rounded(a.y - b.y, single), single};
}

/* A factor takes on the precision of the vector. */
static inline vec scale(double factor, vec a) {
    factor = rounded(factor, a.single);
    return (vec){rounded(factor * a.x, a.single), rounded(factor * a.y, a.single), a.single};
}

static inline vec over(vec a, double divisor) {
    return (vec){rounded(a.x / divisor, a.single), rounded(a.y / divisor, a.single), a.single};
}

static inline double dot(vec a, vec b) {
    bool single = a.single && b.single;
    return rounded(rounded(a.x * b.x, single) + rounded(a.y * b.y, single), single);
}

static inline double det(vec a, vec b) {
    bool single = a.single && b.single;
    return rounded(rounded(a.x * b.y, single) - rounded(a.y * b.x, single), single);
}

static inline double length(vec a) {
    return rounded(sqrt(dot(a, a)), a.single);
}

static inline vec negative(vec a) {
    return (vec){-a.x, -a.y, a.single};
}

/* ---- lines ---- */

static inline vec position_of(const mw_battle_state *state, int unit) {
    return (vec){state->x[unit], state->y[unit], true};
}

static inline vec velocity_of(const mw_battle_state *state, int unit) {
    return (vec){state->vx[unit], state->vy[unit], mw_units_hold(state->single, unit)};
}

/* The line of a neighbour at this distance. A pair in exactly the same state gives no direction to part in
 * and no line. */
static bool neighbour_line(const mw_battle_model *model, const mw_battle_state *state, int unit, int other,
                           double distance, double share, line *out) {
    vec k = {state->x[other] - state->x[unit], state->y[other] - state->y[unit], true};
    vec v = velocity_of(state, unit), u = sub(v, velocity_of(state, other)), c;
    double sum = model->radius[unit] + model->radius[other], square = distance * distance, rate = 16;
    if (square > sum * sum) {
        vec z = sub(u, k);
        double along = dot(z, k);
        if (!(along < 0 && along * along > sum * sum * dot(z, z))) { /* nearest to one of the cone's legs */
            double leg = sqrt(square - sum * sum), side = det(k, z) > 0 ? 1 : -1;
            vec d = {(side * k.x * leg - k.y * sum) / square, (k.x * sum + side * k.y * leg) / square, false};
            c = sub(scale(dot(u, d), d), u);
            *out = (line){add(v, scale(share, c)), d};
            return true;
        }
        rate = 1;
    }
    vec z = sub(u, (vec){rate * k.x, rate * k.y, true});
    double speed = length(z);
    if (speed == 0) return false;
    vec n = over(z, speed);
    c = scale(rate * sum - speed, n);
    *out = (line){add(v, scale(share, c)), {n.y, -n.x, n.single}};
    return true;
}

/* Tangents from the origin to the disc of radius r around t; h >= 0 also in contact. */
static inline double tangent_length(vec t, double r) {
    return sqrt(fmax(0, dot(t, t) - r * r));
}

static vec left_leg(vec t, double r) {
    double h = tangent_length(t, r), square = dot(t, t);
    return (vec){(t.x * h - t.y * r) / square, (t.x * r + t.y * h) / square, false};
}

static vec right_leg(vec t, double r) {
    double h = tangent_length(t, r), square = dot(t, t);
    return (vec){(t.x * h + t.y * r) / square, (-t.x * r + t.y * h) / square, false};
}

static const vec edge_direction[4] = {{1, 0, false}, {0, 1, false}, {-1, 0, false}, {0, -1, false}};

/* Rounding a corner at a: the line touches the disc around it. */
static bool corner_line(vec v, vec a, double r, line *out) {
    vec away = sub(v, a);
    double distance = length(away);
    if (distance == 0) return false;
    vec n = over(away, distance);
    *out = (line){add(a, scale(r, n)), {n.y, -n.x, false}};
    return true;
}

/* Offset of a wall line from its base point. RVO2 adds r times the left normal; the reference adds the first
 * component of that to both coordinates. */
static line wall_line(vec base, vec d, double r) {
    double offset = -r * d.y;
    return (line){{base.x + offset, base.y + offset, false}, d};
}

/* The line that edge i of a wall (corners relative to the unit, counter-clockwise) imposes on velocity v, for
 * a unit that is not in contact with it; s and q: where on the edge and how far off the unit stands. */
static bool distant_edge(const vec corner[4], int i, double s, double q, vec v, double r, line *out) {
    int next = (i + 1) % 4, j = i, k = next;
    if (s < 0 && q <= r * r)
        k = i;
    else if (s > 1 && q <= r * r)
        j = next;
    vec left = left_leg(corner[j], r), right = right_leg(corner[k], r);
    vec before = negative(edge_direction[(i + 3) % 4]);
    bool left_foreign = det(left, before) >= 0, right_foreign = det(right, edge_direction[k]) <= 0;
    if (left_foreign) left = before;
    if (right_foreign) right = edge_direction[k];

    vec a = corner[j], b = corner[k], c = sub(b, a), va = sub(v, a), vb = sub(v, b);
    double t = j == k ? 0.5 : dot(va, c) / dot(c, c);
    double tl = dot(va, left), tr = dot(vb, right);
    if ((t < 0 && tl < 0) || (j == k && tl < 0 && tr < 0)) return corner_line(v, a, r, out);
    if (t > 1 && tr < 0) return corner_line(v, b, r, out);

    vec to_edge = sub(va, scale(t, c)), to_left = sub(va, scale(tl, left)),
        to_right = sub(vb, scale(tr, right));
    double edge_distance = t < 0 || t > 1 || j == k ? INFINITY : dot(to_edge, to_edge);
    double left_distance = tl < 0 ? INFINITY : dot(to_left, to_left);
    double right_distance = tr < 0 ? INFINITY : dot(to_right, to_right);
    if (edge_distance <= left_distance && edge_distance <= right_distance) {
        *out = wall_line(a, negative(edge_direction[j]), r);
        return true;
    }
    if (left_distance <= right_distance) {
        *out = wall_line(a, left, r);
        return !left_foreign;
    }
    *out = wall_line(b, negative(right), r);
    return !right_foreign;
}

static bool touching_edge(const vec corner[4], int i, double s, double q, double r, bool *contact,
                          line *out) {
    vec a = corner[i], b = corner[(i + 1) % 4], d = negative(edge_direction[i]);
    *contact = true;
    if (s < 0 && dot(a, a) < r * r) {
        d = over((vec){-a.y, a.x, false}, length(a));
    } else if (s > 1 && dot(b, b) <= r * r) {
        d = over((vec){-b.y, b.x, false}, length(b));
        if (det(b, edge_direction[(i + 1) % 4]) < 0) return false;
    } else if (!(s > 0 && s < 1 && q <= r * r)) {
        *contact = false;
        return false;
    }
    *out = (line){{0, 0, false}, d};
    return true;
}

static bool covered(const line *lines, int count, vec a, vec b, double r) {
    for (int i = 0; i < count; i++)
        if (det(sub(a, lines[i].p), lines[i].d) - r >= -PARALLEL &&
            det(sub(b, lines[i].p), lines[i].d) - r >= -PARALLEL)
            return true;
    return false;
}

/* Lines of the rectangle [0,32] x [bottom,top]. */
static int wall_lines(vec p, vec v, double r, double bottom, double top, line *lines) {
    vec corner[4] = {{0 - p.x, bottom - p.y, false},
                     {MW_BATTLE_WIDTH - p.x, bottom - p.y, false},
                     {MW_BATTLE_WIDTH - p.x, top - p.y, false},
                     {0 - p.x, top - p.y, false}};
    int count = 0;
    for (int i = 0; i < 4; i++) {
        vec a = corner[i], b = corner[(i + 1) % 4], o = sub(b, a);
        if (!(det(a, o) < 0) || covered(lines, count, a, b, r)) continue;
        double s = -dot(a, o) / dot(o, o);
        vec off = {-a.x - s * o.x, -a.y - s * o.y, false};
        double q = dot(off, off);
        bool contact, made = touching_edge(corner, i, s, q, r, &contact, &lines[count]);
        if (!contact) made = distant_edge(corner, i, s, q, v, r, &lines[count]);
        count += made;
    }
    return count;
}

static int all_wall_lines(const mw_battle_model *model, const mw_battle_state *state, int unit, line *lines) {
    vec p = position_of(state, unit);
    double reach = model->radius[unit] + model->speed[unit];
    double above = p.y - MW_BATTLE_SOUTH, below = MW_BATTLE_NORTH - p.y;
    double dy = above < below ? above : below; /* the two walls are never both in reach */
    if (dy > reach) return 0;
    double dx = p.x < 0 ? -p.x : p.x > MW_BATTLE_WIDTH ? p.x - MW_BATTLE_WIDTH : 0;
    if (dy > 0 ? dx * dx + dy * dy > reach * reach : dx > reach) return 0;
    vec v = velocity_of(state, unit);
    return above < below ? wall_lines(p, v, model->radius[unit], 0, MW_BATTLE_SOUTH, lines)
                         : wall_lines(p, v, model->radius[unit], MW_BATTLE_NORTH, MW_BATTLE_WIDTH, lines);
}

/* ---- linear programs ---- */

/* The programs exist twice: for lines and wishes that are all double, which is the rule, and for mixed ones.
 * `mixed` is a constant wherever it is used. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE vec as(vec a, bool mixed) {
    a.single = mixed && a.single;
    return a;
}

ALWAYS_INLINE double violation(const line *l, vec v, bool mixed) {
    return det(as(l->d, mixed), sub(as(l->p, mixed), as(v, mixed)));
}

/* The optimum on line k subject to the lines before it and the disc |v| <= most. */
ALWAYS_INLINE bool on_line(const line *lines, int k, double most, vec wish, bool direction, bool mixed,
                           vec *out) {
    vec p = as(lines[k].p, mixed), d = as(lines[k].d, mixed);
    double g = dot(p, d), space = g * g + most * most - dot(p, p);
    if (space < 0) return false;
    double root = sqrt(space), low = -g - root, high = -g + root;
    for (int i = 0; i < k; i++) {
        vec other = as(lines[i].d, mixed), gap = sub(p, as(lines[i].p, mixed));
        double den = det(d, other), num = det(other, gap);
        if (fabs(den) < PARALLEL) {
            if (num < 0) return false;
            continue;
        }
        double t = rounded(num / den, d.single && other.single && gap.single);
        if (den >= 0) {
            if (t < high) high = t;
        } else if (t > low) {
            low = t;
        }
        if (low > high) return false;
    }
    double t;
    if (direction) {
        t = dot(wish, d) > 0 ? high : low;
    } else {
        t = dot(d, sub(wish, p));
        t = t < low ? low : t > high ? high : t;
    }
    *out = add(p, scale(t, d));
    return true;
}

/* Returns the number of lines satisfied in order; fewer than count if the program is infeasible. */
ALWAYS_INLINE int in_plane(const line *lines, int count, double most, vec wish, bool direction, bool mixed,
                           vec *out) {
    wish = as(wish, mixed);
    *out = wish;
    if (direction)
        *out = scale(most, wish);
    else if (dot(wish, wish) > most * most)
        *out = scale(most, over(wish, length(wish)));
    for (int k = 0; k < count; k++)
        if (violation(&lines[k], *out, mixed) > 0 && !on_line(lines, k, most, wish, direction, mixed, out))
            return k;
    return count;
}

/* The line of equal violation of two lines. */
ALWAYS_INLINE bool bisector(const line *one, const line *two, bool mixed, line *out) {
    line a = {as(one->p, mixed), as(one->d, mixed)}, b = {as(two->p, mixed), as(two->d, mixed)};
    double delta = det(a.d, b.d);
    if (fabs(delta) <= PARALLEL) {
        if (dot(a.d, b.d) > 0) return false;
        out->p = scale(0.5, add(a.p, b.p));
    } else {
        vec gap = sub(a.p, b.p);
        double t = rounded(det(b.d, gap) / delta, a.d.single && b.d.single && gap.single);
        out->p = add(a.p, scale(t, a.d));
    }
    vec d = sub(b.d, a.d);
    out->d = over(d, length(d));
    return true;
}

/* No velocity satisfies all lines: keep to the walls and violate the neighbours' lines as little as possible.
 */
ALWAYS_INLINE void least_violation(const line *lines, int count, int walls, int first, double most,
                                   bool mixed, vec *now) {
    double worst = 0;
    for (int i = first; i < count; i++) {
        if (!(violation(&lines[i], *now, mixed) > worst)) continue;
        line projected[MOST_LINES];
        int used = 0;
        for (; used < walls; used++) projected[used] = lines[used];
        for (int j = walls; j < i; j++) used += bisector(&lines[i], &lines[j], mixed, &projected[used]);
        vec inward = {-lines[i].d.y, lines[i].d.x, lines[i].d.single}, better;
        if (in_plane(projected, used, most, inward, true, mixed, &better) == used) *now = better;
        worst = violation(&lines[i], *now, mixed);
    }
}

ALWAYS_INLINE vec best_velocity(const line *lines, int count, int walls, double most, vec wish, bool mixed) {
    vec now;
    int satisfied = in_plane(lines, count, most, wish, false, mixed, &now);
    if (satisfied < count) least_violation(lines, count, walls, satisfied, most, mixed, &now);
    return now;
}

static vec best_plain(const line *lines, int count, int walls, double most, vec wish) {
    return best_velocity(lines, count, walls, most, wish, false);
}

static __attribute__((noinline)) vec best_mixed(const line *lines, int count, int walls, double most,
                                                vec wish) {
    return best_velocity(lines, count, walls, most, wish, true);
}

void mw_orca(const mw_battle_model *model, const mw_battle_state *state, const mw_battle_plan *plan, int unit,
             double *vx, double *vy, bool *single) {
    line lines[MOST_LINES];
    int walls = all_wall_lines(model, state, unit, lines), count = walls;
    double contact = model->largest_radius + model->radius[unit];
    bool mixed = false;
    for (mw_units left = mw_battle_near(model, state, unit, model->contact[unit]) & ~mw_units_of(unit); left;
         left = mw_units_rest(left)) {
        int other = mw_units_first(left);
        double dx = (double)state->x[other] - state->x[unit], dy = (double)state->y[other] - state->y[unit];
        double square = dx * dx + dy * dy;
        if (square > contact * contact) continue;
        double share = mw_units_hold(plan->moving, other) ? 0.5 : 1;
        bool made = neighbour_line(model, state, unit, other, sqrt(square), share, &lines[count]);
        mixed |= made && lines[count].p.single;
        count += made;
    }
    vec wish = {plan->vx[unit], plan->vy[unit], mw_units_hold(plan->single, unit)};
    mixed |= wish.single;
    vec best = (mixed ? best_mixed : best_plain)(lines, count, walls, model->speed[unit], wish);
    *vx = best.x;
    *vy = best.y;
    *single = best.single;
}
