/* What reading and writing a bundle's file share; see bundle.h. */
#ifndef MW_PLAN_BUNDLE_FILE_H
#define MW_PLAN_BUNDLE_FILE_H

#include "plan/bundle.h"

extern const mw_fields mw_bundle_info_fields; /* of mw_bundle_info, but for the packing */

json_t *mw_bundle_part_json(const mw_bundle_part *part); /* as files have it */

/* Would half precision, in which this parameter is stored, change some of its values? */
bool mw_bundle_half_changes(const mw_param *param, const float *values);

#endif
