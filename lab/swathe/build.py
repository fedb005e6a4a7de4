# SPDX-License-Identifier: GPL-2.0-only
"""Fetch, hook and build a kernel, as far as that is not done yet.

The source is Debian's linux-source package, or what --source names: a
kernel.org tarball, or a tree of your own, which is read and never written.
Building takes about five minutes the first time on two cores, and ten
seconds after a change to one file.

    ./swathe build                          the kernel that bench and run use
    ./swathe build --flavor debug           the one that test uses
    ./swathe build --variant nr-cpus-2      ... with one thing otherwise (configs/variants)
    ./swathe build --print-image            ... and print where its image is
"""

import argparse
import hashlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from swathe import apt, config, parallel, proc, source, tree, ui
from swathe.arch import ARCHES, X86_64, Arch
from swathe.errors import CheckFailed, EnvironmentLacks
from swathe.paths import BUILD, locked, write_atomically

OBJECT = re.compile(r"^  (CC|AS|AR|LD|HOSTCC|HOSTLD|VDSO\w*|GEN) ")
FIRST_ESTIMATE = 1150
PROBLEM = re.compile(r"(\berror\b|Error \d|undefined reference|No rule to make)", re.IGNORECASE)
SHOWN_ERRORS = 8

# The same source gives the same image, wherever and whenever it is built.
REPRODUCIBLE = {
    "KBUILD_BUILD_TIMESTAMP": "1970-01-01",
    "KBUILD_BUILD_VERSION": "1",
    "KBUILD_BUILD_USER": "swathe",
    "KBUILD_BUILD_HOST": "swathe",
    "LC_ALL": "C",
}


@dataclass(frozen=True)
class Request:
    kernel: str = "6.12"
    source: Path | None = None
    flavor: str = "bench"
    arch: str = X86_64.name
    pristine: bool = False
    # A hook that is left out, to see who misses it.
    without: str = ""
    # Of configs/variants: laid over the flavor.
    variant: str = ""

    @property
    def target(self) -> Arch:
        return ARCHES[self.arch]


@dataclass(frozen=True)
class Result:
    """A built kernel: what it is, and where."""

    version: str
    image: Path
    out: Path
    tree: Path
    config_hash: str
    target: Arch


def add_kernel_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that choose a kernel; every command that boots one has them."""
    parser.add_argument(
        "--kernel", default="6.12", choices=source.KERNELS, help="which kernel (default: 6.12)"
    )
    parser.add_argument(
        "--source", metavar="PATH", type=Path, help="a tree or tarball to use instead"
    )
    parser.add_argument(
        "--arch", default=X86_64.name, choices=ARCHES,
        help=f"which architecture (default: {X86_64.name})",
    )  # fmt: skip


def add_flavor_argument(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument(
        "--flavor",
        default=default,
        choices=tuple(config.FLAVORS),
        help="bench: nothing but what is measured; debug: every check; "
        f"kcsan: data races (default: {default})",
    )


def add_variant_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--variant", default="", choices=config.variants(), metavar="NAME",
        help=f"one thing otherwise: {', '.join(config.variants())}",
    )  # fmt: skip


def set_argparser(parser: argparse.ArgumentParser) -> None:
    add_kernel_arguments(parser)
    add_flavor_argument(parser, "bench")
    add_variant_argument(parser)
    parser.add_argument(
        "--pristine", action="store_true", help="the untouched tree, to compare with"
    )
    parser.add_argument(
        "--print-image", action="store_true", help="print the path of the image and nothing else"
    )


def request_from(args: argparse.Namespace, *, pristine: bool | None = None) -> Request:
    wanted = args.pristine if pristine is None else pristine
    variant = getattr(args, "variant", "")
    return Request(args.kernel, args.source, args.flavor, args.arch, wanted, variant=variant)


def main(args: argparse.Namespace) -> int:
    built = build(request_from(args))
    if args.print_image:
        ui.result(str(built.image))
    else:
        ui.note(f"Linux {built.version}, configuration {built.config_hash}: {built.image}")
    return 0


def out_directory(key: str, request: Request) -> Path:
    variant = f"-{request.variant}" if request.variant else ""
    suffix = "-pristine" if request.pristine else ""
    return BUILD / "out" / f"{key}-{request.flavor}-{request.arch}{variant}{suffix}"


def make_command(tree_path: Path, out: Path, target: Arch) -> list[str]:
    jobs = parallel.processors()
    return ["make", "-C", str(tree_path), f"O={out}", f"-j{jobs}", *target.make]


def build(request: Request) -> Result:
    """Bring everything up to the image up to date."""
    target = request.target
    apt.need(target.packages)
    found = source.get(request.kernel, request.source)
    prepared = tree.untouched(found) if request.pristine else tree.prepare(found, request.without)
    out = out_directory(found.key, request)
    flavor = config.Flavor(request.flavor, request.arch, request.pristine, request.variant)
    image = out / target.image
    make = make_command(prepared.path, out, target)
    with locked(out.name):
        config.configure(make, prepared.path, out, flavor)
        compile_kernel(make, out, image, prepared.stamp)
    return Result(str(found.version), image, out, prepared.path, config.checksum(out), target)


def compile_kernel(make: list[str], out: Path, image: Path, tree_stamp: str) -> None:
    """Run make unless neither tree nor configuration changed since it last succeeded."""
    done = out / ".swathe-built"
    want = hashlib.sha256(f"{tree_stamp} {config.checksum(out)}".encode()).hexdigest()
    if image.is_file() and done.is_file() and done.read_text() == want:
        return
    done.unlink(missing_ok=True)
    log = BUILD / "log" / f"build-{out.name}.log"
    count = run_make([*make, image.name], out, log)
    kept = out / ".swathe-objects"
    if count > FIRST_ESTIMATE // 2 or not kept.is_file():
        write_atomically(kept, str(count).encode())
    write_atomically(done, want.encode())


def estimate(out: Path) -> int:
    """How many objects a whole build makes, as far as is known."""
    kept = out / ".swathe-objects"
    return int(kept.read_text()) if kept.is_file() else FIRST_ESTIMATE


def counter(show: Callable[[int, str], None]) -> Callable[[str], None]:
    """Count the objects make reports; show gets the count and the newest one's name."""
    count = 0

    def on_line(line: str) -> None:
        nonlocal count
        if OBJECT.match(line):
            count += 1
            show(count, line.split()[-1])

    return on_line


def run_make(make: list[str], out: Path, log: Path) -> int:
    """Build with a progress line; returns how many objects were made."""
    ui.note(f"building {out.name}; log: {log}")
    begin, made = time.monotonic(), 0
    with ui.progress() as shown:
        task = shown.add_task("compiling", total=estimate(out))

        def show(count: int, name: str) -> None:
            nonlocal made
            made = count
            shown.update(task, completed=count, description=f"compiling {Path(name).name[:24]:24}")

        status = proc.stream(make, log, counter(show), REPRODUCIBLE)
    if status:
        raise build_failure(log)
    ui.note(f"built in {time.monotonic() - begin:.0f} s")
    return made


def build_failure(log: Path) -> CheckFailed | EnvironmentLacks:
    """Show the first lines that look like the reason; the rest is in the log."""
    text = log.read_text(errors="replace")
    if proc.NO_SPACE in text:
        return EnvironmentLacks("the disk is full: building the kernel")
    lines = [line for line in text.splitlines() if PROBLEM.search(line)]
    for line in lines[:SHOWN_ERRORS]:
        ui.note(f"  {line}")
    return CheckFailed(f"the kernel does not build; the whole output is in {log}")
