/* Work in a child process: for libraries that may crash, hang or leave the process unable to exit when files
 * are hostile or disks full. Whatever happens to the child becomes an error here. */
#ifndef MW_CORE_MACHINE_CHILD_H
#define MW_CORE_MACHINE_CHILD_H

#include "core/error.h"

typedef struct mw_child_limits {
    size_t memory;            /* bytes beyond what the process has mapped already; 0: unlimited */
    double seconds;           /* of processor time; 0: unlimited */
    const mw_stop_flag *stop; /* may be NULL; not 0: the child is killed, MW_ERR_INTERRUPTED */
} mw_child_limits;

typedef mw_status mw_child_work(void *context, void *result, mw_error *error);

/* Runs work in a fork of this process and waits for it. result[size] is what the child wrote to its own, zero
 * before; it is copied back also after a failure, unless the child died. Everything else the child changes in
 * memory is lost; what it does to files stays. It prints nothing, leaves no core file, ends without exit
 * handlers, and dies with the process that started it. `what` names the work in messages. */
mw_status mw_child_run(const char *what, mw_child_work *work, void *context, void *result, size_t size,
                       const mw_child_limits *limits, mw_error *error);

#endif
