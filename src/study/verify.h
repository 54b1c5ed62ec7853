/* The networks against recorded numbers: what `mawam verify net` runs on a new CPU or compiler. */
#ifndef MW_STUDY_VERIFY_H
#define MW_STUDY_VERIFY_H

#include "core/verify.h"

/* dir holds <task>/world.safetensors and <task>/policy.safetensors for any tasks, normalizer.safetensors and
 * metrics.safetensors, as far as present; sizes come from their metadata. Errors are relative to a tensor's
 * largest magnitude. */
mw_status mw_verify_net(const char *dir, mw_verify *report, mw_error *error);

#endif
