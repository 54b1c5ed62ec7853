"""Bundles and planners: shapes, candidates, the same decisions as ever, refusals, no memory lost over many lives."""
import copy
import gc
import pickle

import numpy as np
import pytest

import mawam


def test_a_bundle_tells_about_itself(bundle):
    assert (bundle.task, bundle.agents, bundle.obs_size, bundle.act_size) == ("spread", 3, 18, 2)
    parts = {part.name: part for part in bundle.parts}
    assert set(parts) == {"flow", "inverse", "rwm"} and all(part.parameters > 0 for part in parts.values())
    assert parts["flow"].provenance
    assert set(bundle.plan) == {setting.name for setting in mawam.plan_settings()}
    assert "rwm" in mawam.scorers()
    with pytest.raises(mawam.FileError, match="nothing.safetensors"):
        mawam.Bundle("nothing.safetensors")
    with pytest.raises(mawam.ArgumentError, match="null character"):
        mawam.Bundle("nothing\0.safetensors")


def test_a_packed_bundle_says_so(bundle, tiny_path, tmp_path):
    small = tmp_path / "small.safetensors"
    mawam.pack_bundle(tiny_path, small, bits=6)
    packed = mawam.Bundle(small)
    assert packed.packed_bits == 6 and len(packed.packed_of) == 16
    assert bundle.packed_bits == 0 and bundle.packed_of == ""
    with pytest.raises(mawam.ArgumentError, match="packed before"):
        mawam.pack_bundle(small, tmp_path / "smaller.safetensors")


def test_decisions_have_the_shapes_of_their_observations(bundle):
    obs = mawam.Env("spread").reset(seed=1)[0]
    one = mawam.Planner(bundle, candidates=4, threads=1)
    first = one.act(obs)
    assert first.shape == (3, 2) and first.dtype == np.float32
    one.begin(0)
    assert np.array_equal(one.act(obs[None]), first[None])
    two = mawam.Planner(bundle, candidates=4, envs=2, threads=2)
    both = two.act(np.stack([obs, obs]))
    assert both.shape == (2, 3, 2) and np.array_equal(both[0], first)
    two.begin(1, env=0)
    half = two.act(np.stack([obs, obs]), active=[True, False])
    assert not half[1].any() and two.bytes > one.bytes


def test_candidates_are_arrays_of_their_own(bundle):
    env = mawam.Env("spread")
    obs = env.reset(seed=1)[0]
    planner = mawam.Planner(bundle, candidates=5, horizon=3, imagine=True, threads=1)
    with pytest.raises(mawam.ArgumentError, match="no decision"):
        planner.candidates()
    planner.act(obs)
    seen = planner.candidates()
    assert seen.scores.shape == (5,) and seen.actions.shape == (5, 3, 3, 2)
    assert seen.proposed.shape == (5, 4, 3, 18) and seen.imagined.shape == (5, 3, 3, 18)
    assert np.allclose(seen.proposed[:, 0], obs, atol=1e-4) and 0 <= seen.chosen < 5
    kept = seen.scores.copy()
    planner.act(env.step(env.script("random"))[0])
    assert np.array_equal(seen.scores, kept) and not np.array_equal(planner.candidates().scores, kept)


def test_a_closed_bundle_can_still_be_shown(tiny_path):
    bundle = mawam.Bundle(tiny_path)
    with bundle:
        assert "flow" in repr(bundle)
    assert repr(bundle) == "<Bundle spread-random: closed>"


def test_settings_are_the_bundles_unless_given(bundle):
    planner = mawam.Planner(bundle, candidates=3, warm_start=np.bool_(False), threads=1)
    assert planner.settings["candidates"] == 3 and planner.settings["warm_start"] is False
    assert isinstance(planner.settings["guidance"], float) and planner.settings["scorer"] == "rwm"
    assert mawam.Planner(bundle, threads=1, **planner.settings).settings == planner.settings
    assert planner.settings["guidance"] == bundle.plan["guidance"]
    with pytest.raises(mawam.ArgumentError, match="width"):
        mawam.Planner(bundle, width=3)
    with pytest.raises(mawam.ArgumentError, match="0"):
        mawam.Planner(bundle, candidates=0)


def test_a_deadline_is_told_about(bundle):
    planner = mawam.Planner(bundle, candidates=4, deadline=1000.0, threads=1)
    planner.act(mawam.Env("spread").reset(seed=1)[0])
    assert 1 <= planner.effort.candidates <= 4 and planner.effort.milliseconds > 0


def test_the_simulator_judges(bundle):
    env = mawam.Env("spread")
    obs = env.reset(seed=1)[0]
    planner = mawam.Planner(bundle, candidates=4, scorer="oracle", envs_played=[env], threads=1)
    del env  # the planner needs it longer
    gc.collect()
    assert np.isfinite(planner.act(obs)).all()
    with pytest.raises(mawam.ArgumentError, match="expected 1 environments; found 2"):
        mawam.Planner(bundle, scorer="oracle", envs_played=[mawam.Env("spread")] * 2)


