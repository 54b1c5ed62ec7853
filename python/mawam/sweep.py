"""Sweeps over plan settings and the cost of planning: what a setting earns, and what it costs."""
import ctypes
import json
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Union

import numpy as np

from mawam._library import Assignments, PathLike, Settings, lib, opened, options, text
from mawam._show import Table, chart, frame, number
from mawam._work import Work
from mawam.env import WorldOptions, world_pointer
from mawam.evaluation import arm_set
from mawam.plan import Bundle
from mawam.progress import Listener, Shown


class SweepProgress(NamedTuple):
    """A value was played."""

    setting: str
    value: str
    done: int
    total: int
    left: float  # seconds that the rest will take


class Sweep(Dict[str, Any]):
    """The outcome of a sweep, as its JSON file has it; printed as a table, in a notebook with charts."""

    def rows(self) -> List[Dict[str, Any]]:
        """A row for every setting, value and arm."""
        found = []
        for setting, sweep_of in self["sweeps"].items():
            for point in sweep_of["points"]:
                for arm, result in point["arms"].items():
                    milliseconds = (result.get("ms") or {}).get("decision") or {}
                    found.append({"setting": setting, "value": point["value"], "arm": arm, "return": result["return"],
                                  "return_low": result.get("return_low"), "return_high": result.get("return_high"),
                                  "ms_p50": milliseconds.get("p50")})
        return found

    def table(self) -> Table:
        """What the program prints."""
        played = self["inputs"]
        above = [f"{self['task']}-{self['quality']}: seeds x episodes for every value: {played['seeds']} x "
                 f"{played['episodes']}; 95%: interval over episodes"]
        return Table(above, ["setting", "value", "arm", "return", "low 95%", "high 95%", "ms p50"],
                     [[row["setting"], str(row["value"]), row["arm"]]
                      + [number(row[name], ".5g") for name in ("return", "return_low", "return_high")]
                      + [number(row["ms_p50"], ".3f")] for row in self.rows()])

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for every setting, value and arm."""
        return frame(self.rows())

    def _charts(self) -> str:
        drawn = []
        for setting in self["sweeps"]:
            rows = [row for row in self.rows() if row["setting"] == setting]
            try:
                curves = [(arm, np.array([float(row["value"]) for row in rows if row["arm"] == arm]),
                           np.array([row["return"] for row in rows if row["arm"] == arm], float))
                          for arm in dict.fromkeys(row["arm"] for row in rows)]
            except ValueError:  # values that are words
                continue
            drawn.append(chart(f"return over {setting}", curves))
        return "".join(drawn)

    def __str__(self) -> str:
        return self.table().text()

    def _repr_html_(self) -> str:
        return self._charts() + self.table().html()

    def __repr__(self) -> str:
        swept = ", ".join(f"{setting} at {len(found['points'])} values" for setting, found in self["sweeps"].items())
        return f"<Sweep {self['task']}-{self['quality']}: {swept}; print it for the table>"


def sweep(bundle: Bundle, sweeps: Union[str, Sequence[str]], *, path: Optional[PathLike] = None,
          overwrite: bool = False, arms: Union[str, Sequence[str], None] = None, settings: Optional[Settings] = None,
          world: Optional[WorldOptions] = None, progress: Listener = None, **evaluation: Any) -> Sweep:
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
    with Shown(progress, f"sweeping {bundle.task}-{bundle.quality}",
               lambda seen: (seen.done / seen.total, f"{seen.setting}={seen.value}")) as shown:
        return Sweep(json.loads(work.text(shown.told, lib.mw_sweep_run, bundle._pointer, ctypes.byref(given))))


class CostProgress(NamedTuple):
    """A bundle was measured."""

    task: str
    done: int
    total: int
    left: float  # seconds that the rest will take


def planning_cost(bundles: Sequence[Bundle], *, progress: Listener = None, **fields: Any) -> Dict[str, Any]:
    """Generation and scoring of 1, 2, 4, 8, 16 candidates for every bundle and as a mean over them; fields are those of
    mw_cost_options by name: envs, repeats, timed, threads, ..."""
    pointers = (ctypes.c_void_p * max(1, len(bundles)))(*(opened(Bundle, bundle)._pointer for bundle in bundles))
    work = Work(pointers, [bundle._handle for bundle in bundles])
    given = options("mw_cost_options", command="mawam.planning_cost", stop=work.stop, **fields)
    kinds = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int, ctypes.c_double]
    given.progress = work.reports(kinds, lambda task, *rest: CostProgress(text(task), *rest))
    with Shown(progress, "measuring", lambda seen: (seen.done / max(1, seen.total), seen.task)) as shown:
        return json.loads(work.text(shown.told, lib.mw_cost_run, pointers, len(bundles), ctypes.byref(given)))
