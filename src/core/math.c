/* Argument reduction and Taylor polynomials; see math.h. Contraction is off in the whole build, so every line
 * below rounds exactly where it says. */
#include "core/math.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* ln 2 and pi/2 in parts: the leading ones have trailing zeros, so that small multiples of them are exact. */
static const double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;
static const double half_pi_high = 0x1.921fb544p+0, half_pi_middle = 0x1.0b4611a6p-34,
                    half_pi_low = 0x1.3198a2e037073p-69;

/* Adding it leaves the nearest integer in the last bits, for |x| < 2^51. */
static const double shifter = 0x1.8p52;

static double of_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* x * 2^n for -1022 <= n <= 1023 */
static double scaled(double x, int n) {
    return x * of_bits((uint64_t)(n + 1023) << 52);
}

double mw_exp(double x) {
    if (x != x) return x;
    if (x > 709.79) return INFINITY;
    if (x < -745.2) return 0;
    const double n = x * 1.4426950408889634 + shifter - shifter;
    const double r = (x - n * ln2_high) - n * ln2_low;
    double p = 1.0 / 6227020800.0; /* 1/13! */
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = 1 + (r + r * r * p);
    const int whole = (int)n, half = whole / 2; /* in two steps, for results near the ends of the range */
    return scaled(scaled(p, half), whole - half);
}

double mw_ln(double x) {
    if (!(x > 0)) return x == 0 ? -INFINITY : NAN;
    if (x == INFINITY) return x;
    int exponent = 0;
    if (x < 0x1p-1022) { /* subnormal */
        x *= 0x1p54;
        exponent = -54;
    }
    /* x = 2^exponent (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)) */
    const uint64_t bits = bits_of(x) - 0x3fe6a09e667f3bcd;
    exponent += (int)((int64_t)bits >> 52);
    const double f = of_bits((bits & 0xfffffffffffff) + 0x3fe6a09e667f3bcd) - 1;
    /* log(1 + f) = 2 atanh(s) = 2s + s R, s = f / (2 + f); 2s = f - s f, regrouped so that f leads */
    const double s = f / (2 + f), z = s * s, half_square = 0.5 * f * f, e = exponent;
    double r = 2.0 / 23;
    r = r * z + 2.0 / 21;
    r = r * z + 2.0 / 19;
    r = r * z + 2.0 / 17;
    r = r * z + 2.0 / 15;
    r = r * z + 2.0 / 13;
    r = r * z + 2.0 / 11;
    r = r * z + 2.0 / 9;
    r = r * z + 2.0 / 7;
    r = r * z + 2.0 / 5;
    r = r * z + 2.0 / 3;
    r = r * z;
    return e * ln2_high - ((half_square - (s * (half_square + r) + e * ln2_low)) - f);
}

double mw_ln1p(double x) {
    const double u = 1 + x;
    return u == 1 || u == INFINITY ? x : mw_ln(u) + (x - (u - 1)) / u; /* what rounding took from u */
}

/* sin and cos on [-pi/4, pi/4] of r + low */
static double sine(double r, double low) {
    const double z = r * r;
    double p = 1.0 / 355687428096000.0; /* 1/17! */
    p = p * z - 1.0 / 1307674368000.0;
    p = p * z + 1.0 / 6227020800.0;
    p = p * z - 1.0 / 39916800.0;
    p = p * z + 1.0 / 362880.0;
    p = p * z - 1.0 / 5040.0;
    p = p * z + 1.0 / 120.0;
    p = p * z - 1.0 / 6.0;
    return r + (r * z * p + low * (1 - 0.5 * z));
}

static double cosine(double r, double low) {
    const double z = r * r;
    double p = 1.0 / 20922789888000.0; /* 1/16! */
    p = p * z - 1.0 / 87178291200.0;
    p = p * z + 1.0 / 479001600.0;
    p = p * z - 1.0 / 3628800.0;
    p = p * z + 1.0 / 40320.0;
    p = p * z - 1.0 / 720.0;
    p = p * z + 1.0 / 24.0;
    const double half = 0.5 * z, lead = 1 - half;
    return lead + (((1 - lead) - half) + (z * z * p - r * low));
}

/* sin of x + turns * pi/2 */
static double turned(double x, int turns) {
    if (!isfinite(x)) return NAN;
    const double n = x * 0.6366197723675814 + shifter - shifter;
    const double first = x - n * half_pi_high, second = n * half_pi_middle, r = first - second;
    const double low = ((first - r) - second) - n * half_pi_low;
    const unsigned quadrant = (unsigned)(int64_t)n + (unsigned)turns;
    const double value = quadrant & 1 ? cosine(r, low) : sine(r, low);
    return quadrant & 2 ? -value : value;
}

double mw_sin(double x) {
    return turned(x, 0);
}

double mw_cos(double x) {
    return turned(x, 1);
}

/* atan on [0, 1]: two halvings of the angle bring it below pi/16. */
static double arctangent(double t) {
    for (int i = 0; i < 2; i++) t = t / (1 + sqrt(1 + t * t));
    const double z = t * t;
    double p = 0;
    for (int k = 25; k >= 3; k -= 2) p = (k % 4 == 1 ? 1.0 : -1.0) / k + z * p;
    return 4 * (t + t * z * p);
}

double mw_atan2(double y, double x) {
    const double ay = fabs(y), ax = fabs(x), pi = 3.141592653589793;
    if (x != x || y != y) return NAN;
    double angle = ax == ay  ? (ax == 0 ? 0 : pi / 4)
                   : ay < ax ? arctangent(ay / ax)
                             : pi / 2 - arctangent(ax / ay);
    if (signbit(x)) angle = pi - angle;
    return signbit(y) ? -angle : angle;
}

double mw_tanh(double x) {
    const double size = fabs(x);
    if (!(size >= 1e-4)) return x - x * x * x / 3;
    const double value = size > 20 ? 1 : 1 - 2 / (mw_exp(2 * size) + 1);
    return x < 0 ? -value : value;
}

double mw_length(double x, double y) {
    return sqrt(x * x + y * y);
}

double mw_power(double x, long n) {
    double result = 1;
    for (; n > 0; n >>= 1, x *= x)
        if (n & 1) result *= x;
    return result;
}
