# SPDX-License-Identifier: GPL-2.0-only
"""What a measured guest says of its kernel."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from swathe import __main__
from swathe.cli import bench
from swathe.guest import sections, settings, vm
from swathe.kernel import compiler
from swathe.kernel.build import BuiltKernel
from swathe.measure import benches, instructions, plugin


def said(data: Callable[[str], str]) -> sections.Section:
    (section,) = sections.parse(data("settings.log"))
    return section


def test_a_guest_says_what_its_kernel_does(data: Callable[[str], str]) -> None:
    told = settings.describe(said(data).lines)
    assert told.startswith(
        "MGLRU 0x0007, huge pages always, preemption voluntary, pages cleared when allocated, "
        "page-table isolation off, mitigations: "
    )
    assert "spectre_v2 (Retpolines; " in told
    assert "meltdown" not in told
    assert "page-table isolation on" in settings.describe([*said(data).lines, "/proc/cpuinfo:pti"])


def test_a_lean_kernel_has_nothing_to_say() -> None:
    lines = [
        f"{settings.HUGE}:always madvise [never]",
        f"{settings.VULNERABILITIES}/mds:Vulnerable",
    ]
    assert settings.describe(lines) == (
        "classic LRU, huge pages never, page-table isolation off, mitigations: none"
    )


def test_what_guests_say_is_no_row(
    data: Callable[[str], str], kernel: BuiltKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The section of the guest is told apart, and gets none of the plugin's counts."""
    report = "@ lazyfree 64K stock 1\n= instructions 5 instructions\n= pages 1 pages\n\n? 0\n"

    def boot(_: object, __: object, ___: str, hear: vm.OnText, *____: object) -> vm.Exit:
        hear(data("settings.log") + report)
        return vm.Exit(0)

    counts = dict.fromkeys((*plugin.PER_PAGE, *plugin.TABLES), 1)
    monkeypatch.setattr(vm, "boot", boot)
    monkeypatch.setattr(plugin, "option", lambda *_: ())
    monkeypatch.setattr(plugin, "parse", lambda _: [counts])
    monkeypatch.setattr(compiler, "programs", lambda *_, **__: {"lazyfree": Path("x")})
    request = bench.request_from(__main__.parser().parse_args(["bench", "lazyfree:64K"]))
    guest = instructions.Guest(benches.BENCHES[0], ("64K",), ("stock",), kernel)
    shown: list[int] = []
    found = instructions.measure_in(request, guest, shown.append, threading.Event())
    assert shown == [0, 1]
    assert settings.read(found).startswith("MGLRU")
    (measured,) = settings.others(found)
    assert measured.words[0] == "lazyfree" and len(measured.counted) == len(counts)
