# SPDX-License-Identifier: GPL-2.0-only
"""Whether a clone works on Debian 13: the launcher, the tests, applying and compiling.

A minimal Debian 13 is made once, in build/debian13. Each run installs into a copy of it what a
fresh machine would. All mounts are in a mount namespace of the command that needs them: they are
gone when it ends, however it ends.
"""

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from swathe.base import parallel, process, release, ui
from swathe.base.errors import CheckFailed, EnvironmentLacks
from swathe.base.paths import BUILD, CONFIGS, ROOT, locked, scratch
from swathe.base.verdicts import Test, Verdict
from swathe.check import compile_warnings
from swathe.kernel import apt, config, hooks, tree, version
from swathe.kernel.arch import X86_64
from swathe.kernel.hooks import HookMissed

PART = "debian13"
SUITE = "trixie"
PACKAGES = ("debootstrap",)
HOME = BUILD / PART
BASE, ARCHIVES = HOME / "base", HOME / "archives"
LOG = BUILD / "log" / f"{PART}.log"
CLONE, LINUX = Path("/root/swathe"), Path("/root/linux-source-6.12")
TARBALL = Path("/usr/src/linux-source-6.12.tar.xz")
TIME_LIMIT = 3600
NAMESPACES = ("unshare", "--mount", "--pid", "--fork", "--kill-child")
# Arguments: the root, a directory for downloaded packages, the command's directory, the command.
# The root is bound to itself: in there, tests unshare mounts again, which needs a mount point.
ENTER = " && ".join(
    (
        'mount --bind "$1" "$1"',
        'mount -t proc proc "$1/proc"',
        'mount --rbind /sys "$1/sys"',
        'mount --rbind /dev "$1/dev"',
        'mount --bind "$2" "$1/var/cache/apt/archives"',
        """exec chroot "$1" /bin/sh -c 'cd "$1" && shift && exec "$@"' sh "${@:3}\"""",
    )
)
# The host's settings for downloads, which the copy needs, too.
APT_SETTINGS = ("Acquire::http::", "Acquire::https::", "Acquire::Check-", "Acquire::Retries")
COPIED = ("etc/resolv.conf", "etc/ssl/certs/ca-certificates.crt",
          "usr/local/share/ca-certificates/*.crt")  # fmt: skip
PIP_FILES = ("/etc/pip.conf", "~/.config/pip/pip.conf", "~/.pip/pip.conf")
PASSED_ON = ("http_proxy", "https_proxy", "no_proxy", "pip_index_url", "pip_extra_index_url",
             "pip_trusted_host")  # fmt: skip
PLAIN = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8"}


@dataclass(frozen=True)
class Debian13:
    """A root file system with a clone of this repository."""

    root: Path

    def inside(self, path: Path) -> Path:
        return self.root / path.relative_to("/")

    def run(self, argv: Sequence[str], cwd: Path = CLONE) -> process.Done:
        """Run a command in it, as root, without this process's environment."""
        words = ["env", "-i", *settings(), *argv]
        places = [str(self.root), str(ARCHIVES), str(cwd)]
        done = process.run(
            [*NAMESPACES, "bash", "-c", ENTER, "bash", *places, *words], timeout=TIME_LIMIT
        )
        with LOG.open("a") as log:
            log.write(f"$ {' '.join(argv)}\n{done.output}\nstatus {done.status}\n")
        return done

    def must(self, argv: Sequence[str], cwd: Path = CLONE) -> str:
        done = self.run(argv, cwd)
        if not done.ok:
            raise CheckFailed(f"{argv[0]}: {process.last_line(done.output)}; see {LOG}")
        return done.output


def settings() -> list[str]:
    """Return the environment: plain, with the host's proxies and settings of pip."""
    own = [f"{name}={value}" for name, value in os.environ.items()
           if name.lower() in PASSED_ON]  # fmt: skip
    return [*(f"{name}={value}" for name, value in PLAIN.items()), *own]


def run() -> list[Test]:
    """Make the machine and try everything on it; skipped where that cannot be made."""
    try:
        prepare()
    except EnvironmentLacks as error:
        return [Test(PART, Verdict.SKIPPED, str(error))]
    with scratch(PART) as directory:
        machine = Debian13(directory / "root")
        process.check(["cp", "-a", str(BASE), str(machine.root)], "copying Debian 13")
        pass_settings(machine.root)
        clone(machine)
        return list(attempts(machine))


def prepare() -> None:
    """Make the minimal system unless it is there; raise if this machine cannot."""
    if os.geteuid() != 0:
        raise EnvironmentLacks("Debian 13 is tried as root only: its file system needs mounts")
    if not process.run([*NAMESPACES, "true"], quiet=True).ok:
        raise EnvironmentLacks("Debian 13 was not tried: this machine allows no mount namespaces")
    apt.need(PACKAGES)
    LOG.parent.mkdir(parents=True, exist_ok=True)
    LOG.write_text("")
    with locked(PART):
        if not BASE.is_dir():
            bootstrap()


