# SPDX-License-Identifier: GPL-2.0-only
"""The report's section on single pages, of which most memory consists: runs do nothing for them."""

from dataclasses import replace

from swathe.measure import compare
from swathe.measure.rows import MAIN_METRIC
from swathe.reporting import charts, tables
from swathe.reporting.blocks import Chapter, Command, Pair, Plots, Text
from swathe.reporting.material import Material

TITLE = "Single pages"
ROWS = (("lazyfree", "4K"), ("filemap", "single"), ("swapout", "4K"), ("zap", "4K"))
ABOUT = (
    "A run is at least two pages of one folio. These rows have folios of one page, so that what "
    "they gain is gained across folios: lazyfree memory, a mapped file, and anonymous memory to "
    "zram by `MADV_PAGEOUT`; anonymous memory by `munmap()`."
)


def chapter(material: Material) -> Chapter | None:
    """One row of each call, on every kernel that was measured; None if no row was."""
    found = [
        replace(line, case=f"{line.bench} {compare.case_name(line.case)}")
        for row in ROWS
        for line in material.lines
        if (line.bench, line.case, line.metric) == (*row, MAIN_METRIC)
    ]
    plot = charts.single_pages(found)
    if plot is None:
        return None
    names = " ".join(":".join(row) for row in ROWS)
    table = tables.comparison("The measured call", found)
    blocks = (Text(ABOUT), Pair((table,), (Plots((plot,)),)), Command((f"./swathe bench {names}",)))
    return Chapter("single-pages", TITLE, TITLE, blocks)
