# SPDX-License-Identifier: GPL-2.0-only
"""The report's sections: each thread's figures beside ours, then what they hold for."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from swathe.base.table import Cell, Column, Table, Tone, make
from swathe.measure import benches, columns, commands, compare
from swathe.measure.columns import KERNELS, LTS, NEWER, KernelColumns
from swathe.measure.compare import GoalVerdict, Line
from swathe.measure.figures import BUT_WRITING, Figures, Profile, plain
from swathe.measure.goals import KernelGoals
from swathe.measure.rows import MAIN_METRIC
from swathe.reporting import charts, tables, threads
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
    "what stock 7.3 takes in the same boot.",
    "These are not times. A locked instruction, a TLB invalidation and an access that misses every "
    "cache count as one each; hardware charges far more for them. Hence the first two are listed "
    "apart, where they were counted.",
)  # fmt: skip


@dataclass(frozen=True)
class Material:
    """All there is to write about; rows already put side by side."""

    figures: Figures
    lines: tuple[Line, ...]
    goals: Mapping[str, KernelGoals]

    def wanted(self, kernel: KernelColumns) -> KernelGoals:
        return self.goals.get(kernel.series, KernelGoals())

    def of(self, bench: str) -> list[Line]:
        return [line for line in self.lines if line.bench == bench]

    def profiles_of(self, bench: str) -> list[Profile]:
        return [one for one in self.figures.profiles if one.bench == bench]


def build(figures: Figures, goals: Mapping[str, KernelGoals], origin: str) -> Document:
    """The whole report; goals are by kernel, origin says where its figures are from."""
    of = [goals.get(kernel.series, KernelGoals()).goals for kernel in (LTS, NEWER)]
    rows = [*figures.rows, *(row for one in figures.profiles for row in one.but_writing())]
    material = Material(figures, tuple(compare.lines(rows, *of)), goals)
    sections = [summary(material), *(thread(material, each) for each in threads.load().thread)]
    if rest := unthreaded(material):
        sections.append(rest)
    sections += [environment(material), reading(), excluded(material)]
    return Document(TITLE, lead(material, origin), tuple(sections))


def lead(material: Material, origin: str) -> tuple[str, ...]:
    kernels = {run.environment.get("kernel", "") for run in material.figures.runs}
    named = " and ".join(sorted(kernels - {""}))
    what = f"execute{'' if ' and ' in named else 's'} to unmap and reclaim memory, counted exactly."
    return (
        f"Instructions that Linux {named or '6.12'} {what}",
        f"{origin} {when(material)}".strip(),
    )


MANY = 3


def when(material: Material) -> str:
    """The days, and the commits of this repository."""
    every = [run.environment for run in material.figures.runs]
    every += [one.environment for one in material.figures.profiles]
    days = sorted({found.get("date", "")[:10] for found in every} - {""})
    commits = dict.fromkeys(found["swathe"] for found in every if "swathe" in found)
    if not days or not commits:
        return ""
    span = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    of = ", ".join(commits) if len(commits) <= MANY else f"at {len(commits)} commits"
    return f"Measured {span}, Swathe {of}."


ELSEWHERE = (
    "All runs were made with other options than usual, which follow the names of their cases in "
    "the chapters below."
)


def summary(material: Material) -> Chapter:
    """One or two rows of each thread, and how many goals are met."""
    kernels = compare.kernels_in(material.lines)
    heads: list[Column | str] = ["row"]
    for kernel in kernels:
        heads += [Column(columns.title(name)) for name in (kernel.stock, kernel.swathe)]
        heads.append(Column(tables.of_kernel("change", kernel)))
    heads += ["unit", *(tables.of_kernel("goals met", kernel) for kernel in kernels)]
    body = [row for each in threads.load().thread for row in summary_rows(material, each, kernels)]
    table = make("The rows that stand for each thread", heads, body)
    keys = {key for each in threads.load().thread for key in each.key_rows}
    chosen = [
        replace(line, case=f"{line.bench} {compare.case_name(line.case)}")
        for line in material.lines
        if (line.bench, line.case, line.metric) in keys
    ]
    plot = charts.overview(chosen)
    blocks: list[Block] = [Text(text) for text in verdicts(material, kernels)]
    if not chosen and material.lines:
        blocks.append(Text(ELSEWHERE))
    else:
        blocks.append(Pair((table,), (Plots((plot,)),)) if plot else table)
    return Chapter("summary", "At a glance", "At a glance", tuple(blocks))


def verdicts(material: Material, kernels: Sequence[KernelColumns]) -> Iterator[str]:
    """A sentence about each kernel's goals, and about what the switch costs while it is off."""
    for kernel in kernels:
        yield goals_met(material.lines, kernel)
        if text := off_met(material.lines, kernel, material.wanted(kernel).switched_off):
            yield text


