"""Datasets: arrays over the files' memory, made, written, exported and imported, and hostile arrays refused."""
import gc
import json
import shutil

import numpy as np
import pytest

import mawam


def test_settings_are_listed():
    assert len(mawam.settings()) == 30
    medium = mawam.setting("spread-medium")
    assert (medium.name, medium.task, medium.quality) == ("spread-medium", "spread", "medium") and medium.transitions
    with pytest.raises(mawam.ArgumentError, match="spread-poor"):
        mawam.setting("spread-poor")
    assert mawam.score("spread", 0.0) != mawam.score("spread", 100.0)


def test_columns_are_views(dataset):
    assert dataset.task == "spread" and not dataset.discrete and not dataset.imported
    assert dataset.obs.shape == (dataset.steps, 3, 18) and dataset.actions.shape == (dataset.steps, 3, 2)
    assert dataset.rewards.shape == (dataset.steps, 3) and dataset.legal is None
    assert dataset.lengths.sum() == dataset.steps == dataset.offsets[-1]
    assert not dataset.obs.flags.owndata and not dataset.obs.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        dataset.obs[0] = 0
    returns = np.add.reduceat(dataset.rewards.mean(axis=1), dataset.offsets[:-1])
    assert np.isclose(returns.mean(), dataset.returns.mean, rtol=1e-5)
    dataset.check()
    dataset.expect(mawam.Env("spread"))
    with pytest.raises(mawam.MismatchError, match="3m"):
        dataset.expect(mawam.Env("3m"))


def test_arrays_outlive_the_dataset(data_folder):
    dataset = mawam.Dataset(data_folder)
    obs, copy = dataset.obs, dataset.obs.copy()
    dataset.close()
    for look in (lambda: dataset[0], lambda: dataset.obs):
        with pytest.raises(mawam.ArgumentError, match="this Dataset is closed"):
            look()
    with pytest.raises(AttributeError, match="no 'nothing'"):
        dataset.nothing
    del dataset
    gc.collect()
    assert np.array_equal(obs, copy)


def test_columns_are_the_files(dataset, data_folder):
    files = {path.name: np.load(path) for path in data_folder.glob("*.npy")}
    assert any(values.shape[0] == dataset.steps and np.array_equal(values.reshape(dataset.rewards.shape),
                                                                   dataset.rewards)
               for values in files.values() if values.size == dataset.rewards.size)


def test_episodes_are_slices(dataset):
    assert len(dataset) == dataset.episodes
    last = dataset[-1]
    assert np.shares_memory(last.obs, dataset.obs) and len(last.obs) == dataset.lengths[-1]
    assert last.last_obs.shape == (3, 18) and last.outcome == mawam.ENDED_BY_LIMIT
    with pytest.raises(IndexError, match=f"not {len(dataset)}"):
        dataset[len(dataset)]


def test_reports(dataset, tmp_path):
    report = dataset.report(mawam.Env("spread"))
    assert "return" in report.text()
    assert isinstance(report.as_dict(), dict)
    report.save_picture(tmp_path / "returns.svg")
    assert (tmp_path / "returns.svg").read_text().startswith("<svg")


def test_making_tells_progress_and_is_refused_twice(tmp_path):
    told = []
    made = mawam.make_dataset("3m-random" if "3m-random" in {s.name for s in mawam.settings()} else "spread-random",
                              tmp_path / "data", transitions=300, threads=1, progress=told.append)
    assert made.steps >= 300 and told and told[-1][0] <= made.steps
    with pytest.raises(mawam.Error, match="data"):
        mawam.make_dataset("spread-random", tmp_path / "data", transitions=100)
    with pytest.raises(mawam.FileError):
        mawam.Dataset(tmp_path / "nothing")


def test_an_exception_in_progress_stops_the_work(tmp_path):
    def stop(_report):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        mawam.make_dataset("spread-random", tmp_path / "data", transitions=100000, progress=stop)
    assert not (tmp_path / "data").exists()


