# SPDX-License-Identifier: GPL-2.0-only
"""The configuration that kernel packages start from: the machine's own, Debian's, or a file.

It is read and checked here; nothing is built or fetched for a configuration that is refused.
"""

import gzip
import hashlib
import os
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from swathe.base.errors import CheckFailed, EnvironmentLacks, UsageError
from swathe.kernel import config, debian_config
from swathe.kernel.source import Source

BOOT = Path("/boot")
MACHINE = "machine"
# Debian's configurations by their short names: the file in its package, and the architecture.
DEBIAN = {
    "amd64": ("amd64_none_amd64", "x86_64"),
    "cloud-amd64": ("amd64_none_cloud-amd64", "x86_64"),
    "arm64": ("arm64_none_arm64", "arm64"),
}
DEBIAN_ARCHES = {"x86_64": "amd64", "arm64": "arm64"}
# The option that every configuration for an architecture sets.
MARKS = {"x86_64": "CONFIG_X86_64", "arm64": "CONFIG_ARM64"}
HEADER = re.compile(r"^# Linux/(\w+) (\S+) Kernel Configuration$", re.MULTILINE)
GZIP = b"\x1f\x8b"
# What CONFIG_UNMAP depends on: see kernel/mm/unmap/Kconfig.
REQUIRED = ("CONFIG_MMU", "CONFIG_SYSFS")
# Without these a kernel can be built, but gains less.
LOSSES = {
    "CONFIG_TRANSPARENT_HUGEPAGE": "there are no large folios, so reclaim gains nothing; "
    "munmap() and page tables do",
    "CONFIG_SWAP": "anonymous memory cannot be reclaimed, except after MADV_FREE",
    "CONFIG_MEMCG": "page tables that the policy pressure keeps are freed only when the whole "
    "machine is short of memory",
}
NO_TABLES = "without CONFIG_UNMAP_TABLES, empty page tables are not given back"


@dataclass(frozen=True)
class Start:
    """A configuration to start from; where is what messages call it."""

    name: str
    where: str
    text: str

    @cached_property
    def options(self) -> dict[str, str]:
        return config.parse(self.text)

    @property
    def version(self) -> str:
        """The kernel version in the file's header; "" if there is no header."""
        found = HEADER.search(self.text)
        return found[2] if found else ""


def is_set(options: Mapping[str, str], name: str) -> bool:
    return options.get(name, "n") != "n"


def from_file(path: Path, name: str) -> Start:
    """Read a configuration, which may be compressed as /proc/config.gz is."""
    if not path.is_file():
        raise UsageError(
            f"--config {path}: there is no such file; Debian's own are {', '.join(DEBIAN)}"
        )
    data = path.read_bytes()
    try:
        text = (gzip.decompress(data) if data.startswith(GZIP) else data).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not a kernel configuration: it is not text") from error
    return Start(name, str(path), text)


def of_machine() -> Start:
    """Return the configuration of the kernel that runs now."""
    path = BOOT / f"config-{os.uname().release}"
    if not path.is_file():
        raise EnvironmentLacks(
            f"this machine has no {path}: name a configuration with --config FILE, "
            f"or one of Debian's with --config {'|'.join(DEBIAN)}"
        )
    return from_file(path, MACHINE)


def of_debian(name: str, found: Source, kernel: str) -> Start:
    file, arch = DEBIAN[name]
    data = debian_config.read(file, DEBIAN_ARCHES[arch], found, kernel)
    return Start(name, f"Debian's configuration {name}", data.decode())


def directory_name(path: Path) -> str:
    """Return a name for the build directory of a configuration file."""
    digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]
    return f"{re.sub(r'[^A-Za-z0-9.]+', '-', path.stem).strip('-.') or 'file'}-{digest}"


def local_start(given: str, arch: str) -> Start | None:
    """Return the configuration if it is on this machine; Debian's needs the kernel's version."""
    if given in DEBIAN:
        wanted = DEBIAN[given][1]
        if wanted != arch:
            raise UsageError(
                f"--config {given} is a configuration for {wanted}, not for {arch}: "
                f"add --arch {wanted}"
            )
        return None
    start = from_file(Path(given), directory_name(Path(given))) if given else of_machine()
    require(start, arch)
    return start


def require(start: Start, arch: str) -> None:
    """Raise if the configuration is none, or if this architecture or mm/unmap cannot use it."""
    options = start.options
    if not options:
        raise UsageError(f"{start.where} is not a kernel configuration: no line sets an option")
    if not is_set(options, MARKS[arch]):
        raise UsageError(wrong_architecture(start, arch))
    for name in REQUIRED:
        if not is_set(options, name):
            raise CheckFailed(f"{start.where} does not set {name}, which CONFIG_UNMAP depends on")


def wrong_architecture(start: Start, arch: str) -> str:
    for other, mark in MARKS.items():
        if is_set(start.options, mark):
            return f"{start.where} is a configuration for {other}, not for {arch}"
    found = HEADER.search(start.text)
    if found:
        return f"{start.where} is a configuration for {found[1]}, not for {arch}"
    return f"{start.where} is not a whole configuration for {arch}: it does not set {MARKS[arch]}"


def losses(options: Mapping[str, str]) -> list[str]:
    """Return what a kernel with these options lacks, one sentence each."""
    found = [
        f"without {name}, {lost}" for name, lost in LOSSES.items() if not is_set(options, name)
    ]
    if not is_set(options, "CONFIG_UNMAP_TABLES"):
        found.append(NO_TABLES)
    return found
