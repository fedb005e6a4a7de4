# SPDX-License-Identifier: GPL-2.0-only
"""Mutants: ways to break mm/unmap on purpose, listed in mutants/series.

Semantic patches add all mutants to a copy of the overlay; a boot parameter switches them on.
Only the kernels that tests boot are built from that copy.
"""

import hashlib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePosixPath

import msgspec
from msgspec import Struct

from swathe.base import parallel, reading
from swathe.base.errors import CheckFailed
from swathe.base.paths import MUTANTS, scratch, write_atomically
from swathe.kernel import hooks
from swathe.kernel.version import Version, in_range

SERIES = MUTANTS / "series"
HOME = PurePosixPath("mm/unmap")
RUN_TIME = {str(HOME / "mutants.c"): MUTANTS / "mutants.c"}
COMPAT = b'#include "compat.h"\n'
# Every other such line begins a rule: those between them end what a rule declares.
MARK = re.compile(r"@(.*)@\s*")
HEADER = """\
/* SPDX-License-Identifier: GPL-2.0-only */
/* Made from mutants/series. */
#ifndef __MM_UNMAP_MUTANTS_H
#define __MM_UNMAP_MUTANTS_H

enum unmap_mutant {{
{enumerators}
	NR_UNMAP_MUTANTS,
}};

#define UNMAP_MUTANT_NAMES {names}

bool unmap_is_mutant(enum unmap_mutant mutant);
#define unmap_mutated(name) unmap_is_mutant(UNMAP_MUTANT_##name)

#endif
"""


# In found_by, before a scene's name.
RACE = "race"


@dataclass(frozen=True)
class MutantRule:
    """One rule of a mutant: its name, or its number, and its text."""

    name: str
    text: str


