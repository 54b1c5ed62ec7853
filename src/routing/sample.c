/* Recorded transitions for the routing diagnosis: scattered ones, blocks of consecutive ones, and the other
 * actions of the influence graph. All are pure functions of the data and the seed. */
#include "routing/routing.h"

#include "core/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64 };
enum { SCATTER, BLOCKS, PERTURB }; /* streams of random numbers */

static mw_rng stream(uint64_t seed, int use, int index) {
    return mw_rng_make(seed, MW_RNG_STUDY, (uint64_t)use, (uint64_t)index, 1);
}

static mw_status create(mw_routing_sample *s, int transitions, int agents, int obs, int act,
                        mw_error *error) {
    const size_t rows = (size_t)transitions * (size_t)agents, o = rows * (size_t)obs, d = rows * (size_t)act;
    *s = (mw_routing_sample){.transitions = transitions, .agents = agents, .obs_size = obs, .act_size = act};
    s->obs = malloc((2 * o + d + rows) * sizeof *s->obs);
    s->episode = malloc(2 * (size_t)transitions * sizeof *s->episode);
    if (!s->obs || !s->episode) {
        mw_routing_sample_free(s);
        return mw_fail(error, MW_ERR_MEMORY, "cannot keep %d transitions", transitions);
    }
    s->next_obs = s->obs + o;
    s->act = s->next_obs + o;
    s->reward = s->act + d;
    s->step = s->episode + transitions;
    return MW_OK;
}

void mw_routing_sample_free(mw_routing_sample *s) {
    free(s->obs);
    free(s->episode);
    *s = (mw_routing_sample){0};
}

/* Row t of the sample from a place in the data whose next observation is known. */
static void put(mw_routing_sample *s, int t, const mw_dataset *data, mw_place place) {
    const size_t n = (size_t)s->agents, o = n * (size_t)s->obs_size, d = n * (size_t)s->act_size,
                 row = (size_t)t;
    const int64_t step = data->offsets[place.episode] + place.t;
    memcpy(s->obs + row * o, mw_dataset_obs(data, place.episode, place.t), o * sizeof *s->obs);
    memcpy(s->next_obs + row * o, mw_dataset_obs(data, place.episode, place.t + 1), o * sizeof *s->obs);
    memcpy(s->reward + row * n, data->rewards + (size_t)step * n, n * sizeof *s->reward);
    mw_dataset_actions(data, step, 1, s->act + row * d);
    s->episode[t] = (int)place.episode;
    s->step[t] = (int)place.t;
}

/* Room for `wanted` transitions of the data, or for all there are. */
static mw_status begin(mw_routing_sample *s, mw_episode_set *set, const mw_dataset *data, int wanted,
                       mw_error *error) {
    const mw_dataset_spec *d = &data->spec;
    *s = (mw_routing_sample){0};
    MW_TRY(mw_episode_set_all(set, data, error));
    if (set->transitions < 1 || set->transitions > UINT32_MAX || set->count > INT32_MAX)
        return mw_fail(error, MW_ERR_ARGUMENT, "%s: %lld transitions; routing needs 1 to %u", data->folder,
                       (long long)set->transitions, UINT32_MAX);
    const int count = set->transitions < wanted ? (int)set->transitions : wanted;
    return create(s, count, d->agents, d->obs_size, d->act_size, error);
}

static void scatter(mw_routing_sample *s, const mw_dataset *data, const mw_episode_set *set, uint64_t seed) {
    mw_rng rng = stream(seed, SCATTER, 0);
    int chosen = 0;
    for (int64_t k = 0; chosen < s->transitions; k++) /* each set of this size is as likely as any other */
        if (mw_rng_below(&rng, (uint32_t)(set->transitions - k)) < (uint32_t)(s->transitions - chosen))
            put(s, chosen++, data, mw_episode_set_at(set, k));
}

