# SPDX-License-Identifier: GPL-2.0-only
"""Write results: JSON for programs, a row a line, and Markdown for people.

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
# A row longer than this that holds rows itself has a line for each of them.
LONG_ROW = 2000
T = TypeVar("T")


def stamped(kind: str) -> str:
    """Return a name that is unique to this run."""
    return f"{kind}-{time.strftime('%Y%m%d-%H%M%S')}"


def entries(data: object) -> list[object]:
    if isinstance(data, dict):
        return list(data.values())
    return list(data) if isinstance(data, list | tuple) else []


def has_rows(data: object) -> bool:
    """Whether there is a list of lists or objects, or an object of objects, in this or below."""
    inner = entries(data)
    kind = dict if isinstance(data, dict) else dict | list | tuple
    rows = bool(inner) and all(isinstance(one, kind) for one in inner)
    return rows or any(has_rows(one) for one in inner)


def row_text(row: object) -> str:
    line = json.dumps(row)
    return line if len(line) <= LONG_ROW else json_text(row)


def json_text(data: object) -> str:
    """JSON with a row a line; an object that has no rows is a line, too."""
    if not has_rows(data):
        return json.dumps(data)
    if isinstance(data, dict):
        named = (f"{json.dumps(name)}: {json_text(value)}" for name, value in data.items())
        return "{\n" + ",\n".join(named) + "\n}"
    return "[\n" + ",\n".join(map(row_text, entries(data))) + "\n]"


def write_json(path: Path, data: object) -> Path:
    write_atomically(path, f"{json_text(msgspec.to_builtins(data))}\n".encode())
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
