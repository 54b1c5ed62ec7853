#!/usr/bin/python3
"""mawam and PyTorch on the same work in the same run.

    bench/compare.py build/mawam [--task T] [--seconds S] [--out results/speed.json]
    bench/compare.py --table results/speed.json          # the same numbers as Markdown

PyTorch runs with one and two threads, and its BLAS both as it chooses kernels itself and with the AVX-512 kernels forced
where the processor has them (OpenBLAS does not recognise every processor); the fastest of all counts. Needs Debian's
python3-torch.
"""
import argparse
import json
import subprocess
import sys

from torch_runs import torch_runs

TASKS = {  # task: n, o, d, T, C, H
    "spread": (3, 18, 2, 24, 1, 8), "2ant": (2, 56, 4, 28, 19, 8), "3m": (3, 33, 9, 24, 21, 3),
    "8m": (8, 88, 14, 24, 21, 3)}
PRESETS = {"compact": (32, (1, 2, 4)), "paper": (128, (1, 4, 8))}


def torch_times(args, task, preset, train):
    n, o, d, T, C, H = TASKS[task]
    dim, mults = PRESETS[preset]
    sizes = dict(n=n, o=o, d=d, T=T, C=C, H=H, M=8, K=3, envs=1, dim=dim, seconds=args.seconds)
    return torch_runs("torch_twin.py", [w for k, v in sizes.items() for w in ("--" + k, v)] + ["--mults", *mults] + ["--train"] * train)


def mawam(args, task, preset, train):
    words = [args.program, "bench", "--task", task, "--preset", preset, "--world", "paper", "--threads", "2", "--seconds",
             str(args.seconds), "--json"] + ["--train"] * train
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def rows(comparison):
    """Per item: the better of our two runs, the best of PyTorch's."""
    ours, again = comparison["mawam"]
    for a, b in zip(ours["items"], again["items"]):
        item, times = min(a, b, key=lambda i: i["ms"]), [r["ms"][a["name"]] for r in comparison["torch"] if a["name"] in r["ms"]]
        if times:
            yield item["name"], item["ms"], min(times), item["share_of_peak"]


def table(path):
    with open(path) as f:
        report = json.load(f)
    print("| preset | work | mawam ms | PyTorch ms | ratio | share of peak |\n|---|---|---|---|---|---|")
    for c in report["comparisons"]:
        for name, ms, torch_ms, share in rows(c):
            print("| %s | %s | %.2f | %.1f | %.1fx | %.0f%% |" % (c["preset"], name, ms, torch_ms, torch_ms / ms, 100 * share))
    first = report["comparisons"][0]["mawam"][0]
    print("\n%s, %s, 2 threads, %s, M=8, K=3, H=%d; peak %.0f GFLOP/s." % (
        first["cpu"], first["vectors"], first["task"], first["H"], max(m["peak_gflops"] for c in report["comparisons"] for m in c["mawam"])))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program", nargs="?")
    p.add_argument("--table", metavar="FILE")
    p.add_argument("--task", default="spread", choices=TASKS)
    p.add_argument("--seconds", type=float, default=2.0)
    p.add_argument("--out")
    args = p.parse_args()
    if args.table:
        return table(args.table)
    if not args.program:
        p.error("name the program, for example build/mawam")
    report = {"command": "bench/compare.py " + " ".join(sys.argv[2:]), "comparisons": []}
    for preset, train in (("compact", True), ("paper", False)):
        ours = mawam(args, args.task, preset, train)
        runs = torch_times(args, args.task, preset, train)
        again = mawam(args, args.task, preset, train)  # before and after: the better half of a noisy machine
        report["comparisons"].append({"preset": preset, "mawam": [ours, again], "torch": runs})
        print("%s, preset %s, 2 threads; sgemm peak %.0f GFLOP/s" % (args.task, preset, max(ours["peak_gflops"], again["peak_gflops"])))
        print("%-20s %10s %10s %8s %14s" % ("", "mawam ms", "torch ms", "ratio", "share of peak"))
        for name, ms, torch_ms, share in rows(report["comparisons"][-1]):
            print("%-20s %10.2f %10.2f %7.1fx %13.0f%%" % (name, ms, torch_ms, torch_ms / ms, 100 * share))
    if args.out:
        with open(args.out, "w") as f:
            json.dump(report, f, indent=1)


main()