def test_export_and_import(dataset, tmp_path):
    assert "hdf5" in mawam.import_layouts()
    try:
        dataset.export(tmp_path / "episodes.hdf5")
    except mawam.UnsupportedError as error:
        pytest.skip(str(error))
    found = mawam.import_dataset("hdf5", tmp_path / "episodes.hdf5", tmp_path / "back", "spread",
                                 env=mawam.Env("spread"))
    back = mawam.Dataset(tmp_path / "back")
    assert found.steps == back.steps == dataset.steps and back.rules == dataset.rules
    assert np.array_equal(back.obs, dataset.obs) and np.array_equal(back.actions, dataset.actions)
    assert not found.changed
    with pytest.raises(mawam.Error, match="there already; 'overwrite' replaces it"):
        dataset.export(tmp_path / "episodes.hdf5")
    raw = bytearray((tmp_path / "episodes.hdf5").read_bytes())
    raw[raw.find(dataset[0].rewards.tobytes())] ^= 1  # the smallest change of one reward
    (tmp_path / "changed.hdf5").write_bytes(raw)
    found = mawam.import_dataset("hdf5", tmp_path / "changed.hdf5", tmp_path / "other", "spread")
    other = mawam.Dataset(tmp_path / "other")
    assert found.changed and other.rules == "hdf5-import" and other.imported and other.quality == ""


def test_rules_are_compared_and_declared(dataset, data_folder, tmp_path):
    dataset.check()
    with pytest.raises(mawam.ArgumentError, match="expected an Env; found VectorEnv"):
        dataset.expect(mawam.VectorEnv("spread", 1))
    report = dataset.replay(sample=50)
    assert report.compared >= report.agreed and report.values > 0 and report.outside == 0
    copy = tmp_path / "copy"
    shutil.copytree(data_folder, copy)
    mawam.declare_rules(copy, "spread-of-mine", note="by hand")
    assert (mawam.Dataset(copy).rules, mawam.Dataset(copy).note) == ("spread-of-mine", "by hand")


# ---- one's own episodes ----


def episodes(count=3, length=5, discrete=False, seed=0):
    random = np.random.default_rng(seed)
    for _ in range(count):
        actions = random.integers(0, 3, (length, 2)) if discrete else random.uniform(-1, 1, (length, 2, 1))
        yield mawam.Episode(random.normal(size=(length, 2, 4)), actions, random.normal(size=(length, 2)),
                            random.normal(size=(2, 4)))


@pytest.mark.parametrize("discrete", [False, True])
def test_own_episodes_come_back(tmp_path, discrete):
    given = list(episodes(discrete=discrete))
    dataset = mawam.write_dataset(tmp_path / "own", given, "boats", rules="boats-2", note="by hand",
                                  **({"act_size": 5} if discrete else {}))
    assert (dataset.task, dataset.rules, dataset.note) == ("boats", "boats-2", "by hand")
    assert (dataset.agents, dataset.obs_size, dataset.discrete) == (2, 4, discrete)
    assert dataset.act_size == (5 if discrete else 1) and dataset.episode_limit == 5
    dataset.check()
    for mine, theirs in zip(given, (dataset[i] for i in range(3))):
        assert np.array_equal(mine.obs.astype(np.float32), theirs.obs)
        assert np.array_equal(mine.actions.astype(theirs.actions.dtype), theirs.actions)
        assert np.array_equal(mine.rewards.astype(np.float32), theirs.rewards)
        assert np.array_equal(mine.last_obs.astype(np.float32), theirs.last_obs)


def test_shared_rewards_are_everybodys(tmp_path):
    one = next(episodes())
    dataset = mawam.write_dataset(tmp_path / "own", [one._replace(rewards=np.arange(5.0))], "boats")
    assert np.array_equal(dataset.rewards, np.repeat(np.arange(5.0, dtype=np.float32)[:, None], 2, axis=1))


def test_wrong_episodes_are_refused_and_leave_nothing(tmp_path):
    one, two = episodes(count=2)
    with pytest.raises(mawam.ArgumentError, match=r"rewards: expected .*\(5, 2\); found .*\(4, 2\)"):
        mawam.write_dataset(tmp_path / "own", [one, two._replace(rewards=two.rewards[:4])], "boats")
    with pytest.raises(mawam.Error, match="episode 1, step 0, agent 0, feature 0 is nan"):
        mawam.write_dataset(tmp_path / "own", [one, two._replace(obs=two.obs * np.nan)], "boats")
    with pytest.raises(mawam.ArgumentError, match="at least one"):
        mawam.write_dataset(tmp_path / "own", [], "boats")
    with pytest.raises(mawam.ArgumentError, match="outcome: 256 is out of range"):
        mawam.write_dataset(tmp_path / "own", [one._replace(outcome=256)], "boats")
    nothing = mawam.Episode(np.zeros((0, 2, 3)), np.zeros((0, 2), int), np.zeros(0))
    with pytest.raises(mawam.ArgumentError):
        mawam.write_dataset(tmp_path / "own", [nothing], "boats")
    assert list(tmp_path.iterdir()) == []


