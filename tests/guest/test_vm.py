# SPDX-License-Identifier: GPL-2.0-only
"""Verdicts and lost machines, with a script in QEMU's place."""

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import alive, until

from swathe.base.errors import EnvironmentLacks, VmLost
from swathe.guest import clock, initramfs, vm
from swathe.guest.clock import Clock
from swathe.kernel.arch import ARM64
from swathe.kernel.build import BuiltKernel

Boot = Callable[..., tuple[vm.Exit, str]]


@pytest.fixture
def boot(qemu: Callable[[str], Path], kernel: BuiltKernel) -> Boot:
    """Boot a machine that does what a few lines of shell say."""

    def run(body: str, timeout: float = 60) -> tuple[vm.Exit, str]:
        qemu(body)
        machine = vm.Machine(kernel, timeout=timeout)
        text: list[str] = []
        verdict = vm.boot(machine, initramfs.Job(["/bin/x"]), "fake", text.append)
        return verdict, "".join(text)

    return run


@pytest.mark.parametrize(
    ("text", "status"), [("exit 0\n", 0), ("exit 7\n", 7), ("signal 11\n", 139)]
)
def test_verdicts(text: str, status: int) -> None:
    verdict = vm.parse_verdict(text)
    assert verdict is not None
    assert verdict.shell_status == status


@pytest.mark.parametrize("text", ["", "exit ", "exit 0", "exit\n", "ok\n", "exit 0\nexit 1\n"])
def test_half_a_verdict_is_none(text: str) -> None:
    assert vm.parse_verdict(text) is None


def test_a_guest_that_could_not_be_set_up() -> None:
    with pytest.raises(VmLost, match="could not be set up: /mnt: No such device"):
        vm.parse_verdict("setup /mnt: No such device\n")


def test_output_and_status_come_back(boot: Boot) -> None:
    verdict, text = boot(
        'echo hello >"$out"; printf "no newline" >>"$out"; echo "exit 3" >"$verdict"'
    )
    assert verdict.shell_status == 3
    assert text == "hello\nno newline"


def test_the_console_is_no_verdict(boot: Boot) -> None:
    with pytest.raises(VmLost, match="without a verdict"):
        boot('echo "exit 0" >"$console"; echo "exit 0" >"$out"')


def test_a_panic_is_named(boot: Boot, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(VmLost, match=r"Kernel panic - not syncing: oops.*console\.log"):
        boot('seq 100 >"$console"; echo "Kernel panic - not syncing: oops" >>"$console"')
    shown = [line for line in capsys.readouterr().err.splitlines() if line.startswith("  | ")]
    assert len(shown) == vm.CONSOLE_LINES
    assert shown[0] == "  | 62"


def test_a_hang_ends_at_the_limit(boot: Boot) -> None:
    with pytest.raises(VmLost, match="no verdict within 1 s"):
        boot('echo booting >"$console"; exec sleep 60', timeout=1)


def test_a_machine_that_does_not_start(boot: Boot) -> None:
    with pytest.raises(EnvironmentLacks, match="QEMU does not start: no such machine"):
        boot('echo "no such machine" >&2; exit 1')


def test_the_machine_dies_with_its_block(tmp_path: Path) -> None:
    with vm.running(["sleep", "60"], tmp_path / "log") as child:
        assert child.poll() is None
    assert child.returncode == -signal.SIGKILL


def test_the_machine_dies_with_its_parent(kernel: BuiltKernel, tmp_path: Path) -> None:
    argv = vm.command(vm.Machine(kernel), tmp_path, tmp_path)
    assert argv[:3] == ["setpriv", "--pdeathsig", "KILL"]
    # The machine has nothing of the script's open: a pipe that it held would be waited for.
    ready = tmp_path / "ready"
    machine = f"{' '.join(argv[:3])} sh -c 'touch {ready}; exec sleep 600' >/dev/null 2>&1"
    script = f"{machine} & echo $!; until [ -e {ready} ]; do sleep 0.01; done; kill -KILL $$"
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    pid = int(done.stdout)
    try:
        assert until(lambda: not alive(pid))
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


CLOCKS = [
    (Clock.EXACT, "shift=0,sleep=off"), (Clock.COUNTED, "shift=3,sleep=off"),
    (Clock.HOST, "tcg,thread=multi"),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "word"), CLOCKS)
