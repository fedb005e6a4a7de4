# SPDX-License-Identifier: GPL-2.0-only
"""What tests that run long have shown: one table each, kept until the same one runs again.

Below build/results, as JSON and as Markdown.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from swathe.base.paths import BUILD, locked, write_atomically

RESULTS = BUILD / "results"
SPDX = "<!-- SPDX-License-Identifier: GPL-2.0-only -->"


@dataclass(frozen=True)
class ResultTable:
    """One table; the title says how it came about, and notes follow it."""

    name: str
    title: str
    environment: Mapping[str, object]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def record(version: str, section: ResultTable) -> Path:
    """Take the section in, in place of the one of that name; the Markdown's path."""
    base = RESULTS / f"proof-{version}"
    with locked(base.name):
        kept = load(Path(f"{base}.json"))
        kept[section.name] = json.loads(json.dumps(asdict(section)))
        write_atomically(Path(f"{base}.json"), f"{json.dumps(kept, indent=1)}\n".encode())
        write_atomically(Path(f"{base}.md"), render(version, kept).encode())
    return Path(f"{base}.md")


def load(path: Path) -> dict[str, dict[str, object]]:
    if not path.is_file():
        return {}
    found: dict[str, dict[str, object]] = json.loads(path.read_text())
    return found


def render(version: str, kept: Mapping[str, Mapping[str, object]]) -> str:
    parts = [f"{SPDX}\n# Proof on Linux {version}\n"]
    parts += [render_section(ResultTable(**kept[name])) for name in sorted(kept)]  # type: ignore[arg-type]
    return "\n".join(parts)


def render_section(section: ResultTable) -> str:
    about = section.environment
    what = ", ".join(
        str(about[key])
        for key in ("kernel", "config_hash", "qemu", "swathe", "date")
        if key in about
    )
    notes = "".join(f"\n- {note}" for note in section.notes)
    head = f"## {section.title}\n\n{what}.\n\n{markdown(section.header, section.rows)}\n"
    return f"{head}{notes}\n" if notes else head


def markdown(header: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> str:
    """A table; columns that hold numbers alone are set to the right."""
    numbers = [
        bool(rows) and all(row[i].replace(".", "").isdigit() or not row[i] for row in rows)
        for i in range(len(header))
    ]
    rule = tuple("---:" if number else "---" for number in numbers)
    return "\n".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |"
        for line in (header, rule, *rows)
    )
