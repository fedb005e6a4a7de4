# SPDX-License-Identifier: GPL-2.0-only
"""Measure reclaim in exact instruction counts, stock beside swathe.

Every case runs in one boot with the switch off (stock) and on (swathe) in
turn, as often as --repeat says, after one run to warm up. QEMU executes one
instruction per nanosecond of guest time, so the same run gives the same
figure, whatever else this machine does. The first time, a kernel is fetched
and built.

    ./swathe bench                            everything, but for allocators
    ./swathe bench allocators                 heaps of real allocators (installs two packages)
    ./swathe bench lazyfree filemap:pageout   one bench, and one case of another
    ./swathe bench --against pristine         also a kernel without mm/unmap
    ./swathe bench --against 7.3              also the newest stable kernel
    ./swathe bench zap:64K --mib 256,1024     by the size of memory
    ./swathe bench --json out.json            the figures for other programs
"""

import argparse
from pathlib import Path

from swathe.base import parallel, table, ui
from swathe.base.errors import CheckFailed, UsageError
from swathe.cli import arguments
from swathe.kernel import source
from swathe.measure import bench_tables, benches, instructions, rows

TIMEOUT, TIMEOUT_FULL = 1200, 7200


def repeats(text: str) -> int:
    number = arguments.positive(text)
    if number < 3:
        raise argparse.ArgumentTypeError("a median needs at least 3 repeats")
    return number


def sizes(text: str) -> tuple[int, ...]:
    """The sizes of --mib, each once."""
    found = tuple(dict.fromkeys(arguments.positive(word) for word in text.split(",")))
    if odd := [number for number in found if number % 2]:
        raise argparse.ArgumentTypeError(f"{odd[0]} MiB is no whole number of 2 MiB")
    return found


def set_argparser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names",
        metavar="NAME",
        nargs="*",
        help="a bench, or BENCH:CASE (default: all that need nothing more)",
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--full", action="store_true", help="the sizes of the original threads")
    size.add_argument(
        "--mib",
        type=sizes,
        default=(),
        metavar="N[,N…]",
        help="other sizes, in MiB, a row for each",
    )
    parser.add_argument(
        "--against",
        choices=("pristine", *source.KERNELS[1:]),
        help="also measure a kernel from the untouched tree, or another, newer one",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write rows and environment")
    parser.add_argument("--repeat", type=repeats, default=3, metavar="N", help="3 or more")
    parser.add_argument(
        "--jobs", type=arguments.positive, default=parallel.processors(), metavar="N",
        help="so many machines at once (default: as many as there are processors)",
    )  # fmt: skip
    arguments.add_machine_arguments(parser, TIMEOUT)
    arguments.add_kernel_arguments(parser)
    arguments.add_flavor_argument(parser, "bench")
    parser.epilog = f"benches and their cases:\n{benches.listing()}\n\n{parser.epilog}"


def request_from(args: argparse.Namespace) -> instructions.BenchRequest:
    choices = [choice.sized(args.mib) for choice in benches.choose(args.names)]
    timeout = TIMEOUT_FULL if args.full and args.timeout == TIMEOUT else args.timeout
    if args.json and not args.json.resolve().parent.is_dir():
        raise UsageError(f"--json {args.json}: there is no directory {args.json.parent}")
    return instructions.BenchRequest(
        arguments.request_from(args, pristine=False), tuple(choices), args.full,
        args.against, args.repeat, args.cpus, timeout, args.boot, args.json, args.jobs,
    )  # fmt: skip


def main(args: argparse.Namespace) -> int:
    request = request_from(args)
    result = instructions.measure(request)
    path = instructions.save(result, request.json)
    show(request, result)
    ui.remark(f"raw figures: {path}")
    if not result.rows:
        raise CheckFailed("every case was skipped: there are no figures")
    return 0


def show(request: instructions.BenchRequest, result: instructions.BenchResult) -> None:
    """The tables, and under them what they hold for."""
    configs = ([request.against] if request.against else []) + list(instructions.SWITCHED)
    judged = with_goals(request)
    for choice in request.choices:
        found = [row for row in result.rows if row.bench == choice.bench.name]
        ui.out.print(f"{choice.bench.name}: {choice.bench.summary}")
        for shown in bench_tables.of_bench(found, configs, judged):
            if isinstance(shown, str):
                ui.out.print(shown, soft_wrap=True)
            else:
                ui.out.print(table.terminal(shown))
        ui.out.print(
            f"not included: {choice.bench.excludes}, {benches.ALWAYS_EXCLUDED}\n", soft_wrap=True
        )
    for reason in result.skipped:
        ui.out.print(f"skipped: {reason}", markup=False, soft_wrap=True)
    ui.out.print(
        f"median of {request.repeats} repeats, largest spread {100 * widest(result):.3f} %; "
        f"1 instruction = 1 ns of guest time (-icount shift=0)",
        soft_wrap=True,
    )
    ui.out.print(result.environment.line(), markup=False, soft_wrap=True)


def with_goals(request: instructions.BenchRequest) -> bool:
    """Whether this is what the goals were set for."""
    kernel = request.kernel
    return (kernel.kernel, kernel.arch, kernel.source) == ("6.12", "x86_64", None) and (
        not request.full and request.cpus == 1 and not request.boot
    )


def widest(result: instructions.BenchResult) -> float:
    """The largest spread of any instruction count, as a part of it."""
    main = [row for row in result.rows if row.metric == rows.MAIN_METRIC and row.value]
    return max((row.spread / row.value for row in main), default=0.0)
