# SPDX-License-Identifier: GPL-2.0-only
"""Show what each kernel function costs in a bench's measured call, stock beside swathe.

A QEMU plugin counts every instruction between the two markers that a workload
executes around the call: exactly, not by sampling. Locked instructions, TLB
invalidations and calls are counted apart. All columns are per page that the call
handled, but for the percentages of pageout_rate, which are of everything executed.

    ./swathe profile lazyfree             the bench's first case
    ./swathe profile lazyfree 64K
    ./swathe profile zap 64K --against 7.3
    ./swathe profile filemap pageout --top 60
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from swathe import (
    bench,
    benches,
    build,
    environment,
    events,
    regions,
    rows,
    run,
    sections,
    source,
    ui,
    vm,
)
from swathe.errors import CheckFailed, UsageError, VmLost
from swathe.paths import BUILD, scratch, write_atomically
from swathe.regions import Counts, Region

CONFIGS = ("stock", "swathe")
RESULTS = BUILD / "results"
TOLERANCE = 0.01
KINDS = ("instructions", "atomics", "flushes_one", "flushes_all")
SHARE_SHOWN = 0.005
WIDTH = 130


@dataclass(frozen=True)
class Request:
    kernel: build.Request
    bench: benches.Bench
    case: str
    against: str | None
    top: int
    timeout: float


@dataclass(frozen=True)
class Profile:
    """One config's region, with what the guest said of the same run."""

    config: str
    region: Region
    pages: float
    clock: float


@dataclass(frozen=True)
class Result:
    profiles: tuple[Profile, ...]
    environment: environment.Environment


def set_argparser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="a bench")
    parser.add_argument("case", metavar="CASE", nargs="?", help="one of its cases")
    parser.add_argument(
        "--top", type=run.positive, default=40, metavar="N", help="functions shown (default: 40)"
    )
    parser.add_argument(
        "--against",
        choices=("pristine", *source.KERNELS[1:]),
        help="also a kernel from the untouched tree, or another, newer one",
    )
    parser.add_argument("--timeout", type=run.positive, default=1200, metavar="S")
    build.add_kernel_arguments(parser)
    build.add_flavor_argument(parser, "bench")


def request_from(args: argparse.Namespace) -> Request:
    if ":" in args.name:
        raise UsageError(f"say {args.name.replace(':', ' ')!r}: NAME and CASE are two words here")
    name = f"{args.name}:{args.case}" if args.case else args.name
    choice = benches.choose([name])[0]
    wanted = build.request_from(args, pristine=False)
    return Request(wanted, choice.bench, choice.cases[0], args.against, args.top, args.timeout)


def main(args: argparse.Namespace) -> int:
    request = request_from(args)
    result = measure(request)
    show(request, result)
    for path in save(request, result):
        ui.remark(f"written: {path}")
    return 0


def measure(request: Request) -> Result:
    """Build the kernels, and boot each once."""
    ours = build.build(request.kernel)
    profiles = measure_in(request, ours, CONFIGS)
    if request.against:
        other = build.build(bench.other_kernel(request.kernel, request.against))
        profiles += measure_in(request, other, (request.against,))
    return Result(tuple(profiles), environment.look(ours, 1, request.bench.memory))


def measure_in(request: Request, built: build.Result, configs: Sequence[str]) -> list[Profile]:
    """One boot: one run to warm up, and one of each config for the figures."""
    lines = bench.guest_lines(request.bench.name, [request.case], configs, 1, False)
    job = bench.job(request.bench.name, lines, built.target)
    text: list[str] = []
    with scratch("profile") as home:
        machine = vm.Machine(
            built.image, built.out, 1, request.bench.memory, request.bench.disk,
            boot=f"{bench.BOOT} {request.bench.boot}".strip(), timeout=request.timeout,
            target=built.target, cpu=bench.processor(request.bench, built.target),
            options=events.option(home, built.out, built.target, "calls"),
        )  # fmt: skip
        vm.boot(machine, job, f"profile-{request.bench.name}", text.append)
        seen = regions.parse(events.written(home).read_text().splitlines())
    return pair(sections.parse("".join(text)), seen, request.bench.own_time)


