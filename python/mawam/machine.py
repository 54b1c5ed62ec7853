"""What the library runs on: the processor, files, measurements of speed, recorded numbers, and its messages."""
import ctypes
import logging
import os
from typing import Any, Dict, List, NamedTuple, Optional

from mawam import _abi
from mawam._library import ArgumentError, PathLike, as_dict, call, encode, lib, options, text, truth
from mawam._work import Work

_logger = logging.getLogger("mawam")


class Cpu(NamedTuple):
    """The level of instructions in use ("v2", "v3", "v4", "neon") and the processor's own name."""

    level: str
    model: str


def cpu() -> Cpu:
    """What the library runs on; fails if MAWAM_CPU names a level that is not there."""
    call(lib.mw_cpu_check)
    name = ctypes.create_string_buffer(256)
    lib.mw_cpu_model(name, len(name))
    return Cpu(text(lib.mw_cpu_name()), text(name.value))


def find_data(kind: str, name: str) -> str:
    """Where a file that comes with mawam is: kind "behaviors" or "bundles", in the first of data_folders to have it."""
    path = ctypes.create_string_buffer(4096)
    call(lib.mw_data_find, path, len(path), encode(kind), encode(name))
    return os.fsdecode(path.value)


def data_path(kind: str, name: PathLike) -> str:
    """Of a file as a user names it: a path, or the short name of one that comes with mawam ("spread-medium")."""
    path = ctypes.create_string_buffer(4096)
    call(lib.mw_data_path, path, len(path), encode(kind), encode(name))
    return os.fsdecode(path.value)


def data_folders() -> List[str]:
    """Where files that come with mawam are looked for, in this order; they need not exist."""
    path, found = ctypes.create_string_buffer(4096), []
    while lib.mw_data_folder(path, len(path), len(found)):
        found.append(os.fsdecode(path.value))
    return found


class BenchItem(NamedTuple):
    """One thing measured."""

    ms: float  # median
    gflops: float
    share: float  # of the machine's own rate
    bytes: int  # of workspace


def bench(task: str = "spread", **fields: Any) -> Dict[str, Any]:
    """Measures scoring and generation; fields are those of mw_bench_options, for instance seconds=0.1, threads=1.
    "items" of the result are BenchItems by name."""
    report = _abi.STRUCT["mw_bench_report"]()
    given = options("mw_bench_options", task=task, **fields)
    Work().run(None, lib.mw_bench_run, ctypes.byref(given), ctypes.byref(report))
    items = {text(item.name): BenchItem(item.ms, item.gflops, item.share, item.bytes) for item in report.item
             if item.measured}
    found = as_dict(report)
    del found["item"]
    return dict(found, items=items)


class Check(NamedTuple):
    """One quantity against recorded numbers."""

    name: str
    error: float  # the largest seen
    tolerance: float
    ok: bool


def verify(kind: str, folder: PathLike) -> List[Check]:
    """Compares the running build with recorded numbers: kind "env" (the worlds), "net" (the networks),
    "diagnostics" or "baselines"."""
    found: List[Check] = []

    def line(_context: Any, name: bytes, error: float, tolerance: float, ok: bool) -> None:
        found.append(Check(text(name), error, tolerance, ok))

    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_double, ctypes.c_double,
                                ctypes.c_bool)(line)
    report = _abi.STRUCT["mw_verify"](line=ctypes.cast(callback, ctypes.c_void_p))
    functions = {"env": lib.mw_verify_env, "net": lib.mw_verify_net, "diagnostics": lib.mw_verify_diagnostics,
                 "baselines": lib.mw_verify_baselines}
    if kind not in functions:
        raise ArgumentError(f"kind must be env, net, diagnostics or baselines, not {kind!r}")
    Work(callback).run(None, functions[kind], encode(folder), ctypes.byref(report))
    return found


def _log(_context: Optional[int], level: int, message: bytes) -> None:
    _logger.log(logging.WARNING if level else logging.INFO, "%s", text(message))


_LOG = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)(_log)


def log_to_python(on: bool = True) -> None:
    """What the library says while it works goes to the logger "mawam", or nowhere (the default)."""
    lib.mw_log_set(_LOG if truth("on", on) else None, None)


def status_name(status: int) -> str:
    """The library's short name of a status: what exceptions carry as `status`."""
    return text(lib.mw_status_name(status))
