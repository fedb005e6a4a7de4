# SPDX-License-Identifier: GPL-2.0-only
"""Check the lab, the hooks and the kernel.

Without NAME these parts run:

    lab         pytest over tests/, ruff and mypy
    hooks       golden tests of every semantic patch; all hooks on each Linux in build/src
    kunit       KUnit suites of mm/unmap, in the debug kernel
    guest       system-call tests, in the same guests as kunit
    kselftests  the kernel's own mm tests, unchanged, in two guests: the verdicts
                with mm/unmap off and on must be the same

These parts take longer and run only when named:

    export      patches of ./swathe export, by git am and patch -p1, against ./swathe apply
    model       model checking with SPIN: how page tables are freed and dropped
    debian13    a clone on a minimal Debian 13, in build/debian13: the launcher, lab,
                hooks, apply, a compile of mm/; needs root
    seeded      kernels broken on purpose, by each mutant: a test must fail
    field       the programs for real machines, in guests: swathe-field must measure
                and put the switch back, swathe-proof must find mutants
    powercut    two guests lose their power: synced data must be on their disks
    newest      KUnit and three system-call tests in the debug kernel of Linux 7.3
    arm64       KUnit and a system-call test in a kernel for arm64, which is cross-compiled
    ci          all parts above, as .ci/run runs them; guest only with the switch on
    unhooked    kernels without one hook each: the build or the test that
                hooks/series names must fail
    configs     configurations that must compile without warnings, and kernel
                variants in which kunit and guest must pass: configurations.toml
    deb         the packages of ./swathe deb installed in a Debian 13, started,
                and removed again (needs root)

At the end swathe prints a table of the parts with their durations, the failed
tests, and how many tests passed, failed and were skipped.

    ./swathe test                            the first five parts
    ./swathe test hooks putback              one part and one system-call test
    ./swathe test hooks --releases           the hooks on every point release, fetched first
    ./swathe test kselftests --full          the kernel's own tests, with the slow ones
    ./swathe test mm/cow mm/migration        two of the kernel's own tests
    ./swathe test configs/compiled           the configurations that are only compiled
    ./swathe test configs/arm64 configs/up   two configurations
    ./swathe test tables --variant up        one test in a variant of configs/variants
    ./swathe test memx --flavor kcsan        one test in a kernel with KCSAN
    ./swathe test --mutants LIST             break the code on purpose: must fail
"""

import argparse
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from swathe.base import table, ui, verdicts
from swathe.base.errors import SwatheError, UsageError
from swathe.base.table import Column, Table
from swathe.base.verdicts import Test, Verdict
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
    newest,
    powercuts,
    seeded,
    selftest_guests,
    selftests,
    spin,
    unhooked,
)
from swathe.cli import arguments
from swathe.guest.clock import Clock
from swathe.kernel import packages
from swathe.kernel.arch import ARCHES
from swathe.kernel.build import KernelRequest
from swathe.kselftests import guests, listing

# kunit and guest run as one part: they share their guests.
KERNEL = "kernel"
DEFAULT = ("lab", "hooks", "kunit", "guest", listing.PART)
# .ci/run adds these.
SELDOM = (
    exported.PART, spin.PART, debian13.PART, "seeded", field_trials.PART, "powercut", newest.PART,
    arm64.PART,
)  # fmt: skip
# These take hours: kernels without one hook each, and each configuration. Packages take an hour to
# build, and root.
LONG = (unhooked.PART, configurations.PART, installed.PART)
PARTS = (*DEFAULT, *SELDOM, *LONG)
CI = "ci"
GROUPS = {CI: (*DEFAULT, *SELDOM)}
TIMEOUT = 2700
CUTS = 2


@dataclass(frozen=True)
class TestRequest:
    """What to test: the names of parts, and the requests of the parts that take options."""

    names: frozenset[str]
    guest: selftests.SelftestRequest
    powercut: powercuts.PowercutRequest
    kselftests: guests.KselftestRequest
    configs: configurations.ConfigurationsRequest
    releases: every_release.ReleasesRequest
    install: installed.InstallRequest
    seed: int

    def wants(self, part: str) -> bool:
        """Whether the part is named, or a single test of it."""
        single = {
            KERNEL: self.guest.kunit or self.guest.programs,
            listing.PART: self.kselftests.entries,
            configurations.PART: self.configs.wanted,
        }
        return bool(single.get(part, part in self.names))


