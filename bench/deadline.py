#!/usr/bin/python3
"""How decisions with a deadline keep it: runs bench/deadline.c for several deadlines and keeps the histograms.

    bench/deadline.py build/deadline bundles/spread-medium.safetensors [--ms 10,20,50] [--decisions N] [--threads N]
                      [--out results/deadline.json]
    bench/deadline.py --table results/deadline.json      # the same numbers as Markdown
"""
import argparse
import json
import subprocess
import sys


def table(path):
    with open(path) as f:
        result = json.load(f)
    print("| setting | deadline ms | candidates | reactive | late | p50 ms | p95 ms | p99 ms | longest ms |")
    print("|---|---|---|---|---|---|---|---|---|")
    for r in result["runs"]:
        share = {key: f"{100 * r[key] / r['decisions']:.1f}%" for key in ("reactive", "late")}
        print(f"| {r['setting']} | {r['deadline_ms']:g} | {r['candidates']:.2f} of {r['M']} | {share['reactive']} | {share['late']} "
              f"| {r['p50']:.2f} | {r['p95']:.2f} | {r['p99']:.2f} | {r['longest']:.1f} |")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--ms", default="5,10,20,50")
    parser.add_argument("--decisions", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", default="results/deadline.json")
    parser.add_argument("--table")
    args = parser.parse_args()
    if args.table:
        return table(args.table)
    if len(args.files) < 2:
        parser.error("name the program and a bundle")
    runs = []
    for bundle in args.files[1:]:
        for ms in args.ms.split(","):
            words = [args.files[0], bundle, ms, str(args.decisions), str(args.threads)]
            runs.append(json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout))
            print(f"{bundle}, {ms} ms: {runs[-1]['late']} of {args.decisions} late", file=sys.stderr)
    revision = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    with open(args.out, "w") as f:
        json.dump({"command": " ".join(sys.argv), "revision": revision, "runs": runs}, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
