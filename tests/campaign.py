#!/usr/bin/env python3
"""The long campaign: fuzzes every target and provokes every fault for some hours, and records the counts.

campaign.py BUILD FUZZ_BUILD HOURS [fuzz|faults] works in slices until the time is over or Ctrl-C, always on the job that
has had least of its share of the time; after every slice results/reliability.json holds what was done so far. A campaign
of the same revision is added to; another revision starts anew. campaign.py table writes the table of docs/reliability.md
from that file.
"""
import concurrent.futures
import datetime
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RESULT = os.path.join(SOURCE, "results", "reliability.json")
DOCUMENT = os.path.join(SOURCE, "docs", "reliability.md")
BEGIN, END = "<!-- campaign -->\n", "<!-- end of campaign -->\n"
# Seconds of an hour and a half of one core, from which shares of any other time follow. In a second of a core npy runs
# 150,000 times, json 100,000, safetensors 60,000, most others 2,000 to 20,000, bundle 800, hdf5 110, report 30: a core
# of half that speed still comes to 10^8 runs in all and 10,000 of each.
SHARES = {"npy": 1000, "json": 450, "safetensors": 200, "report": 620, "hdf5": 200, "bundle": 80}
TARGET = 45  # those that are not named
FAULT_SHARES = {"train": 200, "study": 250, "make": 100, "eval": 100, "behavior-train": 120, "import-madiff": 120,
                "check": 60, "diagnose": 80, "routing": 80, "sweep": 80, "live": 80, "report": 80, "demo": 60,
                "cost": 60, "export": 60, "import-hdf5": 60, "zoo": 60}
COMMAND = 25  # those that are not named
# The longest inputs: larger ones only take longer, but for files that are large by nature.
LARGEST = {"npy": 512, "json": 1024, "safetensors": 1024, "settings": 256, "command": 256, "snapshot": 256, "http": 2560,
           "hdf5": 65536, "behavior": 131072, "bundle": 16384, "report": 16384}
MORE_INPUTS = {"npy": ["tests/data/npy"], "behavior": ["behaviors"], "hdf5": ["tests/data/import/hdf5"]}
# Failures of a kind in a slice of the slower commands; in the others at every place there is.
MOST = {"import-hdf5": 100, "export": 100, "make": 100, "report": 60, "train": 30, "eval": 20, "diagnose": 20, "bench": 20,
        "behavior-train": 20, "study": 5, "demo": 3, "bundle-info": 500, "bundle-csv": 500, "zoo": 100, "sweep": 60,
        "routing": 40, "cost": 5, "live": 300, "pack": 200}
FUZZ_SLICE, FAULTS = 60, ("injected", "files", "disks", "kills", "differences", "signals", "outputs", "cores", "writers",
                          "cuts", "violations")


def output_of(*command):
    return subprocess.run(command, cwd=SOURCE, capture_output=True, text=True, check=False).stdout.strip()


def revision():
    """Of the source as it is; what this script writes itself does not count as a change."""
    changed = output_of("git", "status", "--porcelain", "--untracked-files=no", "--", ".",
                        *(f":!{os.path.relpath(path, SOURCE)}" for path in (RESULT, DOCUMENT)))
    return output_of("git", "describe", "--always", "--tags") + ("-dirty" if changed else "")


class Campaign:
    """The counts, and the file that holds them after every slice."""

    def __init__(self, mawam):
        self.lock, self.over = threading.Lock(), False
        self.revision = revision()
        self.counts = {"revision": self.revision, "date": "", "cpu": "", "command": "", "hours": 0.0, "fuzz": {},
                       "faults": dict.fromkeys(FAULTS, 0)}
        try:
            with open(RESULT, encoding="utf-8") as file:
                earlier = json.load(file)
            if earlier["revision"] == self.revision:
                self.counts = earlier
        except (OSError, ValueError, KeyError):
            pass
        self.counts["cpu"] = output_of(mawam, "--version")
        self.counts["command"] = "make campaign"

    def add(self, part, name, numbers, seconds):
        """Adds one slice and saves."""
        with self.lock:
            entry = self.counts[part].setdefault(name, {}) if name else self.counts[part]
            for key, value in numbers.items():
                entry[key] = entry.get(key, 0) + value
            self.counts["hours"] = round(self.counts["hours"] + seconds / 3600, 4)
            self.counts["date"] = datetime.date.today().isoformat()
            os.makedirs(os.path.dirname(RESULT), exist_ok=True)
            with open(RESULT + ".tmp", "w", encoding="utf-8") as file:
                json.dump(self.counts, file, indent=2, sort_keys=True)
                file.write("\n")
            os.replace(RESULT + ".tmp", RESULT)


