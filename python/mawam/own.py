"""Evaluation in a world of one's own: any Python object with PettingZoo's parallel interface.

    possible_agents            names, in the order of the data's agents
    reset(seed=...)            observations by agent, or (observations, infos)
    step(actions by agent)     observations, rewards, terminations, truncations, infos, by agent

An observation is an array, or {"observation", "action_mask"}; the mask may also be in infos[agent]["action_mask"]. An
agent that has left keeps its last observation. `infos[agent]["won"]` counts as a victory. Where the world has draw(), a
list of mawam.Shape, or positions(), [k][2] or by agent, replays show it.
"""
import json
import math
import os
import time
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from mawam._library import ArgumentError, Assignments, MismatchError, PathLike, Settings, whole
from mawam.diagnosis import paired_compare
from mawam.env import episode_seeds
from mawam.evaluation import EPISODE, ArmResult, Outcome, arms as every_arm
from mawam.plan import Bundle, Planner
from mawam.progress import Listener, Shown

Arms = Union[str, Sequence[str], Mapping[str, Mapping[str, Any]], None]
_NONE = {"mean": math.nan, "low": math.nan, "high": math.nan}


class Moment(NamedTuple):
    """What all agents see, as the planner wants it."""

    obs: np.ndarray  # [n][o]
    legal: Optional[np.ndarray]  # [n][d]
    reward: float  # mean over agents of what led here
    over: bool
    won: bool


class OwnWorld:
    """A Python world as arrays of a bundle's sizes."""

    def __init__(self, env: Any, bundle: Bundle) -> None:
        """env: the world, or a class or function that makes one."""
        self.env = env() if isinstance(env, type) or (callable(env) and not hasattr(env, "reset")) else env
        for name in ("reset", "step"):
            if not callable(getattr(self.env, name, None)):
                raise ArgumentError(f"env: {type(self.env).__name__} has no {name}(); needed is PettingZoo's parallel "
                                    "interface: possible_agents, reset(seed=...), step(actions)")
        self.agents: List[Any] = list(getattr(self.env, "possible_agents", None) or getattr(self.env, "agents", []))
        if len(self.agents) != bundle.agents:
            raise MismatchError(f"env has {len(self.agents)} agents, and the bundle plans for {bundle.agents}")
        self.bundle = bundle
        self._obs = np.zeros((bundle.agents, bundle.obs_size), np.float32)
        self._live: List[Any] = []

    def reset(self, seed: int) -> Moment:
        """Starts an episode."""
        given = self.env.reset(seed=seed & 0x7FFFFFFF)  # what every generator takes
        seen, infos = given if isinstance(given, tuple) else (given, {})
        self._live = list(self.agents)
        return self._moment(seen, infos, {}, {}, {})

    def step(self, actions: np.ndarray) -> Moment:
        """One step with a joint action [n] or [n][d] of those who still play."""
        chosen = {agent: int(action) if self.bundle.discrete else np.array(action)
                  for agent, action in zip(self.agents, actions) if agent in self._live}
        seen, rewards, ended, cut, infos = self.env.step(chosen)
        return self._moment(seen, infos, rewards, ended, cut)

    def _moment(self, seen: Any, infos: Any, rewards: Any, ended: Any, cut: Any) -> Moment:
        legal = np.ones((len(self.agents), self.bundle.act_size), np.uint8) if self.bundle.discrete else None
        for row, agent in enumerate(self.agents):
            if agent not in seen:
                continue
            value, mask = seen[agent], (infos.get(agent) or {}).get("action_mask")
            if isinstance(value, Mapping):
                value, mask = value["observation"], value.get("action_mask", mask)
            flat = np.asarray(value, np.float32).ravel()
            if flat.size != self.bundle.obs_size:
                raise MismatchError(f"{agent} sees {flat.size} values, and the bundle plans with "
                                    f"{self.bundle.obs_size}")
            self._obs[row] = flat
            if mask is not None and legal is not None:
                legal[row] = np.asarray(mask, bool)
        self._live = [agent for agent in self._live if not (ended.get(agent) or cut.get(agent))]
        reward = sum(float(rewards.get(agent, 0)) for agent in self.agents) / len(self.agents)
        won = any((infos.get(agent) or {}).get("won") for agent in self.agents)
        return Moment(self._obs.copy(), legal, reward, not self._live, bool(won))


def _planner_arm(name: str) -> Dict[str, Any]:
    """An arm of mawam's own as keywords of Planner."""
    arm = {arm.name: arm for arm in every_arm()}.get(name)
    usable = [a.name for a in every_arm() if a.controller == "planner" and "oracle" not in a.settings]
    if arm is None or name not in usable:
        raise ArgumentError(f"arms: {name!r} cannot play in a world that only Python knows; these can: "
                            + ", ".join(usable))
    return dict(item.split("=", 1) for item in arm.settings.split())


def planners(bundle: Bundle, chosen: Arms, settings: Optional[Settings], threads: int) -> Dict[str, Planner]:
    """A planner for every arm; a mapping gives arms of one's own: their keywords of Planner."""
    given = dict(item.decode().split("=", 1) for item in Assignments(settings).items)
    if chosen is None:
        chosen = ["reactive", "random", "plan"]
    if isinstance(chosen, str):
        chosen = chosen.split(",")
    if not isinstance(chosen, Mapping):
        chosen = {name: _planner_arm(name) for name in chosen}
    return {name: Planner(bundle, threads=threads, **{**given, **keywords}) for name, keywords in chosen.items()}


