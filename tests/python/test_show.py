"""How objects show themselves: short reprs, the program's tables, HTML in notebooks, data frames, progress."""
import io
import os
import re
import struct
import subprocess
import sys
import xml.etree.ElementTree as xml

import numpy as np
import pytest

import mawam
from mawam import _events, _show, progress

FEW = {"arms": ["reactive", "plan"], "seeds": 2, "episodes": 5, "threads": 1, "timed": 0}


class Terminal(io.StringIO):
    def isatty(self):
        return True


def attach(monkeypatch):
    """A terminal in place of stderr; called in the test itself, after pytest has put its own there."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    return sys.stderr


def pictures(page):
    """The pictures in a page, each of which must be well-formed."""
    return [xml.fromstring(found) for found in re.findall(r"<svg.*?</svg>", page, re.S)]


def squeezed(words):
    return re.sub(r" +", " ", words)


def test_an_evaluation_prints_the_programs_table():
    bundle = mawam.Bundle("spread-medium")
    found = mawam.evaluate(bundle, **FEW)
    printed = str(found)
    gain = found.arms["plan"].gain
    assert f"{gain['mean']:+.4g} [{gain['low']:.4g}, {gain['high']:.4g}]" in printed
    assert "plan" in found._repr_html_() and "<table" in found._repr_html_()
    assert len(repr(found).splitlines()) == 1 and all(len(line) < 100 for line in printed.splitlines())
    program = os.path.join(os.path.dirname(mawam._library.library._name), "mawam")
    if not os.path.exists(program):
        pytest.skip("the program is not beside the library")
    command = "eval spread-medium --arms reactive,plan --seeds 2 --episodes 5 --threads 1 --timed 0 --quiet"
    theirs = subprocess.run([program] + command.split(), capture_output=True, text=True, check=True)
    for arm in ("reactive", "plan"):
        ours, line = [next(line for line in squeezed(words).splitlines() if line.startswith(arm + " "))
                      for words in (printed, theirs.stdout)]
        assert ours.split() == line.split()


def test_short_intervals_are_silent():
    found = mawam.evaluate(mawam.Bundle("spread-medium"), arms="reactive", seeds=1, episodes=1, timed=0, threads=1)
    assert "nan" not in str(found)


def test_reprs_have_one_to_three_lines(bundle, dataset):
    dataset.check()
    env = mawam.Env("spread")
    planner = mawam.Planner(bundle, candidates=3, threads=1)
    assert "3" in repr(planner) and "spread" in repr(planner)
    planner.act(env.reset(seed=1)[0])
    diagnosis = mawam.diagnose(bundle, dataset, anchors=2, snippets=16, settings={"candidates": 2}, threads=1)
    evaluation = mawam.evaluate(bundle, **FEW)
    things = [env, mawam.VectorEnv("spread", 2), mawam.parallel_env("3m"), dataset, dataset[0], dataset.report(),
              bundle, planner, planner.candidates(), diagnosis, diagnosis.drawn, diagnosis.snippets, evaluation,
              evaluation.arms["plan"], mawam.Replay(env), bundle.parts[0],
              mawam.Routing(bundle, dataset, transitions=64, consecutive=64, anchors=0, threads=1)]
    for thing in things:
        words = repr(thing)
        assert len(words) <= 330 and len(words.splitlines()) <= 3, type(thing)
        assert not re.search(r"object at 0x", words), words
    for owner in (env, bundle, planner, dataset):
        owner.close()
        assert "closed" in repr(owner)


def test_notebooks_see_tables_and_pictures(bundle, dataset, tmp_path):
    env = mawam.Env("spread")
    planner = mawam.Planner(bundle, candidates=5, horizon=3, imagine=True, threads=1)
    assert "candidates" in planner._repr_html_() and not pictures(planner._repr_html_())
    planner.act(env.reset(seed=1)[0])
    fan, = pictures(planner.candidates()._repr_html_())
    lines = [part for part in fan.iter() if part.tag.endswith("polyline")]
    assert len(lines) == 5 * 3  # candidates x agents
    assert sum(line.get("stroke") == _show.BLUE for line in lines) == 3  # the chosen one
    start = [line.get("points").split()[0] for line in lines]
    assert len(set(start)) == 3  # all begin where the agents are
    assert len(pictures(planner._repr_html_())) == 1
    shown, = pictures(dataset._repr_html_())
    assert sum(part.tag.endswith("rect") for part in shown.iter()) == 24
    assert "weights" in bundle._repr_html_() and "flow" in bundle._repr_html_()
    sweep = mawam.sweep(bundle, "M=1,2", seeds=1, episodes=2, threads=1, timed=0)
    assert len(pictures(sweep._repr_html_())) == 1 and "<table" in sweep._repr_html_()
    assert "candidates" in str(sweep) and len(repr(sweep).splitlines()) == 1
    page = mawam.Replay(env, "here")
    page.frame(env)
    assert "<iframe srcdoc=" in page._repr_html_()
    written = mawam.replay_page(bundle, tmp_path / "strip.svg", settings={"candidates": 2}, threads=1)
    assert written.path == str(tmp_path / "strip.svg") and xml.fromstring(written._repr_html_())


def test_a_world_without_places_shows_scores(bundle):
    planner = mawam.Planner(mawam.Bundle("3m-medium"), candidates=4, threads=1)
    env = mawam.Env("3m")
    obs, infos = env.reset(seed=1)
    planner.act(obs, infos["action_mask"])
    picture, = pictures(planner.candidates().svg())
    assert sum(part.tag.endswith("rect") for part in picture.iter()) == 4


def test_frames(bundle, dataset):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    dataset.check()
    evaluation = mawam.evaluate(bundle, **FEW)
    frame = evaluation.to_frame()
    assert isinstance(frame, pandas.DataFrame) and list(frame["arm"]) == list(evaluation.arms)
    assert frame["return"][0] == evaluation.arms["reactive"].total and "gain_low" in frame
    frame = dataset.to_frame()
    assert len(frame) == dataset.episodes and frame["return"].mean() == pytest.approx(dataset.returns.mean)
    diagnosis = mawam.diagnose(bundle, dataset, anchors=2, snippets=16, settings={"candidates": 2}, threads=1)
    assert set(diagnosis.to_frame()["test"]) == {"drawn", "snippets"}
    assert len(mawam.sweep(bundle, "M=1,2", seeds=1, episodes=1, threads=1, timed=0).to_frame()) == 4


def test_frames_without_pandas_say_so(dataset, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(mawam.UnsupportedError, match="python3-pandas"):
        dataset.to_frame()


# ---- progress ----


def test_a_terminal_sees_a_line(monkeypatch, bundle):
    terminal = attach(monkeypatch)
    mawam.evaluate(bundle, **FEW)
    assert "playing spread-random" in terminal.getvalue() and re.search(r"in 0:\d\d\n$", terminal.getvalue())
    for line in re.split(r"\r|\n", terminal.getvalue()):
        assert len(line.replace("\x1b[K", "")) < 80


def test_it_can_be_switched_off_and_on(bundle, monkeypatch):
    terminal = attach(monkeypatch)
    mawam.evaluate(bundle, progress=False, **FEW)
    mawam.show_progress(False)
    mawam.evaluate(bundle, **FEW)
    assert terminal.getvalue() == ""
    mawam.show_progress()
    monkeypatch.setattr(sys, "stderr", io.StringIO())  # no terminal
    mawam.evaluate(bundle, **FEW)
    assert sys.stderr.getvalue() == ""
    mawam.evaluate(bundle, progress=True, **FEW)
    assert "playing" in sys.stderr.getvalue()
    with pytest.raises(mawam.ArgumentError, match="progress: expected a function, True, False or None; found 'yes'"):
        mawam.evaluate(bundle, progress="yes", **FEW)
    with pytest.raises(mawam.ArgumentError, match="on: expected True, False or None; found 1"):
        mawam.show_progress(1)


def test_a_line_ends_when_work_fails(monkeypatch):
    terminal = attach(monkeypatch)
    with pytest.raises(KeyError):
        with progress.Shown(None, "title", lambda share: (share, "words")) as shown:
            shown.told(0.5)
            raise KeyError
    assert terminal.getvalue().endswith("\n") and " in 0:" not in terminal.getvalue()


def test_notebooks_see_a_bar(monkeypatch):
    seen = []

    class Display:
        HTML = staticmethod(str)

        def display(self, shown, display_id):
            seen.append(shown)
            return self

        def update(self, shown):
            seen.append(shown)

    monkeypatch.setattr(progress, "_notebook", Display)
    with progress.Shown(None, "title", lambda share: (share, "words")) as shown:
        shown.told(0.25)
    assert 'value="0.250"' in seen[0] and 'value="1.000"' in seen[-1]


# ---- TensorBoard ----


def records(path):
    """What a TensorBoard file holds, with every checksum looked at: (tag, step, value)."""
    data, found = path.read_bytes(), []
    while data:
        size, = struct.unpack("<Q", data[:8])
        assert struct.unpack("<I", data[8:12])[0] == _events.masked_crc(data[:8])
        event, crc = data[12:12 + size], struct.unpack("<I", data[12 + size:16 + size])[0]
        assert crc == _events.masked_crc(event)
        tag = re.search(rb"\n.([a-z]+/[a-z -]+)\x15(....)$", event, re.S)
        found.append((tag.group(1).decode(), struct.unpack("<f", tag.group(2))[0]) if tag else None)
        data = data[16 + size:]
    return found


def test_checksums_are_those_of_the_standard():
    known = 0xE3069283  # CRC-32C of these digits
    unmasked = (_events.masked_crc(b"123456789") - 0xA282EAD8) & 0xFFFFFFFF
    assert unmasked == (known >> 15 | known << 17) & 0xFFFFFFFF


def test_a_training_talks(dataset, tmp_path, monkeypatch):
    from conftest import TINY
    terminal = attach(monkeypatch)
    training = mawam.train(dataset, tmp_path / "mine.safetensors", settings=dict(TINY, **{"rwm.steps": 300}), threads=1,
                           log="tensorboard")
    assert "training mine.safetensors" in terminal.getvalue() and "rwm " in terminal.getvalue()
    found = records(tmp_path / "mine.tfevents")
    assert found[0] is None and {name for name, _ in found[1:]} >= {"flow/flow", "rwm/dynamics"}
    logged = [value for name, value in found[1:] if name == "rwm/dynamics"]
    assert logged == pytest.approx(training.log["rwm"]["dynamics"][:len(logged)], rel=1e-5)
    assert pictures(training._repr_html_()) and len(repr(training)) <= 330
    assert "rwm: held-out" in str(training) and "written after" in str(training)
    with pytest.raises(mawam.ArgumentError, match="log: expected None or 'tensorboard'; found 'csv'"):
        mawam.train(dataset, tmp_path / "mine.safetensors", log="csv")
    before = (tmp_path / "mine.tfevents").read_bytes()
    with pytest.raises(mawam.Error, match="overwrite"):
        mawam.train(dataset, tmp_path / "mine.safetensors", log="tensorboard")
    assert (tmp_path / "mine.tfevents").read_bytes() == before  # a training that is refused leaves it alone
    pytest.importorskip("pandas")
    assert set(training.to_frame()["part"]) == {"flow", "inverse", "rwm"}
