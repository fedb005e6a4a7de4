# SPDX-License-Identifier: GPL-2.0-only
"""What counts as having found a bug that was put in on purpose."""

import pytest

from swathe import seeded
from swathe.sections import Section
from swathe.tap import Verdict

HEAD = ("TAP version 13", "1..1", "# seed 1")
MISMATCH = "# process 0, operation 12: page 3 byte 0: 0x1 instead of 0"


def section(status: int | None, *lines: str) -> Section:
    return Section(("memx",), (*HEAD, *lines), status)


@pytest.mark.parametrize(
    ("reports", "lost", "found", "said"),
    [
        ([section(1, MISMATCH, "not ok 1 memx")], "", True, MISMATCH),
        ([section(0, "ok 1 memx")], "", False, "nothing found"),
        ([section(None)], "the VM was lost: Kernel panic", True, "Kernel panic"),
        ([section(None)], "the VM was lost: no verdict within 360 s", False, "no verdict"),
        ([], "the VM was lost: Kernel panic", False, "did not run"),
        ([], "", False, "did not run"),
    ],
)
def test_what_counts(reports: list[Section], lost: str, found: bool, said: str) -> None:
    finding = seeded.conclude("rss", 1.0, reports, lost)
    assert finding.found == found
    assert said in finding.said
    assert (seeded.judge(finding).verdict is Verdict.PASSED) == found


def test_every_way_is_known_and_what_is_left_out_has_a_reason() -> None:
    ways = seeded.ways()
    assert {"put_back", "table_end", "rss", "flush"} <= set(ways)
    assert set(seeded.NOT_DATA) < set(ways)
