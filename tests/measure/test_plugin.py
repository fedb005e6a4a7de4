# SPDX-License-Identifier: GPL-2.0-only
"""The profiler's plugin, run by a stand-in for QEMU on machine code of a few functions."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from machine_code import (
    BEGIN,
    CALL,
    END,
    JMP,
    LOCK_INC,
    NOP,
    REPORT,
    RET,
    START,
    block,
    compiled,
    fed,
    marked,
)

from swathe.base.errors import CheckFailed
from swathe.guest.sections import Section
from swathe.measure import calltree, memory, plugin
from swathe.measure.calltree import Counts

# Where each function begins; what follows a function belongs to it.
X86 = {
    "syscall": 0x1000,
    "try_to_unmap": 0x2000,
    "flush_tlb": 0x3000,
    "native_flush_tlb_global": 0x3100,
    "native_flush_tlb_local": 0x3200,
    "native_flush_tlb_multi": 0x3300,
    "native_flush_tlb_one_user": 0x3400,
    "pte_alloc_one": 0x4000,
    "___pte_free_tlb": 0x4100,
    "switch_mm_irqs_off": 0x5000,
    "default_send_IPI_single_phys": 0x6000,
    "other": 0x6100,
    "__switch_to_asm": 0x7000,
    "__switch_to": 0x7800,
    "schedule": 0x8000,
    "ret_from_fork_asm": 0x8500,
}
ARM64 = {
    "gic_ipi_send_mask": 0x1000,
    "__pte_alloc": 0x2000,
    "tlb_remove_table": 0x3000,
    "pte_free_defer": 0x4000,
    "other": 0x5000,
}
Run = Callable[..., str]


@pytest.fixture(params=[1, 4])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    """Feed blocks to the plugin, spoken to by an old or a new QEMU; get what it writes."""
    return partial(fed, compiled(request.param), tmp_path, functions=X86.items())


def counts(run: Run, blocks: str, **kwargs: object) -> plugin.Counts:
    (lines,) = plugin.chunks(run("count", blocks, **kwargs).splitlines())
    return {name: value for name, value in map(plugin.count, lines) if value}


def functions(run: Run, blocks: str) -> dict[str, int]:
    """Instructions by call path; the program's own are its marker."""
    (region,) = calltree.parse(run("calls", blocks).splitlines())
    found = {";".join(path): c.instructions for path, c in region.paths.items()}
    return {path: number for path, number in found.items() if path != "[user]"}


def test_atomics_of_all_cpus_between_the_markers(run: Run) -> None:
    code = block(0x6100, LOCK_INC, NOP, LOCK_INC)
    text = code + marked(code, block(0x6100, LOCK_INC, cpu=3)) + code
    assert counts(run, text) == {"atomics": 3}


def test_only_the_last_stretch_before_a_report_is_written(run: Run) -> None:
    first = block(0x10, BEGIN) + block(0x6100, LOCK_INC) + block(0x20, END)
    assert counts(run, first + marked(block(0x6100, LOCK_INC, LOCK_INC))) == {"atomics": 2}
    assert run("count", first) == ""
    assert run("count", block(0x30, REPORT)) == ""
    assert functions(run, first + marked(block(0x6100, NOP))) == {"other": 1}


@pytest.mark.parametrize(
    ("function", "code", "event"),
    [
        ("native_flush_tlb_one_user", "0f013f", "tlb_single"),
        ("native_flush_tlb_one_user", "660f3882042400", "tlb_single"),
        ("other", "660f3882042400", "tlb_full"),
        ("native_flush_tlb_local", "0f22d8", "tlb_full"),
        ("native_flush_tlb_global", "0f22e1", "tlb_full"),
        ("native_flush_tlb_global", "660f3882042400", "tlb_full"),
        ("switch_mm_irqs_off", "0f22da", "mm_switches"),
        ("native_flush_tlb_multi", NOP, "tlb_remote"),
        ("other", "0f01fe", "tlb_remote"),
        ("pte_alloc_one", NOP, "tables_allocated"),
        ("___pte_free_tlb", NOP, "tables_freed"),
        ("default_send_IPI_single_phys", "893425 w ffffffffff5fd300", "ipis"),
        ("default_send_IPI_single_phys", "0f30", "ipis"),
    ],
)
def test_x86_events(run: Run, function: str, code: str, event: str) -> None:
    text = marked(block(X86[function], code), block(X86[function] + 16, NOP))
    assert counts(run, text) == {event: 1}


