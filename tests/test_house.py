# SPDX-License-Identifier: GPL-2.0-only
"""The rooms of mm/unmap: calls between folders go one way, and no file grows without end.

A folder's headers declare what the folder offers, so that what a file includes is what it may call.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from swathe.base.paths import OVERLAY

HOME = OVERLAY / "mm" / "unmap"
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
# Each room may call those before it; the files of mm/unmap/ itself are the floor, but for those
# that bring the rooms together.
FLOOR, ROOF, TESTS = "", "roof", "tests"
ROOMS = (
    FLOOR, "tables", "linux_6_12", "evict", "relocate", "ahead", "discard", "drop", ROOF, TESTS,
)  # fmt: skip
ROOF_FILES = {"control.c", "reclaim.c", "trace.c"}
# Upward, with the reason.
UPWARD: dict[tuple[str, str], str] = {}
LONGEST = 400
LONGER: dict[str, str] = {}


def sources() -> list[Path]:
    return sorted(path for path in HOME.rglob("*.[ch]"))


def room(path: Path) -> str:
    name = path.relative_to(HOME)
    if len(name.parts) > 1:
        return name.parts[0]
    return ROOF if name.name in ROOF_FILES else FLOOR


def included(path: Path) -> Iterator[Path]:
    """The headers of mm/unmap that a file includes."""
    for name in INCLUDE.findall(path.read_text()):
        header = (path.parent / name).resolve()
        if header.is_relative_to(HOME):
            yield header


def upward(paths: list[Path]) -> set[tuple[str, str]]:
    return {
        (str(path.relative_to(HOME)), str(header.relative_to(HOME)))
        for path in paths
        for header in included(path)
        if ROOMS.index(room(header)) > ROOMS.index(room(path))
    }


def test_every_room_is_known() -> None:
    assert {room(path) for path in sources()} == set(ROOMS)


def test_calls_between_rooms_go_one_way() -> None:
    assert upward(sources()) == set(UPWARD)


def test_a_call_upward_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "evict").mkdir()
    (tmp_path / "evict" / "evict.h").write_text("")
    (tmp_path / "run.c").write_text('#include "evict/evict.h"\n#include "../internal.h"\n')
    monkeypatch.setattr("test_house.HOME", tmp_path)
    assert upward([tmp_path / "run.c"]) == {("run.c", "evict/evict.h")}


def test_no_file_is_longer_than_it_must_be() -> None:
    """Tests apart, which are lists of cases."""
    long = {
        str(path.relative_to(HOME))
        for path in sources()
        if room(path) != TESTS and len(path.read_text().splitlines()) > LONGEST
    }
    assert long == set(LONGER)


def test_no_line_is_longer_than_the_kernel_allows() -> None:
    for path in sources():
        for number, line in enumerate(path.read_text().splitlines(), 1):
            assert len(line.expandtabs(8)) <= 100, f"{path.relative_to(HOME)}:{number}"


def test_conditions_stand_in_headers() -> None:
    having = {
        str(path.relative_to(HOME))
        for path in sources()
        if path.suffix == ".c" and re.search(r"^#\s*if", path.read_text(), re.MULTILINE)
    }
    # A static key is defined as true or as false.
    assert having == {"control.c"}