class Mutant(Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of mutants/series; mutants/<name>.cocci has the rules."""

    name: str
    files: tuple[str, ...]
    breaks: str
    found_by: str
    why: str
    says: str = ""
    alone: bool = False
    parallel: bool = False
    min: str = ""
    max: str = ""
    arch: str = ""

    @property
    def path(self) -> Path:
        return MUTANTS / f"{self.name}.cocci"

    @property
    def scene(self) -> str:
        """The scene that finds it; empty if a test does."""
        kind, _, name = self.found_by.partition(" ")
        return name if kind == RACE else ""

    @property
    def rules(self) -> list[MutantRule]:
        return split(self.path.read_text())


class MutantSeries(Struct, forbid_unknown_fields=True):
    mutant: list[Mutant]


class Mutated(Struct, frozen=True, forbid_unknown_fields=True):
    """A file with its mutants, and the rules that changed it, each with its mutant's name."""

    text: str
    fired: tuple[tuple[str, str], ...]


def parse(text: str) -> list[Mutant]:
    """Return the mutants of a series, in order; an entry has no key but the known ones."""
    return reading.convert(
        reading.toml(text, "mutants/series"), MutantSeries, "mutants/series"
    ).mutant


def split(text: str) -> list[MutantRule]:
    """Return the rules of a semantic patch."""
    lines = text.splitlines(keepends=True)
    begins = [number for number, line in enumerate(lines) if MARK.fullmatch(line)][::2]
    found = []
    for order, (begin, end) in enumerate(pairwise([*begins, len(lines)]), 1):
        match = MARK.fullmatch(lines[begin])
        name = match[1].strip() if match else ""
        found.append(MutantRule(name or f"number {order}", "".join(lines[begin:end])))
    return found


def load() -> list[Mutant]:
    return parse(SERIES.read_text())


def meant_for(mutants: Sequence[Mutant], kernel: Version, arch: str) -> list[Mutant]:
    """Return the mutants that this kernel's tests can find; all are compiled into each kernel."""
    return [
        mutant for mutant in mutants
        if in_range(kernel, mutant.min, mutant.max) and mutant.arch in ("", arch)
    ]  # fmt: skip


def header(mutants: Sequence[Mutant]) -> bytes:
    """Return mutants.h: an enumerator for each mutant, and their names in the same order."""
    enumerators = "\n".join(f"\tUNMAP_MUTANT_{mutant.name.upper()}," for mutant in mutants)
    names = ", ".join(f'"{mutant.name}"' for mutant in mutants)
    return HEADER.format(enumerators=enumerators, names=names).encode()


def mutate(overlay: dict[str, bytes], cache: Path) -> dict[str, bytes]:
    """Return the overlay with all mutants in it; unmap.mutants= switches them on."""
    mutants = load()

    def change(name: str) -> Mutated:
        path = str(HOME / name)
        if path not in overlay:
            raise CheckFailed(f"mutants/series names {name}, but mm/unmap has no such file")
        having = [mutant for mutant in mutants if name in mutant.files]
        return mutated(name, overlay[path], having, cache)

    names = sorted({file for mutant in mutants for file in mutant.files})
    files = dict(zip(names, parallel.each(change, names), strict=True))
    require_all(mutants, {rule for file in files.values() for rule in file.fired})
    changed = {str(HOME / name): file.text.encode() for name, file in files.items()}
    return overlay | changed | run_time(mutants, overlay | changed)


def run_time(mutants: Sequence[Mutant], overlay: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files that let mutants be switched on, and those that name these files."""
    internal, makefile = str(HOME / "internal.h"), str(HOME / "Makefile")
    with_header = COMPAT + b'#include "mutants.h"\n'
    return {
        **{path: file.read_bytes() for path, file in RUN_TIME.items()},
        internal: overlay[internal].replace(COMPAT, with_header, 1),
        makefile: overlay[makefile] + b"obj-y += mutants.o\n",
        str(HOME / "mutants.h"): header(mutants),
    }


def require_all(mutants: Sequence[Mutant], fired: Collection[tuple[str, str]]) -> None:
    """Raise if a rule changed no file: its function may be gone, and the law be broken by half."""
    for mutant in mutants:
        for rule in mutant.rules:
            if (mutant.name, rule.name) not in fired:
                raise CheckFailed(
                    f"mutant {mutant.name}: rule {rule.name} changes nothing in "
                    f"{', '.join(mutant.files)}; correct mutants/{mutant.path.name}"
                )


def mutated(name: str, before: bytes, having: Sequence[Mutant], cache: Path) -> Mutated:
    """Return one file with its mutants; results for unchanged input are cached."""
    digest = hashlib.sha256(before)
    for mutant in having:
        digest.update(mutant.path.read_bytes())
    kept = cache / f"mutated-{digest.hexdigest()[:20]}.json"
    if not kept.is_file():
        text, fired = before.decode(), list[tuple[str, str]]()
        for mutant in having:
            text, rules = apply(mutant, name, text)
            fired += [(mutant.name, rule) for rule in rules]
        write_atomically(kept, msgspec.json.encode(Mutated(text, tuple(fired))))
    return reading.json(kept.read_text(), Mutated, kept.name)


def apply(mutant: Mutant, name: str, before: str) -> tuple[str, list[str]]:
    """Return a file's text with one mutant, and the rules that fired; raise if none did."""
    text, fired = before, []
    for rule in mutant.rules:
        after = apply_rule(mutant, rule, name, text)
        if after != text:
            fired.append(rule.name)
        text = after
    if not fired:
        raise CheckFailed(f"{misfit(mutant, name)}: it changes nothing; correct {mutant.path.name}")
    return text, fired


def apply_rule(mutant: Mutant, rule: MutantRule, name: str, before: str) -> str:
    """Return the text after one rule. Rules are applied one by one to see which of them fire."""
    with scratch("mutant") as stage:
        (stage / name).parent.mkdir(exist_ok=True)
        (stage / name).write_text(before)
        (stage / mutant.path.name).write_text(rule.text)
        done = hooks.spatch(stage / mutant.path.name, name, stage)
        after = (stage / name).read_text()
    if not done.ok:
        raise CheckFailed(f"{misfit(mutant, name)}: {hooks.reason(done)}")
    return after


def misfit(mutant: Mutant, name: str) -> str:
    return f"mutant {mutant.name} does not fit mm/unmap/{name}"
