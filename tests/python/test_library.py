"""Finding and loading the library: the order of places, other versions, things that are no library of ours."""
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import mawam
from mawam import _library
from mawam._work import Work


def _import(library, *more):
    environment = dict(os.environ, MAWAM_LIBRARY=str(library))
    return subprocess.run([sys.executable, "-c", "import mawam; print(mawam.cpu().level)"], env=environment,
                          capture_output=True, text=True)


def _compile(folder, source):
    (folder / "other.c").write_text(source)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(folder / "other.so"), str(folder / "other.c")], check=True)
    return folder / "other.so"


def test_the_environment_comes_first(monkeypatch):
    monkeypatch.setenv("MAWAM_LIBRARY", "/somewhere/libmawam.so")
    assert _library.places() == ["/somewhere/libmawam.so"]
    monkeypatch.delenv("MAWAM_LIBRARY")
    places = _library.places()
    package = os.path.dirname(_library.__file__)
    assert places[0] == f"{package}/lib/libmawam.so"
    assert places[1].endswith("build/libmawam.so")
    assert places[-1] == "libmawam.so.0.1"


def test_installations_are_places(monkeypatch, tmp_path):
    monkeypatch.delenv("MAWAM_LIBRARY", raising=False)
    (tmp_path / "prefix/bin").mkdir(parents=True)
    (tmp_path / "prefix/bin/mawam").write_text("")
    (tmp_path / "prefix/bin/mawam").chmod(0o755)
    (tmp_path / "bin").symlink_to(tmp_path / "prefix/bin")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    places = _library.places()
    of_program, of_user = f"{tmp_path.resolve()}/prefix/lib/libmawam.so", f"{tmp_path}/home/.local/lib/libmawam.so"
    assert places.index(of_program) < places.index(of_user) < places.index("/usr/local/lib/libmawam.so")


def test_a_star_brings_no_modules():
    given = {}
    exec("from mawam import *", given)
    assert given["Env"] is mawam.Env and "env" not in given and "data" not in given


def test_loads_what_it_is_told():
    found = _import(_library.library._name)
    assert found.returncode == 0, found.stderr


def test_data_beside_the_library_are_found(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "share/mawam/bundles").mkdir(parents=True)
    (tmp_path / "share/mawam/bundles/mine.safetensors").write_bytes(b"")
    library = shutil.copy(_library.library._name, tmp_path / "lib/libmawam.so")
    environment = {name: value for name, value in os.environ.items() if name != "MAWAM_DATA"}
    program = "import mawam; print(mawam.find_data('bundles', 'mine.safetensors'))"
    found = subprocess.run([sys.executable, "-c", program],
                           env=dict(environment, MAWAM_LIBRARY=str(library)), cwd=tmp_path, capture_output=True,
                           text=True)
    assert found.stdout.strip() == str((tmp_path / "share/mawam/bundles/mine.safetensors").resolve()), found.stderr


def test_a_missing_library_is_named(tmp_path):
    found = _import(tmp_path / "none.so")
    assert found.returncode and f"{tmp_path}/none.so: not there" in found.stderr


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_another_version_is_refused(tmp_path):
    found = _import(_compile(tmp_path, 'const char *mw_version(void) { return "9.8.7"; }'))
    assert found.returncode and f"is version 9.8.7, but this package is {mawam.__version__}" in found.stderr


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_other_libraries_are_refused(tmp_path):
    found = _import(_compile(tmp_path, "int nothing;"))
    assert found.returncode and "is not mawam's library" in found.stderr
    source = f'const char *mw_version(void) {{ return "{mawam.__version__}"; }}'
    found = _import(_compile(tmp_path, source))
    assert found.returncode and "has no mw_cpu_check: it was built from other sources" in found.stderr


def _python(program, library):
    return subprocess.run([sys.executable, "-c", program], env=dict(os.environ, MAWAM_LIBRARY=str(library)),
                          capture_output=True, text=True)


