# SPDX-License-Identifier: GPL-2.0-only
"""Tests that skip themselves: only those that skips.toml expects."""

from dataclasses import replace
from pathlib import Path

import pytest

from swathe.base.verdicts import Test, Verdict
from swathe.check import selftests, skips
from swathe.kernel import build

REQUEST = selftests.SelftestRequest(
    build.KernelRequest(flavor="debug", variant="light"), True, (), 2, 100, "", on_only=True
)
NAME = "6.12 x86_64 debug light on-only"
FOUND = [
    Test("guest kept: vma_lock.on.alone", Verdict.SKIPPED, 'SKIP of "6.12"'),
    Test("guest kept: vma_lock.off.alone", Verdict.SKIPPED, 'SKIP of "6.12"'),
    Test("guest kept: kept.tight", Verdict.PASSED),
    Test("guest swap: swap.full", Verdict.PASSED),
    Test("kunit unmap_run: a", Verdict.SKIPPED, "SKIP no PUDs"),
]


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(skips, "FILE", tmp_path / "skips.toml")
    monkeypatch.setattr(skips, "LAST", tmp_path / "last" / "skips.toml")
    skips.judge(FOUND, replace(REQUEST, keep=True), "6.12.117")
    return tmp_path / "skips.toml"


def test_what_was_recorded_is_expected(file: Path) -> None:
    assert skips.load(skips.FILE) == {NAME: {"kept": {'of "6.12"': 2}, "kunit": {"no PUDs": 1}}}
    assert skips.judge(FOUND, REQUEST, "6.12.118") == []


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (FOUND[1:], '1 skipped instead of 2: of "6.12"'),
        ([*FOUND, replace(FOUND[3], verdict=Verdict.SKIPPED, detail="SKIP no swap")],
         "1 skipped instead of 0: no swap"),
    ],
)  # fmt: skip
def test_another_number_or_reason_is_a_failure(found: list[Test], said: str) -> None:
    assert [test.detail for test in skips.judge(found, REQUEST, "6.12.117")] == [said]


def test_another_kernel_is_not_judged(capsys: pytest.CaptureFixture[str]) -> None:
    assert skips.judge(FOUND[1:], replace(REQUEST, on_only=False), "6.12.117") == []
    assert "6.12 x86_64 debug light: none is judged" in capsys.readouterr().err


def test_what_was_found_last_is_kept_too(file: Path) -> None:
    skips.judge(FOUND[1:], REQUEST, "6.12.117")
    assert skips.load(skips.LAST)[NAME]["kept"] == {'of "6.12"': 1}
    assert skips.load(skips.FILE)[NAME]["kept"] == {'of "6.12"': 2}


def test_programs_that_did_not_run_stay_recorded(file: Path) -> None:
    skips.judge(FOUND[3:4], replace(REQUEST, keep=True), "6.12.117")
    assert skips.load(skips.FILE)[NAME]["kept"] == {'of "6.12"': 2}
