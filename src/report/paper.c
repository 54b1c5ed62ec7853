/* The paper's tables of planning gain, equal-candidate control and win rates; see paper.h. */
#include "report/paper.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* clang-format off */
static const mw_paper_row rows[] = {
    /* setting                  reactive planning gain   random   gain   won by reactive, planning */
    {"spread-expert",             111.6,   118.2,     6.6,  111.9,    6.3,  NAN,  NAN},
    {"spread-medium-replay",       34.8,    55.7,    20.9,   34.2,   21.4,  NAN,  NAN},
    {"spread-medium",              54.0,    84.7,    30.7,   51.5,   33.2,  NAN,  NAN},
    {"spread-random",              37.4,    64.4,    27.0,   37.1,   27.4,  NAN,  NAN},
    {"tag-expert",                130.8,   132.0,     1.1,  133.7,   -1.8,  NAN,  NAN},
    {"tag-medium-replay",          69.7,    73.2,     3.5,   68.5,    4.7,  NAN,  NAN},
    {"tag-medium",                109.7,   110.6,     0.8,  109.4,    1.1,  NAN,  NAN},
    {"tag-random",                 24.5,    49.2,    24.7,   31.1,   18.1,  NAN,  NAN},
    {"world-expert",              143.7,   144.4,     0.7,  147.8,   -3.5,  NAN,  NAN},
    {"world-medium-replay",        45.5,    60.2,    14.7,   44.0,   16.2,  NAN,  NAN},
    {"world-medium",              136.5,   132.4,    -4.1,  130.9,    1.5,  NAN,  NAN},
    {"world-random",                1.4,     4.5,     3.1,    1.0,    3.5,  NAN,  NAN},
    {"3m-good",                    19.0,    19.5,     0.5,   19.5,    0.0, 0.92, 0.96},
    {"3m-medium",                  13.4,    13.8,     0.4,   14.9,   -1.1, 0.46, 0.50},
    {"3m-poor",                    10.0,    11.0,     0.9,    8.9,    2.1, 0.22, 0.30},
    {"2s3z-good",                  19.9,    19.5,    -0.4,   19.8,   -0.3, 0.98, 0.92},
    {"2s3z-medium",                17.3,    17.2,    -0.1,   16.7,    0.5, 0.60, 0.56},
    {"2s3z-poor",                   9.3,     9.7,     0.4,    9.1,    0.6, 0.00, 0.00},
    {"5m_vs_6m-good",              17.8,    18.4,     0.5,   17.7,    0.7, 0.76, 0.82},
    {"5m_vs_6m-medium",            15.9,    16.1,     0.3,   16.9,   -0.8, 0.56, 0.60},
    {"5m_vs_6m-poor",              10.7,    10.9,     0.2,   10.3,    0.6, 0.10, 0.14},
    {"8m-good",                    19.6,    20.0,     0.4,   19.9,    0.1, 0.94, 1.00},
    {"8m-medium",                  17.9,    19.1,     1.2,   17.6,    1.5, 0.74, 0.88},
    {"8m-poor",                     6.5,     7.0,     0.4,    6.4,    0.6, 0.00, 0.00},
    {"2ant-good",                2391.0,  2406.0,    15.0, 2741.0, -335.0,  NAN,  NAN},
    {"2ant-medium",              1033.0,  1256.0,   223.0,  981.0,  275.0,  NAN,  NAN},
    {"2ant-poor",                 775.0,   928.0,   153.0,  820.0,  108.0,  NAN,  NAN},
    {"4ant-good",                2734.0,  2988.0,   254.0, 2906.0,   82.0,  NAN,  NAN},
    {"4ant-medium",              1737.0,  1635.0,  -102.0, 1712.0,  -78.0,  NAN,  NAN},
    {"4ant-poor",                1098.0,  1305.0,   206.0, 1190.0,  115.0,  NAN,  NAN},
};
/* clang-format on */

const mw_paper_row *mw_paper_at(int index) {
    return index >= 0 && index < (int)(sizeof rows / sizeof *rows) ? &rows[index] : NULL;
}

const mw_paper_row *mw_paper_find(const char *setting) {
    const mw_paper_row *row;
    for (int i = 0; (row = mw_paper_at(i)); i++)
        if (!strcmp(row->setting, setting)) return row;
    return NULL;
}

/* clang-format off */
static const mw_paper_gains gains[] = {
    /* family   of improved difference aggregate relative median  random: improved, relative  snippets: Spearman Pearson top2 pairs regret  MSE */
    {NULL,     30,      26,       NAN,      NAN,   0.220,    NAN,                 23, 0.256,                0.81,    NAN, 0.78, 0.82, 0.13,   NAN},
    {"mpe",    12,      11,     10.81,   0.1442,  0.4627, 0.1916,                  0,   NAN,                0.85,   0.80,  NAN,  NAN,  NAN, 0.037},
    {"battle", 12,      10,      0.41,   0.0275,  0.0329, 0.0270,                  0,   NAN,                0.69,   0.76,  NAN,  NAN,  NAN, 0.057},
    {"ant",     6,       5,    125.00,   0.0768,  0.1070, 0.1404,                  0,   NAN,                0.83,   0.84,  NAN,  NAN,  NAN, 0.199},
};

static const mw_paper_state states[] = {
    /* setting             top1   top2 Spearman pairs regret random */
    {"spread-medium",    0.422, 0.703, 0.584, 0.737, 0.208, 0.555},
    {"tag-medium",       0.250, 0.422, 0.240, 0.590, 0.506, 0.534},
    {"world-medium",     0.266, 0.438, 0.254, 0.602, 0.455, 0.572},
    {"2ant-medium",      0.312, 0.500, 0.290, 0.609, 0.297, 0.490},
    {"4ant-medium",      0.125, 0.328, 0.220, 0.583, 0.403, 0.452},
};
/* clang-format on */

enum { STATES = sizeof states / sizeof *states };

const mw_paper_gains *mw_paper_gains_of(const char *family) {
    for (size_t i = 1; family && i < sizeof gains / sizeof *gains; i++)
        if (!strcmp(gains[i].family, family)) return &gains[i];
    return &gains[0];
}

const mw_paper_state *mw_paper_state_find(const char *setting) {
    for (int i = 0; i < STATES; i++)
        if (!strcmp(states[i].setting, setting)) return &states[i];
    return NULL;
}

mw_paper_state mw_paper_state_mean(void) {
    mw_paper_state mean = {0};
    for (int i = 0; i < STATES; i++) {
        mean.top1 += states[i].top1 / STATES;
        mean.top2 += states[i].top2 / STATES;
        mean.spearman += states[i].spearman / STATES;
        mean.pairs += states[i].pairs / STATES;
        mean.regret += states[i].regret / STATES;
        mean.random_regret += states[i].random_regret / STATES;
    }
    return mean;
}
