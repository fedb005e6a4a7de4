# SPDX-License-Identifier: GPL-2.0-only
"""The five threads, what they measured, and which benches answer them: threads.toml."""

import functools
from pathlib import Path

from msgspec import Struct, field

from swathe.base import reading
from swathe.measure.rows import MAIN_METRIC
from swathe.reporting.blocks import Quote

FILE = Path(__file__).with_name("threads.toml")


class Part(Struct, frozen=True, forbid_unknown_fields=True):
    """One bench's place: which of its metrics are compared, and what is drawn.

    The call is what its instructions are counted of; groups are the cases, by how
    they begin, that make another call.
    """

    bench: str
    title: str
    call: str
    metrics: tuple[str, ...] = (MAIN_METRIC,)
    plotted: tuple[str, ...] = (MAIN_METRIC,)
    groups: dict[str, str] = field(default_factory=dict)
    by_folio: bool = False
    by_size: tuple[str, ...] = ()
    series: tuple[tuple[str, str], ...] = ()
    profiles: tuple[str, ...] = ()

    def what(self, metric: str) -> str:
        return self.call if metric == MAIN_METRIC else load().metrics.get(metric, metric)


class Thread(Struct, frozen=True, forbid_unknown_fields=True):
    """The key rows are those that the summary shows: bench, case and metric."""

    key: str
    title: str
    short: str
    quote: Quote
    part: tuple[Part, ...]
    key_rows: tuple[tuple[str, str, str], ...]


class Threads(Struct, frozen=True, forbid_unknown_fields=True):
    """Metrics are named as the captions of tables have them."""

    metrics: dict[str, str]
    thread: tuple[Thread, ...]


@functools.cache
def load() -> Threads:
    return reading.convert(reading.toml(FILE.read_text(), FILE.name), Threads, FILE.name)


def unthreaded(bench: str) -> Part:
    """A bench that none of the threads is about."""
    return Part(bench, bench, "The measured call")


def known() -> set[str]:
    return {part.bench for thread in load().thread for part in thread.part}
