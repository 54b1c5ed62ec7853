#!/usr/bin/python3
"""One decision of bundles, by mawam and by PyTorch on networks of the same sizes, in the same run.

    bench/decide.py build/mawam bundles/*.safetensors [--seconds S] [--out results/decision.json]
    bench/decide.py --table results/decision.json        # the same numbers as Markdown

A decision: 8 candidates for one environment, generated in one guided batch (K as the bundle says), their actions by
inverse dynamics, their scores by the world model (also where the bundle would ask the advantage), the best one's first action. mawam's time is the median of `mawam eval
--timed`; PyTorch runs with one and two threads and its BLAS both as it chooses kernels itself and with the AVX-512 kernels
forced, and the fastest of all counts, against the better of two runs of mawam, before and after. Weights do not change the
time, so PyTorch's are random. Needs python3-torch.
"""
import argparse
import json
import os
import struct
import subprocess
import sys

from torch_runs import processor, torch_runs

CANDIDATES, DECISIONS = 8, 200


def describe(path):
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
    b = json.loads(header["__metadata__"]["bundle"])
    parts = {p["name"]: p["configuration"] for p in b["parts"]}
    flow, rwm = parts["flow"], parts["rwm"]
    flow["time"] = flow["context"] + flow["generated"]
    rwm["slots"] = rwm["slots"] or 1  # of the standard variant
    return {**b, "flow": flow, "inverse": parts["inverse"], "rwm": rwm}


def perceptron(inputs, hidden, layers, outputs, activation):
    from torch import nn
    sizes = [inputs] + [hidden] * layers
    inner = [part for i in range(layers) for part in (nn.Linear(sizes[i], sizes[i + 1]), activation())]
    return nn.Sequential(*inner, nn.Linear(hidden, outputs))


def torch_decision(bundle, threads, seconds):
    import torch
    from torch import nn
    from torch_twin import Proposer, StandardWorld, median_ms

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    b, m = describe(bundle), CANDIDATES
    n, o, d, p, w = b["agents"], b["obs"], b["act"], b["flow"], b["rwm"]
    policy = Proposer(o, p["dim"], p["mults"])
    ids, ahead = torch.eye(n).expand(m, n, n), p["time"] - p["context"]
    inverse = perceptron(2 * o + n * b["inverse"]["ids"], b["inverse"]["hidden"], b["inverse"]["layers"], d, nn.ReLU)
    forecast = perceptron(o + n, p["forecast"], 3, ahead * o, nn.SiLU) if p["forecast"] else None
    world = StandardWorld(o, d, {**w, "joint": w["mean_agents"]})
    context, target = torch.randn(1, p["context"], n, o).expand(m, -1, -1, -1), torch.full((m,), b["plan"]["target"])

    @torch.no_grad()
    def decide():
        x = policy.sample(torch.randn(m, p["time"], n, o), context, target, b["plan"]["sampling_steps"])
        if forecast:
            expected = forecast(torch.cat([context[:, -1], ids], -1)).view(m, n, ahead, o).transpose(1, 2)
            x[:, p["context"]:] = x[:, p["context"]:] / p["scale"] + context[:, -1:] + expected
        now = x[:, p["context"] - 1:-1][:, :b["plan"]["horizon"]]
        pairs = [now, x[:, p["context"]:][:, :b["plan"]["horizon"]]]
        if b["inverse"]["ids"]:
            pairs.append(ids[:, None].expand(-1, b["plan"]["horizon"], -1, -1))
        acts = inverse(torch.cat(pairs, -1))
        if b["discrete"]:
            acts = nn.functional.one_hot(acts.argmax(-1), d).float()
        best = world.score(context[:, -1], acts).argmax()
        return acts[best, 0].tolist()

    print(json.dumps(median_ms(decide, seconds)))


def mawam(args, bundle):
    words = [args.files[0], "eval", bundle, "--arms", "plan", "--seeds", "1", "--first-seed", "1", "--episodes", "1", "--threads",
             "2", "--timed", str(DECISIONS), "--scorer", "rwm", "--json"]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)["arms"]["plan"]["ms"]


def table(report):
    print("| bundle | mawam ms (p95) | generation, scoring | PyTorch ms | ratio |\n|---|---|---|---|---|")
    for row in report["bundles"]:
        ours = min(row["mawam"], key=lambda r: r["decision"]["p50"])
        best = min(r["ms"] for r in row["torch"])
        print("| %s | %.2f (%.2f) | %.2f, %.2f | %.1f | %.1fx |" % (
            row["bundle"], ours["decision"]["p50"], ours["decision"]["p95"], ours["generation"]["p50"], ours["scoring"]["p50"],
            best, best / ours["decision"]["p50"]))
    print("\n%s, 2 threads, M=%d." % (report["cpu"], CANDIDATES))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("files", nargs="*", metavar="PROGRAM BUNDLE")
    p.add_argument("--table", metavar="FILE")
    p.add_argument("--threads", type=int, help=argparse.SUPPRESS)  # PyTorch's side of one bundle
    p.add_argument("--seconds", type=float, default=2.0)
    p.add_argument("--out")
    args = p.parse_args()
    if args.threads:
        return torch_decision(args.files[0], args.threads, args.seconds)
    if args.table:
        with open(args.table) as f:
            return table(json.load(f))
    if len(args.files) < 2:
        p.error("name the program and at least one bundle")
    cpu = next((line.split(":")[1].strip() for line in processor().splitlines() if line.startswith("model name")), "unknown")
    report = {"command": "bench/decide.py " + " ".join(sys.argv[1:]), "cpu": cpu, "bundles": []}
    for bundle in args.files[1:]:
        first = mawam(args, bundle)
        runs = torch_runs("decide.py", ["--seconds", args.seconds, bundle])
        row = {"bundle": os.path.basename(bundle).split(".")[0], "mawam": [first, mawam(args, bundle)], "torch": runs}
        report["bundles"].append(row)  # before and after: the better half of a noisy machine
    table(report)
    if args.out:
        with open(args.out, "w") as f:
            json.dump(report, f, indent=1)


main()
