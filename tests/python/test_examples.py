"""The example scripts run, and the one that promises little code keeps the promise."""
import os
import random
import subprocess
import sys
import tokenize

import headers

EXAMPLES = headers.SOURCE / "examples" / "python"


def run(name, *arguments):
    """On one core, where threads that wait for each other wait least on a busy machine."""
    core = random.choice(sorted(os.sched_getaffinity(0)))
    done = subprocess.run([sys.executable, str(EXAMPLES / name), *map(str, arguments)], capture_output=True, text=True,
                          preexec_fn=lambda: os.sched_setaffinity(0, {core}))
    assert done.returncode == 0, done.stderr
    return done.stdout


def code_lines(path):
    """Lines with code: no blank ones, comments or docstrings."""
    lines, quiet = set(), (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
                           tokenize.ENCODING, tokenize.ENDMARKER)
    previous = tokenize.NEWLINE
    with open(path, "rb") as file:
        for token in tokenize.tokenize(file.readline):
            docstring = token.type == tokenize.STRING and previous in (tokenize.NEWLINE, tokenize.INDENT,
                                                                       tokenize.DEDENT, tokenize.ENCODING)
            if token.type not in quiet and not docstring:
                lines.update(range(token.start[0], token.end[0] + 1))
            if token.type not in (tokenize.NL, tokenize.COMMENT):
                previous = token.type
    return len(lines)


def test_own_world(tmp_path):
    assert code_lines(EXAMPLES / "own_world.py") < 40
    assert "planned" in run("own_world.py", tmp_path / "boats", 20)  # hardly trained


def test_first_steps(tiny_path, tmp_path):
    out = run("first_steps.py", tiny_path, tmp_path)
    assert "planned return" in out and "chosen" in out and (tmp_path / "episode.html").exists()


def test_parallel():
    assert "agent_2" in run("parallel.py", "3m")
    assert "agent_2" in run("parallel.py", "spread")


def test_every_example_is_run():
    with open(__file__, encoding="utf-8") as file:
        text = file.read()
    for path in EXAMPLES.glob("*.py"):
        assert f'"{path.name}"' in text
