# SPDX-License-Identifier: GPL-2.0-only
"""Whether a clone works on Debian 13: the launcher, the hooks, applying and compiling.

Each run installs into a copy of a minimal Debian 13 what a fresh machine would. Of the lab's tests
those run that another spatch may fail.
"""

import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from swathe.base import parallel, process, release, ui
from swathe.base.errors import CheckFailed, EnvironmentLacks
from swathe.base.paths import CONFIGS, ROOT, scratch
from swathe.base.verdicts import Test, Verdict
from swathe.check import compile_warnings
from swathe.guest import debian_root
from swathe.guest.debian_root import LOG, DebianRoot
from swathe.kernel import config, hooks, tree, version
from swathe.kernel.arch import X86_64
from swathe.kernel.hooks import Hook

PART = "debian13"
CLONE, LINUX = Path("/root/swathe"), Path("/root/linux-source-6.12")
TARBALL = Path("/usr/src/linux-source-6.12.tar.xz")
PACKAGES = re.compile(r"^packages=\(([^)]+)\)$", re.MULTILINE)
PYTHON = ".venv/bin/python"
UNMAP = "mm/unmap/"
# What neither the hooks nor compiling mm/ read of the source. All Kconfig files are read.
UNREAD = (
    "Documentation/[!K]*",
    "tools/testing",
    "tools/perf",
    *(f"{name}/*.[chS]" for name in ("drivers", "fs", "net", "samples", "sound")),
)


def prefetch() -> None:
    """Fetch what run() needs, in a thread of its own; run() may begin meanwhile."""
    debian_root.prefetch([*launcher_packages(), LINUX.name])


def launcher_packages() -> list[str]:
    """Return Debian's packages that ./swathe installs."""
    match = PACKAGES.search((ROOT / "swathe").read_text())
    if not match:
        raise CheckFailed("./swathe has no list of packages")
    return match[1].split()


def run() -> list[Test]:
    """Make the machine and try everything on it; skipped where that cannot be made."""
    with scratch(PART) as directory:
        try:
            machine = debian_root.make(directory / "root")
        except EnvironmentLacks as error:
            return [Test(PART, Verdict.SKIPPED, str(error))]
        clone(machine)
        return list(attempts(machine))


def clone(machine: DebianRoot) -> None:
    """Clone this repository's last commit into the machine."""
    if release.commit().endswith(release.DIRTY):
        ui.note("Debian 13 gets the last commit: there are changes that are not committed")
    argv = ["git", "-c", "safe.directory=*", "clone", "--quiet", "--no-hardlinks", str(ROOT)]
    process.check([*argv, str(machine.inside(CLONE))], "cloning this repository")


def attempts(machine: DebianRoot) -> Iterator[Test]:
    """Try each step, until one fails: those after it need it."""
    steps: tuple[tuple[str, Callable[[DebianRoot], None]], ...] = (
        ("the launcher installs what it needs", launch),
        ("its Python compiles the lab without a warning", compile_lab),
        ("its spatch passes the tests of the hooks", test_hooks),
        ("the hooks fit its Linux, with the same result as here", apply_hooks),
        ("its compiler compiles our part of mm/ without a warning that is ours", compile_mm),
    )
    for name, step in steps:
        ui.note(f"Debian 13: {name}")
        began = time.monotonic()
        try:
            step(machine)
        except (CheckFailed, EnvironmentLacks) as error:
            yield Test(f"{PART}: {name}", Verdict.FAILED, str(error))
            return
        ui.note(f"Debian 13: done in {time.monotonic() - began:.0f} s")
        yield Test(f"{PART}: {name}", Verdict.PASSED)


def launch(machine: DebianRoot) -> None:
    machine.must(["./swathe", "--help"], CLONE)


def compile_lab(machine: DebianRoot) -> None:
    """Compile every module: what another Python takes for a mistake is an error."""
    machine.must([PYTHON, "-W", "error", "-m", "compileall", "-q", "-f", "lab", "tests"], CLONE)


