"""Replays of worlds that only Python knows: one self-contained HTML page with a frame for every step, the candidates'
scores of its decision, and the policy alone beside it."""
import html
import json
import os
from typing import Any, Dict, List, Optional

import numpy as np

from mawam._library import Settings
from mawam._show import LINES
from mawam.env import Shape, episode_seeds
from mawam.own import Moment, OwnWorld, planners, play
from mawam.plan import Bundle, Planner
from mawam.replay import Page

_COLOURS = {"agent": "#0072b2", "enemy": "#d55e00", "prey": "#009e73", "landmark": "#5a5a5a", "obstacle": "#777777"}


def _shapes(env: Any) -> List[Dict[str, Any]]:
    """What a world shows of itself: its draw(), or a dot for each of its positions(); nothing if it has neither."""
    if callable(getattr(env, "draw", None)):
        return [{"k": s.kind, "c": _COLOURS.get(s.role, "#999999"), "a": list(map(float, s.a[:2])),
                 "b": list(map(float, s.b[:2])), "r": float(s.radius)} for s in env.draw() if isinstance(s, Shape)]
    if callable(getattr(env, "positions", None)):
        places = env.positions()
        rows = list(places.values()) if isinstance(places, dict) else list(places)
        dots = [np.resize(np.append(np.ravel(row), 0), 2) if np.size(row) == 1 else np.ravel(row)[:2] for row in rows]
        return [{"k": "circle", "c": LINES[i % len(LINES)], "a": [float(x), float(y)], "b": [0, 0], "r": 0}
                for i, (x, y) in enumerate(dots)]
    return []


class _Film:
    """Frames of one episode."""

    def __init__(self, world: OwnWorld) -> None:
        self.world, self.total = world, 0.0
        self.frames: List[Dict[str, Any]] = []

    def watch(self, moment: Moment, planner: Optional[Planner]) -> None:
        if planner is not None:
            seen = planner.candidates()
            self.frames[-1].update(scores=[float(f"{score:.6g}") for score in seen.scores], chosen=int(seen.chosen))
        self.total += moment.reward
        self.frames.append({"shapes": _shapes(self.world.env), "reward": moment.reward, "total": self.total})


def replay_own(bundle: Bundle, env: Any, path: str, seed: int, settings: Optional[Settings], threads: int) -> Page:
    """Writes the page, complete or not at all."""
    films = {}
    for name, planner in planners(bundle, ["plan", "reactive"], settings, threads).items():
        film = _Film(OwnWorld(env, bundle))
        play(film.world, planner, episode_seeds(seed, 0), bundle.episode_limit, film.watch)
        films[name] = film.frames
    title = html.escape(f"{bundle.task}: planned, and the policy alone")
    data = json.dumps(films, separators=(",", ":")).replace("<", "\\u003c")
    temporary = path + ".tmp"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(_PAGE.replace("TITLE", title).replace("DATA", data))
    os.replace(temporary, path)
    return Page(path)


_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>TITLE</title>
<style>body{font:14px system-ui,sans-serif;margin:1em;color:#222}figure{display:inline-block;margin:0 1em 0 0}
svg{border:1px solid #ccc;background:#fff}</style>
<h1 style="font-size:1.2em">TITLE</h1>
<p><button id="run">play</button> <input id="at" type="range" min="0" value="0" aria-label="step">
<span id="step"></span></p>
<div id="films"></div>
<script type="application/json" id="data">DATA</script>
<script>
const films = JSON.parse(document.getElementById("data").textContent), names = Object.keys(films);
const words = {plan: "planned", reactive: "the policy alone"}, size = 340;
const most = Math.max(...names.map(n => films[n].length)) - 1;
const all = names.flatMap(n => films[n].flatMap(f => f.shapes.flatMap(s =>
  s.k === "circle" ? [[s.a[0] - s.r, s.a[1] - s.r], [s.a[0] + s.r, s.a[1] + s.r]] : [s.a, s.b])));
const low = [0, 1].map(i => Math.min(0, ...all.map(p => p[i])));
const high = [0, 1].map(i => Math.max(0, ...all.map(p => p[i])));
const scale = (size - 30) / Math.max(high[0] - low[0], high[1] - low[1], 1e-6);
const X = x => 15 + (x - low[0]) * scale, Y = y => size - 15 - (y - low[1]) * scale;
function shape(s) {
  if (s.k === "circle")
    return `<circle cx="${X(s.a[0])}" cy="${Y(s.a[1])}" r="${Math.max(5, s.r * scale)}" fill="${s.c}" opacity=".75"/>`;
  return `<line x1="${X(s.a[0])}" y1="${Y(s.a[1])}" x2="${X(s.b[0])}" y2="${Y(s.b[1])}" stroke="${s.c}" stroke-width="${
    Math.max(1, 2 * s.r * scale)}" stroke-linecap="round" opacity=".6"/>`;
}
function scores(f) {
  if (!f.scores || f.scores.length < 2) return "";
  const least = Math.min(...f.scores), range = Math.max(...f.scores) - least || 1, w = size / f.scores.length;
  return f.scores.map((s, i) => {
    const tall = 4 + 50 * (s - least) / range;
    return `<rect x="${i * w + 2}" y="${62 - tall}" width="${w - 4}" height="${tall}" fill="${
      i === f.chosen ? "#0072b2" : "#bbb"}"><title>${i}: ${s}</title></rect>`;
  }).join("");
}
function show(t) {
  document.getElementById("step").textContent = `step ${t} of ${most}`;
  document.getElementById("films").innerHTML = names.map(n => {
    const f = films[n][Math.min(t, films[n].length - 1)];
    return `<figure><figcaption>${words[n] || n}: return ${f.total.toFixed(3)}</figcaption>
      <svg width="${size}" height="${size}">${f.shapes.map(shape).join("")}</svg><br>
      <svg width="${size}" height="64">${scores(f)}</svg></figure>`;
  }).join("");
}
const at = document.getElementById("at");
at.max = most;
at.oninput = () => show(+at.value);
let timer = 0;
document.getElementById("run").onclick = event => {
  if (timer) { clearInterval(timer); timer = 0; event.target.textContent = "play"; return; }
  if (+at.value >= most) at.value = 0;
  event.target.textContent = "pause";
  timer = setInterval(() => {
    at.value = +at.value + 1;
    show(+at.value);
    if (+at.value >= most) { clearInterval(timer); timer = 0; event.target.textContent = "play"; }
  }, 100);
};
show(0);
</script></html>
"""
