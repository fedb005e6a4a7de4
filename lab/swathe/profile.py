# SPDX-License-Identifier: GPL-2.0-only
"""Show what each kernel function costs in a bench's measured call, stock beside swathe.

A QEMU plugin counts every instruction between the two markers that a workload
executes around the call: exactly, not by sampling. Locked instructions and TLB
invalidations are counted apart. The columns are per page that the call handled.

    ./swathe profile lazyfree             the bench's first case
    ./swathe profile lazyfree 64K
    ./swathe profile filemap pageout --top 60
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.table import Table

from swathe import bench, benches, build, cc, regions, rows, run, sections, ui, vm
from swathe.arch import Arch
from swathe.errors import CheckFailed, UsageError
from swathe.paths import BUILD, ROOT, scratch, write_atomically
from swathe.regions import Counts, Region

PROFILER = ROOT / "profiler"
CONFIGS = ("stock", "swathe")
TOLERANCE = 0.01
KINDS = ("instructions", "atomics", "flushes_one", "flushes_all")


@dataclass(frozen=True)
class Request:
    kernel: build.Request
    bench: benches.Bench
    case: str
    top: int
    timeout: float


@dataclass(frozen=True)
class Profile:
    """One config's region, with what the guest said of the same run."""

    config: str
    region: Region
    pages: float
    clock: float


def set_argparser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="a bench")
    parser.add_argument("case", metavar="CASE", nargs="?", help="one of its cases")
    parser.add_argument(
        "--top", type=run.positive, default=40, metavar="N", help="functions shown (default: 40)"
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
    return Request(wanted, choice.bench, choice.cases[0], args.top, args.timeout)


def main(args: argparse.Namespace) -> int:
    request = request_from(args)
    profiles = measure(request)
    show(request, profiles)
    for profile in profiles:
        path = BUILD / "results" / f"{request.bench.name}-{request.case}-{profile.config}.folded"
        write_atomically(path, profile.region.folded().encode())
        ui.remark(f"folded stacks: {path}")
    return 0


def symbols(out: Path) -> str:
    """The functions of System.map, sorted, as the plugin reads them."""
    found = []
    for line in (out / "System.map").read_text().splitlines():
        address, kind, name = line.split()
        if kind in "tTwW":
            found.append(f"{address} {name}")
    return "\n".join(sorted(found)) + "\n"


def plugin_option(home: Path, out: Path, target: Arch) -> tuple[str, ...]:
    """QEMU's option that loads the plugin; it writes to home/profile."""
    (home / "symbols").write_text(symbols(out))
    plugin = cc.plugin(PROFILER, vm.plugin_api(vm.version(target.qemu)))
    return (
        "-plugin",
        f"{plugin},symbols={home / 'symbols'},out={home / 'profile'},arch={target.name}",
    )


def measure(request: Request) -> list[Profile]:
    """One boot: both configs once to warm up, and once for the figures."""
    built = build.build(request.kernel)
    lines = bench.guest_lines(request.bench.name, [request.case], CONFIGS, 1, False)
    text: list[str] = []
    with scratch("profile") as home:
        machine = vm.Machine(
            built.image, built.out, 1, request.bench.memory, request.bench.disk,
            boot=bench.BOOT, timeout=request.timeout, target=built.target,
            options=plugin_option(home, built.out, built.target),
        )  # fmt: skip
        vm.boot(
            machine,
            bench.job(request.bench.name, lines, built.target),
            f"profile-{request.bench.name}",
            text.append,
        )
        seen = regions.parse((home / "profile").read_text().splitlines())
    return pair(sections.parse("".join(text)), seen)


def pair(reports: Sequence[sections.Section], seen: Sequence[Region]) -> list[Profile]:
    """Each measured run with its region; what the plugin and the clock counted must agree."""
    rows.collect(reports)
    last = regions.last_of_each(seen, len(reports))
    found = []
    for report, region in zip(reports, last, strict=True):
        if report.words[3] == "0":
            continue
        metrics = {name: value for name, value, _ in rows.metrics(report)}
        found.append(Profile(report.words[2], region, metrics["pages"], metrics[rows.MAIN_METRIC]))
    for profile in found:
        require_agreement(profile)
    return found


def require_agreement(profile: Profile) -> None:
    counted = profile.region.total().instructions
    if abs(counted - profile.clock) > TOLERANCE * profile.clock:
        raise CheckFailed(
            f"{profile.config}: the profiler counted {counted} instructions, "
            f"the guest's clock {profile.clock:.0f}"
        )


def per_page(value: float, profile: Profile) -> str:
    each = value / profile.pages
    return f"{each:.1f}" if each >= 0.05 else (f"{each:.3f}" if value else "")


def add_line(table: Table, name: str, profiles: Sequence[Profile], of: Sequence[Counts]) -> None:
    """One line: instructions of both, their difference, then atomics of both."""
    each = [c.instructions / p.pages for c, p in zip(of, profiles, strict=True)]
    table.add_row(
        name,
        *(per_page(c.instructions, p) for c, p in zip(of, profiles, strict=True)),
        f"{each[-1] - each[0]:+.1f}",
        *(per_page(c.atomics, p) for c, p in zip(of, profiles, strict=True)),
    )


def functions_table(request: Request, profiles: Sequence[Profile]) -> Table:
    """Functions by how much they differ, biggest first."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("instructions in", no_wrap=True, min_width=32)
    for head in (*CONFIGS, "change", "locked", "locked"):
        table.add_column(head, justify="right")
    found = [profile.region.functions() for profile in profiles]
    names = set().union(*found)

    def difference(name: str) -> tuple[float, int]:
        both = [f.get(name, Counts()).instructions for f in found]
        return (-abs(both[-1] / profiles[-1].pages - both[0] / profiles[0].pages), -sum(both))

    for name in sorted(names, key=difference)[: request.top]:
        add_line(table, name, profiles, [f.get(name, Counts()) for f in found])
    return table


def subtotals_table(profiles: Sequence[Profile]) -> Table:
    """The unmap path against everything else, all kinds of events."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("per page")
    for config in CONFIGS:
        for part in ("all", "unmap path"):
            table.add_column(f"{part} {config}", justify="right")
    for kind in KINDS:
        cells = []
        for profile in profiles:
            for counts in (profile.region.total(), profile.region.unmap_path()):
                cells.append(per_page(getattr(counts, kind), profile))
        table.add_row(kind.replace("_", " "), *cells)
    return table


def show(request: Request, profiles: Sequence[Profile]) -> None:
    ui.out.print(f"{request.bench.name} {request.case}: {request.bench.summary}")
    ui.out.print(functions_table(request, profiles))
    ui.out.print(subtotals_table(profiles))
    ui.out.print(
        f"per page, of {profiles[0].pages:.0f} pages; "
        f"not included: {request.bench.excludes}, {benches.ALWAYS_EXCLUDED}",
        soft_wrap=True,
    )
