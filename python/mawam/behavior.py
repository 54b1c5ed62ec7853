"""Behaviours: the policies that collect datasets, learned online from scratch, and the settings they serve."""
import ctypes
import os
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from mawam import _abi
from mawam._library import ArgumentError, PathLike, as_dict, call, encode, lib, optional, options, record, text, typed
from mawam._work import Work
from mawam.env import WorldOptions, world_pointer
from mawam.machine import data_path

_TIERS = ("random", "near", "best", "ladder")


class Setting(NamedTuple):
    """A task and the quality of its data."""

    name: str  # "spread-medium"
    task: str
    quality: str
    kind: str  # how its behaviour is found among snapshots: "random", "near", "best", "ladder"
    low: float  # mean score that the data should earn
    high: float
    least_wins: float
    noise: float  # exploration
    transitions: int  # joint steps of a dataset


def _setting(pointer: int) -> Setting:
    struct = _abi.STRUCT["mw_setting"].from_address(pointer)
    name = ctypes.create_string_buffer(64)
    lib.mw_setting_name(pointer, name, len(name))
    return record(Setting, struct, name=text(name.value), kind=_TIERS[struct.kind])


def settings() -> List[Setting]:
    """All settings."""
    found: List[Setting] = []
    while True:
        pointer = lib.mw_setting_at(len(found))
        if not pointer:
            return found
        found.append(_setting(pointer))


def setting_pointer(name: str) -> int:
    """Of the library's table."""
    pointer = ctypes.c_void_p()
    call(lib.mw_setting_find, ctypes.byref(pointer), encode(name))
    return pointer.value or 0


def setting(name: str) -> Setting:
    """By "task-quality"."""
    return _setting(setting_pointer(name))


def score(task: str, episode_return: float) -> float:
    """A return on the task's scale from random play (0) to the expert (100), where it has one."""
    return lib.mw_score(encode(task), episode_return)


def behavior_path(setting_name: str, folder: Optional[PathLike] = None) -> str:
    """Where the behaviour file of a setting is."""
    path = ctypes.create_string_buffer(4096)
    call(lib.mw_behavior_path, path, len(path), optional(folder), setting_pointer(setting_name))
    return os.fsdecode(path.value)


class Behavior(NamedTuple):
    """What a behaviour file holds: usually one policy; medium-replay is a ladder of snapshots that take turns."""

    task: str
    rules: str
    quality: str
    origin: str  # how it was made, for people
    noise: float
    count: int
    steps: Tuple[float, ...]  # of learning behind each policy


def describe_behavior(path: PathLike) -> Behavior:
    """What a behaviour file holds; it may be named as one that comes with mawam ("spread-medium")."""
    summary = _abi.STRUCT["mw_behavior_summary"]()
    call(lib.mw_behavior_describe, ctypes.byref(summary), encode(data_path("behaviors", path)))
    return record(Behavior, summary, steps=tuple(summary.steps[:summary.count]))


class Measure(NamedTuple):
    """Of the returns of episodes, and their length."""

    episodes: int
    mean: float
    std: float
    least: float
    most: float
    win_rate: float
    length: float


def play_behavior(task: str, path: Optional[PathLike] = None, *, episodes: int = 200, seed: int = 0, threads: int = 0,
                  noise: Optional[float] = None, world: Optional[WorldOptions] = None) -> Measure:
    """Plays a behaviour file in its task; None: uniform random actions. noise: other exploration than the file's."""
    measure = _abi.STRUCT["mw_measure"]()
    given = options("mw_measure_options", episodes=episodes, seed=seed, threads=threads, noise=noise,
                    world=world_pointer(world))
    file = None if path is None else data_path("behaviors", path)
    Work(world).run(None, lib.mw_behavior_play, encode(task), optional(file), ctypes.byref(given),
                    ctypes.byref(measure))
    return record(Measure, measure)


# ---- learning --------------------------------------------------------------------------------------------------------


