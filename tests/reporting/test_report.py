# SPDX-License-Identifier: GPL-2.0-only
"""The report: which figures it takes, what it says of them, and a page that stands alone."""

import html
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import asdict, replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from conftest import DATA
from msgspec.structs import replace as changed

from swathe import __main__
from swathe.base import release, results, table
from swathe.base.errors import CheckFailed, EnvironmentLacks, UsageError
from swathe.base.table import Table
from swathe.check import proofs
from swathe.measure import columns, commands, compare, figures, files, goals, recording
from swathe.measure.calltree import Counts
from swathe.measure.compare import GoalVerdict
from swathe.measure.figures import Figures, Malformed, Profile, Run
from swathe.measure.goals import Goal
from swathe.measure.rows import Row, Series
from swathe.reporting import (
    charts,
    content,
    markdown,
    material,
    origins,
    page,
    plots,
    summary,
    tables,
    threads,
    write,
)
from swathe.reporting.blocks import Bars, Beside, Lines, Missing, Pair, Plots, Text

RECORDED = (DATA / "report-bench.json", DATA / "report-profile.json")
GOAL = Goal("zap", "4K", "instructions", 64e6, 70e6, 53e6)
ON_OFF = ("stock", "swathe")
HOSTILE = '<script src="http://x.invalid/a.js">&`|*_'


def row(config: str, value: float, case: str = "4K", metric: str = "instructions") -> Row:
    unit = "instructions" if metric == "instructions" else metric
    return Row("zap", case, metric, config, value, unit, value / 1000, 3)


def run(date: str, *rows: Row, command: str = "swathe bench", **more: str) -> Run:
    about = {"date": date, "command": command, "kernel": "6.12.117", "config_hash": "abc", **more}
    return Run(f"{date}.json", about, rows)


def line(stock: float | None, swathe: float | None, goal: Goal | None = GOAL) -> compare.Line:
    values = {"stock": stock, "swathe": swathe}
    rows = {name: row(name, value) for name, value in values.items() if value is not None}
    return compare.Line("zap", "4K", "instructions", "instructions", rows, goal)


@pytest.fixture(scope="module")
def recorded() -> Figures:
    return figures.merge(one for path in RECORDED for one in figures.load(path, path.name))


