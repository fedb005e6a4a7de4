# SPDX-License-Identifier: GPL-2.0-only
"""The hooks: semantic patches that make stock code call mm/unmap, listed in hooks/series."""

import functools
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec import Struct

from swathe.base import parallel, process, reading, ui
from swathe.base.errors import CheckFailed
from swathe.base.paths import HOOKS, scratch, write_atomically
from swathe.kernel import anchors, changes
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


class Hook(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One entry of hooks/series; hooks/<name>.cocci is the rule.

    same_as: another hook, whose rule this one has, for a kernel where the code is in another file
    mends: what stock's functions say where they have the bug that the hook mends
    """

    name: str
    file: str
    functions: tuple[str, ...]
    min: str = ""
    max: str = ""
    fires: int
    added: int
    removed: int
    why: str
    missed: str
    same_as: str = ""
    mends: str = ""

    @property
    def rule(self) -> Path:
        return HOOKS / f"{self.same_as or self.name}.cocci"


@dataclass(frozen=True)
class HookStep:
    """A hook, and the text of its file before it and after it."""

    hook: Hook
    before: str
    after: str


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
            f"hooks/{rule.name} is not a valid semantic patch for spatch {spatch_version()}: "
            f"{reason(done)}"
        )


def reason(done: process.Done) -> str:
    """Return spatch's last line of output, or its status."""
    lines = [line for line in done.output.splitlines() if not line.startswith("warning:")]
    return process.last_line("\n".join(lines)) or f"spatch ended with status {done.status}"


def apply_one(hook: Hook, before: str, kernel: Version) -> str:
    """Return the file's text with the hook applied; raise HookMissed if it does not fit exactly."""
    with scratch("hook") as stage:
        target = stage / hook.file
        target.parent.mkdir(parents=True)
        target.write_text(before)
        done = spatch(hook.rule, hook.file, stage)
        after = target.read_text()
        complaint = misfit(hook, before, after) if done.ok else reason(done)
        if not complaint:
            return after
        target.write_text(before)
        blind = unparsed(hook.file, stage)
    raise HookMissed(explained(hook, before, kernel, complaint, blind), [hook.name])


def explained(hook: Hook, before: str, kernel: Version, complaint: str, blind: set[str]) -> str:
    """Return what is needed to mend a hook: what its rule looks for, and what the file has."""
    told = [f"hook {hook.name} does not fit {hook.file} of Linux {kernel}: {complaint}"]
    told += anchors.report(hook.rule.read_text(), hook.functions, hook.file, before)
    told += [f"spatch cannot parse {name}()" for name in sorted(blind & set(hook.functions))]
    return "\n    ".join([*told, f"rule: hooks/{hook.rule.name}; spatch {spatch_version()}"])


def misfit(hook: Hook, before: str, after: str) -> str:
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


def is_mended(hook: Hook, before: str) -> bool:
    """Whether stock has mended the bug itself: the functions are there, and none says so."""
    if not hook.mends:
        return False
    bodies = [anchors.lines_of(before, name).values() for name in hook.functions]
    return all(bodies) and not any(hook.mends in line for body in bodies for line in body)


def checksum(before: str, hook: Hook) -> str:
    """Return a checksum of everything that the hooked text depends on."""
    digest = hashlib.sha256(f"{spatch_version()}\n{before}".encode())
    digest.update(repr(hook).encode() + hook.rule.read_bytes())
    if MACROS.is_file():
        digest.update(MACROS.read_bytes())
    return digest.hexdigest()[:20]


def by_file(hooks: list[Hook]) -> dict[str, list[Hook]]:
    """Group hooks by the file they change."""
    grouped: dict[str, list[Hook]] = {}
    for hook in hooks:
        grouped.setdefault(hook.file, []).append(hook)
    return grouped


def applied(hook: Hook, before: str, kernel: Version, cache: Path) -> str:
    """Return the text with the hook applied; the result for unchanged input is cached."""
    kept = cache / checksum(before, hook)
    if not kept.is_file():
        parse_rule(hook.rule)
        write_atomically(kept, apply_one(hook, before, kernel).encode())
    return kept.read_text()


def stock_text(tree: Path, hook: Hook, kernel: Version) -> str:
    """Return the text of the file that a hook changes."""
    if not (tree / hook.file).is_file():
        message = f"hook {hook.name} does not fit {hook.file} of Linux {kernel}: no such file"
        raise HookMissed(message, [hook.name])
    return (tree / hook.file).read_text()


def steps(tree: Path, hooks: list[Hook], kernel: Version, cache: Path) -> list[HookStep]:
    """Apply the hooks of each file one after another, and files side by side.

    The steps are in the order of the hooks. Raises HookMissed for all hooks that do not fit.
    """
    for hook in hooks:
        if not hook.rule.is_file():
            raise CheckFailed(f"hooks/series names {hook.name}, but {hook.rule.name} is missing")

    def in_file(chosen: list[Hook]) -> list[HookStep | HookMissed]:
        return list(steps_of_file(tree, chosen, kernel, cache))

    done = list(chain.from_iterable(parallel.each(in_file, by_file(hooks).values())))
    if missed := [step for step in done if isinstance(step, HookMissed)]:
        raise missed_all([*missed, HookMissed(ADVICE)])
    found = [step for step in done if isinstance(step, HookStep)]
    return sorted(found, key=lambda step: hooks.index(step.hook))


def steps_of_file(
    tree: Path, hooks: list[Hook], kernel: Version, cache: Path
) -> Iterator[HookStep | HookMissed]:
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
            yield HookStep(hook, before, after)
        except HookMissed as error:
            yield error
