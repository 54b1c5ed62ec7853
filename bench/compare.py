#!/usr/bin/python3
"""mawam and PyTorch on the same networks, alternating in one run.

    bench/compare.py build/mawam [--threads N] [--rounds R] [--out results/speed.json]
    bench/compare.py --table results/speed.json          # the same numbers as Markdown

Networks: those that `mawam train` makes (trained) for spread, 3m and 2ant, and the paper's for spread. Work: scoring and
generation of M candidates for 1 and for 4 environments, and the training steps. Both programs are bound to the same cores.
PyTorch runs with one thread and with all, and with the BLAS kernels that are fastest here; its better half counts. Every
number is a median over rounds, in each of which mawam and PyTorch take turns. The machine's peak is the larger of mawam's
rate and of OpenBLAS's for large products. Needs Debian's python3-torch and libopenblas0-pthread.
"""
import argparse
import json
import os
import statistics
import subprocess

from torch_runs import Runner, fastest_kernels, provenance

CANDIDATES, ENVIRONMENTS = (1, 2, 4, 8, 16), (1, 4)
NETWORKS = (("trained", "spread"), ("trained", "3m"), ("trained", "2ant"), ("paper", "spread"))
SECONDS = 0.08  # of each measurement in a round


def cases():
    for preset, task in NETWORKS:
        for work in ("score", "generate"):
            for envs in ENVIRONMENTS:
                for m in CANDIDATES:
                    yield dict(preset=preset, task=task, work=work, M=m, envs=envs)
        for work in ("world", "policy") if preset == "trained" else ("world",):  # the paper's policy takes seconds a step
            yield dict(preset=preset, task=task, work=work, M=8, envs=1)


def mawam(args, case):
    words = [args.program, "bench", "--json", "--task", case["task"], "--preset", case["preset"], "--only", case["work"],
             "--M", case["M"], "--envs", case["envs"], "--threads", args.threads, "--seconds", SECONDS]
    return json.loads(subprocess.run([str(w) for w in words], check=True, stdout=subprocess.PIPE, text=True).stdout)


class Measured:
    """A case with what was seen of it so far."""

    def __init__(self, case):
        self.case, self.ours, self.theirs, self.gflop = case, [], {}, 0

    def run_round(self, args, runners):
        ours = mawam(args, self.case)
        item = ours["items"][0]
        self.ours.append(item["ms"])
        self.gflop = item["gflops"] * item["ms"] / 1e3
        ask = dict(sizes=ours["sizes"], H=ours["H"], K=ours["K"], M=self.case["M"], envs=self.case["envs"], work=self.case["work"])
        for threads, runner in runners.items():
            if threads == 1 and len(runners) > 1 and (self.case["preset"], self.case["work"]) == ("paper", "generate"):
                continue  # large products always gain from threads
            if len(self.theirs) > 1 and self.theirs[threads][0] > 1.5 * min(t[0] for t in self.theirs.values()):
                continue  # the first round has shown that the other one is faster
            self.theirs.setdefault(threads, []).append(statistics.median(runner.measure(seconds=SECONDS, **ask)))
        return ours

    def result(self, peak):
        ours = statistics.median(self.ours)
        threads, theirs = min(((n, statistics.median(t)) for n, t in self.theirs.items()), key=lambda pair: pair[1])
        return dict(self.case, mawam_ms=ours, torch_ms=theirs, torch_threads=threads, ratio=theirs / ours, gflops=1e3 * self.gflop / ours,
                    share_of_peak=1e3 * self.gflop / ours / peak, mawam_rounds=self.ours, torch_rounds=self.theirs)


def measure(args):
    cores = sorted(os.sched_getaffinity(0))
    args.threads = args.threads or len(cores)
    os.sched_setaffinity(0, cores[:args.threads])  # inherited by all that is started here
    kernels, rates = fastest_kernels(args.threads)
    runners = {n: Runner(n, kernels) for n in sorted({1, args.threads})}
    about, measured, peak = runners[args.threads].about, [Measured(c) for c in cases()], {"mawam": 0}
    for _ in range(args.rounds):
        for m in measured:
            ours = m.run_round(args, runners)
            peak["mawam"] = max(peak["mawam"], ours["peak_gflops"])
    peak["openblas"] = max(max(rates.values()), about["sgemm_gflops"])
    for runner in runners.values():
        runner.close()
    results = [m.result(max(peak.values())) for m in measured]
    return dict(provenance(), cpu=ours["cpu"], level=ours["level"], version=ours["version"], threads=args.threads, rounds=args.rounds,
                torch=about["torch"], blas=about["blas"], sgemm_gflops_of_kernels=rates, peak_gflops=peak, results=results)


def table(report):
    results = report["results"]
    print("| networks | task | work | mawam ms | PyTorch ms | ratio | share of peak |\n|---|---|---|---|---|---|---|")
    for r in results:
        if (r["M"], r["envs"]) == (8, 1):
            print("| %(preset)s | %(task)s | %(work)s | %(mawam_ms).2f | %(torch_ms).1f | %(ratio).1fx" % r, "| %.0f%% |" % (100 * r["share_of_peak"]))
    print("\nscore and generate: 8 candidates, 1 environment; world and policy: a training step. Ratios with other numbers of\ncandidates:\n")
    print("| networks | task | work | environments |" + "".join(" M=%d |" % m for m in CANDIDATES) + "\n|---|---|---|---|" + "---|" * len(CANDIDATES))
    for preset, task in NETWORKS:
        for work in ("score", "generate"):
            for envs in ENVIRONMENTS:
                row = {r["M"]: r["ratio"] for r in results if (r["preset"], r["task"], r["work"], r["envs"]) == (preset, task, work, envs)}
                print("| %s | %s | %s | %d |" % (preset, task, work, envs) + "".join(" %.1fx |" % row[m] for m in CANDIDATES))
    print("\n%s, level %s, %d threads; PyTorch %s on %s (%s kernels); peak %.0f GFLOP/s (mawam %.0f, OpenBLAS %.0f)." % (
        report["cpu"], report["level"], report["threads"], report["torch"], report["blas"]["name"], report["blas"]["kernels"],
        max(report["peak_gflops"].values()), report["peak_gflops"]["mawam"], report["peak_gflops"]["openblas"]))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program", nargs="?")
    p.add_argument("--table", metavar="FILE")
    p.add_argument("--threads", type=int, default=0, help="0: one per core")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--out", metavar="FILE")
    args = p.parse_args()
    if args.table:
        with open(args.table) as f:
            return table(json.load(f))
    if not args.program:
        p.error("name the program, for example build/mawam")
    report = measure(args)
    table(report)
    if args.out:
        with open(args.out, "w") as f:
            json.dump(report, f, indent=1)
            f.write("\n")


main()