def test_the_laboratory_is_loaded_when_it_is_asked_for():
    program = """
import mawam
loaded = lambda: "libmawam-study" in open("/proc/self/maps").read()
mawam.Env("spread").reset(seed=1)
before = loaded()
mawam.paired_compare([1.0] * 9, [2.0] * 9)
print(before, loaded())"""
    found = _python(program, _library.library._name)
    assert found.stdout.split() == ["False", "True"], found.stderr


def test_without_the_laboratory_the_rest_works(tmp_path):
    library = shutil.copy(_library.library._name, tmp_path / "libmawam.so")
    program = """
import mawam
print(mawam.tasks()[0])
try:
    mawam.study_parts()
except mawam.UnsupportedError as error:
    print(error)"""
    found = _python(program, library)
    assert "mw_study_part_name is in libmawam-study, which cannot be loaded" in found.stdout, found.stderr
    assert f"{tmp_path}/libmawam-study.so" in found.stdout


def test_the_laboratory_of_another_release_is_refused(tmp_path):
    """The loader asks for the inner functions of this very release."""
    shutil.copy(_library.library._name, tmp_path / "libmawam.so")
    study = Path(_library.study_place(_library.library._name)).read_bytes()
    version = f"MAWAM_INTERNAL_{mawam.__version__}".encode()
    assert version in study
    name, other = version.decode(), version[:-1] + b"9"
    # what the loader compares is the hash of the name, which stands beside it
    hashes = []
    for text in (name.encode(), other):
        value = 0
        for letter in text:
            value = (value << 4) + letter
            value = (value ^ (value & 0xf0000000) >> 24) & 0x0fffffff
        hashes.append(value.to_bytes(4, sys.byteorder))
    assert study.count(hashes[0]) == 1
    (tmp_path / "libmawam-study.so").write_bytes(study.replace(version, other).replace(*hashes))
    found = _python("import mawam; mawam.study_parts()", tmp_path / "libmawam.so")
    assert found.returncode and f"version `{other.decode()}' not found" in found.stderr


def test_version_is_the_projects():
    text = (_library.Path(__file__).resolve().parents[2] / "CMakeLists.txt").read_text()
    assert f"project(mawam VERSION {mawam.__version__} " in text