def fuzz_slice(build, target, seconds, seed):
    """Runs one target and counts what came of it."""
    folder = os.path.join(SOURCE, build)
    corpus, crashes = (os.path.join(folder, name) for name in (f"corpus/{target}", "crashes"))
    os.makedirs(corpus, exist_ok=True)
    os.makedirs(crashes, exist_ok=True)
    more = [os.path.join(SOURCE, path) for path in MORE_INPUTS.get(target, ())]
    log = subprocess.run([os.path.join(folder, f"fuzz_{target}"), corpus,
                          os.path.join(SOURCE, "tests", "data", "fuzz", target), *more, f"-max_total_time={seconds}",
                          f"-seed={seed}", f"-max_len={LARGEST.get(target, 4096)}", "-timeout=60", "-reload=0",
                          "-rss_limit_mb=1024", "-print_final_stats=1", f"-artifact_prefix={crashes}/{target}-"],
                         capture_output=True, text=True, errors="replace", check=False, stdin=subprocess.DEVNULL,
                         start_new_session=True)
    runs = re.search(r"number_of_executed_units: *(\d+)", log.stderr)
    found = {"runs": int(runs.group(1)) if runs else 0, "crashes": 0, "hangs": 0, "leaks": 0}
    if log.returncode != 0 and "libFuzzer: run interrupted" not in log.stderr:  # below 0: killed by a signal
        kind = "hangs" if "libFuzzer: timeout" in log.stderr else "leaks" if "LeakSanitizer" in log.stderr else "crashes"
        found[kind] = 1
        print(f"{target}: {kind}: {log.stderr[-2000:]}", flush=True)
    return found


def faults_slice(build, name, most, seed):
    """Provokes `most` failures of every kind in one command; 0: all there are."""
    with tempfile.NamedTemporaryFile("r", suffix=".counts") as counts:
        log = subprocess.run([os.path.join(SOURCE, "tests", "faults", "run.sh"), build, str(most), name],
                             cwd=SOURCE, capture_output=True, text=True, errors="replace", check=False,
                             env=dict(os.environ, SEED=str(seed), COUNTS=counts.name), stdin=subprocess.DEVNULL,
                             start_new_session=True)
        numbers = {key: int(value) for key, value in (line.split() for line in counts)}
    if log.returncode != 0 or not numbers:
        print(log.stdout[-2000:], log.stderr[-2000:], flush=True)
    return numbers


class Job:
    """One target or one command, and how much of its share of the time it has had."""

    def __init__(self, part, name, share, run):
        self.part, self.name, self.share, self.run, self.spent = part, name, share, run, 0.0


def work(campaign, jobs, until, seeds):
    """Again and again the job that has had least of its share; one under way counts as if it had had a minute."""
    while time.time() < until and not campaign.over:
        with campaign.lock:
            job = min(jobs, key=lambda each: each.spent / each.share)
            job.spent += FUZZ_SLICE
            seed = next(seeds)
        begin = time.time()
        numbers = job.run(max(10, min(FUZZ_SLICE, job.share / 2, until - begin)), seed)
        seconds = time.time() - begin
        if not numbers and not campaign.over:  # what broke before it could count has not passed
            numbers = {"violations": 1}
        campaign.add(job.part, job.name if job.part == "fuzz" else None, numbers, seconds)
        with campaign.lock:
            job.spent += seconds - FUZZ_SLICE
        print(f"{job.part} {job.name}: {numbers}", flush=True)