class Played(NamedTuple):
    """One episode."""

    total: float
    length: int
    won: bool
    milliseconds: List[float]


def play(world: OwnWorld, planner: Planner, seeds: Tuple[int, int], limit: int = 0, watch: Any = None) -> Played:
    """An episode from its seeds of world and policy; at most `limit` steps, if it is not 0. watch(moment, planner) is
    called at the start and after every step."""
    moment, total, length, spent = world.reset(seeds[0]), 0.0, 0, []
    planner.begin(seeds[1])
    if watch:
        watch(moment, None)
    while not moment.over and not (limit and length >= limit):
        started = time.perf_counter()
        actions = planner.act(moment.obs, moment.legal)
        spent.append(1e3 * (time.perf_counter() - started))
        moment = world.step(actions)
        planner.reward(moment.reward)
        total, length = total + moment.reward, length + 1
        if watch:
            watch(moment, planner)
    return Played(total, length, moment.won, spent)


def _over_seeds(values: np.ndarray) -> float:
    return float(values.mean(axis=1).std(ddof=1)) if len(values) > 1 else math.nan


def _result(episodes: np.ndarray, spent: List[float], base: Optional[np.ndarray]) -> ArmResult:
    totals, wins = episodes["total"], episodes["won"].astype(float)
    gain, relative = dict(_NONE), math.nan
    if base is not None:
        gain = paired_compare(totals.ravel(), base.ravel()).difference
        relative = gain["mean"] / abs(base.mean()) if base.mean() else math.nan
    decision = {"p50": float(np.percentile(spent, 50)), "p95": float(np.percentile(spent, 95))}
    nothing = {"p50": math.nan, "p95": math.nan}
    return ArmResult(episodes=episodes, total=float(totals.mean()), total_std=_over_seeds(totals), score=math.nan,
                     score_std=math.nan, won=float(wins.mean()), won_std=_over_seeds(wins),
                     length=float(episodes["length"].mean()), gain=gain, relative_gain=relative, relative_low=math.nan,
                     relative_high=math.nan, oracle_share=math.nan, decision=decision, generation=nothing,
                     scoring=nothing, seconds=sum(spent) / 1e3, decisions=len(spent), distinct=math.nan)


class OwnEvaluation(Outcome):
    """How arms came out in a world of one's own. A decision's milliseconds include what Python adds."""

    def __init__(self, bundle: Bundle, first_seed: int, arms: Dict[str, ArmResult]) -> None:
        self.task, self.rules, self.quality, self.family = bundle.task, bundle.rules, bundle.quality, "own"
        self.packed_of, self.first_seed, self.arms = bundle.packed_of, first_seed, arms
        self.seeds, self.episodes = next(iter(arms.values())).episodes.shape

    def _counts_wins(self) -> bool:
        return any(arm.won > 0 for arm in self.arms.values())

    def as_dict(self) -> Dict[str, Any]:
        """All of it, every episode included."""
        def plain(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: plain(part) for key, part in value.items()}
            return None if isinstance(value, float) and not math.isfinite(value) else value

        arms = {}
        for name, arm in self.arms.items():
            row = plain({key: value for key, value in arm._asdict().items() if key != "episodes"})
            arms[name] = dict(row, episode_returns=arm.episodes["total"].tolist(),
                              episode_lengths=arm.episodes["length"].tolist())
        return {"task": self.task, "rules": self.rules, "quality": self.quality, "first_seed": self.first_seed,
                "seeds": self.seeds, "episodes": self.episodes, "command": "mawam.evaluate", "arms": arms}

    def save(self, path: PathLike) -> None:
        """As a JSON file, complete or not at all."""
        temporary = os.fspath(path) + ".tmp"
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(self.as_dict(), file, indent=1)
        os.replace(temporary, path)


def evaluate_own(bundle: Bundle, env: Any, chosen: Arms, seeds: int, episodes: int, first_seed: Optional[int],
                 settings: Optional[Settings], threads: int, progress: Listener) -> OwnEvaluation:
    """Every arm plays the same episodes; gains are paired against the arm reactive, or the first one."""
    if whole("seeds", seeds) < 1 or whole("episodes", episodes) < 1:
        raise ArgumentError("seeds and episodes must be at least 1")
    world, first = OwnWorld(env, bundle), 1000 if first_seed is None else first_seed
    found: Dict[str, ArmResult] = {}
    arms = planners(bundle, chosen, settings, threads)
    order = sorted(arms, key=lambda name: name != "reactive")  # what gains are measured against comes first
    words = f"playing {bundle.task}"
    with Shown(progress, words, lambda seen: (seen[1] / seen[2], f"{seen[0]}, {seen[1]}/{seen[2]}")) as shown:
        for name in order:
            table, spent = np.zeros((seeds, episodes), EPISODE), []
            for number in range(seeds * episodes):
                row, column = divmod(number, episodes)
                at = episode_seeds(first + row, column)
                one = play(world, arms[name], at, bundle.episode_limit)
                table[row, column] = (at[0], one.total, one.length, one.won)
                spent += one.milliseconds
                if shown.told:
                    shown.told((name, number + 1, seeds * episodes))
            found[name] = _result(table, spent, found[order[0]].episodes["total"] if found else None)
    return OwnEvaluation(bundle, first, {name: found[name] for name in arms})
