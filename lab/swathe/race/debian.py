# SPDX-License-Identifier: GPL-2.0-only
"""Debian's prebuilt kernels: packages, image, and modules for a guest without udev."""

import lzma
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from swathe.base import process, ui
from swathe.base.errors import CheckFailed
from swathe.base.paths import BUILD, locked, new_directory, scratch, write_atomically
from swathe.kernel import apt

# What a module says of itself.
DEPENDS = re.compile(rb"\0depends=([^\0]*)\0")
PACKED = ".ko.xz"


class ImagePackages(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The packages of a kernel, and the suite that has them."""

    suite: str
    packages: tuple[str, ...]


def fetch(series: str, wanted: ImagePackages) -> Path:
    """Return the directory with the unpacked packages; they are downloaded once."""
    home = BUILD / "stock" / series / wanted.packages[0]
    with locked(f"stock-{series}"):
        if not home.is_dir():
            home.parent.mkdir(parents=True, exist_ok=True)
            ui.note(f"fetching Debian's kernel: {' '.join(wanted.packages)}")
            with new_directory(home) as made:
                for package in wanted.packages:
                    unpack(package, wanted.suite, made)
    return home


def unpack(package: str, suite: str, home: Path) -> None:
    with scratch("deb") as directory:
        deb = apt.fetch(package, suite, directory)
        process.check(["dpkg-deb", "-x", str(deb), str(home)], f"unpacking {deb.name}")


def image(home: Path) -> Path:
    return only(home, "vmlinuz*")


def only(home: Path, pattern: str) -> Path:
    found = sorted(path for path in home.rglob(pattern) if path.is_file())
    if len(found) != 1:
        raise CheckFailed(f"the packages in {home} hold {len(found)} files {pattern} instead of 1")
    return found[0]


def modules(home: Path, names: Sequence[str], kept: Path) -> list[Path]:
    """Unpack modules, and those that they need, which come first."""
    found: dict[str, Path] = {}
    for name in names:
        add(home, name, kept, found)
    return list(found.values())


def add(home: Path, name: str, kept: Path, found: dict[str, Path]) -> None:
    if name in found:
        return
    pattern = f"{re.sub('[-_]', '[-_]', name)}{PACKED}"
    data = lzma.decompress(only(home, pattern).read_bytes())
    match = DEPENDS.search(data)
    needed = match[1].decode().split(",") if match else []
    for other in filter(None, needed):
        add(home, other, kept, found)
    found[name] = kept / f"{name}.ko"
    write_atomically(found[name], data)
