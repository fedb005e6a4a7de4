# SPDX-License-Identifier: GPL-2.0-only
"""Measure reclaim in exact instruction counts, stock and swathe.

Each boot runs a case with mm/unmap switched off (stock) and on (swathe) in
turn: after one warm-up run, as many measured runs as --repeat says. QEMU
executes one instruction per nanosecond of guest time, so a run gives the same
figure however busy the host is. On first use, the kernel is fetched and built.

    ./swathe bench                            all benches except allocators
    ./swathe bench allocators                 heaps of real allocators (installs two packages)
    ./swathe bench lazyfree filemap:pageout   one bench, and one case of another
    ./swathe bench --against pristine         also a kernel without mm/unmap: what the switch costs
    ./swathe bench --against 7.3              also Linux 7.3
    ./swathe bench zap --kernel 7.3 --against b   also 7.3 with series B of docs/upstream.md
    ./swathe bench --kernel 7.3               Linux 7.3, stock and swathe, with goals of its own
    ./swathe bench zap:64K --mib 256,1024     one case at two memory sizes
    ./swathe bench --flavor distro            a kernel with Debian's options, mitigations among them
    ./swathe bench lazyfree --lru-gen 7       with the multi-gen LRU (0: the same kernel, without)
    ./swathe bench --json out.json            write the figures as JSON, too
    ./swathe bench zap:64K --memory           misses in a model of caches; each case runs once
    ./swathe bench search --patterns 500      random programs: which get dearer
    ./swathe bench search:7-12                one of them again
"""

import argparse
import random
from pathlib import Path

from swathe.base import parallel, table, ui
from swathe.base.errors import CheckFailed, UsageError
from swathe.cli import arguments
from swathe.measure import bench_tables, benches, goals, instructions, rows, search

TIMEOUT, TIMEOUT_FULL = 1200, 7200


def repeat_count(text: str) -> int:
    number = arguments.positive(text)
    if number < 3:
        raise argparse.ArgumentTypeError("a median needs at least 3 repeats")
    return number


def sizes(text: str) -> tuple[int, ...]:
    """Parse the sizes of --mib, without duplicates."""
    found = tuple(dict.fromkeys(arguments.positive(word) for word in text.split(",")))
    if odd := [number for number in found if number % 2]:
        raise argparse.ArgumentTypeError(f"{odd[0]} MiB is not a multiple of 2 MiB")
    return found


def set_argparser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names",
        metavar="NAME",
        nargs="*",
        help="BENCH or BENCH:CASE (default: all benches that need no additional packages)",
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument(
        "--full", action="store_true",
        help="the sizes used in the mailing-list threads, and all cases",
    )  # fmt: skip
    size.add_argument(
        "--mib",
        type=sizes,
        default=(),
        metavar="N[,N…]",
        help="memory sizes in MiB, one table row each",
    )
    parser.add_argument(
        "--against",
        choices=arguments.others(),
        help="also measure a kernel built from the pristine tree, that with a series of "
        "patches for mainline (docs/upstream.md), or a newer kernel",
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="also write figures and environment as JSON"
    )
    parser.add_argument(
        "--repeat",
        type=repeat_count,
        default=3,
        metavar="N",
        help="measured runs (default, minimum: 3)",
    )
    parser.add_argument(
        "--patterns", type=arguments.positive, default=100, metavar="N",
        help="search: how many random programs (default: 100)",
    )  # fmt: skip
    parser.add_argument(
        "--seed", type=arguments.positive, default=random.randrange(1, 1 << 16), metavar="S",
        help="search: the seed of all of them",
    )  # fmt: skip
    parser.add_argument(
        "--jobs", type=arguments.positive, default=parallel.processors(), metavar="N",
        help="guests to run in parallel (default: one per processor)",
    )  # fmt: skip
    arguments.add_memory_arguments(parser, "also count accesses to memory")
    arguments.add_machine_arguments(parser, TIMEOUT)
    arguments.add_kernel_arguments(parser)
    arguments.add_flavor_argument(parser, "bench")
    arguments.add_lru_argument(parser)
    parser.epilog = f"benches and their cases:\n{benches.listing()}\n\n{parser.epilog}"


def request_from(args: argparse.Namespace) -> instructions.BenchRequest:
    chosen = search.draw(benches.choose(args.names, args.full), args.seed, args.patterns)
    choices = [choice.sized(args.mib) for choice in chosen]
    once = args.memory or any(choice.bench.drawn for choice in choices)
    timeout = TIMEOUT_FULL if args.full and args.timeout == TIMEOUT else args.timeout
    if args.json and not args.json.resolve().parent.is_dir():
        raise UsageError(f"--json {args.json}: there is no directory {args.json.parent}")
    return instructions.BenchRequest(
        arguments.request_from(args, pristine=False), tuple(choices), args.full,
        arguments.against(args), 1 if once else args.repeat, args.cpus, timeout, args.boot,
        args.json, args.jobs, args.lru_gen, arguments.memory_model(args),
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
    """Print the tables, and below them what the figures leave out and the environment."""
    configs = ([request.against] if request.against else []) + list(instructions.SWITCHED)
    judged, wanted = with_goals(request), goals.load(request.kernel.kernel)
    for choice in request.choices:
        found = [row for row in result.rows if row.bench == choice.bench.name]
        ui.out.print(f"{choice.bench.name}: {choice.bench.summary}")
        shows = bench_tables.of_bench(found, configs, judged, wanted)
        for shown in search.report(result) if choice.bench.drawn else shows:
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
        f"{repeated(request, result)}; 1 instruction = 1 ns of guest time (-icount shift=0)",
        soft_wrap=True,
    )
    for line in (result.environment.line(), result.environment.settings):
        ui.out.print(line, markup=False, soft_wrap=True)


def repeated(request: instructions.BenchRequest, result: instructions.BenchResult) -> str:
    """How often each case ran, and how much that differed."""
    if request.repeats == 1:
        return "each case ran once in each state"
    spread = f"{100 * widest(result):.3f} %"
    return f"median of {request.repeats} repeats, largest spread {spread}"


def with_goals(request: instructions.BenchRequest) -> bool:
    """Whether the goals were set for this build of the kernel, with either LRU, and these sizes."""
    usual = not request.full and request.cpus == 1 and not request.boot
    return goals.are_for(request.kernel) and usual


def widest(result: instructions.BenchResult) -> float:
    """Return the largest relative spread of any instruction count."""
    main = [row for row in result.rows if row.metric == rows.MAIN_METRIC and row.value]
    return max((row.spread / row.value for row in main), default=0.0)
