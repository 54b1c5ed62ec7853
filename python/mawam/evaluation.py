"""Evaluation: every arm of a bundle plays the same episodes, so that differences between arms are paired."""
import ctypes
import json
import math
import os
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from mawam import _abi
from mawam._arrays import copied
from mawam._library import ArgumentError, Assignments, Handle, Owner, PathLike, Settings, call, captured, encode
from mawam._library import lib, names, opened, options, record, text, truth
from mawam._show import Table, frame, number, shortly
from mawam._work import Work
from mawam.env import WorldOptions, family, world_pointer
from mawam.plan import Bundle
from mawam.progress import Listener, Shown
from mawam.replay import Page

# Laid out as mw_eval_episode.
EPISODE = np.dtype({"names": ["world", "total", "length", "won"], "formats": ["u8", "f8", "i4", "?"],
                    "offsets": [0, 8, 16, 20], "itemsize": 24})


class Arm(NamedTuple):
    """Who plays in an evaluation: a controller and the settings that differ."""

    name: str
    help: str
    controller: str
    settings: str
    plans: bool  # the controller draws candidates


@shortly
class ArmResult(NamedTuple):
    """How one arm came out. Means are over all episodes, standard deviations over the seeds' means; what does not apply
    is NaN."""

    episodes: np.ndarray  # [seeds][episodes] of world (seed), total (return), length, won
    total: float
    total_std: float
    score: float  # normalised, where the task has a scale
    score_std: float
    won: float
    won_std: float
    length: float
    gain: Dict[str, float]  # paired difference of returns to reactive: mean, low, high of a 95% interval
    relative_gain: float
    relative_low: float  # its 95% interval, both means resampled together; NaN where reactive's then crosses zero
    relative_high: float
    oracle_share: float
    decision: Dict[str, float]  # p50 and p95 of milliseconds
    generation: Dict[str, float]
    scoring: Dict[str, float]
    seconds: float
    decisions: int
    distinct: float  # discrete actions: different joint first actions among a decision's candidates, mean


def arms() -> List[Arm]:
    """All arms: the standard ones, then one for every model that judges candidates or plays by itself."""
    arm, found = _abi.STRUCT["mw_arm"](), []
    while lib.mw_arm_at(len(found), ctypes.byref(arm)):
        found.append(record(Arm, arm))
    return found


def arms_of(bundle: Bundle) -> List[str]:
    """Names of the arms that a bundle's parts can serve."""
    return [name for index, name in enumerate(names(lib.mw_arm_name))
            if lib.mw_arm_available(index, opened(Bundle, bundle)._pointer)]


def arm_set(chosen: Union[str, Sequence[str], None]) -> int:
    """The library's set of arms."""
    found = ctypes.c_uint(0)
    if chosen:
        call(lib.mw_arms_parse, encode(chosen if isinstance(chosen, str) else ",".join(chosen)), ctypes.byref(found))
    return found.value


