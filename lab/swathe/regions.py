# SPDX-License-Identifier: GPL-2.0-only
"""What the profiler's plugin writes: call trees of marked stretches, with their counts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields

from swathe.errors import CheckFailed

# Whatever these call is the unmap path: the rmap walk, and the zap loop.
UNMAP_ROOTS = frozenset({"try_to_unmap", "stock_try_to_unmap", "unmap_page_range"})

Path = tuple[str, ...]


@dataclass(frozen=True)
class Counts:
    """Of one function, or of several together."""

    calls: int = 0
    instructions: int = 0
    atomics: int = 0
    flushes_one: int = 0
    flushes_all: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


@dataclass(frozen=True)
class Region:
    """One marked stretch: what each call path executed itself."""

    paths: dict[Path, Counts] = field(default_factory=dict)

    def total(self) -> Counts:
        return sum(self.paths.values(), Counts())

    def functions(self) -> dict[str, Counts]:
        """By function, whoever called it."""
        found: dict[str, Counts] = {}
        for path, counts in self.paths.items():
            found[path[-1]] = found.get(path[-1], Counts()) + counts
        return found

    def unmap_path(self) -> Counts:
        """All that was executed below the rmap walk and the zap loop, they included."""
        inside = (c for path, c in self.paths.items() if not UNMAP_ROOTS.isdisjoint(path))
        return sum(inside, Counts())

    def folded(self) -> str:
        """One "A;B;C INSTRUCTIONS" line a path, as flame-graph tools read it."""
        return "".join(f"{';'.join(p)} {c.instructions}\n" for p, c in sorted(self.paths.items()))


def parse(lines: Iterable[str]) -> list[Region]:
    """All regions that were written to their end."""
    found: list[Region] = []
    paths: dict[Path, Counts] = {}
    for line in lines:
        words = line.split()
        if words[:1] == ["region"]:
            paths = {}
        elif words == ["end"]:
            found.append(Region(paths))
        elif len(words) == 1 + len(fields(Counts)):
            paths[tuple(words[0].split(";"))] = Counts(*map(int, words[1:]))
        else:
            raise CheckFailed(f"the profiler wrote a line that is none of its own: {line!r}")
    return found


def last_of_each(regions: Sequence[Region], runs: int) -> list[Region]:
    """Each run's last region; a program may pass its measured stretch several times."""
    if not regions or len(regions) % runs:
        raise CheckFailed(f"{len(regions)} marked stretches were seen in {runs} runs")
    each = len(regions) // runs
    return list(regions[each - 1 :: each])
