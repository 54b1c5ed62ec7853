"""Runs of a PyTorch script with one and two threads, and its BLAS both as it chooses kernels itself and with the AVX-512
kernels forced where the processor has them (OpenBLAS does not recognise every processor)."""
import json
import os
import subprocess


def processor():
    return open("/proc/cpuinfo").read() if os.path.exists("/proc/cpuinfo") else ""


def torch_runs(script, words):
    """[{threads, blas, ms}]: what the script in this folder prints as JSON, given the words and --threads."""
    runs = []
    for threads in (1, 2):
        for kernel in [None] + ["SkylakeX"] * ("avx512f" in processor()):
            env = dict(os.environ, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads))
            if kernel:
                env["OPENBLAS_CORETYPE"] = kernel
            path = os.path.join(os.path.dirname(os.path.abspath(__file__)), script)
            command = ["/usr/bin/python3", path, "--threads", str(threads)] + [str(w) for w in words]
            out = subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout
            runs.append(dict(threads=threads, blas=kernel or "auto", ms=json.loads(out)))
    return runs
