"""How objects of the package show themselves: short in a prompt, as tables where they are printed, as HTML in
notebooks.

Nothing here measures or computes; pictures are SVG, so that they need no library.
"""
import html
import math
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

import numpy as np

from mawam._library import UnsupportedError

# Okabe and Ito's colours, which the colour-blind can tell apart.
BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#8a8a8a"
LINES = (BLUE, ORANGE, GREEN, "#cc79a7", "#e69f00", "#56b4e9", "#5a5a5a")
_LONGEST = 72  # characters of one value in a repr

# ---- reprs -----------------------------------------------------------------------------------------------------------


def brief(value: Any) -> str:
    """A value in few characters: arrays by type and shape, long collections by their length."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype if value.dtype.names is None else 'records'}{list(value.shape)}"
    if isinstance(value, (float, np.floating)):
        return f"{value:.6g}"
    if isinstance(value, (list, tuple, dict)) and len(repr(value)) > _LONGEST and not hasattr(value, "_fields"):
        return f"{type(value).__name__} of {len(value)}"
    words = repr(value)
    return words if len(words) <= _LONGEST else words[:_LONGEST - 3] + "..."


def _short(self: Any) -> str:
    fields = ", ".join(f"{name}={brief(value)}" for name, value in zip(self._fields, self))
    whole = f"{type(self).__name__}({fields})"
    return whole if len(whole) <= 3 * 110 else whole[:3 * 110 - 4] + "...)"


def shortly(kind: Any) -> Any:
    """Decorates a named tuple that holds arrays or long collections: its repr has one to three lines."""
    kind.__repr__ = _short
    return kind


# ---- tables ----------------------------------------------------------------------------------------------------------


class Table(NamedTuple):
    """A table of texts with lines above it. The first column is flush left."""

    above: Sequence[str]
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def text(self) -> str:
        """For a terminal."""
        lines = [self.head] + list(self.rows)
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.head))]
        laid = ["  ".join([line[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(line[1:], widths[1:])])
                for line in lines]
        return "\n".join(list(self.above) + [line.rstrip() for line in laid])

    def html(self) -> str:
        """For a notebook."""
        def row(cells: Sequence[str], tag: str) -> str:
            first = f'<{tag} style="text-align:left">{html.escape(cells[0])}</{tag}>'
            return "<tr>" + first + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells[1:]) + "</tr>"

        above = "".join(f"<div>{html.escape(line)}</div>" for line in self.above)
        return (f"<div>{above}<table><thead>{row(self.head, 'th')}</thead><tbody>"
                + "".join(row(cells, "td") for cells in self.rows) + "</tbody></table></div>")


def number(value: Any, form: str) -> str:
    """A number, or "-" for what was not measured."""
    return "-" if value is None or not math.isfinite(value) else format(value, form)


def facts(title: str, pairs: Dict[str, Any]) -> str:
    """A small HTML table of names and values."""
    rows = "".join(f'<tr><th style="text-align:left">{html.escape(name)}</th>'
                   f'<td style="text-align:left">{html.escape(str(value))}</td></tr>' for name, value in pairs.items())
    return f"<div><b>{html.escape(title)}</b><table>{rows}</table></div>"


def frame(rows: Any) -> Any:
    """A pandas DataFrame of rows, which are dictionaries, or of columns."""
    try:
        import pandas
    except ImportError:
        raise UnsupportedError("to_frame needs pandas (pip install pandas; Debian package python3-pandas)") from None
    return pandas.DataFrame(rows)


# ---- pictures --------------------------------------------------------------------------------------------------------

Curve = Tuple[str, np.ndarray, np.ndarray]  # name, x, y


class Axes:
    """The frame of a chart and the way from values to places in it."""

    def __init__(self, x: np.ndarray, y: np.ndarray, title: str, width: int = 420, height: int = 220) -> None:
        self.width, self.height, self.title = width, height, title
        self.x, self.y = self._range(x), self._range(y)
        self.parts: List[str] = []

    @staticmethod
    def _range(values: np.ndarray) -> Tuple[float, float]:
        finite = values[np.isfinite(values)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
        return (low, high) if high > low else (low - 0.5, low + 0.5)

    def place(self, x: Any, y: Any) -> Tuple[Any, Any]:
        """Of values in the picture."""
        return (52 + (np.asarray(x) - self.x[0]) / (self.x[1] - self.x[0]) * (self.width - 64),
                self.height - 24 - (np.asarray(y) - self.y[0]) / (self.y[1] - self.y[0]) * (self.height - 48))

    def line(self, x: np.ndarray, y: np.ndarray, colour: str) -> None:
        keep = np.isfinite(y)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(*self.place(x[keep], y[keep])))
        self.parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>')

    def text(self, x: float, y: float, words: str, anchor: str = "start", colour: str = "#444") -> None:
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="11" font-family="sans-serif" fill="{colour}" '
                          f'text-anchor="{anchor}">{html.escape(words)}</text>')

    def svg(self) -> str:
        w, h = self.width, self.height
        self.text(52, 14, self.title)
        self.text(48, h - 22, f"{self.y[0]:.4g}", "end")
        self.text(48, 32, f"{self.y[1]:.4g}", "end")
        self.text(52, h - 8, f"{self.x[0]:.4g}")
        self.text(w - 12, h - 8, f"{self.x[1]:.4g}", "end")
        frame_of = f'<path d="M52 24V{h - 24}H{w - 12}" fill="none" stroke="#bbb"/>'
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}">{frame_of}'
                + "".join(self.parts) + "</svg>")


def chart(title: str, curves: Sequence[Curve]) -> str:
    """Lines over a common x, as SVG."""
    axes = Axes(np.concatenate([x for _, x, _ in curves]), np.concatenate([y for _, _, y in curves]), title)
    for index, (name, x, y) in enumerate(curves):
        colour = LINES[index % len(LINES)]
        axes.line(np.asarray(x, float), np.asarray(y, float), colour)
        axes.text(axes.width - 12, 32 + 13 * index, name, "end", colour)
    return axes.svg()


def histogram(title: str, values: np.ndarray, bins: int = 24) -> str:
    """How values are distributed, as SVG."""
    counts, edges = np.histogram(values, bins)
    axes = Axes(edges, np.array([0.0, counts.max()]), title)
    for count, low, high in zip(counts, edges[:-1], edges[1:]):
        (left, right), (top, foot) = axes.place([low, high], [count, 0])
        axes.parts.append(f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left - 1:.1f}" '
                          f'height="{foot - top:.1f}" fill="{BLUE}"/>')
    return axes.svg()


def bars(title: str, values: np.ndarray, chosen: int) -> str:
    """One bar for every value, the chosen one in colour, as SVG."""
    axes = Axes(np.array([-0.5, len(values) - 0.5]), np.append(values, values.min() - 0.05 * np.ptp(values)), title)
    for index, value in enumerate(values):
        (left, right), (top, foot) = axes.place([index - 0.4, index + 0.4], [value, axes.y[0]])
        axes.parts.append(f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{foot - top:.1f}" '
                          f'fill="{BLUE if index == chosen else "#bbb"}"/>')
    return axes.svg()
