"""Training from Python: progress, logs as arrays, and interruptions of every kind that continue to the same bits."""
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from conftest import TINY

import mawam


def test_training_makes_a_bundle(dataset, tmp_path):
    told, needed = [], []
    training = mawam.train(dataset, tmp_path / "a.safetensors", settings=TINY, threads=1, progress=told.append,
                           begin=needed.append)
    assert len(needed) == 1 and needed[0].bytes > 0 and needed[0].operations > 0
    assert training.complete and not training.finished_before
    assert [part.name for part in training.parts] == ["flow", "inverse", "rwm"]
    assert all(part.trained and part.held for part in training.parts)
    assert {report.part for report in told} == {"flow", "inverse", "rwm"}
    assert told[-1].step == told[-1].steps == 30 and told[-1].done == pytest.approx(1)
    log = training.log
    assert set(log) == {"flow", "inverse", "rwm"}
    assert log["flow"]["step"].dtype == np.int64 and log["flow"]["step"][-1] == 30
    assert all(len(column) == len(log["flow"]["step"]) for column in log["flow"].values())
    assert training.bundle().task == "spread"


def test_settings_are_checked(dataset, tmp_path):
    with pytest.raises(mawam.ArgumentError, match="flow.width"):
        mawam.train(dataset, tmp_path / "a.safetensors", settings={"flow.width": 3})
    mawam.check_settings("spread", {"flow.dim": 32, "plan.warm_start": True})
    with pytest.raises(mawam.ArgumentError, match="16 to 1024"):
        mawam.check_settings("spread", ["flow.dim=1"])
    assert "flow.dim" in mawam.training_settings() and "mawam" in mawam.methods()
    with pytest.raises(mawam.ArgumentError, match="nothing"):
        mawam.train(dataset, tmp_path / "a.safetensors", only=["nothing"])


def test_an_exception_stops_and_resuming_gives_the_same_bits(dataset, tiny_path, tmp_path):
    def stop(report):
        if report.part == "inverse" and report.step == 10:
            raise RuntimeError("enough")

    path = tmp_path / "tiny.safetensors"
    with pytest.raises(RuntimeError, match="enough"):
        mawam.train(dataset, path, settings=TINY, threads=1, progress=stop)
    assert not path.exists() and (tmp_path / "tiny.train.safetensors").exists()
    training = mawam.train(dataset, path, settings=TINY, threads=2, resume=True)
    assert training.complete
    whole, resumed = mawam.Bundle(tiny_path), mawam.Bundle(path)
    obs = mawam.Env("spread").reset(seed=4)[0]
    assert np.array_equal(mawam.Planner(whole, threads=1).act(obs), mawam.Planner(resumed, threads=1).act(obs))


PROGRAM = """
import sys, mawam
settings = dict(item.split("=") for item in sys.argv[3:])
try:
    mawam.train(mawam.Dataset(sys.argv[1]), sys.argv[2], settings=settings, threads=1,
                progress=lambda report: report.step == 1 and print("started", flush=True))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_control_c_saves_and_ends(data_folder, tmp_path):
    settings = dict(TINY, **{"flow.mults": "1,1,1", "flow.steps": 100000})
    command = [sys.executable, "-c", PROGRAM, str(data_folder), str(tmp_path / "a.safetensors")]
    command += [f"{name}={value}" for name, value in settings.items()]
    # A script's background job has the signal ignored, and Python would heed that.
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    try:
        assert program.stdout.readline() == "started\n", program.stderr.read()
        time.sleep(0.2)
        program.send_signal(signal.SIGINT)
        out, err = program.communicate(timeout=60)
    finally:
        program.kill()
    assert "interrupted" in out and program.returncode == 0, err
    assert (tmp_path / "a.train.safetensors").exists()


def test_torn_and_foreign_logs(tmp_path):
    log = tmp_path / "a.jsonl"
    log.write_text('{"part": "flow", "step": 1, "loss": 2.5}\n{"part": "flow", "step": 2}\n{"part": "fl')
    found = mawam.training_log(tmp_path / "a.safetensors")["flow"]
    assert found["step"].tolist() == [1, 2] and np.isnan(found["loss"][1])
    log.write_text("hello\n")
    with pytest.raises(mawam.FormatError, match="line 1"):
        mawam.training_log(tmp_path / "a.safetensors")


def test_a_log_lies_beside_a_bundle_of_any_name(dataset, tmp_path):
    path = tmp_path / "my.bundle"
    mawam.train(dataset, path, settings={**TINY, "flow.steps": 2, "inverse.steps": 2, "rwm.steps": 2}, threads=1)
    assert "flow" in mawam.training_log(path)


def test_equal_trainings_have_equal_weights(dataset, tmp_path):
    """Their files differ in the seconds that they took, and their weights do not."""
    found = [mawam.train(dataset, tmp_path / f"{name}.safetensors", settings=TINY, seed=seed, threads=threads).bundle()
             for name, seed, threads in (("one", 3, 1), ("two", 3, 2), ("other", 4, 1))]
    assert found[0].weights == found[1].weights != found[2].weights and len(found[0].weights) == 16