@pytest.mark.parametrize(
    ("function", "code"),
    [
        ("default_send_IPI_single_phys", "893425 w ffffffffff5fd310"),  # not the command register
        ("default_send_IPI_single_phys", "893425 r ffffffffff5fd300"),  # waits for the last one
        ("other", "893425 w ffffffffff5fd300"),  # no sending function
        ("other", "0f30"),
        ("other", "0f22e1"),
    ],
)
def test_no_events(run: Run, function: str, code: str) -> None:
    assert counts(run, marked(block(X86[function], code))) == {}


@pytest.mark.parametrize(
    ("function", "word", "event"),
    [
        ("other", 0xD50887A0, "tlb_single"),
        ("other", 0xD508871F, "tlb_full"),
        ("other", 0xD50883A0, "tlb_remote"),
        ("other", 0xD5088340, "tlb_remote"),
        ("other", 0xC8E0FC22, "atomics"),
        ("gic_ipi_send_mask", 0xD503201F, "ipis"),
        ("__pte_alloc", 0xD503201F, "tables_allocated"),
        ("tlb_remove_table", 0xD503201F, "tables_freed"),
        ("pte_free_defer", 0xD503201F, "tables_freed"),
    ],
)
def test_arm64_events(run: Run, function: str, word: int, event: str) -> None:
    def code(word: int) -> str:
        return word.to_bytes(4, "little").hex()

    begin, end, report = (block(16 * n, code(0xD28A6C1F + 32 * n)) for n in (1, 2, 3))
    text = begin + block(ARM64[function], code(word)) + end + report
    assert counts(run, text, functions=ARM64.items(), arch="arm64") == {event: 1}


def test_a_kernel_without_any_known_function_is_refused(run: Run) -> None:
    known = {name: addr for name, addr in X86.items() if name != "pte_alloc_one"}
    assert "no function that counts as tables_allocated" in run(
        "count", "", functions=known.items()
    )
    some = {name: addr for name, addr in ARM64.items() if name != "pte_free_defer"}
    assert run("count", "", functions=some.items(), arch="arm64") == ""


def test_functions_that_share_a_name(run: Run) -> None:
    nop = "1f2003d5"
    text = "".join(
        [
            block(0x10, "3f6c8ad2"),
            block(0x1000, nop),  # GICv2
            block(0x6000, nop),  # GICv3
            block(0x20, "5f6c8ad2"),
            block(0x30, "7f6c8ad2"),
        ]
    )
    twice = [*ARM64.items(), ("gic_ipi_send_mask", 0x6000)]
    assert counts(run, text, functions=twice, arch="arm64") == {"ipis": 2}


def test_who_called_whom(run: Run) -> None:
    text = marked(
        block(0x1000, NOP, CALL),
        block(0x2000, NOP, NOP, CALL),
        block(0x3000, NOP, RET),
        block(0x2007, NOP, RET),
        block(0x1006, NOP),
    )
    assert functions(run, text) == {
        "syscall": 3,
        "syscall;try_to_unmap": 5,
        "syscall;try_to_unmap;flush_tlb": 2,
    }


def test_a_tail_call_is_a_call_of_the_same_caller(run: Run) -> None:
    text = marked(
        block(0x1000, CALL),
        block(0x2000, JMP),
        block(0x3000, RET),
        block(0x1005, NOP),
    )
    (region,) = calltree.parse(run("calls", text).splitlines())
    assert region.paths["syscall", "flush_tlb"] == Counts(calls=1, instructions=1)
    assert region.paths["syscall", "try_to_unmap"].calls == 1
    assert region.paths[("syscall",)].instructions == 2


def deepest(run: Run, blocks: str) -> int:
    (region,) = calltree.parse(run("calls", blocks).splitlines())
    return max(map(len, region.paths))


def test_page_faults_do_not_deepen_the_tree(run: Run) -> None:
    """The block that faults would have called; what the kernel interrupts calls when it resumes."""
    fault = block(0x1000, CALL) + block(0x2000, NOP, RET) + block(0x1005, NOP)
    turn = block(0x40, NOP, CALL) + fault + block(0x41, CALL) + block(0x80, JMP)
    assert deepest(run, marked(turn * 600)) == 2
    assert functions(run, marked(turn * 600)) == {"syscall": 1200, "syscall;try_to_unmap": 1200}


def test_what_a_program_leaves_does_not_wait_in_the_kernel(run: Run) -> None:
    text = marked(block(0x1000, CALL), block(0x2000, CALL), block(0x40, NOP), block(0x1005, NOP))
    assert functions(run, text) == {"syscall": 2, "syscall;try_to_unmap": 1}


def test_missed_returns_have_an_end(run: Run) -> None:
    assert deepest(run, marked(block(0x1000, CALL) * 600)) < 300


def switch(task: int) -> str:
    """Exchange stacks: the first load is from the next task's structure."""
    loads = (f"488ba200 r {task:x}", f"415f r {task + 64:x}")
    return block(0x7000, "4157 w 100", *loads, JMP) + block(0x7800, RET)


