# SPDX-License-Identifier: GPL-2.0-only
"""Terminal output: results on stdout, progress and remarks on stderr."""

import contextlib
import sys
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

WIDE = 130  # columns, if stdout is not a terminal
out = Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)
err = Console(stderr=True, highlight=False)
# Which of several parts that run side by side a line is about.
LABEL: ContextVar[str] = ContextVar("label", default="")


def labelled(text: str) -> str:
    return f"{LABEL.get()}| {text}" if LABEL.get() else text


def note(text: str) -> None:
    """Print a line about what is being done."""
    err.print(labelled(text), markup=False, soft_wrap=True)


def plural(number: int, one: str, several: str = "") -> str:
    """Return a number with its noun: "1 file", "2 files"."""
    return f"{number} {one if number == 1 else several or f'{one}s'}"


def remark(text: str) -> None:
    """Print a line of minor interest: a command, a log's path."""
    err.print(labelled(text), style="dim", markup=False, soft_wrap=True)


def result(text: str = "") -> None:
    """Print a line of the result, unstyled: scripts read it."""
    print(text, flush=True)


def show(text: str) -> None:
    """Pass on a program's output as it arrives."""
    sys.stdout.write(text)
    sys.stdout.flush()


@dataclass
class ProgressBars:
    """The progress bars of all that works now: a terminal shows one display at a time."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0
    shown: Progress | None = None

    def begin(self) -> Progress:
        with self.lock:
            self.users += 1
            if not self.shown:
                self.shown = Progress(
                    SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=30),
                    MofNCompleteColumn(), TimeElapsedColumn(), console=err, transient=True,
                )  # fmt: skip
                self.shown.start()
            return self.shown

    def end(self, task: TaskID) -> None:
        with self.lock:
            self.users -= 1
            if not self.shown:
                return
            self.shown.remove_task(task)
            if not self.users:
                self.shown.stop()
                self.shown = None


BARS = ProgressBars()


@dataclass(frozen=True)
class ProgressBar:
    """One task's bar."""

    shown: Progress
    task: TaskID

    def update(self, completed: int, description: str | None = None) -> None:
        self.shown.update(self.task, completed=completed, description=description)

    def advance(self, number: int = 1) -> None:
        self.shown.advance(self.task, number)


@contextlib.contextmanager
def progress(what: str, total: int) -> Iterator[ProgressBar]:
    """Show a progress bar with elapsed time; nothing is written to a pipe."""
    shown = BARS.begin()
    task = shown.add_task(what, total=total)
    try:
        yield ProgressBar(shown, task)
    finally:
        BARS.end(task)
