# SPDX-License-Identifier: GPL-2.0-only
"""The profiler: its decoder, what it writes, and what is made of that."""

import ctypes
from pathlib import Path

import pytest

from swathe import __main__
from swathe.base import results
from swathe.base.errors import CheckFailed, EnvironmentLacks, VmLost
from swathe.cli import profile
from swathe.guest import vm
from swathe.guest.environment import Environment
from swathe.guest.sections import Section
from swathe.kernel import compiler
from swathe.measure import calltree, functions, parts, plugin, rows
from swathe.measure.calltree import Counts, Region

(CALL, RETURN, ATOMIC, FLUSH_ONE, FLUSH_ALL, BEGIN, END, REPORT, CR3, REMOTE, WRMSR) = (
    1 << n for n in range(11)
)
UPDATE, BYTE, CLI, STI, IRET = (1 << n for n in range(11, 16))

X86 = [
    ("e8 00 00 00 00", CALL),
    ("ff 15 00 00 00 00", CALL),
    ("41 ff d3", CALL),
    ("ff 25 00 00 00 00", 0),  # jmp
    ("c3", RETURN),
    ("f0 48 0f b1 0a", ATOMIC | UPDATE),  # lock cmpxchg
    ("3e 48 0f b1 0a", UPDATE),  # the same, patched for one CPU
    ("f0 0f c1 07", ATOMIC | UPDATE),  # lock xadd
    ("0f c1 c7", 0),  # xadd of registers
    ("c6 07 00", BYTE),  # movb $0
    ("41 c6 46 28 00", BYTE),
    ("44 88 47 28", BYTE),  # mov %r8b
    ("88 c1", 0),  # to a register
    ("c7 07 00 00 00 00", 0),  # movl $0
    ("fa", CLI),
    ("fb", STI),
    ("48 cf", IRET),
    ("f0 ff 0f", ATOMIC),  # lock decl
    ("48 87 10", ATOMIC),  # xchg with memory
    ("48 87 d0", 0),  # xchg of registers
    ("0f 01 38", FLUSH_ONE),  # invlpg
    ("0f 01 f8", 0),  # swapgs
    ("0f 01 fe", FLUSH_ONE | REMOTE),  # invlpgb
    ("f3 0f 01 fe", 0),  # rmpadjust
    ("0f 01 c6", WRMSR),  # wrmsrns
    ("0f 30", WRMSR),
    ("0f 22 d8", FLUSH_ALL | CR3),
    ("0f 22 c0", 0),  # mov %cr0
    ("0f 22 e1", 0),  # mov %cr4: see native_flush_tlb_global
    ("66 0f 38 82 00", FLUSH_ALL),  # invpcid
    ("0f 1f 84 00 01 42 57 53", BEGIN),
    ("0f 1f 84 00 02 42 57 53", END),
    ("0f 1f 84 00 03 42 57 53", REPORT),
    ("0f 1f 84 00 00 00 00 00", 0),  # a compiler's own nop
]

ARM64 = [
    (0x94000000, CALL),
    (0xD63F0100, CALL),
    (0xD73F0822, CALL),  # blraa
    (0xD73F0C22, CALL),  # blrab
    (0xD63F083F, CALL),  # blraaz
    (0xD63F0C3F, CALL),  # blrabz
    (0xD61F0060, 0),  # br
    (0x14000002, 0),  # b
    (0xD65F03C0, RETURN),
    (0xD65F0BFF, RETURN),  # retaa
    (0xD65F0FFF, RETURN),  # retab
    (0xD69F03E0, 0),  # eret
    (0xF8E00020, ATOMIC),  # ldaddal
    (0xF821007F, ATOMIC),  # stadd
    (0xF8E18062, ATOMIC),  # swpal
    (0xF8BFC041, 0),  # ldapr
    (0xC8A07C41, ATOMIC),  # cas
    (0xC8E1FC62, ATOMIC),  # casal
    (0x48207C82, ATOMIC),  # casp
    (0x0860FC82, ATOMIC),  # caspal
    (0xC8027C20, ATOMIC),  # stxr
    (0xC803FC41, ATOMIC),  # stlxr
    (0xC8231041, ATOMIC),  # stxp
    (0xC85F7C20, 0),  # ldxr
    (0xC87F1041, 0),  # ldxp
    (0xC89FFC41, 0),  # stlr
    (0xC89F7C41, 0),  # stllr
    (0xC8DFFC41, 0),  # ldar
    (0xF8636841, 0),  # ldr with an index
    (0x3CE36841, 0),  # ... of a vector register
    (0xF9000020, 0),  # str
    (0xA9000820, 0),  # stp
    (0xD5088720, FLUSH_ONE),  # tlbi vae1
    (0xD50887A0, FLUSH_ONE),  # tlbi vale1
    (0xD5088620, FLUSH_ONE),  # tlbi rvae1
    (0xD508871F, FLUSH_ALL),  # tlbi vmalle1
    (0xD5088740, FLUSH_ALL),  # tlbi aside1
    (0xD50883A0, FLUSH_ONE | REMOTE),  # tlbi vale1is
    (0xD5088220, FLUSH_ONE | REMOTE),  # tlbi rvae1is
    (0xD5088520, FLUSH_ONE | REMOTE),  # tlbi rvae1os
    (0xD5088120, FLUSH_ONE | REMOTE),  # tlbi vae1os
    (0xD5089320, FLUSH_ONE | REMOTE),  # tlbi vae1isnxs
    (0xD508831F, FLUSH_ALL | REMOTE),  # tlbi vmalle1is
    (0xD5088340, FLUSH_ALL | REMOTE),  # tlbi aside1is
    (0xD50B7E20, 0),  # dc civac
    (0xD508751F, 0),  # ic iallu
    (0xD28A6C3F, BEGIN),
    (0xD28A6C5F, END),
    (0xD28A6C7F, REPORT),
    (0xD503201F, 0),  # nop
]


