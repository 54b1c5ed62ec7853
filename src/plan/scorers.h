/* The table of scorers: those of the models that can judge, a mixture of two, and the true simulator. */
#ifndef MW_PLAN_SCORERS_H
#define MW_PLAN_SCORERS_H

#include "plan/bundle.h"

const mw_scorer_class *mw_scorer_class_at(int index); /* NULL past the end */
/* Can the bundle's parts serve this scorer? A simulator needs none of them. */
bool mw_scorer_available(const char *name, const mw_bundle *bundle);
/* Can those models (bits by class), once they are trained? Fails where they cannot, or there is no such
 * scorer. */
mw_status mw_scorer_check(const char *name, unsigned models, mw_error *error);
bool mw_scorer_imagines(const char *name);  /* false also where there is none of that name */
bool mw_scorer_foretells(const char *name); /* its scores are imagined rewards to come and nothing else */
/* The first that the bundle can serve and that imagines observations; NULL: none. */
const char *mw_scorer_imagining(const mw_bundle *bundle);

/* The same among models (bits by class), for a plan: its own scorer's before all others. */
const char *mw_scorer_imagining_for(const char *scorer, unsigned models);

/* The weight of the imagined return in its scores: 1, or what a mixture leaves of it. */
float mw_scorer_return_weight(const char *name, double advantage_share);

/* context.kind, models, count and model are filled in here. */
mw_status mw_scorer_create(mw_scorer **scorer, const char *name, const mw_bundle *bundle,
                           mw_scorer_context context, mw_error *error);

#endif
