"""Evaluation, diagnosis, replays, and the remaining reach of the library: CPU, bench, verification, study, messages."""
import json
import logging

import headers
import numpy as np
import pytest

import mawam

FEW = {"arms": ["plan", "reactive"], "seeds": 2, "episodes": 4, "threads": 1, "timed": 0}


def test_arms(bundle):
    listed = [arm.name for arm in mawam.arms()]
    assert listed[:3] == ["reactive", "random", "plan"] and set(mawam.arms_of(bundle)) <= set(listed)


def test_evaluation(bundle, tmp_path):
    told = []
    found = mawam.evaluate(bundle, settings={"candidates": 2}, progress=told.append, **FEW)
    assert set(found.arms) == {"plan", "reactive"} and "plan" in repr(found)
    plan = found.arms["plan"]
    assert plan.episodes.shape == (2, 4) and plan.episodes["total"].mean() == pytest.approx(plan.total)
    assert np.array_equal(plan.episodes["world"], found.arms["reactive"].episodes["world"])
    assert plan.gain["low"] < plan.gain["mean"] < plan.gain["high"]
    few = mawam.evaluate(bundle, settings={"candidates": 2}, **{**FEW, "episodes": 2}).arms["plan"]  # four in all
    assert np.isfinite(few.gain["mean"]) and np.isnan(few.gain["low"]) and np.isnan(few.gain["high"])
    assert {arm for arm, _, _ in told} == {"plan", "reactive"}
    found.save(tmp_path / "eval.json")
    assert json.loads((tmp_path / "eval.json").read_text())["task"] == found.as_dict()["task"] == "spread"
    with pytest.raises(mawam.ArgumentError, match="nobody"):
        mawam.evaluate(bundle, arms="nobody")


def test_an_evaluation_can_be_stopped(bundle):
    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mawam.evaluate(bundle, arms="reactive", seeds=50, episodes=50, envs=1, threads=1, timed=0, progress=stop)


def test_diagnosis(bundle, dataset, tmp_path):
    dataset.check()
    found = mawam.diagnose(bundle, dataset, anchors=4, planned=True, snippets=16, settings={"candidates": 3}, threads=1)
    assert found.drawn.realized.shape == (4, 3) and found.drawn.exact and not found.drawn.planned
    assert found.planned.planned and found.drawn.judges["rwm"].predicted.shape == (4, 3)
    assert len(found.snippets.realized) == len(found.snippets.predicted) > 0
    assert found.snippets.count == 16 and found.snippets.error.shape == (found.snippets.horizons,)
    assert len(found.snippets.ranking) == found.snippets.horizons
    assert found.snippets.scorer == "rwm" and found.snippets.held_out == found.as_dict()["snippets"]["held_out"]
    found.save(tmp_path / "diagnosis.json")
    assert json.loads((tmp_path / "diagnosis.json").read_text())["task"] == "spread"
    whole, part = found.as_dict(), mawam.diagnose(bundle, dataset, anchors=0, snippets=16, threads=1)
    assert "snippets" in part.as_dict() and set(part.as_dict()) < set(whole) and part.drawn is None
    with pytest.raises(mawam.ArgumentError, match="planned: expected True or False; found 'no'"):
        mawam.diagnose(bundle, anchors=0, planned="no")


def test_what_was_found_needs_no_open_bundle(tiny_path, dataset):
    dataset.check()
    with mawam.Bundle(tiny_path) as bundle:
        found = mawam.diagnose(bundle, anchors=2, settings={"candidates": 2}, threads=1)
        routing = mawam.Routing(bundle, dataset, transitions=64, consecutive=64, anchors=0, threads=1)
    kept = [mawam.Bundle(tiny_path) for _ in range(4)]  # whatever takes the place of what was freed
    assert found.as_dict()["task"] == routing.as_dict()["task"] == kept[0].task


def test_sweeps_and_costs(bundle, tmp_path):
    told = []
    found = mawam.sweep(bundle, "M=1,2", path=tmp_path / "sweep.json", seeds=1, episodes=1, threads=1, timed=0,
                        progress=told.append)
    assert isinstance(found, dict) and [report.value for report in told] == ["1", "2"]
    assert json.loads((tmp_path / "sweep.json").read_text())
    told.clear()
    cost = mawam.planning_cost([bundle], envs=1, horizon=2, repeats=1, warm_up=1, timed=1, threads=1,
                               progress=told.append)
    assert isinstance(cost, dict) and told[-1].done == told[-1].total == 1
    assert mawam.Planner(bundle, action_offset=0.0, warm_start=False, threads=1).as_drawn


def test_routing(bundle, dataset, tmp_path):
    found = mawam.Routing(bundle, dataset, transitions=64, consecutive=64, anchors=0, threads=1)
    assert found.text() and isinstance(found.as_dict(), dict)
    found.save(tmp_path / "one.json")
    found.save_page(tmp_path / "one.html")
    assert "<html" in (tmp_path / "one.html").read_text()
    over = mawam.routing_over_settings([tmp_path / "one.json"])
    assert over["settings"] == 1
    summary = mawam.paired_compare([1.0, 2.0, 3.0], [0.0, 2.5, 1.0])
    assert (summary.settings, summary.positive, summary.negative) == (3, 2, 1)
    assert summary.difference["mean"] == pytest.approx(2.5 / 3)


