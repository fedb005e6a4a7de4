# SPDX-License-Identifier: GPL-2.0-only
"""What bench prints, cell by cell."""

from collections.abc import Sequence

import pytest
from rich.console import Console

from swathe import __main__
from swathe.base import table
from swathe.base.errors import UsageError
from swathe.base.table import Table
from swathe.cli import bench
from swathe.guest.environment import Environment
from swathe.kernel import build
from swathe.measure import bench_tables, goals, instructions
from swathe.measure.rows import Row

CONFIGS = ["stock", "swathe"]
UNITS = {"instructions": "instructions", "vmpte_after": "kB", "pmd_mapped": "kB"}


def rows(bench: str, case: str, metric: str, *values: float, configs: Sequence[str]) -> list[Row]:
    unit = UNITS.get(metric, "pages")
    return [
        Row(bench, case, metric, config, value, unit, 0, 3)
        for config, value in zip(configs, values, strict=True)
    ]


def zap(*values: float, configs: Sequence[str] = CONFIGS) -> list[Row]:
    return [
        *rows("zap", "64K", "instructions", *values, configs=configs),
        *rows("zap", "64K", "pages", *[65536] * len(values), configs=configs),
    ]


def printed(
    found: Sequence[Row], configs: Sequence[str] = CONFIGS, judged: bool = True,
    kernel: str = "6.12",
) -> str:  # fmt: skip
    console = Console(width=200, highlight=False)
    with console.capture() as capture:
        for shown in bench_tables.of_bench(found, configs, judged, goals.load(kernel)):
            console.print(shown if isinstance(shown, str) else table.terminal(shown))
    return capture.get()


def line(text: str, begin: str) -> list[str]:
    (found,) = [line for line in text.splitlines() if line.split()[:1] == [begin]]
    return found.split()[1:]


def test_one_line_a_case_with_its_goal() -> None:
    cells = line(printed(zap(8_730_000, 7_000_000)), "64K")
    assert cells == ["8.73", "7.00", "-19.8", "%", "133.2", "106.8", "7.40", "met"]


def test_a_goal_is_missed_by_swathe_alone() -> None:
    assert line(printed(zap(7_000_000, 7_400_001)), "64K")[-1] == "missed"


def test_the_newer_kernel_has_goals_of_its_own() -> None:
    """64 KiB: at most 0.78 of stock in the same run."""
    for ours, said in ((6_630_000, "met"), (6_630_001, "missed")):
        cells = line(printed(zap(8_500_000, ours), kernel="7.3"), "64K")
        assert cells[-2:] == ["6.63", said]
    assert line(printed(zap(9_000_000, 7_000_000), kernel="7.3"), "64K")[-1] == "met"
    assert line(printed(zap(9_000_000, 7_400_001)), "64K")[-1] == "missed"


def test_the_switch_must_cost_nothing_while_it_is_off() -> None:
    configs = ["pristine", *CONFIGS]

    def off(stock: float, judged: bool = True, kernel: str = "6.12") -> list[str]:
        text = printed(zap(10_000_000, stock, 7e6, configs=configs), configs, judged, kernel)
        _, _, part = text.partition("stock, switched off")
        return line(part, "64K")

    assert off(10_050_000) == ["+0.50", "%", "+0.50", "%", "met"]
    assert off(10_050_001) == ["+0.50", "%", "+0.50", "%", "missed"]
    assert off(10_040_000, kernel="7.3") == ["+0.40", "%", "+0.40", "%", "met"]
    assert off(10_040_001, kernel="7.3") == ["+0.40", "%", "+0.40", "%", "missed"]
    assert off(10_100_000, judged=False) == ["+1.00", "%"]
    assert "switched off" not in printed(zap(9, 8))


def test_no_goal_where_none_was_set_for_it() -> None:
    assert "goal" not in printed(zap(8_730_000, 7_000_000), judged=False)
    other = [Row("zap", "64K@512M", r.metric, r.config, r.value, r.unit, 0, 3) for r in zap(9, 8)]
    assert "goal" not in printed(other)


def test_another_kernel_is_compared_with_swathe_too() -> None:
    configs = ["7.3", *CONFIGS]
    cells = line(printed(zap(8e6, 10e6, 6e6, configs=configs), configs), "64K")
    assert cells[:7] == ["8.00", "10.00", "6.00", "-40.0", "%", "-25.0", "%"]


def test_other_metrics_are_told_when_they_say_something() -> None:
    found = zap(9e6, 7e6)
    found += rows("zap", "64K", "same", 5, 5, configs=CONFIGS)
    found += rows("zap", "64K", "nothing", 0, 0, configs=CONFIGS)
    found += rows("zap", "64K", "splits", 2048, 0, configs=CONFIGS)
    text = printed(found)
    assert "2048 → 0" in text
    assert not [name for name in ("same", "nothing", "pages") if name in text]


