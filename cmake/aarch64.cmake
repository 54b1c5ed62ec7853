# Cross build for 64-bit ARM on a Debian machine; the tests run under qemu-user. See docs/portability.md.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig)
# Debian's libhdf5-dev cannot be installed for two architectures at once.
set(CMAKE_DISABLE_FIND_PACKAGE_HDF5 ON)
