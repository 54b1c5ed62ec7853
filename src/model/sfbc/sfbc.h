/* What MA-SfBC's planning backwards judges with, for who compares it with recorded numbers. */
#ifndef MW_MODEL_SFBC_SFBC_H
#define MW_MODEL_SFBC_SFBC_H

#include "model/draw.h"

/* Candidates judged by the first values, while the second ones are not learned yet. */
void mw_sfbc_promises(const mw_model *model, mw_draw_head *head);
double mw_sfbc_discount(const mw_model *model);

#endif
