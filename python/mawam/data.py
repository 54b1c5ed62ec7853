"""Datasets: episodes on disk. Opened, they are read-only numpy arrays over the files' memory; nothing is copied.

They are made by the behaviours of mawam's own settings, imported from others' layouts, or written from one's own
arrays (writer.py).
"""
import ctypes
import json
import os
import warnings
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from mawam import _abi
from mawam._arrays import view
from mawam._library import Handle, Owner, PathLike, as_dict, call, captured, encode, lib, names, options
from mawam._library import optional, record, text, whole
from mawam._show import facts, frame, histogram, shortly
from mawam._work import Work
from mawam.env import BYTE, FLOAT, INDEX, Env, WorldOptions, check_env, world_pointer
from mawam.progress import Listener, Shown

ENDED_BY_LIMIT, ENDED_BY_WORLD, ENDED_BY_VICTORY = 0, 1, 3


class ReturnStats(NamedTuple):
    """Of the episodes' returns: the sum over steps of the mean reward of the agents."""

    mean: float
    std: float
    minimum: float
    quartile: Tuple[float, float, float]
    maximum: float
    won: float  # share of episodes that ended by victory


class RulesReport(NamedTuple):
    """How far recorded transitions agree with our world of the data's task."""

    compared: int  # transitions that were replayed; 0: the task's observations do not hold its state
    agreed: int  # of them: same observations and rewards up to the rounding of what was recorded
    worst_obs: float  # largest differences
    worst_reward: float
    values: int  # observation values looked at
    outside: int  # those out of their feature's range


@shortly
class Episode(NamedTuple):
    """One episode of T steps: obs[t] is what was seen before actions[t], which earned rewards[t]."""

    obs: np.ndarray  # [T][n][o]
    actions: np.ndarray  # [T][n] indices or [T][n][d] values
    rewards: np.ndarray  # [T][n], or [T] to write what all agents share
    last_obs: Optional[np.ndarray] = None  # [n][o] after the last step
    legal: Optional[np.ndarray] = None  # [T][n][d] where actions are discrete; None to write: all are
    outcome: int = ENDED_BY_LIMIT


def _sources(pointer: Optional[int], count: int) -> List[Dict[str, Any]]:
    """Who acted: name, checksum, episodes of each policy."""
    if not pointer:
        return []
    return [as_dict(source) for source in (_abi.STRUCT["mw_data_source"] * count).from_address(pointer)]


_COLUMNS = ("obs", "actions", "legal", "rewards", "last_obs", "outcomes", "lengths", "offsets")


