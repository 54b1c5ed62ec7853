/* Choosing the tiers of a task among the snapshots of a learning run (mw_behavior_pick): measures every
 * snapshot with the exploration noise of the datasets and writes the behaviour files. */
#include "behavior/play.h"
#include "behavior/settings.h"
#include "core/file.h"
#include "core/numbers.h"
#include "core/options.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 2048, LADDER = 8 }; /* snapshots of a run; policies of medium-replay */

typedef struct {
    const char *task, *run, *folder;
    mw_pick_options options;
} job;

typedef struct {
    double steps;
    mw_measure measure;
} candidate;

typedef struct {
    candidate list[MOST];
    int count;
    float noise; /* they were measured with it */
} gallery;

static int by_steps(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    return (x->steps > y->steps) - (x->steps < y->steps);
}

static mw_status list_snapshots(gallery *g, const char *run, int every, mw_error *error) {
    char folder[512];
    snprintf(folder, sizeof folder, "%.480s/snapshots", run);
    DIR *open_folder = opendir(folder);
    if (!open_folder) return mw_fail(error, MW_ERR_IO, "%s: %s", folder, strerror(errno));
    bool fits = true;
    for (struct dirent *entry; fits && (entry = readdir(open_folder));) {
        char *end;
        long long steps = strtoll(entry->d_name, &end, 10);
        if (end == entry->d_name || strcmp(end, ".safetensors") != 0) continue;
        fits = g->count < MOST;
        if (fits) g->list[g->count++].steps = (double)steps;
    }
    closedir(open_folder);
    if (!fits) return mw_fail(error, MW_ERR_UNSUPPORTED, "%s: more than %d snapshots", folder, MOST);
    qsort(g->list, (size_t)g->count, sizeof g->list[0], by_steps);
    int kept = 0;
    for (int i = 0; i < g->count; i++)
        if (i % every == 0 || i == g->count - 1) g->list[kept++] = g->list[i];
    g->count = kept;
    return g->count > 0 ? MW_OK : mw_fail(error, MW_ERR_IO, "%s: no snapshots", folder);
}

static mw_status load(mw_behavior *b, const job *j, const candidate *c, mw_error *error) {
    char path[600];
    snprintf(path, sizeof path, "%.480s/snapshots/%012.0f.safetensors", j->run, c->steps);
    return mw_behavior_load(b, path, error);
}

static mw_status measure(const job *j, const candidate *c, float noise, uint64_t seed, int episodes,
                         mw_behavior *scratch, mw_measure *out, mw_error *error) {
    MW_TRY(load(scratch, j, c, error));
    scratch->noise = noise;
    mw_status status = mw_behavior_measure(j->task, j->options.world, scratch, seed, episodes,
                                           j->options.threads, out, error);
    mw_behavior_free(scratch);
    if (status == MW_OK && mw_stopped(j->options.stop)) return mw_fail(error, MW_ERR_INTERRUPTED, "stopped");
    return status;
}

/* Plays all snapshots with this noise, unless that is how they were played last. */
static mw_status measure_all(gallery *g, const job *j, float noise, mw_behavior *scratch, mw_error *error) {
    if (g->noise == noise) return MW_OK;
    for (int i = 0; i < g->count; i++) {
        candidate *c = &g->list[i];
        MW_TRY(measure(j, c, noise, j->options.seed, j->options.episodes, scratch, &c->measure, error));
        if (j->options.report) j->options.report(j->options.context, NULL, c->steps, &c->measure);
    }
    g->noise = noise;
    return MW_OK;
}

/* The first measurement is short, and the best of many short ones is partly luck: the likely candidates among
 * 0..last are played again, with other episodes, and the one nearest to `value` (INFINITY: the highest) wins.
 */
static mw_status refine(const gallery *g, const job *j, int last, double value, mw_behavior *scratch,
                        int *chosen, mw_error *error) {
    bool tried[MOST] = {false};
    double least = INFINITY;
    for (int round = 0; round < 5 && round <= last; round++) {
        int likely = -1;
        double away = INFINITY;
        for (int i = 0; i <= last; i++) {
            const double off =
                isinf(value) ? -g->list[i].measure.mean : fabs(g->list[i].measure.mean - value);
            if (!tried[i] && off < away) {
                away = off;
                likely = i;
            }
        }
        mw_measure m;
        tried[likely] = true;
        MW_TRY(measure(j, &g->list[likely], g->noise, j->options.seed + 2, 4 * j->options.episodes, scratch,
                       &m, error));
        const double off = isinf(value) ? -m.mean : fabs(m.mean - value);
        if (off < least) {
            least = off;
            *chosen = likely;
        }
    }
    return MW_OK;
}

static int nearest(const gallery *g, int last, double value) {
    int best = 0;
    for (int i = 1; i <= last; i++)
        if (fabs(g->list[i].measure.mean - value) < fabs(g->list[best].measure.mean - value)) best = i;
    return best;
}

static int highest(const gallery *g) {
    int best = 0;
    for (int i = 1; i < g->count; i++)
        if (g->list[i].measure.mean > g->list[best].measure.mean) best = i;
    return best;
}

/* The return at the middle of a setting's range of scores. */
static double middle(const mw_setting *s) {
    const mw_scale *scale = mw_scale_of(s->task);
    double score = 0.5 * (s->low + s->high);
    return scale ? scale->random + score / 100 * (scale->expert - scale->random) : score;
}

