/* The world models without routing as models: rows mono and independent. */
#ifndef MW_MODEL_UNROUTED_UNROUTED_H
#define MW_MODEL_UNROUTED_UNROUTED_H

#include "model/model.h"
#include "model/unrouted/network.h"

extern const mw_model_class mw_mono_class, mw_independent_class;

#endif
