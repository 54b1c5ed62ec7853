/* Elementary functions in double precision from additions, multiplications, divisions and square roots alone.
 * IEEE 754 defines the result of each of those to the last bit, so numbers of random streams, worlds and
 * networks that depend on these functions are the same on every CPU, whatever its C library. The largest
 * error is below 2 units in the last place on the stated ranges, below 6 for mw_atan2. */
#ifndef MW_CORE_MATH_H
#define MW_CORE_MATH_H

double mw_exp(double x);
double mw_ln(double x);   /* x > 0; -infinity at 0, NaN below */
double mw_ln1p(double x); /* x >= 0 */
double mw_sin(double x);  /* |x| up to 1e6; beyond, ever less of it is right */
double mw_cos(double x);  /* as mw_sin */
double mw_atan2(double y, double x);
double mw_tanh(double x);             /* to single precision and better: 1e-11 relative */
double mw_length(double x, double y); /* sqrt(x^2 + y^2), for squares within range */
double mw_power(double x, long n);    /* x^n, n >= 0, by squaring */

#endif
