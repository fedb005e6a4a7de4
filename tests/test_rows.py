# SPDX-License-Identifier: GPL-2.0-only
"""From a guest's report to rows and cells."""

from collections.abc import Callable

import pytest

from swathe import arch, bench, benches, cc, paths, rows, sections
from swathe.errors import CheckFailed, UsageError

Data = Callable[[str], str]


def summary(text: str) -> list[rows.Row]:
    return rows.summarise(rows.collect(sections.parse(text)))


def test_median_and_spread_without_the_warm_up(data: Data) -> None:
    row = summary(data("bench.log"))[0]
    assert row == rows.Row(
        "lazyfree", "64K", "instructions", "stock", 24991111, "instructions", 398, 3
    )


def test_one_row_for_each_figure(data: Data) -> None:
    found = [(row.metric, row.config) for row in summary(data("bench.log"))]
    assert found == [
        ("instructions", "stock"),
        ("split_deferred", "stock"),
        ("instructions", "swathe"),
        ("split_deferred", "swathe"),
    ]


def test_a_failure_names_bench_case_config_and_reason() -> None:
    text = "@ lazyfree 64K swathe 1\npage 7 kept a byte\n\n? 1\n"
    with pytest.raises(CheckFailed, match=r"lazyfree 64K \(swathe\) failed: page 7 kept a byte"):
        summary(text)


def test_an_unfinished_program_failed() -> None:
    with pytest.raises(CheckFailed, match="failed"):
        summary("@ lazyfree 64K swathe 1\n= instructions 5 instructions\n")


def test_no_main_metric_is_a_failure() -> None:
    with pytest.raises(CheckFailed, match="printed no instructions"):
        summary("@ lazyfree 64K swathe 1\n= pages 5 pages\n\n? 0\n")


def test_a_malformed_metric_is_a_failure() -> None:
    with pytest.raises(CheckFailed, match="not a metric"):
        summary("@ lazyfree 64K swathe 1\n= instructions many instructions\n\n? 0\n")


def test_a_skip_has_no_row_but_a_reason() -> None:
    found = sections.parse("@ lazyfree 64K stock 1\nno such size\n\n? 4\n")
    assert rows.collect(found) == {}
    assert rows.skipped(found) == ["lazyfree 64K stock: no such size"]


def test_skipping_now_and_then_is_a_failure(data: Data) -> None:
    text = data("bench.log").replace(
        "\n? 0\n@ lazyfree 64K swathe 3", "\n? 4\n@ lazyfree 64K swathe 3"
    )
    with pytest.raises(CheckFailed, match="2 values of instructions from 3 repeats"):
        summary(text)


def test_guest_lines_alternate_and_warm_up() -> None:
    lines = bench.guest_lines("lazyfree", ["64K"], ["stock", "swathe"], 3, False)
    reports = [line.split(" -- ")[0] for line in lines if line.startswith("report")]
    assert reports[:3] == [
        "report lazyfree 64K stock 0",
        "report lazyfree 64K stock 1",
        "report lazyfree 64K swathe 1",
    ]
    assert len(reports) == 7
    assert [line[:6] for line in lines if "$SWITCH" in line] == [
        "echo 0",
        *["echo 0", "echo y"] * 3,
    ]


def test_pristine_has_no_switch() -> None:
    lines = bench.guest_lines("lazyfree", ["64K"], ["pristine"], 3, True)
    assert not [line for line in lines if "$SWITCH" in line]
    assert lines[-1].endswith("-- lazyfree 64K --full")


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [(24991111, "instructions", "24.99 M"), (2048, "folios", "2048"), (0, "folios", "0")],
)
def test_cells(value: float, unit: str, shown: str) -> None:
    assert bench.shown_value(rows.Row("b", "c", "m", "stock", value, unit, 0, 3)) == shown


def test_change_in_percent() -> None:
    def row(value: float) -> rows.Row:
        return rows.Row("b", "c", "instructions", "stock", value, "instructions", 0, 3)

    assert bench.change(row(200), row(150)) == "-25.0 %"
    assert bench.change(row(200), row(200)) == ""
    assert bench.change(row(0), row(5)) == ""


def test_strings_are_long_only_where_they_are_measured() -> None:
    def cpu(name: str, target: arch.Arch = arch.X86_64) -> str:
        return bench.processor(benches.choose([name])[0].bench, target)

    assert [cpu("multifault"), cpu("ptetables"), cpu("lazyfree", arch.ARM64)] == ["max"] * 3
    assert cpu("lazyfree") == "max,-erms,-fsrm"


def test_choose_everything() -> None:
    assert [choice.bench for choice in benches.choose([])] == list(benches.BENCHES)


def test_every_bench_has_its_program() -> None:
    mains = {path.stem for path in paths.WORKLOADS.glob("*.c") if cc.MAIN.search(path.read_text())}
    assert {bench.name for bench in benches.BENCHES} == mains


def test_choose_a_case() -> None:
    (choice,) = benches.choose(["lazyfree:64K"])
    assert choice.cases == ("64K",)


def test_choose_keeps_the_order_of_the_table() -> None:
    (choice,) = benches.choose(["lazyfree:64K", "lazyfree:4K"])
    assert choice.cases == ("4K", "64K")


@pytest.mark.parametrize(
    ("name", "said"), [("nope", "lazyfree, filemap"), ("lazyfree:3K", "4K, 64K, 1024K")]
)
def test_unknown_names_list_the_known(name: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        benches.choose([name])
