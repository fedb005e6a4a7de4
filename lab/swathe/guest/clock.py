# SPDX-License-Identifier: GPL-2.0-only
"""What makes a guest's time pass, and what the kernel must be told about it."""

import functools
import platform
from enum import Enum
from pathlib import Path

from swathe.base import process, ui
from swathe.base.errors import SwatheError
from swathe.base.paths import HOST_TSC
from swathe.kernel import compiler
from swathe.kernel.arch import X86_64, Arch

CPUINFO = Path("/proc/cpuinfo")
# The time-stamp counter neither changes its speed nor stops.
STEADY_TSC = {"constant_tsc", "nonstop_tsc"}


class Clock(Enum):
    """Which clock a guest has.

    EXACT: an instruction takes one nanosecond. For figures.
    COUNTED: an instruction takes eight nanoseconds, which is about as fast as emulation is: time
        limits and windows of tests mean what they mean elsewhere. Processors take turns, a
        sleeping guest skips the time, and no load of the host changes what the guest sees.
    HOST: the host's clock. Processors run in parallel.
    """

    EXACT = "shift=0,sleep=off"
    COUNTED = "shift=3,sleep=off"
    HOST = ""

    @property
    def accelerator(self) -> list[str]:
        """QEMU's options."""
        return ["-icount", self.value] if self.value else ["-accel", "tcg,thread=multi"]


@functools.cache
def tsc_khz() -> int:
    """Return the frequency of the host's time-stamp counter; 0 if it cannot be relied on."""
    if platform.machine() != X86_64.name or not set(CPUINFO.read_text().split()) >= STEADY_TSC:
        return 0
    try:
        done = process.run([str(compiler.compile_program([HOST_TSC]))], quiet=True, timeout=600)
    except SwatheError:
        return 0
    return int(done.output) if done.ok and done.output.strip().isdigit() else 0


@functools.cache
def say_counted() -> None:
    ui.note(
        "the frequency of this machine's time-stamp counter is not known: guests count "
        "instructions instead of running processors in parallel"
    )


def possible(wanted: Clock, target: Arch) -> Clock:
    """Return the wanted clock, or another one where a guest cannot have it.

    Only a processor of x86-64 gives its turn away where it spins (PAUSE): where an arm64's waits
    for another one, that may get none, and arm64's guests have the host's clock.

    A guest for x86-64 reads the host's time-stamp counter, and cannot find out its frequency: an
    emulated PIT is too late for that. Told none, it keeps time by ticks, of which a busy host
    loses many, and each processor waits by loops of another length.
    """
    if target is not X86_64:
        return Clock.HOST if wanted is Clock.COUNTED else wanted
    if wanted is Clock.HOST and not tsc_khz():
        say_counted()
        return Clock.COUNTED
    return wanted


def parameters(clock: Clock, target: Arch) -> str:
    """Return the kernel parameters for a clock that is possible().

    The watchdog must not compare the counter with ticks: it finds the counter wrong where a
    processor waited for its turn, and time goes by ticks of 10 ms from then on.
    """
    if clock is Clock.EXACT or target is not X86_64:
        return ""
    known = f"tsc_early_khz={tsc_khz()} " if clock is Clock.HOST else ""
    return f"{known}tsc=reliable"
