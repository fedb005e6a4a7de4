# SPDX-License-Identifier: GPL-2.0-only
"""Semantic patches that hand stock kernel code over to mm/unmap, and their manifest."""

import hashlib
from pathlib import Path
from typing import Any

from msgspec import Struct

from swathe.base import process, reading
from swathe.base.errors import CheckFailed
from swathe.base.paths import HOOKS, scratch, write_atomically
from swathe.kernel import changes
from swathe.kernel.version import Version, in_range

SERIES = HOOKS / "series"
MACROS = HOOKS / "macros.h"
TIME_LIMIT = 120


class HookMissed(CheckFailed):
    """A hook did not do exactly what its entry in the series declares."""


class Hook(Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of hooks/series; hooks/<name>.cocci is the rule."""

    name: str
    file: str
    functions: tuple[str, ...]
    min: str
    max: str
    fires: int
    added: int
    removed: int
    why: str
    missed: str

    @property
    def rule(self) -> Path:
        return HOOKS / f"{self.name}.cocci"


def parse_series(text: str) -> list[Hook]:
    """The hooks of a series, in its order; every key must be there and have its type."""
    entries = reading.toml(text, "hooks/series").get("hook", [])
    return [
        reading.convert(entry, Hook, f"hooks/series: hook {entry.get('name', '(nameless)')}")
        for entry in reading.convert(entries, list[dict[str, Any]], "hooks/series")
    ]


def load() -> list[Hook]:
    """The series of this repository; none is an empty one."""
    return parse_series(SERIES.read_text()) if SERIES.is_file() else []


def fitting(hooks: list[Hook], kernel: Version) -> list[Hook]:
    """The hooks meant for this kernel."""
    chosen = [hook for hook in hooks if in_range(kernel, hook.min, hook.max)]
    if hooks and not chosen:
        raise CheckFailed(f"no hook in hooks/series is for Linux {kernel}")
    return chosen


def spatch(rule: Path, path: str, directory: Path) -> process.Done:
    """Apply one rule to one file below directory, in place."""
    argv = ["spatch", "--very-quiet", "--no-show-diff", "--no-includes", "--in-place"]
    if MACROS.is_file():
        argv += ["--macro-file", str(MACROS)]
    argv += ["--sp-file", str(rule), path]
    return process.run(argv, cwd=directory, timeout=TIME_LIMIT, quiet=True)


def parse_rule(rule: Path) -> None:
    """A rule with a mistake in it is told from one that does not fit."""
    argv = ["spatch", "--very-quiet", "--parse-cocci", str(rule)]
    done = process.run(argv, timeout=TIME_LIMIT, quiet=True)
    if not done.ok:
        raise CheckFailed(f"hooks/{rule.name} is not a valid semantic patch: {reason(done)}")


def reason(done: process.Done) -> str:
    """What spatch printed last, or its status."""
    lines = [line for line in done.output.splitlines() if not line.startswith("warning:")]
    return process.last_line("\n".join(lines)) or f"spatch ended with status {done.status}"


def apply_one(hook: Hook, before: str, kernel: Version) -> str:
    """The file's text after the hook; raises HookMissed unless it fits exactly."""
    where = f"hook {hook.name} does not fit {hook.file} of Linux {kernel}"
    with scratch("hook") as stage:
        target = stage / hook.file
        target.parent.mkdir(parents=True)
        target.write_text(before)
        done = spatch(hook.rule, hook.file, stage)
        if not done.ok:
            raise HookMissed(f"{where}: {reason(done)}")
        after = target.read_text()
    complaint = misfit(hook, before, after)
    if complaint:
        raise HookMissed(f"{where}: {complaint}")
    return after


def misfit(hook: Hook, before: str, after: str) -> str:
    """What is wrong with a hook's effect; empty if nothing is."""
    got = changes.compare(before, after)
    where = ", ".join(hook.functions)
    if got.places != hook.fires:
        return f"places changed in {where}: {got.places}, want {hook.fires}"
    if got.repeats(before):
        return f"{where} has all that it adds: it was applied before"
    if (got.added, got.removed) != (hook.added, hook.removed):
        return (
            f"it adds {got.added} and removes {got.removed} lines "
            f"instead of {hook.added} and {hook.removed}"
        )
    outside = got.outside(hook.functions)
    if outside:
        return f"it changes {outside[0].function or 'the top of the file'}, not only {where}"
    return ""


def apply_to_text(path: str, pristine: str, hooks: list[Hook], kernel: Version) -> str:
    """All hooks of one file, in the order of the series."""
    text = pristine
    for hook in hooks:
        text = apply_one(hook, text, kernel)
    return text


def checksum(pristine: str, hooks: list[Hook]) -> str:
    """What the result of applying these hooks depends on."""
    digest = hashlib.sha256(pristine.encode())
    for hook in hooks:
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


def hooked(tree: Path, hooks: list[Hook], kernel: Version, cache: Path) -> dict[str, str]:
    """The new text of every hooked file of a tree; unchanged input is answered from the cache."""
    for hook in hooks:
        if not hook.rule.is_file():
            raise CheckFailed(f"hooks/series names {hook.name}, but {hook.rule.name} is missing")
    result = {}
    for path, chosen in by_file(hooks).items():
        if not (tree / path).is_file():
            raise HookMissed(
                f"hook {chosen[0].name} does not fit {path} of Linux {kernel}: no such file"
            )
        before = (tree / path).read_text()
        kept = cache / checksum(before, chosen)
        if not kept.is_file():
            for hook in chosen:
                parse_rule(hook.rule)
            text = apply_to_text(path, before, chosen, kernel)
            write_atomically(kept, text.encode())
        result[path] = kept.read_text()
    return result
