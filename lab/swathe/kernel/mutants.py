# SPDX-License-Identifier: GPL-2.0-only
"""Mutants: ways to break mm/unmap on purpose, listed in mutants/series.

Semantic patches add all mutants to a copy of the overlay; a boot parameter switches them on.
Only the kernels that tests boot are built from that copy.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct

from swathe.base import reading
from swathe.base.errors import CheckFailed
from swathe.base.paths import MUTANTS, scratch, write_atomically
from swathe.kernel import hooks
from swathe.kernel.version import Version, in_range

SERIES = MUTANTS / "series"
HOME = PurePosixPath("mm/unmap")
RUN_TIME = {str(HOME / "mutants.c"): MUTANTS / "mutants.c"}
COMPAT = b'#include "compat.h"\n'
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


class Mutant(Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of mutants/series; mutants/<name>.cocci is the rule."""

    name: str
    files: tuple[str, ...]
    breaks: str
    found_by: str
    why: str
    max: str = ""
    arch: str = ""

    @property
    def rule(self) -> Path:
        return MUTANTS / f"{self.name}.cocci"


class MutantSeries(Struct, forbid_unknown_fields=True):
    mutant: list[Mutant]


def parse(text: str) -> list[Mutant]:
    """Return the mutants of a series, in order; an entry has exactly the known keys."""
    return reading.convert(
        reading.toml(text, "mutants/series"), MutantSeries, "mutants/series"
    ).mutant


def load() -> list[Mutant]:
    return parse(SERIES.read_text())


def meant_for(mutants: Sequence[Mutant], kernel: Version, arch: str) -> list[Mutant]:
    """Return the mutants that this kernel's tests can find; all are compiled into each kernel."""
    return [
        mutant for mutant in mutants
        if in_range(kernel, "", mutant.max) and mutant.arch in ("", arch)
    ]  # fmt: skip


def header(mutants: Sequence[Mutant]) -> bytes:
    """Return mutants.h: an enumerator for each mutant, and their names in the same order."""
    enumerators = "\n".join(f"\tUNMAP_MUTANT_{mutant.name.upper()}," for mutant in mutants)
    names = ", ".join(f'"{mutant.name}"' for mutant in mutants)
    return HEADER.format(enumerators=enumerators, names=names).encode()


def mutate(overlay: dict[str, bytes], cache: Path) -> dict[str, bytes]:
    """Return the overlay with all mutants in it; unmap.mutants= switches them on."""
    mutants = load()
    changed = dict(overlay)
    for name in sorted({file for mutant in mutants for file in mutant.files}):
        path = str(HOME / name)
        if path not in overlay:
            raise CheckFailed(f"mutants/series names {name}, but mm/unmap has no such file")
        having = [mutant for mutant in mutants if name in mutant.files]
        changed[path] = mutated(name, overlay[path], having, cache)
    for path, file in RUN_TIME.items():
        changed[path] = file.read_bytes()
    internal, makefile = str(HOME / "internal.h"), str(HOME / "Makefile")
    changed[internal] = changed[internal].replace(COMPAT, COMPAT + b'#include "mutants.h"\n', 1)
    changed[makefile] += b"obj-y += mutants.o\n"
    changed[str(HOME / "mutants.h")] = header(mutants)
    return changed


def mutated(name: str, before: bytes, having: Sequence[Mutant], cache: Path) -> bytes:
    """Return one file with its mutants; results for unchanged input are cached."""
    digest = hashlib.sha256(before)
    for mutant in having:
        digest.update(mutant.rule.read_bytes())
    kept = cache / f"mutated-{digest.hexdigest()[:20]}"
    if not kept.is_file():
        text = before.decode()
        for mutant in having:
            text = apply(mutant, name, text)
        write_atomically(kept, text.encode())
    return kept.read_bytes()


def apply(mutant: Mutant, name: str, before: str) -> str:
    """Return a file's text with one mutant; raise if the rule changes nothing."""
    where = f"mutant {mutant.name} does not fit mm/unmap/{name}"
    with scratch("mutant") as stage:
        (stage / name).write_text(before)
        done = hooks.spatch(mutant.rule, name, stage)
        after = (stage / name).read_text()
    if not done.ok:
        raise CheckFailed(f"{where}: {hooks.reason(done)}")
    if after == before:
        raise CheckFailed(f"{where}: it changes nothing; correct mutants/{mutant.rule.name}")
    return after
