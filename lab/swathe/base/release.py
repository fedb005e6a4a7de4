# SPDX-License-Identifier: GPL-2.0-only
"""The version of Swathe, which pyproject.toml has, and the commit that this directory holds."""

import datetime
from typing import Any

from msgspec import Struct

from swathe.base import process, reading
from swathe.base.errors import SwatheError
from swathe.base.paths import ROOT

FILE = ROOT / "pyproject.toml"
UNKNOWN = "unknown"
# What git appends to a commit while files differ from it.
DIRTY = "-dirty"


class Author(Struct, frozen=True):
    """Who signs the patches that ./swathe export writes."""

    name: str
    email: str

    def __str__(self) -> str:
        return f"{self.name} <{self.email}>"


class Release(Struct, frozen=True):
    """The last version, the day on which it was released, and its authors."""

    version: str
    released: datetime.date
    authors: tuple[Author, ...]


def current() -> Release:
    """Return the version that this directory is, or that its commits follow."""
    found = reading.toml(FILE.read_text(), FILE.name)
    tables = reading.convert(found, dict[str, dict[str, Any]], FILE.name)
    fields = {**tables["project"], **tables["tool"]["swathe"]}
    return reading.convert(fields, Release, FILE.name)


def commit() -> str:
    """Return the commit of this repository, marked -dirty if there are uncommitted changes."""
    if not (ROOT / ".git").exists():
        return UNKNOWN
    argv = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = process.run(argv, quiet=True)
    except SwatheError:
        return UNKNOWN
    return done.output.strip() if done.ok else UNKNOWN


def name() -> str:
    """Return the version, and the commit if it is known."""
    number, found = current().version, commit()
    return number if found == UNKNOWN else f"{number} (git {found})"
