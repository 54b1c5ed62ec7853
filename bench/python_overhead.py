"""What Python adds to a call of the library: a step of 64 environments, and a planned decision.

C and Python take turns on the same objects within one run, so that the ratio of their medians means something on a
busy machine; all on one thread, decisions by the processor's time. The C side, bench/python_overhead.c, is compiled
here. usage: python_overhead.py [LIBRARY [BUNDLE...]]
"""
import ctypes
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, thread_time

import numpy as np

SOURCE = Path(__file__).resolve().parents[1]
LIBRARY = Path(sys.argv[1] if len(sys.argv) > 1 else SOURCE / "build" / "libmawam.so").resolve()
BUNDLES = sys.argv[2:] or [str(path) for path in sorted((SOURCE / "bundles").glob("*.safetensors"))]
ENVS, ROUNDS = 64, 200
os.environ["MAWAM_LIBRARY"] = str(LIBRARY)
sys.path.insert(0, str(SOURCE / "python"))

import mawam  # noqa: E402  (from the tree, over the library named above)


def c_side(folder):
    target = f"{folder}/overhead.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", f"-I{SOURCE}/include", f"{SOURCE}/bench/python_overhead.c", "-o",
                    target, str(LIBRARY), f"-Wl,-rpath,{LIBRARY.parent}"], check=True)
    side = ctypes.CDLL(target)
    side.overhead_step.restype = side.overhead_act.restype = ctypes.c_double
    side.overhead_step.argtypes = [ctypes.c_void_p] * 2
    side.overhead_act.argtypes = [ctypes.c_void_p] * 5
    return side


def show(what, c, python):
    c, python = np.median(c) * 1e6, np.median(python) * 1e6
    print(f"{what:47s} C {c:10.2f} us   Python {python:10.2f} us   {100 * (python / c - 1):+6.1f}%", flush=True)


def steps(side, task, fresh):
    """fresh: a new array of actions for every step, as a policy returns it, instead of one that is filled anew."""
    many = mawam.VectorEnv(task, ENVS, threads=1)
    many.reset(seed=0)
    actions, c, python = many.script("random"), [], []
    many.step(actions)  # points the struct of arrays at the actions
    for _ in range(12 if many.info.family == "ant" else 10 * ROUNDS):
        many.script("random", out=actions)
        many._point(actions)
        c.append(side.overhead_step(many._pointer, ctypes.addressof(many._arrays)))
        many.script("random", out=actions)
        given = actions.copy() if fresh else actions
        start = perf_counter()
        many.step(given)
        python.append(perf_counter() - start)
    show(f"{task}: step of {ENVS} worlds{', new array of actions' * fresh}", c, python)


def decisions(side, path):
    bundle = mawam.Bundle(path)
    planner, env = mawam.Planner(bundle, threads=1), mawam.Env(bundle.task)
    obs, infos = env.reset(seed=1)
    legal = infos.get("action_mask")
    actions, c, python = np.zeros(env.info.action_shape, env.info.action_type), [], []
    real, index = (None, actions.ctypes.data) if bundle.discrete else (actions.ctypes.data, None)
    for episode in range(ROUNDS):
        planner.begin(episode)
        c.append(side.overhead_act(planner._pointer, obs.ctypes.data, None if legal is None else legal.ctypes.data,
                                   real, index))
        planner.begin(episode)
        start = thread_time()
        chosen = planner.act(obs, legal)
        python.append(thread_time() - start)
        assert np.array_equal(chosen, actions)
    show(f"{bundle.task}: decision, M = {planner.settings['candidates']}", c, python)


def main():
    print(f"{mawam.cpu().model}, level {mawam.cpu().level}, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        side = c_side(folder)
        for task in ("spread", "tag", "3m", "2ant"):
            for fresh in (False, True):
                steps(side, task, fresh)
        for path in BUNDLES:
            decisions(side, path)


main()
