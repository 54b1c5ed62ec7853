"""Replays: one self-contained HTML page that plays an episode, recorded frame by frame as an environment draws it."""
import ctypes
import html
import os
import tempfile
from typing import Any, NamedTuple, Optional, Sequence

import numpy as np

from mawam._arrays import taken
from mawam._library import ArgumentError, Handle, Owner, PathLike, call, encode, lib, opened, whole
from mawam.env import FLOAT, Env, check_env


class Page(NamedTuple):
    """A replay that was written: a notebook shows it."""

    path: str

    def _repr_html_(self) -> str:
        with open(self.path, encoding="utf-8") as file:
            content = file.read()
        if self.path.endswith(".svg"):
            return content
        return (f'<iframe srcdoc="{html.escape(content)}" width="100%" height="640" style="border:1px solid #ccc">'
                "</iframe>")


class Replay(Owner):
    """A page in the making, which a notebook shows as far as it is. See replay_page for a planned episode in one
    call."""

    def __init__(self, env: Env, subtitle: str = "") -> None:
        """subtitle: one line under the task's name."""
        self._handle = Handle(lib.mw_replay_create, lib.mw_replay_free, check_env(env)._pointer, encode(subtitle))

    def frame(self, env: Env, rewards: Optional[Sequence[float]] = None) -> None:
        """Adds the environment's present state; rewards [n] led to it."""
        given = None if rewards is None else taken("rewards", rewards, (check_env(env).info.agents,), FLOAT)
        call(lib.mw_replay_frame, self._pointer, check_env(env)._pointer, None if given is None else given.ctypes.data)

    def candidates(self, scores: Sequence[float], chosen: int, labels: Optional[Sequence[str]] = None,
                   weights: Optional[Sequence[float]] = None) -> None:
        """Adds the candidates of the decision taken in the last frame, before their paths. weights: the mean of all
        with these weights is executed; otherwise the chosen one."""
        values = taken("scores", scores, (len(scores),), FLOAT)
        shares = None if weights is None else taken("weights", weights, (len(scores),), FLOAT)
        if labels is not None and len(labels) != len(scores):
            raise ArgumentError(f"labels: expected {len(scores)}; found {len(labels)}")
        texts: Any = None if labels is None else (ctypes.c_char_p * max(1, len(labels)))(*map(encode, labels))
        call(lib.mw_replay_candidates, self._pointer, values.ctypes.data,
             None if shares is None else shares.ctypes.data, len(values), whole("chosen", chosen, ctypes.c_int), texts)

    def path(self, points: np.ndarray, candidate: int) -> None:
        """Adds an imagined path of one of the last frame's candidates: points [k][2] in world coordinates."""
        array = taken("points", points, (len(points), 2), FLOAT)
        call(lib.mw_replay_path, self._pointer, array.ctypes.data, len(array),
             whole("candidate", candidate, ctypes.c_int))

    def horizon(self, steps: int) -> None:
        """Scores are returns of the team imagined over so many steps, to be held against what followed."""
        call(lib.mw_replay_horizon, self._pointer, whole("steps", steps, ctypes.c_int))

    def beside(self, other: "Replay", label: str) -> None:
        """Adds what another replay has recorded, to be seen beside this one step by step."""
        call(lib.mw_replay_beside, self._pointer, opened(Replay, other)._pointer, encode(label))

    def write(self, path: PathLike) -> Page:
        """The page; a film strip of a few moments if the path ends with .svg."""
        call(lib.mw_replay_write, self._pointer, encode(path))
        return Page(os.fsdecode(encode(path)))

    def _repr_html_(self) -> str:
        with tempfile.TemporaryDirectory() as folder:
            return self.write(os.path.join(folder, "replay.html"))._repr_html_()

    def __repr__(self) -> str:
        return "<Replay: write(path) makes a page of it>" if self._handle else "<Replay: closed>"