def test_a_metric_with_a_goal_is_always_told() -> None:
    case = {"configs": CONFIGS}
    found = rows("ptetables", "truncate", "instructions", 5, 5, **case)
    found += rows("ptetables", "truncate", "vmpte_after", 2088, 2088, **case)
    assert "2088 → 2088 (missed)" in printed(found)


def test_no_worse_than_stock_is_judged_by_stock_of_the_same_run() -> None:
    case = {"configs": CONFIGS}
    found = rows("multifault", "1", "instructions", 5, 5, **case)
    assert "6512 → 6513 (met)" in printed(
        found + rows("multifault", "1", "per_fault", 6512, 6513, **case)
    )
    assert "6100 → 6200 (missed)" in printed(
        found + rows("multifault", "1", "per_fault", 6100, 6200, **case)
    )


def test_what_a_goal_needs_to_have_said() -> None:
    found = [Row("zap", "16K", r.metric, r.config, r.value, r.unit, 0, 3) for r in zap(9e6, 8e6)]
    assert "the goal of 16K: stock and newest right after single pages" in printed(found)
    assert "the goal of" not in printed(found, judged=False)


def test_instructions_are_millions_wherever_they_stand() -> None:
    found = zap(9e6, 7e6)
    found += [
        Row("zap", "64K", "there", config, value, "instructions", 0, 3)
        for config, value in (("stock", 179_366_503), ("swathe", 170_000_000))
    ]
    assert "179.37 M → 170.00 M" in printed(found)


def test_counters_are_swathes_and_short() -> None:
    found = zap(9e6, 7e6) + rows("zap", "64K", "stat.runs", 0, 2048, configs=CONFIGS)
    assert "64K counted: runs 2048" in printed(found)
    assert "counted" not in printed(zap(9, 7) + rows("zap", "64K", "stat.x", 0, 0, configs=CONFIGS))


@pytest.mark.parametrize(
    ("values", "said"), [((131072, 0, 0), True), ((0, 0, 0), False), ((4, 4, 4), False)]
)
def test_kernels_that_map_differently_do_not_compare(values: tuple[float, ...], said: bool) -> None:
    configs = ["7.3", *CONFIGS]
    found = zap(8e6, 9e6, 7e6, configs=configs)
    found += rows("zap", "64K", "pmd_mapped", *values, configs=configs)
    text = printed(found, configs)
    assert ("does not compare: the mappings differ" in text) is said
    assert ("131072 kB in 7.3, 0 kB in stock" in text) is said


@pytest.mark.parametrize(
    ("value", "shown"), [(0.0, "0"), (2048.0, "2048"), (0.06251, "0.0625"), (1234.6, "1235")]
)
def test_numbers(value: float, shown: str) -> None:
    assert bench_tables.plain(value) == shown


def test_change_in_percent() -> None:
    assert bench_tables.change(200, 150) == "-25.0 %"
    assert bench_tables.change(200, 200) == ""
    assert bench_tables.change(0, 5) == ""
    assert bench_tables.change(None, 5) == ""


def test_nothing_measured_prints_nothing() -> None:
    assert not [
        shown
        for shown in bench_tables.of_bench([], CONFIGS, True, goals.load())
        if isinstance(shown, Table)
    ]


def environment() -> Environment:
    return Environment("7.3.4", "0", "QEMU", "gcc", 1, "4G", "swathe bench", "2026-01-01", "abc")


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        (["--kernel", "7.3"], "6.63 met"),
        ([], "7.40 met"),
        (["--kernel", "7.3", "--cpus", "2"], ""),
        (["--kernel", "7.3", "--source", "/x"], ""),
    ],
)
def test_what_is_measured_is_judged_by_the_goals_of_its_kernel(
    capsys: pytest.CaptureFixture[str], words: list[str], verdict: str
) -> None:
    request = bench.request_from(__main__.parser().parse_args(["bench", "zap:64K", *words]))
    result = instructions.BenchResult(tuple(zap(8.5e6, 6.6e6)), (), environment(), (), {})
    bench.show(request, result)
    cells = line(capsys.readouterr().out, "64K")
    assert " ".join(cells[6:]) == verdict


@pytest.mark.parametrize("command", [["bench"], ["profile", "zap"]])
def test_a_kernel_is_not_measured_against_itself(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setattr(build, "build", lambda _: pytest.fail("a kernel was built"))
    words = [*command, "--kernel", "7.3", "--against", "7.3"]
    assert __main__.main(words) == UsageError.status
    assert "its untouched tree is --against pristine" in capsys.readouterr().err
