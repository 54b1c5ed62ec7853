"""The library's binary interface as ctypes sees it, made of the declarations."""
import ctypes
import re
from typing import Any, Callable, Dict

from mawam._functions import FUNCTIONS, STUDY_FUNCTIONS
from mawam._structs import STRUCTS

KINDS: Dict[str, Any] = {
    "void": None,
    "bool": ctypes.c_bool,
    "char": ctypes.c_char,
    "double": ctypes.c_double,
    "float": ctypes.c_float,
    "int": ctypes.c_int,
    "long": ctypes.c_long,
    "pointer": ctypes.c_void_p,
    "size": ctypes.c_size_t,
    "status": ctypes.c_int,
    "text": ctypes.c_char_p,
    "uint8": ctypes.c_uint8,
    "uint64": ctypes.c_uint64,
    "unsigned": ctypes.c_uint,
}


def _field(kind: str, item: str) -> tuple:
    match = re.fullmatch(r"(\w+)(?:\[(\d+)\])?", item)
    assert match, item
    name, length = match.groups()
    return name, KINDS[kind] * int(length) if length else KINDS[kind]


def _declare_structs() -> Dict[str, Any]:
    """In their order: a struct that is part of another stands before it."""
    structs = {}
    for block in re.split(r"\n(?=mw_)", STRUCTS.strip()):
        name, *lines = block.splitlines()
        name = name.rstrip(":")
        fields = [_field(kind, item) for kind, *items in map(str.split, lines) for item in items]
        structs[name] = KINDS[name] = type(name, (ctypes.Structure,), {"_fields_": fields})
    return structs


STRUCT = _declare_structs()


STUDY = frozenset(re.findall(r"(\w+)\(", STUDY_FUNCTIONS))  # names of what libmawam-study has


def functions(library: ctypes.CDLL, missing: Callable[[str], Any], declared: str = FUNCTIONS) -> Dict[str, Any]:
    """Every declared function by name, with its result and argument types; missing(name) stands for those that the
    library lacks."""
    found = {}
    for line in declared.strip().splitlines():
        match = re.fullmatch(r"(\w+) (\w+)\((.*)\)", line)
        assert match, line
        result, name, arguments = match.groups()
        function = getattr(library, name, None)
        if function is not None:
            function.restype = KINDS[result]
            function.argtypes = [KINDS[kind] for kind in arguments.split(", ") if kind]
        found[name] = missing(name) if function is None else function
    return found