def test_every_task_has_calls_of_its_own(run: Run) -> None:
    unmap = block(0x1000, CALL) + block(0x2000, NOP, CALL)
    text = switch(0xA000) + marked(
        unmap,
        block(0x8000, NOP, CALL),
        switch(0xB000),
        block(0x6100, NOP, CALL),  # another task that unmaps nothing
        block(0x8000, CALL),
        switch(0xA000),
        block(0x8006, RET),  # the first one comes back from schedule()
        block(0x2006, NOP),
    )
    found = functions(run, text)
    assert found["syscall;try_to_unmap"] == 3
    assert found["syscall;try_to_unmap;schedule"] == 3
    assert not [path for path in found if path.startswith("syscall") and "other" in path]


def test_a_new_task_in_a_dead_ones_place(run: Run) -> None:
    text = switch(0xB000) + marked(
        block(0x1000, NOP, CALL),
        block(0x8000, NOP, CALL),
        switch(0xA000),
        block(0x8500, NOP),  # ret_from_fork_asm
        block(0x6100, NOP),
        switch(0xB000),
        block(0x8500, NOP),
        block(0x6100, NOP, NOP, NOP),
    )
    assert functions(run, text)["other"] == 4


def test_cpus_do_not_return_for_each_other(run: Run) -> None:
    text = marked(
        block(0x1000, CALL, cpu=0),
        block(0x6100, CALL, cpu=1),
        block(0x2000, RET, cpu=0),
        block(0x3000, RET, cpu=1),
        block(0x1005, NOP, cpu=0),
        block(0x6105, NOP, cpu=1),
    )
    assert functions(run, text) == {
        "syscall": 2,
        "syscall;try_to_unmap": 1,
        "other": 2,
        "other;flush_tlb": 1,
    }


WORDS = ("zap", "4K", "stock", "1")
SECTION = Section(WORDS, ("= instructions 9 instructions", "= pages 4 pages"), 0)
COUNTED = dict.fromkeys((*plugin.PER_PAGE, *plugin.TABLES), 2) | {"mm_switches": 1}


def test_counts_become_metrics_per_page() -> None:
    skipped = Section(("zap", "8K", "stock", "1"), ("no such size",), 4)
    none, one = plugin.attach([skipped, SECTION], [COUNTED])
    assert none == skipped
    assert ("tlb_remote", 0.5, "per page") in one.counted
    assert ("tables_freed", 2, "tables") in one.counted


@pytest.mark.parametrize("stretches", [0, 2])
def test_every_run_has_one_stretch(stretches: int) -> None:
    with pytest.raises(CheckFailed, match="1 runs"):
        plugin.attach([SECTION], [COUNTED] * stretches)


def test_a_run_that_does_not_say_its_pages() -> None:
    with pytest.raises(CheckFailed, match="printed no number of pages"):
        plugin.attach([Section(WORDS, ("= instructions 9 instructions",), 0)], [COUNTED])


@pytest.mark.parametrize("text", ["atomics 1\n", "region 0\natomics many\nend\n"])
def test_a_foreign_line_is_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "counted"
    path.write_text(text)
    with pytest.raises(CheckFailed, match="has an unknown line"):
        plugin.parse(path)


def test_symbols_are_functions_in_order(tmp_path: Path) -> None:
    (tmp_path / "System.map").write_text("b T second\na t first\nc D data\n")
    assert plugin.symbols(tmp_path) == "a first\nb second\n"


def test_a_failed_program_is_told_of_by_its_own_words() -> None:
    failed = Section(("ptetables", "file-pageout", "7.3", "1"), ("a PMD maps it",), 1)
    assert plugin.attach([failed], [{}]) == [failed]


# Caches of two, three and four lines, TLBs of two and three entries; all of one set.
TINY = "2/2:3/3:4/4:2/2:3/3"
PAGES, LINEAR, STACK = 0xFFFFEA0000000000, 0xFFFF888000000000, 0xFFFFC90000000000
# A struct page is a line here: what is written at the first says what page 0x40 is for.
OF_TABLE = PAGES + 0x40 * 64
TABLE = LINEAR + 0x40 * 4096
GS_LOAD = "658b04"  # mov %gs:..., %eax
MEMORY_FUNCTIONS = {**X86, "get_page_from_freelist": 0x9000}


def accesses(run: Run, blocks: str, caches: str = TINY) -> plugin.Counts:
    """What the model counts, without zeroes; and @FUNCTION with its line."""
    functions = MEMORY_FUNCTIONS.items()
    (lines,) = plugin.chunks(run("memory", blocks, functions=functions, caches=caches).splitlines())
    found = dict(map(plugin.count, (line for line in lines if not memory.is_function(line))))
    of = {f"@{name}": uses.loads + uses.stores for name, uses in memory.functions(lines).items()}
    return {name: value for name, value in {**found, **of}.items() if value}


