"""Diagnosis: how well predicted returns agree with true ones, and what a world model's router has learned."""
import ctypes
import json
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from mawam import _abi
from mawam._arrays import copied, taken
from mawam._library import ArgumentError, Assignments, Owner, PathLike, Settings, as_dict, call, captured, encode, lib
from mawam._library import options, record
from mawam._work import Work
from mawam.data import Dataset
from mawam.env import FLOAT, WorldOptions, world_pointer
from mawam.plan import Bundle

_COMMAND = b"mawam.diagnose"


class Ranking(NamedTuple):
    """How well predicted returns order realised ones, in groups."""

    pearson: float
    spearman: float
    top1: float  # share of groups whose best is predicted first
    top2: float
    pair_accuracy: float
    regret: float  # of taking the predicted best
    normalized_regret: float


class SameState(NamedTuple):
    """Candidates of the same state, scored and executed in the simulator."""

    anchors: int
    candidates: int
    horizon: int
    scorer: str
    rules: str  # of the world that was played in
    episodes: int
    ranking: Ranking
    spearman_within: float
    random_regret: float
    random_normalized_regret: float
    best: float  # mean true return of the truly best candidate, of the predicted best, of all
    chosen: float
    average: float
    exact: bool  # all second executions gave the same bits
    realized: np.ndarray  # [anchors][M]
    predicted: np.ndarray  # [anchors][M]


class Snippets(NamedTuple):
    """The world model rolled out under recorded actions."""

    count: int
    horizons: int
    ranking: List[Ranking]  # [h - 1]: of the returns of h steps
    error: np.ndarray  # [horizons]: mean square of the observation after h imagined steps


class Diagnosis:
    """Both, as far as they were asked for: `same_state` and `snippets`, and all of it as JSON."""

    def __init__(self, bundle: Bundle, same_state: Any, snippets: Any) -> None:
        """Made by diagnose."""
        self._bundle, self._same_state, self._snippets = bundle, same_state, snippets
        self.same_state: Optional[SameState] = None if same_state is None else _same_state(same_state)
        self.snippets: Optional[Snippets] = None if snippets is None else _snippets(snippets)

    def _parts(self) -> Tuple[Any, Any]:
        return (None if self._same_state is None else ctypes.byref(self._same_state),
                None if self._snippets is None else ctypes.byref(self._snippets))

    def as_dict(self) -> Dict[str, Any]:
        """All of it."""
        return json.loads(captured(lambda stream: call(lib.mw_diagnosis_print, self._bundle._pointer, *self._parts(),
                                                       _COMMAND, stream)))

    def save(self, path: PathLike) -> None:
        """As a JSON file, like the program's."""
        call(lib.mw_diagnosis_save, self._bundle._pointer, *self._parts(), _COMMAND, encode(path))

    def __del__(self) -> None:
        if getattr(self, "_same_state", None) is not None:
            lib.mw_same_state_free(ctypes.byref(self._same_state))


def _same_state(result: Any) -> SameState:
    shape = (result.anchors, result.candidates)
    return record(SameState, result, ranking=Ranking(**as_dict(result.ranking)),
                  realized=copied(result.realized, shape, FLOAT), predicted=copied(result.predicted, shape, FLOAT))


def _snippets(result: Any) -> Snippets:
    rankings = [Ranking(**as_dict(ranking)) for ranking in result.ranking[:result.horizons]]
    return Snippets(result.count, result.horizons, rankings, np.array(result.error[:result.horizons]))


