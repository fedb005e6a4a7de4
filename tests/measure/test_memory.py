# SPDX-License-Identifier: GPL-2.0-only
"""Accesses to memory: processors, what the plugin wrote, the tables, and the profile."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from swathe import __main__
from swathe.base import results
from swathe.base.errors import CheckFailed, VmLost
from swathe.cli import bench, profile
from swathe.guest.sections import Section
from swathe.measure import (
    bench_tables,
    figures,
    goals,
    memory,
    memory_profile,
    plugin,
    recording,
    rows,
)
from swathe.measure.memory import Uses

REGION = [
    "atomics 0",
    *(f"{kind}.{area} {number}" for area, number in (("page", 6), ("table", 2))
      for kind in memory.KINDS),
    "@discard_range 10 2 3 2 1 0 0",
    "@discard_range 1 0 0 0 0 0 0",
    "@folios_put_refs 4 4 4 0 0 1 1",
]  # fmt: skip


def report(config: str, repeat: str) -> Section:
    lines = ["= instructions 1000 instructions", "= pages 2 pages"]
    return Section(words=("zap", "4K", config, repeat), lines=tuple(lines), status=0)


def test_every_processor_says_where_its_figures_are_from() -> None:
    for processor in memory.processors().values():
        assert len(processor.source.split()) > 3, processor.name
        assert processor.option().count(":") == len(memory.LEVELS) - 1


def test_sizes_are_told_in_lines() -> None:
    wanted = "512/8:16384/16:225280/11:64/4:1536/12"
    assert memory.processors()[memory.DEFAULT].option() == wanted


def test_areas_and_levels_are_those_of_the_plugin() -> None:
    areas = (plugin.PROFILER / "areas.c").read_text()
    assert all(f'= "{name}",' in areas for name in memory.AREAS)
    assert areas.count('= "') == len(memory.AREAS)
    levels = ", ".join(f'"{name}"' for name in memory.LEVELS)
    assert f"{{ {levels} }}" in (plugin.PROFILER / "memory.c").read_text()


def test_functions_of_one_name_are_one() -> None:
    found = memory.functions(REGION)
    assert found["discard_range"] == Uses(11, 2, 3, 2, 1, 0, 0)
    with pytest.raises(CheckFailed, match="unknown line: '@odd 1'"):
        memory.functions(["@odd 1"])


def test_metrics_are_sums_and_shares_a_page() -> None:
    counts = dict(map(plugin.count, [line for line in REGION if line[0] != "@"]))
    found = {name: value for name, value, _ in memory.metrics(counts, 2)}
    assert (found["memory.lines"], found["memory.lines.page"]) == (4, 3)
    assert not list(memory.metrics({"atomics": 1}, 2))


def test_a_bench_shows_them_in_tables_of_their_own() -> None:
    found = [
        rows.Row("zap", "4K", metric, config, value, unit, 0, 3)
        for config, value, metric, unit in (
            ("stock", 1000, "instructions", "instructions"),
            ("swathe", 900, "instructions", "instructions"),
            ("stock", 2.5, "memory.l2", "per page"), ("swathe", 1.5, "memory.l2", "per page"),
            ("stock", 1, "memory.lines.page", "per page"),
        )
    ]  # fmt: skip
    shown = list(bench_tables.of_bench(found, ["stock", "swathe"], False, goals.load("none")))
    cells = [cell.text for table in shown if not isinstance(table, str)
             for row in table.rows for cell in row]  # fmt: skip
    assert cells.count("2.5 → 1.5") == 1
    assert cells.count("1 → –") == 1


def test_runs_are_paired_with_what_the_plugin_saw() -> None:
    reports = [report("stock", "0"), report("stock", "1"), report("swathe", "1")]
    found = list(memory_profile.pair(reports, [[], REGION, REGION]))
    assert [(run.config, run.pages) for run in found] == [("stock", 2), ("swathe", 2)]
    assert (found[0].counts["instructions"], found[0].counts["l2.page"]) == (1000, 6)
    with pytest.raises(VmLost, match="2 marked regions in 3 runs"):
        list(memory_profile.pair(reports, [[], REGION]))


def profiled(*functions: dict[str, Uses]) -> memory_profile.MemoryProfile:
    runs = [
        memory_profile.MemoryRun(config, 2.0, {"instructions": 1.0}, each)
        for config, each in zip(("stock", "swathe"), functions, strict=True)
    ]
    about = SimpleNamespace(line=lambda: "a kernel")
    return memory_profile.MemoryProfile(
        memory.processors()[memory.DEFAULT], tuple(runs), about,  # type: ignore[arg-type]
    )  # fmt: skip


def test_functions_that_wait_most_come_first() -> None:
    stock = {"hits": Uses(100, 0, 9, 0), "waits": Uses(5, 5, 4, 2)}
    shown = memory_profile.by_misses(profiled(stock, {"ours": Uses(1, 0, 1, 8)}), 2)
    assert [row[0].text for row in shown.rows] == ["ours", "waits", "all"]
    assert [cell.text for cell in shown.rows[-1]][1:5] == ["6.50", "0.50", "1.00", "4.00"]


def test_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = []

    def measure(request: object, processor: memory.Processor) -> memory_profile.MemoryProfile:
        seen.append(processor.name)
        return profiled({"f": Uses(2, 0, 2, 2)}, {})

    monkeypatch.setattr(memory_profile, "measure", measure)
    monkeypatch.setattr(results, "HERE", tmp_path)
    words = ["profile", "zap", "4K", "--mib", "1024", "--memory", "--processor", "epyc-9004"]
    monkeypatch.setattr(memory_profile, "save", lambda *_: tmp_path)
    assert __main__.main(words) == 0
    assert seen == ["epyc-9004"]
    assert "zap 4K@1024M" in capsys.readouterr().out


@pytest.mark.parametrize("command", [bench, profile])
def test_other_architectures_are_refused(
    command: object, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "bench" if command is bench else "profile"
    assert __main__.main([name, "zap", "--memory", "--arch", "arm64"]) == 2
    assert "knows the addresses of x86_64 only" in capsys.readouterr().err


def test_what_is_saved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(results, "HERE", tmp_path)
    found = profiled({"f": Uses(2)}, {})
    about = memory_profile.MemoryProfile(found.processor, found.runs, {})  # type: ignore[arg-type]
    arguments = __main__.parser().parse_args(["profile", "zap", "4K", "--mib", "1024"])
    path = memory_profile.save(profile.request_from(arguments), about)
    assert path.name == "memory-zap-4K@1024M.json"
    data = json.loads(path.read_text())
    assert data["processor"] == memory.DEFAULT
    assert data["configs"]["stock"]["functions"]["f"]["loads"] == 2


def test_records_keep_what_reports_show() -> None:
    """Shares of areas are for the terminal, but for those that the report's table has."""
    kept = {name.removeprefix(memory.PREFIX) for name in memory.SHOWN}
    assert {"l2", "lines", "lines.page"} <= kept
    assert not {"l2.page", "lines.heap"} & kept
    run = figures.Run("a.json", {"kernel": "6.12.117"}, tuple(
        rows.Row("zap", "4K", f"{memory.PREFIX}{name}", "swathe", 1, "per page", 0, 1)
        for name in ("l2", "lines.page", "lines.heap")
    ))  # fmt: skip
    (data,) = json.loads(recording.text(figures.merge([run])))["runs"]
    assert [row["metric"] for row in data["rows"]] == ["memory.l2", "memory.lines.page"]
