/* Figures of matrices and of agents: heat maps with their values in the cells, standing bars around zero, and
 * graphs drawn on the agents. Numbers may be anything; what is not finite is left out. */
#ifndef MW_REPORT_FIGURES_H
#define MW_REPORT_FIGURES_H

#include "report/svg.h"

/* Rows of `stride` numbers each. */
typedef struct mw_matrix {
    const double *values;
    int rows, columns, stride;
} mw_matrix;

typedef struct mw_heat_map {
    const char *title;                    /* in words, with the unit */
    const char *row_label, *column_label; /* of the axes: "agent (target)" */
    mw_matrix matrix;
    double low, high; /* ends of the colour scale; equal: those of the values */
} mw_heat_map;
/* Dark is little, bright is much; a scale beside it says how much. */
void mw_figure_heat_map(FILE *out, const mw_heat_map *map);

typedef struct mw_columns {
    const char *title, *x_label, *y_label; /* with units */
    const char *const *names;              /* [count] */
    const double *values;                  /* [count] */
    int count;
} mw_columns;
/* Blue above zero, orange below. */
void mw_figure_columns(FILE *out, const mw_columns *columns);

typedef struct mw_agent_arrows {
    const char *title; /* in words, with the unit */
    mw_matrix matrix;  /* square: [target][source], not negative */
} mw_agent_arrows;
/* Agents on a circle; an arrow from each source to each target, as wide as its number is large against the
 * largest between different agents. What an agent does to itself stands at its node. */
void mw_figure_agents(FILE *out, const mw_agent_arrows *arrows);

#endif
