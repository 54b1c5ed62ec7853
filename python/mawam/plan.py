"""Bundles of frozen models, and planners that decide with them: candidates from the policy, scores, choice."""
import ctypes
import html
import json
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from mawam import _abi
from mawam._arrays import address, copied, lent, taken
from mawam._library import ArgumentError, Error, Handle, Owner, PathLike, call, encode, failure, fill, lib, names
from mawam._library import as_dict, options, prepared, opened, record, text, typed, whole
from mawam._show import facts, shortly
from mawam.env import BYTE, FLOAT, Env, WorldOptions, check_env, world_pointer
from mawam.fan import fan
from mawam.hooks import Hooks, Proposer, Scorer
from mawam.machine import data_path


SettingValue = Union[bool, int, float, str]


@shortly
class Part(NamedTuple):
    """One model of a bundle."""

    name: str  # "flow", "inverse", "rwm", ...
    parameters: int  # weights in it
    provenance: Dict[str, Any]  # settings, data checksum, seed, revision, CPU, training curve


class SettingInfo(NamedTuple):
    """One setting of planning."""

    name: str
    symbol: str  # the paper's, "" if it has none
    help: str
    range: str


@shortly
class _Candidates(NamedTuple):

    chosen: int
    scores: np.ndarray  # [M]: imagined team return, or as the scorer judges
    actions: np.ndarray  # [M][H][n][d], one-hot if discrete
    proposed: Optional[np.ndarray]  # [M][H + 1][n][o]: observations drawn by the policy, from the present one on
    imagined: Optional[np.ndarray]  # [M][H][n][o]: predicted by the world model; None where there are no rollouts
    weights: Optional[np.ndarray]  # [M]: the mean of all with these was executed; None: the chosen one


class Candidates(_Candidates):
    """The candidates of a decision, copied: M of them over H steps. A notebook draws where they lead."""

    task: str = ""
    obs: Optional[np.ndarray] = None  # [n][o]: the observation that was decided on

    def svg(self) -> str:
        """The fan of all candidates, the chosen one in colour; their scores where the task's world has no places."""
        return fan(self.task, self)

    def _repr_html_(self) -> str:
        return self.svg()


class Effort(NamedTuple):
    """What a decision did."""

    candidates: int
    sampling_steps: int
    scored: bool  # False: the reactive action
    milliseconds: float


def plan_settings() -> List[SettingInfo]:
    """Everything that a planner can be told by name."""
    info, found = _abi.STRUCT["mw_setting_info"](), []
    while lib.mw_plan_setting_at(len(found), ctypes.byref(info)):
        found.append(record(SettingInfo, info))
    return found


def scorers() -> Dict[str, str]:
    """What can judge candidates, with a line on each."""
    return {name: text(lib.mw_scorer_help(index)) for index, name in enumerate(names(lib.mw_scorer_name))}