class Dataset(Owner):
    """A dataset's folder, open. Its arrays stay valid as long as anybody holds one of them."""

    def __init__(self, folder: PathLike) -> None:
        """Checks the structure: the description, types and shapes of all columns. See check for the values."""
        self._handle = Handle(lib.mw_dataset_load, lib.mw_dataset_free, encode(folder))
        about = lib.mw_dataset_describe(self._pointer)
        spec = as_dict(about.spec)
        self.task: str = spec["task"]
        self.rules: str = spec["rules"]
        self.quality: str = spec["quality"]
        self.agents: int = spec["agents"]
        self.obs_size: int = spec["obs_size"]
        self.act_size: int = spec["act_size"]
        self.discrete: bool = spec["discrete"]
        self.episode_limit: int = spec["episode_limit"]
        self.seed: int = spec["seed"]
        self.command: str = spec["command"]
        self.note: str = spec["note"]
        self.sources: List[Dict[str, Any]] = _sources(about.spec.sources, about.spec.source_count)
        self.made_by: str = about.made_by.decode()
        self.steps: int = about.steps
        self.episodes: int = about.episodes
        self.returns: ReturnStats = record(ReturnStats, about.returns)
        self.bytes: int = int(about.bytes)
        self.imported: bool = about.imported
        self._look()

    def _look(self) -> None:
        """The columns as arrays over the library's memory."""
        columns, owner = lib.mw_dataset_view(self._pointer), self._handle
        steps, n, o, d = self.steps, self.agents, self.obs_size, self.act_size
        self.obs: np.ndarray = view(columns.obs, (steps, n, o), FLOAT, owner)  # [steps][n][o]
        self.actions: np.ndarray = (view(columns.index, (steps, n), INDEX, owner) if self.discrete
                                    else view(columns.real, (steps, n, d), FLOAT, owner))
        self.legal: Optional[np.ndarray] = view(columns.legal, (steps, n, d), BYTE, owner)
        self.rewards: np.ndarray = view(columns.rewards, (steps, n), FLOAT, owner)  # [steps][n]
        self.last_obs: Optional[np.ndarray] = view(columns.last_obs, (self.episodes, n, o), FLOAT, owner)
        self.outcomes: np.ndarray = view(columns.outcomes, (self.episodes,), BYTE, owner)  # ENDED_BY_...
        self.lengths: np.ndarray = view(columns.lengths, (self.episodes,), np.int64, owner)
        self.offsets: np.ndarray = view(columns.offsets, (self.episodes + 1,), np.int64, owner)

    def close(self) -> None:
        """Lets go of the folder; it stays mapped as long as arrays of it are held."""
        for name in _COLUMNS:
            self.__dict__.pop(name, None)
        super().close()

    def __getattr__(self, name: str) -> Any:
        if name in _COLUMNS:
            self._pointer  # says that it is closed
        raise AttributeError(f"{type(self).__name__} has no {name!r}")

    def __len__(self) -> int:
        return self.episodes

    def __getitem__(self, episode: int) -> Episode:
        """Views of one episode."""
        self._pointer  # refuses one that is closed
        if not -self.episodes <= episode < self.episodes:
            raise IndexError(f"there are episodes 0 to {self.episodes - 1}, not {episode}")
        episode %= self.episodes
        steps = slice(int(self.offsets[episode]), int(self.offsets[episode + 1]))
        return Episode(self.obs[steps], self.actions[steps], self.rewards[steps],
                       None if self.last_obs is None else self.last_obs[episode],
                       None if self.legal is None else self.legal[steps], int(self.outcomes[episode]))

    def check(self) -> None:
        """One pass over all values: finite numbers, discrete actions in range and legal, checksums."""
        Work(self._handle).run(None, lib.mw_dataset_check, self._pointer)

    def remark(self) -> str:
        """What is sound and yet not what training takes, or hardly what was meant: real actions beyond [-1, 1], or all
        one-hot; "" if nothing."""
        words = ctypes.create_string_buffer(256)
        lib.mw_dataset_remark(self._pointer, words, len(words))
        return text(words.value)

    def expect(self, env: Env) -> None:
        """Refuses data that does not belong to the environment's task: its sizes and rules."""
        call(lib.mw_dataset_expect, self._pointer, lib.mw_env_describe(check_env(env)._pointer))

    def replay(self, sample: int = 1000, world: Optional[WorldOptions] = None) -> "RulesReport":
        """Replays transitions from all over the data, which has passed its check, in our world of its task."""
        report = _abi.STRUCT["mw_rules_report"]()
        Work(self._handle, world).run(None, lib.mw_dataset_replay, self._pointer, world_pointer(world),
                                      whole("sample", sample, ctypes.c_long), ctypes.byref(report))
        return record(RulesReport, report)

    def export(self, path: PathLike, overwrite: bool = False) -> None:
        """HDF5 episodes in Minari's layout, one member agent_<i> per agent."""
        work = Work(self._handle)
        given = options("mw_export_options", overwrite=overwrite, stop=work.stop)
        work.run(None, lib.mw_export_hdf5, self._pointer, encode(path), ctypes.byref(given))

    def report(self, env: Optional[Env] = None) -> "DataReport":
        """What people want to see of it; an environment of its task names the features."""
        return DataReport(self, env)

    def episode_returns(self) -> np.ndarray:
        """Of every episode: the sum over steps of the mean reward of the agents."""
        return np.add.reduceat(self.rewards.mean(axis=1, dtype=np.float64), self.offsets[:-1])

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for every episode."""
        return frame({"return": self.episode_returns(), "length": np.array(self.lengths),
                      "outcome": np.array(self.outcomes)})

    @property
    def _name(self) -> str:
        return f"{self.task}-{self.quality}" if self.quality else self.task

    def __repr__(self) -> str:
        if self._handle is None:
            return f"<Dataset {self._name}: closed>"
        return f"<Dataset {self._name}: {self.episodes} episodes, {self.steps} steps>"

    def _repr_html_(self) -> str:
        kind = f"{self.act_size} {'discrete actions' if self.discrete else 'real action values'}"
        shown = facts(f"Dataset {self._name}", {
            "rules": self.rules, "steps": self.steps,
            "episodes": f"{self.episodes} of at most {self.episode_limit} steps",
            "sizes": f"{self.agents} agents, {self.obs_size} features, {kind}",
            "returns": f"mean {self.returns.mean:.5g}, std {self.returns.std:.4g}", "made by": f"mawam {self.made_by}"})
        return shown + histogram("returns of episodes", self.episode_returns())


class DataReport(Owner):
    """The distribution of returns, ranges of features, use of actions."""

    def __init__(self, dataset: Dataset, env: Optional[Env] = None) -> None:
        """One pass over the data, which has passed its check."""
        features = None
        if env is not None:
            dataset.expect(env)
            features = (_abi.STRUCT["mw_feature"] * dataset.obs_size)()
            for index in range(dataset.obs_size):
                lib.mw_env_feature(env._pointer, index, ctypes.byref(features[index]))
        self._handle = Handle(lib.mw_data_report_create, lib.mw_data_report_free, dataset._pointer, features,
                              needs=(dataset._handle, features, env))

    def text(self) -> str:
        """For people."""
        return captured(lambda stream: lib.mw_data_report_text(self._pointer, stream))

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return "<DataReport: print it, or as_dict()>"

    def as_dict(self) -> Dict[str, Any]:
        """For programs."""
        return json.loads(captured(lambda stream: call(lib.mw_data_report_json, self._pointer, stream)))

    def save_picture(self, path: PathLike) -> None:
        """The distribution of returns as an SVG file."""
        call(lib.mw_data_report_svg, self._pointer, encode(path))


def brought_in(folder: PathLike) -> Dataset:
    """Opens what has just been written, and warns of what training will not take."""
    dataset = Dataset(folder)
    remark = dataset.remark()
    if remark:
        warnings.warn(f"{os.fspath(folder)}: {remark}", stacklevel=3)
    return dataset


def declare_rules(folder: PathLike, rules: str, note: Optional[str] = None) -> None:
    """Says of the dataset in a folder that its world followed these rules; note replaces what it tells people."""
    call(lib.mw_dataset_declare, encode(folder), encode(rules), optional(note))


# ---- making ----------------------------------------------------------------------------------------------------------


class Made(NamedTuple):
    """What was made; the numbers are of the returns."""

    episodes: int
    steps: int
    mean: float
    std: float
    least: float
    most: float
    win_rate: float


def make_dataset(setting: str, folder: PathLike, *, transitions: int = 0, seed: int = 0, threads: int = 0,
                 overwrite: bool = False, behaviors: Optional[PathLike] = None, world: Optional[WorldOptions] = None,
                 progress: Listener = None) -> Made:
    """The behaviour of a setting ("spread-medium"; see settings) plays until there are enough transitions (0: the
    setting's). progress: see show_progress; a function is told (steps, total). The same seed gives the same bits."""
    work, result = Work(world), _abi.STRUCT["mw_make_result"]()
    given = options("mw_make_options", behaviors=behaviors, world=world_pointer(world), transitions=transitions,
                    seed=seed, threads=threads, overwrite=overwrite, stop=work.stop, command="mawam.make_dataset",
                    progress=work.reports([ctypes.c_long, ctypes.c_long], lambda done, total: (done, total)))
    with Shown(progress, f"making {setting}", lambda seen: (seen[0] / max(1, seen[1]), f"{seen[0]} steps")) as shown:
        work.run(shown.told, lib.mw_dataset_make, encode(setting), encode(folder), ctypes.byref(given),
                 ctypes.byref(result))
    return record(Made, result)


class Imported(NamedTuple):
    """What an import found."""

    episodes: int
    steps: int
    dropped: int  # steps at the end of a file that no end of an episode followed
    jumps: int  # places inside episodes where the next observation was another one: cut there
    padded: bool  # agents' observations had different sizes and were filled up with zeros
    all_legal: bool  # discrete actions without legality: all taken as legal
    changed: bool  # a file says that it is of our rules, and its values are not known to be those that we exported


def import_layouts() -> List[str]:
    """The layouts that can be read."""
    return names(lib.mw_import_layout)


def import_dataset(layout: str, source: PathLike, folder: PathLike, task: str, *, env: Optional[Env] = None,
                   quality: Optional[str] = None, agents: int = 0, act_size: int = 0, episode_limit: int = 0,
                   overwrite: bool = False) -> Imported:
    """Turns data of others into a dataset of any task; with an environment its sizes are demanded."""
    work, report = Work(env), _abi.STRUCT["mw_import_report"]()
    given = options("mw_import_options", info=None if env is None else lib.mw_env_describe(check_env(env)._pointer),
                    quality=quality, agents=agents, act_size=act_size, episode_limit=episode_limit,
                    overwrite=overwrite, stop=work.stop, command="mawam.import_dataset")
    work.run(None, lib.mw_dataset_import, encode(layout), encode(source), encode(folder), encode(task),
             ctypes.byref(given), ctypes.byref(report))
    brought_in(folder)
    return record(Imported, report)