def test_numbers_that_are_none_are_named_whatever_the_actions(tmp_path):
    one, two = episodes(count=2)
    for wrong in (np.nan, np.inf):
        with pytest.raises(mawam.Error, match="episode 1, step 0, agent 0, .*" + str(wrong)):
            mawam.write_dataset(tmp_path / "own", [one, two._replace(actions=two.actions * wrong)], "boats")
    one, two = episodes(count=2, discrete=True)
    with pytest.raises(mawam.ArgumentError, match="actions: expected .*int32.*found float64"):
        mawam.write_dataset(tmp_path / "own", [one, two._replace(actions=two.actions * np.nan)], "boats")


def test_what_is_true_is_not_guessed(data_folder, tmp_path):
    own = tmp_path / "own"
    mawam.write_dataset(own, episodes(), "boats")
    with pytest.raises(mawam.ArgumentError, match="overwrite: expected True or False; found 'no'"):
        mawam.write_dataset(own, episodes(count=1), "boats", overwrite="no")
    with pytest.raises(mawam.ArgumentError, match="discrete: expected True or False; found 0"):
        mawam.DatasetWriter(own, "boats", agents=2, obs_size=4, act_size=1, discrete=0, episode_limit=9)
    with pytest.raises(mawam.ArgumentError, match="overwrite: expected True or False; found 'no'"):
        mawam.make_dataset("spread-random", own, transitions=100, overwrite="no")
    with pytest.raises(mawam.ArgumentError, match="quick: expected True or False; found 'no'"):
        mawam.train(mawam.Dataset(data_folder), tmp_path / "none.safetensors", quick="no")
    with pytest.raises(mawam.ArgumentError, match="overwrite: expected True or False; found 1"):
        mawam.report_study([own], tmp_path / "report", overwrite=1)
    assert mawam.Dataset(own).episodes == 3
    mawam.write_dataset(own, episodes(count=1), "boats", overwrite=np.bool_(True))
    assert mawam.Dataset(own).episodes == 1


def test_writer_says_who_acted(tmp_path):
    with mawam.DatasetWriter(tmp_path / "own", "boats", agents=2, obs_size=4, act_size=1, discrete=False,
                             episode_limit=9) as writer:
        for episode in episodes():
            writer.add(episode)
        assert writer.steps == 15
        writer.sources(("by hand", 0, 3))
    assert mawam.Dataset(tmp_path / "own").sources == [{"name": "by hand", "checksum": 0, "episodes": 3}]
    assert json.loads((tmp_path / "own" / "dataset.json").read_text())


def test_behaviours():
    path = mawam.behavior_path("spread-medium")
    about = mawam.describe_behavior(path)
    assert about.task == "spread" and about.count == len(about.steps) >= 1
    measure = mawam.play_behavior("spread", path, episodes=8, threads=1)
    assert measure.episodes == 8 and measure == mawam.play_behavior("spread", path, episodes=8, threads=2)
    assert mawam.learn_preset("spread")["hidden"] > 0


def test_learning_a_behaviour_can_be_stopped_and_continued(tmp_path):
    small = {"envs": 4, "horizon": 25, "steps": 400, "snapshots": 2, "hidden": 16, "critic_hidden": 16, "imitate": 0}
    told = []

    def stop(report):
        told.append(report)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mawam.learn_behavior("spread", tmp_path / "run", preset=small, threads=1, progress=stop)
    mawam.learn_behavior("spread", tmp_path / "run", preset=small, threads=1, resume=True, progress=told.append)
    assert told[0].iteration == 1 and told[-1].iteration == told[-1].iterations


@pytest.mark.parametrize("actions, remark", [
    (lambda length: np.full((length, 2, 1), 4.98), r"own: actions reach 4\.98; training takes real ones within"),
    (lambda length: np.tile(np.eye(3)[1], (length, 2, 1)), "own: every action is one-hot"),
])
def test_actions_that_training_does_not_take_are_told(tmp_path, actions, remark):
    given = [episode._replace(actions=actions(5)) for episode in episodes()]
    with pytest.warns(UserWarning, match=remark):
        dataset = mawam.write_dataset(tmp_path / "own", given, "boats")
    assert dataset.remark() in dataset.report().text()
    for name in ("obs", "actions", "rewards", "path_lengths"):  # bare columns, as others have them
        (tmp_path / "bare").mkdir(exist_ok=True)
        shutil.copy(tmp_path / "own" / f"{name}.npy", tmp_path / "bare")
    with pytest.warns(UserWarning, match=remark.replace("own", "imported")):
        mawam.import_dataset("madiff", tmp_path / "bare", tmp_path / "imported", "boats")
