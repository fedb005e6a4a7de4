# SPDX-License-Identifier: GPL-2.0-only
"""Boot a kernel in QEMU, run one job in it, and learn how that ended.

Only what init writes to the verdict port counts. A guest that panics, resets
or hangs leaves no verdict: that is a lost VM, which is neither a pass nor a
failure of what was running in it.
"""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from swathe.base import process, ui
from swathe.base.errors import EnvironmentLacks, SwatheError, VmLost
from swathe.base.paths import BUILD, scratch
from swathe.guest import initramfs
from swathe.kernel.arch import Arch
from swathe.kernel.build import BuiltKernel

COMMAND_LINE = "panic=-1 oops=panic panic_on_warn=1"
CONSOLE_LINES = 40
POLL = 0.05
VERDICT = re.compile(r"(exit|signal) (\d+)\n|setup (.*)\n")
# With five levels of page tables, KASAN takes a good address for a wild one when an interrupt
# comes while 6.12 identifies its first processor; and the timer's check wants ticks in time.
# A busy host fails both now and then.
FOUR_LEVELS = "no5lvl"
STEADY = f"{FOUR_LEVELS} no_timer_check"

OnText = Callable[[str], None]


class Signal(Protocol):
    """Such as a threading.Event: set when something is to end."""

    def is_set(self) -> bool: ...


class Stopped(Exception):
    """The guest was ended from outside, because of something that is told elsewhere."""


@dataclass(frozen=True)
class Machine:
    """What a guest is booted with. exact counts instructions; without it, SMP runs in parallel.

    The disk is new and goes with the guest, unless there is an image to go on with.
    """

    built: BuiltKernel
    cpus: int = 1
    memory: str = "4G"
    disk: str = "2G"
    exact: bool = True
    boot: str = ""
    timeout: float = 600
    options: tuple[str, ...] = ()
    cpu: str = "max"
    image_of_disk: Path | None = None

    @property
    def target(self) -> Arch:
        return self.built.target

    @property
    def parameters(self) -> str:
        """The kernel's command line."""
        alone = self.target.uniprocessor if self.exact and self.cpus == 1 else ""
        busy = "" if self.exact else self.target.parallel
        words = (self.target.console, COMMAND_LINE, alone, busy, self.boot)
        return " ".join(filter(None, words))


def checking(built: BuiltKernel, cpus: int, timeout: float, boot: str = "") -> Machine:
    """For kernels that check everything: all CPUs at once, whatever that does to counts."""
    words = f"{STEADY} {boot}".strip()
    return Machine(built, cpus, exact=False, boot=words, timeout=timeout)


def mebibytes(size: str) -> int:
    """Of a size as QEMU takes it, such as 512M or 4G."""
    return int(size[:-1]) * {"M": 1, "G": 1024}[size[-1]]


# What a usual guest takes from its host.
BYTES = mebibytes(Machine.memory) << 20


@dataclass(frozen=True)
class Exit:
    """How the job ended: an exit status, or a signal's number."""

    status: int
    signal: int = 0

    @property
    def shell_status(self) -> int:
        return 128 + self.signal if self.signal else self.status


def version(qemu: str) -> str:
    """QEMU's own first line about itself."""
    return process.run([qemu, "--version"], quiet=True).output.splitlines()[0]


def release(text: str) -> tuple[int, int]:
    """Major and minor, of what version() returns."""
    match = re.search(r"version (\d+)\.(\d+)", text)
    if not match:
        raise EnvironmentLacks("QEMU does not say which version it is")
    return int(match[1]), int(match[2])


def patches_code_safely(text: str, cpus: int) -> bool:
    """Before 8.1, one processor may translate code while another one writes it, and go on with
    what it had read: an int3 of the kernel's own that is not there any more (deba78709ae8).
    """
    return cpus == 1 or release(text) >= (8, 1)


def plugin_api(text: str) -> int:
    """The version of the plugin interface that a QEMU of this version speaks."""
    found = release(text)
    return 1 if found < (9, 0) else 2 if found < (9, 1) else 4


def parse_verdict(text: str) -> Exit | None:
    """The verdict port's one line; None if it is not complete."""
    match = VERDICT.fullmatch(text)
    if not match:
        return None
    if match[3] is not None:
        raise VmLost(f"the guest could not be set up: {match[3]}")
    number = int(match[2])
    return Exit(number) if match[1] == "exit" else Exit(0, number)


def port(name: str, path: Path) -> list[str]:
    """A virtio port whose guest end is named swathe.<name> and whose host end is a file."""
    return [
        "-chardev", f"file,id={name},path={path}",
        "-device", f"virtserialport,chardev={name},name=swathe.{name}",
    ]  # fmt: skip


