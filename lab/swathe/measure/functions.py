# SPDX-License-Identifier: GPL-2.0-only
"""Profile a bench's measured call by kernel function, from the plugin's call trees."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from swathe.base import results
from swathe.base.errors import CheckFailed, VmLost
from swathe.base.paths import scratch, write_atomically
from swathe.guest import environment, session, settings
from swathe.guest.sections import Section
from swathe.kernel import build
from swathe.measure import benches, calltree, columns, instructions, parts, plugin, rows
from swathe.measure.calltree import Region

CONFIGS = ("stock", "swathe")
TOLERANCE = 0.01
SHARE_SHOWN = 0.005
# What the plugin saw in one marked region.
Seen = TypeVar("Seen")


@dataclass(frozen=True)
class ProfileRequest:
    kernel: build.KernelRequest
    bench: benches.Bench
    case: str
    against: str | None
    top: int
    timeout: float
    lru_gen: str = ""


@dataclass(frozen=True)
class ProfiledRun:
    """One config's region, with the pages and the clock that the guest reported for that run."""

    config: str
    region: Region
    pages: float
    clock: float


@dataclass(frozen=True)
class ProfileResult:
    profiles: tuple[ProfiledRun, ...]
    environment: environment.Environment


def measure(request: ProfileRequest) -> ProfileResult:
    """Build the kernels, and profile the case in one boot of each."""
    profiles: list[ProfiledRun] = []
    for built, configs in kernels(request):
        reports, lines = boot(request, built, configs, "calls")
        profiles += pair(reports, calltree.parse(lines), request.bench.own_time)
    ours = build.build(request.kernel)
    return ProfileResult(tuple(profiles), environment.look(ours, 1, request.bench.memory))


def kernels(request: ProfileRequest) -> Iterator[tuple[build.BuiltKernel, tuple[str, ...]]]:
    """Build each kernel, with the configs that are measured in it."""
    yield build.build(request.kernel), CONFIGS
    if request.against:
        other = instructions.other_kernel(request.kernel, request.against)
        yield build.build(other), (request.against,)


def boot(
    request: ProfileRequest, built: build.BuiltKernel, configs: Sequence[str], mode: str
) -> tuple[list[Section], list[str]]:
    """Boot once: one warm-up run, then one measured run of each config.

    The programs' reports are returned, and what the plugin wrote in this mode.
    """
    guest = instructions.Guest(request.bench, (request.case,), tuple(configs), built)
    wanted = instructions.BenchRequest(
        request.kernel, timeout=request.timeout, lru_gen=request.lru_gen
    )
    with scratch("profile") as home:
        machine = instructions.machine(wanted, guest, home, mode)
        job = instructions.guest_job(wanted, guest)
        heard = session.run(machine, job, f"profile-{request.bench.name}").whole()
        return settings.others(heard.sections), plugin.written(home).read_text().splitlines()


def measured(reports: Sequence[Section], seen: Sequence[Seen]) -> Iterator[tuple[Section, Seen]]:
    """Yield each measured run with what the plugin saw in it."""
    rows.collect(reports)
    skipped = rows.skipped(reports)
    if skipped:
        raise CheckFailed(f"there is nothing to profile: {skipped[0]}")
    if len(seen) != len(reports):
        raise VmLost(f"the plugin saw {len(seen)} marked regions in {len(reports)} runs")
    for report, region in zip(reports, seen, strict=True):
        if report.words[3] != "0":
            yield report, region


def pair(reports: Sequence[Section], seen: Sequence[Region], own_time: bool) -> list[ProfiledRun]:
    """Pair each measured run with its region; the plugin's and the clock's counts must agree."""
    found = []
    for report, region in measured(reports, seen):
        metrics = {name: value for name, value, _ in rows.metrics(report)}
        config, clock = report.words[2], metrics[rows.MAIN_METRIC]
        require_agreement(config, region.total().instructions, clock, own_time)
        found.append(ProfiledRun(config, region, metrics["pages"], clock))
    return found


def require_agreement(config: str, counted: int, clock: float, own_time: bool) -> None:
    """Raise if the plugin's and the clock's counts differ by more than 1 %.

    With own_time the clock counts only the bench's processes, so it may be lower.
    """
    allowed = TOLERANCE * clock
    if counted < clock - allowed or (not own_time and counted > clock + allowed):
        raise CheckFailed(
            f"{config}: the profiler counted {counted} instructions, but "
            f"the guest's clock {clock:.0f}"
        )


def tree(region: Region) -> Iterator[tuple[calltree.Path, int]]:
    """Yield the unmap path's call paths that reach the minimum share, callees after callers."""
    least = SHARE_SHOWN * region.total().instructions
    found = region.inclusive(calltree.UNMAP_ROOTS)
    yield from branches((), {path: below for path, below in found.items() if below >= least})


def branches(
    above: calltree.Path, found: dict[calltree.Path, int]
) -> Iterator[tuple[calltree.Path, int]]:
    """Yield the paths below a call path, the most expensive first."""
    below = [path for path in found if path[:-1] == above]
    for path in sorted(below, key=lambda path: -found[path]):
        yield path, found[path]
        yield from branches(path, found)


def as_json(profile: ProfiledRun) -> dict[str, object]:
    """Return the counts as JSON data: totals of the region, not per page."""
    region = profile.region
    return {
        "pages": profile.pages,
        "functions": {name: asdict(counts) for name, counts in sorted(region.functions().items())},
        "unmap_path": asdict(region.unmap_path()),
        "writing": asdict(region.writing()),
        "total": asdict(region.total()),
        "parts": {name: asdict(each) for name, each in parts.counts(region).items()},
        "tree": list(tree(region)),
    }


def newer(request: ProfileRequest) -> Iterator[str]:
    """Yield what keeps a newer kernel's and another LRU's profile beside the usual one."""
    if request.kernel.kernel != columns.LTS.series:
        yield request.kernel.kernel
    if request.lru_gen:
        yield f"lru-gen-{request.lru_gen}"


def save(request: ProfileRequest, result: ProfileResult) -> Iterator[Path]:
    """Write folded stacks for flame graphs, and all counts as JSON; yield the paths."""
    name = "-".join((request.bench.name, request.case, *newer(request)))
    for profile in result.profiles:
        path = results.HERE / f"{name}-{profile.config}.folded"
        write_atomically(path, profile.region.folded().encode())
        yield path
    data = {
        "bench": request.bench.name,
        "case": request.case,
        "environment": result.environment,
        "configs": {profile.config: as_json(profile) for profile in result.profiles},
    }
    yield results.write_json(results.HERE / f"profile-{name}.json", data)
