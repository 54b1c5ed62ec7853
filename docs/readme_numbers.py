#!/usr/bin/env python3
"""The numbers of the README and of docs/selectors.md, from the files in results/.

What stands between `<!-- NAME: from FILE -->` and `<!-- end -->` is written here (`make numbers`) and nowhere else;
`--check` compares instead, also docs/speed.md with the measurements it shows, and refuses a README that has a result
outside such a block."""
import collections
import csv
import json
import pathlib
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ("README.md", "docs/selectors.md")  # those with blocks
FAMILIES = (("all", "all"), ("mpe", "particle worlds"), ("battle", "battles"), ("ant", "Ant"))


def read(name):
    return json.loads((ROOT / "results" / name).read_text())


def percent(value):
    return "-" if value in (None, "") else f"{100 * float(value):+.1f}%"


def gain(row):
    low, high = row["relative_gain_reactive_low"], row["relative_gain_reactive_high"]
    return f"{row['setting']} {percent(row['relative_gain_reactive'])} ({percent(low)} to {percent(high)})"


def reported(arm):
    return arm["return"] if arm.get("score") is None else arm["score"]


def written(number, digits):
    return "-" if number is None else f"{round(number, digits) + 0:.{digits}f}"  # + 0: never -0.0


STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}  # by the number of seeds: the 97.5% quantile


def clearly(longer, usual):
    """Whether the seeds' paired means tell two plans apart: Student's interval, as in the report."""
    pairs = [a - b for a, b in zip(longer["seed_returns"], usual["seed_returns"])]
    half = STUDENT[len(pairs)] * statistics.stdev(pairs) / len(pairs) ** 0.5
    mean = statistics.mean(pairs)
    return "clearly more" if mean > half else "clearly less" if mean < -half else "not clearly"


def trained_longer():
    """The same policy beside a world model of the published steps, as far as there are some."""
    told = []
    for path in sorted((ROOT / "results/longer/settings").glob("*.json")):
        longer, usual = (json.loads(file.read_text())
                         for file in (path, ROOT / "results/paper/settings" / path.name))
        plans = [run["eval"]["arms"]["plan"] for run in (usual, longer)]
        before, after = map(reported, plans)
        regrets = [run["same_state"]["normalized_regret"] for run in (usual, longer)]
        digits = 1 if plans[1].get("score") is not None else 0
        told.append(f"{path.stem} {written(after, digits)} instead of {written(before, digits)} "
                    f"({clearly(plans[1], plans[0])}; same-state regret {regrets[1]:.3f} instead of {regrets[0]:.3f})")
    if told:
        yield ""
        yield f"- Planning with its world model trained for the published 100,000 steps: {'; '.join(told)}."


def by_the_paper():
    """A table of its own: the paper's method as far as it has been run here, mawam's beside it."""
    files = sorted((ROOT / "results/paper/settings").glob("*.json"))
    if not files:
        return
    yield ""
    yield "The paper's own method (`--method paper`, at the size of a CPU), as far as it has been run here; spread, tag and"
    yield "world in normalised scores (0: random play, 100: expert), the others in returns:"
    yield ""
    yield "| setting | data | policy alone | planning | by the true simulator | mawam's: policy alone | planning |"
    yield "|---|---|---|---|---|---|---|"
    for path in (file for file in files if (ROOT / "results/settings" / file.name).exists()):
        theirs, ours = (json.loads(file.read_text()) for file in (path, ROOT / "results/settings" / path.name))
        arms, own = theirs["eval"]["arms"], ours["eval"]["arms"]
        data = theirs["data"].get("score", theirs["data"]["return"]["mean"])
        gain = arms["plan"]["gain"]
        mark = " (clearly better)" if gain["low"] > 0 else " (clearly worse)" if gain["high"] < 0 else ""
        played = [arms.get(name) for name in ("reactive", "plan", "oracle")] + [own["reactive"], own["plan"]]
        numbers = [data] + [reported(arm) if arm else None for arm in played]
        digits = 0 if max(abs(number) for number in numbers if number is not None) >= 1000 else 1
        cells = [written(number, digits) for number in numbers]
        cells[2] += mark
        yield f"| {path.stem} | {' | '.join(cells)} |"
    yield from trained_longer()


def over_training_seeds(summary):
    """Bundles of further training seeds, as far as there are some."""
    again = [json.loads(path.read_text())["eval"]["arms"]["plan"]["gain"]
             for path in sorted((ROOT / "results/seeds").glob("*/settings/*.json"))]
    spread = [row["std_training_seeds"] / row["std_evaluation_seeds"] for row in summary["uncertainty"].values()
              if row["std_training_seeds"] is not None]
    if again and spread:
        yield (f"- Trained again from other seeds on {len(spread)} of the settings ({len(again)} further bundles, same "
               f"data, same episodes): planning is better than the policy alone in {sum(g['mean'] > 0 for g in again)} of "
               f"{len(again)}, clearly in {sum(g['low'] > 0 for g in again)}, clearly worse in "
               f"{sum(g['high'] < 0 for g in again)}. The standard deviation of its gain over training seeds is "
               f"{statistics.median(spread):.1f} times that over evaluation seeds (median; {min(spread):.1f} to "
               f"{max(spread):.1f}).")


