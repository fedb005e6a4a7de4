# SPDX-License-Identifier: GPL-2.0-only
"""How long a bench's measured call holds locks: the profiler plugin's mode "locks".

A hold is counted in instructions from the lock's acquisition to its release. Interrupts that
arrive meanwhile are left out. Of a lock that sleeps, whatever runs meanwhile counts, other tasks,
too. A hold that began before the call, or goes on after it, counts as far as it lies in it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from swathe.base import results
from swathe.base.errors import CheckFailed, UsageError
from swathe.guest import environment
from swathe.guest.sections import Section
from swathe.kernel import build
from swathe.kernel.arch import X86_64
from swathe.measure import functions, lock_classes, plugin, rows
from swathe.measure.functions import ProfileRequest
from swathe.measure.rows import Row

MODE = "locks"
PREEMPTION, INTERRUPTS = "preemption", "interrupts"
OFF = {PREEMPTION: "preemption_off", INTERRUPTS: "interrupts_off"}
LONGEST = {name: f"longest_{name}" for name in lock_classes.NAMES}
# What goals can be set for.
METRICS = frozenset({*LONGEST.values(), *OFF.values()})
OTHER = "other: "


@dataclass(frozen=True)
class Hold:
    """Acquisitions, and the stretches that they or others began: their sum, the longest, whose.

    Who is a function, or with the one that called it "CALLER;FUNCTION".
    """

    acquired: int = 0
    times: int = 0
    total: int = 0
    longest: int = 0
    who: str = ""

    def __add__(self, other: "Hold") -> "Hold":
        most = max(self, other, key=lambda one: one.longest)
        return Hold(
            self.acquired + other.acquired, self.times + other.times, self.total + other.total,
            most.longest, most.who or self.who or other.who,
        )  # fmt: skip

    def mean(self) -> float:
        return self.total / self.times if self.times else 0

    def used(self) -> bool:
        return self.acquired > 0 or self.times > 0

    def function(self) -> str:
        return self.who.split(";")[-1]

    def caller(self) -> str:
        """Who had it done: the function, or its caller if that is known."""
        return self.who.split(";")[0]


@dataclass(frozen=True)
class Taken:
    """One lock, as far as one function takes it."""

    address: str
    initialiser: str
    hold: Hold


@dataclass(frozen=True)
class LockRegion:
    """One marked region: its locks, and the stretches without preemption and interrupts."""

    instructions: int
    taken: tuple[Taken, ...]
    off: dict[str, Hold]
    contradictions: int

    def named(self) -> Iterator[tuple[str, Hold]]:
        """Yield the class of each hold, or who took the lock where no class is known."""
        takers: dict[str, list[str]] = {}
        for one in self.taken:
            takers.setdefault(one.address, []).append(one.hold.function())
        for one in self.taken:
            if one.hold.used():
                taker = one.hold.function()
                lock = lock_classes.class_of(one.initialiser, taker, takers[one.address])
                yield lock or f"{OTHER}{taker}", one.hold

    def classes(self) -> dict[str, Hold]:
        """Sums by class or taker; the classes come first."""
        found: dict[str, Hold] = {}
        for name, one in self.named():
            found[name] = found.get(name, Hold()) + one
        known = [name for name in lock_classes.NAMES if name in found]
        return {name: found[name] for name in [*known, *sorted(found.keys() - set(known))]}

    def callers(self, lock: str) -> dict[str, Hold]:
        """Sums by who had a lock of this class taken."""
        found: dict[str, Hold] = {}
        for name, one in self.named():
            if name == lock:
                found[one.caller()] = found.get(one.caller(), Hold()) + one
        return found


@dataclass(frozen=True)
class LockRun:
    """One config's region, with the pages that the guest reported."""

    config: str
    region: LockRegion
    pages: float


@dataclass(frozen=True)
class LockResult:
    runs: tuple[LockRun, ...]
    environment: environment.Environment


def parse(lines: Iterable[str]) -> list[LockRegion]:
    """Parse the region of each run that reported."""
    return [region(chunk) for chunk in plugin.chunks(lines)]


