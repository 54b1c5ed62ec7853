"""The parallel environment by PettingZoo's documented rules: what its parallel_api_test and parallel_seed_test check,
written out, and those themselves where PettingZoo is installed."""
import weakref

import numpy as np
import pytest

import mawam

CYCLES = 200


@pytest.fixture(params=["spread", "3m", "tag", "5m_vs_6m"])
def env(request):
    return mawam.parallel_env(request.param)


def draw(env, obs, agent):
    """By the mask inside the observation and nothing else, as generic code does."""
    masked = isinstance(obs[agent], dict) and "action_mask" in obs[agent]
    return env.action_space(agent).sample(obs[agent]["action_mask"] if masked else None)


def sample(env, obs):
    return {agent: draw(env, obs, agent) for agent in env.agents}


def flat(seen):
    """The values of an observation of either form."""
    return np.concatenate([np.ravel(part) for part in seen.values()]) if isinstance(seen, dict) else np.ravel(seen)


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
        observations, rewards, terminations, truncations, infos = env.step(sample(env, observations))
        assert set(observations) == set(rewards) == set(terminations) == set(truncations) == set(infos) == live
        for agent in live:
            assert agent not in has_finished
            seen = observations[agent]
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
            observations, rewards, *_, infos = env.step(sample(env, observations))
            seen += [observations, rewards]
        return seen

    for one, two in zip(episode(), episode()):
        for agent in one:
            assert np.array_equal(flat(one[agent]), flat(two[agent]))
    first = env.reset()[0][env.possible_agents[0]]
    assert not np.array_equal(flat(first), flat(env.reset()[0][env.possible_agents[0]]))


def test_spaces_of_two_worlds_draw_the_same(env):
    """And blindly: a space's own draw is legal, and so is the observation that its space draws."""
    other = mawam.parallel_env(env.env.info.task)
    for one in (env, other):
        one.reset(seed=42)
        for index, agent in enumerate(one.agents):
            one.action_space(agent).seed(42 + index)
            one.observation_space(agent).seed(42 + index)
    for agent in env.agents:
        drawn = env.observation_space(agent).sample()
        assert env.observation_space(agent).contains(drawn)
        assert np.array_equal(flat(drawn), flat(other.observation_space(agent).sample()))
    while env.agents:
        steps = [one.step({agent: one.action_space(agent).sample() for agent in one.agents}) for one in (env, other)]
        for agent, seen in steps[0][0].items():
            assert np.array_equal(flat(seen), flat(steps[1][0][agent])) and steps[0][1] == steps[1][1]


def test_masks_tell_legal_actions():
    env = mawam.parallel_env("3m")
    observations, infos = env.reset(seed=0)
    for agent in env.agents:
        mask = observations[agent]["action_mask"]
        assert mask.dtype == np.int8 and mask.shape == (env.action_space(agent).n,) and 0 < mask.sum() < mask.size
        assert np.array_equal(mask, infos[agent]["action_mask"]) and set(observations[agent]) == {"observation",
                                                                                                   "action_mask"}
    assert "action_mask" not in mawam.parallel_env("spread").reset(seed=0)[1]["agent_0"]
    illegal = int(np.flatnonzero(mask == 0)[0])
    with pytest.raises(mawam.ArgumentError, match="illegal|legal"):
        env.step(dict.fromkeys(env.agents, illegal))


def test_flat_observations_by_a_switch():
    env, plain = mawam.parallel_env("3m"), mawam.parallel_env("3m", flat=True)
    seen, found = env.reset(seed=3)[0]["agent_1"], plain.reset(seed=3)
    assert np.array_equal(seen["observation"], found[0]["agent_1"])
    assert plain.observation_space("agent_1").contains(found[0]["agent_1"])
    assert np.array_equal(seen["action_mask"], found[1]["agent_1"]["action_mask"])
    with pytest.raises(mawam.ArgumentError, match="flat: expected True or False"):
        mawam.parallel_env("3m", flat="yes")


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
    observations, _ = env.reset(seed=0)
    actions = sample(env, observations)
    actions.pop("agent_0")
    with pytest.raises(mawam.ArgumentError, match="actions: expected those of agent_0, agent_1"):
        env.step(actions)


@pytest.mark.parametrize("task", mawam.tasks())
def test_passes_pettingzoos_own_tests(task):
    test = pytest.importorskip("pettingzoo.test", reason="pettingzoo is not installed: its own tests are left out")
    test.parallel_api_test(mawam.parallel_env(task), num_cycles=CYCLES)
    test.parallel_seed_test(lambda: mawam.parallel_env(task), num_cycles=3)
