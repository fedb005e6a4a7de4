# SPDX-License-Identifier: GPL-2.0-only
"""Check the lab, the hooks and the kernel.

    lab      pytest over tests/, ruff and mypy
    hooks    golden tests of every semantic patch
    model    the protocol by which empty tables are freed: all states of a model
    kunit    KUnit suites of mm/unmap, in a kernel with every check switched on
    guest    system-call tests in the same boot, each for itself
    seeded   kernels broken on purpose: each way to break the laws is found
    unhooked kernels without one hook: what fails without it is said in hooks/series
    field    swathe-proof, which is for real machines, finds what is broken in guests
    powercut two guests lose their power: what was synced is on their disks
    kselftests
             the kernel's own tests of mm, unchanged, in two guests: the
             verdicts with swathe off and on must be the same

The last line says how many tests passed, failed and were skipped; what failed is
named again before it.

    ./swathe test                       all of these but unhooked and the kernel's own tests
    ./swathe test hooks putback         one part, and one system-call test
    ./swathe test kselftests --full     the kernel's own tests, the slow ones, too
    ./swathe test mm/cow mm/migration   two of them
    ./swathe test memx --flavor kcsan   ... in a kernel that looks for data races
    ./swathe test --sabotage LIST       break the code on purpose: it must fail
"""

import argparse
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from swathe import (
    build,
    fieldtests,
    guesttests,
    hooktests,
    kselflist,
    kselftests,
    labtests,
    model,
    powercut,
    run,
    seeded,
    tap,
    ui,
    unhooked,
)  # fmt: skip
from swathe.errors import UsageError
from swathe.tap import Test, Verdict

DEFAULT = ("lab", "hooks", model.PART, "kunit", "guest", "seeded", fieldtests.PART, "powercut")
# They build a kernel a hook, and take half an hour.
PARTS = (*DEFAULT, unhooked.PART, kselflist.PART)
TIMEOUT = 2700
CUTS = 2


@dataclass(frozen=True)
class Request:
    """What to test; programs are the system-call tests that are wanted."""

    lab: bool
    hooks: bool
    model: bool
    guest: guesttests.Request
    seeded: bool
    field: bool
    unhooked: bool
    powercut: powercut.Request | None
    kselftests: kselftests.Request
    seed: int


def set_argparser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names", metavar="NAME", nargs="*", help="a part or a system-call test (default: all)"
    )
    parser.add_argument(
        "--debug", action="store_const", dest="flavor", const="debug",
        default=argparse.SUPPRESS, help="the same as --flavor debug, which is the default",
    )  # fmt: skip
    parser.add_argument("--full", action="store_true", help="the kernel's slow tests, too")
    parser.add_argument(
        "--record",
        action="store_true",
        help="keep the kernel's own tests' table, and KCSAN's races, in docs/results",
    )
    parser.add_argument("--sabotage", metavar="LIST", help="ways to break the kernel, by name")
    run.add_machine_arguments(parser, TIMEOUT)
    build.add_kernel_arguments(parser)
    build.add_flavor_argument(parser, "debug")
    parser.set_defaults(cpus=2)


def wanted_programs(names: Iterable[str]) -> list[str]:
    """The system-call tests that names mean; "guest" means all."""
    known = guesttests.names()
    odd = sorted(set(names) - set(PARTS) - set(known) - set(kselflist.programs()))
    if odd:
        raise UsageError(
            f"there is no test {odd[0]!r}; there are the parts {', '.join(PARTS)}, "
            f"the system-call tests {', '.join(known)}, and the kernel's own "
            f"(such as mm/cow) of {kselflist.FILE.name}"
        )
    return [name for name in known if "guest" in names or name in names]


def request_from(args: argparse.Namespace) -> Request:
    names = args.names or (["kunit", "guest"] if args.sabotage else DEFAULT)
    programs = wanted_programs(names)
    boot = f"{args.boot} unmap.sabotage={args.sabotage}" if args.sabotage else args.boot
    guest = guesttests.Request(
        build.request_from(args, pristine=False), "kunit" in names, tuple(programs),
        args.cpus, args.timeout, boot.strip(), args.record,
    )  # fmt: skip
    own = kselftests.Request(
        guest.kernel, kselflist.load().chosen(names, args.full), args.cpus, boot.strip(),
        whole=kselflist.PART in names, keep=args.record,
    )  # fmt: skip
    seed = random.randrange(1 << 31)
    cuts = powercut.Request(guest.kernel, CUTS, seed, args.cpus, powercut.TIMEOUT, boot.strip())
    return Request(
        "lab" in names, "hooks" in names, model.PART in names, guest, "seeded" in names,
        fieldtests.PART in names, unhooked.PART in names,
        cuts if "powercut" in names else None, own, seed,
    )  # fmt: skip


def main(args: argparse.Namespace) -> int:
    request = request_from(args)
    found = [test for name, part in parts(request) for test in announce(name, part)]
    count = tap.count(found)
    for test in found:
        if test.verdict is Verdict.FAILED:
            ui.result(failure(test))
    ui.result(str(count))
    return 0 if count.ok else 1


def parts(request: Request) -> Iterator[tuple[str, Callable[[], list[Test]]]]:
    """What was asked for, in the order in which mistakes show soonest."""
    if request.lab:
        yield "lab", labtests.run
    if request.hooks:
        yield "hooks", hooktests.run
    if request.model:
        yield model.PART, model.run
    if request.guest.kunit or request.guest.programs:
        yield "kernel", lambda: guesttests.run(request.guest)
    if request.seeded:
        yield "seeded", lambda: seeded.run(request.guest.kernel, request.seed, request.guest.cpus)
    if request.field:
        yield (
            fieldtests.PART,
            lambda: fieldtests.run(request.guest.kernel, request.seed, request.guest.cpus),
        )
    if request.unhooked:
        yield unhooked.PART, lambda: unhooked.run(request.guest.kernel, request.guest.cpus)
    if (cuts := request.powercut) is not None:
        yield "powercut", lambda: powercut.cut_all(cuts)
    if request.kselftests.entries:
        yield kselflist.PART, lambda: kselftests.run(request.kselftests)


def failure(test: Test) -> str:
    return f"failed: {test.name}" + (f" ({test.detail})" if test.detail else "")


def announce(name: str, part: Callable[[], list[Test]]) -> list[Test]:
    """One line for each failure, one for each reason to skip, and one for the part."""
    began = time.monotonic()
    tests = part()
    for test in tests:
        if test.verdict is Verdict.FAILED:
            ui.result(failure(test))
    reasons = Counter(test.detail for test in tests if test.verdict is Verdict.SKIPPED)
    for reason, times in reasons.items():
        ui.result(f"skipped {times}: {reason.removeprefix('SKIP ')}")
    ui.result(f"{name}: {tap.count(tests)} ({time.monotonic() - began:.0f} s)")
    return tests
