# SPDX-License-Identifier: GPL-2.0-only
"""Turn guests' reports into rows: medians of repeats, with their spread."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from swathe.base.errors import CheckFailed
from swathe.guest.sections import Section

MAIN_METRIC = "instructions"
COUNTER = "stat."  # prefix of mm/unmap counters; a workload prints those that changed
SKIPPED = 4
Key = tuple[str, str, str, str, str]


@dataclass(frozen=True)
class Row:
    """One figure: value is the median of the repeats, spread their maximum minus minimum."""

    bench: str
    case: str
    metric: str
    config: str
    value: int | float
    unit: str
    spread: int | float
    repeats: int


@dataclass(frozen=True)
class Series:
    """The points of one curve, from the last measured repeat."""

    bench: str
    case: str
    config: str
    series: str
    points: tuple[tuple[float, float], ...]
    x_unit: str = ""
    y_unit: str = ""


def metrics(section: Section) -> list[tuple[str, float, str]]:
    """Parse the "= METRIC VALUE UNIT" lines of one run, and add the plugin's counts."""
    found: list[tuple[str, float, str]] = []
    for line in section.lines:
        words = line.split()
        if words[0] != "=":
            continue
        try:
            _, name, value, unit = words
            found.append((name, number(value), unit))
        except ValueError as error:
            raise CheckFailed(f"{' '.join(section.words)}: not a metric: {line!r}") from error
    return found + list(section.counted)


def points(section: Section) -> list[tuple[str, float, float]]:
    """Parse the "~ SERIES X Y" lines of one run."""
    found = []
    for line in section.lines:
        words = line.split()
        if words[0] != "~":
            continue
        try:
            _, name, x, y = words
            found.append((name, number(x), number(y)))
        except ValueError as error:
            raise CheckFailed(f"{' '.join(section.words)}: not a point: {line!r}") from error
    return found


def remarks(sections: Sequence[Section]) -> dict[tuple[str, str], str]:
    """The "# REMARK" line of each bench and case that has one."""
    return {
        (section.words[0], section.words[1]): line.removeprefix("# ")
        for section in sections
        for line in section.lines
        if line.startswith("# ")
    }


def series(sections: Sequence[Section]) -> list[Series]:
    """Collect the points by bench, case, config and series; repeat 0 is the warm-up."""
    found: dict[tuple[str, str, str, str], list[tuple[float, float]]] = {}
    for section in sections:
        bench, case, config, repeat = section.words
        newest: dict[tuple[str, str, str, str], list[tuple[float, float]]] = {}
        for name, x, y in points(section) if repeat != "0" else []:
            newest.setdefault((bench, case, config, name), []).append((x, y))
        found.update(newest)
    return [Series(*key, tuple(values)) for key, values in found.items()]


def number(text: str) -> float:
    """Parse a number: an int if it has no fraction."""
    return int(text) if text.lstrip("-").isdigit() else float(text)


def complaint(section: Section) -> str:
    """Return a failed program's last message, or its status."""
    said = [line for line in section.lines if not line.startswith(("= ", "~ ", "# "))]
    return said[-1] if said else f"status {section.status}"


def skipped(sections: Sequence[Section]) -> list[str]:
    """Return each skipped bench, case and config once, with the reason."""
    found = {
        f"{' '.join(section.words[:3])}: {complaint(section)}"
        for section in sections
        if section.status == SKIPPED
    }
    return sorted(found)


def collect(sections: Sequence[Section]) -> dict[Key, list[float]]:
    """Collect values by bench, case, metric, config and unit; repeat 0 is the warm-up."""
    samples: dict[Key, list[float]] = {}
    for section in sections:
        bench, case, config, repeat = section.words
        if section.status == SKIPPED:
            continue
        if section.status != 0:
            raise CheckFailed(f"{bench} {case} ({config}) failed: {complaint(section)}")
        found = metrics(section)
        if MAIN_METRIC not in {name for name, _, _ in found}:
            raise CheckFailed(f"{bench} {case} ({config}) printed no {MAIN_METRIC}")
        for name, value, unit in found if repeat != "0" else []:
            samples.setdefault((bench, case, name, config, unit), []).append(value)
    add_still_counters(samples)
    require_equal_repeats(samples)
    return samples


def add_still_counters(samples: dict[Key, list[float]]) -> None:
    """Add zeroes for counters that a repeat did not print: they did not change in it."""
    repeats = {
        (bench, case, config): len(values)
        for (bench, case, metric, config, _), values in samples.items()
        if metric == MAIN_METRIC
    }
    for (bench, case, metric, config, _), values in samples.items():
        if metric.startswith(COUNTER):
            values += [0] * (repeats[bench, case, config] - len(values))


def require_equal_repeats(samples: dict[Key, list[float]]) -> None:
    """Raise if a metric lacks values for some repeats: its median would mean little."""
    most = max(map(len, samples.values()), default=0)
    for (bench, case, metric, config, _), values in samples.items():
        if len(values) != most:
            raise CheckFailed(
                f"{bench} {case} ({config}): {len(values)} values of {metric} from {most} repeats"
            )


def summarise(samples: dict[Key, list[float]]) -> list[Row]:
    """Return one row for each figure."""
    return [
        Row(
            bench, case, metric, config,
            statistics.median(values), unit, max(values) - min(values), len(values),
        )
        for (bench, case, metric, config, unit), values in samples.items()
    ]  # fmt: skip