@pytest.fixture(scope="module")
def decoder() -> ctypes.CDLL:
    flags = ("-shared", "-fPIC")
    source = plugin.PROFILER / "decode.c"
    return ctypes.CDLL(
        str(compiler.compile_c([source], flags, [source.with_suffix(".h")], "decode.so"))
    )


@pytest.mark.parametrize(("text", "kind"), X86)
def test_x86_instructions(decoder: ctypes.CDLL, text: str, kind: int) -> None:
    code = bytes.fromhex(text)
    assert decoder.decode_x86(code, len(code)) == kind


@pytest.mark.parametrize(("word", "kind"), ARM64)
def test_arm64_instructions(decoder: ctypes.CDLL, word: int, kind: int) -> None:
    assert decoder.decode_arm64(ctypes.c_uint32(word)) == kind


LINES = [
    "region 0",
    "[user] 0 10 0 0 0",
    "[user];syscall;try_to_unmap 1 20 2 1 0",
    "[user];syscall;try_to_unmap;flush 2 30 0 3 1",
    "[user];syscall;flush 1 5 0 0 0",
    "end",
]


def test_functions_and_subtotals() -> None:
    (region,) = calltree.parse(LINES)
    assert region.total().instructions == 65
    assert region.functions()["flush"] == Counts(3, 35, 0, 3, 1)
    assert region.unmap_path() == Counts(3, 50, 2, 4, 1)
    assert "[user];syscall;flush 5\n" in region.folded()


@pytest.mark.parametrize("root", ["stock_try_to_unmap", "unmap_page_range.part.0"])
def test_a_root_under_another_name(root: str) -> None:
    region = Region({("[user]",): Counts(0, 1), ("[user]", root, "flush"): Counts(0, 2)})
    assert region.unmap_path().instructions == 2


REFERENCES = ("folio_referenced", "rmap_walk_anon", "folio_referenced_one")


@pytest.mark.parametrize(
    ("path", "part"),
    [
        (("try_to_unmap", "rmap_walk_anon", "down_read"), "walk"),
        (("stock_try_to_unmap", "rmap_walk_anon.part.0", "try_to_unmap_one"), "clear"),
        (("try_to_unmap", "evict_from_vma", "unmap_run_length"), "look"),
        (("try_to_unmap", "evict_from_vma", "unmap_lazyfree_leave"), "clear"),
        (("evict_from_vma", "flush_tlb_mm_range", "flush_tlb_func", "helper"), "flush"),
        (("evict_from_vma", "folio_remove_rmap_ptes", "__lruvec_stat_mod_folio"), "rmap"),
        (("shrink_folio_list", "free_unref_folios", "free_one_page"), "free"),
        (REFERENCES, "look"),
        ((*REFERENCES, "page_vma_mapped_walk"), "look"),
        ((*REFERENCES, "ptep_clear_flush_young"), "flush"),
        (("shrink_folio_list", "swap_writepage", "free_unref_folios"), "writing"),
        (("shrink_folio_list", "add_to_swap", "swap_cgroup_record"), "everything else"),
    ],
)
def test_the_part_of_a_call_path(path: tuple[str, ...], part: str) -> None:
    assert parts.part_of(("[user]", "madvise", *path)) == part


def test_parts_add_up() -> None:
    (region,) = calltree.parse(LINES)
    found = parts.counts(region)
    assert sum(found.values(), Counts()) == region.total()
    assert found["walk"].instructions == 50
    assert parts.seen([found]) == ["walk", "everything else"]


