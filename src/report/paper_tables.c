/* The paper's main table: its method and the published baselines that it is compared with, and what it says
 * of horizons, cost and routing; see paper.h. Standard deviations of baselines are those of their own papers.
 */
#include "report/paper.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

// clang-format off
static const mw_paper_methods methods[] = {
    {"mpe", 9, {"BC", "MA-ICQ", "MA-TD3+BC", "MA-CQL", "OMAR", "MADiff", "MA-SfBC", "DOM2", "MA-WAM"}},
    {"battle", 10, {"BC", "MA-ICQ", "MA-CQL", "MADT", "MADiff", "DoF", "Flow BC", "MAC-Flow", "VGM2P", "MA-WAM"}},
    {"ant", 8, {"BC", "MA-TD3+BC", "MA-CQL", "MADT", "MADiff", "MA-SfBC", "DOM2", "MA-WAM"}},
};

/* setting, {mean, std} in the order of the family's methods */
static const struct {
    const char *setting;
    mw_paper_number numbers[MW_PAPER_METHODS];
} results[] = {
    {"spread-expert", {{35.0, 2.6}, {104.0, 3.4}, {108.3, 3.9}, {98.2, 5.2}, {114.9, 2.6}, {95.0, 5.3}, {87.5, 7.3}, {88.7, 6.3}, {118.3, 1.5}}},
    {"spread-medium-replay", {{10.0, 3.8}, {13.6, 5.7}, {15.4, 5.6}, {31.4, 7.2}, {37.9, 6.1}, {30.3, 2.5}, {8.2, 4.6}, {63.1, 9.5}, {61.6, 3.0}}},
    {"spread-medium", {{31.6, 4.8}, {29.3, 5.5}, {39.4, 3.6}, {34.1, 7.2}, {47.9, 18.9}, {64.9, 7.7}, {51.6, 14.2}, {78.6, 8.1}, {86.7, 2.8}}},
    {"spread-random", {{-0.5, 3.2}, {6.3, 3.5}, {9.8, 4.9}, {24.0, 9.8}, {34.4, 5.3}, {6.9, 3.1}, {5.1, 3.9}, {37.4, 11.3}, {66.2, 3.2}}},
    {"tag-expert", {{40.0, 9.6}, {113.0, 14.4}, {115.2, 12.8}, {119.3, 14.0}, {123.9, 10.5}, {103.0, 12.0}, {77.4, 13.9}, {98.2, 14.4}, {132.9, 5.5}}},
    {"tag-medium-replay", {{0.9, 1.4}, {34.5, 27.8}, {28.7, 20.9}, {41.7, 15.3}, {47.1, 15.3}, {53.9, 11.4}, {12.7, 7.3}, {68.2, 16.7}, {77.4, 5.0}}},
    {"tag-medium", {{22.5, 1.8}, {63.3, 20.0}, {65.1, 29.5}, {61.7, 23.1}, {66.7, 23.2}, {72.7, 9.4}, {47.1, 17.9}, {82.6, 18.2}, {116.7, 4.6}}},
    {"tag-random", {{1.2, 0.5}, {2.2, 1.3}, {6.0, 2.1}, {11.1, 2.8}, {11.1, 2.8}, {4.6, 2.6}, {11.6, 5.1}, {29.6, 8.1}, {50.1, 2.9}}},
    {"world-expert", {{33.0, 9.9}, {109.5, 22.8}, {110.3, 21.3}, {119.8, 28.1}, {110.4, 25.7}, {109.3, 15.4}, {97.3, 19.1}, {99.5, 17.1}, {148.3, 7.1}}},
    {"world-medium-replay", {{2.3, 1.5}, {12.0, 9.1}, {17.4, 8.1}, {19.3, 18.3}, {42.9, 19.5}, {19.8, 6.2}, {9.1, 5.9}, {65.9, 10.6}, {60.4, 3.5}}},
    {"world-medium", {{25.3, 2.0}, {71.9, 20.0}, {73.4, 9.3}, {58.6, 11.2}, {74.6, 11.5}, {84.7, 12.3}, {54.2, 22.7}, {84.5, 23.4}, {138.0, 6.8}}},
    {"world-random", {{-2.4, 0.5}, {1.0, 3.2}, {2.8, 5.5}, {0.6, 2.0}, {5.9, 5.2}, {6.1, 2.4}, {3.1, 1.3}, {4.1, 1.1}, {5.0, 1.7}}},
    {"3m-good", {{16.0, 1.0}, {18.8, 0.6}, {19.0, 0.3}, {19.6, 0.7}, {19.3, 0.5}, {19.8, 0.2}, {20.0, 0.0}, {19.8, 0.2}, {19.5, 0.7}, {20.0, 0.3}}},
    {"3m-medium", {{8.2, 0.8}, {18.1, 0.7}, {18.9, 0.7}, {17.2, 0.7}, {16.4, 2.6}, {18.6, 1.2}, {14.7, 1.5}, {18.0, 3.2}, {16.9, 1.1}, {16.0, 0.8}}},
    {"3m-poor", {{4.4, 0.1}, {14.4, 1.2}, {5.8, 0.4}, {8.9, 0.3}, {10.3, 6.1}, {10.9, 1.1}, {4.5, 0.1}, {10.6, 2.2}, {14.9, 1.5}, {12.8, 0.9}}},
    {"2s3z-good", {{18.2, 0.4}, {19.6, 0.3}, {19.1, 0.8}, {19.4, 0.1}, {15.9, 1.2}, {18.5, 0.8}, {19.5, 0.1}, {19.5, 0.5}, {19.9, 0.1}, {20.0, 0.1}}},
    {"2s3z-medium", {{14.3, 0.7}, {17.2, 0.8}, {14.3, 2.0}, {17.4, 0.3}, {15.6, 0.3}, {18.1, 0.9}, {15.1, 2.0}, {17.6, 0.6}, {16.5, 0.6}, {17.7, 0.5}}},
    {"2s3z-poor", {{6.7, 0.3}, {12.1, 0.4}, {10.1, 0.7}, {9.9, 0.2}, {8.5, 1.3}, {10.0, 1.1}, {6.9, 0.8}, {8.5, 0.6}, {7.9, 0.7}, {10.0, 0.1}}},
    {"5m_vs_6m-good", {{16.6, 0.6}, {16.3, 0.9}, {13.8, 3.1}, {18.0, 1.0}, {16.5, 2.8}, {17.7, 1.1}, {14.7, 2.1}, {18.6, 3.5}, {17.6, 1.3}, {17.6, 0.6}}},
    {"5m_vs_6m-medium", {{14.2, 0.5}, {17.2, 0.4}, {16.8, 3.1}, {17.5, 0.4}, {15.2, 2.6}, {16.2, 0.9}, {12.8, 0.8}, {15.6, 1.3}, {17.0, 0.9}, {18.5, 0.5}}},
    {"5m_vs_6m-poor", {{7.5, 0.2}, {9.4, 0.4}, {10.4, 1.0}, {8.9, 0.3}, {8.9, 1.3}, {10.8, 0.3}, {7.7, 0.8}, {9.8, 2.1}, {10.7, 1.1}, {11.1, 0.5}}},
    {"8m-good", {{16.7, 0.4}, {19.6, 0.3}, {13.1, 6.1}, {19.2, 0.1}, {18.9, 1.1}, {19.6, 0.3}, {19.5, 0.2}, {19.7, 0.3}, {19.7, 0.4}, {20.0, 0.2}}},
    {"8m-medium", {{10.7, 0.5}, {18.6, 0.5}, {16.3, 3.1}, {18.0, 0.5}, {16.8, 1.6}, {18.6, 0.8}, {18.2, 0.8}, {19.4, 0.6}, {18.2, 1.6}, {19.6, 0.2}}},
    {"8m-poor", {{5.3, 0.1}, {10.8, 0.8}, {4.6, 2.4}, {5.1, 0.1}, {9.8, 0.9}, {12.0, 1.2}, {4.9, 0.1}, {11.5, 0.8}, {4.9, 0.1}, {7.1, 0.1}}},
    {"2ant-good", {{2697, 267}, {2922, 194}, {464, 469}, {2940, 56}, {3105, 47}, {1764, 457}, {2187, 190}, {2642, 92}}},
    {"2ant-medium", {{1145, 126}, {744, 283}, {799, 186}, {1210, 89}, {1241, 30}, {1038, 295}, {1432, 305}, {1330, 63}}},
    {"2ant-poor", {{954, 80}, {1256, 122}, {857, 73}, {902, 24}, {1037, 32}, {883, 373}, {916, 182}, {1038, 35}}},
    {"4ant-good", {{2802, 133}, {2628, 971}, {344, 631}, {3090, 26}, {3087, 32}, {1722, 392}, {1836, 242}, {3025, 23}}},
    {"4ant-medium", {{1617, 153}, {1843, 494}, {929, 349}, {1697, 43}, {1897, 44}, {1529, 372}, {1692, 183}, {1933, 70}}},
    {"4ant-poor", {{1033, 122}, {1075, 96}, {518, 112}, {1268, 51}, {1332, 45}, {976, 241}, {1158, 225}, {1358, 39}}},
};

