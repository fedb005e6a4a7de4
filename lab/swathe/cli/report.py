# SPDX-License-Identifier: GPL-2.0-only
"""Write one page of what was measured: tables, plots, environment.

Without FILEs it takes the newest kept figures of every bench, or where there
are none the recorded ones of docs/results. The page stands alone and needs no
network; the same text is beside it as Markdown, its plots as SVG files, light and
dark.

    ./swathe report                             build/report/index.html and report.md
    ./swathe report out.json --out /tmp/page    figures of "./swathe bench --json out.json"
    ./swathe report --record discard-6.12       docs/results/discard-6.12.json and .md
"""

import argparse
import re
from dataclasses import dataclass
from pathlib import Path

from swathe.base import results, ui
from swathe.base.paths import BUILD
from swathe.measure import files

OUT = BUILD / "report"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class ReportRequest:
    files: tuple[Path, ...]
    out: Path
    record: str | None


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
    request = ReportRequest(tuple(args.files), args.out, args.record)
    found = files.given(request.files) if request.files else files.newest()
    from swathe.reporting import write

    if request.record:
        path = write.record(found.figures, results.KEPT, request.record)
    else:
        path = write.site(found.figures, found.origin, request.out)
    ui.note(found.origin)
    ui.result(str(path))
    return 0
