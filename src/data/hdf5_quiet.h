/* What reading and writing HDF5 share: the library prints its error stack unless told not to, and whoever
 * uses us may want that for calls of their own. Internal to src/data. */
#ifndef MW_DATA_HDF5_QUIET_H
#define MW_DATA_HDF5_QUIET_H

#define MW_HDF5_MISSING "HDF5 is not built in: install it (Debian: libhdf5-dev) and build mawam again"

#ifdef MAWAM_HAVE_HDF5
#include <hdf5.h>

typedef struct mw_hdf5_quiet {
    H5E_auto2_t function;
    void *data;
} mw_hdf5_quiet;

static inline mw_hdf5_quiet mw_hdf5_quiet_begin(void) {
    mw_hdf5_quiet kept = {NULL, NULL};
    H5Eget_auto2(H5E_DEFAULT, &kept.function, &kept.data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return kept;
}

static inline void mw_hdf5_quiet_end(mw_hdf5_quiet kept) {
    H5Eset_auto2(H5E_DEFAULT, kept.function, kept.data);
}
#endif

#endif
