/* The methods that a bundle can be trained by: mawam's own and the paper's, and every model that plays by
 * itself. The first two are a table of assignments by
 * task, over the defaults of the field tables. */
#ifndef MW_TRAIN_METHODS_H
#define MW_TRAIN_METHODS_H

typedef struct mw_method_row {
    const char *task;     /* the last row's is "other": tasks of the user's own */
    const char *settings; /* what differs, "group.name=value" with spaces between */
    const char *quick;    /* and with few steps */
} mw_method_row;

typedef struct mw_method {
    const char *name, *help;
    const char *common; /* what it sets for every task, before the row */
    const mw_method_row *rows;
    int count;
} mw_method;

const mw_method *mw_method_at(int index);          /* NULL past the end; 0 is the one without --method */
const mw_method *mw_method_find(const char *name); /* NULL: there is none */
const mw_method_row *mw_method_row_of(const mw_method *method, const char *task);

#endif
