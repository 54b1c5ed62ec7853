"""Judges and proposers in Python: functions on arrays of all candidates, called in place of the bundle's own.

    def scorer(obs, actions):          # [c][n][o], [c][H][n][d] (one-hot if discrete) -> [c], the higher the better
    def proposer(obs, legal, keys):    # [c][n][o], [c][n][d], [c] -> [c][H][n][d]

Candidates of one environment are neighbours and begin with the same obs; c is their number times the environments. A
proposer may also return [c][n][d], which is kept up over the horizon, and of discrete actions indices [c][H][n] or
[c][n]. `keys` are random numbers, one for each candidate, that follow from the planner's seed and the episode:
np.random.default_rng(keys) draws the same again.
"""
import ctypes
from typing import Any, Callable, List, Optional, Tuple

import numpy as np

from mawam import _abi
from mawam._arrays import view
from mawam._library import ArgumentError, encode

Scorer = Callable[[np.ndarray, np.ndarray], Any]
Proposer = Callable[[np.ndarray, np.ndarray, np.ndarray], Any]

_CALL, _ERROR = _abi.STRUCT["mw_plan_call"], _abi.STRUCT["mw_error"]
_FLOAT, _BYTE, _KEY = np.dtype(np.float32), np.dtype(np.uint8), np.dtype(np.uint64)
_FAILED = 1  # the status of a function that raised
_SCORE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_CALL), ctypes.c_void_p, ctypes.POINTER(_ERROR))
_PROPOSE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_CALL), ctypes.POINTER(_ERROR))


def _writable(address: int, shape: Tuple[int, ...]) -> np.ndarray:
    size = int(np.prod(shape))
    return np.frombuffer((ctypes.c_float * size).from_address(address), _FLOAT).reshape(shape)


def _found(value: Any) -> np.ndarray:
    """A function's answer as an array; tensors that remember their gradients are let go of them."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    return np.asarray(value)


def _refuse(who: str, expected: str, found: np.ndarray) -> ArgumentError:
    return ArgumentError(f"the {who} must return {expected}; found {found.dtype} of shape {found.shape}")


class Hooks:
    """The functions of one planner as C sees them. What they raise is raised by the decision that called them."""

    def __init__(self, scorer: Optional[Scorer], proposer: Optional[Proposer], discrete: bool) -> None:
        for name, function in (("scorer", scorer), ("proposer", proposer)):
            if function is not None and not callable(function):
                raise ArgumentError(f"{name}: expected a function; found {function!r}")
        self._scorer, self._proposer, self._discrete = scorer, proposer, discrete
        self.raised: Optional[BaseException] = None
        self._kept: List[Any] = [_SCORE(self._score), _PROPOSE(self._propose)]

    @property
    def fields(self) -> dict:
        """Those of mw_planner_options."""
        score, propose = (ctypes.cast(function, ctypes.c_void_p).value for function in self._kept)
        return {"score": score if self._scorer else None, "propose": propose if self._proposer else None}

    def _guarded(self, error: Any, work: Callable[[], None]) -> int:
        try:
            work()
            return 0
        except BaseException as raised:  # KeyboardInterrupt too: it may not pass through C
            self.raised = raised
            words = encode(f"{type(raised).__name__}: {raised}".replace("\0", " "))
            if error:
                error.contents.message = words[:ctypes.sizeof(error.contents) // 2]
            return _FAILED

    def _score(self, _context: Any, call: Any, scores: int, error: Any) -> int:
        def work() -> None:
            c = call.contents
            found = _found(self._scorer(view(c.obs, (c.count, c.agents, c.obs_size), _FLOAT, None),
                                        view(c.actions, (c.count, c.horizon, c.agents, c.act_size), _FLOAT, None)))
            if found.shape != (c.count,) or found.dtype.kind not in "iubf":
                raise _refuse("scorer", f"a score for each candidate, shape {(c.count,)}", found)
            _writable(scores, (c.count,))[:] = found

        return self._guarded(error, work)

    def _propose(self, _context: Any, call: Any, error: Any) -> int:
        def work() -> None:
            c = call.contents
            joint = (c.count, c.agents, c.act_size)
            legal = np.ones(joint, _BYTE)
            if c.legal:
                legal = np.repeat(view(c.legal, (c.count // c.group,) + joint[1:], _BYTE, None), c.group, axis=0)
            obs = view(c.obs, (c.count, c.agents, c.obs_size), _FLOAT, None)
            found = _found(self._proposer(obs, legal, view(c.keys, (c.count,), _KEY, None)))
            _writable(c.actions, (c.count, c.horizon) + joint[1:])[:] = self._plans(found, c)

        return self._guarded(error, work)

    def _plans(self, found: np.ndarray, c: Any) -> np.ndarray:
        """Any of the forms that a proposer may return as [c][H][n][d]."""
        count, h, n, d = c.count, c.horizon, c.agents, c.act_size
        if self._discrete and found.dtype.kind in "iu" and found.shape in ((count, n), (count, h, n)):
            low, high = found.min(), found.max()
            if not 0 <= low <= high < d:
                raise ArgumentError(f"the proposer's actions must be 0 to {d - 1}; found {low} to {high}")
            found = np.eye(d, dtype=_FLOAT)[found]
        if found.shape == (count, n, d):
            found = found[:, None]
        if found.shape not in ((count, h, n, d), (count, 1, n, d)) or found.dtype.kind not in "iubf":
            forms = f"{(count, h, n, d)} or {(count, n, d)}" + f", or indices {(count, h, n)}" * self._discrete
            raise _refuse("proposer", f"actions of shape {forms}", found)
        return found
