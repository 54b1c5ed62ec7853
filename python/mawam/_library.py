"""Finds, loads and calls the shared library.

A library of another version is refused: structs are passed by their layout. What a call reports becomes an exception
with the library's own message.
"""
import ctypes
import operator
import os
import shutil
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Type, TypeVar, Union

import numpy as np

from mawam import _abi
from mawam._version import __version__

PathLike = Union[str, "os.PathLike[str]"]
Record = TypeVar("Record")
Kind = TypeVar("Kind")


class Error(Exception):
    """Anything that the library refuses or fails at; `status` is its short name of the kind."""

    status = "error"


class ArgumentError(Error, ValueError):
    """The request is wrong: a size, a name, a value."""

    status = "argument"


class FileError(Error, OSError):
    """The operating system refused: open, read, write, map."""

    status = "io"


class FormatError(Error, ValueError):
    """A file's contents break its format."""

    status = "format"


class MismatchError(Error, ValueError):
    """Well-formed things that do not belong together."""

    status = "mismatch"


class OutOfMemoryError(Error, MemoryError):
    """There was not enough memory."""

    status = "memory"


class UnsupportedError(Error, NotImplementedError):
    """Valid, but not built in or not implemented."""

    status = "unsupported"


class NumericError(Error, ArithmeticError):
    """Not finite where it must be."""

    status = "numeric"


class InterruptedWork(Error):
    """Stopped on request; what was finished is saved."""

    status = "interrupted"


_BY_STATUS: List[Type[Error]] = [
    Error, ArgumentError, FileError, FormatError, MismatchError, OutOfMemoryError, UnsupportedError, NumericError,
    InterruptedWork,
]

# ---- loading ---------------------------------------------------------------------------------------------------------


def _prefixes() -> List[Path]:
    """Where mawam may be installed: Python's own prefix, that of the program on PATH, the user's and the machine's."""
    program = shutil.which("mawam")
    found = [Path(sys.prefix)]
    if program:
        found.append(Path(os.path.realpath(program)).parent.parent)
    return found + [Path(os.path.expanduser("~/.local")), Path("/usr/local")]


def places() -> List[str]:
    """Where the library is looked for, in this order.

    $MAWAM_LIBRARY alone if it is set; else in the package, in the build tree that the package lies in, in the lib
    folders of Python's prefix, of the prefix of `mawam` on PATH, of ~/.local and of /usr/local, and wherever the
    system's loader looks.
    """
    given = os.environ.get("MAWAM_LIBRARY")
    if given:
        return [given]
    package = Path(__file__).resolve().parent
    folders = [package / "lib", package.parent.parent / "build"] + [prefix / "lib" for prefix in _prefixes()]
    found = [str(folder / "libmawam.so") for folder in folders]
    return list(dict.fromkeys(found)) + ["libmawam.so." + ".".join(__version__.split(".")[:2])]


def _open() -> ctypes.CDLL:
    refusals = []
    for place in places():
        if "/" in place and not os.path.exists(place):
            refusals.append(f"{place}: not there")
            continue
        try:
            return ctypes.CDLL(place)
        except OSError as error:
            refusals.append(str(error))
    raise ImportError("libmawam.so was not found; install it (make install) or set MAWAM_LIBRARY. Looked at:\n  "
                      + "\n  ".join(refusals))


def _load() -> ctypes.CDLL:
    library = _open()
    try:
        library.mw_version.restype = ctypes.c_char_p
        version = library.mw_version().decode()
    except AttributeError:
        raise ImportError(f"{library._name} is not mawam's library: it has no mw_version") from None
    if version != __version__:
        raise ImportError(f"{library._name} is version {version}, but this package is {__version__}: "
                          "install both of the same version")
    return library


def _missing(place: str) -> Callable[[str], Callable[..., Any]]:
    """Functions that stand for those that the library there does not have."""

    def stand_in(name: str) -> Callable[..., Any]:
        def refuse(*_: Any) -> Any:
            raise UnsupportedError(f"{place} has no {name}: it was built from other sources than this package")

        return refuse

    return stand_in


def study_place(place: str) -> str:
    """Where libmawam-study is: beside the library, with the same ending of its name if there is such a file."""
    folder, name = os.path.split(place)
    found = os.path.join(folder, name.replace("libmawam.", "libmawam-study.", 1))
    return found if name.startswith("libmawam.") and (not folder or os.path.exists(found)) else os.path.join(
        folder, "libmawam-study.so")


def study_library() -> ctypes.CDLL:
    """libmawam-study; the loader refuses one of another release than the library."""
    return ctypes.CDLL(study_place(library._name))


class _Functions:
    """The functions of both libraries; the second, libmawam-study, is loaded when one of its own is asked for."""

    def __init__(self) -> None:
        self.__dict__.update(_abi.functions(library, _missing(library._name)))

    def __getattr__(self, name: str) -> Any:
        if name not in _abi.STUDY:
            raise AttributeError(name)
        try:
            study = study_library()
        except OSError as error:
            raise UnsupportedError(f"{name} is in libmawam-study, which cannot be loaded: {error}") from None
        self.__dict__.update(_abi.functions(study, _missing(study._name), _abi.STUDY_FUNCTIONS))
        return self.__dict__[name]


