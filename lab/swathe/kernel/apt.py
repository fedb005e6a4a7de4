# SPDX-License-Identifier: GPL-2.0-only
"""Download Debian packages: without root, and also from a suite that the host does not use."""

import hashlib
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from swathe.base import process, ui
from swathe.base.errors import CheckFailed, EnvironmentLacks
from swathe.base.paths import locked

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
RELEASES = ("bookworm", "trixie", "stable", "testing", "sid", "unstable")
SECURITY = "-security"
# A line of "apt-cache madison" about a binary package.
OFFER = re.compile(r"^ *(\S+) \| +(\S+) \| \S+ (\S+) \S+ Packages$", re.MULTILINE)
TIME_LIMIT = 1800
# Held where apt changes what is installed, or the host's lists.
LOCK = "apt"


@dataclass(frozen=True)
class Apt:
    """Runs apt with the host's configuration, or with the options of a private one."""

    options: tuple[str, ...] = ()

    def run(self, tool: str, *words: str, cwd: Path | None = None) -> process.Done:
        argv = [tool, *self.options, *words]
        return process.run(
            argv, cwd=cwd, timeout=TIME_LIMIT, env={"DEBIAN_FRONTEND": "noninteractive"}
        )


def absent(packages: Sequence[str]) -> list[str]:
    """Return the packages that dpkg does not list as installed."""
    form = "${db:Status-Status} ${Package}\n"
    done = process.run(["dpkg-query", "-W", "-f", form, *packages], quiet=True)
    return [name for name in packages if f"installed {name}" not in done.output.splitlines()]


def need(packages: Sequence[str]) -> None:
    """Install missing packages if root; otherwise raise an error with the command to run."""
    if not packages or not shutil.which("dpkg-query") or not absent(packages):
        return
    with locked(LOCK):  # somebody else may be installing them
        install_missing(absent(packages))


def install_missing(missing: Sequence[str]) -> None:
    """Install packages if root; the caller holds the lock."""
    if not missing:
        return
    line = f"apt-get install {' '.join(missing)}"
    if os.geteuid() != 0:
        raise EnvironmentLacks(f"packages are missing: sudo {line}")
    ui.note(f"installing {' '.join(missing)}")
    if not install(missing):
        raise EnvironmentLacks(f"could not install packages (no network?): {line}")


def install(packages: Sequence[str]) -> bool:
    """Install the packages; if that fails, update apt's lists and try again."""
    own = Apt()
    words = ("install", "-y", "--no-install-recommends", *packages)
    if own.run("apt-get", *words).ok:
        return True
    return own.run("apt-get", "update").ok and own.run("apt-get", *words).ok


def mirror(listing: str) -> tuple[str, str]:
    """Return the host's Debian mirror and its release; security mirrors do not count."""
    for site, codename in mirrors(listing):
        if codename in RELEASES and "security" not in site:
            return site, codename
    raise EnvironmentLacks(
        "apt has no Debian mirror configured: add one, or name a tree or tarball with --source"
    )


def mirrors(listing: str) -> list[tuple[str, str]]:
    """Return the host's Debian mirrors and their suites, without duplicates."""
    pairs = [line.partition(" ")[::2] for line in listing.splitlines()]
    return [
        (site, suite) for site, suite in dict.fromkeys(pairs) if suite.split("-")[0] in RELEASES
    ]


def configured() -> str:
    """Return the mirrors and suites that the host's apt uses, one pair a line."""
    form = "$(REPO_URI) $(CODENAME)"
    return Apt().run("apt-get", "indextargets", "--format", form, "Created-By: Packages").output


def site_of(suite: str, listing: str) -> str:
    """Return the mirror of a suite; security updates have one of their own."""
    site, _ = mirror(listing)
    if not suite.endswith(SECURITY):
        return site
    known = [where for where, name in mirrors(listing) if name.endswith(SECURITY)]
    return known[0] if known else f"{site.rstrip('/')}{SECURITY}"


