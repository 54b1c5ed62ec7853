"""Which BLAS this process has loaded. PyTorch on the reference BLAS is many times slower than PyTorch as anybody would run
it, so comparisons with it say nothing."""
import ctypes
import os
import re


def loaded():
    """{"name", "kernels", "file"} of the library behind matrix products; call it after one. None: there is none."""
    with open("/proc/self/maps") as maps:
        files = {os.path.realpath(line.split()[-1]) for line in maps if re.search(r"/lib[^/]*(blas|mkl|blis|atlas)[^/]*\.so", line)}
    for path in sorted(files, key=lambda f: "openblas" not in os.path.basename(f)):
        library = ctypes.CDLL(path)
        if hasattr(library, "openblas_get_config"):
            library.openblas_get_config.restype = library.openblas_get_corename.restype = ctypes.c_char_p
            return {"name": " ".join(library.openblas_get_config().decode().split()[:2]),
                    "kernels": library.openblas_get_corename().decode(), "file": os.path.basename(path)}
        if re.search(r"mkl|blis|atlas", os.path.basename(path)):
            return {"name": os.path.basename(path), "kernels": "its own choice", "file": os.path.basename(path)}
    return {"name": "reference BLAS", "kernels": "none", "file": os.path.basename(min(files))} if files else None


def require():
    """The same, or an exit with what to do about it."""
    blas = loaded()
    if not blas or blas["name"] == "reference BLAS":
        raise SystemExit("bench: PyTorch runs on %s; a comparison would be unfair. Install libopenblas0-pthread and choose it: "
                         "update-alternatives --config libblas.so.3-$(uname -m)-linux-gnu" % (blas["file"] if blas else "no BLAS at all"))
    return blas
