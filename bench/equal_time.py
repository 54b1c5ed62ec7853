"""Selectors at equal training time: every other selector learns for as long as the world model of a bundle that comes with mawam did, in processor
time of one thread, and then they choose among the same candidates on tuning seeds. Run: python3 bench/equal_time.py [--mawam build/mawam]
[--dir equal_time] SETTING...; it goes on where it was interrupted. Prints rows of Markdown; DIR/SETTING.json has the numbers."""
import argparse
import json
import os
import resource
import subprocess

SELECTORS = ["mono", "independent", "q", "direct"]
ARMS = ["paper"] + SELECTORS  # paper: the world model, candidates as drawn
EPISODES = {"spread": 60, "tag": 60, "world": 60, "2ant": 8, "4ant": 8}
SHORT, LONG, ROUNDS = 20, 120, 4  # steps, whose difference tells; in turns, and the least counts, because others use the machine too


def used():
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


class Comparison:
    def __init__(self, options, setting):
        self.mawam = options.mawam
        self.setting = setting
        self.task = setting.split("-")[0]
        self.file = lambda suffix: os.path.join(options.dir, setting + suffix)
        self.folder = os.path.join(options.dir, "data")
        self.data = os.path.join(self.folder, setting)

    def run(self, *words):
        subprocess.run([self.mawam, *words], check=True, stdout=subprocess.DEVNULL)

    def train(self, models, steps, out, *more):
        settings = [word for model in models for word in ("--set", "%s.steps=%d" % (model, steps[model]))]
        self.run("train", self.data, "--only", ",".join(models), "--with", self.setting, "--threads", "1", "-o", out, *settings, *more)

    def seconds(self, model, steps):
        before = used()
        self.train([model], {model: steps}, self.file(".timed.safetensors"), "--overwrite", "--set", "data.held_out=0")  # short runs validate often
        return used() - before

    def seconds_of_a_step(self):
        models = ["rwm"] + SELECTORS
        spent = [[[self.seconds(model, steps) for steps in (SHORT, LONG)] for model in models] for _ in range(ROUNDS)]
        least = {model: [min(turn[i][end] for turn in spent) for end in (0, 1)] for i, model in enumerate(models)}
        return {model: (least[model][1] - least[model][0]) / (LONG - SHORT) for model in models}

    def steps(self):
        if not os.path.exists(self.file(".steps.json")):
            shown = subprocess.run([self.mawam, "bundle", "info", self.setting, "--json"], check=True, capture_output=True).stdout
            taken = next(part["configuration"]["steps"] for part in json.loads(shown)["parts"] if part["name"] == "rwm")
            cost = self.seconds_of_a_step()
            steps = {model: round(taken * cost["rwm"] / cost[model], -1) for model in SELECTORS}
            with open(self.file(".steps.json"), "w") as out:
                json.dump({"seconds_of_a_step": cost, "steps": {"rwm": taken, **steps}}, out)
        with open(self.file(".steps.json")) as file:
            return json.load(file)

    def whole(self):
        if not os.path.isdir(self.data):
            self.run("data", "make", self.setting, "-o", self.folder)
        result = self.steps()
        bundle = self.file(".safetensors")
        self.train(SELECTORS, result["steps"], bundle, "--resume")
        ceiling = [] if self.task.endswith("ant") else ["ceiling"]
        if not os.path.exists(self.file(".eval.json")):
            self.run("eval", bundle, "--arms", ",".join(["reactive", "random"] + ARMS + ceiling), "--first-seed", "1", "--seeds", "3", "--episodes",
                     str(EPISODES.get(self.task, 100)), "--threads", "1", "--timed", "0", "--json=" + self.file(".eval.json"))
        if not os.path.exists(self.file(".same.json")):
            self.run("diagnose", bundle, "--threads", "1", "--json=" + self.file(".same.json"))
        for part, suffix in (("eval", ".eval.json"), ("same_state", ".same.json")):
            with open(self.file(suffix)) as file:
                result[part] = json.load(file)
        with open(self.file(".json"), "w") as out:
            json.dump(result, out)
        return result


def rows(setting, result):
    arms, same = result["eval"]["arms"], result["same_state"]["same_state"]
    steps = "| %s: steps | | %s |" % (setting, " | ".join("%d" % result["steps"][name] for name in ["rwm"] + SELECTORS))
    gains = "| gain in return | %.2f | %s |" % (arms["reactive"]["return"], " | ".join(
        "%.2f [%.2f, %.2f]" % tuple(arms[arm]["gain"][end] for end in ("mean", "low", "high")) for arm in ARMS))
    regret = "| same-state normalised regret | %.3f | %s |" % (same["random_normalized_regret"], " | ".join(
        "%.3f" % same["scorers"][name]["normalized_regret"] for name in ["rwm"] + SELECTORS))
    return "\n".join((steps, gains, regret))


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--mawam", default="build/mawam")
parser.add_argument("--dir", default="equal_time")
parser.add_argument("settings", nargs="+")
options = parser.parse_args()
os.makedirs(options.dir, exist_ok=True)
print("| | Reactive, Random | rwm | %s |\n|---|---|%s" % (" | ".join(SELECTORS), "---|" * len(ARMS)), flush=True)
for name in options.settings:
    print(rows(name, Comparison(options, name).whole()), flush=True)
