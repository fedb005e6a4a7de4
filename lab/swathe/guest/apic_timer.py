# SPDX-License-Identifier: GPL-2.0-only
"""Tell a guest's kernel how fast the local APIC's timer runs, which it would measure.

Linux for x86-64 measures for 100 ms, and reads the time-stamp counter all the while. Where QEMU
counts instructions, each reading leaves translated code: that took four of a boot's seven seconds,
or 28 seconds where an instruction takes one nanosecond. QEMU's timer counts nanoseconds, whatever
the host: the lab stops the guest before it measures, and writes down what it would find.
"""

import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from swathe.guest.debug_port import DebugPort, Gone
from swathe.kernel.build import BuiltKernel

# Both are as old as x86-64; no KASLR in our configurations moves them.
MEASURES = "setup_boot_APIC_clock"
PERIOD = "lapic_timer_period"
FREQUENCY = 1_000_000_000
BYTES = 4


@dataclass(frozen=True)
class ApicTimer:
    """What a kernel is told: the timer's cycles in a tick.

    measures: the function that measures them, unless period, a variable, is not 0
    """

    measures: int
    period: int
    cycles: int

    def tell(self, line: socket.socket, waits: Callable[[], bool]) -> None:
        """Start the guest, as its debugger; give up where it ends before, or waits() says so."""
        with suppress(Gone):
            port = DebugPort(line, waits)
            port.run_to(self.measures)
            port.write(self.period, self.cycles.to_bytes(BYTES, "little"))
            port.leave()


def of(kernel: BuiltKernel) -> ApicTimer | None:
    """Return what the kernel can be told; None if it has no such timer."""
    symbols, found = kernel.out / "System.map", dict[str, int]()
    for line in symbols.read_text().splitlines() if symbols.exists() else ():
        address, _, name = line.split()
        if name in (MEASURES, PERIOD):
            found[name] = int(address, 16)
    if len(found) < 2:
        return None
    cycles = FREQUENCY // int(kernel.options["CONFIG_HZ"])
    return ApicTimer(found[MEASURES], found[PERIOD], cycles)
