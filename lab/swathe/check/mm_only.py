# SPDX-License-Identifier: GPL-2.0-only
"""Compile mm/ of a kernel that is not booted this time, configured as if it were."""

from swathe.base import process, processors, ui
from swathe.base.paths import BUILD, locked
from swathe.base.verdicts import Test, Verdict
from swathe.check import compile_warnings
from swathe.kernel import apt, build, config, hooks, source
from swathe.kernel.build import KernelRequest

TARGET = "mm/"


def run(part: str, request: KernelRequest) -> list[Test]:
    """Compile it; a warning about our code is a failure."""
    apt.need(request.target.packages)
    found = source.get(request.kernel, request.source)
    prepared = build.prepare(request, found)
    out = build.out_directory(f"{found.key}-mm", request)
    make = build.make_command(prepared.path, out, request.target)
    log = BUILD / "log" / f"build-{out.name}.log"
    ui.note(f"compiling {TARGET} of Linux {found.version} ({request.arch})")
    with locked(out.name), processors.one():
        config.configure(make, prepared.path, out, request.config_flavor)
        status = process.stream([*make, "W=1", TARGET], log, lambda _: None, build.REPRODUCIBLE)
    fitting = hooks.fitting(hooks.load(), found.version)
    warnings = compile_warnings.read(log.read_text(errors="replace"), prepared.path, fitting)
    if status and not warnings:
        raise build.build_failure(log)
    verdict = Verdict.FAILED if warnings else Verdict.PASSED
    return [Test(f"{part}: {TARGET} of Linux {found.version} compiles", verdict,
                 "; ".join(warnings))]  # fmt: skip