library = _load()
lib: Any = _Functions()

# ---- calling ---------------------------------------------------------------------------------------------------------


def failure(status: int, error: ctypes.Structure) -> Error:
    """The exception for what a function reported."""
    kind = _BY_STATUS[status] if 0 <= status < len(_BY_STATUS) else Error
    return kind(text(error.message))


def call(function: Callable[..., int], *arguments: Any) -> None:
    """Calls a function that returns a status and takes an error at the end; raises what it reports."""
    error = _abi.STRUCT["mw_error"]()
    status = function(*arguments, ctypes.byref(error))
    if status:
        raise failure(status, error)


def prepared(name: str) -> Callable[..., int]:
    """A function of the library for arguments that are ctypes objects already: converting them costs as much as a small
    call."""
    return ctypes.CFUNCTYPE(ctypes.c_int)((name, library))


def text(value: Optional[bytes]) -> str:
    """A text of the library; it is UTF-8 unless a file or the system said otherwise."""
    return value.decode("utf-8", "replace") if value is not None else ""


def names(function: Callable[..., Optional[bytes]], *before: Any) -> List[str]:
    """All of a list that ends with NULL: function(*before, 0), function(*before, 1), ..."""
    found: List[str] = []
    while True:
        value = function(*before, len(found))
        if value is None:
            return found
        found.append(text(value))


class Handle:
    """Owns one object of the library and frees it with the last reference to this one.

    Whatever looks into the object's memory, or needs it to live, keeps a reference.
    """

    __slots__ = ("pointer", "_free", "_needs", "__weakref__")

    def __init__(self, create: Callable[..., int], free: Optional[Callable[[int], None]], *arguments: Any,
                 needs: Any = None) -> None:
        self.pointer = 0
        self._free, self._needs = free, needs
        pointer = ctypes.c_void_p()
        call(create, ctypes.byref(pointer), *arguments)
        self.pointer = pointer.value or 0

    @classmethod
    def own(cls, pointer: int, free: Callable[[int], None]) -> "Handle":
        """An object that is there already."""
        handle = cls.__new__(cls)
        handle.pointer, handle._free, handle._needs = pointer, free, None
        return handle

    @classmethod
    def borrow(cls, pointer: int, owner: Any) -> "Handle":
        """An object that belongs to another one."""
        handle = cls.__new__(cls)
        handle.pointer, handle._free, handle._needs = pointer, None, owner
        return handle

    def __reduce__(self) -> Any:
        raise TypeError("objects of the library cannot be pickled or deep-copied; hand over a path or a snapshot")

    def __del__(self) -> None:
        if self.pointer and self._free:
            self._free(self.pointer)
        self.pointer = 0


class Pointer(int):
    """An object's address, for calls. Whoever holds it holds the object: closing in another thread waits for the calls
    that are under way."""

    handle: Handle


class Owner:
    """Base of the classes that stand for an object of the library; `close` lets go of it early."""

    _handle: Optional[Handle]

    @property
    def _pointer(self) -> Pointer:
        """To be kept in a variable where what the library returns lies in the object."""
        handle = self._handle
        if handle is None:
            raise ArgumentError(f"this {type(self).__name__} is closed")
        pointer = Pointer(handle.pointer)
        pointer.handle = handle
        return pointer

    def close(self) -> None:
        """Lets go of the object; it is freed as soon as no array, planner, call in another thread or the like needs
        it."""
        self._handle = None

    def __enter__(self: Any) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def opened(kind: Type[Kind], value: Any) -> Kind:
    """An object of this class that is not closed, or an error that says what was found."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise ArgumentError(f"expected {article} {kind.__name__}; found {type(value).__name__}")
    value._pointer  # type: ignore[attr-defined]  # refuses one that is closed
    return value


# ---- options and records ---------------------------------------------------------------------------------------------


def encode(value: PathLike) -> bytes:
    """A text or path as the library wants it."""
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise ArgumentError(f"expected a text or a path; found {value!r}")
    found = os.fsencode(value)
    if 0 in found:  # the library would see only what stands before it
        raise ArgumentError(f"{value!r} has a null character in it")
    return found


def optional(value: Optional[PathLike]) -> Optional[bytes]:
    return None if value is None else encode(value)


def several(name: str, values: Any) -> None:
    """Refuses one text or path where a list of them is meant: it would be taken letter by letter."""
    if isinstance(values, (str, bytes, os.PathLike)):
        raise ArgumentError(f"{name}: expected a list; found {values!r} alone")


def whole(name: str, value: Any, kind: Any = ctypes.c_uint64) -> Any:
    """A whole number that the type can hold; ctypes would cut off what does not fit."""
    try:
        found = operator.index(value)
    except TypeError:
        raise ArgumentError(f"{name}: expected a whole number; found {value!r}") from None
    if kind(found).value != found:
        raise ArgumentError(f"{name}: {found} is out of range")
    return found


def truth(name: str, value: Any) -> bool:
    """True or False; ctypes would take any object's truth, and that of "no" is True."""
    if not isinstance(value, (bool, np.bool_)):
        raise ArgumentError(f"{name}: expected True or False; found {value!r}")
    return bool(value)