@dataclass(frozen=True)
class PartResult:
    """The tests of one part, and how long it took."""

    name: str
    tests: list[Test]
    seconds: float


def set_argparser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names",
        metavar="NAME",
        nargs="*",
        help=f"a part, a test or a configuration (default: {' '.join(DEFAULT)})",
    )
    parser.add_argument(
        "--debug", action="store_const", dest="flavor", const="debug",
        default=argparse.SUPPRESS, help="the same as --flavor debug, which is the default",
    )  # fmt: skip
    parser.add_argument("--full", action="store_true", help="also run the slow kselftests")
    parser.add_argument(
        "--releases", action="store_true",
        help="hooks: first fetch the source of every point release that Debian has",
    )  # fmt: skip
    parser.add_argument(
        "--record",
        action="store_true",
        help="write the tables of releases, kselftests, configurations and KCSAN races, and the "
        "transcript of deb, to docs/results, too",
    )
    parser.add_argument(
        "--packages", type=Path, default=packages.HOME, metavar="DIR",
        help="the kernel packages of the part deb (default: build/deb)",
    )  # fmt: skip
    parser.add_argument(
        "--mutants", metavar="LIST", help="comma-separated mutants of mutants/series"
    )
    parser.add_argument(
        "--on-only", action="store_true",
        help="leave out what system-call tests do with the switch off, as ci does",
    )  # fmt: skip
    parser.add_argument(
        "--clock", choices=("counted", "host"), metavar="CLOCK",
        help="of the guests of kunit and guest: counted (instructions are the clock, processors "
        "take turns) or host (they run in parallel); default: what each program wants",
    )  # fmt: skip
    arguments.add_machine_arguments(parser, TIMEOUT)
    arguments.add_kernel_arguments(parser)
    arguments.add_flavor_argument(parser, "debug")
    arguments.add_variant_argument(parser)
    parser.set_defaults(cpus=2)


def wanted_programs(names: Iterable[str]) -> list[str]:
    """Return the system-call tests among names; "guest" means all of them."""
    known = selftests.names()
    single = {*listing.programs(), *configurations.load().names()}
    odd = sorted(set(names) - set(PARTS) - set(known) - single)
    if odd:
        raise UsageError(
            f"there is no test {odd[0]!r}; give a part ({', '.join([*PARTS, *GROUPS])}), "
            f"a system-call test ({', '.join(known)}), a test of {listing.FILE.name} "
            f"(such as mm/cow), or a configuration of {configurations.FILE.name} "
            f"(such as configs/arm64)"
        )
    return [name for name in known if "guest" in names or name in names]


def limit(args: argparse.Namespace) -> int:
    """Return the seconds after which the guest is killed: more where it is slow, unless given."""
    seconds: int = args.timeout
    return seconds * ARCHES[args.arch].patience if seconds == TIMEOUT else seconds


def request_from(args: argparse.Namespace) -> TestRequest:
    asked = args.names or (["kunit", "guest"] if args.mutants else DEFAULT)
    names = [part for name in asked for part in GROUPS.get(name, (name,))]
    programs = wanted_programs(names)
    boot = f"{args.boot} unmap.mutants={args.mutants}" if args.mutants else args.boot
    guest = selftests.SelftestRequest(
        arguments.request_from(args, pristine=False), "kunit" in names, tuple(programs),
        args.cpus, limit(args), boot.strip(), args.record, on_only=args.on_only or CI in asked,
        clock=Clock[args.clock.upper()] if args.clock else None,
    )  # fmt: skip
    own = guests.KselftestRequest(
        guest.kernel, listing.load().chosen(names, args.full), args.cpus, boot.strip(),
        whole=listing.PART in names, keep=args.record,
    )  # fmt: skip
    everything = replace(guest, kunit=True, programs=tuple(selftests.names()), on_only=False)
    configs = configurations.ConfigurationsRequest(
        configurations.load().chosen(names), everything, keep=args.record
    )
    seed = random.randrange(1 << 31)
    cuts = powercuts.PowercutRequest(
        guest.kernel, CUTS, seed, args.cpus, powercuts.TIMEOUT, boot.strip()
    )
    releases = every_release.ReleasesRequest(args.releases, args.record)
    install = installed.InstallRequest(args.packages.absolute(), keep=args.record)
    return TestRequest(frozenset(names), guest, cuts, own, configs, releases, install, seed)


