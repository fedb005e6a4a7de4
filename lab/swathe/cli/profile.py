# SPDX-License-Identifier: GPL-2.0-only
"""Show what each kernel function costs in a bench's measured call, stock and swathe.

The workload executes a marker before and after the measured call. A QEMU
plugin counts every instruction between the two: exactly, not by sampling. It
counts locked instructions, TLB invalidations and calls separately. All columns
are per page that the call handled; the percentages of pageout_rate are of all
instructions executed.

    ./swathe profile lazyfree             the bench's first case
    ./swathe profile lazyfree 64K
    ./swathe profile zap 64K --against 7.3
    ./swathe profile swapout 64K --kernel 7.3
    ./swathe profile filemap pageout --top 60
    ./swathe profile zap 64K --memory     misses in a model of a processor's caches
    ./swathe profile zap 64K --locks

With --locks it shows instead how often a page takes each class of locks, and
how many instructions they are held: on the mean and at most. So do the
stretches without preemption, while a spinlock or read-write lock is held, and
without interrupts, outside of interrupts. Instructions of interrupts that
arrive during a hold or a stretch are left out, but those of other tasks while
a lock that sleeps is held are not.

Not seen: preempt_disable() and RCU's read side, bit spinlocks, semaphores and
per-CPU rwsems; on Linux 7.3 the lock of a VMA, which is a count there.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence

from rich.console import Console

from swathe.base import table, ui
from swathe.base.errors import UsageError
from swathe.base.table import Column, Table
from swathe.cli import arguments
from swathe.guest.environment import Environment
from swathe.measure import (
    bench_tables,
    benches,
    calltree,
    compare,
    figures,
    functions,
    goals,
    lock_tables,
    locks,
    memory_profile,
)
from swathe.measure import parts as unmapping
from swathe.measure.calltree import Counts, Region

KINDS = ("instructions", "atomics", "flushes_one", "flushes_all")
WIDTH = 130
LOCKS_WIDTH = 150


def set_argparser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="bench")
    parser.add_argument("case", metavar="CASE", nargs="?", help="case of it (default: the first)")
    parser.add_argument(
        "--top",
        type=arguments.positive,
        default=40,
        metavar="N",
        help="number of functions, or of locks, to show (default: 40)",
    )
    parser.add_argument(
        "--locks", action="store_true",
        help="measure how long locks are held, instead of what functions cost",
    )  # fmt: skip
    parser.add_argument(
        "--against",
        choices=arguments.others(),
        help="also profile a kernel built from the pristine tree, that with a series of "
        "patches for mainline (docs/upstream.md), or a newer kernel",
    )
    parser.add_argument(
        "--mib", type=arguments.positive, metavar="N", help="the size of the memory, in MiB"
    )
    arguments.add_memory_arguments(parser, "count accesses to memory")
    parser.add_argument(
        "--timeout", type=arguments.positive, default=1200, metavar="S",
        help="kill the guest after S seconds (default: 1200)",
    )  # fmt: skip
    arguments.add_kernel_arguments(parser)
    arguments.add_flavor_argument(parser, "bench")
    arguments.add_lru_argument(parser)


def request_from(args: argparse.Namespace) -> functions.ProfileRequest:
    if ":" in args.name:
        raise UsageError(
            f"{args.name!r} is not a bench: NAME and CASE are two arguments here, "
            f"{args.name.replace(':', ' ')!r}"
        )
    name = f"{args.name}:{args.case}" if args.case else args.name
    choice = benches.choose([name])[0].sized((args.mib,) if args.mib else ())
    wanted = arguments.request_from(args, pristine=False)
    return functions.ProfileRequest(
        wanted, choice.bench, choice.cases[0], arguments.against(args), args.top, args.timeout,
        args.lru_gen,
    )  # fmt: skip


def main(args: argparse.Namespace) -> int:
    request = request_from(args)
    model = arguments.memory_model(args)
    if model:
        show_memory(request, memory_profile.measure(request, model))
        return 0
    if args.locks:
        return measure_locks(request)
    result = functions.measure(request)
    show(request, result)
    for path in functions.save(request, result):
        ui.remark(f"written: {path}")
    return 0


def measure_locks(request: functions.ProfileRequest) -> int:
    result = locks.measure(request)
    show_locks(request, result)
    ui.remark(f"written: {locks.save(request, result)}")
    return 0


def figure(value: float) -> str:
    """Format a count per page; small counts get more digits."""
    return f"{value:.1f}" if value >= 0.05 else (f"{value:.3f}" if value else "")


def cells(profiles: Sequence[functions.ProfiledRun], of: Sequence[Counts], kind: str) -> list[str]:
    return [figure(getattr(c, kind) / p.pages) for c, p in zip(of, profiles, strict=True)]


def change(profiles: Sequence[functions.ProfiledRun], of: Sequence[Counts]) -> str:
    before, after = (c.instructions / p.pages for c, p in zip(of[:2], profiles[:2], strict=True))
    return f"{after - before:+.1f}"


def line(name: str, profiles: Sequence[functions.ProfiledRun], of: Sequence[Counts]) -> list[str]:
    """One row: instructions of each config, swathe's difference, calls, locked instructions."""
    return [
        name,
        *cells(profiles, of, "instructions"),
        change(profiles, of),
        *cells(profiles, of, "calls"),
        *cells(profiles, of, "atomics"),
    ]


