# SPDX-License-Identifier: GPL-2.0-only
"""The parts of ./swathe test: what each runs, in which kernel, and what CI runs of it in a commit.

Most tests run in a kernel without KASAN and lockdep, which is several times faster. In the kernel
with them run KUnit, the programs that look for what only they see, and in each commit a twelfth of
the others. In CI no program runs in both.
"""

import textwrap
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial

from swathe.base.verdicts import Test
from swathe.check import (
    checkpatch,
    configurations,
    corrections,
    debian13,
    every_release,
    exported,
    field_runs,
    field_trials,
    installed,
    lab,
    powercuts,
    rotation,
    seeded,
    selftest_guests,
    selftests,
    spin,
    unhooked,
)
from swathe.check.other_kernels import CROSS, NEWEST, OtherKernel
from swathe.check.schedule import TestPart
from swathe.check.selftests import SelftestRequest
from swathe.kernel import source
from swathe.kernel.build import KernelRequest
from swathe.kselftests import guests, listing, mainline_cases
from swathe.race import play, scene, stock_image

LIGHT = "light"
CHECKED = "checked"
# kunit and guest run as one part: they share their guests.
KERNEL, SHARING = "kernel", ("kunit", "guest")
CI, ALL = "ci", "all"

# These run with KASAN and lockdep in every commit: where they find something, memory is used after
# it was freed, or a lock is taken in an odd order. (trace needs an option that lockdep selects.)
NEEDING = ("memx", "races", "trace")
# These take twelve and fifteen minutes there; they measure what reclaim keeps and what it takes,
# which is in the light part.
SELDOM_CHECKED = ("reference", "ahead")
# What goes with Swathe, and is seldom changed: each commit of CI runs one of them.
IN_TURN = (
    corrections.PART, debian13.PART, field_trials.PART, powercuts.PART, stock_image.PART
)  # fmt: skip


@dataclass(frozen=True)
class TestRequest:
    """What to test: the names of parts, and the requests of the parts that take options.

    compiles, runs: the patches for mainline are compiled, too; their tests run
    rotates: some parts do only what is this commit's turn; commit: its number
    """

    names: frozenset[str]
    guest: SelftestRequest
    powercut: powercuts.PowercutRequest
    kselftests: guests.KselftestRequest
    configs: configurations.ConfigurationsRequest
    releases: every_release.ReleasesRequest
    install: installed.InstallRequest
    seed: int
    compiles: bool = False
    runs: bool = False
    rotates: bool = False
    commit: int = field(default_factory=rotation.number)

    def wants(self, part: str) -> bool:
        """Whether the part is named, or a single test of it."""
        single: dict[str, Collection[object] | bool] = {
            KERNEL: self.guest.kunit or self.guest.programs,
            listing.PART: self.kselftests.entries,
            configurations.PART: self.configs.wanted,
        }
        return bool(single.get(part, part in self.names))

    @property
    def light(self) -> KernelRequest:
        """The kernel without KASAN and lockdep, unless another variant was asked for."""
        asked = self.guest.kernel
        return asked if asked.variant else replace(asked, variant=LIGHT)

    @property
    def everything(self) -> SelftestRequest:
        """All programs in the light kernel; in CI those that do not run with KASAN."""
        twice = self.checked.programs if self.rotates else ()
        programs = tuple(name for name in selftests.names() if name not in twice)
        return replace(self.guest, kernel=self.light, kunit=True, programs=programs)

    @property
    def checked(self) -> SelftestRequest:
        """What runs with KASAN and lockdep."""
        others = [name for name in selftests.names() if name not in (*NEEDING, *SELDOM_CHECKED)]
        longest = selftest_guests.longest_first(others)
        turn = rotation.chosen(longest, self.commit, rotation.TWELFTHS)
        return replace(self.guest, kunit=True, programs=tuple(sorted([*NEEDING, *turn])))


Fetch = Callable[[], object]


def in_light(request: TestRequest) -> Sequence[KernelRequest]:
    return (request.light,)


def kernel_source(request: TestRequest) -> Sequence[Fetch]:
    asked = request.guest.kernel
    return [partial(source.get, asked.kernel, asked.source)]


def scenes(request: TestRequest) -> Sequence[str]:
    """All scenes; in CI a third of them."""
    return rotation.chosen(scene.names(), request.commit) if request.rotates else scene.names()


def in_turn(request: TestRequest) -> str:
    """What a part says that other commits do not run."""
    return f"this commit, of {', '.join(IN_TURN)}" if request.rotates else ""