def main(args: argparse.Namespace) -> int:
    request = request_from(args)
    wanted = parts(request)
    found = [announce(name, part, len(wanted) == 1) for name, part in wanted]
    tests = [test for part in found for test in part.tests]
    ui.out.print(table.terminal(summary(found)))
    for test in tests:
        if test.verdict is Verdict.FAILED:
            ui.result(failure(test))
    count = verdicts.count(tests)
    ui.result(str(count))
    return 0 if count.ok else 1


def summary(found: Iterable[PartResult]) -> Table:
    """A table of the parts: verdicts and durations."""
    numbered = map(Column, ("passed", "failed", "skipped", "seconds"))
    rows = []
    for part in found:
        count = verdicts.count(part.tests)
        numbers = (count.passed, count.failed, count.skipped, round(part.seconds))
        rows.append([part.name, *map(str, numbers)])
    return table.make("", ["part", *numbered], rows)


def parts(request: TestRequest) -> list[tuple[str, Callable[[], list[Test]]]]:
    """The requested parts, those that find mistakes soonest first."""
    kernel, cpus = request.guest.kernel, request.guest.cpus
    every: list[tuple[str, Callable[[], list[Test]]]] = [
        ("lab", lab.run),
        ("hooks", partial(every_release.run, request.releases)),
        (exported.PART, partial(exported.run, kernel)),
        (spin.PART, spin.run),
        (debian13.PART, debian13.run),
        (KERNEL, partial(selftest_guests.run, request.guest)),
        ("seeded", partial(seeded.run, kernel, request.seed, cpus)),
        (field_trials.PART, partial(field, kernel, request.seed, cpus)),
        (unhooked.PART, partial(unhooked.run, kernel, cpus)),
        ("powercut", partial(powercuts.cut_all, request.powercut)),
        (listing.PART, partial(guests.run, request.kselftests)),
        (newest.PART, partial(newest.run, request.guest)),
        (arm64.PART, partial(arm64.run, request.guest)),
        (configurations.PART, partial(configurations.run, request.configs)),
        (installed.PART, partial(installed.run, request.install)),
    ]
    return [(name, run) for name, run in every if request.wants(name)]


def field(kernel: KernelRequest, seed: int, cpus: int) -> list[Test]:
    """Both programs for real machines."""
    return [*field_runs.run(kernel, seed), *field_trials.run(kernel, seed, cpus)]


def failure(test: Test) -> str:
    return f"failed: {test.name}" + (f" ({test.detail})" if test.detail else "")


def announce(name: str, part: Callable[[], list[Test]], alone: bool) -> PartResult:
    """Run a part. Print a line for each failure, each reason to skip, and the part itself.

    A part that cannot be done has failed, and those after it are run; alone it ends the lab.
    """
    began = time.monotonic()
    try:
        tests = part()
    except SwatheError as error:
        if alone:
            raise
        tests = [Test(name, Verdict.FAILED, str(error))]
    for test in tests:
        if test.verdict is Verdict.FAILED:
            ui.result(failure(test))
    reasons = Counter(test.detail for test in tests if test.verdict is Verdict.SKIPPED)
    for reason, times in reasons.items():
        ui.result(f"skipped {times}: {reason.removeprefix('SKIP ')}")
    seconds = time.monotonic() - began
    ui.result(f"{name}: {verdicts.count(tests)} ({seconds:.0f} s)")
    return PartResult(name, tests, seconds)