/* Ranking of snippets, rollout error and calibration by horizon: what is printed. NaN: not said. */
static const mw_paper_horizon horizons[] = {
    /* family   H Spearman   n-regret  rollout MSE, Spearman from, to */
    {NULL,      8, 0.81,     0.13,     NAN,         NAN,  NAN},
    {NULL,     16, 0.65,     0.22,     NAN,         NAN,  NAN},
    {"mpe",     4, 0.84,     NAN,      NAN,         NAN,  NAN},
    {"mpe",     8, 0.85,     NAN,      0.037,       0.67, 0.96},
    {"mpe",    16, NAN,      NAN,      0.089,       NAN,  NAN},
    {"battle",  4, 0.90,     NAN,      NAN,         NAN,  NAN},
    {"battle",  8, 0.69,     NAN,      0.057,       0.64, 0.93},
    {"battle", 16, NAN,      NAN,      0.187,       NAN,  NAN},
    {"ant",     1, 0.96,     0.02,     NAN,         NAN,  NAN},
    {"ant",     8, 0.83,     NAN,      0.199,       0.69, 0.90},
    {"ant",    16, NAN,      NAN,      0.268,       NAN,  NAN},
};

/* Milliseconds for four environments. M, then on either card: generation, scoring, total, scoring's share. */
static const mw_paper_cost costs[] = {
    { 1, { 55.9, 10.1,  66.0, 15.3}, { 64.4, 11.1,  75.5, 14.8}},
    { 2, {106.3, 12.8, 119.1, 10.7}, {120.5, 12.5, 132.9,  9.4}},
    { 4, {209.0, 13.3, 222.3,  6.0}, {234.0, 12.2, 246.2,  4.9}},
    { 8, {414.6, 13.4, 428.0,  3.1}, {461.6, 12.1, 473.7,  2.5}},
    {16, {827.9, 13.3, 841.2,  1.6}, {931.0, 12.6, 943.6,  1.3}},
};

