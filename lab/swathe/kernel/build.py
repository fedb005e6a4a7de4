# SPDX-License-Identifier: GPL-2.0-only
"""Fetch, hook, configure and compile a kernel. Steps that are up to date are skipped."""

import hashlib
import re
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from swathe.base import parallel, process, processors, ui
from swathe.base.errors import CheckFailed, EnvironmentLacks, UsageError
from swathe.base.paths import BUILD, locked, scratch, write_atomically
from swathe.kernel import apt, config, mainline, source, tree
from swathe.kernel.arch import ARCHES, X86_64, Arch

OBJECT = re.compile(r"^  (CC|AS|AR|LD|HOSTCC|HOSTLD|VDSO\w*|GEN) ")
FIRST_ESTIMATE = 1150
HEADERS = BUILD / "headers"
PROBLEM = re.compile(
    r"(\berror\b|Error \d|undefined reference|No rule to make|\*\*\*)", re.IGNORECASE
)
SHOWN_ERRORS = 8

# With these the same source always gives the same image.
REPRODUCIBLE = {
    "KBUILD_BUILD_TIMESTAMP": "1970-01-01",
    "KBUILD_BUILD_VERSION": "1",
    "KBUILD_BUILD_USER": "swathe",
    "KBUILD_BUILD_HOST": "swathe",
    "LC_ALL": "C",
}


@dataclass(frozen=True)
class KernelRequest:
    kernel: str = "6.12"
    source: Path | None = None
    flavor: str = "bench"
    arch: str = X86_64.name
    pristine: bool = False
    # Patches of mainline/series for the pristine tree: see mainline.chosen().
    patches: tuple[str, ...] = ()
    # The name of a hook to leave out.
    without: str = ""
    # A fragment of configs/variants, merged over the flavor.
    variant: str = ""

    @property
    def target(self) -> Arch:
        return ARCHES[self.arch]

    @property
    def config_flavor(self) -> config.Flavor:
        return config.Flavor(self.flavor, self.arch, self.pristine, self.variant)


@dataclass(frozen=True)
class BuiltKernel:
    """A built kernel: its version, configuration and paths."""

    version: str
    image: Path
    out: Path
    tree: Path
    config_hash: str
    target: Arch

    @property
    def options(self) -> dict[str, str]:
        return config.parse((self.out / ".config").read_text())

    @property
    def page_shift(self) -> int:
        return int(self.options["CONFIG_PAGE_SHIFT"])

    @property
    def machine(self) -> str:
        """QEMU's machine for this kernel."""
        needed = [
            word for option, word in self.target.needing if self.options.get(option) == "y"
        ]  # fmt: skip
        return ",".join([self.target.machine, *needed])


def out_directory(key: str, request: KernelRequest) -> Path:
    variant = f"-{request.variant}" if request.variant else ""
    suffix = "-patched" if request.patches else "-pristine" if request.pristine else ""
    return BUILD / "out" / f"{key}-{request.flavor}-{request.arch}{variant}{suffix}"


def make_command(tree_path: Path, out: Path, target: Arch) -> list[str]:
    require_usable(tree_path, out)
    jobs = parallel.processors()
    return ["make", "-C", str(tree_path), f"O={out}", f"-j{jobs}", *target.make]


def require_usable(*paths: Path) -> None:
    """Raise if make or QEMU would take a path apart."""
    odd = [path for path in paths if re.search(r"[\s:,]", str(path))]
    if odd:
        raise UsageError(
            f"{odd[0]} has a space, a comma or a colon, which the kernel's build or QEMU does not "
            f"allow: use another directory (SWATHE_BUILD moves build/)"
        )


def prepare(request: KernelRequest, found: source.Source) -> tree.Prepared:
    """Update the tree."""
    if request.patches:
        return mainline.prepare(found, request.patches)
    if request.pristine:
        return tree.untouched(found)
    return tree.prepare(found, request.without, mutated=request.config_flavor.tested)


