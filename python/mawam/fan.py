"""The fan of a decision: where every candidate leads, as an SVG picture. Worlds that have no places show scores."""
from typing import Any, List, Optional, Tuple

import numpy as np

from mawam._library import Error
from mawam._show import BLUE, GREY, bars
from mawam.env import Env, Shape

SIZE, MARGIN = 360, 14
_COLOURS = {"agent": "#0072b2", "enemy": "#d55e00", "prey": "#009e73", "landmark": "#5a5a5a", "obstacle": "#777777",
            "food": "#e69f00", "forest": "#aad2aa"}


def _world(task: str, obs: np.ndarray) -> Tuple[Optional[Env], List[Shape]]:
    """A world of the task, and its picture where a joint observation tells the whole state."""
    try:
        env = Env(task)
    except Error:
        return None, []  # a task of the user's own
    try:
        env.recall(obs)
        return env, env.draw()
    except Error:
        return env, []


def paths(env: Env, futures: np.ndarray) -> np.ndarray:
    """Places [M][T][k][2] of futures [M][T][n][o]; k is 0 where observations hold none."""
    return np.array([[env.places(np.ascontiguousarray(obs)) for obs in future] for future in futures])


def _element(shape: Shape, at: Any, scale: float) -> str:
    colour = _COLOURS.get(shape.role, "#bbbbbb")
    (x, y), (u, v) = at(shape.a[:2]), at(shape.b[:2])
    if shape.kind == "circle":
        radius = max(2.0, shape.radius * scale)
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{colour}" opacity=".5"/>'
    if shape.kind == "rect":
        return (f'<rect x="{min(x, u):.1f}" y="{min(y, v):.1f}" width="{abs(u - x):.1f}" height="{abs(v - y):.1f}" '
                f'fill="{colour}" opacity=".3"/>')
    width = max(1.0, 2 * shape.radius * scale)
    return (f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{u:.1f}" y2="{v:.1f}" stroke="{colour}" stroke-width="{width:.1f}" '
            'stroke-linecap="round" opacity=".5"/>')


def _line(points: np.ndarray, at: Any, colour: str, width: float, opacity: float) -> str:
    ends = " ".join("{:.1f},{:.1f}".format(*at(point)) for point in points)
    return (f'<polyline points="{ends}" fill="none" stroke="{colour}" stroke-width="{width}" opacity="{opacity:.2f}" '
            'stroke-linejoin="round"/>')


def fan(task: str, candidates: Any) -> str:
    """All candidates' futures from the present state on, the chosen one in colour, others the fainter the worse."""
    scores, chosen = candidates.scores, candidates.chosen
    title = f"candidate {chosen} of {len(scores)}, score {scores[chosen]:.4g}"
    env, shapes = _world(task, candidates.obs)
    imagined = candidates.imagined is not None
    futures = candidates.imagined if imagined else candidates.proposed
    places = np.empty((0, 0, 0, 2))
    if env is not None and futures is not None:
        begin = np.broadcast_to(candidates.obs, (len(scores), 1) + candidates.obs.shape)
        places = paths(env, np.concatenate([begin, futures if imagined else futures[:, 1:]], axis=1))
    if not places.size:
        return bars(title, scores, chosen)
    if places.shape[2] == 1:  # one place of all agents: side by side, to tell candidates apart
        places[..., 1] += 0.07 * (np.arange(len(places)) - (len(places) - 1) / 2)[:, None, None]
    seen = [places.reshape(-1, 2)] + [np.add(s.a[:2], side * s.radius)[None] for s in shapes if s.kind == "circle"
                                      for side in (-1, 1)]
    every = np.concatenate(seen)
    low, high = every.min(axis=0), every.max(axis=0)
    scale = (SIZE - 2 * MARGIN) / max(float((high - low).max()), 1e-6)

    def at(point: Any) -> Tuple[float, float]:
        return MARGIN + (point[0] - low[0]) * scale, SIZE - MARGIN - (point[1] - low[1]) * scale

    parts = [_element(shape, at, scale) for shape in shapes]
    order = np.argsort(scores)  # better ones over worse ones
    for rank, m in enumerate(order):
        opacity = 0.25 + 0.55 * rank / len(order)
        if m != chosen:
            parts += [_line(places[m, :, k], at, GREY, 1, opacity) for k in range(places.shape[2])]
    parts += [_line(places[chosen, :, k], at, BLUE, 2.5, 1) for k in range(places.shape[2])]
    words = f"{title}; {'imagined by the world model' if imagined else 'as drawn by the policy'}"
    box = f'width="{SIZE}" height="{SIZE + 20}" viewBox="0 0 {SIZE} {SIZE + 20}"'
    return (f'<svg xmlns="http://www.w3.org/2000/svg" {box}>'
            f'{"".join(parts)}<text x="{MARGIN}" y="{SIZE + 12}" font-size="11" font-family="sans-serif" fill="#444">'
            f"{words}</text></svg>")
