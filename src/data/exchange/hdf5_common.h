/* What reading and writing HDF5 share. Internal to src/data. */
#ifndef MW_DATA_EXCHANGE_HDF5_COMMON_H
#define MW_DATA_EXCHANGE_HDF5_COMMON_H

#define MW_HDF5_MISSING "HDF5 is not built in: install it (Debian: libhdf5-dev) and build mawam again"

#ifdef MAWAM_HAVE_HDF5
#include <hdf5.h>
#endif

#endif
