"""Sweeps over plan settings and the cost of planning: what a setting earns, and what it costs."""
import ctypes
import json
from typing import Any, Callable, Dict, NamedTuple, Optional, Sequence, Union

from mawam._library import Assignments, PathLike, Settings, lib, opened, options, text
from mawam._work import Work
from mawam.env import WorldOptions, world_pointer
from mawam.evaluation import arm_set
from mawam.plan import Bundle


class SweepProgress(NamedTuple):
    """A value was played."""

    setting: str
    value: str
    done: int
    total: int
    left: float  # seconds that the rest will take


def sweep(bundle: Bundle, sweeps: Union[str, Sequence[str]], *, path: Optional[PathLike] = None,
          overwrite: bool = False, arms: Union[str, Sequence[str], None] = None, settings: Optional[Settings] = None,
          world: Optional[WorldOptions] = None, progress: Optional[Callable[[SweepProgress], Any]] = None,
          **evaluation: Any) -> Dict[str, Any]:
    """Evaluates a bundle at several values of plan settings ("M=1,2,4,8", "H=1..8") on the same episodes.

    path: where the result is kept after every value; what it holds of this bundle and these options is not played
    again, anything else is replaced only with `overwrite`. `evaluation` are fields of mw_eval_options by name: seeds,
    episodes, threads, timed, ...
    """
    assignments = Assignments(settings)
    lines = Assignments([sweeps] if isinstance(sweeps, str) else sweeps)
    work = Work(opened(Bundle, bundle)._handle, assignments, lines, world)
    played = options("mw_eval_options", arms=arm_set(arms), stop=work.stop, world=world_pointer(world),
                     **assignments.fields, **evaluation)
    given = options("mw_sweep_options", sweeps=lines.fields["assignments"], count=len(lines.items),
                    eval=ctypes.addressof(played), path=path, command="mawam.sweep",
                    overwrite=overwrite)
    kinds = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_int, ctypes.c_double]
    given.progress = work.reports(kinds, lambda setting, value, *rest: SweepProgress(text(setting), text(value), *rest))
    return json.loads(work.text(progress, lib.mw_sweep_run, bundle._pointer, ctypes.byref(given)))


class CostProgress(NamedTuple):
    """A bundle was measured."""

    task: str
    done: int
    total: int
    left: float  # seconds that the rest will take


def planning_cost(bundles: Sequence[Bundle], *, progress: Optional[Callable[[CostProgress], Any]] = None,
                  **fields: Any) -> Dict[str, Any]:
    """Generation and scoring of 1, 2, 4, 8, 16 candidates for every bundle and as a mean over them; fields are those of
    mw_cost_options by name: envs, repeats, timed, threads, ..."""
    pointers = (ctypes.c_void_p * max(1, len(bundles)))(*(opened(Bundle, bundle)._pointer for bundle in bundles))
    work = Work(pointers, [bundle._handle for bundle in bundles])
    given = options("mw_cost_options", command="mawam.planning_cost", stop=work.stop, **fields)
    kinds = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int, ctypes.c_double]
    given.progress = work.reports(kinds, lambda task, *rest: CostProgress(text(task), *rest))
    return json.loads(work.text(progress, lib.mw_cost_run, pointers, len(bundles), ctypes.byref(given)))
