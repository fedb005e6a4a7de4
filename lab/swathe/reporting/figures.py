# SPDX-License-Identifier: GPL-2.0-only
"""Read kept figures, and choose the newest of each case when there are several runs."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from swathe.measure.benches import BENCHES
from swathe.measure.calltree import Counts
from swathe.measure.rows import Row
from swathe.reporting import commands

SWITCHED = ("stock", "swathe")
TOTAL = "total"
UNMAP_PATH = "unmap_path"
WRITING = "writing"

Case = tuple[str, str]
# A call path, and the instructions below it.
Branch = tuple[tuple[str, ...], int]
Made = TypeVar("Made")


class Malformed(ValueError):
    """A file that holds no figures, or figures that cannot be read."""


@dataclass(frozen=True)
class RecordedSeries:
    """One curve: how something grew while a case ran."""

    bench: str
    case: str
    config: str
    series: str
    points: tuple[tuple[float, float], ...]
    x_unit: str = ""
    y_unit: str = ""


@dataclass(frozen=True)
class Run:
    """What one call of "./swathe bench" wrote."""

    source: str
    environment: Mapping[str, str]
    rows: tuple[Row, ...]
    series: tuple[RecordedSeries, ...] = ()
    skipped: tuple[str, ...] = ()

    @property
    def date(self) -> str:
        return self.environment.get("date", "")


@dataclass(frozen=True)
class ProfileConfig:
    """One config's counts: of each function itself, and of groups of functions."""

    pages: float
    functions: Mapping[str, Counts]
    groups: Mapping[str, Counts]
    tree: tuple[Branch, ...] = ()

    def total(self) -> Counts:
        return self.groups.get(TOTAL) or sum(self.functions.values(), Counts())


@dataclass(frozen=True)
class Profile:
    """What one call of "./swathe profile" wrote."""

    source: str
    bench: str
    case: str
    environment: Mapping[str, str]
    configs: Mapping[str, ProfileConfig]

    @property
    def date(self) -> str:
        return self.environment.get("date", "")


@dataclass(frozen=True)
class Figures:
    """The chosen rows; origins says which of the runs each bench, case and config is from."""

    runs: tuple[Run, ...] = ()
    rows: tuple[Row, ...] = ()
    series: tuple[RecordedSeries, ...] = ()
    profiles: tuple[Profile, ...] = ()
    origins: Mapping[tuple[str, str, str], int] = field(default_factory=dict)

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


def made(kind: type[Made], data: Mapping[str, Any], what: str) -> Made:
    """A dataclass from a JSON object that has its fields, and perhaps more."""
    known = {each.name for each in fields(kind)}  # type: ignore[arg-type]
    try:
        return kind(**{name: value for name, value in data.items() if name in known})
    except TypeError as error:
        raise Malformed(f"{what}: {str(error).partition(') ')[2] or error}") from error


def read_row(data: Mapping[str, Any]) -> Row:
    row = made(Row, data, "a row")
    for number in (row.value, row.spread, row.repeats):
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise Malformed(f"the row {row.bench} {row.case} {row.metric} holds {number!r}")
    return row


def read_series(data: Mapping[str, Any]) -> RecordedSeries:
    one = made(RecordedSeries, data, "a series")
    try:
        points = tuple((float(x), float(y)) for x, y in one.points)
    except (TypeError, ValueError) as error:
        raise Malformed(f"the series {one.bench} {one.case} has a point that is none") from error
    names = (one.bench, one.case, one.config, one.series)
    return RecordedSeries(*names, points, str(one.x_unit), str(one.y_unit))


def read_environment(data: Mapping[str, Any]) -> dict[str, str]:
    return {str(name): str(value) for name, value in data.get("environment", {}).items()}


def read_run(data: Mapping[str, Any], source: str) -> Run:
    return Run(
        str(data.get("source", source)),
        read_environment(data),
        tuple(map(read_row, data["rows"])),
        tuple(map(read_series, data.get("series", ()))),
        tuple(map(str, data.get("skipped", ()))),
    )


def read_counts(data: Mapping[str, Any]) -> Counts:
    return made(Counts, data, "a profile's counts")


def read_profile_config(data: Mapping[str, Any]) -> ProfileConfig:
    groups = {
        name: read_counts(data[name]) for name in (TOTAL, UNMAP_PATH, WRITING) if name in data
    }
    named = {str(name): read_counts(each) for name, each in data["functions"].items()}
    tree = tuple((tuple(map(str, path)), int(count)) for path, count in data.get("tree", ()))
    return ProfileConfig(float(data["pages"]), named, groups, tree)


