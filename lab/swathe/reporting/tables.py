# SPDX-License-Identifier: GPL-2.0-only
"""Tables from compared rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from swathe.base.table import Cell, Column, Table, Tone, make
from swathe.measure import columns, compare, memory
from swathe.measure.calltree import Counts
from swathe.measure.columns import (
    KERNELS,
    LTS,
    NEWEST,
    PRISTINE,
    STOCK,
    SWATHE,
    KernelColumns,
)
from swathe.measure.compare import GoalVerdict, Line
from swathe.measure.figures import TOTAL, UNMAP_PATH, WRITING, Profile
from swathe.reporting.blocks import Layer

TOP = 10
SHOWN = 16
TONES = {GoalVerdict.MET: Tone.GOOD, GoalVerdict.MISSED: Tone.BAD}
EVENT_NAMES = {
    "atomics": "locked instructions",
    "tlb_single": "TLB, one entry",
    "tlb_full": "TLB, all of it",
    "tlb_remote": "TLB, other CPUs",
    "ipis": "IPIs",
}
DAGGER = "†"


def comparison(what: str, found: Sequence[Line]) -> Table:
    """Kernel by kernel stock and swathe with change, goal and verdict; last the spread."""
    configs = configs_of(found)
    by, unit = compare.scale(found)
    judged = {kernel.swathe: kernel for kernel in KERNELS if kernel.swathe in configs}
    goals = {name: has_goals(found, kernel) for name, kernel in judged.items()}
    heads: list[Column | str] = ["case"]
    for config in configs:
        heads.append(Column(columns.title(config)))
        if config in judged:
            heads.append(Column(of_kernel("change", judged[config])))
        if goals.get(config):
            heads += [
                Column(of_kernel("goal", judged[config])),
                of_kernel("verdict", judged[config]),
            ]
    heads.append(Column("spread"))
    body = (comparison_row(line, configs, by, goals) for line in found)
    return make(f"{what}, {unit}", heads, body)


def of_kernel(head: str, kernel: KernelColumns) -> str:
    """A column beside swathe's: the newer kernel's says so."""
    return head if kernel is LTS else f"{head} {kernel.series}"


def has_goals(found: Sequence[Line], kernel: KernelColumns) -> bool:
    return any(line.on(kernel).wanted() is not None for line in found)


def configs_of(found: Sequence[Line]) -> list[str]:
    """The newest kernel has its column, too, where only its earlier figures are known."""
    untouched = {kernel.pristine for kernel in KERNELS}
    configs = [name for name in compare.configs_in(found) if name not in untouched]
    recorded = any(line.recorded_newest() is not None for line in found)
    if recorded and SWATHE in configs and NEWEST not in configs:
        configs.insert(configs.index(SWATHE) + 1, NEWEST)
    return configs


def comparison_row(
    line: Line, configs: Sequence[str], by: float, goals: Mapping[str, bool]
) -> Iterator[Cell | str]:
    """goals says of each swathe column whether a goal and a verdict stand beside it."""
    yield compare.case_name(line.case)
    kernels = {kernel.swathe: kernel for kernel in KERNELS}
    for config in configs:
        yield value_cell(line, config, by)
        if config in goals:
            part = line.on(kernels[config])
            yield compare.percent(part.change())
            if goals[config]:
                wanted = compare.number(part.wanted(), by)
                yield f"≤ {wanted}" if wanted else ""
                yield Cell(compare.verdict_text(part), TONES.get(part.verdict(), Tone.QUIET))
    yield Cell(compare.spread_text(line.spread()), Tone.QUIET)


def value_cell(line: Line, config: str, by: float) -> Cell:
    if config == NEWEST and line.recorded_newest() is not None:
        return Cell(f"{compare.number(line.recorded_newest(), by)} {DAGGER}", Tone.QUIET)
    return Cell(compare.number(line.value(config), by))


def has_recorded(found: Sequence[Line]) -> bool:
    return any(line.recorded_newest() is not None for line in found)


def switched_off(
    found: Sequence[Line], kernel: KernelColumns = LTS, limit: float | None = None
) -> Table | None:
    """Stock beside a kernel that has never heard of swathe: the switch must cost nothing."""
    there = [line for line in found if PRISTINE in line.rows and STOCK in line.rows]
    if not there:
        return None
    by, unit = compare.scale(there)
    heads: list[Column | str] = [Column(name) for name in ("pristine", "switched off", "change")]
    if limit is not None:
        heads += [Column("goal"), "verdict"]
    title = f"{columns.title(kernel.stock).capitalize()} (switched off)"
    return make(
        f"{title} beside a kernel of the untouched tree, {unit}", ["case", *heads],
        (switched_off_row(line, by, limit) for line in there),
    )  # fmt: skip


def switched_off_row(line: Line, by: float, limit: float | None) -> Iterator[Cell | str]:
    yield compare.case_name(line.case)
    yield from (compare.number(line.value(config), by) for config in (PRISTINE, STOCK))
    yield compare.percent(line.costs_when_off(), 2)
    if limit is not None:
        verdict = line.off_verdict(limit)
        yield f"≤ {compare.percent(limit - 1, 2)}"
        yield Cell(verdict.value, TONES.get(verdict, Tone.QUIET))


def each(value: float | None) -> str:
    """A figure per page."""
    if value is None:
        return ""
    if not value:
        return "0"
    return f"{value:,.1f}" if value >= 100 else f"{value:.3f}"


def events(found: Sequence[Line]) -> Table | None:
    """Atomics, invalidations and interrupts per page."""
    return each_page("Events per page", found, {name: EVENT_NAMES[name] for name in compare.EVENTS})


def accesses(found: Sequence[Line]) -> Table | None:
    """Loads, stores, distinct lines and cache misses per page."""
    named = {kind: memory.LEVELS.get(kind, kind) for kind in memory.KINDS}
    named |= {f"lines.{area}": f"lines: {memory.AREAS[area]}" for area in ("page", "table")}
    told = {name: named[name.removeprefix(memory.PREFIX)] for name in memory.SHOWN}
    return each_page("Accesses to memory per page, and misses in a model", found, told)


def each_page(title: str, found: Sequence[Line], names: Mapping[str, str]) -> Table | None:
    """Some metrics per page beside the instructions, a line for each case and config."""
    metrics = [name for name in names if any(line.metric == name for line in found)]
    if not metrics:
        return None
    body = []
    for name, case in compare.by_case(found).items():
        of_case = [case[metric] for metric in metrics if metric in case]
        for config in compare.configs_in(of_case) if of_case else ():
            if any(line.value(config) is not None for line in of_case):
                lines = (case.get(metric) for metric in metrics)
                values = (line.value(config) if line else None for line in lines)
                cells = map(each, (compare.per_page(case, config), *values))
                body.append((f"{compare.case_name(name)}, {columns.title(config)}", *cells))
    heads = map(Column, ("instructions", *(names[name] for name in metrics)))
    return make(title, ("case", *heads), body)


def others(found: Sequence[Line]) -> Table:
    """Whatever else was counted, as it was printed."""
    configs = compare.configs_in(found)
    heads = (Column(columns.title(config)) for config in configs)
    body = (others_row(line, configs) for line in found)
    return make("Checks and counters", ["case", "metric", *heads, "unit"], body)


def others_row(line: Line, configs: Sequence[str]) -> Iterator[Cell | str]:
    yield from (compare.case_name(line.case), line.metric)
    yield from (compare.number(line.value(config)) for config in configs)
    yield Cell(line.unit, Tone.QUIET)


@dataclass(frozen=True)
class Costs:
    """A profile, per page: functions from dear to cheap, and the columns they are for."""

    configs: tuple[str, ...]
    layers: tuple[Layer, ...]
    total: tuple[float, ...]


def costs(profile: Profile) -> Costs:
    """What each function executed itself, per page."""
    configs = [name for name in columns.ALL if name in profile.configs]
    of = [profile.configs[name] for name in configs]
    names = dict.fromkeys(name for one in of for name in one.functions)
    layers = [
        Layer(name, tuple(value(one.functions, name) / one.pages for one in of)) for name in names
    ]
    layers.sort(key=lambda layer: (-max(layer.values), layer.name))
    total = tuple(one.total().instructions / one.pages for one in of)
    return Costs(tuple(configs), tuple(layers), total)


def value(functions: Mapping[str, Counts], name: str) -> float:
    return functions.get(name, Counts()).instructions


def rest(found: Costs, top: int) -> Layer:
    """All but the dearest functions."""
    shown = found.layers[:top]
    values = tuple(
        max(0.0, total - sum(layer.values[index] for layer in shown))
        for index, total in enumerate(found.total)
    )
    return Layer("everything else", values)


def profile_table(profile: Profile) -> Table:
    """Cost per page and share of the whole, function by function."""
    found = costs(profile)
    heads: list[Column | str] = ["function"]
    for config in found.configs:
        heads += [Column(columns.title(config)), Column("share")]
    heads.append(Column("change"))
    layers = [*found.layers[:SHOWN], rest(found, SHOWN), Layer("all", found.total)]
    layers += groups(profile, found)
    body = (profile_row(index, layer, found) for index, layer in enumerate(layers, 1))
    title = f"{profile.bench} {compare.case_name(profile.case)}, instructions per page"
    return make(title, heads, body)


def groups(profile: Profile, found: Costs) -> list[Layer]:
    """The parts of the whole that the profiler adds up."""
    names = {UNMAP_PATH: "of all: the unmap path", WRITING: "of all: writing pages out"}
    made = []
    for key, name in names.items():
        of = [profile.configs[config] for config in found.configs]
        if all(key in one.groups for one in of):
            values = tuple(one.groups[key].instructions / one.pages for one in of)
            if any(values):
                made.append(Layer(name, values))
    return made


def profile_row(index: int, layer: Layer, found: Costs) -> Iterator[Cell | str]:
    functions = len(found.layers)
    name = f"`{layer.name}`" if index <= min(SHOWN, functions) else layer.name
    yield f"{index}. {name}" if index <= min(TOP, functions) else name
    for number, total in zip(layer.values, found.total, strict=True):
        yield f"{number:,.1f}"
        yield Cell(f"{100 * number / total:.2f} %" if total else "", Tone.QUIET)
    yield difference(layer, found)


KINDS = {
    "instructions": "instructions",
    "atomics": "locked instructions",
    "flushes_one": "TLB, one entry",
    "flushes_all": "TLB, all of it",
}
PARTS = {TOTAL: "all", UNMAP_PATH: "unmap path", WRITING: "writing"}


def profile_events(profile: Profile) -> Table:
    """What the profiler counts besides instructions, in all and in the parts it adds up."""
    body = []
    for config in costs(profile).configs:
        one = profile.configs[config]
        for key, part in PARTS.items():
            counts = one.total() if key == TOTAL else one.groups.get(key)
            if counts is not None and counts != Counts():
                of_part = (each(getattr(counts, kind) / one.pages) for kind in KINDS)
                body.append((f"{columns.title(config)}, {part}", *of_part))
    title = f"{profile.bench} {compare.case_name(profile.case)}, events per page in the profile"
    return make(title, ("part", *map(Column, KINDS.values())), body)


def branches(profile: Profile) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The unmap path as perf prints it: percent of everything, with what each calls."""
    for config in costs(profile).configs:
        one = profile.configs[config]
        total = one.total().instructions
        if one.tree and total:
            lines = tuple(
                f"{'   ' * (len(path) - 1)}{100 * count / total:5.2f}%--{path[-1]}"
                for path, count in one.tree
            )
            yield f"{columns.title(config)}, share of all instructions", lines


def difference(layer: Layer, found: Costs) -> str:
    """Swathe less stock, per page."""
    by_config = dict(zip(found.configs, layer.values, strict=True))
    pairs = ((kernel.stock, kernel.swathe) for kernel in KERNELS)
    both = next((pair for pair in pairs if set(pair) <= by_config.keys()), None)
    if both is None:
        return ""
    before, after = (by_config[name] for name in both)
    number = after - before
    text = f"{abs(number):,.1f}"
    if text == "0.0":
        return "0.0"
    return f"{compare.MINUS if number < 0 else '+'}{text}"
