/* The table of one level's hot functions; compiled once per level, as they are. See level.h. */
#include "nn/level.h"

#define POINT(name) name,
const mw_kernels MW_PICK(mw_kernels) = {MW_HOT(POINT)};
