# SPDX-License-Identifier: GPL-2.0-only
"""Build a test program for real machines.

swathe-proof stores into memory on all processors while that memory is
discarded, evicted and moved and its page tables are freed. It checks that no
store is lost and that none reaches the wrong page. On a real machine this also
tests what emulators lack, such as page-walk caches: see docs/hardware.md.

    ./swathe field --proof      compile swathe-proof and print how to run it

--proof is required: it is the only program so far. Measuring on real machines
is planned, but not implemented.
"""

import argparse

from swathe.base import ui
from swathe.base.errors import UsageError
from swathe.check import field_program
from swathe.kernel.arch import ARCHES

ADVICE = """\
Copy it to a machine that runs a kernel with Swathe (it needs nothing else there), and run it
as root for an hour:

    swathe-proof                      one hour, with a file in /var/tmp
    swathe-proof --minutes 5          five minutes
    swathe-proof --dir /srv/scratch   with a file on another disk

It keeps all processors busy and prints one line a minute. At the end it prints a report between
two lines of dashes, to be sent by mail. Its exit status: 0 no error was found; 1 an error was
found; 3 the run showed nothing."""


def set_argparser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--proof", action="store_true", help="compile swathe-proof")
    parser.add_argument(
        "--arch",
        choices=list(ARCHES),
        default="x86_64",
        help="architecture of the machine (default: x86_64)",
    )


def main(args: argparse.Namespace) -> int:
    if not args.proof:
        raise UsageError("--proof is missing: measuring in the field is not implemented")
    ui.result(str(field_program.install(ARCHES[args.arch])))
    ui.note(ADVICE)
    return 0
