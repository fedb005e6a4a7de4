# SPDX-License-Identifier: GPL-2.0-only
"""From a guest's report to rows and cells."""

import threading
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from swathe import __main__
from swathe.base import paths
from swathe.base.errors import CheckFailed, UsageError
from swathe.cli import bench
from swathe.guest import sections, session, settings, vm
from swathe.guest.environment import Environment
from swathe.kernel import arch, build, compiler
from swathe.measure import benches, instructions, plugin, rows, search

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


POINTS = """\
@ ptetables dontneed-2M stock {repeat}
= instructions 5 instructions
~ VmPTE 0 36
~ VmPTE 1024 {last}

? 0
"""


def test_series_are_of_the_last_repeat_and_no_metrics() -> None:
    found = sections.parse("".join(POINTS.format(repeat=n, last=n) for n in (0, 1, 2)))
    assert [row.metric for row in rows.summarise(rows.collect(found))] == ["instructions"]
    assert [asdict(one) for one in rows.series(found)] == [
        {
            "bench": "ptetables",
            "case": "dontneed-2M",
            "config": "stock",
            "series": "VmPTE",
            "points": ((0, 36), (1024, 2)),
            "x_unit": "",
            "y_unit": "",
        }
    ]


def test_a_malformed_point_is_a_failure() -> None:
    with pytest.raises(CheckFailed, match="not a point"):
        rows.series(sections.parse(POINTS.format(repeat=1, last="many")))


def test_a_failure_does_not_say_its_last_point() -> None:
    text = POINTS.format(repeat=1, last=5).replace("~ VmPTE 0 36", "too few").replace("? 0", "? 1")
    with pytest.raises(CheckFailed, match=r"failed: too few$"):
        summary(text)


def test_sizes_are_cases_of_their_own() -> None:
    (choice,) = benches.choose(["lazyfree:64K"])
    assert choice.sized((256, 1024)).cases == ("64K@256M", "64K@1024M")
    assert choice.sized(()) == choice
    turns = instructions.runs(choice.bench, ["stock"], 3)
    lines = instructions.guest_lines("lazyfree", ["64K@1024M"], turns, False)
    assert lines[-1] == "report lazyfree 64K@1024M stock 3 -- lazyfree 64K --mib 1024"


def test_a_bench_without_sizes_says_which_have_them() -> None:
    (choice,) = benches.choose(["multifault:1"])
    with pytest.raises(UsageError, match="multifault takes no --mib: the benches that do are "):
        choice.sized((256,))


@pytest.mark.parametrize("arguments", [["--mib", "3"], ["--mib", "0"], ["--mib", "2", "--full"]])
def test_sizes_that_make_no_sense(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        __main__.main(["bench", "lazyfree", *arguments])
    assert ended.value.code == 2


def planned(words: list[str]) -> tuple[instructions.BenchRequest, list[instructions.Guest]]:
    request = bench.request_from(__main__.parser().parse_args(["bench", *words]))
    built = build.BuiltKernel("6.12.0", Path("image"), Path("out"), Path("tree"), "0", arch.X86_64)
    return request, instructions.plan(request, [(built, ("7.3",)), (built, ("stock", "swathe"))])


def test_a_guest_for_each_kernel_of_each_bench() -> None:
    _, guests = planned(["lazyfree", "filemap"])
    assert [(guest.bench.name, guest.configs) for guest in guests] == [
        ("lazyfree", ("7.3",)),
        ("lazyfree", ("stock", "swathe")),
        ("filemap", ("7.3",)),
        ("filemap", ("stock", "swathe")),
    ]


def test_a_bench_boots_with_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    booted: list[vm.Machine] = []

    def boot(machine: vm.Machine, *_: object) -> vm.Exit:
        booted.append(machine)
        return vm.Exit(0)

    monkeypatch.setattr(vm, "boot", boot)
    monkeypatch.setattr(plugin, "option", lambda *_: ())
    monkeypatch.setattr(plugin, "parse", lambda _: [])
    monkeypatch.setattr(
        compiler, "programs", lambda *_, **__: {"migrate": Path("x"), "zap": Path("y")}
    )
    request, guests = planned(["zap:4K", "migrate:64K", "--boot", "unmap=1"])
    for guest in guests:
        instructions.measure_in(request, guest, lambda _: None, threading.Event())
    assert [machine.boot for machine in booted] == [
        *[f"{instructions.BOOT} unmap=1"] * 2,
        *[f"{instructions.BOOT} numa=fake=2 unmap=1"] * 2,
    ]


def test_a_bench_has_the_processors_that_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin, "option", lambda *_: ())
    for words, cpus in ((["dirtyflush:4x4K"], 8), (["dirtyflush:4x4K", "--cpus", "9"], 9),
                        (["zap:4K"], 1)):  # fmt: skip
        request, (_, guest) = planned(words)
        assert instructions.machine(request, guest, Path(), request.mode).cpus == cpus


