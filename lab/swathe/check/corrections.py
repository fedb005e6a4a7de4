# SPDX-License-Identifier: GPL-2.0-only
"""The patches of "./swathe export --mainline": what a maintainer's tools would say of them.

Each must apply alone to the untouched tree, with what it needs, and each series in order, by
"git am"; none may say anything of Swathe; scripts/checkpatch.pl --strict must find nothing. Their
objects are compiled only if asked for: alone and in order, without a new warning at W=1, as for
every architecture that there is a compiler for.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from swathe.base import process, processors, ui
from swathe.base.errors import CheckFailed
from swathe.base.paths import BUILD, locked, scratch
from swathe.base.verdicts import Test, Verdict
from swathe.check import checkpatch, exported
from swathe.kernel import apt, build, config, hooks, mainline, patches, source, tree
from swathe.kernel.arch import ARCHES
from swathe.kernel.build import KernelRequest
from swathe.kernel.mainline import MadePatch, MainlinePatch
from swathe.kernel.source import Source

PART = "mainline"
PROGRAMS = ("git", "perl")
# There is no history of Linux to find commits in.
OPTIONS = ("--strict", "--no-tree", "--terse", "--show-types", "--ignore", "UNKNOWN_COMMIT_ID")
FORBIDDEN = re.compile(r"swathe|CONFIG_UNMAP|linux/unmap|mm/unmap|\bhooks?\b", re.IGNORECASE)
# Who signs is named here.
NAMES = re.compile(r"^(?:From|Signed-off-by): .*$", re.MULTILINE)
FOUND = re.compile(r"^\S+:(\d+): [A-Z]+:(\w+): (.*)$", re.MULTILINE)
FLAVOR, VARIANT = "debug", "light"
COMPLAINT = re.compile(r"^(\S+?)(?::\d+)*: (?:warning|error): (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class WrittenSeries:
    """A series that was written, and what each of its patches must do to the untouched tree."""

    found: Source
    letter: str
    made: tuple[MadePatch, ...]
    mails: tuple[Path, ...]

    @property
    def pairs(self) -> list[tuple[Path, MadePatch]]:
        """The mails, each with its patch; not of patches that belong to another series."""
        every = zip(self.mails, self.made, strict=True)
        return [(mail, patch) for mail, patch in every if patch.entry.letter == self.letter]

    @property
    def stock(self) -> dict[str, bytes]:
        paths = sorted(mainline.together(self.made))
        return {path: (self.found.tree / path).read_bytes() for path in paths}

    def mails_of(self, patches: Sequence[MadePatch]) -> list[Path]:
        names = {patch.entry.name for patch in patches}
        every = zip(self.mails, self.made, strict=True)
        return [mail for mail, patch in every if patch.entry.name in names]


def written(found: Source, directory: Path) -> list[WrittenSeries]:
    """Write all series, and read them again."""
    mainline.write(found, directory)
    series = mainline.load()
    return [
        WrittenSeries(
            found, letter, tuple(mainline.make(found, series.lettered(letter))),
            tuple(sorted((directory / letter).glob("*.patch"))),
        )
        for letter in series.letters
    ]  # fmt: skip


def alone(found: Source, patch: MainlinePatch) -> list[MadePatch]:
    """Make a patch of the untouched tree with nothing but what it needs."""
    return mainline.make(found, mainline.load().with_needs([patch]))


def run(asked: KernelRequest, compiles: bool) -> list[Test]:
    """Check the patches that are made from the newest kernel: its own source, if that is given."""
    apt.need(PROGRAMS)
    newest = mainline.load().kernel
    given = asked.source if asked.kernel == newest else None
    return list(trials(source.get(newest, given), compiles))


def trials(found: Source, compiles: bool = False) -> Iterator[Test]:
    ui.note(f"making the patches for Linux {found.version}")
    with scratch(PART) as stage:
        every = written(found, stage / "made")
        for series in every:
            yield judge(f"{series.letter}, in order", in_order(series, stage))
            for path, patch in series.pairs:
                name = patch.entry.name
                yield judge(f"{name} applies alone", by_itself(series, patch.entry, stage))
                yield judge(f"{name} in words", forbidden(path.read_text()))
                yield judge(f"{name} in style", unclean(found, path))
        yield judge("all series after each other", all_fit(found))
        if compiles:
            yield from compiled(found, every)


def judge(name: str, complaint: str) -> Test:
    return Test(f"{PART}: {name}", Verdict.FAILED if complaint else Verdict.PASSED, complaint)


def forbidden(mail: str) -> str:
    """Return what a mail says of Swathe, or an empty string."""
    text = NAMES.sub("", mail)
    said = [match[0] for match in FORBIDDEN.finditer(text)]
    said += [hook.name for hook in hooks.load() if hook.name in text]
    return f"it says {said[0]}" if said else ""


def unclean(found: Source, mail: Path) -> str:
    """Return what the kernel's own script finds in a mail."""
    argv = ["perl", str(found.tree / checkpatch.SCRIPT), *OPTIONS, mail.name]
    done = process.run(argv, cwd=mail.parent, env=checkpatch.ALONE, quiet=True)
    lines = [f"line {line}: {kind}: {said}" for line, kind, said in FOUND.findall(done.output)]
    if not done.ok and not lines:
        return process.last_line(done.output)
    return "; ".join(lines)


