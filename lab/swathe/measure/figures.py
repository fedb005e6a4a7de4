# SPDX-License-Identifier: GPL-2.0-only
"""Read kept figures, and choose the newest of each case when there are several runs."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from swathe.measure import columns, commands
from swathe.measure.benches import BENCHES
from swathe.measure.calltree import Counts
from swathe.measure.columns import KernelColumns
from swathe.measure.rows import MAIN_METRIC, Row, Series

TOTAL = "total"
UNMAP_PATH = "unmap_path"
WRITING = "writing"
GROUPS = (TOTAL, UNMAP_PATH, WRITING)
# What is wanted of a profile: see but_writing().
BUT_WRITING = "but_writing"

# In a recorded collection: others that it is shown with, instead of a copy of theirs.
BESIDE = "beside"

# Bench, case and config.
Key = tuple[str, str, str]
# A call path, and the instructions below it.
Branch = tuple[tuple[str, ...], int]
Made = TypeVar("Made")
Placed = TypeVar("Placed", Row, Series)


class Malformed(ValueError):
    """A file that holds no figures, or figures that cannot be read."""


@dataclass(frozen=True)
class Run:
    """What one call of "./swathe bench" wrote; recorded is the path of the collection with it."""

    source: str
    environment: Mapping[str, str]
    rows: tuple[Row, ...]
    series: tuple[Series, ...] = ()
    skipped: tuple[str, ...] = ()
    recorded: str = ""

    @property
    def date(self) -> str:
        return self.environment.get("date", "")

    @property
    def kernel(self) -> KernelColumns:
        return columns.of_run(self.environment)


@dataclass(frozen=True)
class ProfileConfig:
    """One config's counts: of each function itself, and of groups of functions."""

    pages: float
    functions: Mapping[str, Counts]
    groups: Mapping[str, Counts]
    tree: tuple[Branch, ...] = ()

    def total(self) -> Counts:
        return self.groups.get(TOTAL) or sum(self.functions.values(), Counts())

    def writing(self) -> Counts:
        return self.groups.get(WRITING, Counts())


@dataclass(frozen=True)
class Profile:
    """What one call of "./swathe profile" wrote."""

    source: str
    bench: str
    case: str
    environment: Mapping[str, str]
    configs: Mapping[str, ProfileConfig]
    recorded: str = ""

    @property
    def date(self) -> str:
        return self.environment.get("date", "")

    @property
    def kernel(self) -> KernelColumns:
        return columns.of_run(self.environment)

    def but_writing(self) -> list[Row]:
        """Each config's row of what swathe can change, where pages are written."""
        return [
            but_writing(self.bench, self.case, name, one.total(), one.writing())
            for name, one in self.configs.items()
            if one.writing() != Counts()
        ]


@dataclass(frozen=True)
class Figures:
    """The chosen rows; origins says which of the runs each bench, case and config is from."""

    runs: tuple[Run, ...] = ()
    rows: tuple[Row, ...] = ()
    series: tuple[Series, ...] = ()
    profiles: tuple[Profile, ...] = ()
    origins: Mapping[Key, int] = field(default_factory=dict)

    def benches(self) -> tuple[str, ...]:
        found = [row.bench for row in self.rows] + [one.bench for one in self.profiles]
        return tuple(dict.fromkeys(found + [one.bench for one in self.series]))

    def of(self, bench: str) -> list[Row]:
        return [row for row in self.rows if row.bench == bench]

    def runs_of(self, bench: str, config: str | None = None) -> list[int]:
        """The runs one bench's rows are from."""
        found = {
            run
            for (name, _, of), run in self.origins.items()
            if name == bench and config in (None, of)
        }
        return sorted(found)

    def beside_pristine(self, index: int) -> list[Row]:
        """A run's rows of the untouched tree, if they were chosen, and of stock beside them.

        Stock of another run may be of another commit: what the switch costs is told by one run.
        """
        run = self.runs[index]
        return [
            row
            for row in run.rows
            if row.config in (run.kernel.pristine, run.kernel.stock)
            and self.origins.get((row.bench, row.case, run.kernel.pristine)) == index
        ]

    def taken(self, index: int) -> list[Row]:
        """A run's rows that are shown."""
        beside = self.beside_pristine(index)
        return [
            row
            for row in self.runs[index].rows
            if self.origins.get((row.bench, row.case, row.config)) == index or row in beside
        ]


def but_writing(bench: str, case: str, config: str, total: Counts, writing: Counts) -> Row:
    """All instructions of a profile but those of writing pages out."""
    value = (total - writing).instructions
    return Row(bench, case, BUT_WRITING, config, value, MAIN_METRIC, 0, 1)


def converted(data: Mapping[str, Any], kind: type[Made], source: str) -> Made:
    """A file may say more than is asked; of its environment everything is text."""
    about = {str(name): str(value) for name, value in data.get("environment", {}).items()}
    try:
        return msgspec.convert({"source": source, **data, "environment": about}, kind)
    except msgspec.ValidationError as error:
        raise Malformed(str(error)) from error


def read_profile(data: Mapping[str, Any], source: str) -> Profile:
    """The groups of functions stand beside the functions."""
    configs = {
        name: {**each, "groups": {group: each[group] for group in GROUPS if group in each}}
        for name, each in data["configs"].items()
    }
    return converted({**data, "configs": configs}, Profile, source)


def parse(data: object, source: str) -> list[Run | Profile]:
    """One file: a bench's figures, a profile, or a recorded collection of both."""
    if not isinstance(data, dict):
        raise Malformed("it is not a JSON object")
    try:
        if "rows" in data:
            return [converted(data, Run, source)]
        if "configs" in data:
            return [read_profile(data, source)]
        if "runs" in data:
            found: list[Run | Profile] = [converted(each, Run, source) for each in data["runs"]]
            return found + [read_profile(each, source) for each in data.get("profiles", ())]
    except (AttributeError, TypeError) as error:
        raise Malformed(f"it is not built like figures ({error})") from error
    raise Malformed("it holds no figures")


