# SPDX-License-Identifier: GPL-2.0-only
"""Profile a bench's measured call by what each kernel function does to memory."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import filterfalse
from pathlib import Path

from swathe.base import results, table
from swathe.base.errors import CheckFailed, VmLost
from swathe.base.table import Column, Table
from swathe.guest import environment
from swathe.guest.sections import Section
from swathe.kernel import build
from swathe.measure import functions, memory, plugin, rows
from swathe.measure.functions import ProfileRequest
from swathe.measure.memory import Processor, Uses

KINDS = ("l1", "l2", "llc")


@dataclass(frozen=True)
class MemoryRun:
    """One config's run: its counts, and what each function did in all its calls."""

    config: str
    pages: float
    counts: dict[str, float]
    functions: dict[str, Uses]


@dataclass(frozen=True)
class MemoryProfile:
    processor: Processor
    runs: tuple[MemoryRun, ...]
    environment: environment.Environment


def measure(request: ProfileRequest, processor: Processor) -> MemoryProfile:
    """Build the kernels, and run the case in one boot of each."""
    runs: list[MemoryRun] = []
    for built, configs in functions.kernels(request):
        mode = plugin.memory_mode(processor)
        reports, written = functions.boot(request, built, configs, mode)
        runs += pair(reports, list(plugin.chunks(written)))
    ours = build.build(request.kernel)
    return MemoryProfile(processor, tuple(runs), environment.look(ours, 1, request.bench.memory))


def pair(reports: Sequence[Section], regions: Sequence[list[str]]) -> Iterator[MemoryRun]:
    """Pair each measured run with its region; repeat 0 is the warm-up."""
    rows.collect(reports)
    if skipped := rows.skipped(reports):
        raise CheckFailed(f"there is nothing to profile: {skipped[0]}")
    if len(regions) != len(reports):
        raise VmLost(f"the plugin saw {len(regions)} marked regions in {len(reports)} runs")
    for report, region in zip(reports, regions, strict=True):
        if report.words[3] != "0":
            metrics = {name: value for name, value, _ in rows.metrics(report)}
            counted = dict(map(plugin.count, filterfalse(memory.is_function, region)))
            counts = {rows.MAIN_METRIC: metrics[rows.MAIN_METRIC], **counted}
            yield MemoryRun(report.words[2], metrics["pages"], counts, memory.functions(region))


def shown(value: float) -> str:
    return f"{value:.2f}" if value >= 0.005 else ""


def by_misses(profile: MemoryProfile, top: int) -> Table:
    """The functions that wait most for memory: misses of L2 and L1 a page, then accesses."""
    names = dict.fromkeys(name for run in profile.runs for name in run.functions)

    def weight(name: str) -> tuple[float, float]:
        uses = [run.functions.get(name, Uses()) for run in profile.runs]
        pages = [run.pages for run in profile.runs]
        return (
            -max(u.l2 / p for u, p in zip(uses, pages, strict=True)),
            -max(u.l1 / p for u, p in zip(uses, pages, strict=True)),
        )

    heads = [f"{run.config}\n{memory.LEVELS[kind]}" for kind in KINDS for run in profile.runs]
    heads += [f"{run.config}\naccesses" for run in profile.runs]
    body = [line(name, profile.runs) for name in sorted(names, key=weight)[:top]]
    return table.make("misses a page", ("function", *map(Column, heads)), [*body, total(profile)])


def line(name: str, runs: Sequence[MemoryRun]) -> list[str]:
    uses = [run.functions.get(name, Uses()) for run in runs]
    return [name, *cells(uses, [run.pages for run in runs])]


def total(profile: MemoryProfile) -> list[str]:
    sums = []
    for run in profile.runs:
        whole = Uses()
        for uses in run.functions.values():
            whole = memory.plus(whole, uses)
        sums.append(whole)
    return ["all", *cells(sums, [run.pages for run in profile.runs])]


def cells(uses: Sequence[Uses], pages: Sequence[float]) -> Iterator[str]:
    both = list(zip(uses, pages, strict=True))
    for kind in KINDS:
        yield from (shown(getattr(each, kind) / of) for each, of in both)
    yield from (shown((each.loads + each.stores) / of) for each, of in both)


def path_of(request: ProfileRequest) -> Path:
    name = "-".join((request.bench.name, request.case, *functions.newer(request)))
    return results.HERE / f"memory-{name}.json"


def is_of(path: Path, built: build.BuiltKernel, processor: str) -> bool:
    """Whether a file has the counts of this kernel for this processor."""
    if not path.is_file():
        return False
    found = json.loads(path.read_text())
    about = found["environment"]
    made = (about["kernel"], about["config_hash"], found.get("processor"))
    return made == (built.version, built.config_hash, processor)


def save(request: ProfileRequest, profile: MemoryProfile) -> Path:
    """Write all counts as JSON."""
    data = {
        "bench": request.bench.name,
        "case": request.case,
        "processor": profile.processor.name,
        "environment": profile.environment,
        "configs": {
            run.config: {
                "pages": run.pages,
                "counts": run.counts,
                "functions": {name: asdict(uses) for name, uses in run.functions.items()},
            }
            for run in profile.runs
        },
    }
    return results.write_json(path_of(request), data)