JUDGES = {"rwm": "paper", "mono": "mono", "independent": "independent", "q": "q", "direct": "direct"}  # their arms


def gains_of(result):
    return {name: result["eval"]["arms"][arm]["gain"] for name, arm in JUDGES.items()}


def best_judges():
    """In how many settings each has the largest mean, where all have learned for as long."""
    every = map(gains_of, read("equal_time.json")["settings"].values())
    return collections.Counter(max(gains, key=lambda name: gains[name]["mean"]) for gains in every)


def results():
    summary = read("summary.json")
    with (ROOT / "results/settings.csv").open() as file:
        rows = list(csv.DictReader(file))
    played = [row for row in rows if row["relative_gain_reactive"]]
    yield "| planning against the policy alone | better | clearly | clearly worse | median gain | gain in the aggregate |"
    yield "|---|---|---|---|---|---|"
    for key, name in FAMILIES:
        part = (summary["all"] if key == "all" else summary["families"][key])["plan_vs_reactive"]
        yield (f"| {name} | {part['wins']} of {part['settings']} | {part['clear_wins']} | {part['clear_losses']} | "
               f"{percent(part['median_relative_gain'])} | {percent(part['aggregate_relative_gain'])} |")
    yield ""
    if len(played) < len(rows):
        missing = ", ".join(row["setting"] for row in rows if row not in played)
        yield f"- These are {len(played)} of the {len(rows)} settings; still to be run: {missing}."
    every = summary["all"]
    gains, random, data = every["plan_vs_reactive"], every["plan_vs_random"], every["plan_vs_data"]
    ranking = every["paper_vs_random"]
    yield (f"- With all settings looked at together (Holm, 5% in all): better in {gains['holm_wins']}, worse in "
           f"{gains['holm_losses']}.")
    yield (f"- Against a random choice among the same number of candidates: better in {random['wins']} of "
           f"{random['settings']}, clearly in {random['clear_wins']}. Among candidates as the policy draws them, on the "
           f"same episodes, the world model's choice alone: better in {ranking['wins']} of {ranking['settings']}, clearly in "
           f"{ranking['clear_wins']}, clearly worse in {ranking['clear_losses']}.")
    yield f"- Above the mean return of the data that was learned from: {data['wins']} of {data['settings']}."
    yield (f"- Where choosing by the true simulator clearly gains ({every['oracle_share_settings']} settings), planning by "
           f"the learned models reaches {every['oracle_share_median']:.2f} of that gain (median; particle worlds "
           f"{summary['families']['mpe']['oracle_share_median']:.2f}, battles "
           f"{summary['families']['battle']['oracle_share_median']:.2f}).")
    judges = summary["selectors"]
    if judges["settings"]:
        yield (f"- Of five learned judges of the same candidates as drawn ([docs/selectors.md](docs/selectors.md)), the "
               f"routed world model has the largest mean in {judges['rwm_best']} of {judges['settings']} settings; against "
               f"the best of the others it is clearly better in {judges['clear_wins']}, clearly worse in "
               f"{judges['clear_losses']} (the best of the others was picked on these same episodes, which favours it). With "
               f"as much training time for each, on tuning seeds (revision {read('equal_time.json')['revision']}): largest in "
               f"{best_judges()['rwm']} of {len(read('equal_time.json')['settings'])}.")
    yield from over_training_seeds(summary)
    ant = summary["families"]["ant"]["oracle_vs_reactive"]
    yield (f"- On Ant a learned advantage judges the candidates, because eight steps are too few to judge by: with even the "
           f"true simulator as judge of them, planning is clearly better than the policy alone in only {ant['clear_wins']} of "
           f"{ant['settings']} settings, clearly worse in {ant['clear_losses']}.")
    worse = [row for row in played if float(row["relative_gain_reactive"]) < 0]
    yield f"- Where planning came out below the policy alone: {'; '.join(map(gain, worse)) or 'nowhere'}."
    yield f"- All else is of revision {summary['revision']}."
    yield from by_the_paper()


def decisions():
    report = read("decision.json")
    yield "| bundle | mawam ms (p95) | PyTorch ms | ratio |"
    yield "|---|---|---|---|"
    for row in report["bundles"]:
        p50, p95 = (statistics.median(run["decision"][share] for run in row["mawam"]) for share in ("p50", "p95"))
        torch = min(statistics.median(times) for times in row["torch"].values())
        yield f"| {row['bundle']} | {p50:.2f} ({p95:.2f}) | {torch:.1f} | {torch / p50:.1f}x |"
    yield ""
    yield (f"{report['cpu']}, {report['threads']} threads, eight candidates; PyTorch {report['torch'].removesuffix('a0')} on "
           f"{report['blas']['name']}.")


