#!/usr/bin/env python3
"""The numbers of the README, of docs/selectors.md and docs/speed.md, from the files in results/.

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
PAGES = ("README.md", "docs/selectors.md", "docs/speed.md")  # those with blocks
FAMILIES = (("all", "all"), ("mpe", "particle worlds"), ("battle", "battles"), ("ant", "Ant"))


def read(name):
    return json.loads((ROOT / "results" / name).read_text())


def percent(value):
    return "-" if value in (None, "") else f"{100 * float(value):+.1f}%"


def gain(row):
    low, high = row["relative_gain_reactive_low"], row["relative_gain_reactive_high"]
    return f"{row['setting']} {percent(row['relative_gain_reactive'])} ({percent(low)} to {percent(high)})"


def written(number, digits):
    return "-" if number is None else f"{round(number, digits) + 0:.{digits}f}"  # + 0: never -0.0


def by_the_paper(summary, rows):
    """The paper's method, as far as it has been run here; mawam's on the same settings beside it."""
    theirs = summary["branches"].get("paper")
    if not theirs:
        return
    gains, alone = theirs["plan_vs_reactive"], theirs["reactive_vs_data"]
    theirs_too = {path.stem for path in (ROOT / "results/paper/settings").glob("*.json")}
    ours = [(float(row["reactive"]) - float(row["data"])) / abs(float(row["data"])) for row in rows
            if row["setting"] in theirs_too]
    yield (f"- The paper's own method (`--method paper`, at the size of a CPU) on {gains['settings']} settings: planning is "
           f"better than its own policy in {gains['wins']}, clearly in {gains['clear_wins']}, clearly worse in "
           f"{gains['clear_losses']}; median gain {percent(gains['median_relative_gain'])}. Its policy alone differs from "
           f"the data it learned from by {percent(alone['median_relative_gain'])} in the median, mawam's by "
           f"{percent(statistics.median(ours) if ours else None)}; [why](docs/experiments.md#findings).")


def over_training_seeds():
    """Bundles of further training seeds, as far as there are some."""
    paths = list((ROOT / "results/seeds").glob("*/settings/*.json"))
    again = [json.loads(path.read_text())["eval"]["arms"]["plan"]["gain"] for path in paths]
    settings = {path.stem for path in paths}
    if again:
        yield (f"- Trained again from other seeds ({len(again)} further bundles of {len(settings)} settings): better in "
               f"{sum(g['mean'] > 0 for g in again)}, clearly in {sum(g['low'] > 0 for g in again)}.")


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
    gains = every["plan_vs_reactive"]
    yield (f"- With all settings looked at together (Holm, 5% in all): better in {gains['holm_wins']}, worse in "
           f"{gains['holm_losses']}.")
    random, data, ranking = every["plan_vs_random"], every["plan_vs_data"], every["paper_vs_random"]
    yield (f"- Better than a random choice among the same number of candidates in {random['wins']} of "
           f"{random['settings']}, clearly in {random['clear_wins']}; above the mean return of the data that was learned "
           f"from in {data['wins']}, clearly in {data['clear_wins']}, clearly below in {data['clear_losses']}.")
    yield (f"- The world model's choice alone, among candidates as the policy draws them, is better than a random one in "
           f"{ranking['wins']} of {ranking['settings']}, clearly in {ranking['clear_wins']}, clearly worse in "
           f"{ranking['clear_losses']}.")
    yield (f"- Where choosing by the true simulator clearly gains ({every['oracle_share_settings']} settings), planning "
           f"reaches {every['oracle_share_median']:.2f} of that gain (median).")
    yield from over_training_seeds()
    worse = [row for row in played if float(row["relative_gain_reactive"]) < 0]
    yield f"- Below the policy alone: {'; '.join(map(gain, worse)) or 'nowhere'}."
    judges = summary["selectors"]
    if judges["settings"]:
        yield (f"- Of five learned judges ([docs/selectors.md](docs/selectors.md)) the routed world model has the largest "
               f"mean in {judges['rwm_best']} of {judges['settings']} settings. In {judges['clear_losses']} the best of the "
               f"others is clearly better, in {judges['clear_wins']} clearly worse; it is picked on these same episodes, "
               f"which favours it.")
    ant = summary["families"]["ant"]["oracle_vs_reactive"]
    yield (f"- On Ant eight steps are too few to judge by: the true simulator as judge is clearly better than the policy "
           f"alone in {ant['clear_wins']} of {ant['settings']}. There a learned advantage judges, not the world model.")
    yield from by_the_paper(summary, played)
    goals = summary["goals"]
    yield (f"- Of {len(goals)} goals that were set before the seeds were played {sum(g['reached'] is True for g in goals)} "
           f"were reached ([which](results/README.md#goals)). These numbers are of revision {summary['revision']}.")


def decision_times(row):
    """mawam's median and 95th percentile, of them generation and scoring, and PyTorch's median of the faster kernels."""
    own = [statistics.median(run[what][share] for run in row["mawam"])
           for what, share in (("decision", "p50"), ("decision", "p95"), ("generation", "p50"), ("scoring", "p50"))]
    return own + [min(statistics.median(times) for times in row["torch"].values())]


def measured_on(report):
    return (f"{report['cpu']}, {report['threads']} threads, revision {report['revision']}; PyTorch "
            f"{report['torch'].removesuffix('a0')} on {report['blas']['name']}")


def decision():
    report = read("decision.json")
    rows = [decision_times(row) for row in report["bundles"]]
    own, ratios = [row[0] for row in rows], [row[-1] / row[0] for row in rows]
    yield (f"- One decision of the {len(rows)} shipped bundles (eight candidates, imagined over the whole horizon) takes "
           f"{min(own):.1f} to {max(own):.1f} ms, {min(ratios):.1f} to {max(ratios):.1f} times less than PyTorch with "
           f"networks of the same sizes, measured in turns ([docs/speed.md](docs/speed.md#one-decision-beside-pytorch)). "
           f"{measured_on(report)}.")


def decisions():
    report = read("decision.json")
    yield "| bundle | mawam ms (p95) | generation, scoring | PyTorch ms | ratio |"
    yield "|---|---|---|---|---|"
    for row in report["bundles"]:
        p50, p95, generation, scoring, torch = decision_times(row)
        yield f"| {row['bundle']} | {p50:.2f} ({p95:.2f}) | {generation:.2f}, {scoring:.2f} | {torch:.1f} | {torch / p50:.1f}x |"
    yield ""
    yield f"{measured_on(report)}."


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


BLOCKS = {"results": results, "decision": decision, "decisions": decisions, "quickstart": quickstart, "equal_time": equal_time}
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
