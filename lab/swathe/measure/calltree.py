# SPDX-License-Identifier: GPL-2.0-only
"""The profiler plugin's output: call trees with counts, one for each marked region."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, fields

from swathe.measure import plugin

# The unmap path is these functions and their callees: the rmap walk, and the zap loop.
UNMAP_ROOTS = frozenset(
    {"try_to_unmap", "try_to_migrate", "remove_migration_ptes", "unmap_page_range"}
    | {"__zap_vma_range"}  # Linux 7: unmap_page_range() is inlined into it
)
# These functions and their callees write pages to swap. Linux 7 inlines pageout() in its caller.
WRITE_ROOTS = frozenset({"swap_writepage", "swap_writeout"})

Path = tuple[str, ...]


@dataclass(frozen=True)
class Counts:
    """Counts of one function, or the sum of several."""

    calls: int = 0
    instructions: int = 0
    atomics: int = 0
    flushes_one: int = 0
    flushes_all: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __sub__(self, other: "Counts") -> "Counts":
        return Counts(*(getattr(self, f.name) - getattr(other, f.name) for f in fields(self)))


def plain(name: str) -> str:
    """Return a function's name without the affixes of the compiler and of our hooks."""
    return name.split(".")[0].removeprefix("stock_")


@dataclass(frozen=True)
class Region:
    """One marked region: the counts of each call path, without callees."""

    paths: dict[Path, Counts] = field(default_factory=dict)

    def total(self) -> Counts:
        return sum(self.paths.values(), Counts())

    def functions(self) -> dict[str, Counts]:
        """Counts by function, summed over all callers."""
        found: dict[str, Counts] = {}
        for path, counts in self.paths.items():
            found[path[-1]] = found.get(path[-1], Counts()) + counts
        return found

    def below(self, roots: Collection[str]) -> Counts:
        """Counts of these functions and all their callees."""
        inside = (c for path, c in self.paths.items() if any(plain(f) in roots for f in path))
        return sum(inside, Counts())

    def unmap_path(self) -> Counts:
        return self.below(UNMAP_ROOTS)

    def writing(self) -> Counts:
        return self.below(WRITE_ROOTS)

    def inclusive(self, roots: Collection[str]) -> dict[Path, int]:
        """Instructions with callees of each call path, which starts at the first root in it."""
        found: dict[Path, int] = {}
        for path, counts in self.paths.items():
            first = next((i for i, f in enumerate(path) if plain(f) in roots), len(path))
            for end in range(first + 1, len(path) + 1):
                part = path[first:end]
                found[part] = found.get(part, 0) + counts.instructions
        return found

    def folded(self) -> str:
        """One "A;B;C INSTRUCTIONS" line for each path, the format of flame-graph tools."""
        return "".join(f"{';'.join(p)} {c.instructions}\n" for p, c in sorted(self.paths.items()))


def parse(lines: Iterable[str]) -> list[Region]:
    """Parse the region of each run that reported."""
    return [Region(dict(map(path_of, chunk))) for chunk in plugin.chunks(lines)]


def path_of(line: str) -> tuple[Path, Counts]:
    words = line.split()
    if len(words) != 1 + len(fields(Counts)):
        raise plugin.foreign(line)
    return tuple(words[0].split(";")), Counts(*map(int, words[1:]))
