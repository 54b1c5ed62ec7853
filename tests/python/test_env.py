"""Environments, one and many: the same bits either way, no copies, and wrong arrays refused with both shapes."""
import numpy as np
import pytest

import mawam


@pytest.fixture(params=["spread", "3m"])
def task(request):
    return request.param


def test_tasks_and_scripts():
    assert {"spread", "tag", "3m"} <= set(mawam.tasks())
    assert "random" in mawam.scripts("spread")
    world, policy = mawam.episode_seeds(1000, 0)
    assert world != policy and (world, policy) == mawam.episode_seeds(1000, 0)


def test_families():
    mpe, battle, ant = mawam.families()
    assert (mpe.title, battle.counts_wins, ant.counts_wins, mpe.episodes) == ("MPE", True, False, 40)
    assert mawam.family("ant") == mawam.family_of("4ant") == ant and mawam.family_of("3m") == battle
    with pytest.raises(mawam.ArgumentError, match="no task '4m'"):
        mawam.family_of("4m")
    with pytest.raises(mawam.ArgumentError, match="no family '3m'"):
        mawam.family("3m")


def test_describes_itself(task):
    env = mawam.Env(task)
    assert env.info.task == env.task == task
    assert len(env.features) == env.obs_size and len(env.action_names) == env.act_size
    assert all(feature.name for feature in env.features)
    assert {"agent"} <= {shape.role for shape in env.draw()}
    with pytest.raises(AttributeError, match="no 'nothing'"):
        env.nothing


def test_an_episode_is_a_function_of_seed_and_actions(task):
    def play():
        env = mawam.Env(task)
        obs, infos = env.reset(seed=5)
        seen, over = [obs], False
        while not over:
            obs, rewards, terminated, truncated, infos = env.step(env.script("random", seed=9))
            seen += [obs, rewards]
            over = terminated or truncated
        assert infos["step"] > 1
        return np.concatenate([part.ravel() for part in seen])

    assert np.array_equal(play(), play())


def test_snapshots_continue(task):
    env, other = mawam.Env(task), mawam.Env(task)
    env.reset(seed=2)
    other.restore(env.snapshot())
    actions = env.script("random", 1)
    for mine, theirs in zip(env.step(actions)[:2], other.step(actions)[:2]):
        assert np.array_equal(mine, theirs)
    with pytest.raises(mawam.Error):
        other.restore(b"short")


def test_recalls_what_an_observation_tells():
    env, other = mawam.Env("spread"), mawam.Env("spread")
    obs, _ = env.reset(seed=2)
    other.recall(obs)
    assert np.allclose(other.observe(), obs, atol=1e-5)
    with pytest.raises(mawam.ArgumentError, match=r"obs: expected .*\(3, 18\); found .*\(2, 18\)"):
        other.recall(obs[:2])
    with pytest.raises(mawam.UnsupportedError):
        battle = mawam.Env("3m")
        battle.recall(battle.observe())


def test_wrong_actions_are_refused_with_both_shapes():
    env = mawam.Env("spread")
    with pytest.raises(mawam.ArgumentError, match=r"actions: expected .*float32 .*\(3, 2\); found .*\(2, 2\)"):
        env.step(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="action value 0 of agent 1 is 7"):
        env.step([[0, 0], [7, 0], [0, 0]])
    battle = mawam.Env("3m")
    with pytest.raises(mawam.ArgumentError, match="int32.*found float64"):
        battle.step([0.5, 1.0, 1.0])
    with pytest.raises(mawam.ArgumentError, match="actions: some values do not fit int32"):
        battle.step([1, 1, 1 << 40])
    with pytest.raises(mawam.ArgumentError, match="chess"):
        mawam.Env("chess")


def test_places_and_pictures():
    env = mawam.Env("spread")
    obs, _ = env.reset(1)
    assert env.places(obs).shape[1] == 2 and len(env.places(obs))
    with pytest.raises(mawam.ArgumentError, match=r"obs: expected.*\(3, 18\); found float32 of shape \(18,\)"):
        env.places(obs[0])
    pixels = mawam.picture(env.draw())
    assert pixels.shape == (256, 256, 3) and len(np.unique(pixels.reshape(-1, 3), axis=0)) >= 3


