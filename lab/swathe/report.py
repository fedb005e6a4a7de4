# SPDX-License-Identifier: GPL-2.0-only
"""Write one page of what was measured: tables, plots, environment.

Without FILEs it takes the newest kept figures of every bench, or where there
are none the recorded ones of docs/results. The page stands alone and needs no
network; the same text is beside it as Markdown, its plots as SVG files.

    ./swathe report                             build/report/index.html and report.md
    ./swathe report out.json --out /tmp/page    figures of "./swathe bench --json out.json"
    ./swathe report --record discard-6.12       docs/results/discard-6.12.json and .md
"""

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from swathe import ui
from swathe.errors import EnvironmentLacks, UsageError
from swathe.paths import BUILD, RECORDED
from swathe.reporting import figures
from swathe.reporting.figures import Figures, Malformed, Profile, Run

RESULTS = BUILD / "results"
OUT = BUILD / "report"
KEPT = ("bench-*.json", "profile-*.json")
# Verdicts of tests lie beside the figures.
VERDICTS = ("kselftests-*.json", "kcsan-*.json", "proof-*.json")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Request:
    files: tuple[Path, ...]
    out: Path
    record: str | None


@dataclass(frozen=True)
class Found:
    """The chosen figures, and a sentence about where they are from."""

    figures: Figures
    origin: str


def record_name(text: str) -> str:
    if not NAME.fullmatch(text) or text.endswith((".json", ".md")):
        raise argparse.ArgumentTypeError(f"{text!r} is no name for a run: say discard-6.12, say")
    return text


def set_argparser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", metavar="FILE.json", nargs="*", type=Path,
        help="figures of bench or profile (default: the newest kept ones)",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=Path, default=OUT, metavar="DIR", help="default: build/report"
    )
    parser.add_argument(
        "--record", type=record_name, metavar="NAME",
        help="write docs/results/NAME.json and NAME.md instead of a page",
    )  # fmt: skip


def main(args: argparse.Namespace) -> int:
    request = Request(tuple(args.files), args.out, args.record)
    found = given(request.files) if request.files else newest()
    from swathe.reporting import write

    if request.record:
        path = write.record(found.figures, RECORDED, request.record)
    else:
        path = write.site(found.figures, found.origin, request.out)
    ui.note(found.origin)
    ui.result(str(path))
    return 0


def given(paths: Sequence[Path]) -> Found:
    """The figures of these files, all of which must be readable."""
    found: list[Run | Profile] = []
    for path in paths:
        try:
            found += figures.load(path, path.name)
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}") from error
        except Malformed as error:
            raise UsageError(f"{path}: {error}") from error
    names = ", ".join(path.name for path in paths)
    return some(found, f"Figures from {names}.")


def newest() -> Found:
    """What was measured here, or else what is recorded."""
    kept = [path for pattern in KEPT for path in sorted(RESULTS.glob(pattern))]
    if found := readable(kept):
        return some(found, "The newest figures kept in build/results, bench by bench.")
    verdicts = {path for pattern in VERDICTS for path in RECORDED.glob(pattern)}
    recorded = sorted(set(RECORDED.glob("*.json")) - verdicts)
    names = ", ".join(f"docs/results/{path.name}" for path in recorded)
    return some(
        readable(recorded),
        f"Nothing was measured on this machine: these are the recorded figures of {names}.",
    )


def readable(paths: Sequence[Path]) -> list[Run | Profile]:
    """The figures of those files that hold some; a remark about each other one."""
    found: list[Run | Profile] = []
    for path in paths:
        try:
            found += figures.load(path, path.name)
        except (Malformed, OSError) as error:
            ui.remark(f"left out: {path.name}: {error}")
    return found


def some(found: Sequence[Run | Profile], origin: str) -> Found:
    merged = figures.merge(found)
    if not merged.rows and not merged.profiles:
        raise EnvironmentLacks("there are no figures to report: run ./swathe bench first")
    return Found(merged, origin)
