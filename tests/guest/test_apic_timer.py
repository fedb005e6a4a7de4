# SPDX-License-Identifier: GPL-2.0-only
"""What a guest's kernel is told of its timer, with a script in place of QEMU's port."""

import re
import socket
import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest

from swathe.guest import apic_timer, vm
from swathe.guest.apic_timer import ApicTimer
from swathe.guest.clock import Clock
from swathe.kernel.arch import ARM64
from swathe.kernel.build import BuiltKernel

MAP = """\
ffffffff81b04530 T setup_boot_APIC_clock
ffffffff81ba3a80 B lapic_timer_period
ffffffff81ba3a84 B lapic_timer_period_of_others
"""
TOLD = ["Z1,f0,1", "c", "z1,f0,1", "Mff,4:80969800", "D"]
ANSWERS = [b"OK", b"T05thread:01;", b"OK", b"OK", b"OK"]
TIMER = ApicTimer(measures=0xF0, period=0xFF, cycles=10_000_000)


class Port(threading.Thread):
    """QEMU's side: it hears a request, then gives the next answer, and in the end hangs up."""

    def __init__(self, answers: Sequence[bytes]) -> None:
        super().__init__()
        self.answers = answers
        self.asked: list[str] = []
        self.debugger, self.line = socket.socketpair()
        self.start()

    def run(self) -> None:
        heard = b""
        for answer in self.answers:
            while not (packet := re.search(rb"\$([^#]*)#([0-9a-f]{2})", heard)):
                heard += self.line.recv(100)
            heard = heard[packet.end() :]
            assert sum(packet[1]) & 255 == int(packet[2], 16)
            self.asked.append(packet[1].decode())
            self.line.sendall(b"+$" + answer[:1])
            self.line.sendall(answer[1:] + b"#00")
            heard += self.line.recv(100)
        self.line.close()

    def tell(self) -> list[str]:
        """Tell it what a kernel is told, and return what it heard."""
        with self.debugger:
            TIMER.tell(self.debugger, lambda: True)
        self.join()
        return self.asked


@pytest.fixture
def counted(kernel: BuiltKernel) -> vm.Machine:
    (kernel.out / "System.map").write_text(MAP)
    (kernel.out / ".config").write_text("CONFIG_HZ=100\n")
    return vm.Machine(kernel, cpus=2, wanted_clock=Clock.COUNTED)


def test_the_kernel_is_told_before_it_measures() -> None:
    assert Port(ANSWERS).tell() == TOLD


@pytest.mark.parametrize("heard", range(len(TOLD)))
def test_a_guest_that_ends_before_is_left_alone(heard: int) -> None:
    assert Port(ANSWERS[:heard]).tell() == TOLD[:heard]


def test_a_guest_that_never_starts_is_given_up() -> None:
    patience = iter([True, True, False])
    debugger, port = socket.socketpair()
    with debugger, port:
        TIMER.tell(debugger, lambda: next(patience))
    assert next(patience, None) is None


def test_a_port_that_refuses_is_an_error() -> None:
    with pytest.raises(RuntimeError, match=r"answers b'E22' to a debugger's Z1,f0,1"):
        Port([b"E22"]).tell()


def test_what_a_kernel_is_told(counted: vm.Machine) -> None:
    assert apic_timer.of(counted.built) == ApicTimer(
        0xFFFFFFFF81B04530, 0xFFFFFFFF81BA3A80, 10_000_000
    )


def test_who_is_not_told(counted: vm.Machine, kernel: BuiltKernel) -> None:
    arm64 = replace(counted, built=replace(kernel, target=ARM64))
    others = [
        replace(counted, cpus=1, wanted_clock=Clock.EXACT),  # it has no such timer
        replace(counted, wanted_clock=Clock.HOST),
        replace(counted, bare=True),
        arm64,
    ]
    assert [machine.timer for machine in others] == [None] * len(others)
    (kernel.out / "System.map").write_text("ffffffff81000000 T _text\n")
    assert counted.timer is None
