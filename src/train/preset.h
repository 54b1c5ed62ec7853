/* How the models of each task are trained and used: defaults come from the field tables, one table of
 * assignments says what differs by task, and every field can be overridden by name ("flow.dim=64"). */
#ifndef MW_TRAIN_PRESET_H
#define MW_TRAIN_PRESET_H

#include "mawam/train.h"
#include "model/model.h"
#include "plan/settings.h"

typedef struct mw_preset {
    char task[MW_WORD], quality[MW_WORD], method[MW_WORD]; /* quality of the data; "": not known */
    unsigned parts;                                        /* 1 << index of each model that the bundle gets */
    double held_out;                                       /* share of the episodes */
    mw_plan_settings plan;
    mw_model_config config[MW_KINDS]; /* by index of the class */
} mw_preset;

/* The task's own by mawam's method; tasks of the user's own get the defaults. */
mw_preset mw_preset_of(const char *task, mw_budget budget);
/* By any method, a model that plays by itself among them; NULL: mawam's. */
mw_status mw_preset_choose(mw_preset *preset, const char *method, const char *task, const char *quality,
                           mw_budget budget, mw_error *error);

/* "group.name=value", with a model's name, plan or data as the group, or "parts=flow,inverse,...". The
 * message of a failure lists what there is. */
mw_status mw_preset_set(mw_preset *preset, const char *assignment, mw_error *error);
/* Parts and settings that do not fit together. */
mw_status mw_preset_check(const mw_preset *preset, mw_error *error);

/* {"method": ..., "parts": ..., "data": {...}, "plan": {...}, "flow": {...}, ...} of the parts in use; NULL:
 * out of memory.
 */
json_t *mw_preset_json(const mw_preset *preset);

/* Every setting of a preset in turn, of all models. */
typedef struct mw_preset_field {
    char name[2 * MW_WORD]; /* "flow.dim" */
    char value[MW_WORD];    /* as typed */
    const mw_field *field;
} mw_preset_field;
bool mw_preset_field_at(const mw_preset *preset, int index, mw_preset_field *field); /* false past the end */

/* mw_preset_list is in mawam/train.h. */

#endif
