"""Processes of PyTorch with a number of threads and with the BLAS kernels that are fastest on this machine: OpenBLAS does
not recognise every processor, and then takes its plainest ones unless told better."""
import json
import os
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"  # Debian's, which has python3-torch


def environment(threads, kernels):
    """The environment of a process with so many threads; kernels None: OpenBLAS chooses."""
    env = dict(os.environ, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads))
    return dict(env, OPENBLAS_CORETYPE=kernels) if kernels else env


class Runner:
    """A process of torch_twin.py, which measures what it is asked and sleeps in between."""

    def __init__(self, threads, kernels):
        self.process = subprocess.Popen([PYTHON, os.path.join(FOLDER, "torch_twin.py"), str(threads)], text=True, env=environment(threads, kernels),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.about = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(self.process.wait() or 1)  # it has said why
        return json.loads(line)

    def measure(self, **ask):
        self.process.stdin.write(json.dumps(ask) + "\n")
        self.process.stdin.flush()
        return self.answer()["ms"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def fastest_kernels(threads):
    """(kernels, what each of the choices reached): the kernels with the highest rate of large products."""
    flags = open("/proc/cpuinfo").read() if os.path.exists("/proc/cpuinfo") else ""
    seen = {}
    for kernels in [None] + ["Haswell"] * (" avx2 " in flags) + ["SkylakeX"] * (" avx512f " in flags):
        runner = Runner(threads, kernels)
        runner.close()
        seen[kernels] = runner.about["sgemm_gflops"]
    best = max(seen, key=seen.get)
    return best, {kernels or "auto": round(rate, 1) for kernels, rate in seen.items()}


def processor():
    lines = open("/proc/cpuinfo").read().splitlines()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown")


def provenance():
    """What belongs to every result: who made it, from what, on what."""
    revision = subprocess.run(["git", "-C", FOLDER, "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    program = os.path.relpath(os.path.abspath(sys.argv[0]), os.path.dirname(FOLDER))
    return {"command": " ".join([program] + sys.argv[1:]), "revision": revision or "unknown"}
