# SPDX-License-Identifier: GPL-2.0-only
"""Add Swathe to a kernel source tree of your own.

Every hook is tried on a copy first. The tree is written only if all hooks
fit; otherwise it stays as it was, and the error names the hook, the file and
the kernel version. The files of kernel/ are added to the tree; mm/Kconfig and
mm/Makefile gain one line each.

    ./swathe apply --diff ~/linux-6.12     print the changes to stock files
    ./swathe apply ~/linux-6.12            apply; then set CONFIG_UNMAP=y and build
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

from swathe.base import ui
from swathe.base.errors import UsageError
from swathe.kernel import patches, tree, version


@dataclass(frozen=True)
class ApplyRequest:
    tree: Path
    diff: bool
    check: bool


@dataclass(frozen=True)
class Applied:
    changed: int
    added: int


def set_argparser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tree", metavar="TREE", type=Path, help="the kernel source tree")
    parser.add_argument(
        "--diff", action="store_true", help="print the changes to stock files, write nothing"
    )
    parser.add_argument(
        "--check", action="store_true", help="only check that every hook fits, write nothing"
    )


def main(args: argparse.Namespace) -> int:
    request = ApplyRequest(args.tree.resolve(), args.diff, args.check)
    result = apply(request)
    if request.check:
        ui.note(f"every hook fits: {result.changed} files would be changed, {result.added} added")
    elif not request.diff:
        ui.note(
            f"{result.changed} files changed, {result.added} added in {request.tree}; "
            f"now set CONFIG_UNMAP=y"
        )
    return 0


def apply(request: ApplyRequest) -> Applied:
    """Plan the changes, then print or write them."""
    if not request.tree.is_dir():
        raise UsageError(f"{request.tree} is not a directory")
    wanted = tree.plan(request.tree, version.of_tree(request.tree))
    if request.diff:
        print(patches.diff(request.tree, wanted.changed), end="")
    elif not request.check:
        tree.install(request.tree, wanted.all)
    return Applied(len(wanted.changed), len(wanted.added))