def test_replay_pages(bundle, tmp_path):
    mawam.replay_page(bundle, tmp_path / "planned.html", seed=3, settings={"candidates": 2}, threads=1)
    assert "<html" in (tmp_path / "planned.html").read_text()
    with pytest.raises(mawam.ArgumentError, match="planned.html' is there already; 'overwrite' replaces it"):
        mawam.replay_page(bundle, tmp_path / "planned.html")
    with pytest.raises(mawam.ArgumentError, match="overwrite: expected True or False; found 'no'"):
        mawam.replay_page(bundle, tmp_path / "planned.html", overwrite="no")
    with pytest.raises(mawam.ArgumentError, match="expected a text or a path; found 1"):
        mawam.replay_page(bundle, 1)
    mawam.replay_page(bundle, tmp_path / "planned.html", settings={"candidates": 2}, threads=1, overwrite=True)
    env = mawam.Env("spread")
    obs, _ = env.reset(seed=1)
    page = mawam.Replay(env, "by hand")
    page.frame(env)
    page.candidates([0.5, 1.0], 1, ["left", "right"])
    page.path(env.places(obs), candidate=1)
    page.horizon(8)
    page.frame(env, env.step(env.script("random"))[1])
    page.write(tmp_path / "own.html")
    assert "by hand" in (tmp_path / "own.html").read_text()
    page.beside(page, "once more")
    page.write(tmp_path / "own.svg")
    assert (tmp_path / "own.svg").read_text().count(">step ") == 10
    with pytest.raises(mawam.ArgumentError, match="labels: expected 2; found 1"):
        page.candidates([0.5, 1.0], 0, ["left"])
    with pytest.raises(mawam.ArgumentError, match=r"points: expected .*\(4, 2\); found .*\(4, 3\)"):
        page.path(np.zeros((4, 3)), 0)
    with pytest.raises(mawam.ArgumentError, match="chosen: 4294967296 is out of range"):
        page.candidates([0.5, 1.0], 1 << 32)


def test_machine():
    assert mawam.cpu().level and mawam.cpu().model
    assert mawam.status_name(1) == "argument"
    found = mawam.bench("spread", seconds=0.01, threads=1, items=1)
    assert len(found["items"]) == 1 and found["peak"] > 0


def test_files_that_come_with_mawam():
    assert str(headers.SOURCE) in mawam.data_folders()[0]
    assert mawam.find_data("behaviors", "spread-medium.safetensors").startswith(str(headers.SOURCE))
    with pytest.raises(mawam.Error, match="nothing.safetensors"):
        mawam.find_data("behaviors", "nothing.safetensors")
    assert mawam.Bundle("spread-medium").task == mawam.describe_behavior("spread-medium").task == "spread"
    with pytest.raises(mawam.FileError, match="'spread-best' is no file, and there is no bundles/spread-best"):
        mawam.Bundle("spread-best")


def test_verification():
    folder = headers.SOURCE / "tests" / "data" / "mpe"
    checks = mawam.verify("env", folder)
    assert checks and all(check.ok for check in checks)
    with pytest.raises(mawam.Error):
        mawam.verify("net", folder / "nothing")


def test_messages_reach_pythons_log(caplog, dataset, tmp_path):
    mawam.log_to_python()
    try:
        with caplog.at_level(logging.INFO, logger="mawam"):
            with pytest.raises(mawam.Error):
                mawam.Dataset(tmp_path)
    finally:
        mawam.log_to_python(False)


def test_a_study_of_nothing_reports_nothing(tmp_path):
    with pytest.raises(mawam.Error):
        mawam.report_study([tmp_path], tmp_path / "report")
    with pytest.raises(mawam.ArgumentError, match="folders: expected a list; found 'study' alone"):
        mawam.report_study("study", tmp_path / "report")
    with pytest.raises(mawam.ArgumentError, match="settings: expected a list"):
        mawam.run_study(tmp_path / "study", "spread-medium")
    with pytest.raises(mawam.ArgumentError, match="flow.width"):
        mawam.run_study(tmp_path / "study", ["spread-random"], training={"flow.width": 1})


def test_a_plan_and_the_state_of_a_study(tmp_path):
    plan = mawam.plan_study("st", ["tag-medium"], parts=1, program="m", seeds=2, training={"flow.dim": 16})
    rows = [line.split("\t") for line in plan.splitlines()[1:]]
    assert [row[0] for row in rows] == ["tag-medium/" + stage for stage in
                                        ("data", "train", "eval", "diagnose", "summary")]
    assert rows[1][-1] == "m study run --dir st --set flow.dim=16 --parts main --seeds 2 --threads 1 " \
                          "--task tag-medium/train"
    assert "st/tasks/tag-medium/train.done: st/tasks/tag-medium/data.done" in mawam.plan_study(
        "st", ["tag-medium"], format="make", parts=1)
    with pytest.raises(mawam.ArgumentError, match="known: lines, make, ninja, slurm"):
        mawam.plan_study("st", format="yaml")
    assert mawam.run_study(tmp_path, ["spread-random"], task="spread-random/data", transitions=200) == 0
    status = mawam.study_status(tmp_path, ["spread-random"], parts=1, transitions=200)
    assert (status["done"], status["waiting"]) == (1, 4)
    assert status["tasks"][0] == {"task": "spread-random/data", "state": "done",
                                  "expected": status["tasks"][0]["expected"]}
