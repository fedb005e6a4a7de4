# SPDX-License-Identifier: GPL-2.0-only
"""The command line: the table of subcommands, and errors printed as one sentence."""

import argparse
import importlib
import os
import select
import signal
import sys

from swathe.base import ui
from swathe.base.errors import DISK_FULL, SwatheError
from swathe.check import proofs

COMMANDS = {
    "bench": "measure reclaim in exact instruction counts, stock and swathe",
    "profile": "show what each kernel function costs in a bench",
    "time": "check a model of time against a published table",
    "report": "write a report of measured figures: tables, plots, environment",
    "test": "check the lab, the hooks and the kernel",
    "stress": "run memory stressors, random operations, faults and power cuts",
    "race": "arrange races: stop a processor until another one has come somewhere",
    "proof": "show what was proven of today's code, and run what was not",
    "powercut": "cut a guest's power, then check the files on its disk",
    "build": "fetch, hook and build a kernel",
    "deb": "build Debian packages of a kernel from a machine's own configuration",
    "run": "boot that kernel and run a static program of yours in it",
    "shell": "boot that kernel and open a root shell in it, with files of yours",
    "field": "build programs that measure and test real machines, read their reports",
    "apply": "add Swathe to a kernel source tree of your own",
    "export": "write Swathe as patches: for git, for patch, for NixOS",
    "version": "print the version, the commit and the supported kernels",
}

STATUSES = """\
exit status: 0 done; 1 a check failed; 2 wrong usage; 3 this machine lacks
something, which the message names; 4 the guest crashed or timed out
"""

EPILOG = f"""\
Begin with "./swathe bench": it fetches Linux, builds it, boots it and prints
a table. Everything generated is kept below build/ and reused.

{STATUSES}"""


def parser() -> argparse.ArgumentParser:
    """Return the parser; each subcommand adds its own arguments."""
    top = argparse.ArgumentParser(
        prog="swathe",
        description="Swathe makes Linux unmap runs of page-table entries at once. This lab "
        "builds,\nboots, tests and measures it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        module = importlib.import_module(f"swathe.cli.{name}")
        sub = commands.add_parser(
            name,
            help=summary,
            description=module.__doc__,
            epilog=STATUSES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.set_argparser(sub)
        sub.set_defaults(main=module.main)
    return top


def sentence(error: SwatheError | OSError) -> tuple[str, int]:
    """Return the message for an expected error, and the exit status."""
    if isinstance(error, SwatheError):
        return str(error), error.status
    where = f": {error.filename}" if error.filename else ""
    if error.errno in DISK_FULL:
        return f"the disk is full{where}", 3
    return f"{error.strerror or error}{where}", 3


def terminated(number: int, _frame: object) -> None:
    """Turn SIGTERM into SystemExit, so that guests are killed and temporary files removed."""
    sys.exit(128 + number)


def stdout_is_closed() -> bool:
    """Whether nobody reads stdout any more: then what it still holds is dropped."""
    seen = select.poll()
    seen.register(sys.stdout.fileno(), 0)
    closed = any(event & (select.POLLERR | select.POLLHUP) for _, event in seen.poll(0))
    if closed:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return closed


def run(args: argparse.Namespace) -> int:
    """Run the command; what any of them records names a commit that holds its code."""
    if getattr(args, "record", None):
        proofs.require_clean()
    status: int = args.main(args)
    return status


def main(argv: list[str] | None = None) -> int:
    try:
        signal.signal(signal.SIGTERM, terminated)
        status = run(parser().parse_args(argv))
    except (SwatheError, OSError) as error:
        if isinstance(error, BrokenPipeError) and stdout_is_closed():
            return 1
        text, status = sentence(error)
        ui.err.print(f"swathe: {text}", markup=False, soft_wrap=True)
    except KeyboardInterrupt:
        ui.err.print("swathe: interrupted")
        return 130
    return status


if __name__ == "__main__":
    sys.exit(main())
