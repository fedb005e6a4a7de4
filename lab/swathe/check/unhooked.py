# SPDX-License-Identifier: GPL-2.0-only
"""Leave out one hook after another, and check that the build or a test fails.

hooks/series names what must fail: the build, or a system-call test in the debug kernel. If
nothing fails without a hook, hooks/series gives the reason.
"""

import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from swathe.base import ui
from swathe.base.errors import CheckFailed
from swathe.base.verdicts import Test, Verdict
from swathe.check import broken, selftests
from swathe.check.broken import Finding
from swathe.kernel import build, hooks, source
from swathe.kernel.hooks import Hook
from swathe.kernel.version import Version

PART = "unhooked"
BUILD = "build"
NOTHING = "nothing: "
# The directory in arch/, where it is not named like the architecture.
ARCH_DIRECTORIES = {"x86_64": "x86"}


def run(kernel: build.KernelRequest, cpus: int) -> list[Test]:
    """Build and boot a kernel without each hook; at the end build one with all hooks again."""
    built = build.build(kernel)
    programs = selftests.compile_tests(built)
    chosen = hooks.fitting(hooks.load(), Version.parse(built.version))
    try:
        findings = [without(kernel, hook, programs, cpus) for hook in chosen]
    finally:
        build.build(kernel)
    title = "Hooks taken out one by one (`./swathe test unhooked`)"
    broken.record(built, cpus, PART, title, ("hook", "missed by"), findings)
    return [judge(finding) for finding in findings]


def without(
    kernel: build.KernelRequest, hook: Hook, programs: Mapping[str, Path], cpus: int
) -> Finding:
    if hook.missed.startswith(NOTHING):
        return Finding(hook.name, "", 0, False, hook.missed)
    if is_foreign(hook, kernel.arch):
        return Finding(hook.name, "", 0, False, f"{NOTHING}{hook.file} is not compiled")
    if hook.mends and is_mended(hook, source.get(kernel.kernel, kernel.source)):
        return Finding(hook.name, "", 0, False, f"{NOTHING}this kernel has mended what it mends")
    ui.note(f"building without hook {hook.name}")
    try:
        built = build.build(replace(kernel, without=hook.name))
    except CheckFailed:
        return Finding(hook.name, BUILD, 0, hook.missed == BUILD, "the kernel does not build")
    if hook.missed == BUILD:
        return Finding(hook.name, BUILD, 0, False, "the kernel builds without the hook")
    defect = broken.Defect(hook.name, hook.missed)
    return broken.attempt(broken.Kernel(built, programs, cpus), defect, threading.Event())


def is_foreign(hook: Hook, arch: str) -> bool:
    """Whether the hook changes a file of another architecture."""
    top, own, *_ = Path(hook.file).parts
    return top == "arch" and own != ARCH_DIRECTORIES.get(arch, arch)


def is_mended(hook: Hook, stock: source.Source) -> bool:
    return hooks.is_mended(hook, hooks.stock_text(stock.tree, hook, stock.version))


def judge(finding: Finding) -> Test:
    if finding.said.startswith(NOTHING):
        return Test(f"{PART} {finding.way}", Verdict.SKIPPED, finding.said)
    verdict = Verdict.PASSED if finding.found else Verdict.FAILED
    return Test(f"{PART} {finding.way}", verdict, finding.said)
