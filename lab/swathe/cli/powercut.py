# SPDX-License-Identifier: GPL-2.0-only
"""Cut a guest's power while reclaim unmaps dirty file pages, then check the files on its disk.

The guest stamps pages of a mapped file on XFS, syncs some of them, and reports each sync after
the system call has returned; meanwhile the file is being reclaimed. At a moment that the seed
chooses, QEMU is killed. A second guest then boots with the same disk: XFS must mount (it recovers
its log), every stamp reported as synced must be there, and xfs_repair -n must find nothing.

With --spoil the guest reports syncs that it did not do: the command must then fail. It must also
fail for a kernel that leaves stale TLB entries (--boot unmap.mutants=flush).

Writes to the virtual disk stay in the host's page cache. So the guest loses everything it had in
memory, but the disk's own volatile cache is not part of the test.

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
        "--cuts",
        type=arguments.positive,
        default=powercuts.CUTS,
        metavar="N",
        help=f"number of power cuts (default: {powercuts.CUTS})",
    )
    parser.add_argument("--seed", type=int, metavar="S", help="seed of the writes and of the cuts")
    parser.add_argument(
        "--spoil", action="store_true", help="report syncs without doing them: must fail"
    )
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