class Outcome:
    """Of an evaluation, in a world of mawam's or of one's own: `arms` by name."""

    task: str
    rules: str
    quality: str
    family: str
    accepted_rules: str = ""  # of the training, where they were others
    packed_of: str = ""  # checksum of the bundle before it was packed, if it was
    first_seed: int
    seeds: int
    episodes: int
    arms: Dict[str, ArmResult]

    def table(self) -> Table:
        """What the program prints: a row for every arm."""
        scaled = any(math.isfinite(arm.score) for arm in self.arms.values())
        wins = self._counts_wins()
        head = ["arm", "return"] + ["normalised"] * scaled + ["won %"] * wins
        rows = []
        for name, arm in self.arms.items():
            row = [name, _spread(arm.total, arm.total_std, ".5g")]
            row += [_spread(arm.score, arm.score_std, ".1f")] * scaled
            row += [_spread(100 * arm.won, 100 * arm.won_std, ".1f")] * wins
            relative = number(100 * arm.relative_gain, "+.1f") + "%" * math.isfinite(arm.relative_gain)
            row += [_interval(arm.gain), relative, number(arm.oracle_share, ".2f"), _milliseconds(arm.decision)]
            rows.append(row)
        above = [f"{self.task}-{self.quality} ({self.rules})"]
        above += [f"trained under other rules, accepted: {self.accepted_rules}"] * bool(self.accepted_rules)
        above += [f"packed of the bundle {self.packed_of}"] * bool(self.packed_of)
        count = self.seeds * self.episodes
        above.append(f"{self.seeds} seed{'s' * (self.seeds != 1)} from {self.first_seed} x {self.episodes} "
                     f"episode{'s' * (self.episodes != 1)} = {count} of each arm; +-: over seeds; gain: paired, with "
                     "its 95%")
        above.append("interval over episodes" + ", which fewer than 8 do not have" * (count < 8))
        return Table(above, head + ["gain [95%]", "relative", "share", "ms p50 / p95"], rows)

    def _counts_wins(self) -> bool:
        return family(self.family).counts_wins

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for every arm."""
        rows = []
        for name, arm in self.arms.items():
            row = {"task": self.task, "quality": self.quality, "arm": name, "episodes": self.seeds * self.episodes}
            for field, value in arm._asdict().items():
                if isinstance(value, dict):
                    row.update({f"{field}_{key}": part for key, part in value.items()})
                elif field != "episodes":
                    row["return" + field[5:] if field.startswith("total") else field] = value
            rows.append(row)
        return frame(rows)

    def __str__(self) -> str:
        return self.table().text()

    def _repr_html_(self) -> str:
        return self.table().html()

    def __repr__(self) -> str:
        returns = ", ".join(f"{name} {arm.total:.4g}" for name, arm in self.arms.items())
        return f"<{type(self).__name__} {self.task}-{self.quality}: {returns}; print it for intervals>"


class Evaluation(Owner, Outcome):
    """The outcome: `arms` by name, and all of it as JSON."""

    def __init__(self, handle: Handle) -> None:
        """Made by evaluate."""
        self._handle = handle
        about = lib.mw_eval_describe(self._pointer)
        self.task, self.rules, self.quality, self.family = map(
            text, (about.task, about.rules, about.quality, about.family))
        self.accepted_rules, self.packed_of = text(about.accepted_rules), text(about.packed_of)
        self.first_seed, self.seeds, self.episodes = about.first_seed, about.seeds, about.episodes
        self.arms = {}
        for index, name in enumerate(names(lib.mw_arm_name)):
            pointer = lib.mw_eval_arm(self._pointer, index)
            if pointer and _abi.STRUCT["mw_eval_report"].from_address(pointer).played:
                self.arms[name] = self._arm(_abi.STRUCT["mw_eval_report"].from_address(pointer))

    def _arm(self, report: Any) -> ArmResult:
        return record(ArmResult, report, episodes=copied(report.episodes, (self.seeds, self.episodes), EPISODE))

    def as_dict(self) -> Dict[str, Any]:
        """All of it, every episode included."""
        return json.loads(captured(lambda stream: call(lib.mw_eval_result_print, self._pointer, b"mawam.evaluate",
                                                       stream)))

    def save(self, path: PathLike) -> None:
        """As a JSON file, like the program's."""
        call(lib.mw_eval_result_save, self._pointer, b"mawam.evaluate", encode(path))


def _spread(value: float, std: float, form: str) -> str:
    return number(value, form) + (f" +- {number(std, form)}" if math.isfinite(value) and math.isfinite(std) else "")


def _interval(gain: Dict[str, float]) -> str:
    words = number(gain["mean"], "+.4g")
    return words + (f" [{gain['low']:.4g}, {gain['high']:.4g}]" if math.isfinite(gain["low"]) else "")


def _milliseconds(decision: Dict[str, float]) -> str:
    return f"{decision['p50']:.1f} / {decision['p95']:.1f}" if math.isfinite(decision["p50"]) else "-"


