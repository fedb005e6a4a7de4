# SPDX-License-Identifier: GPL-2.0-only
"""Arrange a race: stop one processor at an instruction until another one has come somewhere.

A scene is a file of scenes/: a program with two threads, and gates. A gate stops a virtual
processor at a place in the kernel, in each round, until another processor has executed another
place. The program says whether what came of it is right. See docs/race.md.

    ./swathe race                          all scenes
    ./swathe race uffd_copy                one
    ./swathe race uffd_copy --control      without gates
    ./swathe race discard_punch --mutants  also with each mutant that the scene must find
    ./swathe race uffd_copy --kernel 7.3 --pristine   an untouched kernel, built here
    ./swathe race uffd_copy --kernel 7.3 --patches uffd-fill-again   with a patch of mainline/series
    ./swathe race uffd_copy --image vmlinuz --symbols System.map   a kernel of yours
    ./swathe race stock                    the bugs of docs/stock-bugs.md, on Debian's kernel
    ./swathe race stock uffd_remap --kernel 7.3   one of them
    ./swathe race stock --kernel 7.3 --pristine   the same and more, on kernels that are built here
    ./swathe race stock --kernel 7.3 --patches a  with patches for mainline, which mend them
    ./swathe race stock --kernel 7.3 --built --off all   with Swathe, switched off
"""

import argparse
from pathlib import Path

from swathe.base import ui
from swathe.base.errors import UsageError
from swathe.base.verdicts import Verdict, count
from swathe.cli import arguments
from swathe.race import judge, play, scene, stock, stock_built, stock_image

# Instead of a scene.
STOCK = "stock"


def set_argparser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "scenes", metavar="SCENE", nargs="*",
        help=f"one of {', '.join(scene.names())}; or {STOCK}, and bugs of stock kernels "
        f"({', '.join(bug.name for bug in stock.load().bug)})",
    )  # fmt: skip
    parser.add_argument(
        "--rounds", type=arguments.positive, default=0, metavar="N",
        help="rounds (default: as many as the scene says)",
    )  # fmt: skip
    parser.add_argument("--control", action="store_true", help="without gates")
    parser.add_argument(
        "--mutants", action="store_true", help="also with each mutant that the scene must find"
    )
    parser.add_argument(
        "--timeout", type=arguments.positive, default=play.TIMEOUT, metavar="S",
        help=f"kill a guest after S seconds (default: {play.TIMEOUT})",
    )  # fmt: skip
    parser.add_argument(
        "--image", type=Path, metavar="FILE",
        help="a kernel image that was not built here; scenes get no disk in it, and no swap",
    )  # fmt: skip
    parser.add_argument(
        "--symbols", type=Path, metavar="FILE",
        help="the image's System.map (default: what its /proc/kallsyms lists)",
    )  # fmt: skip
    parser.add_argument("--boot", default="", metavar="ARGS", help="additional kernel parameters")
    parser.add_argument(
        "--off", type=arguments.bits, default=0, metavar="BITS",
        help="bits of /sys/kernel/mm/unmap/enabled to clear first, or 'all'",
    )  # fmt: skip
    parser.add_argument(
        "--built", action="store_true",
        help=f"{STOCK}: on a kernel with Swathe, built here, instead of Debian's; "
        "--pristine and --patches: on one without",
    )  # fmt: skip
    arguments.add_pristine_arguments(parser)
    arguments.add_kernel_arguments(parser)
    arguments.add_flavor_argument(parser, "debug")
    arguments.add_variant_argument(parser)
    parser.add_argument(
        "--checked", action="store_true", help="in the kernel with KASAN and lockdep, not in light"
    )
    parser.set_defaults(variant="light")


def request_from(args: argparse.Namespace) -> play.RaceRequest:
    wanted = tuple(args.scenes or scene.names())
    if args.symbols and not args.image:
        raise UsageError("--symbols is for --image: kernels that are built here have their own")
    if args.image and (args.mutants or not args.scenes):
        raise UsageError("--image wants the names of scenes, and has no mutants")
    if args.built:
        raise UsageError(f"--built is for {STOCK}: scenes are played on such a kernel anyhow")
    if args.mutants and (args.pristine or args.patches):
        raise UsageError("--mutants break mm/unmap, which an untouched kernel has not")
    for name in wanted:
        scene.load(name)
    return race_request(args, wanted)


def race_request(args: argparse.Namespace, wanted: tuple[str, ...]) -> play.RaceRequest:
    if args.checked:
        args.variant = ""
    if args.off and (args.pristine or args.patches or args.image):
        raise UsageError("--off is for a kernel with Swathe: an untouched one has no switch")
    return play.RaceRequest(
        arguments.request_from(args), wanted, args.timeout, args.rounds,
        args.control, args.mutants, args.boot, args.image, args.symbols, args.off,
    )  # fmt: skip


def show(played: judge.Played) -> None:
    ui.result(f"{played.name}: {judge.hits(played)}")
    for found in played.outcomes:
        way = f"with mutant {found.way}: " if found.way else ""
        ui.result(f"  {way}{found.rounds} rounds, {found.wrong} wrong {found.said}".rstrip())


def show_stock(args: argparse.Namespace) -> int:
    """Show bugs of stock kernels, on Debian's or on one that is built here."""
    if args.image or args.symbols or args.mutants or args.control or args.checked:
        raise UsageError(f"{STOCK} has images and controls of its own, and no mutants")
    request = race_request(args, ())
    if args.off and not args.built:
        raise UsageError("--off is for --built: Debian's kernels have no switch")
    if args.built or request.kernel.pristine:
        return stock_built.show(args.scenes[1:], request)
    return stock_image.show(args.scenes[1:], request)


def main(args: argparse.Namespace) -> int:
    if args.scenes[:1] == [STOCK]:
        return show_stock(args)
    found = play.play_all(request_from(args))
    tests = [test for played in found for test in judge.tests(played)]
    for played in found:
        show(played)
    for test in tests:
        if test.verdict is Verdict.FAILED:
            ui.result(f"failed: {test.name}: {test.detail}")
    counted = count(tests)
    ui.result(str(counted))
    return 0 if counted.ok else 1
