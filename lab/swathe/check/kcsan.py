# SPDX-License-Identifier: GPL-2.0-only
"""Read KCSAN's data races from a guest's console, and attribute them to mm/unmap or stock.

Stock memory management has known races, dozens of them with CONFIG_KCSAN_STRICT, which checks
every plain access. So a race is a failure only if a function of mm/unmap makes one of its two
accesses. The others are counted and listed; those in stock functions that mm/unmap had called
are listed separately. An inline function of a header of which the compiler made a copy in several
objects belongs to its caller.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from swathe.base import process, results, table, ui
from swathe.base.errors import CheckFailed
from swathe.base.table import Column
from swathe.base.verdicts import Test, Verdict
from swathe.guest.environment import Environment
from swathe.guest.session import Transcript
from swathe.kernel import build

FLAVOR = "kcsan"
# KCSAN's reports must not panic the guest. By default it watches an address for 80 us: too
# short for an emulated CPU, which needs milliseconds to reach the racing access. So it
# watches longer, and less often.
BOOT = "panic_on_warn=0 kcsan.udelay_task=3000 kcsan.skip_watch=40000"
COUNTERS = Path("/sys/kernel/debug/kcsan")
# The guest's command that prints them.
READ = f"report {FLAVOR} -- cat {COUNTERS}"
COUNTED = ("setup_watchpoints", "data_races")
TITLE = re.compile(r"BUG: KCSAN: (?P<title>.*)$")
ACCESS = re.compile(r"(?P<what>\S.*) to 0x[0-9a-f]+ of \d+ bytes by .* on cpu \d+:$")
FRAME = re.compile(r"^\s*(?P<name>[\w.]+)\+0x[0-9a-f]+/0x[0-9a-f]+$")
TIME = re.compile(r"^\[ *\d+\.\d+\](?:\[ *[CT]\d+\])? ?")
SYMBOL = re.compile(r"^[0-9a-f]+ [tT] (\S+)$", re.MULTILINE)
RULE = "=" * 20


@dataclass(frozen=True)
class Names:
    """The functions of mm/unmap, and those of its functions that other objects have, too."""

    own: frozenset[str]
    copied: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Race:
    """One report. An access is its kind and its call stack, innermost function first."""

    title: str
    accesses: tuple[tuple[str, tuple[str, ...]], ...]

    def makers(self, copied: frozenset[str] = frozenset()) -> tuple[str, ...]:
        """The functions that made the accesses."""
        named = ([name for name in frames if name not in copied] for _, frames in self.accesses)
        return tuple(frames[0] for frames in named if frames)

    def below(self, names: Names) -> bool:
        return any(name in names.own for _, frames in self.accesses for name in frames)

    def by(self, names: Names) -> bool:
        return any(name in names.own for name in self.makers(names.copied))


@dataclass(frozen=True)
class RaceReport:
    """All races of one console, and KCSAN's own counters."""

    races: tuple[Race, ...]
    counters: dict[str, int]
    names: Names

    @property
    def ours(self) -> tuple[Race, ...]:
        return tuple(race for race in self.races if race.by(self.names))

    @property
    def below(self) -> tuple[Race, ...]:
        """The races in stock functions that mm/unmap had called."""
        return tuple(
            race for race in self.races if race.below(self.names) and not race.by(self.names)
        )

    @property
    def stock(self) -> tuple[Race, ...]:
        return tuple(race for race in self.races if not race.below(self.names))


def parse(console: str) -> list[Race]:
    """Parse the reports, in order. Other messages may be interleaved with their lines."""
    found: list[Race] = []
    title, accesses = "", list[tuple[str, list[str]]]()

    def end() -> None:
        nonlocal title
        if title:
            found.append(Race(title, tuple((what, tuple(names)) for what, names in accesses)))
        title = ""
        accesses.clear()

    for raw in console.splitlines():
        line = TIME.sub("", raw).rstrip()
        if match := TITLE.search(line):
            end()
            title = match["title"]
        elif RULE in line:
            end()
        elif title and (match := ACCESS.search(line)):
            accesses.append((match["what"], []))
        elif title and accesses and (match := FRAME.match(line)):
            accesses[-1][1].append(match["name"])
    end()
    return found