def pair(
    reports: Sequence[sections.Section], seen: Sequence[Region], own_time: bool
) -> list[Profile]:
    """Each measured run with its region; what the plugin and the clock counted must agree."""
    rows.collect(reports)
    skipped = rows.skipped(reports)
    if skipped:
        raise CheckFailed(f"there is nothing to profile: {skipped[0]}")
    if len(seen) != len(reports):
        raise VmLost(f"{len(seen)} marked stretches were seen in {len(reports)} runs")
    found = []
    for report, region in zip(reports, seen, strict=True):
        if report.words[3] == "0":
            continue
        metrics = {name: value for name, value, _ in rows.metrics(report)}
        found.append(Profile(report.words[2], region, metrics["pages"], metrics[rows.MAIN_METRIC]))
    for profile in found:
        require_agreement(profile, own_time)
    return found


def require_agreement(profile: Profile, own_time: bool) -> None:
    """To 1 %; the clock of a process that others run beside only is a part of what was counted."""
    counted = profile.region.total().instructions
    allowed = TOLERANCE * profile.clock
    if counted < profile.clock - allowed or (not own_time and counted > profile.clock + allowed):
        raise CheckFailed(
            f"{profile.config}: the profiler counted {counted} instructions, "
            f"the guest's clock {profile.clock:.0f}"
        )


def figure(value: float) -> str:
    """A count per page; small ones with the digits they need."""
    return f"{value:.1f}" if value >= 0.05 else (f"{value:.3f}" if value else "")


def cells(profiles: Sequence[Profile], of: Sequence[Counts], kind: str) -> list[str]:
    return [figure(getattr(c, kind) / p.pages) for c, p in zip(of, profiles, strict=True)]


def change(profiles: Sequence[Profile], of: Sequence[Counts]) -> str:
    before, after = (c.instructions / p.pages for c, p in zip(of[:2], profiles[:2], strict=True))
    return f"{after - before:+.1f}"


def line(name: str, profiles: Sequence[Profile], of: Sequence[Counts]) -> list[str]:
    """One line: instructions of all, what swathe changes, then calls and locked instructions."""
    return [
        name,
        *cells(profiles, of, "instructions"),
        change(profiles, of),
        *cells(profiles, of, "calls"),
        *cells(profiles, of, "atomics"),
    ]


def functions_table(request: Request, profiles: Sequence[Profile]) -> Table:
    """Functions by how much they differ, biggest first."""
    configs = [profile.config for profile in profiles]
    calls, locked = ([f"{config}\n{kind}" for config in configs] for kind in ("calls", "locked"))
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 0, 0, 1))
    table.add_column("instructions in", no_wrap=True)
    for head in (*configs, "change", *calls, *locked):
        table.add_column(head, justify="right", no_wrap=True)
    found = [profile.region.functions() for profile in profiles]

    def difference(name: str) -> tuple[float, int]:
        both = [f.get(name, Counts()).instructions for f in found]
        return (-abs(both[1] / profiles[1].pages - both[0] / profiles[0].pages), -sum(both))

    for name in sorted(set().union(*found), key=difference)[: request.top]:
        table.add_row(*line(name, profiles, [f.get(name, Counts()) for f in found]))
    return table


Part = tuple[str, Callable[[Region], Counts]]


def parts(profiles: Sequence[Profile]) -> list[Part]:
    """What the whole consists of; writing pages only where some are written."""
    writes = any(profile.region.writing().instructions for profile in profiles)
    found: list[Part] = [("unmap path", Region.unmap_path)]
    if writes:
        found.append(("writing", Region.writing))
    found.append(("everything else", everything_else))
    if writes:
        found.append(("all but writing", lambda region: region.total() - region.writing()))
    return [*found, ("all", Region.total)]