def functions_table(
    request: functions.ProfileRequest, profiles: Sequence[functions.ProfiledRun]
) -> Table:
    """The functions, those with the largest difference first."""
    configs = [profile.config for profile in profiles]
    calls, locked = ([f"{config}\n{kind}" for config in configs] for kind in ("calls", "locked"))
    found = [profile.region.functions() for profile in profiles]

    def difference(name: str) -> tuple[float, int]:
        both = [f.get(name, Counts()).instructions for f in found]
        return (-abs(both[1] / profiles[1].pages - both[0] / profiles[0].pages), -sum(both))

    names = sorted(set().union(*found), key=difference)[: request.top]
    rows = [line(name, profiles, [f.get(name, Counts()) for f in found]) for name in names]
    heads = map(Column, (*configs, "change", *calls, *locked))
    return table.make("", ("instructions in", *heads), rows)


Part = tuple[str, Callable[[Region], Counts]]


def parts(profiles: Sequence[functions.ProfiledRun]) -> list[Part]:
    """The parts of the total; writing pages is listed only if pages are written."""
    writes = any(profile.region.writing().instructions for profile in profiles)
    found: list[Part] = [("unmap path", Region.unmap_path)]
    if writes:
        found.append(("writing", Region.writing))
    found.append(("everything else", everything_else))
    if writes:
        found.append(("all but writing", lambda region: region.total() - region.writing()))
    return [*found, ("all", Region.total)]


def everything_else(region: Region) -> Counts:
    return region.total() - region.below(calltree.UNMAP_ROOTS | calltree.WRITE_ROOTS)


def subtotals_table(profiles: Sequence[functions.ProfiledRun]) -> Table:
    """The unmap path and everything else, callees included."""
    rows = []
    for kind in (kind for kind in KINDS if any(getattr(p.region.total(), kind) for p in profiles)):
        name = kind.replace("_", " ")
        for part, select in parts(profiles):
            of = [select(profile.region) for profile in profiles]
            changed = change(profiles, of) if kind == "instructions" else ""
            rows.append((name, part, *cells(profiles, of, kind), changed))
            name = ""
    heads = map(Column, (*(profile.config for profile in profiles), "change"))
    return table.make("", ("per page", "with callees", *heads), rows)


