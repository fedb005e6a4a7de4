# SPDX-License-Identifier: GPL-2.0-only
"""Patches of stock Linux for mainline: mainline/series says which.

They are made as hooks are, by semantic patches, but from the untouched newest kernel, and contain
nothing of Swathe: each is what a maintainer could take. They are several series, named by letters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
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
Patches of Linux $kernel, of which nothing was sent

Each directory is a series of its own for the untouched tree. In a git checkout of Linux $kernel,
with the directory of this file as DIR:

    git am DIR/a/*.patch

A patch applies after those before it, and without those that it does not need.

What a patch says below its "---" stays out of the commit. To be sent, "From" and "Signed-off-by"
must name who sends it. Made by Swathe $swathe, whose docs/upstream.md
says more.

$table
GPL-2.0-only.
""")


class FilePart(SemanticPatch, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a patch does to one file; mainline/<name>.cocci is the rule."""

    kind: ClassVar[str] = "patch"
    as_written: ClassVar[bool] = True

    @property
    def rule(self) -> Path:
        return MAINLINE / f"{self.name}.cocci"


class Selftest(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a patch of a kernel's own test must show: cases fail without the patches that it shows.

    cases: their names, as the program prints them; args: the program's arguments
    """

    shows: tuple[str, ...]
    cases: tuple[str, ...]
    args: tuple[str, ...] = ()


class MainlinePatch(FilePart, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One entry of mainline/series: what it says of itself is its part of the first file."""

    row: str
    subject: str
    message: str
    scene: str
    part: tuple[FilePart, ...] = ()
    needs: tuple[str, ...] = ()
    compiles: tuple[str, ...] = ()
    fixes: tuple[str, ...] = ()
    note: str = ""
    selftest: Selftest | None = None

    @property
    def letter(self) -> str:
        """The series that it belongs to."""
        return self.row[0].lower()

    @property
    def parts(self) -> tuple[FilePart, ...]:
        return (self, *self.part)

    @property
    def objects(self) -> tuple[str, ...]:
        """The source files whose objects show that it compiles; a kernel's own test has none."""
        if self.selftest:
            return ()
        changed = tuple(part.file for part in self.parts if part.file.endswith(".c"))
        return self.compiles or changed

    @property
    def commit_message(self) -> str:
        """The message without its subject and without who signs."""
        return filled(self.message)


class MainlineSeries(Struct, frozen=True, forbid_unknown_fields=True):
    """All patches, in order, and the kernel that they are for."""

    kernel: str
    patch: tuple[MainlinePatch, ...]

    @property
    def letters(self) -> list[str]:
        return sorted({patch.letter for patch in self.patch})

    def lettered(self, letter: str) -> list[MainlinePatch]:
        """Return a series: the patches of this letter, and what they need of others."""
        return self.with_needs([patch for patch in self.patch if patch.letter == letter])

    def with_needs(self, wanted: Sequence[MainlinePatch]) -> list[MainlinePatch]:
        """Return patches and what they need, in order."""
        named = {patch.name: patch for patch in self.patch}
        found = list(wanted)
        for patch in found:
            found += [named[name] for name in patch.needs if named[name] not in found]
        return [patch for patch in self.patch if patch in found]


@dataclass(frozen=True)
class MadePatch:
    """A patch, and the texts of its files before it and after it."""

    entry: MainlinePatch
    steps: tuple[PatchStep[FilePart], ...]

    @property
    def files(self) -> dict[str, bytes]:
        """The files that it changes, as they are after it."""
        return {step.hook.file: step.after.encode() for step in self.steps}


@dataclass(frozen=True)
class MainlineOrigin(PatchOrigin):
    """What the mails say of where they come from: of Swathe, nothing."""

    entries: dict[str, MainlinePatch]

    @property
    def signature(self) -> str:
        return f"Linux {self.kernel}"

    def message(self, patch: Patch) -> str:
        entry = self.entries[patch.name]
        tags = [f"Fixes: {commit}" for commit in entry.fixes]
        tags.append(f"Signed-off-by: {self.release.authors[0]}")
        below = f"---\n{filled(entry.note)}\n" if entry.note else ""
        return "\n\n".join([patch.subject, patch.message, "\n".join(tags)]) + f"\n{below}"


def filled(text: str) -> str:
    return "\n\n".join(fill(paragraph) for paragraph in text.strip().split("\n\n"))


def parse(text: str) -> MainlineSeries:
    return reading.convert(reading.toml(text, "mainline/series"), MainlineSeries,
                           "mainline/series")  # fmt: skip


def load() -> MainlineSeries:
    return parse(SERIES.read_text())


def require_newest(kernel: Version, series: MainlineSeries) -> None:
    if kernel.series != series.kernel:
        raise UsageError(
            f"mainline/series is for Linux {series.kernel}, not {kernel}: give its source"
        )


def make(found: Source, wanted: Sequence[MainlinePatch]) -> list[MadePatch]:
    """Make patches of an untouched tree, one after another."""
    require_newest(found.version, load())
    if tree.already_applied(found.tree):
        raise UsageError(f"{found.tree} contains Swathe: give an untouched tree")
    parts = list(chain.from_iterable(patch.parts for patch in wanted))
    steps = {step.hook.name: step
             for step in hooks.steps(found.tree, parts, found.version, tree.CACHE)}  # fmt: skip
    return [MadePatch(patch, tuple(steps[part.name] for part in patch.parts)) for patch in wanted]


def together(made: Sequence[MadePatch]) -> dict[str, bytes]:
    """Return the files that patches change, as they are after the last one."""
    return {path: data for patch in made for path, data in patch.files.items()}


def chosen(names: Sequence[str]) -> list[MainlinePatch]:
    """Return patches, which are named by themselves or by the letter of their series, in order,
    with what they need.
    """
    series = load()
    known = [*series.letters, *(patch.name for patch in series.patch)]
    odd = [name for name in names if name not in known]
    if odd:
        raise UsageError(f"there is no patch {odd[0]!r}; there are {', '.join(known)}")
    return series.with_needs(
        [patch for patch in series.patch if {patch.name, patch.letter} & set(names)]
    )


def prepare(found: Source, names: Sequence[str]) -> tree.Prepared:
    """Update a tree of its own: the untouched one with these patches."""
    return tree.update(found, f"{found.key}-patched", together(make(found, chosen(names))))


def as_patch(made: MadePatch) -> Patch:
    entry = made.entry
    return Patch(entry.name, entry.subject, entry.commit_message, made.files)


def origin(found: Source, made: Sequence[MadePatch]) -> MainlineOrigin:
    return MainlineOrigin(
        release.current(), release.name(), str(found.version),
        export.base_commit(found.tree, found.version, sorted(together(made))),
        {patch.entry.name: patch.entry for patch in made},
    )  # fmt: skip


def mails(found: Source, made: Sequence[MadePatch]) -> dict[str, bytes]:
    """Return the mails of a series, by the names of their files."""
    return patches.mails(found.tree, list(map(as_patch, made)), origin(found, made))


def rows(letter: str, made: Sequence[MadePatch], names: Sequence[str]) -> str:
    """Return the lines of the README on one series."""
    return "\n".join(
        f"{letter}/{name}\n    {patch.entry.subject}\n    shown: {patch.entry.scene}\n"
        for name, patch in zip(names, made, strict=True)
    )


def write(found: Source, directory: Path) -> int:
    """Write everything into a new or an empty directory, whole or not at all; return how many."""
    series, table, count = load(), [], 0
    with new_directory(directory) as target:
        for letter in series.letters:
            made = make(found, series.lettered(letter))
            files = mails(found, made)
            (target / letter).mkdir()
            for name, data in files.items():
                (target / letter / name).write_bytes(data)
            table.append(rows(letter, made, list(files)))
            count += len(files)
        (target / README).write_text(EXPLANATION.substitute(
            kernel=found.version, swathe=release.name(), table="\n".join(table)
        ))  # fmt: skip
    return count