def goals_met(found: Iterable[Line], kernel: KernelColumns = LTS) -> str:
    """All verdicts in one sentence."""
    met, measured = compare.met(found, kernel)
    if not measured:
        return f"None of the goals on {kernel.series} was measured in this run."
    missed = measured - met
    return (
        f"Of {measured} goals measured on {kernel.series}, {met} are met and {missed} are missed."
    )


def off_met(found: Iterable[Line], kernel: KernelColumns, limit: float | None) -> str:
    """Whether instructions with the switch off are those of the untouched tree."""
    off = [
        line.on(kernel).off_verdict(limit)
        for line in found
        if line.metric == MAIN_METRIC and usual(line)
    ]
    measured = [verdict for verdict in off if verdict is not GoalVerdict.NONE]
    if limit is None or not measured:
        return ""
    return (
        f"Switched off, {measured.count(GoalVerdict.MET)} of {len(measured)} rows of "
        f"{kernel.series} are at most {100 * (limit - 1):.1f} % above the untouched tree."
    )


def usual(line: Line) -> bool:
    """Whether a line is of a run with the usual options: goals are for these."""
    return plain(line.case) == line.case


def summary_rows(
    material: Material, each: Thread, kernels: Sequence[KernelColumns]
) -> Iterator[tuple[Cell | str, ...]]:
    by_key = {(line.bench, line.case, line.metric): line for line in material.lines}
    of_thread = [line for part in each.part for line in material.of(part.bench)]
    goals = [goals_text(*compare.met(of_thread, kernel)) for kernel in kernels]
    for key in each.key_rows:
        name = f"{each.key} {key[0]} {compare.case_name(key[1])}"
        line = by_key.get(key)
        if line is None:
            quiet = Cell("not measured", Tone.QUIET)
            yield (name, *((quiet, quiet, Cell("")) * len(kernels)), "", *goals)
        else:
            by, unit = compare.scale([line])
            cells = (cell for kernel in kernels for cell in summary_cells(line.on(kernel), by))
            yield (name, *cells, Cell(unit.replace("million", "M"), Tone.QUIET), *goals)
        goals = [""] * len(kernels)


def goals_text(met: int, measured: int) -> str:
    return f"{met} of {measured}" if measured else "none measured"


def summary_cells(line: Line, by: float) -> Iterator[str]:
    """Stock and swathe of one kernel, and the change."""
    for config in (columns.STOCK, columns.SWATHE):
        yield compare.number(line.value(config), by) or "not measured"
    yield compare.percent(line.change())


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
    if summary := summary_of(part.bench):
        yield Text(f"`{part.bench}`: {summary}.")
    command = f"./swathe bench {part.bench}"
    if found:
        yield from compared(material, part, found)
        yield Command(again(material.figures, part.bench))
        yield from drawn(part, found)
    else:
        yield Missing(f"The bench {part.bench} was not measured in this run.", command)
    yield from curves(material, part)
    if found:
        yield from counted(material, part, found, command)
    yield from profiles(material, part)


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
            others.setdefault(run_names(runs), []).append(columns.title(name))
    text = "".join(f"; {' and '.join(some)} of {runs}" for runs, some in others.items())
    return f"Figures of {run_names(ours)}{text}."


def run_names(indexes: Sequence[int]) -> str:
    names = [run_name(index) for index in indexes]
    return f"run {names[0]}" if len(names) == 1 else f"runs {', '.join(names)}"


def run_name(index: int) -> str:
    """a, b, … z, 27, 28, …"""
    return chr(ord("a") + index) if index < 26 else str(index + 1)