class LearnReport(NamedTuple):
    """An iteration of online learning."""

    iteration: int
    iterations: int  # how many there will be
    steps: float  # environment steps so far
    episodes: int  # that ended in this iteration; 0: the next three are not set
    episode_return: float
    length: float
    win_rate: float
    entropy: float
    kl: float
    clipped: float
    value_loss: float
    action_std: float  # of real actions, mean over values
    passes: int
    seconds: float


_LEARNING = [ctypes.c_void_p, ctypes.c_double, ctypes.c_long]


def _learn_report(pointer: int, seconds: float, iterations: int) -> LearnReport:
    return record(LearnReport, _abi.STRUCT["mw_learn_report"].from_address(pointer), seconds=seconds,
                  iterations=iterations)


def _preset(task: str) -> Any:
    pointer = lib.mw_learn_preset_find(encode(task))
    if not pointer:
        raise ArgumentError(f"task {task!r} has no way to learn a behaviour")
    return _abi.STRUCT["mw_learn_preset"].from_buffer_copy(_abi.STRUCT["mw_learn_preset"].from_address(pointer))


def learn_preset(task: str) -> Dict[str, Any]:
    """How a task's behaviour is learned: every setting of learn_behavior."""
    return as_dict(_preset(task))


def learn_behavior(task: str, folder: PathLike, *, preset: Optional[Dict[str, Any]] = None, seed: int = 0,
                   threads: int = 0, resume: bool = False, prolong: Optional[float] = None,
                   world: Optional[WorldOptions] = None,
                   progress: Optional[Callable[[LearnReport], Any]] = None) -> None:
    """A learning run in a folder. It can be stopped at any time and resumed to the same outcome. preset: settings that
    differ from the task's, see learn_preset."""
    chosen = _preset(task)
    for name, value in (preset or {}).items():
        call(lib.mw_learn_preset_set, ctypes.byref(chosen), encode(f"{name}={typed(value)}"))
    work = Work(world, chosen)
    given = options("mw_learn_options", preset=ctypes.addressof(chosen), world=world_pointer(world), seed=seed,
                    threads=threads, resume=resume, prolong=prolong, stop=work.stop,
                    report=work.reports(_LEARNING, _learn_report))
    work.run(progress, lib.mw_behavior_learn, encode(task), encode(folder), ctypes.byref(given))


class PickReport(NamedTuple):
    """A snapshot was measured (setting None), or a tier was written."""

    setting: Optional[Setting]
    steps: float
    measure: Measure


def pick_behaviors(task: str, run: PathLike, folder: PathLike, *, episodes: int = 200, every: int = 1, seed: int = 0,
                   threads: int = 0, world: Optional[WorldOptions] = None,
                   progress: Optional[Callable[[PickReport], Any]] = None) -> None:
    """Measures the snapshots of a learning run and writes the behaviour files of the task's qualities to a folder."""
    def report(which: Optional[int], steps: float, measure: int) -> PickReport:
        found = record(Measure, _abi.STRUCT["mw_measure"].from_address(measure))
        return PickReport(_setting(which) if which else None, steps, found)

    work = Work(world)
    given = options("mw_pick_options", world=world_pointer(world), episodes=episodes, every=every, seed=seed,
                    threads=threads, stop=work.stop,
                    report=work.reports([ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p], report))
    work.run(progress, lib.mw_behavior_pick, encode(task), encode(run), encode(folder), ctypes.byref(given))


def learn_prey(task: str, folder: PathLike, *, rounds: Optional[int] = None, predator_steps: Optional[float] = None,
               prey_steps: Optional[float] = None, seed: int = 0, threads: int = 0, version: Optional[str] = None,
               progress: Optional[Callable[[LearnReport], Any]] = None) -> None:
    """Learns predators and prey of tag or world in turns; round r leaves folder/prey-r.safetensors. Resumes whatever is
    there."""
    work = Work()
    given = options("mw_prey_options", rounds=rounds, predator_steps=predator_steps, prey_steps=prey_steps, seed=seed,
                    threads=threads, version=version, stop=work.stop, report=work.reports(_LEARNING, _learn_report))
    work.run(progress, lib.mw_prey_learn, encode(task), encode(folder), ctypes.byref(given))