/* Which snapshots a tier consists of. Only what comes before the best one counts, so that a run that broke
 * down late offers no tiers from its ruins. */
static mw_status choose(const gallery *g, const job *j, const mw_setting *s, const mw_setting *medium,
                        mw_behavior *scratch, int chosen[LADDER], int *count, mw_error *error) {
    const int best = highest(g);
    *count = 1;
    if (s->kind == MW_TIER_BEST) return refine(g, j, g->count - 1, INFINITY, scratch, chosen, error);
    if (s->kind == MW_TIER_NEAR) return refine(g, j, best, middle(s), scratch, chosen, error);
    const int top = nearest(g, best, middle(medium));
    const double low = g->list[0].measure.mean, high = g->list[top].measure.mean;
    for (int i = 0; i < LADDER; i++)
        chosen[i] = i == 0 ? 0 : nearest(g, top, low + (high - low) * i / (LADDER - 1));
    *count = LADDER;
    return MW_OK;
}

static mw_status assemble(mw_behavior *tier, const gallery *g, const job *j, const mw_setting *s,
                          const int *chosen, int count, mw_behavior *scratch, mw_error *error) {
    for (int i = 0; i < count; i++) {
        MW_TRY(load(scratch, j, &g->list[chosen[i]], error));
        if (i == 0) {
            memcpy(tier->task, scratch->task, sizeof tier->task);
            memcpy(tier->rules, scratch->rules, sizeof tier->rules);
            memcpy(tier->origin, scratch->origin, sizeof tier->origin);
            char *step = strstr(tier->origin, ", step"); /* learning_steps has them all */
            if (step) *step = 0;
            snprintf(tier->quality, sizeof tier->quality, "%s", s->quality);
            tier->noise = s->noise;
        }
        mw_status status = mw_behavior_add(tier, &scratch->actor[0], scratch->steps[0], error);
        mw_behavior_free(scratch);
        MW_TRY(status);
    }
    return MW_OK;
}

static mw_status make_tier(gallery *g, const job *j, const mw_setting *s, const mw_setting *medium,
                           mw_behavior *tier, mw_behavior *scratch, mw_error *error) {
    int chosen[LADDER];
    char path[512];
    mw_measure result;
    MW_TRY(measure_all(g, j, s->noise, scratch, error));
    int count;
    MW_TRY(choose(g, j, s, medium, scratch, chosen, &count, error));
    memset(tier, 0, sizeof *tier);
    mw_status status = assemble(tier, g, j, s, chosen, count, scratch, error);
    snprintf(path, sizeof path, "%.400s/%s-%s.safetensors", j->folder, s->task, s->quality);
    if (status == MW_OK) status = mw_behavior_save(tier, path, error);
    if (status == MW_OK)
        status = mw_behavior_measure(j->task, j->options.world, tier, j->options.seed + 1,
                                     4 * j->options.episodes, j->options.threads, &result, error);
    if (status == MW_OK && j->options.report)
        j->options.report(j->options.context, s, tier->steps[count - 1], &result);
    mw_behavior_free(tier);
    return status;
}

static mw_status pick(const job *j, mw_error *error) {
    gallery *g = calloc(1, sizeof *g);
    mw_behavior *behaviors = calloc(2, sizeof *behaviors);
    mw_status status = g && behaviors ? list_snapshots(g, j->run, j->options.every, error)
                                      : mw_fail(error, MW_ERR_MEMORY, "cannot list snapshots");
    if (status == MW_OK) status = mw_dir_make(j->folder, error);
    const mw_setting *medium = NULL, *s;
    if (status == MW_OK) g->noise = -1;
    for (int i = 0; (s = mw_setting_at(i)); i++)
        if (!strcmp(s->task, j->task) && !strcmp(s->quality, "medium")) medium = s;
    if (status == MW_OK && !medium) status = mw_fail(error, MW_ERR_ARGUMENT, "%s has no settings", j->task);
    for (int i = 0; status == MW_OK && (s = mw_setting_at(i)); i++)
        if (!strcmp(s->task, j->task) && s->kind != MW_TIER_RANDOM)
            status = make_tier(g, j, s, medium, &behaviors[0], &behaviors[1], error);
    free(g);
    free(behaviors);
    return status;
}

static const mw_pick_options defaults = {.size = sizeof defaults, .episodes = 200, .every = 1};

void mw_pick_options_init(mw_pick_options *options, size_t size) {
    mw_options_fill(options, size, &defaults, sizeof defaults);
}

mw_status mw_behavior_pick(const char *task, const char *run, const char *folder,
                           const mw_pick_options *options, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED(task);
    MW_NEED(run);
    MW_NEED(folder);
    job j = {task, run, folder, defaults};
    MW_TRY(mw_options_take(&j.options, sizeof j.options, MW_FIELD_END(mw_pick_options, context), options,
                           "mw_pick_options_init", error));
    if (j.options.episodes < 1 || j.options.episodes > INT_MAX / 4 || j.options.every < 1)
        return mw_fail(error, MW_ERR_ARGUMENT, "cannot measure %d episodes of every %d-th snapshot",
                       j.options.episodes, j.options.every);
    return pick(&j, error);
}
