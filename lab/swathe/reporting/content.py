# SPDX-License-Identifier: GPL-2.0-only
"""The report's sections: each thread's figures beside ours, then what they hold for."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from swathe.base.table import Table, make
from swathe.kernel import source
from swathe.measure import benches, columns, commands, compare, memory
from swathe.measure.columns import KERNELS, LTS, OTHERS
from swathe.measure.compare import Line
from swathe.measure.figures import BUT_WRITING, Figures, Profile
from swathe.measure.goals import KernelGoals
from swathe.reporting import charts, origins, singles, summary, tables, threads
from swathe.reporting.blocks import (
    Beside,
    Block,
    Chapter,
    Command,
    Document,
    Folded,
    Heading,
    Listing,
    Missing,
    Note,
    Pair,
    Plot,
    Plots,
    Text,
)
from swathe.reporting.material import Material, usual
from swathe.reporting.threads import Part, Thread

TITLE = "Swathe: unmapping a run at a time, measured against stock Linux"
READING = (
    "The unit is the instruction. The kernel runs in QEMU without hardware acceleration under "
    "`-icount shift=0`: the guest's clock counts executed instructions, whatever else the host "
    "does.",
    "Stock and swathe of a version are one kernel, measured alternately in one boot by flipping "
    "`/sys/kernel/mm/unmap/enabled`. Pristine, and stock 7.3 where no swathe 7.3 stands beside it, "
    "are kernels of their own, built from untouched trees and booted for themselves.",
    "A figure is the median of the measured repeats, after one that is not counted. The spread is "
    "the distance of the largest from the smallest, in percent of the median, and the largest of "
    "the row's columns.",
    "A goal is met by a figure that is not above it. The goals on 6.12 were set before this work, "
    "from what stock kernels took; those on 7.3 before it ran there, most of them as a fraction of "
    "what stock 7.3 takes in the same boot; those on 6.18 after its first run there, by those of "
    "7.3 or by what that run took.",
    "These are not times. A locked instruction, a TLB invalidation and an access that misses every "
    "cache count as one each; hardware charges far more for them. Hence the first two are listed "
    "apart, where they were counted.",
)  # fmt: skip


def build(figures: Figures, goals: Mapping[str, KernelGoals], origin: str) -> Document:
    """The whole report; goals are by kernel, origin says where its figures are from."""
    of = {kernel: goals.get(kernel.series, KernelGoals()).goals for kernel in KERNELS}
    others = {kernel.series: of[kernel] for kernel in OTHERS}
    rows = [*figures.rows, *(row for one in figures.profiles for row in one.but_writing())]
    material = Material(figures, tuple(compare.lines(rows, of[LTS], others)), goals)
    single = singles.chapter(material)
    sections = [
        summary.chapter(material),
        *([single] if single else []),
        *(thread(material, each) for each in threads.load().thread),
    ]
    if rest := unthreaded(material):
        sections.append(rest)
    sections += [origins.chapter(material), reading(), excluded(material)]
    return Document(TITLE, lead(material, origin), tuple(sections))


def lead(material: Material, origin: str) -> tuple[str, ...]:
    kernels = {one.get("kernel", "") for one in environments(material)}
    named = " and ".join(sorted(kernels - {""}))
    what = f"execute{'' if ' and ' in named else 's'} to unmap and reclaim memory, counted exactly."
    return (
        f"Instructions that Linux {named or '6.12'} {what}",
        f"{origin} {when(material)}".strip(),
    )


def environments(material: Material) -> list[Mapping[str, str]]:
    """Those of all runs and profiles."""
    found = [run.environment for run in material.figures.runs]
    return found + [one.environment for one in material.figures.profiles]


MANY = 3


def when(material: Material) -> str:
    """The days, and the commits of this repository."""
    every = environments(material)
    days = sorted({found.get("date", "")[:10] for found in every} - {""})
    commits = dict.fromkeys(found["swathe"] for found in every if "swathe" in found)
    if not days or not commits:
        return ""
    span = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    of = ", ".join(commits) if len(commits) <= MANY else f"at {len(commits)} commits"
    return f"Measured {span}, Swathe {of}."


def thread(material: Material, each: Thread) -> Chapter:
    """The thread's own figures beside the first of our tables, then everything else."""
    blocks: list[Block] = []
    for index, part in enumerate(each.part):
        found = part_blocks(material, part)
        if index == 0:
            cut = first_table(found)
            blocks += [Beside(each.quote, tuple(found[:cut])), *found[cut:]]
        else:
            blocks += found
    return Chapter(
        each.key.lower(), f"{each.key} {each.title}", f"{each.key} {each.short}", tuple(blocks)
    )


