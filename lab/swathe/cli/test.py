# SPDX-License-Identifier: GPL-2.0-only
"""Check the lab, the hooks and the kernel.

    lab      pytest over tests/, ruff and mypy
    hooks    golden tests of every semantic patch
    kunit    KUnit suites of mm/unmap, in a kernel with every check switched on
    guest    system-call tests in the same boot, each for itself
    kselftests
             the kernel's own tests of mm, unchanged, in two guests: the
             verdicts with swathe off and on must be the same

What takes long and seldom finds anything:

    model    the protocol by which empty tables are freed: all states of a model
    seeded   kernels broken on purpose: each way to break the laws is found
    field    swathe-proof, which is for real machines, finds what is broken in guests
    powercut two guests lose their power: what was synced is on their disks
    ci       all of these, the first five included: what .ci/run runs
    unhooked kernels without one hook: what fails without it is said in hooks/series
    configs  configurations that must compile without a warning, and kernels with one
             thing otherwise, in which kunit and guest are run: configurations.toml

The last line says how many tests passed, failed and were skipped; before it is named again
what failed, and told which part took how long.

    ./swathe test                       the first five
    ./swathe test hooks putback         one part, and one system-call test
    ./swathe test kselftests --full     the kernel's own tests, the slow ones, too
    ./swathe test mm/cow mm/migration   two of them
    ./swathe test configs/compiled      the configurations that are only compiled
    ./swathe test configs/arm64 configs/up   two configurations
    ./swathe test tables --variant up   one test in such a kernel (configs/variants)
    ./swathe test memx --flavor kcsan   ... in a kernel that looks for data races
    ./swathe test --mutants LIST       break the code on purpose: it must fail
"""

import argparse
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

from swathe.base import table, ui, verdicts
from swathe.base.errors import UsageError
from swathe.base.table import Column, Table
from swathe.base.verdicts import Test, Verdict
from swathe.check import (
    configurations,
    field_trials,
    golden,
    lab,
    powercuts,
    seeded,
    selftests,
    spin,
    unhooked,
)
from swathe.cli import arguments
from swathe.kselftests import guests, listing

# The part that kunit and guest are together: they share their guests.
KERNEL = "kernel"
DEFAULT = ("lab", "hooks", "kunit", "guest", listing.PART)
# What .ci/run adds to them.
SELDOM = (spin.PART, "seeded", field_trials.PART, "powercut")
# Hours: these build a kernel for each hook, and for each configuration.
LONG = (unhooked.PART, configurations.PART)
PARTS = (*DEFAULT, *SELDOM, *LONG)
GROUPS = {"ci": (*DEFAULT, *SELDOM)}
TIMEOUT = 2700
CUTS = 2


@dataclass(frozen=True)
class TestRequest:
    """What to test: the parts that are named, and what some of them need to know."""

    names: frozenset[str]
    guest: selftests.SelftestRequest
    powercut: powercuts.PowercutRequest
    kselftests: guests.KselftestRequest
    configs: configurations.ConfigurationsRequest
    seed: int

    def wants(self, part: str) -> bool:
        """Of these, single tests can be named, too."""
        single = {
            KERNEL: self.guest.kunit or self.guest.programs,
            listing.PART: self.kselftests.entries,
            configurations.PART: self.configs.wanted,
        }
        return bool(single.get(part, part in self.names))


@dataclass(frozen=True)
class PartResult:
    """What came of one part."""

    name: str
    tests: list[Test]
    seconds: float


def set_argparser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names",
        metavar="NAME",
        nargs="*",
        help=f"a part or a system-call test (default: {' '.join(DEFAULT)})",
    )
    parser.add_argument(
        "--debug", action="store_const", dest="flavor", const="debug",
        default=argparse.SUPPRESS, help="the same as --flavor debug, which is the default",
    )  # fmt: skip
    parser.add_argument("--full", action="store_true", help="the kernel's slow tests, too")
    parser.add_argument(
        "--record",
        action="store_true",
        help="keep the tables of the kernel's own tests, of configurations, and of "
        "KCSAN's races, in docs/results",
    )
    parser.add_argument("--mutants", metavar="LIST", help="ways to break the kernel, by name")
    arguments.add_machine_arguments(parser, TIMEOUT)
    arguments.add_kernel_arguments(parser)
    arguments.add_flavor_argument(parser, "debug")
    arguments.add_variant_argument(parser)
    parser.set_defaults(cpus=2)