def _options(bundle: Bundle, settings: Optional[Settings], world: Optional[WorldOptions],
             **fields: Any) -> Tuple[Work, Any]:
    assignments = Assignments(settings)
    work = Work(opened(Bundle, bundle)._handle, assignments, world)
    given = options("mw_eval_options", stop=work.stop, world=world_pointer(world), **assignments.fields, **fields)
    return work, given


def evaluate(bundle: Bundle, *, arms: Union[str, Sequence[str], None] = None, seeds: int = 5, episodes: int = 0,
             first_seed: Optional[int] = None, settings: Optional[Settings] = None, envs: int = 0, threads: int = 0,
             timed: Optional[int] = None, accept_rules: bool = False, world: Optional[WorldOptions] = None,
             behaviors: Optional[PathLike] = None, progress: Listener = None,
             env: Any = None) -> Outcome:
    """Plays the arms (None: the standard ones that the bundle can serve, or without a policy to plan with its models
    that play by themselves) on the same episodes.

    episodes: of each seed, 0: those of the Family. settings: of planning, {"candidates": 16}. timed: decisions
    timed alone. accept_rules: play although the bundle was trained under other rules. progress: see show_progress; a
    function is told (arm, done, total). env: a world of your own, an object with PettingZoo's parallel interface or
    what makes one (mawam.own says what it needs); seeds, episodes, first_seed, settings, threads, arms and progress
    count then, and arms may be a mapping of names to keywords of Planner.
    """
    if env is not None:
        from mawam.own import evaluate_own
        return evaluate_own(opened(Bundle, bundle), env, arms, seeds, episodes or 20, first_seed, settings, threads,
                            progress)
    table = names(lib.mw_arm_name)
    work, given = _options(bundle, settings, world, arms=arm_set(arms), seeds=seeds, episodes=episodes, envs=envs,
                           first_seed=first_seed, threads=threads, timed=timed, behaviors=behaviors,
                           accept_rules=accept_rules)
    given.progress = work.reports([ctypes.c_int, ctypes.c_long, ctypes.c_long],
                                  lambda arm, done, total: (table[arm], done, total))

    def run(result: Any, error: Any) -> int:
        return lib.mw_bundle_evaluate(result, bundle._pointer, ctypes.byref(given), error)

    with Shown(progress, f"playing {bundle.task}-{bundle.quality}", _words) as shown:
        return Evaluation(work.make(shown.told, run, lib.mw_eval_result_free))


def _words(report: Tuple[str, int, int]) -> Tuple[float, str]:
    arm, done, total = report
    return done / total if total else math.nan, f"{arm}, {done}/{total}"


def replay_page(bundle: Bundle, path: PathLike, *, seed: Optional[int] = None, settings: Optional[Settings] = None,
                threads: int = 0, accept_rules: bool = False, world: Optional[WorldOptions] = None,
                overwrite: bool = False, env: Any = None) -> Page:
    """One planned episode as a self-contained HTML page with the candidates of every decision, beside the policy alone;
    a film strip of a few moments if the path ends with .svg. overwrite: replace a file that is there. env: a world of
    your own as in evaluate; it is drawn by its own draw() or positions()."""
    if not truth("overwrite", overwrite) and os.path.exists(encode(path)):
        raise ArgumentError(f"'{os.fsdecode(path)}' is there already; 'overwrite' replaces it")
    if env is not None:
        from mawam.own_page import replay_own
        return replay_own(opened(Bundle, bundle), env, os.fsdecode(encode(path)), seed or 0, settings, threads)
    work, given = _options(bundle, settings, world, first_seed=seed, threads=threads, accept_rules=accept_rules)

    def run(replay: Any, error: Any) -> int:
        return lib.mw_eval_replay(replay, bundle._pointer, ctypes.byref(given), error)

    replay = work.make(None, run, lib.mw_replay_free)
    call(lib.mw_replay_write, replay.pointer, encode(path))
    return Page(os.fsdecode(encode(path)))
