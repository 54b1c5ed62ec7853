/* Monotonic time, for measurements and progress. */
#ifndef MW_CORE_CLOCK_H
#define MW_CORE_CLOCK_H

double mw_clock_seconds(void); /* since an arbitrary start; never runs backwards */

#endif
