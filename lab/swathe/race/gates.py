# SPDX-License-Identifier: GPL-2.0-only
"""The plugin of gate/: what it is told, and what it reports."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from swathe.base.errors import CheckFailed, EnvironmentLacks
from swathe.base.paths import ROOT
from swathe.guest import vm
from swathe.kernel import compiler
from swathe.kernel.arch import Arch
from swathe.race import places
from swathe.race.places import Place, Symbols
from swathe.race.scene import Gate

SOURCE = ROOT / "gate"
SHARED = (ROOT / "profiler" / "insn.c", ROOT / "profiler" / "decode.c")
LINE = re.compile(
    r"gate (\S+) hits (\d+) openings (\d+) late (\d+) rounds (\d+) standing (\d+) misplaced (\d+)"
)
NOWHERE = "0:0:0:0"
ROUNDS = re.compile(r"rounds (\d+)")


@dataclass(frozen=True)
class Seen:
    """What a gate has seen: how often a processor stood there, was let go, and was not; in how
    many rounds it was opened; whether one stands there; whether a place is no instruction.
    """

    name: str
    hits: int
    openings: int
    late: int
    rounds: int
    standing: bool
    misplaced: bool


def together(seen: Sequence[Seen]) -> Seen:
    """Return what a gate has seen in several guests."""
    return Seen(
        seen[0].name,
        hits=sum(one.hits for one in seen),
        openings=sum(one.openings for one in seen),
        late=sum(one.late for one in seen),
        rounds=sum(one.rounds for one in seen),
        standing=any(one.standing for one in seen),
        misplaced=any(one.misplaced for one in seen),
    )


@dataclass(frozen=True)
class Report:
    rounds: int
    gates: tuple[Seen, ...]


def plugin(target: Arch) -> Path:
    """Compile the plugin for the QEMU of this architecture."""
    return compiler.plugin(SOURCE, vm.plugin_api(vm.version(target.qemu)), SHARED)


def told(gates: Sequence[Gate], kernel: Symbols, program: Symbols) -> str:
    """Return the list of gates in the plugin's format."""
    numbers = {gate.name: number for number, gate in enumerate(gates)}
    return "".join(f"{line(gate, numbers, kernel, program)}\n" for gate in gates)


def line(gate: Gate, numbers: dict[str, int], kernel: Symbols, program: Symbols) -> str:
    def place(text: str, cpu: int, hit: int) -> str:
        found: Place = places.find(text, kernel, program)
        return f"{found.address:x}:{found.end:x}:{cpu}:{hit}"

    other = gate.until[0].removeprefix("@")
    if gate.until[0].startswith("@"):
        if other not in numbers:
            raise CheckFailed(f"gate {gate.name} waits for {other}, which is no gate")
        until = f"@{numbers[other]}"
    else:
        until = ",".join(place(text, gate.by, gate.nth) for text in gate.until)
    since = place(gate.since, gate.cpu, 0) if gate.since else NOWHERE
    return f"{gate.name} {gate.limit} {place(gate.stop, gate.cpu, gate.hit)} {since} {until}"


def option(home: Path, target: Arch, text: str) -> tuple[str, ...]:
    """Return QEMU's option that loads the plugin."""
    (home / "gates").write_text(text)
    words = (plugin(target), f"gates={home / 'gates'}", f"out={home / 'seen'}")
    return "-plugin", ",".join([*map(str, words), f"arch={target.name}"])


def read(home: Path) -> list[Report]:
    """Return a report of each program that ran, also of one that did not come to its end."""
    path = home / "seen"
    text = path.read_text() if path.is_file() else ""
    if not ROUNDS.match(text):
        raise EnvironmentLacks("this QEMU does not load plugins: Debian's does")
    return [parse(block) for block in text.split("end\n") if ROUNDS.match(block)]


def parse(text: str) -> Report:
    rounds = ROUNDS.match(text)
    seen = [
        Seen(name, int(hits), int(openings), int(late), int(times), standing != "0", odd != "0")
        for name, hits, openings, late, times, standing, odd in LINE.findall(text)
    ]
    return Report(int(rounds[1]) if rounds else 0, tuple(seen))
