"""The study: for every setting make data, train, evaluate, diagnose, and a report over all of them; the same as a graph
of commands, and what of it is done."""
import ctypes
import json
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

from mawam import _abi
from mawam._library import ArgumentError, Assignments, PathLike, Settings, call, encode, given_text, lib, names, options
from mawam._library import several, text, truth, whole
from mawam._work import Work
from mawam.behavior import setting_pointer
from mawam.env import families
from mawam.evaluation import arm_set
from mawam.progress import Listener, Shown

_WHAT = ("starts", "runs", "done", "kept", "failed")


class StudyEvent(NamedTuple):
    """What happens in a study."""

    what: str  # "starts", "runs", "done", "kept", "failed"
    setting: str
    index: int  # which of how many settings
    count: int
    stage: str  # "data", "train", "eval", "diagnose", ...
    baseline: str  # of the stage "baselines"; otherwise ""
    done: float  # share of the stage
    seconds: float
    left: float  # seconds until everything is done; NaN: unknown
    note: str


def _event(pointer: int) -> StudyEvent:
    event = _abi.STRUCT["mw_study_event"].from_address(pointer)
    return StudyEvent(_WHAT[event.what], text(event.setting), event.index, event.count,
                      text(lib.mw_study_stage_name(event.stage)), text(event.baseline), event.done, event.seconds,
                      event.left, text(event.note))


def _each(family_episodes: Optional[Mapping[str, int]]) -> Any:
    """Episodes of every family, 0 where none are named."""
    wanted = dict(family_episodes or {})
    known = [family.name for family in families()]
    each = (ctypes.c_int * len(known))(*(whole("family_episodes", wanted.pop(name, 0), ctypes.c_int) for name in known))
    if wanted:
        raise ArgumentError(f"family_episodes: expected {', '.join(known)}; found {', '.join(map(str, wanted))}")
    return each


def run_study(folder: PathLike, settings: Optional[Sequence[str]] = None, *, quick: bool = False, resume: bool = False,
              training: Optional[Settings] = None, arms: Optional[Sequence[str]] = None,
              family_episodes: Optional[Mapping[str, int]] = None, progress: Listener = None, **others: Any) -> int:
    """Runs settings (None: all) in a folder and returns how many failed. training: its settings; family_episodes: of
    each seed, where families differ ({"mpe": 40}); `others` are further fields of mw_study_options by name, for
    instance seeds=2, episodes=4, anchors=0, threads=2."""
    assignments = Assignments(training)
    several("settings", settings)
    pointers = (ctypes.c_void_p * max(1, len(settings or ())))(*map(setting_pointer, settings or ()))
    each = _each(family_episodes)
    work, failed = Work(assignments, pointers, each), ctypes.c_int()
    given = options("mw_study_options", folder=folder, settings=ctypes.addressof(pointers), count=len(settings or ()),
                    resume=resume, budget=0 if truth("quick", quick) else 1, arms=arm_set(arms),
                    family_episodes=ctypes.addressof(each), family_count=len(each), command="mawam.run_study",
                    stop=work.stop, progress=work.reports([ctypes.c_void_p], _event), **assignments.fields, **others)
    with Shown(progress, "study", lambda seen: ((seen.index + seen.done) / max(1, seen.count),
                                                f"{seen.setting}: {seen.stage} {seen.what}")) as shown:
        work.run(shown.told, lib.mw_study_run, ctypes.byref(given), ctypes.byref(failed))
    return failed.value


def study_parts() -> List[str]:
    """What a study consists of, in the order of mw_study_options.parts: "main", "paper", ..."""
    return names(lib.mw_study_part_name)


def _text(function: Any, folder: PathLike, settings: Optional[Sequence[str]], quick: bool,
          training: Optional[Settings], others: Dict[str, Any], *arguments: Any) -> str:
    """What a function of the study's options writes."""
    assignments = Assignments(training)
    several("settings", settings)
    pointers = (ctypes.c_void_p * max(1, len(settings or ())))(*map(setting_pointer, settings or ()))
    arms, each = arm_set(others.pop("arms", None)), _each(others.pop("family_episodes", None))
    given = options("mw_study_options", folder=folder, settings=ctypes.addressof(pointers), count=len(settings or ()),
                    budget=0 if truth("quick", quick) else 1, arms=arms, family_episodes=ctypes.addressof(each),
                    family_count=len(each), **assignments.fields, **others)
    result = ctypes.c_void_p()
    call(function, ctypes.byref(result), ctypes.byref(given), *arguments)
    return given_text(result)


def plan_study(folder: PathLike, settings: Optional[Sequence[str]] = None, *, format: str = "lines",
               program: str = "mawam", costs: Optional[PathLike] = None, quick: bool = False,
               training: Optional[Settings] = None, **others: Any) -> str:
    """What run_study would do with the same arguments as a graph of commands, a task each: "lines", "make", "ninja" or
    "slurm". costs: a folder of a study or a report whose recorded seconds and memory tell what to expect."""
    return _text(lib.mw_study_plan, folder, settings, quick, training, others, encode(format), encode(program),
                 None if costs is None else encode(costs))


def study_status(folder: PathLike, settings: Optional[Sequence[str]] = None, *, jobs: int = 0,
                 costs: Optional[PathLike] = None, quick: bool = False, training: Optional[Settings] = None,
                 **others: Any) -> Dict[str, Any]:
    """What of plan_study's tasks is done, running, failed, blocked by failures and waiting, from the files alone: their
    numbers, "left" (seconds until all is done with `jobs` at a time; 0: as many as are running) and "tasks"."""
    status: Dict[str, Any] = json.loads(_text(lib.mw_study_status, folder, settings, quick, training, others, jobs,
                                              True, None if costs is None else encode(costs)))
    return status


def report_study(folders: Sequence[PathLike], output: PathLike, *, overwrite: bool = False) -> int:
    """Writes the report over all settings that are in the folders; returns how many there are.

    overwrite: remove results of an earlier report in `output` that are not among those read, and replace files of
    others under a report's names, instead of failing."""
    several("folders", folders)
    texts: Any = (ctypes.c_char_p * max(1, len(folders)))(*map(encode, folders))
    present = ctypes.c_int()
    call(lib.mw_study_report, texts, len(folders), encode(output), truth("overwrite", overwrite),
         ctypes.byref(present))
    return present.value
