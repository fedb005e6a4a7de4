# SPDX-License-Identifier: GPL-2.0-only
"""How the check of the model of time is shown."""

from pathlib import Path

import pytest

from swathe import __main__
from swathe.base import results
from swathe.cli import time
from swathe.guest import environment
from swathe.kernel import build
from swathe.measure import timing
from swathe.measure.timing import Prediction, TimeCheck, UnitCosts, Work
from swathe.reporting import plots, time_page

TOLD = timing.published()


def check(*published: float) -> TimeCheck:
    rows = (
        Prediction(case, case in TOLD.fitted, Work(100, 2, 1, 1), wanted, 100.0)
        for case, wanted in zip(("4K", "16K", "64K", "128K"), published, strict=True)
    )
    return TimeCheck(UnitCosts(0.2, 20.0, 3.0, 5.6), tuple(rows))


def test_rows_say_which_were_fitted() -> None:
    shown = [[cell.text for cell in row] for row in time_page.rows(check(100, 80, 100, 125)).rows]
    assert [row[-1] for row in shown] == [
        "+0.0 % (fitted)",
        "+25.0 %",
        "+0.0 % (fitted)",
        "-20.0 %",
    ]
    assert shown[1][:4] == ["16K", "100.00", "2.00", "1.00"]


@pytest.mark.parametrize(
    ("published", "said"),
    [((100, 80, 100, 80), "median is above 20 %"), ((100, 99, 100, 99), "median is within 20 %")],
)
def test_a_large_error_is_said(published: tuple[float, ...], said: str) -> None:
    assert any(said in line for line in time_page.remarks(check(*published), TOLD))


def test_the_page_and_its_plot() -> None:
    found = check(100, 80, 100, 125)
    text = time_page.markdown(found, TOLD, "time-6.12.1", "a kernel")
    assert "](time-6.12.1.svg)" in text
    assert "| 16K |" in text
    drawn = plots.draw(time_page.plot(found), next(iter(plots.themes().values())))
    assert "published" in drawn
    assert "modelled" in drawn


def test_the_command_counts_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kernel: build.BuiltKernel,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(build, "build", lambda _: kernel)
    monkeypatch.setattr(results, "HERE", tmp_path)
    monkeypatch.setattr(results, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(environment, "look", lambda *_: ABOUT)
    asked = []

    def measured(_: object, __: object, ___: object, case: str) -> str:
        asked.append(case)
        return case

    sizes = dict(zip(TOLD.seconds, (980, 350, 210, 130, 100, 80, 70, 67, 65), strict=True))
    monkeypatch.setattr(time, "measured", measured)
    monkeypatch.setattr(timing, "read", lambda case, _: Work(sizes[case], 2, 1, 1 + len(case) / 9))
    assert time.main(__main__.parser().parse_args(["time", "--record"])) == 0
    assert asked == list(TOLD.seconds)
    assert "median error" in capsys.readouterr().out
    for name in ("json", "md", "svg"):
        assert (tmp_path / "kept" / f"time-6.12.117.{name}").is_file()


ABOUT = environment.Environment(
    "6.12.117", "0", "QEMU", "gcc", 1, "4G", "swathe time", "2026-11-28", "abc"
)