def load(address: int, at: int = X86["other"], how: str = "r", code: str = NOP) -> str:
    return block(at, f"{code} {how} {address:x}")


def test_a_line_is_distinct_once_and_misses_as_the_caches_say(run: Run) -> None:
    """Lines a, b, c, a, a: the cache of two lines misses a twice, that of three has all."""
    text = marked(*(load(PAGES + line) for line in (0, 64, 128, 0, 8)))
    assert accesses(run, text) == {
        "loads.page": 5, "lines.page": 3, "l1.page": 4, "l2.page": 3, "llc.page": 3,
        "dtlb.page": 1, "stlb.page": 1, "@other": 5,
    }  # fmt: skip


def test_two_lines_in_turn_are_used_as_they_come(run: Run) -> None:
    """a, b, a, c: the cache of two has lost b by then, not a."""
    text = marked(*(load(LINEAR + 64 * line) for line in (0, 1, 0, 2, 0, 1)))
    assert accesses(run, text)["l1.heap"] == 4


def test_a_store_is_written(run: Run) -> None:
    text = marked(load(STACK), load(STACK + 8, how="w"), load(STACK + 64, how="w"))
    found = accesses(run, text)
    assert (found["loads.stack"], found["stores.stack"]) == (1, 2)
    assert (found["lines.stack"], found["written.stack"]) == (2, 2)


def test_what_was_used_least_recently_goes(run: Run) -> None:
    """Three lines in turn never hit a cache of two, and always one of three."""
    text = marked(*(load(LINEAR + 64 * (i % 3)) for i in range(6)))
    found = accesses(run, text)
    assert (found["l1.heap"], found["l2.heap"]) == (6, 3)


@pytest.mark.parametrize(("first", "missed"), [(START, 0), (NOP, 1)])
def test_caches_are_warm_from_the_start_of_a_program(run: Run, first: str, missed: int) -> None:
    text = block(0x10, first) + load(LINEAR) + marked(load(LINEAR))
    assert accesses(run, text).get("l1.heap", 0) == missed


def test_between_a_report_and_the_next_start_nothing_is_followed(run: Run) -> None:
    """Programs of the guest's script run there."""
    others = load(LINEAR + 64) + load(LINEAR + 128)
    between = marked(load(LINEAR)) + others + marked(load(LINEAR))
    lines = list(plugin.chunks(run("memory", between, caches=TINY).splitlines()))[1]
    assert dict(map(plugin.count, lines[:-1])).get("l1.heap") == 0


@pytest.mark.parametrize(
    ("before", "area"),
    [
        ("", "heap"),
        (load(OF_TABLE, X86["pte_alloc_one"], "w"), "table"),
        (load(OF_TABLE, X86["pte_alloc_one"], "r"), "heap"),
        (load(OF_TABLE, X86["other"], "w"), "heap"),
        (load(TABLE, code=GS_LOAD), "percpu"),
        (load(0x40 * 4096), "user"),  # physical memory is mapped at 0
        (load(OF_TABLE, X86["pte_alloc_one"], "w") + load(OF_TABLE, 0x9000, "w"), "heap"),
        (load(0x40 * 4096) + load(OF_TABLE, 0x9000, "w"), "heap"),
    ],
)  # fmt: skip
def test_what_a_page_of_the_linear_mapping_holds(run: Run, before: str, area: str) -> None:
    found = accesses(run, block(0x10, START) + before + marked(load(TABLE)))
    assert found[f"loads.{area}"] == 1


def test_a_page_above_the_hole_is_the_same_in_both_mappings(run: Run) -> None:
    """QEMU numbers RAM without the hole below 4 GiB."""
    text = marked(load(0xC0000000), load(LINEAR + 0x100000000))
    found = accesses(run, text)
    assert (found["lines.user"], found["l1.user"]) == (1, 1)


@pytest.mark.parametrize(
    "caches",
    ["2/2:2/2:4/4:2/2", f"{TINY}:2/2", "3/2:2/2:4/4:2/2:2/2", "0/0", "1/1:2/2:4/4:2/2:2/2"],
)
def test_caches_that_there_cannot_be(run: Run, caches: str) -> None:
    assert "cannot use caches=" in run("memory", "", caches=caches)


@pytest.mark.parametrize(("arch", "caches"), [("arm64", TINY), ("x86_64", "")])
def test_what_the_model_needs(run: Run, arch: str, caches: str) -> None:
    assert "mode memory is for x86_64, and needs" in run("memory", "", arch=arch, caches=caches)
