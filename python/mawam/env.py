"""Environments: worlds in which several agents act at once, one at a time. See vector.py for batches of them.

Arrays are [agents][features] and the like; in these comments n, o and d are agents, obs_size and act_size.
"""
import ctypes
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from mawam import _abi
from mawam._arrays import lent, taken
from mawam._library import ArgumentError, Handle, Owner, PathLike, as_dict, call, encode, failure, lib, names
from mawam._library import opened, options, record, text, whole

FLOAT, INDEX, BYTE = np.dtype(np.float32), np.dtype(np.int32), np.dtype(np.uint8)
# Laid out as mw_outcome: the library writes whole batches of them into an array.
OUTCOME = np.dtype({"names": ["terminated", "truncated", "won", "step"], "formats": ["?", "?", "?", "i4"],
                    "offsets": [0, 1, 2, 4], "itemsize": 8})

_SHAPES = ("circle", "capsule", "line", "rect")
_Error, _Outcome, _Action = _abi.STRUCT["mw_error"], _abi.STRUCT["mw_outcome"], _abi.STRUCT["mw_action"]


class Family(NamedTuple):
    """What the worlds of a family have in common in how they are played and shown."""

    name: str  # "mpe", "battle", "ant"
    title: str  # "MPE", "SMAC", "Ant": for people
    measure: str  # "normalised score", "episode return": what its results are
    format: str  # of one of them, as C writes it: "%.1f"
    signed_format: str  # "%+.1f"
    counts_wins: bool  # an episode is won or not
    episodes: int  # of a seed that an evaluation plays by itself
    study_episodes: int  # that the study plays


class EnvInfo(NamedTuple):
    """What a task is."""

    task: str
    family: str  # name of a Family
    rules: str  # rules version; datasets and bundles store it and check it
    summary: str  # one line for people
    agents: int
    obs_size: int  # observation features of one agent
    act_size: int  # real action values, or number of discrete actions, of one agent
    discrete: bool  # actions are indices with a legality mask
    episode_limit: int  # steps after which an episode is truncated

    @property
    def action_shape(self) -> Tuple[int, ...]:
        """Of a joint action: [n] indices or [n][d] real values."""
        return (self.agents,) if self.discrete else (self.agents, self.act_size)

    @property
    def action_type(self) -> np.dtype:
        return INDEX if self.discrete else FLOAT


class Feature(NamedTuple):
    """One observation feature, the same for all agents."""

    name: str
    unit: str
    low: float  # range in play; infinite where nothing bounds it
    high: float


class Shape(NamedTuple):
    """A shape of the picture, in world coordinates."""

    kind: str  # "circle", "capsule", "line", "rect"
    role: str  # "agent", "enemy", "landmark", ...
    id: int  # which one of its role; -1 if it does not matter
    a: Tuple[float, float, float]  # centre or first end or corner
    b: Tuple[float, float, float]  # second end or opposite corner
    radius: float
    health: float  # fraction in [0,1]; negative: none
    shield: float


def _family(pointer: Optional[int], what: str) -> Family:
    if not pointer:
        raise ArgumentError(f"there is no {what}")
    return record(Family, _abi.STRUCT["mw_family"].from_address(pointer))


def families() -> List[Family]:
    """All families that mawam knows, also those that this build cannot play."""
    found: List[Family] = []
    while True:
        pointer = lib.mw_family_at(len(found))
        if not pointer:
            return found
        found.append(_family(pointer, "family"))


def family(name: str) -> Family:
    """One of them by its name."""
    return _family(lib.mw_family_find(encode(name)), f"family '{name}'")


def family_of(task: str) -> Family:
    """That of a task."""
    return _family(lib.mw_family_of(encode(task)), f"task '{task}'")


def tasks() -> List[str]:
    """Names of all tasks that this build knows."""
    return names(lib.mw_env_task)


def scripts(task: str) -> List[str]:
    """Names of the scripted policies of a task: "random", "still" and heuristics of its family."""
    return names(lib.mw_script_name, encode(task))