def test_further_cases_run_when_they_are_named_or_with_full() -> None:
    (usual,) = benches.choose(["dirtyflush"])
    (full,) = benches.choose(["dirtyflush"], full=True)
    (named,) = benches.choose(["dirtyflush:8x64K-shmem-reclaim-four"])
    assert usual.cases == benches.WRITTEN
    assert (len(full.cases), len(set(full.cases))) == (72, 72)
    assert named.cases == ("8x64K-shmem-reclaim-four",)
    assert set(usual.cases) | set(named.cases) < set(full.cases)
    assert "with --full or named: 2x4K 2x4K-four" in benches.listing()


@pytest.mark.parametrize(
    ("words", "variant", "line"),
    [
        (["lazyfree"], "", None),
        (["lazyfree", "--lru-gen", "0"], "mglru", "echo 0"),
        (["lazyfree", "--lru-gen", "7"], "mglru", "echo 7"),
        (["lazyfree", "--lru-gen", "7", "--flavor", "distro"], "", "echo 7"),
    ],
)
def test_the_lru_is_chosen_before_the_first_program(
    words: list[str], variant: str, line: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler, "programs", lambda *_, **__: {"lazyfree": Path("x")})
    request, (_, guest) = planned(words)
    assert request.kernel.variant == variant
    lines = instructions.guest_job(request, guest).texts[session.SCRIPT].splitlines()
    chosen = [one for one in lines if one.startswith("echo") and settings.LRU in one]
    assert chosen == ([f"{line} >{settings.LRU} || exit 9"] if line else [])
    if line:
        assert lines.index(chosen[0]) < next(
            number for number, one in enumerate(lines) if one.startswith("report ")
        )


def test_memory_disk_and_swap_follow_the_size() -> None:
    request, (_, guest) = planned(["swapout:64K", "--mib", "256,4096"])
    assert guest.cases == ("64K@256M", "64K@4096M")
    assert instructions.machine_mib(request, guest) == 2 * 4096 + 2048
    assert instructions.disk_mib(request, guest) == 4096 + 1024
    request, (_, guest) = planned(["swapout:64K"])
    assert (instructions.machine_mib(request, guest), instructions.disk_mib(request, guest)) == (
        4096,
        2048,
    )


def test_swap_is_larger_than_twice_the_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "programs", lambda *_, **__: {"swapout": Path("x")})
    request, (_, guest) = planned(["swapout:64K", "--mib", "1024"])
    assert instructions.guest_job(request, guest).swap > 2 << 30
    request, (_, guest) = planned(["swapout:64K"])
    assert instructions.guest_job(request, guest).swap == 1 << 30


def test_a_bench_may_be_spread_over_guests() -> None:
    spread = replace(benches.BENCHES[0], guests=2)
    assert spread.groups(("4K", "64K", "1024K")) == [("4K", "1024K"), ("64K",)]
    assert spread.groups(("4K",)) == [("4K",)]


def with_counter(*values: int | None) -> str:
    """Repeats of one case; None: the counter did not change."""
    return "".join(
        f"@ zap 4K swathe {repeat}\n= instructions 5 instructions\n"
        + (f"= stat.flushes {value} count\n" if value is not None else "")
        + "\n? 0\n"
        for repeat, value in enumerate(values, 1)
    )


def test_a_counter_that_is_not_printed_is_zero() -> None:
    (row,) = (r for r in summary(with_counter(None, 4, None, 6, None)) if r.unit == "count")
    assert (row.metric, row.value, row.spread, row.repeats) == ("stat.flushes", 0, 6, 5)


def test_counters_may_be_absent_in_one_config() -> None:
    stock = "@ zap 4K stock 1\n= instructions 5 instructions\n\n? 0\n"
    found = summary(stock + with_counter(3))
    assert [(row.metric, row.config) for row in found] == [
        ("instructions", "stock"),
        ("instructions", "swathe"),
        ("stat.flushes", "swathe"),
    ]