static const char *const cost_settings[] = {"spread-medium", "2ant-medium", "3m-medium"};

/* M = 8, medium data: agents, settings alike, then on either card: sequential, batched. */
static const mw_paper_batched batched[] = {
    {"spread", 3, 4, {424.6, 73.2}, {456.5,  88.2}},
    {"tag",    3, 4, {430.4, 73.5}, {454.8,  87.7}},
    {"world",  3, 4, {429.0, 73.5}, {480.8,  95.2}},
    {"2ant",   2, 3, {408.4, 70.4}, {469.9,  77.9}},
    {"4ant",   4, 3, {455.1, 95.7}, {470.0, 111.1}},
    {"3m",     3, 3, {425.3, 71.1}, {453.1,  85.8}},
};

static const mw_paper_routing routing = {
    .settings = 30,
    .context_above_agent = 26, .context_difference = 0.076, .context_low = 0.027, .context_high = 0.120,
    .transitions_above_agents = 23, .js_difference = 0.047, .js_low = 0.020, .js_high = 0.077,
    .effective_experts = 7.51, .experts = 8, .switching = 0.381,
};

static const mw_paper_graph graphs[] = {
    {"tag-medium", 0.964, 0.053},
    {"8m-poor",   0.926, 0.146},
};

static const mw_paper_selectors selectors = {
    .settings = 10, .rwm_best = 10, .names = {"mono", "q", "direct", "independent"}, .alternative = {1, 2, 4, 3},
};

static const double tiers[3] = {0.026, 0.149, 0.508};
// clang-format on

#define AT(table, index)                                                                                     \
    ((index) >= 0 && (size_t)(index) < sizeof(table) / sizeof *(table) ? &(table)[index] : NULL)

const mw_paper_methods *mw_paper_methods_of(const char *family) {
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (!strcmp(methods[i].family, family)) return &methods[i];
    return NULL;
}

mw_paper_number mw_paper_result(const char *setting, int method) {
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        if (!strcmp(results[i].setting, setting) && method >= 0 && method < MW_PAPER_METHODS)
            return results[i].numbers[method];
    return (mw_paper_number){NAN, NAN};
}

const mw_paper_horizon *mw_paper_horizon_find(const char *family, int horizon) {
    for (size_t i = 0; i < sizeof horizons / sizeof *horizons; i++) {
        const mw_paper_horizon *h = &horizons[i];
        if (h->horizon == horizon && (family && h->family ? !strcmp(family, h->family) : family == h->family))
            return h;
    }
    return NULL;
}

const mw_paper_cost *mw_paper_cost_at(int index) {
    return AT(costs, index);
}

const char *mw_paper_cost_setting(int index) {
    const char *const *setting = AT(cost_settings, index);
    return setting ? *setting : NULL;
}

const mw_paper_batched *mw_paper_batched_at(int index) {
    return AT(batched, index);
}

const mw_paper_graph *mw_paper_graph_at(int index) {
    return AT(graphs, index);
}

const mw_paper_routing *mw_paper_routing_figures(void) {
    return &routing;
}

const mw_paper_selectors *mw_paper_selector_counts(void) {
    return &selectors;
}

double mw_paper_tier(int tier) {
    return tier >= 0 && tier < 3 ? tiers[tier] : NAN;
}