_WHOLE = (ctypes.c_int, ctypes.c_uint, ctypes.c_long, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_uint8)


def fill(struct: Any, fields: Mapping[str, Any]) -> Any:
    """Sets those fields of a struct that are not None; texts and paths are encoded."""
    known = {field[0]: field[1] for field in struct._fields_}
    for name, value in fields.items():
        if name not in known:  # ctypes would take it and forget it
            raise TypeError(f"{type(struct).__name__} has no field {name!r}; it has {', '.join(sorted(known))}")
        if value is None:
            continue
        if known[name] is ctypes.c_char_p:
            if not isinstance(value, (str, bytes, os.PathLike)):  # ctypes would take a number as an address
                raise ArgumentError(f"{name}: expected a text; found {value!r}")
            value = encode(value)
        if known[name] in _WHOLE:
            value = whole(name, value, known[name])
        if known[name] is ctypes.c_bool:
            value = truth(name, value)
        try:
            setattr(struct, name, value)
        except (TypeError, OverflowError) as error:
            raise ArgumentError(f"{name}: {value!r} does not fit: {error}") from None
    return struct


def options(name: str, *init: Any, **fields: Any) -> Any:
    """An options struct with its defaults, then the fields that are given."""
    struct = _abi.STRUCT[name]()
    getattr(lib, name + "_init")(ctypes.byref(struct), ctypes.sizeof(struct), *init)
    return fill(struct, fields)


def _python(value: Any) -> Any:
    if isinstance(value, bytes):
        return text(value)
    if isinstance(value, ctypes.Structure):
        return as_dict(value)
    if isinstance(value, ctypes.Array):
        return tuple(_python(item) for item in value)
    return value


def as_dict(struct: ctypes.Structure) -> Dict[str, Any]:
    """All fields of a struct as Python values; texts that are NULL become ""."""
    texts = {field[0] for field in struct._fields_ if field[1] is ctypes.c_char_p}
    return {field[0]: text(getattr(struct, field[0])) if field[0] in texts else _python(getattr(struct, field[0]))
            for field in struct._fields_}


def structs(name: str, address: Optional[int], count: int) -> Sequence[Any]:
    """The structs of an array of the library, which is valid as long as that."""
    return (_abi.STRUCT[name] * count).from_address(address) if address else ()


def record(kind: Type[Record], struct: ctypes.Structure, /, **others: Any) -> Record:
    """A named tuple of the struct's fields that it names, and of others."""
    values = as_dict(struct)
    values.update(others)
    return kind(**{name: values[name] for name in kind._fields})  # type: ignore[attr-defined]


Settings = Union[Mapping[str, Any], Iterable[str]]


def typed(value: Any) -> str:
    """A value as it would be typed on the command line."""
    if isinstance(value, (bool, np.bool_)):
        return "on" if value else "off"
    if isinstance(value, (list, tuple)):
        return ",".join(map(typed, value))
    return str(value)


class Assignments:
    """Settings as the library's array of "name=value"; it must live as long as the call."""

    def __init__(self, settings: Optional[Settings]) -> None:
        if settings is None:
            settings = ()
        if isinstance(settings, str):
            settings = settings.split()
        if isinstance(settings, Mapping):
            settings = [f"{name}={typed(value)}" for name, value in settings.items()]
        self.items: Sequence[bytes] = [encode(item) for item in settings]
        self.array = (ctypes.c_char_p * max(1, len(self.items)))(*self.items)

    @property
    def fields(self) -> Dict[str, Any]:
        return {"assignments": ctypes.addressof(self.array), "assignment_count": len(self.items)}


def given_text(pointer: ctypes.c_void_p) -> str:
    """A text that the library hands over; it is freed here."""
    libc = ctypes.CDLL(None)
    libc.free.argtypes = [ctypes.c_void_p]
    try:
        return text(ctypes.string_at(pointer.value)) if pointer.value else ""
    finally:
        libc.free(pointer)


def captured(write: Callable[[int], None]) -> str:
    """What a function writes to a C stream."""
    libc = ctypes.CDLL(None)
    libc.free.argtypes = [ctypes.c_void_p]
    made = _abi.STRUCT["mw_text"]()
    call(lib.mw_text_open, ctypes.byref(made))
    try:
        write(made.stream)
    except BaseException:
        lib.mw_text_close(ctypes.byref(made), None)
        libc.free(made.bytes)
        raise
    call(lib.mw_text_close, ctypes.byref(made))
    try:
        return text(ctypes.string_at(made.bytes, made.size))
    finally:
        libc.free(made.bytes)
