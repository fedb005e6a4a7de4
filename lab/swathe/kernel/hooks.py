# SPDX-License-Identifier: GPL-2.0-only
"""The hooks: semantic patches that make stock code call mm/unmap, listed in hooks/series."""

import functools
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from msgspec import Struct

from swathe.base import parallel, process, reading, ui
from swathe.base.errors import CheckFailed
from swathe.base.paths import HOOKS, scratch, write_atomically
from swathe.kernel import anchors, changes, layout
from swathe.kernel.source import KERNELS
from swathe.kernel.version import Version, in_range

SERIES = HOOKS / "series"
MACROS = HOOKS / "macros.h"
TIME_LIMIT = 1200
VERSION = re.compile(r"spatch version (\S+)")
UNPARSED = re.compile(r"^(?:bad|BAD:!+): (.*)$", re.MULTILINE)
ADVICE = (
    "change the rules named above so that they fit this tree: docs/apply.md, "
    '"When a hook does not fit", says how'
)


class HookMissed(CheckFailed):
    """The changes of hooks differ from those that hooks/series declares; names are theirs."""

    def __init__(self, message: str, names: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.names = tuple(names)


def missed_all(found: Sequence[HookMissed]) -> HookMissed:
    """Return one exception for all hooks that do not fit."""
    names = [name for error in found for name in error.names]
    return HookMissed("\n".join(map(str, found)), names)


class SemanticPatch(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A rule for one stock file, and what it must change there, in an entry of a series.

    mends: what stock's functions say where they have the bug that the rule mends
    """

    # What messages call it, and whether its lines are laid out as the rule has them.
    kind: ClassVar[str] = "semantic patch"
    as_written: ClassVar[bool] = False

    name: str
    file: str
    functions: tuple[str, ...]
    fires: int
    added: int
    removed: int
    mends: str = ""

    @property
    def rule(self) -> Path:
        raise NotImplementedError

    @property
    def shown(self) -> str:
        """The rule's path in the repository."""
        return f"{self.rule.parent.name}/{self.rule.name}"


class Hook(SemanticPatch, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One entry of hooks/series; hooks/<name>.cocci is the rule.

    same_as: another hook, whose rule this one has, for a kernel where the code is in another file
    """

    kind: ClassVar[str] = "hook"

    min: str = ""
    max: str = ""
    why: str
    missed: str
    same_as: str = ""

    @property
    def rule(self) -> Path:
        return HOOKS / f"{self.same_as or self.name}.cocci"


Rule = TypeVar("Rule", bound=SemanticPatch)


@dataclass(frozen=True)
class PatchStep(Generic[Rule]):
    """A semantic patch, and the text of its file before it and after it."""

    hook: Rule
    before: str
    after: str


HookStep = PatchStep[Hook]


def parse_series(text: str) -> list[Hook]:
    """Return the hooks of a series, in order; each entry must have all keys, correctly typed."""
    entries = reading.toml(text, "hooks/series").get("hook", [])
    return [
        reading.convert(entry, Hook, f"hooks/series: hook {entry.get('name', '(nameless)')}")
        for entry in reading.convert(entries, list[dict[str, Any]], "hooks/series")
    ]


def load() -> list[Hook]:
    """Return the hooks of hooks/series; without that file there are none."""
    return parse_series(SERIES.read_text()) if SERIES.is_file() else []


def meant_for(hooks: list[Hook], kernel: Version) -> list[Hook]:
    """Return the hooks whose version range includes this kernel."""
    return [hook for hook in hooks if in_range(kernel, hook.min, hook.max)]


def fitting(hooks: list[Hook], kernel: Version) -> list[Hook]:
    """Return the hooks for this kernel, which must be a known one; raise if there are none."""
    chosen = meant_for(hooks, kernel)
    if hooks and (not chosen or kernel.series not in KERNELS):
        raise CheckFailed(f"no hook in hooks/series is for Linux {kernel}")
    return chosen


@functools.cache
def spatch_version() -> str:
    """Return the version of Coccinelle, such as 1.1.1."""
    found = VERSION.search(process.run(["spatch", "--version"], quiet=True).output)
    return found[1] if found else "of an unknown version"


def spatch(rule: Path, path: str, directory: Path) -> process.Done:
    """Apply one rule to one file below directory, in place."""
    argv = ["spatch", "--very-quiet", "--no-show-diff", "--no-includes", "--in-place"]
    argv += [*macros(), "--sp-file", str(rule), path]
    return process.run(argv, cwd=directory, timeout=TIME_LIMIT, quiet=True)


def macros() -> list[str]:
    return ["--macro-file", str(MACROS)] if MACROS.is_file() else []


def unparsed(path: str, directory: Path) -> set[str]:
    """Return the functions of a file that spatch cannot parse, and so passes over silently."""
    argv = ["spatch", "--parse-c", "--no-includes", *macros(), path]
    done = process.run(argv, cwd=directory, timeout=TIME_LIMIT, quiet=True)
    heads = (changes.HEAD.match(line) for line in UNPARSED.findall(done.output))
    return {head[1] for head in heads if head}


def parse_rule(rule: Path) -> None:
    """Raise if the rule has a syntax error, which spatch reports like a rule that does not fit."""
    argv = ["spatch", "--very-quiet", "--parse-cocci", str(rule)]
    done = process.run(argv, timeout=TIME_LIMIT, quiet=True)
    if not done.ok:
        raise CheckFailed(
            f"{rule.parent.name}/{rule.name} is not a valid semantic patch for spatch "
            f"{spatch_version()}: {reason(done)}"
        )


def reason(done: process.Done) -> str:
    """Return spatch's last line of output, or its status."""
    lines = [line for line in done.output.splitlines() if not line.startswith("warning:")]
    return process.last_line("\n".join(lines)) or f"spatch ended with status {done.status}"


def apply_one(hook: SemanticPatch, before: str, kernel: Version) -> str:
    """Return the file's text with the hook applied; raise HookMissed if it does not fit exactly."""
    with scratch("hook") as stage:
        target = stage / hook.file
        target.parent.mkdir(parents=True)
        target.write_text(before)
        done = spatch(hook.rule, hook.file, stage)
        after = target.read_text()
        if hook.as_written:
            after = layout.as_written(hook.rule.read_text(), before, after)
        complaint = misfit(hook, before, after) if done.ok else reason(done)
        if not complaint:
            return after
        target.write_text(before)
        blind = unparsed(hook.file, stage)
    raise HookMissed(explained(hook, before, kernel, complaint, blind), [hook.name])


def explained(
    hook: SemanticPatch, before: str, kernel: Version, complaint: str, blind: set[str]
) -> str:
    """Return what is needed to mend a hook: what its rule looks for, and what the file has."""
    told = [f"{unfit(hook, kernel)}: {complaint}"]
    told += anchors.report(hook.rule.read_text(), hook.functions, hook.file, before)
    told += [f"spatch cannot parse {name}()" for name in sorted(blind & set(hook.functions))]
    return "\n    ".join([*told, f"rule: {hook.shown}; spatch {spatch_version()}"])


def unfit(hook: SemanticPatch, kernel: Version) -> str:
    return f"{hook.kind} {hook.name} does not fit {hook.file} of Linux {kernel}"


def misfit(hook: SemanticPatch, before: str, after: str) -> str:
    """Return how a hook's effect differs from its entry in the series, or an empty string."""
    got = changes.compare(before, after)
    where = ", ".join(hook.functions)
    if got.places != hook.fires:
        return f"it changes {ui.plural(got.places, 'place')} in {where} instead of {hook.fires}"
    if got.repeats(before):
        return f"{where} already contains the lines that it adds: it was applied before"
    if (got.added, got.removed) != (hook.added, hook.removed):
        return (
            f"it adds {got.added} and removes {ui.plural(got.removed, 'line')} "
            f"instead of {hook.added} and {hook.removed}"
        )
    outside = got.outside(hook.functions)
    if outside:
        return f"it changes {outside[0].function or 'the top of the file'}, not only {where}"
    return ""


def is_mended(hook: SemanticPatch, before: str) -> bool:
    """Whether stock has mended the bug itself: the functions are there, and none says so."""
    if not hook.mends:
        return False
    bodies = [anchors.lines_of(before, name).values() for name in hook.functions]
    return all(bodies) and not any(hook.mends in line for body in bodies for line in body)


def checksum(before: str, hook: SemanticPatch) -> str:
    """Return a checksum of everything that the hooked text depends on."""
    digest = hashlib.sha256(f"{spatch_version()}\n{before}".encode())
    digest.update(repr(hook).encode() + hook.rule.read_bytes())
    if MACROS.is_file():
        digest.update(MACROS.read_bytes())
    return digest.hexdigest()[:20]


def by_file(hooks: list[Rule]) -> dict[str, list[Rule]]:
    """Group semantic patches by the file they change."""
    grouped: dict[str, list[Rule]] = {}
    for hook in hooks:
        grouped.setdefault(hook.file, []).append(hook)
    return grouped


def applied(hook: SemanticPatch, before: str, kernel: Version, cache: Path) -> str:
    """Return the text with the hook applied; the result for unchanged input is cached."""
    kept = cache / checksum(before, hook)
    if not kept.is_file():
        parse_rule(hook.rule)
        write_atomically(kept, apply_one(hook, before, kernel).encode())
    return kept.read_text()


def stock_text(tree: Path, hook: SemanticPatch, kernel: Version) -> str:
    """Return the text of the file that a hook changes."""
    if not (tree / hook.file).is_file():
        raise HookMissed(f"{unfit(hook, kernel)}: no such file", [hook.name])
    return (tree / hook.file).read_text()


def steps(tree: Path, hooks: list[Rule], kernel: Version, cache: Path) -> list[PatchStep[Rule]]:
    """Apply the hooks of each file one after another, and files side by side.

    The steps are in the order of the hooks. Raises HookMissed for all hooks that do not fit.
    """
    for hook in hooks:
        if not hook.rule.is_file():
            series = f"{hook.rule.parent.name}/series"
            raise CheckFailed(f"{series} names {hook.name}, but {hook.rule.name} is missing")

    def in_file(chosen: list[Rule]) -> list[PatchStep[Rule] | HookMissed]:
        return list(steps_of_file(tree, chosen, kernel, cache))

    done = list(chain.from_iterable(parallel.each(in_file, by_file(hooks).values())))
    if missed := [step for step in done if isinstance(step, HookMissed)]:
        raise missed_all([*missed, HookMissed(ADVICE)])
    found = [step for step in done if isinstance(step, PatchStep)]
    return sorted(found, key=lambda step: hooks.index(step.hook))


def steps_of_file(
    tree: Path, hooks: list[Rule], kernel: Version, cache: Path
) -> Iterator[PatchStep[Rule] | HookMissed]:
    """Apply the hooks of one file; those after one that does not fit are tried all the same.

    A hook for a bug that stock has mended makes no step.
    """
    after: str | None = None
    for hook in hooks:
        try:
            before = stock_text(tree, hook, kernel) if after is None else after
            if is_mended(hook, before):
                ui.note(f"Linux {kernel} has mended what {hook.name} mends: it is left out")
                continue
            after = applied(hook, before, kernel, cache)
            yield PatchStep(hook, before, after)
        except HookMissed as error:
            yield error
