"""The parallel environment by PettingZoo's documented rules: what its parallel_api_test checks, written out."""
import weakref

import numpy as np
import pytest

import mawam

CYCLES = 200


@pytest.fixture(params=["spread", "3m", "tag"])
def env(request):
    return mawam.parallel_env(request.param)


def sample(env, infos):
    return {agent: env.action_space(agent).sample(infos[agent].get("action_mask")) for agent in env.agents}


def test_says_who_may_play(env):
    assert isinstance(env.possible_agents, list) and len(set(env.possible_agents)) == len(env.possible_agents)
    assert env.agents == [] and env.max_num_agents == len(env.possible_agents)
    assert env.unwrapped is env
    assert isinstance(env.metadata, dict) and env.metadata["name"] and "render_modes" in env.metadata


def test_spaces_are_the_same_objects_every_time(env):
    env.reset(seed=0)
    for agent in env.possible_agents:
        assert env.observation_space(agent) is env.observation_space(agent)
        assert env.action_space(agent) is env.action_space(agent)
        assert env.observation_space(agent) is env.observation_spaces[agent]


def test_goes_with_its_last_reference():
    env = mawam.parallel_env("spread")
    env.observation_space("agent_0"), env.action_space("agent_0")
    gone = weakref.ref(env)
    del env
    assert gone() is None


def test_follows_the_cycle(env):
    observations, infos = env.reset(seed=1)
    assert set(observations) == set(infos) == set(env.agents) == set(env.possible_agents)
    has_finished = set()
    for _ in range(CYCLES):
        if not env.agents:
            break
        assert env.num_agents == len(env.agents)
        live = set(env.agents)
        observations, rewards, terminations, truncations, infos = env.step(sample(env, infos))
        assert set(observations) == set(rewards) == set(terminations) == set(truncations) == set(infos) == live
        for agent in live:
            assert agent not in has_finished
            seen = observations[agent]
            assert isinstance(seen, np.ndarray) and seen.shape == env.observation_space(agent).shape
            assert env.observation_space(agent).contains(seen)
            assert isinstance(rewards[agent], float) and isinstance(infos[agent], dict)
            assert isinstance(terminations[agent], bool) and isinstance(truncations[agent], bool)
            if terminations[agent] or truncations[agent]:
                has_finished.add(agent)
        assert set(env.agents) == live - has_finished
    assert has_finished == set(env.possible_agents) and env.agents == []
    assert env.step({}) == ({}, {}, {}, {}, {})


def test_seeds_repeat_episodes(env):
    def episode():
        observations, infos = env.reset(seed=3)
        seen = [observations]
        for agent in env.possible_agents:
            env.action_space(agent).seed(11)
        while env.agents:
            observations, rewards, *_, infos = env.step(sample(env, infos))
            seen += [observations, rewards]
        return seen

    for one, two in zip(episode(), episode()):
        for agent in one:
            assert np.array_equal(one[agent], two[agent])
    first = env.reset()[0][env.possible_agents[0]]
    assert not np.array_equal(first, env.reset()[0][env.possible_agents[0]])


def test_masks_tell_legal_actions():
    env = mawam.parallel_env("3m")
    observations, infos = env.reset(seed=0)
    for agent in env.agents:
        mask = infos[agent]["action_mask"]
        assert mask.dtype == np.int8 and mask.shape == (env.action_space(agent).n,) and mask.any()
    assert "action_mask" not in mawam.parallel_env("spread").reset(seed=0)[1]["agent_0"]


def test_state_picture_and_end():
    env = mawam.parallel_env("spread", render_mode="rgb_array")
    env.reset(seed=0)
    assert env.state().shape == env.state_space.shape and env.state_space.contains(env.state())
    assert env.render().shape == (256, 256, 3) and env.render().dtype == np.uint8
    assert mawam.parallel_env("spread").render() is None
    env.close()
    assert env.agents == []
    with pytest.raises(mawam.ArgumentError, match="render_mode"):
        mawam.parallel_env("spread", render_mode="human")


def test_actions_of_the_wrong_agents_are_refused(env):
    _, infos = env.reset(seed=0)
    actions = sample(env, infos)
    actions.pop("agent_0")
    with pytest.raises(mawam.ArgumentError, match="actions: expected those of agent_0, agent_1"):
        env.step(actions)


def test_passes_pettingzoos_own_test(env):
    test = pytest.importorskip("pettingzoo.test", reason="pettingzoo is not installed: its own test is left out")
    test.parallel_api_test(env, num_cycles=CYCLES)