def for_mainline(request: TestRequest) -> list[Test]:
    asked = request.guest.kernel
    ran = mainline_cases.run(asked) if request.runs else []
    return [*corrections.run(asked, request.compiles), *ran]


def own(request: TestRequest) -> guests.KselftestRequest:
    """The kernel's own tests: all of them in the light kernel, single ones as asked."""
    asked = request.kselftests
    return replace(asked, kernel=request.light) if asked.whole else asked


class When(Enum):
    """Who asks for a part, as the help says it."""

    DEFAULT = "Without NAME these parts run"
    CI = (
        "ci, which .ci/run runs, adds these; of system-call tests it runs only what they do with "
        "the switch on, each in one kernel; by the commit's hash newest or arm64 is only compiled, "
        f"and one of {', '.join(IN_TURN)} runs"
    )
    NAMED = "These run only when named; all is every part, whole, and takes a day"


@dataclass(frozen=True)
class PartEntry:
    """A part's name, who asks for it, how it runs, and what the help says of it.

    kernels, fetch, says: what TestPart has, for a request
    """

    name: str
    when: When
    run: Callable[[TestRequest], list[Test]]
    summary: str
    kernels: Callable[[TestRequest], Sequence[KernelRequest]] = lambda _: ()
    fetch: Callable[[TestRequest], Sequence[Fetch]] = lambda _: ()
    says: Callable[[TestRequest], str] = lambda _: ""

    def part(self, request: TestRequest) -> TestPart:
        kernels, fetch = tuple(self.kernels(request)), tuple(self.fetch(request))
        run = partial(self.run, request)
        return TestPart(self.part_name, run, kernels, fetch, self.says(request))

    @property
    def part_name(self) -> str:
        return KERNEL if self.name in SHARING else self.name


def turn(other: OtherKernel, summary: str) -> PartEntry:
    """The newest kernel, or arm64: in CI one of them is booted, the other only compiled."""

    def waits(request: TestRequest) -> bool:
        first = rotation.first_of_two(request.commit)
        return request.rotates and (other is NEWEST) is not first

    def run(request: TestRequest) -> list[Test]:
        return other.compile(request.guest) if waits(request) else other.run(request.guest)

    def says(request: TestRequest) -> str:
        booted = "booted this commit" if request.rotates else ""
        return "mm/ is compiled this commit" if waits(request) else booted

    return PartEntry(
        other.part, When.CI, run, summary,
        lambda asked: () if waits(asked) else (other.asked(asked.guest).kernel,),
        lambda _: other.fetch, says,
    )  # fmt: skip


