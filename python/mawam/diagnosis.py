"""Diagnosis: how well predicted returns agree with true ones, and what a world model's router has learned."""
import ctypes
import json
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

import numpy as np

from mawam import _abi
from mawam._arrays import copied, taken
from mawam._library import Assignments, Owner, PathLike, Settings, as_dict, call, captured, encode, lib
from mawam._library import opened, options, record, several, structs, text, truth, whole
from mawam._show import Table, frame, number, shortly
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
    spearman_within: float  # means over the groups that have one of their own
    pair_accuracy_within: float
    regret: float  # of taking the predicted best
    normalized_regret: float


@shortly
class Judge(NamedTuple):
    """One scorer's judgement of all candidates."""

    ranking: Ranking
    chosen: float  # mean true return of its best candidate
    predicted: np.ndarray  # [anchors][M]


@shortly
class SameState(NamedTuple):
    """Candidates of the same state, scored and executed in the simulator."""

    anchors: int
    candidates: int
    horizon: int
    planned: bool  # states and candidates of the planner's own play; else reactive play, as the policy draws them
    rules: str  # of the world that was played in
    episodes: int
    random_regret: float
    random_normalized_regret: float
    best: float  # mean true return of the truly best candidate, of all
    average: float
    exact: bool  # all second executions gave the same bits
    realized: np.ndarray  # [anchors][M]
    judges: Dict[str, Judge]  # by scorer


@shortly
class Snippets(NamedTuple):
    """The world model rolled out under recorded actions."""

    count: int
    horizons: int
    ranking: List[Ranking]  # [h - 1]: of the returns of h steps
    error: np.ndarray  # [horizons]: mean square of the observation after h imagined steps
    aligned: int  # the horizon of the next two
    realized: np.ndarray  # returns of some snippets, both standardised over all
    predicted: np.ndarray
    scorer: str  # whose imagination it is: "rwm", or another world model in a bundle without one
    held_out: bool  # False: the model may have been trained on them


