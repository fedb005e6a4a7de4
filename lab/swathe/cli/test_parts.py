# SPDX-License-Identifier: GPL-2.0-only
"""The parts of ./swathe test: what each runs, in which kernel, and what CI runs of it in a commit.

Most tests run in a kernel without KASAN and lockdep, which is several times faster. In the kernel
with them run KUnit, the programs that look for what only they see, and in each commit a sixth of
the others. In CI no program runs in both.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import partial

from swathe.base.verdicts import Test
from swathe.check import (
    arm64,
    configurations,
    debian13,
    every_release,
    exported,
    field_runs,
    field_trials,
    installed,
    lab,
    mm_only,
    newest,
    powercuts,
    rotation,
    seeded,
    selftest_guests,
    selftests,
    spin,
    unhooked,
)
from swathe.check.schedule import TestPart
from swathe.check.selftests import SelftestRequest
from swathe.kernel import source
from swathe.kernel.build import KernelRequest
from swathe.kselftests import guests, listing
from swathe.race import play, scene

LIGHT = "light"
CHECKED = "checked"
# kunit and guest run as one part: they share their guests.
KERNEL = "kernel"
DEFAULT = ("lab", "hooks", LIGHT, CHECKED, listing.PART)
# .ci/run adds these.
SELDOM = (
    exported.PART, spin.PART, debian13.PART, "seeded", play.PART, field_trials.PART, "powercut",
    newest.PART, arm64.PART,
)  # fmt: skip
WHOLE = ("kunit", "guest")
# These take hours: kernels without one hook each, and each configuration. Packages take an hour to
# build, and root.
LONG = (unhooked.PART, configurations.PART, installed.PART)
PARTS = (*DEFAULT, *SELDOM, *WHOLE, *LONG)
CI, ALL = "ci", "all"
GROUPS = {CI: (*DEFAULT, *SELDOM), ALL: PARTS}

# These run with KASAN and lockdep in every commit: where they find something, memory is used after
# it was freed, or a lock is taken in an odd order. (trace needs an option that lockdep selects.)
NEEDING = ("memx", "races", "trace")
# These take twelve and fifteen minutes there; they measure what reclaim keeps and what it takes,
# which is in the light part.
SELDOM_CHECKED = ("reference", "ahead")


@dataclass(frozen=True)
class TestRequest:
    """What to test: the names of parts, and the requests of the parts that take options.

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
        turn = rotation.chosen(longest, self.commit, rotation.SIXTHS)
        return replace(self.guest, kunit=True, programs=tuple(sorted([*NEEDING, *turn])))


def of(request: TestRequest) -> list[TestPart]:
    """The requested parts: those that find mistakes soonest, and those that take longest, first."""
    kernel, light, cpus = request.guest.kernel, request.light, request.guest.cpus
    own = replace(request.kselftests, kernel=light if request.kselftests.whole else kernel)
    every = [
        TestPart("lab", lab.run),
        TestPart("hooks", partial(every_release.run, request.releases)),
        TestPart(LIGHT, partial(selftest_guests.run, request.everything), (light,),
             fetch=(partial(source.get, kernel.kernel, kernel.source),)),
        checked(request),
        TestPart(KERNEL, partial(selftest_guests.run, request.guest), (kernel,)),
        TestPart(exported.PART, partial(exported.run, kernel)),
        TestPart(spin.PART, spin.run_unless_recorded if request.rotates else spin.run),
        TestPart(debian13.PART, debian13.run, fetch=(debian13.prefetch,)),
        TestPart("seeded", partial(seeded.run, light, request.seed, cpus),
                 tuple(seeded.needs(light))),
        races(request),
        TestPart(field_trials.PART, partial(fields, light, request.seed, cpus), (light,)),
        TestPart("powercut", partial(powercuts.cut_all, replace(request.powercut, kernel=light)),
             (light,)),
        TestPart(listing.PART, partial(guests.run, own), (own.kernel,)),
        *turns(request),
        TestPart(unhooked.PART, partial(unhooked.run, kernel, cpus)),
        TestPart(configurations.PART, partial(configurations.run, request.configs)),
        TestPart(installed.PART, partial(installed.run, request.install)),
    ]  # fmt: skip
    return [part for part in every if request.wants(part.name)]


def checked(request: TestRequest) -> TestPart:
    """The tests with KASAN and lockdep."""
    asked = request.checked
    says = f"with KASAN and lockdep this commit: KUnit, {', '.join(asked.programs)}"
    return TestPart(CHECKED, partial(selftest_guests.run, asked), (asked.kernel,), says=says)


def races(request: TestRequest) -> TestPart:
    """The scenes; in CI a third of them."""
    names, says = scene.names(), ""
    if request.rotates:
        names = [*rotation.chosen(names, request.commit)]
        says = f"this commit: {', '.join(names)}"
    return TestPart(
        play.PART, partial(play.test, request.light, names), (request.light,), says=says
    )


def turns(request: TestRequest) -> list[TestPart]:
    """The newest kernel, and arm64: in CI one of them is booted, the other only compiled."""
    first = rotation.first_of_two(request.commit)
    found = []
    for module, is_first in ((newest, True), (arm64, False)):
        asked = module.asked(request.guest)
        fetch: tuple[Callable[[], object], ...] = module.fetches(asked)
        if request.rotates and is_first is not first:
            run = partial(mm_only.run, module.PART, asked.kernel)
            found.append(
                TestPart(module.PART, run, fetch=fetch, says="mm/ is compiled this commit")
            )
        else:
            run = partial(module.run, request.guest)
            says = "booted this commit" if request.rotates else ""
            found.append(TestPart(module.PART, run, (asked.kernel,), fetch, says))
    return found


def fields(kernel: KernelRequest, seed: int, cpus: int) -> list[Test]:
    """Both programs for real machines."""
    return [*field_runs.run(kernel, seed), *field_trials.run(kernel, seed, cpus)]
