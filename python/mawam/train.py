"""Training: from a dataset to a bundle. Every bit of the weights follows from data, settings and seed, whatever the
threads and interruptions."""
import ctypes
import html
import json
import os
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from mawam import _abi
from mawam._library import ArgumentError, Assignments, FormatError, PathLike, Settings, call, captured, encode, lib
from mawam._library import names, options, opened, record, structs, text, truth
from mawam._events import TrainingEvents
from mawam._show import chart, frame, shortly
from mawam._work import Work
from mawam.data import Dataset
from mawam.env import WorldOptions, world_pointer
from mawam.machine import data_path
from mawam.plan import Bundle
from mawam.progress import Listener, Shown

Log = Dict[str, Dict[str, np.ndarray]]


class Progress(NamedTuple):
    """A step of a training."""

    part: str  # the model in training
    step: int
    steps: int
    means: Dict[str, float]  # losses of the last line of the log; empty: this run has none yet
    held: Optional[Dict[str, float]]  # on held-out episodes; None: not yet known
    seconds: float  # of this training, earlier runs included
    done: float  # share of all work of this run, 0 to 1


class Estimate(NamedTuple):
    """What a training will need, before its first step."""

    bytes: float  # of memory for weights, optimiser and work areas, at most at one time
    free_bytes: float  # that the system could give
    operations: float  # floating-point, of all steps that are left
    seconds: float  # at half the rate that this machine multiplies matrices with now


class TrainedPart(NamedTuple):
    """How one part came out."""

    name: str
    trained: bool  # to its end, in this run or one that it continues
    held: Dict[str, float]  # losses on held-out episodes
    best_step: int  # 0: nothing was held out, or the last weights were kept


@shortly
class Training(NamedTuple):
    """What a training left."""

    path: str
    complete: bool  # the bundle is written; otherwise a part is missing and the checkpoint keeps the rest
    finished_before: bool  # nothing was left to do
    seconds: float
    target: float
    remark: str  # on how the plan's return_error was measured, or why it is not known; ""
    parts: List[TrainedPart]

    @property
    def log(self) -> Log:
        """The losses on the way: log[part][name] are arrays over the lines of the log."""
        return training_log(self.path)

    def bundle(self) -> Bundle:
        """Opens the bundle."""
        return Bundle(self.path)

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for every line of the log."""
        lines = [dict(zip(columns, values), part=part) for part, columns in self.log.items()
                 for values in zip(*columns.values())]
        return frame(lines)

    def __str__(self) -> str:
        lines = []
        for part in self.parts:
            held = ", ".join(f"{name} {value:.4g}" for name, value in part.held.items() if np.isfinite(value))
            kept = f" at step {part.best_step}, which was kept" if part.best_step > 0 else ""
            lines.append(f"{part.name}: {'held-out ' + held if held else 'not validated'}{kept}"
                         + ("" if part.trained else "; not finished"))
        end = f"{self.path} written after {self.seconds:.0f} s" if self.complete else "no bundle yet, parts are missing"
        if self.finished_before:
            end = f"{self.path} is finished already"
        return "\n".join(lines + [end])

    def _repr_html_(self) -> str:
        charts = []
        for part, columns in self.log.items():
            curves = [(name, columns["step"], values) for name, values in columns.items()
                      if name not in ("step", "seconds", "rate", "gradient") and np.isfinite(values).sum() > 1]
            if curves:
                charts.append(chart(f"{part}: losses over steps", curves))
        return "".join(charts) + "<pre>" + html.escape(str(self)) + "</pre>"


def methods() -> List[str]:
    """Whole sets of settings by name."""
    return names(lib.mw_method_name)


def training_settings() -> str:
    """All settings of training, what differs by task, and the models, as Markdown."""
    return captured(lib.mw_preset_list)


def method_table() -> str:
    """Every method as a row of Markdown: its idea, actions, what an agent sees, source, how sure it is."""
    return captured(lib.mw_method_list)


def training_log(path: PathLike) -> Log:
    """The log beside a bundle as arrays, {"flow": {"step": ..., "seconds": ...}, ...}; NaN where a line is silent."""
    rows: Dict[str, List[Dict[str, Any]]] = {}
    stem = os.fspath(path)
    name = (stem[:-len(".safetensors")] if stem.endswith(".safetensors") else stem) + ".jsonl"
    with open(name, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith("\n"):
                break  # torn by a crash
            try:
                row = json.loads(line)
                rows.setdefault(row.pop("part"), []).append(row)
            except (ValueError, KeyError) as error:
                raise FormatError(f"{name}: line {number}: not a line of a training log: {error}") from None
    return {part: {key: np.array([row.get(key, np.nan) for row in lines], np.int64 if key == "step" else np.float64)
                   for key in sorted({key for row in lines for key in row})} for part, lines in rows.items()}


def _losses(count: int, loss_names: Optional[int], values: Optional[int]) -> Optional[Dict[str, float]]:
    if not values or not loss_names:
        return None
    texts = (ctypes.c_char_p * count).from_address(loss_names)
    return {text(name): value for name, value in zip(texts, (ctypes.c_double * count).from_address(values))}


def _progress(pointer: int) -> Progress:
    now = _abi.STRUCT["mw_training_progress"].from_address(pointer)
    return Progress(text(now.part), now.step, now.steps, _losses(now.losses, now.loss_names, now.means) or {},
                    _losses(now.losses, now.loss_names, now.held), now.seconds,
                    now.done / now.total if now.total > 0 else 0.0)


def _estimate(pointer: int) -> Estimate:
    return record(Estimate, _abi.STRUCT["mw_training_estimate"].from_address(pointer))


def _report(path: PathLike, report: Any) -> Training:
    parts = [TrainedPart(text(part.name), part.trained,
                         {text(part.loss_names[i]): part.held[i] for i in range(part.losses)}, part.best_step)
             for part in structs("mw_part_report", report.part, report.count)]
    return Training(os.fspath(path), report.complete, report.finished_before, report.seconds, report.target,
                    text(report.remark), parts)


def _words(report: Progress) -> Tuple[float, str]:
    losses = ", ".join(f"{name} {value:.3g}" for name, value in report.means.items())
    return report.done, f"{report.part} {report.step}/{report.steps}{', ' if losses else ''}{losses}"


def _models(only: Optional[Sequence[str]]) -> int:
    chosen = ctypes.c_uint(0)
    if only:
        call(lib.mw_model_classes_parse, encode(only if isinstance(only, str) else ",".join(only)),
             ctypes.byref(chosen))
    return chosen.value


def check_settings(task: str, settings: Settings) -> None:
    """Refuses what is no setting of the task's training; the message lists what there is."""
    assignments = Assignments(settings)
    given = options("mw_train_options", **assignments.fields)
    call(lib.mw_train_options_check, ctypes.byref(given), encode(task))


