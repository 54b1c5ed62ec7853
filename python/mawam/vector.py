"""Many environments of one task stepped as one batch, in the manner of gymnasium's vector environments.

All arrays belong to the object and are written in place by every step: nothing is copied. Keep what you need longer.
"""
import ctypes
from typing import Any, Dict, Optional, Sequence, Tuple, Union

import numpy as np

from mawam import _abi
from mawam._arrays import address, lent, taken
from mawam._library import ArgumentError, Handle, Owner, call, encode, failure, lib, prepared, truth, whole
from mawam.env import BYTE, FLOAT, OUTCOME, Env, EnvInfo, WorldOptions, env_info, world_pointer
from mawam.spaces import Space, batched_space, space_of_actions, space_of_observations

_SEED = np.dtype(np.uint64)
Step = Tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, Dict[str, np.ndarray]]


def _closed(*_: Any) -> int:
    raise ArgumentError("this VectorEnv is closed")


class VectorEnv(Owner):
    """`num_envs` environments over threads. A finished one starts its next episode in the same step (autoreset); its
    last observation is then in infos["final_obs"], where infos["final"] [E] is true.

    Arrays, with E environments: obs [E][n][o], rewards [E][n], terminated [E], truncated [E], and in the infos
    "won" [E], "step" [E] and, where actions are discrete, "action_mask" [E][n][d].
    """

    def __init__(self, task: str, num_envs: int, threads: int = 0, world: Optional[WorldOptions] = None,
                 autoreset: bool = True) -> None:
        """threads 0: one per core; no result depends on it."""
        self._handle = Handle(lib.mw_env_batch_create, lib.mw_env_batch_free, encode(task), world_pointer(world),
                              whole("num_envs", num_envs, ctypes.c_int), whole("threads", threads, ctypes.c_int))
        self.info: EnvInfo = env_info(lib.mw_env_batch_get(self._pointer, 0))
        self.num_envs, self.autoreset = num_envs, truth("autoreset", autoreset)
        self.metadata = {"autoreset_mode": "SameStep" if autoreset else "Disabled"}
        info = self.info
        self.obs = np.zeros((num_envs, info.agents, info.obs_size), FLOAT)
        self.rewards = np.zeros((num_envs, info.agents), FLOAT)
        self.legal = np.ones((num_envs, info.agents, info.act_size), BYTE) if info.discrete else None
        self.outcomes = np.zeros(num_envs, OUTCOME)
        self.last_obs = np.zeros_like(self.obs)  # of the episodes that ended
        self.seeds = np.arange(num_envs, dtype=_SEED)  # of the present episodes
        self._infos: Dict[str, np.ndarray] = {"won": self.outcomes["won"], "step": self.outcomes["step"]}
        if self.legal is not None:
            self._infos["action_mask"] = self.legal
        self.terminated, self.truncated = self.outcomes["terminated"], self.outcomes["truncated"]
        self._result: Step = (self.obs, self.rewards, self.terminated, self.truncated, self._infos)
        self._prepare()
        self.reset(seed=0)

    def _prepare(self) -> None:
        """What is the same in every step: the struct of all arrays. Only the actions' address changes."""
        def at(array: Optional[np.ndarray]) -> Optional[int]:
            return None if array is None else array.ctypes.data

        self._action_shape = (self.num_envs,) + self.info.action_shape
        self._action_type = self.info.action_type
        self._discrete = self.info.discrete
        self._actions: Optional[np.ndarray] = None  # that the struct points to
        self._buffers = (self.obs, self.rewards, self.legal, self.outcomes, self.last_obs, self.seeds)  # the others
        self._arrays = _abi.STRUCT["mw_env_batch_arrays"](
            rewards=at(self.rewards), outcomes=at(self.outcomes), obs=at(self.obs), legal=at(self.legal),
            last_obs=at(self.last_obs), seeds=at(self.seeds) if self.autoreset else None)
        self._action = self._arrays.action  # a view into it
        self._error = _abi.STRUCT["mw_error"]()
        self._advance = prepared("mw_env_batch_advance")
        self._arguments = (ctypes.c_void_p(self._pointer), ctypes.byref(self._arrays), ctypes.byref(self._error))

    def __repr__(self) -> str:
        return f"<VectorEnv {self.info.task}: {self.num_envs} environments{', closed' * (self._handle is None)}>"

    def close(self) -> None:
        """Lets go of the environments; the arrays stay."""
        super().close()
        self._advance = _closed

    @property
    def single_observation_space(self) -> Space:
        """Of all agents of one environment."""
        return space_of_observations(self.env(0).features, self.info.agents)

    @property
    def single_action_space(self) -> Space:
        return space_of_actions(self.info, self.info.agents)

    @property
    def observation_space(self) -> Space:
        return batched_space(self.single_observation_space, self.num_envs)

    @property
    def action_space(self) -> Space:
        return batched_space(self.single_action_space, self.num_envs)

    def env(self, index: int) -> Env:
        """One of the environments, for pictures and snapshots. It belongs to the batch."""
        batch = self._pointer
        pointer = lib.mw_env_batch_get(batch, whole("index", index, ctypes.c_int))
        if not pointer:
            raise ArgumentError(f"there are environments 0 to {self.num_envs - 1}, not {index}")
        return Env._of(Handle.borrow(pointer, batch.handle))

    def reset(self, *, seed: Union[int, Sequence[int], None] = None,
              options: Optional[Dict[str, Any]] = None) -> Tuple[np.ndarray, Dict[str, np.ndarray]]:
        """Starts an episode everywhere, or where options["reset_mask"] [E] is true: seeds [E], or the first of E in a
        row; None goes on from the present ones."""
        if seed is None:
            seeds = self.seeds + _SEED.type(self.num_envs)
        elif isinstance(seed, (int, np.integer)):
            seeds = np.arange(self.num_envs, dtype=_SEED) + _SEED.type(whole("seed", seed))
        else:
            seeds = taken("seed", seed, (self.num_envs,), _SEED)
        mask = (options or {}).get("reset_mask", np.ones(self.num_envs, bool))
        chosen = taken("reset_mask", mask, (self.num_envs,), BYTE)
        np.copyto(self.seeds, seeds, where=chosen != 0)
        self.outcomes[chosen != 0] = 0
        lib.mw_env_batch_reset(self._pointer, self.seeds.ctypes.data, chosen.ctypes.data,
                               self._arrays.obs, self._arrays.legal)
        return self.obs, self._infos

    def _point(self, actions: np.ndarray) -> None:
        place, actions = lent("actions", actions, self._action_shape, self._action_type)
        if self._discrete:
            self._action.index = place
        else:
            self._action.real = place
        self._actions = actions

    def step(self, actions: np.ndarray) -> Step:
        """One step of all with actions [E][n] or [E][n][d]: obs, rewards, terminated, truncated,
        infos. An array that is filled anew for every step, int32 or float32, is checked once."""
        if actions is not self._actions:
            self._point(actions)
        handle = self._handle  # held until the call is over
        status = self._advance(*self._arguments) if handle else _closed()
        if status:
            raise failure(status, self._error)
        if self._arrays.ended and self.autoreset:
            ended = np.logical_or(self.terminated, self.truncated)
            return self._result[:4] + (dict(self._infos, final_obs=self.last_obs, final=ended),)
        return self._result

    def script(self, script: str, seeds: Optional[np.ndarray] = None, out: Optional[np.ndarray] = None) -> np.ndarray:
        """The joint actions of a scripted policy in all environments; seeds [E], else the episodes' own."""
        actions = np.empty(self._action_shape, self._action_type) if out is None else out
        place = address("out", actions, self._action_shape, self._action_type)
        if not actions.flags.writeable:
            raise ArgumentError("out: expected an array that can be written; found a read-only one")
        chosen = self.seeds if seeds is None else taken("seeds", seeds, (self.num_envs,), _SEED)
        real, index = (None, place) if self._discrete else (place, None)
        call(lib.mw_env_batch_script, self._pointer, encode(script), chosen.ctypes.data, real, index)
        return actions