def private(suites: Sequence[str], home: Path, architecture: str = "") -> Apt:
    """Make an apt configuration in directory home, for these suites (none: all the host's).

    architecture is a foreign architecture to download packages for.
    """
    listing = configured()
    for name in ("lists/partial", "cache/archives/partial"):
        (home / name).mkdir(parents=True, exist_ok=True)
    mirror(listing)
    wanted = [(site_of(name, listing), name) for name in suites] or mirrors(listing)
    lines = [f"deb [signed-by={KEYRING}] {where} {name} main\n" for where, name in wanted]
    (home / "sources.list").write_text("".join(lines))
    settings = (
        *((f"APT::Architecture={architecture}",) if architecture else ()),
        f"Dir::Etc::SourceList={home}/sources.list",
        "Dir::Etc::SourceParts=/dev/null",
        f"Dir::State::Lists={home}/lists",
        f"Dir::Cache={home}/cache",
        "APT::Sandbox::User=root",
    )
    return Apt(tuple(word for setting in settings for word in ("-o", setting)))


def offered(own: Apt, package: str) -> dict[str, list[str]]:
    """Return the suites that have each version of a package, the newest version first."""
    found: dict[str, list[str]] = {}
    for name, version, where in OFFER.findall(own.run("apt-cache", "madison", package).output):
        suite = where.split("/")[0]
        if name == package and suite not in found.setdefault(version, []):
            found[version].append(suite)
    return found


def fetch(package: str, suite: str | None, directory: Path) -> Path:
    """Download a package and verify its checksum; return its file.

    The suite is used only if the host's own apt sources do not have the package.
    """
    own = Apt()
    with locked(LOCK):
        done = attempt(own, package, directory, update=os.geteuid() == 0 and suite is None)
    if not done.ok and suite:
        own = private([suite], directory / "apt")
        done = attempt(own, package, directory, update=True)
    advice = "install that package, or name a tree or tarball with --source"
    return fetched(own, package, directory, done, advice)


def fetch_foreign(package: str, architecture: str, directory: Path) -> Path:
    """Download a package for a foreign architecture; dpkg's configuration stays unchanged."""
    own = private((), directory / "apt", architecture)
    done = attempt(own, package, directory, update=True)
    return fetched(own, package, directory, done, f"it is needed for {architecture}")


def unpack_foreign(packages: Sequence[str], architecture: str, directory: Path) -> None:
    """Unpack packages of a foreign architecture in a directory, and all that they depend on.

    apt believes that nothing is installed, so that it downloads the C library, too, and
    verifies all of it.
    """
    home = directory / "apt"
    own = private((), home, architecture)
    status = home / "status"
    status.write_text("")
    settings = ("-o", f"Dir::State::status={status}", "-o", "Debug::NoLocking=true")
    own = Apt((*own.options, *settings))
    own.run("apt-get", "update")
    words = ("install", "-y", "--no-install-recommends", "--download-only", *packages)
    done = own.run("apt-get", *words)
    debs = sorted((home / "cache" / "archives").glob("*.deb"))
    if process.NO_SPACE in done.output:
        raise EnvironmentLacks(f"the disk is full: fetching {' '.join(packages)}")
    if not done.ok or not debs:
        raise EnvironmentLacks(
            f"{' '.join(packages)} could not be fetched (no network?): needed for {architecture}"
        )
    for deb in debs:
        process.check(["dpkg-deb", "-x", str(deb), str(directory)], f"unpacking {deb.name}")
    shutil.rmtree(home)


def fetched(own: Apt, package: str, directory: Path, done: process.Done, advice: str) -> Path:
    """Return the downloaded file, or raise if the download failed."""
    debs = list(directory.glob("*.deb"))
    if process.NO_SPACE in done.output:
        raise EnvironmentLacks(f"the disk is full: fetching {package}")
    if not done.ok or len(debs) != 1:
        raise EnvironmentLacks(f"{package} could not be fetched (no network?): {advice}")
    verify(own, package, debs[0])
    return debs[0]


def attempt(own: Apt, package: str, directory: Path, update: bool) -> process.Done:
    """Download a package; if that fails and update is set, update apt's lists and try again."""
    done = own.run("apt-get", "download", package, cwd=directory)
    if done.ok or not update:
        return done
    own.run("apt-get", "update")
    return own.run("apt-get", "download", package, cwd=directory)


def checksums(shown: str) -> Sequence[str]:
    return re.findall(r"^SHA256: ([0-9a-f]{64})$", shown, re.MULTILINE)


def verify(own: Apt, package: str, deb: Path) -> None:
    """Compare the file with the SHA-256 that apt lists for the package, if it lists one."""
    known = checksums(own.run("apt-cache", "show", package).output)
    with deb.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    if known and actual not in known:
        raise CheckFailed(f"{deb.name} is damaged: its SHA-256 is not the one apt lists")