def git_am(series: WrittenSeries, where: Path, mails: Sequence[Path]) -> str:
    """Apply mails to a repository of the stock files; return what went wrong."""
    patches.copy(series.found.tree, series.stock, where)
    for words in (
        ["init", "-q"],
        ["add", "-A"],
        ["commit", "-q", "-m", f"Linux {series.found.version}"],
        ["am", "-q", *map(str, mails)],
    ):
        done = process.run(["git", *words], cwd=where, env=exported.GIT, quiet=True)
        if not done.ok:
            return f"git {words[0]}: {process.last_line(done.output)}"
    return ""


def differs(where: Path, wanted: Mapping[str, bytes]) -> str:
    odd = [path for path, data in wanted.items() if (where / path).read_bytes() != data]
    return f"{odd[0]} differs from what the semantic patch makes" if odd else ""


def in_order(series: WrittenSeries, stage: Path) -> str:
    where = stage / series.letter
    wanted = series.stock | mainline.together(series.made)
    return git_am(series, where, series.mails) or differs(where, wanted)


def by_itself(series: WrittenSeries, patch: MainlinePatch, stage: Path) -> str:
    where = stage / patch.name
    try:
        made = alone(series.found, patch)
    except CheckFailed as error:
        return str(error).partition("\n")[0]
    wanted = series.stock | mainline.together(made)
    return git_am(series, where, series.mails_of(made)) or differs(where, wanted)


def all_fit(found: Source) -> str:
    """Whether each series can still be made where those before it were applied."""
    try:
        mainline.make(found, mainline.load().patch)
    except CheckFailed as error:
        return str(error).partition("\n")[0]
    return ""


def complaints(output: str) -> set[str]:
    """Return the warnings and errors of a compiler, without their lines."""
    return {f"{file}: {words}" for file, words in COMPLAINT.findall(output)}


def compiled(found: Source, every: Sequence[WrittenSeries]) -> Iterator[Test]:
    """Compile the objects that the patches change, for each architecture."""
    for arch in ARCHES:
        request = KernelRequest(
            str(found.version.series), flavor=FLAVOR, arch=arch, pristine=True, variant=VARIANT
        )
        apt.need(request.target.packages)
        with locked(f"{PART}-{arch}"), processors.one():
            compiler = Compiler(found, every, request)
            for series in every:
                yield from compiler.tests(series)


class Compiler:
    """Compiles single objects of a tree of hard links, in which files are replaced."""

    def __init__(
        self, found: Source, every: Sequence[WrittenSeries], request: KernelRequest
    ) -> None:
        self.found, self.arch = found, request.arch
        self.tree = tree.TREES / f"{found.key}-{PART}"
        self.out = BUILD / "out" / f"{found.key}-{PART}-{request.arch}"
        self.files = {path: data for series in every for path, data in series.stock.items()}
        tree.mirror(found, self.tree, set(self.files))
        self.put({})
        self.make = build.make_command(self.tree, self.out, request.target)
        config.configure(self.make, self.tree, self.out, request.config_flavor)
        paths = {path for series in every for patch in series.made for path in patch.entry.objects}
        self.stock = {path: self.compile(path) for path in sorted(paths)}

    def put(self, files: Mapping[str, bytes]) -> None:
        """Make the tree the stock one with these files replaced."""
        tree.write(self.tree, self.files | dict(files))

    def compile(self, path: str) -> set[str]:
        """Compile one object; return its warnings and errors."""
        log = BUILD / "log" / f"{self.out.name}.log"
        target = str(Path(path).with_suffix(".o"))
        (self.out / target).unlink(missing_ok=True)
        argv = [*self.make, "W=1", target]
        status = process.stream(argv, log, lambda _: None, build.REPRODUCIBLE)
        text = log.read_text(errors="replace")
        return complaints(text) or ({process.last_line(text)} if status else set())

    def test(self, name: str, patch: MainlinePatch) -> Test:
        new = {said for path in patch.objects for said in self.compile(path) - self.stock[path]}
        return judge(f"{name} compiles ({self.arch})", "; ".join(sorted(new)))

    def tests(self, series: WrittenSeries) -> Iterator[Test]:
        """Compile each patch alone and in order; mainline_cases.py compiles the programs."""
        for _, patch in series.pairs:
            if patch.entry.objects:
                self.put(mainline.together(alone(self.found, patch.entry)))
                yield self.test(f"{patch.entry.name} alone", patch.entry)
        for number, patch in enumerate(series.made, 1):
            if patch.entry.objects:
                self.put(mainline.together(series.made[:number]))
                yield self.test(f"{series.letter}: {patch.entry.name} in order", patch.entry)
        self.put({})
