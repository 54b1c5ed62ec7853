"""Writing datasets of one's own: arrays of episodes, of a built-in task or a world that mawam knows nothing about."""
import ctypes
import threading
from typing import Any, Iterable, Optional, Union

import numpy as np

from mawam import _abi
from mawam._arrays import taken
from mawam._library import ArgumentError, Handle, Owner, PathLike, call, encode, fill, lib, truth, whole
from mawam.data import Dataset, Episode, brought_in
from mawam.env import BYTE, FLOAT, INDEX


class DatasetWriter(Owner):
    """Appends episodes; the folder takes its name only when `commit` completes it. In a `with` block it commits at the
    end, or abandons everything after an exception."""

    def __init__(self, folder: PathLike, task: str, *, agents: int, obs_size: int, act_size: int, discrete: bool,
                 episode_limit: int, rules: str = "own-1", quality: str = "", seed: int = 0, command: str = "",
                 note: str = "", overwrite: bool = False) -> None:
        """rules: the version of the world; data, bundles and planning of other rules are kept apart."""
        spec = fill(_abi.STRUCT["mw_dataset_spec"](), {
            "task": task, "rules": rules, "quality": quality, "agents": agents, "obs_size": obs_size,
            "act_size": act_size, "discrete": discrete, "episode_limit": episode_limit, "seed": seed,
            "command": command, "note": note})
        self._sizes, self.discrete, self.folder = (agents, obs_size, act_size), discrete, folder
        self._busy = threading.Lock()  # a commit waits for what another thread adds, as it frees the writer
        self._handle = Handle(lib.mw_dataset_writer_open, lib.mw_dataset_writer_abandon, encode(folder),
                              ctypes.byref(spec), truth("overwrite", overwrite))

    @property
    def steps(self) -> int:
        """So far, over all episodes."""
        with self._busy:
            return lib.mw_dataset_writer_steps(self._pointer)

    def add(self, episode: Union[Episode, Any]) -> None:
        """Checks an episode (shapes, finite numbers, legal actions) and appends it."""
        if not isinstance(episode, Episode):
            episode = Episode(*episode)
        n, o, d = self._sizes
        length = len(episode.obs)
        actions = taken("actions", episode.actions, (length, n) if self.discrete else (length, n, d),
                        INDEX if self.discrete else FLOAT)
        rewards = np.asarray(episode.rewards)
        if rewards.ndim == 1:  # shared by all agents
            rewards = np.repeat(rewards[:, None], n, axis=1)
        arrays = {"obs": taken("obs", episode.obs, (length, n, o), FLOAT),
                  "index" if self.discrete else "real": actions,
                  "rewards": taken("rewards", rewards, (length, n), FLOAT)}
        if episode.last_obs is not None:
            arrays["last_obs"] = taken("last_obs", episode.last_obs, (n, o), FLOAT)
        if self.discrete and episode.legal is not None:
            arrays["legal"] = taken("legal", episode.legal, (length, n, d), BYTE)
        struct = fill(_abi.STRUCT["mw_episode"](), {name: array.ctypes.data for name, array in arrays.items()})
        struct.length, struct.outcome = length, whole("outcome", episode.outcome, ctypes.c_uint8)
        with self._busy:
            call(lib.mw_dataset_writer_add, self._pointer, ctypes.byref(struct))

    def sources(self, *sources: Any) -> None:
        """Who acted: (name, checksum, episodes) of each policy."""
        array = (_abi.STRUCT["mw_data_source"] * max(1, len(sources)))()
        for place, (name, checksum, episodes) in zip(array, sources):
            fill(place, {"name": name, "checksum": checksum, "episodes": episodes})
        with self._busy:
            call(lib.mw_dataset_writer_sources, self._pointer, array, len(sources))

    def commit(self) -> Dataset:
        """Completes the dataset and opens it."""
        with self._busy:
            pointer = self._pointer
            pointer.handle.pointer = 0  # commit frees it either way
            self._handle = None
            call(lib.mw_dataset_writer_commit, pointer)
        return brought_in(self.folder)

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None and self._handle is not None:
            self.commit()
        self.close()


def write_dataset(folder: PathLike, episodes: Iterable[Union[Episode, Any]], task: str, *,
                  episode_limit: Optional[int] = None, act_size: Optional[int] = None, **about: Any) -> Dataset:
    """Writes episodes (Episode, or obs, actions, rewards, ... in its order) and opens the dataset.

    Sizes follow from the first episode; whole numbers as actions mean discrete ones, of which there are act_size (else
    as many as the largest one of all says). episode_limit: the longest episode unless given. about: DatasetWriter's.
    """
    given = [episode if isinstance(episode, Episode) else Episode(*episode) for episode in episodes]
    if not given:
        raise ArgumentError("episodes: expected at least one; found none")
    obs, actions = np.asarray(given[0].obs), np.asarray(given[0].actions)
    if obs.ndim != 3:
        raise ArgumentError(f"obs: expected shape (steps, agents, features); found {obs.shape}")
    discrete = actions.dtype.kind in "iub"
    if act_size is None and discrete:
        every = (np.asarray(episode.actions) for episode in given)
        act_size = 1 + max((int(np.max(some)) for some in every if some.size and some.dtype.kind in "iub"), default=0)
    elif act_size is None:
        act_size = actions.shape[-1]
    if episode_limit is None:
        episode_limit = max(len(episode.obs) for episode in given)
    with DatasetWriter(folder, task, agents=obs.shape[1], obs_size=obs.shape[2], act_size=act_size, discrete=discrete,
                       episode_limit=episode_limit, **about) as writer:
        for episode in given:
            writer.add(episode)
        return writer.commit()