def episode_seeds(seed: int, episode: int) -> Tuple[int, int]:
    """Seeds of the world and of the policy for an episode of a numbered series, as evaluations draw them."""
    world, policy = ctypes.c_uint64(), ctypes.c_uint64()
    lib.mw_env_episode_seeds(whole("seed", seed), whole("episode", episode), ctypes.byref(world), ctypes.byref(policy))
    return world.value, policy.value


class WorldOptions:
    """How a world differs from its task's default; None in its place means the default."""

    def __init__(self, prey_file: Optional[PathLike] = None, spawn_jitter: Optional[float] = None) -> None:
        """prey_file: of tag and world, a policy network or "script"; spawn_jitter: of battles, displacement of units
        at reset."""
        self.struct = options("mw_env_options", prey_file=prey_file, spawn_jitter=spawn_jitter)

    @property
    def pointer(self) -> int:
        return ctypes.addressof(self.struct)


def world_pointer(world: Optional[WorldOptions]) -> Optional[int]:
    if world is not None and not isinstance(world, WorldOptions):
        raise ArgumentError(f"world: expected WorldOptions; found {type(world).__name__}")
    return None if world is None else world.pointer


def env_info(pointer: int) -> EnvInfo:
    """Of an environment of the library."""
    return record(EnvInfo, _abi.STRUCT["mw_env_info"].from_address(lib.mw_env_describe(pointer)))


