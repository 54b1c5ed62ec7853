/* HDF5 files: the library may die in the child process, we may not. */
#include "fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (mw_hdf5_available()) fuzz_import(mw_import_hdf5, fuzz_file(data, size));
    return 0;
}