def read_profile(data: Mapping[str, Any], source: str) -> Profile:
    return Profile(
        str(data.get("source", source)),
        str(data["bench"]),
        str(data["case"]),
        read_environment(data),
        {str(name): read_profile_config(each) for name, each in data["configs"].items()},
    )


def parse(data: object, source: str) -> list[Run | Profile]:
    """One file: a bench's figures, a profile, or a recorded collection of both."""
    if not isinstance(data, dict):
        raise Malformed("it is not a JSON object")
    try:
        if "rows" in data:
            return [read_run(data, source)]
        if "configs" in data:
            return [read_profile(data, source)]
        if "runs" in data:
            found: list[Run | Profile] = [read_run(each, source) for each in data["runs"]]
            return found + [read_profile(each, source) for each in data.get("profiles", ())]
    except KeyError as error:
        raise Malformed(f"{error} is missing") from error
    except (AttributeError, TypeError) as error:
        raise Malformed(f"it is not built like figures ({error})") from error
    raise Malformed("it holds no figures")


def load(path: Path, shown: str) -> list[Run | Profile]:
    """One file; shown is its name as the page will say it."""
    try:
        return parse(json.loads(path.read_text()), shown)
    except json.JSONDecodeError as error:
        raise Malformed(f"it is not JSON ({error})") from error
    except UnicodeDecodeError as error:
        raise Malformed("it is not text") from error


def told_apart(one: Run | Profile) -> Run | Profile:
    """An unusual run's cases carry what was unusual: they are not to be mixed with others."""
    unusual = commands.setup(one.environment.get("command", ""))
    if not unusual:
        return one
    if isinstance(one, Profile):
        return replace(one, case=f"{one.case} {unusual}")
    return replace(
        one,
        rows=tuple(replace(row, case=f"{row.case} {unusual}") for row in one.rows),
        series=tuple(replace(each, case=f"{each.case} {unusual}") for each in one.series),
    )


def plain(case: str) -> str:
    """A case without what was unusual: no case has a space of its own."""
    return case.partition(" ")[0]


def merge(found: Iterable[Run | Profile]) -> Figures:
    """The newest figures of each case; only runs that something is taken from are kept."""
    every = sorted(map(told_apart, found), key=lambda one: one.date, reverse=True)
    runs = [one for one in every if isinstance(one, Run)]
    chosen = choose(runs)
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


def choose(runs: Sequence[Run]) -> dict[tuple[str, str, str], int]:
    """For each bench, case and config the run to take: runs are newest first.

    Stock and swathe stay together, for one boot measured them. Other kernels'
    columns are taken from an older run where the newest has none.
    """
    has = [{(row.bench, row.case, row.config) for row in run.rows} for run in runs]
    chosen: dict[tuple[str, str, str], int] = {}
    for key in dict.fromkeys(key for keys in has for key in keys):
        pair = {(*key[:2], config) for config in SWITCHED} if key[2] in SWITCHED else {key}
        first = next(index for index, keys in enumerate(has) if pair & keys)
        if key in has[first]:
            chosen[key] = first
    return chosen


def newest_series(runs: Sequence[Run]) -> tuple[RecordedSeries, ...]:
    """All curves of a case from the newest run that has any."""
    found: dict[tuple[str, str, str], list[RecordedSeries]] = {}
    for run in runs:
        here: dict[tuple[str, str, str], list[RecordedSeries]] = {}
        for one in run.series:
            here.setdefault((one.bench, one.case, one.series), []).append(one)
        found = {**here, **found}
    return tuple(one for curves in found.values() for one in curves)


def newest_profiles(profiles: Sequence[Profile]) -> tuple[Profile, ...]:
    found: dict[Case, Profile] = {}
    for one in profiles:
        found.setdefault((one.bench, one.case), one)
    return tuple(sorted(found.values(), key=lambda one: place(one.bench, one.case)))


def place(bench: str, case: str) -> tuple[int, str, int, str]:
    """Where a case belongs: as the table of benches has it, the unusual and the unknown last."""
    names = [known.name for known in BENCHES]
    usual, _, unusual = case.partition(" ")
    if bench not in names:
        return (len(names), unusual, 0, bench)
    cases = BENCHES[names.index(bench)].cases
    index = cases.index(usual) if usual in cases else len(cases)
    return (names.index(bench), unusual, index, "")


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Rows as the table of benches has them; equal places keep their order."""
    return sorted(rows, key=lambda row: place(row.bench, row.case))
