# SPDX-License-Identifier: GPL-2.0-only
"""Boot the kernel and run a static program of yours in it, as root.

The program runs under exact counting: one instruction is one nanosecond of
the guest's clock_gettime(). It starts in /mnt, a writable XFS disk, and finds
zram swap, cgroup2 at /sys/fs/cgroup, tmpfs at /tmp, debugfs, and busybox's
commands. swathe prints the program's output and exits with its status (128 + N
if signal N killed it). If the guest is lost or cannot start, swathe says so on
stderr.

    ./swathe run ./prog 64K                   mm/unmap switched on
    ./swathe run --off 1 ./prog 64K           stock code evicts
    ./swathe run --file data.bin ./prog /data.bin
    ./swathe run -- /bin/busybox sh -c 'cat /sys/kernel/mm/unmap/stat'
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

from swathe.base import ui
from swathe.base.errors import UsageError
from swathe.cli import arguments
from swathe.guest import initramfs, runnable, session, vm
from swathe.kernel import build


@dataclass(frozen=True)
class RunRequest:
    kernel: build.KernelRequest
    program: Path
    arguments: tuple[str, ...]
    files: tuple[Path, ...]
    off: int
    cpus: int
    memory: str
    disk: str
    timeout: float
    boot: str


def set_argparser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--off", type=arguments.bits, default=0, metavar="BITS",
        help="bits of /sys/kernel/mm/unmap/enabled to clear first, or 'all'",
    )  # fmt: skip
    arguments.add_machine_arguments(parser, 600)
    arguments.add_size_arguments(parser)
    parser.add_argument(
        "--file", type=Path, action="append", default=[], metavar="PATH",
        help="file to copy to the guest's root directory; may be repeated",
    )  # fmt: skip
    arguments.add_kernel_arguments(parser)
    arguments.add_flavor_argument(parser, "bench")
    arguments.add_variant_argument(parser)
    arguments.add_pristine_arguments(parser)
    parser.add_argument("program", metavar="PROGRAM", type=Path, help="static program or script")
    parser.add_argument("arguments", metavar="ARGS", nargs=argparse.REMAINDER)


def request_from(args: argparse.Namespace) -> RunRequest:
    kernel = arguments.request_from(args)
    if args.off and kernel.pristine:
        raise UsageError("--off cannot be used with an untouched kernel: it has no switch")
    runnable.require_runnable(args.program, kernel.target)
    for path in args.file:
        if not path.is_file():
            raise UsageError(f"--file {path}: there is no such file")
    return RunRequest(
        kernel, args.program, tuple(args.arguments), tuple(args.file),
        args.off, args.cpus, args.memory, args.disk, args.timeout, args.boot,
    )  # fmt: skip


def job(request: RunRequest) -> initramfs.Job:
    """The program, its arguments and its files, at their paths in the guest."""
    name = f"/bin/{request.program.name}"
    files = {f"/{path.name}": path for path in request.files}
    argv = [name, *request.arguments]
    return initramfs.Job(argv, {**files, name: request.program}, off=request.off)


def run(request: RunRequest) -> int:
    """Build the kernel, boot it, and wait for the program to end."""
    built = build.build(request.kernel)
    machine = vm.Machine(
        built, request.cpus, request.memory, request.disk,
        boot=request.boot, timeout=request.timeout,
    )  # fmt: skip
    return session.run(machine, job(request), "run", ui.show).status


def main(args: argparse.Namespace) -> int:
    return run(request_from(args))