def test_hooks(machine: DebianRoot) -> None:
    """Run what depends on spatch: the golden tests, and those of the lab that read its output."""
    machine.must([PYTHON, "-m", "pytest", "tests/kernel/test_hooks.py"], CLONE)
    done = machine.run(["./swathe", "test", "hooks"], CLONE)
    if not done.ok:
        failed = [line for line in done.output.splitlines() if line.startswith("failed: ")]
        shown = "; ".join(dict.fromkeys(failed)) or process.last_line(done.output)
        raise CheckFailed(f"{shown}; see {LOG}")


def apply_hooks(machine: DebianRoot) -> None:
    """Apply Swathe to the release's own source; this machine's spatch must get the same files."""
    machine.install([LINUX.name])
    unpack(machine)
    applied = machine.inside(LINUX)
    with scratch("pristine") as pristine:
        copy_what_hooks_read(applied, pristine)
        done = machine.run(["./swathe", "apply", str(LINUX)], CLONE)
        if not done.ok:
            raise CheckFailed(f"{complaints(done.output)}; see {LOG}")
        wanted = tree.plan(pristine, version.of_tree(pristine)).all
    odd = [path for path, data in wanted.items() if (applied / path).read_bytes() != data]
    if odd:
        raise CheckFailed(
            f"spatch {hooks.spatch_version()} here and the one of Debian 13 differ in {odd[0]}"
        )
    ui.note(f"Debian 13: Linux {version.of_tree(applied)}")


def complaints(output: str) -> str:
    """Return the lines that say which hooks do not fit; if none does, the last line."""
    named = [line for line in output.splitlines() if " does not fit " in line]
    return "; ".join(named) or process.last_line(output)


def unpack(machine: DebianRoot) -> None:
    """Unpack what is needed of the release's source: a third of its files."""
    left_out = [f"--exclude={LINUX.name}/{name}" for name in UNREAD]
    machine.must(["tar", "-x", "-f", str(TARBALL), "-C", str(LINUX.parent), *left_out])


def copy_what_hooks_read(linux: Path, copy: Path) -> None:
    """Copy what applying Swathe reads of a kernel tree."""
    fitting = hooks.fitting(hooks.load(), version.of_tree(linux))
    for path in {"Makefile", "mm/Kconfig", "mm/Makefile", *(hook.file for hook in fitting)}:
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(linux / path, copy / path)


def compile_mm(machine: DebianRoot) -> None:
    """Compile mm/unmap and the hooked files of mm/ in the configuration of the benches."""
    flavor = config.Flavor("bench", X86_64.name, pristine=False)
    fragments = [str(CLONE / path.relative_to(ROOT)) for path in flavor.fragments()]
    machine.must(["make", "tinyconfig"], LINUX)
    machine.must(["scripts/kconfig/merge_config.sh", "-m", ".config", *fragments], LINUX)
    machine.must(["make", "olddefconfig"], LINUX)
    built = machine.inside(LINUX)
    chosen = hooks.fitting(hooks.load(), version.of_tree(built))
    goals = [UNMAP, *objects(chosen)]
    said = machine.must(["make", f"-j{parallel.processors()}", "W=1", *goals], LINUX)
    missing = [path for path in (f"{UNMAP}run.o", *objects(chosen)) if not (built / path).is_file()]
    if missing:
        raise CheckFailed(f"make compiled no {missing[0]}: does {CONFIGS.name} have CONFIG_UNMAP?")
    warnings = compile_warnings.read(said, LINUX, chosen)
    if warnings:
        raise CheckFailed("; ".join(warnings))


def objects(chosen: Iterable[Hook]) -> list[str]:
    """Return the objects of the files of mm/ that hooks change."""
    files = {Path(hook.file) for hook in chosen}
    return sorted(str(path.with_suffix(".o")) for path in files
                  if path.parent == Path("mm") and path.suffix == ".c")  # fmt: skip
