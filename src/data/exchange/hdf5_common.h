/* What reading and writing HDF5 share. Internal to src/data. */
#ifndef MW_DATA_EXCHANGE_HDF5_COMMON_H
#define MW_DATA_EXCHANGE_HDF5_COMMON_H

#define MW_HDF5_MISSING "HDF5 is not built in: install it (Debian: libhdf5-dev) and build mawam again"

#ifdef MAWAM_HAVE_HDF5
#include "core/error.h"
#ifdef MAWAM_LOAD
#include <loaded/hdf5.h>
#undef H5CHECK /* it ends the process over a patch number */
#define H5CHECK
#else
#include <hdf5.h>
#endif

/* Before anything else of HDF5 is used: it is there and of the series whose names and structs are meant here.
 */
mw_status mw_hdf5_need(mw_error *error);
#endif

#endif