@pytest.fixture(scope="module")
def site(recorded: Figures, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a written report."""
    return write.site(recorded, "Recorded.", tmp_path_factory.mktemp("report")).parent


# Which figures


def test_the_newest_run_of_each_case_is_taken() -> None:
    old = run("2026-01-01", row("stock", 1), row("swathe", 2), row("stock", 5, "64K"))
    new = run("2026-01-02", row("stock", 3), row("swathe", 4))
    for order in ((old, new), (new, old)):
        found = figures.merge(order)
        assert [(r.case, r.config, r.value) for r in found.rows] == [
            ("4K", "stock", 3), ("4K", "swathe", 4), ("64K", "stock", 5),
        ]  # fmt: skip
        assert [found.runs[i].date for i in found.runs_of("zap")] == ["2026-01-02", "2026-01-01"]


def test_stock_and_swathe_are_of_one_run_and_other_kernels_may_be_older() -> None:
    old = run("2026-01-01", row("stock", 1), row("swathe", 2), row("7.3", 9))
    new = run("2026-01-02", row("swathe", 4))
    found = {r.config: r.value for r in figures.merge([old, new]).rows}
    assert found == {"swathe": 4, "7.3": 9}


def test_the_newest_curves_of_a_case_are_taken() -> None:
    def curve(last: float) -> Series:
        return Series("ptetables", "dontneed-2M", "stock", "vmpte", ((0, 1), (1, last)))

    old = replace(run("2026-01-01", row("stock", 1)), series=(curve(5),))
    new = replace(run("2026-01-02", row("stock", 1)), series=(curve(9),))
    for order in ((old, new), (new, old)):
        assert figures.merge(order).series == (curve(9),)


def test_the_newest_profile_of_a_case_is_taken(recorded: Figures) -> None:
    days = ("2026-01-01", "2026-01-02")
    old, new = (
        replace(profile_of(recorded), environment={"date": day, "swathe": day}) for day in days
    )
    for order in ((old, new), (new, old)):
        assert figures.merge(order).profiles == (new,)


def test_runs_that_nothing_is_taken_from_are_not_named() -> None:
    found = figures.merge([run("2026-01-01", row("stock", 1)), run("2026-01-02", row("stock", 2))])
    assert [one.date for one in found.runs] == ["2026-01-02"]


def newer_run(date: str, *rows: Row, **more: str) -> Run:
    return run(date, *rows, command="swathe bench --kernel 7.3", kernel="7.3.4", **more)


BOTH = [
    newer_run("2026-01-02", row("stock", 70e6), row("swathe", 56e6)),
    run("2026-01-01", row("stock", 64e6), row("swathe", 60e6), row("7.3", 69e6)),
]


def test_a_newer_kernel_has_columns_of_its_own() -> None:
    """Its stock is of the boot that measured its swathe, also if another run is newer."""
    wanted = {"stock": 64e6, "swathe": 60e6, "7.3": 70e6, "swathe 7.3": 56e6}
    old, new = BOTH
    newest = replace(new, environment={**new.environment, "date": "2026-01-03"})
    for order in ([old, new], [new, old], [newest, old]):
        found = figures.merge(order)
        assert {r.config: r.value for r in found.rows} == wanted
        assert {r.case for r in found.rows} == {"4K"}
    assert {r.config for r in figures.merge([new]).rows} == {"stock", "swathe", "7.3"}


def test_a_newer_kernels_untouched_tree_is_not_the_lts_ones() -> None:
    found = figures.merge([newer_run("2026-01-01", row("pristine", 1), row("stock", 2))])
    assert [r.config for r in found.rows] == ["pristine 7.3", "7.3"]


def test_each_kernel_has_its_curves() -> None:
    def curves(*configs: str) -> tuple[Series, ...]:
        return tuple(
            Series("ptetables", "dontneed-2M", config, "vmpte", ((0, 1), (1, len(configs))))
            for config in configs
        )

    older, newer = run("2026-01-01", row("stock", 1)), newer_run("2026-01-02", row("stock", 1))
    both = [
        replace(older, series=curves("7.3", "stock", "swathe")),
        replace(newer, series=curves("stock", "swathe")),
    ]
    for order in (both, both[::-1]):
        found = {one.config: one.points[-1][1] for one in figures.merge(order).series}
        assert found == {"stock": 3, "swathe": 3, "7.3": 2, "swathe 7.3": 2}
    assert figures.merge(both[:1]).series == both[0].series


def test_each_kernel_has_its_profile(recorded: Figures) -> None:
    usual = profile_of(recorded)
    about = {"kernel": "7.3.4", "date": "2099-01-01"}
    newer = replace(usual, environment={**usual.environment, **about})
    found = figures.merge([newer, usual])
    assert [one.case for one in found.profiles] == ["64K", "64K"]
    assert [list(one.configs) for one in found.profiles] == [
        ["stock", "swathe"], ["7.3", "swathe 7.3"],
    ]  # fmt: skip
    document = write.build(found, "")
    assert [plot.name for plot in document.plots()] == [
        "lazyfree-64K-profile", "lazyfree-64K-7-3-profile",
    ]  # fmt: skip
    text = markdown.render(document)
    assert "./swathe profile lazyfree 64K\n" in text
    assert "./swathe profile lazyfree 64K --kernel 7.3\n" in text
    tables_of = [tables.profile_table(one) for one in found.profiles]
    assert [t.columns[1].name for t in tables_of] == ["stock 6.12", "stock 7.3"]
    assert tables_of[0].rows == tables_of[1].rows
    assert recording.profile_json(found.profiles[1])["configs"].keys() == {"stock", "swathe"}


def written(total: int, writing: int) -> figures.ProfileConfig:
    groups = {"total": Counts(instructions=total), "writing": Counts(instructions=writing)}
    return figures.ProfileConfig(32768, {"f": groups["total"]}, groups)


def test_all_but_writing_is_judged_by_a_profile() -> None:
    about = {"kernel": "7.3.4", "command": "swathe profile swapout 64K --kernel 7.3"}
    configs = {
        "stock": written(128_000_000, 86_000_000),
        "swathe": written(114_000_000, 86_000_000),
    }
    found = figures.merge([Profile("p.json", "swapout", "64K", about, configs)])
    document = write.build(found, "")
    text = markdown.render(document)
    assert "All but writing, in the profile, million instructions" in text
    assert "| 64 KiB | 42.00 | 28.00 | −33.3 % | ≤ 27.72 | missed by 1.0 % |" in text
    assert "Of 1 goals measured on 7.3, 0 are met and 1 are missed." in text
    assert "The bench swapout was not measured in this run." in text
    assert "Instructions that Linux 7.3.4 executes" in text
    nothing = replace(found.profiles[0], configs={"7.3": written(9, 0)})
    assert nothing.but_writing() == []


def test_an_unusual_run_is_not_mixed_with_the_usual_ones() -> None:
    usual = run("2026-01-01", row("stock", 60e6), row("swathe", 50e6))
    full = run("2026-01-02", row("swathe", 200e6), command="swathe bench zap --full --json /x/y")
    found = compare.lines(figures.merge([usual, full]).rows, [GOAL])
    assert [(one.case, one.verdict()) for one in found] == [
        ("4K", GoalVerdict.MET), ("4K --full", GoalVerdict.NONE),
    ]  # fmt: skip
    zap = threads.load().thread[2].part[0]
    titles = [title for title, _ in content.grouped(zap, found, "munmap()")]
    assert titles == ["munmap()", "munmap(), --full"]


def test_an_unusual_profile_is_one_of_its_own(recorded: Figures) -> None:
    usual = profile_of(recorded)
    about = {**usual.environment, "command": "swathe profile lazyfree 64K --arch arm64"}
    found = figures.merge([usual, replace(usual, environment=about)])
    assert [one.case for one in found.profiles] == ["64K", "64K --arch arm64"]
    document = write.build(found, "")
    assert [plot.name for plot in document.plots()] == [
        "lazyfree-64K-profile", "lazyfree-64K-arch-arm64-profile",
    ]  # fmt: skip
    assert "./swathe profile lazyfree 64K --arch arm64" in markdown.render(document)
    assert recording.profile_json(found.profiles[1])["case"] == "64K"


def test_rows_come_in_the_order_of_the_table_of_benches() -> None:
    cases = [row("stock", 1, case) for case in ("2048K", "16K", "other")]
    full = run("2026-01-01", *cases, command="swathe bench --full")
    found = figures.merge([full, run("2026-01-01", *cases)])
    usual = ["16K", "2048K", "other"]
    assert [r.case for r in found.rows] == [*usual, *(f"{case} --full" for case in usual)]


def test_figures_are_chosen_in_the_order_of_their_rows() -> None:
    """Not in that of a set, which is another in every process."""
    cases = ["4K", "2048K", "64K", "16K", "exit-4K", "1024K", "128K", "sparse-4K"]
    one = run("2026-01-01", *(row("stock", 1, case) for case in cases))
    assert [case for _, case, _ in figures.choose([figures.keys_of(one.rows)])] == cases


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "not a JSON object"),
        ("{}", "no figures"),
        ("{", "not JSON"),
        ('{"rows": [{"bench": "zap"}]}', "missing"),
        ('{"rows": [3]}', "Expected `object`, got `int`"),
        ('{"bench": "zap", "configs": {}}', "missing required field `case`"),
        (
            json.dumps({"rows": [{**asdict(row("stock", 1)), "value": "1"}]}),
            "got `str` - at `$.rows[0].value`",
        ),
        (json.dumps({"rows": [], "series": [
            {"bench": "b", "case": "c", "config": "d", "series": "e", "points": [1]}]}), "points"),
    ],
)  # fmt: skip
def test_what_is_no_figures_is_told_in_a_sentence(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "some.json"
    path.write_text(text)
    with pytest.raises(Malformed, match=re.escape(said)):
        figures.load(path, "some.json")
    with pytest.raises(UsageError, match=r"some\.json: .*" + re.escape(said)):
        files.given([path])


def test_without_files_kept_figures_come_first_then_recorded_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, docs = tmp_path / "kept", tmp_path / "docs"
    for directory in (kept, docs):
        directory.mkdir()
    monkeypatch.setattr(results, "HERE", kept)
    monkeypatch.setattr(results, "KEPT", docs)
    with pytest.raises(EnvironmentLacks, match=r"run \./swathe bench"):
        files.newest()
    shutil.copy(RECORDED[0], docs / "some-run.json")
    (docs / "kselftests-6.12.json").write_text("{}")
    origin = files.newest().origin
    assert "docs/results/some-run.json" in origin and "kselftests" not in origin
    shutil.copy(RECORDED[0], kept / "bench-1.json")
    (kept / "bench-2.json").write_text("broken")
    (kept / "other.json").write_text("{}")
    assert "build/results" in files.newest().origin


# What is said of them


@pytest.mark.parametrize(
    ("stock", "swathe", "goal", "verdict", "text"),
    [
        (64e6, 53e6, GOAL, GoalVerdict.MET, "met"),
        (64e6, 53e6 + 1, GOAL, GoalVerdict.MISSED, "missed by 0.0 %"),
        (64e6, 58.3e6, GOAL, GoalVerdict.MISSED, "missed by 10.0 %"),
        (64e6, 53e7 * 2, GOAL, GoalVerdict.MISSED, "missed: 20 times"),
        (64e6, None, GOAL, GoalVerdict.UNMEASURED, "not measured"),
        (64e6, 1, None, GoalVerdict.NONE, "—"),
        (64e6, 1, changed(GOAL, goal=None), GoalVerdict.NONE, "—"),
        (9, 3, changed(GOAL, goal=0.0), GoalVerdict.MISSED, "missed"),
        (9, 0, changed(GOAL, goal=0.0), GoalVerdict.MET, "met"),
    ],
)
def test_goals(
    stock: float, swathe: float | None, goal: Goal | None, verdict: GoalVerdict, text: str
) -> None:
    found = line(stock, swathe, goal)
    assert (found.verdict(), compare.verdict_text(found)) == (verdict, text)


def test_changes_and_spreads() -> None:
    assert compare.percent(line(200, 150).change()) == "−25.0 %"
    assert compare.percent(line(200, 201).change()) == "+0.5 %"
    assert compare.percent(line(10_000_000, 10_000_001).change()) == "0.0 %"
    assert compare.percent(line(0, 0).change()) == "0.0 %"
    assert compare.percent(line(0, 5).change()) == ""
    assert compare.percent(line(None, 5).change()) == ""
    assert compare.spread_text(line(200, 150).spread()) == "0.100 %"


def test_the_spread_of_a_row_is_its_largest() -> None:
    rows = {**line(200, 150).rows, "swathe": replace(row("swathe", 100), spread=7)}
    assert compare.spread_text(replace(line(200, 150), rows=rows).spread()) == "7.000 %"


def test_numbers() -> None:
    assert compare.scale([line(5e6, 1), line(1, 1)]) == (1_000_000, "million instructions")
    assert compare.scale([line(999_999, None)]) == (1, "instructions")
    assert compare.scale([replace(line(5e6, 1), unit="kB")]) == (1, "kB")
    assert [compare.number(n) for n in (None, 0, 2048.0, 6318.5, 0.25)] == [
        "", "0", "2,048", "6,318.5", "0.25",
    ]  # fmt: skip
    names = [
        compare.case_name(n) for n in ("64K", "64K@1024M", "64K@256M", "4K-random", "dontneed-2M")
    ]
    assert names == [
        "64 KiB",
        "64 KiB in 1 GiB",
        "64 KiB in 256 MiB",
        "4 KiB, random",
        "dontneed-2M",
    ]


def cells(table: Table, first: str) -> list[str]:
    return next([cell.text for cell in each] for each in table.rows if each[0].text == first)


def test_a_table_says_it_all_and_marks_what_is_not_of_this_run() -> None:
    measured = replace(line(64e6, 53e6), rows={**line(64e6, 53e6).rows, "7.3": row("7.3", 69e6)})
    other = replace(line(24e6, 60e6), case="64K")
    table = tables.comparison("munmap()", [measured, other])
    assert table.caption == "munmap(), million instructions"
    assert [column.name for column in table.columns] == [
        "case", "stock 6.12", "swathe 6.12", "change", "goal", "verdict", "stock 7.3", "spread",
    ]  # fmt: skip
    assert cells(table, "4 KiB") == [
        "4 KiB", "64.00", "53.00", "−17.2 %", "≤ 53.00", "met", "69.00", "0.100 %",
    ]  # fmt: skip
    assert cells(table, "64 KiB")[6] == "70.00 †"
    assert tables.has_recorded([measured, other])
    assert not tables.has_recorded([measured])


def test_the_newest_kernel_has_its_column_from_what_was_known_before() -> None:
    table = tables.comparison("munmap()", [line(64e6, 53e6)])
    assert cells(table, "4 KiB")[6] == "70.00 †"
    without = tables.comparison("munmap()", [line(64e6, 53e6, None)])
    assert [column.name for column in without.columns] == [
        "case", "stock 6.12", "swathe 6.12", "change", "spread",
    ]  # fmt: skip


NEWER_GOAL = Goal("zap", "4K", "instructions", 70e6, of_stock=0.8, note="a fifth less")


def side_by_side(runs: Sequence[Run]) -> compare.Line:
    (found,) = compare.lines(figures.merge(runs).rows, [GOAL], {"7.3": [NEWER_GOAL]})
    return found


def test_two_kernels_stand_side_by_side_each_with_its_goal() -> None:
    table = tables.comparison("munmap()", [side_by_side(BOTH)])
    assert [column.name for column in table.columns] == [
        "case", "stock 6.12", "swathe 6.12", "change", "goal", "verdict",
        "stock 7.3", "swathe 7.3", "change 7.3", "goal 7.3", "verdict 7.3", "spread",
    ]  # fmt: skip
    assert cells(table, "4 KiB") == [
        "4 KiB", "64.00", "60.00", "−6.2 %", "≤ 53.00", "missed by 13.2 %",
        "70.00", "56.00", "−20.0 %", "≤ 56.00", "met", "0.100 %",
    ]  # fmt: skip


def test_a_newer_kernel_alone_has_no_empty_columns() -> None:
    alone = side_by_side(BOTH[:1])
    table = tables.comparison("munmap()", [alone])
    assert [column.name for column in table.columns] == [
        "case", "stock 7.3", "swathe 7.3", "change 7.3", "goal 7.3", "verdict 7.3", "spread",
    ]  # fmt: skip
    assert cells(table, "4 KiB")[1:5] == ["70.00", "56.00", "−20.0 %", "≤ 56.00"]
    plot = charts.bars("n", "t", [alone])
    assert plot and isinstance(plot.drawing, Bars)
    (group,) = plot.drawing.groups
    assert [(bar.config, bar.share) for bar in group.bars] == [("7.3", 1), ("swathe 7.3", 0.8)]
    assert group.verdict == "goal 7.3 56.00: met"
    assert "relative to stock 7.3" in plot.description
    text = markdown.render(write.build(figures.merge(BOTH[:1]), ""))
    assert "Instructions that Linux 7.3.4 executes" in text
    assert "6.12 |" not in text
    assert "of the goals on 6.12" not in text


def test_a_goal_of_a_newer_kernel_is_not_judged_without_its_swathe() -> None:
    alone = side_by_side(BOTH[1:])
    table = tables.comparison("munmap()", [alone])
    assert [column.name for column in table.columns][6:] == ["stock 7.3", "spread"]
    assert list(content.goal_notes([alone])) == []
    assert [note.text for note in content.goal_notes([side_by_side(BOTH)])] == [
        "4 KiB, instructions on 7.3: a fifth less."
    ]


def test_the_switch_of_each_kernel_is_judged_by_its_limit() -> None:
    pristine = {"2026-01-01": row("pristine", 63.9e6), "2026-01-02": row("pristine", 69.7e6)}
    runs = [replace(one, rows=(*one.rows, pristine[one.date])) for one in BOTH]
    found = material.Material(figures.merge(runs), (), {})
    newer = tables.switched_off(found.off(columns.KERNELS[-1]), columns.KERNELS[-1], 1.004)
    assert newer is not None and newer.caption.startswith("Stock 7.3 (switched off)")
    assert cells(newer, "4 KiB")[1:] == ["69.70", "70.00", "+0.43 %", "≤ +0.40 %", "missed"]
    older = tables.switched_off(found.off(columns.LTS), columns.LTS, 1.005)
    assert older is not None
    assert cells(older, "4 KiB")[1:] == ["63.90", "64.00", "+0.16 %", "≤ +0.50 %", "met"]
    text = markdown.render(write.build(figures.merge(runs), ""))
    assert "1 of 1 rows of 6.12 are at most 0.5 % above the untouched tree." in text
    assert "0 of 1 rows of 7.3 are at most 0.4 % above the untouched tree." in text
    assert "Switched off" not in markdown.render(write.build(figures.merge(BOTH), ""))


def test_what_the_switch_costs_is_told_by_one_run(tmp_path: Path) -> None:
    """Stock of a newer run is shown, but not compared with the older run's untouched tree."""
    old = run("2026-01-01", row("pristine", 100), row("stock", 100), row("swathe", 50))
    new = run("2026-01-02", row("stock", 110), row("swathe", 60))
    found = figures.merge([old, new])
    assert {r.config: r.value for r in found.rows} == {"pristine": 100, "stock": 110, "swathe": 60}
    (line,) = material.Material(found, (), {}).off(columns.LTS)
    assert line.costs_when_off() == 0
    (tmp_path / "kept.json").write_text(recording.text(found))
    again = figures.merge(figures.load(tmp_path / "kept.json", "kept.json"))
    assert again.rows == found.rows
    (line,) = material.Material(again, (), {}).off(columns.LTS)
    assert line.value("stock") == 100


def test_an_unusual_runs_switch_is_not_judged() -> None:
    rows = (row("pristine", 60e6), row("stock", 64e6), row("swathe", 60e6))
    found = figures.merge([run("2026-01-01", *rows, command="swathe bench --flavor distro")])
    text = markdown.render(write.build(found, ""))
    assert "+6.67 %" in text
    assert "Switched off, " not in text
    assert "+0.50 %" not in text


def test_events_are_per_page(recorded: Figures) -> None:
    found = [one for one in compare.lines(recorded.rows, []) if one.bench == "lazyfree"]
    table = tables.events(found)
    assert table
    assert cells(table, "64 KiB, stock 6.12") == ["64 KiB, stock 6.12", "755.1", "9.250", "0", "0"]
    assert cells(table, "64 KiB, swathe 6.12")[1:3] == ["234.0", "1.062"]
    assert tables.events([one for one in found if one.metric == "pages"]) is None


def profile_of(found: Figures) -> Profile:
    return found.profiles[0]


def test_a_profile_adds_up(recorded: Figures) -> None:
    table = tables.profile_table(profile_of(recorded))
    of_stock = [float(each[1].text.replace(",", "")) for each in table.rows]
    names = [each[0].text for each in table.rows]
    assert names[0] == "1. `try_to_unmap_one`"
    assert names[-2:] == ["all", "of all: the unmap path"]
    assert sum(of_stock[:-2]) == pytest.approx(of_stock[-2], abs=2)
    assert cells(table, "1. `try_to_unmap_one`")[1:3] == ["170.3", "22.35 %"]
    plot = charts.stack(profile_of(recorded))
    assert plot
    assert "762.1" in plot.description


def test_a_profile_says_who_calls_whom_if_it_knows(recorded: Figures) -> None:
    assert list(tables.branches(profile_of(recorded))) == []
    data = json.loads(RECORDED[1].read_text())
    total = data["configs"]["stock"]["total"]["instructions"]
    data["configs"]["stock"]["tree"] = [[["a"], total // 4], [["a", "b"], total // 8]]
    (profile,) = figures.parse(data, "")
    assert isinstance(profile, Profile)
    ((title, lines),) = tables.branches(profile)
    assert title.startswith("stock 6.12")
    assert lines == ("25.00%--a", "   12.50%--b")
    again = recording.profile_json(profile)
    assert figures.parse(json.loads(json.dumps(again)), "") != []
    text = markdown.render(write.build(replace(recorded, profiles=(profile,)), ""))
    assert "   12.50%--b" in text


def test_a_profiles_events_are_per_page(recorded: Figures) -> None:
    table = tables.profile_events(profile_of(recorded))
    assert [row[0].text for row in table.rows] == [
        "stock 6.12, all", "stock 6.12, unmap path", "swathe 6.12, all", "swathe 6.12, unmap path",
    ]  # fmt: skip
    assert cells(table, "stock 6.12, all")[1:] == ["762.1", "0", "0", "0"]


# The content


def texts(block: object) -> Sequence[object]:
    """A block and all that is in it."""
    match block:
        case Beside(quote, inner):
            return [block, quote, quote.table, *(x for each in inner for x in texts(each))]
        case Pair(left, right):
            return [block, *(x for each in (*left, *right) for x in texts(each))]
        case _:
            return [block]


def test_every_bench_and_every_row_of_the_data_appears(recorded: Figures, site: Path) -> None:
    extra = Row("teleport", "far", "instructions", "swathe", 7, "instructions", 0, 3)
    more = replace(recorded, rows=(*recorded.rows, extra))
    document = write.build(more, "Recorded.")
    assert [section.key for section in document.sections] == [
        "summary", "single-pages", "s0", "s1", "s2", "s3", "s4", "others",
        "environment", "reading", "excluded",
    ]  # fmt: skip
    text = markdown.render(document)
    for bench in more.benches():
        assert f"`{bench}`" in text or f"### {bench}" in text
    for one in more.rows:
        assert compare.number(one.value) in text or f"{one.value / 1e6:,.2f}" in text, one
    assert "others" not in [s.key for s in write.build(recorded, "").sections]


def test_single_pages_of_both_kernels_are_in_one_chart() -> None:
    pages = row("stock", 8e6, "64K")
    of_others = [
        replace(row(config, value, case), bench=bench)
        for bench, case in (("filemap", "single"), ("filemap", "pageout"))
        for config, value in (("stock", 12e6), ("swathe", 9e6))
    ]
    newer, lts = BOTH
    found = figures.merge([newer, replace(lts, rows=(*lts.rows, pages, *of_others))])
    (chapter,) = (one for one in write.build(found, "").sections if one.key == "single-pages")
    (pair,) = (block for block in chapter.blocks if isinstance(block, Pair))
    (shown,) = pair.right
    assert isinstance(shown, Plots)
    (plot,) = shown.plots
    assert isinstance(plot.drawing, Bars)
    assert {group.name: [bar.config for bar in group.bars] for group in plot.drawing.groups} == {
        "filemap single": ["stock", "swathe"],
        "zap 4 KiB": ["stock", "swathe", "7.3", "swathe 7.3"],
    }
    assert [bar.label for bar in plot.drawing.groups[1].bars] == [
        "64.00", "60.00", "70.00", "56.00",
    ]  # fmt: skip


def test_without_single_pages_there_is_no_chapter_on_them() -> None:
    found = figures.merge([run("2026-01-01", row("stock", 2, "64K"), row("swathe", 1, "64K"))])
    assert "single-pages" not in [one.key for one in write.build(found, "").sections]


def test_the_threads_are_quoted_beside_ours(site: Path) -> None:
    for name in ("index.html", "report.md"):
        text = (site / name).read_text().replace("\N{NO-BREAK SPACE}", " ")
        for figure in ("0.023785", "0.249", "58865", "102640 kB", "31,880,833", "0.072"):
            assert figure in text, (name, figure)
        for author in ("Song", "Wang", "Hildenbrand", "Fengwei", "Qi Zheng"):
            assert author in text


def test_what_is_missing_is_said_with_its_command() -> None:
    empty = write.build(figures.merge([run("2026-01-01", row("stock", 1), row("swathe", 1))]), "")
    missing = [
        block
        for section in empty.sections
        for outer in section.blocks
        for block in texts(outer)
        if isinstance(block, Missing)
    ]
    said = {block.command for block in missing}
    assert all("not measured in this run" in block.what for block in missing)
    for bench in ("lazyfree", "filemap", "pageout_rate", "swapout", "migrate", "multifault"):
        assert f"./swathe bench {bench}" in said
    assert "./swathe bench ptetables:dontneed-2M" in said
    assert "./swathe profile zap 64K" in said
    assert not [plot for plot in empty.plots() if "lazyfree" in plot.name]


def test_what_is_missing_of_a_newer_kernel_alone_is_measured_on_it() -> None:
    alone, both = (markdown.render(write.build(figures.merge(r), "")) for r in (BOTH[:1], BOTH))
    for command in (
        "bench lazyfree", "bench ptetables:dontneed-2M", "bench zap", "profile zap 64K",
    ):  # fmt: skip
        assert f"`./swathe {command} --kernel 7.3`" in alone
        assert f"`./swathe {command}`" not in alone
        assert f"`./swathe {command}`" in both


def test_nothing_measured_is_missing(recorded: Figures) -> None:
    document = write.build(recorded, "")
    said = [
        block.what
        for section in document.sections
        for outer in section.blocks
        for block in texts(outer)
        if isinstance(block, Missing)
    ]
    assert not [what for what in said if "VmPTE" in what or "in lazyfree 64 KiB" in what]
    assert not [what for what in said if what.startswith("The bench") and "migrate" not in what]


def test_the_summary_counts_the_goals() -> None:
    found = [line(64e6, 53e6), line(64e6, 60e6), line(64e6, 60e6), line(1, 1, None)]
    assert summary.goals_met(found) == "Of 3 goals measured on 6.12, 1 are met and 2 are missed."
    assert "None" in summary.goals_met([line(64e6, None)])
    both = [side_by_side(BOTH)]
    newer = summary.goals_met(both, columns.KERNELS[-1])
    assert newer == "Of 1 goals measured on 7.3, 1 are met and 0 are missed."
    assert "on 6.12, 0 are met and 1 are missed" in summary.goals_met(both)


def test_the_summary_has_the_columns_of_both_kernels() -> None:
    chapter = summary.chapter(material.Material(figures.merge(BOTH), (side_by_side(BOTH),), {}))
    (table,) = (x for block in chapter.blocks for x in texts(block) if isinstance(x, Table))
    assert [column.name for column in table.columns] == [
        "row", "stock 6.12", "swathe 6.12", "change", "stock 7.3", "swathe 7.3", "change 7.3",
        "unit", "goals met", "goals met 7.3",
    ]  # fmt: skip
    assert cells(table, "S2 zap 4 KiB") == [
        "S2 zap 4 KiB", "64.00", "60.00", "−6.2 %", "70.00", "56.00", "−20.0 %",
        "M instructions", "0 of 1", "1 of 1",
    ]  # fmt: skip
    assert len(cells(table, "S0 lazyfree 64 KiB")) == len(table.columns)


def test_columns_of_another_run_are_named() -> None:
    said = content.origin_text(figures.merge(BOTH), "zap")
    assert said == "Figures of run b; stock 7.3 and swathe 7.3 of run a."
    assert content.origin_text(figures.merge(BOTH[:1]), "zap") == "Figures of run a."
    assert content.again(figures.merge(BOTH), "zap") == (
        "./swathe bench zap --kernel 7.3", "./swathe bench zap",
    )  # fmt: skip


def test_the_environment_says_once_what_is_the_same(recorded: Figures) -> None:
    one = run("2026-01-01", row("stock", 1), swathe="aaa", qemu="QEMU 7")
    other = run("2026-01-02", row("stock", 1, "64K"), swathe="bbb", qemu="QEMU 7")
    found = material.Material(figures.merge([one, other]), (), {})
    shared, runs = [b for b in origins.chapter(found).blocks if isinstance(b, Table)]
    assert cells(shared, "QEMU")[1] == "QEMU 7"
    assert {"kernel", "configuration", "QEMU", "command"} == {row[0].text for row in shared.rows}
    assert [column.name for column in runs.columns][2:] == ["date", "Swathe commit", "file"]
    assert cells(runs, "run a")[1:] == ["zap", "2026-01-02", "bbb", "2026-01-02.json"]
    assert cells(runs, "run b")[3] == "aaa"


@pytest.mark.parametrize(("command", "alone"), [("swathe bench", False), (
    "swathe bench --cpus 2", True)])  # fmt: skip
def test_runs_with_other_options_have_no_empty_summary(command: str, alone: bool) -> None:
    found = figures.merge([run("2026-01-01", row("stock", 2), row("swathe", 1), command=command)])
    lines = tuple(compare.lines(found.rows, []))
    blocks = summary.chapter(material.Material(found, lines, {})).blocks
    assert (Text(summary.ELSEWHERE) in blocks) is alone


def test_figures_of_different_kernels_are_warned_of() -> None:
    one = run("2026-01-01", row("stock", 1))
    other = run("2026-01-02", row("stock", 1, "64K"), config_hash="def")
    newer = newer_run("2026-01-02", row("stock", 1, "64K"), config_hash="def")
    warned = [
        "different kernels" in markdown.render(write.build(figures.merge(runs), ""))
        for runs in ([one, other], [one], BOTH, [*BOTH, newer])
    ]
    assert warned == [True, False, False, True]


@pytest.mark.parametrize(
    ("command", "again", "setup"),
    [
        ("swathe bench", "./swathe bench zap", ""),
        ("swathe bench zap:4K lazyfree --repeat 3 --json /x/y.json", "./swathe bench zap", ""),
        ("swathe bench --json=/x --against 7.3 --repeat 5 zap",
         "./swathe bench zap --against 7.3 --repeat 5", ""),
        ("swathe bench --full --timeout 9000 --cpus 4 zap",
         "./swathe bench zap --full --cpus 4", "--cpus 4 --full"),
        ("swathe bench --boot 'a b' --arch x86_64", "./swathe bench zap --boot 'a b'",
         "--boot 'a b'"),
        ("swathe bench --source /home/me/linux", "./swathe bench zap --source /home/me/linux",
         "--source linux"),
        ("swathe bench --kernel 6.18 --source /x/y",
         "./swathe bench zap --kernel 6.18 --source /x/y", ""),
        ("swathe bench --kernel 7.3", "./swathe bench zap --kernel 7.3", ""),
        ("", "./swathe bench zap", ""),
    ],
)  # fmt: skip
def test_commands(command: str, again: str, setup: str) -> None:
    assert commands.again(command, "zap") == again
    assert commands.setup(command) == setup


# The plots


def test_bars_are_relative_to_stock_and_have_the_goal() -> None:
    plot = charts.bars("n", "t", [line(64e6, 53e6), replace(line(10e6, 20e6, None), case="64K")])
    assert plot and isinstance(plot.drawing, Bars)
    first, second = plot.drawing.groups
    assert [bar.share for bar in first.bars] == [1, 53 / 64]
    assert [bar.goal for bar in first.bars] == [None, 53 / 64]
    assert first.verdict == "goal 53.00: met"
    assert (second.bars[1].goal, second.bars[1].share, second.bars[1].label) == (None, 2, "20.00")
    assert "4 KiB: stock 6.12 64.00, swathe 6.12 53.00, goal 53.00: met" in plot.description


def test_bars_of_two_kernels_have_two_goals() -> None:
    plot = charts.bars("n", "t", [side_by_side(BOTH)])
    assert plot and isinstance(plot.drawing, Bars)
    (group,) = plot.drawing.groups
    assert [(bar.config, bar.goal) for bar in group.bars] == [
        ("stock", None), ("swathe", 53 / 64), ("7.3", None), ("swathe 7.3", 56 / 64),
    ]  # fmt: skip
    assert group.verdict == "goals 53.00: missed, 56.00: met"
    assert "stock 7.3 70.00, swathe 7.3 56.00, goals 53.00: missed" in plot.description
    for theme in plots.themes().values():
        drawn = plots.draw(plot, theme)
        assert {theme.fill[bar.config] for bar in group.bars} <= set(
            re.findall(r"#[0-9a-f]{6}\b", drawn)
        )


def test_curves_over_folio_size_and_over_memory(recorded: Figures) -> None:
    found = [one for one in compare.lines(recorded.rows, []) if one.bench == "zap"]
    folio, size = charts.by_folio("zap", found), charts.by_size("zap", "64K", found)
    assert folio and isinstance(folio.drawing, Lines)
    assert size and isinstance(size.drawing, Lines)
    assert [x for x, _ in folio.drawing.curves[0].points] == [4, 64, 2048]
    assert size.drawing.ticks == {256: "256 MiB", 1024: "1 GiB", 4096: "4 GiB"}
    costs = [y for _, y in size.drawing.curves[0].points]
    assert max(costs) / min(costs) == pytest.approx(1, abs=0.001)


def test_memory_sizes_of_one_folio_size_make_one_curve() -> None:
    cases = ("4K@256M", "4K@1024M", "64K@256M", "64K@1024M")
    made = [
        row("stock", value, case, metric)
        for value, case in enumerate(cases, 1)
        for metric in ("instructions", "pages")
    ]
    plot = charts.by_size("zap", "64K", compare.lines(made, []))
    assert plot and isinstance(plot.drawing, Lines)
    assert [curve.points for curve in plot.drawing.curves] == [((256, 1), (1024, 1))]
    assert charts.by_size("zap", "16K", compare.lines(made, [])) is None


def test_every_plot_is_drawn_named_and_described(recorded: Figures, site: Path) -> None:
    document = write.build(recorded, "")
    kinds = {type(plot.drawing).__name__ for plot in document.plots()}
    assert kinds == {"Bars", "Lines", "Stack"}
    names = [plot.name for plot in document.plots()]
    assert len(names) == len(set(names))
    for plot in document.plots():
        for file in (markdown.picture(plot), markdown.picture(plot, "-dark")):
            title = ET.parse(site / file).getroot().find("{http://www.w3.org/2000/svg}title")
            assert title is not None and title.text == plot.title
            assert html.escape(plot.description) in (site / file).read_text()


def test_plots_of_two_units_are_two_plots() -> None:
    odd = [replace(row(name, 2, "8K"), unit="cycles") for name in ("stock", "swathe")]
    one = run("2026-01-01", row("stock", 1), row("swathe", 1), *odd)
    names = [plot.name for plot in write.build(figures.merge([one]), "").plots()]
    assert len([name for name in names if name.startswith("zap-instructions")]) == 2
    assert len(names) == len(set(names))


def test_plots_use_the_colours_of_their_theme_and_keep_their_text(recorded: Figures) -> None:
    for plot in write.build(recorded, "").plots():
        drawn = {name: plots.draw(plot, theme) for name, theme in plots.themes().items()}
        for name, theme in plots.themes().items():
            known = {*theme.page.values(), *theme.fill.values(), *theme.stroke.values()}
            used = set(re.findall(r"#[0-9a-f]{6}\b", drawn[name])) - {*known, *theme.layers}
            assert not used, f"{plot.name}: {used} is no colour of the {name} theme"
            assert f"fill: {theme.page['paper']}" in drawn[name]
        texts = [re.findall(r"<text[^>]*>([^<]*)<", svg) for svg in drawn.values()]
        assert texts[0] and texts[0] == texts[1]


def luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", ["light", "dark"])
def test_contrast_is_enough(name: str) -> None:
    theme = plots.themes()[name]
    for text in ("ink", "faint", "link", "good", "bad"):
        for ground in ("paper", "panel"):
            assert contrast(theme.page[text], theme.page[ground]) >= 4.5, (text, ground)
    for color in theme.layers:
        assert contrast(theme.page["ink"], color) >= 4.5, color
    for config in charts.DRAWN:
        assert contrast(theme.stroke[config], theme.page["paper"]) >= 3, config


def test_the_page_has_both_themes_and_each_plot_in_both(site: Path, recorded: Figures) -> None:
    text = (site / "index.html").read_text()
    light, dark = text.split("@media (prefers-color-scheme: dark)", 1)
    for half, theme in ((light, plots.themes()["light"]), (dark, plots.themes()["dark"])):
        for name, color in theme.page.items():
            assert f"--{name}: {color};" in half
    report = (site / "report.md").read_text()
    for plot in write.build(recorded, "").plots():
        for file in (markdown.picture(plot), markdown.picture(plot, "-dark")):
            assert page.embedded((site / file).read_text()) in text
            assert f'"{file}"' in report


# The page


class Reader(HTMLParser):
    """What the page refers to, and the ids it defines."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.resources: list[tuple[str, str]] = []
        self.ids: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif tag == "a" and name == "href":
                self.links.append(value or "")
            elif name in ("src", "href", "srcset", "data", "poster", "action", "xlink:href"):
                self.resources.append((tag, value or ""))


def read(path: Path) -> Reader:
    reader = Reader()
    reader.feed(path.read_text())
    return reader


def test_the_page_refers_to_nothing_outside(site: Path) -> None:
    found = read(site / "index.html")
    outside = [(tag, to) for tag, to in found.resources if not to.startswith(("#", "data:"))]
    assert outside == []
    assert not {"script", "iframe", "object", "embed", "audio", "video"} & set(found.tags)
    text = (site / "index.html").read_text()
    assert "@import" not in text
    assert not [to for to in re.findall(r"url\(([^)]*)\)", text) if not to.startswith("#")]
    for link in found.links:
        assert link.startswith(("#", "https://lore.kernel.org/")), link


def test_ids_are_unique_and_what_is_referred_to_exists(site: Path) -> None:
    found = read(site / "index.html")
    assert len(found.ids) == len(set(found.ids))
    wanted = {to[1:] for to in found.links if to.startswith("#")}
    wanted |= {to[1:] for _, to in found.resources if to.startswith("#")}
    text = (site / "index.html").read_text()
    wanted |= set(re.findall(r"url\(#([^)]*)\)", text))
    wanted |= {
        name for names in re.findall(r'labelledby="([^"]*)"', text) for name in names.split()
    }
    assert wanted <= set(found.ids)


BROWSERS_OWN = ("google.com", "googleapis.com", "gvt1.com")
# A frame, how wide what is in it would like to be, and which tables show only a part of themselves
# beside something else. The image shows that the log works.
PROBE = """<!doctype html><img src="http://asked.invalid/">
<iframe src="{}" width="{}" height="800" style="border:0" onload="
let shown = this.contentDocument, cut = [];
for (let table of shown.querySelectorAll('.pair .scroll, .beside .scroll'))
	if (table.scrollWidth > table.clientWidth) cut.push(table.getAttribute('aria-label'));
document.body.append('wide: ' + shown.documentElement.scrollWidth, ' cut: ', cut.join('; '), '.')">
"""


def browsed(page: Path, width: int, where: Path) -> tuple[int, str, str]:
    """How wide a page is in a frame, its tables that are cut, and what the browser logged."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        pytest.skip("chromium is not installed")
    log, probe = where / "net.json", where / "probe.html"
    probe.write_text(PROBE.format(f"file://{page}", width))
    argv = [
        browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
        "--allow-file-access-from-files", "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--log-net-log={log}", f"--user-data-dir={where / 'profile'}",
        "--virtual-time-budget=10000", "--dump-dom", f"file://{probe}",
    ]  # fmt: skip
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    found = re.search(r"wide: (\d+) cut: (.*)\.</body>", done.stdout)
    assert found, done.stderr
    return int(found[1]), found[2], log.read_text()


def test_in_a_browser_it_asks_for_nothing_and_fits_a_telephone(site: Path, tmp_path: Path) -> None:
    width, _, log = browsed(site / "index.html", 390, tmp_path)
    assert width <= 390
    asked = set(re.findall(r'"url":"\w+://([^/"]*)', log))
    assert {host for host in asked if not host.endswith(BROWSERS_OWN)} == {"asked.invalid"}


def test_in_a_browser_the_tables_of_two_kernels_are_whole(tmp_path: Path) -> None:
    kept = (results.KEPT / "6.12.117.json", results.KEPT / "7.3.4.json")
    found = figures.merge(one for path in kept for one in figures.load(path, path.name))
    document = write.build(found, "")
    shown = page.render(document, {plot.name: ("", "") for plot in document.plots()})
    (tmp_path / "index.html").write_text(shown)
    assert browsed(tmp_path / "index.html", 1400, tmp_path)[1] == ""


def test_what_stands_beside_a_table_gives_way_to_it() -> None:
    """No grid: its columns are as wide as it says, and a wider table is cut."""
    style = page.STYLE.read_text()
    assert "grid-template" not in style
    assert ".beside, .pair { display: flex; flex-wrap: wrap;" in style
    assert ".pair > :first-child { flex: 1 1 auto; max-width: 100%; }" in style


def test_special_characters_are_escaped(tmp_path: Path) -> None:
    one = Row(HOSTILE, HOSTILE, "instructions", "swathe", 1, HOSTILE, 0, 3)
    hostile = Run(HOSTILE, {"kernel": HOSTILE, "command": "swathe bench", HOSTILE: HOSTILE}, (one,))
    path = write.site(figures.merge([hostile]), HOSTILE, tmp_path)
    found = read(path)
    assert "script" not in found.tags
    assert HOSTILE.replace("`", "") not in path.read_text().replace("`", "")
    assert "&lt;script" in path.read_text()
    text = (tmp_path / "report.md").read_text()
    assert "<script" not in re.sub(r"\\<", "", re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.S))
    for each in text.splitlines():
        if each.startswith("| ") and "script" in each:
            assert len(re.findall(r"(?<!\\)\|", re.sub(r"`[^`]*`", "", each))) >= 3


def test_text_and_code_are_escaped_in_the_page() -> None:
    assert table.marked("<b> `<i>_x` &") == "&lt;b&gt; <code>&lt;i&gt;_<wbr>x</code> &amp;"
    assert table.marked("a ` <b>") == "a ` &lt;b&gt;"
    assert table.marked("4 KiB, -3.1 %") == "4\N{NO-BREAK SPACE}KiB, -3.1\N{NO-BREAK SPACE}%"


def test_code_and_tables_in_markdown() -> None:
    assert table.escaped("a `b_c` d|e") == r"a `b_c` d\|e"
    assert table.escaped("odd ` tick") == "odd ' tick"
    assert table.escaped("two\nlines") == "two lines"
    assert table.markdown(table.make("", ["a|b"], [["c_"]])) == "| a\\|b |\n|---|\n| c\\_ |"
    assert (
        markdown.anchor("S2 Zap: munmap(), MADV_DONTNEED, exit")
        == "s2-zap-munmap-madv_dontneed-exit"
    )


def test_markdown_has_the_same_tables_and_all_plots(recorded: Figures, site: Path) -> None:
    document = write.build(recorded, "Recorded.")
    text, shown = (site / "report.md").read_text(), (site / "index.html").read_text()
    for section in document.sections:
        assert f"## {section.title}" in text
        for outer in section.blocks:
            for block in texts(outer):
                if isinstance(block, Table):
                    assert table.markdown(block) in re.sub(r"^> ?", "", text, flags=re.M)
                    assert str(table.marked(block.caption)) in shown
    for plot in document.plots():
        assert f'<img src="{markdown.picture(plot)}" alt="{html.escape(plot.description)}"' in text
    for target in re.findall(r"\]\(#([^)]*)\)", text):
        heads = [markdown.anchor(head) for head in re.findall(r"^## (.*)$", text, re.M)]
        assert target in heads


# The command


def test_the_command_ends_with_the_path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "there"
    assert __main__.main(["report", *map(str, RECORDED), "--out", str(out)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == str(out / "index.html")
    assert (out / "report.md").is_file()


def test_a_file_that_is_not_there_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert __main__.main(["report", str(tmp_path / "none.json")]) == 2
    assert "none.json" in capsys.readouterr().err


def test_a_record_is_the_same_figures_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorded: Figures
) -> None:
    monkeypatch.setattr(results, "KEPT", tmp_path)
    monkeypatch.setattr(proofs, "require_clean", lambda: "commit")
    full = json.loads(RECORDED[0].read_text())
    full["environment"]["command"] = "swathe bench --full --source /home/me/linux --json /me/x.json"
    full["environment"]["date"] = "2026-01-01"
    (tmp_path / "full").write_text(json.dumps(full))
    given = [*map(str, RECORDED), str(tmp_path / "full")]
    assert __main__.main(["report", *given, "--record", "some-run"]) == 0
    text = (tmp_path / "some-run.json").read_text()
    assert "/home/me" not in text
    assert "/home/me" not in (tmp_path / "some-run.md").read_text()
    first = figures.merge(figures.load(tmp_path / "some-run.json", "some-run.json"))
    assert len(first.rows) == 2 * len(recorded.rows)
    assert [r for r in first.rows if " " not in r.case] == list(recorded.rows)
    assert [one for one in first.series if " " not in one.case] == list(recorded.series)
    again, before = profile_of(first), profile_of(recorded)
    for config, counts in before.configs.items():
        assert again.configs[config].total() == counts.total()
        assert sum(c.instructions for c in again.configs[config].functions.values()) == sum(
            c.instructions for c in counts.functions.values()
        )
    (tmp_path / "again.json").write_text(recording.text(first))
    assert (tmp_path / "again.json").read_text() == text
    assert "<picture" not in (tmp_path / "some-run.md").read_text()


def test_a_kernel_beside_which_nothing_was_measured_has_a_page(tmp_path: Path) -> None:
    """Also where the newest kernel's figure of a row is known."""
    rows = [Row("zap", "4K", "instructions", name, 6, "instructions", 0, 3) for name in ON_OFF]
    command = "swathe bench zap --kernel 6.18 --source TREE"
    one = Run("a", {"kernel": "6.18.35", "command": command}, tuple(rows))
    path = write.record(figures.merge([one]), tmp_path, "6.18.35")
    assert "Of 1 goals measured on 6.18, 0 are met and 1 are missed." in path.read_text()


def test_a_record_of_two_kernels_is_the_same_figures_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "KEPT", tmp_path)
    monkeypatch.setattr(proofs, "require_clean", lambda: "commit")
    given = []
    for one in BOTH:
        given.append(str(tmp_path / f"{one.date}.figures"))
        data = {"rows": [asdict(each) for each in one.rows], "environment": one.environment}
        Path(given[-1]).write_text(json.dumps(data))
    assert __main__.main(["report", *given, "--record", "both"]) == 0
    data = json.loads((tmp_path / "both.json").read_text())
    kept = [[(r["config"], r["value"]) for r in each["rows"]] for each in data["runs"]]
    assert kept == [
        [("stock", 70e6), ("swathe", 56e6)], [("stock", 64e6), ("swathe", 60e6)],
    ]  # fmt: skip
    again = figures.merge(figures.load(tmp_path / "both.json", "both.json"))
    assert again.rows == figures.merge(BOTH).rows
    assert "| stock 7.3 | swathe 7.3 | change 7.3 |" in (tmp_path / "both.md").read_text()


def test_what_another_record_holds_is_only_named(tmp_path: Path) -> None:
    older, newer = BOTH
    write.record(figures.merge([newer]), tmp_path, "newer")
    beside = figures.load(tmp_path / "newer.json", "newer.json")
    write.record(figures.merge([older, *beside]), tmp_path, "older")
    data = json.loads((tmp_path / "older.json").read_text())
    assert data["beside"] == ["newer"] and len(data["runs"]) == 1
    again = figures.merge(figures.load(tmp_path / "older.json", "older.json"))
    assert again.rows == figures.merge(BOTH).rows
    assert "Raw figures: `older.json`, `newer.json`." in (tmp_path / "older.md").read_text()
    before = (tmp_path / "older.json").read_bytes(), (tmp_path / "older.md").read_bytes()
    write.record(again, tmp_path, "older")
    assert ((tmp_path / "older.json").read_bytes(), (tmp_path / "older.md").read_bytes()) == before


def test_records_may_name_each_other(tmp_path: Path) -> None:
    for one, other in (("a", "b"), ("b", "a")):
        (tmp_path / f"{one}.json").write_text(f'{{"runs": [], "beside": ["{other}"]}}')
    assert figures.load(tmp_path / "a.json", "a.json") == []


def test_another_folders_record_of_the_same_name_is_held(tmp_path: Path) -> None:
    older, newer = BOTH
    (tmp_path / "elsewhere").mkdir()
    for where in (tmp_path, tmp_path / "elsewhere"):
        write.record(figures.merge([newer]), where, "newer")
    path = tmp_path / "elsewhere" / "newer.json"
    write.record(figures.merge([older, *figures.load(path, path.name)]), tmp_path, "older")
    data = json.loads((tmp_path / "older.json").read_text())
    assert "beside" not in data and len(data["runs"]) == 2


def test_a_record_without_the_one_beside_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text('{"runs": [], "beside": ["two"]}')
    with pytest.raises(Malformed, match=r"figures of two\.json, which it is shown with, are not"):
        figures.load(tmp_path / "one.json", "one.json")


def test_figures_of_changed_code_are_not_recorded(tmp_path: Path, recorded: Figures) -> None:
    run = replace(recorded.runs[0], environment={"swathe": f"abc{release.DIRTY}"})
    with pytest.raises(CheckFailed, match=f"{run.source} is of changes that were not committed"):
        write.record(replace(recorded, runs=(run,)), tmp_path, "some-run")
    assert list(tmp_path.iterdir()) == []


def test_what_hardly_counts_is_recorded_as_one(recorded: Figures) -> None:
    named = {"big": Counts(1, 10_000), "small": Counts(1, 9), "tiny": Counts(2, 1)}
    config = figures.ProfileConfig(1, named, {})
    found = recording.profile_json(replace(profile_of(recorded), configs={"stock": config}))
    functions = found["configs"]["stock"]["functions"]
    assert {name: each["instructions"] for name, each in functions.items()} == {
        "big": 10_000, recording.REST: 10,
    }  # fmt: skip
    assert functions[recording.REST]["calls"] == 3


@pytest.mark.parametrize("name", ["../x", "", ".x", "a/b", "x.json"])
def test_a_record_needs_a_plain_name(name: str) -> None:
    with pytest.raises(SystemExit) as stopped:
        __main__.main(["report", "--record", name])
    assert stopped.value.code == 2


def test_goals_are_those_of_the_lab(recorded: Figures) -> None:
    found = compare.lines(recorded.rows, goals.load().goals)
    assert [one for one in found if one.wanted() is not None]
    assert goals.load().source in markdown.render(write.build(recorded, ""))
