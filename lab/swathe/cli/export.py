# SPDX-License-Identifier: GPL-2.0-only
"""Write Swathe as patches: for git, for patch(1), for NixOS.

DIR gets a series of mails for "git am" (each hook is one), the same as one
file for "patch -p1", a NixOS module, and a README.txt that says how to use
each. All of them do to the source what ./swathe apply does. The patches are
for the release they are made from; --source names another.

    ./swathe export ~/swathe-patches                            for Debian's Linux 6.12
    ./swathe export ~/swathe-patches --source ~/linux-6.12.94   for that tree
    ./swathe test export                                        check what it writes

With --mainline, DIR gets other patches: series a, b and c of docs/upstream.md,
each in a directory of its own, for the untouched newest kernel, as mainline
could take them, without anything of Swathe.

    ./swathe export --mainline ~/for-mainline                   for Debian's Linux 7.3
    ./swathe test mainline                                      check what it writes
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

from swathe.base import paths, ui
from swathe.cli import arguments
from swathe.kernel import export, mainline, source


@dataclass(frozen=True)
class ExportRequest:
    directory: Path
    kernel: str
    source: Path | None
    mainline: bool = False


def set_argparser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", metavar="DIR", type=Path, help="a new or an empty directory")
    parser.add_argument(
        "--mainline", action="store_true",
        help="write patches for mainline instead, from the newest kernel",
    )  # fmt: skip
    arguments.add_source_arguments(parser)


def write_mainline(request: ExportRequest) -> None:
    found = source.get(mainline.load().kernel, request.source)
    ui.note(f"patching Linux {found.version}, in memory")
    count = mainline.write(found, request.directory)
    ui.note(
        f"{ui.plural(count, 'patch', 'patches')} for Linux {found.version}: "
        f"see {request.directory / mainline.README}"
    )


def main(args: argparse.Namespace) -> int:
    request = ExportRequest(args.directory.resolve(), args.kernel, args.source, args.mainline)
    paths.require_new(request.directory)
    if request.mainline:
        write_mainline(request)
        return 0
    found = source.get(request.kernel, request.source)
    ui.note(f"applying the hooks to Linux {found.version}, in memory")
    made = export.write(found, request.directory)
    ui.note(
        f"{made.series} patches for git, {made.flat} and {export.NIX} for Linux {found.version}: "
        f"see {request.directory / export.README}"
    )
    return 0