def drawn(part: Part, found: Sequence[Line]) -> Iterator[Block]:
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
                f"./swathe bench {part.bench}",
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
    if off := tuple(switched_off(material, part, found)):
        yield Folded(f"{part.bench}: switched off beside a pristine kernel", off)
    if events := tables.events(found):
        yield events
    else:
        yield Missing("Events per page were not measured in this run.", command)
    rest = [line for line in found if line.metric not in shown]
    if rest:
        yield Folded(f"{part.bench}: checks and counters", (tables.others(rest),))


def switched_off(material: Material, part: Part, found: Sequence[Line]) -> Iterator[Table]:
    """A table for each kernel, with the limit where the rows' options are the usual ones."""
    main = [line for line in found if line.metric == part.metrics[0]]
    for kernel in KERNELS:
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
                f"./swathe bench {part.bench}:{case}",
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
                f"./swathe profile {part.bench} {case}",
            )


def profile_again(one: Profile) -> str:
    kernel = "" if one.kernel is LTS else f" --kernel {one.kernel.series}"
    return f"./swathe profile {one.bench} {one.case}{kernel}"


def environment(material: Material) -> Chapter:
    """What all runs have in common, and a line for each with what they have not."""
    found = origins(material.figures)
    names = dict.fromkeys([*FIRST, *LABELS, *(name for one in found for name in one.environment)])
    values = {name: [one.environment.get(name, "") for one in found] for name in names}
    shared = {name: each[0] for name, each in values.items() if len(set(each)) == 1 and each[0]}
    different = [name for name, each in values.items() if len(set(each)) > 1]
    blocks: list[Block] = []
    if mixed(found):
        blocks.append(Text(MIXED))
    blocks += [shared_table(shared), origins_table(found, different)]
    for run in material.figures.runs:
        blocks += [Note(f"Skipped: {reason}.") for reason in run.skipped]
    return Chapter("environment", "Environment", "Environment", tuple(blocks))


MIXED = (
    "These runs are of different kernels or configurations: compare figures of one run "
    "rather than of several."
)
LABELS = {
    "kernel": "kernel",
    "config_hash": "configuration",
    "qemu": "QEMU",
    "compiler": "compiler",
    "cpus": "CPUs",
    "memory": "memory",
    "settings": "the kernel's settings",
    "command": "command",
}
# What tells runs apart comes first.
FIRST = {"date": "date", "swathe": "Swathe commit"}


@dataclass(frozen=True)
class Origin:
    """A run or a profile: its name here, its file, what is taken from it, and how it was made."""

    name: str
    source: str
    covers: str
    environment: Mapping[str, str]


def mixed(found: Sequence[Origin]) -> bool:
    """Whether a kernel's columns are of more than one build; those of 6.12 and 7.3 must be."""
    builds: dict[str, set[tuple[str, ...]]] = {}
    for one in found:
        build = tuple(one.environment.get(name, "") for name in ("kernel", "config_hash"))
        builds.setdefault(columns.of_run(one.environment).series, set()).add(build)
    return any(len(each) > 1 for each in builds.values())


def origins(figures: Figures) -> list[Origin]:
    runs = [
        Origin(f"run {run_name(index)}", run.source, covered(figures, index), run.environment)
        for index, run in enumerate(figures.runs)
    ]
    return runs + [
        Origin("profile", one.source, f"{one.bench} {compare.case_name(one.case)}", one.environment)
        for one in figures.profiles
    ]


def label(name: str) -> str:
    return {**FIRST, **LABELS}.get(name, name)


def shared_table(shared: Mapping[str, str]) -> Table:
    rows = ((label(name), value) for name, value in shared.items())
    return make("The same in all runs", ("what", "value"), rows)


def origins_table(found: Sequence[Origin], different: Sequence[str]) -> Table:
    rows = (
        (one.name, one.covers, *(one.environment.get(name, "") for name in different), one.source)
        for one in found
    )
    return make("Runs", ("", "figures of", *map(label, different), "file"), rows)


def covered(figures: Figures, index: int) -> str:
    """The benches that rows of a run are used of."""
    names = dict.fromkeys(name for (name, _, _), run in figures.origins.items() if run == index)
    return ", ".join(names)


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