# Those that find mistakes soonest, and those that take longest, come first: so they run.
TABLE = (
    PartEntry("lab", When.DEFAULT, lambda _: lab.run(),
        "pytest over tests/, ruff and mypy: half a minute"),
    PartEntry("hooks", When.DEFAULT, lambda asked: every_release.run(asked.releases),
        "golden tests of every semantic patch; all hooks on each Linux in build/src"),
    PartEntry(checkpatch.PART, When.DEFAULT, lambda asked: checkpatch.run(asked.guest.kernel),
        "the kernel's scripts/checkpatch.pl --strict over kernel/, but for checkpatch.toml: half a "
        "minute, then only files that changed", fetch=kernel_source),
    PartEntry(LIGHT, When.DEFAULT, lambda asked: selftest_guests.run(asked.everything),
        "KUnit suites of mm/unmap and all system-call tests, in a kernel with the checks of memory "
        "management, but without KASAN and lockdep", in_light, kernel_source),
    PartEntry(CHECKED, When.DEFAULT, lambda asked: selftest_guests.run(asked.checked),
        "KUnit, and the tests that look for what only KASAN and lockdep see, in a kernel with "
        "both; and a twelfth of the others, by the commit's hash",
        lambda asked: [asked.checked.kernel], says=lambda asked:
        f"with KASAN and lockdep this commit: KUnit, {', '.join(asked.checked.programs)}"),
    PartEntry("kunit", When.NAMED, lambda asked: selftest_guests.run(asked.guest),
        "KUnit suites in the kernel with all checks", lambda asked: [asked.guest.kernel]),
    PartEntry("guest", When.NAMED, lambda asked: selftest_guests.run(asked.guest),
        "all system-call tests, in the same guests as kunit", lambda asked: [asked.guest.kernel]),
    PartEntry(exported.PART, When.CI, lambda asked: exported.run(asked.guest.kernel),
        "patches of ./swathe export, by git am and patch -p1, against ./swathe apply"),
    PartEntry(corrections.PART, When.CI,
        for_mainline,
        "patches of ./swathe export --mainline: by git am, alone and in order, their words and "
        "style; with --compile their objects, for each architecture; with --run the cases that "
        "they add to the kernel's own tests, which must fail without the other patches",
        lambda asked: mainline_cases.kernels(asked.guest.kernel) if asked.runs else (),
        says=in_turn),
    PartEntry(spin.PART, When.CI,
        lambda asked: spin.run_unless_recorded() if asked.rotates else spin.run(),
        "model checking with SPIN: how page tables are freed and dropped"),
    PartEntry(debian13.PART, When.CI, lambda _: debian13.run(),
        "your last commit on a minimal Debian 13, in build/debian13: the launcher, hooks, apply, a "
        "compile of mm/unmap and hooked files; needs root: three minutes",
        fetch=lambda _: [debian13.prefetch], says=in_turn),
    PartEntry(seeded.PART, When.CI,
        lambda asked: seeded.run(asked.light, asked.seed, asked.guest.cpus),
        "kernels broken on purpose, by each mutant: a test must fail",
        lambda asked: seeded.needs(asked.light)),
    PartEntry(play.PART, When.CI, lambda asked: play.test(asked.light, scenes(asked)),
        "races that are arranged (docs/race.md), and mutants", in_light, says=lambda asked:
        f"this commit: {', '.join(scenes(asked))}" if asked.rotates else ""),
    PartEntry(stock_image.PART, When.CI, lambda asked: stock_image.test(asked.guest.kernel),
        "the bugs of docs/stock-bugs.md on Debian's kernels, which are fetched: each must be seen "
        "where the list says so, and its control must be right", says=in_turn),
    PartEntry(field_trials.PART, When.CI, lambda asked: [
            *field_runs.run(asked.light, asked.seed),
            *field_trials.run(asked.light, asked.seed, asked.guest.cpus),
        ],
        "the programs for real machines, in guests: swathe-field must measure and put the switch "
        "back, swathe-proof must find mutants", in_light, says=in_turn),
    PartEntry(powercuts.PART, When.CI,
        lambda asked: powercuts.cut_all(replace(asked.powercut, kernel=asked.light)),
        "two guests lose their power: synced data must be on their disks", in_light,
        says=in_turn),
    PartEntry(listing.PART, When.DEFAULT, lambda asked: guests.run(own(asked)),
        "the kernel's own mm tests, unchanged: the verdicts with mm/unmap off and on must be the "
        "same", lambda asked: [own(asked).kernel]),
    turn(NEWEST, "KUnit and five system-call tests in the debug kernel of Linux 7.3: most of the "
        "time is for building"),
    turn(CROSS, "KUnit and a system-call test in a kernel for arm64, cross-compiled: nearly all "
        "of the time is for building"),
    PartEntry(unhooked.PART, When.NAMED,
        lambda asked: unhooked.run(asked.guest.kernel, asked.guest.cpus),
        "kernels without one hook each: the build or the test that hooks/series names must fail"),
    PartEntry(configurations.PART, When.NAMED, lambda asked: configurations.run(asked.configs),
        "configurations that must compile without warnings, and kernel variants in which kunit and "
        "guest must pass: configurations.toml"),
    PartEntry(installed.PART, When.NAMED, lambda asked: installed.run(asked.install),
        "the packages of ./swathe deb in a Debian 13: installed, started, removed (needs root)"),
)  # fmt: skip
DEFAULT, SELDOM, NAMED = (
    tuple(entry.name for entry in TABLE if entry.when is when) for when in When
)
PARTS = (*DEFAULT, *SELDOM, *NAMED)
GROUPS = {CI: (*DEFAULT, *SELDOM), ALL: PARTS}


def of(request: TestRequest) -> list[TestPart]:
    """The requested parts, in the table's order."""
    waiting = set(IN_TURN) - {rotation.one_of(IN_TURN, request.commit)} if request.rotates else ()
    wanted = {
        each.part_name: each
        for each in TABLE
        if request.wants(each.part_name) and each.name not in waiting
    }
    return [each.part(request) for each in wanted.values()]


def told() -> str:
    """What the help says of the parts; CONTRIBUTING.md repeats it."""
    paragraphs = []
    for when in When:
        parts = [
            textwrap.fill(f"    {part.name:<12}{part.summary}", 100, subsequent_indent=" " * 16)
            for part in TABLE
            if part.when is when
        ]
        paragraphs += [textwrap.fill(f"{when.value}:", 100), "\n".join(parts)]
    return "\n\n".join(paragraphs)