def test_installs_without_a_compiler(tmp_path):
    """`pip install`, offline, into a folder of its own; from there it needs $MAWAM_LIBRARY or an installed library."""
    missing = [name for name in ("pip", "setuptools", "wheel") if not importlib.util.find_spec(name)]
    if missing:
        pytest.skip(f"installing needs {', '.join(missing)}")
    source = tmp_path / "python"
    shutil.copytree(_library.Path(__file__).resolve().parents[2] / "python", source)  # builds leave files behind
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-index", "--no-deps",
               "--target", str(tmp_path / "site"), str(source)]
    done = subprocess.run(command, env=dict(os.environ, PATH="/usr/bin:/bin"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    environment = dict(os.environ, PYTHONPATH=str(tmp_path / "site"), MAWAM_LIBRARY=_library.library._name)
    code = "import mawam; print(mawam.__file__, mawam.tasks()[0])"
    found = subprocess.run([sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert found.stdout.startswith(str(tmp_path / "site")), found.stderr


def test_interrupts_between_reports_wait_for_the_library(monkeypatch):
    """As one that comes in while the caller looks whether the library still works."""
    is_alive = threading.Thread.is_alive
    interrupts = [KeyboardInterrupt(), KeyboardInterrupt()]

    def interrupted(thread):
        if thread.name == "mawam" and interrupts:
            raise interrupts.pop()
        return is_alive(thread)

    work, ended = Work(), []

    def until_stopped(_error):
        while not work._stop.value:
            time.sleep(0.01)
        time.sleep(0.1)
        ended.append(True)
        return 0

    monkeypatch.setattr(threading.Thread, "is_alive", interrupted)
    with pytest.raises(KeyboardInterrupt):
        work.run(None, until_stopped)
    assert ended and not interrupts


NOTHING = """
import ctypes, re, sys
from mawam import _abi, _library
from mawam._functions import FUNCTIONS, STUDY_FUNCTIONS
lines = (FUNCTIONS.rstrip() + STUDY_FUNCTIONS).strip().splitlines()
kinds = [re.fullmatch(r"(\\w+) (\\w+)\\((.*)\\)", line).groups() for line in lines]
given = {name: arguments.split(", ") for result, name, arguments in kinds if result == "status"}
given.update({name: ["pointer"] for name in sys.argv[1].split()})
for name, arguments in given.items():
    print(name, flush=True)
    values = [_abi.STRUCT[kind]() if kind in _abi.STRUCT else None if kind in ("pointer", "text") else 0
              for kind in arguments if kind]
    function = getattr(_library.study_library() if name in _abi.STUDY else _library.library, name)
    function.argtypes = [_abi.KINDS[kind] for kind in arguments if kind]
    function(*values)
print("survived", len(given))
"""


def test_nothing_is_given(tmp_path):
    """What ends an object takes NULL, and what returns a status says what is missing, all over the interface."""
    headers = "".join(path.read_text() for path in (Path(mawam.__file__).parents[2] / "include/mawam").glob("*.h"))
    ends = set(re.findall(r"\bmw_\w+_(?:free|abandon)\b", headers))
    assert len(ends) >= 12
    found = subprocess.run([sys.executable, "-c", NOTHING, " ".join(sorted(ends))], cwd=tmp_path, capture_output=True,
                           text=True, env=dict(os.environ, PYTHONPATH=str(Path(mawam.__file__).parents[1])))
    assert found.returncode == 0 and "survived" in found.stdout, found.stdout[-200:] + found.stderr


CLOSING = """
import sys, threading, time
import numpy as np
import mawam

bundle, env = mawam.Bundle("3m-medium"), mawam.Env("3m")
obs, infos = env.reset(0)
actions = np.zeros((256, 3), np.int32)
episode = mawam.Episode(np.zeros((400, 3, 30), np.float32), np.zeros((400, 3), np.int32), np.zeros(400, np.float32))


def planner():
    made = mawam.Planner(bundle, threads=1)
    return made, lambda: made.act(obs, infos["action_mask"]), made.close


def looked_into():
    made = mawam.Planner(bundle, threads=1)
    made.act(obs, infos["action_mask"])
    return made, made.candidates, made.close


def vector():
    made = mawam.VectorEnv("3m", 256, threads=1)
    return made, lambda: made.step(made.script("random")), made.close


def parts():
    made = mawam.Bundle("3m-medium")
    return made, lambda: (made.parts, made.plan), made.close


def world():
    made = mawam.Env("3m")
    return made, lambda: (made.snapshot(), made.draw(), made.features), made.close


def writer():
    made = mawam.DatasetWriter(sys.argv[1] + "/data", "own", agents=3, obs_size=30, act_size=9, discrete=True,
                               episode_limit=400, overwrite=True)
    made.add(episode)
    return made, lambda: made.add(episode), made.commit


for make in planner, looked_into, vector, parts, world, writer:
    for attempt in range(8):
        made, use, close = make()
        told = []

        def go():
            try:
                while True:
                    use()
            except mawam.ArgumentError as error:
                told.append(str(error))

        thread = threading.Thread(target=go)
        thread.start()
        time.sleep(0.01)
        close()
        thread.join()
        assert "is closed" in told[0], told
print("survived")
"""


def test_closing_waits_for_calls_of_other_threads(tmp_path):
    found = subprocess.run([sys.executable, "-c", CLOSING, str(tmp_path)], capture_output=True, text=True)
    assert found.returncode == 0 and "survived" in found.stdout, f"{found.returncode}: {found.stderr[-500:]}"
