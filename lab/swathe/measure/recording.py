# SPDX-License-Identifier: GPL-2.0-only
"""The chosen figures as one file of docs/results: only what the report shows."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from swathe.base import release, results
from swathe.base.errors import CheckFailed
from swathe.measure import commands, memory
from swathe.measure.calltree import Counts
from swathe.measure.figures import BESIDE, Figures, Profile, ProfileConfig, Run, alone, plain

# Functions below this share of every config's instructions are recorded as one.
NEGLIGIBLE = 0.001
REST = "(the rest)"


def anonymous(figures: Figures) -> Figures:
    """The same, without the paths of the machine that measured."""

    def hide(environment: Mapping[str, str]) -> dict[str, str]:
        about = dict(environment)
        if "command" in about:
            about["command"] = commands.anonymous(about["command"])
        return about

    return replace(
        figures,
        runs=tuple(replace(one, environment=hide(one.environment)) for one in figures.runs),
        profiles=tuple(replace(one, environment=hide(one.environment)) for one in figures.profiles),
    )


def require_committed(figures: Figures) -> None:
    """Raise if a figure was measured with code that no commit has."""
    measured: tuple[Run | Profile, ...] = (*figures.runs, *figures.profiles)
    for one in measured:
        if one.environment.get("swathe", "").endswith(release.DIRTY):
            raise CheckFailed(
                f"{one.source} is of changes that were not committed: commit and measure again"
            )


def elsewhere(figures: Figures, where: Path, name: str) -> tuple[Path, ...]:
    """The other recorded collections of a folder that hold some of these figures."""
    found: tuple[Run | Profile, ...] = (*figures.runs, *figures.profiles)
    paths = {Path(one.recorded) for one in found if one.recorded}
    return tuple(
        sorted(path for path in paths if path.parent == where.resolve() and path.stem != name)
    )


def text(figures: Figures, beside: Collection[Path] = ()) -> str:
    """Only what the report shows, a row a line; what other collections hold is only named."""

    def own(one: Run | Profile) -> bool:
        return Path(one.recorded) not in beside

    runs = [run_json(figures, index) for index, run in enumerate(figures.runs) if own(run)]
    data: dict[str, Any] = {
        "runs": runs, "profiles": [profile_json(each) for each in figures.profiles if own(each)]
    }  # fmt: skip
    named = {BESIDE: [path.stem for path in beside]} if beside else {}
    return results.json_text(data | named) + "\n"


def run_json(figures: Figures, index: int) -> dict[str, Any]:
    """One run, as far as it was chosen."""
    run = figures.runs[index]
    rows = [
        asdict(alone(row, run.kernel))
        for row in figures.taken(index)
        if not row.metric.startswith(memory.PREFIX) or row.metric in memory.SHOWN
    ]
    series = [asdict(alone(one, run.kernel)) for one in run.series if one in figures.series]
    return {**origin(run), "rows": rows, "series": series, "skipped": list(run.skipped)}


def origin(one: Run | Profile) -> dict[str, Any]:
    return {"source": one.source, "environment": dict(one.environment)}


def profile_json(profile: Profile) -> dict[str, Any]:
    """One profile; what hardly counts is added up."""
    small = negligible(profile.configs.values())
    within = profile.kernel.within_run
    configs = {within(name): config_json(each, small) for name, each in profile.configs.items()}
    return {
        "bench": profile.bench,
        "case": plain(profile.case),
        **origin(profile),
        "configs": configs,
    }


def negligible(configs: Iterable[ProfileConfig]) -> set[str]:
    """Functions that are too cheap to be named in any of the configs."""
    found: dict[str, bool] = {}
    for config in configs:
        least = NEGLIGIBLE * config.total().instructions
        for name, counts in config.functions.items():
            found[name] = found.get(name, True) and counts.instructions < least
    return {name for name, small in found.items() if small}


def config_json(config: ProfileConfig, small: set[str]) -> dict[str, Any]:
    named = {name: asdict(each) for name, each in config.functions.items() if name not in small}
    rest = [each for name, each in config.functions.items() if name in small]
    if rest:
        named[REST] = asdict(sum(rest, Counts()))
    groups = {name: asdict(each) for name, each in config.groups.items()}
    made = {"pages": config.pages, "functions": named, **groups}
    return made | ({"tree": config.tree} if config.tree else {})