def first_table(blocks: Sequence[Block]) -> int:
    """How many blocks stand beside the thread's: up to the first table and its notes."""
    for index, block in enumerate(blocks):
        if isinstance(block, Table):
            after = index + 1
            while after < len(blocks) and isinstance(blocks[after], Note):
                after += 1
            return after
    return len(blocks)


def unthreaded(material: Material) -> Chapter | None:
    """Benches that no thread is about."""
    names = [name for name in material.figures.benches() if name not in threads.known()]
    blocks = [block for name in names for block in part_blocks(material, threads.unthreaded(name))]
    return Chapter("others", "Other benches", "Other benches", tuple(blocks)) if blocks else None


def part_blocks(material: Material, part: Part) -> list[Block]:
    """All that is known of one bench; then what is folded, and last what is missing."""
    blocks: list[Block] = []
    for block in part_content(material, part):
        last = blocks[-1] if blocks else None
        if isinstance(block, Plots) and isinstance(last, Plots):
            blocks[-1] = Plots(last.plots + block.plots)
        else:
            blocks.append(block)
    order = {Folded: 1, Missing: 2}
    return sorted(blocks, key=lambda block: order.get(type(block), 0))


def part_content(material: Material, part: Part) -> Iterator[Block]:
    yield Heading(part.title)
    found = [line for line in material.of(part.bench) if line.metric != BUT_WRITING]
    if about := summary_of(part.bench):
        yield Text(f"`{part.bench}`: {about}.")
    command = f"./swathe bench {part.bench}{option(material)}"
    if found:
        yield from compared(material, part, found)
        yield Command(again(material.figures, part.bench))
        yield from drawn(material, part, found)
    else:
        yield Missing(f"The bench {part.bench} was not measured in this run.", command)
    yield from curves(material, part)
    if found:
        yield from counted(material, part, found, command)
    yield from profiles(material, part)


def option(material: Material) -> str:
    """What a command needs to measure what is missing, where only another kernel was measured."""
    (first, *more) = compare.kernels_in(material.lines)
    if more or first is LTS:
        return ""
    tree = " --source TREE" if first.series == source.FROM_TARBALL else ""
    return f" --kernel {first.series}{tree}"


def again(figures: Figures, bench: str) -> tuple[str, ...]:
    """One line for each way the bench's rows were measured."""
    runs = [figures.runs[index] for index in figures.runs_of(bench)]
    lines = [commands.again(run.environment.get("command", ""), bench) for run in runs]
    return tuple(dict.fromkeys(lines))


def summary_of(bench: str) -> str:
    return next((known.summary for known in benches.BENCHES if known.name == bench), "")


def compared(material: Material, part: Part, found: Sequence[Line]) -> Iterator[Block]:
    """A table for each metric, for each group of cases."""
    recorded = False
    for metric in metrics_of(part, found):
        of_metric = [line for line in found if line.metric == metric]
        for what, group in grouped(part, of_metric, part.what(metric)):
            yield tables.comparison(what, group)
            if tables.has_recorded(group) and not recorded:
                recorded = True
                yield Note(
                    f"{tables.DAGGER} 7.3 was not measured in this run; "
                    f"{material.wanted(LTS).source}."
                )
    yield from goal_notes(found)
    yield Note(origin_text(material.figures, part.bench))


