"""Progress of long calls: a line on a terminal, a bar in Jupyter, nothing where nobody looks on.

Every long call takes `progress`: None (as show_progress says), True, False, or a function that is told every report.
"""
import os
import shutil
import sys
import time
from typing import Any, Callable, Optional, Tuple, Union

from mawam._library import ArgumentError

Listener = Union[Callable[[Any], Any], bool, None]
Words = Callable[[Any], Tuple[float, str]]  # of a report: the share that is done (NaN: unknown) and what is going on

_wanted: Optional[bool] = None


def show_progress(on: Optional[bool] = None) -> None:
    """Whether calls that are not told otherwise show their progress; None, the default: on a terminal and in
    Jupyter."""
    global _wanted
    if on is not None and not isinstance(on, bool):
        raise ArgumentError(f"on: expected True, False or None; found {on!r}")
    _wanted = on


def _notebook() -> Any:
    """IPython's display module where a notebook's kernel runs this, else None."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    import IPython.display
    return IPython.display


def _terminal() -> bool:
    return bool(getattr(sys.stderr, "isatty", lambda: False)()) and os.environ.get("TERM") != "dumb"


def _clock(seconds: float) -> str:
    whole = int(seconds + 0.5)
    hours = f"{whole // 3600}:{whole // 60 % 60:02d}" if whole >= 3600 else f"{whole // 60}"
    return f"{hours}:{whole % 60:02d}"


class Shown:
    """Calls a listener, or draws; a context, so that the line ends whatever happens."""

    def __init__(self, listener: Listener, title: str, words: Words) -> None:
        if listener is not None and not isinstance(listener, bool) and not callable(listener):
            raise ArgumentError(f"progress: expected a function, True, False or None; found {listener!r}")
        self.listener = listener if callable(listener) else None
        self.title, self.words = title, words
        self.page: Any = None
        chosen = _wanted if listener is None else bool(listener)
        if self.listener is None and chosen is not False:
            self.page = _notebook()
        self.draws = self.listener is None and (chosen if chosen is not None else _terminal() or self.page is not None)
        self.handle: Any = None
        self.last, self.started, self.drawn = 0.0, time.monotonic(), ""

    @property
    def told(self) -> Optional[Callable[[Any], Any]]:
        """What a long call is given to tell."""
        return self.listener or (self._tell if self.draws else None)

    def _tell(self, report: Any) -> None:
        now = time.monotonic()
        if self.drawn and now - self.last < (0.5 if self.page else 0.1):
            return
        self.last = now
        share, words = self.words(report)
        past = now - self.started
        left = f", {_clock(past * (1 - share) / share)} left" if 0.01 < share < 1 else ""
        self._draw(share, f"{_clock(past)}{left}{', ' if words else ''}{words}")

    def _draw(self, share: float, words: str) -> None:
        known = share == share  # not NaN
        self.drawn = words
        if self.page is not None:
            value = f' value="{min(1.0, share):.3f}"' if known else ""
            shown = self.page.HTML(f"<div>{self.title} <progress{value}></progress> {words}</div>")
            if self.handle is None:
                self.handle = self.page.display(shown, display_id=True)
            else:
                self.handle.update(shown)
            return
        full = int(20 * min(1.0, share)) if known else 0
        bar = f" [{'#' * full}{'-' * (20 - full)}] {int(100 * min(1.0, share)):3d}%" if known else ""
        room = shutil.get_terminal_size((80, 24)).columns - 1
        print("\r\x1b[K" + f"{self.title}{bar} {words}"[:room], end="", file=sys.stderr, flush=True)

    def __enter__(self) -> "Shown":
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if not self.drawn:
            return
        if self.page is None:
            print("\r\x1b[K", end="", file=sys.stderr)
        if kind is None:
            self._draw(1.0, f"in {_clock(time.monotonic() - self.started)}")
        if self.page is None:
            print(file=sys.stderr, flush=True)