class Bundle(Owner):
    """Frozen models for one task, read from one file. Planners share it."""

    def __init__(self, path: PathLike) -> None:
        """Reads and checks a bundle: a file, or by its name one that comes with mawam ("spread-medium")."""
        self._handle = Handle(lib.mw_bundle_load, lib.mw_bundle_free, encode(path))
        about = as_dict(lib.mw_bundle_describe(self._pointer))
        self.task: str = about["task"]
        self.rules: str = about["rules"]  # version of the world it was trained in
        self.quality: str = about["quality"]
        self.method: str = about["method"]  # how it was trained
        self.agents: int = about["agents"]
        self.obs_size: int = about["obs_size"]
        self.act_size: int = about["act_size"]
        self.discrete: bool = about["discrete"]
        self.episode_limit: int = about["episode_limit"]
        self.packed_bits: int = about["packed_bits"]  # of a weight in its larger matrices; 0: it is not packed
        self.packed_of: str = about["packed_of"]  # checksum of the bundle before it was packed, or ""
        self.return_error_from: str = about["return_error_from"]  # what the plan's was measured on; "": not known
        self._parts: int = about["parts"]

    @property
    def parts(self) -> List[Part]:
        """The models in it and where they come from."""
        found, pointer = [], self._pointer
        for index in range(self._parts):
            part = lib.mw_bundle_part_describe(pointer, index)
            found.append(Part(text(part.name), part.parameters, json.loads(text(part.provenance) or "{}")))
        return found

    @property
    def weights(self) -> str:
        """Checksum of the weights alone: equal trainings give equal ones."""
        out = ctypes.create_string_buffer(17)
        lib.mw_bundle_weights(self._pointer, out)
        return text(out.value)

    @property
    def plan(self) -> Dict[str, SettingValue]:
        """How it plans unless told otherwise: every setting with its value, real numbers to six digits."""
        pointer = self._pointer
        settings = lib.mw_bundle_plan(pointer)
        return _plan_values(settings)

    def __repr__(self) -> str:
        parts = ", ".join(part.name for part in self.parts) if self._handle else "closed"
        return f"<Bundle {self.task}-{self.quality}: {parts}>"

    def _repr_html_(self) -> str:
        if self._handle is None:
            return html.escape(repr(self))
        kind = f"{self.act_size} {'discrete' if self.discrete else 'real'} actions"
        about = {"rules": self.rules, "method": self.method,
                 "sizes": f"{self.agents} agents, {self.obs_size} features and {kind} each",
                 "plan": " ".join(f"{name}={typed(value)}" for name, value in self.plan.items())}
        for part in self.parts:
            held = part.provenance.get("provenance", {}).get("details", {}).get("held") or {}
            about[part.name] = f"{part.parameters} weights" + "".join(
                f", {name} {value:.4g}" for name, value in held.items() if isinstance(value, float))
        return facts(f"Bundle {self.task}-{self.quality}", about)


def pack_bundle(source: PathLike, target: PathLike, bits: int = 8) -> None:
    """Writes a bundle's file to another with its larger matrices in 4 to 8 bits per weight, and says so in it."""
    call(lib.mw_bundle_pack, encode(data_path("bundles", source)), encode(target), whole("bits", bits, ctypes.c_int))


def _value(setting: SettingInfo, words: str) -> SettingValue:
    """A setting's value by its kind, of which its range speaks; words stay words ("auto", a scorer's name)."""
    if setting.range == "on or off":
        return words == "on"
    try:
        if setting.range.startswith("a whole number"):
            return int(words)
        return float(words) if setting.range.startswith("a number") else words
    except ValueError:
        return words


def _plan_values(settings: ctypes.Structure) -> Dict[str, SettingValue]:
    value, found = ctypes.create_string_buffer(256), {}
    for setting in plan_settings():
        call(lib.mw_plan_settings_get, ctypes.byref(settings), encode(setting.name), value, len(value))
        found[setting.name] = _value(setting, text(value.value))
    return found


