# SPDX-License-Identifier: GPL-2.0-only
"""Make a program that shows on a real machine what an emulated one cannot.

With --proof, and so far there is nothing else: swathe-proof stores into memory on all processors
while it is discarded, evicted and moved and its page tables are given back, and checks
that no store is lost and none lands where it does not belong. What no emulator
has, such as caches of upper page tables, is in it: docs/hardware.md.

    ./swathe field --proof      compile it, and say what to do with it

Without --proof, measuring on the machine itself is to come; it does not exist yet.
"""

import argparse

from swathe.base import ui
from swathe.base.errors import UsageError
from swathe.check import field_program
from swathe.kernel.arch import ARCHES

ADVICE = """\
Copy it to a machine that runs a kernel with Swathe (nothing else is needed there) and run it,
as root, for an hour:

    swathe-proof                      an hour, a file in /var/tmp
    swathe-proof --minutes 5          shorter
    swathe-proof --dir /srv/scratch   a file on another disk

It keeps all processors busy, and prints a line a minute. What it prints at the end, from line to
line, is for a mail. Its status: 0 nothing was wrong, 1 something was, 3 nothing was shown."""


def set_argparser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--proof", action="store_true", help="make swathe-proof")
    parser.add_argument(
        "--arch", choices=list(ARCHES), default="x86_64", help="of the machine (default: x86_64)"
    )


def main(args: argparse.Namespace) -> int:
    if not args.proof:
        raise UsageError("say --proof: measuring in the field does not exist yet")
    ui.result(str(field_program.install(ARCHES[args.arch])))
    ui.note(ADVICE)
    return 0