def everything_else(region: Region) -> Counts:
    return region.total() - region.below(regions.UNMAP_ROOTS | regions.WRITE_ROOTS)


def subtotals_table(profiles: Sequence[Profile]) -> Table:
    """The unmap path against everything else, callees included."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 0, 0, 1))
    for head in ("per page", "with callees"):
        table.add_column(head, no_wrap=True)
    for profile in profiles:
        table.add_column(profile.config, justify="right")
    table.add_column("change", justify="right")
    for kind in (kind for kind in KINDS if any(getattr(p.region.total(), kind) for p in profiles)):
        name = kind.replace("_", " ")
        for part, select in parts(profiles):
            of = [select(profile.region) for profile in profiles]
            changed = change(profiles, of) if kind == "instructions" else ""
            table.add_row(name, part, *cells(profiles, of, kind), changed)
            name = ""
    return table


def shares(profile: Profile) -> Iterator[str]:
    """The unmap path as perf prints it: percent of all that was executed, callees included."""
    total = profile.region.total().instructions
    yield f"{profile.config}:"
    for path, below in tree(profile.region):
        yield f"{'   ' * len(path)}{100 * below / total:5.2f}%--{path[-1]}"


def tree(region: Region) -> Iterator[tuple[regions.Path, int]]:
    """The call paths of the unmap path that are worth a line, callees after their caller."""
    least = SHARE_SHOWN * region.total().instructions
    found = region.inclusive(regions.UNMAP_ROOTS)
    yield from branches((), {path: below for path, below in found.items() if below >= least})


def branches(
    above: regions.Path, found: dict[regions.Path, int]
) -> Iterator[tuple[regions.Path, int]]:
    """What is called from here, the most expensive first."""
    below = [path for path in found if path[:-1] == above]
    for path in sorted(below, key=lambda path: -found[path]):
        yield path, found[path]
        yield from branches(path, found)


def show(request: Request, result: Result) -> None:
    profiles = result.profiles
    ui.out.print(f"{request.bench.name} {request.case}: {request.bench.summary}")
    wide = Console(highlight=False, width=max(ui.out.width, WIDTH))
    wide.print(functions_table(request, profiles), subtotals_table(profiles))
    if request.bench.own_time:
        for text in (text for profile in profiles for text in shares(profile)):
            ui.out.print(text, markup=False, soft_wrap=True)
    ui.out.print(
        f"per page, of {profiles[0].pages:.0f} pages; "
        f"not included: {request.bench.excludes}, {benches.ALWAYS_EXCLUDED}",
        soft_wrap=True,
    )
    ui.out.print(result.environment.line(), markup=False, soft_wrap=True)


def as_json(profile: Profile) -> dict[str, object]:
    """Counts of the whole stretch, not per page."""
    region = profile.region
    return {
        "pages": profile.pages,
        "functions": {name: asdict(counts) for name, counts in sorted(region.functions().items())},
        "unmap_path": asdict(region.unmap_path()),
        "writing": asdict(region.writing()),
        "total": asdict(region.total()),
        "tree": list(tree(region)),
    }


def save(request: Request, result: Result) -> Iterator[Path]:
    """Folded stacks for flame graphs, and everything as JSON."""
    name = f"{request.bench.name}-{request.case}"
    for profile in result.profiles:
        path = RESULTS / f"{name}-{profile.config}.folded"
        write_atomically(path, profile.region.folded().encode())
        yield path
    data = {
        "bench": request.bench.name,
        "case": request.case,
        "environment": result.environment.as_json(),
        "configs": {profile.config: as_json(profile) for profile in result.profiles},
    }
    path = RESULTS / f"profile-{name}.json"
    write_atomically(path, (json.dumps(data, indent=1) + "\n").encode())
    yield path
