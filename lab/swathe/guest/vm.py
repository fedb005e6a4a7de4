# SPDX-License-Identifier: GPL-2.0-only
"""Boot a kernel in QEMU, run one job in it, and return how the job ended.

Only init's line on the verdict port counts. If a guest panics, resets or hangs,
there is no verdict: the VM is lost, and the job has neither passed nor failed.
"""

import os
import re
import signal
import socket
import subprocess
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from swathe.base import process, processors, ui
from swathe.base.errors import EnvironmentLacks, SwatheError, VmLost
from swathe.base.paths import BUILD, scratch
from swathe.guest import apic_timer, clock, debug_port, initramfs
from swathe.guest.apic_timer import ApicTimer
from swathe.guest.clock import Clock
from swathe.kernel.arch import X86_64, Arch
from swathe.kernel.build import BuiltKernel

COMMAND_LINE = "panic=-1 oops=panic panic_on_warn=1"
CONSOLE_LINES = 40
POLL = 0.05
# The guest's terminal, if it has one: the kernel's own messages stay on the serial console.
TTY = "/dev/hvc0"
TERMINAL = (
    "-chardev", "stdio,id=terminal,mux=on,signal=off",
    "-device", "virtconsole,chardev=terminal",
)  # fmt: skip
VERDICT = re.compile(r"(exit|signal) (\d+)\n|setup (.*)\n")
# The same on the console of a guest that has no ports.
BARE_VERDICT = re.compile(r"^swathe\.verdict (.*\n)", re.MULTILINE)
# With five-level page tables, KASAN reports a false wild access if an interrupt arrives while
# 6.12 identifies the boot processor. The timer check panics if ticks are late. On a busy host
# both happen now and then.
FOUR_LEVELS = "no5lvl"
STEADY = f"{FOUR_LEVELS} no_timer_check"
# Halves the memory, and calls each half a node, so that memory can move between them.
TWO_NODES = "numa=fake=2"
# Debug kernels run all KUnit suites when they boot, unless told not to.
NO_SUITES = "kunit.enable=0"

OnText = Callable[[str], None]


class Signal(Protocol):
    """A request to stop, such as a threading.Event."""

    def is_set(self) -> bool: ...


class Stopped(Exception):
    """The host stopped the guest; the cause is reported elsewhere."""


@dataclass(frozen=True)
class Machine:
    """What a guest is booted with.

    cpu: QEMU's -cpu, if it is not the architecture's Arch.cpu.
    image_of_disk: an existing disk; otherwise the guest gets a new one that is deleted afterwards.
    terminal: the lab's terminal is the guest's TTY; Ctrl-A X ends the guest.
    bare: the kernel was not built here: no disk, and the console takes the place of the ports.
    """

    built: BuiltKernel
    cpus: int = 1
    memory: str = "4G"
    disk: str = "2G"
    wanted_clock: Clock = Clock.EXACT
    boot: str = ""
    timeout: float = 600
    options: tuple[str, ...] = ()
    cpu: str = ""
    image_of_disk: Path | None = None
    terminal: bool = False
    bare: bool = False

    @property
    def target(self) -> Arch:
        return self.built.target

    @property
    def clock(self) -> Clock:
        """The clock that the guest gets."""
        return clock.possible(self.wanted_clock, self.target)

    @property
    def exact(self) -> bool:
        return self.clock is Clock.EXACT

    @property
    def alone(self) -> bool:
        """Whether it has one processor, and an instruction takes one nanosecond."""
        return self.exact and self.cpus == 1

    @property
    def timer(self) -> ApicTimer | None:
        """What its kernel is told of the local APIC; None where that saves nothing."""
        measures = self.target is X86_64 and not self.alone and self.clock is not Clock.HOST
        return apic_timer.of(self.built) if measures and not self.bare else None

    @property
    def parameters(self) -> str:
        """The kernel's command line."""
        alone = self.target.uniprocessor if self.alone else ""
        busy = self.target.parallel if self.clock is Clock.HOST else ""
        time = clock.parameters(self.clock, self.target)
        words = (self.target.console, COMMAND_LINE, alone, busy, time, self.boot)
        return " ".join(filter(None, words))


def checking(
    built: BuiltKernel, cpus: int, timeout: float, boot: str = "", suites: bool = False,
    clock: Clock = Clock.HOST,
) -> Machine:  # fmt: skip
    """Return a machine for a debug kernel.

    suites: KUnit's suites run when it boots.
    """
    words = " ".join(filter(None, (STEADY, "" if suites else NO_SUITES, boot)))
    return Machine(built, cpus, wanted_clock=clock, boot=words, timeout=timeout)


def mebibytes(size: str) -> int:
    """Return the MiB of a size in QEMU's format, such as 512M or 4G."""
    return int(size[:-1]) * {"M": 1, "G": 1024}[size[-1]]


