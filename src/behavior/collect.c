/* Making datasets: mw_dataset_make of mawam/data.h. */
#include "behavior/play.h"
#include "core/file.h"
#include "core/numbers.h"
#include "core/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_note(char *note, size_t size, const mw_env_info *info, const mw_behavior *behavior) {
    if (!behavior) {
        snprintf(note, size, "uniform random actions");
        return;
    }
    char who[48] = "one policy";
    if (behavior->count > 1) snprintf(who, sizeof who, "%d policies in equal shares", behavior->count);
    if (info->discrete)
        snprintf(
            note, size,
            "%s; actions drawn from the policy's probabilities, with probability %g uniform over the legal "
            "actions",
            who, (double)behavior->noise);
    else
        snprintf(note, size, "%s; normal noise of std %g on every action value, clipped to [-1,1]", who,
                 (double)behavior->noise);
}

static void account(mw_make_result *r, double *square, const mw_played *played) {
    const double value = played->episode_return, before = r->mean;
    r->episodes++;
    r->steps += played->episode.length;
    r->mean += (value - r->mean) / (double)r->episodes;
    *square += (value - before) * (value - r->mean);
    r->least = fmin(r->least, value);
    r->most = fmax(r->most, value);
    r->win_rate += ((played->episode.outcome == MW_ENDED_BY_VICTORY) - r->win_rate) / (double)r->episodes;
}

static mw_status play_all(mw_player *player, mw_dataset_writer *writer, const mw_make_options *o, long total,
                          mw_make_result *r, mw_error *error) {
    double square = 0;
    *r = (mw_make_result){.least = INFINITY, .most = -INFINITY};
    while (r->steps < total) {
        const mw_played *played;
        MW_TRY(mw_player_next(player, &played, error));
        for (int i = 0; i < mw_player_wave(player) && r->steps < total; i++) {
            MW_TRY(mw_dataset_writer_add(writer, &played[i].episode, error));
            account(r, &square, &played[i]);
        }
        if (o->progress) o->progress(o->context, r->steps, total);
        if (mw_stopped(o->stop))
            return mw_fail(error, MW_ERR_INTERRUPTED, "stopped after %ld of %ld transitions; nothing is kept",
                           r->steps, total);
    }
    r->std = sqrt(square / (double)r->episodes); /* of these episodes, as the dataset tells it */
    return MW_OK;
}

static mw_status make(const mw_setting *setting, const char *folder, const mw_make_options *o,
                      const mw_behavior *behavior, const mw_data_source *source, mw_make_result *result,
                      mw_error *error) {
    mw_player *player;
    mw_dataset_writer *writer = NULL;
    char note[256];
    MW_TRY(mw_player_create(&player, setting->task, o->world, behavior, o->seed, o->threads, true, error));
    const mw_env_info *info = mw_player_world(player);
    write_note(note, sizeof note, info, behavior);
    const mw_dataset_spec spec = {.task = info->task,
                                  .rules = info->rules,
                                  .quality = setting->quality,
                                  .agents = info->agents,
                                  .obs_size = info->obs_size,
                                  .act_size = info->act_size,
                                  .discrete = info->discrete,
                                  .episode_limit = info->episode_limit,
                                  .seed = o->seed,
                                  .command = o->command,
                                  .note = note,
                                  .sources = source,
                                  .source_count = 1};
    mw_status status = behavior ? mw_behavior_check(behavior, info, source->name, error) : MW_OK;
    if (status == MW_OK) status = mw_dataset_writer_open(&writer, folder, &spec, o->overwrite, error);
    const long total = o->transitions > 0 ? o->transitions : setting->transitions;
    if (status == MW_OK) status = play_all(player, writer, o, total, result, error);
    if (status == MW_OK) {
        mw_data_source counted = *source;
        counted.episodes = result->episodes;
        status = mw_dataset_writer_sources(writer, &counted, 1, error);
    }
    if (status == MW_OK)
        status = mw_dataset_writer_commit(writer, error);
    else
        mw_dataset_writer_abandon(writer);
    mw_player_free(player);
    return status;
}

static mw_status checksum_of(const char *path, uint64_t *checksum, mw_error *error) {
    mw_map map;
    MW_TRY(mw_map_copy(&map, path, error));
    *checksum = mw_hash(MW_HASH_START, map.data, map.size);
    mw_map_close(&map);
    return MW_OK;
}

static mw_status collect(const mw_setting *setting, const char *folder, const mw_make_options *o,
                         mw_make_result *result, mw_error *error) {
    mw_data_source source = {.name = "random"};
    if (setting->kind == MW_TIER_RANDOM) return make(setting, folder, o, NULL, &source, result, error);
    char path[512];
    MW_TRY(mw_behavior_path(path, sizeof path, o->behaviors, setting, error));
    MW_TRY(checksum_of(path, &source.checksum, error));
    mw_behavior *behavior = malloc(sizeof *behavior);
    if (!behavior) return mw_fail(error, MW_ERR_MEMORY, "cannot allocate a behaviour");
    mw_status status = mw_behavior_load(behavior, path, error);
    if (status == MW_OK) {
        const char *slash = strrchr(path, '/');
        source.name = slash ? slash + 1 : path;
        status = make(setting, folder, o, behavior, &source, result, error);
        mw_behavior_free(behavior);
    }
    free(behavior);
    return status;
}

static const mw_make_options defaults = {.size = sizeof defaults};

void mw_make_options_init(mw_make_options *options, size_t size) {
    mw_options_fill(options, size, &defaults, sizeof defaults);
}

mw_status mw_dataset_make(const char *name, const char *folder, const mw_make_options *given,
                          mw_make_result *result, mw_error *error) {
    MW_PLAIN_NUMBERS;
    MW_NEED_AS(name, "setting");
    MW_NEED(folder);
    MW_NEED(result);
    mw_make_options options = defaults;
    const mw_setting *setting;
    MW_TRY(mw_options_take(&options, sizeof options, MW_FIELD_END(mw_make_options, context), given,
                           "mw_make_options_init", error));
    MW_TRY(mw_setting_find(&setting, name, error));
    if (options.transitions < 0)
        return mw_fail(error, MW_ERR_ARGUMENT, "transitions is %ld; it must be 0 (the setting's) or more",
                       options.transitions);
    return collect(setting, folder, &options, result, error);
}