def train(dataset: Dataset, output: PathLike, *, settings: Optional[Settings] = None, quick: bool = False,
          method: Optional[str] = None, only: Optional[Sequence[str]] = None, with_bundle: Optional[PathLike] = None,
          seed: int = 0, threads: int = 0, resume: bool = False, overwrite: bool = False, wide: bool = False,
          force: bool = False, accept_rules: bool = False, world: Optional[WorldOptions] = None,
          begin: Optional[Callable[[Estimate], Any]] = None, progress: Listener = None,
          log: Optional[str] = None) -> Training:
    """Checks the dataset, trains, and writes the bundle FILE.safetensors with its log and curves beside it.

    settings: {"flow.dim": 64}, see training_settings. quick: fewer steps. only: some models, with_bundle gives the
    others as they are. overwrite: replace a finished bundle; force: also where memory does not suffice; accept_rules:
    train on data of other rules than the world's too. log="tensorboard": losses also in FILE.tfevents. begin is told
    what is needed before the first step; progress: see show_progress, a function is told after every step. An
    exception in them or Ctrl-C saves a checkpoint, which resume=True continues to the same bits.
    """
    if log not in (None, "tensorboard"):
        raise ArgumentError(f"log: expected None or 'tensorboard'; found {log!r}")
    events = TrainingEvents(output, resume) if log else None
    shown = Shown(progress, f"training {os.path.basename(os.fspath(output))}", _words)

    def told(report: Any) -> None:
        started = isinstance(report, Estimate)
        if events is not None:
            events.begin() if started else events.tell(report)
        listener: Any = begin if started else shown.told
        if listener is not None:
            listener(report)

    assignments = Assignments(settings)
    other = None if with_bundle is None else data_path("bundles", with_bundle)
    work = Work(opened(Dataset, dataset)._handle, assignments, world)
    report = _abi.STRUCT["mw_training_report"]()
    given = options("mw_train_options", method=method, budget=0 if truth("quick", quick) else 1, only=_models(only),
                    seed=seed, threads=threads, resume=resume, overwrite=overwrite, wide=wide, force=force,
                    accept_rules=accept_rules, world=world_pointer(world), command="mawam.train", stop=work.stop,
                    begin=work.reports([ctypes.c_void_p], _estimate),
                    progress=work.reports([ctypes.c_void_p], _progress), **{"with": other}, **assignments.fields)
    try:
        with shown:
            work.run(told, lib.mw_bundle_train, dataset._pointer, encode(output), ctypes.byref(given),
                     ctypes.byref(report))
        return _report(output, report)
    finally:
        lib.mw_training_report_free(ctypes.byref(report))
        if events is not None:
            events.close()
