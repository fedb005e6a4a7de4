# SPDX-License-Identifier: GPL-2.0-only
"""Which files of figures a report is made from."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from swathe.base import results, ui
from swathe.base.errors import EnvironmentLacks, UsageError
from swathe.measure import figures
from swathe.measure.figures import Figures, Malformed, Profile, Run

KEPT = ("bench-*.json", "profile-*.json")
# Verdicts of tests lie beside the figures.
VERDICTS = ("configs-*.json", "kselftests-*.json", "kcsan-*.json", "proof-*.json")


@dataclass(frozen=True)
class ChosenFigures:
    """The chosen figures, and a sentence about where they are from."""

    figures: Figures
    origin: str


def given(paths: Sequence[Path]) -> ChosenFigures:
    """The figures of these files, all of which must be readable."""
    found: list[Run | Profile] = []
    for path in paths:
        try:
            found += figures.load(path, path.name)
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}") from error
        except Malformed as error:
            raise UsageError(f"{path}: {error}") from error
    names = ", ".join(path.name for path in paths)
    return some(found, f"Figures from {names}.")


def newest() -> ChosenFigures:
    """What was measured here, or else what is recorded."""
    kept = [path for pattern in KEPT for path in sorted(results.HERE.glob(pattern))]
    if found := readable(kept):
        return some(found, "The newest figures kept in build/results, bench by bench.")
    verdicts = {path for pattern in VERDICTS for path in results.KEPT.glob(pattern)}
    recorded = sorted(set(results.KEPT.glob("*.json")) - verdicts)
    names = ", ".join(f"docs/results/{path.name}" for path in recorded)
    return some(
        readable(recorded),
        f"Nothing was measured on this machine: these are the recorded figures of {names}.",
    )


def readable(paths: Sequence[Path]) -> list[Run | Profile]:
    """The figures of those files that hold some; a remark about each other one."""
    found: list[Run | Profile] = []
    for path in paths:
        try:
            found += figures.load(path, path.name)
        except (Malformed, OSError) as error:
            ui.remark(f"left out: {path.name}: {error}")
    return found


def some(found: Sequence[Run | Profile], origin: str) -> ChosenFigures:
    merged = figures.merge(found)
    if not merged.rows and not merged.profiles:
        raise EnvironmentLacks("there are no figures to report: run ./swathe bench first")
    return ChosenFigures(merged, origin)