def test_observations_are_converted(bundle):
    obs = np.stack([mawam.Env("spread").reset(seed=seed)[0] for seed in (1, 2)])
    found = []
    for same in (obs, obs.astype(np.float64), obs.tolist(), np.asfortranarray(obs),
                 np.repeat(obs, 2, axis=2)[:, :, ::2]):
        found.append(mawam.Planner(bundle, candidates=2, envs=2, threads=1).act(same))
    assert all(np.array_equal(found[0], other) for other in found)
    one = mawam.Planner(bundle, candidates=2, threads=1)
    assert one.act(obs[0].tolist()).shape == (3, 2)
    battle = mawam.Bundle("3m-medium")
    env = mawam.Env("3m")
    seen, infos = env.reset(seed=1)
    masks = infos["action_mask"], infos["action_mask"].astype(bool), infos["action_mask"].tolist()
    found = [mawam.Planner(battle, candidates=2, threads=1).act(seen, mask) for mask in masks]
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])


def test_wrong_arrays_are_refused_with_both_shapes(bundle):
    planner = mawam.Planner(bundle, envs=2, threads=1)
    obs = np.zeros((2, 3, 18), np.float32)
    for bad in (obs[:1], obs[:, :, :17], obs[:, :, :17].tolist(), obs.astype(str), None):
        with pytest.raises(mawam.ArgumentError, match=r"obs: expected .* float32 array of shape \(2, 3, 18\); found"):
            planner.act(bad)
    with pytest.raises(mawam.ArgumentError, match=r"legal: expected .* uint8 array of shape \(2, 3, 2\); found float"):
        planner.act(obs, np.ones((2, 3, 2), np.float32))
    with pytest.raises(mawam.ArgumentError, match=r"active: .*\(2,\); found .*\(3,\)"):
        planner.act(obs, active=[1, 1, 1])
    for call in (lambda: planner.begin(0, env=2), lambda: planner.reward(0.0, env=-1), lambda: planner.candidates(2)):
        with pytest.raises(mawam.ArgumentError, match="env: expected 0 to 1"):
            call()
    with pytest.raises(mawam.Error, match="finite|nan"):
        planner.act(obs * np.nan)
    with pytest.raises(mawam.ArgumentError, match="found MaskedArray of float32"):
        planner.act(np.ma.array(obs))
    with pytest.raises(mawam.ArgumentError, match="expected a Bundle; found str"):
        mawam.Planner("tiny.safetensors")


def test_arrays_of_files_are_arrays(bundle, tmp_path):
    obs = mawam.Env("spread").reset(seed=1)[0]
    np.save(tmp_path / "obs.npy", obs)
    planner = mawam.Planner(bundle, candidates=2, threads=1)
    first = planner.act(obs)
    planner.begin(0)
    assert np.array_equal(planner.act(np.load(tmp_path / "obs.npy", mmap_mode="r")), first)


def test_what_cannot_be_copied_says_so(bundle):
    for thing in (bundle, mawam.Env("spread"), mawam.VectorEnv("spread", 2)):
        for way in (pickle.dumps, copy.deepcopy):
            with pytest.raises(TypeError, match="cannot be pickled or deep-copied"):
                way(thing)


def test_a_planner_keeps_its_bundle(tiny_path):
    planner = mawam.Planner(mawam.Bundle(tiny_path), threads=1)
    gc.collect()
    assert planner.act(mawam.Env("spread").reset(seed=1)[0]).shape == (3, 2)


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def test_ten_thousand_lives_leave_no_memory_behind(bundle):
    obs = np.zeros((3, 18), np.float32)
    size = 0

    def lives(count):
        nonlocal size
        for i in range(count):
            planner = mawam.Planner(bundle, candidates=1, horizon=1, sampling_steps=1, threads=1)
            if i % 100 == 0:
                planner.act(obs)
                planner.candidates()
            size = planner.bytes
        gc.collect()
        return resident()

    lives(500)  # what is taken once
    before = lives(500)
    grown = lives(9000) - before
    assert grown < max(2 << 20, 20 * size), f"{grown} bytes more after 9,000 lives of {size} bytes"


def test_play_goes_on_from_a_snapshot_with_other_settings_too(bundle):
    env = mawam.Env("spread")
    planner = mawam.Planner(bundle, candidates=4, threads=1)
    obs = env.reset(seed=1)[0]
    for _ in range(3):
        obs = env.step(planner.act(obs))[0]
    kept = planner.snapshot()
    first = planner.act(obs)
    planner.restore(kept)
    assert np.array_equal(planner.act(obs), first)
    taken = planner.take((planner.candidates().chosen + 1) % 4)
    assert np.array_equal(taken, planner.candidates().actions[planner.candidates().chosen, 0])
    with pytest.raises(mawam.ArgumentError, match="had 0 to 3"):
        planner.take(4)
    mawam.Planner(bundle, candidates=2, horizon=2, threads=1).restore(kept)
    with pytest.raises(mawam.FormatError, match="bytes"):
        planner.restore(kept[:-1])


def test_things_are_moved_and_routes_sum_to_one(bundle):
    env = mawam.Env("spread")
    env.reset(seed=1)
    env.place("landmark", 1, [0.25, -0.5])
    assert np.allclose(env.observe()[:, 2:4] + env.observe()[:, 6:8], [0.25, -0.5])
    with pytest.raises(mawam.ArgumentError, match="no landmark 7"):
        env.place("landmark", 7, [0, 0])
    routes = mawam.Routes(bundle)
    mass = routes.look(env.observe(), np.zeros((3, 2), np.float32))
    assert mass.shape == (3, routes.experts) and np.allclose(mass.sum(axis=1), 1, atol=1e-5)