def diagnose(bundle: Bundle, dataset: Optional[Dataset] = None, *, anchors: int = 64, snippets: int = 2000,
             settings: Optional[Settings] = None, seed: Optional[int] = None, threads: int = 0,
             accept_rules: bool = False, world: Optional[WorldOptions] = None) -> Diagnosis:
    """Ranks the candidates of `anchors` states in the simulator (0: not), and with a dataset, which has passed its
    check, rolls the world model over held-out snippets of it."""
    same = found = None
    if anchors:
        assignments = Assignments(settings)
        work, same = Work(bundle._handle, assignments, world), _abi.STRUCT["mw_same_state"]()
        given = options("mw_same_state_options", anchors=anchors, seed=seed, threads=threads, stop=work.stop,
                        accept_rules=accept_rules, world=world_pointer(world), **assignments.fields)
        work.run(None, lib.mw_same_state_run, ctypes.byref(same), bundle._pointer, ctypes.byref(given))
    if dataset is not None:
        found = _abi.STRUCT["mw_snippets"]()
        chosen = options("mw_snippet_options", bundle._pointer, count=snippets, seed=seed, threads=threads)
        Work(bundle._handle, dataset._handle).run(None, lib.mw_snippets_run, ctypes.byref(found), bundle._pointer,
                                                  dataset._pointer, ctypes.byref(chosen))
    return Diagnosis(bundle, same, found)


# ---- routing ---------------------------------------------------------------------------------------------------------


class Routing(Owner):
    """What the router of the routed world model has learned; docs/routing.md defines every number."""

    def __init__(self, bundle: Bundle, dataset: Dataset, *, transitions: Optional[int] = None,
                 consecutive: Optional[int] = None, anchors: Optional[int] = None, seed: Optional[int] = None,
                 threads: int = 0, world: Optional[WorldOptions] = None) -> None:
        """The dataset has passed its check. anchors 0: no comparison with true influence, and no simulator."""
        work = Work(bundle._handle, dataset._handle, world)
        given = options("mw_routing_options", transitions=transitions, consecutive=consecutive, anchors=anchors,
                        seed=seed, threads=threads, world=world_pointer(world), stop=work.stop)

        def run(result: Any, error: Any) -> int:
            return lib.mw_routing_run(result, bundle._pointer, dataset._pointer, ctypes.byref(given), error)

        self._bundle = bundle
        self._handle = work.make(None, run, lib.mw_routing_free)

    def text(self) -> str:
        """Tables for people."""
        return captured(lambda stream: lib.mw_routing_text(self._pointer, stream))

    def as_dict(self) -> Dict[str, Any]:
        """All of it."""
        return json.loads(captured(lambda stream: call(lib.mw_routing_print, self._bundle._pointer, self._pointer,
                                                       b"mawam.Routing", stream)))

    def save(self, path: PathLike) -> None:
        """As a JSON file, like the program's."""
        call(lib.mw_routing_save, self._bundle._pointer, self._pointer, b"mawam.Routing", encode(path))

    def save_page(self, path: PathLike) -> None:
        """As one page that needs nothing else."""
        call(lib.mw_routing_page, self._bundle._pointer, self._pointer, b"mawam.Routing", encode(path))


class PairedSummary(NamedTuple):
    """Differences of two numbers of each setting, over settings."""

    settings: int
    positive: int
    negative: int  # the rest are equal
    difference: Dict[str, float]  # mean, low, high of a 95% interval
    sign_test: float


def paired_compare(first: Sequence[float], second: Sequence[float], seed: int = 0) -> PairedSummary:
    """first - second, setting by setting; those where one is not finite are left out."""
    count = len(first)
    rows = [taken(what, values, (count,), np.dtype(np.float64)) for what, values in
            (("first", first), ("second", second))]
    summary = _abi.STRUCT["mw_paired_summary"]()
    call(lib.mw_paired_compare, ctypes.byref(summary), rows[0].ctypes.data, rows[1].ctypes.data, count, seed)
    return record(PairedSummary, summary)


def routing_over_settings(paths: Sequence[PathLike], seed: int = 0) -> Dict[str, Any]:
    """The statements over settings, from files of Routing.save."""
    if isinstance(paths, (str, bytes)):
        raise ArgumentError("paths: expected a list of files; found one text")
    over = _abi.STRUCT["mw_routing_over"]()
    texts = (ctypes.c_char_p * max(1, len(paths)))(*map(encode, paths))
    call(lib.mw_routing_over_settings, ctypes.byref(over), texts, len(paths), seed)
    return as_dict(over)
