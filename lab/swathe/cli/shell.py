# SPDX-License-Identifier: GPL-2.0-only
"""Boot the kernel and open a root shell in it, with files of yours beside it.

The files are copied to /root, directories with all that is in them, dynamic
programs with their shared libraries. The guest also has busybox's commands,
zram swap, an XFS disk at /mnt, cgroup2, debugfs, and tracefs if the kernel has
event tracing (--flavor debug). What is changed in the guest is gone at the end.

exit or Ctrl-A X ends the shell. If stdin is not a terminal, the guest runs the
commands that stdin holds, and swathe exits with the status of the last one.
Guests are not made by virtme-ng: Debian 12 does not have it, and its kernels
need file systems (9p, virtiofs) that the measured configurations leave out.

    ./swathe shell                            the kernel that bench measures
    ./swathe shell --flavor debug --cpus 2    with all checks and trace points
    ./swathe shell ./prog data/               with files of yours
    echo 'cat /sys/kernel/mm/unmap/stat' | ./swathe shell
"""

import argparse
import math
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from swathe.base import ui
from swathe.base.errors import UsageError
from swathe.cli import arguments
from swathe.guest import session, shell, vm
from swathe.guest.clock import Clock
from swathe.kernel import build


@dataclass(frozen=True)
class ShellRequest:
    """commands: what the guest runs; none if the shell is interactive."""

    kernel: build.KernelRequest
    files: dict[str, Path]
    commands: str
    cpus: int
    memory: str
    disk: str
    timeout: float
    boot: str


def set_argparser(parser: argparse.ArgumentParser) -> None:
    arguments.add_machine_arguments(parser, 600)
    arguments.add_size_arguments(parser)
    arguments.add_kernel_arguments(parser)
    arguments.add_flavor_argument(parser, "bench")
    parser.add_argument(
        "files", metavar="FILE", nargs="*", type=Path, help="file or directory to copy to /root"
    )


def commands_of_stdin() -> str:
    """Return the commands on stdin; none if it is a terminal."""
    if sys.stdin and sys.stdin.isatty():
        return ""
    # A closed stdin is none; bytes that are no text go to the guest as they are.
    commands = sys.stdin.buffer.read().decode(errors="surrogateescape") if sys.stdin else ""
    if not commands.strip():
        raise UsageError("a shell needs a terminal, or commands on stdin")
    return commands


def request_from(args: argparse.Namespace) -> ShellRequest:
    kernel = arguments.request_from(args, pristine=False)
    files = shell.files(args.files, kernel.target, args.memory)
    commands = commands_of_stdin()
    return ShellRequest(
        kernel, files, commands, args.cpus, args.memory, args.disk,
        args.timeout if commands else math.inf, args.boot,
    )  # fmt: skip


def warn_of_patching(request: ShellRequest) -> None:
    """Say that this QEMU may crash the guest; the debug kernel does not patch its code."""
    version = vm.version(request.kernel.target.qemu)
    if request.kernel.flavor == "bench" and not vm.patches_code_safely(version, request.cpus):
        ui.note(
            "this QEMU may crash a guest with several CPUs when mm/unmap is switched on or off: "
            "--flavor debug is safe"
        )


def run(request: ShellRequest) -> int:
    """Build the kernel, boot it, and wait for the shell to end."""
    built = build.build(request.kernel)
    warn_of_patching(request)
    machine = vm.Machine(
        built, request.cpus, request.memory, request.disk, wanted_clock=Clock.HOST,
        boot=f"{vm.STEADY} {request.boot}".strip(), timeout=request.timeout,
        terminal=not request.commands,
    )  # fmt: skip
    job = shell.job(request.files, request.commands, os.environ.get("TERM", "dumb"))
    heard = session.run(machine, job, "shell", ui.show)
    if isinstance(heard.ending, vm.Stopped):
        ui.note(f"\n{heard.ending}")
        return 0
    return heard.status


def main(args: argparse.Namespace) -> int:
    return run(request_from(args))