def own_names(built: build.BuiltKernel) -> Names:
    """Return the functions of mm/unmap in this kernel, without its tests."""
    home = built.out / "mm" / "unmap"
    objects = sorted(path for path in home.rglob("*.o") if path.parent != home / "tests")
    if not objects:
        raise CheckFailed("mm/unmap was not built into this kernel")
    own, everywhere = functions(objects), functions([built.out / "vmlinux"])
    copied = frozenset(name for name in own if everywhere[name] > own[name])
    return Names(frozenset(own) - copied, copied)


def functions(objects: Sequence[Path]) -> Counter[str]:
    """Count the functions of each name."""
    done = process.check(["nm", *map(str, objects)], "reading the names of functions")
    return Counter(SYMBOL.findall(done))


def counters(lines: Iterable[str]) -> dict[str, int]:
    """Parse the counters of /sys/kernel/debug/kcsan."""
    words = [line.partition(": ") for line in lines]
    return {name: int(value) for name, _, value in words if value.lstrip("-").isdigit()}


def report(heard: Transcript, built: build.BuiltKernel) -> RaceReport:
    """Return what KCSAN found in a guest that ran READ at its end."""
    counted = [line for section in heard.of(FLAVOR) for line in section.lines]
    return RaceReport(tuple(parse(heard.console)), counters(counted), own_names(built))


def judge(result: RaceReport) -> list[Test]:
    """KCSAN must have watched accesses, and must have found no race in mm/unmap."""
    looked = result.counters.get(COUNTED[0], 0) > 0
    verdict = Verdict.PASSED if looked else Verdict.FAILED
    found = [
        Test("kcsan: accesses were watched", verdict, f"{COUNTERS}: {result.counters or 'nothing'}")
    ]
    for title, times in Counter(race.title for race in result.ours).items():
        found.append(Test(f"kcsan: {title}", Verdict.FAILED, f"{times} times"))
    ui.note(f"KCSAN: {summary(result)}")
    return found


def summary(result: RaceReport) -> str:
    return (
        f"{result.counters.get(COUNTED[0], 0)} accesses watched; {len(result.races)} races: "
        f"{len(result.ours)} by mm/unmap, {len(result.below)} in stock functions that it calls, "
        f"{len(result.stock)} elsewhere in stock"
    )


def rows(races: Sequence[Race]) -> str:
    """Return a table: each title, its number of races, and one example."""
    times = Counter(race.title for race in races)
    shown = {race.title: race for race in reversed(races)}
    found = []
    for title, count in times.most_common():
        where = "; ".join(
            f"{what}: {' < '.join(f'`{name}`' for name in frames[:5])}"
            for what, frames in shown[title].accesses
        )
        found.append((title, str(count), where))
    heads = ("race", Column("times"), "the first one's accesses")
    return table.markdown(table.make("", heads, found), table.as_it_is)


def written(result: RaceReport, ran: Sequence[str], where: str) -> str:
    """Return the results as Markdown."""
    lines = [
        results.SPDX, "# Data races (KCSAN)", "",
        f"{where}.", "", f"Ran: {', '.join(ran)}.", "", f"{summary(result)}.", "",
    ]  # fmt: skip
    parts = (
        ("By mm/unmap", result.ours),
        ("In stock functions that mm/unmap had called", result.below),
        ("Elsewhere in stock", result.stock),
    )
    for title, races in parts:
        lines += [f"## {title}", "", rows(races) if races else "None.", ""]
    return "\n".join(lines)


@dataclass(frozen=True)
class RecordedRaces:
    environment: Environment
    ran: tuple[str, ...]
    counters: dict[str, int]
    races: tuple[Race, ...]


def record(result: RaceReport, ran: Sequence[str], where: Environment, keep: bool) -> None:
    data = RecordedRaces(where, tuple(ran), result.counters, result.races)
    made = data, written(result, ran, where.line())
    for path in results.record(f"{FLAVOR}-{where.system}", keep, RecordedRaces, lambda _: made):
        ui.note(f"results: {path}")