def test_no_function_is_in_two_parts() -> None:
    names = [name for text in parts.MEMBERS.values() for name in text.split()]
    assert len(names) == len(set(names))
    assert set(parts.NAMES) == {*parts.MEMBERS, parts.WRITING, parts.ELSE}


def test_an_unfinished_region_does_not_count() -> None:
    assert calltree.parse(LINES[:-1]) == []


def test_a_foreign_line_is_an_error() -> None:
    with pytest.raises(CheckFailed, match="has an unknown line"):
        calltree.parse(["region 0", "warning: something", "end"])


def report(repeat: str, instructions: int) -> Section:
    lines = (f"= instructions {instructions} instructions", "= pages 10 pages")
    return Section(("lazyfree", "64K", "stock", repeat), lines, 0)


def regions_of(*counts: int) -> list[Region]:
    return [Region({("f",): Counts(0, count)}) for count in counts]


REPORTS = [report("0", 1), report("1", 1000)]


def test_a_run_and_its_region() -> None:
    (found,) = functions.pair(REPORTS, regions_of(1, 1009), False)
    assert (found.config, found.pages, found.clock) == ("stock", 10, 1000)
    assert found.region.total().instructions == 1009


@pytest.mark.parametrize(("counted", "own_time"), [(1011, False), (989, False), (989, True)])
def test_profiler_and_clock_must_agree(counted: int, own_time: bool) -> None:
    with pytest.raises(CheckFailed, match=rf"counted {counted} .* the guest's clock 1000"):
        functions.pair(REPORTS, regions_of(1, counted), own_time)


def test_a_process_may_not_be_alone() -> None:
    assert functions.pair(REPORTS, regions_of(1, 5000), True)


@pytest.mark.parametrize("count", [1, 3])
def test_every_run_has_one_region(count: int) -> None:
    with pytest.raises(VmLost, match=f"saw {count} marked regions in 2 runs"):
        functions.pair(REPORTS, regions_of(*[1000] * count), False)


def test_a_skipped_case_has_no_profile() -> None:
    skip = Section(("lazyfree", "2048K", "stock", "0"), ("mapped by one entry",), rows.SKIPPED)
    with pytest.raises(CheckFailed, match=r"nothing to profile: .*mapped by one entry"):
        functions.pair([skip], [], False)


@pytest.mark.parametrize(
    ("text", "api"),
    [("QEMU emulator version 7.2.22", 1), ("version 9.0.2", 2), ("version 10.0.6 (Debian)", 4)],
)
def test_plugin_interface_of_a_qemu(text: str, api: int) -> None:
    assert vm.plugin_api(text) == api


def test_a_qemu_without_version() -> None:
    with pytest.raises(EnvironmentLacks):
        vm.plugin_api("QEMU")


def test_the_tree_has_what_is_worth_a_line_after_its_caller() -> None:
    root, walk = ("madvise", "try_to_unmap"), ("madvise", "try_to_unmap", "walk")
    paths = {
        ("madvise",): Counts(1, 900),
        root: Counts(1, 60),
        walk: Counts(1, 30),
        (*walk, "cheap"): Counts(1, 4),
        (*root, "flush"): Counts(1, 40),
    }
    found = list(functions.tree(Region(paths)))
    assert found == [
        (("try_to_unmap",), 134),
        (("try_to_unmap", "flush"), 40),
        (("try_to_unmap", "walk"), 34),
    ]


def test_a_newer_kernels_profile_is_kept_beside_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "HERE", tmp_path)
    about = Environment("7.3.4", "0", "QEMU", "gcc", 1, "4G", "swathe profile", "2026-01-01", "abc")
    for words in ([], ["--kernel", "7.3"]):
        args = __main__.parser().parse_args(["profile", "zap", "64K", *words])
        request = profile.request_from(args)
        found = functions.ProfileResult((), about)
        assert [path.name for path in functions.save(request, found)] == [
            f"profile-zap-64K{''.join(f'-{word}' for word in words[1:])}.json"
        ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--kernel", "7.3"],
            ["all but writing: 42.00 M → 28.00 M, goal 27.72 M: missed by 1.0 %"],
        ),
        ([], []),
        (["--kernel", "7.3", "--flavor", "distro"], []),
    ],
)
def test_all_but_writing_is_judged_where_there_is_a_goal(words: list[str], said: list[str]) -> None:
    args = __main__.parser().parse_args(["profile", "swapout", "64K", *words])
    profiles = [
        functions.ProfiledRun(
            config,
            Region({("f",): Counts(1, rest), ("swap_writeout", "g"): Counts(1, 86_000_000)}),
            32768, 0,
        )
        for config, rest in (("stock", 42_000_000), ("swathe", 28_000_000))
    ]  # fmt: skip
    assert list(profile.judged(profile.request_from(args), profiles)) == said
