# SPDX-License-Identifier: GPL-2.0-only
"""Everything at once, for as long as you like, in the kernel that checks everything.

In rounds, until the time is over, one guest after the other on 1, 2, 4 and 8 CPUs:

    stressors  stress-ng's memory stressors in a memory-limited control group
    memx       random operations on memory against a model of every byte
    tests      two of the tests under faults, and two of the others
    powercut   a guest that loses its power, and its disk afterwards

While stressors and memx run, root switches mm/unmap on and off, changes the longest run, and
writes memory.reclaim. (QEMU before 8.1 does not stand code that is patched under several
processors: there the switch stays on, unless there is one.) Memory counters are compared
before and after: nothing may be kept. A failed test, a wrong byte, or any complaint of the
kernel fails the whole. stress-ng is Debian's package of that name.

    ./swathe stress                       five minutes
    ./swathe stress --minutes 60 --seed 7
    ./swathe stress --only memx           one of the four
"""

import argparse
import random

from swathe.base import ui
from swathe.check import rounds
from swathe.cli import arguments

MINUTES = 5.0


def set_argparser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--minutes", type=float, default=MINUTES, metavar="N", help="at least")
    parser.add_argument("--seed", type=int, metavar="S", help="chooses everything that is chosen")
    parser.add_argument("--only", choices=rounds.KINDS, action="append", help="may be repeated")
    parser.add_argument("--boot", default="", metavar="ARGS", help="more kernel parameters")
    arguments.add_kernel_arguments(parser)
    arguments.add_flavor_argument(parser, "debug")


def request_from(args: argparse.Namespace) -> rounds.StressRequest:
    seed = random.randrange(1 << 31) if args.seed is None else args.seed
    kernel = arguments.request_from(args, pristine=False)
    return rounds.StressRequest(
        kernel, args.minutes, seed, tuple(args.only or rounds.KINDS), args.boot
    )


def main(args: argparse.Namespace) -> int:
    request = request_from(args)
    ui.result(f"seed {request.seed}")
    outcomes = rounds.run(request)
    return 0 if outcomes and all(outcome.ok for outcome in outcomes) else 1