class Env(Owner):
    """One world. An episode is a pure function of the task, its options, the seed and the actions."""

    def __init__(self, task: str, world: Optional[WorldOptions] = None) -> None:
        """Starts in the state of reset(0)."""
        self._begin(Handle(lib.mw_env_create, lib.mw_env_free, encode(task), world_pointer(world)))

    def _begin(self, handle: Handle) -> None:
        self._handle = handle
        self.info: EnvInfo = env_info(handle.pointer)
        self._error, self._outcome = _Error(), _Outcome()

    @classmethod
    def _of(cls, handle: Handle) -> "Env":
        env = cls.__new__(cls)
        env._begin(handle)
        return env

    def __getattr__(self, name: str) -> Any:
        if name in EnvInfo._fields:  # env.task, env.agents, ... without repeating them
            return getattr(self.info, name)
        raise AttributeError(f"{type(self).__name__} has no {name!r}")

    def __repr__(self) -> str:
        kind = f"{self.info.act_size} {'discrete' if self.info.discrete else 'real'} actions"
        closed = ", closed" if self._handle is None else ""
        return f"<Env {self.info.task}: {self.info.agents} agents, {self.info.obs_size} features, {kind}{closed}>"

    # ---- play ----

    def reset(self, seed: int = 0) -> Tuple[np.ndarray, Dict[str, Any]]:
        """Starts an episode: observations [n][o] and infos as of step."""
        lib.mw_env_reset(self._pointer, whole("seed", seed))
        ctypes.memset(ctypes.addressof(self._outcome), 0, ctypes.sizeof(self._outcome))
        return self.observe(), self._infos()

    def step(self, actions: Any) -> Tuple[np.ndarray, np.ndarray, bool, bool, Dict[str, Any]]:
        """One step with a joint action [n] or [n][d]: observations [n][o], rewards [n], terminated, truncated, infos.

        Infos hold "won", "step" and, where actions are discrete, "action_mask" [n][d]. A rejected action leaves the
        state untouched.
        """
        joint = taken("actions", actions, self.info.action_shape, self.info.action_type)
        at = joint.__array_interface__["data"][0]
        rewards = np.empty(self.info.agents, FLOAT)
        status = lib.mw_env_step(self._pointer, _Action(None, at) if self.info.discrete else _Action(at, None),
                                 rewards.__array_interface__["data"][0], ctypes.byref(self._outcome),
                                 ctypes.byref(self._error))
        if status:
            raise failure(status, self._error)
        return self.observe(), rewards, self._outcome.terminated, self._outcome.truncated, self._infos()

    def _infos(self) -> Dict[str, Any]:
        infos: Dict[str, Any] = {"won": self._outcome.won, "step": self._outcome.step}
        if self.info.discrete:
            infos["action_mask"] = self.legal()
        return infos

    def observe(self) -> np.ndarray:
        """Observations [n][o] of the present state."""
        obs = np.empty((self.info.agents, self.info.obs_size), FLOAT)
        lib.mw_env_observe(self._pointer, obs.__array_interface__["data"][0])
        return obs

    def legal(self) -> np.ndarray:
        """Which actions are legal now: [n][d] of 0 and 1, all 1 for real actions."""
        legal = np.empty((self.info.agents, self.info.act_size), BYTE)
        lib.mw_env_legal(self._pointer, legal.__array_interface__["data"][0])
        return legal

    def script(self, script: str, seed: int = 0) -> np.ndarray:
        """The joint action of a scripted policy, which sees the true state."""
        actions = np.empty(self.info.action_shape, self.info.action_type)
        at = actions.__array_interface__["data"][0]
        call(lib.mw_script_act, self._pointer, encode(script), whole("seed", seed), None if self.info.discrete else at,
             at if self.info.discrete else None)
        return actions

    # ---- state ----

    def recall(self, obs: Any) -> None:
        """Starts an episode in the state that a joint observation [n][o] tells of, up to its rounding; not every task's
        observations hold the whole state."""
        seen = taken("obs", obs, (self.info.agents, self.info.obs_size), FLOAT)
        call(lib.mw_env_recall, self._pointer, seen.ctypes.data)
        ctypes.memset(ctypes.addressof(self._outcome), 0, ctypes.sizeof(self._outcome))

    def snapshot(self) -> bytes:
        """The full state, random numbers included."""
        buffer = ctypes.create_string_buffer(lib.mw_env_snapshot_size(self._pointer))
        lib.mw_env_snapshot(self._pointer, buffer)
        return buffer.raw

    def restore(self, snapshot: bytes) -> None:
        """Play continues from a snapshot of any environment of the same task and options, with identical bits."""
        call(lib.mw_env_restore, self._pointer, bytes(snapshot), len(snapshot))

    def place(self, role: str, id: int, place: Sequence[float]) -> None:
        """Puts what is drawn with this role and id elsewhere, in worlds whose things can be moved by hand."""
        to = taken("place", place, (2,), FLOAT)
        call(lib.mw_env_place, self._pointer, encode(role), whole("id", id, ctypes.c_int), to.ctypes.data)

    # ---- words and pictures ----

    @property
    def features(self) -> List[Feature]:
        """What the values of an observation are."""
        feature, found, pointer = _abi.STRUCT["mw_feature"](), [], self._pointer
        for index in range(self.info.obs_size):
            lib.mw_env_feature(pointer, index, ctypes.byref(feature))
            found.append(record(Feature, feature))
        return found

    @property
    def action_names(self) -> List[str]:
        """What the discrete actions, or the values of a real one, are called."""
        name, found = ctypes.create_string_buffer(64), []
        for index in range(self.info.act_size):
            lib.mw_env_action_name(self._pointer, index, name, len(name))
            found.append(text(name.value))
        return found

    def places(self, obs: np.ndarray) -> np.ndarray:
        """Places [k][2] in the picture that a joint observation [n][o] tells of, as far as it holds any."""
        found = np.empty((256, 2), FLOAT)
        at, _kept = lent("obs", obs, (self.info.agents, self.info.obs_size), FLOAT)
        count = lib.mw_env_places(self._pointer, at, found.__array_interface__["data"][0], len(found))
        return found[:count].copy()

    def draw(self) -> List[Shape]:
        """The picture of the present state."""
        pointer = self._pointer
        count = lib.mw_env_draw(pointer, None, 0)
        shapes = (_abi.STRUCT["mw_shape"] * max(1, count))()
        lib.mw_env_draw(pointer, shapes, count)
        return [Shape(**{**as_dict(shape), "kind": _SHAPES[shape.kind]}) for shape in shapes[:count]]


def check_env(env: Any) -> Env:
    """An Env that is still open, or an error that says what was found."""
    return opened(Env, env)