def quickstart():
    yield "```"
    yield from (ROOT / "results/quickstart.txt").read_text().splitlines()
    yield "```"


def equal_time():
    """What each selector gains over the policy alone, and how often it is the best of the five."""
    report = read("equal_time.json")
    settings = report["settings"]
    best, clear, worse = best_judges(), collections.Counter(), collections.Counter()
    yield f"| setting | policy alone | random | {' | '.join(JUDGES)} | ceiling |"
    yield "|---|---|---|" + "---|" * (len(JUDGES) + 1)
    for setting, result in settings.items():
        arms = result["eval"]["arms"]
        gains = gains_of(result)
        top = max(gains, key=lambda name: gains[name]["mean"])
        clear.update(name for name, gain in gains.items() if gain["low"] > 0)
        worse.update(name for name, gain in gains.items() if gain["high"] < 0)
        digits = 2 if arms["reactive"]["return"] < 1000 else 0
        interval = {name: f"{gain['mean']:+.{digits}f} [{written(gain['low'], digits)}, {written(gain['high'], digits)}]"
                    for name, gain in gains.items()}
        interval[top] = f"**{interval[top]}**"
        others = [f"{arms[arm]['gain']['mean']:+.{digits}f}" if arm in arms else "-" for arm in ("random", "ceiling")]
        yield (f"| {setting} | {arms['reactive']['return']:.{digits}f} | {others[0]} | {' | '.join(interval.values())} | "
               f"{others[1]} |")
    yield ""
    yield "| same-state normalised regret; steps | random | " + " | ".join(JUDGES) + " |"
    yield "|---|---|" + "---|" * len(JUDGES)
    for setting, result in settings.items():
        same = result["same_state"]
        cells = [f"{same['scorers'][name]['normalized_regret']:.3f}; {result['steps'][name]:,}" for name in JUDGES]
        yield f"| {setting} | {same['random_normalized_regret']:.3f} | {' | '.join(cells)} |"
    yield ""
    yield (f"- Largest mean: {', '.join(f'`{name}` in {best[name]}' for name in JUDGES)} of {len(settings)}; clearly "
           f"above the policy alone: {', '.join(f'`{name}` in {clear[name]}' for name in JUDGES)}; clearly below: "
           f"{', '.join(f'`{name}` in {worse[name]}' for name in JUDGES if worse[name]) or 'none'}.")
    yield f"- {report['command']}; revision {report['revision']}, {report['cpu']}."


BLOCKS = {"results": results, "decisions": decisions, "quickstart": quickstart, "equal_time": equal_time}
MARK = re.compile(r"(<!-- (\w+): from [^>]*-->\n).*?(<!-- end -->)", re.S)


def wrapped(line, width=120):
    """Markdown that goes on in the next line; tables and code stay as they are."""
    if len(line) <= width or not line.startswith("- "):
        return [line]
    lines, rest = [], line
    while len(rest) > width:
        cut = rest.rindex(" ", 0, width + 1)
        lines, rest = lines + [rest[:cut]], "  " + rest[cut + 1:]
    return lines + [rest]


def filled(text):
    def block(match):
        lines = [part for line in BLOCKS[match[2]]() for part in wrapped(line)]
        return match[1] + "\n".join(lines) + "\n" + match[3]
    return MARK.sub(block, text)


def speed_rows():
    for r in read("speed.json")["results"]:
        if r["work"] in ("world", "policy") or (r["M"], r["envs"]) == (8, 1):
            yield (f"| {r['preset']} | {r['task']} | {r['work']} | {r['mawam_ms']:.2f} | {r['torch_ms']:.1f} | "
                   f"{r['ratio']:.1f}x | {100 * r['share_of_peak']:.0f}% |")


def complaints(readme):
    for page in PAGES:
        text = (ROOT / page).read_text()
        if filled(text) != text:
            yield f"{page}: numbers differ from results/; `make numbers` writes them"
    text = readme.read_text()
    bare = re.sub(r"95%|```.*?```|https?://\S+", "", MARK.sub("", text), flags=re.S)
    for found in re.findall(r".*\d(?:\.\d+)?(?:%|x\b| ms).*", bare):
        yield f"README.md: a result outside a block from results/: {found.strip()}"
    speed = (ROOT / "docs/speed.md").read_text()
    for row in speed_rows():
        if row not in speed:
            yield f"docs/speed.md: results/speed.json has a row that is not there: {row}"
    for page in [readme, *sorted((ROOT / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\(([^)#:]+)[^):]*\)", page.read_text()):
            if not (page.parent / target).exists():
                yield f"{page.relative_to(ROOT)}: a link to {target}, which is not there"


def main():
    readme = ROOT / "README.md"
    if sys.argv[1:] != ["--check"]:
        for page in PAGES:
            (ROOT / page).write_text(filled((ROOT / page).read_text()))
        return 0
    found = list(complaints(readme))
    print("\n".join(found) or "README and docs agree with results/")
    return 1 if found else 0


sys.exit(main())
