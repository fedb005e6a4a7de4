# SPDX-License-Identifier: GPL-2.0-only
"""Cut a guest's power while reclaim unmaps dirty file pages, and look what is on its disk.

The guest stamps pages of a mapped file on XFS, syncs some of them, and says so after the
system call returned, while all of it is being reclaimed. At a moment that the seed chooses,
QEMU is killed. Then the same disk is booted again: XFS must mount (it recovers its log), every
stamp that was said to be synced must be there, and xfs_repair -n must find nothing.

With --spoil the guest says so without having synced anything: that must fail. So must a kernel
whose TLBs keep translations to pages that are gone (--boot unmap.mutants=flush).

What was written to the virtual disk stays in the host's page cache, so this is a power cut for
everything the guest had in memory; it is not one for a disk's own volatile cache.

    ./swathe powercut                     three cuts
    ./swathe powercut --cuts 10 --seed 7  the cuts of this seed
"""

import argparse
import random

from swathe.base import ui, verdicts
from swathe.check import powercuts
from swathe.cli import arguments


def set_argparser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--cuts", type=arguments.positive, default=powercuts.CUTS, metavar="N", help="how many"
    )
    parser.add_argument("--seed", type=int, metavar="S", help="of the guest and the moments")
    parser.add_argument("--spoil", action="store_true", help="sync nothing: this must fail")
    arguments.add_machine_arguments(parser, powercuts.TIMEOUT)
    arguments.add_kernel_arguments(parser)
    arguments.add_flavor_argument(parser, "debug")
    parser.set_defaults(cpus=2)


def request_from(args: argparse.Namespace) -> powercuts.PowercutRequest:
    seed = random.randrange(1 << 31) if args.seed is None else args.seed
    kernel = arguments.request_from(args, pristine=False)
    return powercuts.PowercutRequest(
        kernel, args.cuts, seed, args.cpus, args.timeout, args.boot, args.spoil
    )


def main(args: argparse.Namespace) -> int:
    request = request_from(args)
    ui.result(f"seed {request.seed}")
    count = verdicts.count(powercuts.cut_all(request))
    ui.result(str(count))
    return 0 if count.ok else 1
