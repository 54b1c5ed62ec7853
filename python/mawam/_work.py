"""Long calls: they run in a thread of their own while the caller's waits, so that Ctrl-C and progress functions work.

Progress functions run in the caller's thread, one report at a time; an exception in one, or Ctrl-C, asks the library to
stop and is raised when it has saved what there is to save.
"""
import ctypes
import queue
import threading
from typing import Any, Callable, List, Optional

from mawam._library import Handle, call, given_text, lib


class Work:
    """One long call: its stop flag, the way of its reports, and what must live as long as it runs."""

    def __init__(self, *needs: Any) -> None:
        self._stop = ctypes.c_int(0)
        self._reports: "queue.Queue[Any]" = queue.Queue(maxsize=1)
        self._needs: List[Any] = list(needs)

    @property
    def stop(self) -> int:
        """Address of the flag, for the options."""
        return ctypes.addressof(self._stop)

    def reports(self, kinds: List[Any], convert: Callable[..., Any]) -> Optional[int]:
        """A C function for the options' `progress`: what it is called with (kinds, after the context) goes through
        convert in the library's thread, and then to the caller's function."""
        def report(_context: Any, *arguments: Any) -> None:
            if not self._stop.value:
                self._reports.put(convert(*arguments))

        callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *kinds)(report)
        self._needs.append(callback)
        return ctypes.cast(callback, ctypes.c_void_p).value

    def run(self, progress: Optional[Callable[[Any], Any]], function: Callable[..., int], *arguments: Any) -> None:
        """Calls function(*arguments, error) and raises what it reports, what progress raised, or KeyboardInterrupt."""
        failures: List[BaseException] = []

        def work() -> None:
            try:
                call(function, *arguments)
            except BaseException as error:  # handed to the caller's thread
                failures.append(error)
            self._reports.put(None)  # wakes the caller

        thread = threading.Thread(target=work, name="mawam", daemon=True)
        try:
            thread.start()
            raised = self._wait(thread, progress)
        finally:  # also if it is left while the thread, which keeps all that it uses, still works
            lib.mw_stop_set(self.stop, True)
        if raised is not None:
            raise raised
        if failures:
            raise failures[0]

    def _wait(self, thread: threading.Thread, progress: Optional[Callable[[Any], Any]]) -> Optional[BaseException]:
        """Until the thread has ended: the first of what is raised meanwhile, wherever an interrupt comes in between."""
        raised: Optional[BaseException] = None
        while True:
            try:
                self._attend(thread, progress if raised is None else None)
                return raised
            except BaseException as error:  # KeyboardInterrupt too
                lib.mw_stop_set(self.stop, True)
                raised = raised or error

    def _attend(self, thread: threading.Thread, progress: Optional[Callable[[Any], Any]]) -> None:
        """Hands the thread's reports to progress until it has ended."""
        while thread.is_alive() or not self._reports.empty():
            try:
                report = self._reports.get(timeout=0.2)
            except queue.Empty:
                continue
            if report is not None and progress is not None:
                progress(report)

    def make(self, progress: Optional[Callable[[Any], Any]], function: Callable[..., int],
             free: Callable[[int], None]) -> Handle:
        """Calls function(result, error) and owns what it made."""
        pointer = ctypes.c_void_p()
        try:
            self.run(progress, function, ctypes.byref(pointer))
        except BaseException:
            if pointer.value:  # finished, but progress raised
                free(pointer.value)
            raise
        return Handle.own(pointer.value or 0, free)

    def text(self, progress: Optional[Callable[[Any], Any]], function: Callable[..., int], *arguments: Any) -> str:
        """Calls function(result, *arguments, error) and hands on the text that it made."""
        result = ctypes.c_void_p()
        try:
            self.run(progress, function, ctypes.byref(result), *arguments)
        except BaseException:
            given_text(result)  # finished, but progress raised
            raise
        return given_text(result)
