# SPDX-License-Identifier: GPL-2.0-only
"""Write results: JSON for programs, Markdown for people.

All results go to build/results; recorded ones go to docs/results as well.
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
    """Return a name that is unique to this run."""
    return f"{kind}-{time.strftime('%Y%m%d-%H%M%S')}"


def write_json(path: Path, data: object) -> Path:
    write_atomically(path, f"{json.dumps(msgspec.to_builtins(data), indent=1)}\n".encode())
    return path


def write_both(home: Path, name: str, data: object, text: str) -> Path:
    """Write NAME.json and NAME.md; return the path of NAME.md."""
    write_json(home / f"{name}.json", data)
    write_atomically(home / f"{name}.md", text.encode())
    return home / f"{name}.md"


def record(
    name: str, keep: bool, kind: type[T], make: Callable[[T | None], tuple[T, str]]
) -> list[Path]:
    """Update a result in build/results, with keep also in docs/results.

    make() gets the data recorded there before, or None, and returns data and text.
    The paths of the Markdown files are returned.
    """
    written = []
    for home in (HERE, KEPT) if keep else (HERE,):
        path = home / f"{name}.json"
        with locked(name):
            known = path.is_file()
            before = reading.json(path.read_text(), kind, path.name) if known else None
            written.append(write_both(home, name, *make(before)))
    return written
