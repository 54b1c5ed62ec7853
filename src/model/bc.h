/* Behaviour cloning: the recorded action of an agent from what it saw. The simplest baseline of all, and what
 * the others must beat: it uses no reward. One network for all agents, which is told whom it works for; real
 * actions are the tanh of its output, discrete ones are drawn from the softmax over the legal ones. */
#ifndef MW_MODEL_BC_H
#define MW_MODEL_BC_H

#include "model/model.h"

extern const mw_model_class mw_bc_class;

#endif