def goal_notes(found: Sequence[Line]) -> Iterator[Note]:
    """What is to be known of goals, of kernels that were measured."""
    for kernel in compare.kernels_in(found):
        on = "" if kernel is LTS else f" on {kernel.series}"
        for line in found:
            goal = line.on(kernel).goal
            if goal and goal.note:
                yield Note(f"{compare.case_name(line.case)}, {line.metric}{on}: {goal.note}.")


def metrics_of(part: Part, found: Sequence[Line]) -> list[str]:
    """The part's metrics, and whatever else there is a goal for."""
    names = dict.fromkeys(line.metric for line in found)
    wanted = [name for name in part.metrics if name in names]
    kernels = compare.kernels_in(found)
    goals = dict.fromkeys(
        line.metric
        for line in found
        if any(line.on(kernel).wanted() is not None for kernel in kernels)
    )
    return wanted + [name for name in goals if name not in wanted]


def grouped(part: Part, found: Sequence[Line], what: str) -> list[tuple[str, list[Line]]]:
    """Cases apart that do not belong into one table: other calls, other sizes, other units."""
    groups: dict[tuple[str, str], list[Line]] = {}
    for line in found:
        name, case = what, line.case
        for prefix, title in part.groups.items():
            if case.startswith(prefix):
                name, case = title, case.removeprefix(prefix)
        case, _, unusual = case.partition(" ")
        if compare.in_memory(case):
            name = f"{name}, by size of the memory"
        if unusual:
            name = f"{name}, {unusual}"
        groups.setdefault((name, line.unit), []).append(replace(line, case=case))
    return [(name, group) for (name, _), group in groups.items()]


def origin_text(figures: Figures, bench: str) -> str:
    """Which runs a bench's rows are from; columns of another run are named."""
    names = [name for name in columns.ALL if figures.runs_of(bench, name)]
    ours = figures.runs_of(bench, columns.SWATHE) or figures.runs_of(bench)
    others: dict[str, list[str]] = {}
    for name in names:
        runs = figures.runs_of(bench, name)
        if runs != ours and name not in (columns.STOCK, columns.SWATHE):
            others.setdefault(origins.run_names(runs), []).append(columns.title(name))
    text = "".join(f"; {' and '.join(some)} of {runs}" for runs, some in others.items())
    return f"Figures of {origins.run_names(ours)}{text}."


def drawn(material: Material, part: Part, found: Sequence[Line]) -> Iterator[Block]:
    """Bars of each plotted metric, and the curves over size."""
    made: list[Plot | None] = []
    for metric in part.plotted:
        of_metric = [line for line in found if line.metric == metric]
        for what, group in grouped(part, of_metric, part.what(metric)):
            if not compare.in_memory(group[0].case):
                words = f"{metric} {what} {group[0].unit}".lower()
                name = "-".join((part.bench, *charts.WORD.findall(words)))
                made.append(charts.bars(name, what, group))
    for unusual, group in by_setup(found).items():
        made += size_plots(part, group, unusual)
    there = tuple(plot for plot in made if plot)
    if there:
        yield Plots(there)
    for what in part.by_size:
        if not any(plot.name.startswith(f"{part.bench}-size-{what}") for plot in there):
            yield Missing(
                f"Cost per page against size, {compare.case_name(what)} in 256 MiB, 1 GiB and "
                "4 GiB, was not measured in this run.",
                f"./swathe bench {part.bench}{option(material)}",
            )


def by_setup(found: Sequence[Line]) -> dict[str, list[Line]]:
    """Lines apart by what was unusual about their runs."""
    groups: dict[str, list[Line]] = {}
    for line in found:
        case, _, unusual = line.case.partition(" ")
        groups.setdefault(unusual, []).append(replace(line, case=case))
    return groups


def size_plots(part: Part, found: Sequence[Line], unusual: str) -> list[Plot | None]:
    """Cost per page by folio size, and against the size of the memory."""
    sizes = dict.fromkeys(of[0] for line in found if (of := compare.in_memory(line.case)))
    made = [charts.by_size(part.bench, what, found) for what in sizes]
    if part.by_folio:
        made.insert(0, charts.by_folio(part.bench, found))
    if not unusual:
        return made
    slug = "-".join(charts.WORD.findall(unusual.lower()))
    return [
        replace(plot, name=f"{plot.name}-{slug}", title=f"{plot.title}, {unusual}")
        for plot in made
        if plot
    ]