# The host memory that a guest of default size needs.
BYTES = mebibytes(Machine.memory) << 20


@dataclass(frozen=True)
class Exit:
    """How the job ended: its exit status, or the signal that killed it."""

    status: int
    signal: int = 0

    @property
    def shell_status(self) -> int:
        return 128 + self.signal if self.signal else self.status


def version(qemu: str) -> str:
    """Return the first line of QEMU's --version."""
    return process.run([qemu, "--version"], quiet=True).output.splitlines()[0]


def release(text: str) -> tuple[int, int]:
    """Return QEMU's major and minor version; text is from version()."""
    match = re.search(r"version (\d+)\.(\d+)", text)
    if not match:
        raise EnvironmentLacks("QEMU's --version does not print a version number")
    return int(match[1]), int(match[2])


def patches_code_safely(text: str, cpus: int) -> bool:
    """Whether this QEMU survives code patching in a guest with this many CPUs.

    Before 8.1, a CPU that translates code while another CPU patches it may run the old bytes:
    the guest then oopses on a temporary int3 that is already gone (deba78709ae8).
    """
    return cpus == 1 or release(text) >= (8, 1)


def plugin_api(text: str) -> int:
    """Return the version of the plugin API in a QEMU of this version."""
    found = release(text)
    return 1 if found < (9, 0) else 2 if found < (9, 1) else 4


def parse_verdict(text: str) -> Exit | None:
    """Parse the single line of the verdict port; None if it is incomplete."""
    match = VERDICT.fullmatch(text)
    if not match:
        return None
    if match[3] is not None:
        raise VmLost(f"the guest could not be set up: {match[3]}")
    number = int(match[2])
    return Exit(number) if match[1] == "exit" else Exit(0, number)


def port(name: str, path: Path) -> list[str]:
    """Return options for a virtio port: swathe.<name> in the guest, a file on the host."""
    return [
        "-chardev", f"file,id={name},path={path}",
        "-device", f"virtserialport,chardev={name},name=swathe.{name}",
    ]  # fmt: skip


def command(machine: Machine, archive: Path, home: Path) -> list[str]:
    """Return QEMU's command line; QEMU writes all its files in home."""
    target = machine.target
    model = target.bare_machine if machine.bare else machine.built.machine
    return [
        "setpriv", "--pdeathsig", "KILL",
        target.qemu, "-M", model, "-cpu", machine.cpu or target.cpu,
        "-m", machine.memory, "-smp", str(machine.cpus),
        *machine.clock.accelerator,
        "-display", "none", "-monitor", "none", "-nodefaults", "-no-user-config", "-no-reboot",
        "-serial", f"file:{home / 'console.log'}",
        *(() if machine.bare else devices(machine, home)),
        "-kernel", str(machine.built.image), "-initrd", str(archive),
        "-append", machine.parameters,
        *machine.options,
    ]  # fmt: skip


def devices(machine: Machine, home: Path) -> list[str]:
    """Return the options for ports and disk."""
    return [
        "-device", "virtio-serial-device",
        *(TERMINAL if machine.terminal else ()),
        *port("out", home / "out"),
        *port("verdict", home / "verdict"),
        "-drive", f"if=none,id=disk,format=raw,cache=unsafe,file={disk_image(machine, home)}",
        "-device", "virtio-blk-device,drive=disk",
    ]  # fmt: skip


def disk_image(machine: Machine, home: Path) -> Path:
    return machine.image_of_disk or home / "disk.img"


def make_disk(path: Path, size: str) -> None:
    """Make an XFS file system in a sparse file."""
    process.check(["truncate", "-s", size, str(path)], "making the guest's disk")
    process.check(["mkfs.xfs", "-q", "-f", str(path)], "making an XFS file system")


@contextmanager
def terminal_kept() -> Iterator[None]:
    """Restore the terminal's settings when the block ends: QEMU cannot if it is killed."""
    try:
        before = termios.tcgetattr(0)
    except termios.error:
        yield
        return
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