class Diagnosis:
    """What was asked for of `drawn` and `planned` candidates and of `snippets`, and all of it as JSON."""

    def __init__(self, bundle: Bundle, drawn: Any, planned: Any, snippets: Any) -> None:
        """Made by diagnose."""
        self._parts = (bundle._handle, drawn, planned, snippets)  # the struct points to them
        self._struct = _abi.STRUCT["mw_diagnosis"](bundle._pointer, *(
            None if part is None else ctypes.addressof(part) for part in self._parts[1:]))
        self.drawn: Optional[SameState] = None if drawn is None else _same_state(drawn)
        self.planned: Optional[SameState] = None if planned is None else _same_state(planned)
        self.snippets: Optional[Snippets] = None if snippets is None else _snippets(snippets)

    def as_dict(self) -> Dict[str, Any]:
        """All of it."""
        return json.loads(captured(lambda stream: call(lib.mw_diagnosis_print, ctypes.byref(self._struct), _COMMAND,
                                                       stream)))

    def save(self, path: PathLike) -> None:
        """As a JSON file, like the program's."""
        call(lib.mw_diagnosis_save, ctypes.byref(self._struct), _COMMAND, encode(path))

    def tables(self) -> List[Table]:
        """What the program prints: a table of judges for every same-state test, one of horizons for the snippets."""
        tests = [("as drawn", self.drawn), ("as planned", self.planned)]
        found = [_judges(words, test) for words, test in tests if test is not None]
        return found + ([] if self.snippets is None else [_horizons(self.snippets)])

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for every judge of every test, and for every horizon of the snippets."""
        rows = [dict(test=name, scorer=scorer, count=test.anchors, horizon=test.horizon, chosen=judge.chosen,
                     **judge.ranking._asdict())
                for name, test in (("drawn", self.drawn), ("planned", self.planned)) if test is not None
                for scorer, judge in test.judges.items()]
        if self.snippets is not None:
            rows += [dict(test="snippets", scorer=self.snippets.scorer, count=self.snippets.count, horizon=h + 1,
                          rollout_mse=self.snippets.error[h], **ranking._asdict())
                     for h, ranking in enumerate(self.snippets.ranking)]
        return frame(rows)

    def __str__(self) -> str:
        return "\n".join(table.text() for table in self.tables())

    def _repr_html_(self) -> str:
        return "".join(table.html() for table in self.tables())

    def __repr__(self) -> str:
        found = [f"{scorer} ranks candidates {name} with Spearman {judge.ranking.spearman_within:.2f}"
                 for name, test in (("as drawn", self.drawn), ("as planned", self.planned)) if test is not None
                 for scorer, judge in list(test.judges.items())[:1]]
        found += [f"{self.snippets.count} snippets"] if self.snippets is not None else []
        return f"<Diagnosis: {', '.join(found) or 'nothing was asked for'}>"

    def __del__(self) -> None:
        for part in getattr(self, "_parts", ())[1:3]:
            if part is not None:
                lib.mw_same_state_free(ctypes.byref(part))


def _judges(words: str, test: SameState) -> Table:
    rows = [(scorer, judge.ranking.top1, judge.ranking.top2, judge.ranking.spearman_within,
             judge.ranking.pair_accuracy_within, judge.ranking.regret, judge.ranking.normalized_regret, judge.chosen)
            for scorer, judge in test.judges.items()]
    rows.append(("random", 1 / test.candidates, 2 / test.candidates, 0, 0.5, test.random_regret,
                 test.random_normalized_regret, test.average))
    rows.append(("best", 1, 1, 1, 1, 0, 0, test.best))
    forms = (".3f", ".3f", ".3f", ".3f", ".4g", ".3f", ".4g")
    above = [f"same state, candidates {words}, rules {test.rules}: {test.anchors} states of {test.episodes} episodes, "
             f"M={test.candidates}, H={test.horizon}", "Spearman and pairs: means over states"]
    return Table(above, ["", "top 1", "top 2", "Spearman", "pairs", "regret", "norm.", "return"],
                 [[row[0]] + [number(value, form) for value, form in zip(row[1:], forms)] for row in rows])


def _horizons(snippets: Snippets) -> Table:
    of = "held-out episodes" if snippets.held_out else "episodes that may have been trained on"
    forms = (".3f", ".3f", ".3f", ".3f", ".3f", ".4g", ".3f", ".4g")
    values = [(r.pearson, r.spearman, r.top1, r.top2, r.pair_accuracy, r.regret, r.normalized_regret, error)
              for r, error in zip(snippets.ranking, snippets.error)]
    rows = [[str(h + 1)] + [number(value, form) for value, form in zip(row, forms)] for h, row in enumerate(values)]
    return Table([f"snippets: {snippets.count} of {of}, ranked in groups of 8"],
                 ["H", "Pearson", "Spearman", "top 1", "top 2", "pairs", "regret", "norm.", "MSE"], rows)


def _same_state(result: Any) -> SameState:
    shape = (result.anchors, result.candidates)
    judges = {text(judge.scorer): Judge(Ranking(**as_dict(judge.ranking)), judge.chosen,
                                        copied(judge.predicted, shape, FLOAT))
              for judge in structs("mw_judge", result.judge, result.judges)}
    return record(SameState, result, realized=copied(result.realized, shape, FLOAT), judges=judges)


def _snippets(result: Any) -> Snippets:
    rankings = [Ranking(**as_dict(ranking)) for ranking in result.ranking[:result.horizons]]
    return record(Snippets, result, ranking=rankings, error=np.array(result.error[:result.horizons]),
                  realized=np.array(result.realized[:result.points]),
                  predicted=np.array(result.predicted[:result.points]))


def diagnose(bundle: Bundle, dataset: Optional[Dataset] = None, *, anchors: int = 64, planned: bool = False,
             snippets: int = 2000, settings: Optional[Settings] = None, seed: Optional[int] = None, threads: int = 0,
             accept_rules: bool = False, world: Optional[WorldOptions] = None) -> Diagnosis:
    """Ranks the candidates of `anchors` states in the simulator (0: not), as the policy draws them and, if asked, those
    of the planner's own play; with a dataset, which has passed its check, rolls the world model over held-out snippets
    of it."""
    assignments = Assignments(settings)
    opened(Bundle, bundle)
    truth("planned", planned)

    def same_state(own_play: bool) -> Any:
        work, result = Work(bundle._handle, assignments, world), _abi.STRUCT["mw_same_state"]()
        given = options("mw_same_state_options", anchors=anchors, planned=own_play, seed=seed, threads=threads,
                        stop=work.stop, accept_rules=accept_rules, world=world_pointer(world), **assignments.fields)
        work.run(None, lib.mw_same_state_run, ctypes.byref(result), bundle._pointer, ctypes.byref(given))
        return result

    found = None
    if dataset is not None:
        work, found = Work(bundle._handle, opened(Dataset, dataset)._handle), _abi.STRUCT["mw_snippets"]()
        chosen = options("mw_snippet_options", bundle._pointer, count=snippets, seed=seed, threads=threads,
                         stop=work.stop)
        work.run(None, lib.mw_snippets_run, ctypes.byref(found), bundle._pointer, dataset._pointer,
                 ctypes.byref(chosen))
    drawn = same_state(False) if anchors else None
    try:
        own = same_state(True) if planned and anchors else None
    except BaseException:
        lib.mw_same_state_free(ctypes.byref(drawn))
        raise
    return Diagnosis(bundle, drawn, own, found)


# ---- routing ---------------------------------------------------------------------------------------------------------


class Routing(Owner):
    """What the router of the routed world model has learned; docs/routing.md defines every number."""

    def __init__(self, bundle: Bundle, dataset: Dataset, *, transitions: Optional[int] = None,
                 consecutive: Optional[int] = None, anchors: Optional[int] = None, seed: Optional[int] = None,
                 threads: int = 0, accept_rules: bool = False, world: Optional[WorldOptions] = None) -> None:
        """The dataset has passed its check. anchors 0: no comparison with true influence, and no simulator.
        accept_rules: try the anchors although the bundle was trained under other rules."""
        work = Work(opened(Bundle, bundle)._handle, opened(Dataset, dataset)._handle, world)
        given = options("mw_routing_options", transitions=transitions, consecutive=consecutive, anchors=anchors,
                        seed=seed, threads=threads, accept_rules=accept_rules, world=world_pointer(world),
                        stop=work.stop)

        def run(result: Any, error: Any) -> int:
            return lib.mw_routing_run(result, bundle._pointer, dataset._pointer, ctypes.byref(given), error)

        self._bundle: Any = bundle._handle
        self._handle = work.make(None, run, lib.mw_routing_free)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return "<Routing: print it, as_dict(), or save_page(path)>"

    def text(self) -> str:
        """Tables for people."""
        return captured(lambda stream: lib.mw_routing_text(self._pointer, stream))

    def as_dict(self) -> Dict[str, Any]:
        """All of it."""
        return json.loads(captured(lambda stream: call(lib.mw_routing_print, self._bundle.pointer, self._pointer,
                                                       b"mawam.Routing", stream)))

    def save(self, path: PathLike) -> None:
        """As a JSON file, like the program's."""
        call(lib.mw_routing_save, self._bundle.pointer, self._pointer, b"mawam.Routing", encode(path))

    def save_page(self, path: PathLike) -> None:
        """As one page that needs nothing else."""
        call(lib.mw_routing_page, self._bundle.pointer, self._pointer, b"mawam.Routing", encode(path))


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
    call(lib.mw_paired_compare, ctypes.byref(summary), rows[0].ctypes.data, rows[1].ctypes.data, count,
         whole("seed", seed))
    return record(PairedSummary, summary)


def routing_over_settings(paths: Sequence[PathLike], seed: int = 0) -> Dict[str, Any]:
    """The statements over settings, from files of Routing.save."""
    several("paths", paths)
    over = _abi.STRUCT["mw_routing_over"]()
    texts = (ctypes.c_char_p * max(1, len(paths)))(*map(encode, paths))
    call(lib.mw_routing_over_settings, ctypes.byref(over), texts, len(paths), whole("seed", seed))
    return as_dict(over)
