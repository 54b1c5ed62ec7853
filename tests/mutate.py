#!/usr/bin/env python3
"""Breaks the program on purpose, one small way at a time, and says which of these the tests do not notice.

mutate.py BUILD [ONLY] applies the mutations of tests/mutations.txt, or those whose file or words match the regular
expression ONLY, in a copy of the tree in BUILD/mutate. For each it builds the test programs that are near and runs them;
where these pass, all fast tests run. Tests that compare whole results with recorded ones (PINNED) notice everything and
say nothing of what is meant, so they do not count. The exit code is 0 when every mutation is noticed or explained.
"""
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIST = os.path.join(SOURCE, "tests", "mutations.txt")
NEEDED, ALLOWED = {"file", "before", "after", "breaks", "tests"}, {"equivalent"}
PINNED = r"fingerprint"
# What is not run for all mutations: other levels and clients of the same tests, packages, inputs that were found by
# fuzzing, and what takes more than some ten seconds.
SLOW = (r"_v[234]$|_client$|^(replay_|python_|fuzz_|faults_|browser)|^test_(anywhere|baseline_more|deb|exports|"
        r"hostile_bundle|install|many_worlds|newcomer|numbers|own_world|picture|pip|robot_loop|shipped|slim|stop|study|"
        r"whole|zoo)$")
TIMEOUT = 300  # seconds that a test may take: a mutation may never end
DONE, SURVIVED, STALE, INTERRUPTED = 0, 1, 2, 130


class Refused(Exception):
    """The run makes no sense; the message says why."""


# ---- the list


def mutations():
    """The blocks of the list, as dictionaries."""
    found, block, first = [], {}, 0
    with open(LIST, encoding="utf-8") as stream:
        lines = stream.read().split("\n") + [""]
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            continue
        if line.strip():
            key, colon, value = line.partition(":")
            if not colon or key not in NEEDED | ALLOWED or key in block:
                raise Refused(f"{LIST}:{number}: expected one of {', '.join(sorted(NEEDED | ALLOWED))}, each once; "
                              f"found '{line}'")
            first = first or number
            block[key] = value[1:] if key in ("before", "after") else value.strip()
        elif block:
            if not NEEDED <= set(block):
                raise Refused(f"{LIST}:{first}: the mutation lacks {', '.join(sorted(NEEDED - set(block)))}")
            found.append(block)
            block, first = {}, 0
    return found


def applied(mutation, tree):
    """The file with the mutation in it."""
    path = os.path.join(tree, mutation["file"])
    try:
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
    except FileNotFoundError:
        raise Refused(f"the list is stale: {mutation['file']} is not there") from None
    count = text.count(mutation["before"])
    if count != 1 or mutation["before"] == mutation["after"]:
        raise Refused(f"the list is stale: in {mutation['file']} there is {count} times, not once, "
                      f"'{mutation['before']}'")
    return text.replace(mutation["before"], mutation["after"])


# ---- the copy


def write_changed(path, data):
    """Only what differs, so that no more is built than must be."""
    try:
        with open(path, "rb") as stream:
            if stream.read() == data:
                return
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as stream:
        stream.write(data)


