#!/usr/bin/env python3
"""Selectors at equal training time: each of the others learns for as long as the world model did, in processor time of one thread, and then they
choose among the same candidates on tuning seeds.

    bench/equal_time.py build/mawam SETTING... [--dir equal_time] [--out results/equal_time.json]

`make numbers` writes the table of docs/selectors.md from results/equal_time.json. The world model is that of the setting's bundle among those that
come with mawam; for another setting a bundle is trained first, by its preset. What is there already in DIR is kept, so it goes on where it was
interrupted, and several settings can be run beside each other. About a quarter of an hour of a core for each.
"""
import argparse
import json
import os
import resource
import subprocess

from torch_runs import processor, provenance

SELECTORS = ["mono", "independent", "q", "direct"]
ARMS = ["paper"] + SELECTORS  # paper: the world model, candidates as drawn
EPISODES = {"spread": 60, "tag": 60, "world": 60, "2ant": 8, "4ant": 8}  # of each of SEEDS
SEEDS, OTHERWISE = 3, 100
SHORT, LONG, ROUNDS = 20, 120, 4  # steps, whose difference tells; in turns, and the least counts, because others use the machine too


def used():
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


class Comparison:
    def __init__(self, args, setting):
        self.mawam = args.files[0]
        self.setting = setting
        self.task = setting.split("-")[0]
        self.file = lambda suffix: os.path.join(args.dir, setting + suffix)
        self.folder = os.path.join(args.dir, "data")
        self.data = os.path.join(self.folder, setting)

    def run(self, *words):
        subprocess.run([self.mawam, *words], check=True, stdout=subprocess.DEVNULL)

    def told(self, *words):
        return json.loads(subprocess.run([self.mawam, *words, "--json"], check=True, capture_output=True).stdout)

    def once(self, suffix, make):
        """What make(path) writes, if it is not there yet."""
        if not os.path.exists(self.file(suffix)):
            make(self.file(suffix))
        with open(self.file(suffix)) as file:
            return json.load(file)

    def parts(self, bundle):
        return {part["name"]: part for part in self.told("bundle", "info", bundle)["parts"]}

    def train(self, suffix, models, *words):
        """A bundle with all these models; what an interrupted training left is continued."""
        out = self.file(suffix)
        if not os.path.exists(out) or not set(models) <= set(self.parts(out)):
            self.run("train", self.data, "--threads", "1", "-o", out, "--resume", *words)
        return out

    def base(self):
        if any(bundle["name"] == self.setting for bundle in self.told("zoo")["bundles"]):
            return self.setting
        return self.train(".base.safetensors", ["flow", "inverse", "rwm"])

    def with_selectors(self, steps):
        settings = [word for model in SELECTORS for word in ("--set", f"{model}.steps={steps[model]}")]
        return self.train(".safetensors", SELECTORS, "--only", ",".join(SELECTORS), "--with", self.base(), *settings)

    def seconds(self, model, steps):
        base = self.base()
        before = used()
        self.run("train", self.data, "--only", model, "--with", base, "--threads", "1", "-o", self.file(".timed.safetensors"), "--overwrite",
                 "--set", f"{model}.steps={steps}", "--set", "data.held_out=0")  # without validation, which short runs do often
        return used() - before

    def steps(self, path):
        models = ["rwm"] + SELECTORS
        taken = self.parts(self.base())["rwm"]["configuration"]["steps"]
        spent = [[[self.seconds(model, steps) for steps in (SHORT, LONG)] for model in models] for _ in range(ROUNDS)]
        least = {model: [min(turn[i][end] for turn in spent) for end in (0, 1)] for i, model in enumerate(models)}
        cost = {model: (least[model][1] - least[model][0]) / (LONG - SHORT) for model in models}
        steps = {model: taken if model == "rwm" else 10 * round(taken * cost["rwm"] / cost[model] / 10) for model in models}
        with open(path, "w") as out:
            json.dump({"seconds_of_a_step": cost, "steps": steps}, out)

    def play(self, path):
        ceiling = [] if self.task.endswith("ant") else ["ceiling"]  # the true simulator takes hours there
        self.run("eval", self.file(".safetensors"), "--arms", ",".join(["reactive", "random"] + ARMS + ceiling), "--first-seed", "1", "--seeds",
                 str(SEEDS), "--episodes", str(EPISODES.get(self.task, OTHERWISE)), "--threads", "1", "--timed", "0", "--json=" + path)

    def whole(self):
        if not os.path.isdir(self.data):
            self.run("data", "make", self.setting, "-o", self.folder)
        result = self.once(".steps.json", self.steps)
        bundle = self.with_selectors(result["steps"])
        result["eval"] = self.once(".eval.json", self.play)
        result["same_state"] = self.once(".same.json", lambda path: self.run("diagnose", bundle, "--threads", "1", "--json=" + path))["same_state"]
        result["revision"] = self.parts(bundle)["q"]["provenance"]["revision"]
        for arm in result["eval"]["arms"].values():
            for single in ("episode_returns", "episode_lengths", "episodes_won"):
                arm.pop(single, None)
        return result


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--dir", default="equal_time")
    parser.add_argument("--out")
    args = parser.parse_args()
    if len(args.files) < 2:
        parser.error("name the program and a setting")
    os.makedirs(args.dir, exist_ok=True)
    settings = {setting: Comparison(args, setting).whole() for setting in args.files[1:]}
    if args.out:
        version = subprocess.run([args.files[0], "--version"], check=True, capture_output=True, text=True).stdout.strip()
        with open(args.out, "w") as file:
            about = {**provenance(), "revision": ", ".join(sorted({result["revision"] for result in settings.values()}))}
            json.dump({**about, "cpu": processor(), "version": version, "settings": settings}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