def test_cases_are_told_in_order_however_they_were_spread() -> None:
    choices = benches.choose(["lazyfree", "zap:4K", "zap:16K", "zap:32K"])
    spread = [
        sections.Section((name, case, config, "1"), (), 0)
        for name, cases in (("lazyfree", ["4K"]), ("zap", ["4K", "32K"]), ("zap", ["16K"]))
        for config in ("stock", "swathe")
        for case in cases
    ]
    assert [report.words[:3] for report in instructions.in_order(choices, spread)] == [
        (name, case, config)
        for name, case in (("lazyfree", "4K"), ("zap", "4K"), ("zap", "16K"), ("zap", "32K"))
        for config in ("stock", "swathe")
    ]


def bench_of(name: str) -> benches.Bench:
    return benches.choose([name])[0].bench


def test_guest_lines_alternate_and_warm_up() -> None:
    turns = instructions.runs(bench_of("lazyfree"), ["stock", "swathe"], 3)
    lines = instructions.guest_lines("lazyfree", ["64K"], turns, False)
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


def test_every_kernel_reads_ahead_alike() -> None:
    for configs in (["7.3"], ["stock", "swathe"]):
        turns = instructions.runs(bench_of("filemap"), configs, 3)
        lines = instructions.guest_lines("filemap", ["pageout"], turns, False)
        (read_ahead,) = [index for index, line in enumerate(lines) if "read_ahead_kb" in line]
        assert lines[read_ahead].startswith("echo 128 >/sys/block/vda/")
        assert read_ahead < next(i for i, line in enumerate(lines) if line.startswith("report"))


def test_pristine_has_no_switch() -> None:
    turns = instructions.runs(bench_of("lazyfree"), ["pristine"], 3)
    lines = instructions.guest_lines("lazyfree", ["64K"], turns, True)
    assert not [line for line in lines if "$SWITCH" in line]
    assert lines[-1].endswith("-- lazyfree 64K --full")


def test_strings_are_long_only_where_they_are_measured() -> None:
    def cpu(name: str, target: arch.Arch = arch.X86_64) -> str:
        return instructions.processor(bench_of(name), target)

    assert [cpu("multifault"), cpu("ptetables"), cpu("lazyfree", arch.ARM64)] == ["max"] * 3
    assert cpu("lazyfree") == "max,-erms,-fsrm"


def test_choose_everything() -> None:
    usual = [bench for bench in benches.BENCHES if bench.name not in ("allocators", "search")]
    assert [choice.bench for choice in benches.choose([])] == usual


def test_what_wants_packages_runs_when_it_is_named() -> None:
    (choice,) = benches.choose(["allocators"])
    assert choice.bench.packages == ("libjemalloc-dev", "golang-go")
    assert "only when named: needs libjemalloc-dev golang-go" in benches.listing()


def test_every_bench_has_its_program() -> None:
    mains = {
        path.stem for path in paths.WORKLOADS.glob("*.c") if compiler.MAIN.search(path.read_text())
    }
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


def test_a_pattern_is_drawn_once_in_each_config() -> None:
    drawn = search.draw(benches.choose(["search"]), 7, 3)
    assert drawn[0].cases == (*search.WORST, "7-1", "7-2", "7-3")
    again = search.draw(benches.choose(["search"]), 1901, 500)
    assert len(again[0].cases) == 500
    assert search.draw(benches.choose(["search:7-2"]), 9, 3)[0].cases == ("7-2",)
    assert instructions.runs(drawn[0].bench, ["stock", "swathe"], 3) == [
        (1, "stock"),
        (1, "swathe"),
    ]
    with pytest.raises(UsageError, match="alone"):
        search.draw(benches.choose(["search", "zap:4K"]), 7, 3)
    with pytest.raises(UsageError, match="SEED-NUMBER"):
        benches.choose(["search:seven"])


def test_the_worst_patterns_come_first() -> None:
    reports = [
        sections.Section(
            ("search", case, config, "1"),
            (f"# {case} it is", f"= instructions {value} instructions", "= pages 1 pages"),
            0,
        )
        for case, config, value in (
            ("7-1", "stock", 100), ("7-1", "swathe", 90),
            ("7-2", "stock", 100), ("7-2", "swathe", 103),
        )
    ]  # fmt: skip
    measured = tuple(rows.summarise(rows.collect(reports)))
    told = rows.remarks(reports)
    environment = Environment("7.3.4", "0", "QEMU", "gcc", 1, "4G", "x", "2026-01-01", "abc")
    result = instructions.BenchResult(measured, (), environment, (), told)
    assert [(one.case, one.ratio) for one in search.found(result)] == [("7-2", 1.03), ("7-1", 0.9)]
    assert list(search.report(result))[1:] == [
        "  7-2: 7-2 it is",
        "  7-1: 7-1 it is",
        "2 patterns: 1 more than 2 % dearer, 1 cheaper",
    ]