def copy_tree(tree):
    """The tree as it is, with what is not committed yet and without what Git ignores."""
    command = ["git", "-C", SOURCE, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = {name for name in subprocess.check_output(command, text=True).split("\0")
             if name and os.path.isfile(os.path.join(SOURCE, name))}
    for name in names:
        with open(os.path.join(SOURCE, name), "rb") as stream:
            write_changed(os.path.join(tree, name), stream.read())
        shutil.copymode(os.path.join(SOURCE, name), os.path.join(tree, name))
    for folder, folders, files in os.walk(tree):
        if folder == tree:
            folders[:] = [f for f in folders if f != "build"]
        for name in files:
            path = os.path.join(folder, name)
            if os.path.relpath(path, tree) not in names:
                os.unlink(path)


class Copy:
    """The copy, its build and its tests."""

    def __init__(self, tree, jobs):
        self.tree, self.build, self.jobs = tree, os.path.join(tree, "build"), jobs
        self.environment = dict(os.environ, CCACHE_BASEDIR=tree, CCACHE_NOHASHDIR="1")
        self.clean = set()  # tests that pass without a mutation
        copy_tree(tree)
        options = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        self.run("cmake", "-G", "Ninja", "-DMAWAM_WERROR=ON", *options, "-B", self.build, "-S", tree, check=True)
        known = self.run("ninja", "-C", self.build, "-t", "targets", "all", check=True)
        targets = {line.split(":")[0] for line in known.split("\n")}
        listed = json.loads(self.run("ctest", "--test-dir", self.build, "--show-only=json-v1", check=True))
        names = [test["name"] for test in listed["tests"]]  # a script's or Python's test is of what is installed
        self.tests = {name: {name} if name in targets else {"mawam", "mawam_shared"} for name in names}
        for folder, _, files in os.walk(os.path.join(tree, "tests")):
            for name in files:
                stem, extension = os.path.splitext(name)
                if stem in self.tests and extension == ".c" and self.starts_program(os.path.join(folder, name)):
                    self.tests[stem].add("mawam")

    def run(self, *command, check=False):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              env=self.environment, check=False)
        if done.returncode in (-2, INTERRUPTED):
            raise KeyboardInterrupt
        if check and done.returncode:
            raise Refused(f"{' '.join(command)}:\n{done.stdout[-4000:]}")
        self.code = done.returncode
        return done.stdout

    def starts_program(self, path):
        """Does a test's source, or a header of the tests that it includes, know where the program is?"""
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
        headers = [os.path.join(folder, name) for name in re.findall(r'#include "([^"]+)"', text)
                   for folder in (os.path.join(self.tree, "tests"), os.path.dirname(path))]
        return "MAWAM_PROGRAM" in text or any(map(self.starts_program, filter(os.path.exists, headers)))

    def matching(self, pattern):
        return {name for name in self.tests if re.search(pattern, name)}

    def fast(self):
        return {name for name in self.tests if not re.search(f"{SLOW}|{PINNED}", name)}

    def make(self, names):
        """None, or why the tests cannot be built."""
        targets = sorted(set().union(*(self.tests[name] for name in names)))
        out = self.run("ninja", "-C", self.build, "-j", self.jobs, *targets)
        return out if self.code else None

    def failing(self, names, all_of_them=False):
        """The tests that fail, at most one of them unless all are asked for."""
        if not names:
            return []
        pattern = "^(" + "|".join(map(re.escape, sorted(names))) + ")$"
        out = self.run("ctest", "--test-dir", self.build, "-R", pattern, "--timeout", str(TIMEOUT),
                       *([] if all_of_them else ["--stop-on-failure"]))
        failed = re.findall(r"^\s+\d+ - (\S+) \((?!Skipped)", out, re.M)
        return failed or ([out[-300:]] if self.code else [])

    def check_clean(self, names):
        """Only tests that pass without a mutation can notice one."""
        names = names - self.clean
        if not names:
            return
        problem = self.make(names)
        if problem:
            raise Refused(f"without any mutation the tree does not build:\n{problem[-4000:]}")
        failed = self.failing(names, all_of_them=True)
        if failed:
            raise Refused(f"without any mutation these tests fail: {' '.join(failed)}")
        self.clean |= names

    def put(self, name, text=None):
        """A file as it is given, or as it is in the tree."""
        if text is None:
            with open(os.path.join(SOURCE, name), encoding="utf-8") as stream:
                text = stream.read()
        write_changed(os.path.join(self.tree, name), text.encode())

    def notices(self, mutation, names):
        """The test that notices; None: no test does."""
        self.put(mutation["file"], applied(mutation, SOURCE))
        problem = self.make(names)
        if problem:
            raise Refused(f"{mutation['file']} does not compile with '{mutation['after']}':\n{problem[-3000:]}")
        failed = self.failing(names)
        return failed[0] if failed else None

    def try_out(self, mutation):
        near = self.matching(mutation["tests"]) - self.matching(PINNED)
        by = self.notices(mutation, near)
        others = self.fast() - near
        if by is None and others - self.clean:
            self.put(mutation["file"])
            self.check_clean(others)
        if by is None:
            by = self.notices(mutation, others)
        self.put(mutation["file"])
        return by


# ---- the run


def words_of(mutation):
    return f"{mutation['file']}: {mutation['breaks']}"


def summary(total, results, equivalent):
    survived = [m for m, by in results if by is None and "equivalent" not in m]
    noticed = len(results) - len(survived) - len(equivalent)
    why = "".join(f"\n  equivalent, {words_of(m)}: {m['equivalent']}" for m in equivalent)
    for m in survived:
        print(f"\nSURVIVED {words_of(m)}\n  - {m['before'].strip()}\n  + {m['after'].strip()}\n  near: {m['tests']}")
    rest = f", {total - len(results)} not tried" if len(results) < total else ""
    print(f"\n{total} mutations: {noticed} noticed, {len(equivalent)} equivalent, {len(survived)} survived{rest}{why}")
    return len(survived)


def try_all(copy, chosen, results):
    copy.check_clean(set().union(*(copy.matching(m["tests"]) for m in chosen)) - copy.matching(PINNED))
    for mutation in chosen:
        started = time.monotonic()
        by = copy.try_out(mutation)
        if by and "equivalent" in mutation:
            raise Refused(f"{words_of(mutation)}: called equivalent, but {by} notices it")
        results.append((mutation, by))
        told = by or ("equivalent" if "equivalent" in mutation else "SURVIVED")
        print(f"{time.monotonic() - started:6.1f} s  {told:22} {words_of(mutation)}", flush=True)


def main(build, only=""):
    all_of_them = mutations()
    for mutation in all_of_them:
        applied(mutation, SOURCE)
    chosen = [m for m in all_of_them if re.search(only, words_of(m))]
    if not chosen:
        raise Refused(f"no mutation's file or words match '{only}'")
    tree = os.path.join(os.path.abspath(build), "mutate")
    os.makedirs(tree, exist_ok=True)
    with open(os.path.join(os.path.dirname(tree), ".mutate.lock"), "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(f"another run is at work in {tree}") from None
        copy = Copy(tree, os.environ.get("JOBS", str(os.cpu_count())))
        unknown = [m["tests"] for m in chosen if not copy.matching(m["tests"])]
        if unknown:
            raise Refused(f"the list is stale: no test is called {', '.join(unknown)}")
        results, code = [], DONE
        try:
            try_all(copy, chosen, results)
        except KeyboardInterrupt:
            code = INTERRUPTED
        equivalent = [m for m, by in results if "equivalent" in m]
        survived = summary(len(chosen), results, equivalent)
        return code or (SURVIVED if survived else DONE)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    try:
        sys.exit(main(*sys.argv[1:]))
    except Refused as refusal:
        print(refusal, file=sys.stderr)
        sys.exit(STALE)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
