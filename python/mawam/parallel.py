"""A task as a parallel environment by PettingZoo's rules: dictionaries keyed by agents, who leave when all ends.

PettingZoo's own base class is used where it is installed, so that its wrappers accept the environment.
"""
import secrets
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from mawam._library import ArgumentError, truth
from mawam.env import Env, WorldOptions
from mawam.picture import picture
from mawam.spaces import Space, space_of_actions, space_of_observations, space_with_mask

try:
    from pettingzoo import ParallelEnv as _Base
except ImportError:

    class _Base:  # type: ignore[no-redef]
        """What PettingZoo's base class offers beyond the interface itself."""

        @property
        def num_agents(self) -> int:
            """How many are playing now."""
            return len(self.agents)  # type: ignore[attr-defined]

        @property
        def max_num_agents(self) -> int:
            """How many can play."""
            return len(self.possible_agents)  # type: ignore[attr-defined]

        @property
        def unwrapped(self) -> "_Base":
            """The environment without wrappers: itself."""
            return self


PerAgent = Dict[str, Any]


class ParallelEnv(_Base):
    """One world of a task. All agents act at once and leave together, when the episode terminates or is truncated.

    Where actions may be illegal (battles), an observation is {"observation", "action_mask"}, as masked learners and
    PettingZoo's own tests want it, and action_space(agent).sample() draws a legal action. flat=True: the observation
    alone. infos[agent] holds the mask either way, and "won" and "step".
    """

    metadata: Dict[str, Any] = {"render_modes": ["rgb_array"], "name": "mawam", "is_parallelizable": True,
                                "render_fps": 10}

    def __init__(self, task: str, render_mode: Optional[str] = None, world: Optional[WorldOptions] = None,
                 flat: bool = False) -> None:
        """render_mode: None or "rgb_array"."""
        if render_mode not in (None, "rgb_array"):
            raise ArgumentError(f"render_mode: expected None or 'rgb_array'; found {render_mode!r}")
        self.render_mode = render_mode
        self.env = Env(task, world)
        self.metadata = dict(type(self).metadata, name=f"mawam_{task}")
        self.possible_agents: List[str] = [f"agent_{i}" for i in range(self.env.info.agents)]
        self.agents: List[str] = []
        self.masked = self.env.info.discrete and not truth("flat", flat)  # observations hold the mask
        self.observation_spaces = {agent: self._space() for agent in self.possible_agents}
        self.action_spaces = {agent: space_of_actions(self.env.info) for agent in self.possible_agents}
        self.state_space = space_of_observations(self.env.features * self.env.info.agents)

    def _space(self) -> Space:
        plain = space_of_observations(self.env.features)
        return space_with_mask(plain, self.env.info.act_size) if self.masked else plain

    def __repr__(self) -> str:
        return f"<ParallelEnv {self.env.info.task}: {', '.join(self.possible_agents)}>"

    def observation_space(self, agent: str) -> Space:
        """Of one agent; always the same object."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Space:
        """Of one agent; always the same object."""
        return self.action_spaces[agent]

    def reset(self, seed: Optional[int] = None, options: Optional[Dict[str, Any]] = None) -> Tuple[PerAgent, PerAgent]:
        """Starts an episode: observations and infos of all agents. Without a seed another one every time."""
        obs, infos = self.env.reset(secrets.randbits(63) if seed is None else seed)
        self.agents = list(self.possible_agents)
        return self._seen(obs, infos)

    def step(self, actions: PerAgent) -> Tuple[PerAgent, PerAgent, PerAgent, PerAgent, PerAgent]:
        """One step of all who play: observations, rewards, terminations, truncations, infos. Nobody playing: five
        empty dictionaries."""
        if not self.agents:
            return {}, {}, {}, {}, {}
        if set(actions) != set(self.agents):
            raise ArgumentError(f"actions: expected those of {', '.join(self.agents)}; "
                                f"found those of {', '.join(map(str, actions)) or 'nobody'}")
        obs, rewards, terminated, truncated, infos = self.env.step(self._joint(actions))
        present = self.agents
        seen, told = self._seen(obs, infos)
        result = (seen, {agent: float(reward) for agent, reward in zip(present, rewards)},
                  dict.fromkeys(present, bool(terminated)), dict.fromkeys(present, bool(truncated)), told)
        if terminated or truncated:
            self.agents = []
        return result

    def _joint(self, actions: PerAgent) -> np.ndarray:
        return np.stack([np.asarray(actions[agent]) for agent in self.possible_agents])

    def _seen(self, obs: np.ndarray, infos: Dict[str, Any]) -> Tuple[PerAgent, PerAgent]:
        """Observations and infos of all agents, and what their action spaces draw from."""
        seen: PerAgent = dict(zip(self.possible_agents, obs))
        told: PerAgent = {agent: {"won": infos["won"], "step": infos["step"]} for agent in self.possible_agents}
        if "action_mask" in infos:
            for agent, mask in zip(self.possible_agents, infos["action_mask"].astype(np.int8)):
                told[agent]["action_mask"] = self.action_spaces[agent].legal = mask
                if self.masked:
                    seen[agent] = {"observation": seen[agent], "action_mask": mask}
        return seen, told

    def state(self) -> np.ndarray:
        """What all agents see together, as one row."""
        return self.env.observe().ravel()

    def render(self) -> Optional[np.ndarray]:
        """The picture of the present state as [height][width][3], if render_mode asks for pictures."""
        return picture(self.env.draw()) if self.render_mode else None

    def close(self) -> None:
        """Lets go of the world."""
        self.agents = []
        self.env.close()


def parallel_env(task: str, render_mode: Optional[str] = None, world: Optional[WorldOptions] = None,
                 flat: bool = False) -> ParallelEnv:
    """A task as a parallel environment by PettingZoo's rules."""
    return ParallelEnv(task, render_mode, world, flat)
