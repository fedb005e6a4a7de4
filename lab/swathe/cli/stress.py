# SPDX-License-Identifier: GPL-2.0-only
"""Stress the debug kernel with stress-ng, random operations, faults and power cuts.

Guests boot one after another, on 1, 2, 4 and 8 CPUs, in rounds until the time is over:

    stressors  stress-ng's memory stressors in a memory-limited control group
    memx       random operations on memory, checked against a model of every byte
    tests      two of the tests under fault injection, and two of the others
    powercut   a guest loses its power, and its disk is checked afterwards

While stressors and memx run, a root shell in the guest switches mm/unmap on and off, changes the
maximum run length, and writes memory.reclaim. (QEMU before 8.1 can crash a guest with several
CPUs that patches code: there the switch stays on if the guest has more than one CPU.) Memory
counters are compared before and after: none may have grown for good. A failed test, a wrong byte,
or any kernel warning fails the whole command. stress-ng is the Debian package of that name.

    ./swathe stress                       five minutes
    ./swathe stress --minutes 60 --seed 7
    ./swathe stress --only memx           one kind of guest
    ./swathe stress --flavor kcsan --only tests --tests tables --each 600
                                          look for data races in one test
"""

import argparse
import random

from swathe.base import ui
from swathe.base.errors import UsageError
from swathe.check import rounds, selftests
from swathe.cli import arguments

MINUTES = 5.0


# What also runs on a kernel without Swathe.
WITHOUT_SWATHE = frozenset({"memx", "stressors"})


def set_argparser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--minutes", type=float, default=MINUTES, metavar="N",
        help=f"minimum duration (default: {MINUTES:g})",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, metavar="S", help="seed of all random choices")
    parser.add_argument(
        "--only", choices=rounds.KINDS, action="append", help="kind of guest; may be repeated"
    )
    parser.add_argument(
        "--each", type=arguments.positive, default=rounds.SECONDS, metavar="S",
        help=f"seconds of work in each guest, not for tests (default: {rounds.SECONDS})",
    )  # fmt: skip
    parser.add_argument(
        "--tests", choices=selftests.names(), action="append", default=[], metavar="NAME",
        help="system-call test of the guests with tests (default: chosen at random); "
        "may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--record", action="store_true", help="write the tables to docs/results, too"
    )
    parser.add_argument("--boot", default="", metavar="ARGS", help="additional kernel parameters")
    arguments.add_pristine_arguments(parser)
    arguments.add_kernel_arguments(parser)
    arguments.add_flavor_argument(parser, "debug")
    arguments.add_variant_argument(parser)


def request_from(args: argparse.Namespace) -> rounds.StressRequest:
    seed = random.randrange(1 << 31) if args.seed is None else args.seed
    kernel = arguments.request_from(args)
    if kernel.pristine and (args.record or {*(args.only or rounds.KINDS)} - WITHOUT_SWATHE):
        raise UsageError(
            "a kernel without Swathe proves nothing of it: give "
            + " or ".join(f"--only {kind}" for kind in sorted(WITHOUT_SWATHE))
            + ", without --record"
        )
    return rounds.StressRequest(
        kernel, args.minutes, seed, tuple(args.only or rounds.KINDS), args.boot,
        int(args.each), tuple(args.tests), args.record,
    )  # fmt: skip


def main(args: argparse.Namespace) -> int:
    request = request_from(args)
    ui.result(f"seed {request.seed}")
    outcomes = rounds.run(request)
    return 0 if outcomes and all(outcome.ok for outcome in outcomes) else 1
