# SPDX-License-Identifier: GPL-2.0-only
"""Fetch, hook and build a kernel, as far as that is not done yet.

The source is Debian's linux-source package, or what --source names: a
kernel.org tarball, or a tree of your own, which is read and never written.
Building takes about five minutes the first time on two cores, and ten
seconds after a change to one file.

    ./swathe build                          the kernel that bench and run use
    ./swathe build --flavor debug           the one that test uses
    ./swathe build --variant nr-cpus-2      ... with one thing otherwise (configs/variants)
    ./swathe build --print-image            ... and print where its image is
"""

import argparse

from swathe.base import ui
from swathe.cli import arguments
from swathe.kernel import build


def set_argparser(parser: argparse.ArgumentParser) -> None:
    arguments.add_kernel_arguments(parser)
    arguments.add_flavor_argument(parser, "bench")
    arguments.add_variant_argument(parser)
    parser.add_argument(
        "--pristine", action="store_true", help="the untouched tree, to compare with"
    )
    parser.add_argument(
        "--print-image", action="store_true", help="print the path of the image and nothing else"
    )


def main(args: argparse.Namespace) -> int:
    built = build.build(arguments.request_from(args))
    if args.print_image:
        ui.result(str(built.image))
    else:
        ui.note(f"Linux {built.version}, configuration {built.config_hash}: {built.image}")
    return 0
