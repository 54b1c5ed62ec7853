"""Worlds, judges and proposers that only Python knows."""
import json
import re

import numpy as np
import pytest

import mawam
from mawam import own


class Spread:
    """Our own task behind PettingZoo's interface and nothing else, so that results can be compared."""

    def __init__(self, task="spread"):
        self.inside = mawam.parallel_env(task)
        self.possible_agents = self.inside.possible_agents

    def reset(self, seed=None):
        return self.inside.reset(seed=seed)

    def step(self, actions):
        return self.inside.step(actions)

    def positions(self):
        return self.inside.env.places(self.inside.env.observe())


def few(bundle, **others):
    return mawam.evaluate(bundle, env=Spread, seeds=2, episodes=4, threads=1, settings={"candidates": 3}, **others)


def test_arms_play_the_same_episodes(bundle, tmp_path):
    told = []
    found = few(bundle, progress=told.append)
    assert list(found.arms) == ["reactive", "random", "plan"] and told[-1] == ("plan", 8, 8)
    plan, base = found.arms["plan"], found.arms["reactive"]
    assert np.array_equal(plan.episodes["world"], base.episodes["world"]) and plan.episodes.shape == (2, 4)
    difference = (plan.episodes["total"] - base.episodes["total"]).mean()
    assert plan.gain["mean"] == pytest.approx(difference) and plan.gain["low"] <= difference <= plan.gain["high"]
    assert np.isnan(base.gain["mean"]) and plan.length == 25 and plan.decisions == 8 * 25
    assert "plan" in str(found) and "<table" in found._repr_html_() and "spread" in repr(found)
    found.save(tmp_path / "own.json")
    assert json.loads((tmp_path / "own.json").read_text())["arms"]["plan"]["gain"]["mean"] == pytest.approx(difference)
    again = few(bundle)
    assert np.array_equal(again.arms["plan"].episodes["total"], plan.episodes["total"])


def test_play_is_that_of_the_same_world_inside(bundle):
    """Same seeds, same planner: the same return to the bit as Env gives."""
    found = few(bundle).arms["plan"].episodes
    env, planner = mawam.Env("spread"), mawam.Planner(bundle, candidates=3, threads=1)
    world, policy = mawam.episode_seeds(1000, 0)
    obs, _ = env.reset(seed=world & 0x7FFFFFFF)
    planner.begin(policy)
    total, over = 0.0, False
    while not over:
        obs, rewards, terminated, truncated, _ = env.step(planner.act(obs))
        planner.reward(rewards.mean())
        total, over = total + sum(map(float, rewards)) / 3, terminated or truncated
    assert found["total"][0, 0] == total


def test_masks_and_victories(bundle):
    battle = mawam.Bundle("3m-medium")
    found = mawam.evaluate(battle, env=lambda: Spread("3m"), arms="reactive,plan", seeds=1, episodes=3, threads=1,
                           settings={"candidates": 2})
    won = found.arms["plan"].episodes["won"]
    assert won.dtype == bool and found.arms["plan"].won == won.mean()


def test_a_robots_loop_in_time(bundle):
    """A world that mawam does not know, a decision within its deadline every step."""
    found = mawam.evaluate(bundle, env=Spread, seeds=1, episodes=2, threads=1, arms={"robot": {"deadline": 1000.0}})
    assert found.arms["robot"].decision["p95"] < 1000 and found.arms["robot"].length == 25


def test_arms_of_ones_own(bundle):
    found = few(bundle, arms={"reactive": {"choice": "first"}, "wide": {"candidates": 6},
                              "critic": {"scorer": lambda obs, actions: -np.abs(actions).sum(axis=(1, 2, 3))}})
    assert list(found.arms) == ["reactive", "wide", "critic"]
    with pytest.raises(mawam.ArgumentError, match="'oracle' cannot play .* these can: reactive, random, plan"):
        few(bundle, arms="oracle")


def test_worlds_that_do_not_fit_are_refused(bundle):
    with pytest.raises(mawam.ArgumentError, match=r"env: object has no reset\(\)"):
        mawam.evaluate(bundle, env=object())
    with pytest.raises(mawam.MismatchError, match="env has 8 agents, and the bundle plans for 3"):
        mawam.evaluate(bundle, env=lambda: Spread("8m"))
    with pytest.raises(mawam.MismatchError, match="agent_0 sees [0-9]+ values, and the bundle plans with 18"):
        mawam.evaluate(bundle, env=lambda: Spread("3m"))


def test_agents_may_leave_early(bundle):
    class Leaving(Spread):
        def reset(self, seed=None):
            self.left = set()
            return super().reset(seed)

        def step(self, actions):
            assert set(actions) == set(self.possible_agents) - self.left
            full = {agent: actions.get(agent, np.zeros(2, np.float32)) for agent in self.possible_agents}
            seen, rewards, ended, cut, infos = super().step(full)
            gone, self.left = set(self.left), self.left | {"agent_1"}
            ended = dict(ended, agent_1=True)
            return tuple({name: value for name, value in part.items() if name not in gone}
                         for part in (seen, rewards, ended, cut, infos))

    found = mawam.evaluate(bundle, env=Leaving, arms="reactive", seeds=1, episodes=1, threads=1)
    assert found.arms["reactive"].length == 25


def test_replays(bundle, tmp_path):
    page = mawam.replay_page(bundle, tmp_path / "own.html", env=Spread(), seed=3, settings={"candidates": 3}, threads=1)
    text = (tmp_path / "own.html").read_text()
    films = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1))
    assert list(films) == ["plan", "reactive"] and len(films["plan"]) == 26
    frame = films["plan"][0]
    assert len(frame["shapes"]) == 3 and len(frame["scores"]) == 3 and 0 <= frame["chosen"] < 3
    assert films["plan"][0]["shapes"] == films["reactive"][0]["shapes"]  # the same start
    assert "<iframe" in page._repr_html_()
    with pytest.raises(mawam.ArgumentError, match="is there already"):
        mawam.replay_page(bundle, tmp_path / "own.html", env=Spread())


