# SPDX-License-Identifier: GPL-2.0-only
"""Corrections of stock Linux as patches for mainline: mainline/series says which.

They are made as hooks are, by semantic patches, but from the untouched newest kernel, and contain
nothing of Swathe: each is what a maintainer could take.
"""

from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import ClassVar

from msgspec import Struct

from swathe.base import reading, release
from swathe.base.errors import UsageError
from swathe.base.paths import MAINLINE, new_directory
from swathe.kernel import export, hooks, patches, tree
from swathe.kernel.hooks import PatchStep, SemanticPatch
from swathe.kernel.patch_series import fill
from swathe.kernel.patches import Patch, PatchOrigin
from swathe.kernel.source import Source
from swathe.kernel.version import Version

SERIES = MAINLINE / "series"
README = "README.txt"
BY_READING = "by reading"

EXPLANATION = Template("""\
Corrections of Linux $kernel, of which nothing was sent

Each patch stands alone: it applies to the untouched tree, and after those before it.
In a git checkout of Linux $kernel, with the directory of this file as DIR:

    git am DIR/*.patch

What a patch says below its "---" stays out of the commit. To be sent, "From" and "Signed-off-by"
must name who sends it. Made by Swathe $swathe, whose docs/upstream.md
says more.

$table
GPL-2.0-only.
""")


class Correction(SemanticPatch, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One entry of mainline/series; mainline/<name>.cocci is the rule."""

    kind: ClassVar[str] = "patch"
    as_written: ClassVar[bool] = True

    row: str
    subject: str
    message: str
    scene: str
    fixes: tuple[str, ...] = ()
    note: str = ""

    @property
    def rule(self) -> Path:
        return MAINLINE / f"{self.name}.cocci"

    @property
    def commit_message(self) -> str:
        """The message without its subject and without who signs."""
        return filled(self.message)


class CorrectionSeries(Struct, frozen=True, forbid_unknown_fields=True):
    """All corrections, in order, and the kernel that they are for."""

    kernel: str
    patch: tuple[Correction, ...]


@dataclass(frozen=True)
class MainlineOrigin(PatchOrigin):
    """What the mails say of where they come from: of Swathe, nothing."""

    notes: dict[str, str]
    fixes: dict[str, tuple[str, ...]]

    @property
    def signature(self) -> str:
        return f"Linux {self.kernel}"

    def message(self, patch: Patch) -> str:
        tags = [f"Fixes: {commit}" for commit in self.fixes.get(patch.name, ())]
        tags.append(f"Signed-off-by: {self.release.authors[0]}")
        note = self.notes.get(patch.name, "")
        below = f"---\n{filled(note)}\n" if note else ""
        return "\n\n".join([patch.subject, patch.message, "\n".join(tags)]) + f"\n{below}"


def filled(text: str) -> str:
    return "\n\n".join(fill(paragraph) for paragraph in text.strip().split("\n\n"))


def parse(text: str) -> CorrectionSeries:
    return reading.convert(reading.toml(text, "mainline/series"), CorrectionSeries,
                           "mainline/series")  # fmt: skip


def load() -> CorrectionSeries:
    return parse(SERIES.read_text())


def require_newest(kernel: Version, series: CorrectionSeries) -> None:
    if kernel.series != series.kernel:
        raise UsageError(
            f"mainline/series is for Linux {series.kernel}, not {kernel}: give its source"
        )


def steps(found: Source) -> list[PatchStep[Correction]]:
    """Make the corrections of an untouched tree, one after another."""
    series = load()
    require_newest(found.version, series)
    if tree.already_applied(found.tree):
        raise UsageError(f"{found.tree} contains Swathe: give an untouched tree")
    return hooks.steps(found.tree, list(series.patch), found.version, tree.CACHE)


def alone(found: Source, patch: Correction) -> bytes:
    """Return the file that a correction changes as it is with this correction alone."""
    before = hooks.stock_text(found.tree, patch, found.version)
    return hooks.applied(patch, before, found.version, tree.CACHE).encode()


def as_patch(step: PatchStep[Correction]) -> Patch:
    entry = step.hook
    return Patch(entry.name, entry.subject, entry.commit_message, {entry.file: step.after.encode()})


def origin(found: Source, made: list[PatchStep[Correction]]) -> MainlineOrigin:
    files = sorted({step.hook.file for step in made})
    return MainlineOrigin(
        release.current(), release.name(), str(found.version),
        export.base_commit(found.tree, found.version, files),
        {step.hook.name: step.hook.note for step in made},
        {step.hook.name: step.hook.fixes for step in made},
    )  # fmt: skip


def mails(found: Source, made: list[PatchStep[Correction]]) -> dict[str, bytes]:
    """Return the mails of the series, by the names of their files."""
    return patches.mails(found.tree, list(map(as_patch, made)), origin(found, made))


def explanation(found: Source, made: list[PatchStep[Correction]], names: list[str]) -> str:
    rows = [
        f"{name}\n    {step.hook.subject}\n    shown: {step.hook.scene}\n"
        for name, step in zip(names, made, strict=True)
    ]
    return EXPLANATION.substitute(
        kernel=found.version, swathe=release.name(), table="\n".join(rows)
    )


def write(found: Source, directory: Path) -> int:
    """Write everything into a new or an empty directory, whole or not at all; return how many."""
    made = steps(found)
    files = mails(found, made)
    with new_directory(directory) as target:
        for name, data in files.items():
            (target / name).write_bytes(data)
        (target / README).write_text(explanation(found, made, list(files)))
    return len(files)
