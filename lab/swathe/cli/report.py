# SPDX-License-Identifier: GPL-2.0-only
"""Write a report of measured figures: tables, plots, environment.

Without FILEs the report uses each bench's newest results below build/, or the
figures recorded in docs/results if there are none. The HTML page needs no
other files and no network; the same text is written as Markdown, with the
plots as SVG files for light and dark pages. Figures of "./swathe bench" and of
"./swathe bench --kernel 7.3" stand side by side: stock and swathe of each kernel.

    ./swathe report                             build/report/index.html and report.md
    ./swathe report out.json --out /tmp/page    from "./swathe bench --json out.json"
    ./swathe report --record discard-6.12       docs/results/discard-6.12.json and .md
    ./swathe report 6.json 7.json --record both of two kernels: four columns
    ./swathe report 6.json docs/results/7.3.4.json --record 6
                                                the same; 6.json only names what 7.3.4.json has
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
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a valid name: give a plain file name such as discard-6.12"
        )
    return text


def set_argparser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", metavar="FILE.json", nargs="*", type=Path,
        help="figures of bench or profile (default: the newest results below build/)",
    )  # fmt: skip
    parser.add_argument(
        "--out",
        type=Path,
        default=OUT,
        metavar="DIR",
        help="output directory (default: build/report)",
    )
    parser.add_argument(
        "--record", type=record_name, metavar="NAME",
        help="write docs/results/NAME.json and NAME.md instead",
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
