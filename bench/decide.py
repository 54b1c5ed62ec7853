#!/usr/bin/python3
"""One decision of bundles, by mawam and by PyTorch on networks of the same sizes, alternating in one run.

    bench/decide.py build/mawam bundles/*.safetensors [--threads N] [--rounds R] [--out results/decision.json]
    bench/decide.py --table results/decision.json        # the same numbers as Markdown

A decision: 8 candidates for one environment, generated in one batch (K and guidance as the bundle says), their actions
by inverse dynamics, their scores by the world model over the whole horizon (also where the bundle would ask the advantage
or the value), the best one's first action. mawam's time is the median of `mawam eval --timed`. Threads, cores, BLAS and
rounds are as in compare.py. Weights do not change the time, so PyTorch's are random.
"""
import argparse
import json
import os
import statistics
import struct
import subprocess

from torch_runs import Runner, fastest_kernels, processor, provenance

CANDIDATES, DECISIONS, SECONDS = 8, 60, 0.5


def describe(path):
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
    b = json.loads(header["__metadata__"]["bundle"])
    parts = {p["name"]: p["configuration"] for p in b["parts"]}
    flow, rwm, plan = parts["flow"], parts["rwm"], b["plan"]
    return {**b, "inverse": parts["inverse"], "steps": plan["sampling_steps"], "horizon": plan["horizon"],
            "guidance": plan["guidance"],
            "policy": {**flow, "time": flow["context"] + flow["generated"], "bins": 5, "changes": flow["residual"],
                       "project": flow["attention_output"]},
            "world": {**rwm, "slots": rwm["slots"] or 1, "standardise": rwm["variant"] == "standard"}}


def mawam(args, bundle):
    words = [args.files[0], "eval", bundle, "--arms", "plan", "--seeds", "1", "--first-seed", "1", "--episodes", "1", "--threads",
             str(args.threads), "--timed", str(DECISIONS), "--scorer", "rwm", "--value_after", "0", "--json"]
    return json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout)["arms"]["plan"]["ms"]


def measure(args):
    cores = sorted(os.sched_getaffinity(0))
    args.threads = args.threads or len(cores)
    os.sched_setaffinity(0, cores[:args.threads])  # inherited by all that is started here
    kernels, rates = fastest_kernels(args.threads)
    runners = {n: Runner(n, kernels) for n in sorted({1, args.threads})}
    rows = [dict(bundle=os.path.basename(b).split(".")[0], path=b, sizes=describe(b), mawam=[], torch={n: [] for n in runners}) for b in args.files[1:]]
    for _ in range(args.rounds):
        for row in rows:
            row["mawam"].append(mawam(args, row["path"]))
            for n, runner in runners.items():
                times = runner.measure(sizes=row["sizes"], work="decide", M=CANDIDATES, envs=1, K=row["sizes"]["steps"], H=row["sizes"]["horizon"],
                                       guidance=row["sizes"]["guidance"], seconds=SECONDS)
                row["torch"][n].append(statistics.median(times))
    for runner in runners.values():
        runner.close()
    version = subprocess.run([args.files[0], "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    about = runners[args.threads].about
    return dict(provenance(), cpu=processor(), version=version, threads=args.threads, rounds=args.rounds, torch=about["torch"], blas=about["blas"],
                sgemm_gflops_of_kernels=rates, bundles=[{k: row[k] for k in ("bundle", "mawam", "torch")} for row in rows])


def table(report):
    print("| bundle | mawam ms (p95) | generation, scoring | PyTorch ms | ratio |\n|---|---|---|---|---|")
    for row in report["bundles"]:
        ours = lambda part, share: statistics.median(r[part][share] for r in row["mawam"])
        theirs = min(statistics.median(times) for times in row["torch"].values())
        print("| %s | %.2f (%.2f) | %.2f, %.2f | %.1f | %.1fx |" % (
            row["bundle"], ours("decision", "p50"), ours("decision", "p95"), ours("generation", "p50"), ours("scoring", "p50"), theirs,
            theirs / ours("decision", "p50")))
    print("\n%s, %s, %d threads, M=%d; PyTorch %s on %s (%s kernels)." % (
        report["cpu"], report["version"], report["threads"], CANDIDATES, report["torch"], report["blas"]["name"], report["blas"]["kernels"]))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("files", nargs="*", metavar="PROGRAM BUNDLE")
    p.add_argument("--table", metavar="FILE")
    p.add_argument("--threads", type=int, default=0, help="0: one per core")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--out", metavar="FILE")
    args = p.parse_args()
    if args.table:
        with open(args.table) as f:
            return table(json.load(f))
    if len(args.files) < 2:
        p.error("name the program and at least one bundle")
    report = measure(args)
    table(report)
    if args.out:
        with open(args.out, "w") as f:
            json.dump(report, f, indent=1)
            f.write("\n")


main()