def region(chunk: Sequence[str]) -> LockRegion:
    plain: dict[str, int] = {}
    taken: list[Taken] = []
    off: dict[str, Hold] = {}
    for line in chunk:
        match line.split():
            case ["lock", address, initialiser, taker, *numbers] if len(numbers) == 4:
                taken.append(Taken(address, initialiser, hold(taker, numbers)))
            case ["off", what, who, *numbers] if len(numbers) == 3:
                off[what] = hold(who, [numbers[0], *numbers])
            case [name, number] if number.isdigit():
                plain[name] = int(number)
            case _:
                raise plugin.foreign(line)
    if off.keys() != OFF.keys() or plain.keys() != {"instructions", "contradictions"}:
        raise CheckFailed("the profiler's output is not that of its mode locks")
    return LockRegion(plain["instructions"], tuple(taken), off, plain["contradictions"])


def hold(who: str, numbers: Sequence[str]) -> Hold:
    acquired, times, total, longest = map(int, numbers)
    return Hold(acquired, times, total, longest, who)


def require_countable(request: ProfileRequest) -> None:
    if request.kernel.arch != X86_64.name:
        raise UsageError(
            f"--locks knows the locks of {X86_64.name} only: "
            f"the profiler cannot tell what takes a lock on {request.kernel.arch}"
        )
    if request.bench.cpus > 1:
        raise UsageError(
            f"--locks counts on one processor, and bench {request.bench.name} runs on "
            f"{request.bench.cpus}: there the profiler cannot tell who waits for a lock"
        )


def measure(request: ProfileRequest) -> LockResult:
    """Build the kernels, and measure the case in one boot of each."""
    require_countable(request)
    runs: list[LockRun] = []
    for built, configs in functions.kernels(request):
        reports, lines = functions.boot(request, built, configs, MODE)
        runs += pair(request, reports, lines)
    ours = build.build(request.kernel)
    return LockResult(tuple(runs), environment.look(ours, 1, request.bench.memory))


def pair(
    request: ProfileRequest, reports: Sequence[Section], lines: Iterable[str]
) -> Iterator[LockRun]:
    """Pair each measured run with its region, which must agree with the clock and with itself."""
    for report, seen in functions.measured(reports, parse(lines)):
        metrics = {name: value for name, value, _ in rows.metrics(report)}
        config, clock = report.words[2], metrics[rows.MAIN_METRIC]
        functions.require_agreement(config, seen.instructions, clock, request.bench.own_time)
        if seen.contradictions:
            raise CheckFailed(
                f"{config}: {seen.contradictions} spinlocks were taken while they were held, or "
                "held when the program ran: the profiler missed releases"
            )
        yield LockRun(config, seen, metrics["pages"])


def wanted_rows(request: ProfileRequest, runs: Sequence[LockRun]) -> Iterator[Row]:
    """What goals can be set for, as rows: the longest hold of each class, and without classes."""
    names = [name for name in lock_classes.NAMES if any(name in r.region.classes() for r in runs)]
    for run in runs:
        classes = run.region.classes()
        found = {LONGEST[name]: classes.get(name, Hold()) for name in names}
        found |= {metric: run.region.off[what] for what, metric in OFF.items()}
        for metric, one in found.items():
            yield Row(
                request.bench.name, request.case, metric, run.config,
                one.longest, "instructions held", 0, 1,
            )  # fmt: skip


def callers_json(region: LockRegion, lock: str) -> dict[str, object]:
    return {caller: asdict(one) for caller, one in region.callers(lock).items()}


def as_json(run: LockRun) -> dict[str, object]:
    """Return the sums as JSON data: totals of the region, not per page."""
    return {
        "pages": run.pages,
        "instructions": run.region.instructions,
        "locks": {
            name: {**asdict(one), "callers": callers_json(run.region, name)}
            for name, one in run.region.classes().items()
        },
        "off": {name: asdict(one) for name, one in run.region.off.items()},
    }


def save(request: ProfileRequest, result: LockResult) -> Path:
    name = "-".join((request.bench.name, request.case, *functions.newer(request)))
    data = {
        "bench": request.bench.name,
        "case": request.case,
        "environment": result.environment,
        "configs": {run.config: as_json(run) for run in result.runs},
    }
    return results.write_json(results.HERE / f"locks-{name}.json", data)
