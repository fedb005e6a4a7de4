# SPDX-License-Identifier: GPL-2.0-only
"""Get kernel source: from Debian's package, a tarball, or the user's own tree."""

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from swathe.base import process, ui
from swathe.base.errors import CheckFailed, UsageError
from swathe.base.paths import BUILD, locked, scratch
from swathe.kernel import apt, version

# The suite that has the kernel's source package if the host's own suites lack it.
SUITES = {"6.12": None, "7.3": "trixie-backports"}
# No Debian release has it.
FROM_TARBALL = "6.18"
PACKAGED = tuple(SUITES)
KERNELS = ("6.12", FROM_TARBALL, "7.3")
SOURCES = BUILD / "src"
INSTALLED = Path("/usr/src")


@dataclass(frozen=True)
class Source:
    """A pristine kernel tree; ours is false for a user's tree, which is never written."""

    tree: Path
    version: version.Version
    ours: bool

    @property
    def key(self) -> str:
        """A directory name that is unique among trees, also those of the same version."""
        if self.ours:
            return str(self.version)
        digest = hashlib.sha256(str(self.tree).encode()).hexdigest()[:8]
        return f"{self.version}-{digest}"


def get(kernel: str, given: Path | None = None) -> Source:
    """Return the tree to work on; fetch and unpack it if necessary."""
    if given is None and kernel == FROM_TARBALL:
        raise UsageError(
            f"Debian has no source of Linux {kernel}: download linux-{kernel}.y.tar.xz, the latest "
            f"of https://cdn.kernel.org/pub/linux/kernel/v{kernel[0]}.x/, and give it with --source"
        )
    if given is None:
        with locked(f"source-{kernel}"):
            return from_package(kernel)
    if given.is_dir():
        tree = given.resolve()
        return Source(tree, version.of_tree(tree), ours=False)
    if given.is_file():
        with locked("source"):
            return from_tarball(given.resolve())
    raise UsageError(f"--source {given}: there is no such directory or tarball")


def unpacked(kernel: str) -> list[Source]:
    """Return the fetched trees of a kernel series, the oldest first."""
    found = [Source(tree, version.of_tree(tree), True) for tree in SOURCES.glob("linux-*")]
    fitting = [source for source in found if source.version.series == kernel]
    return sorted(fitting, key=lambda source: source.version)


def from_package(kernel: str) -> Source:
    """Return Debian's linux-source-X.Y: already unpacked, installed, or downloaded (no root)."""
    fitting = unpacked(kernel)
    if fitting:
        return fitting[-1]
    installed = INSTALLED / f"linux-source-{kernel}.tar.xz"
    if installed.is_file():
        return unpack(installed, SOURCES, kernel)
    with scratch("fetch") as directory:
        ui.note(f"fetching linux-source-{kernel} (about 150 MB)")
        deb = apt.fetch(f"linux-source-{kernel}", SUITES[kernel], directory)
        return unpack(packed(deb, kernel, directory), SOURCES, kernel)


def packed(deb: Path, kernel: str, directory: Path) -> Path:
    """Return the tarball in Debian's package, extracted below a temporary directory."""
    process.check(["dpkg-deb", "-x", str(deb), str(directory)], f"unpacking {deb.name}")
    tarball = directory / "usr" / "src" / f"linux-source-{kernel}.tar.xz"
    if not tarball.is_file():
        raise CheckFailed(f"{deb.name} does not hold {tarball.name}")
    return tarball


def from_tarball(tarball: Path) -> Source:
    """Return the tree of a tarball such as kernel.org's; the same content is unpacked once."""
    with tarball.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:12]
    home = SOURCES / f"tarball-{digest}"
    for tree in home.glob("linux-*"):
        return Source(tree, version.of_tree(tree), ours=False)
    new = unpack(tarball, home, None)
    return Source(new.tree, new.version, ours=False)


def unpack(tarball: Path, home: Path, kernel: str | None) -> Source:
    """Unpack in a temporary directory, check the version, then move the tree to its place."""
    with unpacked_tree(tarball) as tree:
        found = version.of_tree(tree)
        if kernel and found.series != kernel:
            raise CheckFailed(f"{tarball.name} holds Linux {found}, not {kernel}")
        final = home / f"linux-{found}"
        home.mkdir(parents=True, exist_ok=True)
        tree.rename(final)
    return Source(final, found, ours=True)


@contextlib.contextmanager
def unpacked_tree(tarball: Path, parts: Sequence[str] = ()) -> Iterator[Path]:
    """Unpack a tarball's tree, or the named parts of it, in a temporary directory."""
    ui.note(f"unpacking {tarball.name}")
    with scratch("unpack") as directory:
        argv = ["tar", "-x", "-f", str(tarball), "-C", str(directory), "--no-same-owner"]
        if parts:
            argv += ["--wildcards", "--no-wildcards-match-slash", *(f"*/{part}" for part in parts)]
        process.check(argv, f"unpacking {tarball.name}", timeout=1200)
        trees = [path for path in directory.iterdir() if path.is_dir()]
        if len(trees) != 1:
            raise UsageError(f"{tarball} does not hold exactly one directory with a kernel tree")
        yield trees[0]