def bootstrap() -> None:
    """Make the minimal system under a temporary name."""
    listing = apt.configured()
    site, _ = apt.mirror(listing)
    ui.note("making a minimal Debian 13")
    with scratch(PART) as directory:
        new = directory / "base"
        options = ["--variant=minbase", "--include=git,ca-certificates"]
        argv = [*NAMESPACES, "debootstrap", *options, SUITE, str(new), site]
        done = process.run(argv, timeout=TIME_LIMIT)
        LOG.write_text(done.output)
        if not done.ok:
            raise EnvironmentLacks(
                f"debootstrap could not make Debian 13 (no network?): "
                f"{process.last_line(done.output)}"
            )
        security = f"{SUITE}{apt.SECURITY}"
        line = f"deb {apt.site_of(security, listing)} {security} main\n"
        with (new / "etc/apt/sources.list").open("a") as file:
            file.write(line)
        (ARCHIVES / "partial").mkdir(parents=True, exist_ok=True)
        new.rename(BASE)


def pass_settings(root: Path) -> None:
    """Give the copy the host's name servers, certificates, and settings of apt and pip."""
    dump = process.run(["apt-config", "dump"], quiet=True).output
    lines = [f"{line}\n" for line in dump.splitlines() if line.startswith(APT_SETTINGS)]
    (root / "etc/apt/apt.conf.d/99host").write_text("".join(lines))
    pip = [Path(name).expanduser() for name in PIP_FILES]
    files = [path for name in COPIED for path in Path("/").glob(name)]
    pairs = [(path, root / path.relative_to("/")) for path in files]
    pairs += [(path, root / "etc/pip.conf") for path in pip if path.is_file()][:1]
    for source, target in pairs:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        shutil.copy(source, target)


def clone(machine: Debian13) -> None:
    """Clone this repository's last commit into the machine."""
    if release.commit().endswith("-dirty"):
        ui.note("Debian 13 gets the last commit: there are changes that are not committed")
    argv = ["git", "-c", "safe.directory=*", "clone", "--quiet", "--no-hardlinks", str(ROOT)]
    process.check([*argv, str(machine.inside(CLONE))], "cloning this repository")


def attempts(machine: Debian13) -> Iterator[Test]:
    """Try each step, until one fails: those after it need it."""
    steps: tuple[tuple[str, Callable[[Debian13], None]], ...] = (
        ("the launcher installs what it needs", launch),
        ("lab and hooks pass", test),
        ("the hooks fit its Linux, with the same result as here", apply),
        ("its compiler compiles mm/ without a warning that is ours", compile_mm),
    )
    for name, step in steps:
        ui.note(f"Debian 13: {name}")
        began = time.monotonic()
        try:
            step(machine)
        except (CheckFailed, HookMissed) as error:
            yield Test(f"{PART}: {name}", Verdict.FAILED, str(error))
            return
        ui.note(f"Debian 13: done in {time.monotonic() - began:.0f} s")
        yield Test(f"{PART}: {name}", Verdict.PASSED)


def launch(machine: Debian13) -> None:
    machine.must(["./swathe", "--help"])


def test(machine: Debian13) -> None:
    done = machine.run(["./swathe", "test", "lab", "hooks"])
    if not done.ok:
        failed = [line for line in done.output.splitlines() if line.startswith("failed: ")]
        shown = "; ".join(dict.fromkeys(failed)) or process.last_line(done.output)
        raise CheckFailed(f"{shown}; see {LOG}")


def apply(machine: Debian13) -> None:
    """Apply Swathe to the release's own source; this machine's spatch must get the same files."""
    machine.must(["apt-get", "update"])
    machine.must(["apt-get", "install", "-y", "--no-install-recommends", LINUX.name])
    machine.must(["tar", "-x", "-f", str(TARBALL), "-C", str(LINUX.parent)])
    applied = machine.inside(LINUX)
    with scratch("pristine") as pristine:
        shutil.copytree(applied / "mm", pristine / "mm")
        shutil.copy(applied / "Makefile", pristine)
        machine.must(["./swathe", "apply", str(LINUX)])
        wanted = tree.plan(pristine, version.of_tree(pristine)).all
    odd = [path for path, data in wanted.items() if (applied / path).read_bytes() != data]
    if odd:
        raise CheckFailed(
            f"spatch {hooks.spatch_version()} here and the one of Debian 13 differ in {odd[0]}"
        )
    ui.note(f"Debian 13: Linux {version.of_tree(applied)}")


def compile_mm(machine: Debian13) -> None:
    """Compile mm/ of the applied tree in the configuration of the benches."""
    flavor = config.Flavor("bench", X86_64.name, pristine=False)
    fragments = [str(CLONE / path.relative_to(ROOT)) for path in flavor.fragments()]
    machine.must(["make", "tinyconfig"], LINUX)
    machine.must(["scripts/kconfig/merge_config.sh", "-m", ".config", *fragments], LINUX)
    machine.must(["make", "olddefconfig"], LINUX)
    said = machine.must(["make", f"-j{parallel.processors()}", "W=1", "mm/"], LINUX)
    built = machine.inside(LINUX)
    if not (built / "mm/unmap/evict.o").is_file():
        raise CheckFailed(f"make mm/ compiled no mm/unmap: {CONFIGS.name} lacks CONFIG_UNMAP")
    chosen = hooks.fitting(hooks.load(), version.of_tree(built))
    warnings = compile_warnings.read(said, LINUX, chosen)
    if warnings:
        raise CheckFailed("; ".join(warnings))