def counted(material: Material, part: Part, found: Sequence[Line], command: str) -> Iterator[Block]:
    """Events per page, and every other metric."""
    shown = set(metrics_of(part, found)) | set(compare.EVENTS)
    if off := tuple(switched_off(material, part)):
        yield Folded(f"{part.bench}: switched off beside a pristine kernel", off)
    if events := tables.events(found):
        yield events
    else:
        yield Missing("Events per page were not measured in this run.", command)
    if accesses := tables.accesses(found):
        yield accesses
    rest = [
        line
        for line in found
        if line.metric not in shown and not line.metric.startswith(memory.PREFIX)
    ]
    if rest:
        yield Folded(f"{part.bench}: checks and counters", (tables.others(rest),))


def switched_off(material: Material, part: Part) -> Iterator[Table]:
    """A table for each kernel, with the limit where the rows' options are the usual ones."""
    for kernel in KERNELS:
        of_bench = [line for line in material.off(kernel) if line.bench == part.bench]
        main = [line for line in of_bench if line.metric == part.metrics[0]]
        limit = material.wanted(kernel).switched_off if all(map(usual, main)) else None
        if table := tables.switched_off(main, kernel, limit):
            yield table


def curves(material: Material, part: Part) -> Iterator[Block]:
    """What grew while a case ran."""
    of_bench = [one for one in material.figures.series if one.bench == part.bench]
    for case, name in part.series:
        found = [one for one in of_bench if (one.case, one.series) == (case, name)]
        plot = charts.series(found, f"{SERIES.get(name, name)}, {compare.case_name(case)}")
        if plot:
            yield Plots((plot,))
        else:
            yield Missing(
                f"{SERIES.get(name, name)} over time was not measured in this run.",
                f"./swathe bench {part.bench}:{case}{option(material)}",
            )


SERIES = {"vmpte": "VmPTE"}


def profiles(material: Material, part: Part) -> Iterator[Block]:
    """What each function costs, where that was counted."""
    found = material.profiles_of(part.bench)
    for one in found:
        table = tables.profile_table(one)
        plot = charts.stack(one)
        yield Pair((table,), (Plots((plot,)),)) if plot else table
        yield tables.profile_events(one)
        if listings := [Listing(*each) for each in tables.branches(one)]:
            yield Folded(
                f"{one.bench} {compare.case_name(one.case)}: who calls whom", tuple(listings)
            )
        yield Command((profile_again(one),))
    if written := [line for line in material.of(part.bench) if line.metric == BUT_WRITING]:
        yield tables.comparison(part.what(BUT_WRITING), written)
    for case in part.profiles:
        if case not in {one.case for one in found}:
            yield Missing(
                f"The cost of each function in {part.bench} {compare.case_name(case)} "
                "was not measured in this run.",
                f"./swathe profile {part.bench} {case}{option(material)}",
            )


def profile_again(one: Profile) -> str:
    kernel = "" if one.kernel is LTS else f" --kernel {one.kernel.series}"
    return f"./swathe profile {one.bench} {one.case}{kernel}"


def reading() -> Chapter:
    return Chapter("reading", "How to read the figures", "How to read", tuple(map(Text, READING)))


def excluded(material: Material) -> Chapter:
    """What each bench's figures leave out."""
    names = [name for name in material.figures.benches() if summary_of(name)]
    known = {bench.name: bench.excludes for bench in benches.BENCHES}
    rows = ((f"`{name}`", known[name]) for name in names)
    made = make("Left out of the figures, bench by bench", ("bench", "not included"), rows)
    text = Text(f"In all of them: {benches.ALWAYS_EXCLUDED}.")
    return Chapter("excluded", "What is not included", "Not included", (made, text))
