/* Choosing tiers; see pick.h. */
#include "behavior/pick.h"

#include "core/file.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 2048 };

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

static mw_status list_snapshots(gallery *g, const char *run, mw_error *error) {
    char folder[512];
    snprintf(folder, sizeof folder, "%.480s/snapshots", run);
    DIR *open_folder = opendir(folder);
    if (!open_folder) return mw_fail(error, MW_ERR_IO, "%s: %s", folder, strerror(errno));
    for (struct dirent *entry; (entry = readdir(open_folder)) && g->count < MOST;) {
        char *end;
        long long steps = strtoll(entry->d_name, &end, 10);
        if (end != entry->d_name && !strcmp(end, ".safetensors")) g->list[g->count++].steps = (double)steps;
    }
    closedir(open_folder);
    qsort(g->list, (size_t)g->count, sizeof g->list[0], by_steps);
    return g->count > 0 ? MW_OK : mw_fail(error, MW_ERR_IO, "%s: no snapshots", folder);
}

static mw_status load(mw_behavior *b, const mw_pick_request *request, const candidate *c, mw_error *error) {
    char path[600];
    snprintf(path, sizeof path, "%.480s/snapshots/%012.0f.safetensors", request->run, c->steps);
    return mw_behavior_load(b, path, error);
}

/* Plays all snapshots with this noise, unless that is how they were played last. */
static mw_status measure_all(gallery *g, const mw_pick_request *request, float noise, mw_behavior *scratch,
                             mw_error *error) {
    if (g->noise == noise) return MW_OK;
    for (int i = 0; i < g->count; i++) {
        candidate *c = &g->list[i];
        MW_TRY(load(scratch, request, c, error));
        scratch->noise = noise;
        mw_status status = mw_behavior_measure(request->task, request->options, scratch, request->seed,
                                               request->episodes, request->threads, &c->measure, error);
        mw_behavior_free(scratch);
        MW_TRY(status);
        if (request->report) request->report(request->context, NULL, c->steps, &c->measure);
        if (request->stop && *request->stop) return mw_fail(error, MW_ERR_INTERRUPTED, "stopped");
    }
    g->noise = noise;
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

/* Which snapshots a tier consists of; returns how many. Only what comes before the best one counts, so that a
 * run that broke down late offers no tiers from its ruins. */
static int choose(const gallery *g, const mw_setting *s, const mw_setting *medium,
                  int chosen[MW_PICK_LADDER]) {
    const int best = highest(g);
    if (s->kind == MW_TIER_BEST) {
        chosen[0] = best;
        return 1;
    }
    if (s->kind == MW_TIER_NEAR) {
        chosen[0] = nearest(g, best, middle(s));
        return 1;
    }
    const int top = nearest(g, best, middle(medium));
    const double low = g->list[0].measure.mean, high = g->list[top].measure.mean;
    for (int i = 0; i < MW_PICK_LADDER; i++)
        chosen[i] = i == 0 ? 0 : nearest(g, top, low + (high - low) * i / (MW_PICK_LADDER - 1));
    return MW_PICK_LADDER;
}

static mw_status assemble(mw_behavior *tier, const gallery *g, const mw_pick_request *request,
                          const mw_setting *s, const int *chosen, int count, mw_behavior *scratch,
                          mw_error *error) {
    for (int i = 0; i < count; i++) {
        MW_TRY(load(scratch, request, &g->list[chosen[i]], error));
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

static mw_status make_tier(gallery *g, const mw_pick_request *request, const mw_setting *s,
                           const mw_setting *medium, mw_behavior *tier, mw_behavior *scratch,
                           mw_error *error) {
    int chosen[MW_PICK_LADDER];
    char path[512];
    mw_measure measure;
    MW_TRY(measure_all(g, request, s->noise, scratch, error));
    const int count = choose(g, s, medium, chosen);
    memset(tier, 0, sizeof *tier);
    mw_status status = assemble(tier, g, request, s, chosen, count, scratch, error);
    snprintf(path, sizeof path, "%.400s/%s-%s.safetensors", request->folder, s->task, s->quality);
    if (status == MW_OK) status = mw_behavior_save(tier, path, error);
    if (status == MW_OK)
        status = mw_behavior_measure(request->task, request->options, tier, request->seed + 1,
                                     4 * request->episodes, request->threads, &measure, error);
    if (status == MW_OK && request->report)
        request->report(request->context, s, tier->steps[count - 1], &measure);
    mw_behavior_free(tier);
    return status;
}

mw_status mw_pick(const mw_pick_request *request, mw_error *error) {
    gallery *g = calloc(1, sizeof *g);
    mw_behavior *behaviors = calloc(2, sizeof *behaviors);
    mw_status status = g && behaviors ? list_snapshots(g, request->run, error)
                                      : mw_fail(error, MW_ERR_MEMORY, "cannot list snapshots");
    if (status == MW_OK) status = mw_dir_make(request->folder, error);
    const mw_setting *medium = NULL, *s;
    if (status == MW_OK) g->noise = -1;
    for (int i = 0; (s = mw_setting_at(i)); i++)
        if (!strcmp(s->task, request->task) && !strcmp(s->quality, "medium")) medium = s;
    if (status == MW_OK && !medium)
        status = mw_fail(error, MW_ERR_ARGUMENT, "%s has no settings", request->task);
    for (int i = 0; status == MW_OK && (s = mw_setting_at(i)); i++)
        if (!strcmp(s->task, request->task) && s->kind != MW_TIER_RANDOM)
            status = make_tier(g, request, s, medium, &behaviors[0], &behaviors[1], error);
    free(g);
    free(behaviors);
    return status;
}
