"""Writes the golden .npy files next to this script with NumPy (committed ones: NumPy 1.24.2).

The values are those of the table in tests/core/test_npy.c."""
import os
import numpy as np
from numpy.lib import format as npy

here = os.path.dirname(os.path.abspath(__file__))


def save(name, array, version=(1, 0)):
    with open(os.path.join(here, name + ".npy"), "wb") as file:
        npy.write_array(file, array, version=version)


values = np.array([[0, 1, 2.5], [-3.75, 100, -0.5]])
for code in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"):
    save(code, (np.abs(values) if code[0] == "u" else values).astype(code))
for major in (2, 3):
    save(f"f4_version{major}", values.astype("f4"), (major, 0))
save("scalar", np.array(2.5, "f8"))
save("empty", np.zeros((0, 3), "f4"))
save("vector", np.array([1, 2, 3], "f4"))
save("dims8", np.arange(256, dtype="u1").reshape((2,) * 8))
save("dims9", np.arange(512).astype("u1").reshape((2,) * 9))
save("fortran", np.asfortranarray(values.astype("f4")))
save("big", values.astype(">f4"))
save("object", np.array([None, 1], dtype=object))
save("structured", np.zeros(2, dtype=[("a", "f4"), ("b", "i4")]))
save("complex", np.zeros(2, "c8"))
save("text", np.array(["ab"]))