def build(request: KernelRequest) -> BuiltKernel:
    """Update the tree, the configuration and the image."""
    target = request.target
    apt.need(target.packages)
    found = source.get(request.kernel, request.source)
    prepared = prepare(request, found)
    out = out_directory(found.key, request)
    image = out / target.image
    make = make_command(prepared.path, out, target)
    with locked(out.name):
        config.configure(make, prepared.path, out, request.config_flavor)
        compile_kernel(make, out, image, prepared.stamp)
    return BuiltKernel(str(found.version), image, out, prepared.path, config.checksum(out), target)


def options(request: KernelRequest, found: source.Source) -> dict[str, str]:
    """Return the options of the kernel that build() would build."""
    prepared, out = prepare(request, found), out_directory(found.key, request)
    with locked(out.name):
        make = make_command(prepared.path, out, request.target)
        config.configure(make, prepared.path, out, request.config_flavor)
    return config.parse((out / ".config").read_text())


def compile_kernel(make: list[str], out: Path, image: Path, tree_stamp: str) -> None:
    """Run make if the tree or the configuration has changed since make last succeeded."""
    done = out / ".swathe-built"
    want = hashlib.sha256(f"{tree_stamp} {config.checksum(out)}".encode()).hexdigest()
    if image.is_file() and done.is_file() and done.read_text() == want:
        return
    done.unlink(missing_ok=True)
    log = BUILD / "log" / f"build-{out.name}.log"
    count = run_make([*make, image.name], out.name, log, estimate(out))
    remember(out, count, FIRST_ESTIMATE)
    write_atomically(done, want.encode())


def estimate(out: Path, first: int = FIRST_ESTIMATE) -> int:
    """Return the expected number of objects of a full build; first is for the first one."""
    kept = out / ".swathe-objects"
    return int(kept.read_text()) if kept.is_file() else first


def remember(out: Path, count: int, first: int) -> None:
    """Record the number of objects for the next estimate, unless few were made again."""
    kept = out / ".swathe-objects"
    if count > first // 2 or not kept.is_file():
        write_atomically(kept, str(count).encode())


def counter(
    show: Callable[[int, str], None], counted: re.Pattern[str] = OBJECT
) -> Callable[[str], None]:
    """Count the lines of make that match; show() gets the count and the last file's name."""
    count = 0

    def on_line(line: str) -> None:
        nonlocal count
        if counted.match(line):
            count += 1
            show(count, line.split()[-1])

    return on_line


def run_make(
    make: list[str], name: str, log: Path, total: int,
    what: str = "compiling", counted: re.Pattern[str] = OBJECT,
) -> int:  # fmt: skip
    """Run make with a progress bar of total lines that match; return how many there were."""
    ui.note(f"{what} {name}; log: {log}")
    begin, made = time.monotonic(), 0
    with processors.one(urgent=True), ui.progress(what, total) as bar:

        def show(count: int, file: str) -> None:
            nonlocal made
            made = count
            bar.update(count, f"{what} {Path(file).name[:24]:24}")

        status = process.stream(make, log, counter(show, counted), REPRODUCIBLE)
    if status:
        raise build_failure(log)
    ui.note(f"done in {time.monotonic() - begin:.0f} s")
    return made


def build_failure(log: Path) -> CheckFailed | EnvironmentLacks:
    """Print the first lines of the log that look like errors, and return the exception."""
    text = log.read_text(errors="replace")
    if process.NO_SPACE in text:
        return EnvironmentLacks("the disk is full: building the kernel")
    lines = [line for line in text.splitlines() if PROBLEM.search(line) and not OBJECT.match(line)]
    for line in lines[:SHOWN_ERRORS]:
        ui.note(f"  {line}")
    return CheckFailed(f"the kernel does not build; make's output is in {log}")


def user_headers(built: BuiltKernel) -> Path:
    """Return the directory of the user-space headers of the kernel under test.

    They are the same in every configuration: programs are compiled once for all of them.
    """
    kept = HEADERS / f"{built.tree.name}-{built.target.name}"
    with locked(f"headers-{kept.name}"):
        if not kept.is_dir():
            make = make_command(built.tree, built.out, built.target)
            with locked(built.out.name):
                process.check([*make, "headers"], "make headers")
            with scratch("headers") as stage:
                shutil.copytree(built.out / "usr" / "include", stage / "include")
                kept.parent.mkdir(parents=True, exist_ok=True)
                (stage / "include").rename(kept)
    return kept
