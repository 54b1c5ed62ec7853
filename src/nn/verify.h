/* Comparison of the networks with recorded outputs, losses and gradients. */
#ifndef MW_NN_VERIFY_H
#define MW_NN_VERIFY_H

#include "core/verify.h"

/* Fails only when files are missing or malformed: numbers out of tolerance are counted in the report. */
mw_status mw_verify_net(const char *dir, mw_verify *report, mw_error *error);

#endif
