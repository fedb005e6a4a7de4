# SPDX-License-Identifier: GPL-2.0-only
"""Scenes: scenes/NAME.toml names a program, its gates, and the mutants that it must find."""

from pathlib import Path

import msgspec

from swathe.base import reading
from swathe.base.errors import CheckFailed, UsageError
from swathe.base.paths import SCENES
from swathe.kernel.arch import ARM64, X86_64

# Where the second thread begins: scenes/lib/scene.c.
SECOND = "program:scene_second_begins"
BEGINS = "second"


class Gate(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Where a processor stops, and until when.

    stop, until: places: see places.py. The processor goes on when another one has come to any
        place of until, or after limit milliseconds: then the round has missed its window.
    cpu, by: the processor that stops, and the one that opens; -1: any, or any other one
    hit, nth: which time counts since the round began, and since somebody stands there; 0: each
    since: if given, hit counts from when the processor has come to this place
    arm64: what is different there
    """

    name: str
    stop: str
    until: tuple[str, ...]
    cpu: int = 1
    by: int = 0
    hit: int = 1
    nth: int = 1
    limit: int = 20000
    since: str = ""
    arm64: "Other | None" = None

    def on(self, arch: str) -> "Gate":
        """Return the gate as it is on an architecture."""
        other = self.arm64 if arch == ARM64.name else None
        if not other:
            return self
        nth = self.nth if other.nth is None else other.nth
        return msgspec.structs.replace(self, until=other.until, nth=nth)


class Other(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Where a gate opens on another architecture."""

    until: tuple[str, ...]
    nth: int | None = None


class Scene(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A race, and how it is arranged.

    program: scenes/PROGRAM.c, with its arguments behind the number of rounds
    kernels: those that have its places; none named: all
    boot: additional kernel parameters
    mutants: each must make a round come out wrong
    """

    about: str
    program: str
    gate: tuple[Gate, ...]
    arguments: tuple[str, ...] = ()
    rounds: int = 20
    kernels: tuple[str, ...] = ()
    boot: str = ""
    arches: tuple[str, ...] = ("x86_64",)
    mutants: tuple[str, ...] = ()

    def gates(self, arch: str) -> tuple[Gate, ...]:
        """All gates: the second thread waits until the first one stands at the first gate."""
        second = Gate(BEGINS, SECOND, (f"@{self.gate[0].name}",), cpu=0, by=-1, hit=0)
        return (*(gate.on(arch) for gate in self.gate), second)


def names() -> list[str]:
    return sorted(path.stem for path in SCENES.glob("*.toml"))


def load(name: str) -> Scene:
    if name not in names():
        raise UsageError(f"there is no scene {name!r}; there are {', '.join(names())}")
    return read(SCENES / f"{name}.toml")


def read(path: Path) -> Scene:
    data = reading.toml(path.read_text(), path.name)
    scene = reading.convert(data, Scene, path.name)
    if not scene.gate:
        raise CheckFailed(f"{path.name} has no gate")
    known = [gate.name for gate in scene.gates(X86_64.name)]
    if len({*known}) < len(known):
        raise CheckFailed(f"{path.name}: two gates have one name, or one is called {BEGINS!r}")
    return scene
