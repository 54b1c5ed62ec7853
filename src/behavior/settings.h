/* The 30 settings: a task and the quality of its data. One table says what the data of each should earn, how
 * much of it is made and with how much exploration. */
#ifndef MW_BEHAVIOR_SETTINGS_H
#define MW_BEHAVIOR_SETTINGS_H

#include "core/error.h"

/* How a tier is found among the snapshots of a learning run. */
typedef enum mw_tier_kind {
    MW_TIER_RANDOM, /* uniform random actions, no file */
    MW_TIER_NEAR,   /* the snapshot whose return is nearest to the middle of the range */
    MW_TIER_BEST,   /* the snapshot with the highest return */
    MW_TIER_LADDER, /* snapshots from the start to the medium tier, at equal distances in return */
} mw_tier_kind;

typedef struct mw_setting {
    const char *task, *quality;
    mw_tier_kind kind;
    double low, high;  /* mean score of the data (see mw_score) */
    double least_wins; /* battles */
    float noise;       /* exploration, see mw_actor_draw_real and mw_actor_draw_index */
    int transitions;   /* joint steps of a dataset */
} mw_setting;

/* The returns that count as 0 and 100. Tasks without a row are scored by their plain return. */
typedef struct mw_scale {
    const char *task;
    double random, expert;
} mw_scale;

const mw_setting *mw_setting_at(int index); /* NULL past the end */
/* By "task-quality". */
mw_status mw_setting_find(const mw_setting **setting, const char *name, mw_error *error);
void mw_setting_name(const mw_setting *setting, char *out, size_t size);

const mw_scale *mw_scale_of(const char *task); /* NULL: none */
double mw_score(const char *task, double episode_return);

/* Where behaviour files are: `given`, else $MAWAM_BEHAVIORS, else ./behaviors, else the installed ones. */
mw_status mw_behavior_path(char *out, size_t size, const char *given, const mw_setting *setting,
                           mw_error *error);

#endif
