"""Arrays between numpy and the library: views of its memory, and checks of what is handed to it.

The library reads an array's memory as it lies. A small one of another type or order, or a list, is converted first if
no value changes; a large one is refused, because converting it again and again would cost more than the call.
"""
from ctypes import addressof, c_char
from typing import Any, Optional, Sequence, Tuple

import numpy as np

from mawam._library import ArgumentError

Shape = Tuple[int, ...]
PLAIN = (np.ndarray, np.memmap)  # arrays that are nothing but their memory
LARGEST = 1 << 20  # bytes of an array that is converted
_byte = c_char.from_buffer


class _Memory:
    """Memory of the library for numpy, with what must live as long as any view of it."""

    def __init__(self, address: int, shape: Shape, dtype: np.dtype, owner: Any) -> None:
        self.owner = owner
        self.__array_interface__ = {"data": (address, True), "shape": shape, "typestr": dtype.str, "version": 3}
        if dtype.names:
            self.__array_interface__["descr"] = dtype.descr


def view(address: Optional[int], shape: Sequence[int], dtype: Any, owner: Any) -> Optional[np.ndarray]:
    """A read-only array over the library's memory; None where there is none. Nothing is copied."""
    if not address:
        return None
    if 0 in shape:
        return np.empty(tuple(shape), dtype)
    return np.asarray(_Memory(address, tuple(shape), np.dtype(dtype), owner))


def copied(address: Optional[int], shape: Sequence[int], dtype: Any) -> Optional[np.ndarray]:
    """A copy of the library's memory, for what the next call overwrites."""
    seen = view(address, shape, dtype, None)
    return None if seen is None else seen.copy()


def refuse(what: str, array: Any, shape: Shape, dtype: Any) -> ArgumentError:
    """An error that names what was expected and what was found."""
    found = type(array).__name__
    if isinstance(array, np.ndarray):
        found = ("" if type(array) in PLAIN else found + " of ") + f"{array.dtype} of shape {array.shape}"
    if type(array) in PLAIN and array.shape == shape and array.dtype == dtype:
        found += " that is not aligned" if array.flags.c_contiguous else " that is not contiguous"
    return ArgumentError(f"{what}: expected a contiguous {np.dtype(dtype)} array of shape {shape}; found {found}")


def address(what: str, array: Any, shape: Shape, dtype: np.dtype) -> int:
    """Where an array lies, if it is just what the library expects there."""
    if type(array) in PLAIN and array.shape == shape and array.dtype == dtype:
        try:
            at = addressof(_byte(array))  # several times as fast as asking numpy; wants what we want, and more
        except (TypeError, ValueError):  # read-only or empty, or not contiguous
            if not array.flags.c_contiguous:
                raise refuse(what, array, shape, dtype) from None
            at = array.__array_interface__["data"][0]
        if at % dtype.alignment == 0:
            return at
    raise refuse(what, array, shape, dtype)


def lent(what: str, values: Any, shape: Shape, dtype: np.dtype) -> Tuple[int, Any]:
    """Where values lie as the library expects them, and what must live as long as it reads them: the array itself, or a
    converted copy of a small one."""
    try:
        return address(what, values, shape, dtype), values
    except ArgumentError:
        if isinstance(values, np.ndarray) and values.nbytes > LARGEST:
            raise
    array = taken(what, values, shape, dtype)
    return array.__array_interface__["data"][0], array


def taken(what: str, values: Any, shape: Shape, dtype: np.dtype) -> np.ndarray:
    """Values for a small call, where lists, other strides and places will do: the shape must fit, and whole numbers
    must stay the numbers they are."""
    if isinstance(values, np.ma.MaskedArray):  # its mask would be lost
        raise refuse(what, values, shape, dtype)
    array = np.asarray(values)
    whole = dtype.kind in "iu"
    if array.shape != shape or array.dtype.kind not in ("iub" if whole else "iubf"):
        raise refuse(what, array, shape, dtype)
    result = np.require(array, dtype, ["C", "A"])
    if whole and not np.array_equal(result, array):
        raise ArgumentError(f"{what}: some values do not fit {dtype}: they are {array.min()} to {array.max()}")
    return result
