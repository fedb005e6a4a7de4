# SPDX-License-Identifier: GPL-2.0-only
"""Options that several subcommands share, and the kernel request made from them."""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from swathe.base.errors import UsageError
from swathe.kernel import build, config, mainline, source
from swathe.kernel.arch import ARCHES, X86_64
from swathe.measure import memory

ALL_BITS = 0xFFFFFFFF


def add_source_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose a kernel's source."""
    parser.add_argument(
        "--kernel", default="6.12", choices=source.KERNELS, help="kernel series (default: 6.12)"
    )
    parser.add_argument(
        "--source",
        metavar="PATH",
        type=Path,
        help="source tree or tarball to use instead of Debian's package",
    )


def add_kernel_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose a kernel, for every subcommand that boots one."""
    add_source_arguments(parser)
    parser.add_argument(
        "--arch", default=X86_64.name, choices=ARCHES,
        help=f"target architecture (default: {X86_64.name})",
    )  # fmt: skip


def add_flavor_argument(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument(
        "--flavor",
        default=default,
        choices=tuple(config.FLAVORS),
        help="bench: optimised, without checks; distro: bench with Debian's options; "
        "debug: KASAN, lockdep and all other "
        f"checks; kcsan: debug with KCSAN instead of KASAN (default: {default})",
    )


def add_variant_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--variant", default="", choices=config.variants(), metavar="NAME",
        help=f"configuration variant (configs/variants): {', '.join(config.variants())}",
    )  # fmt: skip


def add_pristine_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose a kernel without Swathe."""
    parser.add_argument(
        "--pristine", action="store_true", help="the untouched tree, without Swathe"
    )
    parser.add_argument(
        "--patches", default="", metavar="LIST",
        help="the untouched tree with patches of mainline/series: their names, or the letters "
        "of series, separated by commas",
    )  # fmt: skip


def patches_of(args: argparse.Namespace) -> tuple[str, ...]:
    names = tuple(filter(None, getattr(args, "patches", "").split(",")))
    mainline.chosen(names)
    return names


LRU_VARIANT = "mglru"


def add_lru_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--lru-gen", default="", choices=("0", "7"), metavar="MODE",
        help="kernel with both LRUs, and what to write to lru_gen/enabled in it: 0 (classic LRU) "
        "or 7 (multi-gen LRU)",
    )  # fmt: skip


def variant_of(args: argparse.Namespace) -> str:
    """Return the kernel's variant; the flavor bench has the multi-gen LRU in one only."""
    if getattr(args, "lru_gen", "") and args.flavor == "bench":
        return LRU_VARIANT
    return str(getattr(args, "variant", ""))


def request_from(args: argparse.Namespace, *, pristine: bool | None = None) -> build.KernelRequest:
    """Return what the options ask for; pristine: where there is no such option."""
    patches = patches_of(args)
    wanted = bool(args.pristine or patches) if pristine is None else pristine
    config.require_arch(args.flavor, args.arch)
    return build.KernelRequest(
        args.kernel, args.source, args.flavor, args.arch, wanted, patches, variant=variant_of(args)
    )


def others() -> tuple[str, ...]:
    """Return what --against takes."""
    return ("pristine", *mainline.load().letters, *source.PACKAGED[1:])


def against(args: argparse.Namespace) -> str | None:
    """Return the other kernel of --against, which must be another one."""
    if args.against == args.kernel:
        raise UsageError(
            f"--against {args.against} is the kernel that is measured: "
            "its untouched tree is --against pristine"
        )
    return str(args.against) if args.against else None


def bits(text: str) -> int:
    """Parse the mask of --off: a number, or "all"."""
    if text == "all":
        return ALL_BITS
    try:
        return int(text, 0)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor 'all'") from error


def size(text: str) -> str:
    """Check a size in the form that QEMU and truncate accept."""
    if not re.fullmatch(r"[1-9]\d*[MG]", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 512M or 4G")
    return text


def positive(text: str) -> int:
    if not re.fullmatch(r"[1-9]\d*", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return int(text)


def add_machine_arguments(parser: argparse.ArgumentParser, timeout: int) -> None:
    """Add the options that configure a guest."""
    parser.add_argument(
        "--cpus", type=positive, default=1, metavar="N", help="CPUs (default: %(default)s)"
    )
    parser.add_argument(
        "--timeout", type=positive, default=timeout, metavar="S",
        help=f"kill the guest after S seconds (default: {timeout})",
    )  # fmt: skip
    parser.add_argument("--boot", default="", metavar="ARGS", help="additional kernel parameters")


def add_memory_arguments(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the options that count accesses to memory."""
    parser.add_argument(
        "--memory", action="store_true",
        help=f"{what}, and misses in a model of a processor's caches (docs/time.md)",
    )  # fmt: skip
    parser.add_argument(
        "--processor", default=memory.DEFAULT, choices=tuple(memory.processors()),
        help=f"the processor of --memory (default: {memory.DEFAULT})",
    )  # fmt: skip


def memory_model(args: argparse.Namespace) -> memory.Processor | None:
    """Return the processor that --memory is to model, if it is given."""
    if args.memory and args.arch != X86_64.name:
        raise UsageError("--memory knows the addresses of x86_64 only: leave it out")
    return memory.processors()[args.processor] if args.memory else None


def add_size_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for the sizes of a guest."""
    parser.add_argument(
        "--memory", type=size, default="4G", metavar="SIZE", help="guest memory (default: 4G)"
    )
    parser.add_argument(
        "--disk", type=size, default="2G", metavar="SIZE", help="disk size, /mnt (default: 2G)"
    )


def require_known(names: Sequence[str], known: Sequence[str], what: str) -> None:
    """Raise unless all names are known."""
    odd = [name for name in names if name not in known]
    if odd:
        raise UsageError(f"there is no {what} {odd[0]!r}; there are {', '.join(known)}")