def test_instructions_are_the_clock_or_processors_run_in_parallel(
    kernel: BuiltKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: Clock, word: str
) -> None:
    monkeypatch.setattr(clock, "tsc_khz", lambda: 2_100_000)
    machine = vm.Machine(kernel, wanted_clock=wanted)
    assert word in vm.command(machine, tmp_path, tmp_path)
    told = "tsc_early_khz=2100000" in machine.parameters
    assert told is (wanted is Clock.HOST)
    assert ("tsc=reliable" in machine.parameters) is (wanted is not Clock.EXACT)


def test_a_counter_of_unknown_speed_is_no_clock(
    kernel: BuiltKernel, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(clock, "tsc_khz", lambda: 0)
    clock.say_counted.cache_clear()
    machine = vm.Machine(kernel, wanted_clock=Clock.HOST)
    assert machine.clock is Clock.COUNTED
    assert "tsc_early_khz" not in machine.parameters
    assert "not known" in capsys.readouterr().err
    there = replace(machine, built=replace(kernel, target=ARM64))
    assert there.clock is Clock.HOST
    assert replace(there, wanted_clock=Clock.COUNTED).clock is Clock.HOST
    assert replace(there, wanted_clock=Clock.EXACT).clock is Clock.EXACT
    assert "tsc" not in there.parameters


def test_the_frequency_is_measured() -> None:
    clock.tsc_khz.cache_clear()
    khz = clock.tsc_khz()
    assert khz == 0 or 500_000 < khz < 10_000_000


def test_a_counter_that_may_stop_is_not_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock.tsc_khz.cache_clear()
    (tmp_path / "cpuinfo").write_text("flags : tsc constant_tsc\n")
    monkeypatch.setattr(clock, "CPUINFO", tmp_path / "cpuinfo")
    assert clock.tsc_khz() == 0
    clock.tsc_khz.cache_clear()


@pytest.mark.parametrize(
    ("option", "machine"), [("y", "virt,acpi=off,mte=on"), ("n", "virt,acpi=off")]
)
def test_memory_has_tags_only_for_kernels_that_use_them(
    kernel: BuiltKernel, tmp_path: Path, option: str, machine: str
) -> None:
    (kernel.out / ".config").write_text(f"CONFIG_ARM64_MTE={option}\n")
    there = vm.Machine(replace(kernel, target=ARM64))
    argv = vm.command(there, tmp_path, tmp_path)
    assert argv[argv.index("-M") + 1] == machine


@pytest.mark.parametrize(
    ("cpus", "wanted", "pit"),
    [(1, Clock.EXACT, True), (2, Clock.EXACT, False), (1, Clock.HOST, False)],
)
def test_one_counted_cpu_takes_its_ticks_from_the_pit(
    kernel: BuiltKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    cpus: int, wanted: Clock, pit: bool,
) -> None:  # fmt: skip
    monkeypatch.setattr(clock, "tsc_khz", lambda: 2_100_000)
    machine = vm.Machine(kernel, cpus, wanted_clock=wanted, boot="quiet", cpu="max,-erms")
    argv = vm.command(machine, tmp_path, tmp_path)
    parameters = argv[argv.index("-append") + 1].split()
    assert ("nolapic_timer" in parameters) is pit
    assert ("no_timer_check" in parameters) is (wanted is Clock.HOST)
    assert parameters[-1] == "quiet"
    assert argv[argv.index("-cpu") + 1] == "max,-erms"


def test_a_kernel_from_elsewhere_speaks_through_its_console(
    kernel: BuiltKernel, tmp_path: Path
) -> None:
    machine = vm.Machine(kernel, bare=True)
    argv = vm.command(machine, tmp_path, tmp_path)
    assert argv[argv.index("-M") + 1] == "pc"
    assert not [word for word in argv if "virtio" in word or "disk.img" in word]
    console = tmp_path / "console.log"
    assert vm.told(machine, tmp_path) == ""
    console.write_text("boot\nround 1 right\n\nswathe.verdict exit 3\n[ 1.0] reboot\n")
    verdict = vm.parse_verdict(vm.told(machine, tmp_path))
    assert verdict is not None
    assert verdict.shell_status == 3
    console.write_text("swathe.verdict exi")
    assert vm.parse_verdict(vm.told(machine, tmp_path)) is None


def test_its_guest_has_neither_swap_nor_ports() -> None:
    words = initramfs.Job(["/bin/x"], bare=True).settings().split(b"\0")
    assert b"bare=1" in words
    assert not [word for word in words if word.startswith(b"swap=")]
