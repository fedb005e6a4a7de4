# SPDX-License-Identifier: GPL-2.0-only
"""Write Swathe as patches for people who build kernels with their own tools."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from string import Template

from swathe.base import process, release
from swathe.base.paths import new_directory
from swathe.kernel import patch_series, patches, tree
from swathe.kernel.patches import PatchOrigin
from swathe.kernel.source import Source
from swathe.kernel.version import Version

SERIES = "series"
NIX = "swathe.nix"
README = "README.txt"
OPTIONS = ("UNMAP", "UNMAP_DEFAULT_ON")

SNIPPET = Template("""\
# SPDX-License-Identifier: GPL-2.0-only
#
# Swathe $version for Linux $series, as a module of NixOS:
#
#     imports = [ ./swathe.nix ];
#
# The patch is made from Linux $kernel. If it does not apply to the $series.y of your nixpkgs,
# make one from that release's source: ./swathe export DIR --source PATH
#
# Before NixOS 25.11, structuredExtraConfig is called extraStructuredConfig.
{ lib, pkgs, ... }:
{
  boot.kernelPackages = pkgs.linuxPackages_$underscored;
  boot.kernelPatches = [
    {
      name = "swathe-$version";
      patch = ./$flat;
      structuredExtraConfig = {
$options
      };
    }
  ];
}
""")

EXPLANATION = Template("""\
Swathe $swathe for Linux $kernel

The patches do to the source of Linux $kernel what "./swathe apply" does, byte for byte. Choose
one of three ways; DIR is the directory of this file.

1. A git checkout of Linux $kernel:

       git am DIR/series/*.patch

   Each hook is a patch of its own, and its message says what breaks without it. "git am -s" adds
   your own Signed-off-by. On another release of Linux $series try "git am -3"; "git am --abort"
   takes everything back.

2. An unpacked source tree of Linux $kernel:

       patch -p1 <DIR/$flat

   Try it with --dry-run first on another release of Linux $series. If a hunk is rejected there,
   make an export for that release:

       ./swathe export DIR --source PATH

3. NixOS: copy these two files beside your configuration.nix, and import the first in it:

       swathe.nix
       $flat

For 1 and 2, configure and build:

       $switches
       make olddefconfig && make

In the running kernel, /sys/kernel/mm/unmap/enabled is the switch. It is described in
Documentation/admin-guide/mm/unmap.rst of the patched tree.

GPL-2.0-only.
""")


@dataclass(frozen=True)
class Exported:
    """What was written, by its names in the directory."""

    series: int
    flat: str


def base_commit(where: Path, kernel: Version, paths: list[str]) -> str:
    """Return HEAD if these files of a git checkout are as in HEAD; otherwise the release's tag."""
    git = ["git", "-C", str(where)]
    if (where / ".git").exists() and shutil.which("git"):
        same = process.run([*git, "diff", "--quiet", "HEAD", "--", *paths], quiet=True)
        if same.ok:
            return process.run([*git, "rev-parse", "HEAD"], quiet=True).output.strip()
    return f"v{kernel}" if kernel.patch else f"v{kernel.series}"


def flat_name(kernel: Version, version: str) -> str:
    return f"0001-linux-{kernel}-swathe-{version}.patch"


def contents(source: Source, wanted: tree.Plan, origin: PatchOrigin) -> dict[str, bytes]:
    """Return all files of an export, by their names in the directory."""
    series = patches.mails(source.tree, patch_series.series(wanted), origin)
    flat = patch_series.flat(wanted, origin.release.version)
    name = flat_name(source.version, origin.release.version)
    words = words_of(source, origin, name)
    return {
        **{f"{SERIES}/{file}": mail for file, mail in series.items()},
        name: next(iter(patches.mails(source.tree, [flat], origin).values())),
        NIX: SNIPPET.substitute(words).encode(),
        README: EXPLANATION.substitute(words).encode(),
    }


def words_of(source: Source, origin: PatchOrigin, flat: str) -> dict[str, str]:
    """Return what the templates have to know."""
    return {
        "version": origin.release.version,
        "swathe": origin.swathe,
        "kernel": str(source.version),
        "series": source.version.series,
        "underscored": source.version.series.replace(".", "_"),
        "flat": flat,
        "options": "\n".join(f"        {name} = lib.kernel.yes;" for name in OPTIONS),
        "switches": "scripts/config " + " ".join(f"-e {name}" for name in OPTIONS),
    }


def write(source: Source, directory: Path) -> Exported:
    """Write everything into a new or an empty directory, whole or not at all."""
    wanted = tree.plan(source.tree, source.version)
    base = base_commit(source.tree, source.version, sorted(wanted.changed))
    origin = PatchOrigin(release.current(), release.name(), str(source.version), base)
    files = contents(source, wanted, origin)
    with new_directory(directory) as made:
        (made / SERIES).mkdir()
        for name, data in files.items():
            (made / name).write_bytes(data)
    series = sum(name.startswith(f"{SERIES}/") for name in files)
    return Exported(series, flat_name(source.version, origin.release.version))