def all_targets():
    return sorted(name[5:-2] for name in os.listdir(os.path.join(SOURCE, "tests", "fuzz"))
                  if name.startswith("fuzz_") and name.endswith(".c"))


def all_commands():
    with open(os.path.join(SOURCE, "tests", "faults", "run.sh"), encoding="utf-8") as file:
        return " ".join(re.findall(r"^(?:readers|writers)=\((.*)\)$", file.read(), re.M)).split()


def all_jobs(build, fuzz_build, hours, only):
    """Targets and commands in turn, or only one of the two kinds, with their shares in seconds."""
    fuzz = [Job("fuzz", name, SHARES.get(name, TARGET),
                lambda seconds, seed, n=name: fuzz_slice(fuzz_build, n, int(seconds), seed)) for name in all_targets()]
    faults = [Job("faults", name, FAULT_SHARES.get(name, COMMAND),
                  lambda _, seed, n=name: faults_slice(build, n, MOST.get(n, 0), seed)) for name in all_commands()]
    jobs = [job for pair in itertools.zip_longest(fuzz, faults) for job in pair if job and only in ("", job.part)]
    whole = sum(job.share for job in jobs)
    for job in jobs:
        job.share *= hours * 3600 / whole
    return jobs


def run(build, fuzz_build, hours, only=""):
    """Until the time is over, on as many cores as JOBS says. Ctrl-C lets the slices under way finish."""
    campaign = Campaign(os.path.join(SOURCE, build, "mawam"))

    def stop(*_):
        campaign.over = True
        print("the slices under way are finished first", flush=True)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    count = int(os.environ.get("JOBS", os.cpu_count() or 1))
    jobs, seeds = all_jobs(build, fuzz_build, hours * count, only), itertools.count(int(time.time()))
    until = time.time() + hours * 3600
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        for worker in [pool.submit(work, campaign, jobs, until, seeds) for _ in range(count)]:
            worker.result()
    table()


def table():
    """The table of the document, from the recorded counts."""
    with open(RESULT, encoding="utf-8") as file:
        counts = json.load(file)
    none = {"runs": 0, "crashes": 0, "hangs": 0, "leaks": 0}
    fuzz, faults = {target: counts["fuzz"].get(target, none) for target in all_targets()}, counts["faults"]
    total = {key: sum(entry[key] for entry in fuzz.values()) for key in ("runs", "crashes", "hangs", "leaks")}
    head = (f"Revision {counts['revision']}, {counts['date']}, {counts['cpu']}, {counts['hours']:.1f} core hours: "
            f"{counts['command']}.")
    rows = [textwrap.fill(head, 120), "", "| target | runs | crashes | hangs | leaks |", "|---|---|---|---|---|"]
    for name, entry in sorted(fuzz.items()) + [("all", total)]:
        rows.append(f"| {name} | {entry['runs']:,} | {entry['crashes']} | {entry['hangs']} | {entry['leaks']} |")
    rows += ["", "| provoked | times |", "|---|---|"]
    titles = {"injected": "allocations that failed", "files": "calls to do with files that failed or came by halves",
              "disks": "full disks", "kills": "kills", "differences": "... after which the bits were different",
              "signals": "signals", "outputs": "closed or full outputs", "cores": "machines of 17 or 64 cores",
              "writers": "two writers at once", "cuts": "data files cut short under a reader", "violations": "violations of all of these"}
    rows += [f"| {title} | {faults.get(key, 0):,} |" for key, title in titles.items()]
    with open(DOCUMENT, encoding="utf-8") as file:
        text = file.read()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    with open(DOCUMENT, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + "\n".join(rows) + "\n" + END + after)
    print("\n".join(rows))


if __name__ == "__main__":
    if sys.argv[1:] == ["table"]:
        table()
    else:
        run(sys.argv[1], sys.argv[2], float(sys.argv[3]), *sys.argv[4:])
