/* Gradients against central differences. Where a test has its own formula in double precision, every
 * coordinate is moved and the error is that of the single-precision gradient; where only the engine can
 * evaluate the function, all coordinates move along a random direction at once and the tolerance must leave
 * room for the rounding of single precision. */
#ifndef MW_TESTS_DIFFERENCES_H
#define MW_TESTS_DIFFERENCES_H

#include "check.h"
#include "core/rng.h"

typedef double differences_objective(void *context);

/* Moves every one of x[n] in turn by +-step and compares the slope of f with gradient[n]. Returns the largest
 * deviation over the largest slope. With f in double and x of order 1, step 1e-4 leaves an error of about
 * 1e-8 of the slope. */
static inline double differences_each(differences_objective *f, void *context, double *x,
                                      const float *gradient, size_t n, double step) {
    double worst = 0, largest = 0;
    for (size_t i = 0; i < n; i++) {
        const double kept = x[i];
        x[i] = kept + step;
        const double above = f(context);
        x[i] = kept - step;
        const double below = f(context);
        x[i] = kept;
        const double slope = (above - below) / (2 * step), off = fabs(slope - (double)gradient[i]);
        if (!(off <= worst)) worst = isnan(off) ? INFINITY : off;
        largest = fmax(largest, fabs(slope));
    }
    return largest > 0 ? worst / largest : worst;
}

/* Moves all of x[n] by +-step times a random direction and compares the change of f with what gradient[n]
 * predicts. Displacements are taken as they come out in single precision. Returns the deviation over the
 * root of the sum of squares of the predicted contributions. The error of single precision is about
 * 1e-7*|f| over that change of f: choose the step so that f changes by about a hundredth. */
static inline double differences_along(differences_objective *f, void *context, float *x,
                                       const float *gradient, size_t n, double step, mw_rng *rng) {
    float *kept = malloc(3 * n * sizeof *kept), *up = kept + n, *down = up + n;
    assert_non_null(kept);
    double predicted = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        const double size = step * mw_rng_range(rng, 0.5, 1.5);
        const double direction = mw_rng_below(rng, 2) ? size : -size;
        kept[i] = x[i];
        up[i] = (float)(x[i] + direction);
        down[i] = (float)(x[i] - direction);
        const double change = ((double)up[i] - down[i]) * gradient[i];
        predicted += change;
        squares += change * change;
    }
    memcpy(x, up, n * sizeof *x);
    const double above = f(context);
    memcpy(x, down, n * sizeof *x);
    const double below = f(context);
    memcpy(x, kept, n * sizeof *x);
    free(kept);
    return fabs(above - below - predicted) / sqrt(squares);
}

/* Largest |seen - expected| over the largest |expected|; infinite if anything is NaN. */
static inline double differences_relative(const float *seen, const double *expected, size_t n) {
    double worst = 0, largest = 0;
    for (size_t i = 0; i < n; i++) {
        const double off = fabs((double)seen[i] - expected[i]);
        if (!(off <= worst)) worst = isnan(off) ? INFINITY : off;
        largest = fmax(largest, fabs(expected[i]));
    }
    return largest > 0 ? worst / largest : worst;
}

/* The error must not exceed the tolerance; both are shown if it does. */
#define CHECK_ERROR(error, tolerance, ...)                                                                   \
    do {                                                                                                     \
        const double error_ = (error), tolerance_ = (tolerance);                                             \
        if (!(error_ <= tolerance_)) {                                                                       \
            print_error(__VA_ARGS__);                                                                        \
            fail_msg(": error %.3g, tolerance %.3g", error_, tolerance_);                                    \
        }                                                                                                    \
    } while (0)

/* n standard normals in single precision, and the same numbers in double. */
static inline void draw_normals(mw_rng *rng, float *single, double *twice, size_t n) {
    mw_rng_fill_normal(rng, single, n);
    if (twice)
        for (size_t i = 0; i < n; i++) twice[i] = single[i];
}

#endif