def wanted_programs(names: Iterable[str]) -> list[str]:
    """The system-call tests that names mean; "guest" means all."""
    known = selftests.names()
    single = {*listing.programs(), *configurations.load().names()}
    odd = sorted(set(names) - set(PARTS) - set(known) - single)
    if odd:
        raise UsageError(
            f"there is no test {odd[0]!r}; there are the parts {', '.join([*PARTS, *GROUPS])}, "
            f"the system-call tests {', '.join(known)}, the kernel's own "
            f"(such as mm/cow) of {listing.FILE.name}, and the configurations "
            f"(such as configs/arm64) of {configurations.FILE.name}"
        )
    return [name for name in known if "guest" in names or name in names]


def request_from(args: argparse.Namespace) -> TestRequest:
    asked = args.names or (["kunit", "guest"] if args.mutants else DEFAULT)
    names = [part for name in asked for part in GROUPS.get(name, (name,))]
    programs = wanted_programs(names)
    boot = f"{args.boot} unmap.mutants={args.mutants}" if args.mutants else args.boot
    guest = selftests.SelftestRequest(
        arguments.request_from(args, pristine=False), "kunit" in names, tuple(programs),
        args.cpus, args.timeout, boot.strip(), args.record,
    )  # fmt: skip
    own = guests.KselftestRequest(
        guest.kernel, listing.load().chosen(names, args.full), args.cpus, boot.strip(),
        whole=listing.PART in names, keep=args.record,
    )  # fmt: skip
    everything = replace(guest, kunit=True, programs=tuple(selftests.names()))
    configs = configurations.ConfigurationsRequest(
        configurations.load().chosen(names), everything, keep=args.record
    )
    seed = random.randrange(1 << 31)
    cuts = powercuts.PowercutRequest(
        guest.kernel, CUTS, seed, args.cpus, powercuts.TIMEOUT, boot.strip()
    )
    return TestRequest(frozenset(names), guest, cuts, own, configs, seed)


def main(args: argparse.Namespace) -> int:
    request = request_from(args)
    found = [announce(name, part) for name, part in parts(request)]
    tests = [test for part in found for test in part.tests]
    ui.out.print(table.terminal(summary(found)))
    for test in tests:
        if test.verdict is Verdict.FAILED:
            ui.result(failure(test))
    count = verdicts.count(tests)
    ui.result(str(count))
    return 0 if count.ok else 1


def summary(found: Iterable[PartResult]) -> Table:
    """Which part took how long."""
    numbered = map(Column, ("passed", "failed", "skipped", "seconds"))
    rows = []
    for part in found:
        count = verdicts.count(part.tests)
        numbers = (count.passed, count.failed, count.skipped, round(part.seconds))
        rows.append([part.name, *map(str, numbers)])
    return table.make("", ["part", *numbered], rows)


def parts(request: TestRequest) -> list[tuple[str, Callable[[], list[Test]]]]:
    """What was asked for, in the order in which mistakes show soonest."""
    kernel, cpus = request.guest.kernel, request.guest.cpus
    every: list[tuple[str, Callable[[], list[Test]]]] = [
        ("lab", lab.run),
        ("hooks", golden.run),
        (spin.PART, spin.run),
        (KERNEL, partial(selftests.run, request.guest)),
        ("seeded", partial(seeded.run, kernel, request.seed, cpus)),
        (field_trials.PART, partial(field_trials.run, kernel, request.seed, cpus)),
        (unhooked.PART, partial(unhooked.run, kernel, cpus)),
        ("powercut", partial(powercuts.cut_all, request.powercut)),
        (listing.PART, partial(guests.run, request.kselftests)),
        (configurations.PART, partial(configurations.run, request.configs)),
    ]
    return [(name, run) for name, run in every if request.wants(name)]


def failure(test: Test) -> str:
    return f"failed: {test.name}" + (f" ({test.detail})" if test.detail else "")


def announce(name: str, part: Callable[[], list[Test]]) -> PartResult:
    """One line for each failure, one for each reason to skip, and one for the part."""
    began = time.monotonic()
    tests = part()
    for test in tests:
        if test.verdict is Verdict.FAILED:
            ui.result(failure(test))
    reasons = Counter(test.detail for test in tests if test.verdict is Verdict.SKIPPED)
    for reason, times in reasons.items():
        ui.result(f"skipped {times}: {reason.removeprefix('SKIP ')}")
    seconds = time.monotonic() - began
    ui.result(f"{name}: {verdicts.count(tests)} ({seconds:.0f} s)")
    return PartResult(name, tests, seconds)
