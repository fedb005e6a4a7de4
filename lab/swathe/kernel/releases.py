# SPDX-License-Identifier: GPL-2.0-only
"""The point releases of Linux that hooks are tried on: what hooks need of their source.

Of a release that is fetched for this only the stock files' directories are unpacked, next to the
whole trees in build/src: some megabytes instead of 1.6 GB.
"""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from swathe.base import ui
from swathe.base.errors import EnvironmentLacks
from swathe.base.paths import locked, scratch
from swathe.kernel import apt, hooks, source, version
from swathe.kernel.source import Source
from swathe.kernel.version import Version

SERIES = "6.12"
PACKAGE = f"linux-source-{SERIES}"
# Debian's archives have had these; newer ones are found there.
KNOWN = tuple(Version(6, 12, patch) for patch in (94, 95, 107, 111, 113, 115, 116, 117, 118))
SUITES = ("trixie", "trixie-security", "bookworm-backports", "bookworm-security")
PARTIAL = "release-"
ORIGIN = ".swathe-package"
UPSTREAM = re.compile(r"\d+\.\d+\.\d+")


@dataclass(frozen=True)
class Offer:
    """A version of Debian's source package, and the suites that have it."""

    package: str
    suites: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.package} ({', '.join(self.suites)})"


def parts() -> list[str]:
    """Return what is unpacked of a release's tree."""
    return sorted({"Makefile", "mm", *(part_with(hook.file) for hook in hooks.load())})


def part_with(path: str) -> str:
    """Return the part of a tree that has a file: its top directory, but of arch/ only the file."""
    top = path.split("/")[0]
    return path if top == "arch" else top


def complete(tree: Path) -> bool:
    """Whether a release's directory has all that the hooks of today need."""
    return all((tree / part).exists() for part in parts())


def available() -> list[Source]:
    """Return the sources in build/src that hooks are for; a whole tree replaces a partial one."""
    whole = [version_of(tree, True) for tree in source.SOURCES.glob("linux-*")]
    known = {item.version for item in whole}
    partial = [
        version_of(tree, True) for tree in source.SOURCES.glob(f"{PARTIAL}*") if complete(tree)
    ]
    given = [version_of(tree, False) for tree in source.SOURCES.glob("tarball-*/linux-*")]
    sources = [*whole, *(item for item in partial if item.version not in known), *given]
    return sorted(
        (item for item in sources if item.version.series in source.KERNELS),
        key=lambda item: (item.version, str(item.tree)),
    )


def version_of(tree: Path, ours: bool) -> Source:
    return Source(tree, version.of_tree(tree), ours)


def origin(item: Source) -> str:
    """Return the package that a release was unpacked from, if that is known."""
    path = item.tree / ORIGIN
    return path.read_text().strip() if path.is_file() else ""


def offers(listed: dict[str, list[str]]) -> dict[Version, Offer]:
    """Return the newest package of each release."""
    newest: dict[Version, Offer] = {}
    for package, suites in listed.items():
        match = UPSTREAM.match(package)
        if match:
            newest.setdefault(Version.parse(match[0]), Offer(package, tuple(suites)))
    return newest


def fetch_missing() -> Iterator[tuple[Version, str]]:
    """Fetch all releases that are not in build/src; return those that no archive has, and why."""
    with locked("source"), scratch("releases") as directory:
        there = {item.version for item in available()}
        own = apt.private(SUITES, directory / "apt")
        # A suite that cannot be read would look as if it had no releases any more.
        if not own.run("apt-get", "update", "--error-on=any").ok:
            raise EnvironmentLacks(
                f"apt cannot read {', '.join(SUITES)} (no network?): try again later"
            )
        known = offers(apt.offered(own, PACKAGE))
        if not known:
            raise EnvironmentLacks(f"apt finds no {PACKAGE} (no network?): try again later")
        for release in sorted({*KNOWN, *known} - there):
            if release in known:
                fetch(own, release, known[release])
            else:
                yield release, f"none of {', '.join(SUITES)} has {PACKAGE} {release} any more"


def fetch(own: apt.Apt, release: Version, offer: Offer) -> None:
    """Download one release, and unpack what hooks need of it."""
    ui.note(f"fetching {PACKAGE} {offer} (about 150 MB)")
    with scratch("release") as directory:
        wanted = f"{PACKAGE}={offer.package}"
        done = apt.attempt(own, wanted, directory, update=False)
        deb = apt.fetched(own, PACKAGE, directory, done, "try again later")
        with source.unpacked_tree(source.packed(deb, SERIES, directory), parts()) as tree:
            (tree / ORIGIN).write_text(f"{offer}\n")
            final = source.SOURCES / f"{PARTIAL}{release}"
            shutil.rmtree(final, ignore_errors=True)
            final.parent.mkdir(parents=True, exist_ok=True)
            tree.rename(final)