# ---- judges and proposers ----


def test_a_judge_in_python(bundle):
    seen = []

    def judge(obs, actions):
        seen.append((obs.shape, actions.shape))
        assert not actions.flags.writeable
        return -np.abs(actions - 0.3).sum(axis=(1, 2, 3))

    planner = mawam.Planner(bundle, envs=2, candidates=6, horizon=3, threads=1, scorer=judge, temperature=0, caution=5)
    obs = np.stack([mawam.Env("spread").reset(seed=seed)[0] for seed in (1, 2)])
    planner.act(obs)
    assert seen == [((12, 3, 18), (12, 3, 3, 2))]
    for env in range(2):
        found = planner.candidates(env)
        assert np.allclose(found.scores, -np.abs(found.actions - 0.3).sum(axis=(1, 2, 3)))
        assert found.chosen == np.argmax(found.scores)


def test_judges_by_name_are_settings(bundle):
    assert mawam.Planner(bundle, scorer="rwm", threads=1).settings["scorer"] == "rwm"
    with pytest.raises(mawam.ArgumentError, match="scorer: expected a function; found 3"):
        mawam.Planner(bundle, scorer=3)


def test_a_proposer_in_python(bundle):
    def proposer(obs, legal, keys):
        random = np.random.default_rng(keys)
        return np.clip(random.normal(size=(len(obs), 3, 2)) - obs[:, :, 2:4], -1, 1)

    keywords = dict(candidates=5, horizon=4, imagine=True, threads=1, temperature=0, action_offset=0, warm_start=False)
    env = mawam.Env("spread")
    obs = env.reset(seed=1)[0]
    planner = mawam.Planner(bundle, proposer=proposer, **keywords)
    action = planner.act(obs)
    found = planner.candidates()
    assert found.proposed is None and np.array_equal(found.actions[:, 0], found.actions[:, 3])
    assert np.array_equal(action, found.actions[found.chosen, 0]) and "<svg" in found.svg()
    assert np.array_equal(mawam.Planner(bundle, proposer=proposer, **keywords).act(obs), action)
    assert not np.array_equal(mawam.Planner(bundle, proposer=proposer, seed=1, **keywords).act(obs), action)


def test_discrete_proposals():
    bundle = mawam.Bundle("3m-medium")
    env = mawam.Env("3m")
    obs, infos = env.reset(seed=1)
    mask = infos["action_mask"]
    keywords = dict(candidates=4, horizon=2, threads=1, value_after=0)
    for proposer in (lambda obs, legal, keys: np.random.default_rng(keys).random(legal.shape),  # preferences
                     lambda obs, legal, keys: legal.argmax(axis=2),
                     lambda obs, legal, keys: np.repeat(legal.argmax(axis=2)[:, None], 2, axis=1)):
        planner = mawam.Planner(bundle, proposer=proposer, **keywords)
        action = planner.act(obs, mask)
        assert all(mask[agent, chosen] for agent, chosen in enumerate(action))
        assert (planner.candidates().actions.sum(axis=-1) == 1).all()
    with pytest.raises(mawam.ArgumentError, match="actions must be 0 to [0-9]+; found 99 to 99"):
        mawam.Planner(bundle, proposer=lambda obs, legal, keys: np.full((len(obs), 3), 99), **keywords).act(obs, mask)


def test_what_they_raise_comes_out(bundle):
    obs = mawam.Env("spread").reset(seed=1)[0]

    def broken(*_):
        raise KeyError("no such critic")

    for keywords in ({"scorer": broken}, {"proposer": broken}):
        planner = mawam.Planner(bundle, candidates=2, threads=1, **keywords)
        with pytest.raises(KeyError, match="no such critic"):
            planner.act(obs)
    with pytest.raises(KeyError, match="no such critic"):
        mawam.Planner(bundle, candidates=2, threads=1, deadline=100.0, scorer=broken)
    with pytest.raises(mawam.ArgumentError, match=r"scorer must return a score for each candidate, shape \(4,\); found "
                                                  r"float64 of shape \(2,\)"):
        mawam.Planner(bundle, candidates=4, threads=1, scorer=lambda obs, actions: np.zeros(2)).act(obs)
    with pytest.raises(mawam.ArgumentError, match=r"must return actions of shape \(2, 8, 3, 2\) or \(2, 3, 2\)"):
        mawam.Planner(bundle, candidates=2, horizon=8, threads=1, proposer=lambda *_: np.zeros(3)).act(obs)
    with pytest.raises(mawam.NumericError, match="candidate 0 in environment 0 is not finite"):
        mawam.Planner(bundle, candidates=2, threads=1, scorer=lambda obs, actions: np.full(2, np.nan)).act(obs)


def test_tensors_are_taken(bundle):
    class Tensor:
        """As PyTorch's look to us: an array only once it is detached and on the processor."""

        def __init__(self, values):
            self.values = values

        def detach(self):
            return self

        def cpu(self):
            return self.values

    planner = mawam.Planner(bundle, candidates=3, threads=1,
                            scorer=lambda obs, actions: Tensor(np.arange(3, dtype=np.float32)), temperature=0)
    planner.act(mawam.Env("spread").reset(seed=1)[0])
    assert planner.candidates().chosen == 2
    assert own.OwnWorld(Spread, bundle).agents == ["agent_0", "agent_1", "agent_2"]