mw_status mw_routing_scatter(mw_routing_sample *s, const mw_dataset *data, int wanted, uint64_t seed,
                             mw_error *error) {
    mw_episode_set set = {0};
    const mw_status status = begin(s, &set, data, wanted, error);
    if (status == MW_OK) scatter(s, data, &set, seed);
    mw_episode_set_free(&set);
    return status;
}

/* Where everything is wanted, episode after episode as recorded; else a block of each episode in random
 * order, again and again. order[set->count] */
static void blocks(mw_routing_sample *s, const mw_dataset *data, const mw_episode_set *set, uint64_t seed,
                   int *order) {
    mw_rng rng = stream(seed, BLOCKS, 0);
    const bool all = s->transitions == set->transitions;
    for (int k = 0; k < set->count; k++) order[k] = k;
    if (!all) mw_rng_shuffle(&rng, order, (int)set->count);
    for (int filled = 0, k = 0; filled < s->transitions; k = (k + 1) % (int)set->count) {
        const long episode = set->episodes[order[k]],
                   length = (long)(set->starts[order[k] + 1] - set->starts[order[k]]);
        const long most = all ? length : BLOCK, left = s->transitions - filled,
                   count = length < most ? length < left ? length : left
                           : most < left ? most
                                         : left;
        if (count < 1) continue;
        const long first = (long)mw_rng_below(&rng, (uint32_t)(length - count + 1));
        for (long t = first; t < first + count; t++) put(s, filled++, data, (mw_place){episode, t});
    }
}

mw_status mw_routing_blocks(mw_routing_sample *s, const mw_dataset *data, int wanted, uint64_t seed,
                            mw_error *error) {
    mw_episode_set set = {0};
    mw_status status = begin(s, &set, data, wanted, error);
    int *order = status == MW_OK ? malloc((size_t)set.count * sizeof *order) : NULL;
    if (order)
        blocks(s, data, &set, seed, order);
    else if (status == MW_OK) {
        mw_routing_sample_free(s);
        status = mw_fail(error, MW_ERR_MEMORY, "cannot order %ld episodes", set.count);
    }
    free(order);
    mw_episode_set_free(&set);
    return status;
}

void mw_action_scale(double *scale, const mw_routing_sample *s) {
    const long rows = (long)s->transitions * s->agents, d = s->act_size;
    for (long k = 0; k < d; k++) {
        double mean = 0, square = 0;
        for (long r = 0; r < rows; r++) mean += s->act[r * d + k];
        mean /= (double)rows;
        for (long r = 0; r < rows; r++) square += (s->act[r * d + k] - mean) * (s->act[r * d + k] - mean);
        scale[k] = fmax(sqrt(square / (double)rows), 1e-3);
    }
}

mw_status mw_routing_perturb(float **out, const mw_routing_sample *s, bool discrete, uint64_t seed,
                             mw_error *error) {
    const size_t n = (size_t)s->agents, d = (size_t)s->act_size, t = (size_t)s->transitions;
    double *scale = malloc(d * sizeof *scale);
    *out = calloc(n * t * d, sizeof **out);
    if (!scale || !*out) {
        free(scale);
        free(*out);
        *out = NULL;
        return mw_fail(error, MW_ERR_MEMORY, "cannot keep %zu other actions", n * t);
    }
    mw_action_scale(scale, s);
    for (size_t source = 0; source < n; source++) {
        mw_rng rng = stream(seed, PERTURB, (int)source);
        for (size_t row = 0; row < t; row++) {
            float *to = *out + (source * t + row) * d;
            const float *from = s->act + (row * n + source) * d;
            if (discrete) to[mw_rng_below(&rng, (uint32_t)d)] = 1;
            for (size_t k = 0; !discrete && k < d; k++)
                to[k] = (float)(from[k] + 0.35 * scale[k] * mw_rng_normal(&rng));
        }
    }
    free(scale);
    return MW_OK;
}
