# SPDX-License-Identifier: GPL-2.0-only
"""Terminal output: results on stdout, progress and remarks on stderr."""

import contextlib
import sys
from collections.abc import Iterator

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

WIDE = 130  # columns, if stdout is not a terminal
out = Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)
err = Console(stderr=True, highlight=False)


def note(text: str) -> None:
    """Print a line about what is being done."""
    err.print(text, markup=False, soft_wrap=True)


def plural(number: int, one: str, several: str = "") -> str:
    """Return a number with its noun: "1 file", "2 files"."""
    return f"{number} {one if number == 1 else several or f'{one}s'}"


def remark(text: str) -> None:
    """Print a line of minor interest: a command, a log's path."""
    err.print(text, style="dim", markup=False, soft_wrap=True)


def result(text: str = "") -> None:
    """Print a line of the result, unstyled: scripts read it."""
    print(text, flush=True)


def show(text: str) -> None:
    """Pass on a program's output as it arrives."""
    sys.stdout.write(text)
    sys.stdout.flush()


@contextlib.contextmanager
def progress() -> Iterator[Progress]:
    """Show a progress bar with elapsed time; nothing is written to a pipe."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=err, transient=True) as shown:
        yield shown
