# SPDX-License-Identifier: GPL-2.0-only
"""What tests that run long have shown: one table each, kept until the same one runs again."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from swathe.base import results, table
from swathe.base.paths import BUILD, ROOT
from swathe.guest.environment import Environment

# Where this machine has its files: what a failed test names is below a kernel tree.
HERE = re.compile(rf"{re.escape(str(BUILD))}/tree/[^/\s]+/|{re.escape(str(ROOT))}/")


@dataclass(frozen=True)
class ResultTable:
    """One table; the title says how it came about, and notes follow it."""

    name: str
    title: str
    environment: Environment
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def record(section: ResultTable, keep: bool = False) -> Path:
    """Store the section in place of the one of that name; return the Markdown's path."""

    section = replace(section, notes=tuple(HERE.sub("", note) for note in section.notes))
    version = section.environment.system

    def make(before: dict[str, ResultTable] | None) -> tuple[dict[str, ResultTable], str]:
        kept = {**(before or {}), section.name: section}
        return kept, render(version, kept)

    return results.record(f"proof-{version}", keep, dict[str, ResultTable], make)[-1]


def render(version: str, kept: Mapping[str, ResultTable]) -> str:
    parts = [f"{results.SPDX}\n# Proof on Linux {version}\n"]
    parts += [render_section(kept[name]) for name in sorted(kept)]
    return "\n".join(parts)


def render_section(section: ResultTable) -> str:
    about = section.environment
    what = ", ".join((about.system, about.config_hash, about.qemu, about.swathe, about.date))
    shown = table.markdown(table.of_text(section.header, section.rows), table.as_it_is)
    notes = "".join(f"\n- {note}" for note in section.notes)
    head = f"## {section.title}\n\n{what}.\n\n{shown}\n"
    return f"{head}{notes}\n" if notes else head