def test_world_options():
    still = mawam.Env("3m", mawam.WorldOptions(spawn_jitter=0.0))
    assert still.info.rules != mawam.Env("3m").info.rules
    with pytest.raises(mawam.Error, match="missing.safetensors"):
        mawam.Env("tag", mawam.WorldOptions(prey_file="missing.safetensors"))


def test_closed_objects_say_so():
    env = mawam.Env("spread")
    with env:
        env.reset()
    with pytest.raises(mawam.ArgumentError, match="this Env is closed"):
        env.reset()
    many = mawam.VectorEnv("spread", 2)
    actions = many.script("still")
    many.close()
    with pytest.raises(mawam.ArgumentError, match="this VectorEnv is closed"):
        many.step(actions)


def test_arrays_that_lie_askew_are_copied_or_refused():
    def askew(array):
        place = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
        place[:] = array
        assert place.flags.c_contiguous and not place.flags.aligned
        return place

    env, other = mawam.Env("spread"), mawam.Env("spread")
    actions = env.script("random", 3)
    assert np.array_equal(env.step(askew(actions))[0], other.step(actions)[0])
    assert mawam._arrays.taken("actions", askew(actions), actions.shape, actions.dtype).flags.aligned
    many = mawam.VectorEnv("spread", 2)
    wrong = askew(many.script("random"))
    with pytest.raises(mawam.ArgumentError, match="found float32 of shape .* that is not aligned"):
        many.script("random", out=wrong)
    right = mawam.VectorEnv("spread", 2)
    assert np.array_equal(many.step(wrong)[0], right.step(wrong.copy())[0])


def test_a_world_is_told_by_its_options():
    with pytest.raises(mawam.ArgumentError, match="world: expected WorldOptions; found dict"):
        mawam.Env("3m", {"spawn_jitter": 0.0})


# ---- batches ----


def test_a_batch_is_single_environments_that_start_again(task):
    many = mawam.VectorEnv(task, 3, threads=2)
    singles = [mawam.Env(task) for _ in range(3)]
    obs, infos = many.reset(seed=10)
    seeds = [10, 11, 12]
    for env, seed, row in zip(singles, seeds, obs):
        assert np.array_equal(env.reset(seed)[0], row)
    ends = 0
    for step in range(80):
        actions = many.script("random")
        obs, rewards, terminated, truncated, infos = many.step(actions)
        for i, env in enumerate(singles):
            seen, earned, ended, cut, info = env.step(actions[i])
            assert np.array_equal(earned, rewards[i]) and (ended, cut) == (terminated[i], truncated[i])
            assert info["step"] == infos["step"][i] and info["won"] == infos["won"][i]
            if ended or cut:
                ends += 1
                assert infos["final"][i] and np.array_equal(infos["final_obs"][i], seen)
                seeds[i] += 3
                seen, info = env.reset(seeds[i])
            assert np.array_equal(seen, obs[i])
            if "action_mask" in info:
                assert np.array_equal(info["action_mask"], infos["action_mask"][i])
    assert ends >= 3


def test_a_batch_copies_nothing(task):
    many = mawam.VectorEnv(task, 4)
    first, _ = many.reset(seed=0)
    actions = many.script("random")
    obs, rewards, terminated, truncated, infos = many.step(actions)
    assert obs is first is many.obs and rewards is many.rewards
    assert np.shares_memory(terminated, many.outcomes) and np.shares_memory(infos["step"], many.outcomes)


def test_a_batch_takes_seeds_and_masks():
    many = mawam.VectorEnv("spread", 3)
    obs, _ = many.reset(seed=[5, 5, 6])
    assert np.array_equal(obs[0], obs[1]) and not np.array_equal(obs[0], obs[2])
    before = obs.copy()
    obs, _ = many.reset(seed=[7, 7, 7], options={"reset_mask": [False, True, False]})
    assert np.array_equal(obs[0], before[0]) and not np.array_equal(obs[1], before[1])
    assert many.seeds.tolist() == [5, 7, 6]
    assert np.array_equal(many.env(1).observe(), obs[1])
    with pytest.raises(mawam.ArgumentError, match="0 to 2, not 3"):
        many.env(3)