def load(path: Path, shown: str) -> list[Run | Profile]:
    """One file, and what it says is recorded beside it; shown is its name on the page."""
    try:
        data = json.loads(path.read_text())
        found = parse(data, shown)
        if "runs" not in data:
            return found
        others = [one for name in beside(data) for one in load_beside(path, name)]
        return [replace(one, recorded=str(path.resolve())) for one in found] + others
    except json.JSONDecodeError as error:
        raise Malformed(f"it is not JSON ({error})") from error
    except UnicodeDecodeError as error:
        raise Malformed("it is not text") from error


def beside(data: Mapping[str, Any]) -> list[str]:
    """The other collections that a recorded one is shown with."""
    try:
        return msgspec.convert(data.get(BESIDE, []), list[str])
    except msgspec.ValidationError as error:
        raise Malformed(str(error)) from error


def load_beside(path: Path, name: str) -> list[Run | Profile]:
    """What another collection of the same folder holds itself."""
    other = path.with_name(f"{Path(name).name}.json")
    if not other.is_file():
        raise Malformed(f"the figures of {other.name}, which it is shown with, are not there")
    found = parse(json.loads(other.read_text()), other.name)
    return [replace(one, recorded=str(other.resolve())) for one in found]


def told_apart(one: Run | Profile) -> Run | Profile:
    """One that stands beside others: configs are columns of its kernel, and an unusual run's cases
    carry what was unusual."""
    unusual = commands.setup(one.environment.get("command", ""))
    column = one.kernel.beside_others
    if isinstance(one, Profile):
        configs = {column(name): config for name, config in one.configs.items()}
        return replace(one, case=f"{one.case} {unusual}".strip(), configs=configs)

    def moved(each: Placed) -> Placed:
        case = f"{each.case} {unusual}".strip()
        return replace(each, case=case, config=column(each.config))

    return replace(one, rows=tuple(map(moved, one.rows)), series=tuple(map(moved, one.series)))


def alone(each: Placed, kernel: KernelColumns) -> Placed:
    """A row or curve as it was in a run of this kernel."""
    return replace(each, case=plain(each.case), config=kernel.within_run(each.config))


def plain(case: str) -> str:
    """A case without what was unusual: no case has a space of its own."""
    return case.partition(" ")[0]


def keys_of(found: Iterable[Row | Series]) -> Collection[Key]:
    return dict.fromkeys((one.bench, one.case, one.config) for one in found).keys()


def merge(found: Iterable[Run | Profile]) -> Figures:
    """The newest figures of each case; only runs that something is taken from are kept."""
    every = sorted(map(told_apart, found), key=lambda one: one.date, reverse=True)
    runs = [one for one in every if isinstance(one, Run)]
    chosen = choose([keys_of(run.rows) for run in runs])
    used = sorted(set(chosen.values()))
    origins = {key: used.index(run) for key, run in chosen.items()}
    kept = tuple(runs[index] for index in used)
    rows = [
        row
        for index, run in enumerate(kept)
        for row in run.rows
        if origins.get((row.bench, row.case, row.config)) == index
    ]
    return Figures(
        kept, tuple(in_order(rows)), newest_series(runs),
        newest_profiles([one for one in every if isinstance(one, Profile)]), origins,
    )  # fmt: skip


def choose(has: Sequence[Collection[Key]]) -> dict[Key, int]:
    """For each bench, case and config that the runs have, the run to take: runs are newest first.

    A kernel's stock and swathe stay together, for one boot measured them: they are of the newest
    run that has swathe. Other columns are of the newest run that has them.
    """
    chosen: dict[Key, int] = {}
    for key in dict.fromkeys(key for keys in has for key in keys):
        first = next(index for index, keys in enumerate(has) if leading(key, has) in keys)
        if key in has[first]:
            chosen[key] = first
    return chosen


def leading(key: Key, has: Sequence[Collection[Key]]) -> Key:
    """The key whose newest run decides."""
    kernel = next((each for each in columns.KERNELS if key[2] == each.stock), None)
    ours = (*key[:2], kernel.swathe) if kernel else key
    return ours if any(ours in keys for keys in has) else key


def newest_series(runs: Sequence[Run]) -> tuple[Series, ...]:
    """The curves of each case, chosen as rows are."""
    chosen = choose([keys_of(run.series) for run in runs])
    return tuple(
        one
        for index, run in enumerate(runs)
        for one in run.series
        if chosen.get((one.bench, one.case, one.config)) == index
    )


def newest_profiles(profiles: Sequence[Profile]) -> tuple[Profile, ...]:
    """The newest of each case and kernel."""
    found: dict[Key, Profile] = {}
    for one in profiles:
        found.setdefault((one.bench, one.case, one.kernel.series), one)
    return tuple(
        sorted(
            found.values(),
            key=lambda one: (place(one.bench, one.case), columns.KERNELS.index(one.kernel)),
        )
    )


def place(bench: str, case: str) -> tuple[int, str, int, str]:
    """Where a case belongs: as the table of benches has it, the unusual and the unknown last."""
    names = [known.name for known in BENCHES]
    usual, _, unusual = case.partition(" ")
    if bench not in names:
        return (len(names), unusual, 0, bench)
    cases = BENCHES[names.index(bench)].known
    index = cases.index(usual) if usual in cases else len(cases)
    return (names.index(bench), unusual, index, "")


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Rows as the table of benches has them; equal places keep their order."""
    return sorted(rows, key=lambda row: place(row.bench, row.case))