@contextmanager
def running(
    argv: list[str], log: Path, terminal: bool = False, inherited: Sequence[int] = ()
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a child process, and kill it when the block ends, also by an exception.

    The log gets the child's output. With a terminal it gets stderr only: stdin and stdout are
    the lab's own.

    inherited: file descriptors that the child has, too
    """
    process.echo(argv)
    with log.open("wb") as file:
        stdin, stdout = (None, None) if terminal else (subprocess.DEVNULL, file)
        try:
            child = subprocess.Popen(
                argv, stdin=stdin, stdout=stdout, stderr=file, pass_fds=inherited
            )
        except FileNotFoundError as error:
            raise process.missing(argv[0]) from error
    try:
        yield child
    finally:
        with suppress(ProcessLookupError):
            child.send_signal(signal.SIGKILL)
        child.wait()


class Follower:
    """Passes on the text appended to a file, in whole lines until the last poll."""

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


def kept_waiting(pid: int) -> float:
    """Return for how many seconds a thread of the process was ready to run, and other work ran.

    Of the thread that waited longest: a guest is as slow as its slowest processor.
    """
    waited = [0.0]
    for path in Path("/proc", str(pid), "task").glob("*/schedstat"):
        with suppress(OSError, IndexError, ValueError):  # a thread that has ended; no such file
            waited.append(int(path.read_text().split()[1]) / 1e9)
    return max(waited)


@dataclass
class Limit:
    """The time that a guest has, in seconds, from now on.

    It is for a guest that is dead: time for which the host kept it waiting does not count.
    """

    child: subprocess.Popen[bytes]
    seconds: float
    stop: Signal | None = None
    begin: float = field(default_factory=time.monotonic)

    def exceeded(self) -> bool:
        passed = time.monotonic() - self.begin
        return passed > self.seconds and passed - kept_waiting(self.child.pid) > self.seconds

    def runs(self) -> bool:
        """Whether the guest still runs, and may; raise Stopped if the host wants it to end."""
        if self.stop and self.stop.is_set():
            raise Stopped("the guest was stopped before its job was done")
        return self.child.poll() is None and not self.exceeded()


def watch(limit: Limit, follower: Follower) -> bool:
    """Follow the guest's output until it ends; False if it exceeds the time limit."""
    while limit.runs():
        follower.poll()
        time.sleep(POLL)
    follower.poll(last=True)
    return limit.child.poll() is not None


def boot(
    machine: Machine,
    job: initramfs.Job,
    name: str,
    on_text: OnText,
    stop: Signal | None = None,
    on_console: OnText | None = None,
) -> Exit:
    """Run the job until it ends or stop is set; on_text gets its output as it arrives.

    on_console gets the whole console log afterwards. The log is kept in build/log; its
    name starts with the given name.
    """
    log = BUILD / "log" / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.console.log"
    with scratch(f"vm-{name}") as home:
        if not machine.image_of_disk and not machine.bare:
            make_disk(home / "disk.img", machine.disk)
        archive = (
            initramfs.make_bare(job, machine.target, home)
            if machine.bare
            else initramfs.make(job, machine.built, home)
        )
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
    """Start QEMU, follow its output, and read the verdict."""
    argv, timer = command(machine, archive, home), machine.timer
    debugger, port = socket.socketpair()
    if timer:
        argv += debug_port.options(port.fileno())
    with (
        processors.one(),
        terminal_kept(),
        debugger,
        running(argv, home / "qemu.log", machine.terminal, [port.fileno()]) as child,
    ):
        port.close()  # QEMU has it: what it closes is closed
        limit = Limit(child, machine.timeout, stop)
        if timer:
            timer.tell(debugger, limit.runs)
        heard = home / ("console.log" if machine.bare else "out")
        ended = watch(limit, Follower(heard, on_text))
    verdict = parse_verdict(told(machine, home))
    if verdict:
        return verdict
    if machine.terminal and ended and child.returncode == 0 and not panic(console_of(home)):
        raise Stopped("Ctrl-A X ended the guest")
    raise lost(home, log, "" if ended else f"no verdict within {machine.timeout:.0f} s")


def told(machine: Machine, home: Path) -> str:
    """Return what init said of the job's end."""
    if machine.bare:
        match = BARE_VERDICT.search(console_of(home))
        return match[1] if match else ""
    path = home / "verdict"
    return path.read_text(errors="replace") if path.exists() else ""


def console_of(home: Path) -> str:
    console = home / "console.log"
    return console.read_text(errors="replace") if console.exists() else ""


def panic(console: str) -> str:
    """Return the first line of a console's log that tells of a panic."""
    return next((line.strip() for line in console.splitlines() if "Kernel panic" in line), "")


def complaint(log: Path) -> str:
    """Return the last line that QEMU printed itself."""
    return process.last_line(log.read_text(errors="replace"))


def does_not_start(log: Path) -> EnvironmentLacks:
    return EnvironmentLacks(f"QEMU does not start: {complaint(log)}")


def lost(home: Path, log: Path, why: str) -> SwatheError:
    """Print the end of the console log, and return the error with the likely cause."""
    console = console_of(home)
    lines = console.splitlines()
    if not lines and complaint(home / "qemu.log"):
        return does_not_start(home / "qemu.log")
    for line in lines[-CONSOLE_LINES:]:
        ui.err.print(f"  | {line}", markup=False, soft_wrap=True)
    why = why or panic(console) or "the guest ended without a verdict"
    return VmLost(f"the VM was lost: {why}; its console is in {log}")
