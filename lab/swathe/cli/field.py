# SPDX-License-Identifier: GPL-2.0-only
"""Build the programs for real machines, and read what they measured.

swathe-field measures: on a machine that runs a kernel with Swathe it flips the
switch between calls of munmap(), MADV_DONTNEED, MADV_PAGEOUT and others, and
prints what changes, as a block of text for a mail.

swathe-proof looks for errors: it stores into memory on all processors while
that memory is discarded, evicted and moved and its page tables are freed. It
checks that no store is lost and that none reaches the wrong page. On a real
machine this also tests what emulators lack, such as page-walk caches.

Both are static programs that need nothing else there: see docs/hardware.md.

    ./swathe field                      compile swathe-field and say how to run it
    ./swathe field --proof              compile swathe-proof
    ./swathe field --read mail.txt      print the blocks of a file as tables
    ./swathe field --read a.txt b.txt   several machines, a column each
"""

import argparse
from pathlib import Path

from swathe.base import table, ui
from swathe.base.errors import UsageError
from swathe.kernel import field_program
from swathe.kernel.arch import ARCHES
from swathe.measure import field_blocks, field_tables

MEASURE_ADVICE = """\
Copy it to a machine that runs a kernel with Swathe (it needs nothing else there), and run it
there, best as root and while nothing else runs:

    swathe-field                      all rows, a few minutes
    swathe-field --thp                with folios of 64 KiB to 2 MiB, allowed while it runs
    swathe-field --rows zap,lazyfree  two benches
    swathe-field --dir /srv/scratch   with a file on another disk

It puts the switch back when it ends (not if its second process is killed, too), leaves no file,
and takes at most half of the memory that is free at its start. It prints a block of text for a
mail, which "./swathe field --read" reads. Its exit status: 0 done; 1 a row failed, or a setting
could not be put back; 2 wrong usage; 3 the machine lacks something."""

PROOF_ADVICE = """\
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
        "--read", metavar="FILE", nargs="+", type=Path,
        help="print the blocks of swathe-field in these files, such as saved mails",
    )  # fmt: skip
    parser.add_argument(
        "--arch",
        choices=list(ARCHES),
        default="x86_64",
        help="architecture of the machine (default: x86_64)",
    )


def main(args: argparse.Namespace) -> int:
    if args.proof and args.read:
        raise UsageError("--proof compiles and --read reads: give one of them")
    if args.read:
        show(args.read)
        return 0
    program = field_program.PROOF if args.proof else field_program.MEASURE
    ui.result(str(program.install(ARCHES[args.arch])))
    ui.note(PROOF_ADVICE if args.proof else MEASURE_ADVICE)
    return 0


def show(paths: list[Path]) -> None:
    for made in field_tables.tables(field_blocks.read(paths)):
        ui.out.print(table.terminal(made, wrap=True))
