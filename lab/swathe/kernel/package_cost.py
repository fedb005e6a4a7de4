# SPDX-License-Identifier: GPL-2.0-only
"""What building packages takes in time and disk space; it is told before the build starts."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from swathe.base import parallel, ui
from swathe.base.errors import EnvironmentLacks
from swathe.base.paths import BUILD
from swathe.kernel.start_config import is_set

# Measured with Debian's cloud-amd64 configuration of 6.12.117 and gcc 12, without debug info: it
# sets 2939 options, make reports 8,765 files, and these take 3,702 seconds of one processor and
# 1.5 GB. So for each option that is set: files; for each file: seconds and bytes.
OBJECTS = 3.0
CPU_SECONDS = 0.45
BYTES = 180_000
# Measured with sixteen files: -g -gdwarf-5 multiplies an object's bytes and seconds by these.
DEBUG_BYTES, DEBUG_SECONDS = 11, 1.25
# Files that are packed, and the packages.
PACKED = 1 << 30


@dataclass(frozen=True)
class Estimate:
    """What a build takes; scaled from those that were measured."""

    objects: int
    minutes: int
    size: int

    @property
    def sentence(self) -> str:
        processors = ui.plural(parallel.processors(), "otherwise idle processor")
        return (
            f"about {self.objects} files to compile, {ui.plural(self.minutes, 'minute')} on "
            f"{processors}, "
            f"{gigabytes(self.size)} below {BUILD}"
        )


def gigabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB"


def estimate(options: Mapping[str, str], debug_info: bool) -> Estimate:
    """Scale the measured builds by the number of options that are set."""
    chosen = sum(value in ("y", "m") for value in options.values())
    objects = round(OBJECTS * chosen)
    symbols = debug_info and is_set(options, "CONFIG_DEBUG_INFO")
    seconds = objects * CPU_SECONDS * (DEBUG_SECONDS if symbols else 1) / parallel.processors()
    size = objects * BYTES * (DEBUG_BYTES if symbols else 1) + PACKED
    return Estimate(objects, max(1, round(seconds / 60)), size)


def used(directory: Path) -> int:
    """Return the bytes that a directory occupies."""
    files = (path.lstat() for path in directory.rglob("*"))
    return sum(stat.st_blocks * 512 for stat in files)


def require_space(wanted: int, out: Path) -> None:
    """Raise if the disk cannot hold the build; what is already built counts."""
    out.mkdir(parents=True, exist_ok=True)
    missing, free = wanted - used(out), shutil.disk_usage(out).free
    if free < missing:
        raise EnvironmentLacks(
            f"the build needs {gigabytes(missing)} below {BUILD}, where {gigabytes(free)} are "
            f"free: free some, or name another directory in SWATHE_BUILD"
        )
