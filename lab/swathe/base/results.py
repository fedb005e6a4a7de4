# SPDX-License-Identifier: GPL-2.0-only
"""Where results are, and how they are written: JSON for programs, Markdown for people.

All are below build/results; those that are to stay are in docs/results as well.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from swathe.base import reading
from swathe.base.paths import BUILD, ROOT, locked, write_atomically

HERE = BUILD / "results"
KEPT = ROOT / "docs" / "results"
SPDX = "<!-- SPDX-License-Identifier: GPL-2.0-only -->"
T = TypeVar("T")


def stamped(kind: str) -> str:
    """A name that no other run's result has."""
    return f"{kind}-{time.strftime('%Y%m%d-%H%M%S')}"


def write_json(path: Path, data: object) -> Path:
    write_atomically(path, f"{json.dumps(msgspec.to_builtins(data), indent=1)}\n".encode())
    return path


def write_both(home: Path, name: str, data: object, text: str) -> Path:
    """NAME.json and NAME.md; the latter's path."""
    write_json(home / f"{name}.json", data)
    write_atomically(home / f"{name}.md", text.encode())
    return home / f"{name}.md"


def record(
    name: str, keep: bool, kind: type[T], make: Callable[[T | None], tuple[T, str]]
) -> list[Path]:
    """Bring a result up to date, with keep also where it stays; the paths of the Markdown.

    make() gets what was recorded there before, or None, and returns data and text.
    """
    written = []
    for home in (HERE, KEPT) if keep else (HERE,):
        path = home / f"{name}.json"
        with locked(name):
            known = path.is_file()
            before = reading.json(path.read_text(), kind, path.name) if known else None
            written.append(write_both(home, name, *make(before)))
    return written