def parts_table(profiles: Sequence[functions.ProfiledRun]) -> Table:
    """Walking, looking, clearing, flushing, rmap and freeing: what each takes."""
    found = [unmapping.counts(profile.region) for profile in profiles]
    configs = [profile.config for profile in profiles]
    rows = [
        [
            part,
            *cells(profiles, [one[part] for one in found], "instructions"),
            change(profiles, [one[part] for one in found]),
            *cells(profiles, [one[part] for one in found], "atomics"),
            unmapping.ABOUT.get(part, ""),
        ]
        for part in unmapping.seen(found)
    ]
    heads = [*configs, "change", *(f"{config}\nlocked" for config in configs)]
    return table.make("", ("part, per page", *map(Column, heads), ""), rows)


def shares(profile: functions.ProfiledRun) -> Iterator[str]:
    """The unmap path as perf prints it: percent of all instructions, callees included."""
    total = profile.region.total().instructions
    yield f"{profile.config}:"
    for path, below in functions.tree(profile.region):
        yield f"{'   ' * len(path)}{100 * below / total:5.2f}%--{path[-1]}"


def show(request: functions.ProfileRequest, result: functions.ProfileResult) -> None:
    profiles = result.profiles
    shown = (functions_table(request, profiles), parts_table(profiles), subtotals_table(profiles))
    show_tables(request, shown)
    if request.bench.own_time:
        for text in (text for profile in profiles for text in shares(profile)):
            ui.out.print(text, markup=False, soft_wrap=True)
    show_below(request, profiles[0].pages, judged(request, profiles), result.environment)


def show_locks(request: functions.ProfileRequest, result: locks.LockResult) -> None:
    runs = result.runs
    shown = (lock_tables.holds_table(runs, request.top), lock_tables.off_table(runs))
    show_tables(request, shown, LOCKS_WIDTH)
    ui.out.print(lock_tables.MEANS.replace("\n", " "), soft_wrap=True)
    show_below(request, runs[0].pages, lock_tables.judged(request, runs), result.environment)


def show_tables(
    request: functions.ProfileRequest, shown: Iterable[Table], width: int = WIDTH
) -> None:
    ui.out.print(f"{request.bench.name} {request.case}: {request.bench.summary}")
    wide = Console(highlight=False, width=max(ui.out.width, width))
    for found in shown:
        wide.print(table.terminal(found, padding=0))


def show_below(
    request: functions.ProfileRequest, pages: float, verdicts: Iterable[str], about: Environment
) -> None:
    ui.out.print(
        f"per page, of {pages:.0f} pages; "
        f"not included: {request.bench.excludes}, {benches.ALWAYS_EXCLUDED}",
        soft_wrap=True,
    )
    for text in verdicts:
        ui.out.print(text, soft_wrap=True)
    ui.out.print(about.line(), markup=False, soft_wrap=True)


def show_memory(request: functions.ProfileRequest, profile: memory_profile.MemoryProfile) -> None:
    ui.out.print(f"{request.bench.name} {request.case}: {request.bench.summary}")
    wide = Console(highlight=False, width=max(ui.out.width, WIDTH))
    wide.print(table.terminal(memory_profile.by_misses(profile, request.top), padding=0))
    ui.out.print(f"a model of {profile.processor.title}: docs/time.md", soft_wrap=True)
    ui.out.print(profile.environment.line(), markup=False, soft_wrap=True)
    ui.remark(f"written: {memory_profile.save(request, profile)}")


def judged(
    request: functions.ProfileRequest, profiles: Sequence[functions.ProfiledRun]
) -> Iterator[str]:
    """The goal for everything but writing, if there is one for this case on this kernel."""
    if not goals.are_for(request.kernel):
        return
    found = [
        figures.but_writing(
            request.bench.name, request.case, profile.config,
            profile.region.total(), profile.region.writing(),
        )
        for profile in profiles
    ]  # fmt: skip
    for line in compare.lines(found, goals.load(request.kernel.kernel).goals):
        if line.goal:
            values = [bench_tables.shown(line.rows.get(config)) for config in functions.CONFIGS]
            limit = bench_tables.millions(line.wanted())
            yield (
                f"all but writing: {' → '.join(values)}, goal {limit} M: "
                f"{compare.verdict_text(line)}"
            )
