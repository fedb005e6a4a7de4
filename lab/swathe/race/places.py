# SPDX-License-Identifier: GPL-2.0-only
"""Places in a kernel or a program: from their names to addresses.

SYMBOL              the first instruction of a function
SYMBOL+0xOFFSET     an instruction of it
SYMBOL:return       an instruction by which it returns; a function that ends in a jump to another
                    one returns there
0xADDRESS           an instruction
program:PLACE       the same in the scene's program
PLACE|PLACE         the first of them whose function there is: kernels name it differently
@GATE               (until) another processor stands at this gate
"""

import bisect
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from swathe.base import process
from swathe.base.errors import CheckFailed

PLACE = re.compile(r"(?P<name>[A-Za-z_.][\w.$]*)(?:\+(?P<offset>0x[0-9a-fA-F]+)|(?P<end>:return))?")
PROGRAM = "program:"
CODE = frozenset("tTwW")


@dataclass(frozen=True)
class Symbols:
    """The functions of a kernel or a program. where: for messages."""

    where: str
    found: tuple[tuple[int, str], ...]

    @cached_property
    def by_name(self) -> dict[str, list[int]]:
        names: defaultdict[str, list[int]] = defaultdict(list)
        for address, name in self.found:
            names[name].append(address)
        return names

    @cached_property
    def addresses(self) -> list[int]:
        return sorted({address for address, _ in self.found})

    def has(self, name: str) -> bool:
        return name in self.by_name

    def start(self, name: str) -> int:
        """Return a function's address, if there is exactly one of that name."""
        found = sorted({*self.by_name.get(name, [])})
        if not found:
            raise CheckFailed(
                f"{self.where} has no function {name}: it may be inlined, or not compiled; "
                f"name one that calls it, with an offset"
            )
        if len(found) > 1:
            listed = ", ".join(f"{address:#x}" for address in found)
            raise CheckFailed(f"{self.where} has {name} {len(found)} times: give one of {listed}")
        return found[0]

    def end(self, start: int) -> int:
        """Return the address of what follows the function at start."""
        after = bisect.bisect_right(self.addresses, start)
        if after == len(self.addresses):
            raise CheckFailed(f"the end of the function at {start:#x} is not known")
        return self.addresses[after]


def parse(text: str, where: str) -> Symbols:
    """Parse System.map, /proc/kallsyms of a kernel without modules, or the output of nm."""
    found = []
    for line in text.splitlines():
        words = line.split()
        if len(words) == 3 and words[1] in CODE and re.fullmatch("[0-9a-f]+", words[0]):
            found.append((int(words[0], 16), words[2]))
    if not any(address for address, _ in found):
        raise CheckFailed(f"{where} names no function's address: give another --symbols")
    return Symbols(where, tuple(found))


def of_program(program: Path) -> Symbols:
    done = process.run(["nm", str(program)], quiet=True)
    return parse(done.output, program.name)


@dataclass(frozen=True)
class Place:
    """An instruction; with an end, the instructions up to there by which a function returns."""

    address: int
    end: int = 0


def find(text: str, kernel: Symbols, program: Symbols) -> Place:
    """Return the place of this name, or of the first of several that there is."""
    *others, last = text.split("|")
    for other in others:
        match = PLACE.fullmatch(other)
        if match and kernel.has(match["name"]):
            return find_one(other, kernel, program)
    return find_one(last, kernel, program)


def find_one(text: str, kernel: Symbols, program: Symbols) -> Place:
    inside = text.startswith(PROGRAM)
    name, symbols = text.removeprefix(PROGRAM), program if inside else kernel
    if re.fullmatch("0x[0-9a-fA-F]+", name):
        return Place(int(name, 16))
    match = PLACE.fullmatch(name)
    if not match:
        forms = "SYMBOL, SYMBOL+0xOFFSET, SYMBOL:return, 0xADDRESS, program:PLACE"
        raise CheckFailed(f"{text!r} is no place: give {forms}")
    start = symbols.start(match["name"])
    if match["end"]:
        return Place(start, symbols.end(start))
    address = start + int(match["offset"] or "0", 16)
    if match["offset"] and address >= symbols.end(start):
        raise CheckFailed(f"{text}: {match['name']} ends before that")
    return Place(address)
