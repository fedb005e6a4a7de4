# SPDX-License-Identifier: GPL-2.0-only
"""Fetch, hook and build a kernel. Steps that are up to date are skipped.

The source is Debian's linux-source package, or what --source names: a
kernel.org tarball, or a tree of your own, which is read and never written.
On two cores, the first build takes about five minutes, and a rebuild after a
change to one file ten seconds.

    ./swathe build                          the kernel that bench and run use
    ./swathe build --flavor debug           the kernel that test uses
    ./swathe build --variant nr-cpus-2      a variant of configs/variants
    ./swathe build --print-image            build, then print the image's path
"""

import argparse

from swathe.base import ui
from swathe.cli import arguments
from swathe.kernel import build


def set_argparser(parser: argparse.ArgumentParser) -> None:
    arguments.add_kernel_arguments(parser)
    arguments.add_flavor_argument(parser, "bench")
    arguments.add_variant_argument(parser)
    arguments.add_pristine_arguments(parser)
    parser.add_argument(
        "--print-image", action="store_true", help="print only the path of the image"
    )


def main(args: argparse.Namespace) -> int:
    built = build.build(arguments.request_from(args))
    if args.print_image:
        ui.result(str(built.image))
    else:
        ui.note(f"Linux {built.version}, configuration {built.config_hash}: {built.image}")
    return 0