def test_a_batch_without_autoreset_refuses_to_go_on():
    many = mawam.VectorEnv("spread", 2, autoreset=False)
    many.reset(seed=0)
    actions = many.script("still")
    for _ in range(many.info.episode_limit):
        _, _, _, truncated, infos = many.step(actions)
    assert truncated.all() and "final_obs" not in infos
    with pytest.raises(mawam.ArgumentError, match="environment 0: spread"):
        many.step(actions)


def test_a_batch_converts_small_arrays_and_refuses_wrong_ones():
    many, other = mawam.VectorEnv("spread", 4), mawam.VectorEnv("spread", 4)
    good = many.script("random")
    for same in (good.astype(np.float64), np.asfortranarray(good), good.tolist(), np.repeat(good, 2, axis=0)[::2]):
        assert np.array_equal(many.step(same)[0], other.step(good)[0])
    for bad, found in ((good[:, :2], r"found float32 of shape \(4, 2, 2\)"), (good.astype(str), "found <U")):
        with pytest.raises(mawam.ArgumentError, match=r"contiguous float32 array of shape \(4, 3, 2\); " + found):
            many.step(bad)
    good.flags.writeable = False
    many.step(good)


def test_large_arrays_are_not_converted():
    many = mawam.VectorEnv("spread", 30000)
    actions = many.script("random")
    with pytest.raises(mawam.ArgumentError, match="found float64 of shape"):
        many.step(actions.astype(np.float64))
    many.step(actions)


def test_spaces_hold_what_is_seen(task):
    many = mawam.VectorEnv(task, 2)
    obs, _ = many.reset(seed=1)
    actions = many.action_space.sample()
    assert actions.shape == many.script("random").shape and many.action_space.contains(many.script("random"))
    assert many.observation_space.shape == obs.shape
    assert many.single_observation_space.contains(obs[0])


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "a", None])
def test_seeds_are_whole_numbers_that_fit(seed):
    """ctypes would cut off what does not fit, and another episode would be played."""
    env = mawam.Env("spread")
    with pytest.raises(mawam.ArgumentError, match="seed"):
        env.reset(seed)


def test_other_numbers_fit_too():
    env, many = mawam.Env("spread"), mawam.VectorEnv("spread", 2)
    env.reset(1)
    for attempt in (lambda: env.place("agent", 2**32, [0, 0]), lambda: many.env(2**32), lambda: many.reset(seed=-1),
                    lambda: env.script("random", -1), lambda: mawam.episode_seeds(-1, 0),
                    lambda: mawam.VectorEnv("spread", 2**32 + 1)):
        with pytest.raises(mawam.ArgumentError):
            attempt()
    with pytest.raises(mawam.ArgumentError, match="diagnostics"):
        mawam.verify("nothing", ".")


def test_numbers_are_no_texts(tmp_path):
    """ctypes takes a number for an address."""
    env = mawam.Env("spread")
    for attempt in (lambda: mawam.Env("tag", mawam.WorldOptions(prey_file=True)), lambda: mawam.Env(3),
                    lambda: mawam.make_dataset("spread-medium", tmp_path / "d", behaviors=7),
                    lambda: mawam.Replay(env).beside(env, "x")):
        with pytest.raises(mawam.ArgumentError, match="expected a"):
            attempt()


def test_a_new_batch_plays_the_episodes_that_it_names():
    many = mawam.VectorEnv("spread", 3)
    first = many.obs.copy()
    obs, _ = many.reset(seed=0)
    assert np.array_equal(first, obs) and not np.array_equal(obs[0], obs[1])
    assert many.seeds.tolist() == [0, 1, 2]


def test_masks_and_bounds_of_spaces():
    many = mawam.VectorEnv("3m", 1)
    _, infos = many.reset(seed=1)
    mask = infos["action_mask"][0]
    for _ in range(20):
        drawn = many.single_action_space.sample(tuple(mask.astype(np.int8)))
        assert mask[np.arange(len(drawn)), drawn].all()
    assert mawam.spaces.Box(np.float32([0, -1]), np.float32([1, 1])) != mawam.spaces.Box(np.float32([-1, 0]),
                                                                                         np.float32([1, 1]))
