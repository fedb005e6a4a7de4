# SPDX-License-Identifier: GPL-2.0-only
"""Debian's own kernel configurations, from its package linux-config-X.Y."""

import lzma
from pathlib import Path

from swathe.base import process
from swathe.base.errors import CheckFailed
from swathe.base.paths import BUILD, locked, scratch, write_atomically
from swathe.kernel import apt, source
from swathe.kernel.source import Source


def read(name: str, architecture: str, found: Source, kernel: str) -> bytes:
    """Return one of Debian's configuration files; the package is downloaded once per kernel."""
    kept = BUILD / "cache" / "configs" / found.key / name
    with locked("configs"):
        if not kept.is_file():
            fetch(f"linux-config-{kernel}", architecture, kernel, kept.parent)
    if not kept.is_file():
        raise CheckFailed(f"linux-config-{kernel} has no configuration {name}")
    return kept.read_bytes()


def fetch(package: str, architecture: str, kernel: str, home: Path) -> None:
    """Download the package and unpack all its configurations."""
    with scratch("configs") as directory:
        native = process.run(["dpkg", "--print-architecture"], quiet=True).output.strip()
        if architecture == native:
            deb = apt.fetch(package, source.SUITES[kernel], directory)
        else:
            deb = apt.fetch_foreign(package, architecture, directory)
        process.check(["dpkg-deb", "-x", str(deb), str(directory)], f"unpacking {deb.name}")
        for path in directory.glob("usr/src/linux-config-*/config.*.xz"):
            name = path.name.removeprefix("config.").removesuffix(".xz")
            write_atomically(home / name, lzma.decompress(path.read_bytes()))
