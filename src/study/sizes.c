/* The table of task shapes; see sizes.h. */
#include "study/sizes.h"

#include <string.h>

/* clang-format off */
static const mw_task_shape shapes[] = {
    /* task       n   o   d  discrete  C  gen  H */
    {"spread",    3, 18,  2, false,    1, 23,  8},
    {"tag",       3, 16,  2, false,    1, 23,  8},
    {"world",     3, 24,  2, false,    1, 23,  8},
    {"2ant",      2, 56,  4, false,   19,  9,  8},
    {"4ant",      4, 37,  2, false,   19,  9,  8},
    {"3m",        3, 33,  9, true,    21,  3,  3},
    {"8m",        8, 88, 14, true,    21,  3,  3},
    {"5m_vs_6m",  5, 60, 12, true,    21,  3,  3},
    {"2s3z",      5, 85, 11, true,     9, 19,  8},
};
/* clang-format on */

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

const mw_task_shape *mw_task_shape_at(int index) {
    return index >= 0 && index < COUNT(shapes) ? &shapes[index] : NULL;
}

const mw_task_shape *mw_task_shape_find(const char *task) {
    for (int i = 0; i < COUNT(shapes); i++)
        if (!strcmp(shapes[i].task, task)) return &shapes[i];
    return NULL;
}

mw_flow_config mw_flow_config_paper(const mw_task_shape *shape) {
    return (mw_flow_config){.agents = shape->agents,
                            .obs = shape->obs,
                            .dim = 128,
                            .mults = {1, 4, 8},
                            .time = shape->context + shape->generated,
                            .context = shape->context,
                            .bins = 5,
                            .project = true};
}
