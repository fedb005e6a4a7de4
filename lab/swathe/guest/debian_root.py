# SPDX-License-Identifier: GPL-2.0-only
"""A Debian 13 in a directory, in which commands run as root.

A minimal one is made once, in build/debian13, and copied. All mounts are in a mount namespace of
the command that needs them: they are gone when it ends, however it ends.

prefetch() does beforehand what waits for the network. It may run beside make() and beside commands
in a copy: it makes the minimal system under the same lock, and downloads packages in a directory of
its own.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from swathe.base import process, ui
from swathe.base.errors import CheckFailed, EnvironmentLacks, SwatheError
from swathe.base.paths import BUILD, locked, scratch
from swathe.kernel import apt

SUITE = "trixie"
HOST_PACKAGES = ("debootstrap",)
HOME = BUILD / "debian13"
BASE, ARCHIVES = HOME / "base", HOME / "archives"
LOG = BUILD / "log" / "debian13.log"
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
APT_FILE, PIP_FILE = Path("etc/apt/apt.conf.d/99host"), Path("etc/pip.conf")
# dpkg waits for the disk after every file, so that a package survives a power cut. A copy that is
# thrown away need not.
DPKG_FILE, DPKG_TEXT = Path("etc/dpkg/dpkg.cfg.d/unsafe-io"), "force-unsafe-io\n"
OF_THE_HOST = (APT_FILE, PIP_FILE, DPKG_FILE, Path("etc/resolv.conf"))
DEBS = Path("/var/debs")
PASSED_ON = ("http_proxy", "https_proxy", "no_proxy", "pip_index_url", "pip_extra_index_url",
             "pip_trusted_host")  # fmt: skip
# Most of what pip installs is never imported in a copy: Python compiles the rest when it needs it.
PLAIN = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8",
         "DEBIAN_FRONTEND": "noninteractive", "PIP_NO_COMPILE": "1"}  # fmt: skip


@dataclass(frozen=True)
class DebianRoot:
    """A root file system."""

    root: Path

    def inside(self, path: Path) -> Path:
        return self.root / path.relative_to("/")

    def run(self, argv: Sequence[str], cwd: Path = Path("/root")) -> process.Done:
        """Run a command in it, as root, with a plain environment."""
        process.echo(["chroot", str(self.root), *argv])
        places = [str(self.root), str(ARCHIVES), str(cwd)]
        done = process.run(
            [*NAMESPACES, "bash", "-c", ENTER, "bash", *places, "env", *settings(), *argv],
            timeout=TIME_LIMIT, quiet=True,
        )  # fmt: skip
        with LOG.open("a") as log:
            log.write(f"$ {' '.join(argv)}\n{done.output}\nstatus {done.status}\n")
        return done

    def must(self, argv: Sequence[str], cwd: Path = Path("/root")) -> str:
        done = self.run(argv, cwd)
        if not done.ok:
            raise CheckFailed(f"{argv[0]}: {process.last_line(done.output)}; see {LOG}")
        return done.output

    def install(self, packages: Sequence[str], *options: str) -> None:
        """Install Debian's packages."""
        words = ["install", "-y", "--no-install-recommends", *options, *packages]
        for line in (["update"], words):
            done = self.run(["apt-get", *line])
            if not done.ok:
                raise EnvironmentLacks(
                    f"could not install packages in a Debian 13 (no network?): "
                    f"{process.last_line(done.output)}; see {LOG}"
                )


def settings() -> Iterator[str]:
    """Return env's arguments for a plain environment with the host's proxies, settings of pip.

    What is passed on stays where it is: it may hold passwords, and arguments are public.
    """
    for name in {*os.environ, "OLDPWD", "SHLVL"}:
        if name.lower() not in PASSED_ON:
            yield from ("-u", name)
    yield from (f"{name}={value}" for name, value in PLAIN.items())


def make(target: Path) -> DebianRoot:
    """Return a copy of the minimal system, once what is being downloaded for it is there."""
    require_possible()
    prepare()
    with locked("debian13-packages"):
        LOG.write_text("")
    return copied(target)


def prepare() -> None:
    """Make the minimal system, unless it is there."""
    LOG.parent.mkdir(parents=True, exist_ok=True)
    with locked("debian13-base"):
        apt.need(HOST_PACKAGES)
        if not BASE.is_dir():
            bootstrap()


def copied(target: Path) -> DebianRoot:
    """Copy the minimal system, and give it the host's settings."""
    process.check(["cp", "-a", str(BASE), str(target)], "copying Debian 13")
    pass_settings(target)
    return DebianRoot(target)


def prefetch(packages: Sequence[str]) -> None:
    """Make the minimal system, and download packages for its copies.

    An error is only told: who needs the system or a package meets the same one.
    """
    try:
        require_possible()
        with locked("debian13-packages"):
            prepare()
            download(packages)
    except SwatheError as error:
        ui.remark(f"Debian 13 is not fetched beforehand: {error}")


def download(packages: Sequence[str]) -> None:
    """Download packages that no copy has downloaded yet, and what they depend on.

    apt locks its directory of packages, which copies share: so this is another one. Packages
    appear in the shared one when they are complete.
    """
    with scratch("debian13-packages") as directory:
        machine = copied(directory / "root")
        debs = machine.inside(DEBS)
        (debs / "partial").mkdir(parents=True)
        for deb in ARCHIVES.glob("*.deb"):
            os.link(deb, debs / deb.name)
        machine.install(packages, "--download-only", "-o", f"Dir::Cache::Archives={DEBS}")
        for deb in debs.glob("*.deb"):
            deb.rename(ARCHIVES / deb.name)


def require_possible() -> None:
    """Raise if this machine cannot run commands in another root."""
    if os.geteuid() != 0:
        raise EnvironmentLacks(
            "a Debian 13 is made as root only, since it needs mounts: run as root"
        )
    if not process.run([*NAMESPACES, "true"], quiet=True).ok:
        raise EnvironmentLacks(
            "a Debian 13 cannot be made: this machine allows no mount namespaces "
            "(a container needs --privileged)"
        )


def bootstrap() -> None:
    """Make the minimal system under a temporary name."""
    listing = apt.configured()
    site, _ = apt.mirror(listing)
    ui.note("making a minimal Debian 13")
    with scratch("debian13") as directory:
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
        for package in new.glob("var/cache/apt/archives/*.deb"):
            package.unlink()
        (ARCHIVES / "partial").mkdir(parents=True, exist_ok=True)
        new.rename(BASE)


def pass_settings(root: Path) -> None:
    """Give the copy the host's name servers, certificates, and settings of apt and pip."""
    dump = process.run(["apt-config", "dump"], quiet=True).output
    lines = [f"{line}\n" for line in dump.splitlines() if line.startswith(APT_SETTINGS)]
    (root / APT_FILE).write_text("".join(lines))
    (root / DPKG_FILE).parent.mkdir(parents=True, exist_ok=True)
    (root / DPKG_FILE).write_text(DPKG_TEXT)
    pip = [Path(name).expanduser() for name in PIP_FILES]
    files = [path for name in COPIED for path in Path("/").glob(name)]
    pairs = [(path, root / path.relative_to("/")) for path in files]
    pairs += [(path, root / PIP_FILE) for path in pip if path.is_file()][:1]
    for source, target in pairs:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        shutil.copy(source, target)


def forget_settings(root: Path) -> None:
    """Remove the host's name servers and settings: the system is to start elsewhere."""
    for path in OF_THE_HOST:
        (root / path).unlink(missing_ok=True)
