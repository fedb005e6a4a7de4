# SPDX-License-Identifier: GPL-2.0-only
"""Check the lab, the hooks and the kernel.

{parts}

Parts run side by side. At the end swathe prints a table of them: verdicts, and the seconds for
which kernels were built for each, it waited for these and for a processor, and it ran; then the
failed tests, and how many tests passed, failed and were skipped.

    ./swathe test                            the first six parts
    ./swathe test hooks putback              one part and one system-call test
    ./swathe test hooks --releases           the hooks on every point release, fetched first
    ./swathe test kselftests --full          the kernel's own tests, with the slow ones
    ./swathe test mm/cow mm/migration        two of the kernel's own tests
    ./swathe test configs/compiled           the configurations that are only compiled
    ./swathe test configs/arm64 configs/up   two configurations
    ./swathe test kept/tight kept/many       two tests of a program
    ./swathe test swap/raced --times 20      one of them in twenty guests
    ./swathe test tables --variant up        one test in a variant of configs/variants
    ./swathe test memx --flavor kcsan        one test in a kernel with KCSAN
    ./swathe test --mutants LIST             break the code on purpose: must fail
"""

import argparse
import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from swathe.base import table, ui, verdicts
from swathe.base.errors import UsageError
from swathe.base.verdicts import Verdict
from swathe.check import (
    configurations,
    every_release,
    installed,
    powercuts,
    schedule,
    selftests,
)
from swathe.cli import arguments, test_parts
from swathe.cli.test_parts import CI, DEFAULT, GROUPS, PARTS, TestRequest
from swathe.guest.clock import Clock
from swathe.kernel import packages
from swathe.kernel.arch import ARCHES
from swathe.kselftests import guests, listing

TIMEOUT = 2700
CUTS = 2


def set_argparser(parser: argparse.ArgumentParser) -> None:
    parser.description = (__doc__ or "").format(parts=test_parts.told())
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
        "--compile", action="store_true",
        help="mainline: also compile what the patches change: ten minutes",
    )  # fmt: skip
    parser.add_argument(
        "--run", action="store_true",
        help="mainline: also run the new cases of the kernel's own tests, without and with patches",
    )  # fmt: skip
    parser.add_argument(
        "--record",
        action="store_true",
        help="write the tables of releases, kselftests, configurations and KCSAN races, and the "
        "transcript of deb, to docs/results, too; which tests skip themselves, to skips.toml",
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
    parser.add_argument(
        "--times", type=arguments.positive, default=1, metavar="N",
        help="boot each guest of kunit and guest so many times",
    )  # fmt: skip
    arguments.add_machine_arguments(parser, TIMEOUT)
    arguments.add_kernel_arguments(parser)
    arguments.add_flavor_argument(parser, "debug")
    arguments.add_variant_argument(parser)
    parser.set_defaults(cpus=2)


def single_tests(names: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return the programs and tests of names such as kept/tight."""
    known, pairs = selftests.names(), [name.partition("/") for name in names]
    return tuple((program, test) for program, _, test in pairs if test and program in known)


def wanted_programs(names: Iterable[str]) -> list[str]:
    """Return the programs of system-call tests among names; "guest" means all of them."""
    known, pairs = selftests.names(), single_tests(names)
    single = {*listing.programs(), *configurations.load().names()}
    names = {*names} - {f"{program}/{test}" for program, test in pairs} | {*dict(pairs)}
    odd = sorted(names - set(PARTS) - set(known) - single)
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
        clock=Clock[args.clock.upper()] if args.clock else None, single=single_tests(names),
        times=args.times,
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
    releases = every_release.ReleasesRequest(args.releases, args.record, args.kernel, args.source)
    install = installed.InstallRequest(args.packages.absolute(), keep=args.record)
    return TestRequest(
        frozenset(names), guest, cuts, own, configs, releases, install, seed, compiles=args.compile,
        runs=args.run, rotates=CI in asked,
    )  # fmt: skip


def main(args: argparse.Namespace) -> int:
    found = schedule.run(test_parts.of(request_from(args)))
    tests = [test for part in found for test in part.tests]
    ui.out.print(table.terminal(schedule.summary(found)))
    for test in tests:
        if test.verdict is Verdict.FAILED:
            ui.result(schedule.failure(test))
    count = verdicts.count(tests)
    ui.result(str(count))
    return 0 if count.ok else 1
