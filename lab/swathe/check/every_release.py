# SPDX-License-Identifier: GPL-2.0-only
"""Which point releases of Linux every hook fits. Their trees are only read."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from swathe.base import release, results, table, ui
from swathe.base.errors import EnvironmentLacks
from swathe.base.verdicts import Test, Verdict
from swathe.check import golden
from swathe.kernel import hooks, releases, source, tree
from swathe.kernel.hooks import HookMissed
from swathe.kernel.source import Source
from swathe.kernel.version import Version

HEADER = ("Linux", "Debian's package", "spatch", "hooks that fit", "hooked files", "swathe")
NAME = "releases"
# In place of a package.
GIVEN = "a tree or tarball"


@dataclass(frozen=True)
class ReleasesRequest:
    """fetch: get all releases first; keep: write the table to docs/results, too.

    given: a tree or tarball of one of the series, which is tried with them
    """

    fetch: bool = False
    keep: bool = False
    series: str = releases.SERIES
    given: Path | None = None


@dataclass(frozen=True)
class ReleaseRow:
    """How many hooks fit a release. checksum: of all files as the hooks leave them."""

    release: str
    origin: str
    spatch: str
    hooks: int
    misfits: tuple[str, ...]
    checksum: str
    commit: str

    def cells(self) -> tuple[str, ...]:
        fit = f"{self.hooks - len(self.misfits)} of {self.hooks}"
        names = f", not {', '.join(f'`{name}`' for name in self.misfits)}" if self.misfits else ""
        return (
            self.release, self.origin or "–", self.spatch, f"{fit}{names}",
            f"`{self.checksum}`" if self.checksum else "", self.commit,
        )  # fmt: skip


Rows = list[ReleaseRow]


def run(request: ReleasesRequest) -> list[Test]:
    """The golden tests, then every release in build/src."""
    tests = golden.run()
    if request.fetch:
        tests += fetched()
    rows = []
    for item in tried(request):
        row, test = try_hooks(item)
        rows.append(row)
        tests.append(test)
    if rows:
        ui.note(f"results: {record(rows, request.keep)}")
    return tests


def tried(request: ReleasesRequest) -> Iterator[Source]:
    """The sources in build/src, and the given one if it is not among them."""
    here = releases.available()
    yield from here
    if request.given:
        own = source.get(request.series, request.given)
        if own.tree not in {item.tree for item in here}:
            yield own


def fetched() -> list[Test]:
    """Fetch the releases that are missing; those that are there are tried in any case."""
    try:
        return [absent(*entry) for entry in releases.fetch_missing()]
    except EnvironmentLacks as error:
        return [Test("hooks: releases", Verdict.FAILED, str(error))]


def absent(release: Version, reason: str) -> Test:
    return Test(f"hooks: Linux {release}", Verdict.SKIPPED, reason)


def try_hooks(item: Source) -> tuple[ReleaseRow, Test]:
    """Apply all hooks to a release in memory."""
    name = f"hooks: Linux {item.key}"
    count = len(hooks.fitting(hooks.load(), item.version))
    misfits: tuple[str, ...] = ()
    checksum, test = "", Test(name, Verdict.PASSED)
    try:
        wanted = tree.plan(item.tree, item.version)
        count, checksum = len(wanted.steps), digest(wanted.changed)
    except HookMissed as error:
        misfits, test = error.names, Test(name, Verdict.FAILED, str(error))
    package = releases.origin(item) or ("" if item.ours else GIVEN)
    return ReleaseRow(
        str(item.version), package, hooks.spatch_version(), count, misfits, checksum,
        release.commit(),
    ), test  # fmt: skip


def digest(changed: dict[str, bytes]) -> str:
    """Return a checksum of the hooked files, to compare what versions of spatch make of them."""
    whole = hashlib.sha256()
    for path, data in sorted(changed.items()):
        whole.update(f"{path} {len(data)}\n".encode() + data)
    return whole.hexdigest()[:12]


def order(row: ReleaseRow) -> tuple[Version, str, str]:
    return Version.parse(row.release), row.release, row.spatch


def merged(before: Sequence[ReleaseRow], rows: Sequence[ReleaseRow]) -> Iterator[ReleaseRow]:
    """Return the rows in order; a release that was not tried now stays as it was."""
    known = {(row.release, row.spatch): row for row in [*before, *rows]}
    yield from sorted(known.values(), key=order)


def record(rows: Sequence[ReleaseRow], keep: bool) -> Path:
    def make(before: Rows | None) -> tuple[Rows, str]:
        kept = list(merged(before or (), rows))
        return kept, markdown(kept)

    return results.record(NAME, keep, Rows, make)[-1]


def markdown(rows: Sequence[ReleaseRow]) -> str:
    shown = table.markdown(table.of_text(HEADER, [row.cells() for row in rows]), table.as_it_is)
    return (
        f"{results.SPDX}\n# Releases of Linux\n\n"
        "`./swathe test hooks --releases`: how many hooks fit the source of each release of\n"
        f"Linux {releases.SERIES} that Debian's archives have, and of newer kernels (6.18: the "
        "tree that\n--source names), and a\n"
        "checksum of all files as the hooks leave them: it is the same for each version of\n"
        "spatch. Only the sources were read; what was built and booted is in the other tables.\n\n"
        f"{shown}\n"
    )