def command(machine: Machine, archive: Path, home: Path) -> list[str]:
    """QEMU's command line; all files it writes are in home."""
    target = machine.target
    return [
        "setpriv", "--pdeathsig", "KILL",
        target.qemu, "-M", target.machine, "-cpu", machine.cpu,
        "-m", machine.memory, "-smp", str(machine.cpus),
        *(["-icount", "shift=0,sleep=off"] if machine.exact else ["-accel", "tcg,thread=multi"]),
        "-display", "none", "-monitor", "none", "-nodefaults", "-no-user-config", "-no-reboot",
        "-serial", f"file:{home / 'console.log'}",
        "-device", "virtio-serial-device",
        *port("out", home / "out"),
        *port("verdict", home / "verdict"),
        "-drive", f"if=none,id=disk,format=raw,cache=unsafe,file={disk_image(machine, home)}",
        "-device", "virtio-blk-device,drive=disk",
        "-kernel", str(machine.built.image), "-initrd", str(archive),
        "-append", machine.parameters,
        *machine.options,
    ]  # fmt: skip


def disk_image(machine: Machine, home: Path) -> Path:
    return machine.image_of_disk or home / "disk.img"


def make_disk(path: Path, size: str) -> None:
    """An XFS file system in a sparse file."""
    process.check(["truncate", "-s", size, str(path)], "making the guest's disk")
    process.check(["mkfs.xfs", "-q", "-f", str(path)], "making an XFS file system")


@contextmanager
def running(argv: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A child that does not outlive this block, whatever happens in it."""
    process.echo(argv)
    with log.open("wb") as file:
        try:
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        except FileNotFoundError as error:
            raise process.missing(argv[0]) from error
    try:
        yield child
    finally:
        with suppress(ProcessLookupError):
            child.send_signal(signal.SIGKILL)
        child.wait()


class Follower:
    """Hands on what is appended to a file, whole characters only."""

    def __init__(self, path: Path, on_text: OnText) -> None:
        self.path = path
        self.on_text = on_text
        self.seen = 0
        self.held = b""

    def poll(self, last: bool = False) -> None:
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            file.seek(self.seen)
            data = self.held + file.read()
            self.seen = file.tell()
        whole = len(data) if last else data.rfind(b"\n") + 1
        self.held = data[whole:]
        if whole:
            self.on_text(data[:whole].decode(errors="replace"))


def watch(
    child: subprocess.Popen[bytes],
    follower: Follower,
    limit: float,
    stop: Signal | None = None,
) -> bool:
    """Follow the guest's output to its end; False if the time limit came first."""
    end = time.monotonic() + limit
    while child.poll() is None:
        follower.poll()
        if stop and stop.is_set():
            raise Stopped("the guest was ended before its job was done")
        if time.monotonic() > end:
            follower.poll(last=True)
            return False
        time.sleep(POLL)
    follower.poll(last=True)
    return True


def boot(
    machine: Machine,
    job: initramfs.Job,
    name: str,
    on_text: OnText,
    stop: Signal | None = None,
    on_console: OnText | None = None,
) -> Exit:
    """Run the job to its end, or until stop is set; on_text gets its output as it comes.

    on_console gets the whole console afterwards.

    The console's log stays below build/log under the given name.
    """
    archive = initramfs.make(job, machine.built)
    log = BUILD / "log" / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.console.log"
    with scratch(f"vm-{name}") as home:
        if not machine.image_of_disk:
            make_disk(home / "disk.img", machine.disk)
        try:
            return attend(machine, archive, home, on_text, log, stop)
        finally:
            if (home / "console.log").exists():
                (home / "console.log").rename(log)
                if on_console:
                    on_console(log.read_text(errors="replace"))


def attend(
    machine: Machine,
    archive: Path,
    home: Path,
    on_text: OnText,
    log: Path,
    stop: Signal | None = None,
) -> Exit:
    """Start QEMU, follow it, and read the verdict."""
    with running(command(machine, archive, home), home / "qemu.log") as child:
        ended = watch(child, Follower(home / "out", on_text), machine.timeout, stop)
    told = home / "verdict"
    verdict = parse_verdict(told.read_text(errors="replace")) if told.exists() else None
    if verdict:
        return verdict
    raise lost(home, log, "" if ended else f"no verdict within {machine.timeout:.0f} s")


def lost(home: Path, log: Path, why: str) -> SwatheError:
    """Show the end of the console, and say what is known."""
    console = home / "console.log"
    lines = console.read_text(errors="replace").splitlines() if console.exists() else []
    complaint = process.last_line((home / "qemu.log").read_text(errors="replace"))
    if not lines and complaint:
        return EnvironmentLacks(f"QEMU does not start: {complaint}")
    for line in lines[-CONSOLE_LINES:]:
        ui.err.print(f"  | {line}", markup=False, soft_wrap=True)
    panic = next((line for line in lines if "Kernel panic" in line), "")
    why = why or panic.strip() or "the guest ended without a verdict"
    return VmLost(f"the VM was lost: {why}; its console is in {log}")
