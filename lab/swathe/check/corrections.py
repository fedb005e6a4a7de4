# SPDX-License-Identifier: GPL-2.0-only
"""The patches of "./swathe export --mainline": what a maintainer's tools would say of them.

Each must apply alone to the untouched tree, and all of them in order, by "git am"; none may say
anything of Swathe; scripts/checkpatch.pl --strict must find nothing. Their objects are compiled
only if asked for: alone and in order, without a new warning at W=1, as for every architecture that
there is a compiler for.
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
from swathe.kernel.hooks import PatchStep
from swathe.kernel.mainline import Correction
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
class MadeCorrections:
    """The patches, and what each must do to the tree that they were made from."""

    found: Source
    steps: tuple[PatchStep[Correction], ...]
    mails: Mapping[str, bytes]
    directory: Path

    @property
    def pairs(self) -> list[tuple[Path, PatchStep[Correction]]]:
        paths = [self.directory / name for name in self.mails]
        return list(zip(paths, self.steps, strict=True))

    @property
    def stock(self) -> dict[str, bytes]:
        paths = {step.hook.file for step in self.steps}
        return {path: (self.found.tree / path).read_bytes() for path in sorted(paths)}


def make(found: Source, directory: Path) -> MadeCorrections:
    steps = tuple(mainline.steps(found))
    mainline.write(found, directory)
    return MadeCorrections(found, steps, mainline.mails(found, list(steps)), directory)


def run(asked: KernelRequest, compiles: bool) -> list[Test]:
    """Check the patches that are made from the newest kernel: its own source, if that is given."""
    apt.need(PROGRAMS)
    newest = mainline.load().kernel
    given = asked.source if asked.kernel == newest else None
    return list(trials(source.get(newest, given), compiles))


def trials(found: Source, compiles: bool = False) -> Iterator[Test]:
    ui.note(f"making the patches for Linux {found.version}")
    with scratch(PART) as stage:
        made = make(found, stage / "made")
        yield judge("all in order", in_order(made, stage))
        for path, step in made.pairs:
            yield judge(f"{step.hook.name} applies alone", by_itself(made, path, step, stage))
            yield judge(f"{step.hook.name} in words", forbidden(path.read_text()))
            yield judge(f"{step.hook.name} in style", unclean(found, path))
        if compiles:
            yield from compiled(made)


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


def git_am(made: MadeCorrections, where: Path, mails: Sequence[Path]) -> str:
    """Apply mails to a repository of the stock files; return what went wrong."""
    patches.copy(made.found.tree, made.stock, where)
    for words in (
        ["init", "-q"],
        ["add", "-A"],
        ["commit", "-q", "-m", f"Linux {made.found.version}"],
        ["am", "-q", *map(str, mails)],
    ):
        done = process.run(["git", *words], cwd=where, env=exported.GIT, quiet=True)
        if not done.ok:
            return f"git {words[0]}: {process.last_line(done.output)}"
    return ""


def differs(where: Path, wanted: Mapping[str, bytes]) -> str:
    odd = [path for path, data in wanted.items() if (where / path).read_bytes() != data]
    return f"{odd[0]} differs from what the semantic patch makes" if odd else ""


def in_order(made: MadeCorrections, stage: Path) -> str:
    where = stage / "all"
    wanted = made.stock | {step.hook.file: step.after.encode() for step in made.steps}
    return git_am(made, where, [path for path, _ in made.pairs]) or differs(where, wanted)


def by_itself(made: MadeCorrections, mail: Path, step: PatchStep[Correction], stage: Path) -> str:
    where = stage / step.hook.name
    try:
        wanted = made.stock | {step.hook.file: mainline.alone(made.found, step.hook)}
    except CheckFailed as error:
        return str(error).partition("\n")[0]
    return git_am(made, where, [mail]) or differs(where, wanted)


def compiled(made: MadeCorrections) -> Iterator[Test]:
    """Compile the objects that the patches change, for each architecture."""
    for arch in ARCHES:
        request = KernelRequest(
            str(made.found.version.series), flavor=FLAVOR, arch=arch, pristine=True, variant=VARIANT
        )
        apt.need(request.target.packages)
        with locked(f"{PART}-{arch}"), processors.one():
            yield from Compiler(made, request).tests()


class Compiler:
    """Compiles single objects of a tree of hard links, in which files are replaced."""

    def __init__(self, made: MadeCorrections, request: KernelRequest) -> None:
        self.made, self.arch = made, request.arch
        self.tree = tree.TREES / f"{made.found.key}-{PART}"
        self.out = BUILD / "out" / f"{made.found.key}-{PART}-{request.arch}"
        tree.mirror(made.found, self.tree, set(made.stock))
        self.put(made.stock)
        self.make = build.make_command(self.tree, self.out, request.target)
        config.configure(self.make, self.tree, self.out, request.config_flavor)
        self.stock = {path: self.compile(path) for path in made.stock}

    def put(self, files: Mapping[str, bytes]) -> None:
        tree.write(self.tree, dict(files))

    def compile(self, path: str) -> set[str]:
        """Compile one object; return its warnings and errors, without their lines."""
        log = BUILD / "log" / f"{self.out.name}.log"
        target = str(Path(path).with_suffix(".o"))
        (self.out / target).unlink(missing_ok=True)
        argv = [*self.make, "W=1", target]
        status = process.stream(argv, log, lambda _: None, build.REPRODUCIBLE)
        text = log.read_text(errors="replace")
        said = {f"{file}: {words}" for file, words in COMPLAINT.findall(text)}
        return said or ({process.last_line(text)} if status else set())

    def test(self, name: str, path: str) -> Test:
        new = self.compile(path) - self.stock[path]
        return judge(f"{name} compiles ({self.arch})", "; ".join(sorted(new)))

    def tests(self) -> Iterator[Test]:
        for step in self.made.steps:
            path = step.hook.file
            self.put({path: mainline.alone(self.made.found, step.hook)})
            yield self.test(f"{step.hook.name} alone", path)
            self.put({path: self.made.stock[path]})
        for step in self.made.steps:
            self.put({step.hook.file: step.after.encode()})
            yield self.test(f"{step.hook.name} in order", step.hook.file)
