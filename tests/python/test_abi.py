"""What the package declares is what the headers say and what the compiler makes of them, and nothing is forgotten."""
import ctypes
import re
import shutil
import subprocess

import headers
import numpy as np
import pytest

from mawam import _abi, _functions, _structs
from mawam.env import OUTCOME
from mawam.evaluation import EPISODE

HEADERS = headers.read()
FUNCTIONS = _functions.FUNCTIONS.rstrip() + _functions.STUDY_FUNCTIONS
DECLARED = dict(re.findall(r"^\w+ (\w+)\((.*)\)$", FUNCTIONS, flags=re.M))


def _constant(length):
    return HEADERS.constants.get(length) or int(length)


def test_the_headers_are_read_whole():
    assert len(HEADERS.functions) > 130 and len(HEADERS.structs) > 50
    assert HEADERS.functions["mw_env_step"] == ("status", ["pointer", "mw_action", "pointer", "pointer", "pointer"])
    assert HEADERS.structs["mw_feature"] == [("char", "name", "64"), ("text", "unit", ""), ("double", "low", ""),
                                             ("double", "high", "")]


def test_every_public_function_is_reachable_or_left_out_on_purpose():
    declared, left_out = set(DECLARED), set(_functions.LEFT_OUT)
    assert set(HEADERS.functions) - declared - left_out == set(), "wrap it (`make declarations`) or put it in LEFT_OUT"
    assert declared - set(HEADERS.functions) == set(), "gone from the headers"
    assert left_out - set(HEADERS.functions) - set(HEADERS.structs) == set(), "gone from the headers"
    assert not declared & left_out and all(_functions.LEFT_OUT.values())


def test_every_declared_function_is_called():
    package = "\n".join(path.read_text() for path in (headers.SOURCE / "python" / "mawam").glob("*.py")
                        if path.name not in ("_functions.py", "_structs.py"))
    used = set(re.findall(r"\bmw_\w+", package))
    used |= {f"{name}_init" for name in re.findall(r'options\(\s*"(mw_\w+)"', package)}
    assert set(DECLARED) - used == set()


def test_functions_are_as_the_headers_declare_them():
    for line in FUNCTIONS.strip().splitlines():
        result, name, arguments = re.fullmatch(r"(\w+) (\w+)\((.*)\)", line).groups()
        assert HEADERS.functions[name] == (result, [kind for kind in arguments.split(", ") if kind]), name


def test_structs_have_the_headers_fields():
    for block in re.split(r"\n(?=mw_)", _structs.STRUCTS.strip()):
        name, *lines = block.splitlines()
        name, fields = name.rstrip(":"), []
        for kind, *items in map(str.split, lines):
            fields += [(kind, *re.fullmatch(r"(\w+)(?:\[(\d+)\])?", item).groups()) for item in items]
        expected = [(kind, field, str(_constant(length)) if length else None)
                    for kind, field, length in HEADERS.structs[name]]
        assert fields == expected, name


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_structs_lie_in_memory_as_the_compiler_lays_them(tmp_path):
    lines = ["#include <mawam/mawam.h>", "#include <mawam/study.h>"]
    for name, struct in _abi.STRUCT.items():
        lines.append(f'_Static_assert(sizeof({name}) == {ctypes.sizeof(struct)}, "size of {name}");')
        for field, *_ in struct._fields_:
            place = getattr(struct, field)
            lines.append(f'_Static_assert(offsetof({name}, {field}) == {place.offset}, "{name}.{field}");')
            lines.append(f'_Static_assert(sizeof((({name} *)0)->{field}) == {place.size}, "size of {name}.{field}");')
    (tmp_path / "layout.c").write_text("\n".join(lines) + "\n")
    subprocess.run(["cc", "-std=c11", f"-I{headers.SOURCE}/include", "-fsyntax-only", str(tmp_path / "layout.c")],
                   check=True)


@pytest.mark.parametrize("dtype, name", [(OUTCOME, "mw_outcome"), (EPISODE, "mw_eval_episode")])
def test_array_types_are_the_structs(dtype: np.dtype, name: str):
    struct = _abi.STRUCT[name]
    assert dtype.itemsize == ctypes.sizeof(struct)
    assert [(field, dtype.fields[field][1]) for field in dtype.names] == [
        (field, getattr(struct, field).offset) for field, _ in struct._fields_]


def test_statuses_have_their_exceptions():
    from mawam import _library, status_name
    statuses = {value: name for name, value in HEADERS.constants.items() if name.startswith("MW_ERR_")}
    assert len(_library._BY_STATUS) == len(statuses) + 1
    for value in statuses:
        assert _library._BY_STATUS[value].status == status_name(value)
