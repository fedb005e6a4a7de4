# SPDX-License-Identifier: GPL-2.0-only
"""Apply what "./swathe export" writes, and compare the result with that of "./swathe apply".

Both ways, "git am" and "patch -p1", must give the same tree to the byte. The patch is also tried
on every other point release below build/src: there it may move, and use fuzz if the result is
still that of "./swathe apply", but no hunk may be rejected.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from swathe.base import process, table, ui
from swathe.base.errors import SwatheError
from swathe.base.paths import scratch
from swathe.base.table import Column
from swathe.base.verdicts import Test, Verdict
from swathe.kernel import apt, build, export, patches, source, tree
from swathe.kernel.source import Source

PART = "export"
PROGRAMS = ("git", "patch")
EXECUTABLE = 0o111
GIT = {
    **patches.PLAIN,
    "GIT_AUTHOR_NAME": "test",
    "GIT_AUTHOR_EMAIL": "test@test.invalid",
    "GIT_COMMITTER_NAME": "test",
    "GIT_COMMITTER_EMAIL": "test@test.invalid",
}
FILE = re.compile(r"^(?:patching|checking) file (\S+)")
HUNK = re.compile(r"^Hunk #\d+ (FAILED|succeeded) at \d+( with fuzz \d+)?")


@dataclass(frozen=True)
class PatchFit:
    """How a patch fitted a tree: the hunks that moved, and those of each file with trouble."""

    moved: int
    fuzzy: Mapping[str, int]
    rejected: Mapping[str, int]
    output: str


@dataclass(frozen=True)
class MadeExport:
    """An export, and what it must do to the tree that it was made from."""

    found: Source
    wanted: tree.Plan
    directory: Path
    flat: Path


def make(found: Source, directory: Path) -> MadeExport:
    wanted = tree.plan(found.tree, found.version)
    return MadeExport(found, wanted, directory, directory / export.write(found, directory).flat)


def run(kernel: build.KernelRequest) -> list[Test]:
    """Export from one source, and try the result on it and on the other point releases."""
    apt.need(PROGRAMS)
    return list(trials(source.get(kernel.kernel, kernel.source)))


def trials(found: Source) -> Iterator[Test]:
    ui.note(f"exporting Linux {found.version}")
    with scratch("export") as stage:
        made, again = make(found, stage / "made"), make(found, stage / "again")
        yield judge("two exports are the same", difference(made.directory, again.directory))
        yield judge(f"git am on Linux {found.version}", by_git(made, stage))
        yield judge(f"patch -p1 on Linux {found.version}", by_patch(made, stage))
        yield from elsewhere(made, stage)


def judge(name: str, complaint: str) -> Test:
    return Test(f"export: {name}", Verdict.FAILED if complaint else Verdict.PASSED, complaint)


def contents(top: Path) -> dict[str, tuple[bytes, bool]]:
    """Return the files of a tree, with their bytes and whether they are executable."""
    return {
        entry.path.removeprefix(f"{top}/"): (
            Path(entry.path).read_bytes(),
            bool(entry.stat().st_mode & EXECUTABLE),
        )
        for entry in tree.walk(top)
    }


def difference(one: Path, other: Path) -> str:
    """Return which files of two trees differ, or an empty string."""
    here, there = contents(one), contents(other)
    odd = sorted(path for path in here.keys() | there.keys() if here.get(path) != there.get(path))
    if not odd:
        return ""
    more = f", and {ui.plural(len(odd) - 1, 'other file')}" if odd[1:] else ""
    return f"{odd[0]} differs{more}"


def copy(found: Source, wanted: tree.Plan, target: Path) -> Path:
    """Copy the stock files that Swathe changes."""
    return patches.copy(found.tree, wanted.changed, target)


def applied(found: Source, stage: Path) -> Path:
    """Return the tree that "./swathe apply" makes."""
    target = stage / f"applied-{found.version}"
    if not target.exists():
        wanted = tree.plan(found.tree, found.version)
        tree.install(copy(found, wanted, target), wanted.all)
    return target


def by_git(made: MadeExport, stage: Path) -> str:
    """Apply the series to a repository of the stock files; return what went wrong."""
    where = copy(made.found, made.wanted, stage / "git")
    series = sorted(str(path) for path in (made.directory / export.SERIES).iterdir())
    for words in (
        ["init", "-q"],
        ["add", "-A"],
        ["commit", "-q", "-m", f"Linux {made.found.version}"],
        ["am", "-q", *series],
    ):
        done = process.run(["git", *words], cwd=where, env=GIT, quiet=True)
        if not done.ok:
            return f"git {words[0]}: {process.last_line(done.output)}"
    return difference(where, applied(made.found, stage))


def by_patch(made: MadeExport, stage: Path) -> str:
    """Apply the flat patch to its own release, where it must fit without moving a hunk."""
    where = copy(made.found, made.wanted, stage / "patch")
    fit = patch(where, made.flat)
    if fit.moved or fit.fuzzy or fit.rejected:
        return f"it does not fit exactly: {process.last_line(fit.output)}"
    return difference(where, applied(made.found, stage))


def patch(where: Path, flat: Path) -> PatchFit:
    argv = ["patch", "-p1", "--force", "--no-backup-if-mismatch", "--input", str(flat)]
    done = process.run(argv, cwd=where, env={"LC_ALL": "C"}, quiet=True)
    return read_fit(done.output)


def read_fit(output: str) -> PatchFit:
    """Read what patch says about the hunks of each file."""
    path, moved = "", 0
    fuzzy: Counter[str] = Counter()
    rejected: Counter[str] = Counter()
    for line in output.splitlines():
        if named := FILE.match(line):
            path = named[1]
        elif hunk := HUNK.match(line):
            rejected[path] += hunk[1] == "FAILED"
            fuzzy[path] += bool(hunk[2])
            moved += hunk[1] != "FAILED" and not hunk[2]
    return PatchFit(moved, +fuzzy, +rejected, output)


def elsewhere(made: MadeExport, stage: Path) -> Iterator[Test]:
    """Try the flat patch on the other releases of its series."""
    rows = []
    for other in source.unpacked(made.found.version.series):
        if other.version != made.found.version:
            ui.note(f"trying {made.flat.name} on Linux {other.version}")
            fit, complaint = on_release(other, stage, made)
            yield judge(f"{made.flat.name} on Linux {other.version}", complaint)
            rows.append([str(other.version), str(fit.moved), said(fit.fuzzy), said(fit.rejected)])
    if rows:
        heads = ("Linux", Column("hunks moved"), "with fuzz", "rejected")
        ui.out.print(table.terminal(table.make(made.flat.name, heads, rows)))


def said(hunks: Mapping[str, int]) -> str:
    """Return files with their numbers of hunks, as a cell of the table."""
    return ", ".join(f"{path} ({number})" for path, number in hunks.items()) or "none"


def on_release(other: Source, stage: Path, made: MadeExport) -> tuple[PatchFit, str]:
    """Apply the flat patch to another release; return how it fitted, and what went wrong."""
    where = copy(other, made.wanted, stage / f"patch-{other.version}")
    fit = patch(where, made.flat)
    for path, number in fit.rejected.items():
        return fit, (
            f"it rejects {ui.plural(number, 'hunk')} of {path}; a patch for that release: "
            f"./swathe export DIR --source {other.tree}"
        )
    return fit, misplaced(other, stage, where)


def misplaced(other: Source, stage: Path, where: Path) -> str:
    """Return how a tree differs from that of "./swathe apply": hunks may be in wrong places."""
    try:
        return difference(where, applied(other, stage))
    except SwatheError as error:
        return f"it applies, but {error}"