class Planner(Owner):
    """Decides for `envs` environments together. All memory is taken at the beginning; deciding allocates nothing in the
    library."""

    def __init__(self, bundle: Bundle, *, seed: int = 0, envs: int = 1, threads: int = 0, imagine: bool = False,
                 sequential: bool = False, deadline: float = 0.0, envs_played: Optional[Sequence[Env]] = None,
                 world: Optional[WorldOptions] = None, scorer: Union[str, Scorer, None] = None,
                 proposer: Optional[Proposer] = None, **settings: Any) -> None:
        """Settings are those of plan_settings, for instance candidates=16; what is not given is the bundle's.

        scorer: one of scorers() by name, or a function that judges all candidates; proposer: a function that gives the
        candidates in place of the bundle's policy (mawam.hooks says what they get and return).

        imagine: roll the candidates out in the world model even if scores do not need it. deadline: milliseconds that a
        decision may take, 0: as long as it takes. envs_played: the environments themselves, for scorers that simulate.
        """
        given = options("mw_planner_options", opened(Bundle, bundle)._pointer, seed=seed, envs=envs, threads=threads,
                        imagine=imagine, sequential=sequential, deadline=deadline, env_options=world_pointer(world))
        if isinstance(scorer, str):
            settings["scorer"], scorer = scorer, None
        self._hooks: Optional[Hooks] = None
        if scorer is not None or proposer is not None:
            self._hooks = Hooks(scorer, proposer, bundle.discrete)
            fill(given, self._hooks.fields)
        for name, value in settings.items():
            call(lib.mw_plan_settings_set, ctypes.addressof(given) + type(given).plan.offset, encode(name),
                 encode(typed(value)))
        needs: List[Any] = [bundle._handle, world]
        if envs_played is not None:
            if len(envs_played) != envs:
                raise ArgumentError(f"envs_played: expected {envs} environments; found {len(envs_played)}")
            needs += [check_env(env)._handle for env in envs_played]
            pointers = (ctypes.c_void_p * envs)(*(env._pointer for env in envs_played))
            given.envs_played = ctypes.addressof(pointers)
            needs.append(pointers)
        needs.append(self._hooks)
        try:
            self._handle = Handle(lib.mw_planner_create, lib.mw_planner_free, bundle._pointer, ctypes.byref(given),
                                  needs=needs)
        except Error as error:  # a planner with a deadline measures itself, hooks included
            raise self._reason() or error from None
        self.envs, self.discrete, self.task = envs, bundle.discrete, bundle.task
        self.settings: Dict[str, SettingValue] = _plan_values(given.plan)
        self.as_drawn: bool = lib.mw_plan_as_drawn(ctypes.byref(given.plan))  # without offsets and warm starts
        self._sizes = (bundle.agents, bundle.obs_size, bundle.act_size)
        self._prepare()

    def _reason(self) -> Optional[BaseException]:
        """What a hook has raised, once."""
        if self._hooks is None:
            return None
        raised, self._hooks.raised = self._hooks.raised, None
        return raised

    def _prepare(self) -> None:
        n, o, d = self._sizes
        self._obs_shape, self._legal_shape = (self.envs, n, o), (self.envs, n, d)
        self._action_shape, self._action_type = ((self.envs, n), np.int32) if self.discrete else (
            (self.envs, n, d), np.float32)
        self._seen = np.zeros(self._obs_shape, FLOAT)
        self._error = _abi.STRUCT["mw_error"]()
        self._act = prepared("mw_planner_act")

    @property
    def bytes(self) -> int:
        """Of workspace."""
        return lib.mw_planner_bytes(self._pointer)

    def begin(self, episode: int, env: int = 0) -> None:
        """Starts an episode in one environment: its history is forgotten. The candidates' noise is a function of the
        seed, the episode, the step and the candidate."""
        self._check_env(env)
        call(lib.mw_planner_begin, self._pointer, env, whole("episode", episode))

    def _check_env(self, env: int) -> None:
        if not 0 <= whole("env", env, ctypes.c_int) < self.envs:
            raise ArgumentError(f"env: expected 0 to {self.envs - 1}; found {env}")

    def _batch(self, what: str, array: Any, shape: Tuple[int, ...], dtype: np.dtype) -> Tuple[int, Any]:
        """The address of [envs][...], or of [...] for one environment, and what holds the values there."""
        if self.envs == 1 and np.ndim(array) == len(shape) - 1:
            shape = shape[1:]
        return lent(what, array, shape, dtype)

    def act(self, obs: np.ndarray, legal: Optional[np.ndarray] = None,
            active: Union[np.ndarray, Sequence[bool], None] = None) -> np.ndarray:
        """One decision from obs [envs][n][o]: actions [envs][n][d] or indices [envs][n].

        legal [envs][n][d] masks discrete actions; active [envs]: who decides, None: all. With one environment
        the first dimension may be missing everywhere.
        """
        batch = np.ndim(obs) == 3
        obs_at, obs = self._batch("obs", obs, self._obs_shape, FLOAT)
        legal_at, legal = (None, None) if legal is None else self._batch("legal", legal, self._legal_shape, BYTE)
        playing = None if active is None else taken("active", active, (self.envs,), BYTE)
        actions = np.zeros(self._action_shape, self._action_type)
        at = ctypes.c_void_p(address("actions", actions, self._action_shape, actions.dtype))
        pointer = self._pointer  # holds the planner until the call is over
        status = self._act(
            ctypes.c_void_p(pointer), ctypes.c_void_p(obs_at), ctypes.c_void_p(legal_at),
            ctypes.c_void_p(None if playing is None else playing.ctypes.data), None if self.discrete else at,
            at if self.discrete else None, ctypes.byref(self._error))
        if status:
            raise self._reason() or failure(status, self._error)
        self._saw(obs, playing)
        return actions if batch else actions[0]

    def _saw(self, obs: Any, playing: Optional[np.ndarray]) -> None:
        """Keeps what was decided on, for pictures."""
        seen = np.reshape(obs, self._obs_shape)
        np.copyto(self._seen, seen, where=True if playing is None else playing.astype(bool)[:, None, None])

    def reward(self, reward: float, env: int = 0) -> None:
        """What an environment's last action earned: the mean over agents. Only bundles that follow the return-to-go
        use it."""
        self._check_env(env)
        call(lib.mw_planner_reward, self._pointer, env, float(reward))

    @property
    def effort(self) -> Effort:
        """What the last decision did; with a deadline it does what there is time for."""
        return record(Effort, lib.mw_planner_effort(self._pointer))

    def candidates(self, env: int = 0) -> Candidates:
        """Those of the last decision of one environment."""
        self._check_env(env)
        pointer = self._pointer
        seen = lib.mw_planner_candidates(pointer, env)
        if not seen.count:
            raise ArgumentError(f"there is no decision for environment {env} to look into")
        n, o, d = self._sizes
        m, h = seen.count, seen.horizon
        found = Candidates(seen.chosen, copied(seen.scores, (m,), FLOAT), copied(seen.actions, (m, h, n, d), FLOAT),
                           copied(seen.proposed, (m, h + 1, n, o), FLOAT), copied(seen.imagined, (m, h, n, o), FLOAT),
                           copied(seen.weights, (m,), FLOAT))
        found.task, found.obs = self.task, self._seen[env]
        return found

    def take(self, candidate: int, env: int = 0) -> np.ndarray:
        """Overrules the last decision of one environment before it is executed: another candidate's first joint
        action, [n][d] or indices [n]."""
        self._check_env(env)
        action = np.zeros(self._action_shape[1:], self._action_type)
        at = action.ctypes.data
        call(lib.mw_planner_take, self._pointer, env, whole("candidate", candidate, ctypes.c_int),
             None if self.discrete else at, at if self.discrete else None)
        return action

    def __repr__(self) -> str:
        if self._handle is None:
            return "<Planner: closed>"
        plan = " ".join(f"{name}={typed(self.settings[name])}" for name in ("candidates", "horizon", "scorer"))
        return f"<Planner {self.task}: {plan}, for {self.envs} environment{'s' * (self.envs != 1)}>"

    def _repr_html_(self) -> str:
        if self._handle is None:
            return html.escape(repr(self))
        about = facts(f"Planner {self.task}", {name: typed(value) for name, value in self.settings.items()})
        try:
            return self.candidates().svg() + about
        except ArgumentError:  # no decision yet
            return about

    def snapshot(self, env: int = 0) -> bytes:
        """What is remembered of one environment's episode."""
        self._check_env(env)
        buffer = ctypes.create_string_buffer(lib.mw_planner_snapshot_size(self._pointer))
        lib.mw_planner_snapshot(self._pointer, env, buffer)
        return buffer.raw

    def restore(self, snapshot: bytes, env: int = 0) -> None:
        """Play continues from a snapshot of any planner of the same bundle, whatever its settings."""
        self._check_env(env)
        call(lib.mw_planner_restore, self._pointer, env, bytes(snapshot), len(snapshot))


class Routes(Owner):
    """How the experts of a bundle's routed world model share the agents of one transition."""

    def __init__(self, bundle: Bundle) -> None:
        self._handle = Handle(lib.mw_routes_create, lib.mw_routes_free, opened(Bundle, bundle)._pointer,
                              needs=[bundle._handle])
        self.experts: int = lib.mw_routes_experts(self._pointer)
        self._sizes = (bundle.agents, bundle.obs_size, bundle.act_size)

    def look(self, obs: Any, action: Any) -> np.ndarray:
        """Masses [n][experts] of a joint action [n][d] (one-hot if discrete) at obs [n][o]: rows sum to 1."""
        n, o, d = self._sizes
        seen, done = taken("obs", obs, (n, o), FLOAT), taken("action", action, (n, d), FLOAT)
        mass = np.empty((n, self.experts), FLOAT)
        lib.mw_routes_look(self._pointer, seen.ctypes.data, done.ctypes.data, mass.ctypes.data)
        return mass
