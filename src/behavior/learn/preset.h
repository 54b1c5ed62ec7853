/* How each task's behaviour is learned: one table of mw_learn_preset, every field of which can be overridden
 * by name and is written into the files of a run. */
#ifndef MW_BEHAVIOR_LEARN_PRESET_H
#define MW_BEHAVIOR_LEARN_PRESET_H

#include "mawam/behavior.h"
#include "core/json.h"

json_t *mw_learn_preset_json(const mw_learn_preset *preset);
mw_status mw_learn_preset_parse(mw_learn_preset *preset, const json_t *object, const char *what,
                                mw_error *error);
mw_status mw_learn_preset_check(const mw_learn_preset *preset, mw_error *error);

#endif
