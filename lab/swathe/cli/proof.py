# SPDX-License-Identifier: GPL-2.0-only
"""Show what was proven of the code of today, and run what was not.

The table has a row for each part, kernel and architecture: when it last passed, on which commit,
and whether the code that it proves is still the same. A commit that changes documentation or the
lab makes nothing stale.

    ./swathe proof               the table
    ./swathe proof --hours 8     run what is stale, the oldest first, for about eight hours
    ./swathe proof --part mutants --kernel 6.12 --arch x86_64 --hours 1

Each part that passes is recorded at once (docs/results/proofs.json), so that the command can be
interrupted, and goes on from there. A part that has begun is run to its end.
"""

import argparse
import datetime
import sys
import time

from swathe.base import process, table, ui
from swathe.base.table import Column
from swathe.check import proofs
from swathe.check.proofs import Proof, Standing
from swathe.cli import arguments
from swathe.kernel.arch import ARCHES
from swathe.kernel.source import KERNELS

HOUR = 3600
# No part takes longer on a machine that can be used.
LIMIT = 24 * HOUR
SWATHE = [sys.executable, "-X", "utf8", "-P", "-m", "swathe"]


def set_argparser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--hours", type=arguments.positive, default=0, metavar="N",
        help="run what is stale, and begin nothing new after N hours",
    )  # fmt: skip
    parser.add_argument(
        "--part", action="append", default=[], metavar="PART", help="only this part; repeatable"
    )
    parser.add_argument("--kernel", choices=KERNELS, help="only of this series")
    parser.add_argument("--arch", choices=ARCHES, help="only of this architecture")


def show(rows: list[Standing]) -> None:
    lines = [
        (
            row.claim.part, row.kernel or "–", row.arch or "–",
            row.proof.date[:10] if row.proof else "–", row.proof.commit if row.proof else "–",
            row.state,
        )
        for row in rows
    ]  # fmt: skip
    heads = map(Column, ("kernel", "architecture", "passed on", "commit", "code"))
    ui.out.print(table.terminal(table.make("", ("part", *heads), lines)))
    stale = sum(row.stale for row in rows)
    ui.out.print(f"{len(rows) - stale} of {len(rows)} are proven of today's code")


def prove(row: Standing, commit: str) -> bool:
    """Run a part, and record it if it has passed."""
    ui.result(f"{row.claim.part}: swathe {' '.join(row.command)}")
    begin = time.monotonic()
    if not process.passes([*SWATHE, *row.command], timeout=LIMIT):
        ui.result(f"{row.claim.part}: failed; nothing is recorded")
        return False
    date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    seconds = round(time.monotonic() - begin)
    proofs.record(
        Proof(row.claim.part, row.kernel, row.arch, commit, date, row.digest, seconds)
    )  # fmt: skip
    return True


def run(rows: list[Standing], hours: int) -> int:
    commit, end, failed = proofs.require_clean(), time.monotonic() + hours * HOUR, 0
    for row in proofs.due(rows):
        if time.monotonic() > end:
            break
        failed += not prove(row, commit)
    return 1 if failed else 0


def asked(args: argparse.Namespace) -> list[Standing]:
    """Return the rows that were asked for, as they stand now."""
    return [
        row for row in proofs.rows()
        if (not args.part or row.claim.part in args.part)
        and (not args.kernel or row.kernel == args.kernel)
        and (not args.arch or row.arch == args.arch)
    ]  # fmt: skip


def main(args: argparse.Namespace) -> int:
    arguments.require_known(args.part, [claim.part for claim in proofs.claims()], "part")
    status = run(asked(args), args.hours) if args.hours else 0
    show(asked(args))
    return status
