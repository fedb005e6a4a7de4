# SPDX-License-Identifier: GPL-2.0-only
"""Where figures are from: the runs, what they have in common, and what they have not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from swathe.base.table import Table, make
from swathe.measure import columns, compare
from swathe.measure.figures import Figures
from swathe.reporting.blocks import Block, Chapter, Note, Text
from swathe.reporting.material import Material


def run_names(indexes: Sequence[int]) -> str:
    names = [run_name(index) for index in indexes]
    return f"run {names[0]}" if len(names) == 1 else f"runs {', '.join(names)}"


def run_name(index: int) -> str:
    """a, b, … z, 27, 28, …"""
    return chr(ord("a") + index) if index < 26 else str(index + 1)


def chapter(material: Material) -> Chapter:
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
